//! Rows 25 to 38: sessions.

use std::time::{Duration, Instant};

use httperf_testkit::server::{Behaviour, Order, Reply};

use crate::connections::bursts;
use crate::row::Same::{Bytes, Counts, CountsButSizes, Echo, Exit, Layout, Stderr, Stdout};
use crate::row::{
    Case, Fact, Row, Same, between, bytes, calls_per_connection, echo_has, expect, request_lines, stderr,
    that, values,
};

const ALL: &[Same] = &[Echo, Bytes, Counts, Layout, Stderr, Exit];

/// Two sessions with bursts, bodies and a think time of their own.
const TWO_SESSIONS: &str = "\
# the first session
/foo.html think=0.2
\t/pict1.gif
\t/pict2.gif
/foo2.html method=POST contents='Post data'
\t/pict3.gif
\t/pict4.gif

# the second
/foo3.html method=POST contents=\"Multiline\\ndata\"
/foo4.html method=HEAD
";

/// Every rule of quoting, a line each.
const QUOTING: &str = "\
/1 method=POST contents=plain
/2 method=POST contents='a'b\"c d\"e
/3 method=POST contents=\"it's\" think=0
/4 method=POST contents='say \"x\"'
/5 method=POST contents='\\n\\r\\t\\\\\\'\\x\\0'
/6 method=POST contents=a\\ b\\\"c
/7 method=POST contents='first\\
second' think=0
/8 contents=''
/9 method=PUT contents=one contents=two
/10 contents='get with a body'
";

