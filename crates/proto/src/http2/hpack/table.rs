//! The fields that indices refer to: the static table (RFC 7541, appendix A) followed by the dynamic table
//! (section 2.3).

use crate::header_compression::{DynamicTable, Field};

/// The fields with the indices 1 to 61.
#[rustfmt::skip]
const STATIC: [Field<'static>; 61] = [
    (b":authority", b""),
    (b":method", b"GET"),
    (b":method", b"POST"),
    (b":path", b"/"),
    (b":path", b"/index.html"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"200"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"304"),
    (b":status", b"400"),
    (b":status", b"404"),
    (b":status", b"500"),
    (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"),
    (b"accept-language", b""),
    (b"accept-ranges", b""),
    (b"accept", b""),
    (b"access-control-allow-origin", b""),
    (b"age", b""),
    (b"allow", b""),
    (b"authorization", b""),
    (b"cache-control", b""),
    (b"content-disposition", b""),
    (b"content-encoding", b""),
    (b"content-language", b""),
    (b"content-length", b""),
    (b"content-location", b""),
    (b"content-range", b""),
    (b"content-type", b""),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"expect", b""),
    (b"expires", b""),
    (b"from", b""),
    (b"host", b""),
    (b"if-match", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"if-range", b""),
    (b"if-unmodified-since", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"max-forwards", b""),
    (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""),
    (b"range", b""),
    (b"referer", b""),
    (b"refresh", b""),
    (b"retry-after", b""),
    (b"server", b""),
    (b"set-cookie", b""),
    (b"strict-transport-security", b""),
    (b"transfer-encoding", b""),
    (b"user-agent", b""),
    (b"vary", b""),
    (b"via", b""),
    (b"www-authenticate", b""),
];

/// Both tables of one direction of a connection.
#[derive(Debug)]
pub(super) struct Table {
    dynamic: DynamicTable,
}

/// The result of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The index of the field.
    Field(usize),
    /// The index of a field of the same name.
    Name(usize),
}

impl Table {
    /// Makes an empty dynamic table that may grow to this size.
    pub(super) fn new(size_max: usize) -> Self {
        Self { dynamic: DynamicTable::new(size_max) }
    }

    /// Returns the field with this index, from 1.
    pub(super) fn get(&self, index: usize) -> Option<Field<'_>> {
        let index = index.checked_sub(1)?;
        match STATIC.get(index) {
            Some(&field) => Some(field),
            None => self.dynamic.get(index - STATIC.len()),
        }
    }

    /// Returns the least index of this field, or else of a field with its name.
    pub(super) fn find(&self, name: &[u8], value: &[u8]) -> Option<Found> {
        let mut of_name = None;
        for ((its_name, its_value), index) in STATIC.iter().copied().chain(self.dynamic.fields()).zip(1..) {
            if its_name == name {
                if its_value == value {
                    return Some(Found::Field(index));
                }
                of_name = of_name.or(Some(Found::Name(index)));
            }
        }
        of_name
    }

    /// Adds a field, which gets the least index of the dynamic table. Fields without room are evicted; a
    /// field larger than the table empties it.
    pub(super) fn insert(&mut self, name: &[u8], value: &[u8]) {
        self.dynamic.insert(name, value);
    }

    /// Changes the maximum size.
    pub(super) fn resize(&mut self, size_max: usize) {
        self.dynamic.resize(size_max);
    }

    /// Returns the maximum size.
    pub(super) fn size_max(&self) -> usize {
        self.dynamic.size_max()
    }

    /// Returns the version of the table.
    pub(super) fn changes(&self) -> u64 {
        self.dynamic.changes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_fields_come_first_and_then_the_newest() {
        let mut table = Table::new(4096);
        table.insert(b"one", b"1");
        table.insert(b"two", b"2");
        assert_eq!(table.get(0), None);
        assert_eq!(table.get(1), Some((&b":authority"[..], &b""[..])));
        assert_eq!(table.get(61), Some((&b"www-authenticate"[..], &b""[..])));
        assert_eq!(table.get(62), Some((&b"two"[..], &b"2"[..])));
        assert_eq!(table.get(63), Some((&b"one"[..], &b"1"[..])));
        assert_eq!(table.get(64), None);
        assert_eq!(table.get(usize::MAX), None);
    }

    #[test]
    fn a_whole_field_is_better_than_a_name() {
        let mut table = Table::new(4096);
        table.insert(b":path", b"/x");
        assert_eq!(table.find(b":path", b"/x"), Some(Found::Field(62)));
        assert_eq!(table.find(b":path", b"/"), Some(Found::Field(4)));
        assert_eq!(table.find(b":path", b"/y"), Some(Found::Name(4)));
        assert_eq!(table.find(b"x", b""), None);
    }
}
