//! GoReplay's files: raw requests and responses, each behind a line with its kind, its number and its time.
//!
//! ```text
//! 1 932079936fa4306fc308d67588178d17d823647c 1439818823587396305 0
//! GET / HTTP/1.1
//! Host: shop.example
//!
//!
//! 🐵🙈🙉
//! ```
//!
//! Kind 1 is a request; 2 is the recorded response to the request with the same number, and 3 that of a replay, which
//! counts only if the recorded one is not there.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::time::Duration;

use crate::clients::{By, Clients};
use crate::error::{Error, Flaw};
use crate::headers::{elements, is_method, is_name, is_of_the_connection};
use crate::lines::{Ended, Lines, trimmed};
use crate::log::Stamps;
use crate::log::escapes::target_text;
use crate::models::Asking;
use crate::order::{Key, Order};
use crate::recording::{self, Form};
use crate::report::{Report, shortened};
use crate::trace::{self, Body, Head};

/// The line between two messages.
pub(crate) const SEPARATOR: &[u8] = "🐵🙈🙉".as_bytes();

/// The length of a message; longer ones are left out.
pub const MESSAGE_MAX: usize = 16 * 1024 * 1024;

/// The maximum number of header fields of a request.
const HEADERS_MAX: usize = 1000;

/// The choices about an import.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The parts of a request by which clients are told apart: the address that a proxy has added, the agent, and the
    /// cookies.
    pub by: By,
    /// The pause that ends a client's session.
    pub idle: Duration,
}

/// Reads a file of messages and writes its requests as a trace.
///
/// # Errors
/// If it cannot be read, has no requests, or the trace cannot be written.
pub fn to_trace(reader: impl BufRead, options: Options, out: impl Write) -> Result<Report, Error> {
    let form = Some(Form::GoReplay);
    let asking = Asking::default();
    let options = recording::Options { form, by: options.by, idle: options.idle, asking };
    recording::to_trace(reader, &options, out)
}

/// Returns whether a line can be the one before a message.
pub(crate) fn is_message_head(line: &[u8]) -> bool {
    MessageHead::parse(line).is_some()
}

/// The messages of a file.
#[derive(Debug)]
struct Messages<R> {
    lines: Lines<R>,
    line: Vec<u8>,
}

/// A message with the line before it.
#[derive(Debug, Default)]
struct Message {
    /// The number of its first line.
    number: u64,
    head: Vec<u8>,
    payload: Vec<u8>,
    is_cut: bool,
}

impl<R: BufRead> Messages<R> {
    /// Reads the next message. Returns false at the end.
    fn read(&mut self, message: &mut Message) -> Result<bool, Error> {
        message.head.clear();
        message.payload.clear();
        message.is_cut = false;
        let mut has_head = false;
        while let Some(ended) = self.lines.read(&mut self.line)? {
            let line = trimmed(&self.line);
            if line.trim_ascii_end() == SEPARATOR {
                if has_head {
                    break;
                }
                continue;
            }
            if !has_head {
                if line.is_empty() {
                    continue;
                }
                has_head = true;
                message.number = self.lines.number();
                message.head.extend_from_slice(line);
                message.is_cut = ended == Ended::Cut;
                continue;
            }
            message.is_cut |= ended == Ended::Cut || message.payload.len() + self.line.len() > MESSAGE_MAX;
            if !message.is_cut {
                message.payload.extend_from_slice(&self.line);
            }
        }
        // The line feed before the separator belongs to it.
        if message.payload.last() == Some(&b'\n') {
            message.payload.pop();
        }
        Ok(has_head)
    }
}

/// A request that waits for its response.
#[derive(Debug)]
struct Pending {
    id: String,
    request: trace::Request,
    /// True if the recorded response has come.
    answered: bool,
}

/// The requests of a file in order of start.
#[derive(Debug)]
pub(crate) struct Requests<R> {
    messages: Messages<R>,
    /// The message that was read last.
    message: Message,
    order: Order<Pending>,
    places: HashMap<String, Key>,
    clients: Clients,
    /// The number of responses without a request.
    strays: u64,
    report: Report,
    done: bool,
}

impl<R: BufRead> Requests<R> {
    pub(crate) fn new(reader: R, clients: Clients) -> Self {
        Self {
            messages: Messages { lines: Lines::new(reader, MESSAGE_MAX), line: Vec::new() },
            message: Message::default(),
            order: Order::new(),
            places: HashMap::new(),
            clients,
            strays: 0,
            report: Report::default(),
            done: false,
        }
    }

