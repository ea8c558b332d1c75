//! Text of others in pages.

use httperf_report::is_deceptive;

/// A page, or another document that a program shows. Nothing there can be escaped in the same way everywhere, so such characters
/// are replaced.
pub(super) fn page(text: String) -> String {
    match text.chars().any(|letter| letter != '\n' && is_deceptive(letter)) {
        true => text.replace(|letter| letter != '\n' && is_deceptive(letter), "\u{fffd}"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_can_make_a_page_read_as_another() {
        for letter in ['\u{202e}', '\u{2066}', '\u{200f}', '\u{61c}', '\u{feff}', '\u{e0041}', '\u{2028}'] {
            let text = format!("ok {letter})% 0( rorre\n");
            assert_eq!(page(text), "ok \u{fffd})% 0( rorre\n");
        }
        assert_eq!(page("عربي ä\n".to_owned()), "عربي ä\n");
    }
}
