//! Connections, their handshakes, and the protocols that they speak.

use std::borrow::Cow;
use std::time::Duration;

use super::{Burst, Recorder};
use crate::merge::Merge;
use crate::{
    AltSvcSummary, Certificate, EarlyRequests, Handshake, HandshakeFailure, Http2Summary, Instant, TlsSummary,
};

impl Recorder {
    /// Records a new connection, whether or not it will get a socket.
    pub fn connection_opened(&mut self, due: Instant) {
        self.open += 1;
        let open = self.open;
        let summary = self.of(due);
        summary.concurrent_max = summary.concurrent_max.max(open);
    }

    /// Records that a socket was created and a connect is about to be initiated, in this turn of the loop.
    pub fn connect_initiated(&mut self, due: Instant, turn: u64) {
        // As in the classic tool, a turn counts only once a later one connects; the last one never counts.
        let ended = (turn != self.burst.turn)
            .then(|| std::mem::replace(&mut self.burst, Burst { turn, count: 0 }).count);
        self.burst.count += 1;
        let summary = self.of(due);
        summary.connections += 1;
        if let Some(count) = ended {
            summary.connect_burst_max = summary.connect_burst_max.max(count);
        }
    }

    /// Records an established connection, this long after its connect was initiated.
    pub fn connect_done(&mut self, due: Instant, time: Duration) {
        self.of(due).connect.add(time);
    }

    /// Records that the transport of a TLS connection was established, this long after its connect was
    /// initiated.
    pub fn transport_done(&mut self, due: Instant, time: Duration) {
        self.tls(due, |tls| tls.transport.add(time));
    }

    /// Records a completed TLS handshake.
    pub fn handshake_done(&mut self, due: Instant, handshake: &Handshake<'_>) {
        self.tls(due, |tls| tls.add(handshake));
    }

    /// Records a failed TLS handshake. The failure of the connection is reported separately.
    pub fn handshake_failed(&mut self, due: Instant, failure: HandshakeFailure) {
        self.tls(due, |tls| tls.add_failure(failure));
    }

    /// Records a connection that failed before its TLS handshake could begin.
    pub fn handshake_impossible(&mut self, due: Instant, failure: HandshakeFailure) {
        self.tls(due, |tls| tls.note_first_failure(failure));
    }

    /// Records a TLS error on an established connection.
    pub fn tls_error(&mut self, due: Instant, reason: Cow<'static, str>) {
        self.tls(due, |tls| tls.errors.add(reason));
    }

    /// Records the server's certificate. Only the first of each phase is kept.
    pub fn certificate_shown(&mut self, due: Instant, certificate: impl FnOnce() -> Option<Certificate>) {
        self.tls(due, |tls| {
            if tls.certificate.is_none() {
                tls.certificate = certificate();
            }
        });
    }

    /// Records the fate of requests sent as 0-RTT data.
    pub fn early_requests(&mut self, due: Instant, outcome: EarlyRequests) {
        self.tls(due, |tls| tls.early_requests.merge(&outcome));
    }

    /// Records a reply delimited by the end of the connection that was not followed by a close_notify.
    pub fn truncated(&mut self, due: Instant) {
        self.tls(due, |tls| tls.truncated += 1);
    }

    /// Records an idle connection that the server ended without a close_notify.
    pub fn unclean_close(&mut self, due: Instant) {
        self.tls(due, |tls| tls.unclean_closes += 1);
    }

    fn tls(&mut self, due: Instant, note: impl FnOnce(&mut TlsSummary)) {
        if let Some(tls) = &mut self.of(due).tls {
            note(tls);
        }
    }

    /// Updates the figures of HTTP/2, if they are recorded.
    pub fn http2(&mut self, due: Instant, note: impl FnOnce(&mut Http2Summary)) {
        if let Some(http2) = &mut self.of(due).http2 {
            note(http2);
        }
    }

    /// Records something about offers of HTTP/3 that holds for the whole run, its warm-up included.
    pub fn alt_svc(&mut self, note: impl FnOnce(&mut AltSvcSummary)) {
        if let Some(http2) = &mut self.measured.http2 {
            note(http2.alt_svc.get_or_insert_default());
        }
    }

    /// Records the end of a connection. `lifetime` counts from its connect, if it completed at least one
    /// call.
    pub fn connection_closed(&mut self, due: Instant, lifetime: Option<Duration>) {
        self.open -= 1;
        if let Some(lifetime) = lifetime {
            self.of(due).lifetimes.add(lifetime);
        }
    }
}
