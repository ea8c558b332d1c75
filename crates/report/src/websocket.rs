//! WebSockets: derived figures, the section of the report, and lines of the answer.

use httperf_stats::{Summary, WebSocketSummary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figures::Times;
use crate::number::{count, grouped, per_second, percent, ratio};
use crate::result::Document;
use crate::section::{Section, TimesRow};
use crate::streams::percentiles;

/// Figures of WebSockets. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebSocketFigures {
    /// WebSockets that were opened.
    pub opened: u64,
    /// Requests that were answered without opening one.
    pub refused: u64,
    /// WebSockets that both sides closed.
    pub closed: u64,
    /// WebSockets that ended without a close.
    pub cut: u64,
    /// WebSockets that were open when the run ended.
    pub unfinished: u64,
    /// From the instants at which calls were due to the opening.
    pub opening_ms: Times,
    /// Messages sent.
    pub sent: u64,
    /// Messages sent per second of the run.
    pub sent_rate: f64,
    /// Messages that were answered.
    pub answered: u64,
    /// Messages whose WebSocket ended before they were answered.
    pub unanswered: u64,
    /// Messages that had not been answered when the run ended.
    pub outstanding: u64,
    /// From the instants at which messages were due to their answers.
    pub round_trip_ms: Times,
    /// From the instants at which messages were sent to their answers.
    pub round_trip_service_ms: Times,
    /// Messages received.
    pub received: u64,
    /// Messages received in the measured phase, per second.
    pub received_rate: f64,
    /// Messages that the server pushed: that answered none.
    pub pushed: u64,
    /// Share (0 to 1) of pushed messages that came together with an earlier one; `None` if none was pushed.
    pub coalesced_share: Option<f64>,
    /// From one message that was pushed to the next that did not come together with it.
    pub gap_ms: Times,
    /// From pings to their pongs.
    pub ping_ms: Times,
}

impl WebSocketFigures {
    /// Figures of a run; `None` if calls opened no WebSockets.
    #[must_use]
    pub fn of(summary: &Summary) -> Option<Self> {
        let websockets = summary.websockets.as_deref()?;
        let received_rate = summary.throughput().messages;
        Some(Self {
            opened: websockets.opened,
            refused: websockets.refused,
            closed: websockets.closed,
            cut: websockets.cut,
            unfinished: websockets.unfinished,
            opening_ms: Times::of(&websockets.opening.latency),
            sent: websockets.sent,
            sent_rate: ratio(websockets.sent as f64, summary.duration.as_secs_f64()),
            answered: websockets.answered,
            unanswered: websockets.unanswered,
            outstanding: websockets.outstanding(),
            round_trip_ms: Times::of(&websockets.round_trip.latency),
            round_trip_service_ms: Times::of(&websockets.round_trip.service),
            received: websockets.received,
            received_rate,
            pushed: websockets.pushed,
            coalesced_share: websockets.share_coalesced(),
            gap_ms: Times::of(&websockets.gap),
            ping_ms: Times::of(&websockets.ping),
        })
    }
}

/// WebSockets and their messages; `None` if calls opened none.
pub(crate) fn websockets(document: &Document) -> Option<Section<'_>> {
    let websockets = document.summary.websockets.as_deref()?;
    let figures = document.figures.websockets.as_ref()?;
    let rows = [
        TimesRow::new("opening", "opening", "due to the server's agreement", figures.opening_ms),
        TimesRow::new("round trip", "round trip", "message due to its answer", figures.round_trip_ms),
        TimesRow::new(
            "  from sending",
            "round trip from sending",
            "message sent to its answer",
            figures.round_trip_service_ms,
        ),
        TimesRow::new(
            "first push",
            "first push",
            "opening to the first message that was pushed",
            Times::of(&websockets.first_push),
        ),
        TimesRow::new("gap", "gap", "pushed message to the next that did not come with it", figures.gap_ms),
        TimesRow::new("ping", "ping", "ping to pong", figures.ping_ms),
        TimesRow::new(
            "open for",
            "open for",
            "opening to the end of those that were closed",
            Times::of(&websockets.duration),
        ),
    ];
    let section = Section::new("websockets", "WebSockets").begin_with_times().times("WebSockets", rows);
    let section = section
        .line(("websockets", "WebSockets"), fates(websockets))
        .line("messages", messages(figures))
        .line("pushed", (websockets.pushed > 0).then(|| pushed(figures)))
        .line("pings", (websockets.pings > 0).then(|| pings(websockets)))
        .line("bytes", bytes(websockets))
        .counts("closed by", &websockets.closes)
        .reasons("refused with", &websockets.refusals)
        .reasons("violations", &websockets.violations);
    Some(section)
}

