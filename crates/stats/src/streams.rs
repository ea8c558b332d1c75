//! Streams: replies that arrive event by event, and those of language models among them.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::merge_fields;
use crate::{Clocks, Instant, Sizes, Tally, Timing};

/// Figures of replies that were read as event streams.
///
/// Each event of a stream is its first, ends a gap, or came together with the one before it:
/// `events = first_event.latency + gap + coalesced`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StreamSummary {
    /// Streams that began: the header blocks of their replies came.
    pub started: u64,
    /// Streams whose replies were complete.
    pub completed: u64,
    /// Streams that were cut: their connection or HTTP stream ended before the reply did, or the call was given up.
    pub cut: u64,
    /// Streams that had not ended when the run did.
    pub unfinished: u64,
    /// Those of them that had begun to bring events.
    pub unfinished_with_event: u64,
    /// Complete streams without an event.
    pub without_event: u64,
    /// Complete streams whose last bytes belong to an event that no empty line ended.
    pub within_event: u64,
    /// Events received.
    pub events: u64,
    /// Events that came together with an earlier one of their stream, in the same read.
    pub coalesced: u64,
    /// Comments received.
    pub comments: u64,
    /// Events that were larger than the limit, and cut.
    pub oversized: u64,
    /// Complete streams that could not be decompressed, so that nothing is known of their events.
    #[serde(default)]
    pub unread: u64,
    /// From the instants at which calls were due, and from the first bytes sent, to the status lines of streams.
    pub first_byte: Clocks,
    /// The same to the first events.
    pub first_event: Clocks,
    /// From one event of a stream to the next that did not come together with it.
    pub gap: Timing,
    /// Longest gap of each complete stream that has any.
    pub longest_gap: Timing,
    /// From the first event to the last one of complete streams.
    pub duration: Timing,
    /// Events of complete streams.
    pub events_per_stream: Sizes,
    /// Figures of language models, if replies are read as theirs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Box<ModelSummary>>,
}

/// Figures of language models.
///
/// A token is *told* by the usage at the end of a reply; where none is told, each event with content counts as one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ModelSummary {
    /// Complete replies that answer the prompt, streamed or whole.
    pub answers: u64,
    /// Those of them that came whole, and have neither a first token nor gaps.
    pub whole: u64,
    /// Time to first token: from the instants at which calls were due, and from the first bytes sent, to the first events
    /// with content.
    pub first_token: Clocks,
    /// Inter-token latency: from one event with content to the next that did not come together with it.
    pub token_gap: Timing,
    /// Time per output token of each streamed answer with at least two: from its first event with content to its last,
    /// divided by the tokens after the first.
    pub per_token: Timing,
    /// Answers whose tokens were told.
    pub told: u64,
    /// Answers whose events with content were counted instead.
    pub counted: u64,
    /// Tokens of prompts, as far as they were told.
    pub prompt_tokens: u64,
    /// Tokens of answers.
    pub output_tokens: u64,
    /// Tokens of each prompt that were told.
    pub prompt_sizes: Sizes,
    /// Tokens of each answer.
    pub output_sizes: Sizes,
    /// Answers by the reason why the model stopped; `none` if none was told.
    pub finish_reasons: Tally,
    /// Complete streams that were read without the event that ends them (`[DONE]`).
    pub undone: u64,
    /// Replies and events that tell of an error, by its message.
    pub errors: Tally,
    /// Events and whole replies that are not what the API says.
    pub malformed: u64,
    /// Answers that met all bounds of the goodput, if there are any.
    pub good: u64,
    /// Streams that had brought a token and not ended when the run did.
    pub unfinished_with_token: u64,
    /// Calls that were pending when the run ended and can no longer meet all bounds of the goodput.
    #[serde(default)]
    pub unfinished_missed: u64,
    /// Answers of another API, by its name.
    #[serde(default)]
    pub foreign: Tally,
}

/// News of a stream: what its next bytes brought.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamNews {
    /// Events.
    pub events: u64,
    /// Those of them that came together with an earlier one.
    pub coalesced: u64,
    /// Comments.
    pub comments: u64,
    /// Events that were larger than the limit.
    pub oversized: u64,
    /// True if the first event of the stream is among them.
    pub has_first: bool,
    /// Gap that an event ended.
    pub gap: Option<Duration>,
    /// Events with content of a model's answer.
    pub tokens: u64,
    /// True if the first event with content is among them.
    pub has_first_token: bool,
    /// Gap between events with content that one of them ended.
    pub token_gap: Option<Duration>,
    /// Events that are not what the API of models says.
    pub malformed: u64,
}

