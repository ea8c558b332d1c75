//! The first commands that people type, who come from other tools or have a habit of their own: each does what was meant, or
//! says in a line what to type.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use httperf_testkit::server::{Behaviour, Server};

use crate::support::program::but_for_the_verdict;
use crate::support::reference::{Outcome, ours};
use crate::support::terminal::Terminal;

/// Command lines, as a shell splits them. PORT stands for that of a server that answers.
const COMMANDS: &[&str] = &[
    // Targets without a scheme, and those that are none.
    "localhost:PORT",
    "localhost:PORT/path?query --num-calls 2",
    "127.0.0.1:PORT --rate 100/s --num-conns 3",
    "--num-conns=2 127.0.0.1:PORT/a",
    "--hog true --print-request header localhost:PORT",
    "example.com",
    "webserver",
    "ftp://localhost/file",
    "HTTPS//localhost",
    "http://localhost:PORT http://localhost:PORT/b",
    "localhost:PORT localhost:PORT/b",
    "http://localhost:PORT/ foo",
    "-n 100 http://localhost:PORT/",
    "--server=127.0.0.1 --port=PORT localhost:1",
    "--server=127.0.0.1 --port=PORT stray words",
    "sweep example.com --rates 10",
    "sweep localhost:PORT --rates 100-500",
    "sweep localhost:PORT --rates 100..500",
    "capacity localhost:1 words --slo p99<5ms",
    "ab localhost:1 example.com",
    "tls-lab ftp://localhost",
    "doctor example.com",
    // Commands that are misspelt, and those of other tools.
    "capcity localhost:PORT",
    "sweeep localhost:PORT --rates 10",
    "server",
    "run script.js",
    "run shop.toml -u 10 -d 30s",
    "run shop.toml --vus 10 --iterations 5 --env term=x",
    "fleet --rate 5 localhost:PORT",
    "fleet slurm --ranks 2 localhost:PORT",
    "run access.log",
    "replay shop.har http://localhost:PORT/",
    "attack -rate=10",
    "GET http://localhost:PORT/",
    "--rate 5 sweep",
    "localhost:PORT sweep",
    // Rates, times and phases.
    "localhost:PORT --rate 100",
    "localhost:PORT --rate 600/m --num-conns 2 --timeout 1s",
    "localhost:PORT --concurrency 2 --num-calls 2 --call-pause 1ms",
    "localhost:PORT --rate -5",
    "localhost:PORT --duration 0",
    "localhost:PORT --duration 0s",
    "localhost:PORT --duration 10sec",
    "localhost:PORT --warmup 5s",
    "localhost:PORT --warmup 0 --drain 0",
    "localhost:PORT --rate 10 --num-conns 20 --warmup 1m",
    "localhost:PORT --runtime 0",
    // Letters of other tools.
    "-c 10 -n 100 http://localhost:PORT/",
    "-n 100 -c 10 http://localhost:PORT/",
    "-t4 -c100 -d30s http://localhost:PORT/",
    "-d 30s http://localhost:PORT/",
    "-d 2 --num-conns 1 localhost:PORT",
    "-d2s localhost:PORT",
    "--debug=1m localhost:PORT",
    "-d {\"a\":1} localhost:PORT",
    "-d30s -c100 localhost:PORT",
    "-z 10s -c 50 http://localhost:PORT/",
    "-c 10 -n 100 -H a:b -k http://localhost:PORT/",
    "--bogus --clients 10 localhost:PORT",
    "--clients 10 --requests 100 --durtion 5s localhost:PORT",
    "-c 10 --num-conns",
    "-n --clients 10 localhost:PORT",
    "capacity -c 10 -d 10s localhost:PORT",
    "-H 'Accept:text/html' http://localhost:PORT/",
    "-X POST http://localhost:PORT/",
    "-k https://localhost:PORT/",
    "-u user:password http://localhost:PORT/",
    "-q 100 http://localhost:PORT/",
    "-v -o out.json http://localhost:PORT/",
    "-2 https://localhost:PORT/",
    "sweep -r 100 localhost:PORT",
    "serve -p 8080",
    "ab -n 100 -c 10 localhost:PORT",
    // Names of other tools, and names that are misspelt.
    "--connections 10 --num-calls 2 http://localhost:PORT/",
    "--clients 10 http://localhost:PORT/",
    "--requests=100 http://localhost:PORT/",
    "--request POST http://localhost:PORT/",
    "--insecure https://localhost:PORT/",
    "--data {} http://localhost:PORT/",
    "--json {} http://localhost:PORT/",
    "--qps 100 http://localhost:PORT/",
    "--host localhost",
    "--vus 10 script.js",
    "--http2 https://localhost:PORT/",
    "--latency http://localhost:PORT/",
    "--format json http://localhost:PORT/",
    "--out json=results.json http://localhost:PORT/",
    "--output json http://localhost:PORT/",
    "--threshold p99 http://localhost:PORT/",
    "--slo error_rate<1% http://localhost:PORT/",
    "--slo p(95)<500 http://localhost:PORT/",
    "--slo success>99% http://localhost:PORT/",
    "--body @file http://localhost:PORT/",
    "ab localhost:PORT localhost:PORT --rounds 4",
    "--durtion 10s http://localhost:PORT/",
    "--concurency=10 http://localhost:PORT/",
    "capacity --sol p99<5ms localhost:PORT",
    "serve --port 8080",
    // Help.
    "help",
    "help capacity",
    "help capcity",
    "help a b",
    "help import har",
    "-h",
    "-h all",
    "--help",
    "sweep -h",
    "sweep --help",
];

