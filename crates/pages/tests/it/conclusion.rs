//! Conclusions from simulated runs against servers whose limits are known.

use std::time::Duration;

use httperf_plan::{Arrivals, Cap, Excess, HttpVersion, Phases, Plan, Tls, UNLIMITED};
use httperf_report::ConclusionKind;
use httperf_report::result::Document;
use httperf_report::sweep::{Sweep, SweepConclusionKind};
use httperf_testkit::http2::Reply;
use httperf_testkit::sim::{
    Action, Deed, Edit, Http2Peer, Http3Deed, Http3Peer, HttpPeer, Link, Peer, StreamSeen, calls,
    connections, nonzero, reply, run, sessions, uniform,
};
use rand::{RngExt as _, SeedableRng as _};
use rand_distr::{Distribution, Exp, Pareto};
use rand_pcg::Pcg64Mcg;

use crate::documents::{document, ms};
use crate::sweeps;

/// A queue in front of workers with a service time. It decides when a request is answered, or turns it away if `queue` others
/// wait.
struct Queue<F> {
    free: Vec<Duration>,
    service: F,
    queue: usize,
    waiting: Vec<Duration>,
}

impl<F: FnMut() -> Duration> Queue<F> {
    fn new(workers: usize, service: F) -> Self {
        Self { free: vec![Duration::ZERO; workers], service, queue: usize::MAX, waiting: Vec::new() }
    }

    fn bounded(self, queue: usize) -> Self {
        Self { queue, ..self }
    }

    /// The delay of the answer; `None` if the request is turned away. Without workers, all requests are served at once.
    fn delay(&mut self, at: Duration) -> Option<Duration> {
        if self.free.is_empty() {
            return Some((self.service)());
        }
        self.waiting.retain(|&begins| begins > at);
        let free = self.free.iter_mut().min().expect("there is a worker");
        let begins = at.max(*free);
        if begins > at {
            if self.waiting.len() >= self.queue {
                return None;
            }
            self.waiting.push(begins);
        }
        *free = begins + (self.service)();
        Some(*free - at)
    }
}

fn http1(mut queue: Queue<impl FnMut() -> Duration + 'static>) -> impl Peer {
    HttpPeer::new(move |request| {
        vec![match queue.delay(request.at) {
            Some(delay) => Action::Send(delay, reply(200, "", "ok")),
            None => Action::Send(Duration::ZERO, reply(503, "", "")),
        }]
    })
}

fn http2(mut queue: Queue<impl FnMut() -> Duration + 'static>) -> impl Peer {
    Http2Peer::new(move |request| {
        vec![match queue.delay(request.at) {
            Some(delay) => Deed::Reply(delay, Reply::new(200).body("ok")),
            None => Deed::Reply(Duration::ZERO, Reply::new(503)),
        }]
    })
}

fn http3(mut queue: Queue<impl FnMut() -> Duration + 'static>) -> impl Peer {
    Http3Peer::new(move |request: &StreamSeen| {
        vec![match queue.delay(request.at) {
            Some(delay) => Http3Deed::Reply(delay, Reply::new(200).body("ok")),
            None => Http3Deed::Reply(Duration::ZERO, Reply::new(503)),
        }]
    })
}

/// A server that takes just as long for each request, one by one.
fn capacity(per_second: f64) -> Queue<impl FnMut() -> Duration> {
    let each = Duration::from_secs_f64(1.0 / per_second);
    Queue::new(1, move || each)
}

fn concluded(plan: &Plan, peer: impl Peer + 'static) -> Document {
    let link = Link { latency: Duration::from_micros(200), ..Link::default() };
    let outcome = run(plan, link, peer);
    assert!(!outcome.is_endless);
    document(plan.clone(), outcome.summary)
}

/// This many arrivals per second for this long, with the drain that a run has by default.
fn timed(rate: f64, seconds: u64, plan: Plan) -> Plan {
    plan.with(|plan| {
        plan.arrivals = Arrivals::Deterministic { period: 1.0 / rate };
        plan.runtime = Some(Duration::from_secs(seconds));
        plan.phases = Phases { warmup: Duration::ZERO, drain: Phases::usual_drain(None) };
    })
}

