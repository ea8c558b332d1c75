//! Text of a sweep, for people: a row for each rate, followed by the conclusions.

use std::fmt::Write as _;

use httperf_plan::objective::ScopedObjective;
use httperf_plan::{Plan, StreamedReplies};

use super::{End, Mean, State, Step, StreamWaits, Sweep};
use crate::all_calls::Percentile;
use crate::forms::Screen;
use crate::grid::{Column, Grid};
use crate::number::{count, grouped, percent, time};
use crate::objectives::Kept;

const WRITES: &str = "a String takes everything";

/// Subject and rows.
pub(crate) fn body(sweep: &Sweep, screen: Screen) -> String {
    let mut out = screen.fitted(head(sweep));
    let steps = final_steps(sweep);
    if !steps.is_empty() {
        let grid = grid(sweep, screen);
        out.push('\n');
        out += &grid.head();
        steps.into_iter().for_each(|step| out += &grid.row(&cells(step, &sweep.plan), &notes(step)));
    }
    out
}

/// Steps that no further run changes. Rows come by ascending rate: while runs are made, they end before the first
/// rate that lacks one.
fn final_steps(sweep: &Sweep) -> Vec<&Step> {
    let steps = sweep.figures.steps.iter();
    if sweep.end.is_some() {
        return steps.collect();
    }
    let is_final = |step: &Step, rate: f64| step.rate == rate && step.runs >= sweep.settings.repeats;
    let pairs = steps.zip(&sweep.settings.rates);
    pairs.take_while(|&(step, &rate)| is_final(step, rate)).map(|(step, _)| step).collect()
}

/// Subject of the sweep.
fn head(sweep: &Sweep) -> String {
    let Sweep { settings, plan, .. } = sweep;
    let servers: Vec<String> = plan.targets.iter().map(|target| target.endpoint.to_string()).collect();
    let unit = sweep.unit().name();
    let mut out = format!("{}: ", servers.join(", "));
    out += &match (&settings.rates[..], settings.rates.len()) {
        ([only], _) => format!("{} {unit}/s", rate(*only)),
        ([first, .., last], rates) => {
            format!("{rates} rates from {} to {} {unit}/s", rate(*first), rate(*last))
        }
        ([], _) => "no rates".to_owned(),
    };
    if settings.repeats > 1 {
        write!(out, ", {} runs at each", count(settings.repeats.into())).expect(WRITES);
    }
    if settings.shuffled_by.is_some() {
        out += ", in random order";
    }
    if let Some(runtime) = plan.runtime {
        write!(out, "; {} s each", rate(runtime.as_secs_f64())).expect(WRITES);
    }
    if let Some(fleet) = sweep.runs.first().and_then(|run| run.result.fleet.as_ref()) {
        write!(out, "; a fleet of {}", fleet.size).expect(WRITES);
    }
    out.push('\n');
    out
}

/// Widths of cells: large enough for what is usual, so that rows can be shown one by one.
const RATE_WIDTH: usize = 9;
const RATE_WITH_MARGIN_WIDTH: usize = 18;
const TIME_WIDTH: usize = 8;
const SHARE_WIDTH: usize = 7;

/// Width of a terminal below which the first column has a short title.
const NARROW: usize = 60;

/// The table. Columns that say less are left out where there is no room: they are in the other forms.
fn grid(sweep: &Sweep, screen: Screen) -> Grid {
    let settings = &sweep.settings;
    let rates = settings.rates.iter().map(|&one| rate(one).chars().count());
    let replies = if settings.repeats > 1 { RATE_WITH_MARGIN_WIDTH } else { RATE_WIDTH };
    let waits = match waits(&sweep.plan) {
        Some([first, late, gap]) => vec![
            Column::new(first, "", TIME_WIDTH).rank(1),
            Column::new(late, "", TIME_WIDTH).spare(4),
            Column::new(gap, "", TIME_WIDTH).rank(1),
        ],
        None => vec![Column::new("response", "", TIME_WIDTH).rank(3)],
    };
    // The line above names the unit.
    let is_narrow = screen.columns.is_some_and(|columns| columns < NARROW);
    let title = if is_narrow { "rate".to_owned() } else { format!("{}/s", sweep.unit().name()) };
    let mut columns = vec![
        Column::new(title, "", rates.max().unwrap_or(0)),
        Column::new("achieved", "", RATE_WIDTH).rank(2),
        Column::new("replies/s", "", replies),
        Column::new("min", "", RATE_WIDTH).rank(4),
        Column::new("max", "", RATE_WIDTH).rank(5),
        Column::new("stddev", "", RATE_WIDTH).rank(6),
    ];
    columns.extend(waits);
    columns.extend([
        Column::new("p50", "", TIME_WIDTH).spare(3),
        Column::new("p99", "", TIME_WIDTH),
        Column::new("errors", "", SHARE_WIDTH).spare(1),
        Column::new("verdict", "", "SUSPECT".len()).text().spare(2),
    ]);
    Grid::new(columns, "notes", screen.columns)
}

