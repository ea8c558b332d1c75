//! Frames and streams of HTTP/3 that the server writes itself.

/// Types of frames: <https://www.rfc-editor.org/rfc/rfc9114#section-7.2>
pub(super) const HEADERS: u8 = 0x1;
pub(super) const SETTINGS: u8 = 0x4;

/// A type of unidirectional streams that means nothing to anybody, one of those reserved for that.
///
/// <https://www.rfc-editor.org/rfc/rfc9114#section-6.2.3>
pub(super) const RESERVED_STREAM: u8 = 0x21;

/// Makes a frame with a short payload.
pub(super) fn frame(kind: u8, payload: &[u8]) -> Vec<u8> {
    // A length of up to 63 is a byte of its own (RFC 9000, section 16).
    let size = u8::try_from(payload.len()).ok().filter(|&size| size < 64);
    let mut frame = vec![kind, size.expect("the payloads made here are short")];
    frame.extend_from_slice(payload);
    frame
}
