//! Whole runs in memory, for what was found by reading the worker with suspicion.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::ops::Range;
use std::time::{Duration, SystemTime};

use httperf_engine::{Network, Observation, Observer, Ready, Received, Silent, Worker};
use httperf_plan::{
    Arrivals, Assignment, Cap, Endpoint, Excess, HttpVersion, Plan, Resumption, Script, Shard, ThinkTime,
    Timeouts, Tls, TlsVersion, UriSource, Workload,
};
use httperf_stats::{CallOutcome, Counters, Failure, Instant, Interval, Summary, Transport};
use httperf_testkit::sim::{
    Action, Edit, Goodbye, HttpPeer, Link, Peer, RequestSeen, Run, TlsPeer, at_once, calls, connections,
    listed, nonzero, reply, run, run_observed, sessions, tls_server, uniform,
};
use proptest::prelude::*;
use rustix::io::Errno;

const NOW: Duration = Duration::ZERO;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The latencies of calls that succeeded: their count, and their sum in milliseconds.
fn latencies(run: &Run) -> (u64, f64) {
    let moments = &run.summary.calls_with(CallOutcome::Success).latency.moments;
    (moments.count(), (moments.sum() * 1e6).round() / 1e3)
}

#[test]
fn calls_that_wait_for_room_on_a_connection_are_due_since_they_were_ready() {
    // One call, then five that are ready together and go one after the other.
    let mut plan = sessions(1, uniform(6, 6, NOW));
    plan.change_sessions(|sessions| {
        (sessions.max_connections, sessions.max_piped_calls) = (nonzero(1), nonzero(1));
    });
    let peer = HttpPeer::new(|_| vec![Action::Send(ms(10), reply(200, "", "hello"))]);
    let run = run(&plan, Link::default(), peer);
    assert_eq!(latencies(&run), (6, 10.0 + 10.0 + 20.0 + 30.0 + 40.0 + 50.0));
}

#[test]
fn an_object_of_a_page_is_due_since_it_was_found() {
    let plan = sessions(1, Script::Pages { pages: 1, think: NOW })
        .with(|plan| plan.uris = UriSource::Fixed(b"/page.html".to_vec()));
    let peer = HttpPeer::new(|request: &RequestSeen| match request.uri() {
        "/page.html" => {
            let head = reply(200, "Content-Type: text/html\r\n", "<img src=a.png>12345");
            let (begin, end) = head.split_at(head.len() - 5);
            vec![Action::Send(ms(50), begin.to_vec()), Action::Send(ms(70), end.to_vec())]
        }
        _ => vec![Action::Send(ms(10), reply(200, "", "data"))],
    });
    let run = run(&plan, Link::default(), peer);
    // The object goes on the page's connection, whose replies keep their order: it is answered at 70.
    assert_eq!(latencies(&run), (2, 70.0 + 20.0));
}

#[test]
fn only_requests_that_early_data_had_room_for_count_as_early() {
    let tls = Tls { early_data: true, resumption: Resumption::Share(1.0), ..Tls::default() };
    let mut plan = connections(2, 600, 600).with(|plan| plan.tls = Some(tls));
    plan.change(|plan| plan.targets[0].tls_name = Some("server".to_owned()));
    let inner = HttpPeer::new(|_| vec![Action::Send(NOW, reply(200, "", "hello"))]);
    let run = run(
        &plan,
        Link { latency: ms(1), ..Link::default() },
        TlsPeer::new(inner, tls_server().build(), Goodbye::Said),
    );
    assert_eq!((run.summary.replies, run.summary.errors.total()), (1200, 0));
    let early = run.summary.tls.unwrap().early_requests;
    // The library takes 14,336 bytes of early data; a request has 55.
    assert_eq!(early.accepted, 14_336u64.div_ceil(55));
}

fn script() -> impl Strategy<Value = Script> {
    prop_oneof![
        (1u64..7, 1u64..4, 0u64..20).prop_map(|(calls, burst, think)| uniform(calls, burst, ms(think))),
        (1u64..3, 0u64..20).prop_map(|(pages, think)| Script::Pages { pages, think: ms(think) }),
    ]
}

