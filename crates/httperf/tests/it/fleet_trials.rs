//! Commands that make several runs, over a fleet: the ranks make each trial together.

use httperf_testkit::tcp::free_port;
use serde_json::Value;

use crate::fleet::{Process, at, check_exits, document, fleet, run, targets, text, told};
use crate::support::bench::Bench;
use crate::support::program::Exit;
use crate::support::real_server::{Kind, RealServer, Settings};

/// The sizes of the fleets that made these trials.
fn sizes(trials: &Value, size: impl Fn(&Value) -> &Value) -> Vec<Option<u64>> {
    let trials = trials.as_array().expect("a list of trials");
    trials.iter().map(|trial| size(trial).as_u64()).collect()
}

#[test]
fn ranks_make_the_sweep_that_one_process_makes() {
    let settings = Settings { has_log: true, ..Settings::default() };
    let Some(server) = RealServer::start(Kind::Nginx, settings) else { return };
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = |name: &str| folder.path().join(name).display().to_string();
    // Without a look at the server before each run, whatever it sees is of a run.
    let sweep = format!(
        "sweep --server 127.0.0.1 --port {} --rates 100,200,300 --period e1 --num-conns 60 --wset 30,0.3 --settle 0 \
         --pause 0",
        server.port()
    );
    let whole = Process { before: String::new(), arguments: format!("{sweep} --threads 3") };
    check_exits(&run(&[whole]), 0);
    let first = targets(&server, 0, 180);
    assert_eq!(first.values().sum::<usize>(), 180, "{first:?}");
    let arguments = format!(
        "{sweep} --meet 127.0.0.1:{} --output {} --html {}",
        free_port(),
        path("r.json"),
        path("r.html")
    );
    let outcomes = run(&fleet(3, &arguments));
    check_exits(&outcomes, 0);
    assert_eq!(targets(&server, 180, 180), first, "the ranks ask for the same");
    for guest in &outcomes[1..] {
        assert_eq!((text(&guest.stdout), text(&guest.stderr)), (String::new(), String::new()));
    }
    let report = text(&outcomes[0].stdout);
    assert!(report.contains("3 rates from 100 to 300 connections/s; a fleet of 3\n"), "{report}");
    let json = std::fs::read(folder.path().join("r.json")).expect("it was written");
    let json: Value = serde_json::from_slice(&json).expect("it is JSON");
    assert_eq!(sizes(&json["runs"], |run| &run["result"]["fleet"]["size"]), [Some(3); 3]);
    for run in json["runs"].as_array().expect("a list") {
        assert_eq!(run["result"]["summary"]["replies"], 60);
        assert_eq!(run["result"]["fleet"]["ranks"].as_array().map(Vec::len), Some(3));
        let clock = &run["result"]["fleet"]["ranks"][1]["clock"];
        assert!(clock["drift_ns"].is_i64(), "clocks are compared again behind each run: {clock}");
    }
}

#[test]
fn a_search_and_a_comparison_run_on_a_fleet() {
    let bench = Bench::new();
    let search = "--slo errors<90% --start 100 --max-rate 100 --trial-min 1 --trial-max 1 --pause 0";
    let arguments =
        format!("capacity {} {search} --output {}", at(&bench, "a"), bench.expand("@capacity.json"));
    let outcomes = run(&fleet(2, &arguments));
    // On a busy machine, the ranks may be what limits the rate.
    assert!([0, 2].map(Exit::Code).contains(&outcomes[0].exit), "{}", told(&outcomes));
    assert_eq!(outcomes[1].exit, Exit::Code(0), "{}", told(&outcomes));
    let found = text(&outcomes[0].stdout);
    assert!(found.starts_with("objectives: errors<90%; a fleet of 2\n"), "{found}");
    let sizes_found = sizes(&document(&bench, "capacity.json")["trials"], |trial| &trial["ranks"]);
    assert!(!sizes_found.is_empty() && sizes_found.iter().all(|&size| size == Some(2)), "{sizes_found:?}");

    let sides =
        bench.expand("--a '--uri /a' --b '--uri /b' --rate 100 --rounds 2 --trial 0.5 --warmup 0.1 --force");
    let arguments = format!("ab {} {sides} --output {}", at(&bench, "b"), bench.expand("@ab.json"));
    let outcomes = run(&fleet(2, &arguments));
    assert_eq!(outcomes[1].exit, Exit::Code(0), "{}", told(&outcomes));
    let compared = document(&bench, "ab.json");
    assert_eq!(compared["base"]["ranks"], 2, "{}", told(&outcomes));
    let report = text(&outcomes[0].stdout);
    assert_eq!(report.matches(", a fleet of 2; ").count(), 2, "{report}");
}

