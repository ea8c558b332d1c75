//! The state of a connection, and the end of its streams.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::counts::Counts;
use super::error::ErrorCode;
use super::frame::{Limits as FrameLimits, Place, Reader};
use super::peer::PeerStream;
use super::sections::Sections;
use super::{Options, PeerSettings};
use crate::counts::count;
use crate::numbered::Numbered;
use crate::quic::{self, StreamId};
use crate::request::Request;
use crate::tls;
use crate::{Awaited, CallId, Event, ProtocolError, ReplySize, Sent, Stall};

/// The HTTP/3 of one connection: what [`Engine`](super::Engine) has, as its parts see it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) quic: quic::Connection,
    pub(super) options: Options,
    pub(super) phase: Phase,
    /// The present, as the owner said last.
    pub(super) now: Duration,
    /// Steps of the handshake that the owner does not know of.
    pub(super) progress: VecDeque<tls::Progress>,
    /// Calls with a stream, numbered as QUIC numbers these streams.
    pub(super) calls: Numbered<Call>,
    /// Calls that wait for a stream, in order.
    pub(super) waiting: VecDeque<Waiting>,
    /// A stream for the next call, which the peer does not know of yet: one is opened ahead, as QUIC does not tell how many
    /// more the peer allows.
    pub(super) next_stream: Option<StreamId>,
    /// The peer may allow another stream.
    pub(super) has_room: bool,
    /// Calls with more of a request to send, whose turn it is.
    pub(super) uploads: VecDeque<u64>,
    pub(super) own: OwnStreams,
    pub(super) peer_streams: Vec<PeerStream>,
    /// The kinds of streams that a peer opens once, as far as it has.
    pub(super) has_opened: Vec<super::uni::StreamType>,
    /// Streams that may have something to read.
    pub(super) readable: VecDeque<StreamId>,
    /// Bytes that were read and are not used up.
    pub(super) reading: Option<(StreamId, Bytes)>,
    /// Calls whose header block waits for the table of header compression, each with the insertions that it needs.
    pub(super) blocked: Vec<(u64, u64)>,
    /// Calls whose header block need not wait any longer.
    pub(super) unblocked: VecDeque<StreamId>,
    pub(super) sections: Sections,
    pub(super) peer: Option<PeerSettings>,
    /// The last identifier of a GOAWAY frame.
    pub(super) goaway: Option<u64>,
    pub(super) sent: VecDeque<Sent>,
    pub(super) pending_events: VecDeque<Event<'static>>,
    /// The connection is gone, which counts once all that arrived before has been read.
    pub(super) loss: Option<quic::Loss>,
    /// The reason why the connection failed, reported after the pending events.
    pub(super) failure: Option<ProtocolError>,
    /// The owner knows that no call is left and none is taken.
    pub(super) end_announced: bool,
    pub(super) stalls: VecDeque<Stall>,
    pub(super) counts: Counts,
    /// Requests that were sent before the handshake was complete.
    pub(super) early: u64,
    pub(super) resets_in_a_row: u32,
    pub(super) idle_frames: u32,
    pub(super) unknown_streams: u32,
    /// Content arrived since the owner last asked.
    pub(super) content_received: bool,
}

/// The life of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It takes calls, which go out once the handshake allows.
    Open,
    /// The peer takes no further calls.
    Draining,
    /// Nothing more is expected of the peer.
    Closed,
}

/// A call that has a stream.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) call: CallId,
    pub(super) request: Request,
    pub(super) id: StreamId,
    pub(super) upload: Upload,
    /// `None` while it is in use.
    pub(super) reader: Option<Reader>,
    pub(super) reply: Reply,
    /// A header block that waits for the table, and the bytes that follow it.
    pub(super) held: Option<Held>,
    /// The time since when the peer's windows block its request, if they do.
    pub(super) blocked_since: Option<Duration>,
    /// The time for which they did before.
    pub(super) window_wait: Duration,
}

/// What waits for the table of header compression.
#[derive(Debug)]
pub(super) struct Held {
    pub(super) block: Vec<u8>,
    pub(super) rest: Bytes,
}

/// The state of a request.
#[derive(Debug)]
pub(super) enum Upload {
    /// Bytes of frames are left, and of a body behind them.
    Going { frames: Bytes, body: Bytes },
    /// All of it was handed on, or the peer wants no more.
    Done,
}

/// The state of a reply.
#[derive(Debug)]
pub(super) enum Reply {
    /// The header block has not arrived.
    Head {
        /// The number of interim replies so far.
        interim: u32,
    },
    /// The content has begun.
    Body(Body),
    /// The trailers have arrived.
    Trailers(Body),
}

/// What is known of a reply whose content has begun.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) size: ReplySize,
    /// The content length, if it is known.
    pub(super) expected: Option<u64>,
    /// The `server-timing` of its header block, if it is wanted and there is one.
    pub(super) server_timing: Option<Box<[u8]>>,
    /// It is handed out as it comes.
    pub(super) hands_out: bool,
}

