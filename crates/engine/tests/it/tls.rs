//! Whole runs of a worker over TLS, in memory.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use boring::ssl::SslVersion;
use httperf_plan::{HttpVersion, Plan, Resumption, Timeouts, Tls, TlsVersion, Workload};
use httperf_stats::{Failure, HandshakeFailureClass, HandshakeKind, TlsSummary};
use httperf_testkit::sim::{
    Action, Edit, Goodbye, HttpPeer, Link, Peer, Reception, Run, TlsPeer, at_once, connections, reply, run,
    sessions, tls_server, uniform,
};

const NOW: Duration = Duration::ZERO;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn secured(mut plan: Plan, tls: Tls) -> Plan {
    plan.change(|plan| plan.targets[0].tls_name = Some("server".to_owned()));
    plan.with(|plan| plan.tls = Some(tls))
}

fn resuming(share: f64) -> Tls {
    Tls { resumption: Resumption::Share(share), ..Tls::default() }
}

fn ok() -> impl Peer {
    HttpPeer::new(|_| vec![Action::Send(NOW, reply(200, "", "hello"))])
}

fn server(inner: impl Peer) -> impl Peer {
    TlsPeer::new(inner, tls_server().build(), Goodbye::Said)
}

fn tls(run: &Run) -> &TlsSummary {
    assert!(!run.is_endless, "the run must end by itself");
    run.summary.tls.as_ref().expect("the plan wants TLS")
}

fn completed(run: &Run, kind: HandshakeKind) -> u64 {
    tls(run).handshakes_of(kind).time.moments.count()
}

#[test]
fn calls_travel_over_tls_and_the_connect_time_includes_the_handshake() {
    let link = Link { latency: ms(10), ..Link::default() };
    let run = run(&secured(connections(3, 4, 2), Tls::default()), link, server(ok()));
    let summary = &run.summary;
    assert_eq!((summary.replies, summary.content_bytes, summary.errors.total()), (12, 60, 0));
    assert_eq!(completed(&run, HandshakeKind::Full), 3);
    assert_eq!(tls(&run).versions.count("TLSv1.3"), 3);
    assert_eq!(tls(&run).transport.moments.mean(), 0.020);
    assert_eq!(tls(&run).handshakes[0].time.moments.mean(), 0.020);
    assert_eq!(summary.connect.moments.mean(), 0.040);
    let certificate = tls(&run).certificate.as_ref().unwrap();
    assert_eq!((certificate.key.as_str(), certificate.chain_length), ("EC P-256", 1));
}

#[test]
fn the_session_of_a_session_is_resumed_by_its_further_connections() {
    let mut plan = sessions(2, uniform(3, 1, NOW));
    plan.change(|plan| plan.request.version = HttpVersion::Http10);
    for max in [TlsVersion::Tls12, TlsVersion::Tls13] {
        let with = |resumption| secured(plan.clone(), Tls { resumption, max, ..Tls::default() });
        let outcome = run(&with(Resumption::WithinSession), Link::default(), server(ok()));
        assert_eq!(completed(&outcome, HandshakeKind::Full), 2, "{max:?}");
        assert_eq!(completed(&outcome, HandshakeKind::Resumed), 4, "{max:?}");
        let outcome = run(&with(Resumption::Never), Link::default(), server(ok()));
        assert_eq!(completed(&outcome, HandshakeKind::Full), 6, "{max:?}");
    }
}

#[test]
fn the_share_asked_for_resumes_whether_or_not_calls_are_made() {
    for calls in [0, 1] {
        for (share, resumed) in [(0.0, 0), (0.3, 60), (1.0, 199)] {
            let plan = secured(connections(200, calls, 1), resuming(share));
            let outcome = run(&plan, Link { latency: ms(1), ..Link::default() }, server(ok()));
            assert_eq!(completed(&outcome, HandshakeKind::Resumed), resumed, "{calls} calls, {share}");
            assert_eq!(completed(&outcome, HandshakeKind::Full), 200 - resumed);
            assert_eq!(outcome.summary.errors.total(), 0);
        }
    }
}

#[test]
fn a_connection_that_waits_for_a_ticket_in_vain_is_the_last_to_do_so() {
    let mut builder = tls_server();
    builder.set_options(boring::ssl::SslOptions::NO_TICKET);
    let peer = TlsPeer::new(ok(), builder.build(), Goodbye::Said);
    let outcome = run(&secured(connections(50, 0, 1), resuming(0.5)), Link::default(), peer);
    assert_eq!(completed(&outcome, HandshakeKind::Full), 50);
    assert_eq!((outcome.summary.errors.total(), outcome.summary.duration), (0, Duration::from_secs(1)));
}

