//! The rows of the table: what each server has to do with us.

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use httperf_stats::{CallOutcome, Clocks, HandshakeKind, Http2Summary, QuicSummary, TlsSummary};
use rustix::process::Signal;

use crate::makes::Reloads;
use crate::server::{Logged, Server, Setting};
use crate::support::program::Exit;
use crate::support::ran::Ran;
use crate::support::running::optional;

/// A row of the table.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) is_quick: bool,
    pub(crate) setting: Setting,
    pub(crate) check: fn(&mut Server),
}

const PLAIN: Setting =
    Setting { small_windows: false, retry: false, early_data: false, many_streams: false, goaways: false };

pub(crate) const ROWS: &[Row] = &[
    Row { name: "workloads", is_quick: true, setting: PLAIN, check: workloads },
    Row { name: "the bytes that curl gets", is_quick: false, setting: PLAIN, check: curl },
    Row {
        name: "uploads",
        is_quick: false,
        setting: Setting { small_windows: true, ..PLAIN },
        check: uploads,
    },
    Row { name: "large replies", is_quick: false, setting: PLAIN, check: large_replies },
    Row {
        name: "a thousand streams",
        is_quick: false,
        setting: Setting { many_streams: true, ..PLAIN },
        check: thousand_streams,
    },
    Row { name: "Retry", is_quick: true, setting: Setting { retry: true, ..PLAIN }, check: retry },
    Row { name: "resumption", is_quick: true, setting: PLAIN, check: resumption },
    Row {
        name: "early data accepted",
        is_quick: true,
        setting: Setting { early_data: true, ..PLAIN },
        check: early_data_accepted,
    },
    Row {
        name: "early data rejected",
        is_quick: true,
        setting: Setting { early_data: true, ..PLAIN },
        check: early_data_rejected,
    },
    Row { name: "groups", is_quick: true, setting: PLAIN, check: groups },
    Row { name: "reload", is_quick: false, setting: Setting { goaways: true, ..PLAIN }, check: reload },
    Row {
        name: "reload amid replies",
        is_quick: false,
        setting: Setting { goaways: true, ..PLAIN },
        check: reload_amid_replies,
    },
    Row { name: "killed", is_quick: false, setting: PLAIN, check: killed },
    Row { name: "stopped for a second", is_quick: false, setting: PLAIN, check: stopped },
];

/// Connections each for itself, kept ones, streams, sessions, and calls that are due by themselves.
fn workloads(server: &mut Server) {
    let (mut made, mut handshakes) = (0, 0);
    for (load, connections, calls) in [
        ("--num-conns 10 --rate 50", 10, 10),
        ("--num-conns 3 --num-calls 8 --burst-length 4", 3, 24),
        ("--concurrency 3 --streams 4 --num-calls 40", 3, 120),
        ("--wsess 3,8,0 --burst-length 4", 3, 24),
        ("--request-rate 100 --num-calls 30 --concurrency 2", 2, 30),
    ] {
        let ran = server.run(&format!("{load} --uri /size/6"), &[]);
        check_answered(&ran, connections, calls, 6);
        (made, handshakes) = (made + calls, handshakes + connections);
    }
    let ran = server.run("--num-conns 2 --num-calls 4 --burst-length 2 --uri /size/300000", &[]);
    check_answered(&ran, 2, 8, 300_000);
    check_logged(server, made + 8, handshakes + 2);
}

/// The same bytes as another client of HTTP/3 gets.
fn curl(server: &mut Server) {
    let Some(curl) = optional("sid/usr/bin/curl") else { return };
    let ran = server.run("--uri /size/300000 --print-reply body", &[]);
    check_answered(&ran, 1, 1, 300_000);
    let output = Command::new("chroot")
        .args([curl.ancestors().nth(3).expect("it is in a tree").to_str().unwrap(), "curl"])
        .args(["--silent", "--insecure", "--http3-only", "--max-time", "20"])
        .args(["--resolve", &format!("localhost:{}:127.0.0.1", server.port())])
        .arg(format!("https://localhost:{}/size/300000", server.port()))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    // Printed line by line.
    let printed: Vec<&str> =
        ran.finished.stdout.lines().filter_map(|line| line.strip_prefix("RB0:")).collect();
    let received = String::from_utf8(output.stdout).unwrap();
    assert_eq!(received.len(), 300_000);
    assert!(received.lines().eq(printed), "the bytes differ");
    check_logged(server, 2, 2);
}

