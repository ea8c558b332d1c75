//! Counts as the connections of HTTP/2 and HTTP/3 keep them.

use crate::Code;

/// Counts of what happened on a connection since they were last taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Streams opened.
    pub streams: u64,
    /// The largest number of streams open at once.
    pub concurrent_max: u64,
    /// The sum over opened streams of how many were open then, itself included.
    pub concurrent_sum: u64,
    /// Calls that the peer said it had not processed.
    pub unprocessed: u64,
    /// Streams that the peer reset, by code.
    pub resets_received: Vec<(Code, u64)>,
    /// Streams that we reset, by reason.
    pub resets_sent: Vec<(&'static str, u64)>,
    /// GOAWAY frames of the peer, by code: those of HTTP/3 have none, and count as without an error.
    pub goaways: Vec<(Code, u64)>,
    /// The sizes of the header fields sent.
    pub headers_sent: Compressed,
    /// The sizes of the header fields received.
    pub headers_received: Compressed,
    /// Bytes taken by the transport, if they are a stream.
    pub bytes_sent: u64,
    /// Bytes that came from the transport, if they are a stream.
    pub bytes_received: u64,
}

impl Counts {
    /// A stream is opened, with which `open` are.
    pub(crate) fn add_stream(&mut self, open: u64) {
        self.streams += 1;
        self.concurrent_sum += open;
        self.concurrent_max = self.concurrent_max.max(open);
    }
}

/// The effect of header compression.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compressed {
    /// Bytes of names and values, before compression.
    pub plain: u64,
    /// Bytes of header blocks, after compression.
    pub encoded: u64,
}

impl Compressed {
    pub(crate) fn add(&mut self, plain: u64, encoded: usize) {
        self.plain += plain;
        self.encoded += encoded as u64;
    }
}

/// An error code, which the peer chooses.
pub(crate) trait PeerCode: Copy + Into<Code> {
    /// The code that unknown ones may be taken for.
    const OTHER: Self;

    /// Returns whether the protocol gives it a name.
    fn is_named(self) -> bool;
}

/// The number of codes from which on no further code without a name is told apart.
const CODES_MAX: usize = 64;

/// Counts a code. There is a place for each with a name; of others, those beyond [`CODES_MAX`] count as
/// [`OTHER`](PeerCode::OTHER).
pub(crate) fn count_code<C: PeerCode>(counts: &mut Vec<(Code, u64)>, code: C) {
    let is_known = |code: Code| counts.iter().any(|&(known, _)| known == code);
    let has_place = code.is_named() || counts.len() < CODES_MAX || is_known(code.into());
    count(counts, if has_place { code.into() } else { C::OTHER.into() });
}

/// Counts a name, one of a few.
pub(crate) fn count<T: PartialEq>(counts: &mut Vec<(T, u64)>, name: T) {
    match counts.iter_mut().find(|(its, _)| *its == name) {
        Some((_, count)) => *count += 1,
        None => counts.push((name, 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{http2, http3};

    /// Counts all of these codes, and returns how many are told apart, and the counts of some.
    fn counted<C: PeerCode>(codes: impl Iterator<Item = C>, some: [C; 3]) -> (usize, [u64; 3]) {
        let mut counts = Vec::new();
        codes.for_each(|code| count_code(&mut counts, code));
        let of =
            |code: C| counts.iter().find(|(known, _)| *known == code.into()).map_or(0, |&(_, count)| count);
        (counts.len(), some.map(of))
    }

    #[test]
    fn a_peer_that_invents_codes_fills_no_memory() {
        use http2::ErrorCode as Code2;
        use http3::ErrorCode as Code3;
        for (invented, apart, other, first, last) in [
            (0, 1, 0, 0, 0),
            (1, 2, 0, 2, 0),
            (64, 65, 0, 2, 0),
            (65, 66, 2, 2, 0),
            (10_000, 66, 19_872, 2, 0),
        ] {
            let codes = 1000..1000 + invented;
            let twice = || codes.clone().flat_map(|code| [code, code]);
            // Those with a name have a place at any time.
            let found = counted(
                twice().map(Code2).chain([Code2::CANCEL]),
                [Code2::INTERNAL_ERROR, Code2(1000), Code2(1064)],
            );
            assert_eq!(found, (apart, [other, first, last]), "{invented} codes of HTTP/2");
            let found = counted(
                twice().map(|code| Code3(code.into())).chain([Code3::H3_REQUEST_CANCELLED]),
                [Code3::H3_NO_ERROR, Code3(1000), Code3(1064)],
            );
            assert_eq!(found, (apart, [other, first, last]), "{invented} codes of HTTP/3");
        }
    }
}
