//! One worker: a loop that starts arrivals when they are due, waits for readiness, and passes events to the policy of the
//! run.
//!
//! ```text
//!   Worker      the loop: clock, phases, ticks
//!    ├─ Dispatch      arrivals, sessions or pool: the next step          │ commands   ▲ events
//!    ├─ Connections   transport and protocol of each, deadlines          ▼            │
//!    └─ Run           the plan, the calls under way, the recorder and the observer
//!
//!   one turn
//!     now ─► phases ─► arrivals, timers ─► ready sockets, in each: bytes ─► events ─► calls, sessions ─► bytes
//!         ─► deadlines ─► ticks
//! ```
//!
//! The clock is read once a turn, every few events to see whether an arrival is due, and once for each connect and each
//! write, whose instants are reported. Where nothing depends on replies, the worker sleeps for the schedule alone, and reads what
//! has arrived when an arrival wakes it (`connections/late.rs`).

mod connections;
mod dispatch;
mod phases;
mod run;
mod ticks;

use std::io;
use std::time::Duration;

use httperf_load::replay::DueRequest;
use httperf_plan::scenario::Scenario;
use httperf_plan::{Arrivals, HttpVersion, Plan, Shard, Workload};
use httperf_stats::{End, Instant, Phase, RecordedFigures, Recorder, Summary, VisitsShape};
use slotmap::new_key_type;

use self::connections::{Connections, Cx};
use self::dispatch::AnyDispatch;
use self::phases::Phases;
use self::run::Run;
use self::ticks::Ticks;
use crate::{Network, Observer, Ready, Security};

new_key_type! {
    /// Names a session for as long as it lives.
    struct SessionKey;
    /// Names a connection for as long as it lives; also the poller's key for it.
    struct ConnectionKey;
    /// Names a call for as long as it lives; also the protocol's name for it.
    struct CallKey;
}

/// Bytes read at once.
const READ_SIZE: usize = 64 * 1024;

/// The delay of a wake-up that counts as a pause of the worker: it has not seen the events of that time.
const PAUSE: Duration = Duration::from_millis(1);

/// The longest time for which replies are left unread: a longer one saves little, and is a pause.
const LATE_MAX: Duration = PAUSE;

/// The longest sleep of a worker, so that it notices when it was kept from running.
const SLEEP_MAX: Duration = Duration::from_millis(20);

/// Events, timers or deadlines handled before the worker looks for arrivals again.
const EVENTS_PER_LOOK: usize = 16;

/// Connections of a pool that are on their way at once: fewer than servers queue.
const OPENING_MAX: usize = 100;

/// The longest time that opening a pool takes. Connections that are not open by then are when a call needs them.
const OPENING_TIME: Duration = Duration::from_secs(10);

/// The requests that a shard makes of a recording, in the order in which they are due.
///
/// The worker waits for the next one, so an iterator that reads a file does so on another thread, ahead of time.
pub type RecordedRequests = Box<dyn Iterator<Item = DueRequest> + Send>;

/// Carries out a plan, or one shard of it, over a [`Network`].
pub struct Worker<'a, N: Network> {
    run: Run<'a>,
    dispatch: AnyDispatch<'a>,
    connections: Connections<N>,
    /// Bytes of the connection that is being read.
    buffer: Vec<u8>,
    phases: Phases,
    ticks: Ticks,
    /// Time from the start to the beginning.
    begun_late: Duration,
}

/// The instant until which a worker waits.
#[derive(Clone, Copy)]
struct Next {
    at: Instant,
    /// Something of the load is due then, so that being late is being late with it.
    is_offered: bool,
}

impl<N: Network> std::fmt::Debug for Worker<'_, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("connections", &self.connections.count())
            .field("calls", &self.run.calls_count())
            .finish_non_exhaustive()
    }
}

impl<'a, N: Network> Worker<'a, N> {
    /// A worker that has not started yet, for this shard of the plan. `security`: what secures its connections, made of the
    /// same plan ([`security`](crate::security())).
    pub fn new(
        plan: &'a Plan,
        shard: Shard,
        security: Option<Security>,
        mut network: N,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let start = network.now();
        let phases = Phases::new(plan, start);
        let mut recorder = Recorder::new(start, phases.measured_from(), figures(plan));
        if let Some(shape) = visits(plan) {
            recorder.record_visits(&shape);
        }
        Self {
            run: Run::new(plan, shard, recorder, observer, start),
            dispatch: AnyDispatch::new(plan, shard, start),
            connections: Connections::new(plan, security, network),
            buffer: vec![0; READ_SIZE],
            ticks: Ticks::new(plan, start, phases.measured_from()),
            phases,
            begun_late: Duration::ZERO,
        }
    }

