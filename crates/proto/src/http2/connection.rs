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
use crate::counts::count;
use crate::news::News;
use crate::patience::Patience;
use crate::request::Request;
use crate::{Awaited, CallId};

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
    pub(super) uploads: Uploads,
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
    pub(super) settings: Settings,
    pub(super) news: News,
    /// The code of the peer's last GOAWAY.
    pub(super) goaway: Option<ErrorCode>,
    /// The streams that ended here last before the peer ended them: those that we reset, and WebSockets.
    pub(super) reset_streams: VecDeque<u32>,
    pub(super) patience: Patience,
    /// The DATA frame being read has content, not only padding.
    pub(super) frame_has_content: bool,
    /// The first bytes of the peer, until it is clear that they are HTTP/2.
    pub(super) first_bytes: Vec<u8>,
}

/// Streams with more of a body to send.
#[derive(Debug, Default)]
pub(super) struct Uploads {
    /// Those whose turn comes.
    pub(super) turns: VecDeque<u32>,
    /// Those that only the connection's window blocks.
    pub(super) blocked: VecDeque<u32>,
}

/// The settings of both sides.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(super) peer: PeerSettings,
    /// The peer has said its settings.
    pub(super) are_known: bool,
    /// The peer has acknowledged ours.
    pub(super) are_acknowledged: bool,
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
            uploads: Uploads::default(),
            outgoing: Outgoing::default(),
            encoder: Encoder::new(DEFAULT_TABLE_SIZE),
            header_decoder: HeaderDecoder::new(decoder, options.limits.reply, options.wanted_fields()),
            encoded: None,
            block: Vec::new(),
            partial: None,
            send_window: SendWindow::new(INITIAL_WINDOW_SIZE),
            receive_window: ReceiveWindow::new(options.connection_window),
            settings: Settings::default(),
            news: News::default(),
            goaway: None,
            reset_streams: VecDeque::new(),
            patience: Patience::default(),
            frame_has_content: false,
            first_bytes: Vec::new(),
        }
    }

    /// Returns how many streams the peer allows at once.
    pub(super) fn streams_max(&self) -> usize {
        let at_first = matches!(self.phase, Phase::New | Phase::Opened).then_some(ASSUMED_MAX_STREAMS);
        self.settings.peer.max_streams.or(at_first).map_or(usize::MAX, |count| count as usize)
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
            self.news.add_stall(stream.call, Awaited::Window, time);
        }
        if let Upload::Body { queue, .. } = stream.upload {
            match queue {
                Queue::Turn => self.uploads.turns.retain(|&waiting| waiting != id),
                Queue::Connection => self.uploads.blocked.retain(|&waiting| waiting != id),
                Queue::Stream => {}
            }
        }
        self.outgoing.forget(stream.call);
        Some(stream)
    }

    /// Sends RST_STREAM for a stream.
    pub(super) fn reset(&mut self, id: u32, code: ErrorCode, reason: &'static str) {
        RstStream { stream: id, code }.write(self.outgoing.buffer());
        count(&mut self.news.counts.resets_sent, reason);
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
                self.news.add_stall(call, Awaited::Stream, now - since);
            }
            return;
        }
        if self.news.forget(call) {
            self.announce_end();
        }
        if let Some(id) = self.streams.find(call) {
            self.close(now, id);
            self.reset(id, ErrorCode::CANCEL, "no reply in time");
            self.announce_end();
        }
    }
}
