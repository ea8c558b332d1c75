//! What has to be so under every launcher.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;
use tempfile::TempDir;

use crate::job::{Ended, Job, until};
use crate::support::program::under_test;
use crate::support::real_server::{Kind, RealServer, Settings};
use crate::support::words;

/// A rank that does nothing unusual.
const PLAIN: &str = "exec \"$@\"";

/// A load of this many seconds; with the time until all have met, something can happen meanwhile.
const SECONDS: u64 = 6;

/// The server that fleets are to load, and a folder for results.
pub(crate) struct Field {
    server: RealServer,
    folder: TempDir,
}

impl Field {
    /// A server that logs requests; `None`, with a word on stdout, if there is none.
    pub(crate) fn new() -> Option<Self> {
        let settings = Settings { has_log: true, ..Settings::default() };
        let server = RealServer::start(Kind::Nginx, settings)?;
        Some(Self { server, folder: tempfile::tempdir().expect("a folder can be made") })
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn document(&self, name: &str) -> Value {
        let text = fs::read_to_string(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        serde_json::from_str(&text).expect("it is JSON")
    }

    /// The options that name the server and the file of the result.
    fn arguments(&self, load: &str, output: &str) -> Vec<String> {
        let port = self.server.port();
        words(&format!("--server 127.0.0.1 --port {port} {load} --output {}", self.path(output)))
    }

    /// A load that goes on for a while.
    fn long(&self, more: &str, output: &str) -> Vec<String> {
        self.arguments(&format!("--fleet auto --rate 100 --duration {SECONDS}s {more}"), output)
    }

    fn requests(&self) -> usize {
        self.server.logged().len()
    }

    /// Waits until the fleet offers load.
    #[track_caller]
    fn wait_for_load(&self, job: &Job) {
        let before = self.requests();
        let has_begun = until(|| (self.requests() > before + 20).then_some(()));
        assert!(has_begun.is_some(), "there is no load: {}", job.so_far());
    }

    /// No rank offers load when all have ended.
    #[track_caller]
    fn check_silence(&self) {
        // What the server has taken in may still be on its way to the log.
        sleep(Duration::from_millis(300));
        let before = self.requests();
        sleep(Duration::from_secs(1));
        assert_eq!(self.requests(), before, "a rank goes on");
    }

    /// What was asked for since, and how often.
    fn targets(&self, before: usize, count: usize) -> BTreeMap<String, usize> {
        until(|| (self.requests() >= before + count).then_some(()));
        let mut targets = BTreeMap::new();
        for (_, target) in self.server.logged().into_iter().skip(before) {
            *targets.entry(target).or_default() += 1;
        }
        targets
    }
}

/// A launcher: makes the command that starts this many ranks.
pub(crate) type Launcher<'a> = &'a dyn Fn(usize) -> Command;

/// Four ranks of a thread and two of two make the requests and the arrivals of one process with four threads.
#[track_caller]
pub(crate) fn same_run(field: &Field, launcher: Launcher<'_>) {
    let load = "--period e0.005 --num-conns 400 --num-calls 2 --wset 40,0.3";
    let whole = field.arguments(&format!("{load} --threads 4"), "whole.json");
    let before = field.requests();
    let status = Command::new(under_test()).args(whole).output().expect("it can be started").status;
    assert!(status.success());
    let (whole, first) = (field.document("whole.json"), field.targets(before, 800));
    assert!(first.len() > 20, "requests differ: {first:?}");
    for (ranks, threads) in [(4, 1), (2, 2)] {
        let before = field.requests();
        let name = format!("{ranks}.json");
        let arguments = field.arguments(&format!("--fleet auto {load} --threads {threads}"), &name);
        let ended = Job::start(launcher(ranks), PLAIN, &arguments).wait();
        assert!(ended.status.success(), "{ended:?}");
        // The report is there once, and it is the same for whoever looks: mpirun's own terminals count for nothing.
        assert_eq!(
            ended.stdout.matches("\nTotal: connections 400 requests 800 replies 800").count(),
            1,
            "{ended:?}"
        );
        assert!(!ended.stdout.contains('\u{1b}'), "no colours: {ended:?}");
        assert_eq!(field.targets(before, 800), first, "{ranks} ranks ask for the same");
        let merged = field.document(&name);
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
    field.check_silence();
}

/// The end of one rank, and what is left.
pub(crate) struct Losses {
    /// True if the launcher lets the other ranks go on.
    pub(crate) lets_others_go_on: bool,
    /// True if the launcher's exit status is that of the ranks.
    pub(crate) has_status: bool,
    /// True if the launcher gives them time for a report, should it end them.
    pub(crate) lets_others_report: bool,
}

/// A rank that is killed before it comes, while others are awaited, during the run, or when its result is awaited.
#[track_caller]
pub(crate) fn lost_ranks(field: &Field, launcher: Launcher<'_>, losses: &Losses) {
    let patience = "--meet-timeout 12";
    // Rank 3 never comes.
    let script = format!("if [ $RANK = 3 ]; then kill -KILL $$; fi; {PLAIN}");
    let before = field.requests();
    let ended = Job::start(launcher(4), &script, &field.long("--meet-timeout 5", "absent.json")).wait();
    check_failure(&ended, losses, "waited 5 s for rank 3 of 4, which did not come");
    assert_eq!(field.requests(), before, "nobody offers load: {ended:?}");
    // Rank 2 is lost while rank 3 is awaited.
    let script = format!("if [ $RANK = 3 ]; then sleep 5; fi; {PLAIN}");
    let job = Job::start(launcher(4), &script, &field.long(patience, "waiting.json"));
    job.signal_rank(0, Signal::WINCH);
    sleep(Duration::from_secs(2));
    job.signal_rank(2, Signal::KILL);
    let ended = job.wait();
    check_failure(&ended, losses, ") was lost before the start: its connection");
    assert_eq!(field.requests(), before, "nobody offers load: {ended:?}");
    // While all run.
    let job = Job::start(launcher(4), PLAIN, &field.long(patience, "running.json"));
    field.wait_for_load(&job);
    job.signal_rank(2, Signal::KILL);
    check_report(field, job, losses, "running.json");
    // Rank 2 does not get to the end: the others wait for its result when it is killed.
    let job = Job::start(launcher(4), PLAIN, &field.long(patience, "late.json"));
    field.wait_for_load(&job);
    job.signal_rank(2, Signal::STOP);
    sleep(Duration::from_secs(SECONDS + 1));
    job.signal_rank(2, Signal::KILL);
    check_report(field, job, losses, "late.json");
    field.check_silence();
}

#[track_caller]
fn check_failure(ended: &Ended, losses: &Losses, expected: &str) {
    assert!(!losses.has_status || !ended.status.success(), "{ended:?}");
    if losses.lets_others_go_on {
        assert!(ended.stderr.contains(expected), "{ended:?}");
    }
}

#[track_caller]
fn check_report(field: &Field, job: Job, losses: &Losses, output: &str) {
    let ended = job.wait();
    let is_told = ended.stderr.contains("rank 2 (") && ended.stderr.contains("is lost: its connection");
    if losses.lets_others_report {
        assert!(is_told, "{ended:?}");
        let document = field.document(output);
        assert_eq!(document["fleet"]["lost"][0]["rank"], 2, "{ended:?}");
        let reasons = document["verdict"]["reasons"].as_array().expect("a list");
        let missing = reasons.iter().find(|reason| reason["code"] == "ranks_missing");
        assert_eq!(missing.expect("it is a reason")["level"], "INVALID");
    }
    if losses.lets_others_go_on {
        let replies = field.document(output)["summary"]["replies"].as_u64().expect("a number");
        let whole = 100 * SECONDS;
        assert!(
            (whole * 3 / 4 - 8..=whole * 3 / 4 + 8).contains(&replies),
            "three of four shares: {replies}"
        );
    }
}

/// A rank with another plan: all end with the reason, and nothing is sent.
#[track_caller]
pub(crate) fn other_plans(field: &Field, launcher: Launcher<'_>) {
    let before = field.requests();
    let script = format!("if [ $RANK = 3 ]; then set -- \"$@\" --timeout 9; fi; {PLAIN}");
    let ended = Job::start(launcher(4), &script, &field.long("", "plans.json")).wait();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(ended.stderr.contains("--fleet: rank 3 ("), "{ended:?}");
    assert!(ended.stderr.contains("has another plan than rank 0"), "{ended:?}");
    assert_eq!(field.requests(), before, "nobody offers load: {ended:?}");
}

/// Strangers come to the meeting while a rank is awaited: nobody minds.
#[track_caller]
pub(crate) fn strangers(field: &Field, launcher: Launcher<'_>) {
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port is free").port();
    let script = format!("if [ $RANK = 3 ]; then sleep 4; fi; {PLAIN}");
    let arguments = field.long(&format!("--meet 127.0.0.1:{port}"), "strangers.json");
    let job = Job::start(launcher(4), &script, &arguments);
    let come = || until(|| TcpStream::connect(("127.0.0.1", port)).ok()).expect("the meeting is open");
    for _ in 0..10 {
        drop(come());
    }
    let silent: Vec<TcpStream> = (0..10).map(|_| come()).collect();
    for _ in 0..3 {
        let mut loud = come();
        // It is sent away before all was read.
        let _closed = loud.write_all(&vec![0xa5; 1024 * 1024]);
    }
    let ended = job.wait();
    drop(silent);
    assert!(ended.status.success(), "{ended:?}");
    assert!(
        ended.stderr.contains("a stranger came to the meeting from 127.0.0.1 and was sent away"),
        "{ended:?}"
    );
    let document = field.document("strangers.json");
    assert_eq!(document["summary"]["replies"], 100 * SECONDS, "{ended:?}");
    assert!(document["fleet"]["strangers"].as_u64() >= Some(3), "{}", document["fleet"]);
}

/// The end is asked for by way of the launcher: a result of all ranks is written before the launcher kills them.
#[track_caller]
pub(crate) fn early_end(field: &Field, launcher: Launcher<'_>, end: impl Fn(&Job), has_stdout: bool) {
    let job = Job::start(launcher(4), PLAIN, &field.long("", "early.json"));
    field.wait_for_load(&job);
    let began = Instant::now();
    end(&job);
    let ended = job.wait();
    assert!(began.elapsed() < Duration::from_secs(15), "{ended:?}");
    let document = field.document("early.json");
    assert!(document["summary"]["replies"].as_u64() < Some(100 * SECONDS), "it ended early: {ended:?}");
    assert_eq!(document["fleet"]["ranks"].as_array().map(Vec::len), Some(4), "{ended:?}");
    if has_stdout {
        assert!(ended.stdout.contains("\nTotal: connections "), "{ended:?}");
    }
    fs::remove_file(field.path("early.json")).expect("it was written");
    field.check_silence();
}

/// Without a secret, the ranks do not meet where others could come.
#[track_caller]
pub(crate) fn no_secret(field: &Field, launcher: Launcher<'_>) {
    let before = field.requests();
    let ended = Job::start(launcher(2), PLAIN, &field.long("", "secret.json")).wait();
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    for rank in ["httperf: ", "httperf[1]: "] {
        let expected = format!("{rank}--fleet: expected HTTPERF_FLEET_SECRET to be set, as n1:");
        assert!(ended.stderr.contains(&expected), "{ended:?}");
    }
    assert_eq!(field.requests(), before, "nobody offers load");
}

/// What `httperf fleet slurm` prints is a script that sbatch takes, and that makes the whole run.
#[track_caller]
pub(crate) fn job_script(field: &Field, mut sbatch: Command) {
    let program = under_test();
    let printed = Command::new(&program)
        .args([
            "fleet",
            "slurm",
            "--ranks",
            "4",
            "--time",
            "5m",
            "--log",
            &field.path("job.out"),
            "--program",
        ])
        .arg(&program)
        .arg("--")
        .args(field.arguments("--rate 100 --num-conns 200", "script.json"))
        .output()
        .expect("the program can be started");
    assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
    fs::write(field.path("job.sh"), &printed.stdout).expect("the folder can be written to");
    let ended = sbatch.args(["--wait", &field.path("job.sh")]).output().expect("sbatch can be started");
    let told = fs::read_to_string(field.path("job.out")).unwrap_or_default();
    assert!(ended.status.success(), "{}\n{told}", String::from_utf8_lossy(&ended.stderr));
    assert!(told.contains("Total: connections 200 requests 200 replies 200"), "{told}");
    let result = field.document("script.json");
    assert_eq!(result["fleet"]["ranks"].as_array().map(Vec::len), Some(4), "{told}");
}
