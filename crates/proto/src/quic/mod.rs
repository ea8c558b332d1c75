//! QUIC (RFC 9000, 9001, 9002), the client's side, on `quinn-proto` with TLS 1.3 by rustls: datagrams in, datagrams and
//! events out.
//!
//! A [`Context`] holds what all connections of a worker share. A [`Connection`] has no socket and reads no clock: its owner
//! passes it the datagrams that arrived and the time, and asks it for datagrams to send and for the instant at which its
//! timer expires.
//!
//! ```text
//!   socket ──────► handle_datagrams ─► Connection ─► poll: Event
//!   socket ◄────── poll_transmit    ◄─     │      ◄─ open, write, read, reset, close
//!   timer  ◄─────► poll_timeout, handle_timeout
//! ```
//!
//! Its TLS means what [`tls`](crate::tls) means: certificates are checked by the same library against the same roots, and
//! what one of them cannot do is refused by name.

mod connection;
mod context;
mod log;
mod padding;
mod session;
mod tickets;
mod trust;

#[cfg(test)]
mod tests;

pub use self::connection::{
    Chunk, Connection, Datagrams, Ecn, Event, Figures, Loss, Marks, StreamId, Written,
};
pub use self::context::{ABSENT_GROUPS, Congestion, Context, Options};
pub use self::log::Log;
pub use self::tickets::Ticket;
