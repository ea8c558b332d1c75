//! HEADERS (RFC 9113, section 6.2): the beginning of a header block.

use super::{CONNECTION, ErrorCode, FrameHeader, Violation, flags, kind, without_padding};

/// A HEADERS frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Headers<'a> {
    pub(crate) stream: u32,
    /// Its part of the header block.
    pub(crate) fragment: &'a [u8],
    /// True if it ends its stream.
    pub(crate) end_stream: bool,
    /// True if it ends the header block.
    pub(crate) end_headers: bool,
}

/// The size of the deprecated priority fields, which may come first.
const PRIORITY_SIZE: usize = 5;

impl<'a> Headers<'a> {
    pub(super) fn parse(header: FrameHeader, payload: &'a [u8]) -> Result<Self, Violation> {
        if header.stream == CONNECTION {
            return Err(Violation::of_connection(ErrorCode::PROTOCOL_ERROR, "a HEADERS frame on stream 0"));
        }
        let mut fragment = without_padding(header, payload)?;
        if header.has(flags::PRIORITY) {
            fragment = fragment.get(PRIORITY_SIZE..).ok_or(Violation::of_connection(
                ErrorCode::FRAME_SIZE_ERROR,
                "a HEADERS frame without room for its priority",
            ))?;
        }
        Ok(Self {
            stream: header.stream,
            fragment,
            end_stream: header.has(flags::END_STREAM),
            end_headers: header.has(flags::END_HEADERS),
        })
    }

    /// Appends a header block as a HEADERS frame and as many CONTINUATION frames as it takes, with payloads
    /// of at most `payload_max` bytes.
    pub(crate) fn write_block(
        stream: u32,
        block: &[u8],
        end_stream: bool,
        payload_max: u32,
        out: &mut Vec<u8>,
    ) {
        let mut rest = block;
        let mut kind = kind::HEADERS;
        loop {
            let (fragment, after) = rest.split_at(rest.len().min(payload_max as usize));
            let mut flags = if after.is_empty() { flags::END_HEADERS } else { 0 };
            if kind == kind::HEADERS && end_stream {
                flags |= flags::END_STREAM;
            }
            FrameHeader { length: fragment.len() as u32, kind, flags, stream }.write(out);
            out.extend_from_slice(fragment);
            if after.is_empty() {
                return;
            }
            (rest, kind) = (after, kind::CONTINUATION);
        }
    }
}