/// Ten megabytes each, through windows that are smaller.
fn uploads(server: &mut Server) {
    let body = vec![b'b'; 10_000_000];
    let arguments = format!("--uri {} --num-conns 2 --num-calls 2 --body-file body", server.make.upload);
    let ran = server.run(&arguments, &[("body", &body)]);
    check_answered(&ran, 2, 4, 6);
    assert!(ran.summary.request_bytes >= 40_000_000, "{ran}");
    assert!(http3(&ran).window_waits.moments.count() > 0, "{ran}");
    let logged = check_logged(server, 4, 2);
    let is_whole = |bytes| (40_000_000..40_010_000).contains(&bytes);
    assert!(logged.body_bytes.is_none_or(is_whole), "{logged:?}");
}

/// A hundred megabytes, twice on a connection.
fn large_replies(server: &mut Server) {
    let ran = server.run("--uri /size/100000000 --num-calls 2 --timeout 60", &[]);
    check_answered(&ran, 1, 2, 100_000_000);
    check_logged(server, 2, 1);
}

fn thousand_streams(server: &mut Server) {
    let ran = server.run("--concurrency 1 --streams 1000 --num-calls 3000 --uri /size/6", &[]);
    check_answered(&ran, 1, 3000, 6);
    assert_eq!(http3(&ran).concurrent_max, server.make.streams, "{ran}");
    check_logged(server, 3000, 1);
}

fn retry(server: &mut Server) {
    let ran = server.run("--num-conns 5 --uri /size/6", &[]);
    check_answered(&ran, 5, 5, 6);
    assert_eq!(quic(&ran).retries, 5, "{ran}");
    let logged = check_logged(server, 5, 5);
    assert_eq!(logged.retries.unwrap_or(5), 5);
}

/// One connection after the other, so that each may have the tickets of those before it; with two calls, because some servers
/// send a ticket behind the first reply.
fn resumption(server: &mut Server) {
    let ran = server.run("--num-conns 200 --num-calls 2 --uri /size/6 --tls-resume 30", &[]);
    check_answered(&ran, 200, 400, 6);
    let resumed = handshakes(&ran, HandshakeKind::Resumed);
    assert!((58..=62).contains(&resumed), "{ran}");
    let logged = check_logged(server, 400, 200);
    check_resumed(&ran, &logged, resumed);
}

#[track_caller]
fn check_resumed(ran: &Ran, logged: &Logged, resumed: u64) {
    assert_eq!(logged.resumed.unwrap_or(resumed), resumed, "{logged:?}: {ran}");
    assert_eq!(logged.resumed_requests.unwrap_or(2 * resumed), 2 * resumed, "{logged:?}: {ran}");
}

fn early_data_accepted(server: &mut Server) {
    let ran = server.run("--num-conns 40 --num-calls 2 --uri /size/6 --tls-early-data", &[]);
    check_answered(&ran, 40, 80, 6);
    let early = handshakes(&ran, HandshakeKind::EarlyData);
    // Some servers give no ticket to a connection that had one.
    assert!(early >= 15, "{ran}");
    // A server that guards against replays refuses one now and then, because of its time (RFC 8446, section 8.3).
    let refused = handshakes(&ran, HandshakeKind::Resumed);
    let requests = &tls(&ran).early_requests;
    assert_eq!((requests.accepted, requests.rejected, requests.replayed), (early, refused, refused), "{ran}");
    let logged = check_logged(server, 80, 40);
    assert_eq!(logged.early.unwrap_or(early), early, "{logged:?}: {ran}");
    check_resumed(&ran, &logged, early + refused);
}

/// A server that asks for another group can read no early data (RFC 8446, section 4.2.10).
fn early_data_rejected(server: &mut Server) {
    let load = "--num-conns 40 --num-calls 2 --uri /size/6 --tls-early-data --tls-groups MLKEM1024:P-256";
    let ran = server.run(load, &[]);
    check_answered(&ran, 40, 80, 6);
    let resumed = handshakes(&ran, HandshakeKind::Resumed);
    assert_eq!(tls(&ran).hello_retries, 40, "{ran}");
    assert!(resumed >= 15, "{ran}");
    let requests = &tls(&ran).early_requests;
    assert_eq!((requests.accepted, requests.rejected, requests.replayed), (0, resumed, resumed), "{ran}");
    let logged = check_logged(server, 80, 40);
    assert_eq!(logged.early.unwrap_or(0), 0, "{logged:?}: {ran}");
    check_resumed(&ran, &logged, resumed);
}

