use std::time::{Duration, SystemTime};

use compact_str::CompactString;
use httperf_plan::Client;
use httperf_plan::scenario::{
    Attribute, Capture, Check, Coding, Filter, Operand, Predicate, Query, StepRequest, StepText, Test,
    TextPart, Value,
};
use proptest::prelude::*;

use super::*;

const JSON: &[u8] = br#"{"id":7,"ids":[1,2,3],"name":"Dune","none":null,"pi":3.5,"ok":true,"items":[{"k":"a"},{"k":"b"}],"one":[9],
    "empty":[],"obj":{"x":1},"date":"2018-12-31T23:59:59.5+01:00","uuid":"f81d4fae-7dec-11d0-a765-00a0c91e6bf6","ip":"::1",
    "text":"{\"a\":[5,6]}","b64":"aGk=","html":"a &gt; b","num":"12"}"#;

const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nVary: a\r\nContent-Type: text/html\r\nVARY: b\r\nX-Raw: \xE9\r\nLocation: /caf\xE9?a=%20\r\n\
    Set-Cookie: sid=old\r\nset-cookie: sid=a=b; Expires=Wed, 13 Jan 2021 22:23:01 GMT; Max-Age=60; Secure; HttpOnly; Path=/x; \
    SameSite=Lax\r\n\r\n";

fn read_values<'h>(head: &'h [u8], name: &[u8], each: &mut dyn FnMut(&'h [u8])) {
    for line in head.split(|&byte| byte == b'\n').skip(1) {
        if let Some(colon) = line.iter().position(|&byte| byte == b':')
            && line[..colon].trim_ascii().eq_ignore_ascii_case(name)
        {
            each(line[colon + 1..].trim_ascii());
        }
    }
}

fn reply(body: &[u8]) -> Reply<'_> {
    Reply {
        status: 200,
        head: HEAD,
        read_values,
        body: Ok(body),
        duration: Duration::from_micros(1999),
        redirects: &[],
    }
}

fn request() -> StepRequest {
    StepRequest {
        name: String::new(),
        origin: String::new(),
        method: "GET".into(),
        target: 0,
        uri: text("/"),
        headers: vec![],
        body: None,
        follows: false,
        status: None,
        captures: vec![],
        checks: vec![],
        websocket: None,
    }
}

fn text(text: &str) -> StepText {
    StepText::literal(text.as_bytes())
}

fn words(words: &str) -> Value {
    Value::Text(words.into())
}

fn variable(slot: u32) -> StepText {
    StepText { parts: vec![TextPart::Variable { slot, filters: vec![] }] }
}

fn path(path: &str) -> Query {
    Query::JsonPath(text(path))
}

/// The variables of the tests: a text, a number, none, a list.
fn values() -> Vec<Option<Value>> {
    vec![Some(words("Dune")), Some(Value::Integer(2)), None, Some(Value::List(vec![Value::Integer(1)])), None]
}

fn judge(request: &StepRequest, reply: &Reply<'_>, values: &mut [Option<Value>]) -> (Judgement, Vec<usize>) {
    let look = Look::new(request).expect("expressions are well-formed");
    let mut failed = Vec::new();
    let mut draws = Draws::new(Client::default(), 0);
    let judgement = look.judge(
        reply,
        values,
        &mut draws,
        &mut || SystemTime::UNIX_EPOCH,
        &mut Scratch::default(),
        &mut |place| failed.push(place),
    );
    (judgement, failed)
}

/// Takes a capture into a variable; `None` if it fails.
fn capture(query: Query, filters: Vec<Filter>, body: &[u8]) -> Option<Value> {
    let capture = Capture { slot: 4, query, filters, label: String::new(), redacted: false };
    let mut values = values();
    let (judgement, _) =
        judge(&StepRequest { captures: vec![capture], ..request() }, &reply(body), &mut values);
    assert_eq!(judgement.failed_capture.is_some(), values[4].is_none());
    values.swap_remove(4)
}

fn holds(query: Query, filters: Vec<Filter>, not: bool, test: Test, body: &[u8]) -> bool {
    let check = Check { query, filters, predicate: Predicate { not, test }, label: String::new() };
    let (judgement, failed) =
        judge(&StepRequest { checks: vec![check], ..request() }, &reply(body), &mut values());
    assert_eq!(judgement.failed_checks as usize, failed.len());
    failed.is_empty()
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "cases read better")]
fn check_query(query: Query, expected: Option<Value>) {
    assert_eq!(capture(query, vec![], JSON), expected);
}

