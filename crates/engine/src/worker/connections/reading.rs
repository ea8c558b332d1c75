//! What is done with a connection to which something has happened, step by step, and the events that come of it.
//!
//! ```text
//!   handle_ready, read_on, time_out, fire_timer ──► Reading
//!                                                      │
//!                    ┌──────────────────────────► poll_event ──► None: nothing is left to do
//!                    │                                 │ Event
//!       open, submit, flush, close ◄── dispatch ◄──────┘
//! ```
//!
//! An event is handled before the next step: the second reply in a buffer is only read once the first has had its
//! consequences. They may have removed the connection, and its reading with it.

use std::io;

use httperf_stats::{FailureCause, Instant};

use super::{Connections, Event, EventKind};
use crate::Network;
use crate::worker::ConnectionKey;
use crate::worker::run::Run;

/// How far a connection is read, and what follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) key: ConnectionKey,
    /// The instant at which the bytes that are being used were read.
    pub(super) now: Instant,
    /// The kernel's stamp of the last segment of these bytes.
    pub(super) stamp: Option<Instant>,
    pub(super) step: Step,
    /// What is done after all else.
    pub(super) last: Step,
    pub(super) source: Source,
    /// The bytes in the buffer that are not used yet: from here, to there.
    pub(super) used: usize,
    pub(super) filled: usize,
    /// Nothing of these bytes is used yet.
    pub(super) is_news: bool,
    /// Bytes are being used. What follows a reply among them is not sent before all are: it cannot be a request that another of
    /// these replies answers.
    pub(super) holds_back: bool,
    /// The number of reads in this turn.
    pub(super) reads: u32,
    /// The last read took all that there was.
    pub(super) is_drained: bool,
    /// The connection may have something to send, which waits for what else arrives.
    pub(super) is_unsettled: bool,
}

/// A step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Sends what has waited for the socket to be connected. `reads`: there may be something to read by now.
    Connected {
        reads: bool,
    },
    /// Reads from a socket.
    Read,
    /// Goes on with a connection that halts.
    CatchUp,
    /// Reads from a socket of datagrams.
    Receive,
    /// Takes the progress of a handshake in datagrams.
    Progress,
    /// Opens a record of TLS.
    Open,
    /// Uses the bytes in the buffer, or those in the streams of QUIC.
    Use,
    /// Nothing more comes, as the server has said.
    End,
    /// All that a read has brought is used.
    Used,
    /// Sends what follows, if that has waited.
    Settle,
    /// Sends what there is.
    Flush,
    /// Sets the timer.
    SetTimer,
    /// A deadline has come.
    Late,
    /// A deadline has come: ends the replies that are complete for their users.
    EndComplete,
    /// A deadline has come, and these replies have ended.
    StillLate,
    /// A deadline has come, of something else than such a reply.
    TimeOut,
    /// Gives up calls whose time is over.
    Cancel,
    /// Ends the connection if it was kept for these calls only.
    EndDrained,
    Done,
}

/// Where the bytes that are being used have come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// A socket.
    Stream,
    /// A socket, in records of TLS.
    Records,
    /// A socket of datagrams. `settles_ticket`: they brought the ticket for which the connection has stayed.
    Datagrams { settles_ticket: bool },
    /// The passing of time.
    Timer,
    /// They had waited until what came before them was decompressed. `has_ended`: nothing comes behind them. They are used at
    /// `at`, much later than they arrived.
    Halt { has_ended: bool, at: Instant },
}

/// Something that has happened to a connection, in a step or by a command.
pub(super) enum Happening {
    Event(Event),
    /// It is to fail.
    Failure(ConnectionKey, Instant, Fault),
}

/// Why a connection is to fail.
pub(super) enum Fault {
    /// The system refuses to read or to write.
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
    /// Returns the next event. `None`: nothing is left to do until something happens. To be called after each input of a
    /// connection, and after each command, until then.
    ///
    /// `buffer` has [`READ_SIZE`](crate::worker::READ_SIZE) bytes or more. It holds bytes of the connection that is being read, as they
    /// came, or as TLS had them, and is to be the same until there is `None`.
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

    /// Takes the next thing that has happened. What happened to a connection that was closed since then comes too late.
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

    /// Takes a step that a call seldom needs.
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

    /// Begins to deal with a connection.
    #[inline]
    pub(super) fn begin_reading(&mut self, reading: Reading) {
        debug_assert!(
            self.reading.step == Step::Done,
            "one connection is done with before the next has its turn"
        );
        self.reading = reading;
    }

    /// The connection that is being dealt with is gone.
    #[cold]
    fn drop_reading(&mut self) {
        self.reading = Reading::default();
        self.expired.clear();
        if let Some(tls) = &mut self.tls {
            // What is left of a connection that failed must not meet the next.
            tls.discard();
        }
    }

    /// Returns whether the bytes of this connection are being used.
    #[inline]
    pub(super) fn is_in_use(&self, key: ConnectionKey) -> bool {
        self.reading.holds_back && self.reading.key == key
    }

    /// Returns whether events are to be polled that commands have led to.
    #[inline]
    pub(in crate::worker) fn has_happened(&self) -> bool {
        !self.happened.is_empty()
    }

    /// Something has happened to a connection.
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

    /// A connection is to fail.
    #[cold]
    pub(super) fn fail(&mut self, key: ConnectionKey, cause: impl Into<FailureCause>, now: Instant) {
        self.begin_to_fail(key, now, Fault::Cause(cause.into()));
    }

    /// A connection is to fail, as a read or a write did.
    #[cold]
    pub(super) fn fail_io(&mut self, key: ConnectionKey, error: io::Error, now: Instant) {
        self.begin_to_fail(key, now, Fault::Io(error));
    }

    /// From here on a connection takes no further calls.
    fn begin_to_fail(&mut self, key: ConnectionKey, now: Instant, fault: Fault) {
        self.connections[key].is_failing = true;
        self.happened.push_back(Happening::Failure(key, now, fault));
    }
}
