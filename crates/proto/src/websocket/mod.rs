//! WebSockets as values (RFC 6455), of either side: bytes in, messages out, and the other way round.
//!
//! ```text
//!   Opening ──► request      header block ──► check ──► Accepted          the opening handshake, in HTTP
//!                                                          │
//!   send, ping, close ──► Connection ──► take_output       ▼              then frames
//!               bytes ──► poll_event ──► Message, Ping, Pong, Closed
//! ```

pub mod close;
mod deflate;
mod frame;
mod handshake;
#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;

use thiserror::Error;

use self::deflate::Codec;
pub use self::deflate::Deflate;
use self::frame::{CONTROL_SIZE_MAX, HEADER_SIZE_MAX, Header, Opcode, apply_mask};
pub use self::handshake::{Accepted, Key, Offer, Refusal, answer_offer};

/// The options of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Our side.
    pub role: Role,
    /// The maximum size in bytes of a message that comes, decompressed.
    pub message_size: usize,
    /// The compression that both sides agreed on; `None` for none.
    pub deflate: Option<Deflate>,
    /// The size in bytes beyond which messages are sent in fragments; `None` for any.
    pub fragment: Option<NonZeroUsize>,
}

/// A side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The client, which masks what it sends.
    Client {
        /// The seed of its masks.
        seed: u64,
    },
    /// The server.
    Server,
}

/// A kind of message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Text, which is UTF-8.
    Text,
    /// Any bytes.
    Binary,
}

/// Something that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A message.
    Message {
        /// Its kind.
        kind: MessageKind,
        /// All of it, decompressed.
        data: &'a [u8],
    },
    /// A ping, which is answered.
    Ping,
    /// A pong, with its payload.
    Pong(&'a [u8]),
    /// The peer closes, or agrees to our close. Nothing more comes.
    Closed {
        /// Its code, if it has one.
        code: Option<u16>,
        /// Its reason.
        reason: &'a str,
    },
}

/// The rule that a peer broke. The connection is then of no further use; the close that tells the peer why is there to be
/// sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Violation {
    /// An opcode that stands for nothing.
    #[error("a frame with a reserved opcode")]
    Opcode,
    /// A bit that stands for nothing.
    #[error("a frame with a reserved bit")]
    ReservedBits,
    /// A length in more bytes than it needs.
    #[error("a frame whose length is not in its shortest form")]
    LongLength,
    /// A length beyond 63 bits.
    #[error("a frame whose length has its top bit set")]
    NegativeLength,
    /// A control frame beyond 125 bytes.
    #[error("a control frame of more than 125 bytes")]
    LongControl,
    /// A control frame that is not the last of its message.
    #[error("a fragmented control frame")]
    FragmentedControl,
    /// A frame of a server that is masked.
    #[error("a masked frame from a server")]
    Masked,
    /// A frame of a client that is not masked.
    #[error("an unmasked frame from a client")]
    Unmasked,
    /// A continuation of nothing.
    #[error("a frame that continues no message")]
    Continuation,
    /// A message within another.
    #[error("a message within another")]
    Interleaved,
    /// Compression that was not agreed on, or of a frame that cannot have it.
    #[error("a compressed frame where none may be")]
    NotAgreed,
    /// Compressed bytes that are malformed.
    #[error("a malformed compressed message")]
    Compressed,
    /// Text that is no UTF-8.
    #[error("text that is not UTF-8")]
    Utf8,
    /// A message beyond the limit.
    #[error("a message of more than {limit} bytes")]
    LongMessage {
        /// The limit in bytes.
        limit: usize,
    },
    /// A close with half a code.
    #[error("a close frame with a payload of one byte")]
    ClosePayload,
    /// A code that nobody may send.
    #[error("a close frame with a code that may not be sent")]
    CloseCode,
    /// More pings than can be answered.
    #[error("pings while the answers to many are not taken")]
    Flood,
}

impl Violation {
    /// The code that tells the peer (RFC 6455, section 7.4.1).
    #[must_use]
    pub fn code(self) -> u16 {
        match self {
            Self::Utf8 => 1007,
            Self::LongMessage { .. } => 1009,
            Self::Flood => 1008,
            _ => 1002,
        }
    }
}

/// The size of the answers to pings that wait to be sent, at most.
const OUTPUT_MAX: usize = 64 * 1024;

/// The size of a buffer that is kept for the next message. Thousands of connections may be idle.
const BUFFER_KEPT: usize = 4096;

/// A WebSocket that is open.
#[derive(Debug)]
pub struct Connection {
    options: Options,
    /// The number of frames sent, which their masks follow from.
    frames_sent: u64,
    /// Made when both sides compress.
    codec: Option<Box<Codec>>,
    /// The beginning of a header that is cut.
    partial: Vec<u8>,
    frame: Option<Frame>,
    message: Message,
    /// The payload of the control frame that is being read.
    control: Vec<u8>,
    output: Vec<u8>,
    has_sent_close: bool,
    has_received_close: bool,
}

