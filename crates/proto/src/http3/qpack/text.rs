//! Strings as they lie in sections and instructions (RFC 9204, section 4.1.2).

use crate::header_compression::huffman::{self, Malformed};
use crate::header_compression::integer::{self, IntegerError};

/// The form and size of a string, which follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TextHeader {
    is_huffman: bool,
    size: u64,
}

/// A string, perhaps still Huffman-coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Text<'a> {
    is_huffman: bool,
    bytes: &'a [u8],
}

/// The longest code of a byte is 30 bits.
const CODE_GROWTH_MAX: u64 = 4;

impl TextHeader {
    /// Reads the size of a string, with a prefix of `prefix` bits below the bit for the Huffman code.
    pub(super) fn read(prefix: u32, input: &mut &[u8]) -> Result<Self, IntegerError> {
        let is_huffman = input.first().is_some_and(|first| first >> prefix & 1 != 0);
        Ok(Self { is_huffman, size: integer::decode_u62(prefix, input)? })
    }

    /// Returns whether the string, decoded, surely has more bytes than this.
    pub(super) fn is_beyond(self, size_max: usize) -> bool {
        let least = if self.is_huffman { self.size / CODE_GROWTH_MAX } else { self.size };
        least > size_max as u64
    }

    /// Reads the string; `None` if the input ends within it.
    pub(super) fn text<'a>(self, input: &mut &'a [u8]) -> Option<Text<'a>> {
        let (bytes, rest) = input.split_at_checked(usize::try_from(self.size).ok()?)?;
        *input = rest;
        Some(Text { is_huffman: self.is_huffman, bytes })
    }
}

impl<'a> Text<'a> {
    /// Returns what the string says: where it lies, or decoded into `aside`.
    pub(super) fn decode(self, aside: &'a mut Vec<u8>) -> Result<&'a [u8], Malformed> {
        if !self.is_huffman {
            return Ok(self.bytes);
        }
        aside.clear();
        huffman::decode(self.bytes, aside)?;
        Ok(aside)
    }

    /// Puts what the string says into `out`, in place of what is there.
    pub(super) fn decode_into(self, out: &mut Vec<u8>) -> Result<(), Malformed> {
        out.clear();
        if self.is_huffman {
            return huffman::decode(self.bytes, out);
        }
        out.extend_from_slice(self.bytes);
        Ok(())
    }
}
