//! Stalls: periods in which replies or TLS handshakes were due and nothing came.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Instant;

/// A period in which replies or TLS handshakes were due and nothing came, although the generator was
/// listening.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Stall {
    /// Length.
    #[serde(rename = "length_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub length: Duration,
    /// Beginning, since the start of the run.
    #[serde(rename = "from_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub from: Duration,
}

impl Stall {
    /// The part of this stall that overlaps one of another worker of the same run.
    pub(crate) fn shared_with(self, other: Self) -> Option<Self> {
        let from = self.from.max(other.from);
        let length = (self.from + self.length).min(other.from + other.length).saturating_sub(from);
        (!length.is_zero()).then_some(Self { length, from })
    }
}

/// Tracks the silence of the server.
#[derive(Clone, Debug)]
pub(crate) struct Silence {
    start: Instant,
    /// Replies due.
    awaited: u64,
    /// Time for which replies were due, less the instants since which others are: nanoseconds, modulo 2^64.
    awaited_time: u64,
    /// TLS handshakes in progress.
    handshakes: u64,
    /// Beginning of the current silence, if anything is awaited.
    since: Instant,
    /// Part of it in which the generator did not listen or nothing was awaited.
    deaf: Duration,
    /// Instant at which the last awaited item was given up, if nothing has been heard since.
    given_up_at: Option<Instant>,
    /// True if a reply was given up during this silence.
    is_reply_missed: bool,
    longest: Option<Stall>,
}

impl Silence {
    pub(crate) fn new(start: Instant) -> Self {
        Self {
            start,
            awaited: 0,
            awaited_time: 0,
            handshakes: 0,
            since: start,
            deaf: Duration::ZERO,
            given_up_at: None,
            is_reply_missed: false,
            longest: None,
        }
    }

    /// Begins waiting for a reply.
    pub(crate) fn awaits(&mut self, now: Instant) {
        self.go_on(now);
        self.awaited += 1;
        self.awaited_time = self.awaited_time.wrapping_sub(now.as_nanos());
    }

    /// Ends waiting for a reply: it came at this instant.
    pub(crate) fn settled(&mut self, at: Instant) {
        if let Some(left) = self.awaited.checked_sub(1) {
            self.awaited = left;
            self.awaited_time = self.awaited_time.wrapping_add(at.as_nanos());
        }
    }

    /// Replies due.
    pub(crate) fn awaited(&self) -> u64 {
        self.awaited
    }

    /// Time for which replies were due up to now, added up over all of them.
    pub(crate) fn awaited_time(&self, now: Instant) -> Duration {
        let nanos = self.awaited_time.wrapping_add(self.awaited.wrapping_mul(now.as_nanos()));
        // A reply may be due since a little later than the end of a phase that was noticed late.
        Duration::from_nanos(nanos.cast_signed().max(0).cast_unsigned())
    }

    /// Ends waiting for a reply: it was given up, and was due until this instant.
    pub(crate) fn given_up(&mut self, now: Instant, due_until: Instant) {
        self.note_last(now);
        self.is_reply_missed |= now > self.since;
        self.settled(due_until);
    }

    /// Begins waiting for a handshake.
    pub(crate) fn awaits_handshake(&mut self, now: Instant) {
        self.go_on(now);
        self.handshakes += 1;
    }

    /// Ends waiting for a handshake: it is complete.
    pub(crate) fn handshake_settled(&mut self) {
        self.handshakes = self.handshakes.saturating_sub(1);
    }

    /// Ends waiting for a handshake: it was given up.
    pub(crate) fn handshake_given_up(&mut self, now: Instant) {
        self.note_last(now);
        self.handshake_settled();
    }

    /// Records bytes of a reply.
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

    /// Records bytes of a handshake. They end no silence in which replies are due: the part of the server
    /// that answers requests may stand still behind the one that does handshakes.
    pub(crate) fn handshake_heard(&mut self, now: Instant) {
        if self.awaited == 0 && !self.is_reply_missed {
            self.heard(now);
        }
    }

    fn pending(&self) -> u64 {
        self.awaited + self.handshakes
    }

