//! Lines that a run prints while it goes on: the classic ones of `-v`, `--print-request`, `--print-reply`,
//! `--print-lifetimes` and `--periodic-stats`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{self, IsTerminal, Write};
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use httperf_command_line::terminal::messages::Program;
use httperf_engine::{Observation, Observer};
use httperf_plan::{Parts, Watch};
use httperf_proto::ProtocolError;
use httperf_report::visible;
use httperf_stats::TickRates;

use crate::runner::gather::{Gathered, Gathering, Part};

/// The most bytes that are held back before they are written.
const HELD_MAX: usize = 64 * 1024;

/// The printed lines of a run, from all its workers.
#[derive(Debug)]
pub struct Printing<'a> {
    program: &'a Program,
    watch: Watch,
    /// True if standard output is a terminal.
    to_terminal: bool,
    /// Sums over all workers: touched when a second is over, and if the plan asks for it.
    sums: Mutex<Sums>,
    /// True once the message, which comes once in a run, was printed.
    unexpected_error: AtomicBool,
    protocol_error: AtomicBool,
    tunnel_refused: AtomicBool,
    unbounded_stream: AtomicBool,
}

#[derive(Debug)]
struct Sums {
    rates: Gathering<u64, Rates>,
    seconds: Gathering<u64, Second>,
}

/// A rate sample.
#[derive(Clone, Copy, Debug)]
struct Rates {
    rates: TickRates,
    /// True if the workload has sessions.
    sessions: bool,
}

/// A second of the periodic statistics.
#[derive(Clone, Copy, Debug)]
struct Second {
    elapsed: Duration,
    ok: u64,
    found: u64,
}

impl<'a> Printing<'a> {
    /// Prints for `program` what `watch` asks for, of this many workers.
    #[must_use]
    pub fn new(program: &'a Program, watch: Watch, workers: usize) -> Self {
        let sums = Sums { rates: Gathering::patient(workers), seconds: Gathering::patient(workers) };
        Self {
            program,
            watch,
            to_terminal: io::stdout().is_terminal(),
            sums: Mutex::new(sums),
            unexpected_error: AtomicBool::default(),
            protocol_error: AtomicBool::default(),
            tunnel_refused: AtomicBool::default(),
            unbounded_stream: AtomicBool::default(),
        }
    }

    /// The printer of a worker, by its number from 0.
    #[must_use]
    pub fn printer(&'a self, worker: usize) -> Printer<'a> {
        Printer { printing: self, worker, held: Vec::new(), failed: None, partial_lines: HashMap::new() }
    }

    fn sums(&self) -> MutexGuard<'_, Sums> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Prints what a worker tells it, data to stdout and the rest to stderr.
#[derive(Debug)]
pub struct Printer<'a> {
    printing: &'a Printing<'a>,
    worker: usize,
    /// The lines to be written: whole ones, so that those of other workers can come between any two.
    held: Vec<u8>,
    /// The first error of stdout; after it nothing is written there any more.
    failed: Option<io::Error>,
    /// The last line of each reply body that goes on, as far as it has come.
    partial_lines: HashMap<u64, Vec<u8>>,
}

impl Printer<'_> {
    /// Writes out what is still held back. An error of stdout, now or before, comes back.
    ///
    /// # Errors
    /// The first error of stdout.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush();
        self.failed.map_or(Ok(()), Err)
    }

    /// Adds whole lines to what is held back.
    fn write(&mut self, write: impl FnOnce(&mut Vec<u8>) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = write(&mut self.held).err();
        }
        if self.held.len() >= HELD_MAX {
            self.flush();
        }
    }

    fn write_uri(&mut self, doing: &str, uri: &[u8]) {
        let name = self.printing.program.name_text();
        self.write(|out| {
            write!(out, "{name}: {doing} `")?;
            out.write_all(uri)?;
            out.write_all(b"'\n")
        });
    }

    /// Says something once in a run.
    fn say_once(&self, was_said: &AtomicBool, message: impl FnOnce() -> String) {
        if !was_said.swap(true, Ordering::Relaxed) {
            self.printing.program.say(message());
        }
    }

    /// Writes out what is held back, in one piece.
    fn flush(&mut self) {
        let held = mem::take(&mut self.held);
        if self.failed.is_none() {
            let mut out = io::stdout().lock();
            // What a server has sent cannot control a terminal. Programs get the bytes.
            let shown = if self.printing.to_terminal { visible(&held) } else { Cow::Borrowed(&held[..]) };
            self.failed = out.write_all(&shown).and_then(|()| out.flush()).err();
        }
    }

    /// Prints the sums that became whole with a part of this worker.
    fn write_sums(&mut self, sums: &mut Sums) {
        let (mut lines, now) = (Vec::new(), Instant::now());
        while let Some(Gathered::Whole(Rates { rates, sessions })) = sums.rates.next(now) {
            lines.push(format!("reply-rate = {:<8.1}\n", rates.replies));
            if sessions {
                lines.push(format!("session-rate = {:<8.1}\n", rates.sessions));
            }
        }
        while let Some(Gathered::Whole(Second { elapsed, ok, found })) = sums.seconds.next(now) {
            lines.push(format!("[{:.6} s] 200={ok}, 302={found}\n", elapsed.as_secs_f64()));
        }
        if !lines.is_empty() {
            self.write(|out| out.write_all(lines.concat().as_bytes()));
            self.flush();
        }
    }

    /// Prints each line of `text` behind a prefix. An unterminated last line counts as one.
    fn write_lines(&mut self, kind: &str, call: u64, text: &[u8]) {
        self.write(|out| {
            for line in text.split_inclusive(|&byte| byte == b'\n') {
                write!(out, "{kind}{call}:")?;
                out.write_all(line.strip_suffix(b"\n").unwrap_or(line))?;
                out.write_all(b"\n")?;
            }
            Ok(())
        });
    }

    /// Prints the lines that are complete and keeps the rest: where a body is cut must not show.
    fn write_body(&mut self, call: u64, data: &[u8]) {
        let mut text = self.partial_lines.remove(&call).unwrap_or_default();
        text.extend_from_slice(data);
        let complete = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
        let rest = text.split_off(complete);
        self.write_lines("RB", call, &text);
        if !rest.is_empty() {
            self.partial_lines.insert(call, rest);
        }
    }
}

