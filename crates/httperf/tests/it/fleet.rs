//! Fleets: several processes that carry out one run together.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use httperf_testkit::tcp::free_port;
use serde_json::Value;

use crate::support::bench::Bench;
use crate::support::program::{Exit, Invocation, Outcome, under_test};
use crate::support::real_server::{Kind, RealServer, Settings};
use crate::support::words;

/// A load of eight seconds, which leaves time for something to happen, also where it takes a while until all have met.
const LOAD: &str = "--rate 100 --num-conns 800";

/// A process of a fleet: the words before the program, and its arguments.
pub(crate) struct Process {
    pub(crate) before: String,
    pub(crate) arguments: String,
}

/// The processes of a fleet of this size with the same arguments.
pub(crate) fn fleet(size: usize, arguments: &str) -> Vec<Process> {
    let process = |rank: usize| Process {
        before: String::new(),
        arguments: format!("{arguments} --fleet {rank}/{size}"),
    };
    (0..size).map(process).collect()
}

/// Runs all processes at once, and returns what came of them.
pub(crate) fn run(processes: &[Process]) -> Vec<Outcome> {
    let invocation = |process: &Process| {
        let mut all: Vec<OsString> = words(&process.before).into_iter().map(Into::into).collect();
        all.push(under_test().into());
        all.extend(words(&process.arguments).into_iter().map(OsString::from));
        // `env` is what starts a program with further variables.
        let mut invocation = Invocation::new(Path::new("/usr/bin/env"), all);
        invocation.limit = Duration::from_secs(90);
        invocation
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = processes
            .iter()
            .map(|process| {
                let invocation = invocation(process);
                scope.spawn(move || invocation.run().expect("the program can be started"))
            })
            .collect();
        started.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
    })
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn told(outcomes: &[Outcome]) -> String {
    outcomes
        .iter()
        .map(|outcome| format!("{:?}\n{}\n{}\n", outcome.exit, text(&outcome.stdout), text(&outcome.stderr)))
        .collect()
}

#[track_caller]
pub(crate) fn check_exits(outcomes: &[Outcome], expected: i32) {
    for (rank, outcome) in outcomes.iter().enumerate() {
        assert_eq!(outcome.exit, Exit::Code(expected), "rank {rank}: {}", told(outcomes));
    }
}

pub(crate) fn document(bench: &Bench, name: &str) -> Value {
    serde_json::from_str(&bench.read(name)).expect("it is JSON")
}

/// The options that name the server of a bench, and a folder of its own to meet in.
pub(crate) fn at(bench: &Bench, name: &str) -> String {
    bench.expand(&format!("--server 127.0.0.1 --port {} --meet dir:@{name}", bench.port))
}

/// What was asked for, and how often.
pub(crate) fn targets(server: &RealServer, before: usize, count: usize) -> BTreeMap<String, usize> {
    let began = std::time::Instant::now();
    while server.logged().len() < before + count && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut targets = BTreeMap::new();
    for (_, target) in server.logged().into_iter().skip(before) {
        *targets.entry(target).or_default() += 1;
    }
    targets
}

#[test]
fn ranks_make_the_run_that_one_process_makes_with_as_many_threads() {
    let settings = Settings { has_log: true, ..Settings::default() };
    let Some(server) = RealServer::start(Kind::Nginx, settings) else { return };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let load = format!(
        "--server 127.0.0.1 --port {} --period e0.005 --num-conns 400 --num-calls 2 --wset 40,0.3",
        server.port()
    );
    let whole = Process {
        before: String::new(),
        arguments: format!("{load} --threads 4 --output {}", path("whole.json")),
    };
    check_exits(&run(&[whole]), 0);
    let read = |name: &str| -> Value {
        let text = std::fs::read_to_string(folder.path().join(name)).expect("it was written");
        serde_json::from_str(&text).expect("it is JSON")
    };
    let (whole, first) = (read("whole.json"), targets(&server, 0, 800));
    assert!(first.len() > 20, "requests differ: {first:?}");
    for (ranks, threads) in [(4, 1), (2, 2)] {
        let before = server.logged().len();
        let name = format!("{ranks}.json");
        let arguments = format!(
            "{load} --threads {threads} --meet dir:{} --output {}",
            path(&format!("meet-{ranks}")),
            path(&name)
        );
        check_exits(&run(&fleet(ranks, &arguments)), 0);
        assert_eq!(targets(&server, before, 800), first, "{ranks} ranks ask for the same");
        let merged = read(&name);
        let figures = |document: &Value| {
            let summary = &document["summary"];
            let counts = ["connections", "requests", "replies"].map(|name| summary[name].clone());
            let arrivals = &summary["arrivals"];
            let due = ["due", "span_due_ns", "intervals_due"].map(|name| arrivals[name].clone());
            (counts, due, document["figures"]["rate_asked"].clone())
        };
        assert_eq!(figures(&merged), figures(&whole), "{ranks} ranks of {threads}");
        assert_eq!(merged["fleet"]["ranks"].as_array().map(Vec::len), Some(ranks));
    }
}

