//! Figures of a run given as batches.

use super::{BATCHES_MIN, BEYOND_MIN, Unknown, class_width};
use crate::Classes;
use crate::merge::Merge;

/// Maximum number of batches; more are joined.
const BATCHES_MAX: usize = 60;

/// Figure to compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// Events per second: [`Batches::counts`] over [`Batches::whole`].
    Rate,
    /// Share of all calls: [`Batches::counts`] over [`Batches::whole`].
    Share,
    /// Mean of [`Batches::latency`].
    Mean,
    /// Quantile of [`Batches::latency`] at this share, above 0 and below 1.
    Quantile(f64),
}

impl Figure {
    /// Returns true if differences are tested as ratios.
    pub(super) fn is_logarithmic(self) -> bool {
        !matches!(self, Self::Share)
    }
}

/// Events of each interval of a run, in order of time. A figure needs only the fields it is computed from;
/// the others may be empty.
#[derive(Clone, Debug, Default)]
pub struct Batches {
    /// Numerators: number of events.
    pub counts: Vec<f64>,
    /// Denominators: number of calls, or seconds.
    pub whole: Vec<f64>,
    /// Latencies.
    pub latency: Vec<Classes>,
}

impl Batches {
    /// Prepares a figure to be computed for any resampling of the batches. Adjacent batches are joined to at
    /// most 60.
    ///
    /// # Errors
    /// The data that is insufficient.
    pub(super) fn prepare(&self, figure: Figure) -> Result<Prepared, Unknown> {
        match figure {
            Figure::Rate | Figure::Share => {
                Ratio { upper: joined(&self.counts), lower: joined(&self.whole) }.prepare(figure)
            }
            Figure::Mean => {
                let sums = self.latency.iter().map(|batch| batch.sum_us() as f64);
                let counts = self.latency.iter().map(|batch| batch.total() as f64);
                let (sums, counts): (Vec<f64>, Vec<f64>) = (sums.collect(), counts.collect());
                Ratio { upper: joined(&sums), lower: joined(&counts) }.prepare(figure)
            }
            Figure::Quantile(share) => Distribution::of(&self.latency, share).prepare(),
        }
    }

    /// Figure of each batch that has data for it; `None` for a share, which may be 0.
    pub(super) fn figures(&self, figure: Figure) -> Option<Vec<f64>> {
        let seconds = |us: f64| us / 1e6;
        Some(match figure {
            Figure::Share => return None,
            Figure::Rate => {
                let batches = self.counts.iter().zip(&self.whole).filter(|(_, whole)| **whole > 0.0);
                batches.map(|(count, whole)| count / whole).collect()
            }
            Figure::Mean => {
                let batches = self.latency.iter().filter(|batch| batch.total() > 0);
                batches.map(|batch| seconds(batch.sum_us() as f64 / batch.total() as f64)).collect()
            }
            Figure::Quantile(share) => {
                let of_batch = |batch: &Classes| Some(batch.supported_quantile(share)?.as_secs_f64());
                self.latency.iter().filter_map(of_batch).collect()
            }
        })
    }
}

/// Number of adjacent batches to join into one.
fn joined_each(batches: usize) -> usize {
    batches.div_ceil(BATCHES_MAX).max(1)
}

fn joined(values: &[f64]) -> Vec<f64> {
    values.chunks(joined_each(values.len())).map(|chunk| chunk.iter().sum()).collect()
}

/// A figure of a run, ready to be computed for any resampling of its batches.
#[derive(Debug)]
pub(super) struct Prepared {
    /// Influence of each batch on the figure, up to a factor. The sum is 0.
    pub(super) influence: Vec<f64>,
    /// Lower bound of the variance of the figure.
    pub(super) variance_at_least: f64,
    of: Of,
}

#[derive(Debug)]
enum Of {
    Ratio(Ratio),
    /// Logarithm of the ratio.
    Logarithm(Ratio),
    Distribution(Distribution),
}

impl Prepared {
    /// Computes the figure, or its logarithm, of a run that contains each batch this many times; `None` if it
    /// is undefined.
    pub(super) fn figure(&self, times: &[f64]) -> Option<f64> {
        let figure = match &self.of {
            Of::Ratio(ratio) => ratio.value(times),
            Of::Logarithm(ratio) => ratio.value(times).ln(),
            Of::Distribution(distribution) => distribution.quantile(times).ln(),
        };
        figure.is_finite().then_some(figure)
    }
}

/// Ratio of two sums.
#[derive(Debug)]
struct Ratio {
    upper: Vec<f64>,
    lower: Vec<f64>,
}

impl Ratio {
    fn prepare(self, figure: Figure) -> Result<Prepared, Unknown> {
        let whole: f64 = self.lower.iter().sum();
        enough_batches(&self.lower)?;
        let value = self.upper.iter().sum::<f64>() / whole;
        let influence =
            self.upper.iter().zip(&self.lower).map(|(upper, lower)| upper - value * lower).collect();
        let variance_at_least = match figure {
            Figure::Share => variance_of_share(value, whole),
            _ => 0.0,
        };
        let of = if figure.is_logarithmic() { Of::Logarithm(self) } else { Of::Ratio(self) };
        Ok(Prepared { influence, variance_at_least, of })
    }

    fn value(&self, times: &[f64]) -> f64 {
        weighted(&self.upper, times) / weighted(&self.lower, times)
    }
}

