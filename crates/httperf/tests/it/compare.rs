//! `httperf compare` as a user meets it: results of real runs against the test server, and what is not comparable.
//!
//! Machines that run tests are busy, and a generator that is late makes a run INVALID: so most comparisons are forced,
//! and servers are slower than a machine is late.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use crate::support::program::{Exit, Invocation, Outcome, stderr, stdout, under_test};
use crate::support::words;
use httperf_origin::{Config, Handle, ListenAddress, spawn};
use serde_json::Value;
use tempfile::TempDir;

fn server(delay: &str) -> Handle {
    let listen: ListenAddress = "127.0.0.1:0".parse().unwrap();
    spawn(Config { listen: listen.0, delay: delay.parse().unwrap(), ..Config::default() }).unwrap()
}

/// Results of runs that went on at the same time, for all tests: four against the same kind of server (`a` to `d`), one
/// against one a half slower (`slow`), and some that are short.
struct Results {
    folder: TempDir,
}

impl Results {
    fn get() -> &'static Self {
        static RESULTS: OnceLock<Results> = OnceLock::new();
        RESULTS.get_or_init(|| {
            let results = Self { folder: tempfile::tempdir().unwrap() };
            let long = "--request-rate 100 --concurrency 60 --duration 13 --warmup 0.5 --drain 2";
            let cases = [
                ("a", "exp:40ms", long),
                ("b", "exp:40ms", long),
                ("c", "exp:40ms", long),
                ("d", "exp:40ms", long),
                ("slow", "exp:60ms", long),
                (
                    "short",
                    "exp:40ms",
                    "--request-rate 100 --concurrency 60 --duration 1.5 --warmup 0.5 --drain 2",
                ),
                ("classic", "0ms", "--num-conns 3 --record classic"),
                ("refused", "0ms", "--num-conns 5 --port 9"),
                ("loop", "exp:1ms", "--concurrency 2 --duration 1"),
            ];
            thread::scope(|scope| {
                for (name, delay, options) in cases {
                    let results = &results;
                    scope.spawn(move || {
                        let server = server(delay);
                        let port = server.tcp_address().unwrap().port();
                        let file = results.path(name);
                        run(&format!(
                            "--server 127.0.0.1 --port {port} {options} --output {}",
                            file.display()
                        ));
                    });
                }
            });
            results
        })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.json"))
    }

    /// Runs `httperf compare` on results and with options; `@name` stands for a result.
    fn compare(&self, arguments: &str) -> Outcome {
        let place = format!("{}/", self.folder.path().display());
        let expanded = words(arguments).into_iter().map(|word| match word.strip_prefix('@') {
            Some(name) => format!("{place}{name}.json"),
            None => word,
        });
        let words: Vec<String> = ["compare".to_owned()].into_iter().chain(expanded).collect();
        Invocation::new(&under_test(), words).run().unwrap()
    }

    /// The comparison as a document, and the exit status.
    fn json(&self, arguments: &str) -> (Value, i32) {
        let outcome = self.compare(&format!("--format json {arguments}"));
        let Exit::Code(status) = outcome.exit else { panic!("{outcome:?}") };
        let document = serde_json::from_slice(&outcome.stdout);
        (document.unwrap_or_else(|error| panic!("{error}: {}", stderr(&outcome))), status)
    }
}

fn run(arguments: &str) {
    let mut invocation = Invocation::new(&under_test(), words(arguments));
    invocation.limit = Duration::from_secs(90);
    let outcome = invocation.run().unwrap();
    assert_eq!(outcome.exit, Exit::Code(0), "{}", stderr(&outcome));
}

#[test]
fn runs_against_the_same_server_are_not_shown_to_differ_and_one_against_a_slower_one_is_worse() {
    let results = Results::get();
    let (document, status) = results.json("--force @a @b @c @d @slow");
    let verdicts: Vec<&str> =
        document["against"].as_array().unwrap().iter().map(|one| one["verdict"].as_str().unwrap()).collect();
    // On a machine that does other things at times, one of them may differ.
    let same = verdicts[..3].iter().filter(|verdict| **verdict == "no_difference_shown").count();
    assert!(same >= 2, "{verdicts:?}");
    assert_eq!((verdicts[3], status), ("worse", 1), "{verdicts:?}");
    let rows = document["against"][3]["rows"].as_array().unwrap();
    let mean = rows.iter().find(|row| row["metric"] == "mean").unwrap();
    assert_eq!(mean["verdict"], "worse");
    let ends = ["low", "high"].map(|end| mean["relative"][end].as_f64().unwrap());
    assert!(ends[0] > 0.1 && ends[1] < 1.2, "{mean}");
}

#[test]
fn the_other_way_round_it_is_better() {
    let results = Results::get();
    let outcome = results.compare("--force @slow @a");
    assert_eq!(outcome.exit, Exit::Code(0), "{}", stdout(&outcome));
    assert!(stdout(&outcome).contains("Verdict: better in mean"), "{}", stdout(&outcome));
}

