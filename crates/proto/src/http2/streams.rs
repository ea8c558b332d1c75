//! Streams (RFC 9113, section 5): one for each call that was opened and has not ended.
//!
//! ```text
//!            HEADERS sent                   last of the request sent
//!   idle ──────────────────► open ───────────────────────────────────► half-closed
//!                              │  reply complete, reset by either side      │
//!                              └──────────────────► closed ◄────────────────┘
//! ```

use std::time::Duration;

use super::flow::{ReceiveWindow, SendWindow};
use crate::numbered::Numbered;
use crate::request::Request;
use crate::{CallId, ReplySize};

/// The stream of a call.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) call: CallId,
    pub(super) request: Request,
    /// The offset of its HEADERS frame among the bytes sent.
    pub(super) start: u64,
    pub(super) upload: Upload,
    /// What is sent on the WebSocket, if the call opens one.
    pub(super) uplink: Option<Box<Uplink>>,
    pub(super) send_window: SendWindow,
    pub(super) receive_window: ReceiveWindow,
    pub(super) reply: Reply,
    /// The time since when the peer's windows block its body, if they do.
    pub(super) blocked_since: Option<Duration>,
    /// The time for which they did before.
    pub(super) window_wait: Duration,
}

/// The state of a request's body, or of what is sent on a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upload {
    /// `sent` bytes have been prepared, and more follow.
    Body { sent: usize, queue: Queue },
    /// What there is on a WebSocket has been prepared, and more may come.
    Idle,
    /// All of it has been prepared.
    Done,
}

/// What is sent on a WebSocket.
#[derive(Debug, Default)]
pub(super) struct Uplink {
    /// Bytes that have not been prepared, perhaps preceded by some that have.
    pub(super) bytes: Vec<u8>,
    /// The peer has agreed to the WebSocket.
    pub(super) is_open: bool,
    /// Nothing follows the bytes, as both sides have closed it.
    pub(super) is_over: bool,
}

/// The queue that a body waits in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// Its turn.
    Turn,
    /// The window of the connection.
    Connection,
    /// The window of its stream.
    Stream,
}

/// The state of a reply.
#[derive(Debug)]
pub(super) enum Reply {
    /// The header block has not arrived.
    Head {
        /// The number of interim replies so far.
        interim: u32,
    },
    /// The body has begun.
    Body {
        size: ReplySize,
        /// The content length, if it is known.
        expected: Option<u64>,
        /// The `server-timing` of its header block, if it is wanted and there is one.
        server_timing: Option<Box<[u8]>>,
        /// It is handed out as it comes.
        hands_out: bool,
    },
}

/// The state of a stream identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Not opened yet.
    Idle,
    /// Open.
    Open,
    /// Closed.
    Closed,
}

impl Stream {
    /// Returns the bytes that it sends, as far as they are known.
    pub(super) fn body(&self) -> &[u8] {
        self.uplink.as_ref().map_or_else(|| self.request.body(), |uplink| &uplink.bytes)
    }

    /// Returns whether nothing follows those bytes.
    pub(super) fn is_body_whole(&self) -> bool {
        self.uplink.as_ref().is_none_or(|uplink| uplink.is_over)
    }
}

/// The open streams of a connection. Only clients open any here, with odd identifiers.
#[derive(Debug)]
pub(super) struct Streams(Numbered<Stream>);

/// The identifier of the first stream that a client opens.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-5.1.1>
pub(super) const FIRST: u32 = 1;

/// The last identifier.
const LAST: u32 = (1 << 31) - 1;

impl Streams {
    pub(super) fn new() -> Self {
        Self(Numbered::new())
    }

    /// Makes the streams of a connection that is about to open the stream with this identifier.
    #[cfg(test)]
    pub(super) fn starting_at(id: u32) -> Self {
        Self(Numbered::starting_at(u64::from(id / 2)))
    }

    /// Returns the identifier of the next stream.
    pub(super) fn next_id(&self) -> u32 {
        id_of(self.0.next())
    }

    /// Returns how many identifiers are left.
    pub(super) fn left(&self) -> usize {
        ((LAST + 2).saturating_sub(self.next_id()) / 2) as usize
    }

    /// Returns how many streams are open.
    pub(super) fn open_count(&self) -> usize {
        self.0.len()
    }

    /// Opens the stream with the next identifier.
    pub(super) fn open(&mut self, stream: Stream) {
        self.0.push(stream);
    }

    pub(super) fn state(&self, id: u32) -> State {
        if id.is_multiple_of(2) || id >= self.next_id() {
            return State::Idle;
        }
        if self.get(id).is_some() { State::Open } else { State::Closed }
    }

    /// Returns the stream with this identifier, if it is open.
    pub(super) fn get(&self, id: u32) -> Option<&Stream> {
        self.0.get(number(id)?)
    }

    /// Returns the same for changes.
    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Stream> {
        self.0.get_mut(number(id)?)
    }

    /// Closes the stream with this identifier, if it is open.
    pub(super) fn close(&mut self, id: u32) -> Option<Stream> {
        self.0.remove(number(id)?)
    }

    /// Returns the identifier of a call's stream, if that is open.
    pub(super) fn find(&self, call: CallId) -> Option<u32> {
        self.iter().find(|(_, stream)| stream.call == call).map(|(id, _)| id)
    }

    /// Returns the open streams with their identifiers, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Stream)> {
        self.0.iter().map(|(number, stream)| (id_of(number), stream))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.0.iter_mut()
    }
}

/// Returns the identifier of a stream, given its number from 0.
fn id_of(number: u64) -> u32 {
    FIRST + 2 * number as u32
}

/// Returns the number of a stream that a client may have opened.
fn number(id: u32) -> Option<u64> {
    (!id.is_multiple_of(2)).then_some(u64::from(id / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(call: u64) -> Stream {
        Stream {
            call: CallId(call),
            request: Request::of_bytes(b"GET", None),
            start: 0,
            upload: Upload::Done,
            uplink: None,
            send_window: SendWindow::new(0),
            receive_window: ReceiveWindow::new(0),
            reply: Reply::Head { interim: 0 },
            blocked_since: None,
            window_wait: Duration::ZERO,
        }
    }

    #[test]
    fn identifiers_are_odd_and_used_once() {
        let mut streams = Streams::new();
        let ids = [1, 3, 5].map(|id| {
            assert_eq!((streams.next_id(), streams.state(id)), (id, State::Idle));
            streams.open(stream(id.into()));
            id
        });
        assert_eq!(streams.close(3).map(|stream| stream.call), Some(CallId(3)));
        assert!(streams.close(3).is_none() && streams.get(2).is_none() && streams.get_mut(3).is_none());
        assert_eq!(ids.map(|id| streams.state(id)), [State::Open, State::Closed, State::Open]);
        assert_eq!([0, 2, 7].map(|id| streams.state(id)), [State::Idle; 3]);
        let all: Vec<_> = streams.iter().map(|(id, stream)| (id, stream.call.0)).collect();
        assert_eq!((all, streams.open_count(), streams.next_id()), (vec![(1, 1), (5, 5)], 2, 7));
        let last = Streams::starting_at(LAST);
        assert_eq!((last.next_id(), last.left()), (LAST, 1));
    }
}
