//! TLS on a connection: from the handshake to the bytes that it protects.

use std::time::UNIX_EPOCH;

use httperf_plan::HttpVersion;
use httperf_proto::tls::{self, Progress};
use httperf_stats::{CauseKind, Failure, HandshakeFailure, HandshakeFailureClass, HandshakeKind, Instant};

use super::connection::Connection;
use super::progress::Stage;
use super::reading::{Reading, Source, Step};
use super::tls::Secured;
use super::{Connections, Event, EventKind, at_instant, outcomes};
use crate::worker::ConnectionKey;
use crate::worker::run::Run;
use crate::{Network, failure};

impl<N: Network> Connections<N> {
    /// The transport is there: begins the handshake.
    pub(super) fn start_handshake(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        let connection = &mut self.connections[key];
        run.recorder.transport_done(connection.due(), connection.age(now));
        let started = self.network.now();
        run.recorder.handshake_awaited(started);
        connection.transport.start_handshake(started);
        self.set_deadline(key, run.plan.timeouts.timeout.map(|limit| started + limit));
        self.advance_handshake(key, now, run);
    }

    fn advance_handshake(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        let connection = &mut self.connections[key];
        while let (Some(secured), Some(tls)) = (connection.transport.secured_mut(), &mut self.tls) {
            match secured.advance(tls) {
                Ok(Progress::Pending | Progress::EarlyData) => return,
                Ok(Progress::EarlyDataRejected) => {
                    if let Some(mut stream) = connection.engine.byte_stream() {
                        stream.rewind(at_instant(now));
                    }
                    if let Some(sends) = connection.transport.sends_mut() {
                        sends.rewound();
                    }
                    let pending = connection.engine.pending();
                    pending.into_iter().for_each(|call| run.reset_call(call.into(), now));
                }
                Ok(Progress::Done) => return self.handle_secured(key, run),
                Err(error) => {
                    connection.transport.send_last(&mut self.network, Some(tls), &[]);
                    let cause = failure::of_tls(&error);
                    let failure = outcomes::failed(HandshakeFailureClass::Protocol, error);
                    self.handshake_failed(key, failure, run);
                    let now = self.network.now();
                    self.fail(key, cause, now);
                    return;
                }
            }
        }
    }

    /// The handshake is complete.
    fn handle_secured(&mut self, key: ConnectionKey, run: &mut Run<'_>) {
        let now = self.network.now();
        self.record_handshake(key, now, run);
        // Before TLS 1.3 the session is there now.
        self.keep_sessions(key, now);
        if !self.choose_protocol(key, now, run) {
            return;
        }
        self.connections[key].establish(now, run);
        self.tell(key, EventKind::Established, now);
        if run.plan.request.version == HttpVersion::Auto {
            // There may be room for more calls, now that the protocol is known.
            self.tell(key, EventKind::HasRoom, now);
        }
    }

    fn record_handshake(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        let connection = &self.connections[key];
        let (due, target) = (connection.due(), connection.target);
        let Some(secured) = connection.transport.secured() else { return };
        let handshake = secured.client().handshake();
        let done = outcomes::done(&handshake, now - secured.started());
        let kind = done.kind;
        run.recorder.handshake_done(due, &done);
        if let Some(early) = secured.early_requests() {
            run.recorder.early_requests(due, early);
        }
        if kind == HandshakeKind::Full {
            let unix_now = self.network.wall_clock().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            run.recorder.certificate_shown(due, || {
                secured.client().certificate(i64::try_from(unix_now).unwrap_or(i64::MAX)).map(outcomes::shown)
            });
        }
        let is_refused = secured.offered() && kind == HandshakeKind::Full;
        if is_refused && let Some(tls) = &mut self.tls {
            tls.handle_refusal(target);
        }
    }

    /// Goes by the protocol that the server has chosen in the handshake. Returns whether the connection can be used.
    fn choose_protocol(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) -> bool {
        let version = run.plan.request.version;
        if !version.may_be_http2() {
            return true;
        }
        let connection = &mut self.connections[key];
        let chosen = connection.transport.secured().and_then(|secured| secured.protocol());
        if chosen == Some(b"h2") {
            if version == HttpVersion::Auto {
                let mut engine = self.protocols.http2_engine();
                for call in connection.engine.pending() {
                    let request = run.call(call.into()).request().clone();
                    let submitted = engine.submit(at_instant(now), call, request);
                    submitted.expect("HTTP/2 takes as many calls as HTTP/1");
                }
                connection.engine = engine;
            }
            return true;
        }
        if version == HttpVersion::Auto {
            connection.record_protocol_now(run);
            return true;
        }
        let reason = match chosen.map(String::from_utf8_lossy) {
            Some(name) => format!("the server chose {name} (ALPN)"),
            None => "the server chose no protocol (ALPN)".to_owned(),
        };
        self.record_violation(key, reason.clone(), run);
        run.stranger_met();
        self.fail(key, CauseKind::NoProtocol.with(reason), now);
        false
    }

    /// Records a handshake that failed.
    fn handshake_failed(&mut self, key: ConnectionKey, failure: HandshakeFailure, run: &mut Run<'_>) {
        let is_stranger =
            failure.is_not_tls() || run.plan.request.version.may_be_http2() && failure.is_no_protocol();
        run.recorder.handshake_failed(self.connections[key].due(), failure);
        if is_stranger {
            run.stranger_met();
        }
        self.give_up_handshake(key);
    }

