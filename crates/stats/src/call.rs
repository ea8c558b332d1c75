//! Calls as they end, and the slowest of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Instant, KernelTimes, Mismatch};

/// A call that has ended, with a reply or without.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Its number, from 0, in order of creation.
    pub call: u64,
    /// The request target.
    pub uri: &'a [u8],
    /// The status of the reply, 100 to 599; `None` if there was none.
    pub status: Option<u16>,
    /// When the call was due: what its user waits for begins here.
    pub intended: Instant,
    /// When the first byte of its request was handed over, if it was.
    pub sent: Option<Instant>,
    /// For how long the body of the request waited for the server's flow-control windows after that.
    pub stalled: Duration,
    /// When the status line was complete, if it came.
    pub first_byte: Option<Instant>,
    /// When the reply was complete, or the call was given up.
    pub done: Instant,
    /// Bytes of the reply's header block.
    pub header_size: u64,
    /// Bytes of its body.
    pub content_size: u64,
    /// Bytes of its trailers.
    pub footer_size: u64,
    /// Bytes of its body decompressed, if it came compressed.
    pub decoded_size: Option<u64>,
    /// What is unexpected in it, if anything is.
    pub mismatch: Option<Mismatch>,
    /// The connection that carried it last.
    pub carrier: Option<Carrier>,
    /// How long the segment that completed the reply lay in this machine before it was read, if that is known.
    pub receive_lag: Option<Duration>,
    /// What the kernel said of it, if it was asked when it sent the request.
    pub kernel: Option<KernelTimes>,
}

/// The connection that carried a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carrier {
    /// Its number, from 0, in the order in which connections were initiated.
    pub connection: u64,
    /// Whether it had carried another call before.
    pub reused: bool,
    /// How long it took to establish.
    pub connect: Duration,
}

impl Sample<'_> {
    /// What became of the call.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        match (self.status, self.mismatch) {
            (Some(_), Some(_)) => Outcome::Unexpected,
            (Some(status), None) if status < 400 => Outcome::Success,
            (Some(_), None) => Outcome::HttpError,
            (None, _) => Outcome::Failure,
        }
    }

    /// From the instant at which it was due to its end.
    #[must_use]
    pub fn latency(&self) -> Duration {
        self.done - self.intended
    }

    /// From its first byte to its end, if it was sent, without the time for which the server took no more of it.
    #[must_use]
    pub fn service(&self) -> Option<Duration> {
        self.sent.map(|sent| (self.done - sent).saturating_sub(self.stalled))
    }
}

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// A reply of status 399 or below.
    Success,
    /// A reply of status 400 or above.
    HttpError,
    /// No reply.
    Failure,
    /// A reply that is not what was expected, whatever its status.
    Unexpected,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Success, Self::HttpError, Self::Failure, Self::Unexpected];

    /// Whether a call with this outcome has a reply to be content with, or one in which the server says why not.
    #[must_use]
    pub fn is_completed(self) -> bool {
        matches!(self, Self::Success | Self::HttpError)
    }
}

/// Lists with a place for each [`Outcome`], in the order of its variants. Results that were written before the last of
/// them existed have shorter ones.
pub(crate) mod by_outcome {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::Outcome;

    const COUNT: usize = Outcome::ALL.len();

    pub(crate) fn serialize<S: Serializer, T: Serialize>(
        list: &[T; COUNT],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        list.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
        deserializer: D,
    ) -> Result<[T; COUNT], D::Error> {
        let mut list = Vec::<T>::deserialize(deserializer)?;
        list.resize_with(list.len().max(COUNT), T::default);
        let count = list.len();
        list.try_into()
            .map_err(|_| D::Error::custom(format!("expected {COUNT} outcomes at most, got {count}")))
    }
}

/// One of the slowest calls, with where its time went.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SlowCall {
    /// From the instant at which it was due to its end.
    #[serde(rename = "latency_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub latency: Duration,
    /// When it was due, since the start of the run.
    #[serde(rename = "due_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub due: Duration,
    /// Its number, from 0, in order of creation.
    pub call: u64,
    /// The request target. What is not UTF-8 in it was replaced.
    pub uri: String,
    /// What became of it.
    pub outcome: Outcome,
    /// The status of its reply, if there was one.
    pub status: Option<u16>,
    /// What is unexpected in its reply, if anything is.
    #[serde(default)]
    pub mismatch: Option<Mismatch>,
    /// From the instant at which it was due to its first byte, if it was sent.
    #[serde(rename = "wait_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub wait: Option<Duration>,
    /// From its first byte to the status line of the reply, if that came.
    #[serde(rename = "response_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub response: Option<Duration>,
    /// From the status line to the end.
    #[serde(rename = "transfer_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub transfer: Option<Duration>,
    /// The number of the connection that carried it, if one did.
    pub connection: Option<u64>,
    /// Whether that connection had carried another call before.
    pub reused: bool,
    /// How long that connection took to establish, within `wait` if it was new.
    #[serde(rename = "connect_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub connect: Option<Duration>,
    /// What the kernel said of the transport when the call ended.
    pub transport: Option<Transport>,
    /// The `Server-Timing` field of the reply, if it was sent. What is not UTF-8 in it was replaced.
    ///
    /// <https://www.w3.org/TR/server-timing/>
    pub server_timing: Option<String>,
    /// How long the segment that completed its reply lay in this machine before it was read, if that is known: within
    /// `transfer` and `response`, unless those end by the kernel's clock.
    #[serde(default, rename = "receive_lag_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub receive_lag: Option<Duration>,
}

