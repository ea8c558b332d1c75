//! Replies that stream in: which are read event by event, and what is expected of a language model's.

use std::fmt::{self, Display};
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::units;

/// The replies that are read as streams, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Streams {
    /// The replies that are read event by event. Those with the type of an event stream by default.
    pub read: StreamedReplies,
    /// The API of the language model whose replies they are; `None` for any other server.
    pub model: Option<ModelApi>,
    /// The bounds that a model's answer must meet to count as good; none by default.
    pub goodput: Goodput,
    /// The replies are those of gRPC; `None` for any other server.
    pub grpc: Option<Grpc>,
}

/// Replies of gRPC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Grpc {
    /// The server answers with a stream of messages, which have times of their own; with one otherwise.
    pub server_streams: bool,
}

/// The replies that are read event by event, if their status is 2xx.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamedReplies {
    /// Those whose `Content-Type` is `text/event-stream`.
    #[default]
    EventStreams,
    /// All.
    All,
    /// None.
    None,
}

/// The API of a language model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ModelApi {
    /// Chat completions and completions as OpenAI has them.
    #[serde(rename = "openai")]
    OpenAi,
}

/// The bounds that a model's answer must meet, all together, to count as good. Written as `ttft<500ms,tpot<50ms,e2e<10s`, or, as
/// other tools have it, with numbers of milliseconds: `ttft:500 tpot:50`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Goodput {
    /// The bound of the time from the instant at which the call was due to its first token.
    pub first_token: Option<Duration>,
    /// The bound of the time per output token.
    pub per_token: Option<Duration>,
    /// The bound of the time from the instant at which the call was due to the end of its reply.
    pub latency: Option<Duration>,
}

/// The bounds of a goodput that are not what they should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("bounds of ttft, tpot and e2e, each once, above 0 and with a unit, such as ttft<500ms,tpot<50ms")]
pub struct MalformedGoodput;

impl Goodput {
    /// Returns true if there are no bounds.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if these times of an answer meet all bounds. A bound whose time is unknown is met by an answer that
    /// cannot have it: one token has no time per token, and a whole reply no first token before its end.
    #[must_use]
    pub fn is_met(&self, first_token: Duration, per_token: Option<Duration>, latency: Duration) -> bool {
        let meets = |bound: Option<Duration>, time: Option<Duration>| {
            bound.zip(time).is_none_or(|(bound, time)| time < bound)
        };
        meets(self.first_token, Some(first_token))
            && meets(self.per_token, per_token)
            && meets(self.latency, Some(latency))
    }

    /// Returns true if an answer that is pending at this age can no longer meet all bounds. `first_token`: the time to its first
    /// token, if that has come.
    #[must_use]
    pub fn is_missed(&self, first_token: Option<Duration>, age: Duration) -> bool {
        let has_passed = |bound: Option<Duration>, time| bound.is_some_and(|bound| time >= bound);
        has_passed(self.first_token, first_token.unwrap_or(age)) || has_passed(self.latency, age)
    }
}

impl FromStr for Goodput {
    type Err = MalformedGoodput;

    fn from_str(text: &str) -> Result<Self, MalformedGoodput> {
        let mut goodput = Self::default();
        for bound in text.split(',').flat_map(bounds) {
            let (name, time, unit) = match (bound.split_once('<'), bound.split_once(':')) {
                (Some((name, time)), None) => (name, time, None),
                (None, Some((name, time))) => (name, time, Some("ms")),
                _ => return Err(MalformedGoodput),
            };
            let place = match name.trim() {
                "ttft" => &mut goodput.first_token,
                "tpot" => &mut goodput.per_token,
                "e2e" | "e2el" => &mut goodput.latency,
                _ => return Err(MalformedGoodput),
            };
            let time = time.trim();
            let has_unit = time.ends_with(|last: char| last.is_alphabetic());
            let time = match unit {
                _ if has_unit => time.to_owned(),
                Some(unit) => format!("{time}{unit}"),
                None => return Err(MalformedGoodput),
            };
            let seconds = units::seconds(time.as_bytes()).ok_or(MalformedGoodput)?;
            let time = Duration::try_from_secs_f64(seconds).map_err(|_| MalformedGoodput)?;
            if time.is_zero() || place.replace(time).is_some() {
                return Err(MalformedGoodput);
            }
        }
        Ok(goodput)
    }
}

