//! Objectives (`--slo`) of a plain run: met, missed, unknown, ended for; as text, as JUnit XML, and as an exit status.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::support::bench::{Bench, run};
use crate::support::program::{Exit, Invocation, Outcome, but_for_the_verdict, stderr, stdout, under_test};
use crate::support::real_server::{Kind, RealServer, Settings};
use crate::support::words;
use httperf_origin::{Config, FaultMix};
use httperf_testkit::skip;
use serde_json::Value;

/// A document that the program wrote.
fn saved(bench: &Bench, name: &str) -> Value {
    serde_json::from_str(&bench.read(name)).expect("the document is JSON")
}

/// The objectives that were printed: what came of each, its name, and what was measured.
fn printed(text: &str) -> Vec<(String, String, String)> {
    let section = text.split_once("\nObjectives: ").map_or("", |(_, section)| section);
    // In the full report, the answer comes after an empty line.
    let lines = section.lines().skip(1).take_while(|line| !line.is_empty());
    lines
        .filter(|line| !line.starts_with("  The run "))
        .map(|line| {
            let (outcome, rest) = line.trim_start().split_once(' ').expect("an outcome");
            let (name, measured) = rest.trim_start().split_once(' ').expect("an objective");
            (outcome.to_owned(), name.to_owned(), measured.trim_start().to_owned())
        })
        .collect()
}

/// Checks the exit status, and what came of each objective in the order of `expected`.
#[track_caller]
fn check(outcome: &Outcome, status: i32, expected: &[(&str, &str)]) {
    let printed = printed(&stdout(outcome));
    let found: Vec<(&str, &str)> =
        printed.iter().map(|(outcome, name, _)| (&outcome[..], &name[..])).collect();
    assert_eq!(
        (outcome.exit, &found[..]),
        (Exit::Code(status), expected),
        "{}{}",
        stdout(outcome),
        stderr(outcome)
    );
}

#[test]
fn objectives_that_are_met_follow_the_classic_report_and_change_nothing_in_it() {
    let bench = Bench::new();
    let outcome =
        bench.run("--rate 200 --num-conns 200 --slo 'p99<20s, errors<=0' --slo 2xx>=100%,replies>1");
    check(
        &outcome,
        0,
        &[("met", "p99<20s"), ("met", "errors<=0%"), ("met", "2xx>=100%"), ("met", "replies>1/s")],
    );
    let text = stdout(&outcome);
    let (report, section) = text.split_once("\nObjectives: ").expect("the section is there");
    let last = report.lines().last().expect("there is a report");
    assert_eq!(last, "Errors: fd-unavail 0 addrunavail 0 ftab-full 0 other 0");
    assert!(section.starts_with("4 of 4 met\n  met      p99<20s           "), "{section}");
    assert_eq!(but_for_the_verdict(&stderr(&outcome)), "");
    let without = stdout(&bench.run("--rate 200 --num-conns 200"));
    assert_eq!(report.lines().count(), without.lines().count());
}

#[test]
fn an_objective_that_is_missed_is_told_with_what_was_measured() {
    let bench = Bench::with(Config { delay: "120ms".parse().expect("a delay"), ..Config::default() });
    let outcome =
        bench.run("--rate 100 --num-conns 120 --slo p50<20ms,p99>100ms,service.min>=100ms,connect.p50<10s");
    check(
        &outcome,
        4,
        &[
            ("MISSED", "p50<20ms"),
            ("met", "p99>100ms"),
            ("met", "service.min>=100ms"),
            ("met", "connect.p50<10s"),
        ],
    );
    let measured = &printed(&stdout(&outcome))[0].2;
    assert!(measured.contains(" ms, ") && measured.ends_with(" above the bound"), "{measured}");
}

#[test]
fn too_few_samples_leave_it_open_and_that_is_not_enough() {
    let bench = Bench::new();
    let outcome = bench.run("--num-conns 10 --slo p99<20s,p50<20s");
    check(&outcome, 4, &[("UNKNOWN", "p99<20s"), ("met", "p50<20s")]);
    let text = stdout(&outcome);
    assert!(text.contains(", from 10 of the 100 samples needed\n"), "{text}");
    check(&bench.run("--num-conns 0 --slo 5xx<1%"), 4, &[("UNKNOWN", "5xx<1%")]);
}

