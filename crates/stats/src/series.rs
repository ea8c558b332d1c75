//! A run second by second.
//!
//! Intervals are one second long when they are told of. Kept, they are twice as long each time their number reaches
//! [`INTERVALS_MAX`], so that a long run takes no more memory than one of twenty minutes. What happens counts in the
//! interval in which it happens; only what was due counts where it was due.

use std::collections::VecDeque;
use std::time::Duration;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::timing::MAX_US;
use crate::{Classes, Errors, Instant};

/// How many intervals are kept at most.
const INTERVALS_MAX: usize = 1200;

/// More than any run takes: 136 years.
const WIDTH_MAX: Duration = Duration::from_secs(1 << 32);

/// How long an interval is at first.
const INTERVAL: Duration = Duration::from_secs(1);

/// Digits to which the latencies of an interval are kept.
pub(crate) const SIGNIFICANT_DIGITS: u8 = 2;

/// The phases of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Load is offered and not measured.
    WarmUp,
    /// Load is offered and measured.
    #[default]
    Measured,
    /// Nothing is offered any more.
    Drain,
}

/// What happened in one interval of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// When it began, since the start of the run.
    #[serde(rename = "from_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub from: Duration,
    /// How long it was. The last one of a phase may be shorter than the others.
    #[serde(rename = "length_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub length: Duration,
    /// The phase it belongs to.
    pub phase: Phase,
    /// Arrivals (of connections or sessions) that were due in it and have started.
    pub arrivals: u64,
    /// Calls that were due in it and have been made. Each of them is answered, given up, or unfinished when the run ends.
    pub offered: u64,
    /// Requests written completely.
    pub sent: u64,
    /// Complete replies.
    pub replies: u64,
    /// Complete replies of status 400 and above.
    pub http_errors: u64,
    /// Complete replies that are not what was expected, whatever their status.
    #[serde(default)]
    pub unexpected: u64,
    /// Calls given up.
    pub failed_calls: u64,
    /// Connections that failed, by class.
    pub errors: Errors,
    /// Connections open at its end.
    pub open: u64,
    /// The most by which an arrival started too late.
    #[serde(rename = "lag_max_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub lag_max: Duration,
    /// Latencies of the calls answered in it, but for unexpected replies, to two digits. Those due before the measured
    /// phase are left out of it.
    pub latency: Classes,
}

impl Interval {
    /// When it ended, since the start of the run.
    #[must_use]
    pub fn end(&self) -> Duration {
        self.from + self.length
    }

    /// A count of this interval as a rate per second; 0 if the interval has no length.
    #[must_use]
    pub fn rate(&self, count: u64) -> f64 {
        let seconds = self.length.as_secs_f64();
        if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
    }

    /// Appends the one that follows.
    fn extend(&mut self, next: &Self) {
        self.add_counts(next);
        self.length += next.length;
        self.open = next.open;
    }

    /// Adds what another part of the same run did in the same interval. Of the lengths the longer one counts.
    pub fn merge(&mut self, other: &Self) {
        self.add_counts(other);
        self.length = self.length.max(other.length);
        self.open += other.open;
    }

    fn add_counts(&mut self, other: &Self) {
        self.arrivals += other.arrivals;
        self.offered += other.offered;
        self.sent += other.sent;
        self.replies += other.replies;
        self.http_errors += other.http_errors;
        self.unexpected += other.unexpected;
        self.failed_calls += other.failed_calls;
        self.errors.merge(&other.errors);
        self.lag_max = self.lag_max.max(other.lag_max);
        self.latency.merge(&other.latency);
    }
}

/// A run interval by interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// How long an interval is, but for the last of each phase: a second times a power of two.
    #[serde(rename = "width_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    width: Duration,
    intervals: Vec<Interval>,
}

impl Default for Series {
    fn default() -> Self {
        Self { width: INTERVAL, intervals: Vec::new() }
    }
}

impl Series {
    /// How long an interval is, but for the last of each phase.
    #[must_use]
    pub fn width(&self) -> Duration {
        self.width
    }

    /// All intervals, in order.
    #[must_use]
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Those of the measured phase.
    pub fn measured(&self) -> impl Iterator<Item = &Interval> {
        self.intervals.iter().filter(|interval| interval.phase == Phase::Measured)
    }

