//! The workload of scenarios: each arrival is a visit, whose calls are made one after the other, each judged before the next.

use std::num::NonZeroU32;
use std::rc::Rc;
use std::time::SystemTime;

use httperf_load::requests::Content;
use httperf_load::scenario::{
    self, Action, Failed, Judgement, Program, Reply, RequestBuffers, RowsTaken, Scratch, Visit,
};
use httperf_plan::scenario::{Reach, Scenarios};
use httperf_plan::{Excess, HttpVersion, Plan};
use httperf_proto::http1;
use httperf_proto::request::Request;
use httperf_stats::{FailedLook, Fate, Instant, Lack, Mismatch, Obstacle, StepCall, StepPlace, VisitEnd};

use crate::worker::connections::{Cx, Owner};
use crate::worker::dispatch::arrivals::Due;
use crate::worker::dispatch::jars::Jars;
use crate::worker::dispatch::policy::{Answered, Conclusion, Dispatch, Loss, Policy, Timer, Unit};
use crate::worker::dispatch::session::{Session, Slot};
use crate::worker::run::{Look, NewCall, Origin, Run};
use crate::worker::{CallKey, SessionKey};
use crate::{Network, Observation, StepSeen};

/// The scenarios of a shard.
pub(in crate::worker::dispatch) struct ScenarioVisits<'a> {
    scenarios: &'a Scenarios,
    program: Program<'a>,
    rows: RowsTaken,
    scratch: Scratch,
    buffers: RequestBuffers,
    /// Requests that never change, at their places.
    kept: Vec<Option<Request>>,
    /// The checks that a reply failed, if the plan asks to see them.
    failed: Vec<usize>,
    /// A connection is closed after each reply.
    closes_after_reply: bool,
}

impl<'a> ScenarioVisits<'a> {
    /// `scenarios`: those of the plan.
    pub(in crate::worker::dispatch) fn new(plan: &'a Plan, scenarios: &'a Scenarios) -> Self {
        let program = Program::new(plan, scenarios).expect("scenarios are compiled once before a run starts");
        let connections = scenarios.connections;
        Self {
            scenarios,
            rows: RowsTaken::new(&program),
            program,
            scratch: Scratch::default(),
            buffers: RequestBuffers::default(),
            kept: vec![None; scenarios.requests.len()],
            failed: Vec::new(),
            closes_after_reply: connections == Reach::Call || plan.request.version == HttpVersion::Http10,
        }
    }
}

/// Returns an obstacle as results have it.
fn recorded(obstacle: scenario::Obstacle) -> Obstacle {
    match obstacle {
        scenario::Obstacle::Loop => Obstacle::Loop,
        scenario::Obstacle::Unset(unset) => Obstacle::Variable {
            slot: unset.slot,
            lack: match unset.lack {
                scenario::Lack::Value => Lack::Value,
                scenario::Lack::List => Lack::List,
                scenario::Lack::Object => Lack::Object,
                scenario::Lack::Bytes => Lack::Bytes,
                scenario::Lack::Filter => Lack::Filter,
                scenario::Lack::Path => Lack::Path,
            },
        },
    }
}

/// Reads the values of a field of a header block.
fn read_values<'h>(head: &'h [u8], name: &[u8], take: &mut dyn FnMut(&'h [u8])) {
    http1::values(head, name).for_each(take);
}

