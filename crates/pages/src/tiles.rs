//! Key figures.

use httperf_plan::{Plan, Workload};
use httperf_report::number::{count, grouped, per_second, percent, ratio, time};
use httperf_report::result::Document;
use httperf_report::{
    AllCalls, GrpcFigures, ModelFigures, NoReply, Offered, Percentile, RunFigures, Steady, StreamFigures,
    Times, WebSocketFigures, http_errors, rpc,
};
use httperf_stats::Summary;

/// A figure with its name and notes.
pub(super) struct Tile {
    pub(super) name: &'static str,
    pub(super) value: String,
    pub(super) notes: Vec<String>,
    /// True to draw attention to it.
    pub(super) is_bad: bool,
}

/// Percentiles of the latency of all calls.
pub(super) struct LatencyCard {
    /// Definition of the times, and number of calls.
    pub(super) about: String,
    pub(super) percentiles: Vec<Tile>,
}

impl LatencyCard {
    pub(super) fn of(document: &Document) -> Self {
        let Document { plan, figures, .. } = document;
        let AllCalls { calls, answered, p50, p90, p99, p999, max, .. } = figures.all_calls;
        let times = &figures.latency_ms;
        let shown = [
            ("p50", p50, times.p50),
            ("p90", p90, times.p90),
            ("p99", p99, times.p99),
            ("p99.9", p999, times.p999),
            ("max", max, times.max),
        ];
        let of = match (calls, answered == calls) {
            (0, _) => String::new(),
            (1, true) => ", of 1 call".to_owned(),
            (calls, true) => format!(", of {} calls", count(calls)),
            (calls, false) => {
                format!(", of all {} calls, {} of them answered", count(calls), count(answered))
            }
        };
        let percentiles =
            shown.into_iter().map(|(name, value, answered)| latency(plan, figures, name, value, answered));
        Self {
            about: format!("from when a call was due to the end of its reply{of}"),
            percentiles: percentiles.collect(),
        }
    }
}

/// Load, replies and errors.
pub(super) fn load(document: &Document) -> Vec<Tile> {
    vec![rate(document), replies(&document.figures), errors(document)]
}

/// Figures of streams, WebSockets and gRPC: a row of four for each.
pub(super) fn of_protocol(figures: &RunFigures) -> Vec<Tile> {
    let streams = figures.streams.as_ref().map(streams);
    let websockets = figures.websockets.as_ref().map(websockets);
    let grpc = figures.grpc.as_ref().map(grpc);
    [streams, websockets, grpc].into_iter().flatten().flatten().collect()
}

/// Figures of the generator itself.
pub(super) fn generator(document: &Document) -> Vec<Tile> {
    let Document { plan, figures, summary, .. } = document;
    vec![lag(plan, &figures.lag_ms), processor(figures, summary)]
}

/// Waits in streams: a row of four.
fn streams(figures: &StreamFigures) -> Vec<Tile> {
    let (first, gap) = (&figures.first_event_ms, &figures.gap_ms);
    let share = figures.coalesced_share.map_or_else(|| "n/a".to_owned(), percent);
    match &figures.model {
        Some(ModelFigures { ttft_ms, tpot_ms, output_tokens, output_token_rate, .. }) => vec![
            wait("TTFT p50", ttft_ms.p50, ttft_ms, "due to first token"),
            wait("TTFT p99", ttft_ms.p99, ttft_ms, "due to first token"),
            wait("TPOT p50", tpot_ms.p50, tpot_ms, "first to last token, per token after the first"),
            tile(
                "Output tokens",
                per_second(*output_token_rate),
                vec![format!("{} tokens", count(*output_tokens))],
            ),
        ],
        None => vec![
            wait("First event p50", first.p50, first, "due to first event"),
            wait("First event p99", first.p99, first, "due to first event"),
            wait("Gap p99", gap.p99, gap, "between events that came apart"),
            tile(
                "Events",
                per_second(figures.event_rate),
                vec![
                    format!("{} events", count(figures.events)),
                    format!("{share} came together with the one before"),
                ],
            ),
        ],
    }
}

