//! Text with the mark that some editors and Windows put before it, and whole files of text.

use std::io::{self, Chain, Cursor, Read};

use crate::error::{Error, Flaw};

/// The mark before a text in UTF-8.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A stream behind the bytes that were read to look for a mark.
pub(crate) type Unmarked<R> = Chain<Cursor<Vec<u8>>, R>;

/// The stream without the mark before a text.
///
/// # Errors
/// If it cannot be read, or is in UTF-16.
pub(crate) fn unmarked<R: Read>(mut reader: R) -> io::Result<Unmarked<R>> {
    let mut start = Vec::new();
    reader.by_ref().take(MARK.len() as u64).read_to_end(&mut start)?;
    if start == MARK {
        start.clear();
    }
    if start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff") {
        let sentence =
            "expected text in UTF-8, got UTF-16: `iconv -f UTF-16 -t UTF-8 FILE` writes it in UTF-8";
        return Err(io::Error::new(io::ErrorKind::InvalidData, sentence));
    }
    Ok(Cursor::new(start).chain(reader))
}

/// The length of a file that is read as a whole: 64 MiB.
const LENGTH_MAX: u64 = 64 * 1024 * 1024;

/// Reads all of a stream as text, without the mark before it. A mark of UTF-16 has it read as such.
pub(crate) fn read_text(reader: impl Read) -> Result<String, Error> {
    let mut bytes = Vec::new();
    reader.take(LENGTH_MAX + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LENGTH_MAX) {
        return Err(
            Flaw::whole(format!("expected a file of at most {LENGTH_MAX} bytes, got a longer one")).into()
        );
    }
    if let Some(text) = utf16(&bytes) {
        return Ok(text);
    }
    if bytes.starts_with(MARK) {
        bytes.drain(..MARK.len());
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            let before = error.as_bytes().get(..valid).unwrap_or_default();
            let line = memchr::memchr_iter(b'\n', before).count();
            let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
            let line = u64::try_from(line).unwrap_or(u64::MAX).saturating_add(1);
            Err(Flaw::at(line, "expected text in UTF-8").column(valid - start + 1).into())
        }
    }
}

/// A text in UTF-16, if it begins with the mark of it.
fn utf16(bytes: &[u8]) -> Option<String> {
    let (unit, rest): (fn([u8; 2]) -> u16, _) = match bytes {
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return None,
    };
    let units = rest.chunks(2).map(|pair| match pair {
        [first, second] => unit([*first, *second]),
        _ => u16::from(b'?'),
    });
    Some(char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_skipped_and_tell_utf_16() {
        for bytes in [&b"a\n"[..], b"\xef\xbb\xbfa\n", b"\xff\xfea\0\n\0", b"\xfe\xff\0a\0\n"] {
            assert_eq!(read_text(bytes).unwrap(), "a\n", "{bytes:?}");
        }
        for (bytes, expected) in [(&b"\xef\xbb\xbfa"[..], &b"a"[..]), (b"\xef\xbb", b"\xef\xbb"), (b"", b"")]
        {
            let mut read = Vec::new();
            unmarked(bytes).unwrap().read_to_end(&mut read).unwrap();
            assert_eq!(read, expected);
        }
        let error = unmarked(&b"\xff\xfea\0"[..]).unwrap_err();
        assert!(error.to_string().starts_with("expected text in UTF-8, got UTF-16"), "{error}");
    }
}
