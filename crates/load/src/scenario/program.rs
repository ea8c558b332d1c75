//! Scenarios compiled to flat lists of operations.

use std::borrow::Cow;
use std::num::NonZeroU32;

use httperf_plan::Plan;
use httperf_plan::scenario::{AtEnd, Choice, FeedOrder, Operand, Pause, Scenario, Scenarios, Step, Value};

use super::request::StepRequests;
use super::secrets::{Secrets, redacted_slots};
use super::visit::Visit;
use super::{Condition, Malformed, Text};
use crate::draws::Draws;

/// The scenarios of a plan, compiled: what the visits of a worker share.
#[derive(Debug)]
pub struct Program<'p> {
    pub(super) plan: &'p Scenarios,
    pub(super) ops: Vec<Op<'p>>,
    /// The place at which each scenario begins.
    pub(super) starts: Vec<usize>,
    pub(super) requests: StepRequests<'p>,
    client: httperf_plan::Client,
    /// The choice of a visit's scenario.
    mix: Table<u32>,
    /// Some feed gives rows by the order of visits.
    has_ordered_feeds: bool,
    /// Some capture is redacted.
    has_secrets: bool,
}

/// An operation of a visit.
#[derive(Debug)]
pub(super) enum Op<'p> {
    /// Makes a call, and goes on after its end.
    Call { request: u32, place: u32, ends_on_failure: bool },
    /// Pauses.
    Think(Pause),
    /// Sets a variable, before the call of this step.
    Set { slot: usize, value: Assigned<'p>, before: Option<u32> },
    /// Takes a row of a feed.
    Row(usize),
    /// Draws a number of rounds and begins the first, or goes to `end` if there is none.
    Rounds { min: u32, max: u32, end: usize },
    /// Begins another round at `start` if any is left.
    Again { start: usize },
    /// Gives up the rounds that are left.
    Break,
    /// Goes to one of several places.
    Choose(Table<usize>),
    /// Goes to `to` unless the condition holds.
    Unless { condition: Condition<'p>, to: usize },
    /// Goes elsewhere.
    Jump(usize),
    /// Ends the visit.
    End,
}

/// The value that an operation gives to a variable.
#[derive(Debug)]
pub(super) enum Assigned<'p> {
    Value(&'p Value),
    Text(Text<'p>),
    Variable(usize),
}

/// Things to choose from, by weight.
#[derive(Clone, Debug)]
pub(super) struct Table<T> {
    /// For each thing, the sum of the weights up to it.
    sums: Vec<(u64, T)>,
}

impl<T: Copy> Table<T> {
    fn new(weighted: impl Iterator<Item = (NonZeroU32, T)>) -> Self {
        let mut sum = 0;
        let sums = weighted.map(|(weight, thing)| {
            sum += u64::from(weight.get());
            (sum, thing)
        });
        Self { sums: sums.collect() }
    }

    /// Chooses one. Draws nothing if there is only one.
    pub(super) fn choose(&self, draws: &mut Draws) -> T {
        let (total, last) = *self.sums.last().expect("there is something to choose from");
        if self.sums.len() == 1 {
            return last;
        }
        let drawn = draws.between(0, total - 1);
        self.sums[self.sums.partition_point(|&(sum, _)| sum <= drawn)].1
    }
}

impl<'p> Program<'p> {
    /// Compiles the scenarios of a plan.
    ///
    /// # Errors
    /// A regular expression or JSONPath that is malformed.
    pub fn new(plan: &'p Plan, scenarios: &'p Scenarios) -> Result<Self, Malformed> {
        let mut compiler = Compiler::default();
        let mut starts = Vec::new();
        for scenario in &scenarios.scenarios {
            starts.push(compiler.ops.len());
            compiler.calls = scenario.calls();
            compiler.steps(&scenario.steps)?;
            if let Some(last) = compiler.calls.len().checked_sub(1) {
                // Those behind the last call belong to it.
                compiler.assigned_before(u32::try_from(last).expect("a plan has few steps"));
            }
            compiler.ops.push(Op::End);
        }
        let number = |scenario: usize| u32::try_from(scenario).expect("scenarios are few");
        let weights = scenarios.scenarios.iter().enumerate();
        let is_ordered = |feed: &u32| scenarios.feeds[*feed as usize].order != FeedOrder::Random;
        Ok(Self {
            plan: scenarios,
            ops: compiler.ops,
            starts,
            requests: StepRequests::new(plan, scenarios)?,
            client: plan.client,
            has_secrets: redacted_slots(scenarios).next().is_some(),
            mix: Table::new(weights.map(|(index, scenario)| (scenario.weight, number(index)))),
            has_ordered_feeds: scenarios
                .scenarios
                .iter()
                .any(|scenario| scenario.feeds.iter().any(is_ordered)),
        })
    }

    /// Returns a request target as outputs may show it, if a secret of the visit is in it.
    #[must_use]
    pub fn redacted(&self, visit: &Visit, uri: &[u8]) -> Option<Box<[u8]>> {
        if !self.has_secrets {
            return None;
        }
        let uri = String::from_utf8_lossy(uri);
        match Secrets::of(self.plan, visit.values()).redact(&uri) {
            Cow::Owned(shown) => Some(shown.into_bytes().into()),
            Cow::Borrowed(_) => None,
        }
    }

    /// Chooses the scenario of a visit. Returns its number, and the random numbers for the rest of the visit.
    pub(super) fn scenario_of(&self, visit: u64) -> (u32, Draws) {
        let mut draws = Draws::of_visit(self.client, self.plan.seed, visit);
        (self.mix.choose(&mut draws), draws)
    }
}

/// The numbers of rows that visits took from feeds with an order, up to a visit. Each shard counts the rows of all
/// visits, so that a row is the same for any number of shards.
#[derive(Clone, Debug)]
pub struct RowsTaken {
    /// The number of visits counted.
    visits: u64,
    /// For each feed, the number of rows that they took.
    rows: Vec<u64>,
    /// The first feed that had no row left for a visit.
    used_up: Option<u32>,
}

impl RowsTaken {
    /// Creates the counts at the beginning of a run.
    #[must_use]
    pub fn new(program: &Program<'_>) -> Self {
        Self { visits: 0, rows: vec![0; program.plan.feeds.len()], used_up: None }
    }

    /// Counts the rows of all visits before this one. Visits must be asked for in order.
    fn advance(&mut self, program: &Program<'_>, visit: u64) {
        if !program.has_ordered_feeds {
            return;
        }
        while self.visits < visit {
            let scenario = program.scenario(program.scenario_of(self.visits).0);
            self.used_up = self.used_up.or_else(|| self.lacks_row(program, scenario));
            scenario.feeds.iter().for_each(|&feed| self.rows[feed as usize] += 1);
            self.visits += 1;
        }
    }

    /// Returns a feed of a scenario that has no row left.
    fn lacks_row(&self, program: &Program<'_>, scenario: &Scenario) -> Option<u32> {
        scenario.feeds.iter().copied().find(|&feed| {
            let taken = self.rows[feed as usize];
            let feed = &program.plan.feeds[feed as usize];
            let ends = feed.order == FeedOrder::Unique && feed.at_end == AtEnd::Stop;
            ends && program.own_row(taken) >= feed.rows.count()
        })
    }

    /// Returns the feed that has no row left for this visit, or for one before it: no further visit starts.
    pub fn used_up(&mut self, program: &Program<'_>, visit: u64) -> Option<u32> {
        self.advance(program, visit);
        if self.used_up.is_none() && program.has_ordered_feeds {
            return self.lacks_row(program, program.scenario(program.scenario_of(visit).0));
        }
        self.used_up
    }

    /// Returns the row that this visit takes of a feed; `None` of an empty one.
    pub(super) fn row(
        &mut self,
        program: &Program<'_>,
        visit: u64,
        feed: usize,
        draws: &mut Draws,
    ) -> Option<u64> {
        self.advance(program, visit);
        let source = &program.plan.feeds[feed];
        let last = source.rows.count().checked_sub(1)?;
        Some(match source.order {
            FeedOrder::Random => draws.between(0, last),
            FeedOrder::Unique | FeedOrder::Cycle => program.own_row(self.rows[feed]) % source.rows.count(),
        })
    }
}

impl<'p> Program<'p> {
    /// Returns the row that this generator takes after `taken` others, of a feed with an order: generators that work
    /// together take turns.
    pub(super) fn own_row(&self, taken: u64) -> u64 {
        taken.saturating_mul(self.client.count.get().into()).saturating_add(self.client.index.into())
    }

    pub(super) fn scenario(&self, number: u32) -> &'p Scenario {
        &self.plan.scenarios[number as usize]
    }
}

#[derive(Default)]
struct Compiler<'p> {
    ops: Vec<Op<'p>>,
    /// The requests of the scenario that is being compiled. The place of one numbers the step.
    calls: Vec<u32>,
    /// The places of assignments before the next call.
    assignments: Vec<usize>,
}

