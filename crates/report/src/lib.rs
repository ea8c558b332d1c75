//! Reports: pure functions of a plan and a summary. The same input gives the same text.
//!
//! Here are documents, what follows from them, and their text and data. Crates of their own make pictures and pages
//! of these; what they say in the same words is public for them.

pub mod capacity;
pub mod columns;
pub mod compare;
pub mod fleet;
pub mod headings;
pub mod http2;
pub mod junit;
pub mod number;
pub mod replay;
pub mod result;
pub mod rpc;
pub mod streams;
pub mod sweep;
pub mod tls;
pub mod tls_lab;
pub mod visits;
pub mod websocket;

mod all_calls;
mod answer;
mod causes;
mod classic;
mod colours;

mod curves;
mod details;
mod diagnosis;
mod differing;
mod document;
mod errors;
mod figures;
mod forms;
mod grid;
mod hgrm;
mod json;
mod objectives;
mod places;
mod read;
mod table;
mod text;
mod times;
mod told;
mod verdict;
mod visible;
mod written;

pub use all_calls::{AllCalls, NoReply, Percentile};
pub use answer::{answer, http_errors, statuses};
pub use causes::{CauseFigures, only_cause};
pub use classic::classic;
pub use colours::Colours;
pub use columns::{csv_header, csv_row};
pub use curves::PercentileCurve;
pub use diagnosis::{no_reply, same_status};
pub use differing::PlanOptions;
pub use errors::ErrorFigures;
pub use figures::{Confidence, RunFigures, Steady, Times};
pub use fleet::{Fleet, FleetRank, LostRank, RankClock, ToldSeconds};
pub use forms::{Form, Lasting, Screen, Written};
pub use hgrm::hgrm;
pub use http2::http2;
pub use objectives::{Judged, Kept, Measured, judge};
pub use places::calls_beyond_bound;
pub use read::{Kind, ReadError};
pub use replay::{ReplayComparison, replayed};
pub use rpc::{GrpcFigures, grpc};
pub use streams::{ModelFigures, StreamFigures, TokensFrom, streams};
pub use times::{divergence, times};
pub use tls::tls;
pub use verdict::{Finding, Level, Reason, Verdict, verdict, verdict_section};
pub use visible::{cut, is_deceptive, visible};
pub use visits::{FailedLook, NotMade, PhaseRows, ScenarioRow, StepRow, VisitFigures, not_made, steps_csv};
pub use websocket::{WebSocketFigures, websockets};
