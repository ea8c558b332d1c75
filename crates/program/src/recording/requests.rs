//! Recorded requests as they are made: those that may be, with the header fields and bodies that they get.

use std::sync::Arc;
use std::time::Duration;

use httperf_import::trace::Request;
use httperf_load::replay::RecordedRequest;
use httperf_plan::{BodyFor, Clients, Header, Replay, Template};

/// The way in which recorded requests are made.
#[derive(Clone, Debug)]
pub(crate) struct Making {
    /// Makes requests of all methods, not of GET and HEAD alone.
    pub(crate) all_methods: bool,
    /// Cookies are those that the server sets now, not the recorded ones.
    pub(crate) keeps_cookies: bool,
    pub(crate) bodies: Vec<BodyFor>,
    /// Names of the fields of every request, which take the place of recorded ones.
    pub(crate) own_fields: Vec<String>,
}

impl Making {
    /// The way of a plan with these fields in every request.
    pub(super) fn of(replay: &Replay, own: &[Header]) -> Self {
        Self {
            all_methods: replay.all_methods,
            keeps_cookies: matches!(replay.clients, Clients::Recorded { cookies: true, .. }),
            bodies: replay.bodies.clone(),
            own_fields: own.iter().map(|header| header.name.clone()).collect(),
        }
    }

    /// Returns whether a request of this method is made.
    pub(super) fn makes(&self, method: &str) -> bool {
        self.all_methods || matches!(method, "GET" | "HEAD")
    }

    /// Returns the number of the body for a request that was recorded without one.
    pub(super) fn body_for(&self, request: &Request) -> Option<usize> {
        let is_for = |body: &BodyFor| body.is_for(&request.method, &request.uri);
        if request.body.is_none() { self.bodies.iter().position(is_for) } else { None }
    }

    /// A request as it is made, that many seconds after the first that is.
    pub(super) fn request(&self, recorded: Request, at: Duration) -> RecordedRequest {
        let body_for = self.body_for(&recorded).map(|index| &self.bodies[index]);
        let is_kept = |name: &str| {
            let is_cookie = name.eq_ignore_ascii_case("cookie") && self.keeps_cookies;
            !is_cookie && !self.own_fields.iter().any(|own| own.eq_ignore_ascii_case(name))
        };
        // A log may have anything in a field that no request can carry.
        let can_be_sent = |value: &str| value.bytes().all(|byte| byte == b'\t' || !byte.is_ascii_control());
        let mut headers: Vec<Header> = recorded
            .headers
            .into_iter()
            .filter(|(name, value)| is_kept(name) && can_be_sent(value))
            .map(|(name, value)| Header { name, value: Template::literal(value.as_bytes()) })
            .collect();
        if let Some(body) = body_for
            && is_kept("Content-Type")
            && !headers.iter().any(|header| header.is("Content-Type"))
        {
            let value = Template::literal(body.content_type.as_bytes());
            headers.push(Header { name: "Content-Type".to_owned(), value });
        }
        let expects_body = matches!(&recorded.method[..], "POST" | "PUT" | "PATCH");
        let body = match (recorded.body, body_for) {
            (Some(body), _) => Some(body.0.into()),
            (None, Some(body)) => Some(Arc::clone(&body.file.contents)),
            // RFC 9110, section 8.6: such a request has a length, even of 0.
            (None, None) => expects_body.then(|| Arc::from([])),
        };
        RecordedRequest {
            at,
            client: recorded.client,
            method: recorded.method.into(),
            uri: recorded.uri.into(),
            headers,
            body,
            status: recorded.status,
            took: recorded.took,
        }
    }
}

#[cfg(test)]
mod tests {
    use httperf_import::trace::Body;
    use httperf_plan::{BodyFile, Sha256};

    use super::*;

    fn recorded(method: &str, headers: &[(&str, &str)], body: Option<&str>) -> Request {
        Request {
            at: Duration::from_secs(9),
            client: 3,
            method: method.into(),
            uri: "/a?b".into(),
            headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            body: body.map(|body| Body(body.into())),
            status: Some(200),
            took: None,
        }
    }

    fn making() -> Making {
        let file =
            BodyFile { path: "a.json".into(), size: 2, sha256: Sha256([0; 32]), contents: b"{}"[..].into() };
        let body = BodyFor {
            method: "POST".into(),
            path: "/a".into(),
            content_type: "application/json".into(),
            file,
        };
        Making {
            all_methods: true,
            keeps_cookies: true,
            bodies: vec![body],
            own_fields: vec!["User-Agent".into()],
        }
    }

    fn shown(request: &RecordedRequest) -> String {
        let fields = request.headers.iter().map(|header| {
            format!("{}: {}", header.name, String::from_utf8_lossy(header.value.as_literal().unwrap()))
        });
        let body = request.body.as_ref().map(|body| String::from_utf8_lossy(body).into_owned());
        format!("{:?} {body:?}", fields.collect::<Vec<_>>())
    }

    #[test]
    fn recorded_fields_and_bodies_are_made_unless_others_take_their_place() {
        let making = making();
        for (request, expected) in [
            (recorded("GET", &[("user-agent", "x"), ("Accept", "*/*")], None), r#"["Accept: */*"] None"#),
            (recorded("GET", &[("Cookie", "a=1")], None), "[] None"),
            (recorded("GET", &[("X", "\u{1b}[1m")], None), "[] None"),
            (recorded("POST", &[], None), r#"["Content-Type: application/json"] Some("{}")"#),
            (recorded("POST", &[("content-type", "text/x")], None), r#"["content-type: text/x"] Some("{}")"#),
            (recorded("POST", &[], Some("own")), r#"[] Some("own")"#),
            (recorded("PUT", &[], None), r#"[] Some("")"#),
            (recorded("DELETE", &[], None), "[] None"),
        ] {
            assert_eq!(shown(&making.request(request, Duration::ZERO)), expected);
        }
        let with_recorded = Making { keeps_cookies: false, ..making };
        let request = recorded("GET", &[("Cookie", "a=1")], None);
        assert_eq!(shown(&with_recorded.request(request, Duration::ZERO)), r#"["Cookie: a=1"] None"#);
    }
}
