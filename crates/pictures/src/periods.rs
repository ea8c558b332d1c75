//! Periods of a run that charts over time show.

use httperf_plan::Arrivals;
use httperf_report::Finding;
use httperf_report::result::Document;
use httperf_stats::{Interval, Phase};

/// A shaded period of a run: warm-up, drain, or a stall of the server.
pub(super) struct Stretch {
    pub(super) from_s: f64,
    pub(super) to_s: f64,
    pub(super) kind: StretchKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum StretchKind {
    WarmUp,
    Drain,
    Stall,
}

impl Stretch {
    pub(super) fn all(document: &Document) -> Vec<Self> {
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
pub(super) struct LoadPhaseSpan<'a> {
    pub(super) name: &'a str,
    pub(super) from_s: f64,
    pub(super) to_s: f64,
}

/// True if charts over time mark the beginnings of load phases.
#[must_use]
pub fn has_load_phases(document: &Document) -> bool {
    !load_phases(document).is_empty()
}

/// The load phases of a run, in order; none if its schedule has only one.
pub(super) fn load_phases(document: &Document) -> Vec<LoadPhaseSpan<'_>> {
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
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::WarmUp => "warm-up",
            Self::Drain => "drain",
            Self::Stall => "stall",
        }
    }
}
