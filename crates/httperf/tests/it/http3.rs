//! HTTP/3 with our own test server, on quinn, and with ngtcp2, which loses packets on request. `tests/http3_servers` has what every
//! server has to do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use httperf_stats::{Http2Summary, QuicSummary, TlsSummary};
use httperf_testkit::tcp::free_port;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::support::certificates::Certificates;
use crate::support::group::Group;
use crate::support::program::{Exit, under_test};
use crate::support::ran::{Ran, finish, run};
use crate::support::running::{find, peer};

/// How long a server may take until it answers.
const START_WAIT: Duration = Duration::from_secs(30);

/// A server that is reached over UDP.
struct Server {
    group: Group,
    folder: TempDir,
    port: u16,
}

impl Server {
    /// Starts a server on a port, in a folder that has certificates and `docs` with files of 6 and of 300,000 bytes.
    fn start(command: impl Fn(&Path, u16) -> Command) -> Self {
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let root = folder.path();
        Certificates::make(root);
        fs::create_dir(root.join("docs")).unwrap();
        fs::write(root.join("docs/small.txt"), "small\n").unwrap();
        fs::write(root.join("docs/large.bin"), vec![b'x'; 300_000]).unwrap();
        let log = File::create(root.join("output.log")).unwrap();
        let mut started = command(root, port);
        started.current_dir(root).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let group = Group::spawn(&mut started).unwrap();
        let server = Self { group, folder, port };
        let began = Instant::now();
        while finish(port, "--http-version 3 --ssl --uri /small.txt --timeout 1", &[]).exit != Exit::Code(0) {
            assert!(began.elapsed() < START_WAIT, "it does not answer: {}", server.output());
            thread::sleep(Duration::from_millis(50));
        }
        server
    }

    /// Our own, on quinn and h3, with these options.
    fn own(options: &str) -> Self {
        Self::start(|_, port| {
            let mut command = Command::new(under_test());
            command.args(["serve", "--http3", &format!("--listen=127.0.0.1:{port}")]);
            command.args(crate::support::words(options));
            command
        })
    }

    /// ngtcp2 0.12 with GnuTLS.
    fn ngtcp2(options: &[&str]) -> Option<Self> {
        let program = find("gtlsserver")?;
        Some(Self::start(|_, port| {
            let mut command = Command::new(&program);
            command.args(["--quiet", "--htdocs=docs"]).args(options);
            command.args(["127.0.0.1", &port.to_string(), "server.key", "server.pem"]);
            command
        }))
    }

