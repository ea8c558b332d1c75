//! Rows 39 to 48: servers that are not there, do not answer, or end the connection.

use std::time::Duration;

use httperf_testkit::server::Behaviour;

use crate::row::Same::{Bytes, Counts, CountsButSizes, Echo, Exit, Layout, Stderr};
use crate::row::{Case, Row, Same, between, calls_per_connection, stderr, values};

const ALL: &[Same] = &[Echo, Bytes, Counts, Layout, Stderr, Exit];

pub(crate) fn rows() -> Vec<Row> {
    vec![
        Row::new(
            "39",
            "nothing listens",
            [
                Case::new(Behaviour::Refuse, "--num-conns 3")
                    .same(ALL)
                    .both(values("connections=3 requests=0 replies=0 errors=3 connrefused=3 length=0.000")),
                Case::new(Behaviour::Refuse, "--num-conns 3 --rate 20")
                    .same(ALL)
                    .both(values("connections=3 errors=3 connrefused=3"))
                    .both(between("duration", 0.09, 0.2)),
            ],
        ),
        Row::new(
            "40",
            "nothing listens to sessions",
            [Case::new(Behaviour::Refuse, "--wsess=3,2,0 --rate 50").same(ALL).both(values(
                "connections=3 errors=3 connrefused=3 sess_ok=0 sess_all=3 sess_conns=0.00 histogram=3",
            ))],
        ),
        Row::timed(
            "41",
            "no reply in time",
            [Case::new(Behaviour::stall(), "--num-conns 5 --rate 10 --timeout 0.5")
                .same(ALL)
                .both(values("connections=5 requests=5 replies=0 errors=5 client-timo=5 concurrent=5"))
                .both(between("duration", 0.88, 1.0))],
        ),
        Row::timed(
            "42",
            "the think timeout adds to the timeout, and works alone",
            [
                Case::new(Behaviour::stall(), "--timeout 0.3 --think-timeout 0.4")
                    .same(ALL)
                    .both(values("client-timo=1"))
                    .both(between("duration", 0.69, 0.8)),
                Case::new(Behaviour::stall(), "--think-timeout 0.5")
                    .same(ALL)
                    .both(values("client-timo=1"))
                    .both(between("duration", 0.49, 0.6)),
            ],
        ),
        Row::timed(
            "42b",
            "a negative limit is none, and is taken off the other",
            [
                unlimited("--timeout -1"),
                unlimited("--think-timeout=-1"),
                unlimited("--timeout=-2 --think-timeout 0.3"),
                unlimited("--timeout 0.3 --think-timeout -0.3"),
                unlimited("--timeout -inf --think-timeout -inf"),
                Case::new(Behaviour::stall(), "--timeout 0.7 --think-timeout -0.4")
                    .same(ALL)
                    .both(values("client-timo=1"))
                    .both(between("duration", 0.29, 0.5)),
                Case::new(Behaviour::stall(), "--timeout -0.4 --think-timeout 0.7")
                    .same(ALL)
                    .both(values("client-timo=1"))
                    .both(between("duration", 0.29, 0.5)),
                Case::new(Behaviour::FullBacklog, "--timeout -1")
                    .interrupted_after(UNLIMITED)
                    .same(&[Echo, Counts, Layout, Stderr, Exit])
                    .both(values("connections=1 requests=0 errors=0")),
            ],
        ),
        Row::timed(
            "43",
            "a slow reply, in time only with a think timeout",
            [
                Case::new(slow(), "--timeout 0.4").same(ALL).both(values("replies=0 client-timo=1")),
                Case::new(slow(), "--timeout 0.4 --think-timeout 0.4")
                    .same(ALL)
                    .both(values("replies=1 errors=0")),
            ],
        ),
        // Judgement 40: the deadline is not renewed by progress.
        Row::timed(
            "44",
            "a body that trickles in is cut off",
            [Case::new(Behaviour::trickle(20, Duration::from_millis(200)), "--timeout 1")
                .same(ALL)
                .both(values("replies=0 errors=1 client-timo=1"))
                .both(between("duration", 0.99, 1.15))],
        ),
        Row::timed(
            "45",
            "every pipelined call has its own deadline",
            [Case::new(
                Behaviour::delayed(Duration::from_millis(400)),
                "--timeout 0.6 --num-calls 3 --burst-length 3",
            )
            .same(ALL)
            .both(values("requests=3 replies=1 errors=1 client-timo=1 length=1.000"))
            .both(between("duration", 0.59, 0.75))],
        ),
        Row::timed(
            "46",
            "a connect that is never answered",
            [Case::new(Behaviour::FullBacklog, "--timeout 0.7 --num-conns 2")
                .same(ALL)
                .both(values("connections=2 requests=0 replies=0 errors=2 client-timo=2"))
                .both(between("duration", 1.39, 1.6))],
        ),
        Row::new(
            "47",
            "a server that resets",
            [Case::new(Behaviour::reset(), "--num-conns 2")
                .same(ALL)
                .both(values("connections=2 requests=2 replies=0 errors=2 connreset=2"))],
        ),
        // Judgement 29: an announced close ends the connection without an error and without a request in
        // vain; the calls that were left are not made.
        Row::new(
            "48",
            "a server that announces that it closes",
            [Case::new(Behaviour::close(), "--num-calls 3 --num-conns 2")
                .same(&[Echo, Layout, Exit])
                .both(values("connections=2 replies=2 length=1.000"))
                .reference(values("errors=2 connreset=2"))
                .ours(values("requests=2 errors=0 connreset=0"))
                .ours(calls_per_connection(&[1, 1]))
.ours(stderr("httperf: warning: the server closed 2 connections before their last call; 4 calls were not made\n"))],
        ),
        Row::new(
            "48b",
            "HTTP/1.0 sessions are not troubled by servers that close",
            [Case::new(Behaviour::close(), "--wsess=2,3,0 --http-version=1.0")
                .same(&[Echo, Bytes, CountsButSizes, Layout, Stderr, Exit])
                .both(values("connections=6 requests=6 replies=6 errors=0 sess_ok=2 histogram=0_0_0_2"))],
        ),
    ]
}

/// How long something goes on that has no limit, until it is interrupted.
const UNLIMITED: Duration = Duration::from_millis(900);

/// A call that is never answered and has no limit.
fn unlimited(arguments: &str) -> Case {
    Case::new(Behaviour::stall(), arguments)
        .interrupted_after(UNLIMITED)
        .same(&[Echo, Bytes, Counts, Layout, Stderr, Exit])
        .both(values("connections=1 requests=1 replies=0 errors=0"))
}

fn slow() -> Behaviour {
    Behaviour::delayed(Duration::from_millis(600))
}
