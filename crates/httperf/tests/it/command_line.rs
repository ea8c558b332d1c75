//! Output for a command line, before any load is offered: the echo line, help, the version.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::support::reference::{Outcome, is_installed, ours, theirs};
use httperf_testkit::server::{Behaviour, Server};

fn run(argv: &[&str]) -> Outcome {
    ours(argv, Path::new("/"))
}

/// Stops both programs after the echo line: the empty name of a server cannot be resolved.
const NOWHERE: &str = "--server=";

/// Command lines whose echo must be that of the classic program.
const ECHOED: &[&[&str]] = &[
    &[],
    &["--port=0"],
    &["--port", " +8080"],
    &["--num-conns=2", "--num-calls", "3", "--burst-length=2"],
    &["--rate=33.33333333", "--timeout=1.5", "--think-timeout", "0x1p-1"],
    &["--rate", "1234567", "--uri="],
    &["--rate=inf", "--client=0x1/010z"],
    &["--period=0.1", "--http-version=1.0x", "--server-name=www.example.com"],
    &["--period=U.05,0.1", "--send-buffer=010", "--recv-buffer= +99"],
    &["--period=e0.001", "--hog", "--close-with-reset", "--method="],
    &["--rate=5", "--period=0", "--add-header="],
    &["--period=dnan", "--add-header=A: b\\n", "--method", "A B"],
    &["--print-reply", "header", "--uri", "/x y"],
    &["--print-reply=B", "--print-request=Hallo", "-vv"],
    &["--failure-status=404", "--max-connections=900", "--max-piped-calls=700"],
    &["--wset=0x10,.25", "--wlog=y,/etc/hostname"],
    &["--wset=0,1", "--num-conns=1"],
    &[
        "--wsess=1,2,0.0005",
        "--burst-length=2",
        "--retry-on-failure",
        "--timeout=1",
        "--rate=1e3",
        "--num-conns=9",
    ],
    &["--wsesspage=01,0x2,.5", "--session-cookies", "--burst-length=3"],
    &["--ssl-no-reuse", "--ssl-ciphers=ALL"],
    &["--no-host-hdr", "-d", "7", "--timeout=inf"],
    &["--timeout=nan", "--think-timeout=0", "--rate=-0"],
    &["--timeout=-1", "--think-timeout=-0.5"],
    &["--timeout", "-1", "--think-timeout=2"],
    &["--timeout=2", "--think-timeout=-inf"],
];

#[test]
fn the_echo_line_is_that_of_the_classic_program() {
    if !is_installed() {
        return;
    }
    for &options in ECHOED {
        let argv = [&[NOWHERE], options].concat();
        let theirs = theirs(&argv, Path::new("/"));
        assert_eq!(run(&argv).echo_line(), theirs.echo_line(), "{argv:?}");
    }
}

#[test]
fn all_options_at_once_are_echoed_in_the_classic_order() {
    let before = "--server= --port 1 -v --print-reply=h --print-request=b --hog --close-with-reset \
                  --think-timeout 1.5 --timeout 2 --client 1/4 --server-name q --failure-status 500 \
                  --http-version 1.0 --max-connections=2 --max-piped-calls 8 --period u0.1,0.3 --send-buffer 8888 \
                  --retry-on-failure --recv-buffer 9999 --session-cookies --ssl-no-reuse --add-header";
    let after = "--method GET --wsess=1,1,0 --burst-length 4 --wset 5,.25";
    let argv: Vec<&str> =
        before.split_whitespace().chain(["A: b\\n"]).chain(after.split_whitespace()).collect();
    assert_eq!(
        run(&argv).echo_line(),
        "httperf --verbose --print-reply=header --print-request=body --hog --close-with-reset --think-timeout=1.5 \
         --timeout=2 --client=1/4 --server= --server_name=q --port=1 --uri=/ --failure-status=500 \
         --http-version=1.0 --max-connections=2 --max-piped-calls=8 --period=u0.1,0.3 --send-buffer=8888 \
         --retry-on-failure --recv-buffer=9999 --session-cookies --ssl-no-reuse --add-header='A: b\\n' \
         --method=GET --wsess=1,1,0.000 --burst-length=4 --wset=5,0.250"
    );
    if is_installed() {
        assert_eq!(run(&argv).echo_line(), theirs(&argv, Path::new("/")).echo_line());
    }
}

#[test]
fn a_url_is_echoed_as_the_options_it_stands_for() {
    let outcome = run(&["http://127.0.0.1:1/a?b=c#d"]);
    assert_eq!(
        outcome.echo_line(),
        "httperf --client=0/1 --server=127.0.0.1 --server-name=127.0.0.1:1 --port=1 --uri=/a?b=c --send-buffer=4096 \
         --recv-buffer=16384 --num-conns=1 --num-calls=1"
    );
}

