//! Autocorrelation of batches, and a suitable length of blocks for the bootstrap.

/// Autocorrelation of the batches of two runs, for one figure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Likeness {
    /// Suitable length of blocks, in batches; at least 1.
    length: f64,
    /// Raw correlation of adjacent batches in both runs: 0 or more.
    neighbours: f64,
}

/// Cap on the correlation; beyond it, the variance of a series cannot be estimated.
const CORRELATION_MAX: f64 = 0.9;

impl Likeness {
    /// Estimates it from the influence of each batch on the figure; the influences of a run sum to 0.
    pub(super) fn of(base: &[f64], new: &[f64]) -> Self {
        let both = Both { base, new };
        Self { length: both.block_length(), neighbours: both.correlation(1).max(0.0) }
    }

    /// Length of blocks for a run of this many batches.
    pub(super) fn block(&self, batches: usize) -> usize {
        (self.length.round() as usize).clamp(1, batches.div_ceil(3))
    }

    /// Variance of a mean over this many batches of a first-order autoregression, divided by that of
    /// independent batches.
    pub(super) fn inflation(&self, batches: usize) -> f64 {
        let r = self.correlation(batches);
        (1.0 + r) / (1.0 - r)
    }

    /// Part of that inflation that blocks of this length preserve, on average.
    pub(super) fn inflation_of_blocks(&self, batches: usize, length: usize) -> f64 {
        let r = self.correlation(batches);
        let pairs = (1..length).map(|lag| (1.0 - lag as f64 / length as f64) * r.powf(lag as f64));
        1.0 + 2.0 * pairs.sum::<f64>()
    }

    /// Correlation of adjacent batches, corrected for its bias in a series of this length.
    fn correlation(&self, batches: usize) -> f64 {
        (self.neighbours + (1.0 + 3.0 * self.neighbours) / batches as f64).min(CORRELATION_MAX)
    }
}

struct Both<'a> {
    base: &'a [f64],
    new: &'a [f64],
}

impl Both<'_> {
    /// Number of batches of the shorter run.
    fn batches(&self) -> usize {
        self.base.len().min(self.new.len())
    }

    /// Correlation at this lag, averaged over both runs.
    fn correlation(&self, lag: usize) -> f64 {
        f64::midpoint(correlation(self.base, lag), correlation(self.new, lag))
    }

    /// Length of blocks by Politis and White's rule for the circular bootstrap. Names follow their paper.
    fn block_length(&self) -> f64 {
        let batches = self.batches();
        let n = batches as f64;
        // This many consecutive correlations must be insignificant. Each is an average over two runs.
        let in_a_row = 5.max(n.log10().sqrt().ceil() as usize);
        let lag_max = (n.sqrt().ceil() as usize + in_a_row).min(batches.saturating_sub(1));
        let nothing = 2.0 * (n.log10() / (2.0 * n)).sqrt();
        let r: Vec<f64> = (0..=lag_max).map(|lag| self.correlation(lag)).collect();
        let are_nothing = |after: &usize| {
            r[after + 1..(after + in_a_row).min(lag_max) + 1].iter().all(|r| r.abs() < nothing)
        };
        let last = (0..lag_max).find(are_nothing);
        let last =
            last.or_else(|| (1..=lag_max).rev().find(|&lag| r[lag].abs() >= nothing)).unwrap_or(1).max(1);
        let window = (2 * last).min(lag_max);
        let (mut g, mut spectrum) = (0.0, 1.0);
        for (lag, r) in r.iter().enumerate().take(window + 1).skip(1) {
            let weight = flat_top(lag as f64 / window as f64);
            g += 2.0 * weight * lag as f64 * r;
            spectrum += 2.0 * weight * r;
        }
        let d = 4.0 / 3.0 * spectrum.powi(2);
        if d > 0.0 { (2.0 * g.powi(2) / d * n).cbrt().max(1.0) } else { 1.0 }
    }
}

fn flat_top(share: f64) -> f64 {
    (2.0 * (1.0 - share)).clamp(0.0, 1.0)
}

/// Returns 0 if all values are 0.
fn correlation(influence: &[f64], lag: usize) -> f64 {
    let products = |lag: usize| influence.iter().zip(&influence[lag..]).map(|(a, b)| a * b).sum::<f64>();
    let squares = products(0);
    if squares > 0.0 { products(lag) / squares } else { 0.0 }
}
