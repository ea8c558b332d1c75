//! Messages, and lines that come and go while something is under way.

pub(crate) mod colour;
pub(crate) mod lines;
pub mod messages;
pub(crate) mod status_line;
