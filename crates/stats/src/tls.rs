//! Figures of TLS: handshakes by kind, negotiated parameters, costs and failures.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::merge::merge_fields;
use crate::{SizeMoments, Tally, Timing};

/// Figures of TLS in a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TlsSummary {
    /// From connect to an established transport, before the handshake.
    pub transport: Timing,
    /// Completed handshakes by [`HandshakeKind`], in the order of its variants.
    pub handshakes: [HandshakeFigures; HandshakeKind::ALL.len()],
    /// Completed handshakes with a HelloRetryRequest: the server asked for another key share.
    pub hello_retries: u64,
    /// Completed handshakes by protocol version.
    pub versions: Tally,
    /// Completed handshakes by cipher suite.
    pub ciphers: Tally,
    /// Completed handshakes by key-exchange group; those without one are left out.
    pub groups: Tally,
    /// Completed handshakes by algorithm of the server's signature; resumed ones have none.
    pub signatures: Tally,
    /// Completed handshakes by protocol chosen by ALPN; those without one are left out.
    pub protocols: Tally,
    /// Completed handshakes whose certificate came compressed.
    pub compressed_certificates: u64,
    /// Failed handshakes by reason.
    pub failures: Tally,
    /// Established connections ended by a TLS error, by reason.
    pub errors: Tally,
    /// Failure of the very first handshake of the run, even if it could not begin.
    pub first_failure: Option<HandshakeFailure>,
    /// Requests sent as 0-RTT data.
    pub early_requests: EarlyRequests,
    /// Replies delimited by the end of a connection that ended without a close_notify: they may be truncated,
    /// and count as failed (RFC 9112, section 9.8).
    pub truncated: u64,
    /// Idle connections that the server ended without a close_notify.
    pub unclean_closes: u64,
    /// The server's certificate in the first completed full handshake.
    pub certificate: Option<Certificate>,
}

impl TlsSummary {
    /// Number of completed handshakes of any kind.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.handshakes.iter().map(|figures| figures.time.moments.count()).sum()
    }

    /// Number of failed handshakes.
    #[must_use]
    pub fn failed(&self) -> u64 {
        self.failures.total()
    }

    /// Figures of one kind of handshake.
    #[must_use]
    pub fn handshakes_of(&self, kind: HandshakeKind) -> &HandshakeFigures {
        &self.handshakes[kind as usize]
    }
}

impl TlsSummary {
    pub(crate) fn add(&mut self, handshake: &Handshake<'_>) {
        let figures = &mut self.handshakes[handshake.kind as usize];
        figures.time.add(handshake.time);
        figures.sent.add(handshake.sent);
        figures.received.add(handshake.received);
        self.hello_retries += u64::from(handshake.hello_retry);
        self.versions.add(handshake.version);
        self.ciphers.add(handshake.cipher);
        if let Some(group) = handshake.group {
            self.groups.add(group);
        }
        if let Some(signature) = handshake.signature {
            self.signatures.add(signature);
        }
        if let Some(protocol) = handshake.protocol {
            self.protocols.add(String::from_utf8_lossy(protocol).into_owned());
        }
        self.compressed_certificates += u64::from(handshake.compressed_certificate);
    }

    pub(crate) fn add_failure(&mut self, failure: HandshakeFailure) {
        self.failures.add(failure.reason.clone());
        self.note_first_failure(failure);
    }

    pub(crate) fn note_first_failure(&mut self, failure: HandshakeFailure) {
        if self.completed() == 0 {
            self.first_failure.get_or_insert(failure);
        }
    }

    /// Returns the first failure if the first handshake failed and none ever succeeded, so the run as a whole
    /// failed.
    #[must_use]
    pub fn hopeless(&self) -> Option<&HandshakeFailure> {
        self.first_failure.as_ref().filter(|_| self.completed() == 0)
    }
}

// Values that cannot be combined are resolved in favour of the first in alphabetical order.
merge_fields!(TlsSummary {
    add: transport, handshakes, hello_retries, compressed_certificates, truncated, unclean_closes,
        early_requests, versions, ciphers, groups, signatures, protocols, failures, errors;
    least: first_failure, certificate;
});

