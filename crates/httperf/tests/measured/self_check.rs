//! `httperf self-check` as a user meets it. How exact this machine is nobody knows, so bounds on figures are loose.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use assert_cmd::cargo::cargo_bin;
use httperf_testkit::skip;
use serde_json::Value;

use crate::support::machine::{alone, is_long, shared};

/// Far beyond the 15 seconds that a quick check takes on a machine of its own.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs a check whose state folder is below `state`.
fn self_check(arguments: &[&str], state: &Path) -> Output {
    Command::new("timeout")
        .arg(LIMIT.as_secs().to_string())
        .arg(cargo_bin("httperf"))
        .arg("self-check")
        .args(arguments)
        .env("XDG_STATE_HOME", state)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).unwrap()
}

/// The field of an object, which must be there.
#[track_caller]
fn field<'a>(object: &'a Value, name: &str) -> &'a Value {
    object.get(name).unwrap_or_else(|| panic!("{name} of {object}"))
}

#[track_caller]
fn number(object: &Value, name: &str) -> f64 {
    field(object, name).as_f64().unwrap_or_else(|| panic!("{name} of {object}"))
}

#[track_caller]
fn check_spread(spread: &Value) {
    let (p50, max) = (number(spread, "p50_us"), number(spread, "max_us"));
    assert!(number(spread, "count") >= 50.0 && 0.0 <= p50 && p50 <= max, "{spread}");
    field(spread, "p99_us");
}

