//! The options of `httperf serve` that are about HTTP/3.

use std::ops::RangeInclusive;

use httperf_command_line::grammar::{Opt, ParseStop, Value};
use httperf_origin::{Http3, Tls, UnfitForHttp3, fits_http3, parse_size};
use httperf_plan::Endpoint;

use super::ServeArgs;

/// Arguments about HTTP/3.
#[derive(Debug, Default)]
pub(super) struct Http3Args {
    /// True if there is to be HTTP/3: every option here says so.
    pub(super) is_wanted: bool,
    config: Http3,
}

impl Http3Args {
    /// Its meaning, for a server that listens there with these settings of TLS.
    pub(super) fn config(self, listen: &Endpoint, tls: Option<&Tls>) -> Result<Option<Http3>, ParseStop> {
        let Some(tls) = tls.filter(|_| self.is_wanted) else { return Ok(None) };
        if let Endpoint::Unix(path) = listen {
            return Err(ParseStop::rejected(format!(
                "--http3: expected an address with a port in --listen, got `unix:{}`",
                path.display()
            )));
        }
        fits_http3(tls).map_err(|unfit| ParseStop::rejected(unfit_message(unfit)))?;
        Ok(Some(self.config))
    }
}

fn unfit_message(unfit: UnfitForHttp3) -> String {
    match unfit {
        UnfitForHttp3::NoTls13 => "--tls-max: expected 1.3 beside --http3".to_owned(),
        UnfitForHttp3::Group(name) => format!(
            "--tls-groups: expected none but X25519MLKEM768, MLKEM1024, X25519, P-256 and P-384 beside --http3, \
             got `{name}`"
        ),
        UnfitForHttp3::CertificateCompression => {
            "--tls-cert-compression: expected no --http3 beside it".to_owned()
        }
        UnfitForHttp3::Key => {
            "--tls-cert: expected an ECDSA, Ed25519 or RSA key of 2048 bits or more beside --http3".to_owned()
        }
    }
}

const IMPLIES_HTTP3: &str = "Implies --http3.";

pub(super) const OPTIONS: &[Opt<ServeArgs>] = &[
    Opt::flag("http3", "answers HTTP/3 too, on the same port of UDP")
        .common()
        .details(&[
            "Replies over HTTP/1 and HTTP/2 say so (Alt-Svc). Certificate, key, groups, tickets, early data \
             and client certificates are those of TLS over TCP. Early data is accepted only for sessions \
             that began over HTTP/3.",
            "Implies --tls. Does not go with --listen unix:PATH, --tls-max below 1.3, \
             --tls-cert-compression, and groups that only TCP has.",
        ])
        .apply(|args, _| {
            let _: &mut Http3 = wanted(args);
            Ok(())
        }),
    Opt::with_value("h3-window", "N", "lets clients send N bytes of a request's body ahead on each stream")
        .details(&["Default: 1m. From 1 byte to 2147483647.", IMPLIES_HTTP3])
        .apply(|args, value| {
            wanted(args).window = size(value)?;
            Ok(())
        }),
    Opt::with_value(
        "h3-connection-window",
        "N",
        "lets clients send N bytes of bodies ahead on all streams of a connection together",
    )
    .details(&["Default: 1m. From 1 byte to 2147483647.", IMPLIES_HTTP3])
    .apply(|args, value| {
        wanted(args).connection_window = size(value)?;
        Ok(())
    }),
    Opt::with_value("h3-max-streams", "N", "lets clients have N requests open at once on a connection")
        .details(&["Default: 1000.", IMPLIES_HTTP3])
        .apply(|args, value| {
            wanted(args).streams = count("a number of streams above 0", value)?;
            Ok(())
        }),
    Opt::flag("h3-retry", "sends a Retry to each new connection, which then begins once more")
        .details(&["The client proves with it that it is where it says.", IMPLIES_HTTP3])
        .apply(|args, _| {
            wanted(args).retries = true;
            Ok(())
        }),
    Opt::with_value("h3-lose", "N", "loses the first N datagrams of each new connection")
        .details(&[
            "Until it has an answer, a client sends them again, after a time that doubles with each attempt. \
             A large ClientHello, as with X25519MLKEM768, takes two datagrams.",
            IMPLIES_HTTP3,
        ])
        .apply(|args, value| {
            wanted(args).lost = count("a number of datagrams above 0", value)?;
            Ok(())
        }),
];

