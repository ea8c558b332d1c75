//! Frames of HTTP/2, as far as the server looks at them or writes them itself.

/// The first bytes of a client.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-3.4>
pub(super) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The size of a frame's header: three bytes of length, then type, flags, and four bytes of the stream.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-4.1>
const FRAME_HEADER_SIZE: usize = 9;

/// Types of frames: <https://www.rfc-editor.org/rfc/rfc9113#section-6>
pub(super) const DATA: u8 = 0x0;
pub(super) const HEADERS: u8 = 0x1;
pub(super) const RST_STREAM: u8 = 0x3;
pub(super) const SETTINGS: u8 = 0x4;
pub(super) const GOAWAY: u8 = 0x7;

/// A flag of SETTINGS: <https://www.rfc-editor.org/rfc/rfc9113#section-6.5>
pub(super) const ACK: u8 = 0x1;

/// A flag of HEADERS: <https://www.rfc-editor.org/rfc/rfc9113#section-6.2>
pub(super) const END_HEADERS: u8 = 0x4;

/// Makes the header of a frame.
pub(super) fn frame_header(kind: u8, flags: u8, stream: u32, size: usize) -> [u8; FRAME_HEADER_SIZE] {
    let [_, a, b, c] = u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes();
    let [s, t, u, v] = stream.to_be_bytes();
    [a, b, c, kind, flags, s, t, u, v]
}

/// The size of a frame's payload, from its header.
fn payload_size(header: &[u8; FRAME_HEADER_SIZE]) -> usize {
    let [a, b, c, ..] = *header;
    u32::from_be_bytes([0, a, b, c]) as usize
}

/// A scanner for the frames in one direction of a connection, wherever its bytes are cut.
#[derive(Debug)]
pub(super) struct Frames {
    header: [u8; FRAME_HEADER_SIZE],
    /// Bytes of the header that have passed.
    filled: usize,
    /// Bytes before the next header.
    skipped: usize,
}

impl Frames {
    /// Expects the first frame behind `skipped` bytes.
    pub(super) fn behind(skipped: usize) -> Self {
        Self { header: [0; FRAME_HEADER_SIZE], filled: 0, skipped }
    }

    /// Scans bytes and calls `found` with type and flags of each frame whose header ends in them.
    pub(super) fn pass(&mut self, mut bytes: &[u8], mut found: impl FnMut(u8, u8)) {
        while !bytes.is_empty() {
            if self.skipped > 0 {
                let size = self.skipped.min(bytes.len());
                self.skipped -= size;
                bytes = &bytes[size..];
                continue;
            }
            let size = (FRAME_HEADER_SIZE - self.filled).min(bytes.len());
            let (part, rest) = bytes.split_at(size);
            self.header[self.filled..self.filled + size].copy_from_slice(part);
            self.filled += size;
            bytes = rest;
            if self.filled == FRAME_HEADER_SIZE {
                self.filled = 0;
                self.skipped = payload_size(&self.header);
                found(self.header[3], self.header[4]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_wherever_their_bytes_are_cut() {
        let stream = [
            b"preface".as_slice(),
            &frame_header(SETTINGS, 0, 0, 6),
            &[7; 6],
            &frame_header(SETTINGS, ACK, 0, 0),
            &frame_header(DATA, 0, 1, 300),
            &[RST_STREAM; 300],
            &frame_header(GOAWAY, 0, 0, 8),
            &[0; 8],
        ]
        .concat();
        for first in 0..stream.len() {
            for second in [first, (first + 5).min(stream.len())] {
                let mut frames = Frames::behind(b"preface".len());
                let mut kinds = Vec::new();
                for part in [&stream[..first], &stream[first..second], &stream[second..]] {
                    frames.pass(part, |kind, flags| kinds.push((kind, flags)));
                }
                assert_eq!(
                    kinds,
                    [(SETTINGS, 0), (SETTINGS, ACK), (DATA, 0), (GOAWAY, 0)],
                    "cut at {first} and {second}"
                );
            }
        }
    }
}
