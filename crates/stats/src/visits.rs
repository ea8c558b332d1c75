//! Visits of scenarios, by load phase, scenario and step.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::{Merge, merge_fields};
use crate::{CallOutcome, DurationMoments, Group, Instant, Phase, Sample, StatusCodes, StreamCall, Timing};

/// Visits of scenarios, by the load phase in which the visit, or the call, was due.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Visits {
    /// Figures of each load phase, in order.
    pub phases: Vec<PhaseVisits>,
    /// Number of the feed that had no row left for a further visit: none started any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed_used_up: Option<u32>,
}

/// Visits of one load phase.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PhaseVisits {
    /// Figures of each scenario, in the order of the plan.
    pub scenarios: Vec<ScenarioVisits>,
}

/// Visits that followed one scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScenarioVisits {
    /// Durations of completed visits, from the instant at which each was due to its end.
    pub completed: Timing,
    /// Durations of abandoned visits: those that ended at a step that failed.
    pub abandoned: Timing,
    /// Times for which visits that the end of the run cut short had been due.
    #[serde(default)]
    pub unfinished: Option<Box<Timing>>,
    /// Figures of each step, in the order of the plan.
    pub steps: Vec<StepFigures>,
}

/// Calls of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepFigures {
    /// Calls, by outcome, with their times.
    pub calls: Group,
    /// Replies among them that came in the drain.
    #[serde(default)]
    pub drained: u64,
    /// Latency of all calls, whatever their outcome.
    pub time: DurationMoments,
    /// Number of checks made, the expected status among them. After a failed status or capture, no others are made.
    pub checks_made: u64,
    /// Number of replies that failed each check, in the order of the plan. The first is the expected status.
    pub failed_checks: Vec<u64>,
    /// Statuses of the replies whose status was not the expected one.
    #[serde(default)]
    pub wrong_statuses: Option<StatusCodes>,
    /// Number of replies without the value of each capture, in the order of the plan.
    pub failed_captures: Vec<u64>,
    /// Number of visits that ended at this step because it failed.
    pub abandoned: u64,
    /// Visits among them whose call could not be made, by the reason. Each of these calls is one that failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unmade: Vec<UnmadeCalls>,
    /// Times for which calls that the end of the run left unfinished had been due.
    #[serde(default)]
    pub unfinished: Option<Box<Timing>>,
    /// Streams among the replies.
    #[serde(default)]
    pub streams: Option<Box<StepStreams>>,
}

/// Calls of one step that could not be made for the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UnmadeCalls {
    /// Reason.
    pub obstacle: Obstacle,
    /// Number of calls, each the end of a visit.
    pub calls: u64,
}

/// Reason for which a visit cannot make its next call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// A variable cannot be filled in.
    Variable {
        /// Number of the variable, in the order of the plan.
        slot: u32,
        /// Reason why it cannot be filled in.
        lack: Lack,
    },
    /// A loop of the scenario goes on without a call or a pause.
    Loop,
}

/// Reason for which a variable cannot be filled in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lack {
    /// It has no value.
    Value,
    /// Its value is a list, which is no text.
    List,
    /// Its value is an object, which is no text.
    Object,
    /// Its value is bytes, which are no text.
    Bytes,
    /// A filter on the way does not apply to its value, or finds nothing.
    Filter,
    /// Its value follows the name of a server, and does not begin with a slash.
    Path,
}

/// Streams of one step.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepStreams {
    /// Number of streams whose calls ended.
    pub ended: u64,
    /// Number of them whose calls failed.
    pub cut: u64,
    /// First events.
    pub first_event: Firsts,
    /// First tokens of models' answers.
    pub first_token: Firsts,
}

/// First events, or first tokens, of streams.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Firsts {
    /// Times from the instants at which calls were due.
    pub times: Timing,
    /// Number of these times whose calls were unfinished when the run ended.
    pub unfinished: u64,
}

/// Place of a step among the steps of all scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepPlace {
    /// Number of the scenario.
    pub scenario: u32,
    /// Number of the step within the scenario.
    pub step: u32,
}

/// Call of a step, as far as the step concerns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepCall {
    /// Place of the step.
    pub place: StepPlace,
    /// First expectation that the reply failed, if any.
    pub failed: Option<FailedLook>,
}

/// Expectation of a step that a reply failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailedLook {
    /// The status.
    Status,
    /// The capture with this number.
    Capture(u32),
    /// The check with this number.
    Check(u32),
    /// None: the request could not be made.
    Unmade(Obstacle),
}

/// Numbers of steps, checks and captures of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VisitsShape {
    /// Ends of the load phases, as offsets from the start; later work belongs to the last one.
    pub phase_ends: Vec<Duration>,
    /// For each step of each scenario, the number of its checks and of its captures.
    pub scenarios: Vec<Vec<(usize, usize)>>,
}

