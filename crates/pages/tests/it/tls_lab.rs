//! Golden files of each form of a comparison of TLS variants, and properties of all of them.

use std::time::Duration;

use httperf_pages::Report as _;
use httperf_report::tls_lab::{Agreed, Results, TlsLabOutcome, TlsLabSettings, Trial, Variant, verdict};
use httperf_report::{Form, Screen, Written as _};
use httperf_stats::{
    CauseKind, CpuTime, End, Handshake, HandshakeKind, Instant, RecordedFigures, Recorder, Summary, Usage,
};
use proptest::prelude::*;

const SETTINGS: TlsLabSettings = TlsLabSettings {
    rounds: 4,
    handshakes: 100,
    rate_handshakes: 200,
    concurrency: 8,
    timeout: Duration::from_secs(5),
    seed: 1,
    is_verified: false,
};

fn rendered(results: &Results, form: Form) -> String {
    results.render(form, Screen::default()).expect("results have this form")
}

/// A variant with these medians per round, in µs, and this total number of bytes.
fn measured(name: &str, kind: HandshakeKind, p50_us: &[u64], bytes: f64) -> Variant {
    let trial = |p50_us: &u64| Trial {
        p50: Duration::from_micros(*p50_us),
        p99: Some(Duration::from_micros(2 * p50_us)),
        sent: 250.0,
        received: bytes - 250.0,
        cpu: Duration::from_micros(p50_us / 3),
        rate: Some(1e6 / *p50_us as f64),
        completed: 300,
        failed: 0,
        why_failed: None,
    };
    let agreed = Agreed {
        version: "TLSv1.3".to_owned(),
        cipher: "TLS_AES_256_GCM_SHA384".to_owned(),
        group: Some(name.to_owned()),
    };
    let outcome = TlsLabOutcome::Measured { agreed, trials: p50_us.iter().map(trial).collect() };
    Variant { name: name.to_owned(), kind, outcome }
}

fn refused(name: &str) -> Variant {
    let reason = "alert handshake_failure from the server".to_owned();
    Variant { name: name.to_owned(), kind: HandshakeKind::Full, outcome: TlsLabOutcome::Refused { reason } }
}

fn results(variants: Vec<Variant>) -> Results {
    Results { server: "https://127.0.0.1:4433".to_owned(), settings: SETTINGS, rounds: 4, variants }
}

fn all_outcomes() -> Results {
    use HandshakeKind::{Full, Resumed};

    let mut hybrid = measured("X25519MLKEM768", Full, &[470, 481, 469, 476], 3773.0);
    let TlsLabOutcome::Measured { trials, .. } = &mut hybrid.outcome else {
        unreachable!("it was just made so")
    };
    (trials[2].failed, trials[2].why_failed) = (3, Some("no answer in time".to_owned()));
    let lost = TlsLabOutcome::Lost { round: 2, reason: "timed out, \"again\"".to_owned() };
    results(vec![
        refused("MLKEM1024"),
        measured("X25519", Full, &[400, 405, 398, 401], 1501.0),
        measured("X25519", Resumed, &[200, 203, 199, 201], 600.0),
        hybrid,
        measured("X25519MLKEM768", Resumed, &[250, 249, 251, 250], 2872.3),
        measured("P-256", Full, &[399, 409, 396, 404], 1567.0),
        Variant { name: "P-384".to_owned(), kind: Full, outcome: lost },
    ])
}

#[test]
fn the_table() {
    insta::assert_snapshot!(all_outcomes().plain_text());
}

#[test]
fn the_csv() {
    insta::assert_snapshot!(rendered(&all_outcomes(), Form::Csv));
}

#[test]
fn the_json() {
    insta::assert_snapshot!(rendered(&all_outcomes(), Form::Json));
}

