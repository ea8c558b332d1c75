//! Header fields of recorded requests: those that a new request gets by itself, and those that it must not repeat.

/// The longest method.
const METHOD_MAX: usize = 32;

/// Returns whether a text can be a method.
pub(crate) fn is_method(text: &str) -> bool {
    (1..=METHOD_MAX).contains(&text.len()) && text.bytes().all(is_token_byte)
}

/// Returns whether a text can be the name of a header field.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(is_token_byte)
}

/// Returns whether a text can be the value of a header field.
pub(crate) fn is_value(text: &str) -> bool {
    text.bytes().all(|byte| byte == b'\t' || !byte.is_ascii_control())
}

/// Returns the elements of a field value that is a list. Empty ones mean nothing (RFC 9110, section 5.6.1).
pub(crate) fn elements(value: &str) -> impl DoubleEndedIterator<Item = &str> {
    value.split(',').map(str::trim).filter(|element| !element.is_empty())
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Returns whether a field belongs to one connection or one message, so that a new request has its own.
///
/// <https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1>
pub(crate) fn is_of_the_connection(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    ];
    name.starts_with(':') || NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Returns whether a browser adds the field by itself, for reasons that a load test does not have.
pub(crate) fn is_of_the_browser(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "cache-control",
        "dnt",
        "if-modified-since",
        "if-none-match",
        "if-range",
        "if-unmodified-since",
        "pragma",
        "priority",
        "purpose",
        "upgrade-insecure-requests",
    ];
    let lower = name.to_ascii_lowercase();
    lower.starts_with("sec-") || NAMES.contains(&&lower[..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_connections_and_browsers_are_told_apart() {
        for (name, connection, browser) in [
            ("Host", true, false),
            (":authority", true, false),
            ("sec-ch-ua", false, true),
            ("If-None-Match", false, true),
            ("Accept", false, false),
        ] {
            assert_eq!(
                (is_of_the_connection(name), is_of_the_browser(name)),
                (connection, browser),
                "{name}"
            );
        }
        assert_eq!(["GET", "M-SEARCH", "", "G T"].map(is_method), [true, true, false, false]);
    }

    #[test]
    fn empty_elements_of_a_list_mean_nothing() {
        for (value, expected) in
            [("", &[][..]), (" , ,", &[]), ("a", &["a"]), (",a b ,, c,", &["a b", "c"]), ("a,b", &["a", "b"])]
        {
            assert_eq!(elements(value).collect::<Vec<_>>(), expected, "{value:?}");
        }
    }
}
