//! Rows 60 to 70: TLS, rejected options, the echo line, signals, limits, and names.

use std::time::Duration;

use httperf_testkit::server::Behaviour;

use crate::row::Same::{Bytes, Counts, Echo, Exit, Layout, Stderr, Stdout};
use crate::row::{
    Case, Fact, Row, Same, between, bytes, calls_per_connection, echo, echo_has, exits, expect,
    request_lines, that, values,
};

const ALL: &[Same] = &[Echo, Bytes, Counts, Layout, Stderr, Exit];

/// Values of options that are rejected, and what is said of them.
const REJECTED: &[(&str, &str)] = &[
    ("--burst-length 0", "illegal burst-length 0"),
    ("--burst-length x", "illegal burst-length x"),
    ("--burst-length ''", "illegal burst-length "),
    ("--client x", "bad client id (rest: `x')"),
    ("--client 1", "client id not followed by `/' (rest: `')"),
    ("--client 1:2", "client id not followed by `/' (rest: `:2')"),
    ("--client 1/x", "bad number of clients (rest: `x')"),
    ("--client 2/2", "bad number of clients (rest: `2')"),
    ("--failure-status 0", "illegal failure status 0"),
    ("--failure-status x", "illegal failure status x"),
    ("--http-version x", "illegal version number x"),
    ("--http-version 1", "illegal version number 1"),
    ("--max-connections x", "illegal max. # of connection x"),
    ("--max-piped-calls 1x", "illegal max. # of piped calls 1x"),
    ("--num-calls x", "illegal number of calls x"),
    ("--num-calls 0x10", "illegal number of calls 0x10"),
    ("--num-conns 1.5", "illegal number of connections 1.5"),
    ("--num-conns ''", "illegal number of connections "),
    ("--num-conns 99999999999999999999", "illegal number of connections 99999999999999999999"),
    ("--port 65536", "illegal port number 65536"),
    ("--port http", "illegal port number http"),
    ("--rate x", "illegal request rate x"),
    ("--rate ''", "illegal request rate "),
    ("--rate 1e999", "illegal request rate 1e999"),
    ("--recv-buffer x", "illegal receive buffer size x"),
    ("--send-buffer x", "illegal send buffer size x"),
    ("--think-timeout 1x", "illegal think timeout value 1x"),
    ("--timeout x", "illegal connect timeout x"),
    ("--period x1", "illegal interarrival distribution 'x' in x1"),
    ("--period -1", "illegal interarrival distribution '-' in -1"),
    ("--period d", "illegal mean interarrival time "),
    ("--period ex", "illegal mean interarrival time x"),
    ("--period u", "illegal minimum interarrival time "),
    ("--period u1", "minimum interarrival time not followed by `,MAX_IAT' (rest: `')"),
    ("--period u1;2", "minimum interarrival time not followed by `,MAX_IAT' (rest: `;2')"),
    ("--period u1,x", "illegal request period x"),
    ("--period e1z", "illegal mean interarrival time 1z"),
    ("--wsess x", "bad number of sessions (1st param) in --wsess arg (rest: `x')"),
    ("--wsess 1", "bad number of calls per session (2nd param) in --wsess arg (rest: `')"),
    ("--wsess 1,2", "bad user think time (3rd param) in --wsess arg (rest: `')"),
    ("--wsess 1,2,-1", "bad user think time (3rd param) in --wsess arg (rest: `')"),
    ("--wsess 1,2,3,4", "extraneous parameter in --wsess arg (rest: `,4')"),
    (
        "--wsess 99999999999999999999,2,3",
        "bad number of sessions (1st param) in --wsess arg (rest: `,2,3'): Numerical result out of range",
    ),
    ("--wsesspage 1", "bad number of user requests per session (2nd param) in --wsesspage arg (rest: `')"),
    ("--wsesspage 1,2,x", "bad user think time (3rd param) in --wsesspage arg (rest: `x')"),
    ("--wsesslog x", "bad number of sessions (1st param) in --wsesslog arg (rest: `x')"),
    ("--wsesslog 1,x", "bad user think time (2nd param) in --wsesslog arg (rest: `x')"),
    ("--wsesslog 1,0", "bad session filename (3rd param) in --wsesslog arg (rest: `')"),
    ("--wsesslog 1,0,f,g", "extraneous parameter in --wsesslog arg (rest: `g')"),
    ("--wset x", "bad working set size (1st parameter) in --wset arg (rest: `x')"),
    ("--wset 1", "bad target miss rate (2nd parameter) in --wset arg (rest: `1')"),
    ("--wset 1,2", "bad target miss rate (2nd parameter) in --wset arg (rest: `2')"),
    ("--wset 1,1z", "extraneous parameter in --wset arg (rest: `1z')"),
];