/// The same arrivals, but counted.
fn counted(rate: f64, seconds: u64, plan: Plan) -> Plan {
    timed(rate, seconds, plan).with(|plan| (plan.runtime, plan.phases) = (None, Phases::default()))
}

fn over_http2(plan: Plan) -> Plan {
    plan.with(|plan| plan.request.version = HttpVersion::Http2)
}

fn over_http3(plan: Plan) -> Plan {
    plan.with(|plan| {
        plan.request.version = HttpVersion::Http3;
        plan.tls = Some(Tls::default());
        plan.targets[0].tls_name = Some("server".to_owned());
    })
}

#[track_caller]
fn check(plan: &Plan, peer: impl Peer + 'static, kind: ConclusionKind, told: &str) -> Document {
    let document = concluded(plan, peer);
    let conclusion = &document.conclusion;
    assert_eq!(conclusion.kind, kind, "{conclusion:?}");
    assert!(conclusion.text.contains(told), "{conclusion:?}, expected `{told}`");
    document
}

/// All shapes of load against half to three times of what a server of 100 requests per second takes.
#[test]
fn a_server_of_a_fixed_capacity_keeps_up_below_it_and_falls_behind_above() {
    for factor in [0.5, 0.8, 0.95, 1.2, 1.5, 2.0, 3.0] {
        // A tenth of a second's work too much does not show in two seconds.
        for seconds in if factor == 1.2 { [5, 6, 8] } else { [2, 5, 8] } {
            let rate = factor * 100.0;
            let arrivals = (rate * seconds as f64) as u64;
            let one = || connections(UNLIMITED, 1, 1);
            let plans = [
                timed(rate, seconds, one()),
                timed(rate, seconds, calls(UNLIMITED, 1.0, 400)),
                timed(rate / 4.0, seconds, connections(UNLIMITED, 4, 1)),
                timed(rate / 2.0, seconds, sessions(1_000_000, uniform(2, 1, ms(10)))),
                counted(rate, seconds, connections(arrivals, 1, 1)),
                timed(rate, seconds, one()).with(|plan| plan.phases.warmup = ms(500)),
            ];
            let (kind, told) = match factor > 1.0 {
                false => (ConclusionKind::KeepsUp, "keeps up with "),
                true => (ConclusionKind::FallsBehind, "falls behind: answers "),
            };
            for plan in plans {
                let document = check(&plan, http1(capacity(100.0)), kind, told);
                assert_eq!(document.conclusion.latency_grows, factor > 1.0, "{:?}", document.conclusion);
            }
            let pooled = over_http2(timed(rate, seconds, calls(UNLIMITED, 1.0, 4)));
            check(&pooled, http2(capacity(100.0)), kind, told);
            if seconds == 5 {
                let pooled = over_http3(timed(rate, seconds, calls(UNLIMITED, 1.0, 4)));
                check(&pooled, http3(capacity(100.0)), kind, told);
            }
        }
    }
}

