//! Delays of the reference server: a sequence that depends only on its name, never on time.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use anyhow::bail;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;
use rand_pcg::Pcg64Mcg;

/// Delays of a server's replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delays {
    LogNormal,
    TwoModes,
    /// Constant, except for one stall of the server, which [`super::server`] implements.
    Stall,
    Jitter,
}

const SEED: u64 = 1;
const LOG_NORMAL_MEDIAN: Duration = Duration::from_millis(5);
const LOG_NORMAL_SIGMA: f64 = 1.0;
const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_millis(50);
/// Chosen so that neither the 90th nor the 99th percentile is at the edge of a mode.
const LONG_SHARE: f64 = 0.05;

impl Delays {
    pub(crate) const ALL: [Delays; 4] = [Delays::LogNormal, Delays::TwoModes, Delays::Stall, Delays::Jitter];

    fn name(self) -> &'static str {
        match self {
            Delays::LogNormal => "log-normal",
            Delays::TwoModes => "two-modes",
            Delays::Stall => "stall",
            Delays::Jitter => "jitter",
        }
    }

    /// Description for a title.
    pub(crate) fn description(self) -> &'static str {
        match self {
            Delays::LogNormal => "log-normal delays, median 5 ms, sigma 1",
            Delays::TwoModes => "delays of 1 ms, one in twenty of 50 ms",
            Delays::Stall => "delays of 1 ms, and the server stands still once",
            Delays::Jitter => "delays of 1 to 2 ms, uniform",
        }
    }

    /// Creates the sequence, which is always the same.
    pub(crate) fn sequence(self) -> Sequence {
        Sequence { delays: self, random: Pcg64Mcg::seed_from_u64(SEED) }
    }
}

impl fmt::Display for Delays {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Delays {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        match Self::ALL.into_iter().find(|delays| delays.name() == text) {
            Some(delays) => Ok(delays),
            None => bail!("expected log-normal, two-modes, stall or jitter, got `{text}`"),
        }
    }
}

/// Delays of requests, in the order in which they are read.
#[derive(Debug)]
pub(crate) struct Sequence {
    delays: Delays,
    random: Pcg64Mcg,
}

impl Sequence {
    pub(crate) fn draw(&mut self) -> Duration {
        match self.delays {
            Delays::LogNormal => {
                let normal: f64 = self.random.sample(StandardNormal);
                LOG_NORMAL_MEDIAN.mul_f64((LOG_NORMAL_SIGMA * normal).exp())
            }
            Delays::TwoModes if self.random.random_bool(LONG_SHARE) => LONG,
            Delays::TwoModes | Delays::Stall => SHORT,
            Delays::Jitter => SHORT + SHORT.mul_f64(self.random.random()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchanges::Percentiles;

    fn drawn(delays: Delays, count: usize) -> Vec<f64> {
        let mut sequence = delays.sequence();
        (0..count).map(|_| sequence.draw().as_secs_f64() * 1e6).collect()
    }

    #[test]
    fn a_sequence_is_the_same_each_time() {
        for delays in Delays::ALL {
            assert_eq!(drawn(delays, 100), drawn(delays, 100), "{delays}");
        }
    }

    #[test]
    fn delays_are_distributed_as_their_names_say() {
        let percentiles = |delays| Percentiles::of(drawn(delays, 100_000));
        let is_about = |value: Option<f64>, expected: f64| {
            let value = value.unwrap();
            assert!((value / expected - 1.0).abs() < 0.03, "{value} us, expected about {expected}");
        };
        let log_normal = percentiles(Delays::LogNormal);
        is_about(log_normal.p50_us, 5_000.0);
        is_about(log_normal.p90_us, 18_010.0);
        is_about(log_normal.p99_us, 51_200.0);
        let jitter = percentiles(Delays::Jitter);
        is_about(jitter.p50_us, 1_500.0);
        is_about(jitter.max_us, 2_000.0);
        assert_eq!(percentiles(Delays::Stall).max_us, Some(1_000.0));
        let long = drawn(Delays::TwoModes, 100_000).into_iter().filter(|&delay| delay == 50_000.0).count();
        is_about(Some(long as f64), 5_000.0);
    }

    #[test]
    fn delays_have_names() {
        for delays in Delays::ALL {
            assert_eq!(delays.to_string().parse::<Delays>().unwrap(), delays);
        }
        assert!("fast".parse::<Delays>().is_err());
    }
}