merge_fields!(HandshakeFigures {
    add: time, sent, received;
});

/// Kind of handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HandshakeKind {
    /// Full handshake.
    Full,
    /// Resumed a session.
    Resumed,
    /// Resumed a session, and the server accepted 0-RTT data.
    EarlyData,
}

impl HandshakeKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Full, Self::Resumed, Self::EarlyData];
}

/// Name of the kind in the report.
impl fmt::Display for HandshakeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "full",
            Self::Resumed => "resumed",
            Self::EarlyData => "early-data",
        })
    }
}

/// Costs of handshakes of one kind.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandshakeFigures {
    /// From the established transport to the end of the handshake.
    pub time: Timing,
    /// Bytes sent per handshake, including record headers but not 0-RTT data.
    pub sent: SizeMoments,
    /// Bytes received per handshake, up to the last one needed.
    pub received: SizeMoments,
}

/// One completed handshake.
#[derive(Clone, Copy, Debug)]
pub struct Handshake<'a> {
    /// Full, resumed, or with early data.
    pub kind: HandshakeKind,
    /// From the established transport to the end of the handshake.
    pub time: Duration,
    /// Bytes sent, as in [`HandshakeFigures::sent`].
    pub sent: u64,
    /// Bytes received, as in [`HandshakeFigures::received`].
    pub received: u64,
    /// True if the server asked for another key share.
    pub hello_retry: bool,
    /// Protocol version, such as `TLSv1.3`.
    pub version: &'static str,
    /// Standard name of the cipher suite.
    pub cipher: &'static str,
    /// Key-exchange group, if any.
    pub group: Option<&'static str>,
    /// Algorithm of the server's signature, if it signed.
    pub signature: Option<&'static str>,
    /// Protocol chosen by ALPN.
    pub protocol: Option<&'a [u8]>,
    /// True if the certificate came compressed.
    pub compressed_certificate: bool,
}

/// Reason for a failed handshake.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct HandshakeFailure {
    /// Class named in the classic tool's message.
    pub class: HandshakeFailureClass,
    /// Reason as counted in the report, such as `alert handshake_failure from the server`.
    pub reason: Cow<'static, str>,
    /// Messages of the TLS library, one line each; may be empty.
    pub details: Vec<String>,
}

impl HandshakeFailure {
    /// Returns true if the server's answer is no TLS at all.
    #[must_use]
    pub fn is_not_tls(&self) -> bool {
        self.reason.contains("wrong version number")
    }

    /// Returns true if the server speaks none of the protocols that it was offered (RFC 7301, section 3.2).
    #[must_use]
    pub fn is_no_protocol(&self) -> bool {
        self.reason.contains("no_application_protocol")
    }
}

/// Classes of failure that OpenSSL distinguishes, with the codes of its `SSL_get_error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HandshakeFailureClass {
    /// A TLS error: an alert, an unusable message, a certificate that is not trusted.
    Protocol = 1,
    /// The transport failed, ended or timed out.
    Transport = 5,
}

/// Requests sent as 0-RTT data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EarlyRequests {
    /// Accepted by the server.
    pub accepted: u64,
    /// Rejected by the server.
    pub rejected: u64,
    /// Sent again after a rejection.
    pub replayed: u64,
}

merge_fields!(EarlyRequests {
    add: accepted, rejected, replayed;
});

