//! Timeline of a run: throughput, with the latency below.

use httperf_report::headings;
use httperf_report::number::grouped;
use httperf_report::result::Document;

use super::figure::Figure;
use super::over_time::OverTime;
use super::percentiles::{doubt, facts};
use super::{Picture, Style};

/// Offered load, replies and latency over the time of the run.
#[must_use]
pub fn timeline(document: &Document, style: &Style) -> Picture {
    let run = OverTime::of(document);
    let mut facts = vec![facts(document)];
    facts.extend(doubt(document));
    if run.seconds() > 1.5 {
        facts.push(format!("Each point is of {} seconds.", grouped(run.seconds(), 0)));
    }
    let figure = Figure {
        title: format!("{} over time", headings::title(&document.plan)),
        facts,
        about: "Two graphs over the time of the run in seconds. Above: calls offered, requests sent, replies and errors per second. \
                Below: median, 99th percentile and maximum of the latency."
            .to_owned(),
        x: run.axis(),
        panels: vec![run.throughput(), run.latency()],
        usual_height: 600,
    };
    Picture { figure, style: *style }
}