    /// Sets the requests that the recording of the plan's replay has for this shard. Without them none is made.
    pub fn replay(&mut self, requests: RecordedRequests) {
        self.dispatch.set_recorded(requests);
    }

    /// Prepares the run: opens the connections of a pool.
    ///
    /// # Errors
    /// When the poller is broken.
    pub fn prepare(&mut self) -> io::Result<()> {
        self.open_pool()?;
        let now = self.connections.now();
        self.start_at(now);
        Ok(())
    }

    /// Lets the run start then, instead of when the worker was made or prepared. Until that instant, [`Worker::run`]
    /// waits.
    pub fn start_at(&mut self, start: Instant) {
        let plan = self.run.plan;
        self.phases = Phases::new(plan, start);
        self.dispatch.restart(start);
        if self.run.gives_up() {
            self.dispatch.give_up();
        }
        self.ticks = Ticks::new(plan, start, self.phases.measured_from());
        self.run.restart(start, self.phases.measured_from());
    }

    /// Runs to the end of the workload, of the plan's `runtime` and drain, or to the request to stop. Returns the figures.
    ///
    /// # Errors
    /// When the poller is broken.
    pub fn run(mut self) -> io::Result<Summary> {
        let mut ready: Vec<Ready> = Vec::new();
        let start = self.run.start();
        while self.connections.now() < start && !self.connections.network().stop_requested() {
            self.connections.network().wait(Some(start), &mut ready)?;
            // Connections of a pool may fail meanwhile.
            let now = self.connections.now();
            ready.iter().for_each(|event| self.handle_ready(event, now));
        }
        self.begin();
        let mut now = self.connections.now();
        while !self.is_finished() {
            let wake_at = now + SLEEP_MAX;
            let next = self.next_instant(wake_at);
            // Where there is more to do already, a turn should not take longer than a sleep may.
            let wake_at = if next.at > now { next.at } else { wake_at };
            let reads_late = self.wait(now, next, &mut ready)?;
            now = self.connections.now();
            let is_late = now - wake_at > PAUSE;
            if is_late {
                self.run.recorder.paused_for(now - wake_at);
            }
            self.connections.begin_turn(if is_late { wake_at } else { now }, reads_late);
            self.change_phase(now);
            if reads_late {
                self.handle_ends(&mut ready, now);
            }
            self.start_due(now);
            self.fire_timers(now);
            let mut handled = 0;
            for event in &ready {
                if self.connections.are_secured() {
                    // Cryptography takes its time: no arrival waits for more than one event's.
                    now = self.connections.now();
                    self.start_due(now);
                }
                self.handle_ready(event, now);
                // A thousand replies may come at once. They keep the instant at which they were found.
                self.look_for_arrivals(&mut handled);
            }
            self.read_on();
            self.fire_deadlines(now);
            self.ticks.tick(now, &self.phases, &mut self.run);
            self.act(now, |dispatch, phases, cx| dispatch.end_turn(phases, cx));
        }
        Ok(self.finish())
    }

    /// Borrows the policy, and all that its methods need.
    fn parts(&mut self, now: Instant) -> (&mut AnyDispatch<'a>, &Phases, Cx<'_, 'a, N>) {
        let cx = Cx { connections: &mut self.connections, run: &mut self.run, now };
        (&mut self.dispatch, &self.phases, cx)
    }

    fn is_finished(&mut self) -> bool {
        self.dispatch.is_finished(&self.phases, &self.run)
            || self.connections.network().stop_requested()
            || self.phases.is_over()
    }

    /// Returns the instant at which the loop must wake if nothing becomes ready: `latest`, or one that is due before.
    fn next_instant(&mut self, latest: Instant) -> Next {
        let start = self.run.start();
        if self.connections.has_unread() {
            return Next { at: start, is_offered: false };
        }
        let sooner = |at: Instant, other: Option<Instant>| other.map_or(at, |other| at.min(other));
        let offered = self.dispatch.next_instant(start, &self.phases, &self.run);
        let next = sooner(latest, self.connections.next_deadline());
        let next = sooner(next, self.phases.next_change());
        let next = self.ticks.next(next, &self.phases, &self.run);
        match offered {
            Some(offered) if offered <= next => Next { at: offered, is_offered: true },
            _ => Next { at: next, is_offered: false },
        }
    }

    /// Waits until then, or until a socket is ready. Returns whether it did not wait for sockets, as nothing depends on what
    /// arrives meanwhile.
    fn wait(&mut self, now: Instant, next: Next, ready: &mut Vec<Ready>) -> io::Result<bool> {
        let Next { at, is_offered } = next;
        let plan = self.run.plan;
        if !is_offered && !plan.spin {
            self.connections.network().wait_about(at, ready)?;
            return Ok(false);
        }
        let reads_late = is_offered
            && at > now
            && at - now <= LATE_MAX + plan.slack
            && self.connections.may_read_late(&self.run)
            && !self.dispatch.awaits_replies(&self.run)
            && self.connections.network().sleep(at);
        self.connections.network().wait(Some(at), ready)?;
        Ok(reads_late)
    }

