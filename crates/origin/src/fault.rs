//! The faults of replies and their probabilities.

use std::fmt;
use std::str::FromStr;

use rand::{Rng, RngExt as _};

use crate::text::{Malformed, parse_probability};

/// A fault of a reply. Where the protocols differ, HTTP/1 comes first.
///
/// Over HTTP/2 and HTTP/3, a fault that ends the connection ends all its streams; the other faults leave it usable. Error
/// codes of HTTP/3 begin with `H3_`; what is said of HTTP/2 with another code holds for both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `reset`: the connection is reset instead of answered; over HTTP/3, closed with H3_INTERNAL_ERROR.
    Reset,
    /// `reset-body`: the connection is reset halfway through the reply; over HTTP/3, closed with H3_INTERNAL_ERROR.
    ResetBody,
    /// `close`: the connection is closed instead of answered; over HTTP/2, without a GOAWAY; over HTTP/3, so too, with
    /// H3_NO_ERROR.
    Close,
    /// `stall`: no answer ever comes; the connection stays open until the client leaves. Over HTTP/2, other streams are
    /// answered.
    Stall,
    /// `truncate`: half of the announced body, then the connection is closed; over HTTP/2, the stream ends as if
    /// that were all. Without a body, half of the header; over HTTP/2, the header and an RST_STREAM (INTERNAL_ERROR).
    Truncate,
    /// `garbage`: bytes that are not HTTP, then the connection is closed. Over HTTP/3, the stream ends instead.
    Garbage,
    /// `trickle`: a correct reply, its body one byte at a time.
    Trickle,
    /// `no-length`: neither `Content-Length` nor chunks; the body ends with the connection. Over HTTP/2, a correct reply
    /// without `content-length`.
    NoLength,
    /// `bad-length`: a `Content-Length` that is not a number, then the connection is closed.
    BadLength,
    /// `bad-chunk`: some of the body, then a chunk whose size is not a number, then a close. Over HTTP/2, half of a body
    /// of no stated size, then an RST_STREAM (INTERNAL_ERROR).
    BadChunk,
    /// `huge-header`: a correct reply behind a header of a megabyte.
    HugeHeader,
    /// `surplus`: a correct reply, followed by bytes that belong to none. Over HTTP/2, they come in a DATA frame of the
    /// stream that has ended; over HTTP/3, on a unidirectional stream of unknown type.
    Surplus,
    /// `interim`: a correct reply behind a `100` and a `103`.
    Interim,
    /// `reset-stream`: an RST_STREAM (INTERNAL_ERROR) instead of an answer. Over HTTP/1, as [`Fault::Reset`].
    ResetStream,
    /// `refuse-stream`: an RST_STREAM (REFUSED_STREAM) instead of an answer; over HTTP/3, a RESET_STREAM
    /// (H3_REQUEST_REJECTED). Over HTTP/1, as [`Fault::Close`].
    RefuseStream,
    /// `goaway`: a GOAWAY and a correct reply; streams that are open are answered, then the connection is closed. Over
    /// HTTP/1, a correct reply with `Connection: close`. Over HTTP/3, requests behind the one that the GOAWAY names are
    /// rejected (H3_REQUEST_REJECTED).
    Goaway,
    /// `goaway-error`: a GOAWAY (ENHANCE_YOUR_CALM) instead of an answer, then the connection is closed. Over HTTP/1,
    /// as [`Fault::Close`]; over HTTP/3, whose GOAWAY has no code, the connection is closed with H3_EXCESSIVE_LOAD.
    GoawayError,
    /// `stop-sending`: a correct reply that does not wait for the request's body, then the connection is closed. Over
    /// HTTP/2, the stream is reset (NO_ERROR) behind the reply; over HTTP/3, STOP_SENDING (H3_NO_ERROR) comes before it.
    StopSending,
    /// `bad-header`: a header with a line that is none, then the connection is closed. Over HTTP/2 and HTTP/3, a header
    /// block that cannot be decompressed instead of an answer.
    BadHeader,
    /// `bad-frame`: as [`Fault::Garbage`]; over HTTP/2, HEADERS on stream 0 instead of an answer; over HTTP/3, SETTINGS on
    /// the stream of the request.
    BadFrame,
    /// `silence`: as [`Fault::Stall`]; over HTTP/2 and HTTP/3, for all streams of the connection, on which nothing at all is
    /// sent any more.
    Silence,
}

