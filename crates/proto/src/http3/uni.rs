//! Unidirectional streams: an integer at the beginning tells what they are for (RFC 9114, section 6.2; RFC 9204,
//! section 4.2).

use crate::varint;

/// The purpose of a unidirectional stream.
///
/// <https://www.rfc-editor.org/rfc/rfc9114#section-6.2>
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamType {
    /// Frames about the connection.
    Control,
    /// A pushed reply. We never allow one.
    Push,
    /// Instructions of a QPACK encoder: changes to the table of the decoder.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc9204#section-4.2>
    Encoder,
    /// Instructions of a QPACK decoder: what it has processed.
    Decoder,
    /// A type that means nothing to us. Its content is ignored.
    Unknown(u64),
}

impl StreamType {
    fn new(number: u64) -> Self {
        match number {
            0x00 => Self::Control,
            0x01 => Self::Push,
            0x02 => Self::Encoder,
            0x03 => Self::Decoder,
            number => Self::Unknown(number),
        }
    }

    /// Appends the beginning of a stream of this type.
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        let number = match self {
            Self::Control => 0x00,
            Self::Push => 0x01,
            Self::Encoder => 0x02,
            Self::Decoder => 0x03,
            Self::Unknown(number) => number,
        };
        varint::write(number, out);
    }
}

/// Reads the type of a stream, wherever its bytes are cut.
#[derive(Debug, Default)]
pub(crate) struct TypeReader {
    partial: varint::Partial,
}

impl TypeReader {
    /// Reads the type off the input; `None` if there is more to come. A stream that ends before its type is complete
    /// has no meaning and is no error.
    pub(crate) fn read(&mut self, input: &mut &[u8]) -> Option<StreamType> {
        self.partial.read(input).map(StreamType::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_read_wherever_it_is_cut() {
        for (bytes, expected) in [
            (&[0x00][..], StreamType::Control),
            (&[0x01], StreamType::Push),
            (&[0x02], StreamType::Encoder),
            (&[0x03], StreamType::Decoder),
            (&[0x04], StreamType::Unknown(4)),
            (&[0x21], StreamType::Unknown(0x21)),
            (&[0x40, 0x00], StreamType::Control),
            (&[0xff; 8], StreamType::Unknown(varint::MAX)),
        ] {
            for cut in 0..=bytes.len() {
                let mut reader = TypeReader::default();
                let input = [bytes, b"rest"].concat();
                let (mut first, mut second) = input.split_at(cut);
                let read = reader.read(&mut first).or_else(|| reader.read(&mut second));
                assert_eq!(read, Some(expected), "cut at byte {cut}");
                assert!([b"rest".as_slice(), b""].contains(&first) && second.ends_with(b"rest"));
            }
            let mut out = Vec::new();
            expected.write(&mut out);
            assert_eq!(TypeReader::default().read(&mut &out[..]), Some(expected));
        }
    }
}
