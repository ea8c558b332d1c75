//! Sweeps of simulated servers on a virtual clock: judgement of single runs, conclusions from all runs, and
//! the document.

use std::time::Duration;

use crate::documents::{document, ms};
use httperf_pages::{Report as _, sweep_page};
use httperf_pictures::SweepCurve;
use httperf_plan::objective::Objective;
use httperf_plan::{Arrivals, Cap, Excess, Phases, Plan, Script, UNLIMITED, Workload};
use httperf_report::result::{Document, EarlyEnd};
use httperf_report::sweep::{End, Lacking, Recovery, Run, State, Sweep, SweepSettings, schema};
use httperf_report::{Form, Kept, ReadError, Screen, Written as _, answered_share};
use httperf_testkit::sim::{
    Action, Edit, HttpPeer, Link, Peer, Reception, calls, connections, nonzero, reply, run, sessions, uniform,
};

/// A server that answers this many requests per second, sequentially, each after at least `delay`. Requests
/// that would wait behind `queue` others are answered 503 at once.
fn server(capacity: f64, queue: usize, delay: Duration) -> impl Peer {
    let mut next_free = Duration::ZERO;
    let each = Duration::from_secs_f64(1.0 / capacity);
    HttpPeer::new(move |request| {
        let begins = next_free.max(request.at);
        if (begins - request.at).as_secs_f64() * capacity > queue as f64 {
            return vec![Action::Send(Duration::ZERO, reply(503, "", ""))];
        }
        next_free = begins + each;
        vec![Action::Send(next_free - request.at + delay, reply(200, "", "ok"))]
    })
}

fn endless_queue(capacity: f64) -> impl Peer {
    server(capacity, usize::MAX, Duration::ZERO)
}

fn simulated(plan: &Plan, peer: impl Peer + 'static) -> Document {
    let link = Link { latency: Duration::from_micros(200), ..Link::default() };
    let outcome = run(plan, link, peer);
    assert!(!outcome.is_endless);
    document(plan.clone(), outcome.summary)
}

/// Ten seconds of connections at a rate, after a warm-up of one second, with a drain of two.
fn timed(rate: f64) -> Plan {
    at(rate, connections(UNLIMITED, 1, 1))
}

fn at(rate: f64, plan: Plan) -> Plan {
    plan.with(|plan| {
        plan.arrivals = Arrivals::Deterministic { period: 1.0 / rate };
        plan.runtime = Some(Duration::from_secs(10));
        plan.phases = Phases { warmup: ms(1000), drain: ms(2000) };
    })
}

/// A fixed number of arrivals, however long they take.
fn counted(rate: f64, plan: Plan) -> Plan {
    at(rate, plan).with(|plan| {
        plan.runtime = None;
        plan.phases = Phases::default();
    })
}

fn share_of(document: &Document) -> Option<f64> {
    answered_share(&document.plan, &document.summary)
}

#[track_caller]
fn check(plan: &Plan, peer: impl Peer + 'static, expected: f64) {
    let share = share_of(&simulated(plan, peer)).expect("something was due");
    assert!((share - expected).abs() < 0.02, "{share}, expected {expected}");
}

#[test]
fn a_server_that_keeps_up_answers_all() {
    check(&timed(80.0), endless_queue(100.0), 1.0);
    check(&timed(3.0), endless_queue(100.0), 1.0);
    let random = timed(80.0).with(|plan| plan.arrivals = Arrivals::Exponential { mean: 1.0 / 80.0 });
    check(&random, endless_queue(100.0), 1.0);
}

#[test]
fn a_growing_queue_shows_even_if_it_is_worked_off_afterwards() {
    check(&timed(110.0), endless_queue(100.0), 100.0 / 110.0);
    check(&timed(200.0), endless_queue(100.0), 0.5);
    let patient = timed(110.0).with(|plan| plan.phases = Phases { warmup: ms(1000), drain: ms(60_000) });
    check(&patient, endless_queue(100.0), 100.0 / 110.0);
}

