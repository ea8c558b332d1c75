//! The way through a proxy by a tunnel, which each connection asks for before anything else travels on it (RFC 9110,
//! section 9.3.6).

use std::io;

use httperf_plan::{Plan, Proxy};
use httperf_proto::http1;
use httperf_proto::request::{Forward, Request, RequestParts};
use httperf_proto::{CallId, Event, ProtocolError, ReplyLimits};

use super::progress::{Write, taken};
use crate::Network;

/// The requests for tunnels, one for each target.
#[derive(Debug)]
pub(super) struct Tunnels {
    requests: Vec<Request>,
    limits: ReplyLimits,
}

/// A request for a tunnel on a connection to the proxy.
#[derive(Debug)]
pub(super) struct Tunnel {
    engine: http1::Engine,
}

/// Progress of a request for a tunnel.
pub(super) enum Progress {
    /// The reply is not complete.
    Pending,
    /// The tunnel is there: all further bytes are the server's.
    Open,
    /// The proxy refused, with this status.
    Refused(u16),
    /// The proxy breaks HTTP.
    Failed(ProtocolError),
}

impl Tunnels {
    /// Returns `None` unless the plan's connections ask the proxy for tunnels.
    pub(super) fn new(plan: &Plan, proxy: &Proxy, limits: ReplyLimits) -> Option<Self> {
        let connect = |target: &httperf_plan::Target| {
            let name = target.proxied_authority().to_string();
            let parts = RequestParts {
                method: b"CONNECT",
                user_agent: Some(&plan.request.user_agent),
                host: Some(&name),
                forward: Some(Forward { origin: "", authorization: proxy.authorization.as_deref() }),
                ..RequestParts::to(name.as_bytes())
            };
            parts.request()
        };
        proxy.tunnel.then(|| Self { requests: plan.targets.iter().map(connect).collect(), limits })
    }

    /// Returns the request for a tunnel to the target at this place.
    pub(super) fn open(&self, place: usize) -> Tunnel {
        let options = http1::Options { limits: self.limits, ..http1::Options::default() };
        let mut engine = http1::Engine::new(options);
        let request = self.requests[place].clone();
        engine.submit(CallId(0), request).expect("a fresh connection takes a request");
        Tunnel { engine }
    }
}

impl Tunnel {
    /// Writes the rest of the request, once.
    pub(super) fn write<N: Network>(
        &mut self,
        network: &mut N,
        socket: &N::Socket,
        buffer: &mut Vec<u8>,
    ) -> io::Result<Write> {
        let last = self.engine.poll_transmit_shared(buffer);
        if buffer.is_empty() && last.is_empty() {
            return Ok(Write::Idle);
        }
        let at = network.now();
        let count = taken(network.write(socket, [buffer, last]))?;
        self.engine.handle_written(count.unwrap_or_default());
        // Bytes that were not taken are handed out again.
        self.engine.handle_blocked();
        // None of these bytes are of the connection's own calls.
        Ok(if count.is_some() { Write::Sent { count: 0, at, is_all: true } } else { Write::Blocked })
    }

    /// Reads from `input`, which it shortens, up to the next progress.
    pub(super) fn advance(&mut self, input: &mut &[u8]) -> Progress {
        loop {
            return match self.engine.poll_event(input, &mut http1::HeaderCache::default()) {
                Ok(Some(Event::ReplyStarted { status, .. })) if !(200..300).contains(&status) => {
                    Progress::Refused(status)
                }
                // The rest of the request would end up at the server.
                Ok(Some(Event::ReplyDone { .. })) if self.engine.wants_write() => {
                    Progress::Failed(ProtocolError::Unsolicited)
                }
                Ok(Some(Event::ReplyDone { .. })) => Progress::Open,
                // Nothing else that ends a call happens over HTTP/1.
                Ok(Some(_)) => continue,
                Ok(None) => Progress::Pending,
                Err(error) => Progress::Failed(error),
            };
        }
    }
}
