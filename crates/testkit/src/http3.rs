//! The server side of HTTP/3, for tests: frames built and parsed by hand, and a parser of requests that panics at any
//! violation by the client.
//!
//! It shares only header compression with the engine, so that mistakes in one are found by the other.

use httperf_proto::http3::{decode_section, encode_section};

use crate::http2::{Fields, Reply};

/// Types of frames.
///
/// <https://www.rfc-editor.org/rfc/rfc9114#section-11.2.1>
pub mod kind {
    /// DATA.
    pub const DATA: u64 = 0x0;
    /// HEADERS.
    pub const HEADERS: u64 = 0x1;
    /// SETTINGS.
    pub const SETTINGS: u64 = 0x4;
    /// GOAWAY.
    pub const GOAWAY: u64 = 0x7;
}

/// Error codes.
///
/// <https://www.rfc-editor.org/rfc/rfc9114#section-8.1>
pub mod code {
    /// `H3_NO_ERROR`.
    pub const NO_ERROR: u32 = 0x100;
    /// `H3_INTERNAL_ERROR`.
    pub const INTERNAL_ERROR: u32 = 0x102;
    /// `H3_EXCESSIVE_LOAD`.
    pub const EXCESSIVE_LOAD: u32 = 0x107;
    /// `H3_REQUEST_REJECTED`.
    pub const REQUEST_REJECTED: u32 = 0x10b;
    /// `H3_REQUEST_CANCELLED`.
    pub const REQUEST_CANCELLED: u32 = 0x10c;
}

/// The beginning of a control stream: its type, and empty SETTINGS.
pub const CONTROL: &[u8] = &[0x00, 0x04, 0x00];

/// Appends an integer of variable length.
///
/// <https://www.rfc-editor.org/rfc/rfc9000#section-16>
pub fn put_varint(value: u64, out: &mut Vec<u8>) {
    match value {
        0..0x40 => out.push(value as u8),
        0x40..0x4000 => out.extend((value as u16 | 0x4000).to_be_bytes()),
        0x4000..0x4000_0000 => out.extend((value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend((value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Returns the integer of variable length with which bytes begin, and its size.
#[must_use]
pub fn varint(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let size = 1 << (first >> 6);
    let rest = bytes.get(1..size)?;
    let value = rest.iter().fold(u64::from(first & 0x3f), |value, &byte| value << 8 | u64::from(byte));
    Some((value, size))
}

/// Builds a frame.
#[must_use]
pub fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() + 16);
    put_varint(kind, &mut bytes);
    put_varint(payload.len() as u64, &mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

/// Builds a HEADERS frame.
#[must_use]
pub fn head(fields: &[(&str, &str)]) -> Vec<u8> {
    let section = encode_section(fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes())));
    frame(kind::HEADERS, &section)
}

/// Builds the frames of a reply, with their content in pieces as the reply has it.
#[must_use]
pub fn frames(reply: &Reply) -> Vec<u8> {
    let mut bytes = Vec::new();
    for status in &reply.interim {
        bytes.extend(head(&[(":status", &status.to_string())]));
    }
    let status = reply.status.to_string();
    let mut fields = vec![(":status", status.as_str())];
    fields.extend(reply.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    bytes.extend(head(&fields));
    reply.body.chunks(reply.piece.max(1)).for_each(|piece| bytes.extend(frame(kind::DATA, piece)));
    if !reply.trailers.is_empty() {
        let trailers: Vec<_> =
            reply.trailers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        bytes.extend(head(&trailers));
    }
    bytes
}

/// A request as far as it has arrived. It panics if a frame breaks a rule.
#[derive(Clone, Debug, Default)]
pub struct Request {
    unread: Vec<u8>,
    /// Fields, pseudo-header fields first, once they are there.
    pub fields: Option<Fields>,
    /// The content so far, without a DATA frame that is incomplete.
    pub body: Vec<u8>,
}

impl Request {
    /// Uses bytes of its stream.
    ///
    /// # Panics
    /// If they break a rule.
    pub fn handle_bytes(&mut self, bytes: &[u8]) {
        self.unread.extend_from_slice(bytes);
        while let Some((kind, payload, size)) = next_frame(&self.unread) {
            match kind {
                kind::HEADERS if self.fields.is_none() => self.fields = Some(fields(payload)),
                kind::DATA if self.fields.is_some() => self.body.extend_from_slice(payload),
                _ => panic!("a client sends no frame of type {kind:#x} here"),
            }
            self.unread.drain(..size);
        }
    }

    /// Its stream ends.
    ///
    /// # Panics
    /// If that is within a frame, or before the fields.
    pub fn handle_end(&self) {
        assert!(self.unread.is_empty() && self.fields.is_some(), "a request ends behind a frame");
    }
}

/// The type of the frame with which bytes begin, its payload and its size, if all of it is there.
fn next_frame(bytes: &[u8]) -> Option<(u64, &[u8], usize)> {
    let (kind, kind_size) = varint(bytes)?;
    let (length, length_size) = varint(&bytes[kind_size..])?;
    let begin = kind_size + length_size;
    let end = begin + usize::try_from(length).expect("a frame fits into memory");
    Some((kind, bytes.get(begin..end)?, end))
}

fn fields(section: &[u8]) -> Fields {
    let fields = decode_section(section).expect("requests refer to the static table alone");
    let text = |bytes| String::from_utf8(bytes).expect("our own fields are text");
    let fields: Fields = fields.into_iter().map(|(name, value)| (text(name), text(value))).collect();
    let is_pseudo = |(name, _): &(String, String)| name.starts_with(':');
    assert!(
        fields.is_sorted_by_key(|field| !is_pseudo(field)),
        "pseudo-header fields come first: {fields:?}"
    );
    for name in [":method", ":scheme", ":authority", ":path"] {
        assert_eq!(fields.iter().filter(|(its, _)| its == name).count(), 1, "{name} in {fields:?}");
    }
    assert!(fields.iter().all(|(name, _)| *name == name.to_lowercase()), "names are in lower case");
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_read_as_they_were_written() {
        for value in [0, 0x3f, 0x40, 0x3fff, 0x4000, 0x3fff_ffff, 0x4000_0000, (1 << 62) - 1] {
            let mut bytes = Vec::new();
            put_varint(value, &mut bytes);
            assert_eq!(varint(&bytes), Some((value, bytes.len())));
            assert_eq!(varint(&bytes[..bytes.len() - 1]), None);
        }
    }

    #[test]
    fn a_request_is_the_same_wherever_it_is_cut() {
        let fields = [(":method", "POST"), (":scheme", "https"), (":authority", "a"), (":path", "/")];
        let bytes = [head(&fields), frame(kind::DATA, b"one"), frame(kind::DATA, b"two")].concat();
        for cut in 0..=bytes.len() {
            let mut request = Request::default();
            request.handle_bytes(&bytes[..cut]);
            request.handle_bytes(&bytes[cut..]);
            request.handle_end();
            assert_eq!(request.fields.map(|fields| fields.len()), Some(4));
            assert_eq!(request.body, b"onetwo");
        }
    }

    #[test]
    #[should_panic(expected = "behind a frame")]
    fn a_request_that_ends_within_a_frame_is_none() {
        let mut request = Request::default();
        request.handle_bytes(&[1]);
        request.handle_end();
    }
}
