//! Requests, independent of the protocol that sends them.
//!
//! [`RequestParts`] become a [`Request`]: a method, a target, an authority, header fields and a body.
//! Protocols with binary framing take those one by one; HTTP/1 takes its text, which is rendered once.

mod fields;
mod parts;

use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;

pub use self::fields::{Scheme, is_connection_specific};
pub use self::parts::{Forward, Opening, RequestBody, RequestParts};
use crate::status;

/// A request. Clones share their contents.
#[derive(Clone, Debug)]
pub struct Request(Rc<Contents>);

#[derive(Debug)]
struct Contents {
    /// The request as HTTP/1 sends it, except for a shared body. Method, target and header fields lie in it.
    /// Text cannot be rendered from fields later: lines that a user adds are sent over HTTP/1 as they are,
    /// even if they are no fields.
    text: Vec<u8>,
    /// The size of the method, which `text` begins with.
    method_size: usize,
    /// The request target within `text`.
    target: Range<usize>,
    /// The header lines within `text`.
    lines: Range<usize>,
    /// The offset of a body in `text`; the end of `text` if there is none or it is shared.
    body_start: usize,
    /// A body that follows `text`. Other threads may share it as well.
    shared_body: Option<Rc<Arc<[u8]>>>,
    reply_content: ReplyContent,
    is_safe: bool,
    /// The size of the header block in HTTP/2, computed on first use.
    header_block_size: OnceCell<u64>,
    /// The request as HTTP/3 sends it, rendered on first use.
    http3_form: OnceCell<Box<Http3Form>>,
}

/// A request as HTTP/3 sends it.
#[derive(Clone, Debug)]
pub(crate) struct Http3Form {
    /// HEADERS, the beginning of DATA if it has a body, and the body unless it is shared.
    pub(crate) frames: Bytes,
    /// The body, if it is shared.
    pub(crate) body: Bytes,
    /// Sizes of the header fields before and after compression.
    pub(crate) plain: u64,
    pub(crate) size: usize,
}

/// The replies to a request that have content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReplyContent {
    /// Those whose header block announces it.
    AsTold,
    /// None, whatever their header blocks say.
    Never,
    /// As told; but what follows a 2xx is a tunnel (RFC 9110, section 9.3.6).
    Tunnel,
    /// As told; but the reply that opens the WebSocket has what the server says there.
    WebSocket,
}

impl ReplyContent {
    /// Returns that of the requests with a method.
    fn of(method: &[u8]) -> Self {
        match method {
            b"HEAD" => Self::Never,
            b"CONNECT" => Self::Tunnel,
            _ => Self::AsTold,
        }
    }
}

impl Request {
    /// Returns the method.
    #[must_use]
    pub fn method(&self) -> &[u8] {
        &self.0.text[..self.0.method_size]
    }

    /// Returns the request target within the server, even if HTTP/1 sends it in absolute form.
    #[must_use]
    pub fn target(&self) -> &[u8] {
        &self.0.text[self.0.target.clone()]
    }

    /// Returns the authority: the value of the first `Host` field.
    #[must_use]
    pub fn authority(&self) -> Option<&[u8]> {
        self.header_fields().find(|(name, _)| fields::is_host(name)).map(|(_, host)| host)
    }

    /// Returns the header fields, names as HTTP/1 spells them. Lines that are no fields are skipped.
    pub fn header_fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        fields::in_lines(&self.0.text[self.0.lines.clone()])
    }

    /// Returns the body; empty without one.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        let contents = &*self.0;
        contents.shared_body.as_ref().map_or(&contents.text[contents.body_start..], |body| &body[..])
    }

    /// Returns whether a reply of this status has no content, whatever its header block says: because of the status, or
    /// of the request, as with `HEAD`, and with `CONNECT` if it [opens a tunnel](Self::opens_tunnel).
    #[must_use]
    #[inline]
    pub fn forbids_content(&self, status: u16) -> bool {
        let is_forbidden = self.0.reply_content == ReplyContent::Never || status::forbids_content(status);
        is_forbidden || self.opens_tunnel(status)
    }

    /// Returns whether HTTP ends on the connection with the header block of a reply of this status, as a tunnel begins.
    #[must_use]
    #[inline]
    pub fn opens_tunnel(&self, status: u16) -> bool {
        self.0.reply_content == ReplyContent::Tunnel && (200..300).contains(&status)
    }

    /// Returns whether it opens a WebSocket. If the server agrees, its reply lasts as long as the WebSocket does: the
    /// content of either direction are the frames (RFC 6455; RFC 8441 over HTTP/2).
    #[must_use]
    pub fn opens_websocket(&self) -> bool {
        self.0.reply_content == ReplyContent::WebSocket
    }

    /// Returns whether it may be made twice without harm: it has no body, and its method is safe (RFC 9110,
    /// section 9.2.1). Only such a request may be sent as early data, which an attacker can replay.
    #[must_use]
    pub fn is_safe(&self) -> bool {
        self.0.is_safe
    }

    /// Returns whether both share their contents.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the request line, the header lines and the empty line, as HTTP/1 sends them.
    #[must_use]
    pub fn http1_head(&self) -> &[u8] {
        &self.0.text[..self.0.body_start]
    }

    /// Returns how many bytes HTTP/1 sends; never 0.
    #[must_use]
    pub fn http1_size(&self) -> u64 {
        (self.0.text.len() + self.shared_body().len()) as u64
    }

    /// Returns the bytes that HTTP/1 sends from this offset on, as far as they lie in one piece.
    pub(crate) fn http1_piece(&self, offset: u64) -> &[u8] {
        let offset = usize::try_from(offset).expect("a request fits in memory");
        match self.0.text.get(offset..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &self.shared_body()[offset - self.0.text.len()..],
        }
    }

    /// Returns it as HTTP/3 sends it, as `render` did the first time.
    pub(crate) fn http3_form(&self, render: impl FnOnce() -> Http3Form) -> &Http3Form {
        self.0.http3_form.get_or_init(|| Box::new(render()))
    }

    /// Splits the body into what lies in the request and what it shares with others; one of them is empty.
    pub(crate) fn body_parts(&self) -> (&[u8], Bytes) {
        match &self.0.shared_body {
            Some(body) => (&[], Bytes::from_owner(Arc::clone(body))),
            None => (self.body(), Bytes::new()),
        }
    }

    fn shared_body(&self) -> &[u8] {
        self.0.shared_body.as_ref().map_or(&[], |body| &body[..])
    }
}

#[cfg(test)]
impl Request {
    /// Makes a request that is not well-formed HTTP: these bytes, and a shared body.
    pub(crate) fn of_bytes(bytes: &[u8], shared_body: Option<&[u8]>) -> Self {
        Self(Rc::new(Contents {
            text: bytes.to_vec(),
            method_size: 0,
            target: 0..0,
            lines: 0..0,
            body_start: bytes.len(),
            shared_body: shared_body.map(|body| Rc::new(body.into())),
            reply_content: ReplyContent::of(bytes.split(|&byte| byte == b' ').next().unwrap_or_default()),
            is_safe: !bytes.starts_with(b"POST"),
            header_block_size: OnceCell::new(),
            http3_form: OnceCell::new(),
        }))
    }
}
