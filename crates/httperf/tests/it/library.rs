//! The library: loads of tests in Rust, beside the program and against servers of other makes.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use httperf::{Error, Load, Protocol, Report, Verdict, ms};
use serde_json::Value;

use crate::support::certificates::Certificates;
use crate::support::nginx::Nginx;
use crate::support::program::{Killed, under_test};
use crate::support::running::{Running, find};

/// A server of ten lines, a thread for each connection, which ends with the test.
struct Server {
    address: SocketAddr,
    /// Requests that were read.
    requests: Arc<AtomicU64>,
}

impl Server {
    /// A server that gives each request, by its number from 0, this reply.
    fn start(reply: impl Fn(u64) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(AtomicU64::new(0));
        let (counted, reply) = (Arc::clone(&requests), Arc::new(reply));
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (counted, reply) = (Arc::clone(&counted), Arc::clone(&reply));
                thread::spawn(move || serve(&connection, &counted, &*reply));
            }
        });
        Self { address, requests }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }
}

fn serve(mut connection: &TcpStream, counted: &AtomicU64, reply: &dyn Fn(u64) -> String) {
    connection.set_nodelay(true).unwrap();
    let mut lines = BufReader::new(connection).lines();
    while let Some(Ok(line)) = lines.next() {
        if line.is_empty()
            && connection.write_all(reply(counted.fetch_add(1, Ordering::SeqCst)).as_bytes()).is_err()
        {
            return;
        }
    }
}

fn with_status(status: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nok")
}

fn ok(_: u64) -> String {
    with_status("200 OK")
}

fn plan_of(document: &str) -> Value {
    let mut document: Value = serde_json::from_str(document).unwrap();
    document["plan"].take()
}

#[test]
fn a_load_has_the_plan_of_the_same_command_line() {
    let server = Server::start(ok);
    let url = server.url("/a?b={c}");
    let load = || Load::get(&url).for_duration(ms(100));
    let other = Server::start(ok);
    let connect_to = format!("--request-rate 50 --connect-to ::127.0.0.1:{}", other.address.port());
    let pairs = [
        (load().rate(50.0), "--request-rate 50"),
        (
            load().rate(40.0).connections(3).timeout(ms(2500)),
            "--request-rate 40 --concurrency 3 --timeout 2.5",
        ),
        (load().rate(50.0).connection_per_call(), "--rate 50"),
        (load().rate(50.0).connection_per_call().connections(4), "--rate 50 --concurrency 4"),
        (load().rate(50.0).poisson().calls(3), "--request-period e0.02 --num-calls 3"),
        (load().closed_loop(2), "--concurrency 2"),
        (load().closed_loop(2).connection_per_call(), "--concurrency 2 --num-calls 1"),
        (load().rate(50.0).expect_status("2xx,304"), "--request-rate 50 --expect-status 2xx,304"),
        (load().rate(50.0).objectives("p50<5s, errors<50%"), "--request-rate 50 --slo p50<5s,errors<50%"),
        (load().rate(50.0).header("X-A", "b c"), "--request-rate 50 --header X-A:b\tc"),
        (load().rate(50.0).body("d=1"), "--request-rate 50 --body d=1 --method GET"),
        (load().rate(50.0).protocol(Protocol::Http2), "--request-rate 50 --http-version 2"),
        (load().rate(50.0).warm_up(ms(50)).threads(1), "--request-rate 50 --warmup 0.05 --threads 1"),
        (load().rate(50.0).connect_to(other.address), &connect_to),
    ];
    for (load, options) in pairs {
        let ours = plan_of(&load.run().unwrap().json());
        let words = options.split(' ').map(|word| word.replace('\t', " "));
        let timeout = if options.contains("--timeout") { &[][..] } else { &["--timeout", "10"][..] };
        let mut command = Command::new(under_test());
        command.args(["--duration", "0.1", "--output", "-"]).args(timeout).args(words).arg(&url);
        let output = command.output().unwrap();
        let theirs = plan_of(&String::from_utf8(output.stdout).unwrap());
        assert_eq!(ours, theirs, "{options}");
    }
}

#[test]
fn both_ends_count_the_same_calls() {
    let server = Server::start(ok);
    let report = Load::get(server.url("/")).rate(200.0).calls(100).run().unwrap();
    assert_eq!((report.calls(), report.answered(), report.failed()), (100, 100, 0), "{report}");
    assert_eq!((report.replies_with(200), report.replies_with(404), server.requests()), (100, 0, 100));
    // Ten are opened before the run, and more if this machine is slow.
    assert!((1..=100).contains(&report.connections()), "{report}");
    assert!(report.latency().p50() <= report.latency().max());
    assert_eq!(report.answered_latency().samples(), 100);
    assert_eq!(report.latency().percentile(99.0), report.answered_latency().percentile(99.0));
    let (service, all) = (report.service_time(), report.answered_latency());
    assert!(service.min() <= service.percentile(50.0) && service.max() <= all.max(), "{report}");
    assert!(report.duration() >= ms(400) && report.reply_rate() > 0.0);
    assert!(report.to_string().contains("Total: connections"), "{report}");
    assert!(report.html().contains("<html"));
}

