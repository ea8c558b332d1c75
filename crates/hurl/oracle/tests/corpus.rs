//! The fixtures of our parser, and files made from them, before both parsers.

use std::fs;
use std::path::Path;

use httperf_hurl_oracle::{Agreement, Laxer, compare};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, TestCaseError};

/// Fragments that mutations insert.
const FRAGMENTS: &[&str] = &[
    " ",
    "\t",
    "\n",
    "\r\n",
    "#",
    "# c\n",
    "\\",
    "\\n",
    "\\u{41}",
    "\"",
    "`",
    "```",
    "```json\n",
    "{{",
    "}}",
    "{{x}}",
    "{{newUuid}}",
    "{",
    "}",
    "[",
    "]",
    "(",
    ")",
    ":",
    ",",
    ";",
    "=",
    "==",
    "!=",
    ">=",
    "<",
    "/",
    "/a/",
    "-",
    "0",
    "1",
    "1.5",
    "-7",
    "e3",
    "true",
    "false",
    "null",
    "not ",
    "GET ",
    "POST http://b\n",
    "HTTP 200\n",
    "HTTP ",
    "HTTP/2 *\n",
    "[Query]\n",
    "[Form]\n",
    "[Multipart]\n",
    "[Cookies]\n",
    "[BasicAuth]\n",
    "[Options]\n",
    "[Captures]\n",
    "[Asserts]\n",
    "a: b\n",
    "k: ",
    "file,",
    "file,a;",
    "base64,",
    "base64,YQ==;",
    "hex,",
    "hex,ff;",
    "status ",
    "header \"a\" ",
    "cookie \"a[Path]\" ",
    "body ",
    "bytes ",
    "jsonpath \"$\" ",
    "regex /a/ ",
    "variable \"a\" ",
    "duration ",
    "xpath \"a\" ",
    "md5 ",
    "url ",
    "version ",
    "count ",
    "first ",
    "nth 1 ",
    "split \",\" ",
    "replace \"a\" \"b\" ",
    "toInt ",
    "toDate \"a\" ",
    "format \"a\" ",
    "decode \"a\" ",
    "exists\n",
    "isList\n",
    "contains ",
    "startsWith ",
    "matches ",
    "includes ",
    "redact",
    "skip: true\n",
    "delay: 1s\n",
    "repeat: 2\n",
    "retry: 1\n",
    "variable: a=1\n",
    "variable: ",
    "location: ",
    "<a>",
    "</a>",
    "<a/>",
    "é",
    "\u{a0}",
    "\u{1F600}",
];

/// A change of a file.
#[derive(Clone, Debug)]
enum Edit {
    Insert(Index, &'static str),
    Delete(Index, usize),
    Replace(Index, usize, &'static str),
    DuplicateLine(Index),
    DeleteLine(Index),
    SwapLines(Index, Index),
    TakeLine(Index, Index, Index),
}

fn fixtures() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures");
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("the fixtures are there").map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let is_hurl = |path: &&std::path::PathBuf| path.extension().is_some_and(|extension| extension == "hurl");
    paths.iter().filter(is_hurl).map(|path| fs::read_to_string(path).unwrap()).collect()
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        4 => (at(), select(FRAGMENTS)).prop_map(|(at, text)| Edit::Insert(at, text)),
        2 => (at(), 1_usize..6).prop_map(|(at, count)| Edit::Delete(at, count)),
        4 => (at(), 1_usize..8, select(FRAGMENTS)).prop_map(|(at, count, text)| Edit::Replace(at, count, text)),
        1 => at().prop_map(Edit::DuplicateLine),
        1 => at().prop_map(Edit::DeleteLine),
        1 => (at(), at()).prop_map(|(one, other)| Edit::SwapLines(one, other)),
        3 => (at(), at(), at()).prop_map(|(at, file, line)| Edit::TakeLine(at, file, line)),
    ]
}

fn apply(text: &str, edit: &Edit, fixtures: &[String]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let line = |at: &Index, lines: &[&str]| at.index(lines.len().max(1)).min(lines.len());
    match edit {
        Edit::Insert(at, more) => {
            let at = at.index(chars.len() + 1);
            chars.splice(at..at, more.chars());
            return chars.into_iter().collect();
        }
        Edit::Delete(at, count) => {
            let at = at.index(chars.len() + 1);
            chars.drain(at..(at + count).min(chars.len()));
            return chars.into_iter().collect();
        }
        Edit::Replace(at, count, more) => {
            let at = at.index(chars.len() + 1);
            let end = (at + count).min(chars.len());
            chars.splice(at..end, more.chars());
            return chars.into_iter().collect();
        }
        Edit::DuplicateLine(at) if !lines.is_empty() => {
            let at = line(at, &lines);
            lines.insert(at, lines[at]);
        }
        Edit::DeleteLine(at) if !lines.is_empty() => {
            lines.remove(line(at, &lines));
        }
        Edit::SwapLines(one, other) if !lines.is_empty() => {
            let (one, other) = (line(one, &lines), line(other, &lines));
            lines.swap(one, other);
        }
        Edit::TakeLine(at, file, from) => {
            let other: Vec<&str> = fixtures[file.index(fixtures.len())].split_inclusive('\n').collect();
            if !other.is_empty() {
                lines.insert(line(at, &lines), other[from.index(other.len())]);
            }
        }
        _ => {}
    }
    lines.concat()
}

fn check(text: &str) -> Result<(), TestCaseError> {
    compare(text).map(|_| ()).map_err(|difference| TestCaseError::fail(format!("{text:?}\n{difference}")))
}

fn config() -> Config {
    let mut config = Config { max_shrink_iters: 2_000, failure_persistence: None, ..Config::default() };
    if std::env::var_os("PROPTEST_CASES").is_none() {
        config.cases = 20_000;
    }
    config
}

#[test]
fn fixtures_are_parsed_alike() {
    for text in fixtures() {
        let agreement = compare(&text).unwrap_or_else(|difference| panic!("{text}\n{difference}"));
        let allowed = [Agreement::Same, Agreement::Laxer(Laxer::Expression)];
        assert!(allowed.contains(&agreement), "{text}\n{agreement:?}");
    }
}

#[test]
fn edited_fixtures_are_parsed_alike() {
    std::panic::set_hook(Box::new(|_| {}));
    let fixtures = fixtures();
    let all = (any::<Index>(), vec(edit(), 1..4));
    let mut runner = proptest::test_runner::TestRunner::new(config());
    let outcome = runner.run(&all, |(file, edits)| {
        let text = fixtures[file.index(fixtures.len())].clone();
        check(&edits.iter().fold(text, |text, edit| apply(&text, edit, &fixtures)))
    });
    let _ = std::panic::take_hook();
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}

#[test]
fn fragments_in_any_order_are_parsed_alike() {
    std::panic::set_hook(Box::new(|_| {}));
    let heads = select(vec![
        "",
        "GET http://a\n",
        "GET http://a\nHTTP *\n[Asserts]\n",
        "GET http://a\nHTTP *\n[Captures]\na: ",
        "GET http://a\n[Options]\n",
        "GET http://a\n{",
        "GET http://a\nHTTP *\n[Asserts]\nbody ",
        "GET http://a\nHTTP *\n[Asserts]\nbody == ",
    ]);
    let mut runner = proptest::test_runner::TestRunner::new(config());
    let outcome = runner.run(&(heads, vec(select(FRAGMENTS), 0..8)), |(head, fragments)| {
        check(&format!("{head}{}", fragments.concat()))
    });
    let _ = std::panic::take_hook();
    if let Err(failure) = outcome {
        panic!("{failure}");
    }
}
