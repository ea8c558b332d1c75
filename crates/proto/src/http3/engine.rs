//! The HTTP/3 of one connection: what its owner sees, and its state.
//!
//! From calls to frames is in `sending`, from streams to events in `receiving` and `peer`.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::{Bytes, BytesMut};

use super::call::{Call, Upload, Waiting};
use super::error::ErrorCode;
use super::frame::{Limits as FrameLimits, Place, Reader};
use super::peer::PeerStream;
use super::sections::Sections;
use super::{Options, PeerSettings};
use crate::counts::{Counts, count};
use crate::news::News;
use crate::numbered::Numbered;
use crate::patience::Patience;
use crate::quic::{self, Datagrams, Ecn, StreamId, Ticket};
use crate::request::Request;
use crate::tls::Progress;
use crate::{Awaited, CallId, Full, Sent, Stall};

/// The HTTP/3 of one connection, with its QUIC.
///
/// See [`crate::Engine`] for how the methods work together. `now` is the time since the epoch of the connection's
/// [context](quic::Context).
#[derive(Debug)]
pub struct Engine {
    pub(super) quic: quic::Connection,
    pub(super) options: Options,
    pub(super) phase: Phase,
    /// The present, as the owner said last.
    pub(super) now: Duration,
    /// Steps of the handshake that the owner does not know of.
    pub(super) progress: VecDeque<Progress>,
    /// Calls with a stream, numbered as QUIC numbers these streams.
    pub(super) calls: Numbered<Call>,
    /// Calls that wait for a stream, in order.
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) supply: Supply,
    /// Calls with more of a request to send, whose turn it is.
    pub(super) uploads: VecDeque<u64>,
    pub(super) own: OwnStreams,
    pub(super) peer: Peer,
    /// Streams that may have something to read.
    pub(super) readable: VecDeque<StreamId>,
    /// Bytes that were read and are not used up.
    pub(super) reading: Option<(StreamId, Bytes)>,
    pub(super) blocked: Blocked,
    pub(super) sections: Sections,
    pub(super) sent: VecDeque<Sent>,
    pub(super) news: News,
    /// The connection is gone, which counts once all that arrived before has been read.
    pub(super) loss: Option<quic::Loss>,
    /// Requests that were sent before the handshake was complete.
    pub(super) early: u64,
    pub(super) patience: Patience,
}

/// The life of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It takes calls, which go out once the handshake allows.
    Open,
    /// The peer takes no further calls.
    Draining,
    /// Nothing more is expected of the peer.
    Closed,
}

/// The streams that the peer allows.
#[derive(Debug)]
pub(super) struct Supply {
    /// The one for the next call, which the peer does not know of yet: one is opened ahead, as QUIC does not tell how many
    /// more the peer allows.
    pub(super) next: Option<StreamId>,
    /// The peer may allow another.
    pub(super) has_room: bool,
}

/// Calls whose header block waits for the table of header compression.
#[derive(Debug, Default)]
pub(super) struct Blocked {
    /// These, each with the insertions that it needs.
    pub(super) calls: Vec<(u64, u64)>,
    /// Those that need not wait any longer.
    pub(super) ready: VecDeque<StreamId>,
}

/// The side of the peer: streams that it alone sends on, and what it said on them.
#[derive(Debug, Default)]
pub(super) struct Peer {
    pub(super) streams: Vec<PeerStream>,
    /// The kinds of streams that are opened once, as far as they were.
    pub(super) opened: Vec<super::uni::StreamType>,
    /// The number of streams of unknown kinds.
    pub(super) unknown_streams: u32,
    pub(super) settings: Option<PeerSettings>,
    /// The last identifier of a GOAWAY frame.
    pub(super) goaway: Option<u64>,
}

/// The streams that we alone send on.
#[derive(Debug, Default)]
pub(super) struct OwnStreams {
    pub(super) control: Option<StreamId>,
    pub(super) decoder: Option<StreamId>,
    /// What they have not taken yet.
    pub(super) control_bytes: Vec<u8>,
    pub(super) decoder_bytes: Vec<u8>,
}

