//! QUIC against the server's side of another owner, without a network.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use httperf_testkit::quic::{self as peer, Happening};
use proptest::prelude::*;
use rustls::crypto::aws_lc_rs::kx_group;

use super::*;
use crate::tls::{self, Kind};

const MS: Duration = Duration::from_millis(1);

/// A client and a server, a millisecond apart.
struct Pair {
    client: Connection,
    server: peer::Server,
    now: Duration,
    /// The datagrams to lose, by number among all.
    lost: Vec<usize>,
    count: usize,
    tickets: Vec<Ticket>,
    events: Vec<Event>,
}

fn server_address() -> SocketAddr {
    "192.0.2.1:443".parse().unwrap()
}

fn client_address() -> SocketAddr {
    "192.0.2.2:50000".parse().unwrap()
}

fn h3(options: tls::Options) -> tls::Options {
    tls::Options { alpn: vec![b"h3".to_vec()], ..options }
}

impl Pair {
    fn new(options: &peer::Options) -> Self {
        Self::with(options, &Options::default(), tls::Options::default())
    }

    fn with(server: &peer::Options, options: &Options, tls: tls::Options) -> Self {
        let epoch = Instant::now();
        let context = Context::new(options, &h3(tls), epoch).unwrap();
        Self::of(peer::Server::new(server, epoch), &context, None)
    }

    fn of(server: peer::Server, context: &Context, ticket: Option<Ticket>) -> Self {
        let now = Duration::from_secs(1);
        let client = context.connect(now, server_address(), Some("server"), [7; 32], ticket).unwrap();
        Self { client, server, now, lost: Vec::new(), count: 0, tickets: Vec::new(), events: Vec::new() }
    }

    fn loses(&mut self) -> bool {
        self.count += 1;
        self.lost.contains(&(self.count - 1))
    }

    /// Lets both ends say what they have to say. Returns whether either had anything.
    fn exchange(&mut self) -> bool {
        let mut is_news = false;
        let mut out = Vec::new();
        while let Some(sent) = self.client.poll_transmit(self.now, 10, &mut out) {
            for datagram in out.chunks(sent.segment) {
                is_news = true;
                if !self.loses() {
                    self.server.handle(self.now + MS, client_address(), datagram);
                }
            }
            out.clear();
        }
        self.now += MS;
        while let Some((_, datagram)) = self.server.poll_transmit(self.now) {
            is_news = true;
            if !self.loses() {
                let size = datagram.len();
                let bytes = BytesMut::from(&datagram[..]);
                self.tickets.extend(self.client.handle_datagrams(self.now + MS, bytes, size, None));
            }
        }
        self.now += MS;
        while let Some(event) = self.client.poll() {
            is_news = true;
            self.events.push(event);
        }
        is_news
    }

    /// As [`exchange`](Self::exchange), and lets time pass if they have nothing. Returns false if nothing is left to happen.
    fn step(&mut self) -> bool {
        if self.exchange() {
            return true;
        }
        let timers = [self.client.poll_timeout(), self.server.poll_timeout()];
        let Some(next) = timers.into_iter().flatten().min() else { return false };
        self.now = self.now.max(next);
        if self.client.poll_timeout().is_some_and(|timer| timer <= self.now) {
            self.client.handle_timeout(self.now);
        }
        self.server.handle_timeout(self.now);
        true
    }

    fn until(&mut self, is_done: impl Fn(&[Event]) -> bool) {
        for _ in 0..10_000 {
            if is_done(&self.events) {
                return;
            }
            assert!(self.step(), "nothing more happens: {:?}", self.events);
        }
        panic!("it does not come: {:?}", self.events);
    }

    fn connect(&mut self) {
        self.until(|events| events.iter().any(|event| matches!(event, Event::Established)));
        self.settle();
    }

    /// Lets both ends say all that they have to say.
    fn settle(&mut self) {
        while self.exchange() {}
    }

    fn lost_because(&mut self) -> Loss {
        self.until(|events| events.iter().any(|event| matches!(event, Event::Lost(_))));
        let loss = self.events.iter().find_map(|event| match event {
            Event::Lost(loss) => Some(loss.clone()),
            _ => None,
        });
        loss.unwrap()
    }

    /// Reads a stream to its end.
    fn read_all(&mut self, id: StreamId) -> Vec<u8> {
        let mut all = Vec::new();
        for _ in 0..100_000 {
            match self.client.read(id) {
                Chunk::Bytes(bytes) => all.extend_from_slice(&bytes),
                Chunk::Pending => assert!(self.step(), "nothing more happens"),
                Chunk::End => return all,
                Chunk::Reset(code) => panic!("reset with {code}"),
            }
        }
        panic!("it does not end");
    }