fn groups(server: &mut Server) {
    let groups = server.make.groups;
    for &(offered, agreed, is_asked_for) in groups {
        let ran = server.run(&format!("--num-conns 3 --uri /size/6 --tls-groups {offered}"), &[]);
        check_answered(&ran, 3, 3, 6);
        assert_eq!(tls(&ran).groups.count(agreed), 3, "{offered}: {ran}");
        assert_eq!(tls(&ran).hello_retries, if is_asked_for { 3 } else { 0 }, "{offered}: {ran}");
    }
    let made = 3 * groups.len() as u64;
    check_logged(server, made, made);
}

fn reload(server: &mut Server) {
    reload_under(server, "--request-rate 200 --num-calls 600 --concurrency 4 --uri /size/6", 600);
}

/// With replies that take a while, several on a connection.
fn reload_amid_replies(server: &mut Server) {
    reload_under(
        server,
        "--request-rate 100 --num-calls 300 --concurrency 2 --streams 8 --uri /size/300000",
        300,
    );
}

/// It reads its configuration again, twice, under load, and no call is lost that need not be: connections end by GOAWAY, and a
/// request that is not processed for that reason is made again.
fn reload_under(server: &mut Server, load: &str, calls: u64) {
    let load = format!("{load} --timeout 5");
    let ran = thread::scope(|scope| {
        let running = scope.spawn(|| server.run(&load, &[]));
        for _ in 0..2 {
            // Calls are to be under way, and those of the reload before to be over.
            thread::sleep(Duration::from_millis(900));
            server.reload();
        }
        running.join().unwrap()
    });
    assert_eq!(accounted_for(&ran), calls, "{ran}");
    let answered = ran.summary.replies;
    let failed = clocks(&ran, CallOutcome::Failure).latency.moments.count();
    assert_eq!((answered + failed, ran.summary.statuses[1]), (calls, answered), "{ran}");
    let connections = http3(&ran).spoken.count("HTTP/3");
    assert!(connections > 4, "connections were replaced: {ran}");
    let failed_max = match server.make.reloads {
        Reloads::Clean => 0,
        Reloads::Abrupt => connections,
        Reloads::Lossy => calls / 4,
    };
    assert!(failed <= failed_max, "{ran}");
    let logged = server.end(answered);
    let is_explained = |requests| (answered..=calls).contains(&requests);
    assert!(logged.requests.is_none_or(is_explained), "{logged:?}: {ran}");
}

/// Killed under load, and started again after a while.
fn killed(server: &mut Server) {
    let port = server.port();
    let ran = thread::scope(|scope| {
        let load = "--request-rate 200 --num-calls 800 --concurrency 4 --timeout 5 --uri /size/6";
        let load = format!("--http-version 3 --ssl {load}");
        let running = scope.spawn(move || crate::support::ran::run(port, &load, &[]));
        // Calls are to be under way when it is killed, and to be due while nobody is there.
        thread::sleep(Duration::from_millis(1000));
        server.kill();
        thread::sleep(Duration::from_millis(1000));
        server.start_again();
        running.join().unwrap()
    });
    // Each call ends once: with a reply, or as failed.
    assert_eq!(accounted_for(&ran), 800, "{ran}");
    let failed = clocks(&ran, CallOutcome::Failure).latency.moments.count();
    assert!(failed > 0 && ran.summary.errors.total() > 0, "{ran}");
    // Those of its first second and of those after its second start.
    assert!(ran.summary.replies >= 400, "{ran}");
    let answered = server.run("--num-conns 3 --num-calls 2 --uri /size/6", &[]);
    check_answered(&answered, 3, 6, 6);
}