impl Engine {
    /// Makes the HTTP/3 of a connection that has just begun.
    #[must_use]
    pub fn new(quic: quic::Connection, options: Options) -> Self {
        Self {
            quic,
            options,
            phase: Phase::Open,
            now: Duration::ZERO,
            progress: VecDeque::new(),
            calls: Numbered::new(),
            waiting: VecDeque::new(),
            supply: Supply { next: None, has_room: true },
            uploads: VecDeque::new(),
            own: OwnStreams::default(),
            peer: Peer::default(),
            readable: VecDeque::new(),
            reading: None,
            blocked: Blocked::default(),
            sections: Sections::new(options.header_table, options.limits.reply, options.wanted_fields()),
            sent: VecDeque::new(),
            news: News::default(),
            loss: None,
            early: 0,
            patience: Patience::default(),
        }
    }

    /// Returns the connection of QUIC, for what is known of it.
    #[must_use]
    pub fn quic(&self) -> &quic::Connection {
        &self.quic
    }

    /// Returns the number of requests that were sent before the handshake was complete.
    #[must_use]
    pub fn early_count(&self) -> u64 {
        self.early
    }

    /// Returns how many further calls the connection takes now.
    #[must_use]
    pub fn capacity(&self) -> usize {
        match self.phase {
            Phase::Open if self.loss.is_none() => self.options.streams.saturating_sub(self.pending_count()),
            Phase::Open | Phase::Draining | Phase::Closed => 0,
        }
    }

    /// Returns whether there is capacity for a call that the peer is known to allow a stream for, or may.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.capacity() > 0 && self.supply.has_room
    }

    /// Returns how many calls have no complete reply.
    #[must_use]
    pub fn pending_count(&self) -> usize {
        self.calls.len() + self.waiting.len()
    }

    /// Returns how many calls have a stream.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.calls.len()
    }

    /// Returns the calls whose end has not been reported; those without a complete reply come last, in order of
    /// submission.
    pub fn pending(&self) -> impl Iterator<Item = CallId> + '_ {
        let ended = self.news.ended();
        ended.chain(self.unanswered())
    }

    /// Returns the first call without a complete reply.
    #[must_use]
    pub fn front(&self) -> Option<CallId> {
        self.unanswered().next()
    }

    fn unanswered(&self) -> impl Iterator<Item = CallId> + '_ {
        let open = self.calls.iter().map(|(_, call)| call.call);
        open.chain(self.waiting.iter().map(|waiting| waiting.call))
    }

    /// Returns whether the peer takes no further calls.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.phase != Phase::Open || self.loss.is_some()
    }

    /// Adds a call.
    ///
    /// # Errors
    /// [`Full`] when [`Engine::capacity`] is 0.
    pub fn submit(&mut self, now: Duration, call: CallId, request: Request) -> Result<(), Full> {
        if self.capacity() == 0 {
            return Err(Full);
        }
        // The peer was asked for a stream before, and has none.
        let since = (!self.supply.has_room).then_some(now);
        self.waiting.push_back(Waiting { call, request, since });
        Ok(())
    }

    /// Gives up a call that has no complete reply. Nothing more is reported of it.
    pub fn cancel(&mut self, now: Duration, call: CallId) {
        self.now = now;
        if let Some(place) = self.waiting.iter().position(|waiting| waiting.call == call) {
            if let Some(Waiting { since: Some(since), .. }) = self.waiting.remove(place) {
                self.news.add_stall(call, Awaited::Stream, self.now - since);
            }
            return;
        }
        if self.news.forget(call) {
            self.announce_end();
        }
        let found = self.calls.iter().find(|(_, its)| its.call == call).map(|(number, _)| number);
        if let Some(number) = found
            && let Some(call) = self.remove(number)
        {
            self.abandon(&call, ErrorCode::H3_REQUEST_CANCELLED, "no reply in time");
            self.announce_end();
        }
    }

    /// Uses datagrams that arrived in one buffer, each of `segment` bytes but the last. Returns the sessions that they
    /// brought, for others to resume.
    pub fn handle_datagrams(
        &mut self,
        now: Duration,
        bytes: BytesMut,
        segment: usize,
        ecn: Option<Ecn>,
    ) -> Vec<Ticket> {
        self.quic.handle_datagrams(now, bytes, segment, ecn)
    }

    /// Returns the next step of the handshake. After [`Progress::EarlyDataRejected`], all pending calls are as if never
    /// sent, and will be sent.
    pub fn poll_progress(&mut self, now: Duration) -> Option<Progress> {
        self.now = now;
        self.pump();
        self.progress.pop_front()
    }

    /// Returns the instant at which its timer expires. The answer replaces the last one.
    pub fn poll_timeout(&mut self) -> Option<Duration> {
        self.quic.poll_timeout()
    }

    /// The timer has expired.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.quic.handle_timeout(now);
    }

    /// Appends the next datagrams, `count` at most, to an empty buffer. What they are the first to carry of requests is
    /// reported by [`Engine::poll_sent`].
    pub fn poll_datagrams(&mut self, now: Duration, count: usize, out: &mut Vec<u8>) -> Option<Datagrams> {
        self.now = now;
        self.fill(|_| true);
        self.quic.poll_transmit(now, count, out)
    }

    /// Reports the requests that QUIC has begun or completed to send, in order.
    pub fn poll_sent(&mut self) -> Option<Sent> {
        self.sent.pop_front()
    }

    /// Returns the value of `server-timing` in the last reply reported as complete; several are joined by commas. Empty
    /// without one, or if the options do not ask for it.
    #[must_use]
    pub fn server_timing(&self) -> &[u8] {
        self.sections.kept.server_timing()
    }

    /// Returns the value of `alt-svc` in the last header block: at [`ReplyStarted`](crate::Event::ReplyStarted), in that of
    /// the reply. Several are joined by commas. Empty without one, or if the options do not ask for it.
    #[must_use]
    pub fn alt_svc(&self) -> &[u8] {
        self.sections.kept.alt_svc()
    }

    /// Returns the peer's settings, once they have arrived.
    #[must_use]
    pub fn peer_settings(&self) -> Option<PeerSettings> {
        self.peer.settings
    }

    /// Returns counts of what happened since the last call.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.news.counts)
    }

    /// Returns whether content arrived since the last call. There is no event for it if nobody asks for bodies.
    pub fn take_content_received(&mut self) -> bool {
        std::mem::take(&mut self.news.content_received)
    }

    /// Reports a call that had to wait, once the wait is over. All of a call's waits are reported before its last event.
    pub fn poll_stall(&mut self) -> Option<Stall> {
        self.news.stalls.pop_front()
    }

    /// Closes the connection. What is then to be sent tells the peer.
    pub fn close(&mut self, now: Duration) {
        if self.phase != Phase::Closed {
            self.quic.close(now, ErrorCode::H3_NO_ERROR.0);
            self.phase = Phase::Closed;
        }
    }
}

