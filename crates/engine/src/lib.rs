//! Worker, poller, timers, sockets and connections: the execution of a plan.
//!
//! [`run`] drives one [`Worker`] per thread over real sockets. The worker itself only uses the [`Network`] trait, so
//! tests make whole runs on a virtual clock.

mod failure;
mod network;
mod observer;
mod os;
mod secure;
mod stop;
mod worker;

pub use network::{Network, Ready, Received, SentStamp};
pub use observer::{Observation, Observer, Silent, StepSeen};
pub use os::{OsNetwork, SocketError, raise_descriptor_limit, rehearse, try_sources};
pub use secure::{TlsError, tls_context};
pub use stop::StopRequest;
pub use worker::{RecordedRequests, Worker};

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use httperf_plan::{Plan, Shard};
use httperf_stats::{Instant, Summary};
use thiserror::Error;

/// The reason why a run could not be carried out. Failures of the server are counted instead.
#[derive(Debug, Error)]
pub enum Error {
    /// The poller could not be set up.
    #[error("cannot set up the event loop")]
    Setup(#[source] io::Error),
    /// A thread could not be started, or pinned to its processor.
    #[error("cannot start a thread for each worker")]
    Thread(#[source] io::Error),
    /// The TLS settings of the plan cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The recording of a replay cannot be read.
    #[error("cannot read the recording again")]
    Recording(#[source] io::Error),
    /// Waiting for events failed.
    #[error("cannot wait for events")]
    Wait(#[source] io::Error),
}

/// Carries out a plan over real sockets and returns the merged measurements of all workers.
///
/// There is one worker for each observer. If the plan sets a number of threads, each worker has a thread of its own,
/// pinned to a processor. Workers share nothing while they run. The run ends with its workload, after the plan's
/// `runtime` and drain, or when `stop` is requested; open connections are then abandoned.
///
/// # Errors
/// If an event loop or a thread cannot be set up or fails. The other workers then end too.
///
/// # Panics
/// If there is no observer. If a worker panics, its panic is resumed once the others have ended.
pub fn run(
    plan: &Plan,
    observers: &mut [&mut (dyn Observer + Send)],
    stop: &StopRequest,
) -> Result<Summary, Error> {
    run_recorded(plan, None, observers, stop)
}

/// A recording whose requests a replay makes.
pub trait Recording: Sync {
    /// Opens the recording for a shard, which then reads it at its own pace.
    ///
    /// # Errors
    /// If it cannot be opened.
    fn requests(&self, shard: Shard) -> io::Result<RecordedRequests>;
}

/// Carries out a plan as [`run`] does, with the recording that its workload replays, if it is a replay.
///
/// # Errors
/// As [`run`], and if the recording cannot be opened.
///
/// # Panics
/// As [`run`].
pub fn run_recorded(
    plan: &Plan,
    recording: Option<&dyn Recording>,
    observers: &mut [&mut (dyn Observer + Send)],
    stop: &StopRequest,
) -> Result<Summary, Error> {
    let work = Work { plan, recording, stop };
    let count = u32::try_from(observers.len()).expect("there are fewer threads than that");
    if let [observer] = observers
        && plan.threads.is_none()
    {
        let mut worker = work.worker(Shard::WHOLE, *observer)?;
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
                let thread = std::thread::Builder::new()
                    .name(format!("worker {index}"))
                    .spawn_scoped(scope, move || work.run_shard(shard, *observer, starting));
                if thread.is_err() {
                    starting.give_up(stop);
                }
                thread
            })
            .collect();
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
            _ => whole.merge_worker(&shard, plan.recording.slowest as usize),
        }
    }
    Ok(whole)
}

/// The time from the readiness of the last worker to the start of all.
const START_DELAY: Duration = Duration::from_micros(200);

/// The agreement of the workers to start at the same instant, or not at all.
struct Starting {
    state: Mutex<StartingState>,
    changed: Condvar,
}

struct StartingState {
    /// The number of workers that are not ready yet.
    awaited: usize,
    /// The start, once all are ready.
    start: Option<Instant>,
    /// True if a worker cannot start.
    is_given_up: bool,
}

impl Starting {
    fn new(workers: usize) -> Self {
        let state = StartingState { awaited: workers, start: None, is_given_up: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Waits for the others and returns the start of the run; `None` if one of them cannot start.
    fn agree(&self, now: impl FnOnce() -> Instant) -> Option<Instant> {
        let mut state = self.state();
        state.awaited -= 1;
        if state.awaited == 0 {
            state.start = Some(now() + START_DELAY);
            self.changed.notify_all();
        }
        let waits = |state: &mut StartingState| state.start.is_none() && !state.is_given_up;
        let state = self.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
        state.start.filter(|_| !state.is_given_up)
    }

    /// Stops the other workers when one cannot start or continue: alone they would offer only a part of the load.
    fn give_up(&self, stop: &StopRequest) {
        self.state().is_given_up = true;
        self.changed.notify_all();
        stop.ask();
    }

    fn state(&self) -> MutexGuard<'_, StartingState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Stops the other workers if this one panics.
struct EndsOthers<'a>(&'a Starting, &'a StopRequest);

impl Drop for EndsOthers<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.give_up(self.1);
        }
    }
}

/// What all workers of a run carry out.
#[derive(Clone, Copy)]
struct Work<'a> {
    plan: &'a Plan,
    recording: Option<&'a dyn Recording>,
    stop: &'a StopRequest,
}

