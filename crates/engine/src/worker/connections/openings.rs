//! The beginnings of connections: sockets, tunnels through a proxy, up to where TLS or calls follow.

use std::io;
use std::net::SocketAddr;

use httperf_plan::Endpoint;
use httperf_proto::Engine;
use httperf_stats::{CauseKind, Failure, HandshakeFailureClass, Instant};

use super::connection::Connection;
use super::reading::Step;
use super::resumption::KeptSession;
use super::transport::Transport;
use super::tunnel::Progress;
use super::{Connections, EventKind, Opening, outcomes, poll_key};
use crate::Network;
use crate::failure::{self, Awaits};
use crate::worker::run::Run;
use crate::worker::{CallKey, ConnectionKey};

impl<N: Network> Connections<N> {
    /// Initiates a connection.
    ///
    /// # Errors
    /// Why it cannot be: that is counted.
    #[inline(never)]
    pub(in crate::worker) fn open(
        &mut self,
        opening: Opening,
        run: &mut Run<'_>,
    ) -> Result<ConnectionKey, Failure> {
        let Opening { owner, target, due, .. } = opening;
        let serial = run.shard.nth(self.initiated);
        let (source, endpoint) = run.plan.route(serial, target);
        run.recorder.connection_opened(due);
        let over_quic = match endpoint {
            Endpoint::Tcp(server) => self.over_quic(target, *server, run.plan),
            Endpoint::Unix(_) => None,
        };
        let opened = match &over_quic {
            Some((server, _)) => self.network.open_datagrams(server),
            None => self.network.open(endpoint),
        };
        let socket = match opened {
            Ok(socket) => socket,
            Err(error) => {
                run.recorder.connection_closed(due, None);
                return Err(Self::fail_to_open(due, &error, run));
            }
        };
        run.recorder.connect_initiated(due, self.turn);
        self.initiated += 1;
        let now = self.network.now();
        let begun = self.begin_transport(socket, over_quic, opening, serial, now, run);
        let (transport, engine) = begun.inspect_err(|_| run.recorder.connection_closed(due, None))?;
        let key =
            self.connections.insert(Connection::new(transport, engine, owner, target, serial, due, now));
        let socket = self.connections[key].transport.socket();
        let connected = match &over_quic {
            Some((server, _)) => self.network.connect_datagrams(socket, poll_key(key), server, source),
            None => self.network.connect(socket, poll_key(key), endpoint, source),
        };
        if let Err(error) = connected {
            let failure = failure::of_io(&error, Awaits::Connect).class();
            if failure == Failure::AddressUnavailable
                && let Some(datagram) = self.connections[key].transport.datagram_mut()
            {
                // The lack of a local port is not the server's.
                datagram.offer = None;
            }
            self.record_insecure(key, failure, run);
            self.connections.remove(key);
            run.recorder.connection_closed(due, None);
            return Err(Self::fail_to_open(due, &error, run));
        }
        self.set_deadline(key, run.plan.timeouts.timeout.map(|limit| now + limit));
        Ok(key)
    }

