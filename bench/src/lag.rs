//! Table 2: how exactly connections keep the schedule, seen by a packet capture and not by the program itself.
//!
//! Arrival *i* is due at `t0 + i / rate`. The capture gives the time of each SYN; `t0`, which it does not show, is
//! taken so that the earliest arrival relative to its due time is exactly on time. Lags are therefore at least 0,
//! and a delay common to all arrivals, such as the start of the program, does not count.

use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::bail;
use rustix::process::Signal;

use crate::child::{BenchServer, Running};
use crate::output::{Table, progress, quantile, thousands};
use crate::pcap;
use crate::tools::{Bench, Job, Tool};
use crate::words::Words;

/// At which rate and for how long.
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

/// The lags of each program, or a note why they cannot be had here.
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
                table.note(format!("not measured: no packet capture here ({reason})"));
                return Ok(table);
            }
        }
    }
    if spin.is_none() {
        table.note("the program under test has no --spin");
    }
    table.note("from the SYNs on the loopback interface, with the kernel's time stamps");
    table.note(
        "the schedule is laid through the earliest arrival: it has lag 0, all others follow from the rate",
    );
    Ok(table)
}

/// What came of a capture.
pub(crate) enum Capture {
    /// The times of the first SYNs, in order.
    Taken(Vec<u64>),
    /// In the words of tcpdump or the system.
    Refused(String),
}

/// Runs one program on a schedule and returns when its SYNs passed.
pub(crate) fn syn_times_ns(
    bench: &Bench,
    options: &Options,
    tool: &Tool,
    option: &str,
) -> anyhow::Result<Capture> {
    progress(&format!("lag of {tool} {option}"));
    let server = BenchServer::start(bench.cores.server, &[])?;
    let tcpdump = match start_capture(bench, server.address.port())? {
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
    };
    let limit = Duration::from_secs_f64(2.0 * options.seconds + 3.0);
    // The bare client first asks once to learn the size of the reply: a connection off the schedule, long before.
    let measured = tool.measure(bench.cores.client, &job, limit)?;

    sleep(LAST_BLOCK);
    tcpdump.send(Signal::INT)?;
    let mut times = pcap::syn_times_ns(&ended(tcpdump)?.stdout()?)?;
    server.stop()?;
    let surplus = times.len().saturating_sub(measured.counts.connections as usize);
    times.drain(..surplus);
    Ok(Capture::Taken(times))
}

/// How long tcpdump takes at most to say that it is ready, or to end.
const CAPTURE_LIMIT: Duration = Duration::from_secs(10);
/// The kernel hands packets over in blocks; one that is not full comes after a second at the latest.
const LAST_BLOCK: Duration = Duration::from_millis(1500);

/// Starts tcpdump and waits until it captures, or returns why it does not.
fn start_capture(bench: &Bench, port: u16) -> anyhow::Result<Result<Running, String>> {
    let mut command = Command::new("tcpdump");
    command.args(["-i", "lo", "-n", "--time-stamp-precision=nano", "-s", "96", "-B", "32768", "-w", "-"]);
    command.arg(format!("tcp[tcpflags] & (tcp-syn|tcp-ack) == tcp-syn and dst port {port}"));
    let mut tcpdump = match Running::start(command, bench.cores.server) {
        Ok(tcpdump) => tcpdump,
        Err(error) => return Ok(Err(format!("{error:#}"))),
    };
    let deadline = Instant::now() + CAPTURE_LIMIT;
    loop {
        let said = tcpdump.stderr()?;
        if said.contains("listening on") {
            return Ok(Ok(tcpdump));
        }
        if tcpdump.has_ended()? {
            return Ok(Err(said.trim().replace('\n', "; ")));
        }
        if Instant::now() >= deadline {
            bail!("tcpdump neither starts nor fails: {}", said.trim());
        }
        sleep(Duration::from_millis(10));
    }
}

/// Waits for the end, for only then has everything been written.
fn ended(mut tcpdump: Running) -> anyhow::Result<Running> {
    let deadline = Instant::now() + CAPTURE_LIMIT;
    while !tcpdump.has_ended()? {
        if Instant::now() >= deadline {
            bail!("tcpdump does not end: {}", tcpdump.stderr()?.trim());
        }
        sleep(Duration::from_millis(10));
    }
    Ok(tcpdump)
}

fn row(options: &Options, tool: &Tool, option: &str, times_ns: &[u64]) -> Vec<String> {
    let expected = (options.rate * options.seconds).round() as usize;
    let name = format!("{tool} {option}").trim_end().to_owned();
    // With one missing, all after it would be held against the wrong due time.
    if times_ns.len() != expected || expected == 0 {
        let none = || "-".to_owned();
        let seen = format!("{} of {}", thousands(times_ns.len() as u64), thousands(expected as u64));
        return vec![name, none(), none(), none(), none(), seen];
    }
    let lags = lags_us(times_ns, options.rate);
    let mut cells = vec![name];
    cells.extend([0.5, 0.9, 0.99, 1.0].map(|share| format!("{:.1}", quantile(&lags, share))));
    cells.push(thousands(times_ns.len() as u64));
    cells
}

/// How late each arrival is, sorted, given that the earliest one relative to its due time is not.
fn lags_us(times_ns: &[u64], rate: f64) -> Vec<f64> {
    let first = times_ns[0];
    let offsets = || {
        times_ns.iter().enumerate().map(|(index, &time)| (time - first) as f64 - index as f64 * 1e9 / rate)
    };
    let start = offsets().fold(f64::INFINITY, f64::min);
    let mut lags: Vec<f64> = offsets().map(|offset| (offset - start) / 1e3).collect();
    lags.sort_by(f64::total_cmp);
    lags
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
        assert_eq!(lags_us(&[0, 1_040_000, 2_000_000], 1_000.0), [0.0, 0.0, 40.0]);
    }

    #[test]
    fn a_late_first_arrival_does_not_make_the_others_early() {
        assert_eq!(lags_us(&[70_000, 1_000_000, 2_000_000], 1_000.0), [0.0, 0.0, 70.0]);
    }
}
