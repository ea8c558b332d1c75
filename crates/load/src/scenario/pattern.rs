//! Regular expressions, the most common form of which needs none.

use std::cell::RefCell;

use httperf_plan::scenario::{regex, regex_with_group};
use memchr::memmem::Finder;
use regex::{CaptureLocations, Regex};

/// A compiled regular expression.
#[derive(Debug)]
pub(super) struct Pattern {
    quick: Option<Quick>,
    regex: Regex,
    /// Reused from search to search.
    locations: RefCell<CaptureLocations>,
}

/// A pattern `PREFIX(CLASS+)SUFFIX`, where the class does not contain the first byte of the suffix: a run of the class has
/// one possible end.
#[derive(Debug)]
struct Quick {
    prefix: Finder<'static>,
    class: Class,
    /// The group may be empty.
    may_be_empty: bool,
    suffix: Vec<u8>,
}

#[derive(Debug)]
enum Class {
    /// All but these one to three ASCII characters.
    AllBut(Vec<u8>),
    /// These ASCII characters, and perhaps others: a run that ends at a byte above 127 is left to the expression.
    Among { bytes: Box<[bool; 128]>, may_be_wider: bool },
}

/// The result of a quick search.
enum Quickly {
    Found(usize, usize),
    Nothing,
    /// The expression itself must tell.
    Unclear,
}

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        regex(text).map(|regex| Self::of(text, regex))
    }

    fn of(text: &str, regex: Regex) -> Self {
        let locations = RefCell::new(regex.capture_locations());
        Self { quick: Quick::parse(text), regex, locations }
    }

    /// Compiles an expression whose first group is the value: without a group there would never be one.
    pub(super) fn with_group(text: &str) -> Result<Self, String> {
        regex_with_group(text).map(|regex| Self::of(text, regex))
    }

    pub(super) fn regex(&self) -> &Regex {
        &self.regex
    }

    /// Finds the first group of the first match.
    pub(super) fn first_group<'t>(&self, text: &'t str) -> Option<&'t str> {
        match self.quick.as_ref().map_or(Quickly::Unclear, |quick| quick.search(text.as_bytes())) {
            Quickly::Found(start, end) => text.get(start..end),
            Quickly::Nothing => None,
            Quickly::Unclear => self.first_group_slowly(text),
        }
    }

    /// Finds the first group in bytes as in the text that they make when those that are not UTF-8 are replaced by U+FFFD.
    /// `None` if that text is needed.
    pub(super) fn first_group_in_bytes<'t>(&self, bytes: &'t [u8]) -> Option<Option<&'t [u8]>> {
        match self.quick.as_ref()?.search(bytes) {
            Quickly::Found(start, end) => Some(bytes.get(start..end)),
            Quickly::Nothing => Some(None),
            Quickly::Unclear => None,
        }
    }

    fn first_group_slowly<'t>(&self, text: &'t str) -> Option<&'t str> {
        let mut locations = self.locations.try_borrow_mut().ok()?;
        self.regex.captures_read(&mut locations, text)?;
        let (start, end) = locations.get(1)?;
        text.get(start..end)
    }
}

impl Quick {
    /// Reads a pattern of this form; `None` for any other.
    fn parse(text: &str) -> Option<Self> {
        let mut rest = text;
        let prefix = take_literal(&mut rest)?;
        rest = rest.strip_prefix('(')?;
        let mut class = Class::take(&mut rest)?;
        let repeats = rest.chars().next()?;
        rest = rest.strip_prefix(['+', '*'])?;
        let is_lazy = rest.starts_with('?');
        rest = rest.strip_prefix('?').unwrap_or(rest).strip_prefix(')')?;
        let suffix = take_literal(&mut rest)?;
        if prefix.is_empty() || !rest.is_empty() {
            return None;
        }
        let stop = suffix.as_bytes().first().copied();
        if is_lazy && !class.end_early(repeats, suffix.as_bytes()) {
            return None;
        }
        if stop.is_some_and(|stop| class.contains(stop)) {
            return None;
        }
        let prefix = Finder::new(prefix.as_bytes()).into_owned();
        Some(Self { prefix, class, may_be_empty: repeats == '*', suffix: suffix.into_bytes() })
    }

