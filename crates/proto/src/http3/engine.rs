//! The HTTP/3 of one connection, as its owner sees it.

use std::time::Duration;

use bytes::BytesMut;

use super::connection::{Connection, Phase, Waiting};
use super::counts::Counts;
use super::error::ErrorCode;
use super::{Options, PeerSettings};
use crate::quic::{self, Datagrams, Ecn, Ticket};
use crate::request::Request;
use crate::tls::Progress;
use crate::{CallId, Event, Full, ProtocolError, Sent, Stall};

/// The HTTP/3 of one connection, with its QUIC.
///
/// See [`crate::Engine`] for how the methods work together. `now` is the time since the epoch of the connection's
/// [context](quic::Context).
#[derive(Debug)]
pub struct Engine {
    pub(super) connection: Connection,
}

impl Engine {
    /// Makes the HTTP/3 of a connection that has just begun.
    #[must_use]
    pub fn new(quic: quic::Connection, options: Options) -> Self {
        Self { connection: Connection::new(quic, options) }
    }

    /// Returns the connection of QUIC, for what is known of it.
    #[must_use]
    pub fn quic(&self) -> &quic::Connection {
        &self.connection.quic
    }

    /// Returns the number of requests that were sent before the handshake was complete.
    #[must_use]
    pub fn early_count(&self) -> u64 {
        self.connection.early
    }

    /// Returns how many further calls the connection takes now.
    #[must_use]
    pub fn capacity(&self) -> usize {
        match self.connection.phase {
            Phase::Open if self.connection.loss.is_none() => {
                self.connection.options.streams.saturating_sub(self.pending_count())
            }
            Phase::Open | Phase::Draining | Phase::Closed => 0,
        }
    }

    /// Returns whether there is capacity for a call that the peer is known to allow a stream for, or may.
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.capacity() > 0 && self.connection.has_room
    }

    /// Returns how many calls have no complete reply.
    #[must_use]
    pub fn pending_count(&self) -> usize {
        self.connection.pending_count()
    }

    /// Returns how many calls have a stream.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        self.connection.calls.len()
    }

    /// Returns the calls whose end has not been reported; those without a complete reply come last, in order of
    /// submission.
    pub fn pending(&self) -> impl Iterator<Item = CallId> + '_ {
        let ended = self.connection.pending_events.iter().filter_map(|event| match event {
            Event::ReplyDone { call, .. }
            | Event::CallFailed { call, .. }
            | Event::CallReturned { call, .. } => Some(*call),
            _ => None,
        });
        ended.chain(self.unanswered())
    }

    /// Returns the first call without a complete reply.
    #[must_use]
    pub fn front(&self) -> Option<CallId> {
        self.unanswered().next()
    }

    fn unanswered(&self) -> impl Iterator<Item = CallId> + '_ {
        let open = self.connection.calls.iter().map(|(_, call)| call.call);
        open.chain(self.connection.waiting.iter().map(|waiting| waiting.call))
    }

    /// Returns whether the peer takes no further calls.
    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.connection.phase != Phase::Open || self.connection.loss.is_some()
    }

    /// Adds a call.
    ///
    /// # Errors
    /// [`Full`] when [`Engine::capacity`] is 0.
    pub fn submit(&mut self, now: Duration, call: CallId, request: Request) -> Result<(), Full> {
        if self.capacity() == 0 {
            return Err(Full);
        }
        let connection = &mut self.connection;
        // The peer was asked for a stream before, and has none.
        let since = (!connection.has_room).then_some(now);
        connection.waiting.push_back(Waiting { call, request, since });
        Ok(())
    }

    /// Gives up a call that has no complete reply. Nothing more is reported of it.
    pub fn cancel(&mut self, now: Duration, call: CallId) {
        self.connection.now = now;
        self.connection.cancel(call);
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
        self.connection.quic.handle_datagrams(now, bytes, segment, ecn)
    }

    /// Returns the next step of the handshake. After [`Progress::EarlyDataRejected`], all pending calls are as if never
    /// sent, and will be sent.
    pub fn poll_progress(&mut self, now: Duration) -> Option<Progress> {
        self.connection.now = now;
        self.connection.pump();
        self.connection.progress.pop_front()
    }

    /// Returns the instant at which its timer expires. The answer replaces the last one.
    pub fn poll_timeout(&mut self) -> Option<Duration> {
        self.connection.quic.poll_timeout()
    }

    /// The timer has expired.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.connection.quic.handle_timeout(now);
    }

    /// Appends the next datagrams, `count` at most, to an empty buffer. What they are the first to carry of requests is
    /// reported by [`Engine::poll_sent`].
    pub fn poll_datagrams(&mut self, now: Duration, count: usize, out: &mut Vec<u8>) -> Option<Datagrams> {
        self.connection.now = now;
        self.connection.fill(|_| true);
        self.connection.quic.poll_transmit(now, count, out)
    }

    /// Reports the requests that QUIC has begun or completed to send, in order.
    pub fn poll_sent(&mut self) -> Option<Sent> {
        self.connection.sent.pop_front()
    }

    /// Returns whether datagrams may be due.
    #[must_use]
    pub fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    /// Returns the value of `server-timing` in the last reply reported as complete; several are joined by commas. Empty
    /// without one, or if the options do not ask for it.
    #[must_use]
    pub fn server_timing(&self) -> &[u8] {
        self.connection.sections.server_timing()
    }

    /// Returns the value of `alt-svc` in the last header block: at [`ReplyStarted`](crate::Event::ReplyStarted), in that of
    /// the reply. Several are joined by commas. Empty without one, or if the options do not ask for it.
    #[must_use]
    pub fn alt_svc(&self) -> &[u8] {
        self.connection.sections.alt_svc()
    }

    /// Returns the peer's settings, once they have arrived.
    #[must_use]
    pub fn peer_settings(&self) -> Option<PeerSettings> {
        self.connection.peer
    }

    /// Returns counts of what happened since the last call.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.connection.counts)
    }

    /// Returns whether content arrived since the last call. There is no event for it if nobody asks for bodies.
    pub fn take_content_received(&mut self) -> bool {
        std::mem::take(&mut self.connection.content_received)
    }

    /// Reports a call that had to wait, once the wait is over. All of a call's waits are reported before its last event.
    pub fn poll_stall(&mut self) -> Option<Stall> {
        self.connection.stalls.pop_front()
    }

    /// Closes the connection. What is then to be sent tells the peer.
    pub fn close(&mut self, now: Duration) {
        if self.connection.phase != Phase::Closed {
            self.connection.quic.close(now, ErrorCode::H3_NO_ERROR.0);
            self.connection.phase = Phase::Closed;
        }
    }

    /// Returns the next event.
    ///
    /// # Errors
    /// When the connection is gone, or the peer breaks the protocol or exceeds a limit; it is then of no further use, but
    /// for what is to be sent to tell the peer.
    pub fn poll_event(&mut self, now: Duration) -> Result<Option<Event<'static>>, ProtocolError> {
        self.connection.now = now;
        self.connection.next_event()
    }
}
