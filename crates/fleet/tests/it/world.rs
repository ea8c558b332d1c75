//! A host, guests and the links between them, on a virtual clock. Everything that a network may do is a [`Fault`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::time::Duration;

use httperf_fleet::{Guest, GuestEvent, Host, HostEvent, Join, Nonce, PeerId, Secret, Time};

/// A millisecond.
pub(crate) const MS: Duration = Duration::from_millis(1);

/// The length of the run.
pub(crate) const RUN: Duration = Duration::from_secs(4);

/// The origin of the host's clock.
const ORIGIN: Duration = Duration::from_secs(1_000);

/// A guest of the world.
#[derive(Clone, Debug)]
pub(crate) struct Character {
    pub(crate) join: Join,
    pub(crate) secret: &'static str,
    /// The time at which it connects.
    pub(crate) comes: Duration,
    /// The time that bytes take, to the host and back.
    pub(crate) delays: (Duration, Duration),
    /// Its clock less the host's, in nanoseconds.
    pub(crate) shift_ns: i64,
    /// The time from a round to its being ready.
    pub(crate) preparing: Duration,
    pub(crate) fault: Fault,
}

/// A fault of a guest or its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    None,
    /// The link breaks behind this many bytes from the guest.
    BreaksAfter(usize),
    /// The guest is frozen from this time to that.
    Freezes(Duration, Duration),
    /// The guest asks for the end at this time of the run.
    AsksStop(Duration),
    /// The guest cannot prepare its workers.
    CannotPrepare,
    /// The guest fails at this time of the run.
    Fails(Duration),
    /// The guest complains when it has sent its result.
    Complains,
}

/// The description of a rank that fits the others.
pub(crate) fn join(rank: u32, size: u32) -> Join {
    Join {
        rank,
        size,
        host: format!("n{rank}"),
        version: "1.0.0".to_owned(),
        digest: "plan".to_owned(),
        problems: Vec::new(),
    }
}

/// A guest without fault.
pub(crate) fn guest(rank: u32, size: u32) -> Character {
    Character {
        join: join(rank, size),
        secret: "secret",
        comes: MS * rank,
        delays: (MS, MS),
        shift_ns: 7_000_000 * i64::from(rank),
        preparing: MS * 5,
        fault: Fault::None,
    }
}

/// The end of a guest, and what it knows of the start: an instant of the host's clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) end: Option<GuestEvent>,
    pub(crate) started: Option<Duration>,
    pub(crate) stopped: bool,
    /// True while it would offer load.
    pub(crate) is_running: bool,
}

/// The outcome of a meeting.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) events: Vec<(Duration, HostEvent)>,
    pub(crate) fates: Vec<Fate>,
    pub(crate) refused: u64,
    pub(crate) uncertainties: BTreeMap<u32, Duration>,
}

impl Outcome {
    /// The instant of the start by the host's clock.
    pub(crate) fn start(&self) -> Option<Duration> {
        self.events.iter().find_map(|(_, event)| match event {
            HostEvent::Start { at } => Some(*at),
            _ => None,
        })
    }

    /// Returns the time at which such an event came, since the beginning.
    pub(crate) fn time_of(&self, is_it: impl Fn(&HostEvent) -> bool) -> Option<Duration> {
        self.events.iter().find(|(_, event)| is_it(event)).map(|(at, _)| *at)
    }

    /// The ranks whose results came.
    pub(crate) fn results(&self) -> Vec<u32> {
        let mut ranks: Vec<u32> = self
            .events
            .iter()
            .filter_map(|(_, event)| match event {
                HostEvent::Outcome { rank, .. } => Some(*rank),
                _ => None,
            })
            .collect();
        ranks.sort_unstable();
        ranks
    }

    /// The sentence with which the meeting failed.
    pub(crate) fn failure(&self) -> Option<String> {
        self.events.iter().find_map(|(_, event)| match event {
            HostEvent::Failed(error) => Some(error.to_string()),
            _ => None,
        })
    }
}

