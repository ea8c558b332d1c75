//! HTTP/1.

pub(crate) mod driver;
mod takeover;