#[test]
fn a_server_that_fails_fast_does_not_look_fast() {
    let server = Server::start(|_| with_status("500 Internal Server Error"));
    let load = Load::get(server.url("/")).rate(200.0).calls(100);
    let report = load.clone().expect_status("200").run().unwrap();
    assert_eq!((report.answered(), report.failed(), report.replies_with(500)), (0, 100, 100), "{report}");
    assert_eq!((report.latency().p50(), report.latency().max()), (Duration::MAX, Duration::MAX));
    assert_eq!(report.answered_latency().mean(), None);
    // Without an expectation an error is an answer, as ever.
    assert_eq!(load.run().unwrap().answered(), 100);

    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let report = Load::get(format!("http://{nobody}/")).rate(100.0).calls(20).run().unwrap();
    assert_eq!((report.answered(), report.failed()), (0, 20), "{report}");
    assert_eq!(report.latency().p50(), Duration::MAX);
}

#[test]
fn a_pause_of_the_server_is_the_latency_of_all_that_was_due_meanwhile() {
    let pause = |number| {
        if number == 50 {
            thread::sleep(ms(400));
        }
        ok(number)
    };
    let server = Server::start(pause);
    let report = Load::get(server.url("/")).rate(100.0).connections(1).calls(100).run().unwrap();
    assert!(report.latency().max() >= ms(400), "{report}");
    // Of the forty that were due in the pause, half waited for 200 ms and more.
    assert!(report.latency().percentile(85.0).unwrap() >= ms(150), "{report}");
    // Their service is as fast as that of others.
    assert!(report.service_time().percentile(85.0).unwrap() < ms(150), "{report}");
}

#[test]
fn percentiles_take_enough_calls() {
    let server = Server::start(ok);
    let report = Load::get(server.url("/")).rate(100.0).calls(50).run().unwrap();
    assert_eq!(report.latency().percentile(99.0), None);
    assert!(report.latency().percentile(98.0).is_some());
    let panic = catch_unwind(|| report.latency().p99()).unwrap_err();
    assert_eq!(*panic.downcast::<String>().unwrap(), "percentile 99: expected at least 100 calls, got 50");
}

/// Of 1,000 calls, the 99.9th percentile is the second longest: the quotient of 99.9 and 100 is a little above 0.999.
#[test]
fn percentiles_have_the_ranks_of_the_document() {
    let server = Server::start(|number| if number == 700 { with_status("500 Oops") } else { ok(number) });
    let load = Load::get(server.url("/")).rate(1000.0).expect_status("200").objectives("p99.9<30s");
    let report = load.calls(1000).run().unwrap();
    assert_eq!((report.calls(), report.failed()), (1000, 1), "{report}");
    assert!(report.latency().p999() < Duration::MAX && report.latency().max() == Duration::MAX, "{report}");
    assert!(report.met_objectives(), "{report}");
    let document: Value = serde_json::from_str(&report.json()).unwrap();
    let ms = document["figures"]["all_calls"]["p99.9"]["ms"].as_f64().unwrap();
    assert_eq!(report.latency().p999(), Duration::from_secs_f64(ms / 1e3));
}

#[test]
fn a_server_of_another_protocol_ends_the_load() {
    let server = Server::start(ok);
    let load = Load::get(server.url("/")).rate(200.0).connection_per_call().protocol(Protocol::Http2);
    let report = load.calls(2000).run().unwrap();
    assert!(report.ended_early() && report.calls() < 2000 && report.answered() == 0, "{report}");
    assert!(!Load::get(server.url("/")).rate(200.0).calls(2).run().unwrap().ended_early());
}

#[test]
fn objectives_are_judged() {
    let server = Server::start(ok);
    let load = |objectives: &str| {
        Load::get(server.url("/")).rate(100.0).calls(50).objectives(objectives).run().unwrap()
    };
    let kept = load("p90<10s, errors<1%");
    assert!(kept.met_objectives() && kept.missed_objectives().is_empty(), "{kept}");
    let missed = load("p90<1us, errors<1%");
    assert!(!missed.met_objectives());
    let [sentence] = &missed.missed_objectives()[..] else { panic!("{missed}") };
    assert!(sentence.contains("p90"), "{sentence}");
}

