//! Percentile curves as HdrHistogram has them: the axis is logarithmic in 1 / (1 − p), so that each further nine has as
//! much room as the one before it.

use httperf_stats::Timing;
use plotly::common::{DashType, Line, Marker, Mode};
use plotly::layout::{Axis, AxisRange, AxisType, HoverMode};
use plotly::{Scatter, Traces};

use crate::number::{quantile_name, rounded};

use super::{Chart, Extent, WIDTH, layout};

/// Points of a curve for each further nine.
const POINTS_PER_NINE: f64 = 40.0;

/// Lines differ in them as well as in their colours.
pub(super) const DASHES: [DashType; 4] = [DashType::Solid, DashType::Dash, DashType::DashDot, DashType::Dot];

/// A curve for each timing, which has a name and a colour. Nothing if there are no samples.
pub(super) fn percentile_curves(
    id: &'static str,
    title: &'static str,
    about: &'static str,
    timings: &[(&str, &Timing, &'static str)],
) -> Option<Chart> {
    let shown: Vec<_> = timings.iter().filter(|(_, timing, _)| !timing.is_empty()).collect();
    let most = shown.iter().map(|(_, timing, _)| timing.moments.count()).max()? as f64;
    let curves: Vec<Curve> = shown.iter().map(|(_, timing, _)| Curve::of(timing)).collect();
    let extent = Extent::of(curves.iter().flat_map(|curve| &curve.ms));
    let mut data = Traces::new();
    for (((name, _, color), curve), dash) in shown.into_iter().zip(curves).zip(DASHES.into_iter().cycle()) {
        let mode = if curve.ms.len() <= 2 { Mode::LinesMarkers } else { Mode::Lines };
        let line = Scatter::new(curve.odds, curve.ms)
            .name(*name)
            .mode(mode)
            .line(Line::new().color(*color).width(WIDTH).dash(dash))
            .marker(Marker::new().size(9))
            .text_array(curve.names)
            .hover_template(format!("{name} %{{text}}: %{{y:,.3f}} ms<extra></extra>"));
        data.push(line);
    }
    let nines = most.log10().ceil().max(1.0) as i32;
    let marks: Vec<f64> = std::iter::once(2.0).chain((1..=nines).map(|nines| 10_f64.powi(nines))).collect();
    let names = marks.iter().map(|odds| quantile_name(1.0 - 1.0 / odds)).collect();
    let x_axis = Axis::new()
        .type_(AxisType::Log)
        .range(AxisRange::new(0.0, most.log10().max(0.3) * 1.02))
        .tick_values(marks)
        .tick_text(names);
    let layout = layout(x_axis, extent.axis_of_ms()).hover_mode(HoverMode::X);
    Some(Chart { id, title, about, data, layout })
}

/// The points of a curve, which ends where one sample is left.
struct Curve {
    /// 1 / (1 − p): one in how many took longer.
    odds: Vec<f64>,
    ms: Vec<f64>,
    names: Vec<String>,
}

impl Curve {
    fn of(timing: &Timing) -> Self {
        let samples = timing.moments.count() as f64;
        let steps = (samples.log10() * POINTS_PER_NINE).floor() as u32;
        let odds = (0..=steps).map(|step| 10_f64.powf(f64::from(step) / POINTS_PER_NINE));
        let mut curve = Self { odds: Vec::new(), ms: Vec::new(), names: Vec::new() };
        for odds in odds.filter(|&odds| odds < samples) {
            let share = 1.0 - 1.0 / odds;
            curve.push(odds, timing, share, quantile_name(share));
        }
        curve.push(samples, timing, 1.0, "max".to_owned());
        curve
    }

    fn push(&mut self, odds: f64, timing: &Timing, share: f64, name: String) {
        let Some(value) = timing.quantile(share) else { return };
        self.odds.push(rounded(odds));
        self.ms.push(rounded(value.as_secs_f64() * 1e3));
        self.names.push(name);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_curve_goes_from_the_least_to_the_greatest_and_ends_where_one_sample_is_left() {
        let mut timing = Timing::default();
        (1..=1000).for_each(|ms| timing.add(Duration::from_millis(ms)));
        let curve = Curve::of(&timing);
        assert_eq!((curve.odds[0], curve.ms[0]), (1.0, 1.0));
        assert_eq!((curve.odds.last(), curve.ms.last()), (Some(&1000.0), Some(&1000.0)));
        assert!(curve.ms.is_sorted() && curve.odds.is_sorted());
        assert!(curve.odds.len() < 200);
    }

    #[test]
    fn a_single_sample_is_a_point() {
        let mut timing = Timing::default();
        timing.add(Duration::from_millis(3));
        let curve = Curve::of(&timing);
        assert_eq!((curve.odds, curve.ms), (vec![1.0], vec![3.0]));
    }
}
