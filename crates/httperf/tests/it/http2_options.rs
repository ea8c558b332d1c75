//! Command lines that ask for HTTP/2 in a way that cannot be: what is said, and with which exit status.

use std::fs;

use crate::support::reference::{Outcome, ours};

/// Command lines that are refused, in the words of the golden file.
const REFUSED: &[&[&str]] = &[
    // Versions.
    &["--http-version=3"],
    &["--http-version=2x"],
    &["--http-version="],
    &["--http-version=2.1", "--server=127.0.0.1"],
    &["--http-version=3.0", "--server=127.0.0.1"],
    &["--http-version=auto", "--server=127.0.0.1"],
    // How a connection comes to it.
    &["--http-version=2", "--tls-alpn=http/1.1", "--server=127.0.0.1"],
    &["--http-version=2", "--tls-alpn=h2,spdy/3", "--server=127.0.0.1"],
    &["--tls-alpn=h2", "--server=127.0.0.1"],
    &["--http-version=2", "--tls-max=1.1", "--server=127.0.0.1"],
    &["--http-version=auto", "--ssl-protocol=TLSv1.1", "--server=127.0.0.1"],
    &["--http-version=2", "--proxy=http://127.0.0.1:3128", "--server=127.0.0.1"],
    // Streams.
    &["--streams=0"],
    &["--streams=many", "--http-version=2"],
    &["--streams=8", "--concurrency=2"],
    &["--streams=8", "--concurrency=2", "--http-version=1.0"],
    &["--streams=8", "--http-version=2"],
    &["--streams=8", "--http-version=2", "--rate=10", "--concurrency=2"],
    &["--streams=8", "--http-version=2", "--wsess=1,1,0"],
    &["--streams=8", "--http-version=2", "--concurrency=2", "--burst-length=2"],
    &["--streams=8", "--http-version=2", "--concurrency=2", "--call-pause=1"],
    &["--pipeline=8", "--http-version=2", "--concurrency=2"],
    &["--pipeline=8", "--http-version=auto", "--concurrency=2", "--ssl"],
    &["--pipeline=8", "--streams=8", "--http-version=2", "--concurrency=2"],
    // Sizes.
    &["--h2-window=0", "--http-version=2"],
    &["--h2-window=2147483648", "--http-version=2"],
    &["--h2-window=2g", "--http-version=2"],
    &["--h2-window=-1", "--http-version=2"],
    &["--h2-window=64KiB", "--http-version=2"],
    &["--h2-window=", "--http-version=2"],
    &["--h2-window=99999999999999999999", "--http-version=2"],
    &["--h2-connection-window=65534", "--http-version=2"],
    &["--h2-connection-window=2147483648", "--http-version=2"],
    &["--h2-header-table=16777217", "--http-version=2"],
    &["--h2-header-table=4294967296", "--http-version=2"],
    &["--h2-header-table=half", "--http-version=2"],
    &["--h2-max-frame=16383", "--http-version=2"],
    &["--h2-max-frame=16m", "--http-version=2"],
    &["--h2-window=1m"],
    &["--h2-connection-window=1m", "--http-version=1.1"],
    &["--h2-header-table=0"],
    &["--h2-max-frame=16384", "--http-version=1.0"],
    // Requests.
    &["--http-version=2", "--server=127.0.0.1", "--method=CONNECT"],
    &["--http-version=2", "--server=127.0.0.1", "--uri=x"],
    &["--http-version=2", "--server=127.0.0.1", "--uri="],
    &["--http-version=2", "--server=127.0.0.1", "--wlog=y,uris"],
    &["--http-version=2", "--server=127.0.0.1", "--wsesslog=1,0,session"],
    &["--http-version=2", "--server=127.0.0.1", "--add-header=A: b"],
    &["--http-version=2", "--server=127.0.0.1", "--add-header=:authority: b\\n"],
    &["--http-version=2", "--server=127.0.0.1", "--add-header=A: b\\n\\nbody"],
    &["--http-version=2", "--server=127.0.0.1", "--add-header-file=fields"],
];

#[test]
fn http2_that_cannot_be_spoken_is_refused_in_one_sentence() {
    let folder = files();
    let mut text = String::new();
    for argv in REFUSED {
        let Outcome { status, stdout, stderr } = ours(argv, folder.path());
        assert_eq!(status, 1, "{argv:?}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{argv:?}: {stderr}");
        assert!(!stderr.trim_end().ends_with('.'), "{argv:?}: {stderr}");
        assert!(stdout.lines().count() <= 1, "nothing but the echo line: {argv:?}: {stdout}");
        text += &format!("$ httperf '{}'\n{stdout}{stderr}\n", argv.join("' '"));
    }
    insta::assert_snapshot!(text);
}

#[test]
fn other_commands_that_run_take_the_same_options() {
    let folder = files();
    for command in ["sweep", "capacity", "ab"] {
        let Outcome { stderr, .. } = ours(&[command, "--h2-window=0"], folder.path());
        assert!(
            stderr.contains("--h2-window: expected a number of bytes from 1 to 2147483647, got `0`"),
            "{command}: {stderr}"
        );
    }
}

#[test]
fn header_fields_that_are_left_out_are_named_before_the_run() {
    let folder = files();
    let argv = [
        "--http-version=2",
        "--server=127.0.0.1",
        "--header=Connection: close",
        "--header=Upgrade: foo/2",
        "--header=connection: x",
        "--num-conns=0",
        "--report=classic",
    ];
    let Outcome { status, stderr, .. } = ours(&argv, folder.path());
    assert_eq!(
        (status, &stderr[..]),
        (
            0,
            "httperf: warning: HTTP/2 forbids header fields called `Connection`, `Upgrade`; they are left out where it \
             is spoken\n"
        )
    );
}

#[test]
fn a_result_says_what_was_asked_for_and_is_run_again_if_that_can_be() {
    let folder = files();
    let run =
        ["--http-version=2", "--server=127.0.0.1", "--num-conns=0", "--h2-window=64k", "--output=r.json"];
    let Outcome { status, stdout, .. } = ours(&[&run[..], &["--report=full"]].concat(), folder.path());
    assert_eq!(status, 0);
    assert!(stdout.contains("\nHTTP/2 streams  opened 0, "), "{stdout}");
    let Outcome { status, stdout, .. } = ours(&["rerun", "r.json", "--report=full"], folder.path());
    assert_eq!(status, 0);
    assert!(stdout.contains("\nHTTP/2 streams  opened 0, "), "{stdout}");

    let path = folder.path().join("r.json");
    let json = fs::read_to_string(&path).expect("the run has written it");
    assert!(json.contains("\"window\": 65536"), "{json}");
    fs::write(&path, json.replace("\"window\": 65536", "\"window\": 0")).expect("it can be written to");
    let Outcome { status, stderr, .. } = ours(&["rerun", "r.json"], folder.path());
    let field = "plan.http2.window: expected a number from 1 to 2147483647, got 0";
    assert!(
        status == 1 && stderr.starts_with("httperf rerun: `r.json`: ") && stderr.contains(field),
        "{stderr}"
    );
}

/// A folder with the files that the command lines name.
fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    for (name, contents) in
        [("uris", "/a\nhttp://127.0.0.1/b\n"), ("session", "/a\n  b\n"), ("fields", "A: b\r\nno field\r\n")]
    {
        fs::write(folder.path().join(name), contents).expect("it can be written to");
    }
    folder
}
