//! One line of a log, read into a record.

use std::time::Duration;

use serde::Deserialize;

use crate::clock;
use crate::headers::{elements, is_method};

use super::escapes::{decoded, target_text};
use super::format::{Format, Layout};
use super::haproxy;
use super::pattern::{Escape, Field, Pattern, Unit};
use super::stamp::Time;
use super::{Record, Resolution};

/// A record with what is needed to place it within its second.
#[derive(Clone, Debug)]
pub(super) struct Stamped {
    pub(super) record: Record,
    /// The stamp, in nanoseconds since the epoch.
    pub(super) stamp: i64,
    /// True if the stamp is of the end.
    pub(super) ends: bool,
}

impl Stamped {
    /// The record with its start, `later` nanoseconds after the stamp.
    pub(super) fn placed(self, later: i64) -> Record {
        let Self { mut record, stamp, ends } = self;
        let before = if ends { record.duration.unwrap_or_default() } else { Duration::ZERO };
        let before = i64::try_from(before.as_nanos()).unwrap_or(i64::MAX);
        record.start = stamp.saturating_add(later).saturating_sub(before);
        record
    }
}

/// The reason for which a line gives no record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NoRecord {
    /// It is not of the format.
    Malformed(String),
    /// It is of the format, and logs something that is not a request.
    NotARequest,
    /// It logs a tunnel.
    Connect,
    /// It is about the log itself.
    Directive,
}

/// Reads a line, which has no line feed. Lines about the log itself may change the format.
pub(super) fn read(format: &mut Format, line: &[u8]) -> Result<Stamped, NoRecord> {
    match &mut format.layout {
        Layout::Caddy => caddy(line),
        Layout::Traefik => traefik(line),
        Layout::Haproxy => haproxy::read(line),
        Layout::W3c(columns) => columns.read(line),
        Layout::Text { pattern, clock } => {
            let fields = Fields::of(pattern, line)?;
            fields.record(pattern.escape, clock.ends, clock.resolution)
        }
    }
}

/// The fields of a line as they are written.
#[derive(Default)]
struct Fields<'l> {
    time: Time,
    created: Option<i64>,
    request: Option<&'l [u8]>,
    method: Option<&'l [u8]>,
    uri: Option<&'l [u8]>,
    args: Option<&'l [u8]>,
    query: Option<&'l [u8]>,
    version: Option<&'l [u8]>,
    status: Option<u16>,
    size: Option<u64>,
    duration: Option<Duration>,
    client: Option<&'l [u8]>,
    forwarded: Option<&'l [u8]>,
    agent: Option<&'l [u8]>,
    user: Option<&'l [u8]>,
}

impl<'l> Fields<'l> {
    fn of(pattern: &Pattern, line: &'l [u8]) -> Result<Self, NoRecord> {
        let mut fields = Self::default();
        let mut flaw = None;
        let split = pattern.split(line, |field, text| {
            if let Err(expected) = fields.take(field, text) {
                flaw.get_or_insert_with(|| {
                    format!("expected {expected}, got `{}`", String::from_utf8_lossy(text))
                });
            }
        });
        split.map_err(|mismatch| {
            let column = mismatch.at + 1;
            NoRecord::Malformed(format!("expected {} at column {column}", mismatch.expected))
        })?;
        match flaw {
            Some(flaw) => Err(NoRecord::Malformed(flaw)),
            None => Ok(fields),
        }
    }

