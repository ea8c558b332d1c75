//! From field sections to fields.

use super::super::error::{ErrorCode, Violation};
use super::instruction::{self, ENTRY_SIZE, Instruction, Name, Stop};
use super::static_table;
use super::text::TextHeader;
use crate::header_compression::huffman::Malformed;
use crate::header_compression::integer::{self, IntegerError};
use crate::header_compression::{DynamicTable, FIELD_OVERHEAD, Field};

/// Decodes the field sections of a connection.
///
/// The owner hands it the bytes of the server's encoder stream and the sections of the replies. A section that needs
/// more insertions than have arrived is blocked: the owner keeps its bytes, counts it against the number that it has
/// announced ([`TOO_MANY_BLOCKED`]), and decodes it again once [`Decoder::insert_count`] is high enough. What the
/// server is to be told is collected and comes out of [`Decoder::take_instructions`].
#[derive(Debug)]
pub(crate) struct Decoder {
    table: DynamicTable,
    /// The largest capacity that the encoder may choose: what we announced.
    capacity_max: usize,
    insert_count: u64,
    /// The instructions that were carried out.
    instruction_count: u64,
    /// The insertions that the encoder was told have arrived.
    known_received_count: u64,
    /// The beginning of an instruction on the encoder stream that is not complete.
    partial: Vec<u8>,
    /// Instructions to the encoder.
    instructions: Vec<u8>,
    /// Buffers for a name and a value that are Huffman-coded, or lie in a table that is about to change.
    name: Vec<u8>,
    value: Vec<u8>,
}

/// Bounds on the fields of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectionLimits {
    /// Bytes as RFC 9114 counts them (section 4.2.2).
    pub(crate) size: usize,
    /// Number of fields.
    pub(crate) fields: usize,
}

/// The result of decoding a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decoded {
    /// All fields were handed out.
    Fields {
        /// Their size as RFC 9114 counts it.
        size: usize,
        /// The number of insertions that the section needs. If it is 0, an equal section always means the same;
        /// otherwise as long as [`Decoder::table_changes`] stays, and it must be acknowledged.
        required_insert_count: u64,
    },
    /// No field was handed out: the section needs insertions that have not arrived.
    Blocked { required_insert_count: u64 },
}

/// The violation when more streams are blocked than were announced.
///
/// <https://www.rfc-editor.org/rfc/rfc9204#section-2.1.2>
pub(crate) const TOO_MANY_BLOCKED: Violation = malformed("more streams blocked than allowed");

const TRUNCATED: Violation = malformed("a field section that ends within a field");
const REQUIRED_INSERT_COUNT: Violation = malformed("a field section with an impossible insert count");
const BASE: Violation = malformed("a field section with a base below zero");
const INDEX: Violation = malformed("a field section with an index that stands for no field");
const HUFFMAN: Violation = malformed("a field section with a malformed Huffman code");

/// A number larger than an implementation must take fails the stream alone.
///
/// <https://www.rfc-editor.org/rfc/rfc9204#section-7.4>
const NUMBER: Violation = Violation::of_stream(
    ErrorCode::QPACK_DECOMPRESSION_FAILED,
    "a field section with a number that is too large",
);

const SECTION_SIZE: Violation =
    Violation::of_stream(ErrorCode::H3_EXCESSIVE_LOAD, "a field section larger than the limit");
const SECTION_FIELDS: Violation =
    Violation::of_stream(ErrorCode::H3_EXCESSIVE_LOAD, "a field section with more fields than the limit");

const CAPACITY: Violation = instruction::violation("an instruction that sets a capacity beyond the limit");
const INSTRUCTION_INDEX: Violation =
    instruction::violation("an instruction with an index that stands for no field");
const INSTRUCTION_HUFFMAN: Violation = instruction::violation("an instruction with a malformed Huffman code");

