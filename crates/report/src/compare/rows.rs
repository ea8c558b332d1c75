//! Rows of a comparison: a figure of both sides, its difference and the conclusion.

use httperf_plan::objective::{Change as Allowed, Clock, Figure, Metric, Share, Tolerance};
use httperf_stats::comparison::{BATCHES_MIN, BEYOND_MIN, Difference, PAIRS_MIN, Unknown, holm};
use httperf_stats::{Estimate, Summary, Timing, samples_needed};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CONFIDENCE, Held};
use crate::errors::ErrorFigures;
use crate::number::{count, fixed, grouped, percent, signed, time};

/// A figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// Name, as in objectives: `replies`, `errors`, `mean`, `p99` and so on.
    pub metric: String,
    /// Unit of the figures and of the difference.
    pub unit: Unit,
    /// Value for the base; `None` if there is too little data.
    pub base: Option<f64>,
    /// Value for the new side.
    pub new: Option<f64>,
    /// Difference: new minus base.
    pub difference: Option<Change>,
    /// Difference as a share of the base; `None` also if the base is 0.
    pub relative: Option<Change>,
    /// Probability of a difference this large if there is none.
    pub p_value: Option<f64>,
    /// The p-value corrected for the number of rows (Holm): the verdict follows from it.
    pub p_value_corrected: Option<f64>,
    /// Conclusion.
    pub verdict: RowVerdict,
    /// Reason for missing data, if any.
    pub why: Option<String>,
}

/// Unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Seconds.
    Seconds,
    /// A share of 1.
    Share,
    /// Per second.
    PerSecond,
}

/// A difference with its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Change {
    /// Difference.
    pub value: f64,
    /// Lower bound.
    pub low: Option<f64>,
    /// Upper bound.
    pub high: Option<f64>,
}

/// Conclusion from a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowVerdict {
    /// The new side is worse: slower, with more errors, or with fewer replies.
    Worse,
    /// The new side is better.
    Better,
    /// The difference is no larger than chance may make it.
    NoDifferenceShown,
    /// There is too little data to tell.
    NotEnoughData,
}

/// Returns true if the variation of a figure within a run is known, so that it can be compared.
#[must_use]
pub fn is_comparable(metric: Metric) -> bool {
    match metric {
        Metric::Replies | Metric::Share(Share::Errors | Share::Failed | Share::Unexpected) => true,
        Metric::Time { clock: Clock::Latency, figure } => {
            matches!(figure, Figure::Mean | Figure::Quantile(_))
        }
        Metric::Share(Share::Checks | Share::Abandoned | Share::Good | Share::Status(_))
        | Metric::Time { .. } => false,
    }
}

/// A figure of a run. `latency` is that of its completed calls.
pub(super) fn value(metric: Metric, summary: &Summary, latency: &Timing) -> Option<f64> {
    match metric {
        Metric::Replies => (!summary.duration.is_zero()).then(|| summary.throughput().replies),
        Metric::Share(share @ (Share::Errors | Share::Failed | Share::Unexpected)) => {
            ErrorFigures::of(summary).share_of(share)
        }
        Metric::Time { clock: Clock::Latency, figure: Figure::Mean } if !latency.is_empty() => {
            Some(latency.moments.mean())
        }
        Metric::Time { clock: Clock::Latency, figure: Figure::Quantile(share) } => {
            latency.supported_quantile(share).map(|value| value.as_secs_f64())
        }
        Metric::Time { .. }
        | Metric::Share(Share::Checks | Share::Abandoned | Share::Good | Share::Status(_)) => None,
    }
}

/// A figure of both sides, and their difference.
pub(super) struct Compared {
    pub(super) metric: Metric,
    /// Values for the base and for the new side.
    pub(super) values: [Option<f64>; 2],
    pub(super) found: Result<Difference, Unknown>,
}

/// Rows of these figures. `within` names the unit in which calls are counted, if it is not the run.
pub(super) fn rows(compared: Vec<Compared>, within: &str) -> Vec<Row> {
    let p_value = |compared: &Compared| compared.found.as_ref().ok().map(|difference| difference.p_value);
    let corrected = holm(&compared.iter().map(p_value).collect::<Vec<_>>());
    compared
        .into_iter()
        .zip(corrected)
        .map(|(Compared { metric, values: [base, new], found }, p_value_corrected)| {
            let difference = found.ok();
            let verdict = match (&found, p_value_corrected) {
                (Ok(difference), Some(p_value)) if p_value <= 1.0 - CONFIDENCE => {
                    let is_more = difference.absolute.value() > 0.0;
                    if is_more == (metric == Metric::Replies) {
                        RowVerdict::Better
                    } else {
                        RowVerdict::Worse
                    }
                }
                (Ok(_), _) => RowVerdict::NoDifferenceShown,
                (Err(_), _) => RowVerdict::NotEnoughData,
            };
            Row {
                metric: metric.to_string(),
                unit: Unit::of(metric),
                base,
                new,
                difference: difference.map(|difference| Change::of(&difference.absolute)),
                relative: difference.and_then(|difference| difference.relative.as_ref().map(Change::of)),
                p_value: difference.map(|difference| difference.p_value),
                p_value_corrected,
                verdict,
                why: found.err().map(|unknown| why(unknown, metric, within)),
            }
        })
        .collect()
}

