//! Inputs of connections: sockets that are ready, bytes that arrive, deadlines that pass.

use std::io;

use httperf_proto::{Event as Reply, ProtocolError, ReplySize, Reuse};
use httperf_stats::{CauseKind, Failure, FailureCause, Instant, SlowDetail};
use rustix::io::Errno;
use slotmap::KeyData;

use super::connection::{Connection, Halt};
use super::progress::Stage;
use super::quic;
use super::transport::{Read, ReadKind};
use super::tunnel::Progress;
use super::{Connections, Cx, Event, EventKind, Handler, Sinks, at_instant, poll_key};
use crate::failure::{self, Awaits};
use crate::worker::run::{Answer, Call, Run};
use crate::worker::{CallKey, ConnectionKey};
use crate::{Network, Observation, Ready, Received};

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

    /// Fails a connection, and tells the handler.
    pub(super) fn fail_and_tell<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        cause: impl Into<FailureCause>,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        self.end_complete(key, now, to);
        if !self.connections.contains_key(key) {
            return;
        }
        let event = self.fail(key, cause.into(), now, to.run);
        to.handler.handle(event, &mut Cx { connections: self, run: to.run, now });
    }

    /// Ends the replies on a connection that are complete for their users: the server has said so. That may end the connection.
    #[inline]
    fn end_complete<H: Handler<N>>(&mut self, key: ConnectionKey, now: Instant, to: &mut Sinks<'_, '_, H>) {
        if to.run.plan.replies.streams.model.is_none() {
            return;
        }
        let pending: Vec<CallKey> = self.pending(key).collect();
        for call in pending {
            // The handler may have ended the connection, and other calls.
            let Some(connection) = self.connections.get_mut(key) else { return };
            let complete = to.run.find_call(call).filter(|call| call.done_at().is_some());
            let Some(content) = complete.map(Call::streamed_size) else { continue };
            if let Some(mut reply) = connection.engine.end_early(at_instant(now), call.into()) {
                if let Reply::ReplyDone { size, .. } = &mut reply {
                    size.content = content;
                }
                self.handle_reply(key, reply, now, to);
            }
        }
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

    /// Nobody listens, and the socket has met itself: it is refused.
    #[cold]
    fn refuse_itself<H: Handler<N>>(&mut self, key: ConnectionKey, now: Instant, to: &mut Sinks<'_, '_, H>) {
        let event = self.fail_io(key, &Errno::CONNREFUSED.into(), now, to.run);
        to.handler.handle(event, &mut Cx { connections: self, run: to.run, now });
    }

    /// The socket is connected: asks a proxy for a tunnel, if there is to be one. It has as much time as the socket had.
    fn connected<H: Handler<N>>(&mut self, key: ConnectionKey, now: Instant, to: &mut Sinks<'_, '_, H>) {
        let connection = &mut self.connections[key];
        match &self.tunnels {
            Some(tunnels) => {
                connection.transport.start_tunnel(tunnels.open(connection.target));
                self.set_deadline(key, to.run.plan.timeouts.timeout.map(|limit| now + limit));
            }
            None => self.transport_ready(key, now, to),
        }
    }

    /// There is a way to the server. If TLS is to secure it, the handshake begins.
    fn transport_ready<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let connection = &mut self.connections[key];
        if to.run.plan.recording.kernel_sends.is_some() {
            let waiting = connection.engine.pending().into_iter().map(CallKey::from);
            let asked = waiting.filter(|&call| to.run.plan.recording.asks_of(to.run.call(call).serial()));
            connection.transport.number_sent(&mut self.network, asked);
        }
        if connection.transport.is_secured() {
            self.start_handshake(key, now, to);
        } else {
            connection.establish(now, to.run);
            self.tell(key, EventKind::Established, now, to);
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

    /// Halts a connection, as what came for a call is not decompressed yet. `rest`: the bytes that came behind it.
    #[cold]
    fn halt(&mut self, key: ConnectionKey, call: CallKey, rest: &[u8], now: Instant) {
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
    fn catch_up<H: Handler<N>>(&mut self, key: ConnectionKey, now: Instant, to: &mut Sinks<'_, '_, H>) {
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

    /// Reads a connection, whatever its socket.
    fn read_any<H: Handler<N>>(&mut self, key: ConnectionKey, now: Instant, to: &mut Sinks<'_, '_, H>) {
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

    /// Bytes came from a proxy that was asked for a tunnel.
    fn handle_tunnel_bytes<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        bytes: &[u8],
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let mut input = bytes;
        while let Some(tunnel) = self.connections[key].transport.tunnel_mut() {
            match tunnel.advance(&mut input) {
                Progress::Pending => return,
                Progress::Open => self.connections[key].transport.end_tunnel(),
                Progress::Refused(status) => {
                    to.run.tunnel_refused(status);
                    self.record_insecure_because(key, "the proxy refused a tunnel", to.run);
                    self.fail_and_tell(key, CauseKind::ProxyRefused.with(status.to_string()), now, to);
                    return;
                }
                Progress::Failed(error) => {
                    let class = failure::of_protocol(&error, Awaits::Tunnel).class();
                    self.record_insecure(key, class, to.run);
                    self.fail_protocol(key, &error, now, to);
                    return;
                }
            }
        }
        self.transport_ready(key, now, to);
        // Bytes of the server may come right behind the reply of the proxy, before anything was sent to it.
        if let Some(connection) = self.connections.get(key)
            && !input.is_empty()
        {
            match &mut self.tls {
                Some(tls) if connection.transport.is_secured() => {
                    tls.room()[..input.len()].copy_from_slice(input);
                    self.handle_ciphertext(key, input.len(), now, to);
                }
                _ => self.handle_bytes(key, input, now, to),
            }
        }
        self.flush_and_tell(key, now, to);
    }

    /// Uses bytes that have arrived. To be followed by [`Connections::settle`].
    #[inline]
    fn handle_bytes<H: Handler<N>>(
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
    fn handle_reply<H: Handler<N>>(
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
            Reply::ReplyBody { call, data } => {
                let call = call.into();
                if to.run.call(call).is_talking() {
                    self.hear_talk(key, call, &data, now, to);
                    return to.run.is_behind(call).then_some(call);
                }
                let links = to.run.reply_body(call, &data, now, self.stamp);
                if to.run.plan.replies.streams.model.is_some()
                    && let Some(end) = to.run.linger(call)
                {
                    let next = self.deadlines.get(poll_key(key));
                    self.set_deadline(key, Some(next.map_or(end, |next| next.min(end))));
                }
                if !links.is_empty() {
                    self.tell(key, EventKind::LinksFound { call, links }, now, to);
                }
                return to.run.is_behind(call).then_some(call);
            }
            Reply::ReplyTrailers { call, fields } => {
                to.run.reply_trailers(call.into(), fields);
                return None;
            }
            Reply::ReplyDone { call, size, reuse } => {
                let call = CallKey::from(call);
                connection.record_stalls(to.run);
                let kernel =
                    to.run.plan.recording.asks_of(to.run.call(call).serial()).then(|| {
                        connection.transport.kernel_times(&mut self.network, call, self.stamp, to.run)
                    });
                let received_at = to.run.received_at(now, self.stamp);
                let mut wall_clock = || self.network.wall_clock();
                let mismatch = to.handler.judge(call, received_at, &mut wall_clock, to.run);
                let answer = Answer { size, now, stamp: self.stamp, kernel, mismatch };
                let status = to.run.reply_done(call, answer, || SlowDetail {
                    server_timing: text(connection.engine.server_timing()),
                    ..quic::slow_detail(&mut self.network, connection)
                });
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
            Reply::Upgraded { call } => {
                let request = to.run.call(call.into()).request().clone();
                connection.engine = self.protocols.upgraded_engine(call, request);
                EventKind::HasRoom
            }
        };
        self.tell(key, kind, now, to);
        None
    }

    /// The transport ended.
    fn handle_eof<H: Handler<N>>(&mut self, key: ConnectionKey, now: Instant, to: &mut Sinks<'_, '_, H>) {
        let connection = &self.connections[key];
        let awaits = connection.awaits(to.run);
        if matches!(connection.transport.stage(), Stage::Tunnelling | Stage::Handshaking) {
            self.record_insecure(key, Failure::Reset, to.run);
            self.fail_and_tell(key, failure::of_end(awaits), now, to);
            return;
        }
        let is_cut = connection.engine.ends_with_connection();
        if connection.transport.is_broken() && is_cut {
            // A write has taken the error that would tell a reset from an end.
            self.fail_and_tell(key, failure::of_reset(awaits), now, to);
            return;
        }
        if connection.transport.is_secured() {
            // TLS ends with a close_notify, which ends the connection before this. Without one, a reply that seems
            // to be complete may have been cut short (RFC 9112, section 9.8).
            if is_cut {
                to.run.recorder.truncated(connection.due_of(to.run));
                self.fail_and_tell(key, CauseKind::TlsTruncated, now, to);
                return;
            }
            if connection.engine.pending_count() == 0 {
                to.run.recorder.unclean_close(connection.due());
            }
        }
        self.handle_end(key, now, to);
    }

    /// The peer sends nothing more, and has said so in the way of its transport.
    pub(super) fn handle_end<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let connection = &mut self.connections[key];
        if let Some(halt) = &mut connection.halt {
            halt.has_ended = true;
            return;
        }
        match connection.engine.handle_eof() {
            Ok(Some(reply)) => {
                self.handle_reply(key, reply, now, to);
            }
            Ok(None) => {
                let event = self.end(key, now, to.run);
                to.handler.handle(event, &mut Cx { connections: self, run: to.run, now });
            }
            Err(error) => self.fail_protocol(key, &error, now, to),
        }
    }

    fn fail_protocol<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        error: &ProtocolError,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        // What was understood before counts, even if it came in the same read.
        self.connections[key].record_protocol(to.run);
        if let ProtocolError::BadStatusLine { line } = error {
            to.run.observe(Observation::BadStatusLine { line });
        }
        if let ProtocolError::Http2(error) = error {
            self.record_violation(key, error.reason.to_owned(), to.run);
            if error.is_not_http2() {
                to.run.stranger_met();
            }
        }
        if let ProtocolError::Http3(error) = error {
            self.record_violation(key, error.reason.to_owned(), to.run);
        }
        let awaits = self.connections[key].awaits(to.run);
        let cause = match error {
            ProtocolError::Quic(loss) => self.record_loss(key, loss, to.run),
            ProtocolError::Truncated => failure::of_protocol(error, awaits),
            error => match (awaits, to.run.cause_of_breach(error, awaits)) {
                (Awaits::Tunnel, _) => CauseKind::ProxyMalformed.with(error.to_string()),
                (_, cause) => cause,
            },
        };
        self.fail_and_tell(key, cause, now, to);
    }

    /// A connection ends because the server does not speak HTTP/2, or breaks its rules.
    pub(super) fn record_violation(&self, key: ConnectionKey, reason: String, run: &mut Run<'_>) {
        let due = self.connections[key].due_of(run);
        run.recorder.http2(due, |http2| http2.add_violation(reason));
    }

    /// The deadline of a connection has come.
    pub(in crate::worker) fn time_out<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        let Some(connection) = self.connections.get(key) else { return };
        // The poller tells of a limited number of sockets at once. After a pause of this program, bytes that came in
        // time may not have had their turn yet: they have it now.
        if connection.transport.stage() == Stage::Connecting {
            let ready = self.network.readiness(connection.transport.socket(), poll_key(key));
            self.handle_ready(&ready, now, to);
        } else {
            self.read_any(key, now, to);
            if self.connections.get(key).is_some_and(|connection| connection.engine.wants_write()) {
                self.flush_and_tell(key, now, to);
            }
        }
        if self.connections.contains_key(key) && self.end_late(key, now, to) {
            return;
        }
        let Some(connection) = self.connections.get(key) else { return };
        let awaits_ticket = connection.awaits_ticket();
        let is_settled = connection.is_idle() && !awaits_ticket;
        if is_settled || self.deadlines.get(poll_key(key)).is_some_and(|next| next > now) {
            return;
        }
        if let Some(expired) = connection.expired(now, to.run) {
            self.set_deadline(key, expired.next);
            self.cancel(key, &expired.calls, now, to);
            return;
        }
        if awaits_ticket {
            self.give_up_ticket(key, now, to);
            return;
        }
        let awaits = connection.awaits(to.run);
        // What has come of a reply may be no part of one: then more of it is awaited in vain.
        let cause = match connection.engine.foreign() {
            Some(foreign) => failure::of_foreign(&foreign),
            None => failure::of_timeout(awaits).into(),
        };
        self.record_insecure(key, Failure::ClientTimeout, to.run);
        // Where its calls have nothing in common but the connection, each of them counts.
        let connection = &self.connections[key];
        if connection.calls_end_alone(to.run) {
            for call in connection.engine.pending().into_iter().skip(1) {
                let due = to.run.call(call.into()).intended();
                to.run.recorder.failed(due, cause.clone());
            }
        }
        self.fail_and_tell(key, cause, now, to);
    }

    /// A deadline has come, perhaps that of a reply which is complete for its user. Returns whether nothing else is late.
    fn end_late<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) -> bool {
        if to.run.plan.replies.streams.model.is_none() {
            return false;
        }
        let is_late = |call| to.run.linger(call).is_some_and(|deadline| deadline <= now);
        if self.pending(key).any(is_late) {
            self.end_complete(key, now, to);
        }
        let Some(connection) = self.connections.get(key) else { return true };
        if connection.wants_write() {
            self.flush_and_tell(key, now, to);
        }
        let Some(connection) = self.connections.get(key) else { return true };
        // Without a time limit, only such a reply had a deadline.
        if to.run.plan.timeouts.reply().is_some()
            || !connection.engine.is_in_order()
            || !connection.transport.is_established()
            || connection.awaits_ticket()
        {
            return false;
        }
        let next = connection.front_deadline(to.run);
        self.set_deadline(key, next);
        next.is_none_or(|next| next > now)
    }

    /// Gives up calls of a connection that goes on, unless they were all that it was kept for.
    fn cancel<H: Handler<N>>(
        &mut self,
        key: ConnectionKey,
        calls: &[CallKey],
        now: Instant,
        to: &mut Sinks<'_, '_, H>,
    ) {
        for &call in calls {
            // The handler may have ended the connection, and with it the other calls.
            let Some(connection) = self.connections.get_mut(key) else { break };
            let awaits = match to.run.call(call) {
                call if call.is_talking() => Awaits::Message,
                call if call.is_answering() => Awaits::Body,
                call if call.is_written() => Awaits::Reply,
                _ => Awaits::Request,
            };
            connection.cancel(call, now, to.run);
            let kind = EventKind::CallFailed { call, cause: failure::of_timeout(awaits).into() };
            self.tell(key, kind, now, to);
        }
        if !calls.is_empty() {
            self.flush_and_tell(key, now, to);
        }
        if self.connections.get(key).is_some_and(Connection::is_drained) {
            let event = self.end(key, now, to.run);
            to.handler.handle(event, &mut Cx { connections: self, run: to.run, now });
        }
    }
}

/// Returns bytes from the server as text; `None` for none.
fn text(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
}
