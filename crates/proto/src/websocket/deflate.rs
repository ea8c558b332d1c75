//! Compression of messages: permessage-deflate (RFC 7692).

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::Violation;

/// What both sides agreed on, from the view of the one that has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deflate {
    /// We begin each message with an empty window.
    pub resets_own: bool,
    /// The peer begins each message with an empty window.
    pub resets_peer: bool,
}

/// The end of a flushed block, which is left out of a message.
///
/// <https://www.rfc-editor.org/rfc/rfc7692#section-7.2.1>
const TAIL: [u8; 4] = [0x00, 0x00, 0xFF, 0xFF];

/// The number of bytes by which a buffer grows at least.
const GROWTH: usize = 1024;

/// The codec of a connection's messages. Its windows are made when they are first needed.
#[derive(Debug)]
pub(super) struct Codec {
    agreed: Deflate,
    compress: Option<Box<Compress>>,
    decompress: Option<Box<Decompress>>,
    /// The number of bytes that were decompressed.
    pub(super) decompressed: u64,
}

impl Codec {
    pub(super) fn new(agreed: Deflate) -> Self {
        Self { agreed, compress: None, decompress: None, decompressed: 0 }
    }

    /// Appends a message in its compressed form.
    pub(super) fn compress(&mut self, message: &[u8], out: &mut Vec<u8>) {
        if message.is_empty() {
            // An empty block (section 7.2.3.6).
            out.push(0);
            return;
        }
        let compress =
            self.compress.get_or_insert_with(|| Box::new(Compress::new(Compression::fast(), false)));
        let start = compress.total_in();
        // Bytes that do not shrink take 9 bits at most. Were there no room for all, the compressor would keep some back, and
        // return from the call that hands out the last of them before it has flushed.
        loop {
            let rest = &message[(compress.total_in() - start) as usize..];
            out.reserve(rest.len() + rest.len() / 8 + GROWTH);
            compress
                .compress_vec(rest, out, FlushCompress::Sync)
                .expect("what is in memory can be compressed");
            let is_taken = (compress.total_in() - start) as usize == message.len();
            if is_taken && out.ends_with(&TAIL) && out.len() < out.capacity() {
                break;
            }
        }
        out.truncate(out.len() - TAIL.len());
        if self.agreed.resets_own {
            compress.reset();
        }
    }

    /// Appends the next bytes of a message, decompressed. It fails beyond `size_max` bytes of the message.
    pub(super) fn decompress(
        &mut self,
        bytes: &[u8],
        is_last: bool,
        message: &mut Vec<u8>,
        size_max: usize,
    ) -> Result<(), Violation> {
        self.inflate(bytes, message, size_max)?;
        if is_last {
            self.inflate(&TAIL, message, size_max)?;
            if self.agreed.resets_peer
                && let Some(decompress) = &mut self.decompress
            {
                decompress.reset(false);
            }
        }
        Ok(())
    }