const fn malformed(reason: &'static str) -> Violation {
    Violation::of_connection(ErrorCode::QPACK_DECOMPRESSION_FAILED, reason)
}

/// The prefix of a section.
///
/// <https://www.rfc-editor.org/rfc/rfc9204#section-4.5.1>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Prefix {
    required_insert_count: u64,
    base: u64,
}

/// What the fields of a section may refer to.
#[derive(Debug)]
struct References<'a> {
    table: &'a DynamicTable,
    insert_count: u64,
    prefix: Prefix,
}

impl Decoder {
    /// Makes a decoder with an empty table of capacity 0. The encoder may choose any capacity up to the one announced.
    pub(crate) fn new(capacity_max: u32) -> Self {
        Self {
            table: DynamicTable::new(0),
            capacity_max: capacity_max as usize,
            insert_count: 0,
            instruction_count: 0,
            known_received_count: 0,
            partial: Vec::new(),
            instructions: Vec::new(),
            name: Vec::new(),
            value: Vec::new(),
        }
    }

    /// Returns the number of insertions that have arrived.
    pub(crate) fn insert_count(&self) -> u64 {
        self.insert_count
    }

    /// Returns the number of instructions of the encoder that were carried out.
    pub(crate) fn instruction_count(&self) -> u64 {
        self.instruction_count
    }

    /// Returns the version of the table: while it stays, equal sections mean equal fields.
    pub(crate) fn table_changes(&self) -> u64 {
        self.table.changes()
    }

    /// Reads bytes of the encoder stream.
    ///
    /// # Errors
    /// When an instruction is malformed or cannot be carried out. The connection cannot continue.
    pub(crate) fn handle_encoder_stream(&mut self, bytes: &[u8]) -> Result<(), Violation> {
        if self.partial.is_empty() {
            let used = self.carry_out(bytes)?;
            self.partial.extend_from_slice(&bytes[used..]);
            return Ok(());
        }
        let mut joined = std::mem::take(&mut self.partial);
        joined.extend_from_slice(bytes);
        let used = self.carry_out(&joined)?;
        joined.drain(..used);
        self.partial = joined;
        Ok(())
    }

    /// Decodes a section of a stream: hands the fields to `field`, name and value, in order, and acknowledges it if
    /// that is called for.
    ///
    /// # Errors
    /// When the section is malformed or beyond the limits. Earlier fields have been handed out. If only the stream
    /// fails, [`Decoder::cancel`] it.
    pub(crate) fn decode(
        &mut self,
        stream: u64,
        section: &[u8],
        limits: SectionLimits,
        mut field: impl FnMut(&[u8], &[u8]),
    ) -> Result<Decoded, Violation> {
        let mut input = section;
        let prefix = self.prefix(&mut input)?;
        let required_insert_count = prefix.required_insert_count;
        if required_insert_count > self.insert_count {
            return Ok(Decoded::Blocked { required_insert_count });
        }
        let references = References { table: &self.table, insert_count: self.insert_count, prefix };
        let mut size = 0;
        let mut fields_left = limits.fields;
        while !input.is_empty() {
            let (name, value) = references.next_field(&mut input, &mut self.name, &mut self.value)?;
            size += name.len() + value.len() + FIELD_OVERHEAD;
            if size > limits.size {
                return Err(SECTION_SIZE);
            }
            fields_left = fields_left.checked_sub(1).ok_or(SECTION_FIELDS)?;
            field(name, value);
        }
        self.acknowledge(stream, required_insert_count);
        Ok(Decoded::Fields { size, required_insert_count })
    }

    /// Acknowledges a section that was decoded, or that equals one that was, if its insert count is not 0.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc9204#section-4.4.1>
    pub(crate) fn acknowledge(&mut self, stream: u64, required_insert_count: u64) {
        if required_insert_count > 0 {
            integer::encode(stream, 7, 0x80, &mut self.instructions);
            self.known_received_count = self.known_received_count.max(required_insert_count);
        }
    }