    /// The description of a trace of the file, without its start.
    pub(crate) fn head() -> Head {
        let resolution = Duration::from_nanos(1);
        Head { from: "goreplay".to_owned(), resolution, stamps: Stamps::Start, began: 0 }
    }

    /// The next request with its start in nanoseconds since the epoch. Its `at` is zero.
    pub(crate) fn read(&mut self) -> Result<Option<(i64, trace::Request)>, Error> {
        loop {
            if let Some((at, pending)) = self.order.pop() {
                self.places.remove(&pending.id);
                let client = self.client(at, &pending.request);
                return Ok(Some((at, trace::Request { client, ..pending.request })));
            }
            if self.done {
                return Ok(None);
            }
            let mut message = std::mem::take(&mut self.message);
            if self.messages.read(&mut message)? {
                self.take(&message);
            } else {
                self.finish()?;
            }
            self.message = message;
        }
    }

    fn take(&mut self, message: &Message) {
        let number = message.number;
        let Some(head) = MessageHead::parse(&message.head) else {
            self.report.leave_out("messages without the line `KIND ID TIME` before them", || {
                format!("line {number}: {}", shown(&message.head))
            });
            return;
        };
        // Where a separator is lost, further messages stand behind the first.
        let mut next = Some((head, &message.payload[..]));
        while let Some((head, payload)) = next {
            let rest = match head.kind {
                1 if message.is_cut => {
                    let reason = "requests that are too long";
                    self.report.leave_out(reason, || format!("line {number}: {}", first_line(payload)));
                    return;
                }
                1 => self.take_request(head, number, payload),
                _ => self.take_response(&head, payload),
            };
            next = self.take_rest(number, rest);
        }
    }

    /// Takes a request, and returns what stands behind it.
    fn take_request<'m>(&mut self, head: MessageHead, number: u64, payload: &'m [u8]) -> &'m [u8] {
        let (request, rest) = request(payload);
        match request {
            Ok(request) => {
                self.report.carried += 1;
                let pending = Pending { id: head.id.clone(), request, answered: false };
                if let Some(key) = self.order.push(head.time, head.time, pending) {
                    self.places.insert(head.id, key);
                }
            }
            Err(reason) => {
                self.report.leave_out(reason, || format!("line {number}: {}", first_line(payload)));
            }
        }
        rest
    }

    /// Takes a response, and returns what stands behind it.
    fn take_response<'m>(&mut self, head: &MessageHead, payload: &'m [u8]) -> &'m [u8] {
        let rest = behind_response(payload);
        let pending = self.places.get(&head.id).and_then(|key| Some((key.0, self.order.waiting(*key)?)));
        let Some((start, pending)) = pending else {
            self.strays += 1;
            return rest;
        };
        if pending.answered {
            return rest;
        }
        pending.answered = head.kind == 2;
        if let Some(status) = status(payload) {
            pending.request.status = Some(status);
        }
        let took = if head.latency > 0 { head.latency } else { head.time.saturating_sub(start) };
        pending.request.took = u64::try_from(took).ok().map(Duration::from_nanos);
        rest
    }

    /// Takes what stands behind a message of its own. Returns the next message, if its first line is there; what has
    /// none has no time either, and is counted.
    fn take_rest<'m>(&mut self, number: u64, mut rest: &'m [u8]) -> Option<(MessageHead, &'m [u8])> {
        loop {
            rest = rest.trim_ascii_start();
            if rest.is_empty() {
                return None;
            }
            let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
            let (line, behind) = rest.split_at_checked(end)?;
            if let Some(head) = MessageHead::parse(trimmed(line)) {
                return Some((head, behind));
            }
            let example = || format!("in the message of line {number}: {}", shown(trimmed(line)));
            if request_line(trimmed(line)).is_err() {
                self.report.leave_out("bytes behind a request, beyond its length", example);
                // A message may follow yet.
                let next = memchr::memchr_iter(b'\n', rest)
                    .filter_map(|at| rest.get(at + 1..))
                    .find(|behind| is_start(behind))?;
                rest = next;
                continue;
            }
            self.report.leave_out("requests behind a lost separator, which have no time", example);
            rest = request(rest).1;
        }
    }

    /// The number of a request's client. Requests that tell nothing about it each have their own.
    fn client(&mut self, at: i64, request: &trace::Request) -> u64 {
        let field = |name: &str| {
            let mut fields = request.headers.iter().filter(|(known, _)| known.eq_ignore_ascii_case(name));
            fields.next().map(|(_, value)| &value[..])
        };
        let address = field("x-forwarded-for").and_then(|list| elements(list).next());
        let address = address.or_else(|| field("x-real-ip"));
        // Cookies change within a visit, so an address is the better sign.
        let user = if address.is_none() { field("cookie") } else { None };
        let agent = field("user-agent").filter(|_| address.is_some() || user.is_some());
        self.clients.number(at, address, agent, user)
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.done = true;
        self.order.finish();
        if self.report.carried == 0 {
            let first = self.report.left_out.first();
            let reason =
                first.map_or_else(String::new, |first| format!("; {} {}", first.count, first.reason));
            return Err(
                Flaw::whole(format!("expected a file of GoReplay with requests, got none{reason}")).into()
            );
        }
        Ok(())
    }

    /// The account so far.
    pub(crate) fn report(&self) -> Report {
        let mut report = self.report.clone();
        self.order.account(&mut report);
        self.clients.account(&mut report);
        if self.strays > 0 {
            report.note(format!("{} responses have no request within 60 s before them", self.strays));
        }
        report
    }
}

