//! A cache of header blocks.

use super::head::Head;
use crate::HeaderBlock;

/// The size beyond which a block is not cached.
const BLOCK_SIZE: usize = 4096;

/// The last header block and its meaning. Servers repeat their header block until its `Date` changes, for a
/// second or longer, and comparing it costs a fraction of parsing it.
///
/// Connections with the same [`Options`](super::Options) share one cache.
#[derive(Debug, Default)]
pub struct HeaderCache {
    block: Vec<u8>,
    head: Option<Head>,
    /// The block in the form in which it is handed out, once it was.
    shared: Option<HeaderBlock>,
}

impl HeaderCache {
    /// Returns the cached block and its meaning, if `input` begins with it.
    pub(super) fn find(&self, input: &[u8]) -> Option<(&[u8], &Head)> {
        let head = self.head.as_ref()?;
        input.starts_with(&self.block).then_some((&self.block, head))
    }

    /// Returns the cached block to hand out. Replies that repeat it share its bytes.
    pub(super) fn block(&mut self) -> Option<HeaderBlock> {
        let head = self.head.as_ref()?;
        Some(self.shared.get_or_insert_with(|| HeaderBlock::marked(&self.block, head.marks)).clone())
    }

    /// Caches a complete header block of a final reply.
    pub(super) fn keep(&mut self, block: &[u8], head: Head) {
        (self.head, self.shared) = (None, None);
        if block.len() <= BLOCK_SIZE && head.is_plain() {
            self.block.clear();
            self.block.extend_from_slice(block);
            self.head = Some(head);
        }
    }
}
