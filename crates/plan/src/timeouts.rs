//! The time limits for a server's actions.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The time limits for a server's actions. `None`, the default, waits for ever.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Timeouts {
    /// `--timeout`: the limit for a connect, for writing a request, and for a reply, in nanoseconds.
    #[serde(rename = "timeout_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub timeout: Option<Duration>,
    /// `--think-timeout`: additional time for a reply, in nanoseconds.
    #[serde(rename = "think_timeout_ns")]
    #[schemars(with = "Option<i64>")]
    pub think_timeout: Option<ThinkTime>,
}

impl Timeouts {
    /// Creates the limits from numbers of seconds. As in the classic tool, a `timeout` of 0 or less sets no limit, and
    /// the limit of a reply is the sum of both if that is above 0. A limit beyond `longest` is dropped.
    #[must_use]
    pub fn from_seconds(timeout: f64, think_timeout: f64, longest: Duration) -> Self {
        let limit = |seconds: f64| {
            let duration = (seconds > 0.0).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten();
            duration.filter(|duration| *duration <= longest)
        };
        let (own, reply) = (limit(timeout), limit(timeout + think_timeout));
        let think_timeout = match (own, reply) {
            _ if own == reply => None,
            (Some(own), Some(reply)) if reply < own => Some(ThinkTime::Less(own - reply)),
            (Some(own), None) => Some(ThinkTime::Less(own)),
            (own, Some(reply)) => Some(ThinkTime::More(reply - own.unwrap_or_default())),
            (None, None) => None,
        };
        Self { timeout: own, think_timeout }
    }

    /// Returns the time limit from the end of a request to its reply: the sum of both, or `None` if neither is set. If
    /// only the reply has no limit, it is `Duration::MAX`, so that it replaces the request's limit.
    #[inline]
    #[must_use]
    pub fn reply(&self) -> Option<Duration> {
        match self.think_timeout {
            None => self.timeout,
            Some(ThinkTime::More(time)) => Some(self.timeout.unwrap_or_default().saturating_add(time)),
            Some(ThinkTime::Less(time)) => {
                let left = self.timeout?.checked_sub(time).filter(|left| !left.is_zero());
                Some(left.unwrap_or(Duration::MAX))
            }
        }
    }
}

/// The effect of `--think-timeout` on the time limit of a reply. Saved as nanoseconds, negative for less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThinkTime {
    /// The limit is longer by this much.
    More(Duration),
    /// The limit is shorter by this much, and unlimited if nothing is left: a negative `--think-timeout`.
    Less(Duration),
}

impl Serialize for ThinkTime {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let nanos = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX);
        serializer.serialize_i64(match *self {
            Self::More(time) => nanos(time),
            Self::Less(time) => -nanos(time),
        })
    }
}

impl<'de> Deserialize<'de> for ThinkTime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Earlier versions saved a time beyond the range of `i64` as `u64::MAX`.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Nanos {
            Positive(u64),
            Negative(i64),
        }
        Ok(match Nanos::deserialize(deserializer)? {
            Nanos::Positive(nanos) => Self::More(Duration::from_nanos(nanos)),
            Nanos::Negative(nanos) => Self::Less(Duration::from_nanos(nanos.unsigned_abs())),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(1_000_000_000);

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[track_caller]
    fn check(timeout: f64, think: f64, connect: Option<Duration>, reply: Option<Duration>) {
        let timeouts = Timeouts::from_seconds(timeout, think, LONGEST);
        let reply = reply.or(connect.map(|_| Duration::MAX));
        assert_eq!((timeouts.timeout, timeouts.reply()), (connect, reply), "{timeout} and {think}");
        let saved = serde_json::to_string(&timeouts).unwrap();
        let read: Timeouts = serde_json::from_str(&saved).unwrap();
        assert_eq!((read.timeout, read.reply()), (connect, reply), "{saved}");
    }

    #[test]
    fn a_reply_has_the_sum_of_both_if_that_is_above_0() {
        check(0.0, 0.0, None, None);
        check(0.5, 0.0, Some(ms(500)), Some(ms(500)));
        check(0.0, 0.5, None, Some(ms(500)));
        check(0.5, 0.25, Some(ms(500)), Some(ms(750)));
    }

    #[test]
    fn a_negative_time_sets_no_limit_and_shortens_the_time_for_a_reply() {
        check(-1.0, 0.0, None, None);
        check(0.0, -1.0, None, None);
        check(-1.0, -1.0, None, None);
        check(f64::NEG_INFINITY, 5.0, None, None);
        check(5.0, f64::NEG_INFINITY, Some(ms(5000)), None);
        check(0.5, -0.5, Some(ms(500)), None);
        check(0.5, -1.0, Some(ms(500)), None);
        check(0.5, -0.25, Some(ms(500)), Some(ms(250)));
        check(-0.25, 0.5, None, Some(ms(250)));
        check(-1.0, 0.5, None, None);
    }

    #[test]
    fn times_that_never_come_are_no_limits() {
        for endless in [2e9, 1e19, 2e19, 1e308, f64::INFINITY] {
            check(endless, 0.0, None, None);
            check(0.0, endless, None, None);
            check(1.0, endless, Some(ms(1000)), None);
            check(endless, 1.0, None, None);
        }
        check(f64::NAN, f64::NAN, None, None);
        check(-0.0, -0.0, None, None);
    }

    #[test]
    fn the_longest_time_that_was_ever_saved_can_be_read() {
        let saved = r#"{"timeout_ns":5,"think_timeout_ns":18446744073709551615}"#;
        let read: Timeouts = serde_json::from_str(saved).unwrap();
        assert_eq!(read.reply(), Some(Duration::from_nanos(u64::MAX) + Duration::from_nanos(5)));
    }
}
