//! Requests and replies of every size, and how many of them at once.

use std::time::Duration;

use super::backend::{sha256, summary};
use super::peers::{CLEAR, LARGE_SIZE, MIDDLE_SIZE, Make, Peer, SECURE, SMALL_SIZE, Settings, middle};
use super::ran;
use super::relay::{WINDOW_AT_FIRST, relay};
use crate::support::running::peer;

/// A body that no window takes at once.
fn body() -> Vec<u8> {
    (0..10 << 20).map(|index: u32| (index * 7 + index / 1000) as u8).collect()
}

/// GET, HEAD, and what is not there.
#[track_caller]
fn check_forms(make: Make) {
    for settings in [CLEAR, SECURE] {
        let peer = peer!(Peer::start(make, settings));
        let small = peer.path("small.txt");
        let run = peer.run(&format!("--uri {small} --num-conns 3 --num-calls 40 --burst-length 10"));
        run.answers(3, 120);
        run.check(&format!("connections=3 replies=120 2xx=120 content={SMALL_SIZE}.0"));
        assert!(run.http2().concurrent_max <= 10, "{peer}: {run}");
        assert_eq!(run.line("spoken"), "HTTP/2 3");
        assert!(run.line("HTTP/2 streams").starts_with("opened 120, "), "{run}");
        let run =
            peer.run(&format!("--method HEAD --uri {small} --concurrency 2 --num-calls 20 --streams 4"));
        run.answers(2, 40);
        run.check("replies=40 2xx=40 content=0.0 footer=0.0");
        let run = peer.run(&format!("--uri {} --num-calls 5", peer.path("missing")));
        run.check("connections=1 replies=5 2xx=0 4xx=5 errors=0");
    }
}

/// Replies of a mebibyte, and of a hundred.
#[track_caller]
fn check_large_replies(make: Make) {
    for settings in [CLEAR, SECURE] {
        let peer = peer!(Peer::start(make, settings));
        let hash = sha256(&middle());
        let calls = format!(
            "--uri {} --num-calls 4 --burst-length 4 --expect-size {MIDDLE_SIZE} --expect-body-hash sha256:{hash}",
            peer.path("1m.bin")
        );
        // h2o 2.2 does not say that it gives up its table (RFC 7541, section 4.2), so that we do not go on with it.
        let sizes =
            if make == Make::H2o { "--h2-max-frame 1m" } else { "--h2-max-frame 1m --h2-header-table 0" };
        for windows in ["", "--h2-window 16k --h2-connection-window 64k", "--h2-window 1000", sizes] {
            let run = peer.run(&format!("{calls} {windows}"));
            run.answers(1, 4);
            run.check(&format!("replies=4 content={MIDDLE_SIZE}.0"));
        }
        let large = format!("--uri {} --system-buffers --expect-size {LARGE_SIZE}", peer.path("100m.bin"));
        for windows in ["", "--h2-window 16k"] {
            let run = peer.run(&format!("{large} {windows}"));
            run.answers(1, 1);
            run.check(&format!("content={LARGE_SIZE}.0"));
        }
    }
}

/// A body of ten mebibytes that the server takes piece by piece.
#[track_caller]
fn check_large_request(make: Make) {
    let body = body();
    for tls in [false, true] {
        let peer = peer!(Peer::start(make, Settings { tls, small_windows: true, ..CLEAR }));
        let (uri, answer) = match make {
            Make::Own => ("/size/9", b"012345678".to_vec()),
            Make::Nghttpd => ("/echo", body.clone()),
            _ => ("/echo", summary(&body).into_bytes()),
        };
        let (size, hash) = (answer.len(), sha256(&answer));
        let run = peer.run_with(
            &format!(
                "--http-version 2 --uri {uri} --body-file body --system-buffers --num-calls 2 --expect-size {size} \
                 --expect-body-hash sha256:{hash}"
            ),
            &[("body", &body)],
        );
        run.answers(1, 2);
        run.check(&format!("requests=2 replies=2 2xx=2 content={size}.0"));
        let waits = &run.http2().window_waits.moments;
        // These cannot be told, and do not wait if they keep up.
        let has_large_windows = matches!(make, Make::Caddy | Make::H2o);
        assert!(waits.count() == 2 || has_large_windows, "{} waits with {peer}: {run}", waits.count());
        let clocks = run.summary.completed();
        let (latency, service) = (clocks.latency.moments.mean(), clocks.service.moments.mean());
        let waited = waits.count() as f64 * waits.mean() / 2.0;
        assert!(service + waited <= latency * 1.01, "{service} and {waited} of {latency} with {peer}: {run}");
    }
}

