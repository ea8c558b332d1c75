//! One CSV row per result: the columns that sweep tools around httperf have had for twenty years, followed by
//! ours.

use httperf_plan::{Target, UNLIMITED, Workload};
use httperf_stats::{Mismatch, RateMoments, Summary};
use serde_json::Value;

use crate::answer::statuses;
use crate::number::{fixed, ratio};
use crate::result::Document;
use crate::visits::VisitFigures;

/// A column of the CSV of results.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Title.
    pub name: &'static str,
    /// Source of its values.
    pub source: Source,
}

/// Source of the values of a column.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// A field of `figures` in the document: its JSON pointer (RFC 6901) from there.
    Figure(&'static str),
    /// A value that is no field of `figures`.
    Other {
        /// Meaning, in a sentence.
        meaning: &'static str,
        /// Value of a row.
        value: fn(&Row<'_>) -> String,
    },
}

/// The result that a row describes.
#[derive(Debug)]
pub struct Row<'a> {
    document: &'a Document,
    figures: Value,
    rates: &'a RateMoments,
}

const fn figure(name: &'static str, pointer: &'static str) -> Column {
    Column { name, source: Source::Figure(pointer) }
}

const fn other(name: &'static str, meaning: &'static str, value: fn(&Row<'_>) -> String) -> Column {
    Column { name, source: Source::Other { meaning, value } }
}

/// The columns. New ones go to the end; none is ever moved, removed or redefined.
///
/// The first ten are those of autobench: rates per second, response time in ms, network traffic in KiB/s, and the share
/// of errors in percent, which is that of every output.
pub const COLUMNS: [Column; 148] = [
    other(
        "dem_req_rate",
        "Calls asked for per second: the rate of arrivals, times the calls of each; empty if arrivals wait for each other.",
        demanded,
    ),
    figure("req_rate", "/request_rate"),
    figure("con_rate", "/connection_rate"),
    other(
        "min_rep_rate",
        "Lowest rate of replies of the samples, per second: every 5 s, in a sweep by the second.",
        |row| fixed(row.rates.min(), 1),
    ),
    other("avg_rep_rate", "Mean of the same samples.", |row| fixed(row.rates.mean(), 1)),
    other("max_rep_rate", "Highest of the same samples.", |row| fixed(row.rates.max(), 1)),
    other("stddev_rep_rate", "Standard deviation of the same samples.", |row| fixed(row.rates.stddev(), 1)),
    other(
        "resp_time",
        "Mean time from the first byte of a request to the status line of its reply, in ms.",
        |row| fixed(row.summary().response.moments.mean() * 1e3, 1),
    ),
    other("net_io", "Bytes of requests and replies per second, in KiB.", |row| {
        fixed(row.document.figures.bytes_per_second / 1024.0, 1)
    }),
    figure("errors", "/error_share/share"),
    other("started", "When the run began (RFC 3339).", |row| {
        row.document.parts.first().map_or_else(String::new, |part| part.started.clone())
    }),
    other("target", "The servers: of a run by way of a proxy, those behind it.", targets),
    figure("duration_s", "/duration_s"),
    figure("connections", "/connections"),
    figure("requests", "/requests"),
    figure("replies", "/replies"),
    figure("status_1xx", "/statuses/0"),
    figure("status_2xx", "/statuses/1"),
    figure("status_3xx", "/statuses/2"),
    figure("status_4xx", "/statuses/3"),
    figure("status_5xx", "/statuses/4"),
    figure("failed_connections", "/errors"),
    figure("latency_mean_ms", "/latency_ms/mean"),
    figure("latency_p50_ms", "/latency_ms/p50"),
    figure("latency_p90_ms", "/latency_ms/p90"),
    figure("latency_p99_ms", "/latency_ms/p99"),
    figure("latency_p99.9_ms", "/latency_ms/p99.9"),
    figure("latency_max_ms", "/latency_ms/max"),
    figure("service_mean_ms", "/service_ms/mean"),
    figure("service_p50_ms", "/service_ms/p50"),
    figure("service_p90_ms", "/service_ms/p90"),
    figure("service_p99_ms", "/service_ms/p99"),
    figure("service_p99.9_ms", "/service_ms/p99.9"),
    figure("service_max_ms", "/service_ms/max"),
    figure("connect_p50_ms", "/connect_ms/p50"),
    figure("connect_p99_ms", "/connect_ms/p99"),
    figure("lag_p50_ms", "/lag_ms/p50"),
    figure("lag_p99_ms", "/lag_ms/p99"),
    other("cpu_percent", "Processor time of the program as a share of one processor, in percent.", cpu),
    other("verdict", "`VALID`, `SUSPECT` or `INVALID`.", |row| row.document.verdict.level.to_string()),
    other("reasons", "The reasons for the verdict.", reasons),
    other("unexpected_status", "Replies of a status that is not the expected one.", |row| {
        row.unexpected(Mismatch::Status)
    }),
    other("unexpected_undecodable", "Replies whose body cannot be decompressed.", |row| {
        row.unexpected(Mismatch::Undecodable)
    }),
    other("unexpected_size", "Replies of another size than expected.", |row| row.unexpected(Mismatch::Size)),
    other("unexpected_hash", "Replies of another content than expected.", |row| {
        row.unexpected(Mismatch::Hash)
    }),
    other("compressed_bytes", "Bytes of compressed bodies, as they came.", |row| {
        row.summary().compressed.bytes.to_string()
    }),
    other("decompressed_bytes", "The same after decompression.", |row| {
        row.summary().compressed.decoded_bytes.to_string()
    }),
    other("threads", "Threads that made calls.", |row| row.summary().usage.workers.len().to_string()),
    other("objectives", "The objectives, each with its outcome.", objectives),
    figure("receive_lag_p50_ms", "/receive_lag_ms/p50"),
    figure("receive_lag_p99_ms", "/receive_lag_ms/p99"),
    figure("receive_lag_percent", "/receive_lag_share"),
    figure("send_lag_p50_ms", "/send_lag_ms/p50"),
    figure("send_lag_p99_ms", "/send_lag_ms/p99"),
    figure("kernel_p50_ms", "/kernel_ms/p50"),
    figure("kernel_p99_ms", "/kernel_ms/p99"),
    figure("kernel_percent", "/kernel_share"),
    figure("latency_min_ms", "/latency_ms/min"),
    figure("latency_p75_ms", "/latency_ms/p75"),
    figure("latency_p95_ms", "/latency_ms/p95"),
    figure("service_min_ms", "/service_ms/min"),
    figure("service_p75_ms", "/service_ms/p75"),
    figure("service_p95_ms", "/service_ms/p95"),
    figure("calls", "/all_calls/calls"),
    figure("answered", "/all_calls/answered"),
    figure("failed_calls", "/all_calls/failed"),
    figure("unfinished_calls", "/all_calls/unfinished"),
    other("no_reply", "Why calls had no reply, if for one reason.", |row| {
        row.document.figures.all_calls.no_reply.map_or_else(String::new, |reason| reason.to_string())
    }),
    figure("all_p50_ms", "/all_calls/p50/ms"),
    figure("all_p75_ms", "/all_calls/p75/ms"),
    figure("all_p90_ms", "/all_calls/p90/ms"),
    figure("all_p95_ms", "/all_calls/p95/ms"),
    figure("all_p99_ms", "/all_calls/p99/ms"),
    figure("all_p99.9_ms", "/all_calls/p99.9/ms"),
    figure("all_max_ms", "/all_calls/max/ms"),
    other(
        "all_beyond",
        "Names of the percentiles `all_…_ms` that are longer than their values: calls without a reply leave them open.",
        beyond,
    ),
    figure("offered_rate", "/offered_rate"),
    figure("reply_rate", "/reply_rate"),
    other("ended_early", "Why the run ended before its time, if it did.", ended_early),
    other("statuses", "Replies by status.", by_status),
    other("unexpected_capture", "Replies of steps that lack a value to capture.", |row| {
        row.unexpected(Mismatch::Capture)
    }),
    other("unexpected_check", "Replies of steps that failed a check.", |row| row.unexpected(Mismatch::Check)),
    figure("status_as_recorded", "/replay/same"),
    figure("status_changed", "/replay/changed"),
    figure("recorded_p50_ms", "/replay/recorded_ms/p50"),
    figure("recorded_p99_ms", "/replay/recorded_ms/p99"),
    figure("replayed_p50_ms", "/replay/measured_ms/p50"),
    figure("replayed_p99_ms", "/replay/measured_ms/p99"),
    other("unexpected_answer", "Replies of language models that are no answer.", |row| {
        row.unexpected(Mismatch::Answer)
    }),
    figure("streams_completed", "/streams/completed"),
    figure("streams_cut", "/streams/cut"),
    figure("streams_unfinished", "/streams/unfinished"),
    figure("events", "/streams/events"),
    figure("events_coalesced", "/streams/coalesced"),
    figure("event_rate", "/streams/event_rate"),
    figure("first_event_p50_ms", "/streams/first_event_ms/p50"),
    figure("first_event_p99_ms", "/streams/first_event_ms/p99"),
    figure("gap_p50_ms", "/streams/gap_ms/p50"),
    figure("gap_p99_ms", "/streams/gap_ms/p99"),
    figure("longest_gap_p50_ms", "/streams/longest_gap_ms/p50"),
    figure("longest_gap_p99_ms", "/streams/longest_gap_ms/p99"),
    figure("answers", "/streams/model/answers"),
    figure("ttft_p50_ms", "/streams/model/ttft_ms/p50"),
    figure("ttft_p99_ms", "/streams/model/ttft_ms/p99"),
    figure("itl_p50_ms", "/streams/model/itl_ms/p50"),
    figure("itl_p99_ms", "/streams/model/itl_ms/p99"),
    figure("tpot_p50_ms", "/streams/model/tpot_ms/p50"),
    figure("tpot_p99_ms", "/streams/model/tpot_ms/p99"),
    figure("prompt_tokens", "/streams/model/prompt_tokens"),
    figure("output_tokens", "/streams/model/output_tokens"),
    figure("output_token_rate", "/streams/model/output_token_rate"),
    figure("goodput_percent", "/streams/model/goodput_share"),
    other("unexpected_close", "WebSockets that were closed in another way than expected.", |row| {
        row.unexpected(Mismatch::Close)
    }),
    figure("websockets_opened", "/websockets/opened"),
    figure("websockets_refused", "/websockets/refused"),
    figure("websockets_closed", "/websockets/closed"),
    figure("websockets_cut", "/websockets/cut"),
    figure("websockets_unfinished", "/websockets/unfinished"),
    figure("messages_sent", "/websockets/sent"),
    figure("messages_answered", "/websockets/answered"),
    figure("messages_unanswered", "/websockets/unanswered"),
    figure("messages_received", "/websockets/received"),
    figure("messages_pushed", "/websockets/pushed"),
    figure("round_trip_p50_ms", "/websockets/round_trip_ms/p50"),
    figure("round_trip_p99_ms", "/websockets/round_trip_ms/p99"),
    figure("push_gap_p50_ms", "/websockets/gap_ms/p50"),
    figure("push_gap_p99_ms", "/websockets/gap_ms/p99"),
    figure("ping_p50_ms", "/websockets/ping_ms/p50"),
    figure("ping_p99_ms", "/websockets/ping_ms/p99"),
    other(
        "unexpected_grpc",
        "Calls of gRPC that ended with another status than OK, or are malformed.",
        |row| row.unexpected(Mismatch::Rpc),
    ),
    figure("grpc_calls", "/grpc/calls"),
    figure("grpc_ok", "/grpc/ok"),
    figure("grpc_failed", "/grpc/failed"),
    figure("grpc_unanswered", "/grpc/unanswered"),
    figure("grpc_untold", "/grpc/untold"),
    figure("grpc_messages", "/grpc/received"),
    figure("grpc_message_bytes", "/grpc/received_bytes"),
    figure("grpc_malformed", "/grpc/malformed"),
    other("visits_completed", "Visits whose steps were all made.", |row| visits_that_ended(row, 0)),
    other("visits_abandoned", "Visits that ended at a step that failed.", |row| visits_that_ended(row, 1)),
    other("visits_cut", "Visits that the end of the run cut short.", |row| visits_that_ended(row, 2)),
    other("calls_not_made", "Calls of steps that could not be made.", calls_not_made),
    other("not_made", "The reasons for that, each with the number of calls.", reasons_not_made),
    other(
        "calls_never_made",
        "Calls that were not made because the server closed their connection, as announced, before its last call.",
        |row| row.summary().calls_not_offered.to_string(),
    ),
    figure("in_flight", "/in_flight/measured"),
    figure("in_flight_by_law", "/in_flight/by_law"),
    other(
        "conclusion",
        "Conclusion about the server in a word: `keeps_up`, `falls_behind` and so on.",
        |row| row.document.conclusion.kind.to_string(),
    ),
    other(
        "answered_in_time_percent",
        "Share of the load that was answered without an error while it was offered; empty if arrivals wait for replies.",
        |row| {
            row.document.conclusion.answered_in_time.map_or_else(String::new, |share| fixed(share * 100.0, 2))
        },
    ),
];

/// Unit of a column that shows a field of the document, by the name of the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of things.
    Count,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Things per second.
    PerSecond,
    /// Percent; the field is a share of 1.
    Percent,
    /// A mean number of things.
    Mean,
}

