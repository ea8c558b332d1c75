//! The TLS side of connections: handshake, sealing, sessions to resume, and early data.

use std::mem;

use httperf_plan::{HttpVersion, Plan, Resumption, Target};
use httperf_proto::ByteStream;
use httperf_proto::tls::{self, Client, Context, EarlyData, Lane, Progress, Session};
use httperf_stats::{EarlyRequests, Instant};

use super::at_instant;
use super::progress::Stage;
use super::resumption::{KeptSession, ResumptionPool};
use crate::worker::READ_SIZE;

/// The library's context, and the buffers and sessions that all secured connections of a worker share.
pub(super) struct Tls {
    context: Context,
    /// Lent to one connection at a time, and empty of bytes to send in between.
    lane: Lane,
    /// Bytes about to be sealed; empty in between.
    sealing: Vec<u8>,
    resumption: Resumption,
    /// For the connections of a connection workload, one per target.
    pools: Vec<ResumptionPool>,
}

impl Tls {
    pub(super) fn new(plan: &Plan, context: Context) -> Self {
        Self {
            context,
            lane: Lane::new(READ_SIZE),
            sealing: Vec::new(),
            resumption: plan.tls.as_ref().map_or(Resumption::Never, |tls| tls.resumption),
            pools: plan.targets.iter().map(|_| ResumptionPool::new(plan.limits.tls_sessions)).collect(),
        }
    }

    /// Returns the TLS side of a new connection to a target. `own`: the session that the plan's session has to resume.
    pub(super) fn secure(
        &mut self,
        place: usize,
        target: &Target,
        own: Option<KeptSession>,
        now: Instant,
    ) -> Secured {
        let offer = match self.resumption {
            Resumption::Never => None,
            Resumption::WithinSession => own.and_then(KeptSession::tls),
            Resumption::Share(share) => self.pools[place].next(share),
        };
        let name = target.tls_name.as_deref();
        let client = Client::new(&self.context, name, target.address(), offer.as_ref());
        Secured {
            client,
            started: now,
            offered: offer.is_some(),
            unwritten: Vec::new(),
            unsealed: Vec::new(),
            outgoing: Outgoing::default(),
            early: 0,
            replays: 0,
            awaits_ticket: false,
        }
    }

    /// Returns the room for ciphertext that arrives, [`READ_SIZE`] bytes.
    pub(super) fn room(&mut self) -> &mut [u8] {
        self.lane.room()
    }

    /// Takes the `count` bytes at the beginning of the room.
    pub(super) fn fill(&mut self, count: usize) {
        self.lane.fill(count);
    }

    /// Drops ciphertext that a connection which failed has left: it must not meet the next.
    pub(super) fn discard(&mut self) {
        self.lane.discard();
    }

    pub(super) fn resumes(&self) -> bool {
        self.resumption != Resumption::Never
    }

    /// Keeps sessions that the server at this place of the plan's targets has given. Returns the one that is not for
    /// other connections but for those of the same session of the plan.
    pub(super) fn keep(&mut self, place: usize, mut given: Vec<Session>) -> Option<KeptSession> {
        match self.pool(place) {
            Some(pool) => {
                pool.put(given);
                None
            }
            None => given.pop().map(KeptSession::Tls),
        }
    }

    /// The server made a full handshake though a session was offered.
    pub(super) fn handle_refusal(&mut self, place: usize) {
        if let Some(pool) = self.pool(place) {
            pool.handle_refusal();
        }
    }

    /// A handshake failed, or never began. `offered`: with a session.
    pub(super) fn handle_failure(&mut self, place: usize, offered: bool) {
        if let Some(pool) = self.pool(place) {
            pool.handle_failure(offered);
        }
    }

    /// A connection waited for a ticket, and none came.
    pub(super) fn handle_vain_wait(&mut self, place: usize) {
        if let Some(pool) = self.pool(place) {
            pool.handle_vain_wait();
        }
    }

