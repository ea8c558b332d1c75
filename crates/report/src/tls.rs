//! The section on TLS: negotiated parameters, costs and failures.

use httperf_stats::{Certificate, EarlyRequests, HandshakeKind, SizeMoments, TlsSummary};

use crate::figures::Times;
use crate::number::fixed;
use crate::result::Document;
use crate::section::{BothWays, Section, TimesRow};

/// Negotiated parameters, costs and failures of TLS; `None` for a run without it.
///
/// Connecting the transport, the handshake (by kind) and the response are separate clocks: the first two are
/// here, the last is among those of [`clocks`](crate::clocks::clocks). Sizes are in bytes per handshake.
pub(crate) fn tls(document: &Document) -> Option<Section<'_>> {
    let figures = document.summary.tls.as_deref()?;
    let plan = document.plan.tls.as_ref();
    let certificate = figures.certificate.as_ref();
    let was_checked = plan.is_some_and(|tls| tls.verify.is_some());
    let compressed = figures.compressed_certificates;
    let (truncated, unclean) = (figures.truncated, figures.unclean_closes);
    let section = Section::new("tls", "TLS")
        .line(("TLS handshakes", "Handshakes"), counts(figures))
        .reasons(("failed", "Failed because of"), &figures.failures)
        .reasons(("broken later", "Broken later by"), &figures.errors)
        .counts("version", &figures.versions)
        .counts("cipher", &figures.ciphers)
        .counts("group", &figures.groups)
        .counts("signature", &figures.signatures)
        .counts("protocol", &figures.protocols)
        .line("certificate", certificate.map(|certificate| describe(certificate, was_checked)))
        .line("compressed", (compressed > 0).then(|| format!("certificates {compressed}")))
        .line("early requests", early_requests(figures, plan.is_some_and(|tls| tls.early_data)))
        .line(
            ("no close_notify", "Without close_notify"),
            (truncated + unclean > 0)
                .then(|| format!("replies cut short {truncated}, idle closes {unclean}")),
        )
        .times("TLS", rows(figures));
    let sizes = occurring_kinds(figures).map(|kind| {
        let handshakes = figures.handshakes_of(kind);
        let name = kind.to_string();
        BothWays::new(name.clone(), name, [&handshakes.sent, &handshakes.received].map(size))
    });
    Some(section.both_ways("TLS [B]", "Sizes of handshakes in bytes", sizes))
}

/// Handshakes in a line.
fn counts(figures: &TlsSummary) -> String {
    let [full, resumed, early] =
        HandshakeKind::ALL.map(|kind| format!("{kind} {}", figures.handshakes_of(kind).time.moments.count()));
    let (retries, failed) = (figures.hello_retries, figures.failed());
    format!("{full}, {resumed}, {early}, HelloRetryRequest {retries}, failed {failed}")
}

/// Times of the phases before the response: connecting the transport, and the handshake.
fn rows(figures: &TlsSummary) -> impl Iterator<Item = TimesRow> + '_ {
    let about = "connect to established, before TLS";
    let transport = TimesRow::new("transport", "transport", about, Times::of(&figures.transport));
    let handshakes = occurring_kinds(figures).map(|kind| {
        let times = Times::of(&figures.handshakes_of(kind).time);
        TimesRow::new(kind.to_string(), format!("handshake, {kind}"), "transport to TLS established", times)
    });
    std::iter::once(transport).chain(handshakes)
}

/// Describes a certificate in one line.
fn describe(certificate: &Certificate, was_checked: bool) -> String {
    let Certificate { subject, key, chain_length, days_left } = certificate;
    let days = |count: u64| format!("{count} {}", if count == 1 { "day" } else { "days" });
    let left = match u64::try_from(*days_left) {
        Ok(count) => format!("{} left", days(count)),
        Err(_) => format!("expired {} ago", days(days_left.unsigned_abs())),
    };
    let checked = if was_checked { "" } else { ", not checked" };
    format!("{subject}, {key}, chain of {chain_length}, {left}{checked}")
}

/// What became of early requests, in a line; `None` unless some were sent or planned.
fn early_requests(figures: &TlsSummary, was_asked: bool) -> Option<String> {
    let EarlyRequests { accepted, rejected, replayed } = figures.early_requests;
    (was_asked || figures.early_requests != EarlyRequests::default())
        .then(|| format!("accepted {accepted}, rejected {rejected}, replayed {replayed}"))
}

/// Kinds of handshakes that occurred.
fn occurring_kinds(figures: &TlsSummary) -> impl Iterator<Item = HandshakeKind> {
    let occurs = |kind: &HandshakeKind| figures.handshakes_of(*kind).time.moments.count() > 0;
    HandshakeKind::ALL.into_iter().filter(occurs)
}

/// Mean, followed by the range unless all sizes are equal.
fn size(moments: &SizeMoments) -> String {
    let (min, max) = (moments.min(), moments.max());
    if min == max { min.to_string() } else { format!("{} ({min}-{max})", fixed(moments.mean(), 1)) }
}
