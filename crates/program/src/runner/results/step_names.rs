//! Names of steps, of load phases, and of what a reply failed, for rows of calls.

use std::borrow::Cow;
use std::time::Duration;

use httperf_plan::scenario::{StepRequest, Variable};
use httperf_plan::{Arrivals, Phased, Plan, Workload};
use httperf_report::not_made;
use httperf_stats::{FailedLook, StepCall};

/// The names in a workload with scenarios.
#[derive(Debug)]
pub(super) struct StepNames {
    scenarios: Vec<ScenarioNames>,
    phased: Option<Phased>,
    variables: Vec<Variable>,
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
        let scenarios = scenarios.collect();
        Some(Self { scenarios, phased, variables: workload.variables.clone() })
    }

    /// The scenario and the step of a call, and the expectation that its reply failed, or why it was not made; empty if
    /// it failed none.
    pub(super) fn of_call(&self, call: StepCall) -> [Cow<'_, str>; 3] {
        let scenario = &self.scenarios[call.place.scenario as usize];
        let step = &scenario.steps[call.place.step as usize];
        let failed = match call.failed {
            None => Cow::default(),
            Some(FailedLook::Status) => step.status.as_str().into(),
            Some(FailedLook::Capture(place)) => step.captures[place as usize].as_str().into(),
            Some(FailedLook::Check(place)) => step.checks[place as usize].as_str().into(),
            Some(FailedLook::Unmade(obstacle)) => not_made(obstacle, &self.variables).into(),
        };
        [scenario.name.as_str().into(), step.name.as_str().into(), failed]
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
