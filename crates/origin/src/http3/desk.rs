//! The desk at which the streams of a connection leave orders for its driver.

use std::cell::Cell;
use std::rc::Rc;

use h3::error::Code;
use tokio::sync::Notify;

use crate::link::Link;

/// An order for the driver of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Send a GOAWAY, and close the connection once all requests are answered.
    GoAway,
    /// Close the connection with this error.
    Close(Code),
    /// Send nothing more, whatever comes.
    FallSilent,
}

/// The orders of a connection's streams.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) link: Rc<Link>,
    pub(super) connection: quinn::Connection,
    order: Cell<Option<Order>>,
    ordered: Notify,
}

impl Desk {
    pub(super) fn new(link: Rc<Link>, connection: quinn::Connection) -> Self {
        Self { link, connection, order: Cell::default(), ordered: Notify::new() }
    }

    /// Leaves an order. One to close overrides a GOAWAY, and nothing overrides one to close.
    pub(super) fn leave(&self, order: Order) {
        if matches!(self.order.get(), None | Some(Order::GoAway)) {
            self.order.set(Some(order));
        }
        self.ordered.notify_one();
    }

    /// Awaits the next order.
    pub(super) async fn order(&self) -> Order {
        loop {
            if let Some(order) = self.order.take() {
                return order;
            }
            self.ordered.notified().await;
        }
    }
}
