//! Servers that keep to the rules of HTTP/2 in ways that are easily got wrong.

mod ends;
mod replies;
mod settings;

use std::time::Duration;

use httperf_proto::http2::{Engine, Options};
use httperf_proto::{Awaited, CallId, Event, Sent, Stall};
use httperf_testkit::http2::frames::{code, flag, headers, kind, padded, setting};
use httperf_testkit::http2::{Frame, Incoming, Reply, Script, Server, owned};

use crate::common;
use crate::common::{
    NOW, body, connection, done, failed, feed, flush, gets, head, last, play, play_parts, request,
    request_for, returned, started,
};

const OK: &[(&str, &str)] = &[(":status", "200")];
const OK_TEXT: &str = "HTTP/2 200\r\n\r\n";

fn options() -> Options {
    Options { header_blocks: true, bodies: true, ..Options::default() }
}

fn server() -> Script {
    Script::new().settings(&[])
}

/// A client and a server that talk to each other.
struct Pair {
    client: Engine,
    server: Server,
    events: Vec<Event<'static>>,
    heard: Vec<Incoming>,
}

impl Pair {
    fn new(options: Options, settings: &[(u16, u32)]) -> Self {
        Self {
            client: Engine::new(options),
            server: Server::new(settings),
            events: Vec::new(),
            heard: Vec::new(),
        }
    }

    fn submit(&mut self, call: u64, method: &str, body: &[u8]) {
        self.client.submit(NOW, CallId(call), request(method, body)).expect("there is room");
    }

    /// Passes on what each has to say, until neither has anything.
    fn talk(&mut self) {
        loop {
            let from_client = flush(&mut self.client);
            self.heard.extend(self.server.receive(&from_client));
            let from_server = self.server.take_output();
            let (events, end) = feed(&mut self.client, &[], &mut Vec::new());
            assert_eq!((events, end), (Vec::new(), Ok(())));
            let mut input = &from_server[..];
            while let Some(event) = self.client.poll_event(NOW, &mut input).expect("the server is right") {
                common::join(&mut self.events, event);
            }
            if from_client.is_empty() && from_server.is_empty() {
                return;
            }
        }
    }

    /// Returns how much of the body of a stream has arrived.
    fn received(&self, stream: u32) -> usize {
        let size = |incoming: &Incoming| match incoming {
            Incoming::Data { stream: its, bytes, .. } if *its == stream => bytes.len(),
            _ => 0,
        };
        self.heard.iter().map(size).sum()
    }

    fn take_events(&mut self) -> Vec<Event<'static>> {
        common::without_reasons(std::mem::take(&mut self.events))
    }
}
