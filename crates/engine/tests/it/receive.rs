//! Receive lag: how long replies lie in this machine before a worker reads them. On the virtual clock, and on real
//! sockets that are read late.

use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::num::NonZeroU32;
use std::os::unix::net::UnixListener;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use httperf_engine::{
    Network, Observation, Observer, OsNetwork, Ready, Received, SentStamp, Silent, StopRequest, Worker,
};
use httperf_plan::{Arrivals, Endpoint, HttpVersion, Phases, Plan, ReplyClock, Shard, Tls};
use httperf_stats::{CallOutcome, Counters, Failure, Instant, Summary, Timing, Transport};
use httperf_testkit::http2;
use httperf_testkit::sim::{
    Action, Deed, Edit, Goodbye, Http2Peer, Http3Deed, Http3Peer, HttpPeer, Link, Peer, StreamSeen, TlsPeer,
    connections, reply, run, tls_server,
};
use httperf_testkit::tcp::listen;
use proptest::prelude::*;
use rustix::net::sockopt::set_socket_linger;
use rustix::time::{ClockId, clock_gettime};

/// How late the worker hears of things on the virtual clock.
const LATE: Duration = Duration::from_micros(1200);

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A link of a millisecond on which what arrives is stamped, to a worker that hears of it late.
fn late() -> Link {
    Link { latency: ms(1), stamps: true, late: LATE, ..Link::default() }
}

/// Connections one after the other. Their calls are listed, so that the kernel is asked about each.
fn watched(count: u64, calls: u64, burst: u64) -> Plan {
    connections(count, calls, burst).with(|plan| plan.watch.calls = true)
}

fn ok() -> impl Peer {
    HttpPeer::new(|_| vec![Action::Send(ms(2), reply(200, "", "hello"))])
}

fn simulated(plan: &Plan, link: Link, peer: impl Peer + 'static) -> Summary {
    let run = run(plan, link, peer);
    assert!(!run.is_endless, "the run must end by itself");
    assert_eq!(run.summary.errors.total(), 0);
    run.summary
}

/// All replies lay there for just as long as the worker was late.
#[track_caller]
fn check_late(summary: &Summary, replies: u64) {
    let receive = &summary.receive;
    assert_eq!((summary.replies, receive.unstamped, receive.clock_steps), (replies, 0, 0));
    let moments = &receive.lag.moments;
    assert_eq!((moments.count(), moments.min(), moments.max()), (replies, 0.0012, 0.0012));
}

#[test]
fn a_late_worker_tells_how_long_replies_waited_for_it() {
    let summary = simulated(&watched(20, 3, 1), late(), ok());
    check_late(&summary, 60);
    let latency = &summary.calls_with(CallOutcome::Success).service.moments;
    assert_eq!((latency.min(), latency.max()), (0.0052, 0.0052), "it is a part of what was measured");
    assert!(summary.slowest.iter().all(|call| call.receive_lag == Some(LATE)), "{:?}", summary.slowest);
    let punctual = simulated(&watched(20, 3, 1), Link { late: Duration::ZERO, ..late() }, ok());
    assert_eq!((punctual.receive.lag.moments.count(), punctual.receive.lag.moments.max()), (60, 0.0));
}

#[test]
fn the_last_segment_of_a_reply_is_the_one_that_counts() {
    let whole = reply(200, "", "hello");
    let peer = HttpPeer::new(move |_| {
        let (first, last) = whole.split_at(whole.len() - 3);
        vec![Action::Send(ms(2), first.to_vec()), Action::Send(ms(2) + LATE / 2, last.to_vec())]
    });
    let summary = simulated(&watched(5, 1, 1), late(), peer);
    let lags = &summary.receive.lag.moments;
    assert_eq!((lags.count(), lags.min(), lags.max()), (5, 0.0006, 0.0006), "both were read at once");
}

