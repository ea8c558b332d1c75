//! Rows 1 to 24: request bytes, connection workloads, schedules, and where URIs come from.

use std::time::Duration;

use httperf_testkit::server::Behaviour;

use crate::row::Same::{Bytes, Counts, Echo, Exit, Layout, Stderr};
use crate::row::{
    Case, Fact, Row, Same, between, bytes, calls_per_connection, echo, echo_has, expect, printed,
    request_lines, starts, stderr, that, values,
};

const ALL: &[Same] = &[Echo, Bytes, Counts, Layout, Stderr, Exit];

/// Three URIs as `--wlog` reads them.
const URIS: &[u8] = b"/a\0/b\0/c\0";

pub(crate) fn rows() -> Vec<Row> {
    let ok = Behaviour::ok;
    vec![
        Row::new("1", "one call", [Case::new(ok(), "")
            .same(ALL)
            .both(echo(
                "httperf --client=0/1 --server=127.0.0.1 --port=PORT --uri=/ --send-buffer=4096 --recv-buffer=16384 --num-conns=1 --num-calls=1",
            ))
            .both(bytes("GET / HTTP/1.1\r\nUser-Agent: httperf/VER\r\nHost: 127.0.0.1\r\n\r\n"))
            .both(values("connections=1 requests=1 replies=1 length=1.000 burst=0 concurrent=1"))
            .both(values("request_size=62.0 header=38.0 content=5.0 footer=0.0 total=43.0 2xx=1 errors=0"))]),
        Row::new("2", "HTTP/1.0 asks to keep the connection, before Host", [Case::new(ok(), "--http-version=1.0 --uri /a?b=c")
            .same(ALL)
            .both(echo_has("--uri=/a?b=c --http-version=1.0 --send-buffer=4096"))
            .both(bytes("GET /a?b=c HTTP/1.0\r\nUser-Agent: httperf/VER\r\nConnection: keep-alive\r\nHost: 127.0.0.1\r\n\r\n"))]),
        Row::new("3", "the server name goes into Host", [Case::new(ok(), "--server-name www.example.com")
            .same(ALL)
            .both(echo_has("--server=127.0.0.1 --server_name=www.example.com --port=PORT"))
            .both(bytes("GET / HTTP/1.1\r\nUser-Agent: httperf/VER\r\nHost: www.example.com\r\n\r\n"))]),
        Row::new("4", "a method without a body", [Case::new(ok(), "--method=POST --num-calls 2")
            .same(ALL)
            .both(request_lines(&["POST /", "POST /"]))
            .both(values("connections=1 requests=2 replies=2 length=2.000"))]),
        Row::new("5", "a reply to HEAD has a length but no body", [Case::new(Behaviour::ok_sized(300), "--method=HEAD --num-calls 2")
            .same(ALL)
            .both(values("replies=2 header=40.0 content=0.0 total=40.0"))]),
        Row::new("6", "added headers", [Case::new(ok(), r"--add-header 'X-A: 1\nX-B: 2\n'")
            .same(ALL)
            .both(echo_has(r"--add-header='X-A: 1\nX-B: 2\n'"))
            .both(bytes("GET / HTTP/1.1\r\nUser-Agent: httperf/VER\r\nHost: 127.0.0.1\r\nX-A: 1\r\nX-B: 2\r\n\r\n"))
            .both(values("request_size=78.0"))]),
        Row::new("7", "escapes in added headers", [
            Case::new(ok(), r"--add-header 'X: a\tb\052\\\x\n'")
                .same(ALL)
                .both(bytes("GET / HTTP/1.1\r\nUser-Agent: httperf/VER\r\nHost: 127.0.0.1\r\nX: atb*\\x\r\n\r\n"))
                .both(stderr("httperf: ignoring unknown escape sequence `\\t' in --add-header\nhttperf: ignoring unknown escape sequence `\\x' in --add-header\n")),
            Case::new(ok(), r"--add-header 'A: 1\r\aB: 2\n'")
                .same(ALL)
                .both(bytes("GET / HTTP/1.1\r\nUser-Agent: httperf/VER\r\nHost: 127.0.0.1\r\nA: 1\r\nB: 2\r\n\r\n")),
        ]),
        Row::new("8", "a body smuggled in with the headers", [Case::new(ok(), r"--add-header 'Content-Length: 3\n\nabc' --method=POST")
            .same(ALL)
            .both(bytes("POST / HTTP/1.1\r\nUser-Agent: httperf/VER\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\n\r\nabc\r\n"))]),
        Row::new("9", "connections one after the other", [Case::new(ok(), "--num-conns 10")
            .same(ALL)
            .both(calls_per_connection(&[1; 10]))
            .both(values("connections=10 requests=10 replies=10 length=1.000 concurrent=1 burst=1"))
            .both(one_at_a_time())]),
        Row::timed("10", "bursts are pipelined", [
            Case::new(ok(), "--num-conns 5 --num-calls 6 --burst-length 3")
                .same(ALL)
                .both(calls_per_connection(&[6; 5]))
                .both(values("connections=5 requests=30 replies=30 length=6.000")),
            // Replies 30 ms apart show what was sent together.
            Case::new(Behaviour::delayed(Duration::from_millis(30)), "--num-conns 2 --num-calls 6 --burst-length 3")
                .same(ALL)
                .both(bursts(&[&[3, 3], &[3, 3]])),
        ]),
        Row::new("11", "a burst longer than the number of calls", [Case::new(ok(), "--num-calls 2 --burst-length 5")
            .same(ALL)
            .both(calls_per_connection(&[2]))
            .both(values("requests=2 replies=2 length=2.000"))]),
        Row::timed("12", "a constant rate", [Case::new(ok(), "--rate 20 --num-conns 20")
            .same(&[Echo, Bytes, Counts, Layout, Stderr, Exit])
            .both(starts((0..20).map(|k| f64::from(k) * 0.05).collect()))
            .both(between("duration", 0.94, 1.0))
            .both(values("connections=20 replies=20"))]),
        Row::timed("13", "uniform intervals", [Case::new(ok(), "--period=u0.02,0.08 --num-conns 10")
            .same(ALL)
            .both(echo_has("--period=u0.02,0.08"))
            .both(starts(vec![0., 0.0685, 0.1050, 0.1303, 0.1762, 0.2346, 0.2708, 0.3003, 0.3396, 0.4021]))]),
        Row::timed("14", "exponential intervals of another client", [Case::new(ok(), "--period=e0.05 --num-conns 10 --client 1/3")
            .same(ALL)
            .both(echo_has("--client=1/3"))
            .both(echo_has("--period=e0.05"))
            .both(starts(vec![0., 0.0896, 0.1105, 0.1211, 0.1495, 0.1669, 0.1765, 0.3466, 0.3648, 0.3858]))]),
        Row::timed("15", "a constant period is echoed as a rate", ["--period=d0.1 --num-conns 3", "--period 0.1 --num-conns 3"].map(
            |arguments| {
                Case::new(ok(), arguments)
                    .same(ALL)
                    .both(echo_has("--rate=10"))
                    .both(starts(vec![0., 0.1, 0.2]))
            },
        )),
        Row::new("16", "a period of 0 is sequential", [Case::new(ok(), "--rate 100 --period=0 --num-conns 3")
            .same(ALL)
            .both(echo_has("--uri=/ --send-buffer=4096"))
            .both(values("connections=3 concurrent=1"))
            .both(one_at_a_time())]),
        Row::timed("17", "the first sample of one client of five", [Case::new(ok(), "--client 0/5 --rate 10 --num-conns 15 -v")
            .same(&[Echo, Bytes, Counts, Layout, Stderr, Exit])
            .both(values("samples=1 replies=15"))
            .both(shows_descriptors())
                    .both(reply_rates(1, 10.0))]),
        Row::timed("18", "samples every 5 s, and the histogram of lifetimes", [Case::new(ok(), "--rate 20 --num-conns 230 -v -v")
            .same(&[Echo, Bytes, Counts, Layout, Stderr, Exit])
            .both(values("samples=2 replies=230"))
            .both(reply_rates(2, 20.0))
            .both(lifetimes(230))]),
        Row::new("19", "a working set with a miss rate", [Case::new(ok(), "--wset=10,0.3 --num-conns 10")
            .same(ALL)
            .both(echo_has("--num-calls=1 --wset=10,0.300"))
            .both(request_lines(&[
                "GET /0.html", "GET /0.html", "GET /0.html", "GET /1.html", "GET /1.html", "GET /1.html",
                "GET /2.html", "GET /2.html", "GET /2.html", "GET /3.html",
            ]))]),
        Row::new("20", "a working set with a prefix, shown", [Case::new(ok(), "--wset=1024,1 --uri /wset1024 --num-conns 3 -v")
            .same(ALL)
            .both(printed(&["httperf: accessing"], &[
                "httperf: accessing URI `/wset1024/0/0/0/1.html'",
                "httperf: accessing URI `/wset1024/0/0/0/2.html'",
                "httperf: accessing URI `/wset1024/0/0/0/3.html'",
            ]))
            .both(request_lines(&[
                "GET /wset1024/0/0/0/1.html", "GET /wset1024/0/0/0/2.html", "GET /wset1024/0/0/0/3.html",
            ]))]),
        Row::new("21", "a working set of one client of four", [Case::new(ok(), "--wset=10,1 --num-conns 12 --client 3/4")
            .same(ALL)
            .both(request_lines(&[
                "GET /7.html", "GET /1.html", "GET /5.html", "GET /9.html", "GET /3.html", "GET /7.html",
                "GET /1.html", "GET /5.html", "GET /9.html", "GET /3.html", "GET /7.html", "GET /1.html",
            ]))]),
        Row::new("22", "a list of URIs starts again", [Case::new(ok(), "--wlog=y,uris --num-conns 5")
            .file("uris", URIS)
            .same(ALL)
            .both(request_lines(&["GET /a", "GET /b", "GET /c", "GET /a", "GET /b"]))]),
        Row::new("23", "a list of URIs just long enough", [Case::new(ok(), "--wlog=n,uris --num-conns 3")
            .file("uris", URIS)
            .same(ALL)
            .both(request_lines(&["GET /a", "GET /b", "GET /c"]))
            .both(values("connections=3 requests=3 replies=3"))]),
        // Judgement 51: ours opens no connection for a URI that is not there.
        Row::new("24", "a list of URIs that is exhausted ends the test", [Case::new(ok(), "--wlog=n,uris --num-conns 10")
            .file("uris", URIS)
            .same(&[Echo, Layout, Stderr, Exit])
            .both(request_lines(&["GET /a", "GET /b", "GET /c"]))
            .both(values("requests=3 replies=3 errors=0"))
            .reference(values("connections=4"))
            .ours(values("connections=3"))]),
    ]
}

