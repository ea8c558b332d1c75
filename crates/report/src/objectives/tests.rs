use std::time::Duration;

use httperf_stats::{Failure, SessionSummary};
use proptest::prelude::*;

use super::*;

const MS: Duration = Duration::from_millis(1);

/// Adds calls with this outcome that took this many milliseconds each.
fn add_calls(summary: &mut Summary, outcome: CallOutcome, took_ms: impl IntoIterator<Item = u32>) {
    for ms in took_ms {
        let clocks = &mut summary.calls[outcome as usize];
        clocks.latency.add(MS * ms);
        clocks.service.add(MS * ms);
        summary.requests += 1;
    }
}

/// Summary of calls that each took 10 ms and were answered with 200.
fn answered(calls: u64) -> Summary {
    let mut summary = Summary { duration: Duration::from_secs(2), replies: calls, ..Summary::default() };
    add_calls(&mut summary, CallOutcome::Success, (0..calls).map(|_| 10));
    summary.statuses[1] = calls;
    summary
}

fn of(objective: &str, summary: &Summary) -> Judged {
    Judged::of(objective.parse().expect("an objective"), summary)
}

/// Checks the outcome and the description of each objective.
#[track_caller]
fn check(summary: &Summary, expected: &[(&str, Kept, &str)]) {
    for &(objective, outcome, words) in expected {
        let judged = of(objective, summary);
        assert_eq!((judged.outcome, &*judged.to_string()), (outcome, words), "{objective}: {judged:?}");
    }
}

#[test]
fn figures_are_compared_with_their_bounds() {
    let mut summary = answered(1000);
    add_calls(&mut summary, CallOutcome::HttpError, [40; 20]);
    (summary.statuses[4], summary.replies) = (20, 1020);
    check(
        &summary,
        &[
            ("p50<12ms", Kept::Met, "10.0 ms, 16.6 % below the bound"),
            ("p99<20ms", Kept::Missed, "40.0 ms, 100.0 % above the bound"),
            ("p99>20ms", Kept::Met, "40.0 ms, 100.0 % above the bound"),
            ("service.p90<=100us", Kept::Missed, "10.0 ms, 100.1 times the bound"),
            ("min>=10ms", Kept::Met, "10.0 ms, at the bound"),
            ("min>10ms", Kept::Missed, "10.0 ms, at the bound"),
            ("max<=40ms", Kept::Met, "40.0 ms, at the bound"),
            ("mean<12ms", Kept::Met, "10.6 ms, 11.8 % below the bound"),
            ("errors<2%", Kept::Met, "1.96 %, 2.0 % below the bound"),
            ("5xx<=0", Kept::Missed, "1.96 %"),
            ("4xx<=0", Kept::Met, "0.00 %"),
            ("2xx>=99%", Kept::Missed, "98.04 %, 1.0 % below the bound"),
            ("failed<0.1%", Kept::Met, "0.00 %, 100.0 % below the bound"),
            ("replies>500/s", Kept::Met, "510.0/s, 2.0 % above the bound"),
            ("replies>=1000", Kept::Missed, "510.0/s, 49.0 % below the bound"),
        ],
    );
}

#[test]
fn a_call_without_a_usable_reply_counts_as_the_longest() {
    for outcome in [CallOutcome::Failure, CallOutcome::Unexpected] {
        let mut summary = answered(97);
        // Even if they gave up quickly.
        add_calls(&mut summary, outcome, [1, 1, 1]);
        check(
            &summary,
            &[
                ("p97<50ms", Kept::Met, "10.0 ms, 80.0 % below the bound"),
                ("p98<50ms", Kept::Missed, "> 10.0 ms: calls had no usable reply in time"),
                ("service.p98<50ms", Kept::Missed, "endless: calls had no usable reply in time"),
                ("p98>50ms", Kept::Met, "> 10.0 ms: calls had no usable reply in time"),
                ("max<1s", Kept::Missed, "> 10.0 ms: calls had no usable reply in time"),
                ("min<11ms", Kept::Met, "10.0 ms, 9.1 % below the bound"),
                ("mean<11ms", Kept::Met, "10.0 ms, 9.1 % below the bound"),
            ],
        );
    }
    let mut hopeless = Summary::default();
    add_calls(&mut hopeless, CallOutcome::Failure, [1]);
    for objective in ["p50<1s", "mean<1s", "min<1s", "max<1s"] {
        assert_eq!(of(objective, &hopeless).measured, Measured::Endless, "{objective}");
    }
}

