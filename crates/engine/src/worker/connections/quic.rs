//! QUIC: how connections begin over it, and what they share.

use std::net::SocketAddr;
use std::time::Duration;

use httperf_plan::{Plan, Resumption, Target};
use httperf_proto::quic::{self, Context, Log, Ticket};
use httperf_proto::tls::Failure as Refusal;
use httperf_stats::{Instant, SocketBuffers};

use super::at_instant;
use super::connection::Connection;
use super::protocol::SocketFigures;
use super::qlog::Qlogs;
use super::resumption::{KeptSession, ResumptionPool};
use crate::Network;

/// The library's context, and the sessions that all QUIC connections of a worker share.
pub(super) struct Quic {
    context: Context,
    resumption: Resumption,
    /// For the connections of a connection workload, one per target.
    pools: Vec<ResumptionPool<Ticket>>,
    /// Decides, with the number of a connection, what is random in its packets.
    seed: u64,
    /// The buffers of the sockets, once they were asked for: all have the same.
    buffers: Option<SocketBuffers>,
    /// The files of `--qlog`, if it is given.
    qlogs: Option<Qlogs>,
}

impl Quic {
    pub(super) fn new(plan: &Plan, context: Context) -> Self {
        Self {
            context,
            resumption: plan.tls.as_ref().map_or(Resumption::Never, |tls| tls.resumption),
            pools: plan.targets.iter().map(|_| ResumptionPool::new(plan.limits.tls_sessions)).collect(),
            seed: u64::from(plan.client.index) << 32 | u64::from(plan.client.stream),
            buffers: None,
            qlogs: plan.quic.qlog.as_deref().map(Qlogs::new),
        }
    }

    /// Returns the log of a connection, if it is to have one. `at`: the time since the start of the run.
    pub(super) fn log(&mut self, serial: u64, at: Duration) -> Option<Log> {
        self.qlogs.as_mut()?.begin(serial, at)
    }

    /// Completes all logs. Returns how many lack something.
    pub(super) fn complete_logs(&mut self) -> u64 {
        self.qlogs.as_mut().map_or(0, Qlogs::complete)
    }

    /// Begins a connection to a target. `own`: the session that the plan's session has to resume. Returns it, and whether
    /// it offers a session to resume.
    #[expect(clippy::too_many_arguments, reason = "each is another part of what a connection begins with")]
    pub(super) fn connect(
        &mut self,
        place: usize,
        target: &Target,
        server: SocketAddr,
        serial: u64,
        own: Option<KeptSession>,
        log: Option<Log>,
        now: Instant,
    ) -> Result<(quic::Connection, bool), Refusal> {
        let ticket = match self.resumption {
            Resumption::Share(share) => self.pools[place].next(share),
            Resumption::WithinSession => own.and_then(KeptSession::quic),
            Resumption::Never => None,
        };
        let offers = ticket.is_some();
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.seed.to_le_bytes());
        seed[8..16].copy_from_slice(&serial.to_le_bytes());
        let name = target.tls_name.as_deref();
        let (context, now) = (&self.context, at_instant(now));
        let connection = match log {
            None => context.connect(now, server, name, seed, ticket)?,
            Some(log) => context.connect_logged(now, server, name, seed, ticket, log)?,
        };
        Ok((connection, offers))
    }

    /// Keeps sessions that the server at this place of the plan's targets has given. Returns the one that is not for
    /// other connections but for those of the same session of the plan.
    pub(super) fn keep(&mut self, place: usize, mut given: Vec<Ticket>) -> Option<KeptSession> {
        match self.resumption {
            Resumption::Share(_) => {
                self.pools[place].put(given);
                None
            }
            Resumption::WithinSession => given.pop().map(KeptSession::Quic),
            Resumption::Never => None,
        }
    }

    /// Returns whether a session of this target's server is worth waiting for.
    pub(super) fn needs_ticket(&self, place: usize) -> bool {
        let needs_tickets = matches!(self.resumption, Resumption::Share(share) if share > 0.0);
        needs_tickets && self.pools[place].is_short()
    }

    /// Returns the pool of a target, if the plan wants a share of connections to resume.
    pub(super) fn pool(&mut self, place: usize) -> Option<&mut ResumptionPool<Ticket>> {
        match self.resumption {
            Resumption::Share(_) => Some(&mut self.pools[place]),
            Resumption::Never | Resumption::WithinSession => None,
        }
    }
}

/// Returns the figures of a connection's socket since they were taken last; none of a socket that is no socket of datagrams.
pub(super) fn take_socket_figures<N: Network>(
    network: &mut N,
    shared: Option<&mut Quic>,
    connection: &mut Connection<N::Socket>,
) -> SocketFigures {
    if connection.transport.datagram().is_none() {
        return SocketFigures::default();
    }
    let socket = connection.transport.socket();
    let dropped = network.dropped_datagrams(socket);
    let buffers = shared.and_then(|shared| {
        shared.buffers = shared.buffers.or_else(|| network.buffers(socket));
        shared.buffers
    });
    let datagram = connection.transport.datagram_mut().expect("it was just there");
    datagram.take_socket_figures(dropped, buffers)
}
