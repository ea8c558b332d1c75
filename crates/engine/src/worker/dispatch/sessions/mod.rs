//! Sessions: the connections that they use, and their next step after a reply.
//!
//! A connection workload is the degenerate case: a session of one connection that nothing replaces.

mod ends;

use std::collections::VecDeque;
use std::time::SystemTime;

use httperf_load::page::Link;
use httperf_load::scenario;
use httperf_load::visit::{Next, Step, Visit};
use httperf_plan::{Clients, Plan, Script, UNLIMITED, Workload};
use httperf_proto::HeaderBlock;
use httperf_stats::Instant;
use smallvec::SmallVec;

use super::jars::Jars;
use super::page::Page;
use super::pool::{Place, Waiting};
use super::replay::RecordedClient;
use super::{Dispatch, Policy, Timer, is_light};
use crate::worker::connections::{Cx, KeptSession, Opening, Owner, Resumable};
use crate::worker::run::NewCall;
use crate::worker::{CallKey, ConnectionKey, SessionKey};
use crate::{Network, Observation};

/// One session.
pub(super) struct Session<'a> {
    visit: Visit<'a>,
    /// Its way through a scenario, if it follows one. `visit` is empty then.
    pub(super) scenario: Option<Box<scenario::Visit>>,
    /// The requests of the recording's client that it is, if it is one. `visit` is empty then.
    pub(super) recorded: Option<Box<RecordedClient>>,
    /// The number of its arrival; in a pool, of the last call that it was given.
    index: u64,
    /// Calls made for that arrival so far, with a URI of the run's source.
    issued: u64,
    /// Its group in a pool, and what it can do there.
    group: usize,
    pub(super) place: Place,
    /// Its connection, of a pool, is on its way.
    pub(super) is_opening: bool,
    /// The place of its target among the plan's; in a scenario, of that of its last call.
    target: usize,
    started: Instant,
    /// The instant at which it was due.
    intended: Instant,
    /// The instant at which the calls that are ready became so: they are due since then.
    pub(super) ready_at: Instant,
    slots: SmallVec<[Slot; 1]>,
    /// Connections that take no further calls, but answer those that they have.
    draining: Vec<ConnectionKey>,
    /// Calls that pause before another attempt.
    pausing: Vec<CallKey>,
    pub(super) jars: Jars,
    page: Option<Box<Page>>,
    /// The TLS session that its next connection to a target offers to resume, with that target.
    tls_session: Option<(usize, KeptSession)>,
    replies: u64,
    established: u64,
    /// It found most of the places free that sessions may take at once, where the plan bounds them.
    pub(super) is_light: bool,
    /// Its last attempt to connect came to no server.
    is_unreached: bool,
    /// A server that takes no further calls has given some back, which are made again on another connection.
    has_returned: bool,
}

/// A place for a connection, and the calls that are to travel on it.
#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The place of its target, where a session has a slot for each.
    target: usize,
    connection: Option<ConnectionKey>,
    /// Calls that the connection does not have yet, in order.
    queue: VecDeque<CallKey>,
    /// Connections in a row that failed without a reply.
    failures: u32,
    /// A retry timer runs: nothing is to be done until it fires.
    is_waiting: bool,
    /// The client of a recording has noted that it may have room.
    is_noted: bool,
}

impl<'a> Session<'a> {
    pub(super) fn new(plan: &'a Plan, index: u64, target: usize, intended: Instant, now: Instant) -> Self {
        let (cookies, pages) = match &plan.workload {
            Workload::Connections(_) | Workload::Calls(_) => (false, false),
            Workload::Scenarios(scenarios) => (scenarios.cookies, false),
            Workload::Replay(replay) => {
                (matches!(replay.clients, Clients::Recorded { cookies: true, .. }), false)
            }
            Workload::Sessions(sessions) => {
                (sessions.cookies, matches!(sessions.script, Script::Pages { .. }))
            }
        };
        let port = plan.targets[target].port();
        Self {
            visit: Visit::new(&plan.workload, index),
            scenario: None,
            recorded: None,
            index,
            issued: 0,
            group: 0,
            place: Place::default(),
            is_opening: false,
            target,
            started: now,
            intended,
            ready_at: intended,
            slots: SmallVec::new(),
            draining: Vec::new(),
            pausing: Vec::new(),
            jars: Jars::new(cookies.then_some(plan.limits.cookies)),
            page: pages.then(|| Box::new(Page::new(&plan.targets[target].host, port, plan.tls.is_some()))),
            tls_session: None,
            replies: 0,
            established: 0,
            is_light: false,
            is_unreached: false,
            has_returned: false,
        }
    }