/// What the kernel says of a TCP connection (`TCP_INFO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Transport {
    /// The smoothed round-trip time.
    #[serde(rename = "rtt_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub rtt: Duration,
    /// How far it varies.
    #[serde(rename = "rtt_variance_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub rtt_variance: Duration,
    /// Segments retransmitted since the connection began.
    pub retransmits: u32,
}

/// What only the worker knows of a slow call.
#[derive(Clone, Debug, Default)]
pub struct SlowDetail {
    /// See [`SlowCall::transport`].
    pub transport: Option<Transport>,
    /// See [`SlowCall::server_timing`].
    pub server_timing: Option<String>,
}

impl SlowCall {
    fn new(sample: &Sample<'_>, start: Instant, detail: SlowDetail) -> Self {
        Self {
            latency: sample.latency(),
            due: sample.intended - start,
            call: sample.call,
            uri: String::from_utf8_lossy(sample.uri).into_owned(),
            outcome: sample.outcome(),
            status: sample.status,
            mismatch: sample.mismatch,
            wait: sample.sent.map(|sent| sent - sample.intended),
            response: sample.sent.zip(sample.first_byte).map(|(sent, first)| first - sent),
            transfer: sample.first_byte.map(|first| sample.done - first),
            connection: sample.carrier.map(|carrier| carrier.connection),
            reused: sample.carrier.is_some_and(|carrier| carrier.reused),
            connect: sample.carrier.map(|carrier| carrier.connect),
            transport: detail.transport,
            server_timing: detail.server_timing,
            receive_lag: sample.receive_lag,
        }
    }
}

/// The slowest calls of a run, as many as were asked for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slowest {
    most: usize,
    /// The quickest of them on top.
    calls: BinaryHeap<Reverse<SlowCall>>,
}

impl Slowest {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, calls: BinaryHeap::new() }
    }

    /// Whether a call of this latency is among them so far.
    pub(crate) fn wants(&self, latency: Duration) -> bool {
        self.calls.len() < self.most
            || self.calls.peek().is_some_and(|Reverse(quickest)| latency > quickest.latency)
    }

    pub(crate) fn add(&mut self, sample: &Sample<'_>, start: Instant, detail: SlowDetail) {
        if self.calls.len() == self.most {
            self.calls.pop();
        }
        self.calls.push(Reverse(SlowCall::new(sample, start, detail)));
    }

    /// The slowest first.
    pub(crate) fn into_sorted(self) -> Vec<SlowCall> {
        self.calls.into_sorted_vec().into_iter().map(|Reverse(call)| call).collect()
    }
}

/// The slowest of both, as many as the larger has room for.
pub(crate) fn merge_slowest(ours: &mut Vec<SlowCall>, theirs: &[SlowCall], most: usize) {
    ours.extend_from_slice(theirs);
    ours.sort_by(|a, b| b.cmp(a));
    ours.truncate(most);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(call: u64, ms: u64) -> Sample<'static> {
        let at = |ms: u64| Instant::from_nanos(ms * 1_000_000);
        Sample {
            call,
            uri: b"/",
            status: Some(200),
            intended: at(100),
            sent: Some(at(101)),
            stalled: Duration::ZERO,
            first_byte: Some(at(100 + ms)),
            done: at(100 + ms),
            header_size: 0,
            content_size: 0,
            footer_size: 0,
            decoded_size: None,
            mismatch: None,
            carrier: None,
            receive_lag: None,
            kernel: None,
        }
    }

    #[test]
    fn the_slowest_calls_are_kept_slowest_first() {
        let mut slowest = Slowest::new(3);
        for (call, ms) in [5, 9, 2, 7, 7, 1, 30].into_iter().enumerate() {
            let sample = sample(call as u64, ms);
            if slowest.wants(sample.latency()) {
                slowest.add(&sample, Instant::from_nanos(0), SlowDetail::default());
            }
        }
        let kept: Vec<(u64, u128)> =
            slowest.into_sorted().iter().map(|slow| (slow.call, slow.latency.as_millis())).collect();
        assert_eq!(kept, [(6, 30), (1, 9), (4, 7)]);
    }

    #[test]
    fn none_are_kept_if_none_are_asked_for() {
        assert!(!Slowest::new(0).wants(Duration::from_secs(1)));
    }

    #[test]
    fn the_time_of_a_slow_call_is_split_where_its_phases_meet() {
        let start = Instant::from_nanos(40_000_000);
        let slow = SlowCall::new(&sample(1, 50), start, SlowDetail::default());
        let ms = Duration::from_millis;
        assert_eq!((slow.due, slow.latency, slow.wait), (ms(60), ms(50), Some(ms(1))));
        assert_eq!((slow.response, slow.transfer, slow.connect), (Some(ms(49)), Some(ms(0)), None));
    }
}
