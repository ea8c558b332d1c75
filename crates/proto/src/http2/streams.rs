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
use crate::request::Request;
use crate::{CallId, ReplySize};

/// The stream of a call.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) call: CallId,
    pub(super) request: Request,
    /// The offset of its HEADERS frame among the bytes sent; `None` if its request was sent in HTTP/1.
    pub(super) start: Option<u64>,
    pub(super) upload: Upload,
    pub(super) send_window: SendWindow,
    pub(super) receive_window: ReceiveWindow,
    pub(super) reply: Reply,
    /// The time since when the peer's windows block its body, if they do.
    pub(super) blocked_since: Option<Duration>,
    /// The time for which they did before.
    pub(super) window_wait: Duration,
}

/// The state of a request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upload {
    /// `sent` bytes have been prepared, and more follow.
    Body { sent: usize, queue: Queue },
    /// All of it has been prepared.
    Done,
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

/// The open streams of a connection. Only clients open any here, with odd identifiers.
#[derive(Debug)]
pub(super) struct Streams {
    /// Open streams, and free slots.
    slots: Vec<Option<Stream>>,
    free: Vec<u32>,
    /// The slot of each stream from `base` on, [`NONE`] if it is closed. The first is open.
    index: VecDeque<u32>,
    base: u32,
    /// Open streams before `base` with their slots, in order, so that one long stream does not make the index
    /// grow.
    stragglers: Vec<(u32, u32)>,
    open: usize,
}

/// The slot of a closed stream.
const NONE: u32 = u32::MAX;

/// The least size at which the index is shortened; it also must be four times the number of open streams.
const INDEX_SIZE_MIN: usize = 1024;

/// The identifier of the first stream that a client opens.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-5.1.1>
pub(super) const FIRST: u32 = 1;

/// The last identifier.
const LAST: u32 = (1 << 31) - 1;

impl Streams {
    pub(super) fn new() -> Self {
        Self {
            slots: Vec::new(),
            free: Vec::new(),
            index: VecDeque::new(),
            base: FIRST,
            stragglers: Vec::new(),
            open: 0,
        }
    }

    /// Makes the streams of a connection that is about to open the stream with this identifier.
    #[cfg(test)]
    pub(super) fn starting_at(id: u32) -> Self {
        Self { base: id, ..Self::new() }
    }

    /// Returns the identifier of the next stream.
    pub(super) fn next_id(&self) -> u32 {
        self.base + 2 * self.index.len() as u32
    }

    /// Returns how many identifiers are left.
    pub(super) fn left(&self) -> usize {
        ((LAST + 2).saturating_sub(self.next_id()) / 2) as usize
    }

    /// Returns how many streams are open.
    pub(super) fn open_count(&self) -> usize {
        self.open
    }