    /// A session that stands for a connection of a pool.
    pub(super) fn of_pool(plan: &'a Plan, target: usize, group: usize, now: Instant) -> Self {
        let mut session = Self::new(plan, 0, target, now, now);
        session.group = group;
        session.slots.push(Slot::default());
        session
    }

    /// Takes a call of a pool.
    pub(super) fn assign(&mut self, call: Waiting) {
        (self.ready_at, self.index, self.issued) = (call.due, call.index, 0);
    }

    pub(super) fn group(&self) -> usize {
        self.group
    }

    pub(super) fn target(&self) -> usize {
        self.target
    }

    pub(super) fn intended(&self) -> Instant {
        self.intended
    }

    /// Returns the number of the arrival for which a call is made, and the number of calls made for it before.
    pub(super) fn count_issued(&mut self) -> (u64, u64) {
        self.issued += 1;
        (self.index, self.issued - 1)
    }

    /// Returns whether anything depends on which URI a call has.
    pub(super) fn needs_uris(&self) -> bool {
        self.jars.are_used() || self.page.is_some()
    }

    pub(super) fn start_page(&mut self, uri: &[u8], objects_max: usize) {
        if let Some(page) = &mut self.page {
            page.start(uri, objects_max);
        }
    }

    /// Returns the cookies for a URI, as a header field has them.
    pub(super) fn cookie(&mut self, uri: &[u8], clock: impl FnOnce() -> SystemTime) -> Option<Vec<u8>> {
        self.jars.header(self.target, uri, clock)
    }

    pub(super) fn keep_tls_session(&mut self, session: KeptSession) {
        self.tls_session = Some((self.target, session));
    }

    /// Its connection came to a server.
    pub(super) fn handle_reached(&mut self) {
        self.is_unreached = false;
    }

    pub(super) fn set_unreached(&mut self, is_unreached: bool) {
        self.is_unreached = is_unreached;
    }

    /// Returns whether calls wait for the connection of a slot.
    pub(super) fn has_queued(&self, slot: usize) -> bool {
        !self.slots[slot].queue.is_empty()
    }

    /// Returns the calls that wait for the connection of a slot.
    pub(super) fn queued(&self, slot: usize) -> impl Iterator<Item = CallKey> {
        self.slots[slot].queue.iter().copied()
    }

    /// Returns whether a slot has this connection.
    pub(super) fn has_connection(&self, slot: usize, connection: ConnectionKey) -> bool {
        self.slots[slot].connection == Some(connection)
    }

    /// Returns whether calls pause before another attempt.
    pub(super) fn is_pausing(&self) -> bool {
        !self.pausing.is_empty()
    }

    /// Returns whether calls are to be made on the connection of a slot: they wait for it, or pause.
    fn has_more_for(&self, slot: usize) -> bool {
        self.has_queued(slot) || !self.pausing.is_empty()
    }

    pub(super) fn pop_queued(&mut self, slot: usize) -> Option<CallKey> {
        self.slots[slot].queue.pop_front()
    }

    /// Queues the call of a step in the slot of a target. Returns the slot.
    pub(super) fn queue_step(&mut self, target: usize, call: CallKey) -> usize {
        self.target = target;
        let slot = self.slots.iter().position(|slot| slot.target == target).unwrap_or_else(|| {
            self.slots.push(Slot { target, ..Slot::default() });
            self.slots.len() - 1
        });
        self.slots[slot].queue.push_back(call);
        slot
    }

