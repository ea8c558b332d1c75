//! The properties that fuzzing checks, each a function of arbitrary bytes. The fuzz targets call them, and so do tests.

mod grpc;
mod hpack;
mod http1;
mod http2;
mod quic;
mod streams;
mod tls;
mod websocket;

pub use self::grpc::check_grpc;
pub use self::hpack::check_blocks;
pub use self::http1::check_cuts;
pub use self::http2::{REPLIES_HEADER_SIZE, check_replies};
pub use self::quic::{Fate, check_datagrams};
pub use self::streams::check_event_stream;
pub use self::tls::check_garbage;
pub use self::websocket::check_websocket;
