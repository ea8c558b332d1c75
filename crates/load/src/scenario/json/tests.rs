use proptest::prelude::*;
use serde::Deserialize;

use super::*;
use crate::scenario::value::Mismatch;

/// A case of the compliance suite.
#[derive(Deserialize)]
struct Case {
    name: String,
    selector: String,
    #[serde(default)]
    document: serde_json::Value,
    result: Option<Vec<serde_json::Value>>,
    results: Option<Vec<Vec<serde_json::Value>>>,
    #[serde(default)]
    invalid_selector: bool,
}

#[derive(Deserialize)]
struct Suite {
    tests: Vec<Case>,
}

/// Finds a path by the pass over the bytes.
fn quickly(steps: &[Step], document: &[u8]) -> Result<Option<Value>, Mismatch> {
    together(&[steps], document).map(|mut found| found.remove(0))
}

fn together(paths: &[&[Step]], document: &[u8]) -> Result<Vec<Option<Value>>, Mismatch> {
    let mut tree = Tree::default();
    for (place, steps) in paths.iter().enumerate() {
        assert_eq!(tree.add(steps), place);
    }
    let mut spans = vec![Some(3..4); 2];
    tree.find(document, &mut spans).ok_or(Mismatch)?;
    let value = |span: Span| document.get(span).and_then(read).map(Found::into_value).ok_or(Mismatch);
    spans.into_iter().map(|span| span.map(value).transpose()).collect()
}

fn slowly(path: &Path, document: &[u8]) -> Result<Option<Value>, Mismatch> {
    Ok(path.query(&Document::read(document).ok_or(Mismatch)?).map(Found::into_value))
}

/// The number of cases in the suite: a file cut short is not taken for the whole.
const CASES: usize = 687;

/// The cases that we decide otherwise, each with the reason.
const DIFFERENT: &[(&str, &str)] =
    &[("basic, name shorthand, number", "as Hurl does, names behind a dot may begin with a digit")];

#[test]
fn the_compliance_suite_passes_both_ways() {
    let suite: Suite =
        serde_json::from_str(include_str!("../../../fixtures/jsonpath/cts.json")).expect("the suite is JSON");
    assert_eq!(suite.tests.len(), CASES);
    let mut different = Vec::new();
    let mut quick = 0;
    for case in &suite.tests {
        match comply(case) {
            Ok(by_the_pass) => quick += usize::from(by_the_pass),
            Err(difference) => different.push((&*case.name, difference)),
        }
    }
    let names: Vec<_> = different.iter().map(|(name, _)| *name).collect();
    let expected: Vec<_> = DIFFERENT.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, expected, "differences: {different:#?}");
    assert!(quick > 20, "{quick} cases were found by the pass over the bytes");
}

/// Tries a case by the parser and, if its path is of names and indexes, by the pass over the bytes; returns if it was one.
/// The error is what differs.
fn comply(case: &Case) -> Result<bool, String> {
    let path = Path::new(&case.selector);
    let Ok(path) = path else {
        return if case.invalid_selector { Ok(false) } else { Err(format!("refused: {path:?}")) };
    };
    if case.invalid_selector {
        return Err("taken".to_owned());
    }
    let allowed: Vec<_> = case.result.iter().chain(case.results.iter().flatten()).collect();
    let nodes: Vec<_> = path.general.query(&case.document).all().into_iter().cloned().collect();
    if !allowed.contains(&&nodes) {
        return Err(format!("{nodes:?} is none of {allowed:?}"));
    }

    // One node stands for itself, and several are a list.
    let expected = match &nodes[..] {
        [] => None,
        [node] => Some(value_of(node)),
        nodes => Some(Value::List(nodes.iter().map(value_of).collect())),
    };
    let document = case.document.to_string();
    let found = slowly(&path, document.as_bytes());
    if found != Ok(expected) {
        return Err(format!("{nodes:?} became {found:?}"));
    }
    let Some(steps) = path.steps() else { return Ok(false) };
    let quickly = quickly(steps, document.as_bytes());
    if quickly == found { Ok(true) } else { Err(format!("the pass found {quickly:?}, the parser {found:?}")) }
}