#[test]
fn ranks_make_the_same_visits_and_use_no_row_twice() {
    let settings = Settings { has_log: true, ..Settings::default() };
    let Some(server) = RealServer::start(Kind::Nginx, settings) else { return };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let write = |name: &str, text: &str| std::fs::write(path(name), text).expect("it can be written");
    let workload = r#"
        [arrivals]
        rate = "200/s"
        visits = 90
        [feed.users]
        file = "users.csv"
        order = "unique"
        [[scenario]]
        name = "visit"
        feed = "users"
        steps = [{ run = "user.hurl" }, { think = "exp(2ms)" }, { choose = [{ run = "a.hurl" }, { run = "b.hurl" }] }]
    "#;
    write("visits.toml", workload);
    let rows: String = (0..90).map(|row| format!("u{row}\n")).collect();
    write("users.csv", &format!("user\n{rows}"));
    write("user.hurl", "GET {{base}}/user/{{user}}\n");
    write("a.hurl", "GET {{base}}/a/{{newUuid}}\n");
    write("b.hurl", "GET {{base}}/b/{{newUuid}}\n");
    let load = format!("run {} --base http://127.0.0.1:{}", path("visits.toml"), server.port());
    let whole = Process { before: String::new(), arguments: load.clone() };
    check_exits(&run(&[whole]), 0);
    let first = targets(&server, 0, 180);
    assert_eq!(first.keys().filter(|target| target.starts_with("/user/")).count(), 90, "{first:?}");
    let arguments = format!("{load} --threads 2 --meet dir:{}", path("meet"));
    check_exits(&run(&fleet(3, &arguments)), 0);
    assert_eq!(targets(&server, 180, 180), first, "three ranks of two threads make the same visits");
}

#[test]
fn only_the_first_rank_speaks_and_its_report_has_a_table_of_all() {
    let bench = Bench::new();
    // Over TCP, as most fleets meet.
    let arguments = format!(
        "--server 127.0.0.1 --port {} --meet 127.0.0.1:{} {LOAD} --report=full --output {} --html {}",
        bench.port,
        free_port(),
        bench.expand("@r.json"),
        bench.expand("@r.html"),
    );
    let outcomes = run(&fleet(3, &arguments));
    check_exits(&outcomes, 0);
    for guest in &outcomes[1..] {
        assert_eq!((text(&guest.stdout), text(&guest.stderr)), (String::new(), String::new()));
    }
    let report = text(&outcomes[0].stdout);
    assert!(report.contains("Total: connections 800 requests 800 replies 800"), "{report}");
    assert!(report.contains("\nFleet of 3: started within "), "{report}");
    let fleet = &document(&bench, "r.json")["fleet"];
    for rank in 0..3 {
        assert_eq!(fleet["ranks"][rank]["rank"], rank);
        assert!(report.contains(&format!("\n   {rank}  ")), "{report}");
        assert_eq!(fleet["ranks"][rank]["clock"].is_null(), rank == 0, "{fleet}");
    }
    let page = bench.read("r.html");
    assert!(page.contains("<h2 id=\"fleet\">Fleet</h2>"), "the page has the table");
    // Rendered again, it says the same.
    let again = bench.command("report --format text @r.json");
    let section = |report: &str| {
        let (_, rest) = report.split_once("\nFleet of 3").expect("there is a section");
        rest.split_once("\n\n").expect("there is another behind it").0.to_owned()
    };
    assert_eq!(section(&text(&again.stdout)), section(&report));
}

#[test]
fn a_rank_that_is_killed_is_named_and_what_it_measured_is_missing() {
    check_a_lost_rank("", "INVALID", &[3]);
}

