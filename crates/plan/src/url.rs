//! `http` and `https` URLs, and those of WebSockets.

use std::borrow::Cow;
use std::fmt;

use thiserror::Error;

/// An `http` or `https` URL, or one of a WebSocket: a server and a request target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl {
    /// True for the schemes https and wss, false for http and ws.
    pub https: bool,
    /// True for the schemes ws and wss (RFC 6455, section 3).
    pub websocket: bool,
    /// The host, without brackets. An IPv6 address may have a zone, as in `fe80::1%eth0`.
    pub host: String,
    /// The port, if it is given and not the scheme's default.
    pub port: Option<u16>,
    /// Path and query as typed, without the fragment; at least `/`.
    pub uri: Vec<u8>,
}

/// The reason why a text is not an `http` or `https` URL.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UrlError {
    /// The text is not UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// The text contains white space or a control character.
    #[error("it contains a blank or a control character")]
    BlankOrControl,
    /// The text is not a URL.
    #[error(transparent)]
    Malformed(#[from] url::ParseError),
    /// The scheme is neither http nor https.
    #[error("it begins neither with http:// nor with https://")]
    Scheme,
    /// The URL contains credentials.
    #[error("it contains a user name")]
    UserName,
    /// The URL has no host.
    #[error("it names no host")]
    NoHost,
}

impl HttpUrl {
    /// Parses a URL that starts with `http://` or `https://`.
    ///
    /// # Errors
    /// If it is not such a URL, or contains credentials.
    pub fn parse(bytes: &[u8]) -> Result<Self, UrlError> {
        Self::parse_any(bytes).and_then(|url| if url.websocket { Err(UrlError::Scheme) } else { Ok(url) })
    }

    /// Parses a URL that starts so, or with `ws://` or `wss://`.
    ///
    /// # Errors
    /// If it is not such a URL, or contains credentials.
    pub fn parse_any(bytes: &[u8]) -> Result<Self, UrlError> {
        let text = std::str::from_utf8(bytes).map_err(|_| UrlError::NotUtf8)?;
        if text.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
            return Err(UrlError::BlankOrControl);
        }
        let (whole, zone) = split_zone(text);
        let url = url::Url::parse(&whole)?;
        let (https, websocket) = match url.scheme() {
            "http" => (false, false),
            "https" => (true, false),
            "ws" => (false, true),
            "wss" => (true, true),
            _ => return Err(UrlError::Scheme),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlError::UserName);
        }
        let host = match url.host() {
            Some(url::Host::Ipv6(address)) => match zone {
                Some(zone) => format!("{address}%{zone}"),
                None => address.to_string(),
            },
            Some(host) => host.to_string(),
            None => return Err(UrlError::NoHost),
        };
        Ok(Self { https, websocket, host, port: url.port(), uri: uri(text) })
    }

    /// Returns host and port as `Host` has them: an IPv6 address in brackets and without its zone, and no port if it is the
    /// scheme's default (RFC 9110, section 7.2; RFC 6874, section 4).
    #[must_use]
    pub fn authority(&self) -> String {
        let Self { host, port, .. } = self;
        let host = host.split_once('%').map_or(&host[..], |(address, _)| address);
        Self::with_port(host, *port)
    }

    fn with_port(host: &str, port: Option<u16>) -> String {
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        match port {
            Some(port) => format!("{host}:{port}"),
            None => host,
        }
    }
}

/// Takes the zone off the address of a URL, behind `%25` (RFC 6874) or `%`, as many write it: the URL without it, and the zone.
fn split_zone(url: &str) -> (Cow<'_, str>, Option<&str>) {
    let found = || {
        let start = url.find("://")? + 3;
        let authority = &url[start..];
        let authority = &authority[..authority.find(['/', '\\', '?', '#']).unwrap_or(authority.len())];
        let (address, rest) = authority.strip_prefix('[')?.split_once(']')?;
        let (address, zone) = address.split_once('%')?;
        let zone = zone.strip_prefix("25").unwrap_or(zone);
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        if zone.is_empty() || !zone.bytes().all(is_name) {
            return None;
        }
        let behind = &url[start + authority.len()..];
        Some((format!("{}[{address}]{rest}{behind}", &url[..start]), zone))
    };
    match found() {
        Some((whole, zone)) => (whole.into(), Some(zone)),
        None => (url.into(), None),
    }
}