/// Data of a visit that ended.
#[derive(Clone, Copy, Debug)]
pub struct VisitEnd {
    /// Number of the scenario.
    pub scenario: u32,
    /// Instant at which the visit was due.
    pub intended: Instant,
    /// Instant at which it ended.
    pub ended: Instant,
    /// Way in which it ended.
    pub fate: Fate,
}

/// Way in which a visit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// All steps were made.
    Completed,
    /// A step failed.
    Abandoned {
        /// Number of the step, if it is known.
        step: Option<u32>,
        /// Reason for which its call could not be made, if it was not.
        obstacle: Option<Obstacle>,
    },
    /// The run ended.
    Cut,
}

impl Visits {
    /// Figures of nothing yet.
    #[must_use]
    pub fn new(shape: &VisitsShape) -> Self {
        let step = |&(checks, captures): &(usize, usize)| StepFigures {
            failed_checks: vec![0; checks + 1],
            failed_captures: vec![0; captures],
            ..StepFigures::default()
        };
        let scenario = |steps: &Vec<(usize, usize)>| ScenarioVisits {
            steps: steps.iter().map(step).collect(),
            ..ScenarioVisits::default()
        };
        let phase = PhaseVisits { scenarios: shape.scenarios.iter().map(scenario).collect() };
        Self { phases: vec![phase; shape.phase_ends.len().max(1)], feed_used_up: None }
    }

    /// Figures of all phases together.
    #[must_use]
    pub fn total(&self) -> PhaseVisits {
        let mut phases = self.phases.iter();
        let mut total = phases.next().cloned().unwrap_or_default();
        phases.for_each(|phase| total.merge(phase));
        total
    }
}

merge_fields!(Visits {
    add: phases;
    first_known: feed_used_up;
});

merge_fields!(PhaseVisits {
    add: scenarios;
});

impl ScenarioVisits {
    /// Number of visits that ended or were cut short.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.completed.moments.count() + self.abandoned.moments.count() + self.cut()
    }

    /// Number of visits that the end of the run cut short.
    #[must_use]
    pub fn cut(&self) -> u64 {
        self.unfinished.as_deref().map_or(0, |unfinished| unfinished.moments.count())
    }

    /// Total of the durations of visits that ended, in seconds.
    #[must_use]
    pub fn time(&self) -> f64 {
        self.completed.moments.sum() + self.abandoned.moments.sum()
    }
}

merge_fields!(ScenarioVisits {
    add: completed, abandoned, unfinished, steps;
});

impl StepFigures {
    /// Number of checks that failed.
    #[must_use]
    pub fn checks_failed(&self) -> u64 {
        self.failed_checks.iter().sum()
    }

    /// Counts a reply whose status was not the expected one, 100 to 999.
    pub fn add_wrong_status(&mut self, status: u16) {
        self.failed_checks[0] += 1;
        self.wrong_statuses.get_or_insert_default().add(status);
    }
}

merge_fields!(StepFigures {
    add: calls, drained, time, checks_made, wrong_statuses, abandoned, unfinished, streams;
    add_each: failed_checks, failed_captures;
    add_unmade: unmade;
});

impl StepStreams {
    /// Adds the stream of a call.
    fn add(&mut self, due: Instant, stream: &StreamCall, is_unfinished: bool) {
        for (firsts, first) in
            [(&mut self.first_event, stream.first_event), (&mut self.first_token, stream.first_token)]
        {
            if let Some(first) = first {
                firsts.times.add(first - due);
                firsts.unfinished += u64::from(is_unfinished);
            }
        }
    }
}

merge_fields!(StepStreams {
    add: ended, cut, first_event, first_token;
});

merge_fields!(Firsts {
    add: times, unfinished;
});

fn add_unmade(own: &mut Vec<UnmadeCalls>, other: &[UnmadeCalls]) {
    other.iter().for_each(|unmade| count_unmade(own, unmade.obstacle, unmade.calls));
}

/// Counts calls that could not be made.
fn count_unmade(all: &mut Vec<UnmadeCalls>, obstacle: Obstacle, calls: u64) {
    match all.iter_mut().find(|unmade| unmade.obstacle == obstacle) {
        Some(unmade) => unmade.calls += calls,
        None => all.push(UnmadeCalls { obstacle, calls }),
    }
}

fn first_known<T: Copy>(own: &mut Option<T>, other: &Option<T>) {
    *own = own.or(*other);
}

/// Adds counts place by place. Steps with more checks than the others make the list longer: nothing is left out.
fn add_each(own: &mut Vec<u64>, other: &[u64]) {
    own.resize(own.len().max(other.len()), 0);
    own.iter_mut().zip(other).for_each(|(own, their)| *own += their);
}

