//! The time series of a run, second by second.
//!
//! Intervals are reported one second long. In the stored series, their length doubles each time their number
//! reaches [`INTERVALS_MAX`], so a long run takes no more memory than one of twenty minutes. Events count in
//! the interval in which they happen; arrivals and offered calls count in the one in which they were due. An
//! interval is reported as soon as it is over, and what was due in it may start later: that is reported with
//! the interval in progress then, so that the reported intervals have the sums of the stored ones.

use std::collections::VecDeque;
use std::time::Duration;

use hdrhistogram::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::{Merge, merge_fields};
use crate::timing::MAX_US;
use crate::{Classes, Errors, Fate, Instant};

/// Maximum number of intervals kept.
const INTERVALS_MAX: usize = 1200;

/// Longer than any run: 136 years.
const WIDTH_MAX: Duration = Duration::from_secs(1 << 32);

/// Initial length of an interval.
const INTERVAL: Duration = Duration::from_secs(1);

/// Significant digits of the latencies of an interval.
pub(crate) const SIGNIFICANT_DIGITS: u8 = 2;

/// Phase of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Load is offered but not measured.
    WarmUp,
    /// Load is offered and measured.
    #[default]
    Measured,
    /// No load is offered any more.
    Drain,
}

/// Visits of scenarios in one interval of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VisitCounts {
    /// Visits under way at the end of the interval.
    pub open: u64,
    /// Visits whose steps were all made.
    pub completed: u64,
    /// Visits that ended at a step that failed.
    pub abandoned: u64,
    /// Checks that replies failed, the expected status among them.
    pub checks_failed: u64,
}

impl VisitCounts {
    /// Appends what happened in the following interval.
    pub fn extend(&mut self, next: &Self) {
        self.merge(next);
        self.open = next.open;
    }
}

merge_fields!(VisitCounts {
    add: open, completed, abandoned, checks_failed;
});

/// Streams and WebSockets in one interval of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StreamCounts {
    /// Streams and WebSockets open at the end of the interval.
    pub open: u64,
    /// Events of streams, messages of streams of gRPC, and messages that came on WebSockets.
    pub events: u64,
    /// Events with content of language models' answers.
    pub tokens: u64,
    /// Messages sent on WebSockets.
    pub sent: u64,
    /// Times from the instants at which calls were due to the first events of their streams, with language models to the
    /// first tokens, of those that came in this interval, to two digits. Calls are those whose latencies count.
    pub first: Classes,
}

impl StreamCounts {
    /// Appends what happened in the following interval.
    pub fn extend(&mut self, next: &Self) {
        self.merge(next);
        self.open = next.open;
    }
}

merge_fields!(StreamCounts {
    add: open, events, tokens, sent, first;
});

/// Further figures of an interval, for those who watch a run. They are in no document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchedClocks {
    /// Service times of the calls that ended in it.
    pub service: Classes,
    /// Lags of the arrivals that started in it.
    pub lag: Classes,
    /// Processor time of the workers.
    #[serde(rename = "cpu_ns", with = "crate::nanos")]
    pub cpu: Duration,
}

merge_fields!(WatchedClocks {
    add: service, lag;
    sum: cpu;
});

/// Events of one interval of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Beginning, since the start of the run.
    #[serde(rename = "from_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub from: Duration,
    /// Length. The last interval of a phase may be shorter than the others.
    #[serde(rename = "length_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub length: Duration,
    /// Phase of the run.
    pub phase: Phase,
    /// Arrivals (of connections or sessions) due in this interval that have started. What is told while the run
    /// goes on has those that were due earlier and started in it, and not those that start later.
    pub arrivals: u64,
    /// Calls due in this interval that were made; while the run goes on, as for arrivals. Each is answered, given
    /// up, or unfinished when the run ends.
    pub offered: u64,
    /// Requests written completely.
    pub sent: u64,
    /// Complete replies.
    pub replies: u64,
    /// Complete replies with status 400 or above.
    pub http_errors: u64,
    /// Complete replies that failed a check, whatever their status.
    #[serde(default)]
    pub unexpected: u64,
    /// Complete replies that are errors: of an unexpected status of 400 or above, or that failed a check. A reply that is
    /// both counts once.
    #[serde(default)]
    pub error_replies: u64,
    /// Calls that failed.
    pub failed_calls: u64,
    /// Failed connections by class.
    pub errors: Errors,
    /// Connections open at the end of the interval.
    pub open: u64,
    /// Largest lag of an arrival.
    #[serde(rename = "lag_max_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub lag_max: Duration,
    /// Latencies of the calls answered in this interval, to two digits, without unexpected replies. In the
    /// measured phase, calls due before it are left out.
    pub latency: Classes,
    /// Visits; `None` if the workload has no scenarios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<VisitCounts>,
    /// Streams and WebSockets; `None` until the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<Box<StreamCounts>>,
    /// Further figures, if somebody watches the run who wants them.
    #[serde(skip)]
    pub clocks: Option<Box<WatchedClocks>>,
}

