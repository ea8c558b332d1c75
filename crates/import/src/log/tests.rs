//! Lines as nginx 1.22, Apache 2.4, Caddy 2 and AWS's load balancers write them.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::clients::By;
use crate::clock::{SECOND, to_rfc3339};

/// The records of a log in a few words each: start, duration, method, target, status, client, agent and user.
fn records(format: Option<&str>, log: &str) -> Result<(Vec<String>, Report), String> {
    let format = format.map(|text| Format::parse(text).map_err(|flaw| flaw.to_string())).transpose()?;
    let mut log = Log::open(log.as_bytes(), format).map_err(|error| error.about("x.log"))?;
    let mut records = Vec::new();
    while let Some(record) = log.read().map_err(|error| error.about("x.log"))? {
        let duration = record.duration.map_or_else(|| "-".to_owned(), |duration| format!("{duration:?}"));
        let status = record.status.map_or_else(|| "-".to_owned(), |status| status.to_string());
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        records.push(format!(
            "{} {duration} {} {} {status} {} {} {}",
            to_rfc3339(record.start),
            record.method,
            record.uri,
            or_none(record.client),
            or_none(record.agent),
            or_none(record.user)
        ));
    }
    Ok((records, log.report().clone()))
}

#[track_caller]
fn check(format: &str, log: &str, expected: &[&str]) {
    assert_eq!(records(Some(format), log).unwrap().0, expected, "{format}");
}

const NGINX_TIMED: &str = r#"
127.0.0.1 [2026-11-22T22:42:30+00:00] 1795387350.983 "GET /x?y=1%20z HTTP/1.1" 200 0.000 - "a\x22b\x5Cc \xC3\xA9" xyz
127.0.0.1 [2026-11-22T22:42:32+00:00] 1795387352.996 "GET /slow/f HTTP/1.1" 200 2.002 0.001, 0.002 : 1.9 "curl/7.88.1" -
127.0.0.1 [2026-11-22T22:42:54+00:00] 1795387374.126 "\x16\x03\x01garbage" 400 0.000 - "-" -
127.0.0.1 [2026-11-22T22:42:54+00:00] 1795387374.126 "GET /a b/\xD0\x9F HTTP/1.1" 400 0.000 - "-" -
127.0.0.1 [2026-11-22T22:42:54+00:00] 1795387374.126 "GET /old" 200 0.000 - "-" -
"#;

#[test]
fn nginx_stamps_the_end_which_the_duration_corrects() {
    let format = r#"log_format timed '$remote_addr [$time_iso8601] $msec "$request" $status $request_time '
        '$upstream_response_time "$http_user_agent" $cookie_sid';"#;
    check(
        format,
        NGINX_TIMED,
        &[
            "2026-11-22T22:42:30.983Z 0ns GET /x?y=1%20z 200 127.0.0.1 a\"b\\c é xyz",
            "2026-11-22T22:42:30.994Z 2.002s GET /slow/f 200 127.0.0.1 curl/7.88.1 -",
            "2026-11-22T22:42:54.126Z 0ns GET /a%20b/%D0%9F 400 127.0.0.1 - -",
            "2026-11-22T22:42:54.126Z 0ns GET /old 200 127.0.0.1 - -",
        ],
    );
    let parsed = Format::parse(format).unwrap();
    assert_eq!((parsed.stamps(), parsed.resolution()), (Stamps::EndWithDuration, Resolution::Millisecond));
    let report = records(Some(format), NGINX_TIMED).unwrap().1;
    assert_eq!((report.carried, report.left_out_count()), (4, 1));
    assert_eq!(report.left_out[0].reason, "lines without a request");
}

