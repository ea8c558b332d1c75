//! Files while a run goes on and behind it: disks that fill up, processes that are killed, files that are something else.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::bench::Bench;
use crate::support::program::{Exit, under_test};

/// Checks that each line of a table has as many columns as the first, and that the last one ends.
#[track_caller]
fn check_whole(table: &Path) -> usize {
    let text = fs::read_to_string(table).expect("a table");
    assert!(text.ends_with('\n'), "{}: it ends within a row", table.display());
    let columns = |line: &str| line.matches(',').count();
    let mut lines = text.lines();
    let head = columns(lines.next().expect("the names of the columns"));
    assert!(lines.clone().all(|line| columns(line) == head), "{}: a row is cut short", table.display());
    lines.count()
}

fn httperf() -> Command {
    Command::new(under_test())
}

#[test]
fn a_limit_on_the_size_of_files_is_met_as_a_full_disk_is() {
    let bench = Bench::new();
    let run = |option: &str| {
        let arguments = format!("--server 127.0.0.1 --port {} --rate 300 --duration 2 {option}", bench.port);
        let script = format!("ulimit -f 16; exec \"$0\" {arguments}");
        let mut command = Command::new("bash");
        command.args(["-c", &script]).arg(under_test()).current_dir(bench.folder.path());
        command.output().expect("bash is there")
    };
    for option in ["--calls c.csv", "--interval-log i.log --calls c.csv"] {
        let output = run(option);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.status.signal()), (Some(1), None), "{option}: {said}");
        assert!(said.contains("--calls: cannot write `c.csv`: File too large"), "{option}: {said}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("Total: connections 600 "), "{option}");
        assert!(check_whole(&bench.path("c.csv")) > 50, "what fits is there");
    }
    let refused = run("--output r.json");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.status.code() == Some(1) && said.contains("cannot write `r.json`"), "{said}");
}

#[test]
fn a_table_of_calls_ends_with_a_whole_row_when_the_program_is_killed() {
    let bench = Bench::new();
    for wait_ms in [300, 650] {
        let table = bench.path(&format!("{wait_ms}.csv"));
        let mut run = httperf()
            .args(["--server", "127.0.0.1", "--port", &bench.port.to_string(), "--request-rate", "700"])
            .args(["--duration", "20", "--calls"])
            .arg(&table)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("it starts");
        // Rows are written when there are enough of them, on a busy machine later.
        let began = Instant::now();
        while fs::metadata(&table).map_or(0, |file| file.len()) < 20_000 && began.elapsed().as_secs() < 15 {
            thread::sleep(Duration::from_millis(10));
        }
        thread::sleep(Duration::from_millis(wait_ms));
        run.kill().expect("it runs");
        run.wait().expect("it has ended");
        assert!(check_whole(&table) > 100, "most of the calls are there");
    }
}

#[test]
fn a_sweep_that_is_resumed_keeps_its_tables_whole() {
    let bench = Bench::new();
    let url = format!("http://127.0.0.1:{}/", bench.port);
    let sweep =
        "--rates 20,40,60 --duration 0.3 --pause 0 --settle 0 --drain 0.1 --output @s.json --csv @s.csv";
    assert_eq!(bench.command(&format!("sweep {url} {sweep}")).exit, Exit::Code(0));
    let rows = |name: &str| bench.read(name).lines().count() - 1;
    assert_eq!(rows("s.csv"), 3);
    // As it was after the first of the three.
    let mut document: serde_json::Value = serde_json::from_str(&bench.read("s.json")).expect("JSON");
    document["runs"].as_array_mut().expect("runs").truncate(1);
    fs::write(bench.path("s.json"), document.to_string()).expect("a file");
    let table: String = bench.read("s.csv").lines().take(2).map(|line| format!("{line}\n")).collect();
    fs::write(bench.path("s.csv"), table).expect("a file");
    assert_eq!(bench.command("sweep --resume @s.json").exit, Exit::Code(0));
    assert_eq!(rows("s.csv"), 3);

    // A document cannot have another file replaced.
    document["runs"].as_array_mut().expect("runs").truncate(1);
    fs::write(bench.path("s.json"), document.to_string()).expect("a file");
    fs::write(bench.path("s.csv"), "precious\n").expect("a file");
    assert_eq!(bench.command("sweep --resume @s.json").exit, Exit::Code(0));
    assert_eq!(bench.read("s.csv"), "precious\n");
}

#[test]
fn a_file_that_is_no_document_is_told_what_it_is() {
    let bench = Bench::new();
    let files =
        "--interval-log @i.log --calls @c.csv --html @p.html --junit @x.xml --hgrm @h.hgrm --svg @s.svg";
    assert_eq!(bench.run(&format!("--rate 50 --num-conns 60 {files}")).exit, Exit::Code(0));
    let first: String = bench.read("i.log").lines().take(1).map(str::to_owned).collect();
    fs::write(bench.path("one.log"), first).expect("a file");
    for (name, what) in [
        ("i.log", "a log of intervals (--interval-log)"),
        ("one.log", "a log of intervals (--interval-log)"),
        ("c.csv", "a table of calls (--calls)"),
        ("p.html", "a page (--html)"),
        ("x.xml", "a file of test cases (--junit)"),
        ("h.hgrm", "a distribution of latency (--hgrm)"),
        ("s.svg", "a picture (--svg)"),
    ] {
        for command in ["report", "rerun", "compare @i.log"] {
            let outcome = bench.command(&format!("{command} @{name}"));
            let said = String::from_utf8_lossy(&outcome.stderr).into_owned();
            let expected = if command.starts_with("compare") { "a log of intervals" } else { what };
            assert!(outcome.exit == Exit::Code(1) && said.contains(expected), "{command} {name}: {said}");
        }
    }
}
