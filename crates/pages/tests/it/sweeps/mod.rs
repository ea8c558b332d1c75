//! Sweeps for tests: simulated runs at several rates against a server with a limited capacity.

#![allow(dead_code, reason = "each test file uses some of them")]

use std::sync::LazyLock;
use std::time::Duration;

use httperf_plan::{Arrivals, Plan, PlanFields};
use httperf_report::result::Document;
use httperf_report::sweep::{End, Recovery, Run, Sweep, SweepSettings};
use httperf_report::{Finding, Level, Reason};
use httperf_testkit::sim::{Action, Edit, HttpPeer, Link, connections, reply, run};

use crate::documents;

/// Replies per second that the server can send.
pub(crate) const CAPACITY: f64 = 50.0;

/// Longest wait; later requests are answered 503.
const PATIENCE: Duration = Duration::from_millis(400);

/// Length of a run in seconds.
const RUNTIME: u64 = 12;

/// Rates up to and beyond the capacity.
pub(crate) const RATES: [f64; 8] = [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0];

/// A sweep of a saturated server, with two runs at each rate.
pub(crate) fn saturating() -> Sweep {
    static MADE: LazyLock<Sweep> = LazyLock::new(|| sweep(&RATES, 2, |_| {}));
    MADE.clone()
}

/// The same with one run each, limited by the generator at the last rate.
pub(crate) fn limited_by_the_generator() -> Sweep {
    let mut sweep = sweep(&RATES, 1, |_| {});
    let verdict = &mut sweep.runs.last_mut().expect("there are runs").result.verdict;
    verdict.level = Level::Invalid;
    verdict.reasons = vec![Reason { level: Level::Invalid, finding: Finding::ClientCpu { share: 0.99 } }];
    recomputed(sweep)
}

/// A sweep of a server with a hostile name, on a hostile machine.
pub(crate) fn hostile() -> Sweep {
    let mut sweep = sweep(&RATES[..3], 1, |plan| plan.targets[0].host = documents::HOSTILE[0].to_owned());
    let part = &mut sweep.runs[0].result.parts[0];
    part.command = documents::HOSTILE.map(str::to_owned).into();
    part.machine.host = documents::HOSTILE[1].to_owned();
    part.started = documents::HOSTILE[2].to_owned();
    sweep
}

/// A sweep without runs.
pub(crate) fn empty() -> Sweep {
    sweep(&[], 1, |_| {})
}

pub(crate) fn one_run() -> Sweep {
    sweep(&[10.0], 1, |_| {})
}

fn sweep(rates: &[f64], repeats: u32, change: impl Fn(&mut PlanFields)) -> Sweep {
    of_runs(rates, repeats, plan(1.0, &change), |rate, _| result(rate, &change))
}

/// A sweep of runs that are made at a rate, each with its number at that rate.
pub(crate) fn of_runs(
    rates: &[f64],
    repeats: u32,
    plan: Plan,
    mut run: impl FnMut(f64, u32) -> Document,
) -> Sweep {
    let runs: Vec<Run> = rates
        .iter()
        .flat_map(|&rate| (0..repeats).map(move |repeat| (rate, repeat)))
        .map(|(rate, repeat)| Run::new(rate, repeat, Recovery::default(), run(rate, repeat)))
        .collect();
    let settings = SweepSettings {
        rates: rates.to_vec(),
        repeats,
        shuffled_by: None,
        stop_after: Some(3),
        pause_s: 1.0,
        settle_s: 30.0,
    };
    let end = (!runs.is_empty()).then_some(End::Complete);
    Sweep::of(settings, plan, runs, end)
}

/// Recomputes the figures after runs have been changed.
pub(crate) fn recomputed(sweep: Sweep) -> Sweep {
    Sweep::of(sweep.settings, sweep.plan, sweep.runs, sweep.end)
}

fn plan(rate: f64, change: impl Fn(&mut PlanFields)) -> Plan {
    connections(1_000_000, 1, 1).with(|plan| {
        plan.arrivals = Arrivals::Deterministic { period: 1.0 / rate };
        plan.runtime = Some(Duration::from_secs(RUNTIME));
        change(plan);
    })
}

fn result(rate: f64, change: impl Fn(&mut PlanFields)) -> Document {
    let plan = plan(rate, change);
    let work = Duration::from_secs_f64(1.0 / CAPACITY);
    let mut free_at = Duration::ZERO;
    let peer = HttpPeer::new(move |request| {
        let waits = free_at.saturating_sub(request.at);
        if waits > PATIENCE {
            return vec![Action::Send(Duration::from_millis(1), reply(503, "", "busy"))];
        }
        free_at = request.at + waits + work;
        vec![Action::Send(waits + work, reply(200, "", "ok"))]
    });
    let outcome = run(&plan, Link { latency: Duration::from_micros(200), ..Link::default() }, peer);
    assert!(!outcome.is_endless);
    documents::document(plan, outcome.summary)
}
