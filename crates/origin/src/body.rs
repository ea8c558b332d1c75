//! Bodies of replies: one source of pieces for all protocols.

use std::future::{Future as _, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};

use crate::content::{BLOCK_SIZE, CHUNK_SIZE, Content};
use crate::link::Link;
use crate::stream::pieces::{BrokenOff, Pieces};
use crate::timer::{Sleep, Timer};

/// The body of a reply, piece by piece, with a guard that is dropped once all of it was taken.
#[derive(Debug)]
pub(crate) struct ReplyBody<G = ()> {
    source: Source,
    _guard: Option<G>,
}

#[derive(Debug)]
enum Source {
    /// What is there already.
    Slices(Slices),
    /// What comes with time.
    Stream(Box<Pieces>),
}

impl<G> ReplyBody<G> {
    /// Begins a body; that of a stream counts its time from here.
    pub(crate) fn new(content: Content, sized: bool, link: &Rc<Link>) -> Self {
        let source = match content {
            Content::Stream(script) => Source::Stream(Box::new(Pieces::new(*script, link))),
            content => Source::Slices(Slices { content, offset: 0, sized, pace: None }),
        };
        Self { source, _guard: None }
    }

    /// Sends one byte every `interval`, unless it is a stream, which has a pace of its own.
    pub(crate) fn trickle(mut self, timer: &Rc<Timer>, interval: Duration) -> Self {
        if let Source::Slices(slices) = &mut self.source {
            slices.pace = Some(Pace { timer: Rc::clone(timer), interval, sleep: None });
        }
        self
    }

    /// Keeps `guard` until hyper has the whole body.
    pub(crate) fn guarded(mut self, guard: G) -> Self {
        self._guard = Some(guard);
        self
    }

    /// Returns the next piece when it is due; `None` behind the last.
    pub(crate) async fn piece(&mut self) -> Option<Result<Bytes, BrokenOff>> {
        poll_fn(|context| self.poll_piece(context)).await
    }

    /// Polls for what [`ReplyBody::piece`] returns.
    pub(crate) fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BrokenOff>>> {
        match &mut self.source {
            Source::Slices(slices) => slices.poll_piece(context).map(|piece| piece.map(Ok)),
            Source::Stream(pieces) => pieces.poll_piece(context),
        }
    }

    /// Returns true if the last piece was taken.
    pub(crate) fn is_over(&self) -> bool {
        match &self.source {
            Source::Slices(slices) => slices.is_over(),
            Source::Stream(pieces) => pieces.is_over(),
        }
    }
}

/// A body of known content.
#[derive(Debug)]
struct Slices {
    content: Content,
    offset: u64,
    /// Without a stated size hyper sends chunks, or to a client of HTTP/1.0 everything until the close.
    sized: bool,
    pace: Option<Pace>,
}

/// One byte per interval.
#[derive(Debug)]
struct Pace {
    timer: Rc<Timer>,
    interval: Duration,
    sleep: Option<Sleep>,
}

impl Slices {
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
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

    fn is_over(&self) -> bool {
        // Unless hyper has to ask an empty body of no stated size for its end, it states a size of 0.
        self.left() == 0 && (self.sized || self.offset > 0)
    }

    fn left(&self) -> u64 {
        self.content.size().unwrap_or(0) - self.offset
    }
}

impl<G: Unpin> Body for ReplyBody<G> {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BrokenOff>>> {
        let piece = ready!(self.get_mut().poll_piece(context));
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.is_over()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Slices(slices) if slices.sized => SizeHint::with_exact(slices.left()),
            _ => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_body_of_no_stated_size_is_asked_for_its_end() {
        let empty = |sized| Slices { content: Content::Pattern(0), offset: 0, sized, pace: None };
        assert!(empty(true).is_over());
        assert!(!empty(false).is_over());
    }
}