impl StreamNews {
    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events + self.comments == 0
    }
}

/// End of a stream, or of a model's reply that was not streamed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamEnd {
    /// Its fate.
    pub fate: StreamFate,
    /// True if it was read as an event stream.
    pub is_streamed: bool,
    /// True if it could not be decompressed.
    pub is_unread: bool,
    /// Instant of the first event.
    pub first_event: Option<Instant>,
    /// Events.
    pub events: u64,
    /// Those of them that came together with an earlier one.
    pub coalesced: u64,
    /// True if bytes came after the last event that belong to another.
    pub within_event: bool,
    /// Longest gap, if there is any.
    pub longest_gap: Option<Duration>,
    /// From the first event to the last one.
    pub duration: Option<Duration>,
    /// End of a model's reply.
    pub model: Option<ModelEnd>,
}

/// A stream, as a call has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCall {
    /// Instant of its first event.
    pub first_event: Option<Instant>,
    /// Events.
    pub events: u64,
    /// Those of them that came together with an earlier one.
    pub coalesced: u64,
    /// Longest gap.
    pub longest_gap: Option<Duration>,
    /// Instant of the first event with content of a model's answer.
    pub first_token: Option<Instant>,
    /// Tokens of a model's answer.
    pub output_tokens: Option<u64>,
    /// Time per output token of a model's answer.
    pub per_token: Option<Duration>,
}

/// The fate of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StreamFate {
    /// Its reply was complete.
    #[default]
    Completed,
    /// It ended before its reply was complete.
    Cut,
    /// The run ended before it did.
    Unfinished,
}

/// End of a model's reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelEnd {
    /// Events with content.
    pub pieces: u64,
    /// Instant of the first one.
    pub first: Option<Instant>,
    /// From the first event with content to the last one.
    pub span: Option<Duration>,
    /// Tokens of the prompt, if they were told.
    pub prompt_tokens: Option<u64>,
    /// Tokens of the answer, if they were told.
    pub output_tokens: Option<u64>,
    /// Reason why the model stopped.
    pub finish_reason: Option<String>,
    /// True if the event came that ends the stream, or the reply came whole.
    pub is_done: bool,
    /// True if there is text for the user.
    pub has_content: bool,
    /// Message of an error.
    pub error: Option<String>,
    /// True if a part of the reply was not what the API says.
    pub is_malformed: bool,
    /// Name of the API whose answer it is, if that is another one.
    pub foreign: Option<String>,
    /// True if the answer met all bounds of the goodput.
    pub is_good: bool,
}

impl StreamEnd {
    /// The stream as its call has it.
    #[must_use]
    pub fn call(&self) -> StreamCall {
        let model = self.model.as_ref();
        StreamCall {
            first_event: self.first_event,
            events: self.events,
            coalesced: self.coalesced,
            longest_gap: self.longest_gap,
            first_token: model.and_then(|model| model.first),
            output_tokens: model.filter(|model| model.is_answer()).map(ModelEnd::tokens),
            per_token: model.and_then(ModelEnd::per_token),
        }
    }
}

impl ModelEnd {
    /// True if it answers the prompt: it has content and an end, was read completely, and tells of no error.
    #[must_use]
    pub fn is_answer(&self) -> bool {
        let is_complete = self.has_content && (self.is_done || self.finish_reason.is_some());
        is_complete && self.error.is_none() && !self.is_malformed
    }

    /// Tokens of the answer: those told, else its events with content.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.output_tokens.unwrap_or(self.pieces)
    }

    /// Time per output token; `None` if the answer did not come in several.
    #[must_use]
    pub fn per_token(&self) -> Option<Duration> {
        let intervals = u32::try_from(self.tokens().checked_sub(1)?).ok().filter(|&count| count > 0)?;
        self.span.filter(|_| self.pieces > 1).map(|span| span / intervals)
    }
}

impl StreamSummary {
    /// Records the beginning of a stream. `at`: instant of its status line.
    pub(crate) fn start(&mut self, due: Instant, sent: Option<Instant>, at: Instant) {
        self.started += 1;
        self.first_byte.add(due, sent, at);
    }

