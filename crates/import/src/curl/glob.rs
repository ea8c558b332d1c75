//! The patterns of curl's URLs: `{one,two}`, `[1-100]`, `[001-100:2]`, `[a-z]`. Each stands for several URLs.

/// The URLs that a pattern stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expanded {
    /// The first of them, in order.
    pub(super) urls: Vec<String>,
    /// The number of further ones.
    pub(super) beyond: u64,
}

/// A part of a pattern.
enum Part {
    Text(String),
    List(Vec<String>),
    Numbers { first: u64, last: u64, step: u64, width: usize },
    Letters { first: u8, last: u8, step: u8 },
}

/// Expands a pattern to at most so many URLs. `None` if curl takes it for a wrong one.
pub(super) fn expand(pattern: &str, most: usize) -> Option<Expanded> {
    let parts = parts(pattern)?;
    let total = parts.iter().fold(1u64, |total, part| total.saturating_mul(part.count()));
    let count = total.min(u64::try_from(most).unwrap_or(u64::MAX));
    let urls = (0..count).map(|index| {
        // The last part changes first.
        let mut rest = index;
        let mut texts: Vec<String> = parts
            .iter()
            .rev()
            .map(|part| {
                let text = part.text(rest % part.count());
                rest /= part.count();
                text
            })
            .collect();
        texts.reverse();
        texts.concat()
    });
    Some(Expanded { urls: urls.collect(), beyond: total - count })
}

impl Part {
    fn count(&self) -> u64 {
        match self {
            Self::Text(_) => 1,
            Self::List(texts) => u64::try_from(texts.len()).unwrap_or(u64::MAX),
            Self::Numbers { first, last, step, .. } => ((last - first) / step).saturating_add(1),
            Self::Letters { first, last, step } => u64::from((last - first) / step) + 1,
        }
    }

    fn text(&self, index: u64) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::List(texts) => {
                usize::try_from(index).ok().and_then(|index| texts.get(index)).cloned().unwrap_or_default()
            }
            Self::Numbers { first, step, width, .. } => {
                format!("{:0width$}", first.saturating_add(index.saturating_mul(*step)), width = *width)
            }
            Self::Letters { first, step, .. } => {
                let index = u8::try_from(index).unwrap_or(0);
                char::from(first.saturating_add(index.saturating_mul(*step))).to_string()
            }
        }
    }
}

fn parts(pattern: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut rest = pattern;
    while let Some(letter) = rest.chars().next() {
        let behind = rest.get(letter.len_utf8()..).unwrap_or_default();
        rest = behind;
        match letter {
            '\\' if behind.starts_with(['{', '}', '[', ']']) => {
                text.extend(behind.chars().next());
                rest = behind.get(1..).unwrap_or_default();
            }
            '[' if behind.starts_with(']') => {
                text.push_str("[]");
                rest = behind.get(1..).unwrap_or_default();
            }
            '[' if is_address(behind) => text.push('['),
            // The end of an address, whose start is in the text.
            ']' if text
                .rfind('[')
                .is_some_and(|at| is_address(&format!("{}]", text.get(at + 1..).unwrap_or_default()))) =>
            {
                text.push(']');
            }
            '[' => {
                let (range, next) = behind.split_once(']')?;
                parts.extend([Part::Text(std::mem::take(&mut text)), self::range(range)?]);
                rest = next;
            }
            '{' => {
                let (list, next) = list(behind)?;
                parts.extend([Part::Text(std::mem::take(&mut text)), Part::List(list)]);
                rest = next;
            }
            '}' | ']' => return None,
            letter => text.push(letter),
        }
    }
    parts.push(Part::Text(text));
    Some(parts)
}

/// Returns whether a bracket encloses an address of IPv6.
fn is_address(behind: &str) -> bool {
    let Some((inside, _)) = behind.split_once(']') else { return false };
    let address = inside.split_once('%').map_or(inside, |(address, _)| address);
    address.parse::<std::net::Ipv6Addr>().is_ok()
}