#[test]
fn a_goodbye_that_comes_with_the_ticket_ends_a_connection_once() {
    let peer = TlsPeer::new(ok(), tls_server().build(), Goodbye::AtOnce);
    let outcome = run(&secured(connections(50, 0, 1), resuming(1.0)), Link::default(), peer);
    assert_eq!(completed(&outcome, HandshakeKind::Resumed), 49);
    assert_eq!(outcome.summary.errors.total(), 0);
}

#[test]
fn a_reset_in_place_of_the_ticket_ends_a_connection_too() {
    struct Resetting<P>(P, Vec<u32>);
    impl<P: Peer> Peer for Resetting<P> {
        fn accept(&mut self, connection: usize, at: Duration) -> Reception {
            self.1.push(0);
            self.0.accept(connection, at)
        }
        fn receive(&mut self, connection: usize, at: Duration, bytes: &[u8]) -> Vec<Action> {
            let mut actions = self.0.receive(connection, at, bytes);
            self.1[connection] += 1;
            if self.1[connection] == 2 {
                actions.push(Action::Reset(ms(1)));
            }
            actions
        }
    }
    let mut builder = tls_server();
    builder.set_options(boring::ssl::SslOptions::NO_TICKET);
    let peer = Resetting(TlsPeer::new(ok(), builder.build(), Goodbye::Said), Vec::new());
    let outcome = run(&secured(connections(5, 0, 1), resuming(0.5)), Link::default(), peer);
    assert_eq!((completed(&outcome, HandshakeKind::Full), outcome.summary.errors.total()), (5, 0));
}

#[test]
fn so_many_arrivals_as_asked_for_go_on_at_once() {
    let plan = connections(40, 0, 1).with(|plan| plan.arrivals = at_once(4));
    let outcome =
        run(&secured(plan, Tls::default()), Link { latency: ms(1), ..Link::default() }, server(ok()));
    assert_eq!((completed(&outcome, HandshakeKind::Full), outcome.summary.concurrent_max), (40, 4));
    // Ten rounds of a connect and a handshake.
    assert_eq!(outcome.summary.duration, ms(40));
}

fn early(plan: Plan) -> Plan {
    secured(plan, Tls { early_data: true, ..resuming(1.0) })
}

#[test]
fn safe_requests_travel_as_early_data_and_others_wait() {
    for (method, kind, accepted) in
        [(&b"GET"[..], HandshakeKind::EarlyData, 9), (b"POST", HandshakeKind::EarlyData, 0)]
    {
        let mut plan = early(connections(10, 1, 1));
        plan.change(|plan| plan.request.method = method.to_vec());
        let seen = Rc::new(RefCell::new(Vec::new()));
        let log = Rc::clone(&seen);
        let inner = HttpPeer::new(move |request| {
            log.borrow_mut().push(request.at);
            vec![Action::Send(NOW, reply(200, "", "hello"))]
        });
        let outcome = run(&plan, Link { latency: ms(1), ..Link::default() }, server(inner));
        assert_eq!(completed(&outcome, kind), 9);
        assert_eq!(outcome.summary.replies, 10);
        let early = tls(&outcome).early_requests;
        assert_eq!((early.accepted, early.rejected, early.replayed), (accepted, 0, 0));
        // The second connection: a round trip to connect, and its request with the ClientHello or after a further
        // round trip.
        let wait = seen.borrow()[1] - outcome.connections[1].initiated;
        assert_eq!(wait, if accepted > 0 { ms(3) } else { ms(5) });
    }
}

#[test]
fn refused_early_data_is_sent_again_and_counted() {
    // Each connection meets another server, which knows nothing of the session it offers.
    struct Changing(Vec<Box<dyn Peer>>);
    impl Peer for Changing {
        fn accept(&mut self, connection: usize, at: Duration) -> Reception {
            self.0.push(Box::new(server(ok())));
            self.0[connection].accept(connection, at)
        }
        fn receive(&mut self, connection: usize, at: Duration, bytes: &[u8]) -> Vec<Action> {
            self.0[connection].receive(connection, at, bytes)
        }
    }
    let outcome = run(&early(connections(5, 2, 2)), Link::default(), Changing(Vec::new()));
    assert_eq!((outcome.summary.replies, outcome.summary.errors.total()), (10, 0));
    assert_eq!(completed(&outcome, HandshakeKind::Full), 5);
    let early = tls(&outcome).early_requests;
    assert!(early.rejected > 0 && early.accepted == 0, "{early:?}");
    assert_eq!(early.rejected, early.replayed);
    assert_eq!(outcome.summary.requests, 10 + early.rejected, "what was sent twice counts twice");
}

