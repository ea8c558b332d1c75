//! From streams to events.

use std::time::Duration;

use bytes::{Buf as _, Bytes};

use super::ConnectionError;
use super::call::{Body, Call, Held, Reply, Upload};
use super::engine::{Engine, Phase};
use super::error::{ErrorCode, Scope, Violation};
use super::frame::{Frame, Piece, Reader};
use super::peer::PeerStream;
use super::qpack::TOO_MANY_BLOCKED;
use super::sections::Outcome;
use crate::counts::count_code;
use crate::patience::{TOO_MANY_FRAMES, TOO_MANY_RESETS};
use crate::quic::{self, Chunk, Loss, StreamId};
use crate::reply_head::{Head, Section};
use crate::status::{SWITCHING_PROTOCOLS, is_interim};
use crate::tls::Progress;
use crate::{Awaited, Code, Event, HeaderBlock, ProtocolError, ReplySize, Reuse, Undone};

impl Engine {
    /// Takes what QUIC has to tell, without reading streams.
    pub(super) fn pump(&mut self) {
        while let Some(event) = self.quic.poll() {
            match event {
                quic::Event::Established => self.progress.push_back(Progress::Done),
                quic::Event::EarlyDataRejected => {
                    self.restart();
                    self.progress.push_back(Progress::EarlyDataRejected);
                }
                quic::Event::Readable(id) | quic::Event::Stopped(id, _) if self.supply.next == Some(id) => {
                    let reason = "a reply on a stream without a request";
                    self.fail(Violation::of_connection(ErrorCode::H3_GENERAL_PROTOCOL_ERROR, reason));
                }
                quic::Event::Opened(id) => {
                    self.peer.streams.push(PeerStream::new(id));
                    self.readable.push_back(id);
                }
                // Each packet of a stream is told of, and one read has them all.
                quic::Event::Readable(id) if self.readable.back() == Some(&id) => {}
                quic::Event::Readable(id) => self.readable.push_back(id),
                quic::Event::Writable(id) => {
                    if id.is_request() {
                        self.uploads.push_back(id.index());
                    }
                }
                quic::Event::Stopped(id, _) => self.handle_stopped(id),
                quic::Event::MoreStreams => self.supply.has_room = true,
                quic::Event::Lost(loss) => self.loss = Some(loss),
            }
        }
    }

    /// The peer wants no more of a stream.
    fn handle_stopped(&mut self, id: StreamId) {
        if [self.own.control, self.own.decoder].contains(&Some(id)) {
            let reason = "a server that stops a stream which the connection needs";
            self.fail(Violation::of_connection(ErrorCode::H3_CLOSED_CRITICAL_STREAM, reason));
        } else if let Some(call) = self.calls.get_mut(id.index()).filter(|call| call.id == id) {
            // Its reply may come all the same (RFC 9114, section 4.1).
            call.upload = Upload::Done;
            call.end_wait(self.now);
            self.quic.reset(id, ErrorCode::H3_NO_ERROR.0);
        }
    }

    /// The connection is gone, and all that arrived was read.
    fn handle_loss(&mut self, loss: Loss) {
        self.phase = Phase::Closed;
        if self.quic.is_established() && self.pending_count() == 0 && !is_fault(&loss) {
            self.announce_end();
        } else {
            self.news.failure = Some(ProtocolError::Quic(loss));
        }
    }

