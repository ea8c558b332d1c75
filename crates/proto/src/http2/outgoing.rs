//! Bytes on their way out, and what to report once the transport has taken them.

use std::collections::VecDeque;

use crate::{CallId, Sent};

/// Bytes on their way out, counted from the beginning of the connection.
#[derive(Debug, Default)]
pub(super) struct Outgoing {
    /// Those that the transport has not taken, perhaps preceded by some that it has.
    bytes: Vec<u8>,
    /// The offset of the first of `bytes`.
    base: u64,
    transmitted: u64,
    written: u64,
    marks: VecDeque<Mark>,
}

/// Something to report.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The number of bytes that must have been written.
    at: u64,
    sent: Sent,
}

impl Outgoing {
    /// Returns the buffer that frames are appended to.
    pub(super) fn buffer(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// Returns how many bytes there were so far.
    pub(super) fn end(&self) -> u64 {
        self.base + self.bytes.len() as u64
    }

    /// Returns how many bytes have not been handed out.
    pub(super) fn waiting(&self) -> usize {
        (self.end() - self.transmitted) as usize
    }

    /// Returns whether there are bytes that were not written.
    pub(super) fn has_unwritten(&self) -> bool {
        self.written < self.end()
    }

    /// Returns how many bytes were not written.
    pub(super) fn unwritten(&self) -> u64 {
        self.end() - self.written
    }

    /// Returns how many bytes were written.
    pub(super) fn written(&self) -> u64 {
        self.written
    }

    /// Hands out the bytes that have not been handed out.
    pub(super) fn transmit(&mut self) -> &[u8] {
        let from = (self.transmitted - self.base) as usize;
        self.transmitted = self.end();
        &self.bytes[from..]
    }

    /// Hands out again what was handed out and not written.
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
            // Less stays than goes, so moving it costs no more than appending it did.
            self.bytes.drain(..(self.written - self.base) as usize);
            self.base = self.written;
        }
    }

    /// Marks the beginning of a call's request.
    pub(super) fn mark_started(&mut self, call: CallId) {
        self.marks.push_back(Mark { at: self.end() + 1, sent: Sent::Started(call) });
    }

    /// Marks the end of a call's request.
    pub(super) fn mark_finished(&mut self, call: CallId) {
        self.marks.push_back(Mark { at: self.end(), sent: Sent::Finished(call) });
    }

    /// Forgets a call that has ended.
    pub(super) fn forget(&mut self, call: CallId) {
        self.marks
            .retain(|mark| !matches!(mark.sent, Sent::Started(its) | Sent::Finished(its) if its == call));
    }

    /// Reports what the bytes written so far began or completed, in order.
    pub(super) fn poll_sent(&mut self) -> Option<Sent> {
        let next = self.marks.front()?;
        if next.at > self.written {
            return None;
        }
        self.marks.pop_front().map(|mark| mark.sent)
    }

    /// Returns how many requests have been handed out, at least in part, and not been reported; the last
    /// `unused` bytes do not count.
    pub(super) fn transmitted_count(&self, unused: usize) -> usize {
        let used = self.transmitted - unused as u64;
        let is_begun = |mark: &&Mark| matches!(mark.sent, Sent::Started(_)) && mark.at <= used;
        self.marks.iter().filter(is_begun).count()
    }
}
