//! Test utilities: a scripted server on real sockets ([`server`]), a simulated world with a virtual clock and a hostile link
//! ([`sim`]), the server side of HTTP/2 ([`http2`]), of HTTP/3 ([`http3`]) and of QUIC ([`quic`]), the properties that fuzzing checks ([`fuzz`]), edited documents
//! ([`documents`]), ports and connections ([`tcp`]), Python's packages ([`python`]), and a record of skipped tests ([`skip`]).

pub mod documents;
pub mod fuzz;
pub mod http2;
pub mod http3;
pub mod python;
pub mod quic;
pub mod server;
pub mod sim;
pub mod skip;
pub mod tcp;
