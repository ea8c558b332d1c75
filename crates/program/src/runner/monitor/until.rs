//! `--until`: ends a run as soon as it has measured exactly enough.

use httperf_engine::StopRequest;
use httperf_plan::Precision;
use httperf_stats::{BatchedEstimate, Classes, Interval, Merge as _, Phase, Series};

use super::{Consumer, WatchOutcome};

/// The most batches that are kept: more become half as many of twice the length.
const BATCHES_MAX: usize = 1024;

/// Asks for the end of the run when a quantile of the latency is known exactly enough.
pub(super) struct Until {
    precision: Precision,
    stop: StopRequest,
    /// Latencies of the measured phase, second by second, or by longer times.
    batches: Vec<Classes>,
    /// The seconds in a batch, and in the last one so far.
    width: u32,
    last: u32,
    is_exact: bool,
}

impl Until {
    pub(super) fn new(precision: Precision, stop: StopRequest) -> Self {
        Self { precision, stop, batches: Vec::new(), width: 1, last: 1, is_exact: false }
    }

    fn add(&mut self, latencies: &Classes) {
        match self.batches.last_mut() {
            Some(batch) if self.last < self.width => {
                batch.merge(latencies);
                self.last += 1;
            }
            _ => {
                self.batches.push(latencies.clone());
                self.last = 1;
            }
        }
        if self.batches.len() == BATCHES_MAX && self.last == self.width {
            let halves = std::mem::take(&mut self.batches);
            self.batches = halves
                .chunks(2)
                .map(|pair| {
                    let mut whole = pair[0].clone();
                    pair[1..].iter().for_each(|half| whole.merge(half));
                    whole
                })
                .collect();
            self.width *= 2;
            self.last = self.width;
        }
    }

    fn is_precise(&self) -> bool {
        let batches: Vec<&Classes> = self.batches.iter().collect();
        let Some(batched) = BatchedEstimate::of_quantile(&batches, self.precision.quantile.get()) else {
            return false;
        };
        let value = batched.estimate.value();
        batched.estimate.interval().is_some_and(|interval| {
            let reach = (value - interval.low).max(interval.high - value);
            reach <= value * self.precision.share.get()
        })
    }
}

impl Consumer for Until {
    fn interval(&mut self, interval: &Interval) {
        if interval.phase != Phase::Measured || self.is_exact {
            return;
        }
        self.add(&interval.latency);
        if self.is_precise() {
            self.is_exact = true;
            self.stop.ask();
        }
    }

    fn finish(&mut self, _: Option<&Series>, outcome: &mut WatchOutcome) {
        outcome.is_exact = self.is_exact;
    }
}

#[cfg(test)]
mod tests {
    use httperf_plan::Fraction;

    use super::*;

    fn second(phase: Phase, us: u32) -> Interval {
        let latency = Classes::from_ascending((0..100).map(|step| (u64::from(us + step), 1)));
        Interval { phase, latency, ..Interval::default() }
    }

    fn until(share: f64) -> Until {
        let [quantile, share] = [0.5, share].map(|share| Fraction::try_from(share).unwrap());
        Until::new(Precision { quantile, share }, StopRequest::new().unwrap())
    }

    #[test]
    fn a_run_ends_when_enough_is_known_and_not_before() {
        let mut until = until(0.05);
        (0..50).for_each(|_| until.interval(&second(Phase::WarmUp, 1000)));
        assert!(!until.stop.is_asked(), "the warm-up says nothing");
        (0..9).for_each(|_| until.interval(&second(Phase::Measured, 1000)));
        assert!(!until.stop.is_asked(), "nine seconds are too few to tell");
        until.interval(&second(Phase::Measured, 1000));
        assert!(until.stop.is_asked());
        let mut outcome = WatchOutcome::default();
        until.finish(None, &mut outcome);
        assert!(outcome.is_exact);
    }

    #[test]
    fn latencies_that_change_a_lot_take_longer() {
        let mut until = until(0.05);
        for number in 0..40 {
            until.interval(&second(Phase::Measured, if number / 5 % 2 == 0 { 1000 } else { 9000 }));
        }
        assert!(!until.stop.is_asked());
    }

    #[test]
    fn a_long_run_takes_no_more_memory() {
        let mut until = until(1e-9);
        (0..5000).for_each(|number| until.add(&second(Phase::Measured, 1000 + number % 7 * 500).latency));
        assert!(until.batches.len() < BATCHES_MAX, "{}", until.batches.len());
        assert_eq!(until.batches.iter().map(Classes::total).sum::<u64>(), 500_000);
    }
}