/// The line before a message.
#[derive(Debug, PartialEq, Eq)]
struct MessageHead {
    kind: u8,
    id: String,
    /// Nanoseconds since the epoch.
    time: i64,
    /// The time from the request to the response, or 0.
    latency: i64,
}

impl MessageHead {
    fn parse(line: &[u8]) -> Option<Self> {
        /// The length of a message's number.
        const ID_MAX: usize = 256;
        let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
        let kind = words.next()?.parse().ok().filter(|kind| (1..=3).contains(kind))?;
        let id = words.next().filter(|id| id.len() <= ID_MAX)?.to_owned();
        let time = words.next()?.parse().ok().filter(|time| *time >= 0)?;
        let latency = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        Some(Self { kind, id, time, latency })
    }
}

fn status(payload: &[u8]) -> Option<u16> {
    let line = payload.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?;
    let status = line.strip_prefix("HTTP/")?.split_ascii_whitespace().nth(1)?;
    status.parse().ok().filter(|status| (100..1000).contains(status))
}

/// The start of a text, as reports show it.
fn shown(line: &[u8]) -> String {
    shortened(String::from_utf8_lossy(line).trim_end(), 60)
}

fn first_line(payload: &[u8]) -> String {
    shown(payload.split(|byte| *byte == b'\n').next().unwrap_or_default())
}

/// Returns whether a text begins with the line before a message, or with a request.
fn is_start(text: &[u8]) -> bool {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let line = trimmed(line);
    is_message_head(line) || request_line(line).is_ok()
}

/// The reason for which a message is left out that begins otherwise.
const NOT_A_REQUEST: &str = "messages that are not requests of HTTP/1";

/// The reason for which a request is left out that is not whole.
const CUT_OFF: &str = "requests whose body is cut off";

/// Reads a request line: the method, and the target in origin form.
fn request_line(line: &[u8]) -> Result<(String, String), &'static str> {
    let mut words = line.split(|byte| *byte == b' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Err(NOT_A_REQUEST) };
    let method = std::str::from_utf8(method).ok().filter(|method| is_method(method)).ok_or(NOT_A_REQUEST)?;
    if !words.next().is_some_and(|version| version.starts_with(b"HTTP/")) {
        return Err(NOT_A_REQUEST);
    }
    if method == "CONNECT" {
        return Err("CONNECT requests");
    }
    Ok((method.to_owned(), origin_form(target).ok_or(NOT_A_REQUEST)?))
}

/// The lines of a head behind the first, and what follows the empty line at its end. Lines may end as on Windows, also
/// where an editor has added to what was there.
fn split_head(message: &[u8]) -> (Vec<&[u8]>, &[u8]) {
    let mut lines = Vec::new();
    let mut rest = message;
    while !rest.is_empty() {
        let end = memchr::memchr(b'\n', rest).map_or(rest.len(), |at| at + 1);
        let (line, behind) = rest.split_at_checked(end).unwrap_or((rest, b""));
        rest = behind;
        let line = line.trim_ascii_end();
        if line.is_empty() {
            break;
        }
        lines.push(line);
    }
    (lines, rest)
}

