//! Golden files of each form of report, and properties of all of them.

use std::time::Duration;

use httperf_plan::{Plan, Script, Tls, Trust};
use httperf_report::classic;
use httperf_report::result::Document;
use httperf_stats::{
    AltSvcSummary, CauseKind, Certificate, Compression, CpuTime, EarlyRequests, End, Failure, Handshake,
    HandshakeFailure, HandshakeFailureClass, HandshakeKind, Http2Summary, Instant, QuicSummary,
    RecordedFigures, Recorder, Sample, ServerSettings, SessionEnd, Summary, Tally, Usage,
};
use httperf_testkit::sim::{Edit, connections, sessions, uniform};
use proptest::prelude::*;

use crate::documents;

fn times(summary: &Summary) -> String {
    let plan = connections(1, 1, 1);
    httperf_report::times(&Document::new(documents::part(), plan, summary.clone())).to_string()
}

fn tls(plan: &Plan, summary: &Summary) -> String {
    documents::sections(&["tls"], plan, summary)
}

fn http2(summary: &Summary) -> String {
    documents::sections(&["http2"], &connections(1, 1, 1), summary)
}

fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// A connection with one call, typical for real tests: 1 KiB, answered in 400 µs.
fn record_connection(recorder: &mut Recorder, turn: u64, lifetime: Duration) {
    recorder.connection_opened(at(0));
    recorder.connect_initiated(at(0), turn);
    recorder.connect_done(at(0), micros(100));
    recorder.request_sent(at(0), 71);
    recorder.reply_started(at(0), 200, micros(400));
    recorder.record(&reply(100, 400, 30), None);
    recorder.connection_closed(at(0), Some(lifetime));
}

/// A call of 1 KiB with these times in µs.
fn reply(wait: u64, response: u64, transfer: u64) -> Sample<'static> {
    Sample {
        call: 0,
        uri: b"/",
        status: Some(200),
        intended: at(0),
        sent: Some(at(wait)),
        stalled: Duration::ZERO,
        first_byte: Some(at(wait + response)),
        done: at(wait + response + transfer),
        header_size: 239,
        content_size: 1024,
        footer_size: 0,
        decoded_size: None,
        mismatch: None,
        carrier: None,
        receive_lag: None,
        kernel: None,
        step: None,
        recorded: None,
        stream: None,
        rpc: None,
        expected: false,
    }
}

fn recorder(figures: RecordedFigures) -> Recorder {
    Recorder::new(at(0), at(0), figures)
}

fn finish(recorder: Recorder, duration: Duration) -> Summary {
    let cpu = CpuTime { user: micros(123_456), system: micros(654_321) };
    let usage = Usage { cpu, ..Usage::default() };
    recorder.finish(End { at: at(0) + duration, duration, usage, ..End::default() })
}

fn many() -> Summary {
    let mut recorder = recorder(RecordedFigures::USUAL);
    for turn in 0..1000 {
        record_connection(&mut recorder, turn, micros(500 + 11 * turn));
    }
    record_connection(&mut recorder, 1000, Duration::from_secs(120));
    recorder.tick(at(5_000_000));
    for failure in Failure::ALL {
        let cause =
            CauseKind::ALL.into_iter().find(|kind| kind.class() == failure).expect("each class has causes");
        recorder.failed(at(0), cause.into());
    }
    finish(recorder, micros(5_000_400))
}

#[test]
fn the_classic_report_of_connections() {
    insta::assert_snapshot!(classic(&connections(1001, 1, 1), &many()));
}

#[test]
fn the_classic_report_with_all_that_verbosity_adds() {
    let mut plan = connections(1001, 1, 1);
    plan.change(|plan| (plan.watch.verbose, plan.watch.periodic) = (2, true));
    insta::assert_snapshot!(classic(&plan, &many()));
}

#[test]
fn the_classic_report_of_sessions() {
    let plan = sessions(3, uniform(2, 1, Duration::ZERO));
    let mut recorder = recorder(RecordedFigures { sessions: true, ..RecordedFigures::USUAL });
    for (completed, replies) in [(true, 2), (true, 2), (false, 0)] {
        record_connection(&mut recorder, 1, micros(51_200));
        let end = SessionEnd {
            completed,
            intended: at(0),
            started: at(0),
            ended: at(251_000),
            replies,
            connections: 1,
        };
        recorder.session_ended(end);
    }
    recorder.tick(at(500_000));
    insta::assert_snapshot!(classic(&plan, &finish(recorder, micros(750_000))));
}