/// The load before left work behind, which the server does first.
#[test]
fn a_queue_that_is_there_already_is_no_sign_of_keeping_up() {
    for factor in [0.5, 0.7, 1.2, 1.5, 2.0, 3.0] {
        for seconds in [2, 5, 8] {
            for left in [100, 300, 800] {
                let mut queue = capacity(100.0);
                queue.free[0] = ms(left);
                let plan = timed(factor * 100.0, seconds, connections(UNLIMITED, 1, 1));
                let conclusion = concluded(&plan, http1(queue)).conclusion;
                let wrong = match factor > 1.0 {
                    true => ConclusionKind::KeepsUp,
                    false => ConclusionKind::FallsBehind,
                };
                // A fifth too much for two seconds is no more than what was left.
                if factor == 1.2 && seconds == 2 && left == 800 {
                    continue;
                }
                assert_ne!(conclusion.kind, wrong, "{factor}, {seconds} s, {left} ms left: {conclusion:?}");
                if factor >= 1.5 && seconds >= 5 {
                    assert_eq!(
                        conclusion.kind,
                        ConclusionKind::FallsBehind,
                        "{factor}, {left} ms left: {conclusion:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_server_that_keeps_up_is_never_said_to_fall_behind() {
    for seed in 0..300 {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let seconds = [1, 2, 3, 5, 10][random.random_range(0..5)];
        let rate = 10.0 * f64::from(random.random_range(2_u32..20));
        let (kind, mut service_random) = (random.random_range(0..4), Pcg64Mcg::seed_from_u64(seed + 1000));
        let load: f64 = random.random_range(0.1..0.8);
        // Queues of one and of eight workers; and servers that take long, but any number of requests at once.
        let (workers, mean) = match kind {
            0 => (1, load / rate),
            1 => (8, 8.0 * load / rate),
            _ => (0, random.random_range(0.001..1.0)),
        };
        let exponential = Exp::new(1.0 / mean).expect("above 0");
        let heavy = Pareto::new(mean / 3.0, 1.5).expect("above 0");
        let service = move || {
            let time: f64 = match kind {
                3 => heavy.sample(&mut service_random),
                _ => exponential.sample(&mut service_random),
            };
            Duration::from_secs_f64(time.min(5.0))
        };
        let plan = timed(rate, seconds, connections(UNLIMITED, 1, 1)).with(|plan| {
            if seed % 2 == 0 {
                plan.arrivals = Arrivals::Exponential { mean: 1.0 / rate };
            }
        });
        let conclusion = concluded(&plan, http1(Queue::new(workers, service))).conclusion;
        let is_right = matches!(
            conclusion.kind,
            ConclusionKind::KeepsUp | ConclusionKind::Answers | ConclusionKind::StoodStill
        );
        assert!(is_right, "seed {seed}, kind {kind}, {rate}/s for {seconds} s, load {load}: {conclusion:?}");
    }
}

/// On a busy machine, what is measured may be some milliseconds shorter than planned.
#[test]
fn a_run_that_began_late_is_judged_as_any_other() {
    let plan = timed(200.0, 4, connections(UNLIMITED, 1, 1));
    let mut summary = concluded(&plan, http1(capacity(100.0))).summary;
    summary.duration -= ms(70);
    let conclusion = document(plan, summary).conclusion;
    assert_eq!(conclusion.kind, ConclusionKind::FallsBehind, "{conclusion:?}");
}

#[test]
fn turning_calls_away_is_not_falling_behind() {
    let plan = timed(150.0, 5, connections(UNLIMITED, 1, 1));
    check(&plan, http1(capacity(100.0).bounded(10)), ConclusionKind::Refuses, "of the calls (503)");
    let plan = over_http2(timed(150.0, 5, connections(UNLIMITED, 1, 1)));
    check(&plan, http2(capacity(100.0).bounded(10)), ConclusionKind::Refuses, "of the calls (503)");
    let plan = over_http3(timed(150.0, 5, connections(UNLIMITED, 1, 1)));
    check(&plan, http3(capacity(100.0).bounded(10)), ConclusionKind::Refuses, "of the calls (503)");
}

#[test]
fn errors_are_named_with_their_share() {
    let plan = timed(100.0, 5, connections(UNLIMITED, 1, 1));
    let some = |one_in: usize, what: fn() -> Action| {
        HttpPeer::new(move |request| {
            vec![match request.connection % one_in {
                0 => what(),
                _ => Action::Send(ms(1), reply(200, "", "ok")),
            }]
        })
    };
    let error = || Action::Send(ms(1), reply(500, "", ""));
    check(&plan, some(4, error), ConclusionKind::Fails, "fails 25.0 % of the calls (500)");
    let reset = || Action::Reset(ms(1));
    check(&plan, some(10, reset), ConclusionKind::Fails, "fails 10.0 % of the calls (");
    check(
        &plan,
        some(250, error),
        ConclusionKind::KeepsUp,
        "keeps up with 100.0/s, but for 0.4 % in error (500)",
    );
}

#[test]
fn calls_that_time_out_were_not_answered_in_time() {
    let plan = timed(200.0, 5, connections(UNLIMITED, 1, 1))
        .with(|plan| plan.timeouts.timeout = Some(Duration::from_secs(1)));
    let document =
        check(&plan, http1(capacity(100.0)), ConclusionKind::FallsBehind, "falls behind: answers ");
    assert!(document.conclusion.answered_in_time < Some(0.5), "{:?}", document.conclusion);
    assert!(!document.conclusion.text.contains("fails"), "{:?}", document.conclusion);
}

#[test]
fn a_silence_is_no_falling_behind() {
    let plan = timed(100.0, 20, connections(UNLIMITED, 1, 1));
    let still = Duration::from_secs(12)..Duration::from_secs(13);
    let peer = HttpPeer::new(move |request| {
        let delay = if still.contains(&request.at) { still.end - request.at } else { ms(1) };
        vec![Action::Send(delay, reply(200, "", "ok"))]
    });
    let told = "stood still for 1.00 s at 12.0 s, and keeps up otherwise";
    let document = check(&plan, peer, ConclusionKind::StoodStill, told);
    assert!(document.conclusion.stood_still.is_some_and(|silence| (silence.length_s - 1.0).abs() < 0.02));
}

#[test]
fn a_bound_of_the_plan_is_no_limit_of_the_server() {
    let slow = || Queue::new(0, || ms(100));
    let plan = timed(200.0, 5, calls(UNLIMITED, 1.0, 10));
    check(
        &plan,
        http1(slow()),
        ConclusionKind::ClientLimited,
        "limited by --concurrency 10, not by the server",
    );
    let mut capped = connections(UNLIMITED, 1, 1);
    capped.change_connections(|connections| {
        connections.max_open = Some(Cap { connections: nonzero(10), excess: Excess::Waits });
    });
    let told = "limited by 10 connections that may be open (--max-open or --concurrency), not by the server";
    check(&timed(200.0, 5, capped), http1(slow()), ConclusionKind::ClientLimited, told);
}

#[test]
fn what_waits_for_replies_says_nothing_of_keeping_up() {
    let closed = |most: u32| {
        connections(UNLIMITED, UNLIMITED, 1).with(|plan| {
            plan.arrivals = Arrivals::Concurrent(nonzero(most));
            plan.runtime = Some(Duration::from_secs(5));
        })
    };
    let told = "/s to 10 connections that wait for their replies";
    check(&closed(10), http1(capacity(100.0)), ConclusionKind::Answers, told);
    let single = connections(1, 1, 1).with(|plan| plan.arrivals = Arrivals::Sequential);
    check(&single, http1(capacity(100.0)), ConclusionKind::Answers, "answers in 10.");
    let few = timed(1.0, 5, connections(UNLIMITED, 1, 1));
    check(&few, http1(capacity(100.0)), ConclusionKind::Answers, "too few calls to tell");
}

#[test]
fn without_a_reply_the_reason_is_the_conclusion() {
    let plan = timed(50.0, 2, connections(UNLIMITED, 1, 1));
    let peer = HttpPeer::new(|_| vec![Action::Reset(ms(1))]);
    check(&plan, peer, ConclusionKind::NoReply, "no reply: ");
}

/// A sweep over these rates against a server that is new for each run.
fn swept<P: Peer + 'static>(rates: &[f64], repeats: u32, server: impl Fn(u64) -> P) -> Sweep {
    let plan = |rate| {
        timed(rate, 10, connections(UNLIMITED, 1, 1)).with(|plan| {
            plan.arrivals = Arrivals::Exponential { mean: 1.0 / rate };
            plan.timeouts.timeout = Some(Duration::from_secs(1));
        })
    };
    let mut seed = 0;
    sweeps::of_runs(rates, repeats, plan(1.0), |rate, _| {
        seed += 1;
        concluded(&plan(rate), server(seed))
    })
}

/// Servers with queues that bend at 100/s: at once, softly, or after they have lost time to the queue itself.
#[test]
fn a_sweep_finds_the_knee_of_every_queue_between_two_of_its_rates() {
    let rates: Vec<f64> = (2..=16).map(|tenth| f64::from(tenth) * 10.0).collect();
    let random = |workers: u32| {
        move |seed| {
            let mut random = Pcg64Mcg::seed_from_u64(seed);
            let service = Exp::new(100.0 / f64::from(workers)).expect("above 0");
            http1(Queue::new(workers as usize, move || Duration::from_secs_f64(service.sample(&mut random))))
        }
    };
    for (name, sweep, least) in [
        ("fixed", swept(&rates, 1, |_| http1(capacity(100.0))), 80.0),
        ("M/M/1", swept(&rates, 1, random(1)), 60.0),
        ("M/M/8", swept(&rates, 1, random(8)), 60.0),
        ("M/M/1, thrice", swept(&rates, 3, random(1)), 60.0),
    ] {
        let figures = &sweep.figures;
        let (kept_up, fell_behind) = figures.knee_between.unwrap_or_else(|| panic!("{name}: {figures:?}"));
        assert!(
            (least..=110.0).contains(&kept_up) && fell_behind == kept_up + 10.0,
            "{name}: {kept_up}, {fell_behind}"
        );
        let most = figures.steps.iter().map(|step| step.reply_rate.value).fold(0.0, f64::max);
        let knee = figures.knee.unwrap_or_else(|| panic!("{name}: {figures:?}"));
        assert!(kept_up <= knee && knee <= fell_behind && knee <= most * 1.02, "{name}: {knee} of {most}");
        let told = format!("keeps up to {kept_up} connections/s; at {fell_behind}/s it answers ");
        assert!(figures.conclusion.text.starts_with(&told), "{name}: {:?}", figures.conclusion);
        assert_eq!(figures.knee_of_repeats.is_some(), name.ends_with("thrice"), "{name}");
    }
}

#[test]
fn a_server_that_answers_less_the_more_it_is_offered_collapses() {
    let rates: Vec<f64> = (2..=16).map(|tenth| f64::from(tenth) * 10.0).collect();
    // Each waiting request costs time: at twice its capacity it does little else.
    let sweep = swept(&rates, 1, |_| {
        let mut free = Duration::ZERO;
        HttpPeer::new(move |request| {
            let wait = free.saturating_sub(request.at);
            free = free.max(request.at) + ms(10) + wait.mul_f64(0.02);
            vec![Action::Send(free - request.at, reply(200, "", "ok"))]
        })
    });
    let conclusion = &sweep.figures.conclusion;
    assert_eq!(conclusion.kind, SweepConclusionKind::Collapses, "{conclusion:?}");
    assert!(conclusion.text.contains("collapses"), "{conclusion:?}");
}

#[test]
fn a_client_that_was_the_limit_is_no_knee() {
    let rates = [50.0, 100.0, 200.0, 400.0];
    let plan = |rate| timed(rate, 5, calls(UNLIMITED, 1.0, 10));
    let sweep = sweeps::of_runs(&rates, 1, plan(1.0), |rate, _| {
        concluded(&plan(rate), http1(Queue::new(0, || ms(100))))
    });
    let figures = &sweep.figures;
    // Ten connections with 100 ms each make 100 calls per second.
    assert_eq!(figures.knee, None, "{figures:?}");
    assert_eq!(figures.conclusion.kind, SweepConclusionKind::KeepsUp, "{:?}", figures.conclusion);
    let all = sweeps::of_runs(&[200.0, 400.0], 1, plan(1.0), |rate, _| {
        concluded(&plan(rate), http1(Queue::new(0, || ms(100))))
    });
    assert_eq!(
        all.figures.conclusion.kind,
        SweepConclusionKind::ClientLimited,
        "{:?}",
        all.figures.conclusion
    );
}
