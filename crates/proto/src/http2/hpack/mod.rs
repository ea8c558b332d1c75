//! Header compression for HTTP/2 (RFC 7541).
//!
//! A [`Decoder`] turns header blocks into fields, an [`Encoder`] fields into header blocks. Each keeps a
//! dynamic table for the life of the connection: blocks must be decoded in the order in which they were
//! encoded.

mod decoder;
mod encoder;
mod table;
#[cfg(test)]
mod tests;

pub use self::decoder::{DecodeError, Decoder};
pub use self::encoder::{Encoder, Indexing};
pub use crate::header_compression::FIELD_OVERHEAD;

/// The initial size of a dynamic table.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2>
pub const DEFAULT_TABLE_SIZE: u32 = 4096;
