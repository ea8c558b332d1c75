//! One connection from accept to close: TLS if configured, then HTTP/1 or HTTP/2.

use std::rc::Rc;

use crate::link::Link;
use crate::shared::Shared;
use crate::socket::Socket;
use crate::tls::stream::Stream;
use crate::transport::Transport;
use crate::wire::{self, Wire, within};
use crate::{http1, http2};

/// Serves a connection until either side closes it.
pub(crate) async fn run(transport: Transport, shared: Rc<Shared>) {
    let _open = shared.note_open();
    let link = Rc::new(Link::new(shared));
    let served = async {
        let mut wire = Wire::new(secure(transport, &link).await?, Rc::clone(&link));
        if http2::driver::is_wanted(&mut wire, &link).await? {
            // Boxed, as the room that this takes would burden connections of HTTP/1.
            Box::pin(http2::driver::serve(wire, &link)).await;
        } else {
            http1::driver::serve(wire, &link).await?;
        }
        Some(())
    };
    link.unless_idle(served).await;
}

/// Does the TLS handshake, if TLS is configured. `None` if it fails.
async fn secure(transport: Transport, link: &Rc<Link>) -> Option<Socket> {
    let Some(acceptor) = &link.shared.acceptor else { return Some(Socket::Plain(transport)) };
    // These fail only for want of memory.
    let mut stream = Stream::new(acceptor.ssl().ok()?, transport, Rc::clone(link)).ok()?;
    match stream.handshake().await {
        Ok(()) => Some(Socket::Tls(Box::new(stream))),
        Err(_) => {
            // A reset would keep the client from reading the alert that explains the failure.
            within(link.shared.config.limits.linger, wire::close(stream.silenced())).await;
            None
        }
    }
}