/// As many streams as we like, also if the server likes fewer.
#[track_caller]
fn check_many_streams(make: Make) {
    // What each allows by itself, twice as much as we ask for, and less than servers should.
    for streams in [None, Some(2000), Some(30)] {
        if matches!(make, Make::Caddy | Make::H2o) && streams.is_some() {
            // They cannot be told.
            continue;
        }
        for tls in [false, true] {
            let peer = peer!(Peer::start(make, Settings { tls, streams, ..CLEAR }));
            let small = peer.path("small.txt");
            // TLS makes no difference to streams: one of the two ways of asking for them will do.
            let loads =
                ["--concurrency 1 --streams 1000 --num-calls 2000", "--num-calls 2000 --burst-length 1000"];
            for load in &loads[usize::from(tls)..] {
                let run = peer.run(&format!("{load} --uri {small}"));
                run.is_all_answered();
                run.check(&format!("connections=1 replies=2000 content={SMALL_SIZE}.0"));
                let http2 = run.http2();
                assert_eq!(run.summary.requests, 2000 + http2.retried, "{peer}: {run}");
                let allowed = http2.server_settings.and_then(|settings| settings.max_streams);
                if let Some(streams) = streams {
                    assert_eq!(allowed, Some(streams), "{peer}: {run}");
                }
                let bound = allowed.map_or(1000, |allowed| u64::from(allowed).min(1000));
                // As many as servers should allow are opened before they have said how many they do.
                assert!(http2.concurrent_max <= bound.max(100), "{peer}: {run}");
                assert!(http2.concurrent_max >= bound.min(100), "{peer}: {run}");
                let waits = http2.stream_waits.moments.count();
                assert!(bound == 1000 || waits >= 1000 - bound, "{waits} waits with {peer}: {run}");
                assert!(http2.unprocessed == 0 || bound < 100, "{peer}: {run}");
            }
        }
    }
}

/// One test of each kind for each server.
macro_rules! for_each_server {
    ($($name:ident $make:ident)*) => {$(
        mod $name {
            use super::*;

            #[test]
            fn answers_get_and_head_and_says_what_is_missing() {
                check_forms(Make::$make);
            }

            #[test]
            fn sends_large_replies_through_windows_of_any_size() {
                check_large_replies(Make::$make);
            }

            #[test]
            fn takes_a_large_request_piece_by_piece() {
                check_large_request(Make::$make);
            }

            #[test]
            fn is_asked_for_no_more_streams_than_it_allows() {
                check_many_streams(Make::$make);
            }
        }
    )*};
}

for_each_server! {
    nginx Nginx
    nghttpd Nghttpd
    apache Apache
    h2o H2o
    node Node
    go Go
    caddy Caddy
    own Own
}

