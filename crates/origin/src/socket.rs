//! The socket of a connection, bare or under TLS.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::tls::stream::Stream;
use crate::transport::Transport;

/// A socket, bare or under TLS with a completed handshake (or one that accepts early data).
#[derive(Debug)]
pub(crate) enum Socket {
    Plain(Transport),
    Tls(Box<Stream>),
}

impl Socket {
    /// Closes with a reset.
    pub(crate) fn reset(mut self) {
        self.silenced().reset_at_close();
    }

    /// Returns whether ALPN chose HTTP/2; `None` without TLS.
    pub(crate) fn has_chosen_http2(&self) -> Option<bool> {
        match self {
            Self::Plain(_) => None,
            Self::Tls(stream) => Some(stream.has_chosen_http2()),
        }
    }

    /// Returns the bare socket. TLS is abandoned without a close_notify.
    pub(crate) fn silenced(&mut self) -> &mut Transport {
        match self {
            Self::Plain(transport) => transport,
            Self::Tls(stream) => stream.silenced(),
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(transport) => Pin::new(transport).poll_read(context, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(transport) => Pin::new(transport).poll_write(context, bytes),
            Self::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(transport) => Pin::new(transport).poll_write_vectored(context, slices),
            Self::Tls(stream) => Pin::new(stream).poll_write_vectored(context, slices),
        }
    }

    /// Returns false under TLS, where each slice would become a record of its own.
    fn is_write_vectored(&self) -> bool {
        matches!(self, Self::Plain(_))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(transport) => Pin::new(transport).poll_flush(context),
            Self::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(transport) => Pin::new(transport).poll_shutdown(context),
            Self::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
