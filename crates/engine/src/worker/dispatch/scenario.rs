//! Visits of scenarios: calls one after the other, each judged before the next.

use std::rc::Rc;
use std::time::SystemTime;

use httperf_load::requests::Content;
use httperf_load::scenario::{
    self, Action, Failed, Program, Reply, RequestBuffers, RowsTaken, Scratch, Visit,
};
use httperf_plan::scenario::{Reach, Scenarios};
use httperf_plan::{HttpVersion, Plan};
use httperf_proto::http1;
use httperf_proto::request::Request;
use httperf_stats::{FailedLook, Fate, Instant, Lack, Mismatch, Obstacle, StepCall, StepPlace, VisitEnd};

use super::sessions::Session;
use super::{Dispatch, Policy, Timer};
use crate::worker::connections::{Cx, Owner};
use crate::worker::run::{Look, NewCall, Run};
use crate::worker::{CallKey, SessionKey};
use crate::{Network, Observation, StepSeen};

/// The scenarios of a shard.
pub(super) struct Scenario<'a> {
    pub(super) program: Program<'a>,
    rows: RowsTaken,
    scratch: Scratch,
    buffers: RequestBuffers,
    /// Requests that never change, at their places.
    kept: Vec<Option<Request>>,
    /// The checks that a reply failed, if the plan asks to see them.
    failed: Vec<usize>,
    /// A connection is closed after each reply.
    pub(super) closes_after_reply: bool,
}

impl<'a> Scenario<'a> {
    /// `scenarios`: those of the plan.
    pub(super) fn new(plan: &'a Plan, scenarios: &'a Scenarios) -> Self {
        let program = Program::new(plan, scenarios).expect("scenarios are compiled once before a run starts");
        let connections = scenarios.connections;
        Self {
            rows: RowsTaken::new(&program),
            program,
            scratch: Scratch::default(),
            buffers: RequestBuffers::default(),
            kept: vec![None; scenarios.requests.len()],
            failed: Vec::new(),
            closes_after_reply: connections == Reach::Call || plan.request.version == HttpVersion::Http10,
        }
    }

    /// Returns the feed that has no row left for the visit with this number, or had none for one before it.
    pub(super) fn used_up(&mut self, visit: u64) -> Option<u32> {
        self.rows.used_up(&self.program, visit)
    }

