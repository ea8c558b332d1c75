//! Reports: pure functions of a plan and a summary. The same input gives the same text.

pub mod capacity;
pub mod compare;
pub mod html;
pub mod junit;
pub mod pictures;
pub mod result;
pub mod sweep;
pub mod tls_lab;

mod all_calls;
mod answer;
mod classic;
mod colours;
mod csv_row;
mod curves;
mod details;
mod diagnosis;
mod differing;
mod document;
mod figures;
mod hgrm;
mod http2;
mod json;
mod number;
mod objectives;
mod table;
mod text;
mod times;
mod tls;
mod verdict;

pub use all_calls::{AllCalls, NoReply, Percentile};
pub use answer::answer;
pub use classic::classic;
pub use colours::Colours;
pub use csv_row::{csv_header, csv_row};
pub use diagnosis::{no_reply, same_status};
pub use figures::{Confidence, RunFigures, Steady, Times};
pub use hgrm::hgrm;
pub use http2::http2;
pub use objectives::{Judged, Kept, Measured, judge};
pub use text::full;
pub use times::times;
pub use tls::tls;
pub use verdict::{Finding, Level, Reason, Verdict, verdict, verdict_section};
