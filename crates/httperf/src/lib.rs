//! The program `httperf`, as a library for its `main` and for the tools that generate its documents.
//!
//! `Args` is what was typed; `planning` turns it into a `Plan`; `run` runs that.

pub mod ab;
pub mod args;
pub mod capacity;
pub mod commands;
pub mod compare;
pub mod doctor;
pub mod echo;
mod gather;
mod machine;
pub mod messages;
pub mod monitor;
pub mod options;
pub mod planning;
pub mod plot;
pub mod print;
pub mod printf;
mod probe;
pub mod results;
pub mod run;
pub mod self_check;
pub mod serve;
mod status_line;
pub mod sweep;
pub mod tls_lab;
mod trials;