    /// Takes the text of a field, or says what was expected.
    fn take(&mut self, field: &Field, text: &'l [u8]) -> Result<(), &'static str> {
        // A value that the server does not have.
        let known = Some(text).filter(|text| !matches!(*text, b"-" | b""));
        match field {
            Field::Time(time) => {
                return if time.read(text, &mut self.time) { Ok(()) } else { Err("a time") };
            }
            Field::Creation => {
                self.created =
                    Some(clock::from_rfc3339(text).ok_or("a time such as 2000-10-10T13:55:36.5Z")?);
            }
            Field::Request => self.request = known,
            Field::Method => self.method = known,
            Field::Uri => self.uri = known,
            Field::Args => self.args = known,
            Field::Query => self.query = known,
            Field::Version => self.version = known,
            Field::Status => {
                let status = known.map(|text| number(text).and_then(|status| u16::try_from(status).ok()));
                self.status = status.map(|status| status.ok_or("a status")).transpose()?.filter(is_status);
            }
            Field::Size => {
                self.size = known.map(|text| number(text).ok_or("a number of bytes")).transpose()?;
            }
            Field::Duration(unit) => {
                let duration = known.map(|text| duration(text, *unit).ok_or("a duration")).transpose()?;
                // Of two durations the finer one stays.
                self.duration = self.duration.max(duration);
            }
            Field::DurationPart => {
                // -1 is written for what did not take place.
                if let Some(part) = known.filter(|text| *text != b"-1") {
                    let part = duration(part, Unit::Second).ok_or("a duration")?;
                    self.duration = Some(self.duration.unwrap_or_default().saturating_add(part));
                }
            }
            Field::Client => self.client = known,
            Field::ClientAndPort => {
                let end = memchr::memrchr(b':', text).unwrap_or(text.len());
                self.client = text.get(..end).filter(|_| known.is_some());
            }
            Field::Forwarded => self.forwarded = known,
            Field::Agent => self.agent = known,
            Field::User => self.user = known,
            Field::OtherTime { .. } | Field::IsArgs | Field::Ignored { .. } => {}
        }
        Ok(())
    }

    fn record(self, escape: Escape, ends: bool, resolution: Resolution) -> Result<Stamped, NoRecord> {
        let text = |bytes: Option<&[u8]>| {
            bytes.map(|bytes| String::from_utf8_lossy(&decoded(bytes, escape)).into_owned())
        };
        let request = self.request.map(|request| decoded(request, escape));
        let (method, target, version) = match &request {
            Some(request) => request_line(request).ok_or(NoRecord::NotARequest)?,
            None => (self.method.unwrap_or(b"GET"), &b""[..], self.version),
        };
        let whole = match self.uri {
            _ if !target.is_empty() => target.to_vec(),
            Some(uri) => {
                let mut uri = decoded(uri, escape).into_owned();
                if !uri.contains(&b'?') {
                    if let Some(args) = self.args {
                        uri.push(b'?');
                        uri.extend_from_slice(&decoded(args, escape));
                    } else if let Some(query) = self.query {
                        uri.extend_from_slice(&decoded(query, escape));
                    }
                }
                uri
            }
            None => return Err(NoRecord::NotARequest),
        };
        let (method, uri) = checked(method, &whole)?;
        let stamp =
            self.time.instant().ok_or_else(|| NoRecord::Malformed("expected a time, got none".to_owned()))?;
        let (stamp, ends) = self.created.map_or((stamp, ends), |created| (created, false));
        let is_whole_second = resolution == Resolution::Second;
        debug_assert!(!is_whole_second || self.created.is_some() || stamp % clock::SECOND == 0);
        // Apache wakes its processes by requests to itself.
        let agent = text(self.agent);
        if agent.as_ref().is_some_and(|agent| agent.contains("(internal dummy connection)")) {
            return Err(NoRecord::NotARequest);
        }
        // Behind a proxy the last address is that of the proxy for all clients.
        let client = text(self.client);
        let forwarded = text(self.forwarded);
        let forwarded = forwarded.and_then(|list| elements(&list).next().map(str::to_owned));
        let record = Record {
            start: stamp,
            duration: self.duration,
            method,
            uri,
            version: text(version),
            status: self.status,
            size: self.size,
            client: forwarded.or(client),
            agent,
            user: text(self.user),
        };
        Ok(Stamped { record, stamp, ends })
    }
}

/// The method, the target and the version of a request line.
pub(super) type RequestLine<'l> = (&'l [u8], &'l [u8], Option<&'l [u8]>);

/// Takes a request line apart.
pub(super) fn request_line(line: &[u8]) -> Option<RequestLine<'_>> {
    let at = memchr::memchr(b' ', line)?;
    let (method, rest) = (line.get(..at)?, line.get(at + 1..)?);
    // A target may have blanks, if the server takes them.
    let version = memchr::memrchr(b' ', rest)
        .and_then(|at| Some((rest.get(..at)?, rest.get(at + 1..)?)))
        .filter(|(_, version)| version.starts_with(b"HTTP/"));
    Some(version.map_or((method, rest, None), |(target, version)| (method, target, Some(version))))
}

