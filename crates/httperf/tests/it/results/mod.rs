//! Results as files: written, rendered again, run again, added up; and what happens where they cannot be.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use crate::support::bench::{Bench, run};
use crate::support::program::{Exit, Invocation, Outcome, but_for_the_verdict, stderr, stdout, under_test};
use crate::support::words;
use httperf_report::csv_header;
use serde_json::{Value, json};

#[track_caller]
fn succeeds(outcome: &Outcome) -> String {
    assert_eq!(outcome.exit, Exit::Code(0), "{}{}", stdout(outcome), stderr(outcome));
    stdout(outcome)
}

#[track_caller]
fn fails(outcome: &Outcome, message: &str) {
    assert_eq!((outcome.exit, &*stderr(outcome)), (Exit::Code(1), message), "{}", stdout(outcome));
}

/// The document as JSON, which its schema allows.
#[track_caller]
fn document(text: &str) -> Value {
    static VALIDATOR: OnceLock<jsonschema::Validator> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| {
        let schema = stdout(&run("schema result"));
        jsonschema::validator_for(&serde_json::from_str(&schema).expect("it is JSON"))
            .expect("it is a schema")
    });
    let document = serde_json::from_str(text).expect("the document is JSON");
    let errors: Vec<String> =
        validator.iter_errors(&document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
    document
}

#[test]
fn every_kind_of_result_is_written_and_follows_the_schema() {
    let bench = Bench::new();
    let list = bench.path("list");
    fs::write(&list, b"/a\0/status/404\0").expect("written");
    for arguments in [
        "--num-conns 20 --num-calls 3",
        "--rate 200 --num-conns 100 --split uri --wlog=y,@list",
        "--wsess=10,4,0 --rate 100 --burst-length 2 --split status",
        "--period e0.005 --runtime 1.5 --num-conns 100000 --warmup 0.5 --drain 1",
        "--num-conns 3 --record classic",
        "--num-conns 0",
        "--period v0.01,0.1,0.02,0.1 --num-conns 30 --exemplars 0",
    ] {
        succeeds(&bench.run(&format!("{arguments} --output @r.json")));
        let document = document(&bench.read("r.json"));
        assert_eq!((&document["format"], &document["version"]), (&"httperf-result".into(), &1.into()));
    }
    let unreachable = run(&bench.expand("--server 127.0.0.1 --port 9 --num-conns 3 --output @refused.json"));
    succeeds(&unreachable);
    assert_eq!(document(&bench.read("refused.json"))["summary"]["errors"]["connrefused"], 3);
}

#[test]
fn a_result_renders_again_as_it_was_reported() {
    let bench = Bench::new();
    let printed = succeeds(&bench.run(
        "--rate 200 --num-conns 200 --report full --output @r.json --html @r.html --csv @r.csv --hgrm @r.hgrm",
    ));
    let (_, report) = printed.split_once('\n').expect("an echo line");
    assert_eq!(succeeds(&bench.command("report @r.json")), report);
    for (format, file) in [("html", "r.html"), ("csv", "r.csv"), ("hgrm", "r.hgrm"), ("json", "r.json")] {
        let rendered = succeeds(&bench.command(&format!("report --format {format} @r.json")));
        assert!(rendered == bench.read(file), "{format} renders differently");
    }
    let both = succeeds(&bench.command("report @r.json @r.json"));
    assert_eq!(both.matches("==> ").count(), 2);
    assert_eq!(succeeds(&bench.command("report --format csv @r.json @r.json")).lines().count(), 3);
}

#[test]
fn standard_output_can_carry_the_document_alone() {
    let bench = Bench::new();
    let printed = succeeds(&bench.run("--num-conns 5 --output -"));
    assert_eq!(document(&printed)["summary"]["replies"], 5);
    for arguments in ["--json --output @r.json", "--output @r.json --json"] {
        let printed = succeeds(&bench.run(&format!("--num-conns 5 {arguments}")));
        assert_eq!(document(&printed)["summary"]["replies"], 5, "{arguments}");
        assert_eq!(bench.read("r.json"), printed, "{arguments}");
        fs::remove_file(bench.path("r.json")).expect("it is ours");
    }
}

