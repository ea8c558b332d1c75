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
    /// Where its HEADERS begin among the bytes sent; `None` if its request went out in HTTP/1.
    pub(super) start: Option<u64>,
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
#[derive(Debug)]
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
        /// The `server-timing` of its header, if that is wanted and there is one.
        server_timing: Option<Box<[u8]>>,
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
    /// Those before them that go on, in order, with their slots: the index must not grow for as long as one stream takes.
    stragglers: Vec<(u32, u32)>,
    open: usize,
}

/// The slot of a stream that has ended.
const NONE: u32 = u32::MAX;

/// The index has at most so many places, or four for each stream that goes on.
const INDEX_SIZE_MIN: usize = 1024;

/// The number of the first stream that a client opens.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-5.1.1>
pub(super) const FIRST: u32 = 1;

/// The last number that there is.
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
        if self.index.len() > INDEX_SIZE_MIN && self.index.len() / 4 > self.open {
            self.leave_stragglers();
        }
    }

    /// Makes the index begin with a later stream: all but the last quarter of it are passed over, so that it is long
    /// before this has to be done again.
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

    /// Drops what has ended from the front of the index.
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
        self.open -= 1;
        if let Some(place) = id.checked_sub(self.base) {
            self.index[(place / 2) as usize] = NONE;
            self.trim();
        } else if let Ok(place) = self.straggler(id) {
            self.stragglers.remove(place);
        }
        Some(stream)
    }

    /// Those that go on with their numbers, in order.
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
