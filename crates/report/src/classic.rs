//! The classic report. Its lines, their order and their formats are frozen: scripts everywhere read them.

use std::fmt::{self, Display, Write};

use httperf_plan::Plan;
use httperf_stats::{Failure, SessionSummary, Summary};

use crate::number::{fixed, ratio};

/// The classic report, from `Maximum connect burst length` to its last line.
///
/// It is a `Display`, not a string: the histogram of session lengths has as many numbers as the longest
/// session.
#[must_use]
pub fn classic<'a>(plan: &'a Plan, summary: &'a Summary) -> impl Display + 'a {
    Classic { plan, summary }
}

struct Classic<'a> {
    plan: &'a Plan,
    summary: &'a Summary,
}

impl Display for Classic<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { plan, summary } = *self;
        writeln!(f, "Maximum connect burst length: {}", summary.connect_burst_max)?;
        if plan.watch.verbose >= 2 {
            write_lifetimes(f, summary)?;
        }
        write_connections(f, summary)?;
        write_requests(f, summary)?;
        write_replies(f, summary)?;
        if plan.watch.periodic {
            let (ok, found) = summary.periodic;
            writeln!(f, "\nPeriodic stats: 200={ok} 302={found}")?;
        }
        write_costs(f, summary)?;
        write_errors(f, summary)?;
        match &summary.sessions {
            Some(sessions) => write_sessions(f, summary, sessions),
            None => Ok(()),
        }
    }
}

/// Histogram of lifetimes. A line with `:` stands for a run of empty bins.
fn write_lifetimes(f: &mut fmt::Formatter<'_>, summary: &Summary) -> fmt::Result {
    writeln!(f, "\nConnection lifetime histogram (time in ms):")?;
    let mut expected = 0;
    for (bin, count) in summary.lifetimes.bins() {
        if bin > expected {
            writeln!(f, "{:>14}", ':')?;
        }
        writeln!(f, "{:>16} {count}", fixed(bin as f64 + 0.5, 1))?;
        expected = bin + 1;
    }
    Ok(())
}

fn write_connections(f: &mut fmt::Formatter<'_>, summary: &Summary) -> fmt::Result {
    let seconds = summary.duration.as_secs_f64();
    let in_window = summary.in_window().connections as f64;
    let lifetimes = &summary.lifetimes.moments;
    let ms = |seconds: f64| fixed(seconds * 1e3, 1);
    writeln!(
        f,
        "\nTotal: connections {} requests {} replies {} test-duration {} s\n",
        summary.connections,
        summary.requests,
        summary.replies,
        fixed(seconds, 3)
    )?;
    writeln!(
        f,
        "Connection rate: {} conn/s ({} ms/conn, <={} concurrent connections)",
        fixed(ratio(in_window, seconds), 1),
        ms(ratio(seconds, in_window)),
        summary.concurrent_max
    )?;
    writeln!(
        f,
        "Connection time [ms]: min {} avg {} max {} median {} stddev {}",
        ms(lifetimes.min()),
        ms(lifetimes.mean()),
        ms(lifetimes.max()),
        fixed(summary.lifetimes.median_ms(), 1),
        ms(lifetimes.stddev())
    )?;
    writeln!(f, "Connection time [ms]: connect {}", ms(summary.connect.moments.mean()))?;
    writeln!(
        f,
        "Connection length [replies/conn]: {}\n",
        fixed(ratio(summary.replies as f64, lifetimes.count() as f64), 3)
    )
}

fn write_requests(f: &mut fmt::Formatter<'_>, summary: &Summary) -> fmt::Result {
    let seconds = summary.duration.as_secs_f64();
    let in_window = summary.in_window().requests as f64;
    writeln!(
        f,
        "Request rate: {} req/s ({} ms/req)",
        fixed(ratio(in_window, seconds), 1),
        fixed(ratio(seconds, in_window) * 1e3, 1)
    )?;
    writeln!(f, "Request size [B]: {}\n", whole_mean(summary.request_bytes, summary.requests))
}

