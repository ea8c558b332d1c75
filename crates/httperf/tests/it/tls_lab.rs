//! `httperf tls-lab` as a user meets it: against a server of another make, and with words that mean nothing.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::bench::Bench;
use crate::support::program::{Exit, Invocation, Killed, Outcome, under_test};
use crate::support::reference::ours;
use httperf_testkit::skip;
use httperf_testkit::tcp::{free_port, listen};
use serde_json::Value;
use tempfile::TempDir;

/// How long the server may take until it accepts connections.
const START_WAIT: Duration = Duration::from_secs(10);

/// Another process can take a port between its choice and its use: then another one is tried.
const ATTEMPTS: usize = 3;

/// `openssl s_server` with X25519 and P-256 and nothing else, and a certificate for `localhost`.
struct OpenSsl {
    /// It goes on as long as its standard input is open.
    _child: Killed,
    folder: TempDir,
    port: u16,
}

impl OpenSsl {
    /// `None`, with a word on stdout, if it is not installed.
    fn start() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"])
            .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"])
            .args(["-keyout", "key.pem", "-out", "cert.pem"])
            .current_dir(folder.path())
            .stderr(Stdio::null())
            .status();
        let Ok(made) = made else {
            skip::lacking("openssl");
            return None;
        };
        assert!(made.success(), "openssl makes a certificate");
        for _ in 0..ATTEMPTS {
            if let Some((child, port)) = Self::try_start(folder.path()) {
                return Some(Self { _child: child, folder, port });
            }
        }
        panic!("openssl s_server does not start");
    }

    fn try_start(folder: &Path) -> Option<(Killed, u16)> {
        let port = free_port();
        let mut child = Killed(
            Command::new("openssl")
                .args(["s_server", "-quiet", "-cert", "cert.pem", "-key", "key.pem"])
                .args(["-groups", "X25519:P-256", "-accept", &format!("127.0.0.1:{port}")])
                .current_dir(folder)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        );
        let began = Instant::now();
        while began.elapsed() < START_WAIT && child.0.try_wait().unwrap().is_none() {
            if TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok() {
                return Some((child, port));
            }
            thread::sleep(Duration::from_millis(10));
        }
        None
    }

    fn certificate(&self) -> PathBuf {
        self.folder.path().join("cert.pem")
    }

    /// Runs `httperf tls-lab` against it, with small trials.
    fn compare(&self, options: &[&str]) -> Outcome {
        self.invocation(options).run().unwrap()
    }

    fn invocation(&self, options: &[&str]) -> Invocation {
        let server = format!("https://127.0.0.1:{}/", self.port);
        let words = ["tls-lab", &server, "--rounds=2", "--handshakes=100", "--rate-handshakes=20"];
        Invocation::new(&under_test(), words.iter().chain(options).copied())
    }
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

#[track_caller]
fn check_success(outcome: &Outcome) {
    assert_eq!((outcome.exit, text(&outcome.stderr)), (Exit::Code(0), ""), "{}", text(&outcome.stdout));
}

#[track_caller]
fn check_refused(outcome: &Outcome, reason: &str) {
    assert_eq!((outcome.exit, text(&outcome.stdout)), (Exit::Code(1), ""));
    let message = text(&outcome.stderr);
    assert!(message.starts_with("httperf tls-lab: https://127.0.0.1:"), "{message}");
    assert!(message.ends_with(&format!(": {reason}\n")) && message.lines().count() == 1, "{message}");
}

#[test]
fn what_the_server_accepts_is_measured_and_what_it_refuses_is_a_row_that_says_so() {
    let Some(server) = OpenSsl::start() else { return };
    let outcome = server.compare(&[]);
    check_success(&outcome);
    let table = text(&outcome.stdout);
    let row = |name: &str| table.lines().find(|line| line.starts_with(&format!("{name} "))).unwrap();
    assert!(row("X25519").contains(" ± "), "{table}");
    assert!(row("P-256").contains(" ± "), "{table}");
    for name in ["X25519MLKEM768", "MLKEM1024"] {
        assert!(row(name).ends_with(" refused: alert handshake_failure from the server"), "{table}");
    }
    let verdict = table.lines().last().unwrap();
    assert!(verdict.starts_with("P-256 costs ") && verdict.contains(" bytes per full handshake"), "{table}");
}

