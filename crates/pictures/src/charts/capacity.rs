//! Charts of a search for a capacity: the graphs of its picture, one by one.

use httperf_report::capacity::CapacityReport;

use crate::capacity::{axis, panels};

use super::{Chart, align};

/// Ids, titles and descriptions of the charts, in the order of the picture's graphs.
const CHARTS: [(&str, &str, &str); 2] = [
    ("answered", "Answered", "Each trial is a point. Beyond the capacity, points leave the diagonal."),
    (
        "times",
        "The objective on a time",
        "The line is the bound. Trials in which too few calls were answered are missing.",
    ),
];

/// Charts with data to draw.
#[must_use]
pub fn of_capacity(capacity: &CapacityReport) -> Vec<Chart> {
    let x = axis(capacity);
    let panels = panels(capacity).into_iter().zip(CHARTS);
    let mut charts: Vec<Chart> = panels
        .filter(|(panel, _)| !capacity.trials.is_empty() && !panel.is_empty())
        .map(|(panel, (id, title, about))| Chart::new(id, title, about, &x, &panel))
        .collect();
    align(&mut charts);
    charts
}