/// Variance of a share of independent calls, with one success and one failure added: no failures among the
/// calls are no proof that there will be none.
pub(super) fn variance_of_share(share: f64, calls: f64) -> f64 {
    let share = (share * calls + 1.0) / (calls + 2.0);
    share * (1.0 - share) / (calls + 2.0)
}

fn weighted(values: &[f64], times: &[f64]) -> f64 {
    values.iter().zip(times).map(|(value, times)| value * times).sum()
}

/// Checks that there are enough non-empty batches.
fn enough_batches(sizes: &[f64]) -> Result<(), Unknown> {
    match sizes.iter().filter(|&&size| size > 0.0).count() {
        0 => Err(Unknown::Nothing),
        batches if batches < BATCHES_MIN => Err(Unknown::Batches { batches }),
        _ => Ok(()),
    }
}

/// Histogram of latencies by batch, and the share of the quantile.
#[derive(Debug)]
struct Distribution {
    share: f64,
    /// Number of latencies of each batch.
    counts: Vec<f64>,
    classes: Vec<Class>,
    /// Class at which to start the search for the quantile.
    guess: usize,
}

/// A class of latencies.
#[derive(Debug)]
struct Class {
    /// Bounds in microseconds.
    low: f64,
    high: f64,
    /// Number of latencies of each batch that are at most `high`.
    upto: Vec<f64>,
}

impl Distribution {
    fn of(latency: &[Classes], share: f64) -> Self {
        let batches: Vec<Classes> = latency
            .chunks(joined_each(latency.len()))
            .map(|chunk| {
                let mut all = Classes::default();
                chunk.iter().for_each(|batch| all.merge(batch));
                all
            })
            .collect();
        let counts: Vec<f64> = batches.iter().map(|batch| batch.total() as f64).collect();
        let mut latencies: Vec<(u32, usize, u32)> = Vec::new();
        for (index, batch) in batches.iter().enumerate() {
            latencies.extend(batch.iter().map(|(us, count)| (us, index, count)));
        }
        latencies.sort_unstable();
        let mut upto = vec![0.0; batches.len()];
        let classes = latencies.chunk_by(|one, next| one.0 == next.0).map(|class| {
            class.iter().for_each(|&(_, batch, count)| upto[batch] += f64::from(count));
            let (us, width) = (class[0].0, class_width(class[0].0));
            // No time counts as 0, which has no logarithm.
            let high = f64::from(us).max(0.5);
            Class { low: (high - f64::from(width)).max(high / 2.0), high, upto: upto.clone() }
        });
        Self { share, counts, classes: classes.collect(), guess: 0 }
    }

    fn prepare(mut self) -> Result<Prepared, Unknown> {
        enough_batches(&self.counts)?;
        let (share, batches) = (self.share, self.counts.len());
        let calls: f64 = self.counts.iter().sum();
        let place = self.place(&vec![1.0; batches]);
        self.guess = place.index;
        let none = vec![0.0; batches];
        let before = place.index.checked_sub(1).map_or(&none, |index| &self.classes[index].upto);
        let upto = &self.classes[place.index].upto;
        let influence: Vec<f64> = (0..batches)
            .map(|batch| {
                before[batch] + place.part * (upto[batch] - before[batch]) - share * self.counts[batch]
            })
            .collect();
        // Variance of the share below the quantile, divided by that of independent calls.
        let squares: f64 = influence.iter().map(|influence| influence.powi(2)).sum();
        let n = batches as f64;
        let inflation = (squares * n / (n - 1.0) / (calls * share * (1.0 - share))).max(1.0);
        let independent = calls * share.min(1.0 - share) / inflation;
        if independent < BEYOND_MIN {
            return Err(Unknown::Beyond { independent });
        }
        Ok(Prepared { influence, variance_at_least: 0.0, of: Of::Distribution(self) })
    }

    /// Quantile in microseconds of a run that contains each batch this many times, interpolated linearly
    /// within its class.
    fn quantile(&self, times: &[f64]) -> f64 {
        if weighted(&self.counts, times) <= 0.0 {
            return f64::NAN;
        }
        let Place { index, part } = self.place(times);
        let Class { low, high, .. } = &self.classes[index];
        low + part * (high - low)
    }

    /// Position of the quantile.
    fn place(&self, times: &[f64]) -> Place {
        let rank = self.share * weighted(&self.counts, times);
        let upto = |index: usize| weighted(&self.classes[index].upto, times);
        // Most resamplings have their quantile close to that of the run.
        let last = self.classes.len() - 1;
        let (mut from, mut to, mut step) = (0, self.guess, 1);
        if upto(to) < rank {
            while to < last && upto(to) < rank {
                from = to + 1;
                to = (to + step).min(last);
                step *= 2;
            }
        } else {
            while to > 0 {
                let below = to.saturating_sub(step);
                if upto(below) < rank {
                    from = below + 1;
                    break;
                }
                to = below;
                step *= 2;
            }
        }
        while from < to {
            let middle = usize::midpoint(from, to);
            if upto(middle) < rank { from = middle + 1 } else { to = middle }
        }
        let before = from.checked_sub(1).map_or(0.0, upto);
        let within = upto(from) - before;
        Place {
            index: from,
            part: if within > 0.0 { ((rank - before) / within).clamp(0.0, 1.0) } else { 1.0 },
        }
    }
}

/// A class, and the share of its latencies below a quantile.
struct Place {
    index: usize,
    part: f64,
}
