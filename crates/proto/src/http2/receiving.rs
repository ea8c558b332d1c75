//! From frames to events.

use std::time::Duration;

use super::connection::{Connection, PartialBlock, Phase, RESETS_REMEMBERED};
use super::frame::{
    CONNECTION, Continuation, Data, ErrorCode, Frame, GoAway, Headers, Parameter, Piece, Ping, RstStream,
    Settings, Violation, WindowUpdate, kind,
};
use super::streams::{Queue, Reply, State, Stream, Upload};
use super::{ANSWERS_IN_HTTP1, ConnectionError, IS_NOT_HTTP, NO_WEBSOCKETS, SPEAKS_TLS};
use crate::content::Streamed;
use crate::counts::count_code;
use crate::patience::{TOO_MANY_FRAMES, TOO_MANY_RESETS};
use crate::reply_head::{Head, Section};
use crate::status::{SWITCHING_PROTOCOLS, is_interim};
use crate::{Awaited, CallId, Code, Event, Foreign, HeaderBlock, ProtocolError, ReplySize, Reuse, Undone};

/// The beginning of a reply in HTTP/1.
const HTTP1: &[u8] = b"HTTP/";

/// The reason to reset the stream of a WebSocket whose server ends it and has not closed it.
const UNCLOSED_WEBSOCKET: &str = "a WebSocket that ended without a close";

/// The line before trailers that are handed out, in place of a status line.
const TRAILERS_START: &[u8] = b"HTTP/2\r\n";

/// The number of unwritten bytes beyond which the peer may not cause further answers: far more than the
/// requests prepared at once.
const UNWRITTEN_MAX: u64 = 1 << 20;

impl Connection {
    /// Checks that the first bytes can be HTTP/2.
    pub(super) fn check_first_bytes(&mut self, input: &[u8]) -> Result<(), Violation> {
        if self.first_bytes.len() >= HTTP1.len() {
            return Ok(());
        }
        let missing = HTTP1.len() - self.first_bytes.len();
        self.first_bytes.extend_from_slice(&input[..input.len().min(missing)]);
        if self.first_bytes == HTTP1 {
            return Err(Violation::of_connection(ErrorCode::HTTP_1_1_REQUIRED, ANSWERS_IN_HTTP1));
        }
        if Foreign::of(&self.first_bytes) == Some(Foreign::Tls) {
            return Err(Violation::of_connection(ErrorCode::PROTOCOL_ERROR, SPEAKS_TLS));
        }
        if let &[first, second, third, kind, _] = &self.first_bytes[..]
            && u32::from_be_bytes([0, first, second, third]) > self.options.max_frame
            && kind != kind::SETTINGS
        {
            return Err(Violation::of_connection(ErrorCode::PROTOCOL_ERROR, IS_NOT_HTTP));
        }
        Ok(())
    }

