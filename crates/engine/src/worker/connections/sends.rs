//! The times at which the kernel sent the requests of selected calls (`Recording::kernel_sends`).
//!
//! The kernel numbers the bytes of a connection, and tells when it sent the last byte of a write about which it was asked.
//! It is asked about each write that may hold a part of such a request. When the reply is complete, its stamp of the write
//! with which the request ended is looked up.

use httperf_stats::{Instant, KernelTimes};

use crate::SentStamp;
use crate::worker::CallKey;

/// The calls of a connection about which the kernel is asked.
#[derive(Debug, Default)]
pub(super) struct Sends {
    /// Bytes written since they are numbered, modulo 2^32.
    written: u32,
    /// Calls to ask about whose requests are not written entirely.
    unwritten: Vec<CallKey>,
    /// Calls to ask about whose requests are.
    awaited: Vec<Awaited>,
}

/// A call whose request is written entirely.
#[derive(Debug)]
struct Awaited {
    call: CallKey,
    /// The number of the last byte that was written with the last one of the request, and when that was.
    last_byte: u32,
    written_at: Instant,
    sent_at: Option<Instant>,
}

impl Sends {
    /// The protocol was given a call to ask about.
    pub(super) fn submitted(&mut self, call: CallKey) {
        self.forget(call);
        self.unwritten.push(call);
    }

    /// The end of a request went with the last write, at this instant.
    pub(super) fn finished(&mut self, call: CallKey, written_at: Instant) {
        if !self.unwritten.contains(&call) {
            return;
        }
        self.forget(call);
        let last_byte = self.written.wrapping_sub(1);
        self.awaited.push(Awaited { call, last_byte, written_at, sent_at: None });
    }

    /// All requests are written anew.
    pub(super) fn rewound(&mut self) {
        self.unwritten.extend(self.awaited.drain(..).map(|awaited| awaited.call));
    }

    /// The kernel told of a write. If it sent the same bytes again, the first time counts.
    pub(super) fn stamped(&mut self, stamp: SentStamp) {
        for awaited in &mut self.awaited {
            if awaited.last_byte == stamp.last_byte {
                awaited.sent_at = awaited.sent_at.or(stamp.at);
            }
        }
    }

    /// Returns whether a request to ask about is not written entirely. `is_alive`: whether a call was not given up.
    pub(super) fn is_asking(&mut self, is_alive: impl Fn(CallKey) -> bool) -> bool {
        self.unwritten.retain(|&call| is_alive(call));
        !self.unwritten.is_empty()
    }

    /// The socket took `count` bytes.
    pub(super) fn written(&mut self, count: usize) {
        self.written = self.written.wrapping_add(count as u32);
    }

    /// Takes the times of a call whose reply arrived at `received_at`.
    pub(super) fn times(&mut self, call: CallKey, received_at: Option<Instant>) -> KernelTimes {
        let found = self.awaited.iter().find(|awaited| awaited.call == call);
        let sent = found.and_then(|awaited| Some((awaited.written_at, awaited.sent_at?)));
        self.forget(call);
        KernelTimes {
            send_lag: sent.map(|(written_at, sent_at)| sent_at - written_at),
            service: sent.zip(received_at).map(|((_, sent_at), received_at)| received_at - sent_at),
        }
    }

    /// Forgets the calls that were given up.
    pub(super) fn retain(&mut self, is_alive: impl Fn(CallKey) -> bool) {
        self.awaited.retain(|awaited| is_alive(awaited.call));
    }

    fn forget(&mut self, call: CallKey) {
        self.unwritten.retain(|&other| other != call);
        self.awaited.retain(|other| other.call != call);
    }
}

#[cfg(test)]
mod tests {
    use slotmap::SlotMap;

    use super::*;

    #[test]
    fn a_stamp_is_that_of_the_calls_that_ended_with_the_write() {
        let mut keys: SlotMap<CallKey, ()> = SlotMap::with_key();
        let [first, second, third] = [(); 3].map(|()| keys.insert(()));
        let at = Instant::from_nanos;
        let mut sends = Sends { written: u32::MAX - 9, ..Sends::default() };
        [first, second].into_iter().for_each(|call| sends.submitted(call));
        sends.written = sends.written.wrapping_add(30);
        [first, second, third].into_iter().for_each(|call| sends.finished(call, at(5)));
        assert!(sends.unwritten.is_empty() && sends.awaited.len() == 2, "nobody asked about the third");
        sends.stamped(SentStamp { last_byte: 18, at: Some(at(6)) });
        assert!(sends.awaited.iter().all(|awaited| awaited.sent_at.is_none()), "an earlier write");
        sends.stamped(SentStamp { last_byte: 19, at: Some(at(7)) });
        sends.stamped(SentStamp { last_byte: 19, at: Some(at(900)) });
        assert!(sends.awaited.iter().all(|awaited| awaited.sent_at == Some(at(7))), "sent twice");
        sends.rewound();
        assert_eq!((&sends.unwritten[..], sends.awaited.len()), (&[first, second][..], 0));
        sends.submitted(first);
        assert_eq!(sends.unwritten, [second, first], "once");
    }
}
