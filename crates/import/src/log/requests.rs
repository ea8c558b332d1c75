//! The requests of a log in order of start, with their clients.

use std::io::{BufRead, Write};
use std::time::Duration;

use crate::clients::{By, Clients};
use crate::error::Error;
use crate::models::Asking;
use crate::order::Order;
use crate::recording::{self, Form};
use crate::report::Report;
use crate::trace::{Head, Request};

use super::{Format, Log, Record};

/// The choices about an import of a log.
#[derive(Clone, Debug)]
pub struct Options {
    /// The format; told from the first lines if `None`.
    pub format: Option<Format>,
    /// The parts of a record by which clients are told apart.
    pub by: By,
    /// The pause that ends a client's session.
    pub idle: Duration,
}

/// Reads a log and writes it as a trace.
///
/// # Errors
/// If the log cannot be read, none of its lines is of the format, or the trace cannot be written.
pub fn to_trace(reader: impl BufRead, options: &Options, out: impl Write) -> Result<Report, Error> {
    let form = Some(Form::Log(options.format.clone()));
    let asking = Asking::default();
    let options = recording::Options { form, by: options.by, idle: options.idle, asking };
    recording::to_trace(reader, &options, out)
}

/// The requests of a log in order of start.
#[derive(Debug)]
pub(crate) struct Requests<R> {
    log: Log<R>,
    order: Order<Record>,
    clients: Clients,
    /// The number of requests that had a body, most likely.
    bodiless: u64,
    done: bool,
}

impl<R: BufRead> Requests<R> {
    /// Opens a log, as [`Log::open`] does.
    pub(crate) fn open(reader: R, format: Option<Format>, clients: Clients) -> Result<Self, Error> {
        let log = Log::open(reader, format)?;
        Ok(Self { log, order: Order::new(), clients, bodiless: 0, done: false })
    }

    /// The description of a trace of the log, without its start.
    pub(crate) fn head(&self) -> Head {
        let format = self.log.format();
        Head {
            from: format.name().to_owned(),
            resolution: format.resolution().duration(),
            stamps: format.stamps(),
            began: 0,
        }
    }

    /// The next request with its start in nanoseconds since the epoch. Its `at` is zero.
    pub(crate) fn read(&mut self) -> Result<Option<(i64, Request)>, Error> {
        loop {
            if let Some((at, record)) = self.order.pop() {
                return Ok(Some((at, request(&mut self.clients, at, record))));
            }
            if self.done {
                return Ok(None);
            }
            match self.log.read()? {
                Some(record) => self.take(record),
                None => {
                    self.order.finish();
                    self.done = true;
                }
            }
        }
    }

    fn take(&mut self, record: Record) {
        let took = record.duration.and_then(|took| i64::try_from(took.as_nanos()).ok()).unwrap_or(0);
        let end = record.start.saturating_add(took);
        self.bodiless += u64::from(matches!(&record.method[..], "POST" | "PUT" | "PATCH"));
        self.order.push(record.start, end, record);
    }

    /// The account so far.
    pub(crate) fn report(&self) -> Report {
        let mut report = self.log.report().clone();
        self.order.account(&mut report);
        self.clients.account(&mut report);
        let count = self.bodiless;
        if count > 0 {
            report.note(format!("{count} POST, PUT and PATCH requests have no body: a log does not have it"));
        }
        report
    }
}

fn request(clients: &mut Clients, at: i64, record: Record) -> Request {
    let client =
        clients.number(at, record.client.as_deref(), record.agent.as_deref(), record.user.as_deref());
    let agent = record.agent.filter(|agent| !agent.contains(['\r', '\n', '\0']));
    let headers = agent.map(|agent| ("User-Agent".to_owned(), agent)).into_iter().collect();
    Request {
        at: Duration::ZERO,
        client,
        method: record.method,
        uri: record.uri,
        headers,
        body: None,
        status: record.status,
        took: record.duration,
    }
}
