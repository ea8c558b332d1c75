//! From fields to field sections that refer to the static table alone.

use super::static_table::{self, Found};
use crate::header_compression::{integer, is_sensitive, string};

/// Appends the prefix of a section that refers to no dynamic table.
///
/// <https://www.rfc-editor.org/rfc/rfc9204#section-4.5.1>
pub(crate) fn begin_section(out: &mut Vec<u8>) {
    // A required insert count of 0, and a base that does not matter.
    out.extend_from_slice(&[0, 0]);
}

/// Appends a field of a request, whose name must be in lower case. A secret is marked as never to be put into a table.
///
/// <https://www.rfc-editor.org/rfc/rfc9204#section-4.5.2>
pub(crate) fn encode_field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let is_sensitive = is_sensitive(name);
    match static_table::find(name, value) {
        Some(Found::Field(index)) if !is_sensitive => return integer::encode(index, 6, 0xc0, out),
        Some(Found::Field(index) | Found::Name(index)) => {
            integer::encode(index, 4, if is_sensitive { 0x70 } else { 0x50 }, out);
        }
        None => string::encode(name, 3, if is_sensitive { 0x30 } else { 0x20 }, out),
    }
    string::encode(value, 7, 0x00, out);
}
