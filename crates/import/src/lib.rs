//! Recordings as load: access logs and captured requests become traces; browsers' recordings, curl commands and
//! descriptions of an API become workload files.
//!
//! This crate opens no file and no socket: it reads from the stream that the caller gives, and returns what is to be
//! written, or writes it to the caller's stream. What cannot be carried over is counted in a [`Report`].

pub mod clients;
pub mod curl;
pub mod goreplay;
pub mod gzip;
pub mod har;
pub mod log;
pub mod models;
pub mod openapi;
pub mod order;
pub mod recording;
pub mod trace;
pub mod words;
pub mod workload;

mod clock;
mod error;
mod headers;
mod json;
mod lines;
mod report;
mod shell;
mod text;

pub use clock::to_rfc3339;
pub use error::{Error, Flaw};
pub use report::{EXAMPLES_MAX, LeftOut, Report};
