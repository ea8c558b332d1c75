//! Checks of replies.

use std::str::FromStr;

use crate::args::Args;
use crate::grammar::{Opt, ParseStop, Value};

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::flag("compressed", "asks for compressed replies, and decompresses them to count and to check them")
        .details(&[
            "Sends `Accept-Encoding: gzip, br, zstd`, unless --header says another. Full reports show the \
             bytes of compressed bodies both ways: as they came, and decompressed. A body that cannot be \
             decompressed is counted as an unexpected reply.",
        ])
        .sets(&["replies.compressed"])
        .apply(|args, _| {
            args.material.replies.compressed = true;
            Ok(())
        }),
    Opt::with_value("expect-status", "LIST", "counts replies of other statuses as unexpected")
        .details(&[
            "A list such as `200,204,3xx,500-503`. Unexpected replies are counted by what is unexpected \
             in them, and their times are kept apart from those of the others, in all reports but the \
             classic one.",
        ])
        .sets(&["replies.expect.statuses"])
        .apply(|args, value| {
            let expected = "statuses such as 200,204,3xx or 200-299";
            args.material.replies.expect.statuses = Some(parse(expected, value)?);
            Ok(())
        }),
    Opt::with_value("expect-size", "N[-M]", "counts replies with bodies of other sizes as unexpected")
        .details(&["In bytes, of the body as it was before it was compressed. As --expect-status."])
        .sets(&["replies.expect.size"])
        .apply(|args, value| {
            let expected = "a number of bytes, or a range such as 100-200";
            args.material.replies.expect.size = Some(parse(expected, value)?);
            Ok(())
        }),
    Opt::with_value(
        "expect-body-hash",
        "sha256:HEX",
        "counts replies with bodies of another SHA-256 as unexpected",
    )
    .details(&["64 hexadecimal digits, as `sha256sum` prints them, of the body as it was before it \
             was compressed. As --expect-status."])
    .sets(&["replies.expect.sha256"])
    .apply(|args, value| {
        let expected = "sha256: and 64 hexadecimal digits";
        args.material.replies.expect.sha256 = Some(parse(expected, value)?);
        Ok(())
    }),
];

fn parse<T: FromStr>(expected: &str, value: Value<'_>) -> Result<T, ParseStop> {
    let text = std::str::from_utf8(value.bytes()).ok();
    text.and_then(|text| text.parse().ok()).ok_or_else(|| value.expected(expected))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::parse::words;

    #[track_caller]
    fn check_error(argument: &str, expected: &str) {
        let stop = Args::default().parse(&words(&[argument])).unwrap_err();
        assert_eq!(stop, ParseStop::rejected(expected), "{argument}");
    }

    #[test]
    fn a_correct_reply_is_described_by_its_status_its_size_and_its_digest() {
        let mut args = Args::default();
        let digest = "0".repeat(64);
        let hash = format!("--expect-body-hash={digest}");
        args.parse(&words(&["--expect-status=2xx", "--expect-size=5-9", &hash, "--compressed"])).unwrap();
        let replies = args.material.replies;
        assert!(replies.compressed);
        assert_eq!(replies.expect.statuses.unwrap().to_string(), "2xx");
        assert_eq!(replies.expect.size.unwrap().to_string(), "5-9");
        assert_eq!(replies.expect.sha256.unwrap().to_string(), digest);
    }

    #[test]
    fn what_describes_no_reply_is_refused() {
        check_error(
            "--expect-status=9xx",
            "--expect-status: expected statuses such as 200,204,3xx or 200-299, got `9xx`",
        );
        check_error(
            "--expect-size=1k",
            "--expect-size: expected a number of bytes, or a range such as 100-200, got `1k`",
        );
        check_error(
            "--expect-body-hash=sha256:abc",
            "--expect-body-hash: expected sha256: and 64 hexadecimal digits, got `sha256:abc`",
        );
    }
}