fn workload() -> impl Strategy<Value = Plan> {
    let by_connection = (0u64..20, 0u64..6, 1u64..4, prop::option::of(1u32..4)).prop_map(
        |(count, calls, burst, max_open)| {
            let mut plan = connections(count, calls, burst);
            plan.change_connections(|connections| {
                connections.max_open = max_open
                    .map(|connections| Cap { connections: nonzero(connections), excess: Excess::Skipped });
            });
            plan
        },
    );
    let by_session = (0u64..8, script(), 1u32..4, 1u32..5, any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(count, script, slots, piped, retry, fails, cookies)| {
            let mut plan = sessions(count, script);
            plan.change_sessions(|sessions| {
                (sessions.max_connections, sessions.max_piped_calls) = (nonzero(slots), nonzero(piped));
                sessions.retry_on_failure = retry;
                sessions.failure_status = fails.then_some(503);
                sessions.cookies = cookies;
            });
            plan
        });
    let by_call =
        (0u64..30, 1u32..5, 1u32..4, any::<bool>()).prop_map(|(count, slots, pipeline, in_turn)| {
            let mut plan = calls(count, 100.0, slots);
            plan.change_calls(|calls| {
                calls.pipeline = Some(nonzero(pipeline));
                calls.assignment = if in_turn { Assignment::InTurn } else { Assignment::AnyFree };
            });
            plan
        });
    let closed_loop = (0u64..20, 0u64..9, 1u32..5, 0u64..20).prop_map(|(count, calls, pipeline, think)| {
        let mut plan = connections(count, calls, 1);
        plan.change_connections(|connections| {
            (connections.pipeline, connections.think) = (nonzero(pipeline), ms(think));
        });
        plan
    });
    let uris = prop_oneof![
        3 => Just(UriSource::Fixed(b"/page.html".to_vec())),
        1 => (1usize..20, any::<bool>()).prop_map(|(count, wrap)| UriSource::List {
            uris: listed(vec![b"/page.html".to_vec(); count]),
            wrap
        }),
    ];
    let arrivals = prop_oneof![
        Just(Arrivals::Sequential),
        (1u32..5).prop_map(at_once),
        (0u64..30).prop_map(|period| Arrivals::Deterministic { period: period as f64 / 1e3 }),
    ];
    let version = prop_oneof![Just(HttpVersion::Http11), Just(HttpVersion::Http10)];
    let resumption = prop_oneof![
        Just(Resumption::Never),
        Just(Resumption::WithinSession),
        (0.0..=1.0).prop_map(Resumption::Share),
    ];
    let max = prop_oneof![Just(TlsVersion::Tls12), Just(TlsVersion::Tls13)];
    let tls =
        prop::option::of((resumption, max, any::<bool>()).prop_map(|(resumption, max, early_data)| Tls {
            resumption,
            max,
            early_data,
            ..Tls::default()
        }));
    let timeouts = prop_oneof![Just((Some(100), Some(50))), Just((Some(100), None))];
    let size = prop_oneof![3 => Just(0usize), 1 => 1usize..200_000];
    (
        prop_oneof![by_connection, by_session, by_call, closed_loop],
        uris,
        arrivals,
        version,
        tls,
        timeouts,
        size,
    )
        .prop_map(|(mut plan, uris, arrivals, version, tls, (timeout, think), size)| {
            plan.change(|plan| plan.request.version = version);
            if size > 0 {
                plan.change(|plan| {
                    plan.request.extra_headers = format!("X: {}\r\n", "x".repeat(size)).into_bytes();
                });
            }
            let think_timeout = think.map(|think| ThinkTime::More(ms(think)));
            plan.change(|plan| plan.timeouts = Timeouts { timeout: timeout.map(ms), think_timeout });
            plan.with(|plan| {
                plan.uris = uris;
                plan.arrivals = arrivals;
                plan.tls = tls;
            })
        })
}

