//! HTTP/3 with our own test server, on quinn, and with ngtcp2, which loses packets on request. `tests/http3_servers` has what every
//! server has to do.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::{self, File};
use std::net::UdpSocket;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use httperf_stats::{Http2Summary, QuicSummary, TlsSummary};
use httperf_testkit::tcp::free_port;
use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::certificates::Certificates;
use crate::support::group::Group;
use crate::support::program::{Exit, Invocation, stderr, under_test};
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
    http3(ran).quic.clone().unwrap()
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
fn the_kernel_tells_when_datagrams_came() {
    let ran = Server::own("").run("--clock kernel --rate 100 --num-conns 100");
    check_answered(&ran, 100, 100);
    // The kernel begins to stamp a little after the first socket asks for it.
    let receive = &ran.summary.receive;
    assert_eq!(receive.lag.moments.count() + receive.unstamped, 100, "{ran}");
    assert!(receive.lag.moments.count() >= 50, "{ran}");
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
            "--proxy cannot be used with --http-version=3: HTTP/3 goes over UDP",
        ),
        (
            "--http-version 3 --ssl --tls-max 1.2",
            "--tls-max below 1.3 cannot be used with --http-version=3: HTTP/3 always has TLS 1.3",
        ),
        (
            "--http-version 3 --ssl --ssl-ciphers AES128-SHA",
            "--ssl-ciphers cannot be used with --http-version=3: HTTP/3 always has TLS 1.3",
        ),
        (
            "--http-version 3 --ssl --tls-groups P-521",
            "--tls-groups: expected groups that QUIC's library has, got P-521, which is there over TCP alone",
        ),
        (
            "--http-version 3 --ssl --tls-alpn h2",
            "--tls-alpn: expected http/1.0, http/1.1, or h2 with --http-version=2 or auto (anything with --tls-handshake-only), got `h2`",
        ),
        ("--http-version 3 --ssl --h2-window 1m", "--h2-window needs --http-version=2 or auto"),
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
            "--quic-window needs --http-version=3 or auto: those go over QUIC",
        ),
        ("--http-version 2 --qlog logs", "--qlog needs --http-version=3 or auto: those go over QUIC"),
        ("--quic-version 1", "--quic-version needs --http-version=3 or auto: those go over QUIC"),
        (
            "--http-version 3 --ssl --quic-version 2",
            "--quic-version: expected 1 (RFC 9000), the only one spoken, got `2`",
        ),
        ("--http-version 3 --ssl --qlog=", "--qlog: expected the path of a folder, got ``"),
        (
            "--http-version 3 --ssl --kernel-sends 1",
            "--kernel-sends cannot be used with --http-version=3: HTTP/3 goes over UDP",
        ),
        (
            "--http-version 3 --ssl --tcp-nodelay no",
            "--tcp-nodelay=no cannot be used with --http-version=3: HTTP/3 goes over UDP",
        ),
    ] {
        let said = refuse(arguments);
        assert!(said.lines().next().unwrap_or_default().ends_with(message), "{arguments}: {said}");
    }
    let nowhere = finish(1, "--http-version 3 --ssl --qlog file/logs", &[("file", b"")]);
    assert_eq!(nowhere.exit, Exit::Code(1), "{nowhere}");
    assert!(nowhere.stderr.contains("cannot write qlog files in file/logs: "), "{nowhere}");
    let nobody = finish(free_port(), "--http-version 3 --ssl", &[]);
    assert!(nobody.stderr.contains("the first TLS handshake failed: connection refused"), "{nobody}");
}

