//! A plan and a summary, rendered. Pure functions: the same input gives the same text.

pub mod tls_lab;

mod classic;
mod latency;
mod number;
mod table;
mod tls;
mod verdict;

pub use classic::classic;
pub use latency::latency;
pub use tls::tls;
pub use verdict::{Finding, Level, Reason, Verdict, verdict, verdict_section};
