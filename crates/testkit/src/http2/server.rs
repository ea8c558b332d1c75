//! Server side of a connection: a model that detects any violation by the client.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use httperf_proto::http2::hpack::{Decoder, Encoder, Indexing};

use super::frames::{Frame, PREFACE, flag, kind, setting};
use super::{Fields, frames};

/// Maximum size of a window.
const WINDOW_MAX: i64 = (1 << 31) - 1;

/// Server side of a connection. It answers SETTINGS and PING by itself; its owner sends everything else. It
/// only sends valid frames, except for [`Server::raw`].
///
/// Every method panics if the client has violated RFC 9113. Settings of the server take effect with the
/// client's acknowledgement, at its position among the client's frames.
#[derive(Debug)]
pub struct Server {
    unread: Vec<u8>,
    out: Vec<u8>,
    has_preface: bool,
    decoder: Decoder,
    encoder: Encoder,
    /// Header block in progress.
    partial: Option<(u32, bool, Vec<u8>)>,
    streams: BTreeMap<u32, Stream>,
    /// Streams reset by the server.
    reset: BTreeSet<u32>,
    last_stream: u32,
    /// Settings sent but not acknowledged.
    unacknowledged: VecDeque<Vec<(u16, u32)>>,
    /// Limits on the client.
    window: i64,
    max_frame: u32,
    max_streams: Option<u32>,
    /// Remaining windows for data from the client and to it.
    receive_window: i64,
    send_window: i64,
    /// Limits on the server.
    client_window: i64,
    client_max_frame: u32,
    has_client_settings: bool,
    /// Last stream that it answers, once announced.
    last_answered: Option<u32>,
}

#[derive(Debug)]
struct Stream {
    receives: bool,
    sends: bool,
    receive_window: i64,
    send_window: i64,
    /// Remaining bytes of the request's content, if its length is known.
    missing: Option<u64>,
}

/// A frame received from the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Incoming {
    /// SETTINGS.
    Settings(Vec<(u16, u32)>),
    /// Acknowledgement of the server's SETTINGS.
    SettingsAck,
    /// PING, already answered.
    Ping,
    /// Acknowledgement of PING.
    PingAck([u8; 8]),
    /// Beginning of a request.
    Request {
        /// Stream identifier.
        stream: u32,
        /// Header fields.
        fields: Fields,
        /// True if the request has no body.
        end_stream: bool,
    },
    /// Part of a request's body.
    Data {
        /// Stream identifier.
        stream: u32,
        /// Content.
        bytes: Vec<u8>,
        /// True if it is the last part.
        end_stream: bool,
    },
    /// RST_STREAM.
    Reset {
        /// Stream identifier.
        stream: u32,
        /// Error code.
        code: u32,
    },
    /// WINDOW_UPDATE.
    WindowUpdate {
        /// Stream identifier, or 0.
        stream: u32,
        /// Increment.
        increment: u32,
    },
    /// GOAWAY.
    GoAway {
        /// Error code.
        code: u32,
        /// Debug data.
        debug: String,
    },
}

impl Server {
    /// Creates a server that begins with these settings.
    #[must_use]
    pub fn new(settings: &[(u16, u32)]) -> Self {
        let mut server = Self {
            unread: Vec::new(),
            out: Vec::new(),
            has_preface: false,
            decoder: Decoder::new(4096),
            encoder: Encoder::new(4096),
            partial: None,
            streams: BTreeMap::new(),
            reset: BTreeSet::new(),
            last_stream: 0,
            unacknowledged: VecDeque::new(),
            window: 65_535,
            max_frame: 16_384,
            max_streams: None,
            receive_window: 65_535,
            send_window: 65_535,
            client_window: 65_535,
            client_max_frame: 16_384,
            has_client_settings: false,
            last_answered: None,
        };
        server.settings(settings);
        server
    }

    /// Handles bytes from the client.
    pub fn receive(&mut self, bytes: &[u8]) -> Vec<Incoming> {
        let mut unread = std::mem::take(&mut self.unread);
        unread.extend_from_slice(bytes);
        let mut rest = &unread[..];
        if !self.has_preface {
            let size = rest.len().min(PREFACE.len());
            assert_eq!(rest[..size], PREFACE[..size], "the client's preface");
            if size < PREFACE.len() {
                self.unread = unread;
                return Vec::new();
            }
            (self.has_preface, rest) = (true, &rest[size..]);
        }
        let mut incoming = Vec::new();
        while let Some(frame) = Frame::take(&mut rest) {
            incoming.extend(self.frame(&frame));
        }
        self.unread = rest.to_vec();
        incoming
    }

