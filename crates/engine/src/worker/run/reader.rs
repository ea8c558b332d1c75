//! Readers of replies: what is made of them as they come, beyond the count of their bytes.

use httperf_load::page::{Link, Scanner};
use httperf_proto::HeaderBlock;

use super::inspection::Inspection;
use super::kept::Kept;
use super::stream::Stream;
use super::talk::Talk;

/// The reader of a reply. Most replies have none.
///
/// The form of a reply, what is expected of it and what its session takes from it are three questions: an event stream may
/// be inspected as well, while a step looks at all of it. The answers to each exclude each other.
#[derive(Default)]
pub(super) struct Reader {
    /// The last header section, of a call of gRPC or of a language model.
    pub(super) section: Option<HeaderBlock>,
    pub(super) form: Form,
    /// The state of the body, if bodies are inspected.
    pub(super) inspection: Option<Box<Inspection>>,
    pub(super) taken: Taken,
}

/// The form of a reply.
#[derive(Default)]
pub(super) enum Form {
    /// A body like any other.
    #[default]
    Body,
    Stream(Box<Stream>),
    /// The WebSocket that its call opens. If the server refuses that, the reply has a body.
    Talk(Box<Talk>),
}

/// What the session of a call takes from its reply.
#[derive(Default)]
pub(super) enum Taken {
    #[default]
    Nothing,
    /// The links of a page.
    Links(Box<Scanner>),
    /// The parts that a step looks at.
    Parts(Box<Kept>),
}

impl Reader {
    pub(super) fn stream(&self) -> Option<&Stream> {
        match &self.form {
            Form::Stream(stream) => Some(stream),
            Form::Body | Form::Talk(_) => None,
        }
    }

    pub(super) fn stream_mut(&mut self) -> Option<&mut Stream> {
        match &mut self.form {
            Form::Stream(stream) => Some(stream),
            Form::Body | Form::Talk(_) => None,
        }
    }

    /// Takes the stream, which has ended.
    pub(super) fn take_stream(&mut self) -> Option<Box<Stream>> {
        match std::mem::take(&mut self.form) {
            Form::Stream(stream) => Some(stream),
            other => {
                self.form = other;
                None
            }
        }
    }

    pub(super) fn talk(&self) -> Option<&Talk> {
        match &self.form {
            Form::Talk(talk) => Some(talk),
            Form::Body | Form::Stream(_) => None,
        }
    }

    pub(super) fn talk_mut(&mut self) -> Option<&mut Talk> {
        match &mut self.form {
            Form::Talk(talk) => Some(talk),
            Form::Body | Form::Stream(_) => None,
        }
    }

    /// Takes the parts that a step looks at. The reply is complete.
    pub(super) fn take_parts(&mut self) -> Option<Box<Kept>> {
        match std::mem::take(&mut self.taken) {
            Taken::Parts(mut kept) => {
                kept.finish();
                Some(kept)
            }
            other => {
                self.taken = other;
                None
            }
        }
    }

    /// Returns whether the server owes nothing at any instant: it speaks when it has something to say. What is awaited on an
    /// open WebSocket is counted message by message.
    pub(super) fn is_at_leisure(&self) -> bool {
        match &self.form {
            Form::Body => false,
            Form::Stream(stream) => stream.is_at_leisure(),
            Form::Talk(talk) => talk.is_open(),
        }
    }

    /// Takes the next piece of a body, but for a stream. Returns the links found in it.
    pub(super) fn push(&mut self, data: &[u8]) -> Vec<Link> {
        if let Some(inspection) = &mut self.inspection {
            inspection.push(data);
        }
        match &mut self.taken {
            Taken::Nothing => Vec::new(),
            Taken::Links(scanner) => {
                scanner.push(data);
                scanner.take_found()
            }
            Taken::Parts(kept) => {
                kept.push(data);
                Vec::new()
            }
        }
    }

    /// Returns whether some of what came is not decompressed yet.
    pub(super) fn is_behind(&self) -> bool {
        let is_form_behind = match &self.form {
            Form::Body => false,
            Form::Stream(stream) => stream.is_behind(),
            Form::Talk(talk) => talk.is_behind(),
        };
        is_form_behind
            || self.inspection.as_ref().is_some_and(|inspection| inspection.is_behind())
            || matches!(&self.taken, Taken::Parts(kept) if kept.is_behind())
    }

    /// Decompresses some more of what came, but for a stream.
    pub(super) fn go_on(&mut self) {
        if let Some(inspection) = &mut self.inspection {
            inspection.go_on();
        }
        if let Taken::Parts(kept) = &mut self.taken {
            kept.go_on();
        }
    }

    /// Forgets the reply: its call is made again, and opens the same WebSocket if it opens one.
    pub(super) fn reset(&mut self) {
        let form = match std::mem::take(&mut self.form) {
            Form::Talk(talk) => Form::Talk(talk),
            Form::Body | Form::Stream(_) => Form::Body,
        };
        *self = Self { form, ..Self::default() };
    }
}

/// Replies whose memory is kept for others: those that arrive at once, at most.
const SPARE_MAX: usize = 256;

/// Memory for replies that are read.
#[derive(Default)]
#[expect(clippy::vec_box, reason = "a box moves between these lists and calls, and is not made anew")]
pub(super) struct Spare {
    readers: Vec<Box<Reader>>,
    kept: Vec<Box<Kept>>,
}

impl Spare {
    /// Returns a reader of nothing yet.
    pub(super) fn reader(&mut self) -> Box<Reader> {
        self.readers.pop().unwrap_or_default()
    }

    /// Takes the reader of a reply that has ended.
    pub(super) fn take_reader(&mut self, mut reader: Box<Reader>) {
        if self.readers.len() < SPARE_MAX {
            *reader = Reader::default();
            self.readers.push(reader);
        }
    }

    /// Returns what is kept of a reply, nothing yet.
    pub(super) fn kept(&mut self) -> Box<Kept> {
        self.kept.pop().unwrap_or_default()
    }

    /// Takes what was kept of a reply that is judged.
    pub(super) fn take_kept(&mut self, mut kept: Box<Kept>) {
        if self.kept.len() < SPARE_MAX {
            kept.trim();
            self.kept.push(kept);
        }
    }
}

#[cfg(test)]
mod tests {
    use httperf_proto::content::{Coding, Content};
    use httperf_testkit::sim::connections;

    use super::super::stream::Reading;
    use super::*;

    #[test]
    fn a_call_that_is_made_again_keeps_its_websocket_and_nothing_of_its_reply() {
        let plan = connections(1, 1, 1);
        let head = HeaderBlock::new(b"HTTP/1.1 200 OK\r\n\r\n");
        let content = Content { is_event_stream: true, coding: Some(Coding::Identity) };
        let stream = || Form::Stream(Box::new(Stream::new(Reading::Events, content, &plan)));
        let talk = || Form::Talk(Box::new(Talk::new(None, None, 0)));
        for (form, has_talk) in [(Form::Body, false), (stream(), false), (talk(), true)] {
            let mut reader = Reader {
                section: Some(head.clone()),
                form,
                inspection: Some(Box::new(Inspection::new(&head, &plan))),
                taken: Taken::Parts(Box::default()),
            };
            reader.reset();
            assert_eq!((reader.talk().is_some(), reader.stream().is_some()), (has_talk, false));
            assert!(reader.section.is_none() && reader.inspection.is_none() && reader.take_parts().is_none());
        }
    }
}