#[test]
fn nginx_escapes_as_in_json_if_told_so() {
    let format = r#"log_format js escape=json '{"t":"$time_iso8601","m":$msec,"r":"$request","s":$status,"a":"$http_user_agent"}';"#;
    let log = r#"{"t":"2026-11-22T22:42:30+00:00","m":1795387350.983,"r":"GET /\"q\" HTTP/1.1","s":200,"a":"a\"b\\c é"}"#;
    check(format, log, &["2026-11-22T22:42:30.983Z - GET /\"q\" 200 - a\"b\\c é -"]);
    let unwrapped = r#"{"t":"$time_iso8601","m":$msec,"r":"$request","s":$status,"a":"$http_user_agent"}"#;
    check(unwrapped, log, &["2026-11-22T22:42:30.983Z - GET /\"q\" 200 - a\"b\\c é -"]);
    assert_eq!(Format::parse(format).unwrap().stamps(), Stamps::EndWithoutDuration);
}

#[test]
fn a_request_may_be_logged_in_parts() {
    let log = "1795387350.983 GET /x ? a=1 HTTP/2.0 shop.example 0.5\n1795387350.983 GET /y  - HTTP/2.0 shop.example 0.5\n";
    check(
        "$msec $request_method $uri $is_args $args $server_protocol $host $request_time",
        log,
        &[
            "2026-11-22T22:42:30.483Z 500ms GET /x?a=1 - - - -",
            "2026-11-22T22:42:30.483Z 500ms GET /y - - - -",
        ],
    );
    check(
        "$msec $request_method $scheme://$host$request_uri $uri$is_args$args ${status}x",
        "1.5 PUT https://a.example/b?c /b?c 200x",
        &["1970-01-01T00:00:01.5Z - PUT /b?c 200 - - -"],
    );
}

#[test]
fn apache_stamps_the_start() {
    let log = r#"127.0.0.1 2026-11-22 22:42:55.341736 +0000 "GET /x?y=1%20z HTTP/1.1" GET /x?y=1%20z HTTP/1.1 404 236 789 0 0 "a\"b\\c \xc3\xa9" xyz
127.0.0.1 2026-11-22 22:42:55.346665 +0000 "GET /slow/f HTTP/1.1" GET /slow/f HTTP/1.1 200 2500 2603295 2 2603 "curl/7.88.1" -"#;
    let format = r#"LogFormat "%h %{%Y-%m-%d %H:%M:%S}t.%{usec_frac}t %{%z}t \"%r\" %m %U%q %H %>s %B %D %T %{ms}T \"%{User-Agent}i\" %{sid}C" timed"#;
    check(
        format,
        log,
        &[
            "2026-11-22T22:42:55.341736Z 789µs GET /x?y=1%20z 404 127.0.0.1 a\"b\\c é xyz",
            "2026-11-22T22:42:55.346665Z 2.603295s GET /slow/f 200 127.0.0.1 curl/7.88.1 -",
        ],
    );
    let parsed = Format::parse(format).unwrap();
    assert_eq!((parsed.stamps(), parsed.resolution()), (Stamps::Start, Resolution::Microsecond));
    check(
        r#"%{end:usec}t %h "%r" %>s %D"#,
        r#"1795387377949960 127.0.0.1 "GET /slow/f HTTP/1.1" 200 2603295"#,
        &["2026-11-22T22:42:55.346665Z 2.603295s GET /slow/f 200 127.0.0.1 - -"],
    );
    check(
        r#"%{begin:usec}t %{end:usec}t %{sec}t %{msec_frac}t "%r""#,
        r#"1795387375346665 1795387377949960 1795387375 346 "GET /slow/f HTTP/1.1""#,
        &["2026-11-22T22:42:55.346665Z - GET /slow/f - - - -"],
    );
    check(
        r#"%{sec}t.%{msec_frac}t %!200,304{Referer}i %%"%r""#,
        r#"1795387375.346 - %"GET /slow/f HTTP/1.1""#,
        &["2026-11-22T22:42:55.346Z - GET /slow/f - - - -"],
    );
}

const CADDY: &str = r#"{"level":"info","ts":1646861401.5241024,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"41342","client_ip":"10.0.0.9","proto":"HTTP/2.0","method":"GET","host":"localhost","uri":"/a?b","headers":{"User-Agent":["curl/7.82.0"],"Accept":["*/*"]},"tls":{"resumed":false,"version":772}},"bytes_read":0,"user_id":"","duration":0.500929675,"size":10900,"status":200,"resp_headers":{"Server":["Caddy"]}}"#;

