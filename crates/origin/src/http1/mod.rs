//! HTTP/1.

pub(crate) mod driver;
pub(crate) mod takeover;