pub(crate) fn rows() -> Vec<Row> {
    let ok = Behaviour::ok;
    vec![
        Row::timed("25", "calls with a think time between them", [Case::new(ok(), "--wsess=2,3,0.1")
            .same(ALL)
            .both(calls_per_connection(&[3, 3]))
            .both(gaps_of_at_least(0.1))
            .both(echo_has("--wsess=2,3,0.100"))
            .both(values("connections=2 requests=6 replies=6 sess_ok=2 sess_all=2 sess_conns=1.00 histogram=0_0_0_2"))
            .both(between("lifetime", 0.2, 0.2))]),
        Row::timed("26", "the first call of a burst goes alone", [
            Case::new(ok(), "--wsess=1,6,0.05 --burst-length=3")
                .same(ALL)
                .both(echo_has("--wsess=1,6,0.050 --burst-length=3"))
                .both(calls_per_connection(&[6]))
                .both(values("sess_ok=1 histogram=0_0_0_0_0_0_1")),
            Case::new(Behaviour::delayed(Duration::from_millis(40)), "--wsess=1,6,0.05 --burst-length=3")
                .same(ALL)
                .both(bursts(&[&[1, 2, 1, 2]])),
        ]),
        Row::timed("27", "HTTP/1.0 uses a connection for each call", [
            Case::new(ok(), "--wsess=1,6,0.05 --burst-length=3 --http-version=1.0")
                .same(ALL)
                .both(calls_per_connection(&[1; 6]))
                .both(values("connections=6 replies=6 sess_ok=1 sess_conns=6.00 length=1.000")),
            // Replies held back show that the calls of a burst run beside one another.
            Case::new(
                Behaviour::delayed(Duration::from_millis(60)),
                "--wsess=1,6,0.05 --burst-length=3 --http-version=1.0",
            )
            .same(ALL)
            .both(open_at_once(2, 2)),
        ]),
        Row::timed("28", "a burst fills the queues of its connections in turn", [Case::new(
            Behaviour::delayed(Duration::from_millis(40)),
            "--wsess=1,7,0 --burst-length=7 --max-connections=3 --max-piped-calls=2",
        )
        .same(ALL)
        .both(calls_per_connection(&[3, 2, 2]))
        .both(values("connections=3 requests=7 replies=7 sess_conns=3.00"))]),
        Row::new("29", "more calls than the queues hold", [Case::failing(
            "--wsess=1,8,0 --burst-length=8 --max-connections=2 --max-piped-calls=2",
            1,
        )
        .against(Behaviour::delayed(Duration::from_millis(20)))
        .same(&[Stdout, Stderr, Exit])
        .both(stderr(
            "httperf.session_issue_call: too many calls pending!\n\tIncrease --max-connections and/or --max-piped-calls.\n",
        ))]),
        Row::timed("30", "sessions at a rate", [Case::new(ok(), "--wsess=4,3,0.1 --rate 5")
            .same(ALL)
            .both(values("sess_ok=4 sess_all=4 lifetime=0.2 failtime=0.0 histogram=0_0_0_4"))
            .both(between("duration", 0.75, 0.95))]),
        Row::timed("31", "sessions that time out", [Case::new(Behaviour::stall(), "--wsess=4,3,0.1 --rate 20 --timeout 0.3")
            .same(ALL)
            .both(values("requests=4 replies=0 errors=4 client-timo=4 sess_ok=0 sess_all=4 sess_conns=0.00"))
            .both(values("lifetime=0.0 failtime=0.3 histogram=4"))]),
        Row::timed("32", "a session file", [Case::new(ok(), "--wsesslog=3,0.02,sessions")
            .file("sessions", TWO_SESSIONS)
            .same(ALL)
            .both(echo_has("--wsesslog=3,0.020,sessions"))
            .both(request_lines(&[
                "GET /foo.html", "GET /pict1.gif", "GET /pict2.gif", "POST /foo2.html", "GET /pict3.gif",
                "GET /pict4.gif", "POST /foo3.html", "HEAD /foo4.html", "GET /foo.html", "GET /pict1.gif",
                "GET /pict2.gif", "POST /foo2.html", "GET /pict3.gif", "GET /pict4.gif",
            ]))
            .both(bodies(&["", "", "", "Post data", "", "", "Multiline\ndata", "", "", "", "", "Post data", "", ""]))
            .both(think_before("POST /foo2.html", 0.2))
            .both(think_before("HEAD /foo4.html", 0.02))
            .both(values("connections=3 replies=14 sess_ok=3 histogram=0_0_1_0_0_0_2"))]),
        Row::new("33", "quoting in a session file", [Case::new(ok(), "--wsesslog=1,0,sessions")
            .file("sessions", QUOTING)
            .same(ALL)
            .both(bodies(&[
                "plain", "abc de", "it's", "say \"x\"", "\n\r\t\\'x0", "a b\"c", "first\nsecond", "", "two",
                "get with a body",
            ]))
            .both(request_lines(&[
                "POST /1", "POST /2", "POST /3", "POST /4", "POST /5", "POST /6", "POST /7", "GET /8", "PUT /9", "GET /10",
            ]))]),
        Row::timed("34", "HTTP/1.0 never uses more than four connections at once", [Case::new(
            Behaviour::delayed(Duration::from_millis(50)),
            "--wsesslog=1,0,sessions --http-version=1.0",
        )
        .file("sessions", "/0\n /1\n /2\n /3\n /4\n /5\n /6\n /7\n /8\n")
        .same(&[Echo, Counts, Layout, Stderr, Exit])
        .both(open_at_once(4, 4))
        .both(values("connections=9 replies=9 sess_ok=1"))]),
        Row::new("35", "session files that cannot be read", [
            faulty("/ method=FETCH\n", "httperf: did not recognize method 'FETCH' in sessions\n"),
            faulty("/ colour=red\n", "httperf: did not recognize arg 'colour=red' in sessions\n"),
            faulty("/ contents=\n", "httperf: did not recognize arg 'contents=' in sessions\n"),
            faulty("/ contents='a\\\n", "httperf: premature EOF seen in 'sessions'\n"),
            Case::failing("--wsesslog=1,0,missing", 1)
                .same(&[Stdout, Stderr, Exit])
                .both(stderr("httperf: can't open missing\n")),
        ]),
        Row::new("36", "cookies of a session", [Case::new(Behaviour::cookies(6), "--wsesslog=2,0,sessions --session-cookies")
            .file("sessions", "/a\n/b method=POST contents=xy\n/c\n")
            .same(ALL)
            .both(echo_has("--recv-buffer=16384 --session-cookies --wsesslog=2,0.000,sessions"))
            .both(bytes(
                "GET /a HTTP/1.1\r\nUser-Agent: httperf/VER\r\nHost: 127.0.0.1\r\n\r\n\
                 POST /b HTTP/1.1\r\nUser-Agent: httperf/VER\r\nHost: 127.0.0.1\r\nContent-length: 2\r\nCookie: S=0\r\n\r\nxy\
                 GET /c HTTP/1.1\r\nUser-Agent: httperf/VER\r\nHost: 127.0.0.1\r\nCookie: S=1\r\n\r\n",
            ))
            .both(cookies(&[&[None, Some("S=0"), Some("S=1")], &[None, Some("S=3"), Some("S=4")]]))]),
        Row::new("37", "a reply with the failure status fails the session", [Case::new(
            Behaviour::each(Reply::with_header(503, "", b"")),
            "--wsess=3,3,0 --rate 50 --failure-status=503",
        )
        .same(ALL)
        .both(echo_has("--failure-status=503"))
        .both(values("replies=3 5xx=3 errors=0 sess_ok=0 sess_all=3 histogram=0_3"))]),
        Row::new("38", "a reply with the failure status is asked for again", [Case::new(
            // With a body in the 503 the reference stops with an assertion.
            Behaviour::in_turn(Order::PerServer, [Reply::with_header(503, "", b""), Reply::status(200)]),
            "--wsess=2,3,0 --failure-status=503 --retry-on-failure",
        )
        .same(&[Echo, CountsButSizes, Layout, Stderr, Exit])
        .both(values("requests=12 replies=12 2xx=6 5xx=6 errors=0 sess_ok=2 sess_all=2 histogram=0_0_0_0_0_0_2"))]),
        Row::new("S1", "a page with its embedded objects", [Case::new(page_server(), "--wsesspage=2,1,0 --uri /docs/page.html")
            .same(&[Echo, Counts, Layout, Stderr, Exit])
            .both(echo_has("--wsesspage=2,1,0.000"))
            .both(values("replies=8 sess_ok=2 sess_all=2 histogram=0_0_0_0_2"))
            .both(that(|seen| {
                let mut lines = seen.request_lines();
                lines.sort();
                expect("requests", lines, [
                    "GET /abs/c.png", "GET /abs/c.png", "GET /docs/a.gif", "GET /docs/a.gif", "GET /docs/frame.html",
                    "GET /docs/frame.html", "GET /docs/page.html", "GET /docs/page.html",
                ].map(str::to_owned).to_vec())
            }))]),
    ]
}

