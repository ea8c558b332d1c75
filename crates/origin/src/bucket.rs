//! The capacity of the server: a token bucket that holds one token, with a queue in order of arrival.
//!
//! Nothing waits here. A request learns the instant of its token, and with it its place in the queue: tokens are handed
//! out in the order of the requests.

use std::time::{Duration, Instant};

/// The rate of replies that the server can sustain, and the length of its queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerCapacity {
    /// Replies per second; 0 and below count as the smallest number above.
    pub rate: f64,
    /// Requests that may wait; those beyond are answered `503` at once. `None` lets any number wait.
    pub queue: Option<u32>,
}

/// A token bucket.
///
/// Token *n* of a busy period that began at `busy_since` comes at `busy_since + n / rate`, computed afresh for
/// every token, so that no rounding adds up.
#[derive(Debug)]
pub struct Bucket {
    rate: f64,
    queue: Option<u32>,
    busy_since: Instant,
    /// Tokens handed out since then, the first of them at once.
    handed_out: u64,
}

/// The queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueFull;

impl Bucket {
    /// A bucket with its one token in it.
    #[must_use]
    pub fn new(capacity: ServerCapacity, now: Instant) -> Self {
        let rate = capacity.rate.max(f64::MIN_POSITIVE);
        Self { rate, queue: capacity.queue, busy_since: now, handed_out: 0 }
    }

    /// Takes a token for a request that arrives now. Returns the instant of the token, which is not after `now` if the
    /// request need not wait.
    pub fn take(&mut self, now: Instant) -> Result<Instant, QueueFull> {
        let due = self.busy_since + self.after(self.handed_out);
        if due <= now {
            self.busy_since = now;
            self.handed_out = 1;
            return Ok(now);
        }
        let wait = due - now;
        // Each request ahead takes one interval, the first only the rest of it.
        let waiting = (wait.as_secs_f64() * self.rate - ROUNDING).ceil() - 1.0;
        if self.queue.is_some_and(|queue| waiting >= f64::from(queue)) {
            return Err(QueueFull);
        }
        self.handed_out += 1;
        Ok(due)
    }

    fn after(&self, tokens: u64) -> Duration {
        Duration::try_from_secs_f64(tokens as f64 / self.rate).unwrap_or(FAR_AWAY).min(FAR_AWAY)
    }
}

/// The error, as a share of an interval, that rounding to nanoseconds may cause in a whole number of intervals.
const ROUNDING: f64 = 1e-3;

/// A time longer than anyone waits and short enough to add to an [`Instant`].
const FAR_AWAY: Duration = Duration::from_secs(100 * 365 * 86_400);

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn bucket(rate: f64, queue: Option<u32>) -> (Bucket, Instant) {
        let start = Instant::now();
        (Bucket::new(ServerCapacity { rate, queue }, start), start)
    }

    #[test]
    fn requests_below_the_capacity_do_not_wait() {
        let (mut bucket, start) = bucket(100.0, Some(0));
        for turn in 0..50 {
            let now = start + turn * 10 * MS;
            assert_eq!(bucket.take(now), Ok(now));
        }
    }

    #[test]
    fn requests_beyond_the_capacity_wait_their_turn() {
        let (mut bucket, start) = bucket(100.0, None);
        let due: Vec<Instant> = (0..5).map(|_| bucket.take(start).unwrap()).collect();
        assert_eq!(due, [0, 10, 20, 30, 40].map(|after| start + after * MS));
        assert_eq!(bucket.take(start + 35 * MS), Ok(start + 50 * MS));
    }

    #[test]
    fn an_idle_bucket_saves_up_one_token_only() {
        let (mut bucket, start) = bucket(100.0, None);
        assert_eq!(bucket.take(start), Ok(start));
        let later = start + 1000 * MS;
        assert_eq!(bucket.take(later), Ok(later));
        assert_eq!(bucket.take(later), Ok(later + 10 * MS));
    }

    #[test]
    fn a_full_queue_refuses_until_one_has_left() {
        let (mut bucket, start) = bucket(100.0, Some(2));
        assert_eq!(bucket.take(start), Ok(start));
        assert_eq!(bucket.take(start), Ok(start + 10 * MS));
        assert_eq!(bucket.take(start), Ok(start + 20 * MS));
        assert_eq!(bucket.take(start), Err(QueueFull));
        assert_eq!(bucket.take(start + 9 * MS), Err(QueueFull));
        assert_eq!(bucket.take(start + 10 * MS), Ok(start + 30 * MS));
        assert_eq!(bucket.take(start + 10 * MS), Err(QueueFull));
    }

    #[test]
    fn without_a_queue_nobody_waits() {
        let (mut bucket, start) = bucket(100.0, Some(0));
        assert_eq!(bucket.take(start), Ok(start));
        assert_eq!(bucket.take(start + 9 * MS), Err(QueueFull));
        assert_eq!(bucket.take(start + 10 * MS), Ok(start + 10 * MS));
    }

    #[test]
    fn a_million_tokens_take_exactly_their_time() {
        let (mut bucket, start) = bucket(30_000.0, None);
        let last = (0..=1_000_000).map(|_| bucket.take(start).unwrap()).last().unwrap();
        let seconds = (last - start).as_secs_f64();
        assert!((seconds - 1e6 / 3e4).abs() < 1e-8, "{seconds}");
    }

    #[test]
    fn a_vanishing_rate_does_not_overflow() {
        let (mut bucket, start) = bucket(0.0, None);
        assert_eq!(bucket.take(start), Ok(start));
        assert!(bucket.take(start).unwrap() > start + 1_000_000 * MS);
    }
}
