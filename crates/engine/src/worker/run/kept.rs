//! Replies that the steps of scenarios look at: header block and decompressed body, kept until they are judged.

use std::io::{self, Write};

use httperf_proto::HeaderBlock;
use httperf_proto::content::openai::whole_answer;
use httperf_proto::content::{Coding, Decoder};

/// The parts of a reply that its step looks at.
#[derive(Debug, Default)]
pub(in crate::worker) struct Kept {
    head: Option<HeaderBlock>,
    body: Body,
    /// The decompressor of a compressed body, which has the body once a byte of it arrived.
    decoder: Option<Decoder<Body>>,
    state: State,
    /// The body is the answer of a language model, event by event.
    is_streamed_answer: bool,
}

/// Progress of a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Nobody looks at it.
    #[default]
    Unwanted,
    /// None of it has arrived. A reply to HEAD, for one, has a coding and no body.
    Awaited(Option<Coding>),
    /// It arrives.
    Arriving,
    /// Nothing is known of its content.
    Unreadable(Reason),
}

/// The reason why a body cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    UnknownCoding,
    TooLarge,
    Malformed,
    Truncated,
}

/// A body of bounded size.
#[derive(Debug, Default)]
struct Body {
    bytes: Vec<u8>,
    size_max: usize,
}

/// The size of a buffer above which it is not used again, so that a few large replies do not fill the memory for good.
const REUSED_SIZE_MAX: usize = 256 * 1024;

impl Kept {
    /// Begins with the header block of a reply. Its body may have `size_max` bytes.
    pub(super) fn start(&mut self, head: &HeaderBlock, wants_body: bool, size_max: usize) {
        self.head = Some(head.clone());
        self.body.bytes.clear();
        self.body.size_max = size_max;
        self.state = if wants_body { State::Awaited(head.coding()) } else { State::Unwanted };
        self.is_streamed_answer = false;
    }

    /// The body is the answer of a language model, event by event: it is put together when it is complete.
    pub(super) fn expect_streamed_answer(&mut self) {
        self.is_streamed_answer = true;
    }

    /// Takes the next bytes of the body.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if let State::Awaited(coding) = self.state {
            self.state = State::Arriving;
            match coding {
                Some(Coding::Identity) => {}
                Some(coding) => match Decoder::new(coding, std::mem::take(&mut self.body)) {
                    Ok(decoder) => self.decoder = Some(decoder),
                    Err(_) => self.give_up(Reason::Malformed),
                },
                None => self.give_up(Reason::UnknownCoding),
            }
        }
        if self.state != State::Arriving {
            return;
        }
        let taken = match &mut self.decoder {
            Some(decoder) => decoder.push(bytes),
            None => self.body.write_all(bytes),
        };
        if let Err(error) = taken {
            self.give_up(Reason::of(&error));
        }
    }

    /// Returns whether some of the body is not decompressed yet.
    pub(super) fn is_behind(&self) -> bool {
        self.decoder.as_ref().is_some_and(Decoder::is_behind)
    }

    /// Decompresses some more of it.
    pub(super) fn go_on(&mut self) {
        if let Some(decoder) = &mut self.decoder
            && decoder.is_behind()
            && let Err(error) = decoder.go_on()
        {
            self.give_up(Reason::of(&error));
        }
    }

    /// Ends the body.
    pub(super) fn finish(&mut self) {
        match self.decoder.take().map(Decoder::finish) {
            None => {}
            Some(Ok(body)) => self.body = body,
            Some(Err(error)) => self.give_up(match Reason::of(&error) {
                Reason::Malformed => Reason::Truncated,
                reason => reason,
            }),
        }
        if self.is_streamed_answer
            && let Some(whole) = whole_answer(&self.body.bytes)
        {
            self.body.bytes = whole;
        }
    }

    fn give_up(&mut self, reason: Reason) {
        self.state = State::Unreadable(reason);
        self.decoder = None;
        self.body.bytes.clear();
    }

    pub(in crate::worker) fn head(&self) -> &[u8] {
        self.head.as_ref().map_or(b"", HeaderBlock::as_bytes)
    }

    /// Returns the body without content codings, a streamed answer put together, or the reason why it cannot be read.
    pub(in crate::worker) fn body(&self) -> Result<&[u8], &'static str> {
        match self.state {
            State::Unreadable(reason) => Err(reason.in_words()),
            State::Unwanted | State::Awaited(_) | State::Arriving => Ok(&self.body.bytes),
        }
    }

    /// Frees what other replies have no use for: the header block, and a buffer that grew too large to be kept.
    pub(super) fn trim(&mut self) {
        self.head = None;
        if self.body.bytes.capacity() > REUSED_SIZE_MAX {
            self.body.bytes = Vec::new();
        }
    }
}

