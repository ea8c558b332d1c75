//! Runs as they are watched: the progress line, the full-screen view and the interval log, against `httperf serve`.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::program::but_for_the_verdict;
use crate::support::report::Report;
use crate::support::terminal::{Running, Terminal};

/// A running `httperf serve`; killed when the test ends.
struct Served {
    child: Child,
    url: String,
}

impl Served {
    fn start(options: &[&str]) -> Self {
        let mut child = httperf()
            .args(["serve", "--listen=127.0.0.1:0"])
            .args(options)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.strip_prefix("listening on ").unwrap().trim_end().to_owned();
        Self { child, url }
    }

    /// A run of this many seconds at 50 connections a second.
    fn load(&self, seconds: u64, options: &[&str]) -> Command {
        let mut command = httperf();
        let num_conns = format!("--num-conns={}", 50 * seconds);
        command.args([&self.url, "--rate=50", "--timeout=5", &num_conns]).args(options);
        command
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn httperf() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_httperf"));
    command.env("TERM", "xterm-256color").env_remove("NO_COLOR");
    command
}

/// Waits until the full-screen view shows a second of the run, and returns the screen.
#[track_caller]
fn wait_for_second(terminal: &Terminal) -> String {
    let is_there = |screen: &str| screen.contains("last second ") && !screen.contains("last second     n/a");
    terminal.wait_until("a second", is_there)
}

/// Long enough that it is ended by something else.
const LONG: u64 = 60;

/// Columns of a terminal on which no message is broken.
const WIDE: u16 = 300;

#[test]
fn a_progress_line_shows_on_a_terminal_and_is_gone_before_the_report() {
    let served = Served::start(&[]);
    let terminal = Terminal::new();
    let mut run = terminal.spawn(&served.load(3, &[]), terminal.stdout());
    let screen = terminal.wait_for(" conn/s  ");
    let line = screen.lines().last().unwrap();
    // Where the machine is late, that takes the room of what is left.
    assert!(line.contains("s left  ") || line.contains("LAG "), "{screen}");
    assert!(line.contains("  measuring  "), "{screen}");
    assert!(run.wait().success());
    let screen = terminal.wait_for("\nverdict  ");
    assert!(!screen.contains("measuring"), "{screen}");
    assert!(terminal.is_usual());
}

#[test]
fn in_what_is_captured_of_a_terminal_the_report_begins_a_line() {
    let served = Served::start(&[]);
    for form in ["--report=classic", "--report=full"] {
        let terminal = Terminal::new();
        // All of the report is to be seen at once.
        terminal.resize(100, 160);
        let mut run = terminal.spawn(&served.load(3, &[form]), terminal.stdout());
        terminal.wait_for(" conn/s  ");
        assert!(run.wait().success());
        terminal.wait_for("Errors: total ");
        let captured = terminal.bytes();
        let mut lines = captured.lines();
        assert!(lines.any(|line| line.starts_with("Maximum connect burst length: ")), "{form}: {captured:?}");
        // Nor is there a line more than without a terminal.
        let screen = terminal.screen();
        assert!(screen.contains(&format!(" --num-calls=1 {form}\nMaximum connect ")), "{form}: {screen}");
    }
}

#[test]
fn the_progress_line_leaves_stdout_alone() {
    let served = Served::start(&[]);
    let terminal = Terminal::new();
    terminal.resize(24, WIDE);
    let mut run = terminal.spawn(&served.load(3, &[]), Stdio::piped());
    terminal.wait_for(" conn/s  ");
    assert!(run.wait().success());
    let report = Report::parse(&run.stdout()).unwrap();
    assert_eq!(report.number("replies"), 150.0);
    terminal.settle();
    assert_eq!(but_for_the_verdict(&terminal.screen()), "");
}

#[test]
fn nothing_shows_where_it_is_not_wanted() {
    let served = Served::start(&[]);
    for options in [&["--quiet"][..], &["-v"], &["--periodic-stats"], &["--print-lifetimes"]] {
        let terminal = Terminal::new();
        terminal.resize(24, WIDE);
        let mut run = terminal.spawn(&served.load(2, options), Stdio::null());
        assert!(run.wait().success());
        terminal.settle();
        assert_eq!(but_for_the_verdict(&terminal.bytes()), "", "{options:?}");
    }
    let terminal = Terminal::new();
    terminal.resize(24, WIDE);
    let mut run = terminal.spawn(served.load(2, &[]).env("TERM", "dumb"), Stdio::null());
    assert!(run.wait().success());
    assert_eq!(but_for_the_verdict(&terminal.bytes()), "", "on a terminal that can do nothing");
    let output = served.load(2, &[]).output().unwrap();
    assert_eq!(but_for_the_verdict(&String::from_utf8_lossy(&output.stderr)), "", "without a terminal");
}

#[test]
fn a_short_run_has_no_progress_line() {
    let served = Served::start(&[]);
    let terminal = Terminal::new();
    terminal.resize(24, WIDE);
    let mut command = httperf();
    let mut run = terminal.spawn(command.args([&served.url, "--num-conns=5"]), Stdio::null());
    assert!(run.wait().success());
    terminal.settle();
    assert_eq!(but_for_the_verdict(&terminal.bytes()), "");
}

#[test]
fn the_full_screen_view_shows_the_run_and_q_ends_it_with_a_report() {
    let served = Served::start(&[]);
    let mut terminal = Terminal::new();
    terminal.resize(24, WIDE);
    let mut run = terminal.spawn(&served.load(LONG, &["--live"]), Stdio::piped());
    let screen = wait_for_second(&terminal);
    for part in ["Arrivals ", "conn/s of 50", "Latency [ms]", "q ends the run", "http://127.0.0.1:"] {
        assert!(screen.contains(part), "{part} is not in\n{screen}");
    }
    assert!(!terminal.is_usual());
    terminal.press(b"q");
    assert!(run.wait().success());
    let report = Report::parse(&run.stdout()).unwrap();
    assert!((1.0..50.0 * LONG as f64).contains(&report.number("replies")));
    terminal.settle();
    assert!(terminal.is_usual());
    assert_eq!(but_for_the_verdict(&terminal.screen()), "");
}

#[test]
fn the_displays_show_what_all_threads_do_together() {
    let served = Served::start(&[]);
    let terminal = Terminal::new();
    let mut run = terminal.spawn(&served.load(3, &["--threads=2"]), Stdio::null());
    let screen = terminal.wait_for("/50.0 conn/s  ");
    let (before, _) = screen.rsplit_once("/50.0 conn/s  ").unwrap();
    let achieved: f64 = before.split_whitespace().last().unwrap().parse().unwrap();
    assert!((30.0..=70.0).contains(&achieved), "{screen}");
    assert!(run.wait().success());

    let mut terminal = Terminal::new();
    let mut run = terminal.spawn(&served.load(LONG, &["--live", "--threads=2"]), Stdio::piped());
    wait_for_second(&terminal);
    terminal.press(b"q");
    assert!(run.wait().success());
    assert!(Report::parse(&run.stdout()).unwrap().number("replies") > 0.0);
}

#[test]
fn messages_are_neither_torn_by_the_progress_line_nor_lost_behind_the_screen() {
    // Some replies begin with what is no status line.
    let served = Served::start(&["--fault=garbage:0.2"]);
    let message = "httperf.parse_status_line: invalid status line `";
    let terminal = Terminal::new();
    let mut run = terminal.spawn(&served.load(3, &[]), Stdio::null());
    let with_line = |screen: &str| screen.lines().last().is_some_and(|line| line.contains("  measuring  "));
    terminal.wait_until("a line below the messages", |screen| screen.contains(message) && with_line(screen));
    assert!(run.wait().success());
    terminal.settle();
    let screen = terminal.screen();
    // On a busy machine the verdict comes after them, and the first line may be the end of a longer one.
    let expected = |line: &str| {
        line.starts_with(message) || line.ends_with("'!!") || line.starts_with("httperf: verdict: ")
    };
    assert!(screen.trim().lines().all(expected), "{screen}");

    let mut terminal = Terminal::new();
    let mut run = terminal.spawn(&served.load(LONG, &["--live"]), Stdio::null());
    let screen = terminal.wait_for(message);
    assert!(
        screen.contains("Latency [ms]") && screen.lines().last().unwrap().starts_with(message),
        "{screen}"
    );
    terminal.press(b"q");
    assert!(run.wait().success());
    let screen = terminal.wait_until("the messages", |screen| !screen.contains("Latency"));
    assert!(screen.contains(message), "{screen}");
}

#[test]
fn control_c_ends_the_full_screen_view_as_an_interrupt_does() {
    let served = Served::start(&[]);
    let mut terminal = Terminal::new();
    let mut run = terminal.spawn(&served.load(LONG, &["--live"]), terminal.stdout());
    terminal.wait_for("q ends the run");
    terminal.press(b"\x03");
    assert!(run.wait().success());
    terminal.wait_for("\nverdict  ");
    assert!(terminal.is_usual());
    let captured = terminal.bytes();
    // Its first word is bold.
    let is_answer = |line: &str| line.starts_with("\u{1b}[1mhttp://") && line.contains(" measured");
    assert!(captured.lines().any(is_answer), "{captured:?}");
}

#[test]
fn the_full_screen_view_follows_the_size_of_the_terminal() {
    let served = Served::start(&[]);
    let mut terminal = Terminal::new();
    let mut run = terminal.spawn(&served.load(LONG, &["--live"]), Stdio::null());
    terminal.wait_for("p99.9");
    terminal.resize(12, 40);
    let is_small = |screen: &str| !screen.contains("p99.9") && screen.contains("q ends the run");
    let screen = terminal.wait_until("a smaller picture", is_small);
    assert!(screen.lines().all(|line| line.chars().count() <= 40), "{screen}");
    terminal.press(b"q");
    assert!(run.wait().success());
}

#[test]
fn the_terminal_is_given_back_when_signals_end_the_run() {
    let served = Served::start(&["--fault=stall:1"]);
    for signals in [&[Signal::INT][..], &[Signal::TERM], &[Signal::TERM, Signal::TERM]] {
        let terminal = Terminal::new();
        let mut run = terminal.spawn(&served.load(LONG, &["--live"]), Stdio::null());
        terminal.wait_for("q ends the run");
        for &signal in signals {
            // The second one may find that it has ended.
            let _gone = kill_process(Pid::from_child(&run.0), signal);
        }
        run.wait();
        terminal.settle();
        assert!(terminal.is_usual(), "{signals:?}");
    }
}

/// Processor time of a running process and of those that it waits for.
fn processor_time(pid: u32) -> Duration {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis((ticks(11) + ticks(12)) * 10)
}

/// The process that runs under `setsid`.
fn program_below(pid: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    children.trim().parse().unwrap_or(pid)
}

#[test]
fn a_terminal_that_goes_away_ends_what_it_shows_and_not_the_run() {
    let served = Served::start(&[]);
    for options in [&["--live"][..], &[], &["--until=p99:1%", "--live"]] {
        let terminal = Terminal::new();
        let folder = tempfile::tempdir().unwrap();
        let result = folder.path().join("r.json");
        let load = served.load(4, options);
        // A shell would pass the hangup on, which asks for an early end.
        let mut command = Command::new("sh");
        command
            .args(["-c", "trap '' HUP; exec \"$0\" \"$@\""])
            .arg(load.get_program())
            .args(load.get_args())
            .arg("--output")
            .arg(&result);
        command.env("TERM", "xterm-256color");
        let mut run = terminal.spawn(&command, Stdio::null());
        terminal.wait_for("50");
        thread::sleep(Duration::from_millis(500));
        let program = program_below(run.0.id());
        terminal.close();
        thread::sleep(Duration::from_secs(1));
        let spent = processor_time(program);
        assert!(spent < Duration::from_millis(1500), "{options:?}: it spins: {spent:?}");
        run.wait();
        let document: serde_json::Value = serde_json::from_slice(&fs::read(&result).unwrap()).unwrap();
        assert_eq!(document["summary"]["replies"], 200, "{options:?}: the run ends as planned");
    }
}

#[test]
fn a_terminal_that_takes_nothing_does_not_hold_up_a_run() {
    let served = Served::start(&[]);
    for options in [&["--live"][..], &[]] {
        let terminal = Terminal::new();
        terminal.resize(60, 400);
        let mut run = terminal.spawn(&served.load(4, options), Stdio::piped());
        terminal.wait_for("50");
        terminal.look_away();
        // The picture changes as a whole, so that what nobody reads fills the terminal.
        for columns in [390, 200, 300, 120] {
            terminal.resize(60, columns);
            thread::sleep(Duration::from_millis(300));
        }
        assert!(run.wait().success(), "{options:?}");
        assert_eq!(Report::parse(&run.stdout()).unwrap().number("replies"), 200.0, "{options:?}");
    }
}

#[test]
fn colours_are_left_out_on_request() {
    let served = Served::start(&[]);
    // `ESC [ 36 m` and `ESC [ 38 ; 5 ; 6 m` set a colour; `ESC [ 39 m` and `ESC [ 49 m` end it.
    let has_colour = |bytes: &str| {
        let sequences = bytes.split("\x1b[").skip(1).filter_map(|sequence| sequence.split_once('m'));
        let modes = sequences.flat_map(|(modes, _)| modes.split(';').map(str::parse));
        modes.flatten().any(|mode: u8| matches!(mode, 30..=38 | 40..=48 | 90..=107))
    };
    for (value, expected) in [(None, true), (Some("1"), false), (Some(""), true)] {
        let mut terminal = Terminal::new();
        let mut command = served.load(LONG, &["--live"]);
        if let Some(value) = value {
            command.env("NO_COLOR", value);
        }
        let mut run = terminal.spawn(&command, Stdio::null());
        wait_for_second(&terminal);
        terminal.press(b"q");
        assert!(run.wait().success());
        assert_eq!(has_colour(&terminal.bytes()), expected, "NO_COLOR={value:?}");
    }
}

#[test]
fn a_full_screen_view_that_is_impossible_is_refused_before_the_run() {
    let refusal = |command: &mut Command| {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        // The echo line alone.
        assert_eq!(output.stdout.split(|&byte| byte == b'\n').count(), 2);
        String::from_utf8(output.stderr).unwrap()
    };
    let served = Served::start(&[]);
    assert_eq!(
        refusal(&mut served.load(1, &["--live"])),
        "httperf: --live: expected a terminal on standard error\n"
    );
    let terminal = Terminal::new();
    let mut run = terminal.spawn(&served.load(1, &["--live", "--print-lifetimes"]), terminal.stdout());
    assert_eq!(run.wait().code(), Some(1));
    let expected = "--live: expected no option that prints to the same terminal while the run goes on";
    terminal.wait_for(&expected[..60]);
    assert!(terminal.is_usual());
}

/// The lines of a log, each an object.
fn lines(path: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "the last line is not complete: {text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn sum(lines: &[serde_json::Value], name: &str) -> u64 {
    lines.iter().map(|line| line[name].as_u64().unwrap()).sum()
}

#[test]
fn the_interval_log_has_the_whole_run() {
    let served = Served::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    fs::write(&path, "what was there before").unwrap();
    let log = format!("--interval-log={}", path.display());
    let output = served.load(2, &["--num-conns=80", &log]).output().unwrap();
    assert!(output.status.success());
    let report = Report::parse(&String::from_utf8(output.stdout).unwrap()).unwrap();
    let lines = lines(&path);
    assert_eq!(sum(&lines, "replies") as f64, report.number("replies"));
    assert_eq!((sum(&lines, "arrivals"), sum(&lines, "offered"), sum(&lines, "sent")), (80, 80, 80));
    let of_classes: u64 = lines
        .iter()
        .flat_map(|line| line["latency_classes_us"].as_array().unwrap())
        .map(|class| class[1].as_u64().unwrap())
        .sum();
    assert_eq!(of_classes, 80);
    assert_eq!(lines[0]["phase"], "measured");
    assert_eq!((lines[0]["from_s"].as_f64(), lines[0]["length_s"].as_f64()), (Some(0.0), Some(1.0)));
    assert_eq!(lines[1]["from_s"].as_f64(), Some(1.0));
}

#[test]
fn a_run_that_is_killed_keeps_its_seconds() {
    let served = Served::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let log = format!("--interval-log={}", path.display());
    let mut run = Running(served.load(LONG, &[&log]).stdout(Stdio::null()).spawn().unwrap());
    // The run is killed in the midst of its fourth second: what is tested is that time.
    thread::sleep(Duration::from_millis(3500));
    kill_process(Pid::from_child(&run.0), Signal::KILL).unwrap();
    run.wait();
    let lines = lines(&path);
    // A machine that is busy may have begun late.
    assert!((2..=4).contains(&lines.len()), "{lines:?}");
    for (number, line) in lines.iter().enumerate() {
        assert_eq!(line["from_s"].as_f64(), Some(number as f64));
        assert!(line["replies"].as_u64().unwrap() > 0, "{line}");
    }
}

#[test]
fn a_disk_that_fills_up_is_reported_at_once_and_the_run_goes_on() {
    let served = Served::start(&[]);
    let mut command = served.load(3, &["--interval-log=/dev/full"]);
    let mut run = Running(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let mut stderr = BufReader::new(run.0.stderr.take().unwrap());
    let mut message = String::new();
    stderr.read_line(&mut message).unwrap();
    let expected =
        "httperf: --interval-log: cannot write `/dev/full`: No space left on device (os error 28)\n";
    assert_eq!(message, expected);
    assert!(run.0.try_wait().unwrap().is_none(), "it was not said at once, or the run ended with it");
    assert_eq!(run.wait().code(), Some(1));
    let report = Report::parse(&run.stdout()).unwrap();
    assert_eq!(report.number("replies"), 150.0);
    let mut rest = String::new();
    stderr.read_line(&mut rest).unwrap();
    assert_eq!(but_for_the_verdict(&rest), "", "it was said more than once");
}

#[test]
fn an_interval_log_that_cannot_be_written_ends_it_before_the_run() {
    let served = Served::start(&[]);
    let output = served.load(1, &["--interval-log=/nonexistent/file"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "httperf: --interval-log: cannot write `/nonexistent/file`: No such file or directory (os error 2)\n"
    );
    let output = served.load(1, &["--interval-log=-"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        String::from_utf8(output.stderr).unwrap(),
        "httperf: --interval-log: expected the name of a file, got `-`\n"
    );
}

#[test]
fn a_quiet_run_says_nothing_but_errors() {
    let served = Served::start(&[]);
    let options = ["--num-conns=1", "--debug=1", "--add-header=a\\q\\n", "--use-timer-cache", "yes"];
    let noisy = served.load(1, &options).output().unwrap();
    let messages = but_for_the_verdict(&String::from_utf8_lossy(&noisy.stderr));
    assert_eq!(messages.lines().count(), 3, "{messages}");
    let quiet = served.load(1, &options).arg("--quiet").output().unwrap();
    assert!(quiet.status.success());
    assert_eq!(String::from_utf8_lossy(&quiet.stderr), "");
    let wrong = httperf().args(["--quiet", "--server="]).output().unwrap();
    assert!(!wrong.stderr.is_empty());
    let both = httperf().args(["--quiet", "--live"]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&both.stderr), "httperf: --live cannot be used with --quiet\n");
}
