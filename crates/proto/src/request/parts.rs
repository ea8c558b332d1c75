//! The parts of a request, and their rendering in HTTP/1: byte for byte that of the classic tool.

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use super::{Contents, ReplyContent, Request};

/// The parts of a request. Each is sent as it is.
#[derive(Clone, Copy, Debug)]
pub struct RequestParts<'a> {
    /// The method.
    pub method: &'a [u8],
    /// The request target.
    pub uri: &'a [u8],
    /// True if the request line says HTTP/1.0, which adds `Connection: keep-alive`; otherwise HTTP/1.1.
    pub http10: bool,
    /// True if HTTP/1.0 adds that line.
    pub keep_alive: bool,
    /// The value of `User-Agent`, if it is sent.
    pub user_agent: Option<&'a str>,
    /// The value of `Host`, if it is sent.
    pub host: Option<&'a str>,
    /// The additions for a proxy, if the request is sent to one.
    pub forward: Option<Forward<'a>>,
    /// Header lines, each with its line end.
    pub extra_headers: &'a [u8],
    /// Further header lines, which follow those.
    pub headers: &'a [u8],
    /// The value of `Cookie`, if there is one. Fields of this name in the header lines are joined to it: a request has one
    /// (RFC 6265, section 5.4).
    pub cookie: Option<&'a [u8]>,
    /// The body; if there is one, `Content-length` is sent.
    pub body: RequestBody<'a>,
    /// The WebSocket that the request opens, if it opens one.
    pub websocket: Option<Opening<'a>>,
}

/// The opening handshake of a WebSocket (RFC 6455, section 4.1), as a request makes it.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// The value of `Sec-WebSocket-Key`, which HTTP/1 sends.
    pub key: &'a str,
    /// The value of `Sec-WebSocket-Extensions`; none is sent if it is empty.
    pub extensions: &'a str,
    /// The value of `Sec-WebSocket-Protocol`; none is sent if it is empty.
    pub protocols: &'a str,
}

/// The body of a request.
#[derive(Clone, Copy, Debug)]
pub enum RequestBody<'a> {
    /// None.
    None,
    /// Bytes of this request alone.
    Copied(&'a [u8]),
    /// Bytes that many requests share. They are not copied if they are many.
    Shared(&'a Rc<Arc<[u8]>>),
}

/// The size up to which a shared body is cheaper to copy than to send apart.
const COPIED_MAX: usize = 4096;

impl RequestBody<'_> {
    /// Returns its size; `None` without a body.
    fn size(&self) -> Option<usize> {
        match self {
            Self::None => None,
            Self::Copied(bytes) => Some(bytes.len()),
            Self::Shared(bytes) => Some(bytes.len()),
        }
    }
}

/// The additions that a proxy needs to forward a request.
#[derive(Clone, Copy, Debug)]
pub struct Forward<'a> {
    /// Scheme and authority of the server. They precede a request target that begins with a slash, which
    /// makes it an absolute form (RFC 9112, section 3.2.2).
    pub origin: &'a str,
    /// The value of `Proxy-Authorization`, if it is sent.
    pub authorization: Option<&'a str>,
}

impl<'a> RequestParts<'a> {
    /// Makes the parts of a GET over HTTP/1.1 that has nothing but this target.
    #[must_use]
    pub fn to(uri: &'a [u8]) -> Self {
        Self {
            method: b"GET",
            uri,
            http10: false,
            keep_alive: false,
            user_agent: None,
            host: None,
            forward: None,
            extra_headers: b"",
            headers: b"",
            cookie: None,
            body: RequestBody::None,
            websocket: None,
        }
    }

    /// Makes the request.
    #[must_use]
    pub fn request(&self) -> Request {
        let reply_content =
            self.websocket.map_or_else(|| ReplyContent::of(self.method), |_| ReplyContent::WebSocket);
        let (copied, shared_body): (&[u8], _) = match self.body {
            RequestBody::None => (b"", None),
            RequestBody::Copied(body) => (body, None),
            RequestBody::Shared(body) if body.len() > COPIED_MAX => (b"", Some(Rc::clone(body))),
            RequestBody::Shared(body) => (body, None),
        };
        let mut text = Vec::with_capacity(self.text_size() + copied.len());
        let target_start = self.method.len() + 1 + self.origin().len();
        let lines = self.put_head(&mut text);
        let body_start = text.len();
        text.extend_from_slice(copied);
        Request(Rc::new(Contents {
            text,
            method_size: self.method.len(),
            target: target_start..target_start + self.uri.len(),
            lines,
            body_start,
            shared_body,
            reply_content,
            is_safe: self.is_safe(),
            header_block_size: OnceCell::new(),
            http3_form: OnceCell::new(),
        }))
    }

