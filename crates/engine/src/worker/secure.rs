//! Connections that TLS secures: the handshake, what passes through the lane, resumption, and early data.
//!
//! Everything else about a connection is in `connections.rs`, which comes here at the points where bytes pass between
//! protocol and socket.

use std::io;
use std::mem;
use std::time::UNIX_EPOCH;

use httperf_plan::{HttpVersion, Plan, Resumption};
use httperf_proto::Engine;
use httperf_proto::tls::{self, Client, Context, EarlyData, Kind, Lane, Progress, Session};
use httperf_stats::{
    Certificate, EarlyRequests, Failure, Handshake, HandshakeFailure, HandshakeFailureClass, HandshakeKind,
    Instant,
};
use slotmap::SlotMap;

use super::connections::{Connection, Stage, at_instant};
use super::resumption::Pool;
use super::sends::{self, Sends};
use super::{ConnectionKey, READ_SIZE, SessionKey, Worker};
use crate::Network;

/// Plaintext opened at once: a record holds no more (RFC 8446, section 5.1).
const RECORD_SIZE: usize = 16 * 1024;

/// What TLS needs of a worker.
pub(super) struct Tls {
    context: Context,
    /// Lent to one connection at a time, and empty of bytes to send in between.
    lane: Lane,
    plaintext: Vec<u8>,
    /// What is about to be sealed; empty in between.
    sealing: Vec<u8>,
    resumption: Resumption,
    /// For the connections of a connection workload, one per target.
    pools: Vec<Pool>,
}

/// The TLS side of a connection.
pub(super) struct Secured {
    client: Client,
    /// When the handshake began.
    started: Instant,
    /// A session was offered for resumption.
    offered: bool,
    /// Ciphertext that the socket did not take.
    unwritten: Vec<u8>,
    /// Plaintext that early data had no room for.
    unsealed: Vec<u8>,
    /// What the ciphertext on its way to the socket is made of.
    outgoing: Outgoing,
    /// Requests that travelled as early data.
    early: u64,
    /// Of these, requests that are still to be sent again.
    replays: u64,
    /// It has nothing more to do than to wait for a session ticket that others need.
    awaits_ticket: bool,
}

impl Secured {
    /// The protocol that the server has chosen (ALPN), once it has.
    pub(super) fn protocol(&self) -> Option<&[u8]> {
        self.client.handshake().protocol
    }

    /// Whether there is ciphertext that the socket did not take.
    pub(super) fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }
}

impl Tls {
    pub(super) fn new(plan: &Plan, context: Context) -> Self {
        Self {
            context,
            lane: Lane::new(READ_SIZE),
            plaintext: vec![0; RECORD_SIZE],
            sealing: Vec::new(),
            resumption: plan.tls.as_ref().map_or(Resumption::Never, |tls| tls.resumption),
            pools: plan.targets.iter().map(|_| Pool::new(plan.limits.tls_sessions)).collect(),
        }
    }

    /// The room for ciphertext that arrives, [`READ_SIZE`] bytes.
    pub(super) fn room(&mut self) -> &mut [u8] {
        self.lane.room()
    }

    /// The pool of a target, if the plan wants a share of connections to resume.
    fn pool(&mut self, target: usize) -> Option<&mut Pool> {
        match self.resumption {
            Resumption::Share(_) => Some(&mut self.pools[target]),
            Resumption::Never | Resumption::WithinSession => None,
        }
    }
}

/// A secured connection with what the worker lends it.
struct Lent<'a, S> {
    socket: &'a S,
    engine: &'a mut Engine,
    sends: Option<&'a mut Sends>,
    stage: Stage,
    secured: &'a mut Secured,
    lane: &'a mut Lane,
    sealing: &'a mut Vec<u8>,
}

/// A free function, so that the worker's other fields stay at hand.
fn lend<'a, S>(
    connections: &'a mut SlotMap<ConnectionKey, Connection<S>>,
    tls: &'a mut Option<Tls>,
    key: ConnectionKey,
) -> Option<Lent<'a, S>> {
    let connection = connections.get_mut(key)?;
    let tls = tls.as_mut()?;
    Some(Lent {
        socket: &connection.socket,
        engine: &mut connection.engine,
        sends: connection.sends.as_deref_mut(),
        stage: connection.stage,
        secured: connection.secured.as_mut()?,
        lane: &mut tls.lane,
        sealing: &mut tls.sealing,
    })
}

