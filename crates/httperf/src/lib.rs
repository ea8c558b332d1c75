//! Load tests of HTTP servers within Rust's own tests: requests that are due on a schedule, whatever the server does
//! (an open loop), their latency from the instants at which they were due, and a verdict on the measurement itself.
//!
//! ```no_run
//! use httperf::{Load, ms};
//!
//! let load = Load::get("http://127.0.0.1:8080/").rate(500.0).expect_status("2xx").for_secs(2);
//! let report = load.run()?;
//! assert!(report.latency().p99() < ms(20), "{report}");
//! # Ok::<(), httperf::Error>(())
//! ```
//!
//! This is the engine of the program `httperf` without its command line: the same plan, the same bytes on the wire, the
//! same figures, and the same result document ([`Report::json`]), which `httperf report` and `httperf compare` read.
//!
//! # What to know
//! * [`Load::run`] blocks until the load is over and needs no runtime. The server may be a thread of the same process.
//! * The same load gives the same schedule and the same requests each time; [`Load::seed`] gives others.
//! * A call without a usable reply counts as longer than any other, as with `--slo`: a server that fails fast does not look
//!   fast. A reply that says `404 Not Found` is usable unless [`Load::expect_status`] says which ones are right.
//! * Servers in debug builds are slow, and so is the generator: [`Report::verdict`] says when it could not keep its
//!   schedule. This builds everything but your own code with optimization:
//!
//!   ```toml
//!   [profile.dev.package."*"]
//!   opt-level = 2
//!   ```
//! * Leave out the program: `httperf = { version = "1", default-features = false }`.
//! * It runs on Linux. The limit on open files of the process is raised as far as the system allows.
//! * Processor time in a report is that of the process, with a server that is part of it.
//!
//! # Stability
//! This crate follows semantic versioning. Those whose names begin with `httperf-` are its inner parts; their interfaces
//! may change with every version.

mod error;
mod load;
mod report;

use std::time::Duration;

pub use self::error::Error;
pub use self::load::{Load, Protocol};
pub use self::report::{Latency, Report, Times, Verdict};

/// Returns a number of milliseconds as a duration.
#[must_use]
pub const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}