#[test]
fn a_lost_rank_may_be_allowed() {
    // On a busy machine, other findings may be worse.
    check_a_lost_rank(" --allow-missing", "SUSPECT", &[2, 3]);
}

#[track_caller]
fn check_a_lost_rank(more: &str, level: &str, exits: &[i32]) {
    let bench = Bench::new();
    // Over TCP the end of a process is seen at once.
    let arguments = format!(
        "--server 127.0.0.1 --port {} --meet 127.0.0.1:{} {LOAD} --strict --output {} --interval-log {}{more}",
        bench.port,
        free_port(),
        bench.expand("@r.json"),
        bench.expand("@i.log")
    );
    let mut processes = fleet(3, &arguments);
    processes[2].before = "timeout -s KILL 4".to_owned();
    let outcomes = run(&processes);
    assert!(exits.iter().any(|&exit| outcomes[0].exit == Exit::Code(exit)), "{}", told(&outcomes));
    assert_eq!(outcomes[1].exit, Exit::Code(0), "{}", told(&outcomes));
    let errors = text(&outcomes[0].stderr);
    // What rank 0 had sent and the process had not read yet makes the system reset its connection.
    let ends = ["was closed", "failed: Connection reset"].map(|end| format!("is lost: its connection {end}"));
    assert!(errors.contains("rank 2 (") && ends.iter().any(|end| errors.contains(end)), "{errors}");
    let document = document(&bench, "r.json");
    let reasons = document["verdict"]["reasons"].as_array().expect("a list");
    let missing = reasons.iter().find(|reason| reason["code"] == "ranks_missing").expect("it is a reason");
    assert_eq!(missing["level"], level);
    assert_eq!(document["fleet"]["lost"][0]["rank"], 2);
    let replies = document["summary"]["replies"].as_u64().expect("a number");
    assert!((530..=536).contains(&replies), "two of three shares: {replies}");
    // Its own log tells at least as much of it as rank 0 has heard.
    let told = document["fleet"]["lost"][0]["told"]["replies"].as_u64().unwrap_or(0);
    let merged = bench.command("merge @r.json @i.log.rank2");
    assert_eq!(merged.exit, Exit::Code(0), "{}", text(&merged.stderr));
    let merged: Value = serde_json::from_slice(&merged.stdout).expect("it is JSON");
    let logged = merged["fleet"]["lost"][0]["told"]["replies"].as_u64().unwrap_or(0);
    assert!((1..266).contains(&logged) && told <= logged, "told {told}, logged {logged}");
    assert_eq!(merged["summary"], document["summary"], "no figure has what is lost");
    let refused = bench.command("merge @i.log.rank2");
    assert_eq!(refused.exit, Exit::Code(1));
    let error = text(&refused.stderr);
    assert!(error.contains("expected the name of a result among them, got logs alone"), "{error}");
    let refused = bench.command("merge @r.json @i.log.rank1");
    assert_eq!(refused.exit, Exit::Code(1));
    let error = text(&refused.stderr);
    let expected = "expected the log of a rank whose result is missing, got that of rank 1";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_signal_at_any_rank_ends_all_with_a_report() {
    let bench = Bench::new();
    for (rank, exits) in [(0, [143, 0]), (1, [0, 143])] {
        let name = format!("meet-{rank}");
        let arguments = format!("{} {LOAD} --output {}", at(&bench, &name), bench.expand("@r.json"));
        let mut processes = fleet(2, &arguments);
        // Keeps the status of the program.
        processes[rank].before = "timeout --foreground --preserve-status -s TERM 4".to_owned();
        let outcomes = run(&processes);
        let found = [outcomes[0].exit, outcomes[1].exit];
        assert_eq!(found, exits.map(Exit::Code), "{}", told(&outcomes));
        let document = document(&bench, "r.json");
        let replies = document["summary"]["replies"].as_u64().expect("a number");
        assert!(replies < 760, "it ended early: {replies}");
        assert_eq!(document["fleet"]["ranks"].as_array().map(Vec::len), Some(2), "{}", told(&outcomes));
        let parts = document["parts"].as_array().expect("a list");
        assert!(parts.iter().any(|part| part["ended_early"] == "asked"), "{parts:?}");
    }
}

#[test]
fn ranks_that_do_not_fit_together_are_named_and_offer_nothing() {
    let bench = Bench::new();
    let mut processes = fleet(2, &format!("{} {LOAD} --output {}", at(&bench, "a"), bench.expand("@r.json")));
    processes[1].arguments += " --timeout 9";
    let outcomes = run(&processes);
    check_exits(&outcomes, 1);
    for outcome in &outcomes {
        let error = text(&outcome.stderr);
        assert!(error.contains("has another plan than rank 0"), "{error}");
        assert!(error.contains("rank 1 ("), "{error}");
    }
    assert!(!bench.path("r.json").exists(), "nothing was measured");
    let mut processes = fleet(2, &format!("{} {LOAD}", at(&bench, "b")));
    processes[1].arguments = processes[1].arguments.replace("1/2", "1/3");
    let outcomes = run(&processes);
    check_exits(&outcomes, 1);
    let error = text(&outcomes[0].stderr);
    assert!(error.contains("is one of 3, rank 0 one of 2: expected the same number of ranks"), "{error}");
}

#[test]
fn a_rank_that_cannot_write_its_files_is_named() {
    let bench = Bench::new();
    // The names of the second rank's files end in its number.
    std::os::unix::fs::symlink("/dev/full", bench.path("i.log.rank1")).expect("the folder can be written to");
    let load = "--rate 100 --num-conns 100";
    let arguments = format!(
        "{} {load} --interval-log {} --output {}",
        at(&bench, "a"),
        bench.expand("@i.log"),
        bench.expand("@r.json")
    );
    let outcomes = run(&fleet(2, &arguments));
    check_exits(&outcomes, 1);
    let error = text(&outcomes[0].stderr);
    assert!(
        error.contains("rank 1 (") && error.contains("--interval-log: not complete"),
        "{}",
        told(&outcomes)
    );
    assert_eq!(document(&bench, "r.json")["summary"]["replies"], 100, "nothing that was measured is lost");
    std::fs::create_dir(bench.path("d.csv.rank1")).expect("the folder can be written to");
    let arguments = format!("{} {load} --calls {}", at(&bench, "b"), bench.expand("@d.csv"));
    let outcomes = run(&fleet(2, &arguments));
    check_exits(&outcomes, 1);
    let error = text(&outcomes[0].stderr);
    assert!(error.contains("it cannot prepare the run, and has said why"), "{}", told(&outcomes));
}

#[test]
fn who_does_not_know_the_secret_is_sent_away() {
    let bench = Bench::new();
    let place = format!("127.0.0.1:{}", free_port());
    let arguments =
        format!("--server 127.0.0.1 --port {} --meet {place} --meet-timeout 6 {LOAD}", bench.port);
    let mut processes = fleet(2, &arguments);
    processes[0].before = "HTTPERF_FLEET_SECRET=right".to_owned();
    processes[1].before = "HTTPERF_FLEET_SECRET=wrong".to_owned();
    let outcomes = run(&processes);
    check_exits(&outcomes, 1);
    let [host, guest] = [0, 1].map(|rank| text(&outcomes[rank].stderr));
    assert!(
        host.contains("a stranger came to the meeting as rank 1 from 127.0.0.1 and was sent away"),
        "{host}"
    );
    let named = "waited 6 s for rank 1 of 2, which did not come; who came as rank 1 from 127.0.0.1 does not know the secret";
    assert!(host.contains(named), "{host}");
    assert!(guest.contains("rank 0 has refused: it does not know the secret of the fleet"), "{guest}");
}

#[test]
fn a_rank_whose_disk_is_full_is_named() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("results")).expect("the folder can be written to");
    std::os::unix::fs::symlink("/dev/full", bench.path("results/rank-3.json")).expect("it can be written to");
    let arguments =
        format!("{} --rate 100 --num-conns 100 --output {}", at(&bench, "a"), bench.expand("@results/"));
    let outcomes = run(&fleet(4, &arguments));
    let exits: Vec<Exit> = outcomes.iter().map(|outcome| outcome.exit).collect();
    assert_eq!(exits, [1, 0, 0, 1].map(Exit::Code), "{}", told(&outcomes));
    for rank in [0, 3] {
        let error = text(&outcomes[rank].stderr);
        assert!(error.contains("No space left on device"), "{}", told(&outcomes));
    }
    assert!(text(&outcomes[0].stderr).contains("rank 3 ("), "{}", told(&outcomes));
}

