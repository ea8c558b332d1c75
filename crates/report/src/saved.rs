//! Any document that a command has written, and the forms that each kind has.

use crate::capacity::{self, CapacityReport};
use crate::compare::{self, Comparison};
use crate::forms::{Form, Lasting, Report, Screen};
use crate::pictures::{self, Picture, Style, SweepCurve};
use crate::read::{Kind, ReadError};
use crate::result::Document;
use crate::sweep::{self, Sweep};
use crate::tls_lab::{self, Results};
use crate::{classic, csv_header, csv_row, hgrm, html, junit, text, visible};

/// A document of any kind.
#[derive(Clone, Debug)]
pub enum Saved {
    /// Result of a run.
    Result(Box<Document>),
    /// Runs at several rates.
    Sweep(Box<Sweep>),
    /// Search for a capacity.
    Capacity(Box<CapacityReport>),
    /// Comparison.
    Comparison(Box<Comparison>),
    /// Variants of TLS.
    TlsLab(Box<Results>),
}

impl Saved {
    /// Reads a document of any kind. A file that is none of them is read as a result, for the sake of its error.
    ///
    /// # Errors
    /// If it is none of ours, too new, or broken.
    pub fn read(json: &[u8]) -> Result<Self, ReadError> {
        Ok(match Kind::of(json)?.unwrap_or(Kind::Result) {
            Kind::Result => Self::Result(Box::new(Document::read(json)?)),
            Kind::Sweep => Self::Sweep(Box::new(Sweep::read(json)?)),
            Kind::Capacity => Self::Capacity(Box::new(CapacityReport::read(json)?)),
            Kind::Comparison => Self::Comparison(Box::new(Comparison::read(json)?)),
            Kind::TlsLab => Self::TlsLab(Box::new(Results::read(json)?)),
        })
    }

    /// The document as something to show.
    #[must_use]
    pub fn report(&self) -> &dyn Report {
        match self {
            Self::Result(document) => &**document,
            Self::Sweep(sweep) => &**sweep,
            Self::Capacity(capacity) => &**capacity,
            Self::Comparison(comparison) => &**comparison,
            Self::TlsLab(results) => &**results,
        }
    }
}

impl Report for Document {
    fn kind(&self) -> Kind {
        Kind::Result
    }

    fn body(&self, _: Screen) -> String {
        visible::report(classic(&self.plan, &self.summary).to_string())
    }

    fn ending(&self, screen: Screen) -> String {
        visible::report(text::additions(self, screen))
    }

    fn document(&self, form: Form) -> Option<String> {
        match form {
            Form::Json => Some(self.without_secrets().json()),
            Form::Html => Some(visible::page(html::page(self))),
            Form::Csv => Some(csv_header() + &csv_row(self)),
            Form::Junit => Some(junit::xml("httperf", &[junit::Suite::of(self)])),
            Form::Hgrm => Some(hgrm(&self.summary.completed().latency).to_string()),
            Form::Text | Form::Tsv | Form::Markdown => None,
        }
    }

    fn lasting(&self) -> Lasting {
        Lasting { json: self.json(), has_secrets: self.plan.without_secrets().is_some() }
    }

    fn picture(&self, style: &Style) -> Option<Picture> {
        Some(pictures::percentiles(self, style))
    }
}

impl Report for Sweep {
    fn kind(&self) -> Kind {
        Kind::Sweep
    }

    fn body(&self, screen: Screen) -> String {
        visible::report(sweep::text::body(self, screen))
    }

    fn ending(&self, screen: Screen) -> String {
        visible::report(screen.fitted(sweep::text::ending(self)))
    }

    fn document(&self, form: Form) -> Option<String> {
        match form {
            Form::Json => Some(self.without_secrets().json()),
            Form::Html => Some(visible::page(html::sweep_page(self))),
            Form::Csv => Some(sweep::rows::csv(self)),
            Form::Tsv => Some(sweep::rows::tsv(self)),
            Form::Junit => Some(self.junit()),
            Form::Text | Form::Markdown | Form::Hgrm => None,
        }
    }

    fn lasting(&self) -> Lasting {
        Lasting { json: self.json(), has_secrets: self.plan.without_secrets().is_some() }
    }

    fn picture(&self, style: &Style) -> Option<Picture> {
        Some(pictures::sweep(&SweepCurve::of(self), style))
    }
}

impl Report for CapacityReport {
    fn kind(&self) -> Kind {
        Kind::Capacity
    }

    fn body(&self, screen: Screen) -> String {
        visible::report(capacity::text::body(self, screen))
    }

    fn ending(&self, screen: Screen) -> String {
        visible::report(screen.fitted(capacity::text::ending(self)))
    }

    fn document(&self, form: Form) -> Option<String> {
        match form {
            Form::Json => Some(self.without_secrets().json()),
            Form::Html => Some(visible::page(html::capacity_page(self))),
            Form::Csv => Some(capacity::rows::csv(self)),
            Form::Text | Form::Tsv | Form::Markdown | Form::Junit | Form::Hgrm => None,
        }
    }

    fn lasting(&self) -> Lasting {
        Lasting { json: self.json(), has_secrets: self.plan.without_secrets().is_some() }
    }

    fn picture(&self, style: &Style) -> Option<Picture> {
        Some(pictures::capacity(self, style))
    }
}

impl Report for Comparison {
    fn kind(&self) -> Kind {
        Kind::Comparison
    }

    fn body(&self, screen: Screen) -> String {
        visible::report(compare::text::body(self, screen))
    }

    fn ending(&self, screen: Screen) -> String {
        visible::report(compare::text::ending(self, screen))
    }

    fn document(&self, form: Form) -> Option<String> {
        match form {
            Form::Json => Some(self.json()),
            Form::Html => Some(visible::page(html::comparison_page(self))),
            Form::Csv => Some(compare::rows_csv::csv(self)),
            Form::Markdown => Some(self.markdown()),
            Form::Junit => Some(self.junit()),
            Form::Text | Form::Tsv | Form::Hgrm => None,
        }
    }

    fn lasting(&self) -> Lasting {
        Lasting { json: self.json(), has_secrets: false }
    }

    fn picture(&self, style: &Style) -> Option<Picture> {
        Some(pictures::comparison(self, style))
    }
}

impl Report for Results {
    fn kind(&self) -> Kind {
        Kind::TlsLab
    }

    fn body(&self, screen: Screen) -> String {
        visible::report(tls_lab::text::body(self, screen))
    }

    fn ending(&self, screen: Screen) -> String {
        visible::report(tls_lab::text::ending(self, screen))
    }

    fn document(&self, form: Form) -> Option<String> {
        match form {
            Form::Json => Some(tls_lab::document::json(self)),
            Form::Html => Some(visible::page(html::tls_lab_page(self))),
            Form::Csv => Some(tls_lab::csv::csv(self)),
            Form::Text | Form::Tsv | Form::Markdown | Form::Junit | Form::Hgrm => None,
        }
    }

    fn lasting(&self) -> Lasting {
        Lasting { json: tls_lab::document::json(self), has_secrets: false }
    }

    fn picture(&self, _: &Style) -> Option<Picture> {
        None
    }
}
