//! Further sections of the full report: replies, confidence intervals, groups of calls, the slowest calls,
//! clocks, the warm-up, threads and capacity.

use std::fmt::{self, Display};
use std::time::Duration;

use httperf_plan::{ReplyClock, secrets};
use httperf_stats::{Groups, Mismatch, SlowCall, Summary};

use crate::causes::only_cause;
use crate::figures::{Confidence, RunFigures, Times};
use crate::number::{count, fixed, percent, ratio, time};
use crate::result::{Document, MachineCapacity, Part};
use crate::table::{NAME_WIDTH, escaped, write_times, write_times_head};

/// The sections, each starting with an empty line. Sections without content are left out.
pub(crate) fn details(document: &Document) -> impl Display + '_ {
    Details { document }
}

struct Details<'a> {
    document: &'a Document,
}

impl Display for Details<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Document { plan, summary, figures, parts, .. } = self.document;
        write_replies(f, summary)?;
        write_confidence(f, &figures.confidence)?;
        if let Some(groups) = &summary.groups {
            write_groups(f, groups)?;
        }
        write_slowest(f, &summary.slowest, only_cause(plan, summary).as_deref())?;
        write_clock(f, self.document)?;
        write_kernel(f, self.document)?;
        if let Some(warmup) = &summary.warmup {
            writeln!(
                f,
                "\nWarm-up: {} s, not in the figures: connections {} requests {} replies {} errors {}",
                fixed(warmup.duration.as_secs_f64(), 3),
                warmup.connections,
                warmup.requests,
                warmup.replies,
                warmup.errors.total()
            )?;
        }
        if let Some(in_flight) = figures.in_flight.filter(|in_flight| in_flight.measured > 0.0) {
            writeln!(f, "\nIn flight: {}", in_flight.told())?;
        }
        write_threads(f, self.document)?;
        write_headroom(f, parts, figures)
    }
}

/// Number of replies timed by the kernel's clock, and of those that are not.
fn write_clock(f: &mut fmt::Formatter<'_>, document: &Document) -> fmt::Result {
    let receive = &document.summary.receive;
    let stamped = receive.lag.moments.count();
    let is_asked = document.plan.recording.clock == ReplyClock::Kernel;
    if !is_asked && (stamped == 0 || !document.plan.times_by_kernel()) {
        return Ok(());
    }
    write!(
        f,
        "\nClock: {stamped} replies end when the kernel received them, {} when they were read",
        receive.unstamped
    )?;
    match receive.read_late {
        0 => writeln!(f),
        late => writeln!(f, "; {late} were read at the next arrival"),
    }
}

/// Number of calls stamped by the kernel, and of those with a result.
fn write_kernel(f: &mut fmt::Formatter<'_>, document: &Document) -> fmt::Result {
    let (Some(every), Some(kernel)) = (document.plan.recording.kernel_sends, &document.summary.kernel) else {
        return Ok(());
    };
    let stamped = kernel.service.moments.count();
    write!(f, "\nKernel to kernel: known for {stamped} of {} replies, ", stamped + kernel.unstamped)?;
    match every.get() {
        1 => writeln!(f, "with all calls sampled"),
        every => writeln!(f, "with one call in {every} sampled"),
    }
}

/// Number of threads and their use of processors, if the plan requests threads.
fn write_threads(f: &mut fmt::Formatter<'_>, document: &Document) -> fmt::Result {
    let Document { plan, summary, figures, .. } = document;
    if plan.threads.is_none() {
        return Ok(());
    }
    let percent = |time: Duration| fixed(100.0 * ratio(time.as_secs_f64(), figures.duration_s), 1);
    let used = || summary.usage.workers.iter().map(|worker| worker.cpu.total());
    let (least, most) = (used().min().unwrap_or_default(), used().max().unwrap_or_default());
    match used().len() {
        1 => writeln!(f, "\nThreads: 1, which used {} % of a processor", percent(most)),
        count => {
            let (least, most) = (percent(least), percent(most));
            writeln!(f, "\nThreads: {count}, each of which used {least} to {most} % of a processor")
        }
    }
}

