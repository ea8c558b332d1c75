//! One connection's protocol, whichever it is.

mod byte_stream;

use std::borrow::Cow;
use std::time::Duration;

pub use self::byte_stream::ByteStream;
use crate::counts::Counts;
use crate::http1::{self, HeaderCache};
use crate::http2::{self, PeerSettings};
use crate::http3;
use crate::quic;
use crate::request::Request;
use crate::{CallId, Code, Event, Foreign, ProtocolError, ReplySize, Reuse, Sent, Stall};

/// The protocol of one connection, as values: bytes in, bytes and events out. It never touches a socket or a clock.
///
/// Methods come in four kinds: getters, commands, `handle_*` for what happened, `poll_*` for what to do next. `now` is the time
/// since any fixed instant, the same for all calls of all methods. Differences between protocols are asked of the engine, never
/// of its variant:
///
/// * HTTP/1 answers [in order](Self::is_in_order), one call after the other, so its calls cannot be [cancelled](Self::cancel)
///   one by one.
/// * HTTP/2 and HTTP/3 give each call a stream: they have [streams](Self::open_streams), and wait for the peer to allow them
///   ([`Stall`]).
///
/// An engine has one of two shapes, with methods of their own. After a command or a `handle_*`, drain the `poll_*` that it
/// concerns.
///
/// # Over a stream of bytes
///
/// HTTP/1 and HTTP/2 do nothing by themselves as time passes, and their [bytes](Self::byte_stream) are a stream, which TLS may
/// protect.
///
/// | after | drain | until |
/// |---|---|---|
/// | [`submit`](Self::submit), [`cancel`](Self::cancel) | [`poll_transmit_shared`](ByteStream::poll_transmit_shared) | it has no bytes |
/// | the transport took bytes: [`handle_written`](ByteStream::handle_written) | [`poll_sent`](Self::poll_sent), then [`poll_stall`](Self::poll_stall) | `None` |
/// | the transport takes no more for now: [`handle_blocked`](ByteStream::handle_blocked) | nothing until it does | |
/// | bytes arrived | [`poll_event`](Self::poll_event) with them, then what is to be transmitted | `None` |
/// | the peer ended the transport: [`handle_eof`](ByteStream::handle_eof) | nothing: it is of no further use | |
///
/// Before the transport is closed, [`goodbye`](ByteStream::goodbye) has the last bytes for it.
///
/// # Over datagrams
///
/// HTTP/3 is a protocol over [datagrams](Self::datagrams_mut), with TLS inside and a timer.
///
/// | after | drain | until |
/// |---|---|---|
/// | [`submit`](Self::submit), [`cancel`](Self::cancel), [`close`](http3::Engine::close) | [`poll_datagrams`](http3::Engine::poll_datagrams) | `None` |
/// | datagrams were sent | [`poll_sent`](Self::poll_sent), then [`poll_stall`](Self::poll_stall) | `None` |
/// | datagrams arrived: [`handle_datagrams`](http3::Engine::handle_datagrams); its timer expired: [`handle_timeout`](http3::Engine::handle_timeout) | [`poll_progress`](http3::Engine::poll_progress), [`poll_event`](Self::poll_event) without bytes, then what is to be sent | `None` |
///
/// and ask for [`poll_timeout`](http3::Engine::poll_timeout) when all is drained.
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
    /// HTTP/3.
    Http3(Box<http3::Engine>),
}

/// A protocol that an [`Engine`] speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.0 or HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
    /// HTTP/3.
    Http3,
}

/// What all three engines do in the same words.
macro_rules! each {
    ($self:ident, $engine:ident => $call:expr) => {
        match $self {
            Engine::Http1($engine) => $call,
            Engine::Http2($engine) => $call,
            Engine::Http3($engine) => $call,
        }
    };
}

/// Returned by [`Engine::submit`] when no further call fits on the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

impl Engine {
    /// Makes a fresh connection that speaks HTTP/1.
    #[must_use]
    pub fn http1(options: http1::Options) -> Self {
        Self::Http1(http1::Engine::new(options))
    }

    /// Makes a fresh connection that speaks HTTP/2.
    #[must_use]
    pub fn http2(options: http2::Options) -> Self {
        Self::Http2(Box::new(http2::Engine::new(options)))
    }

    /// Makes a connection that speaks HTTP/3 over this one of QUIC, which has just begun.
    #[must_use]
    pub fn http3(quic: quic::Connection, options: http3::Options) -> Self {
        Self::Http3(Box::new(http3::Engine::new(quic, options)))
    }

