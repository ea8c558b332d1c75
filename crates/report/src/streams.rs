//! Streams and answers of language models: derived figures, the section of the report, and lines of the answer.

use std::fmt::{self, Display};

use httperf_plan::Plan;
use httperf_stats::{ModelSummary, StreamSummary, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::errors::ErrorFigures;
use crate::figures::Times;
use crate::number::{count, per_second, percent, ratio, rounded, time};
use crate::result::Document;
use crate::section::{Section, TimesRow};

/// Figures of replies that were read as event streams. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamFigures {
    /// Streams that began.
    pub started: u64,
    /// Streams whose replies were complete.
    pub completed: u64,
    /// Streams that ended before their replies were complete.
    pub cut: u64,
    /// Streams that had not ended when the run did.
    pub unfinished: u64,
    /// Events received.
    pub events: u64,
    /// Events received in the measured phase, per second.
    pub event_rate: f64,
    /// Events that came together with an earlier one of their stream.
    pub coalesced: u64,
    /// Share (0 to 1) of events that came together with an earlier one of their stream; `None` if there are no events.
    pub coalesced_share: Option<f64>,
    /// From the instants at which calls were due to the first bytes of streams.
    pub first_byte_ms: Times,
    /// From the instants at which calls were due to the first events.
    pub first_event_ms: Times,
    /// From the first bytes sent to the first events.
    pub first_event_service_ms: Times,
    /// From one event to the next that did not come together with it.
    pub gap_ms: Times,
    /// Longest gap of each complete stream.
    pub longest_gap_ms: Times,
    /// From the first event to the last one of complete streams.
    pub duration_ms: Times,
    /// Median number of events of a complete stream, to 3 significant digits.
    pub events_per_stream_median: Option<u64>,
    /// Figures of language models, if replies are read as theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelFigures>,
}

/// Figures of the answers of language models. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelFigures {
    /// Complete replies that answer the prompt.
    pub answers: u64,
    /// Time to first token, from the instants at which calls were due.
    pub ttft_ms: Times,
    /// Time to first token, from the first bytes sent.
    pub ttft_service_ms: Times,
    /// Inter-token latency: from one event with content to the next that did not come together with it.
    pub itl_ms: Times,
    /// Time per output token of each streamed answer.
    pub tpot_ms: Times,
    /// Tokens of prompts, as far as they were told.
    pub prompt_tokens: u64,
    /// Tokens of answers.
    pub output_tokens: u64,
    /// Tokens of answers that became complete in the measured phase, per second.
    pub output_token_rate: f64,
    /// Tokens per second that a user sees: one divided by the median time per output token.
    pub token_rate_per_user: Option<f64>,
    /// Events and whole replies that could not be read.
    #[serde(default)]
    pub unread: u64,
    /// Most frequent other API whose answers came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other_api: Option<String>,
    /// Source of the numbers of tokens.
    pub tokens_from: TokensFrom,
    /// Answers that met all bounds of the goodput; `None` without bounds.
    pub good: Option<u64>,
    /// Share (0 to 1) of the calls that were due whose answers met all bounds of the goodput; `None` without bounds.
    pub goodput_share: Option<f64>,
    /// Answers that met all bounds of the goodput per second of the measured phase; `None` without bounds.
    pub goodput_rate: Option<f64>,
}

/// Source of the numbers of tokens in answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TokensFrom {
    /// The usage that the server told.
    Usage,
    /// The number of events with content.
    Events,
    /// The usage of some answers, and the events of others.
    Both,
}

impl TokensFrom {
    fn of(model: &ModelSummary) -> Self {
        match (model.told, model.counted) {
            (_, 0) => Self::Usage,
            (0, _) => Self::Events,
            (_, _) => Self::Both,
        }
    }
}

impl Display for TokensFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Usage => "as the server told",
            Self::Events => "events with content, as the server told no usage",
            Self::Both => "as the server told, or events with content where it told no usage",
        })
    }
}

impl StreamFigures {
    /// Figures of a run; `None` if there were no streams and no model's replies.
    #[must_use]
    pub fn of(plan: &Plan, summary: &Summary) -> Option<Self> {
        let streams = summary.streams.as_deref()?;
        let throughput = summary.throughput();
        Some(Self {
            started: streams.started,
            completed: streams.completed,
            cut: streams.cut,
            unfinished: streams.unfinished,
            events: streams.events,
            event_rate: throughput.events,
            coalesced: streams.coalesced,
            coalesced_share: streams.share_coalesced(),
            first_byte_ms: Times::of(&streams.first_byte.latency),
            first_event_ms: Times::of(&streams.first_event.latency),
            first_event_service_ms: Times::of(&streams.first_event.service),
            gap_ms: Times::of(&streams.gap),
            longest_gap_ms: Times::of(&streams.longest_gap),
            duration_ms: Times::of(&streams.duration),
            events_per_stream_median: streams.events_per_stream.median(),
            model: streams.model.as_deref().map(|model| ModelFigures::of(plan, summary, model)),
        })
    }
}