    /// A connection goes without having completed its handshake.
    fn give_up_handshake(&mut self, key: ConnectionKey) {
        let connection = &self.connections[key];
        let offered = connection.transport.secured().is_some_and(Secured::offered);
        if let Some(tls) = &mut self.tls {
            tls.handle_failure(connection.target, offered);
        }
    }

    /// A connection fails for a reason outside TLS. Records its handshake as failed, if it was to make one and has not
    /// made it.
    pub(super) fn record_insecure(&mut self, key: ConnectionKey, failure: Failure, run: &mut Run<'_>) {
        self.record_insecure_because(key, outcomes::reason_of(failure), run);
    }

    /// As [`record_insecure`](Self::record_insecure), for this reason.
    pub(super) fn record_insecure_because(
        &mut self,
        key: ConnectionKey,
        reason: &'static str,
        run: &mut Run<'_>,
    ) {
        let Connection { transport, .. } = &self.connections[key];
        if transport.datagram().is_some() {
            self.record_quic_failure(key, reason, run);
            return;
        }
        if !transport.is_secured() {
            return;
        }
        match transport.stage() {
            Stage::Connecting | Stage::Tunnelling => {
                let failure = outcomes::cut_off(reason);
                run.recorder.handshake_impossible(self.connections[key].due(), failure);
                self.give_up_handshake(key);
            }
            Stage::Handshaking => self.handshake_failed(key, outcomes::cut_off(reason), run),
            Stage::Established => {}
        }
    }

    /// Uses the `count` bytes of ciphertext at the beginning of TLS's room.
    pub(super) fn handle_ciphertext(
        &mut self,
        key: ConnectionKey,
        count: usize,
        now: Instant,
        run: &mut Run<'_>,
    ) {
        if let Some(tls) = &mut self.tls {
            tls.fill(count);
        }
        if self.connections[key].transport.stage() == Stage::Handshaking {
            run.recorder.handshake_heard(now);
            self.advance_handshake(key, now, run);
        }
        let is_established = self.connections[key].transport.is_established();
        self.reading.source = Source::Records;
        self.reading.step = if is_established { Step::Open } else { Step::Used };
    }

    /// Opens the next record, if it is complete.
    pub(super) fn open_record(&mut self, buffer: &mut [u8], run: &mut Run<'_>) -> Option<Event> {
        let Reading { key, now, .. } = self.reading;
        (self.reading.step, self.reading.holds_back) = (Step::Used, true);
        let (connection, tls) = (&mut self.connections[key], self.tls.as_mut()?);
        let secured = connection.transport.secured_mut()?;
        let read = secured.read(tls, buffer);
        // A ticket may have come before the bytes of a reply that ends the connection, and be all that it waited for.
        self.keep_sessions(key, now);
        match read {
            Ok(tls::Read::Plaintext(count)) => {
                self.reading.fill(0, count);
                if !self.has_happened() {
                    return self.use_input(buffer, run);
                }
            }
            Ok(tls::Read::Pending) => {}
            Ok(tls::Read::Closed) => self.reading.step = Step::End,
            Err(error) => {
                let connection = &mut self.connections[key];
                connection.transport.send_last(&mut self.network, self.tls.as_mut(), &[]);
                let due = connection.due_of(run);
                let cause = failure::of_broken_tls(&error);
                run.recorder.tls_error(due, error.reason);
                self.fail(key, cause, now);
            }
        }
        None
    }

    /// Keeps the sessions that the server has given for other connections to resume.
    fn keep_sessions(&mut self, key: ConnectionKey, now: Instant) {
        let (connection, Some(tls)) = (&mut self.connections[key], &mut self.tls) else { return };
        let target = connection.target;
        let Some(secured) = connection.transport.secured_mut().filter(|_| tls.resumes()) else { return };
        let given = secured.take_sessions();
        if given.is_empty() {
            return;
        }
        let awaits_ticket = secured.awaits_ticket();
        if let Some(session) = tls.keep(target, given) {
            self.tell(key, EventKind::TlsSession(Box::new(session)), now);
        }
        if awaits_ticket {
            let now = self.network.now();
            self.tell(key, EventKind::TicketSettled, now);
        }
    }

    /// Lets a connection that has done its work stay for a ticket that others need, until a deadline. Returns whether
    /// any need one.
    pub(in crate::worker) fn stay_for_ticket(
        &mut self,
        key: ConnectionKey,
        now: Instant,
        run: &Run<'_>,
    ) -> bool {
        let connection = &mut self.connections[key];
        let (Some(secured), Some(tls)) = (connection.transport.secured_mut(), &self.tls) else {
            let may_stay = self.may_stay_for_ticket(key);
            if may_stay {
                self.set_deadline(key, Some(now + run.plan.limits.tls_ticket_wait));
            }
            return may_stay;
        };
        if !tls.needs_ticket(connection.target) {
            return false;
        }
        secured.await_ticket();
        self.set_deadline(key, Some(now + run.plan.limits.tls_ticket_wait));
        true
    }

    /// A connection stayed for a ticket long enough.
    pub(super) fn give_up_ticket(&mut self, key: ConnectionKey, now: Instant) {
        match &mut self.tls {
            Some(tls) if self.connections[key].transport.is_secured() => {
                tls.handle_vain_wait(self.connections[key].target);
            }
            _ => self.handle_vain_wait(key),
        }
        self.tell(key, EventKind::TicketSettled, now);
    }
}
