//! Bytes that are cut across reads.

/// The part that has arrived of bytes that are read as a whole, such as a frame header or a payload.
#[derive(Debug, Default)]
pub(crate) struct Partial {
    bytes: Vec<u8>,
    /// It is complete and has been used.
    is_handed_out: bool,
}

impl Partial {
    /// Returns `size` bytes in one piece once they have arrived: where they lie, or put together.
    pub(crate) fn whole<'a, 'i: 'a>(&'a mut self, size: usize, input: &mut &'i [u8]) -> Option<&'a [u8]> {
        if self.is_handed_out {
            self.bytes.clear();
            self.is_handed_out = false;
        }
        if self.bytes.is_empty() && input.len() >= size {
            let (bytes, rest) = input.split_at(size);
            *input = rest;
            return Some(bytes);
        }
        let (more, rest) = input.split_at(input.len().min(size - self.bytes.len()));
        self.bytes.extend_from_slice(more);
        *input = rest;
        self.is_handed_out = self.bytes.len() == size;
        self.is_handed_out.then_some(&self.bytes[..])
    }
}