enum Action {
    Connect(usize),
    ToHost(usize, Vec<u8>),
    ToGuest(usize, Vec<u8>),
    HostClosed(usize),
    GuestClosed(usize),
    GuestReady(usize),
    Second(usize),
    Finish(usize),
    GuestFault(usize),
    HostReady,
    HostOver,
    HostStop,
    Tick,
}

struct Actor {
    character: Character,
    machine: Option<Guest>,
    sent: usize,
    is_connected: bool,
    fate: Fate,
}

struct World {
    now: Duration,
    queue: BinaryHeap<Reverse<(Duration, u64, usize)>>,
    actions: Vec<Option<Action>>,
    host: Host,
    actors: Vec<Actor>,
    events: Vec<(Duration, HostEvent)>,
    started: Option<Duration>,
}

/// The time for which rank 0 waits for the others.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Lets a host of `size` ranks and these guests meet and make a run. `stop_at`: the time at which rank 0 is asked to end.
pub(crate) fn meet(size: u32, guests: Vec<Character>, stop_at: Option<Duration>) -> Outcome {
    let mut drawn = 0;
    let draw = move || {
        drawn += 1;
        Nonce([drawn; 32])
    };
    let host = Host::new(join(0, size), Secret::new("secret"), ORIGIN, PATIENCE, draw);
    let mut world = World {
        now: ORIGIN,
        queue: BinaryHeap::new(),
        actions: Vec::new(),
        host,
        actors: Vec::new(),
        events: Vec::new(),
        started: None,
    };
    for (index, character) in guests.into_iter().enumerate() {
        world.at(ORIGIN + character.comes, Action::Connect(index));
        world.actors.push(Actor {
            character,
            machine: None,
            sent: 0,
            is_connected: false,
            fate: Fate::default(),
        });
    }
    if let Some(at) = stop_at {
        world.at(ORIGIN + at, Action::HostStop);
    }
    world.at(ORIGIN, Action::Tick);
    world.run();
    let known = |rank| world.host.known(rank)?.clock.map(|clock| (rank, clock.uncertainty));
    Outcome {
        refused: world.host.refused(),
        uncertainties: (1..size).filter_map(known).collect(),
        events: world.events.into_iter().map(|(at, event)| (at - ORIGIN, event)).collect(),
        fates: world.actors.into_iter().map(|actor| actor.fate).collect(),
    }
}

impl World {
    fn at(&mut self, at: Duration, action: Action) {
        let number = self.actions.len();
        self.actions.push(Some(action));
        self.queue.push(Reverse((at, number as u64, number)));
    }

    fn run(&mut self) {
        /// Longer than any meeting.
        const END: Duration = Duration::from_secs(120);
        self.drain_host();
        while let Some(Reverse((at, _, number))) = self.queue.pop() {
            if at > ORIGIN + END {
                return;
            }
            self.now = at;
            let action = self.actions[number].take().expect("it happens once");
            self.act(action);
        }
    }

    fn host_time(&self) -> Time {
        Time { clock: self.now, wall: self.now + Duration::from_secs(1_700_000_000) }
    }

    fn guest_time(&self, index: usize) -> Time {
        let shift = self.actors[index].character.shift_ns;
        let shifted = |time: Duration| {
            let by = Duration::from_nanos(shift.unsigned_abs());
            if shift < 0 { time - by } else { time + by }
        };
        let time = self.host_time();
        Time { clock: shifted(time.clock), wall: shifted(time.wall) }
    }

    /// The time at which a guest takes something in: later if it is frozen.
    fn awake(&self, index: usize, at: Duration) -> Duration {
        match self.actors[index].character.fault {
            Fault::Freezes(from, to) if at >= ORIGIN + from && at < ORIGIN + to => ORIGIN + to,
            _ => at,
        }
    }

