//! Requests of a recording: the clients that make them, each with connections and cookies of its own.
//!
//! A request is made when it is due, unless all connections of its client wait for replies: then it waits for the first
//! that is free, and its latency counts from when it was due. Requests that belong to no client share one, which has many
//! connections and no cookies.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use httperf_load::replay::DueRequest;
use httperf_plan::{Clients, Replay, Shard};
use httperf_stats::Instant;

use super::sessions::{Session, Slot};
use super::{ARRIVALS_PER_TURN, Dispatch, Policy};
use crate::Network;
use crate::worker::connections::{Cx, Owner};
use crate::worker::run::{NewCall, Run};
use crate::worker::{CallKey, SessionKey};

/// The time after which a client closes connections that it does not use. Most servers close them before.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// Clients that are looked at for having been idle, at most, each time a request is due.
const LOOKS_PER_REQUEST: usize = 4;

/// The clients of a recording that are there.
pub(super) struct Replaying<'a> {
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
pub(super) struct RecordedClient {
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
    pub(super) fn new(replay: &'a Replay, shard: Shard) -> Self {
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

    /// Returns the number of requests that wait for a connection.
    pub(super) fn waiting_count(&self) -> usize {
        self.waiting
    }

    /// Returns whether requests may go on that waited for calls which have failed.
    pub(super) fn can_serve(&self) -> bool {
        !self.resuming.is_empty()
    }

    /// Returns the number of the client that makes a request.
    fn client_of(&self, request: &DueRequest) -> u64 {
        match self.replay.clients {
            Clients::Recorded { .. } => request.client,
            Clients::Independent { .. } => 0,
        }
    }
}

impl Dispatch<'_> {
    /// Takes a request that was due at `due`.
    pub(super) fn take_request<N: Network>(
        &mut self,
        request: DueRequest,
        due: Instant,
        cx: &mut Cx<'_, '_, N>,
    ) {
        self.forget_idle_clients(cx);
        let Policy::Replay(replaying) = &mut self.policy else { return };
        let number = replaying.client_of(&request);
        let key = *replaying.sessions.entry(number).or_insert_with(|| {
            let mut session = Session::new(self.plan, number, self.plan.target_of(number), due, cx.now);
            session.recorded = Some(Box::new(RecordedClient::new(cx.now)));
            replaying.looked_at.push_back((cx.now, number));
            self.sessions.insert(session)
        });
        replaying.waiting += 1;
        let Some(client) = self.sessions[key].recorded.as_mut() else { return };
        client.waiting.push_back(WaitingRequest { due, request, is_held: false });
        client.active_at = cx.now;
        self.make_requests(key, cx);
        let client = self.sessions.get_mut(key).and_then(|session| session.recorded.as_mut());
        if let Some(request) = client.and_then(|client| client.waiting.back_mut()) {
            request.is_held = true;
            cx.run.recorder.arrival_held(due);
        }
    }

    /// Makes the requests of a client that wait, as far as its connections have room.
    pub(super) fn make_requests<N: Network>(&mut self, key: SessionKey, cx: &mut Cx<'_, '_, N>) {
        loop {
            let Policy::Replay(replaying) = &mut self.policy else { return };
            let Some(session) = self.sessions.get_mut(key) else { return };
            let Some(client) = &mut session.recorded else { return };
            if client.waiting.is_empty() {
                return;
            }
            let spreads = matches!(replaying.replay.clients, Clients::Independent { .. });
            let has_room = |slot: &Slot| slot.has_room(spreads, cx);
            let Some(slot) = session.free_slot_of(replaying.connections, has_room) else {
                return;
            };
            let is_light = session.slots().iter().all(|slot| slot.is_idle(cx));
            let Some(WaitingRequest { due, request: DueRequest { number, request, .. }, is_held }) =
                session.recorded.as_mut().and_then(|client| client.waiting.pop_front())
            else {
                return;
            };
            replaying.waiting -= 1;
            if is_held {
                cx.run.recorder.had_waited(due, cx.now);
            }
            session.ready_at = due;
            let cookie = session.cookie(&request.uri, || cx.connections.wall_clock());
            let target = session.target();
            let made = self.source.recorded_request(self.plan, target, number, &request, cookie.as_deref());
            let call = NewCall {
                session: key,
                intended: due,
                request: made,
                shown_uri: None,
                look: None,
                recorded: Some(request),
                talk: None,
            };
            let call = cx.run.create_call(call);
            if is_light {
                cx.run.mark_light(call);
            }
            session.queue(slot, call);
            self.drive_slot(Owner { session: key, slot }, cx);
            // Over HTTP/2 and HTTP/3 it may take more.
            self.note_room(Owner { session: key, slot });
        }
    }

    /// Notes a slot that may have room.
    pub(super) fn note_room(&mut self, owner: Owner) {
        let Some(session) = self.sessions.get_mut(owner.session) else { return };
        let Some(mut client) = session.recorded.take() else { return };
        if !session.set_noted(owner.slot, true) {
            client.free.push(owner.slot);
        }
        client.is_full = false;
        session.recorded = Some(client);
    }