    pub(super) fn handle<'i>(
        &mut self,
        now: Duration,
        piece: Piece<'_, 'i>,
    ) -> Result<Option<Event<'i>>, Violation> {
        self.check_expected(Some(piece))?;
        match piece {
            Piece::Frame(frame) => {
                self.handle_frame(now, frame)?;
                Ok(None)
            }
            Piece::Data(data) => {
                self.handle_data(data)?;
                Ok(None)
            }
            Piece::Body { stream, bytes } => {
                self.add_content(Some(stream), bytes.len() as u64);
                Ok(self.taker_of(stream).map(|call| Event::ReplyBody { call, data: bytes.into() }))
            }
            Piece::DataEnd(data) => {
                self.handle_data_end(now, data)?;
                Ok(None)
            }
        }
    }

    /// Returns the call whose reply a stream carries, if its body is handed out.
    fn taker_of(&mut self, stream: u32) -> Option<CallId> {
        if !self.options.bodies && self.options.streamed == Streamed::Never {
            return None;
        }
        let stream = self.streams.get_mut(stream)?;
        matches!(stream.reply, Reply::Body { hands_out: true, .. }).then_some(stream.call)
    }

    /// Returns whether the body of a stream's reply is handed out.
    pub(super) fn is_handed_out(&self, stream: u32) -> bool {
        self.options.streamed != Streamed::Never
            && self
                .streams
                .get(stream)
                .is_some_and(|stream| matches!(stream.reply, Reply::Body { hands_out: true, .. }))
    }

    /// Checks that this piece may come now; `None` stands for a malformed frame.
    pub(super) fn check_expected(&self, piece: Option<Piece<'_, '_>>) -> Result<(), Violation> {
        if matches!(self.phase, Phase::New | Phase::Opened)
            && !matches!(piece, Some(Piece::Frame(Frame::Settings(Settings { ack: false, .. }))))
        {
            return Err(Violation::of_connection(
                ErrorCode::PROTOCOL_ERROR,
                "a server that does not begin with its settings",
            ));
        }
        if self.partial.is_some() && !matches!(piece, Some(Piece::Frame(Frame::Continuation(_)))) {
            return Err(Violation::of_connection(
                ErrorCode::PROTOCOL_ERROR,
                "a frame in the middle of a header block",
            ));
        }
        Ok(())
    }

    fn handle_frame(&mut self, now: Duration, frame: Frame<'_>) -> Result<(), Violation> {
        if self.outgoing.unwritten() > UNWRITTEN_MAX {
            return Err(Violation::of_connection(
                ErrorCode::ENHANCE_YOUR_CALM,
                "a server that does not read the answers to its frames",
            ));
        }
        match frame {
            Frame::Headers(headers) => self.handle_headers(now, headers),
            Frame::Continuation(continuation) => self.handle_continuation(now, continuation),
            Frame::RstStream(reset) => self.handle_reset(now, reset),
            Frame::Settings(settings) => self.handle_settings(now, settings),
            Frame::Ping(ping) => {
                if !ping.ack {
                    Ping { ack: true, ..ping }.write(self.outgoing.buffer());
                }
                self.count_idle_frame()
            }
            Frame::GoAway(goaway) => {
                self.handle_goaway(now, goaway);
                self.count_idle_frame()
            }
            Frame::WindowUpdate(update) => {
                self.handle_window_update(update)?;
                self.count_idle_frame()
            }
            Frame::Ignored => self.count_idle_frame(),
            Frame::PushPromise(promise) => match promise {},
        }
    }

    /// Counts a frame that brings no call further.
    fn count_idle_frame(&mut self) -> Result<(), Violation> {
        match self.patience.frames_exceed(1, self.options.limits.idle_frames) {
            true => Err(Violation::of_connection(ErrorCode::ENHANCE_YOUR_CALM, TOO_MANY_FRAMES)),
            false => Ok(()),
        }
    }

    fn handle_headers(&mut self, now: Duration, headers: Headers<'_>) -> Result<(), Violation> {
        let Headers { stream, fragment, end_stream, end_headers } = headers;
        if self.check_stream(stream)? == State::Closed {
            self.handle_late_frame(stream)?;
        }
        self.check_block_size(fragment.len())?;
        if end_headers {
            return self.handle_block(now, stream, end_stream, fragment);
        }
        self.partial = Some(PartialBlock { stream, end_stream, bytes: fragment.to_vec(), continuations: 0 });
        Ok(())
    }

    fn handle_continuation(&mut self, now: Duration, frame: Continuation<'_>) -> Result<(), Violation> {
        let Some(mut partial) = self.partial.take().filter(|partial| partial.stream == frame.stream) else {
            return Err(Violation::of_connection(
                ErrorCode::PROTOCOL_ERROR,
                "a CONTINUATION frame that continues nothing",
            ));
        };
        partial.continuations += 1;
        if partial.continuations > self.options.limits.continuations {
            return Err(Violation::of_connection(
                ErrorCode::ENHANCE_YOUR_CALM,
                "more CONTINUATION frames than the limit",
            ));
        }
        partial.bytes.extend_from_slice(frame.fragment);
        self.check_block_size(partial.bytes.len())?;
        if !frame.end_headers {
            self.partial = Some(partial);
            return Ok(());
        }
        self.handle_block(now, partial.stream, partial.end_stream, &partial.bytes)
    }

    fn check_block_size(&self, size: usize) -> Result<(), Violation> {
        if size > self.options.limits.reply.head_size {
            return Err(Violation::of_connection(
                ErrorCode::ENHANCE_YOUR_CALM,
                "a header block larger than the limit",
            ));
        }
        Ok(())
    }

    /// Handles a complete header block. It is decoded even if its stream has ended, as both ends must keep
    /// the same table.
    fn handle_block(
        &mut self,
        now: Duration,
        id: u32,
        end_stream: bool,
        block: &[u8],
    ) -> Result<(), Violation> {
        let is_trailer =
            self.streams.get_mut(id).is_some_and(|stream| matches!(stream.reply, Reply::Body { .. }));
        let section = if is_trailer { Section::Trailer } else { Section::Header };
        let head = self.header_decoder.decode(block, section).map_err(|error| {
            let (code, reason) = super::decode_problem(error);
            Violation::of_connection(code, reason)
        })?;
        self.news.counts.headers_received.add(head.plain, block.len());
        let Some(stream) = self.streams.get_mut(id) else { return Ok(()) };
        let malformed = |reason| Violation::of_stream(id, ErrorCode::PROTOCOL_ERROR, reason);
        if let Some(reason) = head.malformed {
            return Err(malformed(reason));
        }
        self.patience.note_progress();
        match &mut stream.reply {
            Reply::Body { .. } if !end_stream => Err(malformed("trailers that do not end their stream")),
            Reply::Body { size, .. } => {
                size.footer += head.size;
                let call = stream.call;
                if self.options.trailers
                    && let Some(text) = self.header_decoder.kept.take_text()
                {
                    let fields = HeaderBlock::new(&[TRAILERS_START, &text[..]].concat());
                    self.news.events.push_back(Event::ReplyTrailers { call, fields });
                }
                self.finish(now, id)
            }
            Reply::Head { .. } if head.status == SWITCHING_PROTOCOLS => Err(malformed("a status 101")),
            Reply::Head { interim } if is_interim(head.status) => {
                if end_stream {
                    return Err(malformed("an interim reply that ends its stream"));
                }
                *interim += 1;
                if *interim > self.options.limits.reply.interim_replies {
                    let reason = "more interim replies than the limit";
                    return Err(Violation::of_stream(id, ErrorCode::ENHANCE_YOUR_CALM, reason));
                }
                Ok(())
            }
            Reply::Head { .. } => self.begin_reply(now, id, head, end_stream),
        }
    }

    fn begin_reply(&mut self, now: Duration, id: u32, head: Head, end_stream: bool) -> Result<(), Violation> {
        let Some(stream) = self.streams.get_mut(id) else { return Ok(()) };
        // The content-length of a reply without content is that of another reply (RFC 9113, section 8.1.1).
        let forbids_content = stream.request.forbids_content(head.status);
        let expected = if forbids_content { Some(0) } else { head.content_length };
        let size = ReplySize { header: head.size, ..ReplySize::default() };
        let server_timing = self.header_decoder.kept.block_server_timing();
        let is_opened = stream.request.opens_websocket() && (200..300).contains(&head.status);
        if let Some(uplink) = &mut stream.uplink {
            uplink.is_open = is_opened;
        }
        let is_streamed = self.options.streamed.includes(head.content) || is_opened;
        let expected = expected.filter(|_| !is_opened);
        let hands_out = self.options.bodies || is_streamed;
        stream.reply = Reply::Body { size, expected, server_timing, hands_out };
        let (call, content) = (stream.call, head.content);
        self.news.events.push_back(Event::ReplyStarted { call, status: head.status });
        if let Some(head) = self.header_decoder.kept.take_text() {
            self.news.events.push_back(Event::ReplyHead { call, head: HeaderBlock::new(&head) });
        }
        if is_streamed {
            self.news.events.push_back(Event::StreamStarted { call, content });
        }
        if end_stream { self.finish(now, id) } else { Ok(()) }
    }

    fn handle_data(&mut self, data: Data) -> Result<(), Violation> {
        let Data { stream: id, length, end_stream } = data;
        let exceeded = |id: Option<u32>| Violation {
            code: ErrorCode::FLOW_CONTROL_ERROR,
            reason: "more content than the window allows",
            stream: id,
        };
        self.receive_window.take(length).map_err(|_| exceeded(None))?;
        if let Some(increment) = self.receive_window.increment() {
            WindowUpdate { stream: CONNECTION, increment }.write(self.outgoing.buffer());
        }
        let state = self.check_stream(id)?;
        let Some(stream) = self.streams.get_mut(id) else {
            debug_assert_eq!(state, State::Closed, "what was opened and does not go on has ended");
            return self.handle_late_frame(id);
        };
        if matches!(stream.reply, Reply::Head { .. }) {
            return Err(Violation::of_stream(
                id,
                ErrorCode::PROTOCOL_ERROR,
                "content before a reply's header",
            ));
        }
        stream.receive_window.take(length).map_err(|_| exceeded(Some(id)))?;
        if !end_stream && let Some(increment) = stream.receive_window.increment() {
            WindowUpdate { stream: id, increment }.write(self.outgoing.buffer());
        }
        self.frame_has_content = false;
        Ok(())
    }

    /// Adds to the content of a stream's reply.
    pub(super) fn add_content(&mut self, id: Option<u32>, count: u64) {
        if let Some(stream) = id.and_then(|id| self.streams.get_mut(id))
            && let Reply::Body { size, .. } = &mut stream.reply
        {
            size.content += count;
            self.frame_has_content |= count > 0;
            self.news.content_received |= count > 0;
        }
    }

    fn handle_data_end(&mut self, now: Duration, data: Data) -> Result<(), Violation> {
        let Some(stream) = self.streams.get_mut(data.stream) else { return Ok(()) };
        if let Reply::Body { size, expected: Some(expected), .. } = stream.reply
            && (size.content > expected)
        {
            return Err(Violation::of_stream(
                data.stream,
                ErrorCode::PROTOCOL_ERROR,
                "more content than its content-length",
            ));
        }
        if data.end_stream {
            return self.finish(now, data.stream);
        }
        if !self.frame_has_content {
            return self.count_idle_frame();
        }
        self.patience.note_progress();
        Ok(())
    }

    /// Ends a complete reply.
    fn finish(&mut self, now: Duration, id: u32) -> Result<(), Violation> {
        let Some(stream) = self.streams.get_mut(id) else { return Ok(()) };
        let Reply::Body { size, expected, .. } = stream.reply else { return Ok(()) };
        if expected.is_some_and(|expected| size.content != expected) {
            let reason = "content that does not match its content-length";
            return Err(Violation::of_stream(id, ErrorCode::PROTOCOL_ERROR, reason));
        }
        let Some(mut stream) = self.close(now, id) else { return Ok(()) };
        self.patience.note_reply();
        if stream.uplink.as_ref().is_some_and(|uplink| uplink.is_open && !uplink.is_over) {
            self.reset(id, ErrorCode::CANCEL, UNCLOSED_WEBSOCKET);
            let why = Undone::Rejected(UNCLOSED_WEBSOCKET);
            self.news.events.push_back(Event::CallFailed { call: stream.call, why });
            self.announce_end();
            return Ok(());
        }
        if stream.upload != Upload::Done && !self.send_rest(id, &mut stream) {
            // Nobody needs the rest of the request.
            self.reset(id, ErrorCode::CANCEL, "a reply that was complete before its request");
        }
        if let Reply::Body { server_timing, .. } = stream.reply {
            self.header_decoder.kept.handle_end(server_timing);
        }
        let reuse = if self.is_at_end() { Reuse::Close } else { Reuse::Keep };
        self.news.has_end |= reuse == Reuse::Close;
        self.news.events.push_back(Event::ReplyDone { call: stream.call, size, reuse });
        Ok(())
    }

    /// Ends the reply that a call's WebSocket is, which both sides have closed. The peer may end its side of the stream later,
    /// or with the connection.
    pub(super) fn finish_websocket(&mut self, now: Duration, call: CallId) {
        let Some(id) = self.streams.find(call) else { return };
        let Some(uplink) = self.streams.get_mut(id).and_then(|stream| stream.uplink.as_mut()) else { return };
        uplink.is_over = true;
        // Only a content length can be wrong, and this has none.
        let finished = self.finish(now, id);
        debug_assert!(finished.is_ok(), "a WebSocket has no content length");
        if !self.may_be_late(id) {
            self.remember(id);
        }
    }

    /// Handles a violation that ends a stream or the connection.
    pub(super) fn handle_violation(&mut self, now: Duration, violation: Violation) {
        let outcome = match violation.stream {
            Some(id) => self.handle_stream_violation(now, id, violation),
            None => Err(violation),
        };
        if let Err(violation) = outcome {
            self.fail(violation);
        }
    }

    fn handle_stream_violation(
        &mut self,
        now: Duration,
        id: u32,
        violation: Violation,
    ) -> Result<(), Violation> {
        match self.streams.state(id) {
            State::Idle => Err(Violation { stream: None, ..violation }),
            State::Closed if self.may_be_late(id) => self.count_idle_frame(),
            State::Closed => Err(Violation { stream: None, ..violation }),
            State::Open => {
                if let Some(stream) = self.close(now, id) {
                    let why = Undone::Rejected(violation.reason);
                    self.news.events.push_back(Event::CallFailed { call: stream.call, why });
                }
                self.reset(id, violation.code, violation.reason);
                self.announce_end();
                self.count_reset()
            }
        }
    }

    /// Counts a stream that was reset by either side.
    fn count_reset(&mut self) -> Result<(), Violation> {
        match self.patience.resets_exceed(self.options.limits.resets) {
            true => Err(Violation::of_connection(ErrorCode::ENHANCE_YOUR_CALM, TOO_MANY_RESETS)),
            false => Ok(()),
        }
    }

    /// Returns the state of the stream that a frame came on.
    fn check_stream(&mut self, id: u32) -> Result<State, Violation> {
        let written = self.outgoing.written();
        match self.streams.get_mut(id).map(|stream| stream.start) {
            Some(start) if start < written => Ok(State::Open),
            None if self.streams.state(id) == State::Closed => Ok(State::Closed),
            _ => Err(Violation::of_connection(
                ErrorCode::PROTOCOL_ERROR,
                "a frame on a stream that was not opened",
            )),
        }
    }

    /// Handles a frame on a stream that has ended, which is in order if we reset it.
    fn handle_late_frame(&mut self, id: u32) -> Result<(), Violation> {
        if !self.may_be_late(id) {
            return Err(Violation::of_connection(
                ErrorCode::STREAM_CLOSED,
                "a frame on a stream that has ended",
            ));
        }
        self.count_idle_frame()
    }

    /// Returns whether frames may still arrive for a stream that has ended.
    fn may_be_late(&self, id: u32) -> bool {
        self.reset_streams.len() == RESETS_REMEMBERED || self.reset_streams.contains(&id)
    }

    fn handle_reset(&mut self, now: Duration, reset: RstStream) -> Result<(), Violation> {
        if self.check_stream(reset.stream)? == State::Closed {
            // A server may say that it does not need the rest of a request (section 8.1).
            return self.count_idle_frame();
        }
        let Some(stream) = self.close(now, reset.stream) else { return Ok(()) };
        count_code(&mut self.news.counts.resets_received, reset.code);
        let why = Undone::Reset(Code::Http2(reset.code));
        if reset.code == ErrorCode::REFUSED_STREAM {
            self.announce_unprocessed(&stream, why);
        } else {
            self.news.events.push_back(Event::CallFailed { call: stream.call, why });
        }
        self.announce_end();
        self.count_reset()
    }

    fn handle_settings(&mut self, now: Duration, settings: Settings<'_>) -> Result<(), Violation> {
        if settings.ack {
            if !self.settings.are_acknowledged {
                self.settings.are_acknowledged = true;
                self.header_decoder.set_table_limit(self.options.header_table);
            }
            return self.count_idle_frame();
        }
        if self.phase == Phase::New {
            // A server may speak first; our answers still follow our preface.
            self.open();
        }
        for parameter in settings.parameters() {
            match parameter? {
                Parameter::HeaderTableSize(size) => {
                    self.settings.peer.header_table = size;
                    self.encoder.set_size_limit(size);
                }
                Parameter::MaxConcurrentStreams(count) => self.settings.peer.max_streams = Some(count),
                Parameter::InitialWindowSize(size) => self.change_windows(size)?,
                Parameter::MaxFrameSize(size) => self.settings.peer.max_frame = size,
                Parameter::MaxHeaderListSize(size) => self.settings.peer.header_list = Some(size),
                Parameter::EnableConnectProtocol(is_enabled) => {
                    self.settings.peer.connect_protocol = is_enabled;
                }
                Parameter::EnablePush(_) | Parameter::Unknown(..) => {}
            }
        }
        self.settings.are_known = true;
        Settings::write_ack(self.outgoing.buffer());
        if self.phase == Phase::Opened {
            self.phase = Phase::Established;
        }
        if !self.settings.peer.connect_protocol
            && self.waiting.iter().any(|(_, request, _)| request.opens_websocket())
        {
            return Err(TAKES_NO_WEBSOCKETS);
        }
        // Calls beyond the peer's limit now wait for the peer.
        let room = self.streams_max().saturating_sub(self.streams.open_count());
        for (.., since) in self.waiting.iter_mut().skip(room) {
            since.get_or_insert(now);
        }
        self.count_idle_frame()
    }

    /// Applies a new initial window size to all streams.
    fn change_windows(&mut self, size: u32) -> Result<(), Violation> {
        let difference = i64::from(size) - i64::from(self.settings.peer.window);
        if difference == 0 {
            return Ok(());
        }
        // One frame may repeat the setting, at a cost proportional to the number of streams.
        self.count_idle_frame()?;
        self.settings.peer.window = size;
        for stream in self.streams.iter_mut() {
            stream.send_window.change(difference).map_err(|_| WINDOW_OVERFLOW)?;
        }
        let open: Vec<u32> = self.streams.iter().map(|(id, _)| id).collect();
        open.into_iter().for_each(|id| self.resume(id));
        Ok(())
    }

    fn handle_window_update(&mut self, update: WindowUpdate) -> Result<(), Violation> {
        let WindowUpdate { stream: id, increment } = update;
        if id == CONNECTION {
            self.send_window.grow(increment).map_err(|_| WINDOW_OVERFLOW)?;
            while let Some(id) = self.uploads.blocked.pop_front() {
                if let Some(stream) = self.streams.get_mut(id)
                    && let Upload::Body { queue, .. } = &mut stream.upload
                {
                    *queue = Queue::Turn;
                    self.uploads.turns.push_back(id);
                }
            }
            return Ok(());
        }
        if self.check_stream(id)? == State::Closed {
            return Ok(());
        }
        let Some(stream) = self.streams.get_mut(id) else { return Ok(()) };
        let overflow = Violation { stream: Some(id), ..WINDOW_OVERFLOW };
        stream.send_window.grow(increment).map_err(|_| overflow)?;
        self.resume(id);
        Ok(())
    }

    fn handle_goaway(&mut self, now: Duration, goaway: GoAway<'_>) {
        count_code(&mut self.news.counts.goaways, goaway.code);
        self.goaway = Some(goaway.code);
        let why = Undone::GoAway(Code::Http2(goaway.code));
        let was_draining = self.phase == Phase::Draining;
        self.phase = Phase::Draining;
        let beyond: Vec<u32> =
            self.streams.iter().map(|(id, _)| id).filter(|&id| id > goaway.last_stream).collect();
        for id in beyond {
            let Some(stream) = self.close(now, id) else { continue };
            if goaway.code == ErrorCode::NO_ERROR {
                self.announce_unprocessed(&stream, why);
            } else {
                // The server ends the connection for an error, and has turned these calls away.
                self.news.counts.unprocessed += u64::from(matches!(stream.reply, Reply::Head { .. }));
                self.news.events.push_back(Event::CallFailed { call: stream.call, why });
            }
        }
        while let Some((call, _, since)) = self.waiting.pop_front() {
            if let Some(since) = since {
                self.news.add_stall(call, Awaited::Stream, now - since);
            }
            self.news.events.push_back(Event::CallReturned { call, why });
        }
        if !was_draining {
            self.news.events.push_back(Event::Draining);
        }
        self.announce_end();
    }

    /// Reports a call that the peer says it has not processed, unless its reply has begun.
    fn announce_unprocessed(&mut self, stream: &Stream, why: Undone) {
        let call = stream.call;
        if matches!(stream.reply, Reply::Body { .. }) {
            self.news.events.push_back(Event::CallFailed { call, why });
        } else {
            self.news.counts.unprocessed += 1;
            self.news.events.push_back(Event::CallReturned { call, why });
        }
    }

    /// Returns whether the connection takes no further calls and has none left.
    fn is_at_end(&self) -> bool {
        let takes_no_more = self.phase == Phase::Draining || self.numbers_left() == 0;
        takes_no_more && self.streams.open_count() + self.waiting.len() == 0
    }

    /// Reports once that this is so.
    pub(super) fn announce_end(&mut self) {
        if self.is_at_end() {
            self.news.announce_end();
        }
    }

    /// Fails the connection: tells the peer why, and the owner after the pending events.
    pub(super) fn fail(&mut self, violation: Violation) {
        let Violation { code, reason, .. } = violation;
        GoAway { last_stream: 0, code, debug: reason.as_bytes() }.write(self.outgoing.buffer());
        self.phase = Phase::Closed;
        self.news.failure = Some(ProtocolError::Http2(ConnectionError { code, reason }));
    }
}

/// The reason why a connection is of no use to a call that opens a WebSocket.
pub(super) const TAKES_NO_WEBSOCKETS: Violation =
    Violation::of_connection(ErrorCode::NO_ERROR, NO_WEBSOCKETS);

const WINDOW_OVERFLOW: Violation =
    Violation::of_connection(ErrorCode::FLOW_CONTROL_ERROR, "a window beyond 2^31 - 1");
