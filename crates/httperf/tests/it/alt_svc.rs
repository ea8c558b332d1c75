//! `--http-version auto` that goes over to HTTP/3 where replies offer it (`Alt-Svc`), with our own server and Caddy.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use httperf_origin::{Config, Counts, Credentials, Handle, Http3, KeyType, Tls, spawn};
use httperf_stats::{AltSvcSummary, Http2Summary};
use httperf_testkit::tcp::free_port;

use crate::http2_servers::ran::{Ran, finish, run};
use crate::support::certificates::Certificates;
use crate::support::group::Group;
use crate::support::program::Exit;
use crate::support::running::{peer, tool};

/// A server with HTTP/1.1, HTTP/2 and HTTP/3 on one port.
struct Server {
    running: Handle,
    port: u16,
}

impl Server {
    fn start() -> Self {
        let listen = Config::default().listen;
        let credentials = Credentials::self_signed(KeyType::default(), &listen);
        let config = Config {
            listen,
            tls: Some(Tls::new(credentials)),
            http3: Some(Http3::default()),
            ..Config::default()
        };
        let running = spawn(config).unwrap();
        let port = running.tcp_address().unwrap().port();
        Self { running, port }
    }

    fn run(&self, arguments: &str) -> Ran {
        self.run_with(arguments, &[])
    }

    /// Runs in a folder with these files.
    fn run_with(&self, arguments: &str, files: &[(&str, &[u8])]) -> Ran {
        run(self.port, &format!("--http-version auto --ssl {arguments}"), files)
    }

    fn stop(self) -> Counts {
        self.running.stop().unwrap()
    }
}

/// Returns a path whose reply has this field.
fn saying(field: &str) -> String {
    let encoded: String = field.bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!("/alt-svc/{encoded}/size/10")
}

fn http(ran: &Ran) -> &Http2Summary {
    ran.summary.http2.as_ref().unwrap()
}

fn alt_svc(ran: &Ran) -> &AltSvcSummary {
    http(ran).alt_svc.as_ref().unwrap_or_else(|| panic!("nothing was offered: {ran}"))
}

/// So many connections spoke HTTP/2, and so many HTTP/3.
#[track_caller]
fn check_spoken(ran: &Ran, http2: u64, http3: u64) {
    let spoken = &http(ran).spoken;
    assert_eq!(
        (spoken.count("HTTP/2"), spoken.count("HTTP/3"), spoken.total()),
        (http2, http3, http2 + http3),
        "{ran}"
    );
}

/// So many calls were answered, and none failed.
#[track_caller]
fn check_answered(ran: &Ran, calls: u64) {
    ran.check("errors=0");
    assert_eq!((ran.summary.replies, ran.summary.statuses[1]), (calls, calls), "{ran}");
}

#[test]
fn the_connection_after_the_first_goes_over_quic() {
    let server = Server::start();
    let ran = server.run("--num-conns 20 --num-calls 2");
    check_answered(&ran, 40);
    check_spoken(&ran, 1, 19);
    let found = alt_svc(&ran);
    assert_eq!((found.port, found.followed, found.failures.total()), (Some(server.port), 19, 0), "{ran}");
    assert!(found.first_seen_ns.is_some_and(|seen| seen > 0), "{ran}");
    assert!(ran.line("alt-svc").ends_with("; followed by 19 connections, 0 of them in vain"), "{ran}");
    assert_eq!(ran.line("HTTP/2+3 streams").split(',').next(), Some("opened 40"), "{ran}");
    let handshakes = ran.summary.tls.as_ref().unwrap();
    assert_eq!((handshakes.completed(), handshakes.protocols.count("h3")), (20, 19), "{ran}");
    let counts = server.stop();
    assert_eq!((counts.requests, counts.replies_total(), counts.connections), (40, 40, 20), "{counts}");
    assert_eq!(counts.tls.full, 20, "{counts}");
}

#[test]
fn connections_that_are_open_stay_as_they_are() {
    let server = Server::start();
    let ran = server.run("--concurrency 2 --num-calls 20");
    check_answered(&ran, 40);
    check_spoken(&ran, 2, 0);
    assert_eq!(alt_svc(&ran).followed, 0, "{ran}");
    let ran = server.run("--request-rate 200 --num-calls 20 --concurrency 1");
    check_answered(&ran, 20);
    check_spoken(&ran, 1, 0);
}

#[test]
fn all_workloads_go_over() {
    let server = Server::start();
    // Every visit has a connection of its own.
    let ran = server.run("--wsess 10,4,0 --burst-length 2");
    check_answered(&ran, 40);
    check_spoken(&ran, 1, 9);
    // One after another, however long handshakes take.
    let ran = server.run("--num-conns 40 --concurrency 1 --tls-resume 50 --timeout 5");
    check_answered(&ran, 40);
    assert!(http(&ran).spoken.count("HTTP/3") >= 20, "{ran}");
    assert!(
        ran.summary
            .tls
            .as_ref()
            .unwrap()
            .handshakes_of(httperf_stats::HandshakeKind::Resumed)
            .time
            .moments
            .count()
            > 0,
        "{ran}"
    );
}

