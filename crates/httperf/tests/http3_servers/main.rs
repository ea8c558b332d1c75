//! HTTP/3 with servers that others wrote: every row of a table with every server that can do it.
//!
//! A cell is a server, started for it alone, and a row. The rows are in `rows.rs`; `makes.rs` has the servers, and beside each
//! what it cannot do, with its version. A cell that is quick is among what `make test` runs, the others are run by
//! `make test-long`, one at a time.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod makes;
mod rows;
mod server;

#[path = "../support/mod.rs"]
mod support;

use std::process::ExitCode;
use std::thread;

use httperf_testkit::skip;
use libtest_mimic::{Arguments, Failed, Trial};

use makes::{MAKES, Make};
use rows::{ROWS, Row};
use server::Server;
use support::machine::is_long;

/// Cells that may run at once in `make test`: most of them wait.
const CELLS_AT_ONCE: usize = 2;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(if is_long() { 1 } else { CELLS_AT_ONCE });
    let cells = MAKES.iter().flat_map(|make| ROWS.iter().map(move |row| (make, row)));
    let cells = cells.filter(|(make, row)| !make.lacks.iter().any(|(name, _)| *name == row.name));
    let (here, elsewhere): (Vec<_>, Vec<_>) =
        cells.partition(|(make, row)| is_long() || make.is_quick && row.is_quick);
    let trial = |(make, row): (&'static Make, &'static Row)| {
        let name = format!("{}: {}", make.name, row.name);
        Trial::test(name.clone(), move || run_named(name, move || check(make, row)))
    };
    let conclusion = libtest_mimic::run(&arguments, here.into_iter().map(trial).collect());
    if !elsewhere.is_empty() && !arguments.list {
        let name = format!("{} further cells of HTTP/3 with servers of others", elsewhere.len());
        run_named(name, skip::unless_long).expect("a line is written");
    }
    conclusion.exit_code()
}

fn check(make: &'static Make, row: &Row) {
    if let Some(mut server) = Server::start(make, &row.setting) {
        (row.check)(&mut server);
    }
}

/// Runs a test on a thread of its name, by which it is skipped if need be.
fn run_named(name: String, test: impl FnOnce() + Send + 'static) -> Result<(), Failed> {
    let ended = thread::Builder::new().name(name).spawn(test)?.join();
    // The panic's message was printed as it came.
    ended.map_err(|panic| match panic.downcast_ref::<String>() {
        Some(message) => Failed::from(message),
        None => Failed::from(panic.downcast_ref::<&str>().copied().unwrap_or_default()),
    })
}