#[test]
fn a_first_command_does_what_was_meant_or_is_told_what_to_type() {
    let server = Server::start(Behaviour::ok()).unwrap();
    let port = server.port().to_string();
    let folder = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for line in COMMANDS {
        let words: Vec<String> =
            line.split_whitespace().map(|word| word.replace("PORT", &port).replace('\'', "")).collect();
        let outcome = ours(&words, folder.path());
        text += &format!("$ httperf {line}\n{}\n", shown(&outcome).replace(&port, "PORT"));
    }
    insta::assert_snapshot!(text);
}

/// The output of a command in short: the echo line of a run and the numbers of its calls, the beginning of a long text.
fn shown(outcome: &Outcome) -> String {
    const LINES: usize = 9;
    let Outcome { status, stdout, stderr } = outcome;
    let mut lines: Vec<&str> = if stdout.starts_with("httperf --") {
        let counts = stdout.lines().find(|line| line.starts_with("Total: "));
        let counts = counts.map(|line| line.split(" test-duration").next().unwrap());
        stdout.lines().next().into_iter().chain(counts).collect()
    } else {
        stdout.lines().collect()
    };
    if lines.len() > LINES {
        lines.truncate(LINES);
        lines.push("...");
    }
    let stderr = but_for_the_verdict(stderr);
    let mut text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    text.extend(stderr.lines().map(|line| format!("2> {line}\n")));
    format!("{text}exit status {status}\n")
}

#[test]
fn on_a_terminal_the_name_alone_explains_itself_and_captured_it_loads_the_default_server() {
    let terminal = Terminal::new();
    let program = Command::new(env!("CARGO_BIN_EXE_httperf"));
    let status = terminal.spawn(&program, terminal.stdout()).wait();
    assert!(status.success());
    let screen = terminal.wait_for("httperf help COMMAND");
    assert!(screen.starts_with("httperf offers HTTP load"), "{screen}");
    assert!(terminal.bytes().lines().count() <= 22, "{}", terminal.bytes());
    let captured = ours::<&str>(&[], Path::new("/"));
    assert!(captured.echo_line().starts_with("httperf --client=0/1 --server=localhost --port=80 --uri=/ "));
}

