//! testkit

pub mod server;
