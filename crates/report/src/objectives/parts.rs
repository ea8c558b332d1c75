//! Objectives for a part of a run: a scenario, a step or a load phase.

use std::borrow::Cow;
use std::time::Duration;

use httperf_plan::objective::{Clock, Metric, Objective, Scope, ScopedObjective, Share};
use httperf_plan::{Arrivals, Plan, Workload};
use httperf_stats::{
    CallOutcome, Firsts, Merge as _, PhaseVisits, ScenarioVisits, StepFigures, StepStreams, Summary, Timing,
    Visits,
};

use super::{Judged, Times, overdue};
use crate::errors::ErrorFigures;
use crate::number::ratio;

/// Judges all objectives of a plan for parts of its run, in order.
pub(super) fn judge(plan: &Plan, summary: &Summary) -> Vec<Judged> {
    plan.objectives.scoped.iter().map(|scoped| judged(scoped, plan, summary)).collect()
}

fn judged(scoped: &ScopedObjective, plan: &Plan, summary: &Summary) -> Judged {
    let objective = scoped.objective;
    let judged = match Part::of(&scoped.scope, plan, summary) {
        Some(part) => part.judge(objective),
        None => Judged::of_figure(objective, None),
    };
    Judged { scope: Some(scoped.scope.clone()), ..judged }
}

/// Figures of a part of a run.
#[derive(Default)]
struct Part {
    calls: StepFigures,
    completed: Timing,
    abandoned: Timing,
    unfinished: Timing,
    /// Length of the part.
    time: Duration,
    /// True for a step, which has calls and no visits.
    is_step: bool,
}

impl Part {
    /// Figures of a part; `None` if there is no such part.
    fn of(scope: &Scope, plan: &Plan, summary: &Summary) -> Option<Self> {
        let Workload::Scenarios(scenarios) = &plan.workload else { return None };
        let visits = summary.visits.as_deref()?;
        let mut part = Self { time: summary.duration, ..Self::default() };
        match scope {
            Scope::Phase(name) => {
                let (phase, length) = phase(name, plan, visits)?;
                part.time = length;
                phase.scenarios.iter().for_each(|scenario| part.add_scenario(scenario));
            }
            Scope::Scenario(name) => {
                let place = scenarios.scenarios.iter().position(|scenario| scenario.name == *name)?;
                part.add_scenario(visits.total().scenarios.get(place)?);
            }
            Scope::Step { scenario: of, step } => {
                part.is_step = true;
                for (scenario, figures) in scenarios.scenarios.iter().zip(&visits.total().scenarios) {
                    if of.as_ref().is_some_and(|of| *of != scenario.name) {
                        continue;
                    }
                    let steps = scenario.calls().into_iter().zip(&figures.steps);
                    let named = steps.filter(|(call, _)| scenarios.requests[*call as usize].name == *step);
                    named.for_each(|(_, figures)| part.calls.merge(figures));
                }
            }
        }
        Some(part)
    }

    fn add_scenario(&mut self, scenario: &ScenarioVisits) {
        scenario.steps.iter().for_each(|step| self.calls.merge(step));
        self.completed.merge(&scenario.completed);
        self.abandoned.merge(&scenario.abandoned);
        if let Some(unfinished) = &scenario.unfinished {
            self.unfinished.merge(unfinished);
        }
    }

    fn judge(&self, objective: Objective) -> Judged {
        match objective.metric() {
            Metric::Time { clock, figure } => match self.times(clock, objective.bound()) {
                Some(times) => Judged::of_times(objective, figure, times.figure(figure), &times),
                None => Judged::of_figure(objective, None),
            },
            Metric::Share(share) => Judged::of_figure(objective, self.share(share)),
            Metric::Replies => {
                let replies = self.ended() - self.outcome(CallOutcome::Failure) - self.calls.drained;
                let seconds = self.time.as_secs_f64();
                Judged::of_figure(
                    objective,
                    (seconds > 0.0).then(|| (ratio(replies as f64, seconds), replies)),
                )
            }
        }
    }

    /// Times of a clock; `None` if parts of a run have none.
    fn times(&self, clock: Clock, bound: f64) -> Option<Times<'_>> {
        let unusable = self.outcome(CallOutcome::Failure) + self.outcome(CallOutcome::Unexpected);
        let overdue = self.calls.unfinished.as_deref().map_or(0, |unfinished| overdue(bound, unfinished));
        let times = |taken, endless| Some(Times { taken: Cow::Borrowed(taken), endless });
        match clock {
            Clock::Latency => times(&self.calls.calls.latency, unusable + overdue),
            Clock::Service => times(&self.calls.calls.service, unusable + overdue),
            Clock::Session => times(
                &self.completed,
                self.abandoned.moments.count() + super::overdue(bound, &self.unfinished),
            ),
            Clock::Response | Clock::Transfer | Clock::Connect | Clock::Handshake | Clock::Lag => None,
            Clock::FirstEvent => self.firsts(|streams| &streams.first_event, overdue),
            Clock::FirstToken => self.firsts(|streams| &streams.first_token, overdue),
            Clock::Gap | Clock::TokenGap | Clock::PerToken | Clock::RoundTrip | Clock::Ping => None,
        }
    }

    /// Times to something in a stream; `None` if nothing in a stream came.
    ///
    /// As in the whole run, a stream that ended without it counts as longer than any other, and so does a call that failed
    /// before it became a stream.
    fn firsts(&self, of: fn(&StepStreams) -> &Firsts, overdue: u64) -> Option<Times<'_>> {
        let streams = self.calls.streams.as_deref()?;
        let Firsts { times, unfinished } = of(streams);
        let in_vain = streams.ended.saturating_sub(times.moments.count().saturating_sub(*unfinished));
        let failed = self.outcome(CallOutcome::Failure).saturating_sub(streams.cut);
        let open = self.calls.unfinished.as_deref().map_or(0, |calls| calls.moments.count());
        let endless = in_vain + failed + overdue.min(open.saturating_sub(*unfinished));
        Some(Times { taken: Cow::Borrowed(times), endless })
    }

    /// A share, and its denominator.
    fn share(&self, share: Share) -> Option<(f64, u64)> {
        let (part, whole) = match share {
            Share::Errors | Share::Failed | Share::Unexpected => {
                let unfinished = self.calls.unfinished.as_deref().map_or(0, |calls| calls.moments.count());
                let errors = ErrorFigures::of_calls(self.calls.calls.outcomes, unfinished);
                return errors.share_of(share).map(|found| (found, errors.whole()));
            }
            Share::Abandoned if self.is_step => (self.calls.abandoned, self.ended()),
            Share::Abandoned => {
                let abandoned = self.abandoned.moments.count();
                (abandoned, abandoned + self.completed.moments.count())
            }
            Share::Checks => {
                let made = self.calls.checks_made;
                (made.saturating_sub(self.calls.checks_failed()), made)
            }
            Share::Status(_) | Share::Good => return None,
        };
        (whole > 0).then(|| (ratio(part as f64, whole as f64), whole))
    }

    fn outcome(&self, outcome: CallOutcome) -> u64 {
        self.calls.calls.outcomes[outcome as usize]
    }

    fn ended(&self) -> u64 {
        self.calls.calls.calls()
    }
}

/// Figures and length of the load phase with this name.
fn phase<'a>(name: &str, plan: &Plan, visits: &'a Visits) -> Option<(&'a PhaseVisits, Duration)> {
    let Arrivals::Phased(phased) = &plan.arrivals else { return None };
    let place = phased.phases.iter().position(|phase| phase.name == name)?;
    Some((visits.phases.get(place)?, phased.phases[place].length))
}