    fn search(&self, bytes: &[u8]) -> Quickly {
        let length = self.prefix.needle().len();
        let mut from = 0;
        while let Some(found) = bytes.get(from..).and_then(|rest| self.prefix.find(rest)) {
            let start = from + found + length;
            let Some(end) = self.class.run_end(bytes, start, !self.suffix.is_empty()) else {
                return Quickly::Nothing;
            };
            let rest = bytes.get(end..).unwrap_or_default();
            if self.class.is_unclear(rest) {
                return Quickly::Unclear;
            }
            if (end > start || self.may_be_empty) && rest.starts_with(&self.suffix) {
                return Quickly::Found(start, end);
            }
            // A prefix that ends no later than this run would reach the same end and fail there as well.
            from = (end + 1).saturating_sub(length).max(from + found + 1);
        }
        Quickly::Nothing
    }
}

impl Class {
    /// Takes a class: `.`, `[^…]` or `[…]` of ASCII characters and ranges, `\d` or `\w`.
    fn take(rest: &mut &str) -> Option<Self> {
        let among = |bytes: fn(&u8) -> bool| Self::among(bytes, true);
        let (class, length) = if rest.starts_with('.') {
            (Self::AllBut(vec![b'\n']), 1)
        } else if rest.starts_with("\\d") {
            (among(u8::is_ascii_digit), 2)
        } else if rest.starts_with("\\w") {
            (among(|byte| byte.is_ascii_alphanumeric() || *byte == b'_'), 2)
        } else {
            let inner = rest.strip_prefix('[')?;
            let end = inner.find(']')?;
            (Self::listed(&inner[..end])?, end + 2)
        };
        *rest = rest.get(length..)?;
        Some(class)
    }

    fn among(contains: impl Fn(&u8) -> bool, may_be_wider: bool) -> Self {
        let mut bytes = Box::new([false; 128]);
        for (byte, slot) in (0..).zip(bytes.iter_mut()) {
            *slot = contains(&byte);
        }
        Self::Among { bytes, may_be_wider }
    }

    fn listed(inner: &str) -> Option<Self> {
        let (inner, is_negated) = inner.strip_prefix('^').map_or((inner, false), |inner| (inner, true));
        // Set operations, nested classes and escapes are left to the expression.
        let is_plain = inner.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ')
            && !inner.contains(['[', '\\', '&', '~', '^'])
            && !inner.contains("--");
        if inner.is_empty() || !is_plain {
            return None;
        }
        let mut bytes = [false; 128];
        let mut rest = inner.as_bytes();
        while let [first, tail @ ..] = rest {
            let last = match tail {
                [b'-', last, ..] => *last,
                _ => *first,
            };
            if last < *first || (*first == b'-' && last != *first) {
                return None;
            }
            for byte in *first..=last {
                bytes[usize::from(byte)] = true;
            }
            rest = if last == *first && !matches!(tail, [b'-', _, ..]) { tail } else { tail.get(2..)? };
        }
        if !is_negated {
            return Some(Self::Among { bytes: Box::new(bytes), may_be_wider: false });
        }
        let excluded: Vec<u8> = (0..128_u8).filter(|&byte| bytes[usize::from(byte)]).collect();
        (excluded.len() <= 3).then_some(Self::AllBut(excluded))
    }

    /// Makes a lazy repetition one that ends at the same place when it is greedy. Returns false if there is none.
    fn end_early(&mut self, repeats: char, suffix: &[u8]) -> bool {
        match (self, suffix) {
            (_, []) => false,
            // `(.*?)x` is `([^x\n]*)x`.
            (Self::AllBut(bytes), [stop]) if repeats == '*' && bytes == b"\n" && stop.is_ascii() => {
                if *stop != b'\n' {
                    bytes.push(*stop);
                }
                true
            }
            // A class without the first byte of the suffix ends there in any case.
            _ => true,
        }
    }