#[test]
fn what_is_not_stamped_is_counted_and_not_guessed() {
    let summary = simulated(&watched(20, 3, 1), Link { stamps: false, ..late() }, ok());
    assert_eq!((summary.receive.unstamped, summary.receive.share_stamped()), (60, Some(0.0)));
    assert!(summary.receive.lag.is_empty());
    assert!(summary.slowest.iter().all(|call| call.receive_lag.is_none()));
    // The end of such a reply is the end of its connection, which is no segment that is read.
    let peer = HttpPeer::new(|_| {
        vec![Action::Send(ms(1), b"HTTP/1.0 200 OK\r\n\r\nhello".to_vec()), Action::Close(ms(1))]
    });
    let summary = simulated(&watched(4, 1, 1), late(), peer);
    assert_eq!((summary.replies, summary.receive.unstamped), (4, 4));
}

#[test]
fn in_a_closed_loop_by_the_programs_clock_the_kernel_is_asked_of_one_read_in_sixteen() {
    let plan = connections(1, 160, 1);
    let asked = |plan: &Plan, link| {
        let receive = simulated(plan, link, ok()).receive;
        (receive.lag.moments.count(), receive.unstamped)
    };
    let (sampled, none) = asked(&plan, late());
    assert!((5..20).contains(&sampled) && none == 0, "{sampled}");
    assert_eq!(asked(&plan, Link { stamps: false, ..late() }), (0, sampled));
    assert_eq!(asked(&by_kernel(plan.clone()), late()), (160, 0));
    let at_a_rate = plan.with(|plan| plan.arrivals = Arrivals::Deterministic { period: 0.1 });
    assert_eq!(asked(&at_a_rate, late()), (160, 0));
}

#[test]
fn without_the_full_record_there_is_no_receive_lag() {
    let mut plan = watched(20, 3, 1);
    plan.change(|plan| plan.recording.detail = false);
    let summary = simulated(&plan, late(), ok());
    assert_eq!((summary.replies, summary.receive.unstamped), (60, 0));
    assert!(summary.receive.lag.is_empty());
}

#[test]
fn over_tls_it_is_the_segment_that_completes_the_record() {
    let plan = watched(4, 3, 1).with(|plan| plan.tls = Some(Tls::default()));
    let server = TlsPeer::new(ok(), tls_server().build(), Goodbye::Said);
    check_late(&simulated(&plan, late(), server), 12);
}

#[test]
fn over_http2_each_stream_has_its_own() {
    let mut plan = watched(4, 6, 3);
    plan.change(|plan| plan.request.version = HttpVersion::Http2);
    let peer =
        Http2Peer::new(|_: &StreamSeen| vec![Deed::Reply(ms(2), http2::Reply::new(200).body("hello"))]);
    check_late(&simulated(&plan, late(), peer), 24);
}

#[test]
fn over_http3_each_stream_has_its_own() {
    let peer = || {
        Http3Peer::new(|_: &StreamSeen| vec![Http3Deed::Reply(ms(2), http2::Reply::new(200).body("hello"))])
    };
    let plan = crate::http3::over_http3(watched(4, 6, 3));
    let summary = simulated(&plan, late(), peer());
    check_late(&summary, 24);
    let by_kernel = simulated(&by_kernel(plan), late(), peer());
    let quickest = |summary: &Summary| summary.calls_with(CallOutcome::Success).service.moments.min();
    assert!(quickest(&by_kernel) <= quickest(&summary) - LATE.as_secs_f64(), "{}", quickest(&by_kernel));
}

fn by_kernel(mut plan: Plan) -> Plan {
    plan.change(|plan| plan.recording.clock = ReplyClock::Kernel);
    plan
}