#[test]
fn shares_tell_statuses_failures_and_unexpected_replies_apart() {
    let bench = Bench::with(Config { status: "200:1,503:1".parse().expect("a mix"), ..Config::default() });
    let outcome =
        bench.run("--rate 500 --num-conns 200 --slo errors<10%,failed<=0,5xx>=20%,4xx<=0,2xx>=99%,p90<20s");
    check(
        &outcome,
        4,
        &[
            ("MISSED", "errors<10%"),
            ("met", "failed<=0%"),
            ("met", "5xx>=20%"),
            ("met", "4xx<=0%"),
            ("MISSED", "2xx>=99%"),
            // The server said no, and took no time for it.
            ("met", "p90<20s"),
        ],
    );
    let outcome = bench.run(
        "--rate 500 --num-conns 200 --expect-status 200 --slo unexpected<10%,errors<10%,failed<=0,p90<20s",
    );
    check(
        &outcome,
        4,
        &[
            ("MISSED", "unexpected<10%"),
            ("MISSED", "errors<10%"),
            ("met", "failed<=0%"),
            ("MISSED", "p90<20s"),
        ],
    );
    let measured = &printed(&stdout(&outcome))[3].2;
    assert!(
        measured.starts_with("> ") && measured.ends_with(": calls had no usable reply in time"),
        "{measured}"
    );
}

#[test]
fn calls_that_fail_make_percentiles_endless() {
    let faults = FaultMix::new(vec!["reset:0.5".parse().expect("a fault")]).expect("a mix");
    let bench = Bench::with(Config { faults, ..Config::default() });
    let outcome = bench
        .run("--rate 500 --num-conns 200 --slo 'p99<20s, service.p99<20s, max<20s, failed>=20%, errors<60%, 2xx>=99%'");
    check(
        &outcome,
        4,
        &[
            ("MISSED", "p99<20s"),
            ("MISSED", "service.p99<20s"),
            ("MISSED", "max<20s"),
            ("met", "failed>=20%"),
            ("met", "errors<60%"),
            // Of the replies that came.
            ("met", "2xx>=99%"),
        ],
    );
    // Nobody listens there.
    let refused =
        run("--server 127.0.0.1 --port 9 --num-conns 5 --slo p50<1s,errors<=0,failed<100%,replies>1");
    check(
        &refused,
        4,
        &[
            ("MISSED", "p50<1s"),
            ("MISSED", "errors<=0%"),
            ("MISSED", "failed<100%"),
            ("MISSED", "replies>1/s"),
        ],
    );
}

#[test]
fn a_call_that_was_never_answered_counts_once_it_is_beyond_the_bound() {
    let bench = Bench::new();
    let run = |slo: &str| {
        bench.run(&format!(
            "--rate 20 --num-conns 1000 --duration 1 --uri /delay/30s --slo {slo} --report full"
        ))
    };
    check(
        &run("p25<50ms,p50<100s,failed<1%"),
        4,
        &[("MISSED", "p25<50ms"), ("UNKNOWN", "p50<100s"), ("UNKNOWN", "failed<1%")],
    );
}

#[test]
fn sessions_and_schedules_have_objectives_of_their_own() {
    let bench = Bench::new();
    let outcome = bench.run("--wsess=20,3,0 --rate 100 --slo session.p90<20s,lag.p50<20s,session.max<1us");
    check(&outcome, 4, &[("met", "session.p90<20s"), ("met", "lag.p50<20s"), ("MISSED", "session.max<1us")]);
}