impl Fault {
    /// All faults; the index of a fault is its place here.
    pub const ALL: [Self; 21] = [
        Self::Reset,
        Self::ResetBody,
        Self::Close,
        Self::Stall,
        Self::Truncate,
        Self::Garbage,
        Self::Trickle,
        Self::NoLength,
        Self::BadLength,
        Self::BadChunk,
        Self::HugeHeader,
        Self::Surplus,
        Self::Interim,
        Self::ResetStream,
        Self::RefuseStream,
        Self::Goaway,
        Self::GoawayError,
        Self::StopSending,
        Self::BadHeader,
        Self::BadFrame,
        Self::Silence,
    ];

    /// The name in options, paths and counts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::ResetBody => "reset-body",
            Self::Close => "close",
            Self::Stall => "stall",
            Self::Truncate => "truncate",
            Self::Garbage => "garbage",
            Self::Trickle => "trickle",
            Self::NoLength => "no-length",
            Self::BadLength => "bad-length",
            Self::BadChunk => "bad-chunk",
            Self::HugeHeader => "huge-header",
            Self::Surplus => "surplus",
            Self::Interim => "interim",
            Self::ResetStream => "reset-stream",
            Self::RefuseStream => "refuse-stream",
            Self::Goaway => "goaway",
            Self::GoawayError => "goaway-error",
            Self::StopSending => "stop-sending",
            Self::BadHeader => "bad-header",
            Self::BadFrame => "bad-frame",
            Self::Silence => "silence",
        }
    }

    /// Returns true if the client still gets a complete reply, which then counts as one.
    #[must_use]
    pub fn completes_reply(self) -> bool {
        match self {
            Self::Trickle
            | Self::NoLength
            | Self::HugeHeader
            | Self::Surplus
            | Self::Interim
            | Self::Goaway
            | Self::StopSending => true,
            Self::Reset
            | Self::ResetBody
            | Self::Close
            | Self::Stall
            | Self::Truncate
            | Self::Garbage
            | Self::BadLength
            | Self::BadChunk
            | Self::ResetStream
            | Self::RefuseStream
            | Self::GoawayError
            | Self::BadHeader
            | Self::BadFrame
            | Self::Silence => false,
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// The bytes of [`Fault::Garbage`]: the header of a TLS record and bytes that occur in no text, so that no reader takes
/// them for HTTP.
pub(crate) const GARBAGE: &[u8] = b"\x16\x03\x01\x00\xfa this is not HTTP \xff\xfe\x00\r\n\r\n";

/// The line of [`Fault::BadHeader`] over HTTP/1, which has no name.
pub(crate) const BAD_LINE: &[u8] = b"this line is no field\r\n";

/// The header block of [`Fault::BadHeader`] over HTTP/2 and HTTP/3: an entry of a table that is far too large for HPACK
/// (RFC 7541, section 5.1) and for QPACK (RFC 9204, section 4.1.1) to have.
pub(crate) const BAD_HEADER_BLOCK: &[u8] = &[0xff; 16];

/// The bytes behind the complete reply of [`Fault::Surplus`].
pub(crate) const SURPLUS: &[u8] = b"these bytes belong to no reply\r\n";

/// The number and size of the lines that make up the header of [`Fault::HugeHeader`]: a megabyte, in lines that a server
/// might really send.
pub(crate) const FILLER_LINES: usize = 128;
pub(crate) const FILLER_SIZE: usize = 8192;

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Fault {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        Self::ALL.into_iter().find(|fault| fault.name() == text).ok_or_else(|| {
            Malformed::new(
                "reset, reset-body, close, stall, truncate, garbage, trickle, no-length, bad-length, \
                 bad-chunk, huge-header, surplus, interim, reset-stream, refuse-stream, goaway, goaway-error, stop-sending, bad-header, bad-frame or silence",
                text,
            )
        })
    }
}

/// The probability of one fault: `KIND:PROBABILITY`, such as `reset:0.01` or `stall:2%`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaultShare {
    fault: Fault,
    /// From 0 to 1.
    probability: f64,
}

