//! Whole runs of a worker through an HTTP proxy, in memory.

use std::collections::HashMap;
use std::time::Duration;

use httperf_plan::{Authority, Plan, Proxy, Resumption, Timeouts, Tls};
use httperf_stats::{DurationMoments, Failure};
use httperf_testkit::sim::{
    Action, Edit, Goodbye, HttpPeer, Link, Peer, Reception, Run, TlsPeer, connections, reply, run, sessions,
    tls_server, uniform,
};

const NOW: Duration = Duration::ZERO;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// The plan, through a proxy that wants a password.
fn through(plan: Plan, tunnel: bool) -> Plan {
    let authority = |host: &str, port| Authority { host: host.into(), port };
    let authorization = Some("Basic dTpw".to_owned());
    let proxy = Proxy { authority: authority("proxy", 3128), authorization, tunnel };
    plan.with(|plan| {
        plan.targets[0].authority = Some(authority("server.example", 8080));
        plan.targets[0].tls_name = Some("server".to_owned());
        plan.proxy = Some(proxy);
    })
}

fn secured(plan: Plan, resumption: Resumption) -> Plan {
    plan.with(|plan| plan.tls = Some(Tls { resumption, ..Tls::default() }))
}

fn ok() -> impl Peer {
    HttpPeer::new(|_| vec![Action::Send(NOW, reply(200, "", "hello"))])
}

fn server() -> impl Peer {
    TlsPeer::new(ok(), tls_server().build(), Goodbye::Said)
}

/// A proxy with a server behind it: answers what comes first on a connection like this, and hands on the rest.
struct Before<P> {
    answer: &'static str,
    delay: Duration,
    inner: P,
    /// What came on each connection until there was an answer to it.
    unanswered: HashMap<usize, Option<Vec<u8>>>,
}

impl<P> Before<P> {
    fn new(inner: P) -> Self {
        Self {
            answer: "HTTP/1.0 200 Established\r\nVia: x\r\n\r\n",
            delay: NOW,
            inner,
            unanswered: HashMap::new(),
        }
    }
}

impl<P: Peer> Peer for Before<P> {
    fn accept(&mut self, connection: usize, at: Duration) -> Reception {
        self.inner.accept(connection, at)
    }

    fn receive(&mut self, connection: usize, at: Duration, bytes: &[u8]) -> Vec<Action> {
        let state = self.unanswered.entry(connection).or_insert_with(|| Some(Vec::new()));
        let Some(request) = state else { return self.inner.receive(connection, at, bytes) };
        request.extend_from_slice(bytes);
        if !request.ends_with(b"\r\n\r\n") {
            return Vec::new();
        }
        assert_eq!(
            String::from_utf8_lossy(request),
            "CONNECT server.example:8080 HTTP/1.1\r\nUser-Agent: httperf/0\r\nHost: server.example:8080\r\n\
             Proxy-Authorization: Basic dTpw\r\n\r\n"
        );
        *state = None;
        vec![Action::Send(self.delay, self.answer.into())]
    }
}

fn mean_ms(moments: &DurationMoments) -> f64 {
    (moments.mean() * 1e3).round()
}

#[track_caller]
fn check(run: &Run, connections: u64, replies: u64) {
    let summary = &run.summary;
    assert!(!run.is_endless, "the run must end by itself");
    assert_eq!((summary.connections, summary.replies, summary.errors.total()), (connections, replies, 0));
}

#[test]
fn requests_to_a_proxy_name_the_server() {
    let run = run(&through(connections(1, 2, 1), false), Link::default(), ok());
    check(&run, 1, 2);
    let request = "GET http://server.example:8080/ HTTP/1.1\r\nUser-Agent: httperf/0\r\nHost: server\r\n\
                   Proxy-Authorization: Basic dTpw\r\n\r\n";
    assert_eq!(run.connections[0].text(), request.repeat(2));
}