#[test]
fn errors_are_no_answers() {
    check(&timed(200.0), server(100.0, 20, Duration::ZERO), 0.5);
    check(
        &timed(50.0),
        HttpPeer::new(|request| {
            let status = if request.connection % 4 == 0 { 500 } else { 200 };
            vec![Action::Send(ms(1), reply(status, "", ""))]
        }),
        0.75,
    );
    check(&timed(50.0), HttpPeer::new(|_| vec![Action::Reset(ms(1))]), 0.0);
}

#[test]
fn being_slow_is_not_falling_behind() {
    for delay in [ms(500), ms(2000)] {
        check(&timed(50.0), server(1000.0, usize::MAX, delay), 1.0);
        let cold = timed(50.0).with(|plan| plan.phases = Phases::default());
        check(&cold, server(1000.0, usize::MAX, delay), 1.0);
        check(&counted(100.0, connections(200, 1, 1)), server(1000.0, usize::MAX, delay), 1.0);
    }
}

#[test]
fn a_run_of_a_fixed_number_of_connections_is_judged_by_the_last_waits() {
    check(&counted(100.0, connections(200, 1, 1)), endless_queue(1000.0), 1.0);
    check(&counted(200.0, connections(200, 1, 1)), endless_queue(100.0), 0.5);
    check(&counted(200.0, connections(400, 5, 1)), endless_queue(500.0), 0.5);
    // A single slow call is no queue.
    check(
        &counted(100.0, connections(200, 1, 1)),
        HttpPeer::new(|request| {
            let took = if request.connection == 150 { ms(5000) } else { ms(1) };
            vec![Action::Send(took, reply(200, "", ""))]
        }),
        1.0,
    );
}

#[test]
fn connections_of_several_calls_and_pools_count_by_their_calls() {
    check(&at(20.0, connections(UNLIMITED, 5, 1)), endless_queue(200.0), 1.0);
    check(&at(80.0, connections(UNLIMITED, 5, 1)), endless_queue(200.0), 0.5);
    check(&at(80.0, calls(UNLIMITED, 1.0, 10)), endless_queue(100.0), 1.0);
    check(&at(200.0, calls(UNLIMITED, 1.0, 10)), endless_queue(100.0), 0.5);
    check(&at(50.0, connections(UNLIMITED, 0, 1)), endless_queue(100.0), 1.0);
}

#[test]
fn sessions_count_by_their_number() {
    let script = |think| uniform(3, 1, think);
    check(&counted(20.0, sessions(100, script(ms(500)))), endless_queue(1000.0), 1.0);
    check(&counted(100.0, sessions(300, script(ms(0)))), endless_queue(150.0), 0.5);
    check(&at(20.0, sessions(100_000, script(ms(500)))), endless_queue(1000.0), 1.0);
    let behind = share_of(&simulated(&at(100.0, sessions(100_000, script(ms(0)))), endless_queue(150.0)));
    assert!(behind.unwrap() < 0.8, "{behind:?}");
}

#[test]
fn overload_shows_whatever_queue_the_warm_up_left() {
    let capped = || {
        let mut plan = connections(UNLIMITED, 1, 1);
        plan.change_connections(|connections| {
            connections.max_open = Some(Cap { connections: nonzero(10), excess: Excess::Waits });
        });
        plan
    };
    let script = || uniform(3, 1, Duration::ZERO);
    for warmup in [0, 500, 1000, 3000] {
        for drain in [0, 5000] {
            let timed = |plan: Plan, rate| {
                at(rate, plan).with(|plan| {
                    plan.runtime = Some(Duration::from_secs(5));
                    plan.phases = Phases { warmup: ms(warmup), drain: ms(drain) };
                })
            };
            let share = |plan: &Plan, delay| {
                share_of(&simulated(plan, server(100.0, usize::MAX, ms(delay)))).expect("something was due")
            };
            let told = format!("warm-up {warmup} ms, drain {drain} ms");
            for plan in [connections(UNLIMITED, 1, 1), calls(UNLIMITED, 1.0, 10), capped()] {
                let share = share(&timed(plan, 1000.0), 0);
                assert!((share - 0.1).abs() < 0.04, "{share}, {told}");
            }
            // A server with a delay of its own may owe what was due during that.
            let share_of_slow = share(&timed(connections(UNLIMITED, 1, 1), 1000.0), 700);
            assert!(share_of_slow < 0.4, "{share_of_slow}, {told}");
            let share_of_sessions = share(&timed(sessions(100_000, script()), 330.0), 0);
            assert!(share_of_sessions < 0.6, "{share_of_sessions}, {told}");
        }
    }
}

