//! Results as documents: saved, read and merged.

use std::num::NonZeroU32;
use std::time::Duration;

use httperf_pages::page;
use httperf_plan::{Arrivals, Authority, Client, Http2, Plan, ThinkTime, Tls};
use httperf_report::result::{Common, Document, Machine, MachineCapacity, MergeError, Part, merge};
use httperf_report::{Finding, Level, Reason, csv_header, csv_row, hgrm};
use httperf_stats::{CpuTime, Http2Summary, KernelFigures, Summary, ThreadUsage, Timing};
use httperf_testkit::sim::{Action, Edit, HttpPeer, Link, connections, nonzero, reply, run};

fn part(host: &str) -> Part {
    Part {
        started: "2026-11-21T07:00:00Z".to_owned(),
        client: None,
        run: None,
        command: vec!["httperf".to_owned(), "--rate=100".to_owned()],
        httperf: "1.0.0".to_owned(),
        ended_early: None,
        machine: Machine { host: host.to_owned(), ..Machine::default() },
        capacity: None,
    }
}

fn plan(index: u32) -> Plan {
    let mut plan = connections(1_000_000, 2, 1).with(|plan| {
        plan.arrivals = Arrivals::Exponential { mean: 0.01 };
        plan.runtime = Some(Duration::from_secs(5));
    });
    plan.change(|plan| plan.client.index = index);
    plan
}

fn measured(plan: &Plan) -> Summary {
    let peer = HttpPeer::new(|_| vec![Action::Send(Duration::from_millis(7), reply(200, "", "ok"))]);
    run(plan, Link::default(), peer).summary
}

fn document(index: u32) -> Document {
    let plan = plan(index);
    let summary = measured(&plan);
    Document::new(part(&format!("host{index}")), plan, summary)
}

#[test]
fn a_document_survives_saving_and_reading() {
    let document = document(0);
    let json = document.json();
    let again = Document::read(json.as_bytes()).unwrap();
    assert_eq!(again.json(), json);
    assert_eq!(again.text(true), document.text(true));
}

#[test]
fn http2_figures_are_saved_and_missing_in_older_documents() {
    let mut document = document(0);
    document.plan.change(|plan| plan.http2.window = httperf_plan::Window::MIN);
    let mut figures = Http2Summary { streams: 7, ..Http2Summary::default() };
    figures.goaways.add("NO_ERROR");
    figures.stream_waits.add(Duration::from_millis(3));
    document.summary.http2 = Some(Box::new(figures));
    let again = Document::read(document.json().as_bytes()).unwrap();
    assert_eq!(again.summary, document.summary);
    assert_eq!(again.plan.http2, document.plan.http2);

    // Documents of development versions have a field that is gone.
    let mut older: serde_json::Value = serde_json::from_str(&document.json()).unwrap();
    older["plan"]["http2"]["upgrade"] = false.into();
    assert_eq!(Document::read(older.to_string().as_bytes()).unwrap().plan.http2, document.plan.http2);

    let mut older: serde_json::Value = serde_json::from_str(&document.json()).unwrap();
    older["plan"].as_object_mut().unwrap().remove("http2").unwrap();
    older["summary"].as_object_mut().unwrap().remove("http2").unwrap();
    let older = Document::read(older.to_string().as_bytes()).unwrap();
    assert_eq!((older.plan.http2, older.summary.http2), (Http2::default(), None));
}

#[test]
fn receive_lag_is_saved_and_missing_in_older_documents() {
    let mut document = document(0);
    let receive = &mut document.summary.receive;
    (1..=200).for_each(|lag| receive.lag.add(Duration::from_micros(lag)));
    (receive.unstamped, receive.clock_steps) = (50, 1);
    document.summary.slowest[0].receive_lag = Some(Duration::from_micros(1200));
    let Document { plan, summary, .. } = document;
    let document = Document::new(part("host"), plan, summary);
    assert_eq!(document.figures.receive_lag_ms.p50, Some(0.1));
    assert_eq!(document.figures.receive_lag_share, Some(0.8));
    let again = Document::read(document.json().as_bytes()).unwrap();
    assert_eq!(again.summary, document.summary);
    let text = document.text(true).to_string();
    assert!(text.contains("\nreceive lag ") && text.contains("  unread  at [s], what"), "{text}");
    assert!(text.contains("\nReceive lag is known for 80.00 % of the replies"), "{text}");
    assert!(csv_row(&document).contains(",0.100,0.198,80.00,,,,,,"), "{}", csv_row(&document));
    assert!(page(&document).contains("unread: until the received reply was read"));

    let mut older: serde_json::Value = serde_json::from_str(&document.json()).unwrap();
    older["summary"].as_object_mut().unwrap().remove("receive").unwrap();
    for call in older["summary"]["slowest"].as_array_mut().unwrap() {
        call.as_object_mut().unwrap().remove("receive_lag_ns").unwrap();
    }
    for figure in ["receive_lag_ms", "receive_lag_share"] {
        older["figures"].as_object_mut().unwrap().remove(figure).unwrap();
    }
    let older = Document::read(older.to_string().as_bytes()).unwrap();
    assert_eq!(older.summary.receive, httperf_stats::ReceiveFigures::default());
    assert_eq!((older.figures.receive_lag_ms.samples, older.figures.receive_lag_share), (0, None));
    let text = older.text(true).to_string();
    assert!(!text.contains("\nreceive lag") && !text.contains("unread"), "{text}");
}

