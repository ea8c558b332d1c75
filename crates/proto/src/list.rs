//! Field values that are lists: elements with commas between them (RFC 9110, section 5.6.1).

/// Returns the elements of a list, without the blanks around them. Empty elements mean nothing and are left out. For lists of
/// words: a comma within quotes is taken for one between elements.
pub fn elements(value: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    let elements = value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii);
    elements.filter(|element| !element.is_empty())
}

/// Returns whether one of these fields, which are one list together (RFC 9110, section 5.3), has this word, in any case.
pub fn has_word<'v>(values: impl IntoIterator<Item = &'v [u8]>, word: &str) -> bool {
    values.into_iter().flat_map(elements).any(|element| element.eq_ignore_ascii_case(word.as_bytes()))
}

/// Appends a further value of a field to those before it, and cuts the whole to a size.
pub(crate) fn join(value: &[u8], all: &mut Vec<u8>, size_max: usize) {
    if !all.is_empty() {
        all.extend_from_slice(b", ");
    }
    all.extend_from_slice(value);
    all.truncate(size_max);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_elements_and_blanks_mean_nothing() {
        for (value, expected) in [
            ("", &[][..]),
            (" ", &[]),
            (",", &[]),
            (" , ,\t,", &[]),
            ("a", &["a"]),
            (" a\t", &["a"]),
            ("a,b", &["a", "b"]),
            ("a , b", &["a", "b"]),
            (",a,,b,", &["a", "b"]),
            ("a b,c;d=e , \tf", &["a b", "c;d=e", "f"]),
        ] {
            let expected: Vec<&[u8]> = expected.iter().map(|element| element.as_bytes()).collect();
            assert_eq!(elements(value.as_bytes()).collect::<Vec<_>>(), expected, "{value:?}");
        }
    }

    #[test]
    fn a_word_is_found_in_any_case_and_field() {
        for (values, expected) in [
            (&[][..], false),
            (&[&b"upgrade"[..]], true),
            (&[b"keep-alive", b", Upgrade"], true),
            // Bytes of another element do not matter.
            (&[b"\xff, UPGRADE"], true),
            (&[b"upgrades", b"up grade", b"upgrade;q=1", b""], false),
        ] {
            assert_eq!(has_word(values.iter().copied(), "upgrade"), expected, "{values:?}");
        }
        assert!(!has_word([&b","[..]], ""), "no element is empty");
    }

    #[test]
    fn values_are_joined_up_to_a_size() {
        let mut all = Vec::new();
        for (value, expected) in
            [("a", "a"), ("b;c=1", "a, b;c=1"), ("", "a, b;c=1, "), ("d", "a, b;c=1, , ")]
        {
            join(value.as_bytes(), &mut all, 12);
            assert_eq!(all, expected.as_bytes());
        }
    }
}
