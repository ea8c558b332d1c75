//! Header compression for HTTP/3 (RFC 9204).
//!
//! ```text
//!                     encoder stream                      decoder stream
//!   server's encoder ────────────────► Decoder, its table ────────────────► server's encoder
//!            └──────── field sections ────► │ ──► fields
//!                                           └──► blocked, until the table has what the section needs
//! ```
//!
//! A [`Decoder`] turns field sections into fields, with a dynamic table that instructions on a stream of their own
//! change. We send only what needs no dynamic table ([`encode_field`]), so that our requests never block; a
//! [`DecoderStream`] checks that the server says nothing about a table that we do not use.

mod decoder;
mod decoder_stream;
mod encoder;
mod instruction;
mod section;
mod static_table;
#[cfg(test)]
mod tests;
mod text;

pub(crate) use self::decoder::{Decoded, Decoder, SectionLimits, TOO_MANY_BLOCKED};
pub(crate) use self::decoder_stream::DecoderStream;
pub(crate) use self::encoder::{begin_section, encode_field};
pub use self::section::{decode_section, encode_section};
