//! Tables: percentiles of all clocks, failures, groups, and those of sections.

use httperf_report::number::{count, grouped, percent, ratio};
use httperf_report::result::Document;
use httperf_report::{
    AllCalls, BothWays, CauseFigures, Fact as ToldFact, Percentile, Section, Times, TimesRow, Told, clocks,
    cut, statuses as by_status,
};
use httperf_stats::{Failure, Group, Groups, Mismatch, Summary, Tally};

use super::about::Fact;

/// Maximum number of characters of a name in a table.
pub(super) const NAME_LENGTH: usize = 200;

/// Maximum number of names in a list.
const NAMES_MAX: usize = 20;

/// A table with named rows of numbers.
pub(super) struct Table {
    pub(super) caption: &'static str,
    pub(super) head: Vec<&'static str>,
    pub(super) rows: Vec<Row>,
}

/// A row with its name.
pub(super) struct Row {
    pub(super) name: String,
    /// Explanation of the name, if needed.
    pub(super) about: &'static str,
    pub(super) cells: Vec<String>,
}

/// A section of a report.
pub(super) struct Subject {
    pub(super) id: &'static str,
    pub(super) title: &'static str,
    pub(super) facts: Vec<Fact>,
    pub(super) tables: Vec<Table>,
}

/// Percentiles of all clocks in ms.
pub(super) fn times(document: &Document) -> Table {
    let figures = &document.figures;
    let answered = match figures.all_calls.answered == figures.all_calls.calls {
        true => times_row("latency", "due to answered", &figures.latency_ms),
        false => times_row("answered only", "due to answered, without other calls", &figures.latency_ms),
    };
    let all = (answered.name != "latency").then(|| all_calls_row(&figures.all_calls));
    let others = timed_rows(&clocks(document));
    let rows = all.into_iter().chain([answered]).chain(others).collect();
    Table { caption: "Percentiles of all clocks, in ms", head: TIMES_HEAD.to_vec(), rows }
}

/// Head of a table of percentiles.
const TIMES_HEAD: [&str; 12] =
    ["Clock", "mean", "min", "p50", "p75", "p90", "p95", "p99", "p99.9", "p99.99", "max", "samples"];

pub(super) fn times_row(name: &str, about: &'static str, times: &Times) -> Row {
    let Times { mean, min, p50, p75, p90, p95, p99, p999, p9999, max, .. } = *times;
    let mut cells: Vec<String> = [mean, min, p50, p75, p90, p95, p99, p999, p9999, max].map(in_ms).into();
    cells.push(count(times.samples));
    Row { name: name.to_owned(), about, cells }
}

/// Percentiles of all calls. Calls without a reply have no mean; `>` marks a percentile that is longer.
fn all_calls_row(all: &AllCalls) -> Row {
    let AllCalls { p50, p75, p90, p95, p99, p999, p9999, max, calls, .. } = *all;
    let cell = |found: Option<Percentile>| match found {
        Some(Percentile { ms, or_more: true }) => format!("> {}", grouped(ms, 3)),
        found => in_ms(found.map(|percentile| percentile.ms)),
    };
    let mut cells = vec![in_ms(None), in_ms(None)];
    cells.extend([p50, p75, p90, p95, p99, p999, p9999, max].map(cell));
    cells.push(count(calls));
    Row { name: "latency".to_owned(), about: "due to answered, of all calls", cells }
}

/// Formats a time for a column of ms.
pub(super) fn in_ms(ms: Option<f64>) -> String {
    ms.map_or_else(|| "n/a".to_owned(), |ms| grouped(ms, 3))
}

/// Failed connections by cause, if any failed.
pub(super) fn failures(summary: &Summary, causes: &[CauseFigures]) -> Option<Table> {
    let attempts = summary.attempts();
    let row = |cause: &CauseFigures| {
        let about = match cause.cause.class() {
            Failure::ClientTimeout => "client-timo in the classic report",
            Failure::SocketTimeout => "socket-timo in the classic report",
            Failure::Refused => "connrefused in the classic report",
            Failure::Reset => "connreset in the classic report",
            Failure::FdUnavailable => "fd-unavail in the classic report",
            Failure::AddressUnavailable => "addrunavail in the classic report",
            Failure::FileTableFull => "ftab-full in the classic report",
            Failure::Other => "other in the classic report",
        };
        counted(cause.sentence.clone(), about, cause.failures, attempts)
    };
    let rows: Vec<Row> = causes.iter().map(row).collect();
    let head = vec!["Cause", "connections", "share"];
    (!rows.is_empty()).then_some(Table { caption: "Failed connections", head, rows })
}

/// Replies by status, if there are any.
pub(super) fn statuses(summary: &Summary) -> Option<Table> {
    let rows: Vec<Row> = by_status(summary)
        .into_iter()
        .map(|(name, replies)| {
            let about = match name.as_bytes().first() {
                Some(b'1') => "informational",
                Some(b'2') => "successful",
                Some(b'3') => "redirection",
                Some(b'4') => "the request's fault",
                _ => "the server's fault",
            };
            counted(name, about, replies, summary.replies)
        })
        .collect();
    let head = vec!["Status", "replies", "share"];
    (!rows.is_empty()).then_some(Table { caption: "Replies by status", head, rows })
}

