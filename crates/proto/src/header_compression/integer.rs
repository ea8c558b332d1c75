//! Integers with a prefix (RFC 7541, section 5.1).

/// The reason why an integer cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerError {
    /// The block ends within it.
    Truncated,
    /// It is too large.
    TooLarge,
}

/// The number of bytes that may follow the prefix: four hold more than any length, index or size that is
/// allowed.
const CONTINUATION_MAX: u32 = 4;

/// Reads an integer with a prefix of `prefix` bits (1 to 8) off the input.
pub(crate) fn decode(prefix: u32, input: &mut &[u8]) -> Result<usize, IntegerError> {
    let (&first, mut rest) = input.split_first().ok_or(IntegerError::Truncated)?;
    let most = (1_u32 << prefix) - 1;
    let mut value = u32::from(first) & most;
    if value == most {
        let mut read = 0;
        loop {
            let (&byte, after) = rest.split_first().ok_or(IntegerError::Truncated)?;
            rest = after;
            if read == CONTINUATION_MAX {
                return Err(IntegerError::TooLarge);
            }
            value += (u32::from(byte) & 0x7f) << (7 * read);
            read += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *input = rest;
    Ok(value as usize)
}

/// Appends an integer with a prefix of `prefix` bits, below the bits of `flags`.
pub(crate) fn encode(value: usize, prefix: u32, flags: u8, out: &mut Vec<u8>) {
    let most = (1_usize << prefix) - 1;
    if value < most {
        out.push(flags | value as u8);
        return;
    }
    out.push(flags | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(0x80 | (rest & 0x7f) as u8);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn integers_are_those_of_the_examples() {
        // RFC 7541, appendix C.1.
        for (value, prefix, bytes) in [(10, 5, &[10][..]), (1337, 5, &[31, 154, 10]), (42, 8, &[42])] {
            let mut out = Vec::new();
            encode(value, prefix, 0, &mut out);
            assert_eq!(out, bytes);
            assert_eq!(decode(prefix, &mut &bytes[..]), Ok(value));
        }
    }

    #[test]
    fn what_is_cut_or_endless_is_refused() {
        assert_eq!(decode(5, &mut &[][..]), Err(IntegerError::Truncated));
        assert_eq!(decode(5, &mut &[31][..]), Err(IntegerError::Truncated));
        assert_eq!(decode(5, &mut &[31, 0x80][..]), Err(IntegerError::Truncated));
        assert_eq!(decode(5, &mut &[31, 0xff, 0xff, 0xff, 0xff, 0x01][..]), Err(IntegerError::TooLarge));
        // Zeros may be put behind a number, up to a limit.
        assert_eq!(decode(5, &mut &[31, 0x80, 0x80, 0x80, 0x00][..]), Ok(31));
        assert_eq!(decode(5, &mut &[31, 0x80, 0x80, 0x80, 0x80, 0x00][..]), Err(IntegerError::TooLarge));
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(value in 0..0x0fff_ffff_usize, prefix in 1..=8_u32, rest in prop::collection::vec(any::<u8>(), 0..4)) {
            let mut bytes = Vec::new();
            encode(value, prefix, 0, &mut bytes);
            bytes.extend_from_slice(&rest);
            let mut input = &bytes[..];
            prop_assert_eq!(decode(prefix, &mut input), Ok(value));
            prop_assert_eq!(input, &rest[..]);
        }
    }
}
