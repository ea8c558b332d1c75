//! The way to a server, and what sockets are told of it.

use percent_encoding::percent_decode_str;
use url::Url;

use super::rules::NOT_OVER_UDP;
use crate::args::{Args, ConnectTo, ProxyUrl};
use crate::grammar::{Opt, Value, any_of};

pub(super) const WAY: &[Opt<Args>] = &[
    Opt::with_value(
        "connect-to",
        "HOST:PORT:ADDR:PORT",
        "connects to another address in place of a server's",
    )
    .repeatable()
    .details(&[
        "Connections to HOST:PORT go to ADDR:PORT. The request, the name in TLS and the report stay \
             as they are, and HOST is not resolved. An empty HOST or PORT in front fits any; behind, it \
             means the same as in front. An IPv6 address is written in brackets.",
        "May be given more than once: the first that fits counts.",
    ])
    .conflicts(&[any_of(&["proxy"])])
    .apply(|args, value| {
        let connect_to = parse_connect_to(value.bytes());
        let expected = || value.expected("HOST:PORT:ADDR:PORT");
        args.sources.connect_to.push(connect_to.ok_or_else(expected)?);
        Ok(())
    }),
    Opt::flag("all-addresses", "connects to all addresses of a server's name in turn, not only to the first")
        .details(&["The name is resolved once, before the run. Connections take its addresses in turn, of \
             both IP versions unless --myaddr says which. With several local addresses or servers, every \
             combination occurs equally often."])
        .apply(|args, _| {
            args.sources.all_addresses = true;
            Ok(())
        }),
    Opt::with_value("proxy", "URL", "sends requests through this HTTP proxy")
        .details(&[
            "The URL is http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT for a proxy that wants to \
             know who asks (Basic authentication); saved results contain it. Default port: 80. The proxy \
             resolves the names of servers.",
            "Requests are sent in absolute form, except that a URI that does not begin with / is sent as \
             it is. Over TLS, each connection first asks the proxy for a tunnel to the server (CONNECT). \
             The time until the tunnel is there belongs to the connect time and has --timeout for itself; \
             a tunnel that is refused counts as other. Variables such as http_proxy mean nothing here.",
        ])
        .conflicts(&[NOT_OVER_UDP])
        .sets(&["proxy"])
        .apply(|args, value| {
            let expected = || value.expected("a URL such as http://host:3128");
            args.sources.proxy = Some(parse_proxy(value.bytes()).ok_or_else(expected)?);
            Ok(())
        }),
    Opt::flag("proxy-tunnel", "asks the proxy for tunnels (CONNECT) even without TLS")
        .details(&["What goes through a tunnel is what a server would get without a proxy."])
        .needs(&[any_of(&["proxy"])])
        .apply(|args, _| {
            args.sources.proxy_tunnel = true;
            Ok(())
        }),
];

pub(super) const SOCKETS: &[Opt<Args>] = &[
    Opt::flag("system-buffers", "leaves the sizes of socket buffers to the kernel")
        .details(&[
            "The kernel then adapts them to each connection, as for most programs. Otherwise they are \
             fixed: see --send-buffer and --recv-buffer.",
        ])
        .conflicts(&[any_of(&["send-buffer", "recv-buffer"])])
        .apply(|args, _| {
            args.sources.system_buffers = true;
            Ok(())
        }),
    Opt::with_value("tcp-nodelay", "yes|no", "sends small segments at once (TCP_NODELAY)")
        .details(&[
            "Default: yes. With no, a small segment waits until what was sent before it is acknowledged.",
        ])
        .conflicts(&[NOT_OVER_UDP.when("tcp-nodelay=no")])
        .sets(&["sockets.no_delay"])
        .apply(|args, value| {
            args.sources.no_delay = match value.bytes() {
                b"yes" | b"true" | b"on" | b"1" => true,
                b"no" | b"false" | b"off" | b"0" => false,
                _ => return Err(value.expected("yes or no")),
            };
            Ok(())
        }),
    Opt::flag("tcp-fastopen", "sends the first bytes with the SYN, to servers that allow it (TCP Fast Open)")
        .details(&[
            "The kernel gets a cookie from a server with the first connection and uses it for those that \
             follow, whose connect time is then close to 0. Needs the first bit of net.ipv4.tcp_fastopen \
             here and the second at the server.",
        ])
        .conflicts(&[NOT_OVER_UDP])
        .sets(&["sockets.fast_open"])
        .apply(|args, _| {
            args.sources.fast_open = true;
            Ok(())
        }),
    Opt::with_value("tos", "N", "marks packets with this type of service, or traffic class in IPv6")
        .details(&[
            "A multiple of 4 from 0 to 252, decimal or behind 0x hexadecimal; the two lowest bits belong \
             to congestion control. Default: 0.",
        ])
        .apply(|args, value| {
            let expected = || value.expected("a multiple of 4 from 0 to 252");
            args.sources.tos = Some(parse_tos(value).ok_or_else(expected)?);
            Ok(())
        }),
    Opt::with_value("dscp", "NAME|N", "marks packets with this differentiated-services code point")
        .details(&[
            "A number from 0 to 63, or a name: cs0 to cs7, af11 to af43, ef, va, le, df. It makes up the \
             upper six bits of what --tos sets.",
        ])
        .conflicts(&[any_of(&["tos"])])
        .sets(&["sockets.traffic_class"])
        .apply(|args, value| {
            let expected = || value.expected("a number from 0 to 63 or a name such as af21 or ef");
            args.sources.dscp = Some(parse_dscp(value).ok_or_else(expected)? << 2);
            Ok(())
        }),
];

