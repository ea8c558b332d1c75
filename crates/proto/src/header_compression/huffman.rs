//! The Huffman code for strings (RFC 7541, section 5.2 and appendix B).
//!
//! The code is canonical: codes of the same length are in the order of their symbols, and shorter codes come
//! first. So the lengths define it, and the tables are computed from them at compile time.

/// The symbol for the end of a string, which no string may contain.
const END: usize = 256;

/// The length of the code of each byte, and of [`END`], in bits.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// The codes, each in the low bits.
static CODES: [u32; 257] = codes();

/// For each state, the result of reading four more bits.
static STEPS: [[Step; 16]; 256] = steps();

/// A malformed string: not a Huffman code, or with padding that is too long or not the beginning of [`END`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Returns the size of a string in this code.
pub(crate) fn encoded_size(text: &[u8]) -> usize {
    text.iter().map(|&byte| usize::from(LENGTHS[usize::from(byte)])).sum::<usize>().div_ceil(8)
}

/// Appends a string in this code.
pub(crate) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0_u64, 0);
    for &byte in text {
        let symbol = usize::from(byte);
        bits = bits << LENGTHS[symbol] | u64::from(CODES[symbol]);
        count += u32::from(LENGTHS[symbol]);
        while count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    if count > 0 {
        let padding = 8 - count;
        out.push((bits << padding) as u8 | ((1_u16 << padding) - 1) as u8);
    }
}

/// Appends a decoded string.
pub(crate) fn decode(code: &[u8], out: &mut Vec<u8>) -> Result<(), Malformed> {
    let mut state = 0_u8;
    let mut may_end = true;
    for &byte in code {
        for bits in [byte >> 4, byte & 0x0f] {
            let step = STEPS[usize::from(state)][usize::from(bits)];
            match step.kind {
                Kind::Malformed => return Err(Malformed),
                Kind::Symbol => out.push(step.symbol),
                Kind::Nothing => {}
            }
            state = step.state;
            may_end = step.may_end;
        }
    }
    if may_end { Ok(()) } else { Err(Malformed) }
}

/// The result of reading four bits.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// The node of the tree that is reached; 0 is the root.
    state: u8,
    kind: Kind,
    symbol: u8,
    /// True if the bits since the last symbol are valid padding: fewer than 8, and the beginning of [`END`].
    may_end: bool,
}

/// The symbol that four bits complete, at most one, as no code is shorter than five bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Nothing,
    Symbol,
    Malformed,
}

const fn codes() -> [u32; 257] {
    let mut codes = [0; 257];
    let mut code = 0;
    let mut length = 5;
    while length <= 30 {
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] == length {
                codes[symbol] = code;
                code += 1;
            }
            symbol += 1;
        }
        code <<= 1;
        length += 1;
    }
    codes
}

/// A child of a node: another node or, from this value on, a symbol.
const LEAF: u16 = 0x8000;

/// Returns the nodes of the tree of codes with their children for 0 and 1; the root is the first.
const fn tree() -> [[u16; 2]; 256] {
    let codes = codes();
    let mut nodes = [[0_u16; 2]; 256];
    let mut used = 1;
    let mut symbol = 0;
    while symbol < 257 {
        let mut node = 0;
        let mut bit = LENGTHS[symbol];
        while bit > 0 {
            bit -= 1;
            let branch = (codes[symbol] >> bit & 1) as usize;
            if bit == 0 {
                nodes[node][branch] = LEAF | symbol as u16;
            } else {
                if nodes[node][branch] == 0 {
                    nodes[node][branch] = used as u16;
                    used += 1;
                }
                node = nodes[node][branch] as usize;
            }
        }
        symbol += 1;
    }
    nodes
}

const fn steps() -> [[Step; 16]; 256] {
    let tree = tree();
    let mut may_end = [false; 256];
    let mut node = 0;
    let mut depth = 0;
    while depth < 8 {
        may_end[node] = true;
        // The code of the end is all ones.
        node = tree[node][1] as usize;
        depth += 1;
    }
    let nothing = Step { state: 0, kind: Kind::Nothing, symbol: 0, may_end: false };
    let mut steps = [[nothing; 16]; 256];
    let mut state = 0;
    while state < 256 {
        let mut bits = 0;
        while bits < 16 {
            let mut step = nothing;
            let mut node = state as u16;
            let mut bit = 4;
            while bit > 0 {
                bit -= 1;
                node = tree[node as usize][bits >> bit & 1];
                if node == LEAF | END as u16 {
                    step.kind = Kind::Malformed;
                    node = 0;
                } else if node & LEAF != 0 {
                    step.kind = Kind::Symbol;
                    step.symbol = (node & 0xff) as u8;
                    node = 0;
                }
            }
            step.state = node as u8;
            step.may_end = may_end[node as usize];
            steps[state][bits] = step;
            bits += 1;
        }
        state += 1;
    }
    steps
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &[u8], code: &[u8]) {
        let (mut encoded, mut decoded) = (Vec::new(), Vec::new());
        encode(text, &mut encoded);
        assert_eq!(encoded, code);
        assert_eq!(encoded_size(text), code.len());
        assert_eq!(decode(code, &mut decoded), Ok(()));
        assert_eq!(decoded, text);
    }

    #[test]
    fn strings_are_those_of_the_examples() {
        // RFC 7541, appendices C.4 and C.6.
        check(b"www.example.com", b"\xf1\xe3\xc2\xe5\xf2\x3a\x6b\xa0\xab\x90\xf4\xff");
        check(b"no-cache", b"\xa8\xeb\x10\x64\x9c\xbf");
        check(b"custom-key", b"\x25\xa8\x49\xe9\x5b\xa9\x7d\x7f");
        check(b"302", b"\x64\x02");
        check(b"", b"");
    }

    #[test]
    fn every_node_of_the_tree_has_two_children() {
        assert!(tree().iter().flatten().all(|&child| child != 0));
    }

    #[test]
    fn padding_is_the_beginning_of_the_end_and_shorter_than_a_byte() {
        let decoded = |code: &[u8]| decode(code, &mut Vec::new());
        assert_eq!(decoded(&[0b0001_1111]), Ok(()), "`a` and three ones");
        assert_eq!(decoded(&[0b0001_1000]), Err(Malformed), "`a` and zeros");
        assert_eq!(decoded(&[0b0001_1111, 0xff]), Err(Malformed), "eleven ones");
        assert_eq!(decoded(&[0xff]), Err(Malformed), "eight ones");
        assert_eq!(decoded(&[0xff, 0xff, 0xff, 0xff]), Err(Malformed), "the end itself");
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let (mut code, mut decoded) = (Vec::new(), Vec::new());
            encode(&text, &mut code);
            prop_assert_eq!(encoded_size(&text), code.len());
            prop_assert_eq!(decode(&code, &mut decoded), Ok(()));
            prop_assert_eq!(decoded, text);
        }

        #[test]
        fn there_is_one_code_for_each_string(code in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut decoded = Vec::new();
            if decode(&code, &mut decoded).is_ok() {
                let mut again = Vec::new();
                encode(&decoded, &mut again);
                prop_assert_eq!(again, code);
            }
        }
    }
}