/// A session file that is refused at start-up.
fn faulty(contents: &str, message: &'static str) -> Case {
    Case::failing("--wsesslog=1,0,sessions", 1)
        .file("sessions", contents)
        .same(&[Stdout, Stderr, Exit])
        .both(stderr(message))
}

/// A page with three objects, then the objects.
fn page_server() -> Behaviour {
    let html = b"<html><img src=\"a.gif\"><iframe src=\"frame.html\"></iframe><!-- <img src=\"not.gif\"> --><IMG SRC=\"/abs/c.png\"></html>";
    let page = Reply::with_header(200, "Content-Type: text/html\r\n", html);
    let object = || Reply::with_header(200, "Content-Type: image/gif\r\n", b"GIF");
    Behaviour::in_turn(Order::PerServer, [page, object(), object(), object()])
}

/// On each connection, requests are at least this many seconds apart.
fn gaps_of_at_least(seconds: f64) -> Fact {
    that(move |seen| {
        for record in &seen.records {
            for pair in record.requests.windows(2) {
                let gap = (pair[1].at - pair[0].at).as_secs_f64();
                // The first may have been noted late.
                if gap < seconds - 0.01 {
                    return Err(format!("two requests came {gap:.4} s apart"));
                }
            }
        }
        Ok(())
    })
}

/// A request line comes this many seconds after the request before it on its connection.
fn think_before(line: &'static str, seconds: f64) -> Fact {
    that(move |seen| {
        let mut found = false;
        for record in &seen.records {
            for pair in record.requests.windows(2).filter(|pair| pair[1].line().starts_with(line)) {
                found = true;
                let gap = (pair[1].at - pair[0].at).as_secs_f64();
                if !(seconds - 0.01..seconds + 0.05).contains(&gap) {
                    return Err(format!("`{line}` came after {gap:.4} s, not {seconds}"));
                }
            }
        }
        if found { Ok(()) } else { Err(format!("`{line}` never came second")) }
    })
}

/// The bodies of all requests in order of arrival.
fn bodies(expected: &'static [&'static str]) -> Fact {
    that(move |seen| {
        let mut requests: Vec<_> = seen.records.iter().flat_map(|record| &record.requests).collect();
        requests.sort_by_key(|request| request.at);
        let found: Vec<_> =
            requests.iter().map(|request| String::from_utf8_lossy(request.body()).into_owned()).collect();
        expect("bodies", found.iter().map(String::as_str).collect::<Vec<_>>().as_slice(), expected)
    })
}

/// The cookie of each request, connection by connection.
fn cookies(expected: &'static [&'static [Option<&'static str>]]) -> Fact {
    that(move |seen| {
        let cookie = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.lines().find_map(|line| line.strip_prefix("Cookie: ").map(str::to_owned))
        };
        let found: Vec<Vec<Option<String>>> = seen
            .records
            .iter()
            .map(|record| record.requests.iter().map(|request| cookie(&request.bytes)).collect())
            .collect();
        let expected: Vec<Vec<Option<String>>> =
            expected.iter().map(|one| one.iter().map(|cookie| cookie.map(str::to_owned)).collect()).collect();
        expect("cookies", found, expected)
    })
}

/// The greatest number of connections open at once lies within bounds.
pub(crate) fn open_at_once(min: i32, max: i32) -> Fact {
    that(move |seen| {
        // An end may be noted a moment late, after the start of the connection that took its place.
        let noted_late = Duration::from_millis(15);
        let mut changes: Vec<(Instant, i32)> = Vec::new();
        for record in &seen.records {
            let ended = record.ended.ok_or("a connection was left open")?.at;
            changes.push((record.accepted, 1));
            changes.push(((ended - noted_late).max(record.accepted), -1));
        }
        changes.sort();
        let mut open = 0;
        let mut most = 0;
        for (_, change) in changes {
            open += change;
            most = most.max(open);
        }
        if (min..=max).contains(&most) {
            return Ok(());
        }
        Err(format!("{most} connections were open at once, not {min} to {max}"))
    })
}
