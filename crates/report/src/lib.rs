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
mod text;
mod tls;
mod verdict;

pub use classic::classic;
pub use csv_row::{csv_header, csv_row};
pub use figures::{Confidence, RunFigures, Steady, Times};
pub use hgrm::hgrm;
pub use http2::http2;
pub use latency::latency;
pub use objectives::{Judged, Kept, Measured, judge};
pub use text::full;
pub use tls::tls;
pub use verdict::{Finding, Level, Reason, Verdict, verdict, verdict_section};
