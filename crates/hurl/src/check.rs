//! Properties of every text, for property tests and fuzzing.

use crate::{File, Problem, Span, outline, parse, parse_assert};

/// Parses arbitrary bytes as a file and as an assert: never a panic, all places are in the text, the problems can be
/// shown, and asserts mean the same alone.
///
/// # Panics
/// If one of these does not hold.
pub fn check_any(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match parse(text) {
        Ok(file) => check_file(&file, text),
        Err(problems) => check_problems(&problems, text),
    }
    match parse_assert(text) {
        Ok(assert) => assert!(!outline::assert(&assert).is_empty(), "an assert has an outline"),
        Err(problems) => check_problems(&problems, text),
    }
}

fn check_file(file: &File, text: &str) {
    assert_eq!(outline::outline(file).is_empty(), file.entries.is_empty(), "entries have an outline");
    let place = |span: &Span| text.get(span.clone()).expect("places are in the text");
    for entry in &file.entries {
        place(&entry.request.span);
        for comment in &entry.comments {
            assert_eq!(place(&comment.span), comment.value);
        }
        for assert in entry.response.iter().flat_map(|response| &response.asserts) {
            let alone = parse_assert(place(&assert.span)).map(|alone| outline::assert(&alone));
            assert_eq!(alone, Ok(outline::assert(assert)));
        }
    }
}

fn check_problems(problems: &[Problem], text: &str) {
    assert!(!problems.is_empty(), "a refusal has a reason");
    for problem in problems {
        assert!(text.get(problem.at.clone()).is_some(), "{problem:?} is in the text");
        let shown = problem.show("file", text);
        assert!(shown.lines().all(|line| !line.contains(char::is_control)), "{shown:?} can be shown");
    }
}
