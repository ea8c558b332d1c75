//! The results of the latest self-check, kept so that later runs can say what share of this machine's capacity they used.

use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use httperf_plan::Plan;
use httperf_stats::Summary;
use serde::Deserialize;

use crate::machine::MachineIdentity;

/// The name of the format of the document.
pub const FORMAT: &str = "httperf-self-check";

/// The version of the shape of the document. Fields may be added within a version; none goes or changes its meaning.
pub const VERSION: u32 = 1;

/// The share of this machine's capacity that a run used, by the latest self-check.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareOfCapacity {
    /// The connections per second of the run, as a share of the most with one request each.
    pub connections: f64,
    /// Its requests per second, as a share of the most on connections that are kept.
    pub requests: f64,
    /// The most connections per second.
    pub connections_most: f64,
    /// The most requests per second.
    pub requests_most: f64,
}

/// Returns the share of this machine's capacity that a run used.
///
/// `None` if that was not measured, or while other work kept the generator waiting, or on another machine, with another
/// version or build of the program or another system, or if it says nothing about the run: capacity is that of
/// connections in the clear, over HTTP/1.
#[must_use]
pub fn share_of_capacity(summary: &Summary, plan: &Plan) -> Option<ShareOfCapacity> {
    let folder = folder(&|name| env::var_os(name))?;
    share(&fs::read_to_string(folder.join(FILE)).ok()?, &MachineIdentity::this(), summary, plan)
}

fn share(stored: &str, machine: &MachineIdentity, summary: &Summary, plan: &Plan) -> Option<ShareOfCapacity> {
    let stored: Stored = serde_json::from_str(stored).ok()?;
    let StoredCapacity { connections, requests } = stored.capacity;
    let seconds = summary.duration.as_secs_f64();
    let is_known = stored.format == FORMAT
        && stored.version == VERSION
        && stored.machine == *machine
        // On a processor that servers share, the generator waits for them.
        && (!stored.processors_split || stored.kept_waiting_share < DISTURBED_SHARE)
        && stored.exceeded.is_empty()
        && connections.per_second > 0.0
        && requests.per_second > 0.0;
    // Nor does it say anything about several threads.
    let is_comparable =
        plan.tls.is_none() && !plan.request.version.may_have_streams() && plan.workers().get() == 1;
    if !is_known || !is_comparable || seconds <= 0.0 {
        return None;
    }
    Some(ShareOfCapacity {
        connections: summary.connections as f64 / seconds / connections.per_second,
        requests: summary.requests as f64 / seconds / requests.per_second,
        connections_most: connections.per_second,
        requests_most: requests.per_second,
    })
}

/// A check in which the generator was kept waiting for so much of the time says more of the other work than of the
/// machine.
const DISTURBED_SHARE: f64 = 0.1;

/// The part of stored results that is read.
#[derive(Debug, Deserialize)]
struct Stored {
    format: String,
    version: u32,
    machine: MachineIdentity,
    processors_split: bool,
    /// Bounds of accuracy that the check was not within.
    exceeded: Vec<String>,
    kept_waiting_share: f64,
    capacity: StoredCapacity,
}

#[derive(Debug, Deserialize)]
struct StoredCapacity {
    connections: StoredRate,
    requests: StoredRate,
}

#[derive(Debug, Deserialize)]
struct StoredRate {
    per_second: f64,
}

/// The name of the file, in the program's folder.
const FILE: &str = "self-check.json";

/// The program's folder among those for the state of programs. `None` if the user has no home.
///
/// <https://specifications.freedesktop.org/basedir-spec/latest/>
fn folder(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    // What is not absolute is to be ignored.
    let path = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = path("XDG_STATE_HOME").or_else(|| Some(path("HOME")?.join(".local/state")))?;
    Some(base.join("httperf"))
}

/// Keeps these results, instead of those before, and says where.
///
/// # Errors
/// The reason why that cannot be done, in a sentence.
pub fn keep(results: &str) -> Result<PathBuf, String> {
    let folder = folder(&|name| env::var_os(name))
        .ok_or("cannot keep the results: neither XDG_STATE_HOME nor HOME is an absolute path")?;
    let file = folder.join(FILE);
    match keep_in(&folder, &file, results) {
        Ok(()) => Ok(file),
        Err(error) => Err(format!("cannot keep the results in {}: {error}", file.display())),
    }
}

