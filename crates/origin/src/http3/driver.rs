//! HTTP/3 on one connection, from its handshake to its end.
//!
//! quinn speaks QUIC and the h3 crate HTTP/3, through a [`Pipe`]. Each request is a task of its own (`stream.rs`), which
//! leaves orders for the connection at a [`Desk`].

use std::rc::Rc;
use std::sync::Arc;

use h3::error::{Code, ConnectionError as Http3Error, LocalError};
use quinn::{Connecting, Connection, ConnectionError, ZeroRttAccepted};
use tokio::task::JoinSet;

use super::desk::{Desk, Order};
use super::pipe::{Pipe, var_int};
use super::session::Negotiated;
use super::socket::LossySocket;
use super::stream;
use crate::link::Link;
use crate::shared::Shared;
use crate::tls::counts::Handshake;
use crate::tls::settings::Tickets;

/// Serves a connection until either side closes it.
pub(super) async fn run(connecting: Connecting, shared: Rc<Shared>, socket: Arc<LossySocket>) {
    let _open = shared.note_open();
    let link = Rc::new(Link::new(shared));
    let served = async {
        serve(connecting, &link, &socket).await;
        Some(())
    };
    link.unless_idle(served).await;
}

async fn serve(mut connecting: Connecting, link: &Rc<Link>, socket: &Arc<LossySocket>) {
    let tls = link.shared.config.tls.as_ref();
    let mut tasks = JoinSet::new();
    let takes_early_data = tls.is_some_and(|tls| tls.tickets == Tickets::EarlyData);
    let meter = if takes_early_data && has_whole_hello(&mut connecting).await {
        // The server's side can be used before the handshake is complete, whether or not early data come.
        let Ok((connection, done)) = connecting.into_0rtt() else {
            unreachable!("quinn refuses this to clients only");
        };
        let meter = Rc::new(Meter { connection, link: Rc::clone(link) });
        tasks.spawn_local(count_when_established(done, Rc::clone(&meter)));
        meter
    } else {
        match connecting.await {
            Ok(connection) => {
                let meter = Rc::new(Meter { connection, link: Rc::clone(link) });
                meter.count_handshake();
                meter
            }
            Err(error) => return count_failure(&error, &link.shared),
        }
    };
    link.shared.counts.borrow_mut().connections_http3 += 1;
    drive(&meter.connection, link, socket, tasks).await;
}

/// Waits until the client's hello was answered. Returns false if that was by asking for another: no early data follow it then, and
/// until it is there the client has allowed no stream, of which quinn does not tell who waits for one.
async fn has_whole_hello(connecting: &mut Connecting) -> bool {
    let data = connecting.handshake_data().await;
    data.is_ok_and(|data| data.downcast::<Negotiated>().is_ok_and(|negotiated| !negotiated.is_retried))
}

/// Lets h3 serve the connection until it is over, or has to end in a way that h3 does not support.
async fn drive(connection: &Connection, link: &Rc<Link>, socket: &Arc<LossySocket>, mut tasks: JoinSet<()>) {
    let pipe = Pipe::new(connection.clone(), Rc::clone(link));
    let gate = pipe.gate();
    let mut builder = h3::server::builder();
    builder.max_field_section_size(HEADER_LIST_SIZE_MAX).send_grease(false);
    let Ok(mut server) = builder.build(pipe).await else { return };
    let desk = Rc::new(Desk::new(Rc::clone(link), connection.clone()));
    let mut is_going_away = false;
    loop {
        tokio::select! {
            biased;
            order = desk.order() => match order {
                Order::GoAway if is_going_away => {}
                Order::GoAway => {
                    is_going_away = true;
                    gate.close();
                    if server.shutdown(1).await.is_err() {
                        return;
                    }
                    link.shared.counts.borrow_mut().goaways_sent += 1;
                }
                Order::Close(code) => return connection.close(var_int(code), b""),
                Order::FallSilent => {
                    let _muted = socket.mute(connection.remote_address());
                    connection.closed().await;
                    return;
                }
            },
            accepted = server.accept() => match (accepted, gate.newest()) {
                (Ok(Some(request)), Some(handle)) => {
                    tasks.spawn_local(stream::answer(request, handle, Rc::clone(&desk)));
                }
                (Ok(_), _) => return,
                (Err(error), _) => return count_if_malformed(&error, link),
            },
            Some(_) = tasks.join_next() => {
                if is_going_away && tasks.is_empty() {
                    return connection.close(var_int(Code::H3_NO_ERROR), b"");
                }
            }
        }
    }
}

