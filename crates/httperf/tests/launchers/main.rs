//! Fleets that real launchers start, fleets on links that are slow and lose packets, and programs that collect metrics of
//! runs. They need root and programs that few machines have, so they run in `make test-long` only, one at a time.

mod checks;
mod cluster;
mod collectors;
mod control_plane;
mod job;
mod kubernetes;
mod links;
mod mpi;
mod scripts;
mod slurm;

#[path = "../support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use httperf_testkit::skip;
use rustix::process::geteuid;

use support::machine::{Guard, alone, is_long};
use support::running::find;

/// Waits until no other of these tests runs; `None`, with a word on stdout, if they are not to run or cannot.
fn turn(needs_root: bool) -> Option<Guard> {
    if !is_long() {
        skip::unless_long();
        return None;
    }
    if needs_root && !geteuid().is_root() {
        skip::without("root");
        return None;
    }
    Some(alone())
}

/// The folder with the programs of a package of PyPI, in a Python environment of its own below `target`; `None`, with a word on
/// stdout, if it cannot be had.
fn python(name: &str, package: &str) -> Option<PathBuf> {
    let python = find("python3")?;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let programs = folder.join("bin");
    let run = |command: &mut Command| command.output().is_ok_and(|output| output.status.success());
    let is_installed = || run(Command::new(programs.join("pip")).args(["show", "--quiet", name]));
    let is_there = is_installed()
        || run(Command::new(python).args(["-m", "venv"]).arg(&folder))
            && run(Command::new(programs.join("pip")).args(["install", "--quiet", package]));
    if !is_there {
        skip::without(name);
        return None;
    }
    Some(programs)
}