/// Returns the path and query of a URL exactly as typed, without the fragment.
fn uri(url: &str) -> Vec<u8> {
    let after_scheme = url.split_once("//").map_or("", |(_, rest)| rest);
    let authority_end = after_scheme.find(['/', '\\', '?', '#']).unwrap_or(after_scheme.len());
    let uri = &after_scheme[authority_end..];
    let uri = uri.split_once('#').map_or(uri, |(before, _)| before);
    if uri.starts_with('/') { uri.into() } else { format!("/{uri}").into_bytes() }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match (self.websocket, self.https) {
            (false, false) => "http",
            (false, true) => "https",
            (true, false) => "ws",
            (true, true) => "wss",
        };
        let authority = Self::with_port(&self.host.replacen('%', "%25", 1), self.port);
        write!(f, "{scheme}://{authority}{}", String::from_utf8_lossy(&self.uri))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, https: bool, host: &str, port: Option<u16>, uri: &str) {
        let expected = HttpUrl { https, websocket: false, host: host.into(), port, uri: uri.into() };
        let parsed = HttpUrl::parse(url.as_bytes());
        assert_eq!(parsed, Ok(expected), "{url}");
        assert_eq!(HttpUrl::parse(parsed.clone().unwrap().to_string().as_bytes()), parsed, "{url}");
    }

    #[test]
    fn a_url_of_a_websocket_is_taken_where_one_may_be() {
        for (text, https, port) in
            [("ws://h/x", false, None), ("wss://h:443/x", true, None), ("ws://h:81/x", false, Some(81))]
        {
            let url = HttpUrl::parse_any(text.as_bytes()).unwrap();
            assert_eq!(
                (url.websocket, url.https, url.port, &url.uri[..]),
                (true, https, port, &b"/x"[..]),
                "{text}"
            );
            assert_eq!(HttpUrl::parse(text.as_bytes()), Err(UrlError::Scheme), "{text}");
            assert_eq!(HttpUrl::parse_any(url.to_string().as_bytes()), Ok(url), "{text}");
        }
        assert!(!HttpUrl::parse_any(b"https://h/").unwrap().websocket);
    }

    #[test]
    fn a_url_names_host_port_and_uri() {
        check("http://example.com", false, "example.com", None, "/");
        check("http://example.com:8080/a/b?c=d", false, "example.com", Some(8080), "/a/b?c=d");
        check("HTTPS://Example.com:443/", true, "example.com", None, "/");
        check("http://[::1]:81/x", false, "::1", Some(81), "/x");
        check("http://[fe80::1%25eth0]:81/x%25", false, "fe80::1%eth0", Some(81), "/x%25");
        check("http://[fe80::1%eth0]", false, "fe80::1%eth0", None, "/");
        check("http://127.0.0.1?q", false, "127.0.0.1", None, "/?q");
    }

    #[test]
    fn the_authority_has_the_port_unless_it_is_the_usual_one() {
        for (url, authority) in [
            ("http://Example.com/", "example.com"),
            ("http://example.com:80/", "example.com"),
            ("http://example.com:443/", "example.com:443"),
            ("https://example.com:443/", "example.com"),
            ("http://127.0.0.1:8080", "127.0.0.1:8080"),
            ("http://[::1]:81/x", "[::1]:81"),
            ("http://[::1]/x", "[::1]"),
            ("http://[::1%25lo]:81/x", "[::1]:81"),
        ] {
            assert_eq!(HttpUrl::parse(url.as_bytes()).unwrap().authority(), authority, "{url}");
        }
    }

    #[test]
    fn path_and_query_stay_as_typed_and_the_fragment_goes() {
        check("http://h/a/../b/%7e/ü?x={y}&z#part", false, "h", None, "/a/../b/%7e/ü?x={y}&z");
        check("http://h#part", false, "h", None, "/");
    }

    #[test]
    fn a_url_with_a_user_name_or_without_a_host_is_refused() {
        for url in [
            "http://user@h/",
            "http://:pw@h/",
            "http://",
            "http://h:x/",
            "http://h/a b",
            "http://[::1/",
            "ftp://h/",
            "/path",
            "",
        ] {
            assert!(HttpUrl::parse(url.as_bytes()).is_err(), "{url}");
        }
        assert_eq!(HttpUrl::parse(b"http://h/\xff"), Err(UrlError::NotUtf8));
    }
}
