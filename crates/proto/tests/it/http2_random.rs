//! A server that keeps to the rules of HTTP/2 and is unpredictable in all else: settings, windows, pieces, padding, order,
//! resets, GOAWAY, and where bytes are cut, both ways.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use httperf_proto::http2::{Engine, Options};
use httperf_proto::request::{Request, RequestBody, RequestParts};
use httperf_proto::{Awaited, CallId, Event, Sent};
use httperf_testkit::http2::frames::{code, frame, kind, setting};
use httperf_testkit::http2::{Fields, Incoming, Reply, Server};
use proptest::prelude::*;

/// What is chosen at random: the numbers are used one after the other, and when there are none left, the rest is done
/// without surprises.
struct Choices {
    numbers: std::vec::IntoIter<u32>,
}

impl Choices {
    /// Chooses one of `count`; the first once the choices are used up.
    fn of(&mut self, count: usize) -> usize {
        self.numbers.next().map_or(0, |number| number as usize % count)
    }

    fn from<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.of(values.len())]
    }

    fn is_over(&self) -> bool {
        self.numbers.len() == 0
    }
}

/// A request, and what its fields are to be on the wire.
#[derive(Clone, Debug)]
struct Asked {
    request: Request,
    fields: Fields,
    body: Vec<u8>,
    is_head: bool,
}

/// A request with the call's number in its path.
fn asked(call: u64, choices: &mut Choices, headers: &[(String, String)], cookies: &[String]) -> Asked {
    let method = choices.from(&["GET", "HEAD", "POST", "PUT"]);
    let size =
        if method == "POST" || method == "PUT" { choices.from(&[0, 1, 10, 3000, 20_000, 70_000]) } else { 0 };
    let body: Vec<u8> = (0..size).map(|place| (place as u64 + call) as u8).collect();
    let uri = format!("/{call}");
    let lines: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let cookie = cookies.join("; ");
    let request = RequestParts {
        method: method.as_bytes(),
        uri: uri.as_bytes(),
        http10: false,
        keep_alive: false,
        user_agent: Some("httperf/2"),
        host: Some("server"),
        forward: None,
        extra_headers: lines.as_bytes(),
        headers: b"Connection: close\r\nTE: trailers\r\n",
        cookie: (!cookies.is_empty()).then_some(cookie.as_bytes()),
        body: if size == 0 { RequestBody::None } else { RequestBody::Copied(&body) },
        websocket: None,
    }
    .request();
    let mut fields = Fields::new();
    let mut add = |name: &str, value: &str| fields.push((name.to_ascii_lowercase(), value.to_owned()));
    add(":method", method);
    add(":scheme", "http");
    add(":authority", "server");
    add(":path", &uri);
    add("user-agent", "httperf/2");
    headers.iter().for_each(|(name, value)| add(name, value));
    add("te", "trailers");
    if size > 0 {
        add("content-length", &size.to_string());
    }
    cookies.iter().for_each(|cookie| add("cookie", cookie));
    Asked { request, fields, body, is_head: method == "HEAD" }
}

/// A server's plan for a stream.
#[derive(Clone, Debug)]
struct Answer {
    call: u64,
    reply: Reply,
    interim_left: usize,
    has_head: bool,
    sent: usize,
    /// All of the request has come.
    is_asked: bool,
    received: Vec<u8>,
}

/// A client's record of a call.
#[derive(Clone, Debug, Default)]
struct Heard {
    started: Option<u16>,
    head: Option<Vec<u8>>,
    body: Vec<u8>,
    trailers: Option<Vec<u8>>,
    is_sent: [bool; 2],
    stalls: [Option<Duration>; 2],
    end: Option<&'static str>,
}

