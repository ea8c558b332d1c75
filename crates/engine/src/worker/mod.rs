//! One worker: a loop that starts what is due, waits for readiness, moves bytes and hands events on.
//!
//! ```text
//!   one turn
//!     now ─► arrivals, timers, deadlines ─► sessions ─► calls ─► connections ─► bytes ─► socket
//!     poller ─► bytes ─► protocol ─► events ─► calls ─► samples ─► recorder
//!                                                └────► sessions: next burst, think, or ended
//! ```
//!
//! The clock is read once a turn, every few events to see what is due, and once for each connect and each write, whose
//! instants are reported.

mod arrivals;
mod calls;
mod connections;
mod inspection;
mod multiplexed;
mod numbers;
mod pages;
mod phases;
mod pool;
mod proxied;
mod resumption;
mod secure;
mod sends;
mod sessions;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::time::Duration;

use httperf_load::requests::Requests;
use httperf_plan::{Excess, Plan, Shard, Workload};
use httperf_proto::request::Request;
use httperf_proto::tls::Context;
use httperf_proto::{http1, http2};
use httperf_stats::{Figures, Instant, Recorder, SAMPLE_INTERVAL, Summary};
use slotmap::{KeyData, SlotMap, new_key_type};

use self::arrivals::Arrivals;
use self::calls::Call;
use self::connections::Connection;
use self::numbers::Numbers;
use self::phases::Phases;
use self::pool::Pool;
use self::proxied::Proxied;
use self::secure::Tls;
use self::sessions::Session;
use crate::deadlines::Deadlines;
use crate::{Network, Observation, Observer, Ready};

new_key_type! {
    /// Names a session for as long as it lives.
    struct SessionKey;
    /// Names a connection for as long as it lives; also the poller's key for it.
    struct ConnectionKey;
    /// Names a call for as long as it lives; also the protocol's name for it.
    struct CallKey;
}

/// How many arrivals a turn starts at most before it looks for replies again, so that a generator that fell
/// behind does not read its clock late for every reply that came meanwhile.
const ARRIVALS_PER_TURN: u32 = 64;

/// How many events, timers or deadlines are handled before the worker looks for arrivals again.
const EVENTS_PER_LOOK: usize = 16;

/// How many times a connection is read in a turn before the others have theirs.
const READS_PER_TURN: u32 = 8;

/// Bytes read at once.
const READ_SIZE: usize = 64 * 1024;

/// A worker that wakes up this much too late has paused: it has not heard what came meanwhile.
const PAUSE: Duration = Duration::from_millis(1);

/// How long a worker sleeps at most, so that it notices when it was kept from running.
const SLEEP_MAX: Duration = Duration::from_millis(20);

/// Carries out a plan, or one shard of it, over a [`Network`].
pub struct Worker<'p, 'o, N: Network> {
    plan: &'p Plan,
    shard: Shard,
    network: N,
    observer: &'o mut dyn Observer,
    recorder: Recorder,
    start: Instant,
    phases: Phases,
    /// Counts passes of the loop.
    turn: u64,
    arrivals: Arrivals,
    /// How many connections, or sessions, may go on at once.
    cap: Option<Cap>,
    /// When there was room again for an arrival after there had been none.
    room_since: Option<Instant>,
    /// Since when what is handled in this turn may have been there: since the turn began, or since the worker should
    /// have woken up.
    noticed: Instant,
    requests: Requests<'p>,
    numbers: Numbers,
    /// The connections that take calls, if those are due by themselves.
    pool: Option<Pool<'p>>,
    sessions: SlotMap<SessionKey, Session<'p>>,
    connections: SlotMap<ConnectionKey, Connection<N::Socket>>,
    calls: SlotMap<CallKey, Call>,
    /// What connections are secured with, if they are.
    tls: Option<Tls>,
    /// How they get through a proxy, if there is one.
    proxied: Option<Proxied>,
    deadlines: Deadlines,
    timers: BinaryHeap<Reverse<(Instant, Timer)>>,
    /// Connections that were read as often as a turn allows and may have more.
    unread: Vec<ConnectionKey>,
    /// The connection whose bytes are being read.
    reading: Option<ConnectionKey>,
    /// When the last segment of what is being read reached this machine, if that is known.
    stamp: Option<Instant>,
    /// The next rate sample, and the next line of the periodic statistics.
    next_sample: Instant,
    next_second: Option<Instant>,
    /// What the periodic statistics have shown so far.
    shown: (u64, u64),
    /// Rendered requests that never change, at their places ([`Requests::place`]).
    kept_requests: Vec<Option<Request>>,
    http1: http1::Options,
    http2: http2::Options,
    header_cache: http1::HeaderCache,
    serials: Serials,
    told: Told,
    read_buffer: Vec<u8>,
    write_buffer: Vec<u8>,
}

