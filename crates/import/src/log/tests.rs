//! Lines as nginx 1.22, Apache 2.4, Caddy 2, Traefik 3, HAProxy 2, IIS 10, CloudFront and AWS's load balancers write them.

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

const INGRESS_NGINX: &str = r#"10.0.0.1 - - [28/Nov/2025:10:00:01 +0000] "GET /a HTTP/1.1" 200 12 "-" "curl/8" 75 0.250 [default-web-80] [] 10.244.0.5:80 12 0.003 200 4f2a9c
10.0.0.1 - - [28/Nov/2025:10:00:02 +0000] "GET /b HTTP/2.0" 502 150 "https://a/" "Mozilla/5.0" 75 0.003 [default-web-80] [] 10.244.0.5:80, 10.244.0.6:80 0, 12 0.001, 0.002 502, 200 4f2a9d
10.0.0.1 - - [28/Nov/2025:10:00:02 +0000] "\x16\x03\x01" 400 150 "-" "-" 0 0.100 [] [] - - - - 4f2a9e
"#;

const TRAEFIK: &str = r#"192.168.1.1 - - [12/Dec/2023:10:00:00 +0000] "GET /a?b=1 HTTP/1.1" 200 12 "-" "curl/8" 1 "whoami@docker" "http://172.18.0.3:80" 250ms
192.168.1.1 - bob [12/Dec/2023:10:00:00 +0000] "POST /b HTTP/1.1" 404 19 "-" "-" 2 "-" "-" 0ms
"#;

const TRAEFIK_JSON: &str = r#"{"level":"info","msg":"Configuration loaded from flags.","time":"2023-12-12T10:00:00Z"}
{"ClientAddr":"192.168.1.1:39482","ClientHost":"192.168.1.1","ClientPort":"39482","ClientUsername":"-","DownstreamContentSize":12,"DownstreamStatus":200,"Duration":250000000,"RequestAddr":"shop.example","RequestMethod":"GET","RequestPath":"/a?b=1","RequestProtocol":"HTTP/1.1","RouterName":"whoami@docker","StartLocal":"2023-12-12T11:00:00.123456789+01:00","StartUTC":"2023-12-12T10:00:00.123456789Z","request_User-Agent":"curl/8","time":"2023-12-12T10:00:00Z"}
"#;

const VHOST_COMBINED: &str = r#"shop.example:443 10.0.0.1 - - [22/Nov/2026:22:42:30 +0000] "GET /x HTTP/1.1" 200 2 "-" "curl/8"
shop.example:443 ::1 - - [22/Nov/2026:22:42:30 +0000] "OPTIONS * HTTP/1.0" 200 126 "-" "Apache/2.4.62 (internal dummy connection)"
"#;

const IIS_LOG: &str = "#Software: Microsoft Internet Information Services 10.0\r
#Version: 1.0\r
#Date: 2026-01-19 13:12:15\r
#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status time-taken\r
2026-01-19 13:12:15 10.0.0.9 GET /a b=1&c=2 443 - 203.0.113.7 Mozilla/5.0+(Windows+NT+10.0) - 200 0 0 250\r
2026-01-19 13:12:16 10.0.0.9 POST /b - 443 - 203.0.113.7 - - 404 0 2 15\r
#Fields: date time cs-method cs-uri-stem c-ip sc-status\r
2026-01-19 13:12:17 GET /c 203.0.113.7 200\r
";

const CLOUDFRONT_LOG: &str = "#Version: 1.0
#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken x-forwarded-for
2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111.cloudfront.net\t/index.html\t200\t-\tMozilla/5.0%20(X11;%2520Linux)\tq=1\t-\tHit\tSOX4x\td111.cloudfront.net\thttps\t23\t0.250\t-
2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111.cloudfront.net\t/b\t000\t-\t-\t-\t-\tError\tSOX4y\td111.cloudfront.net\thttps\t23\t0.001\t198.51.100.7,%20192.0.2.1
";

