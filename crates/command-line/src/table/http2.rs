//! The parameters of HTTP/2, once `--http-version` asks for it.

use httperf_plan::{Bounded, units};

use super::rules::{KEPT_BUSY, NOT_OF_ARRIVALS, OVER_HTTP2};
use crate::args::Args;
use crate::grammar::{Opt, ParseStop, Value, any_of};
use crate::values::positive;

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::with_value(
        "streams",
        "N",
        "keeps up to N calls outstanding on each connection of a closed loop or a pool",
    )
    .details(&[
        "Default: 1; with --request-rate and without --concurrency, as many as the server allows. For HTTP/2 and HTTP/3 what --pipeline is for HTTP/1.1: each reply makes way for the next \
             call. A server that allows fewer streams at once makes calls wait; the report says for how \
             long. A connection of --http-version=auto that comes to speak HTTP/1.1 has one call \
             outstanding.",
        "In other workloads --burst-length and --max-piped-calls say how many streams there are at once.",
    ])
    .conflicts(&[NOT_OF_ARRIVALS, any_of(&["burst-length"])])
    .needs(&[
        any_of(&["http-version=2", "http-version=3", "http-version=auto"])
            .because("over HTTP/1.1, --pipeline says how many calls may be outstanding"),
        KEPT_BUSY,
    ])
    .apply(|args, value| {
        args.http2.streams = Some(positive(value)?);
        Ok(())
    }),
    Opt::with_value(
        "h2-window",
        "BYTES",
        "lets the server send up to this many bytes of a reply ahead (flow control)",
    )
    .details(&[
        "Default: 6m. Range: 1 to 2147483647. A `k`, `m` or `g` behind the number counts in 1024s. It is \
         the window with which streams begin (SETTINGS_INITIAL_WINDOW_SIZE).",
    ])
    .needs(&[OVER_HTTP2])
    .sets(&["http2.window"])
    .apply(|args, value| {
        args.http2.window = Some(size(value)?);
        Ok(())
    }),
    Opt::with_value(
        "h2-connection-window",
        "BYTES",
        "lets the server send up to this many bytes of all replies of a connection ahead",
    )
    .details(&["Default: 15m. Range: 65535, which HTTP/2 grants in any case, to 2147483647. As --h2-window."])
    .needs(&[OVER_HTTP2])
    .sets(&["http2.connection_window"])
    .apply(|args, value| {
        args.http2.connection_window = Some(size(value)?);
        Ok(())
    }),
    Opt::with_value(
        "h2-header-table",
        "BYTES",
        "lets the server compress header fields with a table of this many bytes (HPACK)",
    )
    .details(&[
        "Default: 4096. Range: 0 to 16777216. Each connection may come to hold as much memory. A `k` or \
         `m` behind the number counts in 1024s.",
    ])
    .needs(&[OVER_HTTP2])
    .sets(&["http2.header_table"])
    .apply(|args, value| {
        args.http2.header_table = Some(size(value)?);
        Ok(())
    }),
    Opt::with_value("h2-max-frame", "BYTES", "accepts frames of up to this many bytes")
        .details(&["Default: 16384, which is the least. Range: up to 16777215. As --h2-window."])
        .needs(&[OVER_HTTP2])
        .sets(&["http2.max_frame"])
        .apply(|args, value| {
            args.http2.max_frame = Some(size(value)?);
            Ok(())
        }),
];

pub(super) fn size<const MIN: u32, const MAX: u32>(value: Value<'_>) -> Result<Bounded<MIN, MAX>, ParseStop> {
    let text = std::str::from_utf8(value.bytes()).ok();
    let size = text.and_then(units::size).and_then(|size| u32::try_from(size).ok());
    size.and_then(|size| Bounded::try_from(size).ok())
        .ok_or_else(|| value.expected(&format!("a number of bytes from {MIN} to {MAX}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::parsed;

    #[test]
    fn sizes_may_have_a_suffix() {
        let window =
            |argument: &str| parsed(&["--http-version=2", argument]).unwrap().http2.window.map(Bounded::get);
        assert_eq!(window("--h2-window=1"), Some(1));
        assert_eq!(window("--h2-window=64k"), Some(65_536));
        assert_eq!(window("--h2-window=1M"), Some(1 << 20));
        assert_eq!(window("--h2-window=2147483647"), Some(i32::MAX as u32));
    }

    #[test]
    fn the_ends_of_a_range_are_in_it() {
        for argument in [
            "--h2-connection-window=65535",
            "--h2-connection-window=2147483647",
            "--h2-header-table=0",
            "--h2-header-table=16m",
            "--h2-max-frame=16k",
            "--h2-max-frame=16777215",
        ] {
            assert!(parsed(&["--http-version=auto", argument]).is_ok(), "{argument}");
        }
    }
}
