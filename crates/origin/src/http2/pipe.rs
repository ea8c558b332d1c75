//! A connection's wire as h2 sees it: frames are counted as they go by, and bytes of ours can go between them.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::mem;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::PREFACE;
use crate::connection::Link;
use crate::wire::Wire;

/// The wire, and what is known of the frames on it.
#[derive(Debug)]
pub(super) struct Pipe {
    wire: Wire,
    /// Bytes that go before the next frame of h2.
    inserted: BytesMut,
    received: Frames,
    sent: Frames,
    /// Whether settings of ours came into force since that was last asked.
    has_new_settings: bool,
    link: Rc<Link>,
}

impl Pipe {
    /// A wire on which nothing of HTTP/2 has passed yet.
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

    /// Has these bytes written before anything else. To be called between two frames.
    pub(super) fn insert(&mut self, bytes: BytesMut) {
        self.inserted.unsplit(bytes);
    }

    /// Writes what was inserted.
    pub(super) fn poll_insert(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.inserted.is_empty() {
            let size = ready!(Pin::new(&mut self.wire).poll_write(context, &self.inserted))?;
            self.inserted.advance(size);
        }
        Poll::Ready(Ok(()))
    }

    /// Whether the client has acknowledged settings since this was last asked.
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

/// The size of what every frame begins with: three bytes of length, then type, flags, and four of the stream.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-4.1>
pub(super) const FRAME_HEADER_SIZE: usize = 9;

/// Types of frames: <https://www.rfc-editor.org/rfc/rfc9113#section-6>
pub(super) const DATA: u8 = 0x0;
pub(super) const HEADERS: u8 = 0x1;
const RST_STREAM: u8 = 0x3;
pub(super) const SETTINGS: u8 = 0x4;
const GOAWAY: u8 = 0x7;

/// A flag of SETTINGS: <https://www.rfc-editor.org/rfc/rfc9113#section-6.5>
const ACK: u8 = 0x1;

/// What a frame of this kind begins with.
pub(super) fn frame_header(kind: u8, flags: u8, stream: u32, size: usize) -> [u8; FRAME_HEADER_SIZE] {
    let [_, a, b, c] = u32::try_from(size).unwrap_or(u32::MAX).to_be_bytes();
    let [s, t, u, v] = stream.to_be_bytes();
    [a, b, c, kind, flags, s, t, u, v]
}

/// The size of what follows this beginning of a frame.
pub(super) fn payload_size(header: &[u8; FRAME_HEADER_SIZE]) -> usize {
    let [a, b, c, ..] = *header;
    u32::from_be_bytes([0, a, b, c]) as usize
}

/// Finds the frames in one direction of a connection, wherever its bytes are cut.
#[derive(Debug)]
struct Frames {
    header: [u8; FRAME_HEADER_SIZE],
    /// How much of it is there.
    filled: usize,
    /// Bytes before the next header.
    skipped: usize,
}

impl Frames {
    /// Frames that begin behind so many bytes.
    fn behind(skipped: usize) -> Self {
        Self { header: [0; FRAME_HEADER_SIZE], filled: 0, skipped }
    }

    /// Lets these bytes pass, and tells type and flags of each frame whose header ends in them.
    fn pass(&mut self, mut bytes: &[u8], mut found: impl FnMut(u8, u8)) {
        while !bytes.is_empty() {
            if self.skipped > 0 {
                let size = self.skipped.min(bytes.len());
                self.skipped -= size;
                bytes = &bytes[size..];
                continue;
            }
            let size = (FRAME_HEADER_SIZE - self.filled).min(bytes.len());
            let (part, rest) = bytes.split_at(size);
            self.header[self.filled..self.filled + size].copy_from_slice(part);
            self.filled += size;
            bytes = rest;
            if self.filled == FRAME_HEADER_SIZE {
                self.filled = 0;
                self.skipped = payload_size(&self.header);
                found(self.header[3], self.header[4]);
            }
        }
    }
}

/// What h2 holds of the pipe.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_found_wherever_their_bytes_are_cut() {
        let stream = [
            b"preface".as_slice(),
            &frame_header(SETTINGS, 0, 0, 6),
            &[7; 6],
            &frame_header(SETTINGS, ACK, 0, 0),
            &frame_header(DATA, 0, 1, 300),
            &[RST_STREAM; 300],
            &frame_header(GOAWAY, 0, 0, 8),
            &[0; 8],
        ]
        .concat();
        for first in 0..stream.len() {
            for second in [first, (first + 5).min(stream.len())] {
                let mut frames = Frames::behind(b"preface".len());
                let mut kinds = Vec::new();
                for part in [&stream[..first], &stream[first..second], &stream[second..]] {
                    frames.pass(part, |kind, flags| kinds.push((kind, flags)));
                }
                assert_eq!(
                    kinds,
                    [(SETTINGS, 0), (SETTINGS, ACK), (DATA, 0), (GOAWAY, 0)],
                    "cut at {first} and {second}"
                );
            }
        }
    }
}