/// Load that the machines can offer, and the share of it that the parts did, if it is known of all.
fn write_headroom(f: &mut fmt::Formatter<'_>, parts: &[Part], figures: &RunFigures) -> fmt::Result {
    let Some(known) = parts.iter().map(|part| part.capacity).collect::<Option<Vec<MachineCapacity>>>() else {
        return Ok(());
    };
    let connections: u64 = known.iter().map(|capacity| capacity.connections_per_second).sum();
    let requests: u64 = known.iter().map(|capacity| capacity.requests_per_second).sum();
    let used =
        ratio(figures.connection_rate, connections as f64).max(ratio(figures.request_rate, requests as f64));
    writeln!(
        f,
        "\nHeadroom: {} (this machine can offer {} connections/s or {} requests/s, by httperf self-check)",
        percent((1.0 - used).max(0.0)),
        count(connections),
        count(requests)
    )
}

/// Replies that came early, failed a check, or were compressed.
fn write_replies(f: &mut fmt::Formatter<'_>, summary: &Summary) -> fmt::Result {
    if summary.answered_early > 0 {
        writeln!(
            f,
            "\nEarly replies: {} of {} came before the whole request was sent; these requests are not counted as sent",
            summary.answered_early, summary.replies
        )?;
    }
    let mismatches = &summary.mismatches;
    if mismatches.total() > 0 {
        write!(f, "\nUnexpected replies: {} of {}:", mismatches.total(), summary.replies)?;
        for mismatch in Mismatch::ALL {
            // Only steps of scenarios have captures and checks.
            let is_of_steps = matches!(mismatch, Mismatch::Capture | Mismatch::Check);
            let is_of_models = mismatch == Mismatch::Answer;
            let has_model = summary.streams.as_ref().is_some_and(|streams| streams.model.is_some());
            let is_of_websockets = mismatch == Mismatch::Close && summary.websockets.is_none();
            let is_of_grpc = mismatch == Mismatch::Rpc && summary.grpc.is_none();
            if is_of_websockets
                || is_of_grpc
                || is_of_steps && summary.visits.is_none()
                || is_of_models && !has_model
            {
                continue;
            }
            write!(f, " {mismatch} {}", mismatches.count(mismatch))?;
        }
        writeln!(f)?;
    }
    let compressed = &summary.compressed;
    if compressed.replies > 0 {
        let (bytes, decoded_bytes) = (compressed.bytes, compressed.decoded_bytes);
        writeln!(
            f,
            "\nCompressed replies: {} of {}: {bytes} bytes received, {decoded_bytes} bytes decompressed ({} \
             times as many)",
            compressed.replies,
            summary.replies,
            fixed(ratio(decoded_bytes as f64, bytes as f64), 2)
        )?;
    }
    Ok(())
}

fn write_confidence(f: &mut fmt::Formatter<'_>, confidence: &[Confidence]) -> fmt::Result {
    let mut known =
        confidence.iter().filter_map(|figure| Some((figure, figure.low?, figure.high?))).peekable();
    if known.peek().is_none() {
        return Ok(());
    }
    writeln!(f, "\nLatency, 95 % confidence intervals:")?;
    for (figure, low, high) in known {
        writeln!(f, "  {:<6} {} to {}", figure.figure, time(low), time(high))?;
    }
    Ok(())
}

