//! Axes: positions of values, and choice of ticks.

use httperf_report::number::{count, grouped, percent, quantile_name, time};
use serde::Serialize;

use super::text::{LABEL_SIZE, width};

/// Ratio of largest to smallest value above which an axis of times is logarithmic.
pub(super) const LINEAR_UP_TO: f64 = 50.0;

/// Smallest value on a logarithmic axis: times in ms are not measured more finely.
const LEAST: f64 = 1e-3;

/// Factor by which a logarithmic axis extends beyond its values.
const SLACK: f64 = 1.25;

/// Share of its values' range by which a logarithmic axis of times extends beyond them.
const TIMES_SLACK: f64 = 0.05;

/// Ratio of the ends of a logarithmic axis below which its ticks are evenly spaced numbers, as powers of ten are too far apart.
const NARROW: f64 = 8.0;

/// Largest value drawn.
const MOST: f64 = 1e15;

/// Minimum number of pixels between the labels of adjacent ticks.
const GAP: f64 = 14.0;

/// Minimum number of pixels between adjacent ticks of a vertical axis.
const GAP_UPRIGHT: f64 = 30.0;

/// An axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    /// Title, with the unit.
    pub(super) title: String,
    scale: Scale,
    /// Bounds; `to` is greater than `from`.
    from: f64,
    to: f64,
    labels: Labels,
    quantity: Quantity,
}

/// Scale of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Scale {
    Linear,
    Logarithmic,
}

/// Quantity on an axis, which determines how a single value is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Quantity {
    Number,
    /// Numbers of things: ticks are whole.
    Count,
    PerSecond,
    /// Shares in percent.
    Percent,
    /// Times in ms.
    Time,
    /// Instants in seconds.
    Seconds,
    /// Percentiles, as 1 / (1 − p).
    Percentile,
    /// Numbers of rounds.
    Round,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Labels {
    /// Plain numbers.
    Numbers,
    /// Times in suitable units, from ms.
    Times,
    /// Percentiles, from 1 / (1 − p).
    Percentiles,
}

/// A tick.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Position, as returned by [`Axis::place`].
    pub(super) place: f64,
    pub(super) label: String,
}

/// Orientation of an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Orientation {
    Level,
    Upright,
}

impl Axis {
    /// Axis from zero to a little beyond the maximum of the values.
    pub(super) fn from_zero(title: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        let greatest = extent(values).map_or(0.0, |(_, greatest)| greatest);
        let to = if greatest > 0.0 { greatest } else { 1.0 };
        Self {
            title: title.into(),
            scale: Scale::Linear,
            from: 0.0,
            to: to * 1.06,
            labels: Labels::Numbers,
            quantity: Quantity::Number,
        }
    }

    /// Axis between two numbers, both included.
    pub(super) fn between(title: impl Into<String>, from: f64, to: f64) -> Self {
        let from = if from.is_finite() { from.clamp(-MOST, MOST) } else { 0.0 };
        let least = from.abs().max(1.0) * 1e-6;
        let to = if to.is_finite() { to.clamp(from + least, 2.0 * MOST) } else { from + 1.0 };
        Self {
            title: title.into(),
            scale: Scale::Linear,
            from,
            to,
            labels: Labels::Numbers,
            quantity: Quantity::Number,
        }
    }

    /// Axis of percentages: from zero to a little beyond the maximum, at most 100.
    pub(super) fn percent(title: impl Into<String>, values: impl IntoIterator<Item = f64>) -> Self {
        let axis = Self::from_zero(title, values);
        // Tiny values must not look large.
        Self { to: axis.to.clamp(1.06, 105.0), quantity: Quantity::Percent, ..axis }
    }

    /// Axis of times in ms: logarithmic if their range is wide. `name` names the times.
    pub(super) fn times(name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        match extent(values.iter().copied().filter(|&ms| ms > 0.0)) {
            Some((least, greatest)) if greatest > least * LINEAR_UP_TO => {
                Self { labels: Labels::Times, ..Self::logarithmic(name, values) }.of(Quantity::Time)
            }
            _ => Self::from_zero(format!("{name} [ms]"), values).of(Quantity::Time),
        }
    }

