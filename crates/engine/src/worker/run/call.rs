//! A call: one request, with all that is known of its reply.

use std::sync::Arc;
use std::time::Duration;

use httperf_load::replay::RecordedRequest;
use httperf_proto::request::Request;
use httperf_stats::{Carrier, FailedLook, Instant, Recorder, SlowDetail, StepPlace};

use super::super::SessionKey;
use super::Run;
use super::reader::Reader;
use super::stream::Stream;
use super::talk::{Fate, Talk, TalkEnd};

/// One call.
pub(in crate::worker) struct Call {
    pub(super) session: SessionKey,
    /// The instant at which it was due.
    pub(super) intended: Instant,
    /// Its number in order of creation, from 0.
    pub(super) serial: u64,
    pub(super) request: Request,
    pub(super) origin: Origin,
    pub(super) phase: Phase,
    /// The instant at which its connection took it.
    pub(super) submitted: Instant,
    /// The instant at which its first byte was last sent.
    pub(super) sent: Option<Instant>,
    /// The connection that carried that byte.
    pub(super) carrier: Option<Carrier>,
    /// The time for which its body waited for the server's windows there.
    pub(super) stalled: Duration,
    /// The state of the transport of a connection that ended without answering it. Only slow calls have it.
    pub(super) transport: Option<Box<SlowDetail>>,
    /// Its request counts as written. A request that the server cannot have processed, and that is written again,
    /// counts once.
    pub(super) is_written: bool,
    /// The instant by which its reply must be complete, or go on before the status line is complete. `None` before the
    /// request is written, or without a time limit.
    pub(super) deadline: Option<Instant>,
    /// The instant by which it must be answered once a server has not processed it, however often it is made again. `None`
    /// before, or without a time limit.
    pub(super) again_until: Option<Instant>,
    /// The instant by which its status line must be complete, once it has begun.
    pub(super) status_line_due: Option<Instant>,
    /// It found most of the places free that calls may take at once, where the plan bounds them.
    pub(super) is_light: bool,
    /// Attempts in a row that ended in the failure status, or that the server did not process.
    pub(super) attempts: u32,
    /// The reader of its reply, if more is made of that than a count.
    pub(super) reader: Option<Box<Reader>>,
}

/// The thing that a call is made for.
pub(in crate::worker) enum Origin {
    /// The script of its session, or the schedule of calls.
    Source,
    /// A step of a scenario.
    Step {
        /// `None` for a request that results do not know as a step.
        look: Option<Look>,
        /// The request target as outputs may show it, if a secret is in that.
        shown_uri: Option<Box<[u8]>>,
    },
    /// A request of a recording.
    Recorded(Arc<RecordedRequest>),
}

/// The step of a call, and what it looks at.
#[derive(Clone, Copy, Debug)]
pub(in crate::worker) struct Look {
    pub(in crate::worker) place: StepPlace,
    /// The status of its reply is one that the step expects.
    pub(in crate::worker) expects_status: bool,
    pub(in crate::worker) wants_head: bool,
    pub(in crate::worker) wants_body: bool,
    /// The first expectation that its reply failed.
    pub(in crate::worker) failed: Option<FailedLook>,
}

/// Progress of a call on its present connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// Nothing of it was sent.
    Waiting,
    /// Its first byte was sent.
    Sent { at: Instant },
    /// The status line of its reply was complete.
    Answering { at: Instant, status: u16 },
}

impl Call {
    pub(in crate::worker) fn session(&self) -> SessionKey {
        self.session
    }

    pub(in crate::worker) fn intended(&self) -> Instant {
        self.intended
    }

    pub(in crate::worker) fn serial(&self) -> u64 {
        self.serial
    }

    pub(in crate::worker) fn request(&self) -> &Request {
        &self.request
    }

    pub(in crate::worker) fn submitted(&self) -> Instant {
        self.submitted
    }

    /// Returns the instant at which its first byte was last sent, on whichever connection.
    pub(in crate::worker) fn sent(&self) -> Option<Instant> {
        self.sent
    }

    pub(in crate::worker) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Returns the instant by which it must be written, if its connection has got on with that since `since`.
    pub(in crate::worker) fn write_deadline(&self, since: Instant, run: &Run<'_>) -> Option<Instant> {
        self.bounded(run.plan.timeouts.timeout.map(|limit| since + limit))
    }

