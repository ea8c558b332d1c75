//! The highest rates that this machine offers on schedule, found by doubling and bisecting.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::time::Duration;

use anyhow::Context;
use httperf_engine::Silent;
use httperf_origin::{Config, Handle};
use httperf_plan::{Cap, Connections, Excess, NonEmpty};
use httperf_stats::Summary;
use serde::{Deserialize, Serialize};

use super::lab::{self, Lab, Process};
use super::spread::rounded;

/// A rate is on schedule as long as 99 % of its arrivals are less late than this.
pub(super) const LAG_BOUND: Duration = Duration::from_millis(1);

/// A rate is offered if at least this share of it is answered within the trial.
const ACHIEVED_SHARE: f64 = 0.9;

/// A processor that is used this much is what limits.
const BUSY_SHARE: f64 = 0.9;

/// A generator that was kept waiting this much was disturbed by others.
const WAITING_SHARE: f64 = 0.02;

/// Calls on each connection where requests are counted, so that connections hardly count.
pub(super) const CALLS_PER_CONNECTION: u64 = 100;

/// Connections open at once in a trial: those of a server that cannot keep up must not use up the machine.
const OPEN_MAX: NonZeroU32 = NonZeroU32::new(2000).expect("it is not 0");

/// The unit that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Connections, with one request each.
    Connections,
    /// Requests, on connections that are kept.
    Requests,
}

impl Unit {
    fn calls(self) -> u64 {
        match self {
            Self::Connections => 1,
            Self::Requests => CALLS_PER_CONNECTION,
        }
    }

    /// Returns the search for its highest rate.
    pub(super) fn search(self, effort: Effort) -> Search {
        match self {
            Self::Connections => Search { start: 2_000.0, least: 125.0, most: 256_000.0, effort },
            Self::Requests => Search { start: 16_000.0, least: 1_000.0, most: 2_048_000.0, effort },
        }
    }
}

/// The highest rate of a unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Highest {
    /// In a second: what was answered in the best trial; 0 if none was on schedule.
    pub(super) per_second: f64,
    /// The bottleneck that keeps it from being higher.
    pub(super) limited_by: Bottleneck,
    /// The p99 of the lag in the best trial.
    pub(super) lag_p99_us: Option<f64>,
    /// The share of its processor that the generator used in the best trial.
    pub(super) generator_cpu: f64,
    /// The share of theirs that all other threads used in it: the servers', above all.
    pub(super) server_cpu: f64,
    /// The number of trials that it took.
    pub(super) trials: u32,
}

/// The bottleneck of a rate, by the best trial or the one beyond it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Bottleneck {
    /// The generator's processor.
    Generator,
    /// The servers' processors.
    Server,
    /// Other work, for which the generator was kept waiting.
    OtherWork,
    /// The system woke the generator up too late, although there was processor time to spare.
    Lag,
    /// Connections failed, or too many were open at once.
    Failures,
    /// Replies came too slowly although no processor was busy.
    Replies,
    /// Nothing: the search goes no further.
    Search,
}

/// Finds the highest rate of a unit by trials of this length.
pub(super) fn measure(
    lab: &Lab<'_>,
    unit: Unit,
    search: Search,
    duration: Duration,
    progress: &mut dyn FnMut(f64),
) -> anyhow::Result<Highest> {
    let found = search.highest(|rate| {
        progress(rate);
        trial(lab, unit, rate, duration)
    })?;
    Ok(Highest::of(&found))
}

