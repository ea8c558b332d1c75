//! Differences between the members of many pairs of runs.

use super::figure::variance_of_share;
use super::{Contrast, Difference, PAIRS_MIN, RESOLUTION, Unknown};
use crate::confidence::Estimate;

/// Average difference of a figure over pairs `(base, new)`. Influences common to both members, such as the
/// state of the machine at the time, cancel out.
///
/// If all figures are above 0, `relative` comes from the geometric mean of their ratios, and so does the
/// p-value. Otherwise it is the mean difference as a share of the base's mean. Shares may be 0, so their
/// differences are tested; `share_of` then gives the number of calls, base and new, in all pairs together.
///
/// # Errors
/// If there are fewer than [`PAIRS_MIN`] pairs.
pub fn paired(pairs: &[(f64, f64)], share_of: Option<[f64; 2]>) -> Result<Difference, Unknown> {
    if pairs.len() < PAIRS_MIN {
        return Err(match pairs.len() {
            0 => Unknown::Nothing,
            pairs => Unknown::Pairs { pairs },
        });
    }
    let is_share = share_of.is_some();
    let mut differences = mean(pairs.iter().map(|(base, new)| new - base), 0.0);
    if let Some(calls) = share_of {
        let count = pairs.len() as f64;
        let shares = [
            pairs.iter().map(|pair| pair.0).sum::<f64>() / count,
            pairs.iter().map(|pair| pair.1).sum::<f64>() / count,
        ];
        let at_least = variance_of_share(shares[0], calls[0]) + variance_of_share(shares[1], calls[1]);
        differences.error = differences.error.max(at_least.sqrt());
    }
    let are_positive = pairs.iter().all(|&(base, new)| base > 0.0 && new > 0.0);
    let ratios = are_positive.then(|| {
        let rounding = if is_share { 0.0 } else { 1.0 / RESOLUTION / 6.0_f64.sqrt() };
        mean(pairs.iter().map(|(base, new)| new.ln() - base.ln()), rounding)
    });
    let base = pairs.iter().map(|(base, _)| base).sum::<f64>() / pairs.len() as f64;
    let relative = match ratios {
        Some(ratios) => ratios.estimate(f64::exp_m1),
        None => (base > 0.0).then(|| differences.estimate(|change| change / base)).flatten(),
    };
    Ok(Difference {
        absolute: differences.estimate(|change| change).unwrap_or(Estimate::new(differences.value, None)),
        relative,
        p_value: ratios.filter(|_| !is_share).unwrap_or(differences).p_value(),
    })
}

/// Mean of values that are each rounded with this standard deviation.
fn mean(values: impl ExactSizeIterator<Item = f64> + Clone, rounding: f64) -> Contrast {
    let count = values.len() as f64;
    let value = values.clone().sum::<f64>() / count;
    let squares: f64 = values.map(|each| (each - value).powi(2)).sum();
    let variance = squares / (count - 1.0) + rounding.powi(2);
    Contrast { value, error: (variance / count).sqrt(), degrees_of_freedom: count - 1.0 }
}
