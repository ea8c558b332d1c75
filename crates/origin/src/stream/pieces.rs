//! A stream on its way: the pieces of a script, each when it is due.

use std::future::Future as _;
use std::mem;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::script::{End, Script};
use crate::link::{Link, Preparing};
use crate::stamps::{self, Departure};
use crate::timer::Sleep;

/// A stream on its way.
#[derive(Debug)]
pub(crate) struct Pieces {
    script: Script,
    link: Rc<Link>,
    next: Next,
    /// False for a body that nobody asks for, as that of a reply to HEAD.
    is_begun: bool,
    /// Events of the schedule that were handed over.
    sent: u32,
    /// The instant of the header, by both clocks.
    start: Instant,
    start_ns: u64,
    /// True if the transport may still hold what was handed over last.
    is_behind: bool,
    /// The wait for the next piece, in which the connection is not idle.
    wait: Option<(Sleep, Preparing)>,
}

/// The next piece.
///
/// ```text
/// Opening ─► Events ─┬─► Closing ─┬─► Over
///                    ├────────────┘
///                    └─► Break
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Opening,
    Events,
    Closing,
    /// The end of a stream that is cut, at this instant.
    Break(Instant),
    Over,
}

/// The place at which a stream breaks off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the stream breaks off here")]
pub(crate) struct BrokenOff;

impl Pieces {
    /// Begins a stream, whose header is being sent now.
    pub(crate) fn new(script: Script, link: &Rc<Link>) -> Self {
        let (start, start_ns) = stamps::both_clocks();
        let mut pieces = Self {
            next: Next::Opening,
            is_begun: false,
            link: Rc::clone(link),
            sent: 0,
            start,
            start_ns,
            // The header is a write of its own, too.
            is_behind: true,
            wait: None,
            script,
        };
        if !pieces.script.has_opening() {
            pieces.next = pieces.behind_opening();
        }
        pieces
    }

    /// Returns true if the last piece was taken.
    pub(crate) fn is_over(&self) -> bool {
        self.next == Next::Over
    }

    /// Polls for the next piece when it is due; `None` behind the last.
    pub(crate) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BrokenOff>>> {
        if !mem::replace(&mut self.is_begun, true) {
            self.link.shared.counts.borrow_mut().streams += 1;
        }
        let due = match self.next {
            Next::Over => return Poll::Ready(None),
            Next::Opening | Next::Closing => self.start,
            Next::Events => self.start + self.script.schedule.due(),
            Next::Break(instant) => instant,
        };
        ready!(self.poll_due(due, context));
        let mut out = Vec::new();
        let events = match self.next {
            Next::Opening => {
                self.next = self.behind_opening();
                self.script.write_opening(&mut out)
            }
            Next::Events => self.write_events(&mut out),
            Next::Closing => {
                self.next = Next::Over;
                self.script.write_closing(&mut out)
            }
            Next::Break(_) | Next::Over => {
                self.next = Next::Over;
                self.link.shared.counts.borrow_mut().streams_cut += 1;
                return Poll::Ready(Some(Err(BrokenOff)));
            }
        };
        self.is_behind = true;
        self.link.shared.counts.borrow_mut().events += u64::from(events);
        Poll::Ready(Some(Ok(out.into())))
    }

    /// Waits until a piece is due and the last one is on its way: together they would share a write.
    fn poll_due(&mut self, due: Instant, context: &mut Context<'_>) -> Poll<()> {
        if mem::take(&mut self.is_behind) && due <= Instant::now() {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let link = &self.link;
        let begin = || (link.shared.timer.sleep_until(due), link.prepare());
        let (sleep, _) = self.wait.get_or_insert_with(begin);
        ready!(Pin::new(sleep).poll(context));
        self.wait = None;
        Poll::Ready(())
    }

    /// Writes the events that are due together. Returns their number.
    fn write_events(&mut self, out: &mut Vec<u8>) -> u32 {
        let after = self.script.schedule.due();
        let due_ns = self.start_ns + u64::try_from(after.as_nanos()).unwrap_or(u64::MAX / 2);
        let count = self.script.together.min(self.script.events - self.sent);
        let departure = Departure { sent_ns: stamps::unix_ns(), due_ns };
        for index in self.sent..self.sent + count {
            self.script.write_event(index, departure, out);
        }
        self.sent += count;
        self.script.schedule.advance();
        if self.sent == self.script.events {
            self.next = self.behind_events();
        }
        if self.script.has_tokens() {
            self.link.shared.counts.borrow_mut().tokens += u64::from(count);
        }
        count
    }

    fn behind_opening(&self) -> Next {
        if self.script.events > 0 { Next::Events } else { self.behind_events() }
    }

    fn behind_events(&self) -> Next {
        match self.script.end {
            End::Cut => Next::Break(Instant::now() + BEFORE_BREAK),
            End::Whole if self.script.has_closing() => Next::Closing,
            End::Whole | End::Half => Next::Over,
        }
    }
}

/// The time for the last events to arrive before a stream breaks off: a reset discards what is not sent yet, and
/// clients discard what they have not read.
const BEFORE_BREAK: Duration = Duration::from_millis(20);
