//! A call on its way, and one that waits.

use std::time::Duration;

use bytes::Bytes;

use super::frame::Reader;
use crate::quic::StreamId;
use crate::request::Request;
use crate::{CallId, ReplySize};

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

impl Call {
    /// The peer's windows do not block its request any more, or it has nothing left to send.
    pub(super) fn end_wait(&mut self, now: Duration) {
        if let Some(since) = self.blocked_since.take() {
            self.window_wait += now - since;
        }
    }
}