/// Waits on WebSockets: a row of four.
fn websockets(figures: &WebSocketFigures) -> Vec<Tile> {
    let (round_trip, gap) = (&figures.round_trip_ms, &figures.gap_ms);
    let mut fates = vec![format!("{} closed", count(figures.closed))];
    for (number, what) in [(figures.cut, "cut"), (figures.unfinished, "open when the run ended")] {
        if number > 0 {
            fates.push(format!("{} {what}", count(number)));
        }
    }
    let sent = format!("{} sent, {} answered", count(figures.sent), count(figures.answered));
    let received = format!("{} received, {} pushed", count(figures.received), count(figures.pushed));
    let [p50, p99] = match round_trip.samples > 0 || gap.samples == 0 {
        true => [("Round trip p50", round_trip.p50), ("Round trip p99", round_trip.p99)]
            .map(|(name, value)| wait(name, value, round_trip, "message due to its answer")),
        false => [("Gap p50", gap.p50), ("Gap p99", gap.p99)]
            .map(|(name, value)| wait(name, value, gap, "between messages that came apart")),
    };
    vec![
        tile("WebSockets", count(figures.opened), fates),
        p50,
        p99,
        tile("Messages", per_second(figures.received_rate), vec![sent, received]),
    ]
}

/// Calls of gRPC: a row of four.
fn grpc(figures: &GrpcFigures) -> Vec<Tile> {
    let bad = |is_bad: bool, tile: Tile| Tile { is_bad, ..tile };
    let size = rpc::mean_size(figures).map(|size| format!("{size} B each (mean)"));
    let unanswered = match figures.untold {
        0 => Vec::new(),
        untold => vec![format!("{} told no status", count(untold))],
    };
    vec![
        tile(
            "gRPC OK",
            rpc::ok_share(figures),
            vec![format!("{} of {} calls", count(figures.ok), count(figures.calls))],
        ),
        bad(figures.failed > 0, tile("Other statuses", count(figures.failed), vec!["calls".to_owned()])),
        bad(figures.unanswered > 0, tile("Without a reply", count(figures.unanswered), unanswered)),
        tile("gRPC messages", count(figures.received), size.into_iter().collect()),
    ]
}

/// A percentile of these times.
fn wait(name: &'static str, value: Option<f64>, times: &Times, note: &str) -> Tile {
    match value {
        Some(ms) => tile(name, time(ms), vec![note.to_owned()]),
        None => tile(name, "n/a".to_owned(), vec![format!("only {} came", count(times.samples))]),
    }
}

fn tile(name: &'static str, value: String, notes: Vec<String>) -> Tile {
    Tile { name, value, notes, is_bad: false }
}

/// Load that was offered; where arrivals wait for each other, what was started.
fn rate(document: &Document) -> Tile {
    let Document { plan, figures, summary, .. } = document;
    let (offered, started, unit) = match &plan.workload {
        Workload::Connections(_) => ("Connections offered", "Connections started", "connections"),
        Workload::Sessions(_) => ("Sessions offered", "Sessions started", "sessions"),
        Workload::Calls(_) => ("Calls offered", "Calls started", "calls"),
        Workload::Scenarios(_) => ("Visits offered", "Visits started", "visits"),
        Workload::Replay(_) => ("Requests offered", "Requests started", "requests"),
    };
    let asked = match (figures.rate_asked, document.parts.len()) {
        (Some(rate), 0 | 1) => format!("{} {unit}/s requested", grouped(rate, 1)),
        (Some(rate), parts) => format!("{} {unit}/s requested of {parts} parts", grouped(rate, 1)),
        (None, _) => "no rate requested".to_owned(),
    };
    if let Some(load) = Offered::of(document) {
        let calls = load.calls_rate.map(|rate| format!("{} calls/s", grouped(rate, 1)));
        let notes = [Some(asked), calls, Some(load.arrivals())].into_iter().flatten().collect();
        return tile(offered, per_second(load.rate), notes);
    }
    let count_started = match (&plan.workload, summary.arrivals.started) {
        // Connections that waited for room may have started in the drain.
        (Workload::Connections(_), _) | (_, 0) => summary.in_window().connections,
        (_, started) => started,
    };
    let all = format!("{} in {}", count(count_started), time(figures.duration_s * 1e3));
    tile(started, per_second(ratio(count_started as f64, figures.duration_s)), vec![asked, all])
}

fn replies(figures: &RunFigures) -> Tile {
    let AllCalls { calls, answered, .. } = figures.all_calls;
    let mut notes = vec![match calls {
        0 => format!("{} of {} requests", count(figures.replies), count(figures.requests)),
        calls => {
            let share = percent(ratio(answered as f64, calls as f64));
            format!("{} of {} calls answered ({share})", count(answered), count(calls))
        }
    }];
    if figures.replies > 0 {
        let kilobytes = figures.bytes_per_second / 1024.0;
        notes.push(format!("{} KiB/s including requests", grouped(kilobytes, 1)));
    }
    if let Some(in_flight) = figures.in_flight.filter(|in_flight| in_flight.measured > 0.0) {
        notes.push(format!("{} in flight on average", in_flight.shown()));
    }
    tile("Replies", per_second(figures.reply_rate), notes)
}

