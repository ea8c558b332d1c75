//! `httperf import`: recordings as files, and what it refuses.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::program::{Exit, Invocation, Outcome, under_test};
use crate::support::words;
use tempfile::TempDir;

const LOG: &str = r#"10.0.0.1 - - [22/Nov/2026:22:42:30 +0000] "GET /a HTTP/1.1" 200 2 "-" "curl"
10.0.0.2 - - [22/Nov/2026:22:42:30 +0000] "GET /b HTTP/1.1" 404 2 "-" "curl"
not a line of a log
"#;

const HAR: &str = r#"{"log":{"entries":[{"startedDateTime":"2026-01-02T03:04:05Z","time":5,"request":{"method":"GET",
"url":"https://shop.example/x","headers":[]},"response":{"status":200}},{"request":{"method":"GET",
"url":"https://cdn.example/y","headers":[]},"response":{"status":200}}]}}"#;

const OPENAPI: &str = r#"{"openapi":"3.0.0","servers":[{"url":"https://shop.example"}],"paths":{"/a":{"get":{},
"delete":{}}}}"#;

const GOREPLAY: &str = "1 a 1000000000 0\nGET /g HTTP/1.1\r\nHost: a\r\n\r\n\n🐵🙈🙉\n";

/// A folder with recordings in it.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().expect("a folder") };
        for (name, content) in [
            ("access.log", LOG),
            ("shop.har", HAR),
            ("shop.sh", "curl 'https://shop.example/c' -d a=1 --compressed\n"),
            ("api.json", OPENAPI),
            ("requests.gor", GOREPLAY),
        ] {
            fs::write(bench.path(name), content).expect("the folder takes files");
        }
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the command; `@name` stands for a file in the folder.
    fn import(&self, arguments: &str) -> Outcome {
        let arguments = arguments.replace('@', &format!("{}/", self.folder.path().display()));
        let mut invocation = Invocation::new(&under_test(), words(&format!("import {arguments}")));
        invocation.limit = Duration::from_secs(60);
        invocation.run().expect("the program can be started")
    }

    #[track_caller]
    fn succeeds(&self, arguments: &str) -> (String, String) {
        let outcome = self.import(arguments);
        let [stdout, stderr] = texts(&outcome);
        assert_eq!(outcome.exit, Exit::Code(0), "{stdout}{stderr}");
        (stdout, stderr)
    }

    #[track_caller]
    fn is_refused(&self, arguments: &str, message: &str) {
        let outcome = self.import(arguments);
        let [stdout, stderr] = texts(&outcome);
        let stderr = stderr.replace(&format!("{}/", self.folder.path().display()), "@");
        assert_eq!((outcome.exit, &stdout[..]), (Exit::Code(1), ""), "{stderr}");
        assert_eq!(
            stderr.split_once("import: ").map(|(_, said)| said.trim_end()),
            Some(message),
            "{arguments}"
        );
    }

    /// The names of the files in a folder.
    fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).expect("the folder is there");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("it can be read").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

