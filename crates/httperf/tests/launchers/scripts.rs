//! The job scripts of `httperf fleet slurm`, handed to a Slurm.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::cluster::Cluster;
use crate::support::program::under_test;
use crate::support::real_server::{Kind, RealServer, Settings};
use crate::support::running::{find, peer};
use crate::support::words;
use crate::turn;

/// Prints the script of a job of four ranks.
#[track_caller]
fn script(folder: &Path, options: &str, line: &str) -> PathBuf {
    let output = Command::new(under_test())
        .args(words(&format!("fleet slurm --ranks 4 --cpus 1 --time 5m {options} --program")))
        .arg(under_test())
        .arg("--")
        .args(words(line))
        .output()
        .expect("it can be started");
    assert!(output.status.success(), "{output:?}");
    let script = folder.join("job.sh");
    fs::write(&script, output.stdout).expect("the folder can be written to");
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).expect("it is ours");
    script
}

/// Hands a script to Slurm, and waits for the end of the job.
#[track_caller]
fn submit(cluster: &Cluster, folder: &Path, script: &Path) -> (Output, String) {
    let log = folder.join("log");
    let output = cluster
        .command("timeout")
        .args(["120", "sbatch", "--wait"])
        .arg(format!("--output={}", log.display()))
        .arg(script)
        .current_dir(folder)
        .output()
        .expect("sbatch can be started");
    (output, fs::read_to_string(log).unwrap_or_default())
}

/// Neither the launcher nor the job ends because one rank does.
#[test]
fn a_job_reports_all_the_same_if_a_rank_fails() {
    let _alone = peer!(turn(true));
    peer!(find("sbatch"));
    let cluster = peer!(Cluster::start());
    let server = peer!(RealServer::start(Kind::Nginx, Settings { has_log: true, ..Settings::default() }));
    let folder = tempfile::tempdir().expect("a folder can be made");
    let line =
        format!("--server 127.0.0.1 --rate 100 --num-conns 600 --report full --port {}", server.port());
    let script = script(folder.path(), "", &line);
    // Rank 2 is killed after three seconds.
    let wrapper = folder.path().join("rank");
    let program = under_test().display().to_string();
    let killer = "if [ \"$SLURM_PROCID\" = 2 ]; then timeout -s KILL 3 \"$@\"; else exec \"$@\"; fi";
    fs::write(&wrapper, format!("#!/bin/sh\nset -- {program} \"$@\"\n{killer}\n"))
        .expect("it can be written");
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let text = fs::read_to_string(&script).expect("it was written");
    fs::write(&script, text.replace(&program, &wrapper.display().to_string())).expect("it can be written");
    let (output, log) = submit(&cluster, folder.path(), &script);
    assert!(!output.status.success(), "a rank has failed: {output:?}");
    assert!(log.contains("rank 2 (") && log.contains("is lost"), "{log}");
    assert_eq!(log.matches("\nTotal: connections ").count(), 1, "there is a report: {log}");
}

#[test]
fn shellcheck_has_nothing_to_say_of_a_job_script() {
    let _alone = peer!(turn(false));
    peer!(find("shellcheck"));
    let folder = tempfile::tempdir().expect("a folder can be made");
    let options = "--name shop --nodes 2 --partition load --account us --log shop-%j.out --sbatch --qos=high";
    let script = script(
        folder.path(),
        options,
        "http://shop.example/ --rate 5 --num-conns 9 --header 'X: a;b \"c\" * ~ & #'",
    );
    let output = Command::new("shellcheck").arg(script).output().expect("it can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}
