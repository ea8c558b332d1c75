//! Arguments about WebSockets.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use httperf_plan::{Answer, Every, Limits, MESSAGE_SIZE, Payload, Template, WebSocket, WebSocketMessage};

use super::{Args, Version};
use crate::command_line::grammar::ParseStop;

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
    /// The option that says something about WebSockets and was given, if one was.
    fn choice(&self) -> Option<&'static str> {
        let options = [
            ("--ws-send", self.text.is_some()),
            ("--ws-size", self.size.is_some()),
            ("--ws-binary", self.binary),
            ("--ws-expect", self.expect.is_some()),
            ("--ws-every", self.every.is_some()),
            ("--ws-messages", self.messages.is_some()),
            ("--ws-for", self.lasts.is_some()),
            ("--ws-ping", self.ping_every.is_some()),
            ("--ws-deflate", self.deflate),
            ("--ws-fragment", self.fragment.is_some()),
            ("--ws-protocol", !self.protocols.is_empty()),
        ];
        options.into_iter().find(|&(_, is_given)| is_given).map(|(option, _)| option)
    }

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

    /// Refuses options that contradict each other or others.
    pub(super) fn check(&self, args: &Args) -> Result<(), ParseStop> {
        let asked = args.websocket_option();
        let refused = |message: String| Err(ParseStop::rejected(message));
        let Some(asked) = asked else {
            return match self.choice() {
                Some(option) => {
                    let message = format!(
                        "{option}: expected a URL that begins with ws:// or wss://, or --websocket, got none"
                    );
                    refused(message)
                }
                None => Ok(()),
            };
        };
        let is_silent = self.messages == Some(0);
        let silent = [
            ("--ws-send", self.text.is_some()),
            ("--ws-size", self.size.is_some()),
            ("--ws-binary", self.binary),
            ("--ws-expect", self.expect.is_some()),
            ("--ws-every", self.every.is_some()),
        ];
        if is_silent && let Some((option, _)) = silent.into_iter().find(|&(_, is_given)| is_given) {
            return refused(format!("{option}: expected messages, got `--ws-messages=0`"));
        }
        if self.text.is_some() && self.size.is_some() {
            return refused("--ws-size: expected no --ws-send beside it, whose text has a size".to_owned());
        }
        let most = Limits::default().message_size;
        if let Some(size) = self.size.filter(|size| size.get() as usize > most) {
            return refused(format!(
                "--ws-size: expected at most {most} bytes, the largest message that is sent and read, got `{size}`"
            ));
        }
        let others = [
            (args.material.body_option().unwrap_or_default(), args.material.body_option().is_some()),
            ("--prompts", args.material.prompts.file.is_some()),
            ("--llm", args.material.replies.streams.model.is_some()),
            ("--method", args.method.is_some()),
            ("--targets", args.material.targets.is_some()),
            ("--record=classic", args.results.classic_record),
            ("--h2c-upgrade", args.http2.upgrade),
            ("--tls-handshake-only", args.tls.handshake_only),
            ("--call-pause", args.load.call_pause > 0.0),
            ("session workload", args.session.is_some()),
        ];
        if let Some((other, _)) = others.into_iter().find(|&(_, is_given)| is_given) {
            return refused(format!("{asked}: expected no {other} beside it, as calls open WebSockets"));
        }
        let version = args.version();
        if ![Version::HTTP_11, Version::HTTP_2].contains(&version) {
            return refused(format!("{asked}: expected --http-version 1.1 or 2 beside it, got `{version}`"));
        }
        if version == Version::HTTP_11
            && args.load.call_arrivals.is_none()
            && args.num_calls.is_some_and(|count| count != 1)
        {
            return refused(format!(
                "--num-calls: expected 1 beside {asked}, as a WebSocket has its connection to itself over HTTP/1.1; \
                 --ws-messages says how many messages it sends"
            ));
        }
        if let (Version::HTTP_11, Some((option, outstanding))) = (version, args.outstanding())
            && outstanding.get() > 1
        {
            return refused(format!("{option}: expected 1 beside {asked} over HTTP/1.1"));
        }
        let is_ended = self.messages.is_some_and(|count| count > 0)
            || self.lasts.is_some()
            || self.every.is_none() && !is_silent
            || args.load.duration > 0.0
            || args.runtime > 0.0;
        if !is_ended {
            let option = if is_silent { "--ws-messages=0" } else { "--ws-every" };
            return refused(format!(
                "{option}: needs --ws-for, --duration or --runtime, which say when a WebSocket ends"
            ));
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
    fn websocket_option(&self) -> Option<&'static str> {
        match self.url() {
            _ if self.websockets.wanted => Some("--websocket"),
            Some(url) if url.websocket => Some(if url.https { "wss://" } else { "ws://" }),
            _ => None,
        }
    }
}
