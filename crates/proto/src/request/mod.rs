//! Requests, whatever the protocol that they are sent with.
//!
//! [`RequestParts`] say what to send, and become a [`Request`]: a method, a target, an authority, header fields and a
//! body. Protocols with binary framing take those one by one; HTTP/1 takes its text, which is rendered once.

mod fields;
mod parts;

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

pub use self::fields::{Scheme, is_connection_specific};
pub use self::parts::{Forward, RequestBody, RequestParts};

/// A request. Clones share their contents.
#[derive(Clone, Debug)]
pub struct Request(Rc<Contents>);

#[derive(Debug)]
struct Contents {
    /// The request as HTTP/1 sends it, except for a shared body. Method, target and header fields are found in it: the
    /// lines that a user adds go out over HTTP/1 as they are, even those that are no header fields, so that fields
    /// alone could not be rendered as text again.
    text: Vec<u8>,
    /// The size of the method, which `text` begins with.
    method_size: usize,
    /// The request target within `text`.
    target: Range<usize>,
    /// The header lines within `text`.
    lines: Range<usize>,
    /// The offset in `text` at which a body begins that is not shared; the end of `text` without one.
    body_start: usize,
    /// A body that follows `text`. Other threads may share it as well.
    shared_body: Option<Rc<Arc<[u8]>>>,
    reply_content: ReplyContent,
    is_safe: bool,
    /// The size of the header block in HTTP/2, computed when it is first asked for.
    header_block_size: OnceCell<u64>,
}

/// The replies to a request that have content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyContent {
    /// Those whose header block says so.
    AsTold,
    /// None, whatever their header blocks say.
    Never,
}

impl Request {
    /// The method.
    #[must_use]
    pub fn method(&self) -> &[u8] {
        &self.0.text[..self.0.method_size]
    }

    /// The request target within the server, even if HTTP/1 sends it in absolute form.
    #[must_use]
    pub fn target(&self) -> &[u8] {
        &self.0.text[self.0.target.clone()]
    }

    /// The authority: the value of the first `Host` field, if there is one.
    #[must_use]
    pub fn authority(&self) -> Option<&[u8]> {
        self.header_fields().find(|(name, _)| fields::is_host(name)).map(|(_, host)| host)
    }

    /// The header fields, names as they are spelled in HTTP/1. Lines that are no fields are left out.
    pub fn header_fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        fields::in_lines(&self.0.text[self.0.lines.clone()])
    }

    /// The body; empty without one.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        let contents = &*self.0;
        contents.shared_body.as_ref().map_or(&contents.text[contents.body_start..], |body| &body[..])
    }

    /// Whether replies have no content, whatever their header blocks say, as those to `HEAD`.
    #[must_use]
    pub fn forbids_reply_content(&self) -> bool {
        self.0.reply_content == ReplyContent::Never
    }

    /// Whether it may be made twice without harm: it has no body, and its method is safe (RFC 9110, section
    /// 9.2.1). Only such a request may travel as early data, which an attacker can replay.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        self.0.is_safe
    }

    /// Whether both share their contents.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Request line, header lines and empty line, as HTTP/1 sends them.
    #[must_use]
    pub fn http1_head(&self) -> &[u8] {
        &self.0.text[..self.0.body_start]
    }

    /// The number of bytes that HTTP/1 sends; never 0.
    #[must_use]
    pub fn http1_size(&self) -> u64 {
        (self.0.text.len() + self.shared_body().len()) as u64
    }

    /// The bytes that HTTP/1 sends from this offset on, as far as they lie in one piece.
    pub(crate) fn http1_piece(&self, offset: u64) -> &[u8] {
        let offset = usize::try_from(offset).expect("a request fits in memory");
        match self.0.text.get(offset..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &self.shared_body()[offset - self.0.text.len()..],
        }
    }

    /// The same request with further header lines, each with its line end, after the others.
    pub(crate) fn with_lines(&self, lines: &[u8]) -> Self {
        let Contents { text, target, body_start, shared_body, .. } = &*self.0;
        let (before, after) = text.split_at(self.0.lines.end);
        Self(Rc::new(Contents {
            text: [before, lines, after].concat(),
            target: target.clone(),
            lines: self.0.lines.start..self.0.lines.end + lines.len(),
            body_start: body_start + lines.len(),
            shared_body: shared_body.clone(),
            header_block_size: OnceCell::new(),
            ..*self.0
        }))
    }

    fn shared_body(&self) -> &[u8] {
        self.0.shared_body.as_ref().map_or(&[], |body| &body[..])
    }
}

#[cfg(test)]
impl Request {
    /// A request that is not well-formed HTTP: these bytes, and a shared body.
    pub(crate) fn of_bytes(bytes: &[u8], shared_body: Option<&[u8]>) -> Self {
        Self(Rc::new(Contents {
            text: bytes.to_vec(),
            method_size: 0,
            target: 0..0,
            lines: 0..0,
            body_start: bytes.len(),
            shared_body: shared_body.map(|body| Rc::new(body.into())),
            reply_content: if bytes.starts_with(b"HEAD") {
                ReplyContent::Never
            } else {
                ReplyContent::AsTold
            },
            is_safe: !bytes.starts_with(b"POST"),
            header_block_size: OnceCell::new(),
        }))
    }
}