/// The fates of WebSockets, in a line.
fn fates(websockets: &WebSocketSummary) -> String {
    let mut parts = vec![format!("{} opened", count(websockets.opened))];
    for (number, what) in [
        (websockets.closed, "closed"),
        (websockets.cut, "cut"),
        (websockets.unfinished, "open when the run ended"),
        (websockets.refused, "refused"),
        (websockets.compressed, "with compression"),
    ] {
        if number > 0 {
            parts.push(format!("{} {what}", count(number)));
        }
    }
    parts.join(", ")
}

/// Messages in a line.
fn messages(figures: &WebSocketFigures) -> String {
    let mut parts = vec![
        format!("{} sent ({})", count(figures.sent), per_second(figures.sent_rate)),
        format!("{} received ({})", count(figures.received), per_second(figures.received_rate)),
    ];
    for (number, what) in [
        (figures.answered, "answered"),
        (figures.unanswered, "never answered"),
        (figures.outstanding, "not answered when the run ended"),
    ] {
        if number > 0 {
            parts.push(format!("{} {what}", count(number)));
        }
    }
    parts.join(", ")
}

/// Messages that were pushed, in a line.
fn pushed(figures: &WebSocketFigures) -> String {
    let share = figures.coalesced_share.filter(|&share| share > 0.0);
    let coalesced = share
        .map_or_else(String::new, |share| format!(", {} came together with the one before", percent(share)));
    format!("{} messages that answered none{coalesced}", count(figures.pushed))
}

/// Pings in a line.
fn pings(websockets: &WebSocketSummary) -> String {
    format!("{} sent, {} answered", count(websockets.pings), count(websockets.ping.moments.count()))
}

/// Bytes in a line: those of messages, and those on the wire.
fn bytes(websockets: &WebSocketSummary) -> String {
    let WebSocketSummary { sent_bytes, received_bytes, wire_sent_bytes, wire_received_bytes, .. } =
        websockets;
    let each = |payload: u64, wire: u64| {
        format!("{} B in {} B of frames", grouped(payload as f64, 0), grouped(wire as f64, 0))
    };
    format!(
        "{} sent, {} received",
        each(*sent_bytes, *wire_sent_bytes),
        each(*received_bytes, *wire_received_bytes)
    )
}

/// Lines of the answer: a name and what there is to say.
pub(crate) fn answer_lines(figures: &WebSocketFigures) -> Vec<(&'static str, String)> {
    let named = |names: &[(&str, &Times)]| {
        let known = names.iter().filter_map(|(name, times)| Some(format!("{name} {}", percentiles(times)?)));
        known.collect::<Vec<_>>().join("; ")
    };
    let mut lines = vec![
        ("round trip", percentiles(&figures.round_trip_ms).unwrap_or_default()),
        ("pushed", named(&[("gap", &figures.gap_ms)])),
        ("ping", percentiles(&figures.ping_ms).unwrap_or_default()),
    ];
    let mut wrong = Vec::new();
    let of_opened = |number: u64| format!("{} of {}", count(number), count(figures.opened));
    if figures.cut > 0 {
        wrong.push(format!("{} WebSockets ended without a close", of_opened(figures.cut)));
    }
    if figures.unanswered > 0 {
        wrong.push(format!("{} messages were never answered", count(figures.unanswered)));
    }
    if figures.outstanding > 0 {
        wrong.push(format!("{} were not when the run ended", count(figures.outstanding)));
    }
    lines.push(("", wrong.join("; ")));
    lines.retain(|(_, what)| !what.is_empty());
    lines
}
