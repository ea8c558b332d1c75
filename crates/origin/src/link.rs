//! The state that the parts of one connection share.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use hyper::Version;
use hyper::http::request::Parts;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::shared::Shared;
use crate::stamps::{self, Stamp};

/// The effect of a reply on its connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The server keeps the connection.
    None,
    /// The reply is the last and announces it.
    Announced,
    /// The reply is the last and does not announce it.
    Silent,
}

/// The state that the parts of one connection share.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) shared: Rc<Shared>,
    /// True if the socket refused the last bytes offered.
    is_write_blocked: Cell<bool>,
    /// Replies in the queue or delayed, during which silence is not idleness.
    preparing: Cell<u64>,
    replies: Cell<u64>,
    /// Bytes moved in either direction since the last check for idleness.
    traffic: Cell<u64>,
    /// The time of the last read, if stamps are taken.
    read_at: Cell<Duration>,
    /// Stamps of replies that are about to be written.
    stamps: RefCell<Vec<Stamp>>,
    /// Bytes that large messages may still take, for all streams together.
    room: Semaphore,
}

/// The bytes of large messages that a connection holds until its client takes them.
const MESSAGES_HELD: usize = 8 << 20;

impl Link {
    pub(crate) fn new(shared: Rc<Shared>) -> Self {
        Self {
            shared,
            is_write_blocked: Cell::new(false),
            preparing: Cell::new(0),
            replies: Cell::new(0),
            traffic: Cell::new(0),
            read_at: Cell::default(),
            stamps: RefCell::default(),
            room: Semaphore::new(MESSAGES_HELD),
        }
    }

    /// Waits until there is room for a message of this size, which the result keeps. Clients that read nothing make the server hold
    /// no more than that.
    pub(crate) async fn hold(&self, size: usize) -> Option<SemaphorePermit<'_>> {
        let size = u32::try_from(size.min(MESSAGES_HELD)).unwrap_or(u32::MAX);
        // It is never closed.
        self.room.acquire_many(size).await.ok()
    }

    /// Keeps the connection open without traffic until the result is dropped.
    pub(crate) fn prepare(self: &Rc<Self>) -> Preparing {
        self.preparing.set(self.preparing.get() + 1);
        Preparing(Rc::clone(self))
    }

    /// Returns the time of the last read, if stamps are taken.
    pub(crate) fn read_at(&self) -> Duration {
        self.read_at.get()
    }

    pub(crate) fn note_traffic(&self, size: usize) {
        self.traffic.set(self.traffic.get() + size as u64);
    }

    /// Returns true if the socket refused the last bytes offered.
    pub(crate) fn is_write_blocked(&self) -> bool {
        self.is_write_blocked.get()
    }

    /// Notes a read of `size` bytes.
    pub(crate) fn note_read(&self, size: usize) {
        self.note_traffic(size);
        if size > 0 && self.shared.config.stamps > 0 {
            self.read_at.set(stamps::now());
        }
    }

    /// Begins the stamp of a request whose reply is about to be written.
    pub(crate) fn begin_stamp(&self, request: &Parts, received: Duration) {
        if self.shared.counts.borrow().stamps.len() < self.shared.config.stamps {
            let target = match request.uri.path_and_query() {
                Some(path) if request.version >= Version::HTTP_2 => path.to_string(),
                _ => request.uri.to_string(),
            };
            self.stamps.borrow_mut().push(Stamp { target, received, handed: received });
        }
    }

    /// Completes stamps: bytes are about to be written.
    pub(crate) fn note_reply(&self) {
        for stamp in self.stamps.borrow_mut().drain(..) {
            self.shared.counts.borrow_mut().stamps.push(Stamp { handed: stamps::now(), ..stamp });
        }
    }

    pub(crate) fn note_write(&self, poll: &Poll<io::Result<usize>>) {
        self.is_write_blocked.set(poll.is_pending());
        if let Poll::Ready(Ok(size)) = poll {
            let size = *size as u64;
            self.traffic.set(self.traffic.get() + size);
            self.shared.counts.borrow_mut().bytes_sent += size;
        }
    }

    pub(crate) fn count_reply(&self) -> Ending {
        self.replies.set(self.replies.get() + 1);
        match self.shared.config.close_after {
            Some(close) if self.replies.get() >= close.replies => {
                if close.announced {
                    Ending::Announced
                } else {
                    Ending::Silent
                }
            }
            _ => Ending::None,
        }
    }

    /// Awaits a future; `None` if the connection is idle for too long first.
    pub(crate) async fn unless_idle<T>(&self, future: impl Future<Output = Option<T>>) -> Option<T> {
        let idle = self.shared.config.limits.idle;
        let mut future = pin!(future);
        let mut look = pin!(tokio::time::sleep(idle));
        poll_fn(|context| {
            if let Poll::Ready(output) = future.as_mut().poll(context) {
                return Poll::Ready(output);
            }
            while look.as_mut().poll(context).is_ready() {
                let is_silent = self.traffic.replace(0) == 0;
                if is_silent && self.preparing.get() == 0 {
                    self.shared.counts.borrow_mut().connections_idled_out += 1;
                    return Poll::Ready(None);
                }
                look.as_mut().reset(tokio::time::Instant::now() + idle);
            }
            Poll::Pending
        })
        .await
    }
}

/// A reply in the queue or delayed.
#[derive(Debug)]
pub(crate) struct Preparing(Rc<Link>);

impl Drop for Preparing {
    fn drop(&mut self) {
        self.0.preparing.set(self.0.preparing.get() - 1);
    }
}
