//! The error of times that are taken from the kernel: with `--clock=kernel`, and with `--kernel-sends` from kernel to
//! kernel. They are held against the packets, for HTTP/1.1 in the clear and over TLS, and for HTTP/2.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::time::Duration;

use httperf_origin::{Config, Credentials, KeyType, Tickets, Tls as ServerTls};
use httperf_plan::{Endpoint, HttpVersion, ReplyClock, Tls};
use httperf_stats::Instant;
use serde::Serialize;

use super::capture::Packet;
use super::lab::{Lab, Process};
use super::latency::{Accuracy, LatencySettings, SeenCalls};
use super::spread::{difference_us, rounded};
use super::watch::WatchedCall;

/// A protocol between generator and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StampedProtocol {
    Http1,
    Http1Tls,
    Http2,
}

impl StampedProtocol {
    pub(super) const ALL: [Self; 3] = [Self::Http1, Self::Http1Tls, Self::Http2];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http1Tls => "HTTP/1.1, TLS",
            Self::Http2 => "HTTP/2",
        }
    }
}

/// Calls of one delay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct KernelRow {
    pub(super) protocol: StampedProtocol,
    /// The request that the server got.
    pub(super) delay_us: f64,
    /// Calls offered.
    pub(super) offered: usize,
    /// Service time that ends by the kernel's clock; `null` where packets cannot be captured.
    pub(super) clock: Option<Accuracy>,
    /// From kernel to kernel; `null` where packets cannot be captured.
    pub(super) sends: Option<Accuracy>,
}

/// Packets of a connection with one call, at most: TLS has a handshake, HTTP/2 settings, and both say goodbye.
const PACKETS_MAX: usize = 16;

/// A row for each delay, of deterministic arrivals.
pub(super) fn measure(
    lab: &Lab<'_>,
    settings: &LatencySettings,
    protocol: StampedProtocol,
) -> anyhow::Result<Vec<KernelRow>> {
    let is_secured = protocol == StampedProtocol::Http1Tls;
    let server = Config { tls: is_secured.then(server_tls), ..Config::default() };
    let seen = SeenCalls::of(lab, settings, Process::Deterministic, server, PACKETS_MAX, |plan| {
        plan.tls = is_secured.then(Tls::default);
        if protocol == StampedProtocol::Http2 {
            plan.request.version = HttpVersion::Http2;
        }
        plan.recording.clock = ReplyClock::Kernel;
        plan.recording.kernel_sends = Some(NonZeroU32::MIN);
    })?;
    let passed = seen.packets.as_ref().map(|packets| passed(&seen.calls, packets));
    let rows = settings.delays.iter().enumerate().map(|(turn, delay)| {
        let calls = seen.measured(settings, turn);
        let against = |measured: fn(&WatchedCall) -> Option<f64>| {
            let passed = passed.as_ref()?;
            let pair = |call: &&WatchedCall| Some((measured(call)?, *passed.get(&call.index)?));
            Accuracy::of(&calls.iter().filter(|call| call.is_good).filter_map(pair).collect::<Vec<_>>())
        };
        KernelRow {
            protocol,
            delay_us: rounded(delay.as_secs_f64() * 1e6),
            offered: calls.len(),
            clock: against(|call| Some(difference_us(call.done.as_nanos(), call.sent?.as_nanos()))),
            sends: against(|call| Some(call.between_kernels?.as_secs_f64() * 1e6)),
        }
    });
    Ok(rows.collect())
}

/// Without tickets, which come at a time of their own.
fn server_tls() -> ServerTls {
    let names = Endpoint::Tcp(([127, 0, 0, 1], 0).into());
    ServerTls {
        tickets: Tickets::Off,
        ..ServerTls::new(Credentials::self_signed(KeyType::default(), &names))
    }
}

/// Both clocks are read a moment apart, so that a packet may seem to have passed before it was written.
const CLOCK_ERROR: Duration = Duration::from_micros(1);

/// The true times of calls in µs by the packets, by their numbers: from the passing of a request to that of the last packet
/// of its reply. The contents of packets need not be known: the generator is one thread, so the first packet that passes
/// after it has begun to write a request is that request, and the server says nothing after its reply, unless the client
/// has said goodbye.
fn passed(calls: &[WatchedCall], packets: &[Packet]) -> HashMap<usize, f64> {
    let truth = |call: &WatchedCall| {
        let from = Instant::from_nanos(call.sent?.as_nanos().saturating_sub(CLOCK_ERROR.as_nanos() as u64));
        let later = &packets[packets.partition_point(|packet| packet.at < from)..];
        let request = later.iter().find(|packet| packet.is_from_client)?;
        let until = call.done + GOODBYE_MAX;
        let same = || {
            let ours = later.iter().take_while(|packet| packet.at <= until);
            ours.filter(|packet| packet.client_port == request.client_port && packet.at > request.at)
        };
        let goodbye = same().find(|packet| packet.is_from_client && packet.at > call.done);
        let is_before = |packet: &&Packet| goodbye.is_none_or(|goodbye| packet.at < goodbye.at);
        let reply = same().filter(is_before).filter(|packet| !packet.is_from_client).last()?;
        Some((call.index, difference_us(reply.at.as_nanos(), request.at.as_nanos())))
    };
    calls.iter().filter_map(truth).collect()
}

/// A client says goodbye this long after its reply at the latest. Ports are not used again so soon.
const GOODBYE_MAX: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    fn call(index: usize, sent_us: u64, done_us: u64) -> WatchedCall {
        let at = |us: u64| Instant::from_nanos(us * 1_000);
        WatchedCall {
            index,
            due: at(sent_us),
            started: None,
            sent: Some(at(sent_us)),
            done: at(done_us),
            between_kernels: None,
            is_good: true,
        }
    }

    #[test]
    fn packets_belong_to_calls_by_when_they_pass() {
        let packet = |us: u64, is_from_client: bool, client_port: u16| Packet {
            at: Instant::from_nanos(us * 1_000),
            is_from_client,
            client_port,
            payload: Vec::new(),
        };
        let packets = [
            // A handshake.
            packet(100, true, 5),
            packet(200, false, 5),
            // A request, what the server says meanwhile, another call, and the reply in two pieces.
            packet(1_010, true, 5),
            packet(1_020, false, 5),
            packet(2_005, true, 6),
            packet(2_100, false, 6),
            packet(3_000, false, 5),
            packet(3_050, false, 5),
            // A goodbye, and an answer to it.
            packet(3_070, true, 5),
            packet(3_090, false, 5),
        ];
        let calls = [call(0, 1_000, 3_052), call(1, 2_000, 2_101), call(2, 9_000, 9_100)];
        assert_eq!(passed(&calls, &packets), HashMap::from([(0, 2_040.0), (1, 95.0)]));
    }

    #[test]
    fn a_packet_may_seem_to_pass_a_moment_before_it_was_written() {
        let packet = |us: u64, is_from_client: bool| Packet {
            at: Instant::from_nanos(us * 1_000),
            is_from_client,
            client_port: 5,
            payload: Vec::new(),
        };
        let packets = [packet(990, true), packet(999, true), packet(1_500, false)];
        assert_eq!(passed(&[call(0, 1_000, 1_490)], &packets), HashMap::from([(0, 501.0)]));
    }
}
