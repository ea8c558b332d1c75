//! Rules between the parts of a scenario workload: every place and every slot exists.

use super::{
    Check, Filter, Operand, Query, Scenarios, Step, StepBodyPart, StepRequest, StepText, Test, TextPart,
};
use crate::PlanError;

/// Checks that every number in `scenarios` names something, for a plan with this many targets and load phases.
pub(crate) fn check(scenarios: &Scenarios, targets: usize, phases: usize) -> Result<(), PlanError> {
    let bounds = Bounds { scenarios, targets };
    for (index, feed) in scenarios.feeds.iter().enumerate() {
        feed.slots.iter().try_for_each(|&slot| bounds.slot(slot, || format!("feeds[{index}].slots")))?;
    }
    for (index, request) in scenarios.requests.iter().enumerate() {
        bounds.request(request, &format!("requests[{index}]"))?;
    }
    for (index, scenario) in scenarios.scenarios.iter().enumerate() {
        let path = format!("scenarios[{index}]");
        scenario.feeds.iter().try_for_each(|&feed| bounds.feed(feed, || format!("{path}.feeds")))?;
        bounds.steps(&scenario.steps, &format!("{path}.steps"), Scenarios::DEPTH_MAX)?;
    }
    let places: usize = scenarios.scenarios.iter().map(|scenario| scenario.calls().len()).sum();
    match places.saturating_mul(phases) {
        0..=Scenarios::FIGURES_MAX => Ok(()),
        figures => Err(wrong(
            "scenarios",
            format!("at most {} steps with calls, counted for each load phase", Scenarios::FIGURES_MAX),
            figures.to_string(),
        )),
    }
}

fn wrong(path: &str, expected: String, given: String) -> PlanError {
    PlanError { field: format!("workload.scenarios.{path}"), expected, given }
}

/// The numbers of things that places and slots may name.
struct Bounds<'p> {
    scenarios: &'p Scenarios,
    targets: usize,
}