#[test]
fn by_the_kernels_clock_a_reply_ends_when_it_came_and_what_follows_it_begins_when_it_was_read() {
    // Two segments: the worker hears late of each.
    let peer = || {
        let whole = reply(200, "", "hello");
        HttpPeer::new(move |_| {
            let (first, last) = whole.split_at(whole.len() - 3);
            vec![Action::Send(ms(2), first.to_vec()), Action::Send(ms(7), last.to_vec())]
        })
    };
    let summary = simulated(&by_kernel(watched(5, 4, 1)), late(), peer());
    check_late(&summary, 20);
    let clocks = summary.calls_with(CallOutcome::Success);
    let all = |timing: &Timing| (timing.moments.count(), timing.moments.min(), timing.moments.max());
    assert_eq!(all(&clocks.service), (20, 0.009, 0.009));
    assert_eq!(all(&summary.response), (20, 0.004, 0.004));
    assert_eq!(all(&summary.transfer), (20, 0.005, 0.005));
    // A call that follows another is due when that was read.
    let first = &clocks.latency.moments;
    assert_eq!((first.min(), summary.wait.moments.min()), (0.009, 0.0));
    // A link without stamps: as by the program's clock.
    let summary = simulated(&by_kernel(watched(5, 4, 1)), Link { stamps: false, ..late() }, peer());
    assert_eq!(summary.calls_with(CallOutcome::Success).service.moments.min(), 0.0102);
}

#[test]
fn by_the_kernels_clock_it_is_the_same_over_tls_and_http2() {
    let plan = by_kernel(watched(4, 3, 1).with(|plan| plan.tls = Some(Tls::default())));
    let summary = simulated(&plan, late(), TlsPeer::new(ok(), tls_server().build(), Goodbye::Said));
    check_late(&summary, 12);
    assert_eq!(summary.calls_with(CallOutcome::Success).service.moments.max(), 0.004);
    let mut plan = by_kernel(watched(4, 6, 3));
    plan.change(|plan| plan.request.version = HttpVersion::Http2);
    let peer =
        Http2Peer::new(|_: &StreamSeen| vec![Deed::Reply(ms(2), http2::Reply::new(200).body("hello"))]);
    let summary = simulated(&plan, late(), peer);
    check_late(&summary, 24);
    assert_eq!(summary.calls_with(CallOutcome::Success).service.moments.max(), 0.004);
}

/// What is written lies in the machine for so long on the virtual clock.
const SEND_LAG: Duration = Duration::from_micros(250);

/// As [`late`], and the worker can ask when requests were sent, as this plan has it do.
fn asking(mut plan: Plan, every: u32) -> (Plan, Link) {
    plan.change(|plan| plan.recording.kernel_sends = NonZeroU32::new(every));
    (plan, Link { send_lag: Some(SEND_LAG), ..late() })
}

/// All these calls were asked about, and took so long from kernel to kernel.
#[track_caller]
fn check_kernel(summary: &Summary, asked: u64, service: f64) {
    let kernel = summary.kernel.as_ref().expect("it was asked");
    let all = |timing: &Timing| (timing.moments.count(), timing.moments.min(), timing.moments.max());
    assert_eq!(all(&kernel.send_lag), (asked, 0.000_25, 0.000_25));
    assert_eq!((all(&kernel.service), kernel.unstamped), ((asked, service, service), 0));
}

#[test]
fn from_kernel_to_kernel_nothing_of_this_machine_counts() {
    let (plan, link) = asking(watched(20, 3, 1), 1);
    let summary = simulated(&plan, link, ok());
    check_late(&summary, 60);
    check_kernel(&summary, 60, 0.004);
    assert_eq!(summary.calls_with(CallOutcome::Success).service.moments.max(), 0.004 + 0.0012 + 0.000_25);
}

#[test]
fn only_every_nth_call_is_asked_about() {
    for (every, asked) in [(2, 30), (7, 9), (60, 1), (1000, 1)] {
        let (plan, link) = asking(watched(20, 3, 1), every);
        check_kernel(&simulated(&plan, link, ok()), asked, 0.004);
    }
    let summary = simulated(&watched(20, 3, 1), late(), ok());
    assert_eq!(summary.kernel, None);
}

#[test]
fn requests_that_are_written_together_have_one_stamp() {
    // Three at once, the last of which goes with the others.
    let (plan, link) = asking(watched(10, 6, 3), 2);
    let summary = simulated(&plan, link, ok());
    assert_eq!(summary.replies, 60);
    check_kernel(&summary, 30, 0.004);
}