impl Unit {
    /// The unit of the field that this pointer names.
    #[must_use]
    pub fn of(pointer: &str) -> Self {
        let is_of = |ending: &str| pointer.split('/').any(|name| name.ends_with(ending));
        match () {
            () if is_of("_ms") || pointer.ends_with("/ms") => Self::Milliseconds,
            () if is_of("_s") => Self::Seconds,
            () if is_of("_rate") => Self::PerSecond,
            () if pointer.ends_with("share") => Self::Percent,
            () if pointer.starts_with("/in_flight/") => Self::Mean,
            () => Self::Count,
        }
    }

    /// Digits after the point.
    fn digits(self) -> usize {
        match self {
            Self::Count => 0,
            Self::PerSecond => 1,
            Self::Percent => 2,
            Self::Milliseconds | Self::Seconds | Self::Mean => 3,
        }
    }
}

/// Header line with the column names, including the line end.
#[must_use]
pub fn csv_header() -> String {
    record(COLUMNS.map(|column| column.name.to_owned()))
}

/// Row of one result, including the line end. Unknown values are empty.
#[must_use]
pub fn csv_row(document: &Document) -> String {
    record(values(document, &document.summary.reply_rates.moments()))
}

/// Values of all columns, with the given moments of the sampled reply rate.
pub(crate) fn values(document: &Document, rates: &RateMoments) -> Vec<String> {
    let figures = serde_json::to_value(&document.figures).expect("figures are JSON");
    let row = Row { document, figures, rates };
    COLUMNS.iter().map(|column| row.value(column)).collect()
}

