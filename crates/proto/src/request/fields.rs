//! The fields of a request as protocols with binary framing send them (RFC 9113, section 8).

use super::Request;
use crate::token::is_token;

/// The scheme that requests name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// In the clear.
    Http,
    /// Over TLS.
    Https,
}

impl Scheme {
    fn name(self) -> &'static [u8] {
        match self {
            Self::Http => b"http",
            Self::Https => b"https",
        }
    }
}

/// Returns whether a header field concerns the connection of HTTP/1, and so has no place in HTTP/2.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-8.2.2>
#[must_use]
pub fn is_connection_specific(name: &[u8], value: &[u8]) -> bool {
    const NAMES: [&[u8]; 6] = [
        b"connection",
        b"proxy-connection",
        b"keep-alive",
        b"transfer-encoding",
        b"upgrade",
        b"http2-settings",
    ];
    NAMES.iter().any(|forbidden| name.eq_ignore_ascii_case(forbidden))
        || name.eq_ignore_ascii_case(b"te") && !value.eq_ignore_ascii_case(b"trailers")
}

pub(super) fn is_host(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"host")
}

/// The size up to which names are put in lower case without allocating.
const SHORT_NAME: usize = 64;

impl Request {
    /// Hands out the fields that HTTP/2 sends, in that order: `field(name, value)`, pseudo-header fields first, names
    /// in lower case. Connection-specific fields are left out, `Host` becomes `:authority`, and a cookie is divided
    /// into its pairs, which compress better (RFC 9113, section 8.2.3). A WebSocket is asked for by an extended CONNECT
    /// (RFC 8441, section 4).
    pub(crate) fn binary_fields(&self, scheme: Scheme, mut field: impl FnMut(&[u8], &[u8])) {
        field(b":method", self.binary_method());
        if self.opens_websocket() {
            field(b":protocol", b"websocket");
        }
        field(b":scheme", scheme.name());
        if let Some(authority) = self.authority() {
            field(b":authority", authority);
        }
        field(b":path", self.target());
        self.regular_fields(field);
    }

    fn binary_method(&self) -> &[u8] {
        if self.opens_websocket() { b"CONNECT" } else { self.method() }
    }

    /// Returns whether a field belongs to the handshake of a WebSocket in HTTP/1 alone (RFC 8441, section 5).
    fn is_of_handshake(&self, name: &[u8]) -> bool {
        self.opens_websocket() && name.eq_ignore_ascii_case(b"sec-websocket-key")
    }

    /// Hands out those that follow the pseudo-header fields.
    fn regular_fields(&self, mut field: impl FnMut(&[u8], &[u8])) {
        let (mut short, mut long) = ([0; SHORT_NAME], Vec::new());
        for (name, value) in self.header_fields() {
            if is_host(name) || is_connection_specific(name, value) || self.is_of_handshake(name) {
                continue;
            }
            let lower = match short.get_mut(..name.len()) {
                Some(lower) => lower,
                None => {
                    long.resize(name.len(), 0);
                    &mut long[..]
                }
            };
            lower.copy_from_slice(name);
            lower.make_ascii_lowercase();
            let name = &*lower;
            if name == b"cookie" {
                let pairs = value.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
                pairs.filter(|pair| !pair.is_empty()).for_each(|pair| field(name, pair));
            } else {
                field(name, value);
            }
        }
    }

    /// Returns the header block that HTTP/2 sends, before compression, in HTTP/1's form for people to read.
    #[must_use]
    pub fn http2_head(&self) -> Vec<u8> {
        let mut text = Vec::new();
        self.put_http2_head(|part| text.extend_from_slice(part));
        text
    }

    /// Returns how many bytes the header block has in that form, and the body.
    #[must_use]
    pub fn http2_size(&self) -> u64 {
        let header_block_size = self.0.header_block_size.get_or_init(|| {
            let mut size = 0;
            self.put_http2_head(|part| size += part.len() as u64);
            size
        });
        header_block_size + self.body().len() as u64
    }

