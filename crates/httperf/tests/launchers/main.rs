//! Fleets that real launchers start, and fleets on links that are slow and lose packets. They need root and programs that
//! few machines have, so they run in `make test-long` only, one at a time.

mod checks;
mod cluster;
mod job;
mod kubernetes;
mod links;
mod mpi;
mod slurm;

#[path = "../support/mod.rs"]
mod support;

use httperf_testkit::skip;
use rustix::process::geteuid;

use support::machine::{Guard, alone, is_long};

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
