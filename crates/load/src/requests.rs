//! Requests of calls: method, request target, header fields and body, with placeholders filled in.

use std::io::Write;
use std::rc::Rc;
use std::sync::Arc;

use httperf_plan::prompts::PromptRequest;
use httperf_plan::template::Piece;
use httperf_plan::{
    Body, BodyPart, Client, Header, ListedRequest, Plan, Replies, RequestTemplate, Template, UriSource,
};

use crate::draws::Draws;
use crate::replay::RecordedRequest;
use crate::uris::Uris;

/// Maximum number of constant requests of a list that are cached.
const KEPT_MAX: usize = 1024;

/// Header line that asks for the content codings that the program decodes.
pub(crate) const ACCEPT_ENCODING: &[u8] = b"Accept-Encoding: gzip, br, zstd\r\n";

/// Requests of calls, by number. Nothing is allocated per call once the buffers have grown.
///
/// The value of a placeholder depends only on the client, the number of the call and the position in the
/// request, not on other calls.
#[derive(Debug)]
pub struct Requests<'p> {
    source: Source<'p>,
    client: Client,
    method: &'p [u8],
    shared: SharedHeaders<'p>,
    body: Option<Payload<'p>>,
    uri: Vec<u8>,
    lines: Vec<u8>,
    rendered: Vec<u8>,
}

#[derive(Debug)]
enum Source<'p> {
    /// Only URIs.
    Uris {
        uris: Uris,
        /// True if the request depends only on its URI.
        is_unchanging: bool,
    },
    /// A template filled in for each call.
    Template(&'p Template),
    /// Complete requests.
    Listed {
        requests: Vec<Listed<'p>>,
        /// True if each names its server; otherwise each may go to any.
        names_servers: bool,
    },
}

/// A request of a list.
#[derive(Debug)]
struct Listed<'p> {
    method: &'p [u8],
    uri: &'p Template,
    headers: &'p [Header],
    body: Option<Payload<'p>>,
    /// True if it has no placeholders.
    is_unchanging: bool,
}

/// Header fields common to all calls.
#[derive(Debug)]
struct SharedHeaders<'p> {
    /// See [`httperf_plan::Replies::compressed`].
    compressed: bool,
    headers: &'p [Header],
}

/// A body, ready to be sent repeatedly.
#[derive(Clone, Debug)]
enum Payload<'p> {
    /// Constant bytes.
    Shared(Rc<Arc<[u8]>>),
    /// Has placeholders.
    Template(&'p Body),
}

/// Parts of a call's request.
#[derive(Clone, Copy, Debug)]
pub struct Material<'a> {
    /// Method.
    pub method: &'a [u8],
    /// Request target.
    pub uri: &'a [u8],
    /// Header lines with their line ends, to be placed after those of the plan's `extra_headers`.
    pub headers: &'a [u8],
    /// The program's own header lines that they replace.
    pub replaces: Replaced,
    /// Body.
    pub body: Content<'a>,
}

/// Header lines of the program that the plan's header fields replace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replaced {
    /// `Host`.
    pub host: bool,
    /// `User-Agent`.
    pub user_agent: bool,
    /// The `Connection` field of HTTP/1.0.
    pub connection: bool,
}

/// Body of a request.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    /// No body.
    None,
    /// The same bytes for many calls, which need not be copied.
    Shared(&'a Rc<Arc<[u8]>>),
    /// Bytes of this call only.
    Rendered(&'a [u8]),
}

impl Content<'_> {
    /// Bytes of the body; `None` if there is no body.
    #[must_use]
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::None => None,
            Self::Shared(bytes) => Some(bytes),
            Self::Rendered(bytes) => Some(bytes),
        }
    }
}

impl<'p> Requests<'p> {
    /// Creates the requests of a plan.
    ///
    /// # Panics
    /// If a file of a body or of prompts was not read: its contents are not saved with a plan.
    #[must_use]
    pub fn new(plan: &'p Plan) -> Self {
        Self::of(&plan.uris, &plan.request, &plan.replies, plan.client)
    }

