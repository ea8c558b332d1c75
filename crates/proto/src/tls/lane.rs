//! The buffers that a worker lends to one connection at a time.

use std::io::{self, Read, Write};

/// Bytes that arrived for a connection, and bytes to be sent on it.
///
/// One lane serves all connections of a worker: what arrived is used up, and what is to be sent is taken out,
/// before another connection has its turn.
#[derive(Debug, Default)]
pub struct Lane {
    /// Room for what arrives; its length is the size of the room.
    incoming: Vec<u8>,
    /// Bytes that arrived are `incoming[used..filled]`.
    used: usize,
    filled: usize,
    /// Bytes to be sent.
    pub(super) outgoing: Vec<u8>,
}

impl Lane {
    /// Makes a lane that takes in up to `size` bytes at once.
    #[must_use]
    pub fn new(size: usize) -> Self {
        Self { incoming: vec![0; size], ..Self::default() }
    }

    /// Returns the room for arriving bytes, and discards what was in it.
    pub fn room(&mut self) -> &mut [u8] {
        self.discard();
        &mut self.incoming
    }

    /// `count` bytes have been put at the beginning of the [`Lane::room`].
    pub fn fill(&mut self, count: usize) {
        assert!(count <= self.incoming.len(), "only the room can be filled");
        (self.used, self.filled) = (0, count);
    }

    /// Discards what arrived and was not used, because its connection has failed.
    pub fn discard(&mut self) {
        (self.used, self.filled) = (0, 0);
    }

    /// Returns whether all that arrived has been used.
    #[must_use]
    pub fn is_used_up(&self) -> bool {
        self.used == self.filled
    }

    /// Moves the bytes to be sent to the end of `out`; returns whether there were any.
    pub fn poll_transmit(&mut self, out: &mut Vec<u8>) -> bool {
        let had_any = !self.outgoing.is_empty();
        out.append(&mut self.outgoing);
        had_any
    }

    /// Returns how many bytes are to be sent.
    #[must_use]
    pub fn outgoing_size(&self) -> usize {
        self.outgoing.len()
    }

    pub(super) fn used(&self) -> usize {
        self.used
    }
}

/// The transport that BoringSSL reads from: like a socket that has nothing more for now.
impl Read for Lane {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let rest = &self.incoming[self.used..self.filled];
        if rest.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.used += count;
        Ok(count)
    }
}

/// The transport that BoringSSL writes to: like a socket that takes everything.
impl Write for Lane {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_arrived_is_read_once_and_then_nothing_more_for_now() {
        let mut lane = Lane::new(8);
        lane.room()[..3].copy_from_slice(b"abc");
        lane.fill(3);
        let mut out = [0; 2];
        assert_eq!(lane.read(&mut out).unwrap(), 2);
        assert_eq!((&out, lane.is_used_up()), (b"ab", false));
        assert_eq!(lane.read(&mut out).unwrap(), 1);
        assert!(lane.is_used_up());
        assert_eq!(lane.read(&mut out).unwrap_err().kind(), io::ErrorKind::WouldBlock);
    }

    #[test]
    fn what_is_to_be_sent_is_taken_out_once() {
        let mut lane = Lane::new(0);
        lane.write_all(b"to ").unwrap();
        lane.write_all(b"send").unwrap();
        let mut out = Vec::new();
        assert!(lane.poll_transmit(&mut out));
        assert_eq!(out, b"to send");
        assert!(lane.outgoing_size() == 0 && !lane.poll_transmit(&mut out));
    }
}