    /// Takes the bytes to send to the client.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Number of bytes of content that may be sent on a stream now: 0 for a stream that has ended.
    #[must_use]
    pub fn room(&self, stream: u32) -> usize {
        let window = self.streams.get(&stream).filter(|stream| stream.sends).map(|stream| stream.send_window);
        usize::try_from(window.unwrap_or(0).min(self.send_window)).unwrap_or(0)
    }

    /// Number of bytes of content that the client may still send on a stream, or on the connection (0).
    #[must_use]
    pub fn receive_room(&self, stream: u32) -> i64 {
        if stream == 0 {
            return self.receive_window;
        }
        self.streams.get(&stream).map_or(0, |stream| stream.receive_window)
    }

    /// Maximum size of a frame accepted by the client.
    #[must_use]
    pub fn frame_max(&self) -> usize {
        self.client_max_frame as usize
    }

    /// Returns true if something can be sent on a stream.
    #[must_use]
    pub fn can_send(&self, stream: u32) -> bool {
        self.streams.get(&stream).is_some_and(|stream| stream.sends)
    }

    /// Number of streams that have not ended on both sides.
    #[must_use]
    pub fn open_count(&self) -> usize {
        self.streams.len()
    }

    /// Last stream opened by the client.
    #[must_use]
    pub fn last_stream(&self) -> u32 {
        self.last_stream
    }

    /// Changes settings.
    pub fn settings(&mut self, settings: &[(u16, u32)]) {
        self.out.extend(frames::settings(settings));
        self.unacknowledged.push_back(settings.to_vec());
    }

    /// Number of SETTINGS frames not acknowledged by the client.
    #[must_use]
    pub fn unacknowledged_count(&self) -> usize {
        self.unacknowledged.len()
    }

    /// Increases the client's window on a stream, or on the connection (0).
    pub fn grant(&mut self, stream: u32, increment: u32) {
        let window = match self.streams.get_mut(&stream) {
            _ if stream == 0 => &mut self.receive_window,
            Some(stream) => &mut stream.receive_window,
            None => return,
        };
        *window += i64::from(increment);
        assert!(*window <= WINDOW_MAX, "the server's own window");
        self.out.extend(frames::window_update(stream, increment));
    }

    /// Sends a header block, in pieces of at most this size.
    pub fn head(&mut self, stream: u32, fields: &[(&str, &str)], piece: usize, end_stream: bool) {
        assert!(self.can_send(stream), "stream {stream} has ended");
        let mut block = Vec::new();
        self.encoder.begin_block(&mut block);
        for (name, value) in fields {
            self.encoder.encode(name.as_bytes(), value.as_bytes(), Indexing::Incremental, &mut block);
        }
        let piece = piece.min(self.frame_max());
        self.out.extend(frames::headers_in_pieces(stream, &block, piece, end_stream));
        if end_stream {
            self.end_sending(stream);
        }
    }

    /// Sends content, which must fit in the windows, including its padding.
    pub fn data(&mut self, stream: u32, bytes: &[u8], padding: Option<u8>, end_stream: bool) {
        let size = bytes.len() + padding.map_or(0, |padding| usize::from(padding) + 1);
        assert!(size == 0 || size <= self.room(stream), "the window of stream {stream}");
        assert!(size <= self.frame_max(), "the size of a frame");
        let size = i64::try_from(size).expect("a frame is small");
        self.send_window -= size;
        let its = self.streams.get_mut(&stream).expect("the stream goes on");
        its.send_window -= size;
        self.out.extend(match padding {
            Some(padding) => frames::padded_data(stream, bytes, padding, end_stream),
            None => frames::data(stream, bytes, end_stream),
        });
        if end_stream {
            self.end_sending(stream);
        }
    }

    /// Resets a stream.
    pub fn reset(&mut self, stream: u32, code: u32) {
        self.out.extend(frames::reset(stream, code));
        self.streams.remove(&stream);
        self.reset.insert(stream);
    }

    /// Sends PING.
    pub fn ping(&mut self, data: [u8; 8]) {
        self.out.extend(frames::ping(data));
    }

    /// Sends GOAWAY. Streams after the last one are ignored from now on.
    pub fn goaway(&mut self, last_stream: u32, code: u32) {
        self.out.extend(frames::goaway(last_stream, code));
        let beyond: Vec<u32> =
            self.streams.range(last_stream.saturating_add(1)..).map(|(&id, _)| id).collect();
        for id in beyond {
            self.streams.remove(&id);
            self.reset.insert(id);
        }
        self.last_answered = Some(self.last_answered.map_or(last_stream, |last| last.min(last_stream)));
    }

