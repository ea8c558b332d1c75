//! HTTP as values: bytes in, bytes and events out.
//!
//! A protocol here is a struct that never touches a socket or a clock. Whoever owns it hands it the bytes
//! that arrived and drains its events, asks it for bytes to send and tells it how many went out. HTTP/1 is
//! [`http1`], HTTP/2 is [`http2`]; they tell the same [`Event`]s, and an [`Engine`] is either.

pub mod content;
mod engine;
mod event;
pub mod http1;
pub mod http2;
pub mod request;
pub mod tls;
mod token;

pub use engine::{Engine, Full, Protocol};
pub use event::{Awaited, CallId, Event, ProtocolError, ReplySize, Reuse, Sent, Stall};
