//! The memory that a connection of HTTP/2 takes.

use httperf_proto::CallId;
use httperf_proto::http2::{Engine, Options};
use httperf_proto::request::Request;
use httperf_testkit::http2::Script;

use crate::common::{NOW, request, request_for};

const CONTENT: [u8; 1024] = [b'x'; 1024];

/// A reply with a kilobyte, to stream 1.
fn reply() -> Vec<u8> {
    let fields = [
        (":status", "200"),
        ("server", "memory"),
        ("date", "Sat, 21 Nov 2026 17:52:37 GMT"),
        ("content-type", "text/plain"),
        ("content-length", "1024"),
    ];
    // Of two, the second consists of indices.
    let both = Script::new().head(1, &fields, false);
    let first = both.bytes().len();
    let both = both.head(1, &fields, false).data(1, &CONTENT, true);
    both.bytes()[first..].to_vec()
}

/// A connection that has had a reply to each of the first calls, `at_once` of them at a time.
struct Loaded {
    engine: Engine,
    reply: Vec<u8>,
    next_stream: u32,
    at_once: usize,
}

impl Loaded {
    fn new(at_once: usize) -> Self {
        let mut engine = Engine::new(Options { server_timing: true, ..Options::default() });
        let settings = Script::new().settings(&[]).ack();
        write_all(&mut engine);
        assert_eq!(engine.poll_event(NOW, &mut settings.bytes()), Ok(None));
        let mut loaded = Self { engine, reply: reply(), next_stream: 1, at_once };
        // The first reply brings the table its fields.
        let fields = [
            ("server", "memory"),
            ("date", "Sat, 21 Nov 2026 17:52:37 GMT"),
            ("content-type", "text/plain"),
            ("content-length", "1024"),
        ];
        let first = [&[(":status", "200")], &fields[..]].concat();
        let first = Script::new().head(1, &first, false).data(1, &CONTENT, true);
        loaded.engine.submit(NOW, CallId(0), request("GET", b"")).expect("there is room");
        write_all(&mut loaded.engine);
        let mut input = first.bytes();
        while loaded.engine.poll_event(NOW, &mut input).expect("the server is right").is_some() {}
        loaded.next_stream = 3;
        loaded
    }

    /// Makes `count` calls with these requests in turn.
    fn call(&mut self, requests: &[Request], count: usize) {
        let mut replies = 0;
        for (number, request) in requests.iter().cycle().take(count).enumerate() {
            self.engine.submit(NOW, CallId(number as u64), request.clone()).expect("there is room");
            if (number + 1) % self.at_once > 0 && number + 1 < count {
                continue;
            }
            write_all(&mut self.engine);
            while self.engine.pending_count() > 0 {
                let head = self.reply.len() - CONTENT.len() - 9;
                for frame in [0, head] {
                    self.reply[frame + 5..frame + 9].copy_from_slice(&self.next_stream.to_be_bytes());
                }
                self.next_stream += 2;
                let mut input = &self.reply[..];
                while self.engine.poll_event(NOW, &mut input).expect("the server is right").is_some() {}
                replies += 1;
            }
        }
        assert_eq!(replies, count);
    }
}

fn write_all(engine: &mut Engine) {
    while engine.wants_write() {
        let count = engine.poll_transmit(NOW).len();
        engine.handle_written(count);
        while engine.poll_sent().is_some() {}
    }
}

#[track_caller]
fn check(at_once: usize, requests: &[Request]) {
    let mut loaded = Loaded::new(at_once);
    loaded.call(requests, 2000);
    let info = allocation_counter::measure(|| loaded.call(requests, 10_000));
    assert_eq!(info.count_total, 0, "{info:?}");
}

#[test]
fn calls_allocate_nothing() {
    check(1, &[request("GET", b"")]);
    check(10, &[request("GET", b"")]);
    check(100, &[request("GET", b"")]);
}

#[test]
fn calls_with_different_requests_allocate_nothing_either() {
    let requests: Vec<Request> =
        (0..50).map(|number| request_for("GET", &format!("/some/path/{number}.html"), b"")).collect();
    check(10, &requests);
}

#[test]
fn calls_with_bodies_allocate_nothing_as_long_as_they_have_windows() {
    let mut loaded = Loaded::new(1);
    // Those of the connection are opened far; each stream has its own.
    let update = Script::new().window_update(0, (1 << 31) - 1 - 65_535);
    assert_eq!(loaded.engine.poll_event(NOW, &mut update.bytes()), Ok(None));
    let post = [request("POST", &[b'x'; 10_000])];
    loaded.call(&post, 100);
    let info = allocation_counter::measure(|| loaded.call(&post, 1000));
    assert_eq!(info.count_total, 0, "{info:?}");
}

#[test]
fn an_idle_connection_is_small() {
    let mut engine = None;
    let info = allocation_counter::measure(|| {
        let mut fresh = Engine::new(Options::default());
        write_all(&mut fresh);
        let script =
            Script::new().settings(&[(3, 100), (4, 65_536), (5, 16_777_215)]).window_update(0, 1 << 20).ack();
        assert_eq!(fresh.poll_event(NOW, &mut script.bytes()), Ok(None));
        write_all(&mut fresh);
        drop(script);
        engine = Some(Box::new(fresh));
    });
    assert!(info.bytes_current < 4096, "{} bytes", info.bytes_current);
    println!("an idle connection has {} bytes", info.bytes_current);
    drop(engine);
}

#[test]
fn a_connection_that_is_idle_again_is_small() {
    let info = allocation_counter::measure(|| {
        let mut loaded = Box::new(Loaded::new(10));
        loaded.call(&[request("GET", b"")], 100);
        std::mem::forget(loaded);
    });
    println!("a connection that is idle again has {} bytes", info.bytes_current);
    assert!(info.bytes_current < 16 * 1024, "{} bytes", info.bytes_current);
}