/// The method and the target in origin form.
pub(super) fn checked(method: &[u8], target: &[u8]) -> Result<(String, String), NoRecord> {
    let method = std::str::from_utf8(method).ok().filter(|method| is_method(method));
    // PRI is the start of a connection in HTTP/2, where the server takes it for a request.
    let method = method.filter(|method| *method != "PRI").ok_or(NoRecord::NotARequest)?;
    if method == "CONNECT" {
        return Err(NoRecord::Connect);
    }
    let target = target.trim_ascii();
    let path = match memchr::memmem::find(target, b"://") {
        Some(at) if !target.starts_with(b"/") => {
            let behind = target.get(at + 3..).unwrap_or_default();
            memchr::memchr2(b'/', b'?', behind).and_then(|at| behind.get(at..)).unwrap_or(b"/")
        }
        _ => target,
    };
    let path = memchr::memchr(b'#', path).and_then(|at| path.get(..at)).unwrap_or(path);
    match path.first() {
        Some(b'/') => Ok((method.to_owned(), target_text(path))),
        Some(b'?') => Ok((method.to_owned(), format!("/{}", target_text(path)))),
        Some(b'*') if path.len() == 1 => Ok((method.to_owned(), "*".to_owned())),
        _ => Err(NoRecord::NotARequest),
    }
}

/// Returns false for the numbers that servers log in place of a status: 0 where none was sent, 9 for HTTP/0.9.
pub(super) fn is_status(number: &u16) -> bool {
    (100..1000).contains(number)
}

pub(super) fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// A logged duration.
fn duration(text: &[u8], unit: Unit) -> Option<Duration> {
    match unit {
        Unit::Second => {
            clock::from_seconds(text).and_then(|nanos| u64::try_from(nanos).ok()).map(Duration::from_nanos)
        }
        Unit::Millisecond => number(text).map(Duration::from_millis),
        Unit::Microsecond => number(text).map(Duration::from_micros),
    }
}

/// A line of Caddy's access log.
#[derive(Deserialize)]
struct CaddyLine {
    ts: CaddyTime,
    request: CaddyRequest,
    #[serde(default)]
    duration: Option<CaddyTime>,
    #[serde(default)]
    size: Option<u64>,
    #[serde(default)]
    status: Option<u16>,
    #[serde(default)]
    user_id: Option<String>,
}

#[derive(Deserialize)]
struct CaddyRequest {
    #[serde(default)]
    remote_ip: Option<String>,
    #[serde(default)]
    client_ip: Option<String>,
    #[serde(default)]
    proto: Option<String>,
    method: String,
    uri: String,
    #[serde(default)]
    headers: CaddyHeaders,
}

#[derive(Default, Deserialize)]
struct CaddyHeaders {
    #[serde(rename = "User-Agent", default)]
    agent: Vec<String>,
}

/// A time as one of Caddy's encoders writes it.
#[derive(Deserialize)]
#[serde(untagged)]
enum CaddyTime {
    Number(f64),
    Text(String),
}

/// The seconds above which a time since the epoch is one of milliseconds, and those above which it is one of
/// nanoseconds: both are in the year 5138.
const MILLISECONDS_FROM: f64 = 1e11;
const NANOSECONDS_FROM: f64 = 1e14;

impl CaddyTime {
    /// The instant, to the microsecond if it is a number.
    fn instant(&self) -> Option<i64> {
        match self {
            Self::Text(text) => {
                let text = text.replace('/', "-");
                clock::from_rfc3339(text.as_bytes()).or_else(|| clock::from_common(text.as_bytes()))
            }
            Self::Number(number) if !number.is_finite() || *number < 0.0 || *number > 9.2e18 => None,
            Self::Number(number) => {
                let seconds = match *number {
                    number if number >= NANOSECONDS_FROM => number / 1e9,
                    number if number >= MILLISECONDS_FROM => number / 1e3,
                    number => number,
                };
                #[expect(clippy::cast_possible_truncation, reason = "they are below 10^14 and 10^6")]
                let (whole, micros) = (seconds.trunc() as i64, (seconds.fract() * 1e6).round() as i64);
                whole.checked_mul(1_000_000)?.checked_add(micros)?.checked_mul(1_000)
            }
        }
    }