    fn of(uris: &'p UriSource, template: &'p RequestTemplate, replies: &Replies, client: Client) -> Self {
        let body = template.body.as_ref().map(Payload::new);
        let source = match uris {
            UriSource::Template(template) => Source::Template(template),
            UriSource::Requests(requests) => {
                let listed = |request: &'p ListedRequest| {
                    let body = request.body.as_ref().map(Payload::new);
                    let is_unchanging = request.uri.as_literal().is_some()
                        && are_unchanging(&request.headers)
                        && are_unchanging(&template.headers)
                        && is_shared(body.as_ref());
                    let ListedRequest { method, uri, headers, .. } = request;
                    Listed { method, uri, headers, body, is_unchanging }
                };
                Source::Listed { requests: requests.iter().map(listed).collect(), names_servers: true }
            }
            UriSource::Prompts(prompts) => {
                assert!(!prompts.requests.is_empty(), "prompts are read before they are sent");
                let listed = |request: &'p PromptRequest| Listed {
                    method: &template.method,
                    uri: &request.uri,
                    headers: &[],
                    body: Some(Payload::Shared(Rc::new(Arc::clone(&request.body)))),
                    is_unchanging: request.uri.as_literal().is_some() && are_unchanging(&template.headers),
                };
                let requests = prompts.requests.iter().map(listed).collect();
                Source::Listed { requests, names_servers: false }
            }
            UriSource::Fixed(_) | UriSource::List { .. } | UriSource::WorkingSet(_) => Source::Uris {
                uris: Uris::new(uris, client),
                is_unchanging: are_unchanging(&template.headers) && is_shared(body.as_ref()),
            },
        };
        Self {
            source,
            client,
            method: &template.method,
            shared: SharedHeaders { compressed: replies.compressed, headers: &template.headers },
            body,
            uri: Vec::new(),
            lines: Vec::new(),
            rendered: Vec::new(),
        }
    }

    /// Request of call `number`; `None` beyond the end of a list that does not wrap. Depends only on the
    /// number.
    pub fn at(&mut self, number: u64) -> Option<Material<'_>> {
        self.fill(number, Uris::at)
    }

    /// Like [`Requests::at`], except that the URI of a list or a working set is the one after the last.
    pub fn next(&mut self, number: u64) -> Option<Material<'_>> {
        self.fill(number, Uris::next)
    }

    fn fill(
        &mut self,
        number: u64,
        uri: impl FnOnce(&mut Uris, u64) -> Option<&[u8]>,
    ) -> Option<Material<'_>> {
        let Self { source, shared, .. } = self;
        let mut fill = Fill::new(self.client, number);
        self.uri.clear();
        let mut material = Material {
            method: self.method,
            uri: b"",
            headers: b"",
            replaces: Replaced::default(),
            body: Content::None,
        };
        let (mut own, mut body): (&[Header], _) = (&[], self.body.as_ref());
        match source {
            Source::Uris { uris, .. } => material.uri = uri(uris, number)?,
            Source::Template(template) => {
                fill.write(template, &mut self.uri);
                material.uri = &self.uri;
            }
            Source::Listed { requests, .. } => {
                let Listed { method, uri, headers, body: own_body, .. } =
                    &requests[(number % requests.len() as u64) as usize];
                fill.write(uri, &mut self.uri);
                (material.method, material.uri) = (method, &self.uri);
                (own, body) = (headers, own_body.as_ref());
            }
        }
        material.replaces = shared.write(own, &mut fill, &mut self.lines);
        material.headers = &self.lines;
        material.body = Payload::content(body, &mut fill, &mut self.rendered);
        Some(material)
    }

    /// Request of call `number` with the given method, request target and body, and the header fields common
    /// to all calls.
    pub fn around<'a>(
        &'a mut self,
        number: u64,
        method: &'a [u8],
        uri: &'a [u8],
        body: &'a [u8],
    ) -> Material<'a> {
        let replaces = self.shared.write(&[], &mut Fill::new(self.client, number), &mut self.lines);
        Material {
            method,
            uri,
            headers: &self.lines,
            replaces,
            body: if body.is_empty() { Content::None } else { Content::Rendered(body) },
        }
    }

    /// A request of a recording, as call `number`, with the header fields common to all calls.
    pub fn recorded<'a>(&'a mut self, number: u64, request: &'a RecordedRequest) -> Material<'a> {
        let mut fill = Fill::new(self.client, number);
        let replaces = self.shared.write(&request.headers, &mut fill, &mut self.lines);
        Material {
            method: &request.method,
            uri: &request.uri,
            headers: &self.lines,
            replaces,
            body: request.body.as_deref().map_or(Content::None, Content::Rendered),
        }
    }

    /// Cache slot for the rendered request of this call to this target: calls with the same slot have the
    /// same request. `None` if the request may be unique. Slots are below [`places`](Self::places).
    #[must_use]
    pub fn place(&self, number: u64, target: usize) -> Option<usize> {
        match &self.source {
            Source::Uris { uris, is_unchanging } => {
                let (kept, which) = (uris.variety()?.min(KEPT_MAX), uris.which(number)?);
                (*is_unchanging && which < kept).then_some(target * kept + which)
            }
            Source::Template(_) => None,
            Source::Listed { requests, names_servers } => {
                let index = (number % requests.len() as u64) as usize;
                let kept = requests.len().min(KEPT_MAX);
                let first = if *names_servers { 0 } else { target * kept };
                (index < kept && requests[index].is_unchanging).then_some(first + index)
            }
        }
    }

    /// Number of cache slots for a plan with this many targets.
    #[must_use]
    pub fn places(&self, targets: usize) -> usize {
        match &self.source {
            Source::Uris { uris, is_unchanging: true } => {
                targets * uris.variety().unwrap_or_default().min(KEPT_MAX)
            }
            Source::Uris { .. } | Source::Template(_) => 0,
            Source::Listed { requests, names_servers } => {
                let targets = if *names_servers { 1 } else { targets };
                targets * requests.len().min(KEPT_MAX)
            }
        }
    }

    /// Number of requests; `None` if infinite.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        match &self.source {
            Source::Uris { uris, .. } => uris.count(),
            Source::Template(_) | Source::Listed { .. } => None,
        }
    }
}

