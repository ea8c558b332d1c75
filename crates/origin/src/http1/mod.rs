//! HTTP/1: replies by hyper, and by hand where hyper would not write them.

pub(crate) mod driver;
mod takeover;