/// Collects the figures of visits.
#[derive(Debug)]
pub(crate) struct VisitsRecorder {
    start: Instant,
    phase_ends: Vec<Duration>,
    figures: Visits,
}

impl VisitsRecorder {
    pub(crate) fn new(shape: &VisitsShape, start: Instant) -> Self {
        Self { start, phase_ends: shape.phase_ends.clone(), figures: Visits::new(shape) }
    }

    /// Moves the start of the run.
    pub(crate) fn restart(&mut self, start: Instant) {
        self.start = start;
    }

    /// Scenario figures of the phase in which something was due.
    fn scenario(&mut self, scenario: u32, due: Instant) -> &mut ScenarioVisits {
        let offset = due - self.start;
        let phase = self.phase_ends.iter().position(|&end| offset < end);
        let last = self.figures.phases.len() - 1;
        &mut self.figures.phases[phase.unwrap_or(last)].scenarios[scenario as usize]
    }

    pub(crate) fn step(&mut self, place: StepPlace, due: Instant) -> &mut StepFigures {
        &mut self.scenario(place.scenario, due).steps[place.step as usize]
    }

    /// Adds a call that has ended in this phase of the run.
    pub(crate) fn add_call(&mut self, place: StepPlace, sample: &Sample<'_>, ended_in: Phase) {
        let step = self.step(place, sample.intended);
        step.calls.add(sample);
        step.drained += u64::from(ended_in == Phase::Drain && sample.status.is_some());
        step.time.add(sample.latency());
        if let Some(stream) = sample.stream {
            let streams = step.streams.get_or_insert_default();
            streams.ended += 1;
            streams.cut += u64::from(sample.outcome() == CallOutcome::Failure);
            streams.add(sample.intended, stream, false);
        }
    }

    pub(crate) fn add_unfinished(
        &mut self,
        place: StepPlace,
        due: Instant,
        now: Instant,
        stream: Option<&StreamCall>,
    ) {
        let step = self.step(place, due);
        step.unfinished.get_or_insert_default().add(now - due);
        if let Some(stream) = stream {
            step.streams.get_or_insert_default().add(due, stream, true);
        }
    }

    pub(crate) fn end_visit(&mut self, end: &VisitEnd) {
        let time = end.ended - end.intended;
        let scenario = self.scenario(end.scenario, end.intended);
        match end.fate {
            Fate::Completed => scenario.completed.add(time),
            Fate::Cut => scenario.unfinished.get_or_insert_default().add(time),
            Fate::Abandoned { step, obstacle } => {
                scenario.abandoned.add(time);
                if let Some(step) = step {
                    // The step may have been due in a later phase than the visit. It counts with its visit.
                    let step = &mut scenario.steps[step as usize];
                    step.abandoned += 1;
                    if let Some(obstacle) = obstacle {
                        count_unmade(&mut step.unmade, obstacle, 1);
                    }
                }
            }
        }
    }

    /// A feed has no row left for a further visit.
    pub(crate) fn feed_used_up(&mut self, feed: u32) {
        self.figures.feed_used_up = Some(feed);
    }

    pub(crate) fn finish(self) -> Visits {
        self.figures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn shape() -> VisitsShape {
        VisitsShape {
            phase_ends: vec![Duration::from_millis(100), Duration::from_millis(300)],
            scenarios: vec![vec![(0, 0)], vec![(2, 1), (0, 0)]],
        }
    }

    fn sample(intended: Instant, status: Option<u16>) -> Sample<'static> {
        Sample {
            call: 0,
            uri: b"/",
            status,
            intended,
            sent: Some(intended),
            stalled: Duration::ZERO,
            first_byte: None,
            done: intended + Duration::from_millis(7),
            header_size: 0,
            content_size: 0,
            footer_size: 0,
            decoded_size: None,
            mismatch: None,
            carrier: None,
            receive_lag: None,
            kernel: None,
            step: None,
            recorded: None,
            stream: None,
            rpc: None,
            expected: false,
        }
    }

    #[test]
    fn work_belongs_to_the_phase_in_which_it_was_due() {
        let start = at(1000);
        let mut recorder = VisitsRecorder::new(&shape(), at(0));
        recorder.restart(start);
        let place = StepPlace { scenario: 1, step: 0 };
        for due in [1000, 1099, 1100, 1299, 1300, 9000] {
            recorder.add_call(place, &sample(at(due), Some(200)), Phase::Measured);
        }
        let figures = recorder.finish();
        let calls: Vec<u64> =
            figures.phases.iter().map(|phase| phase.scenarios[1].steps[0].calls.calls()).collect();
        assert_eq!(calls, [2, 4], "what is due after the end counts with the last phase");
        assert_eq!(figures.total().scenarios[1].steps[0].calls.calls(), 6);
    }

