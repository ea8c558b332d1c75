//! Frames (RFC 6455, section 5.2): their headers and masks.
//!
//! ```text
//!   FIN RSV1-3 opcode │ MASK length(7) │ length(16 or 64) │ masking key │ payload
//!          8 bits     │     8 bits     │     optional     │  4, if MASK │
//! ```

use super::Violation;

/// The size of the longest header of a frame.
pub(super) const HEADER_SIZE_MAX: usize = 14;

/// The size of the payload of a control frame, at most.
///
/// <https://www.rfc-editor.org/rfc/rfc6455#section-5.5>
pub(super) const CONTROL_SIZE_MAX: usize = 125;

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// It is the last of its message.
    pub(super) is_last: bool,
    /// Its message is compressed (RSV1; RFC 7692, section 6).
    pub(super) is_compressed: bool,
    pub(super) opcode: Opcode,
    pub(super) mask: Option<[u8; 4]>,
    /// The size of its payload in bytes.
    pub(super) length: u64,
}

/// What a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    fn of(code: u8) -> Option<Self> {
        Some(match code {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xA => Self::Pong,
            _ => return None,
        })
    }

    fn code(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xA,
        }
    }

    pub(super) fn is_control(self) -> bool {
        matches!(self, Self::Close | Self::Ping | Self::Pong)
    }
}

impl Header {
    /// Reads a header. Returns it with its size; `None` if it is incomplete.
    pub(super) fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Violation> {
        let &[first, second, ref rest @ ..] = bytes else {
            // What is wrong with the first byte is found without the second.
            return bytes.first().map_or(Ok(None), |&first| Self::parse_first(first).map(|_| None));
        };
        let (is_last, is_compressed, opcode) = Self::parse_first(first)?;
        let (length, rest) = match second & 0x7F {
            126 => match rest.split_first_chunk() {
                Some((length, rest)) => (u64::from(u16::from_be_bytes(*length)), rest),
                None => return Ok(None),
            },
            127 => match rest.split_first_chunk() {
                Some((length, rest)) => (u64::from_be_bytes(*length), rest),
                None => return Ok(None),
            },
            length => (u64::from(length), rest),
        };
        let least = match second & 0x7F {
            126 => 126,
            127 => 0x1_0000,
            _ => 0,
        };
        if length < least {
            return Err(Violation::LongLength);
        }
        if length >> 63 != 0 {
            return Err(Violation::NegativeLength);
        }
        if opcode.is_control() {
            if length > CONTROL_SIZE_MAX as u64 {
                return Err(Violation::LongControl);
            }
            if !is_last {
                return Err(Violation::FragmentedControl);
            }
        }
        let (mask, rest) = if second & 0x80 == 0 {
            (None, rest)
        } else {
            match rest.split_first_chunk() {
                Some((mask, rest)) => (Some(*mask), rest),
                None => return Ok(None),
            }
        };
        let header = Self { is_last, is_compressed, opcode, mask, length };
        Ok(Some((header, bytes.len() - rest.len())))
    }

    fn parse_first(first: u8) -> Result<(bool, bool, Opcode), Violation> {
        let opcode = Opcode::of(first & 0x0F).ok_or(Violation::Opcode)?;
        if first & 0x30 != 0 {
            return Err(Violation::ReservedBits);
        }
        Ok((first & 0x80 != 0, first & 0x40 != 0, opcode))
    }

    /// Appends it.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let bits = u8::from(self.is_last) << 7 | u8::from(self.is_compressed) << 6;
        let masked = u8::from(self.mask.is_some()) << 7;
        out.push(bits | self.opcode.code());
        match self.length {
            0..=125 => out.push(masked | self.length as u8),
            126..=0xFFFF => {
                out.push(masked | 126);
                out.extend_from_slice(&(self.length as u16).to_be_bytes());
            }
            _ => {
                out.push(masked | 127);
                out.extend_from_slice(&self.length.to_be_bytes());
            }
        }
        out.extend_from_slice(self.mask.as_ref().map_or(&[], |mask| &mask[..]));
    }
}

