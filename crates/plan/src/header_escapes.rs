//! The escape sequences of `--add-header`.

use std::fmt;

/// An `--add-header` value with its escapes expanded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    /// The bytes to send. No line end is added: the last line lacks one unless the value ends with `\n`.
    pub bytes: Vec<u8>,
    /// The likely mistakes, in order.
    pub warnings: Vec<Warning>,
}

/// A likely mistake in an `--add-header` value, which does not stop the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A backslash before a character that needs none; the backslash was dropped.
    UnknownEscape(char),
    /// A backslash at the end; it was kept.
    TrailingBackslash,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownEscape(character) => {
                write!(f, "ignoring unknown escape sequence `\\{character}'")
            }
            Self::TrailingBackslash => f.write_str("keeping the backslash at the end of the value"),
        }
    }
}

/// Expands the escapes in `raw`:
///
/// | escape | result |
/// |---|---|
/// | `\n` | CR LF |
/// | `\r` | CR |
/// | `\a` | LF |
/// | `\\` | a backslash |
/// | `\` and a digit | the octal number that starts there, with all its digits, cut to 8 bits |
/// | `\` and another character | that character, with a warning |
/// | `\` at the end | a backslash, with a warning |
///
/// `\8` and `\9` are not octal: they give NUL followed by the digit.
#[must_use]
pub fn expand(raw: &[u8]) -> Expanded {
    let mut expanded = Expanded::default();
    let mut rest = raw;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            expanded.bytes.push(byte);
            continue;
        }
        let Some((&escaped, after)) = rest.split_first() else {
            expanded.bytes.push(b'\\');
            expanded.warnings.push(Warning::TrailingBackslash);
            break;
        };
        match escaped {
            b'0'..=b'9' => {
                let (value, after) = octal_number(rest);
                expanded.bytes.push(value);
                rest = after;
                continue;
            }
            b'n' => expanded.bytes.extend_from_slice(b"\r\n"),
            b'r' => expanded.bytes.push(b'\r'),
            b'a' => expanded.bytes.push(b'\n'),
            b'\\' => expanded.bytes.push(b'\\'),
            _ => {
                expanded.bytes.push(escaped);
                expanded.warnings.push(Warning::UnknownEscape(first_character(rest)));
            }
        }
        rest = after;
    }
    expanded
}

/// Returns the low 8 bits of the octal number at the start of `text`, and the text after it. A number beyond 64 bits
/// saturates, so it gives 255.
fn octal_number(text: &[u8]) -> (u8, &[u8]) {
    let digits = text.iter().take_while(|byte| matches!(byte, b'0'..=b'7')).count();
    let (number, rest) = text.split_at(digits);
    let value = number
        .iter()
        .try_fold(0_u64, |value, digit| value.checked_mul(8)?.checked_add(u64::from(digit - b'0')))
        .unwrap_or(u64::MAX);
    (value as u8, rest)
}

/// Returns the first character of `text`, which must not be empty, for a message.
fn first_character(text: &[u8]) -> char {
    text.utf8_chunks()
        .next()
        .and_then(|chunk| chunk.valid().chars().next())
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(raw: &[u8], expected: &[u8]) {
        assert_eq!(expand(raw), Expanded { bytes: expected.to_vec(), warnings: Vec::new() });
    }

    #[track_caller]
    fn check_warning(raw: &[u8], expected: &[u8], warning: &str) {
        let expanded = expand(raw);
        assert_eq!(expanded.bytes, expected);
        let warnings: Vec<String> = expanded.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings, [warning]);
    }

    #[test]
    fn line_ends_and_backslashes_have_letters() {
        check(b"", b"");
        check(b"X-A: 1\\nX-B: 2\\n", b"X-A: 1\r\nX-B: 2\r\n");
        check(b"a\\rb\\ac\\\\d", b"a\rb\nc\\d");
        check(b"Content-Length: 3\\n\\nabc", b"Content-Length: 3\r\n\r\nabc");
    }

    #[test]
    fn a_number_is_octal_with_as_many_digits_as_follow() {
        check(b"b\\052c", b"b*c");
        check(b"\\0", b"\0");
        check(b"\\12345B", b"\xe5B");
        check(b"\\0000101", b"A");
        check(b"\\018", b"\x018");
        check(b"\\7777777777777777777777777777B", b"\xffB");
    }

    #[test]
    fn a_digit_that_is_not_octal_gives_nul_and_stays() {
        check(b"A\\8B", b"A\x008B");
        check(b"\\9", b"\x009");
    }

    #[test]
    fn an_unknown_escape_keeps_the_character_and_warns() {
        check_warning(b"A\\CB", b"ACB", "ignoring unknown escape sequence `\\C'");
        check_warning(b"\\t", b"t", "ignoring unknown escape sequence `\\t'");
        check_warning("\\é".as_bytes(), "é".as_bytes(), "ignoring unknown escape sequence `\\é'");
        check_warning(b"\\\xff", b"\xff", "ignoring unknown escape sequence `\\\u{fffd}'");
    }

    #[test]
    fn a_backslash_at_the_end_is_kept_with_a_warning() {
        let warning = "keeping the backslash at the end of the value";
        check_warning(b"X: a\\", b"X: a\\", warning);
        check_warning(b"\\\\\\", b"\\\\", warning);
    }

    proptest! {
        #[test]
        fn bytes_escaped_one_by_one_come_back(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            // Every byte is escaped, so that no number runs on into a digit after it.
            let raw: String = bytes.iter().map(|byte| format!("\\{byte:03o}")).collect();
            let expanded = expand(raw.as_bytes());
            prop_assert_eq!(expanded.bytes, bytes);
            prop_assert!(expanded.warnings.is_empty());
        }

        #[test]
        fn bytes_without_a_backslash_are_left_alone(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let raw: Vec<u8> = bytes.into_iter().filter(|&byte| byte != b'\\').collect();
            prop_assert_eq!(expand(&raw), Expanded { bytes: raw, warnings: Vec::new() });
        }
    }
}