/// Summary of a server's certificate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct Certificate {
    /// Subject in one line, such as `CN=www.example.com`.
    pub subject: String,
    /// Key type, such as `EC P-256` or `RSA 2048`.
    pub key: String,
    /// Number of certificates in the chain, itself included.
    pub chain_length: usize,
    /// Whole days from the run to expiry; negative after expiry.
    pub days_left: i64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::merge::Merge as _;

    fn handshake(kind: HandshakeKind) -> Handshake<'static> {
        Handshake {
            kind,
            time: Duration::from_micros(700),
            sent: 300,
            received: 1500,
            hello_retry: false,
            version: "TLSv1.3",
            cipher: "TLS_AES_128_GCM_SHA256",
            group: Some("X25519"),
            signature: Some("ecdsa_secp256r1_sha256"),
            protocol: None,
            compressed_certificate: false,
        }
    }

    fn failure(reason: &'static str) -> HandshakeFailure {
        HandshakeFailure {
            class: HandshakeFailureClass::Protocol,
            reason: reason.into(),
            details: Vec::new(),
        }
    }

    #[test]
    fn handshakes_are_counted_by_kind_with_what_they_cost() {
        let mut tls = TlsSummary::default();
        tls.add(&handshake(HandshakeKind::Full));
        tls.add(&Handshake { sent: 500, received: 2500, ..handshake(HandshakeKind::Full) });
        tls.add(&Handshake { time: Duration::from_micros(100), ..handshake(HandshakeKind::EarlyData) });
        assert_eq!((tls.completed(), tls.failed()), (3, 0));
        let full = tls.handshakes_of(HandshakeKind::Full);
        assert_eq!((full.time.moments.count(), full.sent.mean(), full.received.mean()), (2, 400.0, 2000.0));
        assert_eq!(tls.handshakes_of(HandshakeKind::Resumed).sent.count(), 0);
        assert_eq!(tls.handshakes_of(HandshakeKind::EarlyData).time.moments.max(), 0.0001);
    }

    #[test]
    fn negotiated_parameters_are_counted_if_there_are_any() {
        let mut tls = TlsSummary::default();
        tls.add(&Handshake {
            hello_retry: true,
            compressed_certificate: true,
            protocol: Some(b"http/1.1"),
            ..handshake(HandshakeKind::Full)
        });
        // A resumed session of TLS 1.2.
        tls.add(&Handshake {
            version: "TLSv1.2",
            cipher: "ECDHE-RSA-AES128-GCM-SHA256",
            group: None,
            signature: None,
            ..handshake(HandshakeKind::Resumed)
        });
        assert_eq!((tls.hello_retries, tls.compressed_certificates), (1, 1));
        assert_eq!((tls.versions.count("TLSv1.3"), tls.versions.count("TLSv1.2")), (1, 1));
        assert_eq!((tls.ciphers.total(), tls.groups.total(), tls.signatures.total()), (2, 1, 1));
        assert_eq!(tls.protocols.by_frequency(), [("http/1.1", 1)]);
    }

    #[test]
    fn a_run_is_hopeless_if_its_first_handshake_fails_and_none_succeeds() {
        let mut tls = TlsSummary::default();
        assert_eq!(tls.hopeless(), None);
        tls.add_failure(failure("first"));
        tls.add_failure(failure("second"));
        assert_eq!(tls.hopeless().map(|failure| &*failure.reason), Some("first"));
        tls.add(&handshake(HandshakeKind::Full));
        assert_eq!(tls.hopeless(), None);
        assert_eq!((tls.completed(), tls.failed()), (1, 2));
    }

    #[test]
    fn a_failure_after_a_success_is_not_the_first() {
        let mut tls = TlsSummary::default();
        tls.add(&handshake(HandshakeKind::Full));
        tls.add_failure(failure("late"));
        assert_eq!((tls.first_failure.as_ref(), tls.failures.count("late")), (None, 1));
    }

    #[test]
    fn early_requests_add_up() {
        let mut sum = EarlyRequests { accepted: 1, rejected: 2, replayed: 3 };
        sum.merge(&EarlyRequests { accepted: 10, rejected: 20, replayed: 30 });
        assert_eq!(sum, EarlyRequests { accepted: 11, rejected: 22, replayed: 33 });
    }

    #[test]
    fn names_are_listed_by_frequency() {
        let mut tally = Tally::default();
        for name in ["b", "a", "c", "c", "b", "c"] {
            tally.add(name);
        }
        assert_eq!(tally.by_frequency(), [("c", 3), ("b", 2), ("a", 1)]);
        assert_eq!((tally.total(), tally.count("b"), tally.count("d")), (6, 2, 0));
    }
}
