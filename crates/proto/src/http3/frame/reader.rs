//! From the bytes of a stream to frames, wherever the bytes are cut.

use super::{
    CancelPush, Data, ErrorCode, Frame, GoAway, Headers, PushPromise, Settings, Violation, kind, max_push_id,
    varint,
};
use crate::partial::Partial;

/// Finds frames in the bytes of a stream. Payloads are read where they lie; only what is cut across reads is copied,
/// and never DATA or an ignored frame.
///
/// It knows which frames the stream may have, and that settings come first and once. The order of HEADERS and DATA
/// depends on statuses and is for the owner to check.
#[derive(Debug)]
pub(crate) struct Reader {
    place: Place,
    limits: Limits,
    /// The control stream's settings have been read.
    has_settings: bool,
    state: State,
    number: varint::Partial,
    partial: Partial,
}

/// A stream that has frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A bidirectional stream, with the reply to a request.
    Request,
    /// The server's control stream.
    Control,
}

/// Bounds on frames that are read as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Bytes of an encoded field section. Beyond it, its stream fails.
    pub(crate) section_size: usize,
    /// Bytes of the payload of any other frame. Beyond it, the connection fails.
    pub(crate) payload_size: usize,
}

/// The part of a frame that is read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The type.
    Type,
    /// The length of a frame of this type.
    Length(u64),
    /// A payload of this type and size that is read as a whole.
    Payload(u64, usize),
    /// Bytes of DATA.
    Data(u64),
    /// Bytes that are ignored.
    Skipped(u64),
}

