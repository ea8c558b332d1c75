//! The upgrade of a connection from HTTP/1.1 to HTTP/2 (RFC 7540, section 3.2).

use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::Options;
use super::frame::Settings;
use crate::request::Request;

/// Returns the HTTP/1.1 form of a request with which a connection asks for HTTP/2.
///
/// <https://www.rfc-editor.org/rfc/rfc7540#section-3.2>
#[must_use]
pub fn asking_for_upgrade(request: &Request, options: &Options) -> Request {
    let settings = BASE64_URL_SAFE_NO_PAD.encode(Settings::payload(&options.parameters()));
    let lines =
        format!("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: {settings}\r\n");
    request.with_lines(lines.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{RequestBody, RequestParts};

    fn request() -> Request {
        RequestParts {
            method: b"POST",
            uri: b"/a?b",
            http10: false,
            keep_alive: false,
            user_agent: Some("httperf/1"),
            host: Some("example.org:8443"),
            forward: None,
            extra_headers: b"",
            headers: b"",
            cookie: None,
            body: RequestBody::Copied(b"hello"),
            websocket: None,
        }
        .request()
    }

    #[test]
    fn an_upgrade_is_asked_for_behind_the_other_fields() {
        let request = asking_for_upgrade(&request(), &Options { window: 65_536, ..Options::default() });
        let head = String::from_utf8(request.http1_head().to_vec()).unwrap();
        assert!(head.ends_with("\r\nHTTP2-Settings: AAIAAAAAAAQAAQAAAAYAAQAA\r\n\r\n"), "{head}");
        assert!(head.contains("\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"), "{head}");
        assert_eq!((request.body(), request.target()), (&b"hello"[..], &b"/a?b"[..]));
    }
}
