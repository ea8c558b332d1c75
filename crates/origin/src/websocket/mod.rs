//! WebSockets (RFC 6455): which requests ask for one, what the server says there, and the connection itself.
//!
//! Every path opens a WebSocket if the request asks for one, and then echoes what it gets. Steps of the path ask for
//! something else: to push messages on a schedule, to say nothing, to close with a code, to break off.

mod talk;

use httperf_proto::websocket::{Deflate, Key, answer_offer};
use hyper::header::{self, HeaderName};
use hyper::http::request::Parts;
use hyper::{Method, Version};

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
    /// The header block, over HTTP/1.
    pub(crate) head: Vec<u8>,
    pub(crate) deflate: Option<Deflate>,
    pub(crate) conversation: Conversation,
}

const KEY: HeaderName = HeaderName::from_static("sec-websocket-key");
const VERSION: HeaderName = HeaderName::from_static("sec-websocket-version");
const EXTENSIONS: HeaderName = HeaderName::from_static("sec-websocket-extensions");
const PROTOCOL: HeaderName = HeaderName::from_static("sec-websocket-protocol");

/// Returns whether a request asks for a WebSocket, and may have one: over HTTP/1.1.
pub(crate) fn is_asked_for(request: &Parts) -> bool {
    let headers = &request.headers;
    request.version == Version::HTTP_11
        && request.method == Method::GET
        && lists(headers, &header::UPGRADE, "websocket")
        && lists(headers, &header::CONNECTION, "upgrade")
        && headers.get(VERSION).is_some_and(|version| version == "13")
        && headers.contains_key(KEY)
}

impl Opening {
    /// Answers a request that asks for a WebSocket. Of subprotocols, the first that is offered is chosen.
    pub(crate) fn new(request: &Parts, conversation: Conversation) -> Self {
        let headers = &request.headers;
        let values = |name: &HeaderName| headers.get_all(name).into_iter().map(|value| value.as_bytes());
        let key = values(&KEY).next().unwrap_or_default().trim_ascii();
        let mut head = format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {}\r\n",
            Key::accept(key)
        );
        let agreed = answer_offer(values(&EXTENSIONS));
        if let Some((_, answer)) = &agreed {
            head += &format!("Sec-WebSocket-Extensions: {answer}\r\n");
        }
        let offered = headers.get(PROTOCOL).and_then(|value| value.to_str().ok());
        if let Some(protocol) = offered.and_then(|value| value.split(',').next()) {
            head += &format!("Sec-WebSocket-Protocol: {}\r\n", protocol.trim());
        }
        head += "\r\n";
        Self { head: head.into_bytes(), deflate: agreed.map(|(deflate, _)| deflate), conversation }
    }
}