struct World {
    choices: Choices,
    now: Duration,
    client: Engine,
    window: u32,
    settings: Vec<(u16, u32)>,
    server: Server,
    /// Bytes that were handed out and not taken.
    rest: Vec<u8>,
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    /// True once the client has read anything.
    has_heard: bool,
    asked: Vec<Asked>,
    next: usize,
    heard: BTreeMap<u64, Heard>,
    answers: BTreeMap<u32, Answer>,
    /// The replies, by call.
    replied: BTreeMap<u64, Reply>,
    /// Calls that the server has processed, or says that it has not.
    processed: BTreeSet<u64>,
    /// The last stream that it has answered.
    last_answered: u32,
    is_draining: bool,
    is_gone: bool,
}

impl World {
    fn new(numbers: Vec<u32>, headers: &[(String, String)], cookies: &[String]) -> Self {
        let mut choices = Choices { numbers: numbers.into_iter() };
        let asked: Vec<Asked> = (0..12)
            .map(|call| asked(call, &mut choices, &headers[..choices_len(call, headers)], cookies))
            .collect();
        let options = Options {
            streams: choices.from(&[100, 1, 3]),
            window: choices.from(&[65_535, 1, 100, 5000, 1 << 20, (1 << 31) - 1]),
            connection_window: choices.from(&[65_535, 70_000, 1 << 20, (1 << 31) - 1]),
            header_table: choices.from(&[4096, 0, 50, 300, 65_536]),
            max_frame: choices.from(&[16_384, 20_000, (1 << 24) - 1]),
            indexes_targets: choices.of(2) == 0,
            header_blocks: true,
            trailers: true,
            bodies: true,
            ..Options::default()
        };
        let mut settings = Vec::new();
        for _ in 0..choices.of(4) {
            settings.push(random_setting(&mut choices));
        }
        Self {
            client: Engine::new(options),
            server: Server::new(&settings),
            choices,
            now: Duration::ZERO,
            window: options.window,
            settings,
            rest: Vec::new(),
            to_server: Vec::new(),
            to_client: Vec::new(),
            has_heard: false,
            asked,
            next: 0,
            heard: BTreeMap::new(),
            answers: BTreeMap::new(),
            replied: BTreeMap::new(),
            processed: BTreeSet::new(),
            last_answered: 0,
            is_draining: false,
            is_gone: false,
        }
    }

    fn run(&mut self) {
        while !self.choices.is_over() {
            self.now += Duration::from_millis(1);
            match self.choices.of(16) {
                0..2 => self.submit(),
                2..5 => self.transmit(),
                5..7 => self.deliver_to_server(),
                7..10 => self.deliver_to_client(),
                10..13 => self.answer(),
                13 => self.change(),
                14 => self.open_windows(),
                _ => self.rarely(),
            }
        }
        // Without surprises everything comes to its end.
        self.server.settings(&[(setting::MAX_CONCURRENT_STREAMS, 100)]);
        for _ in 0..20_000 {
            self.now += Duration::from_millis(1);
            self.submit();
            self.transmit();
            self.deliver_to_server();
            self.open_windows();
            self.answer();
            self.deliver_to_client();
            let is_all_offered = self.next == self.asked.len() || self.is_draining;
            if is_all_offered && self.client.pending_count() == 0 {
                return self.check_end();
            }
        }
        panic!("a stall: {:?} are pending, {:?}", self.client.pending().collect::<Vec<_>>(), self.answers);
    }

    fn submit(&mut self) {
        let Some(asked) = self.asked.get(self.next) else { return };
        let call = self.next as u64;
        if self.client.capacity() == 0 {
            let refused = self.client.submit(self.now, CallId(call), asked.request.clone());
            assert!(refused.is_err());
            return;
        }
        self.client.submit(self.now, CallId(call), asked.request.clone()).expect("there is capacity");
        self.heard.insert(call, Heard::default());
        self.next += 1;
    }