impl FromStr for FaultShare {
    type Err = Malformed;

    fn from_str(text: &str) -> Result<Self, Malformed> {
        let malformed = || Malformed::new("a fault and its probability, such as reset:0.01", text);
        let (fault, probability) = text.split_once(':').ok_or_else(malformed)?;
        let fault = fault.parse()?;
        let probability = parse_probability(probability).ok_or_else(malformed)?;
        Ok(Self { fault, probability })
    }
}

/// The probabilities of all faults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultMix {
    /// Probabilities that sum to 1 at most.
    shares: Vec<FaultShare>,
}

/// Probabilities of faults that sum to more than 1.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[error("expected probabilities that sum to 1 at most, got {sum}")]
pub struct TooManyFaults {
    /// Their sum.
    pub sum: f64,
}

impl FaultMix {
    /// A mix of these; the same fault may come more than once.
    pub fn new(shares: Vec<FaultShare>) -> Result<Self, TooManyFaults> {
        let sum: f64 = shares.iter().map(|share| share.probability).sum();
        // Ten times a tenth is a little more than 1.
        if sum > 1.0 + 1e-9 {
            return Err(TooManyFaults { sum });
        }
        Ok(Self { shares })
    }

    /// Draws the fault of the next reply, if it has one.
    pub fn draw(&self, random: &mut impl Rng) -> Option<Fault> {
        if self.shares.is_empty() {
            return None;
        }
        let mut left: f64 = random.random();
        for share in &self.shares {
            if left < share.probability {
                return Some(share.fault);
            }
            left -= share.probability;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;
    use rand_pcg::Pcg64Mcg;

    use super::*;

    fn mix(shares: &[&str]) -> Result<FaultMix, TooManyFaults> {
        FaultMix::new(shares.iter().map(|share| share.parse().unwrap()).collect())
    }

    #[test]
    fn every_fault_is_known_by_its_name_and_found_by_its_index() {
        for (index, fault) in Fault::ALL.into_iter().enumerate() {
            assert_eq!(fault.name().parse(), Ok(fault));
            assert_eq!(fault.index(), index);
            let unknown = "x".parse::<Fault>().unwrap_err();
            assert!(unknown.expected.contains(fault.name()), "{fault} is missing from `{unknown}`");
        }
    }

    #[test]
    fn faults_come_as_often_as_their_probability_says() {
        let mix = mix(&["reset:0.25", "stall:50%"]).unwrap();
        let mut random = Pcg64Mcg::seed_from_u64(7);
        let drawn: Vec<Option<Fault>> = (0..10_000).map(|_| mix.draw(&mut random)).collect();
        let share = |fault| drawn.iter().filter(|&&drawn| drawn == fault).count() as f64 / 10_000.0;
        assert!((share(Some(Fault::Reset)) - 0.25).abs() < 0.02);
        assert!((share(Some(Fault::Stall)) - 0.5).abs() < 0.02);
        assert!((share(None) - 0.25).abs() < 0.02);
    }

    #[test]
    fn a_fault_of_probability_1_always_comes() {
        let mix = mix(&["garbage:1"]).unwrap();
        let mut random = Pcg64Mcg::seed_from_u64(7);
        assert!((0..1000).all(|_| mix.draw(&mut random) == Some(Fault::Garbage)));
    }

    #[test]
    fn probabilities_sum_to_1_at_most() {
        assert!(mix(&["reset:0.1"; 10]).is_ok());
        let error = mix(&["reset:0.75", "stall:0.5"]).unwrap_err();
        assert_eq!(error.to_string(), "expected probabilities that sum to 1 at most, got 1.25");
    }

    #[test]
    fn a_malformed_share_is_refused() {
        for text in ["", "reset", "reset:", "reset:x", "reset:-0.1", "reset:1.1", "reset:101%", "oops:0.1"] {
            assert!(text.parse::<FaultShare>().is_err(), "{text}");
        }
    }
}
