//! From the bytes that arrive to frames, wherever the bytes are cut.

use super::{
    Data, ErrorCode, Frame, FrameHeader, HEADER_SIZE, NO_PADDING_SIZE, TOO_MUCH_PADDING, Violation, flags,
    kind,
};
use crate::partial::Partial;

/// Finds frames in bytes. Payloads are read where they lie; only what is cut across reads is copied, and
/// never DATA or an ignored frame.
#[derive(Debug)]
pub(crate) struct Reader {
    /// The largest payload that we take.
    payload_max: u32,
    state: State,
    partial: Partial,
}

/// The part of a frame that is read next.
#[derive(Clone, Copy, Debug)]
enum State {
    /// A frame header.
    Header,
    /// A payload that is read as a whole.
    Payload(FrameHeader),
    /// The size of the padding of a DATA frame.
    PaddingSize(Data),
    /// Content of a DATA frame, followed by padding.
    Body { data: Data, size: u32, padding: u32 },
    /// Bytes that are ignored.
    Skipped(u32),
}

/// A piece that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a, 'i> {
    /// A frame other than DATA.
    Frame(Frame<'a>),
    /// The beginning of a DATA frame.
    Data(Data),
    /// Part of its content; never empty.
    Body { stream: u32, bytes: &'i [u8] },
    /// The end of a DATA frame.
    DataEnd(Data),
}

impl Reader {
    /// Makes a reader that takes payloads up to this size.
    pub(crate) fn new(payload_max: u32) -> Self {
        Self { payload_max, state: State::Header, partial: Partial::default() }
    }

    /// Reads the next piece off the input; `None` when all of it is used up.
    ///
    /// # Errors
    /// When the peer violates the protocol. After a violation that ends the connection, read nothing more.
    pub(crate) fn poll<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Piece<'a, 'i>>, Violation> {
        loop {
            match self.state {
                State::Header => {
                    let Some(header) = self.header(input) else { return Ok(None) };
                    self.state = self.after_header(header)?;
                    match self.state {
                        State::PaddingSize(data) | State::Body { data, .. } => {
                            return Ok(Some(Piece::Data(data)));
                        }
                        // Its payload does not matter, but its presence may.
                        State::Skipped(_) => return Ok(Some(Piece::Frame(Frame::Ignored))),
                        State::Header | State::Payload(_) => {}
                    }
                }
                State::Payload(header) => {
                    let Some(payload) = self.partial.whole(header.length as usize, input) else {
                        return Ok(None);
                    };
                    self.state = State::Header;
                    return Ok(Some(Piece::Frame(Frame::parse(header, payload)?)));
                }
                State::PaddingSize(data) => {
                    let Some((&padding, rest)) = input.split_first() else { return Ok(None) };
                    *input = rest;
                    let padding = u32::from(padding);
                    let size = (data.length - 1).checked_sub(padding).ok_or(TOO_MUCH_PADDING)?;
                    self.state = State::Body { data, size, padding };
                }
                State::Body { data, size: 0, padding } => {
                    // The padding does not matter, nor whether it has arrived.
                    self.state = State::Skipped(padding);
                    return Ok(Some(Piece::DataEnd(data)));
                }
                State::Body { data, size, padding } => {
                    let bytes = take(size, input);
                    if bytes.is_empty() {
                        return Ok(None);
                    }
                    self.state = State::Body { data, size: size - bytes.len() as u32, padding };
                    return Ok(Some(Piece::Body { stream: data.stream, bytes }));
                }
                State::Skipped(0) => self.state = State::Header,
                State::Skipped(size) => {
                    let skipped = take(size, input).len() as u32;
                    if skipped == 0 {
                        return Ok(None);
                    }
                    self.state = State::Skipped(size - skipped);
                }
            }
        }
    }

    /// Returns how many bytes of content come next, which may be left unread and skipped with
    /// [`Reader::handle_skipped`].
    pub(crate) fn skippable(&self) -> u32 {
        match self.state {
            State::Body { size, .. } => size,
            _ => 0,
        }
    }

    /// Returns the stream whose content comes next, if content does.
    pub(crate) fn body_stream(&self) -> Option<u32> {
        match self.state {
            State::Body { data, .. } => Some(data.stream),
            _ => None,
        }
    }

    /// `count` bytes of [`Reader::skippable`] were skipped.
    pub(crate) fn handle_skipped(&mut self, count: u32) {
        if let State::Body { size, .. } = &mut self.state {
            *size -= count;
        }
    }

    fn header(&mut self, input: &mut &[u8]) -> Option<FrameHeader> {
        let bytes = self.partial.whole(HEADER_SIZE, input)?;
        Some(FrameHeader::parse(bytes.try_into().expect("as many were asked for")))
    }

    fn after_header(&self, header: FrameHeader) -> Result<State, Violation> {
        if header.length > self.payload_max {
            return Err(Violation::of_connection(ErrorCode::FRAME_SIZE_ERROR, "a frame larger than allowed"));
        }
        Ok(match header.kind {
            kind::DATA => {
                let data = Data::parse(header)?;
                match (header.has(flags::PADDED), data.length) {
                    (false, size) => State::Body { data, size, padding: 0 },
                    (true, 0) => return Err(NO_PADDING_SIZE),
                    (true, _) => State::PaddingSize(data),
                }
            }
            kind if kind > kind::CONTINUATION => State::Skipped(header.length),
            _ => State::Payload(header),
        })
    }
}

/// Takes as much of the input as there is, up to this size.
fn take<'a>(size: u32, input: &mut &'a [u8]) -> &'a [u8] {
    let (taken, rest) = input.split_at(input.len().min(size as usize));
    *input = rest;
    taken
}
