//! URLs that name a server and what to ask it for.

use std::fmt;

use thiserror::Error;

/// What a URL says: a server, and what to ask it for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpUrl {
    /// Whether its scheme is https, not http.
    pub https: bool,
    /// The host, without brackets.
    pub host: String,
    /// The port, if it is given and not the usual one of the scheme.
    pub port: Option<u16>,
    /// Path and query as they were typed.
    pub uri: Vec<u8>,
}

/// Why something is no URL of a server.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UrlError {
    /// It is not UTF-8.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// A byte in it has no place in a URL.
    #[error("it contains a blank or a control character")]
    BlankOrControl,
    /// It is no URL at all.
    #[error(transparent)]
    Malformed(#[from] url::ParseError),
    /// Its scheme is another than http and https.
    #[error("it begins neither with http:// nor with https://")]
    Scheme,
    /// It carries credentials.
    #[error("it contains a user name")]
    UserName,
    /// It names no host.
    #[error("it names no host")]
    NoHost,
}

impl HttpUrl {
    /// Reads a URL that begins with `http://` or `https://`.
    ///
    /// # Errors
    /// When it is none, or has a user name in it.
    pub fn parse(bytes: &[u8]) -> Result<Self, UrlError> {
        let text = std::str::from_utf8(bytes).map_err(|_| UrlError::NotUtf8)?;
        if text.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
            return Err(UrlError::BlankOrControl);
        }
        let url = url::Url::parse(text)?;
        let https = match url.scheme() {
            "http" => false,
            "https" => true,
            _ => return Err(UrlError::Scheme),
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlError::UserName);
        }
        let host = match url.host() {
            Some(url::Host::Ipv6(address)) => address.to_string(),
            Some(host) => host.to_string(),
            None => return Err(UrlError::NoHost),
        };
        Ok(Self { https, host, port: url.port(), uri: uri(text) })
    }
}

/// The path and query of a URL exactly as typed, without the fragment.
fn uri(url: &str) -> Vec<u8> {
    let after_scheme = url.split_once("//").map_or("", |(_, rest)| rest);
    let authority_end = after_scheme.find(['/', '\\', '?', '#']).unwrap_or(after_scheme.len());
    let uri = &after_scheme[authority_end..];
    let uri = uri.split_once('#').map_or(uri, |(before, _)| before);
    if uri.starts_with('/') { uri.into() } else { format!("/{uri}").into_bytes() }
}

impl fmt::Display for HttpUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { https, host, port, uri } = self;
        f.write_str(if *https { "https://" } else { "http://" })?;
        if host.contains(':') { write!(f, "[{host}]") } else { f.write_str(host) }?;
        if let Some(port) = port {
            write!(f, ":{port}")?;
        }
        f.write_str(&String::from_utf8_lossy(uri))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, https: bool, host: &str, port: Option<u16>, uri: &str) {
        let expected = HttpUrl { https, host: host.into(), port, uri: uri.into() };
        let parsed = HttpUrl::parse(url.as_bytes());
        assert_eq!(parsed, Ok(expected), "{url}");
        assert_eq!(HttpUrl::parse(parsed.clone().unwrap().to_string().as_bytes()), parsed, "{url}");
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
