//! Replies as values.

use super::Fields;

/// A reply.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Statuses of preceding interim replies.
    pub interim: Vec<u16>,
    /// Status.
    pub status: u16,
    /// Header fields, without the status.
    pub fields: Fields,
    /// Body.
    pub body: Vec<u8>,
    /// Trailers; omitted if empty.
    pub trailers: Fields,
    /// Maximum size of the body in a DATA frame.
    pub piece: usize,
    /// Padding of frames, if any.
    pub padding: Option<u8>,
}

impl Reply {
    /// Creates a reply with only this status.
    #[must_use]
    pub fn new(status: u16) -> Self {
        Self {
            interim: Vec::new(),
            status,
            fields: Fields::new(),
            body: Vec::new(),
            trailers: Fields::new(),
            piece: 16_384,
            padding: None,
        }
    }

    /// Sets the body.
    #[must_use]
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// Adds a header field.
    #[must_use]
    pub fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a trailer.
    #[must_use]
    pub fn trailer(mut self, name: &str, value: &str) -> Self {
        self.trailers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds an interim reply.
    #[must_use]
    pub fn interim(mut self, status: u16) -> Self {
        self.interim.push(status);
        self
    }

    /// Limits the size of the body in each DATA frame.
    #[must_use]
    pub fn in_pieces_of(self, piece: usize) -> Self {
        Self { piece, ..self }
    }

    /// Adds padding to each DATA frame.
    #[must_use]
    pub fn padded(self, padding: u8) -> Self {
        Self { padding: Some(padding), ..self }
    }
}
