//! Connections that halt while what came for one of their calls is decompressed.

use httperf_stats::Instant;

use super::connection::Halt;
use super::{Connections, Handler, Sinks};
use crate::Network;
use crate::worker::run::Call;
use crate::worker::{CallKey, ConnectionKey};

impl<N: Network> Connections<N> {
    /// Halts a connection, as what came for a call is not decompressed yet. `rest`: the bytes that came behind it.
    #[cold]
    pub(super) fn halt(&mut self, key: ConnectionKey, call: CallKey, rest: &[u8], now: Instant) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        connection.halt = Some(Box::new(Halt {
            call,
            input: rest.to_vec(),
            arrived: now,
            stamp: self.stamp,
            has_ended: false,
        }));
        if !std::mem::replace(&mut connection.is_unread, true) {
            self.unread.push(key);
        }
    }

    /// Makes a step for a connection that halts. If that was the last one, what waits behind it has its turn.
    pub(super) fn catch_up<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let Some(Halt { call, arrived, stamp, .. }) = self.connections[key].halt.as_deref() else { return };
        let (call, arrived, stamp) = (*call, *arrived, *stamp);
        if to.run.find_call(call).is_some_and(Call::is_talking) {
            self.stamp = stamp;
            self.hear_talk(key, call, &[], arrived, to);
            self.stamp = None;
        } else {
            to.run.catch_up(call, stamp.unwrap_or(arrived));
        }
        let Some(connection) = self.connections.get_mut(key) else { return };
        if to.run.is_behind(call) {
            if !std::mem::replace(&mut connection.is_unread, true) {
                self.unread.push(key);
            }
            self.settle(key, now, to);
            return;
        }
        let Some(halt) = connection.halt.take() else { return };
        self.stamp = stamp;
        self.handle_bytes(key, &halt.input, arrived, to);
        self.stamp = None;
        let Some(connection) = self.connections.get_mut(key) else { return };
        match &mut connection.halt {
            Some(again) => again.has_ended = halt.has_ended,
            None if halt.has_ended => self.handle_end(key, now, to),
            None => self.read_any(key, now, to),
        }
        self.settle(key, now, to);
    }
}