#[test]
fn pending_calls_count_only_once_they_exceed_the_bound() {
    let mut summary = answered(95);
    (0..5).for_each(|_| summary.unfinished.add(MS * 30));
    summary.requests += 5;
    let missed = "> 30.0 ms, 50.0 % above the bound";
    check(
        &summary,
        &[
            ("p99<20ms", Kept::Missed, missed),
            ("service.p99<20ms", Kept::Missed, "endless: calls had no usable reply in time"),
            // They may still end in time. There are only 95 others.
            ("p99<40ms", Kept::Unknown, "> 30.0 ms, from 95 of the 100 samples needed"),
            ("p90<40ms", Kept::Met, "10.0 ms, 75.0 % below the bound"),
        ],
    );
    // Requests that were never sent say nothing about the service time.
    summary.requests -= 5;
    check(
        &summary,
        &[
            ("p99<20ms", Kept::Missed, missed),
            ("service.p90<20ms", Kept::Met, "10.0 ms, 50.0 % below the bound"),
        ],
    );
}

#[test]
fn too_few_samples_leave_the_outcome_unknown_unless_it_is_missed_already() {
    let few = |slow| {
        let mut summary = answered(97);
        add_calls(&mut summary, CallOutcome::Success, (0..slow).map(|_| 40));
        summary
    };
    check(
        &few(0),
        &[
            ("p99<20ms", Kept::Unknown, "10.0 ms, from 97 of the 100 samples needed"),
            ("p99.9<20ms", Kept::Unknown, "10.0 ms, from 97 of the 1000 samples needed"),
            ("p99<5ms", Kept::Missed, "10.0 ms, 100.0 % above the bound"),
            ("p99>20ms", Kept::Unknown, "10.0 ms, from 97 of the 100 samples needed"),
            ("p95<20ms", Kept::Met, "10.0 ms, 50.0 % below the bound"),
        ],
    );
    // One in a hundred may be slower, but not two.
    check(&few(1), &[("p99<20ms", Kept::Unknown, "40.0 ms, from 98 of the 100 samples needed")]);
    check(&few(2), &[("p99<20ms", Kept::Missed, "40.0 ms, 100.0 % above the bound")]);
    assert_eq!(of("p99<20ms", &answered(100)).outcome, Kept::Met);
    let mut failed = answered(97);
    add_calls(&mut failed, CallOutcome::Failure, [1]);
    let words = "> 10.0 ms: calls had no usable reply in time, from 98 of the 100 samples needed";
    check(&failed, &[("p99<20ms", Kept::Unknown, words), ("max<20ms", Kept::Missed, &words[..44])]);
    let single = answered(1);
    check(&single, &[("p50<1ms", Kept::Unknown, "10.0 ms, from 1 of the 2 samples needed")]);
    check(&single, &[("p50>20ms", Kept::Missed, "10.0 ms, 50.0 % below the bound")]);
}

#[test]
fn without_data_the_outcome_is_unknown() {
    let objectives = [
        "p99<1ms",
        "service.max<1ms",
        "response.mean<1ms",
        "transfer.p50<1ms",
        "connect.min<1ms",
        "handshake.p50<1ms",
        "session.p50<1s",
        "lag.p50<1ms",
        "errors<=0",
        "failed<1%",
        "unexpected<1%",
        "5xx<1%",
        "replies>1",
    ];
    for objective in objectives {
        check(&Summary::default(), &[(objective, Kept::Unknown, "no data")]);
    }
}