    pub(super) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Adds a slot. Returns its place.
    pub(super) fn add_slot(&mut self) -> usize {
        self.slots.push(Slot::default());
        self.slots.len() - 1
    }

    /// Sets whether a slot is noted as one that may have room. Returns whether it was.
    pub(super) fn set_noted(&mut self, slot: usize, is_noted: bool) -> bool {
        std::mem::replace(&mut self.slots[slot].is_noted, is_noted)
    }

    /// Queues a call in a slot, behind the others.
    pub(super) fn queue(&mut self, slot: usize, call: CallKey) {
        self.slots[slot].queue.push_back(call);
    }

    /// Queues a call in a slot, before the others.
    pub(super) fn queue_first(&mut self, slot: usize, call: CallKey) {
        self.slots[slot].queue.push_front(call);
    }

    /// Returns whether a connection that takes no further calls still answers some.
    pub(super) fn is_draining(&self) -> bool {
        !self.draining.is_empty()
    }

    /// Returns whether a server has set a cookie.
    pub(super) fn has_cookies(&self) -> bool {
        self.jars.have(self.target)
    }

    /// Returns all its connections.
    fn connections(&self) -> impl Iterator<Item = ConnectionKey> {
        self.draining.iter().copied().chain(self.slots.iter().filter_map(|slot| slot.connection))
    }
}

impl Slot {
    pub(super) fn is_connected(&self) -> bool {
        self.connection.is_some()
    }

    /// Returns whether it takes another call at once. `spreads`: calls do not wait for a stream if they can go elsewhere.
    pub(super) fn has_room<N: Network>(&self, spreads: bool, cx: &Cx<'_, '_, N>) -> bool {
        self.queue.is_empty()
            && !self.is_waiting
            && self.connection.is_none_or(|connection| match spreads {
                true => cx.connections.has_room(connection),
                false => cx.connections.has_capacity(connection),
            })
    }

    /// Returns whether it has no calls.
    pub(super) fn is_idle<N: Network>(&self, cx: &Cx<'_, '_, N>) -> bool {
        self.queue.is_empty()
            && self.connection.is_none_or(|connection| cx.connections.pending_count(connection) == 0)
    }
}

/// From an arrival to calls on connections.
impl<'a> Dispatch<'a> {
    /// Starts a session that was due at `intended`. `is_late`: it had waited for room, and the run's time is over.
    pub(super) fn start_session<N: Network>(
        &mut self,
        index: u64,
        intended: Instant,
        is_late: bool,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let target = self.plan.target_of(index);
        let mut session = Session::new(self.plan, index, target, intended, cx.now);
        session.is_light = self.cap.as_ref().is_some_and(|cap| is_light(self.sessions.len(), cap.places()));
        if let Policy::Scenarios(scenario) = &mut self.policy {
            session.scenario = Some(Box::new(scenario.visit(index)));
            let key = self.sessions.insert(session);
            cx.run.recorder.visit_started();
            self.advance_visit(key, cx);
            return;
        }
        let key = self.sessions.insert(session);
        if self.opens_without_calls() {
            self.sessions[key].slots.push(Slot::default());
            self.open_connection(Owner { session: key, slot: 0 }, cx);
        } else {
            self.pump(key, cx);
        }
        if is_late && let Some(session) = self.sessions.get_mut(key) {
            // Only the calls that were due with it are made.
            session.visit.stop_issuing();
        }
    }

    fn opens_without_calls(&self) -> bool {
        matches!(self.policy, Policy::Connections { opens_without_calls: true, .. })
    }

    /// Returns whether a session whose connection the server closes, with calls left that it has not processed, makes them
    /// again on another.
    fn makes_calls_again(&self, key: SessionKey) -> bool {
        match self.policy {
            Policy::Connections { makes_calls_again, .. } => {
                makes_calls_again || self.sessions[key].has_returned
            }
            _ => false,
        }
    }

    fn closes_after_reply(&self) -> bool {
        match &self.policy {
            Policy::Sessions { closes_after_reply, .. } => *closes_after_reply,
            Policy::Scenarios(scenario) => scenario.closes_after_reply,
            Policy::Connections { .. } | Policy::Pool(_) | Policy::Replay(_) => false,
        }
    }

