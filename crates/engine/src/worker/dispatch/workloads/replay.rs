//! Requests of a recording: the clients that make them, each with connections and cookies of its own.
//!
//! A request is made when it is due, unless all connections of its client wait for replies: then it waits for the first
//! that is free, and its latency counts from when it was due. Requests that belong to no client share one, which has many
//! connections and no cookies.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use httperf_load::replay::DueRequest;
use httperf_plan::{Clients, Replay, Shard};
use httperf_stats::{Failure, Instant};

use crate::Network;
use crate::worker::connections::{Cx, Owner};
use crate::worker::dispatch::arrivals::Due;
use crate::worker::dispatch::jars::Jars;
use crate::worker::dispatch::policy::{Answered, Dispatch, Loss, Policy, Unit};
use crate::worker::dispatch::session::{Session, Slot};
use crate::worker::dispatch::turns::ARRIVALS_PER_TURN;
use crate::worker::run::{NewCall, Origin, Run};
use crate::worker::{CallKey, SessionKey};

/// The time after which a client closes connections that it does not use. Most servers close them before.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Clients that are looked at for having been idle, at most, each time a request is due.
const LOOKS_PER_REQUEST: usize = 4;

/// The clients of a recording that are there.
pub(in crate::worker::dispatch) struct Replaying<'a> {
    replay: &'a Replay,
    /// Connections that a client may have.
    connections: usize,
    /// The pause after which a client is forgotten.
    idle: Duration,
    sessions: HashMap<u64, SessionKey>,
    /// The clients in the order in which they are looked at for having been idle, each once, with the instant from which
    /// that is counted.
    looked_at: VecDeque<(Instant, u64)>,
    /// Requests that wait for a connection of their client.
    waiting: usize,
    /// Clients whose requests may go on in the next turn, as calls before them have failed.
    resuming: VecDeque<SessionKey>,
}

/// A client of a recording.
#[derive(Debug)]
pub(in crate::worker::dispatch) struct RecordedClient {
    /// Requests that are due and wait for a connection.
    waiting: VecDeque<WaitingRequest>,
    /// The instant of its last request or reply.
    active_at: Instant,
    /// Slots that may have room, the latest last: a search among thousands of connections for each request would take
    /// longer than the request.
    free: Vec<usize>,
    /// Those of them that had no connection.
    closed: Vec<usize>,
    /// All slots were searched, and nothing has ended since.
    is_full: bool,
}

impl RecordedClient {
    fn new(now: Instant) -> Self {
        Self {
            waiting: VecDeque::new(),
            active_at: now,
            free: Vec::new(),
            closed: Vec::new(),
            is_full: false,
        }
    }
}

/// A request that is due and has no connection.
#[derive(Debug)]
struct WaitingRequest {
    due: Instant,
    request: DueRequest,
    /// None of the client's connections was free when it was due.
    is_held: bool,
}

impl<'a> Replaying<'a> {
    pub(in crate::worker::dispatch) fn new(replay: &'a Replay, shard: Shard) -> Self {
        let (connections, idle) = match replay.clients {
            Clients::Recorded { connections, idle, .. } => {
                (connections.get() as usize, replay.scaled(idle).max(KEEP_ALIVE))
            }
            Clients::Independent { connections } => {
                (shard.share(connections.get().into()).max(1) as usize, Duration::MAX)
            }
        };
        Self {
            replay,
            connections,
            idle,
            sessions: HashMap::new(),
            looked_at: VecDeque::new(),
            waiting: 0,
            resuming: VecDeque::new(),
        }
    }

    /// Returns the number of the client that makes a request.
    fn client_of(&self, request: &DueRequest) -> u64 {
        match self.replay.clients {
            Clients::Recorded { .. } => request.client,
            Clients::Independent { .. } => 0,
        }
    }
}

