//! The forms that each kind of document has, but for pages and pictures.

use crate::capacity::{self, CapacityReport};
use crate::compare::{self, Comparison};
use crate::forms::{Form, Lasting, Screen, Written};
use crate::read::Kind;
use crate::result::Document;
use crate::sweep::{self, Sweep};
use crate::tls_lab::{self, Results};
use crate::{classic, csv_header, csv_row, hgrm, junit, text, visible};

impl Written for Document {
    fn kind(&self) -> Kind {
        Kind::Result
    }

    fn body(&self, _: Screen) -> String {
        visible::report(classic(&self.plan, &self.summary).to_string())
    }

    fn ending(&self, screen: Screen) -> String {
        visible::report(text::additions(self, screen))
    }

    fn written(&self, form: Form) -> Option<String> {
        match form {
            Form::Json => Some(self.without_secrets().json()),
            Form::Csv => Some(csv_header() + &csv_row(self)),
            Form::Junit => Some(junit::xml("httperf", &[junit::Suite::of(self)])),
            Form::Hgrm => Some(hgrm(&self.summary.completed().latency).to_string()),
            Form::Text | Form::Html | Form::Tsv | Form::Markdown => None,
        }
    }

    fn lasting(&self) -> Lasting {
        Lasting { json: self.json(), has_secrets: self.plan.without_secrets().is_some() }
    }
}

impl Written for Sweep {
    fn kind(&self) -> Kind {
        Kind::Sweep
    }

    fn body(&self, screen: Screen) -> String {
        visible::report(sweep::text::body(self, screen))
    }

    fn ending(&self, screen: Screen) -> String {
        visible::report(screen.fitted(sweep::text::ending(self)))
    }

    fn written(&self, form: Form) -> Option<String> {
        match form {
            Form::Json => Some(self.without_secrets().json()),
            Form::Csv => Some(sweep::rows::csv(self)),
            Form::Tsv => Some(sweep::rows::tsv(self)),
            Form::Junit => Some(self.junit()),
            Form::Text | Form::Html | Form::Markdown | Form::Hgrm => None,
        }
    }

    fn lasting(&self) -> Lasting {
        Lasting { json: self.json(), has_secrets: self.plan.without_secrets().is_some() }
    }
}

impl Written for CapacityReport {
    fn kind(&self) -> Kind {
        Kind::Capacity
    }

    fn body(&self, screen: Screen) -> String {
        visible::report(capacity::text::body(self, screen))
    }

    fn ending(&self, screen: Screen) -> String {
        visible::report(screen.fitted(capacity::text::ending(self)))
    }

    fn written(&self, form: Form) -> Option<String> {
        match form {
            Form::Json => Some(self.without_secrets().json()),
            Form::Csv => Some(capacity::rows::csv(self)),
            Form::Text | Form::Html | Form::Tsv | Form::Markdown | Form::Junit | Form::Hgrm => None,
        }
    }

    fn lasting(&self) -> Lasting {
        Lasting { json: self.json(), has_secrets: self.plan.without_secrets().is_some() }
    }
}

impl Written for Comparison {
    fn kind(&self) -> Kind {
        Kind::Comparison
    }

    fn body(&self, screen: Screen) -> String {
        visible::report(compare::text::body(self, screen))
    }

    fn ending(&self, screen: Screen) -> String {
        visible::report(compare::text::ending(self, screen))
    }

    fn written(&self, form: Form) -> Option<String> {
        match form {
            Form::Json => Some(self.json()),
            Form::Csv => Some(compare::rows_csv::csv(self)),
            Form::Markdown => Some(self.markdown()),
            Form::Junit => Some(self.junit()),
            Form::Text | Form::Html | Form::Tsv | Form::Hgrm => None,
        }
    }

    fn lasting(&self) -> Lasting {
        Lasting { json: self.json(), has_secrets: false }
    }
}

impl Written for Results {
    fn kind(&self) -> Kind {
        Kind::TlsLab
    }

    fn body(&self, screen: Screen) -> String {
        visible::report(tls_lab::text::body(self, screen))
    }

    fn ending(&self, screen: Screen) -> String {
        visible::report(tls_lab::text::ending(self, screen))
    }

    fn written(&self, form: Form) -> Option<String> {
        match form {
            Form::Json => Some(tls_lab::document::json(self)),
            Form::Csv => Some(tls_lab::csv::csv(self)),
            Form::Text | Form::Html | Form::Tsv | Form::Markdown | Form::Junit | Form::Hgrm => None,
        }
    }

    fn lasting(&self) -> Lasting {
        Lasting { json: tls_lab::document::json(self), has_secrets: false }
    }
}