#[test]
fn the_knee_of_a_server_with_a_queue_is_its_capacity() {
    for capacity in [100.0, 200.0, 500.0] {
        let rates = [0.25, 0.5, 2.0, 5.0, 10.0].map(|share| share * capacity);
        let base = timed(1.0).with(|plan| plan.runtime = Some(ms(3000)));
        let mut sweep = Sweep::new(settings(&rates), base.clone());
        for &rate in &rates {
            let plan = base.clone().with(|plan| plan.arrivals = base.arrivals.at_rate(rate));
            sweep.add(Run::new(rate, 0, Recovery::default(), simulated(&plan, endless_queue(capacity))));
        }
        let knee = sweep.figures.knee.unwrap();
        assert!((knee / capacity - 1.0).abs() < 0.1, "{knee} of {capacity}");
        assert!(sweep.figures.steps[2..].iter().all(|step| step.state == State::Saturated));
    }
}

#[test]
fn a_refused_connection_is_no_answer() {
    struct Nobody;
    impl Peer for Nobody {
        fn accept(&mut self, _: usize, _: Duration) -> Reception {
            Reception::Refuse
        }
        fn receive(&mut self, _: usize, _: Duration, _: &[u8]) -> Vec<Action> {
            Vec::new()
        }
    }
    check(&timed(50.0), Nobody, 0.0);
    check(&counted(50.0, connections(50, 1, 1)), Nobody, 0.0);
    let nothing = simulated(&counted(50.0, connections(0, 1, 1)), Nobody);
    assert_eq!(share_of(&nothing), None);
}

fn settings(rates: &[f64]) -> SweepSettings {
    SweepSettings {
        rates: rates.to_vec(),
        repeats: 1,
        shuffled_by: None,
        stop_after: Some(2),
        pause_s: 1.0,
        settle_s: 60.0,
    }
}

/// Runs of two seconds at each of these rates.
fn swept(rates: &[f64], objectives: &str, capacity: f64) -> Sweep {
    let mut base = timed(1.0).with(|plan| plan.runtime = Some(ms(2000)));
    if !objectives.is_empty() {
        base.change(|plan| {
            plan.objectives.all = Objective::parse_list(objectives).expect("they can be read");
        });
    }
    let mut sweep = Sweep::new(settings(rates), base.clone());
    for &rate in rates {
        let plan = base.clone().with(|plan| plan.arrivals = base.arrivals.at_rate(rate));
        sweep.add(Run::new(
            rate,
            0,
            Recovery::default(),
            simulated(&plan, server(capacity, 20, Duration::ZERO)),
        ));
    }
    sweep.end = Some(End::Complete);
    sweep
}

const RATES: [f64; 6] = [50.0, 100.0, 150.0, 200.0, 250.0, 300.0];

/// Makes the run look as if the program had had too many connections.
fn client_limited(run: &mut Run) {
    let mut json = serde_json::to_value(&run.result).expect("it can be saved");
    json["verdict"] = serde_json::json!({
        "level": "INVALID",
        "reasons": [{"level": "INVALID", "code": "rate", "asked": 300.0, "achieved": 200.0}]
    });
    run.result = Document::read(json.to_string().as_bytes()).expect("it is still a result");
}