fn is_shared(body: Option<&Payload<'_>>) -> bool {
    !matches!(body, Some(Payload::Template(_)))
}

fn are_unchanging(headers: &[Header]) -> bool {
    headers.iter().all(|header| header.value.as_literal().is_some())
}

impl SharedHeaders<'_> {
    /// Writes the lines of these header fields to `lines`, followed by the request's `own` ones, which
    /// replace common ones of the same name.
    fn write(&self, own: &[Header], fill: &mut Fill, lines: &mut Vec<u8>) -> Replaced {
        lines.clear();
        let is_own = |name: &str| own.iter().any(|header| header.is(name));
        let shared = self.headers.iter().filter(|header| !is_own(&header.name));
        let mut replaced = Replaced::default();
        let mut asks_for_coding = false;
        // The end of the value of the cookies, which are sent in one field (RFC 6265, section 5.4).
        let mut cookies_end = None;
        for header in shared.chain(own) {
            if header.is("Cookie") {
                fill.write_cookies(header, &mut cookies_end, lines);
                continue;
            }
            replaced.host |= header.is("Host");
            replaced.user_agent |= header.is("User-Agent");
            replaced.connection |= header.is("Connection");
            asks_for_coding |= header.is("Accept-Encoding");
            fill.write_line(header, lines);
        }
        if self.compressed && !asks_for_coding {
            lines.extend_from_slice(ACCEPT_ENCODING);
        }
        replaced
    }
}

impl<'p> Payload<'p> {
    fn new(body: &'p Body) -> Self {
        // A single file is sent without being copied.
        if let [BodyPart::File(file)] = &body.parts[..] {
            assert_eq!(file.contents.len() as u64, file.size, "a file is read before its contents are sent");
            return Self::Shared(Rc::new(Arc::clone(&file.contents)));
        }
        let mut bytes = Vec::new();
        for part in &body.parts {
            match part {
                BodyPart::Text(text) => match text.as_literal() {
                    Some(literal) => bytes.extend_from_slice(literal),
                    None => return Self::Template(body),
                },
                BodyPart::File(file) => bytes.extend_from_slice(&file.contents),
            }
        }
        Self::Shared(Rc::new(bytes.into()))
    }

