//! One visit: its place in the program, its variables, and what its last reply led to.

use std::time::{Duration, SystemTime};

use compact_str::CompactString;
use httperf_plan::scenario::{FeedOrder, Pause, Scenarios, Value};
use smallvec::SmallVec;

use super::program::{Assigned, Op, Program, RowsTaken};
use super::request::Redirect;
use super::{Failed, Filling, Judgement, Reply, Scratch, Secrets, Unset};
use crate::draws::Draws;

/// The longest pause, however long a random one would be.
const PAUSE_MAX: Duration = Duration::from_secs(24 * 3600);

/// The maximum number of redirects that a step follows, as in curl and Hurl.
pub const REDIRECTS_MAX: usize = 50;

/// A visit.
///
/// ```text
///   advance ──► Call ──► judge ──► advance …
///           ──► Think ───────────► advance …
///           ──► Finished, Failed
/// ```
#[derive(Debug)]
pub struct Visit {
    /// The number of the visit among those of the run.
    index: u64,
    scenario: u32,
    /// The place of the next operation.
    next: usize,
    /// The rounds left of each loop that the visit is in.
    rounds: SmallVec<[u32; 4]>,
    values: Box<[Option<Value>]>,
    draws: Draws,
    /// Calls made so far.
    calls: u64,
    /// Rows taken by steps so far.
    rows_taken: u64,
    /// The last call, once one was made.
    call: Option<Current>,
    /// The request target of the last call of a step that follows redirects.
    uri: Vec<u8>,
    redirects: Vec<CompactString>,
    redirect: Option<Redirect>,
    /// Its last call has failed in a way that ends it.
    has_failed: bool,
    /// Variables without a value have their names.
    shows_names: bool,
    /// The reason for which it cannot make its next call, and the step of that.
    obstacle: Option<(Obstacle, Option<u32>)>,
}

/// Reason for which a visit cannot make its next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// A text of the step cannot be filled in.
    Unset(Unset),
    /// A loop goes on without a call or a pause.
    Loop,
}

/// The call at which a visit is.
#[derive(Clone, Copy, Debug)]
struct Current {
    request: u32,
    place: u32,
    ends_on_failure: bool,
}

/// The next action of a visit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Make a call with this request.
    Call(u32),
    /// Wait this long, then ask again.
    Think(Duration),
    /// All steps were made.
    Finished,
    /// A step has failed, or the next one [cannot be made](Visit::obstacle): the visit is over.
    Failed,
}

impl Visit {
    /// Starts the visit with this number.
    #[must_use]
    pub fn new(program: &Program<'_>, index: u64, rows: &mut RowsTaken) -> Self {
        let (scenario, draws) = program.scenario_of(index);
        let values = program.plan.variables.iter().map(|variable| variable.initial.clone());
        let mut visit = Self {
            index,
            scenario,
            next: program.starts[scenario as usize],
            rounds: SmallVec::new(),
            values: values.collect(),
            draws,
            calls: 0,
            rows_taken: 0,
            call: None,
            uri: Vec::new(),
            redirects: Vec::new(),
            redirect: None,
            has_failed: false,
            obstacle: None,
            shows_names: false,
        };
        for &feed in &program.scenario(scenario).feeds {
            let row = rows.row(program, index, feed as usize, &mut visit.draws);
            visit.set_row(program, feed as usize, row);
        }
        visit
    }

    /// Gives each variable without a value its name in braces, to show requests without replies.
    pub fn name_unset(&mut self, program: &Program<'_>) {
        self.shows_names = true;
        for (value, variable) in self.values.iter_mut().zip(&program.plan.variables) {
            value.get_or_insert_with(|| Value::Text(format!("{{{{{}}}}}", variable.name).into()));
        }
    }

    /// Returns the number of its scenario.
    #[must_use]
    pub fn scenario(&self) -> u32 {
        self.scenario
    }

    /// Returns the number, within the scenario, of the step of its last call.
    #[must_use]
    pub fn step(&self) -> Option<u32> {
        self.call.map(|call| call.place)
    }

    /// Returns the request of its last call.
    #[must_use]
    pub fn request(&self) -> Option<u32> {
        self.call.map(|call| call.request)
    }