/// A frame whose payload is being read.
#[derive(Clone, Copy, Debug)]
struct Frame {
    header: Header,
    /// The number of bytes of it that were read.
    read: u64,
}

/// A message that is being read.
#[derive(Debug, Default)]
struct Message {
    /// Its kind, once it has begun.
    kind: Option<MessageKind>,
    is_compressed: bool,
    /// What is there of it, decompressed. After its end it stays until the next one.
    data: Vec<u8>,
    /// The number of bytes of `data` that are UTF-8.
    checked: usize,
    is_complete: bool,
}

/// A step in reading.
enum Step<'i> {
    /// More is needed.
    NeedMore,
    /// There is nothing to tell.
    GoOn,
    /// A message that lies in the input.
    Whole(MessageKind, &'i [u8]),
    /// The message that was assembled.
    Message(MessageKind),
    Ping,
    /// The payload is in `control`.
    Pong,
    /// The same.
    Closed,
}

/// The number of compressed bytes that are taken at once: they stand for half a megabyte at most.
const COMPRESSED_STEP: usize = 512;

impl Connection {
    /// Returns the number of bytes to hand to [`Connection::poll_event`] at once, if each call is to do bounded work.
    #[must_use]
    pub fn step_size(&self) -> usize {
        if self.codec.is_some() { COMPRESSED_STEP } else { usize::MAX }
    }

    /// Returns the number of bytes that were decompressed.
    #[must_use]
    pub fn decompressed(&self) -> u64 {
        self.codec.as_ref().map_or(0, |codec| codec.decompressed)
    }