#[test]
fn a_url_beside_an_option_that_says_the_target_is_passed_over_with_a_warning() {
    for argv in
        [["--server=", "--uri=/x", "http://127.0.0.1:1/a"], ["http://127.0.0.1:1/a", "--server=", "--uri=/x"]]
    {
        let outcome = run(&argv);
        assert!(outcome.echo_line().contains(" --server= --port=80 --uri=/x "), "{}", outcome.stdout);
        assert_eq!(
            outcome.stderr,
            "httperf: warning: ignoring the URL `http://127.0.0.1:1/a`, as --server says what is loaded: http:///x\n\
             httperf.core_addr_intern: invalid server address \n"
        );
    }
}

#[test]
fn every_command_loads_what_options_say_and_not_what_a_url_says() {
    let (meant, other) = (Server::start(Behaviour::ok()).unwrap(), Server::start(Behaviour::ok()).unwrap());
    let url = format!("http://127.0.0.1:{}/other", other.port());
    let port = format!("--port={}", meant.port());
    let target = format!("http://localhost:{}/", meant.port());
    for words in [
        &["--num-conns=2"][..],
        &["sweep", "--rates=50", "--num-conns=5", "--settle=0"],
        &[
            "capacity",
            "--slo=p50<10s",
            "--trials=1",
            "--trial-min=0.1",
            "--trial-max=0.1",
            "--max-rate=50",
            "--pause=0",
        ],
        &[
            "ab",
            "--a=",
            "--b=--uri=/b",
            "--rounds=1",
            "--force",
            "--trial=0.1",
            "--warmup=0",
            "--concurrency=1",
        ],
    ] {
        let before = meant.connections().len();
        let output =
            Command::new(env!("CARGO_BIN_EXE_httperf")).args(words).args([&url, &port]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(meant.connections().len() > before, "{words:?}: {stderr}");
        let warning = format!("warning: ignoring the URL `{url}`, as --port says what is loaded: {target}");
        assert_eq!(stderr.lines().filter(|line| line.ends_with(&warning)).count(), 1, "{words:?}: {stderr}");
    }
    assert!(other.finish().is_empty(), "the URL was loaded");
}

#[test]
fn two_urls_that_are_compared_leave_no_room_for_another_target() {
    let outcome = run(&["ab", "http://a/", "http://b/", "--port=1"]);
    assert_eq!(
        (outcome.status, &outcome.stderr[..]),
        (1, "httperf ab: --port: expected none beside two URLs, which say what is compared\n")
    );
}

#[test]
fn a_program_started_by_another_name_goes_by_it() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("ourperf");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_httperf"), &link).unwrap();
    let run = |argv: &[&str]| Command::new(&link).args(argv).output().unwrap();

    let typed = link.to_str().unwrap();
    let bogus = run(&["--bogus"]);
    assert_eq!(String::from_utf8(bogus.stderr).unwrap(), format!("{typed}: unrecognized option '--bogus'\n"));
    let port = run(&["--port=x"]);
    assert_eq!(String::from_utf8(port.stderr).unwrap(), "ourperf: illegal port number x\n");
    assert!(run(&["--server="]).stdout.starts_with(b"ourperf --client=0/1 "));
}

#[test]
fn stray_words_are_ignored_with_one_warning() {
    let outcome = run(&["--server=", "foo", "--hog", "bar baz"]);
    assert!(outcome.echo_line().starts_with("httperf --hog "));
    assert_eq!(
        outcome.stderr,
        "httperf: warning: ignoring what is neither an option nor a URL: `foo`, `bar baz`\n\
         httperf.core_addr_intern: invalid server address \n"
    );
}

#[test]
fn after_a_double_dash_or_a_word_under_posixly_correct_nothing_is_an_option() {
    for (variable, argv) in
        [("UNRELATED", ["--server=", "--", "--bogus"]), ("POSIXLY_CORRECT", ["--server=", "word", "--bogus"])]
    {
        let output = Command::new(env!("CARGO_BIN_EXE_httperf"))
            .args(argv)
            .env_remove("POSIXLY_CORRECT")
            .env(variable, "1")
            .output()
            .unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("`--bogus`") && stderr.contains("invalid server address"), "{stderr}");
    }
}

#[test]
fn help_is_printed_in_three_forms() {
    // What they say is in the reference, which is made of the same descriptions.
    for (argv, marks) in [
        (&["-vh", "--bogus"][..], ["\n  --rate X  ", "\nAll options: `"]),
        (&["-h", "all", "--bogus"], ["\nTarget:\n", "\n      --max-piped-calls N    "]),
        (&["--hel", "--bogus"], ["\nTarget:\n", "\n      --max-piped-calls N\n          "]),
    ] {
        let outcome = run(argv);
        assert_eq!((outcome.status, &outcome.stderr[..]), (0, ""));
        assert!(outcome.stdout.starts_with("Usage: httperf [-"));
        for mark in marks {
            assert!(outcome.stdout.contains(mark), "no {mark:?} in:\n{}", outcome.stdout);
        }
    }
}