/// Offers a rate to fresh servers.
fn trial(lab: &Lab<'_>, unit: Unit, rate: f64, duration: Duration) -> anyhow::Result<RateTrial> {
    let count = lab.server_count();
    let config = || Config { size: 100, ..Config::default() };
    let servers: Vec<Handle> = (0..count).map(|_| lab.server(config())).collect::<Result<_, _>>()?;
    let addresses: Vec<SocketAddr> = servers.iter().map(lab::address).collect();
    let addresses = NonEmpty::try_from(addresses).context("a trial without a server measures nothing")?;
    let arrivals = rate / unit.calls() as f64;
    let connections = Connections {
        max_open: Some(Cap {
            connections: OPEN_MAX.min(descriptors_for_connections()),
            excess: Excess::Skipped,
        }),
        ..Connections::new((arrivals * duration.as_secs_f64()).ceil() as u64, unit.calls())
    };
    let offered = connections.count * connections.calls;
    let limit = duration.mul_f64(1.25);
    let arrivals = Process::Deterministic.arrivals(arrivals);
    let plan = lab.plan(&addresses, arrivals, connections, limit);
    let plan = plan.edit(|plan| plan.phases.drain = duration / 8)?;
    let summary = lab.run(&plan, &mut Silent)?;
    for server in servers {
        lab::stopped(server)?;
    }
    Ok(RateTrial::of(&summary, rate, offered, count))
}

/// Both ends of a connection are open files of this process.
fn descriptors_for_connections() -> NonZeroU32 {
    /// For all that is no connection.
    const OTHERS: u64 = 100;
    let limit = httperf_engine::raise_descriptor_limit().saturating_sub(OTHERS) / 2;
    u32::try_from(limit).map_or(NonZeroU32::MAX, |limit| NonZeroU32::new(limit).unwrap_or(NonZeroU32::MIN))
}

/// The outcome of offering a rate.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RateTrial {
    /// In a second.
    rate: f64,
    /// Answered in a second.
    achieved: f64,
    lag_p99: Option<Duration>,
    generator_cpu: f64,
    server_cpu: f64,
    /// The share of the time in which the generator was kept waiting for a processor.
    kept_waiting: f64,
    /// Connections that failed or were not opened.
    failures: u64,
}

impl RateTrial {
    fn of(summary: &Summary, rate: f64, offered: u64, servers: usize) -> Self {
        let seconds = summary.duration.as_secs_f64();
        let per_second = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        let generator: Duration = summary.usage.workers.iter().map(|worker| worker.cpu.total()).sum();
        let others = summary.usage.cpu.total().saturating_sub(generator);
        Self {
            rate,
            // A short trial ends with its last reply; it is not to count for more than what was offered.
            achieved: per_second(summary.replies.min(offered) as f64).min(rate),
            lag_p99: summary.lag.quantile(0.99),
            generator_cpu: per_second(generator.as_secs_f64()),
            server_cpu: per_second(others.as_secs_f64()) / servers as f64,
            kept_waiting: per_second(lab::kept_waiting(summary).as_secs_f64()),
            failures: summary.errors.total()
                + summary.arrivals_skipped
                + summary.arrivals.due.saturating_sub(summary.arrivals.started),
        }
    }

    fn is_late(&self) -> bool {
        self.lag_p99.is_none_or(|lag| lag >= LAG_BOUND)
    }

    /// Returns whether the rate was offered on schedule, and answered.
    fn holds(&self) -> bool {
        !self.is_late() && self.failures == 0 && self.achieved >= ACHIEVED_SHARE * self.rate
    }

    /// The side that has no processor time left, if any.
    fn busy(&self) -> Option<Bottleneck> {
        let busier =
            if self.generator_cpu >= self.server_cpu { Bottleneck::Generator } else { Bottleneck::Server };
        (self.generator_cpu.max(self.server_cpu) >= BUSY_SHARE).then_some(busier)
    }

    /// The reason why it does not hold.
    fn limit(&self) -> Bottleneck {
        if let Some(limit) = self.busy() {
            limit
        } else if self.is_late() {
            if self.kept_waiting >= WAITING_SHARE { Bottleneck::OtherWork } else { Bottleneck::Lag }
        } else if self.failures > 0 {
            Bottleneck::Failures
        } else {
            Bottleneck::Replies
        }
    }
}

/// The range in which the highest rate that holds is searched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    /// The first rate, from which it goes up, or down if that does not hold.
    pub(super) start: f64,
    /// It does not go down beyond this.
    pub(super) least: f64,
    /// It does not go up beyond this.
    pub(super) most: f64,
    pub(super) effort: Effort,
}

/// The effort of the search for the highest rate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    /// The number of times that the range between the highest rate that held and the lowest that did not is halved.
    pub(super) bisections: u32,
    /// The number of attempts before a trial counts as failed, as anything may disturb one. At least 1.
    pub(super) attempts: u32,
}

