//! The server side of HTTP/2, for tests: frames built and parsed by hand ([`frames`]), scripts of frames
//! ([`Script`]), and a server that tracks the state of the connection and detects any violation by its client
//! ([`Server`]).
//!
//! It shares only header compression with the engine, so that mistakes in one are found by the other.

pub mod frames;
mod reply;
mod script;
mod server;

pub use frames::{Frame, code, setting};
pub use reply::Reply;
pub use script::Script;
pub use server::{Incoming, Server};

/// Header fields.
pub type Fields = Vec<(String, String)>;

/// Copies fields.
#[must_use]
pub fn owned(fields: &[(&str, &str)]) -> Fields {
    fields.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}
