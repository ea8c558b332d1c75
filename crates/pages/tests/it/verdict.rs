//! The rules of the verdict, one by one, with their thresholds.

use std::time::Duration;

use httperf_plan::{Arrivals, Connections, Plan, ReplyClock, Workload};
use httperf_report::{Finding, Level, Reason, Verdict, verdict, verdict_section};
use httperf_stats::{
    CallOutcome, Clocks, CpuTime, Failure, Http2Summary, Pauses, QuicSummary, Stall, Summary, ThreadUsage,
    Timing, UdpLosses, Usage, Window,
};
use httperf_testkit::sim::{Edit, connections, nonzero};

fn ms(milliseconds: f64) -> Duration {
    Duration::from_secs_f64(milliseconds / 1e3)
}

fn timing(values: impl IntoIterator<Item = f64>) -> Timing {
    let mut timing = Timing::default();
    values.into_iter().for_each(|milliseconds| timing.add(ms(milliseconds)));
    timing
}

/// A plan with a rate, by the program's clock.
fn scheduled() -> Plan {
    connections(2000, 1, 1).with(|plan| {
        plan.arrivals = Arrivals::Deterministic { period: 0.005 };
        plan.recording.clock = ReplyClock::Program;
    })
}

/// 2,000 calls at 200 per second, each of 4 ms, started 20 µs late, on an otherwise idle machine.
fn sound() -> Summary {
    let mut summary = Summary { duration: Duration::from_secs(10), ..Summary::default() };
    summary.connections = 2000;
    summary.requests = 2000;
    summary.replies = 2000;
    summary.calls[0].latency = timing((0..2000).map(|_| 4.0));
    summary.calls[0].service = timing((0..2000).map(|_| 3.9));
    summary.connect = timing((0..2000).map(|_| 0.1));
    summary.lag = timing((0..2000).map(|_| 0.02));
    let arrivals = &mut summary.arrivals;
    (arrivals.due, arrivals.started) = (2000, 2000);
    (arrivals.span_due, arrivals.span_started) = (ms(9995.0), ms(9995.0));
    arrivals.intervals_due = timing((0..1999).map(|_| 5.0));
    arrivals.intervals_started = timing((0..1999).map(|step| 5.0 + f64::from(step % 3) * 0.01));
    summary.usage = usage(0.1, 0.0);
    summary
}

/// Usage of a thread that ran, and waited for a processor, for these shares of ten seconds.
fn usage(ran: f64, waited: f64) -> Usage {
    let cpu = CpuTime { user: Duration::from_secs_f64(10.0 * ran), system: Duration::ZERO };
    let worker = ThreadUsage { cpu, kept_waiting: Duration::from_secs_f64(10.0 * waited), preempted: 7 };
    Usage { cpu, workers: vec![worker], stolen: Duration::ZERO, processors: 2, ..Usage::default() }
}

fn codes(verdict: &Verdict) -> Vec<String> {
    let name = |finding: &Finding| finding.name().to_owned();
    verdict.reasons.iter().map(|reason| format!("{} {}", reason.level, name(&reason.finding))).collect()
}

#[track_caller]
fn check(expected: &[&str], change: impl FnOnce(&mut Summary)) {
    check_plan(expected, &scheduled(), change);
}

#[track_caller]
fn check_plan(expected: &[&str], plan: &Plan, change: impl FnOnce(&mut Summary)) {
    let mut summary = sound();
    change(&mut summary);
    assert_eq!(codes(&verdict(plan, &summary)), expected);
}

#[test]
fn a_sound_run_is_valid_without_findings() {
    check(&[], |_| {});
    assert_eq!(verdict(&scheduled(), &sound()).level, Level::Valid);
}

#[test]
fn lag_counts_by_its_share_of_the_latency() {
    // More than one call in a hundred.
    let late =
        |milliseconds: f64| timing((0..2000).map(move |call| if call < 30 { milliseconds } else { 0.02 }));
    let slow =
        |milliseconds: f64| timing((0..2000).map(move |call| if call < 30 { milliseconds } else { 4.0 }));
    let with = |lag: f64, latency: f64| {
        move |summary: &mut Summary| {
            summary.lag = late(lag);
            summary.calls[0].latency = slow(latency);
        }
    };
    check(&[], with(0.9, 4.0));
    check(&["SUSPECT schedule lag"], with(1.1, 5.0));
    check(&[], with(1.1, 20.0));
    check(&["SUSPECT schedule lag"], with(9.0, 13.0));
    check(&["INVALID schedule lag"], with(12.0, 16.0));
    check(&["SUSPECT schedule lag"], with(12.0, 100.0));
}

