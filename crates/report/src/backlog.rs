//! Signs that a server does not keep up with its load: calls that pile up, and latency that grows with them.

use std::time::Duration;

use httperf_stats::search::BACKLOG_SHARE;
use httperf_stats::{Classes, Interval, Merge as _, Phase, Summary};

use crate::number::ratio;

/// Factor and amount by which the latency must grow to count as rising.
const RISE: (f64, Duration) = (2.0, Duration::from_millis(5));

/// Factors by which it must grow from the second third to the last, and from the first half to the second: a queue that grows
/// steadily makes it 1.7 and 3.
const GROWTH_TO_END: f64 = 1.3;
const GROWTH_OF_HALVES: f64 = 2.5;

/// Share of the growth that a queue explains by what was not answered in time, which makes it possible that one was there
/// before the load: there is no telling then.
const GROWTH_DOUBTFUL: f64 = 0.4;

/// Share of the age of a run that replies took which were asked for when it began.
const AS_OLD: f64 = 0.9;

/// Share of the load that is answered in time at least where replies take long by chance.
const ANSWERED_BY_CHANCE: f64 = 0.4;

/// Share of the calls due in the last part of a run, and multiple of the square root of their number, by which replies may lag
/// behind where they take long by chance.
const LAG_SHARE: f64 = 0.1;
const LAG_CHANCE: f64 = 3.0;

/// Largest ratio of the 90th to the 10th percentile of the latency in the last part of a run whose calls wait in a queue.
const ALIKE: f64 = 3.5;

/// Multiple of the square root of the number of pending calls, its random fluctuation, above which growth is
/// significant.
const CHANCE: f64 = 4.0;

/// Pending calls, or open connections if no calls are made.
pub(crate) struct Backlog {
    /// At the beginning of the measured phase.
    pub(crate) before: f64,
    /// At its end.
    pub(crate) after: f64,
    /// Arrivals of the measured phase.
    arrivals: f64,
}

impl Backlog {
    pub(crate) fn of(summary: &Summary, makes_calls: bool) -> Self {
        let of_phase =
            |phase| summary.series.intervals().iter().filter(move |interval| interval.phase == phase);
        let change = |phase| -> f64 {
            of_phase(phase)
                .map(|interval| {
                    interval.offered as f64 - interval.replies as f64 - interval.failed_calls as f64
                })
                .sum()
        };
        let open = |phase| of_phase(phase).next_back().map_or(0.0, |interval| interval.open as f64);
        let arrivals = &summary.arrivals;
        let (before, after) = if makes_calls {
            // Arrivals that were due and waited for room are among the calls offered.
            let before = change(Phase::WarmUp);
            (before, before + change(Phase::Measured))
        } else {
            let waiting = arrivals.due.saturating_sub(arrivals.started) as f64;
            (open(Phase::WarmUp), open(Phase::Measured) + waiting)
        };
        Self { before, after, arrivals: arrivals.due as f64 }
    }

    /// Growth as a share of the arrivals.
    pub(crate) fn growth(&self) -> f64 {
        ratio(self.after - self.before, self.arrivals).clamp(-1.0, 1.0)
    }

    /// Returns true if the growth is larger than chance may make it.
    pub(crate) fn has_grown(&self) -> bool {
        self.after - self.before
            > self.arrivals * BACKLOG_SHARE + CHANCE * self.before.max(self.after).max(1.0).sqrt()
    }
}

/// Returns whether latency grew from third to third of the measured phase, the sign of a slowly growing backlog. Stalls on either
/// side do not look like this, since medians are compared.
pub(crate) fn latency_rises(summary: &Summary) -> bool {
    let intervals: Vec<&Interval> = summary.series.measured().collect();
    let medians = quantiles(&intervals, 3, 0.5);
    medians.is_some_and(|medians| {
        medians.is_sorted_by(|one, next| one < next) && is_rise(medians[0], medians[2], RISE.0)
    })
}

