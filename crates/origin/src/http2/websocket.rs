//! A WebSocket on a stream (RFC 8441).

use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, Bytes};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::link::Link;
use crate::websocket::{End, Opening, converse};
use crate::wire::within;

/// Opens a WebSocket, and talks there until it ends.
pub(super) async fn open(
    body: RecvStream,
    mut respond: SendResponse<Bytes>,
    link: &Rc<Link>,
    opening: Opening,
) -> Result<(), h2::Error> {
    let stream = respond.send_response(opening.response(), false)?;
    let mut duplex = Duplex { body, stream, unread: Bytes::new() };
    let Opening { deflate, conversation, .. } = opening;
    match converse(&mut duplex, link, deflate, conversation).await {
        Ok(End::Closed) => {
            duplex.stream.send_data(Bytes::new(), true)?;
            // A client that has not ended its side would find its stream reset.
            within(link.shared.config.limits.linger, discard(&mut duplex.body)).await;
        }
        Ok(End::Cut) => duplex.stream.send_reset(Reason::CANCEL),
        // The client has reset the stream or left.
        Err(_) => {}
    }
    Ok(())
}

async fn discard(body: &mut RecvStream) {
    while let Some(Ok(_)) = body.data().await {}
}

/// Both directions of a stream, as bytes.
struct Duplex {
    body: RecvStream,
    stream: SendStream<Bytes>,
    /// What came and was not read.
    unread: Bytes,
}

impl AsyncRead for Duplex {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.unread.is_empty() {
            match ready!(this.body.poll_data(context)) {
                Some(data) => this.unread = data.map_err(io::Error::other)?,
                None => return Poll::Ready(Ok(())),
            }
        }
        let size = this.unread.len().min(buffer.remaining());
        buffer.put_slice(&this.unread[..size]);
        this.unread.advance(size);
        this.body.flow_control().release_capacity(size).map_err(io::Error::other)?;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Duplex {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let stream = &mut self.get_mut().stream;
        stream.reserve_capacity(bytes.len());
        while stream.capacity() == 0 {
            match ready!(stream.poll_capacity(context)) {
                Some(room) => drop(room.map_err(io::Error::other)?),
                None => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
            }
        }
        let size = stream.capacity().min(bytes.len());
        stream.send_data(Bytes::copy_from_slice(&bytes[..size]), false).map_err(io::Error::other)?;
        Poll::Ready(Ok(size))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