const ALB: &str = r#"https 2018-07-02T22:23:00.186641Z app/my-loadbalancer/50dc6c495c0c9188 192.168.131.39:2817 10.0.0.1:80 0.086 0.048 0.037 200 200 0 57 "GET https://www.example.com:443/p?q=1 HTTP/1.1" "curl/7.46.0" ECDHE-RSA-AES128-GCM-SHA256 TLSv1.2 arn:aws:elasticloadbalancing:us-east-2:123456789012:targetgroup/my-targets/73e2d6bc24d8a067 "Root=1-58337281-1d84f3d73c47ec4e58577259" "www.example.com" "arn:aws:acm:us-east-2:123456789012:certificate/12345678-1234-1234-1234-123456789012" 1 2018-07-02T22:22:48.364000Z "authenticate,forward" "-" "-" "10.0.0.1:80" "200" "-" "-" TID_123"#;

const COMBINED_LOG: &str = r#"127.0.0.1 - - [22/Nov/2026:22:42:30 +0000] "GET /x HTTP/1.1" 200 2 "-" "a\x22b"
127.0.0.1 - frank [22/Nov/2026:22:42:30 +0000] "POST /y HTTP/1.1" 201 - "-" "curl/7.88.1"
127.0.0.1 - - [22/Nov/2026:22:42:31 +0000] "GET /z HTTP/1.1" 200 2500 "-" "curl/7.88.1"
"#;

#[test]
fn well_known_formats_are_told_from_their_lines() {
    let common = COMBINED_LOG.lines().map(|line| line.split(" \"-\"").next().unwrap().to_owned());
    let common = common.collect::<Vec<_>>().join("\r\n");
    let timed: String = COMBINED_LOG.lines().map(|line| format!("{line} 0.250\n")).collect();
    let forwarded: String =
        COMBINED_LOG.lines().map(|line| format!("{line} \"10.1.1.1, 10.2.2.2\"\n")).collect();
    for (log, name, stamps, resolution, first) in [
        (
            CADDY,
            "caddy",
            Stamps::EndWithDuration,
            Resolution::Microsecond,
            "2022-03-09T21:30:01.023172325Z 500.929675ms GET /a?b 200 10.0.0.9 curl/7.82.0 -",
        ),
        (
            ALB,
            "alb",
            Stamps::Start,
            Resolution::Microsecond,
            "2018-07-02T22:22:48.364Z 171ms GET /p?q=1 200 192.168.131.39 curl/7.46.0 -",
        ),
        (
            COMBINED_LOG,
            "combined",
            Stamps::EndWithoutDuration,
            Resolution::Second,
            "2026-11-22T22:42:30.25Z - GET /x 200 127.0.0.1 a\"b -",
        ),
        (
            &common,
            "common",
            Stamps::EndWithoutDuration,
            Resolution::Second,
            "2026-11-22T22:42:30.25Z - GET /x 200 127.0.0.1 - -",
        ),
        (
            &timed,
            "nginx combined with $request_time",
            Stamps::EndWithDuration,
            Resolution::Second,
            "2026-11-22T22:42:30Z 250ms GET /x 200 127.0.0.1 a\"b -",
        ),
        (
            &forwarded,
            "nginx combined with $http_x_forwarded_for",
            Stamps::EndWithoutDuration,
            Resolution::Second,
            "2026-11-22T22:42:30.25Z - GET /x 200 10.1.1.1 a\"b -",
        ),
    ] {
        let format =
            detected(&[(log.lines().next().unwrap().as_bytes().to_vec(), Ended::Whole)].into()).unwrap();
        assert_eq!((format.name(), format.stamps(), format.resolution()), (name, stamps, resolution));
        let (records, report) = records(None, log).unwrap();
        assert_eq!(records.first().map(String::as_str), Some(first), "{name}");
        assert!(report.notes.contains(&format!("the log's format is {name}")), "{report}");
    }
    assert_eq!(Format::parse("apache").unwrap().stamps(), Stamps::Start);
    assert_eq!(Format::parse("nginx").unwrap().stamps(), Stamps::EndWithoutDuration);
}