#[test]
fn queries_find_what_a_reply_holds() {
    let cookie = |attribute| Query::Cookie { name: text("sid"), attribute };
    let list = |items: &[&str]| Value::List(items.iter().map(|item| words(item)).collect());
    check_query(Query::Status, Some(Value::Integer(200)));
    check_query(Query::Header(text("content-type")), Some(words("text/html")));
    check_query(Query::Header(text("Vary")), Some(list(&["a", "b"])));
    check_query(Query::Header(text("x-raw")), Some(words("é")));
    check_query(Query::Header(text("location")), Some(words("/caf%E9?a=%20")));
    check_query(Query::Header(text("absent")), None);
    check_query(cookie(None), Some(words("a=b")));
    check_query(cookie(Some(Attribute::Value)), Some(words("a=b")));
    check_query(cookie(Some(Attribute::Expires)), Some(words("Wed, 13 Jan 2021 22:23:01 GMT")));
    check_query(cookie(Some(Attribute::MaxAge)), Some(Value::Integer(60)));
    check_query(cookie(Some(Attribute::Secure)), Some(Value::Boolean(true)));
    check_query(cookie(Some(Attribute::HttpOnly)), Some(Value::Boolean(true)));
    check_query(cookie(Some(Attribute::Path)), Some(words("/x")));
    check_query(cookie(Some(Attribute::SameSite)), Some(words("Lax")));
    check_query(cookie(Some(Attribute::Domain)), None);
    check_query(Query::Cookie { name: text("SID"), attribute: None }, None);
    check_query(Query::Variable(0), Some(words("Dune")));
    check_query(Query::Variable(2), None);
    check_query(Query::Variable(99), None);
    check_query(Query::Duration, Some(Value::Integer(1)));
    check_query(Query::Redirects, Some(Value::List(vec![])));
    check_query(Query::Regex(text(r#""name":"([^"]+)""#)), Some(words("Dune")));
    check_query(Query::Regex(text(r#""pi":(\d)\.5"#)), Some(words("3")));
    check_query(Query::Regex(text("absent(.)")), None);
    check_query(Query::Regex(variable(0)), None);
    assert_eq!(capture(Query::Body, vec![], b"a\xFF"), Some(words("a\u{FFFD}")));
    assert_eq!(capture(Query::Bytes, vec![], b"a\xFF"), Some(Value::Bytes(b"a\xFF".to_vec())));
    assert_eq!(capture(Query::Regex(text("a([^b]+)b")), vec![], b"a\xFFb"), Some(words("\u{FFFD}")));
    let Some(Value::Bytes(digest)) = capture(Query::Sha256, vec![], b"abc") else {
        panic!("a digest is bytes")
    };
    assert_eq!(digest[..4], [0xba, 0x78, 0x16, 0xbf]);
}

#[test]
fn a_path_gives_one_node_itself_and_several_as_a_list() {
    let list = |items: &[&str]| Some(Value::List(items.iter().map(|item| words(item)).collect()));
    check_query(path("$.items[1].k"), Some(words("b")));
    check_query(path("$.items[-1].k"), Some(words("b")));
    check_query(path("$.items[*].k"), list(&["a", "b"]));
    check_query(path("$.items[?@.k == 'b'].k"), Some(words("b")));
    check_query(path("$.items[?@.k == 'c'].k"), None);
    check_query(path("$.one"), Some(Value::List(vec![Value::Integer(9)])));
    check_query(path("$.one[*]"), Some(Value::Integer(9)));
    check_query(path("$.none"), Some(Value::Null));
    check_query(path("$.absent"), None);
    let mut indexed = text("$.ids[");
    indexed.push(TextPart::Variable { slot: 1, filters: vec![] });
    indexed.push_literal(b"]");
    check_query(Query::JsonPath(indexed), Some(Value::Integer(3)));
    check_query(Query::JsonPath(variable(0)), None);
}

#[test]
fn redirects_are_objects_with_a_location() {
    let capture = Capture {
        slot: 4,
        query: Query::Redirects,
        filters: vec![Filter::Last, Filter::Location],
        label: String::new(),
        redacted: false,
    };
    let redirects = ["/a".into(), CompactString::from("/b")];
    let mut values = values();
    let reply = Reply { redirects: &redirects, ..reply(b"") };
    judge(&StepRequest { captures: vec![capture], ..request() }, &reply, &mut values);
    assert_eq!(values[4], Some(words("/b")));
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "cases read better")]
fn check_filters(query: Query, filters: Vec<Filter>, expected: Option<Value>) {
    assert_eq!(capture(query, filters, JSON), expected);
}

#[test]
fn filters_change_values() {
    use Filter::*;
    let int = |number| Some(Value::Integer(number));
    let some = |text| Some(words(text));
    check_filters(path("$.ids"), vec![Count], int(3));
    check_filters(path("$.obj"), vec![Count], int(1));
    check_filters(Query::Bytes, vec![Count], i64::try_from(JSON.len()).ok().map(Value::Integer));
    check_filters(path("$.ids"), vec![First], int(1));
    check_filters(path("$.ids"), vec![Last], int(3));
    check_filters(path("$.ids"), vec![Nth(1)], int(2));
    check_filters(path("$.ids"), vec![Nth(-3)], int(1));
    check_filters(Query::Variable(3), vec![First], int(1));
    check_filters(path("$.name"), vec![Regex(text("D(u)"))], some("u"));
    check_filters(Query::Variable(0), vec![Regex(text("D(u)"))], some("u"));
    check_filters(path("$.name"), vec![Replace { old: text("un"), new: variable(1) }], some("D2e"));
    check_filters(
        path("$.name"),
        vec![ReplaceRegex { pattern: text("([un])"), new: text("<$1>") }],
        some("D<u><n>e"),
    );
    check_filters(path("$.name"), vec![Split(text("n")), Nth(1)], some("e"));
    check_filters(path("$.num"), vec![ToInt], int(12));
    check_filters(path("$.pi"), vec![ToInt], int(3));
    check_filters(path("$.num"), vec![ToFloat], Some(Value::Float(12.0)));
    check_filters(path("$.id"), vec![ToFloat], Some(Value::Float(7.0)));
    check_filters(path("$.pi"), vec![ToText], some("3.5"));
    check_filters(path("$.ok"), vec![ToText], some("true"));
    check_filters(path("$.none"), vec![ToText], some("null"));
    check_filters(path("$.html"), vec![UrlEncode], some("a%20%26gt%3B%20b"));
    check_filters(path("$.html"), vec![UrlEncode, UrlDecode], some("a &gt; b"));
    check_filters(path("$.html"), vec![HtmlUnescape], some("a > b"));
    check_filters(path("$.html"), vec![HtmlUnescape, HtmlEscape], some("a &gt; b"));
    check_filters(path("$.b64"), vec![Base64Decode], Some(Value::Bytes(b"hi".to_vec())));
    check_filters(path("$.b64"), vec![Base64Decode, Base64Encode], some("aGk="));
    check_filters(path("$.b64"), vec![Base64Decode, Base64UrlSafeEncode], some("aGk"));
    check_filters(path("$.b64"), vec![Base64Decode, ToText], some("hi"));
    check_filters(
        path("$.b64"),
        vec![Replace { old: text("="), new: text("") }, Base64UrlSafeDecode, ToText],
        some("hi"),
    );
    check_filters(path("$.text"), vec![JsonPath(text("$.a[1]"))], int(6));
    check_filters(path("$.obj"), vec![JsonPath(text("$.x"))], int(1));
}

#[test]
fn filters_of_the_wrong_type_and_of_nothing_fail_in_every_check() {
    use Filter::*;
    let cases: Vec<(Query, Vec<Filter>)> = vec![
        (path("$.name"), vec![Count]),
        (path("$.id"), vec![First]),
        (path("$.absent"), vec![Count]),
        (path("$.ids"), vec![Nth(9), Count]),
        (path("$.name"), vec![ToInt]),
        (path("$.ids"), vec![ToFloat]),
        (path("$.ids"), vec![ToText]),
        (path("$.id"), vec![Split(text(","))]),
        (path("$.name"), vec![Split(variable(2))]),
        (path("$.name"), vec![Base64Encode]),
        (path("$.pi"), vec![Base64Decode]),
        (path("$.date"), vec![Base64Decode]),
        (path("$.id"), vec![HtmlEscape]),
        (path("$.ids"), vec![Location]),
        (path("$.obj"), vec![Location]),
        (path("$.name"), vec![JsonPath(text("$"))]),
        (path("$.id"), vec![Regex(text("(7)"))]),
    ];
    for (query, filters) in cases {
        for not in [false, true] {
            assert!(
                !holds(query.clone(), filters.clone(), not, Test::Exists, JSON),
                "{query:?} {filters:?} {not}"
            );
        }
    }
    assert!(holds(path("$.ids"), vec![Nth(9)], true, Test::Exists, JSON));
    assert!(holds(path("$.empty"), vec![First], true, Test::Exists, JSON));
}

/// Checks a predicate with and without `not`.
#[track_caller]
fn check_test(query: Query, test: &Test, expected: bool) {
    assert_eq!(holds(query.clone(), vec![], false, test.clone(), JSON), expected);
    assert_eq!(holds(query, vec![], true, test.clone(), JSON), !expected, "with `not`");
}

fn value(value: Value) -> Operand {
    Operand::Value(value)
}

#[test]
fn tests_compare_values() {
    use Test::*;
    let int = |number| value(Value::Integer(number));
    check_test(path("$.id"), &Equals(int(7)), true);
    check_test(path("$.id"), &Equals(value(Value::Float(7.0))), true);
    check_test(path("$.id"), &Equals("7".into()), false);
    check_test(path("$.id"), &Differs("7".into()), true);
    check_test(path("$.none"), &Equals(value(Value::Null)), true);
    check_test(path("$.name"), &Differs(value(Value::Null)), true);
    check_test(path("$.name"), &Equals(Operand::Text(variable(0))), true);
    check_test(path("$.name"), &Equals(Operand::Variable(0)), true);
    check_test(path("$.ids[1]"), &Equals(Operand::Variable(1)), true);
    check_test(path("$.ids[1]"), &Equals(Operand::Text(variable(1))), false);
    check_test(path("$.ids"), &Equals(value(Value::List((1..4).map(Value::Integer).collect()))), true);
    check_test(path("$.pi"), &Above(int(3)), true);
    check_test(path("$.pi"), &AtLeast(value(Value::Float(3.5))), true);
    check_test(path("$.pi"), &Below(int(3)), false);
    check_test(path("$.id"), &AtMost(int(7)), true);
    check_test(path("$.name"), &Above("Dun".into()), true);
    check_test(path("$.name"), &StartsWith("Du".into()), true);
    check_test(path("$.name"), &EndsWith("Du".into()), false);
    check_test(path("$.name"), &Contains("un".into()), true);
    check_test(path("$.name"), &Contains(Operand::Text(variable(0))), true);
    check_test(path("$.ids"), &Contains(int(2)), true);
    check_test(path("$.items[*].k"), &Contains("c".into()), false);
    check_test(path("$.items[*].k"), &Contains("b".into()), true);
    check_test(Query::Bytes, &StartsWith(value(Value::Bytes(b"{\"".to_vec()))), true);
    check_test(Query::Bytes, &Contains(value(Value::Bytes(b"Dune".to_vec()))), true);
    check_test(Query::Body, &Contains("Dune".into()), true);
    check_test(path("$.date"), &Matches(text(r"^\d{4}-")), true);
    check_test(path("$.name"), &Matches(variable(0)), true);
    check_test(Query::Status, &Equals(int(200)), true);
    check_test(Query::Duration, &Below(int(2)), true);
}

#[test]
fn tests_tell_the_kind_of_a_value() {
    use Test::*;
    let all = [
        (IsInteger, "id"),
        (IsFloat, "pi"),
        (IsBoolean, "ok"),
        (IsText, "name"),
        (IsList, "ids"),
        (IsObject, "obj"),
        (IsDate, "date"),
        (IsUuid, "uuid"),
        (IsIpv6, "ip"),
    ];
    for (test, own) in &all {
        for (_, name) in &all {
            let is_kind = name == own || (*test == IsText && ["date", "uuid", "ip"].contains(name));
            check_test(path(&format!("$.{name}")), test, is_kind);
        }
    }
    check_test(path("$.id"), &IsNumber, true);
    check_test(path("$.pi"), &IsNumber, true);
    check_test(path("$.num"), &IsNumber, false);
    check_test(path("$.ids"), &IsCollection, true);
    check_test(path("$.obj"), &IsCollection, true);
    check_test(path("$.name"), &IsCollection, false);
    check_test(path("$.empty"), &IsEmpty, true);
    check_test(path("$.ids"), &IsEmpty, false);
    check_test(path("$.name"), &IsEmpty, false);
    check_test(path("$.none"), &Exists, true);
}

#[test]
fn dates_are_those_of_rfc_3339() {
    for (date, expected) in [
        ("2018-12-31T23:59:59Z", true),
        ("2018-12-31t23:59:60.123456789z", true),
        ("2020-02-29T00:00:00-23:59", true),
        ("2019-02-29T00:00:00Z", false),
        ("2018-13-01T00:00:00Z", false),
        ("2018-12-31", false),
        ("2018-12-31T24:00:00Z", false),
        ("2018-12-31T23:59:59", false),
        ("2018-12-31T23:59:59.Z", false),
        ("2018-12-31T23:59:59+1:00", false),
        ("2018-12-31 23:59:59Z", false),
        ("2018-12-31T23:59:5éZ", false),
        ("", false),
    ] {
        let body = serde_json::to_vec(date).unwrap();
        assert_eq!(holds(path("$"), vec![], false, Test::IsDate, &body), expected, "{date}");
    }
}

#[test]
fn tests_that_do_not_apply_fail_with_not_as_well() {
    use Test::*;
    let int = |number| value(Value::Integer(number));
    let cases = vec![
        (path("$.name"), Above(int(1))),
        (path("$.none"), Below(int(1))),
        (path("$.ids"), AtMost(int(1))),
        (path("$.id"), StartsWith("7".into())),
        (path("$.id"), EndsWith("7".into())),
        (path("$.id"), Contains("7".into())),
        (path("$.obj"), Contains(int(1))),
        (Query::Bytes, Contains("{".into())),
        (path("$.name"), StartsWith(int(1))),
        (path("$.id"), Matches(text("7"))),
        (path("$.id"), IsEmpty),
        (path("$.id"), Equals(Operand::Variable(2))),
        (path("$.name"), Equals(Operand::Text(variable(2)))),
        (path("$.name"), Contains(Operand::Text(variable(3)))),
    ];
    for (query, test) in cases {
        for not in [false, true] {
            assert!(!holds(query.clone(), vec![], not, test.clone(), JSON), "{query:?} {test:?} {not}");
        }
    }
}

/// Each test of a value, without `not`.
fn all_tests() -> Vec<Test> {
    use Test::*;
    let int = || value(Value::Integer(1));
    let operands: [fn() -> Operand; 4] =
        [|| "x".into(), || value(Value::Null), || Operand::Text(variable(0)), || Operand::Variable(0)];
    let compared = operands.iter().flat_map(|operand| {
        let of = [Equals, Differs, Above, AtLeast, Below, AtMost, StartsWith, EndsWith, Contains];
        of.map(|test| test(operand()))
    });
    let kinds = vec![
        Differs(int()),
        Contains(int()),
        Matches(text("x")),
        Exists,
        IsEmpty,
        IsInteger,
        IsFloat,
        IsNumber,
        IsBoolean,
        IsText,
        IsCollection,
        IsList,
        IsObject,
        IsDate,
        IsUuid,
        IsIpv4,
        IsIpv6,
    ];
    compared.chain(kinds).collect()
}

#[test]
fn a_missing_value_passes_not_exists_alone() {
    let cookie = |name, attribute| Query::Cookie { name: text(name), attribute };
    let absent: Vec<(Query, Vec<Filter>)> = vec![
        (path("$.absent"), vec![]),
        (path("$.items[?@.k == 'c']"), vec![]),
        (Query::Header(text("absent")), vec![]),
        (cookie("absent", None), vec![]),
        (cookie("sid", Some(Attribute::Domain)), vec![]),
        (Query::Regex(text("absent(.)")), vec![]),
        (Query::Variable(2), vec![]),
        (path("$.ids"), vec![Filter::Nth(9)]),
        (path("$.empty"), vec![Filter::First]),
        (path("$.name"), vec![Filter::Regex(text("(z)"))]),
    ];
    for (query, filters) in absent {
        for test in all_tests() {
            for not in [false, true] {
                let expected = not && test == Test::Exists;
                let found = holds(query.clone(), filters.clone(), not, test.clone(), JSON);
                assert_eq!(found, expected, "{query:?} {filters:?} not: {not} {test:?}");
            }
        }
    }
}

#[test]
fn every_look_at_a_body_that_could_not_be_read_fails_with_the_reason() {
    let queries = [
        Query::Body,
        Query::Bytes,
        Query::Sha256,
        path("$.a"),
        path("$..a"),
        Query::Regex(text("(a)")),
        Query::Regex(text("(?i)(a)")),
    ];
    let unread = Reply { body: Err("it is torn"), ..reply(b"") };
    for query in queries {
        for (not, test) in all_tests().into_iter().flat_map(|test| [(false, test.clone()), (true, test)]) {
            let check = Check {
                query: query.clone(),
                filters: vec![],
                predicate: Predicate { not, test },
                label: String::new(),
            };
            let request = StepRequest { checks: vec![check], ..request() };
            let (judgement, _) = judge(&request, &unread, &mut values());
            assert_eq!(judgement.failed_checks, 1, "{:?}", request.checks);
            let reason = explained(&request, &unread, Failed::Check(0));
            assert!(reason.starts_with("the body could not be read: it is torn"), "{reason}");
        }
        let capture = Capture { slot: 4, query, filters: vec![], label: String::new(), redacted: false };
        let request = StepRequest { captures: vec![capture], ..request() };
        assert_eq!(judge(&request, &unread, &mut values()).0.failed_capture, Some(0));
    }
}

fn explained(request: &StepRequest, reply: &Reply<'_>, failed: Failed) -> String {
    let draws = Draws::new(Client::default(), 0);
    let now = &mut || SystemTime::UNIX_EPOCH;
    Look::new(request).unwrap().explain(failed, reply, &values(), &draws, now, &Secrets::default())
}

#[test]
fn a_failed_look_says_what_was_there_instead() {
    use Filter::*;
    let int = |number| Test::Equals(value(Value::Integer(number)));
    for (query, filters, test, expected) in [
        (path("$.id"), vec![], int(8), "got integer 7"),
        (path("$.pi"), vec![], int(8), "got number 3.5"),
        (path("$.name"), vec![], int(8), "got text \"Dune\""),
        (path("$.none"), vec![], int(8), "got null"),
        (path("$.ok"), vec![], int(8), "got true"),
        (path("$.ids"), vec![], int(8), "got list of 3 [1,2,3]"),
        (path("$.obj"), vec![], int(8), "got object {\"x\":1}"),
        (path("$.absent"), vec![], int(8), "got no value"),
        (Query::Status, vec![], int(201), "got integer 200"),
        (path("$.ids"), vec![Count], int(8), "got integer 3"),
        (path("$.name"), vec![ToInt], int(8), "`toInt` does not apply to text \"Dune\""),
        (path("$.ids"), vec![Nth(9), ToInt], int(8), "`nth` finds no value in list of 3 [1,2,3]"),
        (Query::Bytes, vec![], int(8), "got 3 bytes, hex 616263"),
        (path("$.name"), vec![], Test::Equals(Operand::Variable(1)), "got text \"Dune\", expected integer 2"),
        (
            path("$.name"),
            vec![],
            Test::Contains(Operand::Text(variable(1))),
            "got text \"Dune\", expected text \"2\"",
        ),
        (
            path("$.name"),
            vec![],
            Test::Equals(Operand::Variable(2)),
            "got text \"Dune\", expected a variable that has no value",
        ),
    ] {
        let body = if query == Query::Bytes { b"abc" } else { JSON };
        let predicate = Predicate { not: false, test };
        let check = Check { query, filters, predicate, label: String::new() };
        let request = StepRequest { checks: vec![check], ..request() };
        assert_eq!(explained(&request, &reply(body), Failed::Check(0)), expected);
    }
    let check = Check {
        query: path("$.a"),
        filters: vec![],
        predicate: Predicate { not: false, test: Test::Exists },
        label: String::new(),
    };
    let request = StepRequest { checks: vec![check], ..request() };
    assert_eq!(explained(&request, &reply(b"<html>"), Failed::Check(0)), "the body is not JSON");
}

#[test]
fn a_status_is_expected_if_it_meets_all_checks_that_name_some() {
    use Test::*;
    let int = |number| value(Value::Integer(number));
    let of = |not, test| Check {
        query: Query::Status,
        filters: vec![],
        predicate: Predicate { not, test },
        label: String::new(),
    };
    let matches =
        |pattern: &str| Check { filters: vec![Filter::ToText], ..of(false, Matches(text(pattern))) };
    for (checks, expected) in [
        (vec![], false),
        (vec![of(false, Equals(int(401)))], true),
        (vec![of(false, Equals(int(404)))], false),
        (vec![of(false, AtLeast(int(400))), of(false, Below(int(500)))], true),
        (vec![of(false, AtLeast(int(400))), of(false, Below(int(401)))], false),
        (vec![matches("^(200|401)$")], true),
        (vec![matches("^(200|404)$")], false),
        // What is not expected says nothing of what is.
        (vec![of(false, Differs(int(500)))], false),
        (vec![of(true, Equals(int(500)))], false),
        (vec![of(false, Exists)], false),
    ] {
        let request = StepRequest { checks, ..request() };
        let reply = Reply { status: 401, ..reply(JSON) };
        let (judgement, _) = judge(&request, &reply, &mut values());
        assert_eq!(judgement.status_is_expected, expected, "{:?}", request.checks);
    }
}

#[test]
fn xpath_counts_takes_and_tests_what_is_in_a_page() {
    const PAGE: &[u8] = b"<h1>Shop</h1><ul><li>tea<li>milk</ul><input name=csrf value=tok-1>";
    let xpath = |expression: &str| Query::XPath(text(expression));
    let number = |number| Test::Equals(Operand::Value(Value::Integer(number)));
    let is = |expected: &str| Test::Equals(Operand::Value(words(expected)));
    for (expression, filters, not, test) in [
        ("//li", vec![Filter::Count], false, number(2)),
        ("//form", vec![Filter::Count], false, number(0)),
        ("//li", vec![], false, Test::Exists),
        ("//form", vec![], true, Test::Exists),
        ("count(//li)", vec![], false, number(2)),
        ("string(//h1)", vec![], false, is("Shop")),
        ("//li", vec![Filter::Nth(1)], false, is("milk")),
    ] {
        assert!(holds(xpath(expression), filters.clone(), not, test.clone(), PAGE), "{expression}");
        assert!(!holds(xpath(expression), filters, !not, test, PAGE), "not: {expression}");
    }
    assert_eq!(capture(xpath("string(//input[@name='csrf']/@value)"), vec![], PAGE), Some(words("tok-1")));
    assert_eq!(capture(xpath("//form"), vec![], PAGE), None);
    let in_json = Filter::XPath(text("string(//b)"));
    assert_eq!(capture(path("$.page"), vec![in_json], br#"{"page":"<b>x</b>"}"#), Some(words("x")));
    // What cannot be read fails every check.
    let deep = "<div>".repeat(1000);
    for not in [false, true] {
        assert!(!holds(xpath("//form"), vec![], not, Test::Exists, deep.as_bytes()));
    }
}

#[test]
fn a_body_that_is_no_json_fails_every_check_of_a_path() {
    for path in [path("$.a"), path("$..a"), path("$")] {
        for not in [false, true] {
            assert!(!holds(path.clone(), vec![], not, Test::Exists, b"<html>"), "{path:?} {not}");
        }
    }
}

#[test]
fn a_judgement_compares_the_status_then_captures_then_checks() {
    let capture = |slot, name: &str| Capture {
        slot,
        query: path(name),
        filters: vec![],
        label: String::new(),
        redacted: false,
    };
    let check = |slot, expected| Check {
        query: Query::Variable(slot),
        filters: vec![],
        predicate: Predicate { not: false, test: Test::Equals(Operand::Value(Value::Integer(expected))) },
        label: String::new(),
    };
    let mut request = StepRequest {
        status: Some(200),
        captures: vec![capture(4, "$.id"), capture(2, "$.ids[0]")],
        checks: vec![check(4, 7), check(4, 8), check(2, 1), check(2, 0)],
        websocket: None,
        ..request()
    };
    let mut variables = values();
    let (judgement, failed) = judge(&request, &reply(JSON), &mut variables);
    let expected = Judgement { status_is_expected: true, ..Judgement::default() };
    assert_eq!(judgement, Judgement { failed_checks: 2, ..expected });
    assert_eq!(failed, [1, 3]);
    assert_eq!(variables[4], Some(Value::Integer(7)));

    request.captures.insert(1, capture(3, "$.absent"));
    let mut variables = values();
    let (judgement, failed) = judge(&request, &reply(JSON), &mut variables);
    assert_eq!(judgement, Judgement { failed_capture: Some(1), ..expected });
    assert!(failed.is_empty() && variables[4].is_some() && variables[2].is_none());

    request.status = Some(201);
    let mut variables = values();
    let (judgement, failed) = judge(&request, &reply(JSON), &mut variables);
    assert_eq!(judgement, Judgement { status_differs: true, ..Judgement::default() });
    assert!(failed.is_empty() && variables == values());
}

#[test]
fn a_look_needs_what_its_queries_read() {
    let needs = |query| {
        let check = Check {
            query,
            filters: vec![],
            predicate: Predicate { not: false, test: Test::Exists },
            label: String::new(),
        };
        let Needs { head, body } =
            Look::new(&StepRequest { checks: vec![check], ..request() }).unwrap().needs();
        (head, body)
    };
    assert_eq!(needs(Query::Status), (false, false));
    assert_eq!(needs(Query::Variable(0)), (false, false));
    assert_eq!(needs(Query::Header(text("a"))), (true, false));
    assert_eq!(needs(Query::Cookie { name: text("a"), attribute: None }), (true, false));
    for query in
        [Query::Body, Query::Bytes, Query::Sha256, path("$.a"), path("$..a"), Query::Regex(text("(a)"))]
    {
        assert_eq!(needs(query), (false, true));
    }
}

#[test]
fn a_malformed_expression_is_named() {
    assert_eq!(malformed(Query::Regex(text("(")), vec![]).text, "(");
    assert_eq!(malformed(path("$["), vec![]).text, "$[");
    assert_eq!(malformed(Query::Body, vec![Filter::Regex(text("[")), Filter::Count]).text, "[");
    assert_eq!(malformed(Query::Body, vec![Filter::JsonPath(text("x"))]).text, "x");
    let placed = malformed(path("$["), vec![]).in_request("shop.hurl:7").to_string();
    assert!(placed.starts_with("shop.hurl:7: `$[`: "), "{placed}");
}

#[track_caller]
fn malformed(query: Query, filters: Vec<Filter>) -> Malformed {
    let capture = Capture { slot: 0, query, filters, label: String::new(), redacted: false };
    Look::new(&StepRequest { captures: vec![capture], ..request() }).map(drop).unwrap_err()
}

#[test]
fn an_expression_that_takes_a_value_has_a_group() {
    let expected = r"`id=\d+`: expected a group in parentheses around the value to take";
    for pattern in [r"id=\d+", r"id=(?:\d+)", r"id=\(\d+\)"] {
        let pattern = text(pattern);
        let group = malformed(Query::Regex(pattern.clone()), vec![]);
        assert!(group.reason.contains("expected a group"), "{group}");
        assert_eq!(malformed(Query::Body, vec![Filter::Regex(pattern.clone())]), group);
        let filtered = TextPart::Variable { slot: 0, filters: vec![Filter::Regex(pattern)] };
        let source = StepText { parts: vec![filtered] };
        assert_eq!(Text::new(&source).map(drop), Err(group));
    }
    assert_eq!(malformed(Query::Regex(text(r"id=\d+")), vec![]).to_string(), expected);
    // A group may have a name.
    check_query(Query::Regex(text(r#""id":(?<id>\d+)"#)), Some(words("7")));
}

#[test]
fn an_expression_that_is_only_matched_or_replaced_needs_no_group() {
    assert!(holds(Query::Body, vec![], false, Test::Matches(text(r"\d+")), JSON));
    let replaced = Filter::ReplaceRegex { pattern: text(r"\d+"), new: text("n") };
    assert_eq!(capture(Query::Body, vec![replaced], b"a1b22"), Some(words("anbn")));
    // One that is known only in the run finds nothing without a group.
    check_query(Query::Regex(variable(0)), None);
}

#[test]
fn conditions_look_at_variables() {
    let holds = |query, not, test| {
        let check =
            Check { query, filters: vec![], predicate: Predicate { not, test }, label: String::new() };
        let values = values();
        let draws = &mut Draws::new(Client::default(), 0);
        let mut filling = Filling { values: &values, draws, now: &mut || SystemTime::UNIX_EPOCH };
        Condition::new(&check).unwrap().holds(&mut filling, &mut Scratch::default())
    };
    assert!(holds(Query::Variable(1), false, Test::Above(value(Value::Integer(0)))));
    assert!(!holds(Query::Variable(2), false, Test::Exists));
    assert!(holds(Query::Variable(2), true, Test::Exists));
    for query in [Query::Status, Query::Body, path("$"), Query::Header(text("a"))] {
        assert!(!holds(query.clone(), false, Test::Exists) && !holds(query, true, Test::Exists));
    }
}

#[track_caller]
fn check_text(parts: Vec<TextPart>, expected: Result<&str, Unset>) {
    let source = StepText { parts };
    let text = Text::new(&source).unwrap();
    let mut out = b">".to_vec();
    let mut values = values();
    values[4] = Some(words("a b/~*é"));
    values.extend(
        [Value::Float(1.5), Value::Float(2.0), Value::Float(1e21), Value::Integer(i64::MIN)].map(Some),
    );
    values.extend([Value::Null, Value::Boolean(true), Value::Object(vec![]), Value::Bytes(vec![])].map(Some));
    let draws = &mut Draws::new(Client::default(), 0);
    let mut now = || SystemTime::UNIX_EPOCH + Duration::from_micros(1_733_135_744_461_731);
    let written = text.write(&mut Filling { values: &values, draws, now: &mut now }, &mut out);
    assert_eq!(written.map(|()| std::str::from_utf8(&out[1..]).unwrap()), expected);
}

#[test]
fn texts_are_filled_in() {
    let variable = |slot| TextPart::Variable { slot, filters: vec![] };
    let encoded = |coding, slot| vec![TextPart::Encoded { coding, text: tests::variable(slot) }];
    check_text(vec![], Ok(""));
    check_text(vec![TextPart::Literal(b"/x?".to_vec()), variable(0), variable(1)], Ok("/x?Dune2"));
    check_text(vec![variable(5)], Ok("1.5"));
    check_text(vec![variable(6)], Ok("2.0"));
    check_text(vec![variable(7)], Ok("1000000000000000000000.0"));
    check_text(vec![variable(8)], Ok("-9223372036854775808"));
    check_text(vec![variable(9), variable(10)], Ok("nulltrue"));
    for (slot, lack) in
        [(2, Lack::Value), (3, Lack::List), (11, Lack::Object), (12, Lack::Bytes), (99, Lack::Value)]
    {
        check_text(vec![variable(slot)], Err(Unset { slot, lack }));
    }
    let filters = vec![Filter::Replace { old: text("u"), new: text("ü") }];
    check_text(vec![TextPart::Variable { slot: 0, filters }], Ok("Düne"));
    let count = TextPart::Variable { slot: 0, filters: vec![Filter::Count] };
    check_text(vec![count], Err(Unset { slot: 0, lack: Lack::Filter }));
    check_text(vec![TextPart::Date], Ok("2024-12-02T10:35:44.461731Z"));
    check_text(encoded(Coding::Query, 4), Ok("a%20b%2F~%2A%C3%A9"));
    check_text(encoded(Coding::Form, 4), Ok("a+b%2F%7E*%C3%A9"));
    check_text(encoded(Coding::Base64, 4), Ok("YSBiL34qw6k="));
    check_text(encoded(Coding::Query, 0), Ok("Dune"));
    check_text(encoded(Coding::Query, 2), Err(Unset { slot: 2, lack: Lack::Value }));
}

#[test]
fn random_parts_follow_from_the_draws() {
    let source = StepText {
        parts: vec![TextPart::Uuid, TextPart::Pick(vec![b"a".to_vec(), b"b".to_vec()].try_into().unwrap())],
    };
    let text = Text::new(&source).unwrap();
    let write = |call| {
        let mut out = Vec::new();
        let draws = &mut Draws::new(Client::default(), call);
        text.write(&mut Filling { values: &[], draws, now: &mut || SystemTime::UNIX_EPOCH }, &mut out)
            .unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(write(0), write(0));
    assert_ne!(write(0), write(1));
    let (uuid, pick): (Vec<_>, Vec<_>) = (0..100)
        .map(|call| {
            let text = write(call);
            (text[..36].to_owned(), text[36..].to_owned())
        })
        .unzip();
    let is_uuid =
        |text: &String| text.as_bytes()[14] == b'4' && text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    assert!(uuid.iter().all(is_uuid), "{uuid:?}");
    assert!((25..75).contains(&pick.iter().filter(|pick| *pick == "a").count()), "{pick:?}");
}

#[test]
fn texts_that_are_nested_too_deeply_are_refused() {
    let mut source = text("a");
    for _ in 0..100 {
        source = StepText { parts: vec![TextPart::Encoded { coding: Coding::Query, text: source }] };
    }
    assert!(Text::new(&source).is_err());
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Boolean),
        any::<i64>().prop_map(Value::Integer),
        any::<f64>().prop_map(Value::Float),
        ".{0,8}".prop_map(|text| words(&text)),
        prop::collection::vec(any::<u8>(), 0..8).prop_map(Value::Bytes),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        let members = prop::collection::vec(
            ("[a-b]", inner.clone()).prop_map(|(name, value)| (name.into(), value)),
            0..4,
        );
        prop_oneof![prop::collection::vec(inner, 0..4).prop_map(Value::List), members.prop_map(Value::Object)]
    })
}

fn any_text() -> impl Strategy<Value = StepText> {
    prop_oneof![".{0,4}".prop_map(|any| text(&any)), (0..6_u32).prop_map(variable)]
}

fn any_filter() -> impl Strategy<Value = Filter> {
    let simple = prop::sample::select(vec![
        Filter::Count,
        Filter::First,
        Filter::Last,
        Filter::ToInt,
        Filter::ToFloat,
        Filter::ToText,
        Filter::UrlEncode,
        Filter::UrlDecode,
        Filter::HtmlEscape,
        Filter::HtmlUnescape,
        Filter::Base64Encode,
        Filter::Base64Decode,
        Filter::Base64UrlSafeEncode,
        Filter::Base64UrlSafeDecode,
        Filter::Location,
        Filter::Nth(i64::MIN),
        Filter::Nth(-1),
        Filter::Regex(text("(.)")),
        Filter::JsonPath(text("$..*")),
        Filter::JsonPath(text("$[0]")),
    ]);
    prop_oneof![
        4 => simple,
        1 => (any_text(), any_text()).prop_map(|(old, new)| Filter::Replace { old, new }),
        1 => any_text().prop_map(|new| Filter::ReplaceRegex { pattern: text("(.|$)"), new }),
        1 => any_text().prop_map(Filter::Split),
        1 => (0..6_u32).prop_map(|slot| Filter::Regex(variable(slot))),
        1 => (0..6_u32).prop_map(|slot| Filter::JsonPath(variable(slot))),
    ]
}

fn any_test() -> impl Strategy<Value = Test> {
    let operand = prop_oneof![
        any_value().prop_map(Operand::Value),
        any_text().prop_map(Operand::Text),
        (0..6_u32).prop_map(Operand::Variable)
    ];
    prop_oneof![
        prop::sample::select(vec![
            Test::Exists,
            Test::IsEmpty,
            Test::IsDate,
            Test::IsUuid,
            Test::IsIpv4,
            Test::IsNumber,
            Test::Matches(text("a|")),
        ]),
        (operand, 0..9_usize).prop_map(|(operand, which)| match which {
            0 => Test::Equals(operand),
            1 => Test::Differs(operand),
            2 => Test::Above(operand),
            3 => Test::AtLeast(operand),
            4 => Test::Below(operand),
            5 => Test::AtMost(operand),
            6 => Test::StartsWith(operand),
            7 => Test::EndsWith(operand),
            _ => Test::Contains(operand),
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_body_contains_what_its_text_contains(
        pieces in prop::collection::vec(
            prop::sample::select(vec![&b"a"[..], b"b", b"\xC3", b"\xA9", b"\xF0\x9F", b"\x98\x80", b"\xEF\xBF\xBD", b"\xFF"]),
            0..8,
        ),
        needle in prop::sample::select(vec!["", "a", "ab", "\u{e9}", "a\u{e9}", "\u{1f600}", "\u{fffd}", "a\u{fffd}b"]),
    ) {
        let body = pieces.concat();
        let expected = String::from_utf8_lossy(&body).contains(needle);
        for not in [false, true] {
            let test = Test::Contains(Operand::Text(text(needle)));
            prop_assert_eq!(holds(Query::Body, vec![], not, test, &body), expected != not);
        }
    }

    #[test]
    fn nothing_panics_and_no_check_holds_with_and_without_not(
        body in prop_oneof![prop::collection::vec(any::<u8>(), 0..40), any_value().prop_map(|value| {
            json::json_of(&value).map(|json| json.to_string().into_bytes()).unwrap_or_default()
        })],
        head: Vec<u8>,
        values in prop::collection::vec(prop::option::of(any_value()), 6),
        query in prop::sample::select(vec![
            Query::Body, Query::Bytes, Query::Variable(0), Query::JsonPath(text("$")), Query::JsonPath(text("$.a[0]")),
            Query::JsonPath(text("$..*")), Query::Header(text("a")), Query::Regex(text("(.+)")), Query::Redirects,
            Query::Cookie { name: text("a"), attribute: Some(Attribute::MaxAge) }, Query::Regex(variable(1)),
        ]),
        filters in prop::collection::vec(any_filter(), 0..4),
        test in any_test(),
    ) {
        let check = |not| Check {
            query: query.clone(),
            filters: filters.clone(),
            predicate: Predicate { not, test: test.clone() },
            label: String::new(),
        };
        let capture = Capture { slot: 5, query: query.clone(), filters: filters.clone(), label: String::new(), redacted: false };
        let checks = StepRequest { checks: vec![check(false), check(true)], ..request() };
        let reply = Reply { head: &head, ..reply(&body) };
        let (judgement, _) = judge(&checks, &reply, &mut values.clone());
        prop_assert!(judgement.failed_checks >= 1);
        judge(&StepRequest { captures: vec![capture], ..request() }, &reply, &mut values.clone());
    }
}