#[test]
fn kernel_figures_are_saved_and_missing_in_older_documents() {
    let mut document = document(0);
    document.plan.change(|plan| plan.recording.kernel_sends = NonZeroU32::new(16));
    let mut kernel = KernelFigures { unstamped: 50, ..KernelFigures::default() };
    (1..=200).for_each(|us| kernel.send_lag.add(Duration::from_micros(us)));
    (1..=200).for_each(|us| kernel.service.add(Duration::from_micros(10 * us)));
    document.summary.kernel = Some(Box::new(kernel));
    let Document { plan, summary, .. } = document;
    let document = Document::new(part("host"), plan, summary);
    assert_eq!((document.figures.send_lag_ms.p50, document.figures.kernel_ms.p50), (Some(0.1), Some(1.0)));
    assert_eq!(document.figures.kernel_share, Some(0.8));
    let again = Document::read(document.json().as_bytes()).unwrap();
    assert_eq!((&again.summary, again.plan.recording), (&document.summary, document.plan.recording));
    let text = document.text(true).to_string();
    assert!(text.contains("\nsend lag ") && text.contains("\nkernel to kernel "), "{text}");
    let told = "\nKernel to kernel: known for 200 of 250 replies, with one call in 16 sampled\n";
    assert!(text.contains(told), "{text}");
    assert!(csv_row(&document).contains(",0.100,0.198,1.000,1.980,80.00,"), "{}", csv_row(&document));
    assert!(page(&document).contains("request sent to reply received"));

    let mut older: serde_json::Value = serde_json::from_str(&document.json()).unwrap();
    older["summary"].as_object_mut().unwrap().remove("kernel").unwrap();
    older["plan"]["recording"].as_object_mut().unwrap().remove("kernel_sends").unwrap();
    for figure in ["send_lag_ms", "kernel_ms", "kernel_share"] {
        older["figures"].as_object_mut().unwrap().remove(figure).unwrap();
    }
    let older = Document::read(older.to_string().as_bytes()).unwrap();
    assert_eq!((older.summary.kernel, older.plan.recording.kernel_sends), (None, None));
    assert_eq!((older.figures.kernel_ms.samples, older.figures.kernel_share), (0, None));
}

#[test]
fn merging_takes_any_order_and_adds_up_exactly() {
    let parts = [document(0), document(1), document(2)];
    let of =
        |order: &[usize]| merge(order.iter().map(|&index| parts[index].clone()).collect()).unwrap().json();
    let all = of(&[0, 1, 2]);
    for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        assert_eq!(of(&order), all, "{order:?}");
    }
    // In two steps, too.
    let two = merge(vec![parts[2].clone(), parts[1].clone()]).unwrap();
    assert_eq!(merge(vec![two, parts[0].clone()]).unwrap().json(), all);
    let merged = Document::read(all.as_bytes()).unwrap();
    let replies: u64 = parts.iter().map(|part| part.summary.replies).sum();
    assert_eq!((merged.summary.replies, merged.parts.len()), (replies, 3));
}

#[test]
fn results_of_any_number_of_threads_are_merged_also_with_older_ones() {
    let with = |index: u32, threads: Option<u32>| {
        let mut document = document(index);
        document.plan.change(|plan| plan.threads = threads.map(nonzero));
        document
    };
    let newer = with(0, Some(2));
    let mut older: serde_json::Value = serde_json::from_str(&with(1, None).json()).unwrap();
    older["plan"].as_object_mut().unwrap().remove("threads").unwrap();
    let arrivals = older["summary"]["arrivals"].as_object_mut().unwrap();
    for field in ["first_due_ns", "first_started_ns"] {
        arrivals.remove(field).unwrap();
    }
    let older = Document::read(older.to_string().as_bytes()).unwrap();
    assert_eq!(older.plan.threads, None);
    let replies = newer.summary.replies + older.summary.replies;
    let merged = merge(vec![older, newer, with(2, Some(7))]).unwrap();
    assert!(merged.summary.replies > replies);
    assert_eq!(merged.plan.threads, Some(nonzero(2)));
}

