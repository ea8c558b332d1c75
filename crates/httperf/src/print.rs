//! What a run prints while it goes on: the classic lines of `-v`, `--print-request`, `--print-reply`,
//! `--print-lifetimes` and `--periodic-stats`.

use std::collections::HashMap;
use std::io::{self, BufWriter, Stdout, Write};

use httperf_engine::{Observation, Observer};
use httperf_plan::{Parts, Watch};

use crate::messages::Program;

/// Prints what it is told, data to stdout and the rest to stderr.
#[derive(Debug)]
pub struct Printer<'a> {
    program: &'a Program,
    watch: Watch,
    out: BufWriter<Stdout>,
    /// The first error of stdout; after it nothing is written there any more.
    failed: Option<io::Error>,
    /// The last line of each reply body that goes on, as far as it has come.
    partial_lines: HashMap<u64, Vec<u8>>,
}

impl<'a> Printer<'a> {
    /// Prints for `program` what `watch` asks for.
    #[must_use]
    pub fn new(program: &'a Program, watch: Watch) -> Self {
        let out = BufWriter::with_capacity(64 * 1024, io::stdout());
        Self { program, watch, out, failed: None, partial_lines: HashMap::new() }
    }

    /// Writes out what is still held back. An error of stdout, now or before, comes back.
    ///
    /// # Errors
    /// The first error of stdout.
    pub fn finish(mut self) -> io::Result<()> {
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.out.flush(),
        }
    }

    fn write(&mut self, write: impl FnOnce(&mut BufWriter<Stdout>) -> io::Result<()>) {
        if self.failed.is_none() {
            self.failed = write(&mut self.out).err();
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

impl Observer for Printer<'_> {
    fn observe(&mut self, what: Observation<'_>) {
        let name = self.program.name_text();
        match what {
            Observation::Request { call, head, contents } => {
                if self.watch.requests.is_some_and(Parts::header) {
                    self.write_lines("SH", call, head);
                }
                if self.watch.requests.is_some_and(Parts::body) {
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
            Observation::Accessing { uri } => self.write(|out| {
                write!(out, "{name}: accessing URI `")?;
                out.write_all(uri)?;
                out.write_all(b"'\n")
            }),
            Observation::Fetching { uri } => self.write(|out| {
                write!(out, "{name}: fetching `")?;
                out.write_all(uri)?;
                out.write_all(b"'\n")
            }),
            Observation::Rates { rates, sessions } => self.write(|out| {
                writeln!(out, "reply-rate = {:<8.1}", rates.replies)?;
                if sessions {
                    writeln!(out, "session-rate = {:<8.1}", rates.sessions)?;
                }
                out.flush()
            }),
            Observation::Second { elapsed, ok, found } => self.write(|out| {
                writeln!(out, "[{:.6} s] 200={ok}, 302={found}", elapsed.as_secs_f64())?;
                out.flush()
            }),
            Observation::Lifetime { lifetime } => {
                self.write(|out| writeln!(out, "Connection lifetime = {:.1}", lifetime.as_secs_f64() * 1e3));
            }
            Observation::ArrivalDelay { .. } | Observation::Ignoring { .. } if self.program.is_quiet() => {}
            Observation::ArrivalDelay { delay } => {
                self.program.say_bare(format_args!("next arrival delay = {delay:.4}"));
            }
            Observation::Ignoring { uri } => {
                self.program.say_bytes(&[b": ignoring absolute URI `", uri, b"'"].concat());
            }
            Observation::BadStatusLine { line } => {
                let message = [b".parse_status_line: invalid status line `", line, b"'!!"].concat();
                self.program.say_bytes(&message);
            }
            Observation::UnexpectedError { errno } => {
                self.program.say(format_args!("connection failed with unexpected error {errno}"));
            }
            Observation::TunnelRefused { status } => {
                self.program.say(format_args!("the proxy refused a tunnel with status {status}"));
            }
            Observation::Call { .. } | Observation::Interval { .. } => {}
            Observation::ProtocolError { error } => {
                self.program.say(format_args!("a reply could not be understood: {error}"));
            }
        }
    }
}
