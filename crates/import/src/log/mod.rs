//! Access logs, as nginx, Apache, Caddy, Traefik, HAProxy, IIS, CloudFront and AWS's load balancers write them.
//!
//! [`Format`] says how a line is taken apart, and which instant its stamp is of. [`Log`] reads the lines: each gives a
//! [`Record`] with the instant at which the request started, roughly in order of end, as the log has them.
//! [`crate::order`] puts them in order of start.

mod apache;
pub(crate) mod escapes;
mod format;
mod haproxy;
mod line;
mod nginx;
mod pattern;
mod requests;
mod spread;
mod stamp;
#[cfg(test)]
mod tests;
mod w3c;

use std::collections::VecDeque;
use std::io::BufRead;
use std::time::Duration;

use crate::error::{Error, Flaw};
use crate::lines::{Ended, Lines, trimmed};
use crate::report::{Report, shortened};

use self::line::NoRecord;
use self::spread::Spread;

pub(crate) use self::requests::Requests;
pub(crate) use self::stamp::{NO_START, SPREAD};

pub use self::format::Format;
pub use self::requests::{Options, to_trace};
pub use self::stamp::{Resolution, Stamps};

/// A logged request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The start, in nanoseconds since the epoch; the end, if nothing tells the start.
    pub start: i64,
    /// The time from the start to the end.
    pub duration: Option<Duration>,
    /// The method.
    pub method: String,
    /// The target in origin form.
    pub uri: String,
    /// The version, as `HTTP/1.1`.
    pub version: Option<String>,
    /// The status of the reply.
    pub status: Option<u16>,
    /// The size of the reply.
    pub size: Option<u64>,
    /// The client's address.
    pub client: Option<String>,
    /// The user agent.
    pub agent: Option<String>,
    /// The value of a cookie or of another field that tells users apart.
    pub user: Option<String>,
}

/// The length of a line that is read; longer ones are left out.
pub const LINE_MAX: usize = 256 * 1024;

/// The number of lines that the format is told from, if one of them is a request.
const SAMPLE: usize = 50;

/// The number of lines that are looked at until one is a request.
const SAMPLE_MAX: usize = 2_000;

/// The records of a log.
#[derive(Debug)]
pub struct Log<R> {
    lines: Lines<R>,
    format: Format,
    /// Lines that were read to tell the format, with how they ended.
    sample: VecDeque<(Vec<u8>, Ended)>,
    taken: u64,
    spread: Spread,
    line: Vec<u8>,
    matched: u64,
    requests: u64,
    without_duration: u64,
    first_flaw: Option<String>,
    report: Report,
    done: bool,
}

impl<R: BufRead> Log<R> {
    /// Opens a log. Without a format it is told from the first lines.
    ///
    /// # Errors
    /// If the log cannot be read, or its format is not given and not a well-known one.
    pub fn open(reader: R, format: Option<Format>) -> Result<Self, Error> {
        let mut lines = Lines::new(reader, LINE_MAX);
        let mut sample = VecDeque::new();
        let (format, detected) = match format {
            Some(format) => (format, false),
            None => {
                let mut line = Vec::new();
                let mut most = SAMPLE;
                loop {
                    while sample.len() < most
                        && let Some(ended) = lines.read(&mut line)?
                    {
                        sample.push_back((line.clone(), ended));
                    }
                    match detected(&sample) {
                        Ok((format, 1..)) => break (format, true),
                        // A log may begin with other lines.
                        _ if sample.len() == most && most < SAMPLE_MAX => most = SAMPLE_MAX,
                        detected => break (detected?.0, true),
                    }
                }
            }
        };
        let mut report = Report::default();
        if detected {
            report.note(format!("the log's format is {}", format.name()));
        }
        if format.is_of_either_server() {
            report.note(
                "nginx stamps the end of a request and Apache its start; the stamps are taken for the end, and \
                 nothing tells the start (--format apache takes them for the start)",
            );
        } else if format.stamps() == Stamps::EndWithoutDuration {
            report.note(NO_START);
        }
        if format.resolution() == Resolution::Second {
            report.note(SPREAD);
        }
        let is_end = format.stamps() == Stamps::EndWithDuration;
        Ok(Self {
            lines,
            spread: Spread::new(format.resolution(), is_end),
            format,
            sample,
            taken: 0,
            line: Vec::new(),
            matched: 0,
            requests: 0,
            without_duration: 0,
            first_flaw: None,
            report,
            done: false,
        })
    }

    /// The format, given or told from the first lines.
    pub fn format(&self) -> &Format {
        &self.format
    }

    /// The account so far. It is complete when the last record has been read.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Reads the next record. Returns `None` at the end.
    ///
    /// # Errors
    /// If the log cannot be read, or none of its lines is of the format.
    pub fn read(&mut self) -> Result<Option<Record>, Error> {
        loop {
            if let Some(record) = self.spread.pop() {
                self.report.carried += 1;
                return Ok(Some(record));
            }
            if self.done {
                return Ok(None);
            }
            let Some(ended) = self.next_line()? else {
                self.finish()?;
                continue;
            };
            self.take_line(ended);
        }
    }