    /// Answers each stream that the client has ended with these bytes.
    fn answer(&mut self, body: &[u8]) -> Vec<Vec<u8>> {
        let mut asked = Vec::new();
        for (handle, happening) in self.server.happenings() {
            if let Happening::Opened(id) | Happening::Readable(id) = happening {
                let (bytes, is_end) = self.server.read(handle, id);
                if is_end {
                    asked.push(bytes);
                    assert_eq!(self.server.write(handle, id, body, true), body.len());
                }
            }
        }
        asked
    }
}

#[test]
fn a_handshake_says_what_was_agreed_on() {
    for (groups, expected) in [
        (None, "X25519MLKEM768"),
        (Some("X25519"), "X25519"),
        (Some("P-256"), "P-256"),
        (Some("P-384"), "P-384"),
    ] {
        let tls = tls::Options { groups: groups.map(str::to_owned), ..tls::Options::default() };
        let mut pair = Pair::with(&peer::Options::new(), &Options::default(), tls);
        assert!(!pair.client.is_open());
        pair.connect();
        let handshake = pair.client.handshake();
        assert_eq!((handshake.kind, handshake.hello_retry), (Kind::Full, false));
        assert_eq!((handshake.version, handshake.group), ("TLSv1.3", Some(expected)));
        assert_eq!(handshake.cipher, "TLS_AES_128_GCM_SHA256");
        assert_eq!(handshake.signature, Some("ecdsa_secp256r1_sha256"));
        assert_eq!(handshake.protocol, Some(&b"h3"[..]));
        assert!((200..3000).contains(&handshake.sent), "{handshake:?}");
        assert!((400..4000).contains(&handshake.received), "{handshake:?}");
        let certificate = pair.client.certificate(0).unwrap();
        assert_eq!((certificate.subject.as_str(), certificate.chain_length), ("CN=server", 1));
    }
}

#[test]
fn post_quantum_keys_take_another_datagram_each_way() {
    let figures = |groups: &str| {
        let tls = tls::Options { groups: Some(groups.to_owned()), ..tls::Options::default() };
        let mut pair = Pair::with(&peer::Options::new(), &Options::default(), tls);
        pair.connect();
        let handshake = pair.client.handshake();
        (handshake.sent, handshake.received, pair.client.handshake_figures())
    };
    let (sent, received, classic) = figures("X25519");
    let (pq_sent, pq_received, pq) = figures("X25519MLKEM768");
    // rustls offers the share of X25519 alone beside that of the hybrid.
    assert!((1184..=1300).contains(&(pq_sent - sent)), "{sent} {pq_sent}");
    // Shares of 1120 and of 32 bytes. quinn sends a reserved transport parameter of up to 24 bytes, whose length is random
    // (RFC 9000, section 18.1), and so are, by a few bytes, those of two signatures.
    assert!((1056..=1120).contains(&(pq_received - received)), "{received} {pq_received}");
    assert!(pq.datagrams_sent > classic.datagrams_sent, "{pq:?} {classic:?}");
}

#[test]
fn a_group_that_the_server_lacks_costs_a_round_trip() {
    let server = peer::Options { groups: vec![kx_group::SECP256R1], ..peer::Options::new() };
    let tls = tls::Options { groups: Some("X25519:P-256".to_owned()), ..tls::Options::default() };
    let mut pair = Pair::with(&server, &Options::default(), tls);
    pair.connect();
    let handshake = pair.client.handshake();
    assert_eq!((handshake.hello_retry, handshake.group), (true, Some("P-256")));
    let tls = tls::Options { groups: Some("X25519".to_owned()), ..tls::Options::default() };
    let mut pair = Pair::with(&server, &Options::default(), tls);
    let Loss::Failed(failure) = pair.lost_because() else { panic!("it is TLS that fails") };
    assert_eq!(failure.reason, "alert handshake_failure from the server");
}

#[test]
fn what_quic_cannot_do_is_refused_by_name() {
    let refuse = |tls: tls::Options| {
        Context::new(&Options::default(), &tls, Instant::now()).map(drop).unwrap_err().to_string()
    };
    for group in ABSENT_GROUPS {
        let tls = tls::Options { groups: Some((*group).to_owned()), ..tls::Options::default() };
        assert_eq!(refuse(tls), format!("the key-exchange group {group} is not there over QUIC"));
    }
    let tls = tls::Options { groups: Some("P-257".to_owned()), ..tls::Options::default() };
    assert_eq!(refuse(tls), "no key-exchange group is called `P-257`");
    let tls = tls::Options { trust: Some(b"nothing".to_vec()), ..tls::Options::default() };
    assert_eq!(refuse(tls), "no PEM certificate to trust in it");
    let tls =
        tls::Options { signature_algorithms: Some("rsa_pkcs1_md5".to_owned()), ..tls::Options::default() };
    assert_eq!(refuse(tls), "no signature algorithm is called `rsa_pkcs1_md5`");
}