    /// The duration: seconds, or a number with a unit.
    fn duration(&self) -> Option<Duration> {
        let (number, unit) = match self {
            Self::Number(number) => (*number, 1.0),
            Self::Text(text) => {
                let end =
                    text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
                let (number, unit) = text.split_at_checked(end)?;
                let unit = match unit {
                    "ns" => 1e-9,
                    "us" | "µs" | "μs" => 1e-6,
                    "ms" => 1e-3,
                    "" | "s" => 1.0,
                    _ => return None,
                };
                (number.parse().ok()?, unit)
            }
        };
        Duration::try_from_secs_f64(number * unit).ok()
    }
}

/// A line of Traefik's access log in JSON.
#[derive(Deserialize)]
struct TraefikLine {
    #[serde(rename = "StartUTC")]
    start: String,
    #[serde(rename = "RequestMethod")]
    method: String,
    #[serde(rename = "RequestPath")]
    path: String,
    #[serde(rename = "RequestProtocol", default)]
    version: Option<String>,
    /// Nanoseconds.
    #[serde(rename = "Duration", default)]
    duration: Option<u64>,
    #[serde(rename = "DownstreamStatus", default)]
    status: Option<u16>,
    #[serde(rename = "DownstreamContentSize", default)]
    size: Option<u64>,
    #[serde(rename = "ClientHost", default)]
    client: Option<String>,
    #[serde(rename = "ClientUsername", default)]
    user: Option<String>,
    #[serde(rename = "request_User-Agent", default)]
    agent: Option<String>,
    #[serde(rename = "request_X-Forwarded-For", default)]
    forwarded: Option<String>,
}

fn traefik(line: &[u8]) -> Result<Stamped, NoRecord> {
    let parsed: TraefikLine = serde_json::from_slice(line)
        .map_err(|error| not_of_json(line, "RequestMethod", "Traefik", &error))?;
    let stamp = clock::from_rfc3339(parsed.start.as_bytes());
    let stamp = stamp.ok_or_else(|| NoRecord::Malformed("expected a time in `StartUTC`".to_owned()))?;
    let (method, uri) = checked(parsed.method.as_bytes(), parsed.path.as_bytes())?;
    let known = |text: Option<String>| text.filter(|text| !matches!(&text[..], "" | "-"));
    let forwarded = known(parsed.forwarded);
    let forwarded = forwarded.and_then(|list| elements(&list).next().map(str::to_owned));
    let record = Record {
        start: stamp,
        duration: parsed.duration.map(Duration::from_nanos),
        method,
        uri,
        version: parsed.version,
        status: parsed.status.filter(is_status),
        size: parsed.size,
        client: forwarded.or_else(|| known(parsed.client)),
        agent: known(parsed.agent),
        user: known(parsed.user),
    };
    Ok(Stamped { record, stamp, ends: false })
}

/// The reason for which a line gives no record of a log of JSON: it may be about something else than a request.
fn not_of_json(line: &[u8], sign: &str, server: &str, error: &serde_json::Error) -> NoRecord {
    let object = serde_json::from_slice::<serde_json::Map<String, serde_json::Value>>(line);
    match object {
        Ok(object) if !object.is_empty() && !object.contains_key(sign) => NoRecord::NotARequest,
        _ => NoRecord::Malformed(format!("expected a line of {server}'s access log: {error}")),
    }
}

fn caddy(line: &[u8]) -> Result<Stamped, NoRecord> {
    let malformed = |what: &str| NoRecord::Malformed(format!("expected {what}"));
    let parsed: CaddyLine =
        serde_json::from_slice(line).map_err(|error| not_of_json(line, "request", "Caddy", &error))?;
    let stamp = parsed.ts.instant().ok_or_else(|| malformed("a time in `ts`"))?;
    let request = parsed.request;
    let (method, uri) = checked(request.method.as_bytes(), request.uri.as_bytes())?;
    let record = Record {
        start: stamp,
        duration: parsed.duration.as_ref().and_then(CaddyTime::duration),
        method,
        uri,
        version: request.proto,
        status: parsed.status.filter(is_status),
        size: parsed.size,
        client: request.client_ip.or(request.remote_ip),
        agent: request.headers.agent.into_iter().next(),
        user: parsed.user_id.filter(|user| !user.is_empty()),
    };
    Ok(Stamped { record, stamp, ends: true })
}
