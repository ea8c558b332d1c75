//! Percentile curves in the style of HdrHistogram: the axis is logarithmic in 1 / (1 − p), so that each
//! further nine takes the same space.

use httperf_stats::Timing;
use plotly::common::{DashType, Line, Marker, Mode};
use plotly::layout::{Axis, AxisRange, AxisType, HoverMode};
use plotly::{Scatter, Traces};

use crate::curves::{PercentileCurve, odds_marks};
use crate::number::quantile_name;

use super::{Chart, Extent, WIDTH, layout};

/// Dashes, which distinguish lines in addition to their colours.
pub(super) const DASHES: [DashType; 4] = [DashType::Solid, DashType::Dash, DashType::DashDot, DashType::Dot];

/// A curve for each timing, given with its name and colour; `None` if there are no samples.
pub(super) fn percentile_curves(
    id: &'static str,
    title: &'static str,
    about: &'static str,
    timings: &[(&str, &Timing, &'static str)],
) -> Option<Chart> {
    let shown: Vec<_> = timings.iter().filter(|(_, timing, _)| !timing.is_empty()).collect();
    let most = shown.iter().map(|(_, timing, _)| timing.moments.count()).max()? as f64;
    let curves: Vec<PercentileCurve> =
        shown.iter().map(|(_, timing, _)| PercentileCurve::of(timing)).collect();
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
    let marks = odds_marks(most);
    let names = marks.iter().map(|odds| quantile_name(1.0 - 1.0 / odds)).collect();
    let x_axis = Axis::new()
        .type_(AxisType::Log)
        .range(AxisRange::new(0.0, most.log10().max(0.3) * 1.02))
        .tick_values(marks)
        .tick_text(names);
    let layout = layout(x_axis, extent.axis_of_ms()).hover_mode(HoverMode::X);
    Some(Chart { id, title, about, data, layout })
}