impl<N: Network> Worker<'_, '_, N> {
    /// The TLS side of a connection that is about to be opened, if it is to have one.
    pub(super) fn secure(&mut self, session_key: SessionKey, now: Instant) -> Option<Box<Secured>> {
        let tls = self.tls.as_mut()?;
        let session = &self.sessions[session_key];
        let target = &self.plan.targets[session.target];
        let offer: Option<Session> = match tls.resumption {
            Resumption::Never => None,
            Resumption::WithinSession => session.tls_session.clone(),
            Resumption::Share(share) => tls.pools[session.target].next(share),
        };
        let name = target.tls_name.as_deref();
        let client = Client::new(&tls.context, name, target.address(), offer.as_ref());
        Some(Box::new(Secured {
            client,
            started: now,
            offered: offer.is_some(),
            unwritten: Vec::new(),
            unsealed: Vec::new(),
            outgoing: Outgoing::default(),
            early: 0,
            replays: 0,
            awaits_ticket: false,
        }))
    }

    /// The transport is there: begins the handshake.
    pub(super) fn start_handshake(&mut self, key: ConnectionKey, now: Instant) {
        let connection = &mut self.connections[key];
        connection.stage = Stage::Handshaking;
        self.recorder.transport_done(connection.due, now - connection.connect_started);
        let started = self.network.now();
        self.recorder.handshake_awaited(started);
        if let Some(secured) = &mut connection.secured {
            secured.started = started;
        }
        self.set_deadline(key, self.plan.timeouts.timeout.map(|limit| started + limit));
        self.advance_handshake(key, now);
    }

    /// Goes on with the handshake. What it has to send joins what is unwritten.
    fn advance_handshake(&mut self, key: ConnectionKey, now: Instant) {
        while let Some(lent) = lend(&mut self.connections, &mut self.tls, key) {
            let progress = lent.secured.client.advance(lent.lane);
            lent.lane.poll_transmit(&mut lent.secured.unwritten);
            match progress {
                Ok(Progress::Pending | Progress::EarlyData) => return,
                Ok(Progress::EarlyDataRejected) => {
                    lent.secured.unsealed.clear();
                    lent.secured.outgoing = Outgoing::default();
                    lent.secured.replays = lent.secured.early;
                    lent.engine.rewind(at_instant(now));
                    if let Some(sends) = lent.sends {
                        sends.rewound();
                    }
                    let pending = lent.engine.pending();
                    pending.into_iter().for_each(|call| self.reset_call(call.into(), now));
                }
                Ok(Progress::Done) => {
                    self.handle_secured(key);
                    return;
                }
                Err(error) => {
                    self.send_last_words(key);
                    self.handshake_failed(key, HandshakeFailureClass::Protocol, error);
                    let now = self.network.now();
                    self.fail(key, Failure::Other, now);
                    return;
                }
            }
        }
    }

    /// The handshake is complete.
    fn handle_secured(&mut self, key: ConnectionKey) {
        let now = self.network.now();
        let connection = &mut self.connections[key];
        let (session_key, due) = (connection.session, connection.due);
        let Some(secured) = &mut connection.secured else { return };
        let handshake = secured.client.handshake();
        let kind = match handshake.kind {
            Kind::Full => HandshakeKind::Full,
            Kind::Resumed => HandshakeKind::Resumed,
            Kind::EarlyData => HandshakeKind::EarlyData,
        };
        let done = Handshake {
            kind,
            time: now - secured.started,
            sent: handshake.sent,
            received: handshake.received,
            hello_retry: handshake.hello_retry,
            version: handshake.version,
            cipher: handshake.cipher,
            group: handshake.group,
            signature: handshake.signature,
            protocol: handshake.protocol,
            compressed_certificate: handshake.compressed_certificate,
        };
        self.recorder.handshake_done(due, &done);
        match secured.client.early_data() {
            EarlyData::Accepted => {
                let accepted = EarlyRequests { accepted: secured.early, ..EarlyRequests::default() };
                self.recorder.early_requests(due, accepted);
            }
            EarlyData::Rejected => {
                let rejected = EarlyRequests { rejected: secured.early, ..EarlyRequests::default() };
                self.recorder.early_requests(due, rejected);
            }
            EarlyData::None | EarlyData::Offered => {}
        }
        if kind == HandshakeKind::Full {
            let unix_now = self.network.wall_clock().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            self.recorder.certificate_shown(due, || {
                let shown = secured.client.certificate(i64::try_from(unix_now).unwrap_or(i64::MAX))?;
                Some(Certificate {
                    subject: shown.subject,
                    key: shown.key,
                    chain_length: shown.chain_length,
                    days_left: shown.days_left,
                })
            });
        }
        let refused = secured.offered && kind == HandshakeKind::Full;
        let target = self.sessions[session_key].target;
        if refused && let Some(pool) = self.tls.as_mut().and_then(|tls| tls.pool(target)) {
            pool.handle_refusal();
        }
        // Before TLS 1.3 the session is there now.
        self.keep_sessions(key);
        if !self.choose_protocol(key, now) {
            return;
        }
        self.establish(key, now);
        if self.plan.request.version == HttpVersion::Auto
            && let Some(connection) = self.connections.get(key)
        {
            // There may be room for more calls, now that the protocol is known.
            let (session, slot) = (connection.session, connection.slot);
            self.drive_slot(session, slot, now);
        }
    }