    /// Returns the next event.
    ///
    /// # Errors
    /// When the connection is gone, or the peer breaks the protocol or exceeds a limit; it is then of no further use, but
    /// for what is to be sent to tell the peer.
    pub fn poll_event(&mut self, now: Duration) -> Result<Option<Event<'static>>, ProtocolError> {
        self.now = now;
        loop {
            if let Some(event) = self.news.events.pop_front() {
                return Ok(Some(event));
            }
            if let Some(error) = self.news.failure.take() {
                return Err(error);
            }
            if self.phase == Phase::Closed {
                return Ok(None);
            }
            if let Some((id, bytes)) = self.reading.take() {
                self.use_bytes(id, bytes);
            } else if let Some(id) = self.blocked.ready.pop_front() {
                self.resume(id);
            } else if let Some(id) = self.readable.pop_front() {
                self.read(id);
            } else {
                self.pump();
                let is_news = !self.readable.is_empty() || !self.news.events.is_empty();
                if is_news || self.news.failure.is_some() {
                    continue;
                }
                let Some(loss) = self.loss.take() else { return Ok(None) };
                self.handle_loss(loss);
            }
        }
    }

    /// Reads a stream once.
    fn read(&mut self, id: StreamId) {
        if let Some(call) = self.calls.get(id.index()).filter(|call| call.id == id)
            && call.held.is_some()
        {
            // It is read on when the table has what its header block needs; but the peer may give up both.
            if let Some(code) = self.quic.take_reset(id) {
                self.handle_reset(id, ErrorCode(code));
            }
            return;
        }
        let (skipped, chunk) = self.quic.read_behind(id, self.unwanted(id));
        if skipped > 0
            && let Some(call) = self.calls.get_mut(id.index())
        {
            if let Some(reader) = &mut call.reader {
                reader.handle_skipped(skipped);
            }
            self.handle_content(id.index(), skipped);
        }
        match chunk {
            Chunk::Bytes(bytes) => {
                self.readable.push_front(id);
                self.reading = Some((id, bytes));
            }
            Chunk::Pending => {}
            Chunk::End if id.is_request() => self.handle_end(id),
            Chunk::Reset(code) if id.is_request() => self.handle_reset(id, ErrorCode(code)),
            Chunk::End | Chunk::Reset(_) => self.end_peer_stream(id),
        }
    }

    /// Returns how many of the next bytes of a stream are content that nobody asks for.
    fn unwanted(&self, id: StreamId) -> u64 {
        let Some(call) = self.calls.get(id.index()).filter(|call| call.id == id) else { return 0 };
        match (&call.reply, &call.reader) {
            (Reply::Body(Body { hands_out: false, .. }), Some(reader)) => reader.content_left(),
            _ => 0,
        }
    }

    /// Content of a reply arrived.
    fn handle_content(&mut self, number: u64, size: u64) {
        self.patience.note_progress();
        self.news.content_received = true;
        if let Some(call) = self.calls.get_mut(number)
            && let Reply::Body(body) = &mut call.reply
        {
            body.size.content += size;
        }
    }

    /// Uses bytes of a stream, up to what leads to an event.
    fn use_bytes(&mut self, id: StreamId, mut bytes: Bytes) {
        let outcome = if id.is_request() {
            self.use_reply_bytes(id, &mut bytes)
        } else {
            let used = self.use_peer_bytes(id, &bytes);
            bytes.clear();
            used
        };
        if let Err(violation) = outcome {
            self.handle_violation(id, violation);
        } else if !bytes.is_empty() && self.phase != Phase::Closed {
            self.reading = Some((id, bytes));
        }
    }

    fn use_reply_bytes(&mut self, id: StreamId, bytes: &mut Bytes) -> Result<(), Violation> {
        let number = id.index();
        if self.calls.get(number).is_none() {
            // The call was cancelled: the rest is dropped.
            bytes.clear();
            return Ok(());
        }
        let whole = bytes.clone();
        let mut input = &whole[..];
        while self.news.events.is_empty()
            && let Some(call) = self.calls.get_mut(number)
        {
            // Taken out, so that what it found can be handled with all else at hand.
            let mut reader = call.reader.take().expect("it is in use only here");
            let handled = match reader.poll(&mut input) {
                Ok(None) => Ok(false),
                Ok(Some(piece)) => self.handle_piece(number, piece).map(|()| true),
                Err(violation) => Err(violation),
            };
            let Some(call) = self.calls.get_mut(number) else {
                // It has ended: nobody needs the rest.
                bytes.clear();
                return handled.map(drop);
            };
            call.reader = Some(reader);
            if !handled? {
                break;
            }
            if let Some(held) = &mut call.held {
                held.rest = whole.slice(whole.len() - input.len()..);
                bytes.clear();
                return Ok(());
            }
        }
        let used = whole.len() - input.len();
        bytes.advance(used);
        Ok(())
    }

    fn handle_piece(&mut self, number: u64, piece: Piece<'_, '_>) -> Result<(), Violation> {
        match piece {
            Piece::Frame(Frame::Headers(headers)) => self.handle_block(number, headers.section),
            Piece::Frame(Frame::Ignored) => self.count_idle(),
            Piece::DataStart(data) => {
                let Some(call) = self.calls.get_mut(number) else { return Ok(()) };
                let Reply::Body(body) = &call.reply else {
                    return Err(UNEXPECTED_DATA);
                };
                if body.expected.is_some_and(|expected| body.size.content + data.length > expected) {
                    return Err(malformed("more content than its content-length"));
                }
                if data.length == 0 { self.count_idle() } else { Ok(()) }
            }
            Piece::Data(bytes) => {
                self.handle_content(number, bytes.len() as u64);
                if let Some(call) = self.calls.get(number)
                    && matches!(call.reply, Reply::Body(Body { hands_out: true, .. }))
                {
                    let data = bytes.to_vec().into();
                    self.news.events.push_back(Event::ReplyBody { call: call.call, data });
                }
                Ok(())
            }
            Piece::Frame(
                Frame::Settings(_) | Frame::GoAway(_) | Frame::CancelPush(_) | Frame::PushPromise(_),
            ) => unreachable!("the reader knows which frames a request's stream has"),
        }
    }

    /// Handles a complete header block.
    fn handle_block(&mut self, number: u64, block: &[u8]) -> Result<(), Violation> {
        let Some(call) = self.calls.get(number) else { return Ok(()) };
        let section = match call.reply {
            Reply::Head { .. } => Section::Header,
            Reply::Body(_) => Section::Trailer,
            Reply::Trailers(_) => {
                let reason = "a header block after the trailers";
                return Err(Violation::of_connection(ErrorCode::H3_FRAME_UNEXPECTED, reason));
            }
        };
        let head = match self.sections.decode(call.id.number(), block, section)? {
            Outcome::Head(head) => head,
            Outcome::Blocked(required) => {
                if self.blocked.calls.len() >= self.options.limits.blocked_streams {
                    return Err(TOO_MANY_BLOCKED);
                }
                self.blocked.calls.push((number, required));
                let held = Held { block: block.to_vec(), rest: Bytes::new() };
                self.calls.get_mut(number).expect("it is there").held = Some(held);
                return Ok(());
            }
        };
        self.news.counts.headers_received.add(head.plain, block.len());
        if let Some(reason) = head.malformed {
            return Err(malformed(reason));
        }
        self.patience.note_progress();
        self.handle_head(number, head)
    }

    fn handle_head(&mut self, number: u64, head: Head) -> Result<(), Violation> {
        let Some(call) = self.calls.get_mut(number) else { return Ok(()) };
        match &mut call.reply {
            Reply::Body(body) => {
                body.size.footer += head.size;
                let body = Body { server_timing: body.server_timing.take(), ..*body };
                call.reply = Reply::Trailers(body);
                Ok(())
            }
            Reply::Trailers(_) => Ok(()),
            Reply::Head { .. } if head.status == SWITCHING_PROTOCOLS => Err(malformed("a status 101")),
            Reply::Head { interim } if is_interim(head.status) => {
                *interim += 1;
                if *interim > self.options.limits.reply.interim_replies {
                    let reason = "more interim replies than the limit";
                    return Err(Violation::of_stream(ErrorCode::H3_EXCESSIVE_LOAD, reason));
                }
                Ok(())
            }
            Reply::Head { .. } => {
                // The content-length of a reply without content is that of another reply (RFC 9110, section 8.6).
                let forbids_content = call.request.forbids_content(head.status);
                let expected = if forbids_content { Some(0) } else { head.content_length };
                let size = ReplySize { header: head.size, ..ReplySize::default() };
                let server_timing = self.sections.kept.block_server_timing();
                let content = head.content;
                let is_streamed = self.options.streamed.includes(content);
                let hands_out = self.options.bodies || is_streamed;
                call.reply = Reply::Body(Body { size, expected, server_timing, hands_out });
                let call = call.call;
                self.news.events.push_back(Event::ReplyStarted { call, status: head.status });
                if let Some(head) = self.sections.kept.take_text() {
                    self.news.events.push_back(Event::ReplyHead { call, head: HeaderBlock::new(&head) });
                }
                if is_streamed {
                    self.news.events.push_back(Event::StreamStarted { call, content });
                }
                Ok(())
            }
        }
    }

    /// Header blocks that waited for the table may be decoded now.
    pub(super) fn unblock(&mut self) {
        let count = self.sections.decoder().insert_count();
        let mut place = 0;
        while let Some(&(number, required)) = self.blocked.calls.get(place) {
            if required > count {
                place += 1;
                continue;
            }
            self.blocked.calls.remove(place);
            if let Some(call) = self.calls.get(number) {
                self.blocked.ready.push_back(call.id);
            }
        }
    }

    /// Decodes the header block of a call that waited, and goes on with what followed it.
    fn resume(&mut self, id: StreamId) {
        let Some(call) = self.calls.get_mut(id.index()) else { return };
        let Some(Held { block, rest }) = call.held.take() else { return };
        // Its stream may have more, or its end.
        self.readable.push_front(id);
        match self.handle_block(id.index(), &block) {
            Ok(()) if !rest.is_empty() => self.reading = Some((id, rest)),
            Ok(()) => {}
            Err(violation) => self.handle_violation(id, violation),
        }
    }

    /// The peer has sent all of a reply.
    fn handle_end(&mut self, id: StreamId) {
        let Some(call) = self.calls.get(id.index()) else { return };
        if !call.reader.as_ref().is_some_and(Reader::is_between_frames) {
            let reason = "a stream that ends within a frame";
            self.fail(Violation::of_connection(ErrorCode::H3_FRAME_ERROR, reason));
            return;
        }
        let (Reply::Body(body) | Reply::Trailers(body)) = &call.reply else {
            self.handle_violation(id, malformed("a reply that ends before its header"));
            return;
        };
        if body.expected.is_some_and(|expected| body.size.content != expected) {
            let reason = "content that does not match its content-length";
            self.handle_violation(id, malformed(reason));
            return;
        }
        let Some(call) = self.remove(id.index()) else { return };
        if !self.supply.has_room {
            // The peer allows another stream once it knows that this one has ended: calls are not to wait for a delayed
            // acknowledgement.
            self.quic.ping();
        }
        self.patience.note_reply();
        if !matches!(call.upload, Upload::Done) {
            // Nobody needs the rest of the request.
            self.quic.reset(call.id, ErrorCode::H3_REQUEST_CANCELLED.0);
        }
        let (Reply::Body(body) | Reply::Trailers(body)) = call.reply else { return };
        self.sections.kept.handle_end(body.server_timing);
        let reuse = if self.is_at_end() { Reuse::Close } else { Reuse::Keep };
        self.news.has_end |= reuse == Reuse::Close;
        self.news.events.push_back(Event::ReplyDone { call: call.call, size: body.size, reuse });
    }

    /// The peer gives up a reply.
    fn handle_reset(&mut self, id: StreamId, code: ErrorCode) {
        let Some(call) = self.remove(id.index()) else { return };
        if !matches!(call.upload, Upload::Done) {
            self.quic.reset(id, ErrorCode::H3_REQUEST_CANCELLED.0);
        }
        self.sections.decoder().cancel(id.number());
        count_code(&mut self.news.counts.resets_received, code);
        let why = Undone::Reset(Code::Http3(code));
        if code == ErrorCode::H3_REQUEST_REJECTED {
            self.announce_unprocessed(&call, why);
        } else {
            self.news.events.push_back(Event::CallFailed { call: call.call, why });
        }
        self.announce_end();
        self.count_reset();
    }

    /// Returns the calls that the peer says it has not processed: those from this number on, and those that wait.
    pub(super) fn return_from(&mut self, number: u64) {
        // A GOAWAY of HTTP/3 has no code.
        let why = Undone::GoAway(Code::Http3(ErrorCode::H3_NO_ERROR));
        let beyond: Vec<u64> = self.calls.iter().map(|(its, _)| its).filter(|&its| its >= number).collect();
        for number in beyond {
            if let Some(call) = self.remove(number) {
                self.quic.stop(call.id, ErrorCode::H3_REQUEST_CANCELLED.0);
                if !matches!(call.upload, Upload::Done) {
                    self.quic.reset(call.id, ErrorCode::H3_REQUEST_CANCELLED.0);
                }
                self.sections.decoder().cancel(call.id.number());
                self.announce_unprocessed(&call, why);
            }
        }
        while let Some(waiting) = self.waiting.pop_front() {
            let call = waiting.call;
            if let Some(since) = waiting.since {
                self.news.add_stall(call, Awaited::Stream, self.now - since);
            }
            self.news.events.push_back(Event::CallReturned { call, why });
        }
    }

    /// Reports a call that the peer says it has not processed, unless its reply has begun.
    fn announce_unprocessed(&mut self, call: &Call, why: Undone) {
        let id = call.call;
        if matches!(call.reply, Reply::Head { .. }) {
            self.news.counts.unprocessed += 1;
            self.news.events.push_back(Event::CallReturned { call: id, why });
        } else {
            self.news.events.push_back(Event::CallFailed { call: id, why });
        }
    }

    /// Counts a frame that brings no call further.
    pub(super) fn count_idle(&mut self) -> Result<(), Violation> {
        self.count_idle_frames(1)
    }

    /// Counts frames, or instructions of header compression, that bring no call further.
    pub(super) fn count_idle_frames(&mut self, count: u64) -> Result<(), Violation> {
        match self.patience.frames_exceed(count, self.options.limits.idle_frames) {
            true => Err(Violation::of_connection(ErrorCode::H3_EXCESSIVE_LOAD, TOO_MANY_FRAMES)),
            false => Ok(()),
        }
    }

    /// Counts a stream that was reset by either side.
    fn count_reset(&mut self) {
        if self.patience.resets_exceed(self.options.limits.resets) {
            self.fail(Violation::of_connection(ErrorCode::H3_EXCESSIVE_LOAD, TOO_MANY_RESETS));
        }
    }

    /// Handles a violation that ends a stream or the connection.
    fn handle_violation(&mut self, id: StreamId, violation: Violation) {
        if violation.scope == Scope::Connection || !id.is_request() {
            self.fail(violation);
            return;
        }
        if let Some(call) = self.remove(id.index()) {
            self.abandon(&call, violation.code, violation.reason);
            let why = Undone::Rejected(violation.reason);
            self.news.events.push_back(Event::CallFailed { call: call.call, why });
            self.announce_end();
            self.count_reset();
        }
    }

    /// Fails the connection: tells the peer why, and the owner after the pending events. One that has failed, or that the
    /// owner has closed, stays as it is.
    pub(super) fn fail(&mut self, violation: Violation) {
        if self.phase == Phase::Closed {
            return;
        }
        let Violation { code, reason, .. } = violation;
        self.quic.close(self.now, code.0);
        self.phase = Phase::Closed;
        self.news.failure = Some(ProtocolError::Http3(ConnectionError { code, reason }));
    }
}

const UNEXPECTED_DATA: Violation = Violation::of_connection(
    ErrorCode::H3_FRAME_UNEXPECTED,
    "content that is not between header and trailers",
);

/// A reply that is malformed fails its stream.
///
/// <https://www.rfc-editor.org/rfc/rfc9114#section-4.1.2>
const fn malformed(reason: &'static str) -> Violation {
    Violation::of_stream(ErrorCode::H3_MESSAGE_ERROR, reason)
}

/// Returns whether a peer that ends an idle connection in this way says that something is wrong.
pub(super) fn is_fault(loss: &Loss) -> bool {
    match loss {
        Loss::Closed(code, _) => ErrorCode(*code) != ErrorCode::H3_NO_ERROR,
        Loss::Failed(_) | Loss::NoVersion => true,
        Loss::TimedOut | Loss::Reset | Loss::ByUs => false,
    }
}
