//! Bodies of replies: one source of pieces for all protocols.

use std::convert::Infallible;
use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::content::{BLOCK_SIZE, CHUNK_SIZE, Content};
use crate::timer::{Sleep, Timer};

/// The body of a reply, piece by piece, with a guard that is dropped once all of it was taken.
#[derive(Debug)]
pub(crate) struct ReplyBody<G = ()> {
    content: Content,
    offset: u64,
    /// Without a stated size hyper sends chunks, or to a client of HTTP/1.0 everything until the close.
    sized: bool,
    pace: Option<Pace>,
    _guard: Option<G>,
}

/// One byte per interval.
#[derive(Debug)]
struct Pace {
    timer: Rc<Timer>,
    interval: Duration,
    sleep: Option<Sleep>,
}

impl<G> ReplyBody<G> {
    pub(crate) fn new(content: Content, sized: bool) -> Self {
        Self { content, offset: 0, sized, pace: None, _guard: None }
    }

    /// Sends one byte every `interval`.
    pub(crate) fn trickle(mut self, timer: &Rc<Timer>, interval: Duration) -> Self {
        self.pace = Some(Pace { timer: Rc::clone(timer), interval, sleep: None });
        self
    }

    /// Keeps `guard` until hyper has the whole body.
    pub(crate) fn guarded(mut self, guard: G) -> Self {
        self._guard = Some(guard);
        self
    }

    /// Returns the next piece when it is due; `None` behind the last.
    pub(crate) async fn piece(&mut self) -> Option<Bytes> {
        poll_fn(|context| self.poll_piece(context)).await
    }

    /// Polls for what [`ReplyBody::piece`] returns.
    pub(crate) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if self.left() == 0 {
            return Poll::Ready(None);
        }
        let mut size_max = if self.sized { BLOCK_SIZE } else { CHUNK_SIZE };
        if let Some(pace) = &mut self.pace {
            if let Some(sleep) = &mut pace.sleep {
                ready!(Pin::new(sleep).poll(context));
            }
            pace.sleep = Some(pace.timer.sleep_until(Instant::now() + pace.interval));
            size_max = 1;
        }
        let bytes = self.content.slice(self.offset, size_max);
        self.offset += bytes.len() as u64;
        Poll::Ready(Some(bytes))
    }

    /// Returns true if the last piece was taken.
    pub(crate) fn is_over(&self) -> bool {
        // Unless hyper has to ask an empty body of no stated size for its end, it states a size of 0.
        self.left() == 0 && (self.sized || self.offset > 0)
    }

    fn left(&self) -> u64 {
        self.content.size() - self.offset
    }
}

impl<G: Unpin> Body for ReplyBody<G> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = ready!(self.get_mut().poll_piece(context));
        Poll::Ready(piece.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over()
    }

    fn size_hint(&self) -> SizeHint {
        if self.sized { SizeHint::with_exact(self.left()) } else { SizeHint::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_body_of_no_stated_size_is_asked_for_its_end() {
        assert!(ReplyBody::<()>::new(Content::Pattern(0), true).is_end_stream());
        assert!(!ReplyBody::<()>::new(Content::Pattern(0), false).is_end_stream());
    }
}
