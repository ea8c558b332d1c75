//! The program over HTTP/2 with servers of other makes: nginx, nghttpd, Apache httpd, h2o, Node, Go, Caddy; and with its
//! own.
//!
//! Each test starts its servers on free ports of 127.0.0.1 and stops them however it ends. Where a server is not
//! installed the test says so, and fails if `CI` is set.

#[path = "http2_servers/abrupt.rs"]
mod abrupt;
#[path = "http2_servers/backend.rs"]
mod backend;
#[path = "tls_servers/certificates.rs"]
#[allow(dead_code, reason = "other tests need more of it")]
mod certificates;
#[path = "http2_servers/choosing.rs"]
mod choosing;
#[path = "http2_servers/endings.rs"]
mod endings;
#[path = "http2_servers/exchanges.rs"]
mod exchanges;
#[path = "http2_servers/peers.rs"]
mod peers;
#[path = "http2_servers/ran.rs"]
mod ran;
#[path = "http2_servers/relay.rs"]
mod relay;
#[path = "http2_servers/requests.rs"]
mod requests;
mod support;