    fn contains(&self, byte: u8) -> bool {
        match self {
            Self::AllBut(bytes) => !bytes.contains(&byte),
            Self::Among { bytes, may_be_wider } => {
                bytes.get(usize::from(byte)).copied().unwrap_or(*may_be_wider)
            }
        }
    }

    /// Returns the end of the run that begins at `start`; `None` if no run here or later can be followed by a suffix.
    fn run_end(&self, bytes: &[u8], start: usize, needs_stop: bool) -> Option<usize> {
        let rest = bytes.get(start..)?;
        let length = match self {
            Self::AllBut(excluded) => {
                let found = match excluded[..] {
                    [a] => memchr::memchr(a, rest),
                    [a, b] => memchr::memchr2(a, b, rest),
                    [a, b, c] => memchr::memchr3(a, b, c, rest),
                    _ => None,
                };
                if found.is_none() && needs_stop {
                    return None;
                }
                found.unwrap_or(rest.len())
            }
            Self::Among { bytes, .. } => {
                let is_in = |byte: &u8| bytes.get(usize::from(*byte)).copied().unwrap_or(false);
                rest.iter().position(|byte| !is_in(byte)).unwrap_or(rest.len())
            }
        };
        Some(start + length)
    }

    /// Returns true if a run may go on where it was taken to end.
    fn is_unclear(&self, rest: &[u8]) -> bool {
        matches!(self, Self::Among { may_be_wider: true, .. })
            && rest.first().is_some_and(|byte| !byte.is_ascii())
    }
}

