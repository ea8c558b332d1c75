//! The program over TLS with servers of other makes: nginx, OpenSSL's, Go's, Caddy; and beside the classic program.

mod peers;
mod wire;

use std::fs;
use std::time::Duration;

use crate::support::machine::is_long;
use crate::support::program::{Exit, Finished, Invocation, reference, under_test};
use crate::support::report::{COUNTS, Report};
use crate::support::running::peer;
use crate::support::words;
use httperf_proto::tls::GROUPS;
use httperf_testkit::skip;
use peers::Peer;
use wire::{Mischief, Recorder, first_message, sni};

/// The size of `/large.bin`.
const LARGE_SIZE: u64 = 100 * 1024 * 1024;

/// Runs the program with the full report against a port of localhost, by name.
fn run(port: u16, arguments: &str) -> Finished {
    run_program(&under_test(), &format!("--report=full --server localhost --port {port} {arguments}"))
}

fn run_program(program: &std::path::Path, arguments: &str) -> Finished {
    let mut invocation = Invocation::new(program, words(arguments));
    invocation.limit = Duration::from_secs(60);
    Finished::of(&invocation)
}

impl Finished {
    /// What the full report says after this name at the start of a line.
    #[track_caller]
    fn line(&self, name: &str) -> &str {
        let found = self.stdout.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("no line `{name}`: {self}")).trim()
    }

    /// The classic report has these values, as printed.
    #[track_caller]
    fn check(&self, expected: &str) {
        self.check_report(self.classic(), expected);
    }

    /// What was printed up to the end of the classic report.
    fn classic(&self) -> &str {
        self.stdout.split("\nTimes  ").next().unwrap_or_default()
    }

    /// The run ended well and made this many handshakes.
    #[track_caller]
    fn handshakes(&self, full: u64, resumed: u64, early: u64) {
        assert_eq!(self.exit, Exit::Code(0), "{self}");
        let expected = format!("full {full}, resumed {resumed}, early-data {early}, ");
        let line = self.line("TLS handshakes");
        assert!(line.starts_with(&expected) && line.ends_with("failed 0"), "{line}: {self}");
    }

    /// No handshake succeeded, and the first failed for this reason.
    #[track_caller]
    fn is_hopeless(&self, class: u8, reason: &str) {
        assert_eq!(self.exit, Exit::Code(255), "{self}");
        let message = format!("httperf: failed to connect to SSL server (err=-1, reason={class})\n");
        assert!(self.stderr.contains(&message), "{self}");
        assert!(self.stderr.contains(&format!("the first TLS handshake failed: {reason}")), "{self}");
    }
}

#[test]
fn nginx_takes_either_version_and_keeps_connections() {
    let nginx = peer!(Peer::nginx(""));
    for (version, suite, count) in
        [("TLSv1.2", "ECDHE-ECDSA-AES128-GCM-SHA256", 12), ("TLSv1.3", "TLS_AES_128_GCM_SHA256", 24)]
    {
        let run = run(
            nginx.port,
            &format!(
                "--ssl-protocol={version} --uri /small.txt --num-conns 3 --num-calls 4 --burst-length 2"
            ),
        );
        run.handshakes(3, 0, 0);
        run.check("connections=3 requests=12 replies=12 2xx=12 content=6.0 errors=0 length=4.000");
        assert_eq!(run.line("version"), format!("{version} 3"));
        assert_eq!(run.line("cipher"), format!("{suite} 3"));
        assert_eq!(run.line("group"), "X25519 3");
        let log = nginx.log(count);
        assert!(log[count - 12..].iter().all(|line| line.starts_with(version)), "{log:?}");
    }
}

#[test]
fn the_connections_of_a_session_resume_unless_told_otherwise() {
    let nginx = peer!(Peer::nginx(""));
    let mut seen = 0;
    for version in ["TLSv1.2", "TLSv1.3"] {
        for (option, resumed) in [("", 2), ("--ssl-no-reuse", 0)] {
            let run = run(
                nginx.port,
                &format!(
                    "--ssl-protocol={version} {option} --uri /small.txt --wsess=1,3,0 --http-version=1.0"
                ),
            );
            run.handshakes(3 - resumed, resumed, 0);
            run.check("connections=3 replies=3 errors=0");
            seen += 3;
            let log = nginx.log(seen);
            let reused = log[seen - 3..].iter().filter(|line| line.contains("reused=r")).count();
            assert_eq!(reused as u64, resumed, "{log:?}");
        }
    }
}

