//! Meaning of the figures, in words.

use httperf_stats::Estimate;

use super::{Measured, Results};
use crate::number::{fixed, signed};

/// Time above which differences are given in ms, below in µs.
const LONG_SECONDS: f64 = 0.01;

/// A sentence for each measured variant except the first: the cost of its median handshake in time and bytes.
/// The first resumed row is compared with the first row, later resumed ones with the first resumed row; full
/// ones with the first row.
///
/// A difference in time is called not significant if the 95 % confidence interval of the ratio includes 1.
#[must_use]
pub fn verdict(results: &Results) -> Vec<String> {
    let Some(references) = References::of(results) else { return Vec::new() };
    let measured = results.variants.iter().filter_map(Measured::of);
    measured.filter_map(|row| sentence(&row, &references.reference_of(&row)?)).collect()
}

/// Rows that others are compared with.
struct References<'a> {
    /// First row.
    base: Measured<'a>,
    /// First resumed row, unless it is the first row.
    resumed: Option<Measured<'a>>,
}

impl<'a> References<'a> {
    fn of(results: &'a Results) -> Option<Self> {
        let base = results.base()?;
        let resumed = results.variants.iter().filter_map(Measured::of).find(Measured::is_resumed);
        Some(Self { base, resumed: resumed.filter(|resumed| !resumed.is(&base)) })
    }

    /// Reference for this row, if any.
    fn reference_of(&self, row: &Measured<'_>) -> Option<Measured<'a>> {
        if row.is(&self.base) {
            return None;
        }
        match self.resumed {
            Some(resumed) if row.is_resumed() && !row.is(&resumed) => Some(resumed),
            Some(_) | None => Some(self.base),
        }
    }
}

fn sentence(row: &Measured<'_>, reference: &Measured<'_>) -> Option<String> {
    let difference = row.p50_difference_from(reference)?.value();
    let ratio = row.p50_ratio_to(reference)?;
    let name = row.variant.label();
    let time = format!("{} ({})", time(difference), percent(&ratio));
    let bytes = signed(row.sent() + row.received() - reference.sent() - reference.received(), 0);
    let bytes = if row.variant.kind == reference.variant.kind {
        format!("{bytes} bytes per {} handshake", row.variant.kind)
    } else {
        format!("{bytes} bytes compared with {} {}", reference.variant.name, reference.variant.kind)
    };
    let is_unsure = ratio.interval().is_some() && !ratio.differs_from(1.0);
    Some(match is_unsure {
        false => format!("{name} costs {time} p50 and {bytes}"),
        true => format!("{name} costs {bytes}; the difference in p50, {time}, is not significant"),
    })
}

fn time(seconds: f64) -> String {
    let us = seconds * 1e6;
    match seconds.abs() {
        long if long >= LONG_SECONDS => format!("{} ms", signed(seconds * 1e3, 1)),
        short if short < 10e-6 => format!("{} µs", signed(us, 1)),
        _ => format!("{} µs", signed(us, 0)),
    }
}

/// Difference of a ratio from 1, with as many decimals as its interval supports.
fn percent(ratio: &Estimate) -> String {
    let percent = (ratio.value() - 1.0) * 100.0;
    let Some(margin) = ratio.margin() else {
        return format!("{} %, from a single round", signed(percent, 0));
    };
    let margin = margin * 100.0;
    let decimals = if margin >= 1.95 { 0 } else { 1 };
    format!("{} % ± {} %", signed(percent, decimals), fixed(margin, decimals))
}
