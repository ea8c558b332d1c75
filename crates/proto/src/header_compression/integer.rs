//! Integers with a prefix (RFC 7541, section 5.1).

/// The reason why an integer cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerError {
    /// The block ends within it.
    Truncated,
    /// It is too large.
    TooLarge,
}

/// The number of bytes that may follow the prefix in HTTP/2: four hold more than any length, index or size that is
/// allowed.
const CONTINUATION_MAX: u32 = 4;

/// The number of bytes that may follow the prefix in HTTP/3: nine hold 62 bits.
///
/// <https://www.rfc-editor.org/rfc/rfc9204#section-4.1.1>
pub(crate) const CONTINUATION_MAX_U62: u32 = 9;

/// The largest integer in HTTP/3.
const U62_MAX: u64 = (1 << 62) - 1;

/// Reads an integer with a prefix of `prefix` bits (1 to 8) off the input, as HTTP/2 has them.
pub(crate) fn decode(prefix: u32, input: &mut &[u8]) -> Result<usize, IntegerError> {
    Ok(read(prefix, CONTINUATION_MAX, input)? as usize)
}

/// Reads an integer with a prefix of `prefix` bits (1 to 8) off the input, as HTTP/3 has them: up to 2^62 - 1.
pub(crate) fn decode_u62(prefix: u32, input: &mut &[u8]) -> Result<u64, IntegerError> {
    let value = read(prefix, CONTINUATION_MAX_U62, input)?;
    if value <= U62_MAX { Ok(value) } else { Err(IntegerError::TooLarge) }
}

#[inline]
fn read(prefix: u32, continuation_max: u32, input: &mut &[u8]) -> Result<u64, IntegerError> {
    let (&first, mut rest) = input.split_first().ok_or(IntegerError::Truncated)?;
    let most = (1_u64 << prefix) - 1;
    let mut value = u64::from(first) & most;
    if value == most {
        let mut read = 0;
        loop {
            let (&byte, after) = rest.split_first().ok_or(IntegerError::Truncated)?;
            rest = after;
            if read == continuation_max {
                return Err(IntegerError::TooLarge);
            }
            value += (u64::from(byte) & 0x7f) << (7 * read);
            read += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *input = rest;
    Ok(value)
}

/// Appends an integer with a prefix of `prefix` bits, below the bits of `flags`.
pub(crate) fn encode(value: u64, prefix: u32, flags: u8, out: &mut Vec<u8>) {
    let most = (1_u64 << prefix) - 1;
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
            assert_eq!(decode(prefix, &mut &bytes[..]), Ok(value as usize));
            assert_eq!(decode_u62(prefix, &mut &bytes[..]), Ok(value));
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

    #[test]
    fn integers_of_http3_have_62_bits() {
        for prefix in 1..=8 {
            let mut bytes = Vec::new();
            encode(U62_MAX, prefix, 0, &mut bytes);
            assert_eq!(decode_u62(prefix, &mut &bytes[..]), Ok(U62_MAX));
            assert_eq!(decode(prefix, &mut &bytes[..]), Err(IntegerError::TooLarge));
            for cut in 0..bytes.len() {
                assert_eq!(decode_u62(prefix, &mut &bytes[..cut]), Err(IntegerError::Truncated));
            }
            bytes.clear();
            encode(U62_MAX + 1, prefix, 0, &mut bytes);
            assert_eq!(decode_u62(prefix, &mut &bytes[..]), Err(IntegerError::TooLarge));
        }
        let most = [&[0xff][..], &[0xff; 8], &[0x7f]].concat();
        assert_eq!(decode_u62(8, &mut &most[..]), Err(IntegerError::TooLarge), "63 bits");
        // Zeros may be put behind a number, up to a limit.
        assert_eq!(decode_u62(8, &mut &[&[0xff][..], &[0x80; 8], &[0]].concat()[..]), Ok(255));
        let endless = [&[0xff][..], &[0x80; 9], &[0]].concat();
        assert_eq!(decode_u62(8, &mut &endless[..]), Err(IntegerError::TooLarge));
    }

    proptest! {
        #[test]
        fn what_http3_encoded_is_decoded(value in 0..=U62_MAX, zeros in 0..62_u32, prefix in 1..=8_u32, rest in prop::collection::vec(any::<u8>(), 0..4)) {
            let value = value >> zeros;
            let mut bytes = Vec::new();
            encode(value, prefix, 0, &mut bytes);
            bytes.extend_from_slice(&rest);
            let mut input = &bytes[..];
            prop_assert_eq!(decode_u62(prefix, &mut input), Ok(value));
            prop_assert_eq!(input, &rest[..]);
        }

        #[test]
        fn what_was_encoded_is_decoded(value in 0..0x0fff_ffff_u64, prefix in 1..=8_u32, rest in prop::collection::vec(any::<u8>(), 0..4)) {
            let mut bytes = Vec::new();
            encode(value, prefix, 0, &mut bytes);
            bytes.extend_from_slice(&rest);
            let mut input = &bytes[..];
            prop_assert_eq!(decode(prefix, &mut input), Ok(value as usize));
            prop_assert_eq!(input, &rest[..]);
        }
    }
}