    /// Returns the protocol that it speaks.
    #[must_use]
    pub fn protocol(&self) -> Protocol {
        match self {
            Self::Http1(_) => Protocol::Http1,
            Self::Http2(_) => Protocol::Http2,
            Self::Http3(_) => Protocol::Http3,
        }
    }

    /// Returns the number of further calls that the connection takes now.
    #[must_use]
    pub fn capacity(&self) -> usize {
        each!(self, engine => engine.capacity())
    }

    /// Returns whether it takes another call ([`Engine::capacity`]) that the peer allows a stream for, as far as is known.
    #[must_use]
    #[inline]
    pub fn has_room(&self) -> bool {
        match self {
            Self::Http1(engine) => engine.capacity() > 0,
            Self::Http2(engine) => engine.has_room(),
            Self::Http3(engine) => engine.has_room(),
        }
    }

    /// Returns whether the peer takes no further calls but still answers those under way ([`Event::Draining`]).
    #[must_use]
    pub fn is_draining(&self) -> bool {
        match self {
            Self::Http1(_) => false,
            Self::Http2(engine) => engine.is_draining(),
            Self::Http3(engine) => engine.is_draining(),
        }
    }

    /// Returns the code of the peer's last GOAWAY, if there was one with a code.
    #[must_use]
    pub fn goaway(&self) -> Option<Code> {
        match self {
            Self::Http2(engine) => engine.goaway().map(Code::Http2),
            Self::Http1(_) | Self::Http3(_) => None,
        }
    }

    /// Returns what the peer speaks, if the beginning of a reply that has arrived is none of the protocol.
    #[must_use]
    pub fn foreign(&self) -> Option<Foreign> {
        match self {
            Self::Http1(engine) => engine.foreign(),
            Self::Http2(_) | Self::Http3(_) => None,
        }
    }

    /// Returns the number of calls without a complete reply.
    #[must_use]
    pub fn pending_count(&self) -> usize {
        each!(self, engine => engine.pending_count())
    }

    /// Returns the number of calls that have a stream of their own; 0 where they share one.
    #[must_use]
    pub fn open_streams(&self) -> usize {
        match self {
            Self::Http1(_) => 0,
            Self::Http2(engine) => engine.open_streams(),
            Self::Http3(engine) => engine.open_streams(),
        }
    }

    /// Returns the calls whose end has not been reported. Nothing is allocated if there are none.
    #[must_use]
    pub fn pending(&self) -> Vec<CallId> {
        each!(self, engine => engine.pending().collect())
    }

    /// Returns the first call without a complete reply.
    #[must_use]
    pub fn front(&self) -> Option<CallId> {
        each!(self, engine => engine.front())
    }

    /// Returns whether replies come in the order of their calls, so that each waits for those before it, and
    /// whatever arrives is part of a reply.
    #[must_use]
    pub fn is_in_order(&self) -> bool {
        matches!(self, Self::Http1(_))
    }

    /// Returns whether the beginning of a header block has arrived but not its end, where replies come in order.
    #[must_use]
    pub fn has_partial_head(&self) -> bool {
        match self {
            Self::Http1(engine) => engine.has_partial_head(),
            Self::Http2(_) | Self::Http3(_) => false,
        }
    }

