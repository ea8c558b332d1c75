//! Arguments about load that the classic tool cannot offer: closed loops, calls at a rate, threads.

use std::num::NonZeroU32;

use httperf_plan::Arrivals;

/// Arguments about the load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadArgs {
    /// `--concurrency`.
    pub concurrency: Option<NonZeroU32>,
    /// `--pipeline`.
    pub pipeline: Option<NonZeroU32>,
    /// `--call-pause` in seconds; 0 if not given.
    pub call_pause: f64,
    /// `--duration` in seconds; 0 if not given.
    pub duration: f64,
    /// The last of `--request-rate` and `--request-period`.
    pub call_arrivals: Option<Arrivals>,
    /// `--per-connection`.
    pub per_connection: bool,
    /// `--max-open`.
    pub max_open: Option<NonZeroU32>,
    /// `--threads`.
    pub threads: Option<Threads>,
}

/// `--threads`: how many workers there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// As many as the plan asks for.
    Auto,
    /// This many.
    Count(NonZeroU32),
}
