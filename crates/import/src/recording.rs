//! Recordings that have times, read as one thing: traces, access logs, GoReplay's files and traces of language models, as
//! requests in order of start.
//!
//! Memory is bounded: what waits for its turn ([`crate::order`]) and the known clients ([`crate::clients`]) are kept,
//! not the recording.

use std::io::{self, BufRead, Cursor, Read, Write};
use std::time::Duration;

use crate::clients::{By, Clients};
use crate::clock::to_rfc3339;
use crate::error::Error;
use crate::goreplay;
use crate::lines::trimmed;
use crate::log::{self, Format, Resolution, Stamps};
use crate::models::{self, Asking, Kind};
use crate::report::Report;
use crate::text::{Unmarked, unmarked};
use crate::trace::{self, Head, Request};

/// The form of a recording.
#[derive(Clone, Debug)]
pub enum Form {
    /// A trace of `httperf import`.
    Trace,
    /// An access log; its format is told from the first lines if `None`.
    Log(Option<Format>),
    /// A file of GoReplay.
    GoReplay,
    /// A trace of a language model.
    Model(Kind),
}

/// The choices about reading a recording.
#[derive(Clone, Debug)]
pub struct Options {
    /// The form. If `None`, the first line tells: it may be that of a trace, of a GoReplay file or of a trace of a language
    /// model, and anything else is taken for a log.
    pub form: Option<Form>,
    /// The parts of a request by which clients are told apart. A trace has its clients.
    pub by: By,
    /// The pause that ends a client's session.
    pub idle: Duration,
    /// What requests of a language model's trace have beside what is recorded.
    pub asking: Asking,
}

/// The requests of a recording in order of start, read as they are asked for.
#[derive(Debug)]
pub struct Requests<R> {
    source: Source<R>,
    head: Head,
    begun: bool,
    /// The number of requests that start later than a trace can say.
    far: u64,
}

/// The stream behind the bytes from which the form was told.
type Input<R> = io::Chain<Cursor<Vec<u8>>, Unmarked<R>>;

#[derive(Debug)]
enum Source<R> {
    Trace(Box<TraceRequests<R>>),
    Log(Box<log::Requests<Input<R>>>),
    GoReplay(Box<goreplay::Requests<Input<R>>>),
    Model(Box<models::Requests<Input<R>>>),
}

#[derive(Debug)]
struct TraceRequests<R> {
    reader: trace::Reader<Input<R>>,
    /// The start of the first request, which is not zero if the trace is a part of another.
    first: Duration,
    carried: u64,
}

impl<R: BufRead> Requests<R> {
    /// Opens a recording.
    ///
    /// # Errors
    /// If it cannot be read, or does not begin as its form does.
    pub fn open(reader: R, options: &Options) -> Result<Self, Error> {
        let mut reader = unmarked(reader)?;
        let (form, start) = match &options.form {
            Some(form) => (form.clone(), Vec::new()),
            None => told(&mut reader)?,
        };
        let input = Cursor::new(start).chain(reader);
        let clients = Clients::new(options.by, options.idle);
        let (source, head) = match form {
            Form::Trace => {
                let reader = trace::Reader::new(input)?;
                let head = Head { began: 0, ..reader.head().clone() };
                let requests = TraceRequests { reader, first: Duration::ZERO, carried: 0 };
                (Source::Trace(Box::new(requests)), head)
            }
            Form::Log(format) => {
                let requests = log::Requests::open(input, format, clients)?;
                let head = requests.head();
                (Source::Log(Box::new(requests)), head)
            }
            Form::GoReplay => {
                let requests = goreplay::Requests::new(input, clients);
                (Source::GoReplay(Box::new(requests)), goreplay::Requests::<R>::head())
            }
            Form::Model(kind) => {
                let requests = models::Requests::new(input, kind, options.asking.clone());
                (Source::Model(Box::new(requests)), kind.head())
            }
        };
        Ok(Self { source, head, begun: false, far: 0 })
    }

    /// The description, as that of a trace of the recording. `began` is 0 until the first request has been read.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The name of the form.
    pub fn form(&self) -> &'static str {
        match &self.source {
            Source::Trace(_) => "trace",
            Source::Log(_) => "log",
            Source::GoReplay(_) => "goreplay",
            Source::Model(_) => "model",
        }
    }

    /// Reads the next request. Its `at` counts from the start of the first. Returns `None` at the end.
    ///
    /// # Errors
    /// If the recording cannot be read, or has nothing that is of its form.
    pub fn read(&mut self) -> Result<Option<Request>, Error> {
        loop {
            let next = match &mut self.source {
                Source::Trace(requests) => return requests.read(&mut self.head),
                Source::Log(requests) => requests.read()?,
                Source::GoReplay(requests) => requests.read()?,
                Source::Model(requests) => requests.read()?,
            };
            let Some((at, request)) = next else { return Ok(None) };
            if !self.begun {
                self.begun = true;
                self.head.began = at;
            }
            let since = u64::try_from(at.saturating_sub(self.head.began)).unwrap_or(0);
            let at = Duration::from_nanos(since);
            if at <= trace::AT_MAX {
                let took = request.took.filter(|took| *took <= trace::AT_MAX);
                return Ok(Some(Request { at, took, ..request }));
            }
            self.far += 1;
        }
    }

    /// The account so far. It is complete when the last request has been read.
    pub fn report(&self) -> Report {
        let mut report = match &self.source {
            Source::Trace(requests) => requests.report(),
            Source::Log(requests) => requests.report(),
            Source::GoReplay(requests) => requests.report(),
            Source::Model(requests) => requests.report(),
        };
        if self.far > 0 {
            report.carried = report.carried.saturating_sub(self.far);
            let reason = "requests that start more than ten years after the first";
            report
                .leave_out_many(reason, self.far, || format!("the first at {}", to_rfc3339(self.head.began)));
        }
        report
    }
}

