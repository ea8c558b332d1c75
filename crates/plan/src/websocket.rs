//! What is said on a WebSocket, and when.

use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{Process, Template};

/// What is said on each WebSocket that calls open (RFC 6455), and when.
///
/// The schedule of a WebSocket begins when its opening handshake is complete. Message *i*, from 0, is due at the *i*-th
/// instant of `every`, whatever came back by then; without `every` it is due when the one before it is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebSocket {
    /// The messages to send; `None` sends none and listens.
    pub message: Option<WebSocketMessage>,
    /// What answers a message.
    pub expect: Answer,
    /// The times between messages; `None` sends the next when the last is answered.
    pub every: Option<Every>,
    /// The number of messages, after whose answers the WebSocket is closed; `None` for any number.
    pub messages: Option<NonZeroU64>,
    /// The time after which the WebSocket is closed, from its opening, in nanoseconds; `None` for any time.
    #[serde(rename = "lasts_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub lasts: Option<Duration>,
    /// The time between pings in nanoseconds, above 0; `None` sends none.
    #[serde(rename = "ping_every_ns", with = "crate::nanos::option")]
    #[schemars(with = "Option<u64>")]
    pub ping_every: Option<Duration>,
    /// Offers to compress messages (RFC 7692).
    pub deflate: bool,
    /// The largest frame that is sent, in bytes of payload: larger messages are sent in fragments.
    pub fragment: Option<NonZeroU32>,
    /// The subprotocols to offer, in order of preference.
    pub protocols: Vec<String>,
}

/// The times between messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Every {
    /// Their mean in nanoseconds, above 0.
    #[serde(rename = "period_ns", with = "crate::nanos")]
    #[schemars(with = "u64")]
    pub period: Duration,
    /// Their distribution.
    pub process: Process,
}

/// The messages that a WebSocket sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebSocketMessage {
    /// Sends binary messages; text otherwise.
    pub binary: bool,
    /// What is in a message.
    pub payload: Payload,
}

/// What is in a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Payload {
    /// The number of the message on its WebSocket, from 0, and as much more text as makes up this size in bytes.
    Numbered(NonZeroU32),
    /// Text, in which `{seq}` is the number of the message on its WebSocket, from 0.
    Text(Template),
}

/// What answers a message on a WebSocket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The same message. Others are pushed by the server on its own account.
    #[default]
    Echo,
    /// The next message, whatever it is.
    Any,
    /// Nothing: whatever comes is pushed by the server on its own account.
    Nothing,
}

/// The default size of numbered messages, in bytes.
pub const MESSAGE_SIZE: NonZeroU32 = NonZeroU32::new(32).expect("it is not 0");

/// One message, whose echo ends the WebSocket.
impl Default for WebSocket {
    fn default() -> Self {
        Self {
            message: Some(WebSocketMessage::default()),
            expect: Answer::Echo,
            every: None,
            messages: Some(NonZeroU64::MIN),
            lasts: None,
            ping_every: None,
            deflate: false,
            fragment: None,
            protocols: Vec::new(),
        }
    }
}

impl Default for WebSocketMessage {
    fn default() -> Self {
        Self { binary: false, payload: Payload::Numbered(MESSAGE_SIZE) }
    }
}

/// The reason why a WebSocket cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WebSocketError {
    /// Messages without an end that follow each other at once.
    #[error("a time between messages, as nothing answers them")]
    Flood,
    /// No time between messages.
    #[error("a time between messages above 0")]
    Pace,
    /// No time between pings.
    #[error("a time between pings above 0")]
    Pings,
    /// Messages beyond the limit.
    #[error("messages of at most {most} bytes, the largest that are sent and read")]
    Size {
        /// The limit in bytes.
        most: usize,
    },
}

impl WebSocket {
    /// Returns whether messages are expected to be answered.
    #[must_use]
    pub fn awaits_answers(&self) -> bool {
        self.message.is_some() && self.expect != Answer::Nothing
    }

    /// Checks what only makes sense together. `most`: the limit of messages in bytes.
    ///
    /// # Errors
    /// If it would send without pause, or messages that are too large.
    pub fn check(&self, most: usize) -> Result<(), WebSocketError> {
        let is_paced = self.every.is_some() || self.expect != Answer::Nothing;
        if self.message.is_some() && !is_paced && self.messages.is_none() {
            return Err(WebSocketError::Flood);
        }
        if self.every.is_some_and(|every| every.period.is_zero()) {
            return Err(WebSocketError::Pace);
        }
        if self.ping_every.is_some_and(|time| time.is_zero()) {
            return Err(WebSocketError::Pings);
        }
        let size = self.message.as_ref().map_or(0, |message| match message.payload {
            Payload::Numbered(size) => u64::from(size.get()),
            Payload::Text(_) => 0,
        });
        if size > most as u64 {
            return Err(WebSocketError::Size { most });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 1000;

    #[test]
    fn messages_are_no_larger_than_those_that_are_sent_and_read() {
        for (size, expected) in [(1000, Ok(())), (1001, Err(WebSocketError::Size { most: MOST }))] {
            let payload = Payload::Numbered(NonZeroU32::new(size).unwrap());
            let message = Some(WebSocketMessage { binary: false, payload });
            assert_eq!(WebSocket { message, ..WebSocket::default() }.check(MOST), expected, "{size}");
        }
    }

    #[test]
    fn messages_need_a_pace_if_nothing_answers_them_and_nothing_ends_them() {
        let second = Duration::from_secs(1);
        let every = |period| Some(Every { period, process: Process::Even });
        let endless = WebSocket { expect: Answer::Nothing, messages: None, ..WebSocket::default() };
        assert_eq!(endless.check(MOST), Err(WebSocketError::Flood));
        let good = [
            WebSocket::default(),
            WebSocket { message: None, ..endless.clone() },
            WebSocket { every: every(second), ..endless.clone() },
            WebSocket { messages: NonZeroU64::new(9), ..endless.clone() },
            WebSocket { expect: Answer::Any, ..endless.clone() },
        ];
        for websocket in good {
            assert_eq!(websocket.check(MOST), Ok(()), "{websocket:?}");
        }
        let at_once = WebSocket { every: every(Duration::ZERO), ..WebSocket::default() };
        assert_eq!(at_once.check(MOST), Err(WebSocketError::Pace));
        let pings = WebSocket { ping_every: Some(Duration::ZERO), ..WebSocket::default() };
        assert_eq!(pings.check(MOST), Err(WebSocketError::Pings));
    }
}