/// A call that waits for a stream.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) call: CallId,
    pub(super) request: Request,
    /// The time since when the peer is the cause.
    pub(super) since: Option<Duration>,
}

/// The streams that we alone send on.
#[derive(Debug, Default)]
pub(super) struct OwnStreams {
    pub(super) control: Option<StreamId>,
    pub(super) decoder: Option<StreamId>,
    /// What they have not taken yet.
    pub(super) control_bytes: Vec<u8>,
    pub(super) decoder_bytes: Vec<u8>,
}

impl Call {
    /// The peer's windows do not block its request any more, or it has nothing left to send.
    pub(super) fn end_wait(&mut self, now: Duration) {
        if let Some(since) = self.blocked_since.take() {
            self.window_wait += now - since;
        }
    }
}

impl Connection {
    pub(super) fn new(quic: quic::Connection, options: Options) -> Self {
        Self {
            quic,
            options,
            phase: Phase::Open,
            now: Duration::ZERO,
            progress: VecDeque::new(),
            calls: Numbered::new(),
            waiting: VecDeque::new(),
            next_stream: None,
            has_room: true,
            uploads: VecDeque::new(),
            own: OwnStreams::default(),
            peer_streams: Vec::new(),
            has_opened: Vec::new(),
            readable: VecDeque::new(),
            reading: None,
            blocked: Vec::new(),
            unblocked: VecDeque::new(),
            sections: Sections::new(options.header_table, options.limits.reply, options.wanted_fields()),
            peer: None,
            goaway: None,
            sent: VecDeque::new(),
            pending_events: VecDeque::new(),
            loss: None,
            failure: None,
            end_announced: false,
            stalls: VecDeque::new(),
            counts: Counts::default(),
            early: 0,
            resets_in_a_row: 0,
            idle_frames: 0,
            unknown_streams: 0,
            content_received: false,
        }
    }

    /// Returns how many calls have no complete reply.
    pub(super) fn pending_count(&self) -> usize {
        self.calls.len() + self.waiting.len()
    }

    /// Returns the reader of a request's stream.
    pub(super) fn reader(&self) -> Reader {
        let limits = self.options.limits;
        let limits = FrameLimits { section_size: limits.reply.head_size, payload_size: limits.control_frame };
        Reader::new(Place::Request, limits)
    }

    /// Removes a call that has ended, whatever is left of its stream.
    pub(super) fn remove(&mut self, number: u64) -> Option<Call> {
        let mut call = self.calls.remove(number)?;
        // The socket may not have taken a datagram since: nothing more is reported of a call that has ended.
        self.sent.retain(|sent| sent.call() != call.call);
        call.end_wait(self.now);
        if !call.window_wait.is_zero() {
            let stall = Stall { call: call.call, what: Awaited::Window, time: call.window_wait };
            self.stalls.push_back(stall);
        }
        if call.held.take().is_some() {
            self.blocked.retain(|&(blocked, _)| blocked != number);
        }
        if self.reading.as_ref().is_some_and(|(id, _)| *id == call.id) {
            self.reading = None;
        }
        Some(call)
    }

    /// Gives up both directions of a call's stream, for a reason that is counted.
    pub(super) fn abandon(&mut self, call: &Call, code: ErrorCode, reason: &'static str) {
        self.quic.stop(call.id, code.0);
        if !matches!(call.upload, Upload::Done) {
            self.quic.reset(call.id, code.0);
        }
        self.sections.decoder().cancel(call.id.number());
        count(&mut self.counts.resets_sent, reason);
    }

    pub(super) fn cancel(&mut self, call: CallId) {
        if let Some(place) = self.waiting.iter().position(|waiting| waiting.call == call) {
            if let Some(Waiting { since: Some(since), .. }) = self.waiting.remove(place) {
                self.stalls.push_back(Stall { call, what: Awaited::Stream, time: self.now - since });
            }
            return;
        }
        let event_count = self.pending_events.len();
        self.pending_events.retain(|event| event.call() != Some(call));
        if self.pending_events.len() < event_count {
            self.end_announced = self.pending_events.iter().any(|event| {
                matches!(event, Event::Drained | Event::ReplyDone { reuse: crate::Reuse::Close, .. })
            });
            self.announce_end();
        }
        let found = self.calls.iter().find(|(_, its)| its.call == call).map(|(number, _)| number);
        if let Some(number) = found
            && let Some(call) = self.remove(number)
        {
            self.abandon(&call, ErrorCode::H3_REQUEST_CANCELLED, "no reply in time");
            self.announce_end();
        }
    }

    /// Returns whether the connection takes no further calls and has none left.
    pub(super) fn is_at_end(&self) -> bool {
        self.phase != Phase::Open && self.pending_count() == 0
    }

    /// Reports once that this is so.
    pub(super) fn announce_end(&mut self) {
        if self.is_at_end() && !self.end_announced {
            self.end_announced = true;
            self.pending_events.push_back(Event::Drained);
        }
    }
}
