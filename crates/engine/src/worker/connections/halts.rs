//! Connections that halt while what came for one of their calls is decompressed.

use httperf_stats::Instant;

use super::connection::Halt;
use super::reading::{Reading, Source, Step};
use super::replies::Consequence;
use super::{Connections, Event};
use crate::Network;
use crate::worker::run::{Call, Run};
use crate::worker::{CallKey, ConnectionKey};

impl<N: Network> Connections<N> {
    /// Halts a connection, as what came for a call is not decompressed yet. `rest`: the bytes that came behind it.
    #[cold]
    pub(super) fn halt(&mut self, key: ConnectionKey, call: CallKey, rest: &[u8], now: Instant) {
        let connection = &mut self.connections[key];
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
    pub(super) fn catch_up(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        let connection = &mut self.connections[key];
        let Some(Halt { call, arrived, stamp, .. }) = connection.halt.as_deref() else { return };
        let (call, arrived, stamp) = (*call, *arrived, *stamp);
        let mut is_behind = false;
        if run.find_call(call).is_some_and(Call::is_talking) {
            self.stamp = stamp;
            match self.hear_talk(key, call, &[], arrived, run) {
                Consequence::Behind(_) => is_behind = true,
                Consequence::Event(kind) => self.tell(key, kind, arrived),
                Consequence::None | Consequence::Failure | Consequence::End(_) => {}
            }
            self.stamp = None;
        } else {
            run.catch_up(call, stamp.unwrap_or(arrived));
            is_behind = run.is_behind(call);
        }
        let connection = &mut self.connections[key];
        if is_behind {
            if !std::mem::replace(&mut connection.is_unread, true) {
                self.unread.push(key);
            }
            self.begin_reading(Reading::new(key, Step::Settle, now));
            return;
        }
        let Some(halt) = connection.halt.take() else { return };
        self.stamp = stamp;
        let size = halt.input.len();
        if size > self.read_buffer.len() {
            self.read_buffer.resize(size, 0);
        }
        self.read_buffer[..size].copy_from_slice(&halt.input);
        let source = Source::Halt { has_ended: halt.has_ended, at: now };
        let mut reading = Reading { source, ..Reading::new(key, Step::Use, arrived) };
        reading.fill(0, size, Step::Use);
        self.begin_reading(reading);
    }

    /// What had waited for a connection to catch up is used: goes on with what comes behind it.
    pub(super) fn caught_up(
        &mut self,
        reading: Reading,
        has_ended: bool,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Option<Event> {
        let key = reading.key;
        let mut next = Reading { is_unsettled: true, ..self.reading_of(key, now) };
        let mut event = None;
        match &mut self.connections[key].halt {
            Some(again) => {
                again.has_ended = has_ended;
                next.step = Step::Settle;
            }
            None if has_ended => {
                next.step = Step::Settle;
                event = self.handle_end(key, now, run);
            }
            None => {}
        }
        self.reading = Some(next);
        event
    }
}
