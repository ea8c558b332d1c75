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
            stamp: self.reading.stamp,
            is_asked: self.reading.is_asked,
            has_ended: false,
        }));
        self.read_later(key);
    }

    /// Makes a step for a connection that halts. If that was the last one, what waits behind it has its turn.
    pub(super) fn catch_up(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        buffer: &mut Vec<u8>,
        run: &mut Run<'_>,
    ) {
        self.reading.step = Step::Settle;
        let connection = &mut self.connections[key];
        let Some(Halt { call, arrived, stamp, .. }) = connection.halt.as_deref() else { return };
        let (call, arrived, stamp) = (*call, *arrived, *stamp);
        let mut is_behind = false;
        if run.find_call(call).is_some_and(Call::is_talking) {
            self.reading.stamp = stamp;
            match self.hear_talk(key, call, &[], arrived, run) {
                Consequence::Behind(_) => is_behind = true,
                Consequence::Event(kind) => self.tell(key, kind, arrived),
                Consequence::None | Consequence::End | Consequence::Failure => {}
            }
            self.reading.stamp = None;
        } else {
            run.catch_up(call, stamp.unwrap_or(arrived));
            is_behind = run.is_behind(call);
        }
        let connection = &mut self.connections[key];
        if is_behind {
            self.read_later(key);
            return;
        }
        let Some(halt) = connection.halt.take() else { return };
        let size = halt.input.len();
        if size > buffer.len() {
            buffer.resize(size, 0);
        }
        buffer[..size].copy_from_slice(&halt.input);
        let source = Source::Halt { has_ended: halt.has_ended, at: now };
        self.reading =
            Reading { stamp, is_asked: halt.is_asked, source, ..Reading::new(key, Step::Use, arrived) };
        self.reading.fill(0, size);
    }

    /// Continues once the halted input is used up.
    pub(super) fn caught_up(&mut self, has_ended: bool, now: Instant, run: &mut Run<'_>) -> Option<Event> {
        let key = self.reading.key;
        self.reading = Reading { is_unsettled: true, ..self.reading_of(key, now) };
        match &mut self.connections[key].halt {
            Some(again) => {
                again.has_ended = has_ended;
                self.reading.step = Step::Settle;
                None
            }
            None if has_ended => {
                self.reading.step = Step::Settle;
                self.handle_end(key, now, run)
            }
            None => None,
        }
    }
}