/// Takes characters that stand for themselves, and escaped punctuation. `None` if an escape is anything else.
fn take_literal(rest: &mut &str) -> Option<String> {
    let mut literal = String::new();
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '\\' => {
                rest.chars().nth(1).filter(char::is_ascii_punctuation).filter(|next| !"<>".contains(*next))?
            }
            // The character that stands for bytes that are not UTF-8 is not in those bytes.
            '\u{FFFD}' => return None,
            '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$' => break,
            other => other,
        };
        literal.push(taken);
        *rest = &rest[if first == '\\' { 2 } else { first.len_utf8() }..];
    }
    // What is repeated is no literal: `ab+` repeats the `b`.
    (!rest.starts_with(['+', '*', '?', '{'])).then_some(literal)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Finds the first group by the expression alone.
    fn expected(pattern: &str, text: &str) -> Option<String> {
        Some(Regex::new(pattern).unwrap().captures(text)?.get(1)?.as_str().to_owned())
    }

    #[track_caller]
    fn check(pattern: &str, text: &str, is_quick: bool) {
        let compiled = Pattern::new(pattern).unwrap();
        assert_eq!(compiled.quick.is_some(), is_quick, "{pattern}");
        assert_eq!(compiled.first_group(text).map(str::to_owned), expected(pattern, text), "{pattern}");
    }

    #[test]
    fn common_patterns_need_no_expression() {
        let html = "<input name=\"_csrf\" value=\"\"><input name=\"_csrf\" value=\"a-Z 0é\"> data-sku=\"A1-B\" id=17, x: (y)";
        for pattern in [
            r#"name="_csrf" value="([^"]+)""#,
            r#"name="_csrf" value="([^"]*)""#,
            r#"name="_csrf" value="(.*?)""#,
            r#"data-sku="([A-Z0-9-]+)""#,
            r"id=(\d+)",
            r"id=(\d+),",
            r"x: \((\w+)\)",
            r#"value="([^"<>]+?)">"#,
            r"id=([0-9]+)[^x]",
            r"id=([^,]+)",
            r"nothing([^,]+)",
        ] {
            check(pattern, html, !pattern.ends_with("[^x]"));
        }
    }

    #[test]
    fn other_patterns_are_left_to_the_expression() {
        for pattern in [
            "([a-z]+)",
            "a([b-d]+)c",
            "a(.*)b",
            "a|b([^c]+)c",
            "ab?([^c]+)c",
            "(?i)a([^b]+)b",
            "a([^b]+)b+",
            "a([^b]{2})b",
            "a(b)c",
            "a([^\\n]+)b",
            "a([^b]+?)",
            "a(.+?)b",
            "a(?:[^b]+)b",
            "^a([^b]+)b",
            "a([^b]+)b$",
            "a([[:alpha:]]+)1",
            "a([a-z&&[^b]]+)1",
            "a\\b([^c]+)c",
            "\\x41([^b]+)b",
            "a([^é]+)é",
            "a.([^b]+)b",
            "[ab]c([^d]+)d",
            "a([^a-z]+)b",
        ] {
            check(pattern, "aab cab1 xxabc a1b", false);
        }
    }

    #[test]
    fn a_run_may_go_on_beyond_ascii() {
        check(r"id=(\d+)", "id=12\u{0663} ", true);
        check(r"id=(\w+);", "id=café;", true);
        check(r"id=(\w+);", "id=caf;é", true);
    }

    #[test]
    fn an_expression_without_a_group_finds_nothing() {
        assert_eq!(Pattern::new("a").unwrap().first_group("a"), None);
        assert_eq!(Pattern::new("a|(b)").unwrap().first_group("a"), None);
    }

    fn any_pattern() -> impl Strategy<Value = String> {
        let literals = vec!["a", "ab", "aa", "\\.", "x=\"", "é", "-", "\n"];
        let classes = vec![
            "[^b]", "[^ab]", "[^\"]", "[^b-d]", "[a-c]", "[ab-]", "[-a]", "[b]", ".", "\\d", "\\w", "[ -~]",
            "[+-]", "[a-a]",
        ];
        let repeats = vec!["+", "*", "+?", "*?"];
        let suffixes = vec!["", "b", "bb", "\"", "\">", "a", "é", "\\.", "d", " ", "\n"];
        let any = |list: Vec<&'static str>| prop::sample::select(list);
        (any(literals), any(classes), any(repeats), any(suffixes))
            .prop_map(|(prefix, class, repeats, suffix)| format!("{prefix}({class}{repeats}){suffix}"))
    }

    const PIECES: &[&str] =
        &["a", "b", "ab", "aab", "c", "é", "x=\"", "\"", "\">", ".", "1", "٣", "\n", " ", "-", "bb", "d"];

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5000))]

        #[test]
        fn a_quick_search_finds_what_the_expression_finds(
            pattern in any_pattern(),
            pieces in prop::collection::vec(prop::sample::select(PIECES), 0..12),
        ) {
            let text = pieces.concat();
            let found = Pattern::new(&pattern).unwrap().first_group(&text).map(str::to_owned);
            prop_assert_eq!(found, expected(&pattern, &text), "{:?} in {:?}", pattern, text);
        }

        #[test]
        fn any_pattern_finds_what_the_expression_finds(pattern in "[ab.\\\\()\\[\\]^*+?|\"-]{0,9}", text in "[ab\"-]{0,9}") {
            if let Ok(compiled) = Pattern::new(&pattern) {
                let found = compiled.first_group(&text).map(str::to_owned);
                prop_assert_eq!(found, expected(&pattern, &text));
            }
        }

        #[test]
        fn bytes_are_searched_like_the_text_that_they_make(
            pattern in any_pattern(),
            bytes in prop::collection::vec(prop::sample::select(b"ab\"\xC3\xA9\xFF.\xF0 ".to_vec()), 0..16),
        ) {
            let text = String::from_utf8_lossy(&bytes);
            if let Some(found) = Pattern::new(&pattern).unwrap().first_group_in_bytes(&bytes) {
                let found = found.map(|found| String::from_utf8_lossy(found).into_owned());
                prop_assert_eq!(found, expected(&pattern, &text), "{:?} in {:?}", pattern, bytes);
            }
        }
    }
}
