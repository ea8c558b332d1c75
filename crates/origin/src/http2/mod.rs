//! HTTP/2.

mod desk;
pub(crate) mod driver;
mod frames;
mod pipe;
pub(crate) mod settings;
mod stream;
pub(crate) mod upgrade;
