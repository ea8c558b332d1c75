//! Streams (RFC 9113, section 5): one for each call that was opened and has not ended.
//!
//! ```text
//!            HEADERS sent                   last of the request sent
//!   idle ──────────────────► open ───────────────────────────────────► half-closed
//!                              │  reply complete, reset by either side      │
//!                              └──────────────────► closed ◄────────────────┘
//! ```

use std::collections::VecDeque;
use std::time::Duration;

use super::flow::{ReceiveWindow, SendWindow};
use crate::http1::Request;
use crate::{CallId, ReplySize};

/// The stream of a call.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) call: CallId,
    pub(super) request: Request,
    /// Where its HEADERS begin among the bytes sent.
    pub(super) start: u64,
    pub(super) upload: Upload,
    pub(super) send_window: SendWindow,
    pub(super) receive_window: ReceiveWindow,
    pub(super) reply: Reply,
    /// Since when its body waits for the peer's windows, if it does.
    pub(super) blocked_since: Option<Duration>,
    /// For how long it did before.
    pub(super) window_wait: Duration,
}

/// Where the body of a request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upload {
    /// So many bytes of it are on their way, and there are more.
    Body { sent: usize, queue: Queue },
    /// Nothing is left to be sent.
    Done,
}

/// What a body waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Queue {
    /// Its turn.
    Turn,
    /// The window of the connection.
    Connection,
    /// The window of its stream.
    Stream,
}

/// Where the reply stands.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reply {
    /// Its header block is awaited.
    Head {
        /// Interim replies so far.
        interim: u32,
    },
    /// Its body has begun.
    Body {
        size: ReplySize,
        /// How much there is to be, if that is known.
        expected: Option<u64>,
    },
}

/// What became of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It was not opened.
    Idle,
    /// It goes on.
    Open,
    /// It has ended.
    Closed,
}

/// The streams of a connection. Only we open any, and those have odd numbers.
#[derive(Debug)]
pub(super) struct Streams {
    /// Those that go on, and places for others.
    slots: Vec<Option<Stream>>,
    free: Vec<u32>,
    /// The slot of each stream from `base` on, [`NONE`] for those that have ended. The first goes on.
    index: VecDeque<u32>,
    base: u32,
    open: usize,
}

/// The slot of a stream that has ended.
const NONE: u32 = u32::MAX;

/// The number of the first stream that a client opens.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-5.1.1>
pub(super) const FIRST: u32 = 1;

/// The last number that there is.
const LAST: u32 = (1 << 31) - 1;

impl Streams {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new(), index: VecDeque::new(), base: FIRST, open: 0 }
    }

    /// Those of a connection that is about to open the stream with this number.
    #[cfg(test)]
    pub(super) fn starting_at(id: u32) -> Self {
        Self { base: id, ..Self::new() }
    }

    /// The number of the stream that is opened next.
    pub(super) fn next_id(&self) -> u32 {
        self.base + 2 * self.index.len() as u32
    }

    /// For how many further streams there are numbers.
    pub(super) fn left(&self) -> usize {
        ((LAST + 2).saturating_sub(self.next_id()) / 2) as usize
    }

    /// How many go on.
    pub(super) fn open_count(&self) -> usize {
        self.open
    }

    /// Adds the stream with the next number.
    pub(super) fn open(&mut self, stream: Stream) {
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = Some(stream);
                slot
            }
            None => {
                self.slots.push(Some(stream));
                self.slots.len() as u32 - 1
            }
        };
        self.index.push_back(slot);
        self.open += 1;
    }

    pub(super) fn state(&self, id: u32) -> State {
        if id.is_multiple_of(2) || id >= self.next_id() {
            return State::Idle;
        }
        if self.slot(id).is_some() { State::Open } else { State::Closed }
    }

    /// The stream with this number, if it goes on.
    pub(super) fn get(&self, id: u32) -> Option<&Stream> {
        self.slots[self.slot(id)?].as_ref()
    }

    /// The same, to be changed.
    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Stream> {
        let slot = self.slot(id)?;
        self.slots[slot].as_mut()
    }

    /// Ends the stream with this number, if it goes on.
    pub(super) fn close(&mut self, id: u32) -> Option<Stream> {
        let slot = self.slot(id)?;
        let stream = self.slots[slot].take()?;
        self.free.push(slot as u32);
        self.index[((id - self.base) / 2) as usize] = NONE;
        self.open -= 1;
        while self.index.front() == Some(&NONE) {
            self.index.pop_front();
            self.base += 2;
        }
        Some(stream)
    }

    /// Those that go on with their numbers, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Stream)> {
        self.index.iter().enumerate().filter_map(|(place, &slot)| {
            let stream = self.slots.get(slot as usize)?.as_ref()?;
            Some((self.base + 2 * place as u32, stream))
        })
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.slots.iter_mut().flatten()
    }

    fn slot(&self, id: u32) -> Option<usize> {
        let place = id.checked_sub(self.base)?;
        if !place.is_multiple_of(2) {
            return None;
        }
        let slot = *self.index.get((place / 2) as usize)?;
        (slot != NONE).then_some(slot as usize)
    }
}
