//! From header blocks to fields.

use thiserror::Error;

use super::table::Table;
use super::{DEFAULT_TABLE_SIZE, FIELD_OVERHEAD};
use crate::header_compression::{huffman, integer};

/// Decodes the header blocks of one direction of a connection, in order.
#[derive(Debug)]
pub struct Decoder {
    table: Table,
    /// The largest table that the encoder may choose: what we announced and the peer acknowledged.
    size_limit: usize,
    /// The limit fell below the size of the table: the next block must begin with a size update.
    must_resize: bool,
    /// Buffers for a name and a value that are Huffman-coded, or lie in a table that is about to change.
    name: Vec<u8>,
    value: Vec<u8>,
}

/// The reason why a header block cannot be decoded. The connection cannot continue, as the tables of both
/// ends may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// The block ends within a field.
    #[error("a header block ends within a field")]
    Truncated,
    /// A length, an index or a size is too large.
    #[error("a header block has a number that is too large")]
    Number,
    /// An index has no field.
    #[error("a header block has an index that stands for no field")]
    Index,
    /// A malformed Huffman code.
    #[error("a header block has a string with a malformed Huffman code")]
    Huffman,
    /// A size update exceeds the limit.
    #[error("a header block sets a table size beyond the limit")]
    TableSize,
    /// A size update follows a field, or is missing.
    #[error("a header block does not change the table size where it must be changed")]
    TableSizePlace,
    /// The fields are more, or larger, than allowed.
    #[error("a header list is too large")]
    ListSize,
}

/// A string of a block: where it lies, or that it was put into a buffer.
enum Text<'a> {
    Plain(&'a [u8]),
    Decoded,
}

impl Decoder {
    /// Makes a decoder with an empty table of the initial size, or less if the limit is lower. The encoder
    /// may choose any size up to the limit.
    #[must_use]
    pub fn new(size_limit: u32) -> Self {
        Self {
            table: Table::new(size_limit.min(DEFAULT_TABLE_SIZE) as usize),
            size_limit: size_limit as usize,
            must_resize: false,
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Applies the limit on the table size that the peer has acknowledged.
    pub fn set_size_limit(&mut self, size_limit: u32) {
        self.size_limit = size_limit as usize;
        self.must_resize = self.table.size_max() > self.size_limit;
    }

    /// Returns the version of the table: while it stays, equal blocks mean equal fields.
    #[must_use]
    pub fn table_changes(&self) -> u64 {
        self.table.changes()
    }

    /// Hands the fields of a block to `field`, name and value, in order. Returns the size of the header list
    /// (RFC 9113, section 10.5.1), which is at most `list_size_max`.
    ///
    /// # Errors
    /// When the block is malformed. Earlier fields have been handed out.
    pub fn decode(
        &mut self,
        block: &[u8],
        list_size_max: usize,
        mut field: impl FnMut(&[u8], &[u8]),
    ) -> Result<usize, DecodeError> {
        let mut input = block;
        let mut list_size = 0;
        let mut is_first = true;
        while let Some(&first) = input.first() {
            if first & 0xe0 == 0x20 {
                if !is_first {
                    return Err(DecodeError::TableSizePlace);
                }
                self.resize(integer::decode(5, &mut input)?)?;
                continue;
            }
            if self.must_resize {
                return Err(DecodeError::TableSizePlace);
            }
            is_first = false;
            list_size += self.decode_field(first, &mut input, list_size_max - list_size, &mut field)?;
        }
        Ok(list_size)
    }

    fn resize(&mut self, size: usize) -> Result<(), DecodeError> {
        if size > self.size_limit {
            return Err(DecodeError::TableSize);
        }
        self.must_resize = false;
        self.table.resize(size);
        Ok(())
    }

    /// Decodes the field that begins with this byte; returns its size, which is at most `room`.
    fn decode_field(
        &mut self,
        first: u8,
        input: &mut &[u8],
        room: usize,
        field: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<usize, DecodeError> {
        let size_of = |name: &[u8], value: &[u8]| {
            let size = name.len() + value.len() + FIELD_OVERHEAD;
            if size <= room { Ok(size) } else { Err(DecodeError::ListSize) }
        };
        if first & 0x80 != 0 {
            let (name, value) = self.table.get(integer::decode(7, input)?).ok_or(DecodeError::Index)?;
            let size = size_of(name, value)?;
            field(name, value);
            return Ok(size);
        }
        // With incremental indexing, without indexing, or never indexed.
        let is_inserted = first & 0x40 != 0;
        let index = integer::decode(if is_inserted { 6 } else { 4 }, input)?;
        let name = match index {
            0 => string(input, &mut self.name)?,
            index => {
                let (name, _) = self.table.get(index).ok_or(DecodeError::Index)?;
                self.name.clear();
                self.name.extend_from_slice(name);
                Text::Decoded
            }
        };
        let value = string(input, &mut self.value)?;
        let name = name.bytes(&self.name);
        let value = value.bytes(&self.value);
        let size = size_of(name, value)?;
        field(name, value);
        if is_inserted {
            self.table.insert(name, value);
        }
        Ok(size)
    }
}

impl<'a> Text<'a> {
    fn bytes(&self, aside: &'a [u8]) -> &'a [u8] {
        match self {
            Self::Plain(bytes) => bytes,
            Self::Decoded => aside,
        }
    }
}

/// Reads a string; a Huffman-coded one is decoded into `aside`.
fn string<'a>(input: &mut &'a [u8], aside: &mut Vec<u8>) -> Result<Text<'a>, DecodeError> {
    let is_huffman = input.first().is_some_and(|first| first & 0x80 != 0);
    let size = integer::decode(7, input)?;
    let (bytes, rest) = input.split_at_checked(size).ok_or(DecodeError::Truncated)?;
    *input = rest;
    if !is_huffman {
        return Ok(Text::Plain(bytes));
    }
    aside.clear();
    huffman::decode(bytes, aside).map_err(|huffman::Malformed| DecodeError::Huffman)?;
    Ok(Text::Decoded)
}

impl From<integer::IntegerError> for DecodeError {
    fn from(error: integer::IntegerError) -> Self {
        match error {
            integer::IntegerError::Truncated => Self::Truncated,
            integer::IntegerError::TooLarge => Self::Number,
        }
    }
}