fn texts(outcome: &Outcome) -> [String; 2] {
    [&outcome.stdout, &outcome.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}

#[test]
fn a_log_becomes_a_trace_in_a_file_or_on_standard_output() {
    let bench = Bench::new();
    let (stdout, stderr) = bench.succeeds("log @access.log -o @a.trace");
    assert_eq!(stdout, "");
    assert!(stderr.contains("carried over: 2\nleft out 1: lines that are not of the format\n"), "{stderr}");
    assert!(stderr.contains("note: recorded to 1 s; the requests of a second are spread evenly"), "{stderr}");
    let trace = fs::read_to_string(bench.path("a.trace")).unwrap();
    let lines: Vec<&str> = trace.lines().collect();
    assert_eq!(
        lines,
        [
            r#"{"httperf-trace":1,"from":"combined","resolution_ns":1000000000,"stamps":"end without a duration","began":"2026-11-22T22:42:30.25Z"}"#,
            r#"{"at":0.0,"client":0,"method":"GET","uri":"/a","headers":[["User-Agent","curl"]],"status":200}"#,
            r#"{"at":0.5,"client":1,"method":"GET","uri":"/b","headers":[["User-Agent","curl"]],"status":404}"#,
        ]
    );
    assert_eq!(bench.succeeds("log @access.log --output -").0, trace);
    assert_eq!(
        bench
            .succeeds("log @access.log --format apache --client-by agent -o -")
            .0
            .matches("\"client\":0")
            .count(),
        2
    );
    let (requests, _) = bench.succeeds("goreplay @requests.gor -o -");
    assert!(
        requests.ends_with("{\"at\":0.0,\"client\":0,\"method\":\"GET\",\"uri\":\"/g\"}\n"),
        "{requests}"
    );
}

#[test]
fn other_recordings_become_a_folder_with_a_workload() {
    let bench = Bench::new();
    let (_, stderr) = bench.succeeds("har @shop.har -o @har");
    assert!(stderr.contains("har/shop.toml and 1 file of steps\n"), "{stderr}");
    assert!(stderr.contains("left out 1: requests to other origins"), "{stderr}");
    assert!(stderr.ends_with("har/shop.toml --visits 1 --trace\n"), "{stderr}");
    assert_eq!(bench.names("har"), ["no-page.hurl", "shop.toml"]);
    bench.succeeds("curl @shop.sh -o @curl");
    assert_eq!(bench.names("curl"), ["shop.hurl", "shop.toml"]);
    bench.succeeds("openapi @api.json -o @api");
    assert_eq!(bench.names("api"), ["api.toml", "delete-a.hurl", "get-a.hurl"]);
    let toml = fs::read_to_string(bench.path("api/api.toml")).unwrap();
    assert!(toml.contains("    { weight = 1, run = \"get-a.hurl\" },\n    # { weight"), "{toml}");
    let (hurl, _) = bench.succeeds("curl @shop.sh -o -");
    assert!(hurl.starts_with("POST {{base}}/c\n") && hurl.contains("[Form]\na: 1\n"), "{hurl}");
    assert!(bench.succeeds("har @shop.har --all-origins -o -").0.contains("GET https://cdn.example/y\n"));
}

#[test]
fn a_byte_order_mark_is_skipped_before_every_recording() {
    let bench = Bench::new();
    for (kind, name) in [
        ("log", "access.log"),
        ("har", "shop.har"),
        ("curl", "shop.sh"),
        ("openapi", "api.json"),
        ("goreplay", "requests.gor"),
    ] {
        let plain = fs::read(bench.path(name)).unwrap();
        let (marked, kind_of) =
            (format!("marked-{name}"), bench.succeeds(&format!("{kind} @{name} -o @{kind}-plain")).1);
        fs::write(bench.path(&marked), ["\u{feff}".as_bytes(), &plain].concat()).unwrap();
        let (_, account) = bench.succeeds(&format!("{kind} @{marked} -o @{kind}-marked"));
        let carried = |account: &str| {
            account.split("carried over: ").nth(1).map(|rest| rest.lines().next().unwrap().to_owned())
        };
        assert_eq!(carried(&account), carried(&kind_of), "{account}");
        if let (Ok(plain), Ok(marked)) =
            (fs::read(bench.path(&format!("{kind}-plain"))), fs::read(bench.path(&format!("{kind}-marked"))))
        {
            assert_eq!(String::from_utf8(marked), String::from_utf8(plain), "{kind}");
        }
    }
}

#[test]
fn the_next_command_works_as_it_is_printed() {
    let bench = Bench::new();
    fs::write(bench.path("no server.json"), r#"{"openapi":"3.0.0","paths":{"/a":{"get":{}}}}"#).unwrap();
    fs::copy(bench.path("access.log"), bench.path("-o.log")).unwrap();
    for (kind, name) in [
        ("log", "access.log"),
        ("log", "./-o.log"),
        ("har", "shop.har"),
        ("curl", "shop.sh"),
        ("openapi", "api.json"),
        ("openapi", "no server.json"),
        ("goreplay", "requests.gor"),
    ] {
        let in_folder = |program: &Path, words: &[&str]| {
            let mut invocation = Invocation::new(program, words);
            invocation.folder = Some(bench.folder.path().to_owned());
            invocation.limit = Duration::from_secs(60);
            invocation.run().expect("the program can be started")
        };
        let outcome = in_folder(&under_test(), &["import", kind, name, "--force"]);
        let [_, stderr] = texts(&outcome);
        let next =
            stderr.lines().find_map(|line| line.strip_prefix("next: httperf ")).expect("a next command");
        let check = if next.starts_with("run ") { " --check" } else { "" };
        let script = format!("'{}' {next}{check}", under_test().display());
        let outcome = in_folder(Path::new("/bin/sh"), &["-c", &script]);
        assert_eq!(outcome.exit, Exit::Code(0), "{next}: {:?}", texts(&outcome));
    }
}

#[test]
fn files_are_replaced_only_if_asked_for_and_none_is_left_half_written() {
    let bench = Bench::new();
    bench.succeeds("log @access.log -o @a.trace");
    bench.is_refused(
        "log @access.log -o @a.trace",
        "--output: expected a file that does not exist yet, got `@a.trace`\nhint: --force replaces files",
    );
    bench.succeeds("log @access.log -o @a.trace --force");
    bench.succeeds("curl @shop.sh -o @curl");
    fs::remove_file(bench.path("curl/shop.toml")).unwrap();
    bench.is_refused(
        "curl @shop.sh -o @curl",
        "--output: expected a file that does not exist yet, got `@curl/shop.hurl`\nhint: --force replaces files",
    );
    assert_eq!(bench.names("curl"), ["shop.hurl"]);
    fs::write(bench.path("bad.log"), "nothing\n").unwrap();
    let before = bench.names(".");
    assert_eq!(bench.import("log @bad.log --format common -o @b.trace").exit, Exit::Code(1));
    assert_eq!(bench.names("."), before);
}

#[test]
fn bad_words_and_recordings_are_refused() {
    let bench = Bench::new();
    fs::write(bench.path("bad.log"), "nothing\n").unwrap();
    for (arguments, message) in [
        ("", "expected a kind of recording (log, har, curl, openapi, goreplay), got none"),
        ("pcap x", "expected a kind of recording (log, har, curl, openapi, goreplay), got `pcap`"),
        ("log", "log: expected the name of one file, got 0"),
        ("har a b", "har: expected the name of one file, got 2"),
        ("har x --format common", "--format: does nothing for har"),
        ("curl x --idle 5", "--idle: does nothing for curl"),
        ("log x --all-origins", "--all-origins: does nothing for log"),
        ("curl x --one-visit", "--one-visit: does nothing for curl"),
        ("log x --idle 0", "--idle: expected a number of seconds above 0, got `0`"),
        (
            "log x --client-by ip",
            "--client-by: expected request, or address, agent and user joined by `+`, got `ip`",
        ),
        (
            "log x --format squid",
            "--format: expected a format by name (caddy, traefik-json, w3c, iis, cloudfront, haproxy, alb, \
             ingress-nginx, traefik, vhost_combined, combined, nginx, apache, common), nginx's log_format or Apache's \
             LogFormat, got `squid`",
        ),
        ("log @missing.log", "@missing.log: cannot be read: No such file or directory (os error 2)"),
        (
            "log @bad.log",
            "@bad.log: expected a log in one of the forms caddy, traefik-json, w3c, haproxy, alb, ingress-nginx, traefik, vhost_combined, combined, common, got `nothing`\nhint: --format \
             takes the server's own log_format or LogFormat",
        ),
        ("har @bad.log", "@bad.log:1:2: expected ident"),
        ("curl @bad.log", "@bad.log:1: expected a command of curl, got `nothing`"),
        (
            "openapi @api.json -o -",
            "--output: expected a folder for a workload with 2 files of steps, got `-`",
        ),
    ] {
        bench.is_refused(arguments, message);
    }
}
