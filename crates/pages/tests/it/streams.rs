//! The sections on streams and language models, and objectives on their times.

use std::time::Duration;

use httperf_plan::objective::Objective;
use httperf_plan::{Goodput, ModelApi, Plan, Streams};
use httperf_report::{Kept, Measured, judge};
use httperf_stats::{
    End, Instant, ModelEnd, RecordedFigures, Recorder, Sample, StreamEnd, StreamFate, StreamNews, Summary,
};
use httperf_testkit::sim::{Edit, connections};

use crate::documents;

fn sections(plan: &Plan, summary: &Summary) -> String {
    documents::sections(&["streams", "model"], plan, summary)
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A call that was due at 0, sent at 1 ms, and ends at `done`, with a reply or without.
fn call(status: Option<u16>, done: Instant) -> Sample<'static> {
    Sample {
        call: 0,
        uri: b"/",
        status,
        intended: at(0),
        sent: Some(at(1)),
        stalled: Duration::ZERO,
        first_byte: status.map(|_| at(2)),
        done,
        header_size: 100,
        content_size: 900,
        footer_size: 2,
        decoded_size: None,
        mismatch: None,
        carrier: None,
        receive_lag: None,
        kernel: None,
        step: None,
        recorded: None,
        stream: None,
        rpc: None,
        expected: false,
    }
}

/// A stream that sends its first event at `first` and three more, every 10 ms, of which the last came together with the one
/// before.
fn stream(recorder: &mut Recorder, first: u64, fate: StreamFate, model: Option<ModelEnd>) {
    let (due, sent) = (at(0), Some(at(1)));
    recorder.stream_started(due, sent, at(2));
    let has_model = model.is_some();
    let begin =
        StreamNews { events: 1, has_first: true, has_first_token: has_model, ..StreamNews::default() };
    recorder.stream_news(due, sent, at(first), &begin);
    for (number, events) in [(1, 1), (2, 2)] {
        let gap = Some(ms(10));
        let news = StreamNews {
            events,
            coalesced: events - 1,
            comments: 1,
            gap,
            token_gap: gap.filter(|_| has_model),
            ..StreamNews::default()
        };
        recorder.stream_news(due, sent, at(first + 10 * number), &news);
    }
    recorder.stream_ended(
        due,
        &StreamEnd {
            fate,
            is_streamed: true,
            events: 4,
            longest_gap: Some(ms(10)),
            duration: Some(ms(20)),
            model,
            ..StreamEnd::default()
        },
    );
    let done = at(first + 20);
    match fate {
        StreamFate::Completed => recorder.record(&call(Some(200), done), None),
        StreamFate::Cut => recorder.record(&call(None, done), None),
        StreamFate::Unfinished => recorder.unfinished(due, done),
    }
}

fn finish(recorder: Recorder) -> Summary {
    recorder.finish(End { at: at(10_000), duration: Duration::from_secs(10), ..End::default() })
}

/// Two hundred streams of events, five that are cut, and three that do not end.
fn events() -> Summary {
    let mut recorder = Recorder::new(at(0), at(0), RecordedFigures::USUAL);
    for number in 0..200 {
        stream(&mut recorder, 100 + number, StreamFate::Completed, None);
    }
    (0..5).for_each(|_| stream(&mut recorder, 400, StreamFate::Cut, None));
    (0..3).for_each(|_| stream(&mut recorder, 500, StreamFate::Unfinished, None));
    finish(recorder)
}

fn answer(reason: &str, tokens: Option<u64>) -> ModelEnd {
    ModelEnd {
        pieces: 4,
        span: Some(ms(20)),
        prompt_tokens: tokens.map(|_| 7),
        output_tokens: tokens,
        finish_reason: Some(reason.to_owned()),
        is_done: true,
        has_content: true,
        is_good: reason == "stop",
        ..ModelEnd::default()
    }
}

fn of_a_model() -> (Plan, Summary) {
    let goodput: Goodput = "ttft<250ms,tpot<50ms".parse().expect("it is one");
    let plan = connections(200, 1, 1).with(|plan| {
        plan.replies.streams = Streams { model: Some(ModelApi::OpenAi), goodput, ..Streams::default() };
    });
    let figures = RecordedFigures { models: true, ..RecordedFigures::USUAL };
    let mut recorder = Recorder::new(at(0), at(0), figures);
    for number in 0..150 {
        let told = (number % 2 == 0).then_some(8);
        stream(&mut recorder, 100 + number, StreamFate::Completed, Some(answer("stop", told)));
    }
    for number in 0..30 {
        stream(&mut recorder, 300 + number, StreamFate::Completed, Some(answer("length", Some(8))));
    }
    let broken = ModelEnd { error: Some("the engine is dead".to_owned()), ..ModelEnd::default() };
    stream(&mut recorder, 300, StreamFate::Completed, Some(broken));
    stream(&mut recorder, 300, StreamFate::Cut, Some(ModelEnd::default()));
    (plan, finish(recorder))
}