/// Splits bounds with a colon, which other tools separate by spaces.
fn bounds(text: &str) -> impl Iterator<Item = &str> {
    let separator: fn(char) -> bool = if text.contains(':') { char::is_whitespace } else { |_| false };
    let is_list = text.contains(':');
    text.split(separator).filter(move |bound| !is_list || !bound.is_empty())
}

/// Writes the form that is typed.
impl Display for Goodput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bounds = [("ttft", self.first_token), ("tpot", self.per_token), ("e2e", self.latency)];
        let bounds = bounds.into_iter().filter_map(|(name, bound)| Some((name, bound?)));
        for (place, (name, bound)) in bounds.enumerate() {
            let comma = if place > 0 { "," } else { "" };
            write!(f, "{comma}{name}<{}ms", bound.as_nanos() as f64 / 1e6)?;
        }
        Ok(())
    }
}

impl From<Goodput> for String {
    fn from(goodput: Goodput) -> Self {
        goodput.to_string()
    }
}

impl TryFrom<String> for Goodput {
    type Error = MalformedGoodput;

    fn try_from(text: String) -> Result<Self, MalformedGoodput> {
        if text.is_empty() { Ok(Self::default()) } else { text.parse() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn bounds_are_read_and_written() {
        let goodput: Goodput = "ttft<500ms, tpot < 50ms,e2e<10s".parse().unwrap();
        let expected =
            Goodput { first_token: Some(ms(500)), per_token: Some(ms(50)), latency: Some(ms(10_000)) };
        assert_eq!(goodput, expected);
        assert_eq!(goodput.to_string(), "ttft<500ms,tpot<50ms,e2e<10000ms");
        for goodput in [expected, Goodput::default(), "tpot<1.5ms".parse().unwrap()] {
            assert_eq!(Goodput::try_from(String::from(goodput)), Ok(goodput));
        }
    }

    #[test]
    fn anything_else_is_refused() {
        for wrong in
            ["", "ttft", "ttft<", "ttft>1s", "ttft<0s", "ttft<-1s", "itl<1s", "ttft<1s,ttft<2s", "ttft<1s,"]
        {
            assert_eq!(wrong.parse::<Goodput>(), Err(MalformedGoodput), "{wrong}");
        }
        // Seconds or milliseconds?
        for wrong in
            ["ttft<500", "ttft<0", "ttft<500ms,tpot<50", "ttft<.5", "ttft:", "ttft:x", "ttft:0", "ttft:<5ms"]
        {
            assert_eq!(wrong.parse::<Goodput>(), Err(MalformedGoodput), "{wrong}");
        }
    }

    #[test]
    fn bounds_as_other_tools_write_them_are_milliseconds() {
        let expected: Goodput = "ttft<500ms,tpot<50ms,e2e<10s".parse().unwrap();
        for text in
            ["ttft:500 tpot:50 e2el:10000", "ttft:500,tpot:50,e2e:10s", " ttft:500ms  tpot:50,e2el<10s"]
        {
            assert_eq!(text.parse(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_pending_answer_is_missed_once_a_bound_has_passed() {
        let goodput: Goodput = "ttft<500ms,tpot<50ms,e2e<2s".parse().unwrap();
        for (first, age, expected) in [
            (None, 499, false),
            (None, 500, true),
            (Some(100), 1999, false),
            (Some(500), 600, true),
            (Some(100), 2000, true),
        ] {
            assert_eq!(goodput.is_missed(first.map(ms), ms(age)), expected, "{first:?} {age}");
        }
    }

    #[test]
    fn an_answer_is_good_if_it_meets_all_bounds_that_it_can() {
        let goodput: Goodput = "ttft<500ms,tpot<50ms,e2e<2s".parse().unwrap();
        assert!(goodput.is_met(ms(499), Some(ms(49)), ms(1999)));
        assert!(goodput.is_met(ms(499), None, ms(1999)));
        assert!(!goodput.is_met(ms(500), Some(ms(49)), ms(1999)));
        assert!(!goodput.is_met(ms(499), Some(ms(50)), ms(1999)));
        assert!(!goodput.is_met(ms(499), Some(ms(49)), ms(2000)));
        assert!(Goodput::default().is_met(ms(10_000), None, ms(10_000)));
    }
}
