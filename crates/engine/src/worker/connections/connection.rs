//! One connection: its transport, its protocol, and the instants by which it is measured.

use std::time::Duration;

use httperf_plan::{Arrivals, Workload};
use httperf_proto::{Awaited, Engine, Protocol, Sent, quic};
use httperf_stats::{Carrier, Failure, Instant, QuicTransport, SlowDetail};

use super::datagram::Datagram;
use super::progress::Stage;
use super::protocol::SocketFigures;
use super::tls::Secured;
use super::transport::Transport;
use super::{Owner, at_instant, protocol};
use crate::failure::Awaits;
use crate::worker::CallKey;
use crate::worker::run::Run;
use crate::{Network, Observation};

/// One connection.
///
/// ```text
///   connecting ──► (tunnelling) ──► (handshaking) ──► established ──► gone
/// ```
///
/// It goes when it is closed by us, ended by the peer, failed, or timed out.
pub(super) struct Connection<S> {
    pub(super) transport: Transport<S>,
    pub(super) engine: Engine,
    pub(super) owner: Owner,
    /// The place of its target among the plan's.
    pub(super) target: usize,
    /// Its number in the order in which connections were initiated, from 0.
    serial: u64,
    /// The instant at which it was due: that of the call for which it was opened.
    due: Instant,
    connect_started: Instant,
    /// The time it took to establish.
    connect: Duration,
    /// Calls whose first byte was sent on it.
    calls_sent: u64,
    /// Complete replies.
    replies: u64,
    /// The instant at which the request at the head of the queue got there, or the socket took the last part of it.
    progress: Instant,
    /// The instant at which bytes of the server came last.
    heard: Instant,
    /// Its protocol is recorded, if it may be HTTP/2.
    is_recorded: bool,
    /// It was read as often as a turn allows, and is to be read on.
    pub(super) is_unread: bool,
    /// It is to fail as soon as events are polled.
    pub(super) is_failing: bool,
    /// It had room for a call when it was last read.
    pub(super) had_room: bool,
    /// Inputs that follow once all that came before them is decompressed.
    pub(super) halt: Option<Box<Halt>>,
    /// The instant at which its protocol's timer expires, and the earliest under which it is filed.
    pub(super) timer: Option<Instant>,
    pub(super) filed: Option<Instant>,
}

/// A connection halts while what came for one of its calls is decompressed, step by step: nothing is read from it
/// meanwhile, and what was read waits.
pub(super) struct Halt {
    pub(super) call: CallKey,
    /// The bytes that wait, and the instant at which they arrived, by our clock and the kernel's.
    pub(super) input: Vec<u8>,
    pub(super) arrived: Instant,
    pub(super) stamp: Option<Instant>,
    /// The kernel was asked when they arrived.
    pub(super) is_asked: bool,
    /// The peer sends nothing more.
    pub(super) has_ended: bool,
}

/// Calls of a connection whose time limit may be over.
pub(super) struct Expired {
    /// Those whose limit is over.
    pub(super) calls: Vec<CallKey>,
    /// The earliest deadline of the others.
    pub(super) next: Option<Instant>,
}

impl<S> Connection<S> {
    pub(super) fn new(
        transport: Transport<S>,
        engine: Engine,
        owner: Owner,
        target: usize,
        serial: u64,
        due: Instant,
        now: Instant,
    ) -> Self {
        Self {
            transport,
            engine,
            owner,
            target,
            serial,
            due,
            connect_started: now,
            connect: Duration::ZERO,
            calls_sent: 0,
            replies: 0,
            progress: now,
            heard: now,
            is_recorded: false,
            is_unread: false,
            is_failing: false,
            had_room: true,
            halt: None,
            timer: None,
            filed: None,
        }
    }

    /// Returns the instant at which it was due.
    pub(super) fn due(&self) -> Instant {
        self.due
    }

    /// Returns the time since connecting began.
    pub(super) fn age(&self, now: Instant) -> Duration {
        now - self.connect_started
    }

    /// Returns whether it has delivered a reply.
    pub(super) fn has_answered(&self) -> bool {
        self.replies > 0
    }

    /// Returns whether it has come to no server: over datagrams, nothing has arrived.
    pub(super) fn is_unreached(&self) -> bool {
        match self.engine.quic() {
            Some(quic) => quic.figures().datagrams_received == 0,
            None => self.transport.stage() == Stage::Connecting,
        }
    }

    /// Returns whether it is established and has no calls.
    pub(super) fn is_idle(&self) -> bool {
        self.transport.is_established() && self.engine.pending_count() == 0
    }

    /// Returns whether a server that refuses calls will answer the ones that it has, and has none left.
    pub(super) fn is_drained(&self) -> bool {
        self.engine.is_draining() && self.engine.pending_count() == 0
    }