const HAPROXY_LOG: &str = r#"Feb  6 12:14:14 localhost haproxy[14389]: 10.0.1.2:33317 [06/Feb/2009:12:14:14.655] http-in static/srv1 10/0/30/69/109 200 2750 - - ---- 1/1/1/1/0 0/0 {1wt.eu|Mozilla/5.0 (X11)} {} "GET /index.html?a=1 HTTP/1.1"
Feb  6 12:14:15 localhost haproxy[14389]: 10.0.1.2:33318 [06/Feb/2009:12:14:15.001] http-in static/<NOSRV> -1/-1/-1/-1/+5 400 +187 - - PR-- 1/1/0/0/0 0/0 "<BADREQ>"
Feb  6 12:14:15 localhost haproxy[14389]: 10.0.1.2:33313 [06/Feb/2009:12:12:51.443] fnt bck/srv1 0/0/5007 212 -- 0/0/0/0/3 0/0
Feb  6 12:14:16 localhost haproxy[14389]: Proxy http-in started.
<134>1 2009-02-06T12:14:16+00:00 lb haproxy 1 - - ::1:33319 [06/Feb/2009:12:14:16.002] https-in~ static/srv1 0/0/0/1/2 200 10 - - ---- 1/1/1/1/0 0/0 "POST https://shop.example/b HTTP/2.0" 0/0000000000000000/0/0/0 shop.example/TLSv1.3/TLS_AES_256_GCM_SHA384
"#;

#[test]
fn logs_of_other_servers_are_told_from_their_lines() {
    for (log, name, stamps, resolution, expected, left_out) in [
        (
            INGRESS_NGINX,
            "ingress-nginx",
            Stamps::EndWithDuration,
            Resolution::Second,
            &[
                "2025-11-28T10:00:01.25Z 250ms GET /a 200 10.0.0.1 curl/8 -",
                "2025-11-28T10:00:02.497Z 3ms GET /b 502 10.0.0.1 Mozilla/5.0 -",
            ][..],
            1,
        ),
        (
            TRAEFIK,
            "traefik",
            Stamps::Start,
            Resolution::Second,
            &[
                "2023-12-12T10:00:00.25Z 250ms GET /a?b=1 200 192.168.1.1 curl/8 -",
                "2023-12-12T10:00:00.75Z 0ns POST /b 404 192.168.1.1 - -",
            ],
            0,
        ),
        (
            TRAEFIK_JSON,
            "traefik-json",
            Stamps::Start,
            Resolution::Nanosecond,
            &["2023-12-12T10:00:00.123456789Z 250ms GET /a?b=1 200 192.168.1.1 curl/8 -"],
            1,
        ),
        (
            VHOST_COMBINED,
            "vhost_combined",
            Stamps::Start,
            Resolution::Second,
            &["2026-11-22T22:42:30.5Z - GET /x 200 10.0.0.1 curl/8 -"],
            1,
        ),
        (
            IIS_LOG,
            "w3c",
            Stamps::EndWithDuration,
            Resolution::Second,
            &[
                "2026-01-19T13:12:15.25Z 250ms GET /a?b=1&c=2 200 203.0.113.7 Mozilla/5.0 (Windows NT 10.0) -",
                "2026-01-19T13:12:16.485Z 15ms POST /b 404 203.0.113.7 - -",
                "2026-01-19T13:12:17.5Z - GET /c 200 203.0.113.7 - -",
            ],
            0,
        ),
        (
            CLOUDFRONT_LOG,
            "w3c",
            Stamps::EndWithDuration,
            Resolution::Second,
            &[
                "2019-12-04T21:02:31Z 250ms GET /index.html?q=1 200 192.0.2.100 Mozilla/5.0 (X11; Linux) -",
                "2019-12-04T21:02:31.749Z 1ms GET /b - 198.51.100.7 - -",
            ],
            0,
        ),
        (
            HAPROXY_LOG,
            "haproxy",
            Stamps::Start,
            Resolution::Millisecond,
            &[
                "2009-02-06T12:14:14.655Z 109ms GET /index.html?a=1 200 10.0.1.2 - -",
                "2009-02-06T12:14:16.002Z 2ms POST /b 200 ::1 - -",
            ],
            3,
        ),
    ] {
        let mut opened = Log::open(log.as_bytes(), None).unwrap();
        let format = opened.format();
        assert_eq!((format.name(), format.stamps(), format.resolution()), (name, stamps, resolution));
        while opened.read().unwrap().is_some() {}
        let (records, report) = records(None, log).unwrap();
        assert_eq!(
            (&records[..], report.left_out_count()),
            (&expected.iter().map(|&line| line.to_owned()).collect::<Vec<_>>()[..], left_out),
            "{name}: {report}"
        );
        if name != "w3c" {
            assert_eq!(self::records(Some(name), log).unwrap().0, records, "{name}");
        }
    }
}