#[test]
fn the_knee_is_where_the_server_is_at_its_limit() {
    let sweep = swept(&RATES, "", 170.0);
    let knee = sweep.figures.knee.unwrap();
    assert!((165.0..=180.0).contains(&knee), "{knee}");
    let peak = sweep.figures.peak.unwrap();
    assert!((165.0..=175.0).contains(&peak.good_reply_rate), "{peak:?}");
    let states: Vec<State> = sweep.figures.steps.iter().map(|step| step.state).collect();
    use State::{KeptUp, Saturated};
    assert_eq!(states, [KeptUp, KeptUp, KeptUp, Saturated, Saturated, Saturated]);
    assert_eq!(swept(&RATES[..3], "", 170.0).figures.knee, None);
}

#[test]
fn runs_limited_by_the_generator_do_not_count() {
    let mut sweep = swept(&RATES, "p99<1s", 170.0);
    sweep.runs[3..].iter_mut().for_each(client_limited);
    let sweep = Sweep::of(sweep.settings, sweep.plan, sweep.runs, sweep.end);
    assert_eq!((sweep.figures.knee, sweep.figures.objectives_met_at), (None, Some(150.0)));
    assert_eq!(sweep.figures.steps[3].state, State::ClientLimited);
    assert!(!sweep.is_far_below(1000.0));
    let text = sweep.plain_text();
    assert_eq!(text.matches("client-limited").count(), 3, "{text}");
    assert!(
        sweep.document(Form::Csv).unwrap().lines().nth(5).unwrap().contains(",false,true,"),
        "{}",
        sweep.document(Form::Csv).unwrap()
    );
}

#[test]
fn limited_runs_are_left_out_if_a_rate_has_others() {
    let mut sweep = swept(&[100.0], "", 170.0);
    sweep.settings.repeats = 3;
    let mut runs =
        vec![sweep.runs[0].clone(), sweep.runs[0].clone(), swept(&[300.0], "", 170.0).runs.remove(0)];
    for (run, repeat) in runs.iter_mut().zip(0..) {
        (run.rate, run.repeat) = (100.0, repeat);
    }
    client_limited(&mut runs[2]);
    let sweep = Sweep::of(sweep.settings, sweep.plan, runs, None);
    let step = &sweep.figures.steps[0];
    assert_eq!((step.runs, step.client_limited_runs, step.state), (3, 1, State::KeptUp));
    assert!((99.0..=101.0).contains(&step.reply_rate.value), "{step:?}");
    assert!(sweep.plain_text().contains("1 of 3 runs left out, client-limited"));
}

#[test]
fn rates_above_several_saturated_ones_are_skipped() {
    let mut sweep = swept(&RATES, "", 170.0);
    assert!(!sweep.is_far_below(250.0), "a single one right below it");
    assert!(sweep.is_far_below(300.0) && sweep.is_far_below(1e6));
    sweep.settings.stop_after = Some(4);
    assert!(!sweep.is_far_below(1e6), "there are three");
    sweep.settings.stop_after = None;
    assert!(!sweep.is_far_below(1e6));
    // A later run, at a rate in between, that kept up.
    let mut lucky = swept(&[240.0], "", 1000.0).runs.remove(0);
    lucky.rate = 225.0;
    sweep.settings.stop_after = Some(2);
    sweep.settings.rates.insert(4, 225.0);
    sweep.add(lucky);
    assert!(!sweep.is_far_below(250.0));
}

#[test]
fn a_rate_meets_its_objectives_if_each_run_does() {
    let sweep = swept(&RATES, "p99<20ms, errors<1%", 170.0);
    assert_eq!(sweep.figures.objectives_met_at, Some(150.0));
    assert_eq!(sweep.figures.steps[4].objectives, Some(Kept::Missed));
    assert_eq!(sweep.figures.steps[4].objectives_not_met, ["p99<20ms", "errors<1%"]);
    let text = sweep.plain_text();
    assert!(text.contains("Objectives (p99<20ms, errors<1%): met up to 150 connections/s."), "{text}");
    assert!(text.contains("; missed p99<20ms, errors<1%"), "{text}");
    let none = swept(&RATES, "p99<1us", 170.0);
    assert_eq!(none.figures.objectives_met_at, None);
    assert!(none.plain_text().contains("met at none of these rates"));
}

