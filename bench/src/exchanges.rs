//! Requests and replies observed from outside the client, and their timing.

use std::collections::HashMap;

use crate::lag::{lags_behind_us, lags_us};
use crate::output::quantile;

/// A request, and the time of the last part of its reply, if it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// Connection of the exchange.
    pub(crate) connection: u64,
    pub(crate) request_ns: u64,
    pub(crate) replied_ns: Option<u64>,
}

impl Exchange {
    /// Time from the request to the last part of its reply; 0 if the wall clock was set back in between.
    pub(crate) fn service_us(&self) -> Option<f64> {
        Some(self.replied_ns?.saturating_sub(self.request_ns) as f64 / 1e3)
    }
}

/// Assignment of scheduled calls to connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// One schedule for all connections: any free one takes the next call.
    Common,
    /// One schedule per connection, with its share of the rate.
    PerConnection,
    /// Bursts of as many calls as there are connections, on any connections.
    Bursts,
}

/// Timing of exchanges relative to their schedule.
#[derive(Debug, Default)]
pub(crate) struct Scheduled {
    /// Time from the due instant of each request to its passing.
    pub(crate) lags_us: Vec<f64>,
    /// Time from the due instant of each request to the last part of its reply.
    pub(crate) latencies_us: Vec<f64>,
}

impl Scheduled {
    /// Compares exchanges, in order of their requests, with their schedule.
    pub(crate) fn of(exchanges: &[Exchange], schedule: Schedule, rate: f64, connections: u32) -> Self {
        let share = rate / f64::from(connections);
        let mut scheduled = Scheduled::default();
        match schedule {
            Schedule::Common => scheduled.extend(exchanges, |times| lags_us(times, rate)),
            Schedule::PerConnection => {
                let mut groups: HashMap<u64, Vec<Exchange>> = HashMap::new();
                for exchange in exchanges {
                    groups.entry(exchange.connection).or_default().push(*exchange);
                }
                for group in groups.values() {
                    scheduled.extend(group, |times| lags_us(times, share));
                }
            }
            Schedule::Bursts => {
                let due_ns = |index: usize| (index / connections as usize) as f64 * 1e9 / share;
                scheduled.extend(exchanges, |times| lags_behind_us(times, due_ns));
            }
        }
        scheduled
    }

    fn extend(&mut self, exchanges: &[Exchange], lags_us: impl FnOnce(&[u64]) -> Vec<f64>) {
        let times: Vec<u64> = exchanges.iter().map(|exchange| exchange.request_ns).collect();
        for (exchange, lag) in exchanges.iter().zip(lags_us(&times)) {
            self.lags_us.push(lag);
            self.latencies_us.extend(exchange.service_us().map(|service| lag + service));
        }
    }
}

/// Requests per second, from the first to the last of at least two.
pub(crate) fn rate(exchanges: &[Exchange]) -> f64 {
    let span_ns = exchanges[exchanges.len() - 1].request_ns - exchanges[0].request_ns;
    (exchanges.len() - 1) as f64 * 1e9 / span_ns as f64
}

/// Percentiles of a time in microseconds, as far as known.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Percentiles {
    pub(crate) p50_us: Option<f64>,
    pub(crate) p90_us: Option<f64>,
    pub(crate) p99_us: Option<f64>,
    pub(crate) max_us: Option<f64>,
}

impl Percentiles {
    /// Percentiles of these times; empty if there are none.
    pub(crate) fn of(mut times_us: Vec<f64>) -> Self {
        if times_us.is_empty() {
            return Percentiles::default();
        }
        times_us.sort_by(f64::total_cmp);
        let at = |share| Some(quantile(&times_us, share));
        Percentiles { p50_us: at(0.5), p90_us: at(0.9), p99_us: at(0.99), max_us: at(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request with a reply 50 us later.
    fn exchange(connection: u64, request_us: u64) -> Exchange {
        Exchange { connection, request_ns: request_us * 1_000, replied_ns: Some(request_us * 1_000 + 50_000) }
    }

    #[test]
    fn latency_counts_from_the_schedule() {
        let exchanges = [exchange(1, 0), exchange(1, 1_300), exchange(1, 2_000)];
        let scheduled = Scheduled::of(&exchanges, Schedule::Common, 1_000.0, 1);
        assert_eq!(scheduled.lags_us, [0.0, 300.0, 0.0]);
        assert_eq!(scheduled.latencies_us, [50.0, 350.0, 50.0]);
    }

    #[test]
    fn a_request_without_a_reply_has_a_lag_but_no_latency() {
        let lost = Exchange { replied_ns: None, ..exchange(1, 1_300) };
        let exchanges = [exchange(1, 0), lost, exchange(1, 2_000)];
        let scheduled = Scheduled::of(&exchanges, Schedule::Common, 1_000.0, 1);
        assert_eq!(scheduled.lags_us, [0.0, 300.0, 0.0]);
        assert_eq!(scheduled.latencies_us, [50.0, 50.0]);
    }

    #[test]
    fn requests_delayed_by_a_stall_count_from_when_they_were_due() {
        // Ten requests, due 1 ms apart. From the fifth on they pass together, at 9 ms.
        let exchanges: Vec<Exchange> =
            (0..10).map(|index| exchange(1, if index < 4 { index * 1_000 } else { 9_000 })).collect();
        let latency = Percentiles::of(Scheduled::of(&exchanges, Schedule::Common, 1_000.0, 1).latencies_us);
        assert_eq!((latency.p50_us, latency.p90_us), (Some(50.0), Some(4_050.0)));
        assert_eq!(latency.max_us, Some(5_050.0));
    }

    #[test]
    fn connections_with_their_own_schedules_may_start_together() {
        let together = [exchange(1, 0), exchange(2, 1), exchange(1, 1_000), exchange(2, 1_001)];
        let lag_max = |schedule| {
            Percentiles::of(Scheduled::of(&together, schedule, 2_000.0, 2).lags_us).max_us.unwrap()
        };
        assert_eq!(lag_max(Schedule::PerConnection), 0.0);
        assert!(lag_max(Schedule::Common) > 400.0);
    }

    #[test]
    fn a_burst_is_due_at_once_on_any_connections() {
        let exchanges = [exchange(1, 0), exchange(2, 20), exchange(2, 1_000), exchange(2, 1_300)];
        let scheduled = Scheduled::of(&exchanges, Schedule::Bursts, 2_000.0, 2);
        assert_eq!(scheduled.lags_us, [0.0, 20.0, 0.0, 300.0]);
    }

    #[test]
    fn the_rate_counts_intervals() {
        assert_eq!(rate(&[exchange(1, 0), exchange(1, 500), exchange(1, 1_000)]), 2_000.0);
    }

    #[test]
    fn percentiles_are_of_times_in_any_order() {
        let percentiles = Percentiles::of((1..=100).rev().map(f64::from).collect());
        assert_eq!(percentiles.p50_us, Some(50.0));
        assert_eq!(percentiles.p90_us, Some(90.0));
        assert_eq!(percentiles.p99_us, Some(99.0));
        assert_eq!(percentiles.max_us, Some(100.0));
        assert_eq!(Percentiles::of(Vec::new()), Percentiles::default());
    }
}
