//! The fields that an encoder adds, of which old ones make room for new ones (RFC 7541, section 2.3.2).

use std::collections::VecDeque;

use super::{FIELD_OVERHEAD, Field};

/// The dynamic table of one direction of a connection.
///
/// Its bytes are contiguous. Those of evicted fields are dropped in batches, so that nothing is allocated for a
/// field once the table has reached its size.
#[derive(Debug)]
pub(crate) struct DynamicTable {
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

impl DynamicTable {
    /// Makes an empty table that may grow to this size.
    pub(crate) fn new(size_max: usize) -> Self {
        Self { entries: VecDeque::new(), bytes: Vec::new(), size: 0, size_max, changes: 0 }
    }

    /// Returns a field by its age: 0 is the newest.
    pub(crate) fn get(&self, age: usize) -> Option<Field<'_>> {
        // Beyond the oldest, this wraps to a place that there is not.
        let place = self.entries.len().wrapping_sub(age).wrapping_sub(1);
        self.entries.get(place).map(|&entry| self.field(entry))
    }

    /// Returns the fields, the newest first.
    pub(crate) fn fields(&self) -> impl Iterator<Item = Field<'_>> {
        self.entries.iter().rev().map(|&entry| self.field(entry))
    }

    fn field(&self, entry: Entry) -> Field<'_> {
        self.bytes[entry.start..entry.end()].split_at(entry.name_size)
    }

    /// Adds a field. Fields without room are evicted; a field larger than the table empties it.
    pub(crate) fn insert(&mut self, name: &[u8], value: &[u8]) {
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
    pub(crate) fn resize(&mut self, size_max: usize) {
        self.changes += 1;
        self.size_max = size_max;
        self.shrink_to(size_max);
    }

    /// Returns the maximum size.
    pub(crate) fn size_max(&self) -> usize {
        self.size_max
    }

    /// Returns the version of the table.
    pub(crate) fn changes(&self) -> u64 {
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
    fn a_field_larger_than_the_table_empties_it() {
        let mut table = DynamicTable::new(40);
        table.insert(b"a", b"b");
        table.insert(b"long", b"longer");
        assert_eq!(table.get(0), None);
        table.insert(b"a", b"c");
        assert_eq!(table.get(0), Some((&b"a"[..], &b"c"[..])));
    }

    proptest! {
        #[test]
        fn it_is_like_a_plain_list_of_fields(
            steps in prop::collection::vec((0..20_u8, prop::collection::vec(any::<u8>(), 0..60), 0..400_usize), 0..200),
        ) {
            let mut table = DynamicTable::new(300);
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
                    prop_assert_eq!(table.get(index), expected);
                }
                let fields: Vec<_> = model.iter().map(|(name, value)| (&name[..], &value[..])).collect();
                prop_assert_eq!(table.fields().collect::<Vec<_>>(), fields);
                prop_assert_eq!(table.get(usize::MAX), None);
                prop_assert_eq!(table.get(usize::MAX - 1), None);
                prop_assert!(table.bytes.len() <= 2 * size_max.max(400));
            }
        }
    }
}