#[test]
fn json_holds_every_round_and_what_was_agreed_on() {
    let Some(server) = OpenSsl::start() else { return };
    let outcome = server.compare(&[
        "--groups=X25519,P-256,MLKEM1024",
        "--ciphers=ECDHE-ECDSA-AES128-GCM-SHA256",
        "--resume",
        "--json",
    ]);
    check_success(&outcome);
    let document: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert_eq!((&document["format"], &document["version"]), (&"httperf-tls-lab".into(), &1.into()));
    assert_eq!((&document["rounds_complete"], &document["interrupted"]), (&2.into(), &false.into()));
    let variants = document["variants"].as_array().unwrap();
    let names: Vec<String> = variants
        .iter()
        .map(|variant| format!("{} {}", variant["name"].as_str().unwrap(), variant["kind"].as_str().unwrap()))
        .collect();
    let expected = [
        "X25519 full",
        "X25519 resumed",
        "P-256 full",
        "P-256 resumed",
        "MLKEM1024 full",
        "ECDHE-ECDSA-AES128-GCM-SHA256 full",
        "ECDHE-ECDSA-AES128-GCM-SHA256 resumed",
    ];
    assert_eq!(names, expected);
    for (index, variant) in variants.iter().enumerate().filter(|&(index, _)| index != 4) {
        let figures = &variant["figures"];
        let version = if index < 4 { "TLSv1.3" } else { "TLSv1.2" };
        assert_eq!((&variant["outcome"], &figures["tls_version"]), (&"measured".into(), &version.into()));
        assert_eq!((figures["trials"].as_array().unwrap().len(), &figures["failed"]), (2, &0.into()));
        for figure in ["p50_us", "p99_us", "cpu_us", "rate_per_s", "p50_ratio"] {
            assert!(figures[figure]["mean"].as_f64().unwrap() > 0.0, "{figure} of {variant}");
        }
    }
    assert_eq!(variants[4]["outcome"], "refused");
    let bytes = |index: usize, which: &str| variants[index]["figures"][which].as_f64().unwrap();
    // A point on the curve P-256 takes 65 bytes, one on X25519 takes 32.
    assert_eq!(bytes(2, "sent_bytes") - bytes(0, "sent_bytes"), 33.0);
    assert!(bytes(1, "received_bytes") < bytes(0, "received_bytes") - 300.0, "no certificate comes again");
    assert_eq!(document["verdict"].as_array().unwrap().len(), 5);
}

#[test]
fn csv_has_a_line_for_each_variant() {
    let Some(server) = OpenSsl::start() else { return };
    let outcome = server.compare(&["--format=csv", "--rounds=1"]);
    check_success(&outcome);
    let lines: Vec<&str> = text(&outcome.stdout).lines().collect();
    assert!(lines[0].starts_with("variant,kind,outcome,reason,"), "{lines:?}");
    assert!(lines[1].starts_with("X25519,full,measured,,TLSv1.3,"), "{lines:?}");
    assert!(lines[2].starts_with("X25519MLKEM768,full,refused,alert handshake_failure"), "{lines:?}");
    assert_eq!(lines.len(), 5);
}

#[test]
fn a_server_that_accepts_nothing_is_explained_in_one_sentence() {
    let Some(server) = OpenSsl::start() else { return };
    let outcome = server.compare(&["--groups=X25519MLKEM768,MLKEM1024"]);
    check_refused(&outcome, "alert handshake_failure from the server");
}

#[test]
fn a_certificate_is_checked_if_that_is_asked_for() {
    let Some(server) = OpenSsl::start() else { return };
    check_refused(
        &server.compare(&["--ssl-verify", "--groups=P-256"]),
        "certificate not trusted: self signed certificate",
    );
    let certificate = server.certificate();
    let trusted = ["--ssl-ca-file", certificate.to_str().unwrap(), "--groups=P-256", "--rounds=1"];
    let wrong_name = server.compare(&trusted);
    assert_eq!(wrong_name.exit, Exit::Code(1), "it does not bear the address");
    check_success(&server.compare(&[&trusted[..], &["--tls-server-name=localhost"]].concat()));
}

#[test]
fn nobody_listening_is_explained() {
    let port = free_port();
    let words = ["tls-lab".to_owned(), format!("127.0.0.1:{port}")];
    let outcome = Invocation::new(&under_test(), words).run().unwrap();
    let refused = format!("no reply: connection refused by 127.0.0.1:{port} (1 of 1). Is the server up?");
    let expected = format!("httperf tls-lab: {refused}\n");
    assert_eq!((outcome.exit, text(&outcome.stdout), text(&outcome.stderr)), (Exit::Code(1), "", &*expected));
}