/// No connection was opened before the one before it had ended.
fn one_at_a_time() -> Fact {
    that(|seen| {
        for pair in seen.records.windows(2) {
            let ended = pair[0].ended.ok_or("a connection was left open")?.at;
            // The server's own threads may note an end a moment after the next start.
            if pair[1].accepted + Duration::from_millis(100) < ended {
                return Err("two connections were open at once".to_owned());
            }
        }
        Ok(())
    })
}

/// How the requests of each connection are grouped, where 25 ms without a request part two groups.
pub(crate) fn bursts(expected: &'static [&'static [usize]]) -> Fact {
    that(move |seen| {
        let mut found = Vec::new();
        for record in &seen.records {
            let mut groups: Vec<usize> = Vec::new();
            let mut previous = None;
            for request in &record.requests {
                let together =
                    previous.is_some_and(|previous| request.at - previous < Duration::from_millis(25));
                match groups.last_mut() {
                    Some(group) if together => *group += 1,
                    _ => groups.push(1),
                }
                previous = Some(request.at);
            }
            found.push(groups);
        }
        expect("bursts", found, expected.iter().map(|groups| groups.to_vec()).collect::<Vec<_>>())
    })
}

/// `-v` says how many descriptors there are, right after the echo line.
fn shows_descriptors() -> Fact {
    that(|seen| {
        let lines = seen.before()?;
        let line = lines.get(1).map_or("", String::as_str);
        let number = line.strip_prefix("httperf: maximum number of open descriptors = ");
        if number.is_some_and(|number| number.parse::<u64>().is_ok()) { Ok(()) } else { Err(line.to_owned()) }
    })
}