impl Bounds<'_> {
    fn below(count: usize, given: u32, things: &str, path: impl FnOnce() -> String) -> Result<(), PlanError> {
        if (given as usize) < count {
            return Ok(());
        }
        let expected = format!("a number below {count}, the number of {things}");
        Err(wrong(&path(), expected, given.to_string()))
    }

    fn slot(&self, slot: u32, path: impl FnOnce() -> String) -> Result<(), PlanError> {
        Self::below(self.scenarios.variables.len(), slot, "variables", path)
    }

    fn feed(&self, feed: u32, path: impl FnOnce() -> String) -> Result<(), PlanError> {
        Self::below(self.scenarios.feeds.len(), feed, "feeds", path)
    }

    fn request(&self, request: &StepRequest, path: &str) -> Result<(), PlanError> {
        Self::below(self.targets, request.target, "targets", || format!("{path}.target"))?;
        self.text(&request.uri, path)?;
        request.headers.iter().try_for_each(|header| self.text(&header.value, path))?;
        for part in request.body.iter().flatten() {
            match part {
                StepBodyPart::Text(text) => self.text(text, path)?,
                StepBodyPart::File(_) => {}
            }
        }
        for capture in &request.captures {
            self.slot(capture.slot, || format!("{path}.captures"))?;
            self.query(&capture.query, path)?;
            self.filters(&capture.filters, path)?;
        }
        request.checks.iter().try_for_each(|check| self.check(check, path))
    }

    fn steps(&self, steps: &[Step], path: &str, depth: usize) -> Result<(), PlanError> {
        if depth == 0 {
            let expected = format!("steps within at most {} others", Scenarios::DEPTH_MAX);
            return Err(wrong(path, expected, "more".to_owned()));
        }
        for (index, step) in steps.iter().enumerate() {
            let path = format!("{path}[{index}]");
            match step {
                Step::Call { request, .. } => {
                    Self::below(self.scenarios.requests.len(), *request, "requests", || path)?;
                }
                Step::Think(_) => {}
                Step::Set { slot, value } => {
                    self.slot(*slot, || path.clone())?;
                    self.operand(value, &path)?;
                }
                Step::Row(feed) => self.feed(*feed, || path)?,
                Step::Repeat { min, max, steps } => {
                    if min > max {
                        return Err(wrong(&path, format!("a `max` of at least {min}"), max.to_string()));
                    }
                    self.steps(steps, &path, depth - 1)?;
                }
                Step::Choose(choices) => {
                    choices.iter().try_for_each(|choice| self.steps(&choice.steps, &path, depth - 1))?;
                }
                Step::If { condition, then, otherwise } => {
                    self.check(condition, &path)?;
                    self.steps(then, &path, depth - 1)?;
                    self.steps(otherwise, &path, depth - 1)?;
                }
                Step::While { condition, steps, .. } => {
                    self.check(condition, &path)?;
                    self.steps(steps, &path, depth - 1)?;
                }
            }
        }
        Ok(())
    }

    fn check(&self, check: &Check, path: &str) -> Result<(), PlanError> {
        self.query(&check.query, path)?;
        self.filters(&check.filters, path)?;
        match &check.predicate.test {
            Test::Equals(operand)
            | Test::Differs(operand)
            | Test::Above(operand)
            | Test::AtLeast(operand)
            | Test::Below(operand)
            | Test::AtMost(operand)
            | Test::StartsWith(operand)
            | Test::EndsWith(operand)
            | Test::Contains(operand) => self.operand(operand, path),
            Test::Matches(text) => self.text(text, path),
            _ => Ok(()),
        }
    }

    fn query(&self, query: &Query, path: &str) -> Result<(), PlanError> {
        match query {
            Query::Variable(slot) => self.slot(*slot, || path.to_owned()),
            Query::Header(text)
            | Query::Cookie { name: text, .. }
            | Query::JsonPath(text)
            | Query::XPath(text)
            | Query::Regex(text) => self.text(text, path),
            _ => Ok(()),
        }
    }

    fn operand(&self, operand: &Operand, path: &str) -> Result<(), PlanError> {
        match operand {
            Operand::Value(_) => Ok(()),
            Operand::Text(text) => self.text(text, path),
            Operand::Variable(slot) => self.slot(*slot, || path.to_owned()),
        }
    }

    fn filters(&self, filters: &[Filter], path: &str) -> Result<(), PlanError> {
        filters.iter().try_for_each(|filter| match filter {
            Filter::Regex(text) | Filter::Split(text) | Filter::JsonPath(text) | Filter::XPath(text) => {
                self.text(text, path)
            }
            Filter::Replace { old, new } | Filter::ReplaceRegex { pattern: old, new } => {
                self.text(old, path)?;
                self.text(new, path)
            }
            _ => Ok(()),
        })
    }

    fn text(&self, text: &StepText, path: &str) -> Result<(), PlanError> {
        text.parts.iter().try_for_each(|part| match part {
            TextPart::Variable { slot, filters } => {
                self.slot(*slot, || path.to_owned())?;
                self.filters(filters, path)
            }
            TextPart::Encoded { text, .. } => self.text(text, path),
            TextPart::Literal(_) | TextPart::Pick(_) | TextPart::Uuid | TextPart::Date => Ok(()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::scenario::{Reach, Scenario};

    fn request(uri: StepText) -> StepRequest {
        StepRequest {
            name: "home".to_owned(),
            origin: "home.hurl:1".to_owned(),
            method: "GET".to_owned(),
            target: 0,
            uri,
            headers: Vec::new(),
            body: None,
            follows: false,
            status: None,
            captures: Vec::new(),
            checks: Vec::new(),
            websocket: None,
        }
    }

    fn scenarios(steps: Vec<Step>) -> Scenarios {
        let scenario =
            Scenario { name: "visitor".to_owned(), weight: NonZeroU32::MIN, feeds: Vec::new(), steps };
        Scenarios {
            count: 1,
            seed: 0,
            scenarios: [scenario].into(),
            requests: vec![request(StepText::literal(b"/"))],
            feeds: Vec::new(),
            variables: Vec::new(),
            connections: Reach::Visit,
            cookies: true,
            max_open: None,
        }
    }

    fn call(request: u32) -> Step {
        Step::Call { request, ends_on_failure: false }
    }

    fn repeat(steps: Vec<Step>) -> Step {
        Step::Repeat { min: 1, max: 1, steps }
    }

    #[track_caller]
    fn refused(scenarios: &Scenarios, expected: &str) {
        assert_eq!(check(scenarios, 1, 1).unwrap_err().to_string(), expected);
    }

    #[test]
    fn places_and_slots_that_name_nothing_are_refused_by_their_paths() {
        assert_eq!(check(&scenarios(vec![repeat(vec![call(0)])]), 1, 1), Ok(()));
        refused(
            &scenarios(vec![call(0), repeat(vec![call(1)])]),
            "workload.scenarios.scenarios[0].steps[1][0]: expected a number below 1, the number of requests, got 1",
        );
        refused(
            &scenarios(vec![Step::Row(0)]),
            "workload.scenarios.scenarios[0].steps[0]: expected a number below 0, the number of feeds, got 0",
        );
        refused(
            &scenarios(vec![Step::Repeat { min: 3, max: 2, steps: Vec::new() }]),
            "workload.scenarios.scenarios[0].steps[0]: expected a `max` of at least 3, got 2",
        );
        let mut unset = scenarios(vec![call(0)]);
        let coded = StepText { parts: vec![TextPart::Variable { slot: 0, filters: Vec::new() }] };
        unset.requests[0].uri.push(TextPart::Encoded { coding: crate::scenario::Coding::Query, text: coded });
        refused(
            &unset,
            "workload.scenarios.requests[0]: expected a number below 0, the number of variables, got 0",
        );
        let mut astray = scenarios(vec![call(0)]);
        astray.requests[0].target = 1;
        refused(
            &astray,
            "workload.scenarios.requests[0].target: expected a number below 1, the number of targets, got 1",
        );
    }

    #[test]
    fn steps_within_steps_end_at_a_depth() {
        let nested = |depth| (1..depth).fold(vec![call(0)], |steps, _| vec![repeat(steps)]);
        assert_eq!(check(&scenarios(nested(Scenarios::DEPTH_MAX)), 1, 1), Ok(()));
        assert!(check(&scenarios(nested(Scenarios::DEPTH_MAX + 1)), 1, 1).is_err());
    }

    #[test]
    fn figures_are_bounded_by_steps_and_phases() {
        let one = scenarios(vec![call(0), call(0)]);
        assert_eq!(check(&one, 1, Scenarios::FIGURES_MAX), Ok(()));
        let error = check(&one, 1, Scenarios::FIGURES_MAX + 1).unwrap_err();
        assert_eq!((&error.field[..], &error.given[..]), ("workload.scenarios.scenarios", "1001"));
    }
}
