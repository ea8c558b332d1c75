//! Reports: pure functions of a plan and a summary. The same input gives the same text.

pub mod capacity;
pub mod compare;
pub mod html;
pub mod junit;
pub mod pictures;
pub mod result;
pub mod sweep;
pub mod tls_lab;

mod classic;
mod csv_row;
mod curves;
mod details;
mod differing;
mod document;
mod figures;
mod hgrm;
mod http2;
mod json;
mod latency;
mod number;
mod objectives;
mod table;
mod tls;
mod verdict;

pub use classic::classic;
pub use csv_row::{csv_header, csv_row};
pub use figures::{Confidence, Figures, Steady, Times};
pub use hgrm::hgrm;
pub use http2::http2;
pub use latency::latency;
pub use objectives::{Judged, Kept, Measured, judge};
pub use tls::tls;
pub use verdict::{Finding, Level, Reason, Verdict, verdict, verdict_section};

use std::fmt::{self, Display};

use crate::result::Document;

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
        write!(f, "{}{}", details::details(self.document), verdict_section(verdict))
    }
}
