//! The program `httperf`, as a library: for the `main` of the package `httperf`, and for the tools that generate its
//! documents. Its interface may change with every version.
//!
//! * [`commands`] has a module for each command, and one table of them.
//! * `progress` shows what is under way.
//! * `recording` reads what is replayed.
//! * [`runner`] carries out a plan: it watches the run, judges it, and writes results.
//! * `start` is where the program begins, [`main`].

pub mod commands;
mod progress;
mod recording;
pub mod runner;
mod start;

pub use self::start::main;
