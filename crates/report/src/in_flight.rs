//! Replies in flight: measured, and by Little's law.
//!
//! In a steady state, the mean number of replies that are due is their rate times the mean time for which each is due
//! (J. D. C. Little, "A Proof for the Queuing Formula: L = λW", 1961). The number is counted as requests and replies come and
//! go, rate and times are those of the report: where both differ, one of them is wrong.

use httperf_stats::{CallOutcome, DurationMoments, InFlight, Summary};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::number::{count, fixed, grouped, percent, ratio};

/// Largest share of the replies' time that may be due to those that are due at the beginning or the end of the measured
/// phase, if both numbers are to agree.
const EDGES_MAX: f64 = 0.02;

/// Least number of replies for which they are to agree.
const REPLIES_MIN: u64 = 100;

/// Mean number of replies that were due at a time in the measured phase: the first byte of their request was sent, and the
/// reply was not complete.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InFlightFigures {
    /// Mean number of replies that were due at a time, counted as requests were sent and replies came.
    pub measured: f64,
    /// Mean number of replies that were due at a time by Little's law: complete replies per second times their mean service
    /// time. `None` without replies, or if some are streams or WebSockets without an end of their own.
    pub by_law: Option<f64>,
    /// Difference of the measured number from that by Little's law, as a share of the latter. `None` if they need not agree: if there
    /// are calls without a reply, or the run was too short for its calls.
    pub disagreement: Option<f64>,
}

impl InFlightFigures {
    /// Figures of a run; `None` if it did not count replies in flight.
    #[must_use]
    pub(crate) fn of(summary: &Summary) -> Option<Self> {
        let in_flight = summary.in_flight?;
        let seconds = summary.duration.as_secs_f64();
        let measured = ratio(in_flight.time_us as f64 / 1e6, seconds);
        let service = service(summary);
        let by_law = service.map(|service| summary.throughput().replies * service);
        let disagreement = by_law.zip(service).and_then(|(by_law, service)| {
            must_agree(summary, &in_flight, service).then(|| ratio(measured - by_law, by_law))
        });
        Some(Self { measured, by_law, disagreement })
    }

    /// The measured number, for people.
    #[must_use]
    pub fn shown(&self) -> String {
        number(self.measured)
    }

    /// All three figures in a line.
    pub(crate) fn told(&self) -> String {
        let measured = number(self.measured);
        match (self.by_law.map(number), self.disagreement) {
            (None, _) => format!("{measured} replies at a time, on average"),
            (Some(by_law), None) => {
                format!("{measured} replies at a time, on average; rate times service time is {by_law}")
            }
            (Some(by_law), Some(disagreement)) => format!(
                "{measured} replies at a time, on average; rate times service time is {by_law} ({} apart)",
                percent(disagreement.abs())
            ),
        }
    }
}

/// A mean number, with fewer decimals the larger it is.
pub(crate) fn number(mean: f64) -> String {
    match mean {
        mean if mean >= 1000.0 => count(mean.round() as u64),
        mean if mean >= 10.0 => grouped(mean, 1),
        mean => fixed(mean, 3),
    }
}

/// Mean service time of calls with a reply, in seconds; `None` if there are none, or if a reply may be one that never ends.
fn service(summary: &Summary) -> Option<f64> {
    let may_be_endless = summary.websockets.is_some()
        || summary.streams.as_ref().is_some_and(|streams| streams.started > 0 && streams.model.is_none());
    let replied = [CallOutcome::Success, CallOutcome::HttpError, CallOutcome::Unexpected];
    let moments = replied.map(|outcome| summary.calls_with(outcome).service.moments);
    let calls: u64 = moments.iter().map(DurationMoments::count).sum();
    let sum: f64 = moments.iter().map(DurationMoments::sum).sum();
    (calls > 0 && !may_be_endless).then(|| sum / calls as f64)
}

/// Returns whether both numbers must be the same but for what is due to the edges of the measured phase.
fn must_agree(summary: &Summary, in_flight: &InFlight, service: f64) -> bool {
    let without_reply =
        summary.calls_with(CallOutcome::Failure).latency.moments.count() + summary.errors.total();
    let http2 = summary.http2.as_ref();
    let is_made_again = summary.retries_exhausted > 0 || http2.is_some_and(|http2| http2.retried > 0);
    let is_held_up = http2.is_some_and(|http2| !http2.window_waits.is_empty());
    let edges = (in_flight.at_begin + in_flight.at_end) as f64 * service;
    summary.in_window().replies >= REPLIES_MIN
        && without_reply == 0
        && !is_made_again
        && !is_held_up
        && edges <= EDGES_MAX * in_flight.time_us as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use httperf_stats::Window;

    use super::*;

    /// 1,000 replies in 10 s, each after 20 ms.
    fn run(time: Duration) -> Summary {
        let mut summary = Summary {
            duration: Duration::from_secs(10),
            window: Some(Window { replies: 1000, ..Window::default() }),
            in_flight: Some(InFlight { time_us: time.as_micros() as u64, at_begin: 0, at_end: 2 }),
            ..Summary::default()
        };
        let service = &mut summary.calls[CallOutcome::Success as usize].service;
        (0..1000).for_each(|_| service.add(Duration::from_millis(20)));
        summary
    }

    #[test]
    fn rate_times_time_is_the_number_in_flight() {
        let figures = InFlightFigures::of(&run(Duration::from_secs(20))).unwrap();
        assert_eq!(
            figures.told(),
            "2.000 replies at a time, on average; rate times service time is 2.000 (0.0 % apart)"
        );
        let figures = InFlightFigures::of(&run(Duration::from_secs(25))).unwrap();
        assert_eq!(figures.disagreement.map(|share| fixed(share, 3)), Some("0.250".to_owned()));
    }

    #[test]
    fn numbers_that_need_not_agree_are_not_compared() {
        let disagreement = |change: fn(&mut Summary)| {
            let mut summary = run(Duration::from_secs(25));
            change(&mut summary);
            InFlightFigures::of(&summary).unwrap().disagreement
        };
        assert!(disagreement(|_| {}).is_some());
        for change in [
            (|summary| summary.in_flight.as_mut().unwrap().at_end = 100) as fn(&mut Summary),
            |summary| summary.calls[CallOutcome::Failure as usize].latency.add(Duration::from_secs(1)),
            |summary| summary.window.as_mut().unwrap().replies = 99,
            |summary| summary.retries_exhausted = 1,
            |summary| summary.websockets = Some(Box::default()),
        ] {
            assert_eq!(disagreement(change), None);
        }
        assert!(InFlightFigures::of(&Summary::default()).is_none());
    }
}
