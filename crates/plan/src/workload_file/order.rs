//! The order of steps: what a request fills in is set before it.

use super::problem::{FileProblem, Missing, Problems};
use super::requests::Requests;
use crate::scenario::{
    Check, Feed, Filter, Operand, Query, Scenario, Step, StepBodyPart, StepRequest, StepText, Test, TextPart,
    Variable,
};

/// Finds the variables that a request fills in though no way to it sets them: such a call always fails. Each is a problem
/// once.
///
/// Of choices and loops any way may be taken, and a condition on a variable may hold: the check never refuses what could
/// work.
pub(super) fn check(
    scenarios: &[Scenario],
    feeds: &[Feed],
    variables: &[Variable],
    requests: &Requests,
    problems: &mut Problems,
) {
    let mut is_reported = vec![false; variables.len()];
    for scenario in scenarios {
        let mut walk = Walk {
            feeds,
            variables,
            requests,
            is_set: variables.iter().map(|variable| variable.initial.is_some()).collect(),
            set: Vec::new(),
            awaited: Vec::new(),
            is_reported,
            problems: &mut *problems,
        };
        scenario.feeds.iter().for_each(|&feed| walk.row(feed));
        walk.steps(&scenario.steps);
        is_reported = walk.is_reported;
    }
}

/// A walk along the steps of a scenario.
struct Walk<'a> {
    feeds: &'a [Feed],
    variables: &'a [Variable],
    requests: &'a Requests,
    /// True for each slot that may have a value here.
    is_set: Vec<bool>,
    /// The slots that became so on the way, in order.
    set: Vec<u32>,
    /// The slots without a value that assignments before the next request use.
    awaited: Vec<u32>,
    is_reported: Vec<bool>,
    problems: &'a mut Problems,
}

