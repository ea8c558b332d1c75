//! A reply that is read as it streams in: event by event, or as what a language model answers.

use std::io::{self, Write};
use std::time::Duration;

use httperf_plan::{Goodput, Plan, StreamedReplies, Streams};
use httperf_proto::content::openai::{self, Piece, Unread};
use httperf_proto::content::sse::{Item, Parser};
use httperf_proto::content::{Content, Decoder};
use httperf_proto::grpc::Messages;
use httperf_stats::{Instant, ModelEnd, StreamEnd, StreamFate, StreamNews};

/// The form in which the body of a reply is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// Event by event.
    Events,
    /// As a whole: the reply of a model that was not asked to stream it, or an error.
    Whole {
        /// Its status is one of an error.
        is_error: bool,
    },
    /// Message by message, of gRPC.
    Messages {
        /// They have times of their own.
        are_timed: bool,
        /// They may be compressed.
        may_be_compressed: bool,
    },
}

/// The messages of a reply of gRPC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ReceivedMessages {
    pub(super) count: u64,
    /// Their bytes.
    pub(super) size: u64,
    /// Something came that is no message, or part of one.
    pub(super) is_malformed: bool,
}

/// A reply that streams in.
#[derive(Debug)]
pub(super) struct Stream {
    /// `None` once it cannot be decompressed.
    decoder: Option<Decoder<Reader>>,
    /// The bytes that have come.
    size: u64,
    /// The instant at which the server said that the answer of its model is complete.
    done_at: Option<Instant>,
    /// Its events have times of their own.
    is_timed: bool,
    /// It is the answer of a language model.
    is_of_model: bool,
    /// Its status is one of an error.
    is_error: bool,
}

/// The reader of a body, decompressed.
#[derive(Debug)]
struct Reader {
    body: Body,
    /// The instant at which the bytes at hand arrived.
    now: Instant,
    news: StreamNews,
    events: Arrivals,
    model: Option<Model>,
    /// The data of events that nobody was told of, if somebody wants to be.
    untold: Option<Vec<Box<[u8]>>>,
}

#[derive(Debug)]
enum Body {
    Events(Parser),
    Whole { bytes: Vec<u8>, size_max: usize },
    Messages { messages: Messages, size: u64 },
}

/// The instants at which events arrived.
#[derive(Clone, Copy, Debug, Default)]
struct Arrivals {
    count: u64,
    /// Those that came together with the one before.
    together: u64,
    first: Option<Instant>,
    last: Option<Instant>,
    longest_gap: Option<Duration>,
}

/// The wait that an event's arrival ended.
enum Arrival {
    /// The wait for the first one.
    First,
    /// A gap.
    Gap(Duration),
    /// Nothing: it came together with the one before it.
    Together,
}

/// The answer of a language model so far.
#[derive(Debug, Default)]
struct Model {
    /// Events with content.
    pieces: Arrivals,
    finish_reason: Option<String>,
    usage: Option<openai::Usage>,
    error: Option<String>,
    /// The instant of the event that ends the stream. What comes behind it is no part of the answer.
    done_at: Option<Instant>,
    /// A part of it could not be read.
    is_malformed: bool,
    /// It came whole, with content.
    has_whole: bool,
    /// The API whose answer it is, if that is another one.
    foreign: Option<openai::Api>,
}

impl Reading {
    /// Returns the form in which a reply is read; `None` if it is not read as a stream.
    pub(super) fn of(status: u16, content: Content, streams: &Streams) -> Option<Self> {
        let is_success = (200..300).contains(&status);
        let is_stream = match streams.read {
            StreamedReplies::All => true,
            StreamedReplies::EventStreams => content.is_event_stream,
            StreamedReplies::None => false,
        };
        if is_success && is_stream {
            return Some(Self::Events);
        }
        streams.model.map(|_| Self::Whole { is_error: !is_success })
    }

    /// Returns whether what comes has times of its own.
    pub(super) fn is_timed(self) -> bool {
        matches!(self, Self::Events | Self::Messages { are_timed: true, .. })
    }
}