#[test]
fn datagrams_that_this_machine_lost_count_over_quic() {
    let with = |receive, send, quic: Option<QuicSummary>| {
        move |summary: &mut Summary| {
            summary.usage.udp = UdpLosses { receive, send };
            summary.http2 = Some(Box::new(Http2Summary { quic, ..Http2Summary::default() }));
        }
    };
    let quic = |socket_drops, sends_blocked| {
        Some(QuicSummary { socket_drops, sends_blocked, ..QuicSummary::default() })
    };
    check(&[], with(0, 0, quic(0, 0)));
    check(&["SUSPECT datagrams lost"], with(1, 0, quic(0, 0)));
    check(&["SUSPECT datagrams lost"], with(0, 4, quic(0, 3)));
    // A send that had to wait is no loss, and others' losses mean nothing over TCP.
    check(&[], with(0, 3, quic(0, 3)));
    check(&[], with(5, 5, None));
    // A system without counters may know of the sockets.
    check(&["SUSPECT datagrams lost"], with(0, 0, quic(2, 0)));
    let mut summary = sound();
    with(1200, 40, quic(7, 30))(&mut summary);
    let told = verdict(&scheduled(), &summary);
    assert!(!told.blames_client());
    assert_eq!(
        told.reasons[0].finding.to_string(),
        "1210 datagrams or more were lost in this machine's own buffers, not on the way: 1200 that arrived (7 of them \
         for the generator), 10 on their way out; larger buffers help (net.core.rmem_max and --recv-buffer)"
    );
}

#[test]
fn receive_lag_counts_by_its_share_of_the_latency() {
    let late =
        |milliseconds: f64| timing((0..2000).map(move |call| if call < 30 { milliseconds } else { 0.006 }));
    let slow =
        |milliseconds: f64| timing((0..2000).map(move |call| if call < 30 { milliseconds } else { 4.0 }));
    let with = |lag: f64, latency: f64| {
        move |summary: &mut Summary| {
            summary.receive.lag = late(lag);
            summary.calls[0].latency = slow(latency);
        }
    };
    check(&[], with(0.9, 4.0));
    check(&["SUSPECT receive lag"], with(1.2, 5.0));
    check(&[], with(1.2, 20.0));
    check(&["INVALID receive lag"], with(12.0, 16.0));
    check(&[], |summary| summary.receive.unstamped = 2000);
    let mut summary = sound();
    with(1.2, 5.0)(&mut summary);
    let told = verdict(&scheduled(), &summary).reasons[0].finding.to_string();
    assert_eq!(
        told,
        "replies waited 1.200 ms in this machine before they were read, out of a latency of 5.000 ms (p99)"
    );
}

#[test]
fn setting_the_wall_clock_is_noted() {
    check(&["VALID clock set"], |summary| summary.receive.clock_steps = 2);
}

#[test]
fn with_the_kernel_s_clock_missing_stamps_count_and_receive_lag_does_not() {
    let mut plan = scheduled();
    plan.change(|plan| plan.recording.clock = ReplyClock::Kernel);
    let lags = |summary: &mut Summary, unstamped: u64| {
        summary.receive.lag = timing((0..2000 - unstamped).map(|_| 30.0));
        summary.receive.unstamped = unstamped;
    };
    check_plan(&[], &plan, |summary| lags(summary, 0));
    check_plan(&["VALID unstamped"], &plan, |summary| lags(summary, 10));
    check_plan(&["SUSPECT unstamped"], &plan, |summary| lags(summary, 30));
    check_plan(&["SUSPECT clock set"], &plan, |summary| {
        lags(summary, 0);
        summary.receive.clock_steps = 1;
    });
}

