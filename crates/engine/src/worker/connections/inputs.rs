//! Inputs of connections: sockets that are ready, and the bytes that arrive.

use std::io;

use rustix::io::Errno;
use slotmap::KeyData;

use httperf_stats::Instant;

use super::progress::Stage;
use super::reading::{Reading, Source, Step};
use super::transport::{Read, ReadKind};
use super::{Connections, Event, EventKind};
use crate::worker::run::Run;
use crate::worker::{ConnectionKey, READ_SIZE};
use crate::{Network, Ready, Received};

/// The number of reads of a connection in a turn before the others have theirs.
pub(super) const READS_PER_TURN: u32 = 8;

impl<N: Network> Connections<N> {
    /// Handles the readiness of a socket.
    pub(in crate::worker) fn handle_ready(&mut self, ready: &Ready, now: Instant, run: &mut Run<'_>) {
        let key = ConnectionKey::from(KeyData::from_ffi(ready.key));
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.transport.datagram().is_some() {
            self.handle_datagrams_ready(key, ready, now, run);
            return;
        }
        connection.transport.handle_ready(ready);
        // A server may answer before it has the whole request and then reset the connection: its reply is read
        // before a write finds that out.
        let reads = ready.readable || ready.ended || ready.failed;
        let last = if ready.writable { Step::Flush } else { Step::Done };
        let mut step = if reads { Step::Read } else { last };
        if connection.transport.stage() == Stage::Connecting {
            if ready.failed {
                let error = self.network.take_error(connection.transport.socket());
                self.fail_io(key, error.unwrap_or_else(|| Errno::CONNRESET.into()), now);
                return;
            }
            if !ready.writable {
                return;
            }
            if self.network.met_itself(connection.transport.socket()) {
                // Nobody listens, and the socket has met itself.
                self.fail_io(key, Errno::CONNREFUSED.into(), now);
                return;
            }
            self.tell(key, EventKind::Reached, now);
            self.connected(key, now, run);
            step = Step::Connected { reads };
        }
        // With TCP Fast Open, it connects with the first bytes that are sent, and may then read those.
        if run.plan.sockets.fast_open && ready.readable {
            let connection = &self.connections[key];
            if !connection.has_answered() && self.network.met_itself(connection.transport.socket()) {
                // Nobody listens, and the socket has met itself.
                self.fail_io(key, Errno::CONNREFUSED.into(), now);
                return;
            }
        }
        self.begin_reading(Reading { last, ..Reading::new(key, step, now) });
    }

    /// Reads a connection on in the next turn.
    pub(super) fn read_later(&mut self, key: ConnectionKey) {
        if !std::mem::replace(&mut self.connections[key].is_unread, true) {
            self.unread.push(key);
        }
    }

    /// Goes on with a connection that had more to read than a turn allows.
    pub(in crate::worker) fn read_on(&mut self, key: ConnectionKey, now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.is_unread = false;
        let reading = match connection.halt {
            Some(_) => Reading::new(key, Step::CatchUp, now),
            None => self.reading_of(key, now),
        };
        self.begin_reading(reading);
    }

    /// Returns the reading of a connection, which exists, whatever its socket.
    pub(super) fn reading_of(&self, key: ConnectionKey, now: Instant) -> Reading {
        match self.connections[key].transport.datagram() {
            Some(_) => Reading::new(key, Step::Receive, now),
            None => Reading::new(key, Step::Read, now),
        }
    }

    /// Reads once, unless there is nothing more, or it is others' turn.
    ///
    /// As long as replies are due on other streams of the connection, the requests that a reply led to are not sent
    /// until nothing more has arrived: servers answer at once, one after the other, and each answer would be a write.
    pub(super) fn read(&mut self, buffer: &mut [u8], run: &mut Run<'_>) -> Option<Event> {
        let Reading { key, now, last, is_unsettled, .. } = self.reading;
        self.reading.step = if is_unsettled { Step::Settle } else { last };
        let Read { kind, received: Received { count, stamp }, wanted } = self.read_once(buffer)?;
        if count == 0 {
            return self.handle_eof(key, now, run);
        }
        let connection = &mut self.connections[key];
        connection.handle_heard(now);
        self.reading.stamp = stamp.filter(|_| self.reading.is_asked);
        self.reading.is_drained = count < wanted && !connection.transport.is_ending();
        self.reading.source = Source::Stream;
        match kind {
            ReadKind::Plain => self.reading.fill(0, count),
            ReadKind::Skipped => {
                run.recorder.heard(now);
                if let Some(mut stream) = connection.engine.byte_stream() {
                    stream.handle_skipped(count as u64);
                }
                self.reading.fill(0, 0);
            }
            ReadKind::Tunnel => {
                self.handle_tunnel_bytes(key, &buffer[..count], now, run);
                return None;
            }
            ReadKind::Ciphertext => {
                self.handle_ciphertext(key, count, now, run);
                return None;
            }
        }
        self.use_input(buffer, run)
    }