    /// Returns whether a ticket of this target's server is worth waiting for.
    pub(super) fn needs_ticket(&self, place: usize) -> bool {
        let needs_tickets = matches!(self.resumption, Resumption::Share(share) if share > 0.0);
        needs_tickets && self.pools[place].is_short()
    }

    /// Returns the pool of a target, if the plan wants a share of connections to resume.
    fn pool(&mut self, place: usize) -> Option<&mut ResumptionPool> {
        match self.resumption {
            Resumption::Share(_) => Some(&mut self.pools[place]),
            Resumption::Never | Resumption::WithinSession => None,
        }
    }
}

/// The TLS side of a connection.
pub(super) struct Secured {
    client: Client,
    /// The beginning of the handshake.
    started: Instant,
    /// A session was offered for resumption.
    offered: bool,
    /// Ciphertext that the socket did not take.
    unwritten: Vec<u8>,
    /// Plaintext that early data had no room for.
    unsealed: Vec<u8>,
    /// The parts of the ciphertext on its way to the socket.
    outgoing: Outgoing,
    /// Requests that travelled as early data.
    early: u64,
    /// Those of them that are still to be sent again.
    replays: u64,
    /// It only stays for a session ticket that others need.
    awaits_ticket: bool,
}

impl Secured {
    /// Begins the handshake.
    pub(super) fn start(&mut self, at: Instant) {
        self.started = at;
    }

    pub(super) fn started(&self) -> Instant {
        self.started
    }

    /// Returns whether a session was offered for resumption.
    pub(super) fn offered(&self) -> bool {
        self.offered
    }

    /// Returns the TLS connection, to ask for the facts of its handshake.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// Returns the protocol that the server has chosen (ALPN), once it has.
    pub(super) fn protocol(&self) -> Option<&[u8]> {
        self.client.handshake().protocol
    }

    /// Returns whether there is ciphertext that the socket did not take.
    pub(super) fn has_unwritten(&self) -> bool {
        !self.unwritten.is_empty()
    }

    /// Goes on with the handshake. Bytes to send join the unwritten ones. After
    /// [`EarlyDataRejected`](Progress::EarlyDataRejected) every request is to be sent again.
    pub(super) fn advance(&mut self, tls: &mut Tls) -> Result<Progress, tls::Failure> {
        let progress = self.client.advance(&mut tls.lane);
        tls.lane.poll_transmit(&mut self.unwritten);
        if let Ok(Progress::EarlyDataRejected) = progress {
            self.unsealed.clear();
            self.outgoing = Outgoing::default();
            self.replays = self.early;
        }
        progress
    }

    /// Opens ciphertext into `plaintext`.
    pub(super) fn read(&mut self, tls: &mut Tls, plaintext: &mut [u8]) -> Result<tls::Read, tls::Failure> {
        let read = self.client.read(&mut tls.lane, plaintext);
        // An answer to a key update waits here, so that no other connection finds it in the lane.
        tls.lane.poll_transmit(&mut self.unwritten);
        read
    }

    /// Returns the sessions that the server has given since this was called last.
    pub(super) fn take_sessions(&mut self) -> Vec<Session> {
        self.client.take_sessions()
    }

    /// Returns the fate of requests sent as early data, once it is known.
    pub(super) fn early_requests(&self) -> Option<EarlyRequests> {
        match self.client.early_data() {
            EarlyData::Accepted => Some(EarlyRequests { accepted: self.early, ..EarlyRequests::default() }),
            EarlyData::Rejected => Some(EarlyRequests { rejected: self.early, ..EarlyRequests::default() }),
            EarlyData::None | EarlyData::Offered => None,
        }
    }

    /// A request was sent completely. Returns whether it is one that had been refused as early data.
    pub(super) fn take_replay(&mut self) -> bool {
        let is_replay = self.replays > 0;
        self.replays -= u64::from(is_replay);
        is_replay
    }

    /// Stays open only for a ticket from now on.
    pub(super) fn await_ticket(&mut self) {
        self.awaits_ticket = true;
    }

    pub(super) fn awaits_ticket(&self) -> bool {
        self.awaits_ticket
    }