/// Returns true if latency grew as a queue makes it grow: all of it, the shortest included, and to the end; `None` if that
/// cannot be told. Latency that is long by chance seems to grow too, as the first replies are those that took least; but it
/// differs from call to call, while calls in a queue take about as long as their neighbours. A queue that was there before the
/// load hides its growth behind what it began with, and shows in replies that lag behind. It begins to grow in the warm-up.
pub(crate) fn queue_grows(all: &[Interval], answered_in_time: f64) -> Option<bool> {
    // Where arrivals are counted, what is left of them is worked off at the end.
    let counts = |interval: &&Interval| {
        interval.phase != Phase::Drain && interval.arrivals > 0 && !interval.latency.is_empty()
    };
    let intervals: Vec<&Interval> = all.iter().filter(counts).collect();
    let parts = if intervals.len() < 3 { 2 } else { 3 };
    let first_part = &intervals[..intervals.len() / parts];
    let are_old = first_part.iter().any(|interval| {
        interval.latency.quantile(1.0).is_some_and(|longest| longest >= interval.end().mul_f64(AS_OLD))
    });
    let quantiles: Option<Vec<Vec<Duration>>> =
        [0.5, 0.1].into_iter().map(|quantile| quantiles(&intervals, parts, quantile)).collect();
    let grows = |times: &Vec<Duration>| match times[..] {
        [first, last] => is_rise(first, last, GROWTH_OF_HALVES),
        [first, middle, last] => is_rise(first, last, RISE.0) && is_rise(middle, last, GROWTH_TO_END),
        _ => false,
    };
    let span: Duration = intervals.iter().map(|interval| interval.length).sum();
    let between_parts = span.mul_f64(1.0 - 1.0 / parts as f64);
    let of_a_queue = between_parts.mul_f64((1.0 - answered_in_time) * GROWTH_DOUBTFUL).max(RISE.1);
    let may_grow = |times: &Vec<Duration>| match times[..] {
        [first, .., last] => last.saturating_sub(first) >= of_a_queue,
        _ => false,
    };
    let quantiles = quantiles?;
    let last_part = &intervals[intervals.len() * (parts - 1) / parts..];
    let (are_alike, lags_behind) = (take_alike(last_part), lag_behind(last_part));
    let may_be_chance = are_old && answered_in_time >= ANSWERED_BY_CHANCE;
    match (quantiles.iter().all(grows), quantiles.iter().all(may_grow)) {
        (true, _) if are_alike && (!may_be_chance || lags_behind) => Some(true),
        (false, true) if are_alike && lags_behind => Some(true),
        (false, false) => Some(false),
        _ => None,
    }
}

/// Returns true if fewer calls ended in these intervals than were due, by more than chance explains.
fn lag_behind(intervals: &[&Interval]) -> bool {
    let due: u64 = intervals.iter().map(|interval| interval.offered).sum();
    let ended: u64 = intervals.iter().map(|interval| interval.replies + interval.failed_calls).sum();
    let due = due as f64;
    due - ended as f64 > due * LAG_SHARE + LAG_CHANCE * due.sqrt()
}

/// Returns true if most replies of these intervals took about as long, as in a queue.
fn take_alike(intervals: &[&Interval]) -> bool {
    let [low, high] = [0.1, 0.9].map(|quantile| quantiles(intervals, 1, quantile));
    low.zip(high).is_some_and(|(low, high)| high[0] <= low[0].mul_f64(ALIKE))
}

fn is_rise(before: Duration, after: Duration, factor: f64) -> bool {
    after >= before.mul_f64(factor) && after - before >= RISE.1
}

/// This quantile of the latency in each part of these intervals.
fn quantiles(intervals: &[&Interval], parts: usize, quantile: f64) -> Option<Vec<Duration>> {
    let count = intervals.len();
    let quantile = |part: usize| {
        let mut latency = Classes::default();
        let part = &intervals[count * part / parts..count * (part + 1) / parts];
        part.iter().for_each(|interval| latency.merge(&interval.latency));
        latency.quantile(quantile)
    };
    (0..parts).map(quantile).collect()
}
