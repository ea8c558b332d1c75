//! Steps of reading a connection, and the events that they return.
//!
//! ```text
//!   handle_ready, read_on, time_out, fire_timer ──► Reading
//!                                                      │
//!                    ┌──────────────────────────► poll_event ──► None: nothing is left to do
//!                    │                                 │ Event
//!       open, submit, flush, close ◄── dispatch ◄──────┘
//! ```
//!
//! Dispatch handles an event before the next step, so it has handled the first reply in a buffer before the second is read. It may
//! have closed the connection: its reading then ends.

use std::io;

use httperf_stats::{FailureCause, Instant};

use super::{Connections, Event, EventKind};
use crate::Network;
use crate::worker::ConnectionKey;
use crate::worker::run::Run;

/// Progress of the connection that is being read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) key: ConnectionKey,
    /// The instant at which the bytes in use were read.
    pub(super) now: Instant,
    /// The kernel's stamp of the last segment of these bytes.
    pub(super) stamp: Option<Instant>,
    /// The kernel was asked for it.
    pub(super) is_asked: bool,
    pub(super) step: Step,
    /// The step after all others.
    pub(super) last: Step,
    pub(super) source: Source,
    /// Start and end of the unused bytes in the buffer.
    pub(super) used: usize,
    pub(super) filled: usize,
    /// None of these bytes is used yet.
    pub(super) is_news: bool,
    /// Bytes are in use. New requests wait until all are used, as none of these bytes can answer them.
    pub(super) holds_back: bool,
    /// Number of reads in this turn.
    pub(super) reads: u32,
    /// The last read emptied the socket.
    pub(super) is_drained: bool,
    /// Writes wait for further replies.
    pub(super) is_unsettled: bool,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Sends the requests that waited for the connection. `reads`: the socket may be readable by now.
    Connected {
        reads: bool,
    },
    /// Reads from a socket.
    Read,
    /// Decompresses more of a halted connection's input.
    CatchUp,
    /// Reads from a socket of datagrams.
    Receive,
    /// Advances the handshake of QUIC.
    Progress,
    /// Opens a record of TLS.
    Open,
    /// Uses the bytes in the buffer, or those in the streams of QUIC.
    Use,
    /// Handles the server's end of the stream.
    End,
    /// Ends the use of a read.
    Used,
    /// Sends the requests that were held back.
    Settle,
    /// Sends all bytes that are due.
    Flush,
    /// Sets the timer.
    SetTimer,
    /// Handles a deadline that has passed.
    Late,
    /// Ends the streamed replies that the server has marked as done.
    EndComplete,
    /// Looks for a deadline besides theirs.
    StillLate,
    /// Gives up calls or the connection.
    TimeOut,
    /// Cancels expired calls.
    Cancel,
    /// Ends a draining connection that has no calls left.
    EndDrained,
    Done,
}

/// Source of the bytes in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A socket.
    Stream,
    /// A socket, in records of TLS.
    Records,
    /// A socket of datagrams. `settles_ticket`: the connection had stayed open for the ticket among them.
    Datagrams { settles_ticket: bool },
    /// A timer.
    Timer,
    /// Input held back during decompression, used at `at`. `has_ended`: the server sends nothing more.
    Halt { has_ended: bool, at: Instant },
}

/// Something that happened to a connection.
pub(super) enum Happening {
    Event(Event),
    /// It fails once the events before this are handled.
    Failure(ConnectionKey, Instant, Fault),
}

/// Reason of a failure.
pub(super) enum Fault {
    /// A read or write failed.
    Io(io::Error),
    Cause(FailureCause),
}

impl Default for Reading {
    /// Nothing is being read.
    fn default() -> Self {
        Self::new(ConnectionKey::default(), Step::Done, Instant::default())
    }
}

impl Reading {
    pub(super) fn new(key: ConnectionKey, step: Step, now: Instant) -> Self {
        Self {
            key,
            now,
            stamp: None,
            is_asked: false,
            step,
            last: Step::Done,
            source: Source::Stream,
            used: 0,
            filled: 0,
            is_news: false,
            holds_back: false,
            reads: 0,
            is_drained: false,
            is_unsettled: false,
        }
    }

    /// There are bytes in the buffer, from `start` to `end`, to be used next.
    pub(super) fn fill(&mut self, start: usize, end: usize) {
        (self.used, self.filled, self.is_news, self.step) = (start, end, end > start, Step::Use);
    }
}

impl<N: Network> Connections<N> {
    /// Returns the next event; `None` if no work is left. Call until `None` after each input and each command.
    ///
    /// `buffer` has at least [`READ_SIZE`](crate::worker::READ_SIZE) bytes and holds the bytes in use, after TLS. Pass the same one until
    /// `None`.
    #[inline]
    pub(in crate::worker) fn poll_event(&mut self, buffer: &mut Vec<u8>, run: &mut Run<'_>) -> Option<Event> {
        loop {
            if !self.happened.is_empty() {
                let event = self.poll_happened(run);
                if event.is_some() {
                    return event;
                }
                continue;
            }
            if self.reading.step == Step::Done {
                return None;
            }
            if !self.connections.contains_key(self.reading.key) {
                self.drop_reading();
                return None;
            }
            let event = match self.reading.step {
                Step::Read => self.read(buffer, run),
                Step::Use => self.use_input(buffer, run),
                Step::Used => self.finish_use(run),
                step => self.take_step(step, buffer, run),
            };
            if event.is_some() {
                debug_assert!(self.happened.is_empty(), "events are handled in the order in which they come");
                return event;
            }
        }
    }