    /// Returns what it awaits: of the call at the head of its queue, once it is established.
    pub(super) fn awaits(&self, run: &Run<'_>) -> Awaits {
        match self.transport.stage() {
            Stage::Connecting => return Awaits::Connect,
            Stage::Tunnelling => return Awaits::Tunnel,
            Stage::Handshaking if self.is_unreached() => return Awaits::Connect,
            Stage::Handshaking => return Awaits::Handshake,
            Stage::Established => {}
        }
        let begun = self.engine.has_partial_head();
        match self.engine.front().and_then(|front| run.find_call(front.into())) {
            Some(call) if call.is_talking() => Awaits::Message,
            Some(call) if call.is_answering() || begun => Awaits::Body,
            Some(call) if !call.is_written() => Awaits::Request,
            Some(_) | None => Awaits::Reply,
        }
    }

    /// Returns whether a part of the request at the head of the queue is not written, whatever it waits for.
    pub(super) fn is_writing(&self, run: &Run<'_>) -> bool {
        self.engine
            .front()
            .is_some_and(|front| run.find_call(front.into()).is_some_and(|call| !call.is_written()))
    }

    /// Returns whether there are bytes for the socket.
    pub(super) fn wants_write(&self) -> bool {
        self.engine.wants_write() || self.transport.has_unwritten()
    }

    pub(super) fn awaits_ticket(&self) -> bool {
        self.transport.secured().is_some_and(Secured::awaits_ticket)
            || self.transport.datagram().is_some_and(|datagram| datagram.awaits_ticket)
    }

    /// Returns the instant at which its next event was due: that of the call at the head of its queue, or its own.
    pub(super) fn due_of(&self, run: &Run<'_>) -> Instant {
        self.engine.front().map_or(self.due, |front| run.call(front.into()).intended())
    }

    /// It is ready for calls.
    pub(super) fn establish(&mut self, now: Instant, run: &mut Run<'_>) {
        self.transport.establish();
        self.progress = now;
        self.connect = self.age(now);
        if self.transport.has_handshake() {
            run.recorder.handshake_settled();
        }
        run.recorder.connect_done(self.due, self.connect);
    }

    /// Bytes of the server arrived.
    pub(super) fn handle_heard(&mut self, now: Instant) {
        self.heard = now;
        if !self.engine.is_in_order() {
            // Calls may have taken the last room since it was looked at: what arrives now may say that there is some again.
            self.had_room &= self.engine.has_room();
        }
    }

    /// A reply is complete.
    pub(super) fn count_reply(&mut self) {
        self.replies += 1;
    }

    /// A call is about to join the queue.
    pub(super) fn expect_call(&mut self, now: Instant) {
        if self.engine.pending_count() == 0 {
            self.progress = now;
        }
    }

    /// The transport took `count` further bytes of requests, at `at`.
    pub(super) fn handle_written(&mut self, count: usize, at: Instant, run: &mut Run<'_>) {
        if let Some(mut stream) = self.engine.byte_stream() {
            stream.handle_written(count);
        }
        if count > 0 {
            self.progress = at;
        }
        while let Some(sent) = self.engine.poll_sent() {
            match sent {
                Sent::Started(call) => {
                    let carrier = Carrier {
                        connection: self.serial,
                        reused: self.calls_sent > 0,
                        connect: self.connect,
                        packets_lost: if run.keeps_slowest() { self.packets_lost() } else { 0 },
                    };
                    self.calls_sent += 1;
                    run.call_sent(call.into(), at, carrier);
                }
                Sent::Finished(call) => self.handle_request_sent(call.into(), at, run),
            }
        }
        self.record_stalls(run);
    }

    /// Returns the number of packets declared lost so far; 0 over TCP, which does not tell.
    fn packets_lost(&self) -> u64 {
        self.engine.quic().map_or(0, quic::Connection::packets_lost)
    }

    fn handle_request_sent(&mut self, key: CallKey, at: Instant, run: &mut Run<'_>) {
        if let Some(sends) = self.transport.sends_mut() {
            sends.finished(key, at);
        }
        let size = self.engine.request_size(run.call(key).request());
        run.call_written(key, at, size);
        if run.plan.watch.requests.is_some() {
            let request = run.call(key).request().clone();
            let head = &self.engine.request_head(&request);
            let call = run.call(key).serial();
            run.observe(Observation::Request { call, head, contents: request.body() });
        }
        let is_replay = self.transport.secured_mut().is_some_and(Secured::take_replay)
            || self.transport.datagram_mut().is_some_and(Datagram::take_replay);
        if is_replay {
            let replayed = httperf_stats::EarlyRequests { replayed: 1, ..Default::default() };
            run.recorder.early_requests(self.due, replayed);
        }
    }

    /// Records the waits of calls for the server.
    pub(super) fn record_stalls(&mut self, run: &mut Run<'_>) {
        if !run.may_have_streams() {
            return;
        }
        while let Some(stall) = self.engine.poll_stall() {
            let key = CallKey::from(stall.call);
            let Some(call) = run.find_call(key) else { continue };
            let intended = call.intended();
            match stall.what {
                Awaited::Stream => {
                    run.recorder.http2(intended, |http2| http2.stream_waits.add(stall.time));
                }
                Awaited::Window => {
                    run.call_stalled(key, stall.time);
                    run.recorder.http2(intended, |http2| http2.window_waits.add(stall.time));
                }
            }
        }
    }