/// Writes a file next to it and renames that, so that a reader finds all of the old or all of the new.
fn keep_in(folder: &Path, file: &Path, results: &str) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let beside = folder.join(format!("{FILE}.{}", std::process::id()));
    let written = File::create(&beside)
        .and_then(|mut open| {
            open.write_all(results.as_bytes())?;
            open.sync_all()
        })
        .and_then(|()| fs::rename(&beside, file));
    if written.is_err() {
        // It may not be there at all.
        let _: io::Result<()> = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use httperf_plan::{Connections, Endpoint, HttpVersion, Target, Workload};
    use httperf_testkit::sim::{Edit, at_once, nonzero};

    use super::*;

    fn plan() -> Plan {
        let target = Target::direct("localhost", None, Endpoint::Tcp(([127, 0, 0, 1], 80).into()));
        Plan::builder(target, Workload::Connections(Connections::new(1, 1))).build().unwrap()
    }

    fn machine() -> MachineIdentity {
        let [cpu, kernel, httperf, build] = ["x", "6", "1", "release"].map(str::to_owned);
        MachineIdentity { cpu, processors: 2, kernel, httperf, build }
    }

    fn stored(connections: f64, requests: f64) -> String {
        let highest = |per_second: f64| {
            format!(
                r#"{{"per_second": {per_second}, "limited_by": "server", "lag_p99_us": null, "generator_cpu": 0.5,
                   "server_cpu": 1.0, "trials": 9}}"#
            )
        };
        format!(
            r#"{{"format": "httperf-self-check", "version": 1, "later": [1],
                "machine": {{"cpu": "x", "processors": 2, "kernel": "6", "httperf": "1"}},
                "processors_split": true, "kept_waiting_share": 0.01, "exceeded": [],
                "capacity": {{"connections": {}, "requests": {}, "later": 2}}}}"#,
            highest(connections),
            highest(requests)
        )
    }

    fn summary() -> Summary {
        Summary {
            duration: Duration::from_secs(2),
            connections: 1_000,
            requests: 4_000,
            ..Summary::default()
        }
    }

    #[test]
    fn a_run_is_a_share_of_what_was_stored() {
        let share = share(&stored(10_000.0, 80_000.0), &machine(), &summary(), &plan()).unwrap();
        assert_eq!((share.connections, share.requests), (0.05, 0.025));
        assert_eq!((share.connections_most, share.requests_most), (10_000.0, 80_000.0));
    }

    #[test]
    fn what_does_not_fit_says_nothing() {
        let stored = stored(10_000.0, 80_000.0);
        let other = MachineIdentity { processors: 4, ..machine() };
        assert_eq!(share(&stored, &other, &summary(), &plan()), None, "another machine");
        let other = MachineIdentity { build: "debug".to_owned(), ..machine() };
        assert_eq!(share(&stored, &other, &summary(), &plan()), None, "another build");
        let disturbed = stored.replace("0.01", "0.1");
        assert_eq!(share(&disturbed, &machine(), &summary(), &plan()), None, "other work");
        let alone = disturbed.replace("\"processors_split\": true", "\"processors_split\": false");
        assert!(share(&alone, &machine(), &summary(), &plan()).is_some(), "the work of servers");
        let inexact = stored.replace("\"exceeded\": []", "\"exceeded\": [\"start p99\"]");
        assert_eq!(share(&inexact, &machine(), &summary(), &plan()), None, "not within its bounds");
        let later = stored.replace("\"version\": 1", "\"version\": 2");
        assert_eq!(share(&later, &machine(), &summary(), &plan()), None, "another version");
        assert_eq!(share("{", &machine(), &summary(), &plan()), None, "no document");
        let idle = Summary { duration: Duration::ZERO, ..summary() };
        assert_eq!(share(&stored, &machine(), &idle, &plan()), None, "no time");
        let threads = plan().with(|plan| {
            plan.arrivals = at_once(2);
            plan.workload = Workload::Connections(Connections::new(2, 1));
            plan.threads = Some(nonzero(2));
        });
        assert_eq!(share(&stored, &machine(), &summary(), &threads), None, "several threads");
        let http2 = plan().with(|plan| plan.request.version = HttpVersion::Http2);
        assert_eq!(share(&stored, &machine(), &summary(), &http2), None, "another protocol");
        assert_eq!(share(&self::stored(0.0, 1.0), &machine(), &summary(), &plan()), None, "no capacity");
    }

    #[test]
    fn the_folder_is_the_one_for_state() {
        let with = |state: Option<&str>, home: Option<&str>| {
            folder(&|name| if name == "HOME" { home } else { state }.map(OsString::from))
        };
        assert_eq!(with(Some("/s"), Some("/h")), Some("/s/httperf".into()));
        assert_eq!(with(Some("s"), Some("/h")), Some("/h/.local/state/httperf".into()));
        assert_eq!(with(Some(""), Some("/h")), Some("/h/.local/state/httperf".into()));
        assert_eq!((with(None, None), with(None, Some("h"))), (None, None));
    }

    #[test]
    fn results_are_replaced_as_a_whole_and_nothing_stays_beside_them() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("state/httperf");
        let file = folder.join(FILE);
        for results in ["first", "second"] {
            keep_in(&folder, &file, results).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), results);
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(keep_in(&folder, &file, "third").is_err());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    }
}