    fn act(&mut self, action: Action) {
        let time = self.host_time();
        match action {
            Action::Connect(index) => {
                let actor = &self.actors[index];
                let (join, secret) = (actor.character.join.clone(), Secret::new(actor.character.secret));
                let nonce = Nonce([100 + index as u8; 32]);
                let machine = Guest::new(join, secret, nonce, self.guest_time(index).clock);
                self.host.handle_connected(self.now, index as PeerId, format!("link {index}"));
                let actor = &mut self.actors[index];
                (actor.machine, actor.is_connected) = (Some(machine), true);
                self.drain_guest(index);
                self.drain_host();
            }
            Action::ToHost(index, bytes) => {
                if self.actors[index].is_connected {
                    self.host.handle_bytes(time, index as PeerId, &bytes);
                    self.drain_host();
                }
            }
            Action::HostClosed(index) => {
                self.host.handle_closed(time, index as PeerId, "its connection was closed");
                self.drain_host();
            }
            Action::ToGuest(index, bytes) => {
                let awake = self.awake(index, self.now);
                if awake > self.now {
                    return self.at(awake, Action::ToGuest(index, bytes));
                }
                self.with_guest(index, |guest, time| guest.handle_bytes(time, &bytes));
            }
            Action::GuestClosed(index) => {
                self.with_guest(index, |guest, _| guest.handle_closed("its connection was closed"));
            }
            Action::GuestReady(index) => self.with_guest(index, |guest, _| guest.ready()),
            Action::Second(index) => {
                if self.actors[index].fate.is_running {
                    self.with_guest(index, |guest, _| guest.second(b"second".to_vec()));
                    let next = self.now + Duration::from_secs(1);
                    self.at(self.awake(index, next), Action::Second(index));
                }
            }
            Action::Finish(index) if self.awake(index, self.now) > self.now => {
                self.at(self.awake(index, self.now), Action::Finish(index));
            }
            Action::Finish(index) => {
                if std::mem::take(&mut self.actors[index].fate.is_running) {
                    self.with_guest(index, |guest, _| guest.outcome(b"result".to_vec()));
                    if self.actors[index].character.fault == Fault::Complains {
                        self.with_guest(index, |guest, _| guest.fail("the disk is full".to_owned()));
                    }
                }
            }
            Action::GuestFault(index) => match self.actors[index].character.fault {
                Fault::AsksStop(_) => self.with_guest(index, |guest, _| guest.ask_stop()),
                _ => {
                    self.actors[index].fate.is_running = false;
                    self.with_guest(index, |guest, _| guest.fail("a worker panicked".to_owned()));
                }
            },
            Action::HostReady => {
                self.host.ready(self.now);
                self.drain_host();
            }
            Action::HostOver => {
                self.host.own_part_is_over(time);
                self.drain_host();
            }
            Action::HostStop => {
                self.host.stop();
                if self.started.is_some() {
                    self.host.own_part_is_over(time);
                }
                self.drain_host();
            }
            Action::Tick => {
                self.host.handle_timeout(time);
                self.drain_host();
                for index in 0..self.actors.len() {
                    if self.awake(index, self.now) == self.now {
                        self.with_guest(index, |guest, time| guest.handle_timeout(time.clock));
                    }
                }
                self.at(self.now + MS * 250, Action::Tick);
            }
        }
    }

    fn with_guest(&mut self, index: usize, action: impl FnOnce(&mut Guest, Time)) {
        let time = self.guest_time(index);
        if let Some(guest) = &mut self.actors[index].machine {
            action(guest, time);
        }
        self.drain_guest(index);
    }

