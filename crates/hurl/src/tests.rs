//! Tests of whole files: fixtures with their trees, bad files with their messages, and mutations.

use std::fs;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::check::check_any;
use crate::{File, Problem, Template, limits, outline, parse, parse_assert};

/// Returns the fixtures with their names, in the order of the names.
fn fixtures() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let paths =
        fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("it can be read").path());
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "hurl")).collect();
    paths.sort();
    let name =
        |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    paths.iter().map(|path| (name(path), fs::read_to_string(path).expect("it is text"))).collect()
}

fn bad_files() -> Vec<String> {
    let text = include_str!("../fixtures/bad.txt");
    text.split("%%\n").map(str::to_owned).collect()
}

fn show(problems: &[Problem], text: &str) -> String {
    problems.iter().map(|problem| problem.show("bad.hurl", text)).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn parsed(text: &str) -> File {
    parse(text).unwrap_or_else(|problems| panic!("{}", show(&problems, text)))
}

#[test]
fn fixtures_have_the_expected_trees() {
    let fixtures = fixtures();
    assert!(fixtures.len() >= 25, "the fixtures are found");
    let trees: Vec<String> = fixtures
        .iter()
        .map(|(name, text)| format!("=== {name}\n{}", outline::outline(&parsed(text))))
        .collect();
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("trees", trees.concat());
    });
}

#[test]
fn bad_files_have_the_expected_messages() {
    let messages: Vec<String> = bad_files()
        .iter()
        .map(|text| match parse(text) {
            Ok(file) => panic!("parsed:\n{text}\n{}", outline::outline(&file)),
            Err(problems) => format!("===\n{text}---\n{}\n", show(&problems, text)),
        })
        .collect();
    assert!(messages.len() >= 30, "the bad files are found");
    insta::with_settings!({ prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("messages", messages.concat());
    });
}

#[test]
fn what_holds_for_every_text_holds_for_the_fixtures() {
    for (_, text) in fixtures() {
        check_any(text.as_bytes());
    }
    for text in bad_files() {
        check_any(text.as_bytes());
    }
}

#[test]
fn an_assert_is_parsed_alone() {
    let check = |text: &str, expected: &str| {
        assert_eq!(
            parse_assert(text).map(|assert| outline::assert(&assert)),
            Ok(expected.to_owned()),
            "{text}"
        );
    };
    check("variable \"stock\" > 0", "variable \"stock\" > 0");
    check("  variable \"next\" exists # a comment\n", "variable \"next\" exists");
    let refused = |text: &str, expected: &str| {
        let problems = parse_assert(text).expect_err(text);
        assert_eq!(show(&problems, text), expected, "{text}");
    };
    refused(
        "status == 200\nstatus == 201",
        "bad.hurl:2:1: expected one condition, got `status`\nstatus == 201\n^^^^^^",
    );
    refused(
        "status == 200 or",
        "bad.hurl:1:15: expected the end of the line, got `or`\nstatus == 200 or\n              ^^",
    );
}

#[test]
fn options_without_a_meaning_here_are_refused_by_name() {
    let names = "aws-sigv4 cacert cert compressed connect-timeout connect-to digest fail-with-body header http1.0 \
                 http1.1 http2 http2-prior-knowledge http3 insecure ipv4 ipv6 key limit-rate location-trusted \
                 max-redirs max-time negotiate netrc netrc-file netrc-optional no-header no-jsonpath-coercion ntlm \
                 output path-as-is pinnedpubkey proxy resolve retry retry-interval tls-max tls-min unix-socket user \
                 verbose verbosity very-verbose";
    for name in names.split(' ') {
        let text =
            format!("GET http://a/\n[Options]\n{name}: 1\nskip: true\n{name} : {{{{x}}}} # a comment\n");
        let problems = parse(&text).expect_err(name);
        let messages: Vec<&str> = problems.iter().map(|problem| problem.message.as_str()).collect();
        let message = format!("the option `{name}` is not supported");
        assert_eq!(messages, [&message, &message]);
        assert!(problems.iter().all(|problem| problem.hint.is_some()), "{name} has a reason");
    }
}

#[test]
fn larger_files_than_the_limits_are_refused() {
    let depth = limits::JSON_DEPTH_MAX;
    let nested = |depth: usize| format!("POST http://a/\n{}{}\n", "[".repeat(depth), "]".repeat(depth));
    parsed(&nested(depth));
    let message = |text: &str| parse(text).expect_err("it is too large").remove(0).message;
    assert_eq!(message(&nested(depth + 1)), "expected at most 128 JSON values in one another, got more");
    parsed(&"GET a\n".repeat(limits::ENTRIES_MAX));
    assert_eq!(
        message(&"GET a\n".repeat(limits::ENTRIES_MAX + 1)),
        "expected at most 10000 requests, got more"
    );
    let large = format!("#{}", " ".repeat(limits::FILE_SIZE_MAX));
    assert_eq!(message(&large), "expected a file of at most 16777216 bytes, got more");
    let wrong = "GET http://a/{{\n".repeat(2 * limits::PROBLEMS_MAX);
    assert_eq!(parse(&wrong).expect_err("it is wrong").len(), limits::PROBLEMS_MAX);
}

