//! What the end-to-end tests share: running a program under a time limit, and reading its report.
#![allow(dead_code, unused_imports, unused_macros, reason = "every test program uses a part of it")]

pub(crate) mod bench;
pub(crate) mod certificates;
pub(crate) mod group;
pub(crate) mod machine;
pub(crate) mod nginx;
pub(crate) mod program;
pub(crate) mod ran;
pub(crate) mod real_server;
pub(crate) mod reference;
pub(crate) mod report;
pub(crate) mod running;
pub(crate) mod terminal;

/// Splits a command line at blanks; `'…'` keeps blanks, and there are no escapes.
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    assert!(!quoted, "a quote is open in `{line}`");
    words.extend(word);
    words
}
