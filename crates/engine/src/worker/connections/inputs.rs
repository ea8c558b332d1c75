//! Inputs of connections: sockets that are ready, bytes that arrive, and the replies in them.

use std::io;

use httperf_proto::{Event as Reply, ReplySize, Reuse};
use httperf_stats::{Instant, SlowDetail};
use rustix::io::Errno;
use slotmap::KeyData;

use super::connection::Connection;
use super::progress::Stage;
use super::transport::{Read, ReadKind};
use super::{Connections, Cx, Event, EventKind, Handler, Sinks, at_instant, poll_key};
use crate::failure;
use crate::worker::run::{Answer, Run};
use crate::worker::{CallKey, ConnectionKey};
use crate::{Network, Ready, Received};

/// The number of reads of a connection in a turn before the others have theirs.
const READS_PER_TURN: u32 = 8;

impl<N: Network> Connections<N> {
    /// Handles the readiness of a socket.
    pub(in crate::worker) fn handle_ready<H: Handler<N>>(
        &mut self,
        ready: &Ready,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let key = ConnectionKey::from(KeyData::from_ffi(ready.key));
        let Some(connection) = self.connections.get_mut(key) else { return };
        if connection.transport.datagram().is_some() {
            self.handle_datagrams_ready(key, ready, now, to);
            return;
        }
        connection.transport.handle_ready(ready);
        if connection.transport.stage() == Stage::Connecting {
            if ready.failed {
                let error = self.network.take_error(connection.transport.socket());
                let error = error.unwrap_or_else(|| Errno::CONNRESET.into());
                let event = self.fail_io(key, &error, now, to.run);
                to.handler.handle(event, &mut Cx { connections: self, run: to.run, now });
                return;
            }
            if !ready.writable {
                return;
            }
            if self.network.met_itself(connection.transport.socket()) {
                self.refuse_itself(key, now, to);
                return;
            }
            self.tell(key, EventKind::Reached, now, to);
            self.connected(key, now, to);
            self.flush_and_tell(key, now, to);
        }
        // With TCP Fast Open, it connects with the first bytes that are sent, and may then read those.
        if to.run.plan.sockets.fast_open && ready.readable {
            let connection = &self.connections[key];
            if !connection.has_answered() && self.network.met_itself(connection.transport.socket()) {
                self.refuse_itself(key, now, to);
                return;
            }
        }
        // A server may answer before it has the whole request and then reset the connection: its reply is read
        // before a write finds that out.
        if ready.readable || ready.ended || ready.failed {
            self.read(key, now, to);
        }
        if ready.writable {
            self.flush_and_tell(key, now, to);
        }
    }

