//! Rows F…: our own answer where the classic program hangs, crashes or measures wrongly. The number is that of the
//! judgement. The reference runs only where it comes to an end.

use std::time::Duration;

use httperf_testkit::server::{Behaviour, Order, Reply, Script};

use crate::connections::bursts;
use crate::row::Same::{Bytes, Counts, Echo, Exit, Layout, Stderr};
use crate::row::{
    Case, Fact, Row, between, bytes, calls_per_connection, echo_has, exits, expect, printed, request_lines,
    stderr, takes, that, values,
};
use crate::sessions::open_at_once;

pub(crate) fn rows() -> Vec<Row> {
    let ok = Behaviour::ok;
    vec![
        Row::new("F03", "nothing is said about FD_SETSIZE", [Case::new(ok(), "")
            .only_ours()
            .ours(that(|seen| expect("stderr", String::from_utf8_lossy(&seen.outcome.stderr).as_ref(), "")))]),
        Row::new("F06", "the version is printed and nothing is run", [Case::failing("-V", 0)
            .against(Behaviour::stall())
            .only_ours()
            .ours(that(|seen| expect("connections", seen.records.len(), 0)))
            .ours(that(|seen| {
                let stdout = seen.stdout();
                let first = stdout.lines().next().unwrap_or_default();
                if first.starts_with("httperf: httperf-") { Ok(()) } else { Err(stdout.clone()) }
            }))]),
        Row::new("F14", "refused connections are not in the connect time", [Case::new(Behaviour::Refuse, "--num-conns 3")
            .same(&[Echo, Counts, Layout, Stderr, Exit])
            .ours(values("connrefused=3 connect=0.0"))]),
        Row::new("F19", "no Host and added headers within the request", [Case::new(ok(), r"--no-host-hdr --add-header 'X: 1\n'")
            .same(&[Echo, Layout, Stderr, Exit])
            .reference(bytes("GET / HTTP/1.1\r\nUser-Agent: httperf/VER\r\n\r\nX: 1\r\n\r\n"))
            .ours(bytes("GET / HTTP/1.1\r\nUser-Agent: httperf/VER\r\nX: 1\r\n\r\n"))
            .ours(values("replies=1 errors=0"))]),
        Row::timed("F23", "the last burst may be shorter", [
            Case::new(ok(), "--num-calls 5 --burst-length 2 --num-conns 2 --timeout 2")
                .only_ours()
                .ours(calls_per_connection(&[5, 5]))
                .ours(values("connections=2 requests=10 replies=10 length=5.000 errors=0")),
            Case::new(Behaviour::delayed(Duration::from_millis(40)), "--num-calls 5 --burst-length 2")
                .only_ours()
                .ours(bursts(&[&[2, 2, 1]])),
        ]),
        Row::new("F24", "none of anything ends at once", [
            nothing_to_do("--num-conns 0").ours(values("connections=0 concurrent=0 samples=0")),
            nothing_to_do("--num-conns 0 --rate 10").ours(values("connections=0")),
            nothing_to_do("--num-calls 0").ours(values("connections=1 length=0.000 2xx=0")),
            nothing_to_do("--num-calls 0 --num-conns 3 --rate 100").ours(values("connections=3")),
            nothing_to_do("--wsess=0,1,0").ours(values("connections=0")),
            nothing_to_do("--wsesslog=0,1,sessions").file("sessions", "/\n").ours(values("connections=0")),
        ]),
        Row::new("F25", "the last burst of a session may be shorter", [
            Case::new(ok(), "--wsess=2,7,0 --burst-length=3")
                .only_ours()
                .ours(calls_per_connection(&[7, 7]))
                .ours(values("requests=14 replies=14 sess_ok=2 sess_all=2 histogram=0_0_0_0_0_0_0_2")),
            Case::new(ok(), "--wsess=1,2,0 --burst-length=5")
                .only_ours()
                .ours(calls_per_connection(&[2]))
                .ours(values("replies=2 sess_ok=1 histogram=0_0_1")),
            Case::new(ok(), "--wsess=1,1,0 --burst-length=4")
                .only_ours()
                .ours(calls_per_connection(&[1]))
                .ours(values("replies=1 sess_ok=1 histogram=0_1")),
        ]),
        Row::new("F26", "a session fails within a burst", [
            Case::new(Behaviour::hang_up(), "--wsess=2,6,0 --burst-length=3 --rate 50")
                .only_ours()
                .ours(values("connections=2 requests=2 replies=0 connreset=2 errors=2 sess_ok=0 sess_all=2 histogram=2")),
            // The first call of the burst succeeds; of the two that follow, the first fails the session.
            Case::new(Behaviour::in_turn(Order::PerConnection, [Reply::status(200), Reply::status(503)]), "--wsess=2,6,0 --burst-length=3 --failure-status=503")
                .only_ours()
                .ours(values("connections=2 2xx=2 5xx=2 errors=0 sess_ok=0 sess_all=2 histogram=0_0_2")),
        ]),
        Row::timed("F27", "sessions one after the other go on after a timeout", [Case::new(Behaviour::stall(), "--wsess=3,2,0 --timeout 0.2")
            .only_ours()
            .ours(values("connections=3 requests=3 replies=0 client-timo=3 errors=3 sess_ok=0 sess_all=3 histogram=3"))
            .ours(between("duration", 0.59, 0.8))]),
        // Ten attempts in a row: the first retry at once, then after 10 ms, 20 ms … 640 ms, 1 s.
        Row::timed("F28", "retries are bounded and paced", [Case::new(Behaviour::Refuse, "--wsess=1,2,0 --retry-on-failure")
            .only_ours()
            .ours(values("replies=0 sess_ok=0 sess_all=1 histogram=1"))
            .ours(between("connrefused", 10.0, 11.0))
            .ours(between("duration", 1.2, 3.6))]),
        Row::new("F29", "sessions take a close as a reason to open a new connection", [
            Case::new(Behaviour::close(), "--wsess=2,3,0.05")
                .same(&[Echo, Layout, Stderr, Exit])
                .reference(values("connections=6 requests=10 replies=6 errors=4 connreset=4 sess_ok=2"))
                .ours(calls_per_connection(&[1; 6]))
                .ours(values("connections=6 requests=6 replies=6 errors=0 sess_ok=2 sess_all=2 sess_conns=3.00 request_size=62.0 histogram=0_0_0_2")),
            // A close that was not announced is seen on the idle connection before the next call.
            Case::new(Behaviour::close_unannounced(), "--wsess=2,3,0.05")
                .same(&[Echo, Layout, Stderr, Exit])
                .reference(values("replies=6 connreset=4 sess_ok=2"))
                .ours(calls_per_connection(&[1; 6]))
                .ours(values("connections=6 requests=6 replies=6 errors=0 sess_ok=2 sess_conns=3.00 request_size=62.0")),
        ]),
        Row::new("F30", "a body cut short is a failure", [Case::new(
            Behaviour::each(Reply::bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello").closing()),
            "--num-conns 2",
        )
        .same(&[Echo, Bytes, Layout, Stderr, Exit])
        .reference(values("replies=2 content=5.0 errors=0"))
        .ours(values("requests=2 replies=0 errors=2 connreset=2 2xx=0 content=0.0 length=0.000"))]),
        Row::new("F31", "interim replies are skipped", [
            Case::new(Behaviour::raw(&[b"HTTP/1.1 100 Continue\r\n\r\n", OK].concat()), "--num-calls 2")
                .only_ours()
                .ours(values("replies=2 1xx=0 2xx=2 header=38.0 content=5.0 errors=0")),
            Case::new(
                Behaviour::raw(&[b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n", OK].concat()),
                "--num-calls 2 --burst-length 2",
            )
            .only_ours()
            .ours(values("replies=2 1xx=0 2xx=2 header=38.0 content=5.0 errors=0")),
        ]),
        Row::new("F32", "statuses that there are none of", [
            Case::new(Behaviour::statuses(&[600]), "--num-conns 2 --num-calls 2")
                .only_ours()
                .ours(values("connections=2 requests=4 replies=4 errors=0 1xx=0 2xx=0 3xx=0 4xx=0 5xx=4")),
            Case::new(Behaviour::statuses(&[99]), "")
                .only_ours()
                .ours(values("requests=1 replies=0 errors=1 other=1 1xx=0 2xx=0")),
        ]),
        Row::new("F33", "a status line that cannot be read", [Case::new(
            Behaviour::raw(b"HTTP/1 200 OK\r\nContent-Length: 5\r\n\r\nhello"),
            "--timeout 2",
        )
        .same(&[Echo, Bytes, Layout, Exit])
        .reference(values("replies=1 5xx=1 2xx=0 content=5.0 errors=0"))
        .ours(values("replies=0 5xx=0 2xx=0 errors=1 other=1"))
        .both(that(|seen| {
            let stderr = seen.stderr();
            let first = stderr.lines().next().unwrap_or_default();
            expect("message", first, "httperf.parse_status_line: invalid status line `HTTP/1 200 OK'!!")
        }))
        .ours(stderr("httperf.parse_status_line: invalid status line `HTTP/1 200 OK'!!\n"))]),
        Row::new("F34", "bytes too many", [
            // After the last reply they are ignored, as they always were.
            Case::new(Behaviour::raw(&[OK, b"surplus"].concat()), "--num-conns 2")
                .same(&[Echo, Bytes, Counts, Layout, Stderr, Exit])
                .both(values("replies=2 errors=0")),
            Case::new(Behaviour::raw(&[OK, b"surplus"].concat()), "--num-calls 2 --num-conns 2")
                .only_ours()
                .ours(calls_per_connection(&[1, 1]))
                .ours(values("requests=2 replies=2 errors=2 other=2 length=1.000")),
            Case::new(Behaviour::raw(&[OK, b"surplus"].concat()), "--wsess=1,2,0 --timeout 2")
                .only_ours()
                .ours(values("errors=1 other=1 sess_all=1"))
                .ours(takes(0.0, 1.5)),
        ]),
        Row::new("F35", "chunks win over a length", [
            Case::new(Behaviour::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), "--num-calls 2 --timeout 2")
                .only_ours()
                .ours(values("replies=2 content=5.0 footer=2.0 errors=0")),
            Case::new(Behaviour::raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nhello\r\n0\r\n\r\n"), "--num-calls 2 --timeout 2")
                .same(&[Echo, Bytes, Counts, Layout, Stderr, Exit])
                .both(values("replies=2 content=5.0 footer=2.0 errors=0")),
            Case::new(Behaviour::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello"), "--num-calls 2 --timeout 2")
                .same(&[Echo, Bytes, Counts, Layout, Stderr, Exit])
                .both(values("replies=2 content=5.0 errors=0")),
        ]),
        Row::new("F36", "spellings of chunked", [
            chunked_as("chunked "),
            chunked_as("gzip, chunked"),
            chunked_as("GZIP,CHUNKED"),
            chunked_as("\tChunked"),
        ]),
        Row::new("F37", "long header lines", [Case::new(long_header(5000), "--num-calls 2")
            .same(&[Echo, Bytes, Layout, Exit])
            .ours(values("replies=2 header=5038.0 content=5.0 errors=0"))
            .ours(stderr(""))]),
        Row::timed("F38", "a NUL in a header does not stall", [Case::new(
            Behaviour::raw(b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 5\r\n\r\nhello"),
            "--timeout 3",
        )
        .only_ours()
        .ours(takes(0.0, 1.5))
        .ours(values("client-timo=0"))
        // Either reading is sound: a field that is passed over, or a reply that is refused.
        .ours(that(|seen| {
            let report = seen.report()?;
            expect("replies and other errors together", report.number("replies") + report.number("other"), 1.0)
        }))]),
        Row::new("F39", "a status line in two reads is counted in full", [Case::new(
            Behaviour::each(
                Reply::bytes(b"HTTP/1.1 20").pause(Duration::from_millis(100)).send(b"0 OK\r\nContent-Length: 5\r\n\r\nhello"),
            ),
            "--num-calls 2",
        )
        .same(&[Echo, Bytes, Layout, Stderr, Exit])
        .reference(values("replies=2 header=27.0"))
        .ours(values("replies=2 header=38.0 content=5.0 total=43.0"))]),
        Row::new("F50", "a working set below a folder", [Case::new(ok(), "--wset=10,0 --uri /foo/")
            .same(&[Echo, Layout, Stderr, Exit])
            .reference(request_lines(&["GET foo//0.html"]))
            .ours(request_lines(&["GET /foo/0.html"]))]),
        Row::new("F51", "replies under way when a list of URIs ends are waited for", [Case::new(
            Behaviour::delayed(Duration::from_millis(30)),
            "--wlog=n,uris --num-calls 5 --burst-length 5",
        )
        .file("uris", "/a\0/b\0/c\0")
        .only_ours()
        .ours(request_lines(&["GET /a", "GET /b", "GET /c"]))
        .ours(values("connections=1 requests=3 replies=3 errors=0"))]),
        Row::new("F52", "a list of URIs in lines", [Case::new(ok(), "--wlog=y,uris --num-calls 4")
            .file("uris", "/a\n/b\n/c\n")
            .only_ours()
            .ours(request_lines(&["GET /a", "GET /b", "GET /c", "GET /a"]))]),
        Row::new("F54", "a session file without sessions", [
            Case::failing("--wsesslog=1,0,sessions", 1).file("sessions", "").only_ours().ours(one_message()),
            Case::failing("--wsesslog=1,0,sessions", 1).file("sessions", "# nothing\n\n").only_ours().ours(one_message()),
            Case::new(ok(), "--wsesslog=1,0,sessions")
                .file("sessions", &format!("/ method=POST contents={}\n", "x".repeat(20_000)))
                .only_ours()
                .ours(values("replies=1 sess_ok=1 errors=0"))
                .ours(that(|seen| {
                    let body = seen.records.first().and_then(|record| record.requests.first()).map(|r| r.body().len());
                    expect("size of the body", body, Some(20_000))
                })),
        ]),
        // The reference queues calls on a connection that it then closes, and waits for ever.
        Row::new("F56", "HTTP/1.0 sessions need no pipelining", [Case::new(
            ok(),
            "--wsess=1,4,0 --burst-length=4 --http-version=1.0 --max-piped-calls=8 --timeout 2",
        )
        .only_ours()
        .ours(values("requests=4 replies=4 errors=0 sess_ok=1 histogram=0_0_0_0_1"))]),
        Row::new("F38b", "a failed reply with a body is asked for again", [Case::new(
            Behaviour::statuses(&[503, 200]),
            "--wsess=2,3,0 --failure-status=503 --retry-on-failure",
        )
        .only_ours()
        .ours(values("requests=12 replies=12 2xx=6 5xx=6 errors=0 sess_ok=2 sess_all=2 request_size=62.0 content=5.0"))]),
        Row::new("F57", "of several session workloads the last runs", [Case::new(ok(), "--wsess=1,1,0 --wsess=2,2,0")
            .only_ours()
            .ours(echo_has("--wsess=2,2,0.000"))
            .ours(values("replies=4 sess_ok=2 sess_all=2 histogram=0_0_2"))]),
        Row::new("F58", "cookies of several names, and loose syntax", [Case::new(
            Behaviour::in_turn(Order::PerConnection, [
                Reply::with_header(200, "Set-Cookie:A=1\r\n", b""),
                Reply::with_header(200, "set-cookie: B=2; Path=/; HttpOnly\r\n", b""),
                Reply::with_header(200, "Set-Cookie: A=3\r\n", b""),
                Reply::status(200),
            ]),
            "--wsess=1,4,0 --session-cookies",
        )
        .only_ours()
        .ours(that(|seen| {
            let text = seen.bytes().concat();
            let cookies: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("Cookie: ")).collect();
            expect("cookies", cookies, vec!["A=1", "A=1; B=2", "A=3; B=2"])
        }))]),
        Row::new("F59", "printed bodies keep to themselves", [
            Case::new(ok(), "--wsesslog=1,0,sessions --print-request --print-reply=header")
                .file("sessions", "/ method=POST contents='one\\ntwo'\n")
                .same(&[Echo, Bytes, Counts, Layout, Stderr, Exit])
                .ours(printed(&["SB", "SS", "RH0:HTTP"], &[
                    "SB0:one", "SB0:two", "SS0: header 82 content 7", "RH0:HTTP/1.1 200 OK\r",
                ])),
            Case::new(
                Behaviour::raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7\r\n wor\nld\r\n0\r\nA: b\r\n\r\n"),
                "--print-reply",
            )
            .same(&[Echo, Bytes, Counts, Layout, Stderr, Exit])
            .ours(printed(&["R"], &[
                "RH0:HTTP/1.1 200 OK\r", "RH0:Transfer-Encoding: chunked\r", "RH0:\r", "RB0:hello wor", "RB0:ld",
                "RS0: header 47 content 12 footer 8",
            ])),
            Case::new(ok(), "--num-calls 2 --burst-length 2 --print-reply=body")
                .same(&[Echo, Bytes, Counts, Layout, Stderr, Exit])
                .ours(printed(&["R"], &[
                    "RB0:hello", "RS0: header 38 content 5 footer 0", "RB1:hello", "RS1: header 38 content 5 footer 0",
                ])),
            Case::new(
                Behaviour::each(Reply::bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r").pause(Duration::from_millis(30)).send(b"\n0123456789")),
                "--print-reply",
            )
            .same(&[Echo, Bytes, Counts, Layout, Stderr, Exit])
            .ours(printed(&["R"], &[
                "RH0:HTTP/1.1 200 OK\r", "RH0:Content-Length: 10\r", "RH0:\r", "RB0:0123456789",
                "RS0: header 39 content 10 footer 0",
            ])),
        ]),
        Row::new("F61", "a backslash at the end of an added header", [Case::new(ok(), r"--add-header 'X: 1\n\' --timeout 1")
            .only_ours()
            .ours(that(|seen| {
                let bytes = seen.bytes().into_iter().next().unwrap_or_default();
                let expected = "GET / HTTP/1.1\r\nUser-Agent: httperf/VER\r\nHost: 127.0.0.1\r\nX: 1\r\n";
                match bytes.strip_prefix(expected) {
                    Some("\r\n" | "\\\r\n") => Ok(()),
                    _ => Err(format!("sent {bytes:?}")),
                }
            }))]),
        Row::new("F62", "negative numbers are rejected, but for time-outs (row 42b)", [
            negative("--num-conns -1", "illegal number of connections -1"),
            negative("--num-calls -1", "illegal number of calls -1"),
            negative("--burst-length -1", "illegal burst-length -1"),
            negative("--port -1", "illegal port number -1"),
            negative("--max-connections -1", "illegal max. # of connection -1"),
        ]),
        Row::timed("F63", "a period may start with a point", [Case::new(ok(), "--period=.1 --num-conns 3")
            .only_ours()
            .ours(echo_has("--rate=10"))
            .ours(between("duration", 0.19, 0.3))]),
        // A broadcast address of the loopback network: the connect fails at once, and nothing is sent. One call
        // inside another for each would not fit into the stack of 8 MB.
        Row::new("F64", "very many connects that fail at once", [Case::failing("--server 127.255.255.255 --port 9 --num-conns 40000", 0)
            .unaddressed()
            .only_ours()
            .ours(values("connections=40000 requests=0 errors=40000 other=40000"))]),
        // Not in 0.9.0, whose connection workload has no use for the option.
        Row::timed("F65", "a limit on open connections skips arrivals", [
            Case::new(Behaviour::delayed(Duration::from_millis(300)), "--rate 100 --num-conns 10 --max-connections 2")
                .only_ours()
                .ours(open_at_once(2, 2))
                .ours(values("connections=2 replies=2 errors=0"))
                .ours(takes(0.2, 2.0)),
            Case::failing("--server 127.255.255.255 --port 9 --num-conns 10 --max-connections 2 --rate 100", 0)
                .unaddressed()
                .only_ours()
                .ours(exits(0))
                .ours(takes(0.0, 2.0)),
        ]),
        // A reply to a request that was not made yet: the reference takes it for the first one.
        Row::new("F34b", "a server that speaks first", [Case::new(
            Behaviour::Serve(Script { greeting: Reply::bytes(b"220 hello\r\n"), replies: vec![Reply::status(200)], order: Order::PerConnection }),
            "--timeout 1",
        )
        .only_ours()
        .ours(takes(0.0, 3.0))
        .ours(exits(0))]),
    ]
}

const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// A run that has nothing to do: it ends at once, with a report and without a request.
fn nothing_to_do(arguments: &str) -> Case {
    Case::new(Behaviour::ok(), arguments)
        .only_ours()
        .ours(values("requests=0 replies=0 errors=0"))
        .ours(takes(0.0, 1.0))
        .ours(that(|seen| {
            let requests: usize = seen.records.iter().map(|record| record.requests.len()).sum();
            expect("requests", requests, 0)
        }))
}

fn chunked_as(value: &str) -> Case {
    let reply = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {value}\r\n\r\n5\r\nhello\r\n0\r\n\r\n");
    Case::new(Behaviour::raw(reply.as_bytes()), "--num-calls 2 --timeout 2")
        .only_ours()
        .ours(values("replies=2 content=5.0 footer=2.0 errors=0"))
        .ours(stderr(""))
}

/// A reply with a header line of `size` bytes, its line end included.
fn long_header(size: usize) -> Behaviour {
    let line = format!("X: {}\r\n", "y".repeat(size - 5));
    Behaviour::each(Reply::with_header(200, &line, b"hello"))
}

fn negative(arguments: &str, message: &'static str) -> Case {
    Case::failing(arguments, 1).only_ours().ours(that(move |seen| {
        expect("stderr", seen.stderr().as_str(), format!("httperf: {message}\n").as_str())
    }))
}

/// stderr is one line, behind the name of the program.
fn one_message() -> Fact {
    that(|seen| {
        let stderr = seen.stderr();
        if stderr.lines().count() == 1 && stderr.starts_with("httperf: ") { Ok(()) } else { Err(stderr) }
    })
}