/// What waits for an instant that always comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    /// The end of a session's pause.
    Think(SessionKey),
    /// Another attempt for what waits on a slot of a session.
    Retry(SessionKey, u32),
    /// Another attempt for a call of a slot of a session, whose stream was refused.
    Again(SessionKey, u32, CallKey),
}

/// Numbers given out so far.
#[derive(Debug, Default)]
struct Serials {
    calls: u64,
    connections: u64,
}

/// What a worker tells once, and has told.
#[derive(Debug, Default)]
struct Told {
    unexpected_error: bool,
    protocol_error: bool,
    tunnel_refused: bool,
}

/// What follows from the instant at which a worker starts.
struct Timetable {
    phases: Phases,
    arrivals: Arrivals,
    next_sample: Instant,
    next_second: Option<Instant>,
}

impl Timetable {
    fn new(plan: &Plan, shard: Shard, start: Instant) -> Self {
        let phases = Phases::new(plan, start);
        Self {
            arrivals: Arrivals::new(plan, shard, start),
            next_sample: phases.measured_from() + plan.client.first_sample(),
            next_second: plan.watch.periodic.then(|| start + Duration::from_secs(1)),
            phases,
        }
    }
}

impl<N: Network> std::fmt::Debug for Worker<'_, '_, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("turn", &self.turn)
            .field("sessions", &self.sessions.len())
            .field("connections", &self.connections.len())
            .field("calls", &self.calls.len())
            .finish_non_exhaustive()
    }
}

