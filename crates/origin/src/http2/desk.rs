//! The desk at which the streams of a connection leave orders for its driver.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{Context, Waker};

use bytes::{Bytes, BytesMut};
use h2::Reason;
use h2::server::Connection;
use tokio::sync::Notify;

use super::pipe::Access;
use crate::link::Link;

/// The end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// An end by the protocol, after which the socket is closed in order.
    Over,
    /// A close without a GOAWAY.
    Close,
    /// A reset.
    Reset,
    /// Bytes that are no frame, followed by a close.
    Garbage,
    /// Nothing more is sent until the client closes.
    Silence,
}

/// The orders of a connection's streams.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) link: Rc<Link>,
    /// The driver's waker.
    driver: RefCell<Option<Waker>>,
    /// A new initial window of streams.
    window: Cell<Option<u32>>,
    /// The reason of a GOAWAY to send.
    goaway: Cell<Option<Reason>>,
    /// Bytes that h2 would not write.
    foreign: RefCell<BytesMut>,
    end: Cell<Option<End>>,
    flushed: Notify,
    new_settings: Notify,
}

impl Desk {
    pub(super) fn new(link: Rc<Link>) -> Self {
        Self {
            link,
            driver: RefCell::default(),
            window: Cell::default(),
            goaway: Cell::default(),
            foreign: RefCell::default(),
            end: Cell::default(),
            flushed: Notify::new(),
            new_settings: Notify::new(),
        }
    }

    /// Changes the initial window of streams.
    pub(super) fn set_window(&self, size: u32) {
        self.window.set(Some(size));
        self.wake();
    }

    /// Sends a GOAWAY. With NO_ERROR, open streams are answered; with another reason, the connection is closed at once.
    pub(super) fn go_away(&self, reason: Reason) {
        // An error overrides NO_ERROR, and nothing overrides an error.
        if self.goaway.get().is_none_or(|reason| reason == Reason::NO_ERROR) {
            self.goaway.set(Some(reason));
        }
        self.wake();
    }

    /// Ends the connection as soon as h2 has written what it holds.
    pub(super) fn end_with(&self, end: End) {
        if self.end.get().is_none() {
            self.end.set(Some(end));
        }
        self.wake();
    }

    /// Writes these bytes behind a whole frame.
    pub(super) fn write_foreign(&self, bytes: &[u8]) {
        self.foreign.borrow_mut().extend_from_slice(bytes);
        self.wake();
    }

    /// Returns when h2 has written all that it holds now and may send.
    pub(super) async fn flushed(&self) {
        let flushed = self.flushed.notified();
        self.wake();
        flushed.await;
    }

    /// Returns when the client has acknowledged new settings.
    pub(super) async fn new_settings(&self) {
        self.new_settings.notified().await;
    }

    fn wake(&self) {
        if let Some(driver) = &*self.driver.borrow() {
            driver.wake_by_ref();
        }
    }

    /// Registers the driver's task, which orders wake.
    pub(super) fn attend(&self, context: &Context<'_>) {
        let mut driver = self.driver.borrow_mut();
        match &mut *driver {
            Some(waker) => waker.clone_from(context.waker()),
            None => *driver = Some(context.waker().clone()),
        }
    }

    /// Passes on the orders that h2 can carry out.
    pub(super) fn instruct(&self, connection: &mut Connection<Access, Bytes>) {
        if let Some(size) = self.window.get() {
            // This fails until the client has acknowledged the previous change, and is tried again then.
            if connection.set_initial_window_size(size).is_ok() {
                self.window.set(None);
            }
        }
        match self.goaway.take() {
            Some(Reason::NO_ERROR) => connection.graceful_shutdown(),
            Some(reason) => connection.abrupt_shutdown(reason),
            None => {}
        }
    }

    pub(super) fn take_foreign(&self) -> BytesMut {
        self.foreign.take()
    }

    pub(super) fn note_flushed(&self) {
        self.flushed.notify_waiters();
    }

    pub(super) fn note_new_settings(&self) {
        self.new_settings.notify_waiters();
    }

    pub(super) fn end(&self) -> Option<End> {
        self.end.get()
    }
}