#[test]
fn ranks_that_do_not_come_together_send_nothing() {
    let settings = Settings { has_log: true, ..Settings::default() };
    let Some(server) = RealServer::start(Kind::Nginx, settings) else { return };
    let load = |patience: u32, port: u16| {
        format!(
            "--server 127.0.0.1 --port {} {LOAD} --meet 127.0.0.1:{port} --meet-timeout {patience}",
            server.port()
        )
    };
    // Two fleets at one port: rank 0 of one is refused the port, and then its guest comes to the other.
    let (port, folder) = (free_port(), tempfile::tempdir().expect("a folder can be made"));
    let ended = |process: usize| folder.path().join(process.to_string()).display().to_string();
    let after = |event: String, process: usize| {
        let then = format!("\"$@\"; status=$?; touch {}; exit $status", ended(process));
        format!("bash -c 'until {event}; do sleep 0.1; done; {then}' bash")
    };
    let mut processes = fleet(2, &load(60, port));
    processes.extend(fleet(2, &format!("{} --timeout 9", load(60, port))));
    processes[2].before = after(format!("(: </dev/tcp/127.0.0.1/{port}) 2>/dev/null"), 2);
    processes[3].before = after(format!("[ -e {} ]", ended(2)), 3);
    processes[1] = Process {
        before: after(format!("[ -e {} ]", ended(3)), 1),
        arguments: format!("{} --fleet 1/2", load(1, port)),
    };
    let outcomes = run(&processes);
    check_exits(&outcomes, 1);
    let errors: Vec<String> = outcomes.iter().map(|outcome| text(&outcome.stderr)).collect();
    assert!(errors[0].contains("--fleet: rank 1 (") && errors[0].contains("has another plan"), "{errors:?}");
    assert!(errors[2].contains("--meet: cannot open 127.0.0.1:"), "{errors:?}");
    assert!(errors[3].contains("httperf[1]: rank 0 has refused: rank 1 ("), "{errors:?}");
    // One has not been given the secret.
    let mut processes = fleet(2, &load(8, free_port()));
    processes[0].before = "HTTPERF_FLEET_SECRET=known".to_owned();
    let outcomes = run(&processes);
    check_exits(&outcomes, 1);
    let error = text(&outcomes[0].stderr);
    assert!(
        error.contains("a stranger came to the meeting as rank 1 from 127.0.0.1 and was sent away"),
        "{error}"
    );
    // The same rank twice.
    let mut processes = fleet(3, &load(60, free_port()));
    processes[2].arguments = processes[1].arguments.clone();
    let outcomes = run(&processes);
    check_exits(&outcomes, 1);
    let error = text(&outcomes[0].stderr);
    assert!(error.contains("--fleet: rank 1 is there twice, on "), "{}", told(&outcomes));
    assert_eq!(server.logged(), [], "nobody has offered load");
}