    /// Returns the header block of a request as it is sent here, before compression, in HTTP/1's form.
    #[must_use]
    pub fn request_head<'r>(&self, request: &'r Request) -> Cow<'r, [u8]> {
        match self {
            Self::Http1(_) => request.http1_head().into(),
            Self::Http2(_) | Self::Http3(_) => request.http2_head().into(),
        }
    }

    /// Returns the number of bytes of a request as it is sent here: those of
    /// [`request_head`](Self::request_head), and of its body.
    #[must_use]
    pub fn request_size(&self, request: &Request) -> u64 {
        match self {
            Self::Http1(_) => request.http1_size(),
            Self::Http2(_) | Self::Http3(_) => request.http2_size(),
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
            Self::Http3(engine) => engine.submit(now, call, request),
        }
    }

    /// Gives up a call that has no complete reply. Nothing more is reported of it. Returns false where replies come
    /// [in order](Self::is_in_order): such a call ends with its connection alone.
    #[must_use]
    pub fn cancel(&mut self, now: Duration, call: CallId) -> bool {
        match self {
            Self::Http1(_) => false,
            Self::Http2(engine) => {
                engine.cancel(now, call);
                true
            }
            Self::Http3(engine) => {
                engine.cancel(now, call);
                true
            }
        }
    }

    /// Ends the reply of a call whose body has begun, as if it was complete: nothing more of it is wanted. Returns its end; where
    /// replies come [in order](Self::is_in_order), the connection ends with it. `None` if another reply comes first.
    pub fn end_early(&mut self, now: Duration, call: CallId) -> Option<Event<'static>> {
        match self {
            Self::Http1(engine) => engine.end_early(call),
            Self::Http2(_) | Self::Http3(_) => {
                let is_cancelled = self.cancel(now, call);
                is_cancelled.then(|| Event::ReplyDone {
                    call,
                    size: ReplySize::default(),
                    reuse: Reuse::Keep,
                })
            }
        }
    }

    /// Reports the requests that the last [`ByteStream::handle_written`] began or completed, in order.
    #[inline]
    pub fn poll_sent(&mut self) -> Option<Sent> {
        each!(self, engine => engine.poll_sent())
    }

    /// Reports a call that had to wait for the peer, once the wait is over and before its last event.
    pub fn poll_stall(&mut self) -> Option<Stall> {
        match self {
            Self::Http1(_) => None,
            Self::Http2(engine) => engine.poll_stall(),
            Self::Http3(engine) => engine.poll_stall(),
        }
    }

    /// Returns whether there are bytes that the transport has not taken yet.
    #[must_use]
    pub fn wants_write(&self) -> bool {
        each!(self, engine => engine.wants_write())
    }

    /// Reads from `input`, which it shortens by what it used, up to the next event. `None` means that all of
    /// `input` was used and more is needed. `header_cache` is shared by all connections with the same options
    /// for HTTP/1.
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
            Self::Http3(engine) => engine.poll_event(now),
        }
    }

    /// Returns the value of `Server-Timing` in the last reply.
    #[must_use]
    pub fn server_timing(&self) -> &[u8] {
        each!(self, engine => engine.server_timing())
    }

    /// Returns the value of `Alt-Svc` in the reply that has just started, once: where replies come [in
    /// order](Self::is_in_order), at any time from [`Event::ReplyDone`] to the next call of
    /// [`poll_event`](Self::poll_event), elsewhere from [`Event::ReplyStarted`] on. Empty without one, or if the options do not ask
    /// for it.
    pub fn alt_svc(&mut self) -> &[u8] {
        match self {
            Self::Http1(engine) => engine.take_alt_svc(),
            Self::Http2(engine) => engine.alt_svc(),
            Self::Http3(engine) => engine.alt_svc(),
        }
    }

    /// Returns whether content arrived since this was called last, for which there may have been no event:
    /// there is none if nobody asks for bodies. Only where replies do not come [in order](Self::is_in_order).
    pub fn take_content_received(&mut self) -> bool {
        match self {
            Self::Http1(_) => false,
            Self::Http2(engine) => engine.take_content_received(),
            Self::Http3(engine) => engine.take_content_received(),
        }
    }

    /// Returns the settings of an HTTP/2 peer, once they have arrived.
    #[must_use]
    pub fn peer_settings(&self) -> Option<PeerSettings> {
        match self {
            Self::Http1(_) | Self::Http3(_) => None,
            Self::Http2(engine) => engine.peer_settings(),
        }
    }

    /// Returns counts since this was called last, if it has streams.
    pub fn take_counts(&mut self) -> Option<Counts> {
        match self {
            Self::Http1(_) => None,
            Self::Http2(engine) => Some(engine.take_counts()),
            Self::Http3(engine) => Some(engine.take_counts()),
        }
    }

    /// Returns what is about its bytes, if they are a stream.
    #[inline]
    pub fn byte_stream(&mut self) -> Option<ByteStream<'_>> {
        match self {
            Self::Http1(engine) => Some(ByteStream::Http1(engine)),
            Self::Http2(engine) => Some(ByteStream::Http2(engine)),
            Self::Http3(_) => None,
        }
    }

    /// Returns the engine over datagrams, if it is one, for what such engines do alone.
    #[must_use]
    pub fn datagrams(&self) -> Option<&http3::Engine> {
        match self {
            Self::Http1(_) | Self::Http2(_) => None,
            Self::Http3(engine) => Some(engine),
        }
    }

    /// Returns the same for changes.
    #[must_use]
    pub fn datagrams_mut(&mut self) -> Option<&mut http3::Engine> {
        match self {
            Self::Http1(_) | Self::Http2(_) => None,
            Self::Http3(engine) => Some(engine),
        }
    }

    /// Returns the connection of QUIC, if it has one, for what is known of it.
    #[must_use]
    pub fn quic(&self) -> Option<&quic::Connection> {
        self.datagrams().map(http3::Engine::quic)
    }
}