impl<'a> Policy<'a> for ScenarioVisits<'a> {
    type Own = Box<Visit>;

    const UNIT: Unit = Unit::Session;

    fn bound(&self) -> Option<(NonZeroU32, Excess)> {
        self.scenarios.max_open.map(|most| (most, Excess::Waits))
    }

    fn start<N: Network>(dispatch: &mut Dispatch<'a, Self>, arrival: Due, _: bool, cx: &mut Cx<'_, '_, N>) {
        let Due { index, at, .. } = arrival;
        let (plan, policy) = (dispatch.plan, &mut dispatch.policy);
        let visit = Box::new(Visit::new(&policy.program, index, &mut policy.rows));
        let jars = Jars::new(policy.scenarios.cookies.then_some(plan.limits.cookies));
        let session = Session::new(visit, plan.target_of(index), at, cx.now, jars);
        let key = dispatch.admit(session);
        cx.run.recorder.visit_started();
        dispatch.advance_visit(key, cx);
    }

    fn is_used_up(dispatch: &mut Dispatch<'a, Self>) -> bool {
        dispatch.used_up_feed().is_some()
    }

    fn record_used_up(dispatch: &mut Dispatch<'a, Self>, run: &mut Run<'_>) {
        if let Some(feed) = dispatch.used_up_feed() {
            run.recorder.feed_used_up(feed);
        }
    }

    /// Judges a complete reply to a step. Returns its first failure.
    fn judge<N: Network>(
        dispatch: &mut Dispatch<'a, Self>,
        call: CallKey,
        cx: &mut Cx<'_, '_, N>,
    ) -> Option<Mismatch> {
        let received_at = cx.connections.received_at(cx.now, cx.run);
        let (mut wall_clock, run) = (|| cx.connections.wall_clock(), &mut *cx.run);
        let kept = run.take_kept(call);
        let (head, body) =
            kept.as_deref().map_or((&b""[..], Ok(&b""[..])), |kept| (kept.head(), kept.body()));
        let (intended, status, duration) = run.call(call).answer_by(received_at)?;
        let session = dispatch.sessions.get_mut(run.call(call).session())?;
        let reply = Reply { status, head, read_values, body, duration, redirects: &[] };
        let judged = Judged { call, intended, reply };
        let mismatch = dispatch.policy.judge_reply(&mut session.own, &judged, &mut wall_clock, run);
        run.give_back(kept);
        mismatch
    }

    fn answered<N: Network>(dispatch: &mut Dispatch<'a, Self>, answered: Answered, cx: &mut Cx<'_, '_, N>) {
        let Answered { connection, owner, call, is_last, .. } = answered;
        if is_last || dispatch.policy.closes_after_reply {
            dispatch.retire_unprocessed(connection, owner, cx);
        }
        cx.run.end_call(call, cx.now);
        dispatch.sessions[owner.session].ready_at = cx.now;
        dispatch.advance_visit(owner.session, cx);
    }

    fn resumed<N: Network>(dispatch: &mut Dispatch<'a, Self>, session: SessionKey, cx: &mut Cx<'_, '_, N>) {
        dispatch.advance_visit(session, cx);
    }

    fn lost<N: Network>(dispatch: &mut Dispatch<'a, Self>, loss: Loss, cx: &mut Cx<'_, '_, N>) {
        dispatch.replace_lost(loss, false, cx);
    }

    fn failed<N: Network>(
        dispatch: &mut Dispatch<'a, Self>,
        owner: Owner,
        call: CallKey,
        cx: &mut Cx<'_, '_, N>,
    ) {
        cx.run.abandon_call(call, cx.now);
        dispatch.end_session(owner.session, false, cx);
    }

    fn record_end(session: &Session<Box<Visit>>, conclusion: Conclusion, now: Instant, run: &mut Run<'_>) {
        let visit = &session.own;
        let fate = match (conclusion, visit.obstacle()) {
            (Conclusion::Completed, _) => Fate::Completed,
            (Conclusion::Cut, _) => Fate::Cut,
            (Conclusion::Failed, Some((obstacle, step))) => {
                Fate::Abandoned { step, obstacle: Some(recorded(obstacle)) }
            }
            (Conclusion::Failed, None) => Fate::Abandoned { step: visit.step(), obstacle: None },
        };
        let end = VisitEnd { scenario: visit.scenario(), intended: session.intended, ended: now, fate };
        run.recorder.visit_ended(&end);
        if run.plan.watch.steps {
            run.observe(Observation::Visit { visit: visit.index(), scenario: visit.scenario(), fate });
        }
    }
}