#[test]
fn the_text_fits_a_terminal() {
    let sweep = swept(&RATES, "p99<20ms, errors<1%", 170.0);
    for columns in [80, 120, 200] {
        let text = sweep.render(Form::Text, Screen { columns: Some(columns), ..Screen::default() }).unwrap();
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= columns, "{widest}: {text}");
    }
}

#[test]
fn an_interrupted_run_is_kept_and_does_not_count() {
    let mut sweep = swept(&RATES[..2], "", 170.0);
    sweep.runs[1].result.parts[0].ended_early = Some(EarlyEnd::Asked);
    let mut sweep = Sweep::of(sweep.settings, sweep.plan, sweep.runs, Some(End::Asked));
    assert_eq!((sweep.figures.steps.len(), sweep.runs.len()), (1, 2));
    assert!(sweep.plain_text().ends_with("Interrupted after 1 of 2 runs.\n"));
    assert!(sweep.document(Form::Csv).unwrap().lines().nth(2).unwrap().contains(",100,0,false,"));
    assert!(!sweep.has(100.0, 0) && sweep.has(50.0, 0));
    sweep.reopen();
    assert_eq!((sweep.runs.len(), sweep.end), (1, None));
}

#[test]
fn the_table_shows_it_all() {
    let mut sweep = swept(&RATES, "p99<50ms", 170.0);
    sweep.runs[4].recovery.lacking = Some(Lacking::Ports { free: 3, needed: 9 });
    client_limited(&mut sweep.runs[5]);
    let sweep = Sweep::of(sweep.settings, sweep.plan, sweep.runs, Some(End::Saturated));
    insta::assert_snapshot!(sweep.plain_text());
}

#[test]
fn text_page_and_picture_have_the_same_figures() {
    let sweep = swept(&[50.0, 100.0, 150.0, 200.0, 250.0], "", 170.0);
    let peak = sweep.figures.peak.unwrap();
    let most = format!("{:.1}/s", peak.good_reply_rate);
    assert!(sweep.plain_text().contains(&format!("Most replies without an error: {most}")));
    let page = sweep_page(&sweep);
    let (_, tile) = page.split_once("<dt>Most replies without error</dt>").unwrap();
    let shown = tile.split_once("class=\"value\">").and_then(|(_, rest)| rest.split_once("/s<")).unwrap().0;
    assert_eq!(shown.parse(), Ok((peak.good_reply_rate * 10.0).round() / 10.0), "{shown}");
    let curve = SweepCurve::of(&sweep);
    let point = curve.points.iter().find(|point| point.rate == peak.rate).unwrap();
    assert_eq!((point.good_replies, curve.knee), (peak.good_reply_rate, sweep.figures.knee));
}

#[test]
fn the_table_of_the_page_has_the_percentiles_of_all_calls() {
    let plan = timed(100.0).with(|plan| plan.runtime = Some(ms(2000)));
    let mut sweep = Sweep::new(settings(&[100.0]), plan.clone());
    // Every fourth request is never answered.
    let mut number = 0;
    let peer = HttpPeer::new(move |_| {
        number += 1;
        if number % 4 == 0 { Vec::new() } else { vec![Action::Send(ms(5), reply(200, "", "hello"))] }
    });
    sweep.add(Run::new(100.0, 0, Recovery::default(), simulated(&plan, peer)));
    let p99 = sweep.runs[0].result.figures.all_calls.p99.unwrap();
    assert!(p99.or_more, "{p99:?}");
    let page = sweep_page(&sweep);
    assert!(page.replace(',', "").contains(&format!("&#62; {:.2}", p99.ms)), "no {p99:?}");
}

