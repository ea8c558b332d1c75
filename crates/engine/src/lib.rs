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
pub use os::{OsNetwork, SocketError, raise_descriptor_limit, rehearse, try_sources};
pub use secure::{TlsError, tls_context};
pub use stop::Stop;
pub use worker::Worker;

use std::io;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use httperf_plan::{Plan, Shard};
use httperf_stats::{Instant, Summary};
use thiserror::Error;

/// Why a run could not be carried out. What a server does is never among it: that is counted.
#[derive(Debug, Error)]
pub enum Error {
    /// The poller could not be set up.
    #[error("cannot set up the event loop")]
    Setup(#[source] io::Error),
    /// A thread could not be started, or put where it belongs.
    #[error("cannot start a thread for each worker")]
    Thread(#[source] io::Error),
    /// Connections cannot be secured as the plan says.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Waiting for events failed.
    #[error("cannot wait for events")]
    Wait(#[source] io::Error),
}

/// Carries out a plan over real sockets and returns what it measured, all workers together.
///
/// As many workers share the work as there are observers: each tells its own. If the plan says how many threads there are to
/// be, each is a thread of its own, tied to a processor. They share nothing while they run. The run ends with its workload, with the plan's `runtime` and drain, or when
/// `stop` is asked for; what is open then is abandoned.
///
/// # Errors
/// When an event loop or a thread cannot be set up or breaks.
///
/// # Panics
/// If there is no observer.
pub fn run(plan: &Plan, observers: &mut [&mut (dyn Observer + Send)], stop: &Stop) -> Result<Summary, Error> {
    let count = u32::try_from(observers.len()).expect("there are fewer threads than that");
    if let [observer] = observers
        && plan.threads.is_none()
    {
        let mut worker = worker(plan, Shard::WHOLE, *observer, stop)?;
        worker.prepare().map_err(Error::Wait)?;
        return worker.run().map_err(Error::Wait);
    }
    assert!(count > 0, "somebody has to do the work");
    let starting = Starting::new(observers.len());
    let shards: Vec<Result<Summary, Error>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..count)
            .zip(observers)
            .map(|(index, observer)| {
                let (shard, starting) = (Shard { index, count }, &starting);
                std::thread::Builder::new().name(format!("worker {index}")).spawn_scoped(scope, move || {
                    let outcome = run_shard(plan, shard, *observer, stop, starting);
                    if outcome.is_err() {
                        // Without it the others would offer a part of the load.
                        stop.ask();
                    }
                    outcome
                })
            })
            .collect();
        let missing = threads.iter().filter(|thread| thread.is_err()).count();
        (0..missing).for_each(|_| starting.is_given_up());
        threads
            .into_iter()
            .map(|thread| match thread.map_err(Error::Thread)?.join() {
                Ok(outcome) => outcome,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    });
    let mut whole = Summary::default();
    for (index, shard) in shards.into_iter().enumerate() {
        let shard = shard?;
        match index {
            0 => whole = shard,
            _ => whole.merge(&shard, plan.recording.slowest as usize),
        }
    }
    Ok(whole)
}

/// How long after the last worker is ready they all start.
const START_DELAY: Duration = Duration::from_micros(200);

/// Lets the workers start at the same instant.
struct Starting {
    prepared: Barrier,
    agreed: Barrier,
    start: AtomicU64,
    given_up: AtomicBool,
}

impl Starting {
    fn new(workers: usize) -> Self {
        Self {
            prepared: Barrier::new(workers),
            agreed: Barrier::new(workers),
            start: AtomicU64::default(),
            given_up: AtomicBool::default(),
        }
    }

    /// Waits for the others and returns when the run is to start; `None` if one of them cannot.
    fn agree(&self, now: impl FnOnce() -> Instant) -> Option<Instant> {
        if self.prepared.wait().is_leader() {
            self.start.store((now() + START_DELAY).as_nanos(), Ordering::SeqCst);
        }
        self.agreed.wait();
        let start = Instant::from_nanos(self.start.load(Ordering::SeqCst));
        (!self.given_up.load(Ordering::SeqCst)).then_some(start)
    }

    /// In the place of a worker that cannot start.
    fn is_given_up(&self) {
        self.given_up.store(true, Ordering::SeqCst);
        self.agree(Instant::default);
    }
}

fn run_shard(
    plan: &Plan,
    shard: Shard,
    observer: &mut dyn Observer,
    stop: &Stop,
    starting: &Starting,
) -> Result<Summary, Error> {
    let prepared = os::pin(shard.index).map_err(Error::Thread).and_then(|()| {
        let mut worker = worker(plan, shard, observer, stop)?;
        worker.prepare().map_err(Error::Wait)?;
        Ok(worker)
    });
    let mut worker = match prepared {
        Ok(worker) => worker,
        Err(error) => {
            starting.is_given_up();
            return Err(error);
        }
    };
    match starting.agree(os::now) {
        Some(start) => worker.start_at(start),
        // The error is another's.
        None => stop.ask(),
    }
    worker.run().map_err(Error::Wait)
}

fn worker<'p, 'o>(
    plan: &'p Plan,
    shard: Shard,
    observer: &'o mut dyn Observer,
    stop: &Stop,
) -> Result<Worker<'p, 'o, OsNetwork>, Error> {
    let context = plan.tls.as_ref().map(tls_context).transpose()?;
    let network = OsNetwork::new(plan, shard, stop).map_err(Error::Setup)?;
    Ok(Worker::new(plan, shard, context, network, observer))
}