/// Names of the columns of waits where every reply is a stream: median and 99th percentile of the first one, and the median of
/// the following ones. `None` where the wait for the status line says more.
fn waits(plan: &Plan) -> Option<[&'static str; 3]> {
    let streams = &plan.replies.streams;
    if streams.model.is_some() {
        return Some(["TTFT p50", "TTFT p99", "TPOT p50"]);
    }
    let are_streams =
        streams.read == StreamedReplies::All || streams.grpc.is_some_and(|grpc| grpc.server_streams);
    are_streams.then_some(["first p50", "first p99", "gap p50"])
}

fn cells(step: &Step, plan: &Plan) -> Vec<String> {
    let wait = |mean: Option<&Mean>| mean.map_or_else(none, |mean| time(mean.value));
    let waits = match (waits(plan), step.stream_waits.unwrap_or_default()) {
        (Some(_), StreamWaits { first_p50_ms, first_p99_ms, gap_p50_ms, .. }) => {
            [first_p50_ms, first_p99_ms, gap_p50_ms].map(|mean| wait(mean.as_ref())).to_vec()
        }
        (None, _) => vec![wait(step.response_ms.as_ref())],
    };
    let mut cells = vec![
        rate(step.rate),
        grouped(step.achieved.value, 1),
        figure(&step.reply_rate, 1),
        grouped(step.reply_rate_min, 1),
        grouped(step.reply_rate_max, 1),
        grouped(step.reply_rate_stddev, 1),
    ];
    cells.extend(waits);
    cells.extend([
        percentile(step.all_p50),
        percentile(step.all_p99),
        percent(step.error_share.value),
        step.verdict.to_string(),
    ]);
    cells
}

/// Remarks not visible in the figures of a rate.
fn notes(step: &Step) -> String {
    let mut notes: Vec<String> = match step.state {
        State::KeptUp => None,
        State::Saturated => Some(format!("saturated: {} answered", percent(step.answered_share.value))),
        State::Unanswered => Some("nothing answered".to_owned()),
        State::ClientLimited => Some("client-limited".to_owned()),
    }
    .into_iter()
    .collect();
    match step.objectives {
        None => {}
        Some(Kept::Met) => notes.push("objectives met".to_owned()),
        Some(kept) => {
            let which = step.objectives_not_met.join(", ");
            notes.push(format!("{} {which}", kept.to_string().to_lowercase()));
        }
    }
    if !step.reasons.is_empty() {
        notes.push(step.reasons.join(", "));
    }
    if step.client_limited_runs > 0 && step.state != State::ClientLimited {
        notes.push(format!("{} of {} runs left out, client-limited", step.client_limited_runs, step.runs));
    }
    if step.lacks_recovery {
        notes.push("not recovered beforehand".to_owned());
    }
    notes.join("; ")
}

