//! Filled-in texts and judgements allocate no memory once their buffers have grown.

use std::time::{Duration, SystemTime};

use httperf_load::scenario::{Draws, Filling, Judgement, Look, Reply, Scratch, Text};
use httperf_plan::Client;
use httperf_plan::scenario::{
    Capture, Check, Coding, Filter, Operand, Predicate, Query, StepRequest, StepText, Test, TextPart, Value,
};

const BODY: &[u8] =
    br#"{"token":"0123456789abcdef","items":[{"sku":"A-1","qty":2,"price":1.5},{"sku":"B\u00e9"}],
    "note":"In stock","link":"<a href='/next?page=2'>"}"#;
const HEAD: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nSet-Cookie: sid=abc; Path=/\r\n\r\n";

fn read_values<'h>(head: &'h [u8], name: &[u8], each: &mut dyn FnMut(&'h [u8])) {
    for line in head.split(|&byte| byte == b'\n').skip(1) {
        if let Some(colon) = line.iter().position(|&byte| byte == b':')
            && line[..colon].trim_ascii().eq_ignore_ascii_case(name)
        {
            each(line[colon + 1..].trim_ascii());
        }
    }
}

fn text(text: &str) -> StepText {
    StepText::literal(text.as_bytes())
}

fn variable(slot: u32) -> TextPart {
    TextPart::Variable { slot, filters: vec![] }
}

fn capture(slot: u32, query: Query, filters: Vec<Filter>) -> Capture {
    Capture { slot, query, filters, label: String::new(), redacted: false }
}

fn check(query: Query, test: Test) -> Check {
    Check { query, filters: vec![], predicate: Predicate { not: false, test }, label: String::new() }
}

fn request() -> StepRequest {
    let path = |path| Query::JsonPath(text(path));
    let filled = |slot| Operand::Text(StepText { parts: vec![variable(slot)] });
    StepRequest {
        name: String::new(),
        origin: String::new(),
        method: "GET".into(),
        target: 0,
        uri: text("/"),
        headers: vec![],
        body: None,
        follows: false,
        status: Some(200),
        captures: vec![
            capture(0, path("$.token"), vec![]),
            capture(1, path("$.items[0].qty"), vec![]),
            capture(2, path("$.items[1]['sku']"), vec![]),
            capture(3, Query::Regex(text("page=([0-9]+)'")), vec![Filter::ToInt]),
            capture(4, Query::Regex(text("(?i)HREF='([^']+)'")), vec![]),
            capture(5, Query::Cookie { name: text("sid"), attribute: None }, vec![]),
        ],
        checks: vec![
            check(path("$.items[0].price"), Test::AtLeast(Operand::Value(Value::Integer(1)))),
            check(path("$.token"), Test::Equals(filled(0))),
            check(path("$.token"), Test::Matches(text("^[0-9a-f]+$"))),
            check(Query::Body, Test::Contains("In stock".into())),
            check(Query::Header(text("content-type")), Test::StartsWith("text/html".into())),
            check(Query::Variable(3), Test::Equals(Operand::Variable(1))),
            check(Query::Duration, Test::Below(Operand::Value(Value::Integer(1000)))),
        ],
        websocket: None,
    }
}

#[test]
fn judgements_allocate_nothing() {
    let request = request();
    let look = Look::new(&request).unwrap();
    let reply = Reply {
        status: 200,
        head: HEAD,
        read_values,
        body: Ok(BODY),
        duration: Duration::from_millis(5),
        redirects: &[],
    };
    let mut values = vec![None; 6];
    let mut scratch = Scratch::default();
    let mut draws = Draws::new(Client::default(), 0);
    let mut judge = || {
        let now = &mut || SystemTime::UNIX_EPOCH;
        look.judge(&reply, &mut values, &mut draws, now, &mut scratch, &mut |place| {
            panic!("check {place} failed")
        })
    };
    let expected = Judgement { status_is_expected: true, ..Judgement::default() };
    assert_eq!(judge(), expected);
    let info = allocation_counter::measure(|| {
        for _ in 0..1000 {
            assert_eq!(judge(), expected);
        }
    });
    assert_eq!(info.count_total, 0);
    let text = |text: &str| Some(Value::Text(text.into()));
    let expected = [
        text("0123456789abcdef"),
        Some(Value::Integer(2)),
        text("Bé"),
        Some(Value::Integer(2)),
        text("/next?page=2"),
        text("abc"),
    ];
    assert_eq!(values, expected);
}

#[test]
fn texts_allocate_nothing() {
    let encoded = |coding, slot| TextPart::Encoded { coding, text: StepText { parts: vec![variable(slot)] } };
    let literal = TextPart::Literal(b"/x?y=".to_vec());
    let source = StepText {
        parts: vec![
            literal,
            variable(0),
            variable(1),
            variable(2),
            TextPart::Uuid,
            TextPart::Date,
            encoded(Coding::Query, 0),
            encoded(Coding::Form, 0),
            encoded(Coding::Base64, 0),
        ],
    };
    let text = Text::new(&source).unwrap();
    let values = [Some(Value::Text("a b/c".into())), Some(Value::Integer(-17)), Some(Value::Float(1.5))];
    let mut draws = Draws::new(Client::default(), 0);
    let mut out = Vec::with_capacity(1024);
    let info = allocation_counter::measure(|| {
        for _ in 0..1000 {
            out.clear();
            let now = &mut || SystemTime::UNIX_EPOCH;
            text.write(&mut Filling { values: &values, draws: &mut draws, now }, &mut out).unwrap();
        }
    });
    assert_eq!(info.count_total, 0);
    assert!(out.starts_with(b"/x?y=a b/c-171.5"));
    assert!(out.ends_with(b"1970-01-01T00:00:00.000000Za%20b%2Fca+b%2FcYSBiL2M="));
}
