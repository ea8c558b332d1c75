//! Visits of scenarios: whole runs in memory, on the virtual clock.

use std::time::Duration;

use httperf_plan::{HttpVersion, Phases, Plan, Workload};
use httperf_stats::{CallOutcome, Lack, Obstacle, ScenarioVisits, StepFigures};
use httperf_testkit::http2::Reply;
use httperf_testkit::sim::{
    Action, Deed, Edit, Http2Peer, HttpPeer, Link, Peer, Reception, RequestSeen, Run, StreamSeen, Trace,
    reply, run, scenarios,
};

use super::simulation::{NOW, limited, ms};

const A: (&str, &str) = ("a.hurl", "GET {{base}}/a\n");
const B: (&str, &str) = ("b.hurl", "GET {{base}}/b\n");

/// Visits of one scenario with these steps. `head`: lines before the scenario.
#[track_caller]
fn one(head: &str, steps: &str, files: &[(&str, &str)]) -> Plan {
    let text = format!("base = \"http://shop\"\n{head}\n[[scenario]]\nname = \"s\"\nsteps = [{steps}]");
    scenarios(&text, files)
}

/// As many visits, one after the other.
fn visits(count: u64) -> String {
    format!("[arrivals]\nusers = 1\nvisits = {count}\n")
}

/// Answers each request target with a reply, after `delay`.
fn answering(delay: Duration, mut answer: impl FnMut(&RequestSeen) -> Vec<u8>) -> impl Peer {
    HttpPeer::new(move |request| vec![Action::Send(delay, answer(request))])
}

fn ok_after(delay: Duration) -> impl Peer {
    answering(delay, |_| reply(200, "", "hello"))
}

/// The figures of a scenario in the whole run.
fn scenario(run: &Run, scenario: usize) -> ScenarioVisits {
    assert!(!run.is_endless, "the run must end by itself");
    run.summary.visits.as_ref().expect("the plan has scenarios").total().scenarios[scenario].clone()
}

/// Numbers of visits that were completed, abandoned and cut.
fn fates(run: &Run) -> [u64; 3] {
    let figures = scenario(run, 0);
    [figures.completed.moments.count(), figures.abandoned.moments.count(), figures.cut()]
}

fn milliseconds(times: impl Iterator<Item = Duration>) -> Vec<u128> {
    times.map(|time| time.as_millis()).collect()
}

fn mean_ms(step: &StepFigures) -> f64 {
    step.time.mean() * 1e3
}

/// Request lines of all connections, in the order of their arrival.
fn requests(run: &Run) -> Vec<String> {
    run.connections.iter().flat_map(Trace::requests).collect()
}

// Steps.