#[test]
fn a_w3c_log_without_its_first_lines_is_read_by_the_name_of_its_server() {
    let lines = |log: &str, count: usize| -> String {
        log.split_inclusive('\n').filter(|line| !line.starts_with('#')).take(count).collect()
    };
    check(
        "iis",
        &lines(IIS_LOG, 1),
        &["2026-01-19T13:12:15.25Z 250ms GET /a?b=1&c=2 200 203.0.113.7 Mozilla/5.0 (Windows NT 10.0) -"],
    );
    check(
        "#Fields: time cs-uri cs-method",
        "#Date: 2026-01-19 13:12:15\n13:12:15 /x PUT\n",
        &["2026-01-19T13:12:15.5Z - PUT /x - - - -"],
    );
    for (format, message) in [
        (
            "w3c",
            "x.log: expected lines in the format w3c, got none; line 1: expected a line `#Fields:` before it",
        ),
        (
            "cloudfront",
            "x.log: expected lines in the format cloudfront, got none; line 1: expected 33 columns, got 15",
        ),
        ("#Fields: date cs-uri", "expected columns with `time`, got none in `#Fields:`"),
        ("#Fields: date time", "expected columns with `cs-uri-stem` or `cs-uri`, got none in `#Fields:`"),
    ] {
        let read = records(Some(format), &lines(IIS_LOG, 1)).map(|(records, _)| records);
        assert_eq!(read, Err(message.to_owned()), "{format}");
    }
}

#[test]
fn a_log_may_begin_with_many_lines_that_are_no_requests() {
    let start = "2026/11/22 22:42:29 [notice] 1#1: using the \"epoll\" event method\n".repeat(500);
    let tls =
        "127.0.0.1 - - [22/Nov/2026:22:42:29 +0000] \"\\x16\\x03\\x01\" 400 150 \"-\" \"-\"\n".repeat(200);
    let (records, report) = records(None, &(start + &tls + COMBINED_LOG)).unwrap();
    assert_eq!((records.len(), report.left_out_count()), (3, 700), "{report}");
    let error = self::records(None, &tls).unwrap_err();
    assert_eq!(error, "x.log: expected a log with requests, got 200 lines without one");
}

#[test]
fn what_servers_log_for_other_than_requests_is_counted() {
    for request in
        ["PRI * HTTP/2.0", "-", "", "\\x16\\x03\\x01", "SSH-2.0-Go", "t3 12.2.1", "GET", "{\\x22id\\x22: 1}"]
    {
        let line = format!("127.0.0.1 - - [22/Nov/2026:22:42:29 +0000] \"{request}\" 400 150 \"-\" \"-\"\n");
        let (records, report) = records(None, &(line + COMBINED_LOG)).unwrap();
        assert_eq!((records.len(), report.left_out.len()), (3, 1), "{request}: {report}");
        assert_eq!(report.left_out[0].reason, "lines without a request", "{request}");
    }
    let other = r#"{"level":"info","ts":1646861401.52,"logger":"admin","msg":"admin endpoint started"}"#;
    let (records, report) = records(None, &format!("{other}\n{CADDY}\n{other}\n")).unwrap();
    assert_eq!(
        (records.len(), &report.left_out[0].reason[..], report.left_out[0].count),
        (1, "lines without a request", 2)
    );
}

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
        let line = log.lines().next().unwrap().as_bytes().to_vec();
        let (format, _) = detected(&[(line, Ended::Whole)].into()).unwrap();
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
            "x.log: expected a log in one of the forms caddy, traefik-json, w3c, haproxy, alb, ingress-nginx, traefik, \
             vhost_combined, combined, common, got `hello`\nhint: --format takes the server's own log_format or LogFormat",
        ),
        (
            None,
            "",
            "x.log: expected a log in one of the forms caddy, traefik-json, w3c, haproxy, alb, ingress-nginx, traefik, \
             vhost_combined, combined, common, got no lines\nhint: --format takes the server's own log_format or LogFormat",
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
            Some("squid"),
            "",
            "expected a format by name (caddy, traefik-json, w3c, iis, cloudfront, haproxy, alb, ingress-nginx, traefik, \
             vhost_combined, combined, nginx, apache, common), nginx's log_format or Apache's LogFormat, got `squid`",
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
    let Ok(stamped) = line::read(&mut Format::parse("$msec $request_uri").unwrap(), b"0 /") else {
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
