//! Workload files that the program writes itself: `httperf new`, `--print-workload`, and what is written of their runs.

use std::fs;
use std::process::Command;

use httperf_report::result::Document;
use serde_json::{Value, json};
use xtask::markdown::{Block, blocks};

use crate::support::bench::Bench;
use crate::support::program::{Exit, Outcome, stderr, stdout, under_test};

#[track_caller]
fn succeeds(outcome: &Outcome) -> String {
    assert_eq!(outcome.exit, Exit::Code(0), "{}{}", stdout(outcome), stderr(outcome));
    stdout(outcome)
}

/// The standard output of a run that was made. So few visits leave objectives unknown, which is exit status 4.
#[track_caller]
fn made(outcome: &Outcome) -> String {
    assert!(matches!(outcome.exit, Exit::Code(0 | 4)), "{}{}", stdout(outcome), stderr(outcome));
    stdout(outcome)
}

/// The plan of a saved run, without the name of the command in messages.
fn plan(bench: &Bench, name: &str) -> Value {
    let document = Document::read(bench.read(name).as_bytes()).expect("it is a result");
    let mut plan = serde_json::to_value(&document.plan).expect("it is JSON");
    plan.as_object_mut().expect("it is an object").remove("program");
    plan
}

#[test]
fn a_new_workload_is_accepted_and_runs() {
    let bench = Bench::new();
    let base = format!("http://127.0.0.1:{}", bench.port);
    let said = succeeds(&bench.command(&format!("new @shop --base {base}")));
    assert!(said.contains("shop.toml") && said.contains("--dry-run"), "{said}");
    succeeds(&bench.command("run @shop.toml --check"));
    let shown = succeeds(&bench.command("run @shop.toml --dry-run"));
    assert!(shown.contains("GET /page/2") && shown.contains("visit 2"), "{shown}");
    made(&bench.command("run @shop.toml --visits 12 --output @out.json"));
    let document = Document::read(bench.read("out.json").as_bytes()).expect("it is a result");
    let visits = document.figures.visits.expect("it has visits");
    assert_eq!(visits.total.iter().map(|scenario| scenario.completed).sum::<u64>(), 12);
    assert_eq!(visits.phases.len(), 2);
    for step in visits.total.iter().flat_map(|scenario| &scenario.steps) {
        assert_eq!((step.checks_failed, step.failed, step.http_errors), (0, 0, 0), "{step:?}");
    }
    // As it is printed, and as the file says.
    let said = succeeds(&bench.command("new @visit"));
    let (_, words) = said.split_once("visit.hurl --").expect("it is there");
    let words = format!("--{}", words.split("  ").next().unwrap_or_default());
    assert!(bench.read("visit.hurl").contains(&format!("visit.hurl {words}`")), "{words}");
    made(&bench.command(&format!("run @visit.hurl {}", words.replace("URL", &base))));
}

/// A run does not depend on anybody reading its trace.
#[test]
fn a_trace_that_nobody_can_read_ends_no_run() {
    let bench = Bench::new();
    let base = format!("http://127.0.0.1:{}", bench.port);
    succeeds(&bench.command(&format!("new @shop --base {base}")));
    let mut full = Command::new(under_test());
    full.args(["run", "--trace", "--visits", "3", "--output"])
        .args([bench.path("out.json"), bench.path("shop.toml")]);
    full.stderr(fs::File::create("/dev/full").expect("Linux has it"));
    let outcome = full.output().expect("it runs");
    assert!(matches!(outcome.status.code(), Some(0 | 4)), "{}", outcome.status);
    assert!(bench.path("out.json").exists() && !outcome.stdout.is_empty());
}

#[test]
fn files_that_are_there_are_not_replaced_unless_that_is_asked_for() {
    let bench = Bench::new();
    fs::write(bench.path("shop.toml"), "mine").expect("written");
    let outcome = bench.command("new @shop");
    assert_eq!(outcome.exit, Exit::Code(1));
    let message = stderr(&outcome);
    assert!(message.contains("expected a name that is free, got `"), "{message}");
    assert!(message.contains("hint: --force"), "{message}");
    assert_eq!(bench.read("shop.toml"), "mine");
    assert!(!bench.path("shop.hurl").exists(), "nothing is written by halves");
    succeeds(&bench.command("new @shop --force"));
    assert!(bench.read("shop.toml").contains("[arrivals]"));
    for wrong in ["new", "new a b", "new @no/folder/x", "new x --base ftp://a", "new .toml"] {
        assert_eq!(bench.command(wrong).exit, Exit::Code(1), "{wrong}");
    }
}