pub(crate) fn record(values: impl IntoIterator<Item = String>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(values).expect("writing to memory does not fail");
    let bytes = writer.into_inner().expect("writing to memory does not fail");
    String::from_utf8(bytes).expect("text was written")
}

impl Row<'_> {
    fn value(&self, column: &Column) -> String {
        let pointer = match column.source {
            Source::Figure(pointer) => pointer,
            Source::Other { value, .. } => return value(self),
        };
        let unit = Unit::of(pointer);
        match self.figures.pointer(pointer).and_then(Value::as_number) {
            None => String::new(),
            Some(count) if unit == Unit::Count => count.to_string(),
            Some(number) => {
                let number = number.as_f64().unwrap_or_default();
                fixed(if unit == Unit::Percent { 100.0 * number } else { number }, unit.digits())
            }
        }
    }

    fn summary(&self) -> &Summary {
        &self.document.summary
    }

    fn visits(&self) -> Option<&VisitFigures> {
        self.document.figures.visits.as_ref()
    }

    fn unexpected(&self, mismatch: Mismatch) -> String {
        self.summary().mismatches.count(mismatch).to_string()
    }
}

/// Calls due per second.
fn demanded(row: &Row<'_>) -> String {
    let calls_per_connection = match &row.document.plan.workload {
        Workload::Connections(connections) => Some(connections.calls).filter(|&calls| calls != UNLIMITED),
        Workload::Calls(_) | Workload::Replay(_) => Some(1),
        Workload::Sessions(_) | Workload::Scenarios(_) => None,
    };
    let demanded = row.document.figures.rate_asked.zip(calls_per_connection);
    demanded.map_or_else(String::new, |(rate, calls)| fixed(rate * calls as f64, 1))
}

