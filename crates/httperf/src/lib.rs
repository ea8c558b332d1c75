//! The program `httperf`, as a library for its `main` and for the tools that generate its documents.
//!
//! * [`command_line`] turns words into a plan.
//! * [`commands`] has a module for each command, and one table of them.
//! * [`grpc`] finds out what is sent to a method of gRPC.
//! * `recording` reads what is replayed.
//! * [`runner`] carries out a plan: it watches the run, judges it, and writes results.
//! * [`terminal`] is how the program speaks.

pub mod command_line;
pub mod commands;
pub mod grpc;
pub(crate) mod recording;
pub mod runner;
pub mod terminal;