    /// The transport takes a part of what there is.
    fn transmit(&mut self) {
        let wants_write = self.client.wants_write();
        let bytes = self.client.poll_transmit(self.now).to_vec();
        assert_eq!(wants_write, !bytes.is_empty());
        assert!(bytes.starts_with(&self.rest), "what was not taken comes again");
        let taken = match self.choices.of(3) {
            0 => bytes.len(),
            1 => self.choices.of(bytes.len() + 1),
            _ => self.choices.of(30).min(bytes.len()),
        };
        // In two steps, as a transport may.
        let half = self.choices.of(taken + 1);
        self.client.handle_written(half);
        self.client.handle_written(taken - half);
        if taken < bytes.len() {
            self.client.handle_blocked();
        }
        self.to_server.extend_from_slice(&bytes[..taken]);
        self.rest = bytes[taken..].to_vec();
        assert!(self.rest.is_empty() || self.client.wants_write());
        while let Some(sent) = self.client.poll_sent() {
            let (call, place) = match sent {
                Sent::Started(call) => (call.0, 0),
                Sent::Finished(call) => (call.0, 1),
            };
            let heard = self.heard.get_mut(&call).expect("a call that was submitted");
            assert_eq!((heard.end, heard.is_sent[place]), (None, false), "call {call}");
            assert!(place == 0 || heard.is_sent[0], "call {call}");
            heard.is_sent[place] = true;
        }
        self.note_stalls();
    }

    fn note_stalls(&mut self) {
        while let Some(stall) = self.client.poll_stall() {
            let heard = self.heard.get_mut(&stall.call.0).expect("a call that was submitted");
            let place = usize::from(stall.what == Awaited::Window);
            assert_eq!(heard.stalls[place].replace(stall.time), None, "{stall:?}");
            assert!(stall.time <= self.now);
        }
    }

    fn deliver_to_server(&mut self) {
        let count = match self.choices.of(2) {
            0 => self.to_server.len(),
            _ => self.choices.of(self.to_server.len() + 1),
        };
        let bytes: Vec<u8> = self.to_server.drain(..count).collect();
        for incoming in self.server.receive(&bytes) {
            match incoming {
                Incoming::Request { stream, fields, end_stream } => {
                    self.begin_answer(stream, &fields, end_stream);
                }
                Incoming::Data { stream, bytes, end_stream } => {
                    let Some(answer) = self.answers.get_mut(&stream) else { continue };
                    answer.received.extend(bytes);
                    answer.is_asked |= end_stream;
                    let body = &self.asked[answer.call as usize].body;
                    assert!(body.starts_with(&answer.received));
                    assert!(!end_stream || *body == answer.received);
                }
                Incoming::Reset { stream, .. } => drop(self.answers.remove(&stream)),
                Incoming::GoAway { code, debug } => panic!("{code}: {debug}"),
                _ => {}
            }
        }
        let bytes = self.server.take_output();
        self.to_client.extend(bytes);
    }

    fn begin_answer(&mut self, stream: u32, fields: &Fields, is_asked: bool) {
        let (_, path) = fields.iter().find(|(name, _)| name == ":path").expect("a path");
        let call: u64 = path[1..].parse().expect("the number of the call");
        assert_eq!(*fields, self.asked[call as usize].fields);
        let status = self.choices.from(&[200, 204, 304, 404, 500]);
        let size = match status {
            204 | 304 => 0,
            // One byte at a time it takes long.
            _ if self.window == 1 => self.choices.from(&[0, 1, 100]),
            _ => self.choices.from(&[0, 1, 100, 5000, 40_000]),
        };
        let mut reply = Reply::new(status).field("x-call", &call.to_string());
        let choices = &mut self.choices;
        if choices.of(2) == 1 {
            let name = format!("x-{}", choices.of(100));
            reply = reply.field(&name, &"v".repeat(choices.of(200)));
        }
        if choices.of(2) == 1 {
            // Also where there is no content.
            let length = if matches!(status, 204 | 304) { 77 } else { size };
            reply = reply.field("content-length", &length.to_string());
        }
        if choices.of(3) == 1 {
            reply = reply.trailer("x-sum", &choices.of(1000).to_string());
        }
        if !self.asked[call as usize].is_head {
            let body: Vec<u8> = (0..size).map(|place| (place as u64 * 7 + call) as u8).collect();
            reply = reply.body(body);
        }
        reply.interim = vec![103; choices.of(3)];
        reply.padding = choices.from(&[None, None, Some(0), Some(255)]);
        reply.piece = choices.from(&[16_384, 1000, 1 << 20, 10]);
        let interim_left = reply.interim.len();
        let answer =
            Answer { call, reply, interim_left, has_head: false, sent: 0, is_asked, received: Vec::new() };
        self.answers.insert(stream, answer);
    }