#[test]
fn help_fits_the_terminal() {
    for columns in [60, 80, 132] {
        let terminal = Terminal::new();
        terminal.resize(24, columns);
        let mut program = Command::new(env!("CARGO_BIN_EXE_httperf"));
        program.args(["sweep", "-h", "all"]).env("PAGER", "cat");
        assert!(terminal.spawn(&program, terminal.stdout()).wait().success());
        terminal.wait_for("says more about each option");
        let width = columns.min(100).into();
        for line in terminal.bytes().lines().filter(|line| !line.starts_with("Usage: ")) {
            assert!(line.trim_end().chars().count() <= width, "{columns}: {line}");
        }
    }
}

#[test]
fn the_short_help_of_each_command_fits_one_screen() {
    let listed = ours(&["help"], Path::new("/")).stdout;
    let commands: BTreeSet<&str> =
        listed.lines().filter_map(|line| line.trim().strip_prefix("httperf ")?.split(' ').next()).collect();
    assert!(commands.len() > 15, "{commands:?}");
    for command in commands.into_iter().filter(|word| !word.contains("://")).chain([""]) {
        let terminal = Terminal::new();
        let mut program = Command::new(env!("CARGO_BIN_EXE_httperf"));
        program.args(Some(command).filter(|command| !command.is_empty())).arg("-h");
        assert!(terminal.spawn(&program, terminal.stdout()).wait().success(), "{command}");
        terminal.wait_until("the help", |screen| screen.contains("--help") || screen.contains("-h, "));
        terminal.settle();
        let text = terminal.bytes();
        // The prompt takes a line.
        assert!(text.lines().count() < 24, "{command}: {text}");
        assert!(text.lines().all(|line| line.trim_end().chars().count() <= 80), "{command}: {text}");
    }
}

#[test]
fn long_help_goes_through_the_pager_on_a_terminal_alone() {
    let help = |pager: Option<&str>, words: &[&str]| {
        let terminal = Terminal::new();
        let mut program = Command::new(env!("CARGO_BIN_EXE_httperf"));
        program.args(words).env("PAGER", pager.unwrap_or_default()).env("TERM", "xterm");
        assert!(terminal.spawn(&program, terminal.stdout()).wait().success(), "{words:?}");
        terminal.wait_until("something", |screen| !screen.trim().is_empty());
        terminal.settle();
        terminal.bytes()
    };
    for words in [&["help", "sweep"][..], &["sweep", "--help"], &["help"]] {
        let paged = help(Some("sed s/^/PAGED:/"), words);
        assert!(paged.lines().all(|line| line.starts_with("PAGED:")), "{words:?}: {paged}");
        assert!(!help(None, words).contains("PAGED:"), "{words:?}");
    }
    let short = help(Some("sed s/^/PAGED:/"), &["sweep", "-h"]);
    assert!(!short.contains("PAGED:"), "{short}");
    let mut captured = Command::new(env!("CARGO_BIN_EXE_httperf"));
    let captured = captured.args(["help", "sweep"]).env("PAGER", "sed s/^/PAGED:/").output().unwrap();
    assert!(captured.stdout.starts_with(b"Usage: httperf sweep"));
}

/// The screen after a run, without what is measured.
fn screen_of_a_run(rows: u16, columns: u16, words: &[&str], port: &str) -> String {
    let terminal = Terminal::new();
    terminal.resize(rows, columns);
    let mut program = Command::new(env!("CARGO_BIN_EXE_httperf"));
    program.args([&format!("localhost:{port}/path"), "--rate=100", "--num-conns=20"]).args(words);
    assert!(terminal.spawn(&program, terminal.stdout()).wait().success());
    terminal.wait_for("verdict  ").replace(port, "PORT")
}