impl<'a> Work<'a> {
    fn run_shard(
        self,
        shard: Shard,
        observer: &mut dyn Observer,
        starting: &Starting,
    ) -> Result<Summary, Error> {
        let _others = EndsOthers(starting, self.stop);
        let outcome = self.carry_out(shard, &mut *observer, starting);
        if outcome.is_err() {
            starting.give_up(self.stop);
        }
        observer.ended();
        outcome
    }

    /// Carries out a shard on a thread of its own. Returns an empty summary if another worker cannot start, which then
    /// reports the error.
    fn carry_out(
        self,
        shard: Shard,
        observer: &mut dyn Observer,
        starting: &Starting,
    ) -> Result<Summary, Error> {
        os::pin(shard.index).map_err(Error::Thread)?;
        let mut worker = self.worker(shard, observer)?;
        worker.prepare().map_err(Error::Wait)?;
        let Some(start) = starting.agree(os::now) else { return Ok(Summary::default()) };
        worker.start_at(start);
        worker.run().map_err(Error::Wait)
    }

    fn worker(
        self,
        shard: Shard,
        observer: &'a mut (dyn Observer + '_),
    ) -> Result<Worker<'a, OsNetwork>, Error> {
        let Self { plan, recording, stop } = self;
        let context = plan.tls.as_ref().map(tls_context).transpose()?;
        let network = OsNetwork::new(plan, stop).map_err(Error::Setup)?;
        let mut worker = Worker::new(plan, shard, context, network, observer);
        if let Some(recording) = recording {
            worker.replay(recording.requests(shard).map_err(Error::Recording)?);
        }
        Ok(worker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agreed(starting: &Starting) -> Option<Instant> {
        starting.agree(|| Instant::from_nanos(1_000_000))
    }

    #[test]
    fn workers_start_at_the_same_instant_when_the_last_is_ready() {
        let starting = Starting::new(3);
        let starts: Vec<Option<Instant>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| agreed(&starting))).collect();
            threads.into_iter().map(|thread| thread.join().expect("it does not panic")).collect()
        });
        assert_eq!(starts, [Some(Instant::from_nanos(1_000_000) + START_DELAY); 3]);
    }

    #[test]
    fn when_some_cannot_start_none_does_and_none_waits() {
        let (starting, stop) = (Starting::new(4), StopRequest::new().expect("a descriptor is free"));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| agreed(&starting));
            starting.give_up(&stop);
            starting.give_up(&stop);
            assert_eq!(agreed(&starting), None);
            assert_eq!(waiting.join().expect("it does not panic"), None);
        });
        assert!(stop.is_asked());
    }
}
