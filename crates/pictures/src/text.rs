//! Text of pictures: estimated widths, and truncation.

/// Font sizes in pixels.
pub(super) const TITLE_SIZE: f64 = 16.0;
pub(super) const NAME_SIZE: f64 = 13.0;
pub(super) const LABEL_SIZE: f64 = 12.0;

/// Maximum number of characters of a text from outside.
const CHARACTERS_MAX: usize = 300;

/// Approximate width of a text in pixels. A viewer draws SVG with its own font, so this is on the large side.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(em).sum::<f64>() * size
}

/// Width of a character as a share of the font size.
fn em(character: char) -> f64 {
    match character {
        ' ' | '.' | ',' | ':' | ';' | '!' | '|' | '\'' | 'i' | 'j' | 'l' | 'I' | '(' | ')' | '/' | 'f'
        | 't' | 'r' => 0.38,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '…' => 0.95,
        'A'..='Z' => 0.72,
        // East Asian scripts and pictograms.
        '\u{1100}'.. if character >= '\u{2e80}' => 1.1,
        _ => 0.6,
    }
}

/// Replaces characters in text from outside that XML forbids or that mislead a reader: control characters,
/// and those that change the direction of writing.
pub(super) fn cleaned(text: &str) -> String {
    let is_odd = |character: char| {
        character.is_control()
            || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{fffe}' | '\u{ffff}')
    };
    let mut characters = text.chars();
    let mut text: String = characters
        .by_ref()
        .take(CHARACTERS_MAX)
        .map(|character| if is_odd(character) { '\u{fffd}' } else { character })
        .collect();
    if characters.next().is_some() {
        text.push('…');
    }
    text
}

/// Beginning of a text, as far as it fits.
pub(super) fn fitted(text: &str, size: f64, room: f64) -> String {
    if width(text, size) <= room {
        return text.to_owned();
    }
    let mut left = room - width("…", size);
    let kept = text.chars().take_while(|&character| {
        left -= em(character) * size;
        left >= 0.0
    });
    format!("{}…", kept.collect::<String>().trim_end())
}

/// End of a text, as far as it fits: it distinguishes names of files.
pub(super) fn fitted_end(text: &str, size: f64, room: f64) -> String {
    let reversed = |text: &str| text.chars().rev().collect::<String>();
    reversed(&fitted(&reversed(text), size, room))
}

/// Breaks a text into lines that fit, at most `most` of them.
pub(super) fn lines(text: &str, size: f64, room: f64, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let is_full = lines.len() == most;
        match lines.last_mut() {
            Some(line) if is_full || width(&format!("{line} {word}"), size) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.iter().map(|line| fitted(line, size, room)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_truncated_where_it_matters_least() {
        let room = width("0123456789", 12.0);
        assert_eq!(fitted("0123456789", 12.0, room), "0123456789");
        assert_eq!(fitted("01234567890123", 12.0, room), "01234567…");
        assert_eq!(fitted_end("01234567890123", 12.0, room), "…67890123");
        assert_eq!(fitted("wide", 12.0, 0.0), "…");
    }

    #[test]
    fn lines_are_broken_between_words_and_the_last_is_cut() {
        let room = width("aaaa bbbb", 12.0);
        assert_eq!(lines("aaaa bbbb cccc", 12.0, room, 2), ["aaaa bbbb", "cccc"]);
        assert_eq!(lines("aaaa bbbb cccc dddd eeee", 12.0, room, 2), ["aaaa bbbb", "cccc dd…"]);
        assert_eq!(lines("", 12.0, room, 2), [""]);
    }

    #[test]
    fn unprintable_characters_are_replaced() {
        assert_eq!(cleaned("a\u{0}b\nc\u{202e}d"), "a\u{fffd}b\u{fffd}c\u{fffd}d");
        assert_eq!(cleaned(&"x".repeat(1_000)).chars().count(), CHARACTERS_MAX + 1);
    }
}
