//! HTTP as values: bytes in, bytes and events out.
//!
//! A protocol here is a struct that never touches a socket or a clock. Whoever owns it hands it the bytes
//! that arrived and drains its events, asks it for bytes to send and tells it how many went out. HTTP/1 is
//! [`http1`]; other protocols join it behind the same [`Event`]s.

pub mod content;
mod event;
pub mod http1;
pub mod http2;
pub mod tls;

pub use event::{CallId, Event, ProtocolError, ReplySize, Reuse, Sent};