#[test]
fn caddy_may_write_times_as_text() {
    let log = CADDY
        .replace("1646861401.5241024", "\"2022/03/09 21:30:01.5\"")
        .replace("0.500929675", "\"500ms\"")
        .replace("\"user_id\":\"\"", "\"user_id\":\"u1\"");
    check("caddy", &log, &["2022-03-09T21:30:01Z 500ms GET /a?b 200 10.0.0.9 curl/7.82.0 u1"]);
    let log = CADDY.replace("1646861401.5241024", "1646861401524.1");
    assert!(records(None, &log).unwrap().0[0].starts_with("2022-03-09T21:30:01.02317"));
}

#[test]
fn requests_of_a_second_are_spread_over_it() {
    let line = |second: i64, path: &str| {
        format!("127.0.0.1 - - [22/Nov/2026:22:42:{second:02} +0000] \"GET /{path} HTTP/1.1\" 200 2\n")
    };
    let log =
        [line(30, "a"), line(30, "b"), line(31, "c"), line(30, "d"), line(30, "e"), line(32, "f")].concat();
    check(
        "common",
        &log,
        &[
            "2026-11-22T22:42:30.125Z - GET /a 200 127.0.0.1 - -",
            "2026-11-22T22:42:30.375Z - GET /b 200 127.0.0.1 - -",
            "2026-11-22T22:42:30.625Z - GET /d 200 127.0.0.1 - -",
            "2026-11-22T22:42:30.875Z - GET /e 200 127.0.0.1 - -",
            "2026-11-22T22:42:31.5Z - GET /c 200 127.0.0.1 - -",
            "2026-11-22T22:42:32.5Z - GET /f 200 127.0.0.1 - -",
        ],
    );
}

#[test]
fn lines_that_do_not_fit_are_counted_with_examples() {
    let log = format!(
        "{COMBINED_LOG}garbage\n\n{}\n{}\n1.2.3.4 -\n",
        "x".repeat(LINE_MAX + 5),
        "127.0.0.1 - - [99/Nov/2026:22:42:30 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\""
    );
    let (records, report) = records(Some("combined"), &log).unwrap();
    assert_eq!(records.len(), 3);
    assert_eq!((report.carried, report.left_out.len(), report.left_out[0].count), (3, 1, 4));
    assert_eq!(
        report.left_out[0].examples,
        [
            "line 4: expected a field that ends before ` ` at column 1",
            "line 6: expected at most 262144 bytes",
            "line 7: expected a time, got `[99/Nov/2026:22:42:30 +0000]`",
        ]
    );
}

#[test]
fn bad_logs_and_formats_are_refused() {
    for (format, log, message) in [
        (
            None,
            "hello\n",
            "x.log: expected a log in the form of combined, common, caddy or alb, got `hello`\nhint: --format takes \
             the server's own log_format or LogFormat",
        ),
        (
            None,
            "",
            "x.log: expected a log in the form of combined, common, caddy or alb, got no lines\nhint: --format \
             takes the server's own log_format or LogFormat",
        ),
        (Some("combined"), "\n\n", "x.log: expected a log, got no lines"),
        (
            Some("common"),
            "a b c\n",
            "x.log: expected lines in the format common, got none; line 1: expected a field that ends before ` ` at \
             column 5",
        ),
        (
            Some("caddy"),
            "{}\n",
            "x.log: expected lines in the format caddy, got none; line 1: expected a line of Caddy's access log: \
             missing field `ts` at line 1 column 2",
        ),
        (
            Some("iis"),
            "",
            "expected a format by name (caddy, alb, combined, nginx, apache, common), nginx's log_format or \
             Apache's LogFormat, got `iis`",
        ),
        (Some("log_format x"), "", "expected a name and a format behind `log_format`, got `x`"),
        (Some("log_format x escape=url '$msec';"), "", "expected escape=default, json or none, got `url`"),
        (
            Some("$request $status"),
            "",
            "expected a format with the time of a request, got `nginx log_format $request $status`",
        ),
        (
            Some("$msec $status"),
            "",
            "expected a format with the request or its URI, got `nginx log_format $msec $status`",
        ),
        (Some("$msec$request"), "", "expected text between two fields, got none before `$request`"),
        (Some("${msec $request"), "", "expected `}` behind a variable, got `${msec $request`"),
        (Some("%t %?x"), "", "expected a directive of Apache's mod_log_config, got `%?x`"),
        (Some("%t %"), "", "expected a directive of Apache's mod_log_config, got `%`"),
        (Some("%t %{h}T %r"), "", "%T: expected s, ms or us, got `h`"),
        (
            Some("%{%Q}t %r"),
            "",
            "%{…}t: expected the conversions %Y %y %m %b %d %e %H %M %S %z %s %a %T %R %F, got `%Q`",
        ),
    ] {
        assert_eq!(records(format, log).map(|(records, _)| records), Err(message.to_owned()));
    }
}