    fn content<'a>(payload: Option<&'a Self>, fill: &mut Fill, rendered: &'a mut Vec<u8>) -> Content<'a> {
        match payload {
            None => Content::None,
            Some(Self::Shared(bytes)) => Content::Shared(bytes),
            Some(Self::Template(body)) => {
                rendered.clear();
                for part in &body.parts {
                    match part {
                        BodyPart::Text(text) => fill.write(text, rendered),
                        BodyPart::File(file) => rendered.extend_from_slice(&file.contents),
                    }
                }
                Content::Rendered(rendered)
            }
        }
    }
}

/// Fills in the placeholders of one call, in the order of their positions.
pub(crate) struct Fill {
    number: u64,
    draws: Draws,
}

impl Fill {
    pub(crate) fn new(client: Client, number: u64) -> Self {
        Self { number, draws: Draws::new(client, number) }
    }

    /// Fills in the placeholders of a visit's `nth` call, from 0. `{seq}` is the number of the visit.
    pub(crate) fn of_call(client: Client, visit: u64, nth: u64) -> Self {
        Self { number: visit, draws: Draws::of_visit(client, nth, visit) }
    }

    /// Fills in the placeholders of a message on the WebSocket that a call opens. `{seq}` is the number of the message.
    pub(crate) fn of_message(client: Client, call: u64, number: u64) -> Self {
        Self { number, draws: Draws::of_visit(client, number, call) }
    }

    /// Appends a header line.
    pub(crate) fn write_line(&mut self, header: &Header, lines: &mut Vec<u8>) {
        lines.extend_from_slice(header.name.as_bytes());
        lines.extend_from_slice(b": ");
        self.write(&header.value, lines);
        lines.extend_from_slice(b"\r\n");
    }

    /// Appends a header line with cookies, or adds them to the line of others, whose value ends at `end`.
    fn write_cookies(&mut self, header: &Header, end: &mut Option<usize>, lines: &mut Vec<u8>) {
        let Some(place) = end else {
            self.write_line(header, lines);
            *end = Some(lines.len() - b"\r\n".len());
            return;
        };
        let mut more = b"; ".to_vec();
        self.write(&header.value, &mut more);
        let start = *place;
        *place += more.len();
        lines.splice(start..start, more);
    }

    pub(crate) fn write(&mut self, template: &Template, out: &mut Vec<u8>) {
        for piece in template.pieces() {
            let written = match piece {
                Piece::Literal(bytes) => out.write_all(bytes),
                Piece::Sequence => write!(out, "{}", self.number),
                Piece::Random { low, high } => write!(out, "{}", self.draws.between(*low, *high)),
                Piece::Uuid => {
                    let uuid = self.draws.uuid();
                    let (a, b, c) = (uuid >> 96, uuid >> 80 & 0xFFFF, uuid >> 64 & 0xFFFF);
                    let (d, e) = (uuid >> 48 & 0xFFFF, uuid & 0xFFFF_FFFF_FFFF);
                    write!(out, "{a:08x}-{b:04x}-{c:04x}-{d:04x}-{e:012x}")
                }
            };
            written.expect("writing to memory does not fail");
        }
    }
}

#[cfg(test)]
mod tests {
    use httperf_plan::prompts::{Asking, Prompts};
    use httperf_plan::{BodyFile, HttpVersion, NonEmpty, Sha256};

    use super::*;

    fn template() -> RequestTemplate {
        RequestTemplate {
            version: HttpVersion::Http11,
            method: b"GET".to_vec(),
            user_agent: "httperf/0".into(),
            host_header: true,
            extra_headers: Vec::new(),
            headers: Vec::new(),
            body: None,
            websocket: None,
        }
    }

    fn filled(text: &str) -> Template {
        Template::parse(text.as_bytes()).unwrap()
    }

    fn headers(lines: &[&str]) -> Vec<Header> {
        lines.iter().map(|line| Header::parse(line.as_bytes()).unwrap()).collect()
    }

    fn fixed(uri: &str) -> UriSource {
        UriSource::Fixed(uri.into())
    }

    fn file(contents: &[u8]) -> BodyFile {
        let size = contents.len() as u64;
        BodyFile { path: "file".into(), size, sha256: Sha256([0; 32]), contents: contents.into() }
    }

    fn client(index: u32) -> Client {
        Client::new(index, 4)
    }

