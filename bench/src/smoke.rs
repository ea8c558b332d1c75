//! Runs every piece briefly, to check that the benches work; makes no claims about speed.

use anyhow::ensure;

use crate::cores::stay_on_one;
use crate::speed::multiplexed;
use crate::tools::Bench;
use crate::{
    accuracy, fleet, http3, instructions, lag, memory, ports, rates, record, scenarios, speed, streams, tls,
};

/// The time of a measurement, which shows that something works and not how quick it is.
const SECONDS: f64 = 0.2;

/// Fails if a piece of the bench does not work. Pieces that are not installed or not permitted are named and
/// skipped.
pub(crate) fn run() -> anyhow::Result<()> {
    // Closed loops would take all of two cores, which other tests have a use for.
    stay_on_one()?;
    let bench = Bench::prepare()?;
    println!("{}", bench.description());

    // Slow enough for any machine that can run the tests at all.
    let rates = rates::Options { rates: vec![200.0], seconds: 0.5, pairs: 1, pair_rate: 200.0 };
    for tool in [Some(&bench.ours), bench.classic.as_ref(), Some(&bench.bare), bench.ab.as_ref()]
        .into_iter()
        .flatten()
    {
        let counts = rates::run(&bench, tool, 200.0, 0.5)?.counts;
        ensure!(counts.replies == 100 && counts.errors == 0, "{tool}: expected 100 replies, got {counts:?}");
    }
    println!("{}", rates::measure_rates(&bench, &rates)?);
    println!("{}", rates::measure_pairs(&bench, &rates)?);

    let lag = lag::Options { rate: 200.0, seconds: 0.5 };
    match lag::syn_times_ns(&bench, &lag, &bench.ours, "")? {
        lag::Capture::Taken(times) => ensure!(times.len() == 100, "expected 100 SYNs, got {}", times.len()),
        lag::Capture::Refused(reason) => println!("lag skipped: no packet capture here ({reason})\n"),
    }
    println!("{}", lag::measure(&bench, &lag)?);

    let held = memory::hold(&bench, 100, 500.0)?;
    ensure!(held.opened == 100 && held.counts.errors == 0, "expected 100 open connections, got {held:?}");
    println!("{}", memory::measure(&bench, &memory::Options { connections: vec![100], rate: 500.0 })?);
    println!("{}", ports::measure(&bench, &ports::Options { total: 200, rate: 500.0 })?);
    let tls = tls::Options { pairs: 1, handshakes: 50, requests: 200, bodies: 2, idle: 50 };
    for table in tls::measure(&bench, &tls)? {
        println!("{table}");
    }
    let record = record::Options { pairs: 1, requests: 2000, growth: (0.5, 1.5), display_seconds: 0.5 };
    for table in record::measure(&bench, &record)? {
        println!("{table}");
    }
    let speed = speed::Options {
        pairs: 1,
        seconds: SECONDS,
        connections: vec![2],
        rate: Some(640.0),
        // Of the closed loops, those that run most of the other programs.
        tables: vec!['b', 'c', 'e', 'g'],
    };
    for table in speed::measure(&bench, &speed)? {
        println!("{table}");
    }
    let http2 = multiplexed::Options {
        pairs: 1,
        seconds: SECONDS,
        shapes: vec![(2, 4)],
        idle: vec![50],
        ..Default::default()
    };
    for table in multiplexed::measure(&bench, &http2)? {
        println!("{table}");
    }
    let http3 = http3::Options {
        pairs: 1,
        seconds: SECONDS,
        shapes: vec![(2, 4)],
        handshakes: 20,
        idle: 50,
        // So that there is a 99th percentile.
        lag_rate: 600,
        ..Default::default()
    };
    for table in http3::measure(&bench, &http3)? {
        println!("{table}");
    }
    for table in accuracy::measure(&bench, &accuracy::Options::smoke())? {
        println!("{table}");
    }
    if bench.ours.makes_scenarios()? {
        let held = scenarios::hold(&bench, 1_000, 1_000)?;
        ensure!(held.is_within_bounds(1_000), "expected 1,000 visits under way in bounds, got {held:?}");
    }
    let scenarios =
        scenarios::Options { rounds: 1, steps: 2_000, seconds: SECONDS, visits: 100, rate: 1_000 };
    for table in scenarios::measure(&bench, &scenarios)? {
        println!("{table}");
    }
    let fleet = fleet::Options { pairs: 1, seconds: 1, rate: 200, sizes: vec![2], documents: 2 };
    for table in fleet::measure(&bench, &fleet)? {
        println!("{table}");
    }
    for table in streams::measure(&bench, &streams::Options::smoke())? {
        println!("{table}");
    }
    match instructions::smoke(&bench)? {
        Some(count) => ensure!(count > 0, "expected calls to take instructions"),
        None => println!("instructions skipped: valgrind is not installed\n"),
    }
    println!("bench smoke: every bench works");
    Ok(())
}
