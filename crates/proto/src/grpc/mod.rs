//! gRPC over HTTP/2, the client's side as values: messages with their prefixes, statuses, deadlines.
//!
//! <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>

mod messages;
mod status;

use std::time::Duration;

pub use self::messages::{Messages, frame};
pub use self::status::{Outcome, Status, is_compressed, is_reply, outcome};

/// The type of requests and replies.
pub const MEDIA_TYPE: &str = "application/grpc";

/// The compression of messages that requests accept, as every client of gRPC does.
pub const COMPRESSION: &str = "gzip";

/// A deadline as `grpc-timeout` has it: up to eight digits and a unit, the most exact that holds it, rounded up.
#[must_use]
pub fn timeout(deadline: Duration) -> String {
    const UNITS: [(u128, &str); 6] = [
        (1, "n"),
        (1_000, "u"),
        (1_000_000, "m"),
        (1_000_000_000, "S"),
        (60_000_000_000, "M"),
        (3_600_000_000_000, "H"),
    ];
    let nanos = deadline.as_nanos();
    let fitting = UNITS.into_iter().map(|(unit, letter)| (nanos.div_ceil(unit), letter));
    let fitting = fitting.into_iter().find(|&(count, _)| count <= 99_999_999);
    fitting.map_or_else(|| "99999999H".to_owned(), |(count, letter)| format!("{count}{letter}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_have_eight_digits_at_most() {
        for (deadline, expected) in [
            (Duration::from_nanos(7), "7n"),
            (Duration::from_millis(50), "50000000n"),
            (Duration::from_millis(500), "500000u"),
            (Duration::from_secs(100), "100000m"),
            (Duration::from_nanos(100_000_001), "100001u"),
            (Duration::from_secs(200_000), "200000S"),
            (Duration::MAX, "99999999H"),
        ] {
            assert_eq!(timeout(deadline), expected, "{deadline:?}");
        }
    }
}
