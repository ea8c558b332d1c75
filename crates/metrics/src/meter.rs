//! The sums of the seconds of a run.

use std::time::Duration;

use httperf_stats::{Errors, Interval, Merge as _, Phase, StreamCounts, VisitCounts};

use crate::Distribution;

/// Phases of a run, in order.
pub const PHASES: [Phase; 3] = [Phase::WarmUp, Phase::Measured, Phase::Drain];

/// Names of verdicts, from the best to the worst.
pub const VERDICTS: [&str; 3] = ["valid", "suspect", "invalid"];

/// The name of a phase in labels.
#[must_use]
pub fn phase_name(phase: Phase) -> &'static str {
    match phase {
        Phase::WarmUp => "warm_up",
        Phase::Measured => "measured",
        Phase::Drain => "drain",
    }
}

/// A run, as labels name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// A name that no other run has.
    pub run: String,
    /// The version of the program.
    pub version: String,
    /// The machine.
    pub host: String,
    /// The number of ranks whose seconds these are.
    pub ranks: u32,
    /// The rank whose seconds alone these are; `None` if they are those of the whole.
    pub rank: Option<u32>,
}

/// What is known of a run at the end of an interval besides the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Now {
    /// Planned arrivals per second; `None` if they are not timed, or are over.
    pub asked_per_s: Option<f64>,
    /// The verdict on what was measured so far: a place in [`VERDICTS`]. `None` before anything was measured.
    pub verdict: Option<usize>,
}

/// The sums of a run so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meter {
    /// The run.
    pub about: About,
    /// Phases that have begun, with their sums.
    pub phases: Vec<(Phase, PhaseTotals)>,
    /// The end of the last interval, since the start.
    pub elapsed: Duration,
    /// Processor time of the workers.
    pub cpu: Duration,
    /// The last interval.
    pub last: Interval,
    /// What was known at its end.
    pub now: Now,
    /// The sums of each rank of a fleet, in order of their numbers; none if this is no fleet.
    pub ranks: Vec<RankTotals>,
    /// True once there was a stream or a WebSocket.
    pub has_streams: bool,
}

/// The sums of a rank of a fleet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankTotals {
    /// Arrivals that have started.
    pub arrivals: u64,
    /// Calls that were due and were made.
    pub offered: u64,
    /// Complete replies.
    pub replies: u64,
    /// Calls that failed.
    pub failed_calls: u64,
    /// Largest lag of an arrival in the last interval that it told of.
    pub lag_max: Duration,
    /// Processor time of its workers.
    pub cpu: Duration,
    /// The end of the last interval that it told of, since the start.
    pub elapsed: Duration,
}

/// The sums of a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseTotals {
    /// Arrivals that have started.
    pub arrivals: u64,
    /// Calls that were due and were made.
    pub offered: u64,
    /// Requests written.
    pub sent: u64,
    /// Complete replies.
    pub replies: u64,
    /// Complete replies with status 400 or above.
    pub http_errors: u64,
    /// Complete replies that failed a check.
    pub unexpected: u64,
    /// Calls that failed.
    pub failed_calls: u64,
    /// Failed connections by class.
    pub errors: Errors,
    /// Visits that have ended; `None` without scenarios.
    pub visits: Option<VisitCounts>,
    /// Streams and WebSockets.
    pub streams: StreamTotals,
    /// Latencies: from the instant at which a call was due.
    pub latency: Distribution,
    /// Service times: from the first byte sent.
    pub service: Distribution,
    /// Lags: from the instant at which an arrival was due to its start.
    pub lag: Distribution,
}

/// The sums of the streams and WebSockets of a phase.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StreamTotals {
    /// Events of streams, and messages that came on WebSockets.
    pub events: u64,
    /// Events with content of language models' answers.
    pub tokens: u64,
    /// Messages sent on WebSockets.
    pub sent: u64,
    /// Times from the instants at which calls were due to the first events of their streams, with language models to the
    /// first tokens.
    pub first: Distribution,
}

impl Meter {
    /// A meter of a run that has not begun.
    #[must_use]
    pub fn new(about: About) -> Self {
        Self { about, ..Self::default() }
    }

    /// Adds an interval that has ended.
    pub fn add(&mut self, interval: &Interval, now: Now) {
        if self.phases.last().is_none_or(|(phase, _)| *phase < interval.phase) {
            self.phases.push((interval.phase, PhaseTotals::default()));
        }
        let known = self.phases.iter_mut().rev().find(|(phase, _)| *phase == interval.phase);
        if let Some((_, totals)) = known {
            totals.add(interval);
        }
        self.elapsed = self.elapsed.max(interval.end());
        self.cpu += interval.clocks.as_ref().map_or(Duration::ZERO, |clocks| clocks.cpu);
        self.has_streams |= interval.streams.is_some();
        self.last = interval.clone();
        self.now = now;
    }

    /// Adds an interval of a rank of a fleet, or a part of one. That of the whole is added by [`Meter::add`].
    pub fn add_of_rank(&mut self, rank: u32, interval: &Interval) {
        let ranks = self.about.ranks.max(1) as usize;
        self.ranks.resize(ranks, RankTotals::default());
        if let Some(totals) = self.ranks.get_mut(rank as usize) {
            totals.add(interval);
        }
    }

    /// The phase of the last interval; `None` before the first.
    #[must_use]
    pub fn phase(&self) -> Option<Phase> {
        self.phases.last().map(|(phase, _)| *phase)
    }

    /// Calls that were made and have not ended, at the end of the last interval.
    #[must_use]
    pub fn under_way(&self) -> u64 {
        let sum = |of: fn(&PhaseTotals) -> u64| self.phases.iter().map(|(_, totals)| of(totals)).sum::<u64>();
        sum(|totals| totals.offered)
            .saturating_sub(sum(|totals| totals.replies) + sum(|totals| totals.failed_calls))
    }
}