#[test]
fn a_port_without_tls_is_explained_without_a_remedy_that_does_not_help_here() {
    let server = Bench::new();
    let words = ["tls-lab".to_owned(), format!("127.0.0.1:{}", server.port)];
    let outcome = Invocation::new(&under_test(), words).run().unwrap();
    let said = text(&outcome.stderr);
    assert!(said.ends_with(". Does the port speak plain HTTP? Name one that speaks TLS\n"), "{said}");
}

#[test]
fn a_server_that_says_nothing_is_given_up_after_the_timeout() {
    let (_silent, port) = listen();
    let server = format!("127.0.0.1:{port}");
    let words = ["tls-lab", &server, "--timeout=200ms", "--groups=X25519"];
    check_refused(&Invocation::new(&under_test(), words).run().unwrap(), "no answer in time");
}

#[test]
fn an_interrupt_reports_the_complete_rounds() {
    let Some(server) = OpenSsl::start() else { return };
    let mut invocation = server.invocation(&[
        "--rounds=1000",
        "--handshakes=20",
        "--rate-handshakes=0",
        "--groups=P-256",
        "--json",
    ]);
    invocation.interrupt_after = Some(Duration::from_secs(1));
    let outcome = invocation.run().unwrap();
    assert_eq!(outcome.exit, Exit::Code(0), "{}", text(&outcome.stderr));
    let document: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    let rounds = document["rounds_complete"].as_u64().unwrap();
    assert!((1..1000).contains(&rounds), "{rounds}");
    assert_eq!(document["interrupted"], true);
    assert_eq!(document["variants"][0]["figures"]["trials"].as_array().unwrap().len() as u64, rounds);
    let expected = format!("httperf tls-lab: interrupted after {rounds} of 1000 rounds\n");
    assert_eq!(text(&outcome.stderr), expected);
}

/// Command lines that are refused before any connection is made.
const REFUSED: &[&[&str]] = &[
    &[],
    &["--rounds=3"],
    &["http://localhost/"],
    &["ftp://localhost/"],
    &["https://"],
    &["localhost:port"],
    &["localhost:99999"],
    &["user@localhost"],
    &["local host"],
    &["localhost", "other"],
    &["https://no such host/"],
    &["no-such-host.invalid"],
    &["localhost", "--groups=P-257"],
    &["localhost", "--groups=X25519,x448"],
    &["localhost", "--groups="],
    &["localhost", "--ciphers=NONSENSE"],
    &["localhost", "--ciphers=ECDHE-RSA-AES128-GCM-SHA256,TLS_AES_128_GCM_SHA256"],
    &["localhost", "--ciphers=!RC4"],
    &["localhost", "--http-version=2"],
    &["localhost", "--http-version=3", "--ciphers=ECDHE-RSA-AES128-GCM-SHA256"],
    &["localhost", "--http-version=3", "--groups=X25519,P-521"],
    &["localhost", "--rounds=0"],
    &["localhost", "--rounds=1001"],
    &["localhost", "--rounds=many"],
    &["localhost", "--handshakes=0"],
    &["localhost", "--handshakes=-1"],
    &["localhost", "--rate-handshakes=1.5"],
    &["localhost", "--concurrency=0"],
    &["localhost", "--concurrency=10001"],
    &["localhost", "--seed=dice"],
    &["localhost", "--timeout=0"],
    &["localhost", "--timeout=soon"],
    &["localhost", "--tls-server-name="],
    &["localhost", "--ssl-ca-file=missing"],
    &["localhost", "--ssl-ca-file=empty"],
    &["localhost", "--ssl-ca-file=garbage"],
    &["localhost", "--bogus"],
    &["localhost", "--r=3"],
    &["localhost", "--resume=50"],
    &["localhost", "--rounds"],
];

#[test]
fn what_means_nothing_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("empty"), "").unwrap();
    let garbage = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    fs::write(folder.path().join("garbage"), garbage).unwrap();
    let mut transcript = String::new();
    for words in REFUSED {
        let argv = [&["tls-lab"], *words].concat();
        let outcome = ours(&argv, folder.path());
        assert_eq!((outcome.status, &outcome.stdout[..]), (1, ""), "{words:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{words:?}: {}", outcome.stderr);
        transcript += &format!("$ httperf {}\n{}\n", argv.join(" "), outcome.stderr);
    }
    insta::assert_snapshot!(transcript);
}