    /// Records its protocol once that is clear.
    pub(super) fn record_protocol(&mut self, run: &mut Run<'_>) {
        if !run.may_have_streams() || self.is_recorded {
            return;
        }
        if self.engine.peer_settings().is_some() || self.has_answered() {
            self.record_protocol_now(run);
        }
    }

    /// Records its protocol, which is clear before the server has said anything in it.
    pub(super) fn record_protocol_now(&mut self, run: &mut Run<'_>) {
        self.is_recorded = true;
        let (protocol, settings) = (self.engine.protocol(), self.engine.peer_settings());
        run.recorder.http2(self.due, |http2| {
            http2.spoken.add(match protocol {
                Protocol::Http1 => "HTTP/1.1",
                Protocol::Http2 => "HTTP/2",
                Protocol::Http3 => "HTTP/3",
            });
            if http2.server_settings.is_none() {
                http2.server_settings = settings.map(protocol::server_settings);
            }
        });
    }

    /// Records the end of a connection in the clear whose server closed it without a word: the server may not know
    /// HTTP/2.
    pub(super) fn record_silence(&self, failure: Failure, run: &mut Run<'_>) {
        let is_open = self.transport.is_established() && !self.transport.is_secured();
        let is_silent = !self.is_recorded && self.engine.protocol() == Protocol::Http2;
        if is_open && is_silent && failure == Failure::Reset {
            let due = self.due_of(run);
            run.recorder.http2(due, |http2| {
                // It is no violation, and may have other reasons, unless HTTP/2 is never spoken.
                http2.first_violation.get_or_insert_with(|| "the server closes without a word".to_owned());
            });
        }
    }

    /// Records the counts of its protocol so far, in the phase to which `at` belongs.
    pub(super) fn record_counts(&mut self, at: Instant, socket: SocketFigures, run: &mut Run<'_>) {
        let Some(counts) = self.engine.take_counts() else { return };
        run.recorder.http2(at, |http2| protocol::add(http2, &counts));
        if let (Some(quic), Some(datagram)) = (self.engine.quic(), self.transport.datagram_mut()) {
            let figures = datagram.take_figures(quic);
            run.recorder.http2(at, |http3| protocol::add_quic(http3, &figures, socket));
        }
    }

    /// Returns the state of its transport, for a call that is slow.
    pub(super) fn slow_detail<N: Network<Socket = S>>(&self, network: &mut N) -> SlowDetail {
        let quic = self.engine.quic();
        SlowDetail {
            transport: if quic.is_none() { network.transport(self.transport.socket()) } else { None },
            quic: quic.map(|quic| QuicTransport { rtt: quic.rtt(), packets_lost: quic.packets_lost() }),
            server_timing: None,
        }
    }

    /// Returns the deadline of the call at the head of the queue: for its request to be written, or for its reply.
    pub(super) fn front_deadline(&self, run: &Run<'_>) -> Option<Instant> {
        let call = run.call(self.engine.front()?.into());
        if call.is_talking() {
            return call.deadline();
        }
        call.deadline().or_else(|| call.write_deadline(self.progress, run))
    }

    /// Returns the calls to give up at `now` while the connection goes on; `None` if it is to fail as a whole. It goes
    /// on if calls are due by themselves or in a closed loop, and the server goes on talking.
    pub(super) fn expired(&self, now: Instant, run: &Run<'_>) -> Option<Expired> {
        if self.engine.is_in_order() || !self.transport.is_established() {
            return None;
        }
        let (mut calls, mut next, mut is_silent) = (Vec::new(), None, false);
        for key in self.engine.pending().into_iter().map(CallKey::from) {
            let call = run.call(key);
            if call.is_talking() && call.deadline().is_none() {
                continue;
            }
            let since = if call.is_sent() { self.progress } else { call.submitted() };
            let to_be_written = || call.write_deadline(since, run);
            let Some(deadline) = call.deadline().or_else(to_be_written) else { continue };
            if deadline > now {
                next = Some(next.map_or(deadline, |next: Instant| next.min(deadline)));
            } else {
                is_silent |= self.heard < call.sent().unwrap_or(call.submitted());
                calls.push(key);
            }
        }
        (calls.is_empty() || self.calls_end_alone(run) && !is_silent).then_some(Expired { calls, next })
    }

    /// Returns whether its calls are due by themselves or in a closed loop, and have streams of their own: one of them fails
    /// without the others.
    pub(super) fn calls_end_alone(&self, run: &Run<'_>) -> bool {
        let are_alone = matches!(run.plan.workload, Workload::Calls(_))
            || matches!(run.plan.arrivals, Arrivals::Concurrent(_));
        are_alone && !self.engine.is_in_order() && self.transport.is_established()
    }

    /// Gives up a call, which is not the last that the connection has.
    pub(super) fn cancel(&mut self, call: CallKey, now: Instant, run: &mut Run<'_>) {
        let is_cancelled = self.engine.cancel(at_instant(now), call.into());
        debug_assert!(is_cancelled, "replies do not come in order");
        self.record_stalls(run);
    }
}
