//! HTTP/1.0 and HTTP/1.1, the client's side (RFC 9112), with pipelining.
//!
//! ```text
//!             submit            poll_transmit / handle_written         poll_event(bytes)
//!   request ─────────► pending ─────────────────────────────► sent ────────────────────► reply done
//! ```
//!
//! Replies answer requests in order, so one queue holds every call from its submission to the end of its
//! reply. Bytes are read where they lie; only a header block that is cut across reads is copied.

mod framing;
mod head;
mod header_cache;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::VecDeque;

use self::framing::{Body, Progress};
use self::head::{Head, StatusLine, Wanted};
pub use self::header_cache::HeaderCache;
use crate::content::{Content, Streamed};
use crate::request::Request;
use crate::status::{SWITCHING_PROTOCOLS, is_interim};
use crate::{CallId, Event, Foreign, Full, HeaderBlock, ProtocolError, ReplyLimits, ReplySize, Reuse, Sent};

pub use self::head::{Fields, MAX_FIELDS, fields, values};

/// The number of bytes that [`Engine::poll_transmit`] appends, at most, beyond the current request.
const TRANSMIT_SIZE: usize = 64 * 1024;

/// The size from which a piece of a request is not copied: copying costs more than writing two pieces in one
/// system call.
const SHARED_SIZE: usize = 4096;

/// The beginnings of what a peer sends before it closes a connection on which it has waited too long for a request (RFC
/// 9110, section 15.5.9).
const IDLE_TIMEOUTS: [&[u8]; 2] = [b"HTTP/1.1 408", b"HTTP/1.0 408"];

/// The options of an engine.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The number of calls that may be outstanding at once (at least 1).
    pub pipeline: usize,
    /// True to hand out header blocks ([`Event::ReplyHead`]).
    pub header_blocks: bool,
    /// True to hand out bodies ([`Event::ReplyBody`]).
    pub bodies: bool,
    /// The replies whose bodies are handed out in any case, as streams ([`Event::StreamStarted`]).
    pub streamed: Streamed,
    /// True to keep the `Server-Timing` of the last reply ([`Engine::server_timing`]).
    pub server_timing: bool,
    /// True to keep the `Alt-Svc` of replies ([`Engine::take_alt_svc`]).
    pub alt_svc: bool,
    /// Bounds on replies.
    pub limits: ReplyLimits,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            pipeline: usize::MAX,
            header_blocks: false,
            bodies: false,
            streamed: Streamed::Never,
            server_timing: false,
            alt_svc: false,
            limits: ReplyLimits::default(),
        }
    }
}

/// The HTTP/1 of one connection.
///
/// See [`crate::Engine`] for how the methods work together.
#[derive(Debug)]
pub struct Engine {
    options: Options,
    /// Calls not yet answered, in order.
    pending: VecDeque<Pending>,
    /// The numbers of `pending` calls that `poll_sent` has reported as started, and as finished.
    started: usize,
    finished: usize,
    /// Numbers of request bytes since the start of the connection: submitted, handed out, taken by the
    /// transport.
    submitted: u64,
    transmitted: u64,
    written: u64,
    state: State,
    /// Events to report before any further byte is read.
    pending_events: PendingEvents,
    /// The beginning of an incomplete header block.
    partial: Vec<u8>,
    /// The `Server-Timing` of the last final reply, cut to a size.
    server_timing: Vec<u8>,
    /// The `Alt-Svc` of the last header block that had one, and whether that was taken.
    alt_svc: Vec<u8>,
    is_alt_svc_taken: bool,
}

#[derive(Debug)]
struct Pending {
    call: CallId,
    request: Request,
    /// The offsets of the request's beginning and end in the stream of request bytes.
    start: u64,
    end: u64,
}