#[test]
fn the_exit_status_says_the_worst() {
    let bench = Bench::new();
    let exit = |arguments: &str| bench.run(arguments).exit;
    assert_eq!(exit("--num-conns 5 --slo errors<=0"), Exit::Code(0));
    assert_eq!(exit("--num-conns 5 --slo errors<=0 --strict"), Exit::Code(2), "few calls are suspect");
    assert_eq!(exit("--num-conns 5 --slo replies>1000000 --strict"), Exit::Code(4), "before suspect");
    assert_eq!(exit("--num-conns 5 --slo replies>1000000 --output /dev/full"), Exit::Code(1));
    let mut starved = Invocation::new(
        &under_test(),
        words(&format!(
            "--server 127.0.0.1 --port {} --rate 2000 --num-conns 300 --uri /delay/500ms --slo errors<1% --strict",
            bench.port
        )),
    );
    starved.descriptors = Some(30);
    let outcome = starved.run().expect("the program can be started");
    check(&outcome, 3, &[("MISSED", "errors<1%")]);
}

#[test]
fn an_interrupted_run_is_judged_by_what_it_measured() {
    let bench = Bench::new();
    for (slo, status) in [("errors<=0", 0), ("replies>1000000", 4)] {
        let arguments = format!(
            "--server 127.0.0.1 --port {} --rate 100 --num-conns 1000000 --abort-on-slo --slo p1<100s,{slo}",
            bench.port
        );
        let mut invocation = Invocation::new(&under_test(), words(&arguments));
        invocation.interrupt_after = Some(Duration::from_millis(1500));
        let outcome = invocation.run().expect("the program can be started");
        assert_eq!(outcome.exit, Exit::Code(status), "{}{}", stdout(&outcome), stderr(&outcome));
    }
}

#[test]
fn a_run_that_has_missed_an_objective_ends_and_reports_what_it_measured() {
    let bench = Bench::with(Config { delay: "60ms".parse().expect("a delay"), ..Config::default() });
    for threads in ["", "--threads 2"] {
        let outcome = bench.run(&format!(
            "--rate 200 --num-conns 1000000 --duration 60 {threads} --abort-on-slo --slo p90<20ms,service.max<20s \
             --output @r.json --html @r.html --junit @r.xml --report full"
        ));
        check(&outcome, 4, &[("MISSED", "p90<20ms"), ("met", "service.max<20s")]);
        let ending = "The run was ended early because an objective had been missed for three seconds in a row \
                      (--abort-on-slo).\n";
        assert!(stdout(&outcome).contains(ending), "{}", stdout(&outcome));
        assert!(bench.read("r.html").contains(ending.trim_end()));
        let document = saved(&bench, "r.json");
        assert_eq!(document["parts"][0]["ended_early"], "missed");
        let seconds = document["figures"]["duration_s"].as_f64().expect("a number");
        assert!((2.5..45.0).contains(&seconds), "{seconds}");
        assert!(document["summary"]["replies"].as_u64() >= Some(100));
        assert!(bench.read("r.xml").contains("name=\"abort-on-slo\""));
        let again = bench.command("report @r.json");
        assert_eq!(printed(&stdout(&again)), printed(&stdout(&outcome)));
    }
}

#[test]
fn a_run_whose_calls_fail_ends_for_a_share() {
    let faults = FaultMix::new(vec!["close:0.3".parse().expect("a fault")]).expect("a mix");
    let bench = Bench::with(Config { faults, ..Config::default() });
    let outcome = bench
        .run("--rate 200 --num-conns 1000000 --duration 60 --abort-on-slo --slo errors<5% --output @r.json");
    check(&outcome, 4, &[("MISSED", "errors<5%")]);
    assert_eq!(saved(&bench, "r.json")["parts"][0]["ended_early"], "missed");
}

#[test]
fn a_run_that_keeps_to_its_objectives_goes_on_to_its_end() {
    let bench = Bench::new();
    let outcome = bench.run(
        "--rate 100 --num-conns 1000000 --duration 4.5 --drain 10 --abort-on-slo --slo p50<20s,errors<=0,replies>=20 \
         --output @r.json",
    );
    check(&outcome, 0, &[("met", "p50<20s"), ("met", "errors<=0%"), ("met", "replies>=20/s")]);
    assert_eq!(saved(&bench, "r.json")["parts"][0]["ended_early"], Value::Null);
    // Missed, but over before that could be told three times.
    let short = bench.run(
        "--rate 100 --num-conns 1000000 --duration 2 --abort-on-slo --slo replies>=1000000 --output @r.json",
    );
    check(&short, 4, &[("MISSED", "replies>=1000000/s")]);
    assert_eq!(saved(&bench, "r.json")["parts"][0]["ended_early"], Value::Null);
    assert!(!stdout(&short).contains("ended early"));
}