fn parse_connect_to(value: &[u8]) -> Option<ConnectTo> {
    let typed = std::str::from_utf8(value).ok()?;
    let (host, rest) = split_host(typed)?;
    let (port, rest) = rest.split_once(':')?;
    let (to_host, to_port) = split_host(rest)?;
    let host_of = |host: &str| (!host.is_empty()).then(|| host.to_owned());
    Some(ConnectTo {
        typed: typed.to_owned(),
        host: host_of(host),
        port: parse_port(port)?,
        to_host: host_of(to_host),
        to_port: parse_port(to_port)?,
    })
}

/// The host, without brackets, and what follows its colon.
fn split_host(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('[') {
        Some(inner) => inner.split_once("]:").filter(|(address, _)| is_ipv6(address)),
        None => text.split_once(':'),
    }
}

/// A scope (`fe80::1%eth0`) is for the system to judge.
fn is_ipv6(text: &str) -> bool {
    let address = text.split_once('%').map_or(text, |(address, _)| address);
    address.parse::<std::net::Ipv6Addr>().is_ok()
}

/// A port, or none if it is empty.
fn parse_port(text: &str) -> Option<Option<u16>> {
    if text.is_empty() {
        return Some(None);
    }
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?.map(Some)
}

fn parse_proxy(value: &[u8]) -> Option<ProxyUrl> {
    let url = Url::parse(std::str::from_utf8(value).ok()?).ok()?;
    if url.scheme() != "http" || url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
        return None;
    }
    let user: Vec<u8> = percent_decode_str(url.username()).collect();
    let password = url.password().map(|password| percent_decode_str(password).collect::<Vec<u8>>());
    // The first colon ends the name (RFC 7617, section 2).
    if user.contains(&b':') {
        return None;
    }
    let credentials = (!user.is_empty() || password.is_some())
        .then(|| [&user[..], b":", &password.unwrap_or_default()].concat());
    Some(ProxyUrl { host: url.host_str()?.to_owned(), port: url.port_or_known_default()?, credentials })
}

fn parse_tos(value: Value<'_>) -> Option<u8> {
    let text = std::str::from_utf8(value.bytes()).ok()?;
    let tos = match text.strip_prefix("0x") {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u8::from_str_radix(digits, 16).ok()?
        }
        Some(_) => return None,
        None => u8::try_from(value.unsigned()?).ok()?,
    };
    tos.is_multiple_of(4).then_some(tos)
}