    /// Records what came of a stream at an instant.
    pub(crate) fn add(&mut self, due: Instant, sent: Option<Instant>, at: Instant, news: &StreamNews) {
        self.events += news.events;
        self.coalesced += news.coalesced;
        self.comments += news.comments;
        self.oversized += news.oversized;
        if news.has_first {
            self.first_event.add(due, sent, at);
        }
        if let Some(gap) = news.gap {
            self.gap.add(gap);
        }
        if let Some(model) = &mut self.model {
            model.malformed += news.malformed;
            if news.has_first_token {
                model.first_token.add(due, sent, at);
            }
            if let Some(gap) = news.token_gap {
                model.token_gap.add(gap);
            }
        }
    }

    /// Records the end of a stream.
    pub(crate) fn end(&mut self, end: &StreamEnd) {
        if end.is_streamed {
            self.end_stream(end);
        }
        if let (Some(model), Some(reply)) = (&mut self.model, &end.model) {
            model.end(reply, end);
        }
    }

    fn end_stream(&mut self, end: &StreamEnd) {
        match end.fate {
            StreamFate::Completed => self.completed += 1,
            StreamFate::Cut => self.cut += 1,
            StreamFate::Unfinished => {
                self.unfinished += 1;
                self.unfinished_with_event += u64::from(end.events > 0);
            }
        }
        if end.fate != StreamFate::Completed {
            return;
        }
        self.unread += u64::from(end.is_unread);
        self.without_event += u64::from(end.events == 0 && !end.is_unread);
        self.within_event += u64::from(end.within_event);
        self.events_per_stream.add(end.events);
        if let Some(gap) = end.longest_gap {
            self.longest_gap.add(gap);
        }
        if let Some(duration) = end.duration {
            self.duration.add(duration);
        }
    }

    /// Share (0 to 1) of events that came together with an earlier one of their stream; `None` if there are no events.
    #[must_use]
    pub fn share_coalesced(&self) -> Option<f64> {
        (self.events > 0).then(|| self.coalesced as f64 / self.events as f64)
    }
}

merge_fields!(StreamSummary {
    add: started, completed, cut, unfinished, unfinished_with_event, without_event, within_event, events,
        coalesced, comments, oversized, unread, first_byte, first_event, gap, longest_gap, duration,
        events_per_stream, model;
});

impl ModelSummary {
    fn end(&mut self, reply: &ModelEnd, end: &StreamEnd) {
        if let Some(error) = &reply.error {
            self.errors.add(error.clone());
        }
        if end.fate != StreamFate::Completed {
            let is_begun = end.fate == StreamFate::Unfinished && end.is_streamed && reply.pieces > 0;
            self.unfinished_with_token += u64::from(is_begun);
            return;
        }
        // Of a stream, its events are counted.
        self.malformed += u64::from(reply.is_malformed && !end.is_streamed);
        if let Some(api) = &reply.foreign {
            self.foreign.add(api.clone());
        }
        self.undone += u64::from(end.is_streamed && !reply.is_done);
        if !reply.is_answer() {
            return;
        }
        self.answers += 1;
        self.good += u64::from(reply.is_good);
        self.whole += u64::from(!end.is_streamed);
        match reply.output_tokens {
            Some(_) => self.told += 1,
            None => self.counted += 1,
        }
        if let Some(tokens) = reply.prompt_tokens {
            self.prompt_tokens += tokens;
            self.prompt_sizes.add(tokens);
        }
        self.output_tokens += reply.tokens();
        self.output_sizes.add(reply.tokens());
        let reason = reply.finish_reason.clone().unwrap_or_else(|| "none".to_owned());
        self.finish_reasons.add(reason);
        if let Some(time) = reply.per_token() {
            self.per_token.add(time);
        }
    }
}