#[test]
fn what_a_launcher_says_is_enough() {
    let bench = Bench::new();
    let job = free_port();
    let process = |rank: u32| Process {
        before: format!(
            "OMPI_COMM_WORLD_RANK={rank} OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK={rank} \
             OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE={job}"
        ),
        arguments: format!(
            "--server 127.0.0.1 --port {} --fleet auto --rate 100 --num-conns 100 --output {}",
            bench.port,
            bench.expand("@r.json")
        ),
    };
    check_exits(&run(&[process(0), process(1)]), 0);
    assert_eq!(document(&bench, "r.json")["summary"]["replies"], 100);
}

#[test]
fn ranks_that_do_not_meet_start_at_a_time_and_are_merged_later() {
    let bench = Bench::new();
    let at = chrono::Utc::now() + Duration::from_secs(6);
    let at = at.to_rfc3339_opts(chrono::SecondsFormat::AutoSi, true);
    let arguments = format!(
        "--server 127.0.0.1 --port {} --rate 100 --num-conns 200 --start-at {at} --output {}",
        bench.port,
        bench.expand("@results/")
    );
    let outcomes = run(&fleet(2, &arguments));
    check_exits(&outcomes, 0);
    for outcome in &outcomes {
        let report = text(&outcome.stdout);
        assert!(report.contains("Total: connections 100 requests 100 replies 100"), "{report}");
    }
    let one = document(&bench, "results/rank-1.json");
    assert_eq!(one["verdict"]["level"], "INVALID", "half of it is missing");
    let merged = bench.command("merge @results/rank-0.json @results/rank-1.json");
    let merged: Value = serde_json::from_slice(&merged.stdout).expect("it is JSON");
    assert_eq!(merged["summary"]["replies"], 200);
    let reasons = merged["verdict"]["reasons"].as_array().expect("a list");
    assert!(reasons.iter().all(|reason| reason["code"] != "ranks_missing"), "{reasons:?}");
    let twice = bench.command("merge @results/rank-0.json @results/rank-0.json");
    assert_eq!(twice.exit, Exit::Code(1));
    let over = bench.command("http://127.0.0.1:1/ --start-at 2026-01-01T00:00:00Z");
    assert!(text(&over.stderr).contains("--start-at: expected a time to come, got 2026-01-01T00:00:00Z"));
}