    /// Formats a request in one line: method, URI, header lines, body.
    fn outline(material: &Material<'_>) -> String {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let mut outline = format!("{} {}", text(material.method), text(material.uri));
        outline += &text(material.headers).replace("\r\n", "|");
        match material.body.bytes() {
            Some(body) => outline + &format!(" '{}'", text(body)),
            None => outline,
        }
    }

    #[track_caller]
    fn check(uris: &UriSource, template: &RequestTemplate, expected: &[&str]) {
        let mut requests = Requests::of(uris, template, &Replies::default(), Client::default());
        for (number, expected) in (0..).zip(expected) {
            let place = requests.place(number, 3).map_or_else(|| "-".to_owned(), |place| place.to_string());
            assert_eq!(&format!("{place} {}", outline(&requests.at(number).unwrap())), expected);
        }
    }

    #[test]
    fn a_request_without_placeholders_is_always_the_same() {
        let plain = RequestTemplate { body: Some(Body::text(filled("abc"))), ..template() };
        check(&fixed("/{seq}"), &plain, &["3 GET /{seq} 'abc'", "3 GET /{seq} 'abc'"]);
        let listed = UriSource::List { uris: [b"/a".to_vec(), b"/b".to_vec()].into(), wrap: true };
        check(&listed, &template(), &["6 GET /a", "7 GET /b", "6 GET /a"]);
    }

    #[test]
    fn placeholders_are_filled_in_everywhere() {
        let uris = UriSource::Template(filled("/{seq}?{rand:7-7}"));
        let template = RequestTemplate {
            headers: headers(&["X-A: b", "X-Number: <{seq}>"]),
            body: Some(Body {
                parts: vec![BodyPart::Text(filled("n={seq}&")), BodyPart::File(file(b"{seq}"))],
            }),
            ..template()
        };
        check(
            &uris,
            &template,
            &["- GET /0?7X-A: b|X-Number: <0>| 'n=0&{seq}'", "- GET /1?7X-A: b|X-Number: <1>| 'n=1&{seq}'"],
        );
    }

    #[test]
    fn a_request_with_any_placeholder_is_not_constant() {
        for (uris, headers, body) in [
            (UriSource::Template(filled("/{seq}")), headers(&[]), None),
            (fixed("/"), headers(&["A: {uuid}"]), None),
            (fixed("/"), headers(&[]), Some(Body::text(filled("{rand:1-2}")))),
        ] {
            let template = RequestTemplate { headers, body, ..template() };
            let mut requests = Requests::of(&uris, &template, &Replies::default(), Client::default());
            assert!(requests.at(0).is_some() && requests.place(0, 0).is_none() && requests.places(1) == 0);
        }
    }

    #[test]
    fn listed_requests_take_turns_and_their_headers_replace_shared_ones() {
        let request = |server, method: &str, uri: &str, lines: &[&str], body: Option<&str>| ListedRequest {
            server,
            method: method.into(),
            uri: filled(uri),
            headers: headers(lines),
            body: body.map(|body| Body::text(filled(body))),
        };
        let uris = UriSource::Requests(NonEmpty::from([
            request(1, "GET", "/a", &[], None),
            request(0, "POST", "/{seq}", &["accept: b", "X: 1", "X: 2"], Some("")),
            request(1, "PUT", "/c", &[], Some("<{seq}>")),
        ]));
        let template = RequestTemplate {
            headers: headers(&["Accept: a", "Y: z"]),
            body: Some(Body::text(filled("not for them"))),
            ..template()
        };
        check(
            &uris,
            &template,
            &[
                "0 GET /aAccept: a|Y: z|",
                "- POST /1Y: z|accept: b|X: 1|X: 2| ''",
                "- PUT /cAccept: a|Y: z| '<2>'",
                "0 GET /aAccept: a|Y: z|",
            ],
        );
    }

