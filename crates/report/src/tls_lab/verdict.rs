//! What the figures mean, in words.

use httperf_stats::{Estimate, HandshakeKind};

use super::{Measured, Results};
use crate::number::{fixed, signed};

/// Times from here on are said in ms, below in µs.
const LONG_SECONDS: f64 = 0.01;

/// A sentence for each variant that was measured, but for the first: what its median handshake costs in time and
/// bytes. The first row of resumed handshakes is compared with the first of all, later ones with that; full ones with
/// the first of all.
///
/// A difference in time that is not significant (the interval of 95 % confidence of the ratio includes 1) is called
/// that.
#[must_use]
pub fn verdict(results: &Results) -> Vec<String> {
    let Some(base) = results.base() else { return Vec::new() };
    let measured = results.variants.iter().filter_map(Measured::of);
    let mut resumed_base: Option<Measured<'_>> = None;
    let mut sentences = Vec::new();
    for row in measured {
        if row.is(&base) {
            continue;
        }
        let is_full = row.variant.kind == HandshakeKind::Full;
        let reference = if is_full { base } else { resumed_base.unwrap_or(base) };
        if !is_full {
            resumed_base.get_or_insert(row);
        }
        sentences.extend(sentence(&row, &reference));
    }
    sentences
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

/// By how much a ratio differs from 1, with as many decimals as its interval supports.
fn percent(ratio: &Estimate) -> String {
    let percent = (ratio.value() - 1.0) * 100.0;
    let Some(margin) = ratio.margin() else {
        return format!("{} %, from a single round", signed(percent, 0));
    };
    let margin = margin * 100.0;
    let decimals = if margin >= 1.95 { 0 } else { 1 };
    format!("{} % ± {} %", signed(percent, decimals), fixed(margin, decimals))
}
