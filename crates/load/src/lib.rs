//! Timing and content of the load: arrivals, visits (sessions), request sources, cookies, random streams.
//!
//! Pure values: nothing here opens a socket, starts a thread or reads a clock.

pub mod cookies;
pub mod page;
pub mod random;
pub mod replay;
pub mod requests;
pub mod scenario;
pub mod schedule;
pub mod uris;
pub mod visit;
pub mod websocket;

mod draws;
