//! From a request as HTTP/1.1 has it to the fields that HTTP/2 has in its place.

use super::Request;
use crate::token::is_token;

/// What the fields of a request need beside the request itself.
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

/// Whether a field of HTTP/1.1 has no place in HTTP/2, as it is about the connection.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-8.2.2>
#[must_use]
pub fn is_forbidden(name: &[u8], value: &[u8]) -> bool {
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

/// Names of fields up to this size are put in lower case without allocating.
const SHORT_NAME: usize = 64;

/// Hands out the fields of a request in the order in which they are sent: `field(name, value)`, names in lower case. What
/// HTTP/2 forbids is left out, `Host` becomes `:authority`, and a cookie is divided into its pairs, so that they compress
/// better (RFC 9113, section 8.2.3).
pub(crate) fn fields(request: &Request, scheme: Scheme, mut field: impl FnMut(&[u8], &[u8])) {
    let (head, _) = request.parts();
    let method = head.split(|&byte| byte == b' ').next().unwrap_or_default();
    field(b":method", method);
    field(b":scheme", scheme.name());
    if let Some((_, host)) = lines(head).find(|(name, _)| name.eq_ignore_ascii_case(b"host")) {
        field(b":authority", host);
    }
    field(b":path", request.target());
    let (mut short, mut long) = ([0; SHORT_NAME], Vec::new());
    for (name, value) in lines(head) {
        if name.eq_ignore_ascii_case(b"host") || is_forbidden(name, value) {
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
            let crumbs = value.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
            crumbs.filter(|crumb| !crumb.is_empty()).for_each(|crumb| field(name, crumb));
        } else {
            field(name, value);
        }
    }
}

/// The header fields of a request as they stand in it, without its first line and without what is no field.
fn lines(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    head.split(|&byte| byte == b'\n').skip(1).filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let name = &line[..colon];
        let is_name = !name.is_empty() && name.iter().all(|&byte| is_token(byte));
        is_name.then(|| (name, line[colon + 1..].trim_ascii()))
    })
}

/// The header block of a request as it would read in HTTP/1's form, for people to see: what is sent, before it is
/// compressed.
#[must_use]
pub fn request_text(request: &Request, scheme: Scheme) -> Vec<u8> {
    let mut text = Vec::new();
    put_text(request, scheme, |part| text.extend_from_slice(part));
    text
}

/// How many bytes that has.
#[must_use]
pub fn request_text_size(request: &Request, scheme: Scheme) -> usize {
    let mut size = 0;
    put_text(request, scheme, |part| size += part.len());
    size
}

fn put_text(request: &Request, scheme: Scheme, mut put_part: impl FnMut(&[u8])) {
    let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| put_part(part));
    let (head, _) = request.parts();
    let method = head.split(|&byte| byte == b' ').next().unwrap_or_default();
    put(&[method, b" ", request.target(), b" HTTP/2\r\n"]);
    fields(request, scheme, |name, value| match name {
        b":authority" => put(&[b"host: ", value, b"\r\n"]),
        _ if name.starts_with(b":") => {}
        _ => put(&[name, b": ", value, b"\r\n"]),
    });
    put(&[b"\r\n"]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{RequestBody, RequestParts};

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
        }
        .request()
    }

    #[track_caller]
    fn check(request: &Request, expected: &[&str]) {
        let mut seen = Vec::new();
        fields(request, Scheme::Https, |name, value| {
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
    fn what_is_about_the_connection_is_left_out() {
        let headers = "Connection: close\r\nKeep-Alive: 5\r\nUpgrade: x\r\nTransfer-Encoding: chunked\r\n\
                       Proxy-Connection: x\r\nTE: gzip\r\nTE: trailers\r\nnot a field\r\nbad name: x\r\n";
        let seen = request_text(&request(headers, None), Scheme::Http);
        let expected = "POST /a?b HTTP/2\r\nhost: example.org:8443\r\nuser-agent: httperf/1\r\nte: trailers\r\n\
                        x-last: 1\r\ncontent-length: 5\r\n\r\n";
        assert_eq!(String::from_utf8(seen).unwrap(), expected);
    }

    #[test]
    fn cookies_are_sent_in_crumbs() {
        let text = request_text(&request("", Some("a=1; b=2;c=3")), Scheme::Http);
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
            let text = request_text(&request, Scheme::Http);
            assert_eq!(request_text_size(&request, Scheme::Http), text.len());
            assert!(!String::from_utf8(text).unwrap().contains("Long-Name"), "names are in lower case");
        }
    }
}
