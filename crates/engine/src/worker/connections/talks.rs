//! WebSockets on connections: what the server says goes to the call, what the call says to the server.

use httperf_stats::{CauseKind, Instant};

use super::replies::Consequence;
use super::{Connections, EventKind, at_instant};
use crate::Network;
use crate::worker::run::{Run, Said};
use crate::worker::{CallKey, ConnectionKey};

impl<N: Network> Connections<N> {
    /// The server has agreed to the WebSocket of a call.
    pub(super) fn open_talk(
        &mut self,
        key: ConnectionKey,
        call: CallKey,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Consequence {
        let is_http1 = self.connections[key].engine.is_in_order();
        let said = self.talk(key, call, now, run, |run, out| run.talk_opened(call, key, is_http1, now, out));
        match said.is_broken {
            true => self.give_up_talk(key, call, now, run),
            false => Consequence::Event(EventKind::Opened { call, wake: said.wake }),
        }
    }

    /// Bytes have come on the WebSocket of a call.
    pub(super) fn hear_talk(
        &mut self,
        key: ConnectionKey,
        call: CallKey,
        bytes: &[u8],
        now: Instant,
        run: &mut Run<'_>,
    ) -> Consequence {
        let stamp = self.reading.stamp;
        let said = self.talk(key, call, now, run, |run, out| run.talk_heard(call, bytes, now, stamp, out));
        match said.is_broken {
            true => self.give_up_talk(key, call, now, run),
            false if run.is_behind(call) => Consequence::Behind(call),
            false => Consequence::None,
        }
    }

    /// Something may be due on the WebSocket of a call. Returns the instant at which it is to be looked after again.
    pub(in crate::worker) fn wake_talk(
        &mut self,
        call: CallKey,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Option<Instant> {
        let key = run.talk_connection(call)?;
        let said = self.talk(key, call, now, run, |run, out| run.talk_woken(call, now, out));
        self.settle_talk(key, call, said, now, run);
        said.wake
    }

    /// The run is over: closes the WebSocket of a call.
    pub(in crate::worker) fn finish_talk(&mut self, call: CallKey, now: Instant, run: &mut Run<'_>) {
        let Some(key) = run.talk_connection(call) else { return };
        let said = self.talk(key, call, now, run, |run, out| run.talk_finished(call, now, out));
        self.settle_talk(key, call, said, now, run);
    }

    /// Lets the WebSocket of a call act, and takes what it has for the server.
    fn talk(
        &mut self,
        key: ConnectionKey,
        call: CallKey,
        now: Instant,
        run: &mut Run<'_>,
        act: impl FnOnce(&mut Run<'_>, &mut Vec<u8>) -> Said,
    ) -> Said {
        let mut out = std::mem::take(&mut self.said);
        let mut said = act(run, &mut out);
        if let Some(mut stream) = self.connections[key].engine.byte_stream() {
            if !out.is_empty() {
                // One message may be as large as any; those that wait for the server are not to become many.
                if stream.unsent(call.into()) > run.plan.limits.message_size {
                    run.talk_blocked(call);
                    said.is_broken = true;
                }
                stream.send(call.into(), &out);
            }
            if said.is_over {
                stream.finish(at_instant(now), call.into());
            }
        }
        out.clear();
        self.said = out;
        said
    }

    /// Sends what a WebSocket has said, outside the reading of its connection.
    fn settle_talk(
        &mut self,
        key: ConnectionKey,
        call: CallKey,
        said: Said,
        now: Instant,
        run: &mut Run<'_>,
    ) {
        if !said.is_broken {
            self.settle(key, now, run);
        } else if let Consequence::Event(kind) = self.give_up_talk(key, call, now, run) {
            self.tell(key, kind, now);
        }
    }

    /// Gives up a WebSocket whose server has broken the protocol: over HTTP/1 with its connection.
    fn give_up_talk(
        &mut self,
        key: ConnectionKey,
        call: CallKey,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Consequence {
        let connection = &mut self.connections[key];
        let cause = run.take_talk_fault(call).unwrap_or(CauseKind::WebSocketUnread.into());
        if connection.engine.is_in_order() {
            self.fail(key, cause, now);
            return Consequence::Failure;
        }
        connection.cancel(call, now, run);
        Consequence::Event(EventKind::CallFailed { call, cause })
    }
}