#[test]
fn at_a_rate_the_kernels_clock_is_the_default_and_few_missing_stamps_are_no_news() {
    let plan = scheduled().with(|plan| plan.recording.clock = ReplyClock::Auto);
    let lags = |summary: &mut Summary, unstamped: u64| {
        summary.receive.lag = timing((0..2000 - unstamped).map(|_| 30.0));
        summary.receive.unstamped = unstamped;
    };
    check_plan(&[], &plan, |summary| lags(summary, 0));
    check_plan(&[], &plan, |summary| lags(summary, 90));
    check_plan(&["INVALID receive lag", "VALID unstamped"], &plan, |summary| lags(summary, 300));
    check_plan(&[], &plan, |summary| lags(summary, 2000));
    check_plan(&["SUSPECT clock set"], &plan, |summary| {
        lags(summary, 0);
        summary.receive.clock_steps = 1;
    });
    // Where calls wait for replies, they wait for these to be read.
    let several = plan.clone().with(|plan| plan.workload = connections(2000, 3, 1).workload.clone());
    check_plan(&["INVALID receive lag"], &several, |summary| lags(summary, 0));
    // A closed loop goes by the program's clock.
    let plan = connections(2000, 1, 1).with(|plan| plan.recording.clock = ReplyClock::Auto);
    check_plan(&["INVALID receive lag"], &plan, |summary| {
        summary.lag = Timing::default();
        lags(summary, 0);
    });
}

#[test]
fn a_saturated_thread_is_the_bottleneck_if_it_is_late() {
    let late = |summary: &mut Summary| {
        summary.lag = timing((0..2000).map(|_| 3.0));
        summary.calls[0].latency = timing((0..2000).map(|_| 40.0));
    };
    check(&[], |summary| summary.usage = usage(0.9, 0.0));
    check(&["SUSPECT client cpu"], |summary| summary.usage = usage(0.97, 0.0));
    check(&["INVALID client cpu"], |summary| {
        late(summary);
        summary.usage = usage(0.7, 0.15);
    });
    check(&[], |summary| {
        late(summary);
        summary.usage = usage(0.5, 0.05);
    });
    // A polling thread is always busy.
    check_plan(&[], &scheduled().with(|plan| plan.spin = true), |summary| summary.usage = usage(1.0, 0.0));
    // Without a schedule nothing can be late, but the generator still sets the pace.
    check_plan(&["SUSPECT client cpu"], &connections(2000, 1, 1), |summary| {
        summary.lag = Timing::default();
        summary.usage = usage(0.99, 0.0);
    });
}

#[test]
fn time_lost_to_others_is_named() {
    check(&["SUSPECT kept waiting"], |summary| summary.usage = usage(0.2, 0.12));
    check(&[], |summary| summary.usage = usage(0.2, 0.08));
    // Of both processors' time.
    check(&["SUSPECT time stolen"], |summary| summary.usage.stolen = Duration::from_millis(1100));
    check(&[], |summary| summary.usage.stolen = Duration::from_millis(900));
}

#[test]
fn the_busiest_and_the_longest_waiting_thread_count() {
    let plan = scheduled().with(|plan| plan.threads = Some(nonzero(3)));
    let three = |busiest: f64, longest: f64| {
        move |summary: &mut Summary| {
            for other in [usage(busiest, 0.0), usage(0.2, longest)] {
                summary.usage.workers.extend(other.workers);
            }
        }
    };
    check_plan(&[], &plan, three(0.5, 0.05));
    check_plan(&["SUSPECT client cpu"], &plan, three(0.97, 0.05));
    check_plan(&["SUSPECT kept waiting"], &plan, three(0.5, 0.15));
    let mut summary = sound();
    three(0.5, 0.15)(&mut summary);
    let reasons = verdict(&plan, &summary).reasons;
    assert_eq!(reasons[0].finding, Finding::KeptWaiting { share: 0.15, preempted: 7 });
}

#[test]
fn deviations_of_a_worker_s_intervals_are_relative_to_the_whole_schedule() {
    // Every third arrival is this worker's: its intervals are 15 ms, those of the whole schedule 5 ms. The others may be
    // threads of the plan, or of other ranks of a fleet.
    let off = |summary: &mut Summary| {
        summary.arrivals.intervals_due = timing((0..1997).map(|_| 15.0));
        summary.arrivals.intervals_started =
            timing((0..1997).map(|step| if step % 2 == 0 { 13.0 } else { 17.0 }));
    };
    check_plan(&["SUSPECT arrival process"], &scheduled().with(|plan| plan.threads = Some(nonzero(3))), off);
    check(&["SUSPECT arrival process"], off);
    check(&[], |summary| {
        off(summary);
        (summary.arrivals.span_due, summary.arrivals.span_started) = (ms(29_985.0), ms(29_985.0));
    });
}