impl RankTotals {
    fn add(&mut self, interval: &Interval) {
        self.arrivals += interval.arrivals;
        self.offered += interval.offered;
        self.replies += interval.replies;
        self.failed_calls += interval.failed_calls;
        // Rank 0 tells of an interval worker by worker.
        let is_of_last = interval.end() <= self.elapsed;
        self.lag_max = if is_of_last { self.lag_max.max(interval.lag_max) } else { interval.lag_max };
        self.cpu += interval.clocks.as_ref().map_or(Duration::ZERO, |clocks| clocks.cpu);
        self.elapsed = self.elapsed.max(interval.end());
    }
}

impl PhaseTotals {
    pub(crate) fn add(&mut self, interval: &Interval) {
        self.arrivals += interval.arrivals;
        self.offered += interval.offered;
        self.sent += interval.sent;
        self.replies += interval.replies;
        self.http_errors += interval.http_errors;
        self.unexpected += interval.unexpected;
        self.failed_calls += interval.failed_calls;
        self.errors.merge(&interval.errors);
        if let Some(visits) = &interval.visits {
            self.visits.get_or_insert_default().extend(visits);
        }
        if let Some(streams) = &interval.streams {
            self.streams.add(streams);
        }
        self.latency.add(&interval.latency);
        if let Some(clocks) = &interval.clocks {
            self.service.add(&clocks.service);
            self.lag.add(&clocks.lag);
        }
    }
}

impl StreamTotals {
    fn add(&mut self, counts: &StreamCounts) {
        self.events += counts.events;
        self.tokens += counts.tokens;
        self.sent += counts.sent;
        self.first.add(&counts.first);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use httperf_stats::{Classes, Failure, WatchedClocks};

    use super::*;

    /// A second in which 10 calls were due, 8 answered and one failed.
    pub(crate) fn second(number: u64, phase: Phase) -> Interval {
        let mut errors = Errors::default();
        errors.add(Failure::Refused);
        let clocks = WatchedClocks {
            service: Classes::from_ascending([(900, 8)]),
            lag: Classes::from_ascending([(30, 9), (70, 1)]),
            cpu: Duration::from_millis(20),
        };
        Interval {
            from: Duration::from_secs(number),
            length: Duration::from_secs(1),
            phase,
            arrivals: 10,
            offered: 10,
            sent: 9,
            replies: 8,
            http_errors: 2,
            unexpected: 1,
            error_replies: 3,
            failed_calls: 1,
            errors,
            open: 3,
            lag_max: Duration::from_micros(70),
            latency: Classes::from_ascending([(1000, 6), (5000, 2)]),
            visits: None,
            streams: None,
            clocks: Some(Box::new(clocks)),
        }
    }

    /// A run of a second of warm-up and two that were measured.
    pub(crate) fn meter() -> Meter {
        let about = About {
            run: "r1".to_owned(),
            version: "1.0.0".to_owned(),
            host: "n 1".to_owned(),
            ranks: 4,
            rank: None,
        };
        let mut meter = Meter::new(about);
        let now = Now { asked_per_s: Some(12.5), verdict: Some(1) };
        meter.add(&second(0, Phase::WarmUp), now);
        meter.add(&second(1, Phase::Measured), now);
        meter.add(&second(2, Phase::Measured), now);
        meter.add_of_rank(0, &second(1, Phase::Measured));
        meter.add_of_rank(3, &second(1, Phase::Measured));
        meter.add_of_rank(3, &second(2, Phase::Measured));
        meter
    }

    #[test]
    fn ranks_are_added_up_apart() {
        let mut meter = meter();
        let told = |meter: &Meter| {
            meter.ranks.iter().map(|rank| (rank.replies, rank.elapsed.as_secs())).collect::<Vec<_>>()
        };
        assert_eq!(told(&meter), [(8, 2), (0, 0), (0, 0), (16, 3)]);
        assert_eq!(meter.ranks[3].cpu, Duration::from_millis(40));
        // A part of the same interval of another worker, whose lag is smaller, and then the next one.
        let lagging = |number, lag| {
            let lag_max = Duration::from_micros(lag);
            Interval { lag_max, ..second(number, Phase::Measured) }
        };
        meter.add_of_rank(0, &lagging(1, 50));
        assert_eq!(meter.ranks[0].lag_max, Duration::from_micros(70));
        meter.add_of_rank(0, &lagging(2, 50));
        assert_eq!(meter.ranks[0].lag_max, Duration::from_micros(50));
        meter.add_of_rank(4, &second(2, Phase::Measured));
        assert_eq!(meter.ranks.len(), 4, "there is no such rank");
    }

    #[test]
    fn phases_are_added_up_apart() {
        let meter = meter();
        let [(Phase::WarmUp, warm), (Phase::Measured, measured)] = &meter.phases[..] else {
            panic!("{:?}", meter.phases)
        };
        assert_eq!((warm.replies, measured.replies), (8, 16));
        assert_eq!((measured.latency.count(), measured.lag.count()), (16, 20));
        assert_eq!(measured.errors.count(Failure::Refused), 2);
        assert_eq!((meter.under_way(), meter.phase()), (3, Some(Phase::Measured)));
        assert_eq!((meter.cpu, meter.elapsed), (Duration::from_millis(60), Duration::from_secs(3)));
    }

    #[test]
    fn a_second_that_comes_late_goes_to_its_phase() {
        let mut meter = meter();
        meter.add(&second(0, Phase::WarmUp), Now::default());
        assert_eq!((meter.phases[0].1.replies, meter.phases[1].1.replies), (16, 16));
        assert_eq!(meter.elapsed, Duration::from_secs(3));
    }
}