/// Options that are rejected only when the test is set up.
const REJECTED_LATER: &[(&str, &str)] = &[
    ("--wlog=y,missing", "httperf: can't open missing"),
    ("--wlog=y,empty", "httperf: file empty is empty"),
    ("--wlog=y,zeros", "httperf: zeros does not contain any valid URIs"),
    (
        // Too long for a label, so that no name server is asked.
        "--server xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "httperf.core_addr_intern: invalid server address xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ),
];

/// Beyond what the classic tool's tables hold: it rejects these.
const BEYOND_OLD_CEILINGS: [&str; 2] =
    ["--wsess=1,1,0 --max-connections 5", "--wsess=1,1,0 --max-piped-calls 33"];

/// What the option parser itself refuses.
const MISUSED: &[(&str, &str)] = &[
    ("--bogus", "unrecognized option '--bogus'"),
    ("--bogus=1", "unrecognized option '--bogus=1'"),
    ("--num-conns", "option '--num-conns' requires an argument"),
    ("--num-con", "option '--num-conns' requires an argument"),
    ("--hog=1", "option '--hog' doesn't allow an argument"),
    ("--ho=1", "option '--hog' doesn't allow an argument"),
    ("-x", "invalid option -- 'x'"),
    ("-vx", "invalid option -- 'x'"),
    ("-d", "option requires an argument -- 'd'"),
    ("--num 3", "option '--num' is ambiguous; possibilities: '--num-calls' '--num-conns'"),
];

