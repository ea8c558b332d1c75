//! Content of replies, read as it arrives: codings, event streams, and the replies of language models.

mod coding;
mod expand;
pub mod openai;
pub mod sse;

pub use self::coding::{Coding, Decoder};

/// The replies whose content is handed out as it streams in ([`Event::StreamStarted`](crate::Event::StreamStarted)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Streamed {
    /// None.
    #[default]
    Never,
    /// Those whose `Content-Type` is [`sse::MEDIA_TYPE`].
    EventStreams,
    /// All.
    All,
}

impl Streamed {
    /// Returns true if it includes a reply with this content.
    pub(crate) fn includes(self, content: Content) -> bool {
        match self {
            Self::Never => false,
            Self::EventStreams => content.is_event_stream,
            Self::All => true,
        }
    }
}

/// The content of a reply, as its header block describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// Its type is [`sse::MEDIA_TYPE`].
    pub is_event_stream: bool,
    /// Its coding; `None` if it is unknown, or if there are several.
    pub coding: Option<Coding>,
}

impl Default for Content {
    fn default() -> Self {
        Self { is_event_stream: false, coding: Some(Coding::Identity) }
    }
}

impl Content {
    /// Reads a header field. Of several types, the last one counts.
    pub(crate) fn read_field(&mut self, name: &[u8], value: &[u8]) {
        match name.len() {
            12 if name.eq_ignore_ascii_case(b"content-type") => {
                self.is_event_stream = sse::is_media_type(value);
            }
            16 if name.eq_ignore_ascii_case(b"content-encoding") => {
                self.coding = self.coding.and_then(|coding| coding.with(value));
            }
            _ => {}
        }
    }
}
