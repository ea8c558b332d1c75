//! Reports: pure functions of a plan and a summary. The same input gives the same text.
//!
//! Here are documents, what follows from them, and their text and data. Crates of their own make pictures and pages
//! of these; what they say in the same words is public for them.

pub mod capacity;
pub mod columns;
pub mod compare;
pub mod fleet;
pub mod headings;
pub mod junit;
pub mod number;
pub mod replay;
pub mod result;
pub mod rpc;
pub mod sweep;
pub mod tls_lab;
pub mod visits;

mod all_calls;
mod answer;
mod causes;
mod classic;
mod clocks;
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
mod http2;
mod in_flight;
mod json;
mod objectives;
mod places;
mod read;
mod section;
mod streams;
mod table;
mod text;
mod tls;
mod told;
mod verdict;
mod visible;
mod websocket;
mod written;

pub use all_calls::{AllCalls, NoReply, Percentile};
pub use answer::{answer, http_errors, statuses};
pub use causes::{CauseFigures, only_cause};
pub use classic::classic;
pub use clocks::{clocks, divergence, times};
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
pub use in_flight::InFlightFigures;
pub use objectives::{Judged, Kept, Measured, judge};
pub use places::calls_beyond_bound;
pub use read::{Kind, ReadError};
pub use replay::{ReplayComparison, replayed};
pub use rpc::GrpcFigures;
pub use section::{BothWays, Fact, Section, TimesRow, Told, of_connections, of_replies};
pub use streams::{ModelFigures, StreamFigures, TokensFrom};
pub use verdict::{Finding, Level, Reason, Verdict, verdict, verdict_section};
pub use visible::{cut, is_deceptive, visible};
pub use visits::{FailedLook, NotMade, PhaseRows, ScenarioRow, StepRow, VisitFigures, not_made, steps_csv};
pub use websocket::WebSocketFigures;
