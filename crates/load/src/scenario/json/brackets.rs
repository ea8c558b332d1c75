//! Finds the end of an object or array, 64 bytes at a time.
//!
//! Strings are many and short, and a processor cannot foresee where they end: a search from quote to quote spends most of its
//! time on wrong guesses. Here each block becomes masks with a bit for each byte, and a block is passed without a look at its
//! strings unless the value may end in it.

/// The number of bytes in a block.
const BLOCK: usize = 64;

/// Returns the length of an object or array up to and with its last bracket, without the first one. `None` if it does not end:
/// as many brackets must close as open, but their kinds are not compared.
pub(super) fn length(document: &[u8]) -> Option<usize> {
    let (blocks, rest) = document.as_chunks::<BLOCK>();
    let mut last = [b' '; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    let mut state = State { depth: 1, is_escaped: false, in_string: 0 };
    blocks
        .iter()
        .chain([&last])
        .enumerate()
        .find_map(|(index, block)| state.end_in(block).map(|end| index * BLOCK + end))
}

/// The state in which a block begins.
#[derive(Clone, Copy, Debug)]
struct State {
    /// The number of open brackets.
    depth: usize,
    /// The first byte follows a backslash.
    is_escaped: bool,
    /// All bits are set if the first byte is in a string.
    in_string: u64,
}

/// The bytes of a block that matter, a bit for each, the first byte lowest.
struct Masks {
    quotes: u64,
    backslashes: u64,
    opening: u64,
    closing: u64,
}

impl State {
    /// Passes a block. Returns the place after the bracket that closes the value, if it is in this block.
    fn end_in(&mut self, block: &[u8; BLOCK]) -> Option<usize> {
        let masks = Masks::of(block);
        let quotes = masks.quotes & !self.escaped(masks.backslashes);
        let in_string = running_parity(quotes) ^ self.in_string;
        self.in_string = if in_string >> 63 == 1 { u64::MAX } else { 0 };
        let opening = masks.opening & !in_string;
        let closing = masks.closing & !in_string;
        let closing_count = closing.count_ones() as usize;
        if closing_count < self.depth {
            self.depth = self.depth + opening.count_ones() as usize - closing_count;
            return None;
        }
        let mut brackets = opening | closing;
        while brackets != 0 {
            let place = brackets.trailing_zeros();
            if opening >> place & 1 == 1 {
                self.depth += 1;
            } else {
                self.depth -= 1;
            }
            if self.depth == 0 {
                return Some(place as usize + 1);
            }
            brackets &= brackets - 1;
        }
        None
    }

    /// Returns the bytes that follow a backslash which is not itself escaped.
    fn escaped(&mut self, backslashes: u64) -> u64 {
        let mut escaped = u64::from(self.is_escaped);
        self.is_escaped = false;
        let mut escaping = backslashes & !escaped;
        while escaping != 0 {
            let next = (escaping & escaping.wrapping_neg()) << 1;
            self.is_escaped = next == 0;
            escaped |= next;
            escaping &= escaping - 1;
            escaping &= !next;
        }
        escaped
    }
}

impl Masks {
    fn of(block: &[u8; BLOCK]) -> Self {
        /// The difference between `[` and `{`, and between `]` and `}`.
        const CURLY: u64 = u64::from_ne_bytes([0x20; 8]);
        let mut masks = Self { quotes: 0, backslashes: 0, opening: 0, closing: 0 };
        for (index, word) in block.as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            let place = index * 8;
            masks.quotes |= equal(word, b'"') << place;
            masks.backslashes |= equal(word, b'\\') << place;
            masks.opening |= equal(word | CURLY, b'{') << place;
            masks.closing |= equal(word | CURLY, b'}') << place;
        }
        masks
    }
}

/// Returns a bit for each byte of the word that equals `byte`.
fn equal(word: u64, byte: u8) -> u64 {
    const LOW: u64 = u64::from_ne_bytes([0x7F; 8]);
    /// Gathers the lowest bits of all bytes in the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let difference = word ^ u64::from_ne_bytes([byte; 8]);
    // The highest bit of each byte that is zero, and no other bit.
    let zeros = !(((difference & LOW) + LOW) | difference | LOW);
    (zeros >> 7).wrapping_mul(GATHER) >> 56
}

/// Returns for each bit the parity of those up to and with it: from an odd one to the next is the inside of a string.
fn running_parity(bits: u64) -> u64 {
    [1, 2, 4, 8, 16, 32].iter().fold(bits, |bits, shift| bits ^ bits << shift)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Does the same byte by byte.
    fn expected(document: &[u8]) -> Option<usize> {
        let (mut depth, mut in_string, mut is_escaped) = (1, false, false);
        for (place, byte) in document.iter().enumerate() {
            if std::mem::take(&mut is_escaped) && *byte != b'\\' {
                // A quote that does not count, or a bracket outside of strings, which does.
                if *byte == b'"' {
                    continue;
                }
            } else if *byte == b'\\' {
                is_escaped = place == 0 || !escapes(&document[..place]);
                continue;
            }
            match byte {
                b'"' => in_string = !in_string,
                b'{' | b'[' if !in_string => depth += 1,
                b'}' | b']' if !in_string => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return Some(place + 1);
            }
        }
        None
    }

    /// Returns true if the bytes end in an odd number of backslashes.
    fn escapes(bytes: &[u8]) -> bool {
        bytes.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
    }

    #[test]
    fn a_value_may_end_anywhere_in_a_block() {
        for before in 0..200 {
            let document = format!("{}\"]\\\"]\"[]]]", " ".repeat(before));
            assert_eq!(length(document.as_bytes()), Some(before + 9), "after {before} blanks");
            assert_eq!(length(&document.as_bytes()[..before + 8]), None, "after {before} blanks");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn blocks_end_where_bytes_do(
            document in prop::collection::vec(prop::sample::select(b"\"\"\\\\[[]{} a\xDB\xFB\xA2".to_vec()), 0..300),
            filler in 0..200_usize,
        ) {
            let mut document = document;
            prop_assert_eq!(length(&document), expected(&document));
            let place = document.len() / 2;
            document.splice(place..place, std::iter::repeat_n(b'[', filler));
            prop_assert_eq!(length(&document), expected(&document));
        }
    }
}