#[test]
fn certificates_are_checked_as_over_tcp() {
    let server = peer::Options::new();
    let pem = server.identity.certificate_pem();
    let check = |trust: Vec<u8>, name: Option<&str>| {
        let tls = tls::Options { trust: Some(trust), ..tls::Options::default() };
        let epoch = Instant::now();
        let context = Context::new(&Options::default(), &h3(tls), epoch).unwrap();
        let mut pair = Pair::of(peer::Server::new(&server, epoch), &context, None);
        pair.client = context.connect(pair.now, server_address(), name, [7; 32], None).unwrap();
        pair.until(|events| events.iter().any(|event| matches!(event, Event::Established | Event::Lost(_))));
        pair.events.into_iter().find_map(|event| match event {
            Event::Lost(Loss::Failed(failure)) => Some(failure.reason.into_owned()),
            _ => None,
        })
    };
    assert_eq!(check(pem.clone(), Some("server")), None);
    let untrusted = "certificate not trusted: self signed certificate";
    assert_eq!(check(Vec::new(), Some("server")).as_deref(), Some(untrusted));
    let mismatch = "certificate not trusted: Hostname mismatch";
    assert_eq!(check(pem.clone(), Some("elsewhere")).as_deref(), Some(mismatch));
    let mismatch = "certificate not trusted: IP address mismatch";
    assert_eq!(check(pem, None).as_deref(), Some(mismatch));
}

#[test]
fn a_client_shows_its_certificate() {
    let authority = httperf_testkit::quic::Identity::self_signed("client").unwrap();
    let server =
        peer::Options { clients_of: Some(authority.certificate.to_der().unwrap()), ..peer::Options::new() };
    let mut pair = Pair::new(&server);
    let Loss::Failed(failure) = pair.lost_because() else { panic!("it is TLS that fails") };
    assert_eq!(failure.reason, "alert certificate_required from the server");
    let identity = tls::Identity { certificates: authority.certificate_pem(), key: authority.key_pem() };
    let tls = tls::Options { identity: Some(identity), ..tls::Options::default() };
    let mut pair = Pair::with(&server, &Options::default(), tls);
    pair.connect();
}

#[test]
fn streams_carry_requests_and_replies() {
    let mut pair = Pair::new(&peer::Options::new());
    pair.connect();
    let ids: Vec<StreamId> = (0..3_u64)
        .map(|place| {
            let id = pair.client.open_request().unwrap();
            assert_eq!((id.index(), id.number(), id.is_request()), (place, 4 * place, true));
            assert_eq!(pair.client.write(id, b"question"), Written::Bytes(8));
            pair.client.finish(id);
            id
        })
        .collect();
    let before = pair.client.figures();
    // All leave in one datagram.
    let mut out = Vec::new();
    let sent = pair.client.poll_transmit(pair.now, 10, &mut out).unwrap();
    assert!(sent.segment == out.len() && pair.client.poll_transmit(pair.now, 10, &mut Vec::new()).is_none());
    assert!(!pair.client.is_due());
    assert_eq!(pair.client.figures().datagrams_sent, before.datagrams_sent + 1);
    pair.server.handle(pair.now, client_address(), &out);
    assert_eq!(pair.answer(&[b'x'; 5000]).len(), 3);
    for id in ids {
        assert_eq!(pair.read_all(id), vec![b'x'; 5000]);
    }
}

#[test]
fn a_server_bounds_streams_and_bytes() {
    let mut pair = Pair::new(&peer::Options { streams: 2, window: 1000, ..peer::Options::new() });
    pair.connect();
    let first = pair.client.open_request().unwrap();
    pair.client.open_request().unwrap();
    assert_eq!(pair.client.open_request(), None);
    assert_eq!(pair.client.write(first, &[0; 1500]), Written::Bytes(1000));
    assert_eq!(pair.client.write(first, &[0; 500]), Written::Bytes(0));
    pair.events.clear();
    let mut arrived = 0;
    while !pair.events.iter().any(|event| matches!(event, Event::Writable(id) if *id == first)) {
        assert!(pair.step(), "it may write on");
        for (handle, happening) in pair.server.happenings() {
            if let Happening::Opened(id) | Happening::Readable(id) = happening {
                arrived += pair.server.read(handle, id).0.len();
            }
        }
    }
    assert_eq!((arrived, pair.client.write(first, &[0; 500])), (1000, Written::Bytes(500)));
    pair.client.finish(first);
    while !pair.events.iter().any(|event| matches!(event, Event::MoreStreams)) {
        assert!(pair.step(), "it may open another");
        pair.answer(b"done");
        pair.client.read(first);
    }
    assert!(pair.client.open_request().is_some());
}