    /// Tells the encoder that no further section of this stream will be decoded, as the stream was reset or its reply
    /// is no longer wanted. A stream that ended needs none.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc9204#section-4.4.2>
    pub(crate) fn cancel(&mut self, stream: u64) {
        // Without a table nothing refers to it.
        if self.capacity_max > 0 {
            integer::encode(stream, 6, 0x40, &mut self.instructions);
        }
    }

    /// Returns whether there is something to tell the encoder.
    pub(crate) fn has_instructions(&self) -> bool {
        !self.instructions.is_empty() || self.insert_count > self.known_received_count
    }

    /// Appends what the encoder is to be told, on our decoder stream.
    pub(crate) fn take_instructions(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.instructions);
        // Insert count increment (section 4.4.3), for insertions that no acknowledgment tells of.
        if self.insert_count > self.known_received_count {
            integer::encode(self.insert_count - self.known_received_count, 6, 0x00, out);
            self.known_received_count = self.insert_count;
        }
    }

    /// Carries out the complete instructions; returns their size.
    fn carry_out(&mut self, bytes: &[u8]) -> Result<usize, Violation> {
        let mut input = bytes;
        loop {
            match Instruction::read(&mut input, self.table.size_max()) {
                Ok(Instruction::SetCapacity(capacity)) => self.set_capacity(capacity)?,
                Ok(Instruction::Insert { name, value }) => {
                    match name {
                        Name::Static(index) => {
                            let (name, _) = static_table::get(index).ok_or(INSTRUCTION_INDEX)?;
                            self.name.clear();
                            self.name.extend_from_slice(name);
                        }
                        Name::Dynamic(index) => self.copy_field(index)?,
                        Name::Literal(name) => {
                            name.decode_into(&mut self.name).map_err(|Malformed| INSTRUCTION_HUFFMAN)?;
                        }
                    }
                    value.decode_into(&mut self.value).map_err(|Malformed| INSTRUCTION_HUFFMAN)?;
                    self.insert()?;
                }
                Ok(Instruction::Duplicate(index)) => {
                    self.copy_field(index)?;
                    self.insert()?;
                }
                Err(Stop::Incomplete) => return Ok(bytes.len() - input.len()),
                Err(Stop::Violation(violation)) => return Err(violation),
            }
            self.instruction_count += 1;
        }
    }

    fn set_capacity(&mut self, capacity: u64) -> Result<(), Violation> {
        let capacity = usize::try_from(capacity).ok().filter(|&capacity| capacity <= self.capacity_max);
        self.table.resize(capacity.ok_or(CAPACITY)?);
        Ok(())
    }

    /// Copies the name and value of a field by its age.
    fn copy_field(&mut self, index: u64) -> Result<(), Violation> {
        let age = usize::try_from(index).map_err(|_| INSTRUCTION_INDEX)?;
        let (name, value) = self.table.get(age).ok_or(INSTRUCTION_INDEX)?;
        self.name.clear();
        self.name.extend_from_slice(name);
        self.value.clear();
        self.value.extend_from_slice(value);
        Ok(())
    }

    /// Inserts the field in the buffers.
    fn insert(&mut self) -> Result<(), Violation> {
        if self.name.len() + self.value.len() + FIELD_OVERHEAD > self.table.size_max() {
            return Err(ENTRY_SIZE);
        }
        self.table.insert(&self.name, &self.value);
        self.insert_count += 1;
        Ok(())
    }

    fn prefix(&self, input: &mut &[u8]) -> Result<Prefix, Violation> {
        let required_insert_count = self.required_insert_count(integer::decode_u62(8, input)?)?;
        let is_negative = input.first().is_some_and(|first| first & 0x80 != 0);
        let delta = integer::decode_u62(7, input)?;
        let base = if is_negative {
            required_insert_count.checked_sub(delta).and_then(|base| base.checked_sub(1)).ok_or(BASE)?
        } else {
            required_insert_count + delta
        };
        Ok(Prefix { required_insert_count, base })
    }

    /// Returns the insert count that is meant. It is sent modulo twice the number of fields that a table can have; the
    /// one that is meant is less than a whole table away from the insertions that have arrived.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc9204#section-4.5.1.1>
    fn required_insert_count(&self, encoded: u64) -> Result<u64, Violation> {
        if encoded == 0 {
            return Ok(0);
        }
        let entries_max = (self.capacity_max / FIELD_OVERHEAD) as u64;
        let range = 2 * entries_max;
        if encoded > range {
            return Err(REQUIRED_INSERT_COUNT);
        }
        let most = self.insert_count + entries_max;
        let count = most / range * range + (encoded - 1);
        let count = if count > most { count.checked_sub(range).ok_or(REQUIRED_INSERT_COUNT)? } else { count };
        if count == 0 { Err(REQUIRED_INSERT_COUNT) } else { Ok(count) }
    }
}

