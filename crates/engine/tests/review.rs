//! Whole runs in memory, for what was found by reading the worker with suspicion.

use std::collections::VecDeque;
use std::io;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use httperf_engine::{Network, Ready, Silent, Worker};
use httperf_plan::{
    Arrivals, Endpoint, Plan, Resumption, Script, Sessions, Timeouts, Tls, UriSource, Workload,
};
use httperf_stats::{CpuTime, Failure, Instant, Outcome, Summary};
use httperf_testkit::sim::{
    Action, Goodbye, HttpPeer, Link, RequestSeen, Run, TlsPeer, connections, reply, run, sessions, tls_server,
};

const NOW: Duration = Duration::ZERO;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn sessions_of(plan: &mut Plan) -> &mut Sessions {
    match &mut plan.workload {
        Workload::Sessions(sessions) => sessions,
        Workload::Connections(_) => panic!("the plan has sessions"),
    }
}

/// The latencies of calls that succeeded: their count, and their sum in milliseconds.
fn latencies(run: &Run) -> (u64, f64) {
    let moments = &run.summary.calls_with(Outcome::Success).latency.moments;
    (moments.count(), (moments.sum() * 1e6).round() / 1e3)
}

#[test]
fn calls_that_wait_for_room_on_a_connection_are_due_since_they_were_ready() {
    // One call, then five that are ready together and go one after the other.
    let mut plan = sessions(1, Script::Uniform { calls: 6, burst: 6, think: NOW });
    (sessions_of(&mut plan).max_connections, sessions_of(&mut plan).max_piped_calls) = (1, 1);
    let peer = HttpPeer::new(|_| vec![Action::Send(ms(10), reply(200, "", "hello"))]);
    let run = run(&plan, Link::default(), peer);
    assert_eq!(latencies(&run), (6, 10.0 + 10.0 + 20.0 + 30.0 + 40.0 + 50.0));
}

#[test]
fn an_object_of_a_page_is_due_since_it_was_found() {
    let plan = Plan {
        uris: UriSource::Fixed(b"/page.html".to_vec()),
        ..sessions(1, Script::Pages { pages: 1, think: NOW })
    };
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
    let mut plan = Plan { tls: Some(tls), ..connections(2, 600, 600) };
    plan.targets[0].tls_name = Some("server".to_owned());
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

/// A network whose every wait does what a step says, for what the world in memory does not do.
struct Scripted {
    now: Instant,
    steps: VecDeque<Step>,
    /// By number of connection.
    sockets: Vec<Socket>,
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
        Self { now: Instant::default(), steps: steps.into(), sockets }
    }
}

fn carry_out(plan: &Plan, network: Scripted) -> Summary {
    let (recorder, duration) =
        Worker::new(plan, None, network, &mut Silent).run().expect("a script never fails");
    recorder.finish(duration, CpuTime::default())
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

    fn read(&mut self, socket: &usize, buffer: &mut [u8]) -> io::Result<usize> {
        let socket = &mut self.sockets[*socket];
        let count = buffer.len().min(socket.incoming.len());
        if count == 0 {
            let kind =
                if socket.is_broken { io::ErrorKind::ConnectionReset } else { io::ErrorKind::WouldBlock };
            return Err(kind.into());
        }
        buffer[..count].copy_from_slice(&socket.incoming[..count]);
        socket.incoming.drain(..count);
        Ok(count)
    }

    fn write(&mut self, socket: &usize, bytes: &[u8]) -> io::Result<usize> {
        let socket = &mut self.sockets[*socket];
        let count = bytes.len().min(socket.room);
        match (socket.is_broken, count) {
            (true, _) => Err(io::ErrorKind::BrokenPipe.into()),
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
    let plan = Plan { arrivals: Arrivals::Concurrent(3), timeouts, ..connections(3, 1, 1) };
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
    plan.request.extra_headers = format!("X: {}\r\n", "x".repeat(10_000)).into_bytes();
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
