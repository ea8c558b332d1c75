//! The schedule of visits: `[arrivals]`.

use std::time::Duration;

use super::document::View;
use super::problem::Problems;
use super::{Given, values};
use crate::{Arrivals, LoadPhase, NonEmpty, Phased, Process, UNLIMITED};

/// The schedule of visits.
pub(super) struct Load {
    pub(super) arrivals: Option<Arrivals>,
    pub(super) runtime: Option<Duration>,
    pub(super) visits: u64,
    pub(super) max_open: Option<std::num::NonZeroU32>,
}

/// The name of the only phase, if a ramp is written in the short form.
const ONLY_PHASE: &str = "ramp";

/// Returns the schedule that the table describes, if there is one. `ends_with_rows` is true if the rows of a feed end
/// the run.
pub(super) fn read(
    view: Option<&View<'_>>,
    given: &Given,
    ends_with_rows: bool,
    problems: &mut Problems,
) -> Load {
    let Some(view) = view else {
        let visits = given.visits.unwrap_or(UNLIMITED);
        return Load { arrivals: None, runtime: given.runtime, visits, max_open: None };
    };
    let arrivals = arrivals(view, problems);
    let length = view.form("for", values::duration).map(|length| length.value);
    let of_phases = match &arrivals {
        Some(Arrivals::Phased(phased)) => Some(phased.length()),
        _ => None,
    };
    let runtime = given.runtime.or(length).or(of_phases);
    let visits = given.visits.or_else(|| Some(view.whole("visits")?.value));
    if problems.is_empty() && runtime.is_none() && visits.is_none() && !ends_with_rows {
        let message = "expected an end of the run, got neither `for` nor `visits`";
        let problem = view.problem(view.at(), message);
        problems
            .push(problem.with_hint("`for = \"10m\"` bounds the time, `visits = 1000` the number of visits"));
    }
    Load { arrivals, runtime, visits: visits.unwrap_or(UNLIMITED), max_open: view.small("max-open") }
}

fn arrivals(view: &View<'_>, problems: &mut Problems) -> Option<Arrivals> {
    let process = match view.text("process").map(|process| process.value) {
        Some("uniform") => Process::Uniform,
        Some("poisson") => Process::Poisson,
        _ => Process::Even,
    };
    if let Some(users) = view.small("users") {
        return Some(Arrivals::Concurrent(users));
    }
    if view.has("phases") {
        return Some(Arrivals::Phased(Phased { process, phases: phases(view, problems)? }));
    }
    let rate = view.form("rate", values::rate)?;
    let (from, to) = rate.value;
    if from.max(to) <= 0.0 {
        problems.push(view.problem(rate.at, "expected a rate above 0, got 0"));
        return None;
    }
    if from == to {
        return Some(match process {
            Process::Even => Arrivals::Deterministic { period: 1.0 / from },
            Process::Uniform => Arrivals::Uniform { min: 0.0, max: 2.0 / from },
            Process::Poisson => Arrivals::Exponential { mean: 1.0 / from },
        });
    }
    let Some(length) = view.form("for", values::duration).filter(|length| !length.value.is_zero()) else {
        problems
            .push(view.problem(rate.at, "expected a time above 0 in the key `for` with a rate that changes"));
        return None;
    };
    let phase = LoadPhase { name: ONLY_PHASE.to_owned(), length: length.value, from, to };
    Some(Arrivals::Phased(Phased { process, phases: [phase].into() }))
}

fn phases(view: &View<'_>, problems: &mut Problems) -> Option<NonEmpty<LoadPhase>> {
    let mut phases: Vec<LoadPhase> = Vec::new();
    for table in view.list("phases") {
        let Some(name) = table.text("name") else { continue };
        if phases.iter().any(|phase| phase.name == name.value) {
            let message = format!("expected a name that no other phase has, got `{}`", name.value);
            problems.push(table.problem(name.at, message));
        }
        let (length, rate) = (table.form("for", values::duration), table.form("rate", values::rate));
        let (Some(length), Some(rate)) = (length, rate) else { continue };
        let (from, to) = rate.value;
        phases.push(LoadPhase { name: name.value.to_owned(), length: length.value, from, to });
    }
    let sum: f64 = phases.iter().map(LoadPhase::arrivals).sum();
    if problems.is_empty() && !(sum > 0.0 && sum.is_finite()) {
        let message = "expected a phase with a time and a rate above 0, got none";
        problems.push(view.problem(view.key_at("phases"), message));
    }
    NonEmpty::try_from(phases).ok()
}
