//! Samples to histograms, counters and series.
//!
//! A [`Recorder`] takes what happens during a run; the [`Summary`] it ends with is all that a report needs.
//! Nothing here reads a clock: instants come in as arguments.

mod errors;
mod instant;
mod lifetimes;
mod moments;
mod recorder;
mod summary;
mod timing;

pub use errors::{Errors, Failure};
pub use instant::Instant;
pub use lifetimes::Lifetimes;
pub use moments::{DurationMoments, RateMoments};
pub use recorder::{Recorder, Sample, SessionEnd, TickRates};
pub use summary::{CpuTime, SessionSummary, Summary, Warning};
pub use timing::Timing;
