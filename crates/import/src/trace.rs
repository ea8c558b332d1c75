//! Traces: recorded requests with their times, one JSON object a line, in order of start.
//!
//! The first line describes the trace ([`Head`]), each further one a request ([`Request`]):
//!
//! ```text
//! {"httperf-trace":1,"from":"combined","resolution_ns":1000000000,"stamps":"start","began":"2026-01-02T03:04:05Z"}
//! {"at":0.5,"client":0,"method":"GET","uri":"/","status":200,"took":0.012}
//! ```

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, Write};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{self, Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use crate::clock::{from_rfc3339, to_rfc3339};
use crate::error::{Error, Flaw};
use crate::headers::{is_method, is_name};
use crate::lines::{Ended, Lines, trimmed};
use crate::log::Stamps;

/// The version of the form.
pub const VERSION: u32 = 1;

/// The length of a line: a request with its body.
pub const LINE_MAX: usize = 32 * 1024 * 1024;

/// The bytes that a trace begins with.
pub(crate) const START: &[u8] = b"{\"httperf-trace\"";

/// The latest start of a request, counted from the first: ten years, so that nanoseconds are exact enough.
pub(crate) const AT_MAX: Duration = Duration::from_secs(36_525 * 8_640);

/// The description of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The recording's format.
    pub from: String,
    /// The resolution of the recording's stamps.
    pub resolution: Duration,
    /// The instant that the stamps were of.
    pub stamps: Stamps,
    /// The start of the first request, in nanoseconds since the epoch.
    pub began: i64,
}

/// A recorded request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// The start, from that of the first request on.
    #[serde(with = "seconds")]
    pub at: Duration,
    /// The number of the client's session.
    pub client: u64,
    /// The method.
    pub method: String,
    /// The target in origin form.
    pub uri: String,
    /// The header fields, without those that belong to a connection.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<(String, String)>,
    /// The body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<Body>,
    /// The recorded status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The recorded time from the start to the end.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "optional_seconds")]
    pub took: Option<Duration>,
}

/// The body of a request: written as text if it is UTF-8, otherwise as `{"base64":"…"}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body(pub Vec<u8>);

/// A writer of a trace.
#[derive(Debug)]
pub struct Writer<W> {
    out: W,
    line: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes the first line.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(out: W, head: &Head) -> io::Result<Self> {
        let mut writer = Self { out, line: Vec::new() };
        writer.line(&HeadLine::from(head))?;
        Ok(writer)
    }

    /// Writes a request.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&mut self, request: &Request) -> io::Result<()> {
        self.line(request)
    }

    /// Hands over all that was written.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }

    fn line(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)?;
        self.line.push(b'\n');
        self.out.write_all(&self.line)
    }
}

/// A reader of a trace.
#[derive(Debug)]
pub struct Reader<R> {
    lines: Lines<R>,
    line: Vec<u8>,
    head: Head,
    last: Duration,
}

impl<R: BufRead> Reader<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// If the stream cannot be read, or does not begin as a trace does.
    pub fn new(reader: R) -> Result<Self, Error> {
        let mut lines = Lines::new(reader, LINE_MAX);
        let mut line = Vec::new();
        if lines.read(&mut line)?.is_none() {
            return Err(Flaw::whole("expected a trace, got an empty file").into());
        }
        if !trimmed(&line).starts_with(START) {
            return Err(Flaw::at(1, "expected a trace, which begins with `{\"httperf-trace\":1,`")
                .hint("httperf import makes a trace of a log")
                .into());
        }
        let parsed: HeadLine<'_> =
            serde_json::from_slice(trimmed(&line)).map_err(|error| Flaw::json(&error, 1))?;
        let head = parsed.head()?;
        Ok(Self { lines, line, head, last: Duration::ZERO })
    }

    /// The description of the trace.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The number of the line that was read last, from 1.
    pub fn line(&self) -> u64 {
        self.lines.number()
    }

    /// Reads the next request. Returns `None` at the end.
    ///
    /// # Errors
    /// If the stream cannot be read, or the line is not a request that may follow the one before.
    pub fn read(&mut self) -> Result<Option<Request>, Error> {
        let Some(ended) = self.lines.read(&mut self.line)? else { return Ok(None) };
        let number = self.lines.number();
        if ended == Ended::Cut {
            return Err(
                Flaw::at(number, format!("expected at most {LINE_MAX} bytes in a line, got more")).into()
            );
        }
        let request: Request =
            serde_json::from_slice(trimmed(&self.line)).map_err(|error| Flaw::json(&error, number))?;
        check(&request, self.last).map_err(|sentence| Flaw::at(number, sentence))?;
        self.last = request.at;
        Ok(Some(request))
    }
}

