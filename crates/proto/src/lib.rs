//! HTTP as values: bytes in, bytes and events out.
//!
//! A protocol here is a struct that never touches a socket or a clock. Its owner hands it the bytes that
//! arrived and drains its events, asks it for bytes to send and reports how many were sent. An [`Engine`] is
//! [`http1`] or [`http2`]; a [`Request`](request::Request) belongs to neither. What a [`websocket`] says travels in either.

pub mod alt_svc;
pub mod content;
mod counts;
mod engine;
mod event;
pub mod grpc;
mod header_block;
mod header_compression;
pub mod http1;
pub mod http2;
pub mod http3;
mod limits;
pub mod list;
mod news;
mod numbered;
mod partial;
mod patience;
pub mod quic;
mod reply_head;
pub mod request;
pub mod status;
pub mod tls;
mod token;
mod varint;
pub mod websocket;

pub use counts::{Compressed, Counts};
pub use engine::{ByteStream, Engine, Full, Protocol};
pub use event::{
    Awaited, CallId, Code, Event, Foreign, ProtocolError, ReplySize, Reuse, Sent, Stall, Undone,
};
pub use header_block::HeaderBlock;
pub use limits::ReplyLimits;
