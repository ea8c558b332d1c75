//! Samples to histograms, counters and series.
//!
//! A [`Recorder`] takes what happens during a run; the [`Summary`] it ends with is all that a report needs.
//! Nothing here reads a clock: instants come in as arguments.

mod batches;
mod confidence;
mod errors;
mod instant;
mod lifetimes;
mod moments;
mod recorder;
mod steadiness;
mod summary;
mod timing;
mod tls;

pub use batches::{BatchedEstimate, Classes};
pub use confidence::{Estimate, Interval};
pub use errors::{Errors, Failure};
pub use instant::Instant;
pub use lifetimes::Lifetimes;
pub use moments::{DurationMoments, RateMoments, SizeMoments};
pub use recorder::{Figures, Recorder, Sample, SessionEnd, TickRates};
pub use steadiness::{Steadiness, steady_from};
pub use summary::{Clocks, CpuTime, Outcome, SessionSummary, Summary, Warning};
pub use timing::Timing;
pub use tls::{
    Certificate, EarlyRequests, Handshake, HandshakeFailure, HandshakeFailureClass, HandshakeFigures,
    HandshakeKind, Tally, TlsSummary,
};
