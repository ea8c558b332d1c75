//! One reader for all forms.

use std::io::BufReader;

use proptest::prelude::*;

use super::*;
use crate::clients::IDLE;

const COMBINED: &str = r#"10.0.0.1 - - [22/Nov/2026:22:42:30 +0000] "GET /x HTTP/1.1" 200 2 "-" "curl/7.88.1"
10.0.0.2 - frank [22/Nov/2026:22:42:30 +0000] "POST /y HTTP/1.1" 201 - "-" "curl/7.88.1"
garbage
10.0.0.1 - - [22/Nov/2026:22:42:31 +0000] "GET /z HTTP/1.1" 200 2500 "-" "curl/7.88.1"
"#;

const CADDY: &str = r#"{"ts":1646861401.5241024,"request":{"remote_ip":"127.0.0.1","method":"GET","uri":"/a?b","headers":{"User-Agent":["curl/7.82.0"]}},"duration":0.500929675,"status":200}
{"ts":1646861401.6,"request":{"remote_ip":"127.0.0.2","method":"PUT","uri":"/b","headers":{}},"duration":3.25,"status":204}
"#;

const GOREPLAY: &str = "1 a0 1000000000 0\nGET /x HTTP/1.1\r\nUser-Agent: x\r\nX-Real-IP: 10.0.0.1\r\n\r\n\n🐵🙈🙉\n\
                        2 a0 1000000900 700\nHTTP/1.1 201 Created\r\n\r\n\n🐵🙈🙉\n\
                        1 b0 1500000000 0\nPOST /y HTTP/1.1\r\nContent-Length: 2\r\n\r\nhi\n🐵🙈🙉\n";

const TRACE: &str = r#"{"httperf-trace":1,"from":"combined","resolution_ns":1000000000,"stamps":"end without a duration","began":"2026-01-02T03:04:05Z"}
{"at":2.5,"client":4,"method":"GET","uri":"/"}
{"at":4.0,"client":9,"method":"POST","uri":"/a","headers":[["A","b"]],"body":"c","status":200,"took":0.5}
"#;

fn options(form: Option<Form>) -> Options {
    Options { form, by: By::default(), idle: IDLE, asking: Asking::default() }
}

fn all<R: BufRead>(mut requests: Requests<R>) -> Result<(Vec<Request>, Head, Report), Error> {
    let mut read = Vec::new();
    while let Some(request) = requests.read()? {
        read.push(request);
    }
    Ok((read, requests.head().clone(), requests.report()))
}

/// Reads a recording whose form is told; the name of the form comes first, the requests in a few words each.
fn told_and_read(text: &str) -> (&'static str, Vec<String>, Head, Report) {
    // A buffer of few bytes: no line is in it as a whole.
    let requests = Requests::open(BufReader::with_capacity(7, text.as_bytes()), &options(None)).unwrap();
    let form = requests.form();
    assert_eq!(requests.head().began, 0);
    let (requests, head, report) = all(requests).unwrap();
    let words = |request: &Request| {
        let Request { at, client, method, uri, .. } = request;
        format!("{at:?} {client} {method} {uri}")
    };
    (form, requests.iter().map(words).collect(), head, report)
}

#[test]
fn a_log_is_read_in_order_of_start() {
    let (form, requests, head, report) = told_and_read(COMBINED);
    assert_eq!((form, &head.from[..], head.began), ("log", "combined", 1_795_387_350_250_000_000));
    assert_eq!(requests, ["0ns 0 GET /x", "500ms 1 POST /y", "1.25s 0 GET /z"]);
    assert_eq!((report.carried, report.left_out_count()), (3, 1));
    let (_, requests, head, _) = told_and_read(CADDY);
    assert_eq!((&head.from[..], head.stamps), ("caddy", Stamps::EndWithDuration));
    assert_eq!(requests, ["0ns 0 PUT /b", "2.673172325s 1 GET /a?b"]);
}

#[test]
fn a_goreplay_file_is_read_in_order_of_start() {
    for before in ["", "\n\r\n", "🐵🙈🙉\n"] {
        let (form, requests, head, report) = told_and_read(&format!("{before}{GOREPLAY}"));
        assert_eq!((form, head.began, report.carried), ("goreplay", 1_000_000_000, 2));
        assert_eq!(requests, ["0ns 0 GET /x", "500ms 1 POST /y"]);
    }
}

