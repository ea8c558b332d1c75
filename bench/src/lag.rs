//! Table 2: adherence of connections to their schedule, observed by a packet capture rather than by the
//! program itself.
//!
//! Arrival *i* is due at `t0 + i / rate`. The capture gives the time of each SYN; `t0`, which it does not
//! show, is chosen so that the earliest arrival relative to its due time is exactly on time. Lags are
//! therefore at least 0, and a delay common to all arrivals, such as the start of the program, does not
//! count.

use std::time::Duration;

use crate::child::BenchServer;
use crate::output::{Table, progress, quantile, thousands};
use crate::pcap;
use crate::tcpdump::Tcpdump;
use crate::tools::{Bench, Job, Tool};
use crate::words::Words;

/// Rate and duration.
#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) rate: f64,
    pub(crate) seconds: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options { rate: 2_000.0, seconds: 5.0 }
    }
}

impl Options {
    pub(crate) fn parse(words: &mut Words) -> anyhow::Result<Self> {
        let default = Options::default();
        Ok(Options {
            rate: words.value("--lag-rate")?.unwrap_or(default.rate),
            seconds: words.value("--lag-seconds")?.unwrap_or(default.seconds),
        })
    }
}

/// Measures the lags of each program, or explains why they are not available here.
pub(crate) fn measure(bench: &Bench, options: &Options) -> anyhow::Result<Table> {
    let mut table = Table::new(
        format!("Table 2. Lag behind the schedule in us, {} conn/s for {} s", options.rate, options.seconds),
        &["program", "p50", "p90", "p99", "max", "SYNs"],
    );
    let spin = bench.ours.knows("--spin").then_some((&bench.ours, "--spin"));
    let programs = [
        spin,
        Some((&bench.ours, "")),
        bench.classic.as_ref().map(|tool| (tool, "")),
        Some((&bench.bare, "")),
    ];
    for (tool, option) in programs.into_iter().flatten() {
        match syn_times_ns(bench, options, tool, option)? {
            Capture::Taken(times) => table.row(row(options, tool, option, &times)),
            Capture::Refused(reason) => {
                table.note(format!("not measured: no packet capture ({reason})"));
                return Ok(table);
            }
        }
    }
    if spin.is_none() {
        table.note("the program under test has no --spin");
    }
    table.note("from the SYNs on the loopback interface, with the kernel's timestamps");
    table.note(
        "the schedule is aligned with the earliest arrival: it has lag 0, all others follow from the rate",
    );
    Ok(table)
}

/// Result of a capture.
pub(crate) enum Capture {
    /// Times of the first SYNs, in order.
    Taken(Vec<u64>),
    /// Reason for a failure, from tcpdump or the system.
    Refused(String),
}

/// Runs a program on a schedule and returns the times of its SYNs.
pub(crate) fn syn_times_ns(
    bench: &Bench,
    options: &Options,
    tool: &Tool,
    option: &str,
) -> anyhow::Result<Capture> {
    progress(&format!("lag of {tool} {option}"));
    let server = BenchServer::start(bench.cores.server, &[])?;
    let port = server.address.port();
    let filter = format!("tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn and dst port {port}");
    let tcpdump = match Tcpdump::start(bench.cores.server, &filter)? {
        Ok(tcpdump) => tcpdump,
        Err(reason) => return Ok(Capture::Refused(reason)),
    };

    let job = Job {
        target: server.address,
        conns: (options.rate * options.seconds).round() as u64,
        rate: options.rate,
        timeout_s: 1,
        reset: true,
        extra: if option.is_empty() { Vec::new() } else { vec![option.to_owned()] },
        preloaded: None,
    };
    let limit = Duration::from_secs_f64(2.0 * options.seconds + 3.0);
    // The bare client first makes one request to learn the size of the reply: a connection outside the
    // schedule, long before.
    let measured = tool.measure(bench.cores.client, &job, limit)?;

    let capture = tcpdump.finish()?;
    server.stop()?;
    let mut times = match capture {
        Ok(capture) => pcap::syn_times_ns(&capture)?,
        Err(reason) => return Ok(Capture::Refused(reason)),
    };
    let surplus = times.len().saturating_sub(measured.counts.connections as usize);
    times.drain(..surplus);
    Ok(Capture::Taken(times))
}

fn row(options: &Options, tool: &Tool, option: &str, times_ns: &[u64]) -> Vec<String> {
    let expected = (options.rate * options.seconds).round() as usize;
    let name = format!("{tool} {option}").trim_end().to_owned();
    // If one is missing, all later ones would be compared with the wrong due time.
    if times_ns.len() != expected || expected == 0 {
        let none = || "-".to_owned();
        let seen = format!("{} of {}", thousands(times_ns.len() as u64), thousands(expected as u64));
        return vec![name, none(), none(), none(), none(), seen];
    }
    let mut lags = lags_us(times_ns, options.rate);
    lags.sort_by(f64::total_cmp);
    let mut cells = vec![name];
    cells.extend([0.5, 0.9, 0.99, 1.0].map(|share| format!("{:.1}", quantile(&lags, share))));
    cells.push(thousands(times_ns.len() as u64));
    cells
}

/// Lag of each arrival, if the earliest one relative to its due time has none.
pub(crate) fn lags_us(times_ns: &[u64], rate: f64) -> Vec<f64> {
    lags_behind_us(times_ns, |index| index as f64 * 1e9 / rate)
}

/// The same for arrivals due this long after the first, in nanoseconds.
pub(crate) fn lags_behind_us(times_ns: &[u64], due_ns: impl Fn(usize) -> f64) -> Vec<f64> {
    let first = times_ns[0];
    let offsets = || times_ns.iter().enumerate().map(|(index, &time)| (time - first) as f64 - due_ns(index));
    let start = offsets().fold(f64::INFINITY, f64::min);
    offsets().map(|offset| (offset - start) / 1e3).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_on_schedule_have_no_lag() {
        assert_eq!(lags_us(&[5_000, 1_005_000, 2_005_000], 1_000.0), [0.0, 0.0, 0.0]);
    }

    #[test]
    fn one_late_arrival_is_late_alone() {
        assert_eq!(lags_us(&[0, 1_040_000, 2_000_000], 1_000.0), [0.0, 40.0, 0.0]);
    }

    #[test]
    fn a_late_first_arrival_does_not_make_the_others_early() {
        assert_eq!(lags_us(&[70_000, 1_000_000, 2_000_000], 1_000.0), [70.0, 0.0, 0.0]);
    }
}
