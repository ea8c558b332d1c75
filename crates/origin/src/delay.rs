//! The delay of replies: a fixed time or a distribution.

use std::str::FromStr;
use std::time::Duration;

use rand::distr::OpenClosed01;
use rand::{Rng, RngExt as _};
use rand_distr::{Exp1, StandardNormal};

use crate::text::{Malformed, duration, parse_duration};

/// The delay of replies.
///
/// As text: `50ms`, `uniform:10ms,50ms`, `jitter:50ms,10ms` (uniform, from 40 to 60 ms), `exp:20ms` (the mean),
/// `normal:20ms,5ms` (mean and standard deviation, cut off at 0), `lognormal:20ms,0.5` (median, and standard deviation
/// of the logarithm) or `pareto:20ms,1.5` (minimum and shape).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Delay {
    /// A constant.
    Fixed(Duration),
    /// Uniform between two bounds.
    Uniform {
        /// The minimum.
        min: Duration,
        /// The maximum.
        max: Duration,
    },
    /// Exponential: many short delays, few long ones.
    Exponential {
        /// The mean.
        mean: Duration,
    },
    /// Normal, with negative values replaced by 0.
    Normal {
        /// The mean, before the cut.
        mean: Duration,
        /// The standard deviation, before the cut.
        deviation: Duration,
    },
    /// Log-normal: the shape that measured service times often have.
    LogNormal {
        /// The median.
        median: Duration,
        /// The standard deviation of the natural logarithm.
        sigma: f64,
    },
    /// Pareto: a heavy tail.
    Pareto {
        /// The minimum.
        min: Duration,
        /// The shape; the smaller, the heavier the tail (no mean at 1 and below).
        shape: f64,
    },
}

impl Default for Delay {
    fn default() -> Self {
        Self::Fixed(Duration::ZERO)
    }
}

impl Delay {
    /// Draws the delay of the next reply, at most `longest`.
    pub fn draw(&self, random: &mut impl Rng, longest: Duration) -> Duration {
        let seconds = match *self {
            Self::Fixed(delay) => return delay.min(longest),
            Self::Uniform { min, max } => {
                let (min, max) = (min.as_secs_f64(), max.as_secs_f64());
                min + (max - min) * random.random::<f64>()
            }
            Self::Exponential { mean } => mean.as_secs_f64() * random.sample::<f64, _>(Exp1),
            Self::Normal { mean, deviation } => {
                mean.as_secs_f64() + deviation.as_secs_f64() * random.sample::<f64, _>(StandardNormal)
            }
            Self::LogNormal { median, sigma } => {
                median.as_secs_f64() * (sigma * random.sample::<f64, _>(StandardNormal)).exp()
            }
            Self::Pareto { min, shape } => {
                min.as_secs_f64() * random.sample::<f64, _>(OpenClosed01).powf(-1.0 / shape)
            }
        };
        // `max` also turns NaN (0 times infinity) into 0.
        Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or(longest).min(longest)
    }
}

impl FromStr for Delay {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let Some((name, arguments)) = text.split_once(':') else {
            return parse_duration(text).map(Self::Fixed);
        };
        let (first, second) = match arguments.split_once(',') {
            Some((first, second)) => (first, Some(second)),
            None => (arguments, None),
        };
        distribution(name, first, second).ok_or_else(|| {
            let expected = match name {
                "uniform" => "two durations in order, such as uniform:10ms,50ms",
                "jitter" => "a duration and a smaller deviation, such as jitter:50ms,10ms",
                "exp" => "a mean, such as exp:20ms",
                "normal" => "a mean and a deviation, such as normal:20ms,5ms",
                "lognormal" => "a median and a spread, such as lognormal:20ms,0.5",
                "pareto" => "a least duration and a shape above 0, such as pareto:20ms,1.5",
                _ => "a duration such as 50ms, or uniform:, jitter:, exp:, normal:, lognormal: or pareto: with its values",
            };
            Malformed::new(expected, text)
        })
    }
}