impl Interval {
    /// End, since the start of the run.
    #[must_use]
    pub fn end(&self) -> Duration {
        self.from + self.length
    }

    /// Converts a count of this interval to a rate per second; 0 if the interval has no length.
    #[must_use]
    pub fn rate(&self, count: u64) -> f64 {
        let seconds = self.length.as_secs_f64();
        if seconds > 0.0 { count as f64 / seconds } else { 0.0 }
    }

    /// Appends the following interval.
    fn extend(&mut self, next: &Self) {
        let length = self.length + next.length;
        self.merge(next);
        self.length = length;
        self.open = next.open;
        if let (Some(visits), Some(next)) = (&mut self.visits, next.visits) {
            visits.open = next.open;
        }
        if let (Some(streams), Some(next)) = (&mut self.streams, &next.streams) {
            streams.open = next.open;
        }
    }
}

// The same interval of another part of the run.
merge_fields!(Interval {
    apart: from, phase;
    max: length, lag_max;
    add: arrivals, offered, sent, replies, http_errors, unexpected, error_replies, failed_calls, errors, open, latency,
        visits, streams, clocks;
});

/// Time series of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// Length of an interval, except the last of each phase: one second times a power of two.
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
    /// Length of an interval, except the last of each phase.
    #[must_use]
    pub fn width(&self) -> Duration {
        self.width
    }

    /// All intervals, in order.
    #[must_use]
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Intervals of the measured phase.
    pub fn measured(&self) -> impl Iterator<Item = &Interval> {
        self.intervals.iter().filter(|interval| interval.phase == Phase::Measured)
    }

    /// The same events in at most about this many intervals, for charts. Those of different phases stay apart.
    #[must_use]
    pub fn joined(&self, most: usize) -> Vec<Interval> {
        let together = self.intervals.len().div_ceil(most.max(1));
        let longest = self.width.saturating_mul(u32::try_from(together).unwrap_or(u32::MAX));
        let mut joined: Vec<Interval> = Vec::new();
        for interval in &self.intervals {
            match joined.last_mut() {
                Some(last) if last.phase == interval.phase && last.length + interval.length <= longest => {
                    last.extend(interval);
                }
                _ => joined.push(interval.clone()),
            }
        }
        joined
    }

    /// Checks that intervals are no longer than those of a real run.
    ///
    /// # Errors
    /// The field that is wrong, the value expected, and the value found.
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

    /// Appends the following interval.
    fn push(&mut self, interval: Interval) {
        match self.intervals.last_mut() {
            Some(last) if last.phase == interval.phase && last.length < self.width => last.extend(&interval),
            _ => self.intervals.push(interval),
        }
        if self.intervals.len() >= INTERVALS_MAX {
            self.coarsen();
        }
    }

    /// Doubles the length of all intervals.
    fn coarsen(&mut self) {
        let intervals = std::mem::take(&mut self.intervals);
        self.width *= 2;
        for interval in intervals {
            self.push(interval);
        }
    }
}

impl Merge for Series {
    /// Adds the series of another part of the same run.
    fn merge(&mut self, other: &Self) {
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
}

/// Recorder of a series during a run.
#[derive(Clone, Debug)]
pub(crate) struct SeriesRecorder {
    start: Instant,
    series: Series,
    /// Interval in progress; its latencies are in `latency`.
    current: Interval,
    /// What was added to earlier intervals and has not been reported.
    late: Interval,
    /// Calls that were taken out of earlier intervals, which has not been reported.
    withdrawn: u64,
    latency: Histogram<u32>,
    /// Visits under way, if the workload has scenarios.
    visits_open: Option<u64>,
    /// Streams, once there was one.
    streams: Option<Box<StreamsRecorder>>,
    /// WatchedClocks of the interval in progress, if somebody wants them.
    clocks: Option<Box<ClocksRecorder>>,
    /// Completed intervals that have not been reported yet.
    unreported: VecDeque<Interval>,
}

#[derive(Clone, Debug)]
struct StreamsRecorder {
    /// Streams and WebSockets that are open.
    open: u64,
    /// Times to the first events of the interval in progress.
    first: Histogram<u32>,
}

#[derive(Clone, Debug)]
struct ClocksRecorder {
    service: Histogram<u32>,
    lag: Histogram<u32>,
}

impl ClocksRecorder {
    /// Removes and returns what was recorded.
    fn take(&mut self) -> WatchedClocks {
        let take = |histogram: &mut Histogram<u32>| {
            let classes = Classes::from_histogram(histogram);
            histogram.reset();
            classes
        };
        WatchedClocks { service: take(&mut self.service), lag: take(&mut self.lag), cpu: Duration::ZERO }
    }
}

fn histogram() -> Histogram<u32> {
    Histogram::new_with_bounds(1, MAX_US, SIGNIFICANT_DIGITS)
        .expect("the bounds are constants that the histogram accepts")
}

impl SeriesRecorder {
    /// Starts a series now, in the given phase.
    pub(crate) fn new(start: Instant, phase: Phase) -> Self {
        Self {
            start,
            series: Series::default(),
            current: Interval { phase, ..Interval::default() },
            late: Interval::default(),
            withdrawn: 0,
            latency: histogram(),
            visits_open: None,
            streams: None,
            clocks: None,
            unreported: VecDeque::new(),
        }
    }