/// A place that is not known yet.
const LATER: usize = usize::MAX;

impl<'p> Compiler<'p> {
    fn steps(&mut self, steps: &'p [Step]) -> Result<(), Malformed> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &'p Step) -> Result<(), Malformed> {
        match step {
            Step::Call { request, ends_on_failure } => {
                let place = self.calls.iter().position(|call| call == request);
                let place = place.expect("a scenario lists all its calls");
                let place = u32::try_from(place).expect("a plan has few steps");
                self.ops.push(Op::Call { request: *request, place, ends_on_failure: *ends_on_failure });
                self.assigned_before(place);
            }
            Step::Think(pause) => self.ops.push(Op::Think(*pause)),
            Step::Set { slot, value } => {
                let value = match value {
                    Operand::Value(value) => Assigned::Value(value),
                    Operand::Text(text) => Assigned::Text(Text::new(text)?),
                    Operand::Variable(slot) => Assigned::Variable(*slot as usize),
                };
                self.assignments.push(self.ops.len());
                self.ops.push(Op::Set { slot: *slot as usize, value, before: None });
            }
            Step::Row(feed) => self.ops.push(Op::Row(*feed as usize)),
            Step::Repeat { min, max, steps } => {
                let rounds = self.rounds(*min, *max);
                let start = self.ops.len();
                self.steps(steps)?;
                self.ops.push(Op::Again { start });
                self.land(rounds);
            }
            Step::Choose(choices) => self.choose(choices)?,
            Step::If { condition, then, otherwise } => {
                let unless = self.unless(Condition::new(condition)?);
                self.steps(then)?;
                let jump = self.later(Op::Jump(LATER));
                self.land(unless);
                self.steps(otherwise)?;
                self.land(jump);
            }
            Step::While { condition, at_most, steps } => {
                let rounds = self.rounds(at_most.get(), at_most.get());
                let start = self.ops.len();
                let unless = self.unless(Condition::new(condition)?);
                self.steps(steps)?;
                self.ops.push(Op::Again { start });
                let jump = self.later(Op::Jump(LATER));
                self.land(unless);
                self.ops.push(Op::Break);
                self.land(jump);
                self.land(rounds);
            }
        }
        Ok(())
    }