#[test]
fn each_thread_learns_for_itself() {
    let server = Server::start();
    let ran = server.run("--num-conns 8 --rate 10 --threads 2");
    check_answered(&ran, 8);
    check_spoken(&ran, 2, 6);
    assert_eq!(alt_svc(&ran).followed, 6, "{ran}");
}

#[test]
fn versions_that_are_asked_for_are_spoken() {
    let server = Server::start();
    for (options, http2) in [("--http-version 2", 5), ("--http-version auto --ignore-alt-svc", 5), ("", 0)] {
        let ran = run(server.port, &format!("--ssl --num-conns 5 {options}"), &[]);
        check_answered(&ran, 5);
        let figures = ran.summary.http2.as_ref();
        assert_eq!(figures.map_or(0, |figures| figures.spoken.count("HTTP/2")), http2, "{ran}");
        assert!(figures.is_none_or(|figures| figures.alt_svc.is_none()), "{ran}");
    }
    let refused = finish(server.port, "--ssl --http-version 2 --ignore-alt-svc", &[]);
    let message = "--ignore-alt-svc needs --http-version=auto: other versions learn nothing from replies";
    assert!(refused.exit == Exit::Code(1) && refused.stderr.contains(message), "{refused}");
}

#[test]
fn a_server_that_is_not_there_over_quic_is_left_alone() {
    let server = Server::start();
    let field = format!("h3=\":{}\"", free_port());
    let ran = server.run(&format!("--num-conns 10 --uri {}", saying(&field)));
    // The connection that found out fails with its call.
    ran.check("errors=1");
    assert_eq!(
        (ran.summary.replies, ran.summary.errors.count(httperf_stats::Failure::Refused)),
        (9, 1),
        "{ran}"
    );
    check_spoken(&ran, 9, 0);
    let found = alt_svc(&ran);
    assert_eq!(
        (found.followed, found.broken, found.failures.count("connection refused")),
        (1, 1, 1),
        "{ran}"
    );
    assert_eq!(ran.line("not by QUIC"), "connection refused 1", "{ran}");
    let told = "the server offered HTTP/3 (Alt-Svc), but 1 connection did not reach it over QUIC";
    assert!(format!("{ran}").contains(told), "{ran}");
    assert_eq!(server.stop().requests, 9);
}

#[test]
fn a_server_that_is_silent_over_quic_is_left_alone() {
    let server = Server::start();
    // A port that is bound, and at which nobody answers.
    let silent = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let field = format!("h3=\":{}\"", silent.local_addr().unwrap().port());
    let ran = server.run(&format!("--num-conns 4 --timeout 0.5 --uri {}", saying(&field)));
    ran.check("errors=1");
    check_spoken(&ran, 3, 0);
    let found = alt_svc(&ran);
    assert_eq!((found.followed, found.broken, found.failures.count("no answer in time")), (1, 1, 1), "{ran}");
}

#[test]
fn an_offer_is_followed_as_long_as_it_holds() {
    let server = Server::start();
    let offer = format!("h3=\":{}\"; ma=1", server.port);
    // Paths in turn: an offer, then replies whose field is malformed and says nothing.
    let paths = [saying(&offer), saying("x"), saying("x"), saying("x")].join("\0");
    let ran = server
        .run_with("--num-conns 4 --rate 1.6 --wlog n,paths", &[("paths", format!("{paths}\0").as_bytes())]);
    check_answered(&ran, 4);
    // They are due at 0, 0.625, 1.25 and 1.875 s: the second is early enough.
    check_spoken(&ran, 3, 1);
    assert_eq!(alt_svc(&ran).withdrawn, 0, "{ran}");
}

#[test]
fn an_offer_may_be_taken_back() {
    let server = Server::start();
    let offer = format!("h3=\":{}\"", server.port);
    // Over TCP: the offer. Over QUIC: nothing new, then the end of it. Over TCP again: nothing.
    let paths = [saying(&offer), saying("x"), saying("clear"), saying("x"), saying("x")].join("\0");
    let ran = server.run_with("--num-conns 5 --wlog n,paths", &[("paths", format!("{paths}\0").as_bytes())]);
    check_answered(&ran, 5);
    check_spoken(&ran, 3, 2);
    assert_eq!((alt_svc(&ran).withdrawn, alt_svc(&ran).followed), (1, 2), "{ran}");
}