    fn is_made_of_sessions(&self) -> bool {
        matches!(self.policy, Policy::Sessions { .. } | Policy::Scenarios(_))
    }

    fn is_made_of_connections(&self) -> bool {
        matches!(self.policy, Policy::Connections { .. })
    }

    pub(super) fn resume_session<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        let Some(session) = self.sessions.get_mut(key) else { return };
        if session.scenario.is_some() {
            self.advance_visit(key, cx);
        } else {
            session.visit.resume();
            self.pump(key, cx);
        }
    }

    pub(super) fn retry_slot<N: Network>(&mut self, key: SessionKey, slot: usize, cx: &mut Cx<'_, '_, N>) {
        if let Some(session) = self.sessions.get_mut(key) {
            session.slots[slot].is_waiting = false;
            self.drive_slot(Owner { session: key, slot }, cx);
        }
    }

    /// Issues the calls that are ready, as far as the session's slots have room.
    pub(super) fn pump<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        loop {
            let Some(session) = self.sessions.get(key) else { return };
            if !session.visit.is_ready() {
                break;
            }
            let Some(slot) = self.free_slot(key, cx) else { break };
            let next = self.sessions[key].visit.next_call().expect("a call is ready");
            if !self.create_call(key, slot, &next, cx) {
                let visit = &mut self.sessions[key].visit;
                visit.untake();
                visit.stop_issuing();
                if visit.is_idle() {
                    self.end_session(key, true, cx);
                    return;
                }
                break;
            }
            self.submit_slot(Owner { session: key, slot }, cx);
        }
        self.flush_session(key, cx);
    }

    /// Creates the next call of a session's visit, and queues it in a slot. Returns false if the run has no URI left for
    /// it.
    pub(super) fn create_call<N: Network>(
        &mut self,
        key: SessionKey,
        slot: usize,
        next: &Next<'_>,
        cx: &mut Cx<'_, '_, N>,
    ) -> bool {
        let session = &mut self.sessions[key];
        let clock = || cx.connections.wall_clock();
        let Some(request) = self.source.next(next, session, clock, cx.run) else { return false };
        let intended = session.ready_at;
        let call = cx.run.create_call(NewCall {
            session: key,
            intended,
            request,
            shown_uri: None,
            look: None,
            recorded: None,
            talk: None,
        });
        session.slots[slot].queue.push_back(call);
        true
    }

    /// Returns the first slot that takes another call; a new one if the session may have more.
    fn free_slot<N: Network>(&mut self, key: SessionKey, cx: &Cx<'_, '_, N>) -> Option<usize> {
        let (slots_max, calls_max) = match &self.policy {
            Policy::Connections { .. } | Policy::Pool(_) | Policy::Scenarios(_) | Policy::Replay(_) => {
                (1, usize::MAX)
            }
            Policy::Sessions { sessions, .. } => {
                (sessions.max_connections.get() as usize, sessions.max_piped_calls.get() as usize)
            }
        };
        let slots = &mut self.sessions[key].slots;
        let has_room = |slot: &Slot| {
            let submitted = slot.connection.map_or(0, |key| cx.connections.pending_count(key));
            slot.queue.len() + submitted < calls_max
        };
        slots.iter().position(has_room).or_else(|| {
            (slots.len() < slots_max).then(|| {
                slots.push(Slot::default());
                slots.len() - 1
            })
        })
    }

    /// Moves the calls that wait on a slot to its connection, opening one if there is none.
    pub(super) fn drive_slot<N: Network>(&mut self, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        self.submit_slot(owner, cx);
        self.flush_slot(owner, cx);
    }

    fn submit_slot<N: Network>(&mut self, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        let Some(session) = self.sessions.get_mut(owner.session) else { return };
        let slot = &session.slots[owner.slot];
        if slot.is_waiting || slot.queue.is_empty() {
            return;
        }
        if slot.connection.is_none() {
            self.open_connection(owner, cx);
        }
        let Some(session) = self.sessions.get_mut(owner.session) else { return };
        let slot = &mut session.slots[owner.slot];
        if let Some(connection) = slot.connection {
            cx.connections.submit(connection, &mut slot.queue, cx.now, cx.run);
        }
    }

    /// Opens a connection for a slot.
    #[inline(never)]
    pub(super) fn open_connection<N: Network>(&mut self, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        let session = &mut self.sessions[owner.session];
        let target = session.target;
        let known = session.tls_session.take_if(|(server, _)| *server == target);
        let tls_session = known.map(|(server, kept)| {
            session.tls_session = kept.again().map(|again| (server, again));
            kept
        });
        let opening = Opening { owner, target, due: session.ready_at, tls_session };
        match cx.connections.open(opening, cx.run) {
            Ok(connection) => {
                session.slots[owner.slot].connection = Some(connection);
                self.begin_opening(owner.session);
            }
            Err(failure) => {
                session.is_unreached = true;
                let count = session.slots[owner.slot].queue.len();
                self.fail_opening();
                self.handle_lost(owner, failure, false, count, cx);
            }
        }
    }

    /// Sends the calls that the session's connections were given.
    fn flush_session<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        let mut slot = 0;
        while self.sessions.get(key).is_some_and(|session| slot < session.slots.len()) {
            self.flush_slot(Owner { session: key, slot }, cx);
            slot += 1;
        }
    }

    /// Sends the calls that a slot's connection was given.
    fn flush_slot<N: Network>(&mut self, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        let slot = self.sessions.get(owner.session).and_then(|session| session.slots.get(owner.slot));
        if let Some(connection) = slot.and_then(|slot| slot.connection)
            && let Some(event) = cx.connections.flush_submitted(connection, cx.now, cx.run)
        {
            super::Handler::handle(self, event, cx);
        }
    }

    pub(super) fn handle_established<N: Network>(
        &mut self,
        connection: ConnectionKey,
        owner: Owner,
        cx: &mut Cx<'_, '_, N>,
    ) {
        self.sessions[owner.session].established += 1;
        self.end_opening(connection, owner.session, true, cx);
        if self.opens_without_calls() && !cx.connections.stay_for_ticket(connection, cx.now, cx.run) {
            self.end_session(owner.session, true, cx);
        }
    }
}

