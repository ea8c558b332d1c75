//! Arguments about WebSockets.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use httperf_plan::{Answer, Every, MESSAGE_SIZE, Payload, Template, WebSocket, WebSocketMessage};

use super::{Args, Version};
use crate::grammar::ParseStop;

/// Arguments about WebSockets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WebSocketArgs {
    /// `--websocket`.
    pub wanted: bool,
    /// `--ws-send`.
    pub text: Option<Template>,
    /// `--ws-size`.
    pub size: Option<NonZeroU32>,
    /// `--ws-binary`.
    pub binary: bool,
    /// `--ws-expect`.
    pub expect: Option<Answer>,
    /// `--ws-every`.
    pub every: Option<Every>,
    /// `--ws-messages`; 0 sends none.
    pub messages: Option<u64>,
    /// `--ws-for`.
    pub lasts: Option<Duration>,
    /// `--ws-ping`.
    pub ping_every: Option<Duration>,
    /// `--ws-deflate`.
    pub deflate: bool,
    /// `--ws-fragment`.
    pub fragment: Option<NonZeroU32>,
    /// `--ws-protocol`.
    pub protocols: Vec<String>,
}

impl WebSocketArgs {
    /// What is said on each WebSocket.
    fn websocket(&self) -> WebSocket {
        let payload = match (&self.text, self.size) {
            (Some(text), _) => Payload::Text(text.clone()),
            (None, size) => Payload::Numbered(size.unwrap_or(MESSAGE_SIZE)),
        };
        let is_silent = self.messages == Some(0);
        let is_paced = self.every.is_some() || self.lasts.is_some();
        WebSocket {
            message: (!is_silent).then_some(WebSocketMessage { binary: self.binary, payload }),
            expect: self.expect.unwrap_or_default(),
            every: self.every,
            messages: self.messages.map_or_else(|| (!is_paced).then_some(NonZeroU64::MIN), NonZeroU64::new),
            lasts: self.lasts,
            ping_every: self.ping_every,
            deflate: self.deflate,
            fragment: self.fragment,
            protocols: self.protocols.clone(),
        }
    }

    /// Refuses several calls on a connection that a WebSocket has to itself.
    pub(super) fn check(&self, args: &Args) -> Result<(), ParseStop> {
        let Some(asked) = args.websocket_option() else { return Ok(()) };
        if args.version() == Version::HTTP_11
            && args.load.call_arrivals.is_none()
            && args.num_calls.is_some_and(|count| count != 1)
        {
            return Err(ParseStop::rejected(format!(
                "--num-calls: expected 1 beside {asked}, as a WebSocket has its connection to itself over HTTP/1.1; \
                 --ws-messages says how many messages it sends"
            )));
        }
        Ok(())
    }
}

impl Args {
    /// What is said on the WebSockets that calls open; `None` if they open none.
    #[must_use]
    pub fn websocket(&self) -> Option<WebSocket> {
        self.websocket_option().map(|_| self.websockets.websocket())
    }

    /// What asks for WebSockets, if anything does.
    pub(super) fn websocket_option(&self) -> Option<&'static str> {
        match self.url() {
            _ if self.websockets.wanted => Some("--websocket"),
            Some(url) if url.websocket => Some(if url.https { "wss://" } else { "ws://" }),
            _ => None,
        }
    }
}