    /// Returns the reason for which it cannot make its next call, and the step of that, if it is known.
    #[must_use]
    pub fn obstacle(&self) -> Option<(Obstacle, Option<u32>)> {
        self.obstacle
    }

    /// Ends the visit, as the request of its next call cannot be filled in.
    pub fn obstruct(&mut self, unset: Unset) {
        self.obstacle = Some((Obstacle::Unset(unset), self.step()));
    }

    /// Returns its number among the visits of the run.
    #[must_use]
    pub fn index(&self) -> u64 {
        self.index
    }

    /// Counts another call. Returns the number of those before.
    pub fn count_call(&mut self) -> u64 {
        self.calls += 1;
        self.calls - 1
    }

    /// Returns the values of the variables, by slot.
    #[must_use]
    pub fn values(&self) -> &[Option<Value>] {
        &self.values
    }

    /// Goes on to the next call or pause. The call before, if any, has been [judged](Self::judge) or has failed.
    pub fn advance(
        &mut self,
        program: &Program<'_>,
        now: &mut dyn FnMut() -> SystemTime,
        scratch: &mut Scratch,
    ) -> Action {
        if self.has_failed {
            return Action::Failed;
        }
        if let (Some(_), Some(call)) = (&self.redirect, self.call) {
            return Action::Call(call.request);
        }
        self.redirects.clear();
        for _ in 0..Scenarios::SILENT_STEPS_MAX {
            let op = &program.ops[self.next];
            self.next += 1;
            match op {
                Op::Call { request, place, ends_on_failure } => {
                    let (request, place, ends_on_failure) = (*request, *place, *ends_on_failure);
                    self.call = Some(Current { request, place, ends_on_failure });
                    return Action::Call(request);
                }
                Op::Think(pause) => return Action::Think(length(pause, &mut self.draws)),
                Op::Set { slot, value, before } => match self.assigned(value, now) {
                    Ok(value) => self.values[*slot] = value,
                    Err(unset) => {
                        self.obstacle = Some((Obstacle::Unset(unset), *before));
                        return Action::Failed;
                    }
                },
                Op::Row(feed) => self.take_row(program, *feed),
                Op::Rounds { min, max, end } => {
                    let count = if min == max { *min } else { self.rounds_between(*min, *max) };
                    match count {
                        0 => self.next = *end,
                        _ => self.rounds.push(count),
                    }
                }
                Op::Again { start } => {
                    let left = self.rounds.last_mut().expect("a round ends within a loop");
                    *left -= 1;
                    if *left > 0 {
                        self.next = *start;
                    } else {
                        self.rounds.pop();
                    }
                }
                Op::Break => {
                    self.rounds.pop();
                }
                Op::Choose(table) => self.next = table.choose(&mut self.draws),
                Op::Unless { condition, to } => {
                    let Self { values, draws, .. } = self;
                    if !condition.holds(&mut Filling { values, draws, now }, scratch) {
                        self.next = *to;
                    }
                }
                Op::Jump(to) => self.next = *to,
                Op::End => return Action::Finished,
            }
        }
        self.obstacle = Some((Obstacle::Loop, self.step()));
        Action::Failed
    }

    fn rounds_between(&mut self, min: u32, max: u32) -> u32 {
        u32::try_from(self.draws.between(min.into(), max.into())).unwrap_or(max)
    }

    /// Returns the value for a variable. Fails if it is made of one that cannot be filled in.
    fn assigned(
        &mut self,
        value: &Assigned<'_>,
        now: &mut dyn FnMut() -> SystemTime,
    ) -> Result<Option<Value>, Unset> {
        match value {
            Assigned::Value(value) => Ok(Some((*value).clone())),
            Assigned::Variable(slot) => Ok(self.values[*slot].clone()),
            Assigned::Text(text) => {
                let mut filled = Vec::new();
                let Self { values, draws, .. } = self;
                text.write(&mut Filling { values, draws, now }, &mut filled)?;
                Ok(Some(Value::Text(CompactString::from_utf8_lossy(&filled))))
            }
        }
    }

    /// Takes a row of a feed for a step: any row, or that of the visit's number plus the rows it took before.
    fn take_row(&mut self, program: &Program<'_>, feed: usize) {
        let source = &program.plan.feeds[feed];
        let count = source.rows.count();
        let row = count.checked_sub(1).map(|last| match source.order {
            FeedOrder::Random => self.draws.between(0, last),
            FeedOrder::Cycle | FeedOrder::Unique => {
                program.own_row(self.index).wrapping_add(self.rows_taken) % count
            }
        });
        self.rows_taken += 1;
        self.set_row(program, feed, row);
    }