#[test]
fn a_lower_rate_and_bursts_are_a_different_load() {
    check(&["SUSPECT rate"], |summary| summary.arrivals.due = 2040);
    check(&["INVALID rate"], |summary| summary.arrivals.due = 2300);
    check(&["SUSPECT rate"], |summary| summary.arrivals.span_started = ms(10_500.0));
    check(&["SUSPECT arrival process"], |summary| {
        summary.arrivals.intervals_started =
            timing((0..1999).map(|step| if step % 4 == 0 { 20.0 } else { 0.0 }));
    });
    // Arrivals that waited for a connection waited for the server: their starts exclude the wait, except in
    // old results.
    let held = |window| {
        move |summary: &mut Summary| {
            summary.window = window;
            summary.arrivals.held = 900;
            summary.arrivals.span_started = ms(12_000.0);
        }
    };
    check(&["INVALID rate", "VALID arrivals held"], held(Some(Window::default())));
    check(&["VALID arrivals held"], held(None));
    check(&["VALID arrivals held"], |summary| {
        summary.arrivals.held = 900;
        (summary.arrivals.due, summary.arrivals.waiting) = (2300, 300);
    });
}

#[test]
fn pauses_of_the_generator_are_named() {
    let paused = |total: f64| {
        move |summary: &mut Summary| {
            summary.pauses = Pauses { count: 7, total: ms(total), longest: ms(total / 2.0) };
        }
    };
    check(&[], paused(90.0));
    check(&["SUSPECT paused"], paused(100.0));
    check(&["INVALID paused"], paused(1000.0));
    check(&["INVALID paused"], paused(20_000.0));
}

#[test]
fn exhausted_resources_are_named_with_counts() {
    let errors = |failure: Failure, count: u64| {
        move |summary: &mut Summary| {
            (0..count).for_each(|_| summary.errors.add(failure));
        }
    };
    check(&["SUSPECT descriptors"], errors(Failure::FdUnavailable, 3));
    check(&["INVALID descriptors"], errors(Failure::FileTableFull, 30));
    check(&["INVALID ports"], errors(Failure::AddressUnavailable, 30));
    check(&[], errors(Failure::Reset, 1500));
}

#[test]
fn missing_or_too_few_calls_are_named() {
    let answered = |count: u32| {
        move |summary: &mut Summary| {
            summary.calls[0].latency = timing((0..count).map(|_| 4.0));
            summary.calls[0].service = timing((0..count).map(|_| 3.9));
        }
    };
    check(&["VALID few samples"], answered(999));
    check(&["SUSPECT few samples"], answered(99));
    check(&["SUSPECT few samples"], answered(0));
    check(&["VALID unfinished"], |summary| summary.unfinished = timing((0..5).map(|_| 100.0)));
    check(&["SUSPECT unfinished"], |summary| summary.unfinished = timing((0..50).map(|_| 100.0)));
    check(&["VALID arrivals skipped"], |summary| summary.arrivals_skipped = 3);
    check(&["SUSPECT arrivals skipped"], |summary| summary.arrivals_skipped = 300);
    check(&["SUSPECT log incomplete"], |summary| summary.calls_not_logged = 1);
    // Connections without calls are counted themselves.
    let mut plan = scheduled();
    plan.change(|plan| plan.workload = Workload::Connections(Connections::new(2000, 0)));
    check_plan(&[], &plan, answered(0));
}

#[test]
fn replies_that_are_not_as_they_should_be_are_replies() {
    let found = |change: &dyn Fn(&mut Summary)| {
        let mut summary = sound();
        let unexpected = CallOutcome::Unexpected as usize;
        summary.calls[unexpected].latency = timing((0..1000).map(|_| 1000.0));
        summary.calls[CallOutcome::Success as usize] = Clocks::default();
        change(&mut summary);
        verdict(&scheduled(), &summary).reasons
    };
    let share = |reason: &Reason| match reason.finding {
        Finding::Unfinished { share, .. } => Some(share),
        _ => None,
    };
    let pending = found(&|summary| summary.unfinished = timing([100.0; 5]));
    assert_eq!(pending.iter().find_map(share), Some(5.0 / 1005.0));
    let read_late = found(&|summary| summary.receive.lag = timing((0..1000).map(|_| 12.0)));
    assert!(
        !read_late.iter().any(|reason| matches!(reason.finding, Finding::ReceiveLag { .. })),
        "{read_late:?}"
    );
}

