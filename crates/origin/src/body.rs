//! What replies carry: a repeating printable pattern that lives in one static block, or a short text.

use std::convert::Infallible;
use std::fmt;
use std::future::Future as _;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::connection::Link;
use crate::timer::{Sleep, Timer};

/// What a reply carries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// So many bytes of the pattern.
    Pattern(u64),
    /// This text, of this media type.
    Text(Bytes, &'static str),
}

impl Content {
    pub(crate) fn plain(text: String) -> Self {
        Self::Text(text.into(), "text/plain")
    }

    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Pattern(size) => *size,
            Self::Text(text, _) => text.len() as u64,
        }
    }

    pub(crate) fn media_type(&self) -> &'static str {
        match self {
            Self::Pattern(_) => "text/plain",
            Self::Text(_, media_type) => media_type,
        }
    }

    /// The first half of it.
    pub(crate) fn half(&self) -> Self {
        match self {
            Self::Pattern(size) => Self::Pattern(size / 2),
            Self::Text(text, media_type) => Self::Text(text.slice(..text.len() / 2), media_type),
        }
    }

    /// Some of the bytes from `offset` on: at most `size_max`, and none only at the end.
    pub(crate) fn slice(&self, offset: u64, size_max: usize) -> Bytes {
        let left = usize::try_from(self.size() - offset).unwrap_or(usize::MAX).min(size_max);
        match self {
            Self::Pattern(_) => {
                let from = (offset % BLOCK_SIZE as u64) as usize;
                Bytes::from_static(&BLOCK[from..BLOCK_SIZE.min(from.saturating_add(left))])
            }
            Self::Text(text, _) => {
                let from = offset as usize;
                text.slice(from..from + left)
            }
        }
    }
}

/// The pattern, repeated; as many bytes as one write may well take.
static BLOCK: [u8; BLOCK_SIZE] = block();

const BLOCK_SIZE: usize = 64 * 1024;

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

/// How many bytes go into one chunk of a chunked reply.
pub(crate) const CHUNK_SIZE: usize = 4096;

/// A body for hyper to send.
#[derive(Debug)]
pub(crate) struct ReplyBody {
    content: Content,
    offset: u64,
    /// Without a size hyper sends chunks, or to a client of HTTP/1.0 everything until the close.
    sized: bool,
    pace: Option<Pace>,
    /// Dropping it is what tells that hyper has seen the end.
    _last: Option<CloseWhenDropped>,
}

/// One byte at a time, so long apart.
#[derive(Debug)]
struct Pace {
    timer: Rc<Timer>,
    interval: Duration,
    sleep: Option<Sleep>,
}

#[derive(Debug)]
struct CloseWhenDropped(Rc<Link>);

impl Drop for CloseWhenDropped {
    fn drop(&mut self) {
        self.0.close_when_flushed();
    }
}

impl ReplyBody {
    pub(crate) fn new(content: Content, sized: bool) -> Self {
        Self { content, offset: 0, sized, pace: None, _last: None }
    }

    /// Sends one byte every `interval`.
    pub(crate) fn trickle(mut self, timer: &Rc<Timer>, interval: Duration) -> Self {
        self.pace = Some(Pace { timer: Rc::clone(timer), interval, sleep: None });
        self
    }

    /// Closes the connection, unannounced, once hyper has the whole body.
    pub(crate) fn close_at_end(mut self, link: &Rc<Link>) -> Self {
        self._last = Some(CloseWhenDropped(Rc::clone(link)));
        self
    }

    fn left(&self) -> u64 {
        self.content.size() - self.offset
    }
}

impl Body for ReplyBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = self.get_mut();
        if this.left() == 0 {
            return Poll::Ready(None);
        }
        let mut size_max = if this.sized { BLOCK_SIZE } else { CHUNK_SIZE };
        if let Some(pace) = &mut this.pace {
            if let Some(sleep) = &mut pace.sleep {
                std::task::ready!(Pin::new(sleep).poll(context));
            }
            pace.sleep = Some(pace.timer.sleep_until(Instant::now() + pace.interval));
            size_max = 1;
        }
        let bytes = this.content.slice(this.offset, size_max);
        this.offset += bytes.len() as u64;
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        // An empty body of no stated size must still be asked for its end, or hyper would state a size of 0.
        self.left() == 0 && (self.sized || self.offset > 0)
    }

    fn size_hint(&self) -> SizeHint {
        if self.sized { SizeHint::with_exact(self.left()) } else { SizeHint::default() }
    }
}

/// What a `Server-Checksum` trailer says of a body: FNV-1a over 64 bits.
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
        while (all.len() as u64) < content.size() {
            let slice = content.slice(all.len() as u64, size_max);
            assert!((1..=size_max).contains(&slice.len()));
            all.extend_from_slice(&slice);
        }
        assert!(content.slice(content.size(), size_max).is_empty());
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
    fn an_empty_body_of_no_stated_size_is_asked_for_its_end() {
        assert!(ReplyBody::new(Content::Pattern(0), true).is_end_stream());
        assert!(!ReplyBody::new(Content::Pattern(0), false).is_end_stream());
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