    /// Notes the step in whose preparation the assignments so far are made.
    fn assigned_before(&mut self, step: u32) {
        for place in self.assignments.drain(..) {
            if let Op::Set { before, .. } = &mut self.ops[place] {
                *before = Some(step);
            }
        }
    }

    fn choose(&mut self, choices: &'p [Choice]) -> Result<(), Malformed> {
        let choose = self.later(Op::Break);
        let mut branches = Vec::new();
        let mut ends = Vec::new();
        for choice in choices {
            branches.push((choice.weight, self.ops.len()));
            self.steps(&choice.steps)?;
            ends.push(self.later(Op::Jump(LATER)));
        }
        ends.into_iter().for_each(|end| self.land(end));
        self.ops[choose] = Op::Choose(Table::new(branches.into_iter()));
        Ok(())
    }

    fn rounds(&mut self, min: u32, max: u32) -> usize {
        self.later(Op::Rounds { min, max, end: LATER })
    }

    fn unless(&mut self, condition: Condition<'p>) -> usize {
        self.later(Op::Unless { condition, to: LATER })
    }

    /// Adds an operation whose destination is not known yet. Returns its place.
    fn later(&mut self, op: Op<'p>) -> usize {
        self.ops.push(op);
        self.ops.len() - 1
    }

    /// Makes the next operation the destination of the one at `place`.
    fn land(&mut self, place: usize) {
        let next = self.ops.len();
        if let Op::Jump(to) | Op::Unless { to, .. } | Op::Rounds { end: to, .. } = &mut self.ops[place] {
            *to = next;
        }
    }
}