/// Does the same with the bytes of every connection.
struct Responding(Vec<Action>);

impl Peer for Responding {
    fn accept(&mut self, _: usize, _: Duration) -> Reception {
        Reception::Accept
    }

    fn receive(&mut self, _: usize, _: Duration, _: &[u8]) -> Vec<Action> {
        self.0.clone()
    }
}

#[test]
fn every_way_in_which_a_handshake_fails_is_counted_with_its_reason() {
    let timeouts = Timeouts { timeout: Some(ms(50)), think_timeout: None };
    let plan = secured(connections(3, 1, 1).with(|plan| plan.timeouts = timeouts), Tls::default());
    let garbage = Action::Send(NOW, b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec());
    let alert = Action::Send(NOW, b"\x15\x03\x03\x00\x02\x02\x28".to_vec());
    for (actions, failure, class, reason) in [
        (vec![], Failure::ClientTimeout, HandshakeFailureClass::Transport, "no answer in time"),
        (
            vec![Action::Close(NOW)],
            Failure::Reset,
            HandshakeFailureClass::Transport,
            "the server closed the connection",
        ),
        (
            vec![Action::Reset(NOW)],
            Failure::Reset,
            HandshakeFailureClass::Transport,
            "the server closed the connection",
        ),
        (vec![garbage], Failure::Other, HandshakeFailureClass::Protocol, "wrong version number"),
        (
            vec![alert],
            Failure::Other,
            HandshakeFailureClass::Protocol,
            "alert handshake_failure from the server",
        ),
    ] {
        let outcome = run(&plan, Link::default(), Responding(actions));
        assert_eq!(outcome.summary.errors.count(failure), 3, "{reason}");
        assert_eq!(tls(&outcome).failures.count(reason), 3, "{:?}", tls(&outcome).failures);
        let first = tls(&outcome).hopeless().expect("nothing succeeded");
        assert_eq!((first.class, first.reason.as_ref()), (class, reason));
    }
}

#[test]
fn a_refused_connection_makes_no_handshake_but_counts_as_hopeless() {
    struct Refusing;
    impl Peer for Refusing {
        fn accept(&mut self, _: usize, _: Duration) -> Reception {
            Reception::Refuse
        }
        fn receive(&mut self, _: usize, _: Duration, _: &[u8]) -> Vec<Action> {
            Vec::new()
        }
    }
    let outcome = run(&secured(connections(3, 1, 1), Tls::default()), Link::default(), Refusing);
    assert_eq!(outcome.summary.errors.count(Failure::Refused), 3);
    assert_eq!(tls(&outcome).failed(), 0);
    assert_eq!(tls(&outcome).hopeless().unwrap().reason, "connection refused");
}

#[test]
fn a_run_that_succeeds_after_its_first_handshakes_failed_is_not_hopeless() {
    struct Improving<P>(P);
    impl<P: Peer> Peer for Improving<P> {
        fn accept(&mut self, connection: usize, at: Duration) -> Reception {
            self.0.accept(connection, at)
        }
        fn receive(&mut self, connection: usize, at: Duration, bytes: &[u8]) -> Vec<Action> {
            match connection {
                0 => vec![Action::Close(NOW)],
                1 => vec![Action::Send(NOW, b"HTTP/1.1 400 This is no TLS\r\n\r\n".to_vec())],
                _ => self.0.receive(connection, at, bytes),
            }
        }
    }
    let outcome =
        run(&secured(connections(4, 1, 1), Tls::default()), Link::default(), Improving(server(ok())));
    assert_eq!((outcome.summary.replies, tls(&outcome).failed(), tls(&outcome).completed()), (2, 2, 2));
    assert_eq!(tls(&outcome).hopeless(), None);
}

#[test]
fn a_reply_that_ends_with_the_connection_must_end_with_a_close_notify() {
    let until_close = || {
        HttpPeer::new(|_| {
            vec![Action::Send(NOW, b"HTTP/1.1 200 OK\r\n\r\nhello".to_vec()), Action::Close(NOW)]
        })
    };
    let plan = secured(connections(3, 1, 1), Tls::default());
    let outcome = run(&plan, Link::default(), server(until_close()));
    assert_eq!((outcome.summary.replies, outcome.summary.content_bytes, tls(&outcome).truncated), (3, 15, 0));
    let cut = TlsPeer::new(until_close(), tls_server().build(), Goodbye::Withheld);
    let outcome = run(&plan, Link::default(), cut);
    assert_eq!((outcome.summary.replies, tls(&outcome).truncated), (0, 3));
    assert_eq!(outcome.summary.errors.count(Failure::Reset), 3);
}