    /// Takes the next queued event or failure. Drops it if its connection is closed by now.
    fn poll_happened(&mut self, run: &mut Run<'_>) -> Option<Event> {
        match self.happened.pop_front()? {
            Happening::Event(event) if self.connections.contains_key(event.connection) => Some(event),
            Happening::Failure(key, now, fault) if self.connections.contains_key(key) => {
                let completed = self.end_complete(key, now, run);
                if completed.is_some() {
                    // Replies that are complete for their users end before their connection fails.
                    self.happened.push_front(Happening::Failure(key, now, fault));
                    return completed;
                }
                Some(match fault {
                    Fault::Io(error) => self.lose_by(key, &error, now, run),
                    Fault::Cause(cause) => self.lose(key, cause, now, run),
                })
            }
            Happening::Event(_) | Happening::Failure(..) => None,
        }
    }

    /// Takes one of the rarer steps.
    fn take_step(&mut self, step: Step, buffer: &mut Vec<u8>, run: &mut Run<'_>) -> Option<Event> {
        let Reading { key, now, last, .. } = self.reading;
        match step {
            Step::Open => self.open_record(buffer, run),
            Step::End => {
                self.reading.step = Step::Used;
                self.handle_end(key, now, run)
            }
            Step::CatchUp => {
                self.catch_up(key, now, buffer, run);
                None
            }
            Step::Receive => self.receive(run),
            Step::Progress => self.advance_quic(buffer, run),
            Step::Connected { reads } => {
                self.reading.step = if reads { Step::Read } else { last };
                self.flush(key, now, run);
                None
            }
            Step::Settle => {
                self.reading.step = last;
                self.settle(key, now, run);
                None
            }
            Step::Flush => {
                self.reading.step = if last == Step::Flush { Step::Done } else { last };
                self.flush(key, now, run);
                None
            }
            Step::SetTimer => {
                self.reading.step = Step::Done;
                self.set_timer(key);
                None
            }
            Step::Late => {
                self.handle_late(key, now, run);
                None
            }
            Step::EndComplete => {
                let event = self.end_complete(key, now, run);
                if event.is_none() {
                    self.reading.step = Step::StillLate;
                }
                event
            }
            Step::StillLate => {
                self.handle_still_late(key, now, run);
                None
            }
            Step::TimeOut => {
                self.give_up(key, now, run);
                None
            }
            Step::Cancel => self.cancel_next(key, now, run),
            Step::EndDrained => self.end_drained(key, now, run),
            Step::Read | Step::Use | Step::Used | Step::Done => None,
        }
    }

    /// Begins to read a connection.
    #[inline]
    pub(super) fn begin_reading(&mut self, reading: Reading) {
        debug_assert!(
            self.reading.step == Step::Done,
            "one connection is done with before the next has its turn"
        );
        self.reading = reading;
    }

    /// Ends the reading of a connection that is gone.
    #[cold]
    fn drop_reading(&mut self) {
        self.reading = Reading::default();
        self.expired.clear();
        if let Some(tls) = &mut self.tls {
            // What is left of a connection that failed must not meet the next.
            tls.discard();
        }
    }

    /// Returns whether bytes of this connection are in use.
    #[inline]
    pub(super) fn is_in_use(&self, key: ConnectionKey) -> bool {
        self.reading.holds_back && self.reading.key == key
    }

    /// Returns whether events or failures wait to be polled.
    #[inline]
    pub(in crate::worker) fn has_happened(&self) -> bool {
        !self.happened.is_empty()
    }

    /// Queues an event of a connection.
    #[inline]
    pub(super) fn tell(&mut self, key: ConnectionKey, kind: EventKind, now: Instant) {
        let event = self.event(key, kind, now);
        self.happened.push_back(Happening::Event(event));
    }

    /// Returns an event of a connection, which is there.
    #[inline]
    pub(super) fn event(&self, key: ConnectionKey, kind: EventKind, now: Instant) -> Event {
        Event { connection: key, owner: self.connections[key].owner, now, kind }
    }

    /// Lets a connection fail when events are polled.
    #[cold]
    pub(super) fn fail(&mut self, key: ConnectionKey, cause: impl Into<FailureCause>, now: Instant) {
        self.begin_to_fail(key, now, Fault::Cause(cause.into()));
    }

    /// As [`fail`](Self::fail), for a read or write that failed.
    #[cold]
    pub(super) fn fail_io(&mut self, key: ConnectionKey, error: io::Error, now: Instant) {
        self.begin_to_fail(key, now, Fault::Io(error));
    }

    /// Queues a failure. The connection takes no further calls.
    fn begin_to_fail(&mut self, key: ConnectionKey, now: Instant, fault: Fault) {
        self.connections[key].is_failing = true;
        self.happened.push_back(Happening::Failure(key, now, fault));
    }
}