/// The origin servers, even behind a proxy.
fn targets(row: &Row<'_>) -> String {
    let server = |target: &Target| match &target.authority {
        Some(authority) => authority.to_string(),
        None => target.endpoint.to_string(),
    };
    row.document.plan.targets.iter().map(server).collect::<Vec<_>>().join(" ")
}

fn cpu(row: &Row<'_>) -> String {
    fixed(100.0 * ratio(row.summary().usage.cpu.total().as_secs_f64(), row.document.figures.duration_s), 1)
}

fn reasons(row: &Row<'_>) -> String {
    listed(row.document.verdict.reasons.iter().map(|reason| reason.finding.name()))
}

fn objectives(row: &Row<'_>) -> String {
    listed(row.document.objectives.iter().map(|judged| format!("{} {}", judged.name(), judged.outcome)))
}

fn beyond(row: &Row<'_>) -> String {
    let percentiles = row.document.figures.all_calls.percentiles();
    let beyond = percentiles.iter().filter(|(_, percentile)| percentile.is_some_and(|found| found.or_more));
    listed(beyond.map(|&(name, _)| name))
}

fn ended_early(row: &Row<'_>) -> String {
    let mut endings = row.document.parts.iter().filter_map(|part| part.ended_early);
    endings.next().map_or_else(String::new, |ending| ending.to_string())
}