#[test]
fn a_trace_is_read_from_its_first_request_on() {
    let (form, requests, head, report) = told_and_read(TRACE);
    assert_eq!((form, &head.from[..], head.began), ("trace", "combined", 1_767_323_047_500_000_000));
    assert_eq!(requests, ["0ns 4 GET /", "1.5s 9 POST /a"]);
    assert_eq!(report.notes, [log::NO_START, log::SPREAD]);
    assert_eq!(report.carried, 2);
    let fine = TRACE.replace("end without a duration", "start").replace("1000000000", "1000");
    assert!(told_and_read(&fine).3.notes.is_empty());
}

#[test]
fn what_is_of_another_form_is_refused() {
    for (form, text, message) in [
        (
            None,
            "hello\n",
            "a: expected a log in one of the forms caddy, traefik-json, w3c, haproxy, alb, ingress-nginx, traefik, vhost_combined, combined, common, got `hello`\nhint: --format takes \
             the server's own log_format or LogFormat",
        ),
        (
            Some(Form::Trace),
            COMBINED,
            "a:1: expected a trace, which begins with `{\"httperf-trace\":1,`\nhint: httperf import makes a trace \
             of a log",
        ),
        (Some(Form::Trace), "", "a: expected a trace, got an empty file"),
        (
            Some(Form::GoReplay),
            TRACE,
            "a: expected a file of GoReplay with requests, got none; 1 messages without the line `KIND ID TIME` \
             before them",
        ),
        (
            Some(Form::Log(Some(Format::parse("common").unwrap()))),
            TRACE,
            "a: expected lines in the format common, got none; line 1: expected ` \"` at column 117",
        ),
    ] {
        let read = Requests::open(text.as_bytes(), &options(form)).and_then(all);
        assert_eq!(read.unwrap_err().about("a"), message);
    }
}

#[test]
fn a_recording_and_its_trace_have_the_same_requests() {
    for text in [COMBINED, CADDY, GOREPLAY] {
        let mut trace = Vec::new();
        to_trace(text.as_bytes(), &options(None), &mut trace).unwrap();
        let (requests, head, _) = all(Requests::open(text.as_bytes(), &options(None)).unwrap()).unwrap();
        let (of_trace, head_of_trace, _) = all(Requests::open(&trace[..], &options(None)).unwrap()).unwrap();
        assert_eq!((requests, head), (of_trace, head_of_trace));
    }
}

#[test]
fn what_no_trace_can_say_is_not_carried_over() {
    let format = r#"$msec "$request" $status $request_time "$http_user_agent""#;
    let log = r#"1.5 "GET /a HTTP/1.1" 009 0.000 "a\x0ab"
2.5 "GET /b HTTP/1.1" 999 0.000 "a\tb"
1795387350.983 "GET /c HTTP/1.1" 200 0.000 "-"
"#;
    let format = Form::Log(Some(Format::parse(format).unwrap()));
    let (requests, _, report) = all(Requests::open(log.as_bytes(), &options(Some(format))).unwrap()).unwrap();
    let parts = |request: Request| (request.uri, request.status, request.headers);
    assert_eq!(
        requests.into_iter().map(parts).collect::<Vec<_>>(),
        [
            ("/a".to_owned(), None, Vec::new()),
            ("/b".to_owned(), Some(999), vec![("User-Agent".to_owned(), "a\tb".to_owned())]),
        ]
    );
    assert_eq!((report.carried, report.left_out_count()), (2, 1));
    assert_eq!(report.left_out[0].reason, "requests that start more than ten years after the first");
}

#[test]
fn requests_can_be_read_on_another_thread() {
    let requests = Requests::open(COMBINED.as_bytes(), &options(None)).unwrap();
    let read = std::thread::scope(|scope| scope.spawn(|| all(requests)).join()).unwrap().unwrap();
    assert_eq!(read.0.len(), 3);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in any::<Vec<u8>>()) {
        check_bytes(&bytes);
        for known in [COMBINED, CADDY, GOREPLAY, TRACE] {
            let mut recording = known.as_bytes().to_vec();
            let at = bytes.len() * 31 % recording.len();
            recording.splice(at..at, bytes.iter().copied());
            check_bytes(&recording);
        }
    }
}
