//! Content of replies, read as it arrives: codings.

mod coding;

pub use self::coding::{Coding, Decoder};
