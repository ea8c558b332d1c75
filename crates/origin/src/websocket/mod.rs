//! WebSockets (RFC 6455): which requests ask for one, what the server says there, and the connection itself.
//!
//! Every path opens a WebSocket if the request asks for one, and then echoes what it gets. Steps of the path ask for
//! something else: to push messages on a schedule, to say nothing, to close with a code, to break off.

mod talk;

use h2::ext::Protocol;
use httperf_proto::list::elements;
use httperf_proto::websocket::{Deflate, Key, answer_offer};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Method, Response, Version};

use crate::delay::Delay;
use crate::reply::lists;
use crate::stream::script::Script;

pub(crate) use self::talk::{End, converse};

/// What the server says on a WebSocket.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conversation {
    pub(crate) manner: Manner,
    /// The code with which the server closes behind its last message, or behind the first one that it gets.
    pub(crate) close: Option<u16>,
    /// The number of messages, either way, after which it breaks off.
    pub(crate) cut: Option<u32>,
    /// The seed of its random numbers.
    pub(crate) seed: u64,
}

/// The way in which the server talks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Manner {
    /// Each message is sent back, this long after it came.
    Echo(Delay),
    /// Messages are pushed on a schedule, each with its number and the times of its departure.
    Push(Box<Script>),
    /// Nothing is said, but pongs.
    Silent,
}

/// What the server answers to a request that asks for a WebSocket.
#[derive(Debug)]
pub(crate) struct Opening {
    /// The values of the fields by which the server agrees: `Sec-WebSocket-Accept`, which HTTP/1 sends, and those of the
    /// extension and the subprotocol that it chose.
    accept: String,
    extensions: Option<String>,
    protocol: Option<String>,
    pub(crate) deflate: Option<Deflate>,
    pub(crate) conversation: Conversation,
}

const KEY: HeaderName = HeaderName::from_static("sec-websocket-key");
const VERSION: HeaderName = HeaderName::from_static("sec-websocket-version");
const EXTENSIONS: HeaderName = HeaderName::from_static("sec-websocket-extensions");
const PROTOCOL: HeaderName = HeaderName::from_static("sec-websocket-protocol");

/// Returns whether a request asks for a WebSocket, and may have one: over HTTP/1.1 by an upgrade, over HTTP/2 by an
/// extended CONNECT (RFC 8441).
pub(crate) fn is_asked_for(request: &Parts) -> bool {
    let headers = &request.headers;
    let is_version = headers.get(VERSION).is_some_and(|version| version == "13");
    match request.version {
        Version::HTTP_11 => {
            request.method == Method::GET
                && lists(headers, &header::UPGRADE, "websocket")
                && lists(headers, &header::CONNECTION, "upgrade")
                && is_version
                && headers.contains_key(KEY)
        }
        Version::HTTP_2 => {
            let protocol = request.extensions.get::<Protocol>();
            protocol.is_some_and(|protocol| protocol.as_str() == "websocket") && is_version
        }
        _ => false,
    }
}

impl Opening {
    /// Answers a request that asks for a WebSocket. Of subprotocols, the first that is offered is chosen.
    pub(crate) fn new(request: &Parts, conversation: Conversation) -> Self {
        let headers = &request.headers;
        let values = |name: &HeaderName| headers.get_all(name).into_iter().map(HeaderValue::as_bytes);
        let key = values(&KEY).next().unwrap_or_default().trim_ascii();
        let (deflate, extensions) = answer_offer(values(&EXTENSIONS)).unzip();
        let protocol = values(&PROTOCOL).flat_map(elements).next().and_then(|name| str::from_utf8(name).ok());
        Self {
            accept: Key::accept(key),
            extensions,
            protocol: protocol.map(str::to_owned),
            deflate,
            conversation,
        }
    }

    /// The fields that both versions of HTTP send.
    fn fields(&self) -> impl Iterator<Item = (HeaderName, &str)> {
        let fields = [(EXTENSIONS, self.extensions.as_deref()), (PROTOCOL, self.protocol.as_deref())];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }

    /// The header block over HTTP/1.
    pub(crate) fn head(&self) -> Vec<u8> {
        let mut head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {}\r\n",
            self.accept
        );
        for (name, value) in self.fields() {
            head += &format!("{name}: {value}\r\n");
        }
        head += "\r\n";
        head.into_bytes()
    }

    /// The same over HTTP/2.
    pub(crate) fn response(&self) -> Response<()> {
        let mut response = Response::new(());
        for (name, value) in self.fields() {
            if let Ok(value) = HeaderValue::from_str(value) {
                response.headers_mut().insert(name, value);
            }
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    #[test]
    fn the_first_subprotocol_that_is_offered_is_chosen() {
        for (offered, expected) in [
            (&[][..], None),
            (&["chat"], Some("chat")),
            (&["chat, superchat"], Some("chat")),
            (&[" , chat"], Some("chat")),
            (&["", "superchat"], Some("superchat")),
            (&[","], None),
        ] {
            let asking =
                offered.iter().fold(Request::get("/"), |asking, &value| asking.header(PROTOCOL, value));
            let (request, ()) = asking.body(()).unwrap().into_parts();
            let conversation = Conversation { manner: Manner::Silent, close: None, cut: None, seed: 0 };
            let opening = Opening::new(&request, conversation);
            assert_eq!(opening.protocol.as_deref(), expected, "{offered:?}");
        }
    }
}