#[test]
fn paths_marks_and_buffers_are_told() {
    let server = Server::own("");
    let ran = server.run("--num-conns 4 --rate 100 --num-calls 3 --uri /small.txt");
    check_answered(&ran, 4, 12);
    let figures = quic(&ran);
    assert_eq!((figures.rtt.moments.count(), figures.congestion_window.count()), (4, 4), "{ran}");
    assert!(figures.rtt.moments.min() > 0.0 && figures.congestion_window.median() > Some(10_000), "{ran}");
    // Both ends of quinn mark what they send, and confirm the other's marks.
    assert!(figures.ecn.ect0 > 0 && figures.ecn.ect0 <= figures.datagrams_received, "{ran}");
    assert_eq!((figures.ecn.ce, figures.ecn_unconfirmed, figures.black_holes), (0, 0, 0), "{ran}");
    let buffers = figures.buffers.unwrap();
    assert_eq!((buffers.receive.asked, buffers.send.asked), (2 << 20, 2 << 20));
    assert!(buffers.receive.granted > 0 && buffers.receive.granted <= 2 << 20, "{buffers:?}");
    let window = figures.congestion_window.median().unwrap();
    assert!(ran.line("window").starts_with(&format!("{window} B median, up to ")), "{ran}");
    let ect0 = figures.ecn.ect0;
    assert_eq!(ran.line("ECN"), format!("received ECT(0) {ect0}, ECT(1) 0, CE 0; ours confirmed on 4 of 4"));
    let granted = buffers.receive.granted;
    assert!(ran.line("buffers").starts_with(&format!("receive {granted} of 2097152 B, send ")), "{ran}");
    // Each slow call tells of its connection.
    assert!(!ran.summary.slowest.is_empty(), "{ran}");
    for call in &ran.summary.slowest {
        let quic = call.quic.unwrap();
        assert!(quic.rtt > Duration::ZERO && quic.packets_lost <= figures.packets_lost, "{quic:?}");
        assert_eq!(call.transport, None);
    }
}

#[test]
fn what_this_machine_loses_is_a_reason_of_the_verdict() {
    let server = Server::own("");
    let load = "--concurrency 2 --streams 50 --num-calls 500 --uri /large.bin --recv-buffer 4096";
    let ran = server.run(load);
    check_answered(&ran, 2, 1000);
    let figures = quic(&ran);
    // The other buffer is as large as ever, not the classic tool's.
    let buffers = figures.buffers.unwrap();
    assert_eq!((buffers.receive.asked, buffers.send.asked), (4096, 2 << 20), "{ran}");
    assert!(figures.socket_drops > 0 && ran.summary.usage.udp.receive >= figures.socket_drops, "{ran}");
    let verdict = ran.finished.stdout.lines().find(|line| line.contains("datagrams lost")).unwrap();
    let lost =
        ran.summary.usage.udp.receive + ran.summary.usage.udp.send.saturating_sub(figures.sends_blocked);
    assert!(
        verdict.starts_with("  suspect  datagrams lost ")
            && verdict.contains(&format!(
                " {lost} datagrams or more were lost in this machine's own buffers, not "
            ))
            && verdict.contains(&format!("({} of them for the generator)", figures.socket_drops))
            && verdict.contains("net.core.rmem_max and --recv-buffer"),
        "{ran}"
    );
}

#[test]
fn a_server_that_speaks_another_version_fails_the_handshake() {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let port = socket.local_addr().unwrap().port();
    let answering = thread::spawn(move || {
        let mut buffer = [0; 2048];
        // Each connection has one first datagram, and perhaps repetitions of it.
        while let Ok((count, client)) = socket.recv_from(&mut buffer) {
            let datagram = &buffer[..count];
            if datagram == b"end" {
                break;
            }
            let (destination, rest) = datagram[6..].split_at(datagram[5].into());
            let source = &rest[1..=usize::from(rest[0])];
            let mut answer = vec![0x80, 0, 0, 0, 0];
            for id in [source, destination] {
                answer.push(id.len() as u8);
                answer.extend_from_slice(id);
            }
            // Version 2 (RFC 9369), and one that is reserved.
            answer.extend_from_slice(&[0x6b, 0x33, 0x43, 0xcf, 0x0a, 0x0a, 0x0a, 0x0a]);
            socket.send_to(&answer, client).unwrap();
        }
    });
    let finished = finish(port, "--http-version 3 --ssl --server 127.0.0.1 --num-conns 3", &[]);
    UdpSocket::bind("127.0.0.1:0").unwrap().send_to(b"end", ("127.0.0.1", port)).unwrap();
    answering.join().unwrap();
    assert_ne!(finished.exit, Exit::Code(0), "{finished}");
    assert!(finished.stderr.contains("the server speaks no version of QUIC that we do"), "{finished}");
    assert!(finished.stdout.contains("the server speaks no version of QUIC that we do"), "{finished}");
}

/// The records of a file in JSON-SEQ.
fn records(path: &Path) -> Vec<Value> {
    let text = fs::read(path).unwrap();
    let records = text.split(|&byte| byte == 0x1e);
    records
        .filter(|record| !record.is_empty())
        .map(|record| serde_json::from_slice(record).unwrap())
        .collect()
}