/// There are `count` lines `reply-rate = …`, the number padded to 8 columns and close to `rate`.
fn reply_rates(count: usize, rate: f64) -> Fact {
    that(move |seen| {
        let lines = seen.before()?;
        let rates: Vec<&str> = lines.iter().filter_map(|line| line.strip_prefix("reply-rate = ")).collect();
        expect("reply-rate lines", rates.len(), count)?;
        for text in rates {
            let value: f64 = text.trim_end().parse().map_err(|_| format!("`{text}` is no number"))?;
            expect("reply-rate", text, format!("{value:<8.1}").as_str())?;
            if (value - rate).abs() > 0.11 * rate {
                return Err(format!("a reply-rate of {value}, not {rate}"));
            }
        }
        Ok(())
    })
}

/// The histogram of lifetimes has lines `%16.1f %u`, ascending, a `:` where bins are missing, and `count`
/// lifetimes in all.
fn lifetimes(count: u64) -> Fact {
    that(move |seen| {
        let report = seen.report()?;
        let (mut next, mut gap, mut sum) = (0, false, 0);
        for line in &report.lifetimes {
            if *line == format!("{:>14}", ":") {
                gap = true;
                continue;
            }
            let (bin, number) = line.trim_start().split_once(' ').ok_or("a line without a count")?;
            let (bin, number): (f64, u64) =
                (bin.parse().map_err(|_| line.clone())?, number.parse().map_err(|_| line.clone())?);
            expect("histogram line", line.as_str(), format!("{bin:16.1} {number}").as_str())?;
            let index = (bin - 0.5) as u64;
            if gap != (index > next) {
                return Err(format!("`:` is missing or too many before `{line}`"));
            }
            (next, gap, sum) = (index + 1, false, sum + number);
        }
        expect("lifetimes", sum, count)
    })
}