/// The end of the body of a message, by its header fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    /// The message has no such field.
    Unsaid,
    Length(usize),
    Chunked,
    /// The field cannot be understood.
    Broken,
}

impl Framing {
    /// Takes a field into account.
    fn take(&mut self, name: &str, value: &str) {
        if name.eq_ignore_ascii_case("transfer-encoding") {
            let last = elements(value).next_back().unwrap_or_default();
            *self = if last.eq_ignore_ascii_case("chunked") { Self::Chunked } else { Self::Broken };
        } else if name.eq_ignore_ascii_case("content-length") && *self != Self::Chunked {
            *self = value.parse().map_or(Self::Broken, Self::Length);
        }
    }
}

fn field(line: &[u8]) -> Option<(String, String)> {
    let line = String::from_utf8_lossy(line);
    let (name, value) = line.split_once(':').filter(|(name, _)| is_name(name))?;
    Some((name.to_owned(), value.trim().to_owned()))
}

/// Reads a raw request, or gives the reason for which it is left out; and what stands behind it. A request that tells no
/// length has no body.
///
/// <https://www.rfc-editor.org/rfc/rfc9112#section-6.3>
fn request(payload: &[u8]) -> (Result<trace::Request, &'static str>, &[u8]) {
    let (lines, behind) = split_head(payload);
    let Some((first, lines)) = lines.split_first() else { return (Err(NOT_A_REQUEST), b"") };
    let line = request_line(first);
    if line == Err(NOT_A_REQUEST) {
        return (Err(NOT_A_REQUEST), b"");
    }
    let mut headers = Vec::new();
    let mut framing = Framing::Unsaid;
    for (name, value) in lines.iter().filter_map(|line| field(line)) {
        framing.take(&name, &value);
        if headers.len() < HEADERS_MAX && !is_of_the_connection(&name) && !value.contains(['\0', '\r']) {
            headers.push((name, value));
        }
    }
    let split = match framing {
        Framing::Unsaid => Some((Vec::new(), behind)),
        Framing::Length(length) => behind.split_at_checked(length).map(|(body, rest)| (body.to_vec(), rest)),
        Framing::Chunked => unchunked(behind),
        Framing::Broken => None,
    };
    let Some((body, rest)) = split else { return (Err(CUT_OFF), b"") };
    let request = line.map(|(method, uri)| trace::Request {
        at: Duration::ZERO,
        client: 0,
        method,
        uri,
        headers,
        body: Some(body).filter(|body| !body.is_empty()).map(Body),
        status: None,
        took: None,
    });
    (request, rest)
}

/// The rest behind a response; nothing if only the end of the message tells where it ends.
fn behind_response(payload: &[u8]) -> &[u8] {
    let (lines, behind) = split_head(payload);
    let mut framing = Framing::Unsaid;
    for (name, value) in lines.iter().skip(1).filter_map(|line| field(line)) {
        framing.take(&name, &value);
    }
    let rest = match framing {
        Framing::Length(length) => behind.get(length..),
        Framing::Chunked => unchunked(behind).map(|(_, rest)| rest),
        Framing::Unsaid | Framing::Broken => None,
    };
    // The reply to a HEAD has a length and no body; and what is no message is a part of the response.
    rest.filter(|rest| {
        is_message_head(trimmed(
            rest.trim_ascii_start().split(|byte| *byte == b'\n').next().unwrap_or_default(),
        ))
    })
    .unwrap_or_default()
}

/// The target without scheme and host.
fn origin_form(target: &[u8]) -> Option<String> {
    if target == b"*" {
        return Some("*".to_owned());
    }
    let at = if target.starts_with(b"/") {
        0
    } else {
        let host = memchr::memmem::find(target, b"://")? + 3;
        match memchr::memchr(b'/', target.get(host..)?) {
            Some(at) => host + at,
            None => return Some("/".to_owned()),
        }
    };
    Some(target_text(target.get(at..)?))
}

