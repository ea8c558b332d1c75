//! What servers understand of requests, and what is printed of them.

use super::backend::{sha256, summary};
use super::peers::{CLEAR, Make, Peer, SECURE};
use super::ran::Ran;
use crate::support::program::{Finished, Invocation, under_test};
use crate::support::running::peer;
use crate::support::words;

/// What was printed before the report of lines that begin so, without the beginning.
fn printed<'a>(run: &'a Ran, beginning: &str) -> Vec<&'a str> {
    run.finished.stdout.lines().filter_map(|line| line.strip_prefix(beginning)).collect()
}

#[test]
fn requests_and_replies_are_printed_in_the_lines_of_http1() {
    let peer = peer!(Peer::start(Make::Go, CLEAR));
    let body = "--body 'two words' --header 'X-One: 1'";
    let run = peer.run(&format!("--uri /request?x=y {body} --print-request --print-reply"));
    run.is_all_answered();
    assert_eq!(
        printed(&run, "SH0:"),
        [
            "POST /request?x=y HTTP/2",
            "host: localhost",
            "user-agent: httperf/1.0.0",
            "x-one: 1",
            "content-length: 9",
            ""
        ],
        "{run}"
    );
    assert_eq!(printed(&run, "SB0:"), ["two words"], "{run}");
    let head = printed(&run, "RH0:");
    assert_eq!(head[0], "HTTP/2 200", "{run}");
    assert!(head.iter().any(|line| line.starts_with("content-type: text/plain")), "{run}");
    let body = printed(&run, "RB0:");
    assert_eq!(body[0], "HTTP/2.0 POST localhost /request?x=y", "{run}");
}

/// What the server says of a request, its first line and then fields in alphabetical order.
#[track_caller]
fn seen(peer: &Peer, arguments: &str) -> Vec<String> {
    let run = peer.run(&format!("--uri /request {arguments} --print-reply=body"));
    run.is_all_answered();
    let mut lines: Vec<String> = printed(&run, "RB0:").into_iter().map(str::to_owned).collect();
    lines.retain(|line| !line.is_empty());
    lines[1..].sort();
    lines
}

#[test]
fn servers_see_the_method_the_authority_and_the_fields_that_were_asked_for() {
    for make in [Make::Go, Make::Node] {
        for settings in [CLEAR, SECURE] {
            let peer = peer!(Peer::start(make, settings));
            let agent = "user-agent: httperf/1.0.0";
            assert_eq!(seen(&peer, ""), ["HTTP/2.0 GET localhost /request", agent], "{peer}");
            assert_eq!(
                seen(&peer, "--method DELETE --server-name www.example:81"),
                ["HTTP/2.0 DELETE www.example:81 /request", agent],
                "{peer}"
            );
            // Fields that speak of the connection are left out.
            let fields = r"--add-header 'Connection: X-Kept\nX-Kept: Yes\nKeep-Alive: 5\nTE: trailers\nUpgrade: foo/2\n'";
            assert_eq!(
                seen(&peer, fields),
                ["HTTP/2.0 GET localhost /request", "te: trailers", agent, "x-kept: Yes"],
                "{peer}"
            );
            let long = format!("--header 'X-Long: {}'", "long".repeat(5000));
            let expected = format!("x-long: {}", "long".repeat(5000));
            assert_eq!(seen(&peer, &long)[2], expected, "{peer}");
        }
    }
}

#[test]
fn the_authority_of_a_url_has_the_port() {
    for settings in [CLEAR, SECURE] {
        let peer = peer!(Peer::start(Make::Go, settings));
        let scheme = if settings.tls { "https" } else { "http" };
        let line = format!("{scheme}://localhost:{}/request --http-version 2 --print-reply=body", peer.port);
        let finished = Finished::of(&Invocation::new(&under_test(), words(&line)));
        let seen = format!("HTTP/2.0 GET localhost:{} /request\n", peer.port);
        assert!(finished.stdout.contains(&seen), "{peer}: {finished}");
    }
}

