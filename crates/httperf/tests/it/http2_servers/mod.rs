//! The program over HTTP/2 with servers of other makes: nginx, nghttpd, Apache httpd, h2o, Node, Go, Caddy; and with its
//! own.
//!
//! Each test starts its servers on free ports of 127.0.0.1 and stops them however it ends. Where a server is not
//! installed the test says so, and fails if `CI` is set.

mod abrupt;
mod backend;
mod choosing;
mod endings;
mod exchanges;
mod peers;
pub(crate) mod ran;
mod relay;
mod requests;
