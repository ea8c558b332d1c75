//! HTTP/2, the client's side (RFC 9113).

mod flow;
mod frame;
pub mod hpack;