    #[test]
    fn prompts_take_turns_and_are_kept_for_each_server() {
        let request =
            |uri: &str, body: &str| PromptRequest { uri: filled(uri), body: body.as_bytes().into() };
        let asking = Asking {
            uri: filled("/v1/completions"),
            names_path: false,
            model: None,
            max_tokens: None,
            whole_answers: false,
        };
        let requests = [request("/v1/completions", "{}"), request("/v1/chat/completions?{seq}", "[]")];
        let prompts = Prompts { file: file(b""), asking, count: 2, requests: requests.into() };
        let template =
            RequestTemplate { method: b"POST".to_vec(), headers: headers(&["A: b"]), ..template() };
        let uris = UriSource::Prompts(prompts);
        check(
            &uris,
            &template,
            &[
                "6 POST /v1/completionsA: b| '{}'",
                "- POST /v1/chat/completions?1A: b| '[]'",
                "6 POST /v1/completionsA: b| '{}'",
            ],
        );
        let requests = Requests::of(&uris, &template, &Replies::default(), Client::default());
        assert_eq!((requests.places(4), requests.count()), (8, None));
    }

    #[test]
    fn a_file_is_sent_without_being_copied() {
        let contents = file(b"contents");
        let template = RequestTemplate { body: Some(Body::file(contents.clone())), ..template() };
        let uris = UriSource::Template(filled("/{seq}"));
        let mut requests = Requests::of(&uris, &template, &Replies::default(), Client::default());
        for number in 0..3 {
            let Content::Shared(bytes) = requests.at(number).unwrap().body else { panic!("it is shared") };
            assert!(Arc::ptr_eq(bytes, &contents.contents));
        }
    }

    #[test]
    fn the_program_s_own_fields_are_replaced() {
        let template = RequestTemplate {
            headers: headers(&["host: a", "User-agent: b", "CONNECTION: close"]),
            ..template()
        };
        let uris = fixed("/");
        let mut requests = Requests::of(&uris, &template, &Replies::default(), Client::default());
        let all = Replaced { host: true, user_agent: true, connection: true };
        assert_eq!(requests.at(0).unwrap().replaces, all);
        assert_eq!(requests.around(0, b"GET", b"/", b"").replaces, all);
    }

    #[test]
    fn several_cookie_fields_are_joined() {
        let template = RequestTemplate {
            headers: headers(&["Cookie: a=1", "X: y", "cookie: b={seq}", "COOKIE: c=3"]),
            ..template()
        };
        check(&fixed("/"), &template, &["- GET /Cookie: a=1; b=0; c=3|X: y|"]);
    }

    #[test]
    fn compression_is_requested_once() {
        let replies = Replies { compressed: true, ..Replies::default() };
        let uris = fixed("/");
        for (lines, expected) in [
            (&["A: b"][..], "GET /A: b|Accept-Encoding: gzip, br, zstd|"),
            (&["accept-encoding: br"], "GET /accept-encoding: br|"),
        ] {
            let template = RequestTemplate { headers: headers(lines), ..template() };
            let mut requests = Requests::of(&uris, &template, &replies, Client::default());
            assert_eq!(outline(&requests.at(0).unwrap()), expected);
        }
    }

    #[test]
    fn values_depend_only_on_client_and_number() {
        let uris = UriSource::Template(filled("/{uuid}/{rand:0-999999}/{rand:0-999999}"));
        let template = RequestTemplate { headers: headers(&["X: {uuid}"]), ..template() };
        let of = |client, numbers: &mut dyn Iterator<Item = u64>| -> Vec<String> {
            let mut requests = Requests::of(&uris, &template, &Replies::default(), client);
            numbers.map(|number| outline(&requests.at(number).unwrap())).collect()
        };
        let all = of(client(1), &mut (0..100));
        let mut reversed = of(client(1), &mut (0..100).rev());
        reversed.reverse();
        assert_eq!(all, reversed);
        let other = of(client(2), &mut (0..100));
        assert!(all.iter().zip(&other).all(|(own, their)| own != their));
        let uuid = all[0].split('/').nth(1).unwrap();
        let sizes: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(sizes, [8, 4, 4, 4, 12], "{uuid}");
        assert_eq!(&uuid[14..15], "4");
    }

    #[test]
    fn a_list_that_does_not_wrap_has_an_end() {
        let uris = UriSource::List { uris: [b"/a".to_vec()].into(), wrap: false };
        let template = template();
        let mut requests = Requests::of(&uris, &template, &Replies::default(), Client::default());
        assert!(requests.next(0).is_some() && requests.next(1).is_none());
        assert!(requests.at(0).is_some() && requests.at(1).is_none());
        assert_eq!(requests.count(), Some(1));
    }
}