fn write_groups(f: &mut fmt::Formatter<'_>, groups: &Groups) -> fmt::Result {
    writeln!(f)?;
    write_times_head(f, "By group")?;
    for (name, group) in groups.iter() {
        let name = name.unwrap_or("(other)");
        // A long name gets a line of its own, to keep the columns aligned.
        if name.chars().count() >= NAME_WIDTH {
            writeln!(f, "{}", printable(name))?;
            write_times(f, "", &Times::of(&group.latency))?;
        } else {
            write_times(f, &printable(name), &Times::of(&group.latency))?;
        }
        let [_, errors, failures, unexpected] = group.outcomes;
        if unexpected > 0 {
            writeln!(
                f,
                "{:<NAME_WIDTH$}4xx and 5xx {errors}, failed {failures}, unexpected {unexpected}",
                ""
            )?;
        } else if errors + failures > 0 {
            writeln!(f, "{:<NAME_WIDTH$}4xx and 5xx {errors}, failed {failures}", "")?;
        }
    }
    Ok(())
}

/// `failure`: the only kind of failure of the run, so that it is known of each call.
fn write_slowest(f: &mut fmt::Formatter<'_>, slowest: &[SlowCall], failure: Option<&str>) -> fmt::Result {
    if slowest.is_empty() {
        return Ok(());
    }
    write!(f, "\n{:<NAME_WIDTH$}{:>9}{:>9}{:>9}", "Slowest", "wait", "response", "transfer")?;
    // Part of the two columns before it.
    let has_receive_lag = slowest.iter().any(|call| call.receive_lag.is_some());
    if has_receive_lag {
        write!(f, "{:>9}", "unread")?;
    }
    writeln!(f, "  at [s], what")?;
    for call in slowest {
        let ms = |time: Option<Duration>| time.map_or_else(|| "-".to_owned(), in_ms);
        write!(
            f,
            "{:<NAME_WIDTH$}{:>9}{:>9}{:>9}",
            in_ms(call.latency),
            ms(call.wait),
            ms(call.response),
            ms(call.transfer)
        )?;
        if has_receive_lag {
            write!(f, "{:>9}", ms(call.receive_lag))?;
        }
        write!(f, "  {} ", fixed(call.due.as_secs_f64(), 3))?;
        match (call.status, call.mismatch) {
            (None, _) => write!(f, "{} ", failure.unwrap_or("failed"))?,
            (Some(status), None) => write!(f, "{status} ")?,
            (Some(status), Some(mismatch)) => write!(f, "{status} (unexpected {mismatch}) ")?,
        }
        f.write_str(&printable(&secrets::url(&call.uri)))?;
        match call.connection {
            None => f.write_str(", never sent")?,
            Some(_) if call.reused => f.write_str(", on a connection in use")?,
            Some(_) => f.write_str(", on a new connection")?,
        }
        if let Some(transport) = &call.transport {
            write!(f, ", rtt {}", in_ms(transport.rtt))?;
            if transport.retransmits > 0 {
                write!(f, ", {} retransmits", transport.retransmits)?;
            }
        }
        if let Some(quic) = &call.quic {
            write!(f, ", rtt {}", in_ms(quic.rtt))?;
            if quic.packets_lost > 0 {
                write!(f, ", packets lost: {}", quic.packets_lost)?;
            }
        }
        if let Some(timing) = &call.server_timing {
            write!(f, ", {}", printable(timing))?;
        }
        writeln!(f)?;
    }
    Ok(())
}

fn in_ms(duration: Duration) -> String {
    time(duration.as_secs_f64() * 1e3)
}

/// Maximum number of characters shown of a text from the server.
const TEXT_LENGTH: usize = 120;

/// Makes text from the server safe for a terminal, and cuts long text.
fn printable(text: &str) -> String {
    let beginning: String = text.chars().take(TEXT_LENGTH).collect();
    let is_cut = beginning.len() < text.len();
    escaped(&beginning) + if is_cut { "…" } else { "" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_the_server_cannot_control_the_terminal() {
        assert_eq!(printable("/ä\u{1b}[2J\n"), "/ä\\u{1b}[2J\\n");
        assert_eq!(printable(&"x".repeat(1000)).chars().count(), TEXT_LENGTH + 1);
    }
}
