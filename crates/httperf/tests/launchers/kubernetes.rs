//! Kubernetes: manifests fit the schemas of several of its versions, and have no field that those do not know.

use std::process::Command;

use crate::support::program::under_test;
use crate::support::running::peer;
use crate::{python, turn};

/// The package that has the schemas, on PyPI.
const VALIDATOR: &str = "kubernetes-validate==1.37.0";

#[test]
fn manifests_are_valid_to_the_letter() {
    let _alone = peer!(turn(false));
    let validator = peer!(python("kubernetes-validate", VALIDATOR)).join("kubernetes-validate");
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
