//! The fields that indices refer to: the static table (RFC 7541, appendix A) followed by the dynamic table
//! (section 2.3).

use std::collections::VecDeque;

use super::FIELD_OVERHEAD;

/// A name and a value.
pub(super) type Field<'a> = (&'a [u8], &'a [u8]);

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
///
/// The bytes of the dynamic table are contiguous. Those of evicted fields are dropped in batches, so that
/// nothing is allocated for a field once the table has reached its size.
#[derive(Debug)]
pub(super) struct Table {
    /// Entries, the newest last.
    entries: VecDeque<Entry>,
    /// Names and values of the entries, each name followed by its value; evicted bytes come first.
    bytes: Vec<u8>,
    /// The size as RFC 7541 counts it.
    size: usize,
    size_max: usize,
    /// The number of insertions and evictions: the version of the table.
    changes: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// The offset of its name in `bytes`.
    start: usize,
    name_size: usize,
    value_size: usize,
}

impl Entry {
    fn size(self) -> usize {
        self.name_size + self.value_size + FIELD_OVERHEAD
    }

    fn end(self) -> usize {
        self.start + self.name_size + self.value_size
    }
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
        Self { entries: VecDeque::new(), bytes: Vec::new(), size: 0, size_max, changes: 0 }
    }

    /// Returns the field with this index, from 1.
    pub(super) fn get(&self, index: usize) -> Option<Field<'_>> {
        let index = index.checked_sub(1)?;
        match STATIC.get(index) {
            Some(&field) => Some(field),
            None => {
                let from_newest = index - STATIC.len();
                let entry = self.entries.get(self.entries.len().checked_sub(from_newest + 1)?)?;
                let (name, value) = self.bytes[entry.start..entry.end()].split_at(entry.name_size);
                Some((name, value))
            }
        }
    }

    /// Returns the least index of this field, or else of a field with its name.
    pub(super) fn find(&self, name: &[u8], value: &[u8]) -> Option<Found> {
        let mut of_name = None;
        let fields =
            (1..=STATIC.len() + self.entries.len()).filter_map(|index| Some((index, self.get(index)?)));
        for (index, (its_name, its_value)) in fields {
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
        self.changes += 1;
        let size = name.len() + value.len() + FIELD_OVERHEAD;
        self.shrink_to(self.size_max.saturating_sub(size));
        if size > self.size_max {
            return;
        }
        self.drop_evicted();
        let start = self.bytes.len();
        self.bytes.extend_from_slice(name);
        self.bytes.extend_from_slice(value);
        self.entries.push_back(Entry { start, name_size: name.len(), value_size: value.len() });
        self.size += size;
    }

    /// Changes the maximum size.
    pub(super) fn resize(&mut self, size_max: usize) {
        self.changes += 1;
        self.size_max = size_max;
        self.shrink_to(size_max);
    }

    /// Returns the maximum size.
    pub(super) fn size_max(&self) -> usize {
        self.size_max
    }

    /// Returns the version of the table.
    pub(super) fn changes(&self) -> u64 {
        self.changes
    }

    fn shrink_to(&mut self, size: usize) {
        while self.size > size {
            let oldest = self.entries.pop_front().expect("a table with a size has entries");
            self.size -= oldest.size();
        }
    }

    /// Drops the bytes of evicted fields, once they are as many as a full table has.
    fn drop_evicted(&mut self) {
        let evicted = self.entries.front().map_or(self.bytes.len(), |oldest| oldest.start);
        if evicted >= self.size_max.max(1) {
            self.bytes.drain(..evicted);
            self.entries.iter_mut().for_each(|entry| entry.start -= evicted);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    #[test]
    fn a_field_larger_than_the_table_empties_it() {
        let mut table = Table::new(40);
        table.insert(b"a", b"b");
        table.insert(b"long", b"longer");
        assert_eq!(table.get(62), None);
        table.insert(b"a", b"c");
        assert_eq!(table.get(62), Some((&b"a"[..], &b"c"[..])));
    }

    proptest! {
        #[test]
        fn it_is_like_a_plain_list_of_fields(
            steps in prop::collection::vec((0..20_u8, prop::collection::vec(any::<u8>(), 0..60), 0..400_usize), 0..200),
        ) {
            let mut table = Table::new(300);
            let (mut model, mut size_max) = (Vec::new(), 300);
            for (name, value, size) in steps {
                if name == 0 {
                    size_max = size;
                    table.resize(size);
                } else {
                    table.insert(&[name], &value);
                    model.insert(0, (vec![name], value));
                }
                let mut total = 0;
                model.retain(|(name, value)| {
                    total += name.len() + value.len() + FIELD_OVERHEAD;
                    total <= size_max
                });
                for index in 0..=model.len() {
                    let expected = model.get(index).map(|(name, value)| (&name[..], &value[..]));
                    prop_assert_eq!(table.get(62 + index), expected);
                }
                prop_assert!(table.bytes.len() <= 2 * size_max.max(400));
            }
        }
    }
}
