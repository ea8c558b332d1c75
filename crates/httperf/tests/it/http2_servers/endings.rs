//! Connections that end while there is work: in order, for idleness, by force; and a server that stands still.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use httperf_stats::{CallOutcome, Failure, Summary};
use rustix::process::Signal;

use super::abrupt;
use super::peers::{CLEAR, Make, Peer, SECURE, Settings};
use super::ran::{Ran, run};
use crate::support::program::Exit;
use crate::support::running::peer;

/// Runs the program while something is done to the server, so many times at most, with a pause before each.
fn run_while(peer: &Peer, arguments: &str, times: u32, pause: Duration, act: impl Fn() + Sync) -> Ran {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..times {
                thread::sleep(pause);
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                act();
            }
        });
        let run = peer.run(arguments);
        is_over.store(true, Ordering::Relaxed);
        run
    })
}

/// More reloads than there are in any run.
const OFTEN: u32 = 50;

/// A load at a rate, over connections that are kept.
const AT_A_RATE: &str = "--request-rate 300 --concurrency 4 --streams 8 --duration 2 --drain 10";

/// A run during which the server is reloaded again and again.
///
/// Caddy closes its old socket while connections wait in it to be accepted, and the kernel resets those; no client can prevent
/// that. Such a run is repeated with a single reload, which seldom meets a connection that waits.
fn run_reloaded(peer: &Peer, make: Make, arguments: &str) -> Ran {
    let reloaded = |times| run_while(peer, arguments, times, Duration::from_millis(250), || peer.reload());
    let mut run = reloaded(OFTEN);
    for _ in 0..8 {
        if make != Make::Caddy || !has_lost_unaccepted(&run) {
            break;
        }
        run = reloaded(1);
    }
    run
}

/// Returns true if connections were reset, all of them before the server said anything, and nothing else went wrong.
fn has_lost_unaccepted(run: &Ran) -> bool {
    let resets = run.summary.errors.count(Failure::Reset);
    let unanswered = run.summary.connections - run.http2().spoken.count("HTTP/2");
    resets > 0 && resets == run.summary.errors.total() && resets <= unanswered
}

/// Returns true if Caddy lost connections even in the last of the runs, as it may on a busy machine; they must be few.
#[track_caller]
fn is_excused(peer: &Peer, make: Make, run: &Ran) -> bool {
    let is_excused = make == Make::Caddy && has_lost_unaccepted(run);
    assert!(!is_excused || run.summary.errors.total() * 8 <= run.summary.arrivals.due, "{peer}: {run}");
    is_excused
}

/// Every call is answered while the server is reloaded, in whatever way calls are made.
#[track_caller]
fn check_reload(make: Make) {
    for settings in [CLEAR, SECURE] {
        let peer = peer!(Peer::start(make, settings));
        let small = peer.path("small.txt");
        let run = run_reloaded(&peer, make, &format!("{AT_A_RATE} --uri {small}"));
        if !is_excused(&peer, make, &run) {
            run.is_all_answered();
            run.check("replies=600 2xx=600");
        }
        assert!(run.http2().goaways.count("NO_ERROR") > 0, "{peer}: {run}");
        assert!(run.summary.connections > 4, "{peer}: {run}");
        let sessions = format!("--wsess 60,16,0.05 --burst-length 4 --rate 40 --uri {small}");
        let run = run_reloaded(&peer, make, &sessions);
        if !is_excused(&peer, make, &run) {
            run.is_all_answered();
            run.check("replies=960 2xx=960 sess_ok=60 sess_all=60");
        }
        // The workload is made of connections: what they do not take any more is not made, which is no error.
        let connections = format!(
            "--rate 100 --num-conns 120 --num-calls 20 --burst-length 4 --call-pause 0.04 --uri {small}"
        );
        let run = run_reloaded(&peer, make, &connections);
        if is_excused(&peer, make, &run) {
            continue;
        }
        // Calls that a server gives back are made again, each on another connection, and fail if that gives them back too.
        assert!(run.summary.errors.total() * 50 <= run.summary.replies, "{peer}: {run}");
        let Summary { connections, replies, closed_early, calls_not_offered, .. } = run.summary;
        assert!(closed_early > 0 && connections >= 120, "{peer}: {run}");
        let failed = run.summary.calls_with(CallOutcome::Failure).latency.moments.count();
        assert_eq!(replies + failed + calls_not_offered, 120 * 20, "{peer}: {run}");
        assert!(
            run.finished.stderr.contains(&format!("{calls_not_offered} calls were not made")),
            "{peer}: {run}"
        );
    }
}