fn by_status(row: &Row<'_>) -> String {
    listed(statuses(row.summary()).into_iter().map(|(name, replies)| format!("{name} {replies}")))
}

fn visits_that_ended(row: &Row<'_>, how: usize) -> String {
    row.visits().map_or_else(String::new, |visits| visits.ends()[how].to_string())
}

fn calls_not_made(row: &Row<'_>) -> String {
    let not_made = row.visits().map(VisitFigures::not_made);
    not_made.map_or_else(String::new, |all| all.iter().map(|(_, calls)| calls.calls).sum::<u64>().to_string())
}

fn reasons_not_made(row: &Row<'_>) -> String {
    let not_made = row.visits().map(VisitFigures::not_made).unwrap_or_default();
    listed(not_made.iter().map(|(_, calls)| format!("{}: {}", calls.reason, calls.calls)))
}

fn listed(items: impl IntoIterator<Item = impl Into<String>>) -> String {
    items.into_iter().map(Into::into).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Figures that no column shows, by the reason.
    const WITHOUT_COLUMN: [(&str, &[&str]); 5] = [
        (
            "a column that is no field says the same",
            &[
                "/all_calls/max/or_more",
                "/all_calls/no_reply",
                "/all_calls/p50/or_more",
                "/all_calls/p75/or_more",
                "/all_calls/p90/or_more",
                "/all_calls/p95/or_more",
                "/all_calls/p99.9/or_more",
                "/all_calls/p99.99/or_more",
                "/all_calls/p99/or_more",
                "/bytes_per_second",
                "/rate_asked",
                "/response_ms",
                "/unexpected",
                "/visits/total",
            ],
        ),
        (
            "a row has no place for a list",
            &["/causes", "/confidence", "/replay/changes", "/steady", "/visits/phases"],
        ),
        (
            "it follows from other columns",
            &[
                "/cpu_us_per_reply",
                "/error_share/connections_failed",
                "/error_share/due",
                "/error_share/ended",
                "/error_share/failed",
                "/error_share/unexpected",
                "/grpc/ok_share",
                "/in_flight/disagreement",
                "/streams/coalesced_share",
                "/streams/model/token_rate_per_user",
                "/streams/started",
                "/websockets/coalesced_share",
                "/websockets/outstanding",
                "/websockets/received_rate",
                "/websockets/sent_rate",
            ],
        ),
        (
            "it tells how another is to be read",
            &[
                "/error_share/connections_tried",
                "/error_share/http_errors",
                "/error_share/of_connections",
                "/streams/model/other_api",
                "/streams/model/tokens_from",
                "/streams/model/unread",
            ],
        ),
        (
            "nobody has asked for it yet",
            &[
                "/all_calls/p99.99/ms",
                "/failed_ms",
                "/session_ms",
                "/streams/duration_ms",
                "/streams/events_per_stream_median",
                "/streams/first_byte_ms",
                "/streams/first_event_service_ms",
                "/streams/model/good",
                "/streams/model/goodput_rate",
                "/streams/model/ttft_service_ms",
                "/transfer_ms",
                "/unexpected_ms",
                "/unfinished_ms",
                "/websockets/opening_ms",
                "/websockets/round_trip_service_ms",
            ],
        ),
    ];

    /// The pointers to all figures that a schema names. A group of percentiles is one of them.
    fn figures(schema: &Value, field: &Value, at: &str, found: &mut BTreeSet<String>) {
        let alternatives = field["anyOf"].as_array().into_iter().flatten();
        let name = std::iter::once(field).chain(alternatives).find_map(|one| one["$ref"].as_str());
        let resolved = name.map_or(field, |path| schema.pointer(&path[1..]).expect("it is defined"));
        match resolved["properties"].as_object() {
            Some(fields) if !fields.contains_key("p50") || fields.contains_key("calls") => {
                for (name, field) in fields {
                    figures(schema, field, &format!("{at}/{name}"), found);
                }
            }
            _ => drop(found.insert(at.to_owned())),
        }
    }

    #[test]
    fn each_figure_has_a_column_or_is_known_to_have_none() {
        let schema: Value = serde_json::from_str(&crate::result::schema()).expect("a schema is JSON");
        let mut all = BTreeSet::new();
        figures(&schema, &schema["properties"]["figures"], "", &mut all);
        let shown: Vec<&str> = COLUMNS
            .iter()
            .filter_map(|column| match column.source {
                Source::Figure(pointer) => Some(pointer),
                Source::Other { .. } => None,
            })
            .collect();
        let has_column = |figure: &str| {
            shown.iter().any(|pointer| {
                pointer.strip_prefix(figure).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        let without: BTreeSet<&str> =
            all.iter().map(String::as_str).filter(|figure| !has_column(figure)).collect();
        let known: BTreeSet<&str> =
            WITHOUT_COLUMN.iter().flat_map(|(_, figures)| figures.iter().copied()).collect();
        assert_eq!(without, known, "a new figure has a column at the end of the list, or a reason here");
    }
}