    fn put_http2_head(&self, mut put_part: impl FnMut(&[u8])) {
        let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| put_part(part));
        put(&[self.binary_method(), b" ", self.target(), b" HTTP/2\r\n"]);
        if self.opens_websocket() {
            put(&[b":protocol: websocket\r\n"]);
        }
        if let Some(authority) = self.authority() {
            put(&[b"host: ", authority, b"\r\n"]);
        }
        self.regular_fields(|name, value| put(&[name, b": ", value, b"\r\n"]));
        put(&[b"\r\n"]);
    }
}

/// Returns the header fields in these lines. Lines that are no fields are skipped.
pub(super) fn in_lines(lines: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines.split(|&byte| byte == b'\n').filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let name = &line[..colon];
        let is_name = !name.is_empty() && name.iter().all(|&byte| is_token(byte));
        is_name.then(|| (name, line[colon + 1..].trim_ascii()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Opening, RequestBody, RequestParts};

    fn request(headers: &str, cookie: Option<&str>) -> Request {
        RequestParts {
            method: b"POST",
            uri: b"/a?b",
            http10: false,
            keep_alive: false,
            user_agent: Some("httperf/1"),
            host: Some("example.org:8443"),
            forward: None,
            extra_headers: headers.as_bytes(),
            headers: b"X-Last: 1\r\n",
            cookie: cookie.map(str::as_bytes),
            body: RequestBody::Copied(b"hello"),
            websocket: None,
        }
        .request()
    }

    #[track_caller]
    fn check(request: &Request, expected: &[&str]) {
        let mut seen = Vec::new();
        request.binary_fields(Scheme::Https, |name, value| {
            seen.push(format!("{} {}", String::from_utf8_lossy(name), String::from_utf8_lossy(value)));
        });
        assert_eq!(seen, expected);
    }

    #[test]
    fn pseudo_fields_come_first_and_names_are_in_lower_case() {
        check(
            &request("", None),
            &[
                ":method POST",
                ":scheme https",
                ":authority example.org:8443",
                ":path /a?b",
                "user-agent httperf/1",
                "x-last 1",
                "content-length 5",
            ],
        );
    }

    #[test]
    fn a_websocket_is_asked_for_by_an_extended_connect() {
        let opening = Opening { key: "k", extensions: "permessage-deflate", protocols: "" };
        let parts = RequestParts { host: Some("h"), websocket: Some(opening), ..RequestParts::to(b"/chat") };
        check(
            &parts.request(),
            &[
                ":method CONNECT",
                ":protocol websocket",
                ":scheme https",
                ":authority h",
                ":path /chat",
                "sec-websocket-version 13",
                "sec-websocket-extensions permessage-deflate",
            ],
        );
    }

    #[test]
    fn what_is_about_the_connection_is_left_out() {
        let headers = "Connection: close\r\nKeep-Alive: 5\r\nUpgrade: x\r\nTransfer-Encoding: chunked\r\n\
                       Proxy-Connection: x\r\nTE: gzip\r\nTE: trailers\r\nnot a field\r\nbad name: x\r\n";
        let seen = request(headers, None).http2_head();
        let expected = "POST /a?b HTTP/2\r\nhost: example.org:8443\r\nuser-agent: httperf/1\r\nte: trailers\r\n\
                        x-last: 1\r\ncontent-length: 5\r\n\r\n";
        assert_eq!(String::from_utf8(seen).unwrap(), expected);
    }

    #[test]
    fn cookies_are_sent_in_pairs() {
        let text = request("", Some("a=1; b=2;c=3")).http2_head();
        let text = String::from_utf8(text).unwrap();
        assert!(text.ends_with("cookie: a=1\r\ncookie: b=2\r\ncookie: c=3\r\n\r\n"), "{text}");
    }

    #[test]
    fn the_size_of_a_text_is_known_without_it() {
        let long_name = format!("{}: x\r\nA: b\r\n", "Long-Name-".repeat(10));
        for request in [
            request("", Some("a=1; b=2")),
            request("TE: trailers\r\nUpgrade: x\r\n", None),
            request(&long_name, None),
        ] {
            let text = request.http2_head();
            assert_eq!(request.http2_size(), (text.len() + request.body().len()) as u64);
            assert!(!String::from_utf8(text).unwrap().contains("Long-Name"), "names are in lower case");
        }
    }
}