#[test]
fn a_window_that_shrinks_while_a_body_is_under_way_is_kept_to() {
    let body = body();
    for make in [Make::Nghttpd, Make::Own] {
        let peer = peer!(Peer::start(make, Settings { small_windows: true, ..CLEAR }));
        let uri = if make == Make::Own { "/size/9" } else { "/echo" };
        let arguments =
            format!("--http-version 2 --uri {uri} --body-file body --system-buffers --num-calls 2");
        let (run, seen) = relay(peer.port, |port| ran::run(port, &arguments, &[("body", &body)]));
        run.answers(1, 2);
        assert_eq!(seen.content, 2 * body.len(), "{peer}: {run}");
        // All that the first window allows was under way when the smaller one became known.
        assert_eq!(seen.content_before_settings, Some(WINDOW_AT_FIRST), "{peer}: {run}");
    }
}

#[test]
fn the_wait_for_a_window_is_part_of_the_latency_and_not_of_the_service_time() {
    for make in [Make::Node, Make::Go] {
        // For half a second, the server reads nothing of a body that is larger than its window.
        let peer = peer!(Peer::start(make, Settings { small_windows: true, ..CLEAR }));
        let body = vec![b'x'; 200_000];
        let arguments = "--http-version 2 --uri /late --body-file body --system-buffers --num-calls 2";
        let run = peer.run_with(arguments, &[("body", &body)]);
        run.answers(1, 2);
        run.check(&format!("content={}.0", summary(&body).len()));
        let waits = &run.http2().window_waits;
        assert_eq!(waits.moments.count(), 2, "{peer}: {run}");
        let clocks = run.summary.completed();
        let middle = |timing: &httperf_stats::Timing| timing.quantile(0.5).expect("there are two");
        assert!(middle(waits) >= Duration::from_millis(400), "{peer}: {run}");
        assert!(middle(&clocks.latency) >= Duration::from_millis(400), "{peer}: {run}");
        assert!(
            middle(&clocks.service) + Duration::from_millis(300) < middle(&clocks.latency),
            "{peer}: {run}"
        );
    }
}

#[test]
fn trailers_are_counted_as_footers() {
    // `x-check: abc`, its line end and an empty line; the own server's is longer.
    for (make, uri, footer) in [
        (Make::Go, "/trailers/5000", 16.0),
        (Make::Node, "/trailers/5000", 16.0),
        (Make::Nghttpd, "/small.txt", 16.0),
        (Make::Own, "/trailers/5000", 37.0),
    ] {
        for settings in [CLEAR, SECURE] {
            let peer = peer!(Peer::start(make, settings));
            let run = peer.run(&format!("--uri {uri} --num-calls 6 --burst-length 3"));
            run.answers(1, 6);
            run.check(&format!("replies=6 2xx=6 footer={footer:.1}"));
        }
    }
}

#[test]
fn the_number_of_streams_may_change_in_mid_connection() {
    let peer = peer!(Peer::start(Make::Node, CLEAR));
    // The server answers once its new number is known to us: the bursts that follow keep to it.
    let burst = " /small.txt\n".repeat(40);
    let session = format!("/streams/2\n{burst}/streams/50\n{burst}/streams/1\n{burst}");
    let arguments = "--http-version 2 --wsesslog 3,0,session --max-piped-calls 100";
    let run = peer.run_with(arguments, &[("session", session.as_bytes())]);
    run.answers(3, 3 * 123);
    let http2 = run.http2();
    assert_eq!(http2.stream_waits.moments.count(), 3 * (38 + 39), "{run}");
    assert_eq!(http2.concurrent_max, 40, "{run}");
}

#[test]
fn streams_that_were_refused_because_their_number_has_changed_are_opened_again() {
    let peer = peer!(Peer::start(Make::Node, CLEAR));
    let calls = "/small.txt\n".repeat(300);
    let list = format!("{calls}/streams/2\n{calls}/streams/50\n{calls}/streams/1\n{calls}");
    let arguments = "--http-version 2 --wlog n,uris --concurrency 1 --streams 40 --num-calls 10000";
    let run = peer.run_with(arguments, &[("uris", list.as_bytes())]);
    run.is_all_answered();
    run.check("connections=1 replies=1203");
    assert!(run.http2().stream_waits.moments.count() > 0, "{run}");
}