#[test]
fn rows_of_csv_gather_under_one_header() {
    let bench = Bench::new();
    for rate in [100, 200] {
        succeeds(&bench.run(&format!("--rate {rate} --num-conns 50 --csv @sweep.csv")));
    }
    let table = bench.read("sweep.csv");
    let firsts: Vec<&str> = table.lines().filter_map(|line| line.split(',').next()).collect();
    assert_eq!(firsts, ["dem_req_rate", "100.0", "200.0"]);
}

#[test]
fn a_plan_that_is_run_again_offers_the_same_at_the_same_times() {
    let bench = Bench::new();
    let due = |file: &str| -> Vec<(u64, String)> {
        let table = bench.read(file);
        let mut rows: Vec<(u64, String)> = table
            .lines()
            .skip(1)
            .map(|line| {
                let fields: Vec<&str> = line.split(',').collect();
                (fields[0].parse().expect("a number"), format!("{} {}", fields[1], fields[13]))
            })
            .collect();
        rows.sort();
        rows
    };
    succeeds(&bench.run(
        "--period e0.004 --num-conns 200 --client 3/7 --wset=20,.7 --output @r.json --calls @first.csv",
    ));
    succeeds(&bench.command("rerun @r.json --calls @second.csv --output @again.json"));
    assert_eq!(due("first.csv").len(), 200);
    assert_eq!(due("first.csv"), due("second.csv"));
    assert_eq!(document(&bench.read("again.json"))["plan"], document(&bench.read("r.json"))["plan"]);
}

#[test]
fn results_of_generators_that_worked_together_add_up() {
    let bench = Bench::new();
    for index in 0..3 {
        succeeds(&bench.run(&format!("--rate 100 --num-conns 50 --client {index}/3 --output @{index}.json")));
    }
    let merged = succeeds(&bench.command("merge @2.json @0.json @1.json"));
    assert_eq!(succeeds(&bench.command("merge @0.json @1.json @2.json")), merged, "in any order");
    let document = document(&merged);
    assert_eq!(
        (&document["summary"]["replies"], document["parts"].as_array().map(Vec::len)),
        (&150.into(), Some(3))
    );
    assert_eq!(succeeds(&bench.command("merge @0.json @1.json @2.json --output @all.json")), "");
    assert_eq!(bench.read("all.json"), merged);
    succeeds(&bench.run("--rate 100 --num-conns 60 --client 1/3 --output @other.json"));
    fails(
        &bench.command("merge @0.json @2.json @other.json"),
        &format!(
            "httperf merge: `{}` and `{}` have plans that differ in workload.connections.count (50 and 60)\n",
            bench.path("0.json").display(),
            bench.path("other.json").display()
        ),
    );
}

#[test]
fn the_exit_status_says_the_verdict_if_it_is_asked_to() {
    let bench = Bench::new();
    let exit = |arguments: &str| bench.run(arguments).exit;
    assert_eq!(exit("--num-conns 5"), Exit::Code(0), "few calls");
    assert_eq!(exit("--num-conns 5 --strict"), Exit::Code(2), "few calls");
    let mut starved = Invocation::new(
        &under_test(),
        words(&format!(
            "--server 127.0.0.1 --port {} --rate 2000 --num-conns 300 --uri /delay/500ms --strict",
            bench.port
        )),
    );
    starved.descriptors = Some(30);
    let outcome = starved.run().expect("the program can be started");
    assert_eq!(outcome.exit, Exit::Code(3), "{}", stderr(&outcome));
    assert!(stderr(&outcome).contains(": verdict: INVALID: descriptors: "), "{}", stderr(&outcome));
    assert!(stderr(&outcome).contains(": warning: open files: "), "it was said before: {}", stderr(&outcome));
}

#[test]
fn a_run_ends_when_it_has_measured_exactly_enough() {
    let bench = Bench::new();
    // The server takes 0.1 s, and the interval is a small part of that: ten seconds suffice, the minimum.
    let arguments =
        "--uri /delay/100ms --rate 100 --num-conns 100000 --runtime 50 --until p50:50% --output @r.json";
    succeeds(&bench.run(arguments));
    let document = document(&bench.read("r.json"));
    assert_eq!(document["parts"][0]["ended_early"], "exact");
    let seconds = document["figures"]["duration_s"].as_f64().expect("a number");
    assert!((9.5..40.0).contains(&seconds), "{seconds}");
}

