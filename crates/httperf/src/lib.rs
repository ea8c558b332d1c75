//! The program `httperf`, as a library for its `main` and for the tools that generate its documents.
//!
//! * [`command_line`] turns words into a plan.
//! * [`commands`] has a module for each command, and one table of them.
//! * [`runner`] carries out a plan: it watches the run, judges it, and writes results.
//! * [`terminal`] is how the program speaks.

pub mod command_line;
pub mod commands;
pub mod runner;
pub mod terminal;