    /// Reads once. `None`: nothing can be used now.
    #[inline]
    fn read_once(&mut self, buffer: &mut [u8]) -> Option<Read> {
        let Reading { key, now, .. } = self.reading;
        loop {
            let connection = &mut self.connections[key];
            if connection.halt.is_some() {
                return None;
            }
            if self.reading.reads == READS_PER_TURN {
                self.read_later(key);
                return None;
            }
            self.reading.reads += 1;
            self.reading.is_asked = self.stamping.asks();
            let skippable = connection.engine.byte_stream().map_or(0, |stream| stream.skippable());
            let transport = &connection.transport;
            let (tls, is_asked) = (self.tls.as_mut(), self.reading.is_asked);
            match transport.read(&mut self.network, tls, &mut buffer[..READ_SIZE], skippable, is_asked) {
                Ok(read) => return Some(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let is_exhausted = error.kind() == io::ErrorKind::WouldBlock;
                    if !is_exhausted || transport.is_broken() {
                        let error = if is_exhausted { Errno::PIPE.into() } else { error };
                        self.fail_io(key, error, now);
                    }
                    return None;
                }
            }
        }
    }

    /// Ends the use of a read: sends the requests that it led to, unless more replies are due.
    #[inline]
    pub(super) fn finish_use(&mut self, run: &mut Run<'_>) -> Option<Event> {
        let Reading { key, now, source, .. } = self.reading;
        (self.reading.stamp, self.reading.holds_back) = (None, false);
        match source {
            Source::Stream | Source::Records => {
                if source == Source::Records
                    && let Some(tls) = &mut self.tls
                {
                    tls.discard();
                }
                self.reading.is_unsettled = self.awaits_more(key, run);
                self.reading.step = Step::Read;
                if self.reading.is_unsettled {
                    self.reading.now = self.network.now();
                    return None;
                }
                if self.reading.is_drained {
                    self.reading.step = self.reading.last;
                }
                self.settle(key, now, run);
            }
            Source::Datagrams { settles_ticket } => {
                if settles_ticket {
                    let now = self.network.now();
                    self.tell(key, EventKind::TicketSettled, now);
                }
                if self.reading.reads < READS_PER_TURN {
                    self.reading.now = self.network.now();
                }
                self.reading.step = Step::Receive;
            }
            Source::Timer => self.reading.step = Step::Settle,
            Source::Halt { has_ended, at } => return self.caught_up(has_ended, at, run),
        }
        None
    }

    /// Returns whether replies are due on streams of a connection.
    fn awaits_more(&self, key: ConnectionKey, run: &Run<'_>) -> bool {
        run.may_have_streams() && self.connections[key].engine.open_streams() > 0
    }

    /// Sends the requests that the bytes read have led to.
    #[inline]
    pub(super) fn settle(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        if self.connections[key].wants_write() {
            self.flush(key, now, run);
        } else {
            self.refresh_deadline(key, run);
        }
        if run.may_have_streams() {
            self.note_room(key, now);
        }
    }

    /// Tells if the server allows a stream again, where it had allowed no more.
    fn note_room(&mut self, key: ConnectionKey, now: Instant) {
        let connection = &mut self.connections[key];
        let has_room = connection.engine.has_room();
        let had_room = std::mem::replace(&mut connection.had_room, has_room);
        if has_room && !had_room && !connection.engine.is_in_order() && connection.transport.is_established()
        {
            self.tell(key, EventKind::HasRoom, now);
        }
    }
}
