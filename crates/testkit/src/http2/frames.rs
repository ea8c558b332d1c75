//! Frames as bytes, valid or not.

/// Connection preface of a client.
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Types of frames.
#[expect(missing_docs, reason = "named as in RFC 9113, section 6")]
pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const PRIORITY: u8 = 2;
    pub const RST_STREAM: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GOAWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

/// Flags of frames.
#[expect(missing_docs, reason = "named as in RFC 9113, section 6")]
pub mod flag {
    pub const ACK: u8 = 0x1;
    pub const END_STREAM: u8 = 0x1;
    pub const END_HEADERS: u8 = 0x4;
    pub const PADDED: u8 = 0x8;
    pub const PRIORITY: u8 = 0x20;
}

/// Identifiers of settings.
#[expect(missing_docs, reason = "named as in RFC 9113, section 6.5.2")]
pub mod setting {
    pub const HEADER_TABLE_SIZE: u16 = 1;
    pub const ENABLE_PUSH: u16 = 2;
    pub const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub const INITIAL_WINDOW_SIZE: u16 = 4;
    pub const MAX_FRAME_SIZE: u16 = 5;
    pub const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// Error codes.
#[expect(missing_docs, reason = "named as in RFC 9113, section 7")]
pub mod code {
    pub const NO_ERROR: u32 = 0;
    pub const PROTOCOL_ERROR: u32 = 1;
    pub const INTERNAL_ERROR: u32 = 2;
    pub const FLOW_CONTROL_ERROR: u32 = 3;
    pub const SETTINGS_TIMEOUT: u32 = 4;
    pub const STREAM_CLOSED: u32 = 5;
    pub const FRAME_SIZE_ERROR: u32 = 6;
    pub const REFUSED_STREAM: u32 = 7;
    pub const CANCEL: u32 = 8;
    pub const COMPRESSION_ERROR: u32 = 9;
    pub const CONNECT_ERROR: u32 = 10;
    pub const ENHANCE_YOUR_CALM: u32 = 11;
    pub const INADEQUATE_SECURITY: u32 = 12;
    pub const HTTP_1_1_REQUIRED: u32 = 13;
}

/// A frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Type.
    pub kind: u8,
    /// Flags.
    pub flags: u8,
    /// Stream identifier, with the reserved bit.
    pub stream: u32,
    /// Payload.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Encodes the frame.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        frame(self.kind, self.flags, self.stream, &self.payload)
    }

    /// Returns true if it has this flag.
    #[must_use]
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Removes the first frame from `bytes`, if it is complete.
    #[must_use]
    pub fn take(bytes: &mut &[u8]) -> Option<Self> {
        let &[l0, l1, l2, kind, flags, s0, s1, s2, s3] = bytes.first_chunk()?;
        let length = u32::from_be_bytes([0, l0, l1, l2]) as usize;
        let payload = bytes.get(9..9 + length)?.to_vec();
        *bytes = &bytes[9 + length..];
        Some(Self { kind, flags, stream: u32::from_be_bytes([s0, s1, s2, s3]), payload })
    }

    /// Reads a 32-bit number at this offset of the payload.
    ///
    /// # Panics
    /// If the payload is too short.
    #[must_use]
    pub fn number(&self, at: usize) -> u32 {
        let bytes = self.payload.get(at..at + 4).expect("the payload is long enough");
        u32::from_be_bytes(bytes.try_into().expect("these are four bytes"))
    }
}

/// Parses all frames sent by a client, skipping its preface.
///
/// # Panics
/// If the bytes end in the middle of a frame.
#[must_use]
pub fn all(bytes: &[u8]) -> Vec<Frame> {
    let mut rest = bytes.strip_prefix(PREFACE).unwrap_or(bytes);
    let mut frames = Vec::new();
    while let Some(frame) = Frame::take(&mut rest) {
        frames.push(frame);
    }
    assert!(rest.is_empty(), "{} bytes are no whole frame", rest.len());
    frames
}

/// Encodes a frame of any type.
#[must_use]
pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    frame_of_length(payload.len() as u32, kind, flags, stream, payload)
}

/// Encodes a frame with a wrong length field.
#[must_use]
pub fn frame_of_length(length: u32, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = length.to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// DATA.
#[must_use]
pub fn data(stream: u32, body: &[u8], end_stream: bool) -> Vec<u8> {
    frame(kind::DATA, end_flag(end_stream), stream, body)
}

/// DATA with padding.
#[must_use]
pub fn padded_data(stream: u32, body: &[u8], padding: u8, end_stream: bool) -> Vec<u8> {
    frame(kind::DATA, end_flag(end_stream) | flag::PADDED, stream, &padded(body, padding))
}

/// A payload with padding.
#[must_use]
pub fn padded(payload: &[u8], padding: u8) -> Vec<u8> {
    [&[padding], payload, &vec![0; padding.into()]].concat()
}

/// A header block as one HEADERS frame.
#[must_use]
pub fn headers(stream: u32, block: &[u8], end_stream: bool) -> Vec<u8> {
    frame(kind::HEADERS, flag::END_HEADERS | end_flag(end_stream), stream, block)
}

/// A header block as HEADERS and CONTINUATION frames of this size.
#[must_use]
pub fn headers_in_pieces(stream: u32, block: &[u8], size: usize, end_stream: bool) -> Vec<u8> {
    let mut pieces: Vec<&[u8]> = block.chunks(size.max(1)).collect();
    if pieces.is_empty() {
        pieces.push(b"");
    }
    let mut bytes = Vec::new();
    for (place, piece) in pieces.iter().enumerate() {
        let mut flags = if place + 1 == pieces.len() { flag::END_HEADERS } else { 0 };
        if place == 0 {
            flags |= end_flag(end_stream);
        }
        let kind = if place == 0 { kind::HEADERS } else { kind::CONTINUATION };
        bytes.extend(frame(kind, flags, stream, piece));
    }
    bytes
}

/// RST_STREAM.
#[must_use]
pub fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(kind::RST_STREAM, 0, stream, &code.to_be_bytes())
}

/// SETTINGS.
#[must_use]
pub fn settings(settings: &[(u16, u32)]) -> Vec<u8> {
    let bytes = |&(id, value): &(u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
    frame(kind::SETTINGS, 0, 0, &settings.iter().flat_map(bytes).collect::<Vec<_>>())
}

/// Acknowledgement of SETTINGS.
#[must_use]
pub fn settings_ack() -> Vec<u8> {
    frame(kind::SETTINGS, flag::ACK, 0, b"")
}

/// PING.
#[must_use]
pub fn ping(data: [u8; 8]) -> Vec<u8> {
    frame(kind::PING, 0, 0, &data)
}

/// Acknowledgement of PING.
#[must_use]
pub fn ping_ack(data: [u8; 8]) -> Vec<u8> {
    frame(kind::PING, flag::ACK, 0, &data)
}

/// GOAWAY.
#[must_use]
pub fn goaway(last_stream: u32, code: u32) -> Vec<u8> {
    frame(kind::GOAWAY, 0, 0, &[last_stream.to_be_bytes(), code.to_be_bytes()].concat())
}

/// WINDOW_UPDATE.
#[must_use]
pub fn window_update(stream: u32, increment: u32) -> Vec<u8> {
    frame(kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes())
}

fn end_flag(end_stream: bool) -> u8 {
    if end_stream { flag::END_STREAM } else { 0 }
}