    fn output(&self) -> String {
        fs::read_to_string(self.path("output.log")).unwrap_or_default()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn run(&self, arguments: &str) -> Ran {
        run(self.port, &format!("--http-version 3 --ssl {arguments}"), &[])
    }
}

fn tls(ran: &Ran) -> &TlsSummary {
    ran.summary.tls.as_ref().unwrap()
}

fn http3(ran: &Ran) -> &Http2Summary {
    ran.summary.http2.as_ref().unwrap()
}

fn quic(ran: &Ran) -> QuicSummary {
    http3(ran).quic.unwrap()
}

/// So many calls were answered, on so many connections, and nothing failed.
#[track_caller]
fn check_answered(ran: &Ran, connections: u64, calls: u64) {
    ran.check("errors=0");
    assert_eq!(http3(ran).spoken.count("HTTP/3"), connections, "{ran}");
    assert_eq!(
        (ran.summary.replies, ran.summary.statuses[1], http3(ran).streams),
        (calls, calls, calls),
        "{ran}"
    );
    assert_eq!((http3(ran).violations.total(), http3(ran).resets_received.total()), (0, 0), "{ran}");
    let quic = quic(ran);
    assert!(quic.datagrams_sent >= quic.handshake_datagrams_sent && quic.rtt_min_ns.is_some(), "{ran}");
    // A connection whose handshake is under way when the run ends is the exception.
    assert_eq!(tls(ran).completed(), connections, "{ran}");
}

#[test]
fn what_a_server_loses_is_counted_as_lost() {
    let server = peer!(Server::ngtcp2(&["--rx-loss=0.1"]));
    let ran = server.run("--concurrency 4 --num-calls 200 --uri /small.txt --timeout 30");
    let quic = quic(&ran);
    // What acknowledgements alone carry is lost as well, and nobody notices.
    let share = quic.loss().unwrap();
    assert!((0.02..0.2).contains(&share), "{share} of {}: {ran}", quic.packets_sent);
    assert_eq!(ran.summary.replies, 800, "{ran}");
}

#[test]
fn connections_resume_as_asked() {
    // One connection after the other, so that each may have the tickets of those before it.
    let server = Server::own("--tls-early-data");
    let ran = server.run("--num-conns 100 --uri /small.txt --tls-resume 30");
    check_answered(&ran, 100, 100);
    let resumed = tls(&ran).handshakes_of(httperf_stats::HandshakeKind::Resumed).time.moments.count();
    assert!((29..=31).contains(&resumed), "{ran}");
    let ran = server.run("--num-conns 40 --uri /small.txt --tls-early-data");
    check_answered(&ran, 40, 40);
    let early = tls(&ran).handshakes_of(httperf_stats::HandshakeKind::EarlyData).time.moments.count();
    assert!(early >= 10 && tls(&ran).early_requests.accepted == early, "{ran}");
    let ran = server.run("--num-conns 60 --tls-handshake-only --tls-resume 50");
    let resumed = tls(&ran).handshakes_of(httperf_stats::HandshakeKind::Resumed).time.moments.count();
    assert!((29..=31).contains(&resumed) && ran.summary.replies == 0, "{ran}");
}

#[test]
fn the_start_of_a_connection_may_be_hard() {
    let server = Server::own("--h3-retry");
    let ran = server.run("--num-conns 5 --uri /small.txt");
    check_answered(&ran, 5, 5);
    assert_eq!(quic(&ran).retries, 5, "{ran}");
    drop(server);
    let server = Server::own("--h3-lose 2");
    let ran = server.run("--num-conns 3 --uri /small.txt");
    check_answered(&ran, 3, 3);
    assert!(quic(&ran).handshake_datagrams_sent > 6, "the first flights are sent again: {ran}");
}

#[test]
fn a_body_goes_out_and_a_server_that_stands_still_is_waited_for() {
    let server = Server::own("--h3-window 20k");
    let body = vec![b'b'; 200_000];
    let ran = run(
        server.port,
        "--http-version 3 --ssl --uri /echo --num-conns 2 --num-calls 2 --body-file body",
        &[("body", &body)],
    );
    check_answered(&ran, 2, 4);
    assert!(http3(&ran).window_waits.moments.count() > 0, "{ran}");
    thread::scope(|scope| {
        let running = scope.spawn(|| server.run("--request-rate 50 --num-calls 150 --uri /small.txt"));
        thread::sleep(Duration::from_millis(1000));
        server.group.signal(Signal::STOP);
        thread::sleep(Duration::from_millis(1000));
        server.group.signal(Signal::CONT);
        let ran = running.join().unwrap();
        check_answered(&ran, http3(&ran).spoken.count("HTTP/3"), 150);
        // Calls that were due while it stood still count from when they were due.
        let longest =
            ran.summary.calls.iter().map(|clocks| clocks.latency.quantile(1.0).unwrap_or_default()).max();
        assert!(longest >= Some(Duration::from_millis(700)), "{ran}");
    });
}

#[test]
fn a_server_that_breaks_off_is_counted_by_what_it_does() {
    for (fault, check) in [
        ("refuse-stream", "H3_REQUEST_REJECTED"),
        ("stop-sending", ""),
        ("bad-header", "QPACK_DECOMPRESSION_FAILED"),
        ("bad-frame", "H3_FRAME_UNEXPECTED"),
        ("reset", ""),
        ("silence", ""),
    ] {
        let server = Server::own(&format!("--fault {fault}:0.2"));
        let ran = server.run("--num-conns 40 --rate 200 --uri /small.txt --timeout 1");
        let summary = &ran.summary;
        let calls = summary.replies + summary.errors.total();
        assert!(calls >= 40 && summary.replies >= 10, "{fault}: {ran}");
        assert_eq!(summary.unfinished.moments.count(), 0, "{fault}: {ran}");
        if fault == "refuse-stream" {
            assert!(http3(&ran).resets_received.count(check) > 0, "{fault}: {ran}");
        }
    }
}

#[test]
fn what_cannot_be_is_said_in_one_sentence() {
    let refuse = |arguments: &str| {
        let finished = finish(1, arguments, &[]);
        assert_eq!(
            (finished.exit, finished.stdout.lines().count() <= 1),
            (Exit::Code(1), true),
            "{finished}"
        );
        finished.stderr
    };
    for (arguments, message) in [
        (
            "--http-version 3",
            "--http-version=3: expected a server with TLS (https://, or --ssl), which HTTP/3 has inside",
        ),
        (
            "--http-version 3 --ssl --proxy http://127.0.0.1:1",
            "--proxy: expected no --http-version=3 beside it, which goes over UDP",
        ),
        (
            "--http-version 3 --ssl --tls-max 1.2",
            "--tls-max: expected no --http-version=3 beside it, whose TLS is always version 1.3",
        ),
        (
            "--http-version 3 --ssl --ssl-ciphers AES128-SHA",
            "--ssl-ciphers: expected no --http-version=3 beside it, which has no cipher suites of TLS 1.2 or older",
        ),
        (
            "--http-version 3 --ssl --tls-groups P-521",
            "--tls-groups: expected groups that QUIC's library has, got P-521, which is there over TCP alone",
        ),
        (
            "--http-version 3 --ssl --tls-alpn h2",
            "--tls-alpn: expected http/1.0, http/1.1, or h2 with --http-version=2 or auto (anything with --tls-handshake-only), got `h2`",
        ),
        ("--http-version 3 --ssl --h2-window 1m", "--h2-window: needs --http-version=2 or auto"),
        (
            "--http-version 3 --ssl --quic-congestion reno",
            "--quic-congestion: expected cubic, newreno or bbr, got `reno`",
        ),
        (
            "--http-version 3 --ssl --quic-max-datagram 100",
            "--quic-max-datagram: expected a number of bytes from 1200 to 65527, got `100`",
        ),
        (
            "--http-version 2 --quic-window 1m",
            "--quic-window: needs --http-version=3 or auto, which go over QUIC",
        ),
    ] {
        let said = refuse(arguments);
        assert!(said.lines().next().unwrap_or_default().ends_with(message), "{arguments}: {said}");
    }
    let nobody = finish(free_port(), "--http-version 3 --ssl", &[]);
    assert!(nobody.stderr.contains("the first TLS handshake failed: connection refused"), "{nobody}");
}