#[test]
fn a_check_needs_no_network() {
    let bench = Bench::new();
    succeeds(&bench.command("new @shop --base http://no.such.invalid"));
    let options = "base = \"https://no.such.invalid/\"\n[options]\nrate = 5\n";
    fs::write(bench.path("options.toml"), options).expect("written");
    let grpc = "base = \"http://no.such.invalid/\"\n[options]\ngrpc = \"a.B/C\"\n";
    fs::write(bench.path("grpc.toml"), grpc).expect("written");
    for command in [
        "run @shop.toml --check",
        "run @shop.toml --check --myaddr ::1",
        "run @shop.toml --check --proxy http://nor.this.invalid:3128",
        "run @shop.toml --check --connect-to no.such.invalid::nor.this.invalid:",
        "run @options.toml --check",
        "run @grpc.toml --check",
    ] {
        let outcome = bench.command(command);
        assert!(stderr(&outcome).ends_with(": nothing is wrong\n"), "{command}: {}", stderr(&outcome));
    }
    let shown = succeeds(&bench.command("run @shop.toml --dry-run"));
    assert!(shown.contains("Host: no.such.invalid"), "{shown}");
    assert_eq!(
        stderr(&bench.command("run @shop.toml --visits 1")),
        "httperf run: cannot resolve `no.such.invalid`\n",
        "a run has to find the server"
    );
}

#[test]
fn what_the_command_line_says_to_the_steps_is_checked() {
    let bench = Bench::new();
    succeeds(&bench.command("new @shop"));
    for (words, message) in [
        (
            "--base foo",
            "--base: expected a URL such as http://host:8080, got `foo`\nhint: did you mean http://foo?\n",
        ),
        (
            "--base localhost:8080",
            "--base: expected a URL such as http://host:8080, got `localhost:8080`\nhint: did you mean \
             http://localhost:8080?\n",
        ),
        ("--base ftp://a", "--base: expected a URL such as http://host:8080, got `ftp://a`\n"),
        (
            "--variable term=x --variable trem=y",
            "--variable: expected a variable of the workload (`base`, `image`, `term`), got `trem`\n",
        ),
    ] {
        let outcome = bench.command(&format!("run @shop.toml --check {words}"));
        assert_eq!((outcome.exit, stderr(&outcome)), (Exit::Code(1), format!("httperf run: {message}")));
    }
    fs::write(bench.path("plain.hurl"), "GET http://127.0.0.1:1/\n").expect("written");
    assert_eq!(
        stderr(&bench.command("run @plain.hurl --check --variable a=b")),
        "httperf run: --variable: expected none, as the workload has no variables, got `a`\n"
    );
}

#[test]
fn figures_of_steps_are_written_as_csv() {
    let bench = Bench::new();
    let base = format!("--base http://127.0.0.1:{}", bench.port);
    succeeds(&bench.command("new @shop"));
    made(&bench.command(&format!("run @shop.toml {base} --visits 3 --steps @steps.csv")));
    let written = bench.read("steps.csv");
    let printed = made(&bench.command(&format!("run @shop.toml {base} --visits 3 --steps -")));
    for csv in [&written, &printed] {
        let mut lines = csv.lines();
        assert_eq!(
            lines.next().map(|line| line.starts_with("phase,scenario,step,origin,calls,")),
            Some(true),
            "{csv}"
        );
        // Three steps of two scenarios, in two phases and the whole run.
        assert_eq!(lines.count(), 18, "{csv}");
    }
    for wrong in [
        format!("run @shop.toml {base} --steps - --json"),
        format!("run @shop.toml {base} --steps @no/folder/x"),
        format!("run @shop.toml {base} --steps @one --csv @one"),
    ] {
        assert_eq!(bench.command(&wrong).exit, Exit::Code(1), "{wrong}");
    }
}