/// The texts of a list, and what stands behind it.
fn list(behind: &str) -> Option<(Vec<String>, &str)> {
    let mut texts = vec![String::new()];
    let mut letters = behind.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '}' => {
                let is_empty = texts.len() == 1 && texts.first().is_some_and(String::is_empty);
                return (!is_empty).then_some((texts, behind.get(at + 1..).unwrap_or_default()));
            }
            ',' => texts.push(String::new()),
            '{' | '[' | ']' => return None,
            '\\' => match letters.next() {
                Some((_, escaped @ ('{' | '}' | '[' | ']' | ',' | '\\'))) => texts.last_mut()?.push(escaped),
                Some((_, other)) => texts.last_mut()?.extend(['\\', other]),
                None => return None,
            },
            letter => texts.last_mut()?.push(letter),
        }
    }
    None
}

/// Reads what is between the brackets of a range.
fn range(text: &str) -> Option<Part> {
    let (bounds, step) = match text.split_once(':') {
        Some((bounds, step)) => (bounds, step.parse::<u64>().ok().filter(|step| *step > 0)?),
        None => (text, 1),
    };
    let (first, last) = bounds.split_once('-')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number(first) && is_number(last) {
        let width = if first.starts_with('0') { first.len() } else { 0 };
        let (first, last): (u64, u64) = (first.parse().ok()?, last.parse().ok()?);
        return (first <= last).then_some(Part::Numbers { first, last, step, width });
    }
    let letter = |text: &str| match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(*letter),
        _ => None,
    };
    let (first, last) = (letter(first)?, letter(last)?);
    let is_of_one_case = first.is_ascii_lowercase() == last.is_ascii_lowercase();
    let step = u8::try_from(step).ok()?;
    (is_of_one_case && first <= last).then_some(Part::Letters { first, last, step })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn patterns_stand_for_the_urls_that_curl_asks_for() {
        for (pattern, expected) in [
            ("/a", &["/a"][..]),
            ("/[1-3]x[a-b]", &["/1xa", "/1xb", "/2xa", "/2xb", "/3xa", "/3xb"]),
            ("/{a,b}[01-03:2]", &["/a01", "/a03", "/b01", "/b03"]),
            ("/{a}", &["/a"]),
            ("/{a,}", &["/a", "/"]),
            ("/[a-e:2]", &["/a", "/c", "/e"]),
            ("/[9-11]", &["/9", "/10", "/11"]),
            ("/?a[]=1", &["/?a[]=1"]),
            (r"/?a\[\]=1&b\{c\}", &["/?a[]=1&b{c}"]),
            ("http://[::1]:80/[1-2]", &["http://[::1]:80/1", "http://[::1]:80/2"]),
            (r"/\a", &[r"/\a"]),
        ] {
            let expanded = expand(pattern, 100).unwrap_or_else(|| panic!("{pattern}"));
            assert_eq!(
                (expanded.urls, expanded.beyond),
                (expected.iter().map(|&url| url.to_owned()).collect(), 0)
            );
        }
    }

    #[test]
    fn patterns_that_curl_refuses_are_none() {
        for pattern in
            ["/?a[0]=1", "/{}", "/}", "/]", "/[3-1]", "/[a-Z]", "/{a,{b,c}}", "/{a", "/[1-2", "/[1-2:0]"]
        {
            assert_eq!(expand(pattern, 100), None, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_of_many_is_cut() {
        let expanded = expand("/[1-1000000][1-1000000]", 3).unwrap();
        assert_eq!(expanded.urls, ["/11", "/12", "/13"]);
        assert_eq!(expanded.beyond, 1_000_000_000_000 - 3);
        assert_eq!(expand("/[0-18446744073709551615]{a,b}", 1).unwrap().beyond, u64::MAX - 1);
    }

    proptest! {
        #[test]
        fn no_pattern_panics(pattern in "[-a-c0-9{}\\[\\],:\\\\]{0,20}", most in 0usize..5) {
            if let Some(expanded) = expand(&pattern, most) {
                prop_assert!(expanded.urls.len() <= most);
            }
        }
    }
}