#[test]
fn over_tls_and_http2_the_kernel_is_asked_as_well() {
    let (plan, link) = asking(watched(4, 3, 1).with(|plan| plan.tls = Some(Tls::default())), 1);
    let summary = simulated(&plan, link, TlsPeer::new(ok(), tls_server().build(), Goodbye::Said));
    check_kernel(&summary, 12, 0.004);
    let (mut plan, link) = asking(watched(4, 6, 3), 1);
    plan.change(|plan| plan.request.version = HttpVersion::Http2);
    let peer =
        Http2Peer::new(|_: &StreamSeen| vec![Deed::Reply(ms(2), http2::Reply::new(200).body("hello"))]);
    check_kernel(&simulated(&plan, link, peer), 24, 0.004);
}

#[test]
fn what_the_kernel_says_nothing_about_is_counted() {
    let (plan, link) = asking(watched(20, 3, 1), 1);
    for (link, knows_sends) in
        [(Link { send_lag: None, ..link }, false), (Link { stamps: false, ..link }, true)]
    {
        let summary = simulated(&plan, link, ok());
        let kernel = summary.kernel.expect("it was asked");
        assert_eq!((kernel.service.moments.count(), kernel.unstamped), (0, 60));
        assert_eq!(kernel.send_lag.moments.count(), if knows_sends { 60 } else { 0 });
    }
}

#[test]
fn replies_to_what_was_due_in_the_warm_up_are_kept_apart() {
    let plan = watched(1000, 1, 1).with(|plan| {
        plan.arrivals = Arrivals::Deterministic { period: 0.1 };
        plan.runtime = Some(ms(2000));
        plan.phases = Phases { warmup: ms(1000), drain: ms(500) };
    });
    let summary = simulated(&plan, late(), ok());
    assert!(summary.warmup.is_some_and(|warmup| warmup.replies >= 10));
    check_late(&summary, 20);
}

proptest! {
    #[test]
    fn however_bytes_arrive_every_reply_is_stamped_or_counted(seed in any::<u64>(), is_stamped in any::<bool>()) {
        let link = Link {
            seed,
            hostile: true,
            stamps: is_stamped,
            jitter: Duration::from_micros(300),
            send_lag: Some(SEND_LAG),
            ..late()
        };
        let peer = HttpPeer::new(|_| vec![Action::Send(ms(2), reply(200, "", &"x".repeat(5000)))]);
        let summary = simulated(&asking(watched(10, 4, 2), 1).0, link, peer);
        let receive = &summary.receive;
        prop_assert_eq!(receive.lag.moments.count(), if is_stamped { 40 } else { 0 });
        prop_assert_eq!(receive.unstamped, if is_stamped { 0 } else { 40 });
        prop_assert!(receive.lag.moments.max() <= summary.completed().service.moments.max());
        let kernel = summary.kernel.as_ref().expect("it was asked");
        prop_assert_eq!(kernel.service.moments.count(), receive.lag.moments.count());
        prop_assert_eq!(kernel.send_lag.moments.min(), 0.000_25);
        prop_assert_eq!(kernel.send_lag.moments.max(), 0.000_25);
        prop_assert!(kernel.service.moments.max() <= summary.completed().service.moments.max());
    }
}

/// Sockets of the operating system, of which the worker always hears so much too late.
struct Tardy {
    inner: OsNetwork,
    late: Duration,
}

impl Network for Tardy {
    type Socket = <OsNetwork as Network>::Socket;

    fn now(&mut self) -> Instant {
        self.inner.now()
    }

    fn wall_clock(&self) -> SystemTime {
        self.inner.wall_clock()
    }

    fn open(&mut self, endpoint: &Endpoint) -> io::Result<Self::Socket> {
        self.inner.open(endpoint)
    }

    fn connect(
        &mut self,
        socket: &Self::Socket,
        key: u64,
        endpoint: &Endpoint,
        source: Option<IpAddr>,
    ) -> io::Result<()> {
        self.inner.connect(socket, key, endpoint, source)
    }

    fn take_error(&mut self, socket: &Self::Socket) -> Option<io::Error> {
        self.inner.take_error(socket)
    }

    fn read(&mut self, socket: &Self::Socket, buffer: &mut [u8]) -> io::Result<Received> {
        self.inner.read(socket, buffer)
    }