impl<R: BufRead> TraceRequests<R> {
    fn read(&mut self, head: &mut Head) -> Result<Option<Request>, Error> {
        let Some(request) = self.reader.read()? else { return Ok(None) };
        if self.carried == 0 {
            self.first = request.at;
            let later = i64::try_from(request.at.as_nanos()).unwrap_or(i64::MAX);
            head.began = self.reader.head().began.saturating_add(later);
        }
        self.carried += 1;
        Ok(Some(Request { at: request.at.saturating_sub(self.first), ..request }))
    }

    fn report(&self) -> Report {
        let mut report = Report { carried: self.carried, ..Report::default() };
        let head = self.reader.head();
        if head.stamps == Stamps::EndWithoutDuration {
            report.note(log::NO_START);
        }
        if head.resolution == Resolution::Second.duration() {
            report.note(log::SPREAD);
        }
        report
    }
}

/// Tells the form from the first line that is not blank. Returns the bytes that were read for it.
fn told(reader: &mut impl BufRead) -> Result<(Form, Vec<u8>), Error> {
    /// The number of bytes that are read at most.
    const START_MAX: usize = 64 * 1024;
    let mut start = Vec::new();
    loop {
        let before = start.len();
        let room = u64::try_from(START_MAX.saturating_sub(before)).unwrap_or(0);
        let count = reader.by_ref().take(room).read_until(b'\n', &mut start)?;
        let line = trimmed(start.get(before..).unwrap_or_default());
        if (line.trim_ascii().is_empty() || line == goreplay::SEPARATOR) && count > 0 {
            continue;
        }
        let form = if line.starts_with(trace::START) {
            Form::Trace
        } else if goreplay::is_message_head(line) {
            Form::GoReplay
        } else if let Some(kind) = Kind::told(line) {
            Form::Model(kind)
        } else {
            Form::Log(None)
        };
        return Ok((form, start));
    }
}

/// Reads a recording and writes it as a trace. One without requests has its first line alone.
pub(crate) fn to_trace(reader: impl BufRead, options: &Options, out: impl Write) -> Result<Report, Error> {
    let mut requests = Requests::open(reader, options)?;
    // The start of the first request is in the first line.
    let mut next = requests.read()?;
    let mut writer = trace::Writer::new(out, requests.head()).map_err(Error::Write)?;
    while let Some(request) = next {
        writer.write(&request).map_err(Error::Write)?;
        next = requests.read()?;
    }
    writer.finish().map_err(Error::Write)?;
    Ok(requests.report())
}

/// Reads arbitrary bytes in every form. It must not panic, requests must be in order of start, and the trace that is
/// made of them must be read as the same requests.
#[cfg(any(test, fuzzing))]
pub fn check_bytes(input: &[u8]) {
    let models = [Kind::Mooncake, Kind::Azure].map(Form::Model);
    let forms = [Form::Trace, Form::Log(None), Form::GoReplay].into_iter().chain(models).map(Some);
    for form in std::iter::once(None).chain(forms) {
        let asking = Asking::default();
        let options = Options { form, by: By::default(), idle: Duration::from_secs(60), asking };
        let Ok(requests) = Requests::open(input, &options) else { continue };
        let (requests, report) = read_while_fine(requests);
        assert!(requests.first().is_none_or(|first| first.at.is_zero()), "{requests:?}");
        assert!(requests.is_sorted_by_key(|request| request.at), "{requests:?}");
        assert!(report.to_string().lines().all(|line| line.chars().count() <= 80));
        let mut trace = Vec::new();
        if to_trace(input, &options, &mut trace).is_err() {
            continue;
        }
        let options = Options { form: Some(Form::Trace), ..options };
        let read = Requests::open(&trace[..], &options).map(read_while_fine);
        let read = read.map_or_else(|_| Vec::new(), |(read, _)| read);
        assert_eq!(read.len(), requests.len(), "{requests:?}");
        for (read, request) in read.into_iter().zip(requests) {
            // Nanoseconds are exact in the first hundred days alone.
            let is_near = |read: Duration, at: Duration| read.abs_diff(at) < Duration::from_micros(1);
            assert!(is_near(read.at, request.at), "{read:?} {request:?}");
            assert!(is_near(read.took.unwrap_or_default(), request.took.unwrap_or_default()), "{read:?}");
            let took = read.took.and(request.took);
            assert_eq!(Request { at: request.at, took, ..read }, request);
        }
    }
}

#[cfg(any(test, fuzzing))]
fn read_while_fine<R: BufRead>(mut requests: Requests<R>) -> (Vec<Request>, Report) {
    let read = std::iter::from_fn(|| requests.read().ok().flatten()).collect();
    (read, requests.report())
}

#[cfg(test)]
mod tests;
