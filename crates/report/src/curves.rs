//! Common parts of the charts in pages and pictures: points of percentile curves, shaded periods of a run,
//! and the choice of logarithmic axes.

use httperf_plan::Arrivals;
use httperf_stats::{Interval, Phase, Timing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::rounded;
use crate::result::Document;
use crate::verdict::Finding;

/// Ratio of largest to smallest value above which an axis of times is logarithmic.
pub(crate) const LINEAR_UP_TO: f64 = 50.0;

/// Number of points of a percentile curve for each further nine.
const POINTS_PER_NINE: f64 = 40.0;

/// Points of a percentile curve, which ends at the last sample; empty if there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PercentileCurve {
    /// 1 / (1 − p): one in this many took longer. The last is the number of samples.
    pub odds: Vec<f64>,
    /// Times in milliseconds, one for each of them.
    pub ms: Vec<f64>,
}

impl PercentileCurve {
    /// Computes the curve of a timing.
    #[must_use]
    pub fn of(timing: &Timing) -> Self {
        let samples = timing.moments.count() as f64;
        let steps = (samples.log10() * POINTS_PER_NINE).floor() as u32;
        let odds = (0..=steps).map(|step| 10_f64.powf(f64::from(step) / POINTS_PER_NINE));
        let mut curve = Self { odds: Vec::new(), ms: Vec::new() };
        for odds in odds.filter(|&odds| odds < samples) {
            curve.push(odds, timing, 1.0 - 1.0 / odds);
        }
        curve.push(samples, timing, 1.0);
        curve
    }

    /// Number of samples.
    pub(crate) fn samples(&self) -> f64 {
        self.odds.last().copied().unwrap_or(0.0)
    }

    fn push(&mut self, odds: f64, timing: &Timing, share: f64) {
        let Some(value) = timing.quantile(share) else { return };
        self.odds.push(rounded(odds));
        self.ms.push(rounded(value.as_secs_f64() * 1e3));
    }
}

/// Ticks of an axis of 1 / (1 − p) for this many samples: p50, p90, p99 and so on.
pub(crate) fn odds_marks(samples: f64) -> Vec<f64> {
    let nines = samples.log10().ceil().max(1.0) as i32;
    std::iter::once(2.0).chain((1..=nines).map(|nines| 10_f64.powi(nines))).collect()
}

/// A shaded period of a run: warm-up, drain, or a stall of the server.
pub(crate) struct Stretch {
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
    pub(crate) kind: StretchKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StretchKind {
    WarmUp,
    Drain,
    Stall,
}

impl Stretch {
    pub(crate) fn all(document: &Document) -> Vec<Self> {
        let phase = |phase: Phase, kind| {
            let intervals = document.summary.series.intervals().iter();
            let of_phase: Vec<&Interval> = intervals.filter(|interval| interval.phase == phase).collect();
            let (from_s, to_s) = (of_phase.first()?.from.as_secs_f64(), of_phase.last()?.end().as_secs_f64());
            Some(Self { from_s, to_s, kind })
        };
        let stalls = document.verdict.reasons.iter().filter_map(|reason| match reason.finding {
            Finding::ServerStall { length_s, from_s } => {
                Some(Self { from_s, to_s: from_s + length_s, kind: StretchKind::Stall })
            }
            _ => None,
        });
        let phases = [phase(Phase::WarmUp, StretchKind::WarmUp), phase(Phase::Drain, StretchKind::Drain)];
        phases.into_iter().flatten().chain(stalls).collect()
    }
}

/// The time of a load phase, by the schedule.
pub(crate) struct LoadPhaseSpan<'a> {
    pub(crate) name: &'a str,
    pub(crate) from_s: f64,
    pub(crate) to_s: f64,
}

/// The load phases of a run, in order; none if its schedule has only one.
pub(crate) fn load_phases(document: &Document) -> Vec<LoadPhaseSpan<'_>> {
    match &document.plan.arrivals {
        Arrivals::Phased(phased) if phased.phases.len() > 1 => {
            let spans = phased.starts().map(|(start, phase)| LoadPhaseSpan {
                name: &phase.name,
                from_s: start.as_secs_f64(),
                to_s: start.saturating_add(phase.length).as_secs_f64(),
            });
            spans.collect()
        }
        _ => Vec::new(),
    }
}

impl StretchKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up",
            Self::Drain => "drain",
            Self::Stall => "stall",
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_curve_goes_from_the_minimum_to_the_maximum() {
        let mut timing = Timing::default();
        (1..=1000).for_each(|ms| timing.add(Duration::from_millis(ms)));
        let curve = PercentileCurve::of(&timing);
        assert_eq!((curve.odds[0], curve.ms[0]), (1.0, 1.0));
        assert_eq!((curve.odds.last(), curve.ms.last()), (Some(&1000.0), Some(&1000.0)));
        assert!(curve.ms.is_sorted() && curve.odds.is_sorted());
        assert!(curve.odds.len() < 200);
    }

    #[test]
    fn a_single_sample_is_a_point() {
        let mut timing = Timing::default();
        timing.add(Duration::from_millis(3));
        let curve = PercentileCurve::of(&timing);
        assert_eq!((curve.odds, curve.ms), (vec![1.0], vec![3.0]));
    }

    #[test]
    fn ticks_go_as_far_as_there_are_samples() {
        assert_eq!(odds_marks(1.0), [2.0, 10.0]);
        assert_eq!(odds_marks(1_000.0), [2.0, 10.0, 100.0, 1_000.0]);
        assert_eq!(odds_marks(1_001.0).last(), Some(&10_000.0));
    }
}