#[test]
fn a_step_is_due_when_the_one_before_has_ended_and_its_pause_is_over() {
    let plan =
        one("", r#"{ run = "a.hurl" }, { think = "50ms" }, { run = "b.hurl" }, { run = "a.hurl" }"#, &[A, B]);
    let run = run(&plan, Link { latency: ms(2), ..Link::default() }, ok_after(ms(10)));
    assert_eq!(run.connections.len(), 1);
    let received = run.connections[0].received.iter().map(|(at, _)| *at);
    // Connecting takes 4 ms, a call 14 ms.
    assert_eq!(milliseconds(received), [6, 70, 84]);
    let figures = scenario(&run, 0);
    assert_eq!(fates(&run), [1, 0, 0]);
    assert!((figures.completed.moments.mean() * 1e3 - 96.0).abs() < 1e-6);
    let [a, b] = &figures.steps[..] else { panic!("there are two steps") };
    assert_eq!(
        (a.calls.outcomes[CallOutcome::Success as usize], b.calls.outcomes[CallOutcome::Success as usize]),
        (2, 1)
    );
    // The first of the two calls has waited for the connection since it was due.
    assert!((mean_ms(a) - 16.0).abs() < 1e-6, "{}", mean_ms(a));
    assert!((mean_ms(b) - 14.0).abs() < 1e-6, "the pause does not count: {}", mean_ms(b));
}

#[test]
fn pauses_at_the_beginning_and_the_end_belong_to_the_visit() {
    let plan = one("", r#"{ think = "30ms" }, { run = "a.hurl" }, { think = "50ms" }"#, &[A]);
    let run = run(&plan, Link::default(), ok_after(ms(10)));
    assert_eq!(milliseconds(run.connections[0].received.iter().map(|(at, _)| *at)), [30]);
    assert_eq!(run.summary.duration, ms(90));
    assert!((mean_ms(&scenario(&run, 0).steps[0]) - 10.0).abs() < 1e-6);
}

#[test]
fn captured_values_flow_into_the_next_request() {
    let file = "GET {{base}}/form\nHTTP 200\n[Captures]\ntoken: regex /token=\"(\\w+)\"/\n\n\
                POST {{base}}/send\nX-Token: {{token}}\n[Form]\ntoken: {{token}}\nHTTP 201\n";
    let plan = one("", r#"{ run = "a.hurl" }"#, &[("a.hurl", file)]);
    let run = run(
        &plan,
        Link { hostile: true, ..Link::default() },
        answering(NOW, |request| match request.uri() {
            "/form" => reply(200, "", "<input token=\"c5f\">"),
            _ => reply(if request.body == b"token=c5f" { 201 } else { 400 }, "", ""),
        }),
    );
    assert!(run.connections[0].text().contains("\r\nX-Token: c5f\r\n"));
    let figures = scenario(&run, 0);
    assert_eq!(fates(&run), [1, 0, 0]);
    let checks: Vec<(u64, u64)> =
        figures.steps.iter().map(|step| (step.checks_made, step.checks_failed())).collect();
    assert_eq!(checks, [(1, 0), (1, 0)]);
}

#[test]
fn loops_over_calls_end_with_what_replies_say() {
    let page = "GET {{base}}/page/{{next}}\nHTTP *\n[Captures]\nnext: header \"X-Next\"\n";
    let steps = r#"{ while = 'variable "next" != "end"', at-most = 20, steps = [{ run = "page.hurl" }] }, { run = "b.hurl" }"#;
    let plan = one("[variables]\nnext = \"0\"\n", steps, &[("page.hurl", page), B]);
    let run = run(
        &plan,
        Link::default(),
        answering(NOW, |request| match request.index {
            2 => reply(200, "X-Next: end\r\n", ""),
            index => reply(200, &format!("X-Next: {}\r\n", index + 1), ""),
        }),
    );
    assert_eq!(requests(&run), ["GET /page/0", "GET /page/1", "GET /page/2", "GET /b"]);
    assert_eq!(fates(&run), [1, 0, 0]);
}

// Failures.

/// Carries out visits of the steps `a`, which has a capture and two checks, and `b`. Returns the run and the figures of `a`.
#[track_caller]
fn failing(on_failure: &str, peer: impl Peer + 'static) -> (Run, StepFigures) {
    let file = "GET {{base}}/a\nHTTP 200\n[Captures]\nid: header \"X-Id\"\n[Asserts]\nbody contains \"hell\"\nbody contains \"hello\"\n";
    let steps = format!(r#"{{ run = "a.hurl"{on_failure} }}, {{ run = "b.hurl" }}"#);
    let plan = one(&visits(4), &steps, &[("a.hurl", file), B]);
    let run = run(&limited(1000, 0, plan), Link::default(), peer);
    let step = scenario(&run, 0).steps[0].clone();
    assert_eq!(step.calls.calls(), 4, "every visit makes the first step");
    (run, step)
}

/// Replies to `/a` of every second connection are as told, all others are right.
fn every_second(status: u16, fields: &'static str, body: &'static str) -> impl Peer {
    answering(ms(1), move |request| match request.connection % 2 {
        0 if request.uri() == "/a" => reply(status, fields, body),
        _ => reply(200, "X-Id: 1\r\n", "hello"),
    })
}

const END: &str = r#", on-failure = "end""#;

#[test]
fn a_failed_check_counts_and_ends_the_visit_if_the_plan_says_so() {
    for (on_failure, expected, abandoned) in [("", [4, 0, 0], 0), (END, [2, 2, 0], 2)] {
        let (run, step) = failing(on_failure, every_second(200, "X-Id: 1\r\n", "hell"));
        assert_eq!((fates(&run), step.abandoned), (expected, abandoned), "{on_failure}");
        assert_eq!((step.checks_made, &step.failed_checks[..]), (12, &[0, 0, 2][..]));
        assert_eq!(step.calls.outcomes[CallOutcome::Unexpected as usize], 2);
        assert_eq!(step.calls.outcomes[CallOutcome::Success as usize], 2);
        assert_eq!(run.summary.replies, 4 + expected[0]);
    }
}

#[test]
fn an_unexpected_status_is_a_check_after_which_no_other_is_made() {
    for (on_failure, expected, abandoned) in [("", [4, 0, 0], 0), (END, [2, 2, 0], 2)] {
        let (run, step) = failing(on_failure, every_second(503, "X-Id: 1\r\n", "hello"));
        assert_eq!((fates(&run), step.abandoned), (expected, abandoned), "{on_failure}");
        assert_eq!((step.checks_made, &step.failed_checks[..]), (2 + 6, &[2, 0, 0][..]));
        assert_eq!(step.failed_captures, [0]);
    }
}

#[test]
fn a_status_of_400_and_above_is_a_success_if_the_step_expects_it() {
    let file = |status: &str| format!("GET {{{{base}}}}/none\nHTTP {status}\n");
    for (expected, outcome) in
        [("404", CallOutcome::Success), ("*", CallOutcome::HttpError), ("200", CallOutcome::Unexpected)]
    {
        let plan = one("", r#"{ run = "a.hurl" }"#, &[("a.hurl", &file(expected))]);
        let run = run(&plan, Link::default(), answering(ms(5), |_| reply(404, "", "")));
        let mut outcomes = [0; CallOutcome::ALL.len()];
        outcomes[outcome as usize] = 1;
        assert_eq!(scenario(&run, 0).steps[0].calls.outcomes, outcomes, "HTTP {expected}");
        assert_eq!(run.summary.calls_with(outcome).latency.moments.count(), 1, "HTTP {expected}");
        let errors: u64 = run.summary.series.intervals().iter().map(|interval| interval.http_errors).sum();
        assert_eq!(errors, u64::from(expected != "404"), "HTTP {expected}");
    }
}

#[test]
fn a_request_that_never_changes_still_gets_its_cookies() {
    let mut plan = one(&visits(2), r#"{ repeat = 3, steps = [{ run = "a.hurl" }] }"#, &[A]);
    let peer = || {
        answering(NOW, |request| match request.index {
            1 => reply(200, "Set-Cookie: s=1\r\n", ""),
            _ => reply(200, "", ""),
        })
    };
    let cookies = |run: &Run| -> Vec<usize> {
        run.connections.iter().map(|trace| trace.text().matches("\r\nCookie: s=1\r\n").count()).collect()
    };
    assert_eq!(cookies(&run(&plan, Link::default(), peer())), [1, 1], "the third call of each visit");
    plan.change_scenarios(|scenarios| scenarios.cookies = false);
    assert_eq!(cookies(&run(&plan, Link::default(), peer())), [0, 0]);
}

#[test]
fn a_failed_capture_ends_the_visit_in_any_case() {
    for on_failure in ["", END] {
        let (run, step) = failing(on_failure, every_second(200, "", "hello"));
        assert_eq!((fates(&run), step.abandoned), ([2, 2, 0], 2), "{on_failure}");
        assert_eq!((step.checks_made, step.checks_failed()), (2 + 6, 0));
        assert_eq!(step.failed_captures, [2]);
    }
}

#[test]
fn a_call_without_a_reply_ends_the_visit_in_any_case() {
    let hangs_up = |request: &RequestSeen| match request.connection % 2 {
        0 => vec![Action::Close(ms(1))],
        _ => vec![Action::Send(ms(1), reply(200, "X-Id: 1\r\n", "hello"))],
    };
    let is_silent = |request: &RequestSeen| match request.connection % 2 {
        0 => Vec::new(),
        _ => vec![Action::Send(ms(1), reply(200, "X-Id: 1\r\n", "hello"))],
    };
    for on_failure in ["", END] {
        for (run, step) in
            [failing(on_failure, HttpPeer::new(hangs_up)), failing(on_failure, HttpPeer::new(is_silent))]
        {
            assert_eq!((fates(&run), step.abandoned), ([2, 2, 0], 2), "{on_failure}");
            assert_eq!(step.calls.outcomes[CallOutcome::Failure as usize], 2);
            assert_eq!(step.checks_made, 6, "there is nothing to judge");
        }
    }
}

#[test]
fn a_server_that_refuses_connections_ends_visits_at_their_first_step() {
    struct Refusing;

    impl Peer for Refusing {
        fn accept(&mut self, _: usize, _: Duration) -> Reception {
            Reception::Refuse
        }

        fn receive(&mut self, _: usize, _: Duration, _: &[u8]) -> Vec<Action> {
            Vec::new()
        }
    }

    let plan = one(
        "[arrivals]\nrate = \"100/s\"\nvisits = 5\n",
        r#"{ run = "a.hurl" }, { run = "b.hurl" }"#,
        &[A, B],
    );
    let run = run(&plan, Link::default(), Refusing);
    let steps: Vec<(u64, u64)> =
        scenario(&run, 0).steps.iter().map(|step| (step.calls.calls(), step.abandoned)).collect();
    assert_eq!((fates(&run), steps), ([0, 5, 0], vec![(5, 5), (0, 0)]));
}

#[test]
fn a_call_that_meets_a_closing_connection_is_made_again_once() {
    for hangs_up_always in [false, true] {
        let peer = HttpPeer::new(move |request: &RequestSeen| match request.uri() {
            "/b" if request.connection == 0 || hangs_up_always => vec![Action::Close(NOW)],
            _ => vec![Action::Send(ms(1), reply(200, "", ""))],
        });
        let run = run(&one("", r#"{ run = "a.hurl" }, { run = "b.hurl" }"#, &[A, B]), Link::default(), peer);
        assert_eq!(requests(&run), ["GET /a", "GET /b", "GET /b"]);
        let expected = if hangs_up_always { [0, 1, 0] } else { [1, 0, 0] };
        assert_eq!(fates(&run), expected);
        assert_eq!(scenario(&run, 0).steps[1].calls.calls(), 1, "it is one call");
    }
}

#[test]
fn a_variable_without_a_value_ends_the_visit_at_the_step_that_names_it() {
    let plan = one(
        "[feed.f]\nfile = \"f.jsonl\"\norder = \"cycle\"\n",
        r#"{ run = "a.hurl", feed = "f" }, { run = "use.hurl" }"#,
        &[A, ("f.jsonl", "{\"x\":[1]}\n"), ("use.hurl", "GET {{base}}/{{x}}\n")],
    );
    let run = run(&plan, Link::default(), ok_after(ms(1)));
    let abandoned: Vec<u64> = scenario(&run, 0).steps.iter().map(|step| step.abandoned).collect();
    assert_eq!((fates(&run), abandoned), ([0, 1, 0], vec![0, 1]));
    assert_eq!(requests(&run), ["GET /a"]);
}

/// Each way in which a call cannot be made is a failed call of its step, with the variable and what it lacks.
#[test]
fn a_call_that_cannot_be_made_is_a_failed_call_with_its_reason() {
    let lists = "GET {{base}}/l\nHTTP 200\n[Captures]\nl: jsonpath \"$.list\"\no: jsonpath \"$.object\"\nt: jsonpath \"$.text\"\n";
    for (use_it, variable, lack) in [
        ("GET {{base}}/x?l={{l}}\n", "l", Lack::List),
        ("GET {{base}}/x\nX-Field: {{o}}\n", "o", Lack::Object),
        ("POST {{base}}/x\n```\n{{l}}\n```\n", "l", Lack::List),
        ("POST {{base}}/x\n[Form]\nf: {{o}}\n", "o", Lack::Object),
        ("GET {{base}}/x\n[Query]\nq: {{row}}\n", "row", Lack::Value),
    ] {
        let steps = r#"{ run = "l.hurl", feed = "f" }, { run = "use.hurl" }"#;
        let plan = one(
            "[feed.f]\nfile = \"f.jsonl\"\norder = \"cycle\"\n[arrivals]\nusers = 1\nvisits = 6\n",
            steps,
            &[("l.hurl", lists), ("f.jsonl", "{\"other\":1}\n{\"row\":1}\n"), ("use.hurl", use_it)],
        );
        let peer = answering(ms(1), |_| reply(200, "", r#"{"list":[1],"object":{"a":1},"text":"t"}"#));
        let run = run(&plan, Link::default(), peer);
        let Workload::Scenarios(scenarios) = &plan.workload else { panic!("it has scenarios") };
        let failed = if lack == Lack::Value { 3 } else { 6 };
        assert_eq!(fates(&run), [6 - failed, failed, 0], "{use_it}");
        let step = &scenario(&run, 0).steps[1];
        let [unmade] = &step.unmade[..] else { panic!("{use_it}: {:?}", step.unmade) };
        let Obstacle::Variable { slot, lack: found } = unmade.obstacle else { panic!("{unmade:?}") };
        let name = &*scenarios.variables[slot as usize].name;
        assert_eq!((name, found, unmade.calls), (variable, lack, failed));
        assert_eq!(step.calls.outcomes[CallOutcome::Failure as usize], failed, "each is a call that failed");
        assert_eq!(run.summary.calls_with(CallOutcome::Failure).latency.moments.count(), failed);
        assert_eq!(requests(&run).len() as u64, 12 - failed, "nothing of them was sent");
        assert_eq!(run.summary.sessions.as_ref().map(|sessions| sessions.failed), Some(failed));
    }
}

#[test]
fn visits_that_are_under_way_when_no_more_start_end_in_the_drain() {
    let steps = r#"{ run = "a.hurl" }, { think = "3s" }, { run = "b.hurl" }"#;
    for arrivals in [
        "rate = \"10/s\"\nfor = \"5s\"",
        "users = 10\nfor = \"5s\"",
        "phases = [{ name = \"p\", for = \"5s\", rate = \"10/s\" }]",
    ] {
        let plan = one(&format!("[arrivals]\n{arrivals}\n"), steps, &[A, B]).with(|plan| {
            plan.phases = Phases { drain: Duration::from_secs(60), ..Phases::default() };
        });
        let run = run(&plan, Link::default(), ok_after(ms(20)));
        let [completed, abandoned, cut] = fates(&run);
        assert_eq!((abandoned, cut), (0, 0), "{arrivals}");
        assert!(completed >= 20, "{arrivals}: {completed}");
        let figures = scenario(&run, 0);
        let longest = figures.completed.moments.max();
        assert!((figures.completed.moments.min() - longest).abs() < 0.2, "the long ones count: {longest}");
        assert_eq!(figures.steps[1].calls.calls(), completed);
        let drained = figures.steps[0].drained + figures.steps[1].drained;
        assert_eq!(drained, run.summary.replies - run.summary.in_window().replies);
        // The run ends with the last of them, not with the drain.
        assert!(
            run.summary.series.intervals().last().is_some_and(|last| last.end() < Duration::from_secs(10))
        );
    }
}

#[test]
fn a_drain_that_is_too_short_cuts_visits() {
    let plan = one(
        "[arrivals]\nrate = \"10/s\"\nfor = \"1s\"\n",
        r#"{ run = "a.hurl" }, { think = "450ms" }, { run = "b.hurl" }"#,
        &[A, B],
    );
    let plan = plan.with(|plan| plan.phases = Phases { drain: ms(200), ..Phases::default() });
    // Those due from 800 ms on are still thinking then.
    assert_eq!(fates(&run(&plan, Link::default(), ok_after(ms(20)))), [8, 0, 2]);
}

// Connections.

#[test]
fn a_connection_that_the_server_closes_between_steps_is_replaced() {
    for announces in [true, false] {
        let peer = HttpPeer::new(move |_: &RequestSeen| {
            let fields = if announces { "Connection: close\r\n" } else { "" };
            vec![Action::Send(ms(1), reply(200, fields, "")), Action::Close(ms(5))]
        });
        let plan = one(&visits(2), r#"{ run = "a.hurl" }, { think = "50ms" }, { run = "b.hurl" }"#, &[A, B]);
        let run = run(&plan, Link::default(), peer);
        assert_eq!((run.connections.len(), fates(&run)), (4, [2, 0, 0]), "announced: {announces}");
        assert_eq!(run.summary.errors.total(), 0);
        assert_eq!(requests(&run), ["GET /a", "GET /b", "GET /a", "GET /b"]);
    }
}

#[test]
fn connections_last_for_a_visit_or_a_step() {
    for (connections, expected) in [("visit", 2), ("step", 6)] {
        let head = format!("{}[options]\nconnections = \"{connections}\"\n", visits(2));
        let plan = one(&head, r#"{ repeat = 3, steps = [{ run = "a.hurl" }] }"#, &[A]);
        let run = run(&plan, Link::default(), ok_after(ms(1)));
        assert_eq!(
            (run.connections.len(), run.summary.replies, fates(&run)),
            (expected, 6, [2, 0, 0]),
            "{connections}"
        );
        assert_eq!(run.summary.errors.total(), 0);
    }
}

fn field<'a>(request: &'a RequestSeen, name: &str) -> Option<&'a str> {
    request.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[test]
fn servers_have_a_connection_and_cookies_each() {
    let file = "GET {{base}}/a\n\nGET http://pay/b\n\nGET {{base}}/c\n\nGET http://pay/d\n";
    let plan = one(&visits(2), r#"{ run = "a.hurl" }"#, &[("a.hurl", file)]);
    let run = run(
        &plan,
        Link::default(),
        answering(NOW, |request| {
            let host = field(request, "Host").expect("a request names its server");
            let cookie = field(request, "Cookie");
            let expected = (request.index > 0).then(|| format!("of={host}{}", request.connection));
            assert_eq!(cookie, expected.as_deref(), "{}", request.head);
            reply(200, &format!("Set-Cookie: of={host}{}\r\n", request.connection), "")
        }),
    );
    assert_eq!(fates(&run), [2, 0, 0]);
    let by_connection: Vec<Vec<String>> = run.connections.iter().map(Trace::requests).collect();
    assert_eq!(
        by_connection,
        [["GET /a", "GET /c"], ["GET /b", "GET /d"], ["GET /a", "GET /c"], ["GET /b", "GET /d"]]
    );
}

// Redirects.

#[test]
fn redirects_are_calls_of_their_step_and_the_last_reply_is_judged() {
    let file = "POST {{base}}/login\n[Options]\nlocation: true\n[Form]\nuser: ann\nHTTP 200\n\n\
                GET {{base}}/away\n[Options]\nlocation: true\nHTTP 302\n";
    let plan = one("", r#"{ run = "a.hurl" }"#, &[("a.hurl", file)]);
    let run = run(
        &plan,
        Link::default(),
        answering(ms(5), |request| match request.uri() {
            "/login" => reply(303, "Location: /home\r\nSet-Cookie: sid=1\r\n", ""),
            "/away" => reply(302, "Location: http://elsewhere/\r\n", ""),
            _ => {
                assert_eq!(
                    (&request.body[..], field(request, "Cookie")),
                    (&b""[..], Some("sid=1")),
                    "{}",
                    request.head
                );
                assert_eq!(field(request, "Content-Type"), None);
                reply(200, "", "")
            }
        }),
    );
    assert_eq!(
        requests(&run),
        ["POST /login", "user=annGET /home", "GET /away"],
        "the body goes before the next line"
    );
    let figures = scenario(&run, 0);
    let steps: Vec<(u64, u64, u64)> = figures
        .steps
        .iter()
        .map(|step| (step.calls.calls(), step.checks_made, step.checks_failed()))
        .collect();
    assert_eq!((fates(&run), steps), ([1, 0, 0], vec![(2, 1, 0), (1, 1, 0)]));
}

#[test]
fn a_circle_of_redirects_ends() {
    let file = "GET {{base}}/a\n[Options]\nlocation: true\nHTTP 200\n";
    let plan = one("", r#"{ run = "a.hurl" }"#, &[("a.hurl", file)]);
    let run = run(&plan, Link::default(), answering(NOW, |_| reply(302, "Location: /a\r\n", "")));
    assert_eq!(run.summary.replies, 51);
    assert_eq!(scenario(&run, 0).steps[0].failed_checks, [1]);
}

// Arrivals and ends.

#[test]
fn visits_beyond_the_maximum_wait_and_are_late() {
    let plan = one("[arrivals]\nrate = \"100/s\"\nvisits = 6\nmax-open = 2\n", r#"{ run = "a.hurl" }"#, &[A]);
    let run = run(&plan, Link::default(), ok_after(ms(30)));
    let initiated = milliseconds(run.connections.iter().map(|connection| connection.initiated));
    assert_eq!(initiated, [0, 10, 30, 40, 60, 70]);
    let figures = scenario(&run, 0);
    assert_eq!(fates(&run), [6, 0, 0]);
    // Visits were due at 0, 10, 20, 30, 40, 50 ms.
    let mean = (30.0 + 30.0 + 40.0 + 40.0 + 50.0 + 50.0) / 6.0;
    assert!((figures.completed.moments.mean() * 1e3 - mean).abs() < 1e-6);
    assert!((mean_ms(&figures.steps[0]) - mean).abs() < 1e-6, "the first step is due with its visit");
}

#[test]
fn the_end_of_the_run_cuts_visits() {
    let plan = one(
        "[arrivals]\nrate = \"10/s\"\nfor = \"1s\"\n",
        r#"{ run = "a.hurl" }, { think = "450ms" }, { run = "b.hurl" }"#,
        &[A, B],
    );
    let run = run(&plan, Link::default(), ok_after(ms(20)));
    let figures = scenario(&run, 0);
    // Those due from 600 ms on are thinking when the time is over; one makes its last call by then.
    assert_eq!(fates(&run), [6, 0, 4]);
    assert_eq!(figures.count(), 10);
    let calls: Vec<u64> = figures.steps.iter().map(|step| step.calls.calls()).collect();
    assert_eq!(calls, [10, 6]);
    assert!(figures.steps.iter().all(|step| step.unfinished.is_none()));
}

#[test]
fn calls_that_the_end_of_the_run_leaves_are_unfinished_and_their_visits_cut() {
    let plan = one(
        "[arrivals]\nrate = \"10/s\"\nfor = \"1s\"\n",
        r#"{ run = "a.hurl" }, { run = "b.hurl" }"#,
        &[A, B],
    );
    let peer = HttpPeer::new(|request: &RequestSeen| match request.uri() {
        "/a" => vec![Action::Send(ms(1), reply(200, "", ""))],
        _ => Vec::new(),
    });
    let run = run(&plan, Link::default(), peer);
    let figures = scenario(&run, 0);
    assert_eq!(fates(&run), [0, 0, 10]);
    let unfinished = |step: &StepFigures| step.unfinished.as_ref().map_or(0, |timing| timing.moments.count());
    assert_eq!(figures.steps.iter().map(unfinished).collect::<Vec<_>>(), [0, 10]);
    assert_eq!(figures.steps.iter().map(|step| step.calls.calls()).collect::<Vec<_>>(), [10, 0]);
}

#[test]
fn a_unique_feed_ends_the_run_with_its_last_row() {
    let head = "[feed.users]\nfile = \"users.csv\"\n[arrivals]\nrate = \"100/s\"\nfor = \"10s\"\n";
    let text = format!(
        "base = \"http://shop\"\n{head}[[scenario]]\nname = \"s\"\nfeed = \"users\"\nsteps = [{{ run = \"user.hurl\" }}]"
    );
    let files = [("users.csv", "user\nann\nbob\ncid\n"), ("user.hurl", "GET {{base}}/{{user}}\n")];
    let run = run(&scenarios(&text, &files), Link::default(), ok_after(ms(1)));
    assert_eq!(requests(&run), ["GET /ann", "GET /bob", "GET /cid"]);
    assert_eq!(fates(&run), [3, 0, 0]);
}

#[test]
fn calls_and_visits_belong_to_the_phase_in_which_they_were_due() {
    let head = "[arrivals]\nphases = [{ name = \"low\", for = \"1s\", rate = \"10/s\" }, { name = \"none\", for = \"1s\", rate = 0 }, \
                { name = \"high\", for = \"1s\", rate = \"20/s\" }]\n";
    let plan = one(head, r#"{ run = "a.hurl" }, { think = "500ms" }, { run = "b.hurl" }"#, &[A, B]);
    let run = run(&plan, Link::default(), ok_after(ms(10)));
    let visits = run.summary.visits.as_ref().expect("the plan has scenarios");
    let counts: Vec<(u64, u64, u64)> = visits
        .phases
        .iter()
        .map(|phase| {
            let scenario = &phase.scenarios[0];
            (scenario.count(), scenario.steps[0].calls.calls(), scenario.steps[1].calls.calls())
        })
        .collect();
    // The second call is due 510 ms after the first: those of visits from 500 ms on in the next phase.
    assert_eq!(counts, [(10, 10, 5), (0, 0, 5), (20, 20, 10)]);
    let total = scenario(&run, 0);
    assert_eq!((total.count(), total.cut()), (30, 10));
}

// HTTP/2.

#[test]
fn visits_over_http2_capture_check_and_send_cookies() {
    let file = "GET {{base}}/form\nHTTP 200\n[Captures]\ntoken: jsonpath \"$.token\"\n\n\
                POST {{base}}/send\n[Form]\ntoken: {{token}}\nHTTP 201\n[Asserts]\nheader \"x-ok\" == \"yes\"\n";
    let mut plan = one(
        &visits(3),
        r#"{ run = "a.hurl" }, { think = "5ms" }, { run = "b.hurl" }"#,
        &[("a.hurl", file), B],
    );
    plan.change(|plan| plan.request.version = HttpVersion::Http2);
    let peer = Http2Peer::new(|request: &StreamSeen| {
        Deed::now(match request.uri() {
            "/form" => Reply::new(200).field("set-cookie", "sid=7").body("{\"token\":\"c5f\"}"),
            "/send" if request.body == b"token=c5f" && request.field("cookie") == "sid=7" => {
                Reply::new(201).field("x-ok", "yes")
            }
            "/b" => Reply::new(200),
            _ => Reply::new(400),
        })
    });
    let run = run(&plan, Link { latency: ms(1), ..Link::default() }, peer);
    let figures = scenario(&run, 0);
    assert_eq!((fates(&run), run.connections.len()), ([3, 0, 0], 3));
    let checks: Vec<(u64, u64)> =
        figures.steps.iter().map(|step| (step.checks_made, step.checks_failed())).collect();
    assert_eq!(checks, [(3, 0), (6, 0), (0, 0)]);
}