#[test]
fn a_quick_check_measures_everything_and_keeps_it() {
    let _alone = alone();
    let state = tempfile::tempdir().unwrap();
    let began = Instant::now();
    let output = self_check(&["--quick", "--json"], state.path());
    // Whether the machine is within bounds is not the question here.
    assert!(matches!(output.status.code(), Some(0 | 2)), "{output:?}");
    assert_eq!(text(&output.stderr), "");
    assert!(began.elapsed() < LIMIT);

    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(field(&document, "format"), "httperf-self-check");
    assert_eq!((field(&document, "version"), field(&document, "quick")), (&1.into(), &true.into()));
    assert!(number(&document, "finished_unix_s") > 1e9);
    let machine = field(&document, "machine");
    assert!(field(machine, "cpu").is_string() && field(machine, "kernel").is_string());
    assert!(number(machine, "processors") >= 1.0);
    assert_eq!(field(machine, "httperf"), env!("CARGO_PKG_VERSION"));
    assert!(field(&document, "processors_split").is_boolean());
    assert!(number(&document, "kept_waiting_share") >= 0.0);
    let sees_packets = field(&document, "capture_refused").is_null();

    let latency = field(&document, "latency").as_array().unwrap();
    let of = |row: &Value| (field(row, "arrivals").as_str().unwrap().to_owned(), number(row, "delay_us"));
    let expected = ["deterministic", "poisson"]
        .iter()
        .flat_map(|arrivals| [0.0, 1e3, 1e4].map(|delay| ((*arrivals).to_owned(), delay)));
    assert_eq!(latency.iter().map(of).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    for row in latency {
        let (delay, server) = (number(row, "delay_us"), field(row, "server"));
        assert!(number(row, "offered") >= 50.0, "{row}");
        assert!(number(server, "true_us") >= delay, "{row}");
        assert!(number(server, "bias_us").abs() < 50e3, "{row}");
        check_spread(field(server, "error"));
        if sees_packets {
            let packets = field(row, "packets");
            assert!(number(packets, "true_us") >= delay && number(packets, "bias_us").abs() < 50e3, "{row}");
        } else {
            assert!(field(row, "packets").is_null());
        }
    }

    let event_times = field(&document, "event_times").as_array().unwrap();
    assert_eq!(event_times.len(), 3, "three protocols");
    for row in event_times {
        assert_eq!((number(row, "streams"), number(row, "events")), (100.0, 1600.0), "{row}");
        assert_eq!(number(field(row, "first"), "count"), 100.0, "{row}");
        // Every other event ends a gap, or came together with the one before.
        let gaps = number(field(row, "gap"), "count");
        assert_eq!(gaps + number(row, "coalesced"), 1500.0, "{row}");
        for name in ["first", "gap"] {
            check_spread(field(row, name));
        }
    }

    let by_kernel = field(&document, "latency_by_kernel").as_array().unwrap();
    assert_eq!(by_kernel.len(), 9, "three delays of three protocols");
    for row in by_kernel {
        let offered = number(row, "offered");
        for name in ["clock", "sends"] {
            let accuracy = field(row, name);
            if !sees_packets {
                assert!(accuracy.is_null());
                continue;
            }
            assert!(number(accuracy, "true_us") >= number(row, "delay_us"), "{row}");
            assert!(number(accuracy, "bias_p50_us").abs() < 5e3, "{row}");
            assert!(
                number(field(accuracy, "error"), "count") >= offered / 2.0,
                "calls meet their packets: {row}"
            );
        }
    }

    let schedule = field(&document, "schedule").as_array().unwrap();
    assert_eq!(schedule.len(), 6);
    for row in schedule {
        assert!(number(row, "rate") >= 100.0 && number(row, "failed") >= 0.0);
        check_spread(field(row, "start"));
        check_spread(field(row, "request"));
        assert!(number(field(row, "start"), "p50_us") <= number(field(row, "request"), "p50_us"), "{row}");
        if sees_packets && field(row, "syns_seen").is_null() {
            check_spread(field(row, "syn"));
        }
        if field(row, "arrivals") == "poisson" {
            for test in [field(row, "achieved"), field(row, "planned")] {
                let within = |name: &str| (0.0..=1.0).contains(&number(test, name));
                assert!(within("d") && within("p_value") && number(test, "count") >= 50.0, "{row}");
            }
            assert!(
                number(field(row, "planned"), "p_value") > 0.001,
                "the schedule is a Poisson process: {row}"
            );
        } else {
            check_spread(field(row, "interval"));
        }
    }

    let capacity = field(&document, "capacity");
    assert!(number(capacity, "servers") >= 1.0 && number(capacity, "calls_per_connection") == 100.0);
    for unit in ["connections", "requests"] {
        let highest = field(capacity, unit);
        assert!(field(highest, "limited_by").is_string() && number(highest, "trials") >= 1.0, "{highest}");
        assert!(number(highest, "per_second") >= 0.0 && number(highest, "generator_cpu") >= 0.0, "{highest}");
        assert!(number(highest, "server_cpu") >= 0.0, "{highest}");
        field(highest, "lag_p99_us");
    }
    let bounds = field(&document, "bounds");
    let bounds = ["start_p50_us", "start_p99_us", "bias_us"].map(|name| number(bounds, name));
    assert_eq!(bounds, [100.0, 1000.0, 200.0]);
    let exceeded = field(&document, "exceeded").as_array().unwrap();
    assert_eq!(output.status.code(), Some(if exceeded.is_empty() { 0 } else { 2 }));

    let kept = fs::read(state.path().join("httperf/self-check.json")).unwrap();
    assert!(kept == output.stdout, "what is kept is what was printed");
}

#[test]
fn results_that_cannot_be_kept_are_reported_all_the_same() {
    if !is_long() {
        return skip::unless_long();
    }
    let _alone = alone();
    let state = tempfile::tempdir().unwrap();
    let no_folder = state.path().join("file");
    File::create(&no_folder).unwrap();
    let output = self_check(&["--quick", "--rate=300"], &no_folder);
    assert!(matches!(output.status.code(), Some(0 | 2)), "{output:?}");
    let table = text(&output.stdout);
    assert!(table.starts_with("httperf ") && table.contains("\nCapacity: "), "{table}");
    assert!(table.contains("deterministic         300  connect begun "), "{table}");
    let file = no_folder.join("httperf/self-check.json");
    let warning = format!("httperf self-check: warning: cannot keep the results in {}: ", file.display());
    let said = text(&output.stderr);
    assert!(said.starts_with(&warning) && said.lines().count() == 1, "{said}");
}

#[test]
fn what_means_nothing_is_refused_in_one_sentence() {
    let _shared = shared();
    let state = tempfile::tempdir().unwrap();
    for (arguments, message) in [
        (&["--rate=0"][..], "--rate: expected a number from 50 to 100000, got `0`"),
        (&["--rate", "fast"], "--rate: expected a number from 50 to 100000, got `fast`"),
        (&["http://localhost/"], "expected nothing but options, got `http://localhost/`"),
        (&["--quick=yes"], "option '--quick' doesn't allow an argument"),
        (&["--slow"], "unrecognized option '--slow'"),
    ] {
        let output = self_check(arguments, state.path());
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""), "{arguments:?}");
        let said = text(&output.stderr);
        assert!(said.ends_with(&format!("httperf self-check: {message}\n")), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
}

#[test]
fn an_interrupted_check_reports_and_keeps_nothing() {
    let _alone = alone();
    let state = tempfile::tempdir().unwrap();
    let output = Command::new("timeout")
        .args(["--signal=INT", "1"])
        .arg(cargo_bin("httperf"))
        .args(["self-check", "--quick"])
        .env("XDG_STATE_HOME", state.path())
        .output()
        .unwrap();
    assert_eq!(text(&output.stdout), "");
    assert_eq!(text(&output.stderr), "httperf self-check: interrupted, so there is nothing to report\n");
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
}