#[test]
fn the_classic_report_of_a_run_in_which_nothing_happened() {
    let recorder = recorder(RecordedFigures::USUAL);
    insta::assert_snapshot!(classic(&connections(0, 1, 1), &finish(recorder, Duration::ZERO)));
}

#[test]
fn the_times_section() {
    insta::assert_snapshot!(times(&many()));
}

#[test]
fn a_sentence_explains_the_difference_between_latency_and_service() {
    let sentence_after = |wait: u64, lag: u64, connect: u64| {
        let mut recorder = recorder(RecordedFigures::USUAL);
        recorder.connect_done(at(0), micros(connect));
        recorder.arrival_started(at(0), None, at(lag));
        recorder.record(&reply(wait, 1000, 0), None);
        let text = times(&finish(recorder, micros(100)));
        text.lines().find_map(|line| line.split_once("(p99), ")).map(|(_, cause)| cause.to_owned())
    };
    let sentence = |lag, connect| sentence_after(100_000, lag, connect);
    assert_eq!(sentence_after(900, 10, 10), None, "not worth it");
    assert_eq!(sentence(10, 10).as_deref(), Some("for a free connection"));
    assert_eq!(sentence(90_000, 10).as_deref(), Some("until the generator got to them"));
    assert_eq!(sentence(10, 90_000).as_deref(), Some("for their connection to be established"));
    assert_eq!(
        sentence(30_000, 50_000).as_deref(),
        Some("until the generator got to them and for their connection to be established")
    );
}

#[test]
fn percentiles_that_the_samples_do_not_support_are_not_shown() {
    let mut recorder = recorder(RecordedFigures::USUAL);
    (0..99).for_each(|turn| record_connection(&mut recorder, turn, micros(500)));
    let text = times(&finish(recorder, micros(100)));
    let row: Vec<&str> =
        text.lines().find(|line| line.starts_with("response")).expect("a row").split_whitespace().collect();
    assert_eq!(
        row,
        ["response", "400", "µs", "400", "µs", "400", "µs", "400", "µs", "n/a", "n/a", "400", "µs", "99"]
    );
}

fn secured(tls: Tls) -> Plan {
    connections(1000, 1, 1).with(|plan| plan.tls = Some(tls))
}

fn tls_recorder() -> Recorder {
    recorder(RecordedFigures { sessions: true, tls: true, ..RecordedFigures::USUAL })
}

fn handshake(kind: HandshakeKind, time: Duration) -> Handshake<'static> {
    Handshake {
        kind,
        time,
        sent: 1764,
        received: 2365,
        hello_retry: false,
        version: "TLSv1.3",
        cipher: "TLS_AES_128_GCM_SHA256",
        group: Some("X25519MLKEM768"),
        signature: (kind == HandshakeKind::Full).then_some("ecdsa_secp256r1_sha256"),
        protocol: None,
        compressed_certificate: false,
    }
}

fn failure(reason: &'static str) -> HandshakeFailure {
    HandshakeFailure { class: HandshakeFailureClass::Protocol, reason: reason.into(), details: Vec::new() }
}

fn certificate(days_left: i64) -> Certificate {
    Certificate {
        subject: "CN=www.example.com, O=Example".to_owned(),
        key: "EC P-256".to_owned(),
        chain_length: 2,
        days_left,
    }
}

#[test]
fn the_tls_section_of_a_run_without_surprises() {
    let mut recorder = tls_recorder();
    for turn in 0..1000 {
        recorder.transport_done(at(0), micros(100));
        recorder.handshake_done(at(0), &handshake(HandshakeKind::Full, micros(700 + turn)));
    }
    recorder.certificate_shown(at(0), || Some(certificate(89)));
    let plan = secured(Tls { verify: Some(Trust::default()), ..Tls::default() });
    insta::assert_snapshot!(tls(&plan, &finish(recorder, micros(5_000_000))));
}