#[test]
fn three_in_ten_of_thousands_of_handshakes_resume_when_asked_to() {
    let nginx = peer!(Peer::nginx(""));
    let count: u64 = if is_long() { 10_000 } else { 2_000 };
    let run = run(nginx.port, &format!("--tls-resume 30 --uri /small.txt --num-conns {count}"));
    run.check(&format!("connections={count} replies={count} errors=0"));
    let line = run.line("TLS handshakes");
    let resumed: u64 =
        line.split("resumed ").nth(1).and_then(|rest| rest.split(',').next()?.parse().ok()).unwrap();
    // Less than three standard deviations.
    let expected = count * 3 / 10;
    assert!((resumed.abs_diff(expected) as f64) < 3.0 * (expected as f64 * 0.7).sqrt(), "{line}");
    let log = nginx.log(count as usize);
    assert_eq!(log.iter().filter(|line| line.contains("reused=r")).count() as u64, resumed);
}

#[test]
fn handshakes_alone_can_resume_too() {
    let nginx = peer!(Peer::nginx(""));
    let run = run(nginx.port, "--tls-handshake-only --tls-resume 50 --num-conns 100");
    run.handshakes(50, 50, 0);
    run.check("connections=100 requests=0 errors=0");
}

#[test]
fn safe_requests_travel_as_early_data_to_a_server_that_takes_it() {
    let nginx = peer!(Peer::nginx("ssl_early_data on;"));
    // nginx says so only of requests that it comes to before the client's last message: on a busy machine perhaps of none.
    let mut seen = 0;
    let is_told = (0..10).any(|_| {
        let get = run(nginx.port, "--tls-early-data --uri /small.txt --num-conns 20");
        get.handshakes(1, 0, 19);
        get.check("replies=20 2xx=20 errors=0");
        assert_eq!(get.line("early requests"), "accepted 19, rejected 0, replayed 0");
        let log = nginx.log(seen + 20);
        let log = &log[seen..];
        seen += 20;
        assert_eq!(log.iter().filter(|line| line.contains("reused=r")).count(), 19, "{log:?}");
        log.iter().any(|line| line.contains("early=1"))
    });
    assert!(is_told, "of none of {seen} requests");
    let post = run(nginx.port, "--tls-early-data --uri /small.txt --num-conns 20 --method POST");
    post.check("replies=20 4xx=20 errors=0");
    assert_eq!(post.line("early requests"), "accepted 0, rejected 0, replayed 0");
    let log = nginx.log(seen + 20);
    assert!(log[seen..].iter().all(|line| line.contains("early=- POST")), "{log:?}");
}

#[test]
fn early_data_that_a_server_refuses_is_sent_again() {
    // Each of two servers is offered the sessions of the other, whose tickets it cannot open.
    let one = peer!(Peer::nginx("ssl_early_data on;"));
    let other = peer!(Peer::nginx("ssl_early_data on;"));
    let proxy = Recorder::between(vec![one.port, other.port], Vec::new());
    let run = run(proxy.port, "--tls-early-data --uri /small.txt --num-conns 10");
    run.check("replies=10 2xx=10 errors=0");
    run.handshakes(10, 0, 0);
    let rejected =
        run.line("early requests").strip_prefix("accepted 0, rejected ").expect("none is accepted");
    let (rejected, replayed) = rejected.split_once(", replayed ").expect("there is another count");
    assert_eq!(rejected, replayed, "{run}");
    assert!(rejected.parse::<u32>().unwrap() > 0, "{run}");
}

#[test]
fn large_files_arrive_whole() {
    let nginx = peer!(Peer::nginx(""));
    let caddy = peer!(Peer::caddy());
    for peer in [&nginx, &caddy] {
        let run = run(peer.port, "--ssl --uri /large.bin --num-calls 2 --recv-buffer 262144");
        run.handshakes(1, 0, 0);
        run.check("replies=2 2xx=2 content=104857600.0 errors=0");
    }
}