#[track_caller]
fn check(path: &str, document: &str, expected: &Result<Option<Value>, Mismatch>) {
    let path = Path::new(path).expect("a path");
    assert_eq!(&slowly(&path, document.as_bytes()), expected, "by the parser");
    let steps = path.steps().expect("a path of names and indexes");
    assert_eq!(&quickly(steps, document.as_bytes()), expected, "by the pass");
}

#[test]
fn values_of_all_types_are_found() {
    let document =
        r#" { "a" : [ null , true, false,-12, 1.5, "x\u00e9\uD83D\ude00\n", [], {"b":{}} ] , "é": 1 } "#;
    let text = |text: &str| Value::Text(text.into());
    check("$.a[0]", document, &Ok(Some(Value::Null)));
    check("$.a[1]", document, &Ok(Some(Value::Boolean(true))));
    check("$.a[2]", document, &Ok(Some(Value::Boolean(false))));
    check("$.a[3]", document, &Ok(Some(Value::Integer(-12))));
    check("$.a[4]", document, &Ok(Some(Value::Float(1.5))));
    check("$.a[5]", document, &Ok(Some(text("xé😀\n"))));
    check("$.a[6]", document, &Ok(Some(Value::List(vec![]))));
    check("$['a'][7].b", document, &Ok(Some(Value::Object(vec![]))));
    check("$.a[8]", document, &Ok(None));
    check("$.é", document, &Ok(Some(Value::Integer(1))));
    check("$.é.b", document, &Ok(None));
    check("$", "3", &Ok(Some(Value::Integer(3))));
}

