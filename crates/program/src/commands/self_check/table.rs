//! The results for readers.

use std::fmt;

use httperf_stats::KolmogorovSmirnov;

use super::capacity::{Bottleneck, Highest, LAG_BOUND};
use super::lab::Process;
use super::latency::{self, Accuracy};
use super::results::CheckResults;
use super::schedule;
use super::spread::Spread;

/// The results as a plain table.
pub(super) struct Table<'a>(pub(super) &'a CheckResults);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(results) = self;
        write_machine(f, results)?;
        write_latency(f, results)?;
        write_schedule(f, results)?;
        write_process(f, results)?;
        write_event_times(f, results)?;
        write_capacity(f, results)?;
        write_verdict(f, results)
    }
}

fn write_machine(f: &mut fmt::Formatter<'_>, results: &CheckResults) -> fmt::Result {
    let machine = &results.machine;
    let settings = if results.quick { ", quick" } else { "" };
    writeln!(f, "httperf {} self-check{settings}", machine.httperf)?;
    let (cpu, count, kernel) = (&machine.cpu, machine.processors, &machine.kernel);
    let processors = if count == 1 { "1 processor".to_owned() } else { format!("{count} processors") };
    writeln!(f, "{cpu}, {processors}, Linux {kernel}")?;
    if results.processors_split {
        writeln!(f, "the generator has one processor to itself, servers have the others")?;
    } else {
        writeln!(f, "generator and servers share the processors")?;
    }
    let share = results.kept_waiting_share * 100.0;
    writeln!(f, "the generator was kept waiting for its processor during {share:.1} % of the time")?;
    if let Some(reason) = &results.capture_refused {
        writeln!(f, "{reason}")?;
    }
    Ok(())
}

fn write_latency(f: &mut fmt::Formatter<'_>, results: &CheckResults) -> fmt::Result {
    writeln!(f, "\nLatency as measured - as it was, in us: bias, and p99 of the error")?;
    write_latency_rows(f, &results.latency)?;
    writeln!(f, "\nThe same by the kernel's time stamps, against the packets; bias is the median")?;
    writeln!(f, "{:41}{:>19}{:>19}", "", "--clock=kernel", "--kernel-sends")?;
    let (protocol, delay) = ("protocol", "delay");
    let title = format!("{:>8}{:>11}", "bias", "p99 error");
    writeln!(f, "{protocol:<13}{delay:>9}{:>7}{:>12}{title}{title}", "calls", "by packets")?;
    for row in &results.latency_by_kernel {
        write!(f, "{:<13}{:>9.0}{:>7}", row.protocol.word(), row.delay_us, row.offered)?;
        let truth = row.clock.as_ref().map(|clock| clock.true_us);
        write!(f, "{:>12}", micros(truth))?;
        for accuracy in [&row.clock, &row.sends] {
            let bias = accuracy.as_ref().map(|found| format!("{:+.1}", found.bias_p50_us));
            let bias = bias.unwrap_or_else(|| "n/a".to_owned());
            write!(f, "{bias:>8}{:>11}", micros(accuracy.as_ref().and_then(|found| found.error.p99_us)))?;
        }
        writeln!(f)?;
    }
    Ok(())
}

fn write_latency_rows(f: &mut fmt::Formatter<'_>, rows: &[latency::LatencyRow]) -> fmt::Result {
    let title = |against: &str| format!("{against:>9}{:>9}{:>9}", "bias", "p99");
    writeln!(f, "{:<13}{:>6}{:>6}{}{}", "arrivals", "delay", "calls", title("server"), title("packets"))?;
    for row in rows {
        write!(f, "{:<13}{:>6.0}{:>6}", row.arrivals.word(), row.delay_us, row.offered)?;
        write_accuracy(f, row.server.as_ref())?;
        write_accuracy(f, row.packets.as_ref())?;
        writeln!(f)?;
    }
    Ok(())
}