#[test]
fn certificates_are_checked_when_asked_to() {
    let nginx = peer!(Peer::nginx(""));
    let (ca, stranger) = (nginx.certificates.path("ca.pem"), nginx.certificates.path("stranger.pem"));
    let verify = |ca: &str| format!("--ssl --ssl-verify --ssl-ca-file={ca} --uri /small.txt");
    let good = run(nginx.port, &verify(&ca));
    good.handshakes(1, 0, 0);
    assert!(!good.line("certificate").contains("not checked"), "{good}");
    run(nginx.port, &verify(&stranger))
        .is_hopeless(1, "certificate not trusted: unable to get local issuer certificate");
    run(nginx.port, &format!("{} --tls-server-name=wrong.invalid", verify(&ca)))
        .is_hopeless(1, "certificate not trusted: Hostname mismatch");
    // Without a name, the certificate must bear the address.
    let address = format!("--report=full --server 127.0.0.1 --port {} {}", nginx.port, verify(&ca));
    run_program(&under_test(), &address).handshakes(1, 0, 0);
    let unchecked = run(nginx.port, "--ssl --uri /small.txt");
    unchecked.handshakes(1, 0, 0);
    assert!(unchecked.line("certificate").contains("not checked"), "{unchecked}");
    drop(nginx);

    let expired = peer!(Peer::nginx("ssl_certificate expired.pem; ssl_certificate_key expired.key;"));
    let ca = expired.certificates.path("ca.pem");
    run(expired.port, &verify(&ca)).is_hopeless(1, "certificate not trusted: certificate has expired");
    let line = run(expired.port, "--ssl --uri /small.txt");
    assert!(line.line("certificate").contains("expired"), "{line}");
}

#[test]
fn a_folder_of_certificates_can_be_trusted() {
    let nginx = peer!(Peer::nginx(""));
    let folder = tempfile::tempdir().unwrap();
    fs::copy(nginx.certificates.path("ca.pem"), folder.path().join("any name")).unwrap();
    let option = format!("--ssl --ssl-verify --ssl-ca-path={}", folder.path().display());
    run(nginx.port, &format!("{option} --uri /small.txt")).handshakes(1, 0, 0);
}

#[test]
fn a_client_shows_its_certificate() {
    let peer = peer!(Peer::openssl("-Verify 1 -CAfile ca.pem -verify_return_error -www"));
    let (own, key) = (peer.certificates.path("client.pem"), peer.certificates.path("client.key"));
    for version in ["TLSv1.2", "TLSv1.3"] {
        let run =
            run(peer.port, &format!("--ssl-protocol={version} --ssl-certificate={own} --ssl-key={key}"));
        run.handshakes(1, 0, 0);
        run.check("replies=1 2xx=1 errors=0");
    }
    run(peer.port, "--ssl-protocol=TLSv1.2").is_hopeless(1, "alert handshake_failure from the server");
    // TLS 1.3 has the client finish before the server has looked at what it showed.
    let run = run(peer.port, "--ssl-protocol=TLSv1.3");
    assert_eq!(run.exit, Exit::Code(0), "{run}");
    run.check("replies=0 errors=1 other=1");
    assert!(run.stderr.contains("alert certificate_required from the server"), "{run}");
}

#[test]
fn old_versions_and_ciphers_are_spoken_with_openssl() {
    for (version, option) in [("TLSv1", "-tls1"), ("TLSv1.1", "-tls1_1")] {
        let peer = peer!(Peer::openssl(&format!("{option} -cipher ALL:@SECLEVEL=0 -www -quiet")));
        let run = run(peer.port, &format!("--ssl-protocol={version} --num-conns 2"));
        run.handshakes(2, 0, 0);
        run.check("replies=2 2xx=2 errors=0");
        assert_eq!(run.line("version"), format!("{version} 2"));
    }
    let peer = peer!(Peer::openssl("-tls1_2 -cipher ALL:@SECLEVEL=0 -www -quiet"));
    for cipher in ["ECDHE-ECDSA-AES256-SHA", "ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-CHACHA20-POLY1305"] {
        let run = run(peer.port, &format!("--ssl --ssl-ciphers={cipher}"));
        run.handshakes(1, 0, 0);
        assert_eq!(run.line("cipher"), format!("{cipher} 1"));
    }
}

