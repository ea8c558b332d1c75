//! The content of replies: a repeating printable pattern from one static block, a text, or a stream of events.

use std::fmt;

use bytes::Bytes;

use crate::stream::script::Script;

/// The content of a reply.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Content {
    /// This number of bytes of the pattern.
    Pattern(u64),
    /// A text and its media type.
    Text(Bytes, &'static str),
    /// Events, each at its instant.
    Stream(Box<Script>),
}

impl Content {
    pub(crate) fn plain(text: String) -> Self {
        Self::Text(text.into(), "text/plain")
    }

    /// Returns the number of bytes; that of a stream is not known ahead.
    pub(crate) fn size(&self) -> Option<u64> {
        match self {
            Self::Pattern(size) => Some(*size),
            Self::Text(text, _) => Some(text.len() as u64),
            Self::Stream(_) => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Stream(script) => script.is_empty(),
            _ => self.size() == Some(0),
        }
    }

    pub(crate) fn media_type(&self) -> &'static str {
        match self {
            Self::Pattern(_) => "text/plain",
            Self::Text(_, media_type) => media_type,
            Self::Stream(_) => "text/event-stream",
        }
    }

    /// The first half of the content.
    pub(crate) fn half(&self) -> Self {
        match self {
            Self::Pattern(size) => Self::Pattern(size / 2),
            Self::Text(text, media_type) => Self::Text(text.slice(..text.len() / 2), media_type),
            Self::Stream(script) => Self::Stream(Box::new(script.half())),
        }
    }

    /// Bytes from `offset` on: at most `size_max`, and none only at the end. A stream has none before it is on its way.
    pub(crate) fn slice(&self, offset: u64, size_max: usize) -> Bytes {
        let left = self.size().unwrap_or(0).saturating_sub(offset);
        let left = usize::try_from(left).unwrap_or(usize::MAX).min(size_max);
        match self {
            Self::Pattern(_) => {
                let from = (offset % BLOCK_SIZE as u64) as usize;
                Bytes::from_static(&BLOCK[from..BLOCK_SIZE.min(from.saturating_add(left))])
            }
            Self::Text(text, _) => {
                let from = offset as usize;
                text.slice(from..from + left)
            }
            Self::Stream(_) => Bytes::new(),
        }
    }
}

/// The pattern, repeated to the size of a large write.
static BLOCK: [u8; BLOCK_SIZE] = block();

pub(crate) const BLOCK_SIZE: usize = 64 * 1024;

/// One line of the pattern; its length divides that of the block.
const LINE: &[u8; 64] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.\n";

const fn block() -> [u8; BLOCK_SIZE] {
    let mut block = [0; BLOCK_SIZE];
    let mut index = 0;
    while index < BLOCK_SIZE {
        block[index] = LINE[index % LINE.len()];
        index += 1;
    }
    block
}

/// Bytes in one chunk of a chunked reply.
pub(crate) const CHUNK_SIZE: usize = 4096;

/// The value of a `Server-Checksum` trailer: the FNV-1a hash of a body, over 64 bits.
///
/// <https://www.rfc-editor.org/rfc/rfc9923>
#[derive(Debug)]
pub(crate) struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Checksum {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect(content: &Content, size_max: usize) -> Vec<u8> {
        let mut all = Vec::new();
        let size = content.size().unwrap();
        while (all.len() as u64) < size {
            let slice = content.slice(all.len() as u64, size_max);
            assert!((1..=size_max).contains(&slice.len()));
            all.extend_from_slice(&slice);
        }
        assert!(content.slice(size, size_max).is_empty());
        all
    }

    #[test]
    fn the_pattern_is_the_same_however_it_is_cut() {
        let content = Content::Pattern(200_000);
        let whole = collect(&content, usize::MAX);
        assert_eq!(whole.len(), 200_000);
        assert!(whole.iter().enumerate().all(|(index, byte)| *byte == LINE[index % LINE.len()]));
        assert_eq!(collect(&content, 7), whole);
        assert_eq!(collect(&content, CHUNK_SIZE), whole);
    }

    #[test]
    fn text_can_be_cut_too() {
        let content = Content::plain("hello, world".to_owned());
        assert_eq!(collect(&content, 5), b"hello, world");
        assert_eq!(content.media_type(), "text/plain");
    }

    #[test]
    fn the_checksum_is_fnv_1a() {
        let of = |bytes: &[u8]| {
            let mut checksum = Checksum::default();
            checksum.add(bytes);
            checksum.0
        };
        assert_eq!(of(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(of(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(of(b"foobar"), 0x8594_4171_f739_67e8);
    }
}
