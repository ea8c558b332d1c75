//! A request's bytes, in exactly the form of the classic tool.

use super::Request;

/// What goes into a request. Every part is sent as it is.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    /// The method.
    pub method: &'a [u8],
    /// The request target.
    pub uri: &'a [u8],
    /// Whether the request line says HTTP/1.0, which adds `Connection: keep-alive`; otherwise HTTP/1.1.
    pub http10: bool,
    /// The value of `User-Agent`.
    pub user_agent: &'a str,
    /// The value of `Host`, if it is sent.
    pub host: Option<&'a str>,
    /// What a proxy needs to pass the request on, if it goes to one.
    pub forward: Option<Forward<'a>>,
    /// Header lines with their line ends.
    pub extra_headers: &'a [u8],
    /// The value of `Cookie`, if there is one.
    pub cookie: Option<&'a [u8]>,
    /// The body; if it is not empty, `Content-length` is sent.
    pub contents: &'a [u8],
}

/// What a proxy needs to pass a request on.
#[derive(Clone, Copy, Debug)]
pub struct Forward<'a> {
    /// Scheme and authority of the server. It goes before a request target that begins with a slash, which makes that one
    /// in absolute form (RFC 9112, section 3.2.2).
    pub origin: &'a str,
    /// The value of `Proxy-Authorization`, if it is sent.
    pub authorization: Option<&'a str>,
}

impl RequestHead<'_> {
    /// The request, rendered. Its target is the one within the server, whether or not it is sent in absolute form.
    #[must_use]
    pub fn request(&self) -> Request {
        let target_start = self.method.len() + 1 + self.origin().len();
        Request {
            bytes: self.render().into(),
            body: None,
            target: target_start..target_start + self.uri.len(),
            head: self.method == b"HEAD",
            safe: self.is_safe(),
        }
    }

    /// See [`Request::safe`].
    fn is_safe(&self) -> bool {
        self.contents.is_empty() && matches!(self.method, b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE")
    }

    /// What goes before the request target.
    fn origin(&self) -> &[u8] {
        self.forward.filter(|_| self.uri.starts_with(b"/")).map_or(b"", |forward| forward.origin.as_bytes())
    }

    /// All bytes of the request, and how many of them are the body.
    #[must_use]
    pub fn render(&self) -> Vec<u8> {
        let mut out =
            Vec::with_capacity(160 + self.uri.len() + self.extra_headers.len() + self.contents.len());
        let mut put = |parts: &[&[u8]]| parts.iter().for_each(|part| out.extend_from_slice(part));
        put(&[self.method, b" ", self.origin(), self.uri]);
        put(&[if self.http10 { b" HTTP/1.0\r\n" } else { b" HTTP/1.1\r\n" }]);
        put(&[b"User-Agent: ", self.user_agent.as_bytes(), b"\r\n"]);
        if self.http10 {
            put(&[b"Connection: keep-alive\r\n"]);
        }
        if let Some(host) = self.host {
            put(&[b"Host: ", host.as_bytes(), b"\r\n"]);
        }
        if let Some(authorization) = self.forward.and_then(|forward| forward.authorization) {
            put(&[b"Proxy-Authorization: ", authorization.as_bytes(), b"\r\n"]);
        }
        put(&[self.extra_headers]);
        if !self.contents.is_empty() {
            put(&[b"Content-length: ", self.contents.len().to_string().as_bytes(), b"\r\n"]);
        }
        if let Some(cookie) = self.cookie {
            put(&[b"Cookie: ", cookie, b"\r\n"]);
        }
        put(&[b"\r\n", self.contents]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain<'a>() -> RequestHead<'a> {
        RequestHead {
            method: b"GET",
            uri: b"/",
            http10: false,
            user_agent: "httperf/0.9.0",
            host: Some("127.0.0.1"),
            forward: None,
            extra_headers: b"",
            cookie: None,
            contents: b"",
        }
    }

    #[track_caller]
    fn check(head: &RequestHead<'_>, expected: &str) {
        assert_eq!(String::from_utf8(head.render()).unwrap(), expected);
    }

    #[test]
    fn the_plain_request_is_the_classic_62_bytes() {
        let expected = "GET / HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: 127.0.0.1\r\n\r\n";
        check(&plain(), expected);
        assert_eq!(expected.len(), 62);
    }

    #[test]
    fn http10_says_keep_alive_before_host() {
        let head = RequestHead { http10: true, ..plain() };
        check(
            &head,
            "GET / HTTP/1.0\r\nUser-Agent: httperf/0.9.0\r\nConnection: keep-alive\r\nHost: 127.0.0.1\r\n\r\n",
        );
        assert_eq!(head.render().len(), 86);
    }

    #[test]
    fn without_host_no_blank_line_is_left_in_its_place() {
        let head = RequestHead { host: None, extra_headers: b"X: 1\r\n", ..plain() };
        check(&head, "GET / HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nX: 1\r\n\r\n");
    }

    #[test]
    fn a_request_to_a_proxy_names_the_server_before_its_target() {
        let forward = Some(Forward { origin: "http://a.example:81", authorization: Some("Basic dTpw") });
        let head = RequestHead { uri: b"/x?y", forward, extra_headers: b"A: b\r\n", ..plain() };
        check(
            &head,
            "GET http://a.example:81/x?y HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: 127.0.0.1\r\n\
             Proxy-Authorization: Basic dTpw\r\nA: b\r\n\r\n",
        );
        assert_eq!(head.request().target(), b"/x?y");
        for uri in [&b"*"[..], b"http://b.example/", b""] {
            let head = RequestHead { uri, forward, ..plain() };
            assert!(head.render().starts_with(&[b"GET ", uri, b" HTTP/1.1\r\n"].concat()));
            assert_eq!(head.request().target(), uri);
        }
    }

    #[test]
    fn extra_headers_come_before_content_length_and_cookie() {
        let head = RequestHead {
            method: b"POST",
            extra_headers: b"A: b\r\n",
            cookie: Some(b"S=k"),
            contents: b"Post data",
            ..plain()
        };
        check(
            &head,
            "POST / HTTP/1.1\r\nUser-Agent: httperf/0.9.0\r\nHost: 127.0.0.1\r\nA: b\r\n\
             Content-length: 9\r\nCookie: S=k\r\n\r\nPost data",
        );
    }
}
