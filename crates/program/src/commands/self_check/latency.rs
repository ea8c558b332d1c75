//! Accuracy of latency: the generator's figures of calls, compared with the delays that the server gave
//! them, by the server's own clock readings and by the kernel's time stamps of the packets.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context;
use httperf_origin::{Config, Stamp};
use httperf_plan::{Connections, PlanFields, UriSource};
use httperf_stats::Instant;
use serde::Serialize;

use super::capture::{Capture, Kind, Packet, Wanted};
use super::lab::{self, Lab, Process, WARM_UP};
use super::spread::{Spread, difference_us, mean, median, rounded};
use super::watch::{Watch, WatchedCall};

/// The measurement.
#[derive(Clone, Copy, Debug)]
pub(super) struct LatencySettings {
    /// Calls of each delay take turns.
    pub(super) delays: &'static [Duration],
    /// Calls in a second, of all delays together.
    pub(super) rate: f64,
    pub(super) duration: Duration,
}

impl LatencySettings {
    /// Calls of a run, warm-up included.
    fn count(&self) -> usize {
        (self.rate * (WARM_UP + self.duration).as_secs_f64()).round() as usize
    }
}

/// Calls of one delay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct LatencyRow {
    pub(super) arrivals: Process,
    /// The request that the server got.
    pub(super) delay_us: f64,
    /// Calls offered.
    pub(super) offered: usize,
    /// Against what the server's clock says; `null` if no call was answered.
    pub(super) server: Option<Accuracy>,
    /// Against what the packets say; `null` where they cannot be captured.
    pub(super) packets: Option<Accuracy>,
}

/// Measured times against true ones.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct Accuracy {
    /// The mean of the true times.
    pub(super) true_us: f64,
    /// The mean of measured minus true.
    pub(super) bias_us: f64,
    /// The median of that.
    pub(super) bias_p50_us: f64,
    /// The size of measured minus true.
    pub(super) error: Spread,
}

impl Accuracy {
    /// Of pairs of a measured and a true time, in µs. `None` if there are none.
    pub(super) fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let truths: Vec<f64> = pairs.iter().map(|&(_, truth)| truth).collect();
        let errors: Vec<f64> = pairs.iter().map(|&(measured, truth)| measured - truth).collect();
        Some(Self {
            true_us: rounded(mean(&truths)?),
            bias_us: rounded(mean(&errors)?),
            bias_p50_us: rounded(median(&errors)?),
            error: Spread::of(errors)?,
        })
    }
}

/// A row for each delay.
pub(super) fn measure(
    lab: &Lab<'_>,
    settings: &LatencySettings,
    process: Process,
) -> anyhow::Result<Vec<LatencyRow>> {
    let config = Config { stamps: settings.count(), ..Config::default() };
    let seen = SeenCalls::of(lab, settings, process, config, REQUEST_AND_REPLY, |_| {})?;
    let by_server = by_server(&seen.stamps);
    let by_packets = seen.packets.as_deref().map(by_packets);
    let rows = settings.delays.iter().enumerate().map(|(turn, delay)| {
        let calls = seen.measured(settings, turn);
        LatencyRow {
            arrivals: process,
            delay_us: rounded(delay.as_secs_f64() * 1e6),
            offered: calls.len(),
            server: Accuracy::of(&pairs(&calls, &by_server)),
            packets: by_packets.as_ref().and_then(|truth| Accuracy::of(&pairs(&calls, truth))),
        }
    });
    Ok(rows.collect())
}

/// Packets of a call, at most, where some are sent again.
const REQUEST_AND_REPLY: usize = 4;

/// A run in which calls of each delay took turns, each on a connection of its own.
pub(super) struct SeenCalls {
    pub(super) calls: Vec<WatchedCall>,
    /// `None` where they cannot be captured.
    pub(super) packets: Option<Vec<Packet>>,
    /// The server's, if it was to take them.
    stamps: Vec<Stamp>,
    /// The end of the warm-up, if any call ended.
    measured_from: Option<Instant>,
}

impl SeenCalls {
    /// Carries out such a run against a server of this kind. A call has at most this many packets; `adapt` makes the plan
    /// what it is to be.
    pub(super) fn of(
        lab: &Lab<'_>,
        settings: &LatencySettings,
        process: Process,
        server: Config,
        packets_max: usize,
        adapt: impl FnOnce(&mut PlanFields),
    ) -> anyhow::Result<Self> {
        let count = settings.count();
        let server = lab.server(server)?;
        let address = lab::address(&server);
        let connections = Connections::new(count as u64, 1);
        let limit = settings.duration * 2 + Duration::from_secs(1);
        let uris: Vec<Vec<u8>> = (0..count).map(|index| uri(settings.delays, index).into_bytes()).collect();
        let uris = uris.try_into().context("a test without a call measures nothing")?;
        let arrivals = process.arrivals(settings.rate);
        let plan = lab.plan(&[address].into(), arrivals, connections, limit).edit(|plan| {
            plan.uris = UriSource::List { uris, wrap: false };
            plan.watch = Watch::asked_for();
            adapt(plan);
        })?;
        let mut watch = Watch::new(count);
        let wanted = Wanted { port: address.port(), kind: Kind::Push, most: packets_max * count };
        let capture = lab.capture(wanted);
        lab.run(&plan, &mut watch)?;
        let packets = capture.map(Capture::finish);
        let stamps = lab::stopped(server)?.stamps;
        let measured_from = watch.run_start().map(|start| start + WARM_UP);
        Ok(Self { calls: watch.into_calls(), packets, stamps, measured_from })
    }