/// Masks bytes, or takes their mask off (RFC 6455, section 5.3). `offset`: that of the first of them in the payload.
pub(super) fn apply_mask(bytes: &mut [u8], mask: [u8; 4], offset: u64) {
    let mut key = mask;
    key.rotate_left((offset % 4) as usize);
    let wide = u64::from(u32::from_ne_bytes(key));
    let wide = wide | wide << 32;
    let (words, rest) = bytes.as_chunks_mut::<8>();
    for word in words {
        *word = (u64::from_ne_bytes(*word) ^ wide).to_ne_bytes();
    }
    rest.iter_mut().zip(key.iter().cycle()).for_each(|(byte, key)| *byte ^= key);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn header(is_last: bool, opcode: Opcode, mask: Option<[u8; 4]>, length: u64) -> Header {
        Header { is_last, is_compressed: false, opcode, mask, length }
    }

    /// The examples of RFC 6455, section 5.7.
    #[test]
    fn headers_are_those_of_the_examples() {
        let key = [0x37, 0xFA, 0x21, 0x3D];
        let mask = Some(key);
        for (bytes, expected) in [
            (&[0x81, 0x05][..], header(true, Opcode::Text, None, 5)),
            (&[0x81, 0x85, 0x37, 0xFA, 0x21, 0x3D], header(true, Opcode::Text, mask, 5)),
            (&[0x01, 0x03], header(false, Opcode::Text, None, 3)),
            (&[0x80, 0x02], header(true, Opcode::Continuation, None, 2)),
            (&[0x89, 0x05], header(true, Opcode::Ping, None, 5)),
            (&[0x8A, 0x85, 0x37, 0xFA, 0x21, 0x3D], header(true, Opcode::Pong, mask, 5)),
            (&[0x82, 0x7E, 0x01, 0x00], header(true, Opcode::Binary, None, 256)),
            (&[0x82, 0x7F, 0, 0, 0, 0, 0, 1, 0, 0], header(true, Opcode::Binary, None, 65536)),
        ] {
            assert_eq!(Header::parse(bytes), Ok(Some((expected, bytes.len()))), "{bytes:x?}");
            let mut written = Vec::new();
            expected.write(&mut written);
            assert_eq!(written, bytes);
        }
        let mut hello = *b"Hello";
        apply_mask(&mut hello, key, 0);
        assert_eq!(hello, [0x7F, 0x9F, 0x4D, 0x51, 0x58]);
    }

    #[test]
    fn what_no_frame_may_be_is_refused() {
        for (bytes, expected) in [
            (&[0x83][..], Violation::Opcode),
            (&[0x8B, 0], Violation::Opcode),
            (&[0xA1], Violation::ReservedBits),
            (&[0x91, 0], Violation::ReservedBits),
            (&[0x81, 126, 0, 125], Violation::LongLength),
            (&[0x81, 127, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF], Violation::LongLength),
            (&[0x82, 127, 0x80, 0, 0, 0, 0, 0, 0, 0], Violation::NegativeLength),
            (&[0x89, 126, 0, 126], Violation::LongControl),
            (&[0x08, 0], Violation::FragmentedControl),
        ] {
            assert_eq!(Header::parse(bytes), Err(expected), "{bytes:x?}");
        }
    }

    proptest! {
        #[test]
        fn headers_survive_every_cut(is_last: bool, mask: Option<[u8; 4]>, length in 0_u64..1 << 40, shift in 0_u32..40) {
            let written = Header { is_last, is_compressed: true, opcode: Opcode::Binary, mask, length: length >> shift };
            let mut bytes = Vec::new();
            written.write(&mut bytes);
            for cut in 0..bytes.len() {
                prop_assert_eq!(Header::parse(&bytes[..cut]), Ok(None));
            }
            prop_assert_eq!(Header::parse(&bytes), Ok(Some((written, bytes.len()))));
        }

        #[test]
        fn masks_are_taken_off_in_pieces(bytes: Vec<u8>, mask: [u8; 4], cut: prop::sample::Index) {
            let mut masked = bytes.clone();
            apply_mask(&mut masked, mask, 0);
            let bytewise: Vec<u8> = bytes.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
            prop_assert_eq!(&masked, &bytewise);
            let cut = if bytes.is_empty() { 0 } else { cut.index(bytes.len()) };
            let (first, second) = masked.split_at_mut(cut);
            apply_mask(first, mask, 0);
            apply_mask(second, mask, cut as u64);
            prop_assert_eq!(masked, bytes);
        }
    }
}