impl<'a> Dispatch<'a, ScenarioVisits<'a>> {
    /// Returns the feed that has no row left for the next visit, or had none for one before it.
    fn used_up_feed(&mut self) -> Option<u32> {
        let visit = self.arrivals.next_index()?;
        let ScenarioVisits { program, rows, .. } = &mut self.policy;
        rows.used_up(program, visit)
    }

    /// Takes the next step of a visit. Nothing of it is under way.
    fn advance_visit<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        let ScenarioVisits { program, scratch, .. } = &mut self.policy;
        let mut clock = || cx.connections.wall_clock();
        match session.own.advance(program, &mut clock, scratch) {
            Action::Finished => self.end_session(key, true, cx),
            Action::Failed => self.fail_visit(key, cx),
            Action::Call(request) => self.make_step(key, request, cx),
            Action::Think(pause) => {
                let at = session.ready_at + pause;
                session.ready_at = at;
                self.set_timer(at, Timer::Think(key));
            }
        }
    }

    /// Makes the call of a step.
    fn make_step<N: Network>(&mut self, key: SessionKey, place: u32, cx: &mut Cx<'_, '_, N>) {
        let ScenarioVisits { program, buffers, kept, .. } = &mut self.policy;
        let session = &mut self.sessions[key];
        let Session { own: visit, jars, .. } = session;
        let target = program.target(visit, place);
        let needs = program.needs(place);
        let step = visit.step().map(|step| StepPlace { scenario: visit.scenario(), step });
        // Most requests of a scenario send the same bytes every time.
        let is_unchanging = program.is_unchanging(place) && !jars.have(target);
        let mut talk = None;
        let kept = &mut kept[place as usize];
        let request = if is_unchanging && let Some(request) = kept {
            visit.count_call();
            request.clone()
        } else {
            let mut clock = || cx.connections.wall_clock();
            let mut material = match program.fill(visit, place, &mut clock, buffers) {
                Ok(material) => material,
                Err(unset) => {
                    visit.obstruct(unset);
                    self.fail_visit(key, cx);
                    return;
                }
            };
            let cookie = jars.header(target, material.uri, clock);
            let websocket =
                self.plan.websocket(Some(place)).map(|websocket| (websocket, cx.run.next_serial()));
            if websocket.is_some() {
                // The body is the text of its messages.
                let text = std::mem::replace(&mut material.body, Content::None);
                talk = Some((place, text.bytes().map(Rc::from)));
            }
            let request =
                self.source.step_request(self.plan, target, &material, cookie.as_deref(), websocket);
            if is_unchanging {
                *kept = Some(request.clone());
            }
            request
        };
        let look = step.map(|place| Look {
            place,
            expects_status: false,
            wants_head: needs.head,
            wants_body: needs.body,
            failed: None,
        });
        let shown_uri = program.redacted(visit, request.target());
        let origin = Origin::Step { look, shown_uri };
        let new = NewCall { session: key, intended: session.ready_at, request, origin, talk };
        let call = cx.run.create_call(new);
        let slot = session.queue_step(target, call);
        self.drive_slot(Owner { session: key, slot }, cx);
    }

    /// Ends a visit at a step that failed. A call that was due and could not be made is one that failed.
    fn fail_visit<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        let session = &self.sessions[key];
        let visit = &session.own;
        if let Some((obstacle, step)) = visit.obstacle() {
            let step = step.map(|step| StepCall {
                place: StepPlace { scenario: visit.scenario(), step },
                failed: Some(FailedLook::Unmade(recorded(obstacle))),
            });
            cx.run.call_unmade(step, session.ready_at, cx.now);
        }
        self.end_session(key, false, cx);
    }
}

