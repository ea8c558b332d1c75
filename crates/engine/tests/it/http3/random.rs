//! Random runs: whatever happens, each call has one end, and the books balance.

use super::*;

/// Numbers at random (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (number ^ (number >> 31)) % sides
    }

    fn of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.roll(choices.len() as u64) as usize].clone()
    }
}

/// A server's treatment of a request.
fn whim(dice: &mut Dice, request: &StreamSeen) -> Vec<Deed> {
    let delay = ms(dice.roll(16));
    let sizes = [0, 5, 3_000, 40_000];
    let mut reply =
        Reply::new(200).body("x".repeat(dice.of(&sizes))).in_pieces_of(1 + dice.roll(5_000) as usize);
    if dice.roll(4) == 0 {
        reply = reply.interim(103).trailer("a", "b");
    }
    let odd = frame(dice.of(&[0, 1, 3, 4, 5, 7, 9, 13, 33]), &[0, 0x80][..dice.roll(3) as usize]);
    let next = u64::from(request.stream);
    match dice.roll(120) {
        0..4 => vec![Deed::Reset(delay, code::REQUEST_REJECTED)],
        4..7 => vec![Deed::Reset(delay, code::INTERNAL_ERROR)],
        7..9 => vec![Deed::Reply(NOW, reply), Deed::Reset(delay, code::REQUEST_CANCELLED)],
        9..12 => vec![Deed::Reply(delay, reply), Deed::GoAway(delay, None)],
        12..13 => vec![Deed::GoAway(delay, Some(next / 8 * 4))],
        13..14 => {
            let end = delay + ms(dice.roll(2));
            vec![
                Deed::GoAway(delay, Some(0)),
                Deed::Close(end, dice.of(&[code::NO_ERROR, code::EXCESSIVE_LOAD])),
            ]
        }
        14..16 => {
            vec![Deed::Reply(delay, reply), Deed::GoAway(delay, None), Deed::Close(ms(20), code::NO_ERROR)]
        }
        16..19 => vec![Deed::StopSending(NOW, code::NO_ERROR), Deed::Reply(delay, reply)],
        19..21 => vec![Deed::StopSending(delay, code::INTERNAL_ERROR)],
        21..24 => {
            vec![Deed::Close(delay, dice.of(&[code::NO_ERROR, code::INTERNAL_ERROR, code::EXCESSIVE_LOAD]))]
        }
        24..26 => vec![Deed::Reply(NOW, reply), Deed::Close(delay, code::NO_ERROR)],
        26..28 => vec![Deed::Forget(delay)],
        28..30 => vec![Deed::Leave(delay)],
        30..33 => vec![Deed::Stop(delay, ms(dice.roll(400))), Deed::Reply(delay, reply)],
        33..34 => vec![Deed::Stop(delay, Duration::MAX)],
        34..37 => Vec::new(),
        37..39 => vec![Deed::Bytes(delay, odd, dice.roll(2) == 0)],
        39..41 => vec![Deed::Control(delay, odd), Deed::Reply(delay, reply)],
        41..43 => vec![Deed::Bytes(delay, Vec::new(), true)],
        43..48 => vec![Deed::Slowly(delay, reply, 1 + dice.roll(9_000) as usize, ms(dice.roll(6)))],
        48..54 => vec![Deed::Reply(delay, Reply::new(503).body("sorry"))],
        _ => vec![Deed::Reply(delay, reply)],
    }
}

/// A plan, and how many calls it makes if they are all made whatever comes.
fn any_plan(dice: &mut Dice) -> (Plan, Option<u64>) {
    let together = 1 + dice.roll(12) as u32;
    let (mut plan, calls) = match dice.roll(6) {
        0 => (streams(60, 500.0, 2, together), Some(60)),
        1 => (
            streams(60, 200.0, 3, together)
                .with(|plan| plan.arrivals = Arrivals::Exponential { mean: 0.003 }),
            Some(60),
        ),
        2 => (over_http3(connections(6, 10, together.into())), None),
        3 => {
            let mut plan = over_http3(connections(6, 10, 1));
            plan.change_connections(|workload| workload.pipeline = nonzero(together));
            (plan.with(|plan| plan.arrivals = at_once(2)), None)
        }
        4 => (
            over_http3(connections(30, 1, 1))
                .with(|plan| plan.arrivals = Arrivals::Deterministic { period: 0.005 }),
            None,
        ),
        _ => {
            let mut plan = over_http3(sessions(6, uniform(10, together.into(), ms(1))));
            let (retries, fails) = (dice.roll(2) == 0, dice.roll(2) == 0);
            plan.change_sessions(|workload| {
                workload.retry_on_failure = retries;
                workload.failure_status = fails.then_some(503);
            });
            (plan, None)
        }
    };
    let body = dice.of(&[0, 0, 100, 30_000]);
    if body > 0 {
        plan = with_body(plan, body);
    }
    // Without a limit, QUIC's idle time-out ends what nobody answers.
    if dice.roll(3) > 0 {
        let limit = ms(50 + dice.roll(300));
        plan = with_timeout(plan, limit);
    }
    let resumption =
        dice.of(&[Resumption::Never, Resumption::Never, Resumption::WithinSession, Resumption::Share(0.5)]);
    let early_data = dice.roll(2) == 0;
    let is_narrow = dice.roll(4) == 0;
    let idle_timeout = dice.of(&[ms(200), 5 * SECOND, 30 * SECOND]);
    plan.change(|plan| {
        plan.tls = Some(Tls { resumption, early_data, ..Tls::default() });
        plan.quic.idle_timeout = idle_timeout;
        if is_narrow {
            plan.quic.window = QuicWindow::constant::<5_000>();
            plan.quic.stream_window = QuicWindow::constant::<2_000>();
        }
    });
    (plan, calls)
}