/// A percentile of all calls, with that of the answered ones if there are others.
fn latency(
    plan: &Plan,
    figures: &RunFigures,
    name: &'static str,
    value: Option<Percentile>,
    answered_ms: Option<f64>,
) -> Tile {
    let Some(value) = value else {
        return unknown(plan, name, too_few(figures.all_calls.calls));
    };
    let mut notes = Vec::new();
    if value.or_more {
        notes.push(figures.all_calls.no_reply.map_or("", NoReply::of_calls).to_owned());
    }
    let is_whole = figures.all_calls.answered == figures.all_calls.calls;
    if let Some(ms) = answered_ms.filter(|_| !is_whole) {
        notes.push(format!("{} of those answered", time(ms)));
    }
    let confidence = figures.confidence.iter().find(|confidence| confidence.figure == name);
    match confidence.and_then(|confidence| confidence.low.zip(confidence.high)) {
        // The interval is of latencies rounded to two digits, the value to three: it may lie slightly outside.
        Some((low, high)) if is_whole => {
            notes.push(format!("95 %: {} to {}", time(low.min(value.ms)), time(high.max(value.ms))));
        }
        // Intervals are known of answered calls only.
        Some((low, high)) => notes.push(format!("95 %: {} to {}", time(low), time(high))),
        None if name == "max" || value.or_more => {}
        None if figures.steady == Steady::Never => notes.push("no 95 % interval: never steady".to_owned()),
        None => notes.push("no 95 % interval: too little data".to_owned()),
    }
    Tile { is_bad: value.or_more, ..tile(name, value.to_string(), notes) }
}

/// An unknown figure with the reason.
fn unknown(plan: &Plan, name: &'static str, why: String) -> Tile {
    let why = if plan.recording.detail { why } else { "not recorded".to_owned() };
    tile(name, "n/a".to_owned(), vec![why])
}

fn too_few(samples: u64) -> String {
    match samples {
        0 => "no call was made".to_owned(),
        1 => "only 1 call was made".to_owned(),
        samples => format!("only {} calls were made", count(samples)),
    }
}

fn errors(document: &Document) -> Tile {
    let Document { plan, summary, figures, .. } = document;
    let errors = &figures.error_share;
    // Where the outcomes of calls are not recorded, replies are.
    let (http_errors, unexpected) = match plan.recording.detail {
        true => (errors.http_errors, errors.unexpected),
        false => (http_errors(document), summary.mismatches.total()),
    };
    let mut notes = vec![errors.to_string()];
    for (calls, what) in [
        (errors.failed, "calls failed"),
        (http_errors, "replies of 4xx and 5xx"),
        (unexpected, "unexpected replies"),
    ] {
        if calls > 0 {
            notes.push(format!("{} {what}", count(calls)));
        }
    }
    let (failed, tried) = (count(errors.connections_failed), count(errors.connections_tried));
    notes.push(format!("{failed} of {tried} connections failed"));
    let is_bad = errors.connections_failed + errors.failed + http_errors + unexpected > 0;
    Tile { is_bad, ..tile("Errors", count(errors.errors()), notes) }
}

fn lag(plan: &Plan, lag: &Times) -> Tile {
    let name = "Lag p99";
    match lag.p99 {
        Some(value) => tile(name, time(value), vec!["how late the generator was".to_owned()]),
        None => unknown(plan, name, "too few scheduled arrivals".to_owned()),
    }
}

fn processor(figures: &RunFigures, summary: &Summary) -> Tile {
    let busiest = summary.usage.workers.iter().map(|worker| worker.cpu.total()).max();
    let busiest = busiest.unwrap_or_else(|| summary.usage.cpu.total()).as_secs_f64();
    let share = ratio(busiest, figures.duration_s);
    let of_what = match summary.usage.workers.len() {
        0 | 1 => "of one processor, by the generator".to_owned(),
        threads => format!("of one processor, by the busiest of {} threads", count(threads as u64)),
    };
    let per_reply = figures.cpu_us_per_reply.map(|us| format!("{} per reply", time(us / 1e3)));
    tile("CPU", percent(share), [of_what].into_iter().chain(per_reply).collect())
}
