//! One CSV row per result: the columns that sweep tools around httperf have had for twenty years, followed by
//! ours.

use httperf_stats::{Mismatch, RateMoments};

use crate::answer::statuses;
use crate::figures::Times;
use crate::number::{fixed, ratio};
use crate::result::Document;
use crate::rpc::GrpcFigures;
use crate::visits::VisitFigures;
use crate::websocket::WebSocketFigures;
use httperf_plan::{Target, UNLIMITED, Workload};

/// Column names. New columns go at the end; existing ones are never removed or redefined.
///
/// The first ten are those of autobench: rates per second, response time in ms, network traffic in KB/s, and
/// the share of errors in percent, which is that of every output.
pub(crate) const COLUMNS: [&str; 144] = [
    "dem_req_rate",
    "req_rate",
    "con_rate",
    "min_rep_rate",
    "avg_rep_rate",
    "max_rep_rate",
    "stddev_rep_rate",
    "resp_time",
    "net_io",
    "errors",
    "started",
    "target",
    "duration_s",
    "connections",
    "requests",
    "replies",
    "status_1xx",
    "status_2xx",
    "status_3xx",
    "status_4xx",
    "status_5xx",
    "failed_connections",
    "latency_mean_ms",
    "latency_p50_ms",
    "latency_p90_ms",
    "latency_p99_ms",
    "latency_p99.9_ms",
    "latency_max_ms",
    "service_mean_ms",
    "service_p50_ms",
    "service_p90_ms",
    "service_p99_ms",
    "service_p99.9_ms",
    "service_max_ms",
    "connect_p50_ms",
    "connect_p99_ms",
    "lag_p50_ms",
    "lag_p99_ms",
    "cpu_percent",
    "verdict",
    "reasons",
    "unexpected_status",
    "unexpected_undecodable",
    "unexpected_size",
    "unexpected_hash",
    "compressed_bytes",
    "decompressed_bytes",
    "threads",
    "objectives",
    "receive_lag_p50_ms",
    "receive_lag_p99_ms",
    "receive_lag_percent",
    "send_lag_p50_ms",
    "send_lag_p99_ms",
    "kernel_p50_ms",
    "kernel_p99_ms",
    "kernel_percent",
    "latency_min_ms",
    "latency_p75_ms",
    "latency_p95_ms",
    "service_min_ms",
    "service_p75_ms",
    "service_p95_ms",
    "calls",
    "answered",
    "failed_calls",
    "unfinished_calls",
    "no_reply",
    "all_p50_ms",
    "all_p75_ms",
    "all_p90_ms",
    "all_p95_ms",
    "all_p99_ms",
    "all_p99.9_ms",
    "all_max_ms",
    "all_beyond",
    "offered_rate",
    "reply_rate",
    "ended_early",
    "statuses",
    "unexpected_capture",
    "unexpected_check",
    "status_as_recorded",
    "status_changed",
    "recorded_p50_ms",
    "recorded_p99_ms",
    "replayed_p50_ms",
    "replayed_p99_ms",
    "unexpected_answer",
    "streams_completed",
    "streams_cut",
    "streams_unfinished",
    "events",
    "events_coalesced",
    "event_rate",
    "first_event_p50_ms",
    "first_event_p99_ms",
    "gap_p50_ms",
    "gap_p99_ms",
    "longest_gap_p50_ms",
    "longest_gap_p99_ms",
    "answers",
    "ttft_p50_ms",
    "ttft_p99_ms",
    "itl_p50_ms",
    "itl_p99_ms",
    "tpot_p50_ms",
    "tpot_p99_ms",
    "prompt_tokens",
    "output_tokens",
    "output_token_rate",
    "goodput_percent",
    "unexpected_close",
    "websockets_opened",
    "websockets_refused",
    "websockets_closed",
    "websockets_cut",
    "websockets_unfinished",
    "messages_sent",
    "messages_answered",
    "messages_unanswered",
    "messages_received",
    "messages_pushed",
    "round_trip_p50_ms",
    "round_trip_p99_ms",
    "push_gap_p50_ms",
    "push_gap_p99_ms",
    "ping_p50_ms",
    "ping_p99_ms",
    "unexpected_grpc",
    "grpc_calls",
    "grpc_ok",
    "grpc_failed",
    "grpc_unanswered",
    "grpc_untold",
    "grpc_messages",
    "grpc_message_bytes",
    "grpc_malformed",
    "visits_completed",
    "visits_abandoned",
    "visits_cut",
    "calls_not_made",
    "not_made",
    "calls_never_made",
];

/// Header line with the column names, including the line end.
#[must_use]
pub fn csv_header() -> String {
    record(COLUMNS.map(str::to_owned).to_vec())
}

