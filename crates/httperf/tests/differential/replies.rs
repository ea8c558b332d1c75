//! Rows 49 to 59: forms of replies, printing them, and how connections are closed and bound.

use std::time::Duration;

use httperf_testkit::server::{Behaviour, End, Reply};

use crate::row::Same::{Bytes, Counts, Echo, Exit, Layout, Printed, Stderr};
use crate::row::{Case, Fact, Row, Same, between, expect, printed, that, values};

const ALL: &[Same] = &[Echo, Bytes, Counts, Layout, Stderr, Exit];
const PRINTED: &[Same] = &[Echo, Bytes, Counts, Layout, Printed, Stderr, Exit];

pub(crate) fn rows() -> Vec<Row> {
    let ok = Behaviour::ok;
    vec![
        Row::new(
            "49",
            "a body that ends with the connection",
            [Case::new(Behaviour::eof_body(), "--num-conns 2")
                .same(ALL)
                .both(values("replies=2 errors=0 header=19.0 content=5.0"))],
        ),
        Row::new(
            "50",
            "a chunked body",
            [Case::new(Behaviour::chunked(), "--num-calls 3")
                .same(ALL)
                .both(values("replies=3 header=47.0 content=5.0 footer=2.0 total=54.0"))],
        ),
        Row::new(
            "51",
            "chunk extensions, trailers and upper-case sizes",
            [Case::new(Behaviour::chunked_with_trailers(), "--num-calls 2")
                .same(ALL)
                .both(values("replies=2 header=47.0 content=26.0 footer=22.0 total=95.0"))],
        ),
        Row::new(
            "52",
            "statuses with and without a body",
            [
                Case::new(Behaviour::statuses(&[204, 205, 304, 301, 404, 500]), "--num-calls 6")
                    .same(ALL)
                    .both(values("replies=6 1xx=0 2xx=2 3xx=2 4xx=1 5xx=1 content=2.0 errors=0")),
                Case::new(Behaviour::statuses(&[204]), "--num-calls 2")
                    .same(ALL)
                    .both(values("2xx=2 content=0.0 header=27.0")),
                Case::new(Behaviour::statuses(&[205]), "--num-calls 2")
                    .same(ALL)
                    .both(values("2xx=2 content=0.0")),
                Case::new(Behaviour::statuses(&[304]), "--num-calls 2")
                    .same(ALL)
                    .both(values("3xx=2 content=0.0")),
            ],
        ),
        Row::new(
            "53",
            "bare line feeds",
            [Case::new(Behaviour::lf_only(), "--num-calls 2")
                .same(ALL)
                .both(values("replies=2 header=35.0 content=5.0 total=40.0"))],
        ),
        // Judgement 39: the reference loses the part of the header that came before the status line was whole.
        Row::new(
            "54",
            "one byte at a time",
            [
                Case::new(Behaviour::byte_by_byte(Duration::from_millis(1)), "--num-calls 2")
                    .same(&[Echo, Bytes, Layout, Stderr, Exit])
                    .both(values("replies=2 content=5.0 footer=0.0"))
                    // 22 if no two bytes come together, which a busy machine may bring about.
                    .reference(between("header", 22.0, 37.0))
                    .ours(values("header=38.0 total=43.0")),
                Case::new(chunks_byte_by_byte(), "")
                    .same(&[Echo, Bytes, Layout, Stderr, Exit])
                    .both(values("replies=1 content=5.0 footer=8.0"))
                    .ours(values("header=47.0")),
            ],
        ),
        Row::new(
            "55",
            "printing requests and replies",
            [Case::new(ok(), "--print-reply --print-request").same(PRINTED).both(printed(
                &["S", "R"],
                &[
                    "SH0:GET / HTTP/1.1\r",
                    "SH0:User-Agent: httperf/VER\r",
                    "SH0:Host: 127.0.0.1\r",
                    "SH0:\r",
                    "SS0: header 62 content 0",
                    "RH0:HTTP/1.1 200 OK\r",
                    "RH0:Content-Length: 5\r",
                    "RH0:\r",
                    "RB0:hello",
                    "RS0: header 38 content 5 footer 0",
                ],
            ))],
        ),
        Row::new(
            "56",
            "printing a part",
            [
                Case::new(ok(), "--print-reply=header --print-request=header").same(PRINTED).both(printed(
                    &["RB", "SB", "RS", "SS"],
                    &["SS0: header 62 content 0", "RS0: header 38 content 5 footer 0"],
                )),
                Case::new(ok(), "--print-reply=body --print-request=body").same(PRINTED).both(printed(
                    &["S", "R"],
                    &["SS0: header 62 content 0", "RB0:hello", "RS0: header 38 content 5 footer 0"],
                )),
                // Judgement 60: the word is not the value of the option, which prints both parts.
                Case::new(ok(), "--print-reply header")
                    .same(&[Echo, Bytes, Counts, Layout, Printed, Exit])
                    .both(printed(&["RB"], &["RB0:hello"])),
            ],
        ),
        Row::new(
            "57",
            "printing bodies of lines",
            [Case::new(
                Behaviour::each(Reply::ok(b"one\r\ntwo\n\nthree\n")),
                "--print-reply=body --num-calls 2",
            )
            .same(PRINTED)
            .both(printed(
                &["R"],
                &[
                    "RB0:one\r",
                    "RB0:two",
                    "RB0:",
                    "RB0:three",
                    "RS0: header 39 content 16 footer 0",
                    "RB1:one\r",
                    "RB1:two",
                    "RB1:",
                    "RB1:three",
                    "RS1: header 39 content 16 footer 0",
                ],
            ))],
        ),
        Row::new(
            "58",
            "closing with a reset",
            [
                Case::new(ok(), "--close-with-reset --num-conns 2").same(ALL).both(closed_by(End::ClientRst)),
                Case::new(ok(), "--num-conns 2").same(ALL).both(closed_by(End::ClientFin)),
            ],
        ),
        Row::new(
            "59",
            "choosing local ports",
            [Case::new(ok(), "--hog --num-conns 5").same(ALL).both(that(|seen| {
                let ports: Vec<u16> = seen.records.iter().map(|record| record.peer_port).collect();
                let distinct: std::collections::BTreeSet<_> = ports.iter().collect();
                if ports.iter().all(|&port| port >= 1024) && distinct.len() == 5 {
                    return Ok(());
                }
                Err(format!("came from ports {ports:?}"))
            }))],
        ),
    ]
}

fn chunks_byte_by_byte() -> Behaviour {
    let reply = Reply::bytes(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        .body(b"2\r\nhe\r\n3\r\nllo\r\n0\r\nA: b\r\n\r\n");
    Behaviour::each(reply.byte_by_byte(Duration::from_millis(1)))
}

fn closed_by(how: End) -> Fact {
    that(move |seen| {
        let ends: Vec<Option<End>> =
            seen.records.iter().map(|record| record.ended.map(|ended| ended.how)).collect();
        expect("ends", ends, vec![Some(how); 2])
    })
}
