//! Tables: percentiles of all clocks, failures, groups, TLS, HTTP/2.

use httperf_plan::Plan;
use httperf_report::http2::{
    alt_svc, datagrams, describe as describe_settings, packets, ratio_of, transport_rows,
};
use httperf_report::number::{count, grouped, percent, ratio};
use httperf_report::result::Document;
use httperf_report::streams::{
    TimesRow, answers, events, fates, goodput, model_rows, output_tokens, stream_rows,
};
use httperf_report::tls::{describe, occurring_kinds};
use httperf_report::{AllCalls, CauseFigures, Percentile, Times, cut, rpc, statuses as by_status, websocket};
use httperf_stats::{
    CallOutcome, Failure, Group, Groups, Http2Summary, Mismatch, SizeMoments, Summary, Tally, TlsSummary,
};

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

/// Section on TLS or HTTP/2.
pub(super) struct Protocol {
    pub(super) title: &'static str,
    pub(super) facts: Vec<Fact>,
    pub(super) table: Option<Table>,
}

/// Percentiles of all clocks in ms.
pub(super) fn times(document: &Document) -> Table {
    let Document { figures, summary, .. } = document;
    let errors = Times::of(&summary.calls_with(CallOutcome::HttpError).latency);
    let answered = match figures.all_calls.answered == figures.all_calls.calls {
        true => times_row("latency", "due to answered", &figures.latency_ms),
        false => times_row("answered only", "due to answered, without other calls", &figures.latency_ms),
    };
    let all = (answered.name != "latency").then(|| all_calls_row(&figures.all_calls));
    let mut rows: Vec<Row> = all.into_iter().chain([answered]).collect();
    rows.extend([
        times_row("service", "first byte sent to answered", &figures.service_ms),
        times_row("wait", "due to first byte sent", &Times::of(&summary.wait)),
        times_row("response", "first byte sent to status line", &figures.response_ms),
        times_row("transfer", "status line to answered", &figures.transfer_ms),
        times_row("connect", "connect to established", &figures.connect_ms),
    ]);
    if let Some(tls) = &summary.tls {
        rows.push(times_row("transport", "connect to established, before TLS", &Times::of(&tls.transport)));
        for kind in occurring_kinds(tls) {
            let name = format!("handshake, {kind}");
            rows.push(times_row(
                &name,
                "transport to TLS established",
                &Times::of(&tls.handshakes_of(kind).time),
            ));
        }
    }
    if let Some(http2) = &summary.http2 {
        let waits = [
            (
                "wait for a stream",
                "of calls that waited at the server's limit on streams",
                &http2.stream_waits,
            ),
            ("wait for a window", "of request bodies that waited (flow control)", &http2.window_waits),
        ];
        let occurring = waits.into_iter().filter(|(.., timing)| !timing.is_empty());
        rows.extend(occurring.map(|(name, about, timing)| times_row(name, about, &Times::of(timing))));
    }
    let optional = [
        ("latency of 4xx and 5xx", "due to answered", Some(errors)),
        ("latency of unexpected", "due to an unexpected reply", Some(figures.unexpected_ms)),
        ("latency of failed", "due to given up", Some(figures.failed_ms)),
        ("session", "due to completed", figures.session_ms),
    ];
    for (name, about, times) in optional {
        rows.extend(times.filter(|times| times.samples > 0).map(|times| times_row(name, about, &times)));
    }
    rows.push(times_row("lag", "arrival due to started", &figures.lag_ms));
    if figures.receive_lag_ms.samples > 0 {
        rows.push(times_row(
            "receive lag",
            "received by the kernel to read, if known",
            &figures.receive_lag_ms,
        ));
    }
    if figures.kernel_ms.samples > 0 {
        rows.push(times_row("send lag", "request written to sent, by the kernel", &figures.send_lag_ms));
        rows.push(times_row("kernel to kernel", "request sent to reply received", &figures.kernel_ms));
    }
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

/// Facts that have a value.
fn facts<const N: usize>(facts: [(&'static str, String); N]) -> Vec<Fact> {
    let facts = facts.into_iter().filter(|(_, value)| !value.is_empty());
    facts.map(|(name, value)| Fact { name, value }).collect()
}

/// Negotiated parameters and costs of TLS.
pub(super) fn tls(plan: &Plan, figures: &TlsSummary) -> Protocol {
    let was_checked = plan.tls.as_ref().is_some_and(|tls| tls.verify.is_some());
    let early = figures.early_requests;
    let has_early = early != httperf_stats::EarlyRequests::default();
    let some = |number: u64| if number > 0 { count(number) } else { String::new() };
    let facts = facts([
        (
            "Handshakes",
            format!("{} completed, {} failed", count(figures.completed()), count(figures.failed())),
        ),
        ("Failed because of", names(&figures.failures)),
        ("Broken later by", names(&figures.errors)),
        ("Version", names(&figures.versions)),
        ("Cipher", names(&figures.ciphers)),
        ("Group", names(&figures.groups)),
        ("Signature", names(&figures.signatures)),
        ("Protocol", names(&figures.protocols)),
        (
            "Certificate",
            figures
                .certificate
                .as_ref()
                .map_or(String::new(), |certificate| describe(certificate, was_checked)),
        ),
        ("Compressed certificates", some(figures.compressed_certificates)),
        ("HelloRetryRequests", some(figures.hello_retries)),
        (
            "Early requests",
            match has_early {
                true => {
                    let [accepted, rejected, replayed] =
                        [early.accepted, early.rejected, early.replayed].map(count);
                    format!("{accepted} accepted, {rejected} rejected, {replayed} replayed")
                }
                false => String::new(),
            },
        ),
        ("Replies cut short without close_notify", some(figures.truncated)),
        ("Idle closes without close_notify", some(figures.unclean_closes)),
    ]);
    Protocol { title: "TLS", facts, table: handshakes(figures) }
}

fn handshakes(figures: &TlsSummary) -> Option<Table> {
    let rows: Vec<Row> = occurring_kinds(figures)
        .map(|kind| {
            let handshakes = figures.handshakes_of(kind);
            let times = Times::of(&handshakes.time);
            let mut cells = vec![count(times.samples)];
            cells.extend([times.p50, times.p99, times.max].map(in_ms));
            cells.extend([&handshakes.sent, &handshakes.received].map(mean_size));
            Row { name: kind.to_string(), about: "", cells }
        })
        .collect();
    let head = vec!["Handshake", "count", "p50 [ms]", "p99 [ms]", "max [ms]", "sent [B]", "received [B]"];
    (!rows.is_empty()).then_some(Table { caption: "Handshakes by kind; sizes are means", head, rows })
}

fn mean_size(sizes: &SizeMoments) -> String {
    grouped(sizes.mean(), 0)
}

/// Streams and their events.
pub(super) fn streams(document: &Document) -> Option<Protocol> {
    let streams = document.summary.streams.as_deref().filter(|streams| streams.started > 0)?;
    let figures = document.figures.streams.as_ref()?;
    let facts = facts([("Streams", fates(streams)), ("Events", events(streams, figures))]);
    let table = timed_rows("Times of streams, in ms", &stream_rows(streams));
    Some(Protocol { title: "Streams", facts, table: Some(table) })
}

/// Answers of a language model.
pub(super) fn model(document: &Document) -> Option<Protocol> {
    let model = document.summary.streams.as_ref()?.model.as_deref()?;
    let figures = document.figures.streams.as_ref()?.model.as_ref()?;
    let facts = facts([
        ("Answers", answers(model)),
        ("Output tokens", output_tokens(figures)),
        (
            "Prompt tokens",
            if figures.prompt_tokens > 0 { count(figures.prompt_tokens) } else { String::new() },
        ),
        ("Goodput", goodput(&document.plan, figures).unwrap_or_default()),
        ("Finished by", names(&model.finish_reasons)),
        ("Errors told", names(&model.errors)),
    ]);
    let table = timed_rows("Times of answers, in ms", &model_rows(model));
    Some(Protocol { title: "Language model", facts, table: Some(table) })
}

/// WebSockets and their messages.
pub(super) fn websockets(document: &Document) -> Option<Protocol> {
    let websockets = document.summary.websockets.as_deref()?;
    let figures = document.figures.websockets.as_ref()?;
    let given = |is_given: bool, what: String| if is_given { what } else { String::new() };
    let facts = facts([
        ("WebSockets", websocket::fates(websockets)),
        ("Messages", websocket::messages(figures)),
        ("Pushed", given(figures.pushed > 0, websocket::pushed(figures))),
        ("Pings", given(websockets.pings > 0, websocket::pings(websockets))),
        ("Bytes", websocket::bytes(websockets)),
        ("Closed by", names(&websockets.closes)),
        ("Violations", names(&websockets.violations)),
    ]);
    let table = timed_rows("Times of WebSockets, in ms", &websocket::rows(websockets));
    Some(Protocol { title: "WebSockets", facts, table: Some(table) })
}

/// Calls of gRPC.
pub(super) fn grpc(document: &Document) -> Option<Protocol> {
    let summary = document.summary.grpc.as_deref()?;
    let figures = document.figures.grpc.as_ref()?;
    let facts = facts([
        ("Calls", rpc::fates(summary, figures)),
        ("Untold", rpc::untold(figures)),
        ("Malformed", rpc::malformed(figures)),
        ("Messages", rpc::messages(figures)),
        ("Told", names(&summary.messages)),
    ]);
    Some(Protocol { title: "gRPC", facts, table: None })
}

fn timed_rows(caption: &'static str, rows: &[TimesRow<'_>]) -> Table {
    let rows = rows.iter().filter(|row| !row.times.is_empty());
    Table {
        caption,
        head: TIMES_HEAD.to_vec(),
        rows: rows.map(|row| times_row(row.long_name, row.about, &Times::of(row.times))).collect(),
    }
}

/// Fate of streams, and compression of header fields.
pub(super) fn http2(figures: &Http2Summary) -> Protocol {
    let mean = grouped(figures.concurrent_mean().unwrap_or(0.0), 1);
    let mut facts = facts([
        ("Spoken", names(&figures.spoken)),
        ("Alt-Svc", figures.alt_svc.as_ref().map_or(String::new(), alt_svc)),
        (
            "Not reached over QUIC",
            figures.alt_svc.as_ref().map_or(String::new(), |found| names(&found.failures)),
        ),
        ("Streams", format!("{} opened", count(figures.streams))),
        ("At once on a connection", format!("{} at most, {mean} on average", count(figures.concurrent_max))),
        (
            "Not processed by the server",
            match figures.unprocessed {
                0 => String::new(),
                streams => format!("{}, {} calls retried", count(streams), count(figures.retried)),
            },
        ),
        ("Reset by the server", names(&figures.resets_received)),
        ("Reset by the generator", names(&figures.resets_sent)),
        ("GOAWAYs", names(&figures.goaways)),
        ("Connections ended because of", names(&figures.violations)),
        ("Packets", figures.quic.as_ref().map_or(String::new(), packets)),
        ("Datagrams", figures.quic.as_ref().map_or(String::new(), datagrams)),
        (
            match (figures.is_mixed(), &figures.quic) {
                (true, _) => "Bytes of frames, or of datagrams",
                (false, Some(_)) => "Bytes of datagrams",
                (false, None) => "Frames",
            },
            format!("{} B sent, {} B received", count(figures.bytes_sent), count(figures.bytes_received)),
        ),
        ("Settings of the server", figures.server_settings.map_or(String::new(), describe_settings)),
    ]);
    let rows = figures.quic.as_ref().map(transport_rows).unwrap_or_default();
    facts.extend(rows.into_iter().map(|(_, name, value)| Fact { name, value }));
    Protocol { title: figures.protocol(), facts, table: compression(figures) }
}

fn compression(figures: &Http2Summary) -> Option<Table> {
    let each = |bytes: u64| grouped(ratio(bytes as f64, figures.streams as f64), 1);
    let directions = [("requests", figures.request_headers), ("replies", figures.reply_headers)];
    let rows: Vec<Row> = directions
        .into_iter()
        .filter(|(_, headers)| headers.plain > 0)
        .map(|(name, headers)| {
            let cells =
                vec![each(headers.plain), each(headers.encoded), ratio_of(headers), count(headers.saved())];
            Row { name: name.to_owned(), about: "", cells }
        })
        .collect();
    let caption = match (figures.is_mixed(), &figures.quic) {
        (true, _) => "Compression of header fields (HPACK, QPACK)",
        (false, Some(_)) => "Compression of header fields (QPACK)",
        (false, None) => "Compression of header fields (HPACK)",
    };
    let head = vec!["Header fields of", "per stream [B]", "on the wire [B]", "ratio", "saved [B]"];
    (!rows.is_empty()).then_some(Table { caption, head, rows })
}