/// The outcome of a search.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct HighestFound {
    /// The trial of the highest rate that holds.
    best: Option<RateTrial>,
    /// The trial of the lowest that does not.
    beyond: Option<RateTrial>,
    trials: u32,
}

impl Search {
    /// Looks for it. There are at most (the powers of 2 between the ends + 1 + the bisections) · attempts trials.
    pub(super) fn highest<E>(
        self,
        mut trial: impl FnMut(f64) -> Result<RateTrial, E>,
    ) -> Result<HighestFound, E> {
        let Effort { bisections, attempts } = self.effort;
        let mut found = HighestFound { best: None, beyond: None, trials: 0 };
        let mut rate = self.start;
        while found.try_at(rate, attempts, &mut trial)? && rate * 2.0 <= self.most {
            rate *= 2.0;
        }
        while found.best.is_none() && rate / 2.0 >= self.least {
            rate /= 2.0;
            found.try_at(rate, attempts, &mut trial)?;
        }
        for _ in 0..bisections {
            let (Some(best), Some(beyond)) = (&found.best, &found.beyond) else { break };
            let middle = best.rate.midpoint(beyond.rate);
            found.try_at(middle, attempts, &mut trial)?;
        }
        Ok(found)
    }
}

impl HighestFound {
    /// Tries a rate until it holds, or `attempts` times. Returns whether it holds.
    fn try_at<E>(
        &mut self,
        rate: f64,
        attempts: u32,
        trial: &mut impl FnMut(f64) -> Result<RateTrial, E>,
    ) -> Result<bool, E> {
        for attempt in 1..=attempts {
            let outcome = trial(rate)?;
            self.trials += 1;
            if outcome.holds() {
                self.best = Some(outcome);
                return Ok(true);
            }
            if attempt == attempts {
                self.beyond = Some(outcome);
            }
        }
        Ok(false)
    }
}