    /// Begins what is between the socket of a connection and its calls: QUIC, TLS, or only the protocol.
    ///
    /// # Errors
    /// Why it cannot be: that is counted.
    fn begin_transport(
        &mut self,
        socket: N::Socket,
        over_quic: Option<(SocketAddr, Option<u16>)>,
        opening: Opening,
        serial: u64,
        now: Instant,
        run: &mut Run<'_>,
    ) -> Result<(Transport<N::Socket>, Engine), Failure> {
        let Opening { target: place, due, mut tls_session, .. } = opening;
        let target = &run.plan.targets[place];
        let (Some(shared), Some((server, offer))) = (&mut self.quic, over_quic) else {
            let secured = self.tls.as_mut().map(|tls| {
                let own = tls_session.take_if(|kept| matches!(kept, KeptSession::Tls(_)));
                Box::new(tls.secure(place, target, own, now))
            });
            return Ok((Transport::new(socket, secured), self.protocols.engine()));
        };
        let log = shared.log(serial, now - run.start());
        match shared.connect(place, target, server, serial, tls_session, log, now) {
            Ok((connection, offered)) => {
                if offer.is_some() {
                    run.recorder.http2(due, |http2| http2.alt_svc.get_or_insert_default().followed += 1);
                }
                let transport = Transport::over_datagrams(socket, offered, offer);
                Ok((transport, self.protocols.http3_engine(connection)))
            }
            Err(refusal) => {
                let cause = failure::of_tls(&refusal);
                let refused = outcomes::failed(HandshakeFailureClass::Protocol, refusal);
                self.alternative_failed(place, offer, due, refused.reason.clone(), run);
                run.recorder.handshake_failed(due, refused);
                let class = cause.class();
                run.recorder.failed(due, cause);
                Err(class)
            }
        }
    }

    /// A connection never came to be watched.
    fn fail_to_open(due: Instant, error: &io::Error, run: &mut Run<'_>) -> Failure {
        let cause = run.cause_of(error, Awaits::Connect);
        let class = cause.class();
        run.recorder.failed(due, cause);
        class
    }

    /// The socket is connected: asks a proxy for a tunnel, if there is to be one. It has as much time as the socket had.
    pub(super) fn connected(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        let connection = &mut self.connections[key];
        match &self.tunnels {
            Some(tunnels) => {
                connection.transport.start_tunnel(tunnels.open(connection.target));
                self.set_deadline(key, run.plan.timeouts.timeout.map(|limit| now + limit));
            }
            None => self.transport_ready(key, now, run),
        }
    }

    /// There is a way to the server. If TLS is to secure it, the handshake begins.
    fn transport_ready(&mut self, key: ConnectionKey, now: Instant, run: &mut Run<'_>) {
        let connection = &mut self.connections[key];
        if run.plan.recording.kernel_sends.is_some() {
            let waiting = connection.engine.pending().into_iter().map(CallKey::from);
            let asked = waiting.filter(|&call| run.plan.recording.asks_of(run.call(call).serial()));
            connection.transport.number_sent(&mut self.network, asked);
        }
        if connection.transport.is_secured() {
            self.start_handshake(key, now, run);
        } else {
            connection.establish(now, run);
            self.tell(key, EventKind::Established, now);
        }
    }

    /// Takes the bytes at the beginning of the buffer, of a proxy that was asked for a tunnel.
    pub(super) fn handle_tunnel_bytes(
        &mut self,
        key: ConnectionKey,
        bytes: &[u8],
        now: Instant,
        run: &mut Run<'_>,
    ) {
        let mut rest = bytes;
        let Some(tunnel) = self.connections[key].transport.tunnel_mut() else { return };
        self.reading.step = Step::Used;
        match tunnel.advance(&mut rest) {
            Progress::Pending => {}
            Progress::Open => {
                self.connections[key].transport.end_tunnel();
                self.transport_ready(key, now, run);
                // Bytes of the server may come right behind the reply of the proxy, before anything was sent to it.
                match &mut self.tls {
                    _ if rest.is_empty() => {}
                    Some(tls) if self.connections[key].transport.is_secured() => {
                        tls.room()[..rest.len()].copy_from_slice(rest);
                        self.handle_ciphertext(key, rest.len(), now, run);
                    }
                    _ => self.reading.fill(bytes.len() - rest.len(), bytes.len()),
                }
            }
            Progress::Refused(status) => {
                run.tunnel_refused(status);
                self.record_insecure_because(key, "the proxy refused a tunnel", run);
                self.fail(key, CauseKind::ProxyRefused.with(status.to_string()), now);
            }
            Progress::Failed(error) => {
                let class = failure::of_protocol(&error, Awaits::Tunnel).class();
                self.record_insecure(key, class, run);
                self.fail_protocol(key, &error, now, run);
            }
        }
    }
}
