//! Metrics of a run while it goes on: what is fetched, sent and written agrees with the result, and nobody who collects
//! metrics disturbs the run.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use httperf_testkit::tcp::free_port;
use rustix::process::Signal;
use serde_json::Value;

use crate::endings::wait_until;
use crate::fleet::{check_exits, document, fleet, run as run_all, text, told};
use crate::support::bench::Bench;
use crate::support::group::Group;
use crate::support::program::{Exit, under_test};
use crate::support::words;

/// Fetches metrics; `None` if nobody answers.
fn fetch(port: u16, accept: &str) -> Option<Vec<u8>> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    let request = format!("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).ok()?;
    let end = reply.windows(4).position(|window| window == b"\r\n\r\n")?;
    Some(reply.split_off(end + 4))
}

/// The value of a metric of the measured phase, or of one without labels.
fn value(metrics: &str, name: &str) -> Option<f64> {
    let start = [format!("{name}{{phase=\"measured\"}} "), format!("{name} ")];
    metrics
        .lines()
        .find_map(|line| start.iter().find_map(|start| line.strip_prefix(&start[..])))?
        .parse()
        .ok()
}

/// Whatever is fetched from this port until `is_over`.
fn fetch_meanwhile(port: u16, is_over: &AtomicBool) -> Vec<String> {
    let mut fetched = Vec::new();
    while !is_over.load(Ordering::Relaxed) {
        if let Some(reply) = fetch(port, "*/*") {
            fetched.push(String::from_utf8(reply).expect("it is text"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    fetched
}

/// The sum of a field of lines for InfluxDB.
fn sum(lines: &str, field: &str) -> u64 {
    let start = format!("{field}=");
    let values = lines.lines().filter_map(|line| {
        let fields = line.rsplit(' ').nth(1)?;
        let value = fields.split(',').find_map(|one| one.strip_prefix(&start[..]))?;
        value.strip_suffix('i')?.parse::<u64>().ok()
    });
    values.sum()
}

/// Requests that a receiver took: paths, and sizes of bodies.
type Taken = Arc<Mutex<Vec<(String, usize)>>>;

/// A receiver that takes all requests.
fn receiver() -> (u16, Taken) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = listener.local_addr().expect("it is bound").port();
    let taken = Arc::new(Mutex::new(Vec::new()));
    let takes = Arc::clone(&taken);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let takes = Arc::clone(&takes);
            std::thread::spawn(move || take(stream, &takes));
        }
    });
    (port, taken)
}

fn take(stream: std::io::Result<TcpStream>, taken: &Mutex<Vec<(String, usize)>>) -> Option<()> {
    let mut stream = stream.ok()?;
    let (mut bytes, mut buffer) = (Vec::new(), [0; 65536]);
    loop {
        let end = bytes.windows(4).position(|window: &[u8]| window == b"\r\n\r\n");
        let head = end.map(|end| String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase());
        let length = head.as_ref().and_then(|head| {
            let (_, rest) = head.split_once("content-length: ")?;
            rest.lines().next()?.parse::<usize>().ok()
        });
        if let (Some(end), Some(head), Some(length)) = (end, head, length)
            && bytes.len() >= end + 4 + length
        {
            let path = head.split(' ').nth(1)?.to_owned();
            taken.lock().expect("nobody panics with it").push((path, length));
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").ok()?;
            bytes.drain(..end + 4 + length);
            continue;
        }
        match stream.read(&mut buffer).ok()? {
            0 => return None,
            length => bytes.extend_from_slice(&buffer[..length]),
        }
    }
}