    /// Makes a connection whose opening handshake is complete.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            options,
            frames_sent: 0,
            codec: options.deflate.map(|agreed| Box::new(Codec::new(agreed))),
            partial: Vec::new(),
            frame: None,
            message: Message::default(),
            control: Vec::new(),
            output: Vec::new(),
            has_sent_close: false,
            has_received_close: false,
        }
    }

    /// Reads from `input`, which it shortens by what it used, up to the next event. `None` means that all of `input` was
    /// used and more is needed. After a close of the peer, the rest is ignored.
    ///
    /// # Errors
    /// When the peer breaks a rule.
    pub fn poll_event<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Event<'a>>, Violation> {
        self.message.forget_complete();
        let step = loop {
            match self.advance(input) {
                Ok(Step::GoOn) => {}
                Ok(step) => break step,
                Err(violation) => {
                    self.close(violation.code(), "");
                    return Err(violation);
                }
            }
        };
        Ok(match step {
            Step::NeedMore | Step::GoOn => None,
            Step::Whole(kind, data) => Some(Event::Message { kind, data }),
            Step::Message(kind) => Some(Event::Message { kind, data: &self.message.data }),
            Step::Ping => Some(Event::Ping),
            Step::Pong => Some(Event::Pong(&self.control)),
            Step::Closed => {
                let (code, reason) = close::parse(&self.control).expect("it was read before");
                Some(Event::Closed { code, reason })
            }
        })
    }

    fn advance<'i>(&mut self, input: &mut &'i [u8]) -> Result<Step<'i>, Violation> {
        if self.has_received_close {
            *input = &[];
            return Ok(Step::NeedMore);
        }
        let frame = match self.frame {
            Some(frame) => frame,
            None => match self.read_header(input)? {
                Some(header) => Frame { header, read: 0 },
                None => return Ok(Step::NeedMore),
            },
        };
        let Header { length, mask, opcode, is_last, .. } = frame.header;
        let rest = length - frame.read;
        let count = usize::try_from(rest).unwrap_or(usize::MAX).min(input.len());
        let (bytes, behind) = input.split_at(count);
        *input = behind;
        let is_whole = frame.read == 0 && count as u64 == length;
        let is_end = count as u64 == rest;
        self.frame = (!is_end).then_some(Frame { read: frame.read + count as u64, ..frame });
        if opcode.is_control() {
            if frame.read == 0 {
                self.control.clear();
            }
            let start = self.control.len();
            self.control.extend_from_slice(bytes);
            if let Some(mask) = mask {
                apply_mask(&mut self.control[start..], mask, frame.read);
            }
            return if is_end { self.end_control(opcode) } else { Ok(Step::NeedMore) };
        }
        if let Some(kind) = self.message.kind
            && is_whole
            && is_last
            && mask.is_none()
            && !self.message.is_compressed
            && self.message.data.is_empty()
        {
            self.message.kind = None;
            if kind == MessageKind::Text && std::str::from_utf8(bytes).is_err() {
                return Err(Violation::Utf8);
            }
            return Ok(Step::Whole(kind, bytes));
        }
        self.add_to_message(bytes, mask, frame.read, is_end && is_last)?;
        match (is_end, is_last) {
            (true, true) => self.end_message(),
            (true, false) => Ok(Step::GoOn),
            (false, _) => Ok(Step::NeedMore),
        }
    }

    /// Reads the header of a frame, which may be cut, and begins its message.
    fn read_header(&mut self, input: &mut &[u8]) -> Result<Option<Header>, Violation> {
        let known = self.partial.len();
        let parsed = if known == 0 {
            Header::parse(input)?
        } else {
            let room = HEADER_SIZE_MAX - known;
            self.partial.extend_from_slice(&input[..input.len().min(room)]);
            Header::parse(&self.partial)?
        };
        let Some((header, size)) = parsed else {
            if known == 0 {
                self.partial.extend_from_slice(input);
            }
            *input = &[];
            return Ok(None);
        };
        self.partial = Vec::new();
        *input = &input[size - known..];
        self.check(&header)?;
        if !header.opcode.is_control() && header.opcode != Opcode::Continuation {
            let kind = if header.opcode == Opcode::Text { MessageKind::Text } else { MessageKind::Binary };
            self.message.kind = Some(kind);
            self.message.is_compressed = header.is_compressed;
        }
        Ok(Some(header))
    }

    /// Checks that this frame may come now.
    fn check(&self, header: &Header) -> Result<(), Violation> {
        match (self.options.role, header.mask) {
            (Role::Client { .. }, Some(_)) => return Err(Violation::Masked),
            (Role::Server, None) => return Err(Violation::Unmasked),
            _ => {}
        }
        let begins = matches!(header.opcode, Opcode::Text | Opcode::Binary);
        if header.is_compressed && (!begins || self.codec.is_none()) {
            return Err(Violation::NotAgreed);
        }
        match (header.opcode, self.message.kind) {
            (Opcode::Continuation, None) => Err(Violation::Continuation),
            (Opcode::Text | Opcode::Binary, Some(_)) => Err(Violation::Interleaved),
            _ if header.opcode.is_control() => Ok(()),
            // What is too large by its length alone is not waited for.
            _ if !self.fits(header) => Err(Violation::LongMessage { limit: self.options.message_size }),
            _ => Ok(()),
        }
    }

    /// Returns whether the message with this frame is not too large, as far as that is known without reading it.
    fn fits(&self, header: &Header) -> bool {
        let is_compressed = header.is_compressed || self.message.kind.is_some() && self.message.is_compressed;
        let known = if is_compressed { 0 } else { self.message.size() as u64 };
        known.saturating_add(header.length) <= self.options.message_size as u64
    }

    /// Adds bytes to the message. `offset`: that of the first of them in their frame.
    fn add_to_message(
        &mut self,
        bytes: &[u8],
        mask: Option<[u8; 4]>,
        offset: u64,
        is_last: bool,
    ) -> Result<(), Violation> {
        let limit = self.options.message_size;
        let message = &mut self.message;
        if !message.is_compressed {
            let start = message.data.len();
            message.data.extend_from_slice(bytes);
            if let Some(mask) = mask {
                apply_mask(&mut message.data[start..], mask, offset);
            }
        } else if let Some(codec) = &mut self.codec {
            match mask {
                None => codec.decompress(bytes, is_last, &mut message.data, limit)?,
                Some(mask) => {
                    let mut plain = bytes.to_vec();
                    apply_mask(&mut plain, mask, offset);
                    codec.decompress(&plain, is_last, &mut message.data, limit)?;
                }
            }
        }
        message.check_text(is_last)
    }

    fn end_message(&mut self) -> Result<Step<'static>, Violation> {
        let message = &mut self.message;
        let kind = message.kind.take().expect("a frame belongs to a message");
        if kind == MessageKind::Text && message.checked < message.data.len() {
            return Err(Violation::Utf8);
        }
        message.is_complete = true;
        Ok(Step::Message(kind))
    }

    fn end_control(&mut self, opcode: Opcode) -> Result<Step<'static>, Violation> {
        match opcode {
            Opcode::Ping => {
                if self.output.len() > OUTPUT_MAX {
                    return Err(Violation::Flood);
                }
                let payload = std::mem::take(&mut self.control);
                self.put_frame(Opcode::Pong, &payload);
                self.control = payload;
                Ok(Step::Ping)
            }
            Opcode::Close => {
                let (code, _) = close::parse(&self.control)?;
                self.has_received_close = true;
                // The answer repeats the code (section 5.5.1).
                match code {
                    Some(code) => self.close(code, ""),
                    None => self.put_close(&[]),
                }
                Ok(Step::Closed)
            }
            _ => Ok(Step::Pong),
        }
    }

    /// Sends a message: in fragments and compressed, as the options say. Nothing is sent after a close.
    pub fn send(&mut self, kind: MessageKind, data: &[u8]) {
        if self.has_sent_close {
            return;
        }
        let mut compressed = Vec::new();
        let (data, is_compressed) = match &mut self.codec {
            Some(codec) => {
                codec.compress(data, &mut compressed);
                (&compressed[..], true)
            }
            None => (data, false),
        };
        let size = self.options.fragment.map_or(usize::MAX, NonZeroUsize::get);
        let mut opcode = if kind == MessageKind::Text { Opcode::Text } else { Opcode::Binary };
        let mut rest = data;
        loop {
            let (piece, behind) = rest.split_at(rest.len().min(size));
            let is_compressed = is_compressed && opcode != Opcode::Continuation;
            self.put(opcode, piece, behind.is_empty(), is_compressed);
            (rest, opcode) = (behind, Opcode::Continuation);
            if rest.is_empty() {
                break;
            }
        }
    }

    /// Sends a ping with this payload, of which at most 125 bytes are sent.
    pub fn ping(&mut self, payload: &[u8]) {
        if !self.has_sent_close {
            self.put_frame(Opcode::Ping, payload);
        }
    }

    /// Closes it, or agrees to the peer's close. Nothing is sent afterwards.
    pub fn close(&mut self, code: u16, reason: &str) {
        let mut end = reason.len().min(CONTROL_SIZE_MAX - 2);
        while !reason.is_char_boundary(end) {
            end -= 1;
        }
        let payload = [&code.to_be_bytes()[..], &reason.as_bytes()[..end]].concat();
        self.put_close(&payload);
    }

    fn put_close(&mut self, payload: &[u8]) {
        if !std::mem::replace(&mut self.has_sent_close, true) {
            self.put_frame(Opcode::Close, payload);
        }
    }

    fn put_frame(&mut self, opcode: Opcode, payload: &[u8]) {
        self.put(opcode, &payload[..payload.len().min(CONTROL_SIZE_MAX)], true, false);
    }

    fn put(&mut self, opcode: Opcode, payload: &[u8], is_last: bool, is_compressed: bool) {
        let mask = match self.options.role {
            Role::Client { seed } => Some(mask_of(seed, self.frames_sent)),
            Role::Server => None,
        };
        self.frames_sent += 1;
        let length = payload.len() as u64;
        Header { is_last, is_compressed, opcode, mask, length }.write(&mut self.output);
        let start = self.output.len();
        self.output.extend_from_slice(payload);
        if let Some(mask) = mask {
            apply_mask(&mut self.output[start..], mask, 0);
        }
    }

    /// Moves the bytes that are due to go out to the end of `out`.
    pub fn take_output(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.output);
        self.output.shrink_to(BUFFER_KEPT);
    }

    /// Returns whether bytes are due to go out.
    #[must_use]
    pub fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Returns whether we have closed it, or agreed to the peer's close.
    #[must_use]
    pub fn has_sent_close(&self) -> bool {
        self.has_sent_close
    }

    /// Returns whether both sides have closed it.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.has_sent_close && self.has_received_close
    }
}