/// Address of a server: the origin server, even behind a proxy.
fn server(target: &Target) -> String {
    match &target.authority {
        Some(authority) => authority.to_string(),
        None => target.endpoint.to_string(),
    }
}

/// Row of one result, including the line end. Unknown values are empty.
#[must_use]
pub fn csv_row(document: &Document) -> String {
    record(values(document, &document.summary.reply_rates.moments()))
}

/// Values of all columns, with the given moments of the sampled reply rate.
pub(crate) fn values(document: &Document, rates: &RateMoments) -> Vec<String> {
    let Document { plan, summary, figures, verdict, parts, .. } = document;
    let calls_per_connection = match &plan.workload {
        Workload::Connections(connections) => Some(connections.calls).filter(|&calls| calls != UNLIMITED),
        Workload::Calls(_) | Workload::Replay(_) => Some(1),
        Workload::Sessions(_) | Workload::Scenarios(_) => None,
    };
    let demanded = figures.rate_asked.zip(calls_per_connection).map(|(rate, calls)| rate * calls as f64);
    let ms = |value: Option<f64>| value.map_or_else(String::new, |value| fixed(value, 3));
    let percent = |share: Option<f64>| share.map_or_else(String::new, |share| fixed(100.0 * share, 2));
    let seconds = figures.duration_s;
    let cpu = 100.0 * ratio(summary.usage.cpu.total().as_secs_f64(), seconds);
    let target = plan.targets.iter().map(server).collect::<Vec<_>>().join(" ");
    let names: Vec<&str> = verdict.reasons.iter().map(|reason| reason.finding.name()).collect();
    let mut row = vec![
        demanded.map_or_else(String::new, |rate| fixed(rate, 1)),
        fixed(figures.request_rate, 1),
        fixed(figures.connection_rate, 1),
        fixed(rates.min(), 1),
        fixed(rates.mean(), 1),
        fixed(rates.max(), 1),
        fixed(rates.stddev(), 1),
        fixed(summary.response.moments.mean() * 1e3, 1),
        fixed(figures.bytes_per_second / 1024.0, 1),
        percent(figures.error_share.share),
        parts.first().map_or_else(String::new, |part| part.started.clone()),
        target,
        fixed(seconds, 3),
    ];
    row.extend([figures.connections, figures.requests, figures.replies].map(|count| count.to_string()));
    row.extend(figures.statuses.map(|count| count.to_string()));
    row.push(figures.errors.to_string());
    for times in [&figures.latency_ms, &figures.service_ms] {
        row.extend([times.mean, times.p50, times.p90, times.p99, times.p999, times.max].map(ms));
    }
    for times in [&figures.connect_ms, &figures.lag_ms] {
        row.extend([times.p50, times.p99].map(ms));
    }
    row.extend([fixed(cpu, 1), verdict.level.to_string(), names.join("; ")]);
    let unexpected = |mismatch| summary.mismatches.count(mismatch).to_string();
    row.extend([Mismatch::Status, Mismatch::Undecodable, Mismatch::Size, Mismatch::Hash].map(unexpected));
    row.extend([summary.compressed.bytes, summary.compressed.decoded_bytes].map(|bytes| bytes.to_string()));
    row.push(summary.usage.workers.len().to_string());
    let objectives = document.objectives.iter();
    let objectives: Vec<String> =
        objectives.map(|judged| format!("{} {}", judged.name(), judged.outcome)).collect();
    row.push(objectives.join("; "));
    row.extend([figures.receive_lag_ms.p50, figures.receive_lag_ms.p99].map(ms));
    row.push(percent(figures.receive_lag_share));
    for times in [&figures.send_lag_ms, &figures.kernel_ms] {
        row.extend([times.p50, times.p99].map(ms));
    }
    row.push(percent(figures.kernel_share));
    for times in [&figures.latency_ms, &figures.service_ms] {
        row.extend([times.min, times.p75, times.p95].map(ms));
    }
    let all = &figures.all_calls;
    row.extend([all.calls, all.answered, all.failed, all.unfinished].map(|count| count.to_string()));
    row.push(all.no_reply.map_or_else(String::new, |reason| reason.to_string()));
    let percentiles = all.percentiles();
    row.extend(percentiles.map(|(_, percentile)| ms(percentile.map(|percentile| percentile.ms))));
    let beyond = percentiles.iter().filter(|(_, percentile)| percentile.is_some_and(|found| found.or_more));
    row.push(beyond.map(|&(name, _)| name).collect::<Vec<_>>().join("; "));
    row.extend(
        [figures.offered_rate, Some(figures.reply_rate)]
            .map(|rate| rate.map_or_else(String::new, |rate| fixed(rate, 1))),
    );
    row.push(
        parts.iter().find_map(|part| part.ended_early).map_or_else(String::new, |ending| ending.to_string()),
    );
    let statuses = statuses(summary).into_iter().map(|(name, replies)| format!("{name} {replies}"));
    row.push(statuses.collect::<Vec<_>>().join("; "));
    row.extend([Mismatch::Capture, Mismatch::Check].map(unexpected));
    let replay = figures.replay.as_ref();
    let calls = |calls: Option<u64>| calls.map_or_else(String::new, |calls| calls.to_string());
    row.extend([calls(replay.map(|replay| replay.same)), calls(replay.map(|replay| replay.changed))]);
    for times in [replay.map(|replay| &replay.recorded_ms), replay.map(|replay| &replay.measured_ms)] {
        row.extend([times.and_then(|times| times.p50), times.and_then(|times| times.p99)].map(ms));
    }
    row.push(unexpected(Mismatch::Answer));
    let streams = figures.streams.as_ref();
    let number = |known: Option<u64>| known.map_or_else(String::new, |number| number.to_string());
    let rate = |known: Option<f64>| known.map_or_else(String::new, |rate| fixed(rate, 1));
    let two = |times: Option<&Times>| {
        [times.and_then(|times| times.p50), times.and_then(|times| times.p99)].map(ms)
    };
    row.extend([
        number(streams.map(|streams| streams.completed)),
        number(streams.map(|streams| streams.cut)),
        number(streams.map(|streams| streams.unfinished)),
        number(streams.map(|streams| streams.events)),
        number(streams.map(|streams| streams.coalesced)),
        rate(streams.map(|streams| streams.event_rate)),
    ]);
    row.extend(two(streams.map(|streams| &streams.first_event_ms)));
    row.extend(two(streams.map(|streams| &streams.gap_ms)));
    row.extend(two(streams.map(|streams| &streams.longest_gap_ms)));
    let model = streams.and_then(|streams| streams.model.as_ref());
    row.push(number(model.map(|model| model.answers)));
    row.extend(two(model.map(|model| &model.ttft_ms)));
    row.extend(two(model.map(|model| &model.itl_ms)));
    row.extend(two(model.map(|model| &model.tpot_ms)));
    row.extend([
        number(model.map(|model| model.prompt_tokens)),
        number(model.map(|model| model.output_tokens)),
        rate(model.map(|model| model.output_token_rate)),
        percent(model.and_then(|model| model.goodput_share)),
    ]);
    let websockets = figures.websockets.as_ref();
    row.push(unexpected(Mismatch::Close));
    let counts: [fn(&WebSocketFigures) -> u64; 10] = [
        |figures| figures.opened,
        |figures| figures.refused,
        |figures| figures.closed,
        |figures| figures.cut,
        |figures| figures.unfinished,
        |figures| figures.sent,
        |figures| figures.answered,
        |figures| figures.unanswered,
        |figures| figures.received,
        |figures| figures.pushed,
    ];
    row.extend(counts.map(|of| number(websockets.map(of))));
    row.extend(two(websockets.map(|websockets| &websockets.round_trip_ms)));
    row.extend(two(websockets.map(|websockets| &websockets.gap_ms)));
    row.extend(two(websockets.map(|websockets| &websockets.ping_ms)));
    row.push(unexpected(Mismatch::Rpc));
    let grpc = figures.grpc.as_ref();
    let counts: [fn(&GrpcFigures) -> u64; 8] = [
        |figures| figures.calls,
        |figures| figures.ok,
        |figures| figures.failed,
        |figures| figures.unanswered,
        |figures| figures.untold,
        |figures| figures.received,
        |figures| figures.received_bytes,
        |figures| figures.malformed,
    ];
    row.extend(counts.map(|of| number(grpc.map(of))));
    let visits = figures.visits.as_ref();
    let ends = visits.map(VisitFigures::ends);
    row.extend([0, 1, 2].map(|end| number(ends.map(|ends| ends[end]))));
    let not_made = visits.map(VisitFigures::not_made);
    row.push(number(not_made.as_ref().map(|all| all.iter().map(|(_, calls)| calls.calls).sum())));
    let reasons = not_made.iter().flatten().map(|(_, calls)| format!("{}: {}", calls.reason, calls.calls));
    row.push(reasons.collect::<Vec<_>>().join("; "));
    row.push(summary.calls_not_offered.to_string());
    debug_assert_eq!(row.len(), COLUMNS.len(), "one value per column");
    row
}

pub(crate) fn record(values: impl IntoIterator<Item = String>) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(values).expect("writing to memory does not fail");
    let bytes = writer.into_inner().expect("writing to memory does not fail");
    String::from_utf8(bytes).expect("text was written")
}
