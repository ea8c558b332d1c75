//! All that a self-check has found out, and whether it is within bounds. As JSON it is what is printed and kept.

use httperf_run::machine::MachineIdentity;
use serde::Serialize;

use super::capacity::Highest;
use super::spread::Spread;
use super::{kernel, latency, schedule, streams};

/// All that was found out. `docs/reference/self-check.md` describes the document.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct CheckResults {
    pub(super) format: &'static str,
    pub(super) version: u32,
    /// The time at which it was finished, in seconds since 1970.
    pub(super) finished_unix_s: u64,
    pub(super) quick: bool,
    pub(super) machine: MachineIdentity,
    /// True if the generator had a processor to itself.
    pub(super) processors_split: bool,
    /// The share of all runs in which the generator was kept waiting for a processor.
    pub(super) kept_waiting_share: f64,
    /// The reason why packets could not be captured.
    pub(super) capture_refused: Option<String>,
    pub(super) latency: Vec<latency::LatencyRow>,
    /// Of times that are taken from the kernel.
    pub(super) latency_by_kernel: Vec<kernel::KernelRow>,
    pub(super) schedule: Vec<schedule::ScheduleRow>,
    /// Of events of streams.
    pub(super) event_times: Vec<streams::StreamRow>,
    pub(super) capacity: CapacityFigures,
    pub(super) bounds: Bounds,
    /// The figures that exceed them, in sentences.
    pub(super) exceeded: Vec<String>,
}

/// The highest rates on schedule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct CapacityFigures {
    /// With one request on each connection.
    pub(super) connections: Highest,
    /// On connections that are kept.
    pub(super) requests: Highest,
    /// The number of requests on each of them.
    pub(super) calls_per_connection: u64,
    /// The number of servers that shared the load.
    pub(super) servers: usize,
}

/// Bounds within which the measurements of a machine are reliable.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Bounds {
    /// On the median of how late arrivals are started.
    pub(super) start_p50_us: f64,
    /// On the p99 of that.
    pub(super) start_p99_us: f64,
    /// On the size of the bias of latency, by the server's clock.
    pub(super) bias_us: f64,
}

impl Bounds {
    pub(super) const DOCUMENTED: Self = Self { start_p50_us: 100.0, start_p99_us: 1000.0, bias_us: 200.0 };

    /// The figures that exceed them, in sentences. Those that could not be measured do not.
    pub(super) fn exceeded(
        &self,
        latency: &[latency::LatencyRow],
        schedule: &[schedule::ScheduleRow],
    ) -> Vec<String> {
        let mut sentences = Vec::new();
        for row in schedule {
            let of = format!("{} arrivals at {}/s", row.arrivals.word(), row.rate);
            let Some(start) = row.start else {
                sentences.push(format!("{of}: no call ended"));
                continue;
            };
            let Spread { p50_us, p99_us, .. } = start;
            if p50_us >= self.start_p50_us {
                let bound = self.start_p50_us;
                sentences.push(format!("{of} start {p50_us:.1} us late in the median, bound {bound:.0} us"));
            }
            if let Some(p99_us) = p99_us.filter(|&p99_us| p99_us >= self.start_p99_us) {
                let bound = self.start_p99_us;
                sentences.push(format!("{of} start {p99_us:.1} us late at p99, bound {bound:.0} us"));
            }
        }
        for row in latency {
            let of = format!("latency with a delay of {} us, {} arrivals", row.delay_us, row.arrivals.word());
            match &row.server {
                None => sentences.push(format!("{of}: no call was answered")),
                Some(accuracy) if accuracy.bias_us.abs() >= self.bias_us => {
                    let (bias, bound) = (accuracy.bias_us, self.bias_us);
                    sentences.push(format!("{of}: biased by {bias:+.1} us, bound {bound:.0} us"));
                }
                Some(_) => {}
            }
        }
        sentences
    }
}

impl CheckResults {
    /// One JSON document, indented, with a line end.
    pub(super) fn json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("all keys are text");
        text.push('\n');
        text
    }
}

#[cfg(test)]
pub(super) mod tests {
    use httperf_stats::KolmogorovSmirnov;

    use super::*;
    use crate::commands::self_check::capacity::Bottleneck;
    use crate::commands::self_check::kernel::StampedProtocol;
    use crate::commands::self_check::lab::Process;
    use crate::commands::self_check::latency::Accuracy;
    use httperf_run::known_capacity::{FORMAT, VERSION};

    fn spread(p50_us: f64, p99_us: f64) -> Spread {
        Spread { count: 1000, p50_us, p99_us: Some(p99_us), max_us: 2.0 * p99_us }
    }