#[test]
fn the_full_report_shows_the_number_of_threads_if_it_was_requested() {
    let text = |threads: Option<u32>, used: &[u64]| {
        let mut document = document(0);
        document.plan.change(|plan| plan.threads = threads.map(nonzero));
        let worker = |&ms: &u64| ThreadUsage {
            cpu: CpuTime { user: Duration::from_millis(ms), system: Duration::ZERO },
            ..ThreadUsage::default()
        };
        document.summary.usage.workers = used.iter().map(worker).collect();
        document.figures.duration_s = 5.0;
        document.text(true)
    };
    assert!(!text(None, &[500]).contains("Threads"));
    assert!(text(Some(1), &[500]).contains("\nThreads: 1, which used 10.0 % of a processor\n"));
    assert!(
        text(Some(3), &[500, 1000, 750])
            .contains("\nThreads: 3, each of which used 10.0 to 20.0 % of a processor\n")
    );
}

#[test]
fn the_reply_rate_of_generators_sampled_in_turn_is_that_of_all() {
    let of = |index: u32| {
        let mut plan = connections(1_000_000, 1, 1).with(|plan| {
            plan.arrivals = Arrivals::Deterministic { period: 0.005 };
            plan.runtime = Some(Duration::from_secs(6));
        });
        plan.change(|plan| plan.client = Client { index, count: nonzero(3), ..Client::default() });
        let summary = measured(&plan);
        Document::new(part(&format!("host{index}")), plan, summary)
    };
    let merged = merge((0..3).map(of).collect()).unwrap();
    let rates = merged.summary.reply_rates.moments();
    assert_eq!(rates.count(), 1);
    // Replies take 7 ms, so those of the last arrivals before a sample come after it.
    assert!((594.0..=601.0).contains(&rates.mean()), "{}", rates.mean());
    assert!(merged.text(false).contains(&format!("avg {:.1} ", rates.mean())));
}

#[test]
fn a_run_is_counted_once() {
    let named = |index: u32, run: &str| {
        let mut document = document(index);
        document.parts[0].run = Some(run.to_owned());
        document
    };
    let (a, b, c) = (named(0, "a"), named(1, "b"), named(2, "c"));
    let sum = merge(vec![a.clone(), b.clone()]).unwrap();
    let twice = |documents: Vec<Document>| match merge(documents).unwrap_err() {
        MergeError::Twice { first, other, common: Common::Run(part) } => (first, other, part.run),
        error => panic!("{error}"),
    };
    assert_eq!(twice(vec![a.clone(), b.clone(), a.clone()]), (0, 2, Some("a".to_owned())));
    assert_eq!(twice(vec![c.clone(), sum.clone(), b.clone()]), (1, 2, Some("b".to_owned())));
    assert_eq!(twice(vec![sum.clone(), sum.clone()]).2, Some("a".to_owned()));
    assert!(merge(vec![sum, c]).is_ok());
    // Older results have no run id.
    assert_eq!(twice(vec![document(0), document(0)]), (0, 1, None));
    let mut other = document(0);
    other.summary.replies += 1;
    assert!(merge(vec![document(0), other]).is_ok());
}