#[test]
fn cookies_of_a_session_come_back_to_the_server() {
    for make in [Make::Go, Make::Node] {
        let peer = peer!(Peer::start(make, SECURE));
        let run = peer.run("--wsess 2,3,0 --session-cookies --uri /cookie --print-reply=body");
        run.is_all_answered();
        let mut bodies: Vec<&str> = (0..6).flat_map(|call| printed(&run, &format!("RB{call}:"))).collect();
        bodies.sort_unstable();
        bodies.retain(|line| !line.is_empty());
        assert_eq!(bodies, ["one=1+two=2"; 4], "{peer}: {run}");
    }
    let own = peer!(Peer::start(Make::Own, CLEAR));
    let run =
        own.run("--wsess 1,2,0 --session-cookies --uri /cookie --print-request=header --print-reply=body");
    // A field for each.
    let sent = printed(&run, "SH1:");
    assert!(sent.contains(&"cookie: visits=1") && sent.contains(&"cookie: theme=plain"), "{run}");
    assert!(run.finished.stdout.contains("visits=1\n"), "{run}");
    assert!(run.finished.stdout.contains("theme=plain\n"), "{run}");
}

#[test]
fn bodies_of_a_session_file_arrive() {
    let session = "/echo method=POST contents='three words here'\n  /echo method=PUT contents=\"two\\nlines\"\n  \
                   /echo\n";
    let mut expected =
        ["three words here", "two\nlines", ""].map(|body| summary(body.as_bytes()).trim().to_owned());
    expected.sort();
    for make in [Make::Nginx, Make::Apache, Make::H2o, Make::Node, Make::Go, Make::Caddy] {
        let peer = peer!(Peer::start(make, SECURE));
        let arguments = "--http-version 2 --wsesslog=1,0,session --print-reply=body";
        let run = peer.run_with(arguments, &[("session", session.as_bytes())]);
        run.is_all_answered();
        run.check("replies=3 2xx=3 sess_ok=1");
        let mut bodies: Vec<&str> = (0..3).flat_map(|call| printed(&run, &format!("RB{call}:"))).collect();
        bodies.sort_unstable();
        bodies.retain(|line| !line.is_empty());
        assert_eq!(bodies, expected, "{peer}: {run}");
    }
}

#[test]
fn uris_come_from_lists_and_sets() {
    let own = peer!(Peer::start(Make::Own, SECURE));
    let list =
        ["--http-version 2 --wlog y,uris --num-conns 2 --num-calls 4 --burst-length 2", "/size/1\n/size/3\n"];
    let run = own.run_with(list[0], &[("uris", list[1].as_bytes())]);
    run.answers(2, 8);
    run.check("content=2.0");
    let nginx = peer!(Peer::start(Make::Nginx, CLEAR));
    let run = nginx.run("--wset 3,1 --uri /docs --num-calls 6");
    run.check("replies=6 4xx=6 errors=0");
    let hash = sha256(b"0123");
    let run = own.run(&format!(
        "--uri /size/4?{{seq}} --num-calls 20 --burst-length 20 --expect-body-hash sha256:{hash}"
    ));
    run.answers(1, 20);
}

#[test]
fn safe_requests_travel_as_early_data_to_a_server_that_takes_it() {
    let settings = super::peers::Settings { directives: "ssl_early_data on;", ..SECURE };
    let peer = peer!(Peer::start(Make::Nginx, settings));
    let run = peer.run("--tls-early-data --uri /small.txt --num-conns 20");
    run.answers(20, 20);
    assert_eq!(run.line("early requests"), "accepted 19, rejected 0, replayed 0", "{run}");
    let run = peer.run("--tls-early-data --uri /echo --body x --num-conns 20");
    run.answers(20, 20);
    assert_eq!(run.line("early requests"), "accepted 0, rejected 0, replayed 0", "{run}");
}
