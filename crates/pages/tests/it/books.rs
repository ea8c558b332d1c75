//! Bookkeeping of runs: each call that was due is counted exactly once, client and server agree, and all
//! forms of report agree.
//!
//! `PROPTEST_CASES` sets the number of plans drawn; `make test-long` draws many.

use std::cell::RefCell;
use std::collections::HashSet;
use std::num::NonZeroU32;
use std::rc::Rc;
use std::time::Duration;

use httperf_engine::{Observation, Observer};
use httperf_pages::page;
use httperf_plan::{
    Arrivals, Cap, Excess, HttpVersion, Phases, Plan, Recording, Shard, Timeouts, UNLIMITED, Workload,
};
use httperf_report::result::Document;
use httperf_report::{Judged, Measured, csv_header, csv_row};
use httperf_stats::{CallOutcome, Summary};
use httperf_testkit::http2::{Reply, code};
use httperf_testkit::sim::{
    Action, Deed, Edit, Http2Peer, HttpPeer, Link, Peer, RequestSeen, Run, StreamSeen, at_once, calls,
    connections, nonzero, reply, run_shard, scenarios, sessions, uniform,
};
use proptest::prelude::*;

use crate::documents;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Requests and replies seen by the server, over all shards.
#[derive(Default)]
struct Truth {
    requests: u64,
    /// Complete replies sent while the connection was open, whether or not they arrived.
    replies: u64,
}