/// Replies.
impl<'a> Dispatch<'a> {
    /// Takes the cookies and the objects that a header block has.
    pub(super) fn handle_head<N: Network>(
        &mut self,
        key: CallKey,
        head: &HeaderBlock,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let call = cx.run.call(key);
        let session_key = call.session();
        let session = &mut self.sessions[session_key];
        let uri = call.request().target();
        if session.jars.are_used() {
            for value in head.cookies() {
                session.jars.store(session.target, value, uri, cx.connections.wall_clock());
            }
        }
        let Some(page) = &session.page else { return };
        let (scanner, links) = page.handle_head(uri, head.as_bytes());
        if let Some(scanner) = scanner {
            cx.run.scan_reply(key, scanner);
        }
        self.add_objects(session_key, links, cx);
    }

    /// Adds objects to the page of a session. They are due since they were found; those that are found while others
    /// still wait for room on a connection count with them.
    pub(super) fn add_objects<N: Network>(
        &mut self,
        session: SessionKey,
        links: Vec<Link>,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let session = &mut self.sessions[session];
        if !session.visit.is_ready() {
            session.ready_at = cx.now;
        }
        for link in links {
            match link {
                Link::Local(uri) => session.visit.add_object(uri),
                Link::Foreign(url) if self.plan.watch.verbose >= 2 => {
                    cx.run.observe(Observation::Ignoring { uri: url.as_bytes() });
                }
                Link::Foreign(_) => {}
            }
        }
    }