    /// Returns the instant after which it is not made again.
    pub(in crate::worker) fn again_until(&self) -> Option<Instant> {
        self.again_until
    }

    /// Returns a deadline that is not later than the one of all attempts together.
    pub(super) fn bounded(&self, deadline: Option<Instant>) -> Option<Instant> {
        match self.again_until {
            None => deadline,
            Some(until) => deadline.map(|deadline| deadline.min(until)),
        }
    }

    pub(in crate::worker) fn is_written(&self) -> bool {
        self.is_written
    }

    /// Returns whether its first byte was sent on its present connection.
    pub(in crate::worker) fn is_sent(&self) -> bool {
        !matches!(self.phase, Phase::Waiting)
    }

    /// Returns whether the status line of its reply is complete.
    pub(in crate::worker) fn is_answering(&self) -> bool {
        matches!(self.phase, Phase::Answering { .. })
    }

    /// Returns the instant at which the status line of its reply was complete.
    pub(in crate::worker) fn answering_since(&self) -> Option<Instant> {
        match self.phase {
            Phase::Answering { at, .. } => Some(at),
            Phase::Waiting | Phase::Sent { .. } => None,
        }
    }

    /// Returns when it was due, the status of its reply, and its service time if it is complete at `done`.
    pub(in crate::worker) fn answer_by(&self, done: Instant) -> Option<(Instant, u16, Duration)> {
        let Phase::Answering { status, .. } = self.phase else { return None };
        Some((self.intended, status, self.sent.map_or(Duration::ZERO, |sent| done - sent)))
    }

    /// Returns the step that made it, if one did.
    pub(super) fn look(&self) -> Option<Look> {
        match &self.origin {
            Origin::Step { look, .. } => *look,
            Origin::Source | Origin::Recorded(_) => None,
        }
    }

    pub(super) fn look_mut(&mut self) -> Option<&mut Look> {
        match &mut self.origin {
            Origin::Step { look, .. } => look.as_mut(),
            Origin::Source | Origin::Recorded(_) => None,
        }
    }

    pub(super) fn stream(&self) -> Option<&Stream> {
        self.reader.as_ref()?.stream()
    }

    pub(super) fn stream_mut(&mut self) -> Option<&mut Stream> {
        self.reader.as_mut()?.stream_mut()
    }

    pub(super) fn talk(&self) -> Option<&Talk> {
        self.reader.as_ref()?.talk()
    }

    pub(super) fn talk_mut(&mut self) -> Option<&mut Talk> {
        self.reader.as_mut()?.talk_mut()
    }

    /// Returns the instant from which on its reply is complete for its user, if the server has said so and goes on.
    pub(in crate::worker) fn done_at(&self) -> Option<Instant> {
        self.stream()?.done_at()
    }

    /// Returns the bytes of its reply's body that were read as a stream.
    pub(in crate::worker) fn streamed_size(&self) -> u64 {
        self.stream().map_or(0, Stream::size)
    }

    /// Returns whether it opens a WebSocket.
    pub(in crate::worker) fn opens_websocket(&self) -> bool {
        self.talk().is_some()
    }

    /// Returns whether it has a WebSocket that is open.
    pub(in crate::worker) fn is_talking(&self) -> bool {
        self.talk().is_some_and(Talk::is_open)
    }

    /// Ends its WebSocket, if that is open.
    pub(super) fn end_talk(&mut self, fate: Fate, now: Instant, recorder: &mut Recorder) -> Option<TalkEnd> {
        let due = self.intended;
        self.talk_mut()?.end(fate, due, now, recorder)
    }

    /// Returns whether the server owes it something: its reply, until that is a stream on which the server speaks when it has
    /// something to say.
    pub(super) fn is_reply_due(&self) -> bool {
        self.is_sent() && !self.reader.as_ref().is_some_and(|reader| reader.is_at_leisure())
    }

    /// Forgets the connection that it was on: it is made again.
    pub(super) fn reset(&mut self) {
        self.phase = Phase::Waiting;
        self.stalled = Duration::ZERO;
        self.is_written = false;
        self.deadline = None;
        self.again_until = None;
        self.status_line_due = None;
        if let Some(reader) = &mut self.reader {
            reader.reset();
        }
        if let Some(look) = self.look_mut() {
            (look.failed, look.expects_status) = (None, false);
        }
    }
}