impl Stream {
    /// Begins to read a body.
    pub(super) fn new(reading: Reading, content: Content, plan: &Plan) -> Self {
        let event_size = plan.limits.event_size;
        let body = match reading {
            Reading::Events => Body::Events(Parser::new(event_size)),
            Reading::Whole { .. } => Body::Whole { bytes: Vec::new(), size_max: event_size },
            Reading::Messages { may_be_compressed, .. } => {
                Body::Messages { messages: Messages::new(may_be_compressed), size: 0 }
            }
        };
        let reader = Reader {
            body,
            now: Instant::default(),
            news: StreamNews::default(),
            events: Arrivals::default(),
            model: plan.replies.streams.model.map(|_| Model::default()),
            untold: plan.watch.events.then(Vec::new),
        };
        Self {
            decoder: content.coding.and_then(|coding| Decoder::new(coding, reader).ok()),
            size: 0,
            done_at: None,
            is_timed: reading.is_timed(),
            is_of_model: plan.replies.streams.model.is_some(),
            is_error: reading == Reading::Whole { is_error: true },
        }
    }

    /// Takes the next bytes of the body, which arrived at `now`. Returns what they brought.
    pub(super) fn push(&mut self, bytes: &[u8], now: Instant) -> StreamNews {
        self.size += bytes.len() as u64;
        self.read(now, |decoder| decoder.push(bytes))
    }

    /// Returns whether some of the body is not decompressed yet.
    pub(super) fn is_behind(&self) -> bool {
        self.decoder.as_ref().is_some_and(Decoder::is_behind)
    }

    /// Decompresses some more of what arrived at `now`. Returns what that brought.
    pub(super) fn go_on(&mut self, now: Instant) -> StreamNews {
        if self.is_behind() { self.read(now, Decoder::go_on) } else { StreamNews::default() }
    }

    fn read(
        &mut self,
        now: Instant,
        read: impl FnOnce(&mut Decoder<Reader>) -> io::Result<()>,
    ) -> StreamNews {
        let Some(decoder) = &mut self.decoder else { return StreamNews::default() };
        let reader = decoder.writer();
        (reader.now, reader.news) = (now, StreamNews::default());
        // An event counts when its last byte has arrived, not when a decoder has enough to go on with.
        let read = read(decoder).and_then(|()| decoder.flush());
        let Reader { news, model, .. } = decoder.writer();
        let news = *news;
        self.done_at = model.as_ref().and_then(|model| model.done_at);
        if read.is_err() {
            self.decoder = None;
        }
        news
    }

    /// Returns whether its events have times of their own.
    pub(super) fn is_timed(&self) -> bool {
        self.is_timed
    }

    /// Returns the instant at which the server said that its answer is complete, if it has. The reply may end later.
    pub(super) fn done_at(&self) -> Option<Instant> {
        self.done_at
    }

    /// Returns the bytes of its body so far.
    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// Returns whether the server owes nothing on it at any instant: events come when there are any. The answer of a model is
    /// due until its end.
    pub(super) fn is_at_leisure(&self) -> bool {
        self.done_at.is_some() || self.is_timed && !self.is_of_model
    }

    /// Returns the instant of the first token of a model's answer.
    pub(super) fn first_token(&mut self) -> Option<Instant> {
        self.decoder.as_mut()?.writer().model.as_ref()?.pieces.first
    }

    /// Takes the data of events that nobody was told of.
    pub(super) fn take_untold(&mut self) -> Vec<Box<[u8]>> {
        let reader = self.decoder.as_mut().map(Decoder::writer);
        reader.and_then(|reader| reader.untold.as_mut()).map(std::mem::take).unwrap_or_default()
    }

    /// The messages of gRPC that have come.
    pub(super) fn messages(&mut self) -> ReceivedMessages {
        let Some(Reader { body: Body::Messages { messages, size, .. }, events, .. }) =
            self.decoder.as_mut().map(Decoder::writer)
        else {
            return ReceivedMessages::default();
        };
        let is_malformed = messages.is_malformed() || messages.is_within_message();
        ReceivedMessages { count: events.count, size: *size, is_malformed }
    }

    /// Ends it at the instant `now`. `due`: when its call was due.
    pub(super) fn end(
        mut self,
        fate: StreamFate,
        due: Instant,
        now: Instant,
        goodput: &Goodput,
    ) -> StreamEnd {
        let Some(decoder) = &mut self.decoder else {
            // It could not be decompressed: nothing is known of it but that it was there.
            let model = self.is_of_model.then(|| ModelEnd { is_malformed: true, ..ModelEnd::default() });
            let is_streamed = self.is_timed;
            return StreamEnd { fate, is_streamed, is_unread: true, model, ..StreamEnd::default() };
        };
        let reader = decoder.writer();
        let is_streamed = self.is_timed;
        let within_event = match &reader.body {
            Body::Events(parser) => parser.is_within_event(),
            Body::Whole { bytes, .. } => {
                if let (Some(model), StreamFate::Completed) = (&mut reader.model, fate) {
                    if self.is_error {
                        model.read_error(bytes);
                    } else {
                        model.read_whole(bytes, now);
                    }
                }
                false
            }
            Body::Messages { messages, .. } => messages.is_within_message(),
        };
        let events = reader.events;
        StreamEnd {
            fate,
            is_streamed,
            is_unread: false,
            first_event: events.first,
            events: events.count,
            coalesced: events.together,
            within_event,
            longest_gap: events.longest_gap,
            duration: events.span(),
            model: reader.model.take().map(|model| model.end(is_streamed, due, now, goodput)),
        }
    }
}

