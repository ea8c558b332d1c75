//! Rank 0's side of a meeting, as a value: bytes and times in, bytes and events out. It opens no socket and reads no clock.
//!
//! ```text
//!   Gathering ── all have joined ──► Measuring ── clocks are known ──► Met ── begin ──► Preparing
//!                                                                       ▲                    │ all are ready
//!                                                                       │                    ▼
//!                    Over ◄── dismiss, or any failure before a start    └─ Comparing ◄── Running
//!                      ▲
//!                  Refusing, if a meeting fails that not all have come to
//! ```
//!
//! A peer is a stranger until it has proven that it knows the secret. It is allowed few bytes and little time until then,
//! and there are few strangers at once. What is known of a rank is its `Member`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use crate::clock::{ClockOffset, Measurement};
use crate::host_event::{HostEvent, Known, PeerId};
use crate::meeting_error::MeetingError;
use crate::secret::{Exchange, Nonce, Secret, Side};
use crate::wire::{Incoming, Join, Message, STRANGER_MAX, Time};

/// The most strangers at once. Of more, the one that came first is sent away.
pub(crate) const STRANGERS_MAX: usize = 64;

/// The time that a stranger has for its proof.
const STRANGER_TIME: Duration = Duration::from_secs(5);

/// The time after which a rank that says nothing is named.
const SILENT_AFTER: Duration = Duration::from_secs(3);

/// The time after which a rank that says nothing counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(15);

/// The time for which those who come to a meeting that has failed are told why. They would knock in vain otherwise, until
/// their own patience ends.
const REFUSING_TIME: Duration = Duration::from_secs(5);

/// The interval at which each side says that it is still there.
pub(crate) const BEAT: Duration = Duration::from_secs(1);

/// The interval at which time limits are looked at.
const TICK: Duration = Duration::from_millis(250);

/// The least time from the agreement on a start to the start.
const LEAD_MIN: Duration = Duration::from_millis(200);

/// The same, in round trips: the message with the start may be lost and sent again.
const LEAD_ROUND_TRIPS: u32 = 10;

/// The time for comparing clocks again when a run is over.
const COMPARING_TIME: Duration = Duration::from_secs(3);

/// The host of a meeting.
pub struct Host {
    size: u32,
    secret: Secret,
    own: Join,
    began: Duration,
    /// The time after which ranks that are still missing are given up.
    patience: Duration,
    draw: Box<dyn FnMut() -> Nonce + Send>,
    stage: Stage,
    peers: BTreeMap<PeerId, Peer>,
    /// Ranks 1 and above.
    members: Vec<Option<Member>>,
    /// Where the last stranger came from that claimed to be a rank.
    claims: BTreeMap<u32, String>,
    /// The reason why the meeting has failed, and the ranks that were not told.
    refusal: (String, BTreeSet<u32>),
    refused: u64,
    next_tick: Duration,
    next_beat: Duration,
    outgoing: VecDeque<(PeerId, Vec<u8>)>,
    closing: VecDeque<PeerId>,
    events: VecDeque<HostEvent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Ranks are missing.
    Gathering,
    /// All are there; their clocks are measured.
    Measuring,
    /// Nothing goes on.
    Met,
    /// A run was announced, and some workers are not ready.
    Preparing { is_ready: bool },
    /// A start was agreed on.
    Running { own_is_over: bool },
    /// The run is over; clocks are measured again until then.
    Comparing { until: Duration },
    /// The meeting has failed; ranks that still come are told so until then.
    Refusing { until: Duration },
    /// Nobody is there any more.
    Over,
}

struct Peer {
    from: String,
    incoming: Incoming,
    /// Bytes that it sent as a stranger.
    received: usize,
    since: Duration,
    state: PeerState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PeerState {
    /// Has said nothing.
    New,
    /// Was asked for its proof.
    Challenged(Exchange),
    /// Knows the secret, and has not described itself.
    Proven { rank: u32 },
    /// Is this rank.
    Member { rank: u32 },
}

struct Member {
    /// Its connection; `None` once it is lost.
    peer: Option<PeerId>,
    join: Join,
    heard: Duration,
    is_silent: bool,
    measurement: Measurement,
    clock: Option<ClockOffset>,
    longest: Duration,
    progress: Progress,
}

/// A member's progress in the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Idle,
    Ready,
    Running,
    Done,
}