fn moody(seed: u64) -> impl Peer {
    let mut state = seed;
    HttpPeer::new(move |request| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let fields = "Content-Type: text/html\r\nSet-Cookie: A=b\r\nLocation: /moved\r\n";
        let body = match request.uri() {
            "/page.html" => "<img src=a.png><iframe src=b.html></iframe><img src=http://x/y>".to_owned(),
            "/b.html" => {
                "<img src=c.png><img src=d.png>".to_owned() + &"y".repeat((state >> 20) as usize % 200_000)
            }
            _ => "hello".to_owned(),
        };
        let good = reply(200, fields, &body);
        match (state >> 33) % 60 {
            0 => vec![Action::Send(ms(30), good)],
            1 => vec![Action::Send(NOW, good), Action::Close(NOW)],
            2 => vec![Action::Send(NOW, reply(200, "Connection: close\r\n", &body)), Action::Close(NOW)],
            3 => vec![Action::Close(NOW)],
            4 => vec![Action::Reset(NOW)],
            5 => vec![Action::Send(NOW, good[..good.len() - 2].to_vec()), Action::Close(NOW)],
            6 => Vec::new(),
            7 => vec![Action::Send(NOW, b"\0\xff garbage \r\n\r\n".to_vec()), Action::Close(ms(1))],
            8 => vec![Action::Send(NOW, [good, b"surplus".to_vec()].concat())],
            9..12 => vec![Action::Send(NOW, reply(503, "", "sorry"))],
            12 => vec![Action::Send(NOW, [b"HTTP/1.1 100 Continue\r\n\r\n".to_vec(), good].concat())],
            13 => vec![Action::Send(NOW, good[..good.len() / 2].to_vec()), Action::Reset(ms(1))],
            14 => vec![Action::Send(NOW, b"HTTP/1.1 200 OK\r\n\r\nall".to_vec()), Action::Close(ms(1))],
            15 => vec![Action::Send(NOW, good), Action::Reset(ms(1))],
            _ => vec![Action::Send(NOW, good)],
        }
    })
}

/// The intervals that were told of while the run went on.
#[derive(Default)]
struct Told(Vec<Interval>);

impl Observer for Told {
    fn observe(&mut self, what: Observation<'_>) {
        if let Observation::Interval { interval } = what {
            self.0.push(interval.clone());
        }
    }
}

/// Arrivals, calls offered, replies and failed calls.
fn sums(intervals: &[Interval]) -> [u64; 4] {
    let counts = |one: &Interval| [one.arrivals, one.offered, one.replies, one.failed_calls];
    intervals.iter().map(counts).fold([0; 4], |sums, counts| std::array::from_fn(|at| sums[at] + counts[at]))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Every run ends, whatever workload meets whatever peer.
    #[test]
    fn every_run_ends_and_every_call_is_accounted_for_once(
        plan in workload(),
        seed in any::<u64>(),
        hostile in any::<bool>(),
        latency in 0u64..5,
        sockets_max in prop_oneof![3 => Just(usize::MAX), 1 => 1usize..5],
        goodbye in prop_oneof![Just(Goodbye::Said), Just(Goodbye::Withheld)],
    ) {
        let link = Link { seed, latency: ms(latency), hostile, sockets_max, ..Link::default() };
        let mut told = Told::default();
        let run = match &plan.tls {
            Some(_) => {
                let peer = TlsPeer::new(moody(seed), tls_server().build(), goodbye);
                run_observed(&plan, link, peer, &mut told)
            }
            None => run_observed(&plan, link, moody(seed), &mut told),
        };
        let summary = &run.summary;
        prop_assert!(!run.is_endless, "the run must end by itself");
        prop_assert!(run.connections.iter().all(|trace| trace.closed.is_some()), "all is closed at the end");
        prop_assert_eq!(summary.replies, summary.statuses.iter().sum::<u64>());
        prop_assert!(summary.replies <= summary.requests + summary.answered_early);
        let completed = summary.completed();
        prop_assert_eq!(completed.latency.moments.count(), summary.replies);
        prop_assert_eq!(completed.service.moments.count(), summary.replies);
        prop_assert!(completed.service.moments.sum() <= completed.latency.moments.sum() + 1e-9);
        let failed = summary.calls_with(CallOutcome::Failure);
        let intervals = summary.series.intervals();
        if !intervals.is_empty() {
            let offered: u64 = intervals.iter().map(|interval| interval.offered).sum();
            let begun =
                summary.replies + failed.latency.moments.count() + summary.unfinished.moments.count();
            prop_assert_eq!(offered, begun, "every call that was begun has one end");
            let of = |count: fn(&Interval) -> u64| intervals.iter().map(count).sum::<u64>();
            prop_assert_eq!(sums(&told.0), sums(intervals), "who watches hears of everything");
            prop_assert_eq!(of(|interval| interval.replies), summary.replies);
            prop_assert_eq!(of(|interval| interval.sent), summary.requests);
            prop_assert_eq!(of(|interval| interval.failed_calls), failed.latency.moments.count());
            prop_assert_eq!(of(|interval| interval.errors.total()), summary.errors.total());
        }
        match &plan.workload {
            Workload::Connections(workload) => {
                let listed = matches!(plan.uris, UriSource::List { wrap: false, .. });
                let offered = workload.count * workload.calls;
                let seen = summary.replies + failed.latency.moments.count() + summary.calls_not_offered;
                prop_assert!(seen <= offered, "{seen} of {offered}");
                if !listed && summary.errors.total() == 0 && summary.arrivals_skipped == 0 {
                    prop_assert_eq!(seen, offered);
                }
                if !listed && summary.errors.count(Failure::FdUnavailable) == 0 {
                    // Calls that the server did not process may go to further connections.
                    let may_go_on = workload.pipeline.get() > 1 || matches!(plan.arrivals, Arrivals::Concurrent(_));
                    let connections = summary.connections + summary.arrivals_skipped;
                    prop_assert!(connections == workload.count || may_go_on && connections > workload.count);
                }
            }
            Workload::Scenarios(_) | Workload::Replay(_) => unreachable!("no plan here has scenarios"),
            Workload::Calls(calls) => {
                let ended = summary.replies + failed.latency.moments.count();
                let listed = match &plan.uris {
                    UriSource::List { uris, wrap: false } => uris.len() as u64,
                    _ => u64::MAX,
                };
                prop_assert_eq!(ended, calls.count.min(listed));
            }
            Workload::Sessions(sessions) => {
                let ended = summary.sessions.as_ref().expect("the plan has sessions");
                if !matches!(plan.uris, UriSource::List { wrap: false, .. }) {
                    prop_assert_eq!(ended.completed + ended.failed, sessions.count);
                }
                let replies: u64 = ended.lengths.iter().map(|(length, count)| length * count).sum();
                prop_assert_eq!(replies, summary.replies);
            }
        }
        if let Some(tls) = &summary.tls {
            let early = tls.early_requests;
            prop_assert!(early.replayed <= early.rejected);
            prop_assert!(tls.completed() + tls.failed() <= summary.connections);
        }
    }
}