#[test]
fn a_log_becomes_a_trace_in_order_of_start() {
    let log = r#"a 100.000 "GET /late HTTP/1.1" 200 30.000
b 100.500 "GET /quick HTTP/1.1" 404 0.010
a 101.000 "POST /again HTTP/1.1" 500 0.000
"#;
    let format = r#"$remote_addr $msec "$request" $status $request_time"#;
    let options = Options {
        format: Some(Format::parse(format).unwrap()),
        by: By::default(),
        idle: Duration::from_secs(60),
    };
    let mut out = Vec::new();
    let report = to_trace(log.as_bytes(), &options, &mut out).unwrap();
    let expected = [
        r#"{"httperf-trace":1,"from":"nginx log_format $remote_addr $msec \"$request\" $status $request_time","resolution_ns":1000000,"stamps":"end corrected by duration","began":"1970-01-01T00:01:10Z"}"#,
        r#"{"at":0.0,"client":0,"method":"GET","uri":"/late","status":200,"took":30.0}"#,
        r#"{"at":30.49,"client":1,"method":"GET","uri":"/quick","status":404,"took":0.01}"#,
        r#"{"at":31.0,"client":0,"method":"POST","uri":"/again","status":500,"took":0.0}"#,
    ];
    assert_eq!(String::from_utf8(out).unwrap().lines().collect::<Vec<_>>(), expected);
    assert_eq!(report.carried, 3);
    assert!(report.to_string().contains("note: 1 POST, PUT and PATCH requests have no body"), "{report}");
}

#[test]
fn whole_seconds_spread_within_bounded_memory() {
    let mut spread = Spread::new(Resolution::Second, false);
    let Ok(stamped) = line::read(&Format::parse("$msec $request_uri").unwrap(), b"0 /") else {
        panic!("it fits")
    };
    for second in 0..200 {
        spread.push(line::Stamped { stamp: second * SECOND, ..stamped.clone() });
    }
    assert_eq!(std::iter::from_fn(|| spread.pop()).count(), 139);
}

/// Pieces that formats and logs are made of.
const PIECES: &[&str] = &[
    "$msec",
    "$time_local",
    "$request",
    "$uri",
    "$args",
    "%t",
    "%r",
    "%{%d/%b}t",
    "%D",
    "\"",
    " ",
    "\\",
    "\\x2",
    "[",
    "]",
    "-",
    "1.5",
    "GET / HTTP/1.1",
    "22/Nov/2026:22:42:30 +0000",
    "\n",
    "{",
    "}",
    "é",
    "log_format x '",
    "LogFormat \"",
];

proptest! {
    #[test]
    fn no_bytes_panic(bytes in any::<Vec<u8>>(), pieces in proptest::collection::vec(proptest::sample::select(PIECES), 0..40)) {
        check_bytes(&bytes);
        check_bytes(pieces.concat().as_bytes());
        for known in [CADDY, ALB, COMBINED_LOG] {
            let mut log = known.as_bytes().to_vec();
            let at = bytes.len() % log.len();
            log.splice(at..at, bytes.iter().copied());
            check_bytes(&[&b"\n"[..], &log].concat());
        }
    }
}
