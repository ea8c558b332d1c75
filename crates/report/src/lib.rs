//! A plan and a summary, rendered. Pure functions: the same input gives the same text.

pub mod html;
pub mod result;
pub mod tls_lab;

mod classic;
mod figures;
mod latency;
mod number;
mod table;
mod tls;
mod verdict;

pub use classic::classic;
pub use figures::{Confidence, Figures, Steady, Times};
pub use latency::latency;
pub use tls::tls;
pub use verdict::{Finding, Level, Reason, Verdict, verdict, verdict_section};

use std::fmt::{self, Display};

use httperf_plan::Plan;
use httperf_stats::Summary;

/// All that the full report adds to the classic one: percentiles, TLS, the verdict.
#[must_use]
pub fn full<'a>(plan: &'a Plan, summary: &'a Summary, verdict: &'a Verdict) -> impl Display + 'a {
    Full { plan, summary, verdict }
}

struct Full<'a> {
    plan: &'a Plan,
    summary: &'a Summary,
    verdict: &'a Verdict,
}

impl Display for Full<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plan, summary, verdict } = *self;
        write!(f, "{}{}{}", latency(summary), tls(plan, summary), verdict_section(verdict))
    }
}
