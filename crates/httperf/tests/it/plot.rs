//! `httperf plot`: pictures of results, in files and on standard output, and what it refuses.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::support::program::{Exit, Invocation, Outcome, under_test};
use crate::support::terminal::Terminal;
use crate::support::words;
use httperf_origin::{Config, ListenAddress, spawn};
use tempfile::TempDir;

/// The signature of a PNG, and where its width and height are.
///
/// <https://www.w3.org/TR/png-3/#5PNG-file-signature>
const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
const SIZE_AT: usize = 16;

/// A folder with the results `a.json` and `b.json` in it.
struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        let listen: ListenAddress = "127.0.0.1:0".parse().expect("an address");
        let server = spawn(Config { listen: listen.0, ..Config::default() }).expect("a port is free");
        let port = server.tcp_address().expect("it listens on TCP").port();
        let bench = Self { folder: tempfile::tempdir().expect("a folder") };
        for name in ["a.json", "b.json"] {
            let load =
                format!("--server 127.0.0.1 --port {port} --rate 100 --num-conns 120 --output @{name}");
            succeeds(&bench.run(&load));
        }
        bench
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs the program; `@name` stands for a file in the folder.
    fn run(&self, arguments: &str) -> Outcome {
        let arguments = arguments.replace('@', &format!("{}/", self.folder.path().display()));
        let mut invocation = Invocation::new(&under_test(), words(&arguments));
        invocation.limit = Duration::from_secs(60);
        invocation.run().expect("the program can be started")
    }

    fn plot(&self, arguments: &str) -> Outcome {
        self.run(&format!("plot {arguments}"))
    }
}

