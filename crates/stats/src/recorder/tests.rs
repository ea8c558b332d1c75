use super::*;
use crate::merge::Merge;
use crate::{
    CauseKind, Certificate, Compressed, EarlyRequests, Fate, Handshake, HandshakeFailure,
    HandshakeFailureClass, HandshakeKind, Mismatch, Mismatches, StreamCounts, StreamEnd, StreamNews, Timing,
    VisitCounts, WebSocketEnd,
};

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn reply(status: u16) -> Sample<'static> {
    Sample {
        call: 0,
        uri: b"/",
        status: Some(status),
        intended: at(0),
        sent: Some(at(1)),
        stalled: Duration::ZERO,
        first_byte: Some(at(1)),
        done: at(3),
        header_size: 38,
        content_size: 5,
        footer_size: 0,
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

fn recorder(figures: RecordedFigures) -> Recorder {
    Recorder::new(at(0), at(0), figures)
}

fn end(recorder: Recorder) -> Summary {
    recorder.finish(End { at: at(1000), duration: Duration::from_secs(1), ..End::default() })
}

#[test]
fn the_last_connect_burst_never_counts() {
    for (turns, expected) in
        [(&[][..], 0), (&[1], 0), (&[1, 2], 1), (&[1, 1, 1, 4], 3), (&[1, 4, 4, 4, 4], 1)]
    {
        let mut recorder = recorder(RecordedFigures::USUAL);
        turns.iter().for_each(|&turn| recorder.connect_initiated(at(0), turn));
        assert_eq!(end(recorder).connect_burst_max, expected, "{turns:?}");
    }
}

#[test]
fn replies_are_counted_by_class_with_their_sizes() {
    let mut recorder = recorder(RecordedFigures::USUAL);
    for status in [200, 204, 301, 404, 599] {
        recorder.record(&reply(status), None);
    }
    let summary = end(recorder);
    assert_eq!(summary.statuses, [0, 2, 1, 1, 1]);
    assert_eq!((summary.replies, summary.header_bytes, summary.content_bytes), (5, 190, 25));
    assert_eq!(summary.transfer.moments.sum(), 0.01);
}

#[test]
fn calls_are_timed_by_two_clocks_and_by_outcome() {
    let mut recorder = recorder(RecordedFigures::USUAL);
    recorder.record(&reply(200), None);
    recorder.record(&reply(503), None);
    let failed = Sample { status: None, first_byte: None, done: at(10), ..reply(200) };
    recorder.record(&Sample { sent: None, ..failed }, None);
    recorder.record(&Sample { sent: Some(at(4)), ..failed }, None);
    let summary = end(recorder);
    let of = |outcome| {
        let clocks = summary.calls_with(outcome);
        let mean_ms = |timing: &Timing| timing.moments.mean() * 1e3;
        (clocks.latency.moments.count(), mean_ms(&clocks.latency), mean_ms(&clocks.service))
    };
    assert_eq!(of(CallOutcome::Success), (1, 3.0, 2.0));
    assert_eq!(of(CallOutcome::HttpError), (1, 3.0, 2.0));
    assert_eq!(of(CallOutcome::Failure), (2, 10.0, 6.0));
    assert_eq!(summary.wait.moments.mean(), 1e-3);
    assert_eq!(summary.completed().latency.moments.count(), 2);
}

#[test]
fn unexpected_replies_are_counted_by_kind_and_timed_apart() {
    let mut recorder = recorder(RecordedFigures { groups: true, ..RecordedFigures::USUAL });
    recorder.record(&reply(200), Some(b"/"));
    for (status, mismatch) in [(200, Mismatch::Size), (503, Mismatch::Status), (200, Mismatch::Size)] {
        recorder.record(&Sample { mismatch: Some(mismatch), ..reply(status) }, Some(b"/"));
    }
    recorder.record(&Sample { decoded_size: Some(40), ..reply(200) }, Some(b"/"));
    let summary = end(recorder);
    assert_eq!((summary.replies, summary.statuses), (5, [0, 4, 0, 0, 1]));
    assert_eq!(summary.mismatches, Mismatches { status: 1, size: 2, ..Mismatches::default() });
    assert_eq!(summary.compressed, Compressed { replies: 1, bytes: 5, decoded_bytes: 40 });
    let counts = CallOutcome::ALL.map(|outcome| summary.calls_with(outcome).latency.moments.count());
    assert_eq!(counts, [2, 0, 0, 3]);
    assert_eq!(summary.completed().latency.moments.count(), 2);
    let intervals = summary.series.intervals();
    let [replies, errors, unexpected] = [
        intervals.iter().map(|interval| interval.replies).sum::<u64>(),
        intervals.iter().map(|interval| interval.http_errors).sum(),
        intervals.iter().map(|interval| interval.unexpected).sum(),
    ];
    assert_eq!((replies, errors, unexpected), (5, 1, 3));
    let groups = summary.groups.unwrap();
    let (_, group) = groups.iter().next().unwrap();
    assert_eq!((group.outcomes, group.latency.moments.count()), ([2, 0, 0, 3], 2));
}

#[test]
fn results_older_than_checks_of_replies_can_be_read() {
    let json = serde_json::to_value(end(recorder(RecordedFigures::USUAL))).unwrap();
    let mut older = json.clone();
    older["calls"].as_array_mut().unwrap().pop();
    for field in ["mismatches", "compressed"] {
        older.as_object_mut().unwrap().remove(field);
    }
    let read: Summary = serde_json::from_value(older).unwrap();
    assert_eq!(serde_json::to_value(read).unwrap(), json);
    let mut broken = json;
    broken["calls"].as_array_mut().unwrap().extend([serde_json::json!(null)]);
    assert!(serde_json::from_value::<Summary>(broken).is_err());
}

#[test]
fn rates_are_taken_over_the_real_time_between_samples() {
    let mut recorder = recorder(RecordedFigures { sessions: true, ..RecordedFigures::USUAL });
    (0..20).for_each(|_| recorder.record(&reply(200), None));
    assert_eq!(recorder.tick(at(5000)).replies, 4.0);
    (0..30).for_each(|_| recorder.record(&reply(200), None));
    assert_eq!(recorder.tick(at(15_000)).replies, 3.0);
    assert_eq!(recorder.tick(at(15_000)).replies, 0.0, "no time, no rate");
    let summary = end(recorder);
    let rates = summary.reply_rates.moments();
    assert_eq!((rates.count(), rates.max()), (3, 4.0));
}

#[test]
fn the_maximum_of_open_connections_is_kept() {
    let mut recorder = recorder(RecordedFigures::USUAL);
    recorder.connection_opened(at(0));
    recorder.connection_opened(at(0));
    recorder.connection_closed(at(0), None);
    recorder.connection_opened(at(0));
    recorder.connection_closed(at(0), Some(Duration::from_millis(7)));
    assert_eq!(recorder.open(), 1);
    let summary = end(recorder);
    assert_eq!(summary.concurrent_max, 2);
    assert_eq!(summary.lifetimes.moments.count(), 1);
}

/// Records every kind of TLS event, each with a different count.
fn record_tls(recorder: &mut Recorder) {
    recorder.transport_done(at(0), Duration::from_micros(50));
    let failure = HandshakeFailure {
        class: HandshakeFailureClass::Transport,
        reason: "timed out".into(),
        details: Vec::new(),
    };
    recorder.handshake_failed(at(0), failure);
    let handshake = Handshake {
        kind: HandshakeKind::Full,
        time: Duration::from_micros(700),
        sent: 300,
        received: 1500,
        hello_retry: false,
        version: "TLSv1.3",
        cipher: "TLS_AES_128_GCM_SHA256",
        group: Some("X25519"),
        signature: Some("ed25519"),
        protocol: None,
        compressed_certificate: false,
    };
    (0..2).for_each(|_| recorder.handshake_done(at(0), &handshake));
    for subject in ["CN=first", "CN=second"] {
        let certificate = || Certificate {
            subject: subject.to_owned(),
            key: "Ed25519".to_owned(),
            chain_length: 1,
            days_left: 9,
        };
        recorder.certificate_shown(at(0), || Some(certificate()));
    }
    recorder.early_requests(at(0), EarlyRequests { accepted: 3, rejected: 2, replayed: 1 });
    recorder.early_requests(at(0), EarlyRequests { accepted: 1, ..EarlyRequests::default() });
    (0..3).for_each(|_| recorder.truncated(at(0)));
    (0..4).for_each(|_| recorder.unclean_close(at(0)));
}

#[test]
fn tls_events_are_recorded_if_requested() {
    let mut recorder = recorder(RecordedFigures { tls: true, ..RecordedFigures::USUAL });
    record_tls(&mut recorder);
    let tls = end(recorder).tls.unwrap();
    assert_eq!((tls.transport.moments.count(), tls.completed(), tls.failed()), (1, 2, 1));
    assert_eq!(tls.first_failure.as_ref().map(|failure| &*failure.reason), Some("timed out"));
    assert_eq!(tls.early_requests, EarlyRequests { accepted: 4, rejected: 2, replayed: 1 });
    assert_eq!((tls.truncated, tls.unclean_closes), (3, 4));
}

#[test]
fn tls_events_are_ignored_unless_requested() {
    let mut recorder = recorder(RecordedFigures::USUAL);
    record_tls(&mut recorder);
    recorder.certificate_shown(at(0), || panic!("not requested"));
    assert!(end(recorder).tls.is_none());
}

#[test]
fn only_the_first_certificate_is_kept() {
    let mut recorder = recorder(RecordedFigures { tls: true, ..RecordedFigures::USUAL });
    recorder.certificate_shown(at(0), || None);
    record_tls(&mut recorder);
    recorder.certificate_shown(at(0), || panic!("one is enough"));
    assert_eq!(end(recorder).tls.unwrap().certificate.unwrap().subject, "CN=first");
}

#[test]
fn sessions_are_counted_by_their_end_and_length() {
    let mut recorder = recorder(RecordedFigures { sessions: true, ..RecordedFigures::USUAL });
    for (completed, replies) in [(true, 3), (true, 3), (false, 0)] {
        recorder.session_ended(SessionEnd {
            completed,
            intended: at(0),
            started: at(1000),
            ended: at(3000),
            replies,
            connections: 2,
        });
    }
    let sessions = end(recorder).sessions.unwrap();
    assert_eq!((sessions.completed, sessions.failed, sessions.connections), (2, 1, 4));
    assert_eq!(sessions.lengths.into_iter().collect::<Vec<_>>(), [(0, 1), (3, 2)]);
    assert_eq!((sessions.lifetime, sessions.failtime), (Duration::from_secs(4), Duration::from_secs(2)));
}

#[test]
fn what_was_due_before_the_measured_phase_is_not_measured() {
    let mut recorder = Recorder::new(at(0), at(10), RecordedFigures::USUAL);
    let call = |due: u64, done: u64| Sample {
        intended: at(due),
        sent: Some(at(due)),
        stalled: Duration::ZERO,
        first_byte: Some(at(done)),
        done: at(done),
        ..reply(200)
    };
    recorder.connection_opened(at(2));
    recorder.connect_initiated(at(2), 1);
    recorder.arrival_started(at(2), None, at(3));
    recorder.record(&call(2, 5), None);
    recorder.begin_measuring(at(10));
    recorder.connection_opened(at(12));
    recorder.arrival_started(at(12), None, at(12));
    recorder.record(&call(9, 700), None);
    recorder.record(&call(12, 14), None);
    recorder.failed(at(9), CauseKind::ClosedUnanswered.into());
    recorder.begin_draining(at(900));
    recorder.record(&call(899, 950), None);
    let summary = end(recorder);
    assert_eq!((summary.replies, summary.connections, summary.concurrent_max), (2, 0, 2));
    assert_eq!(summary.calls_with(CallOutcome::Success).latency.moments.max(), 0.051);
    assert_eq!((summary.lag.moments.count(), summary.errors.total()), (1, 0));
    let warmup = summary.warmup.unwrap();
    assert_eq!((warmup.connections, warmup.replies, warmup.errors.total()), (1, 2, 1));
    let phases: Vec<_> = summary
        .series
        .intervals()
        .iter()
        .map(|interval| (interval.phase, interval.replies, interval.latency.total()))
        .collect();
    assert_eq!(phases, [(Phase::WarmUp, 1, 1), (Phase::Measured, 2, 1), (Phase::Drain, 1, 1)]);
}

#[test]
fn a_warm_up_that_was_stopped_is_as_long_as_it_was() {
    let mut recorder = Recorder::new(at(0), at(10_000), RecordedFigures::USUAL);
    recorder.failed(at(2000), CauseKind::NoDescriptor.into());
    let end = End {
        at: at(3000),
        duration: Duration::ZERO,
        usage: Usage::default(),
        calls_not_logged: 0,
        begun_late: Duration::ZERO,
    };
    let warmup = recorder.finish(end).warmup.unwrap();
    assert_eq!((warmup.duration, warmup.errors.total()), (Duration::from_secs(3), 1));
}

#[test]
fn connections_without_a_descriptor_were_tried() {
    let mut recorder = Recorder::new(at(0), at(0), RecordedFigures::USUAL);
    recorder.connect_initiated(at(1), 1);
    recorder.failed(at(1), CauseKind::Refused.into());
    recorder.failed(at(2), CauseKind::NoDescriptor.into());
    assert_eq!(end(recorder).attempts(), 2);
}

#[test]
fn without_detail_only_what_the_classic_report_shows_is_recorded() {
    let mut recorder = recorder(RecordedFigures { detail: false, ..RecordedFigures::USUAL });
    recorder.arrival_started(at(0), None, at(1));
    recorder.record(&reply(200), None);
    assert!(!recorder.is_slow(at(0), at(5)));
    let summary = end(recorder);
    assert_eq!((summary.replies, summary.transfer.moments.count()), (1, 1));
    assert!(summary.lag.is_empty() && summary.completed().latency.is_empty());
    assert!(summary.series.intervals().is_empty() && summary.slowest.is_empty());
}

#[test]
fn the_series_counts_each_thing_where_it_happened_and_what_was_due_where_it_was_due() {
    let mut recorder = recorder(RecordedFigures::USUAL);
    recorder.call_made(at(900));
    recorder.arrival_started(at(900), None, at(900));
    assert!(recorder.end_interval(at(999)).is_none());
    assert_eq!(recorder.end_interval(at(1000)).unwrap().offered, 1);
    // Two that were due earlier and have started only now.
    recorder.call_made(at(950));
    recorder.arrival_started(at(950), None, at(1950));
    recorder.record(&Sample { first_byte: Some(at(1990)), done: at(1990), ..reply(404) }, None);
    assert_eq!(recorder.interval_end(), at(2000));
    let summary = recorder.finish(End { at: at(3500), ..End::default() });
    let intervals = summary.series.intervals();
    let counts: Vec<_> = intervals
        .iter()
        .map(|interval| (interval.arrivals, interval.offered, interval.http_errors))
        .collect();
    assert_eq!(counts, [(2, 2, 0), (0, 0, 1), (0, 0, 0), (0, 0, 0)]);
    assert_eq!(intervals[0].lag_max, Duration::from_secs(1));
    assert_eq!(intervals[3].length, Duration::from_millis(500));
    assert!(intervals[1].latency.quantile(0.5).unwrap() >= Duration::from_millis(1990));
}

#[test]
fn reported_intervals_have_the_sums_of_the_series_when_the_generator_is_late() {
    let mut recorder = recorder(RecordedFigures { clocks: true, ..RecordedFigures::USUAL });
    let mut told = Vec::new();
    // 100 were due in each of the first three seconds; they start in the third and in the fourth, and two never.
    for call in 0..300 {
        let (due, now) = (at(call * 10), at(2500 + call * 5));
        recorder.call_made(due);
        recorder.arrival_started(due, None, now);
        recorder.record(&Sample { first_byte: Some(now), done: now, ..reply(200) }, None);
        if call % 20 == 0 {
            recorder.call_made(due);
            recorder.call_withdrawn(due);
        }
        told.extend(std::iter::from_fn(|| recorder.end_interval(now)));
    }
    // One that was told of is taken back, seconds later.
    recorder.call_made(at(100));
    told.extend(std::iter::from_fn(|| recorder.end_interval(at(4000))));
    recorder.call_withdrawn(at(100));
    recorder.arrival_missed(at(500), false, at(4100));
    recorder.arrival_missed(at(4050), false, at(4100));
    recorder.end_last_interval(at(4100));
    told.extend(std::iter::from_fn(|| recorder.end_interval(at(4100))));
    let summary = recorder.finish(End { at: at(4100), ..End::default() });
    let sums = |intervals: &[Interval]| {
        intervals.iter().fold((0, 0, 0, Duration::ZERO), |(arrivals, offered, replies, lag), interval| {
            let lag = lag.max(interval.lag_max);
            (arrivals + interval.arrivals, offered + interval.offered, replies + interval.replies, lag)
        })
    };
    assert_eq!(sums(&told), (300, 302, 300, Duration::from_millis(2500)));
    assert_eq!(sums(summary.series.intervals()), sums(&told));
    let ended = told.iter().scan((0, 0), |(offered, ended), interval| {
        (*offered, *ended) = (*offered + interval.offered, *ended + interval.replies);
        Some(*offered >= *ended)
    });
    assert!(ended.into_iter().all(|is_so| is_so), "more calls have ended than were made: {told:?}");
}

#[test]
fn the_series_counts_visits_if_there_are_any() {
    let mut recorder = recorder(RecordedFigures::USUAL);
    assert_eq!(recorder.end_interval(at(1000)).unwrap().visits, None);
    recorder.record_visits(&VisitsShape { phase_ends: Vec::new(), scenarios: vec![vec![(1, 0)]] });
    let end = |ended, fate| VisitEnd { scenario: 0, intended: at(1000), ended: at(ended), fate };
    (0..4).for_each(|_| recorder.visit_started());
    recorder.checks_failed(3);
    recorder.visit_ended(&end(1500, Fate::Abandoned { step: Some(0), obstacle: None }));
    let told = recorder.end_interval(at(2000)).unwrap();
    let expected = VisitCounts { open: 3, completed: 0, abandoned: 1, checks_failed: 3 };
    assert_eq!(told.visits, Some(expected));
    recorder.visit_ended(&end(2100, Fate::Completed));
    let next = recorder.end_interval(at(3000)).unwrap();
    assert_eq!(next.visits, Some(VisitCounts { open: 2, completed: 1, ..VisitCounts::default() }));
    // The same second of another worker.
    let mut both = told.clone();
    both.merge(&told);
    assert_eq!(both.visits, Some(VisitCounts { open: 6, completed: 0, abandoned: 2, checks_failed: 6 }));
    recorder.visit_ended(&end(3500, Fate::Cut));
    let series = recorder.finish(End { at: at(3500), ..End::default() }).series;
    let saved = serde_json::to_value(&series.intervals()[..2]).unwrap();
    assert_eq!(saved[0].get("visits"), None, "other workloads have documents as before");
    assert_eq!(saved[1]["visits"]["open"], 3);
    let read: Vec<Interval> = serde_json::from_value(saved).unwrap();
    assert_eq!(read, series.intervals()[..2]);
}

#[test]
fn the_series_counts_streams_once_there_was_one() {
    let mut recorder = recorder(RecordedFigures { models: true, ..RecordedFigures::USUAL });
    assert_eq!(recorder.end_interval(at(1000)).unwrap().streams, None);
    let due = at(1100);
    for _ in 0..2 {
        recorder.stream_started(due, Some(due), at(1110));
    }
    let role = StreamNews { events: 1, has_first: true, ..StreamNews::default() };
    recorder.stream_news(due, Some(due), at(1110), &role);
    let token = StreamNews { events: 3, tokens: 2, has_first_token: true, ..StreamNews::default() };
    recorder.stream_news(due, Some(due), at(1300), &token);
    let streamed = StreamEnd { is_streamed: true, ..StreamEnd::default() };
    recorder.stream_ended(due, &streamed);
    // A whole answer is no stream.
    recorder.stream_ended(due, &StreamEnd::default());
    let told = recorder.end_interval(at(2000)).unwrap();
    let streams = told.streams.as_deref().unwrap();
    assert_eq!((streams.open, streams.events, streams.tokens), (1, 4, 2));
    // To two digits.
    let waited: Vec<u32> = streams.first.iter().map(|(us, _)| us / 10_000).collect();
    assert_eq!(waited, [20]);
    recorder.websocket_opened(at(2100), None, at(2110), false);
    recorder.message_sent(at(2200), 5, true);
    recorder.message_received(at(2210), 5);
    let next = recorder.end_interval(at(3000)).unwrap().streams.unwrap();
    assert_eq!((next.open, next.events, next.sent, next.first.total()), (2, 1, 1, 0));
    recorder.websocket_ended(at(2100), WebSocketEnd::Cut, Duration::from_millis(900), [9, 7]);
    recorder.stream_ended(due, &streamed);
    let last = recorder.end_interval(at(4000)).unwrap().streams.unwrap();
    assert_eq!(*last, StreamCounts::default());
    // The same second of another worker.
    let mut both = told.clone();
    both.merge(&told);
    let both = both.streams.unwrap();
    assert_eq!((both.open, both.events, both.first.total()), (2, 8, 2));
}

#[test]
fn a_long_run_has_longer_intervals_instead_of_more_of_them() {
    let mut recorder = recorder(RecordedFigures::USUAL);
    for second in 0..10_000 {
        recorder.call_made(at(second * 1000));
        let told = recorder.end_interval(at(second * 1000 + 1000)).unwrap();
        assert_eq!((told.offered, told.length), (1, Duration::from_secs(1)), "told by the second");
    }
    let summary = recorder.finish(End { at: at(10_000_000), ..End::default() });
    let series = &summary.series;
    assert!((500..1200).contains(&series.intervals().len()), "{}", series.intervals().len());
    assert_eq!(series.width(), Duration::from_secs(16));
    let mut end = Duration::ZERO;
    for interval in series.intervals() {
        assert_eq!(interval.from, end);
        assert_eq!(interval.offered, interval.length.as_secs());
        end = interval.end();
    }
    assert_eq!(end, Duration::from_secs(10_000));
}

#[test]
fn parts_of_a_run_add_up_in_any_order() {
    let part = |seed: u64| {
        let mut recorder =
            recorder(RecordedFigures { sessions: true, tls: true, groups: true, ..RecordedFigures::USUAL });
        record_tls(&mut recorder);
        for call in 0..40 {
            let done = at(seed * 7 + call * call % 300);
            let sample =
                Sample { call, first_byte: Some(done), done, ..reply(200 + 100 * (call % 4) as u16) };
            recorder.record(&sample, Some(if call % 2 == 0 { b"even" } else { b"odd" }));
            if recorder.is_slow(sample.intended, done) {
                recorder.record_slow(&sample, SlowDetail::default());
            }
            recorder.arrival_started(at(call * seed), None, at(call * seed + 1));
        }
        recorder.tick(at(500 + seed));
        recorder.finish(End { at: at(1000 * seed), duration: Duration::from_secs(seed), ..End::default() })
    };
    let parts: Vec<Summary> = (1..=3).map(part).collect();
    let merged = |order: [usize; 3]| {
        let mut all = parts[order[0]].clone();
        order[1..].iter().for_each(|&index| all.merge(&parts[index], 10));
        all
    };
    let all = merged([0, 1, 2]);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_eq!(merged(order), all, "{order:?}");
    }
    assert_eq!((all.replies, all.slowest.len(), all.series.intervals().len()), (120, 10, 3));
    assert_eq!(all.completed().latency.moments.count(), 120);
    let json = serde_json::to_string(&all).unwrap();
    assert_eq!(serde_json::from_str::<Summary>(&json).unwrap(), all, "saved and read again");
}
