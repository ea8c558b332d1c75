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

pub use network::{Arrived, Network, Ready, Received, SentStamp};
pub use observer::{Observation, Observer, Silent, StepSeen};
pub use os::{
    DATAGRAM_BUFFER, OsNetwork, SocketError, met_itself, raise_descriptor_limit, rehearse, try_sources,
};
pub use secure::{Security, TlsError, quic_context, security, tls_context};
pub use stop::StopRequest;
pub use worker::{RecordedRequests, Worker};

use std::io;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use httperf_plan::{Plan, Shard, Shards};
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
    /// The processes that carry out the run together have not agreed on a start.
    #[error("the run was not started")]
    NotStarted,
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
    run_part(Part::whole(plan, None), observers, stop)
}

/// A recording whose requests a replay makes.
pub trait Recording: Sync {
    /// Opens the recording for a shard, which then reads it at its own pace.
    ///
    /// # Errors
    /// If it cannot be opened.
    fn requests(&self, shard: Shard) -> io::Result<RecordedRequests>;
}

/// The agreement on the start of a run, for which several processes may wait for each other.
pub trait Agreement: Sync {
    /// Returns the start of the run, on the clock of [`monotonic_now`]. Is asked when all workers of this process are
    /// ready, and may wait, but not beyond a request to stop. `None` if the run is not to start.
    fn start(&self, stop: &StopRequest) -> Option<Instant>;
}

/// The part of a run that this process carries out.
#[derive(Clone, Copy)]
pub struct Part<'a> {
    /// The plan of the whole run.
    pub plan: &'a Plan,
    /// The recording that its workload replays, if it is a replay.
    pub recording: Option<&'a dyn Recording>,
    /// The shards of this process; `None` for all.
    pub shards: Option<Shards>,
    /// The first of the processors to which its threads are pinned, counted among those that it may use. Processes on
    /// one machine need different ones.
    pub first_processor: u32,
    /// The agreement with the processes that carry out the other parts; `None` if there are none.
    pub agreement: Option<&'a dyn Agreement>,
}

impl std::fmt::Debug for Part<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Part").field("shards", &self.shards).finish_non_exhaustive()
    }
}

impl<'a> Part<'a> {
    /// A run that this process carries out alone.
    #[must_use]
    pub fn whole(plan: &'a Plan, recording: Option<&'a dyn Recording>) -> Self {
        Self { plan, recording, shards: None, first_processor: 0, agreement: None }
    }

    fn shards(&self) -> Shards {
        self.shards.unwrap_or_else(|| Shards::all(self.plan.workers()))
    }
}

/// Carries out a part of a run as [`run`] does a whole one.
///
/// # Errors
/// As [`run`], if the recording cannot be opened, and if the processes did not agree on a start.
///
/// # Panics
/// As [`run`], and if there is another number of observers than of shards.
pub fn run_part(
    part: Part<'_>,
    observers: &mut [&mut (dyn Observer + Send)],
    stop: &StopRequest,
) -> Result<Summary, Error> {
    let work = Work { part, stop };
    let shards = part.shards();
    assert_eq!(observers.len(), shards.count().get() as usize, "somebody has to do the work");
    if let [observer] = observers
        && part.plan.threads.is_none()
        && part.agreement.is_none()
    {
        let mut worker = work.worker(Shard::WHOLE, *observer)?;
        worker.prepare().map_err(Error::Wait)?;
        return worker.run().map_err(Error::Wait);
    }
    let starting = Starting::new(observers.len());
    let outcomes: Vec<Result<Summary, Error>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..shards.count().get())
            .zip(observers)
            .map(|(index, observer)| {
                let starting = &starting;
                let thread = std::thread::Builder::new()
                    .name(format!("worker {index}"))
                    .spawn_scoped(scope, move || work.run_shard(index, *observer, starting));
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
    let mut whole: Option<Summary> = None;
    for outcome in outcomes {
        let shard = outcome?;
        match &mut whole {
            None => whole = Some(shard),
            Some(whole) => whole.merge_worker(&shard, part.plan.recording.slowest as usize),
        }
    }
    match whole {
        Some(whole) if starting.has_started() => Ok(whole),
        _ => Err(Error::NotStarted),
    }
}

/// Returns the time on the clock of the loop, `CLOCK_MONOTONIC` (clock_gettime(2)).
#[must_use]
pub fn monotonic_now() -> Instant {
    os::now()
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

    /// Waits for the others and returns the start of the run, which the last to be ready finds with `start`; `None` if one
    /// of them cannot start.
    fn agree(&self, start: impl FnOnce() -> Option<Instant>) -> Option<Instant> {
        let mut state = self.state();
        state.awaited -= 1;
        if state.awaited == 0 && !state.is_given_up {
            // All others wait below, so nobody needs the lock.
            state.start = start();
            state.is_given_up |= state.start.is_none();
            self.changed.notify_all();
        }
        let waits = |state: &mut StartingState| state.start.is_none() && !state.is_given_up;
        let state = self.changed.wait_while(state, waits).unwrap_or_else(PoisonError::into_inner);
        state.start.filter(|_| !state.is_given_up)
    }

    /// Returns whether all have agreed on a start.
    fn has_started(&self) -> bool {
        self.state().start.is_some()
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

/// What all workers of this process carry out.
#[derive(Clone, Copy)]
struct Work<'a> {
    part: Part<'a>,
    stop: &'a StopRequest,
}

impl<'a> Work<'a> {
    /// Carries out the shard of a thread and stops the others if that fails. `index`: the number of the thread.
    fn run_shard(
        self,
        index: u32,
        observer: &mut dyn Observer,
        starting: &Starting,
    ) -> Result<Summary, Error> {
        let _others = EndsOthers(starting, self.stop);
        let outcome = self.carry_out(index, &mut *observer, starting);
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
        index: u32,
        observer: &mut dyn Observer,
        starting: &Starting,
    ) -> Result<Summary, Error> {
        os::pin(self.part.first_processor.wrapping_add(index)).map_err(Error::Thread)?;
        let mut worker = self.worker(self.part.shards().nth(index), observer)?;
        worker.prepare().map_err(Error::Wait)?;
        let agreed = || match self.part.agreement {
            Some(agreement) => agreement.start(self.stop),
            None => Some(os::now() + START_DELAY),
        };
        let Some(start) = starting.agree(agreed) else { return Ok(Summary::default()) };
        worker.start_at(start);
        worker.run().map_err(Error::Wait)
    }

    fn worker(
        self,
        shard: Shard,
        observer: &'a mut (dyn Observer + '_),
    ) -> Result<Worker<'a, OsNetwork>, Error> {
        let Self { part: Part { plan, recording, .. }, stop } = self;
        let context = security(plan)?;
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
        starting.agree(|| Some(Instant::from_nanos(1_000_000) + START_DELAY))
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
    fn without_an_agreement_none_starts() {
        let starting = Starting::new(2);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| starting.agree(|| None));
            assert_eq!(starting.agree(|| None), None);
            assert_eq!(waiting.join().expect("it does not panic"), None);
        });
        assert!(!starting.has_started());
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
