//! Replies of gRPC.

use std::time::Duration;

use httperf_proto::grpc::{Messages, Status, outcome, timeout};

/// Checks that messages are those of a plain reading of the whole, however the bytes are cut, that the outcome of a call can be
/// read from any header section and says nothing that a terminal would obey, and that a deadline is never shortened.
///
/// # Panics
/// If this is not so.
pub fn check_grpc(input: &[u8]) {
    let cut = input.len() / 2;
    for compressed in [false, true] {
        let whole = read_plainly(input, compressed);
        assert_eq!(whole, read([input], compressed), "whole");
        assert_eq!(whole, read([&input[..cut], &input[cut..]], compressed), "cut at {cut}");
        assert_eq!(whole, read(input.chunks(1), compressed), "byte by byte");
    }

    let section = [b"HTTP/2\r\n", input, b"\r\ngrpc-message: ", input, b"\r\n\r\n"].concat();
    let found = outcome(&section, 503);
    assert!(!found.message.contains(char::is_control), "{:?}", found.message);
    assert!(found.is_told || found.status == Status::of_http(503));

    if let Some((bytes, _)) = input.split_first_chunk() {
        let deadline = Duration::from_nanos(u64::from_le_bytes(*bytes));
        let text = timeout(deadline);
        let (digits, unit) = text.split_at(text.len() - 1);
        let count: u64 = digits.parse().expect("digits come before the unit");
        let nanos: u64 = match unit {
            "n" => 1,
            "u" => 1_000,
            "m" => 1_000_000,
            "S" => 1_000_000_000,
            "M" => 60_000_000_000,
            "H" => 3_600_000_000_000,
            _ => panic!("{text} has no unit"),
        };
        let sent = u128::from(count) * u128::from(nanos);
        assert!(digits.len() <= 8 && sent >= deadline.as_nanos(), "{text} for {deadline:?}");
    }
}

/// The sizes of messages, whether one is cut at the end, and whether something is no message.
type Found = (Vec<u32>, bool, bool);

fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, compressed: bool) -> Found {
    let (mut messages, mut sizes) = (Messages::new(compressed), Vec::new());
    pieces.into_iter().for_each(|piece| messages.push(piece, &mut |size| sizes.push(size)));
    (sizes, messages.is_within_message(), messages.is_malformed())
}

fn read_plainly(mut bytes: &[u8], compressed: bool) -> Found {
    let mut sizes = Vec::new();
    while let Some((&[flag, length @ ..], behind)) = bytes.split_first_chunk::<5>() {
        if flag > u8::from(compressed) {
            return (sizes, true, true);
        }
        let size = u32::from_be_bytes(length);
        let Some(rest) = behind.get(size as usize..) else { return (sizes, true, false) };
        sizes.push(size);
        bytes = rest;
    }
    (sizes, !bytes.is_empty(), false)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    #[test]
    fn arbitrary_bytes_are_read() {
        for seed in 0..5000 {
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            // Many zeros, so that there are messages.
            let mut byte = || if random.random_bool(0.6) { 0 } else { random.random_range(0..=255) };
            let input: Vec<u8> = (0..60).map(|_| byte()).collect();
            check_grpc(&input[..seed as usize % 60]);
        }
    }
}
