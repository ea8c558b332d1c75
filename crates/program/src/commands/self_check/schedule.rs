//! Accuracy of the schedule of arrivals, and a test of those of a Poisson process.

use std::time::Duration;

use httperf_origin::Config;
use httperf_plan::Connections;
use httperf_stats::{Instant, KolmogorovSmirnov};
use serde::Serialize;

use super::capture::{Kind, Packet, Wanted};
use super::lab::{self, Lab, Process, WARM_UP};
use super::spread::{Spread, difference_us};
use super::watch::{Watch, WatchedCall};

/// Arrivals of one process at one rate. Times are sizes of actual minus planned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct ScheduleRow {
    pub(super) arrivals: Process,
    /// Arrivals in a second.
    pub(super) rate: f64,
    /// Calls offered.
    pub(super) offered: usize,
    /// Those that were not answered.
    pub(super) failed: usize,
    /// The start of the work on an arrival: the opening of its connection.
    pub(super) start: Option<Spread>,
    /// The sending of the first byte of its request, after the connection was established.
    pub(super) request: Option<Spread>,
    /// The instant at which the kernel saw the SYN of its connection.
    pub(super) syn: Option<Spread>,
    /// SYNs seen and arrivals offered, if these do not agree, so that which belongs to which is not known.
    pub(super) syns_seen: Option<usize>,
    /// Of deterministic arrivals: intervals between starts, against the planned ones.
    pub(super) interval: Option<Spread>,
    /// Of a Poisson process: intervals between starts, against the exponential distribution of the rate asked for.
    pub(super) achieved: Option<KolmogorovSmirnov>,
    /// The same of the intervals as they were planned: what of it is chance and not lateness.
    pub(super) planned: Option<KolmogorovSmirnov>,
}

/// The number of samples that a p99 needs.
const SAMPLES_MIN: f64 = 110.0;

/// Arrivals of a process at a rate, for about `duration`, or for longer if that would be too few.
pub(super) fn measure(
    lab: &Lab<'_>,
    process: Process,
    rate: f64,
    duration: Duration,
) -> anyhow::Result<ScheduleRow> {
    let duration = duration.max(Duration::from_secs_f64(SAMPLES_MIN / rate));
    let count = (rate * (WARM_UP + duration).as_secs_f64()).round() as usize;
    let server = lab.server(Config::default())?;
    let address = lab::address(&server);
    let connections = Connections::new(count as u64, 1);
    let limit = duration * 2 + Duration::from_secs(1);
    let plan = lab.plan(&[address].into(), process.arrivals(rate), connections, limit);
    let plan = plan.edit(|plan| plan.watch = Watch::asked_for())?;
    let mut watch = Watch::new(count);
    let wanted = Wanted { port: address.port(), kind: Kind::Syn, most: 2 * count };
    let capture = lab.capture(wanted);
    lab.run(&plan, &mut watch)?;
    let packets = capture.map(super::capture::Capture::finish);
    lab::stopped(server)?;
    let measured_from = watch.run_start().map(|start| start + WARM_UP);
    Ok(ScheduleRow::of(process, rate, count, &watch.into_calls(), measured_from, packets.as_deref()))
}

