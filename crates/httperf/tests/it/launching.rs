//! `httperf fleet`: job scripts and manifests.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde::Deserialize as _;
use serde_json::Value;

use crate::fleet::text;
use crate::support::bench::run;
use crate::support::program::{Exit, Outcome, under_test};

/// Prints what these arguments ask for.
#[track_caller]
fn printed(arguments: &str) -> String {
    let outcome = run(arguments);
    assert_eq!(outcome.exit, Exit::Code(0), "{}", text(&outcome.stderr));
    text(&outcome.stdout)
}

const SLURM: &str = "fleet slurm --ranks 8 --time 10m --partition load --sbatch --qos=high --program httperf";
const KUBERNETES: &str = "fleet kubernetes --ranks 4 --image registry.example/httperf:1.0.0";

#[test]
fn a_job_script_asks_for_what_the_ranks_need() {
    let script =
        printed(&format!("{SLURM} --nodes 4 -- http://shop.example/ --rate 80k --duration 5m --threads 3"));
    insta::assert_snapshot!("job_script", script);
}

#[test]
fn a_job_script_hands_on_every_word_as_it_was_typed() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str, content: &str| {
        std::fs::write(path(name), content).expect("it can be written");
        std::fs::set_permissions(path(name), std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    };
    // Prints the words behind its own options, and whether there is a secret.
    write(
        "srun",
        "#!/bin/bash\nwhile [ \"$1\" != httperf ]; do shift; done\nprintf '%s\\0' \"$@\" \"${#HTTPERF_FLEET_SECRET}\"\n",
    );
    let odd = ["X-A: it's \"quoted\" $HOME `id`", "X-B: a\\b  c;|&*?[]{}!"];
    let output = Command::new(under_test())
        .args([
            "fleet",
            "slurm",
            "--ranks",
            "2",
            "--program",
            "httperf",
            "--",
            "http://127.0.0.1/",
            "--rate",
            "5",
        ])
        .args(["--num-conns", "9", "--header", odd[0], "--header", odd[1]])
        .output()
        .expect("it can be started");
    assert!(output.status.success(), "{}", text(&output.stderr));
    write("job.sh", &text(&output.stdout));
    let search = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap_or_default());
    let script =
        Command::new("bash").arg(path("job.sh")).env("PATH", search).output().expect("there is bash");
    assert!(script.status.success() && script.stderr.is_empty(), "{}", text(&script.stderr));
    let words: Vec<String> = text(&script.stdout).split_terminator('\0').map(str::to_owned).collect();
    let expected = [
        "httperf",
        "--fleet",
        "auto",
        "http://127.0.0.1/",
        "--rate",
        "5",
        "--num-conns",
        "9",
        "--header",
        odd[0],
        "--header",
        odd[1],
        "44",
    ];
    assert_eq!(words, expected);
}

/// The objects of manifests, by kind; a kind that is there twice has a number.
fn objects(yaml: &str) -> BTreeMap<String, Value> {
    let mut objects = BTreeMap::new();
    for document in yaml_serde::Deserializer::from_str(yaml) {
        let object = Value::deserialize(document).expect("it is YAML");
        let kind = object["kind"].as_str().expect("it has a kind").to_owned();
        let key = if objects.contains_key(&kind) { format!("{kind}2") } else { kind };
        objects.insert(key, object);
    }
    objects
}

#[test]
fn manifests_are_those_of_an_indexed_job() {
    let line = "-- http://shop/ --rate 80k --duration 5m --threads 3";
    let yaml = printed(&format!("{KUBERNETES} --secret-name mine {line}"));
    insta::assert_snapshot!("manifests", yaml);
    let json = printed(&format!("{KUBERNETES} --secret-name mine -o json {line}"));
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    let items: Vec<&Value> = json["items"].as_array().expect("a list").iter().collect();
    let found = objects(&yaml);
    assert_eq!(items.len(), found.len());
    assert!(items.iter().all(|item| found.values().any(|object| object == *item)), "both forms say the same");
}