#[test]
fn what_cannot_be_written_is_said_before_anything_is_sent() {
    let bench = Bench::new();
    for option in ["--output", "--html", "--csv", "--hgrm", "--calls"] {
        let outcome = bench.run(&format!("--num-conns 5 {option} @no/such/folder"));
        let path = bench.path("no/such/folder");
        let message = format!("httperf: {option}: cannot write `{}`: ", path.display());
        assert!(stderr(&outcome).starts_with(&message), "{}", stderr(&outcome));
        assert_eq!(
            (outcome.exit, stdout(&outcome).lines().count()),
            (Exit::Code(1), 1),
            "the echo line alone"
        );
    }
}

#[test]
fn a_disk_that_is_full_costs_the_file_and_not_the_report() {
    let bench = Bench::new();
    for option in ["--output", "--html", "--hgrm", "--csv"] {
        let outcome = bench.run(&format!("--num-conns 5 {option} /dev/full"));
        let expected =
            format!("httperf: {option}: cannot write `/dev/full`: No space left on device (os error 28)");
        assert_eq!((outcome.exit, &*but_for_the_verdict(&stderr(&outcome))), (Exit::Code(1), &*expected));
        assert!(
            stdout(&outcome).contains("Total: connections 5 requests 5 replies 5"),
            "{}",
            stdout(&outcome)
        );
    }
}

#[test]
fn a_result_that_cannot_be_used_is_refused_in_a_sentence() {
    let bench = Bench::new();
    fs::write(bench.path("other.json"), "{\"format\": \"something\"}").expect("written");
    fs::write(bench.path("broken.json"), "{\"format\": ").expect("written");
    let name = |file: &str| bench.path(file).display().to_string();
    for command in ["report", "merge", "rerun"] {
        fails(
            &bench.command(&format!("{command} @none.json")),
            &format!(
                "httperf {command}: cannot read `{}`: No such file or directory (os error 2)\n",
                name("none.json")
            ),
        );
        fails(
            &bench.command(&format!("{command} @other.json")),
            &format!(
                "httperf {command}: `{}`: not a result of httperf: its `format` is not `httperf-result`\n",
                name("other.json")
            ),
        );
        fails(
            &bench.command(&format!("{command} @broken.json")),
            &format!(
                "httperf {command}: `{}`: not JSON: EOF while parsing a value at line 1 column 11\n",
                name("broken.json")
            ),
        );
    }
    fails(&bench.command("report"), "httperf report: expected the name of a document, got none\n");
    fails(&bench.command("merge"), "httperf merge: expected the names of results, got none\n");
    fails(&bench.command("rerun"), "httperf rerun: expected the name of one result, got 0\n");
    fails(
        &bench.command("report --format pdf @other.json"),
        "httperf report: --format: expected one of text, json, html, csv, tsv, markdown, junit, hgrm, got `pdf`\n",
    );
    succeeds(&bench.run("--num-conns 2 --output @r.json"));
    fails(
        &bench.command("report --format tsv @r.json"),
        &format!(
            "httperf report: --format: expected a form that a result has (text, json, html, csv, junit, hgrm) for `{}`, \
             got `tsv`\n",
            name("r.json")
        ),
    );
    fails(
        &bench.command("report --format html @a @b"),
        "httperf report: --format: html takes one file, got 2\n",
    );
}

/// Documents that older versions of the program wrote; none of them is ever replaced.
#[test]
fn documents_of_every_version_so_far_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/results/versions");
    let mut count = 0;
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be listed").path();
        let printed = succeeds(&run(&format!("report {}", path.display())));
        assert!(printed.contains("\nVerdict: "), "{}: {printed}", path.display());
        count += 1;
    }
    assert!(count > 0, "there is at least one");
}