impl Part for Rates {
    fn add(&mut self, other: Self) {
        self.rates.replies += other.rates.replies;
        self.rates.sessions += other.rates.sessions;
    }
}

impl Part for Second {
    fn add(&mut self, other: Self) {
        self.elapsed = self.elapsed.max(other.elapsed);
        self.ok += other.ok;
        self.found += other.found;
    }
}

impl Observer for Printer<'_> {
    fn observe(&mut self, what: Observation<'_>) {
        let Printing { program, watch, .. } = *self.printing;
        match what {
            Observation::Request { call, head, contents } => {
                if watch.requests.is_some_and(Parts::header) {
                    self.write_lines("SH", call, head);
                }
                if watch.requests.is_some_and(Parts::body) {
                    self.write_lines("SB", call, contents);
                }
                let (head, contents) = (head.len(), contents.len());
                self.write(|out| writeln!(out, "SS{call}: header {head} content {contents}"));
            }
            Observation::ReplyHead { call, head } => self.write_lines("RH", call, head),
            Observation::ReplyBody { call, data } => self.write_body(call, data),
            Observation::ReplyDone { call, size } => {
                if let Some(rest) = self.partial_lines.remove(&call) {
                    self.write_lines("RB", call, &rest);
                }
                let (header, content, footer) = (size.header, size.content, size.footer);
                self.write(|out| {
                    writeln!(out, "RS{call}: header {header} content {content} footer {footer}")
                });
            }
            Observation::Accessing { uri } => self.write_uri("accessing URI", uri),
            Observation::Fetching { uri } => self.write_uri("fetching", uri),
            Observation::Rates { rates, sessions } => {
                let mut sums = self.printing.sums();
                sums.rates.add_next(self.worker, Rates { rates, sessions }, Instant::now());
                self.write_sums(&mut sums);
            }
            Observation::Second { elapsed, ok, found } => {
                let mut sums = self.printing.sums();
                sums.seconds.add_next(self.worker, Second { elapsed, ok, found }, Instant::now());
                self.write_sums(&mut sums);
            }
            Observation::Lifetime { lifetime } => {
                self.write(|out| writeln!(out, "Connection lifetime = {:.1}", lifetime.as_secs_f64() * 1e3));
            }
            Observation::ArrivalDelay { .. } | Observation::Ignoring { .. } if program.is_quiet() => {}
            Observation::ArrivalDelay { delay } => {
                program.say_bare(format_args!("next arrival delay = {delay:.4}"));
            }
            Observation::Ignoring { uri } => {
                program.say_bytes(&[b": ignoring absolute URI `", uri, b"'"].concat());
            }
            Observation::BadStatusLine { line } => {
                let message = [b".parse_status_line: invalid status line `", line, b"'!!"].concat();
                program.say_bytes(&message);
            }
            // What is wrong with HTTP/2 is counted by reason, and told when the run is over. A bad status line was shown.
            Observation::ProtocolError {
                error: ProtocolError::Http2(_) | ProtocolError::BadStatusLine { .. },
            } => {}
            Observation::ProtocolError { error } => {
                self.say_once(&self.printing.protocol_error, || {
                    format!("a reply could not be understood: {error}")
                });
            }
            Observation::UnexpectedError { errno } => self.say_once(&self.printing.unexpected_error, || {
                let name = io::Error::from_raw_os_error(errno).to_string();
                let name = name.split(" (os error").next().unwrap_or_default();
                format!("connection failed with unexpected error {errno} ({name})")
            }),
            Observation::UnboundedStream => self.say_once(&self.printing.unbounded_stream, || {
                "a reply is a stream that may never end, and nothing bounds the run\nhint: --duration or --runtime ends it, \
                 whatever is open"
                    .to_owned()
            }),
            Observation::TunnelRefused { status } => self.say_once(&self.printing.tunnel_refused, || {
                format!("the proxy refused a tunnel with status {status}")
            }),
            Observation::Call { .. }
            | Observation::StreamEvent { .. }
            | Observation::Interval { .. }
            | Observation::Step(_)
            | Observation::Visit { .. } => {}
        }
    }

    fn ended(&mut self) {
        let mut sums = self.printing.sums();
        sums.rates.end(self.worker);
        sums.seconds.end(self.worker);
        self.write_sums(&mut sums);
    }
}
