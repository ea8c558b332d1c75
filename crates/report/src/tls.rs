//! The section on TLS: negotiated parameters, costs and failures.

use std::fmt::{self, Display};

use httperf_plan::{Plan, Tls};
use httperf_stats::{Certificate, EarlyRequests, HandshakeKind, SizeMoments, Summary, TlsSummary};

use crate::number::fixed;
use crate::table::{NAME_WIDTH, line, write_reasons, write_tally, write_times, write_times_head};

/// The section `TLS`, starting with an empty line; empty for a run without TLS.
///
/// Connecting the transport, the handshake (by kind) and the response are separate clocks: the first two are
/// in this section, the last is in that of [`times`](crate::times()). Times are formatted as there; sizes
/// are in bytes per handshake. Apart from the counts of handshakes, lines without content are left out.
#[must_use]
pub fn tls<'a>(plan: &'a Plan, summary: &'a Summary) -> impl Display + 'a {
    Section { plan: plan.tls.as_ref(), figures: summary.tls.as_deref() }
}

struct Section<'a> {
    plan: Option<&'a Tls>,
    figures: Option<&'a TlsSummary>,
}

impl Display for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(figures) = self.figures else { return Ok(()) };
        write_counts(f, figures)?;
        write_reasons(f, "failed", &figures.failures)?;
        write_reasons(f, "broken later", &figures.errors)?;
        write_tally(f, "version", &figures.versions)?;
        write_tally(f, "cipher", &figures.ciphers)?;
        write_tally(f, "group", &figures.groups)?;
        write_tally(f, "signature", &figures.signatures)?;
        write_tally(f, "protocol", &figures.protocols)?;
        if let Some(certificate) = &figures.certificate {
            let was_checked = self.plan.is_some_and(|tls| tls.verify.is_some());
            line(f, "certificate", describe(certificate, was_checked))?;
        }
        if figures.compressed_certificates > 0 {
            line(f, "compressed", format_args!("certificates {}", figures.compressed_certificates))?;
        }
        write_early_requests(f, figures, self.plan.is_some_and(|tls| tls.early_data))?;
        if figures.truncated > 0 || figures.unclean_closes > 0 {
            let (truncated, unclean) = (figures.truncated, figures.unclean_closes);
            line(f, "no close_notify", format_args!("replies cut short {truncated}, idle closes {unclean}"))?;
        }
        write_all_times(f, figures)?;
        write_sizes(f, figures)
    }
}

fn write_counts(f: &mut fmt::Formatter<'_>, figures: &TlsSummary) -> fmt::Result {
    writeln!(f)?;
    let [full, resumed, early] =
        HandshakeKind::ALL.map(|kind| format!("{kind} {}", figures.handshakes_of(kind).time.moments.count()));
    let retries = figures.hello_retries;
    let failed = figures.failed();
    let counts = format_args!("{full}, {resumed}, {early}, HelloRetryRequest {retries}, failed {failed}");
    line(f, "TLS handshakes", counts)
}

/// Describes a certificate in one line.
#[must_use]
pub fn describe(certificate: &Certificate, was_checked: bool) -> String {
    let Certificate { subject, key, chain_length, days_left } = certificate;
    let days = |count: u64| format!("{count} {}", if count == 1 { "day" } else { "days" });
    let left = match u64::try_from(*days_left) {
        Ok(count) => format!("{} left", days(count)),
        Err(_) => format!("expired {} ago", days(days_left.unsigned_abs())),
    };
    let checked = if was_checked { "" } else { ", not checked" };
    format!("{subject}, {key}, chain of {chain_length}, {left}{checked}")
}

/// Writes the line only if early requests were sent or planned.
fn write_early_requests(f: &mut fmt::Formatter<'_>, figures: &TlsSummary, was_asked: bool) -> fmt::Result {
    let EarlyRequests { accepted, rejected, replayed } = figures.early_requests;
    if !was_asked && figures.early_requests == EarlyRequests::default() {
        return Ok(());
    }
    line(f, "early requests", format_args!("accepted {accepted}, rejected {rejected}, replayed {replayed}"))
}

/// Times of the phases before the response: connecting the transport, and the handshake.
fn write_all_times(f: &mut fmt::Formatter<'_>, figures: &TlsSummary) -> fmt::Result {
    if figures.transport.moments.count() == 0 && figures.completed() == 0 {
        return Ok(());
    }
    writeln!(f)?;
    write_times_head(f, "TLS")?;
    write_times(f, "transport", &figures.transport)?;
    for kind in occurring_kinds(figures) {
        write_times(f, &kind.to_string(), &figures.handshakes_of(kind).time)?;
    }
    Ok(())
}

fn write_sizes(f: &mut fmt::Formatter<'_>, figures: &TlsSummary) -> fmt::Result {
    if figures.completed() == 0 {
        return Ok(());
    }
    writeln!(f, "\n{:<NAME_WIDTH$}{:>22}{:>22}", "TLS [B]", "sent", "received")?;
    for kind in occurring_kinds(figures) {
        let handshakes = figures.handshakes_of(kind);
        let (sent, received) = (size(&handshakes.sent), size(&handshakes.received));
        writeln!(f, "{:<NAME_WIDTH$}{sent:>22}{received:>22}", kind.to_string())?;
    }
    Ok(())
}

/// Kinds of handshakes that occurred.
pub fn occurring_kinds(figures: &TlsSummary) -> impl Iterator<Item = HandshakeKind> {
    let occurs = |kind: &HandshakeKind| figures.handshakes_of(*kind).time.moments.count() > 0;
    HandshakeKind::ALL.into_iter().filter(occurs)
}

/// Mean, followed by the range unless all sizes are equal.
fn size(moments: &SizeMoments) -> String {
    let (min, max) = (moments.min(), moments.max());
    if min == max { min.to_string() } else { format!("{} ({min}-{max})", fixed(moments.mean(), 1)) }
}