    /// A call of a client was answered: its connection is for the next.
    pub(super) fn handle_replay_answer<N: Network>(&mut self, owner: Owner, cx: &mut Cx<'_, '_, N>) {
        let Some(session) = self.sessions.get_mut(owner.session) else { return };
        if let Some(client) = &mut session.recorded {
            client.active_at = cx.now;
        }
        // Calls that were behind it on a connection which the server closed go to another.
        if session.has_queued(owner.slot) {
            self.drive_slot(owner, cx);
        }
        self.note_room(owner);
        self.make_requests(owner.session, cx);
    }

    /// A connection of a client failed, and its calls with it: the first `count` of the slot's queue. With `may_repeat`,
    /// the server has closed a connection that was in use, and what is idempotent is made again (RFC 9110, section
    /// 9.2.2).
    pub(super) fn handle_replay_failure<N: Network>(
        &mut self,
        owner: Owner,
        may_repeat: bool,
        count: usize,
        cx: &mut Cx<'_, '_, N>,
    ) {
        let session = &mut self.sessions[owner.session];
        let failed: Vec<CallKey> = (0..count).map_while(|_| session.pop_queued(owner.slot)).collect();
        for call in failed.into_iter().rev() {
            let is_idempotent = matches!(
                cx.run.call(call).request().method(),
                b"GET" | b"HEAD" | b"PUT" | b"DELETE" | b"OPTIONS" | b"TRACE"
            );
            if may_repeat && is_idempotent {
                self.sessions[owner.session].queue_first(owner.slot, call);
            } else {
                cx.run.abandon_call(call, cx.now);
            }
        }
        if self.sessions[owner.session].has_queued(owner.slot) {
            self.drive_slot(owner, cx);
        }
        self.note_room(owner);
        self.resume_later(owner.session);
    }

    /// A call of a client has failed, and its connection goes on.
    pub(super) fn give_up_request<N: Network>(
        &mut self,
        owner: Owner,
        call: CallKey,
        cx: &mut Cx<'_, '_, N>,
    ) {
        cx.run.abandon_call(call, cx.now);
        self.note_room(owner);
        self.resume_later(owner.session);
    }

    /// Lets the requests of a client that wait go on in the next turn, as they may fail as well.
    fn resume_later(&mut self, key: SessionKey) {
        let Policy::Replay(replaying) = &mut self.policy else { return };
        let client = self.sessions.get(key).and_then(|session| session.recorded.as_ref());
        if client.is_some_and(|client| !client.waiting.is_empty()) {
            replaying.resuming.push_back(key);
        }
    }

    /// Makes requests that waited for calls which have failed.
    pub(super) fn resume_clients<N: Network>(&mut self, cx: &mut Cx<'_, '_, N>) {
        for _ in 0..ARRIVALS_PER_TURN {
            let Policy::Replay(replaying) = &mut self.policy else { return };
            let Some(key) = replaying.resuming.pop_front() else { return };
            self.make_requests(key, cx);
        }
    }

    /// Closes the connections of clients that have been idle, and forgets those whose cookies are as old as that.
    fn forget_idle_clients<N: Network>(&mut self, cx: &mut Cx<'_, '_, N>) {
        for _ in 0..LOOKS_PER_REQUEST {
            let Policy::Replay(replaying) = &mut self.policy else { return };
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
            } else if session.has_cookies() && cx.now - active_at < replaying.idle {
                replaying.looked_at.push_back((cx.now, number));
                self.close_connections(key, cx);
            } else {
                replaying.sessions.remove(&number);
                self.end_session(key, true, cx);
            }
        }
    }

    /// Records the requests that waited for a connection when the run ended.
    pub(super) fn record_waiting(&self, run: &mut Run<'_>, now: Instant) {
        let clients = self.sessions.values().filter_map(|session| session.recorded.as_ref());
        for &WaitingRequest { due, .. } in clients.flat_map(|client| &client.waiting) {
            run.recorder.had_waited(due, now);
            run.recorder.call_made(due);
            run.recorder.unfinished(due, now);
        }
    }
}

impl Session<'_> {
    /// Returns a slot that has room: one that has a connection, if there is any.
    fn free_slot_of(&mut self, most: usize, has_room: impl Fn(&Slot) -> bool) -> Option<usize> {
        let mut client = self.recorded.take()?;
        let found = self.noted_slot(&mut client, &has_room).or_else(|| {
            if self.slots().len() < most {
                return Some(self.add_slot());
            }
            let found = if client.is_full { None } else { self.slots().iter().position(has_room) };
            client.is_full = found.is_none();
            found
        });
        self.recorded = Some(client);
        found
    }

    /// Returns one of the slots that were noted, if one of them has room.
    fn noted_slot(&mut self, client: &mut RecordedClient, has_room: impl Fn(&Slot) -> bool) -> Option<usize> {
        while let Some(place) = client.free.pop() {
            if !self.slots()[place].is_connected() {
                client.closed.push(place);
                continue;
            }
            self.set_noted(place, false);
            if has_room(&self.slots()[place]) {
                return Some(place);
            }
        }
        while let Some(place) = client.closed.pop() {
            self.set_noted(place, false);
            if has_room(&self.slots()[place]) {
                return Some(place);
            }
        }
        None
    }

    /// Returns the instant since which a client has had nothing to do, if it has nothing.
    fn idle_since(&self, is_idle: impl Fn(&Slot) -> bool) -> Option<Instant> {
        let client = self.recorded.as_ref()?;
        let has_calls = !client.waiting.is_empty() || self.is_draining() || !self.slots().iter().all(is_idle);
        (!has_calls).then_some(client.active_at)
    }
}