impl<'p, 'o, N: Network> Worker<'p, 'o, N> {
    /// A worker that has not started yet, for this shard of the plan. `tls`: what its connections are secured with,
    /// made of the same plan ([`tls_context`](crate::tls_context)).
    pub fn new(
        plan: &'p Plan,
        shard: Shard,
        tls: Option<Context>,
        mut network: N,
        observer: &'o mut dyn Observer,
    ) -> Self {
        let start = network.now();
        let watch = &plan.watch;
        let (has_sessions, cookies, pages, pipeline) = match &plan.workload {
            Workload::Connections(_) => (false, false, false, usize::MAX),
            Workload::Calls(calls) => (false, false, false, calls.pipeline.get() as usize),
            Workload::Sessions(sessions) => {
                let pages = matches!(sessions.script, httperf_plan::Script::Pages { .. });
                let pipeline = match plan.request.version {
                    // A session speaks HTTP/1.0 one call to a connection.
                    httperf_plan::HttpVersion::Http10 => 1,
                    _ => sessions.max_piped_calls.get() as usize,
                };
                (true, sessions.cookies, pages, pipeline)
            }
        };
        let http1 = http1::Options {
            pipeline,
            header_blocks: cookies
                || pages
                || plan.replies.reads_bodies()
                || watch.replies.is_some_and(httperf_plan::Parts::header),
            bodies: pages
                || plan.replies.reads_bodies()
                || watch.replies.is_some_and(httperf_plan::Parts::body),
            server_timing: plan.recording.detail && plan.recording.slowest > 0,
            upgrades: plan.http2.upgrade,
            limits: http1::Limits {
                head_size: plan.limits.reply_head_size,
                fields: plan.limits.reply_fields,
                chunk_line_size: plan.limits.chunk_line_size,
                interim_replies: plan.limits.interim_replies,
            },
        };
        let http2 = multiplexed::options(plan, &http1);
        let http1 = multiplexed::undecided(plan, http1);
        let Timetable { phases, arrivals, next_sample, next_second } = Timetable::new(plan, shard, start);
        let figures = Figures {
            sessions: has_sessions,
            tls: plan.tls.is_some(),
            http2: plan.request.version.may_be_http2(),
            detail: plan.recording.detail,
            groups: plan.recording.split.is_some(),
            slowest: plan.recording.slowest as usize,
            kernel: plan.recording.kernel_sends.is_some(),
        };
        let requests = Requests::new(plan);
        let pool = match &plan.workload {
            Workload::Calls(calls) => Some(Pool::new(plan, calls, shard)),
            Workload::Connections(_) | Workload::Sessions(_) => None,
        };
        Self {
            plan,
            shard,
            network,
            observer,
            recorder: Recorder::new(start, phases.measured_from(), figures),
            start,
            turn: 0,
            arrivals,
            cap: Cap::new(plan, shard),
            room_since: None,
            noticed: start,
            numbers: Numbers::new(plan, shard),
            pool,
            sessions: SlotMap::with_key(),
            connections: SlotMap::with_key(),
            calls: SlotMap::with_key(),
            tls: tls.map(|context| Tls::new(plan, context)),
            proxied: plan.proxy.as_ref().map(|proxy| Proxied::new(plan, proxy)),
            deadlines: Deadlines::default(),
            timers: BinaryHeap::new(),
            unread: Vec::new(),
            reading: None,
            stamp: None,
            next_sample,
            phases,
            next_second,
            shown: (0, 0),
            kept_requests: vec![None; requests.places(plan.targets.len())],
            requests,
            http1,
            http2,
            header_cache: http1::HeaderCache::default(),
            serials: Serials::default(),
            told: Told::default(),
            read_buffer: vec![0; READ_SIZE],
            write_buffer: Vec::new(),
        }
    }

    /// Does what comes before the start, from now on: opens the connections of a pool.
    ///
    /// # Errors
    /// When the poller is broken.
    pub fn prepare(&mut self) -> io::Result<()> {
        self.open_pool()?;
        let now = self.network.now();
        self.start_at(now);
        Ok(())
    }

    /// Lets the run start then, instead of when the worker was made or prepared. Until that instant, [`Worker::run`]
    /// waits.
    pub fn start_at(&mut self, start: Instant) {
        self.start = start;
        let Timetable { phases, arrivals, next_sample, next_second } =
            Timetable::new(self.plan, self.shard, start);
        self.recorder.restart(start, phases.measured_from());
        (self.phases, self.arrivals) = (phases, arrivals);
        (self.next_sample, self.next_second) = (next_sample, next_second);
    }

    /// Runs to the end of the workload, of the plan's `runtime` and what follows it, or to the request to stop. Returns
    /// what was measured.
    ///
    /// # Errors
    /// When the poller is broken.
    pub fn run(mut self) -> io::Result<Summary> {
        let mut ready: Vec<Ready> = Vec::new();
        while self.network.now() < self.start && !self.network.stop_requested() {
            self.network.wait(Some(self.start), &mut ready)?;
            // What becomes of a pool's connections meanwhile is told once.
            let now = self.network.now();
            ready.iter().for_each(|event| self.handle_ready(event, now));
        }
        self.begin();
        let mut now = self.network.now();
        while !self.is_finished() && !self.network.stop_requested() && !self.phases.is_over() {
            let wake_at = now + SLEEP_MAX;
            let deadline = self.next_instant(wake_at);
            // Where there is more to do already, a turn should not take longer than a sleep may.
            let wake_at = if deadline > now { deadline } else { wake_at };
            self.network.wait(Some(deadline), &mut ready)?;
            self.turn += 1;
            now = self.network.now();
            self.noticed = now;
            if now - wake_at > PAUSE {
                self.recorder.paused_for(now - wake_at);
                self.noticed = wake_at;
            }
            self.change_phase(now);
            self.start_due(now);
            self.fire_timers(now);
            let mut handled = 0;
            for event in &ready {
                if self.tls.is_some() {
                    // Cryptography takes its time: no arrival waits for more than one event's.
                    now = self.network.now();
                    self.start_due(now);
                }
                self.handle_ready(event, now);
                // A thousand replies may come at once. They keep the instant at which they were found.
                self.look_for_arrivals(&mut handled);
            }
            self.read_on();
            self.fire_deadlines(now);
            self.tick(now);
            self.serve_waiting(now);
            // What waited for the end of another arrival starts without another wait.
            self.start_due(now);
        }
        Ok(self.finish())
    }