#[test]
fn a_server_that_hangs_up_between_calls_without_a_word_is_noted() {
    let closing =
        || HttpPeer::new(|_| vec![Action::Send(NOW, reply(200, "", "hello")), Action::Close(ms(1))]);
    let script = uniform(3, 1, ms(5));
    let plan = secured(sessions(1, script), Tls::default());
    for (goodbye, unclean) in [(Goodbye::Said, 0), (Goodbye::Withheld, 2)] {
        let outcome = run(&plan, Link::default(), TlsPeer::new(closing(), tls_server().build(), goodbye));
        assert_eq!((outcome.summary.replies, tls(&outcome).unclean_closes), (3, unclean), "{goodbye:?}");
        assert_eq!(outcome.summary.errors.total(), 0);
    }
}

#[test]
fn a_large_request_is_sent_whole_over_a_link_that_takes_it_piecemeal() {
    let mut plan = secured(connections(5, 2, 1), Tls::default());
    plan.change(|plan| {
        plan.request.extra_headers = format!("X-Large: {}\r\n", "x".repeat(200_000)).into_bytes();
    });
    for seed in 0..20 {
        let inner = HttpPeer::new(|request| {
            assert!(request.head.len() > 200_000);
            vec![Action::Send(NOW, reply(200, "", &"y".repeat(100_000)))]
        });
        let link = Link { seed, latency: ms(1), hostile: true, ..Link::default() };
        let outcome = run(&plan, link, server(inner));
        assert_eq!((outcome.summary.requests, outcome.summary.replies), (10, 10), "seed {seed}");
        assert_eq!(outcome.summary.content_bytes, 1_000_000);
    }
}

#[test]
fn old_versions_carry_calls_too() {
    for (version, name) in [
        (TlsVersion::Tls10, "TLSv1"),
        (TlsVersion::Tls11, "TLSv1.1"),
        (TlsVersion::Tls12, "TLSv1.2"),
        (TlsVersion::Tls13, "TLSv1.3"),
    ] {
        let plan = secured(connections(2, 3, 3), Tls { min: version, max: version, ..Tls::default() });
        let outcome = run(&plan, Link { hostile: true, ..Link::default() }, server(ok()));
        assert_eq!((outcome.summary.replies, tls(&outcome).versions.count(name)), (6, 2), "{name}");
    }
}

#[test]
fn a_server_without_the_offered_version_says_so() {
    let mut builder = tls_server();
    builder.set_max_proto_version(Some(SslVersion::TLS1_2)).unwrap();
    let tls13 = Tls { min: TlsVersion::Tls13, ..Tls::default() };
    let peer = TlsPeer::new(ok(), builder.build(), Goodbye::Said);
    let outcome = run(&secured(connections(2, 1, 1), tls13), Link::default(), peer);
    assert_eq!(tls(&outcome).failures.count("alert protocol_version from the server"), 2);
    assert!(matches!(&outcome.summary.errors, errors if errors.count(Failure::Other) == 2));
}

#[test]
fn an_error_of_tls_after_the_handshake_is_counted_by_its_reason() {
    struct Spoiling<P>(P);
    impl<P: Peer> Peer for Spoiling<P> {
        fn accept(&mut self, connection: usize, at: Duration) -> Reception {
            self.0.accept(connection, at)
        }
        fn receive(&mut self, connection: usize, at: Duration, bytes: &[u8]) -> Vec<Action> {
            let mut actions = self.0.receive(connection, at, bytes);
            // The reply is the only thing of this size.
            for action in &mut actions {
                if let Action::Send(_, bytes) = action
                    && bytes.len() > 2000
                {
                    bytes[1000] ^= 1;
                }
            }
            actions
        }
    }
    let inner = HttpPeer::new(|_| vec![Action::Send(NOW, reply(200, "", &"y".repeat(5000)))]);
    let plan = secured(connections(2, 1, 1), Tls::default());
    assert!(matches!(plan.workload, Workload::Connections(_)));
    let outcome = run(&plan, Link::default(), Spoiling(server(inner)));
    assert_eq!((outcome.summary.replies, outcome.summary.errors.count(Failure::Other)), (0, 2));
    assert_eq!(
        tls(&outcome).errors.count("decryption failed or bad record mac"),
        2,
        "{:?}",
        tls(&outcome).errors
    );
    assert_eq!(tls(&outcome).failed(), 0);
}
