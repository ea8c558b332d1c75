//! Messages: each a byte that says whether it is compressed, its length in four bytes, and itself.

/// The size of the prefix of a message.
const PREFIX_SIZE: usize = 5;

/// Appends a message with its prefix, as a request has it.
///
/// # Panics
/// If the message has 4 GiB or more.
pub fn frame(message: &[u8], out: &mut Vec<u8>) {
    let length = u32::try_from(message.len()).expect("a message is smaller than 4 GiB");
    out.push(0);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(message);
}

/// Finds the messages of a reply, whose bytes may be cut anywhere. Of the messages themselves nothing is kept.
#[derive(Clone, Debug, Default)]
pub struct Messages {
    /// The header block names a compression that was accepted.
    may_be_compressed: bool,
    prefix: [u8; PREFIX_SIZE],
    /// The number of bytes of the prefix that have come.
    prefix_size: usize,
    /// The number of bytes of the message that have not.
    rest: u64,
    /// A byte before a length is nothing that was agreed on.
    is_malformed: bool,
}

impl Messages {
    /// Finds the messages of a reply, which may be compressed if its header block says how ([`super::is_compressed`]).
    #[must_use]
    pub fn new(may_be_compressed: bool) -> Self {
        Self { may_be_compressed, ..Self::default() }
    }

    /// Reads on. `found` is called with the size of each message when its last byte has come.
    pub fn push(&mut self, mut bytes: &[u8], found: &mut dyn FnMut(u32)) {
        while !bytes.is_empty() && !self.is_malformed {
            if self.prefix_size < PREFIX_SIZE {
                let count = bytes.len().min(PREFIX_SIZE - self.prefix_size);
                let (start, behind) = bytes.split_at(count);
                self.prefix[self.prefix_size..][..count].copy_from_slice(start);
                self.prefix_size += count;
                bytes = behind;
                if self.prefix_size < PREFIX_SIZE {
                    return;
                }
                self.is_malformed = self.prefix[0] > u8::from(self.may_be_compressed);
                self.rest = self.length().into();
            }
            let count = bytes.len().min(usize::try_from(self.rest).unwrap_or(usize::MAX));
            bytes = &bytes[count..];
            self.rest -= count as u64;
            if self.rest == 0 && !self.is_malformed {
                self.prefix_size = 0;
                found(self.length());
            }
        }
    }

    fn length(&self) -> u32 {
        let [_, length @ ..] = self.prefix;
        u32::from_be_bytes(length)
    }

    /// Returns whether a message has begun and not ended.
    #[must_use]
    pub fn is_within_message(&self) -> bool {
        self.prefix_size > 0
    }

    /// Returns whether something came that is no message. Nothing is found behind it.
    #[must_use]
    pub fn is_malformed(&self) -> bool {
        self.is_malformed
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_compressed_message_is_malformed() {
        let mut messages = Messages::default();
        let mut sizes = Vec::new();
        messages.push(b"\0\0\0\0\x02hi\x01\0\0\0\x02hi\0\0\0\0\0", &mut |size| sizes.push(size));
        assert_eq!((sizes, messages.is_malformed()), (vec![2], true));
    }

    proptest! {
        #[test]
        fn messages_are_found_wherever_they_are_cut(
            sizes in prop::collection::vec(0_u32..200, 0..10),
            tail in 0_usize..5,
            piece in 1_usize..50,
        ) {
            let mut bytes = Vec::new();
            sizes.iter().for_each(|&size| frame(&vec![7; size as usize], &mut bytes));
            bytes.extend([0_u8, 0, 0, 0].iter().take(tail));
            let (mut messages, mut found) = (Messages::default(), Vec::new());
            bytes.chunks(piece).for_each(|piece| messages.push(piece, &mut |size| found.push(size)));
            prop_assert_eq!((found, messages.is_within_message()), (sizes, tail > 0));
        }
    }
}