#[test]
fn a_secret_is_made_for_each_fleet_and_files_come_along() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let feed = folder.path().join("words");
    std::fs::write(&feed, "/a\0/b\0").expect("it can be written");
    let arguments = format!(
        "{KUBERNETES} --name shop --namespace tests -- --server shop --rate 5 --num-conns 9 --wlog n,{}",
        feed.display()
    );
    let (first, second) = (objects(&printed(&arguments)), objects(&printed(&arguments)));
    let secret = |objects: &BTreeMap<String, Value>| {
        let all = [objects.get("Secret"), objects.get("Secret2")];
        let own = all.into_iter().flatten().find(|object| object["metadata"]["name"] == "shop").cloned();
        own.expect("there is one")["stringData"]["secret"].as_str().expect("a text").to_owned()
    };
    assert!(secret(&first).len() >= 40 && secret(&first) != secret(&second));
    assert!(first.contains_key("Secret2"), "{first:?}");
    let container = &first["Job"]["spec"]["template"]["spec"]["containers"][0];
    let mounts = container["volumeMounts"].as_array().expect("a list");
    assert!(
        mounts.iter().any(|mount| mount["mountPath"] == feed.display().to_string().as_str()),
        "{mounts:?}"
    );
    assert!(first.values().all(|object| object["metadata"]["namespace"] == "tests"));
    let place =
        container["env"].as_array().expect("a list").iter().find(|env| env["name"] == "HTTPERF_FLEET_MEET");
    assert_eq!(place.expect("it is set")["value"], "shop-0.shop:7000");
}

#[test]
fn commands_that_make_trials_can_be_started_too() {
    for line in [
        "sweep http://shop/ --rates 1k,2k",
        "capacity http://shop/ --slo p99<50ms",
        "ab http://a/ http://b/ --rate 5",
        "http://shop/ --rate 5 --metrics 0.0.0.0:9464",
    ] {
        let script = printed(&format!("fleet slurm --ranks 2 --program httperf -- {line}"));
        let command = line
            .split(' ')
            .next()
            .filter(|word| !word.contains('/'))
            .map_or_else(String::new, |word| format!("{word} "));
        assert!(script.contains(&format!("httperf {command}--fleet auto ")), "{script}");
    }
}

#[test]
fn a_file_that_is_lost_with_its_pod_is_named() {
    let outcome = run(&format!("{KUBERNETES} -- http://shop/ --rate 5 --num-conns 9 --html page.html"));
    assert_eq!(outcome.exit, Exit::Code(0));
    let told = text(&outcome.stderr);
    assert!(
        told.contains("note: --html: page.html is lost with the pod; `--output -` prints the result"),
        "{told}"
    );
    assert!(told.contains("next: kubectl create -f FILE"), "{told}");
    assert!(!Path::new("page.html").exists(), "nothing was run");
}

#[test]
fn mistakes_are_found_before_the_job_waits_for_its_turn() {
    let line = "-- http://shop/ --rate 5 --num-conns 9";
    for (arguments, expected) in [
        (format!("fleet {line}"), "expected slurm or kubernetes, got none"),
        (format!("fleet mpirun --ranks 2 {line}"), "mpirun needs nothing: mpirun -n 8 httperf --fleet auto"),
        (format!("fleet slurm {line}"), "--ranks: expected the number of processes, got none"),
        ("fleet slurm --ranks 2".to_owned(), "expected `--` and the command line of each rank, got none"),
        ("fleet slurm --ranks 2 http://shop/".to_owned(), "expected `--` before `http://shop/`"),
        (format!("fleet slurm --ranks 0 {line}"), "--ranks: expected "),
        (format!("fleet slurm --ranks 2 --nodes 3 {line}"), "--nodes: expected at most the 2 ranks, got 3"),
        (format!("fleet slurm --ranks 2 --image x {line}"), "--image: does nothing for slurm"),
        (format!("fleet slurm --ranks 2 --time 1m {line}"), "--time: expected at least two minutes"),
        ("fleet slurm --ranks 2 -- http://shop/ --rat 5 --num-conns x".to_owned(), "httperf: "),
        ("fleet slurm --ranks 2 -- serve".to_owned(), "got `serve`"),
        (
            "fleet slurm --ranks 2 -- http://shop/ --fleet 0/2".to_owned(),
            "--fleet: expected none behind `--`",
        ),
        ("fleet slurm --ranks 2 -- sweep http://shop/".to_owned(), "expected --rates or --request-rates"),
        (
            format!("fleet kubernetes --ranks 2 {line}"),
            "--image: expected a container image with httperf, got none",
        ),
        (format!("{KUBERNETES} --name Shop {line}"), "--name: expected at most "),
        (
            format!("{KUBERNETES} --memory 1GB {line}"),
            "--memory: expected a size such as 512Mi or 2Gi, got `1GB`",
        ),
        (
            format!("{KUBERNETES} --node-selector x {line}"),
            "--node-selector: expected a label such as pool=load",
        ),
        (
            format!("{KUBERNETES} -- http://shop/ --threads auto"),
            "--cpus: expected the processors of each rank",
        ),
    ] {
        let Outcome { exit, stdout, stderr, .. } = run(&arguments);
        let error = text(&stderr);
        assert_ne!(exit, Exit::Code(0), "{arguments}: {}", text(&stdout));
        assert!(error.contains(expected), "{arguments}: expected {expected:?} in:\n{error}");
        assert!(stdout.is_empty(), "{arguments}: {}", text(&stdout));
    }
}