    /// Counts visits as well.
    pub(crate) fn count_visits(&mut self) {
        self.visits_open = Some(0);
        self.current.visits = Some(VisitCounts::default());
    }

    /// Records clocks as well, for those who watch the run.
    pub(crate) fn watch_clocks(&mut self) {
        self.clocks = Some(Box::new(ClocksRecorder { service: histogram(), lag: histogram() }));
    }

    pub(crate) fn add_service(&mut self, service: Duration) {
        if let Some(clocks) = &mut self.clocks {
            clocks.service.saturating_record(crate::timing::whole_micros(service));
        }
    }

    pub(crate) fn add_lag(&mut self, lag: Duration) {
        if let Some(clocks) = &mut self.clocks {
            clocks.lag.saturating_record(crate::timing::whole_micros(lag));
        }
    }

    pub(crate) fn visit_started(&mut self) {
        self.visits_open.iter_mut().for_each(|open| *open += 1);
    }

    pub(crate) fn visit_ended(&mut self, fate: Fate) {
        let (Some(open), Some(visits)) = (&mut self.visits_open, &mut self.current.visits) else { return };
        *open = open.saturating_sub(1);
        match fate {
            Fate::Completed => visits.completed += 1,
            Fate::Abandoned { .. } => visits.abandoned += 1,
            Fate::Cut => {}
        }
    }

    pub(crate) fn stream_opened(&mut self) {
        let empty = || Box::new(StreamsRecorder { open: 0, first: histogram() });
        self.streams.get_or_insert_with(empty).open += 1;
        self.current.streams.get_or_insert_default();
    }

    pub(crate) fn stream_ended(&mut self) {
        self.streams.iter_mut().for_each(|streams| streams.open = streams.open.saturating_sub(1));
    }

    /// Streams in the interval in progress; `None` before the first one.
    pub(crate) fn streams(&mut self) -> Option<&mut StreamCounts> {
        self.current.streams.as_deref_mut()
    }

    /// Adds a time to a first event or token.
    pub(crate) fn add_first(&mut self, waited: Duration) {
        if let Some(streams) = &mut self.streams {
            streams.first.saturating_record(crate::timing::whole_micros(waited));
        }
    }

    pub(crate) fn checks_failed(&mut self, count: u64) {
        if let Some(visits) = &mut self.current.visits {
            visits.checks_failed += count;
        }
    }

    /// Interval in progress.
    pub(crate) fn current(&mut self) -> &mut Interval {
        &mut self.current
    }

    /// Takes note of something in the interval that contains the instant `due`. `open`: connections open now.
    pub(crate) fn note_at(&mut self, due: Instant, open: u64, note: impl Fn(&mut Interval)) {
        self.advance(due, open);
        let (interval, is_late) = self.at(due);
        note(interval);
        if is_late {
            note(&mut self.late);
        }
    }

    /// Takes a call out of the interval that contains the instant `due`. `open`: connections open now.
    pub(crate) fn withdraw_at(&mut self, due: Instant, open: u64) {
        self.advance(due, open);
        let (interval, is_late) = self.at(due);
        interval.offered = interval.offered.saturating_sub(1);
        self.withdrawn += u64::from(is_late);
    }

    /// Interval that contains the instant `due`, and whether it was completed.
    fn at(&mut self, due: Instant) -> (&mut Interval, bool) {
        let due = due - self.start;
        if due >= self.current.from {
            return (&mut self.current, false);
        }
        match self.series.intervals.iter_mut().rev().find(|interval| interval.from <= due) {
            Some(interval) => (interval, true),
            None => (&mut self.current, false),
        }
    }