/// A network whose every wait does what a step says, for what the world in memory does not do.
struct Scripted {
    now: Instant,
    steps: VecDeque<Step>,
    /// By number of connection.
    sockets: Vec<Socket>,
    /// How long it takes to read once.
    read_time: Duration,
}

/// A wait: how long it takes, what changes meanwhile, and of which connections it tells.
struct Step {
    pause: Duration,
    arrives: Vec<(usize, Vec<u8>)>,
    breaks: Vec<usize>,
    tells: Vec<(usize, Ready)>,
}

#[derive(Default)]
struct Socket {
    key: u64,
    incoming: Vec<u8>,
    /// Bytes that it takes; one that is broken takes none and says so.
    room: usize,
    is_broken: bool,
}

impl Scripted {
    /// Sockets with this much room for bytes to write.
    fn new(count: usize, room: usize, steps: Vec<Step>) -> Self {
        let sockets = (0..count).map(|_| Socket { room, ..Socket::default() }).collect();
        Self { now: Instant::default(), steps: steps.into(), sockets, read_time: NOW }
    }
}

fn carry_out(plan: &Plan, network: Scripted) -> Summary {
    Worker::new(plan, Shard::WHOLE, None, network, &mut Silent).run().expect("a script never fails")
}

impl Network for Scripted {
    type Socket = usize;

    fn now(&mut self) -> Instant {
        self.now
    }

    fn wall_clock(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }

    fn open(&mut self, _: &Endpoint) -> io::Result<usize> {
        Ok(self.sockets.iter().position(|socket| socket.key == 0).expect("the test has sockets enough"))
    }

    fn connect(&mut self, socket: &usize, key: u64, _: &Endpoint, _: Option<IpAddr>) -> io::Result<()> {
        self.sockets[*socket].key = key;
        Ok(())
    }

    fn take_error(&mut self, _: &usize) -> Option<io::Error> {
        None
    }

