//! Bytes on their way out, and what is to be told once the transport has taken them.

use std::collections::VecDeque;

use crate::{CallId, Sent};

/// Bytes on their way out. They are counted from the beginning of the connection.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// Those that the transport has not taken, and before them perhaps some that it has.
    bytes: Vec<u8>,
    /// How many came before the first of `bytes`.
    base: u64,
    transmitted: u64,
    written: u64,
    marks: VecDeque<Mark>,
}

/// Something to tell.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// As soon as so many bytes were written.
    at: u64,
    sent: Sent,
}

impl Outgoing {
    /// Where frames are appended.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// How many bytes there were so far.
    pub(super) fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    /// How many bytes have not been handed out.
    pub(super) fn waiting(&self) -> usize {
        (self.end() - self.transmitted) as usize
    }

    /// Whether there are bytes that were not written.
    pub(super) fn has_unwritten(&self) -> bool {
        self.written < self.end()
    }

    /// How many bytes were not written.
    pub(super) fn unwritten(&self) -> u64 {
        self.end() - self.written
    }

    /// How many were written.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// The bytes that have not been handed out, which they are now.
    pub(super) fn transmit(&mut self) -> &[u8] {
        let from = (self.transmitted - self.base) as usize;
        self.transmitted = self.end();
        &self.bytes[from..]
    }

    /// What was handed out and not written is to be handed out again.
    pub(super) fn handle_blocked(&mut self) {
        self.transmitted = self.written;
    }

    pub(super) fn handle_written(&mut self, count: usize) {
        self.written += count as u64;
        debug_assert!(self.written <= self.transmitted, "only what was handed out can be written");
        if self.written == self.end() {
            self.base = self.written;
            self.bytes.clear();
        } else if self.written - self.base > self.bytes.len() as u64 / 2 {
            // What is left is less than what goes: to move it costs no more than it did to append that.
            self.bytes.drain(..(self.written - self.base) as usize);
            self.base = self.written;
        }
    }

    /// The request of a call begins here.
    pub(super) fn mark_started(&mut self, call: CallId) {
        self.marks.push_back(Mark { at: self.end() + 1, sent: Sent::Started(call) });
    }

    /// The request of a call ends here.
    pub(super) fn mark_finished(&mut self, call: CallId) {
        self.marks.push_back(Mark { at: self.end(), sent: Sent::Finished(call) });
    }

    /// A call has ended: there is nothing more to tell of it.
    pub(super) fn forget(&mut self, call: CallId) {
        self.marks
            .retain(|mark| !matches!(mark.sent, Sent::Started(its) | Sent::Finished(its) if its == call));
    }

    /// What the bytes written so far began or completed, in order.
    pub(super) fn poll_sent(&mut self) -> Option<Sent> {
        let next = self.marks.front()?;
        if next.at > self.written {
            return None;
        }
        self.marks.pop_front().map(|mark| mark.sent)
    }

    /// How many requests have been handed out, at least in part, if the last `unused` bytes do not count, and have not
    /// been told of.
    pub(super) fn transmitted_count(&self, unused: usize) -> usize {
        let used = self.transmitted - unused as u64;
        let is_begun = |mark: &&Mark| matches!(mark.sent, Sent::Started(_)) && mark.at <= used;
        self.marks.iter().filter(is_begun).count()
    }
}