    /// Starts the visit with this number.
    pub(super) fn visit(&mut self, index: u64) -> Visit {
        Visit::new(&self.program, index, &mut self.rows)
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

impl Dispatch<'_> {
    /// Takes the next step of a visit. Nothing of it is under way.
    pub(super) fn advance_visit<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        let Policy::Scenarios(scenario) = &mut self.policy else { return };
        let Some(session) = self.sessions.get_mut(key) else { return };
        let Some(visit) = &mut session.scenario else { return };
        let mut clock = || cx.connections.wall_clock();
        match visit.advance(&scenario.program, &mut clock, &mut scenario.scratch) {
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
        let Policy::Scenarios(scenario) = &mut self.policy else { return };
        let session = &mut self.sessions[key];
        let Session { scenario: Some(visit), jars, .. } = session else { return };
        let target = scenario.program.target(visit, place);
        let needs = scenario.program.needs(place);
        let step = visit.step().map(|step| StepPlace { scenario: visit.scenario(), step });
        // Most requests of a scenario send the same bytes every time.
        let is_unchanging = scenario.program.is_unchanging(place) && !jars.have(target);
        let mut talk = None;
        let kept = &mut scenario.kept[place as usize];
        let request = if is_unchanging && let Some(request) = kept {
            visit.count_call();
            request.clone()
        } else {
            let mut clock = || cx.connections.wall_clock();
            let filled = scenario.program.fill(visit, place, &mut clock, &mut scenario.buffers);
            let material = match filled {
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
            let mut material = material;
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
        let shown_uri = scenario.program.redacted(visit, request.target());
        let call = cx.run.create_call(NewCall {
            session: key,
            intended: session.ready_at,
            request,
            shown_uri,
            look,
            recorded: None,
            talk,
        });
        let slot = session.queue_step(target, call);
        self.drive_slot(Owner { session: key, slot }, cx);
    }

    /// Ends a visit at a step that failed. A call that was due and could not be made is one that failed.
    fn fail_visit<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        let session = &self.sessions[key];
        if let Some(visit) = &session.scenario
            && let Some((obstacle, step)) = visit.obstacle()
        {
            let step = step.map(|step| StepCall {
                place: StepPlace { scenario: visit.scenario(), step },
                failed: Some(FailedLook::Unmade(recorded(obstacle))),
            });
            cx.run.call_unmade(step, session.ready_at, cx.now);
        }
        self.end_session(key, false, cx);
    }

    /// Judges a complete reply to a step of a scenario. Returns its first failure.
    pub(super) fn judge_step(
        &mut self,
        call: CallKey,
        now: Instant,
        wall_clock: &mut dyn FnMut() -> SystemTime,
        run: &mut Run<'_>,
    ) -> Option<Mismatch> {
        let Policy::Scenarios(scenario) = &mut self.policy else { return None };
        let kept = run.take_kept(call);
        let (head, body) =
            kept.as_deref().map_or((&b""[..], Ok(&b""[..])), |kept| (kept.head(), kept.body()));
        let (intended, status, duration) = run.call(call).answer_by(now)?;
        let session = run.call(call).session();
        let visit = self.sessions.get_mut(session)?.scenario.as_mut()?;
        let place = StepPlace { scenario: visit.scenario(), step: visit.step()? };
        let reply = Reply { status, head, read_values, body, duration, redirects: &[] };
        let is_shown = self.plan.watch.steps;
        let failed = &mut scenario.failed;
        failed.clear();
        let mut first_failed = None;
        let mut figures = run.recorder.step(place, intended);
        let judgement =
            visit.judge(&scenario.program, &reply, wall_clock, &mut scenario.scratch, &mut |check| {
                if let Some(figures) = &mut figures {
                    figures.failed_checks[check + 1] += 1;
                }
                first_failed.get_or_insert(check);
                if is_shown {
                    failed.push(check);
                }
            });
        let mismatch = judgement.and_then(|judgement| {
            if let Some(figures) = figures {
                figures.checks_made += scenario.program.checks_made(visit, &judgement);
                if judgement.status_differs {
                    figures.add_wrong_status(status);
                }
                if let Some(capture) = judgement.failed_capture {
                    figures.failed_captures[capture] += 1;
                }
            }
            match judgement {
                judgement if judgement.status_differs => Some(Mismatch::Status),
                _ if body.is_err() => Some(Mismatch::Undecodable),
                judgement if judgement.failed_capture.is_some() => Some(Mismatch::Capture),
                judgement if judgement.failed_checks > 0 => Some(Mismatch::Check),
                _ => None,
            }
        });
        if is_shown && let Some(request) = visit.request() {
            let sent = run.call(call).request().clone();
            let of_capture = judgement.and_then(|judgement| judgement.failed_capture).map(Failed::Capture);
            let looks = of_capture.into_iter().chain(failed.iter().map(|&check| Failed::Check(check)));
            let reasons: Vec<String> =
                looks.map(|look| visit.explain(&scenario.program, &reply, look, wall_clock)).collect();
            run.observe(Observation::Step(&StepSeen {
                visit: visit.index(),
                scenario: visit.scenario(),
                request,
                sent: (sent.method(), sent.target()),
                status,
                duration,
                judgement,
                failed_checks: failed,
                reasons: &reasons,
                values: visit.values(),
            }));
        }
        let failed_look = match (mismatch, judgement) {
            (Some(Mismatch::Status), _) => Some(FailedLook::Status),
            (Some(Mismatch::Capture), Some(judgement)) => {
                judgement.failed_capture.map(|capture| FailedLook::Capture(capture as u32))
            }
            (Some(Mismatch::Check), _) => first_failed.map(|check| FailedLook::Check(check as u32)),
            _ => None,
        };
        if let Some(look) = failed_look {
            run.look_failed(call, look);
        }
        if judgement.is_some_and(|judgement| judgement.status_is_expected) {
            run.status_expected(call);
        }
        let checks_failed = judgement.map_or(0, |judgement| judgement.checks_failed());
        if checks_failed > 0 {
            run.recorder.checks_failed(checks_failed);
        }
        run.give_back(kept);
        mismatch
    }

    /// Records the end of a visit.
    pub(super) fn record_visit(session: &Session<'_>, completed: bool, now: Instant, run: &mut Run<'_>) {
        let Some(visit) = &session.scenario else { return };
        let fate = match visit.obstacle() {
            _ if completed => Fate::Completed,
            Some((obstacle, step)) => Fate::Abandoned { step, obstacle: Some(recorded(obstacle)) },
            None => Fate::Abandoned { step: visit.step(), obstacle: None },
        };
        Self::record_fate(session, fate, now, run);
    }

    /// Records the end of a visit, and how it ended.
    pub(super) fn record_fate(session: &Session<'_>, fate: Fate, now: Instant, run: &mut Run<'_>) {
        let Some(visit) = &session.scenario else { return };
        let end = VisitEnd { scenario: visit.scenario(), intended: session.intended(), ended: now, fate };
        run.recorder.visit_ended(&end);
        if run.plan.watch.steps {
            run.observe(Observation::Visit { visit: visit.index(), scenario: visit.scenario(), fate });
        }
    }
}