/// Refuses what no request can be.
fn check(request: &Request, last: Duration) -> Result<(), String> {
    let Request { at, method, uri, headers, status, .. } = request;
    if *at < last {
        return Err(format!("expected requests in order of start, got {at:?} behind {last:?}"));
    }
    if !is_method(method) {
        return Err(format!("expected a method, got `{}`", method.escape_debug()));
    }
    if !(uri.starts_with('/') || uri == "*") || !uri.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(format!(
            "expected a URI that begins with `/` and has no blanks, got `{}`",
            uri.escape_debug()
        ));
    }
    for (name, value) in headers {
        if !is_name(name) {
            return Err(format!("expected the name of a header field, got `{}`", name.escape_debug()));
        }
        if value.contains(['\r', '\n', '\0']) {
            return Err(format!("{name}: expected a value of one line, got `{}`", value.escape_debug()));
        }
    }
    match status {
        Some(status) if !(100..1000).contains(status) => {
            Err(format!("expected a status from 100 to 999, got {status}"))
        }
        _ => Ok(()),
    }
}

/// The first line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadLine<'a> {
    #[serde(rename = "httperf-trace")]
    version: u32,
    from: Cow<'a, str>,
    resolution_ns: u64,
    stamps: Cow<'a, str>,
    began: Cow<'a, str>,
}

/// The instants of stamps by their names in traces.
const STAMPS: [(Stamps, &str); 3] = [
    (Stamps::Start, "start"),
    (Stamps::EndWithDuration, "end corrected by duration"),
    (Stamps::EndWithoutDuration, "end without a duration"),
];

impl Stamps {
    /// The name in traces.
    #[must_use]
    pub fn name(self) -> &'static str {
        STAMPS.iter().find(|(stamps, _)| *stamps == self).map_or("start", |(_, name)| name)
    }
}

impl<'a> From<&'a Head> for HeadLine<'a> {
    fn from(head: &'a Head) -> Self {
        Self {
            version: VERSION,
            from: Cow::Borrowed(&head.from),
            resolution_ns: u64::try_from(head.resolution.as_nanos()).unwrap_or(u64::MAX),
            stamps: Cow::Borrowed(head.stamps.name()),
            began: Cow::Owned(to_rfc3339(head.began)),
        }
    }
}

impl HeadLine<'_> {
    fn head(&self) -> Result<Head, Flaw> {
        if self.version != VERSION {
            return Err(Flaw::at(1, format!("expected a trace of version {VERSION}, got {}", self.version)));
        }
        let stamps = STAMPS.iter().find(|(_, name)| *name == self.stamps).map(|(stamps, _)| *stamps);
        let stamps = stamps.ok_or_else(|| {
            let names = STAMPS.map(|(_, name)| format!("`{name}`")).join(", ");
            Flaw::at(1, format!("stamps: expected one of {names}, got `{}`", self.stamps))
        })?;
        let began = from_rfc3339(self.began.as_bytes()).ok_or_else(|| {
            Flaw::at(1, format!("began: expected a time such as 2000-10-10T13:55:36Z, got `{}`", self.began))
        })?;
        let resolution = Duration::from_nanos(self.resolution_ns);
        Ok(Head { from: self.from.clone().into_owned(), resolution, stamps, began })
    }
}

impl Serialize for Body {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Ok(text) = std::str::from_utf8(&self.0) {
            return serializer.serialize_str(text);
        }
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("base64", &STANDARD.encode(&self.0))?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BodyVisitor)
    }
}

struct BodyVisitor;