impl ScheduleRow {
    /// From the calls of `count` arrivals, without those due before `measured_from`, and from the SYNs
    /// that were captured meanwhile.
    fn of(
        process: Process,
        rate: f64,
        count: usize,
        calls: &[WatchedCall],
        measured_from: Option<Instant>,
        syns: Option<&[Packet]>,
    ) -> Self {
        let warm = calls.iter().take_while(|call| measured_from.is_none_or(|from| call.due < from)).count();
        let measured = &calls[warm..];
        let late = |call: &WatchedCall, at: Instant| difference_us(at.as_nanos(), call.due.as_nanos());
        let starts: Vec<(u64, u64)> = measured
            .iter()
            .filter_map(|call| Some((call.due.as_nanos(), call.started?.as_nanos())))
            .collect();
        let intervals = || {
            starts
                .windows(2)
                .map(|pair| (difference_us(pair[1].0, pair[0].0), difference_us(pair[1].1, pair[0].1)))
        };
        let is_poisson = process == Process::Poisson;
        let mean_us = 1e6 / rate;
        let syns_seen = syns.map(<[Packet]>::len);
        let agrees = syns_seen == Some(count) && calls.len() == count;
        Self {
            arrivals: process,
            rate,
            offered: count - warm,
            failed: count - warm - measured.iter().filter(|call| call.is_good).count(),
            start: Spread::of(measured.iter().filter_map(|call| Some(late(call, call.started?)))),
            request: Spread::of(measured.iter().filter_map(|call| Some(late(call, call.sent?)))),
            syn: syns.filter(|_| agrees).and_then(|syns| {
                Spread::of(measured.iter().zip(&syns[warm..]).map(|(call, syn)| late(call, syn.at)))
            }),
            syns_seen: syns_seen.filter(|_| !agrees),
            interval: Spread::of(intervals().map(|(planned, actual)| actual - planned))
                .filter(|_| !is_poisson),
            achieved: KolmogorovSmirnov::of_exponential(intervals().map(|(_, actual)| actual), mean_us)
                .filter(|_| is_poisson),
            planned: KolmogorovSmirnov::of_exponential(intervals().map(|(planned, _)| planned), mean_us)
                .filter(|_| is_poisson),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(micros: u64) -> Instant {
        Instant::from_nanos(micros * 1_000)
    }

    /// One call each millisecond; the work on number i begins i µs too late, and takes 50 µs to the first byte.
    fn calls(count: usize) -> Vec<WatchedCall> {
        (0..count as u64)
            .map(|index| {
                let (due, started) = (1_000_000 + index * 1_000, 1_000_000 + index * 1_001);
                WatchedCall {
                    index: index as usize,
                    due: at(due),
                    started: (index > 0).then(|| at(started)),
                    sent: Some(at(started + 50)),
                    done: at(started + 200),
                    between_kernels: None,
                    is_good: index != 3,
                }
            })
            .collect()
    }

    fn syns(count: usize) -> Vec<Packet> {
        let syn = |index: u64| Packet {
            at: at(1_000_010 + index * 1_001),
            is_from_client: true,
            client_port: 1,
            payload: Vec::new(),
        };
        (0..count as u64).map(syn).collect()
    }

    #[test]
    fn lateness_is_measured_from_inside_and_from_outside() {
        let row = ScheduleRow::of(
            Process::Deterministic,
            1000.0,
            5,
            &calls(5),
            Some(at(1_001_000)),
            Some(&syns(5)),
        );
        assert_eq!((row.offered, row.failed, row.syns_seen), (4, 1, None));
        let figures =
            |spread: Option<Spread>| spread.map(|spread| (spread.count, spread.p50_us, spread.max_us));
        assert_eq!(figures(row.start), Some((4, 2.0, 4.0)));
        assert_eq!(figures(row.request), Some((4, 52.0, 54.0)));
        assert_eq!(figures(row.syn), Some((4, 12.0, 14.0)));
        assert_eq!(figures(row.interval), Some((3, 1.0, 1.0)));
        assert_eq!((row.achieved, row.planned), (None, None));
    }

    #[test]
    fn packets_that_cannot_be_assigned_are_counted_and_not_used() {
        let row = ScheduleRow::of(Process::Deterministic, 1000.0, 5, &calls(5), Some(at(0)), Some(&syns(4)));
        assert_eq!((row.syn, row.syns_seen), (None, Some(4)));
        let row = ScheduleRow::of(Process::Deterministic, 1000.0, 5, &calls(5), Some(at(0)), None);
        assert_eq!((row.syn, row.syns_seen), (None, None));
        let row = ScheduleRow::of(Process::Deterministic, 1000.0, 6, &calls(5), Some(at(0)), Some(&syns(6)));
        assert_eq!((row.syn, row.syns_seen, row.failed), (None, Some(6), 2), "a call never ended");
    }

    #[test]
    fn even_arrivals_are_no_poisson_process() {
        let row = ScheduleRow::of(Process::Poisson, 1000.0, 200, &calls(200), Some(at(0)), None);
        let (achieved, planned) = (row.achieved.unwrap(), row.planned.unwrap());
        assert_eq!((achieved.count, planned.count), (198, 198));
        assert!(achieved.d > 0.6 && achieved.p_value < 1e-6 && planned.d > 0.6);
        assert_eq!(row.interval, None);
    }

    #[test]
    fn a_run_in_which_nothing_ended_has_no_figures() {
        let row = ScheduleRow::of(Process::Poisson, 1000.0, 10, &[], None, Some(&[]));
        assert_eq!((row.offered, row.failed, row.start), (10, 10, None));
        assert_eq!((row.request, row.syn, row.syns_seen), (None, None, Some(0)));
        assert_eq!((row.achieved, row.interval), (None, None));
    }
}
