//! Replies of few bytes that stand for many: they are decompressed in steps, and nothing that comes behind them is lost.

use std::io::Read;
use std::time::Duration;

use flate2::Compression;
use flate2::read::{DeflateEncoder, GzEncoder, ZlibEncoder};
use httperf_testkit::sim::{Action, Edit, HttpPeer, Link, connections, run};

const NOW: Duration = Duration::ZERO;

/// The size of a body, far beyond a step of a decoder.
const SIZE: u64 = 5 << 20;

fn encoded(coding: &str) -> Vec<u8> {
    let body = vec![b'x'; usize::try_from(SIZE).expect("it fits")];
    let mut bytes = Vec::new();
    match coding {
        "gzip" => GzEncoder::new(&body[..], Compression::best()).read_to_end(&mut bytes),
        "zlib" => ZlibEncoder::new(&body[..], Compression::best()).read_to_end(&mut bytes),
        _ => DeflateEncoder::new(&body[..], Compression::best()).read_to_end(&mut bytes),
    }
    .expect("a buffer takes all");
    bytes
}

/// A reply in this coding.
fn replies(coding: &str, ends: bool) -> Vec<u8> {
    let (name, body) = (if coding == "gzip" { "gzip" } else { "deflate" }, encoded(coding));
    let connection = if ends { "Connection: close\r\n" } else { "" };
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Encoding: {name}\r\n{connection}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), &body].concat()
}

#[test]
fn replies_that_expand_are_complete_and_the_connection_goes_on() {
    for coding in ["gzip", "zlib", "deflate"] {
        for (calls, ends) in [(3, false), (1, true)] {
            let mut plan = connections(2, calls, 10);
            plan.change(|plan| plan.replies.compressed = true);
            let peer = HttpPeer::new(move |_| {
                let mut actions = vec![Action::Send(NOW, replies(coding, ends))];
                if ends {
                    actions.push(Action::Close(NOW));
                }
                actions
            });
            let summary = run(&plan, Link::default(), peer).summary;
            let replies = calls * 2;
            assert_eq!((summary.replies, summary.compressed.replies), (replies, replies), "{coding}");
            assert_eq!(summary.compressed.decoded_bytes, replies * SIZE, "{coding}");
        }
    }
}
