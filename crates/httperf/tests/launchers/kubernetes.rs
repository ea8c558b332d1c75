//! Kubernetes: manifests fit the schemas of several of its versions, and have no field that those do not know.

use std::path::{Path, PathBuf};
use std::process::Command;

use httperf_testkit::skip;

use crate::support::program::under_test;
use crate::support::running::{find, peer};
use crate::turn;

/// The package that has the schemas, on PyPI.
const VALIDATOR: &str = "kubernetes-validate==1.37.0";

/// The validator, in a Python environment of its own below `target`; `None`, with a word on stdout, if it cannot be had.
fn validator() -> Option<PathBuf> {
    let python = find("python3")?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kubernetes-validate");
    let program = folder.join("bin/kubernetes-validate");
    let run = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    let is_there = program.exists()
        || run(Command::new(python).args(["-m", "venv"]).arg(&folder))
            && run(Command::new(folder.join("bin/pip")).args(["install", "--quiet", VALIDATOR]));
    if !is_there {
        skip::without("kubernetes-validate");
        return None;
    }
    Some(program)
}

#[test]
fn manifests_are_valid_to_the_letter() {
    let _alone = peer!(turn(false));
    let validator = peer!(validator());
    let folder = tempfile::tempdir().expect("a folder can be made");
    let (manifests, workload) = (folder.path().join("m.yaml"), folder.path().join("w.hurl"));
    std::fs::write(&workload, "GET {{base}}/\nHTTP 200\n").expect("the folder can be written to");
    let many = "--share-nodes --no-sysctls --node-selector pool=load --memory 2Gi --cpus 3 --time 10m --namespace tests --name shop";
    let run = format!("run {} --base http://shop/ --rate 5 --visits 9", workload.display());
    for (options, line) in [("", "http://shop/ --rate 80k --duration 5m"), (many, &run[..])] {
        let printed = Command::new(under_test())
            .args("fleet kubernetes --ranks 8 --image registry.example/httperf:1.0.0".split(' '))
            .args(options.split_whitespace())
            .arg("--")
            .args(line.split(' '))
            .output()
            .expect("the program can be started");
        assert!(printed.status.success(), "{}", String::from_utf8_lossy(&printed.stderr));
        std::fs::write(&manifests, &printed.stdout).expect("the folder can be written to");
        for version in ["1.31", "1.33", "1.35"] {
            let output = Command::new(&validator)
                .args(["--strict", "-k", version])
                .arg(&manifests)
                .output()
                .expect("it can be started");
            let told = String::from_utf8_lossy(&output.stderr).into_owned()
                + &String::from_utf8_lossy(&output.stdout);
            assert!(
                output.status.success() && told.contains("passed for resource job/"),
                "{version}: {told}"
            );
        }
    }
}