pub(crate) fn rows() -> Vec<Row> {
    let ok = Behaviour::ok;
    vec![
        // Rows 60 to 62 need a server that speaks TLS: they are in `tls_servers.rs`.
        Row::new(
            "63",
            "rejected values",
            REJECTED
                .iter()
                .map(|&(arguments, message)| {
                    Case::failing(arguments, 1)
                        .same(&[Stdout, Stderr, Exit])
                        .both(says(message, "httperf: "))
                        .both(that(|seen| expect("stdout", seen.stdout().as_str(), "")))
                })
                .chain(REJECTED_LATER.iter().map(|&(arguments, message)| {
                    Case::failing(arguments, 1)
                        .file("empty", b"")
                        .file("zeros", b"\0\0\0")
                        .same(&[Stdout, Stderr, Exit])
                        .both(says(message, ""))
                }))
                .chain([
                    Case::failing("--http-version 4.0", 1)
                        .against(ok())
                        .same(&[Stdout, Stderr, Exit])
                        .both(says("httperf: unexpected version code 40000", "")),
                    // What looks wrong and is accepted all the same.
                    Case::new(ok(), "--num-conns +2 --num-calls ' 2'").same(ALL).both(calls_per_connection(&[2, 2])),
                    Case::new(ok(), "--http-version 1.0x").same(ALL).both(echo_has("--http-version=1.0")),
                    Case::new(ok(), "--http-version 01.01 --client 0/2z --timeout 0x1p1").same(ALL).both(echo_has("--timeout=2")),
                    Case::new(ok(), "--wsess=0x2,010,0 --max-connections 4").same(ALL).both(calls_per_connection(&[8, 8])),
                ]),
        ),
        Row::new(
            "63b",
            "old ceilings of session workloads, which ours does without",
            BEYOND_OLD_CEILINGS.map(|arguments| Case::new(ok(), arguments).only_ours().both(values("replies=1"))),
        ),
        Row::new(
            "64",
            "misused options",
            MISUSED.iter().map(|&(arguments, message)| {
                Case::failing(arguments, 1).same(&[Stdout, Stderr, Exit]).both(that(move |seen| {
                    let stderr = seen.stderr();
                    let first = stderr.lines().next().unwrap_or_default();
                    expect("message", first, format!("httperf: {message}").as_str())
                }))
            }),
        ),
        Row::new("65", "cookies without sessions", [Case::failing("--session-cookies", 255)
            .same(&[Stdout, Stderr, Exit])
            .both(says("--session-cookie requires session-oriented workload (e.g., --wsess)", "httperf: "))]),
        Row::new("66", "the echo of nearly all options", [
            Case::new(
                ok(),
                r"-v --print-reply=h --print-request=b --hog --close-with-reset --think-timeout 1.5 --timeout 2 --client 1/4 --server-name q --failure-status 500 --http-version 1.0 --max-connections=2 --max-piped-calls 8 --period u0.1,0.3 --send-buffer 8888 --retry-on-failure --recv-buffer 9999 --session-cookies --ssl-no-reuse --add-header 'A: b\n' --method GET --wsess=1,1,0 --burst-length 4 --wset 5,.25",
            )
            .same(&[Echo, Counts, Layout, Stderr, Exit])
            .both(echo(
                r"httperf --verbose --print-reply=header --print-request=body --hog --close-with-reset --think-timeout=1.5 --timeout=2 --client=1/4 --server=127.0.0.1 --server_name=q --port=PORT --uri=/ --failure-status=500 --http-version=1.0 --max-connections=2 --max-piped-calls=8 --period=u0.1,0.3 --send-buffer=8888 --retry-on-failure --recv-buffer=9999 --session-cookies --ssl-no-reuse --add-header='A: b\n' --method=GET --wsess=1,1,0.000 --burst-length=4 --wset=5,0.250",
            )),
            Case::new(ok(), "--rate 33.33333333 --num-conns 2 --uri= --method= --add-header=")
                .same(ALL)
                .both(echo_has("--uri= --rate=33.3333 --send-buffer=4096"))
                .both(echo_has("--add-header='' --method= --num-conns=2")),
            Case::new(ok(), "--rate 1234567 --num-conns 1").same(ALL).both(echo_has("--rate=1.23457e+06")),
        ]),
        Row::timed("67", "SIGINT ends the test with a report", [Case::new(ok(), "--rate 20 --num-conns 1000")
            .interrupted_after(Duration::from_secs(1))
            .same(&[Echo, Layout, Stderr, Exit])
            .both(between("connections", 18.0, 22.0))
            .both(between("duration", 0.9, 1.1))
            .both(values("errors=0"))]),
        Row::timed("68", "too few descriptors", [Case::new(
            Behaviour::delayed(Duration::from_millis(500)),
            "--num-conns 20 --rate 200",
        )
        .descriptors(10)
        .same(&[Echo, Layout, Stderr, Exit])
        .reference(values("connections=7 fd-unavail=13"))
        .both(that(|seen| {
            let report = seen.report()?;
            let sum = report.number("connections") + report.number("fd-unavail");
            expect("connections and fd-unavail together", sum, 20.0)?;
            expect("errors", report.number("errors"), report.number("fd-unavail"))?;
            expect("replies", report.number("replies"), report.number("connections"))
        }))
        .both(between("connections", 1.0, 9.0))]),
        // A warning about the words is acceptable (judgement 7), so stderr is not compared.
        Row::new("69", "words that are not options are ignored", [
            Case::new(ok(), "--num-conns 1 foo bar --num-calls 2")
                .same(&[Echo, Bytes, Counts, Layout, Exit])
                .both(calls_per_connection(&[2])),
            Case::new(ok(), "--num-calls 2 -- --num-calls 3").same(&[Echo, Bytes, Counts, Layout, Exit]).both(calls_per_connection(&[2])),
        ]),
        Row::new("70", "the name that the program was started by", [
            Case::new(ok(), "").called("ourperf").same(ALL).both(echo_has("--client=0/1")).both(that(|seen| {
                if seen.echo().starts_with("ourperf --client") { Ok(()) } else { Err(seen.echo()) }
            })),
            Case::failing("--rate x", 1)
                .called("./bin/ourperf")
                .same(&[Stdout, Stderr, Exit])
                .both(says("illegal request rate x", "ourperf: ")),
            // The option parser's own messages name the program as it was typed.
            Case::failing("--bogus", 1)
                .called("./bin/ourperf")
                .same(&[Stdout, Stderr, Exit])
                .both(that(|seen| {
                    let stderr = seen.stderr();
                    let first = stderr.lines().next().unwrap_or_default();
                    expect("message", first, "./bin/ourperf: unrecognized option '--bogus'")
                })),
        ]),
        Row::new("71", "abbreviations and forms of options", [
            Case::new(ok(), "--num-con=2 --num-cal 3 --ra 100 --ho").same(ALL).both(calls_per_connection(&[3, 3])).both(echo_has("--hog")),
            Case::new(ok(), "--ur /x --me HEAD --send 8192 --recv=8192 --timeo 5 --think 2")
                .same(ALL)
                .both(request_lines(&["HEAD /x"]))
                .both(echo_has("--think-timeout=2 --timeout=5")),
            Case::new(ok(), "--session-cookie --wsess 1,2,0 --fail 500 --retry --max-c 2 --max-p 3 --burst 2").same(ALL),
            Case::new(ok(), "--num-calls 5 --num-calls 2 --rate 10 --period 0").same(ALL).both(calls_per_connection(&[2])),
        ]),
        Row::new("72", "nothing but a server and a port", [Case::new(ok(), "--num-calls 2 --burst-length 2 --no-host-hdr --http-version 1.1")
            .ours(bytes("GET / HTTP/1.1\r\nUser-Agent: httperf/VER\r\n\r\nGET / HTTP/1.1\r\nUser-Agent: httperf/VER\r\n\r\n"))
            .reference(bytes("GET / HTTP/1.1\r\nUser-Agent: httperf/VER\r\n\r\n\r\nGET / HTTP/1.1\r\nUser-Agent: httperf/VER\r\n\r\n\r\n"))
            .same(&[Echo, Layout, Stderr, Exit])
            .both(exits(0))]),
    ]
}

/// stderr is this one message behind a prefix.
fn says(message: &'static str, prefix: &'static str) -> Fact {
    that(move |seen| expect("stderr", seen.stderr().as_str(), format!("{prefix}{message}\n").as_str()))
}