impl<'a> Policy<'a> for Replaying<'a> {
    type Own = RecordedClient;

    const UNIT: Unit = Unit::Call;

    fn start<N: Network>(dispatch: &mut Dispatch<'a, Self>, arrival: Due, _: bool, cx: &mut Cx<'_, '_, N>) {
        if let Some(request) = arrival.request {
            dispatch.take_request(request, arrival.at, cx);
        }
    }

    fn is_used_up(dispatch: &mut Dispatch<'a, Self>) -> bool {
        dispatch.arrivals.next_index().is_none()
    }

    fn waiting_count(&self) -> usize {
        self.waiting
    }

    fn can_serve(&self) -> bool {
        !self.resuming.is_empty()
    }

    /// Makes requests that waited for calls which have failed.
    fn serve_waiting<N: Network>(dispatch: &mut Dispatch<'a, Self>, cx: &mut Cx<'_, '_, N>) {
        for _ in 0..ARRIVALS_PER_TURN {
            let Some(key) = dispatch.policy.resuming.pop_front() else { return };
            dispatch.make_requests(key, cx);
        }
    }

    fn slot_changed<N: Network>(dispatch: &mut Dispatch<'a, Self>, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        dispatch.note_room(owner);
        dispatch.make_requests(owner.session, cx);
    }

    /// The connection of a call that was answered is for the next.
    fn answered<N: Network>(dispatch: &mut Dispatch<'a, Self>, answered: Answered, cx: &mut Cx<'_, '_, N>) {
        let Answered { connection, owner, call, is_last, .. } = answered;
        if is_last {
            dispatch.retire_unprocessed(connection, owner, cx);
        }
        cx.run.end_call(call, cx.now);
        let Some(session) = dispatch.sessions.get_mut(owner.session) else { return };
        session.own.active_at = cx.now;
        // Calls that were behind it on a connection which the server closed go to another.
        if !session.slots[owner.slot].queue.is_empty() {
            dispatch.drive_slot(owner, cx);
        }
        dispatch.note_room(owner);
        dispatch.make_requests(owner.session, cx);
    }

    /// The calls of a connection fail with it. If the server has closed one that was in use, what is idempotent is made again
    /// (RFC 9110, section 9.2.2).
    fn lost<N: Network>(dispatch: &mut Dispatch<'a, Self>, loss: Loss, cx: &mut Cx<'_, '_, N>) {
        let Loss { owner, failure, has_answered, count } = loss;
        let may_repeat = has_answered && failure != Failure::ClientTimeout;
        let queue = &mut dispatch.sessions[owner.session].slots[owner.slot].queue;
        let failed: Vec<CallKey> = queue.drain(..count.min(queue.len())).collect();
        for call in failed.into_iter().rev() {
            let is_idempotent = matches!(
                cx.run.call(call).request().method(),
                b"GET" | b"HEAD" | b"PUT" | b"DELETE" | b"OPTIONS" | b"TRACE"
            );
            if may_repeat && is_idempotent {
                dispatch.sessions[owner.session].slots[owner.slot].queue.push_front(call);
            } else {
                cx.run.abandon_call(call, cx.now);
            }
        }
        if !dispatch.sessions[owner.session].slots[owner.slot].queue.is_empty() {
            dispatch.drive_slot(owner, cx);
        }
        dispatch.note_room(owner);
        dispatch.resume_later(owner.session);
    }

    fn failed<N: Network>(
        dispatch: &mut Dispatch<'a, Self>,
        owner: Owner,
        call: CallKey,
        cx: &mut Cx<'_, '_, N>,
    ) {
        cx.run.abandon_call(call, cx.now);
        dispatch.note_room(owner);
        dispatch.resume_later(owner.session);
    }

    fn record_unfinished(dispatch: &Dispatch<'a, Self>, run: &mut Run<'_>, now: Instant) {
        let clients = dispatch.sessions.values().map(|session| &session.own);
        for &WaitingRequest { due, .. } in clients.flat_map(|client| &client.waiting) {
            run.recorder.had_waited(due, now);
            run.recorder.call_made(due);
            run.recorder.unfinished(due, now);
        }
    }
}