/// The state of the reply to the first pending call.
///
/// ```text
///     ┌─ interim reply ─┐         ┌──── reply done, reusable ────┐
///     ▼                 │         ▼                              │
///   Head ───────────────┴──────► Body ───────────────────────────┤
///     ▲                                                          │
///     └──────────────────────────────────────────────────────────┴──► Closed
/// ```
#[derive(Debug)]
enum State {
    /// Its header block is incomplete.
    Head {
        /// The status line of the final reply has been reported.
        started: bool,
        /// The number of interim replies so far.
        interim: u32,
    },
    /// In its body.
    Body { body: Body, size: ReplySize, reuse: Reuse, hands_out: bool },
    /// What follows is that of a WebSocket, either way.
    Tunnel(Box<Tunnel>),
    /// Nothing more is expected of the peer; whatever arrives is ignored.
    Closed,
}

/// A WebSocket that was opened.
#[derive(Debug)]
struct Tunnel {
    size: ReplySize,
    /// Bytes for the server that the transport has not taken, perhaps preceded by some that it has.
    bytes: Vec<u8>,
    /// The offset of the first of `bytes` in the stream of request bytes.
    base: u64,
    stage: TunnelStage,
}

/// The life of a WebSocket, as HTTP/1 sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TunnelStage {
    Open,
    /// Both sides have closed it.
    Closed,
    /// That was reported.
    Reported,
}

/// The size of a buffer that is kept for what a WebSocket sends next. Thousands may be open and idle.
const TUNNEL_BUFFER: usize = 512;

const NEXT_REPLY: State = State::Head { started: false, interim: 0 };

#[derive(Debug, Default)]
struct PendingEvents {
    started: Option<u16>,
    head: Option<HeaderBlock>,
    stream: Option<Content>,
}

impl Tunnel {
    /// Returns the bytes from an offset on.
    fn bytes_from(&self, offset: u64) -> &[u8] {
        &self.bytes[(offset - self.base) as usize..]
    }

    /// Forgets the bytes before an offset, if those behind it are not more.
    fn forget(&mut self, offset: u64) {
        let count = (offset - self.base) as usize;
        if count == self.bytes.len() {
            self.bytes.clear();
            self.bytes.shrink_to(TUNNEL_BUFFER);
        } else if count > self.bytes.len() / 2 {
            self.bytes.drain(..count);
        } else {
            return;
        }
        self.base = offset;
    }
}