#[test]
fn an_offer_on_another_host_is_told_and_not_followed() {
    let server = Server::start();
    let ran = server.run(&format!("--num-conns 5 --uri {}", saying("h3=\"other.example:443\"; ma=60")));
    check_answered(&ran, 5);
    check_spoken(&ran, 5, 0);
    assert_eq!(ran.line("alt-svc"), "other.example:443 is another host and not followed", "{ran}");
}

#[test]
fn http1_learns_as_well() {
    let server = Server::start();
    let ran = server.run("--num-conns 4 --tls-alpn http/1.1");
    check_answered(&ran, 4);
    assert_eq!(http(&ran).spoken.count("HTTP/1.1"), 4, "{ran}");
    assert!(ran.line("alt-svc").ends_with("; not followed: ALPN does not offer it"), "{ran}");
    let mut config = Config { http2: None, http3: Some(Http3::default()), ..Config::default() };
    config.tls = Some(Tls::new(Credentials::self_signed(KeyType::default(), &config.listen)));
    let running = spawn(config).unwrap();
    let server = Server { port: running.tcp_address().unwrap().port(), running };
    let ran = server.run("--num-conns 4 --num-calls 3");
    check_answered(&ran, 12);
    let spoken = &http(&ran).spoken;
    assert_eq!((spoken.count("HTTP/1.1"), spoken.count("HTTP/3")), (1, 3), "{ran}");
    assert_eq!(server.stop().requests, 12);
}

#[test]
fn what_keeps_connections_on_tcp_is_named() {
    let server = Server::start();
    for (options, obstacle) in [
        ("--tls-max 1.2", "the newest TLS version is below 1.3"),
        ("--tls-groups P-521:X25519", "the key-exchange group P-521 is not there over QUIC"),
        ("--close-with-reset", "closing with a reset is about TCP"),
    ] {
        let ran = server.run(&format!("--num-conns 3 {options}"));
        check_answered(&ran, 3);
        check_spoken(&ran, 3, 0);
        assert_eq!(alt_svc(&ran).obstacle.as_deref(), Some(obstacle), "{ran}");
        assert!(ran.line("alt-svc").ends_with(&format!("; not followed: {obstacle}")), "{ran}");
    }
}

#[test]
fn caddy_is_followed() {
    let caddy = peer!(Caddy::start());
    let ran = run(caddy.port, "--http-version auto --ssl --num-conns 20 --num-calls 2 --uri /small.txt", &[]);
    check_answered(&ran, 40);
    check_spoken(&ran, 1, 19);
    let logged = || fs::read_to_string(caddy.folder.path().join("access.log")).unwrap_or_default();
    let count = |version: &str| logged().lines().filter(|line| line.contains(version)).count();
    let began = Instant::now();
    let before = count("\"uri\":\"/\"");
    while logged().lines().count() < 40 + before && began.elapsed() < Duration::from_secs(10) {
        thread::sleep(Duration::from_millis(10));
    }
    assert_eq!((count("HTTP/2.0") - before, count("HTTP/3.0")), (2, 38), "{}", logged());
}

/// Caddy, on quic-go, which offers HTTP/3 by itself.
struct Caddy {
    _group: Group,
    folder: tempfile::TempDir,
    port: u16,
}

impl Caddy {
    fn start() -> Option<Self> {
        let program = tool("caddy")?;
        let (folder, port) = (tempfile::tempdir().unwrap(), free_port());
        let root = folder.path();
        Certificates::make(root);
        fs::create_dir(root.join("docs")).unwrap();
        fs::write(root.join("docs/small.txt"), "small\n").unwrap();
        let group = Group::spawn(&mut Self::command(&program, root, port)).unwrap();
        let began = Instant::now();
        while finish(port, "--http-version 2 --ssl --uri / --timeout 1", &[]).exit != Exit::Code(0) {
            assert!(began.elapsed() < Duration::from_secs(30), "it does not answer");
            thread::sleep(Duration::from_millis(50));
        }
        Some(Self { _group: group, folder, port })
    }

    fn command(program: &Path, root: &Path, port: u16) -> Command {
        let path = root.display();
        let text = format!(
            "{{\n admin off\n auto_https disable_redirects\n storage file_system {path}/storage\n}}\n\
             https://localhost:{port} {{\n bind 127.0.0.1\n tls {path}/server.pem {path}/server.key\n root * {path}/docs\n \
             file_server\n log {{\n output file {path}/access.log\n format json\n }}\n}}\n"
        );
        fs::write(root.join("Caddyfile"), text).unwrap();
        let log = File::create(root.join("output.log")).unwrap();
        let mut command = Command::new(program);
        command.args(["run", "--adapter", "caddyfile", "--config", "Caddyfile"]);
        command.env("HOME", root).env("XDG_CONFIG_HOME", root).current_dir(root);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        command
    }
}