#[test]
fn a_rank_that_is_lost_ends_the_trials() {
    let bench = Bench::new();
    let rates: Vec<String> = (50..70).map(|rate| rate.to_string()).collect();
    let arguments = format!(
        "sweep --server 127.0.0.1 --port {} --meet 127.0.0.1:{} --rates {} --duration 1 --warmup 0 --drain 0 --pause 0 \
         --output {}",
        bench.port,
        free_port(),
        rates.join(","),
        bench.expand("@r.json")
    );
    let mut processes = fleet(3, &arguments);
    processes[2].before = "timeout -s KILL 6".to_owned();
    let outcomes = run(&processes);
    check_exits(&outcomes[..1], 1);
    let error = text(&outcomes[0].stderr);
    // A connection with something unread is reset.
    let is_told =
        ["its connection was closed", "its connection failed"].iter().any(|how| error.contains(how));
    assert!(error.contains("rank 2 ") && is_told, "{}", told(&outcomes));
    let runs = document(&bench, "r.json")["runs"].as_array().map_or(0, Vec::len);
    assert!((1..20).contains(&runs), "what was measured before stays: {runs}");
}

#[test]
fn a_signal_at_any_rank_ends_the_trials_with_a_report() {
    let bench = Bench::new();
    let arguments = format!(
        "sweep {} --rates 50,51,52,53 --duration 4 --warmup 0 --drain 0 --pause 0 --output {}",
        at(&bench, "a"),
        bench.expand("@r.json")
    );
    let mut processes = fleet(2, &arguments);
    processes[1].before = "timeout --foreground --preserve-status -s TERM 6".to_owned();
    let outcomes = run(&processes);
    assert_eq!(outcomes[0].exit, Exit::Code(0), "{}", told(&outcomes));
    assert_eq!(outcomes[1].exit, Exit::Code(143), "{}", told(&outcomes));
    let error = text(&outcomes[0].stderr);
    assert!(error.contains("rank 1 (") && error.contains("was asked to end the run"), "{error}");
    assert_eq!(document(&bench, "r.json")["end"], "asked");
    assert!(text(&outcomes[0].stdout).contains("\nInterrupted after "), "{}", told(&outcomes));
}

#[test]
fn what_trials_of_a_fleet_cannot_have_is_refused() {
    let bench = Bench::new();
    let place = bench.expand("--fleet 0/2 --meet dir:@x");
    let sweep = "sweep --server 127.0.0.1 --rates 1";
    let cases = [
        (
            format!("{sweep} --fleet 0/2 --start-at 2030-01-01T00:00:00Z"),
            "--start-at: expected none, as ranks that make trials have to agree on the start of each",
        ),
        (
            format!("{sweep} {place} --allow-missing"),
            "--allow-missing: expected none, as a trial without one of the ranks offers another load",
        ),
        (
            format!("ab http://127.0.0.1/ --a '{place}' --b '' --rate 1"),
            "--a: --fleet: expected it for both sides, not for one of them",
        ),
        (format!("{sweep} --meet dir:{}", bench.expand("@x")), "--meet needs --fleet"),
    ];
    for (arguments, expected) in cases {
        let outcomes = run(&[Process { before: String::new(), arguments }]);
        assert_eq!(outcomes[0].exit, Exit::Code(1), "{}", told(&outcomes));
        let error = text(&outcomes[0].stderr);
        assert!(error.contains(expected), "expected {expected:?} in:\n{error}");
    }
}