    pub(crate) fn add_latency(&mut self, latency: Duration) {
        self.latency.saturating_record(crate::timing::whole_micros(latency));
    }

    /// End of the interval in progress.
    pub(crate) fn next_end(&self) -> Instant {
        self.start + self.current.from + INTERVAL
    }

    /// Completes all intervals that end by `now`. `open`: connections open now.
    pub(crate) fn advance(&mut self, now: Instant, open: u64) {
        while self.next_end() <= now {
            let end = self.next_end();
            self.close(end, open, self.current.phase);
        }
    }

    /// Completes the interval in progress, whatever its length, and begins one in the given phase.
    pub(crate) fn enter(&mut self, phase: Phase, now: Instant, open: u64) {
        self.advance(now, open);
        self.close(now, open, phase);
    }

    fn close(&mut self, end: Instant, open: u64, next: Phase) {
        let from = end - self.start;
        let mut done = std::mem::take(&mut self.current);
        let visits = self.visits_open.map(|_| VisitCounts::default());
        let streams = self.streams.as_ref().map(|_| Box::default());
        self.current = Interval { from, phase: next, visits, streams, ..Interval::default() };
        done.length = from.saturating_sub(done.from);
        if done.length.is_zero() {
            // Events of an empty interval belong to the one that takes its place.
            self.current.merge(&done);
            return;
        }
        done.open = open;
        if let (Some(visits), Some(open)) = (&mut done.visits, self.visits_open) {
            visits.open = open;
        }
        if let (Some(counts), Some(streams)) = (&mut done.streams, &mut self.streams) {
            counts.open = streams.open;
            if !streams.first.is_empty() {
                counts.first = Classes::from_histogram(&streams.first);
                streams.first.reset();
            }
        }
        if !self.latency.is_empty() {
            done.latency = Classes::from_histogram(&self.latency);
            self.latency.reset();
        }
        if self.unreported.len() < INTERVALS_MAX {
            let clocks = self.clocks.as_mut().map(|clocks| Box::new(clocks.take()));
            let mut told = Interval { clocks, ..done.clone() };
            told.merge(&std::mem::take(&mut self.late));
            let withdrawn = self.withdrawn.min(told.offered);
            told.offered -= withdrawn;
            self.withdrawn -= withdrawn;
            self.unreported.push_back(told);
        }
        self.series.push(done);
    }

    /// Removes and returns the next completed interval: one second long, or shorter at the end of a phase. What
    /// was due earlier and was late counts in it as well.
    pub(crate) fn take_ended(&mut self) -> Option<Interval> {
        self.unreported.pop_front()
    }

    /// Returns the series up to `now`.
    pub(crate) fn finish(mut self, now: Instant, open: u64) -> Series {
        self.advance(now, open);
        self.close(now, open, self.current.phase);
        // Events at the very end, just after an interval was completed, belong to that interval.
        if let Some(last) = self.series.intervals.last_mut() {
            last.merge(&self.current);
        }
        self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(lengths_ms: &[(Phase, u64)]) -> Series {
        let mut series = Series::default();
        let mut from = Duration::ZERO;
        for (index, &(phase, ms)) in (0..).zip(lengths_ms) {
            let length = Duration::from_millis(ms);
            let latency = Classes::from_ascending([(1_000 + index, 1)]);
            series.intervals.push(Interval {
                from,
                length,
                phase,
                replies: 1,
                open: index,
                latency,
                ..Interval::default()
            });
            from += length;
        }
        series
    }

    #[test]
    fn joined_intervals_lose_nothing_and_stay_within_their_phase() {
        let mut lengths = vec![(Phase::WarmUp, 1_000); 3];
        lengths.extend([(Phase::Measured, 1_000); 10]);
        lengths.push((Phase::Measured, 400));
        lengths.extend([(Phase::Drain, 1_000), (Phase::Drain, 200)]);
        let series = series(&lengths);
        assert_eq!(series.joined(100), series.intervals());
        for most in [1, 2, 3, 5, 8, 15] {
            let joined = series.joined(most);
            let phases = joined.chunk_by(|a, b| a.phase == b.phase).count();
            assert!(phases == 3 && joined.len() <= most + 3, "{most}: {}", joined.len());
            assert_eq!(joined.iter().map(|interval| interval.replies).sum::<u64>(), 16);
            assert_eq!(joined.iter().map(|interval| interval.latency.total()).sum::<u64>(), 16);
            assert!(joined.windows(2).all(|pair| pair[0].end() == pair[1].from), "{most}");
            let ends = joined.last().expect("there are some");
            assert_eq!((ends.end(), ends.open), (Duration::from_millis(14_600), 15));
        }
    }
}
