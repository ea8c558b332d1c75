//! HTTP/2, by the h2 crate.

mod desk;
pub(crate) mod driver;
mod frames;
mod pipe;
mod rpc;
pub(crate) mod settings;
mod stream;
mod websocket;
