//! Field sections by themselves, without a dynamic table, for servers in tests.

use super::{Decoded, Decoder, SectionLimits, begin_section, encode_field};

/// Returns the fields of a section that refers to no dynamic table; `None` if it is malformed, or refers to one.
#[must_use]
pub fn decode_section(section: &[u8]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let limits = SectionLimits { size: usize::MAX, fields: usize::MAX };
    let mut fields = Vec::new();
    let decoded = Decoder::new(0)
        .decode(0, section, limits, |name, value| fields.push((name.to_vec(), value.to_vec())));
    matches!(decoded, Ok(Decoded::Fields { required_insert_count: 0, .. })).then_some(fields)
}

/// Returns the section with these fields, whose names must be in lower case.
pub fn encode_section<'a>(fields: impl IntoIterator<Item = (&'a [u8], &'a [u8])>) -> Vec<u8> {
    let mut section = Vec::new();
    begin_section(&mut section);
    fields.into_iter().for_each(|(name, value)| encode_field(name, value, &mut section));
    section
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_read_as_it_was_written() {
        let fields: [(&[u8], &[u8]); 3] = [(b":status", b"200"), (b"etag", b"x"), (b"a", b"")];
        let owned: Vec<_> = fields.iter().map(|&(name, value)| (name.to_vec(), value.to_vec())).collect();
        assert_eq!(decode_section(&encode_section(fields)), Some(owned));
    }

    #[test]
    fn a_section_that_is_malformed_or_refers_to_a_table_is_not_read() {
        for section in [&b""[..], b"\0", b"\0\0\xff", b"\x02\0\x80"] {
            assert_eq!(decode_section(section), None, "{section:?}");
        }
    }
}