impl<'a> Dispatch<'a, Replaying<'a>> {
    /// Takes a request that was due at `due`.
    fn take_request<N: Network>(&mut self, request: DueRequest, due: Instant, cx: &mut Cx<'_, '_, N>) {
        self.forget_idle_clients(cx);
        let replaying = &mut self.policy;
        let number = replaying.client_of(&request);
        let key = *replaying.sessions.entry(number).or_insert_with(|| {
            let has_cookies = matches!(replaying.replay.clients, Clients::Recorded { cookies: true, .. });
            let jars = Jars::new(has_cookies.then_some(self.plan.limits.cookies));
            let target = self.plan.target_of(number);
            replaying.looked_at.push_back((cx.now, number));
            self.sessions.insert(Session::new(RecordedClient::new(cx.now), target, due, cx.now, jars))
        });
        replaying.waiting += 1;
        let client = &mut self.sessions[key].own;
        client.waiting.push_back(WaitingRequest { due, request, is_held: false });
        client.active_at = cx.now;
        self.make_requests(key, cx);
        let session = self.sessions.get_mut(key);
        if let Some(request) = session.and_then(|session| session.own.waiting.back_mut()) {
            request.is_held = true;
            cx.run.recorder.arrival_held(due);
        }
    }

    /// Makes the requests of a client that wait, as far as its connections have room.
    fn make_requests<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        let spreads = matches!(self.policy.replay.clients, Clients::Independent { .. });
        loop {
            let Some(session) = self.sessions.get_mut(key) else { return };
            if session.own.waiting.is_empty() {
                return;
            }
            let has_room = |slot: &Slot| slot.has_room(spreads, cx);
            let Some(slot) = session.free_slot(self.policy.connections, has_room) else { return };
            let is_light = session.slots.iter().all(|slot| slot.is_idle(cx));
            let Some(WaitingRequest { due, request: DueRequest { number, request, .. }, is_held }) =
                session.own.waiting.pop_front()
            else {
                return;
            };
            self.policy.waiting -= 1;
            if is_held {
                cx.run.recorder.had_waited(due, cx.now);
            }
            session.ready_at = due;
            let target = session.target;
            let cookie = session.jars.header(target, &request.uri, || cx.connections.wall_clock());
            let made = self.source.recorded_request(self.plan, target, number, &request, cookie.as_deref());
            let origin = Origin::Recorded(request);
            let new = NewCall { session: key, intended: due, request: made, origin, talk: None };
            let call = cx.run.create_call(new);
            if is_light {
                cx.run.mark_light(call);
            }
            session.slots[slot].queue.push_back(call);
            self.drive_slot(Owner { session: key, slot }, cx);
            // Over HTTP/2 and HTTP/3 it may take more.
            self.note_room(Owner { session: key, slot });
        }
    }

    /// Notes a slot that may have room.
    fn note_room(&mut self, owner: Owner) {
        let Some(session) = self.sessions.get_mut(owner.session) else { return };
        if !std::mem::replace(&mut session.slots[owner.slot].is_noted, true) {
            session.own.free.push(owner.slot);
        }
        session.own.is_full = false;
    }

    /// Lets the requests of a client that wait go on in the next turn, as they may fail as well.
    fn resume_later(&mut self, key: SessionKey) {
        if self.sessions.get(key).is_some_and(|session| !session.own.waiting.is_empty()) {
            self.policy.resuming.push_back(key);
        }
    }

    /// Closes the connections of clients that have been idle, and forgets those whose cookies are as old as that.
    fn forget_idle_clients<N: Network>(&mut self, cx: &mut Cx<'_, '_, N>) {
        for _ in 0..LOOKS_PER_REQUEST {
            let replaying = &mut self.policy;
            let Some(&(since, number)) = replaying.looked_at.front() else { return };
            if cx.now < since + KEEP_ALIVE {
                return;
            }
            replaying.looked_at.pop_front();
            let Some(&key) = replaying.sessions.get(&number) else { continue };
            let Some(session) = self.sessions.get_mut(key) else { continue };
            let Some(active_at) = session.idle_since(|slot| slot.is_idle(cx)) else {
                replaying.looked_at.push_back((cx.now, number));
                continue;
            };
            if cx.now < active_at + KEEP_ALIVE {
                replaying.looked_at.push_back((active_at, number));
            } else if session.jars.have(session.target) && cx.now - active_at < replaying.idle {
                replaying.looked_at.push_back((cx.now, number));
                self.close_connections(key, cx);
            } else {
                replaying.sessions.remove(&number);
                self.end_session(key, true, cx);
            }
        }
    }
}

impl Session<RecordedClient> {
    /// Returns a slot that has room: one that has a connection, if there is any.
    fn free_slot(&mut self, most: usize, has_room: impl Fn(&Slot) -> bool) -> Option<usize> {
        if let Some(noted) = self.noted_slot(&has_room) {
            return Some(noted);
        }
        if self.slots.len() < most {
            return Some(self.add_slot());
        }
        let found = if self.own.is_full { None } else { self.slots.iter().position(has_room) };
        self.own.is_full = found.is_none();
        found
    }

    /// Returns one of the slots that were noted, if one of them has room.
    fn noted_slot(&mut self, has_room: impl Fn(&Slot) -> bool) -> Option<usize> {
        while let Some(place) = self.own.free.pop() {
            let slot = &mut self.slots[place];
            if slot.connection.is_none() {
                self.own.closed.push(place);
                continue;
            }
            slot.is_noted = false;
            if has_room(slot) {
                return Some(place);
            }
        }
        while let Some(place) = self.own.closed.pop() {
            let slot = &mut self.slots[place];
            slot.is_noted = false;
            if has_room(slot) {
                return Some(place);
            }
        }
        None
    }

    /// Returns the instant since which it has had nothing to do, if it has nothing.
    fn idle_since(&self, is_idle: impl Fn(&Slot) -> bool) -> Option<Instant> {
        let has_calls =
            !self.own.waiting.is_empty() || !self.draining.is_empty() || !self.slots.iter().all(is_idle);
        (!has_calls).then_some(self.own.active_at)
    }
}