    /// Made up, and within bounds.
    pub(in crate::commands::self_check) fn results() -> CheckResults {
        let accuracy = |bias_us: f64| {
            let bias_p50_us = bias_us - 0.25;
            Some(Accuracy { true_us: 1_052.5, bias_us, bias_p50_us, error: spread(bias_us, 3.0 * bias_us) })
        };
        let latency = |arrivals, packets| latency::LatencyRow {
            arrivals,
            delay_us: 1000.0,
            offered: 1000,
            server: accuracy(41.25),
            packets,
        };
        let by_kernel = |protocol| kernel::KernelRow {
            protocol,
            delay_us: 1000.0,
            offered: 1000,
            clock: accuracy(1.75),
            sends: accuracy(0.5).filter(|_| protocol != StampedProtocol::Http2),
        };
        let schedule = |arrivals: Process| schedule::ScheduleRow {
            arrivals,
            rate: 1000.0,
            offered: 1001,
            failed: 1,
            start: Some(spread(12.0, 60.5)),
            request: Some(spread(62.0, 160.5)),
            syn: Some(spread(32.0, 90.0)).filter(|_| arrivals == Process::Deterministic),
            syns_seen: Some(1100).filter(|_| arrivals == Process::Poisson),
            interval: Some(spread(5.0, 50.0)).filter(|_| arrivals == Process::Deterministic),
            achieved: Some(KolmogorovSmirnov { d: 0.0213, count: 1000, p_value: 0.7612 })
                .filter(|_| arrivals == Process::Poisson),
            planned: Some(KolmogorovSmirnov { d: 0.0187, count: 1000, p_value: 0.8765 })
                .filter(|_| arrivals == Process::Poisson),
        };
        let highest = |per_second, limited_by| Highest {
            per_second,
            limited_by,
            lag_p99_us: Some(312.0),
            generator_cpu: 0.641,
            server_cpu: 0.987,
            trials: 12,
        };
        CheckResults {
            format: FORMAT,
            version: VERSION,
            finished_unix_s: 1_800_000_000,
            quick: false,
            machine: MachineIdentity {
                cpu: "Some CPU".into(),
                processors: 2,
                kernel: "6.1".into(),
                httperf: "1.0.0".into(),
                build: "release".into(),
            },
            processors_split: true,
            kept_waiting_share: 0.0124,
            capture_refused: None,
            latency: vec![latency(Process::Deterministic, accuracy(8.5)), latency(Process::Poisson, None)],
            latency_by_kernel: StampedProtocol::ALL.map(by_kernel).to_vec(),
            schedule: Process::ALL.map(schedule).to_vec(),
            event_times: streams::StreamProtocol::ALL
                .map(|protocol| streams::StreamRow {
                    protocol,
                    streams: 1000,
                    events: 60_000,
                    coalesced: 12,
                    first: Some(spread(22.0, 95.0)),
                    gap: Some(spread(3.5, 61.0)),
                })
                .to_vec(),
            capacity: CapacityFigures {
                connections: highest(21_234.5, Bottleneck::Server),
                requests: highest(1_081_234.5, Bottleneck::Search),
                calls_per_connection: 100,
                servers: 1,
            },
            bounds: Bounds::DOCUMENTED,
            exceeded: Vec::new(),
        }
    }

    #[test]
    fn bounds_are_kept_up_to_but_not_at_their_value() {
        let good = results();
        let exceeded =
            |results: &CheckResults| Bounds::DOCUMENTED.exceeded(&results.latency, &results.schedule);
        assert_eq!(exceeded(&good), Vec::<String>::new());

        let mut bad = good.clone();
        bad.schedule[0].start = Some(spread(100.0, 999.9));
        bad.schedule[1].start = Some(spread(99.9, 1000.0));
        bad.latency[0].server =
            Some(Accuracy { true_us: 0.0, bias_us: -200.0, bias_p50_us: 0.0, error: spread(200.0, 300.0) });
        assert_eq!(
            exceeded(&bad),
            [
                "deterministic arrivals at 1000/s start 100.0 us late in the median, bound 100 us",
                "Poisson arrivals at 1000/s start 1000.0 us late at p99, bound 1000 us",
                "latency with a delay of 1000 us, deterministic arrivals: biased by -200.0 us, bound 200 us",
            ]
        );
    }

    #[test]
    fn what_could_not_be_measured_is_not_within_bounds() {
        let mut nothing = results();
        nothing.schedule[0].start = None;
        nothing.latency[1].server = None;
        assert_eq!(
            Bounds::DOCUMENTED.exceeded(&nothing.latency, &nothing.schedule),
            [
                "deterministic arrivals at 1000/s: no call ended",
                "latency with a delay of 1000 us, Poisson arrivals: no call was answered",
            ]
        );
    }

    #[test]
    fn the_document_is_described_by_its_fields() {
        insta::assert_snapshot!(results().json());
    }
}