#[test]
fn the_least_percentile_that_is_missing_is_named() {
    for (calls, missing) in [(1, 0.5), (3, 0.75), (9, 0.9), (15, 0.95), (20, 0.99), (99, 0.99), (100, 0.999)]
    {
        let mut summary = sound();
        summary.calls[0].latency = timing((0..calls).map(|_| 4.0));
        let reasons = verdict(&scheduled(), &summary).reasons;
        let quantile = reasons.iter().find_map(|reason| match reason.finding {
            Finding::FewSamples { quantile, .. } => Some(quantile),
            _ => None,
        });
        assert_eq!(quantile, Some(missing), "{calls}");
    }
}

#[test]
fn a_stall_of_the_server_is_noted_and_does_not_affect_the_level() {
    let stall = |milliseconds: f64| {
        move |summary: &mut Summary| {
            summary.stall = Some(Stall { length: ms(milliseconds), from: ms(2500.0) });
        }
    };
    check(&["VALID server stall"], stall(1000.0));
    check(&[], stall(90.0));
    // A hundred milliseconds are nothing for a server that takes fifty per reply.
    check(&[], |summary| {
        summary.calls[0].service = timing((0..2000).map(|_| 50.0));
        stall(300.0)(summary);
    });
}

#[test]
fn a_run_without_records_is_not_valid() {
    let mut plan = scheduled();
    plan.change(|plan| plan.recording.detail = false);
    check_plan(&["SUSPECT not recorded"], &plan, |_| {});
}

#[test]
fn the_section_names_the_worst_first_and_says_what_it_means() {
    let mut summary = sound();
    summary.lag = timing((0..2000).map(|_| 900.0));
    summary.calls[0].latency = timing((0..2000).map(|_| 1000.0));
    summary.usage = usage(0.93, 0.05);
    summary.arrivals.due = 6000;
    summary.unfinished = timing([12.0; 90]);
    summary.calls_not_logged = 17;
    summary.stall = Some(Stall { length: ms(40_000.0), from: ms(2500.0) });
    (0..40).for_each(|_| summary.errors.add(Failure::AddressUnavailable));
    insta::assert_snapshot!(verdict_section(&verdict(&scheduled(), &summary)));
}

#[test]
fn the_client_is_to_blame_if_less_load_was_offered() {
    let blamed = |change: &dyn Fn(&mut Summary)| {
        let mut summary = sound();
        change(&mut summary);
        verdict(&scheduled(), &summary).blames_client()
    };
    assert!(!blamed(&|_| {}));
    assert!(blamed(&|summary| summary.arrivals.started = 1700));
    assert!(!blamed(&|summary| summary.arrivals.started = 1950), "a little less may be one late start");
    assert!(blamed(&|summary| summary.lag = timing((0..2000).map(|_| 20.0))));
    let now_and_then = timing((0..2000).map(|call| if call < 100 { 20.0 } else { 0.02 }));
    assert!(!blamed(&|summary| summary.lag = now_and_then.clone()), "what was late was offered");
    assert!(blamed(&|summary| summary.receive.lag = timing((0..2000).map(|_| 20.0))));
    assert!(!blamed(&|summary| summary.receive.lag = now_and_then.clone()), "what was read late was offered");
    assert!(blamed(&|summary| summary.usage = usage(0.97, 0.0)));
    assert!(!blamed(&|summary| summary.usage = usage(0.1, 0.2)));
    assert!(blamed(&|summary| summary.errors.add(Failure::FdUnavailable)));
    assert!(blamed(&|summary| summary.errors.add(Failure::AddressUnavailable)));
    assert!(!blamed(&|summary| summary.errors.add(Failure::Refused)), "that is the server");
    assert!(blamed(&|summary| summary.arrivals_skipped = 400));
    assert!(!blamed(&|summary| summary.arrivals_skipped = 4));
}
