//! The state of a connection, and the end of its streams.

use std::collections::VecDeque;
use std::time::Duration;

use super::flow::{INITIAL_WINDOW_SIZE, ReceiveWindow, SendWindow};
use super::frame::{ErrorCode, RstStream};
use super::hpack::{DEFAULT_TABLE_SIZE, Decoder, Encoder};
use super::outgoing::Outgoing;
use super::reply::HeaderDecoder;
use super::streams::{Queue, Stream, Streams, Upload};
use super::{Options, PeerSettings};
use crate::counts::{Counts, count};
use crate::request::Request;
use crate::{Awaited, CallId, Event, ProtocolError, Reuse, Stall};

/// The number of streams assumed before the peer's settings arrive: the least that a peer is asked to allow.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-6.5.2-2.6.1>
const ASSUMED_MAX_STREAMS: u32 = 100;

/// The number of our own resets that are remembered, as frames of those streams may still be on their way.
pub(super) const RESETS_REMEMBERED: usize = 10_000;

/// All of an engine except its frame reader, whose frames this handles.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) options: Options,
    pub(super) phase: Phase,
    pub(super) streams: Streams,
    /// Calls that wait for a stream, in order, each with the time since when the peer is the cause.
    pub(super) waiting: VecDeque<(CallId, Request, Option<Duration>)>,
    /// Streams with more of a body to send: those whose turn comes, and those that only the connection's
    /// window blocks.
    pub(super) uploads: VecDeque<u32>,
    pub(super) connection_blocked: VecDeque<u32>,
    pub(super) outgoing: Outgoing,
    pub(super) encoder: Encoder,
    pub(super) header_decoder: HeaderDecoder,
    /// The last request encoded and its header block, valid while the encoder's table stays unchanged.
    pub(super) encoded: Option<Encoded>,
    pub(super) block: Vec<u8>,
    /// A header block that continues in the next frame.
    pub(super) partial: Option<PartialBlock>,
    pub(super) send_window: SendWindow,
    pub(super) receive_window: ReceiveWindow,
    pub(super) peer: PeerSettings,
    /// The peer has said its settings.
    pub(super) has_settings: bool,
    /// True if the peer has acknowledged our settings.
    pub(super) is_acknowledged: bool,
    pub(super) pending_events: VecDeque<Event<'static>>,
    /// The reason why the connection failed, reported after the pending events.
    pub(super) failure: Option<ProtocolError>,
    /// The code of the peer's last GOAWAY.
    pub(super) goaway: Option<ErrorCode>,
    /// The owner knows that no call is left and none is taken.
    pub(super) end_announced: bool,
    pub(super) stalls: VecDeque<Stall>,
    pub(super) counts: Counts,
    /// The streams that ended here last before the peer ended them: those that we reset, and WebSockets.
    pub(super) reset_streams: VecDeque<u32>,
    pub(super) resets_in_a_row: u32,
    pub(super) idle_frames: u32,
    /// The DATA frame being read has content, not only padding.
    pub(super) frame_has_content: bool,
    /// Content arrived since the owner last asked.
    pub(super) content_received: bool,
    /// The first bytes of the peer, until it is clear that they are HTTP/2.
    pub(super) first_bytes: Vec<u8>,
}

/// The life of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing has been sent.
    New,
    /// Our preface and settings are on their way.
    Opened,
    /// The peer's settings have arrived.
    Established,
    /// The peer takes no further streams.
    Draining,
    /// Nothing more is expected of the peer; whatever arrives is ignored.
    Closed,
}

#[derive(Debug)]
pub(super) struct Encoded {
    pub(super) request: Request,
    /// The version of the encoder's table.
    pub(super) changes: u64,
    pub(super) block: Vec<u8>,
    pub(super) plain: u64,
}

#[derive(Debug)]
pub(super) struct PartialBlock {
    pub(super) stream: u32,
    pub(super) end_stream: bool,
    pub(super) bytes: Vec<u8>,
    pub(super) continuations: u32,
}

