//! The program `httperf`, as a library: for the `main` of the package `httperf`, and for the tools that generate its
//! documents. Its interface may change with every version.
//!
//! * [`command_line`] turns words into a plan.
//! * [`commands`] has a module for each command, and one table of them.
//! * [`grpc`] finds out what is sent to a method of gRPC.
//! * `recording` reads what is replayed.
//! * [`runner`] carries out a plan: it watches the run, judges it, and writes results.
//! * `start` is where the program begins, [`main`].
//! * [`terminal`] is how the program speaks.

pub mod command_line;
pub mod commands;
pub mod grpc;
pub(crate) mod recording;
pub mod runner;
mod start;
pub mod terminal;

pub use self::start::main;