/// Each test case of a file of JUnit XML as Python reads it: class, name, and what came of it.
fn cases(xml: &str) -> Option<Vec<(String, String, String)>> {
    const SCRIPT: &str = "import sys, xml.etree.ElementTree as tree\n\
        root = tree.fromstring(sys.stdin.buffer.read())\n\
        assert root.tag == 'testsuites', root.tag\n\
        for suite in root:\n\
        \x20   counts = [len(suite.findall('testcase'))]\n\
        \x20   counts += [len(suite.findall('testcase/' + kind)) for kind in ('failure', 'error', 'skipped')]\n\
        \x20   said = [int(suite.get(name)) for name in ('tests', 'failures', 'errors', 'skipped')]\n\
        \x20   assert counts == said, (counts, said)\n\
        \x20   for case in suite.findall('testcase'):\n\
        \x20       kinds = [child.tag for child in case if child.tag != 'system-out'] or ['passed']\n\
        \x20       print(case.get('classname'), case.get('name'), *kinds)\n";
    let python = Command::new("python3")
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut python) = python else {
        skip::lacking("python3");
        return None;
    };
    python.stdin.take().expect("it is piped").write_all(xml.as_bytes()).expect("it reads");
    let output = python.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}{xml}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("it prints text");
    let cases = text.lines().map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [class, name, kind] = fields[..] else { panic!("{line}") };
        (class.to_owned(), name.to_owned(), kind.to_owned())
    });
    Some(cases.collect())
}

#[test]
fn junit_xml_is_read_by_a_parser_that_is_not_ours() {
    let bench = Bench::new();
    let outcome = bench
        .run("--num-conns 20 --slo 'p50<20s, replies>1000000, p99.9<20s' --slo errors<=0 --junit @slo.xml");
    assert_eq!(outcome.exit, Exit::Code(4));
    let Some(cases) = cases(&bench.read("slo.xml")) else { return };
    let expected = [
        ("objective", "p50<20s", "passed"),
        ("objective", "replies>1000000/s", "failure"),
        ("objective", "p99.9<20s", "failure"),
        ("objective", "errors<=0%", "passed"),
    ];
    let found: Vec<(&str, &str, &str)> =
        cases.iter().map(|(class, name, kind)| (&class[..], &name[..], &kind[..])).collect();
    let ((class, name, _), objectives) = found.split_last().expect("there is a case for the verdict");
    assert_eq!((objectives, *class, *name), (&expected[..], "run", "verdict"));
}

#[test]
fn a_run_without_objectives_has_a_verdict_for_ci_too() {
    let bench = Bench::new();
    assert_eq!(bench.run("--num-conns 5 --junit @slo.xml").exit, Exit::Code(0));
    let Some(cases) = cases(&bench.read("slo.xml")) else { return };
    assert_eq!(cases, [("run".to_owned(), "verdict".to_owned(), "passed".to_owned())]);
}

#[test]
fn a_junit_file_that_cannot_be_written_costs_no_measurement() {
    let bench = Bench::new();
    let outcome = bench.run("--num-conns 5 --junit @no/such/folder");
    let message = format!("httperf: --junit: cannot write `{}`: ", bench.path("no/such/folder").display());
    assert!(stderr(&outcome).starts_with(&message), "{}", stderr(&outcome));
    assert_eq!((outcome.exit, stdout(&outcome).lines().count()), (Exit::Code(1), 1), "the echo line alone");
    let outcome = bench.run("--num-conns 5 --slo errors<=0 --junit /dev/full --output @r.json");
    let message = "httperf: --junit: cannot write `/dev/full`: No space left on device (os error 28)";
    assert_eq!((outcome.exit, &*but_for_the_verdict(&stderr(&outcome))), (Exit::Code(1), message));
    assert!(stdout(&outcome).contains("Total: connections 5 requests 5 replies 5"), "{}", stdout(&outcome));
    assert_eq!(saved(&bench, "r.json")["summary"]["replies"], 5, "the other file is there");
    fs::write(bench.path("slo.xml"), "what was before").expect("written");
    assert_eq!(bench.run("--num-conns 5 --junit @slo.xml").exit, Exit::Code(0));
    assert!(bench.read("slo.xml").starts_with("<?xml "));
}