impl References<'_> {
    /// Reads the next field off the input.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc9204#section-4.5>
    fn next_field<'a, 'i: 'a>(
        &'a self,
        input: &mut &'i [u8],
        name_aside: &'a mut Vec<u8>,
        value_aside: &'a mut Vec<u8>,
    ) -> Result<Field<'a>, Violation> {
        let &first = input.first().ok_or(TRUNCATED)?;
        let is_static = |bit: u8| first & bit != 0;
        let (name, _) = match first {
            0x80.. => {
                let index = integer::decode_u62(6, input)?;
                return if is_static(0x40) { static_field(index) } else { self.before_base(index) };
            }
            0x40.. => {
                let index = integer::decode_u62(4, input)?;
                if is_static(0x10) { static_field(index)? } else { self.before_base(index)? }
            }
            0x20.. => (string(3, input, name_aside)?, &[][..]),
            0x10.. => return self.post_base(integer::decode_u62(4, input)?),
            _ => self.post_base(integer::decode_u62(3, input)?)?,
        };
        Ok((name, string(7, input, value_aside)?))
    }

    /// Returns the field with this relative index: 0 is the newest before the base.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc9204#section-3.2.5>
    fn before_base(&self, index: u64) -> Result<Field<'_>, Violation> {
        self.field(self.prefix.base.checked_sub(index).and_then(|index| index.checked_sub(1)).ok_or(INDEX)?)
    }

    /// Returns the field with this index from the base on.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc9204#section-3.2.6>
    fn post_base(&self, index: u64) -> Result<Field<'_>, Violation> {
        self.field(self.prefix.base + index)
    }

    /// Returns the field with this absolute index: 0 is the first that was ever inserted.
    fn field(&self, index: u64) -> Result<Field<'_>, Violation> {
        if index >= self.prefix.required_insert_count {
            return Err(INDEX);
        }
        let age = usize::try_from(self.insert_count - 1 - index).map_err(|_| INDEX)?;
        self.table.get(age).ok_or(INDEX)
    }
}

fn static_field(index: u64) -> Result<Field<'static>, Violation> {
    static_table::get(index).ok_or(INDEX)
}

/// Reads a string; a Huffman-coded one is decoded into `aside`.
fn string<'a, 'i: 'a>(
    prefix: u32,
    input: &mut &'i [u8],
    aside: &'a mut Vec<u8>,
) -> Result<&'a [u8], Violation> {
    let text = TextHeader::read(prefix, input)?.text(input).ok_or(TRUNCATED)?;
    text.decode(aside).map_err(|Malformed| HUFFMAN)
}

impl From<IntegerError> for Violation {
    /// Returns the violation that an integer in a section is.
    fn from(error: IntegerError) -> Self {
        match error {
            IntegerError::Truncated => TRUNCATED,
            IntegerError::TooLarge => NUMBER,
        }
    }
}
