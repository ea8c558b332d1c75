//! The way through an HTTP proxy: requests in absolute form, or a tunnel that each connection asks for before anything
//! else travels on it (RFC 9110, section 9.3.6).

use std::io;

use httperf_plan::{Authority, Plan, Proxy, Target};
use httperf_proto::http1;
use httperf_proto::request::{Forward, Request, RequestParts};
use httperf_proto::{CallId, Event, ProtocolError};
use httperf_stats::{Failure, Instant};

use super::connections::Stage;
use super::{ConnectionKey, Worker};
use crate::{Network, Observation, failure};

/// What connections need to get through a proxy, one for each target.
#[derive(Debug)]
pub(super) enum Proxied {
    /// Requests name the server: what they begin with.
    Forwarded { origins: Vec<String>, authorization: Option<String> },
    /// Connections ask for a tunnel to the server: the request.
    Tunnelled(Vec<Request>),
}

impl Proxied {
    pub(super) fn new(plan: &Plan, proxy: &Proxy) -> Self {
        let authorities = plan.targets.iter().map(authority);
        if !proxy.tunnel {
            let origins = authorities.map(|authority| authority.http_origin()).collect();
            return Self::Forwarded { origins, authorization: proxy.authorization.clone() };
        }
        let connect = |authority: Authority| {
            let name = authority.to_string();
            let head = RequestParts {
                method: b"CONNECT",
                user_agent: Some(&plan.request.user_agent),
                host: Some(&name),
                forward: Some(Forward { origin: "", authorization: proxy.authorization.as_deref() }),
                ..RequestParts::to(name.as_bytes())
            };
            head.tunnel_request()
        };
        Self::Tunnelled(authorities.map(connect).collect())
    }

    /// What a request to this target needs.
    pub(super) fn forward(&self, target: usize) -> Option<Forward<'_>> {
        match self {
            Self::Forwarded { origins, authorization } => {
                Some(Forward { origin: &origins[target], authorization: authorization.as_deref() })
            }
            Self::Tunnelled(_) => None,
        }
    }
}

/// What a proxy is to call this server.
fn authority(target: &Target) -> Authority {
    let own = || Authority { host: target.host.clone(), port: target.port().unwrap_or_default() };
    target.authority.clone().unwrap_or_else(own)
}

impl<N: Network> Worker<'_, '_, N> {
    /// What to ask the proxy for a tunnel with, if this connection is to have one.
    pub(super) fn tunnel_request(&self, key: ConnectionKey) -> Option<Request> {
        match self.proxied.as_ref()? {
            Proxied::Forwarded { .. } => None,
            Proxied::Tunnelled(requests) => {
                let session = self.connections[key].session;
                Some(requests[self.sessions[session].target].clone())
            }
        }
    }

    /// The transport to the proxy is there: asks for a tunnel. It has as much time as the transport had.
    pub(super) fn start_tunnel(&mut self, key: ConnectionKey, request: Request, now: Instant) {
        let options = http1::Options { limits: self.http1.limits, ..http1::Options::default() };
        let mut engine = http1::Engine::new(options);
        engine.submit(CallId(0), request).expect("a fresh connection takes a request");
        let connection = &mut self.connections[key];
        (connection.stage, connection.tunnel) = (Stage::Tunnelling, Some(Box::new(engine)));
        self.set_deadline(key, self.plan.timeouts.timeout.map(|limit| now + limit));
    }

    /// As `write_out`, for the request for a tunnel.
    pub(super) fn write_out_tunnel(&mut self, key: ConnectionKey, buffer: &mut Vec<u8>) -> io::Result<()> {
        let connection = &mut self.connections[key];
        let Some(tunnel) = &mut connection.tunnel else { return Ok(()) };
        loop {
            buffer.clear();
            let last = tunnel.poll_transmit_shared(buffer);
            if buffer.is_empty() && last.is_empty() {
                return Ok(());
            }
            let written = self.network.write(&connection.socket, [buffer, last]);
            let count = match written {
                Ok(count) => Some(count),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => Some(0),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
                Err(error) => return Err(error),
            };
            tunnel.handle_written(count.unwrap_or_default());
            // What was not taken is handed out again.
            tunnel.handle_blocked();
            if count.is_none() {
                return Ok(());
            }
        }
    }

    /// Bytes came from the proxy that was asked for a tunnel.
    pub(super) fn handle_tunnel_bytes(&mut self, key: ConnectionKey, bytes: &[u8], now: Instant) {
        let mut input = bytes;
        while let Some(tunnel) = &mut self.connections[key].tunnel {
            let error = match tunnel.poll_event(&mut input, &mut http1::HeaderCache::default()) {
                Ok(Some(Event::ReplyStarted { status, .. })) if !(200..300).contains(&status) => {
                    self.refuse_tunnel(key, status, now);
                    return;
                }
                // What is left of the request would end up at the server.
                Ok(Some(Event::ReplyDone { .. })) if tunnel.wants_write() => ProtocolError::Unsolicited,
                Ok(Some(Event::ReplyDone { .. })) => {
                    self.connections[key].tunnel = None;
                    continue;
                }
                Ok(Some(Event::BadStatusLine { line, .. })) => {
                    self.observer.observe(Observation::BadStatusLine { line: &line });
                    continue;
                }
                // Nothing else that ends a call happens over HTTP/1.
                Ok(Some(_)) => continue,
                Ok(None) => return,
                Err(error) => error,
            };
            self.note_insecure(key, failure::of_protocol(&error));
            self.fail_protocol(key, &error, now);
            return;
        }
        self.transport_ready(key, now);
        if !input.is_empty() && self.connections.contains_key(key) {
            self.handle_first_bytes(key, input, now);
        }
        self.flush(key, now);
    }

    /// Bytes of the server came right behind the reply of the proxy, and before anything was sent to it.
    fn handle_first_bytes(&mut self, key: ConnectionKey, bytes: &[u8], now: Instant) {
        match &mut self.tls {
            Some(tls) if self.connections[key].secured.is_some() => {
                tls.room()[..bytes.len()].copy_from_slice(bytes);
                self.handle_ciphertext(key, bytes.len(), now);
            }
            _ => self.handle_bytes(key, bytes, now),
        }
    }

    fn refuse_tunnel(&mut self, key: ConnectionKey, status: u16, now: Instant) {
        if !std::mem::replace(&mut self.told.tunnel_refused, true) {
            self.observer.observe(Observation::TunnelRefused { status });
        }
        self.note_insecure_because(key, "the proxy refused a tunnel");
        self.fail(key, Failure::Other, now);
    }
}