#[test]
fn a_result_keeps_its_objectives_and_is_judged_again() {
    let bench = Bench::new();
    let slo = "--slo 'p50<20s,replies>1000000,p99<20s'";
    let outcome =
        bench.run(&format!("--rate 100 --num-conns 60 {slo} --report full --output @r.json --csv @r.csv"));
    let expected = [("met", "p50<20s"), ("MISSED", "replies>1000000/s"), ("UNKNOWN", "p99<20s")];
    check(&outcome, 4, &expected);
    let text = stdout(&outcome);
    let (_, report) = text.split_once('\n').expect("an echo line");
    assert_eq!(stdout(&bench.command("report @r.json")), report);
    let csv = bench.read("r.csv");
    assert!(csv.contains(",p50<20s met; replies>1000000/s MISSED; p99<20s UNKNOWN,"), "{csv}");
    // Run again, it is held to the same.
    let again = bench.command("rerun @r.json --output @again.json --junit @again.xml");
    check(&again, 4, &expected);
    assert_eq!(saved(&bench, "again.json")["plan"], saved(&bench, "r.json")["plan"]);
    assert!(bench.read("again.xml").contains("failures=\"2\""));
    // Two halves have samples enough.
    let merged = bench.command("merge @r.json @again.json --output @both.json");
    assert_eq!(merged.exit, Exit::Code(0), "{}", stderr(&merged));
    let both: Vec<String> = printed(&stdout(&bench.command("report @both.json")))
        .into_iter()
        .map(|(outcome, ..)| outcome)
        .collect();
    assert_eq!(both, ["met", "MISSED", "met"]);
    let document = saved(&bench, "both.json");
    let found: Vec<&Value> =
        document["objectives"].as_array().expect("a list").iter().map(|judged| &judged["outcome"]).collect();
    assert_eq!(found, ["met", "missed", "met"]);
}

