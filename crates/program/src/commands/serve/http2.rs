//! The options of `httperf serve` that are about HTTP/2.

use std::ops::RangeInclusive;

use httperf_command_line::grammar::{Opt, ParseStop, Rule, Value, any_of};
use httperf_origin::{Http2, parse_size};

use super::ServeArgs;

/// Arguments about HTTP/2.
#[derive(Debug, Default)]
pub(super) struct Http2Args {
    is_unwanted: bool,
    config: Http2,
}

impl Http2Args {
    /// Its meaning.
    pub(super) fn config(self) -> Option<Http2> {
        (!self.is_unwanted).then_some(self.config)
    }
}

/// For what is said about HTTP/2.
const NOT_WITHOUT_HTTP2: Rule = any_of(&["no-http2"]);

pub(super) const OPTIONS: &[Opt<ServeArgs>] = &[
    Opt::flag("no-http2", "speaks only HTTP/1")
        .details(&[
            "Default: with TLS the client's offer decides (ALPN). Without TLS, a connection that begins \
             with HTTP/2's preface is one of HTTP/2 (prior knowledge).",
        ])
        .apply(|args, _| {
            args.http2.is_unwanted = true;
            Ok(())
        }),
    Opt::with_value("h2-window", "N", "lets clients send N bytes of a request's body ahead on each stream")
        .details(&["Default: 1m. From 1 byte to 2147483647. A request for /h2-window/N changes it for the \
             streams of its connection, by a SETTINGS frame."])
        .conflicts(&[NOT_WITHOUT_HTTP2])
        .apply(|args, value| {
            let size = size("a window of 1 to 2147483647 bytes", WINDOWS, value)?;
            args.http2.config.window = size;
            Ok(())
        }),
    Opt::with_value(
        "h2-connection-window",
        "N",
        "lets clients send N bytes of bodies ahead on all streams of a connection together",
    )
    .details(&[
        "Default: 1m. From 1 byte to 2147483647. HTTP/2 grants 65535 at first: less takes effect when \
         those are used up.",
    ])
    .conflicts(&[NOT_WITHOUT_HTTP2])
    .apply(|args, value| {
        let size = size("a window of 1 to 2147483647 bytes", WINDOWS, value)?;
        args.http2.config.connection_window = size;
        Ok(())
    }),
    Opt::with_value("h2-max-streams", "N", "lets clients have N streams open at once on a connection")
        .details(&["Default: 1000. A stream beyond that is refused (REFUSED_STREAM)."])
        .conflicts(&[NOT_WITHOUT_HTTP2])
        .apply(|args, value| {
            let streams = value.unsigned().and_then(|streams| u32::try_from(streams).ok());
            let streams = streams.filter(|&streams| streams > 0);
            args.http2.config.streams =
                streams.ok_or_else(|| value.expected("a number of streams above 0"))?;
            Ok(())
        }),
    Opt::with_value("h2-max-frame", "N", "lets clients send frames of up to N bytes")
        .details(&["Default: 16k, which is the least. At most 16777215."])
        .conflicts(&[NOT_WITHOUT_HTTP2])
        .apply(|args, value| {
            let size = size("a frame size of 16384 to 16777215 bytes", FRAMES, value)?;
            args.http2.config.frame_size = size;
            Ok(())
        }),
    Opt::with_value("h2-header-table", "N", "lets clients compress headers by a table of N bytes")
        .details(&["Default: 4k. With 0 they can use no table but the fixed one."])
        .conflicts(&[NOT_WITHOUT_HTTP2])
        .apply(|args, value| {
            let size = size("a table of 0 to 1048576 bytes", TABLES, value)?;
            args.http2.config.header_table = size;
            Ok(())
        }),
];

const WINDOWS: RangeInclusive<u32> = 1..=(1 << 31) - 1;
const FRAMES: RangeInclusive<u32> = 1 << 14..=(1 << 24) - 1;
/// HTTP/2 would allow more, and each connection could make the server hold as much.
const TABLES: RangeInclusive<u32> = 0..=1 << 20;

fn size(expected: &str, range: RangeInclusive<u32>, value: Value<'_>) -> Result<u32, ParseStop> {
    let size = std::str::from_utf8(value.bytes()).ok().and_then(|text| parse_size(text).ok());
    let size = size.and_then(|size| u32::try_from(size).ok()).filter(|size| range.contains(size));
    size.ok_or_else(|| value.expected(expected))
}

#[cfg(test)]
mod tests {
    use httperf_command_line::grammar::parse::words;

    use super::super::settings;
    use super::*;

    fn http2(argv: &[&str]) -> Option<Http2> {
        settings(&words(argv)).unwrap().config.http2
    }

    #[track_caller]
    fn check_rejected(argv: &[&str], expected: &str) {
        assert_eq!(settings(&words(argv)).unwrap_err(), ParseStop::rejected(expected), "{argv:?}");
    }

    #[test]
    fn every_option_finds_its_place() {
        let typed = [
            "--h2-window=1",
            "--h2-connection-window=2g",
            "--h2-connection-window=64k",
            "--h2-max-streams=7",
            "--h2-max-frame=1m",
            "--h2-header-table=0",
        ];
        let expected =
            Http2 { window: 1, connection_window: 65_536, streams: 7, frame_size: 1 << 20, header_table: 0 };
        check_rejected(
            &typed[..2],
            "--h2-connection-window: expected a window of 1 to 2147483647 bytes, got `2g`",
        );
        assert_eq!(http2(&[&typed[..1], &typed[2..]].concat()), Some(expected));
        assert_eq!(http2(&[]), Some(Http2::default()));
        assert_eq!(http2(&["--no-http2"]), None);
    }

    #[test]
    fn a_bad_value_is_answered_with_what_would_do() {
        for (argument, expected) in [
            ("--h2-window=0", "--h2-window: expected a window of 1 to 2147483647 bytes, got `0`"),
            ("--h2-window=x", "--h2-window: expected a window of 1 to 2147483647 bytes, got `x`"),
            (
                "--h2-connection-window=2147483648",
                "--h2-connection-window: expected a window of 1 to 2147483647 bytes, got `2147483648`",
            ),
            ("--h2-max-streams=0", "--h2-max-streams: expected a number of streams above 0, got `0`"),
            ("--h2-max-streams=-1", "--h2-max-streams: expected a number of streams above 0, got `-1`"),
            (
                "--h2-max-frame=16383",
                "--h2-max-frame: expected a frame size of 16384 to 16777215 bytes, got `16383`",
            ),
            (
                "--h2-max-frame=16m",
                "--h2-max-frame: expected a frame size of 16384 to 16777215 bytes, got `16m`",
            ),
            ("--h2-header-table=2m", "--h2-header-table: expected a table of 0 to 1048576 bytes, got `2m`"),
        ] {
            check_rejected(&[argument], expected);
        }
    }

    #[test]
    fn without_http_2_nothing_can_be_said_about_it() {
        check_rejected(
            &["--h2-max-streams=7", "--no-http2", "--h2-window=1"],
            "--h2-window cannot be used with --no-http2",
        );
    }
}