    fn read(&mut self, socket: &usize, buffer: &mut [u8]) -> io::Result<Received> {
        self.now = self.now + self.read_time;
        let socket = &mut self.sockets[*socket];
        let count = buffer.len().min(socket.incoming.len());
        if count == 0 {
            return Err(if socket.is_broken { Errno::CONNRESET } else { Errno::AGAIN }.into());
        }
        buffer[..count].copy_from_slice(&socket.incoming[..count]);
        socket.incoming.drain(..count);
        Ok(count.into())
    }

    fn discard(&mut self, socket: &usize, count: usize) -> io::Result<Received> {
        self.read(socket, &mut vec![0; count])
    }

    fn write(&mut self, socket: &usize, pieces: [&[u8]; 2]) -> io::Result<usize> {
        let socket = &mut self.sockets[*socket];
        let count = pieces.concat().len().min(socket.room);
        match (socket.is_broken, count) {
            (true, _) => Err(Errno::PIPE.into()),
            (false, 0) => Err(io::ErrorKind::WouldBlock.into()),
            (false, _) => {
                socket.room -= count;
                Ok(count)
            }
        }
    }

    fn wait(&mut self, deadline: Option<Instant>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        let Some(step) = self.steps.pop_front() else {
            self.now = self.now.max(deadline.expect("something is due"));
            assert!(self.now - Instant::default() < Duration::from_secs(100), "the run must end by itself");
            return Ok(());
        };
        self.now = self.now + step.pause;
        for (socket, bytes) in step.arrives {
            self.sockets[socket].incoming.extend(bytes);
        }
        step.breaks.into_iter().for_each(|socket| self.sockets[socket].is_broken = true);
        let told = step.tells.into_iter();
        ready.extend(told.map(|(socket, what)| Ready { key: self.sockets[socket].key, ..what }));
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        Counters::default()
    }

    fn transport(&mut self, _: &usize) -> Option<Transport> {
        None
    }

    fn stop_requested(&self) -> bool {
        false
    }
}

const WRITABLE: Ready = Ready { key: 0, readable: false, writable: true, ended: false, failed: false };
const READABLE: Ready = Ready { readable: true, ..WRITABLE };
const RESET: Ready = Ready { ended: true, failed: true, ..READABLE };

fn established(count: usize) -> Step {
    let tells = (0..count).map(|socket| (socket, WRITABLE)).collect();
    Step { pause: NOW, arrives: Vec::new(), breaks: Vec::new(), tells }
}

#[test]
fn a_reply_that_came_in_time_counts_though_the_poller_tells_of_it_late() {
    // The worker sleeps through its time limit, and the poller tells of one socket at a time.
    let timeouts = Timeouts { timeout: Some(ms(100)), think_timeout: None };
    let plan = connections(3, 1, 1).with(|plan| {
        plan.arrivals = at_once(3);
        plan.timeouts = timeouts;
    });
    let answer = || reply(200, "", "hello");
    let lot = |pause, socket| Step {
        pause,
        arrives: if socket == 0 { vec![(0, answer()), (1, answer())] } else { Vec::new() },
        breaks: Vec::new(),
        tells: vec![(socket, READABLE)],
    };
    let steps = vec![established(3), lot(ms(200), 0), lot(NOW, 1)];
    let summary = carry_out(&plan, Scripted::new(3, 1000, steps));
    assert_eq!((summary.replies, summary.errors.count(Failure::ClientTimeout)), (2, 1));
}

#[test]
fn a_server_that_answers_early_and_resets_is_heard() {
    let mut plan = connections(1, 1, 1);
    plan.change(|plan| plan.request.extra_headers = format!("X: {}\r\n", "x".repeat(10_000)).into_bytes());
    let refusal = Step {
        pause: ms(1),
        arrives: vec![(0, reply(413, "Connection: close\r\n", "too large"))],
        breaks: vec![0],
        tells: vec![(0, RESET)],
    };
    let summary = carry_out(&plan, Scripted::new(1, 1000, vec![established(1), refusal]));
    assert_eq!((summary.replies, summary.statuses[3], summary.errors.total()), (1, 1, 0));
}

