//! Inputs of connections over QUIC: datagrams that arrive, timers that expire.

use std::io;

use bytes::BytesMut;
use httperf_proto::tls::Progress;
use httperf_stats::Instant;

use super::connection::Connection;
use super::progress::Stage;
use super::{Connections, Cx, EventKind, Handler, Sinks, at_instant, poll_key};
use crate::worker::{ConnectionKey, READ_SIZE};
use crate::{Network, Ready};

/// The number of reads of a connection in a turn before the others have theirs.
const READS_PER_TURN: u32 = 8;

/// The room for datagrams that is allocated at once. The library keeps parts of it for as long as bytes of a stream lack
/// those before them; then most of it is used before there is another.
const ROOM_SIZE: usize = 4 * READ_SIZE;

impl<N: Network> Connections<N> {
    /// Handles the readiness of a socket of datagrams. Out of the way of calls over TCP.
    #[inline(never)]
    pub(super) fn handle_datagrams_ready<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        ready: &Ready,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        if self.connections[key].transport.stage() == Stage::Connecting && ready.writable {
            self.start_quic(key, now, to);
        }
        // An error is what the next read returns.
        if (ready.readable || ready.failed) && self.connections.contains_key(key) {
            self.read_datagrams(key, now, to);
        }
        if ready.writable && self.connections.contains_key(key) {
            self.flush_and_tell(key, now, to);
        }
    }

    /// A socket of datagrams is there: begins the handshake.
    fn start_quic<H: Handler<N>>(&mut self, key: ConnectionKey, now: Instant, to: &mut Sinks<'_, '_, H>) {
        let started = self.network.now();
        to.run.recorder.handshake_awaited(started);
        let transport = &mut self.connections[key].transport;
        transport.start_handshake(started);
        if let Some(datagram) = transport.datagram_mut() {
            datagram.key = Some(poll_key(key));
        }
        self.flush_and_tell(key, now, to);
    }

    /// Reads datagrams until there are no more, or until it is others' turn.
    pub(super) fn read_datagrams<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        mut now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let mut reads = 0;
        while let Some(connection) = self.connections.get_mut(key) {
            if reads == READS_PER_TURN {
                if !std::mem::replace(&mut connection.is_unread, true) {
                    self.unread.push(key);
                }
                break;
            }
            reads += 1;
            make_room(&mut self.arrived);
            let arrived = match self.network.receive(connection.transport.socket(), &mut self.arrived) {
                Ok(arrived) => arrived,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let event = self.fail_io(key, &error, now, to.run);
                    to.handler.handle(event, &mut Cx { connections: self, run: to.run, now });
                    return;
                }
            };
            connection.handle_heard(now);
            if connection.transport.stage() == Stage::Handshaking {
                to.run.recorder.handshake_heard(now);
            }
            let bytes = self.arrived.split();
            let Some(engine) = connection.engine.datagrams_mut() else { break };
            let tickets = engine.handle_datagrams(at_instant(now), bytes, arrived.segment, arrived.ecn);
            // The replies that came with them may end the connection.
            let is_settled = self.keep_tickets(key, tickets, now, to);
            self.stamp = arrived.stamp;
            self.use_datagrams(key, now, to);
            self.stamp = None;
            if is_settled && self.connections.contains_key(key) {
                let now = self.network.now();
                self.tell(key, EventKind::TicketSettled, now, to);
            }
            if reads < READS_PER_TURN {
                now = self.network.now();
            }
        }
        self.settle(key, now, to);
    }

    /// Takes what datagrams, or the passing of time, have led to.
    fn use_datagrams<H: Handler<N>>(&mut self, key: ConnectionKey, now: Instant, to: &mut Sinks<'_, '_, H>) {
        while let Some(connection) = self.connections.get_mut(key)
            && let Some(engine) = connection.engine.datagrams_mut()
            && let Some(progress) = engine.poll_progress(at_instant(now))
        {
            match progress {
                Progress::Done => self.handle_quic_done(key, to),
                Progress::EarlyDataRejected => {
                    let early = engine.early_count();
                    if let Some(datagram) = connection.transport.datagram_mut() {
                        datagram.replays = early;
                    }
                    let pending = connection.engine.pending();
                    pending.into_iter().for_each(|call| to.run.reset_call(call.into(), now));
                }
                Progress::Pending | Progress::EarlyData => {}
            }
        }
        if self.connections.contains_key(key) {
            self.reading = Some(key);
            self.use_bytes(key, &[], now, to);
            self.reading = None;
        }
    }

    /// The timer of a connection has expired.
    pub(in crate::worker) fn fire_timer<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.filed = None;
        // It may have been set later meanwhile.
        if connection.timer.is_some_and(|timer| timer <= now) {
            connection.timer = None;
            if let Some(engine) = connection.engine.datagrams_mut() {
                engine.handle_timeout(at_instant(now));
            }
            self.use_datagrams(key, now, to);
        }
        self.settle(key, now, to);
        self.set_timer(key);
    }

    /// Sets the timer of a connection as its protocol has it now. Out of the way of calls over TCP.
    #[inline(never)]
    pub(super) fn set_timer(&mut self, key: ConnectionKey) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let Some(engine) = connection.engine.datagrams_mut() else { return };
        let timer = engine.poll_timeout().map(|timeout| Instant::default() + timeout);
        connection.timer = timer;
        if let Some(timer) = timer
            && connection.filed.is_none_or(|filed| filed > timer)
        {
            self.timers.file(key, connection.filed.replace(timer), timer);
        }
    }

    /// Says that nothing more comes.
    pub(super) fn close_quic(&mut self, connection: &mut Connection<N::Socket>, now: Instant) {
        let Some(engine) = connection.engine.datagrams_mut() else { return };
        engine.close(at_instant(now));
        let mut buffer = Vec::new();
        // A peer that does not hear of it does not miss it.
        if let Some(form) = engine.poll_datagrams(at_instant(now), 1, &mut buffer) {
            let socket = connection.transport.socket();
            self.network.send(socket, &buffer, form.segment, form.ecn).ok();
        }
    }
}

/// Has an empty buffer begin anew where nobody keeps a part of it, so that the same memory is used again and again, and
/// makes room for one read.
fn make_room(buffer: &mut BytesMut) {
    if !buffer.try_reclaim(ROOM_SIZE) && buffer.capacity() < READ_SIZE {
        *buffer = BytesMut::with_capacity(ROOM_SIZE);
    }
}