    fn handshake_failed(&mut self, key: ConnectionKey, class: HandshakeFailureClass, error: tls::Failure) {
        let failure = HandshakeFailure { class, reason: error.reason, details: error.details };
        self.recorder.handshake_failed(self.connections[key].due, failure);
        self.give_up_handshake(key);
    }

    /// A connection that was to make a handshake goes without having completed it.
    fn give_up_handshake(&mut self, key: ConnectionKey) {
        let connection = &self.connections[key];
        let offered = connection.secured.as_ref().is_some_and(|secured| secured.offered);
        let target = self.sessions[connection.session].target;
        if let Some(pool) = self.tls.as_mut().and_then(|tls| tls.pool(target)) {
            pool.handle_failure(offered);
        }
    }

    /// A connection fails for a reason outside TLS. Counts its handshake as failed, if it had one to make and has
    /// not made it.
    pub(super) fn note_insecure(&mut self, key: ConnectionKey, failure: Failure) {
        self.note_insecure_because(
            key,
            match failure {
                Failure::ClientTimeout => "no answer in time",
                Failure::SocketTimeout => "the transport timed out",
                Failure::Refused => "connection refused",
                Failure::Reset => "the server closed the connection",
                _ => "the transport failed",
            },
        );
    }

    /// As [`Worker::note_insecure`], for this reason.
    pub(super) fn note_insecure_because(&mut self, key: ConnectionKey, reason: &'static str) {
        let connection = &self.connections[key];
        if connection.secured.is_none() {
            return;
        }
        let error = tls::Failure::plain(reason);
        let class = HandshakeFailureClass::Transport;
        match connection.stage {
            Stage::Connecting | Stage::Tunnelling => {
                let failure = HandshakeFailure { class, reason: error.reason, details: Vec::new() };
                self.recorder.handshake_impossible(self.connections[key].due, failure);
                self.give_up_handshake(key);
            }
            Stage::Handshaking => self.handshake_failed(key, class, error),
            Stage::Established => {}
        }
    }

    /// Uses the `count` bytes of ciphertext at the beginning of the lane's room. To be followed by [`Worker::settle`].
    pub(super) fn handle_ciphertext(&mut self, key: ConnectionKey, count: usize, now: Instant) {
        if let Some(tls) = &mut self.tls {
            tls.lane.fill(count);
        }
        if self.stage(key) == Some(Stage::Handshaking) {
            self.recorder.handshake_heard(now);
            self.advance_handshake(key, now);
        }
        if self.stage(key) == Some(Stage::Established) {
            self.reading = Some(key);
            self.use_ciphertext(key, now);
            self.reading = None;
        }
        // A connection that failed has left the rest, which must not meet the next.
        if let Some(tls) = &mut self.tls {
            tls.lane.discard();
        }
    }

    fn stage(&self, key: ConnectionKey) -> Option<Stage> {
        self.connections.get(key).map(|connection| connection.stage)
    }

    fn use_ciphertext(&mut self, key: ConnectionKey, now: Instant) {
        let mut plaintext = self.tls.as_mut().map(|tls| mem::take(&mut tls.plaintext)).unwrap_or_default();
        while let Some(lent) = lend(&mut self.connections, &mut self.tls, key) {
            let read = lent.secured.client.read(lent.lane, &mut plaintext);
            // An answer to a key update waits here, so that no other connection finds it in the lane.
            lent.lane.poll_transmit(&mut lent.secured.unwritten);
            // A ticket may have come before the bytes of a reply that ends the connection.
            self.keep_sessions(key);
            if !self.connections.contains_key(key) {
                // The ticket was all that it waited for.
                break;
            }
            match read {
                Ok(tls::Read::Plaintext(count)) => self.use_bytes(key, &plaintext[..count], now),
                Ok(tls::Read::Pending) => break,
                Ok(tls::Read::Closed) => {
                    self.handle_end(key, now);
                    break;
                }
                Err(error) => {
                    self.send_last_words(key);
                    self.recorder.tls_error(self.due_of(key), error.reason);
                    self.fail(key, Failure::Other, now);
                    break;
                }
            }
        }
        if let Some(tls) = &mut self.tls {
            tls.plaintext = plaintext;
        }
    }