    /// Logarithmic axis of times in ms whose ends differ by this factor at least.
    pub(super) fn logarithmic_times(
        name: &str,
        values: impl IntoIterator<Item = f64>,
        least_ratio: f64,
    ) -> Self {
        let (least, greatest) = extent(values.into_iter().filter(|&ms| ms > 0.0)).unwrap_or((1.0, 1.0));
        let (least, greatest) = (least.max(LEAST), greatest.max(LEAST));
        let slack = (greatest / least).powf(TIMES_SLACK).max(1.01);
        let (from, to) = (least / slack, greatest * slack);
        // Beyond both ends alike.
        let missing = (least_ratio / (to / from)).max(1.0).sqrt();
        let from = (from / missing).max(LEAST);
        Self {
            title: format!("{name} (log scale)"),
            scale: Scale::Logarithmic,
            from,
            to: (to * missing).max(from * 1.01),
            labels: Labels::Times,
            quantity: Quantity::Time,
        }
    }

    /// Logarithmic axis; values that are not above zero are placed at its beginning.
    pub(super) fn logarithmic(title: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let (least, greatest) = extent(values.into_iter().filter(|&value| value > 0.0)).unwrap_or((1.0, 1.0));
        let from = (least / SLACK).max(LEAST);
        Self {
            title: format!("{title} (log scale)"),
            scale: Scale::Logarithmic,
            from,
            to: (greatest * SLACK).max(from * 10.0),
            labels: Labels::Numbers,
            quantity: Quantity::Number,
        }
    }

    /// Axis of percentiles of this many samples.
    pub(super) fn percentiles(samples: f64) -> Self {
        Self {
            title: "percentile (one in 2, 10, 100, … took longer)".to_owned(),
            scale: Scale::Logarithmic,
            from: 1.0,
            to: samples.clamp(2.0, MOST).powf(1.02),
            labels: Labels::Percentiles,
            quantity: Quantity::Percentile,
        }
    }

    /// The same axis for another quantity.
    pub(super) fn of(self, quantity: Quantity) -> Self {
        Self { quantity, ..self }
    }

    pub(super) fn scale(&self) -> Scale {
        self.scale
    }

    pub(super) fn quantity(&self) -> Quantity {
        self.quantity
    }

    /// Position of a value as a share of the axis, from 0 to 1.
    pub(super) fn share(&self, value: f64) -> f64 {
        let (from, to) = self.ends();
        (self.place(value) - from) / (to - from)
    }

    /// Prints a single value with its unit.
    pub(super) fn reading(&self, value: f64) -> String {
        match self.quantity {
            Quantity::Number => grouped(value, if value.fract() == 0.0 { 0 } else { 1 }),
            Quantity::Count => count(value.round() as u64),
            Quantity::PerSecond => format!("{}/s", grouped(value, 1)),
            Quantity::Percent => percent(value / 100.0),
            Quantity::Time => time(value),
            Quantity::Seconds => format!("{} s", grouped(value, 1)),
            Quantity::Percentile => quantile_name(1.0 - 1.0 / value),
            Quantity::Round => format!("round {}", count(value.round() as u64)),
        }
    }

