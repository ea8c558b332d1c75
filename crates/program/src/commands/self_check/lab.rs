//! The place of the measurements: the processors, the servers, and the plan that all runs start from.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context as _, bail};
use httperf_engine::{Observer, Part};
use httperf_origin::{Config, Counts, Handle};
use httperf_plan::{Arrivals, Connections, Endpoint, NonEmpty, Phases, Plan, Target, Workload};
use httperf_stats::Summary;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;

use super::capture::{Capture, Wanted};
use crate::runner::Runner;

/// The most servers that share the load of a capacity trial, where there are processors for them.
const SERVERS_MAX: usize = 4;

/// A call that takes longer has failed.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Load that is offered before it is measured.
pub(super) const WARM_UP: Duration = Duration::from_millis(100);

/// The place of the measurements. The thread that makes it is the generator's, on a processor of its own if there are
/// two.
#[derive(Debug)]
pub(super) struct Lab<'a> {
    base: Plan,
    runner: &'a Runner,
    processors: Option<Processors>,
    server_count: usize,
    /// The reason why packets cannot be captured, once it is known.
    pub(super) capture_refused: RefCell<Option<String>>,
    /// The length of all runs, and the part of it for which the generator waited for a processor.
    ran: Cell<Duration>,
    kept_waiting: Cell<Duration>,
}

/// The spacing of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Process {
    Deterministic,
    Poisson,
}

impl Process {
    pub(super) const ALL: [Self; 2] = [Self::Deterministic, Self::Poisson];

    /// Arrivals at this rate per second.
    pub(super) fn arrivals(self, rate: f64) -> Arrivals {
        match self {
            Self::Deterministic => Arrivals::Deterministic { period: 1.0 / rate },
            Self::Poisson => Arrivals::Exponential { mean: 1.0 / rate },
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Deterministic => "deterministic",
            Self::Poisson => "Poisson",
        }
    }
}

impl<'a> Lab<'a> {
    /// `base`: the plan of a run without options.
    pub(super) fn new(base: Plan, runner: &'a Runner) -> Self {
        let processors = Processors::split();
        let server_count = processors.as_ref().map_or(1, |processors| processors.server_count);
        Self {
            base,
            runner,
            processors,
            server_count,
            capture_refused: RefCell::default(),
            ran: Cell::default(),
            kept_waiting: Cell::default(),
        }
    }

    /// Returns whether the generator has a processor to itself.
    pub(super) fn is_split(&self) -> bool {
        self.processors.is_some()
    }

    /// The number of servers that share the load of a capacity trial.
    pub(super) fn server_count(&self) -> usize {
        self.server_count
    }

    /// Starts a server on this machine.
    pub(super) fn server(&self, config: Config) -> anyhow::Result<Handle> {
        self.aside(|| httperf_origin::spawn(config)).context("cannot start a server")
    }

    /// Starts to capture packets of a server, unless that is not permitted.
    pub(super) fn capture(&self, wanted: Wanted) -> Option<Capture> {
        if self.capture_refused.borrow().is_some() {
            return None;
        }
        match self.aside(|| Capture::start(wanted)) {
            Ok(capture) => Some(capture),
            Err(error) => {
                self.capture_refused.replace(Some(format!("packets cannot be captured here: {error}")));
                None
            }
        }
    }

    /// A plan for arrivals that are one connection each, with `calls` calls one after the other.
    ///
    /// Connections are closed with a reset: in order they would leave their local ports waiting for a minute, and soon
    /// there would be none.
    pub(super) fn plan(
        &self,
        servers: &NonEmpty<SocketAddr>,
        arrivals: Arrivals,
        connections: Connections,
        limit: Duration,
    ) -> Plan {
        let target =
            |&address: &SocketAddr| Target::direct(address.to_string(), None, Endpoint::Tcp(address));
        let plan = self.base.clone().edit(|plan| {
            plan.targets = servers.map(target);
            plan.arrivals = arrivals;
            plan.workload = Workload::Connections(connections);
            plan.timeouts.timeout = Some(TIMEOUT);
            plan.sockets.close_with_reset = true;
            plan.runtime = Some(limit);
            plan.phases = Phases { warmup: Duration::ZERO, drain: limit.min(Duration::from_secs(1)) };
        });
        plan.expect("the arrivals and connections of a test can be")
    }

    /// Carries out a plan on this thread.
    ///
    /// # Errors
    /// Also when it is asked to stop: then nothing that was measured counts.
    pub(super) fn run(&self, plan: &Plan, observer: &mut (dyn Observer + Send)) -> anyhow::Result<Summary> {
        let summary = self.runner.observe(Part::whole(plan, None), &mut [observer])?;
        if self.runner.is_interrupted() {
            bail!("interrupted, so there is nothing to report");
        }
        self.ran.set(self.ran.get() + summary.duration);
        self.kept_waiting.set(self.kept_waiting.get() + kept_waiting(&summary));
        Ok(summary)
    }

    /// The share of all runs so far in which the generator was kept waiting for a processor: by other work, if it has
    /// one to itself.
    pub(super) fn kept_waiting_share(&self) -> f64 {
        if self.ran.get().is_zero() { 0.0 } else { self.kept_waiting.get().div_duration_f64(self.ran.get()) }
    }

    /// Does something on the processors that the generator leaves alone. Threads that it starts stay there.
    fn aside<T>(&self, start: impl FnOnce() -> T) -> T {
        let Some(processors) = &self.processors else { return start() };
        move_to(&processors.servers);
        let started = start();
        move_to(&processors.generator);
        started
    }
}

impl Drop for Lab<'_> {
    fn drop(&mut self) {
        if let Some(processors) = &self.processors {
            move_to(&processors.all);
        }
    }
}

/// The time for which the generator was kept waiting for a processor.
pub(super) fn kept_waiting(summary: &Summary) -> Duration {
    summary.usage.workers.iter().map(|worker| worker.kept_waiting).sum()
}

/// The processors of generator and servers.
#[derive(Debug)]
struct Processors {
    all: CpuSet,
    /// One, to which this thread has moved.
    generator: CpuSet,
    /// The others.
    servers: CpuSet,
    server_count: usize,
}

impl Processors {
    /// The last processor for the generator (the first tends to serve interrupts), the others for servers. `None` where
    /// that cannot be done.
    fn split() -> Option<Self> {
        let all = sched_getaffinity(None).ok()?;
        let last = (0..CpuSet::MAX_CPU).rfind(|&processor| all.is_set(processor))?;
        let (mut generator, mut servers) = (CpuSet::new(), all);
        generator.set(last);
        servers.unset(last);
        let others = servers.count() as usize;
        if others == 0 || sched_setaffinity(None, &generator).is_err() {
            return None;
        }
        Some(Self { all, generator, servers, server_count: others.min(SERVERS_MAX) })
    }
}

/// Moves this thread. It was allowed to be there before, so that a refusal is not expected and does no more harm than
/// figures that vary.
fn move_to(processors: &CpuSet) {
    let _: rustix::io::Result<()> = sched_setaffinity(None, processors);
}

/// The address of a server.
pub(super) fn address(server: &Handle) -> SocketAddr {
    server.tcp_address().expect("the servers listen on loopback ports")
}

/// Stops a server and says what it did.
pub(super) fn stopped(server: Handle) -> anyhow::Result<Counts> {
    server.stop().context("the server failed")
}