    /// Keeps the sessions that the server has given for others to resume.
    fn keep_sessions(&mut self, key: ConnectionKey) {
        if self.tls.as_ref().is_none_or(|tls| tls.resumption == Resumption::Never) {
            return;
        }
        let Some(connection) = self.connections.get_mut(key) else { return };
        let Some(secured) = &mut connection.secured else { return };
        let mut given = secured.client.take_sessions();
        if given.is_empty() {
            return;
        }
        let (session_key, awaits_ticket) = (connection.session, secured.awaits_ticket);
        let session = &mut self.sessions[session_key];
        match self.tls.as_mut().and_then(|tls| tls.pool(session.target)) {
            Some(pool) => pool.put(given),
            None => session.tls_session = given.pop(),
        }
        if awaits_ticket {
            let now = self.network.now();
            self.end_session(session_key, true, now);
        }
    }

    /// Whether a connection that has done its work stays for a ticket that others need. It then has a deadline.
    pub(super) fn stays_for_ticket(&mut self, key: ConnectionKey, now: Instant) -> bool {
        let connection = &mut self.connections[key];
        let Some(secured) = &mut connection.secured else { return false };
        let target = self.sessions[connection.session].target;
        let Some(tls) = &mut self.tls else { return false };
        let needs_tickets = matches!(tls.resumption, Resumption::Share(share) if share > 0.0);
        if !needs_tickets || !tls.pools[target].is_short() {
            return false;
        }
        secured.awaits_ticket = true;
        self.set_deadline(key, Some(now + self.plan.limits.tls_ticket_wait));
        true
    }

    /// Whether a connection only stays for a ticket.
    pub(super) fn awaits_ticket(&self, key: ConnectionKey) -> bool {
        self.connections[key].secured.as_ref().is_some_and(|secured| secured.awaits_ticket)
    }

    /// A connection stayed for a ticket long enough.
    pub(super) fn give_up_ticket(&mut self, key: ConnectionKey, now: Instant) {
        let session = self.connections[key].session;
        let target = self.sessions[session].target;
        if let Some(pool) = self.tls.as_mut().and_then(|tls| tls.pool(target)) {
            pool.handle_vain_wait();
        }
        self.end_session(session, true, now);
    }