    /// Hands an event of a connection, which exists, to the handler.
    #[inline]
    pub(super) fn tell<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        kind: EventKind,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let owner = self.connections[key].owner;
        to.handler
            .handle(Event { connection: key, owner, kind }, &mut Cx { connections: self, run: to.run, now });
    }

    /// Flushes a connection, and tells the handler if that was its end.
    #[inline]
    pub(super) fn flush_and_tell<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        if let Some(event) = self.flush(key, now, to.run) {
            to.handler.handle(event, &mut Cx { connections: self, run: to.run, now });
        }
    }

    /// Reads until there is nothing more, or until it is others' turn.
    ///
    /// As long as replies are due on other streams of the connection, the requests that a reply led to are not sent
    /// until nothing more has arrived: servers answer at once, one after the other, and each answer would be a write.
    pub(in crate::worker) fn read<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        mut now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let mut buffer = std::mem::take(&mut self.read_buffer);
        let mut reads = 0;
        let mut is_unsettled = false;
        while let Some(connection) = self.connections.get_mut(key) {
            if connection.halt.is_some() {
                break;
            }
            if reads == READS_PER_TURN {
                if !std::mem::replace(&mut connection.is_unread, true) {
                    self.unread.push(key);
                }
                break;
            }
            reads += 1;
            let transport = &connection.transport;
            let (is_ending, is_broken) = (transport.is_ending(), transport.is_broken());
            let skippable = connection.engine.skippable();
            let read = match transport.read(&mut self.network, self.tls.as_mut(), &mut buffer, skippable) {
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !is_broken => break,
                Err(error) => {
                    let is_exhausted = error.kind() == io::ErrorKind::WouldBlock;
                    let error = if is_exhausted { Errno::PIPE.into() } else { error };
                    self.end_complete(key, now, to);
                    if !self.connections.contains_key(key) {
                        break;
                    }
                    let event = self.fail_io(key, &error, now, to.run);
                    to.handler.handle(event, &mut Cx { connections: self, run: to.run, now });
                    break;
                }
            };
            let Read { kind, received: Received { count, stamp }, wanted } = read;
            if count == 0 {
                self.handle_eof(key, now, to);
                break;
            }
            connection.handle_heard(now);
            self.stamp = stamp;
            match kind {
                ReadKind::Skipped => {
                    to.run.recorder.heard(now);
                    connection.engine.handle_skipped(count as u64);
                    self.handle_bytes(key, &[], now, to);
                }
                ReadKind::Plain => self.handle_bytes(key, &buffer[..count], now, to),
                ReadKind::Tunnel => self.handle_tunnel_bytes(key, &buffer[..count], now, to),
                ReadKind::Ciphertext => self.handle_ciphertext(key, count, now, to),
            }
            self.stamp = None;
            is_unsettled = self.awaits_more(key, to.run);
            if is_unsettled {
                now = self.network.now();
                continue;
            }
            if kind != ReadKind::Tunnel {
                self.settle(key, now, to);
            }
            if count < wanted && !is_ending {
                break;
            }
        }
        self.read_buffer = buffer;
        if is_unsettled {
            self.settle(key, now, to);
        }
    }

    /// Reads a connection that had more than a turn allows.
    pub(in crate::worker) fn read_on<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.is_unread = false;
            if connection.halt.is_some() {
                self.catch_up(key, now, to);
            } else {
                self.read_any(key, now, to);
            }
        }
    }

    /// Reads a connection, whatever its socket.
    pub(super) fn read_any<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        if self.connections[key].transport.datagram().is_some() {
            self.read_datagrams(key, now, to);
        } else {
            self.read(key, now, to);
        }
    }

    /// Returns whether replies are due on streams of a connection.
    fn awaits_more(&self, key: ConnectionKey, run: &Run<'_>) -> bool {
        run.may_have_streams()
            && self.connections.get(key).is_some_and(|connection| connection.engine.open_streams() > 0)
    }

    /// All bytes that arrived are used: sends the requests that they led to.
    #[inline]
    pub(super) fn settle<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let Some(connection) = self.connections.get(key) else { return };
        if connection.wants_write() {
            self.flush_and_tell(key, now, to);
        } else {
            self.refresh_deadline(key, to.run);
        }
        if to.run.may_have_streams() {
            self.note_room(key, now, to);
        }
    }

    /// Tells the handler if the server allows a stream again, where it had allowed no more.
    fn note_room<H: Handler<N>>(&mut self, key: ConnectionKey, now: Instant, to: &mut Sinks<'_, '_, H>) {
        let Some(connection) = self.connections.get_mut(key) else { return };
        let has_room = connection.engine.has_room();
        let had_room = std::mem::replace(&mut connection.had_room, has_room);
        if has_room && !had_room && !connection.engine.is_in_order() && connection.transport.is_established()
        {
            self.tell(key, EventKind::HasRoom, now, to);
        }
    }

    /// Uses bytes that have arrived. To be followed by [`Connections::settle`].
    #[inline]
    pub(super) fn handle_bytes<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        bytes: &[u8],
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        self.reading = Some(key);
        self.use_bytes(key, bytes, now, to);
        self.reading = None;
    }

    /// Uses bytes of the server, as the protocol has them.
    pub(super) fn use_bytes<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        bytes: &[u8],
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        if let Some(halt) = self.connections.get_mut(key).and_then(|connection| connection.halt.as_mut()) {
            halt.input.extend_from_slice(bytes);
            return;
        }
        let (mut input, mut is_news) = (bytes, !bytes.is_empty());
        while let Some(connection) = self.connections.get_mut(key) {
            let polled = connection.engine.poll_event(at_instant(now), &mut input, &mut self.header_cache);
            // Not all that comes over HTTP/2 is about replies.
            let is_heard = match &polled {
                _ if connection.engine.is_in_order() => std::mem::take(&mut is_news),
                Ok(Some(event)) => event.call().is_some(),
                Ok(None) => connection.engine.take_content_received(),
                Err(_) => false,
            };
            if is_heard {
                to.run.recorder.heard(now);
            }
            match polled {
                Ok(Some(event)) => {
                    if let Some(call) = self.handle_reply(key, event, now, to) {
                        self.halt(key, call, input, now);
                        return;
                    }
                }
                Ok(None) => {
                    connection.record_protocol(to.run);
                    // Until its status line is complete, each piece of a reply renews its deadline, for a while.
                    if connection.engine.has_partial_head()
                        && let Some(front) = connection.engine.front()
                    {
                        to.run.status_line_heard(front.into(), now);
                    }
                    return;
                }
                Err(error) => {
                    self.fail_protocol(key, &error, now, to);
                    return;
                }
            }
        }
    }

    /// Handles an event. Returns its call if what came for that is not decompressed yet.
    #[inline]
    pub(super) fn handle_reply<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        reply: Reply<'_>,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) -> Option<CallKey> {
        let connection = &mut self.connections[key];
        let kind = match reply {
            Reply::ReplyStarted { call, status } => {
                to.run.reply_started(call.into(), status, now, self.stamp);
                if self.alternatives.is_some() && !connection.engine.is_in_order() {
                    self.learn_alternatives(key, status, now, to.run);
                }
                return None;
            }
            Reply::ReplyHead { call, head } => {
                let call = call.into();
                to.run.reply_head(call, &head);
                EventKind::ReplyHead { call, head }
            }
            Reply::StreamStarted { call, .. } if to.run.call(call.into()).opens_websocket() => {
                self.open_talk(key, call.into(), now, to);
                return None;
            }
            Reply::StreamStarted { call, content } => {
                to.run.stream_started(call.into(), content, now, self.stamp);
                return None;
            }
            Reply::ReplyBody { call, data } => return self.handle_body(key, call.into(), &data, now, to),
            Reply::ReplyTrailers { call, fields } => {
                to.run.reply_trailers(call.into(), fields);
                return None;
            }
            Reply::ReplyDone { call, size, reuse } => {
                let call = CallKey::from(call);
                let status = complete_reply(connection, &mut self.network, (call, size), self.stamp, now, to);
                connection.count_reply();
                connection.record_protocol(to.run);
                if self.alternatives.is_some() && connection.engine.is_in_order() {
                    self.learn_alternatives(key, status, now, to.run);
                }
                EventKind::Answered { call, status, reuse }
            }
            Reply::CallReturned { call, why } => {
                connection.record_stalls(to.run);
                EventKind::Returned { call: call.into(), why, is_draining: connection.engine.capacity() == 0 }
            }
            Reply::CallFailed { call, .. } if to.run.call(call.into()).done_at().is_some() => {
                // The server has said that the answer is complete, and ended the stream in its own way.
                let size =
                    ReplySize { content: to.run.call(call.into()).streamed_size(), ..ReplySize::default() };
                let done = Reply::ReplyDone { call, size, reuse: Reuse::Keep };
                self.handle_reply(key, done, now, to);
                return None;
            }
            Reply::CallFailed { call, why } => {
                connection.record_stalls(to.run);
                EventKind::CallFailed { call: call.into(), cause: failure::of_undone(why) }
            }
            Reply::Draining => EventKind::Draining,
            Reply::Drained => {
                let event = self.end(key, now, to.run);
                to.handler.handle(event, &mut Cx { connections: self, run: to.run, now });
                return None;
            }
        };
        self.tell(key, kind, now, to);
        None
    }

    /// Takes a piece of a reply's body. Returns its call if it is not decompressed yet.
    #[inline]
    fn handle_body<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        call: CallKey,
        data: &[u8],
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) -> Option<CallKey> {
        if to.run.call(call).is_talking() {
            self.hear_talk(key, call, data, now, to);
            return to.run.is_behind(call).then_some(call);
        }
        let links = to.run.reply_body(call, data, now, self.stamp);
        if to.run.plan.replies.streams.model.is_some()
            && let Some(end) = to.run.linger(call)
        {
            let next = self.deadlines.get(poll_key(key));
            self.set_deadline(key, Some(next.map_or(end, |next| next.min(end))));
        }
        if !links.is_empty() {
            self.tell(key, EventKind::LinksFound { call, links }, now, to);
        }
        to.run.is_behind(call).then_some(call)
    }
}

/// A reply is complete: has it judged, and records it. Returns its status.
#[inline]
fn complete_reply<N: Network, H: Handler<N>>(
    connection: &mut Connection<N::Socket>,
    network: &mut N,
    (call, size): (CallKey, ReplySize),
    stamp: Option<Instant>,
    now: Instant,
    to: &mut Sinks<'_, '_, H>,
) -> u16 {
    connection.record_stalls(to.run);
    let is_asked = to.run.plan.recording.asks_of(to.run.call(call).serial());
    let kernel = is_asked.then(|| connection.transport.kernel_times(network, call, stamp, to.run));
    let received_at = to.run.received_at(now, stamp);
    let mismatch = to.handler.judge(call, received_at, &mut || network.wall_clock(), to.run);
    let answer = Answer { size, now, stamp, kernel, mismatch };
    to.run.reply_done(call, answer, || SlowDetail {
        server_timing: text(connection.engine.server_timing()),
        ..connection.slow_detail(network)
    })
}

/// Returns bytes from the server as text; `None` for none.
fn text(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
}
