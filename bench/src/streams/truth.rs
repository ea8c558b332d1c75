//! True times of answers, from the server's record.

use super::Times;
use super::server::Stream;
use crate::exchanges::Percentiles;
use crate::lag::lags_us;

/// Times of the answers that the server finished.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Truth {
    pub(super) answers: u64,
    /// From the first request to the last.
    pub(super) seconds: f64,
    pub(super) times: Times,
}

impl Truth {
    /// Takes the answers in the order in which their requests came; the requests were due at this rate.
    pub(super) fn of(streams: &[Stream], rate: f64, tokens: u32) -> Self {
        let requests: Vec<u64> = streams.iter().map(|stream| stream.request_ns).collect();
        let lags = if requests.is_empty() { Vec::new() } else { lags_us(&requests, rate) };
        let (mut ttft, mut due, mut itl, mut tpot) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (stream, lag) in streams.iter().zip(lags) {
            let (Some(&first), Some(&last)) = (stream.tokens_ns.first(), stream.tokens_ns.last()) else {
                continue;
            };
            if stream.tokens_ns.len() != tokens as usize {
                continue;
            }
            let first_us = us_between(stream.request_ns, first);
            ttft.push(first_us);
            due.push(lag + first_us);
            itl.extend(stream.tokens_ns.windows(2).map(|pair| us_between(pair[0], pair[1])));
            if tokens > 1 {
                tpot.push(us_between(first, last) / f64::from(tokens - 1));
            }
        }
        Truth {
            answers: ttft.len() as u64,
            seconds: requests
                .first()
                .zip(requests.last())
                .map_or(0.0, |(&first, &last)| us_between(first, last) / 1e6),
            times: Times {
                ttft: Percentiles::of(ttft),
                due: Percentiles::of(due),
                itl: Percentiles::of(itl),
                tpot: Percentiles::of(tpot),
            },
        }
    }
}

/// 0 if the wall clock was set back in between.
fn us_between(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn true_times_are_those_of_complete_answers() {
        let stream = |request_ns, tokens_ns: &[u64]| Stream { request_ns, tokens_ns: tokens_ns.to_vec() };
        let ms = 1_000_000;
        let streams = [
            stream(0, &[20 * ms, 30 * ms, 44 * ms]),
            // Due 10 ms after the first, and 5 ms late.
            stream(15 * ms, &[35 * ms, 45 * ms, 55 * ms]),
            stream(20 * ms, &[40 * ms]),
            stream(30 * ms, &[]),
        ];
        let truth = Truth::of(&streams, 100.0, 3);
        assert_eq!((truth.answers, truth.seconds), (2, 0.03));
        let times = truth.times;
        assert_eq!((times.ttft.p50_us, times.ttft.max_us), (Some(20_000.0), Some(20_000.0)));
        assert_eq!((times.due.p50_us, times.due.max_us), (Some(20_000.0), Some(25_000.0)));
        assert_eq!((times.itl.p50_us, times.itl.max_us), (Some(10_000.0), Some(14_000.0)));
        assert_eq!((times.tpot.p50_us, times.tpot.max_us), (Some(10_000.0), Some(12_000.0)));
        assert_eq!(Truth::of(&[], 100.0, 3).answers, 0);
    }
}
