//! From fields to header blocks.

use super::DEFAULT_TABLE_SIZE;
use super::table::{Found, Table};
use crate::header_compression::{integer, string};

/// Encodes the header blocks of one direction of a connection, in order.
#[derive(Debug)]
pub struct Encoder {
    table: Table,
    /// The largest table that we want, whatever the peer allows.
    size_wanted: usize,
    /// The size updates that the next block begins with: the least size meanwhile, and the current one.
    resized: Option<(usize, usize)>,
}

/// The representation of a field that is not in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// Added to the dynamic table: for fields that repeat.
    Incremental,
    /// Not added: for fields that do not repeat.
    Without,
    /// Never added, by intermediaries either (RFC 7541, section 7.1.3).
    Never,
}

impl Encoder {
    /// Makes an encoder with an empty table of the initial size, or less if less is wanted.
    #[must_use]
    pub fn new(size_wanted: u32) -> Self {
        let (wanted, usual) = (size_wanted as usize, DEFAULT_TABLE_SIZE as usize);
        let size = wanted.min(usual);
        Self { table: Table::new(size), size_wanted: wanted, resized: (size < usual).then_some((size, size)) }
    }

    /// Applies the table size that the peer allows.
    pub fn set_size_limit(&mut self, size_limit: u32) {
        let size = self.size_wanted.min(size_limit as usize);
        if size == self.table.size_max() {
            return;
        }
        let least = self.resized.map_or(self.table.size_max(), |(least, _)| least).min(size);
        self.resized = Some((least, size));
        self.table.resize(size);
    }

    /// Returns the version of the table: while it stays, fields that were encoded without adding one have the
    /// same block.
    #[must_use]
    pub fn table_changes(&self) -> u64 {
        self.table.changes()
    }

    /// Appends the size updates that a block must begin with.
    pub fn begin_block(&mut self, out: &mut Vec<u8>) {
        if let Some((least, size)) = self.resized.take() {
            if least < size {
                integer::encode(least as u64, 5, 0x20, out);
            }
            integer::encode(size as u64, 5, 0x20, out);
        }
    }

    /// Appends a field, whose name must be in lower case.
    pub fn encode(&mut self, name: &[u8], value: &[u8], indexing: Indexing, out: &mut Vec<u8>) {
        let found = self.table.find(name, value);
        if let (Some(Found::Field(index)), Indexing::Incremental | Indexing::Without) = (found, indexing) {
            integer::encode(index as u64, 7, 0x80, out);
            return;
        }
        let (prefix, flags) = match indexing {
            Indexing::Incremental => (6, 0x40),
            Indexing::Without => (4, 0x00),
            Indexing::Never => (4, 0x10),
        };
        match found {
            Some(Found::Field(index) | Found::Name(index)) => {
                integer::encode(index as u64, prefix, flags, out);
            }
            None => {
                out.push(flags);
                string::encode(name, 7, 0, out);
            }
        }
        string::encode(value, 7, 0, out);
        if indexing == Indexing::Incremental {
            self.table.insert(name, value);
        }
    }
}
