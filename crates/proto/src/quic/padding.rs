//! PADDING frames, dropped as packets are opened.
//!
//! `quinn-proto` takes each byte of padding as a frame of its own. Servers fill datagrams that they send together up to one size,
//! and those of a handshake, so that most bytes of a packet may be padding.

use bytes::BytesMut;
use quinn_proto::crypto::{CryptoError, PacketKey};

use crate::varint;

/// A key for packets of the peer, which leaves out the padding at their end.
pub(super) struct Unpadded(pub(super) Box<dyn PacketKey>);

impl PacketKey for Unpadded {
    fn encrypt(&self, packet: u64, buffer: &mut [u8], header_size: usize) {
        self.0.encrypt(packet, buffer, header_size);
    }

    fn decrypt(&self, packet: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        self.0.decrypt(packet, header, payload)?;
        payload.truncate(size_without_padding(payload));
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.0.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.0.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.0.integrity_limit()
    }
}

/// Returns the size of frames without the padding at their end; one byte of it stays where there is nothing else, as a packet
/// without frames is an error. What is no frame that RFC 9000 knows, or is cut short, keeps all that follows it.
fn size_without_padding(frames: &[u8]) -> usize {
    if frames.last() != Some(&0) {
        return frames.len();
    }
    let mut rest = frames;
    loop {
        let padding = zeros(rest);
        if padding == rest.len() {
            return (frames.len() - padding).max(1);
        }
        match skip_frame(&rest[padding..]) {
            Some(behind) => rest = behind,
            None => return frames.len(),
        }
    }
}

/// Returns the number of zeros that some bytes begin with.
fn zeros(bytes: &[u8]) -> usize {
    const STRIDE: usize = 64;
    let strides =
        bytes.chunks_exact(STRIDE).take_while(|stride| stride.iter().fold(0, |any, byte| any | byte) == 0);
    let start = strides.count() * STRIDE;
    start + bytes[start..].iter().take_while(|byte| **byte == 0).count()
}

/// Returns what is behind the frame that some bytes begin with; `None` if that is not known, or if the frame goes on to the end.
///
/// <https://www.rfc-editor.org/rfc/rfc9000#section-19>
fn skip_frame(bytes: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader(bytes);
    let kind = reader.integer()?;
    match kind {
        // PING and HANDSHAKE_DONE.
        0x01 | 0x1e => {}
        // ACK: two integers for each range but the first. One with counts of marks has three more.
        0x02 | 0x03 => {
            reader.integers(2)?;
            let ranges = reader.integer()?;
            reader.integers(1 + 2 * ranges)?;
            reader.integers(if kind == 0x03 { 3 } else { 0 })?;
        }
        // RESET_STREAM.
        0x04 => reader.integers(3)?,
        // STOP_SENDING, MAX_STREAM_DATA and STREAM_DATA_BLOCKED.
        0x05 | 0x11 | 0x15 => reader.integers(2)?,
        // CRYPTO.
        0x06 => {
            reader.integers(1)?;
            reader.sized()?;
        }
        // NEW_TOKEN.
        0x07 => reader.sized()?,
        // STREAM, with an offset or without, and with a size, or to the end.
        0x08..=0x0f => {
            reader.integers(if kind & 0x04 == 0 { 1 } else { 2 })?;
            if kind & 0x02 == 0 {
                return None;
            }
            reader.sized()?;
        }
        // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED and RETIRE_CONNECTION_ID.
        0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => reader.integers(1)?,
        // NEW_CONNECTION_ID.
        0x18 => {
            reader.integers(2)?;
            let size = reader.bytes(1)?[0];
            reader.bytes(u64::from(size) + RESET_TOKEN_SIZE)?;
        }
        // PATH_CHALLENGE and PATH_RESPONSE.
        0x1a | 0x1b => drop(reader.bytes(8)?),
        // CONNECTION_CLOSE, of the transport and of the application.
        0x1c | 0x1d => {
            reader.integers(if kind == 0x1c { 2 } else { 1 })?;
            reader.sized()?;
        }
        _ => return None,
    }
    Some(reader.0)
}