#[test]
fn the_first_connections_have_logs_of_their_events() {
    let server = Server::own("");
    let folder = server.path("new/logs");
    let ran = server
        .run(&format!("--num-conns 103 --rate 400 --uri /small.txt --threads 2 --qlog {}", folder.display()));
    check_answered(&ran, 103, 103);
    assert_eq!(quic(&ran).qlogs_cut, 0, "{ran}");
    let names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(names.len(), 100, "{names:?}");
    assert!((0..100).all(|number| names.contains(&format!("connection-{number}.sqlog"))), "{names:?}");
    for name in &names {
        let records = records(&folder.join(name));
        assert_eq!(records[0]["qlog_format"], "JSON-SEQ", "{name}");
        let number = name.trim_start_matches("connection-").trim_end_matches(".sqlog");
        assert_eq!(records[0]["title"], format!("httperf, connection {number}"));
        let described = records[0]["description"].as_str().unwrap();
        assert!(described.starts_with("began ") && described.ends_with(" s into the run"), "{described}");
        let count = |event: &str| {
            records[1..].iter().filter(|record| record["name"].as_str().unwrap().ends_with(event)).count()
        };
        for event in ["packet_sent", "packet_received", "metrics_updated"] {
            assert!(count(event) > 0, "{name}: {event}");
        }
        // Times count from the beginning of the connection, which took less than the whole run.
        let times: Vec<f64> = records[1..].iter().map(|record| record["time"].as_f64().unwrap()).collect();
        assert!(times.is_sorted() && times[0] < 1000.0, "{name}: {times:?}");
        assert!(times[times.len() - 1] <= ran.summary.duration.as_secs_f64() * 1e3 + 1000.0, "{name}");
    }
}

/// Runs a command of the program, and returns its document.
fn document(arguments: &str) -> (Exit, Value) {
    let mut invocation = Invocation::new(&under_test(), crate::support::words(arguments));
    invocation.limit = Duration::from_secs(60);
    let outcome = invocation.run().unwrap();
    let document = serde_json::from_slice(&outcome.stdout);
    (outcome.exit, document.unwrap_or_else(|error| panic!("{error}: {}", stderr(&outcome))))
}

#[test]
fn other_commands_speak_http3() {
    let server = Server::own("");
    let url = format!("https://127.0.0.1:{}/small.txt", server.port);
    let small = "--rounds 2 --handshakes 10 --rate-handshakes 10 --resume --format json";
    let (exit, lab) =
        document(&format!("tls-lab {url} --http-version 3 --groups X25519,X25519MLKEM768,P-256 {small}"));
    assert_eq!(exit, Exit::Code(0), "{lab:#}");
    assert_eq!(lab["server"], format!("https://127.0.0.1:{} over QUIC", server.port));
    let variants = lab["variants"].as_array().unwrap();
    assert_eq!(variants.len(), 6, "full and resumed ones of three groups: {lab:#}");
    for variant in variants {
        let figures = &variant["figures"];
        assert_eq!((&variant["outcome"], &figures["failed"]), (&"measured".into(), &0.into()), "{variant:#}");
        assert!(figures["completed"].as_u64() >= Some(40), "{variant:#}");
        assert_eq!((&figures["group"], &figures["tls_version"]), (&variant["name"], &"TLSv1.3".into()));
    }

    let trial = "--concurrency 2 --trial 0.3 --warmup 0.1 --rounds 3 --force --format json";
    let (_, ab) = document(&format!("ab {url} {trial} --a '--http-version 2' --b '--http-version 3'"));
    assert_eq!(ab["method"]["paired"]["rounds_made"], 3, "{ab:#}");

    let load = "--http-version 3 --duration 0.5 --warmup 0 --format json";
    let (exit, sweep) = document(&format!("sweep {url} --rates 20,40 --pause 0 {load}"));
    assert_eq!((exit, sweep["runs"].as_array().map(Vec::len)), (Exit::Code(0), Some(2)), "{sweep:#}");

    let search = "--start 20 --max-rate 40 --trial-min 0.5 --trial-max 1 --slo p50<5s --format json";
    let (exit, capacity) = document(&format!("capacity {url} --http-version 3 {search}"));
    assert_eq!(exit, Exit::Code(0), "{capacity:#}");
    assert!(capacity["trials"].as_array().is_some_and(|trials| !trials.is_empty()), "{capacity:#}");
}