    fn inflate(&mut self, mut bytes: &[u8], message: &mut Vec<u8>, size_max: usize) -> Result<(), Violation> {
        let decompress = self.decompress.get_or_insert_with(|| Box::new(Decompress::new(false)));
        loop {
            message.reserve(GROWTH);
            let (taken, size) = (decompress.total_in(), message.len());
            let status = decompress
                .decompress_vec(bytes, message, FlushDecompress::Sync)
                .map_err(|_| Violation::Compressed)?;
            bytes = &bytes[(decompress.total_in() - taken) as usize..];
            self.decompressed += (message.len() - size) as u64;
            // After the last step too, as the buffer may have room beyond the limit.
            if message.len() > size_max {
                return Err(Violation::LongMessage { limit: size_max });
            }
            if status == Status::StreamEnd {
                // A message may end with a final block; the next one begins anew (section 7.2.3.5).
                decompress.reset(false);
                continue;
            }
            if bytes.is_empty() && message.len() < message.capacity() {
                return Ok(());
            }
            if (decompress.total_in(), message.len()) == (taken, size) {
                return Err(Violation::Compressed);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decompressed(codec: &mut Codec, bytes: &[u8]) -> Result<Vec<u8>, Violation> {
        let mut message = Vec::new();
        codec.decompress(bytes, true, &mut message, 1 << 20).map(|()| message)
    }

    /// The examples of RFC 7692, section 7.2.3.
    #[test]
    fn messages_are_those_of_the_examples() {
        let hello = &[0xF2, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00][..];
        let again = &[0xF2, 0x00, 0x11, 0x00, 0x00];
        let stored = &[0x00, 0x05, 0x00, 0xFA, 0xFF, 0x48, 0x65, 0x6C, 0x6C, 0x6F, 0x00];
        let final_block = &[0xF3, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0x00, 0x00];
        let two_blocks = &[0xF2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xFF, 0xFF, 0xCA, 0xC9, 0xC9, 0x07, 0x00];
        for bytes in [hello, stored, final_block, two_blocks] {
            let mut codec = Codec::new(Deflate::default());
            assert_eq!(decompressed(&mut codec, bytes).as_deref(), Ok(&b"Hello"[..]), "{bytes:x?}");
        }
        let mut codec = Codec::new(Deflate::default());
        assert_eq!(decompressed(&mut codec, hello).as_deref(), Ok(&b"Hello"[..]));
        assert_eq!(
            decompressed(&mut codec, again).as_deref(),
            Ok(&b"Hello"[..]),
            "it refers to the one before"
        );
        let mut codec = Codec::new(Deflate { resets_peer: true, ..Deflate::default() });
        assert_eq!(decompressed(&mut codec, hello).as_deref(), Ok(&b"Hello"[..]));
        assert_ne!(
            decompressed(&mut codec, again).as_deref(),
            Ok(&b"Hello"[..]),
            "there is nothing to refer to"
        );
    }

    #[test]
    fn a_bomb_ends_at_the_limit() {
        let mut bomb = Vec::new();
        Codec::new(Deflate::default()).compress(&vec![0; 10 << 20], &mut bomb);
        assert!(bomb.len() < 100_000, "{} bytes", bomb.len());
        let mut message = Vec::new();
        let refused = Codec::new(Deflate::default()).decompress(&bomb, true, &mut message, 1000);
        assert_eq!(refused, Err(Violation::LongMessage { limit: 1000 }));
        assert!(message.capacity() < 64 << 10, "{}", message.capacity());
    }

    /// The limit holds for an unfinished message, also where its buffer has room for more.
    #[test]
    fn a_message_is_refused_once_it_is_beyond_the_limit() {
        let mut bytes = Vec::new();
        Codec::new(Deflate::default()).compress(&[1; 1100], &mut bytes);
        for (limit, expected) in [(1100, Ok(())), (1000, Err(Violation::LongMessage { limit: 1000 }))] {
            let mut message = Vec::with_capacity(4096);
            let read = Codec::new(Deflate::default()).decompress(&bytes, false, &mut message, limit);
            assert_eq!((read, message.len()), (expected, 1100));
        }
    }

    /// A message that fills a buffer of the compressor, which then keeps back what finds no room.
    #[test]
    fn large_messages_that_do_not_shrink_survive() {
        let mut random = 1_u32;
        let message: Vec<u8> = std::iter::repeat_with(|| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 24) as u8
        })
        .take(130_000)
        .collect();
        for size in (0..message.len()).step_by(997) {
            let mut bytes = Vec::new();
            Codec::new(Deflate::default()).compress(&message[..size], &mut bytes);
            let read = decompressed(&mut Codec::new(Deflate::default()), &bytes);
            assert!(read.as_deref() == Ok(&message[..size]), "{size} bytes");
        }
    }

    proptest! {
        #[test]
        fn messages_survive_both_ways(
            messages in prop::collection::vec(prop::collection::vec(0_u8..4, 0..5000), 1..5),
            resets: bool,
            cut: prop::sample::Index,
        ) {
            let mut sender = Codec::new(Deflate { resets_own: resets, resets_peer: false });
            let mut receiver = Codec::new(Deflate { resets_own: false, resets_peer: resets });
            for message in messages {
                let mut bytes = Vec::new();
                sender.compress(&message, &mut bytes);
                let (first, second) = bytes.split_at(if bytes.is_empty() { 0 } else { cut.index(bytes.len()) });
                let mut read = Vec::new();
                receiver.decompress(first, false, &mut read, 1 << 20).unwrap();
                receiver.decompress(second, true, &mut read, 1 << 20).unwrap();
                prop_assert_eq!(read, message);
            }
        }

        #[test]
        fn garbage_is_refused_or_read(bytes: Vec<u8>) {
            let mut message = Vec::new();
            Codec::new(Deflate::default()).decompress(&bytes, true, &mut message, 10_000).ok();
            prop_assert!(message.len() <= 20_000);
        }
    }
}