    /// Positions of its bounds.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.place(self.from), self.place(self.to))
    }

    /// Position of a value. Values beyond a bound are placed on it, NaN at the beginning.
    pub(super) fn place(&self, value: f64) -> f64 {
        let value = if value.is_nan() { self.from } else { value.clamp(self.from, self.to) };
        match self.scale {
            Scale::Linear => value,
            Scale::Logarithmic => value.log10(),
        }
    }

    /// As many ticks as are readable on this many pixels.
    pub(super) fn ticks(&self, pixels: f64, orientation: Orientation) -> Vec<Tick> {
        let mut coarsest = Vec::new();
        for values in self.choices() {
            let ticks: Vec<Tick> = values
                .iter()
                .map(|&value| Tick { place: self.place(value), label: self.label(value, &values) })
                .collect();
            if self.fit(&ticks, pixels, orientation) {
                return ticks;
            }
            coarsest = ticks;
        }
        self.thinned(coarsest, pixels, orientation)
    }

    /// Candidate sets of ticks, from many to few.
    fn choices(&self) -> Vec<Vec<f64>> {
        let is_inside = |value: &f64| (self.from..=self.to).contains(value);
        if self.labels == Labels::Percentiles {
            return vec![odds_marks(self.to).into_iter().filter(is_inside).collect()];
        }
        match self.scale {
            Scale::Linear => self.even_choices(),
            Scale::Logarithmic => {
                let powers = self.from.log10().floor() as i32..=self.to.log10().ceil() as i32;
                let of = |digits: &[f64], every: i32| -> Vec<f64> {
                    let powers = powers.clone().filter(|power| power.rem_euclid(every) == 0);
                    let values =
                        powers.flat_map(|power| digits.iter().map(move |digit| digit * 10_f64.powi(power)));
                    values.filter(is_inside).collect()
                };
                let choices = [
                    of(&[1.0, 2.0, 5.0], 1),
                    of(&[1.0, 3.0], 1),
                    of(&[1.0], 1),
                    of(&[1.0], 2),
                    of(&[1.0], 3),
                ];
                // Fewer than two ticks make no scale.
                let is_narrow = self.to < self.from * NARROW;
                let even = if is_narrow { self.even_choices() } else { Vec::new() };
                even.into_iter()
                    .chain(choices)
                    .enumerate()
                    .filter(|(index, values)| *index == 0 || values.len() > 1)
                    .map(|(_, values)| values)
                    .collect()
            }
        }
    }

    /// Candidate sets of evenly spaced numbers.
    fn even_choices(&self) -> Vec<Vec<f64>> {
        let span = self.to - self.from;
        let power = (span / 20.0).log10().floor() as i32;
        let steps =
            (power..=power + 2).flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(power)));
        let is_whole = matches!(self.quantity, Quantity::Count | Quantity::Round);
        let least = if is_whole { 1.0 } else { 0.0 };
        let steps = steps.filter(|&step| span / step <= 40.0 && step >= least);
        steps
            .map(|step| {
                let (first, last) =
                    ((self.from / step - 1e-9).ceil() as i64, (self.to / step + 1e-9).floor() as i64);
                (first..=last).map(|index| index as f64 * step).collect()
            })
            .collect()
    }

    fn label(&self, value: f64, all: &[f64]) -> String {
        match self.labels {
            Labels::Percentiles => quantile_name(1.0 - 1.0 / value),
            Labels::Times => plain_time(value),
            Labels::Numbers => {
                let step = match self.scale {
                    Scale::Linear => all.windows(2).map(|pair| pair[1] - pair[0]).fold(self.to, f64::min),
                    Scale::Logarithmic => value,
                };
                let decimals = (-(step * 1.000_001).log10().floor()).clamp(0.0, 9.0) as usize;
                if value < 0.0 {
                    format!("−{}", grouped(-value, decimals))
                } else {
                    grouped(value, decimals)
                }
            }
        }
    }

    fn fit(&self, ticks: &[Tick], pixels: f64, orientation: Orientation) -> bool {
        ticks
            .windows(2)
            .all(|pair| self.distance(&pair[0], &pair[1], pixels) >= room(&pair[0], &pair[1], orientation))
    }

    /// The readable ticks, starting with the first.
    fn thinned(&self, ticks: Vec<Tick>, pixels: f64, orientation: Orientation) -> Vec<Tick> {
        let mut kept: Vec<Tick> = Vec::new();
        for tick in ticks {
            let fits = kept
                .last()
                .is_none_or(|last| self.distance(last, &tick, pixels) >= room(last, &tick, orientation));
            if fits {
                kept.push(tick);
            }
        }
        kept
    }

    fn distance(&self, a: &Tick, b: &Tick, pixels: f64) -> f64 {
        let (from, to) = self.ends();
        (b.place - a.place) / (to - from) * pixels
    }
}

