//! From calls to bytes on sockets, and the deadlines of what was sent.

use std::collections::VecDeque;
use std::io;

use httperf_stats::{Failure, Instant};

use super::connection::Connection;
use super::progress::Write;
use super::{Connections, at_instant, poll_key};
use crate::Network;
use crate::failure::{self, Awaits};
use crate::worker::run::Run;
use crate::worker::{CallKey, ConnectionKey};

impl<N: Network> Connections<N> {
    /// Gives a connection as many of these calls as it takes, from the first on.
    #[inline]
    pub(in crate::worker) fn submit(
        &mut self,
        key: ConnectionKey,
        calls: &mut VecDeque<CallKey>,
        now: Instant,
        run: &mut Run<'_>,
    ) {
        let connection = &mut self.connections[key];
        if connection.is_failing {
            return;
        }
        connection.expect_call(now);
        while connection.engine.capacity() > 0
            && let Some(key) = calls.pop_front()
        {
            let call = run.call_submitted(key, now);
            let submitted = connection.engine.submit(at_instant(now), key.into(), call.request().clone());
            submitted.expect("the engine has capacity");
            if let Some(sends) = connection.transport.sends_mut()
                && run.plan.recording.asks_of(run.call(key).serial())
            {
                sends.submitted(key);
            }
        }
    }

    /// Sends the calls that a connection was given, as far as its socket takes them.
    #[inline]
    pub(in crate::worker) fn flush_submitted(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        if self.connections[key].engine.wants_write() {
            self.flush(key, now, run);
        } else {
            // A call that waits for a stream has its time limit as well.
            self.refresh_deadline(key, run);
        }
        if self.late.is_planned()
            && let Some(connection) = self.connections.get(key)
            && (connection.engine.pending_count() > 1 || connection.is_writing(run))
        {
            self.late.note_crowd();
        }
    }

    /// Writes until everything is written or the socket takes no more.
    ///
    /// Not while the same connection's bytes are being used: what follows a reply there cannot answer a request that
    /// goes out only now. It is flushed once they are used up.
    pub(super) fn flush(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        if self.is_in_use(key) {
            return;
        }
        let connection = &self.connections[key];
        if connection.is_failing || connection.transport.is_broken() {
            return;
        }
        let mut buffer = std::mem::take(&mut self.write_buffer);
        let outcome = self.write_out(key, &mut buffer, now, run);
        self.write_buffer = buffer;
        match outcome {
            Ok(()) => {
                self.refresh_deadline(key, run);
                if self.quic.is_some() {
                    self.set_timer(key);
                }
            }
            Err(error) if self.drain_before_close(key, &error) => {}
            Err(error) => self.fail_io(key, error, now),
        }
    }

    fn write_out(
        &mut self,
        key: ConnectionKey,
        buffer: &mut Vec<u8>,
        now: Instant,
        run: &mut Run<'_>,
    ) -> io::Result<()> {
        let connection = &mut self.connections[key];
        loop {
            let Connection { transport, engine, .. } = connection;
            match transport.write(&mut self.network, self.tls.as_mut(), engine, buffer, now, run)? {
                Write::Idle | Write::Blocked => return Ok(()),
                Write::Sent { count, at, is_all } => {
                    connection.handle_written(count, at, run);
                    if !is_all && let Some(mut stream) = connection.engine.byte_stream() {
                        // There is room again when the poller says so, but for a signal that came in between.
                        stream.handle_blocked();
                        if count > 0 {
                            return Ok(());
                        }
                    }
                }
            }
        }
    }

    /// After a failed write, has the buffered bytes read first: a server may answer before it has the whole request and
    /// close, or say which calls it has not processed. Returns false if the connection should fail at once.
    fn drain_before_close(&mut self, key: ConnectionKey, error: &io::Error) -> bool {
        let connection = &mut self.connections[key];
        if !connection.transport.is_established()
            || failure::of_io(error, Awaits::Reply).class() != Failure::Reset
        {
            return false;
        }
        connection.transport.handle_broken();
        self.read_later(key);
        true
    }

    pub(super) fn set_deadline(&mut self, key: ConnectionKey, deadline: Option<Instant>) {
        self.deadlines.set(poll_key(key), deadline);
    }

    /// Sets the deadline that is in force: for the connect, for the request at the head of the queue to be written, or
    /// for its reply.
    pub(super) fn refresh_deadline(&mut self, key: ConnectionKey, run: &Run<'_>) {
        if run.plan.timeouts.reply().is_none() {
            return;
        }
        let Some(connection) = self.connections.get(key) else { return };
        if !connection.engine.is_in_order() && self.deadlines.get(poll_key(key)).is_some() {
            // On shared connections deadlines are checked lazily: most calls are answered by then.
            return;
        }
        if !connection.transport.is_established() || connection.is_idle() && connection.awaits_ticket() {
            return;
        }
        self.deadlines.set(poll_key(key), connection.front_deadline(run));
    }
}