    /// Handles the sockets that the server has closed while the worker did not listen, so that no arrival goes to one of them.
    fn handle_ends(&mut self, ready: &mut Vec<Ready>, now: Instant) {
        let mut handled = 0;
        ready.retain(|event| {
            let has_ended = event.ended || event.failed;
            if has_ended {
                self.handle_ready(event, now);
                self.look_for_arrivals(&mut handled);
            }
            !has_ended
        });
    }

    /// Has dispatch act, and handles the events that come of it.
    fn act(&mut self, now: Instant, act: impl FnOnce(&mut AnyDispatch<'a>, &Phases, &mut Cx<'_, 'a, N>)) {
        let (dispatch, phases, mut cx) = self.parts(now);
        act(dispatch, phases, &mut cx);
        if self.connections.has_happened() {
            self.handle_events();
        }
    }

    /// Handles the events of connections, one after the other, until none is left. To be called after everything that may
    /// have led to one.
    #[inline]
    fn handle_events(&mut self) {
        while let Some(event) = self.connections.poll_event(&mut self.buffer, &mut self.run) {
            let (dispatch, _, mut cx) = self.parts(event.now);
            dispatch.handle(event, &mut cx);
        }
    }

    fn start_due(&mut self, now: Instant) {
        self.act(now, |dispatch, phases, cx| dispatch.start_due(phases, cx));
    }

    /// Counts one of the things that a turn does, and looks for arrivals after each [`EVENTS_PER_LOOK`] of them.
    fn look_for_arrivals(&mut self, done: &mut usize) {
        *done += 1;
        if done.is_multiple_of(EVENTS_PER_LOOK) {
            let now = self.connections.now();
            self.start_due(now);
        }
    }

    fn fire_timers(&mut self, now: Instant) {
        let mut fired = 0;
        while self.dispatch.has_timer(now) {
            self.act(now, |dispatch, _, cx| dispatch.fire_timer(cx));
            self.look_for_arrivals(&mut fired);
        }
    }

    fn handle_ready(&mut self, ready: &Ready, now: Instant) {
        self.connections.handle_ready(ready, now, &mut self.run);
        self.handle_events();
    }

    /// Goes on with connections that had more to read than a turn allows.
    fn read_on(&mut self) {
        if !self.connections.has_unread() {
            return;
        }
        for key in self.connections.take_unread() {
            // The bytes of the others took their time to read.
            let now = self.connections.now();
            self.start_due(now);
            self.connections.read_on(key, now);
            self.handle_events();
        }
    }

    fn fire_deadlines(&mut self, now: Instant) {
        if self.connections.next_deadline().is_none_or(|next| next > now) {
            return;
        }
        let mut fired = 0;
        while let Some(key) = self.connections.pop_expired(now) {
            self.connections.time_out(key, now, &mut self.run);
            self.handle_events();
            self.look_for_arrivals(&mut fired);
        }
        // A timer that is due again at once has its turn in the next round.
        for _ in 0..self.connections.timer_count() {
            let Some(key) = self.connections.pop_timer(now) else { break };
            self.connections.fire_timer(key, now);
            self.handle_events();
            self.look_for_arrivals(&mut fired);
        }
    }

    /// Nothing more is offered: connections issue no further calls, and WebSockets are closed.
    fn cut(&mut self, now: Instant) {
        self.act(now, |dispatch, _, cx| dispatch.cut(cx));
        for call in self.run.close_talks() {
            self.connections.finish_talk(call, now, &mut self.run);
            self.handle_events();
        }
    }

    /// Opens the connections of a pool, if the plan has one, and waits until they are there or have failed.
    fn open_pool(&mut self) -> io::Result<()> {
        let count = self.dispatch.opened_before();
        if count == 0 {
            return Ok(());
        }
        let began = self.connections.now();
        // However long it takes, it is no part of the measured phase if there is a warm-up before that.
        self.run.recorder.restart(began, Instant::from_nanos(u64::MAX));
        let limit = self.run.plan.timeouts.timeout.map_or(OPENING_TIME, |limit| limit.min(OPENING_TIME));
        let end = began + limit;
        let mut opened = 0;
        let mut ready: Vec<Ready> = Vec::new();
        let mut now = began;
        loop {
            let room = OPENING_MAX.saturating_sub(self.connections.opening_count());
            let next = count.min(opened + room);
            for nth in opened..next {
                self.act(now, |dispatch, _, cx| dispatch.open_before(nth, cx));
            }
            opened = next;
            let is_open = self.connections.opening_count() == 0;
            let is_over = self.connections.network().stop_requested() || self.run.gives_up();
            if is_open && opened == count || now >= end || is_over {
                break;
            }
            if is_open {
                // The connections that were begun have failed at once: nothing will be told of them.
                now = self.connections.now();
                continue;
            }
            let deadline = self.connections.next_deadline().map_or(end, |deadline| deadline.min(end));
            self.connections.network().wait(Some(deadline), &mut ready)?;
            now = self.connections.now();
            self.connections.begin_turn(now, false);
            ready.iter().for_each(|event| self.handle_ready(event, now));
            self.read_on();
            self.fire_deadlines(now);
        }
        Ok(())
    }

    /// Starts the arrivals that are due at once, and begins to measure if there is no warm-up.
    fn begin(&mut self) {
        let counters = self.connections.network().counters();
        self.begun_late = self.connections.now() - self.run.start();
        self.phases.open();
        self.start_due(self.run.start());
        // As in the classic tool, the test lasts from when the first are under way.
        let now = self.connections.now();
        self.phases.set_began(now, counters);
    }

    /// Goes on to the next phase if it is time.
    fn change_phase(&mut self, now: Instant) {
        while let Some((phase, at)) = self.phases.ended(now) {
            match phase {
                Phase::WarmUp => {
                    self.connections.record_counts(self.run.start(), &mut self.run);
                    self.phases.begin_measuring(now, self.connections.network().counters());
                    self.run.recorder.begin_measuring(now);
                }
                Phase::Measured => {
                    // A worker that wakes up late still starts the arrivals that were due just before the end.
                    self.start_due(now);
                    while self.dispatch.holds_back(at, &self.phases, &self.run) {
                        self.start_due(now);
                    }
                    let was_full = self.dispatch.is_full(&self.run);
                    self.phases.end_measuring(now, &self.connections.network().counters(), was_full);
                    if self.phases.begin_draining() {
                        self.run.recorder.begin_draining(at);
                        self.cut(now);
                    }
                }
                Phase::Drain => self.phases.end(),
            }
        }
    }

    /// The run is over: returns its figures.
    fn finish(mut self) -> Summary {
        let now = self.connections.now();
        let was_full = self.dispatch.is_full(&self.run);
        let measured = self.phases.finish(now, &self.connections.network().counters(), was_full);
        self.dispatch.record_unfinished(&mut self.run, now);
        // What a run that is told to end has let wait for others is not missed.
        let waiting =
            if self.connections.network().stop_requested() { self.run.plan.slack } else { Duration::ZERO };
        let due = Instant::from_nanos(measured.end.as_nanos().saturating_sub(waiting.as_nanos() as u64));
        self.dispatch.record_missed(due, measured.was_full, &mut self.run, now);
        let (dispatch, _, mut cx) = self.parts(now);
        dispatch.close_idle(&mut cx);
        self.connections.record_counts(now, &mut self.run);
        self.run.recorder.clock_stepped(self.connections.network().clock_steps());
        self.run.recorder.qlogs_cut(self.connections.complete_qlogs());
        self.run.recorder.end_last_interval(now);
        self.run.report_intervals(now);
        let calls_not_logged = self.run.calls_not_logged();
        self.run.into_summary(End {
            at: now,
            duration: measured.duration,
            usage: measured.usage,
            calls_not_logged,
            begun_late: self.begun_late,
        })
    }
}

/// Returns the figures that a plan asks for.
fn figures(plan: &Plan) -> RecordedFigures {
    RecordedFigures {
        sessions: matches!(plan.workload, Workload::Sessions(_) | Workload::Scenarios(_)),
        tls: plan.tls.is_some(),
        http2: plan.request.version.may_have_streams(),
        quic: plan.request.version == HttpVersion::Http3,
        detail: plan.recording.detail,
        groups: plan.recording.split.is_some(),
        slowest: plan.recording.slowest as usize,
        kernel: plan.recording.kernel_sends.is_some(),
        clocks: plan.watch.clocks,
        models: plan.replies.streams.model.is_some(),
    }
}

/// Returns the load phases and the steps whose figures a plan asks for.
fn visits(plan: &Plan) -> Option<VisitsShape> {
    let Workload::Scenarios(scenarios) = &plan.workload else { return None };
    let phase_ends = match &plan.arrivals {
        Arrivals::Phased(phased) => {
            phased.starts().map(|(start, phase)| start.saturating_add(phase.length)).collect()
        }
        _ => Vec::new(),
    };
    let step = |call: u32| {
        let request = &scenarios.requests[call as usize];
        (request.checks.len(), request.captures.len())
    };
    let steps = |scenario: &Scenario| scenario.calls().into_iter().map(step).collect();
    Some(VisitsShape { phase_ends, scenarios: scenarios.scenarios.iter().map(steps).collect() })
}