/// Pixels needed between two adjacent ticks.
fn room(a: &Tick, b: &Tick, orientation: Orientation) -> f64 {
    match orientation {
        Orientation::Level => (width(&a.label, LABEL_SIZE) + width(&b.label, LABEL_SIZE)) / 2.0 + GAP,
        Orientation::Upright => GAP_UPRIGHT,
    }
}

/// Minimum and maximum of some numbers; `None` if there are none.
fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    let finite = values.into_iter().filter(|value| value.is_finite()).map(|value| value.clamp(-MOST, MOST));
    finite.fold(None, |extent, value| match extent {
        None => Some((value, value)),
        Some((least, greatest)) => Some((f64::min(least, value), f64::max(greatest, value))),
    })
}

/// Formats a round time, given in ms, in a suitable unit.
fn plain_time(ms: f64) -> String {
    let (value, unit) = match ms {
        ms if ms >= 999.999 => (ms / 1e3, "s"),
        ms if ms < 0.999_999 => (ms * 1e3, "µs"),
        ms => (ms, "ms"),
    };
    let is_exact = |decimals: &i32| {
        let digits = value * 10_f64.powi(*decimals);
        (digits - digits.round()).abs() <= 1e-6 * digits.abs()
    };
    let decimals = (0..6).find(is_exact).unwrap_or(6);
    format!("{} {unit}", grouped(value, decimals as usize))
}