    fn discard(&mut self, socket: &Self::Socket, count: usize) -> io::Result<Received> {
        self.inner.discard(socket, count)
    }

    fn write(&mut self, socket: &Self::Socket, pieces: [&[u8]; 2]) -> io::Result<usize> {
        self.inner.write(socket, pieces)
    }

    fn number_sent(&mut self, socket: &Self::Socket) -> io::Result<()> {
        self.inner.number_sent(socket)
    }

    fn write_stamped(&mut self, socket: &Self::Socket, pieces: [&[u8]; 2]) -> io::Result<usize> {
        self.inner.write_stamped(socket, pieces)
    }

    fn take_sent(&mut self, socket: &Self::Socket) -> Option<SentStamp> {
        self.inner.take_sent(socket)
    }

    fn wait(&mut self, deadline: Option<Instant>, ready: &mut Vec<Ready>) -> io::Result<()> {
        self.inner.wait(deadline, ready)?;
        if ready.iter().any(|ready| ready.readable) {
            // A worker that reads late, as a busy machine makes one.
            sleep(self.late);
        }
        Ok(())
    }

    fn counters(&mut self) -> Counters {
        self.inner.counters()
    }

    fn transport(&mut self, socket: &Self::Socket) -> Option<Transport> {
        self.inner.transport(socket)
    }

    fn clock_steps(&self) -> u64 {
        self.inner.clock_steps()
    }

    fn stop_requested(&self) -> bool {
        self.inner.stop_requested()
    }
}

/// Answers this many requests of one connection, each with a body of this size.
fn answer(mut connection: impl Read + Write, requests: u32, size: usize) {
    let mut reply = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n").into_bytes();
    reply.resize(reply.len() + size, b'x');
    let mut request = [0; 4096];
    for _ in 0..requests {
        let mut length = 0;
        while !request[..length].ends_with(b"\r\n\r\n") {
            length += connection.read(&mut request[length..]).expect("a request comes");
        }
        connection.write_all(&reply).expect("the client reads");
    }
}

/// Calls one after the other over one connection.
fn calls(endpoint: Endpoint, count: u64) -> Plan {
    let mut plan = watched(1, count, 1);
    plan.change(|plan| plan.targets[0].endpoint = endpoint);
    plan
}

fn carry_out(plan: &Plan, late: Duration, observer: &mut dyn Observer) -> Summary {
    let stop = StopRequest::new().expect("a descriptor is free");
    let inner = OsNetwork::new(plan, &stop).expect("the poller can be set up");
    let worker = Worker::new(plan, Shard::WHOLE, None, Tardy { inner, late }, observer);
    worker.run().expect("the poller works")
}

fn over_tcp(count: u32, size: usize, late: Duration) -> Summary {
    let (server, _) = listen();
    let plan = calls(Endpoint::Tcp(server.local_addr().expect("it listens")), count.into());
    let serving = std::thread::spawn(move || answer(server.accept().expect("a client comes").0, count, size));
    let summary = carry_out(&plan, late, &mut Silent);
    serving.join().expect("the server does not panic");
    assert_eq!(summary.replies, u64::from(count));
    summary
}

#[test]
fn what_is_read_late_from_a_real_socket_shows_how_late() {
    // Of a small body, and of one that is discarded in the kernel.
    for (size, late) in [(5, ms(50)), (200_000, ms(5))] {
        let receive = over_tcp(30, size, late).receive;
        let lags = &receive.lag.moments;
        assert_eq!((lags.count() + receive.unstamped, receive.clock_steps), (30, 0));
        // The kernel may need a moment to begin.
        assert!(lags.count() >= 10, "only {} stamps of 30 replies of {size} bytes", lags.count());
        assert!(size > 5 || lags.min() >= 0.0499, "{}", lags.min());
    }
}

/// For how long each reply had lain there when it was told of: since its end, and by its receive lag.
#[derive(Default)]
struct Ages(Vec<(Duration, Option<Duration>)>);