merge_fields!(ModelSummary {
    add: answers, whole, told, counted, prompt_tokens, output_tokens, undone, malformed, good,
        unfinished_with_token, unfinished_missed, first_token, token_gap, per_token, prompt_sizes,
        output_sizes, finish_reasons, errors, foreign;
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Merge as _;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// A stream that was due at 10, sent at 20 and begun at 30 ms, with events at these instants, of which those with the
    /// same instant came together.
    fn stream(events_ms: &[u64], model: Option<ModelEnd>) -> StreamSummary {
        let mut summary =
            StreamSummary { model: model.as_ref().map(|_| Box::default()), ..StreamSummary::default() };
        let (due, sent) = (at(10), Some(at(20)));
        summary.start(due, sent, at(30));
        let mut last = None;
        for group in events_ms.chunk_by(|a, b| a == b) {
            let gap = last.replace(group[0]).map(|last| ms(group[0] - last));
            let (is_first, events) = (gap.is_none(), group.len() as u64);
            let news = StreamNews {
                events,
                coalesced: events - 1,
                has_first: is_first,
                gap,
                has_first_token: is_first,
                token_gap: gap,
                ..StreamNews::default()
            };
            summary.add(due, sent, at(group[0]), &news);
        }
        let gaps = events_ms.windows(2).map(|pair| ms(pair[1] - pair[0]));
        summary.end(&StreamEnd {
            fate: StreamFate::Completed,
            is_streamed: true,
            is_unread: false,
            first_event: events_ms.first().map(|&first| at(first)),
            events: events_ms.len() as u64,
            coalesced: events_ms.windows(2).filter(|pair| pair[0] == pair[1]).count() as u64,
            within_event: false,
            longest_gap: gaps.max(),
            duration: events_ms.first().zip(events_ms.last()).map(|(first, last)| ms(last - first)),
            model,
        });
        summary
    }

    #[test]
    fn every_event_is_first_ends_a_gap_or_came_with_another() {
        let summary = stream(&[110, 120, 120, 120, 150, 150], None);
        assert_eq!((summary.events, summary.coalesced, summary.gap.moments.count()), (6, 3, 2));
        assert_eq!(summary.share_coalesced(), Some(0.5));
        assert_eq!(summary.first_event.latency.moments.max(), 0.1);
        assert_eq!(summary.first_event.service.moments.max(), 0.09);
        assert_eq!(summary.first_byte.latency.moments.max(), 0.02);
        assert_eq!((summary.gap.moments.max(), summary.longest_gap.moments.max()), (0.03, 0.03));
        assert_eq!((summary.duration.moments.max(), summary.events_per_stream.max()), (0.04, Some(6)));
        let none = stream(&[], None);
        assert_eq!((none.completed, none.without_event, none.share_coalesced()), (1, 1, None));
    }

    #[test]
    fn the_time_per_token_divides_by_the_tokens_after_the_first() {
        let span = Some(ms(90));
        let events = ModelEnd { pieces: 4, span, is_done: true, ..ModelEnd::default() };
        assert_eq!((events.tokens(), events.per_token()), (4, Some(ms(30))));
        let told = ModelEnd { output_tokens: Some(10), ..events.clone() };
        assert_eq!((told.tokens(), told.per_token()), (10, Some(ms(10))));
        let single = ModelEnd { pieces: 1, span: Some(ms(0)), ..events };
        assert_eq!(single.per_token(), None);
        // All tokens came in one event: no time between them is known.
        assert_eq!(ModelEnd { output_tokens: Some(10), ..single }.per_token(), None);
    }

    #[test]
    fn answers_are_complete_replies_without_an_error() {
        let done = ModelEnd {
            is_done: true,
            has_content: true,
            pieces: 2,
            span: Some(ms(10)),
            ..ModelEnd::default()
        };
        let failed = ModelEnd { error: Some("overloaded".into()), ..done.clone() };
        let stopped = ModelEnd { is_done: false, finish_reason: Some("length".into()), ..done.clone() };
        let broken = ModelEnd { is_done: false, ..done.clone() };
        let mut all = StreamSummary::default();
        for reply in [done, failed, stopped, broken] {
            all.merge(&stream(&[110, 120], Some(reply)));
        }
        let model = all.model.unwrap();
        assert_eq!((all.completed, model.answers, model.undone, model.output_tokens), (4, 2, 2, 4));
        assert_eq!((model.told, model.counted), (0, 2));
        assert_eq!(model.errors.total(), 1);
        assert_eq!(model.finish_reasons.total(), 2);
    }

    #[test]
    fn what_was_cut_counts_its_events_and_nothing_else() {
        let mut summary = StreamSummary::default();
        summary.start(at(10), None, at(30));
        let news = StreamNews { events: 2, coalesced: 1, has_first: true, ..StreamNews::default() };
        summary.add(at(10), None, at(40), &news);
        for fate in [StreamFate::Cut, StreamFate::Unfinished] {
            let duration = Some(ms(5));
            summary.end(&StreamEnd { fate, is_streamed: true, events: 2, duration, ..StreamEnd::default() });
        }
        assert_eq!((summary.completed, summary.cut, summary.unfinished, summary.events), (0, 1, 1, 2));
        assert!(summary.duration.is_empty() && summary.events_per_stream.count() == 0);
        assert!(summary.first_event.service.is_empty(), "nothing was sent by the last connection");
    }
}
