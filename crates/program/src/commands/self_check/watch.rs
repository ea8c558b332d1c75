//! Notes of each call while a run goes on.

use std::time::Duration;

use httperf_engine::{Observation, Observer};
use httperf_stats::Instant;
use rustix::time::{ClockId, clock_gettime};

/// The verbosity at which a worker tells of each arrival, except the first, as it starts it.
const TELLS_OF_ARRIVALS: u8 = 3;

/// Notes when arrivals were started, and the times of their calls. Each arrival is to make one call.
#[derive(Debug, Default)]
pub(super) struct Watch {
    started: Vec<Instant>,
    calls: Vec<WatchedCall>,
    run_start: Option<Instant>,
}

/// The times of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WatchedCall {
    /// Its number, which is that of its arrival.
    pub(super) index: usize,
    /// The instant at which its arrival was due.
    pub(super) due: Instant,
    /// The instant at which the work on its arrival began. Not known of the first.
    pub(super) started: Option<Instant>,
    /// The instant at which the first byte of its request was written.
    pub(super) sent: Option<Instant>,
    /// The instant at which it ended.
    pub(super) done: Instant,
    /// From the kernel's sending its request to its receipt of the reply, if that was asked for and is known.
    pub(super) between_kernels: Option<Duration>,
    /// True if that was with a reply of status 200.
    pub(super) is_good: bool,
}

impl Watch {
    /// Returns the observations that a plan must make: those of all calls.
    pub(super) fn asked_for() -> httperf_plan::Watch {
        httperf_plan::Watch { calls: true, verbose: TELLS_OF_ARRIVALS, ..httperf_plan::Watch::default() }
    }

    /// One for this many calls.
    pub(super) fn new(count: usize) -> Self {
        Self { started: Vec::with_capacity(count), calls: Vec::with_capacity(count), run_start: None }
    }

    /// The start of the run, if any call ended.
    pub(super) fn run_start(&self) -> Option<Instant> {
        self.run_start
    }

    /// The calls that have ended, in order of arrival.
    pub(super) fn into_calls(self) -> Vec<WatchedCall> {
        let Self { started, mut calls, run_start: _ } = self;
        calls.sort_by_key(|call| call.index);
        for call in &mut calls {
            call.started = call.index.checked_sub(1).and_then(|before| started.get(before)).copied();
        }
        calls
    }
}

impl Observer for Watch {
    fn observe(&mut self, what: Observation<'_>) {
        match what {
            Observation::ArrivalDelay { .. } => self.started.push(now()),
            Observation::Call { sample, start } => {
                self.run_start = Some(start);
                self.calls.push(WatchedCall {
                    index: sample.call as usize,
                    due: sample.intended,
                    started: None,
                    sent: sample.sent,
                    done: sample.done,
                    between_kernels: sample.kernel.and_then(|kernel| kernel.service),
                    is_good: sample.status == Some(200),
                });
            }
            _ => {}
        }
    }
}

/// Now, by the clock of runs.
pub(super) fn now() -> Instant {
    let now = clock_gettime(ClockId::Monotonic);
    Instant::from_nanos(now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use httperf_stats::Sample;

    use super::*;

    #[test]
    fn calls_come_in_order_of_arrival_with_the_start_of_each_but_the_first() {
        let mut watch = Watch::default();
        let at = Instant::from_nanos;
        let before = now();
        for _ in 1..3 {
            watch.observe(Observation::ArrivalDelay { delay: 0.1 });
        }
        for (call, status) in [(2, Some(200)), (0, Some(503)), (1, None)] {
            let sample = Sample {
                call,
                uri: b"/",
                status,
                intended: at(10 * call),
                sent: status.map(|_| at(10 * call + 1)),
                stalled: Duration::ZERO,
                first_byte: None,
                done: at(10 * call + 2),
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
            };
            watch.observe(Observation::Call { sample: &sample, start: at(5) });
        }
        assert_eq!(watch.run_start(), Some(at(5)));
        let calls = watch.into_calls();
        assert_eq!(calls.iter().map(|call| call.index).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(calls[0].started, None);
        let (second, third) = (calls[1].started.unwrap(), calls[2].started.unwrap());
        assert!(before <= second && second <= third && third - before < Duration::from_secs(60));
        assert_eq!(calls.iter().map(|call| call.is_good).collect::<Vec<_>>(), [false, false, true]);
    }
}
