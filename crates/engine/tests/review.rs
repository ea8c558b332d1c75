//! Whole runs in memory, for what was found by reading the worker with suspicion.

use std::time::Duration;

use httperf_plan::{Plan, Resumption, Script, Sessions, Tls, UriSource, Workload};
use httperf_stats::Outcome;
use httperf_testkit::sim::{
    Action, Goodbye, HttpPeer, Link, RequestSeen, Run, TlsPeer, connections, reply, run, sessions, tls_server,
};

const NOW: Duration = Duration::ZERO;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn sessions_of(plan: &mut Plan) -> &mut Sessions {
    match &mut plan.workload {
        Workload::Sessions(sessions) => sessions,
        Workload::Connections(_) => panic!("the plan has sessions"),
    }
}

/// The latencies of calls that succeeded: their count, and their sum in milliseconds.
fn latencies(run: &Run) -> (u64, f64) {
    let moments = &run.summary.calls_with(Outcome::Success).latency.moments;
    (moments.count(), (moments.sum() * 1e6).round() / 1e3)
}

#[test]
fn calls_that_wait_for_room_on_a_connection_are_due_since_they_were_ready() {
    // One call, then five that are ready together and go one after the other.
    let mut plan = sessions(1, Script::Uniform { calls: 6, burst: 6, think: NOW });
    (sessions_of(&mut plan).max_connections, sessions_of(&mut plan).max_piped_calls) = (1, 1);
    let peer = HttpPeer::new(|_| vec![Action::Send(ms(10), reply(200, "", "hello"))]);
    let run = run(&plan, Link::default(), peer);
    assert_eq!(latencies(&run), (6, 10.0 + 10.0 + 20.0 + 30.0 + 40.0 + 50.0));
}

#[test]
fn an_object_of_a_page_is_due_since_it_was_found() {
    let plan = Plan {
        uris: UriSource::Fixed(b"/page.html".to_vec()),
        ..sessions(1, Script::Pages { pages: 1, think: NOW })
    };
    let peer = HttpPeer::new(|request: &RequestSeen| match request.uri() {
        "/page.html" => {
            let head = reply(200, "Content-Type: text/html\r\n", "<img src=a.png>12345");
            let (begin, end) = head.split_at(head.len() - 5);
            vec![Action::Send(ms(50), begin.to_vec()), Action::Send(ms(70), end.to_vec())]
        }
        _ => vec![Action::Send(ms(10), reply(200, "", "data"))],
    });
    let run = run(&plan, Link::default(), peer);
    // The object goes on the page's connection, whose replies keep their order: it is answered at 70.
    assert_eq!(latencies(&run), (2, 70.0 + 20.0));
}

#[test]
fn only_requests_that_early_data_had_room_for_count_as_early() {
    let tls = Tls { early_data: true, resumption: Resumption::Share(1.0), ..Tls::default() };
    let mut plan = Plan { tls: Some(tls), ..connections(2, 600, 600) };
    plan.targets[0].tls_name = Some("server".to_owned());
    let inner = HttpPeer::new(|_| vec![Action::Send(NOW, reply(200, "", "hello"))]);
    let run = run(
        &plan,
        Link { latency: ms(1), ..Link::default() },
        TlsPeer::new(inner, tls_server().build(), Goodbye::Said),
    );
    assert_eq!((run.summary.replies, run.summary.errors.total()), (1200, 0));
    let early = run.summary.tls.unwrap().early_requests;
    // The library takes 14,336 bytes of early data; a request has 55.
    assert_eq!(early.accepted, 14_336u64.div_ceil(55));
}