#[test]
fn the_table_of_an_interrupted_experiment_without_rates() {
    let mut results = results(vec![
        measured("X25519", HandshakeKind::Full, &[12_400], 1501.0),
        measured("X25519MLKEM768", HandshakeKind::Full, &[63_000], 3773.0),
    ]);
    results.rounds = 1;
    results.settings.handshakes = 30;
    results.settings.rate_handshakes = 0;
    for variant in &mut results.variants {
        let TlsLabOutcome::Measured { trials, .. } = &mut variant.outcome else {
            unreachable!("both are measured")
        };
        (trials[0].p99, trials[0].rate) = (None, None);
    }
    insta::assert_snapshot!(results.plain_text());
}

#[track_caller]
fn check_verdict(first_us: &[u64], second_us: &[u64], second_bytes: f64, expected: &str) {
    let sentences = verdict(&results(vec![
        measured("X25519", HandshakeKind::Full, first_us, 1501.0),
        measured("X25519MLKEM768", HandshakeKind::Full, second_us, second_bytes),
    ]));
    assert_eq!(sentences, [expected]);
}

#[test]
fn a_cost_is_given_in_time_share_and_bytes() {
    check_verdict(
        &[380, 400, 385, 395],
        &[460, 470, 462, 464],
        3773.0,
        "X25519MLKEM768 costs +74 µs (+19 % ± 3 %) p50 and +2,272 bytes per full handshake",
    );
    check_verdict(
        &[100_000, 101_000, 100_500],
        &[200_000, 201_900, 201_050],
        1401.0,
        "X25519MLKEM768 costs +100.5 ms (+100.0 % ± 0.2 %) p50 and -100 bytes per full handshake",
    );
    check_verdict(
        &[380, 400],
        &[377, 397],
        1501.0,
        "X25519MLKEM768 costs -3.0 µs (-0.8 % ± 0.3 %) p50 and +0 bytes per full handshake",
    );
}

#[test]
fn a_difference_whose_interval_includes_zero_is_called_not_significant() {
    check_verdict(
        &[400, 405, 398, 401],
        &[399, 409, 396, 404],
        1567.0,
        "X25519MLKEM768 costs +66 bytes per full handshake; the difference in p50, +1.0 µs (+0.2 % ± 1.2 %), is \
         not significant",
    );
}

#[test]
fn a_single_round_gives_a_difference_without_interval() {
    check_verdict(
        &[400],
        &[440],
        1567.0,
        "X25519MLKEM768 costs +40 µs (+10 %, from a single round) p50 and +66 bytes per full handshake",
    );
}

#[test]
fn one_variant_alone_is_compared_with_nothing() {
    let alone = results(vec![measured("X25519", HandshakeKind::Full, &[400, 401], 1501.0), refused("P-256")]);
    assert_eq!(verdict(&alone), [""; 0]);
    assert_eq!(verdict(&results(vec![refused("P-256")])), [""; 0]);
}

#[test]
fn a_variant_listed_twice_is_compared_with_itself() {
    let twice = ["X25519"; 2].map(|name| measured(name, HandshakeKind::Full, &[400, 401], 1501.0));
    let sentences = verdict(&results(twice.to_vec()));
    assert_eq!(
        sentences,
        [
            "X25519 costs +0 bytes per full handshake; the difference in p50, +0.0 µs (+0.0 % ± 0.0 %), is not \
          significant"
        ]
    );
}

/// A run of this many handshakes, with this duration and processor time; the first handshake takes longest.
fn run(count: u64, kind: HandshakeKind, duration_ms: u64, cpu_ms: u64) -> Summary {
    let start = Instant::from_nanos(0);
    let mut recorder = Recorder::new(start, start, RecordedFigures { tls: true, ..RecordedFigures::USUAL });
    for number in 0..count {
        recorder.handshake_done(
            start,
            &Handshake {
                kind,
                time: Duration::from_micros(1000 - number),
                sent: 250,
                received: 1251,
                hello_retry: false,
                version: "TLSv1.3",
                cipher: "TLS_AES_256_GCM_SHA384",
                group: Some("X25519"),
                signature: None,
                protocol: None,
                compressed_certificate: false,
            },
        );
    }
    recorder.failed(start, CauseKind::ReplyTimedOut.into());
    let half = Duration::from_millis(cpu_ms) / 2;
    let usage = Usage { cpu: CpuTime { user: half, system: half }, ..Usage::default() };
    recorder.finish(End { duration: Duration::from_millis(duration_ms), usage, ..End::default() })
}

