//! Causes of failures: for each, a peer that shows it, and what is recorded of it.

use std::time::Duration;

use httperf_plan::{HttpVersion, Limits, Plan, Proxy, Timeouts, Tls};
use httperf_stats::{CauseKind, Summary};
use httperf_testkit::sim::{Action, Edit, Link, Peer, Reception, connections, run};

const NOW: Duration = Duration::ZERO;
const LATER: Duration = Duration::from_millis(20);

/// The end of what a peer says.
#[derive(Clone, Copy, Debug)]
enum Then {
    Waits,
    Closes,
    Resets,
}

/// Answers the first bytes of each connection with these bytes.
struct Scripted {
    reception: Reception,
    answer: Vec<u8>,
    then: Then,
    answered: Vec<usize>,
}

impl Scripted {
    fn new(answer: &[u8], then: Then) -> Self {
        Self { reception: Reception::Accept, answer: answer.to_vec(), then, answered: Vec::new() }
    }
}

impl Peer for Scripted {
    fn accept(&mut self, _: usize, _: Duration) -> Reception {
        self.reception
    }

    fn receive(&mut self, connection: usize, _: Duration, _: &[u8]) -> Vec<Action> {
        if self.answered.contains(&connection) {
            return Vec::new();
        }
        self.answered.push(connection);
        let mut actions = Vec::new();
        if !self.answer.is_empty() {
            actions.push(Action::Send(NOW, self.answer.clone()));
        }
        match self.then {
            Then::Waits => {}
            Then::Closes => actions.push(Action::Close(LATER)),
            Then::Resets => actions.push(Action::Reset(LATER)),
        }
        actions
    }
}

fn plan() -> Plan {
    connections(3, 1, 1).with(|plan| {
        plan.timeouts = Timeouts { timeout: Some(Duration::from_millis(500)), think_timeout: None };
    })
}

fn over_http2() -> Plan {
    plan().with(|plan| plan.request.version = HttpVersion::Http2)
}

fn over_tls() -> Plan {
    plan().with(|plan| plan.tls = Some(Tls::default()))
}

fn finished(plan: &Plan, peer: impl Peer + 'static) -> Summary {
    let run = run(plan, Link { latency: Duration::from_millis(1), ..Link::default() }, peer);
    assert!(!run.is_endless);
    run.summary
}

/// All three connections failed for this cause, by the books.
#[track_caller]
fn check(summary: &Summary, kind: CauseKind, detail: &str) {
    let kinds = summary.causes.by_frequency();
    let [(seen, details)] = kinds[..] else { panic!("expected {kind:?} alone, got {kinds:?}") };
    assert_eq!((seen, details.by_frequency()), (kind, vec![(detail, 3)]));
    assert_eq!((summary.errors.count(kind.class()), summary.errors.total()), (3, 3));
}

#[test]
fn below_http() {
    for (reception, kind) in
        [(Reception::Refuse, CauseKind::Refused), (Reception::Ignore, CauseKind::ConnectTimedOut)]
    {
        let peer = Scripted { reception, ..Scripted::new(b"", Then::Waits) };
        check(&finished(&plan(), peer), kind, "");
    }
}

#[test]
fn over_http_1() {
    let half = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello";
    let mut fields = b"HTTP/1.1 200 OK\r\n".to_vec();
    (0..300).for_each(|number| fields.extend(format!("X-{number}: y\r\n").bytes()));
    fields.extend(b"\r\n");
    let limit = Limits::default().reply_fields;
    let many = format!("more than {limit} header fields in a reply");
    let rows: [(&[u8], Then, CauseKind, &str); 15] = [
        (b"", Then::Waits, CauseKind::ReplyTimedOut, ""),
        (b"", Then::Closes, CauseKind::ClosedUnanswered, ""),
        (b"", Then::Resets, CauseKind::ResetUnanswered, ""),
        (half, Then::Waits, CauseKind::BodyTimedOut, ""),
        (half, Then::Closes, CauseKind::ClosedMidReply, ""),
        (half, Then::Resets, CauseKind::ResetMidReply, ""),
        (b"HTTP/1.1 20", Then::Waits, CauseKind::BodyTimedOut, ""),
        (b"HTTP/1.1 20", Then::Closes, CauseKind::ClosedMidReply, ""),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
            Then::Closes,
            CauseKind::Malformed,
            "invalid Content-Length",
        ),
        (&fields, Then::Closes, CauseKind::LimitExceeded, &many),
        (b"\x15\x03\x01\x00\x02\x02\x28", Then::Closes, CauseKind::SpeaksTls, ""),
        (b"\x15\x03\x03\x00\x02\x02\x0a", Then::Waits, CauseKind::SpeaksTls, ""),
        (b"\0\0\x06\x04\0\0\0\0\0\0\x03\0\0\0\x0a", Then::Waits, CauseKind::SpeaksHttp2, ""),
        (b"220 mail.example", Then::Closes, CauseKind::NotHttp, "220 mail.example"),
        (b"220 mail\0", Then::Waits, CauseKind::NotHttp, r"220 mail\x00"),
    ];
    for (answer, then, kind, detail) in rows {
        check(&finished(&plan(), Scripted::new(answer, then)), kind, detail);
    }
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// The server's settings, the acknowledgement of ours, and further frames.
fn frames(further: &[Vec<u8>]) -> Vec<u8> {
    [frame(4, 0, 0, b""), frame(4, 1, 0, b""), further.concat()].concat()
}