#[test]
fn the_time_until_there_is_a_tunnel_belongs_to_the_connect_time() {
    let link = Link { latency: ms(10), ..Link::default() };
    let peer = || Before { delay: ms(5), ..Before::new(ok()) };
    let outcome = run(&through(connections(3, 4, 2), true), link, peer());
    check(&outcome, 3, 12);
    assert_eq!(mean_ms(&outcome.summary.connect.moments), 45.0);
    let plan = secured(through(connections(3, 4, 2), true), Resumption::Never);
    let outcome = run(&plan, link, Before { delay: ms(5), ..Before::new(server()) });
    check(&outcome, 3, 12);
    assert_eq!(mean_ms(&outcome.summary.connect.moments), 65.0);
    assert_eq!(mean_ms(&outcome.summary.tls.unwrap().transport.moments), 45.0);
}

#[test]
fn tunnels_are_made_over_links_that_cut_and_delay_everything() {
    for seed in 0..60 {
        let link = Link { seed, latency: ms(1), jitter: ms(2), hostile: true, ..Link::default() };
        let script = uniform(5, 2, ms(3));
        check(&run(&through(connections(4, 3, 1), true), link, Before::new(ok())), 4, 12);
        check(&run(&through(sessions(3, script.clone()), true), link, Before::new(ok())), 3, 15);
        let secure = |plan, resumption| secured(through(plan, true), resumption);
        let plan = secure(connections(4, 3, 1), Resumption::Share(0.5));
        check(&run(&plan, link, Before::new(server())), 4, 12);
        let plan = secure(sessions(3, script), Resumption::WithinSession);
        check(&run(&plan, link, Before::new(server())), 3, 15);
        check(&run(&through(connections(4, 0, 1), true), link, Before::new(ok())), 4, 0);
    }
}

#[test]
fn early_data_travels_through_a_tunnel_too() {
    let mut plan = secured(through(connections(20, 1, 1), true), Resumption::Share(1.0));
    plan.change(|plan| plan.tls.as_mut().unwrap().early_data = true);
    let run = run(&plan, Link { latency: ms(1), ..Link::default() }, Before::new(server()));
    check(&run, 20, 20);
    assert!(run.summary.tls.unwrap().early_requests.accepted > 0);
}

#[test]
fn a_tunnel_that_does_not_come_to_be_is_an_error_of_its_class() {
    for (answer, failure) in [
        ("", Failure::ClientTimeout),
        ("HTTP/1.1 200 Half", Failure::ClientTimeout),
        ("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", Failure::Other),
        ("HTTP/1.1 101 Switching\r\n\r\n", Failure::Other),
        ("220 smtp.example\r\n\r\n", Failure::Other),
    ] {
        let timeouts = Timeouts { timeout: Some(ms(100)), think_timeout: None };
        let plan = through(connections(3, 2, 1), true).with(|plan| plan.timeouts = timeouts);
        for plan in [plan.clone(), secured(plan, Resumption::Share(1.0))] {
            let peer = Before { answer, ..Before::new(ok()) };
            let outcome = run(&plan, Link { latency: ms(1), ..Link::default() }, peer);
            let summary = &outcome.summary;
            assert_eq!((summary.errors.count(failure), summary.errors.total()), (3, 3), "{answer}");
            assert_eq!(summary.requests, 0, "{answer}");
            // Nothing but the request went to the proxy: no close_notify either.
            assert!(outcome.connections.iter().all(|trace| trace.text().ends_with("\r\n\r\n")), "{answer}");
        }
    }
}

#[test]
fn a_reply_without_end_is_cut_off() {
    let mut plan = through(connections(1, 1, 1), true);
    plan.change(|plan| plan.limits.reply_head_size = 100);
    let peer = Before {
        answer: "HTTP/1.1 200 OK\r\nX: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
        ..Before::new(ok())
    };
    let run = run(&plan, Link::default(), peer);
    assert_eq!((run.summary.errors.count(Failure::Other), run.is_endless), (1, false));
}
