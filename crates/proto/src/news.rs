//! News of a connection of HTTP/2 or HTTP/3 for its owner.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

use crate::counts::Counts;
use crate::{Awaited, CallId, Event, ProtocolError, Reuse, Stall};

/// News that the owner has not asked for yet.
#[derive(Debug, Default)]
pub(crate) struct News {
    pub(crate) events: VecDeque<Event<'static>>,
    /// The reason why the connection failed, reported after the events.
    pub(crate) failure: Option<ProtocolError>,
    /// The owner knows that no call is left and none is taken.
    pub(crate) has_end: bool,
    pub(crate) stalls: VecDeque<Stall>,
    pub(crate) counts: Counts,
    /// Content arrived since the owner last asked.
    pub(crate) content_received: bool,
}

impl News {
    /// Calls whose end has not been reported.
    pub(crate) fn ended(&self) -> impl Iterator<Item = CallId> + '_ {
        self.events.iter().filter_map(|event| match event {
            Event::ReplyDone { call, .. }
            | Event::CallFailed { call, .. }
            | Event::CallReturned { call, .. } => Some(*call),
            _ => None,
        })
    }

    /// Forgets the events of a call. Returns whether there were any: the end may then have to be announced again.
    pub(crate) fn forget(&mut self, call: CallId) -> bool {
        let before = self.events.len();
        self.events.retain(|event| event.call() != Some(call));
        if self.events.len() == before {
            return false;
        }
        let tells_end = |event: &Event<'_>| {
            matches!(event, Event::Drained | Event::ReplyDone { reuse: Reuse::Close, .. })
        };
        self.has_end = self.events.iter().any(tells_end);
        true
    }

    /// Reports once that no call is left and none is taken.
    pub(crate) fn announce_end(&mut self) {
        if !mem::replace(&mut self.has_end, true) {
            self.events.push_back(Event::Drained);
        }
    }

    /// Reports how long a call had to wait.
    pub(crate) fn add_stall(&mut self, call: CallId, what: Awaited, time: Duration) {
        self.stalls.push_back(Stall { call, what, time });
    }
}