#[test]
fn the_tls_section_with_all_that_it_can_show() {
    let mut recorder = tls_recorder();
    for turn in 0..200 {
        recorder.transport_done(at(0), micros(100));
        recorder.handshake_done(
            at(0),
            &Handshake {
                sent: 1764 + turn % 2,
                hello_retry: turn % 10 == 0,
                protocol: Some(b"http/1.1"),
                compressed_certificate: true,
                ..handshake(HandshakeKind::Full, micros(700 + turn))
            },
        );
        recorder.handshake_done(
            at(0),
            &Handshake {
                version: "TLSv1.2",
                cipher: "ECDHE-RSA-AES128-GCM-SHA256",
                group: None,
                sent: 260,
                received: 143,
                ..handshake(HandshakeKind::Resumed, micros(200))
            },
        );
    }
    recorder.handshake_done(at(0), &handshake(HandshakeKind::EarlyData, micros(150)));
    recorder.certificate_shown(at(0), || Some(certificate(-3)));
    for reason in ["timed out", "alert handshake_failure from the server", "timed out"] {
        recorder.handshake_failed(at(0), failure(reason));
    }
    recorder.early_requests(at(0), EarlyRequests { accepted: 3, rejected: 2, replayed: 2 });
    recorder.truncated(at(0));
    (0..2).for_each(|_| recorder.unclean_close(at(0)));
    insta::assert_snapshot!(tls(&secured(Tls::default()), &finish(recorder, micros(5_000_000))));
}

#[test]
fn the_tls_section_of_a_server_that_does_not_speak_tls() {
    let mut recorder = tls_recorder();
    for _ in 0..7 {
        recorder.transport_done(at(0), micros(100));
        recorder.handshake_failed(at(0), failure("wrong version number"));
    }
    insta::assert_snapshot!(tls(&secured(Tls::default()), &finish(recorder, micros(5_000))));
}

#[test]
fn the_tls_section_of_a_run_in_which_nothing_happened() {
    let early = secured(Tls { early_data: true, ..Tls::default() });
    insta::assert_snapshot!(tls(&early, &finish(tls_recorder(), Duration::ZERO)));
}

#[test]
fn a_run_without_tls_has_no_tls_section() {
    assert_eq!(tls(&connections(1, 1, 1), &many()), "");
}

#[test]
fn a_certificate_shows_the_days_until_or_since_expiry() {
    for (days_left, expected) in [
        (89, "89 days left"),
        (1, "1 day left"),
        (0, "0 days left"),
        (-1, "expired 1 day ago"),
        (i64::MIN, "expired 9223372036854775808 days ago"),
    ] {
        let mut recorder = tls_recorder();
        recorder.certificate_shown(at(0), || Some(certificate(days_left)));
        let text = tls(&secured(Tls::default()), &finish(recorder, micros(1)));
        assert!(text.contains(&format!("EC P-256, chain of 2, {expected}, not checked\n")), "{text}");
    }
}

fn http2_recorder() -> Recorder {
    recorder(RecordedFigures { http2: true, ..RecordedFigures::USUAL })
}

/// Section of a run with these figures of HTTP/2.
fn http2_section(figures: Http2Summary) -> String {
    let mut recorder = http2_recorder();
    recorder.http2(at(0), |own| *own = figures);
    http2(&finish(recorder, micros(5_000_000)))
}