#[test]
fn a_trial_is_made_of_a_run_in_sequence_and_one_of_several_at_once() {
    let full = HandshakeKind::Full;
    let trial = Trial::of(full, &run(100, full, 500, 30), Some(&run(200, full, 100, 60))).unwrap();
    assert_eq!(trial.p50, Duration::from_micros(950));
    assert_eq!(trial.p99, Some(Duration::from_micros(999)), "the second slowest");
    assert_eq!((trial.sent, trial.received), (250.0, 1251.0));
    assert_eq!((trial.cpu, trial.rate), (Duration::from_micros(300), Some(2000.0)));
    assert_eq!((trial.completed, trial.failed), (300, 2));
    assert_eq!(trial.why_failed.as_deref(), Some("no connection (client-timo)"));
}

#[test]
fn fewer_than_a_hundred_handshakes_have_no_p99() {
    let full = HandshakeKind::Full;
    let trial = Trial::of(full, &run(99, full, 500, 30), None).unwrap();
    assert_eq!((trial.p99, trial.rate), (None, None));
}

#[test]
fn a_run_without_handshakes_of_the_kind_gives_no_trial() {
    assert_eq!(Trial::of(HandshakeKind::Resumed, &run(5, HandshakeKind::Full, 1, 1), None), None);
}

fn trial() -> impl Strategy<Value = Trial> {
    let duration = || any::<u64>().prop_map(|nanos| Duration::from_nanos(nanos >> 12));
    (
        duration(),
        prop::option::of(duration()),
        0.0..1e9,
        0.0..1e9,
        duration(),
        prop::option::of(0.0..1e12),
        0u64..9,
    )
        .prop_map(|(p50, p99, sent, received, cpu, rate, failed)| Trial {
            p50,
            p99,
            sent,
            received,
            cpu,
            rate,
            completed: 300,
            failed,
            why_failed: None,
        })
}

proptest! {
    #[test]
    fn no_figure_is_ever_infinite_or_in_exponent_form(
        trials in prop::collection::vec(prop::collection::vec(trial(), 3), 1..4),
    ) {
        let variants = trials.into_iter().enumerate().map(|(index, trials)| Variant {
            name: format!("group{index}"),
            kind: HandshakeKind::ALL[index % 2],
            outcome: TlsLabOutcome::Measured { agreed: Agreed::default(), trials },
        });
        let results = Results { rounds: 3, ..results(variants.collect()) };
        let text = [Form::Text, Form::Csv, Form::Json].map(|form| rendered(&results, form)).concat();
        for word in text.split(|letter: char| !letter.is_ascii_alphanumeric() && !"+-.".contains(letter)) {
            let plain = word.chars().all(|letter| letter.is_ascii_digit() || "+-.".contains(letter));
            prop_assert!(plain || word.parse::<f64>().is_err(), "{} in {}", word, text);
        }
    }
}

#[test]
fn names_from_outside_never_become_markup() {
    let name = "</script><b>x</b><svg/onload=alert(1)>";
    let results = results(vec![
        measured(name, HandshakeKind::Full, &[400, 410, 420, 430], 1000.0),
        Variant {
            outcome: TlsLabOutcome::Refused { reason: name.to_owned() },
            ..measured("y", HandshakeKind::Full, &[1], 1.0)
        },
    ]);
    let page = rendered(&results, Form::Html);
    assert!(page.contains("&#60;b&#62;x") || page.contains("&lt;b&gt;x"), "{page}");
    assert!(!page.contains("<b>x") && !page.contains("<svg/onload"), "{page}");
}