impl Walk<'_> {
    fn steps(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Call { request, .. } => self.call(*request as usize),
                Step::Think(_) => {}
                Step::Set { slot, value } => self.assign(*slot, value),
                Step::Row(feed) => self.row(*feed),
                Step::Repeat { max, steps, .. } => self.rounds(*max, steps),
                Step::Choose(choices) => {
                    let ways: Vec<&[Step]> = choices.iter().map(|choice| &choice.steps[..]).collect();
                    self.ways(&ways);
                }
                Step::If { condition, then, otherwise } => {
                    self.guard(condition);
                    self.ways(&[then, otherwise]);
                }
                Step::While { condition, at_most, steps } => {
                    self.guard(condition);
                    self.rounds(at_most.get(), steps);
                }
            }
        }
    }

    fn mark(&mut self, slot: u32) {
        if let Some(is_set) = self.is_set.get_mut(slot as usize)
            && !*is_set
        {
            *is_set = true;
            self.set.push(slot);
        }
    }

    fn is_unset(&self, slot: u32) -> bool {
        self.is_set.get(slot as usize) == Some(&false)
    }

    fn row(&mut self, feed: u32) {
        if let Some(feed) = self.feeds.get(feed as usize) {
            feed.slots.iter().for_each(|&slot| self.mark(slot));
        }
    }

    /// A copy of a variable without a value has none either, and is no mistake yet.
    fn assign(&mut self, slot: u32, value: &Operand) {
        match value {
            Operand::Variable(source) if self.is_unset(*source) => return,
            Operand::Text(text) => {
                let mut unset = Vec::new();
                self.text(text, &mut unset);
                self.awaited.extend(unset);
            }
            Operand::Value(_) | Operand::Variable(_) => {}
        }
        self.mark(slot);
    }

    /// Takes the variable of a condition for set: the steps below may be there for its sake.
    fn guard(&mut self, condition: &Check) {
        if let Query::Variable(slot) = condition.query {
            self.mark(slot);
        }
    }

    /// Walks along ways that exclude each other. Behind them, what any of them sets may be set.
    fn ways(&mut self, ways: &[&[Step]]) {
        let before = self.set.len();
        let mut set = Vec::new();
        for way in ways {
            self.steps(way);
            for slot in self.set.drain(before..) {
                if let Some(is_set) = self.is_set.get_mut(slot as usize) {
                    *is_set = false;
                }
                set.push(slot);
            }
        }
        set.into_iter().for_each(|slot| self.mark(slot));
    }

    /// Walks along the steps of a loop. In its second round, what any of them sets may be set.
    fn rounds(&mut self, max: u32, steps: &[Step]) {
        if max > 1 {
            self.mark_all(steps);
        }
        self.steps(steps);
    }

    fn mark_all(&mut self, steps: &[Step]) {
        for step in steps {
            match step {
                Step::Call { request, .. } => {
                    let request = self.requests.list.get(*request as usize);
                    let captures = request.iter().flat_map(|request| &request.captures);
                    captures.for_each(|capture| self.mark(capture.slot));
                }
                Step::Think(_) => {}
                Step::Set { slot, .. } => self.mark(*slot),
                Step::Row(feed) => self.row(*feed),
                Step::Repeat { steps, .. } | Step::While { steps, .. } => self.mark_all(steps),
                Step::Choose(choices) => choices.iter().for_each(|choice| self.mark_all(&choice.steps)),
                Step::If { then, otherwise, .. } => {
                    self.mark_all(then);
                    self.mark_all(otherwise);
                }
            }
        }
    }

    /// Walks along a call: the request, then its captures, then its checks.
    fn call(&mut self, place: usize) {
        let requests = self.requests;
        let Some(request) = requests.list.get(place) else { return };
        let mut unset = std::mem::take(&mut self.awaited);
        self.request(request, &mut unset);
        for capture in &request.captures {
            self.query(&capture.query, &mut unset);
            self.filters(&capture.filters, &mut unset);
            self.mark(capture.slot);
        }
        request.checks.iter().for_each(|check| self.check(check, &mut unset));
        unset.into_iter().for_each(|slot| self.report(slot, place));
    }

    fn report(&mut self, slot: u32, place: usize) {
        let is_first =
            self.is_reported.get_mut(slot as usize).is_some_and(|known| !std::mem::replace(known, true));
        let (Some(variable), Some((source, at))) =
            (self.variables.get(slot as usize), self.requests.places.get(place))
        else {
            return;
        };
        if !is_first {
            return;
        }
        let message = format!("expected a variable that is set before this request, got `{}`", variable.name);
        let captures = |request: &StepRequest| request.captures.iter().any(|capture| capture.slot == slot);
        let mut others = self.requests.list.iter().enumerate().filter(|(other, _)| *other != place);
        let hint = match others.find(|(_, request)| captures(request)) {
            Some((_, request)) => format!("make `{}` first, which sets it", request.name),
            None => "set it earlier, or give it a first value: in `[variables]`".to_owned(),
        };
        let is_given = !hint.starts_with("make ");
        let problem = FileProblem::new(source, at.clone(), message).with_hint(hint);
        self.problems.push(match is_given {
            true => problem.missing(Missing::Variable(variable.name.clone())),
            false => problem,
        });
    }

    fn request(&self, request: &StepRequest, unset: &mut Vec<u32>) {
        self.text(&request.uri, unset);
        request.headers.iter().for_each(|header| self.text(&header.value, unset));
        for part in request.body.iter().flatten() {
            match part {
                StepBodyPart::Text(text) => self.text(text, unset),
                StepBodyPart::File(_) => {}
            }
        }
    }

    fn check(&self, check: &Check, unset: &mut Vec<u32>) {
        self.query(&check.query, unset);
        self.filters(&check.filters, unset);
        match &check.predicate.test {
            Test::Equals(operand)
            | Test::Differs(operand)
            | Test::Above(operand)
            | Test::AtLeast(operand)
            | Test::Below(operand)
            | Test::AtMost(operand)
            | Test::StartsWith(operand)
            | Test::EndsWith(operand)
            | Test::Contains(operand) => match operand {
                Operand::Value(_) => {}
                Operand::Text(text) => self.text(text, unset),
                Operand::Variable(slot) => self.slot(*slot, unset),
            },
            Test::Matches(text) => self.text(text, unset),
            _ => {}
        }
    }

    /// Finds the variables in the texts of a query. The query `variable` asks for one that need not be set.
    fn query(&self, query: &Query, unset: &mut Vec<u32>) {
        if let Query::Header(text)
        | Query::Cookie { name: text, .. }
        | Query::JsonPath(text)
        | Query::XPath(text)
        | Query::Regex(text) = query
        {
            self.text(text, unset);
        }
    }

    fn filters(&self, filters: &[Filter], unset: &mut Vec<u32>) {
        for filter in filters {
            match filter {
                Filter::Regex(text) | Filter::Split(text) | Filter::JsonPath(text) | Filter::XPath(text) => {
                    self.text(text, unset);
                }
                Filter::Replace { old, new } | Filter::ReplaceRegex { pattern: old, new } => {
                    self.text(old, unset);
                    self.text(new, unset);
                }
                _ => {}
            }
        }
    }

    fn text(&self, text: &StepText, unset: &mut Vec<u32>) {
        for part in &text.parts {
            match part {
                TextPart::Variable { slot, filters } => {
                    self.slot(*slot, unset);
                    self.filters(filters, unset);
                }
                TextPart::Encoded { text, .. } => self.text(text, unset),
                TextPart::Literal(_) | TextPart::Pick(_) | TextPart::Uuid | TextPart::Date => {}
            }
        }
    }

    fn slot(&self, slot: u32, unset: &mut Vec<u32>) {
        if self.is_unset(slot) {
            unset.push(slot);
        }
    }
}