const WINDOWS: RangeInclusive<u32> = 1..=(1 << 31) - 1;

/// The part of the arguments that an option about HTTP/3 is for.
fn wanted(args: &mut ServeArgs) -> &mut Http3 {
    args.tls.is_wanted = true;
    args.http3.is_wanted = true;
    &mut args.http3.config
}

fn size(value: Value<'_>) -> Result<u32, ParseStop> {
    let size = std::str::from_utf8(value.bytes()).ok().and_then(|text| parse_size(text).ok());
    let size = size.and_then(|size| u32::try_from(size).ok()).filter(|size| WINDOWS.contains(size));
    size.ok_or_else(|| value.expected("a window of 1 to 2147483647 bytes"))
}

fn count(expected: &str, value: Value<'_>) -> Result<u32, ParseStop> {
    let count = value.unsigned().and_then(|count| u32::try_from(count).ok()).filter(|&count| count > 0);
    count.ok_or_else(|| value.expected(expected))
}

#[cfg(test)]
mod tests {
    use httperf_command_line::grammar::parse::words;

    use super::super::settings;
    use super::*;

    #[track_caller]
    fn check_rejected(argv: &[&str], expected: &str) {
        assert_eq!(settings(&words(argv)).unwrap_err(), ParseStop::rejected(expected), "{argv:?}");
    }

    #[test]
    fn every_option_finds_its_place_and_implies_http_3_and_tls() {
        let http3 = Http3::default();
        for (argument, expected) in [
            ("--http3", http3),
            ("--h3-window=2k", Http3 { window: 2048, ..http3 }),
            ("--h3-connection-window=1", Http3 { connection_window: 1, ..http3 }),
            ("--h3-max-streams=7", Http3 { streams: 7, ..http3 }),
            ("--h3-retry", Http3 { retries: true, ..http3 }),
            ("--h3-lose=3", Http3 { lost: 3, ..http3 }),
        ] {
            let config = settings(&words(&[argument])).unwrap().config;
            assert_eq!(config.http3, Some(expected), "{argument}");
            assert!(config.tls.is_some(), "{argument}");
        }
        assert_eq!(settings(&words(&["--tls"])).unwrap().config.http3, None);
    }

    #[test]
    fn a_bad_value_is_answered_with_what_would_do() {
        for (argument, expected) in [
            ("--h3-window=0", "--h3-window: expected a window of 1 to 2147483647 bytes, got `0`"),
            (
                "--h3-connection-window=2g",
                "--h3-connection-window: expected a window of 1 to 2147483647 bytes, got `2g`",
            ),
            ("--h3-max-streams=0", "--h3-max-streams: expected a number of streams above 0, got `0`"),
            ("--h3-lose=all", "--h3-lose: expected a number of datagrams above 0, got `all`"),
        ] {
            check_rejected(&[argument], expected);
        }
    }

    #[test]
    fn what_http_3_cannot_be_spoken_with_is_refused() {
        for (other, expected) in [
            (
                "--listen=unix:/run/x",
                "--http3: expected an address with a port in --listen, got `unix:/run/x`",
            ),
            ("--tls-max=1.2", "--tls-max: expected 1.3 beside --http3"),
            (
                "--tls-groups=X25519,P-521",
                "--tls-groups: expected none but X25519MLKEM768, MLKEM1024, X25519, P-256 and P-384 beside --http3, \
                 got `P-521`",
            ),
            ("--tls-cert-compression=zlib", "--tls-cert-compression: expected no --http3 beside it"),
        ] {
            check_rejected(&["--http3", other], expected);
        }
        for fine in
            ["--tls-groups=X25519MLKEM768,MLKEM1024,X25519,P-256,P-384", "--no-http2", "--tls-min=1.0"]
        {
            assert!(settings(&words(&["--http3", fine])).is_ok(), "{fine}");
        }
    }
}