#[test]
fn the_last_of_several_members_of_a_name_counts() {
    check("$.a", r#"{"a":1,"b":2,"\u0061":3}"#, &Ok(Some(Value::Integer(3))));
    check("$.a.b", r#"{"a":{"b":1},"a":{"c":1}}"#, &Ok(None));
    check("$.a.b", r#"{"a":{"b":1},"a":7}"#, &Ok(None));
}

#[test]
fn whole_numbers_of_any_size_stay_whole() {
    check("$", "9223372036854775807", &Ok(Some(Value::Integer(i64::MAX))));
    check("$", "-9223372036854775808", &Ok(Some(Value::Integer(i64::MIN))));
    for digits in ["9223372036854775808", "18446744073709551615", "-9223372036854775809"] {
        let expected = Ok(Some(Value::BigInteger(digits.into())));
        if digits.starts_with('-') {
            assert_eq!(quickly(&[], digits.as_bytes()), expected);
        } else {
            check("$", digits, &expected);
        }
    }
    assert_eq!(quickly(&[], b"98765432109876543210987"), Ok(Value::whole("98765432109876543210987")));
    check("$", "1e3", &Ok(Some(Value::Float(1000.0))));
    check("$", "-0", &Ok(Some(Value::Float(-0.0))));
    check("$", "1e999", &Err(Mismatch));
}

#[test]
fn malformed_documents_have_no_values() {
    for document in [
        "",
        " ",
        "{",
        "[",
        "{]",
        "[1",
        "{\"a\"}",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{a:1}",
        "{\"a\":1}x",
        "{\"a\":}",
        "{\"a\":1",
        "{\"a\":\"b}",
        "{\"\\ud800\":1}",
        "{\"a\":01}",
        "{\"a\":\"\u{1}\"}",
        "{\"a\":tru}",
        "{\"a\":\"\\x\"}",
        "\u{FEFF}{}",
        "{\"a\":[}",
        "{\"a\":{\"b\":}}",
        "{\"a\":-}",
    ] {
        check("$.a", document, &Err(Mismatch));
    }
}

#[test]
fn what_is_not_on_the_way_is_only_skipped() {
    let found = |document: &[u8]| quickly(Path::new("$.a").unwrap().steps().unwrap(), document);
    assert_eq!(found(b"{\"b\":[x,{]},\"a\":1}"), Ok(Some(Value::Integer(1))));
    assert_eq!(found(b"{\"b\":\"\xFF\",\"a\":1}"), Ok(Some(Value::Integer(1))));
    assert_eq!(found(b"{\"b\":[,\"a\":1}"), Err(Mismatch));
    assert_eq!(found(b"{\"a\":\"\xFF\"}"), Err(Mismatch));
}

#[test]
fn deep_documents_and_paths_are_refused_or_skipped() {
    let deep = format!("{{\"b\":{}{},\"a\":1}}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    let found = quickly(Path::new("$.a").unwrap().steps().unwrap(), deep.as_bytes());
    assert_eq!(found, Ok(Some(Value::Integer(1))));
    assert!(Path::new(&format!("$[?{}", "(".repeat(100_000))).is_err());
    assert!(Path::new(&format!("${}", "[0]".repeat(64 + 1))).is_err());
    let long = Path::new(&format!("${}", ".a".repeat(STEPS_MAX + 1))).unwrap();
    assert!(long.steps().is_none());
    let filter = Path::new(&format!("$[?{}@.a{}]", "(".repeat(64 - 1), ")".repeat(64 - 1)));
    assert!(filter.is_ok());
}

#[test]
fn messages_about_paths_are_one_line() {
    for path in ["", "a", "$.", "$[", "$['a'", "$[?@.a ==]", "$.a b"] {
        let reason = Path::new(path).unwrap_err();
        assert!(!reason.is_empty() && !reason.contains('\n'), "{path}: {reason}");
    }
}

#[test]
fn whole_numbers_keep_their_digits_wherever_they_are() {
    let digits = "340282366920938463463374607431768211456";
    let big = || Value::BigInteger(digits.into());
    let object = |value| Value::Object(vec![("id".into(), value)]);
    let document =
        format!("{{\"a\": [{{\"id\": 1, \"id\": {digits}}}, {{\"\\u0069d\": 2}}], \"b\": {digits}}}");
    let a = || Value::List(vec![object(big()), object(Value::Integer(2))]);
    let cases = [
        ("$.b", big()),
        ("$.a[0]", object(big())),
        ("$.a", a()),
        ("$", Value::Object(vec![("a".into(), a()), ("b".into(), big())])),
        ("$.a[*].id", Value::List(vec![big(), Value::Integer(2)])),
        ("$..[?@.id > 2].id", big()),
        ("$.a[::-1].id", Value::List(vec![Value::Integer(2), big()])),
    ];
    let read = Document::read(document.as_bytes()).unwrap();
    let known =
        Document::of(slowly(&Path::new("$").unwrap(), document.as_bytes()).unwrap().unwrap()).unwrap();
    for (text, expected) in cases {
        let path = Path::new(text).unwrap();
        for document in [&read, &known] {
            assert_eq!(path.query(document).map(Found::into_value).as_ref(), Some(&expected), "{text}");
        }
        if let Some(steps) = path.steps() {
            assert_eq!(quickly(steps, document.as_bytes()), Ok(Some(expected)), "{text} by the pass");
        }
    }
}

/// Pieces of JSON that make good and bad documents in any order.
const PIECES: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"a\"",
    "\"b\"",
    "\"\\u0061\"",
    "\"",
    "\\",
    " ",
    "1",
    "-0",
    "12345678901234567890",
    "1.5e3",
    "true",
    "null",
    "\"é\\\"\"",
    "\"\\ud83d\\ude00\"",
    "\"long text that has no escapes\"",
    "{\"a\":",
    "[1,",
    "\"a\":{\"b\":[0,1]}",
    "\u{1}",
    "😀",
];

fn any_document() -> impl Strategy<Value = String> {
    let name = prop::sample::select(vec!["\"a\"", "\"b\"", "\"\\u0061\"", "\"c\\\\\"", "\"é\""]);
    let scalar = prop::sample::select(vec![
        "0",
        "-0",
        "-7",
        "123456789012345678",
        "1234567890123456789",
        "18446744073709551615",
        "-9223372036854775809",
        "340282366920938463463374607431768211456",
        "1e2",
        "0.1",
        "true",
        "false",
        "null",
        "\"\"",
        "\"x\\ty\"",
        "\"]}\\\"\"",
        "\"\\uD834\\uDD1E\"",
        "\"é☺\"",
        "\"\\\\\"",
    ]);
    let blank = prop::sample::select(vec!["", " ", "\n\t", ""]);
    let leaf = (blank.clone(), scalar, blank.clone()).prop_map(|(a, b, c)| format!("{a}{b}{c}"));
    leaf.prop_recursive(5, 60, 6, move |inner| {
        let members =
            prop::collection::vec((blank.clone(), name.clone(), blank.clone(), inner.clone()), 0..6);
        let object = members.prop_map(|members| {
            let members: Vec<_> =
                members.iter().map(|(a, name, b, value)| format!("{a}{name}{b}:{value}")).collect();
            format!(" {{{}}}", members.join(","))
        });
        let list = prop::collection::vec(inner, 0..6).prop_map(|list| format!("[{}] ", list.join(",")));
        prop_oneof![object, list]
    })
}

fn any_path() -> impl Strategy<Value = String> {
    let step = prop::sample::select(vec![".a", ".b", "['a']", "[\"é\"]", "[0]", "[1]", "[2]", "['c']", ".é"]);
    prop::collection::vec(step, 0..4).prop_map(|steps| format!("${}", steps.concat()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn both_ways_find_the_same(document in any_document(), paths in prop::collection::vec(any_path(), 1..5)) {
        let paths: Vec<Path> = paths.iter().map(|path| Path::new(path).unwrap()).collect();
        let steps: Vec<&[Step]> = paths.iter().map(|path| path.steps().unwrap()).collect();
        let found = together(&steps, document.as_bytes());
        let expected: Result<Vec<_>, _> = paths.iter().map(|path| slowly(path, document.as_bytes())).collect();
        // Equal in text as well, since 0.0 and -0.0 are equal.
        prop_assert_eq!(format!("{:?}", &found), format!("{:?}", expected));
    }

    #[test]
    fn documents_in_pieces_are_found_alike_or_malformed(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 0..12),
        path in any_path(),
    ) {
        let document = pieces.concat();
        let path = Path::new(&path).unwrap();
        let found = quickly(path.steps().unwrap(), document.as_bytes());
        if let Ok(expected) = slowly(&path, document.as_bytes()) {
            prop_assert_eq!(found, Ok(expected));
        }
    }

    #[test]
    fn a_cut_document_has_no_values(document in any_document(), cut in 1..20_usize) {
        let object = format!("{{\"a\":{document}}}");
        let cut = object.len().saturating_sub(cut);
        let found = quickly(&[Step::Name("a".into())], &object.as_bytes()[..cut]);
        prop_assert_eq!(found, Err(Mismatch));
    }

    #[test]
    fn any_bytes_are_searched(document: Vec<u8>, path in ".*") {
        let _ = quickly(&[Step::Name("a".into()), Step::Index(0)], &document);
        if let Ok(path) = Path::new(&path) {
            let found = slowly(&path, &document);
            if let (Some(steps), Ok(expected)) = (path.steps(), found) {
                prop_assert_eq!(quickly(steps, &document), Ok(expected));
            }
        }
    }

    #[test]
    fn a_quoted_name_is_read_as_the_parser_reads_it(name in "\\PC{0,6}", quote in "['\"]") {
        let path = format!("$[{quote}{name}{quote}]");
        if let Ok(path) = Path::new(&path)
            && let Some(steps) = path.steps()
        {
            let document = serde_json::json!({ (&*name): 1, "other": 2 }).to_string();
            prop_assert_eq!(quickly(steps, document.as_bytes()), slowly(&path, document.as_bytes()));
        }
    }
}