#[test]
fn options_beside_a_file_have_the_same_rules() {
    let bench = Bench::new();
    succeeds(&bench.command("new @shop"));
    for (options, message) in [
        ("--proxy-tunnel", "--proxy-tunnel needs --proxy"),
        ("--live --quiet", "--live cannot be used with --quiet"),
        ("--h2-window 1m", "--h2-window needs --http-version=2 or auto"),
    ] {
        let outcome = bench.command(&format!("run @shop.toml --base http://127.0.0.1:9 {options}"));
        let error = stderr(&outcome);
        assert_eq!(outcome.exit, Exit::Code(1), "{options}: {error}");
        assert!(error.contains(message), "expected {message:?} in:\n{error}");
    }
    // The file has a schedule.
    succeeds(&bench.command("run @shop.toml --base http://127.0.0.1:9 --drain 1 --max-open 50 --check"));
}

#[test]
fn the_schema_of_workload_files_accepts_a_new_one() {
    let bench = Bench::new();
    let schema: Value =
        serde_json::from_str(&succeeds(&bench.command("schema workload"))).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    assert!(!validator.is_valid(&json!({ "scenario": [{ "nme": "a" }] })));
    assert!(validator.is_valid(&json!({ "scenario": [{ "name": "a", "steps": [{ "run": "a.hurl" }] }] })));
}

/// Command lines behind the server.
const LINES: &[&str] = &[
    "--num-conns 5 --num-calls 2",
    "--rate 200 --num-conns 10 --burst-length 2 --num-calls 4 --timeout 5 --think-timeout 1",
    "--period e0.001 --num-conns 7 --hog --recv-buffer 8192",
    "--request-rate 300 --concurrency 2 --num-calls 20",
    "--concurrency 3 --duration 200ms --call-pause 1ms",
    "--wsess=4,3,0.01 --rate 100 --burst-length 2 --session-cookies",
    "--wsesslog=3,0.001,@sessions --rate 100",
    "--wlog=y,@uris --num-calls 3 --num-conns 2",
    "--wset=10,0.3 --num-conns 2 --num-calls 4",
    "--ssl --ssl-verify=no --num-conns 2 --tls-max 1.3 --ssl-no-reuse",
    "--method POST --body {\"a\":\"%{seq}\"} --header X:\\1 --header Y:2 --num-conns 2",
    "--add-header A:b\\n --add-header C:d\\n --num-conns 2 --http-version 1.0",
    "--http-version 2 --num-calls 9 --streams 4 --concurrency 2",
    "--rate 100 --duration 300ms --warmup 100ms --slo p50<20s,errors<50% --split uri -v -v",
];

#[test]
fn a_printed_workload_makes_the_run_of_its_command_line() {
    let bench = Bench::new();
    fs::write(bench.path("sessions"), "/a\n  /b think=0.01\n\n/c\n").expect("written");
    fs::write(bench.path("uris"), b"/a\0/b\0").expect("written");
    for line in LINES {
        let server = format!("--server 127.0.0.1 --port {} {line}", bench.port);
        let printed = succeeds(&bench.command(&format!("{server} --print-workload")));
        fs::write(bench.path("run.toml"), &printed).expect("written");
        bench.command(&format!("{server} --output @typed.json"));
        let outcome = bench.command("run @run.toml --output @of-file.json");
        assert!(bench.path("of-file.json").exists(), "{line}\n{printed}{}", stderr(&outcome));
        assert_eq!(plan(&bench, "of-file.json"), plan(&bench, "typed.json"), "{line}\n{printed}");
        for name in ["typed.json", "of-file.json"] {
            fs::remove_file(bench.path(name)).expect("it is there");
        }
    }
}

#[test]
fn a_url_is_the_base_of_a_printed_workload() {
    let bench = Bench::new();
    let url = format!("localhost:{}/a?b=1", bench.port);
    let printed = succeeds(&bench.command(&format!("{url} --num-conns 2 --print-workload")));
    assert!(printed.contains(&format!("base = \"http://{url}\"\n")), "{printed}");
    fs::write(bench.path("run.toml"), &printed).expect("written");
    succeeds(&bench.command(&format!("{url} --num-conns 2 --output @typed.json")));
    succeeds(&bench.command("run @run.toml --output @of-file.json"));
    assert_eq!(plan(&bench, "of-file.json"), plan(&bench, "typed.json"));
    // The same if options end at the first other word.
    let mut strict = Command::new(under_test());
    strict
        .env("POSIXLY_CORRECT", "1")
        .args(["run", "--output"])
        .args([bench.path("strict.json"), bench.path("run.toml")]);
    let status = strict.output().expect("it runs").status;
    assert_eq!((status.code(), plan(&bench, "strict.json")), (Some(0), plan(&bench, "typed.json")));
    // The command line overrides the file.
    succeeds(&bench.command(&format!(
        "run @run.toml --base http://127.0.0.1:{}/ --num-conns 3 --output @other.json",
        bench.port
    )));
    let other = plan(&bench, "other.json");
    assert_eq!(other.pointer("/workload/connections/count"), Some(&json!(3)), "{other}");
    succeeds(&bench.command("run @run.toml --check"));
}