#[test]
fn a_session_is_resumed_with_early_data_or_without() {
    for (takes_early, offers_early) in [(true, true), (false, true), (true, false)] {
        let epoch = Instant::now();
        let server = peer::Options { early_data: takes_early, ..peer::Options::new() };
        let tls = tls::Options { sessions: true, early_data: offers_early, ..tls::Options::default() };
        let context = Context::new(&Options::default(), &h3(tls), epoch).unwrap();
        let mut pair = Pair::of(peer::Server::new(&server, epoch), &context, None);
        pair.connect();
        pair.settle();
        let ticket = pair.tickets.pop().expect("the server gives tickets");
        let mut pair = Pair::of(pair.server, &context, Some(ticket));
        let is_early = takes_early && offers_early;
        assert_eq!(pair.client.is_open(), is_early);
        if is_early {
            let id = pair.client.open_request().unwrap();
            assert_eq!(pair.client.write(id, b"early"), Written::Bytes(5));
            pair.client.finish(id);
        }
        pair.connect();
        let kind = if is_early { Kind::EarlyData } else { Kind::Resumed };
        assert_eq!(pair.client.handshake().kind, kind, "{takes_early} {offers_early}");
        assert_eq!(pair.client.early_data() == tls::EarlyData::Accepted, is_early);
        if is_early {
            assert_eq!(pair.answer(b"soon"), [b"early"]);
        }
    }
}

#[test]
fn early_data_that_is_refused_is_to_be_sent_again() {
    let epoch = Instant::now();
    let options = peer::Options::new();
    let tls = tls::Options { sessions: true, early_data: true, ..tls::Options::default() };
    let context = Context::new(&Options::default(), &h3(tls), epoch).unwrap();
    let mut pair = Pair::of(peer::Server::new(&options, epoch), &context, None);
    pair.connect();
    pair.settle();
    let ticket = pair.tickets.pop().expect("the server gives tickets");
    // Another server cannot read the ticket.
    let mut pair = Pair::of(peer::Server::new(&options, epoch), &context, Some(ticket));
    let id = pair.client.open_request().unwrap();
    pair.client.write(id, b"early");
    pair.connect();
    assert!(
        matches!(pair.events[..], [.., Event::EarlyDataRejected, Event::Established]),
        "{:?}",
        pair.events
    );
    assert_eq!(pair.client.handshake().kind, Kind::Full);
    assert_eq!(pair.client.early_data(), tls::EarlyData::Rejected);
    let id = pair.client.open_request().unwrap();
    assert_eq!(id.index(), 0);
}

#[test]
fn a_server_that_asks_for_another_group_resumes_and_refuses_early_data() {
    let epoch = Instant::now();
    let server =
        peer::Options { groups: vec![kx_group::SECP256R1], early_data: true, ..peer::Options::new() };
    let groups = Some("X25519:P-256".to_owned());
    let tls = tls::Options { sessions: true, early_data: true, groups, ..tls::Options::default() };
    let context = Context::new(&Options::default(), &h3(tls), epoch).unwrap();
    let mut pair = Pair::of(peer::Server::new(&server, epoch), &context, None);
    pair.connect();
    pair.settle();
    assert!(pair.client.handshake().hello_retry);
    let ticket = pair.tickets.pop().expect("the server gives tickets");
    let mut pair = Pair::of(pair.server, &context, Some(ticket));
    let id = pair.client.open_request().unwrap();
    pair.client.write(id, b"early");
    pair.connect();
    let handshake = pair.client.handshake();
    assert_eq!((handshake.kind, handshake.hello_retry), (Kind::Resumed, true));
    assert_eq!(pair.client.early_data(), tls::EarlyData::Rejected);
}

#[test]
fn a_retry_is_followed_and_told_of() {
    let mut pair = Pair::new(&peer::Options { retries: true, ..peer::Options::new() });
    pair.connect();
    assert!(pair.client.is_retried());
    let mut pair = Pair::new(&peer::Options::new());
    pair.connect();
    assert!(!pair.client.is_retried());
}

