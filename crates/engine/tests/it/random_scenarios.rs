//! Random scenarios, in memory and on the virtual clock: shards make the same visits, and all is accounted for.

use httperf_engine::Silent;
use httperf_plan::{HttpVersion, Phases, Plan, Shard};
use httperf_stats::{CallOutcome, ScenarioVisits};
use httperf_testkit::http2::{Reply, code};
use httperf_testkit::sim::{
    Action, Deed, Edit, Http2Peer, HttpPeer, Link, Peer, RequestSeen, Run, StreamSeen, Trace, reply, run,
    run_shard, scenarios,
};
use proptest::prelude::*;

use super::simulation::{limited, ms};

/// Steps that make a difference: drawn, fed, or led by what replies say.
fn any_steps() -> impl Strategy<Value = String> {
    let step = prop_oneof![
        Just(r#"{ run = "a.hurl" }"#.to_owned()),
        Just(r#"{ run = "id.hurl" }"#.to_owned()),
        Just(r#"{ run = "thing.hurl", feed = "things" }"#.to_owned()),
        Just(r#"{ run = "a.hurl", with = { user = "{{pick:x|y|z}}" } }"#.to_owned()),
        Just(r#"{ think = "exp(20ms)" }"#.to_owned()),
        Just(r#"{ if = 'variable "id" exists', steps = [{ run = "use.hurl" }], else = [{ run = "id.hurl" }] }"#.to_owned()),
    ];
    let nested = step.prop_recursive(2, 8, 3, |inner| {
        let steps = prop::collection::vec(inner, 1..3).prop_map(|steps| steps.join(", "));
        prop_oneof![
            steps.clone().prop_map(|steps| format!(r#"{{ repeat = "0..3", steps = [{steps}] }}"#)),
            (steps.clone(), steps).prop_map(|(one, other)| format!(
                "{{ choose = [{{ weight = 2, steps = [{one}] }}, {{ steps = [{other}] }}] }}"
            )),
        ]
    });
    prop::collection::vec(nested, 1..4).prop_map(|steps| steps.join(", "))
}

/// Visits of two scenarios with these steps, and another that begins or ends them.
fn workload(one: &str, other: &str, seed: u64, arrivals: &str) -> Plan {
    let text = format!(
        "base = \"http://shop\"\nseed = {seed}\n[arrivals]\nprocess = \"poisson\"\n{arrivals}\
         [variables]\nuser = \"none\"\n\
         [feed.users]\nfile = \"users.csv\"\norder = \"unique\"\n[feed.things]\nfile = \"things.csv\"\norder = \"random\"\n\
         [[scenario]]\nname = \"one\"\nweight = 2\nfeed = \"users\"\nsteps = [{{ run = \"a.hurl\" }}, {one}]\n\
         [[scenario]]\nname = \"other\"\nsteps = [{other}, {{ run = \"a.hurl\" }}]\n"
    );
    let users: String = (0..20).map(|user| format!("user{user}\n")).collect();
    let files = [
        ("users.csv", &*format!("user\n{users}")),
        ("things.csv", "sku\n1\n22\n333\n"),
        ("a.hurl", "GET {{base}}/a/{{user}}/{{newUuid}}\n"),
        ("id.hurl", "GET {{base}}/id/{{user}}\nHTTP *\n[Captures]\nid: header \"X-Id\"\n"),
        ("use.hurl", "POST {{base}}/use\n[Form]\nid: {{id}}\n"),
        ("thing.hurl", "GET {{base}}/thing/{{sku}}\n"),
    ];
    scenarios(&text, &files)
}

/// The bytes that each visit has sent, in no order: each has a connection of its own.
fn sent(plan: &Plan, shards: u32) -> Vec<String> {
    let mut sent = Vec::new();
    for index in 0..shards {
        // Replies depend on the request only.
        let peer = HttpPeer::new(|request| {
            let answer = match request.uri().len() % 3 {
                0 => reply(404, "", ""),
                rest => reply(200, &format!("X-Id: {rest}\r\nSet-Cookie: sid={rest}\r\n"), ""),
            };
            vec![Action::Send(ms(3), answer)]
        });
        let run = run_shard(plan, Shard { index, count: shards }, Link::default(), peer, &mut Silent);
        assert!(!run.is_endless);
        sent.extend(run.connections.iter().map(Trace::text));
    }
    sent.sort();
    sent
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_number_of_shards_makes_the_same_visits(one in any_steps(), other in any_steps(), seed in 0..1000_u64) {
        let arrivals = "rate = \"100/s\"\nvisits = 40\n";
        // Each visit sends something, so that it has a connection.
        let plan = workload(&one, &other, seed, arrivals);
        let whole = sent(&plan, 1);
        for shards in [2, 7] {
            prop_assert_eq!(sent(&plan, shards), whole.clone(), "{} shards", shards);
        }
    }
}

#[test]
fn a_closed_loop_on_several_shards_takes_each_row_once() {
    let rows: String = (0..30).map(|row| format!("{row}\n")).collect();
    let text = "base = \"http://shop\"\n[arrivals]\nusers = 7\nfor = \"1h\"\n[feed.rows]\nfile = \"rows.csv\"\n\
                [[scenario]]\nname = \"fed\"\nfeed = \"rows\"\nsteps = [{ run = \"row.hurl\" }]\n\
                [[scenario]]\nname = \"plain\"\nsteps = [{ run = \"a.hurl\" }]\n";
    let files = [
        ("rows.csv", &*format!("row\n{rows}")),
        ("row.hurl", "GET {{base}}/row/{{row}}\n"),
        ("a.hurl", "GET {{base}}/a\n"),
    ];
    let plan = scenarios(text, &files);
    let whole = sent(&plan, 1);
    assert_eq!(whole.iter().filter(|text| text.contains("/row/")).count(), 30);
    for shards in [2, 7] {
        assert_eq!(sent(&plan, shards), whole, "{shards} shards");
    }
}

/// A number that follows from a request and a seed.
fn choice(seed: u64, connection: usize, index: usize, choices: u64) -> u64 {
    let number = seed.wrapping_add(connection as u64 * 31 + index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (number >> 40) % choices
}

/// Answers as it should, or in one of the ways in which servers fail.
fn unreliable(seed: u64) -> impl Peer {
    HttpPeer::new(move |request: &RequestSeen| {
        let fine = || Action::Send(ms(3), reply(200, "X-Id: 1\r\nSet-Cookie: sid=1\r\n", "hello"));
        match choice(seed, request.connection, request.index, 12) {
            0 => vec![Action::Send(ms(3), reply(200, "", ""))],
            1 => vec![Action::Send(ms(3), reply(503, "", ""))],
            2 => vec![Action::Close(ms(1))],
            3 => vec![Action::Reset(ms(1))],
            4 => vec![fine(), Action::Close(ms(3))],
            5 => Vec::new(),
            6 => vec![Action::Send(ms(3), b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhell".to_vec())],
            _ => vec![fine()],
        }
    })
}

/// The same over HTTP/2.
fn unreliable_http2(seed: u64) -> impl Peer {
    Http2Peer::new(move |request: &StreamSeen| {
        let fine = || {
            Deed::Reply(ms(3), Reply::new(200).field("x-id", "1").field("set-cookie", "sid=1").body("hello"))
        };
        match choice(seed, request.connection, request.index, 12) {
            0 => vec![Deed::Reply(ms(3), Reply::new(200))],
            1 => vec![Deed::Reply(ms(3), Reply::new(503))],
            2 => vec![Deed::Close(ms(1))],
            3 => vec![Deed::Reset(ms(1), code::INTERNAL_ERROR)],
            4 => vec![fine(), Deed::GoAway(ms(3), None, code::NO_ERROR)],
            5 => Vec::new(),
            6 => vec![Deed::Reset(ms(1), code::REFUSED_STREAM)],
            _ => vec![fine()],
        }
    })
}

/// The figures of a run add up, whatever happened.
#[track_caller]
fn check_accounts(run: &Run) {
    let summary = &run.summary;
    assert!(!run.is_endless);
    let visits = summary.visits.as_ref().expect("the plan has scenarios").total();
    let steps = || visits.scenarios.iter().flat_map(|scenario| &scenario.steps);
    for outcome in CallOutcome::ALL {
        let calls: u64 = steps().map(|step| step.calls.outcomes[outcome as usize]).sum();
        assert_eq!(calls, summary.calls_with(outcome).latency.moments.count(), "{outcome:?}");
    }
    let unfinished = steps().filter_map(|step| step.unfinished.as_ref());
    let unfinished: u64 = unfinished.map(|timing| timing.moments.count()).sum();
    let ended: u64 = steps().map(|step| step.calls.calls()).sum();
    let offered: u64 = summary.series.intervals().iter().map(|interval| interval.offered).sum();
    let missed = summary.arrivals.due - summary.arrivals.started;
    assert_eq!(
        offered,
        ended + unfinished + missed,
        "{ended} calls ended, {unfinished} did not, {missed} visits waited"
    );
    for scenario in &visits.scenarios {
        let abandoned: u64 = scenario.steps.iter().map(|step| step.abandoned).sum();
        assert_eq!(scenario.abandoned.moments.count(), abandoned, "each was abandoned at a step");
    }
    let count: u64 = visits.scenarios.iter().map(ScenarioVisits::count).sum();
    assert_eq!(count, summary.arrivals.started, "each visit that started has ended or was cut");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_call_and_every_visit_is_accounted_for(
        one in any_steps(),
        other in any_steps(),
        seed in 0..1000_u64,
        is_http2: bool,
        drain: bool,
        arrivals in prop_oneof![
            Just("rate = \"100/s\"\nvisits = 40\n"),
            Just("rate = \"200/s\"\nfor = \"200ms\"\n"),
            Just("rate = \"200/s\"\nfor = \"200ms\"\nmax-open = 3\n"),
        ],
    ) {
        let mut plan = limited(50, 0, workload(&one, &other, seed, arrivals));
        if drain && plan.runtime.is_some() {
            plan.change(|plan| plan.phases = Phases { drain: ms(40), ..Phases::default() });
        }
        let link = Link { seed, latency: ms(1), hostile: true, ..Link::default() };
        if is_http2 {
            plan.change(|plan| plan.request.version = HttpVersion::Http2);
            check_accounts(&run(&plan, link, unreliable_http2(seed)));
        } else {
            check_accounts(&run(&plan, link, unreliable(seed)));
        }
    }
}
