//! The error of the times of events, by the stamps that the server puts into them.

use std::collections::BTreeMap;
use std::time::Duration;

use httperf_engine::{Observation, Observer};
use httperf_origin::{Config, Credentials, Http3, KeyType, Tls as ServerTls};
use httperf_plan::{Connections, Endpoint, HttpVersion, Tls};
use httperf_stats::Instant;
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

use super::lab::{self, Lab, Process};
use super::spread::{Spread, difference_us};

/// A protocol between generator and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StreamProtocol {
    Http1,
    Http2,
    Http3,
}

impl StreamProtocol {
    pub(super) const ALL: [Self; 3] = [Self::Http1, Self::Http2, Self::Http3];

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Http1 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
            Self::Http3 => "HTTP/3",
        }
    }
}

/// Streams over one protocol.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct StreamRow {
    pub(super) protocol: StreamProtocol,
    /// Streams that were open at once.
    pub(super) streams: usize,
    /// Events that arrived.
    pub(super) events: usize,
    /// Events that came together with the one before.
    pub(super) coalesced: u64,
    /// Arrivals of first events, minus the instants at which the server sent them.
    pub(super) first: Option<Spread>,
    /// Gaps as measured, minus those between the instants at which the server sent the events. Events that came together have no
    /// gap.
    pub(super) gap: Option<Spread>,
}

/// The extent of the measurement: streams, each with this many events a second.
#[derive(Clone, Copy, Debug)]
pub(super) struct StreamSettings {
    pub(super) streams: usize,
    pub(super) duration: Duration,
}

const EVENTS_PER_SECOND: f64 = 20.0;

/// Opens all streams within a second, and reads them to their ends.
pub(super) fn measure(
    lab: &Lab<'_>,
    settings: &StreamSettings,
    protocol: StreamProtocol,
) -> anyhow::Result<StreamRow> {
    let events = (settings.duration.as_secs_f64() * EVENTS_PER_SECOND).round() as u64;
    let is_secured = protocol == StreamProtocol::Http3;
    let server = lab.server(Config {
        tls: is_secured.then(server_tls),
        http3: is_secured.then(Http3::default),
        ..Config::default()
    })?;
    let address = lab::address(&server);
    let arrivals = Process::Poisson.arrivals(settings.streams as f64);
    let connections = Connections::new(settings.streams as u64, 1);
    let limit = settings.duration + Duration::from_secs(3);
    let plan = lab.plan(&[address].into(), arrivals, connections, limit);
    // Gaps that differ keep streams from falling into step.
    let path = format!("/sse/{events}/first/uniform:20ms,80ms/gap/jitter:50ms,25ms");
    let plan = plan.edit(|plan| {
        plan.uris = httperf_plan::UriSource::Fixed(path.into_bytes());
        plan.request.version = match protocol {
            StreamProtocol::Http1 => HttpVersion::Http11,
            StreamProtocol::Http2 => HttpVersion::Http2,
            StreamProtocol::Http3 => HttpVersion::Http3,
        };
        plan.tls = is_secured.then(Tls::default);
        plan.watch.events = true;
    })?;
    let mut watch = EventWatch { clocks: Clocks::now(), ..EventWatch::default() };
    let summary = lab.run(&plan, &mut watch)?;
    lab::stopped(server)?;
    let coalesced = summary.streams.map_or(0, |streams| streams.coalesced);
    Ok(watch.row(protocol, settings.streams, coalesced))
}

fn server_tls() -> ServerTls {
    let names = Endpoint::Tcp(([127, 0, 0, 1], 0).into());
    ServerTls::new(Credentials::self_signed(KeyType::default(), &names))
}

/// One reading of both clocks: the run's, and that of the stamps. ns.
#[derive(Clone, Copy, Debug, Default)]
struct Clocks {
    run: u64,
    stamps: u64,
}

impl Clocks {
    fn now() -> Self {
        let read = |clock| {
            let time = clock_gettime(clock);
            time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
        };
        // The clock of the stamps is read between two readings of the other.
        let (before, stamps, after) =
            (read(ClockId::Monotonic), read(ClockId::Realtime), read(ClockId::Monotonic));
        Self { run: before.midpoint(after), stamps }
    }

    /// The instant of a stamp by the clock of the run.
    fn of_stamp(self, stamp: u64) -> u64 {
        self.run + stamp.saturating_sub(self.stamps)
    }
}

/// Notes events as they arrive.
#[derive(Debug, Default)]
struct EventWatch {
    clocks: Clocks,
    /// Instants of arrival, and of sending by the server, by call.
    streams: BTreeMap<u64, Vec<(Instant, u64)>>,
}

impl Observer for EventWatch {
    fn observe(&mut self, what: Observation<'_>) {
        if let Observation::StreamEvent { call, at, data } = what
            && let Some(sent) = sent_ns(data)
        {
            let sent = self.clocks.of_stamp(sent);
            self.streams.entry(call).or_default().push((at, sent));
        }
    }
}

impl EventWatch {
    fn row(self, protocol: StreamProtocol, streams: usize, coalesced: u64) -> StreamRow {
        let events = self.streams.values().map(Vec::len).sum();
        let first = self.streams.values().filter_map(|events| events.first());
        let pairs = self.streams.values().flat_map(|events| events.windows(2));
        let apart = pairs.filter(|pair| pair[0].0 != pair[1].0);
        StreamRow {
            protocol,
            streams,
            events,
            coalesced,
            first: Spread::of(first.map(|&(at, sent)| difference_us(at.as_nanos(), sent))),
            gap: Spread::of(apart.map(|pair| {
                let measured = difference_us(pair[1].0.as_nanos(), pair[0].0.as_nanos());
                measured - difference_us(pair[1].1, pair[0].1)
            })),
        }
    }
}

/// The stamp of an event of the test server.
fn sent_ns(data: &[u8]) -> Option<u64> {
    let event: serde_json::Value = serde_json::from_slice(data).ok()?;
    event.get("sent_ns")?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_of_first_events_and_of_gaps() {
        let clocks = Clocks { run: 1_000_000, stamps: 9_000_000 };
        let mut watch = EventWatch { clocks, ..EventWatch::default() };
        let mut tell = |call, at_us: u64, sent_us: u64| {
            let data = format!("{{\"event\":1,\"sent_ns\":{}}}", 9_000_000 + sent_us * 1000);
            let at = Instant::from_nanos(1_000_000 + at_us * 1000);
            watch.observe(Observation::StreamEvent { call, at, data: data.as_bytes() });
        };
        // Sent at 100 and 150, read 20 and 25 us later; then two that were sent 5 us apart and read together.
        tell(0, 120, 100);
        tell(0, 175, 150);
        tell(0, 300, 270);
        tell(0, 300, 275);
        tell(1, 130, 100);
        let row = watch.row(StreamProtocol::Http1, 2, 1);
        let (first, gap) = (row.first.unwrap(), row.gap.unwrap());
        assert_eq!((row.events, first.count, first.p50_us, first.max_us), (5, 2, 20.0, 30.0));
        assert_eq!((gap.count, gap.max_us), (2, 5.0));
    }

    #[test]
    fn what_has_no_stamp_is_left_out() {
        for other in [&b"x"[..], b"{}", b"{\"sent_ns\":\"7\"}"] {
            assert_eq!(sent_ns(other), None);
        }
    }
}