fn tally(counts: &[(&'static str, u64)]) -> Tally {
    let mut tally = Tally::default();
    for &(name, count) in counts {
        (0..count).for_each(|_| tally.add(name));
    }
    tally
}

/// A thousand calls over one connection, ten at once.
fn quiet_http2() -> Http2Summary {
    Http2Summary {
        spoken: tally(&[("HTTP/2", 1)]),
        streams: 1000,
        concurrent_max: 10,
        concurrent_sum: 9_955,
        request_headers: Compression { plain: 139_000, encoded: 5_118 },
        reply_headers: Compression { plain: 211_000, encoded: 13_400 },
        bytes_sent: 14_500,
        bytes_received: 1_064_321,
        server_settings: Some(ServerSettings {
            header_table: 4096,
            max_streams: Some(128),
            window: 65_536,
            max_frame: 16_777_215,
            header_list: None,
        }),
        ..Http2Summary::default()
    }
}

#[test]
fn the_http2_section_of_a_run_without_surprises() {
    insta::assert_snapshot!(http2_section(quiet_http2()));
}

#[test]
fn the_http2_section_with_all_that_it_can_show() {
    let mut figures = Http2Summary {
        spoken: tally(&[("HTTP/2", 7), ("HTTP/1.1", 2)]),
        unprocessed: 12,
        retried: 11,
        resets_received: tally(&[("REFUSED_STREAM", 9), ("CANCEL", 1), ("INTERNAL_ERROR", 1)]),
        resets_sent: tally(&[("nobody waits for the reply any more", 2), ("a reply without :status", 1)]),
        goaways: tally(&[("NO_ERROR", 3), ("ENHANCE_YOUR_CALM", 1)]),
        violations: tally(&[("a frame that is too large", 1), ("too many frames without progress", 2)]),
        server_settings: Some(ServerSettings {
            header_table: 0,
            max_streams: None,
            window: 0,
            max_frame: 16_384,
            header_list: Some(8192),
        }),
        ..quiet_http2()
    };
    (0..400).for_each(|turn| figures.stream_waits.add(micros(700 + 10 * turn)));
    (0..3).for_each(|turn| figures.window_waits.add(micros(40_000 + turn)));
    insta::assert_snapshot!(http2_section(figures));
}

#[test]
fn the_section_of_a_run_that_went_over_to_http3() {
    let quic = QuicSummary {
        datagrams_sent: 600,
        datagrams_received: 580,
        packets_sent: 640,
        rtt_min_ns: Some(123_456),
        mtu_max: 1452,
        ..QuicSummary::default()
    };
    let alt_svc = AltSvcSummary {
        first_seen_ns: Some(12_345_678),
        port: Some(8443),
        followed: 97,
        failures: tally(&[("connection refused", 2), ("no answer in time", 1)]),
        broken: 1,
        withdrawn: 4,
        other_host: Some("cdn.example:443".to_owned()),
        obstacle: None,
    };
    insta::assert_snapshot!(http2_section(Http2Summary {
        spoken: tally(&[("HTTP/3", 94), ("HTTP/2", 3)]),
        quic: Some(quic),
        alt_svc: Some(alt_svc),
        ..quiet_http2()
    }));
}

#[test]
fn offers_of_http3_are_told_with_what_became_of_them() {
    #[track_caller]
    fn check(alt_svc: AltSvcSummary, expected: &str) {
        let section = http2_section(Http2Summary { alt_svc: Some(alt_svc), ..quiet_http2() });
        let line = section.lines().find_map(|line| line.strip_prefix("alt-svc         "));
        assert_eq!(line, Some(expected), "{section}");
    }
    let offered =
        || AltSvcSummary { first_seen_ns: Some(1_000_000_000), port: Some(443), ..AltSvcSummary::default() };
    check(offered(), "HTTP/3 at port 443 offered after 1.00 s; followed by 0 connections, 0 of them in vain");
    check(
        AltSvcSummary { obstacle: Some("a proxy is about TCP".to_owned()), ..offered() },
        "HTTP/3 at port 443 offered after 1.00 s; not followed: a proxy is about TCP",
    );
    check(
        AltSvcSummary { other_host: Some("cdn.example:443".to_owned()), ..AltSvcSummary::default() },
        "cdn.example:443 is another host and not followed",
    );
}

#[test]
fn the_http3_section_with_all_that_it_can_show() {
    let document = documents::over_http3();
    let text = http2(&document.summary);
    // What is said of QUIC itself fits a terminal.
    let rows = ["round trip", "window", "MTU probes", "ECN", "buffers", "full buffers"];
    for row in rows {
        let width = text.lines().find(|line| line.starts_with(row)).map(|line| line.chars().count());
        assert!(width.is_some_and(|width| width <= 80), "{row}: {width:?}: {text}");
    }
    insta::assert_snapshot!(text);
}

#[test]
fn the_http2_section_of_a_run_in_which_nothing_happened() {
    insta::assert_snapshot!(http2_section(Http2Summary::default()));
}

#[test]
fn a_run_without_http2_has_no_section_on_it() {
    assert_eq!(http2(&many()), "");
}

#[test]
fn a_wait_for_a_stream_explains_the_difference_between_latency_and_service() {
    let sentence = |waited: u64| {
        let mut recorder = http2_recorder();
        (0..100).for_each(|_| recorder.record(&reply(100_000, 1000, 0), None));
        recorder.http2(at(0), |http2| {
            http2.streams = 100;
            (0..waited).for_each(|_| http2.stream_waits.add(micros(90_000)));
        });
        let text = times(&finish(recorder, micros(100)));
        text.lines().find_map(|line| line.split_once("(p99), ")).map(|(_, cause)| cause.to_owned())
    };
    assert_eq!(sentence(50).as_deref(), Some("for one of the streams that the server allows"));
    assert_eq!(sentence(0).as_deref(), Some("for a free connection"));
}

#[derive(Clone, Debug)]
enum Step {
    Connection(u64, u64),
    Refused,
    Handshake(HandshakeKind, u64, u64),
    HandshakeFailure,
    EarlyRequests(u64),
    Streams(u64, u64),
    Session(bool, u64, u64),
    Tick(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u64..5, any::<u64>()).prop_map(|(turn, lifetime)| Step::Connection(turn, lifetime >> 20)),
        Just(Step::Refused),
        (0usize..3, any::<u64>(), any::<u64>()).prop_map(|(kind, time, size)| Step::Handshake(
            HandshakeKind::ALL[kind],
            time >> 20,
            size >> 8
        )),
        Just(Step::HandshakeFailure),
        any::<u64>().prop_map(|count| Step::EarlyRequests(count >> 8)),
        (any::<u64>(), any::<u64>()).prop_map(|(count, bytes)| Step::Streams(count >> 16, bytes >> 16)),
        (any::<bool>(), 0u64..50, any::<u64>()).prop_map(|(completed, replies, lifetime)| Step::Session(
            completed,
            replies,
            lifetime >> 24
        )),
        (0u64..10_000_000).prop_map(Step::Tick),
    ]
}

fn check_figures(plan: &Plan, summary: &Summary) -> Result<(), TestCaseError> {
    let text =
        format!("{}{}{}{}", classic(plan, summary), times(summary), tls(plan, summary), http2(summary));
    for line in text.lines().map(|line| line.replace("*10^6", "")) {
        // Anything that C or Rust parses as a number, such as `inf` and `1e3`, consists of digits and a
        // point.
        for word in line.split(|letter: char| !letter.is_ascii_alphanumeric() && !"+-.".contains(letter)) {
            let plain = word.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
            prop_assert!(plain || word.parse::<f64>().is_err(), "{} in {}", word, line);
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn no_figure_is_ever_infinite_signed_or_in_exponent_form(
        steps in prop::collection::vec(step(), 0..30),
        duration in prop_oneof![Just(0u64), any::<u64>().prop_map(|nanos| nanos >> 16)],
    ) {
        let mut plan = sessions(3, Script::Pages { pages: 1, think: Duration::ZERO });
        plan.change(|plan| (plan.watch.verbose, plan.watch.periodic) = (2, true));
        plan.change(|plan| plan.tls = Some(Tls::default()));
        let mut recorder =
            recorder(RecordedFigures { sessions: true, tls: true, http2: true, ..RecordedFigures::USUAL });
        for step in steps {
            match step {
                Step::Connection(turn, lifetime) => {
                    record_connection(&mut recorder, turn, Duration::from_nanos(lifetime));
                }
                Step::Refused => recorder.failed(at(0), CauseKind::Refused.into()),
                Step::Handshake(kind, time, size) => {
                    let time = Duration::from_nanos(time);
                    recorder.transport_done(at(0), time);
                    recorder.handshake_done(at(0), &Handshake { sent: size, received: size, ..handshake(kind, time) });
                }
                Step::HandshakeFailure => recorder.handshake_failed(at(0), failure("timed out")),
                Step::EarlyRequests(accepted) => {
                    recorder.early_requests(at(0), EarlyRequests { accepted, ..EarlyRequests::default() });
                }
                Step::Streams(count, bytes) => recorder.http2(at(0), |http2| {
                    http2.streams += count;
                    http2.concurrent_sum += bytes;
                    http2.stream_waits.add(Duration::from_nanos(count));
                    http2.request_headers.plain += bytes;
                    http2.reply_headers.encoded += bytes;
                    http2.bytes_received += bytes;
                    http2.goaways.add("code 0x1e5");
                }),
                Step::Session(completed, replies, lifetime) => recorder.session_ended(SessionEnd {
                    completed,
                    intended: at(0),
                    started: at(0),
                    ended: Instant::from_nanos(lifetime),
                    replies,
                    connections: 1,
                }),
                Step::Tick(now) => {
                    recorder.tick(at(now));
                }
            }
        }
        check_figures(&plan, &finish(recorder, Duration::from_nanos(duration)))?;
    }
}
