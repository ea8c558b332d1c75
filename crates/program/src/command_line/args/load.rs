//! Arguments about load that the classic tool cannot offer: closed loops, calls at a rate, threads.

use std::num::NonZeroU32;

use httperf_plan::Arrivals;

use super::{Args, Version};
use crate::command_line::grammar::ParseStop;

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

impl LoadArgs {
    /// Refuses options that contradict each other.
    pub(super) fn check(&self, args: &Args) -> Result<(), ParseStop> {
        let is_timed = args.arrivals != Arrivals::Sequential;
        let is_closed = self.concurrency.is_some() && !is_timed && self.call_arrivals.is_none();
        let has_sessions = args.session.is_some();
        let is_bounded = self.duration > 0.0 || args.runtime > 0.0 || args.num_calls.is_some();
        let contradictions = [
            (self.duration > 0.0 && args.runtime > 0.0, "--duration: expected no --runtime beside it"),
            (
                self.concurrency.is_some() && has_sessions,
                "--concurrency: expected no session workload beside it; --max-open bounds its connections",
            ),
            (
                self.call_arrivals.is_some() && has_sessions,
                "--request-rate: expected no session workload beside it",
            ),
            (
                self.call_arrivals.is_some() && is_timed,
                "--request-rate: expected no --rate or --period beside it, which offer connections",
            ),
            (
                self.call_arrivals.is_some() && args.num_conns.is_some(),
                "--request-rate: expected no --num-conns beside it; --concurrency says how many connections there are",
            ),
            (
                self.call_arrivals.is_some() && !is_bounded,
                "--request-rate: needs --duration, --runtime or --num-calls, which say when it ends",
            ),
            (
                args.max_connections > 0 && self.call_arrivals.is_some(),
                "--request-rate: expected no --max-connections beside it; --concurrency says how many there are",
            ),
            (
                args.max_connections > 0 && !has_sessions && self.concurrency.is_some(),
                "--concurrency: expected no --max-connections beside it",
            ),
            (
                args.max_connections > 0 && !has_sessions && self.max_open.is_some(),
                "--max-open: expected no --max-connections beside it, which skips arrivals instead of making them wait",
            ),
            (
                self.max_open.is_some() && (is_closed || self.call_arrivals.is_some()),
                "--max-open: expected no closed loop or --request-rate beside it; --concurrency says how many connections \
                 those have",
            ),
            (
                self.max_open.is_some() && self.call_arrivals.is_none() && !is_timed && !has_sessions,
                "--max-open: needs --rate, --period or a session workload, as connections come one after the other",
            ),
            (
                self.per_connection && self.call_arrivals.is_none(),
                "--per-connection: needs --request-rate or --request-period",
            ),
            (
                self.call_arrivals.is_some() && args.burst_length.get() > 1,
                "--request-rate: expected no --burst-length beside it",
            ),
            (
                self.pipeline.is_some_and(|depth| depth.get() > 1) && args.version() == Version::HTTP_10,
                "--pipeline: expected HTTP/1.1, which has pipelining, got `--http-version=1.0`",
            ),
            (
                self.call_arrivals.is_some() && args.tls.handshake_only,
                "--request-rate: expected no --tls-handshake-only beside it, which makes no calls",
            ),
            (
                self.call_pause > 0.0 && has_sessions,
                "--call-pause: expected no session workload beside it, which has think times of its own",
            ),
            (
                self.call_pause > 0.0 && self.call_arrivals.is_some(),
                "--call-pause: expected no --request-rate beside it, which says when calls are due",
            ),
        ];
        match contradictions.into_iter().find(|&(is_given, _)| is_given) {
            Some((_, message)) => Err(ParseStop::rejected(message)),
            None => self.check_outstanding(args, is_closed || self.call_arrivals.is_some()),
        }
    }

    /// Refuses more than one call outstanding on a connection where that has no place. `is_kept_filled`: each reply
    /// makes way for the next call.
    fn check_outstanding(&self, args: &Args, is_kept_filled: bool) -> Result<(), ParseStop> {
        let Some((option, outstanding)) = args.outstanding() else { return Ok(()) };
        let refused = |message: String| Err(ParseStop::rejected(message));
        if !is_kept_filled {
            return refused(format!("{option}: needs --request-rate, or --concurrency without --rate"));
        }
        if args.burst_length.get() > 1 {
            return refused(format!("{option}: expected no --burst-length beside it"));
        }
        if self.call_pause > 0.0 && outstanding.get() > 1 {
            return refused(format!("--call-pause: expected no {option} beside it"));
        }
        Ok(())
    }
}