impl Message {
    /// Forgets a message that was handed out.
    fn forget_complete(&mut self) {
        if std::mem::take(&mut self.is_complete) {
            self.data.clear();
            self.data.shrink_to(BUFFER_KEPT);
            self.checked = 0;
        }
    }

    /// The size of what is there of a message that has begun.
    fn size(&self) -> usize {
        if self.kind.is_some() { self.data.len() } else { 0 }
    }

    /// Checks that what has come of a text is UTF-8, but for a character that is cut at its end. One that is compressed is
    /// checked at its end: the pieces of those depend on how they are read.
    fn check_text(&mut self, is_last: bool) -> Result<(), Violation> {
        if self.kind != Some(MessageKind::Text) || self.is_compressed && !is_last {
            return Ok(());
        }
        match std::str::from_utf8(&self.data[self.checked..]) {
            Ok(_) => self.checked = self.data.len(),
            Err(error) if error.error_len().is_none() => self.checked += error.valid_up_to(),
            Err(_) => return Err(Violation::Utf8),
        }
        Ok(())
    }
}

/// Returns the mask of a frame, a function of the seed and the number of the frame. It keeps servers from being fooled by
/// what a script makes a browser send (RFC 6455, section 10.3); this program sends what its user asks for.
fn mask_of(seed: u64, number: u64) -> [u8; 4] {
    let mixed = (seed ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    ((mixed >> 32) as u32 ^ mixed as u32).to_be_bytes()
}
