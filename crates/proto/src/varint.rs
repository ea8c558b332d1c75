//! Integers of variable length (RFC 9000, section 16): the two highest bits tell the size.
//!
//! <https://www.rfc-editor.org/rfc/rfc9000#section-16>

/// The largest integer.
pub(crate) const MAX: u64 = (1 << 62) - 1;

/// The size of the largest integers.
const SIZE_MAX: usize = 8;

/// Returns the integer that the bytes begin with, and its size; `None` if it is cut.
pub(crate) fn read(bytes: &[u8]) -> Option<(u64, usize)> {
    let &first = bytes.first()?;
    let size = size_from(first);
    let (_, rest) = bytes.get(..size)?.split_first()?;
    let value = rest.iter().fold(u64::from(first & 0x3f), |value, &byte| value << 8 | u64::from(byte));
    Some((value, size))
}

/// Appends an integer of at most [`MAX`] in the least size.
pub(crate) fn write(value: u64, out: &mut Vec<u8>) {
    match size(value) {
        1 => out.push(value as u8),
        2 => out.extend_from_slice(&(value as u16 | 0x4000).to_be_bytes()),
        4 => out.extend_from_slice(&(value as u32 | 0x8000_0000).to_be_bytes()),
        _ => out.extend_from_slice(&(value | 0xc000_0000_0000_0000).to_be_bytes()),
    }
}

/// Returns the least size of an integer, which is at most [`MAX`].
pub(crate) fn size(value: u64) -> usize {
    assert!(value <= MAX, "integers have 62 bits");
    match value {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => SIZE_MAX,
    }
}

/// Returns the size of an integer that begins with this byte.
fn size_from(first: u8) -> usize {
    1 << (first >> 6)
}

/// The bytes of an integer that is cut across reads.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Partial {
    bytes: [u8; SIZE_MAX],
    count: usize,
}

impl Partial {
    /// Reads an integer off the input, or takes all of it if the integer goes on beyond it.
    pub(crate) fn read(&mut self, input: &mut &[u8]) -> Option<u64> {
        if self.count == 0
            && let Some((value, size)) = read(input)
        {
            *input = &input[size..];
            return Some(value);
        }
        while let Some((&byte, rest)) = input.split_first() {
            *input = rest;
            self.bytes[self.count] = byte;
            self.count += 1;
            if self.count == size_from(self.bytes[0]) {
                let (value, _) = read(&self.bytes[..self.count])?;
                self.count = 0;
                return Some(value);
            }
        }
        None
    }

    /// Returns true if no part of an integer has been read.
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn integers_are_those_of_the_examples() {
        // RFC 9000, appendix A.1.
        for (bytes, value) in [
            (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], 151_288_809_941_952_652),
            (&[0x9d, 0x7f, 0x3e, 0x7d], 494_878_333),
            (&[0x7b, 0xbd], 15_293),
            (&[0x25], 37),
        ] {
            assert_eq!(read(bytes), Some((value, bytes.len())));
            let mut out = Vec::new();
            write(value, &mut out);
            assert_eq!(out, bytes);
        }
        assert_eq!(read(&[0x40, 0x25]), Some((37, 2)), "in more bytes than it takes");
    }

    #[test]
    fn sizes_change_where_the_bits_run_out() {
        for (value, expected) in [
            (0, 1),
            (63, 1),
            (64, 2),
            (16_383, 2),
            (16_384, 4),
            (1_073_741_823, 4),
            (1_073_741_824, 8),
            (MAX, 8),
        ] {
            assert_eq!(size(value), expected);
            let mut out = Vec::new();
            write(value, &mut out);
            assert_eq!(read(&out), Some((value, expected)));
            assert_eq!(read(&out[..expected - 1]), None);
        }
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_wherever_it_is_cut(
            values in prop::collection::vec((0..=MAX, 0..62_u32), 1..6),
            cut in 0..50_usize,
        ) {
            let values: Vec<u64> = values.into_iter().map(|(value, zeros)| value >> zeros).collect();
            let mut bytes = Vec::new();
            values.iter().for_each(|&value| write(value, &mut bytes));
            let (first, second) = bytes.split_at(cut.min(bytes.len()));
            let (mut partial, mut got) = (Partial::default(), Vec::new());
            for mut input in [first, second] {
                while let Some(value) = partial.read(&mut input) {
                    got.push(value);
                }
                prop_assert!(input.is_empty());
            }
            prop_assert!(partial.is_empty());
            prop_assert_eq!(got, values);
        }
    }
}