impl Engine {
    /// Returns the reader of a request's stream.
    pub(super) fn reader(&self) -> Reader {
        let limits = self.options.limits;
        let limits = FrameLimits { section_size: limits.reply.head_size, payload_size: limits.control_frame };
        Reader::new(Place::Request, limits)
    }

    /// Removes a call that has ended, whatever is left of its stream.
    pub(super) fn remove(&mut self, number: u64) -> Option<Call> {
        let mut call = self.calls.remove(number)?;
        // The socket may not have taken a datagram since: nothing more is reported of a call that has ended.
        self.sent.retain(|sent| sent.call() != call.call);
        call.end_wait(self.now);
        if !call.window_wait.is_zero() {
            let stall = Stall { call: call.call, what: Awaited::Window, time: call.window_wait };
            self.news.stalls.push_back(stall);
        }
        if call.held.take().is_some() {
            self.blocked.calls.retain(|&(blocked, _)| blocked != number);
        }
        if self.reading.as_ref().is_some_and(|(id, _)| *id == call.id) {
            self.reading = None;
        }
        Some(call)
    }

    /// Gives up both directions of a call's stream, for a reason that is counted.
    pub(super) fn abandon(&mut self, call: &Call, code: ErrorCode, reason: &'static str) {
        self.quic.stop(call.id, code.0);
        if !matches!(call.upload, Upload::Done) {
            self.quic.reset(call.id, code.0);
        }
        self.sections.decoder().cancel(call.id.number());
        count(&mut self.news.counts.resets_sent, reason);
    }

    /// Returns whether the connection takes no further calls and has none left.
    pub(super) fn is_at_end(&self) -> bool {
        self.phase != Phase::Open && self.pending_count() == 0
    }

    /// Reports once that this is so.
    pub(super) fn announce_end(&mut self) {
        if self.is_at_end() {
            self.news.announce_end();
        }
    }
}