    fn drain_host(&mut self) {
        loop {
            while let Some((peer, bytes)) = self.host.poll_transmit() {
                let index = peer as usize;
                if self.actors[index].is_connected {
                    let delay = self.actors[index].character.delays.1;
                    self.at(self.now + delay, Action::ToGuest(index, bytes));
                }
            }
            while let Some(peer) = self.host.poll_close() {
                let index = peer as usize;
                if std::mem::take(&mut self.actors[index].is_connected) {
                    let delay = self.actors[index].character.delays.1;
                    self.at(self.now + delay, Action::GuestClosed(index));
                }
            }
            let Some(event) = self.host.poll_event() else { return };
            self.events.push((self.now, event.clone()));
            match event {
                HostEvent::Met => {
                    self.host.begin(|_, _| b"round".to_vec());
                    self.at(self.now + MS * 3, Action::HostReady);
                }
                HostEvent::Start { at } => {
                    self.started = Some(at);
                    self.at(at + RUN, Action::HostOver);
                }
                HostEvent::StopAsked { .. } => {
                    self.host.stop();
                    self.at(self.now, Action::HostOver);
                }
                HostEvent::Ended => self.host.dismiss(),
                _ => {}
            }
        }
    }

    fn drain_guest(&mut self, index: usize) {
        loop {
            let Some(machine) = &mut self.actors[index].machine else { return };
            let (bytes, event) = (machine.poll_transmit(), machine.poll_event());
            if bytes.is_none() && event.is_none() {
                return;
            }
            if let Some(bytes) = bytes {
                self.send_to_host(index, bytes);
            }
            if let Some(event) = event {
                self.take_guest_event(index, event);
            }
        }
    }

    fn send_to_host(&mut self, index: usize, mut bytes: Vec<u8>) {
        let actor = &mut self.actors[index];
        if !actor.is_connected {
            return;
        }
        let delay = actor.character.delays.0;
        let begin = actor.sent;
        actor.sent += bytes.len();
        if let Fault::BreaksAfter(limit) = actor.character.fault
            && actor.sent > limit
        {
            bytes.truncate(limit.saturating_sub(begin));
            self.at(self.now + delay, Action::ToHost(index, bytes));
            self.at(self.now + delay, Action::HostClosed(index));
            self.at(self.now + delay, Action::GuestClosed(index));
            self.actors[index].sent = usize::MAX / 2;
            return;
        }
        // In two pieces, as a network may do.
        let rest = bytes.split_off(bytes.len() / 2);
        self.at(self.now + delay, Action::ToHost(index, bytes));
        self.at(self.now + delay, Action::ToHost(index, rest));
    }

    fn take_guest_event(&mut self, index: usize, event: GuestEvent) {
        let (fault, preparing) = (self.actors[index].character.fault, self.actors[index].character.preparing);
        let fate = &mut self.actors[index].fate;
        match event {
            GuestEvent::Joined => {}
            GuestEvent::Round { .. } if fault == Fault::CannotPrepare => {
                self.with_guest(index, |guest, _| guest.fail("cannot set up the event loop".to_owned()));
            }
            GuestEvent::Round { .. } => self.at(self.now + preparing, Action::GuestReady(index)),
            GuestEvent::Start { at } => {
                let shift = self.actors[index].character.shift_ns;
                let by = Duration::from_nanos(shift.unsigned_abs());
                let at = if shift < 0 { at + by } else { at - by };
                let fate = &mut self.actors[index].fate;
                (fate.started, fate.is_running) = (Some(at), true);
                let begin = at.max(self.now);
                self.at(begin + RUN, Action::Finish(index));
                self.at(begin + Duration::from_secs(1), Action::Second(index));
                if let Fault::AsksStop(after) | Fault::Fails(after) = fault {
                    self.at(begin + after, Action::GuestFault(index));
                }
            }
            GuestEvent::Stop => {
                fate.stopped = true;
                self.at(self.now, Action::Finish(index));
            }
            GuestEvent::Bye | GuestEvent::Refused { .. } | GuestEvent::Lost { .. } => {
                fate.is_running = false;
                fate.end = Some(event);
            }
        }
    }
}