impl Observer for Ages {
    fn observe(&mut self, what: Observation<'_>) {
        if let Observation::Call { sample, .. } = what {
            let now = clock_gettime(ClockId::Monotonic);
            let now = Duration::new(now.tv_sec.unsigned_abs(), now.tv_nsec.unsigned_abs() as u32);
            self.0.push((now - Duration::from_nanos(sample.done.as_nanos()), sample.receive_lag));
        }
    }
}

#[test]
fn by_the_kernels_clock_latency_does_not_contain_how_late_a_real_socket_is_read() {
    let (server, _) = listen();
    let mut plan = by_kernel(calls(Endpoint::Tcp(server.local_addr().expect("it listens")), 30));
    plan.change(|plan| plan.watch.calls = true);
    let serving = std::thread::spawn(move || answer(server.accept().expect("a client comes").0, 30, 5));
    let mut ages = Ages::default();
    let summary = carry_out(&plan, ms(50), &mut ages);
    serving.join().expect("the server does not panic");
    let stamped: Vec<Duration> =
        ages.0.iter().filter(|(_, lag)| lag.is_some()).map(|&(age, _)| age).collect();
    assert!(stamped.len() >= 10, "{:?}", ages.0);
    assert!(stamped.iter().all(|&age| age >= Duration::from_micros(49_900)), "{stamped:?}");
    let quickest = summary.calls_with(CallOutcome::Success).service.moments.min();
    assert!(quickest < 0.05, "the server answers at once: {quickest}");
}

/// Calls over a real socket that is read late, each of which the kernel is asked about.
fn asked_over_tcp(count: u32, serve: impl FnOnce(TcpStream) + Send + 'static) -> Summary {
    let (server, _) = listen();
    let mut plan = calls(Endpoint::Tcp(server.local_addr().expect("it listens")), count.into());
    plan.change(|plan| plan.recording.kernel_sends = Some(NonZeroU32::MIN));
    let serving = std::thread::spawn(move || serve(server.accept().expect("a client comes").0));
    let summary = carry_out(&plan, ms(20), &mut Silent);
    serving.join().expect("the server does not panic");
    summary
}

#[test]
fn from_kernel_to_kernel_nothing_of_how_late_a_real_socket_is_read_counts() {
    let summary = asked_over_tcp(30, |connection| answer(connection, 30, 5));
    let kernel = summary.kernel.expect("it was asked");
    assert_eq!(
        (summary.replies, kernel.send_lag.moments.count()),
        (30, 30),
        "what is sent is always stamped"
    );
    assert_eq!(kernel.service.moments.count(), summary.receive.lag.moments.count());
    assert_eq!(kernel.unstamped, summary.receive.unstamped);
    let service = &summary.calls[CallOutcome::Success as usize].service.moments;
    assert!(kernel.service.moments.count() >= 10 && kernel.service.moments.min() < 0.02, "{kernel:?}");
    assert!(service.min() >= 0.02 && kernel.service.moments.max() < service.max(), "{service:?}");
}

#[test]
fn a_connection_that_is_reset_is_an_error_though_stamps_come_as_errors_as_well() {
    let summary = asked_over_tcp(30, |mut connection| {
        let mut request = [0; 4096];
        let _: usize = connection.read(&mut request).expect("a request comes");
        connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello").expect("the client reads");
        set_socket_linger(&connection, Some(Duration::ZERO)).expect("it is a socket");
        let _: usize = connection.read(&mut request).expect("another request comes");
    });
    assert_eq!((summary.replies, summary.errors.count(Failure::Reset), summary.errors.total()), (1, 1, 1));
}

#[test]
fn over_a_unix_socket_nothing_is_stamped() {
    let path = std::env::temp_dir().join(format!("httperf-receive-{}", std::process::id()));
    std::fs::remove_file(&path).ok();
    let server = UnixListener::bind(&path).expect("the path is free");
    let serving = std::thread::spawn(move || answer(server.accept().expect("a client comes").0, 20, 5));
    let summary = carry_out(&calls(Endpoint::Unix(path.clone()), 20), Duration::ZERO, &mut Silent);
    std::fs::remove_file(&path).ok();
    serving.join().expect("the server does not panic");
    assert_eq!((summary.replies, summary.receive.unstamped), (20, 20));
}