#[test]
fn without_calls_connections_count() {
    let mut summary = Summary { connections: 50, ..Summary::default() };
    (0..5).for_each(|_| summary.errors.add(Failure::Refused));
    check(
        &summary,
        &[
            ("errors<10%", Kept::Missed, "10.00 %, at the bound"),
            ("failed<=10%", Kept::Met, "10.00 %, at the bound"),
            ("unexpected<1%", Kept::Unknown, "no data"),
        ],
    );
    // Connections without a socket are not even attempts.
    let mut starved = Summary::default();
    starved.errors.add(Failure::FdUnavailable);
    check(&starved, &[("errors<10%", Kept::Missed, "100.00 %, 10.0 times the bound")]);
    // Calls are made, but none has ended: successful connections say nothing about them.
    let mut waiting = Summary { connections: 50, requests: 50, ..Summary::default() };
    (0..50).for_each(|_| waiting.unfinished.add(MS));
    check(&waiting, &[("errors<10%", Kept::Unknown, "no data")]);
}

#[test]
fn a_failed_session_counts_as_the_longest() {
    let mut sessions = SessionSummary::default();
    (0..18).for_each(|_| sessions.latency.add(MS * 100));
    (0..2).for_each(|_| sessions.failed_latency.add(MS));
    let summary = Summary { sessions: Some(sessions), ..Summary::default() };
    check(
        &summary,
        &[
            ("session.p90<1s", Kept::Met, "100 ms, 90.0 % below the bound"),
            ("session.p95<1s", Kept::Missed, "endless: sessions failed"),
        ],
    );
}

#[test]
fn a_margin_is_a_share_of_the_bound_and_negative_if_missed() {
    let summary = answered(1000);
    let margin = |objective| of(objective, &summary).margin();
    let close =
        |margin: Option<f64>, expected: f64| margin.is_some_and(|margin| (margin - expected).abs() < 1e-2);
    assert!(close(margin("p99<20ms"), 0.5) && close(margin("p99<8ms"), -0.25));
    assert!(close(margin("replies>=250"), 1.0) && close(margin("replies>=1000"), -0.5));
    assert_eq!((margin("errors<=0"), margin("session.p50<1s")), (None, None));
}

#[test]
fn small_shares_are_not_shown_as_zero() {
    let mut summary = answered(1_000_000);
    add_calls(&mut summary, CallOutcome::Failure, [1]);
    assert_eq!(of("failed<=0", &summary).to_string(), "< 0.001 %");
    add_calls(&mut summary, CallOutcome::Failure, [1; 49]);
    assert_eq!(of("failed<=0", &summary).to_string(), "0.005 %");
}

#[test]
fn outcomes_survive_as_json() {
    let judged = judge(&["p99<50ms".parse().expect("an objective")], &answered(100));
    let json = serde_json::to_string(&judged).expect("plain data");
    assert_eq!(
        json,
        r#"[{"objective":"p99<50ms","measured":{"figure":0.01},"samples":100,"outcome":"met"}]"#
    );
    assert_eq!(serde_json::from_str::<Vec<Judged>>(&json).expect("it reads again"), judged);
}