#[test]
fn cipher_lists_that_only_old_libraries_know_leave_tls_13_as_they_do_in_the_classic_program() {
    let nginx = peer!(Peer::nginx(""));
    let lists = ["EXP-RC4-MD5:EXP-RC2-CBC-MD5", "RC4-MD5", "NULL", "TLS_AES_128_GCM_SHA256", "ALL:!ALL", ""];
    for list in lists {
        let option = format!("--ssl-ciphers={list}");
        let arguments = ["--ssl", &option, "--server", "localhost", "--port", &nginx.port.to_string()];
        let run_it = |program: &std::path::Path, further: &[&str]| {
            Finished::of(&Invocation::new(program, [&arguments, further].concat()))
        };
        let run = run_it(&under_test(), &["--uri", "/small.txt", "--report=full"]);
        run.handshakes(1, 0, 0);
        run.check("replies=1 2xx=1 errors=0");
        assert_eq!(run.line("version"), "TLSv1.3 1", "{run}");
        assert!(run.stderr.contains("warning: --ssl-ciphers: "), "{run}");
        assert!(list.split(':').all(|name| run.stderr.contains(name)), "{run}");
        if let Some(classic) = reference() {
            run_it(classic, &["--uri", "/small.txt"]).check("replies=1 2xx=1 errors=0");
        }
    }
    // Where the server does not speak TLS 1.3 there is nothing to agree on, for neither program.
    let old = peer!(Peer::openssl("-tls1_2 -www -quiet"));
    run(old.port, "--ssl --ssl-ciphers=RC4-MD5").is_hopeless(1, "alert protocol_version from the server");
}

#[test]
fn servers_speak_the_groups_that_help_says_they_do() {
    let nginx = peer!(Peer::nginx(""));
    let go = peer!(Peer::go(""));
    let caddy = peer!(Peer::caddy());
    for group in GROUPS {
        for (name, peer) in [("nginx", &nginx), ("Go", &go), ("Caddy", &caddy)] {
            // Other versions than those in the table may speak more.
            if group.spoken_by.contains(&name) {
                let run = run(peer.port, &format!("--tls-groups={} --tls-handshake-only", group.name));
                run.handshakes(1, 0, 0);
                assert_eq!(run.line("group"), format!("{} 1", group.name), "{name}: {run}");
            }
        }
    }
}

/// A reply as typed on the terminal of `s_server -crlf`.
const TYPED_REPLY: &str = "HTTP/1.1 200 OK\nContent-Length: 4\n\nok\n";

#[test]
fn a_key_update_in_the_middle_of_a_connection_is_followed() {
    let mut peer = peer!(Peer::openssl("-tls1_3 -crlf"));
    let port = peer.port;
    let running = std::thread::spawn(move || run(port, "--ssl --num-calls 2 --timeout 20"));
    peer.wait_for("GET / HTTP/1.1");
    for command in ["K\n", "k\n"] {
        peer.type_in(command);
        // Each line is a command of its own only if it is read by itself.
        std::thread::sleep(Duration::from_millis(300));
    }
    peer.type_in(TYPED_REPLY);
    std::thread::sleep(Duration::from_millis(300));
    peer.type_in("K\n");
    std::thread::sleep(Duration::from_millis(300));
    peer.type_in(TYPED_REPLY);
    let run = running.join().unwrap();
    run.handshakes(1, 0, 0);
    run.check("replies=2 2xx=2 content=4.0 errors=0");
}

#[test]
fn a_renegotiation_is_refused_and_ends_the_connection() {
    let mut peer = peer!(Peer::openssl("-tls1_2 -crlf"));
    let port = peer.port;
    let running = std::thread::spawn(move || run(port, "--ssl --timeout 20"));
    peer.wait_for("GET / HTTP/1.1");
    peer.type_in("r\n");
    let run = running.join().unwrap();
    assert_eq!(run.exit, Exit::Code(0), "{run}");
    run.check("replies=0 errors=1 other=1");
    assert!(
        run.stderr.contains("TLS ended 1 connection, the most frequent reason: no renegotiation"),
        "{run}"
    );
}

#[test]
fn go_agrees_on_the_post_quantum_group() {
    let peer = peer!(Peer::go(""));
    let run = run(peer.port, "--ssl --uri /reply/1000 --num-conns 2 --num-calls 3");
    run.handshakes(2, 0, 0);
    run.check("replies=6 2xx=6 errors=0");
    assert_eq!(run.line("group"), "X25519MLKEM768 2");
}

