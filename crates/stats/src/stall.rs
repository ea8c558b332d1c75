//! Silence of the server: the longest time in which replies or TLS handshakes were due and nothing came.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Instant;

/// A time in which replies or TLS handshakes were due and nothing came, though the generator listened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// How long it was.
    #[serde(rename = "length_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub length: Duration,
    /// When it began, since the start of the run.
    #[serde(rename = "from_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub from: Duration,
}

impl Stall {
    /// The part of this silence in which another worker of the same run heard nothing either.
    pub(crate) fn shared_with(self, other: Self) -> Option<Self> {
        let from = self.from.max(other.from);
        let length = (self.from + self.length).min(other.from + other.length).saturating_sub(from);
        (!length.is_zero()).then_some(Self { length, from })
    }
}

/// Listens for silence.
#[derive(Clone, Debug)]
pub(crate) struct Silence {
    start: Instant,
    /// Requests sent whose replies have not come.
    awaited: u64,
    /// TLS handshakes that are not complete.
    handshakes: u64,
    /// Since when nothing came, if anything is awaited.
    since: Instant,
    /// For how long of that nobody listened, or nothing was awaited.
    deaf: Duration,
    /// When the last that was awaited was given up, with nothing heard since.
    given_up_at: Option<Instant>,
    /// A reply was given up in this silence.
    is_reply_missed: bool,
    longest: Option<Stall>,
}

impl Silence {
    pub(crate) fn new(start: Instant) -> Self {
        Self {
            start,
            awaited: 0,
            handshakes: 0,
            since: start,
            deaf: Duration::ZERO,
            given_up_at: None,
            is_reply_missed: false,
            longest: None,
        }
    }

    /// A reply is awaited from now on.
    pub(crate) fn awaits(&mut self, now: Instant) {
        self.go_on(now);
        self.awaited += 1;
    }

    /// A reply is no longer awaited: it came.
    pub(crate) fn settled(&mut self) {
        self.awaited = self.awaited.saturating_sub(1);
    }

    /// A reply is no longer awaited: it was given up.
    pub(crate) fn given_up(&mut self, now: Instant) {
        self.note_last(now);
        self.is_reply_missed |= now > self.since;
        self.settled();
    }

    /// A handshake is awaited from now on.
    pub(crate) fn awaits_handshake(&mut self, now: Instant) {
        self.go_on(now);
        self.handshakes += 1;
    }

    /// A handshake is complete.
    pub(crate) fn handshake_settled(&mut self) {
        self.handshakes = self.handshakes.saturating_sub(1);
    }

    /// A handshake was given up.
    pub(crate) fn handshake_given_up(&mut self, now: Instant) {
        self.note_last(now);
        self.handshake_settled();
    }

    /// Something of a reply came.
    pub(crate) fn heard(&mut self, now: Instant) {
        let (is_awaited, end) = match self.given_up_at {
            Some(at) => (true, at),
            None => (self.pending() > 0, now),
        };
        let length = (end - self.since).saturating_sub(self.deaf);
        if is_awaited && length > self.longest.map_or(Duration::ZERO, |stall| stall.length) {
            self.longest = Some(Stall { length, from: self.since - self.start });
        }
        self.begin(now);
    }

    /// Something of a handshake came. It breaks no silence in which replies are due: what answers requests may stand still
    /// behind what makes handshakes.
    pub(crate) fn handshake_heard(&mut self, now: Instant) {
        if self.awaited == 0 && !self.is_reply_missed {
            self.heard(now);
        }
    }

    fn pending(&self) -> u64 {
        self.awaited + self.handshakes
    }

    /// Something is about to be awaited.
    fn go_on(&mut self, now: Instant) {
        if self.pending() > 0 {
            return;
        }
        match self.given_up_at.take() {
            // The server is as silent as it was.
            Some(at) => self.deaf += now - at,
            None => self.begin(now),
        }
    }

    /// Something that is awaited is about to be given up.
    fn note_last(&mut self, now: Instant) {
        if self.pending() == 1 && now > self.since {
            self.given_up_at = Some(now);
        }
    }

    /// Nobody listened for this long: who is silent then cannot be blamed.
    pub(crate) fn deaf_for(&mut self, time: Duration) {
        self.deaf += time;
    }

    fn begin(&mut self, now: Instant) {
        self.since = self.since.max(now);
        self.deaf = Duration::ZERO;
        (self.given_up_at, self.is_reply_missed) = (None, false);
    }

    /// Forgets what was silent before now.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.begin(now);
        self.longest = None;
    }

    /// The longest silence up to now, the last one included.
    pub(crate) fn longest(&mut self, now: Instant) -> Option<Stall> {
        self.heard(now);
        self.longest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn the_longest_silence_counts_from_the_last_that_was_heard() {
        let mut silence = Silence::new(at(100));
        silence.awaits(at(110));
        silence.heard(at(115));
        silence.awaits(at(120));
        silence.heard(at(400));
        silence.heard(at(450));
        assert_eq!(silence.longest(at(450)), Some(Stall { length: ms(285), from: ms(15) }));
        assert_eq!(silence.longest(at(1450)), Some(Stall { length: ms(1000), from: ms(350) }));
    }

    #[test]
    fn nothing_is_missed_where_nothing_is_awaited() {
        let mut silence = Silence::new(at(0));
        silence.awaits(at(1));
        silence.heard(at(2));
        silence.settled();
        silence.awaits(at(5000));
        silence.heard(at(5003));
        assert_eq!(silence.longest(at(5003)), Some(Stall { length: ms(3), from: ms(5000) }));
    }

    #[test]
    fn what_several_workers_did_not_hear_is_what_none_of_them_heard() {
        let stall = |from, to| Stall { length: ms(to - from), from: ms(from) };
        assert_eq!(stall(100, 400).shared_with(stall(150, 600)), Some(stall(150, 400)));
        assert_eq!(stall(150, 600).shared_with(stall(100, 400)), Some(stall(150, 400)));
        assert_eq!(stall(100, 400).shared_with(stall(400, 600)), None);
    }

    #[test]
    fn a_silence_goes_on_when_what_was_awaited_is_given_up_and_awaited_again() {
        let mut silence = Silence::new(at(0));
        silence.awaits(at(10));
        silence.heard(at(11));
        silence.awaits(at(12));
        silence.given_up(at(1000));
        silence.given_up(at(1010));
        silence.awaits(at(1030));
        silence.heard(at(2011));
        let stall = Stall { length: ms(1980), from: ms(11) };
        assert_eq!(silence.longest(at(2011)), Some(stall), "but for 20 ms in which nothing was awaited");
        silence.given_up(at(2011));
        silence.awaits(at(4000));
        silence.given_up(at(7000));
        assert_eq!(silence.longest(at(9000)), Some(Stall { length: ms(3000), from: ms(4000) }));
    }

    #[test]
    fn who_does_not_listen_does_not_blame_the_server() {
        let mut silence = Silence::new(at(0));
        silence.awaits(at(10));
        silence.deaf_for(ms(880));
        silence.heard(at(901));
        assert_eq!(silence.longest(at(901)), Some(Stall { length: ms(11), from: ms(10) }));
    }
}