    /// The calls of a delay that were due after the warm-up.
    pub(super) fn measured(&self, settings: &LatencySettings, turn: usize) -> Vec<&WatchedCall> {
        let is_measured = |call: &&WatchedCall| {
            call.index % settings.delays.len() == turn
                && self.measured_from.is_some_and(|from| call.due >= from)
        };
        self.calls.iter().filter(is_measured).collect()
    }
}

/// The request of call number `index`: its turn among the delays, a small body, and its number.
fn uri(delays: &[Duration], index: usize) -> String {
    let delay = delays[index % delays.len()].as_micros();
    format!("/delay/{delay}us/size/100?{index}")
}

/// The number in a request target.
fn index_of(target: &str) -> Option<usize> {
    target.rsplit_once('?')?.1.parse().ok()
}

/// The true times of calls in µs, by their numbers.
type Truth = HashMap<usize, f64>;

/// From the server's having read a request to its writing the reply.
fn by_server(stamps: &[Stamp]) -> Truth {
    let micros = |stamp: &Stamp| stamp.handed.saturating_sub(stamp.received).as_secs_f64() * 1e6;
    stamps.iter().filter_map(|stamp| Some((index_of(&stamp.target)?, micros(stamp)))).collect()
}

/// From the passing of a request to that of the last packet of its reply, where each has a connection of its own.
fn by_packets(packets: &[Packet]) -> Truth {
    let mut requests: HashMap<u16, (usize, Instant)> = HashMap::new();
    let mut truth = Truth::new();
    for packet in packets {
        if packet.is_from_client {
            let Some(index) = requested(&packet.payload) else { continue };
            requests.insert(packet.client_port, (index, packet.at));
        } else if let Some(&(index, at)) = requests.get(&packet.client_port) {
            truth.insert(index, difference_us(packet.at.as_nanos(), at.as_nanos()));
        }
    }
    truth
}

/// The number in a request line.
fn requested(payload: &[u8]) -> Option<usize> {
    let line = payload.split(|&byte| byte == b'\r').next()?;
    let target = line.split(|&byte| byte == b' ').nth(1)?;
    index_of(str::from_utf8(target).ok()?)
}

/// Measured and true times of the calls that were answered and are known on both sides.
fn pairs(calls: &[&WatchedCall], truth: &Truth) -> Vec<(f64, f64)> {
    let pair = |call: &&WatchedCall| {
        let measured = difference_us(call.done.as_nanos(), call.sent?.as_nanos());
        Some((measured, *truth.get(&call.index)?))
    };
    calls.iter().filter(|call| call.is_good).filter_map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(index: usize, sent_us: u64, done_us: u64) -> WatchedCall {
        let at = |micros: u64| Instant::from_nanos(micros * 1_000);
        WatchedCall {
            index,
            due: at(sent_us),
            started: Some(at(sent_us)),
            sent: Some(at(sent_us)),
            done: at(done_us),
            between_kernels: None,
            is_good: true,
        }
    }

    #[test]
    fn delays_take_turns_and_targets_carry_their_number() {
        let delays = [Duration::ZERO, Duration::from_millis(10)];
        let uris: Vec<String> = (0..3).map(|index| uri(&delays, index)).collect();
        assert_eq!(uris, ["/delay/0us/size/100?0", "/delay/10000us/size/100?1", "/delay/0us/size/100?2"]);
        assert_eq!(requested(b"GET /delay/0us/size/100?27 HTTP/1.1\r\nHost: x\r\n"), Some(27));
        assert_eq!((requested(b"GET / HTTP/1.1\r\n"), requested(b"")), (None, None));
    }

    #[test]
    fn bias_is_the_mean_error_and_its_spread_that_of_sizes() {
        let accuracy = Accuracy::of(&[(1010.0, 1000.0), (1030.0, 1000.0), (2990.0, 3000.0)]).unwrap();
        assert_eq!((accuracy.true_us, accuracy.bias_us, accuracy.bias_p50_us), (1666.667, 10.0, 10.0));
        assert_eq!((accuracy.error.p50_us, accuracy.error.max_us, accuracy.error.p99_us), (10.0, 30.0, None));
        assert_eq!(Accuracy::of(&[]), None);
    }

    #[test]
    fn only_answered_calls_known_on_both_sides_are_compared() {
        let stamp = |target: &str, received: u64, handed: u64| Stamp {
            target: target.to_owned(),
            received: Duration::from_micros(received),
            handed: Duration::from_micros(handed),
        };
        let truth = by_server(&[stamp("/?1", 100, 1100), stamp("/?2", 0, 10), stamp("/other", 0, 10)]);
        let failed = WatchedCall { is_good: false, ..call(2, 0, 5) };
        assert_eq!(pairs(&[&call(1, 80, 1120), &failed, &call(3, 0, 9)], &truth), [(1040.0, 1000.0)]);
    }

    #[test]
    fn packets_belong_to_calls_by_the_port_of_their_client() {
        let packet = |micros: u64, is_from_client: bool, client_port: u16, payload: &str| Packet {
            at: Instant::from_nanos(micros * 1_000),
            is_from_client,
            client_port,
            payload: payload.as_bytes().to_vec(),
        };
        let truth = by_packets(&[
            packet(0, false, 5, "a reply to nothing"),
            packet(10, true, 5, "GET /?7 HTTP/1.1\r\n"),
            packet(20, true, 6, "GET /?8 HTTP/1.1\r\n"),
            packet(40, false, 6, "first part"),
            packet(50, false, 6, "second part"),
            packet(60, false, 5, "HTTP/1.1 200 OK\r\n"),
            packet(70, true, 5, "GET /?9 HTTP/1.1\r\n"),
        ]);
        assert_eq!(truth, Truth::from([(7, 50.0), (8, 30.0)]));
    }
}