fn distribution(name: &str, first: &str, second: Option<&str>) -> Option<Delay> {
    let first = duration(first)?;
    match (name, second) {
        ("exp", None) => Some(Delay::Exponential { mean: first }),
        ("uniform", Some(second)) => {
            let max = duration(second)?;
            (first <= max).then_some(Delay::Uniform { min: first, max })
        }
        ("jitter", Some(second)) => {
            let deviation = duration(second)?;
            let (min, max) = (first.checked_sub(deviation)?, first.checked_add(deviation)?);
            Some(Delay::Uniform { min, max })
        }
        ("normal", Some(second)) => Some(Delay::Normal { mean: first, deviation: duration(second)? }),
        ("lognormal", Some(second)) => {
            let sigma: f64 = second.parse().ok()?;
            (sigma.is_finite() && sigma >= 0.0).then_some(Delay::LogNormal { median: first, sigma })
        }
        ("pareto", Some(second)) => {
            let shape: f64 = second.parse().ok()?;
            (shape.is_finite() && shape > 0.0).then_some(Delay::Pareto { min: first, shape })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    fn draws(text: &str) -> Vec<f64> {
        let delay: Delay = text.parse().unwrap();
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let mut draws: Vec<f64> =
            (0..20_000).map(|_| delay.draw(&mut random, HOUR).as_secs_f64() * 1e3).collect();
        draws.sort_by(f64::total_cmp);
        draws
    }

    #[track_caller]
    fn check_near(what: f64, expected: f64) {
        assert!((what - expected).abs() < expected * 0.03, "{what} is not near {expected}");
    }

    fn mean(draws: &[f64]) -> f64 {
        draws.iter().sum::<f64>() / draws.len() as f64
    }

    fn quantile(draws: &[f64], share: f64) -> f64 {
        draws[(draws.len() as f64 * share) as usize]
    }

    #[test]
    fn a_bare_duration_is_fixed() {
        assert_eq!("50ms".parse(), Ok(Delay::Fixed(Duration::from_millis(50))));
        assert!(draws("7ms").iter().all(|&drawn| drawn == 7.0));
    }

    #[test]
    fn uniform_delays_fill_their_range() {
        let draws = draws("uniform:10ms,50ms");
        check_near(mean(&draws), 30.0);
        check_near(draws[0], 10.0);
        check_near(draws[draws.len() - 1], 50.0);
    }

    #[test]
    fn jitter_is_uniform_around_a_duration() {
        let bounds = Delay::Uniform { min: Duration::from_millis(40), max: Duration::from_millis(60) };
        assert_eq!("jitter:50ms,10ms".parse(), Ok(bounds));
        assert_eq!(
            "jitter:50ms,60ms".parse::<Delay>().unwrap_err().to_string(),
            "expected a duration and a smaller deviation, such as jitter:50ms,10ms, got `jitter:50ms,60ms`"
        );
    }

    #[test]
    fn exponential_delays_have_their_mean_and_median() {
        let draws = draws("exp:20ms");
        check_near(mean(&draws), 20.0);
        check_near(quantile(&draws, 0.5), 20.0 * 2f64.ln());
    }

    #[test]
    fn normal_delays_have_their_quantiles_and_none_is_negative() {
        let spread = draws("normal:20ms,5ms");
        check_near(quantile(&spread, 0.1587), 15.0);
        check_near(quantile(&spread, 0.5), 20.0);
        let cut = draws("normal:1ms,5ms");
        assert_eq!(cut[0], 0.0);
        check_near(quantile(&cut, 0.8413), 6.0);
    }

    #[test]
    fn log_normal_delays_have_their_quantiles() {
        let draws = draws("lognormal:20ms,0.5");
        check_near(quantile(&draws, 0.5), 20.0);
        check_near(quantile(&draws, 0.8413), 20.0 * 0.5f64.exp());
    }

    #[test]
    fn pareto_delays_have_their_quantiles() {
        let draws = draws("pareto:20ms,2");
        check_near(draws[0], 20.0);
        check_near(quantile(&draws, 0.75), 40.0);
    }

    #[test]
    fn no_delay_is_above_the_longest() {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        for text in ["2h", "exp:1000h", "pareto:1ms,0.0001", "lognormal:1s,1e9", "uniform:1h,2h"] {
            let delay: Delay = text.parse().unwrap();
            for _ in 0..100 {
                assert!(delay.draw(&mut random, HOUR) <= HOUR, "{text}");
            }
        }
    }

    #[test]
    fn the_same_seed_draws_the_same_delays() {
        assert_eq!(draws("lognormal:20ms,0.5"), draws("lognormal:20ms,0.5"));
    }

    #[test]
    fn a_malformed_delay_says_what_would_do() {
        let message = |text: &str| text.parse::<Delay>().unwrap_err().to_string();
        assert_eq!(message("x"), "expected a duration such as 50ms, got `x`");
        assert_eq!(message("exp:"), "expected a mean, such as exp:20ms, got `exp:`");
        for text in [
            "uniform:50ms,10ms",
            "uniform:50ms",
            "exp:1ms,2ms",
            "normal:5ms",
            "lognormal:5ms,-1",
            "lognormal:5ms,inf",
            "pareto:5ms,0",
            "weibull:1,2",
        ] {
            assert!(text.parse::<Delay>().is_err(), "{text}");
        }
    }
}
