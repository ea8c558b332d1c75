//! Secrets show nowhere: not on a terminal, in no message, page or table, and in no document that others may read.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::support::bench::Bench;
use crate::support::program::{Exit, Outcome};

/// Begins every secret that is planted.
const PLANTED: &str = "S3CRET";

/// Options with secrets. `PORT` stands for that of the server.
const OPTIONS: [&str; 9] = [
    "--bearer S3CRET-a --header 'X-Api-Key: S3CRET-b' --header 'Cookie: id=S3CRET-c'",
    "--basic-auth bob:S3CRET-d --add-header 'X-Auth-Token: S3CRET-e\\n'",
    "--add-header 'Authorization: Bearer S3CRET-f\\nAccept: */*\\n' --proxy http://u:S3CRET-g@127.0.0.1:PORT",
    "--form 'password=S3CRET-h' --form 'pin=S3CRET-i'",
    "--body '{\"client_secret\": \"S3CRET-j\", \"n\": 1}' --header 'PRIVATE-TOKEN: S3CRET-k'",
    "--uri '/a?access_token=S3CRET-l&x=1' --exemplars 2",
    "--otlp http://u:S3CRET-m@127.0.0.1:PORT/ --influx 'http://127.0.0.1:PORT/write?db=x&u=me&p=S3CRET-n'",
    "--bea=S3CRET-o --slo p99<1us",
    "--header 'X-Amz-Security-Token: S3CRET-p' --uri '/b?sig=S3CRET-q' --print-lifetimes -v",
];

/// Command lines that are refused, or whose run fails.
const REFUSED: [&str; 9] = [
    "http://bob:S3CRET-r@127.0.0.1:1/ --num-conns 1",
    "http://bob:S3CRET/r@127.0.0.1:1/ --num-conns 1",
    "bob:S3CRET-r@127.0.0.1:1 --num-conns 1",
    "--bearer 'S3CRET s'",
    "--basic-auth S3CRET",
    "--proxy https://u:S3CRET@h",
    "--otlp ftp://u:S3CRET@h/",
    "--header 'Authorization S3CRET' --header 'Cookie: S3CRET\u{1}'",
    "http://a/?key=S3CRET http://b:1/?token=S3CRET",
];

#[track_caller]
fn check_shown(outcome: &Outcome, command: &str) {
    for (what, bytes) in [("stdout", &outcome.stdout), ("stderr", &outcome.stderr)] {
        let text = String::from_utf8_lossy(bytes);
        assert!(!text.contains(PLANTED), "{command}: {what}: {text}");
    }
}

/// Checks the files of a command: those for others have no secret, and what has one is for its owner alone.
#[track_caller]
fn check_files(bench: &Bench, command: &str) {
    for entry in fs::read_dir(bench.folder.path()).expect("a folder").map(|entry| entry.expect("an entry")) {
        let path = entry.path();
        let text = String::from_utf8_lossy(&fs::read(&path).expect("a file")).into_owned();
        let mode = fs::metadata(&path).expect("a file").permissions().mode() & 0o777;
        if path.extension().is_some_and(|extension| extension == "json") {
            assert!(
                !text.contains(PLANTED) || mode == 0o600,
                "{command}: {} has mode {mode:o}",
                path.display()
            );
        } else {
            assert!(!text.contains(PLANTED), "{command}: {}: {text}", path.display());
        }
        fs::remove_file(&path).expect("it is ours");
    }
}

#[test]
fn what_is_secret_shows_in_no_output_of_any_command() {
    let bench = Bench::new();
    for options in OPTIONS {
        let options = options.replace("PORT", &bench.port.to_string());
        let files = "--output @r.json --html @p.html --csv @t.csv --junit @x.xml --svg @s.svg --calls @c.csv \
                     --interval-log @i.log --hgrm @h.hgrm";
        let command = format!("--num-conns 2 --timeout 5 --report full {options}");
        check_shown(&bench.run(&format!("{command} {files}")), &command);
        fs::rename(bench.path("r.json"), bench.path("kept.json")).expect("it was written");
        for form in ["text", "html", "csv", "json", "junit", "hgrm"] {
            check_shown(&bench.command(&format!("report --format {form} @kept.json")), form);
        }
        check_shown(&bench.command("rerun @kept.json --report full --html @again.html"), "rerun");
        check_shown(&bench.command("merge @kept.json"), "merge");
        check_shown(&bench.command("compare --force @kept.json @kept.json --html @compared.html"), "compare");
        check_files(&bench, &command);
        check_shown(&bench.run(&format!("--num-conns 2 --timeout 5 --json {options}")), &options);
    }
    let server = format!("http://127.0.0.1:{}/", bench.port);
    let secrets = "--bearer S3CRET-1 --header 'X-Api-Key: S3CRET-2' --timeout 5";
    for command in [
        format!("sweep {server} --rates 20,40 --duration 0.3 --pause 0 --settle 0 {secrets}"),
        format!(
            "capacity {server} --start 20 --max-rate 40 --trials 2 --trial-min 0.3 --trial-max 0.3 --pause 0 {secrets}"
        ),
        format!(
            "ab {server} --a '--bearer S3CRET-3' --b '--bearer S3CRET-4' --num-conns 5 --rate 50 --rounds 2 --force --trial 0.2"
        ),
    ] {
        let files = "--output @r.json --html @p.html --csv @t.csv";
        check_shown(&bench.command(&format!("{command} {files}")), &command);
        check_files(&bench, &command);
    }
    for command in REFUSED {
        let outcome = bench.command(command);
        assert_eq!(outcome.exit, Exit::Code(1), "{command}");
        check_shown(&outcome, command);
    }
}

/// A server that answers each connection once and tells the heads of requests.
fn recording_server() -> (u16, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let (tell, heads) = channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (mut head, mut buffer) = (Vec::new(), [0; 4096]);
            while !head.ends_with(b"\r\n\r\n")
                && let Ok(size @ 1..) = stream.read(&mut buffer)
            {
                head.extend_from_slice(&buffer[..size]);
            }
            let _answered = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
            if tell.send(String::from_utf8_lossy(&head).into_owned()).is_err() {
                return;
            }
        }
    });
    (port, heads)
}

#[test]
fn a_saved_document_runs_again_with_its_secrets_and_a_printed_one_is_refused() {
    let bench = Bench::new();
    let (port, heads) = recording_server();
    let saved =
        bench.command(&format!("http://127.0.0.1:{port}/ --num-conns 1 --bearer S3CRET-a --output @r.json"));
    assert_eq!(saved.exit, Exit::Code(0));
    let mode = fs::metadata(bench.path("r.json")).expect("it was written").permissions().mode() & 0o777;
    assert_eq!(mode, 0o600);
    assert_eq!(bench.command("rerun @r.json").exit, Exit::Code(0));
    for _ in 0..2 {
        let head = heads.recv_timeout(Duration::from_secs(10)).expect("a request");
        assert!(head.contains("Authorization: Bearer S3CRET-a\r\n"), "{head}");
    }

    let printed = bench.run("--num-conns 1 --bearer S3CRET-a --json");
    fs::write(bench.path("printed.json"), &printed.stdout).expect("a file");
    let refused = bench.command("rerun @printed.json");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(refused.exit == Exit::Code(1) && said.contains("its secrets were left out"), "{said}");
    // What has no secrets can be printed and run.
    let printed = bench.run("--num-conns 1 --json");
    fs::write(bench.path("printed.json"), &printed.stdout).expect("a file");
    assert_eq!(bench.command("rerun @printed.json").exit, Exit::Code(0));
}