    /// As `write_out`, for a connection that TLS secures.
    pub(super) fn write_out_secured(
        &mut self,
        key: ConnectionKey,
        buffer: &mut Vec<u8>,
        now: Instant,
    ) -> io::Result<()> {
        loop {
            self.seal_next(key, now);
            let Some(lent) = lend(&mut self.connections, &mut self.tls, key) else { return Ok(()) };
            buffer.clear();
            buffer.append(&mut mem::take(&mut lent.secured.unwritten));
            lent.lane.poll_transmit(buffer);
            if buffer.is_empty() {
                return Ok(());
            }
            let at = self.network.now();
            let pieces = [&buffer[..], &[]];
            let count = match sends::write(&mut self.network, &self.calls, lent.sends, lent.socket, pieces) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    lent.secured.unwritten.extend_from_slice(buffer);
                    return Ok(());
                }
                Err(error) => return Err(error),
            };
            lent.secured.unwritten.extend_from_slice(&buffer[count..]);
            let plaintext = lent.secured.outgoing.advance(count);
            self.note_sent(key, plaintext, at);
        }
    }

    /// Seals what the protocol has to send next, once all that was sealed before has gone out, and if it may go.
    fn seal_next(&mut self, key: ConnectionKey, now: Instant) {
        let may_be_early = self.plan.request.version != HttpVersion::Auto;
        let Some(lent) = lend(&mut self.connections, &mut self.tls, key) else { return };
        let secured = lent.secured;
        if secured.outgoing.plaintext > 0 {
            return;
        }
        let is_left = !secured.unsealed.is_empty();
        let mut plaintext = mem::take(if is_left { &mut secured.unsealed } else { &mut *lent.sealing });
        match (lent.stage, secured.client.early_data()) {
            _ if is_left => {}
            (Stage::Established, _) => {
                lent.engine.poll_transmit(at_instant(now), &mut plaintext);
            }
            // Before the server has chosen a protocol, it may be either.
            (Stage::Handshaking, EarlyData::Offered) if may_be_early => {
                lent.engine.poll_transmit_safe(at_instant(now), &mut plaintext);
            }
            (Stage::Connecting | Stage::Tunnelling | Stage::Handshaking, _) => {}
        }
        if plaintext.is_empty() {
            *lent.sealing = plaintext;
            return;
        }
        match secured.client.write(lent.lane, &plaintext) {
            Ok(count) => {
                secured.unsealed = plaintext.split_off(count);
                plaintext.clear();
                *lent.sealing = plaintext;
                if lent.stage == Stage::Handshaking {
                    secured.early = lent.engine.transmitted_count(secured.unsealed.len()) as u64;
                }
                let sealed = lent.lane.outgoing_size();
                secured.outgoing = Outgoing { control: secured.unwritten.len(), sealed, plaintext: count };
            }
            // Reading finds out why, and ends the connection.
            Err(_) => secured.unsealed = plaintext,
        }
    }

    /// Sends what waits on a connection that is about to go, as far as the socket takes it at once.
    fn send_last_words(&mut self, key: ConnectionKey) {
        let Some(lent) = lend(&mut self.connections, &mut self.tls, key) else { return };
        let mut last = mem::take(&mut lent.secured.unwritten);
        lent.lane.poll_transmit(&mut last);
        // The rest of a request that was given up stays unsent, and with it everything behind it.
        let is_cut = lent.secured.outgoing.sealed > 0;
        if !is_cut && !matches!(lent.stage, Stage::Connecting | Stage::Tunnelling) && !last.is_empty() {
            // A peer that does not take them does not miss them.
            let _: io::Result<usize> = self.network.write(lent.socket, [&last, &[]]);
        }
    }

    /// Says on a connection that is about to be closed that nothing more comes (close_notify).
    pub(super) fn say_goodbye(&mut self, key: ConnectionKey) {
        let Some(lent) = lend(&mut self.connections, &mut self.tls, key) else {
            self.say_last(key);
            return;
        };
        if lent.stage == Stage::Established && lent.secured.unsealed.is_empty() {
            let last = lent.engine.goodbye();
            if !last.is_empty() {
                // If it cannot be sealed, there is nobody to hear it.
                lent.secured.client.write(lent.lane, last).ok();
            }
        }
        lent.secured.client.close(lent.lane);
        self.send_last_words(key);
    }

    /// A request was sent completely: counts it if it is one that had been refused as early data.
    pub(super) fn note_replay(&mut self, key: ConnectionKey) {
        let connection = &mut self.connections[key];
        let Some(secured) = &mut connection.secured else { return };
        if secured.replays > 0 {
            secured.replays -= 1;
            let replayed = EarlyRequests { replayed: 1, ..EarlyRequests::default() };
            self.recorder.early_requests(connection.due, replayed);
        }
    }
}

/// What ciphertext on its way to the socket is made of: bytes of TLS itself, then sealed ones of requests, then
/// perhaps bytes of TLS again.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outgoing {
    /// Bytes before the first sealed one.
    control: usize,
    /// Sealed bytes, and the plaintext in them.
    sealed: usize,
    plaintext: usize,
}

impl Outgoing {
    /// The socket took `count` bytes. Returns how much plaintext went with them: of a chunk that was cut in
    /// proportion, but at least a byte, since it has begun, and not the last, since it has not ended.
    fn advance(&mut self, count: usize) -> usize {
        let control = count.min(self.control);
        let sealed = (count - control).min(self.sealed);
        let plaintext = match sealed {
            0 => 0,
            all if all == self.sealed => self.plaintext,
            part => (self.plaintext * part / self.sealed).max(1).min(self.plaintext - 1),
        };
        self.control -= control;
        self.sealed -= sealed;
        self.plaintext -= plaintext;
        plaintext
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plaintext_counts_as_sent_with_the_ciphertext_that_holds_it() {
        let mut outgoing = Outgoing { control: 10, sealed: 122, plaintext: 100 };
        assert_eq!(outgoing.advance(10), 0, "bytes of TLS itself");
        assert_eq!(outgoing.advance(1), 1, "the first byte shows that sending has begun");
        assert_eq!(outgoing.advance(60), 49);
        assert_eq!(outgoing.advance(60), 49, "the last byte goes with the last of the ciphertext");
        assert_eq!(outgoing.advance(20), 1, "what follows is of TLS itself");
        assert_eq!(outgoing, Outgoing::default());
    }

    #[test]
    fn a_single_byte_of_plaintext_goes_with_the_end_of_its_record() {
        let mut outgoing = Outgoing { control: 0, sealed: 23, plaintext: 1 };
        assert_eq!(outgoing.advance(22), 0);
        assert_eq!(outgoing.advance(1), 1);
    }
}
