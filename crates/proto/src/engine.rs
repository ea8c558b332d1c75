//! The protocols of a connection behind one face.

use std::time::Duration;

use crate::http1::{self, HeaderCache};
use crate::http2;
use crate::request::Request;
use crate::{CallId, Event, ProtocolError, Sent};

/// Returned by [`Engine::submit`] when no further call fits on the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// One connection's worth of whatever protocol it speaks. The methods are those of [`http1::Engine`] and of
/// [`http2::Engine`], where they are described.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "connections of HTTP/1 come and go with their calls: none is to allocate"
)]
pub enum Engine {
    /// HTTP/1.0 or HTTP/1.1.
    Http1(http1::Engine),
    /// HTTP/2.
    Http2(Box<http2::Engine>),
}

impl Engine {
    /// How many more calls the connection takes now.
    #[must_use]
    pub fn capacity(&self) -> usize {
        match self {
            Self::Http1(engine) => engine.capacity(),
            Self::Http2(engine) => engine.capacity(),
        }
    }

    /// How many calls have no complete reply.
    #[must_use]
    pub fn pending_count(&self) -> usize {
        match self {
            Self::Http1(engine) => engine.pending_count(),
            Self::Http2(engine) => engine.pending_count(),
        }
    }

    /// The calls without a complete reply, in order.
    #[must_use]
    pub fn pending(&self) -> Vec<CallId> {
        match self {
            Self::Http1(engine) => engine.pending().collect(),
            Self::Http2(engine) => engine.pending().collect(),
        }
    }

    /// The first of them.
    #[must_use]
    pub fn front(&self) -> Option<CallId> {
        match self {
            Self::Http1(engine) => engine.front(),
            Self::Http2(engine) => engine.front(),
        }
    }

    /// Whether replies come in the order of their calls, so that each waits for those before it.
    #[must_use]
    pub fn is_in_order(&self) -> bool {
        matches!(self, Self::Http1(_))
    }

    /// Whether a part of a header block has arrived, and its end has not, where replies come in order.
    #[must_use]
    pub fn has_partial_head(&self) -> bool {
        match self {
            Self::Http1(engine) => engine.has_partial_head(),
            Self::Http2(_) => false,
        }
    }

    /// Adds a call.
    ///
    /// # Errors
    /// [`Full`] when [`Engine::capacity`] is 0.
    pub fn submit(&mut self, now: Duration, call: CallId, request: Request) -> Result<(), Full> {
        match self {
            Self::Http1(engine) => engine.submit(call, request),
            Self::Http2(engine) => engine.submit(now, call, request),
        }
    }

    /// Appends bytes that are due to go out; returns whether it added any.
    pub fn poll_transmit(&mut self, now: Duration, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Http1(engine) => engine.poll_transmit(out),
            Self::Http2(engine) => append(out, engine.poll_transmit(now)),
        }
    }

    /// As [`Engine::poll_transmit`], up to the first request that is not safe.
    pub fn poll_transmit_safe(&mut self, now: Duration, out: &mut Vec<u8>) -> bool {
        match self {
            Self::Http1(engine) => engine.poll_transmit_safe(out),
            Self::Http2(engine) => append(out, engine.poll_transmit_safe(now)),
        }
    }

    /// As [`Engine::poll_transmit`], but copies no more than it must: what comes back is to go out after what was appended.
    /// Nothing is due if neither has anything.
    pub fn poll_transmit_shared(&mut self, now: Duration, out: &mut Vec<u8>) -> &[u8] {
        match self {
            Self::Http1(engine) => engine.poll_transmit_shared(out),
            Self::Http2(engine) => engine.poll_transmit(now),
        }
    }

    /// How many pending requests have been handed out, at least in part, if the last `unused` bytes do not count.
    #[must_use]
    pub fn transmitted_count(&self, unused: usize) -> usize {
        match self {
            Self::Http1(engine) => engine.transmitted_count(unused),
            Self::Http2(engine) => engine.transmitted_count(unused),
        }
    }

    /// What was handed out and not written is to be handed out again.
    pub fn handle_blocked(&mut self) {
        match self {
            Self::Http1(engine) => engine.handle_blocked(),
            Self::Http2(engine) => engine.handle_blocked(),
        }
    }

    /// Every pending request is to go out again.
    pub fn rewind(&mut self, now: Duration) {
        match self {
            Self::Http1(engine) => engine.rewind(),
            Self::Http2(engine) => engine.rewind(now),
        }
    }

    /// The transport took the next `count` bytes.
    pub fn handle_written(&mut self, count: usize) {
        match self {
            Self::Http1(engine) => engine.handle_written(count),
            Self::Http2(engine) => engine.handle_written(count),
        }
    }

    /// What the last [`Engine::handle_written`] began or completed, in order.
    pub fn poll_sent(&mut self) -> Option<Sent> {
        match self {
            Self::Http1(engine) => engine.poll_sent(),
            Self::Http2(engine) => engine.poll_sent(),
        }
    }

    /// The value of `Server-Timing` in the last reply.
    #[must_use]
    pub fn server_timing(&self) -> &[u8] {
        match self {
            Self::Http1(engine) => engine.server_timing(),
            Self::Http2(engine) => engine.server_timing(),
        }
    }

    /// Whether there are bytes that the transport has not taken yet.
    #[must_use]
    pub fn wants_write(&self) -> bool {
        match self {
            Self::Http1(engine) => engine.wants_write(),
            Self::Http2(engine) => engine.wants_write(),
        }
    }

    /// Reads from `input` up to the next event. `header_cache`: of all connections that speak HTTP/1 with the same options.
    ///
    /// # Errors
    /// When the peer breaks the protocol; the connection is then of no further use.
    pub fn poll_event<'a>(
        &mut self,
        now: Duration,
        input: &mut &'a [u8],
        header_cache: &mut HeaderCache,
    ) -> Result<Option<Event<'a>>, ProtocolError> {
        match self {
            Self::Http1(engine) => engine.poll_event(input, header_cache),
            Self::Http2(engine) => engine.poll_event(now, input),
        }
    }

    /// How many of the bytes that come next need not be read.
    #[must_use]
    pub fn skippable(&self) -> u64 {
        match self {
            Self::Http1(engine) => engine.skippable(),
            Self::Http2(engine) => engine.skippable(),
        }
    }

    /// So many of them came.
    pub fn handle_skipped(&mut self, count: u64) {
        match self {
            Self::Http1(engine) => engine.handle_skipped(count),
            Self::Http2(engine) => engine.handle_skipped(count),
        }
    }

    /// Whether the reply at hand ends with the connection.
    #[must_use]
    pub fn ends_with_connection(&self) -> bool {
        match self {
            Self::Http1(engine) => engine.ends_with_connection(),
            Self::Http2(_) => false,
        }
    }

    /// The peer sends nothing more.
    ///
    /// # Errors
    /// [`ProtocolError::Truncated`] when a reply was due or incomplete.
    pub fn handle_eof(&mut self) -> Result<Option<Event<'static>>, ProtocolError> {
        match self {
            Self::Http1(engine) => engine.handle_eof(),
            Self::Http2(engine) => engine.handle_eof().map(|()| None),
        }
    }

    /// What to say when we close the connection.
    pub fn goodbye(&mut self) -> &[u8] {
        match self {
            Self::Http1(_) => &[],
            Self::Http2(engine) => engine.goodbye(),
        }
    }
}

fn append(out: &mut Vec<u8>, bytes: &[u8]) -> bool {
    out.extend_from_slice(bytes);
    !bytes.is_empty()
}