/// The six bits of a code point.
fn parse_dscp(value: Value<'_>) -> Option<u8> {
    if let Some(number) = value.unsigned() {
        return u8::try_from(number).ok().filter(|&dscp| dscp < 64);
    }
    let name = value.bytes().to_ascii_lowercase();
    Some(match &name[..] {
        // Class selectors, <https://www.rfc-editor.org/rfc/rfc2474#section-4.2.2>.
        [b'c', b's', class @ b'0'..=b'7'] => (class - b'0') << 3,
        // Assured forwarding, <https://www.rfc-editor.org/rfc/rfc2597#section-6>.
        [b'a', b'f', class @ b'1'..=b'4', drop @ b'1'..=b'3'] => (class - b'0') << 3 | (drop - b'0') << 1,
        // Expedited forwarding, <https://www.rfc-editor.org/rfc/rfc3246#section-2.7>.
        b"ef" => 46,
        // Voice-admit, <https://www.rfc-editor.org/rfc/rfc5865#section-4>.
        b"va" => 44,
        // Lower effort, <https://www.rfc-editor.org/rfc/rfc8622#section-2>.
        b"le" => 1,
        b"df" => 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::tests::parsed;
    use crate::grammar::ParseStop;

    #[track_caller]
    fn check_error(argv: &[&str], expected: &str) {
        assert_eq!(parsed(argv).map(drop), Err(ParseStop::rejected(expected)), "{argv:?}");
    }

    #[test]
    fn what_to_connect_to_is_in_the_syntax_of_curl() {
        let check = |typed: &str, parts: (Option<&str>, Option<u16>, Option<&str>, Option<u16>)| {
            let args = parsed(&["--connect-to", typed]).unwrap();
            let [found] = &args.sources.connect_to[..] else { panic!("one was given") };
            let host = |host: Option<&str>| host.map(str::to_owned);
            assert_eq!(found.typed, typed);
            assert_eq!((found.host.clone(), found.port), (host(parts.0), parts.1), "{typed}");
            assert_eq!((found.to_host.clone(), found.to_port), (host(parts.2), parts.3), "{typed}");
        };
        check("a.example:80:127.0.0.1:8080", (Some("a.example"), Some(80), Some("127.0.0.1"), Some(8080)));
        check("::127.0.0.1:8080", (None, None, Some("127.0.0.1"), Some(8080)));
        check("a::b:", (Some("a"), None, Some("b"), None));
        check("[::1]:80:[fe80::1%lo]:81", (Some("::1"), Some(80), Some("fe80::1%lo"), Some(81)));
        check(":::", (None, None, None, None));
        for wrong in
            ["", "a", "a:80", "a:80:b", "a:80:b:c", "a:80:b:1:2", "a:+80:b:1", "a:65536:b:1", "::1:80:b:1:"]
        {
            check_error(
                &["--connect-to", wrong],
                &format!("--connect-to: expected HOST:PORT:ADDR:PORT, got `{wrong}`"),
            );
        }
        check_error(
            &["--connect-to=[a]:1:b:2"],
            "--connect-to: expected HOST:PORT:ADDR:PORT, got `[a]:1:b:2`",
        );
    }

    #[test]
    fn a_proxy_is_named_by_a_url() {
        let proxy = |url: &str| parsed(&["--proxy", url]).unwrap().sources.proxy.unwrap();
        let plain = |host: &str, port| ProxyUrl { host: host.to_owned(), port, credentials: None };
        assert_eq!(proxy("http://proxy.example:3128"), plain("proxy.example", 3128));
        assert_eq!(proxy("HTTP://127.0.0.1/"), plain("127.0.0.1", 80));
        assert_eq!(proxy("http://[::1]:8080"), plain("[::1]", 8080));
        let credentials = |url: &str| proxy(url).credentials.map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(credentials("http://user:pass@h").as_deref(), Some("user:pass"));
        assert_eq!(credentials("http://us%40er:p%3Aa:ss@h").as_deref(), Some("us@er:p:a:ss"));
        assert_eq!(credentials("http://user@h").as_deref(), Some("user:"));
        for wrong in
            ["", "host:3128", "https://host", "socks5://host", "http://", "http://h/path", "http://h/?q"]
        {
            check_error(
                &["--proxy", wrong],
                &format!("--proxy: expected a URL such as http://host:3128, got `{wrong}`"),
            );
        }
        check_error(
            &["--proxy", "http://a%3Ab@h"],
            "--proxy: expected a URL such as http://host:3128, got `http://...@h`",
        );
    }

    #[test]
    fn code_points_have_names_and_numbers() {
        let dscp = |value: &str| parsed(&["--dscp", value]).unwrap().sources.dscp.unwrap() >> 2;
        for (value, expected) in [
            ("0", 0),
            ("63", 63),
            ("cs0", 0),
            ("CS7", 56),
            ("af11", 10),
            ("af21", 18),
            ("af43", 38),
            ("EF", 46),
            ("va", 44),
            ("le", 1),
            ("df", 0),
        ] {
            assert_eq!(dscp(value), expected, "{value}");
        }
        for wrong in ["64", "-1", "cs8", "af14", "af51", "", "best"] {
            check_error(
                &["--dscp", wrong],
                &format!(
                    "--dscp: expected a number from 0 to 63 or a name such as af21 or ef, got `{wrong}`"
                ),
            );
        }
    }

    #[test]
    fn a_type_of_service_leaves_congestion_control_alone() {
        let tos = |value: &str| parsed(&["--tos", value]).unwrap().sources.tos;
        assert_eq!(
            (tos("0"), tos("16"), tos("252"), tos("0xb8")),
            (Some(0), Some(16), Some(252), Some(0xb8))
        );
        for wrong in ["1", "256", "-4", "0x", "0x+4", "0xb9", "low"] {
            check_error(
                &["--tos", wrong],
                &format!("--tos: expected a multiple of 4 from 0 to 252, got `{wrong}`"),
            );
        }
    }

    #[test]
    fn the_last_choice_about_delays_counts() {
        check_error(&["--tcp-nodelay=maybe"], "--tcp-nodelay: expected yes or no, got `maybe`");
        let last = parsed(&["--tcp-nodelay=no", "--tcp-nodelay=yes"]).unwrap();
        assert!(last.sources.no_delay);
    }
}