impl Highest {
    fn of(found: &HighestFound) -> Self {
        let best = found.best.as_ref();
        Self {
            per_second: best.map_or(0.0, |best| rounded(best.achieved)),
            limited_by: match &found.beyond {
                None => Bottleneck::Search,
                // Who is busy already has nothing to add, whatever came on top beyond.
                Some(beyond) => best.and_then(RateTrial::busy).unwrap_or_else(|| beyond.limit()),
            },
            lag_p99_us: best.and_then(|best| best.lag_p99).map(|lag| rounded(lag.as_secs_f64() * 1e6)),
            generator_cpu: best.map_or(0.0, |best| rounded(best.generator_cpu)),
            server_cpu: best.map_or(0.0, |best| rounded(best.server_cpu)),
            trials: found.trials,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use httperf_stats::{CpuTime, ThreadUsage};

    use super::*;

    /// A machine whose generator manages this many per second.
    fn machine(capacity: f64) -> impl Fn(f64) -> RateTrial {
        move |rate| RateTrial {
            rate,
            achieved: rate.min(capacity),
            lag_p99: Some(Duration::from_micros(if rate > capacity { 5_000 } else { 50 })),
            generator_cpu: (rate / capacity).min(1.0),
            server_cpu: 0.5,
            kept_waiting: 0.0,
            failures: 0,
        }
    }

    const SEARCH: Search = Search {
        start: 2_000.0,
        least: 125.0,
        most: 256_000.0,
        effort: Effort { bisections: 5, attempts: 2 },
    };

    fn search(mut trial: impl FnMut(f64) -> RateTrial) -> HighestFound {
        let Ok(found) = SEARCH.highest(|rate| Ok::<_, Infallible>(trial(rate)));
        found
    }

    #[test]
    fn the_highest_rate_is_found_to_a_thirtieth() {
        for capacity in [130.0, 999.0, 2_000.0, 3_700.0, 50_000.0, 255_000.0] {
            let highest = Highest::of(&search(machine(capacity)));
            let share = highest.per_second / capacity;
            assert!((29.0 / 30.0..=1.0).contains(&share), "{highest:?} of {capacity}");
            assert_eq!(highest.limited_by, Bottleneck::Generator, "{capacity}");
            assert!(highest.trials <= 2 * (12 + 5), "{highest:?}");
        }
    }

    #[test]
    fn a_search_that_meets_no_limit_ends_and_says_so() {
        let highest = Highest::of(&search(machine(1e9)));
        assert_eq!(
            (highest.per_second, highest.limited_by, highest.trials),
            (256_000.0, Bottleneck::Search, 8)
        );
    }

    #[test]
    fn a_machine_on_which_nothing_holds_has_no_capacity() {
        let highest = Highest::of(&search(machine(1.0)));
        assert_eq!((highest.per_second, highest.limited_by), (0.0, Bottleneck::Generator));
        assert_eq!((highest.lag_p99_us, highest.trials), (None, 10));
    }

    #[test]
    fn a_trial_that_something_disturbed_is_made_again() {
        let mut turn = 0;
        let quick = machine(5_000.0);
        let found = search(|rate| {
            turn += 1;
            let disturbed = turn % 2 == 1;
            RateTrial { failures: u64::from(disturbed), ..quick(rate) }
        });
        let highest = Highest::of(&found);
        assert!(highest.per_second > 4_800.0, "{highest:?}");
    }

    #[test]
    fn what_limits_is_told_from_the_trial_beyond() {
        let good = machine(1e9)(1_000.0);
        assert!(good.holds());
        let late = Some(Duration::from_millis(1));
        for (trial, limit) in [
            (
                RateTrial { lag_p99: late, generator_cpu: 0.95, server_cpu: 0.2, ..good.clone() },
                Bottleneck::Generator,
            ),
            (
                RateTrial { achieved: 800.0, generator_cpu: 0.91, server_cpu: 0.99, ..good.clone() },
                Bottleneck::Server,
            ),
            (RateTrial { lag_p99: late, ..good.clone() }, Bottleneck::Lag),
            (RateTrial { lag_p99: late, kept_waiting: 0.05, ..good.clone() }, Bottleneck::OtherWork),
            (RateTrial { lag_p99: None, ..good.clone() }, Bottleneck::Lag),
            (RateTrial { failures: 1, ..good.clone() }, Bottleneck::Failures),
            (RateTrial { achieved: 899.0, ..good.clone() }, Bottleneck::Replies),
        ] {
            assert!(!trial.holds(), "{trial:?}");
            assert_eq!(trial.limit(), limit, "{trial:?}");
        }
    }

    #[test]
    fn whoever_is_busy_in_the_best_trial_is_the_limit() {
        let (best, beyond) = (machine(1_000.0)(950.0), RateTrial { failures: 9, ..machine(1e9)(1_100.0) });
        let found = HighestFound { best: Some(best), beyond: Some(beyond.clone()), trials: 2 };
        assert_eq!(Highest::of(&found).limited_by, Bottleneck::Generator);
        let found = HighestFound { best: Some(machine(1e9)(950.0)), beyond: Some(beyond), trials: 2 };
        assert_eq!(Highest::of(&found).limited_by, Bottleneck::Failures);
    }

    #[test]
    fn a_trial_knows_what_each_side_used() {
        let cpu = |ms| CpuTime { user: Duration::from_millis(ms), system: Duration::ZERO };
        let mut summary =
            Summary { duration: Duration::from_millis(500), replies: 400, ..Summary::default() };
        summary.usage.cpu = cpu(800);
        summary.usage.workers = vec![ThreadUsage {
            cpu: cpu(400),
            kept_waiting: Duration::from_millis(5),
            ..ThreadUsage::default()
        }];
        summary.lag.add(Duration::from_micros(70));
        (summary.arrivals.due, summary.arrivals.started) = (410, 400);
        let trial = RateTrial::of(&summary, 820.0, 410, 2);
        assert_eq!((trial.achieved, trial.failures), (800.0, 10));
        assert_eq!((trial.generator_cpu, trial.server_cpu, trial.kept_waiting), (0.8, 0.4, 0.01));
        assert_eq!(trial.lag_p99, Some(Duration::from_micros(70)));
        assert_eq!(RateTrial::of(&Summary::default(), 820.0, 410, 1).achieved, 0.0);
    }
}