#[test]
fn the_exit_status_follows_from_tolerances_if_there_are_any() {
    let results = Results::get();
    for (tolerances, status) in [
        ("--fail-if mean>+400%", 0),
        ("--fail-if mean>+10%", 1),
        ("--fail-if 'mean > +10%, errors > +1pp'", 1),
        ("--fail-if p99.9>+5%", 2),
        ("--fail-if mean>+400% --fail-if p99.9>+5%", 2),
        ("--fail-if mean>+10% --fail-if p99.9>+5%", 1),
        ("--fail-if mean>+5ms", 1),
        ("--fail-if replies<-50%", 0),
    ] {
        let outcome = results.compare(&format!("--force @a @slow {tolerances}"));
        assert_eq!(outcome.exit, Exit::Code(status), "{tolerances}\n{}", stdout(&outcome));
    }
}

#[test]
fn too_little_is_no_verdict() {
    let results = Results::get();
    let outcome = results.compare("--force @short @short");
    assert_eq!(outcome.exit, Exit::Code(2), "{}", stdout(&outcome));
    let text = stdout(&outcome);
    assert!(
        text.contains("not enough data: intervals with data:") && text.contains("hint: measure"),
        "{text}"
    );
    for name in ["classic", "refused"] {
        let outcome = results.compare(&format!("--force @{name} @{name}"));
        assert_eq!(outcome.exit, Exit::Code(2), "{}", stdout(&outcome));
    }
}

#[test]
fn what_was_not_the_same_is_refused_in_one_sentence_each() {
    let results = Results::get();
    let outcome = results.compare("@a @loop");
    assert_eq!(outcome.exit, Exit::Code(2));
    let text = stdout(&outcome);
    assert!(text.contains("Verdict: not comparable"), "{text}");
    assert!(text.contains("\nvoid: the workloads differ\n"), "{text}");
    assert!(text.contains("\nvoid: the offered rates differ (--period)\n"), "{text}");
    assert!(text.contains("\nwarning: the targets differ: http://127.0.0.1:"), "{text}");
    assert!(text.contains("\nwarning: the measured phases differ in length: "), "{text}");
    assert!(text.contains("\nhint: --force compares them anyway\n"), "{text}");
    // In forms that nobody reads at once, stderr says why.
    let json = results.compare("@a @loop --format json");
    assert_eq!(json.exit, Exit::Code(2));
    assert!(stderr(&json).contains("loop.json` is not comparable with `"), "{}", stderr(&json));
}

#[test]
fn every_form_shows_every_row() {
    let results = Results::get();
    for (form, beginning) in [("text", "base  "), ("markdown", "### "), ("html", "<!DOCTYPE html>")] {
        let outcome = results.compare(&format!("--force @a @slow --format {form}"));
        let text = stdout(&outcome);
        assert!(text.starts_with(beginning) && text.ends_with('\n') || form == "html", "{form}");
        for name in ["replies", "errors", "mean", "p50", "p90", "p99", "p99.9", "not enough data"] {
            assert!(text.contains(name), "{name} in {form}");
        }
        assert_eq!((outcome.exit, &*stderr(&outcome)), (Exit::Code(1), ""));
    }
    let markdown = stdout(&results.compare("--force @a @slow --format markdown"));
    let table: Vec<&str> = markdown.lines().filter(|line| line.starts_with('|')).collect();
    assert_eq!(table.len(), 2 + 7);
    assert!(table.iter().all(|line| line.matches('|').count() == 7 && line.ends_with('|')), "{markdown}");
}

#[test]
fn words_that_mean_nothing_are_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("empty.json"), "").unwrap();
    fs::write(folder.path().join("other.json"), "{\"format\": \"httperf-sweep\", \"version\": 1}").unwrap();
    fs::write(folder.path().join("newer.json"), "{\"format\": \"httperf-result\", \"version\": 99}").unwrap();
    fs::write(folder.path().join("broken.json"), "{\"format\": \"httperf-result\", \"version\": 1}").unwrap();
    let mut transcript = String::new();
    for line in [
        "",
        "empty.json",
        "missing.json missing.json",
        "empty.json empty.json",
        "other.json other.json",
        "newer.json newer.json",
        "broken.json broken.json",
        ". .",
        "--format pdf",
        "--fail-if",
        "--fail-if=",
        "--fail-if p99<5%",
        "--fail-if p99>+5",
        "--fail-if errors>+5ms",
        "--fail-if service.p99>+5%",
        "--fail-if max>+5%",
        "--fail-if 'p99>+5%;errors>+1pp'",
        "--rounds 3",
    ] {
        let mut invocation = Invocation::new(&under_test(), words(&format!("compare {line}")));
        invocation.files = ["empty.json", "other.json", "newer.json", "broken.json"]
            .map(|name| (name.to_owned(), fs::read(folder.path().join(name)).unwrap()))
            .into();
        let outcome = invocation.run().unwrap();
        assert_eq!((outcome.exit, &*stdout(&outcome)), (Exit::Code(1), ""), "{line}");
        transcript += &format!("$ httperf compare {line}\n{}\n", stderr(&outcome));
    }
    insta::assert_snapshot!(transcript);
}
