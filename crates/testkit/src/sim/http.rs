//! A peer that understands HTTP/1.1 requests.

use std::collections::HashMap;
use std::time::Duration;

use super::{Action, Peer, Reception};

/// A complete request received by an [`HttpPeer`].
#[derive(Clone, Debug)]
pub struct RequestSeen {
    /// Number of its connection, from 0.
    pub connection: usize,
    /// Number of earlier requests on that connection.
    pub index: usize,
    /// Time at which its last byte arrived.
    pub at: Duration,
    /// Request line and header lines.
    pub head: String,
    /// Body.
    pub body: Vec<u8>,
}

impl RequestSeen {
    /// Request target.
    #[must_use]
    pub fn uri(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }
}

/// Accepts every connection and answers every request by a function.
pub struct HttpPeer<F> {
    answer: F,
    connections: HashMap<usize, (Vec<u8>, usize)>,
}

impl<F: FnMut(&RequestSeen) -> Vec<Action>> HttpPeer<F> {
    /// Creates a peer that answers each request with `answer`.
    pub fn new(answer: F) -> Self {
        Self { answer, connections: HashMap::new() }
    }
}

impl<F> std::fmt::Debug for HttpPeer<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpPeer").field("connections", &self.connections.len()).finish_non_exhaustive()
    }
}

impl<F: FnMut(&RequestSeen) -> Vec<Action>> Peer for HttpPeer<F> {
    fn accept(&mut self, _: usize, _: Duration) -> Reception {
        Reception::Accept
    }

    fn receive(&mut self, connection: usize, at: Duration, bytes: &[u8]) -> Vec<Action> {
        let (unread, index) = self.connections.entry(connection).or_default();
        unread.extend_from_slice(bytes);
        let mut actions = Vec::new();
        while let Some((head, body, size)) = parse(unread) {
            let request = RequestSeen { connection, index: *index, at, head, body };
            unread.drain(..size);
            *index += 1;
            actions.extend((self.answer)(&request));
        }
        actions
    }
}

/// First complete request: head, body, and total size.
fn parse(bytes: &[u8]) -> Option<(String, Vec<u8>, usize)> {
    let head_size = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&bytes[..head_size]).into_owned();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-length: "));
    let size = head_size + length.map_or(0, |length| length.parse().expect("our own requests are right"));
    let body = bytes.get(head_size..size)?.to_vec();
    Some((head, body, size))
}

/// Builds a reply with a body and additional header lines (each with its line end).
#[must_use]
pub fn reply(status: u16, fields: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n{fields}\r\n{body}", body.len()).into_bytes()
}
