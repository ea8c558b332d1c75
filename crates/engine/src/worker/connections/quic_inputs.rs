//! Inputs of connections over QUIC: datagrams that arrive, timers that expire.

use std::io;

use bytes::BytesMut;
use httperf_proto::tls::Progress;
use httperf_stats::Instant;

use super::connection::Connection;
use super::inputs::READS_PER_TURN;
use super::progress::Stage;
use super::reading::{Reading, Source, Step};
use super::{Connections, Event, at_instant, poll_key};
use crate::worker::run::Run;
use crate::worker::{ConnectionKey, READ_SIZE};
use crate::{Network, Ready};

/// The room for datagrams that is allocated at once. The library keeps parts of it for as long as bytes of a stream lack
/// those before them; then most of it is used before there is another.
const ROOM_SIZE: usize = 4 * READ_SIZE;

impl<N: Network> Connections<N> {
    /// Handles the readiness of a socket of datagrams. Out of the way of calls over TCP.
    #[inline(never)]
    pub(super) fn handle_datagrams_ready(
        &mut self,
        key: ConnectionKey,
        ready: &Ready,
        now: Instant,
        run: &mut Run<'_>,
    ) {
        if self.connections[key].transport.stage() == Stage::Connecting && ready.writable {
            self.start_quic(key, now, run);
        }
        let last = if ready.writable { Step::Flush } else { Step::Done };
        // An error is what the next read returns.
        let step = if ready.readable || ready.failed { Step::Receive } else { last };
        self.begin_reading(Reading { last, ..Reading::new(key, step, now) });
    }

    /// A socket of datagrams is there: begins the handshake.
    fn start_quic(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        let started = self.network.now();
        run.recorder.handshake_awaited(started);
        let transport = &mut self.connections[key].transport;
        transport.start_handshake(started);
        if let Some(datagram) = transport.datagram_mut() {
            datagram.key = Some(poll_key(key));
        }
        self.flush(key, now, run);
    }

    /// Reads datagrams once, unless there are no more, or it is others' turn.
    pub(super) fn receive(&mut self, run: &mut Run<'_>) -> Option<Event> {
        let Reading { key, now, .. } = self.reading;
        let connection = &mut self.connections[key];
        self.reading.step = Step::Settle;
        if self.reading.reads == READS_PER_TURN {
            self.read_later(key);
            return None;
        }
        self.reading.reads += 1;
        make_room(&mut self.arrived);
        match self.network.receive(connection.transport.socket(), &mut self.arrived) {
            Ok(arrived) => {
                connection.handle_heard(now);
                if connection.transport.stage() == Stage::Handshaking {
                    run.recorder.handshake_heard(now);
                }
                let bytes = self.arrived.split();
                let engine = connection.engine.datagrams_mut()?;
                let tickets = engine.handle_datagrams(at_instant(now), bytes, arrived.segment, arrived.ecn);
                let settles_ticket = self.keep_tickets(key, tickets, now);
                (self.reading.stamp, self.reading.is_asked) = (arrived.stamp, true);
                (self.reading.source, self.reading.step) =
                    (Source::Datagrams { settles_ticket }, Step::Progress);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => self.reading.step = Step::Receive,
            Err(error) => self.fail_io(key, error, now),
        }
        None
    }

    /// Takes the next progress of a handshake that datagrams, or the passing of time, have led to; without any, what came in
    /// streams.
    pub(super) fn advance_quic(&mut self, buffer: &[u8], run: &mut Run<'_>) -> Option<Event> {
        let Reading { key, now, .. } = self.reading;
        let connection = &mut self.connections[key];
        let Some(engine) = connection.engine.datagrams_mut() else {
            self.reading.step = Step::Done;
            return None;
        };
        match engine.poll_progress(at_instant(now)) {
            None => {
                self.reading.fill(0, 0);
                return self.use_input(buffer, run);
            }
            Some(Progress::Done) => self.handle_quic_done(key, run),
            Some(Progress::EarlyDataRejected) => {
                let early = engine.early_count();
                if let Some(datagram) = connection.transport.datagram_mut() {
                    datagram.replays = early;
                }
                let pending = connection.engine.pending();
                pending.into_iter().for_each(|call| run.reset_call(call.into(), now));
            }
            Some(Progress::Pending | Progress::EarlyData) => {}
        }
        None
    }

    /// The timer of a connection has expired.
    pub(in crate::worker) fn fire_timer(&mut self, key: ConnectionKey, now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.filed = None;
        let mut step = Step::Settle;
        // It may have been set later meanwhile.
        if connection.timer.is_some_and(|timer| timer <= now) {
            connection.timer = None;
            if let Some(engine) = connection.engine.datagrams_mut() {
                engine.handle_timeout(at_instant(now));
            }
            step = Step::Progress;
        }
        let reading = Reading::new(key, step, now);
        self.begin_reading(Reading { source: Source::Timer, last: Step::SetTimer, ..reading });
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