impl std::fmt::Debug for Host {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Host").field("size", &self.size).field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl Host {
    /// A host that waits this long for the others. `draw` draws numbers that nobody can guess.
    pub fn new(
        own: Join,
        secret: Secret,
        now: Duration,
        patience: Duration,
        draw: impl FnMut() -> Nonce + Send + 'static,
    ) -> Self {
        let size = own.size;
        let mut host = Self {
            size,
            secret,
            own,
            began: now,
            patience,
            draw: Box::new(draw),
            stage: Stage::Gathering,
            peers: BTreeMap::new(),
            members: (1..size).map(|_| None).collect(),
            claims: BTreeMap::new(),
            refusal: (String::new(), BTreeSet::new()),
            refused: 0,
            next_tick: now + TICK,
            next_beat: now + BEAT,
            outgoing: VecDeque::new(),
            closing: VecDeque::new(),
            events: VecDeque::new(),
        };
        if size == 1 {
            host.meet();
        }
        host
    }

    /// The ranks that are not there.
    #[must_use]
    pub fn absent(&self) -> Vec<u32> {
        (1..self.size).filter(|&rank| self.member(rank).is_none_or(|member| member.peer.is_none())).collect()
    }

    /// The number of peers that were sent away because they do not belong here.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused
    }

    /// Strangers that are there now, and the bytes of them that are kept.
    #[cfg(any(test, fuzzing))]
    pub(crate) fn strangers(&self) -> (usize, usize) {
        let strangers = self
            .peers
            .values()
            .filter(|peer| matches!(peer.state, PeerState::New | PeerState::Challenged(_)));
        let kept: Vec<usize> = strangers.map(|peer| peer.incoming.kept()).collect();
        (kept.len(), kept.iter().sum())
    }

    /// Returns what is known of a rank.
    #[must_use]
    pub fn known(&self, rank: u32) -> Option<Known> {
        let member = self.member(rank)?;
        Some(Known { join: member.join.clone(), clock: member.clock, is_lost: member.peer.is_none() })
    }

    /// Takes note of a new connection, from this place.
    pub fn handle_connected(&mut self, now: Duration, peer: PeerId, from: String) {
        let is_stranger = |peer: &Peer| !matches!(peer.state, PeerState::Member { .. });
        if self.peers.values().filter(|peer| is_stranger(peer)).count() >= STRANGERS_MAX {
            let first =
                self.peers.iter().filter(|(_, peer)| is_stranger(peer)).min_by_key(|(_, peer)| peer.since);
            if let Some((&first, _)) = first {
                self.send_away(first);
            }
        }
        let incoming = Incoming::of_stranger();
        self.peers.insert(peer, Peer { from, incoming, received: 0, since: now, state: PeerState::New });
    }

    /// Takes bytes of a peer.
    pub fn handle_bytes(&mut self, now: Time, id: PeerId, bytes: &[u8]) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        match peer.state {
            PeerState::New | PeerState::Challenged(_) => {
                peer.received += bytes.len();
                // Hello and proof, and what may follow them.
                if peer.received > 2 * STRANGER_MAX {
                    return self.send_away(id);
                }
            }
            PeerState::Proven { .. } => {}
            PeerState::Member { rank } => self.heard(rank, now.clock),
        }
        let Some(peer) = self.peers.get_mut(&id) else { return };
        peer.incoming.add(bytes);
        while let Some(peer) = self.peers.get_mut(&id) {
            match peer.incoming.next() {
                Ok(Some(message)) => self.handle(now, id, message),
                Ok(None) => return,
                Err(malformed) => return self.break_off(now, id, &malformed.to_string()),
            }
        }
    }

    /// Takes note that a connection is closed.
    pub fn handle_closed(&mut self, now: Time, id: PeerId, reason: &str) {
        match self.peers.remove(&id).map(|peer| peer.state) {
            Some(PeerState::Member { rank }) => self.lose(now, rank, reason),
            Some(PeerState::New | PeerState::Challenged(_)) => self.refused += 1,
            Some(PeerState::Proven { .. }) | None => {}
        }
    }

    /// Looks at time limits.
    pub fn handle_timeout(&mut self, now: Time) {
        if now.clock < self.next_tick || self.stage == Stage::Over {
            return;
        }
        self.next_tick = now.clock + TICK;
        let is_slow = |peer: &Peer| {
            !matches!(peer.state, PeerState::Member { .. }) && now.clock >= peer.since + STRANGER_TIME
        };
        let slow: Vec<PeerId> =
            self.peers.iter().filter(|(_, peer)| is_slow(peer)).map(|(&id, _)| id).collect();
        slow.into_iter().for_each(|id| self.send_away(id));
        if let Stage::Refusing { until } = self.stage {
            if now.clock >= until {
                self.part(&Message::Bye);
            }
            return;
        }
        if self.stage == Stage::Gathering && now.clock >= self.began + self.patience {
            let (absent, size) = (self.absent(), self.size);
            let claims = absent.iter().filter_map(|rank| Some((*rank, self.claims.get(rank)?.clone())));
            let claims = claims.collect();
            return self.fail(MeetingError::Absent { absent, size, waited: self.patience, claims });
        }
        for rank in 1..self.size {
            self.look_for_silence(now, rank);
        }
        if now.clock >= self.next_beat {
            self.next_beat = now.clock + BEAT;
            (1..self.size).for_each(|rank| self.tell(rank, &Message::Beat));
        }
        if let Stage::Comparing { until } = self.stage
            && now.clock >= until
        {
            self.end();
        }
    }

    /// The number of a rank among those on its machine, by the names of the machines.
    #[must_use]
    pub fn local_index(&self, rank: u32) -> u32 {
        let host = self.host_of(rank);
        let before = (0..rank).filter(|&other| self.host_of(other) == host);
        u32::try_from(before.count()).unwrap_or(u32::MAX)
    }

    /// Announces a run. `content` tells each rank, in the program's words, what it has to know.
    pub fn begin(&mut self, content: impl Fn(&Self, u32) -> Vec<u8>) {
        if self.stage != Stage::Met {
            return;
        }
        self.stage = Stage::Preparing { is_ready: false };
        for rank in 1..self.size {
            if let Some(member) = self.member_mut(rank) {
                member.progress = Progress::Idle;
            }
            let content = content(self, rank);
            self.tell(rank, &Message::Round { content });
        }
    }

    /// Takes note that the own workers are ready.
    pub fn ready(&mut self, now: Duration) {
        if let Stage::Preparing { is_ready } = &mut self.stage {
            *is_ready = true;
        }
        self.start_if_ready(now);
    }

    /// Ends the run everywhere. Before a start, that is the end of the meeting.
    pub fn stop(&mut self) {
        match self.stage {
            Stage::Gathering | Stage::Measuring | Stage::Met | Stage::Preparing { .. } => {
                self.fail(MeetingError::Asked);
            }
            Stage::Running { .. } => (1..self.size).for_each(|rank| self.tell(rank, &Message::Stop)),
            Stage::Refusing { .. } => self.part(&Message::Bye),
            Stage::Comparing { .. } | Stage::Over => {}
        }
    }

    /// Takes note that the own part of the run is over.
    pub fn own_part_is_over(&mut self, now: Time) {
        if let Stage::Running { own_is_over } = &mut self.stage {
            *own_is_over = true;
        }
        self.compare_if_over(now);
    }

    /// Ends the meeting, as rank 0 cannot go on. `reason`: a sentence.
    pub fn fail_own(&mut self, reason: String) {
        if !matches!(self.stage, Stage::Refusing { .. } | Stage::Over) {
            let host = self.own.host.clone();
            self.fail(MeetingError::OwnFailure { host, reason });
        }
    }

    /// Sends all home: there is nothing left to do.
    pub fn dismiss(&mut self) {
        if !matches!(self.stage, Stage::Refusing { .. } | Stage::Over) {
            self.part(&Message::Bye);
        }
    }

    /// The next bytes to send.
    pub fn poll_transmit(&mut self) -> Option<(PeerId, Vec<u8>)> {
        self.outgoing.pop_front()
    }

    /// The next connection to close, once what it was sent is on its way.
    pub fn poll_close(&mut self) -> Option<PeerId> {
        self.closing.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<HostEvent> {
        self.events.pop_front()
    }

    /// Returns true if there is nothing left to do.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// The instant at which time limits are to be looked at.
    #[must_use]
    pub fn poll_timeout(&self) -> Duration {
        self.next_tick
    }

    fn handle(&mut self, now: Time, id: PeerId, message: Message) {
        let Some(peer) = self.peers.get_mut(&id) else { return };
        match (peer.state, message) {
            (PeerState::New, Message::Hello { rank, nonce }) => {
                let exchange = Exchange { rank, guest: nonce, host: (self.draw)() };
                peer.state = PeerState::Challenged(exchange);
                self.send(id, &Message::Challenge { nonce: exchange.host });
            }
            (PeerState::Challenged(exchange), Message::Proof { tag }) => {
                if !exchange.is_proven(Side::Guest, &self.secret, &tag) {
                    let reason = "it does not know the secret of the fleet".to_owned();
                    self.send(id, &Message::Refused { reason });
                    return self.send_away(id);
                }
                peer.state = PeerState::Proven { rank: exchange.rank };
                peer.incoming.trust();
                let tag = exchange.tag(Side::Host, &self.secret);
                self.send(id, &Message::Welcome { tag });
            }
            (PeerState::Proven { rank }, Message::Join(join)) if join.rank == rank => {
                self.join(now, id, join);
            }
            (PeerState::Member { rank }, message) => self.handle_member(now, rank, message),
            (_, _) => self.send_away(id),
        }
    }

    fn join(&mut self, now: Time, id: PeerId, join: Join) {
        let (rank, host) = (join.rank, printable(&join.host));
        if let Stage::Refusing { .. } = self.stage {
            self.refuse(id, self.refusal.0.clone());
            self.refusal.1.remove(&rank);
            if self.refusal.1.is_empty() {
                self.part(&Message::Bye);
            }
            return;
        }
        if self.stage != Stage::Gathering {
            return self.refuse(id, "the other ranks have met without it".to_owned());
        }
        let ours = self.size;
        if rank >= join.size {
            return self.send_away(id);
        }
        let error = if join.size != ours {
            Some(MeetingError::OtherSize { rank, host: host.clone(), theirs: join.size, ours })
        } else if join.version != self.own.version {
            let (theirs, ours) = (printable(&join.version), self.own.version.clone());
            Some(MeetingError::OtherVersion { rank, host: host.clone(), theirs, ours })
        } else if let Some(first) = self.host_of(rank) {
            Some(MeetingError::Twice { rank, host: first.to_owned(), other: host.clone() })
        } else if join.digest != self.own.digest {
            let own_host = self.own.host.clone();
            Some(MeetingError::OtherPlan { rank, host: host.clone(), own_host })
        } else {
            None
        };
        if let Some(error) = error {
            self.refuse(id, error.to_string());
            return self.fail(error);
        }
        if let Some(peer) = self.peers.get_mut(&id) {
            peer.state = PeerState::Member { rank };
        }
        let problems = join.problems.iter().map(|problem| printable(problem)).collect();
        let member = Member {
            peer: Some(id),
            join: Join { host, problems, ..join },
            heard: now.clock,
            is_silent: false,
            measurement: Measurement::default(),
            clock: None,
            longest: Duration::ZERO,
            progress: Progress::Idle,
        };
        self.members[rank as usize - 1] = Some(member);
        if self.members.iter().all(Option::is_some) {
            self.stage = Stage::Measuring;
            (1..self.size).for_each(|rank| self.ping(now, rank));
        }
    }

    /// Tells a peer why it cannot join, and closes its connection.
    fn refuse(&mut self, id: PeerId, reason: String) {
        self.send(id, &Message::Refused { reason });
        self.peers.remove(&id);
        self.closing.push_back(id);
    }

    fn handle_member(&mut self, now: Time, rank: u32, message: Message) {
        let stage = self.stage;
        let Some(member) = self.member_mut(rank) else { return };
        match (message, member.progress) {
            (Message::Beat, _) => {}
            (Message::Pong { number, time }, _) => {
                if member.measurement.receive(number, time, now) {
                    self.go_on_measuring(now, rank);
                }
            }
            (Message::Ready, Progress::Idle) if matches!(stage, Stage::Preparing { .. }) => {
                member.progress = Progress::Ready;
                self.start_if_ready(now.clock);
            }
            (Message::Second { content }, Progress::Running) => {
                self.events.push_back(HostEvent::Second { rank, content });
            }
            (Message::Stop, _) => self.events.push_back(HostEvent::StopAsked { rank }),
            (Message::Outcome { content }, Progress::Running) => {
                member.progress = Progress::Done;
                self.events.push_back(HostEvent::Outcome { rank, content });
                self.compare_if_over(now);
            }
            (Message::Failed { reason }, Progress::Done) => {
                self.events.push_back(HostEvent::Complaint { rank, reason });
            }
            (Message::Failed { reason }, Progress::Running) => self.drop_member(now, rank, &reason),
            (Message::Failed { reason }, Progress::Idle | Progress::Ready) => {
                let host = member.join.host.clone();
                self.fail(MeetingError::Unable { rank, host, reason });
            }
            // A second that was on its way when the result was.
            (Message::Second { .. }, _) => {}
            (_, _) => self.drop_member(now, rank, "it sent what was not its turn"),
        }
    }

    fn heard(&mut self, rank: u32, now: Duration) {
        let Some(member) = self.member_mut(rank) else { return };
        member.heard = now;
        if std::mem::take(&mut member.is_silent) {
            self.events.push_back(HostEvent::Heard { rank });
        }
    }

    fn look_for_silence(&mut self, now: Time, rank: u32) {
        let Some(member) = self.member_mut(rank) else { return };
        if member.peer.is_none() {
            return;
        }
        let silent = now.clock.saturating_sub(member.heard);
        if silent >= LOST_AFTER {
            let reason = format!("it said nothing for {} s", LOST_AFTER.as_secs());
            self.drop_member(now, rank, &reason);
        } else if silent >= SILENT_AFTER && !member.is_silent {
            member.is_silent = true;
            self.events.push_back(HostEvent::Silent { rank });
        }
    }

    fn meet(&mut self) {
        self.stage = Stage::Met;
        self.events.push_back(HostEvent::Met);
    }

    fn ping(&mut self, now: Time, rank: u32) {
        let Some(member) = self.member_mut(rank) else { return };
        let number = member.measurement.send(now);
        self.tell(rank, &Message::Ping { number });
    }

    fn go_on_measuring(&mut self, now: Time, rank: u32) {
        let Some(member) = self.member_mut(rank) else { return };
        let Some((clock, longest)) = member.measurement.result() else { return self.ping(now, rank) };
        member.clock = Some(clock);
        member.longest = longest;
        let is_measured = |member: &Member| member.peer.is_none() || member.measurement.result().is_some();
        if !self.members.iter().flatten().all(is_measured) {
            return;
        }
        match self.stage {
            Stage::Measuring => self.meet(),
            Stage::Comparing { .. } => self.end(),
            _ => {}
        }
    }

    fn start_if_ready(&mut self, now: Duration) {
        let are_ready = |member: &Member| member.progress == Progress::Ready;
        if self.stage != (Stage::Preparing { is_ready: true })
            || !self.members.iter().flatten().all(are_ready)
        {
            return;
        }
        let longest = self.members.iter().flatten().map(|member| member.longest).max().unwrap_or_default();
        let at = now + LEAD_MIN.max(longest * LEAD_ROUND_TRIPS);
        self.stage = Stage::Running { own_is_over: false };
        for rank in 1..self.size {
            let Some(member) = self.member_mut(rank) else { continue };
            member.progress = Progress::Running;
            let theirs = member.clock.map_or(at, |clock| clock.to_other(at));
            self.tell(rank, &Message::Start { at: theirs });
        }
        self.events.push_back(HostEvent::Start { at });
    }

    /// Compares clocks once more if no rank has anything left to do in the run.
    fn compare_if_over(&mut self, now: Time) {
        let is_over = |member: &Member| member.peer.is_none() || member.progress == Progress::Done;
        if self.stage != (Stage::Running { own_is_over: true }) || !self.members.iter().flatten().all(is_over)
        {
            return;
        }
        self.stage = Stage::Comparing { until: now.clock + COMPARING_TIME };
        for rank in 1..self.size {
            if let Some(member) = self.member_mut(rank) {
                member.measurement = Measurement::default();
            }
            self.ping(now, rank);
        }
        if self.members.iter().flatten().all(|member| member.peer.is_none()) {
            self.end();
        }
    }

    fn end(&mut self) {
        self.stage = Stage::Met;
        self.events.push_back(HostEvent::Ended);
    }

    /// Breaks off with a peer that has broken the rules.
    fn break_off(&mut self, now: Time, id: PeerId, reason: &str) {
        match self.peers.get(&id).map(|peer| peer.state) {
            Some(PeerState::Member { rank }) => self.drop_member(now, rank, reason),
            Some(_) => self.send_away(id),
            None => {}
        }
    }

    fn drop_member(&mut self, now: Time, rank: u32, reason: &str) {
        if let Some(id) = self.member(rank).and_then(|member| member.peer) {
            self.peers.remove(&id);
            self.closing.push_back(id);
        }
        self.lose(now, rank, reason);
    }

    /// Takes note that a rank is gone.
    fn lose(&mut self, now: Time, rank: u32, reason: &str) {
        let stage = self.stage;
        let Some(member) = self.member_mut(rank) else { return };
        if member.peer.take().is_none() {
            return;
        }
        let host = member.join.host.clone();
        match stage {
            Stage::Refusing { .. } | Stage::Over => {}
            Stage::Gathering | Stage::Measuring | Stage::Met | Stage::Preparing { .. } => {
                self.fail(MeetingError::Lost { rank, host, reason: reason.to_owned() });
            }
            Stage::Running { .. } | Stage::Comparing { .. } => {
                if member.progress != Progress::Done {
                    self.events.push_back(HostEvent::Lost { rank, reason: reason.to_owned() });
                }
                if let Stage::Comparing { until } = &mut self.stage {
                    // Looked at again at the next tick, with those that are left.
                    *until = now.clock;
                }
                self.compare_if_over(now);
            }
        }
    }

    /// Closes the connection of a peer that is no rank.
    fn send_away(&mut self, id: PeerId) {
        let Some(peer) = self.peers.remove(&id) else { return };
        self.refused += 1;
        self.closing.push_back(id);
        let claimed = match peer.state {
            PeerState::Challenged(Exchange { rank, .. }) | PeerState::Proven { rank } => Some(rank),
            PeerState::New | PeerState::Member { .. } => None,
        };
        // As many as there are ranks, whatever strangers claim.
        if let PeerState::Challenged(Exchange { rank, .. }) = peer.state
            && rank < self.size
        {
            self.claims.insert(rank, peer.from.clone());
        }
        self.events.push_back(HostEvent::Stranger { peer: id, from: peer.from, claimed });
    }

    fn fail(&mut self, error: MeetingError) {
        let reason = error.to_string();
        let mut to_tell: BTreeSet<u32> = self.absent().into_iter().collect();
        if let Some(culprit) = error.culprit() {
            to_tell.remove(&culprit);
        }
        let may_come = self.stage == Stage::Gathering
            && !matches!(error, MeetingError::Absent { .. } | MeetingError::Asked);
        if may_come && !to_tell.is_empty() {
            self.send_members_away(&Message::Refused { reason: reason.clone() });
            self.refusal = (reason, to_tell);
            self.stage = Stage::Refusing { until: self.next_tick + REFUSING_TIME };
        } else {
            self.part(&Message::Refused { reason });
        }
        self.events.push_back(HostEvent::Failed(error));
    }

    /// Sends those who have joined away with this word.
    fn send_members_away(&mut self, word: &Message) {
        for rank in 1..self.size {
            self.tell(rank, word);
        }
        for id in self.members.iter().flatten().filter_map(|member| member.peer) {
            self.peers.remove(&id);
            self.closing.push_back(id);
        }
    }

    /// Sends all away with this word.
    fn part(&mut self, word: &Message) {
        // When they were refused, members are gone.
        if !matches!(self.stage, Stage::Refusing { .. }) {
            self.send_members_away(word);
        }
        self.stage = Stage::Over;
        let all: Vec<PeerId> = std::mem::take(&mut self.peers).into_keys().collect();
        self.closing.extend(all);
    }

    fn tell(&mut self, rank: u32, message: &Message) {
        if let Some(id) = self.member(rank).and_then(|member| member.peer) {
            self.send(id, message);
        }
    }

    fn send(&mut self, id: PeerId, message: &Message) {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        self.outgoing.push_back((id, bytes));
    }

    /// The machine of a rank that is there.
    fn host_of(&self, rank: u32) -> Option<&str> {
        if rank == 0 {
            Some(&self.own.host)
        } else {
            self.member(rank).map(|member| member.join.host.as_str())
        }
    }

    fn member(&self, rank: u32) -> Option<&Member> {
        self.members.get((rank as usize).checked_sub(1)?)?.as_ref()
    }

    fn member_mut(&mut self, rank: u32) -> Option<&mut Member> {
        self.members.get_mut((rank as usize).checked_sub(1)?)?.as_mut()
    }
}

/// A text of another rank, without what would confuse a terminal.
fn printable(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).collect()
}