#[test]
fn nginx_is_reloaded_under_load_without_an_error() {
    check_reload(Make::Nginx);
}

#[test]
fn apache_is_reloaded_under_load_without_more_than_a_few_errors() {
    for settings in [CLEAR, SECURE] {
        let peer = peer!(Peer::start(Make::Apache, settings));
        let arguments = format!("{AT_A_RATE} --uri {}", peer.path("small.txt"));
        let run = run_while(&peer, &arguments, OFTEN, Duration::from_millis(600), || peer.reload());
        assert_eq!(run.finished.exit, Exit::Code(0), "{peer}: {run}");
        assert!(run.http2().goaways.count("NO_ERROR") > 0, "{peer}: {run}");
        assert!(run.summary.connections > 4, "{peer}: {run}");
        // Apache 2.4 drops calls that it has taken when more come behind its GOAWAY, with a code of its own in another one
        // (0xfffffc7a, -902 of nghttp2), or without a word. They are few.
        assert!(run.summary.errors.total() * 20 <= run.summary.arrivals.due, "{peer}: {run}");
        assert_eq!(accounted_for(&run), run.summary.arrivals.due, "{peer}: {run}");
    }
}

#[test]
fn h2o_is_reloaded_under_load_without_an_error() {
    check_reload(Make::H2o);
}

#[test]
fn node_closes_its_sessions_under_load_without_an_error() {
    check_reload(Make::Node);
}

#[test]
fn go_shuts_down_under_load_without_an_error() {
    check_reload(Make::Go);
}

#[test]
fn caddy_is_reloaded_under_load_without_an_error() {
    check_reload(Make::Caddy);
}

/// The server ends each connection after fifty requests.
#[track_caller]
fn check_limited(make: Make) {
    for tls in [false, true] {
        let peer = peer!(Peer::start(make, Settings { tls, requests: Some(50), ..CLEAR }));
        let small = peer.path("small.txt");
        let run = peer.run(&format!("{AT_A_RATE} --uri {small}"));
        run.is_all_answered();
        run.check("replies=600 2xx=600");
        assert!(run.http2().goaways.count("NO_ERROR") >= 8, "{peer}: {run}");
        let run =
            peer.run(&format!("--concurrency 3 --streams 16 --num-conns 3 --num-calls 40 --uri {small}"));
        run.is_all_answered();
        run.check("connections=3 replies=120 2xx=120");
        let run = peer.run(&format!("--wsess 20,130,0 --burst-length 13 --rate 100 --uri {small}"));
        run.is_all_answered();
        run.check("replies=2600 2xx=2600 sess_ok=20 sess_all=20");
        assert!(run.http2().goaways.count("NO_ERROR") >= 40, "{peer}: {run}");
        // The workload is made of connections: what they do not take is not made, which is no error.
        let run =
            peer.run(&format!("--rate 100 --num-conns 20 --num-calls 130 --burst-length 13 --uri {small}"));
        run.check("errors=0");
        let Summary { replies, closed_early, calls_not_offered, .. } = run.summary;
        assert_eq!((closed_early, replies + calls_not_offered), (20, 20 * 130), "{peer}: {run}");
        assert!((20 * 50..20 * 70).contains(&replies), "{peer}: {run}");
        assert!(run.finished.stderr.contains("warning: "), "{peer}: {run}");
    }
}

#[test]
fn nginx_limits_the_requests_of_connections_without_an_error() {
    check_limited(Make::Nginx);
}

#[test]
fn node_limits_the_requests_of_connections_without_an_error() {
    check_limited(Make::Node);
}

#[test]
fn the_own_server_limits_the_requests_of_connections_without_an_error() {
    check_limited(Make::Own);
}

#[test]
fn what_a_server_says_before_it_resets_the_connection_is_heard() {
    let load = "--http-version 2 --request-rate 2000 --concurrency 8 --streams 8 --duration 2 --drain 10";
    let run = run(abrupt::start(), load, &[]);
    run.is_all_answered();
    run.check("replies=4000 2xx=4000");
    assert!(run.http2().goaways.count("NO_ERROR") > 100, "{run}");
}