    /// Prepares to wait for something.
    fn go_on(&mut self, now: Instant) {
        if self.pending() > 0 {
            return;
        }
        match self.given_up_at.take() {
            // The server has been silent all along.
            Some(at) => self.deaf += now - at,
            None => self.begin(now),
        }
    }

    /// Prepares to give up something awaited.
    fn note_last(&mut self, now: Instant) {
        if self.pending() == 1 && now > self.since {
            self.given_up_at = Some(now);
        }
    }

    /// Records that the generator did not listen for this long: the server is not to blame for this part of
    /// the silence.
    pub(crate) fn deaf_for(&mut self, time: Duration) {
        self.deaf += time;
    }

    fn begin(&mut self, now: Instant) {
        self.since = self.since.max(now);
        self.deaf = Duration::ZERO;
        (self.given_up_at, self.is_reply_missed) = (None, false);
    }

    /// Forgets all silence before this instant.
    pub(crate) fn restart(&mut self, now: Instant) {
        self.begin(now);
        self.longest = None;
    }

    /// Returns the longest silence up to now, including the current one.
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
    fn the_longest_silence_starts_at_the_last_bytes_heard() {
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
    fn silence_does_not_count_if_nothing_is_awaited() {
        let mut silence = Silence::new(at(0));
        silence.awaits(at(1));
        silence.heard(at(2));
        silence.settled(at(2));
        silence.awaits(at(5000));
        silence.heard(at(5003));
        assert_eq!(silence.longest(at(5003)), Some(Stall { length: ms(3), from: ms(5000) }));
    }

    #[test]
    fn the_time_for_which_replies_are_due_adds_up() {
        let mut silence = Silence::new(at(100));
        let due = |silence: &Silence, ms| (silence.awaited(), silence.awaited_time(at(ms)));
        assert_eq!(due(&silence, 150), (0, ms(0)));
        silence.awaits(at(200));
        silence.awaits(at(210));
        assert_eq!(due(&silence, 220), (2, ms(30)));
        silence.settled(at(230));
        silence.given_up(at(250), at(250));
        assert_eq!(due(&silence, 900), (0, ms(30 + 40)));
        // One whose request is made again was never due.
        silence.awaits(at(910));
        silence.given_up(at(940), at(910));
        assert_eq!(due(&silence, 945), (0, ms(70)));
        // It does not come twice.
        silence.settled(at(950));
        assert_eq!(due(&silence, 1000), (0, ms(70)));
        silence.awaits(at(1001));
        assert_eq!(due(&silence, 1000), (1, ms(69)), "noticed late");
    }

    #[test]
    fn a_shared_stall_is_the_overlap_of_those_of_all_workers() {
        let stall = |from, to| Stall { length: ms(to - from), from: ms(from) };
        assert_eq!(stall(100, 400).shared_with(stall(150, 600)), Some(stall(150, 400)));
        assert_eq!(stall(150, 600).shared_with(stall(100, 400)), Some(stall(150, 400)));
        assert_eq!(stall(100, 400).shared_with(stall(400, 600)), None);
    }

    #[test]
    fn a_silence_continues_when_a_reply_is_given_up_and_another_awaited() {
        let mut silence = Silence::new(at(0));
        silence.awaits(at(10));
        silence.heard(at(11));
        silence.awaits(at(12));
        silence.given_up(at(1000), at(1000));
        silence.given_up(at(1010), at(1010));
        silence.awaits(at(1030));
        silence.heard(at(2011));
        let stall = Stall { length: ms(1980), from: ms(11) };
        assert_eq!(silence.longest(at(2011)), Some(stall), "without the 20 ms in which nothing was awaited");
        silence.given_up(at(2011), at(2011));
        silence.awaits(at(4000));
        silence.given_up(at(7000), at(7000));
        assert_eq!(silence.longest(at(9000)), Some(Stall { length: ms(3000), from: ms(4000) }));
    }

    #[test]
    fn pauses_of_the_generator_are_not_blamed_on_the_server() {
        let mut silence = Silence::new(at(0));
        silence.awaits(at(10));
        silence.deaf_for(ms(880));
        silence.heard(at(901));
        assert_eq!(silence.longest(at(901)), Some(Stall { length: ms(11), from: ms(10) }));
    }
}