fn why(unknown: Unknown, metric: Metric, within: &str) -> String {
    match unknown {
        Unknown::Nothing => match metric {
            Metric::Time { figure: Figure::Quantile(share), .. } => {
                format!("fewer than {} replies{within}", count(samples_needed(share)))
            }
            Metric::Time { .. } => "no replies".to_owned(),
            Metric::Share(_) => "no calls".to_owned(),
            Metric::Replies => "no time".to_owned(),
        },
        Unknown::Batches { batches } => {
            format!("intervals with data: {batches}, at least {BATCHES_MIN} needed")
        }
        Unknown::Pairs { pairs } => format!("rounds with data: {pairs}, at least {PAIRS_MIN} needed"),
        Unknown::Beyond { independent } => {
            let independent = fixed(independent, 1);
            format!("calls beyond it are worth {independent} independent ones, at least {BEYOND_MIN} needed")
        }
    }
}

impl Unit {
    fn of(metric: Metric) -> Self {
        match metric {
            Metric::Time { .. } => Self::Seconds,
            Metric::Share(_) => Self::Share,
            Metric::Replies => Self::PerSecond,
        }
    }

    /// Symbol, as in the columns of a table: `s`, `share`, `1/s`.
    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Seconds => "s",
            Self::Share => "share",
            Self::PerSecond => "1/s",
        }
    }

    /// Formats a figure in this unit.
    #[must_use]
    pub fn show(self, figure: Option<f64>) -> String {
        let Some(figure) = figure else { return "n/a".to_owned() };
        match self {
            Self::Seconds => time(figure * 1e3),
            Self::Share => percent(figure),
            Self::PerSecond => format!("{}/s", grouped(figure, 1)),
        }
    }

    /// Formats a difference in this unit.
    fn show_difference(self, difference: f64) -> String {
        let sign = if difference < 0.0 { '-' } else { '+' };
        match self {
            Self::Seconds => format!("{sign}{}", time(difference.abs() * 1e3)),
            Self::Share => format!("{} pp", signed(difference * 100.0, 2)),
            Self::PerSecond => format!("{}/s", signed(difference, 1)),
        }
    }
}

impl Change {
    fn of(estimate: &Estimate) -> Self {
        let interval = estimate.interval();
        Self {
            value: estimate.value(),
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
        }
    }

    fn is_beyond(&self, tolerance: Tolerance, bound: f64) -> Option<[bool; 2]> {
        Some([self.low?, self.high?].map(|end| tolerance.relation().holds(end, bound)))
    }
}

impl Row {
    /// Difference in the row's unit.
    #[must_use]
    pub fn difference_text(&self) -> String {
        self.difference.map_or_else(String::new, |change| self.unit.show_difference(change.value))
    }

    /// Difference as a share of the base; empty for a share, whose base may be 0.
    #[must_use]
    pub fn change_text(&self) -> String {
        match self.relative {
            Some(change) if self.unit != Unit::Share => percentage(change.value),
            _ => String::new(),
        }
    }

    /// Interval of the change; for a share, of the difference.
    #[must_use]
    pub fn interval_text(&self) -> String {
        let ends = |change: Change| change.low.zip(change.high);
        match self.unit {
            Unit::Share => self.difference.and_then(ends).map_or_else(String::new, |(low, high)| {
                format!("{} to {} pp", signed(low * 100.0, 2), signed(high * 100.0, 2))
            }),
            _ => self.relative.and_then(ends).map_or_else(String::new, |(low, high)| {
                format!("{} to {} %", signed(low * 100.0, 1), signed(high * 100.0, 1))
            }),
        }
    }

    /// Verdict with its reason.
    pub(crate) fn verdict_text(&self) -> String {
        match &self.why {
            Some(why) => format!("{}: {why}", self.verdict.word()),
            None => self.verdict.word().to_owned(),
        }
    }
}

fn percentage(share: f64) -> String {
    format!("{} %", signed(share * 100.0, 1))
}

impl RowVerdict {
    /// Word for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Better => "better",
            Self::NoDifferenceShown => "no difference shown",
            Self::NotEnoughData => "not enough data",
        }
    }

    /// Symbol that does not depend on colour.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Worse => "✗",
            Self::Better => "✓",
            Self::NoDifferenceShown => "=",
            Self::NotEnoughData => "?",
        }
    }
}

/// Judges a tolerance by the interval of its row.
pub(super) fn held(tolerance: Tolerance, rows: &[Row]) -> Held {
    let name = tolerance.metric().to_string();
    let Some(row) = rows.iter().find(|row| row.metric == name) else { return Held::CannotTell };
    let beyond = match tolerance.change() {
        Allowed::Difference(bound) => row.difference.and_then(|change| change.is_beyond(tolerance, bound)),
        Allowed::Share(bound) => match (row.relative, row.base, row.new) {
            (Some(change), ..) => change.is_beyond(tolerance, bound),
            // Both are zero: no change.
            (None, Some(0.0), Some(0.0)) => Some([tolerance.relation().holds(0.0, bound); 2]),
            (None, ..) => row.difference.and_then(|change| {
                let share = |end: f64| if end == 0.0 { 0.0 } else { end.signum() * f64::INFINITY };
                let ends = [change.low?, change.high?].map(share);
                Some(ends.map(|end| tolerance.relation().holds(end, bound)))
            }),
        },
    };
    match beyond {
        Some([true, true]) => Held::Exceeded,
        Some([false, false]) => Held::Kept,
        Some(_) | None => Held::CannotTell,
    }
}
