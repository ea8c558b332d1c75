//! The HTTP/2 of one connection, as its owner sees it.

use std::time::Duration;

use super::connection::{Connection, Phase};
use super::frame::{ErrorCode, GoAway, Reader};
use super::{Options, PeerSettings};
use crate::counts::Counts;
use crate::request::Request;
use crate::{CallId, Event, Full, ProtocolError, Sent, Stall};

/// The HTTP/2 of one connection.
///
/// See [`crate::Engine`] for how the methods work together. `now` is the time since any fixed instant.
#[derive(Debug)]
pub struct Engine {
    reader: Reader,
    pub(super) connection: Connection,
}

impl Engine {
    /// Makes a fresh connection.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { reader: Reader::new(options.max_frame), connection: Connection::new(options) }
    }

    /// Returns how many further calls the connection takes now.
    #[must_use]
    pub fn capacity(&self) -> usize {
        match self.connection.phase {
            Phase::Draining | Phase::Closed => 0,
            Phase::New | Phase::Opened | Phase::Established => {
                let allowed = self.connection.options.streams.saturating_sub(self.pending_count());
                allowed.min(self.connection.numbers_left())
            }
        }
    }

    /// Returns whether there is capacity for a call that the peer allows a stream for.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.capacity() > 0 && self.pending_count() < self.connection.streams_max()
    }

    /// Returns how many calls have no complete reply.
    #[must_use]
    pub fn pending_count(&self) -> usize {
        self.connection.streams.open_count() + self.connection.waiting.len()
    }

    /// Returns how many calls have a stream.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.connection.streams.open_count()
    }

    /// Returns the calls whose end has not been reported; those without a complete reply come last, in order
    /// of submission.
    pub fn pending(&self) -> impl Iterator<Item = CallId> + '_ {
        let ended = self.connection.news.ended();
        ended.chain(self.unanswered())
    }

    /// Returns the first call without a complete reply.
    #[must_use]
    pub fn front(&self) -> Option<CallId> {
        self.unanswered().next()
    }

    fn unanswered(&self) -> impl Iterator<Item = CallId> + '_ {
        let open = self.connection.streams.iter().map(|(_, stream)| stream.call);
        open.chain(self.connection.waiting.iter().map(|&(call, ..)| call))
    }

    /// Returns the code of the peer's last GOAWAY, if there was one.
    #[must_use]
    pub fn goaway(&self) -> Option<ErrorCode> {
        self.connection.goaway
    }

    /// Returns whether the peer takes no further calls.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        matches!(self.connection.phase, Phase::Draining | Phase::Closed)
    }

    /// Adds a call.
    ///
    /// # Errors
    /// [`Full`] when [`Engine::capacity`] is 0.
    pub fn submit(&mut self, now: Duration, call: CallId, request: Request) -> Result<(), Full> {
        if self.capacity() == 0 {
            return Err(Full);
        }
        let is_stalled = self.pending_count() >= self.connection.streams_max();
        self.connection.waiting.push_back((call, request, is_stalled.then_some(now)));
        Ok(())
    }

    /// Gives up a call that has no complete reply. Nothing more is reported of it.
    pub fn cancel(&mut self, now: Duration, call: CallId) {
        self.connection.cancel(now, call);
    }

    /// Sends further bytes on the WebSocket that a call has opened. They are dropped if there is none.
    pub fn send(&mut self, call: CallId, bytes: &[u8]) {
        self.connection.send(call, bytes);
    }

    /// Returns the number of bytes that were sent on the WebSocket of a call and wait for room, in the windows or in the
    /// transport.
    #[must_use]
    pub fn unsent(&self, call: CallId) -> usize {
        let streams = &self.connection.streams;
        let stream = streams.find(call).and_then(|id| streams.get(id));
        let waiting = stream.and_then(|stream| stream.uplink.as_ref()).map_or(0, |uplink| uplink.bytes.len());
        waiting + self.connection.outgoing.unwritten() as usize
    }

    /// Completes the reply that a call's WebSocket is, now that both sides have closed it, and ends our side of its stream.
    /// [`Engine::poll_event`] reports the end.
    pub fn finish(&mut self, now: Duration, call: CallId) {
        self.connection.finish_websocket(now, call);
    }

    /// Hands out the bytes that are due; empty if there are none. Bounded: call again once the transport took
    /// them.
    pub fn poll_transmit(&mut self, now: Duration) -> &[u8] {
        self.connection.fill(now, |_| true);
        self.connection.outgoing.transmit()
    }

    /// As [`Engine::poll_transmit`], up to the first request that is not safe.
    pub fn poll_transmit_safe(&mut self, now: Duration) -> &[u8] {
        self.connection.fill(now, Request::is_safe);
        self.connection.outgoing.transmit()
    }

    /// Returns how many requests have been handed out, at least in part, and were not reported by
    /// [`Engine::poll_sent`]; the last `unused` bytes do not count.
    #[must_use]
    pub fn transmitted_count(&self, unused: usize) -> usize {
        self.connection.outgoing.transmitted_count(unused)
    }

    /// Handles a transport that takes no more for now: hands out again what was handed out and not written.
    pub fn handle_blocked(&mut self) {
        self.connection.outgoing.handle_blocked();
    }

    /// Records that the transport took the next `count` bytes of what was handed out.
    pub fn handle_written(&mut self, count: usize) {
        self.connection.news.counts.bytes_sent += count as u64;
        self.connection.outgoing.handle_written(count);
    }

    /// Reports the requests that the last [`Engine::handle_written`] began or completed, in order.
    pub fn poll_sent(&mut self) -> Option<Sent> {
        self.connection.outgoing.poll_sent()
    }

    /// Returns whether bytes are due, or were handed out and not written.
    #[must_use]
    pub fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    /// Forgets that anything was sent: the peer has not looked at it, and every pending call is sent again.
    /// Only before the peer's first byte.
    pub fn rewind(&mut self, now: Duration) {
        assert!(self.connection.first_bytes.is_empty(), "a peer that answers has looked at the requests");
        let mut fresh = Self::new(self.connection.options);
        let old = &mut self.connection;
        let open = old.streams.iter().map(|(_, stream)| (stream.call, stream.request.clone()));
        let waiting = old.waiting.drain(..).map(|(call, request, _)| (call, request));
        for (call, request) in open.collect::<Vec<_>>().into_iter().chain(waiting) {
            fresh.submit(now, call, request).expect("as many were pending before");
        }
        *self = fresh;
    }

    /// Returns the value of `server-timing` in the last reply reported as complete; several are joined by
    /// commas. Empty without one, or if the options do not ask for it.
    #[must_use]
    pub fn server_timing(&self) -> &[u8] {
        self.connection.header_decoder.kept.server_timing()
    }

    /// Returns the value of `alt-svc` in the last header block: at [`ReplyStarted`](crate::Event::ReplyStarted), in that of
    /// the reply. Several are joined by commas. Empty without one, or if the options do not ask for it.
    #[must_use]
    pub fn alt_svc(&self) -> &[u8] {
        self.connection.header_decoder.kept.alt_svc()
    }

    /// Returns the peer's settings, once they have arrived.
    #[must_use]
    pub fn peer_settings(&self) -> Option<PeerSettings> {
        self.connection.settings.are_known.then_some(self.connection.settings.peer)
    }

    /// Returns counts of what happened since the last call.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.connection.news.counts)
    }

    /// Returns whether content arrived since the last call. There is no event for it if nobody asks for
    /// bodies.
    pub fn take_content_received(&mut self) -> bool {
        std::mem::take(&mut self.connection.news.content_received)
    }

    /// Reports a call that had to wait, once the wait is over. All of a call's waits are reported before its
    /// last event.
    pub fn poll_stall(&mut self) -> Option<Stall> {
        self.connection.news.stalls.pop_front()
    }

    /// Returns the last bytes for the peer before we close the connection; empty if it takes none.
    pub fn goodbye(&mut self) -> &[u8] {
        let connection = &mut self.connection;
        if !matches!(connection.phase, Phase::New | Phase::Closed) {
            // The peer has opened no stream.
            let code = ErrorCode::NO_ERROR;
            GoAway { last_stream: 0, code, debug: b"" }.write(connection.outgoing.buffer());
        }
        connection.phase = Phase::Closed;
        connection.outgoing.transmit()
    }

    /// Reads from `input`, which it shortens by what it used, up to the next event. `None` means that all of
    /// `input` was used and more is needed.
    ///
    /// # Errors
    /// When the peer breaks the protocol or exceeds a limit; the connection is then of no further use.
    /// [`Engine::goodbye`] has the reason for the peer.
    pub fn poll_event<'i>(
        &mut self,
        now: Duration,
        input: &mut &'i [u8],
    ) -> Result<Option<Event<'i>>, ProtocolError> {
        let size = input.len();
        let outcome = self.next_event(now, input);
        self.connection.news.counts.bytes_received += (size - input.len()) as u64;
        outcome
    }

    fn next_event<'i>(
        &mut self,
        now: Duration,
        input: &mut &'i [u8],
    ) -> Result<Option<Event<'i>>, ProtocolError> {
        let Self { reader, connection } = self;
        if connection.phase == Phase::New && !input.is_empty() {
            // A server may speak first; our own bytes still begin with the preface.
            connection.open();
        }
        loop {
            if let Some(event) = connection.news.events.pop_front() {
                return Ok(Some(event));
            }
            if let Some(error) = connection.news.failure.take() {
                return Err(error);
            }
            if connection.phase == Phase::Closed {
                *input = &[];
                return Ok(None);
            }
            let handled = match connection.check_first_bytes(input).and_then(|()| reader.poll(input)) {
                Ok(None) => return Ok(None),
                Ok(Some(piece)) => connection.handle(now, piece),
                Err(violation) if violation.stream.is_some() => {
                    connection.check_expected(None).and(Err(violation))
                }
                Err(violation) => Err(violation),
            };
            match handled {
                Ok(Some(event)) => return Ok(Some(event)),
                Ok(None) => {}
                Err(violation) => connection.handle_violation(now, violation),
            }
        }
    }

    /// Returns how many of the next bytes need not be read, as they are content that nobody asked for.
    #[must_use]
    pub fn skippable(&self) -> u64 {
        let is_wanted = |id| self.connection.is_handed_out(id);
        let is_wanted = self.connection.options.bodies || self.reader.body_stream().is_some_and(is_wanted);
        if is_wanted { 0 } else { self.reader.skippable().into() }
    }

    /// `count` bytes arrived that need not be read, at most those that are [`skippable`](Engine::skippable).
    /// Then call [`Engine::poll_event`].
    pub fn handle_skipped(&mut self, count: u64) {
        self.connection.news.counts.bytes_received += count;
        self.connection.add_content(self.reader.body_stream(), count);
        self.reader.handle_skipped(count as u32);
    }

    /// Handles the end of the peer's bytes. Afterwards the connection is of no further use.
    ///
    /// # Errors
    /// [`ProtocolError::Truncated`] when a call has no complete reply, whether or not it was sent.
    pub fn handle_eof(&mut self) -> Result<(), ProtocolError> {
        self.connection.phase = Phase::Closed;
        if let Some(error) = self.connection.news.failure.take() {
            return Err(error);
        }
        if self.pending_count() > 0 { Err(ProtocolError::Truncated) } else { Ok(()) }
    }
}
