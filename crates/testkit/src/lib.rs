//! For tests: a scripted server on real sockets ([`server`]), and a world in memory with a virtual clock and
//! a hostile link ([`sim`]).

pub mod server;
pub mod sim;
