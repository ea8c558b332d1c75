//! The program over TLS with the embedded server, whose counts must agree with the report.

use std::time::Duration;

use crate::support::program::{Exit, Invocation, under_test};
use crate::support::words;
use httperf_origin::{Config, Credentials, KeyType, ListenAddress, Tickets, Tls, TlsCounts, Versions, spawn};
use httperf_plan::{CertificateCompression, TlsVersion};
use httperf_proto::tls::GROUPS;

/// Runs the program with the full report against a server; returns what it printed and what the server counted.
fn run(arguments: &str, set_up: impl FnOnce(&mut Tls)) -> (String, httperf_origin::Counts, TlsCounts) {
    let listen: ListenAddress = "127.0.0.1:0".parse().expect("an address");
    let credentials = Credentials::self_signed(KeyType::default(), &listen.0);
    let mut tls = Tls::new(credentials);
    set_up(&mut tls);
    let server =
        spawn(Config { listen: listen.0, tls: Some(tls), ..Config::default() }).expect("a port is free");
    let port = server.tcp_address().expect("it listens on TCP").port();
    let line = format!("--report=full --server localhost --port {port} {arguments}");
    let mut invocation = Invocation::new(&under_test(), words(&line));
    invocation.limit = Duration::from_secs(60);
    let outcome = invocation.run().expect("the program can be started");
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!(outcome.exit, Exit::Code(0), "{text}{}", String::from_utf8_lossy(&outcome.stderr));
    let counts = server.stop().expect("the server ends in order");
    let tls = counts.tls.clone();
    (text, counts, tls)
}

#[track_caller]
fn check_handshakes(report: &str, full: u64, resumed: u64, early: u64) {
    let line = format!("TLS handshakes  full {full}, resumed {resumed}, early-data {early}, ");
    assert!(report.contains(&line), "expected `{line}`: {report}");
}

#[test]
fn both_ends_count_the_same_handshakes() {
    let (report, counts, tls) = run("--tls-resume 40 --num-conns 200 --num-calls 3", |_| {});
    check_handshakes(&report, 120, 80, 0);
    assert_eq!((tls.full, tls.resumed, tls.failed_total()), (120, 80, 0));
    assert_eq!((counts.requests, counts.replies_total()), (600, 600));
    assert_eq!(tls.unannounced_closes, 0, "each connection ends with a close_notify");
    assert!(tls.broken.is_empty(), "{tls:?}");
}

#[test]
fn handshakes_alone_resume_as_asked_and_say_goodbye() {
    for version in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let (report, counts, tls) = run("--tls-handshake-only --tls-resume 75 --num-conns 200", |tls| {
            tls.versions = Versions::only(version);
        });
        check_handshakes(&report, 50, 150, 0);
        assert_eq!((tls.full, tls.resumed, tls.unannounced_closes), (50, 150, 0), "{version:?}");
        assert_eq!(counts.requests, 0);
    }
}

#[test]
fn both_ends_count_the_same_early_data() {
    let (report, counts, tls) =
        run("--tls-early-data --num-conns 50 --num-calls 2 --burst-length 2", |tls| {
            tls.tickets = Tickets::EarlyData;
        });
    check_handshakes(&report, 1, 0, 49);
    assert!(report.contains("early requests  accepted 98, rejected 0, replayed 0"), "{report}");
    assert_eq!((tls.full, tls.early_data_accepted, counts.replies_total()), (1, 49, 100));
}

#[test]
fn every_group_is_agreed_on_when_asked_for() {
    for group in GROUPS {
        let (report, _, tls) = run(&format!("--tls-groups={} --num-conns 2", group.name), |_| {});
        assert!(report.contains(&format!("group           {} 2\n", group.name)), "{report}");
        assert_eq!(tls.groups.get(group.name), Some(&2));
    }
}

#[test]
fn certificates_come_compressed_when_both_ends_can() {
    for (name, compression) in
        [("zlib", CertificateCompression::Zlib), ("brotli", CertificateCompression::Brotli)]
    {
        let (report, _, tls) = run(&format!("--tls-cert-compression={name} --num-conns 3"), |tls| {
            tls.certificate_compression = vec![compression];
        });
        assert!(report.contains("compressed      certificates 3"), "{name}: {report}");
        assert_eq!(tls.compressed_certificates, 3);
    }
    let (report, _, tls) = run("--ssl --num-conns 3", |tls| {
        tls.certificate_compression = vec![CertificateCompression::Zlib];
    });
    assert!(!report.contains("compressed"), "{report}");
    assert_eq!(tls.compressed_certificates, 0);
}

#[test]
fn the_lab_finds_what_post_quantum_key_exchange_adds_on_the_wire() {
    let listen: ListenAddress = "127.0.0.1:0".parse().expect("an address");
    let credentials = Credentials::self_signed(KeyType::Rsa2048, &listen.0);
    let server = spawn(Config { listen: listen.0, tls: Some(Tls::new(credentials)), ..Config::default() })
        .expect("a port is free");
    let port = server.tcp_address().expect("it listens on TCP").port();
    let line = format!(
        "tls-lab --groups X25519,X25519MLKEM768 --rounds 2 --handshakes 20 --rate-handshakes 20 localhost:{port}"
    );
    let outcome = Invocation::new(&under_test(), words(&line)).run().expect("the program can be started");
    let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!(outcome.exit, Exit::Code(0), "{text}{}", String::from_utf8_lossy(&outcome.stderr));
    // An RSA signature is of one length, so the difference is that of the key shares alone: 1184 and 1088 bytes.
    assert!(text.contains("+2,272 bytes"), "{text}");
    drop(server);
}