impl Write for Reader {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Self { body, now, news, events, model, untold } = self;
        match body {
            Body::Whole { bytes: whole, size_max } => {
                let room = *size_max - whole.len();
                whole.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Body::Messages { messages, size, .. } => messages.push(bytes, &mut |length| {
                *size += u64::from(length);
                news.events += 1;
                match events.add(*now) {
                    Arrival::First => news.has_first = true,
                    Arrival::Gap(gap) => news.gap = Some(gap),
                    Arrival::Together => news.coalesced += 1,
                }
            }),
            Body::Events(parser) => parser.push(bytes, &mut |item| match item {
                Item::Event(event) => {
                    news.events += 1;
                    news.oversized += u64::from(event.is_cut);
                    match events.add(*now) {
                        Arrival::First => news.has_first = true,
                        Arrival::Gap(gap) => news.gap = Some(gap),
                        Arrival::Together => news.coalesced += 1,
                    }
                    if let Some(model) = model {
                        model.read_event(event.data, *now, news);
                    }
                    if let Some(untold) = untold {
                        untold.push(event.data.into());
                    }
                }
                Item::Comment => news.comments += 1,
                Item::Retry(_) => {}
            }),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Arrivals {
    /// Adds an event.
    fn add(&mut self, now: Instant) -> Arrival {
        self.count += 1;
        let Some(last) = self.last.replace(now) else {
            self.first = Some(now);
            return Arrival::First;
        };
        if now == last {
            self.together += 1;
            return Arrival::Together;
        }
        let gap = now - last;
        self.longest_gap = self.longest_gap.max(Some(gap));
        Arrival::Gap(gap)
    }

    /// Returns the time from the first one to the last.
    fn span(&self) -> Option<Duration> {
        self.first.zip(self.last).map(|(first, last)| last - first)
    }
}

impl Model {
    fn read_event(&mut self, data: &[u8], now: Instant, news: &mut StreamNews) {
        if self.done_at.is_some() {
            return;
        }
        if data == openai::DONE {
            self.done_at = Some(now);
            return;
        }
        let piece = match Piece::parse(data) {
            Ok(piece) => piece,
            Err(unread) => {
                news.malformed += 1;
                self.leave(unread);
                return;
            }
        };
        if piece.has_content {
            news.tokens += 1;
            match self.pieces.add(now) {
                Arrival::First => news.has_first_token = true,
                Arrival::Gap(gap) => news.token_gap = Some(gap),
                Arrival::Together => {}
            }
        }
        self.take(piece);
    }

    fn read_whole(&mut self, body: &[u8], now: Instant) {
        if [&b"data:"[..], b"event:", b":"].iter().any(|start| body.starts_with(start)) {
            // A stream of events under another type: what it says is known, and not when it said so.
            Parser::new(body.len()).push(body, &mut |item| {
                if let Item::Event(event) = item {
                    self.read_event(event.data, now, &mut StreamNews::default());
                }
            });
            return;
        }
        // Of values on lines of their own, the first tells whose they are.
        let first = || Piece::parse(body.split(|&byte| byte == b'\n').next().unwrap_or_default());
        match Piece::parse(body).map_err(|unread| first().err().unwrap_or(unread)) {
            Ok(piece) => {
                self.has_whole = piece.has_content;
                self.take(piece);
            }
            Err(unread) => self.leave(unread),
        }
    }

    /// Reads the body of an error: what it says in the form of the API, or else its text.
    fn read_error(&mut self, body: &[u8]) {
        // It may come as an event.
        let data = body.trim_ascii().strip_prefix(b"data:").unwrap_or(body);
        let told = Piece::parse(data).ok().and_then(|piece| piece.error);
        self.error = told.or_else(|| {
            let text = String::from_utf8_lossy(body);
            let words: Vec<&str> = text.split_whitespace().collect();
            let words: String = words.join(" ").chars().take(openai::MESSAGE_SIZE).collect();
            (!words.is_empty()).then_some(words)
        });
    }

    fn leave(&mut self, unread: Unread) {
        self.is_malformed = true;
        if let Unread::Foreign(api) = unread {
            self.foreign = Some(api);
        }
    }

    fn take(&mut self, piece: Piece) {
        let Piece { has_content: _, finish_reason, usage, error } = piece;
        self.finish_reason = finish_reason.or(self.finish_reason.take());
        // Some servers repeat the usage so far with each event: the last one counts.
        self.usage = usage.map_or(self.usage, |usage| {
            let known = self.usage.and_then(|usage| usage.completion_tokens);
            Some(openai::Usage { completion_tokens: usage.completion_tokens.or(known), ..usage })
        });
        self.error = self.error.take().or(error);
    }

    fn end(self, is_streamed: bool, due: Instant, now: Instant, goodput: &Goodput) -> ModelEnd {
        let mut end = ModelEnd {
            pieces: self.pieces.count,
            first: self.pieces.first.filter(|_| is_streamed),
            span: self.pieces.span().filter(|_| is_streamed),
            prompt_tokens: self.usage.map(|usage| usage.prompt_tokens),
            output_tokens: self.usage.and_then(|usage| usage.completion_tokens),
            finish_reason: self.finish_reason,
            is_done: self.done_at.is_some() || self.has_whole,
            has_content: self.has_whole || self.pieces.count > 0,
            error: self.error,
            is_malformed: self.is_malformed,
            foreign: self.foreign.map(|api| api.to_string()),
            is_good: false,
        };
        // Whoever waits for a whole answer has its first token at its end.
        let first_token = self.pieces.first.filter(|_| is_streamed).unwrap_or(now) - due;
        end.is_good =
            end.is_answer() && !goodput.is_empty() && goodput.is_met(first_token, end.per_token(), now - due);
        end
    }
}

#[cfg(test)]
mod tests {
    use httperf_plan::ModelApi;
    use httperf_proto::content::Coding;
    use httperf_testkit::sim::{Edit, connections};

    use super::*;

    const STREAM: Content = Content { is_event_stream: true, coding: Some(Coding::Identity) };
    const MODEL: Streams = Streams {
        read: StreamedReplies::EventStreams,
        model: Some(ModelApi::OpenAi),
        goodput: Goodput { first_token: Some(ms(100)), per_token: Some(ms(20)), latency: None },
        grpc: None,
    };

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Reads pieces of a body that arrive at instants in milliseconds, of a call that was due at 0. Returns the sum of the
    /// news, the gaps in milliseconds, and the end, which comes with the last piece.
    fn read(
        streams: &Streams,
        status: u16,
        content: Content,
        pieces: &[(u64, &str)],
    ) -> (StreamNews, Vec<u64>, StreamEnd) {
        let reading = Reading::of(status, content, streams).expect("it is read");
        let plan = connections(1, 1, 1).with(|plan| {
            plan.replies.streams = *streams;
            plan.limits.event_size = 1000;
        });
        let mut stream = Stream::new(reading, content, &plan);
        let (mut all, mut gaps) = (StreamNews::default(), Vec::new());
        for &(time, piece) in pieces {
            let news = stream.push(piece.as_bytes(), at(time));
            gaps.extend(news.gap.map(|gap| gap.as_millis() as u64));
            all.events += news.events;
            all.coalesced += news.coalesced;
            all.comments += news.comments;
            all.oversized += news.oversized;
            all.malformed += news.malformed;
        }
        let now = at(pieces.last().map_or(0, |&(time, _)| time));
        let end = stream.end(StreamFate::Completed, at(0), now, &streams.goodput);
        (all, gaps, end)
    }

    #[test]
    fn an_event_arrives_with_its_last_byte() {
        let pieces = [(10, "data: a"), (15, "\n\nda"), (40, "ta: b\n"), (45, "\n"), (50, ": still here\n")];
        let (news, gaps, end) = read(&Streams::default(), 200, STREAM, &pieces);
        assert_eq!((news.events, news.coalesced, news.comments, gaps), (2, 0, 1, vec![30]));
        assert_eq!((end.duration, end.longest_gap, end.within_event), (Some(ms(30)), Some(ms(30)), false));
    }

    #[test]
    fn events_of_one_read_came_together() {
        let pieces =
            [(10, "data: a\n\ndata: b\n\n"), (20, "data: c\n\ndata: d\n\ndata: e\n\n"), (20, "data: f\n\n")];
        let (news, gaps, end) = read(&Streams::default(), 200, STREAM, &pieces);
        assert_eq!((news.events, news.coalesced, gaps, end.events), (6, 4, vec![10], 6));
    }

    #[test]
    fn only_what_is_meant_is_read_as_a_stream() {
        let other = Content { is_event_stream: false, ..STREAM };
        let all = Streams { read: StreamedReplies::All, ..Streams::default() };
        for (streams, status, content, expected) in [
            (Streams::default(), 200, STREAM, Some(Reading::Events)),
            (Streams::default(), 200, other, None),
            (Streams::default(), 500, STREAM, None),
            (all, 200, other, Some(Reading::Events)),
            (all, 404, other, None),
            (MODEL, 200, STREAM, Some(Reading::Events)),
            (MODEL, 200, other, Some(Reading::Whole { is_error: false })),
            (MODEL, 500, STREAM, Some(Reading::Whole { is_error: true })),
        ] {
            assert_eq!(Reading::of(status, content, &streams), expected, "{status} {content:?} {streams:?}");
        }
    }

    /// A stream as OpenAI sends it: a role at 50 ms, the tokens at 90, 100 and 110 ms.
    const ANSWER: [(u64, &str); 6] = [
        (50, "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n"),
        (90, "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"),
        (100, "data: {\"choices\":[{\"delta\":{\"content\":\"b\"}}]}\n\n"),
        (110, "data: {\"choices\":[{\"delta\":{\"content\":\"c\"},\"finish_reason\":\"length\"}]}\n\n"),
        (110, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5}}\n\n"),
        (110, "data: [DONE]\n\n"),
    ];

    #[test]
    fn the_first_token_is_the_first_content() {
        let (news, _, end) = read(&MODEL, 200, STREAM, &ANSWER);
        let model = end.model.unwrap();
        assert_eq!(
            (news.events, model.pieces, model.span, model.per_token()),
            (6, 3, Some(ms(20)), Some(ms(5)))
        );
        assert_eq!((model.prompt_tokens, model.output_tokens, model.is_done), (Some(7), Some(5), true));
        assert_eq!((model.finish_reason.as_deref(), model.is_good), (Some("length"), true));
    }

    #[test]
    fn an_answer_that_misses_a_bound_is_not_good() {
        for (first_token, per_token, is_good) in [(91, 6, true), (90, 6, false), (91, 5, false)] {
            let goodput =
                Goodput { first_token: Some(ms(first_token)), per_token: Some(ms(per_token)), latency: None };
            let (.., end) = read(&Streams { goodput, ..MODEL }, 200, STREAM, &ANSWER);
            assert_eq!(end.model.unwrap().is_good, is_good, "{goodput}");
        }
    }

    #[test]
    fn a_stream_that_does_not_end_as_it_should_is_no_answer() {
        let (.., end) = read(&MODEL, 200, STREAM, &ANSWER[..3]);
        assert!(!end.model.unwrap().is_answer());
        let error = [(10, "data: {\"error\":{\"message\":\"overloaded\"}}\n\ndata: [DONE]\n\n")];
        let model = read(&MODEL, 200, STREAM, &error).2.model.unwrap();
        assert_eq!((model.error.as_deref(), model.is_answer()), (Some("overloaded"), false));
        let (news, _, end) = read(&MODEL, 200, STREAM, &[(10, "data: what\n\ndata: [DONE]\n\n")]);
        assert_eq!((news.malformed, end.model.unwrap().is_answer()), (1, false));
    }

    #[test]
    fn an_answer_has_content_and_an_end() {
        let token = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
        let role = "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
        let stop = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
        let empty = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"\"}]}\n\n";
        let done = "data: [DONE]\n\n";
        for (events, is_answer) in [
            (&[token, stop, done][..], true),
            (&[token, stop], true),
            (&[token, done], true),
            (&[done], false),
            (&[role, done], false),
            (&[role, stop, done], false),
            (&[token, empty], false),
            (&[token], false),
            (&[token, "data: {\n\n", stop, done], false),
        ] {
            let pieces: Vec<(u64, &str)> = events.iter().map(|event| (10, *event)).collect();
            let model = read(&MODEL, 200, STREAM, &pieces).2.model.unwrap();
            assert_eq!((model.is_answer(), model.is_good), (is_answer, is_answer), "{events:?}");
        }
    }

    #[test]
    fn an_answer_ends_when_the_server_says_so() {
        let mut pieces = ANSWER.to_vec();
        pieces.extend([
            (900, "data: {\"choices\":[{\"delta\":{\"content\":\"d\"}}]}\n\n"),
            (990, ": still here\n\n"),
        ]);
        let model = read(&MODEL, 200, STREAM, &pieces).2.model.unwrap();
        assert_eq!((model.pieces, model.span, model.is_answer()), (3, Some(ms(20)), true));
    }

    #[test]
    fn answers_of_other_apis_are_named() {
        let event = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"}}\n\n";
        let model = read(&MODEL, 200, STREAM, &[(10, event)]).2.model.unwrap();
        assert_eq!((model.foreign.as_deref(), model.is_answer()), (Some("Anthropic's Messages"), false));
        let other = Content { is_event_stream: false, ..STREAM };
        let lines = "{\"model\":\"m\",\"response\":\"x\",\"done\":false}\n{\"model\":\"m\",\"response\":\"\",\"done\":true}\n";
        let model = read(&MODEL, 200, other, &[(10, lines)]).2.model.unwrap();
        assert_eq!((model.foreign.as_deref(), model.is_answer()), (Some("Ollama's own"), false));
    }

    #[test]
    fn a_whole_reply_has_no_first_token_and_an_end() {
        let other = Content { is_event_stream: false, ..STREAM };
        let body = r#"{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
        let (half, rest) = body.split_at(40);
        let (news, _, end) = read(&MODEL, 200, other, &[(10, half), (90, rest)]);
        assert!(news.is_empty() && !end.is_streamed);
        let model = end.model.unwrap();
        assert_eq!((model.is_answer(), model.is_good, model.tokens(), model.span), (true, true, 2, None));
        let events: String = ANSWER.iter().map(|(_, event)| *event).collect();
        let plain = read(&MODEL, 200, other, &[(10, &events)]).2;
        let model = plain.model.unwrap();
        assert_eq!((plain.is_streamed, model.is_answer(), model.tokens()), (false, true, 5));
        let broken = read(&MODEL, 200, other, &[(10, half)]).2.model.unwrap();
        assert!(broken.is_malformed && !broken.is_answer());
        let error = read(&MODEL, 503, other, &[(10, r#"{"error":{"message":"busy"}}"#)]).2.model.unwrap();
        assert_eq!((error.error.as_deref(), error.is_answer()), (Some("busy"), false));
    }

    #[test]
    fn the_body_of_an_error_is_told_in_its_own_words() {
        for (body, expected) in [
            (r#"{"error":{"message":"slow down"}}"#, Some("slow down")),
            (r#"{"code":7,"msg":"busy"}"#, Some(r#"{"code":7,"msg":"busy"}"#)),
            ("Too many\r\n  requests\n", Some("Too many requests")),
            ("data: {\"error\":{\"message\":\"slow down\"}}\n\n", Some("slow down")),
            ("", None),
        ] {
            let model = read(&MODEL, 429, STREAM, &[(10, body)]).2.model.unwrap();
            assert_eq!((model.error.as_deref(), model.is_malformed), (expected, false), "{body}");
        }
    }

    #[test]
    fn what_cannot_be_decompressed_is_left_alone() {
        let gzip = Content { is_event_stream: true, coding: Some(Coding::Gzip) };
        let unknown = Content { is_event_stream: true, coding: None };
        for content in [gzip, unknown] {
            let (news, _, end) =
                read(&Streams::default(), 200, content, &[(10, "data: a\n\n"), (20, "data: b\n\n")]);
            assert!(news.is_empty() && end.is_streamed && end.events == 0);
            let (_, _, end) = read(&MODEL, 200, Content { is_event_stream: false, ..content }, &[(10, "{}")]);
            assert!(!end.is_streamed && end.model.is_some_and(|model| !model.is_answer()));
        }
    }

    #[test]
    fn long_events_and_bodies_are_read_in_part() {
        let long = format!("data: {}\n\n", "x".repeat(5000));
        assert_eq!(read(&Streams::default(), 200, STREAM, &[(10, &long)]).0.oversized, 1);
        let other = Content { is_event_stream: false, ..STREAM };
        assert!(!read(&MODEL, 200, other, &[(10, &long), (20, &long)]).2.model.unwrap().is_answer());
    }
}