#[test]
fn what_is_wrong_is_said_in_a_sentence() {
    let bench = Bench::new();
    let url = format!("http://127.0.0.1:{}/", bench.port);
    for (before, arguments, expected) in [
        (
            "",
            "--fleet 4/4",
            "--fleet: expected auto, or a rank and the number of ranks such as 0/4, got `4/4`",
        ),
        ("", "--fleet auto", "--fleet auto: no launcher has set a rank\nhint: srun, mpirun or a Kubernetes"),
        (
            "",
            "--fleet 0/2",
            "--fleet: expected --meet, as nobody says where rank 0 is\nhint: --meet HOST:PORT",
        ),
        ("", "--meet n1:70", "--meet needs --fleet"),
        ("", "--fleet 0/2 --meet n1", "--meet: expected HOST:PORT of rank 0, or dir:PATH, got `n1`"),
        (
            "",
            "--fleet 0/2 --meet 10.0.0.1:7000",
            "--fleet: expected HTTPERF_FLEET_SECRET to be set, as 10.0.0.1:7000",
        ),
        (
            "",
            "--fleet 0/2 --meet dir:/proc/nowhere --rate 1 --num-conns 2",
            "--meet: cannot open dir:/proc/nowhere",
        ),
        (
            "",
            "--fleet 0/2 --meet dir:@nobody --meet-timeout 1 --rate 1 --num-conns 2",
            "--fleet: waited 1 s for rank 1 of 2, which did not come",
        ),
        (
            "HTTPERF_FLEET_SECRET=x",
            "--fleet 1/2 --meet nowhere.invalid:7000 --meet-timeout 1 --rate 1 --num-conns 2",
            "httperf[1]: --meet: rank 0 cannot be reached at nowhere.invalid:7000",
        ),
        (
            "",
            "--fleet 1/2 --meet 127.0.0.1:1 --meet-timeout 1",
            "httperf[1]: --fleet: expected at most 1 threads in all",
        ),
        (
            "SLURM_PROCID=0 SLURM_NTASKS=4",
            "--fleet auto",
            "--fleet auto: SLURM_PROCID is set, but not SLURM_STEP_ID: expected to be started by srun",
        ),
        (
            "JOB_COMPLETION_INDEX=0",
            "--fleet auto",
            "Kubernetes gives the rank in JOB_COMPLETION_INDEX, but nothing gives the number of ranks in HTTPERF_FLEET_SIZE",
        ),
        (
            "SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=2",
            "--fleet auto",
            "--fleet: expected --start-at, as the ranks of a Slurm array may start at different times",
        ),
        ("PMI_RANK=2 PMI_SIZE=2", "--fleet auto", "PMI_RANK: expected a number below PMI_SIZE (2), got 2"),
        (
            "",
            "--start-at tomorrow",
            "--start-at: expected a time such as 2026-11-23T15:00:00Z (RFC 3339), got `tomorrow`",
        ),
    ] {
        let arguments = format!("{url} {}", bench.expand(arguments));
        let outcome = &run(&[Process { before: before.to_owned(), arguments: arguments.clone() }])[0];
        let error = text(&outcome.stderr);
        assert_eq!(outcome.exit, Exit::Code(1), "{arguments}: {error}");
        assert!(error.contains(expected), "{arguments}: {error}");
    }
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = taken.local_addr().expect("it has an address").port();
    let line = format!("{url} --fleet 0/2 --meet 127.0.0.1:{port} --rate 1 --num-conns 2");
    let outcome = &run(&[Process { before: String::new(), arguments: line }])[0];
    let error = text(&outcome.stderr);
    assert!(
        error.contains(&format!("--meet: cannot open 127.0.0.1:{port}: Address already in use")),
        "{error}"
    );
}