proptest! {
    /// A miss found with too few samples stays a miss with enough, and an objective met with enough is not
    /// missed with fewer.
    #[test]
    fn a_miss_found_with_few_samples_stays_a_miss(took in prop::collection::vec(prop_oneof![Just(10_u32), Just(40)], 1..100)) {
        let mut summary = Summary::default();
        add_calls(&mut summary, CallOutcome::Success, took.iter().copied());
        let before = of("p99<20ms", &summary).outcome;
        add_calls(&mut summary, CallOutcome::Success, (took.len()..100).map(|_| 10));
        let after = of("p99<20ms", &summary).outcome;
        prop_assert_eq!(before == Kept::Missed, after == Kept::Missed);
        prop_assert!(after != Kept::Unknown);
    }

    /// A quantile is the value of its rank in the sorted list of all calls, with those without an answer at
    /// the end.
    #[test]
    fn a_quantile_is_the_value_of_its_rank(
        mut took in prop::collection::vec(1_u32..60_000, 0..300),
        failed in 0_u64..300,
        percent in 1_u32..1000,
    ) {
        let mut summary = Summary::default();
        add_calls(&mut summary, CallOutcome::Success, took.iter().copied());
        add_calls(&mut summary, CallOutcome::Failure, (0..failed).map(|_| 1));
        let judged = of(&format!("p{}<1s", f64::from(percent) / 10.0), &summary);
        took.sort_unstable();
        let count = took.len() as u64 + failed;
        let rank = usize::try_from((u64::from(percent) * count).div_ceil(1000).max(1)).expect("a small number");
        match (judged.measured, took.get(rank - 1)) {
            (Measured::Figure(seconds), Some(&ms)) => {
                let exact = f64::from(ms) / 1e3;
                prop_assert!((seconds - exact).abs() <= exact * 1e-3 + 1e-6, "{} is not {}", seconds, exact);
            }
            (Measured::Endless, None) => prop_assert!(count > 0),
            (Measured::Nothing, None) => prop_assert_eq!(count, 0),
            (measured, expected) => prop_assert!(false, "{:?} is not {:?}", measured, expected),
        }
    }

    /// More failures never improve the outcome of an upper bound.
    #[test]
    fn failures_never_help(calls in 1_u64..500, failed in 0_u64..50, more in 1_u64..50) {
        let with = |failed| {
            let mut summary = answered(calls);
            add_calls(&mut summary, CallOutcome::Failure, (0..failed).map(|_| 1));
            summary
        };
        for objective in ["p50<20ms", "p99<20ms", "max<20ms", "errors<5%", "failed<5%", "service.p90<20ms"] {
            let (before, after) = (of(objective, &with(failed)).outcome, of(objective, &with(failed + more)).outcome);
            prop_assert!(!(before == Kept::Missed && after != Kept::Missed), "{}: {:?} {:?}", objective, before, after);
        }
    }
}

proptest! {
    /// A percentile is met by bounds above the one that is reported, and missed by those below it.
    #[test]
    fn the_percentile_reported_is_the_smallest_bound_that_is_met(
        answered in proptest::collection::vec(1..100_u32, 100..200),
        failed in 0..4_usize,
        unfinished in proptest::collection::vec(1..100_u32, 0..20),
    ) {
        let mut summary = Summary::default();
        answered.iter().for_each(|&ms| add_calls(&mut summary, CallOutcome::Success, [ms]));
        (0..failed).for_each(|_| add_calls(&mut summary, CallOutcome::Failure, [1]));
        unfinished.iter().for_each(|&ms| summary.unfinished.add(MS * ms));
        for quantile in [50, 90, 99] {
            // Samples are whole milliseconds, bounds lie between them.
            let between = |ms: u32| of(&format!("p{quantile}<{ms}500us"), &summary).outcome == Kept::Met;
            let all = crate::AllCalls::of(&summary);
            let found = match quantile {
                50 => all.p50,
                90 => all.p90,
                _ => all.p99,
            };
            let found = found.expect("there are calls enough");
            let bounds: Vec<u32> = (1..100).collect();
            let smallest = bounds.get(bounds.partition_point(|&ms| !between(ms))).copied();
            let is_near = smallest.is_some_and(|ms| (found.ms - f64::from(ms)).abs() <= 0.002 * found.ms);
            let is_endless = smallest.is_none() && found.or_more;
            prop_assert!(is_near || is_endless, "p{quantile} is {found}, met from {smallest:?} ms on");
        }
    }
}