fn write_replies(f: &mut fmt::Formatter<'_>, summary: &Summary) -> fmt::Result {
    let rates = summary.reply_rates.moments();
    writeln!(
        f,
        "Reply rate [replies/s]: min {} avg {} max {} stddev {} ({} samples)",
        fixed(rates.min(), 1),
        fixed(rates.mean(), 1),
        fixed(rates.max(), 1),
        fixed(rates.stddev(), 1),
        rates.count()
    )?;
    writeln!(
        f,
        "Reply time [ms]: response {} transfer {}",
        fixed(summary.response.moments.mean() * 1e3, 1),
        fixed(ratio(summary.transfer.moments.sum() * 1e3, summary.replies as f64), 1)
    )?;
    let sizes = [summary.header_bytes, summary.content_bytes, summary.footer_bytes]
        .map(|bytes| bytes.checked_div(summary.replies).unwrap_or(0));
    let [header, content, footer] = sizes;
    let total: u64 = sizes.iter().sum();
    writeln!(f, "Reply size [B]: header {header}.0 content {content}.0 footer {footer}.0 (total {total}.0)")?;
    let [s1, s2, s3, s4, s5] = summary.statuses;
    writeln!(f, "Reply status: 1xx={s1} 2xx={s2} 3xx={s3} 4xx={s4} 5xx={s5}")
}

/// Processor time and network traffic. Like the classic tool, traffic excludes trailers, chunk framing and
/// incomplete replies.
fn write_costs(f: &mut fmt::Formatter<'_>, summary: &Summary) -> fmt::Result {
    let seconds = summary.duration.as_secs_f64();
    let (user, system) = (summary.usage.cpu.user.as_secs_f64(), summary.usage.cpu.system.as_secs_f64());
    let percent = |time: f64| fixed(ratio(time * 100.0, seconds), 1);
    writeln!(
        f,
        "\nCPU time [s]: user {} system {} (user {}% system {}% total {}%)",
        fixed(user, 2),
        fixed(system, 2),
        percent(user),
        percent(system),
        percent(user + system)
    )?;
    let rate = summary.throughput().bytes;
    writeln!(f, "Net I/O: {} KB/s ({}*10^6 bps)\n", fixed(rate / 1024.0, 1), fixed(rate * 8.0 / 1e6, 1))
}

fn write_errors(f: &mut fmt::Formatter<'_>, summary: &Summary) -> fmt::Result {
    write!(f, "Errors: total {}", summary.errors.total())?;
    for failure in Failure::ALL {
        if failure == Failure::FdUnavailable {
            write!(f, "\nErrors:")?;
        }
        write!(f, " {failure} {}", summary.errors.count(failure))?;
    }
    writeln!(f)
}

fn write_sessions(f: &mut fmt::Formatter<'_>, summary: &Summary, sessions: &SessionSummary) -> fmt::Result {
    let (completed, failed) = (sessions.completed, sessions.failed);
    let rates = sessions.rates.moments();
    let average = summary.throughput().sessions;
    writeln!(
        f,
        "\nSession rate [sess/s]: min {} avg {} max {} stddev {} ({completed}/{})",
        fixed(rates.min(), 2),
        fixed(average, 2),
        fixed(rates.max(), 2),
        fixed(rates.stddev(), 2),
        completed + failed
    )?;
    let per_session = ratio(sessions.connections as f64, completed as f64);
    writeln!(f, "Session: avg {} connections/session", fixed(per_session, 2))?;
    let mean = |total: f64, count: u64| fixed(ratio(total, count as f64), 1);
    writeln!(f, "Session lifetime [s]: {}", mean(sessions.lifetime.as_secs_f64(), completed))?;
    writeln!(f, "Session failtime [s]: {}", mean(sessions.failtime.as_secs_f64(), failed))?;
    f.write_str("Session length histogram:")?;
    let longest = sessions.lengths.last_key_value().map_or(0, |(&length, _)| length);
    for length in 0..=longest {
        write!(f, " {}", sessions.lengths.get(&length).copied().unwrap_or(0))?;
    }
    f.write_char('\n')
}

/// Mean truncated to an integer and printed with `.0`, as the classic tool's integer division gives it.
fn whole_mean(total: u64, count: u64) -> String {
    format!("{}.0", total.checked_div(count).unwrap_or(0))
}
