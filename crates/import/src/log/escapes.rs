//! Bytes of a request as logs escape them, and as a request line takes them.

use std::borrow::Cow;

use super::pattern::Escape;

/// Undoes what the server has escaped.
pub(super) fn decoded(text: &[u8], escape: Escape) -> Cow<'_, [u8]> {
    if escape == Escape::None || memchr::memchr(b'\\', text).is_none() {
        return Cow::Borrowed(text);
    }
    if escape == Escape::Json
        && let Ok(string) = serde_json::from_slice::<String>(&[b"\"", text, b"\""].concat())
    {
        return Cow::Owned(string.into_bytes());
    }
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        if byte != b'\\' {
            decoded.push(byte);
            continue;
        }
        match bytes.next().copied() {
            Some(b'x') => match hexadecimal(bytes.as_slice()) {
                Some(value) => {
                    decoded.push(value);
                    bytes.nth(1);
                }
                None => decoded.extend_from_slice(b"\\x"),
            },
            Some(b'n') => decoded.push(b'\n'),
            Some(b'r') => decoded.push(b'\r'),
            Some(b't') => decoded.push(b'\t'),
            Some(b'b') => decoded.push(8),
            Some(b'v') => decoded.push(11),
            Some(b'f') => decoded.push(12),
            Some(other @ (b'"' | b'\\' | b'/')) => decoded.push(other),
            Some(other) => decoded.extend([b'\\', other]),
            None => decoded.push(b'\\'),
        }
    }
    Cow::Owned(decoded)
}

fn hexadecimal(text: &[u8]) -> Option<u8> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    Some(digit(text.first()?)? * 16 + digit(text.get(1)?)?)
}

/// The text of a target as a request line can have it: bytes that cannot be there are percent-encoded.
pub(crate) fn target_text(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for &byte in bytes {
        if byte.is_ascii_graphic() {
            text.push(char::from(byte));
        } else {
            const DIGITS: [char; 16] =
                ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'A', 'B', 'C', 'D', 'E', 'F'];
            let digit = |value: u8| DIGITS.get(usize::from(value)).copied().unwrap_or('0');
            text.extend(['%', digit(byte >> 4), digit(byte & 15)]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_as_each_server_writes_them() {
        for (escape, text, expected) in [
            (Escape::Backslash, r"/a\x22b\x5Cc", &b"/a\"b\\c"[..]),
            (Escape::Backslash, r#"a \"b\" \\ \x0a \t"#, b"a \"b\" \\ \n \t"),
            (Escape::Backslash, r"\xZZ \x1 \q \", b"\\xZZ \\x1 \\q \\"),
            (Escape::Json, r#"\"\u00e9\/"#, "\"é/".as_bytes()),
            (Escape::Json, r"\u00zz", b"\\u00zz"),
            (Escape::None, r"\x22", b"\\x22"),
        ] {
            assert_eq!(decoded(text.as_bytes(), escape), expected, "{text}");
        }
    }

    #[test]
    fn targets_are_what_a_request_line_can_have() {
        assert_eq!(target_text("/a b/é\r\n?x=\"y\"%20".as_bytes()), "/a%20b/%C3%A9%0D%0A?x=\"y\"%20");
    }
}
