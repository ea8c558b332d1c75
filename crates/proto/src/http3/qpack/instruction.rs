//! Instructions of an encoder (RFC 9204, section 4.3).

use super::super::error::{ErrorCode, Violation};
use super::text::{Text, TextHeader};
use crate::header_compression::integer::{self, IntegerError};

/// A complete instruction, still in the form in which it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instruction<'a> {
    SetCapacity(u64),
    Insert { name: Name<'a>, value: Text<'a> },
    Duplicate(u64),
}

/// The name of a field that is inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name<'a> {
    /// That of a field of the static table.
    Static(u64),
    /// That of a field of the dynamic table, 0 being the newest.
    Dynamic(u64),
    Literal(Text<'a>),
}

/// The reason why no instruction was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// It goes on beyond the input.
    Incomplete,
    Violation(Violation),
}

pub(super) const ENTRY_SIZE: Violation =
    violation("an instruction that inserts a field larger than the table");

const NUMBER: Violation = violation("an instruction with a number that is too large");

/// Makes a violation on the encoder stream.
pub(super) const fn violation(reason: &'static str) -> Violation {
    Violation::of_connection(ErrorCode::QPACK_ENCODER_STREAM_ERROR, reason)
}

impl<'a> Instruction<'a> {
    /// Reads an instruction off the input. Strings that are surely larger than the table are refused before they
    /// have arrived.
    pub(super) fn read(input: &mut &'a [u8], capacity: usize) -> Result<Self, Stop> {
        let mut rest = *input;
        let &first = rest.first().ok_or(Stop::Incomplete)?;
        let instruction = match first {
            0x80.. => {
                let index = integer::decode_u62(6, &mut rest)?;
                let name = if first & 0x40 != 0 { Name::Static(index) } else { Name::Dynamic(index) };
                Self::Insert { name, value: string(7, &mut rest, capacity)? }
            }
            0x40.. => {
                let name = Name::Literal(string(5, &mut rest, capacity)?);
                Self::Insert { name, value: string(7, &mut rest, capacity)? }
            }
            0x20.. => Self::SetCapacity(integer::decode_u62(5, &mut rest)?),
            _ => Self::Duplicate(integer::decode_u62(5, &mut rest)?),
        };
        *input = rest;
        Ok(instruction)
    }
}

fn string<'a>(prefix: u32, input: &mut &'a [u8], capacity: usize) -> Result<Text<'a>, Stop> {
    let header = TextHeader::read(prefix, input)?;
    if header.is_beyond(capacity) {
        return Err(Stop::Violation(ENTRY_SIZE));
    }
    header.text(input).ok_or(Stop::Incomplete)
}

impl From<IntegerError> for Stop {
    fn from(error: IntegerError) -> Self {
        match error {
            IntegerError::Truncated => Self::Incomplete,
            IntegerError::TooLarge => Self::Violation(NUMBER),
        }
    }
}
