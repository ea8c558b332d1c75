//! The clocks of a call but its latency, which is part of the answer, and those of the generator.

use std::fmt::{self, Display};
use std::time::Duration;

use httperf_stats::{CallOutcome, Summary, Timing};

use crate::figures::Times;
use crate::number::{fixed, time};
use crate::result::Document;
use crate::section::{TimesRow, write_rows};

/// All clocks, in the order of tables. The first ones are shown even if nothing was measured.
///
/// `service` counts from the first byte sent to the last byte of the reply.
#[must_use]
pub fn clocks(document: &Document) -> Vec<TimesRow> {
    let figures = &document.figures;
    let of = |outcome| Times::of(&document.summary.calls_with(outcome).latency);
    let always = [
        TimesRow::new("service", "service", "first byte sent to answered", figures.service_ms),
        TimesRow::new("", "wait", "due to first byte sent", Times::of(&document.summary.wait)),
        TimesRow::new("response", "response", "first byte sent to status line", figures.response_ms),
        TimesRow::new("transfer", "transfer", "status line to answered", figures.transfer_ms),
        TimesRow::new("connect", "connect", "connect to established", figures.connect_ms),
    ];
    let if_any = [
        TimesRow::new(
            "of 4xx and 5xx",
            "latency of 4xx and 5xx",
            "due to answered",
            of(CallOutcome::HttpError),
        ),
        TimesRow::new(
            "of unexpected",
            "latency of unexpected",
            "due to an unexpected reply",
            figures.unexpected_ms,
        ),
        TimesRow::new("of failed", "latency of failed", "due to given up", figures.failed_ms),
        TimesRow::new("session", "session", "due to completed", figures.session_ms.unwrap_or_default()),
        TimesRow::new(
            "of unfinished",
            "age of unfinished",
            "due to the end of the run",
            figures.unfinished_ms,
        ),
        TimesRow::new("lag", "lag", "arrival due to started", figures.lag_ms),
        TimesRow::new(
            "receive lag",
            "receive lag",
            "received by the kernel to read, if known",
            figures.receive_lag_ms,
        ),
        TimesRow::new("send lag", "send lag", "request written to sent, by the kernel", figures.send_lag_ms),
        TimesRow::new(
            "kernel to kernel",
            "kernel to kernel",
            "request sent to reply received",
            figures.kernel_ms,
        ),
    ];
    always.into_iter().chain(if_any.into_iter().filter(|row| row.times.samples > 0)).collect()
}

/// The section `Times`, starting with an empty line: mean and percentiles of each clock.
///
/// If the latency, which counts from the instant at which a call was due, differs from the service time, a sentence says
/// why. A percentile without enough samples (p99.9 of fewer than 1000) shows as `n/a`.
#[must_use]
pub fn times(document: &Document) -> impl Display + '_ {
    Section { document }
}

struct Section<'a> {
    document: &'a Document,
}

impl Display for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { summary, figures, .. } = self.document;
        writeln!(f)?;
        write_rows(f, "Times", &clocks(self.document))?;
        if let Some(share) = figures.receive_lag_share.filter(|&share| share > 0.0 && share < 1.0) {
            let percent = fixed((share * 1e4).floor() / 1e2, 2);
            writeln!(
                f,
                "Receive lag is known for {percent} % of the replies; the kernel did not stamp the others"
            )?;
        }
        match divergence(summary, &summary.completed().latency) {
            Some(sentence) => writeln!(f, "{sentence}"),
            None => Ok(()),
        }
    }
}

/// Percentile at which latency and service time are compared.
const COMPARED: f64 = 0.99;

/// Minimum share of the latency at which the wait before the first byte is explained, and minimum share of
/// that wait for a cause to be named.
const WORTH_A_SENTENCE: f64 = 0.2;

/// Minimum wait that is explained, whatever its share.
const WORTH_A_SENTENCE_FROM: Duration = Duration::from_millis(1);

/// Explains the difference between latency and service time, if it matters.
#[must_use]
pub fn divergence(summary: &Summary, latency: &Timing) -> Option<String> {
    let wait = summary.wait.quantile(COMPARED)?;
    if wait < WORTH_A_SENTENCE_FROM || !is_share(wait, latency.quantile(COMPARED)?) {
        return None;
    }
    let mut causes = Vec::new();
    if summary.lag.quantile(COMPARED).is_some_and(|lag| is_share(lag, wait)) {
        causes.push("until the generator got to them");
    }
    if summary.connect.quantile(COMPARED).is_some_and(|connect| is_share(connect, wait)) {
        causes.push("for their connection to be established");
    }
    if summary.http2.as_ref().is_some_and(|http2| {
        let waits = &http2.stream_waits;
        waits.moments.count() as f64 >= (1.0 - COMPARED) * http2.streams as f64
            && waits.quantile(COMPARED).is_some_and(|longest| is_share(longest, wait))
    }) {
        causes.push("for one of the streams that the server allows");
    }
    let arrivals = &summary.arrivals;
    if causes.is_empty()
        || arrivals.held as f64 >= (1.0 - COMPARED) * arrivals.started as f64 && arrivals.held > 0
    {
        causes.push("for a free connection");
    }
    Some(format!(
        "latency counts from the schedule, service from the first byte sent: in between, calls waited up to {} \
         (p99), {}",
        time(wait.as_secs_f64() * 1e3),
        causes.join(" and ")
    ))
}

fn is_share(part: Duration, whole: Duration) -> bool {
    part.as_secs_f64() >= whole.as_secs_f64() * WORTH_A_SENTENCE
}
