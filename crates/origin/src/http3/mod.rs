//! HTTP/3, by the h3 crate over quinn.

mod desk;
mod driver;
mod frames;
pub(crate) mod listener;
mod pipe;
mod session;
pub(crate) mod settings;
mod socket;
mod stream;
pub(crate) mod tls;