/// Unexpected replies by the check they failed, if there are any.
pub(super) fn mismatches(summary: &Summary) -> Option<Table> {
    let kinds = Mismatch::ALL.into_iter().filter(|&mismatch| summary.mismatches.count(mismatch) > 0);
    let rows: Vec<Row> = kinds
        .map(|mismatch| {
            let about = match mismatch {
                Mismatch::Status => "not the expected status",
                Mismatch::Undecodable => "a body that cannot be decompressed",
                Mismatch::Size => "size of the body not as given by --expect-size",
                Mismatch::Hash => "digest of the body not as given by --expect-body-hash",
                Mismatch::Capture => "without the value of a capture",
                Mismatch::Check => "failed a check of its step",
                Mismatch::Answer => "an error, no end, or not what the model's API says",
                Mismatch::Close => {
                    "a WebSocket that the server closed for an error, or before it had answered"
                }
                Mismatch::Rpc => "a call of gRPC with a status other than OK, or with messages that are none",
            };
            counted(mismatch.to_string(), about, summary.mismatches.count(mismatch), summary.replies)
        })
        .collect();
    let head = vec!["Unexpected", "replies", "share"];
    (!rows.is_empty()).then_some(Table { caption: "Unexpected replies", head, rows })
}

/// Sizes before and after compression, if replies came compressed.
pub(super) fn compressed(summary: &Summary) -> Option<Table> {
    let compressed = &summary.compressed;
    let rows = vec![
        counted("received".to_owned(), "", compressed.bytes, compressed.decoded_bytes),
        counted("decompressed".to_owned(), "", compressed.decoded_bytes, compressed.decoded_bytes),
    ];
    let head = vec!["Bodies", "bytes", "share"];
    (compressed.replies > 0).then_some(Table { caption: "Compressed replies", head, rows })
}

fn counted(name: String, about: &'static str, part: u64, whole: u64) -> Row {
    Row { name, about, cells: vec![count(part), percent(ratio(part as f64, whole as f64))] }
}

/// Groups of calls, the largest first and the remaining calls last.
pub(super) fn groups(groups: &Groups) -> Table {
    let mut named: Vec<(Option<&str>, &Group)> = groups.iter().collect();
    named.sort_by_key(|(name, group)| (name.is_none(), std::cmp::Reverse(group.calls())));
    let rows = named.into_iter().map(|(name, group)| {
        let [answered, errors, failed, unexpected] = group.outcomes.map(count);
        let (latency, service) = (Times::of(&group.latency), Times::of(&group.service));
        let times = [latency.p50, latency.p99, latency.max, service.p50, service.p99].map(in_ms);
        let cells =
            [count(group.calls()), answered, errors, unexpected, failed].into_iter().chain(times).collect();
        let (name, about) = match name {
            Some(name) => (cut(name, NAME_LENGTH), ""),
            None => ("other".to_owned(), "all groups after the first hundred"),
        };
        Row { name, about, cells }
    });
    Table {
        caption: "Calls by group; latency and service in ms",
        head: vec![
            "Group",
            "calls",
            "successful",
            "4xx, 5xx",
            "unexpected",
            "no reply",
            "latency p50",
            "p99",
            "max",
            "service p50",
            "p99",
        ],
        rows: rows.collect(),
    }
}

/// Names with their counts, most frequent first.
fn names(tally: &Tally) -> String {
    let all = tally.by_frequency();
    let mut text: Vec<String> = all
        .iter()
        .take(NAMES_MAX)
        .map(|(name, number)| format!("{} ({})", cut(name, NAME_LENGTH), count(*number)))
        .collect();
    if all.len() > NAMES_MAX {
        text.push(format!("{} others", all.len() - NAMES_MAX));
    }
    text.join(", ")
}

/// A section: its facts, times, and what was sent and received.
pub(super) fn subject(section: &Section<'_>) -> Subject {
    let fact = |fact: &ToldFact<'_>| Fact {
        name: fact.long_name().into(),
        value: match &fact.told {
            Told::Line(text) => text.clone(),
            Told::Counts(tally) | Told::Reasons(tally) => names(tally),
        },
    };
    let times = (!section.times.is_empty()).then(|| Table {
        caption: "Times in ms",
        head: TIMES_HEAD.to_vec(),
        rows: timed_rows(&section.times),
    });
    let both_ways = (!section.both_ways.is_empty()).then(|| Table {
        caption: section.both_ways_caption,
        head: vec!["", "sent", "received"],
        rows: section.both_ways.iter().map(both_ways_row).collect(),
    });
    Subject {
        id: section.id,
        title: section.title,
        facts: section.facts.iter().map(fact).collect(),
        tables: times.into_iter().chain(both_ways).collect(),
    }
}

fn timed_rows(rows: &[TimesRow]) -> Vec<Row> {
    rows.iter().map(|row| times_row(&row.long_name, row.about, &row.times)).collect()
}

fn both_ways_row(row: &BothWays) -> Row {
    Row { name: row.long_name.to_string(), about: "", cells: row.values.to_vec() }
}
