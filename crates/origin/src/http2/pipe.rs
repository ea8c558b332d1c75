//! The wire of a connection as h2 uses it: frames are counted as they pass, and bytes can be inserted between them.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::mem;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::frames::{ACK, Frames, GOAWAY, PREFACE, RST_STREAM, SETTINGS};
use crate::link::Link;
use crate::wire::Wire;

/// A wire with scanners for the frames on it.
#[derive(Debug)]
pub(super) struct Pipe {
    wire: Wire,
    /// Bytes to write before the next frame of h2.
    inserted: BytesMut,
    received: Frames,
    sent: Frames,
    /// True if the client has acknowledged settings since the last query.
    has_new_settings: bool,
    link: Rc<Link>,
}

impl Pipe {
    /// Wraps a wire on which no byte of HTTP/2 has passed yet.
    pub(super) fn new(wire: Wire, link: Rc<Link>) -> Self {
        Self {
            wire,
            inserted: BytesMut::new(),
            received: Frames::behind(PREFACE.len()),
            sent: Frames::behind(0),
            has_new_settings: false,
            link,
        }
    }

    pub(super) fn into_wire(self) -> Wire {
        self.wire
    }

    /// Inserts bytes before the next frame. Must be called between two frames.
    pub(super) fn insert(&mut self, bytes: BytesMut) {
        self.inserted.unsplit(bytes);
    }

    /// Writes inserted bytes.
    pub(super) fn poll_insert(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.inserted.is_empty() {
            let size = ready!(Pin::new(&mut self.wire).poll_write(context, &self.inserted))?;
            self.inserted.advance(size);
        }
        Poll::Ready(Ok(()))
    }

    /// Returns true if the client has acknowledged settings since the last call.
    pub(super) fn take_new_settings(&mut self) -> bool {
        mem::take(&mut self.has_new_settings)
    }

    fn note_sent(&mut self, bytes: &[u8]) {
        let mut counts = self.link.shared.counts.borrow_mut();
        self.sent.pass(bytes, |kind, _| match kind {
            RST_STREAM => counts.streams_reset += 1,
            GOAWAY => counts.goaways_sent += 1,
            _ => {}
        });
    }

    fn note_received(&mut self, bytes: &[u8]) {
        let mut counts = self.link.shared.counts.borrow_mut();
        self.received.pass(bytes, |kind, flags| match kind {
            SETTINGS if flags & ACK != 0 => self.has_new_settings = true,
            RST_STREAM => counts.streams_reset_by_client += 1,
            GOAWAY => counts.goaways_received += 1,
            _ => {}
        });
    }
}

/// The handle through which h2 uses a pipe.
#[derive(Debug)]
pub(super) struct Access(pub(super) Rc<RefCell<Pipe>>);

impl AsyncRead for Access {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut pipe = self.0.borrow_mut();
        let before = buffer.filled().len();
        let poll = Pin::new(&mut pipe.wire).poll_read(context, buffer);
        pipe.note_received(&buffer.filled()[before..]);
        poll
    }
}

impl AsyncWrite for Access {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut pipe = self.0.borrow_mut();
        ready!(pipe.poll_insert(context))?;
        let size = ready!(Pin::new(&mut pipe.wire).poll_write(context, bytes))?;
        pipe.note_sent(&bytes[..size]);
        Poll::Ready(Ok(size))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut pipe = self.0.borrow_mut();
        ready!(pipe.poll_insert(context))?;
        let size = ready!(Pin::new(&mut pipe.wire).poll_write_vectored(context, slices))?;
        let mut left = size;
        for slice in slices {
            let part = left.min(slice.len());
            pipe.note_sent(&slice[..part]);
            left -= part;
        }
        Poll::Ready(Ok(size))
    }

    fn is_write_vectored(&self) -> bool {
        self.0.borrow().wire.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.borrow_mut().wire).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.borrow_mut().wire).poll_shutdown(context)
    }
}
