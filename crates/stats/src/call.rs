//! Completed and failed calls, and the slowest of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{GrpcEnd, Instant, KernelTimes, Mismatch, RecordedReply, StepCall, StreamCall};

/// A call that has ended, with or without a reply.
#[derive(Clone, Copy, Debug)]
pub struct Sample<'a> {
    /// Number, from 0, in order of creation.
    pub call: u64,
    /// Request target.
    pub uri: &'a [u8],
    /// Status of the reply, 100 to 999; `None` if there was no reply.
    pub status: Option<u16>,
    /// Instant at which the call was due: the user's wait begins here.
    pub intended: Instant,
    /// Instant at which the first byte of the request was handed over, if it was.
    pub sent: Option<Instant>,
    /// Time after `sent` that the body of the request waited for the server's flow-control windows.
    pub stalled: Duration,
    /// Instant at which the status line was complete, if it came.
    pub first_byte: Option<Instant>,
    /// Instant at which the reply was complete, or the call was given up.
    pub done: Instant,
    /// Bytes of the reply's header block.
    pub header_size: u64,
    /// Bytes of the reply's body.
    pub content_size: u64,
    /// Bytes of the reply's trailers.
    pub footer_size: u64,
    /// Bytes of the body after decompression, if it came compressed.
    pub decoded_size: Option<u64>,
    /// Check that the reply failed, if any.
    pub mismatch: Option<Mismatch>,
    /// Last connection that carried the call.
    pub carrier: Option<Carrier>,
    /// Time between the kernel's receipt of the segment that completed the reply and the program's read, if
    /// known.
    pub receive_lag: Option<Duration>,
    /// Kernel's times, if they were requested for this call.
    pub kernel: Option<KernelTimes>,
    /// Step of a scenario that made the call, if one did.
    pub step: Option<StepCall>,
    /// Reply that was recorded, if the call replays a recorded one.
    pub recorded: Option<RecordedReply>,
    /// Stream that the reply was, if it was one.
    pub stream: Option<&'a StreamCall>,
    /// End of a call of gRPC whose reply is complete.
    pub rpc: Option<&'a GrpcEnd>,
    /// True if the status is the one that the step expects, or the recorded one below 500.
    pub expected: bool,
}

/// Connection that carried a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carrier {
    /// Number, from 0, in the order in which connections were initiated.
    pub connection: u64,
    /// True if it had carried another call before.
    pub reused: bool,
    /// Time it took to establish.
    pub connect: Duration,
    /// Packets of QUIC that were declared lost on it before the call was sent, if calls are to tell of losses.
    pub packets_lost: u64,
}

impl Sample<'_> {
    /// Classifies the call.
    #[must_use]
    pub fn outcome(&self) -> CallOutcome {
        match (self.status, self.mismatch) {
            (Some(_), Some(_)) => CallOutcome::Unexpected,
            (Some(status), None) if status < 400 || self.expected => CallOutcome::Success,
            (Some(_), None) => CallOutcome::HttpError,
            (None, _) => CallOutcome::Failure,
        }
    }

    /// Time from the instant at which the call was due to its end.
    #[must_use]
    pub fn latency(&self) -> Duration {
        self.done - self.intended
    }

    /// Time from the first byte sent to the end, without time stalled by the server's flow control; `None` if
    /// nothing was sent.
    #[must_use]
    pub fn service(&self) -> Option<Duration> {
        self.sent.map(|sent| (self.done - sent).saturating_sub(self.stalled))
    }
}

/// Outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// Reply with status 399 or below, or with the status that a step of a scenario expects or that was recorded.
    Success,
    /// Reply with status 400 or above that was not expected.
    HttpError,
    /// No reply.
    Failure,
    /// Reply that failed a check, whatever its status.
    Unexpected,
}

impl CallOutcome {
    /// All outcomes, in order.
    pub const ALL: [Self; 4] = [Self::Success, Self::HttpError, Self::Failure, Self::Unexpected];

    /// Returns true if the call has a reply that failed no check, whatever its status.
    #[must_use]
    pub fn is_completed(self) -> bool {
        matches!(self, Self::Success | Self::HttpError)
    }
}

/// Lists with an entry for each [`CallOutcome`], in the order of its variants. Results written by older versions,
/// which had fewer outcomes, have shorter lists.
pub(crate) mod by_outcome {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::CallOutcome;