    /// Sends arbitrary bytes.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    fn frame(&mut self, frame: &Frame) -> Option<Incoming> {
        let Frame { kind, stream, ref payload, .. } = *frame;
        assert!(payload.len() <= self.max_frame as usize, "a frame of {} bytes", payload.len());
        assert!(stream < 1 << 31, "the reserved bit is set");
        assert!(
            self.has_client_settings || kind == kind::SETTINGS,
            "the client does not begin with settings"
        );
        let goes_on = self.partial.as_ref().map(|&(stream, ..)| stream);
        assert_eq!(goes_on, (kind == kind::CONTINUATION).then_some(stream), "a header block is all together");
        let is_of_connection = matches!(kind, kind::SETTINGS | kind::PING | kind::GOAWAY);
        assert!(
            kind == kind::WINDOW_UPDATE || is_of_connection == (stream == 0),
            "kind {kind} on stream {stream}"
        );
        match kind {
            kind::DATA => self.data_frame(frame),
            kind::HEADERS => {
                assert!(!frame.has(flag::PADDED) && !frame.has(flag::PRIORITY), "we send neither");
                self.header_block(stream, frame.has(flag::END_STREAM), payload, frame.has(flag::END_HEADERS))
            }
            kind::CONTINUATION => {
                let (_, end_stream, mut block) = self.partial.take().expect("a header block goes on");
                block.extend_from_slice(payload);
                self.header_block(stream, end_stream, &block, frame.has(flag::END_HEADERS))
            }
            kind::RST_STREAM => {
                assert_eq!(payload.len(), 4, "RST_STREAM");
                assert!(stream % 2 == 1 && stream <= self.last_stream, "RST_STREAM of an idle stream");
                self.streams.remove(&stream);
                Some(Incoming::Reset { stream, code: frame.number(0) })
            }
            kind::SETTINGS => Some(self.settings_frame(frame)),
            kind::PING => {
                let data: [u8; 8] = payload[..].try_into().expect("PING has 8 bytes");
                if frame.has(flag::ACK) {
                    return Some(Incoming::PingAck(data));
                }
                self.out.extend(frames::ping_ack(data));
                Some(Incoming::Ping)
            }
            kind::GOAWAY => {
                assert_eq!(frame.number(0), 0, "the server has opened no stream");
                let debug = String::from_utf8(payload[8..].to_vec()).expect("our reasons are text");
                Some(Incoming::GoAway { code: frame.number(4), debug })
            }
            kind::WINDOW_UPDATE => {
                let increment = frame.number(0);
                assert!(
                    payload.len() == 4 && (1..1 << 31).contains(&increment),
                    "WINDOW_UPDATE by {increment}"
                );
                assert!(stream == 0 || stream % 2 == 1 && stream <= self.last_stream, "an idle stream");
                let window = if stream == 0 {
                    Some(&mut self.send_window)
                } else {
                    self.streams.get_mut(&stream).map(|stream| &mut stream.send_window)
                };
                if let Some(window) = window {
                    *window += i64::from(increment);
                    assert!(*window <= WINDOW_MAX, "the window of stream {stream}");
                }
                Some(Incoming::WindowUpdate { stream, increment })
            }
            _ => panic!("a frame of type {kind}"),
        }
    }

    fn settings_frame(&mut self, frame: &Frame) -> Incoming {
        if frame.has(flag::ACK) {
            assert!(frame.payload.is_empty(), "an acknowledgement has no payload");
            let settings = self.unacknowledged.pop_front().expect("settings are acknowledged once");
            settings.iter().for_each(|&(id, value)| self.apply(id, value));
            return Incoming::SettingsAck;
        }
        assert!(frame.payload.len().is_multiple_of(6), "SETTINGS");
        self.has_client_settings = true;
        let settings: Vec<(u16, u32)> = (0..frame.payload.len() / 6)
            .map(|place| {
                let id = u16::from_be_bytes([frame.payload[6 * place], frame.payload[6 * place + 1]]);
                (id, frame.number(6 * place + 2))
            })
            .collect();
        for &(id, value) in &settings {
            match id {
                setting::HEADER_TABLE_SIZE => self.encoder.set_size_limit(value),
                setting::ENABLE_PUSH => assert_eq!(value, 0, "nobody wants pushed streams"),
                setting::INITIAL_WINDOW_SIZE => {
                    let difference = i64::from(value) - self.client_window;
                    self.client_window = i64::from(value);
                    assert!(self.client_window <= WINDOW_MAX, "the client's window");
                    self.streams.values_mut().for_each(|stream| stream.send_window += difference);
                }
                setting::MAX_FRAME_SIZE => {
                    assert!((16_384..1 << 24).contains(&value), "the client's largest frame");
                    self.client_max_frame = value;
                }
                _ => {}
            }
        }
        self.out.extend(frames::settings_ack());
        Incoming::Settings(settings)
    }

    /// Applies a setting that the client has acknowledged.
    fn apply(&mut self, id: u16, value: u32) {
        match id {
            setting::HEADER_TABLE_SIZE => self.decoder.set_size_limit(value),
            setting::MAX_CONCURRENT_STREAMS => self.max_streams = Some(value),
            setting::INITIAL_WINDOW_SIZE => {
                let difference = i64::from(value) - self.window;
                self.window = i64::from(value);
                self.streams.values_mut().for_each(|stream| stream.receive_window += difference);
            }
            setting::MAX_FRAME_SIZE => self.max_frame = value,
            _ => {}
        }
    }

    fn data_frame(&mut self, frame: &Frame) -> Option<Incoming> {
        assert!(!frame.has(flag::PADDED), "we send none");
        let (id, end_stream) = (frame.stream, frame.has(flag::END_STREAM));
        let size = i64::try_from(frame.payload.len()).expect("a frame is small");
        self.receive_window -= size;
        assert!(self.receive_window >= 0, "{size} bytes beyond the window of the connection");
        let Some(stream) = self.streams.get_mut(&id) else {
            assert!(self.reset.contains(&id), "content on stream {id}, which has ended");
            return None;
        };
        assert!(stream.receives, "content on stream {id} behind its end");
        stream.receive_window -= size;
        assert!(size == 0 || stream.receive_window >= 0, "{size} bytes beyond the window of stream {id}");
        if let Some(missing) = &mut stream.missing {
            *missing = missing.checked_sub(frame.payload.len() as u64).expect("no more than content-length");
            assert!(!end_stream || *missing == 0, "{missing} bytes less than content-length");
        }
        if end_stream {
            self.end_receiving(id);
        }
        Some(Incoming::Data { stream: id, bytes: frame.payload.clone(), end_stream })
    }

    fn header_block(&mut self, id: u32, end_stream: bool, block: &[u8], is_whole: bool) -> Option<Incoming> {
        if !is_whole {
            self.partial = Some((id, end_stream, block.to_vec()));
            return None;
        }
        let mut fields = Fields::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("our fields are text");
        let decoded =
            self.decoder.decode(block, 1 << 20, |name, value| fields.push((text(name), text(value))));
        decoded.expect("a header block");
        assert!(id % 2 == 1, "a stream of the server's");
        assert!(
            id > self.last_stream,
            "stream {id} behind {}: no trailers, and no number twice",
            self.last_stream
        );
        self.last_stream = id;
        check_request(&fields, end_stream);
        if self.last_answered.is_some_and(|last| id > last) {
            self.reset.insert(id);
            return None;
        }
        let open = self.streams.len();
        assert!(self.max_streams.is_none_or(|most| open < most as usize), "{open} streams and another one");
        let length = fields.iter().find(|(name, _)| name == "content-length");
        let stream = Stream {
            receives: !end_stream,
            sends: true,
            receive_window: self.window,
            send_window: self.client_window,
            missing: length.map(|(_, value)| value.parse().expect("content-length is a number")),
        };
        self.streams.insert(id, stream);
        Some(Incoming::Request { stream: id, fields, end_stream })
    }

    fn end_sending(&mut self, id: u32) {
        let stream = self.streams.get_mut(&id).expect("the stream goes on");
        stream.sends = false;
        if !stream.receives {
            self.streams.remove(&id);
        }
    }

    fn end_receiving(&mut self, id: u32) {
        let stream = self.streams.get_mut(&id).expect("the stream goes on");
        stream.receives = false;
        if !stream.sends {
            self.streams.remove(&id);
        }
    }
}

