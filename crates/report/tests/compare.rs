//! Comparisons of whole runs on the virtual clock: how often they are right, and what they say.

mod documents;

use std::time::Duration;

use httperf_plan::{Arrivals, Client, Phases, Plan, UNLIMITED};
use httperf_report::compare::{Comparison, Named, Overall, Settings, results};
use httperf_report::result::Document;
use httperf_testkit::sim::{Action, HttpPeer, Link, Peer, calls, reply, run};
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

/// A server that serves one request after the other. Its service times are log-normal, 3 ms on average, times a factor.
fn server(seed: u64, slower: f64) -> impl Peer {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut free = Duration::ZERO;
    HttpPeer::new(move |request| {
        let exponent = 0.5 * random.sample::<f64, _>(StandardNormal) - 0.125;
        let service = Duration::from_secs_f64(0.003 * slower * exponent.exp());
        free = free.max(request.at) + service;
        vec![Action::Send(free - request.at, reply(200, "", "hello"))]
    })
}

/// Half a minute at a hundred calls a second, at random.
fn plan(seed: u64) -> Plan {
    let index = u32::try_from(seed).expect("there are few");
    Plan {
        arrivals: Arrivals::Exponential { mean: 0.01 },
        runtime: Some(Duration::from_secs(30)),
        phases: Phases { warmup: Duration::from_secs(1), drain: Duration::from_secs(1) },
        // So that its arrivals are not those of all others.
        client: Client { index, count: 10_000 },
        ..calls(UNLIMITED, 100.0, 200)
    }
}

fn measured(seed: u64, slower: f64) -> Document {
    let plan = plan(seed);
    let summary = run(&plan, Link { seed, ..Link::default() }, server(seed, slower)).summary;
    Document::new(documents::part(), plan, summary)
}

fn compared(base: &Document, new: &Document) -> Comparison {
    let named = |name, document| Named { name, document };
    results(named("base.json", base), &[named("new.json", new)], &Settings::default())
}

fn verdicts(pairs: std::ops::Range<u64>, slower: f64) -> Vec<Overall> {
    let verdict = |pair: u64| {
        let comparison = compared(&measured(2 * pair, 1.0), &measured(2 * pair + 1, slower));
        comparison.against[0].verdict
    };
    pairs.map(verdict).collect()
}

#[test]
fn of_200_pairs_that_do_not_differ_at_most_5_percent_are_found_to() {
    let verdicts = verdicts(0..200, 1.0);
    let flagged = verdicts.iter().filter(|verdict| **verdict != Overall::NoDifferenceShown).count();
    println!("{flagged} of 200 pairs that do not differ are found to");
    assert!(flagged <= 10, "{flagged}: {verdicts:?}");
}

#[test]
fn of_50_servers_that_are_a_tenth_slower_at_least_95_percent_are_found_to_be_worse() {
    let verdicts = verdicts(200..250, 1.1);
    let found = verdicts.iter().filter(|verdict| **verdict == Overall::Worse).count();
    println!("{found} of 50 servers that are a tenth slower are found to be worse");
    assert!(found >= 48, "{found}: {verdicts:?}");
}
