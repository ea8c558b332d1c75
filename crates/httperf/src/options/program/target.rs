//! Which server, and what of it: also as one URL.

use url::Url;

use crate::args::{Args, Scheme, os_string};
use crate::options::{Opt, Stop, Tier, ValueForm};

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt {
        long: "server",
        short: None,
        value: ValueForm::Required("HOST"),
        tier: Tier::Classic090,
        help: "connects to this host name or address",
        details: &[
            "Default: localhost. A name is resolved once, before the run; its first IPv4 address is preferred \
             to IPv6 ones. An IPv6 address is written without brackets.",
            "The value is also sent in the Host line, without the port (--server-name changes it).",
        ],
        apply: |args, value| {
            args.server = Some(value.bytes().to_vec());
            Ok(())
        },
    },
    Opt {
        long: "server-name",
        short: None,
        value: ValueForm::Required("NAME"),
        tier: Tier::Classic090,
        help: "sends this name in the Host line",
        details: &["Default: the value of --server. Has no effect together with --servers."],
        apply: |args, value| {
            args.server_name = Some(value.bytes().to_vec());
            Ok(())
        },
    },
    Opt {
        long: "servers",
        short: None,
        value: ValueForm::Required("FILE"),
        tier: Tier::Classic091,
        help: "connects to the servers named in a file, in turn",
        details: &[
            "The file holds host names or addresses, each ended by a NUL byte, or by a line end if it holds no \
             NUL. Each is resolved before the run and is used with the same port; connections take them in \
             turn. Cannot be combined with --server or a URL.",
        ],
        apply: |args, value| {
            args.servers = Some(os_string(value.bytes()));
            Ok(())
        },
    },
    Opt {
        long: "port",
        short: None,
        value: ValueForm::Required("N"),
        tier: Tier::Classic090,
        help: "connects to this port",
        details: &["Default: 80, or 443 with --ssl. Range: 0 to 65535."],
        apply: |args, value| {
            let port = value.unsigned().and_then(|port| u16::try_from(port).ok());
            args.port = Some(port.ok_or_else(|| Stop::illegal("illegal port number", value))?);
            Ok(())
        },
    },
    Opt {
        long: "uri",
        short: None,
        value: ValueForm::Required("S"),
        tier: Tier::Classic090,
        help: "asks for this URI",
        details: &[
            "Default: /. It is sent as it is, unchecked. With --wset it is what every generated name begins \
             with.",
        ],
        apply: |args, value| {
            args.uri = value.bytes().to_vec();
            Ok(())
        },
    },
    Opt {
        long: "unix-socket",
        short: None,
        value: ValueForm::Required("PATH"),
        tier: Tier::New,
        help: "connects to this unix-domain socket instead of a TCP port",
        details: &["--server and --server-name then only choose the Host line, and nothing is resolved."],
        apply: |args, value| {
            if value.bytes().is_empty() {
                return Err(Stop::expected("--unix-socket", "the path of a socket", value));
            }
            args.unix_socket = Some(os_string(value.bytes()));
            Ok(())
        },
    },
];

/// Takes a word that is not an option: a URL is the target, anything else is only remembered.
pub(super) fn word(args: &mut Args, word: &[u8]) -> Result<(), Stop> {
    if !["http://", "https://"].iter().any(|scheme| starts_with_ignoring_case(word, scheme.as_bytes())) {
        args.stray_words.push(word.to_vec());
        return Ok(());
    }
    let target = parse_url(word).map_err(|reason| unusable_url(word, &reason))?;
    args.server = Some(target.host);
    args.port = target.port;
    args.uri = target.uri;
    args.url_scheme = Some(if target.https { Scheme::Https } else { Scheme::Http });
    Ok(())
}

/// What a URL says of the target.
#[derive(Debug, PartialEq, Eq)]
struct UrlTarget {
    https: bool,
    /// Without brackets.
    host: Vec<u8>,
    /// If it differs from the scheme's.
    port: Option<u16>,
    /// Path and query as they were typed.
    uri: Vec<u8>,
}

fn parse_url(word: &[u8]) -> Result<UrlTarget, String> {
    let text = std::str::from_utf8(word).map_err(|_| "it is not UTF-8".to_owned())?;
    if text.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
        return Err("it contains a blank or a control character".to_owned());
    }
    let url = Url::parse(text).map_err(|error| error.to_string())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("it contains a user name".to_owned());
    }
    let host = match url.host() {
        Some(url::Host::Ipv6(address)) => address.to_string(),
        Some(host) => host.to_string(),
        None => return Err("it names no host".to_owned()),
    };
    Ok(UrlTarget {
        https: url.scheme() == "https",
        host: host.into_bytes(),
        port: url.port(),
        uri: uri(text),
    })
}

/// The path and query of a URL exactly as typed, without the fragment.
fn uri(url: &str) -> Vec<u8> {
    let after_scheme = url.split_once("//").map_or("", |(_, rest)| rest);
    let authority_end = after_scheme.find(['/', '\\', '?', '#']).unwrap_or(after_scheme.len());
    let uri = &after_scheme[authority_end..];
    let uri = uri.split_once('#').map_or(uri, |(before, _)| before);
    if uri.starts_with('/') { uri.into() } else { format!("/{uri}").into_bytes() }
}

fn unusable_url(word: &[u8], reason: &str) -> Stop {
    let start = b"expected a URL such as http://host:8080/path, got `";
    Stop::rejected([start, word, b"` (", reason.as_bytes(), b")"].concat())
}

fn starts_with_ignoring_case(text: &[u8], start: &[u8]) -> bool {
    text.get(..start.len()).is_some_and(|prefix| prefix.eq_ignore_ascii_case(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, https: bool, host: &str, port: Option<u16>, uri: &str) {
        let expected = UrlTarget { https, host: host.into(), port, uri: uri.into() };
        assert_eq!(parse_url(url.as_bytes()), Ok(expected), "{url}");
    }

    #[test]
    fn a_url_names_host_port_and_uri() {
        check("http://example.com", false, "example.com", None, "/");
        check("http://example.com:8080/a/b?c=d", false, "example.com", Some(8080), "/a/b?c=d");
        check("HTTPS://Example.com:443/", true, "example.com", None, "/");
        check("http://[::1]:81/x", false, "::1", Some(81), "/x");
        check("http://127.0.0.1?q", false, "127.0.0.1", None, "/?q");
    }

    #[test]
    fn path_and_query_stay_as_typed_and_the_fragment_goes() {
        check("http://h/a/../b/%7e/ü?x={y}&z#part", false, "h", None, "/a/../b/%7e/ü?x={y}&z");
        check("http://h#part", false, "h", None, "/");
    }

    #[test]
    fn a_url_with_a_user_name_or_without_a_host_is_refused() {
        for url in
            ["http://user@h/", "http://:pw@h/", "http://", "http://h:x/", "http://h/a b", "http://[::1/"]
        {
            assert!(parse_url(url.as_bytes()).is_err(), "{url}");
        }
        assert!(parse_url(b"http://h/\xff").is_err());
    }
}
