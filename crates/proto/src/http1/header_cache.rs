//! Header blocks that were read before.

use super::head::Head;

/// Blocks beyond this size are read each time.
const BLOCK_SIZE: usize = 4096;

/// The header block that was read last, and what it says. Servers send the same one again and again, for a second at
/// least, until their `Date` changes: to compare it costs a fraction of what it costs to read it.
///
/// Connections with the same [`Options`](super::Options) share it.
#[derive(Debug, Default)]
pub struct HeaderCache {
    block: Vec<u8>,
    head: Option<Head>,
}

impl HeaderCache {
    /// A block that `input` begins with, whole.
    pub(super) fn find(&self, input: &[u8]) -> Option<(&[u8], &Head)> {
        let head = self.head.as_ref()?;
        input.starts_with(&self.block).then_some((&self.block, head))
    }

    /// Keeps a complete header block of a final reply.
    pub(super) fn keep(&mut self, block: &[u8], head: Head) {
        self.head = None;
        if block.len() <= BLOCK_SIZE && head.is_plain() {
            self.block.clear();
            self.block.extend_from_slice(block);
            self.head = Some(head);
        }
    }
}