impl ModelFigures {
    fn of(plan: &Plan, summary: &Summary, model: &ModelSummary) -> Self {
        let throughput = summary.throughput();
        let seconds = summary.duration.as_secs_f64();
        let good = (!plan.replies.streams.goodput.is_empty()).then_some(model.good);
        let due = ErrorFigures::of(summary).due;
        let tpot_ms = Times::of(&model.per_token);
        Self {
            answers: model.answers,
            ttft_ms: Times::of(&model.first_token.latency),
            ttft_service_ms: Times::of(&model.first_token.service),
            itl_ms: Times::of(&model.token_gap),
            tpot_ms,
            prompt_tokens: model.prompt_tokens,
            output_tokens: model.output_tokens,
            output_token_rate: throughput.output_tokens,
            token_rate_per_user: tpot_ms.p50.filter(|&ms| ms > 0.0).map(|ms| rounded(1000.0 / ms)),
            unread: model.malformed,
            other_api: model.foreign.by_frequency().first().map(|(api, _)| (*api).to_owned()),
            tokens_from: TokensFrom::of(model),
            good,
            goodput_share: good.filter(|_| due > 0).map(|good| ratio(good as f64, due as f64)),
            goodput_rate: good.filter(|_| seconds > 0.0).map(|good| good as f64 / seconds),
        }
    }
}

/// Streams and their events; `None` if there were none.
pub(crate) fn streams(document: &Document) -> Option<Section<'_>> {
    let streams = document.summary.streams.as_deref().filter(|streams| streams.started > 0)?;
    let figures = document.figures.streams.as_ref()?;
    let rows = [
        TimesRow::new("first byte", "first byte", "due to status line", figures.first_byte_ms),
        TimesRow::new("first event", "first event", "due to first event", figures.first_event_ms),
        TimesRow::new(
            "  from sending",
            "first event from sending",
            "first byte sent to first event",
            figures.first_event_service_ms,
        ),
        TimesRow::new("gap", "gap", "event to the next that did not come with it", figures.gap_ms),
        TimesRow::new("longest gap", "longest gap", "of each complete stream", figures.longest_gap_ms),
        TimesRow::new("first to last", "first to last", "first event to the last one", figures.duration_ms),
    ];
    let section = Section::new("streams", "Streams").begin_with_times().times("Streams", rows);
    Some(section.line("streams", fates(streams)).line("events", events(streams, figures)))
}

/// Answers of a language model; `None` if replies are not read as such.
pub(crate) fn model(document: &Document) -> Option<Section<'_>> {
    let model = document.summary.streams.as_ref()?.model.as_deref()?;
    let figures = document.figures.streams.as_ref()?.model.as_ref()?;
    let rows = [
        TimesRow::new("TTFT", "time to first token (TTFT)", "due to first token", figures.ttft_ms),
        TimesRow::new(
            "  from sending",
            "TTFT from sending",
            "first byte sent to first token",
            figures.ttft_service_ms,
        ),
        TimesRow::new(
            "ITL",
            "inter-token latency (ITL)",
            "token to the next that did not come with it",
            figures.itl_ms,
        ),
        TimesRow::new(
            "TPOT",
            "time per output token (TPOT)",
            "first to last token, by the tokens after the first",
            figures.tpot_ms,
        ),
    ];
    let prompt_tokens = (figures.prompt_tokens > 0).then(|| count(figures.prompt_tokens));
    let section = Section::new("model", "Language model").begin_with_times().times("Model", rows);
    let section = section
        .line("answers", answers(model))
        .line("output tokens", output_tokens(figures))
        .line("prompt tokens", prompt_tokens)
        .line("goodput", goodput(&document.plan, figures))
        .counts("finished by", &model.finish_reasons)
        .counts("other APIs", &model.foreign)
        .reasons("errors told", &model.errors);
    Some(section)
}

/// The fates of streams, in a line.
fn fates(streams: &StreamSummary) -> String {
    let mut parts = vec![format!("{} complete", count(streams.completed))];
    for (number, what) in [
        (streams.cut, "cut"),
        (streams.unfinished, "open when the run ended"),
        (streams.unread, "complete but not to be decompressed"),
        (streams.without_event, "complete without an event"),
        (streams.within_event, "ended within an event"),
    ] {
        if number > 0 {
            parts.push(format!("{} {what}", count(number)));
        }
    }
    parts.join(", ")
}

