//! The book: the pages below docs and those that belong to them from elsewhere, in the order of `docs/SUMMARY.md`.

pub mod links;
pub mod site;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, ensure};

use links::Link;

/// The page that orders all others.
pub const SUMMARY: &str = "docs/SUMMARY.md";

/// The parts of the book.
pub const PARTS: [&str; 6] = ["Start", "Concepts", "Measure well", "Recipes", "Reference", "Inside"];

/// The folder with the pages.
const DOCS: &str = "docs";

/// The folder of the book's own files: its settings and its style.
const OWN: &str = "docs/book";

/// The folder of the site for what lies elsewhere.
const ELSEWHERE: &str = "project";

/// A page with its place in the book. Paths are relative to the root of the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Path of the file.
    pub path: String,
    /// The part; `None` for what stands before the first.
    pub part: Option<String>,
    /// Contents in Markdown.
    pub text: String,
}

/// All pages, in order.
#[derive(Clone, Debug)]
pub struct Book {
    /// Pages in the order of the summary.
    pub pages: Vec<Page>,
    summary: String,
}

impl Book {
    /// Reads all pages.
    ///
    /// # Errors
    ///
    /// A page cannot be read, or is named twice.
    pub fn read() -> anyhow::Result<Self> {
        let summary = read(SUMMARY)?;
        let mut pages: Vec<Page> = Vec::new();
        let mut part = None;
        for line in summary.lines() {
            // The first title is that of the page itself.
            if let Some(title) = line.strip_prefix("# ").filter(|title| *title != "Summary") {
                part = Some(title.trim().to_owned());
            }
            for link in links::links(line.trim_start()) {
                let path = resolved(SUMMARY, &link.target).context("a page outside of the workspace")?;
                ensure!(pages.iter().all(|page| page.path != path), "{SUMMARY} names {path} twice");
                let text = read(&path)?;
                pages.push(Page { path, part: part.clone(), text });
            }
        }
        Ok(Self { pages, summary })
    }

    /// The pages of a part.
    pub fn part<'a>(&'a self, part: &'a str) -> impl Iterator<Item = &'a Page> {
        self.pages.iter().filter(move |page| page.part.as_deref() == Some(part))
    }

    fn page(&self, path: &str) -> Option<&Page> {
        self.pages.iter().find(|page| page.path == path)
    }

    /// What is wrong with the book: parts and pages that are missing, and links that lead nowhere.
    ///
    /// # Errors
    ///
    /// The folder of the pages cannot be read.
    pub fn problems(&self) -> anyhow::Result<Vec<String>> {
        let mut problems = Vec::new();
        let mut parts: Vec<&str> = self.pages.iter().filter_map(|page| page.part.as_deref()).collect();
        parts.dedup();
        if parts != PARTS {
            problems.push(format!("{SUMMARY}: expected the parts {PARTS:?}, got {parts:?}"));
        }
        for path in files(DOCS)?.into_iter().filter(|path| is_page(path) && path != SUMMARY) {
            if self.page(&path).is_none_or(|page| page.part.is_none() && page.path != FRONT) {
                problems.push(format!("{path} is in no part of the book: add it to {SUMMARY}"));
            }
        }
        let anchors: BTreeMap<&str, BTreeSet<String>> = self
            .pages
            .iter()
            .map(|page| (&page.path[..], links::anchors(&page.text).into_iter().collect()))
            .collect();
        for page in &self.pages {
            if links::title(&page.text).is_none() {
                problems.push(format!("{} has no title", page.path));
            }
            for link in links::links(&page.text) {
                if let Some(problem) = self.problem(page, &link, &anchors) {
                    problems.push(format!("{}: {problem}", page.path));
                }
            }
        }
        Ok(problems)
    }

    fn problem(
        &self,
        page: &Page,
        link: &Link,
        anchors: &BTreeMap<&str, BTreeSet<String>>,
    ) -> Option<String> {
        if link.is_external() {
            return None;
        }
        let path =
            if link.target.is_empty() { Some(page.path.clone()) } else { resolved(&page.path, &link.target) };
        let Some(path) = path else { return Some(format!("`{}` leads out of the workspace", link.target)) };
        if !link.target.is_empty() && !super::root().join(&path).is_file() {
            return Some(format!("`{}` is no file", link.target));
        }
        if is_page(&path) && self.page(&path).is_none() {
            return Some(format!("`{}` is a page that is not in the book", link.target));
        }
        let anchor = link.anchor.as_deref()?;
        if self.page(&path).is_none() {
            return Some(format!(
                "`{}` is no page of the book, so `#{anchor}` cannot be checked",
                link.target
            ));
        }
        let is_there = anchors.get(&path[..]).is_some_and(|anchors| anchors.contains(anchor));
        (!is_there).then(|| format!("{path} has no heading for `#{anchor}`"))
    }
}

/// The page before all parts.
const FRONT: &str = "docs/index.md";

/// Returns the place in the site of a file.
fn place(path: &str) -> String {
    match path.strip_prefix("docs/") {
        Some(path) => path.to_owned(),
        None => format!("{ELSEWHERE}/{path}"),
    }
}