#[test]
fn a_template_tells_its_literal_and_its_expressions() {
    let file = parsed("GET http://a/\nA: b\nC: d{{e}}f{{g}}\nH:\n");
    let values: Vec<&Template> =
        file.entries.iter().flat_map(|e| &e.request.headers).map(|h| &h.value).collect();
    let literals: Vec<Option<&str>> = values.iter().map(|value| value.as_literal()).collect();
    assert_eq!(literals, [Some("b"), None, Some("")]);
    assert_eq!(values.iter().map(|value| value.expressions().count()).collect::<Vec<_>>(), [0, 2, 0]);
}

#[test]
fn a_problem_shows_its_place() {
    let check = |text: &str, at: std::ops::Range<usize>, expected: &str| {
        assert_eq!(Problem::new(at, "wrong").show("f", text), expected, "{text:?}");
    };
    check("", 0..0, "f:1:1: wrong\n\n^");
    check("one\ntwo\r\n", 4..7, "f:2:1: wrong\ntwo\n^^^");
    check("one\ntwo", 2..6, "f:1:3: wrong\none\n  ^");
    check("one", 9..12, "f:1:4: wrong\none\n   ^");
    check("\ta\tb", 2..4, "f:1:3: wrong\n    a    b\n     ^^^^^");
    check("é日b", 2..5, "f:1:2: wrong\né日b\n ^^");
    check("é日b", 5..6, "f:1:3: wrong\né日b\n   ^");
    check("a\u{7}b", 1..2, "f:1:2: wrong\na\u{fffd}b\n ^");
    assert_eq!(Problem::new(0..1, "got `\r`").show("f", "a"), "f:1:1: got `\\r`\na\n^");
    check("\u{feff}ab", 4..5, "f:1:2: wrong\nab\n ^");
    let long = format!("{}x{}", "a".repeat(150), "b".repeat(150));
    let shown = format!("f:1:151: wrong\n…{}x{}…\n{}^", "a".repeat(40), "b".repeat(57), " ".repeat(41));
    check(&long, 150..151, &shown);
    let problem = Problem::new(0..1, "wrong").with_hint("do better");
    assert_eq!(problem.show("f", "a"), "f:1:1: wrong\na\n^\nhint: do better");
    assert_eq!(problem.line("a"), 1);
}

/// Pieces from which files are made.
const PIECES: &[&str] = &[
    " ",
    "\t",
    "\n",
    "\r\n",
    "# @name a\n",
    "#",
    "\\",
    "\"",
    "`",
    "```",
    "{{",
    "}}",
    "{{x}}",
    "{{pick:a|b}}",
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    ";",
    "==",
    "/",
    "-1",
    "1.5",
    "true",
    "null",
    "not ",
    "GET http://a\n",
    "HTTP 200\n",
    "[Query]\n",
    "[Form]\n",
    "[Multipart]\n",
    "[Options]\n",
    "[Captures]\n",
    "[Asserts]\n",
    "a: b\n",
    "file,",
    "base64,",
    "hex,f",
    "body ",
    "cookie \"a[Path]\" ",
    "jsonpath \"$\" ",
    "regex /",
    "xpath \"",
    "nth ",
    "exists\n",
    "delay: 1s\n",
    "variable: a=",
    "<a>",
    "</a>",
    "<!--",
    "<![CDATA[",
    "é",
    "日",
    "\u{feff}",
    "\\u{41}",
    "\\u",
];

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC*") {
        check_any(text.as_bytes());
    }

    #[test]
    fn no_sequence_of_pieces_makes_the_parser_panic(pieces in vec(select(PIECES), 0..30)) {
        check_any(pieces.concat().as_bytes());
    }

    #[test]
    fn no_change_of_a_fixture_makes_the_parser_panic(
        file in any::<Index>(),
        edits in vec((any::<Index>(), 0_usize..8, select(PIECES)), 1..6),
    ) {
        let fixtures = fixtures();
        let mut chars: Vec<char> = file.get(&fixtures).1.chars().collect();
        for (at, count, piece) in edits {
            let at = at.index(chars.len() + 1);
            let end = (at + count).min(chars.len());
            chars.splice(at..end, piece.chars());
        }
        check_any(chars.into_iter().collect::<String>().as_bytes());
    }
}