/// Events in a line.
fn events(streams: &StreamSummary, figures: &StreamFigures) -> String {
    let mut parts = vec![format!("{} ({})", count(streams.events), per_second(figures.event_rate))];
    if let Some(median) = figures.events_per_stream_median {
        parts.push(format!("{} in a stream (median)", count(median)));
    }
    if let Some(share) = figures.coalesced_share.filter(|_| streams.coalesced > 0) {
        parts.push(format!("{} came together with the one before", percent(share)));
    }
    for (number, one, many) in
        [(streams.comments, "comment", "comments"), (streams.oversized, "too large", "too large")]
    {
        if number > 0 {
            parts.push(format!("{} {}", count(number), if number == 1 { one } else { many }));
        }
    }
    parts.join(", ")
}

/// Answers in a line.
fn answers(model: &ModelSummary) -> String {
    let mut parts = vec![format!("{} complete", count(model.answers))];
    for (number, what) in [
        (model.whole, "not streamed"),
        (model.undone, "without [DONE]"),
        (model.malformed, "events or replies that are not of this API"),
    ] {
        if number > 0 {
            parts.push(format!("{} {what}", count(number)));
        }
    }
    parts.join(", ")
}

/// Tokens of answers in a line.
fn output_tokens(figures: &ModelFigures) -> String {
    let per_user = figures
        .token_rate_per_user
        .map_or_else(String::new, |rate| format!(", {} for each user", per_second(rate)));
    format!(
        "{} ({} of the server{per_user}), {}",
        count(figures.output_tokens),
        per_second(figures.output_token_rate),
        figures.tokens_from
    )
}

/// Goodput in a line; `None` without bounds.
fn goodput(plan: &Plan, figures: &ModelFigures) -> Option<String> {
    let (share, rate) = (figures.goodput_share?, figures.goodput_rate?);
    let bounds = plan.replies.streams.goodput;
    Some(format!("{}, {} of the calls that were due, met {bounds}", per_second(rate), percent(share)))
}

/// Median and 99th percentile in a few words; `None` if neither is known.
pub(crate) fn percentiles(times: &Times) -> Option<String> {
    let known = [("p50", times.p50), ("p99", times.p99)];
    let known: Vec<String> =
        known.into_iter().filter_map(|(name, ms)| Some(format!("{} ({name})", time(ms?)))).collect();
    (!known.is_empty()).then(|| known.join(", "))
}

/// Sentence on the parts of a model's answers that could not be read; `None` if there are none.
pub(crate) fn unread(model: &ModelFigures) -> Option<String> {
    match (&model.other_api, model.unread) {
        (Some(api), _) => Some(format!(
            "the server speaks {api} API; the answers that are read are those of OpenAI's chat and completions"
        )),
        (None, 0) => None,
        (None, 1) => Some("1 event or reply could not be read".to_owned()),
        (None, events) => Some(format!("{} events or replies could not be read", count(events))),
    }
}

/// Streams that were open when the run ended, and are not answers of a model: nothing says that they ever end.
pub(crate) fn open_streams(summary: &Summary) -> u64 {
    summary
        .streams
        .as_deref()
        .filter(|streams| streams.model.is_none())
        .map_or(0, |streams| streams.unfinished)
}

/// Lines of the answer: a name and what there is to say.
pub(crate) fn answer_lines(figures: &StreamFigures) -> Vec<(&'static str, String)> {
    let named = |names: &[(&str, &Times)]| {
        let known = names.iter().filter_map(|(name, times)| Some(format!("{name} {}", percentiles(times)?)));
        known.collect::<Vec<_>>().join("; ")
    };
    let mut lines = Vec::new();
    match &figures.model {
        Some(model) => {
            lines.push(("tokens", named(&[("TTFT", &model.ttft_ms), ("TPOT", &model.tpot_ms)])));
            let goodput = model.goodput_rate.zip(model.goodput_share);
            let goodput = goodput.map(|(rate, share)| {
                format!("goodput {}, {} of the calls that were due", per_second(rate), percent(share))
            });
            let rate = (model.output_tokens > 0).then(|| {
                format!("{} tokens out, {}", count(model.output_tokens), per_second(model.output_token_rate))
            });
            lines.push(("", rate.into_iter().chain(goodput).collect::<Vec<_>>().join("; ")));
        }
        None if figures.started > 0 => {
            lines.push(("events", named(&[("first", &figures.first_event_ms), ("gap", &figures.gap_ms)])));
            if figures.events == 0 && figures.unfinished > 0 {
                lines.push(("events", "none".to_owned()));
            }
        }
        None => {}
    }
    let cut = ratio(figures.cut as f64, figures.started as f64);
    if figures.cut > 0 {
        let what = format!(
            "{} of {} streams were cut ({})",
            count(figures.cut),
            count(figures.started),
            percent(cut)
        );
        lines.push(("", what));
    }
    lines.retain(|(_, what)| !what.is_empty());
    lines
}
