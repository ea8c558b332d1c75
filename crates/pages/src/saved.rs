//! Any document that a command has written, in all its forms.

use httperf_pictures::{self as pictures, Picture, Style, SweepCurve};
use httperf_report::capacity::CapacityReport;
use httperf_report::compare::Comparison;
use httperf_report::headings::Names;
use httperf_report::result::Document;
use httperf_report::sweep::Sweep;
use httperf_report::tls_lab::Results;
use httperf_report::{Form, Kind, ReadError, Screen, Written};

use crate::capacity::named_capacity_page;
use crate::comparison::named_comparison_page;
use crate::sweep::named_sweep_page;
use crate::tls_lab::named_tls_lab_page;
use crate::{named_page, visible};

/// A document that can be shown in all forms. Each is a pure function of it.
pub trait Report: Written {
    /// Page with charts, without what is secret, under these names.
    fn named_page(&self, names: &Names) -> String;

    /// The same without names of its own.
    fn page(&self) -> String {
        self.named_page(&Names::default())
    }

    /// Picture of the document; `None` if its kind has none.
    fn picture(&self, style: &Style) -> Option<Picture>;

    /// The document in a form other than text, without what is secret; `None` if its kind has no such form.
    fn document(&self, form: Form) -> Option<String> {
        match form {
            Form::Html => Some(self.page()),
            other => self.written(other),
        }
    }

    /// The document in any form, with names where it has a place for them; `None` if its kind has no such form.
    fn render_named(&self, form: Form, screen: Screen, names: &Names) -> Option<String> {
        match form {
            Form::Html => Some(self.named_page(names)),
            other => self.render(other, screen),
        }
    }

    /// The document in any form; `None` if its kind has no such form.
    fn render(&self, form: Form, screen: Screen) -> Option<String> {
        match form {
            Form::Text => Some(self.body(screen) + &self.ending(screen)),
            other => self.document(other),
        }
    }
}

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
    /// Reads a document of any kind. JSON of no known kind is read as a result, whose error then says what is missing.
    ///
    /// # Errors
    /// The JSON is no document of the program, too new, or broken.
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
    fn named_page(&self, names: &Names) -> String {
        visible::page(named_page(self, names))
    }

    fn picture(&self, style: &Style) -> Option<Picture> {
        Some(pictures::percentiles(self, style))
    }
}

impl Report for Sweep {
    fn named_page(&self, names: &Names) -> String {
        visible::page(named_sweep_page(self, names))
    }

    fn picture(&self, style: &Style) -> Option<Picture> {
        Some(pictures::sweep(&SweepCurve::of(self), style))
    }
}

impl Report for CapacityReport {
    fn named_page(&self, names: &Names) -> String {
        visible::page(named_capacity_page(self, names))
    }

    fn picture(&self, style: &Style) -> Option<Picture> {
        Some(pictures::capacity(self, style))
    }
}

impl Report for Comparison {
    fn named_page(&self, names: &Names) -> String {
        visible::page(named_comparison_page(self, names))
    }

    fn picture(&self, style: &Style) -> Option<Picture> {
        Some(pictures::comparison(self, style))
    }
}

impl Report for Results {
    fn named_page(&self, names: &Names) -> String {
        visible::page(named_tls_lab_page(self, names))
    }

    fn picture(&self, _: &Style) -> Option<Picture> {
        None
    }
}