    /// A call was answered. `is_last`: the server processes nothing behind this reply (RFC 9112, section 9.6).
    pub(super) fn handle_answered<N: Network>(
        &mut self,
        connection: ConnectionKey,
        owner: Owner,
        call: CallKey,
        status: u16,
        is_last: bool,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let session = &mut self.sessions[owner.session];
        session.replies += 1;
        session.slots[owner.slot].failures = 0;
        if is_last || self.closes_after_reply() {
            let session = &self.sessions[owner.session];
            let unanswered = session.visit.unanswered();
            let has_more = cx.connections.pending_count(connection) > 0
                || session.has_returned && session.has_more_for(owner.slot);
            if has_more && self.makes_calls_again(owner.session) {
                self.stop_issuing_early(owner.session, cx);
            } else if self.is_made_of_connections() && unanswered > 1 {
                // The workload is made of connections: this one ends here, though it did not fail.
                cx.run.remove_call(call);
                let sent = self.drop_calls(owner.session, cx);
                self.record_closed_early(owner.session, unanswered - 1 - sent, cx);
                self.end_session(owner.session, false, cx);
                return;
            }
            self.retire_unprocessed(connection, owner, cx);
        }
        if let Policy::Sessions { sessions, .. } = &self.policy
            && sessions.failure_status == Some(status)
        {
            if sessions.retry_on_failure {
                self.repeat_call(owner, call, cx);
            } else {
                cx.run.remove_call(call);
                self.end_session(owner.session, false, cx);
            }
            return;
        }
        cx.run.end_call(call, cx.now);
        match &self.policy {
            Policy::Pool(_) => self.handle_pool_answer(owner.session, cx),
            Policy::Replay(_) => self.handle_replay_answer(owner, cx),
            Policy::Connections { .. } | Policy::Sessions { .. } | Policy::Scenarios(_) => {
                self.go_on(owner, cx);
            }
        }
    }

    /// A call of a session has ended: takes the next step of its visit.
    fn go_on<N: Network>(&mut self, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        let key = owner.session;
        let session = &mut self.sessions[key];
        if session.scenario.is_some() {
            session.ready_at = cx.now;
            self.advance_visit(key, cx);
            return;
        }
        // Calls that only wait for room on a connection have been due since before this reply.
        let had_ready = session.visit.is_ready();
        match session.visit.handle_reply() {
            Step::Finished => self.end_session(key, true, cx),
            Step::Think(pause) => {
                let at = cx.now + pause;
                session.ready_at = at;
                self.set_timer(at, Timer::Think(key));
                self.drive_slot(owner, cx);
            }
            Step::Continue => {
                if !had_ready {
                    session.ready_at = cx.now;
                }
                self.submit_slot(owner, cx);
                self.pump(key, cx);
            }
        }
    }

    /// Closes a connection behind whose last reply the server processes nothing. Calls that were sent there are made
    /// again, and count as sent once; but for sessions, where they count each time, as in the classic tool.
    fn retire_unprocessed<N: Network>(
        &mut self,
        connection: ConnectionKey,
        owner: Owner,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let mut behind: Vec<CallKey> = cx.connections.pending(connection).collect();
        behind.retain(|&call| cx.run.call(call).is_written());
        let calls = cx.connections.retire(connection, cx.now, cx.run);
        self.detach(connection, owner, &calls, cx);
        if !self.is_made_of_sessions() {
            behind.into_iter().for_each(|call| cx.run.keep_written(call));
        }
    }

    /// The server has closed a connection some of whose calls are made again. If a number of calls was planned on it, no
    /// more are made than those; otherwise the connection that replaces it goes on.
    fn stop_issuing_early<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        if self.plan.calls_per_arrival() == UNLIMITED {
            return;
        }
        let visit = &mut self.sessions[key].visit;
        let unanswered = visit.unanswered();
        visit.stop_issuing();
        let not_made = unanswered - visit.unanswered();
        if not_made > 0 {
            self.record_closed_early(key, not_made, cx);
        }
    }

    /// The server ended a connection of a connection workload before `calls_left` of its calls were made.
    fn record_closed_early<N: Network>(&mut self, key: SessionKey, calls_left: u64, cx: &mut Cx<'_, '_, N>) {
        if self.plan.calls_per_arrival() != UNLIMITED {
            cx.run.recorder.closed_early(self.sessions[key].ready_at, calls_left);
        }
    }
}
