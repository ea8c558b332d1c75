//! Worker, poller, timers, sockets and connections: the part that does the work of a run.
//!
//! [`run`] drives one [`Worker`] over real sockets. The worker itself knows only the [`Network`] trait, so
//! tests drive whole runs on a virtual clock.

mod deadlines;
mod failure;
mod network;
mod observer;
mod os;
mod secure;
mod stop;
mod worker;

pub use network::{Network, Ready};
pub use observer::{Observation, Observer, Silent};
pub use os::{OsNetwork, raise_descriptor_limit};
pub use secure::{TlsError, tls_context};
pub use stop::Stop;
pub use worker::Worker;

use std::io;

use httperf_plan::Plan;
use httperf_stats::Summary;
use thiserror::Error;

/// Why a run could not be carried out. What a server does is never among it: that is counted.
#[derive(Debug, Error)]
pub enum Error {
    /// The poller could not be set up.
    #[error("cannot set up the event loop (Linux 5.11 or later is needed)")]
    Setup(#[source] io::Error),
    /// Connections cannot be secured as the plan says.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Waiting for events failed.
    #[error("cannot wait for events")]
    Wait(#[source] io::Error),
}

/// Carries out a plan over real sockets and returns what it measured.
///
/// The run ends with its workload, with the plan's `runtime` and drain, or when `stop` is asked for; what is open then
/// is abandoned.
///
/// # Errors
/// When the event loop cannot be set up or breaks.
pub fn run(plan: &Plan, observer: &mut dyn Observer, stop: &Stop) -> Result<Summary, Error> {
    let context = plan.tls.as_ref().map(tls_context).transpose()?;
    let network = OsNetwork::new(plan, stop).map_err(Error::Setup)?;
    Worker::new(plan, context, network, observer).run().map_err(Error::Wait)
}
