//! From calls to frames.

use std::time::Duration;

use super::connection::{Connection, Encoded, Phase};
use super::flow::{INITIAL_WINDOW_SIZE, ReceiveWindow, SendWindow};
use super::frame::{CONNECTION, Data, Headers, Settings, WindowUpdate};
use super::hpack::Indexing;
use super::receiving::TAKES_NO_WEBSOCKETS;
use super::streams::{Queue, Reply, Stream, Upload};
use crate::header_compression::is_sensitive;
use crate::request::Request;
use crate::{Awaited, CallId};

/// The connection preface of a client.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-3.4>
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The size of a buffer that is kept for what a WebSocket sends next.
const UPLINK_BUFFER: usize = 512;

/// The number of bytes prepared at once, at most; the last frame may go beyond it. It also bounds the content
/// of one DATA frame.
const TRANSMIT_SIZE: usize = 64 * 1024;

impl Connection {
    /// Returns whether a waiting call can have a stream. One that opens a WebSocket waits until the peer has said whether
    /// it takes any (RFC 8441, section 3).
    fn can_open(&self) -> bool {
        self.waiting
            .front()
            .is_some_and(|(_, request, _)| !request.opens_websocket() || self.phase == Phase::Established)
            && matches!(self.phase, Phase::New | Phase::Opened | Phase::Established)
            && self.streams.open_count() < self.streams_max()
    }

    pub(super) fn wants_write(&self) -> bool {
        self.phase == Phase::New || self.outgoing.has_unwritten() || self.can_open() || self.can_upload()
    }

    /// Returns whether a body can continue.
    fn can_upload(&self) -> bool {
        let has_window =
            |&id: &u32| self.streams.get(id).is_some_and(|stream| stream.send_window.available() > 0);
        self.phase != Phase::Closed
            && self.send_window.available() > 0
            && self.uploads.turns.iter().any(has_window)
    }

    /// Prepares what can be sent, up to the first request that `may` not be.
    pub(super) fn fill(&mut self, now: Duration, may: impl Fn(&Request) -> bool) {
        match self.phase {
            Phase::New => self.open(),
            Phase::Closed => return,
            Phase::Opened | Phase::Established | Phase::Draining => {}
        }
        while self.outgoing.waiting() < TRANSMIT_SIZE && self.can_open() {
            let (call, request, since) = self.waiting.pop_front().expect("a call waits");
            if !may(&request) {
                self.waiting.push_front((call, request, since));
                break;
            }
            if let Some(since) = since {
                self.news.add_stall(call, Awaited::Stream, now - since);
            }
            self.open_stream(call, request);
        }
        // With the connection's window used up, every body notes since when it waits.
        while (self.outgoing.waiting() < TRANSMIT_SIZE || self.send_window.available() == 0)
            && let Some(id) = self.uploads.turns.pop_front()
        {
            self.send_body(now, id);
        }
    }

    /// Sends the preface and our settings.
    pub(super) fn open(&mut self) {
        let out = self.outgoing.buffer();
        out.extend_from_slice(PREFACE);
        Settings::write(&self.options.parameters(), out);
        if let Some(increment) = self.options.connection_window.checked_sub(INITIAL_WINDOW_SIZE)
            && increment > 0
        {
            WindowUpdate { stream: CONNECTION, increment }.write(out);
        }
        self.phase = Phase::Opened;
    }

    fn open_stream(&mut self, call: CallId, request: Request) {
        if request.opens_websocket() && !self.settings.peer.connect_protocol {
            self.fail(TAKES_NO_WEBSOCKETS);
            self.waiting.push_front((call, request, None));
            return;
        }
        let id = self.streams.next_id();
        let uplink = request.opens_websocket().then(Box::default);
        let has_body = !request.body().is_empty();
        self.encode(&request);
        let start = self.outgoing.end();
        self.outgoing.mark_started(call);
        let block = match &self.encoded {
            Some(encoded) if self.block.is_empty() => &encoded.block,
            _ => &self.block,
        };
        let is_whole = !has_body && uplink.is_none();
        Headers::write_block(id, block, is_whole, self.settings.peer.max_frame, self.outgoing.buffer());
        if has_body {
            self.uploads.turns.push_back(id);
        } else {
            self.outgoing.mark_finished(call);
        }
        let upload = match (has_body, &uplink) {
            (_, Some(_)) => Upload::Idle,
            (true, None) => Upload::Body { sent: 0, queue: Queue::Turn },
            (false, None) => Upload::Done,
        };
        self.streams.open(Stream {
            call,
            request,
            start,
            upload,
            uplink,
            send_window: SendWindow::new(self.settings.peer.window),
            receive_window: ReceiveWindow::of_stream(self.options.window, self.settings.are_acknowledged),
            reply: Reply::Head { interim: 0 },
            blocked_since: None,
            window_wait: Duration::ZERO,
        });
        let open = self.streams.open_count() as u64;
        self.news.counts.add_stream(open);
    }