#[test]
fn every_command_has_help() {
    for command in httperf_program::commands::descriptions() {
        let words: Vec<&str> = command.name.split_whitespace().collect();
        for form in [&["-h"][..], &["-h", "all"], &["--help"]] {
            let outcome = run(&[&words[..], form].concat());
            assert_eq!((outcome.status, &outcome.stderr[..]), (0, ""), "{words:?} {form:?}");
            let usage = format!("Usage: {} [", ["httperf", command.name].join(" ").trim_end());
            assert!(outcome.stdout.starts_with(&usage), "{words:?} {form:?}: {}", outcome.stdout);
        }
    }
}

#[test]
fn help_only_helps_if_all_is_well_before_it() {
    let outcome = run(&["--port=x", "--help"]);
    assert_eq!((outcome.status, &outcome.stdout[..]), (1, ""));
}

#[test]
fn the_version_is_printed_instead_of_a_run() {
    let outcome = run(&["-V", "--bogus"]);
    assert_eq!(
        outcome.stdout,
        format!(
            "httperf: httperf-{} compiled without DEBUG without TIME_SYSCALLS.\n",
            env!("CARGO_PKG_VERSION")
        )
    );
    assert_eq!((outcome.status, &outcome.stderr[..]), (0, ""));
}

#[test]
fn the_debug_option_says_that_it_does_nothing() {
    let outcome = run(&["-dx", "--help"]);
    assert_eq!(outcome.status, 0);
    assert_eq!(
        outcome.stderr,
        "httperf: warning: --debug: no effect, as there is no debugging output; --duration X offers load for X \
         seconds, -v and --print-reply show more\n"
    );
}

#[test]
fn a_full_disk_is_reported_once() {
    for argv in [&["--help"][..], &["--server="]] {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_httperf")).args(argv).stdout(full).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            stderr,
            "httperf: cannot write to standard output: No space left on device (os error 28)\n"
        );
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = Command::new(env!("CARGO_BIN_EXE_httperf"))
        .arg("--help")
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn();
    let output = child.unwrap().wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn bytes_that_are_not_utf8_are_echoed_as_they_are() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let uri = OsStr::from_bytes(b"--uri=/\xff");
    let output =
        Command::new(env!("CARGO_BIN_EXE_httperf")).args([OsStr::new("--server="), uri]).output().unwrap();
    assert!(output.stdout.windows(9).any(|part| part == b"--uri=/\xff "));
    let output =
        Command::new(env!("CARGO_BIN_EXE_httperf")).arg(OsStr::from_bytes(b"-\xff")).output().unwrap();
    assert!(output.stderr.ends_with(b": invalid option -- '\xff'\n"));
}

#[test]
fn what_was_typed_cannot_control_the_terminal_in_a_message() {
    for (word, message) in [
        ("--bogus=\u{1b}[2J", "unrecognized option '--bogus=\\x1b[2J'"),
        ("\u{1b}]0;title\u{7}", "expected a URL such as http://host:8080/path, got `\\x1b]0;title\\x07`"),
        ("--wlog=y,\u{9b}2J", "can't open \\u{9b}2J"),
    ] {
        let said = run(&[word]).stderr;
        assert!(said.ends_with(&format!("httperf: {message}\n")), "{said}");
    }
}

#[test]
fn escape_warnings_and_an_unreadable_header_file_do_not_stop_a_run() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("empty"), "").unwrap();
    // The empty list comes after the headers, and stops the run.
    let argv = ["--server=127.0.0.1", "--add-header=a\\q\\", "--add-header-file=none", "--wlog=y,empty"];
    let outcome = ours(&argv, folder.path());
    assert_eq!(
        outcome.stderr,
        "httperf: ignoring unknown escape sequence `\\q' in --add-header\n\
         httperf: keeping the backslash at the end of the value of --add-header\n\
         httperf: failed to open header file\n\
         httperf: warning: --add-header-file: expected a \\n at the end, without which the server does not see where the \
         request ends\n\
         httperf: file empty is empty\n"
    );
    for (lines, is_warned_of) in [("A: b", true), ("A: b\\n", false), ("Content-Length: 1\\n\\nx", false)] {
        let argv = ["--server=127.0.0.1", &format!("--add-header={lines}"), "--wlog=y,empty"];
        let said = ours(&argv, folder.path()).stderr;
        assert_eq!(said.contains("--add-header: expected a \\n at the end"), is_warned_of, "{lines}: {said}");
    }
}
