//! Against servers of the real world: nginx, Apache httpd and Python's `http.server`.
//!
//! Each test starts a server of its own on a free port of 127.0.0.1, with its configuration and documents in a
//! temporary folder, and stops it however the test ends. Where a server is not installed the test says
//! so, and fails if `CI` is set. `HTTPERF_UNDER_TEST=FILE` tests that binary in place of the one just built; with the
//! classic program, whatever was decided differently is left out.

use std::time::Duration;

use crate::support::program::{Exit, Invocation, Outcome, under_test, under_test_is_reference};
use crate::support::real_server::{Kind, RealServer, Settings};
use crate::support::report::Report;
use crate::support::words;

#[test]
fn nginx_keeps_connections_and_takes_bursts() {
    keep_alive_and_bursts(Kind::Nginx);
}

#[test]
fn apache_keeps_connections_and_takes_bursts() {
    keep_alive_and_bursts(Kind::Apache);
}

#[test]
fn python_keeps_connections_and_takes_bursts() {
    keep_alive_and_bursts(Kind::Python);
}

#[test]
fn nginx_replies_of_every_form_are_read() {
    forms_of_replies(Kind::Nginx);
}

#[test]
fn apache_replies_of_every_form_are_read() {
    forms_of_replies(Kind::Apache);
}

#[test]
fn python_replies_of_every_form_are_read() {
    forms_of_replies(Kind::Python);
}

#[test]
fn nginx_sends_a_large_file_whole() {
    large_file(Kind::Nginx);
}

#[test]
fn apache_sends_a_large_file_whole() {
    large_file(Kind::Apache);
}

#[test]
fn nginx_closes_after_its_last_request_without_an_error() {
    announced_close(Kind::Nginx);
}

#[test]
fn apache_closes_after_its_last_request_without_an_error() {
    announced_close(Kind::Apache);
}

#[test]
fn python_closes_after_its_last_request_without_an_error() {
    announced_close(Kind::Python);
}

#[test]
fn nginx_serves_sessions() {
    sessions(Kind::Nginx);
}

#[test]
fn apache_serves_sessions() {
    sessions(Kind::Apache);
}

#[test]
fn python_serves_sessions() {
    sessions(Kind::Python);
}

#[test]
fn python_receives_the_bodies_of_a_session_file() {
    let Some(server) = RealServer::start(Kind::Python, Settings::default()) else { return };
    let mut invocation = against(&server, "--wsesslog=2,0,sessions");
    let script = "/echo method=POST contents='three words here'\n/echo method=PUT contents=\"two\\nlines\"\n";
    invocation.files.push(("sessions".to_owned(), script.as_bytes().to_vec()));
    // The server sends back what it was sent: 16 and 9 bytes.
    let report = finish(&invocation);
    check(&report, "replies=4 2xx=4 content=12.0 errors=0 sess_ok=2 sess_all=2 histogram=0_0_2");
}

#[test]
fn nginx_is_reached_through_a_unix_domain_socket() {
    if under_test_is_reference() {
        return;
    }
    let Some(server) = RealServer::start(Kind::Nginx, Settings::default()) else { return };
    let socket = server.socket();
    let mut invocation =
        Invocation::new(&under_test(), words("--uri /small.txt --num-conns 3 --num-calls 4"));
    invocation.arguments.extend(["--unix-socket".into(), socket.into_os_string()]);
    let report = finish(&invocation);
    check(&report, "connections=3 requests=12 replies=12 2xx=12 content=6.0 errors=0 length=4.000");
}

#[test]
fn a_closed_loop_with_a_pipeline_loses_no_call_when_nginx_closes_connections() {
    if under_test_is_reference() {
        return;
    }
    let settings = Settings { requests_per_connection: Some(100), has_log: true, ..Settings::default() };
    let Some(server) = RealServer::start(Kind::Nginx, settings) else { return };
    // Each connection is to carry 250 calls. On the first of each, nginx answers 100, and there are seven behind them.
    let limited = run(&server, "--uri /small.txt --concurrency 2 --num-conns 4 --num-calls 250 --pipeline 8");
    check(&limited, "connections=8 requests=428 replies=428 2xx=428 errors=0");
    let seen = logged_once_complete(&server, 428);
    assert_eq!(seen, 428, "both ends count the same");
    let endless = run(
        &server,
        "--uri /small.txt --concurrency 4 --num-conns 1000000 --duration 1 --drain 5 --pipeline 8",
    );
    check(&endless, "errors=0");
    let replies: usize = endless.1.text("replies").parse().expect("a count");
    assert!(replies > 200, "{endless:?}");
    assert_eq!(endless.1.text("requests"), replies.to_string());
    assert_eq!(logged_once_complete(&server, 428 + replies), 428 + replies, "both ends count the same");
}

#[test]
fn nginx_refuses_large_bodies_and_each_refusal_is_a_reply() {
    if under_test_is_reference() {
        return;
    }
    let settings = Settings { body_max: Some(1000), ..Settings::default() };
    let Some(server) = RealServer::start(Kind::Nginx, settings) else { return };
    for size in [2_000, 300_000, 8_000_000] {
        let mut invocation = against(
            &server,
            "--uri /small.txt --method POST --num-conns 20 --rate 100 --timeout 10 --body-file body",
        );
        invocation.files.push(("body".to_owned(), vec![b'x'; size]));
        check(&finish(&invocation), "connections=20 replies=20 4xx=20 errors=0");
    }
}