#[test]
fn the_section_on_streams() {
    insta::assert_snapshot!(sections(&connections(1, 1, 1), &events()));
}

#[test]
fn the_sections_on_a_language_model() {
    let (plan, summary) = of_a_model();
    insta::assert_snapshot!(sections(&plan, &summary));
}

#[test]
fn a_run_without_streams_has_no_section() {
    let recorder = Recorder::new(at(0), at(0), RecordedFigures::USUAL);
    assert_eq!(sections(&connections(1, 1, 1), &finish(recorder)), "");
}

#[track_caller]
fn check(summary: &Summary, objective: &str, measured: Measured, outcome: Kept) {
    let objective: Objective = objective.parse().expect("it is one");
    let [judged] = &judge(&[objective], summary)[..] else { panic!("one objective has one outcome") };
    match (judged.measured, measured) {
        (Measured::Figure(found), Measured::Figure(expected)) => {
            assert!((found - expected).abs() <= expected * 2e-3, "{objective}: {found}");
        }
        (found, expected) => assert_eq!(found, expected, "{objective}"),
    }
    assert_eq!(judged.outcome, outcome, "{objective}: {judged:?}");
}

#[test]
fn a_stream_that_was_cut_has_the_first_event_that_it_had() {
    let summary = events();
    // 208 streams have a first event: from 100 to 299 ms, five at 400 and three at 500.
    check(&summary, "first.p50<250ms", Measured::Figure(0.203), Kept::Met);
    check(&summary, "first.p99<450ms", Measured::Figure(0.5), Kept::Missed);
    check(&summary, "gap.p99<20ms", Measured::Figure(0.01), Kept::Met);
    check(&summary, "ttft.p99<20ms", Measured::Nothing, Kept::Unknown);
}

#[test]
fn a_call_without_its_first_event_waits_longer_than_any_other() {
    let mut recorder = Recorder::new(at(0), at(0), RecordedFigures::USUAL);
    for number in 0..100 {
        stream(&mut recorder, 100 + number, StreamFate::Completed, None);
    }
    // One that failed before it became a stream, one that was complete without an event, and one that still waits.
    recorder.record(&call(None, at(50)), None);
    recorder.stream_started(at(0), Some(at(1)), at(2));
    recorder.stream_ended(at(0), &StreamEnd { is_streamed: true, ..StreamEnd::default() });
    recorder.record(&call(Some(200), at(60)), None);
    recorder.unfinished(at(0), at(3000));
    let summary = finish(recorder);
    check(&summary, "first.p99<1s", Measured::Endless, Kept::Missed);
    check(&summary, "first.p97<1s", Measured::Figure(0.199), Kept::Met);
    // The one that still waits may be quicker than this.
    check(&summary, "first.p98<10s", Measured::Figure(0.199), Kept::Met);
}

#[test]
fn pending_answers_are_not_good_and_leave_open_what_they_could_decide() {
    // Of ten answers that were due, eight are good and two are pending; `missed` of these have missed a bound.
    let of = |missed: usize| {
        let figures = RecordedFigures { models: true, ..RecordedFigures::USUAL };
        let mut recorder = Recorder::new(at(0), at(0), figures);
        (0..8).for_each(|_| stream(&mut recorder, 100, StreamFate::Completed, Some(answer("stop", None))));
        for number in 0..2 {
            recorder.answer_pending(at(0), number < missed);
            recorder.unfinished(at(0), at(600));
        }
        finish(recorder)
    };
    for (missed, objective, outcome) in [
        (2, "goodput>70%", Kept::Met),
        (2, "goodput>90%", Kept::Missed),
        (0, "goodput>70%", Kept::Met),
        (0, "goodput>90%", Kept::Unknown),
        (1, "goodput>95%", Kept::Missed),
        (1, "goodput>85%", Kept::Unknown),
    ] {
        check(&of(missed), objective, Measured::Figure(0.8), outcome);
    }
}

#[test]
fn answers_are_judged_by_their_tokens_and_by_goodput() {
    let (_, summary) = of_a_model();
    // 182 calls ended, of which 150 were good. Both streams without an answer had a first token.
    check(&summary, "goodput>80%", Measured::Figure(150.0 / 182.0), Kept::Met);
    check(&summary, "goodput>90%", Measured::Figure(150.0 / 182.0), Kept::Missed);
    check(&summary, "ttft.p50<200ms", Measured::Figure(0.190), Kept::Met);
    // 75 answers of 4 events in 20 ms, and 105 of 8 tokens.
    check(&summary, "tpot.p50<10ms", Measured::Figure(0.002_857), Kept::Met);
    check(&summary, "tpot.p99<10ms", Measured::Figure(0.006_667), Kept::Met);
    check(&summary, "itl.max<20ms", Measured::Figure(0.01), Kept::Met);
}
