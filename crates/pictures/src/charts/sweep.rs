//! Charts of a sweep: the graphs of its picture, one by one.

use crate::sweep::{axis, panels};
use crate::sweep_curve::{ARROWS, INTERVALS, LIMITED};
use crate::{Point, SweepCurve};

use super::{Chart, align};

/// Ids and descriptions of the charts, in the order of the picture's graphs.
const CHARTS: [(&str, &str); 4] = [
    ("replies", "It follows the diagonal as long as the server keeps up, and bends where it is saturated."),
    (
        "errors",
        "Calls that ended without a reply, with a status of 400 and above, or with an unexpected reply; connections \
         that failed, where no calls are made.",
    ),
    (
        "times",
        "Latency counts from the instants at which calls were due, response time from the first bytes sent.",
    ),
    (
        "waits",
        "The wait for the first event or token counts from the instants at which calls were due; the others are gaps between \
         events, or times per output token.",
    ),
];

/// Charts with data to draw.
#[must_use]
pub fn of_sweep(curve: &SweepCurve) -> Vec<Chart> {
    let x = axis(curve);
    let hollow = match curve.points.iter().any(|point: &Point| point.is_client_limited) {
        true => format!(" Hollow points: {LIMITED}."),
        false => String::new(),
    };
    let bars = if curve.has_intervals() { format!(" Bars: {INTERVALS}.") } else { String::new() };
    let arrows = if curve.points.iter().any(Point::is_open) { format!(" {ARROWS}") } else { String::new() };
    let mut charts: Vec<Chart> = panels(curve)
        .into_iter()
        .zip(CHARTS)
        .filter(|(panel, _)| !panel.is_empty())
        .map(|(panel, (id, about))| {
            let arrows = if id == "times" { &*arrows } else { "" };
            Chart::new(id, panel.name, format!("{about}{arrows}{bars}{hollow}"), &x, &panel)
        })
        .collect();
    align(&mut charts);
    charts
}