#[test]
fn go_asks_again_for_the_only_group_it_takes() {
    for curve in ["P-384", "P-521"] {
        let peer = peer!(Peer::go(&format!("-curves={curve}")));
        let run = run(peer.port, &format!("--tls-groups=X25519:{curve} --uri /reply/1000 --num-conns 2"));
        run.handshakes(2, 0, 0);
        assert!(run.line("TLS handshakes").contains("HelloRetryRequest 2"), "{run}");
        assert_eq!(run.line("group"), format!("{curve} 2"));
    }
}

#[test]
fn replies_whose_last_record_is_large_are_read_to_the_end() {
    let peer = peer!(Peer::go(""));
    // The classic program hangs on more than 8192 bytes; 16384 is the most that a record holds. The first record
    // comes with the tickets of TLS 1.3.
    for size in [8192, 8193, 10_000, 16_383, 16_384, 24_577, 40_000] {
        let run = run(peer.port, &format!("--ssl --uri /reply/{size} --num-calls 3 --timeout 10"));
        run.check(&format!("replies=3 2xx=3 errors=0 total={size}.0"));
    }
}

#[test]
fn go_resumes_with_either_version() {
    for flags in ["", "-max12"] {
        let peer = peer!(Peer::go(flags));
        run(peer.port, "--tls-resume 50 --uri /reply/100 --num-conns 100").handshakes(50, 50, 0);
    }
    let peer = peer!(Peer::go("-tickets=false"));
    run(peer.port, "--tls-resume 50 --uri /reply/100 --num-conns 20").handshakes(20, 0, 0);
}

#[test]
fn a_reply_that_may_have_been_cut_short_counts_as_failed() {
    let peer = peer!(Peer::go(""));
    run(peer.port, "--ssl --uri /whole --num-conns 3").check("replies=3 content=5.0 errors=0");
    let cut = run(peer.port, "--ssl --uri /cut --num-conns 3");
    cut.check("replies=0 errors=3 connreset=3");
    assert!(cut.line("no close_notify").contains("replies cut short 3"), "{cut}");
}

#[test]
fn caddy_serves_small_files() {
    let caddy = peer!(Peer::caddy());
    let run = run(caddy.port, "--ssl --uri /small.txt --num-conns 5 --num-calls 20");
    run.handshakes(5, 0, 0);
    run.check("replies=100 2xx=100 content=6.0 errors=0");
    assert_eq!(run.line("group"), "X25519MLKEM768 5");
}

#[test]
fn what_is_no_tls_ends_the_run_as_it_always_did() {
    let nginx = peer!(Peer::nginx(""));
    for (mischief, class, reason, counted) in [
        (Mischief::Close, 5, "the server closed the connection", "connreset=1"),
        (Mischief::Garbage, 1, "", "other=1"),
        (Mischief::Stall, 5, "no answer in time", "client-timo=1"),
    ] {
        let proxy = Recorder::start(nginx.port, vec![mischief]);
        let run = run(proxy.port, "--ssl --timeout 1");
        run.is_hopeless(class, reason);
        run.check(&format!("connections=1 replies=0 errors=1 {counted}"));
    }
    let nobody = run(1, "--ssl");
    nobody.is_hopeless(5, "connection refused");
}

#[test]
fn handshakes_that_fail_beside_others_that_succeed_are_counted() {
    let nginx = peer!(Peer::nginx(""));
    let proxy = Recorder::start(nginx.port, vec![Mischief::Close, Mischief::Garbage, Mischief::Stall]);
    let run = run(proxy.port, "--ssl --uri /small.txt --num-conns 10 --timeout 1");
    assert_eq!(run.exit, Exit::Code(0), "{run}");
    run.check("connections=10 replies=7 2xx=7 errors=3 client-timo=1 connreset=1 other=1");
    assert!(run.line("TLS handshakes").starts_with("full 7,"), "{run}");
    assert!(run.line("TLS handshakes").ends_with("failed 3"), "{run}");
}

#[test]
fn the_post_quantum_group_costs_what_it_must_on_the_wire() {
    let peer = peer!(Peer::go(""));
    let sizes = |group: &str| {
        let proxy = Recorder::start(peer.port, Vec::new());
        run(proxy.port, &format!("--tls-groups={group} --uri /reply/100")).handshakes(1, 0, 0);
        let seen = proxy.seen();
        (first_message(&seen[0].client).len(), first_message(&seen[0].server).len())
    };
    let (classic, post_quantum) = (sizes("X25519"), sizes("X25519MLKEM768"));
    assert!((post_quantum.0 - classic.0).abs_diff(1184) <= 16, "ClientHello: {classic:?}, {post_quantum:?}");
    assert!((post_quantum.1 - classic.1).abs_diff(1088) <= 16, "ServerHello: {classic:?}, {post_quantum:?}");
}