    /// See [`Request::is_safe`].
    fn is_safe(&self) -> bool {
        matches!(self.body, RequestBody::None)
            && matches!(self.method, b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE")
    }

    /// Returns the origin that HTTP/1 sends before the request target.
    fn origin(&self) -> &[u8] {
        self.forward.filter(|_| self.uri.starts_with(b"/")).map_or(b"", |forward| forward.origin.as_bytes())
    }

    /// Returns a size that most heads do not exceed.
    fn text_size(&self) -> usize {
        let cookie_size = self.cookie.map_or(0, <[u8]>::len);
        160 + self.origin().len()
            + self.uri.len()
            + self.extra_headers.len()
            + self.headers.len()
            + cookie_size
    }

    /// Appends all of the request except its body; returns the range of the header lines.
    fn put_head(&self, out: &mut Vec<u8>) -> Range<usize> {
        let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| out.extend_from_slice(part));
        put(&[self.method, b" ", self.origin(), self.uri]);
        put(&[if self.http10 { b" HTTP/1.0\r\n" } else { b" HTTP/1.1\r\n" }]);
        let start = out.len();
        let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| out.extend_from_slice(part));
        if let Some(user_agent) = self.user_agent {
            put(&[b"User-Agent: ", user_agent.as_bytes(), b"\r\n"]);
        }
        if self.http10 && self.keep_alive {
            put(&[b"Connection: keep-alive\r\n"]);
        }
        if let Some(host) = self.host {
            put(&[b"Host: ", host.as_bytes(), b"\r\n"]);
        }
        if let Some(authorization) = self.forward.and_then(|forward| forward.authorization) {
            put(&[b"Proxy-Authorization: ", authorization.as_bytes(), b"\r\n"]);
        }
        if let Some(Opening { key, extensions, protocols }) = self.websocket {
            put(&[b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: ", key.as_bytes()]);
            put(&[b"\r\nSec-WebSocket-Version: 13\r\n"]);
            for (name, value) in [("Extensions", extensions), ("Protocol", protocols)] {
                if !value.is_empty() {
                    put(&[b"Sec-WebSocket-", name.as_bytes(), b": ", value.as_bytes(), b"\r\n"]);
                }
            }
        }
        let mut joined = Vec::new();
        for lines in [self.extra_headers, self.headers] {
            match self.cookie {
                None => put(&[lines]),
                Some(_) => put_but_cookies(lines, &mut joined, |line| put(&[line])),
            }
        }
        if let Some(size) = self.body.size() {
            put(&[b"Content-length: ", size.to_string().as_bytes(), b"\r\n"]);
        }
        if let Some(cookie) = self.cookie {
            put(&[b"Cookie: ", cookie, &joined[..], b"\r\n"]);
        }
        let end = out.len();
        out.extend_from_slice(b"\r\n");
        start..end
    }
}

/// Hands out the lines that are no cookies, and appends the pairs of those that are, each behind `; `.
fn put_but_cookies(lines: &[u8], joined: &mut Vec<u8>, mut put: impl FnMut(&[u8])) {
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        match line.split_at_checked(b"cookie:".len()) {
            Some((name, value)) if name.eq_ignore_ascii_case(b"cookie:") => {
                let value = value.trim_ascii();
                if !value.is_empty() {
                    joined.extend_from_slice(b"; ");
                    joined.extend_from_slice(value);
                }
            }
            _ => put(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain<'a>() -> RequestParts<'a> {
        RequestParts {
            method: b"GET",
            uri: b"/",
            http10: false,
            keep_alive: true,
            user_agent: Some("httperf/0.9.0"),
            host: Some("127.0.0.1"),
            forward: None,
            extra_headers: b"",
            headers: b"",
            cookie: None,
            body: RequestBody::None,
            websocket: None,
        }
    }

    #[track_caller]
    fn check(head: &RequestParts<'_>, expected: &str) {
        let request = head.request();
        let bytes = [request.http1_head(), request.body()].concat();
        assert_eq!(String::from_utf8(bytes).unwrap(), expected);
        assert_eq!(request.http1_size(), expected.len() as u64);
    }

    #[test]
    fn the_plain_request_is_the_classic_62_bytes() {
        let expected = "GET / HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: 127.0.0.1\r\n\r\n";
        check(&plain(), expected);
        assert_eq!(expected.len(), 62);
    }

    #[test]
    fn http10_says_keep_alive_before_host() {
        let head = RequestParts { http10: true, ..plain() };
        check(
            &head,
            "GET / HTTP/1.0\r\nUser-Agent: httperf/0.9.0\r\nConnection: keep-alive\r\nHost: 127.0.0.1\r\n\r\n",
        );
        assert_eq!(head.request().http1_size(), 86);
    }

    #[test]
    fn without_host_no_blank_line_is_left_in_its_place() {
        let head = RequestParts { host: None, extra_headers: b"X: 1\r\n", ..plain() };
        check(&head, "GET / HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nX: 1\r\n\r\n");
    }

    #[test]
    fn a_request_to_a_proxy_names_the_server_before_its_target() {
        let forward = Some(Forward { origin: "http://a.example:81", authorization: Some("Basic dTpw") });
        let head = RequestParts { uri: b"/x?y", forward, extra_headers: b"A: b\r\n", ..plain() };
        check(
            &head,
            "GET http://a.example:81/x?y HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: 127.0.0.1\r\n\
             Proxy-Authorization: Basic dTpw\r\nA: b\r\n\r\n",
        );
        assert_eq!(head.request().target(), b"/x?y");
        for uri in [&b"*"[..], b"http://b.example/", b""] {
            let head = RequestParts { uri, forward, ..plain() };
            assert!(head.request().http1_head().starts_with(&[b"GET ", uri, b" HTTP/1.1\r\n"].concat()));
            assert_eq!(head.request().target(), uri);
        }
    }

    #[test]
    fn extra_headers_come_before_content_length_and_cookie() {
        let head = RequestParts {
            method: b"POST",
            extra_headers: b"A: b\r\n",
            cookie: Some(b"S=k"),
            body: RequestBody::Copied(b"Post data"),
            ..plain()
        };
        check(
            &head,
            "POST / HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: 127.0.0.1\r\nA: b\r\n\
             Content-length: 9\r\nCookie: S=k\r\n\r\nPost data",
        );
    }

    #[test]
    fn cookies_of_all_sources_are_sent_in_one_field() {
        let lines = |extra_headers, headers| RequestParts {
            extra_headers,
            headers,
            cookie: Some(b"sid=abc"),
            ..plain()
        };
        let start = "GET / HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: 127.0.0.1\r\n";
        for (head, expected) in [
            (lines(b"", b"Cookie: pref=dark\r\n"), "Cookie: sid=abc; pref=dark\r\n\r\n"),
            (
                lines(b"A: 1\r\ncookie:x=1\r\n", b"COOKIE: y=2; z=3 \r\nB: 2\r\n"),
                "A: 1\r\nB: 2\r\nCookie: sid=abc; x=1; y=2; z=3\r\n\r\n",
            ),
            (lines(b"Cookie2: a\r\n", b"Cookie: \r\n"), "Cookie2: a\r\nCookie: sid=abc\r\n\r\n"),
        ] {
            check(&head, &format!("{start}{expected}"));
        }
    }

    #[test]
    fn header_fields_follow_the_extra_lines_and_lines_of_our_own_may_be_left_out() {
        let head = RequestParts {
            http10: true,
            keep_alive: false,
            user_agent: None,
            host: None,
            extra_headers: b"A: 1\r\n",
            headers: b"Host: x\r\nConnection: close\r\n",
            ..plain()
        };
        check(&head, "GET / HTTP/1.0\r\nA: 1\r\nHost: x\r\nConnection: close\r\n\r\n");
    }

    #[test]
    fn a_body_that_is_there_and_empty_says_so() {
        let head = RequestParts { method: b"POST", body: RequestBody::Copied(b""), ..plain() };
        check(
            &head,
            "POST / HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: 127.0.0.1\r\nContent-length: 0\r\n\r\n",
        );
    }

    #[test]
    fn a_websocket_is_asked_for_before_the_extra_headers() {
        let opening = Opening { key: "dGhlIHNhbXBsZSBub25jZQ==", extensions: "", protocols: "chat, b" };
        let head = RequestParts { websocket: Some(opening), headers: b"Origin: http://o\r\n", ..plain() };
        check(
            &head,
            "GET / HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n\
             Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Protocol: chat, b\r\nOrigin: http://o\r\n\r\n",
        );
        assert!(head.request().opens_websocket() && !plain().request().opens_websocket());
    }

    /// <https://www.rfc-editor.org/rfc/rfc9112#section-6.3>
    #[test]
    fn the_method_and_the_status_say_whether_a_reply_has_content() {
        for (method, without_content) in [
            (&b"GET"[..], &[100, 101, 204, 304][..]),
            (b"POST", &[100, 101, 204, 304]),
            (b"HEAD", &[100, 101, 200, 204, 205, 299, 300, 304, 404]),
            (b"head", &[100, 101, 204, 304]),
            (b"CONNECT", &[100, 101, 200, 204, 205, 299, 304]),
        ] {
            let request = RequestParts { method, ..plain() }.request();
            let statuses = [100, 101, 200, 204, 205, 299, 300, 304, 404];
            let found: Vec<u16> =
                statuses.into_iter().filter(|&status| request.forbids_content(status)).collect();
            assert_eq!(found, without_content, "{}", String::from_utf8_lossy(method));
            let opened: Vec<u16> =
                statuses.into_iter().filter(|&status| request.opens_tunnel(status)).collect();
            let expected: &[u16] = if method == b"CONNECT" { &[200, 204, 205, 299] } else { &[] };
            assert_eq!(opened, expected, "{}", String::from_utf8_lossy(method));
        }
    }

    #[test]
    fn a_large_body_that_is_shared_is_not_copied() {
        for (size, is_copied) in [(COPIED_MAX, true), (COPIED_MAX + 1, false)] {
            let shared: Rc<Arc<[u8]>> = Rc::new(vec![b'x'; size].into());
            let head = RequestParts { method: b"PUT", body: RequestBody::Shared(&shared), ..plain() };
            let request = head.request();
            assert_eq!(request.0.shared_body.is_none(), is_copied, "{size} bytes");
            assert!(request.http1_head().ends_with(b"\r\n\r\n"), "{size} bytes");
            assert!(request.body() == &shared[..] && !request.is_safe(), "{size} bytes");
        }
    }
}
