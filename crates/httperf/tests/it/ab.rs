//! `httperf ab` as a user meets it: two servers, or two sets of options, that take turns.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::time::Duration;

use crate::support::program::{Exit, Invocation, Outcome, stderr, stdout, under_test};
use crate::support::real_server::{Kind, RealServer, Settings};
use crate::support::words;
use httperf_origin::{Config, Handle, ListenAddress, spawn};
use httperf_testkit::skip;
use serde_json::Value;

/// A server, and its URL.
fn server(delay: &str) -> (Handle, String) {
    let listen: ListenAddress = "127.0.0.1:0".parse().unwrap();
    let config = Config { listen: listen.0, delay: delay.parse().unwrap(), ..Config::default() };
    let server = spawn(config).unwrap();
    let url = format!("http://{}/", server.tcp_address().unwrap());
    (server, url)
}

fn invocation(arguments: &str) -> Invocation {
    let mut invocation = Invocation::new(&under_test(), words(&format!("ab {arguments}")));
    invocation.limit = Duration::from_secs(90);
    invocation
}

fn ab(arguments: &str) -> Outcome {
    invocation(arguments).run().unwrap()
}

#[track_caller]
fn document(outcome: &Outcome) -> Value {
    serde_json::from_slice(&outcome.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", stdout(outcome), stderr(outcome)))
}

/// The outcome and the document of a comparison that is expected to find a difference. Rounds that other programs disturbed are
/// left out, and with too few of them nothing can be told: then it is made again. `None` if they disturbed every attempt: the test is
/// skipped, with a word on stdout.
fn compared(arguments: &str) -> Option<(Outcome, Value)> {
    const ATTEMPTS: usize = 3;
    for _ in 0..ATTEMPTS {
        let outcome = ab(&format!("{arguments} --format json"));
        let comparison = document(&outcome);
        if outcome.exit == Exit::Code(1) || comparison["method"]["paired"]["rounds_left_out"] == 0 {
            return Some((outcome, comparison));
        }
    }
    skip::disturbed("other programs disturbed every comparison");
    None
}

#[track_caller]
fn verdict<'a>(document: &'a Value, metric: &str) -> &'a str {
    let rows = document["against"][0]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["metric"] == metric);
    row.unwrap()["verdict"].as_str().unwrap()
}

/// Short trials of calls one after the other on a few connections: such a loop is never late.
const SHORT: &str = "--concurrency 4 --trial 0.4 --warmup 0.1";

#[test]
fn of_two_servers_the_slower_one_is_worse_and_the_same_one_is_not() {
    let ((_fast, fast), (_slow, slow)) = (server("exp:5ms"), server("exp:15ms"));
    let Some((outcome, comparison)) = compared(&format!("{fast} {slow} {SHORT} --rounds 8")) else { return };
    assert_eq!(outcome.exit, Exit::Code(1), "{comparison:#}");
    assert_eq!((verdict(&comparison, "mean"), verdict(&comparison, "replies")), ("worse", "worse"));
    let turns = &comparison["method"]["paired"];
    assert_eq!((&turns["rounds_made"], &turns["rounds_asked"]), (&8.into(), &8.into()));
    let trials = turns["trials"].as_array().unwrap();
    let sides: Vec<u64> = trials.iter().map(|trial| trial["side"].as_u64().unwrap()).collect();
    assert!(sides.chunks(2).all(|round| round[0] + round[1] == 1), "{sides:?}");
    assert!(
        sides.chunks(2).any(|round| round[0] == 0) && sides.chunks(2).any(|round| round[0] == 1),
        "{sides:?}"
    );

    // One pair in twenty may differ by chance. Where other programs disturb the rounds, nothing can be told.
    let told = [0, 1, 2].map(|seed| {
        let outcome = ab(&format!("{fast} {fast} {SHORT} --rounds 6 --seed {seed} --format json"));
        document(&outcome)["against"][0]["verdict"].as_str().unwrap().to_owned()
    });
    let differing = told.iter().filter(|verdict| ["worse", "better"].contains(&&***verdict)).count();
    assert!(differing <= 1, "{told:?}");
    if !told.contains(&"no_difference_shown".to_owned()) {
        skip::disturbed("other programs disturbed every comparison");
    }
}

