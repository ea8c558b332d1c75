//! The text form of a result: the classic report and its additions.

use std::fmt::{self, Display};

use crate::classic::classic;
use crate::details::details;
use crate::http2::http2;
use crate::latency::latency;
use crate::objectives::section;
use crate::result::Document;
use crate::tls::tls;
use crate::verdict::verdict_section;

impl Document {
    /// The classic report, with the additions of the full one if `full`. Both include the objectives.
    #[must_use]
    pub fn text(&self, full: bool) -> String {
        let classic = classic(&self.plan, &self.summary);
        let objectives = section(self);
        match full {
            true => format!("{classic}{}{objectives}", self::full(self)),
            false => format!("{classic}{objectives}"),
        }
    }
}

/// Additions of the full report to the classic one: percentiles, TLS, HTTP/2, details, the verdict.
#[must_use]
pub fn full(document: &Document) -> impl Display + '_ {
    Full { document }
}

struct Full<'a> {
    document: &'a Document,
}

impl Display for Full<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { plan, summary, verdict, .. } = self.document;
        write!(f, "{}{}{}", latency(summary), tls(plan, summary), http2(summary))?;
        write!(f, "{}{}", details(self.document), verdict_section(verdict))
    }
}
