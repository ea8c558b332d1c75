//! The run as every part of a worker sees it: its plan, the calls under way, and the sinks for figures and events.

mod call;
mod calls;
mod inspection;
mod kept;
mod progress;
mod reader;
mod replies;
mod samples;
mod stream;
mod stream_ends;
mod talk;
mod websockets;

use std::io;
use std::time::Duration;

use httperf_plan::{Plan, Shard};
use httperf_proto::ProtocolError;
use httperf_stats::{End, Failure, FailureCause, Instant, Recorder, Summary};
use slotmap::SlotMap;

pub(super) use self::call::{Call, Look, Origin};
pub(super) use self::calls::NewCall;
use self::reader::Spare;
pub(super) use self::replies::Answer;
pub(super) use self::talk::Said;
use super::CallKey;
use crate::failure::{self, Awaits};
use crate::{Observation, Observer};

/// A run in progress, as one worker has it.
///
/// The recorder and the observer are sinks: any part may write to them, none reads what another wrote. A call lives here
/// from its creation to its end; it changes only through the methods in `calls.rs`, `progress.rs`, `replies.rs`
/// and `websockets.rs`.
pub(super) struct Run<'a> {
    pub(super) plan: &'a Plan,
    pub(super) shard: Shard,
    times_by_kernel: bool,
    pub(super) recorder: Recorder,
    observer: &'a mut dyn Observer,
    start: Instant,
    calls: SlotMap<CallKey, Call>,
    spare: Spare,
    /// Calls created so far.
    calls_created: u64,
    told: Told,
    /// The run's time is over: nothing new is said on WebSockets.
    is_closing: bool,
    /// Connections whose server did not speak the protocol.
    strangers: u32,
    gives_up: bool,
}

/// The number of connections after which a worker gives up on a server that spoke the protocol on none.
const STRANGERS_MAX: u32 = 10;

/// Observations that are made once in a run, and have been.
#[derive(Debug, Default)]
struct Told {
    unexpected_error: bool,
    protocol_error: bool,
    tunnel_refused: bool,
    unbounded_stream: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        plan: &'a Plan,
        shard: Shard,
        recorder: Recorder,
        observer: &'a mut dyn Observer,
        start: Instant,
    ) -> Self {
        Self {
            plan,
            shard,
            times_by_kernel: plan.times_by_kernel(),
            recorder,
            observer,
            start,
            calls: SlotMap::with_key(),
            spare: Spare::default(),
            calls_created: 0,
            told: Told::default(),
            is_closing: false,
            strangers: 0,
            gives_up: false,
        }
    }

    /// Sets the instant of the start again, and that from which the run is measured. Forgets all figures.
    pub(super) fn restart(&mut self, start: Instant, measured_from: Instant) {
        self.start = start;
        self.recorder.restart(start, measured_from);
    }

    pub(super) fn start(&self) -> Instant {
        self.start
    }

    pub(super) fn observe(&mut self, observation: Observation<'_>) {
        self.observer.observe(observation);
    }

    /// Returns the number of calls that the observer was to log and could not.
    pub(super) fn calls_not_logged(&self) -> u64 {
        self.observer.calls_not_logged()
    }

    /// Returns whether calls of a connection may have streams. Where none has, calls do not pay for it.
    pub(super) fn may_have_streams(&self) -> bool {
        self.plan.request.version.may_have_streams()
    }

    /// Returns the cause of a failure by an error of the system, and reports the first one that has no class of its own.
    pub(super) fn cause_of(&mut self, error: &io::Error, awaits: Awaits) -> FailureCause {
        let cause = failure::of_io(error, awaits);
        if cause.class() == Failure::Other && !std::mem::replace(&mut self.told.unexpected_error, true) {
            let errno = error.raw_os_error().unwrap_or_default();
            self.observer.observe(Observation::UnexpectedError { errno });
        }
        cause
    }

    /// Returns the cause of a failure by a breach of the protocol, and reports the first one.
    pub(super) fn cause_of_breach(&mut self, error: &ProtocolError, awaits: Awaits) -> FailureCause {
        let cause = failure::of_protocol(error, awaits);
        if cause.class() == Failure::Other && !std::mem::replace(&mut self.told.protocol_error, true) {
            self.observer.observe(Observation::ProtocolError { error });
        }
        cause
    }

    /// Reports the first tunnel that a proxy refused.
    pub(super) fn tunnel_refused(&mut self, status: u16) {
        if !std::mem::replace(&mut self.told.tunnel_refused, true) {
            self.observer.observe(Observation::TunnelRefused { status });
        }
    }

    /// Reports the first stream that may never end, if nothing ends the run.
    fn stream_opened(&mut self) {
        if self.plan.runtime.is_none() && !std::mem::replace(&mut self.told.unbounded_stream, true) {
            self.observer.observe(Observation::UnboundedStream);
        }
    }

    /// The server of a connection has shown that it does not speak the protocol, HTTP/2 or TLS. Gives up if it never does.
    /// Of several servers, one may be unlike the others, and answer first.
    #[cold]
    pub(super) fn stranger_met(&mut self) {
        self.strangers += 1;
        let is_only = matches!(&self.plan.targets[..], [target] if target.further_endpoints.is_empty());
        if self.strangers >= STRANGERS_MAX && is_only && !self.recorder.has_been_understood() {
            self.gives_up = true;
            self.recorder.gave_up();
        }
    }

    /// Returns whether the run is to end because its server does not speak the protocol.
    pub(super) fn gives_up(&self) -> bool {
        self.gives_up
    }

    /// Reports the intervals that have ended by `now`.
    #[inline]
    pub(super) fn report_intervals(&mut self, now: Instant) {
        while self.plan.recording.detail
            && let Some(interval) = self.recorder.end_interval(now)
        {
            self.observer.observe(Observation::Interval { interval: &interval });
        }
    }

    /// Ends the run. Returns the figures.
    pub(super) fn into_summary(self, end: End) -> Summary {
        self.recorder.finish(end)
    }

    /// Returns the deadline of a reply that is awaited from `now` on.
    fn reply_deadline(&self, now: Instant) -> Option<Instant> {
        self.plan.timeouts.reply().map(|limit: Duration| now + limit)
    }
}
