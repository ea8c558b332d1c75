//! The books of real runs: whatever is run, both ends count the same, and text, JSON, CSV, page, interval log and log of
//! calls say the same. `HTTPERF_BOOKS` says how many plans are drawn; pages/tests/it/books.rs draws more on the virtual
//! clock.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::bench::Bench;
use crate::support::program::{Exit, stderr, stdout};
use httperf_testkit::server::{Behaviour, Order, Reply, Server};
use rand::seq::IndexedRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde_json::Value;

/// How many plans are drawn, unless the environment says otherwise.
const PLANS: u64 = 50;

/// How many runs go on side by side: most of their time they wait.
const AT_ONCE: u64 = 4;

/// Where a run's results go.
const FILES: &str =
    "--output @r.json --csv @r.csv --html @r.html --interval-log @log --calls @calls --report=full";

/// Options of a run that is drawn, shorter than a second.
fn options(random: &mut impl Rng) -> String {
    let rate = random.random_range(50..600);
    let few = random.random_range(2..6);
    let workload = match random.random_range(0..8) {
        0 => format!("--rate {rate} --num-calls {few} --burst-length {}", random.random_range(1..3)),
        1 => format!("--period e{} --num-calls {few}", 1.0 / f64::from(rate)),
        2 => format!("--rate {rate} --concurrency {few}"),
        3 => format!("--concurrency {few} --call-pause 0.0{}", random.random_range(1..4)),
        4 => format!("--request-rate {rate} --concurrency {few}"),
        // Replies are read late, and arrivals go together.
        5 => format!("--request-rate {} --concurrency 32", 5 * rate),
        6 => format!("--request-rate {} --concurrency 32 --slack 0.00{few}", 5 * rate),
        _ => format!("--wsess=1000,{few},0.02 --rate {} --burst-length 2", rate / 10 + 1),
    };
    let mut pick = |choices: &[&str]| (*choices.choose(random).expect("there are some")).to_owned();
    [
        workload.as_str(),
        if workload.starts_with("--wsess") { "--runtime 0.5" } else { "--duration 0.5" },
        &pick(&["", "--warmup 0.2"]),
        &pick(&["", "--drain 0.2", "--drain 1"]),
        &pick(&["--timeout 0.1", "--timeout 2"]),
        &pick(&["", "--threads 1", "--threads 2"]),
        &pick(&["", "--kernel-sends 1", "--kernel-sends 3"]),
        &pick(&["", "--clock=program", "--clock=kernel"]),
    ]
    .join(" ")
}

/// A server that fails now and then, in one of the ways that are drawn.
fn moody(random: &mut impl Rng) -> Behaviour {
    let mut replies = vec![Reply::ok(b"hello"); random.random_range(3..20)];
    for _ in 0..random.random_range(0..4) {
        replies.push(match random.random_range(0..6) {
            0 => Reply::status(503),
            1 => Reply::with_header(200, "Connection: close\r\n", b"bye").closing(),
            2 => Reply::default().resetting(),
            3 => Reply::default().closing(),
            4 => Reply::bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut").closing(),
            _ => Reply::ok(b"hello").delayed(std::time::Duration::from_millis(30)),
        });
    }
    Behaviour::in_turn(Order::PerServer, replies)
}

#[test]
fn whatever_is_run_both_ends_and_all_forms_count_the_same() {
    let plans = std::env::var("HTTPERF_BOOKS").ok().and_then(|count| count.parse().ok()).unwrap_or(PLANS);
    let next = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let seed @ 0.. = next.fetch_add(1, Ordering::Relaxed)
                    && seed < plans
                {
                    check(seed);
                }
            });
        }
    });
}