/// Ticks of an axis of 1 / (1 − p) for this many samples: p50, p90, p99 and so on.
pub(super) fn odds_marks(samples: f64) -> Vec<f64> {
    let nines = samples.log10().ceil().max(1.0) as i32;
    std::iter::once(2.0).chain((1..=nines).map(|nines| 10_f64.powi(nines))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn labels(axis: &Axis, pixels: f64, orientation: Orientation) -> Vec<String> {
        axis.ticks(pixels, orientation).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_fill_the_room() {
        let axis = Axis::from_zero("replies/s", [2_300.0]);
        assert_eq!(
            labels(&axis, 700.0, Orientation::Level),
            [
                "0", "200", "400", "600", "800", "1,000", "1,200", "1,400", "1,600", "1,800", "2,000",
                "2,200", "2,400"
            ]
        );
        assert_eq!(labels(&axis, 300.0, Orientation::Level), ["0", "500", "1,000", "1,500", "2,000"]);
        assert_eq!(labels(&axis, 100.0, Orientation::Upright), ["0", "1,000", "2,000"]);
        assert_eq!(
            labels(&Axis::from_zero("ms", [0.03]), 100.0, Orientation::Upright),
            ["0.00", "0.01", "0.02", "0.03"]
        );
        assert_eq!(
            labels(&Axis::from_zero("count", [2.0]).of(Quantity::Count), 400.0, Orientation::Upright),
            ["0", "1", "2"]
        );
        let rounds = Axis::between("round", 0.94, 3.06).of(Quantity::Round);
        assert_eq!(labels(&rounds, 700.0, Orientation::Level), ["1", "2", "3"]);
        assert_eq!(
            labels(&Axis::between("s", -0.5, 1.0), 200.0, Orientation::Level),
            ["−0.5", "0.0", "0.5", "1.0"]
        );
    }

    #[test]
    fn wide_ranges_of_times_are_logarithmic_and_have_units() {
        let axis = Axis::times("latency", [0.4, 9_000.0]);
        assert_eq!(axis.title, "latency (log scale)");
        assert_eq!(labels(&axis, 200.0, Orientation::Upright), ["1 ms", "10 ms", "100 ms", "1 s", "10 s"]);
        let axis = Axis::times("latency", [4.0, 90.0]);
        assert_eq!(axis.title, "latency [ms]");
        assert_eq!(labels(&axis, 200.0, Orientation::Upright), ["0", "20", "40", "60", "80"]);
        assert_eq!(Axis::times("latency", []).title, "latency [ms]");
        assert_eq!(Axis::times("latency", [0.0]).title, "latency [ms]");
    }

    #[test]
    fn a_narrow_logarithmic_axis_has_even_ticks_and_is_as_wide_as_asked() {
        let axis = Axis::logarithmic_times("latency", [20.2, 20.9], 1.25);
        assert_eq!(axis.title, "latency (log scale)");
        assert_eq!(labels(&axis, 400.0, Orientation::Level), ["19 ms", "20 ms", "21 ms", "22 ms"]);
        assert_eq!(labels(&axis, 800.0, Orientation::Level)[..3], ["18.5 ms", "19 ms", "19.5 ms"]);
        let axis = Axis::logarithmic_times("latency", [20.0, 20.0], 10.0);
        assert_eq!(labels(&axis, 200.0, Orientation::Upright), ["10 ms", "20 ms", "50 ms"]);
        assert_eq!(Axis::logarithmic_times("latency", [], 10.0).title, "latency (log scale)");
    }

    #[test]
    fn percentiles_are_as_far_apart_as_their_nines() {
        let axis = Axis::percentiles(20_000.0);
        let ticks = axis.ticks(600.0, Orientation::Level);
        let named: Vec<(&str, f64)> = ticks.iter().map(|tick| (&*tick.label, tick.place)).collect();
        assert_eq!(named[0].0, "p50");
        assert_eq!(named[1..], [("p90", 1.0), ("p99", 2.0), ("p99.9", 3.0), ("p99.99", 4.0)]);
        assert_eq!(labels(&axis, 150.0, Orientation::Level), ["p50", "p99", "p99.99"]);
    }

    #[test]
    fn a_tiny_share_does_not_look_large() {
        assert_eq!(Axis::percent("errors [%]", [0.0001]).to, 1.06);
        assert_eq!(Axis::percent("errors [%]", [100.0]).to, 105.0);
    }

    proptest! {
        #[test]
        fn values_lie_between_the_bounds_and_labels_do_not_touch(
            values in proptest::collection::vec(prop_oneof![any::<f64>(), 0.0..1e9_f64, 0.0..1.0_f64], 0..6),
            pixels in 10.0..4_000.0_f64,
        ) {
            let (first, last) = (values.first().copied().unwrap_or(0.0), values.last().copied().unwrap_or(0.0));
            let axes = [
                Axis::from_zero("", values.clone()),
                Axis::between("", first, last),
                Axis::percent("", values.clone()),
                Axis::times("", values.clone()),
                Axis::logarithmic_times("", values.clone(), 1.2),
                Axis::logarithmic("", values.clone()),
                Axis::percentiles(first.abs()),
            ];
            for axis in axes {
                let (from, to) = axis.ends();
                prop_assert!(from < to && from.is_finite() && to.is_finite(), "{axis:?}");
                for &value in &values {
                    prop_assert!((from..=to).contains(&axis.place(value)), "{axis:?} {value}");
                }
                for orientation in [Orientation::Level, Orientation::Upright] {
                    let ticks = axis.ticks(pixels, orientation);
                    prop_assert!(ticks.len() <= 200, "{axis:?}: {}", ticks.len());
                    prop_assert!(axis.fit(&ticks, pixels, orientation), "{axis:?}: {ticks:?}");
                    prop_assert!(ticks.iter().all(|tick| (from..=to).contains(&tick.place)), "{axis:?}: {ticks:?}");
                }
            }
        }
    }

    #[test]
    fn ticks_go_as_far_as_there_are_samples() {
        assert_eq!(odds_marks(1.0), [2.0, 10.0]);
        assert_eq!(odds_marks(1_000.0), [2.0, 10.0, 100.0, 1_000.0]);
        assert_eq!(odds_marks(1_001.0).last(), Some(&10_000.0));
    }
}