    fn is_finished(&mut self) -> bool {
        if self.arrivals.all_ended() {
            return true;
        }
        self.going_on() == 0 && (!self.may_start() || self.requests_are_used_up())
    }

    /// Whether arrivals may still start: those of a schedule that wait for room when no more is offered do so in the
    /// drain. Sessions do not: the drain cuts them.
    fn may_start(&mut self) -> bool {
        if self.phases.is_offering() {
            return true;
        }
        let waits = matches!(self.plan.workload, Workload::Connections(_))
            && self.cap.is_some_and(|cap| cap.excess == Excess::Waits);
        waits && self.phases.draining_since().is_some_and(|end| self.arrivals.is_due_before(end))
    }

    /// How many arrivals have been started and have not ended.
    fn going_on(&self) -> usize {
        match &self.pool {
            Some(pool) => self.calls.len() + pool.waiting_count(),
            None => self.sessions.len(),
        }
    }

    fn requests_are_used_up(&mut self) -> bool {
        self.numbers.are_used_up(|| self.arrivals.next_index(), &self.requests)
    }

    /// When the loop must wake if nothing becomes ready: at `latest`, or when something is due before that.
    fn next_instant(&mut self, latest: Instant) -> Instant {
        if !self.unread.is_empty() || self.pool.as_ref().is_some_and(Pool::can_serve) {
            return self.start;
        }
        let is_waiting = self.is_full() == Some(Excess::Waits);
        let arrival = if is_waiting || !self.may_start() || self.requests_are_used_up() {
            None
        } else {
            self.arrivals.next_due(self.going_on(), self.start)
        };
        let timer = self.timers.peek().map(|Reverse((at, _))| *at);
        let interval = self.plan.recording.detail.then(|| self.recorder.interval_end());
        let sample = self.phases.is_offering().then_some(self.next_sample);
        [arrival, timer, self.deadlines.next(), sample, self.next_second, interval, self.phases.next_change()]
            .into_iter()
            .flatten()
            .fold(latest, Instant::min)
    }

    /// Starts the arrivals that are due, as far as there is room for them.
    fn start_due(&mut self, now: Instant) {
        if !self.may_start() {
            return;
        }
        for _ in 0..ARRIVALS_PER_TURN {
            let is_full = self.is_full();
            if is_full == Some(Excess::Waits) || self.requests_are_used_up() {
                return;
            }
            let offered_to = self.phases.offered_to(now);
            let Some(arrival) = self.arrivals.take_due(offered_to, self.going_on()) else { return };
            if let Some(delay) = arrival.delay
                && self.plan.watch.verbose >= 3
            {
                self.observer.observe(Observation::ArrivalDelay { delay });
            }
            if is_full == Some(Excess::Skipped) {
                self.recorder.arrival_skipped(arrival.at);
                self.arrivals.ended();
            } else {
                if self.arrivals.is_scheduled() {
                    let room_since = self.room_since.filter(|since| *since > arrival.at);
                    self.recorder.arrival_started(arrival.at, room_since, self.network.now());
                }
                if self.pool.is_some() {
                    self.offer_call(arrival.index, arrival.at, now);
                } else {
                    self.start_session(arrival.index, arrival.at, now);
                }
            }
        }
    }

