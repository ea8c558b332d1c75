//! A reply as a value.

use super::Fields;

/// A reply.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The statuses of interim replies before it.
    pub interim: Vec<u16>,
    /// Its status.
    pub status: u16,
    /// Its header fields, without the status.
    pub fields: Fields,
    /// Its body.
    pub body: Vec<u8>,
    /// Its trailers; none if there are no fields in them.
    pub trailers: Fields,
    /// How much of the body is in a DATA frame at most.
    pub piece: usize,
    /// The padding of its frames, if they have any.
    pub padding: Option<u8>,
}

impl Reply {
    /// One with this status and nothing else.
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

    /// With a body.
    #[must_use]
    pub fn body(self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// With another header field.
    #[must_use]
    pub fn field(mut self, name: &str, value: &str) -> Self {
        self.fields.push((name.to_owned(), value.to_owned()));
        self
    }

    /// With another trailer.
    #[must_use]
    pub fn trailer(mut self, name: &str, value: &str) -> Self {
        self.trailers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Behind another interim reply.
    #[must_use]
    pub fn interim(mut self, status: u16) -> Self {
        self.interim.push(status);
        self
    }

    /// With DATA frames that have no more than so much of the body each.
    #[must_use]
    pub fn in_pieces_of(self, piece: usize) -> Self {
        Self { piece, ..self }
    }

    /// With so much padding in each DATA frame.
    #[must_use]
    pub fn padded(self, padding: u8) -> Self {
        Self { padding: Some(padding), ..self }
    }
}
