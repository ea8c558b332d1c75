//! The section `Times` of the full report: all clocks of a call but its latency, which is part of the answer.

use std::fmt::{self, Display};
use std::time::Duration;

use httperf_stats::{CallOutcome, Summary, Timing};

use crate::number::{fixed, time};
use crate::table::{write_times, write_times_head};

/// The section `Times`, starting with an empty line: mean and percentiles of each clock.
///
/// `service` counts from the first byte sent to the last byte of the reply. If the latency, which counts from the
/// instant at which a call was due, differs from it, a sentence says why. A percentile without enough samples
/// (p99.9 of fewer than 1000) shows as `n/a`. Apart from the first rows, empty ones are left out.
#[must_use]
pub fn times(summary: &Summary) -> impl Display + '_ {
    Times { summary }
}

struct Times<'a> {
    summary: &'a Summary,
}

impl Display for Times<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let summary = self.summary;
        let completed = summary.completed();
        writeln!(f)?;
        write_times_head(f, "Times")?;
        write_times(f, "service", &completed.service)?;
        write_times(f, "response", &summary.response)?;
        write_times(f, "transfer", &summary.transfer)?;
        write_times(f, "connect", &summary.connect)?;
        let errors = &summary.calls_with(CallOutcome::HttpError).latency;
        let failures = &summary.calls_with(CallOutcome::Failure).latency;
        let unexpected = &summary.calls_with(CallOutcome::Unexpected).latency;
        for (name, timing) in
            [("of 4xx and 5xx", errors), ("of unexpected", unexpected), ("of failed", failures)]
        {
            write_if_any(f, name, timing)?;
        }
        if let Some(sessions) = &summary.sessions {
            write_if_any(f, "session", &sessions.latency)?;
        }
        write_if_any(f, "of unfinished", &summary.unfinished)?;
        write_if_any(f, "lag", &summary.lag)?;
        write_if_any(f, "receive lag", &summary.receive.lag)?;
        if let Some(share) = summary.receive.share_stamped().filter(|&share| share > 0.0 && share < 1.0) {
            let percent = fixed((share * 1e4).floor() / 1e2, 2);
            writeln!(
                f,
                "Receive lag is known for {percent} % of the replies; the kernel did not stamp the others"
            )?;
        }
        if let Some(kernel) = &summary.kernel {
            write_if_any(f, "send lag", &kernel.send_lag)?;
            write_if_any(f, "kernel to kernel", &kernel.service)?;
        }
        match divergence(summary, &completed.latency) {
            Some(sentence) => writeln!(f, "{sentence}"),
            None => Ok(()),
        }
    }
}

fn write_if_any(f: &mut fmt::Formatter<'_>, name: &str, timing: &Timing) -> fmt::Result {
    if timing.moments.count() > 0 { write_times(f, name, timing) } else { Ok(()) }
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