    /// Seals the next bytes of the protocol, once all that was sealed before has gone out, and if they may go.
    pub(super) fn seal(
        &mut self,
        tls: &mut Tls,
        stream: &mut ByteStream<'_>,
        stage: Stage,
        now: Instant,
        plan: &Plan,
    ) {
        if self.outgoing.plaintext > 0 {
            return;
        }
        let is_left = !self.unsealed.is_empty();
        let mut plaintext = mem::take(if is_left { &mut self.unsealed } else { &mut tls.sealing });
        match (stage, self.client.early_data()) {
            _ if is_left => {}
            (Stage::Established, _) => {
                stream.poll_transmit(at_instant(now), &mut plaintext);
            }
            // Before the server has chosen a protocol, it may be either.
            (Stage::Handshaking, EarlyData::Offered) if plan.request.version != HttpVersion::Auto => {
                stream.poll_transmit_safe(at_instant(now), &mut plaintext);
            }
            (Stage::Connecting | Stage::Tunnelling | Stage::Handshaking, _) => {}
        }
        if plaintext.is_empty() {
            tls.sealing = plaintext;
            return;
        }
        match self.client.write(&mut tls.lane, &plaintext) {
            Ok(count) => {
                self.unsealed = plaintext.split_off(count);
                plaintext.clear();
                tls.sealing = plaintext;
                if stage == Stage::Handshaking {
                    self.early = stream.transmitted_count(self.unsealed.len()) as u64;
                }
                let sealed = tls.lane.outgoing_size();
                self.outgoing = Outgoing { control: self.unwritten.len(), sealed, plaintext: count };
            }
            // Reading finds out why, and ends the connection.
            Err(_) => self.unsealed = plaintext,
        }
    }

    /// Appends the ciphertext that is to go out.
    pub(super) fn poll_transmit(&mut self, tls: &mut Tls, out: &mut Vec<u8>) {
        out.append(&mut mem::take(&mut self.unwritten));
        tls.lane.poll_transmit(out);
    }

    /// The socket took `count` of these bytes. Returns the plaintext that went with them.
    pub(super) fn handle_written(&mut self, bytes: &[u8], count: usize) -> usize {
        self.unwritten.extend_from_slice(&bytes[count..]);
        self.outgoing.advance(count)
    }

    /// The socket took none of these bytes.
    pub(super) fn handle_blocked(&mut self, bytes: &[u8]) {
        self.unwritten.extend_from_slice(bytes);
    }

    /// Returns the last bytes of a connection that is about to go.
    pub(super) fn last_words(&mut self, tls: &mut Tls, stage: Stage) -> Vec<u8> {
        let mut last = mem::take(&mut self.unwritten);
        tls.lane.poll_transmit(&mut last);
        // The rest of a request that was given up stays unsent, and with it everything behind it.
        let is_cut = self.outgoing.sealed > 0;
        if is_cut || matches!(stage, Stage::Connecting | Stage::Tunnelling) {
            last.clear();
        }
        last
    }

    /// Says that nothing more comes: the last bytes of the protocol, then close_notify.
    pub(super) fn close(&mut self, tls: &mut Tls, stage: Stage, stream: &mut ByteStream<'_>) {
        if stage == Stage::Established && self.unsealed.is_empty() {
            let last = stream.goodbye();
            if !last.is_empty() {
                // If it cannot be sealed, there is nobody to hear it.
                self.client.write(&mut tls.lane, last).ok();
            }
        }
        self.client.close(&mut tls.lane);
    }
}

/// The parts of the ciphertext on its way to the socket: bytes of TLS itself, then sealed requests, then perhaps bytes of
/// TLS again.
#[derive(Debug, Default, PartialEq, Eq)]
struct Outgoing {
    /// Bytes before the first sealed one.
    control: usize,
    /// Sealed bytes, and the plaintext in them.
    sealed: usize,
    plaintext: usize,
}

impl Outgoing {
    /// The socket took `count` bytes. Returns the plaintext that went with them: in proportion for a chunk that was cut,
    /// but at least a byte, since it has begun, and never the last, since it has not ended.
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
