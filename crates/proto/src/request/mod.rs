//! Requests, whatever the protocol that they are sent with.

mod fields;
mod parts;

use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

pub(crate) use self::fields::fields;
pub use self::fields::{Scheme, is_forbidden, request_text, request_text_size};
pub use self::parts::{Forward, RequestBody, RequestParts};

/// A request, rendered: its bytes are shared by every call that sends the same.
#[derive(Clone, Debug)]
pub struct Request {
    /// The bytes of the request, but for a body that is shared; never empty.
    pub bytes: Rc<[u8]>,
    /// Where a body begins among them that is not shared; their number without one.
    pub body_start: usize,
    /// A body that follows them and is not copied. It may be other threads' as well.
    pub body: Option<Rc<Arc<[u8]>>>,
    /// Which of `bytes` are the request target.
    pub target: Range<usize>,
    /// Whether its method is `HEAD`, whose replies have no body.
    pub head: bool,
    /// Whether it may be made twice without harm: it has no body, and its method is safe (RFC 9110, section
    /// 9.2.1). Only such a request may travel as early data, which an attacker can replay.
    pub safe: bool,
}

impl Request {
    /// The request target.
    #[must_use]
    pub fn target(&self) -> &[u8] {
        &self.bytes[self.target.clone()]
    }

    /// A body that is shared; empty without one.
    #[must_use]
    pub fn shared_body(&self) -> &[u8] {
        self.body.as_ref().map_or(&[], |body| &body[..])
    }

    /// What comes before its body, and its body.
    #[must_use]
    pub fn parts(&self) -> (&[u8], &[u8]) {
        let (head, body) = self.bytes.split_at(self.body_start);
        (head, if self.body.is_some() { self.shared_body() } else { body })
    }

    /// How many bytes it has in all.
    #[must_use]
    pub fn size(&self) -> u64 {
        (self.bytes.len() + self.shared_body().len()) as u64
    }

    /// What comes from this offset on: the rest of its own bytes, or of its shared body.
    pub(crate) fn piece_at(&self, offset: u64) -> &[u8] {
        let offset = usize::try_from(offset).expect("a request fits in memory");
        match self.bytes.get(offset..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &self.shared_body()[offset - self.bytes.len()..],
        }
    }
}
