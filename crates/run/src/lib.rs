//! A run on this machine, for those who offer load: the program and the library for tests.
//!
//! * [`resolve`] looks names up.
//! * [`measure`] carries out what nobody watches.
//! * [`Provenance`] says where and when it was: what a result document begins with.
//! * [`machine`] and [`known_capacity`] describe the machine, and what the latest self-check found it to be capable of.

pub mod known_capacity;
pub mod machine;
pub mod resolve;

mod provenance;

use httperf_engine::{Observer, Part, Silent, StopRequest};
use httperf_stats::Summary;

pub use self::provenance::Provenance;

/// Carries out a part of a run that nobody watches, with a worker for each thread of its plan.
///
/// # Errors
/// The reason why the plan cannot be carried out.
pub fn measure(part: Part<'_>, stop: &StopRequest) -> Result<Summary, httperf_engine::Error> {
    let mut silent = vec![Silent; part.plan.workers().get() as usize];
    let mut observers: Vec<&mut (dyn Observer + Send)> = silent.iter_mut().map(|one| one as _).collect();
    httperf_engine::run_part(part, &mut observers, stop)
}