impl<'de> Visitor<'de> for BodyVisitor {
    type Value = Body;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or {\"base64\":\"…\"}")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Body, E> {
        Ok(Body(text.as_bytes().to_vec()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Body, E> {
        Ok(Body(text.into_bytes()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Body, A::Error> {
        let Some(("base64", text)) = map
            .next_entry::<Cow<'_, str>, Cow<'_, str>>()?
            .as_ref()
            .map(|(name, text)| (&**name, text.clone()))
        else {
            return Err(de::Error::custom("expected {\"base64\":\"…\"}"));
        };
        let bytes = STANDARD
            .decode(text.as_bytes())
            .map_err(|error| de::Error::custom(format_args!("expected base64, got {error}")))?;
        match map.next_key::<de::IgnoredAny>()? {
            Some(_) => Err(de::Error::custom("expected nothing behind `base64`")),
            None => Ok(Body(bytes)),
        }
    }
}

/// Durations as seconds, exact to the nanosecond.
mod seconds {
    use super::{AT_MAX, Deserialize as _, Deserializer, Duration, Serializer, de};

    pub(super) fn serialize<S: Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(value.as_secs_f64())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let seconds = f64::deserialize(deserializer)?;
        if !(0.0..=AT_MAX.as_secs_f64()).contains(&seconds) {
            let most = AT_MAX.as_secs();
            return Err(de::Error::custom(format_args!("expected seconds from 0 to {most}, got {seconds}")));
        }
        Ok(Duration::from_secs_f64(seconds))
    }
}

mod optional_seconds {
    use super::{Deserializer, Duration, Serializer, seconds};

    pub(super) fn serialize<S: Serializer>(
        value: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        seconds::serialize(&value.unwrap_or_default(), serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        seconds::deserialize(deserializer).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: &str = r#"{"httperf-trace":1,"from":"combined","resolution_ns":1000000000,"stamps":"start","began":"2026-01-02T03:04:05.5Z"}"#;

    fn head() -> Head {
        Head {
            from: "combined".to_owned(),
            resolution: Duration::from_secs(1),
            stamps: Stamps::Start,
            began: 1_767_323_045_500_000_000,
        }
    }

    fn request() -> Request {
        Request {
            at: Duration::new(12, 345),
            client: 7,
            method: "GET".to_owned(),
            uri: "/x?a=1".to_owned(),
            headers: Vec::new(),
            body: None,
            status: None,
            took: None,
        }
    }

    fn written(requests: &[Request]) -> String {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, &head()).unwrap();
        for request in requests {
            writer.write(request).unwrap();
        }
        writer.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    fn read(text: &[u8]) -> Result<(Head, Vec<Request>), Error> {
        let mut reader = Reader::new(text)?;
        let mut requests = Vec::new();
        while let Some(request) = reader.read()? {
            requests.push(request);
        }
        Ok((reader.head().clone(), requests))
    }

    #[test]
    fn a_trace_has_a_head_and_a_line_for_each_request() {
        let full = Request {
            headers: vec![("Accept".to_owned(), "*/*".to_owned())],
            body: Some(Body(b"a=\"1\"".to_vec())),
            status: Some(200),
            took: Some(Duration::from_micros(1500)),
            ..request()
        };
        let binary = Request { body: Some(Body(vec![0xff, 0])), ..request() };
        let requests = [request(), full, binary];
        let text = written(&requests);
        let expected = format!(
            "{HEAD}\n{}\n{}\n{}\n",
            r#"{"at":12.000000345,"client":7,"method":"GET","uri":"/x?a=1"}"#,
            r#"{"at":12.000000345,"client":7,"method":"GET","uri":"/x?a=1","headers":[["Accept","*/*"]],"body":"a=\"1\"","status":200,"took":0.0015}"#,
            r#"{"at":12.000000345,"client":7,"method":"GET","uri":"/x?a=1","body":{"base64":"/wA="}}"#,
        );
        assert_eq!(text, expected);
        assert_eq!(read(text.as_bytes()).unwrap(), (head(), requests.to_vec()));
    }

    #[test]
    fn bad_traces_are_refused_with_their_place() {
        for (line, message) in [
            ("{", "t:2:1: EOF while parsing an object"),
            ("", "t:2:0: EOF while parsing a value"),
            (r#"{"at":1,"client":0,"method":"GET"}"#, "t:2:34: missing field `uri`"),
            (
                r#"{"at":1,"client":0,"method":"GET","uri":"/","extra":1}"#,
                "t:2:51: unknown field `extra`, expected one of `at`, `client`, `method`, `uri`, `headers`, \
                 `body`, `status`, `took`",
            ),
            (
                r#"{"at":-1,"client":0,"method":"GET","uri":"/"}"#,
                "t:2:8: expected seconds from 0 to 315576000, got -1",
            ),
            (r#"{"at":1,"client":0,"method":"G T","uri":"/"}"#, "t:2: expected a method, got `G T`"),
            (
                r#"{"at":1,"client":0,"method":"GET","uri":"x"}"#,
                "t:2: expected a URI that begins with `/` and has no blanks, got `x`",
            ),
            (
                r#"{"at":1,"client":0,"method":"GET","uri":"/","headers":[["a b",""]]}"#,
                "t:2: expected the name of a header field, got `a b`",
            ),
            (
                r#"{"at":1,"client":0,"method":"GET","uri":"/","headers":[["a","b\r\nc"]]}"#,
                r"t:2: a: expected a value of one line, got `b\r\nc`",
            ),
            (
                r#"{"at":1,"client":0,"method":"GET","uri":"/","status":99}"#,
                "t:2: expected a status from 100 to 999, got 99",
            ),
            (
                r#"{"at":1,"client":0,"method":"GET","uri":"/","body":{"base64":"?"}}"#,
                "t:2:65: expected base64, got Invalid symbol 63, offset 0.",
            ),
            (
                r#"{"at":1,"client":0,"method":"GET","uri":"/","body":{"hex":"ff"}}"#,
                "t:2:63: expected {\"base64\":\"…\"}",
            ),
        ] {
            let text = format!("{HEAD}\n{line}\n");
            assert_eq!(read(text.as_bytes()).unwrap_err().about("t"), message, "{line}");
        }
        let line = r#"{"at":5,"client":0,"method":"GET","uri":"/"}"#;
        let text = format!("{HEAD}\n{line}\n{}\n", line.replace('5', "4"));
        let message = "t:3: expected requests in order of start, got 4s behind 5s";
        assert_eq!(read(text.as_bytes()).unwrap_err().about("t"), message);
    }

    #[test]
    fn bad_heads_are_refused() {
        for (from, to, message) in [
            (HEAD, "", "t: expected a trace, got an empty file"),
            (
                HEAD,
                "GET /",
                "t:1: expected a trace, which begins with `{\"httperf-trace\":1,`\nhint: httperf import makes a \
                 trace of a log",
            ),
            (":1,", ":2,", "t:1: expected a trace of version 1, got 2"),
            (
                "\"start\"",
                "\"middle\"",
                "t:1: stamps: expected one of `start`, `end corrected by duration`, `end without a duration`, got \
                 `middle`",
            ),
            (
                "2026",
                "soon",
                "t:1: began: expected a time such as 2000-10-10T13:55:36Z, got `soon-01-02T03:04:05.5Z`",
            ),
            (",\"from\":\"combined\"", "", "t:1:96: missing field `from`"),
        ] {
            let text = HEAD.replace(from, to);
            assert_eq!(read(text.as_bytes()).unwrap_err().about("t"), message, "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_time_and_body_is_read_as_it_was_written(nanos in 0u64..4_000_000_000_000_000, body in any::<Vec<u8>>()) {
            let request = Request { at: Duration::from_nanos(nanos), body: Some(Body(body)), ..request() };
            let (_, read) = read(written(std::slice::from_ref(&request)).as_bytes()).unwrap();
            prop_assert_eq!(read, vec![request]);
        }

        #[test]
        fn arbitrary_lines_do_not_panic(bytes in any::<Vec<u8>>()) {
            let _ = read(&bytes);
            let _ = read(&[HEAD.as_bytes(), b"\n", &bytes].concat());
        }
    }
}