#[test]
fn on_a_terminal_a_url_gets_the_answer_and_elsewhere_the_classic_report() {
    let server = Server::start(Behaviour::ok()).unwrap();
    let port = server.port().to_string();
    for (rows, columns) in [(24, 80), (20, 60), (40, 120)] {
        let screen = screen_of_a_run(rows, columns, &[], &port);
        let named: Vec<&str> = screen
            .lines()
            .filter_map(|line| line.split("  ").next())
            .filter(|name| !name.is_empty())
            .collect();
        let first = named.first().copied().unwrap_or_default();
        assert!(first.starts_with("http://localhost:PORT"), "{columns}: {screen}");
        let names: Vec<&str> = named[1..].iter().copied().filter(|name| !name.contains(' ')).collect();
        let expected =
            ["conclusion", "offered", "replied", "errors", "statuses", "latency", "verdict", "more"];
        assert_eq!(names, expected, "{columns}: {screen}");
        assert!(!screen.contains("Total: ") && !screen.contains("httperf --client"), "{columns}: {screen}");
    }
    let full = screen_of_a_run(24, 80, &["--report=full"], &port);
    assert!(!full.contains("\nmore "), "{full}");
    let words =
        |report: &str| vec![format!("localhost:{port}"), "--num-conns=2".to_owned(), report.to_owned()];
    let captured = ours(&words("--report=auto"), Path::new("/")).stdout;
    assert!(captured.starts_with("httperf --client=0/1 ") && captured.contains("\nTotal: "), "{captured}");
    let answer = ours(&words("--report=answer"), Path::new("/")).stdout;
    assert!(answer.starts_with("http://localhost:") && answer.contains("\nconclusion "), "{answer}");
    assert!(!answer.contains("Total: "), "{answer}");
}

#[test]
fn on_a_terminal_a_rate_alone_says_that_it_makes_one_connection() {
    let server = Server::start(Behaviour::ok()).unwrap();
    let url = format!("localhost:{}", server.port());
    for (words, note) in [
        (&["--rate=100"][..], Some("--rate alone")),
        (&["--concurrency=2"], Some("--concurrency alone")),
        (&["--rate=100", "--num-conns=2"], None),
        (&["--rate=100", "--quiet"], None),
        (&[], None),
    ] {
        let terminal = Terminal::new();
        let mut program = Command::new(env!("CARGO_BIN_EXE_httperf"));
        program.arg(&url).args(words);
        assert!(terminal.spawn(&program, terminal.stdout()).wait().success());
        match note {
            Some(note) => {
                // The note may go on in the next line.
                let joined = |screen: &str| screen.split_whitespace().collect::<Vec<_>>().join(" ");
                let screen = terminal.wait_until(note, |screen| joined(screen).contains("--duration 10s"));
                assert!(joined(&screen).contains(note), "{words:?}: {screen}");
            }
            None => {
                terminal.settle();
                assert!(!terminal.bytes().contains("--duration 10s"), "{words:?}: {}", terminal.bytes());
            }
        }
    }
}

/// The transcripts of the page on messages.
#[test]
fn messages_are_those_of_their_page() {
    let server = Server::start(Behaviour::ok()).unwrap();
    let port = server.port().to_string();
    let folder = tempfile::tempdir().unwrap();
    let page = fs::read_to_string(xtask::root().join("docs/internals/messages.md")).unwrap();
    let blocks = page.split("```").skip(1).step_by(2);
    let (mut written, mut printed) = (String::new(), String::new());
    for line in blocks.flat_map(str::lines).filter(|line| !line.is_empty()) {
        written += &format!("{line}\n");
        let Some(words) = line.strip_prefix("$ httperf ") else { continue };
        let words: Vec<String> = words.split(' ').map(|word| word.replace("PORT", &port)).collect();
        let stderr = ours(&words, folder.path()).stderr.replace(&port, "PORT");
        printed += &format!("{line}\n{}\n", but_for_the_verdict(&stderr).trim_end());
    }
    assert!(written.matches("$ httperf ").count() >= 60, "{written}");
    assert_eq!(written, printed);
}
