//! HTTP/2, the client's side (RFC 9113).

pub mod hpack;