    /// Looks whether its intervals are as long as those of a run can be.
    ///
    /// # Errors
    /// The field that is wrong, what was expected there, and what there is.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut width = INTERVAL;
        while width < self.width && width < WIDTH_MAX {
            width *= 2;
        }
        if width != self.width {
            return Err(format!(
                "width_ns: expected a second times a power of two, got {}",
                crate::nanos::whole(self.width)
            ));
        }
        for (index, interval) in self.intervals.iter().enumerate() {
            if interval.end() > WIDTH_MAX {
                return Err(format!(
                    "intervals[{index}]: expected an end within {} s, got {} s",
                    WIDTH_MAX.as_secs(),
                    interval.end().as_secs()
                ));
            }
        }
        Ok(())
    }

    /// Adds the series of another part of the same run.
    pub(crate) fn merge(&mut self, other: &Self) {
        let mut theirs = other.clone();
        while theirs.width < self.width {
            theirs.coarsen();
        }
        while self.width < theirs.width {
            self.coarsen();
        }
        for interval in theirs.intervals {
            let place = self
                .intervals
                .binary_search_by_key(&(interval.phase, interval.from), |own| (own.phase, own.from));
            match place {
                Ok(index) => self.intervals[index].merge(&interval),
                Err(index) => self.intervals.insert(index, interval),
            }
        }
    }

    /// Appends the interval that follows.
    fn push(&mut self, interval: Interval) {
        match self.intervals.last_mut() {
            Some(last) if last.phase == interval.phase && last.length < self.width => last.extend(&interval),
            _ => self.intervals.push(interval),
        }
        if self.intervals.len() >= INTERVALS_MAX {
            self.coarsen();
        }
    }

    /// Makes intervals twice as long.
    fn coarsen(&mut self) {
        let intervals = std::mem::take(&mut self.intervals);
        self.width *= 2;
        for interval in intervals {
            self.push(interval);
        }
    }
}

/// Fills a series while a run goes on.
#[derive(Clone, Debug)]
pub(crate) struct SeriesRecorder {
    start: Instant,
    series: Series,
    /// The interval that goes on; its latencies are in `latency`.
    current: Interval,
    latency: Histogram<u32>,
    /// Intervals that have ended and have not been told of.
    untold: VecDeque<Interval>,
}

impl SeriesRecorder {
    /// A series that begins now, in this phase.
    pub(crate) fn new(start: Instant, phase: Phase) -> Self {
        Self {
            start,
            series: Series::default(),
            current: Interval { phase, ..Interval::default() },
            latency: Histogram::new_with_bounds(1, MAX_US, SIGNIFICANT_DIGITS)
                .expect("the bounds are constants that the histogram accepts"),
            untold: VecDeque::new(),
        }
    }

    /// The interval that goes on.
    pub(crate) fn current(&mut self) -> &mut Interval {
        &mut self.current
    }

    /// The interval to which an instant belongs at which something was due. `open`: connections open now.
    pub(crate) fn at(&mut self, due: Instant, open: u64) -> &mut Interval {
        self.advance(due, open);
        let due = due - self.start;
        if due >= self.current.from {
            return &mut self.current;
        }
        match self.series.intervals.iter_mut().rev().find(|interval| interval.from <= due) {
            Some(interval) => interval,
            None => &mut self.current,
        }
    }

    pub(crate) fn add_latency(&mut self, latency: Duration) {
        self.latency.saturating_record(crate::timing::whole_micros(latency));
    }

    /// When the interval that goes on is to end.
    pub(crate) fn next_end(&self) -> Instant {
        self.start + self.current.from + INTERVAL
    }

    /// Ends intervals up to `now`. `open`: connections open now.
    pub(crate) fn advance(&mut self, now: Instant, open: u64) {
        while self.next_end() <= now {
            let end = self.next_end();
            self.close(end, open, self.current.phase);
        }
    }

    /// Ends the interval that goes on, whatever its length, and begins one of this phase.
    pub(crate) fn enter(&mut self, phase: Phase, now: Instant, open: u64) {
        self.advance(now, open);
        self.close(now, open, phase);
    }

    fn close(&mut self, end: Instant, open: u64, next: Phase) {
        let from = end - self.start;
        let mut done = std::mem::take(&mut self.current);
        self.current = Interval { from, phase: next, ..Interval::default() };
        done.length = from.saturating_sub(done.from);
        if done.length.is_zero() {
            // What happened at the instant at which it began belongs to the one that takes its place.
            self.current.add_counts(&done);
            return;
        }
        done.open = open;
        if !self.latency.is_empty() {
            done.latency = Classes::from_histogram(&self.latency);
            self.latency.reset();
        }
        if self.untold.len() < INTERVALS_MAX {
            self.untold.push_back(done.clone());
        }
        self.series.push(done);
    }

    /// The next of the intervals that have ended, each a second long or what there was of it.
    pub(crate) fn take_ended(&mut self) -> Option<Interval> {
        self.untold.pop_front()
    }

    /// The series up to now.
    pub(crate) fn finish(mut self, now: Instant, open: u64) -> Series {
        self.advance(now, open);
        self.close(now, open, self.current.phase);
        // What happened at the very end, when an interval had just ended, belongs to that one.
        if let Some(last) = self.series.intervals.last_mut() {
            last.add_counts(&self.current);
        }
        self.series
    }
}