const RESET_TOKEN_SIZE: u64 = 16;

/// Bytes that are read from their beginning. `None` where too few are left.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn bytes(&mut self, count: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    fn integer(&mut self) -> Option<u64> {
        let (value, size) = varint::read(self.0)?;
        self.0 = &self.0[size..];
        Some(value)
    }

    fn integers(&mut self, count: u64) -> Option<()> {
        (0..count).try_for_each(|_| self.integer().map(drop))
    }

    /// Skips bytes behind their number.
    fn sized(&mut self) -> Option<()> {
        let size = self.integer()?;
        self.bytes(size).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A frame of each kind that ends by itself, with zeros where they may be.
    fn known() -> Vec<Vec<u8>> {
        vec![
            vec![0x01],
            vec![0x02, 9, 0, 0, 0],
            vec![0x02, 0x40, 9, 0x40, 0, 2, 0, 1, 0, 0, 0],
            vec![0x03, 9, 0, 1, 0, 0, 0, 7, 0, 0],
            vec![0x04, 4, 0, 0],
            vec![0x05, 4, 0],
            vec![0x06, 0, 3, 0, 0, 0],
            vec![0x07, 2, 0, 0],
            vec![0x0a, 4, 3, 0, 0, 0],
            vec![0x0e, 4, 0x40, 0, 0x40, 2, 0, 0],
            vec![0x0f, 4, 0, 0],
            vec![0x10, 0],
            vec![0x11, 4, 0],
            vec![0x12, 0],
            vec![0x13, 0],
            vec![0x14, 0],
            vec![0x15, 4, 0],
            vec![0x16, 0],
            vec![0x17, 0],
            [&[0x18, 1, 0, 2, 0, 0][..], &[0; 16]].concat(),
            vec![0x19, 0],
            [&[0x1a][..], &[0; 8]].concat(),
            [&[0x1b][..], &[0; 8]].concat(),
            vec![0x1c, 0, 0, 1, 0],
            vec![0x1d, 0, 0],
            vec![0x1e],
        ]
    }

    #[test]
    fn padding_is_dropped_behind_each_kind_of_frame_and_nothing_else() {
        for frame in known() {
            for padding in [0, 1, 63, 64, 65, 1000] {
                let padded = [&frame[..], &vec![0; padding]].concat();
                assert_eq!(size_without_padding(&padded), frame.len(), "{frame:?} and {padding}");
            }
            for cut in 1..frame.len() {
                let size = size_without_padding(&frame[..cut]);
                assert_eq!(size, cut, "{frame:?} cut at {cut}");
            }
        }
    }

    #[test]
    fn what_goes_on_to_the_end_or_is_not_known_stays() {
        for kept in [&[0x08, 4, 1, 0, 0][..], &[0x0c, 4, 0, 1, 0, 0], &[0x21, 0, 0], &[0x40, 0x30, 0, 0]] {
            assert_eq!(size_without_padding(kept), kept.len(), "{kept:?}");
        }
        assert_eq!(size_without_padding(&[]), 0);
        assert_eq!(size_without_padding(&[0]), 1, "a packet has a frame");
        assert_eq!(size_without_padding(&[0; 1200]), 1);
    }

    proptest! {
        #[test]
        fn frames_stay_whole_whatever_lies_between_them(
            picked in prop::collection::vec((0..known().len(), 0..100_usize), 1..20),
        ) {
            let mut packet = Vec::new();
            let mut size = 0;
            for (frame, padding) in picked {
                packet.extend_from_slice(&known()[frame]);
                size = packet.len();
                packet.resize(size + padding, 0);
            }
            prop_assert_eq!(size_without_padding(&packet), size);
        }

        #[test]
        fn any_bytes_are_cut_behind_their_last_that_is_not_zero(bytes in prop::collection::vec(0..4_u8, 1..200)) {
            let size = size_without_padding(&bytes);
            prop_assert!(size >= 1 && bytes[size..].iter().all(|byte| *byte == 0));
        }
    }
}