    /// Reads the next line into the buffer.
    fn next_line(&mut self) -> Result<Option<Ended>, Error> {
        if let Some((line, ended)) = self.sample.pop_front() {
            self.taken += 1;
            self.line = line;
            return Ok(Some(ended));
        }
        let ended = self.lines.read(&mut self.line)?;
        self.taken = self.lines.number();
        Ok(ended)
    }

    fn take_line(&mut self, ended: Ended) {
        let line = trimmed(&self.line);
        if line.trim_ascii().is_empty() {
            return;
        }
        let number = self.taken;
        let read = match ended {
            Ended::Whole => line::read(&mut self.format, line),
            Ended::Cut => Err(NoRecord::Malformed(format!("expected at most {LINE_MAX} bytes"))),
        };
        let shown = || shortened(&String::from_utf8_lossy(line), 60);
        match read {
            Ok(stamped) => {
                self.matched += 1;
                self.requests += 1;
                let lacks = stamped.ends && stamped.record.duration.is_none();
                self.without_duration += u64::from(lacks);
                self.spread.push(stamped);
            }
            Err(NoRecord::Malformed(reason)) => {
                self.first_flaw.get_or_insert_with(|| format!("line {number}: {reason}"));
                self.report
                    .leave_out("lines that are not of the format", || format!("line {number}: {reason}"));
            }
            Err(NoRecord::NotARequest) => {
                self.matched += 1;
                self.report.leave_out("lines without a request", || format!("line {number}: {}", shown()));
            }
            Err(NoRecord::Directive) => {}
            Err(NoRecord::Connect) => {
                self.matched += 1;
                self.report.leave_out("CONNECT requests", || format!("line {number}: {}", shown()));
            }
        }
    }

    fn finish(&mut self) -> Result<(), Error> {
        self.done = true;
        self.spread.finish();
        if self.matched == 0 {
            let name = self.format.name();
            let flaw = match &self.first_flaw {
                Some(reason) => format!("expected lines in the format {name}, got none; {reason}"),
                None => "expected a log, got no lines".to_owned(),
            };
            return Err(Flaw::whole(flaw).into());
        }
        if self.requests == 0 {
            let count = self.report.left_out_count();
            return Err(
                Flaw::whole(format!("expected a log with requests, got {count} lines without one")).into()
            );
        }
        if self.without_duration > 0 && self.format.stamps() == Stamps::EndWithDuration {
            let count = self.without_duration;
            self.report
                .note(format!("{count} requests have no duration; their end is taken for their start"));
        }
        Ok(())
    }
}

/// Tells the format from the first lines: the one of which most of them are requests, and of these the most specific. Also
/// returns the number of requests.
fn detected(sample: &VecDeque<(Vec<u8>, Ended)>) -> Result<(Format, usize), Flaw> {
    let lines = || sample.iter().map(|(line, _)| trimmed(line)).filter(|line| !line.trim_ascii().is_empty());
    let mut best: Option<((usize, usize), Format)> = None;
    for mut format in Format::detectable() {
        let (mut requests, mut others) = (0, 0);
        // Lines may change the format: it is told as of the first request.
        let mut first = None;
        for line in lines() {
            match line::read(&mut format, line) {
                Ok(_) => {
                    requests += 1;
                    first.get_or_insert_with(|| format.clone());
                }
                Err(NoRecord::NotARequest | NoRecord::Connect) => others += 1,
                Err(NoRecord::Malformed(_) | NoRecord::Directive) => {}
            }
        }
        if (requests, others) > best.as_ref().map_or((0, 0), |(most, _)| *most) {
            best = Some(((requests, others), first.unwrap_or(format)));
        }
    }
    best.map(|((requests, _), format)| (format, requests)).ok_or_else(|| {
        let first = lines().next().map_or_else(
            || "no lines".to_owned(),
            |line| format!("`{}`", shortened(&String::from_utf8_lossy(line), 60)),
        );
        let names = Format::detectable_names();
        Flaw::whole(format!("expected a log in one of the forms {names}, got {first}"))
            .hint("--format takes the server's own log_format or LogFormat")
    })
}

/// Reads arbitrary bytes: the first line as a format, the others as a log. It must not panic, and every record that is
/// read must have a method and a target.
#[cfg(any(test, fuzzing))]
pub fn check_bytes(input: &[u8]) {
    let at = memchr::memchr(b'\n', input).unwrap_or(input.len());
    let (first, rest) = input.split_at_checked(at).unwrap_or((input, b""));
    let format = Format::parse(&String::from_utf8_lossy(first)).ok();
    for format in [format, None] {
        let Ok(mut log) = Log::open(rest.get(1..).unwrap_or_default(), format) else { continue };
        while let Ok(Some(record)) = log.read() {
            assert!(!record.method.is_empty() && record.uri.starts_with(['/', '*']), "{record:?}");
            assert!(record.uri.is_ascii(), "{record:?}");
        }
        assert!(log.report().to_string().lines().all(|line| line.chars().count() <= 80));
    }
}