/// The content of a body in chunks, and what stands behind it; `None` if it is not complete.
fn unchunked(mut body: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut content = Vec::new();
    loop {
        let end = memchr::memchr(b'\n', body)?;
        let size = std::str::from_utf8(body.get(..end)?.trim_ascii_end()).ok()?;
        let size = usize::from_str_radix(size.split(';').next()?.trim(), 16).ok()?;
        body = body.get(end + 1..)?;
        if size == 0 {
            // Trailers, if there are any.
            let rest = if body.trim_ascii_start().is_empty() { b"" } else { split_head(body).1 };
            return Some((content, rest));
        }
        let (chunk, rest) = body.split_at_checked(size)?;
        content.extend_from_slice(chunk);
        body = rest.strip_prefix(b"\r").unwrap_or(rest).strip_prefix(b"\n")?;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(head: &str, payload: &str) -> String {
        format!("{head}\n{payload}\n🐵🙈🙉\n")
    }

    fn import(text: &str) -> Result<(Vec<String>, Report), String> {
        let options = Options { by: By::default(), idle: Duration::from_secs(60) };
        let mut out = Vec::new();
        let report = to_trace(text.as_bytes(), options, &mut out).map_err(|error| error.about("a.gor"))?;
        let lines = String::from_utf8(out).unwrap().lines().map(str::to_owned).collect();
        Ok((lines, report))
    }

    #[test]
    fn requests_have_their_recorded_response() {
        let text = [
            message(
                "1 b 2000000500 0",
                "GET /later HTTP/1.1\r\nHost: a\r\nUser-Agent: x\r\nX-Forwarded-For: 10.0.0.1, 10.0.0.2\r\n\r\n",
            ),
            message(
                "1 a 1000000000",
                "POST http://a/x?y HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nCookie: s=1\r\n\r\na\nb\nc",
            ),
            message("2 a 1000000900 700", "HTTP/1.1 201 Created\r\n\r\n"),
            message("3 a 1000009900 9000", "HTTP/1.1 500 No\r\n\r\n"),
            message("3 b 2000000900", "HTTP/1.1 404 Not Found\r\n\r\n"),
            message("2 c 1 1", "HTTP/1.1 404 Not Found\r\n\r\n"),
            message(
                "1 d 3000000000 0",
                "PUT /c HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n1;x\r\n\n\r\n0\r\n\r\n",
            ),
        ];
        let (lines, report) = import(&text.concat()).unwrap();
        assert_eq!(
            lines,
            [
                r#"{"httperf-trace":1,"from":"goreplay","resolution_ns":1,"stamps":"start","began":"1970-01-01T00:00:01Z"}"#,
                r#"{"at":0.0,"client":0,"method":"POST","uri":"/x?y","headers":[["Cookie","s=1"]],"body":"a\nb\nc","status":201,"took":7e-7}"#,
                r#"{"at":1.0000005,"client":1,"method":"GET","uri":"/later","headers":[["User-Agent","x"],["X-Forwarded-For","10.0.0.1, 10.0.0.2"]],"status":404,"took":4e-7}"#,
                r#"{"at":2.0,"client":2,"method":"PUT","uri":"/c","body":"hi\n"}"#,
            ]
        );
        assert_eq!((report.carried, report.left_out_count()), (3, 0));
        assert!(report.notes.iter().any(|note| note.starts_with("1 responses have no request")), "{report}");
    }

    #[test]
    fn what_is_broken_is_left_out_by_reason() {
        let fine = "GET / HTTP/1.1\r\n\r\n";
        let text = [
            message("1 a 1", fine),
            message("one a 1", fine),
            message("1 a", fine),
            message("1 b 2", "\u{16}\u{3}"),
            message("1 b 2", "CONNECT a:443 HTTP/1.1\r\n\r\n"),
            message("1 b 2", "POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\nabc"),
            message("1 b 2", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc"),
            message("1 b 2", "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\nabc"),
            message("1 b 2", &format!("POST / HTTP/1.1\r\n\r\n{}", "x".repeat(MESSAGE_MAX))),
        ];
        let (_, report) = import(&text.concat()).unwrap();
        let reasons: Vec<(&str, u64)> =
            report.left_out.iter().map(|group| (&group.reason[..], group.count)).collect();
        assert_eq!(
            reasons,
            [
                ("messages without the line `KIND ID TIME` before them", 2),
                ("messages that are not requests of HTTP/1", 1),
                ("CONNECT requests", 1),
                ("requests whose body is cut off", 3),
                ("requests that are too long", 1),
            ]
        );
    }

    /// The targets and bodies of the requests, and the reasons for what is left out.
    fn kept(text: &str) -> (Vec<String>, Vec<(String, u64)>) {
        let (lines, report) = import(text).unwrap();
        let requests = lines.iter().skip(1).map(|line| {
            let request: trace::Request = serde_json::from_str(line).unwrap();
            let body = request.body.map(|body| format!(" {}", String::from_utf8(body.0).unwrap()));
            format!("{}{}", request.uri, body.unwrap_or_default())
        });
        let reasons = report.left_out.iter().map(|group| (group.reason.clone(), group.count));
        (requests.collect(), reasons.collect())
    }

    #[test]
    fn a_request_without_a_length_has_no_body() {
        let get = |path: &str, end: &str| format!("GET {path} HTTP/1.1{end}Host: a{end}{end}");
        for end in ["\n", "\r\n", "\r\r\n"] {
            let text = [
                format!("\u{feff}1 a 1 0{end}{}{end}🐵🙈🙉{end}", get("/a", end)),
                format!("1 b 2 0{end}{}{end}{end}🐵🙈🙉{end}", get("/b", end)),
                format!(
                    "1 c 3 0{end}POST /c HTTP/1.1{end}Content-Length: 2{end}{end}xy{end}{end}🐵🙈🙉{end}"
                ),
                format!("1 d 4 0{end}PUT /d HTTP/1.1{end}Transfer-Encoding: chunked{end}{end}2{end}"),
            ]
            .concat();
            let text = text + "hi\r\n0\r\n\r\n\n🐵🙈🙉\n";
            assert_eq!(kept(&text), (["/a", "/b", "/c xy", "/d hi"].map(str::to_owned).into(), Vec::new()));
        }
    }

    #[test]
    fn nothing_is_lost_in_silence_behind_a_lost_separator() {
        const LOST: &str = "requests behind a lost separator, which have no time";
        const MORE: &str = "bytes behind a request, beyond its length";
        let get = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        let post = |path: &str| format!("POST {path} HTTP/1.1\r\nContent-Length: 3\r\n\r\na=1");
        let response = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
        for (payload, targets, reasons) in [
            (get("/1") + &get("/2") + &post("/3"), vec!["/1"], vec![(LOST, 2)]),
            (post("/1") + &post("/2"), vec!["/1 a=1"], vec![(LOST, 1)]),
            // The line before the next message tells all that is needed.
            (post("/1") + "\n1 y 20 0\n" + &get("/2"), vec!["/1 a=1", "/2"], vec![]),
            (get("/1") + "\n2 x 11 1\n" + response + "\n1 y 20 0\n" + &get("/2"), vec!["/1", "/2"], vec![]),
            (get("/1") + "more\n", vec!["/1"], vec![(MORE, 1)]),
            (post("/1") + "&b=2\r\n1 y 20 0\n" + &get("/2"), vec!["/1 a=1", "/2"], vec![(MORE, 1)]),
            (
                "CONNECT a:1 HTTP/1.1\r\n\r\n".to_owned() + &get("/2"),
                vec![],
                vec![("CONNECT requests", 1), (LOST, 1)],
            ),
        ] {
            let text = message("1 x 10 0", &payload) + &message("1 z 30 0", &get("/last"));
            let targets = targets.into_iter().chain(["/last"]).map(str::to_owned).collect();
            let reasons = reasons.into_iter().map(|(reason, count)| (reason.to_owned(), count)).collect();
            assert_eq!(kept(&text), (targets, reasons), "{text}");
        }
    }

    #[test]
    fn files_without_requests_are_refused() {
        for (text, message) in [
            ("", "a.gor: expected a file of GoReplay with requests, got none"),
            (
                "hello\nworld\n",
                "a.gor: expected a file of GoReplay with requests, got none; 1 messages without the line `KIND ID \
                 TIME` before them",
            ),
        ] {
            assert_eq!(import(text).map(|(lines, _)| lines), Err(message.to_owned()));
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in any::<Vec<u8>>()) {
            let options = Options { by: By::default(), idle: Duration::from_secs(60) };
            for before in [&b""[..], b"1 a 1\n", b"1 a 1\nGET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"] {
                let _ = to_trace(&[before, &bytes].concat()[..], options, Vec::new());
            }
        }
    }
}