#[test]
fn a_name_is_sent_and_an_address_is_not() {
    let peer = peer!(Peer::go(""));
    let sent = |options: &str| {
        let proxy = Recorder::start(peer.port, Vec::new());
        let arguments = format!("--ssl --port {} --uri /reply/100 {options}", proxy.port);
        assert_eq!(run_program(&under_test(), &arguments).exit, Exit::Code(0));
        sni(first_message(&proxy.seen()[0].client))
    };
    assert_eq!(sent("--server localhost").as_deref(), Some("localhost"));
    assert_eq!(sent("--server 127.0.0.1"), None);
    assert_eq!(sent("--server 127.0.0.1 --server-name www.example:8443").as_deref(), Some("www.example"));
    assert_eq!(sent("--server localhost --tls-server-name x.example").as_deref(), Some("x.example"));
}

#[test]
fn secrets_are_logged_in_the_format_that_tools_read() {
    let nginx = peer!(Peer::nginx(""));
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("keys");
    run(nginx.port, &format!("--tls-keylog={} --uri /small.txt --num-conns 2", log.display()))
        .handshakes(2, 0, 0);
    let text = fs::read_to_string(log).unwrap();
    let of = |label: &str| text.lines().filter(|line| line.starts_with(label)).count();
    assert_eq!((of("CLIENT_HANDSHAKE_TRAFFIC_SECRET "), of("SERVER_TRAFFIC_SECRET_0 ")), (2, 2), "{text}");
}

/// Rows 60 to 62 of the specification: the same command lines with the classic program, as the server saw them.
#[test]
fn the_server_sees_what_it_saw_of_the_classic_program() {
    let Some(classic) = reference() else {
        skip::lacking("the classic httperf");
        return;
    };
    // Both of the classic program's possible servers: one with TLS 1.3, one without.
    for protocols in ["TLSv1.2 TLSv1.3", "TLSv1.2"] {
        for arguments in [
            "--ssl --num-conns 3",
            "--ssl --wsess=1,3,0 --http-version=1.0",
            "--ssl --wsess=1,3,0 --http-version=1.0 --ssl-no-reuse",
            "--ssl --ssl-ciphers=ECDHE-ECDSA-AES128-GCM-SHA256",
            "--ssl --ssl-ciphers=ECDHE-ECDSA-CHACHA20-POLY1305 --num-calls 5",
        ] {
            // The certificates are elliptic here, so the name in row 62 is the elliptic one.
            let seen = |program: &std::path::Path| {
                let nginx = Peer::nginx(&format!("ssl_protocols {protocols}; ssl_ecdh_curve X25519;"))?;
                let run = run_program(
                    program,
                    &format!(
                        "--server 127.0.0.1 --port {} --uri /small.txt --timeout 10 {arguments}",
                        nginx.port
                    ),
                );
                assert_eq!(run.exit, Exit::Code(0), "{run}");
                let report = Report::parse(&run.stdout).unwrap_or_else(|error| panic!("{error}: {run}"));
                let counts: Vec<String> = COUNTS
                    .iter()
                    // The name of the program is in each request.
                    .filter(|&&name| name != "request_size")
                    .filter(|&&name| run.stdout.contains("Session rate") || !name.starts_with("sess"))
                    .map(|&name| format!("{name}={}", report.text(name)))
                    .collect();
                let echo =
                    run.stdout.lines().next().unwrap_or_default().replace(&nginx.port.to_string(), "PORT");
                // The server may log a request after the client has its reply.
                let replies = report.text("replies").parse().expect("replies are counted");
                // A TLS 1.3 suite cannot be chosen, and each library prefers its own.
                let log: Vec<String> = nginx
                    .log(replies)
                    .iter()
                    .map(|line| {
                        let cipher = line.split(' ').nth(1).unwrap_or_default().to_owned();
                        if line.starts_with("TLSv1.3") { line.replace(&cipher, "any") } else { line.clone() }
                    })
                    .collect();
                Some((echo, counts, log))
            };
            let (Some(ours), Some(theirs)) = (seen(&under_test()), seen(classic)) else { return };
            assert_eq!(ours, theirs, "{arguments}");
        }
    }
}