    /// The server sends a frame of a reply, or of many.
    fn answer(&mut self) {
        let count = if self.choices.is_over() { 1000 } else { self.choices.of(5) };
        for _ in 0..count {
            let early = !self.choices.is_over() && self.choices.of(10) == 9;
            let ready: Vec<u32> = self
                .answers
                .iter()
                .filter(|(_, answer)| answer.is_asked || early || answer.has_head)
                .map(|(&stream, _)| stream)
                .collect();
            if ready.is_empty() {
                break;
            }
            // Without choices, whichever can continue.
            let streams =
                if self.choices.is_over() { ready } else { vec![ready[self.choices.of(ready.len())]] };
            let mut has_gone_on = false;
            for stream in streams {
                has_gone_on |= self.answer_on(stream);
            }
            if !has_gone_on {
                break;
            }
        }
        let bytes = self.server.take_output();
        self.to_client.extend(bytes);
    }

    fn answer_on(&mut self, stream: u32) -> bool {
        let answer = self.answers.get_mut(&stream).expect("an answer");
        let (server, choices) = (&mut self.server, &mut self.choices);
        let pieces = choices.from(&[16_384, 10, 50]);
        let reply = &answer.reply;
        let is_empty = reply.body.is_empty() && reply.trailers.is_empty();
        if answer.interim_left > 0 {
            answer.interim_left -= 1;
            server.head(stream, &[(":status", "103"), ("link", "</style.css>")], pieces, false);
            return true;
        }
        self.processed.insert(answer.call);
        self.last_answered = self.last_answered.max(stream);
        let is_done;
        if !answer.has_head {
            answer.has_head = true;
            let status = reply.status.to_string();
            let mut fields = vec![(":status", status.as_str())];
            fields.extend(reply.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
            // An empty DATA frame may end it as well.
            is_done = is_empty && choices.of(2) == 0;
            server.head(stream, &fields, pieces, is_done);
        } else if answer.sent < reply.body.len() || is_empty {
            let extra = reply.padding.map_or(0, |padding| usize::from(padding) + 1);
            let room = server.room(stream).min(server.frame_max());
            // A window may be smaller than the padding.
            let (padding, room) = if room > extra { (reply.padding, room - extra) } else { (None, room) };
            let count = (reply.body.len() - answer.sent).min(room).min(reply.piece);
            if count == 0 && !is_empty {
                return false;
            }
            let body = &reply.body[answer.sent..answer.sent + count];
            answer.sent += count;
            is_done = answer.sent == reply.body.len() && reply.trailers.is_empty();
            let padding = if is_empty { None } else { padding };
            server.data(stream, body, padding, is_done);
        } else {
            let trailers: Vec<_> =
                reply.trailers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            server.head(stream, &trailers, pieces, true);
            is_done = true;
        }
        if is_done {
            let answer = self.answers.remove(&stream).expect("it was there");
            self.replied.insert(answer.call, answer.reply);
        }
        true
    }

    /// The server lets the client send more.
    fn open_windows(&mut self) {
        let streams: Vec<u32> = self.answers.keys().copied().chain([0]).collect();
        let is_over = self.choices.is_over();
        for stream in streams {
            if self.server.receive_room(stream) < 100_000 && (is_over || self.choices.of(2) == 0) {
                let increment = if is_over { 200_000 } else { self.choices.from(&[1, 100, 16_384, 65_535]) };
                self.server.grant(stream, increment);
            }
        }
        self.to_client.extend(self.server.take_output());
    }

    fn change(&mut self) {
        match self.choices.of(6) {
            0 => self.server.ping(*b"01234567"),
            1 => self.server.raw(&frame(0xf0, 0x55, 0, b"unknown")),
            2 => self.server.raw(&frame(kind::PRIORITY, 0, 5, &[0; 5])),
            _ => {
                let settings: Vec<_> =
                    (0..self.choices.of(3)).map(|_| random_setting(&mut self.choices)).collect();
                self.server.settings(&settings);
            }
        }
        self.to_client.extend(self.server.take_output());
    }

    fn rarely(&mut self) {
        match self.choices.of(12) {
            0..3 => {
                // The client gives up.
                let pending: Vec<u64> = self.client.pending().map(|call| call.0).collect();
                let Some(&call) = pending.get(self.choices.of(pending.len().max(1))) else { return };
                self.client.cancel(self.now, CallId(call));
                self.note_stalls();
                self.heard.get_mut(&call).expect("it was submitted").end = Some("given up");
            }
            3..5 => {
                let streams: Vec<u32> = self.answers.keys().copied().collect();
                let Some(&stream) = streams.get(self.choices.of(streams.len().max(1))) else { return };
                let answer = self.answers.remove(&stream).expect("it is there");
                let refused = !answer.has_head && self.choices.of(2) == 0;
                let code = if refused { code::REFUSED_STREAM } else { code::INTERNAL_ERROR };
                self.server.reset(stream, code);
                self.to_client.extend(self.server.take_output());
            }
            5 if !self.is_gone => {
                self.is_gone = true;
                // Only streams that were not answered are beyond the last.
                let least = self.last_answered;
                let last = self.choices.from(&[least, least + 2, i32::MAX as u32]);
                self.server.goaway(last, code::NO_ERROR);
                self.answers.retain(|&stream, _| stream <= last);
                self.to_client.extend(self.server.take_output());
            }
            6..8 if !self.has_heard => {
                // What was sent went into the void.
                self.client.rewind(self.now);
                self.server = Server::new(&self.settings);
                self.answers.clear();
                self.replied.clear();
                self.processed.clear();
                self.last_answered = 0;
                (self.to_server, self.to_client, self.rest) = (Vec::new(), Vec::new(), Vec::new());
                for heard in self.heard.values_mut() {
                    (heard.is_sent, heard.stalls) = ([false; 2], [None; 2]);
                }
                self.is_gone = false;
            }
            _ => {}
        }
    }

    fn deliver_to_client(&mut self) {
        let count = match self.choices.of(3) {
            0 => self.to_client.len(),
            1 => self.choices.of(self.to_client.len() + 1),
            _ => self.choices.of(20).min(self.to_client.len()),
        };
        let bytes: Vec<u8> = self.to_client.drain(..count).collect();
        self.has_heard |= count > 0;
        let mut input = &bytes[..];
        while let Some(event) = self.client.poll_event(self.now, &mut input).expect("the server is right") {
            let event = event.into_owned();
            self.note_stalls();
            self.note(event);
        }
        assert!(input.is_empty());
    }

    fn note(&mut self, event: Event<'static>) {
        match event {
            Event::Draining => {
                assert!(!self.is_draining);
                self.is_draining = true;
                return;
            }
            Event::Drained => {
                assert!(self.is_draining && self.client.pending_count() == 0);
                return;
            }
            _ => {}
        }
        let call = event.call().expect("it is about a call").0;
        let heard = self.heard.get_mut(&call).expect("it was submitted");
        assert_eq!(heard.end, None, "{event:?}");
        match event {
            Event::ReplyStarted { status, .. } => assert_eq!(heard.started.replace(status), None),
            Event::ReplyHead { head, .. } => {
                assert!(heard.started.is_some());
                assert_eq!(heard.head.replace(head.as_bytes().to_vec()), None);
            }
            Event::StreamStarted { .. } => panic!("nobody wants streams"),
            Event::ReplyBody { data, .. } => {
                assert!(heard.head.is_some() && !data.is_empty());
                heard.body.extend_from_slice(&data);
            }
            Event::ReplyTrailers { fields, .. } => {
                assert!(heard.head.is_some());
                assert_eq!(heard.trailers.replace(fields.as_bytes().to_vec()), None);
            }
            Event::ReplyDone { size, .. } => {
                heard.end = Some("done");
                let reply = &self.replied[&call];
                let lines = |fields: &Fields| -> String {
                    fields.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect()
                };
                let head = format!("HTTP/2 {}\r\n{}\r\n", reply.status, lines(&reply.fields));
                assert_eq!(heard.head.as_deref(), Some(head.as_bytes()));
                let trailers = (!reply.trailers.is_empty())
                    .then(|| format!("HTTP/2\r\n{}\r\n", lines(&reply.trailers)).into_bytes());
                assert_eq!(heard.trailers, trailers);
                assert_eq!((heard.started, &heard.body), (Some(reply.status), &reply.body));
                let footer =
                    if reply.trailers.is_empty() { 0 } else { lines(&reply.trailers).len() as u64 + 2 };
                assert_eq!(
                    (size.header, size.content, size.footer),
                    (head.len() as u64, reply.body.len() as u64, footer)
                );
            }
            Event::CallReturned { .. } => {
                assert_eq!(heard.started, None);
                assert!(!self.processed.contains(&call), "call {call}");
                heard.end = Some("returned");
            }
            Event::CallFailed { .. } => heard.end = Some("failed"),
            Event::Draining | Event::Drained => unreachable!("not here"),
        }
    }

    fn check_end(&mut self) {
        assert_eq!(self.heard.len(), self.next);
        for (call, heard) in &self.heard {
            assert!(heard.end.is_some(), "call {call}");
        }
        // Everything goes out, and then nothing wants to.
        while self.client.wants_write() {
            self.transmit();
        }
    }
}

fn choices_len(call: u64, headers: &[(String, String)]) -> usize {
    // Some requests are alike, and some are not.
    if call < 6 { headers.len() } else { headers.len().min(call as usize - 6) }
}

fn random_setting(choices: &mut Choices) -> (u16, u32) {
    match choices.of(5) {
        0 => (setting::MAX_CONCURRENT_STREAMS, choices.from(&[100, 0, 1, 2])),
        1 => (setting::INITIAL_WINDOW_SIZE, choices.from(&[65_535, 0, 1, 100, 20_000, 1 << 20, 1 << 30])),
        2 => (setting::MAX_FRAME_SIZE, choices.from(&[16_384, 17_000, (1 << 24) - 1])),
        3 => (setting::HEADER_TABLE_SIZE, choices.from(&[4096, 0, 40, 120, 65_536])),
        _ => (setting::MAX_HEADER_LIST_SIZE, 100_000),
    }
}

fn name() -> impl Strategy<Value = String> {
    // None that means something to us.
    "[Xx]-[A-Za-z0-9!#$%&'*+.^_`|~-]{1,70}"
}

fn value() -> impl Strategy<Value = String> {
    "([!-~]([ -~]{0,40}[!-~])?)?"
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_call_has_its_reply_whatever_the_server_does(
        numbers in prop::collection::vec(any::<u32>(), 0..1500),
        headers in prop::collection::vec((name(), value()), 0..6),
        cookies in prop::collection::vec("[a-z]{1,5}=[!-:<-~]{0,9}", 0..4),
    ) {
        World::new(numbers, &headers, &cookies).run();
    }
}