#[track_caller]
fn succeeds(outcome: &Outcome) -> String {
    let [stdout, stderr] =
        [&outcome.stdout, &outcome.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(outcome.exit, Exit::Code(0), "{stdout}{stderr}");
    stdout
}

/// The width and height of a PNG.
#[track_caller]
fn size(png: &[u8]) -> (u32, u32) {
    assert!(png.starts_with(SIGNATURE), "{:?}", &png[..png.len().min(20)]);
    let number = |at: usize| u32::from_be_bytes(png[at..at + 4].try_into().expect("four bytes"));
    (number(SIZE_AT), number(SIZE_AT + 4))
}

#[test]
fn what_is_drawn_follows_from_the_files() {
    let bench = Bench::new();
    let cases = [
        ("@a.json", "<title>Percentiles of http://127.0.0.1:"),
        ("@a.json --what timeline", " over time</title>"),
        ("@a.json @b.json", "<title>Latency of http://127.0.0.1:"),
        ("@a.json @b.json --what=compare --theme=dark", "fill=\"#171C22\""),
    ];
    for (arguments, expected) in cases {
        let svg = succeeds(&bench.plot(arguments));
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{arguments}: {svg}");
        assert!(svg.contains(expected), "{arguments}: no `{expected}` in {svg}");
    }
    let svg = succeeds(&bench.plot("@a.json @b.json"));
    assert!(svg.contains("a.json") && svg.contains("b.json"), "{svg}");
}

#[test]
fn titles_labels_and_scales_are_as_asked() {
    let bench = Bench::new();
    let svg = succeeds(&bench.plot("@a.json @b.json --label before --label after --title Checkout"));
    for part in ["<title>Checkout</title>", "\nbefore", "\nafter", "Latency of http://127.0.0.1:"] {
        assert!(svg.contains(part), "{part}: {svg}");
    }
    assert!(!svg.contains("a.json"), "{svg}");
    succeeds(&bench.plot("@a.json --width 400 --height 300 --scale 2 --output @a.png"));
    assert_eq!(size(&fs::read(bench.path("a.png")).expect("it was written")), (800, 600));
    let page = succeeds(&bench.run("report @a.json --format html --title Checkout --label before"));
    assert!(
        page.contains("<strong>Checkout</strong>")
            && page.contains("<p class=\"facts-of-run\">before · http://")
    );
}

#[test]
fn a_file_is_svg_or_png_as_its_name_ends_or_as_it_is_said() {
    let bench = Bench::new();
    succeeds(&bench.plot("@a.json --output @picture.svg --width 640"));
    let svg = fs::read_to_string(bench.path("picture.svg")).expect("it was written");
    assert!(svg.contains("width=\"640\""), "{svg}");
    succeeds(&bench.plot("@a.json --output @picture.PNG --width 500 --height 400"));
    assert_eq!(size(&fs::read(bench.path("picture.PNG")).expect("it was written")), (500, 400));
    succeeds(&bench.plot("@a.json --output @picture --format png"));
    assert_eq!(size(&fs::read(bench.path("picture")).expect("it was written")).0, 800);
    assert_eq!(size(&bench.plot("@a.json --format png --what timeline").stdout).0, 800);
    assert_eq!(size(&bench.plot("@a.json --output - --format png").stdout).0, 800);
    // What was there is replaced, and nothing else is left.
    succeeds(&bench.plot("@b.json --output @picture.svg"));
    assert_ne!(fs::read_to_string(bench.path("picture.svg")).expect("it was written"), svg);
    assert_eq!(fs::read_dir(bench.folder.path()).expect("a folder").count(), 5);
}

#[test]
fn a_picture_that_cannot_be_written_leaves_what_was_there() {
    let bench = Bench::new();
    fs::create_dir(bench.path("full.svg")).expect("a folder");
    let outcome = bench.plot("@a.json --output @full.svg");
    assert_eq!(outcome.exit, Exit::Code(1));
    assert!(String::from_utf8_lossy(&outcome.stderr).contains("--output: cannot write `"), "{outcome:?}");
    fs::write(bench.path("kept.svg"), "kept").expect("a file");
    assert_eq!(bench.plot("@missing.json --output @kept.svg").exit, Exit::Code(1));
    assert_eq!(fs::read_to_string(bench.path("kept.svg")).expect("it is there"), "kept");
}

#[test]
fn a_picture_is_not_poured_over_a_terminal() {
    let bench = Bench::new();
    for format in ["svg", "png"] {
        let terminal = Terminal::new();
        let mut command = Command::new(under_test());
        command.arg("plot").arg(bench.path("a.json")).args(["--format", format]);
        let mut plot = terminal.spawn(&command, terminal.stdout());
        terminal.wait_for("hint: --output run.svg or --output run.png writes it to a file");
        assert_eq!(plot.wait().code(), Some(1));
    }
}

/// Command lines that are refused.
const REFUSED: &[&str] = &[
    "",
    "@missing.json",
    "@text.json",
    "@other.json",
    "@a.json --what pie",
    "@a.json --what sweep",
    "@a.json --what compare",
    "@a.json @b.json --what timeline",
    "@a.json --theme solarized",
    "@a.json --width 0",
    "@a.json --height 4001",
    "@a.json --width 8e2",
    "@a.json --format gif",
    "@a.json --output @picture.gif",
    "@a.json --output=",
    "@a.json --scale 5",
    "@a.json @b.json --label one",
    "@a.json --title=",
    "@a.json --colour",
];

#[test]
fn what_is_refused_is_said_in_one_sentence() {
    let bench = Bench::new();
    fs::write(bench.path("text.json"), "Total: connections 1").expect("a file");
    fs::write(bench.path("other.json"), "{\"format\": \"something-else\", \"version\": 1}").expect("a file");
    let mut golden = String::new();
    for arguments in REFUSED {
        let outcome = bench.plot(arguments);
        assert_eq!((outcome.exit, &*outcome.stdout), (Exit::Code(1), &b""[..]), "{arguments}");
        let message = String::from_utf8_lossy(&outcome.stderr)
            .replace(&format!("{}/", bench.folder.path().display()), "@");
        golden += &format!("$ httperf plot {arguments}\n{message}");
    }
    insta::assert_snapshot!(golden);
}