    fn set_row(&mut self, program: &Program<'_>, feed: usize, row: Option<u64>) {
        let Some(row) = row else { return };
        let feed = &program.plan.feeds[feed];
        for (&slot, value) in feed.slots.iter().zip(feed.rows.row(row)) {
            self.values[slot as usize].clone_from(value);
        }
    }

    /// Judges the reply to its last call and takes the captures. A redirect that the step follows is not judged.
    pub fn judge(
        &mut self,
        program: &Program<'_>,
        reply: &Reply<'_>,
        now: &mut dyn FnMut() -> SystemTime,
        scratch: &mut Scratch,
        on_failed_check: &mut dyn FnMut(usize),
    ) -> Option<Judgement> {
        let Current { request, ends_on_failure, .. } = self.call?;
        let request = program.requests.get(request);
        let before = self.redirect.take();
        if request.source.follows
            && self.redirects.len() < REDIRECTS_MAX
            && let Some(redirect) = program.requests.redirect(request, before.as_ref(), &self.uri, reply)
        {
            self.redirects.push(redirect.location.clone());
            self.redirect = Some(redirect);
            return None;
        }
        let Self { values, draws, redirects, .. } = self;
        let reply = Reply { redirects, ..*reply };
        let judgement = request.look.judge(&reply, values, draws, now, scratch, on_failed_check);
        let is_failure = judgement.status_differs || judgement.failed_checks > 0;
        self.has_failed = judgement.failed_capture.is_some() || is_failure && ends_on_failure;
        Some(judgement)
    }

    /// Returns what the reply to its last call, which was [judged](Self::judge), has in place of what a look expected.
    #[must_use]
    pub fn explain(
        &self,
        program: &Program<'_>,
        reply: &Reply<'_>,
        failed: Failed,
        now: &mut dyn FnMut() -> SystemTime,
    ) -> String {
        let Some(call) = self.call else { return String::new() };
        let reply = Reply { redirects: &self.redirects, ..*reply };
        let secrets = Secrets::of(program.plan, &self.values);
        program.requests.get(call.request).look.explain(
            failed,
            &reply,
            &self.values,
            &self.draws,
            now,
            &secrets,
        )
    }

    pub(super) fn shows_names(&self) -> bool {
        self.shows_names
    }

    /// Keeps the request target of a call whose redirects are followed: they may be relative to it.
    pub(super) fn keep_uri(&mut self, uri: &[u8]) {
        self.uri.clear();
        self.uri.extend_from_slice(uri);
    }

    /// Returns the redirect that its next call follows.
    pub(super) fn redirect(&self) -> Option<&Redirect> {
        self.redirect.as_ref()
    }

    pub(super) fn filling<'a>(&'a mut self, now: &'a mut dyn FnMut() -> SystemTime) -> Filling<'a> {
        Filling { values: &self.values, draws: &mut self.draws, now }
    }
}

/// Draws the length of a pause.
fn length(pause: &Pause, draws: &mut Draws) -> Duration {
    let seconds = match *pause {
        Pause::Fixed { length } => return length,
        Pause::Uniform { min, max } => {
            let span = max.saturating_sub(min).as_secs_f64();
            min.as_secs_f64() + span * draws.fraction()
        }
        Pause::Exponential { mean } => -mean.as_secs_f64() * (1.0 - draws.fraction()).ln(),
        Pause::LogNormal { median, sigma } => median.as_secs_f64() * (sigma * normal(draws)).exp(),
    };
    Duration::try_from_secs_f64(seconds).map_or(PAUSE_MAX, |pause| pause.min(PAUSE_MAX))
}

/// Draws a number of the standard normal distribution.
///
/// G. E. P. Box, M. E. Muller, *A Note on the Generation of Random Normal Deviates*, 1958.
/// <https://doi.org/10.1214/aoms/1177706645>
fn normal(draws: &mut Draws) -> f64 {
    let radius = (-2.0 * (1.0 - draws.fraction()).ln()).sqrt();
    radius * (std::f64::consts::TAU * draws.fraction()).cos()
}