    #[test]
    fn visits_are_counted_by_their_end() {
        let mut recorder = VisitsRecorder::new(&shape(), at(0));
        let end = |fate, ended| VisitEnd { scenario: 1, intended: at(0), ended: at(ended), fate };
        recorder.end_visit(&end(Fate::Completed, 40));
        let list = Obstacle::Variable { slot: 2, lack: Lack::List };
        let abandoned = |step, obstacle| Fate::Abandoned { step, obstacle };
        recorder.end_visit(&end(abandoned(Some(0), None), 10));
        recorder.end_visit(&end(abandoned(None, None), 20));
        recorder.end_visit(&end(abandoned(Some(0), Some(list)), 30));
        recorder.end_visit(&end(abandoned(Some(0), Some(list)), 30));
        recorder.end_visit(&end(Fate::Cut, 50));
        let figures = recorder.finish();
        let scenario = &figures.phases[0].scenarios[1];
        assert_eq!((scenario.count(), scenario.cut()), (6, 1));
        assert_eq!(scenario.unfinished.as_deref().map(|cut| cut.moments.max()), Some(0.05));
        assert_eq!(scenario.completed.moments.count(), 1);
        assert_eq!(scenario.abandoned.moments.count(), 4);
        assert_eq!(scenario.steps[0].abandoned, 3);
        assert_eq!(scenario.steps[0].unmade, [UnmadeCalls { obstacle: list, calls: 2 }]);
        assert!((scenario.time() - 0.13).abs() < 1e-12);
        let mut twice = scenario.steps[0].clone();
        twice.merge(&scenario.steps[0]);
        assert_eq!(twice.unmade, [UnmadeCalls { obstacle: list, calls: 4 }]);
    }

    #[test]
    fn streams_have_their_first_events() {
        let mut recorder = VisitsRecorder::new(&shape(), at(0));
        let place = StepPlace { scenario: 1, step: 1 };
        let stream = |event: u64, token: Option<u64>| StreamCall {
            first_event: Some(at(event)),
            first_token: token.map(at),
            ..StreamCall::default()
        };
        for (status, stream) in [
            (Some(200), Some(stream(12, Some(15)))),
            (None, Some(stream(11, None))),
            (Some(200), Some(StreamCall::default())),
            (Some(404), None),
        ] {
            recorder.add_call(
                place,
                &Sample { stream: stream.as_ref(), ..sample(at(10), status) },
                Phase::Measured,
            );
        }
        recorder.add_unfinished(place, at(10), at(40), Some(&stream(13, Some(17))));
        recorder.add_unfinished(place, at(10), at(40), None);
        let figures = recorder.finish();
        let mut step = figures.total().scenarios[1].steps[1].clone();
        step.merge(&step.clone());
        let streams = step.streams.unwrap();
        assert_eq!((streams.ended, streams.cut), (6, 2));
        let Firsts { times, unfinished } = &streams.first_event;
        assert_eq!((times.moments.count(), times.moments.max(), *unfinished), (6, 0.003, 2));
        let Firsts { times, unfinished } = &streams.first_token;
        assert_eq!((times.moments.count(), times.moments.max(), *unfinished), (4, 0.007, 2));
    }

    #[test]
    fn steps_with_different_numbers_of_checks_add_up() {
        let mut total = StepFigures::default();
        for (failed_checks, failed_captures) in
            [(vec![1, 2], vec![]), (vec![4], vec![8, 16]), (vec![], vec![])]
        {
            total.merge(&StepFigures { failed_checks, failed_captures, ..StepFigures::default() });
        }
        assert_eq!((&total.failed_checks[..], &total.failed_captures[..]), (&[5, 2][..], &[8, 16][..]));
        assert_eq!(total.checks_failed(), 7);
    }

    #[test]
    fn parts_add_up_check_by_check() {
        let mut own = Visits::new(&shape());
        let step = &mut own.phases[1].scenarios[1].steps[0];
        (step.checks_made, step.failed_checks[1], step.failed_captures[0]) = (12, 3, 1);
        step.add_wrong_status(404);
        let twice = {
            let mut twice = own.clone();
            twice.merge(&own);
            twice
        };
        let step = &twice.total().scenarios[1].steps[0];
        assert_eq!((step.checks_made, step.checks_failed()), (24, 8));
        assert_eq!((&step.failed_checks[..], &step.failed_captures[..]), (&[2, 6, 0][..], &[2][..]));
        let statuses = step.wrong_statuses.as_ref().map(|statuses| statuses.iter().collect::<Vec<_>>());
        assert_eq!(statuses, Some(vec![(404, 2)]));
    }
}