fn write_accuracy(f: &mut fmt::Formatter<'_>, accuracy: Option<&Accuracy>) -> fmt::Result {
    let Some(Accuracy { true_us, bias_us, error, .. }) = accuracy else {
        return write!(f, "{:>9}{:>9}{:>9}", "n/a", "n/a", "n/a");
    };
    write!(f, "{true_us:>9.1}{bias_us:>+9.1}{:>9}", micros(error.p99_us))
}

fn write_schedule(f: &mut fmt::Formatter<'_>, results: &CheckResults) -> fmt::Result {
    writeln!(f, "\nSchedule: |actual - planned|, in us")?;
    write_spread_head(f, "what")?;
    for row in &results.schedule {
        write_spread(f, row, "connect begun", row.start.as_ref())?;
        write_spread(f, row, "request sent", row.request.as_ref())?;
        match row.syns_seen {
            Some(seen) => {
                write_row_head(f, row, "SYN on the wire")?;
                writeln!(f, "  n/a: {seen} SYNs were seen")?;
            }
            None => write_spread(f, row, "SYN on the wire", row.syn.as_ref())?,
        }
        if row.failed > 0 {
            writeln!(f, "{:25}{} of {} calls failed", "", row.failed, row.offered)?;
        }
    }
    Ok(())
}

fn write_process(f: &mut fmt::Formatter<'_>, results: &CheckResults) -> fmt::Result {
    writeln!(f, "\nIntervals of deterministic arrivals: |actual - planned|, in us")?;
    write_spread_head(f, "")?;
    for row in results.schedule.iter().filter(|row| row.arrivals == Process::Deterministic) {
        write_spread(f, row, "interval", row.interval.as_ref())?;
    }
    writeln!(f, "\nIntervals of Poisson arrivals: Kolmogorov-Smirnov test of their distribution")?;
    let (arrivals, rate) = ("arrivals", "rate [1/s]");
    writeln!(f, "{arrivals:<15}{rate:>10}  {:<16}{:>10}{:>10}{:>8}", "", "D", "p-value", "n")?;
    for row in results.schedule.iter().filter(|row| row.arrivals == Process::Poisson) {
        write_test(f, row, "achieved", row.achieved.as_ref())?;
        write_test(f, row, "as planned", row.planned.as_ref())?;
    }
    Ok(())
}

fn write_spread_head(f: &mut fmt::Formatter<'_>, what: &str) -> fmt::Result {
    writeln!(
        f,
        "{:<15}{:>10}  {what:<16}{:>10}{:>10}{:>9}{:>8}",
        "arrivals", "rate [1/s]", "p50", "p99", "max", "samples"
    )
}

fn write_row_head(f: &mut fmt::Formatter<'_>, row: &schedule::ScheduleRow, what: &str) -> fmt::Result {
    write!(f, "{:<15}{:>10}  {what:<16}", row.arrivals.word(), row.rate)
}

fn write_spread(
    f: &mut fmt::Formatter<'_>,
    row: &schedule::ScheduleRow,
    what: &str,
    spread: Option<&Spread>,
) -> fmt::Result {
    write_row_head(f, row, what)?;
    match spread {
        None => writeln!(f, "{:>10}{:>10}{:>9}{:>8}", "n/a", "n/a", "n/a", 0),
        Some(Spread { count, p50_us, p99_us, max_us }) => {
            writeln!(f, "{p50_us:>10.1}{:>10}{max_us:>9.1}{count:>8}", micros(*p99_us))
        }
    }
}

fn write_test(
    f: &mut fmt::Formatter<'_>,
    row: &schedule::ScheduleRow,
    what: &str,
    test: Option<&KolmogorovSmirnov>,
) -> fmt::Result {
    write_row_head(f, row, what)?;
    match test {
        None => writeln!(f, "{:>10}{:>10}{:>8}", "n/a", "n/a", 0),
        Some(KolmogorovSmirnov { d, count, p_value }) => {
            writeln!(f, "{d:>10.4}{p_value:>10.4}{count:>8}")
        }
    }
}