impl Engine {
    /// Makes a fresh connection.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            pending: VecDeque::new(),
            started: 0,
            finished: 0,
            submitted: 0,
            transmitted: 0,
            written: 0,
            state: NEXT_REPLY,
            pending_events: PendingEvents::default(),
            partial: Vec::new(),
            server_timing: Vec::new(),
            alt_svc: Vec::new(),
            is_alt_svc_taken: true,
        }
    }

    /// Returns how many further calls the connection takes now.
    #[must_use]
    pub fn capacity(&self) -> usize {
        match self.state {
            State::Closed | State::Tunnel(_) => 0,
            State::Head { .. } | State::Body { .. } => {
                self.options.pipeline.saturating_sub(self.pending.len())
            }
        }
    }

    /// Returns how many calls have no complete reply.
    #[must_use]
    pub fn pending_count(&self) -> usize {
        self.pending.len()
    }

    /// Returns whether the beginning of a header block has arrived but not its end.
    #[must_use]
    pub fn has_partial_head(&self) -> bool {
        !self.partial.is_empty()
    }

    /// Returns what the peer speaks, if the beginning of a reply that has arrived is none of HTTP/1.
    #[must_use]
    pub fn foreign(&self) -> Option<Foreign> {
        match self.state {
            State::Head { started: false, .. } if self.has_partial_head() => Foreign::of(&self.partial),
            _ => None,
        }
    }

    /// Returns the calls without a complete reply, in order.
    pub fn pending(&self) -> impl Iterator<Item = CallId> + '_ {
        self.pending.iter().map(|pending| pending.call)
    }

    /// Returns the call whose reply is due next.
    #[must_use]
    pub fn front(&self) -> Option<CallId> {
        self.pending.front().map(|pending| pending.call)
    }

    /// Adds a call at the end of the queue.
    ///
    /// # Errors
    /// [`Full`] when [`Engine::capacity`] is 0.
    pub fn submit(&mut self, call: CallId, request: Request) -> Result<(), Full> {
        if self.capacity() == 0 {
            return Err(Full);
        }
        let start = self.submitted;
        self.submitted += request.http1_size();
        self.pending.push_back(Pending { call, request, start, end: self.submitted });
        Ok(())
    }

    /// Appends request bytes that are due; returns whether it appended any. Bounded: call again once the
    /// transport took them.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) -> bool {
        self.transmit(out, |_| true)
    }

    /// As [`Engine::poll_transmit`], up to the first request that is not safe.
    pub fn poll_transmit_safe(&mut self, out: &mut Vec<u8>) -> bool {
        self.transmit(out, Request::is_safe)
    }

    /// Returns how many pending requests have been handed out, at least in part; the last `unused` bytes do
    /// not count.
    #[must_use]
    pub fn transmitted_count(&self, unused: usize) -> usize {
        let used = self.transmitted - unused as u64;
        self.pending.partition_point(|pending| pending.start < used)
    }

    /// Appends the bytes of requests that `may` go; returns whether it appended any.
    fn transmit(&mut self, out: &mut Vec<u8>, may: impl Fn(&Request) -> bool) -> bool {
        if self.transmitted == self.submitted || matches!(self.state, State::Closed) {
            return false;
        }
        if let State::Tunnel(tunnel) = &self.state {
            out.extend_from_slice(tunnel.bytes_from(self.transmitted));
            self.transmitted = self.submitted;
            return true;
        }
        let size = out.len();
        let first = self.pending.partition_point(|pending| pending.end <= self.transmitted);
        let mut room = TRANSMIT_SIZE;
        for pending in self.pending.range(first..) {
            if !may(&pending.request) {
                break;
            }
            while room > 0 && self.transmitted < pending.end {
                let rest = pending.request.http1_piece(self.transmitted - pending.start);
                let taken = rest.len().min(room);
                out.extend_from_slice(&rest[..taken]);
                self.transmitted += taken as u64;
                room -= taken;
            }
            if room == 0 {
                break;
            }
        }
        out.len() > size
    }

    /// As [`Engine::poll_transmit`], but copies no more than it must: returns a last or large piece, to be
    /// sent after what it appended. Nothing is due if both are empty.
    #[inline]
    pub fn poll_transmit_shared(&mut self, out: &mut Vec<u8>) -> &[u8] {
        if self.transmitted == self.submitted || matches!(self.state, State::Closed) {
            return &[];
        }
        self.transmit_shared(out)
    }

    fn transmit_shared(&mut self, out: &mut Vec<u8>) -> &[u8] {
        if let State::Tunnel(tunnel) = &self.state {
            return tunnel.bytes_from(std::mem::replace(&mut self.transmitted, self.submitted));
        }
        let mut index = self.pending.partition_point(|pending| pending.end <= self.transmitted);
        while let Some(pending) = self.pending.get(index) {
            let offset = self.transmitted - pending.start;
            let piece = pending.request.http1_piece(offset);
            self.transmitted += piece.len() as u64;
            let is_alone = out.is_empty() && self.transmitted == self.submitted;
            if is_alone || piece.len() >= SHARED_SIZE {
                return self.pending[index].request.http1_piece(offset);
            }
            out.extend_from_slice(piece);
            if self.transmitted == pending.end {
                index += 1;
            }
            if out.len() >= TRANSMIT_SIZE {
                break;
            }
        }
        &[]
    }

    /// Handles a transport that takes no more for now: hands out again what was handed out and not written.
    pub fn handle_blocked(&mut self) {
        self.transmitted = self.written;
    }

    /// Forgets that anything was sent: the peer has not looked at it, and every pending request is sent
    /// again. Only before the first byte of a reply.
    pub fn rewind(&mut self) {
        let nothing_came =
            matches!(self.state, State::Head { started: false, interim: 0 }) && self.partial.is_empty();
        assert!(nothing_came, "a peer that answers has looked at the requests");
        let start = self.pending.front().map_or(self.submitted, |front| front.start);
        (self.started, self.finished) = (0, 0);
        (self.transmitted, self.written) = (start, start);
    }

    /// Records that the transport took the next `count` bytes of what [`Engine::poll_transmit`] gave.
    pub fn handle_written(&mut self, count: usize) {
        self.written += count as u64;
        debug_assert!(self.written <= self.transmitted, "only what was handed out can be written");
        if let State::Tunnel(tunnel) = &mut self.state {
            tunnel.forget(self.written);
        }
    }

    /// Sends further bytes to the server of a WebSocket that was opened. They are dropped if there is none.
    pub fn send(&mut self, bytes: &[u8]) {
        if let State::Tunnel(tunnel) = &mut self.state {
            tunnel.bytes.extend_from_slice(bytes);
            self.submitted += bytes.len() as u64;
        }
    }

    /// Returns the number of bytes that the transport has not taken.
    #[must_use]
    pub fn unsent(&self) -> usize {
        (self.submitted - self.written) as usize
    }

    /// Completes the reply that a WebSocket is, now that both sides have closed it: [`Engine::poll_event`] reports that.
    pub fn finish(&mut self) {
        if let State::Tunnel(tunnel) = &mut self.state {
            tunnel.stage = tunnel.stage.max(TunnelStage::Closed);
        }
    }

    /// Returns the last bytes for the server before we close the connection: what is left of a WebSocket's.
    #[must_use]
    pub fn goodbye(&self) -> &[u8] {
        match &self.state {
            State::Tunnel(tunnel) => tunnel.bytes_from(self.transmitted),
            State::Head { .. } | State::Body { .. } | State::Closed => &[],
        }
    }

    /// Reports the requests that the last [`Engine::handle_written`] began or completed, in order.
    pub fn poll_sent(&mut self) -> Option<Sent> {
        if self.finished < self.started {
            let next = &self.pending[self.finished];
            if next.end <= self.written {
                self.finished += 1;
                return Some(Sent::Finished(next.call));
            }
            return None;
        }
        let next = self.pending.get(self.started)?;
        (next.start < self.written).then(|| {
            self.started += 1;
            Sent::Started(next.call)
        })
    }

    /// Returns the value of `Server-Timing` in the last reply whose header block is complete; several are
    /// joined by commas. Empty without one, or if the options do not ask for it.
    #[must_use]
    pub fn server_timing(&self) -> &[u8] {
        &self.server_timing
    }

    /// Returns the value of `Alt-Svc` in the header block of the last reply, once, from the end of the block on; several are joined by
    /// commas. Empty without one, or if the options do not ask for it.
    pub fn take_alt_svc(&mut self) -> &[u8] {
        if std::mem::replace(&mut self.is_alt_svc_taken, true) { &[] } else { &self.alt_svc }
    }

    /// Returns whether the transport has not taken all submitted bytes.
    #[must_use]
    pub fn wants_write(&self) -> bool {
        self.written < self.submitted
    }

    /// Reads from `input`, which it shortens by what it used, up to the next event. `None` means that all of
    /// `input` was used and more is needed. `header_cache` is shared by all connections with the same
    /// options.
    ///
    /// # Errors
    /// When the peer breaks the protocol; the connection is then of no further use.
    pub fn poll_event<'a>(
        &mut self,
        input: &mut &'a [u8],
        header_cache: &mut HeaderCache,
    ) -> Result<Option<Event<'a>>, ProtocolError> {
        loop {
            if let Some(event) = self.pop_pending_event() {
                return Ok(Some(event));
            }
            match &mut self.state {
                State::Closed => {
                    *input = &[];
                    return Ok(None);
                }
                State::Tunnel(tunnel) => match tunnel.stage {
                    TunnelStage::Open if input.is_empty() => return Ok(None),
                    TunnelStage::Open => {
                        let data = std::mem::take(input);
                        tunnel.size.content += data.len() as u64;
                        let call = self.pending.front().expect("a WebSocket belongs to a call").call;
                        return Ok(Some(Event::ReplyBody { call, data: Cow::Borrowed(data) }));
                    }
                    TunnelStage::Closed => return Ok(Some(self.finish_reply())),
                    TunnelStage::Reported => {
                        *input = &[];
                        return Ok(None);
                    }
                },
                State::Head { .. } => {
                    if input.is_empty() {
                        return Ok(None);
                    }
                    if self.pending.front().is_none_or(|front| front.start >= self.written) {
                        return self.read_idle(input);
                    }
                    if let Some(event) = self.read_known_head(input, header_cache)? {
                        return Ok(Some(event));
                    }
                    self.read_head(input, header_cache)?;
                }
                State::Body { body, size, hands_out, .. } => {
                    match body.advance(input, size, &self.options.limits)? {
                        Progress::NeedMore => return Ok(None),
                        Progress::Data(data) => {
                            if *hands_out && !data.is_empty() {
                                let call = self.pending.front().expect("a body belongs to a call").call;
                                return Ok(Some(Event::ReplyBody { call, data: Cow::Borrowed(data) }));
                            }
                        }
                        Progress::Done => return Ok(Some(self.finish_reply())),
                    }
                }
            }
        }
    }

    /// Returns how many of the next bytes need not be read, as they are content that nobody asked for.
    #[must_use]
    pub fn skippable(&self) -> u64 {
        match &self.state {
            State::Body { body, hands_out: false, .. } => body.content_ahead(),
            State::Head { .. } | State::Body { .. } | State::Tunnel(_) | State::Closed => 0,
        }
    }

    /// `count` bytes arrived that need not be read, at most those that are [`skippable`](Engine::skippable).
    /// Then call [`Engine::poll_event`].
    pub fn handle_skipped(&mut self, count: u64) {
        if let State::Body { body, size, .. } = &mut self.state {
            body.skip(count, size);
        }
    }

    /// Returns whether the current reply lasts until the end of the connection.
    #[must_use]
    pub fn ends_with_connection(&self) -> bool {
        matches!(self.state, State::Body { body: Body::UntilClose, .. })
    }

    /// Handles the end of the peer's bytes. `Some` completes a reply that lasts until the end of the connection;
    /// `None` means that nothing was due. Afterwards the connection is of no further use.
    ///
    /// # Errors
    /// [`ProtocolError::Truncated`] when a reply was due or incomplete.
    pub fn handle_eof(&mut self) -> Result<Option<Event<'static>>, ProtocolError> {
        match &mut self.state {
            State::Body { body: Body::UntilClose, reuse, .. } => {
                *reuse = Reuse::Close;
                Ok(Some(self.finish_reply()))
            }
            State::Closed => Ok(None),
            State::Head { .. } if self.pending.is_empty() => {
                let is_idle = self.partial.is_empty();
                self.state = State::Closed;
                if is_idle { Ok(None) } else { Err(ProtocolError::Unsolicited) }
            }
            State::Tunnel(tunnel) if tunnel.stage == TunnelStage::Closed => Ok(Some(self.finish_reply())),
            State::Tunnel(tunnel) if tunnel.stage == TunnelStage::Reported => Ok(None),
            State::Head { .. } | State::Body { .. } | State::Tunnel(_) => {
                Err(self.foreign().map_or(ProtocolError::Truncated, ProtocolError::Foreign))
            }
        }
    }

    /// Ends the current reply, if it is that of this call, as if it was complete, and the connection with it.
    pub fn end_early(&mut self, call: CallId) -> Option<Event<'static>> {
        let is_first = self.pending.front().is_some_and(|pending| pending.call == call);
        match &mut self.state {
            State::Body { reuse, .. } if is_first => {
                *reuse = Reuse::Close;
                Some(self.finish_reply())
            }
            _ => None,
        }
    }

    fn pop_pending_event(&mut self) -> Option<Event<'static>> {
        let pending_events = &mut self.pending_events;
        if pending_events.started.is_none()
            && pending_events.head.is_none()
            && pending_events.stream.is_none()
        {
            return None;
        }
        let call = self.pending.front().expect("events are pending_events about a call").call;
        if let Some(status) = pending_events.started.take() {
            return Some(Event::ReplyStarted { call, status });
        }
        if let Some(head) = pending_events.head.take() {
            return Some(Event::ReplyHead { call, head });
        }
        pending_events.stream.take().map(|content| Event::StreamStarted { call, content })
    }

    /// Reads bytes that arrive while no reply is due. Line ends mean nothing, and a 408 that the peer closes the connection.
    #[cold]
    fn read_idle(&mut self, input: &mut &[u8]) -> Result<Option<Event<'static>>, ProtocolError> {
        if self.partial.is_empty() {
            *input = &input[head::leading_line_ends(input)..];
        }
        let room = IDLE_TIMEOUTS[0].len() - self.partial.len();
        self.partial.extend_from_slice(&input[..input.len().min(room)]);
        *input = &[];
        if !IDLE_TIMEOUTS.iter().any(|beginning| beginning.starts_with(&self.partial)) {
            return Err(ProtocolError::Unsolicited);
        }
        if self.partial.len() < IDLE_TIMEOUTS[0].len() {
            return Ok(None);
        }
        self.partial = Vec::new();
        self.state = State::Closed;
        Ok(Some(Event::Drained))
    }

    /// Returns whether the call whose reply is due has asked for another protocol.
    fn has_asked_to_switch(&self) -> bool {
        let Some(front) = self.pending.front() else { return false };
        let names_one =
            || front.request.header_fields().any(|(name, _)| name.eq_ignore_ascii_case(b"upgrade"));
        front.request.opens_websocket() || names_one()
    }

    /// Reads on in a header block: up to what is to be reported, past an interim reply, or to the end of `input`.
    #[inline(never)]
    fn read_head(&mut self, input: &mut &[u8], header_cache: &mut HeaderCache) -> Result<(), ProtocolError> {
        // The block lies in `input`, unless its beginning came before.
        let known = self.partial.len();
        let limit = self.options.limits.head_size;
        let mut block = *input;
        if known > 0 {
            let room = limit.saturating_sub(known) + 1;
            self.partial.extend_from_slice(&input[..input.len().min(room)]);
            block = &self.partial;
        }
        let State::Head { started, interim } = &mut self.state else {
            unreachable!("read_head is called in the head only")
        };
        // The response time ends with the status line, so that is reported first, whatever follows.
        if !*started && let Some((line, end)) = head::first_line(block) {
            if end > limit {
                return Err(ProtocolError::HeadTooLarge { limit });
            }
            let StatusLine { status, .. } = match StatusLine::parse(line) {
                Err(error) => match Foreign::of(block).filter(Foreign::is_certain) {
                    Some(foreign) => return Err(foreign.into()),
                    None => return Err(error),
                },
                Ok(line) => line,
            };
            if !is_interim(status) {
                *started = true;
                if status == SWITCHING_PROTOCOLS && !self.has_asked_to_switch() {
                    return Err(ProtocolError::Unasked101);
                }
                self.pending_events.started = Some(status);
                self.partial.truncate(known);
                return Ok(());
            }
        }
        // The end may straddle the cut: search the last bytes that were kept again.
        let Some(end) = head::find_end(block, known.saturating_sub(3)) else {
            if block.len() > limit {
                return Err(ProtocolError::HeadTooLarge { limit });
            }
            if !*started && let Some(foreign) = Foreign::of(block).filter(Foreign::is_certain) {
                return Err(foreign.into());
            }
            if known == 0 {
                self.partial.extend_from_slice(input);
            }
            *input = &[];
            return Ok(());
        };
        if end > limit {
            return Err(ProtocolError::HeadTooLarge { limit });
        }
        *input = &input[end - known..];
        let block = &block[..end];
        self.server_timing.clear();
        self.alt_svc.clear();
        let wanted = Wanted {
            server_timing: self.options.server_timing.then_some(&mut self.server_timing),
            alt_svc: self.options.alt_svc.then_some(&mut self.alt_svc),
        };
        let head = Head::parse(block, self.options.limits.fields, wanted)?;
        self.is_alt_svc_taken = self.alt_svc.is_empty();
        if head.is_interim() {
            // What follows may be a block that is known, which has none.
            self.is_alt_svc_taken = true;
            *interim += 1;
            let limit = self.options.limits.interim_replies;
            if *interim > limit {
                return Err(ProtocolError::TooManyInterim { limit });
            }
        } else {
            let front = self.pending.front().expect("the caller checked that a reply is due");
            let size = ReplySize { header: end as u64, ..ReplySize::default() };
            let is_opened = front.request.opens_websocket() && head.status == SWITCHING_PROTOCOLS;
            if self.options.header_blocks || is_opened {
                self.pending_events.head = Some(HeaderBlock::marked(block, head.marks));
            }
            if is_opened {
                if front.end > self.written || self.pending.len() > 1 {
                    // It speaks before it has heard the request, or the calls behind it can have no reply.
                    return Err(ProtocolError::Unsolicited);
                }
                self.pending_events.stream = Some(head.content);
                let tunnel =
                    Tunnel { size, bytes: Vec::new(), base: self.submitted, stage: TunnelStage::Open };
                self.state = State::Tunnel(Box::new(tunnel));
                self.partial = Vec::new();
                return Ok(());
            }
            let forbids_content = front.request.forbids_content(head.status);
            let body = head.body(forbids_content)?;
            let is_tunnel = forbids_content && front.request.opens_tunnel(head.status);
            let reuse = if is_tunnel { Reuse::Close } else { head.reuse };
            let is_streamed = self.options.streamed.includes(head.content);
            self.pending_events.stream = is_streamed.then_some(head.content);
            let hands_out = self.options.bodies || is_streamed;
            self.state = State::Body { body, size, reuse, hands_out };
            header_cache.keep(block, head);
        }
        self.partial = Vec::new();
        Ok(())
    }

    /// Reads a cached header block, if `input` begins with it.
    fn read_known_head(
        &mut self,
        input: &mut &[u8],
        header_cache: &mut HeaderCache,
    ) -> Result<Option<Event<'static>>, ProtocolError> {
        if !self.partial.is_empty() || !matches!(self.state, State::Head { started: false, .. }) {
            return Ok(None);
        }
        let Some((block, head)) = header_cache.find(input) else { return Ok(None) };
        *input = &input[block.len()..];
        self.server_timing.clear();
        let front = self.pending.front().expect("the caller checked that a reply is due");
        let size = ReplySize { header: block.len() as u64, ..ReplySize::default() };
        let event = Event::ReplyStarted { call: front.call, status: head.status };
        let forbids_content = front.request.forbids_content(head.status);
        let body = head.body(forbids_content)?;
        let is_tunnel = forbids_content && front.request.opens_tunnel(head.status);
        let reuse = if is_tunnel { Reuse::Close } else { head.reuse };
        let is_streamed = self.options.streamed.includes(head.content);
        self.pending_events.stream = is_streamed.then_some(head.content);
        let hands_out = self.options.bodies || is_streamed;
        self.state = State::Body { body, size, reuse, hands_out };
        self.pending_events.head = if self.options.header_blocks { header_cache.block() } else { None };
        Ok(Some(event))
    }

    fn finish_reply(&mut self) -> Event<'static> {
        let (size, reuse) = match &mut self.state {
            State::Body { size, reuse, .. } => (*size, *reuse),
            State::Tunnel(tunnel) => {
                tunnel.stage = TunnelStage::Reported;
                (tunnel.size, Reuse::Close)
            }
            State::Head { .. } | State::Closed => unreachable!("a reply ends in its body"),
        };
        let done = self.pending.pop_front().expect("a reply belongs to a call");
        // After a reply that precedes the end of its request, the rest of the request is in the way.
        let reuse = if done.end > self.written { Reuse::Close } else { reuse };
        self.started = self.started.saturating_sub(1);
        self.finished = self.finished.saturating_sub(1);
        if !matches!(self.state, State::Tunnel(_)) {
            self.state = match reuse {
                Reuse::Keep => NEXT_REPLY,
                Reuse::Close => State::Closed,
            };
        }
        Event::ReplyDone { call: done.call, size, reuse }
    }
}
