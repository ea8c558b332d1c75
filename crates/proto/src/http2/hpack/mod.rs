//! Header compression for HTTP/2 (RFC 7541).
//!
//! A [`Decoder`] turns header blocks into fields, an [`Encoder`] fields into header blocks. Each keeps a dynamic table,
//! which lives as long as the connection: blocks are to be decoded in the order in which they were encoded.

mod decoder;
mod encoder;
mod huffman;
mod integer;
mod table;
#[cfg(test)]
mod tests;

pub use self::decoder::{DecodeError, Decoder};
pub use self::encoder::{Encoder, Indexing};

/// The size that a dynamic table has until something else is agreed upon.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2>
pub const DEFAULT_TABLE_SIZE: u32 = 4096;

/// What a field counts beside the bytes of its name and its value, in the size of a table and of a header list.
///
/// <https://www.rfc-editor.org/rfc/rfc7541#section-4.1>
pub const FIELD_OVERHEAD: usize = 32;