impl Connection {
    pub(super) fn new(options: Options) -> Self {
        let decoder = Decoder::new(options.header_table.max(DEFAULT_TABLE_SIZE));
        Self {
            options,
            phase: Phase::New,
            streams: Streams::new(),
            waiting: VecDeque::new(),
            uploads: VecDeque::new(),
            connection_blocked: VecDeque::new(),
            outgoing: Outgoing::default(),
            encoder: Encoder::new(DEFAULT_TABLE_SIZE),
            header_decoder: HeaderDecoder::new(decoder, options.limits.reply, options.wanted_fields()),
            encoded: None,
            block: Vec::new(),
            partial: None,
            send_window: SendWindow::new(INITIAL_WINDOW_SIZE),
            receive_window: ReceiveWindow::new(options.connection_window),
            peer: PeerSettings::default(),
            has_settings: false,
            is_acknowledged: false,
            pending_events: VecDeque::new(),
            failure: None,
            goaway: None,
            end_announced: false,
            stalls: VecDeque::new(),
            counts: Counts::default(),
            reset_streams: VecDeque::new(),
            resets_in_a_row: 0,
            idle_frames: 0,
            frame_has_content: false,
            content_received: false,
            first_bytes: Vec::new(),
        }
    }

    /// Returns how many streams the peer allows at once.
    pub(super) fn streams_max(&self) -> usize {
        let at_first = matches!(self.phase, Phase::New | Phase::Opened).then_some(ASSUMED_MAX_STREAMS);
        self.peer.max_streams.or(at_first).map_or(usize::MAX, |count| count as usize)
    }

    /// Returns how many further calls find a stream identifier, those that wait aside.
    pub(super) fn numbers_left(&self) -> usize {
        self.streams.left().saturating_sub(self.waiting.len())
    }

    /// Removes a stream that has ended.
    pub(super) fn close(&mut self, now: Duration, id: u32) -> Option<Stream> {
        let mut stream = self.streams.close(id)?;
        if let Some(since) = stream.blocked_since.take() {
            stream.window_wait += now - since;
        }
        if !stream.window_wait.is_zero() {
            let time = stream.window_wait;
            self.stalls.push_back(Stall { call: stream.call, what: Awaited::Window, time });
        }
        if let Upload::Body { queue, .. } = stream.upload {
            match queue {
                Queue::Turn => self.uploads.retain(|&waiting| waiting != id),
                Queue::Connection => self.connection_blocked.retain(|&waiting| waiting != id),
                Queue::Stream => {}
            }
        }
        self.outgoing.forget(stream.call);
        Some(stream)
    }

    /// Sends RST_STREAM for a stream.
    pub(super) fn reset(&mut self, id: u32, code: ErrorCode, reason: &'static str) {
        RstStream { stream: id, code }.write(self.outgoing.buffer());
        count(&mut self.counts.resets_sent, reason);
        self.remember(id);
    }

    /// Takes note of a stream that has ended here, and of which frames may still be on their way.
    pub(super) fn remember(&mut self, id: u32) {
        if self.reset_streams.len() == RESETS_REMEMBERED {
            self.reset_streams.pop_front();
        }
        self.reset_streams.push_back(id);
    }

    pub(super) fn cancel(&mut self, now: Duration, call: CallId) {
        if let Some(place) = self.waiting.iter().position(|&(waiting, ..)| waiting == call) {
            if let Some((_, _, Some(since))) = self.waiting.remove(place) {
                self.stalls.push_back(Stall { call, what: Awaited::Stream, time: now - since });
            }
            return;
        }
        let event_count = self.pending_events.len();
        self.pending_events.retain(|event| event.call() != Some(call));
        if self.pending_events.len() < event_count {
            let tells_end = |event: &Event<'_>| {
                matches!(event, Event::Drained | Event::ReplyDone { reuse: Reuse::Close, .. })
            };
            self.end_announced = self.pending_events.iter().any(tells_end);
            self.announce_end();
        }
        if let Some(id) = self.streams.find(call) {
            self.close(now, id);
            self.reset(id, ErrorCode::CANCEL, "no reply in time");
            self.announce_end();
        }
    }
}