fn any_link(dice: &mut Dice, seed: u64) -> Link {
    Link {
        seed,
        latency: ms(dice.roll(20)),
        jitter: ms(dice.roll(5)),
        hostile: dice.roll(2) == 0,
        loss: dice.of(&[0.0, 0.0, 0.02, 0.1, 0.3]),
        repeat: dice.of(&[0.0, 0.0, 0.1]),
        reorder: dice.of(&[0.0, 0.0, 0.2]),
        reorder_by: ms(1 + dice.roll(30)),
        congestion: dice.of(&[0.0, 0.0, 0.05]),
        datagram_max: dice.of(&[usize::MAX, usize::MAX, 1300]),
        told_max: dice.of(&[usize::MAX, usize::MAX, 1]),
        late: ms(dice.of(&[0, 0, 3])),
        ..Link::default()
    }
}

/// A random run: it ends, each call has one end, and the books balance.
fn check_random_run(seed: u64, options: &Options) {
    let mut dice = Dice(seed);
    let (plan, calls) = any_plan(&mut dice);
    let link = any_link(&mut dice, seed);
    let options = Options {
        retries: dice.roll(6) == 0,
        early_data: dice.roll(3) > 0,
        streams: dice.of(&[1, 3, 100, 100]),
        window: dice.of(&[3_000, 1 << 20, 1 << 20]),
        idle_timeout: dice.of(&[Some(ms(300)), Some(30 * SECOND), None]),
        ..options.clone()
    };
    let server = Config::new(&options);
    let is_eager = dice.roll(4) == 0;
    let mut whims = Dice(seed ^ 1);
    let peer = Http3Peer::with(&server, move |request: &StreamSeen| whim(&mut whims, request));
    let peer = if is_eager { peer.eager() } else { peer };
    let peer = if dice.roll(8) == 0 { peer.standing_still(ms(20)..ms(20 + dice.roll(300))) } else { peer };
    let peer = if dice.roll(4) == 0 { peer.in_turn_with(&Config::new(&options)) } else { peer };
    let heard = peer.heard();
    let reception = move |connection| match Dice(seed ^ connection as u64).roll(30) {
        0 => Reception::Refuse,
        1 => Reception::Ignore,
        2 => Reception::Itself,
        _ => Reception::Accept,
    };
    let run = run(&plan, link, Receiving(reception, peer));

    assert!(!run.is_endless, "the run must end by itself");
    assert!(run.connections.iter().all(|trace| trace.closed.is_some()), "all is closed at the end");
    let summary = &run.summary;
    assert_eq!(summary.connections, run.connections.len() as u64);
    let count = |outcome: &CallOutcome| summary.calls_with(*outcome).latency.moments.count();
    let ended: u64 = CallOutcome::ALL.iter().map(count).sum();
    assert_eq!(summary.replies, summary.statuses.iter().sum::<u64>());
    assert_eq!(ended - failed(summary), summary.replies, "a call ends once");
    assert_eq!(summary.unfinished.moments.count(), 0);
    let offered: u64 = summary.series.intervals().iter().map(|interval| interval.offered).sum();
    assert_eq!(offered, ended, "each call that was begun has an end in the books");
    if let Some(calls) = calls {
        assert_eq!(ended, calls);
    }
    let figures = http3(summary);
    // Where sockets refuse datagrams, the last of a request may leave when its call has ended already.
    let ended_before = summary.answered_early + failed(summary) + figures.unprocessed;
    let requests = summary.requests + if link.hostile { ended_before } else { 0 };
    assert!(heard.requests() <= requests, "the peer heard {} of {requests}", heard.requests());
    assert!(figures.streams >= summary.replies && figures.unprocessed <= figures.streams, "{figures:?}");
    let quic = figures.quic.clone().expect("HTTP/3 goes over QUIC");
    assert!(quic.packets_lost <= quic.packets_sent && quic.datagrams_sent >= run.to_peer.sent, "{quic:?}");
    match &plan.workload {
        Workload::Sessions(sessions) => {
            let fates = summary.sessions.as_ref().expect("the plan has sessions");
            assert_eq!(fates.completed + fates.failed, sessions.count);
        }
        Workload::Connections(connections) => {
            assert!(ended <= connections.count * connections.calls);
        }
        _ => {}
    }
}

/// `HTTPERF_HOSTILE`: the number of runs. `HTTPERF_HOSTILE_SEED`: the only seed.
#[test]
fn whatever_happens_each_call_ends_once_and_no_run_hangs() {
    let number = |name: &str| std::env::var(name).ok().map(|value| value.parse::<u64>().expect("a number"));
    let seeds = match number("HTTPERF_HOSTILE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HTTPERF_HOSTILE").unwrap_or(200),
    };
    let options = Options::new();
    let mut bad = Vec::new();
    for seed in seeds {
        let run = AssertUnwindSafe(|| check_random_run(seed, &options));
        if catch_unwind(run).is_err() {
            eprintln!("in the run with HTTPERF_HOSTILE_SEED={seed}");
            bad.push(seed);
        }
    }
    assert!(bad.is_empty(), "runs with these seeds went wrong: {bad:?}");
}

#[test]
fn what_arrives_behind_the_end_of_a_run_is_of_no_consequence() {
    let plan = over_http3(connections(UNLIMITED, UNLIMITED, 1)).with(|plan| {
        plan.arrivals = at_once(3);
        plan.runtime = Some(ms(105));
    });
    let mut silent = Silent;
    let run = run_shard(&plan, Shard::WHOLE, far(2), ok_after(ms(20)), &mut silent);
    assert!(!run.is_endless && run.summary.errors.total() == 0);
    assert!(run.connections.iter().all(|trace| trace.closed.is_some()));
}
