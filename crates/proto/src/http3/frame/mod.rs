//! Frames (RFC 9114, section 7): a file for each type, with what a client must check in it.
//!
//! [`Reader`] finds them in the bytes of a stream, wherever those are cut. The payload of a DATA frame is passed on as
//! it arrives, any other once it is complete.

mod cancel_push;
mod data;
mod goaway;
mod headers;
mod max_push_id;
mod push_promise;
mod reader;
mod settings;
#[cfg(test)]
mod tests;

use super::error::{ErrorCode, Violation};
use crate::varint;

pub(crate) use self::cancel_push::CancelPush;
pub(crate) use self::data::Data;
pub(crate) use self::goaway::GoAway;
pub(crate) use self::headers::Headers;
pub(crate) use self::push_promise::PushPromise;
pub(crate) use self::reader::{Limits, Piece, Place, Reader};
pub(crate) use self::settings::{Parameter, Settings};

/// The types of frames.
///
/// <https://www.rfc-editor.org/rfc/rfc9114#section-7.2>
mod kind {
    pub(super) const DATA: u64 = 0x00;
    pub(super) const HEADERS: u64 = 0x01;
    pub(super) const CANCEL_PUSH: u64 = 0x03;
    pub(super) const SETTINGS: u64 = 0x04;
    pub(super) const PUSH_PROMISE: u64 = 0x05;
    pub(super) const GOAWAY: u64 = 0x07;
    pub(super) const MAX_PUSH_ID: u64 = 0x0d;

    /// Types of HTTP/2 that HTTP/3 does not have: PRIORITY, PING, WINDOW_UPDATE and CONTINUATION.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc9114#section-7.2.8>
    pub(super) const OF_HTTP2: [u64; 4] = [0x02, 0x06, 0x08, 0x09];
}

/// A complete frame other than DATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    Headers(Headers<'a>),
    CancelPush(CancelPush),
    Settings(Settings<'a>),
    PushPromise(PushPromise),
    GoAway(GoAway),
    /// A frame of an unknown type, at its beginning. What is in it is skipped.
    Ignored,
}

/// Appends the type and the length of a frame; the payload follows.
fn write_header(kind: u64, length: u64, out: &mut Vec<u8>) {
    varint::write(kind, out);
    varint::write(length, out);
}

/// Reads a payload that consists of one integer.
///
/// <https://www.rfc-editor.org/rfc/rfc9114#section-7.1>
fn only_integer(payload: &[u8], wrong_size: &'static str) -> Result<u64, Violation> {
    match varint::read(payload) {
        Some((number, size)) if size == payload.len() => Ok(number),
        _ => Err(Violation::of_connection(ErrorCode::H3_FRAME_ERROR, wrong_size)),
    }
}
