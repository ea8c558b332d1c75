//! Names of steps, of load phases, and of what a reply failed, for rows of calls.

use std::time::Duration;

use httperf_plan::scenario::StepRequest;
use httperf_plan::{Arrivals, Phased, Plan, Workload};
use httperf_stats::{FailedLook, StepCall};

/// The names in a workload with scenarios.
#[derive(Debug)]
pub(super) struct StepNames {
    scenarios: Vec<ScenarioNames>,
    phased: Option<Phased>,
}

#[derive(Debug)]
struct ScenarioNames {
    name: String,
    steps: Vec<LookNames>,
}

#[derive(Debug)]
struct LookNames {
    name: String,
    status: String,
    captures: Vec<String>,
    checks: Vec<String>,
}

impl StepNames {
    /// The names of a plan; `None` if it has no scenarios.
    pub(super) fn of(plan: &Plan) -> Option<Self> {
        let Workload::Scenarios(workload) = &plan.workload else { return None };
        let scenarios = workload.scenarios.iter().map(|scenario| {
            let requests = scenario.calls().into_iter().map(|call| &workload.requests[call as usize]);
            ScenarioNames { name: scenario.name.clone(), steps: requests.map(LookNames::of).collect() }
        });
        let phased = match &plan.arrivals {
            Arrivals::Phased(phased) => Some(phased.clone()),
            _ => None,
        };
        Some(Self { scenarios: scenarios.collect(), phased })
    }

    /// The scenario and the step of a call, and the expectation that its reply failed; empty if it failed none.
    pub(super) fn of_call(&self, call: StepCall) -> [&str; 3] {
        let scenario = &self.scenarios[call.place.scenario as usize];
        let step = &scenario.steps[call.place.step as usize];
        let failed = match call.failed {
            None => "",
            Some(FailedLook::Status) => &step.status,
            Some(FailedLook::Capture(place)) => &step.captures[place as usize],
            Some(FailedLook::Check(place)) => &step.checks[place as usize],
        };
        [&scenario.name, &step.name, failed]
    }

    /// The load phase in which something is due; empty if the schedule has none.
    pub(super) fn phase_at(&self, due: Duration) -> &str {
        self.phased.as_ref().map_or("", |phased| &phased.phase_at(due).1.name)
    }
}

impl LookNames {
    fn of(request: &StepRequest) -> Self {
        Self {
            name: request.name.clone(),
            status: request.status.map_or_else(String::new, |status| format!("HTTP {status}")),
            captures: request.captures.iter().map(|capture| capture.label.clone()).collect(),
            checks: request.checks.iter().map(|check| check.label.clone()).collect(),
        }
    }
}