/// Conclusions.
pub(crate) fn ending(sweep: &Sweep) -> String {
    let Sweep { figures, settings, .. } = sweep;
    let unit = sweep.unit();
    let steps = &figures.steps;
    let mut lines = Vec::new();
    lines.push(format!("Conclusion: {}.", figures.conclusion.text));
    lines.extend(knee(sweep));
    if let Some(peak) = figures.peak {
        let most = grouped(peak.good_reply_rate, 1);
        lines.push(format!(
            "Most replies without an error: {most}/s, at {} {}/s.",
            rate(peak.rate),
            unit.name()
        ));
    }
    lines.extend(objectives(sweep));
    let limited: Vec<String> =
        steps.iter().filter(|step| step.state == State::ClientLimited).map(|step| rate(step.rate)).collect();
    if !limited.is_empty() {
        lines.push(format!(
            "At {}/s this client was the bottleneck: these figures say nothing about the server and are ignored above.",
            listed(&limited)
        ));
    }
    if settings.repeats > 1 && !steps.is_empty() {
        lines.push("Figures are means over the runs at a rate; ± for 95 % confidence.".to_owned());
    }
    match sweep.end {
        Some(End::Complete) => {}
        Some(End::Saturated) => {
            let stop_after = settings.stop_after.unwrap_or_default();
            let rates = if stop_after == 1 { "a rate" } else { "rates in a row" };
            let how_many = if stop_after == 1 { String::new() } else { format!("{stop_after} ") };
            lines.push(format!(
                "Higher rates were skipped after {how_many}{rates} that the server could not keep up with."
            ));
        }
        Some(End::Asked) => {
            let (made, all) = (runs_made(sweep), runs_meant(sweep));
            lines.push(format!("Interrupted after {} of {} runs.", count(made), count(all)));
        }
        None => {
            let (made, all) = (runs_made(sweep), runs_meant(sweep));
            lines.push(format!("In progress: {} of {} runs.", count(made), count(all)));
        }
    }
    let gap = if steps.is_empty() { "" } else { "\n" };
    format!("{gap}{}\n", lines.join("\n"))
}

fn runs_made(sweep: &Sweep) -> u64 {
    sweep.figures.steps.iter().map(|step| u64::from(step.runs)).sum()
}

fn runs_meant(sweep: &Sweep) -> u64 {
    sweep.settings.rates.len() as u64 * u64::from(sweep.settings.repeats)
}

/// Where the knee is, if it was reached.
fn knee(sweep: &Sweep) -> Option<String> {
    let (figures, unit) = (&sweep.figures, sweep.unit().name());
    let (knee, (kept_up, fell_behind)) = (figures.knee?, figures.knee_between?);
    let mut text = format!("Knee: about {} {unit}/s", rate(knee));
    match kept_up {
        0.0 => write!(text, ", below {}", rate(fell_behind)),
        kept_up => write!(text, ", between {} and {}", rate(kept_up), rate(fell_behind)),
    }
    .expect(WRITES);
    if let Some(Mean { value, low: Some(low), high: Some(high) }) = figures.knee_of_repeats {
        let [value, low, high] = [value, low, high].map(|rate| grouped(rate, 1));
        write!(text, " ({value} in the mean of the repeats, 95 %: {low} to {high})").expect(WRITES);
    }
    Some(text + "; beyond it, replies no longer follow.")
}

/// Highest rate that met the objectives; `None` if there are none.
fn objectives(sweep: &Sweep) -> Option<String> {
    let objectives = &sweep.plan.objectives;
    let scoped = objectives.scoped.iter().map(ScopedObjective::name);
    let all: Vec<String> = objectives.all.iter().map(ToString::to_string).chain(scoped).collect();
    if all.is_empty() || sweep.figures.steps.is_empty() {
        return None;
    }
    let (all, unit) = (all.join(", "), sweep.unit().name());
    let Some(highest) = sweep.figures.objectives_met_at else {
        return Some(format!("Objectives ({all}): met at none of these rates."));
    };
    let missed_below: Vec<String> = sweep
        .figures
        .steps
        .iter()
        .filter(|step| step.rate < highest && step.objectives == Some(Kept::Missed))
        .map(|step| rate(step.rate))
        .collect();
    let missed = match &missed_below[..] {
        [] => String::new(),
        rates => format!(", but missed at {}/s", listed(rates)),
    };
    Some(format!("Objectives ({all}): met up to {} {unit}/s{missed}.", rate(highest)))
}

/// Joins items, such as `1, 2 and 3`.
pub(super) fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [only] => only.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// Formats a rate with as many decimals as it has, up to three.
pub(super) fn rate(rate: f64) -> String {
    let text = grouped(rate, 3);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Formats a mean with its margin.
fn figure(mean: &Mean, decimals: usize) -> String {
    let value = grouped(mean.value, decimals);
    match mean.margin() {
        Some(margin) => format!("{value} ± {}", grouped(margin, decimals)),
        None => value,
    }
}

/// A percentile of all calls; `>` marks one that is longer because calls had no reply.
fn percentile(percentile: Option<Percentile>) -> String {
    percentile.map_or_else(none, |Percentile { ms, or_more }| {
        format!("{}{}", if or_more { ">" } else { "" }, time(ms))
    })
}

/// Placeholder for a missing figure.
fn none() -> String {
    "n/a".to_owned()
}
