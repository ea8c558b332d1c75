//! The text form of a result: the classic report and its additions.

use std::fmt::{self, Display};

use crate::answer::answer;
use crate::classic::classic;
use crate::colours::Colours;
use crate::details::details;
use crate::forms::Report as _;
use crate::http2::http2;
use crate::objectives::section;
use crate::result::Document;
use crate::times::times;
use crate::tls::tls;
use crate::verdict::verdict_section;

impl Document {
    /// The classic report with the objectives; if `full`, with the additions of the full one.
    #[must_use]
    pub fn text(&self, full: bool) -> String {
        match full {
            true => self.plain_text(),
            false => format!("{}{}", classic(&self.plan, &self.summary), section(self)),
        }
    }
}

/// Additions of the full report to the classic one: times, TLS, HTTP/2, details, the verdict, the objectives, and at
/// last the answer.
#[must_use]
pub(crate) fn full(document: &Document, colours: Colours) -> impl Display + '_ {
    Full { document, colours }
}

struct Full<'a> {
    document: &'a Document,
    colours: Colours,
}

impl Display for Full<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { plan, summary, verdict, .. } = self.document;
        write!(f, "{}{}{}", times(summary), tls(plan, summary), http2(summary))?;
        write!(f, "{}{}", details(self.document), verdict_section(verdict))?;
        write!(f, "{}{}", section(self.document), answer(self.document, self.colours))
    }
}