#[test]
fn a_reply_that_came_before_a_write_failed_counts_if_it_is_complete() {
    let large = |mut plan: Plan| {
        plan.change(|plan| {
            plan.request.extra_headers = format!("X: {}\r\n", "x".repeat(10_000)).into_bytes();
        });
        plan
    };
    // The poller says that there is room again; writing finds out that there is nobody to take it.
    let broken = |arrives: &[u8]| Step {
        pause: ms(1),
        arrives: vec![(0, arrives.to_vec())],
        breaks: vec![0],
        tells: vec![(0, WRITABLE)],
    };
    let answer = reply(413, "", "too large");
    let cases: [(&[u8], u64, u64); 4] = [
        (&answer, 1, 0),
        (&answer[..answer.len() - 1], 0, 1),
        (b"", 0, 1),
        // Its end would be that of the connection, of which nothing is known any more.
        (b"HTTP/1.1 413 X\r\n\r\ntoo large", 0, 1),
    ];
    for (arrives, replies, resets) in cases {
        let plan = large(connections(1, 1, 1));
        let summary = carry_out(&plan, Scripted::new(1, 1000, vec![established(1), broken(arrives)]));
        let counts = (summary.replies, summary.errors.count(Failure::Reset), summary.errors.total());
        assert_eq!(counts, (replies, resets, resets), "{}", String::from_utf8_lossy(arrives));
        assert_eq!((summary.requests, summary.answered_early), (0, replies));
    }
}

#[test]
fn what_becomes_of_a_pool_between_its_opening_and_the_start_is_heard() {
    // One connection is reset in that time: the call opens another.
    let reset = Step { pause: ms(1), arrives: Vec::new(), breaks: vec![0], tells: vec![(0, RESET)] };
    let again = Step { pause: NOW, arrives: Vec::new(), breaks: Vec::new(), tells: vec![(1, WRITABLE)] };
    let answer = Step {
        pause: ms(1),
        arrives: vec![(1, reply(200, "", "hello"))],
        breaks: Vec::new(),
        tells: vec![(1, READABLE)],
    };
    let network = Scripted::new(2, 1000, vec![established(1), reset, again, answer]);
    let plan = calls(1, 1000.0, 1);
    let mut silent = Silent;
    let mut worker = Worker::new(&plan, Shard::WHOLE, None, network, &mut silent);
    worker.prepare().expect("a script never fails");
    worker.start_at(Instant::default() + ms(1));
    let summary = worker.run().expect("a script never fails");
    assert_eq!((summary.replies, summary.errors.total(), summary.connections), (1, 0, 2));
}

#[test]
fn a_server_that_answers_before_it_is_asked_is_heard() {
    let answer = Step {
        pause: NOW,
        arrives: vec![(0, reply(200, "", "hello"))],
        breaks: Vec::new(),
        tells: vec![(0, READABLE)],
    };
    let summary = carry_out(&connections(1, 1, 1), Scripted::new(1, 1000, vec![answer]));
    assert_eq!((summary.replies, summary.errors.total()), (1, 0));
}

#[test]
fn arrivals_do_not_wait_for_the_end_of_many_replies() {
    // 64 connections at once, and one more at 1.5 ms: half a millisecond after all 64 replies came, each of which takes
    // a tenth of a millisecond.
    let mut steps = vec![httperf_plan::Step { period: 0.0, duration: 0.0 }; 63];
    steps.push(httperf_plan::Step { period: 0.0015, duration: 0.0 });
    let plan = connections(65, 1, 1).with(|plan| plan.arrivals = Arrivals::Variable(listed(steps)));
    let answers = |sockets: Range<usize>| Step {
        pause: ms(1),
        arrives: sockets.clone().map(|socket| (socket, reply(200, "", "hello"))).collect(),
        breaks: Vec::new(),
        tells: sockets.map(|socket| (socket, READABLE)).collect(),
    };
    let script = vec![established(64), answers(0..64), established(0), answers(64..65)];
    let summary = carry_out(
        &plan,
        Scripted { read_time: Duration::from_micros(100), ..Scripted::new(65, 1000, script) },
    );
    assert_eq!((summary.replies, summary.lag.moments.count()), (65, 65));
    assert!(summary.lag.moments.max() < 0.002, "{}", summary.lag.moments.max());
    // The others were there when the poller told of them, however long they took to read.
    assert_eq!(
        summary.calls_with(CallOutcome::Success).service.quantile(0.9).map(|time| time.as_millis()),
        Some(1)
    );
}