/// How many requests nginx has logged, which it does after it has answered, once that is so many.
fn logged_once_complete(server: &RealServer, count: usize) -> usize {
    for _ in 0..500 {
        if server.logged().len() >= count {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    server.logged().len()
}

fn keep_alive_and_bursts(kind: Kind) {
    let Some(server) = RealServer::start(kind, Settings::default()) else { return };
    let report = run(&server, "--uri /small.txt --num-conns 3 --num-calls 200");
    check(&report, "connections=3 requests=600 replies=600 2xx=600 length=200.000 content=6.0 errors=0");
    let report = run(&server, "--uri /small.txt --num-conns 2 --num-calls 60 --burst-length 20");
    check(&report, "connections=2 requests=120 replies=120 2xx=120 length=60.000 content=6.0 errors=0");
    let report = run(&server, "--uri /small.txt --num-conns 40 --rate 200");
    check(&report, "connections=40 requests=40 replies=40 2xx=40 length=1.000 errors=0");
    let report = run(&server, "--uri /small.txt --http-version=1.0 --num-conns 2 --num-calls 5");
    check(&report, "connections=2 requests=10 replies=10 2xx=10 length=5.000 content=6.0 errors=0");
}

fn forms_of_replies(kind: Kind) {
    let Some(server) = RealServer::start(kind, Settings::default()) else { return };
    let report = run(&server, "--uri /page.shtml --num-calls 5");
    check(&report, "replies=5 2xx=5 content=19.0 footer=2.0 errors=0");
    let report = run(&server, "--uri /page.shtml --num-calls 6 --burst-length 3");
    check(&report, "replies=6 2xx=6 content=19.0 footer=2.0 errors=0");
    let report = run(&server, "--uri /missing --num-calls 5");
    check(&report, "replies=5 2xx=0 4xx=5 errors=0");
    let report = run(&server, "--uri /moved --num-calls 5");
    check(&report, "replies=5 2xx=0 3xx=5 errors=0");
    let report = run(&server, "--uri /small.txt --method HEAD --num-calls 5");
    check(&report, "replies=5 2xx=5 content=0.0 footer=0.0 errors=0");
    let report = run(&server, "--uri /empty.txt --num-calls 5");
    check(&report, "replies=5 2xx=5 content=0.0 errors=0");
    let report = run(&server, "--uri /medium.bin --num-calls 20 --burst-length 4");
    check(&report, "replies=20 2xx=20 content=300000.0 errors=0");
}

fn large_file(kind: Kind) {
    let Some(server) = RealServer::start(kind, Settings::default()) else { return };
    let report = run(&server, "--uri /large.bin --num-calls 2 --recv-buffer 262144");
    check(&report, "requests=2 replies=2 2xx=2 content=104857600.0 footer=0.0 errors=0");
}

fn announced_close(kind: Kind) {
    let settings = Settings { requests_per_connection: Some(3), ..Settings::default() };
    let Some(server) = RealServer::start(kind, settings) else { return };
    let report = run(&server, "--uri /small.txt --num-conns 2 --num-calls 7");
    check(&report, "connections=2 replies=6 2xx=6 length=3.000");
    if !under_test_is_reference() {
        check(&report, "requests=6 errors=0");
    }
    let report = run(&server, "--uri /small.txt --wsess=2,7,0");
    check(&report, "connections=6 replies=14 2xx=14 sess_ok=2 sess_all=2 sess_conns=3.00");
    if !under_test_is_reference() {
        check(&report, "requests=14 errors=0");
    }
}

fn sessions(kind: Kind) {
    let Some(server) = RealServer::start(kind, Settings::default()) else { return };
    let report = run(&server, "--uri /small.txt --wsess=6,6,0.02 --burst-length 3 --rate 40 --timeout 5");
    check(
        &report,
        "connections=6 requests=36 replies=36 2xx=36 errors=0 sess_ok=6 sess_all=6 sess_conns=1.00",
    );
    check(&report, "histogram=0_0_0_0_0_0_6");
    let report =
        run(&server, "--uri /small.txt --wsess=3,6,0.02 --burst-length 3 --http-version=1.0 --timeout 5");
    check(
        &report,
        "connections=18 requests=18 replies=18 2xx=18 errors=0 sess_ok=3 sess_conns=6.00 length=1.000",
    );
}

fn against(server: &RealServer, arguments: &str) -> Invocation {
    let address = format!("--server 127.0.0.1 --port {} ", server.port());
    let mut invocation = Invocation::new(&under_test(), words(&(address + arguments)));
    invocation.limit = Duration::from_secs(60);
    invocation
}

fn run(server: &RealServer, arguments: &str) -> (String, Report) {
    finish(&against(server, arguments))
}

/// Runs the program, which must print a report; the arguments come back for messages.
fn finish(invocation: &Invocation) -> (String, Report) {
    let Outcome { stdout, stderr, exit, .. } = invocation.run().expect("the program can be started");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    let arguments = format!("{:?}", invocation.arguments);
    assert_eq!(exit, Exit::Code(0), "{arguments}\n{stdout}{stderr}");
    let report =
        Report::parse(&stdout).unwrap_or_else(|error| panic!("{arguments}: {error}\n{stdout}{stderr}"));
    (arguments, report)
}

/// The report has these values, as printed; a blank within a value is written `_`.
#[track_caller]
fn check((arguments, report): &(String, Report), expected: &str) {
    for pair in expected.split_whitespace() {
        let (name, value) = pair.split_once('=').expect("a value is written NAME=VALUE");
        assert_eq!(report.text(name), value.replace('_', " "), "{name} of {arguments}");
    }
}