/// The largest header of a request, as HTTP/3 counts it. A larger one is answered 431.
const HEADER_LIST_SIZE_MAX: u64 = 1 << 20;

/// A connection whose frames are counted when it is over.
struct Meter {
    connection: Connection,
    link: Rc<Link>,
}

impl Meter {
    fn count_handshake(&self) {
        let negotiated = self.connection.handshake_data().and_then(|data| data.downcast::<Negotiated>().ok());
        let negotiated = negotiated.map_or_else(Negotiated::default, |negotiated| *negotiated);
        let stats = self.connection.stats();
        let handshake = Handshake {
            is_resumed: negotiated.is_resumed,
            early_data: self.early_data(negotiated),
            is_retried: negotiated.is_retried,
            has_client_certificate: !negotiated.is_resumed && self.connection.peer_identity().is_some(),
            // QUIC has no handshake without it.
            has_protocol: true,
            version: "TLSv1.3",
            cipher: negotiated.cipher,
            group: negotiated.group,
            bytes_received: stats.udp_rx.bytes,
            bytes_sent: stats.udp_tx.bytes,
        };
        self.link.shared.counts.borrow_mut().tls.add(&handshake);
    }

    /// Leaves out early data at a server that takes none, as over TCP.
    fn early_data(&self, negotiated: Negotiated) -> Option<bool> {
        let tls = self.link.shared.config.tls.as_ref()?;
        negotiated.early_data.filter(|_| tls.tickets == Tickets::EarlyData)
    }
}

impl Drop for Meter {
    fn drop(&mut self) {
        let stats = self.connection.stats();
        let mut counts = self.link.shared.counts.borrow_mut();
        counts.streams_reset += stats.frame_tx.reset_stream;
        counts.streams_reset_by_client += stats.frame_rx.reset_stream;
        counts.stops_sent += stats.frame_tx.stop_sending;
        counts.stops_received += stats.frame_rx.stop_sending;
    }
}

/// Counts a handshake, which requests may have overtaken.
async fn count_when_established(done: ZeroRttAccepted, meter: Rc<Meter>) {
    // A server's result says nothing.
    let _: bool = done.await;
    match meter.connection.close_reason() {
        // The client may have closed right behind its handshake.
        Some(error) if meter.connection.stats().frame_tx.handshake_done == 0 => {
            count_failure(&error, &meter.link.shared);
        }
        _ => meter.count_handshake(),
    }
}

/// Counts a handshake that failed, by its reason.
pub(super) fn count_failure(error: &ConnectionError, shared: &Shared) {
    let reason = match error {
        ConnectionError::TransportError(error) if error.reason.is_empty() => error.code.to_string(),
        ConnectionError::TransportError(error) => error.reason.clone(),
        ConnectionError::ConnectionClosed(close) => format!("closed by the client: {}", close.error_code),
        ConnectionError::ApplicationClosed(_) => "closed by the client".to_owned(),
        other => other.to_string(),
    };
    *shared.counts.borrow_mut().tls.failed.entry(reason).or_default() += 1;
}

/// Counts a connection that h3 ends for an error of the client.
fn count_if_malformed(error: &Http3Error, link: &Link) {
    if let Http3Error::Local { error: LocalError::Application { .. }, .. } = error
        && !error.is_h3_no_error()
    {
        link.shared.counts.borrow_mut().requests_malformed += 1;
    }
}