    const COUNT: usize = CallOutcome::ALL.len();

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

/// One of the slowest calls, with the parts of its latency.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct SlowCall {
    /// Time from the instant at which the call was due to its end.
    #[serde(rename = "latency_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub latency: Duration,
    /// Instant at which it was due, since the start of the run.
    #[serde(rename = "due_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub due: Duration,
    /// Number, from 0, in order of creation.
    pub call: u64,
    /// Request target. Invalid UTF-8 is replaced.
    pub uri: String,
    /// Outcome.
    pub outcome: CallOutcome,
    /// Status of the reply, if there was one.
    pub status: Option<u16>,
    /// Check that the reply failed, if any.
    #[serde(default)]
    pub mismatch: Option<Mismatch>,
    /// Time from the instant at which it was due to the first byte sent, if it was sent.
    #[serde(rename = "wait_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub wait: Option<Duration>,
    /// Time from the first byte sent to the status line of the reply, if it came.
    #[serde(rename = "response_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub response: Option<Duration>,
    /// Time from the status line to the end.
    #[serde(rename = "transfer_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub transfer: Option<Duration>,
    /// Number of the connection that carried it, if any.
    pub connection: Option<u64>,
    /// True if that connection had carried another call before.
    pub reused: bool,
    /// Time that connection took to establish; part of `wait` if it was new.
    #[serde(rename = "connect_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub connect: Option<Duration>,
    /// State of the transport when the call ended, from the kernel.
    pub transport: Option<Transport>,
    /// The same over QUIC, from the library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quic: Option<QuicTransport>,
    /// The `Server-Timing` field of the reply, if there was one. Invalid UTF-8 is replaced.
    ///
    /// <https://www.w3.org/TR/server-timing/>
    pub server_timing: Option<String>,
    /// Time between the kernel's receipt of the segment that completed the reply and the program's read, if
    /// known. It is part of `transfer` and `response`, unless those end by the kernel's clock.
    #[serde(default, rename = "receive_lag_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub receive_lag: Option<Duration>,
}

/// State of a TCP connection, from the kernel (`TCP_INFO`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Transport {
    /// Smoothed round-trip time.
    #[serde(rename = "rtt_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub rtt: Duration,
    /// Variation of the round-trip time.
    #[serde(rename = "rtt_variance_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub rtt_variance: Duration,
    /// Segments retransmitted since the connection began.
    pub retransmits: u32,
}

/// State of a QUIC connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct QuicTransport {
    /// Smoothed round-trip time.
    #[serde(rename = "rtt_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub rtt: Duration,
    /// Packets, of any call, that were declared lost on the connection between the first byte sent of this one and its
    /// end.
    pub packets_lost: u64,
}

/// Details of a slow call that only the worker knows.
#[derive(Clone, Debug, Default)]
pub struct SlowDetail {
    /// See [`SlowCall::transport`].
    pub transport: Option<Transport>,
    /// See [`SlowCall::quic`]; packets lost are those since the connection began.
    pub quic: Option<QuicTransport>,
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
            quic: detail.quic.map(|quic| {
                let before = sample.carrier.map_or(0, |carrier| carrier.packets_lost);
                QuicTransport { packets_lost: quic.packets_lost.saturating_sub(before), ..quic }
            }),
            server_timing: detail.server_timing,
            receive_lag: sample.receive_lag,
        }
    }
}

/// The slowest calls of a run, up to a fixed number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slowest {
    most: usize,
    /// Min-heap: the fastest of them on top.
    calls: BinaryHeap<Reverse<SlowCall>>,
}

impl Slowest {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, calls: BinaryHeap::new() }
    }

    /// Returns true if a call with this latency is currently among the slowest.
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

    /// Returns the calls, slowest first.
    pub(crate) fn into_sorted(self) -> Vec<SlowCall> {
        self.calls.into_sorted_vec().into_iter().map(|Reverse(call)| call).collect()
    }
}

/// Keeps the `most` slowest calls of both lists.
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
            step: None,
            recorded: None,
            stream: None,
            rpc: None,
            expected: false,
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
    fn no_calls_are_kept_if_none_are_requested() {
        assert!(!Slowest::new(0).wants(Duration::from_secs(1)));
    }

    #[test]
    fn parts_of_a_slow_call_add_up_to_its_latency() {
        let start = Instant::from_nanos(40_000_000);
        let slow = SlowCall::new(&sample(1, 50), start, SlowDetail::default());
        let ms = Duration::from_millis;
        assert_eq!((slow.due, slow.latency, slow.wait), (ms(60), ms(50), Some(ms(1))));
        assert_eq!((slow.response, slow.transfer, slow.connect), (Some(ms(49)), Some(ms(0)), None));
    }
}