#[test]
fn a_connection_that_the_server_closes_while_it_is_idle_is_replaced_without_an_error() {
    let makes = [Make::Nginx, Make::Apache, Make::H2o, Make::Node, Make::Go, Make::Caddy, Make::Own];
    let peers =
        makes.map(|make| Peer::start(make, Settings { idle_s: Some(1), tls: make != Make::Node, ..CLEAR }));
    thread::scope(|scope| {
        for peer in peers.into_iter().flatten() {
            scope.spawn(move || {
                let run = peer.run(&format!("--wsess 4,2,2.5 --rate 40 --uri {}", peer.path("small.txt")));
                run.is_all_answered();
                run.check("replies=8 2xx=8 connections=8 sess_ok=4 sess_conns=2.00");
                assert_eq!(run.http2().unprocessed, 0, "{peer}: {run}");
            });
        }
    });
}

/// All calls that were due have come to an end that was counted.
#[track_caller]
fn are_all_accounted_for(peer: &Peer, run: &Ran) {
    assert_eq!(run.finished.exit, Exit::Code(0), "{peer}: {run}");
    assert_eq!(accounted_for(run), run.summary.arrivals.started, "{peer}: {run}");
    assert!(run.summary.replies < run.summary.arrivals.started, "{peer}: {run}");
    assert!(run.summary.errors.total() > 0, "{peer}: {run}");
    assert_eq!(run.http2().violations.total(), 0, "{peer}: {run}");
}

/// The calls that have come to an end, or had not when the run did.
fn accounted_for(run: &Ran) -> u64 {
    let failed = run.summary.calls_with(CallOutcome::Failure).latency.moments.count();
    run.summary.replies + failed + run.summary.unfinished.moments.count()
}

#[test]
fn calls_to_a_server_that_was_killed_fail_and_are_counted() {
    for (make, settings) in
        [(Make::Nginx, CLEAR), (Make::Node, SECURE), (Make::Go, SECURE), (Make::Own, CLEAR)]
    {
        let peer = peer!(Peer::start(make, settings));
        // On a busy machine, a server may take a second for its first handshakes.
        let load = "--request-rate 300 --concurrency 4 --streams 8 --duration 3 --drain 5";
        let arguments = format!("{load} --uri {}", peer.path("small.txt"));
        let run = run_while(&peer, &arguments, 1, Duration::from_secs(2), || peer.kill());
        are_all_accounted_for(&peer, &run);
        assert!(run.summary.replies > 0, "{peer}: {run}");
    }
}

#[test]
fn calls_are_answered_again_when_a_server_that_was_killed_is_back() {
    for (make, tls) in [(Make::Nginx, false), (Make::Nginx, true), (Make::Go, true)] {
        let peer = peer!(Peer::start(make, Settings { tls, restarts: true, ..CLEAR }));
        let load = "--request-rate 200 --concurrency 4 --streams 8 --duration 4 --drain 5";
        let arguments = format!("{load} --uri {}", peer.path("small.txt"));
        let run = run_while(&peer, &arguments, 1, Duration::from_secs(1), || peer.kill());
        are_all_accounted_for(&peer, &run);
        let late = run.summary.series.measured().filter(|interval| interval.from >= Duration::from_secs(3));
        let replies: u64 = late.map(|interval| interval.replies).sum();
        assert!(replies > 50, "{replies} replies in the last second, {peer}: {run}");
    }
}

#[test]
fn a_server_that_stands_still_shows_in_the_latency_of_all_calls_that_were_due() {
    for (make, settings) in [(Make::Nginx, CLEAR), (Make::Go, SECURE), (Make::Own, SECURE)] {
        let peer = peer!(Peer::start(make, settings));
        let load = "--request-rate 200 --concurrency 8 --duration 3 --drain 10";
        let arguments = format!("{load} --uri {}", peer.path("small.txt"));
        let run = run_while(&peer, &arguments, 1, Duration::from_secs(1), || {
            peer.signal(Signal::STOP);
            thread::sleep(Duration::from_secs(1));
            peer.signal(Signal::CONT);
        });
        run.is_all_answered();
        run.check("replies=600 2xx=600");
        // A third of the calls were due in that second, and each waited for its end: a sixth for half of it or more.
        let clocks = run.summary.completed();
        let at = |timing: &httperf_stats::Timing, share| timing.quantile(share).expect("there are hundreds");
        assert!(at(&clocks.latency, 1.0) >= Duration::from_millis(900), "{peer}: {run}");
        assert!(at(&clocks.latency, 0.8) >= Duration::from_millis(250), "{peer}: {run}");
        // Those that had been sent when it stopped are few.
        assert!(at(&clocks.service, 0.8) < at(&clocks.latency, 0.8) / 2, "{peer}: {run}");
    }
}