#[test]
fn every_document_with_objectives_follows_its_schema() {
    let schema = serde_json::from_str(&httperf_report::result::schema()).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    let bench = Bench::new();
    for slo in ["p50<20s,p99.9<1us", "errors<=0 --num-conns 0", "failed<1% --uri /fault/close"] {
        bench.run(&format!("--num-conns 5 --slo {slo} --output @r.json"));
        let document = saved(&bench, "r.json");
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{errors:#?}");
    }
}

#[test]
fn a_document_on_standard_output_stays_alone_and_misses_are_told_beside_it() {
    let bench = Bench::new();
    let outcome = bench.run("--num-conns 5 --slo errors<=0,replies>1000000 --output -");
    assert_eq!(outcome.exit, Exit::Code(4));
    let document: Value = serde_json::from_slice(&outcome.stdout).expect("nothing but the document");
    assert_eq!(document["objectives"][1]["outcome"], "missed");
    let told = stderr(&outcome);
    assert!(told.starts_with("httperf: objective: MISSED replies>1000000/s: "), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
}

#[test]
fn a_real_server_is_held_to_its_objectives() {
    let Some(server) = RealServer::start(Kind::Nginx, Settings::default()) else { return };
    let run = |arguments: &str| run(&format!("--server 127.0.0.1 --port {} {arguments}", server.port()));
    check(
        &run("--rate 200 --num-conns 200 --uri /small.txt --slo p99<20s,errors<=0,2xx>=100%,replies>=10"),
        0,
        &[("met", "p99<20s"), ("met", "errors<=0%"), ("met", "2xx>=100%"), ("met", "replies>=10/s")],
    );
    check(
        &run("--rate 200 --num-conns 200 --uri /nowhere --slo p99<20s,errors<1%,4xx<1%,failed<=0"),
        4,
        &[("met", "p99<20s"), ("MISSED", "errors<1%"), ("MISSED", "4xx<1%"), ("met", "failed<=0%")],
    );
    let outcome =
        run("--rate 200 --num-conns 1000000 --duration 60 --uri /nowhere --abort-on-slo --slo errors<1%");
    check(&outcome, 4, &[("MISSED", "errors<1%")]);
    assert!(stdout(&outcome).contains("The run was ended early because an objective had been missed"));
}

/// The command lines of the guide, with less of everything, against a server that is there.
#[test]
fn the_guide_can_be_followed() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/objectives.md");
    let guide = fs::read_to_string(guide).expect("the guide is there");
    let bench = Bench::new();
    let lines: Vec<&str> = guide.lines().filter_map(|line| line.strip_prefix("    httperf ")).collect();
    assert!(lines.len() >= 3, "{lines:?}");
    for line in lines {
        let mut arguments = line.replace("http://server/", &format!("http://127.0.0.1:{}/", bench.port));
        for duration in ["--duration 600", "--duration 60", "--duration 30"] {
            arguments = arguments.replace(duration, "--duration 1");
        }
        let outcome = run(&arguments);
        let printed = printed(&stdout(&outcome));
        assert!(matches!(outcome.exit, Exit::Code(0 | 4)) && !printed.is_empty(), "{line}: {outcome:?}");
    }
}

/// What is refused, and in which words. None of these command lines opens a connection.
#[test]
fn what_cannot_be_an_objective_is_refused_in_a_sentence() {
    let mut all = String::new();
    for arguments in [
        "--slo=",
        "--slo",
        "--slo=p99",
        "--slo=p99<50",
        "--slo=p99=50ms",
        "--slo=p99<50ms,",
        "--slo 'p99<50ms errors<1%'",
        "--slo=latenzy.p99<50ms",
        "--slo=service.median<5ms",
        "--slo=p100<50ms",
        "--slo=errors<0.1",
        "--slo=errors<=101%",
        "--slo=errors<0%",
        "--slo=6xx<1%",
        "--slo=p99<-5ms",
        "--slo 'p99<5ms, p50>10ms'",
        "--slo=p99<5ms --slo=p99>=5ms",
        "--slo=replies>100 --slo=replies<50",
        "--abort-on-slo",
        "--slo=p99<5ms --record=classic",
        "--slo=errors<1%,connect.p99<1ms,handshake.p99<5ms",
        "--slo=session.p99<1s",
        "--slo=lag.p99<1ms",
        "--slo=p99<1ms --num-calls=0",
        "--slo=unexpected<=0",
        "--slo=service.p99<1ms,5xx<1% --abort-on-slo",
        "--junit=",
        "--junit=-",
    ] {
        let outcome = run(&format!("--server=127.0.0.1 --port=9 {arguments}"));
        let Exit::Code(status) = outcome.exit else { panic!("{arguments}: {outcome:?}") };
        assert!(!stdout(&outcome).contains("Total: "), "{arguments} was run");
        all += &format!("$ {arguments}\n{}exit {status}\n", stderr(&outcome));
    }
    insta::assert_snapshot!(all, @r"
    $ --slo=
    httperf: --slo: expected a figure such as p99, mean, service.p99, errors, 5xx or replies at character 1, got ``
      
      ^
    exit 1
    $ --slo
    httperf: option '--slo' requires an argument
    exit 1
    $ --slo=p99
    httperf: --slo: expected <, <=, > or >= at character 4, got `p99`
      p99
         ^
    exit 1
    $ --slo=p99<50
    httperf: --slo: expected a unit of time (us, ms, s, m or h) at character 7, got `p99<50`
      p99<50
            ^
    exit 1
    $ --slo=p99=50ms
    httperf: --slo: expected <, <=, > or >= at character 4, got `p99=50ms`
      p99=50ms
         ^
    exit 1
    $ --slo=p99<50ms,
    httperf: --slo: expected a figure such as p99, mean, service.p99, errors, 5xx or replies at character 10, got `p99<50ms,`
      p99<50ms,
               ^
    exit 1
    $ --slo 'p99<50ms errors<1%'
    httperf: --slo: expected a comma or the end at character 10, got `p99<50ms errors<1%`
      p99<50ms errors<1%
               ^
    exit 1
    $ --slo=latenzy.p99<50ms
    httperf: --slo: expected a figure such as p99, mean, service.p99, errors, 5xx or replies at character 1, got `latenzy.p99<50ms`
      latenzy.p99<50ms
      ^
    exit 1
    $ --slo=service.median<5ms
    httperf: --slo: expected p and a percentage such as p99, or mean, min or max at character 9, got `service.median<5ms`
      service.median<5ms
              ^
    hint: p95<500ms bounds a percentile of the latency, mean<200ms its mean
    exit 1
    $ --slo=p100<50ms
    httperf: --slo: expected a percentage above 0 and below 100 at character 2, got `p100<50ms`
      p100<50ms
       ^
    exit 1
    $ --slo=errors<0.1
    httperf: --slo: expected % at character 11, got `errors<0.1`
      errors<0.1
                ^
    exit 1
    $ --slo=errors<=101%
    httperf: --slo: expected a share of at most 100 % at character 9, got `errors<=101%`
      errors<=101%
              ^
    exit 1
    $ --slo=errors<0%
    httperf: --slo: expected a bound above 0, as nothing is less at character 8, got `errors<0%`
      errors<0%
             ^
    exit 1
    $ --slo=6xx<1%
    httperf: --slo: expected a figure such as p99, mean, service.p99, errors, 5xx or replies at character 1, got `6xx<1%`
      6xx<1%
      ^
    exit 1
    $ --slo=p99<-5ms
    httperf: --slo: expected a number at character 5, got `p99<-5ms`
      p99<-5ms
          ^
    exit 1
    $ --slo 'p99<5ms, p50>10ms'
    httperf: --slo: expected objectives that one run can meet, got `p99<5ms` and `p50>10ms`
    exit 1
    $ --slo=p99<5ms --slo=p99>=5ms
    httperf: --slo: expected objectives that one run can meet, got `p99<5ms` and `p99>=5ms`
    exit 1
    $ --slo=replies>100 --slo=replies<50
    httperf: --slo: expected objectives that one run can meet, got `replies<50/s` and `replies>100/s`
    exit 1
    $ --abort-on-slo
    httperf: --abort-on-slo needs --slo
    exit 1
    $ --slo=p99<5ms --record=classic
    httperf: --slo cannot be used with --record=classic: the classic record keeps only the figures of the classic report
    exit 1
    $ --slo=errors<1%,connect.p99<1ms,handshake.p99<5ms
    httperf: --slo: `handshake.p99<5ms` needs TLS, which an https:// URL or --ssl asks for
    exit 1
    $ --slo=session.p99<1s
    httperf: --slo: `session.p99<1s` needs a session workload (--wsess, --wsesslog or --wsesspage, or a workload file)
    exit 1
    $ --slo=lag.p99<1ms
    httperf: --slo: `lag.p99<1ms` needs arrivals on a schedule (--rate, --period or --request-rate)
    exit 1
    $ --slo=p99<1ms --num-calls=0
    httperf: --slo: `p99<1ms` needs calls, of which this run makes none
    exit 1
    $ --slo=unexpected<=0
    httperf: --slo: `unexpected<=0%` needs an option that says what is expected, such as --expect-status
    exit 1
    $ --slo=service.p99<1ms,5xx<1% --abort-on-slo
    httperf: --abort-on-slo: expected an objective that can be told while the run goes on (over latency, errors, failed, unexpected or replies), got `service.p99<1ms, 5xx<1%`
    exit 1
    $ --junit=
    httperf: --junit: expected the name of a file, got ``
    exit 1
    $ --junit=-
    httperf: --junit: expected the name of a file, got `-`
    exit 1
    ");
}
