//! For tests: a scripted server on real sockets ([`server`]), a world in memory with a virtual clock and a hostile link
//! ([`sim`]), the server's side of HTTP/2 ([`http2`]), and documents that somebody edited ([`documents`]).

pub mod documents;
pub mod http2;
pub mod server;
pub mod sim;