#[test]
fn each_of_several_generators_is_counted_once() {
    let of = |index: u32, run: &str| {
        let mut document = document(index);
        document.plan.change(|plan| plan.client.count = nonzero(3));
        document.parts[0].run = Some(run.to_owned());
        document.parts[0].client = Some(document.plan.client);
        document
    };
    let sum = merge(vec![of(0, "a"), of(1, "b")]).unwrap();
    let error = merge(vec![sum.clone(), of(1, "c")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "results 1 and 2 are both of client 1/3: expected each generator of a run once"
    );
    assert!(merge(vec![sum, of(2, "c")]).is_ok());
}

#[test]
fn different_plans_are_not_merged_and_the_differences_are_named() {
    let other = plan(1).with(|plan| plan.arrivals = Arrivals::Deterministic { period: 0.5 });
    let mut other = Document::new(part("b"), other.clone(), measured(&other));
    other.plan.change(|plan| plan.timeouts.timeout = Some(Duration::from_secs(5)));
    let error = merge(vec![document(0), other]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "results 1 and 2 have plans that differ in arrivals ({\"exponential\":{\"mean\":0.01}} and {\"deterministic\":{\"period\":0.5}}), \
         timeouts.timeout_ns (null and 5000000000)"
    );
    assert_eq!(merge(Vec::new()).unwrap_err(), MergeError::Nothing);
}

#[test]
fn parts_with_different_settings_of_http2_are_not_merged() {
    let mut other = document(1);
    other.plan.change(|plan| plan.http2.window = httperf_plan::Window::MIN);
    let error = merge(vec![document(0), other]).unwrap_err();
    assert_eq!(error.to_string(), "results 1 and 2 have plans that differ in http2.window (6291456 and 1)");
}

#[test]
fn other_files_are_refused_in_a_sentence() {
    let json = document(0).json();
    for (text, expected) in [
        ("".to_owned(), "not JSON: EOF while parsing a value at line 1 column 0"),
        ("{\"format\": ".to_owned(), "not JSON: EOF while parsing a value at line 1 column 11"),
        ("[1]".to_owned(), "not a result of httperf: its `format` is not `httperf-result`"),
        ("{}".to_owned(), "not a result of httperf: its `format` is not `httperf-result`"),
        (
            json.replacen("httperf-result", "httperf-trace", 1),
            "not a result of httperf: its `format` is not `httperf-result`",
        ),
        (json.replacen("httperf-result", "httperf-sweep", 1), "not a result of httperf, but a sweep"),
        (
            json.replacen("\"version\": 1", "\"version\": 7", 1),
            "version 7 of the format is newer than this program, which reads up to 1",
        ),
        (json.replacen("\"connections\":", "\"connexions\":", 1), "not a result of version 1: "),
    ] {
        let message = Document::read(text.as_bytes()).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
    }
}

#[test]
fn a_private_key_is_not_saved() {
    let mut plan = plan(0);
    let identity = httperf_plan::Identity { certificates: b"CERT".to_vec(), key: b"TOP SECRET".to_vec() };
    plan.change(|plan| plan.tls = Some(Tls { identity: Some(identity), ..Tls::default() }));
    let json = Document::new(part("a"), plan, Summary::default()).json();
    assert!(json.contains("CERT") && !json.contains("SECRET"));
    let again = Document::read(json.as_bytes()).unwrap();
    assert!(again.plan.tls.as_ref().unwrap().identity.as_ref().unwrap().key.is_empty());
}

#[test]
fn a_plan_without_a_form_in_json_keeps_its_values() {
    let mut plan = plan(0);
    plan.change(|plan| plan.request.extra_headers = b"X: \xff\r\n".to_vec());
    plan.change(|plan| plan.arrivals = Arrivals::Uniform { min: 0.0, max: f64::INFINITY });
    plan.change(|plan| plan.timeouts.timeout = Some(Duration::MAX));
    plan.change(|plan| plan.timeouts.think_timeout = Some(ThinkTime::Less(Duration::from_nanos(1))));
    let json = Document::new(part("a"), plan.clone(), Summary::default()).json();
    let again = Document::read(json.as_bytes()).unwrap().plan;
    assert_eq!(format!("{again:?}"), format!("{plan:?}"));
}

#[test]
fn a_generator_that_keeps_its_schedule_is_valid() {
    let verdict = document(0).verdict;
    assert_eq!(verdict.level, Level::Valid, "{verdict:?}");
    let known =
        |reason: &Reason| matches!(reason.finding, Finding::FewSamples { .. } | Finding::Unfinished { .. });
    assert!(verdict.reasons.iter().all(known), "{verdict:?}");
}

#[test]
fn the_headroom_is_shown_where_it_is_known() {
    let mut document = document(0);
    assert!(!document.text(true).contains("\nHeadroom: "));
    document.parts[0].capacity =
        Some(MachineCapacity { connections_per_second: 1052, requests_per_second: 21_040 });
    let line = "\nHeadroom: 90.0 % (this machine can offer 1,052 connections/s or 21,040 requests/s, by httperf self-check)\n";
    assert!(document.text(true).contains(line), "{}", document.text(true));
}

#[test]
fn a_row_of_csv_names_the_server_even_behind_a_proxy() {
    let mut document = document(0);
    document.plan.change(|plan| {
        plan.targets[0].authority = Some(Authority { host: "server.example".to_owned(), port: 8080 });
    });
    assert!(csv_row(&document).contains(",server.example:8080,"));
}

#[test]
fn a_row_of_csv_has_a_value_for_each_column() {
    let header = csv_header();
    let mut row = csv_row(&document(0));
    insta::assert_snapshot!("csv", format!("{header}{row}"));
    row.push_str(&csv_row(&Document::new(part("a"), connections(0, 1, 1), Summary::default())));
    let table = format!("{header}{row}");
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    assert_eq!(reader.records().filter(Result::is_ok).count(), 2, "all of the same length");
}

#[test]
fn the_distribution_has_the_format_of_hdrhistogram_plotters() {
    let mut timing = Timing::default();
    (1..=1000).for_each(|ms| timing.add(Duration::from_millis(ms)));
    insta::assert_snapshot!("hgrm", hgrm(&timing));
    insta::assert_snapshot!("hgrm_of_nothing", hgrm(&Timing::default()));
}
