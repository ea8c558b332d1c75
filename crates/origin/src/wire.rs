//! A connection's socket as hyper and h2 use it: it counts bytes, knows whether it is blocked, and can be taken back.

use std::future::Future;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf as _, Bytes};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::time::timeout;

use crate::link::Link;
use crate::socket::Socket;
use crate::transport::Transport;

/// A socket with the bytes that were read from it too early.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: Socket,
    /// Bytes put back, which are read before anything from the socket.
    unread: Bytes,
    link: Rc<Link>,
}

impl Wire {
    pub(crate) fn new(socket: Socket, link: Rc<Link>) -> Self {
        Self { socket, unread: Bytes::new(), link }
    }

    /// Puts back bytes that were read too early.
    pub(crate) fn put_back(&mut self, bytes: Bytes) {
        self.unread =
            if self.unread.is_empty() { bytes } else { [bytes, self.unread.clone()].concat().into() };
    }

    /// Returns whether ALPN chose HTTP/2; `None` without TLS.
    pub(crate) fn has_chosen_http2(&self) -> Option<bool> {
        self.socket.has_chosen_http2()
    }

    /// Closes with a reset.
    pub(crate) fn reset(self) {
        self.socket.reset();
    }

    /// Closes in order: ends the sending side, then reads until the client closes too. A close with unread bytes would
    /// become a reset and could cost the client its reply. The caller bounds the time.
    pub(crate) async fn close(mut self) {
        if self.shutdown().await.is_err() {
            return;
        }
        self.discard().await;
    }

    /// Closes as [`Wire::close`] does, but without the close_notify of TLS, whose absence shows that something was cut
    /// off.
    pub(crate) async fn cut(mut self) {
        close(self.socket.silenced()).await;
    }

    /// Reads and discards until the client closes.
    pub(crate) async fn discard(&mut self) {
        discard(self).await;
    }
}

/// Closes a socket in order, as [`Wire::close`] does. The caller bounds the time.
pub(crate) async fn close(transport: &mut Transport) {
    if transport.shutdown().await.is_ok() {
        discard(transport).await;
    }
}

/// Awaits a future for a limited time.
pub(crate) async fn within(limit: Duration, future: impl Future<Output = ()>) {
    // Either way the connection is over.
    let _: Result<(), tokio::time::error::Elapsed> = timeout(limit, future).await;
}

async fn discard(source: &mut (impl AsyncRead + Unpin)) {
    let mut nowhere = [0; 4096];
    while source.read(&mut nowhere).await.is_ok_and(|size| size > 0) {}
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if !this.unread.is_empty() {
            let size = this.unread.len().min(buffer.remaining());
            buffer.put_slice(&this.unread[..size]);
            this.unread.advance(size);
            if this.unread.is_empty() {
                // An idle connection keeps no buffer.
                this.unread = Bytes::new();
            }
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        let poll = Pin::new(&mut this.socket).poll_read(context, buffer);
        this.link.note_read(buffer.filled().len() - before);
        poll
    }
}

impl AsyncWrite for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.link.note_reply();
        let poll = Pin::new(&mut this.socket).poll_write(context, bytes);
        this.link.note_write(&poll);
        poll
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        this.link.note_reply();
        let poll = Pin::new(&mut this.socket).poll_write_vectored(context, slices);
        this.link.note_write(&poll);
        poll
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().socket).poll_shutdown(context)
    }
}
