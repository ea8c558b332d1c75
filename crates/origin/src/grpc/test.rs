//! `httperf.Test`: calls that do what their request says.

use std::time::Duration;

use bytes::Bytes;
use httperf_proto::grpc::Status;

use super::conclusion::{Conclusion, INVALID_ARGUMENT};
use super::messages::too_large;
use crate::content::Content;
use crate::limits::Limits;

/// The message of both methods; `test.proto` says what its fields mean.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Request {
    #[prost(string, tag = "1")]
    pub(super) text: String,
    #[prost(bytes = "bytes", tag = "2")]
    pub(super) payload: Bytes,
    #[prost(uint32, tag = "3")]
    pub(super) size: u32,
    #[prost(uint32, tag = "4")]
    pub(super) messages: u32,
    #[prost(uint32, tag = "5")]
    pub(super) first_us: u32,
    #[prost(uint32, tag = "6")]
    pub(super) gap_us: u32,
    #[prost(uint32, tag = "7")]
    pub(super) status: u32,
    #[prost(string, tag = "8")]
    pub(super) message: String,
    #[prost(uint32, tag = "9")]
    pub(super) delay_us: u32,
}

/// The message of a reply.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Reply {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(bytes = "bytes", tag = "2")]
    payload: Bytes,
    #[prost(uint32, tag = "3")]
    number: u32,
    #[prost(uint64, tag = "4")]
    sent_ns: u64,
}

/// Messages on a schedule, and the conclusion behind them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Series {
    text: String,
    payload: Bytes,
    /// Bytes of the payload that is made in its place; 0 leaves it.
    size: u32,
    pub(crate) messages: u32,
    first: Duration,
    gap: Duration,
    pub(crate) conclusion: Conclusion,
}

impl Request {
    /// The time before the header.
    pub(super) fn delay(&self, limits: &Limits) -> Duration {
        Duration::from_micros(self.delay_us.into()).min(limits.delay)
    }

    /// The reply of Echo.
    pub(super) fn echo(self, limits: &Limits) -> Result<Series, Conclusion> {
        let messages = u32::from(self.status == 0);
        Series::new(Self { messages, first_us: 0, gap_us: 0, ..self }, limits)
    }

    /// The replies of Stream.
    pub(super) fn stream(self, limits: &Limits) -> Result<Series, Conclusion> {
        Series::new(Self { messages: self.messages.max(1), ..self }, limits)
    }
}

impl Series {
    fn new(request: Request, limits: &Limits) -> Result<Self, Conclusion> {
        let Request { text, payload, size, messages, first_us, gap_us, status, message, delay_us: _ } =
            request;
        if messages > limits.events {
            let message = format!("messages: expected at most {}, got {messages}", limits.events);
            return Err(Conclusion::new(INVALID_ARGUMENT, message));
        }
        if usize::try_from(size).is_ok_and(|size| size > limits.grpc_message_size) {
            return Err(too_large(limits.grpc_message_size));
        }
        let Ok(status) = u16::try_from(status) else {
            let message = format!("status: expected at most {}, got {status}", u16::MAX);
            return Err(Conclusion::new(INVALID_ARGUMENT, message));
        };
        let time = |micros: u32| Duration::from_micros(micros.into()).min(limits.delay);
        Ok(Self {
            text,
            payload,
            size,
            messages,
            first: time(first_us),
            gap: time(gap_us),
            conclusion: match status {
                0 => Conclusion::OK,
                _ => Conclusion::new(Status(status), message),
            },
        })
    }

    /// Returns about the size of a message.
    pub(crate) fn reply_size(&self) -> usize {
        self.text.len() + self.payload.len().max(self.size as usize)
    }

    /// Returns the instant at which a message is due, as time since the header, however late the others were.
    pub(crate) fn due(&self, number: u32) -> Duration {
        self.first + self.gap * number
    }

    /// Returns a message that leaves at this instant.
    pub(crate) fn reply(&self, number: u32, sent_ns: u64) -> Reply {
        let payload = if self.size > 0 { pattern(self.size) } else { self.payload.clone() };
        Reply { text: self.text.clone(), payload, number, sent_ns }
    }
}

/// So many bytes of the pattern that other replies consist of.
fn pattern(size: u32) -> Bytes {
    let (content, mut bytes) = (Content::Pattern(size.into()), Vec::with_capacity(size as usize));
    while bytes.len() < size as usize {
        bytes.extend_from_slice(&content.slice(bytes.len() as u64, usize::MAX));
    }
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: fn() -> Limits = Limits::default;

    fn request() -> Request {
        Request { text: "hello".to_owned(), payload: Bytes::from_static(b"world"), ..Request::default() }
    }

    #[test]
    fn an_echo_is_one_message_at_once() {
        let series = Request { messages: 9, first_us: 5, gap_us: 5, ..request() }.echo(&LIMITS()).unwrap();
        assert_eq!((series.messages, series.due(0)), (1, Duration::ZERO));
        assert_eq!(series.conclusion, Conclusion::OK);
        let reply = series.reply(0, 7);
        assert_eq!((&reply.text[..], &reply.payload[..], reply.sent_ns), ("hello", &b"world"[..], 7));
    }

    #[test]
    fn a_status_replaces_the_message_of_an_echo_and_follows_those_of_a_stream() {
        let failing = Request { status: 5, message: "no".to_owned(), messages: 3, ..request() };
        let echo = failing.clone().echo(&LIMITS()).unwrap();
        assert_eq!((echo.messages, echo.conclusion), (0, Conclusion::new(Status(5), "no")));
        let stream = failing.stream(&LIMITS()).unwrap();
        assert_eq!((stream.messages, stream.conclusion), (3, Conclusion::new(Status(5), "no")));
    }

    #[test]
    fn messages_of_a_stream_are_due_on_a_schedule() {
        let series =
            Request { messages: 3, first_us: 500, gap_us: 20, ..request() }.stream(&LIMITS()).unwrap();
        assert_eq!([0, 1, 2].map(|number| series.due(number)), [500, 520, 540].map(Duration::from_micros));
        assert_eq!(request().stream(&LIMITS()).unwrap().messages, 1);
        let limits = Limits { delay: Duration::from_micros(30), ..LIMITS() };
        let series = Request { first_us: 100, gap_us: 40, delay_us: 50, ..request() };
        assert_eq!(series.delay(&limits), limits.delay);
        assert_eq!(series.stream(&limits).unwrap().due(2), 3 * limits.delay);
    }

    #[test]
    fn a_payload_may_have_a_size_in_place_of_content() {
        let series = Request { size: 100_000, ..request() }.echo(&LIMITS()).unwrap();
        let payload = series.reply(0, 0).payload;
        assert_eq!(payload.len(), 100_000);
        assert!(payload.starts_with(b"0123456789abc"));
    }

    #[test]
    fn what_is_out_of_bounds_is_refused() {
        let status = |request: Request| request.stream(&LIMITS()).map_err(|conclusion| conclusion.status.0);
        let size = u32::try_from(LIMITS().grpc_message_size).unwrap();
        assert!(status(Request { size, ..request() }).is_ok());
        assert_eq!(status(Request { size: size + 1, ..request() }), Err(8));
        assert_eq!(status(Request { messages: LIMITS().events + 1, ..request() }), Err(3));
        assert_eq!(status(Request { status: 65_536, ..request() }), Err(3));
    }
}