    /// Encodes the header block of a request into `block`, or leaves that empty if `encoded` has it.
    fn encode(&mut self, request: &Request) {
        self.block.clear();
        let changes = self.encoder.table_changes();
        if let Some(encoded) = &self.encoded
            && encoded.changes == changes
            && encoded.request.is_same(request)
        {
            self.news.counts.headers_sent.add(encoded.plain, encoded.block.len());
            return;
        }
        let (encoder, block) = (&mut self.encoder, &mut self.block);
        encoder.begin_block(block);
        let is_plain = block.is_empty();
        let indexes_targets = self.options.indexes_targets;
        let mut plain = 0;
        request.binary_fields(self.options.scheme, |name, value| {
            plain += (name.len() + value.len()) as u64;
            encoder.encode(name, value, indexing(name, indexes_targets), block);
        });
        self.news.counts.headers_sent.add(plain, block.len());
        if is_plain && encoder.table_changes() == changes {
            let mut kept = self.encoded.take().map(|encoded| encoded.block).unwrap_or_default();
            kept.clear();
            kept.extend_from_slice(block);
            self.encoded = Some(Encoded { request: request.clone(), changes, block: kept, plain });
        }
    }

    /// Sends the next frame of a body, as far as the windows allow.
    fn send_body(&mut self, now: Duration, id: u32) {
        let Some(stream) = self.streams.get_mut(id) else { return };
        let Upload::Body { sent, .. } = stream.upload else { return };
        let rest = stream.body().len() - sent;
        let room = stream.send_window.available().min(self.send_window.available());
        let count = rest.min(room).min(self.settings.peer.max_frame as usize).min(TRANSMIT_SIZE);
        if count == 0 && rest > 0 {
            stream.blocked_since.get_or_insert(now);
            let queue = if stream.send_window.available() > 0 {
                self.uploads.blocked.push_back(id);
                Queue::Connection
            } else {
                Queue::Stream
            };
            stream.upload = Upload::Body { sent, queue };
            return;
        }
        if let Some(since) = stream.blocked_since.take() {
            stream.window_wait += now - since;
        }
        // The peer's window updates made this possible, so they were not idle.
        self.patience.note_progress();
        stream.send_window.take(count);
        self.send_window.take(count);
        let is_all = count == rest;
        let end_stream = is_all && stream.is_body_whole();
        let out = self.outgoing.buffer();
        Data { stream: id, length: count as u32, end_stream }.write(out);
        out.extend_from_slice(&stream.body()[sent..sent + count]);
        if let Some(uplink) = stream.uplink.as_mut().filter(|_| is_all) {
            uplink.bytes.clear();
            uplink.bytes.shrink_to(UPLINK_BUFFER);
            stream.upload = if end_stream { Upload::Done } else { Upload::Idle };
        } else if is_all {
            stream.upload = Upload::Done;
            self.outgoing.mark_finished(stream.call);
        } else {
            stream.upload = Upload::Body { sent: sent + count, queue: Queue::Turn };
            self.uploads.turns.push_back(id);
        }
    }

    /// Sends further bytes on the WebSocket of a call.
    pub(super) fn send(&mut self, call: CallId, bytes: &[u8]) {
        let Some(id) = self.streams.find(call) else { return };
        let Some(stream) = self.streams.get_mut(id) else { return };
        let Some(uplink) = stream.uplink.as_mut().filter(|uplink| !uplink.is_over) else { return };
        uplink.bytes.extend_from_slice(bytes);
        self.go_on_sending(id);
    }

    /// Queues a WebSocket's bytes, unless they are queued.
    fn go_on_sending(&mut self, id: u32) {
        if let Some(stream) = self.streams.get_mut(id)
            && stream.upload == Upload::Idle
        {
            stream.upload = Upload::Body { sent: 0, queue: Queue::Turn };
            self.uploads.turns.push_back(id);
        }
    }

    /// Sends the rest of a WebSocket's bytes, which is short, now that the peer has ended its side. Returns false if the
    /// windows do not allow it.
    pub(super) fn send_rest(&mut self, id: u32, stream: &mut Stream) -> bool {
        let Some(uplink) = &stream.uplink else { return false };
        let sent = if let Upload::Body { sent, .. } = stream.upload { sent } else { uplink.bytes.len() };
        let rest = &uplink.bytes[sent..];
        let room = stream.send_window.available().min(self.send_window.available());
        if rest.len() > room.min(self.settings.peer.max_frame as usize) {
            return false;
        }
        self.send_window.take(rest.len());
        let out = self.outgoing.buffer();
        Data { stream: id, length: rest.len() as u32, end_stream: true }.write(out);
        out.extend_from_slice(rest);
        true
    }

    /// Queues a body that waited for the window of its stream, if that has room now.
    pub(super) fn resume(&mut self, id: u32) {
        if let Some(stream) = self.streams.get_mut(id)
            && let Upload::Body { queue: queue @ Queue::Stream, .. } = &mut stream.upload
            && stream.send_window.available() > 0
        {
            if self.send_window.available() > 0 {
                *queue = Queue::Turn;
                self.uploads.turns.push_back(id);
            } else {
                *queue = Queue::Connection;
                self.uploads.blocked.push_back(id);
            }
        }
    }
}

/// Returns whether a field of a request enters the peer's table.
fn indexing(name: &[u8], indexes_targets: bool) -> Indexing {
    match name {
        b":path" | b"content-length" if !indexes_targets => Indexing::Without,
        _ if is_sensitive(name) => Indexing::Never,
        _ => Indexing::Incremental,
    }
}
