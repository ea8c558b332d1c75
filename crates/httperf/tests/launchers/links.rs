//! Fleets whose ranks meet over links that are slow and lose packets, with clocks that agree or do not.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use httperf_testkit::skip;
use serde_json::Value;

use crate::support::program::under_test;
use crate::support::running::{find, peer};
use crate::support::words;
use crate::turn;

/// Makes the networks and runs a fleet in them.
const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/launchers/links.py");

/// Arrivals per second; each rank has every fourth.
const RATE: u32 = 100;

/// The most by which starts may differ, in seconds.
const SPREAD_MAX: f64 = 0.005;

/// Runs on a machine that may be busy.
const ATTEMPTS: usize = 3;

#[test]
fn ranks_on_slow_links_start_together() {
    check(0);
}

/// Each rank's clock is 7 ms ahead of the one before.
#[test]
fn ranks_with_other_clocks_start_together() {
    check(7_000_000);
}

#[track_caller]
fn check(shift_ns: u64) {
    let _alone = peer!(turn(true));
    for program in ["python3", "tcpdump", "unshare", "ip"] {
        peer!(find(program));
    }
    let mut spreads = Vec::new();
    for _ in 0..ATTEMPTS {
        let (document, openings) = peer!(run(shift_ns));
        check_clocks(&document);
        let spread = spread(&openings);
        println!("starts of four ranks spread by {:.0} µs", spread * 1e6);
        if spread < SPREAD_MAX {
            return;
        }
        spreads.push((spread, document["verdict"].clone()));
    }
    // Without time for its ranks, a machine says nothing about them, and the run says so itself.
    assert!(spreads.iter().all(|(_, verdict)| verdict["level"] != "VALID"), "{spreads:?}");
    skip::disturbed(&format!("starts spread by {spreads:?} on a busy machine"));
}

/// There is one clock on the wall, so the offsets are zero.
#[track_caller]
fn check_clocks(document: &Value) {
    let ranks = document["fleet"]["ranks"].as_array().expect("a list");
    // The way to rank 0 and back, which has no delay of its own, in milliseconds.
    for (rank, delay_ms) in ranks.iter().zip([0, 1, 5, 20]).skip(1) {
        let number = |name: &str| rank["clock"][name].as_i64().expect("a number");
        assert!(number("offset_ns").abs() <= number("uncertainty_ns"), "{rank}");
        assert!(number("uncertainty_ns") >= delay_ms * 1_000_000, "half of a round trip: {rank}");
        assert!(number("drift_ns").abs() <= 2 * number("uncertainty_ns"), "{rank}");
    }
    assert_eq!(document["summary"]["replies"], 400, "{}", document["summary"]);
}

/// The difference between the ranks' schedules, as the server's side sees them. Single arrivals may be late; the median of a
/// rank tells when it counts its schedule from.
fn spread(openings: &BTreeMap<String, Vec<f64>>) -> f64 {
    let starts: Vec<f64> = openings
        .values()
        .enumerate()
        .map(|(rank, times)| {
            let due = |nth: usize| (rank + 4 * nth) as f64 / f64::from(RATE);
            let mut starts: Vec<f64> = times.iter().enumerate().map(|(nth, time)| time - due(nth)).collect();
            starts.sort_by(f64::total_cmp);
            starts[starts.len() / 2]
        })
        .collect();
    assert_eq!(starts.len(), 4, "all ranks have opened connections: {openings:?}");
    starts.iter().copied().fold(f64::MIN, f64::max) - starts.iter().copied().fold(f64::MAX, f64::min)
}

/// Runs a fleet. Returns its result, and the times at which each rank opened connections; `None`, with a word on stdout, if
/// such networks cannot be made.
#[track_caller]
fn run(shift_ns: u64) -> Option<(Value, BTreeMap<String, Vec<f64>>)> {
    if !Path::new("/dev/net/tun").exists() {
        skip::without("/dev/net/tun");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let result = folder.path().join("r.json");
    let output = Command::new("timeout")
        .args(words(
            "--kill-after 5 120 unshare --mount --net --pid --fork --kill-child --mount-proc python3",
        ))
        .arg(SCRIPT)
        .arg(under_test())
        .arg(folder.path())
        .arg(shift_ns.to_string())
        .args(words(&format!("--rate {RATE} --num-conns 400 --output")))
        .arg(&result)
        .output()
        .expect("timeout can be started");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{errors}");
    let told: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    assert_eq!(told["exits"], serde_json::json!([0, 0, 0, 0]), "{}", told["printed"]);
    let document = std::fs::read(result).expect("it was written");
    let openings = serde_json::from_value(told["syns"].clone()).expect("times by address");
    Some((serde_json::from_slice(&document).expect("it is JSON"), openings))
}
