//! Documents of commands that make many measurements: every form, from the command itself and from its document read
//! again, and what is said where there is nothing to measure.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use crate::support::program::{Exit, Invocation, Outcome, stderr, stdout, under_test};
use crate::support::terminal::Terminal;
use crate::support::words;
use httperf_origin::{Config, Credentials, Handle, KeyType, ListenAddress, Tls, spawn};
use tempfile::TempDir;

/// A server, and a folder for files.
struct Bench {
    folder: TempDir,
    _server: Handle,
    url: String,
}

impl Bench {
    fn new() -> Self {
        let listen: ListenAddress = "127.0.0.1:0".parse().unwrap();
        let server = spawn(Config { listen: listen.0, ..Config::default() }).unwrap();
        let url = format!("http://{}/", server.tcp_address().unwrap());
        Self { folder: tempfile::tempdir().unwrap(), _server: server, url }
    }

    /// Runs the program; `@name` stands for a file in the folder, `URL` for the server.
    fn run(&self, arguments: &str) -> Outcome {
        let folder = format!("{}/", self.folder.path().display());
        let arguments = arguments.replace('@', &folder).replace("URL", &self.url);
        let mut invocation = Invocation::new(&under_test(), words(&arguments));
        invocation.limit = Duration::from_secs(120);
        invocation.run().unwrap()
    }

    fn file(&self, name: &str) -> String {
        String::from_utf8_lossy(&fs::read(self.folder.path().join(name)).unwrap()).into_owned()
    }

    /// Checks that a command writes the same as `report` does from its document. Any exit status that says something of
    /// what was measured will do: a busy machine decides on that.
    #[track_caller]
    fn check(&self, command: &str, forms: &[&str]) -> String {
        let files = ["csv", "html"].map(|form| format!("--{form} @x.{form}")).join(" ");
        let outcome = self.run(&format!("{command} --output @x.json {files}"));
        assert!(matches!(outcome.exit, Exit::Code(0..=4)), "{}{}", stdout(&outcome), stderr(&outcome));
        let again = |form: &str| {
            let outcome = self.run(&format!("report --format {form} @x.json"));
            assert_eq!(outcome.exit, Exit::Code(0), "{form}: {}", stderr(&outcome));
            stdout(&outcome)
        };
        let text = stdout(&outcome);
        assert_eq!(again("text"), text);
        for form in ["csv", "html", "json"] {
            assert_eq!(again(form), self.file(&format!("x.{form}")), "{form}");
        }
        for form in ["text", "json", "html", "csv", "tsv", "markdown", "junit", "hgrm"] {
            let outcome = self.run(&format!("report --format {form} @x.json"));
            let is_there = outcome.exit == Exit::Code(0);
            assert_eq!(is_there, forms.contains(&form), "{form}: {}", stderr(&outcome));
            if !is_there {
                assert!(
                    stderr(&outcome).contains("--format: expected a form that a "),
                    "{}",
                    stderr(&outcome)
                );
            }
        }
        text
    }

    /// Returns the picture of the document, or the reason why there is none.
    fn plot(&self) -> Result<String, String> {
        let outcome = self.run("plot @x.json");
        if outcome.exit == Exit::Code(0) { Ok(stdout(&outcome)) } else { Err(stderr(&outcome)) }
    }
}

/// Short runs of little load.
const SHORT: &str = "--pause 0";

#[test]
fn a_sweep_is_the_same_from_its_document() {
    let bench = Bench::new();
    let text = bench.check(
        &format!("sweep URL --rates 20,40 --duration 1 --warmup 0 {SHORT}"),
        &["text", "json", "html", "csv", "tsv", "junit"],
    );
    assert!(text.contains("2 rates from 20 to 40 connections/s"), "{text}");
    assert!(bench.plot().unwrap().contains("Sweep of http://127.0.0.1"));
}

#[test]
fn a_capacity_is_the_same_from_its_document() {
    let bench = Bench::new();
    let text = bench.check(
        &format!("capacity URL --slo p50<1s --start 20 --max-rate 40 --trial-min 0.5 --trial-max 1 {SHORT}"),
        &["text", "json", "html", "csv"],
    );
    let last = text.lines().last().unwrap();
    assert!(last.starts_with("capacity "), "the answer comes last: {text}");
    assert!(bench.plot().unwrap().contains("Capacity of http://127.0.0.1"));
}