#[test]
fn rows_have_the_columns_of_old_scripts_first() {
    let sweep = swept(&RATES[..2], "", 170.0);
    let tsv = sweep.document(Form::Tsv).unwrap();
    let mut lines = tsv.lines();
    let names: Vec<&str> = lines.next().unwrap().split('\t').collect();
    assert_eq!(names[..4], ["dem_req_rate", "req_rate", "con_rate", "min_rep_rate"]);
    let row: Vec<&str> = lines.next().unwrap().split('\t').collect();
    assert_eq!(row.len(), names.len());
    // Two seconds are too short for classic samples, so each second is one.
    assert_eq!(row[3..7], ["50.0", "50.0", "50.0", "0.0"]);
}

#[test]
fn a_document_survives_saving_and_reading() {
    let sweep = swept(&RATES[..2], "p99<20ms", 170.0);
    let json = sweep.json();
    let again = Sweep::read(json.as_bytes()).unwrap();
    assert_eq!(again.json(), json);
    assert_eq!(again.figures, sweep.figures);
    assert!(schema().contains("\"$id\": \"urn:httperf:sweep:1\""));
    assert!(!schema().contains("urn:httperf:result"), "it would not be found there");
}

#[test]
fn impossible_documents_are_refused() {
    let sweep = swept(&RATES[..2], "", 170.0);
    let good: serde_json::Value = serde_json::from_str(&sweep.json()).unwrap();
    let check = |change: &dyn Fn(&mut serde_json::Value), expected: &str| {
        let mut json = good.clone();
        change(&mut json);
        let error = Sweep::read(json.to_string().as_bytes()).map(drop).unwrap_err();
        assert!(matches!(error, ReadError::Contents(..) | ReadError::Shape(..)), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    };
    check(&|json| json["settings"]["rates"] = [0.0; 0][..].into(), "expected 1 to 1000 rates, got 0");
    check(
        &|json| json["settings"]["rates"] = vec![100.0, 50.0].into(),
        "expected rates above 0 in ascending order",
    );
    check(&|json| json["settings"]["rates"] = vec![-1.0].into(), "expected rates above 0 in ascending order");
    check(&|json| json["settings"]["repeats"] = 0.into(), "expected 1 to 1000 runs at each rate, got 0");
    check(&|json| json["settings"]["pause_s"] = 1e300.into(), "expected pauses of 0 to 86400 seconds");
    check(&|json| json["settings"]["stop_after"] = 0.into(), "stop_after: expected at least 1 rate, got 0");
    check(&|json| json["runs"][1]["rate"] = 51.into(), "run 0 at a rate of 51 is not part of the settings");
    check(&|json| json["runs"][1]["repeat"] = 1.into(), "run 1 at a rate of 100 is not part of the settings");
    check(&|json| json["runs"][1]["rate"] = 50.into(), "run 0 at a rate of 50 occurs twice");
    check(&|json| json["runs"][1]["result"]["format"] = "x".into(), "not a result of httperf");
    check(&|json| json["runs"][1]["result"]["version"] = 9.into(), "version 9 of the format is newer");
    check(
        &|json| {
            json["plan"]["arrivals"] = serde_json::json!({"variable": [{"period": 1.0, "duration": 2.0}]});
        },
        "a cycle of rates of its own",
    );
    check(
        &|json| json["plan"]["arrivals"] = serde_json::json!({"variable": []}),
        "plan.arrivals.variable: expected at least one element, got none",
    );
    check(&|json| json["plan"] = 3.into(), "not a sweep of version 1");
}

#[test]
fn the_unit_follows_from_the_workload() {
    let text = |workload: Workload| {
        Sweep::new(settings(&[1.0, 2.5]), timed(1.0).with(|plan| plan.workload = workload))
            .plain_text()
            .to_string()
    };
    assert!(
        text(sessions(1, Script::Pages { pages: 1, think: ms(0) }).into_fields().workload)
            .contains("2 rates from 1 to 2.5 sessions/s")
    );
    assert!(text(calls(1, 1.0, 1).into_fields().workload).contains("calls/s"));
    assert!(
        text(timed(1.0).into_fields().workload)
            .ends_with("Conclusion: no run was complete.\nIn progress: 0 of 2 runs.\n")
    );
}
