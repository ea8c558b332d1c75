//! Strings, plain or Huffman-coded (RFC 7541, section 5.2).

use super::{huffman, integer};

/// Appends a string, Huffman-coded if that is shorter. Its size has a prefix of `prefix` bits; the bit above them
/// tells if it is Huffman-coded, and those above that are of `flags`.
pub(crate) fn encode(text: &[u8], prefix: u32, flags: u8, out: &mut Vec<u8>) {
    let size = huffman::encoded_size(text);
    if size < text.len() {
        integer::encode(size as u64, prefix, flags | 1 << prefix, out);
        huffman::encode(text, out);
    } else {
        integer::encode(text.len() as u64, prefix, flags, out);
        out.extend_from_slice(text);
    }
}