#[test]
fn what_is_fetched_sent_and_written_agrees_with_the_result() {
    let bench = Bench::new();
    let (port, (receiver, taken)) = (free_port(), receiver());
    let is_over = AtomicBool::new(false);
    let arguments = format!(
        "--server 127.0.0.1 --port {} --rate 100 --num-conns 500 --num-calls 2 --metrics 127.0.0.1:{port} \
         --otlp http://127.0.0.1:{receiver} --influx @lines --output @r.json",
        bench.port
    );
    let (outcome, fetched) = std::thread::scope(|scope| {
        let fetching = scope.spawn(|| fetch_meanwhile(port, &is_over));
        let outcome = bench.command(&arguments);
        is_over.store(true, Ordering::Relaxed);
        (outcome, fetching.join().expect("it does not panic"))
    });
    assert_eq!(outcome.exit, Exit::Code(0), "{}", text(&outcome.stderr));
    let result = document(&bench, "r.json");
    let replies = result["summary"]["replies"].as_u64().expect("a number");
    assert_eq!(replies, 1000);

    // Five seconds, each of which was published when it had ended.
    let counts: Vec<f64> =
        fetched.iter().map(|metrics| value(metrics, "httperf_replies_total").unwrap_or(0.0)).collect();
    assert!(counts.is_sorted() && counts.last() > Some(&0.0), "{counts:?}");
    let last = fetched.last().expect("something was fetched");
    assert!(last.ends_with("# EOF\n"), "{last}");
    for (metric, most) in [
        ("httperf_arrivals_total", 500.0),
        ("httperf_calls_offered_total", 1000.0),
        ("httperf_call_latency_seconds_count", 1000.0),
        ("httperf_call_service_seconds_count", 1000.0),
        ("httperf_arrival_lag_seconds_count", 500.0),
        ("httperf_generator_cpu_seconds_total", 60.0),
    ] {
        let found = value(last, metric).unwrap_or_else(|| panic!("no {metric} in:\n{last}"));
        assert!(found > 0.0 && found <= most, "{metric}: {found}");
    }
    let asked = |metrics: &String| value(metrics, "httperf_arrivals_asked_per_second") == Some(100.0);
    assert!(fetched.iter().any(asked), "{last}");
    let name = result["parts"][0]["run"].as_str().expect("a name");
    assert!(last.contains(&format!("run=\"{name}\"")), "metrics and result have the same name of the run");

    let lines = bench.read("lines");
    assert_eq!((sum(&lines, "replies"), sum(&lines, "arrivals")), (replies, 500), "{lines}");
    assert!(lines.lines().all(|line| line.starts_with("httperf,host=")), "{lines}");
    let taken = taken.lock().expect("nobody panics with it");
    assert!(taken.len() >= 5 && taken.iter().all(|(path, size)| path == "/v1/metrics" && *size > 100));
}

#[test]
fn metrics_of_a_fleet_are_those_of_all_ranks() {
    let bench = Bench::new();
    let (port, is_over) = (free_port(), AtomicBool::new(false));
    let arguments = format!(
        "--server 127.0.0.1 --port {} --meet dir:{} --rate 100 --num-conns 500 --metrics 127.0.0.1:{port} --influx {} \
         --output {}",
        bench.port,
        bench.expand("@meet"),
        bench.expand("@lines"),
        bench.expand("@r.json")
    );
    let (outcomes, fetched) = std::thread::scope(|scope| {
        let fetching = scope.spawn(|| fetch_meanwhile(port, &is_over));
        // The second would not find the port free if it wanted it too.
        let outcomes = run_all(&fleet(2, &arguments));
        is_over.store(true, Ordering::Relaxed);
        (outcomes, fetching.join().expect("it does not panic"))
    });
    check_exits(&outcomes, 0);
    let last = fetched.last().unwrap_or_else(|| panic!("nothing was fetched: {}", told(&outcomes)));
    assert!(last.contains("ranks=\"2\""), "{last}");
    let lags = value(last, "httperf_arrival_lag_seconds_count");
    assert_eq!(lags, value(last, "httperf_arrivals_total"), "the other rank tells of its lags too");
    let guide = include_str!("../../../../docs/guide/metrics.md");
    let dashboard = include_str!("../../../../docs/grafana/httperf.json");
    for named in [guide, dashboard] {
        let names = named.split(|one: char| !one.is_ascii_alphanumeric() && one != '_');
        let of_ranks: Vec<&str> = names.filter(|name| name.starts_with("httperf_rank_")).collect();
        assert!(of_ranks.len() >= 3, "{of_ranks:?}");
        for name in of_ranks {
            assert!(last.contains(&format!("\n{name}{{rank=\"1\"}} ")), "no {name} in:\n{last}");
        }
    }

    let result = document(&bench, "r.json");
    let lines = bench.read("lines");
    let (of_ranks, of_all): (Vec<&str>, Vec<&str>) =
        lines.lines().partition(|line| line.starts_with("httperf_rank,"));
    assert_eq!(Some(sum(&of_all.join("\n"), "replies")), result["summary"]["replies"].as_u64());
    for rank in 0..2 {
        let tag = format!(",rank={rank},");
        let of_rank: Vec<&str> = of_ranks.iter().filter(|line| line.contains(&tag)).copied().collect();
        assert_eq!(sum(&of_rank.join("\n"), "replies"), 250, "{lines}");
    }
}

