//! Kubernetes: the manifests of `httperf fleet kubernetes` on a real control plane, with a stand-in for its nodes
//! (`control_plane.py`).

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::job::until;
use crate::support::program::under_test;
use crate::support::real_server::{Kind, RealServer, Settings};
use crate::support::running::{find, peer, tool};
use crate::support::words;
use crate::turn;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/launchers/control_plane.py");

/// The word that has the words of a rank shown instead of a run.
const SHOWN: &str = "words";

/// A control plane, as programs that are built and installed.
struct Plane {
    tools: PathBuf,
}

impl Plane {
    /// Finds the programs; `None`, with a word on stdout, if there are none.
    fn find() -> Option<Self> {
        for program in ["etcd", "unshare", "setpriv", "python3", "openssl"] {
            find(program)?;
        }
        let tools = tool("kubernetes/kubectl")?.parent().expect("it is in a folder").to_path_buf();
        Some(Self { tools })
    }

    /// Prints manifests for four ranks with these words, creates their objects, and waits for the job. As soon as `when`
    /// says so, `event` happens. `folder` is where the command is typed.
    #[track_caller]
    fn carry_out(
        &self,
        folder: &Path,
        line: &[&str],
        rest: &[&str],
        event: &str,
        when: impl Fn() -> Option<()>,
    ) -> Value {
        let own = folder.join("plane");
        fs::create_dir(&own).expect("the folder can be written to");
        // Ranks are another user's.
        for folder in [folder, &own] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
        let manifests = folder.join("manifests.yaml");
        fs::write(&manifests, printed(folder, line)).expect("the folder can be written to");
        let mut child = Command::new("timeout")
            .args(words("--kill-after 5 200 unshare --mount --pid --fork --kill-child --mount-proc python3"))
            .arg(SCRIPT)
            .args([&self.tools, &under_test(), &manifests, &own])
            .args(rest)
            .env("PATH", format!("{}:/usr/sbin:/sbin", std::env::var("PATH").unwrap_or_default()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("timeout can be started");
        let mut stdin = child.stdin.take().expect("it is piped");
        if !event.is_empty() {
            let is_time = until(when);
            writeln!(stdin, "{event}").expect("it reads");
            assert!(is_time.is_some(), "there is no load");
        }
        let output = child.wait_with_output().expect("it ends");
        drop(stdin);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{errors}");
        serde_json::from_slice(&output.stdout).expect("it is JSON")
    }
}

/// Manifests of four ranks.
#[track_caller]
fn printed(folder: &Path, line: &[&str]) -> Vec<u8> {
    let output = Command::new(under_test())
        .args(words("fleet kubernetes --name shop --image registry.example/httperf:1.0.0 --ranks 4 --"))
        .args(line)
        .current_dir(folder)
        .output()
        .expect("it can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

/// A server, and a folder with a file that names the pages that connections ask for.
struct Field {
    server: RealServer,
    folder: TempDir,
}

impl Field {
    fn new() -> Option<Self> {
        let server = RealServer::start(Kind::Nginx, Settings { has_log: true, ..Settings::default() })?;
        let folder = tempfile::tempdir().expect("a folder can be made");
        fs::create_dir(folder.path().join("lists")).expect("the folder can be written to");
        fs::write(folder.path().join("lists/pages"), b"/a\0/b\0").expect("the folder can be written to");
        Some(Self { server, folder })
    }

    /// Has the load offered. Returns what came of it, and rank 0's result.
    #[track_caller]
    fn load(&self, plane: &Plane, event: &str) -> (Value, Value) {
        let port = self.server.port().to_string();
        let line = "--server 127.0.0.1 --rate 100 --num-conns 800 --wlog y,lists/pages --output - --port";
        let line: Vec<&str> = line.split(' ').chain([&port[..]]).collect();
        let is_loaded = || (self.server.logged().len() > 100).then_some(());
        let told = plane.carry_out(self.folder.path(), &line, &[], event, is_loaded);
        let document = rank(&told, 0)["stdout"].as_str().expect("a text");
        let document = serde_json::from_str(document).unwrap_or_else(|error| panic!("{error}: {told:#}"));
        for index in 1..4 {
            assert_eq!(rank(&told, index)["stdout"], "", "only rank 0 reports: {told:#}");
        }
        (told, document)
    }
}

/// The only pod of a rank: none is started again.
#[track_caller]
fn rank(told: &Value, index: u64) -> &Value {
    let ranks = told["ranks"].as_array().expect("a list");
    let pods: Vec<&Value> = ranks.iter().filter(|rank| rank["index"] == index).collect();
    assert_eq!(pods.len(), 1, "{told:#}");
    pods[0]
}

#[track_caller]
fn check_condition(told: &Value, expected: &str) {
    let conditions = told["job"]["conditions"].as_array().expect("a list");
    assert!(conditions.iter().any(|condition| condition["type"] == expected), "{told:#}");
}

#[test]
fn the_pods_of_a_job_make_the_run_on_a_node_each() {
    let _alone = peer!(turn(true));
    let (plane, field) = (peer!(Plane::find()), peer!(Field::new()));
    let (told, document) = field.load(&plane, "");
    check_condition(&told, "Complete");
    assert_eq!(told["job"]["completedIndexes"], "0-3");
    assert_eq!(told["names"][0].as_str().map(|name| name.starts_with("shop-")), Some(true), "{told:#}");
    let mut nodes: Vec<&str> =
        (0..4).map(|index| rank(&told, index)["node"].as_str().expect("a text")).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["n0", "n1", "n2", "n3"]);
    for index in 0..4 {
        assert_eq!(rank(&told, index)["exit"], 0, "{told:#}");
        assert_eq!(rank(&told, index)["qos"], "Guaranteed", "{told:#}");
    }
    assert_eq!(document["summary"]["replies"], 800);
    assert_eq!(document["fleet"]["ranks"].as_array().map(Vec::len), Some(4));
    assert!(until(|| (field.server.logged().len() >= 800).then_some(())).is_some());
    let pages = field.server.logged();
    let asked = ["/a", "/b"].map(|page| pages.iter().filter(|(_, target)| target == page).count());
    assert_eq!(asked, [400, 400]);
}

#[test]
fn a_rank_that_is_killed_is_named_not_replaced_and_the_others_go_on() {
    let _alone = peer!(turn(true));
    let (plane, field) = (peer!(Plane::find()), peer!(Field::new()));
    let (told, document) = field.load(&plane, "kill");
    check_condition(&told, "Failed");
    assert_eq!(
        (&told["job"]["completedIndexes"], &told["job"]["failedIndexes"]),
        (&"0,1,3".into(), &"2".into())
    );
    assert_eq!(document["fleet"]["lost"][0]["rank"], 2, "{told:#}");
    assert_eq!(document["verdict"]["level"], "INVALID");
    let replies = document["summary"]["replies"].as_u64().expect("a number");
    assert!((590..=610).contains(&replies), "three of four shares: {replies}");
}

#[test]
fn a_job_or_a_pod_that_is_deleted_ends_the_run_with_a_report_of_all() {
    let _alone = peer!(turn(true));
    let plane = peer!(Plane::find());
    for event in ["delete-pod", "delete-job"] {
        let field = peer!(Field::new());
        let (told, document) = field.load(&plane, event);
        let asked_to_end =
            rank(&told, 0)["stderr"].as_str().expect("a text").contains("was asked to end the run");
        assert!(asked_to_end, "{told:#}");
        assert_eq!(document["fleet"]["ranks"].as_array().map(Vec::len), Some(4), "{told:#}");
        assert_eq!(document["fleet"]["lost"].as_array().map_or(0, Vec::len), 0, "{told:#}");
        assert!(document["summary"]["replies"].as_u64() < Some(800), "it ended early: {told:#}");
    }
}

/// kubectl reads YAML as the 1.1 that it once was: `yes` and `1_000` are no texts there.
#[test]
fn every_word_reaches_the_api_server_as_it_was_typed() {
    let _alone = peer!(turn(true));
    let plane = peer!(Plane::find());
    let folder = tempfile::tempdir().expect("a folder can be made");
    let odd = [
        "yes",
        "-n",
        "--yes",
        "-e3",
        "a_1",
        "/",
        "No",
        "on",
        "OFF",
        "y",
        "n",
        "~",
        "null",
        "True",
        "1_000",
        "0x1F",
        "0o17",
        "0b11",
        "010",
        "1:30",
        "12:30:45",
        "1e3",
        ".inf",
        "+1",
        "-0",
        ".5",
        "685_230.15",
        "2026-01-01",
        "=",
        "<<",
        "- a",
        "a: b",
        "#x",
        "",
        " a",
        "a ",
        "tab\t",
        "two\nlines",
        "end\n\n",
        "é",
        "\u{1f600}",
        "\u{2028}",
        "\u{85}",
        "\u{7f}",
        "\u{1}",
        "$(HTTPERF_FLEET_SIZE)",
        "$$x",
        "$x",
        "'",
        "\"",
        "\\",
        "%x",
        "@x",
        "`x",
        "!x",
        "!!binary",
        "&x",
        "*x",
        "|",
        ">",
        "{a",
        "[a",
        "?",
        "---",
        "...",
    ];
    let mut line = vec!["http://shop/", "--rate", "5", "--num-conns", "9"];
    line.extend(odd.into_iter().flat_map(|word| ["--body", word]));
    let words = plane.carry_out(folder.path(), &line, &[SHOWN], "", || None);
    let words: Vec<&str> = words.as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(words[words.len() - line.len()..], line);
}
