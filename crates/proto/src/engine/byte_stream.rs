//! The bytes of a connection that are a stream.

use std::time::Duration;

use crate::{CallId, Event, ProtocolError, http1, http2};

/// Methods of an [`Engine`](crate::Engine) over a stream of bytes.
#[derive(Debug)]
pub enum ByteStream<'e> {
    /// HTTP/1.0 or HTTP/1.1.
    Http1(&'e mut http1::Engine),
    /// HTTP/2.
    Http2(&'e mut http2::Engine),
}

impl ByteStream<'_> {
    /// Sends bytes on the WebSocket of a call, if it has one.
    #[inline]
    pub fn send(&mut self, call: CallId, bytes: &[u8]) {
        match self {
            Self::Http1(engine) => engine.send(bytes),
            Self::Http2(engine) => engine.send(call, bytes),
        }
    }

    /// Returns the number of bytes sent on a call's WebSocket that the transport has not taken.
    #[must_use]
    #[inline]
    pub fn unsent(&self, call: CallId) -> usize {
        match self {
            Self::Http1(engine) => engine.unsent(),
            Self::Http2(engine) => engine.unsent(call),
        }
    }

    /// Completes a call whose WebSocket both sides have closed. [`poll_event`](crate::Engine::poll_event) reports it once it has no
    /// more input.
    pub fn finish(&mut self, now: Duration, call: CallId) {
        match self {
            Self::Http1(engine) => engine.finish(),
            Self::Http2(engine) => engine.finish(now, call),
        }
    }

    /// Appends bytes that are due to go out; returns whether it added any.
    pub fn poll_transmit(&mut self, now: Duration, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Http1(engine) => engine.poll_transmit(out),
            Self::Http2(engine) => append(out, engine.poll_transmit(now)),
        }
    }

    /// As [`poll_transmit`](Self::poll_transmit), up to the first request that is not safe.
    pub fn poll_transmit_safe(&mut self, now: Duration, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Http1(engine) => engine.poll_transmit_safe(out),
            Self::Http2(engine) => append(out, engine.poll_transmit_safe(now)),
        }
    }

    /// As [`poll_transmit`](Self::poll_transmit), but copies no more than it must: the bytes that it returns go out after
    /// those that it appended. Nothing is due if there are neither.
    #[inline]
    pub fn poll_transmit_shared(&mut self, now: Duration, out: &mut Vec<u8>) -> &[u8] {
        match self {
            Self::Http1(engine) => engine.poll_transmit_shared(out),
            Self::Http2(engine) => engine.poll_transmit(now),
        }
    }

    /// Returns the number of pending requests that have been handed out, at least in part, the last `unused`
    /// bytes aside.
    #[must_use]
    #[inline]
    pub fn transmitted_count(&self, unused: usize) -> usize {
        match self {
            Self::Http1(engine) => engine.transmitted_count(unused),
            Self::Http2(engine) => engine.transmitted_count(unused),
        }
    }

    /// Handles a transport that takes no more for now: hands out again what was handed out and not written.
    #[inline]
    pub fn handle_blocked(&mut self) {
        match self {
            Self::Http1(engine) => engine.handle_blocked(),
            Self::Http2(engine) => engine.handle_blocked(),
        }
    }

    /// Forgets that anything was sent: every pending request goes out again. Only before the peer's first byte.
    pub fn rewind(&mut self, now: Duration) {
        match self {
            Self::Http1(engine) => engine.rewind(),
            Self::Http2(engine) => engine.rewind(now),
        }
    }

    /// Records that the transport took the next `count` bytes.
    #[inline]
    pub fn handle_written(&mut self, count: usize) {
        match self {
            Self::Http1(engine) => engine.handle_written(count),
            Self::Http2(engine) => engine.handle_written(count),
        }
    }

    /// Returns the number of unwanted content bytes that come next and need not be read.
    #[must_use]
    #[inline]
    pub fn skippable(&self) -> u64 {
        match self {
            Self::Http1(engine) => engine.skippable(),
            Self::Http2(engine) => engine.skippable(),
        }
    }

    /// Records that `count` [skippable](Self::skippable) bytes were discarded.
    #[inline]
    pub fn handle_skipped(&mut self, count: u64) {
        match self {
            Self::Http1(engine) => engine.handle_skipped(count),
            Self::Http2(engine) => engine.handle_skipped(count),
        }
    }

    /// Returns whether the current reply lasts until the end of the connection.
    #[must_use]
    pub fn ends_with_connection(&self) -> bool {
        match self {
            Self::Http1(engine) => engine.ends_with_connection(),
            Self::Http2(_) => false,
        }
    }

    /// Handles the end of the peer's bytes.
    ///
    /// # Errors
    /// [`ProtocolError::Truncated`] when a reply was due or incomplete.
    pub fn handle_eof(&mut self) -> Result<Option<Event<'static>>, ProtocolError> {
        match self {
            Self::Http1(engine) => engine.handle_eof(),
            Self::Http2(engine) => engine.handle_eof().map(|()| None),
        }
    }

    /// Returns the last bytes for the peer before we close the connection.
    pub fn goodbye(&mut self) -> &[u8] {
        match self {
            Self::Http1(engine) => engine.goodbye(),
            Self::Http2(engine) => engine.goodbye(),
        }
    }
}

fn append(out: &mut Vec<u8>, bytes: &[u8]) -> bool {
    out.extend_from_slice(bytes);
    !bytes.is_empty()
}