/// A piece that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Piece<'a, 'i> {
    /// A frame other than DATA.
    Frame(Frame<'a>),
    /// The beginning of a DATA frame.
    DataStart(Data),
    /// Part of its payload; never empty.
    Data(&'i [u8]),
}

/// The largest size of an integer, and so of the frames that have nothing else.
const INTEGER_SIZE_MAX: u64 = 8;

impl Reader {
    pub(crate) fn new(place: Place, limits: Limits) -> Self {
        Self {
            place,
            limits,
            has_settings: false,
            state: State::Type,
            number: varint::Partial::default(),
            partial: Partial::default(),
        }
    }

    /// Reads the next piece off the input; `None` when all of it is used up.
    ///
    /// # Errors
    /// When the peer violates the protocol. Read nothing more of the stream then.
    pub(crate) fn poll<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Piece<'a, 'i>>, Violation> {
        loop {
            match self.state {
                State::Type => {
                    let Some(kind) = self.number.read(input) else { return Ok(None) };
                    self.check_place(kind)?;
                    self.state = State::Length(kind);
                }
                State::Length(kind) => {
                    let Some(length) = self.number.read(input) else { return Ok(None) };
                    self.state = self.after_length(kind, length)?;
                    match self.state {
                        State::Data(length) => return Ok(Some(Piece::DataStart(Data { length }))),
                        // Its payload does not matter, but its presence may.
                        State::Skipped(_) => return Ok(Some(Piece::Frame(Frame::Ignored))),
                        State::Type | State::Length(_) | State::Payload(..) => {}
                    }
                }
                State::Payload(kind, size) => {
                    let Some(payload) = self.partial.whole(size, input) else { return Ok(None) };
                    self.state = State::Type;
                    return Ok(Some(Piece::Frame(parse(kind, payload)?)));
                }
                State::Data(0) | State::Skipped(0) => self.state = State::Type,
                State::Data(size) => {
                    let bytes = take(size, input);
                    if bytes.is_empty() {
                        return Ok(None);
                    }
                    self.state = State::Data(size - bytes.len() as u64);
                    return Ok(Some(Piece::Data(bytes)));
                }
                State::Skipped(size) => {
                    let skipped = take(size, input).len() as u64;
                    if skipped == 0 {
                        return Ok(None);
                    }
                    self.state = State::Skipped(size - skipped);
                }
            }
        }
    }

    /// Returns how many of the next bytes are content of the DATA frame that has begun.
    pub(crate) fn content_left(&self) -> u64 {
        match self.state {
            State::Data(size) => size,
            State::Type | State::Length(_) | State::Payload(..) | State::Skipped(_) => 0,
        }
    }

    /// `count` bytes of content came and are not read, no more than are [left](Self::content_left).
    pub(crate) fn handle_skipped(&mut self, count: u64) {
        self.state = State::Data(self.content_left() - count);
    }

    /// Returns whether the stream may end here; within a frame it may not.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc9114#section-7.1-5>
    pub(crate) fn is_between_frames(&self) -> bool {
        match self.state {
            State::Type => self.number.is_empty(),
            State::Data(size) | State::Skipped(size) => size == 0,
            State::Length(_) | State::Payload(..) => false,
        }
    }

    /// Checks that a frame of this type may be where it is.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc9114#section-7.2>
    fn check_place(&mut self, kind: u64) -> Result<(), Violation> {
        let unexpected = |reason| Err(Violation::of_connection(ErrorCode::H3_FRAME_UNEXPECTED, reason));
        if self.place == Place::Control && !self.has_settings {
            if kind != kind::SETTINGS {
                return Err(Violation::of_connection(
                    ErrorCode::H3_MISSING_SETTINGS,
                    "a control stream that does not begin with settings",
                ));
            }
            self.has_settings = true;
            return Ok(());
        }
        match (kind, self.place) {
            (kind::DATA, Place::Control) => unexpected("a DATA frame on the control stream"),
            (kind::HEADERS, Place::Control) => unexpected("a HEADERS frame on the control stream"),
            (kind::PUSH_PROMISE, Place::Control) => unexpected("a PUSH_PROMISE frame on the control stream"),
            (kind::SETTINGS, Place::Control) => unexpected("a second SETTINGS frame"),
            (kind::CANCEL_PUSH, Place::Request) => unexpected("a CANCEL_PUSH frame on a request's stream"),
            (kind::SETTINGS, Place::Request) => unexpected("a SETTINGS frame on a request's stream"),
            (kind::GOAWAY, Place::Request) => unexpected("a GOAWAY frame on a request's stream"),
            (kind::MAX_PUSH_ID, _) => Err(max_push_id::OF_A_SERVER),
            (kind, _) if kind::OF_HTTP2.contains(&kind) => unexpected("a frame of HTTP/2"),
            _ => Ok(()),
        }
    }

    fn after_length(&self, kind: u64, length: u64) -> Result<State, Violation> {
        let (size_max, too_large) = match kind {
            kind::DATA => return Ok(State::Data(length)),
            kind::HEADERS => (
                self.limits.section_size as u64,
                Violation::of_stream(ErrorCode::H3_EXCESSIVE_LOAD, "a field section larger than the limit"),
            ),
            kind::SETTINGS | kind::PUSH_PROMISE => (
                self.limits.payload_size as u64,
                Violation::of_connection(ErrorCode::H3_EXCESSIVE_LOAD, "a frame larger than the limit"),
            ),
            kind::CANCEL_PUSH | kind::GOAWAY => (
                INTEGER_SIZE_MAX,
                Violation::of_connection(
                    ErrorCode::H3_FRAME_ERROR,
                    "a frame with more than the ID that it has",
                ),
            ),
            _ => return Ok(State::Skipped(length)),
        };
        if length > size_max {
            return Err(too_large);
        }
        Ok(State::Payload(kind, length as usize))
    }
}

/// Reads a complete frame of a known type other than DATA.
fn parse(kind: u64, payload: &[u8]) -> Result<Frame<'_>, Violation> {
    Ok(match kind {
        kind::HEADERS => Frame::Headers(Headers { section: payload }),
        kind::CANCEL_PUSH => Frame::CancelPush(CancelPush::parse(payload)?),
        kind::SETTINGS => Frame::Settings(Settings::parse(payload)?),
        kind::PUSH_PROMISE => Frame::PushPromise(PushPromise::parse(payload)?),
        kind::GOAWAY => Frame::GoAway(GoAway::parse(payload)?),
        kind => unreachable!("a frame of type {kind:#x} is not read as a whole"),
    })
}

/// Takes as much of the input as there is, up to this size.
fn take<'a>(size: u64, input: &mut &'a [u8]) -> &'a [u8] {
    let size = usize::try_from(size).map_or(input.len(), |size| size.min(input.len()));
    let (taken, rest) = input.split_at(size);
    *input = rest;
    taken
}