impl Session<Box<Visit>> {
    /// Queues the call of a step in the slot of a target. Returns the slot.
    fn queue_step(&mut self, target: usize, call: CallKey) -> usize {
        self.target = target;
        let slot = self.slots.iter().position(|slot| slot.target == target).unwrap_or_else(|| {
            self.slots.push(Slot { target, ..Slot::default() });
            self.slots.len() - 1
        });
        self.slots[slot].queue.push_back(call);
        slot
    }
}

/// A complete reply to a step.
struct Judged<'r> {
    call: CallKey,
    /// The instant at which the call was due.
    intended: Instant,
    reply: Reply<'r>,
}

impl ScenarioVisits<'_> {
    /// Judges a complete reply to a step of a visit, and records what the step looked at. Returns its first failure.
    fn judge_reply(
        &mut self,
        visit: &mut Visit,
        judged: &Judged<'_>,
        wall_clock: &mut dyn FnMut() -> SystemTime,
        run: &mut Run<'_>,
    ) -> Option<Mismatch> {
        let Judged { call, intended, reply } = judged;
        let place = StepPlace { scenario: visit.scenario(), step: visit.step()? };
        let is_shown = run.plan.watch.steps;
        let failed = &mut self.failed;
        failed.clear();
        let mut first_failed = None;
        let mut figures = run.recorder.step(place, *intended);
        let judgement = visit.judge(&self.program, reply, wall_clock, &mut self.scratch, &mut |check| {
            if let Some(figures) = &mut figures {
                figures.failed_checks[check + 1] += 1;
            }
            first_failed.get_or_insert(check);
            if is_shown {
                failed.push(check);
            }
        });
        if let (Some(figures), Some(judgement)) = (figures, judgement) {
            figures.checks_made += self.program.checks_made(visit, &judgement);
            if judgement.status_differs {
                figures.add_wrong_status(reply.status);
            }
            if let Some(capture) = judgement.failed_capture {
                figures.failed_captures[capture] += 1;
            }
        }
        if is_shown {
            self.show_step(visit, judged, judgement, wall_clock, run);
        }
        let judgement = judgement?;
        let (mismatch, failed_look) = if judgement.status_differs {
            (Some(Mismatch::Status), Some(FailedLook::Status))
        } else if reply.body.is_err() {
            (Some(Mismatch::Undecodable), None)
        } else if let Some(capture) = judgement.failed_capture {
            (Some(Mismatch::Capture), Some(FailedLook::Capture(capture as u32)))
        } else if judgement.failed_checks > 0 {
            (Some(Mismatch::Check), first_failed.map(|check| FailedLook::Check(check as u32)))
        } else {
            (None, None)
        };
        if let Some(look) = failed_look {
            run.look_failed(*call, look);
        }
        if judgement.status_is_expected {
            run.status_expected(*call);
        }
        let checks_failed = judgement.checks_failed();
        if checks_failed > 0 {
            run.recorder.checks_failed(checks_failed);
        }
        mismatch
    }

    /// Shows a reply to a step, with what was found.
    #[cold]
    fn show_step(
        &self,
        visit: &Visit,
        judged: &Judged<'_>,
        judgement: Option<Judgement>,
        wall_clock: &mut dyn FnMut() -> SystemTime,
        run: &mut Run<'_>,
    ) {
        let Some(request) = visit.request() else { return };
        let Judged { call, reply, .. } = judged;
        let sent = run.call(*call).request().clone();
        let of_capture = judgement.and_then(|judgement| judgement.failed_capture).map(Failed::Capture);
        let looks = of_capture.into_iter().chain(self.failed.iter().map(|&check| Failed::Check(check)));
        let reasons: Vec<String> =
            looks.map(|look| visit.explain(&self.program, reply, look, wall_clock)).collect();
        run.observe(Observation::Step(&StepSeen {
            visit: visit.index(),
            scenario: visit.scenario(),
            request,
            sent: (sent.method(), sent.target()),
            status: reply.status,
            duration: reply.duration,
            judgement,
            failed_checks: &self.failed,
            reasons: &reasons,
            values: visit.values(),
        }));
    }
}