/// Draws a plan and a server, runs the one against the other, and compares all that is told of it.
#[track_caller]
fn check(seed: u64) {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let bench = Bench::new();
    let (options, over_http2) = (options(&mut random), random.random_bool(0.25));
    let server = Server::start(moody(&mut random)).expect("a port is free");
    let target = if over_http2 {
        format!("--server 127.0.0.1 --port {} --http-version=2", bench.port)
    } else {
        format!("--server 127.0.0.1 --port {}", server.port())
    };
    let options = format!("{options} {target} {FILES}");
    let context = format!("seed {seed}: httperf {options}");
    let outcome = bench.command(&options);
    let records = server.finish();
    assert_eq!(outcome.exit, Exit::Code(0), "{context}\n{}", stderr(&outcome));

    let document: Value = serde_json::from_str(&bench.read("r.json")).expect("it is JSON");
    let (summary, figures) = (&document["summary"], &document["figures"]);
    let of = |value: &Value, name: &str| value[name].as_u64().unwrap_or_else(|| panic!("{context}: {name}"));
    let warmup = |name: &str| summary["warmup"][name].as_u64().unwrap_or(0);
    let count = |timing: &Value| of(&timing["moments"], "count");
    let by_outcome: Vec<u64> = (0..4).map(|index| count(&summary["calls"][index]["latency"])).collect();

    // Histograms and counters.
    assert_eq!(by_outcome[0] + by_outcome[1] + by_outcome[3], of(summary, "replies"), "{context}");
    let intervals = summary["series"]["intervals"].as_array().expect("a series");
    let total = |name: &str| intervals.iter().map(|interval| of(interval, name)).sum::<u64>();
    assert_eq!(total("replies"), of(summary, "replies") + warmup("replies"), "{context}");
    if summary["warmup"].is_null() {
        let due = of(summary, "replies") + by_outcome[2] + count(&summary["unfinished"]);
        assert_eq!(total("offered"), due, "{context}: each call that was due is in one place");
    }

    // Both ends.
    if !over_http2 {
        let seen = records.iter().map(|record| record.requests.len() as u64).sum::<u64>();
        let sent = of(summary, "requests") + warmup("requests");
        assert!(seen <= sent, "{context}: the server saw {seen} of {sent} requests");
        assert!(
            sent - seen <= of(summary, "connections") + warmup("connections"),
            "{context}: {sent}, {seen}"
        );
        assert!(of(summary, "replies") + warmup("replies") <= seen, "{context}");
    }

    // The text.
    let text = stdout(&outcome);
    let totals = format!(
        "\nTotal: connections {} requests {} replies {} test-duration ",
        of(summary, "connections"),
        of(summary, "requests"),
        of(summary, "replies")
    );
    assert!(text.contains(&totals), "{context}\n{text}");
    let rate = format!("{:.1}", figures["request_rate"].as_f64().expect("a rate"));
    assert!(text.contains(&format!("\nRequest rate: {rate} req/s ")), "{context}: {rate}\n{text}");

    // The CSV, the page.
    let rows: Vec<csv::StringRecord> = csv::Reader::from_path(bench.path("r.csv"))
        .expect("it is there")
        .into_records()
        .collect::<Result<_, _>>()
        .expect("it is CSV");
    let header = csv::Reader::from_path(bench.path("r.csv")).expect("it is there").headers().cloned();
    let header = header.expect("a header");
    let column = |name: &str| {
        let index = header.iter().position(|column| column == name).expect("the column is there");
        rows[0][index].to_owned()
    };
    for name in ["connections", "requests", "replies"] {
        assert_eq!(column(name), of(summary, name).to_string(), "{context}");
    }
    assert_eq!(column("req_rate"), rate, "{context}");
    assert_eq!(column("verdict"), document["verdict"]["level"].as_str().expect("a level"), "{context}");
    let page = bench.read("r.html");
    let all = &document["figures"]["all_calls"];
    let tile = format!("{} of {} calls answered", of(all, "answered"), of(all, "calls"));
    // A run without any reply says why instead.
    assert!(of(all, "answered") == 0 || text.replace(',', "").contains(&tile), "{context}: {tile}\n{text}");
    assert!(page.replace(',', "").contains(&tile), "{context}: {tile}");

    // The interval log, the log of calls.
    let lines: Vec<Value> = bench
        .read("log")
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is JSON"))
        .collect();
    for name in ["sent", "replies", "http_errors", "failed_calls"] {
        let logged: u64 = lines.iter().map(|line| of(line, name)).sum();
        assert_eq!(logged, total(name), "{context}: {name}");
    }
    let log = csv::Reader::from_path(bench.path("calls")).expect("it is there").into_records();
    let log: Vec<csv::StringRecord> = log.collect::<Result<_, _>>().expect("it is CSV");
    let answered = log.iter().filter(|row| !row[8].is_empty()).count() as u64;
    assert_eq!(answered, total("replies"), "{context}");
    assert_eq!(log.len() as u64 - answered, total("failed_calls"), "{context}");

    // What the kernel said.
    if options.contains("--kernel-sends") {
        let kernel = &summary["kernel"];
        let logged = |column: usize| log.iter().filter(|row| !row[column].is_empty()).count() as u64;
        let (stamped, sent) = (count(&kernel["service"]), count(&kernel["send_lag"]));
        let asked = stamped + of(kernel, "unstamped");
        assert!(
            text.contains(&format!("\nKernel to kernel: known for {stamped} of {asked} replies")),
            "{context}"
        );
        assert_eq!(figures["kernel_ms"]["samples"], stamped, "{context}");
        assert!(stamped <= sent && sent <= asked && asked <= of(summary, "replies"), "{context}: {kernel}");
        if summary["warmup"].is_null() {
            assert_eq!([15, 16].map(logged), [sent, stamped], "{context}");
        }
        let p99 = figures["kernel_ms"]["p99"].as_f64().map_or_else(String::new, |ms| format!("{ms:.3}"));
        assert_eq!(column("kernel_p99_ms"), p99, "{context}");
    }
}