impl Reason {
    /// Returns what an error of a decoder means.
    fn of(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull => Self::TooLarge,
            _ => Self::Malformed,
        }
    }

    fn in_words(self) -> &'static str {
        match self {
            Self::UnknownCoding => "its content coding is unknown, or there are several",
            Self::TooLarge => "it is larger than what is kept of a body",
            Self::Malformed => "it is not of the content coding that it names",
            Self::Truncated => "its content coding ends early",
        }
    }
}

impl Write for Body {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > self.size_max - self.bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `abc` as `gzip -n` has it.
    const GZIP: &[u8] =
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b\x4c\x4a\x06\x00\xc2\x41\x24\x35\x03\x00\x00\x00";

    fn block(head: &str) -> HeaderBlock {
        HeaderBlock::new(head.as_bytes())
    }

    #[track_caller]
    fn check(header: &str, body: &[u8], size_max: usize, expected: Option<&[u8]>) {
        let head = format!("HTTP/1.1 200 OK\r\n{header}\r\n");
        for cut in 0..=body.len() {
            let mut kept = Kept::default();
            // What the reply before left behind must not show.
            kept.start(&block(""), true, 9);
            kept.push(b"before");
            kept.start(&block(&head), true, size_max);
            kept.push(&body[..cut]);
            kept.push(&body[cut..]);
            kept.finish();
            assert_eq!(kept.body().ok(), expected, "{header:?} cut at {cut}");
            assert_eq!(kept.head(), head.as_bytes());
        }
    }

    #[test]
    fn a_body_is_kept_without_its_coding() {
        check("", b"abc", 3, Some(b"abc"));
        check("Content-Encoding: gzip\r\n", GZIP, 3, Some(b"abc"));
        check("Content-Encoding: gzip\r\n", b"", 3, Some(b""));
    }

    #[test]
    fn a_body_that_is_too_large_or_cannot_be_decompressed_is_unreadable() {
        check("", b"abcd", 3, None);
        check("Content-Encoding: gzip\r\n", GZIP, 2, None);
        check("Content-Encoding: gzip\r\n", &GZIP[..20], 3, None);
        check("Content-Encoding: compress\r\n", b"abc", 3, None);
    }

    #[test]
    fn the_reason_why_a_body_cannot_be_read_is_kept() {
        for (coding, body, limit, expected) in [
            ("compress", &b"abc"[..], 3, "its content coding is unknown, or there are several"),
            ("gzip, br", GZIP, 3, "its content coding is unknown, or there are several"),
            ("gzip", b"this is plain text", 3, "it is not of the content coding that it names"),
            ("gzip", &GZIP[..20], 3, "its content coding ends early"),
            ("gzip", GZIP, 2, "it is larger than what is kept of a body"),
        ] {
            let mut kept = Kept::default();
            kept.start(
                &block(&format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\n\r\n")),
                true,
                limit,
            );
            kept.push(body);
            kept.finish();
            assert_eq!(kept.body(), Err(expected), "{coding}");
        }
    }

    #[test]
    fn a_streamed_answer_is_put_together() {
        let event = |text: &str| format!("data: {{\"choices\":[{{\"index\":0,\"text\":\"{text}\"}}]}}\n\n");
        let mut kept = Kept::default();
        for (body, expected) in [
            (event("a") + &event("b"), r#"{"choices":[{"index":0,"text":"ab"}]}"#),
            ("data: other\n\n".to_owned(), "data: other\n\n"),
        ] {
            kept.start(&block("HTTP/1.1 200 OK\r\n\r\n"), true, 1000);
            kept.expect_streamed_answer();
            kept.push(body.as_bytes());
            kept.finish();
            assert_eq!(std::str::from_utf8(kept.body().unwrap()), Ok(expected));
        }
    }

    #[test]
    fn an_unwanted_body_is_not_kept() {
        let mut kept = Kept::default();
        kept.start(&block("HTTP/1.1 200 OK\r\n\r\n"), false, 10);
        kept.push(b"abc");
        kept.finish();
        assert_eq!(kept.body(), Ok(&b""[..]));
    }
}