/// Runs the program in a shell, in which `$HTTPERF` is the program with a server, for a minute at most.
fn shell(bench: &Bench, script: &str) -> (Option<i32>, String, String) {
    let program = under_test();
    let httperf = format!("{} --server 127.0.0.1 --port {}", program.display(), bench.port);
    let outcome = Command::new("timeout")
        .args(["60", "sh", "-c", script])
        .env("HTTPERF", httperf)
        .env("PROGRAM", program)
        .current_dir(bench.folder.path())
        .output()
        .expect("there is a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (outcome.status.code(), text(&outcome.stdout), but_for_the_verdict(&text(&outcome.stderr)))
}

#[test]
fn a_result_is_written_where_there_is_no_folder_for_temporary_files() {
    let bench = Bench::new();
    let (code, _, stderr) = shell(
        &bench,
        "TMPDIR=/no/such/folder $HTTPERF --num-conns 3 --output r.json --html r.html --csv r.csv && \
         TMPDIR=/no/such/folder $PROGRAM plot r.json --output r.svg && \
         TMPDIR=/no/such/folder $PROGRAM merge r.json --output all.json",
    );
    assert_eq!((code, &*stderr), (Some(0), ""));
    for name in ["r.json", "r.html", "r.csv", "r.svg", "all.json"] {
        assert!(!bench.read(name).is_empty(), "{name}");
    }
}

#[test]
fn a_result_is_written_where_the_folder_is_mounted_elsewhere_too() {
    let bench = Bench::new();
    // The working folder was reached by a mount that is gone from where it was: its absolute path leads elsewhere.
    let script = "mkdir here over && touch here/old.json && cd here && \
                  unshare -rm sh -c 'mount --bind ../over . && \
                  $HTTPERF --num-conns 3 --output r.json && $HTTPERF --num-conns 3 --output old.json && \
                  $PROGRAM plot r.json --output r.svg'";
    let (allowed, ..) = shell(&bench, "unshare -rm true");
    if allowed != Some(0) {
        return;
    }
    let (code, _, stderr) = shell(&bench, script);
    assert_eq!((code, &*stderr), (Some(0), ""));
    let names = |folder: &str| -> Vec<String> {
        let entries = fs::read_dir(bench.path(folder)).expect("it is there");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        (names("here"), names("over")),
        (vec!["old.json".into(), "r.json".into(), "r.svg".into()], vec![])
    );
}

#[test]
fn a_pipe_with_a_reader_takes_a_result() {
    let bench = Bench::new();
    let (code, stdout, stderr) = shell(
        &bench,
        "mkfifo pipe && { cat pipe > read.json & } && $HTTPERF --num-conns 3 --output pipe --hgrm /dev/fd/3 3> r.hgrm && \
         wait && test -p pipe && $HTTPERF --num-conns 3 --csv /dev/stdout > both.txt",
    );
    assert_eq!((code, &*stderr), (Some(0), ""));
    assert!(stdout.contains("Total: connections 3"), "{stdout}");
    document(&bench.read("read.json"));
    assert!(bench.read("r.hgrm").contains("Percentile"), "{}", bench.read("r.hgrm"));
    let both = bench.read("both.txt");
    assert!(both.starts_with("httperf ") || both.starts_with('/'), "the echo line comes first: {both}");
    assert!(both.contains("\nTotal: connections 3") && both.contains("\ndem_req_rate,"), "{both}");
}

#[test]
fn a_pipe_that_nobody_reads_is_said_before_anything_is_sent() {
    let bench = Bench::new();
    for option in ["--output", "--csv", "--calls", "--interval-log"] {
        let (code, stdout, stderr) =
            shell(&bench, &format!("rm -f pipe; mkfifo pipe && $HTTPERF --num-conns 3 {option} pipe"));
        assert_eq!(code, Some(1), "{option}: {stderr}");
        assert!(stderr.contains(&format!("{option}: cannot write ")), "{stderr}");
        assert!(stderr.ends_with(": nobody reads from this pipe"), "{stderr}");
        assert!(!stdout.contains("Total:"), "{stdout}");
    }
}

#[test]
fn a_reader_that_does_not_read_loses_its_file_and_not_the_report() {
    let bench = Bench::new();
    // The page is larger than what a pipe holds. The first signal ends what nobody takes.
    let (_, stdout, _) = shell(
        &bench,
        "mkfifo pipe && { sleep 50 < pipe & } && reader=$! && \
         { $HTTPERF --num-conns 300 --rate 300 --html pipe --csv r.csv > report & } && program=$! && \
         until test -s r.csv; do sleep 0.1; done; sleep 0.5; kill $program; wait $program; echo status $?; kill $reader; \
         cat report",
    );
    assert!(stdout.starts_with("status 143\n"), "{stdout}");
    assert!(stdout.contains("Total: connections 300"), "{stdout}");
}

#[test]
fn a_table_that_is_not_ours_is_left_alone_and_said_before_anything_is_sent() {
    let bench = Bench::new();
    let path = bench.path("t.csv").display().to_string();
    let ours = csv_header();
    for (text, line, expected) in [
        ("time,rate\n1,2\n".to_owned(), 1, "expected the names of httperf's columns (dem_req_rate,"),
        (
            format!("{ours}1,2"),
            2,
            "expected a line that ends, got `1,2`, which a new row would continue\nhint: ",
        ),
    ] {
        fs::write(&path, &text).expect("it can be written");
        let outcome = bench.run("--num-conns 3 --csv @t.csv");
        let start = format!("httperf: --csv: {path}:{line}: {expected}");
        assert!(stderr(&outcome).starts_with(&start), "{}", stderr(&outcome));
        assert_eq!((outcome.exit, stdout(&outcome).lines().count()), (Exit::Code(1), 1));
        assert_eq!(bench.read("t.csv"), text);
    }
}

#[test]
fn one_file_for_two_outputs_is_refused_before_anything_is_sent() {
    let bench = Bench::new();
    let outcome = bench.run("--num-conns 3 --output @a --html @./a");
    let expected = format!(
        "httperf: --html: expected a file of its own, got `{}`, which --output names too\n",
        bench.path("./a").display()
    );
    assert_eq!((outcome.exit, &*stderr(&outcome)), (Exit::Code(1), &*expected));
    assert_eq!(bench.run("--num-conns 3 --calls @a --csv @a").exit, Exit::Code(1));
    let sweep =
        format!("sweep --server 127.0.0.1 --port {} --rates 10 --num-conns 1 --csv @a --tsv @a", bench.port);
    let outcome = bench.command(&sweep);
    assert!(stderr(&outcome).contains("--tsv: expected a file of its own"), "{}", stderr(&outcome));
}

#[test]
fn a_file_that_is_read_is_never_written() {
    let bench = Bench::new();
    let url = format!("http://127.0.0.1:{}/", bench.port);
    succeeds(&bench.run("--num-conns 5 --rate 100 --output @r.json"));
    succeeds(&bench.run("--num-conns 5 --rate 100 --output @other.json"));
    succeeds(&bench.command("new @shop"));
    for (name, text) in [
        ("body", "text"),
        ("options.toml", "[options]\nrate = 5\n"),
        ("log", "127.0.0.1 - - [10/Oct/2026:13:55:36 +0000] \"GET /a HTTP/1.0\" 200 2\n"),
    ] {
        fs::write(bench.path(name), text).expect("written");
    }
    std::os::unix::fs::symlink(bench.path("r.json"), bench.path("link")).expect("linked");
    fs::hard_link(bench.path("body"), bench.path("second-name")).expect("linked");
    for (command, option, file, why) in [
        (
            "--body-file @body --output @second-name URL",
            "--output",
            "second-name",
            "which --body-file names too",
        ),
        (
            "--add-header-file @body --interval-log @./body URL",
            "--interval-log",
            "./body",
            "which --add-header-file names too",
        ),
        ("run @shop.toml --base URL --output @shop.toml", "--output", "shop.toml", "which is read"),
        ("run @shop.toml --check --html @shop.hurl", "--html", "shop.hurl", "which is read"),
        ("run @options.toml --base URL --calls @options.toml", "--calls", "options.toml", "which is read"),
        ("replay @log URL --csv @log", "--csv", "log", "which is read"),
        ("import log @log --output @log --force", "--output", "log", "which is read"),
        ("rerun @r.json --html @link", "--html", "link", "which is read"),
        ("compare @r.json @other.json --html @other.json", "--html", "other.json", "which is read"),
        ("plot @link --format svg --output @r.json", "--output", "r.json", "which is read"),
        ("merge @r.json --output @r.json", "--output", "r.json", "which is read"),
        (
            "sweep URL --rates 5 --num-conns 1 --body-file @body --csv @body",
            "--csv",
            "body",
            "which --body-file names too",
        ),
        (
            "capacity URL --slo p99<1s --body-file @body --json --output @body",
            "--output",
            "body",
            "which --body-file names too",
        ),
        (
            "ab URL URL --rounds 1 --force --trial 0.1 --body-file @body --svg @body",
            "--svg",
            "body",
            "which --body-file names too",
        ),
    ] {
        let before = fs::read(bench.path(file)).expect("it is there");
        let outcome = bench.command(&command.replace("URL", &url));
        let expected =
            format!("{option}: expected a file of its own, got `{}`, {why}\n", bench.path(file).display());
        assert!(stderr(&outcome).ends_with(&expected), "{command}: {}", stderr(&outcome));
        assert_eq!(outcome.exit, Exit::Code(1), "{command}");
        assert_eq!(fs::read(bench.path(file)).expect("it is there"), before, "{command}");
    }
    let counts = bench.stop();
    assert_eq!(counts.requests, 10, "only the first two runs sent something");
}

#[test]
fn a_sweep_goes_on_in_the_file_that_it_was_in_and_writes_nothing_else_there() {
    let bench = Bench::new();
    let target = format!("--server 127.0.0.1 --port {}", bench.port);
    succeeds(
        &bench.command(&format!("sweep {target} --rates 50,100 --num-conns 5 --settle 0 --output @s.json")),
    );
    succeeds(&bench.command("sweep --resume @s.json --output @s.json"));
    for outputs in ["--csv @s.json", "--output @t.json --csv @s.json"] {
        let outcome = bench.command(&format!("sweep --resume @s.json {outputs}"));
        assert!(stderr(&outcome).contains(": expected a file of its own, got `"), "{}", stderr(&outcome));
    }
}

#[test]
fn a_file_that_cannot_be_written_at_the_end_does_not_keep_the_others() {
    let bench = Bench::new();
    let outcome = bench
        .run("--num-conns 3 --output /dev/full --html @r.html --csv /dev/full --hgrm @r.hgrm --calls @c");
    assert_eq!(outcome.exit, Exit::Code(1));
    assert_eq!(stderr(&outcome).matches("No space left on device").count(), 2, "{}", stderr(&outcome));
    assert!(stdout(&outcome).contains("Total: connections 3"));
    assert!(bench.read("r.html").contains("</html>") && bench.read("r.hgrm").contains("Percentile"));
    assert_eq!(bench.read("c").lines().count(), 4);
}

#[test]
fn nothing_is_added_up_twice() {
    let bench = Bench::new();
    for index in 0..3 {
        succeeds(&bench.run(&format!("--num-conns 5 --client {index}/3 --output @{index}.json")));
    }
    succeeds(&bench.command("merge @0.json @1.json --output @two.json"));
    let name = |file: &str| bench.path(file).display().to_string();
    let refused = |files: [&str; 2]| {
        let outcome = bench.command(&format!("merge @{} @{}", files[0], files[1]));
        let start = format!(
            "httperf merge: `{}` and `{}` hold the same run, started on ",
            name(files[0]),
            name(files[1])
        );
        assert!(stderr(&outcome).starts_with(&start), "{}", stderr(&outcome));
        assert!(stderr(&outcome).ends_with(": expected each run once\n"), "{}", stderr(&outcome));
        assert_eq!(outcome.exit, Exit::Code(1));
    };
    fs::copy(bench.path("0.json"), bench.path("copy.json")).expect("it can be copied");
    refused(["0.json", "0.json"]);
    refused(["0.json", "copy.json"]);
    refused(["two.json", "1.json"]);
    refused(["two.json", "two.json"]);
    succeeds(&bench.command("merge @two.json @2.json"));
    succeeds(&bench.run("--num-conns 5 --client 2/3 --output @again.json"));
    fails(
        &bench.command("merge @2.json @again.json"),
        &format!(
            "httperf merge: `{}` and `{}` are both of client 2/3: expected each generator of a run once\n",
            name("2.json"),
            name("again.json")
        ),
    );
}

#[test]
fn a_plan_without_what_it_needs_is_refused_by_the_path_of_the_field() {
    let bench = Bench::new();
    fs::write(bench.path("script"), "/a\n    /b\n\n/c\n").expect("written");
    let arguments = "--wsesslog=2,0.01,@script --period v0.01,0.02,0.02,0.01 --client 1/3 --output @r.json";
    succeeds(&bench.run(arguments));
    let saved = document(&bench.read("r.json"));
    let empty = "expected at least one element, got none";
    for (pointer, new, field, problem) in [
        ("/plan/targets", json!([]), "targets", empty),
        ("/plan/uris", json!({"requests": []}), "uris.requests", empty),
        ("/plan/uris", json!({"list": {"uris": [], "wrap": true}}), "uris.list.uris", empty),
        ("/plan/workload/sessions/script/file", json!([]), "workload.sessions.script.file", empty),
        (
            "/plan/workload/sessions/script/file/0/bursts/0/requests",
            json!([]),
            "workload.sessions.script.file[0].bursts[0].requests",
            empty,
        ),
        ("/plan/arrivals/variable", json!([]), "arrivals.variable", empty),
        (
            "/plan/arrivals/variable/1/period",
            json!("none"),
            "arrivals.variable[1].period",
            "expected 0 seconds or more, got NaN",
        ),
        (
            "/plan/client/count",
            json!(0),
            "client.count",
            "invalid value: integer `0`, expected a nonzero u32",
        ),
        (
            "/plan/threads",
            json!(9),
            "threads",
            "expected a number from 1 to 2, as no more threads have work, got 9",
        ),
        (
            "/plan/http2/max_frame",
            json!(1),
            "http2.max_frame",
            "expected a number from 16384 to 16777215, got 1",
        ),
    ] {
        let mut edited = saved.clone();
        *edited.pointer_mut(pointer).expect("it is there") = new;
        fs::write(bench.path("edited.json"), edited.to_string()).expect("written");
        let outcome = bench.command("rerun @edited.json");
        let said = stderr(&outcome);
        let name = bench.path("edited.json");
        assert_eq!(outcome.exit, Exit::Code(1), "{field}: {said}");
        assert!(said.starts_with(&format!("httperf rerun: `{}`: not a ", name.display())), "{said}");
        assert!(said.contains(&format!(": plan.{field}: {problem}")), "{field}: {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// Ways to the values of a plan, as JSON pointers.
fn pointers(value: &Value, at: &str, found: &mut Vec<String>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(name, field)| (name.clone(), field)).collect(),
        Value::Array(elements) => (0..).map(|place: usize| place.to_string()).zip(elements).collect(),
        _ => Vec::new(),
    };
    for (name, value) in inner {
        pointers(value, &format!("{at}/{name}"), found);
    }
    found.push(at.to_owned());
}

#[test]
fn a_plan_that_was_edited_is_run_or_refused_in_a_sentence() {
    let bench = Bench::new();
    fs::write(bench.path("script"), "/a\n    /b\n\n/c\n").expect("written");
    let arguments = "--wsesslog=2,0.01,@script --period v0.01,0.02,0.02,0.01 --client 1/3 --output @r.json";
    succeeds(&bench.run(arguments));
    let mut document = document(&bench.read("r.json"));
    let mut found = Vec::new();
    pointers(&document["plan"], "/plan", &mut found);
    let replacements =
        [json!(0), json!(-1), json!(1e308), json!(u64::MAX), json!(""), json!([]), json!(null)];
    let all = found.iter().flat_map(|pointer| replacements.iter().map(move |new| (pointer, new)));
    // Some of them, in no step with the replacements.
    for (pointer, new) in all.step_by(23) {
        let place = document.pointer_mut(pointer).expect("it is there");
        let old = std::mem::replace(place, new.clone());
        fs::write(bench.path("edited.json"), document.to_string()).expect("written");
        *document.pointer_mut(pointer).expect("it is still there") = old;
        // It is planned as a run is, and ends where the result cannot be written.
        let outcome = bench.command("rerun @edited.json --output @no/such/folder");
        let said = stderr(&outcome);
        assert_eq!(outcome.exit, Exit::Code(1), "{pointer} = {new}: {said}");
        assert!(
            said.starts_with("httperf rerun: ") && !said.contains("panicked"),
            "{pointer} = {new}: {said}"
        );
    }
}