#[test]
fn a_seed_chooses_the_random_numbers() {
    let server = Server::start(ok);
    let run = |seed| {
        let report = Load::get(server.url("/")).rate(400.0).poisson().calls(60).seed(seed).run().unwrap();
        let document: Value = serde_json::from_str(&report.json()).unwrap();
        document["summary"]["arrivals"]["span_due_ns"].clone()
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

#[test]
fn nginx_is_spoken_to_in_each_version_of_http() {
    let Some(program) = find("nginx") else { return };
    let nginx = Running::start(
        "127.0.0.1",
        1,
        |folder| {
            Certificates::make(folder);
            fs::create_dir(folder.join("docs"))?;
            fs::write(folder.join("docs/index.html"), "hello")
        },
        |folder, ports| {
            let listening = format!("127.0.0.1:{} ssl http2", ports[0]);
            Nginx::new(folder).listen(listening).certificate().log("'$server_protocol'").command(&program)
        },
    );
    let load = Load::get(format!("https://localhost:{}/", nginx.port(0))).rate(100.0).calls(50);
    let authority = fs::read(nginx.folder().join("ca.pem")).unwrap();
    let mut logged = 0;
    for (protocol, named) in [(Protocol::Http1, "HTTP/1.1"), (Protocol::Http2, "HTTP/2.0")] {
        let report = load.clone().protocol(protocol).trust(&authority).run().unwrap();
        assert_eq!((report.answered(), report.replies_with(200)), (50, 50), "{protocol:?} {report}");
        assert_eq!(report.connect_time().samples(), report.connections());
        let lines = nginx.lines("access.log", logged + 50);
        assert!(lines[logged..].iter().all(|line| line == named), "{lines:?}");
        logged += 50;
    }
    let untrusted = load.verify_certificate().run().unwrap();
    assert_eq!((untrusted.answered(), untrusted.latency().p50()), (0, Duration::MAX), "{untrusted}");
}

#[test]
fn http3_is_spoken() {
    let mut server = Killed(
        Command::new(under_test())
            .args(["serve", "--http3", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let mut lines = BufReader::new(server.0.stdout.take().unwrap()).lines();
    let listening =
        lines.find_map(|line| line.unwrap().split("127.0.0.1:").nth(1).map(str::to_owned)).unwrap();
    let port: String = listening.chars().take_while(char::is_ascii_digit).collect();
    let load =
        Load::get(format!("https://127.0.0.1:{port}/")).protocol(Protocol::Http3).rate(100.0).calls(50);
    let report = load.run().unwrap();
    assert_eq!((report.answered(), report.failed()), (50, 0), "{report}");
    assert!(report.to_string().contains("HTTP/3"), "{report}");
}

#[test]
fn loads_that_cannot_be_are_refused_in_a_sentence() {
    let load = || Load::get("http://127.0.0.1:9/").rate(1.0).calls(1);
    let cases = [
        (
            Load::get("127.0.0.1:80").rate(1.0).calls(1),
            "cannot use the URL `127.0.0.1:80`: it begins neither with http:// nor with https://",
        ),
        (
            load().protocol(Protocol::Http3),
            "cannot use the URL `http://127.0.0.1:9/`: HTTP/3 takes an https:// URL",
        ),
        (Load::get("http://no.invalid/").rate(1.0).calls(1), "cannot resolve `no.invalid`"),
        (
            Load::get("http://127.0.0.1:9/").calls(1),
            "rate: expected calls per second, or a `closed_loop`, got neither",
        ),
        (
            Load::get("http://127.0.0.1:9/").rate(1.0),
            "for_duration: expected an end of the load, which `calls` sets too, got none",
        ),
        (load().rate(0.0), "rate: expected a number above 0, got 0"),
        (load().rate(f64::NAN), "rate: expected a number above 0, got NaN"),
        (load().closed_loop(1), "calls: expected `for_duration` alone with a `closed_loop`, got 1"),
        (
            Load::get("http://127.0.0.1:9/").closed_loop(2).poisson().for_secs(1),
            "poisson: expected a `rate`, got a `closed_loop`",
        ),
        (
            Load::get("http://127.0.0.1:9/").closed_loop(2).connections(3).for_secs(1),
            "connections: expected a `rate`, as a `closed_loop` has its own number, got 3",
        ),
        (
            load().verify_certificate(),
            "cannot use the URL `http://127.0.0.1:9/`: a certificate to verify takes",
        ),
        (load().connections(0), "connections: expected at least 1, got 0"),
        (
            Load::get("http://127.0.0.1:9/").rate(10.0).calls(3).warm_up(ms(500)),
            "warm_up: expected a load that outlasts it, such as one with `for_duration`, got 500ms with the last call due \
             after 200ms",
        ),
        (load().threads(9), "a load that cannot be: threads: expected a number from 1 to 1"),
        (
            load().header("a b", "c"),
            "header: expected a header field such as `Accept: text/html`, got `a b: c`",
        ),
        (load().header("Content-Length", "1"), "header: expected a header field other than Content-Length"),
        (load().expect_status("20"), "expect_status: expected statuses such as `200,204` or `2xx`, got `20`"),
        (load().objectives("p99"), "objectives: expected "),
        (
            load().objectives("unexpected<1%"),
            "objectives: expected what this load can tell, got `unexpected<1%`, which needs `expect_status`",
        ),
        (
            load().objectives("handshake.p99<5ms"),
            "objectives: expected what this load can tell, got `handshake.p99<5ms`, which needs an https:// URL",
        ),
        (
            Load::get("http://127.0.0.1:9/").closed_loop(2).for_secs(1).objectives("lag.p99<1ms"),
            "objectives: expected what this load can tell, got `lag.p99<1ms`, which needs a `rate`",
        ),
        (
            load().objectives("ttft.p99<1s"),
            "objectives: expected what this load can tell, got `ttft.p99<1s`, which needs what the program `httperf` can \
             do and a `Load` cannot",
        ),
        (
            load().objectives("p99<5ms, p50>6ms"),
            "objectives: expected bounds that one run can keep, got `p99<5ms` and `p50>6ms`",
        ),
        (load().for_secs(0), "for_duration: expected a time above 0, got 0"),
        (load().timeout(Duration::ZERO), "timeout: expected a time above 0, got 0"),
        (load().calls(0), "calls: expected at least 1, got 0"),
        (load().calls(u64::MAX), "calls: expected a smaller number, got 18446744073709551615"),
        (
            Load::get("ws://127.0.0.1:9/").rate(1.0).calls(1),
            "cannot use the URL `ws://127.0.0.1:9/`: it begins neither with http:// nor with https://",
        ),
        (
            load().header("Host", "a").header("host", "b"),
            "header: expected `Host` once, got it more than once",
        ),
        (
            Load::request("CONNECT", "http://127.0.0.1:9/").protocol(Protocol::Http2).rate(1.0).calls(1),
            "request: expected another method over HTTP/2 and HTTP/3, got `CONNECT`",
        ),
        (
            Load::request("GE T", "http://127.0.0.1:9/").rate(1.0).calls(1),
            "request: expected a method such as `PUT`, got `GE T`",
        ),
    ];
    for (load, expected) in cases {
        let error = load.run().unwrap_err().to_string();
        assert!(error.starts_with(expected), "{error}\n{expected}");
    }
    let untrusted = Load::get("https://127.0.0.1:9/").rate(1.0).calls(1).trust("no certificate").run();
    assert!(matches!(untrusted, Err(Error::System(_))), "{untrusted:?}");
}

#[test]
fn examples_end_well() {
    for name in ["in_process", "highest_rate"] {
        let output = Command::new(example(name)).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{name}: {text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(!text.is_empty(), "{name}");
    }
}

/// Where cargo puts examples: beside the folder of test programs.
fn example(name: &str) -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.parent().unwrap().parent().unwrap().join("examples").join(name)
}

/// Users send reports to other threads, print them, and compare verdicts.
#[test]
fn a_report_is_a_value() {
    fn is_value<T: Clone + std::fmt::Debug + Send + Sync + 'static>() {}
    is_value::<Report>();
    is_value::<Load>();
    assert!(Verdict::Valid < Verdict::Invalid);
    assert_eq!(Verdict::Suspect.to_string(), "SUSPECT");
}

/// The test of docs/guide/library.md, which is compiled here: its bound is not for any machine.
#[expect(dead_code, reason = "it need only compile")]
fn orders_are_fast_at_500_per_second() {
    let address = start_my_server();
    let report = Load::get(format!("http://{address}/orders"))
        .rate(500.0)
        .expect_status("200")
        .warm_up(ms(500))
        .for_secs(2)
        .run()
        .unwrap();
    if report.verdict() == Verdict::Invalid {
        // The machine was too busy: that says nothing about the server.
        return;
    }
    assert_eq!(report.failed(), 0, "{report}");
    assert!(report.latency().p99() < ms(20), "{report}");
}

fn start_my_server() -> SocketAddr {
    Server::start(ok).address
}

#[test]
fn the_guide_has_a_test_that_compiles() {
    let guide = fs::read_to_string(xtask::root().join("docs/guide/library.md")).unwrap();
    let source = include_str!("library.rs");
    let function = |text: &str| {
        let from = text.find("fn orders_are_fast_at_500_per_second").unwrap();
        let end = text[from..].find("\n}\n").unwrap();
        text[from..from + end].to_owned()
    };
    assert_eq!(function(&guide), function(source));
    assert!(guide.contains("use httperf::{Load, Verdict, ms};"));
}