/// Calls that are due while it stands still wait from when they were due, which latency shows and service time does not.
///
/// Of 200 calls in 4 s, 50 are due while it stands still for a second. Their latencies are spread evenly over that second, so an
/// eighth of all calls takes longer than half a second, and the mean is an eighth of a second. Service time is that of the calls
/// which were sent: one on each of two connections.
fn stopped(server: &mut Server) {
    let (ran, stood) = thread::scope(|scope| {
        let load = "--request-rate 50 --num-calls 200 --concurrency 2 --uri /size/6";
        let running = scope.spawn(|| server.run(load, &[]));
        // Its connections are to be open; then it stands still for the second that the figures are worked out for.
        thread::sleep(Duration::from_millis(1500));
        server.signal(Signal::STOP);
        let since = Instant::now();
        thread::sleep(Duration::from_millis(1000));
        server.signal(Signal::CONT);
        let stood = since.elapsed().as_secs_f64();
        (running.join().unwrap(), stood)
    });
    check_answered(&ran, http3(&ran).spoken.count("HTTP/3"), 200, 6);
    let Clocks { latency, service } = clocks(&ran, CallOutcome::Success);
    let seconds = |duration: Option<Duration>| duration.unwrap().as_secs_f64();
    let is_near =
        |measured: f64, analytic: f64, above: f64| (analytic - 0.15..analytic + above).contains(&measured);
    let longest = seconds(latency.quantile(1.0));
    assert!(is_near(longest, stood, 1.0), "{longest} {stood}: {ran}");
    let upper_eighth = seconds(latency.quantile(0.875));
    assert!(is_near(upper_eighth, stood - 0.5, 0.5), "{upper_eighth} {stood}: {ran}");
    let mean = latency.moments.mean();
    assert!(mean > stood * stood / 8.0 - 0.04 && mean < stood * stood / 8.0 + 0.2, "{mean} {stood}: {ran}");
    let served = seconds(service.quantile(0.875));
    assert!(served < 0.2, "{served}: {ran}");
    check_logged(server, 200, http3(&ran).spoken.count("HTTP/3"));
}

/// Checks the numbers of connections and of answered calls, the bytes of each reply, and that nothing failed.
#[track_caller]
fn check_answered(ran: &Ran, connections: u64, calls: u64, content: u64) {
    assert_eq!(ran.finished.exit, Exit::Code(0), "{ran}");
    let summary = &ran.summary;
    assert_eq!(summary.errors.total(), 0, "{ran}");
    assert_eq!(http3(ran).spoken.count("HTTP/3"), connections, "{ran}");
    let streams = calls + tls(ran).early_requests.replayed;
    assert_eq!((summary.replies, summary.statuses[1], http3(ran).streams), (calls, calls, streams), "{ran}");
    assert_eq!(summary.content_bytes, calls * content, "{ran}");
    assert_eq!((http3(ran).violations.total(), http3(ran).resets_received.total()), (0, 0), "{ran}");
    assert_eq!((tls(ran).completed(), tls(ran).failures.total()), (connections, 0), "{ran}");
}

/// Stops the server, and checks the numbers of requests and handshakes in its log, as far as it logs them.
#[track_caller]
fn check_logged(server: &mut Server, requests: u64, handshakes: u64) -> Logged {
    let logged = server.end(requests);
    assert_eq!(logged.requests.unwrap_or(requests), requests, "{logged:?}: {}", server.text());
    assert_eq!(logged.handshakes.unwrap_or(handshakes), handshakes, "{logged:?}: {}", server.text());
    logged
}

/// Calls that were answered, failed, or were not over when the run was.
fn accounted_for(ran: &Ran) -> u64 {
    let calls = CallOutcome::ALL.map(|outcome| clocks(ran, outcome).latency.moments.count());
    calls.iter().sum::<u64>() + ran.summary.unfinished.moments.count()
}

fn clocks(ran: &Ran, outcome: CallOutcome) -> &Clocks {
    &ran.summary.calls[outcome as usize]
}

fn handshakes(ran: &Ran, kind: HandshakeKind) -> u64 {
    tls(ran).handshakes_of(kind).time.moments.count()
}

fn tls(ran: &Ran) -> &TlsSummary {
    ran.summary.tls.as_ref().unwrap()
}

fn http3(ran: &Ran) -> &Http2Summary {
    ran.summary.http2.as_ref().unwrap()
}

fn quic(ran: &Ran) -> QuicSummary {
    http3(ran).quic.clone().unwrap()
}