    /// Opens the stream with the next identifier.
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
        if self.index.len() > INDEX_SIZE_MIN && self.index.len() / 4 > self.open {
            self.leave_stragglers();
        }
    }

    /// Moves the first three quarters of the index to the stragglers, so that it is long before this has to
    /// be done again.
    fn leave_stragglers(&mut self) {
        for _ in 0..self.index.len() / 4 * 3 {
            let slot = self.index.pop_front().expect("the index is longer");
            if slot != NONE {
                self.stragglers.push((self.base, slot));
            }
            self.base += 2;
        }
        self.trim();
    }

    /// Drops closed streams from the front of the index.
    fn trim(&mut self) {
        while self.index.front() == Some(&NONE) {
            self.index.pop_front();
            self.base += 2;
        }
    }

    pub(super) fn state(&self, id: u32) -> State {
        if id.is_multiple_of(2) || id >= self.next_id() {
            return State::Idle;
        }
        if self.slot(id).is_some() { State::Open } else { State::Closed }
    }

    /// Returns the stream with this identifier, if it is open.
    pub(super) fn get(&self, id: u32) -> Option<&Stream> {
        self.slots[self.slot(id)?].as_ref()
    }

    /// Returns the same for changes.
    pub(super) fn get_mut(&mut self, id: u32) -> Option<&mut Stream> {
        let slot = self.slot(id)?;
        self.slots[slot].as_mut()
    }

    /// Closes the stream with this identifier, if it is open.
    pub(super) fn close(&mut self, id: u32) -> Option<Stream> {
        let slot = self.slot(id)?;
        let stream = self.slots[slot].take()?;
        self.free.push(slot as u32);
        self.open -= 1;
        if let Some(place) = id.checked_sub(self.base) {
            self.index[(place / 2) as usize] = NONE;
            self.trim();
        } else if let Ok(place) = self.straggler(id) {
            self.stragglers.remove(place);
        }
        Some(stream)
    }

    /// Returns the open streams with their identifiers, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Stream)> {
        let index = self.index.iter().enumerate();
        let recent = index.map(|(place, &slot)| (self.base + 2 * place as u32, slot));
        let all = self.stragglers.iter().copied().chain(recent);
        all.filter_map(|(id, slot)| Some((id, self.slots.get(slot as usize)?.as_ref()?)))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Stream> {
        self.slots.iter_mut().flatten()
    }

    fn slot(&self, id: u32) -> Option<usize> {
        let Some(place) = id.checked_sub(self.base) else {
            return self.straggler(id).ok().map(|place| self.stragglers[place].1 as usize);
        };
        if !place.is_multiple_of(2) {
            return None;
        }
        let slot = *self.index.get((place / 2) as usize)?;
        (slot != NONE).then_some(slot as usize)
    }

    fn straggler(&self, id: u32) -> Result<usize, usize> {
        self.stragglers.binary_search_by_key(&id, |&(its, _)| its)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stream(call: u64) -> Stream {
        Stream {
            call: CallId(call),
            request: Request::of_bytes(b"GET", None),
            start: Some(0),
            upload: Upload::Done,
            send_window: SendWindow::new(0),
            receive_window: ReceiveWindow::new(0),
            reply: Reply::Head { interim: 0 },
            blocked_since: None,
            window_wait: Duration::ZERO,
        }
    }

    #[test]
    fn streams_that_take_long_do_not_make_the_index_grow() {
        let mut streams = Streams::new();
        let lasting = [1, 3, 2001, 100_001];
        for call in 0..100_000 {
            let id = streams.next_id();
            streams.open(stream(call));
            if !lasting.contains(&id) {
                assert_eq!(streams.close(id).map(|stream| stream.call), Some(CallId(call)));
            }
            assert!(streams.index.len() <= INDEX_SIZE_MIN + 1, "{}", streams.index.len());
        }
        assert_eq!(streams.iter().map(|(id, _)| id).collect::<Vec<_>>(), lasting);
        assert_eq!((streams.state(2003), streams.state(2001)), (State::Closed, State::Open));
        assert_eq!(streams.close(2001).map(|stream| stream.call), Some(CallId(1000)));
        assert_eq!((streams.state(2001), streams.open_count()), (State::Closed, 3));
        assert!(streams.slots.len() <= 5);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn they_are_like_a_map(steps in prop::collection::vec((0..9_u8, any::<prop::sample::Index>()), 0..5000)) {
            let (mut streams, mut model) = (Streams::new(), std::collections::BTreeMap::new());
            for (step, which) in steps {
                if step < 5 || model.is_empty() {
                    let id = streams.next_id();
                    streams.open(stream(id.into()));
                    model.insert(id, u64::from(id));
                } else {
                    // Rarely the first.
                    let place = which.index(model.len()).max(model.len() / 2).min(model.len() - 1);
                    let id = *model.keys().nth(place).unwrap();
                    prop_assert_eq!(streams.close(id).map(|stream| stream.call.0), model.remove(&id));
                    prop_assert!(streams.close(id).is_none());
                }
                prop_assert_eq!(streams.open_count(), model.len());
            }
            let all: Vec<_> = streams.iter().map(|(id, stream)| (id, stream.call.0)).collect();
            prop_assert_eq!(all, model.iter().map(|(&id, &call)| (id, call)).collect::<Vec<_>>());
            for id in 0..streams.next_id() + 4 {
                prop_assert_eq!(streams.get(id).map(|stream| stream.call.0), model.get(&id).copied());
                prop_assert_eq!(streams.state(id) == State::Open, model.contains_key(&id));
            }
        }
    }
}