#[test]
fn comparisons_are_the_same_from_their_documents() {
    let forms = ["text", "json", "html", "csv", "markdown", "junit"];
    let bench = Bench::new();
    let text = bench
        .check(&format!("ab URL URL --rate 50 --rounds 2 --trial 0.5 --warmup 0 {SHORT} --force"), &forms);
    assert!(text.contains("2 rounds of one trial each") && text.contains("\n    2 "), "{text}");
    assert!(bench.plot().unwrap().contains("Latency of http://127.0.0.1"));

    for name in ["a", "b"] {
        bench.run(&format!("URL --rate 100 --num-conns 100 --output @{name}.json"));
    }
    let text = bench.check("compare @a.json @b.json --force", &forms);
    assert!(text.contains("Verdict: "), "{text}");
    assert!(bench.plot().unwrap().contains("Latency of http://127.0.0.1"));
    let same = stdout(&bench.run("compare @a.json @a.json --force"));
    assert!(same.contains("a.json` are the same run"), "{same}");
}

#[test]
fn variants_of_tls_are_the_same_from_their_document() {
    let bench = Bench::new();
    let listen: ListenAddress = "127.0.0.1:0".parse().unwrap();
    let tls = Some(Tls::new(Credentials::self_signed(KeyType::default(), &listen.0)));
    let server = spawn(Config { listen: listen.0, tls, ..Config::default() }).unwrap();
    let url = format!("https://{}/", server.tcp_address().unwrap());
    let text = bench.check(
        &format!("tls-lab {url} --groups X25519,P-256 --rounds 2 --handshakes 5 --rate-handshakes 0"),
        &["text", "json", "html", "csv"],
    );
    assert!(text.contains("Median handshake of each round:"), "{text}");
    let why = bench.plot().unwrap_err();
    assert!(why.contains("a comparison of TLS variants has no picture"), "{why}");
}

/// Runs a command on a terminal of 80 columns until the screen shows `row`, and then `end`.
#[track_caller]
fn check_terminal(bench: &Bench, command: &str, row: &str, end: &str) {
    let terminal = Terminal::new();
    terminal.resize(60, 80);
    let arguments = command.replace("URL", &bench.url);
    let mut started = Command::new(under_test());
    started.args(words(&arguments));
    let mut running = terminal.spawn(&started, terminal.stdout());
    let early = terminal.wait_for(row);
    assert!(!early.contains(end), "rows come before the end: {early}");
    let screen = terminal.wait_for(end);
    running.wait();
    let began = screen.find(row).unwrap();
    let widest = screen[began..].lines().map(|line| line.chars().count()).max().unwrap();
    assert!(widest <= 80, "{widest}: {screen}");
    let bytes = terminal.bytes();
    assert!(bytes.contains(" left"), "the time left is shown: {bytes}");
}

#[test]
fn rows_appear_on_a_terminal_as_they_are_made_and_fit_it() {
    let bench = Bench::new();
    let sweep = "sweep URL --rates 20,40,60 --duration 1 --warmup 0 --pause 0 --slo p99<1us";
    check_terminal(&bench, sweep, "\n           20  ", "Objectives (p99<1us): met at none");
    let ab = "ab URL URL --rate 40 --rounds 3 --trial 0.5 --warmup 0 --force";
    check_terminal(&bench, ab, "\n    1 ", "Verdict: ");
}

#[test]
fn a_result_on_standard_output_is_the_document() {
    let bench = Bench::new();
    let outcome = bench.run("URL --num-conns 3 --json --svg @x.svg --png @x.png");
    assert!(bench.file("x.svg").starts_with("<svg ") && bench.file("x.png").contains("PNG"));
    let document: serde_json::Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert_eq!(document["format"], "httperf-result");
    fs::write(bench.folder.path().join("x.json"), &outcome.stdout).unwrap();
    assert!(stdout(&bench.run("report @x.json")).contains("Total: connections 3 "));
}

#[test]
fn a_server_that_is_not_there_is_found_before_anything_is_measured() {
    let bench = Bench::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let nobody = format!("127.0.0.1:{port}");
    let refused = format!("no reply: connection refused by {nobody}");
    for command in [
        format!("sweep http://{nobody}/ --rates 10,20"),
        format!("capacity http://{nobody}/ --slo p99<1s"),
        format!("ab http://{nobody}/ URL --rate 10"),
        format!("ab URL http://{nobody}/ --rate 10"),
        format!("tls-lab https://{nobody}/"),
    ] {
        let outcome = bench.run(&command);
        assert_eq!(outcome.exit, Exit::Code(1), "{command}");
        assert_eq!(stdout(&outcome), "", "{command}");
        let said = stderr(&outcome);
        assert!(said.contains(&refused) && said.contains("Is the server up?"), "{command}: {said}");
        assert_eq!(said.lines().count(), 1, "{command}: {said}");
    }
}