/// Returns the path to which a link on a page leads, or `None` if it is outside of the workspace.
fn resolved(page: &str, target: &str) -> Option<String> {
    let folder = Path::new(page).parent().expect("a file lies in a folder");
    let mut parts: Vec<String> = Vec::new();
    for component in folder.join(target).components() {
        match component {
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::Normal(part) => parts.push(part.to_str()?.to_owned()),
            _ => {}
        }
    }
    Some(parts.join("/"))
}

/// Returns the path from one file to another.
fn relative(from: &str, to: &str) -> String {
    let (from, to): (Vec<&str>, Vec<&str>) = (from.split('/').collect(), to.split('/').collect());
    let folders = from.len() - 1;
    let common = from[..folders].iter().zip(&to[..to.len() - 1]).take_while(|(a, b)| a == b).count();
    let up = std::iter::repeat_n("..", folders - common);
    up.chain(to[common..].iter().copied()).collect::<Vec<_>>().join("/")
}

fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "md")
}

/// All files below a folder, as paths from the root.
pub(crate) fn files(folder: &str) -> anyhow::Result<Vec<String>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::from(folder)];
    while let Some(folder) = folders.pop() {
        let path = super::root().join(&folder);
        for entry in fs::read_dir(&path).with_context(|| format!("reading {}", path.display()))? {
            let entry = entry.with_context(|| format!("reading {}", path.display()))?;
            let path = folder.join(entry.file_name());
            if entry.file_type().with_context(|| format!("reading {}", path.display()))?.is_dir() {
                folders.push(path);
            } else {
                found.push(path.to_str().context("the name of a document is not text")?.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &str) -> anyhow::Result<String> {
    fs::read_to_string(super::root().join(path)).with_context(|| format!("reading {path}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_in_a_part_and_every_link_leads_somewhere() {
        let problems = Book::read().unwrap().problems().unwrap();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }

    #[test]
    fn what_is_wrong_with_a_book_is_found() {
        let mut book = Book::read().unwrap();
        let guide = book.pages.iter().position(|page| page.path == "docs/guide/load.md").unwrap();
        let mut page = book.pages.remove(guide);
        page.path = "docs/guide/other.md".to_owned();
        page.part = None;
        page.text = "[a](nowhere.md) [b](../../README.md#no-such) [c](../../../x) [d](#no) \
                     [e](../../deny.toml#x) [f](../SUMMARY.md)\n"
            .to_owned();
        book.pages.push(page);
        let problems = book.problems().unwrap();
        for expected in [
            "docs/guide/load.md is in no part of the book",
            "docs/guide/other.md has no title",
            "docs/guide/other.md: `nowhere.md` is no file",
            "docs/guide/other.md: README.md has no heading for `#no-such`",
            "docs/guide/other.md: `../../../x` leads out of the workspace",
            "docs/guide/other.md: docs/guide/other.md has no heading for `#no`",
            "docs/guide/other.md: `../../deny.toml` is no page of the book",
            "docs/guide/other.md: `../SUMMARY.md` is a page that is not in the book",
        ] {
            assert!(
                problems.iter().any(|problem| problem.starts_with(expected)),
                "{expected}: {problems:#?}"
            );
        }
    }

    /// The numbers, rounded, of the row of a saved self-check that has these words.
    fn saved(words: &[&str]) -> Vec<f64> {
        let text = read("bench/results/2026-11-21-self-check.txt").unwrap();
        let row = text.lines().find(|line| words.iter().all(|word| line.contains(word)));
        let row = row.unwrap_or_else(|| panic!("no row with {words:?}"));
        row.split_whitespace().filter_map(|word| word.parse().ok()).map(f64::round).collect()
    }

    #[test]
    fn the_accuracy_on_the_page_is_that_of_the_saved_self_check() {
        let page = read("docs/internals/how-exact.md").unwrap();
        let begun = saved(&["deterministic        1000  connect begun"]);
        let sent = saved(&["deterministic        1000  SYN on the wire"]);
        let latency = saved(&["deterministic        1000     400"]);
        let connections = saved(&["connections  "])[0] / 1000.0;
        let requests = saved(&["requests, kept"])[0] / 1000.0;
        for expected in [
            format!("at 1,000/s | {:.0} µs | {:.0} µs |", begun[1], begun[2]),
            format!("by the packets | {:.0} µs | {:.0} µs |", sent[1], sent[2]),
            format!("delay 1 ms | +{:.0} µs | {:.0} µs |", latency[3], latency[4]),
            format!("minus that by the packets | +{:.0} µs | {:.0} µs |", latency[6], latency[7]),
            format!("below 1 ms | {connections:.0},000/s |"),
            format!("stay open | {requests:.0},000/s "),
        ] {
            assert!(page.contains(&expected), "the page lacks `{expected}`");
        }
    }

    #[test]
    fn paths_lead_from_file_to_file() {
        for (from, to, expected) in [
            ("a.md", "b.md", "b.md"),
            ("guide/a.md", "guide/b.md", "b.md"),
            ("guide/a.md", "reference/b.md", "../reference/b.md"),
            ("project/bench/a.md", "guide/b.md", "../../guide/b.md"),
            ("index.md", "guide/b.md", "guide/b.md"),
        ] {
            assert_eq!(relative(from, to), expected);
            assert_eq!(resolved(from, expected).as_deref(), Some(to));
        }
        assert_eq!(resolved("docs/a.md", "../../x"), None);
    }
}
