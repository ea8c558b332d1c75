//! The outcomes of handshakes, of TLS and of QUIC, as they are recorded.

use std::time::Duration;

use httperf_proto::tls::{self, Kind};
use httperf_stats::{
    Certificate, Failure, Handshake, HandshakeFailure, HandshakeFailureClass, HandshakeKind,
};

/// Returns the outcome of a handshake that took this long.
pub(super) fn done<'a>(handshake: &tls::Handshake<'a>, time: Duration) -> Handshake<'a> {
    Handshake {
        kind: match handshake.kind {
            Kind::Full => HandshakeKind::Full,
            Kind::Resumed => HandshakeKind::Resumed,
            Kind::EarlyData => HandshakeKind::EarlyData,
        },
        time,
        sent: handshake.sent,
        received: handshake.received,
        hello_retry: handshake.hello_retry,
        version: handshake.version,
        cipher: handshake.cipher,
        group: handshake.group,
        signature: handshake.signature,
        protocol: handshake.protocol,
        compressed_certificate: handshake.compressed_certificate,
    }
}

/// Returns a server's certificate as it is recorded.
pub(super) fn shown(certificate: tls::Certificate) -> Certificate {
    let tls::Certificate { subject, key, chain_length, days_left } = certificate;
    Certificate { subject, key, chain_length, days_left }
}

/// Returns a handshake that failed, or a connection that could not begin one.
pub(super) fn failed(class: HandshakeFailureClass, failure: tls::Failure) -> HandshakeFailure {
    let tls::Failure { kind: _, reason, details } = failure;
    HandshakeFailure { class, reason, details }
}

/// Returns a handshake that failed for a reason outside TLS and QUIC.
pub(super) fn cut_off(reason: &'static str) -> HandshakeFailure {
    failed(HandshakeFailureClass::Transport, tls::Failure::plain(reason))
}

/// Returns the reason for which a handshake fails with its connection.
pub(super) fn reason_of(failure: Failure) -> &'static str {
    match failure {
        Failure::ClientTimeout => "no answer in time",
        Failure::SocketTimeout => "the transport timed out",
        Failure::Refused => "connection refused",
        Failure::Reset => "the server closed the connection",
        _ => "the transport failed",
    }
}
