//! Scenarios of a workload file: servers, schedule and objectives, with the options that override them.

use std::time::Duration;

use httperf_load::scenario::Program;
use httperf_plan::objective::Scope;
use httperf_plan::url::HttpUrl;
use httperf_plan::workload_file::WorkloadFile;
use httperf_plan::{Arrivals, NonEmpty, Objectives, Plan, Target, UNLIMITED, Workload};

use super::sources::Route;
use super::{Error, load, tls_name};
use crate::args::Args;

/// The servers of a workload file.
pub(super) fn targets(
    args: &Args,
    route: &Route<'_>,
    file: &WorkloadFile,
) -> Result<NonEmpty<Target>, Error> {
    let target = |url: &HttpUrl| {
        let host = url.host.as_bytes();
        let port = url.port.unwrap_or(if url.https { 443 } else { 80 });
        route.target(url.authority(), tls_name(args, &[Some(host)]), host, port)
    };
    let targets = file.origins.iter().map(target).collect::<Result<Vec<Target>, Error>>()?;
    NonEmpty::try_from(targets).map_err(|_| Error::NoRequests)
}

/// Returns whether options of the command line describe the arrivals.
fn overrides_arrivals(args: &Args) -> bool {
    args.arrivals != Arrivals::Sequential || args.load.concurrency.is_some()
}

pub(super) fn arrivals(args: &Args, file: &WorkloadFile) -> Arrivals {
    match &file.arrivals {
        Some(arrivals) if !overrides_arrivals(args) => arrivals.clone(),
        _ => load::arrivals(args),
    }
}

/// The time for which load is offered according to the file. Options for the time take its place.
pub(super) fn runtime(args: &Args, file: &WorkloadFile) -> Option<Duration> {
    let is_typed = load::runtime(args) > 0.0;
    file.runtime.filter(|_| !is_typed)
}

/// The visits. If nothing bounds them, one is made.
pub(super) fn workload(args: &Args, file: &WorkloadFile) -> Workload {
    let mut scenarios = file.scenarios.clone();
    let is_timed = file.runtime.is_some() || load::runtime(args) > 0.0;
    if scenarios.count == UNLIMITED && !is_timed && !scenarios.end_with_rows() {
        scenarios.count = 1;
    }
    if let Some(cap) = args.load.max_open {
        scenarios.max_open = Some(cap);
    }
    Workload::Scenarios(Box::new(scenarios))
}

/// The objectives of the command line after those of the file. Where options take the place of the file's phases, their
/// objectives go with them.
pub(super) fn objectives(
    args: &Args,
    file: Option<&WorkloadFile>,
    warn: &mut dyn FnMut(String),
) -> Objectives {
    let typed = &args.results.objectives;
    let Some(file) = file else { return typed.clone() };
    let mut objectives = file.objectives.clone();
    if overrides_arrivals(args) {
        let count = objectives.scoped.len();
        objectives.scoped.retain(|scoped| !matches!(scoped.scope, Scope::Phase(_)));
        if objectives.scoped.len() < count {
            warn("the objectives of phases are left out: options take the place of the phases".to_owned());
        }
    }
    objectives.all.extend(typed.all.iter().copied());
    objectives.abort |= typed.abort;
    objectives
}

/// Compiles the scenarios of a plan, to find what is wrong in them.
pub(super) fn check(plan: &Plan) -> Result<(), Error> {
    let Workload::Scenarios(scenarios) = &plan.workload else { return Ok(()) };
    Program::new(plan, scenarios).map(drop).map_err(|malformed| Error::Scenario(malformed.to_string()))
}
