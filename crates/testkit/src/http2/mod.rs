//! HTTP/2 from a server's side, for tests: frames made and read by hand ([`frames`]), what a server says as a script
//! ([`Script`]), and a server that keeps account of everything and finds out if its client does anything wrong
//! ([`Server`]).
//!
//! It shares nothing with the engine but header compression, so that a mistake in one of them is found by the other.

pub mod frames;
mod reply;
mod script;
mod server;

pub use frames::{Frame, code, setting};
pub use reply::Reply;
pub use script::Script;
pub use server::{Incoming, Server};

/// Fields of a header block.
pub type Fields = Vec<(String, String)>;

/// The same fields, with bytes of their own.
#[must_use]
pub fn owned(fields: &[(&str, &str)]) -> Fields {
    fields.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
}