fn reset(code: u32) -> Vec<u8> {
    frame(3, 0, 1, &code.to_be_bytes())
}

fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(7, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

#[test]
fn over_http_2() {
    const OK: u8 = 0x88;
    let short = frames(&[frame(1, 4, 1, &[OK, 0x0f, 0x0d, 2, b'1', b'0']), frame(0, 1, 1, b"ok")]);
    let rows: [(Vec<u8>, Then, CauseKind, &str); 14] = [
        (frames(&[reset(2)]), Then::Waits, CauseKind::StreamReset, "INTERNAL_ERROR"),
        (frames(&[reset(8)]), Then::Waits, CauseKind::StreamReset, "CANCEL"),
        (frames(&[reset(0x1234)]), Then::Waits, CauseKind::StreamReset, "0x1234"),
        (short, Then::Waits, CauseKind::ReplyRejected, "content that does not match its content-length"),
        (frames(&[frame(1, 4, 1, &[OK]), reset(2)]), Then::Waits, CauseKind::StreamReset, "INTERNAL_ERROR"),
        (frames(&[goaway(1, 11)]), Then::Closes, CauseKind::GoAway, "ENHANCE_YOUR_CALM"),
        (frames(&[goaway(1, 2)]), Then::Resets, CauseKind::GoAway, "INTERNAL_ERROR"),
        (
            frames(&[frame(6, 0, 1, b"12345678")]),
            Then::Waits,
            CauseKind::Violation,
            "a PING frame on a stream that is not 0",
        ),
        (
            frames(&[frame(8, 0, 0, &0x7fff_ffff_u32.to_be_bytes())]),
            Then::Waits,
            CauseKind::Violation,
            "a window beyond 2^31 - 1",
        ),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(), Then::Closes, CauseKind::SpeaksHttp1, ""),
        (b"220 mail.example ESMTP\r\n".to_vec(), Then::Closes, CauseKind::NotHttp, ""),
        (b"\x15\x03\x01\x00\x02\x02\x28".to_vec(), Then::Closes, CauseKind::SpeaksTls, ""),
        (Vec::new(), Then::Closes, CauseKind::ClosedUnanswered, ""),
        (frames(&[]), Then::Waits, CauseKind::ReplyTimedOut, ""),
    ];
    for (answer, then, kind, detail) in rows {
        check(&finished(&over_http2(), Scripted::new(&answer, then)), kind, detail);
    }
}

#[test]
fn a_server_is_as_hopeless_if_its_bytes_come_in_one_read_as_if_they_do_not() {
    let together = frames(&[frame(6, 0, 1, b"12345678")]);
    let summary = finished(&over_http2(), Scripted::new(&together, Then::Waits));
    let http2 = summary.http2.expect("it was HTTP/2");
    assert_eq!((http2.hopeless(), http2.spoken.count("HTTP/2")), (None, 3));
}

#[test]
fn in_tls() {
    let alert = |code: u8| [b"\x15\x03\x03\x00\x02\x02".as_slice(), &[code]].concat();
    for (code, name) in [
        (40, "handshake_failure"),
        (42, "bad_certificate"),
        (45, "certificate_expired"),
        (48, "unknown_ca"),
        (70, "protocol_version"),
        (80, "internal_error"),
        (112, "unrecognized_name"),
        (116, "certificate_required"),
        (120, "no_application_protocol"),
        (200, "200"),
    ] {
        let summary = finished(&over_tls(), Scripted::new(&alert(code), Then::Closes));
        check(&summary, CauseKind::TlsAlert, name);
    }
    let rows: [(&[u8], Then, CauseKind, &str); 4] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", Then::Closes, CauseKind::NotTls, "wrong version number"),
        (b"220 mail.example ESMTP\r\n", Then::Waits, CauseKind::NotTls, "wrong version number"),
        (b"", Then::Closes, CauseKind::TlsClosed, ""),
        (b"", Then::Waits, CauseKind::TlsTimedOut, ""),
    ];
    for (answer, then, kind, detail) in rows {
        check(&finished(&over_tls(), Scripted::new(answer, then)), kind, detail);
    }
}

#[test]
fn through_a_proxy() {
    let plan = || {
        plan().with(|plan| {
            let authority = httperf_plan::Authority { host: "proxy".to_owned(), port: 3128 };
            plan.targets[0].authority = Some(authority.clone());
            plan.proxy = Some(Proxy { authority, authorization: None, tunnel: true });
        })
    };
    let rows: [(&[u8], Then, CauseKind, &str); 7] = [
        (b"HTTP/1.1 407 No\r\n\r\n", Then::Closes, CauseKind::ProxyRefused, "407"),
        (b"HTTP/1.1 502 No\r\n\r\n", Then::Waits, CauseKind::ProxyRefused, "502"),
        (b"HTTP/1.1 403 No\r\n\r\n", Then::Resets, CauseKind::ProxyRefused, "403"),
        (b"", Then::Closes, CauseKind::ProxyClosed, ""),
        (b"", Then::Waits, CauseKind::ProxyTimedOut, ""),
        (b"HTTP/1.1 200 Half", Then::Waits, CauseKind::ProxyTimedOut, ""),
        (b"\x15\x03\x01\x00\x02\x02\x28", Then::Closes, CauseKind::ProxyMalformed, "the server speaks TLS"),
    ];
    for (answer, then, kind, detail) in rows {
        check(&finished(&plan(), Scripted::new(answer, then)), kind, detail);
    }
}
