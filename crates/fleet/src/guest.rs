//! The side of every other rank in a meeting, as a value: bytes and times in, bytes and events out.
//!
//! ```text
//!   Greeting ── challenge ──► Proving ── welcome ──► Waiting ── round ──► Preparing ── start ──► Running
//!                                                       ▲                                          │
//!                                                       └───────────────── outcome ────────────────┘
//! ```
//!
//! Wherever it is, a word of rank 0 (`Refused`, `Bye`), a closed connection or a long silence ends it.

use std::collections::VecDeque;
use std::time::Duration;

use crate::host::BEAT;
use crate::secret::{Exchange, Nonce, Secret, Side};
use crate::wire::{Incoming, Join, Message, Time};

/// The time after which a rank 0 that says nothing counts as lost.
const LOST_AFTER: Duration = Duration::from_secs(15);

/// A guest of a meeting.
#[derive(Debug)]
pub struct Guest {
    join: Join,
    secret: Secret,
    stage: Stage,
    incoming: Incoming,
    heard: Duration,
    next_beat: Duration,
    outgoing: VecDeque<Vec<u8>>,
    events: VecDeque<GuestEvent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Has said who it is.
    Greeting { nonce: Nonce },
    /// Has proven that it knows the secret, and waits for the same of rank 0.
    Proving(Exchange),
    /// Is there.
    Waiting,
    /// A run was announced.
    Preparing,
    /// A start was agreed on.
    Running,
    /// Has nothing left to do.
    Over,
}

/// An event of a meeting, for a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GuestEvent {
    /// Rank 0 knows the secret, and this rank is there.
    Joined,
    /// A run was announced, in the program's words.
    Round {
        /// Those words.
        content: Vec<u8>,
    },
    /// The run starts then, on the own clock.
    Start {
        /// The instant.
        at: Duration,
    },
    /// The run is to end now.
    Stop,
    /// There is nothing left to do.
    Bye,
    /// Rank 0 cannot take this rank, or has sent all away: a sentence.
    Refused {
        /// The sentence.
        reason: String,
    },
    /// Rank 0 is gone.
    Lost {
        /// The reason, for the end of a sentence.
        reason: String,
    },
}

impl Guest {
    /// A guest that describes itself like this. `nonce` is a number that nobody can guess.
    #[must_use]
    pub fn new(join: Join, secret: Secret, nonce: Nonce, now: Duration) -> Self {
        let mut guest = Self {
            stage: Stage::Greeting { nonce },
            secret,
            incoming: Incoming::of_stranger(),
            heard: now,
            next_beat: now + BEAT,
            outgoing: VecDeque::new(),
            events: VecDeque::new(),
            join,
        };
        guest.send(&Message::Hello { rank: guest.join.rank, nonce });
        guest
    }

    /// Takes bytes of rank 0.
    pub fn handle_bytes(&mut self, now: Time, bytes: &[u8]) {
        self.heard = now.clock;
        self.incoming.add(bytes);
        while self.stage != Stage::Over {
            match self.incoming.next() {
                Ok(Some(message)) => self.handle(now, message),
                Ok(None) => return,
                Err(malformed) => return self.lose(malformed.to_string()),
            }
        }
    }

    /// Takes note that the connection is closed.
    pub fn handle_closed(&mut self, reason: &str) {
        if self.stage != Stage::Over {
            self.lose(reason.to_owned());
        }
    }

    /// Looks at time limits.
    pub fn handle_timeout(&mut self, now: Duration) {
        if self.stage == Stage::Over {
            return;
        }
        if now >= self.heard + LOST_AFTER {
            return self.lose(format!("it said nothing for {} s", LOST_AFTER.as_secs()));
        }
        if now >= self.next_beat {
            self.next_beat = now + BEAT;
            if self.is_joined() {
                self.send(&Message::Beat);
            }
        }
    }

    /// Tells that the own workers are ready.
    pub fn ready(&mut self) {
        if self.stage == Stage::Preparing {
            self.send(&Message::Ready);
        }
    }

    /// Sends a second that has ended.
    pub fn second(&mut self, content: Vec<u8>) {
        if self.stage == Stage::Running {
            self.send(&Message::Second { content });
        }
    }

    /// Asks for the end of the run.
    pub fn ask_stop(&mut self) {
        if self.is_joined() {
            self.send(&Message::Stop);
        }
    }

    /// Sends the result of the run.
    pub fn outcome(&mut self, content: Vec<u8>) {
        if self.stage == Stage::Running {
            self.stage = Stage::Waiting;
            self.send(&Message::Outcome { content });
        }
    }

    /// Tells that something failed: the run, if its result was not sent yet. `reason`: a sentence.
    pub fn fail(&mut self, reason: String) {
        if self.is_joined() {
            self.send(&Message::Failed { reason });
        }
    }

    /// The next bytes to send.
    pub fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.outgoing.pop_front()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<GuestEvent> {
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
        self.next_beat.min(self.heard + LOST_AFTER)
    }

    fn is_joined(&self) -> bool {
        matches!(self.stage, Stage::Waiting | Stage::Preparing | Stage::Running)
    }

    fn handle(&mut self, now: Time, message: Message) {
        match (self.stage, message) {
            (Stage::Greeting { nonce }, Message::Challenge { nonce: host }) => {
                let exchange = Exchange { rank: self.join.rank, guest: nonce, host };
                self.stage = Stage::Proving(exchange);
                let tag = exchange.tag(Side::Guest, &self.secret);
                self.send(&Message::Proof { tag });
            }
            (Stage::Proving(exchange), Message::Welcome { tag }) => {
                if !exchange.is_proven(Side::Host, &self.secret, &tag) {
                    return self.lose("it does not know the secret of the fleet".to_owned());
                }
                self.stage = Stage::Waiting;
                self.incoming.trust();
                self.send(&Message::Join(self.join.clone()));
                self.events.push_back(GuestEvent::Joined);
            }
            (Stage::Proving(_), Message::Refused { reason }) => self.end(GuestEvent::Refused { reason }),
            (_, _) if !self.is_joined() => self.lose("it sent what was not its turn".to_owned()),
            (_, Message::Refused { reason }) => self.end(GuestEvent::Refused { reason }),
            (_, Message::Bye) => self.end(GuestEvent::Bye),
            (_, Message::Beat) => {}
            (_, Message::Ping { number }) => self.send(&Message::Pong { number, time: now }),
            (Stage::Waiting, Message::Round { content }) => {
                self.stage = Stage::Preparing;
                self.events.push_back(GuestEvent::Round { content });
            }
            (Stage::Preparing, Message::Start { at }) => {
                self.stage = Stage::Running;
                self.events.push_back(GuestEvent::Start { at });
            }
            (Stage::Running, Message::Stop) => self.events.push_back(GuestEvent::Stop),
            // The run was over here before that was said.
            (Stage::Waiting, Message::Stop) => {}
            (_, _) => self.lose("it sent what was not its turn".to_owned()),
        }
    }

    fn lose(&mut self, reason: String) {
        self.end(GuestEvent::Lost { reason });
    }

    fn end(&mut self, event: GuestEvent) {
        self.stage = Stage::Over;
        self.events.push_back(event);
    }

    fn send(&mut self, message: &Message) {
        let mut bytes = Vec::new();
        message.write(&mut bytes);
        self.outgoing.push_back(bytes);
    }
}