#[test]
fn wrong_options_of_a_file_are_named_with_their_place() {
    let bench = Bench::new();
    for (text, message) in [
        ("[options]\nrte = 5\n", ":2:1: expected an option of the command line, got `rte`"),
        ("[options]\nrate = \"fast\"\n", ":2:1: "),
        ("[options]\nhog = 3\n", ":2:1: expected true or false, got `3`"),
        ("[options]\nhelp = true\n", ":2:1: expected an option of the command line, got `help`"),
    ] {
        fs::write(bench.path("run.toml"), text).expect("written");
        let outcome = bench.command("run @run.toml");
        assert_eq!(outcome.exit, Exit::Code(1), "{text}");
        assert!(stderr(&outcome).contains(message), "{text}: {}", stderr(&outcome));
    }
    fs::write(bench.path("run.toml"), "[options]\nnum-conns = 1\n").expect("written");
    let outcome = bench.command("run @run.toml --visits 3");
    assert!(
        stderr(&outcome).contains("--visits: expected a workload file with scenarios"),
        "{}",
        stderr(&outcome)
    );
}

/// The files that a guide shows: each block behind a line with nothing but the file's name.
pub(crate) fn files_shown(guide: &str) -> Vec<(String, String)> {
    let mut files = Vec::new();
    let mut lines = guide.lines();
    while let Some(line) = lines.next() {
        let Some(name) = line.strip_prefix('`').and_then(|line| line.strip_suffix("`:")) else { continue };
        assert_eq!((lines.next(), lines.next()), (Some(""), Some("```")), "{name}");
        let text = lines.by_ref().take_while(|line| *line != "```").map(|line| format!("{line}\n"));
        files.push((name.to_owned(), text.collect()));
    }
    files
}

#[test]
fn the_guide_to_scenarios_can_be_followed() {
    let bench = Bench::new();
    let guide =
        fs::read_to_string(xtask::root().join("docs/guide/scenarios.md")).expect("the guide is there");
    let server = format!("127.0.0.1:{}", bench.port);
    let fitted = |text: &str| text.replace("127.0.0.1:8080", &server);
    for (name, text) in files_shown(&guide) {
        // Less time, and bounds that a busy machine keeps and few calls show.
        let shorter = [
            ("for = \"10s\"", "for = \"1s\""),
            ("for = \"20s\"", "for = \"1s\""),
            ("p99<1s", "p50<60s"),
            ("p95<1s", "p50<60s"),
            ("p90<1s", "p50<60s"),
            ("session.p90<20s", "session.p50<60s"),
            ("duration < 2000", "duration < 60000"),
        ];
        let text = shorter.iter().fold(fitted(&text), |text, (long, short)| text.replace(long, short));
        fs::write(bench.path(&name), text).expect("written");
    }
    let commands: Vec<String> = blocks(&guide).iter().flat_map(Block::commands).collect();
    let followed = commands.iter().filter(|command| !command.starts_with("httperf serve"));
    let program = under_test();
    for command in followed {
        let shorter = fitted(command).replace("--duration 30s", "--duration 1s");
        let script = format!("httperf() {{ exec '{}' \"$@\"; }}; {shorter}", program.display());
        let mut shell = Command::new("/bin/sh");
        let outcome =
            shell.args(["-c", &script]).current_dir(bench.folder.path()).output().expect("it starts");
        let said = [outcome.stdout, outcome.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        assert!(matches!(outcome.status.code(), Some(0 | 4)), "{command}\n{shorter}\n{}", said.concat());
    }
    assert!(commands.len() >= 10, "{commands:?}");
    let document = Document::read(bench.read("shop.json").as_bytes()).expect("it is a result");
    let visits = document.figures.visits.expect("it has visits");
    let failed: u64 =
        visits.total.iter().flat_map(|scenario| &scenario.steps).map(|step| step.checks_failed).sum();
    assert_eq!(failed, 0, "{visits:?}");
    for name in ["shop.html", "steps.csv", "checks.xml"] {
        assert!(!bench.read(name).is_empty(), "{name}");
    }
}