/// Checks for required and forbidden fields of requests.
fn check_request(fields: &Fields, end_stream: bool) {
    let pseudo = fields.iter().take_while(|(name, _)| name.starts_with(':')).count();
    assert!(
        fields[pseudo..].iter().all(|(name, _)| !name.starts_with(':')),
        "pseudo fields first: {fields:?}"
    );
    let count = |name: &str| fields.iter().filter(|(its, _)| its == name).count();
    for name in [":method", ":scheme", ":path"] {
        assert_eq!(count(name), 1, "{name} in {fields:?}");
    }
    assert!(count(":authority") <= 1 && count("host") == 0, "{fields:?}");
    for (name, value) in fields {
        assert!(!name.bytes().any(|byte| byte.is_ascii_uppercase() || byte == b' '), "{name}");
        assert_eq!(value.trim(), value, "{name}");
        assert!(!value.contains(['\r', '\n', '\0']), "{name}");
        let is_forbidden = matches!(
            &name[..],
            "connection" | "proxy-connection" | "keep-alive" | "transfer-encoding" | "upgrade"
        );
        assert!(!is_forbidden, "{name}");
        assert!(name != "te" || value == "trailers", "te: {value}");
        assert!(name != "content-length" || !end_stream || value == "0", "content-length: {value}");
    }
}