#[test]
fn calls_that_start_late_are_told_of_all_the_same() {
    let bench = Bench::new();
    let arguments = format!(
        "--server 127.0.0.1 --port {} --rate 100 --num-conns 400 --influx @lines --interval-log @log --output @r.json",
        bench.port
    );
    let mut run = Group::spawn(
        Command::new(under_test())
            .args(words(&bench.expand(&arguments)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null()),
    )
    .expect("it can be started");
    wait_until("the first second has ended", || {
        std::fs::metadata(bench.path("lines")).is_ok_and(|file| file.len() > 0)
    });
    run.signal_leader(Signal::STOP);
    // The generator stands still while 150 connections are due: that time is what is tested.
    std::thread::sleep(Duration::from_millis(1500));
    run.signal_leader(Signal::CONT);
    assert!(run.child().wait().expect("it is a child").success());

    let result = document(&bench, "r.json");
    let (lines, log) = (bench.read("lines"), bench.read("log"));
    let log: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let of_log = |name: &str| log.iter().filter_map(|line| line[name].as_u64()).sum::<u64>();
    for (in_lines, in_log) in [("arrivals", "arrivals"), ("calls_offered", "offered"), ("replies", "replies")]
    {
        assert_eq!((sum(&lines, in_lines), of_log(in_log)), (400, 400), "{in_log}: {lines}");
    }
    assert_eq!(result["summary"]["replies"], 400);
    let latest = log.iter().filter_map(|line| line["lag_max_us"].as_u64()).max();
    assert!(latest > Some(1_000_000), "the lag of {latest:?} us is not that of those who waited: {lines}");
}

#[test]
fn clients_that_are_stuck_or_send_rubbish_disturb_nobody() {
    let bench = Bench::new();
    let port = free_port();
    let arguments = format!(
        "--server 127.0.0.1 --port {} --rate 50 --num-conns 500 --metrics 127.0.0.1:{port} --output @r.json",
        bench.port
    );
    std::thread::scope(|scope| {
        let running = scope.spawn(|| bench.command(&arguments));
        let began = Instant::now();
        let mut stuck = Vec::new();
        while stuck.len() < 20 && began.elapsed() < Duration::from_secs(8) {
            match TcpStream::connect(("127.0.0.1", port)) {
                Ok(mut stream) => {
                    // Those that were sent away say so.
                    let _written = stream.write_all(&vec![b'x'; stuck.len() * 1000]);
                    stuck.push(stream);
                }
                Err(_) => std::thread::sleep(Duration::from_millis(20)),
            }
        }
        assert_eq!(stuck.len(), 20, "the port was opened");
        let mut fetched = None;
        while fetched.is_none() && !running.is_finished() {
            fetched = fetch(port, "*/*");
        }
        let outcome = running.join().expect("it does not panic");
        assert_eq!(outcome.exit, Exit::Code(0), "{}", text(&outcome.stderr));
        assert!(fetched.is_some(), "others are served while some are stuck");
    });
    assert_eq!(document(&bench, "r.json")["summary"]["replies"], 500);
}

#[test]
fn a_receiver_that_is_not_there_is_said_and_is_no_failure() {
    let bench = Bench::new();
    let nobody = free_port();
    let outcome = bench.command(&format!(
        "--server 127.0.0.1 --port {} --rate 50 --num-conns 75 --otlp http://127.0.0.1:{nobody}/x \
         --influx http://127.0.0.1:{nobody}/write?db=x --output @r.json",
        bench.port
    ));
    let error = text(&outcome.stderr);
    assert_eq!(outcome.exit, Exit::Code(0), "{error}");
    for expected in [
        format!("--otlp: http://127.0.0.1:{nobody}/x has not taken metrics: "),
        "messages were not delivered to http://127.0.0.1:".to_owned(),
        "--influx: ".to_owned(),
    ] {
        assert!(error.contains(&expected), "expected {expected:?} in:\n{error}");
    }
    assert_eq!(document(&bench, "r.json")["summary"]["replies"], Value::from(75));
}

#[test]
fn what_cannot_be_is_said_before_the_run() {
    let bench = Bench::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let port = taken.local_addr().expect("it is bound").port();
    for (options, expected) in [
        (format!("--metrics 127.0.0.1:{port}"), format!("--metrics: cannot listen on 127.0.0.1:{port}: ")),
        (
            "--metrics 9464".to_owned(),
            "--metrics: expected an address such as 127.0.0.1:9464, got `9464`".to_owned(),
        ),
        ("--metrics-linger 5".to_owned(), "--metrics-linger needs --metrics".to_owned()),
        (
            format!("--metrics 127.0.0.1:{port} --metrics-linger soon"),
            "--metrics-linger: expected a time of 0 or more, such as 30s, got `soon`".to_owned(),
        ),
        (
            "--otlp 127.0.0.1:4318".to_owned(),
            "--otlp: expected a URL such as http://127.0.0.1:4318".to_owned(),
        ),
        (
            "--influx -".to_owned(),
            "--influx: expected an http:// or https:// URL, or the name of a file, got `-`".to_owned(),
        ),
        ("--influx @no/such/file".to_owned(), "--influx: cannot write ".to_owned()),
        (
            "--record=classic --metrics 127.0.0.1:1".to_owned(),
            "--metrics cannot be used with --record=classic: the classic record keeps only the figures of the classic report"
                .to_owned(),
        ),
    ] {
        let outcome =
            bench.command(&format!("--server 127.0.0.1 --port {} --num-conns 1 {options}", bench.port));
        let error = text(&outcome.stderr);
        assert_eq!(outcome.exit, Exit::Code(1), "{options}: {error}");
        assert!(error.contains(&expected), "expected {expected:?} in:\n{error}");
    }
}
