//! Links and headings of a page in Markdown.

use std::collections::BTreeMap;

/// A link, or a picture that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Path or address; empty for a place on the same page.
    pub target: String,
    /// What follows `#`.
    pub anchor: Option<String>,
}

impl Link {
    fn parse(text: &str) -> Self {
        let (target, anchor) = match text.split_once('#') {
            Some((target, anchor)) => (target, Some(anchor.to_owned())),
            None => (text, None),
        };
        Self { target: target.to_owned(), anchor }
    }

    /// Returns true if it leads out of these documents.
    #[must_use]
    pub fn is_external(&self) -> bool {
        self.target.contains("://")
    }
}

/// All links of a page, in order.
#[must_use]
pub fn links(page: &str) -> Vec<Link> {
    let mut found = Vec::new();
    let _ = with_links(page, |link| {
        found.push(link.clone());
        None
    });
    found
}

/// The page with other targets where `renamed` returns some. Code stays as it is.
pub fn with_links(page: &str, mut renamed: impl FnMut(&Link) -> Option<String>) -> String {
    let mut out = String::with_capacity(page.len());
    let mut in_code = false;
    for line in prose(page) {
        let Line::Text(line) = line else {
            out.push_str(line.text());
            in_code = false;
            continue;
        };
        let mut rest = line;
        while let Some(at) = rest.find(['`', ']']) {
            let (before, from) = rest.split_at(at);
            out.push_str(before);
            let target = from.strip_prefix("](").filter(|_| !in_code);
            if let Some((target, after)) = target.and_then(|target| target.split_once(')')) {
                let link = Link::parse(target);
                let target = match renamed(&link) {
                    Some(name) => link.anchor.map_or(name.clone(), |anchor| format!("{name}#{anchor}")),
                    None => target.to_owned(),
                };
                out.push_str("](");
                out.push_str(&target);
                out.push(')');
                rest = after;
            } else {
                in_code ^= from.starts_with('`');
                out.push_str(&from[..1]);
                rest = &from[1..];
            }
        }
        out.push_str(rest);
    }
    out
}

/// The anchors of a page: those of its headings, as mdBook and forges make them.
#[must_use]
pub fn anchors(page: &str) -> Vec<String> {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for heading in headings(page) {
        let anchor = anchor(heading);
        let before = seen.entry(anchor.clone()).or_default();
        found.push(if *before == 0 { anchor } else { format!("{anchor}-{before}") });
        *before += 1;
    }
    found
}

/// The headings of a page, without their marks.
fn headings(page: &str) -> impl Iterator<Item = &str> {
    prose(page).filter_map(|line| match line {
        Line::Text(line) if line.starts_with('#') => {
            Some(line.trim_start_matches('#').trim()).filter(|heading| !heading.is_empty())
        }
        _ => None,
    })
}

/// The title of a page: its first heading.
#[must_use]
pub fn title(page: &str) -> Option<&str> {
    headings(page).next()
}

/// The anchor of a heading that no other has.
pub(crate) fn anchor(heading: &str) -> String {
    let letter = |letter: char| match letter {
        ' ' => Some('-'),
        '-' | '_' => Some(letter),
        _ => letter.is_alphanumeric().then(|| letter.to_ascii_lowercase()),
    };
    heading.chars().filter_map(letter).collect()
}

/// A line with its end.
enum Line<'a> {
    /// Text, in which links count.
    Text(&'a str),
    /// A line of a block of code, or an empty one: spans of code do not go on beyond it.
    Other(&'a str),
}

impl<'a> Line<'a> {
    fn text(&self) -> &'a str {
        match self {
            Self::Text(text) | Self::Other(text) => text,
        }
    }
}

/// The lines of a page.
fn prose(page: &str) -> impl Iterator<Item = Line<'_>> {
    let (mut is_fenced, mut is_after_text) = (false, false);
    page.split_inclusive('\n').map(move |line| {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
            is_after_text = false;
            return Line::Other(line);
        }
        let is_indented = line.starts_with("    ") && !is_after_text;
        if is_fenced || is_indented || line.trim().is_empty() {
            is_after_text = false;
            return Line::Other(line);
        }
        is_after_text = true;
        Line::Text(line)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# One `--two` (three)\n\n[a](b.md#c) `[no](no.md)` ![p](p.svg) [d](#e)\n\n    [no](no.md)\n\n\
                        ```\n[no](no.md)\n# no\n```\n\n## Four/five\n\n## Four/five\n\n[x\ny](https://z.example/)\n";

    #[test]
    fn links_are_found_in_text_alone() {
        let found: Vec<String> =
            links(PAGE).iter().map(|link| format!("{} {:?}", link.target, link.anchor)).collect();
        assert_eq!(found, ["b.md Some(\"c\")", "p.svg None", " Some(\"e\")", "https://z.example/ None"]);
        assert!(links(PAGE)[3].is_external());
    }

    #[test]
    fn targets_are_renamed_and_all_else_stays() {
        let renamed = with_links(PAGE, |link| (link.target == "b.md").then(|| "../q.md".to_owned()));
        assert_eq!(renamed, PAGE.replace("(b.md#c)", "(../q.md#c)"));
        assert_eq!(with_links(PAGE, |_| None), PAGE);
    }

    #[test]
    fn headings_have_anchors_and_equal_ones_numbers() {
        assert_eq!(anchors(PAGE), ["one---two-three", "fourfive", "fourfive-1"]);
        assert_eq!(title(PAGE), Some("One `--two` (three)"));
    }
}
