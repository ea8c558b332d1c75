//! Each form of report, as golden files, and what holds for all of them.

use std::time::Duration;

use httperf_plan::{Plan, Script};
use httperf_report::{classic, latency};
use httperf_stats::{CpuTime, Failure, Figures, Instant, Recorder, Sample, SessionEnd, Summary};
use httperf_testkit::sim::{connections, sessions};
use proptest::prelude::*;

fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

fn micros(micros: u64) -> Duration {
    Duration::from_micros(micros)
}

/// One connection with one call, as in any test of the field: 1 KiB, answered in 400 µs.
fn record_connection(recorder: &mut Recorder, turn: u64, lifetime: Duration) {
    recorder.connection_opened();
    recorder.connect_initiated(turn);
    recorder.connect_done(micros(100));
    recorder.request_sent(71);
    recorder.reply_started(200, micros(400));
    recorder.record(&Sample {
        status: 200,
        first_byte: at(500),
        done: at(530),
        header_size: 239,
        content_size: 1024,
        footer_size: 0,
    });
    recorder.connection_closed(Some(lifetime));
}

fn finish(recorder: Recorder, duration: Duration) -> Summary {
    recorder.finish(duration, CpuTime { user: micros(123_456), system: micros(654_321) })
}

fn many() -> Summary {
    let mut recorder = Recorder::new(at(0), Figures::default());
    for turn in 0..1000 {
        record_connection(&mut recorder, turn, micros(500 + 11 * turn));
    }
    record_connection(&mut recorder, 1000, Duration::from_secs(120));
    recorder.tick(at(5_000_000));
    for failure in Failure::ALL {
        recorder.failed(failure);
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
    (plan.watch.verbose, plan.watch.periodic) = (2, true);
    insta::assert_snapshot!(classic(&plan, &many()));
}

#[test]
fn the_classic_report_of_sessions() {
    let plan = sessions(3, Script::Uniform { calls: 2, burst: 1, think: Duration::ZERO });
    let mut recorder = Recorder::new(at(0), Figures { sessions: true, ..Figures::default() });
    for (completed, replies) in [(true, 2), (true, 2), (false, 0)] {
        record_connection(&mut recorder, 1, micros(51_200));
        let end = SessionEnd { completed, lifetime: micros(251_000), replies, connections: 1 };
        recorder.session_ended(end);
    }
    recorder.tick(at(500_000));
    insta::assert_snapshot!(classic(&plan, &finish(recorder, micros(750_000))));
}

#[test]
fn the_classic_report_of_a_run_in_which_nothing_happened() {
    let recorder = Recorder::new(at(0), Figures::default());
    insta::assert_snapshot!(classic(&connections(0, 1, 1), &finish(recorder, Duration::ZERO)));
}

#[test]
fn the_latency_section() {
    insta::assert_snapshot!(latency(&many()));
}

#[test]
fn percentiles_that_the_samples_do_not_support_are_not_shown() {
    let mut recorder = Recorder::new(at(0), Figures::default());
    (0..99).for_each(|turn| record_connection(&mut recorder, turn, micros(500)));
    let text = latency(&finish(recorder, micros(100))).to_string();
    let row: Vec<&str> =
        text.lines().find(|line| line.starts_with("response")).expect("a row").split_whitespace().collect();
    assert_eq!(row, ["response", "0.400", "0.400", "n/a", "n/a", "0.400", "99"]);
}

#[derive(Clone, Debug)]
enum Step {
    Connection(u64, u64),
    Refused,
    Session(bool, u64, u64),
    Tick(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0u64..5, any::<u64>()).prop_map(|(turn, lifetime)| Step::Connection(turn, lifetime >> 20)),
        Just(Step::Refused),
        (any::<bool>(), 0u64..50, any::<u64>()).prop_map(|(completed, replies, lifetime)| Step::Session(
            completed,
            replies,
            lifetime >> 24
        )),
        (0u64..10_000_000).prop_map(Step::Tick),
    ]
}

fn check_figures(plan: &Plan, summary: &Summary) -> Result<(), TestCaseError> {
    let text = format!("{}{}", classic(plan, summary), latency(summary));
    for line in text.lines().map(|line| line.replace("*10^6", "")) {
        // What C or Rust would read as a number, `inf` and `1e3` among it, is digits and a point.
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
        (plan.watch.verbose, plan.watch.periodic) = (2, true);
        let mut recorder = Recorder::new(at(0), Figures { sessions: true, ..Figures::default() });
        for step in steps {
            match step {
                Step::Connection(turn, lifetime) => {
                    record_connection(&mut recorder, turn, Duration::from_nanos(lifetime));
                }
                Step::Refused => recorder.failed(Failure::Refused),
                Step::Session(completed, replies, lifetime) => recorder.session_ended(SessionEnd {
                    completed,
                    lifetime: Duration::from_nanos(lifetime),
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