#[test]
fn the_end_of_a_connection_has_a_reason() {
    let mut pair = Pair::new(&peer::Options::new());
    pair.connect();
    let (handle, _) = pair.server.happenings().remove(0);
    pair.server.close(pair.now, handle, 0x107, b"too much");
    assert_eq!(pair.lost_because(), Loss::Closed(0x107, "too much".to_owned()));

    let mut pair = Pair::new(&peer::Options::new());
    pair.connect();
    pair.server.forget_all();
    assert_eq!(pair.lost_because(), Loss::TimedOut);

    let mut pair = Pair::new(&peer::Options { protocols: vec![b"h9".to_vec()], ..peer::Options::new() });
    let Loss::Failed(failure) = pair.lost_because() else { panic!("TLS fails") };
    assert_eq!(failure.reason, "alert no_application_protocol from the server");

    let mut pair = Pair::new(&peer::Options::new());
    pair.connect();
    pair.client.close(pair.now, 0x100);
    let mut out = Vec::new();
    assert!(pair.client.poll_transmit(pair.now, 10, &mut out).is_some());
    pair.server.handle(pair.now, client_address(), &out);
    let is_told = |(_, happening): &(_, Happening)| {
        matches!(happening, Happening::Lost(quinn_proto::ConnectionError::ApplicationClosed(close))
            if close.error_code.into_inner() == 0x100)
    };
    assert!(pair.server.happenings().iter().any(is_told));
}

#[test]
fn each_end_may_give_up_a_stream() {
    let mut pair = Pair::new(&peer::Options::new());
    pair.connect();
    let ids: Vec<StreamId> = (0..2)
        .map(|_| {
            let id = pair.client.open_request().unwrap();
            pair.client.write(id, b"question");
            id
        })
        .collect();
    pair.settle();
    let happened = pair.server.happenings().into_iter();
    let opened = happened.filter_map(|(handle, happening)| match happening {
        Happening::Opened(id) => Some((handle, id)),
        _ => None,
    });
    let opened: Vec<_> = opened.collect();
    let [(handle, one), (_, two)] = opened[..] else { panic!("two were opened: {opened:?}") };
    pair.server.reset(handle, one, 0x10c);
    pair.server.stop(handle, two, 0x100);
    pair.settle();
    assert_eq!(pair.client.read(ids[0]), Chunk::Reset(0x10c));
    let stopped = pair.events.iter().any(|event| matches!(event, Event::Stopped(id, 0x100) if *id == ids[1]));
    assert!(stopped, "{:?}", pair.events);
    assert_eq!(pair.client.write(ids[1], b"more"), Written::Stopped);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    /// Whatever is lost, what was sent arrives in order, and losses are counted.
    #[test]
    fn what_is_lost_is_sent_again(lost in proptest::collection::vec(0_usize..60, 0..12), size in 1_usize..60_000) {
        let mut pair = Pair::new(&peer::Options::new());
        pair.lost = lost;
        pair.connect();
        let id = pair.client.open_request().unwrap();
        let question: Vec<u8> = (0..size).map(|place| place as u8).collect();
        prop_assert_eq!(pair.client.write(id, &question), Written::Bytes(size));
        pair.client.finish(id);
        let mut arrived = Vec::new();
        for _ in 0..10_000 {
            pair.step();
            for (handle, happening) in pair.server.happenings() {
                if let Happening::Opened(id) | Happening::Readable(id) = happening {
                    let (bytes, is_end) = pair.server.read(handle, id);
                    arrived.extend(bytes);
                    if is_end {
                        pair.server.write(handle, id, b"got it", true);
                    }
                }
            }
            if arrived.len() == size {
                break;
            }
        }
        prop_assert!(arrived == question);
        prop_assert_eq!(pair.read_all(id), b"got it");
    }

    /// No bytes of a stranger disturb a connection.
    #[test]
    fn bytes_of_strangers_are_dropped(bytes in proptest::collection::vec(any::<u8>(), 1..1500)) {
        let mut pair = Pair::new(&peer::Options::new());
        pair.connect();
        let size = bytes.len();
        pair.client.handle_datagrams(pair.now, BytesMut::from(&bytes[..]), size, None);
        let id = pair.client.open_request().unwrap();
        pair.client.write(id, b"question");
        pair.client.finish(id);
        pair.settle();
        prop_assert_eq!(pair.answer(b"answer").len(), 1);
        prop_assert_eq!(pair.read_all(id), b"answer");
    }
}
