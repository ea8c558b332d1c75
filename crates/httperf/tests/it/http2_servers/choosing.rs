//! Which protocol is spoken with whom, and what is said where HTTP/2 cannot be.

use std::process::Command;

use super::peers::{CLEAR, Make, Peer, SECURE, Settings};
use super::ran::{finish, run};
use crate::support::certificates::Certificates;
use crate::support::program::{Exit, Finished};
use crate::support::running::{Running, find, peer};

/// A server that only this file needs, as a command.
fn other(program: &str, command: impl Fn(&mut Command, u16)) -> Option<Running> {
    let program = find(program)?;
    let furnish = |root: &std::path::Path| {
        Certificates::make(root);
        Ok(())
    };
    Some(Running::start("127.0.0.1", 1, furnish, |root, ports| {
        let mut started = Command::new(&program);
        started.current_dir(root);
        command(&mut started, ports[0]);
        started
    }))
}

#[test]
fn what_the_server_chose_is_spoken_and_reported() {
    for make in [Make::Nginx, Make::Apache, Make::H2o, Make::Node, Make::Go, Make::Caddy, Make::Own] {
        for http1 in [false, true] {
            if http1 && make == Make::H2o {
                continue;
            }
            let peer = peer!(Peer::start(make, Settings { tls: true, http1, ..CLEAR }));
            let uri = format!("--uri {}", peer.path("small.txt"));
            let chosen = if http1 { "HTTP/1.1" } else { "HTTP/2" };
            for (load, connections) in [
                ("--num-conns 3 --num-calls 8 --burst-length 4", 3),
                ("--concurrency 3 --streams 4 --num-calls 8", 3),
                ("--wsess 3,8,0 --burst-length 4", 3),
            ] {
                let run = peer.run_with(&format!("--http-version auto {load} {uri}"), &[]);
                run.check("replies=24 2xx=24 content=6.0 errors=0");
                assert_eq!(run.line("spoken"), format!("{chosen} {connections}"), "{peer}: {run}");
                let streams = if http1 { 0 } else { 24 };
                assert_eq!(run.http2().streams, streams, "{peer}: {run}");
            }
        }
    }
}

/// The run ended, the report was printed, and then one sentence.
#[track_caller]
fn check_hopeless(finished: &Finished, reason: &str, hint: &str) {
    assert_eq!(finished.exit, Exit::Code(1), "{finished}");
    let expected = format!("httperf: HTTP/2 cannot be spoken: {reason}\nhint: {hint}\n");
    let said = finished.stderr.strip_prefix(REFUSED_HANDSHAKES).unwrap_or(&finished.stderr);
    assert_eq!(said, expected, "{finished}");
    assert!(finished.stdout.contains("\nErrors: total 2 "), "{finished}");
    assert!(finished.stdout.contains("\nHTTP/2 streams  opened "), "{finished}");
}

/// What is said of handshakes that fail, for whatever reason.
const REFUSED_HANDSHAKES: &str = "httperf: warning: 2 TLS handshakes failed, the most frequent reason: alert \
                                  no_application_protocol from the server\n";

const OVER_TLS: &str = "--http-version=auto speaks what the server chooses";
const IN_CLEAR: &str = "without --http-version=2, HTTP/1.1 is spoken";

#[test]
fn a_server_that_chooses_another_protocol_in_the_handshake_is_named_with_it() {
    let arguments = "--ssl --http-version 2 --num-conns 2";
    // Asked for either.
    let peer = peer!(Peer::start(Make::Go, Settings { http1: true, ..SECURE }));
    let both = finish(peer.port, &format!("{arguments} --tls-alpn=h2,http/1.1"), &[]);
    check_hopeless(&both, "the server chose http/1.1 (ALPN)", OVER_TLS);
    // Some refuse what they do not speak,
    let refused = "the server takes nothing of what it was offered (ALPN), h2: alert no_application_protocol from \
                   the server";
    for make in [Make::Nginx, Make::Go] {
        let peer = peer!(Peer::start(make, Settings { http1: true, ..SECURE }));
        check_hopeless(&finish(peer.port, arguments, &[]), refused, OVER_TLS);
    }
    // and others choose nothing.
    let server = peer!(other("openssl", |command, port| {
        command.args(["s_server", "-accept", &format!("127.0.0.1:{port}"), "-cert", "server.pem"]);
        command.args(["-key", "server.key", "-www", "-quiet"]);
    }));
    let none = finish(server.port(0), arguments, &[]);
    check_hopeless(&none, "the server chose no protocol (ALPN)", OVER_TLS);
}

#[test]
fn a_server_that_does_not_know_http2_in_the_clear_is_told_from_a_broken_one() {
    let arguments = "--http-version 2 --num-conns 2 --num-calls 5 --burst-length 5";
    for make in [Make::Nginx, Make::Apache, Make::Node, Make::Go, Make::Own] {
        let peer = peer!(Peer::start(make, Settings { http1: true, ..CLEAR }));
        let finished = finish(peer.port, arguments, &[]);
        // hyper, with which our own is made, has nothing to say to such clients.
        let closes = make == Make::Own;
        let reason = if closes { "the server closes without a word" } else { "the server answers in HTTP/1" };
        check_hopeless(&finished, reason, IN_CLEAR);
    }
    // It answers what it takes for a client of HTTP/0.9.
    let server = peer!(other("python3", |command, port| {
        command.args(["-m", "http.server", "--bind", "127.0.0.1", &port.to_string()]);
    }));
    let finished = finish(server.port(0), arguments, &[]);
    check_hopeless(&finished, "the server's first bytes are not HTTP", IN_CLEAR);
}

#[test]
fn a_proxy_is_spoken_to_by_prior_knowledge() {
    let own = peer!(Peer::start(Make::Own, CLEAR));
    let server = peer!(other("nghttpx", |command, port| {
        command.arg(format!("-f127.0.0.1,{port};no-tls")).arg(format!("-b127.0.0.1,{}", own.port));
        command.args(["--conf=/dev/null", "--workers=1"]);
    }));
    let arguments = "--http-version 2 --num-conns 3 --num-calls 7 --burst-length 3 --uri /size/6";
    let run = run(server.port(0), arguments, &[]);
    run.is_all_answered();
    run.check("connections=3 replies=21 2xx=21 content=6.0");
}