    /// Whether as many connections are open, or sessions go on, as may, and what becomes of an arrival then.
    fn is_full(&self) -> Option<Excess> {
        let cap = self.cap?;
        let going_on = match &self.plan.workload {
            Workload::Connections(_) | Workload::Calls(_) => self.recorder.open(),
            Workload::Sessions(_) => self.sessions.len() as u64,
        };
        (going_on >= cap.most).then_some(cap.excess)
    }

    /// A connection, or a session, goes: if there was no room for another, there is since what ended it arrived, or, where
    /// that is not known, since it could be noticed.
    fn make_room(&mut self, now: Instant) {
        if self.is_full() == Some(Excess::Waits) {
            self.room_since = Some(self.stamp.unwrap_or(self.noticed).min(now));
        }
    }

    /// Looks for arrivals after every so many of the things that a turn does.
    fn look_for_arrivals(&mut self, done: &mut usize) {
        *done += 1;
        if done.is_multiple_of(EVENTS_PER_LOOK) {
            let now = self.network.now();
            self.start_due(now);
        }
    }

    fn fire_timers(&mut self, now: Instant) {
        let mut fired = 0;
        while let Some(&Reverse((at, timer))) = self.timers.peek() {
            if at > now {
                return;
            }
            self.timers.pop();
            match timer {
                Timer::Think(session) => {
                    let began = self.network.now();
                    self.recorder.timer_fired(at, began);
                    self.resume_session(session, now);
                }
                Timer::Retry(session, slot) => self.retry_slot(session, slot as usize, now),
                Timer::Again(session, slot, call) => self.end_pause(session, slot as usize, call, now),
            }
            self.look_for_arrivals(&mut fired);
        }
    }

    fn fire_deadlines(&mut self, now: Instant) {
        let mut fired = 0;
        while let Some(key) = self.deadlines.pop_expired(now) {
            self.time_out(ConnectionKey::from(KeyData::from_ffi(key)), now);
            self.look_for_arrivals(&mut fired);
        }
    }

    /// Tells of the intervals that have ended.
    fn tell_intervals(&mut self, now: Instant) {
        while self.plan.recording.detail
            && let Some(interval) = self.recorder.end_interval(now)
        {
            self.observer.observe(Observation::Interval { interval: &interval });
        }
    }

    /// Takes rate samples and shows the periodic statistics when their time has come.
    fn tick(&mut self, now: Instant) {
        self.tell_intervals(now);
        if now >= self.next_sample && self.phases.is_offering() {
            let rates = self.recorder.tick(now);
            self.next_sample = self.next_sample + SAMPLE_INTERVAL;
            if self.plan.watch.verbose >= 1 {
                let sessions = matches!(self.plan.workload, Workload::Sessions(_));
                self.observer.observe(Observation::Rates { rates, sessions });
            }
        }
        if let Some(second) = self.next_second
            && now >= second
        {
            let (ok, found) = self.recorder.periodic();
            self.observer.observe(Observation::Second {
                elapsed: now - self.start,
                ok: ok - self.shown.0,
                found: found - self.shown.1,
            });
            self.shown = (ok, found);
            self.next_second = Some(second + Duration::from_secs(1));
        }
    }
}

/// A shard's part of a cap on connections or sessions.
#[derive(Clone, Copy)]
struct Cap {
    /// The most that may go on at once.
    most: u64,
    /// What becomes of an arrival that finds as many.
    excess: Excess,
}

impl Cap {
    fn new(plan: &Plan, shard: Shard) -> Option<Self> {
        let (most, excess) = match &plan.workload {
            Workload::Connections(connections) => {
                connections.max_open.map(|cap| (cap.connections, cap.excess))?
            }
            Workload::Sessions(sessions) => (sessions.max_open?, Excess::Waits),
            Workload::Calls(_) => return None,
        };
        Some(Self { most: shard.share(most.get().into()), excess })
    }
}