fn write_event_times(f: &mut fmt::Formatter<'_>, results: &CheckResults) -> fmt::Result {
    writeln!(f, "\nEvents of streams: |as measured - as the server sent them|, in us")?;
    let (streams, what) = ("streams", "what");
    writeln!(
        f,
        "{:<15}{streams:>10}  {what:<16}{:>10}{:>10}{:>9}{:>8}",
        "protocol", "p50", "p99", "max", "samples"
    )?;
    for row in &results.event_times {
        for (what, spread) in [("first event", &row.first), ("gap", &row.gap)] {
            write!(f, "{:<15}{:>10}  {what:<16}", row.protocol.word(), row.streams)?;
            match spread {
                None => writeln!(f, "{:>10}{:>10}{:>9}{:>8}", "n/a", "n/a", "n/a", 0)?,
                Some(Spread { count, p50_us, p99_us, max_us }) => {
                    writeln!(f, "{p50_us:>10.1}{:>10}{max_us:>9.1}{count:>8}", micros(*p99_us))?;
                }
            }
        }
    }
    Ok(())
}

fn write_capacity(f: &mut fmt::Formatter<'_>, results: &CheckResults) -> fmt::Result {
    let capacity = &results.capacity;
    writeln!(f, "\nCapacity: the highest rates with a p99 lag below {} ms", LAG_BOUND.as_millis())?;
    writeln!(f, "{:<16}{:>11}{:>11}{:>11}  limited by", "", "per second", "generator", "server")?;
    for (what, highest) in [("connections", &capacity.connections), ("requests, kept", &capacity.requests)] {
        let Highest { per_second, limited_by, generator_cpu, server_cpu, .. } = highest;
        let (generator, server) = (generator_cpu * 100.0, server_cpu * 100.0);
        let limit = limit(*limited_by);
        writeln!(f, "{what:<16}{per_second:>11.0}{generator:>5.0} % CPU{server:>5.0} % CPU  {limit}")?;
    }
    let (calls, servers) = (capacity.calls_per_connection, capacity.servers);
    let servers = if servers == 1 { "1 server".to_owned() } else { format!("{servers} servers") };
    writeln!(f, "a request on each connection, or {calls} on each that is kept; {servers}")
}

fn limit(limit: Bottleneck) -> &'static str {
    match limit {
        Bottleneck::Generator => "the generator's processor",
        Bottleneck::Server => "the server's processor",
        Bottleneck::OtherWork => "other work",
        Bottleneck::Lag => "late wake-ups",
        Bottleneck::Failures => "failed connections",
        Bottleneck::Replies => "slow replies",
        Bottleneck::Search => "end of the search",
    }
}

fn write_verdict(f: &mut fmt::Formatter<'_>, results: &CheckResults) -> fmt::Result {
    let bounds = &results.bounds;
    let (p50, p99, bias) = (bounds.start_p50_us, bounds.start_p99_us, bounds.bias_us);
    let documented = format!("connect begun within {p50:.0} us (p50), {p99:.0} us (p99), bias {bias:.0} us");
    if results.exceeded.is_empty() {
        return writeln!(f, "\nWithin bounds: {documented}");
    }
    writeln!(f, "\nNOT within bounds: {documented}")?;
    results.exceeded.iter().try_for_each(|sentence| writeln!(f, "  {sentence}"))
}

fn micros(value: Option<f64>) -> String {
    value.map_or_else(|| "n/a".to_owned(), |value| format!("{value:.1}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::self_check::results::tests::results;

    #[test]
    fn results_are_a_plain_table() {
        let table = Table(&results()).to_string();
        assert!(table.lines().all(|line| line.chars().count() <= 80), "{table}");
        insta::assert_snapshot!(table);
    }

    #[test]
    fn what_is_missing_or_exceeded_is_said() {
        let mut results = results();
        results.quick = true;
        results.processors_split = false;
        results.machine.processors = 1;
        results.capture_refused = Some("packets cannot be captured here: not permitted".into());
        results.schedule.iter_mut().for_each(|row| {
            (row.start, row.syn, row.syns_seen) = (None, None, None);
            (row.interval, row.achieved, row.planned) = (None, None, None);
        });
        results.latency[0].server = None;
        results.exceeded = vec!["deterministic arrivals at 1000/s: no call ended".into()];
        insta::assert_snapshot!(Table(&results).to_string());
    }
}