/// Fate of a request: a pseudorandom number that is the same each time.
fn chance(seed: u64, connection: usize, index: usize) -> u64 {
    let mut bits = seed ^ (connection as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ ((index as u64) << 32);
    bits = (bits ^ (bits >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    (bits ^ (bits >> 33)) % 100
}

/// An unpredictable server that keeps a log.
fn moody(seed: u64, truth: Rc<RefCell<Truth>>) -> impl Peer {
    // Connections on which nothing more is sent: what came behind a reply that is cut would complete it.
    let mut ended = HashSet::new();
    HttpPeer::new(move |request: &RequestSeen| {
        let mood = chance(seed, request.connection, request.index);
        let delay = ms(mood % 23);
        truth.borrow_mut().requests += 1;
        if ended.contains(&request.connection) {
            return vec![];
        }
        if (86..98).contains(&mood) {
            ended.insert(request.connection);
        }
        let answers = |status, fields: &str| {
            truth.borrow_mut().replies += 1;
            Action::Send(delay, reply(status, fields, "hello"))
        };
        match mood {
            0..80 => vec![answers(200, "")],
            80..86 => vec![answers(503, "")],
            86..91 => vec![answers(200, "Connection: close\r\n"), Action::Close(delay)],
            91..94 => vec![Action::Reset(delay)],
            94..96 => vec![Action::Close(delay)],
            96..98 => {
                let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut".to_vec();
                vec![Action::Send(delay, cut), Action::Close(delay)]
            }
            _ => vec![],
        }
    })
}

/// The same over HTTP/2.
fn moody_streams(seed: u64, truth: Rc<RefCell<Truth>>) -> impl Peer {
    Http2Peer::new(move |request: &StreamSeen| {
        let mood = chance(seed, request.connection, request.index);
        let delay = ms(mood % 23);
        truth.borrow_mut().requests += 1;
        let answers = |status| {
            truth.borrow_mut().replies += 1;
            Deed::Reply(delay, Reply::new(status))
        };
        match mood {
            0..82 => vec![answers(200)],
            82..90 => vec![answers(503)],
            90..94 => vec![Deed::Reset(delay, code::INTERNAL_ERROR)],
            94..96 => vec![Deed::Abort(delay)],
            _ => vec![],
        }
    })
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        (20.0..400.0_f64).prop_map(|rate| Arrivals::Deterministic { period: 1.0 / rate }),
        (20.0..400.0_f64).prop_map(|rate| Arrivals::Exponential { mean: 1.0 / rate }),
        (1e-3..2e-2_f64).prop_map(|max| Arrivals::Uniform { min: max / 4.0, max }),
    ]
}

fn workload() -> impl Strategy<Value = Plan> {
    let cap = prop::option::of((1..20_u32, any::<bool>()));
    let open = (arrivals(), 1..4_u64, 1..3_u64, cap).prop_map(|(arrivals, calls, burst, cap)| {
        let mut plan = connections(UNLIMITED, calls, burst).with(|plan| plan.arrivals = arrivals);
        plan.change_connections(|connections| {
            connections.max_open = cap.map(|(connections, waits)| Cap {
                connections: nonzero(connections),
                excess: if waits { Excess::Waits } else { Excess::Skipped },
            });
        });
        plan
    });
    let closed = (1..6_u32, 0..20_u64, 1..5_u32).prop_map(|(concurrency, think, pipeline)| {
        let mut plan = connections(UNLIMITED, UNLIMITED, 1).with(|plan| plan.arrivals = at_once(concurrency));
        plan.change_connections(|connections| {
            connections.think = ms(think);
            connections.pipeline = nonzero(pipeline);
        });
        plan
    });
    let at_a_rate = (arrivals(), 1..6_u32, 1..4_u32).prop_map(|(arrivals, most, pipeline)| {
        let mut plan = calls(UNLIMITED, 100.0, most).with(|plan| plan.arrivals = arrivals);
        plan.change_calls(|calls| {
            calls.pipeline = Some(nonzero(pipeline));
        });
        plan
    });
    let visits = (arrivals(), 1..5_u64, 1..3_u64, 0..40_u64, prop::option::of(1..9_u32), any::<bool>())
        .prop_map(|(arrivals, calls, burst, think, max_open, retries)| {
            let script = uniform(calls, burst, ms(think));
            let mut plan = sessions(UNLIMITED, script).with(|plan| plan.arrivals = arrivals);
            plan.change_sessions(|sessions| {
                sessions.max_open = max_open.map(nonzero);
                sessions.retry_on_failure = retries;
            });
            plan
        });
    // Every so many visits have no value for what their second step fills in.
    let unfilled = (20..200_u32, 0..40_u64, 1..5_usize).prop_map(|(rate, think, rows)| {
        let workload = format!(
            "base = \"http://shop\"\n[arrivals]\nrate = \"{rate}/s\"\nfor = \"1s\"\n[feed.f]\nfile = \"f.jsonl\"\norder = \"cycle\"\n\
             [[scenario]]\nname = \"s\"\nfeed = \"f\"\n\
             steps = [{{ run = \"a.hurl\" }}, {{ think = \"{think}ms\" }}, {{ run = \"b.hurl\" }}]\n"
        );
        let rows = format!("{}{{\"y\":1}}\n{{\"x\":[1]}}\n", "{\"x\":1}\n".repeat(rows));
        let files =
            [("f.jsonl", &rows[..]), ("a.hurl", "GET {{base}}/a\n"), ("b.hurl", "GET {{base}}/b?x={{x}}\n")];
        scenarios(&workload, &files)
    });
    prop_oneof![open, closed, at_a_rate, visits, unfilled]
}

fn plan() -> impl Strategy<Value = Plan> {
    let phases = (prop_oneof![Just(0), 1..1500_u64], prop_oneof![Just(0), 1..1500_u64], 200..2500_u64);
    let asked = prop::option::of((1..5_u32).prop_map(|every| NonZeroU32::new(every).expect("it is not 0")));
    (workload(), phases, any::<bool>(), prop::option::of(30..400_u64), asked).prop_map(
        |(plan, (warmup, drain, runtime), over_http2, timeout, kernel_sends)| {
            let mut plan = plan.with(|plan| {
                plan.recording = Recording { kernel_sends, ..plan.recording };
                plan.phases = Phases { warmup: ms(warmup), drain: ms(drain) };
                plan.runtime = Some(ms(runtime));
                plan.timeouts = Timeouts { timeout: timeout.map(ms), think_timeout: None };
            });
            let pipeline = match &plan.workload {
                Workload::Connections(connections) => connections.pipeline,
                Workload::Calls(calls) => calls.pipeline.unwrap_or(NonZeroU32::MIN),
                Workload::Sessions(_) | Workload::Scenarios(_) | Workload::Replay(_) => nonzero(1),
            };
            if over_http2 && pipeline.get() == 1 {
                plan.change(|plan| plan.request.version = HttpVersion::Http2);
            }
            plan
        },
    )
}

/// Counts the calls it observes, as a call log does.
#[derive(Default)]
struct Log {
    answered: u64,
    failed: u64,
    /// Answered calls to be stamped by the kernel; `stamped` counts those that were.
    asked: u64,
    stamped: u64,
}

impl Observer for Log {
    fn observe(&mut self, observation: Observation<'_>) {
        if let Observation::Call { sample, .. } = observation {
            match sample.status {
                Some(_) => self.answered += 1,
                None => self.failed += 1,
            }
            if let Some(kernel) = sample.kernel {
                self.asked += 1;
                self.stamped += u64::from(kernel.service.is_some());
            }
        }
    }
}

/// `sockets_max`: the sockets that a shard may have, as where there are few descriptors or ports.
fn run_all(plan: &Plan, shards: u32, seed: u64, sockets_max: usize, log: &mut Log) -> (Summary, Truth) {
    let truth = Rc::new(RefCell::new(Truth::default()));
    let mut whole: Option<Summary> = None;
    for index in 0..shards {
        let shard = Shard { index, count: shards };
        let is_stamped = seed.is_multiple_of(2);
        let send_lag = seed.is_multiple_of(3).then_some(Duration::from_micros(200));
        let link =
            Link { seed, latency: ms(1), stamps: is_stamped, send_lag, sockets_max, ..Link::default() };
        let run: Run = match plan.request.version {
            HttpVersion::Http2 => run_shard(plan, shard, link, moody_streams(seed, Rc::clone(&truth)), log),
            _ => run_shard(plan, shard, link, moody(seed, Rc::clone(&truth)), log),
        };
        assert!(!run.is_endless, "the run must end by itself");
        match &mut whole {
            None => whole = Some(run.summary),
            Some(whole) => whole.merge_worker(&run.summary, plan.recording.slowest as usize),
        }
    }
    let truth = Rc::into_inner(truth).expect("the peers are gone").into_inner();
    (whole.expect("there is a shard"), truth)
}

/// The number after these words in a text.
#[track_caller]
fn number_after(text: &str, words: &str) -> u64 {
    let (_, rest) = text.split_once(words).unwrap_or_else(|| panic!("`{words}` in {text}"));
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("a number after `{words}`"))
}

fn csv_text(document: &Document, column: &str) -> String {
    let (header, row) = (csv_header(), csv_row(document));
    let index = header.trim().split(',').position(|name| name == column).expect("the column is there");
    let mut rows = csv::ReaderBuilder::new().has_headers(false).from_reader(row.as_bytes()).into_records();
    let row = rows.next().expect("a row").expect("it is CSV");
    row.get(index).expect("a value for each column").to_owned()
}

fn csv_value(document: &Document, column: &str) -> u64 {
    csv_text(document, column).parse().expect("a count")
}

/// Number of plans drawn, unless the environment sets it.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(100)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn each_call_is_counted_once_and_all_reports_agree(
        plan in plan(),
        shards in 1..4_u32,
        seed in any::<u64>(),
        sockets_max in prop_oneof![3 => Just(usize::MAX), 1 => 1..8_usize],
    ) {
        let mut plan = plan;
        plan.change(|plan| plan.watch.calls = true);
        let mut log = Log::default();
        let (summary, truth) = run_all(&plan, shards, seed, sockets_max, &mut log);

        // Client and server agree. Calls of the warm-up are counted separately.
        let warmup = summary.warmup.unwrap_or_default();
        let pipeline = match &plan.workload {
            Workload::Connections(connections) => connections.pipeline,
            Workload::Calls(calls) => calls.pipeline.unwrap_or(NonZeroU32::MIN),
            Workload::Sessions(_) | Workload::Scenarios(_) | Workload::Replay(_) => nonzero(1),
        };
        // Requests sent after the last reply of a connection are sent again, and count once.
        let twice = (summary.connections + warmup.connections) * u64::from(pipeline.get() - 1);
        let ours = summary.requests + warmup.requests;
        prop_assert!(truth.requests <= ours + twice, "{} of {} requests", truth.requests, ours);
        prop_assert!(summary.replies + warmup.replies <= truth.replies, "no reply but the server's");
        prop_assert_eq!(log.answered, summary.replies + warmup.replies);

        // Histograms and counters.
        let count = |outcome| summary.calls_with(outcome).latency.moments.count();
        let (failed, unfinished) = (count(CallOutcome::Failure), summary.unfinished.moments.count());
        prop_assert_eq!(summary.completed().latency.moments.count() + count(CallOutcome::Unexpected), summary.replies);
        prop_assert_eq!(summary.statuses.iter().sum::<u64>(), summary.replies);
        prop_assert_eq!(count(CallOutcome::HttpError), summary.statuses[3] + summary.statuses[4]);

        // Kernel stamps.
        let receive = &summary.receive;
        prop_assert_eq!(receive.lag.moments.count() + receive.unstamped, summary.replies);
        prop_assert_eq!(summary.kernel.is_some(), plan.recording.kernel_sends.is_some());
        let kernel = summary.kernel.clone().unwrap_or_default();
        let stamped = kernel.service.moments.count();
        prop_assert!(stamped <= log.stamped && stamped + kernel.unstamped <= log.asked);
        if warmup.duration.is_zero() {
            prop_assert_eq!((stamped, stamped + kernel.unstamped), (log.stamped, log.asked));
        }

        // The series.
        let sum = |of: fn(&httperf_stats::Interval) -> u64| summary.series.intervals().iter().map(of).sum::<u64>();
        prop_assert_eq!(sum(|one| one.replies), summary.replies + warmup.replies);
        prop_assert_eq!(sum(|one| one.failed_calls), log.failed);
        let offered = sum(|one| one.offered);
        if warmup.duration.is_zero() {
            prop_assert_eq!(offered, summary.replies + failed + unfinished, "each call that was due is in one place");
        } else {
            prop_assert!(offered >= summary.replies + failed + unfinished);
        }

        // Arrivals.
        let arrivals = &summary.arrivals;
        prop_assert!(arrivals.started + arrivals.waiting <= arrivals.due);
        prop_assert!(arrivals.due - arrivals.started <= unfinished);

        let wrong = count(CallOutcome::HttpError) + count(CallOutcome::Unexpected);

        // Visits: those that were abandoned, and why.
        let mut unmade = 0;
        if let (Some(visits), Some(sessions)) = (&summary.visits, &summary.sessions) {
            let total = visits.total();
            let steps = || total.scenarios.iter().flat_map(|scenario| &scenario.steps);
            prop_assert_eq!(steps().map(|step| step.abandoned).sum::<u64>(), sessions.failed);
            unmade = steps().flat_map(|step| &step.unmade).map(|unmade| unmade.calls).sum();
            prop_assert!(unmade <= failed && unmade <= sessions.failed);
        }

        // All forms of report agree.
        let document = Document::new(documents::part(), plan, summary);
        let text = document.text(true);
        let totals = text.lines().find(|line| line.starts_with("Total: ")).expect("the classic block");
        // Rendering a page takes long.
        let page = seed.is_multiple_of(10).then(|| page(&document));
        let json: serde_json::Value = serde_json::from_str(&document.json()).expect("it is JSON");
        for (name, value) in [
            ("connections", document.summary.connections),
            ("requests", document.summary.requests),
            ("replies", document.summary.replies),
        ] {
            prop_assert_eq!(number_after(totals, &format!("{name} ")), value);
            prop_assert_eq!(csv_value(&document, name), value);
            prop_assert_eq!(json["figures"][name].as_u64(), Some(value));
            prop_assert_eq!(json["summary"][name].as_u64(), Some(value));
        }
        let errors = &document.figures.error_share;
        prop_assert_eq!(errors.due, document.summary.replies + failed + unfinished);
        prop_assert_eq!(errors.errors(), failed + wrong);
        let judged = Judged::of("errors<=0%".parse().expect("an objective"), &document.summary);
        let [judged, told] = match (errors.share, judged.measured) {
            (Some(share), Measured::Figure(judged)) => [judged, share].map(|share| format!("{:.2}", 100.0 * share)),
            (None, Measured::Nothing) => Default::default(),
            (share, measured) => panic!("{share:?}, {measured:?}"),
        };
        prop_assert_eq!(&judged, &told);
        prop_assert_eq!(&csv_text(&document, "errors"), &told);
        prop_assert_eq!(json["figures"]["error_share"]["share"].as_f64(), errors.share);
        prop_assert_eq!(csv_value(&document, "failed_connections"), errors.connections_failed);
        if errors.errors() > 0 && document.summary.replies > 0 {
            prop_assert!(text.contains(&format!("\nerrors       {}", errors.percent())), "{}", text);
        }
        if document.summary.visits.is_some() {
            prop_assert_eq!(csv_value(&document, "calls_not_made"), unmade);
            prop_assert_eq!(text.contains(" as their call could not be made: "), unmade > 0, "{}", text);
        }
        if document.plan.recording.kernel_sends.is_some() {
            let told = format!("Kernel to kernel: known for {stamped} of {} replies", stamped + kernel.unstamped);
            prop_assert!(text.contains(&told), "{}", text);
            prop_assert_eq!(json["figures"]["kernel_ms"]["samples"].as_u64(), Some(stamped));
        }
        let rate = format!("{:.1}", document.figures.request_rate);
        let line = format!("Request rate: {rate} req/s");
        prop_assert!(text.contains(&line), "{}", text);
        prop_assert!(csv_row(&document).contains(&rate));
        if let Some(page) = page {
            let all = &document.figures.all_calls;
            let tile = match all.calls {
                0 => format!("{} of {} requests", document.summary.replies, document.summary.requests),
                calls => format!("{} of {calls} calls answered", all.answered),
            };
            prop_assert!(page.replace(',', "").contains(&tile), "{}", tile);
            let share = document.figures.error_share.to_string();
            prop_assert!(page.contains(&share), "{}", share);
        }
        let again = Document::read(document.json().as_bytes()).expect("what was written is read");
        prop_assert_eq!(again.json(), document.json());
    }
}
