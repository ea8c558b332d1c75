//! Text of others made visible: what could control a terminal, or make a line read as something else, is escaped. One rule for
//! messages, reports, pages, and replies that are printed.

use std::borrow::Cow;

/// Returns true for a character that is not seen but changes what is seen: one that controls a terminal, turns the direction of
/// writing round, or has no width.
#[must_use]
pub fn is_deceptive(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            // Unicode's Bidi_Control, line separators, and characters without width.
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// Bytes of others for a terminal. Line ends and tabs stay, and so does what is not UTF-8, unless it controls older terminals.
#[must_use]
pub fn visible(bytes: &[u8]) -> Cow<'_, [u8]> {
    let is_plain = |&byte: &u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
    if bytes.iter().all(is_plain) {
        return Cow::Borrowed(bytes);
    }
    let mut shown = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        let mut letters = chunk.valid().chars().peekable();
        while let Some(letter) = letters.next() {
            let is_line_end = letter == '\r' && letters.peek() == Some(&'\n');
            push(&mut shown, letter, is_line_end || matches!(letter, '\n' | '\t'));
        }
        for byte in chunk.invalid() {
            match byte {
                0x80..=0x9f => shown.extend(byte.escape_ascii()),
                byte => shown.push(*byte),
            }
        }
    }
    Cow::Owned(shown)
}

fn push(shown: &mut Vec<u8>, letter: char, is_harmless: bool) {
    match is_harmless || !is_deceptive(letter) {
        true => shown.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes()),
        false if letter.is_ascii() => shown.extend((letter as u8).escape_ascii()),
        false => shown.extend_from_slice(letter.escape_unicode().to_string().as_bytes()),
    }
}

/// A report whose texts may be of others. Our own colours stay.
pub(crate) fn report(text: String) -> String {
    if !text.chars().any(|letter| letter != '\n' && is_deceptive(letter)) {
        return text;
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = &text[..];
    while let Some(letter) = rest.chars().next() {
        let length = colour(rest).unwrap_or(0);
        if length > 0 {
            shown.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        match is_deceptive(letter) && letter != '\n' {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
        rest = &rest[letter.len_utf8()..];
    }
    shown
}

/// The length of a sequence that sets colours, at the beginning of a text.
fn colour(text: &str) -> Option<usize> {
    let modes = text.strip_prefix("\u{1b}[")?;
    let end = modes.find(|letter: char| !letter.is_ascii_digit() && letter != ';')?;
    modes[end..].starts_with('m').then_some("\u{1b}[".len() + end + 1)
}

/// Truncates text from outside.
#[must_use]
pub fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: &[u8]) -> String {
        String::from_utf8_lossy(&visible(bytes)).into_owned()
    }

    #[test]
    fn nothing_can_control_the_terminal() {
        assert_eq!(shown(b"got `\x1b[2J\r\x07`\n\tx\r\n"), "got `\\x1b[2J\\r\\x07`\n\tx\r\n");
        assert_eq!(shown("a\u{9b}2J ä € …\u{7f}".as_bytes()), "a\\u{9b}2J ä € …\\x7f");
        assert_eq!(
            visible(b"\xff\xc2\x9b").escape_ascii().to_string(),
            "\\xff\\xc2\\x9b".replace("\\xc2\\x9b", "\\\\u{9b}")
        );
        assert_eq!(&*visible(b"\xff\x9b["), b"\xff\\x9b[");
    }

    #[test]
    fn nothing_can_make_a_line_read_as_another() {
        for letter in ['\u{202e}', '\u{2066}', '\u{200f}', '\u{61c}', '\u{feff}', '\u{e0041}', '\u{2028}'] {
            let text = format!("ok {letter})% 0( rorre");
            let escaped = format!("ok {})% 0( rorre", letter.escape_unicode());
            assert_eq!(shown(text.as_bytes()), escaped);
            assert_eq!(report(text), escaped);
        }
        assert_eq!(report("عربي ä\n".to_owned()), "عربي ä\n");
    }

    #[test]
    fn our_own_colours_stay() {
        assert_eq!(
            report("\u{1b}[1;31mX\u{1b}[0m \u{1b}[2J".to_owned()),
            "\u{1b}[1;31mX\u{1b}[0m \\u{1b}[2J"
        );
    }
}
