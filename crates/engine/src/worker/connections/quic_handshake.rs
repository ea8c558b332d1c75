//! The handshake inside QUIC, and the sessions that servers give to resume.

use std::borrow::Cow;
use std::time::UNIX_EPOCH;

use httperf_proto::ProtocolError;
use httperf_proto::http3::ErrorCode;
use httperf_proto::quic::{Loss, Ticket};
use httperf_proto::tls::{EarlyData, Failure as Refusal};
use httperf_stats::{EarlyRequests, FailureCause, HandshakeFailureClass, HandshakeKind, Instant};

use super::progress::Stage;
use super::{Connections, EventKind, outcomes};
use crate::Network;
use crate::worker::ConnectionKey;
use crate::worker::run::Run;

impl<N: Network> Connections<N> {
    /// The handshake is complete.
    pub(super) fn handle_quic_done(&mut self, key: ConnectionKey, run: &mut Run<'_>) {
        let now = self.network.now();
        self.record_quic_handshake(key, now, run);
        self.tell(key, EventKind::Reached, now);
        let connection = &mut self.connections[key];
        connection.establish(now, run);
        connection.record_protocol_now(run);
        self.tell(key, EventKind::Established, now);
    }

    fn record_quic_handshake(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        let connection = &self.connections[key];
        let (due, target) = (connection.due(), connection.target);
        let (Some(engine), Some(datagram)) = (connection.engine.datagrams(), connection.transport.datagram())
        else {
            return;
        };
        let (quic, early) = (engine.quic(), engine.early_count());
        let handshake = quic.handshake();
        let done = outcomes::done(&handshake, now - datagram.started);
        let kind = done.kind;
        run.recorder.handshake_done(due, &done);
        let early = match quic.early_data() {
            EarlyData::Accepted => EarlyRequests { accepted: early, ..EarlyRequests::default() },
            EarlyData::Rejected => EarlyRequests { rejected: early, ..EarlyRequests::default() },
            EarlyData::None | EarlyData::Offered => EarlyRequests::default(),
        };
        run.recorder.early_requests(due, early);
        let figures = quic.handshake_figures();
        let is_retried = quic.is_retried();
        run.recorder.http2(due, |http3| {
            let quic = http3.quic.get_or_insert_default();
            quic.retries += u64::from(is_retried);
            quic.handshake_datagrams_sent += figures.datagrams_sent;
            quic.handshake_datagrams_received += figures.datagrams_received;
        });
        if kind == HandshakeKind::Full {
            let unix_now = self.network.wall_clock().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            run.recorder.certificate_shown(due, || {
                quic.certificate(i64::try_from(unix_now).unwrap_or(i64::MAX)).map(outcomes::shown)
            });
        }
        let is_refused = datagram.offered && kind == HandshakeKind::Full;
        if is_refused && let Some(pool) = self.quic.as_mut().and_then(|quic| quic.pool(target)) {
            pool.handle_refusal();
        }
    }

    /// Keeps the sessions that the server has given for other connections to resume. Returns whether the connection has
    /// stayed for that.
    pub(super) fn keep_tickets(&mut self, key: ConnectionKey, tickets: Vec<Ticket>, now: Instant) -> bool {
        let (connection, Some(quic)) = (&self.connections[key], &mut self.quic) else { return false };
        if tickets.is_empty() {
            return false;
        }
        let target = connection.target;
        let awaits_ticket = connection.awaits_ticket();
        if let Some(session) = quic.keep(target, tickets) {
            self.tell(key, EventKind::TlsSession(Box::new(session)), now);
        }
        awaits_ticket
    }

    /// As [`stay_for_ticket`](Self::stay_for_ticket), over QUIC.
    pub(super) fn may_stay_for_ticket(&mut self, key: ConnectionKey) -> bool {
        let connection = &mut self.connections[key];
        let (Some(datagram), Some(quic)) = (connection.transport.datagram_mut(), &self.quic) else {
            return false;
        };
        datagram.awaits_ticket = quic.needs_ticket(connection.target);
        datagram.awaits_ticket
    }

    /// A connection of QUIC waited for a ticket, and none came.
    pub(super) fn handle_vain_wait(&mut self, key: ConnectionKey) {
        let target = self.connections[key].target;
        if let Some(pool) = self.quic.as_mut().and_then(|quic| quic.pool(target)) {
            pool.handle_vain_wait();
        }
    }

    /// A connection of QUIC is gone. Returns how its calls failed, having recorded a handshake that did.
    pub(super) fn record_loss(&mut self, key: ConnectionKey, loss: &Loss, run: &mut Run<'_>) -> FailureCause {
        let connection = &self.connections[key];
        let due = connection.due();
        let failure = run.cause_of_breach(&ProtocolError::Quic(loss.clone()), connection.awaits(run));
        if connection.transport.stage() == Stage::Established {
            if let Loss::Closed(code, _) = loss
                && ErrorCode(*code) != ErrorCode::H3_NO_ERROR
            {
                let code = ErrorCode(*code);
                run.recorder.http2(due, |http3| http3.goaways.add(code.to_string()));
            }
            return failure;
        }
        let failed = match loss {
            Loss::Failed(refusal) => outcomes::failed(HandshakeFailureClass::Protocol, refusal.clone()),
            Loss::NoVersion => outcomes::failed(
                HandshakeFailureClass::Protocol,
                Refusal::plain("the server speaks no version of QUIC that we do"),
            ),
            Loss::TimedOut => outcomes::cut_off("no answer in time"),
            Loss::Reset | Loss::Closed(..) | Loss::ByUs => {
                outcomes::cut_off("the server closed the connection")
            }
        };
        let is_stranger = failed.is_no_protocol() && self.alternatives.is_none();
        let reason = failed.reason.clone();
        run.recorder.handshake_failed(due, failed);
        if is_stranger {
            run.stranger_met();
        }
        self.give_up_quic(key, reason, run);
        failure
    }

    /// A connection fails for a reason outside QUIC. Records its handshake as failed, if it was not complete.
    pub(super) fn record_quic_failure(
        &mut self,
        key: ConnectionKey,
        reason: &'static str,
        run: &mut Run<'_>,
    ) {
        let connection = &self.connections[key];
        if connection.transport.stage() == Stage::Established {
            return;
        }
        run.recorder.handshake_failed(connection.due(), outcomes::cut_off(reason));
        self.give_up_quic(key, reason.into(), run);
    }

    /// A connection goes without having completed its handshake, for this reason.
    fn give_up_quic(&mut self, key: ConnectionKey, reason: Cow<'static, str>, run: &mut Run<'_>) {
        let connection = &self.connections[key];
        let datagram = connection.transport.datagram();
        let (offered, offer) = datagram.map_or((false, None), |datagram| (datagram.offered, datagram.offer));
        let (target, due) = (connection.target, connection.due());
        self.alternative_failed(target, offer, due, reason, run);
        if let Some(pool) = self.quic.as_mut().and_then(|quic| quic.pool(target)) {
            pool.handle_failure(offered);
        }
    }
}