#[test]
fn two_sets_of_options_take_turns_against_one_server() {
    let (server, _url) = server("0ms");
    let port = server.tcp_address().unwrap().port();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ab.json");
    let outcome = ab(&format!(
        "--a '--uri /delay/1ms' --b '--uri \"/delay/20ms\" --add-header \"X: a b\\n\"' --server 127.0.0.1 --port {port} \
         {SHORT} --rounds 7 --fail-if mean>+50% --output {}",
        file.display()
    ));
    let text = stdout(&outcome);
    assert_eq!(outcome.exit, Exit::Code(1), "{text}{}", stderr(&outcome));
    assert!(text.starts_with("base  --uri /delay/1ms"), "{text}");
    assert!(text.contains("7 rounds of one trial each, in random order\n"), "{text}");
    assert!(text.contains("mean>+50%: EXCEEDED\n"), "{text}");
    let saved: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    assert_eq!((&saved["format"], &saved["outcome"]), (&"httperf-comparison".into(), &"failed".into()));
}

#[test]
fn whole_rounds_are_reported_when_interrupted() {
    let (_server, url) = server("exp:1ms");
    let mut invocation = invocation(&format!("{url} {url} {SHORT} --rounds 1000"));
    invocation.interrupt_after = Some(Duration::from_secs(10));
    let outcome = invocation.run().unwrap();
    let text = stdout(&outcome);
    assert!(text.contains("warning: interrupted after ") && text.contains(" of 1000 rounds\n"), "{text}");
    assert!(matches!(outcome.exit, Exit::Code(0..=2)), "{:?}", outcome.exit);

    invocation.interrupt_after = Some(Duration::from_millis(300));
    let outcome = invocation.run().unwrap();
    assert_eq!((outcome.exit, &*stdout(&outcome)), (Exit::Code(2), ""));
    assert_eq!(stderr(&outcome), "httperf ab: interrupted before the first round was complete\n");
}

#[test]
fn a_server_that_answers_with_errors_is_worse() {
    let (_server, url) = server("0ms");
    let listen: ListenAddress = "127.0.0.1:0".parse().unwrap();
    let broken =
        spawn(Config { listen: listen.0, status: "500".parse().unwrap(), ..Config::default() }).unwrap();
    let broken_url = format!("http://{}/", broken.tcp_address().unwrap());
    let arguments = format!("{url} {broken_url} {SHORT} --rounds 5 --call-pause 0.05");
    let Some((outcome, comparison)) = compared(&arguments) else { return };
    assert_eq!(outcome.exit, Exit::Code(1), "{comparison:#}");
    assert_eq!(verdict(&comparison, "errors"), "worse");
}

#[test]
fn nginx_takes_turns_with_itself() {
    let Some(nginx) = RealServer::start(Kind::Nginx, Settings::default()) else { return };
    let url = format!("http://127.0.0.1:{}", nginx.port());
    let arguments = format!("{url}/empty.txt {url}/medium.bin {SHORT} --rounds 6");
    let Some((outcome, comparison)) = compared(&arguments) else { return };
    assert_eq!(outcome.exit, Exit::Code(1), "300,000 bytes take longer than none: {comparison:#}");
    assert_eq!(comparison["base"]["name"], format!("{url}/empty.txt"));
    assert!(comparison["base"]["replies"].as_u64() > Some(100));
}

#[test]
fn words_that_mean_nothing_are_refused_in_one_sentence() {
    let mut transcript = String::new();
    for line in [
        "",
        "http://127.0.0.1:9/",
        "http://127.0.0.1:9/ http://127.0.0.1:9/ http://127.0.0.1:9/",
        "http://127.0.0.1:9/ word",
        "http:// http://",
        "--a ''",
        "--b '--rate 10' http://127.0.0.1:9/",
        "--a '--rate 10' --b '--live' http://127.0.0.1:9/",
        "--a '--rate ten' --b '' http://127.0.0.1:9/",
        "--a '--no-such-option' --b '' http://127.0.0.1:9/",
        "--a '--output=x' --b '' http://127.0.0.1:9/",
        "--a '\"open' --b '' http://127.0.0.1:9/",
        "--a word --b '' http://127.0.0.1:9/",
        "--a '' --b '--rate 5' http://127.0.0.1:9/ http://127.0.0.1:9/",
        "--a '' --b '--rate 5 --request-rate 5' http://127.0.0.1:9/",
        "--rounds 0",
        "--rounds 4",
        "--rounds 1001",
        "--trial 0",
        "--trial 1e9",
        "--warmup -1",
        "--pause soon",
        "--seed -1",
        "--format xml",
        "--output=",
        "--fail-if p99",
        "--output=/no/such/folder/x.json http://127.0.0.1:9/ http://127.0.0.1:9/x",
        "http://no-such-host.invalid/ http://127.0.0.1:9/",
    ] {
        let outcome = ab(line);
        assert_eq!((outcome.exit, &*stdout(&outcome)), (Exit::Code(1), ""), "{line}: {}", stderr(&outcome));
        transcript += &format!("$ httperf ab {line}\n{}\n", stderr(&outcome));
    }
    insta::assert_snapshot!(transcript);
}
