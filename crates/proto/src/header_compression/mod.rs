//! What the header compressions of HTTP/2 and HTTP/3 have in common: the integers and strings of RFC 7541
//! (section 5), and a dynamic table (section 2.3.2).
//!
//! <https://www.rfc-editor.org/rfc/rfc7541#section-5>

mod dynamic_table;
pub(crate) mod huffman;
pub(crate) mod integer;
pub(crate) mod string;

pub(crate) use self::dynamic_table::DynamicTable;

/// A name and a value.
pub(crate) type Field<'a> = (&'a [u8], &'a [u8]);

/// The overhead of a field in the size of a table or header list, in addition to its name and value.
///
/// <https://www.rfc-editor.org/rfc/rfc7541#section-4.1>
pub const FIELD_OVERHEAD: usize = 32;

/// Returns whether the value of a field of a request is a secret, which no table may hold, those of intermediaries
/// included.
///
/// <https://www.rfc-editor.org/rfc/rfc7541#section-7.1.3>
pub(crate) fn is_sensitive(name: &[u8]) -> bool {
    matches!(name, b"authorization" | b"proxy-authorization")
}
