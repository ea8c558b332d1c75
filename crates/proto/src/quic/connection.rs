//! One QUIC connection.

use std::borrow::Cow;
use std::fmt;
use std::mem;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ConnectionError, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, ReadError, StreamEvent,
    TransportErrorCode, VarInt, WriteError,
};
use rustls::HandshakeKind;
use thiserror::Error;

use super::Context;
use super::session::Agreed;
use super::tickets::{Desk, Ticket};
use super::trust::signature_name;
use crate::tls::{Certificate, EarlyData, Failure, FailureKind, Group, Handshake, Kind};

/// A QUIC connection, the client's side.
///
/// After any other method, drain [`poll`](Self::poll), then [`poll_transmit`](Self::poll_transmit), and ask for
/// [`poll_timeout`](Self::poll_timeout). `now` is the time since the epoch of its context.
pub struct Connection {
    endpoint: quinn_proto::Endpoint,
    handle: ConnectionHandle,
    quic: quinn_proto::Connection,
    desk: Arc<Desk>,
    epoch: Instant,
    server: SocketAddr,
    /// There may be datagrams to send.
    is_due: bool,
    /// Marks on datagrams that arrived.
    marks: Marks,
    /// The last datagrams bore a mark: the library goes on marking as long as the peer confirms it.
    is_marking: bool,
    is_established: bool,
    early: EarlyData,
    /// The server asked for a proof of our address.
    is_retried: bool,
    /// What both ends agreed on, once they have.
    agreed: Option<Agreed>,
    /// What arrived and was sent when the handshake was complete.
    handshake_figures: Figures,
    /// The handshake is to be reported as complete.
    is_news: bool,
    /// The peer may have opened streams.
    has_opened: bool,
    /// Room for answers of the library to datagrams that belong to no connection, which are not sent.
    answer: Vec<u8>,
}

/// The identifier of a stream (RFC 9000, section 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamId(quinn_proto::StreamId);

impl StreamId {
    /// Returns its place among the streams of its kind, from 0.
    #[must_use]
    pub fn index(self) -> u64 {
        self.0.index()
    }

    /// Returns its number.
    #[must_use]
    pub fn number(self) -> u64 {
        VarInt::from(self.0).into_inner()
    }

    /// Returns whether we have opened it and both ends send on it: a request's.
    #[must_use]
    pub fn is_request(self) -> bool {
        self.0.dir() == Dir::Bi
    }
}

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// The handshake is complete.
    Established,
    /// The server refused early data: what was sent on streams so far is lost, and they do not exist.
    EarlyDataRejected,
    /// The peer opened a stream, which it alone sends on.
    Opened(StreamId),
    /// There is something to read on a stream.
    Readable(StreamId),
    /// A stream takes more, or was stopped.
    Writable(StreamId),
    /// The peer wants no more of what we send on a stream.
    Stopped(StreamId, u64),
    /// The peer allows more streams.
    MoreStreams,
    /// The connection is gone.
    Lost(Loss),
}

/// The reason why a connection is gone.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Loss {
    /// Nothing arrived for as long as the idle time-out.
    #[error("nothing arrived for as long as the idle time-out")]
    TimedOut,
    /// The peer does not know the connection any more (a stateless reset).
    #[error("the server does not know the connection any more")]
    Reset,
    /// The peer closed it, with a code of its application and its words.
    #[error("the server closed the connection with code {0:#x}")]
    Closed(u64, String),
    /// One end's transport or TLS refused to go on.
    #[error(transparent)]
    Failed(Failure),
    /// The peer speaks no version that we speak.
    #[error("the server speaks no version of QUIC that we speak")]
    NoVersion,
    /// We have closed it.
    #[error("the connection was closed here")]
    ByUs,
}

/// Bytes of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Chunk {
    /// The next ones.
    Bytes(Bytes),
    /// None for now.
    Pending,
    /// None any more: the peer has sent all.
    End,
    /// None any more: the peer gave up, with this code.
    Reset(u64),
}

/// The result of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// It took so many bytes; none while it is blocked.
    Bytes(usize),
    /// The peer wants no more.
    Stopped,
}

/// A mark of explicit congestion notification (RFC 3168).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
}

/// Numbers of datagrams by their mark of congestion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Marks {
    /// ECT(0).
    pub ect0: u64,
    /// ECT(1).
    pub ect1: u64,
    /// Congestion experienced.
    pub ce: u64,
}

impl Marks {
    fn add(&mut self, mark: Ecn, count: u64) {
        *match mark {
            Ecn::Ect0 => &mut self.ect0,
            Ecn::Ect1 => &mut self.ect1,
            Ecn::Ce => &mut self.ce,
        } += count;
    }
}

/// Datagrams in one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagrams {
    /// Bytes of each but the last, which may be shorter.
    pub segment: usize,
    /// The mark that they are to bear.
    pub ecn: Option<Ecn>,
}

/// Figures of a connection so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// Datagrams handed out.
    pub datagrams_sent: u64,
    /// Bytes of them.
    pub bytes_sent: u64,
    /// Datagrams that arrived.
    pub datagrams_received: u64,
    /// Bytes of them.
    pub bytes_received: u64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets of them that were lost, probes of the path's MTU aside.
    pub packets_lost: u64,
    /// Bytes of these.
    pub bytes_lost: u64,
    /// Times at which the congestion window was reduced.
    pub congestion_events: u64,
    /// Probes of the path's MTU sent, among the packets.
    pub mtu_probes_sent: u64,
    /// Probes of them that were lost.
    pub mtu_probes_lost: u64,
    /// Times at which the path turned out to carry less than it had.
    pub black_holes: u64,
    /// Datagrams that arrived, by their mark of congestion; those without one are not among them.
    pub marks: Marks,
    /// The peer confirms marks on what we send, as far as it has acknowledged any (RFC 9000, section 13.4.2).
    pub confirms_marks: bool,
    /// The smoothed round-trip time.
    pub rtt: Duration,
    /// The least round-trip time, once one was measured.
    pub rtt_min: Option<Duration>,
    /// The congestion window, in bytes.
    pub congestion_window: u64,
    /// The largest UDP payload that the path is known to carry.
    pub mtu: u16,
}

impl Figures {
    /// Returns what was counted since `before`. What is no count stays as it is.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            datagrams_sent: self.datagrams_sent - before.datagrams_sent,
            bytes_sent: self.bytes_sent - before.bytes_sent,
            datagrams_received: self.datagrams_received - before.datagrams_received,
            bytes_received: self.bytes_received - before.bytes_received,
            packets_sent: self.packets_sent - before.packets_sent,
            packets_lost: self.packets_lost - before.packets_lost,
            bytes_lost: self.bytes_lost - before.bytes_lost,
            congestion_events: self.congestion_events - before.congestion_events,
            mtu_probes_sent: self.mtu_probes_sent - before.mtu_probes_sent,
            mtu_probes_lost: self.mtu_probes_lost - before.mtu_probes_lost,
            black_holes: self.black_holes - before.black_holes,
            marks: Marks {
                ect0: self.marks.ect0 - before.marks.ect0,
                ect1: self.marks.ect1 - before.marks.ect1,
                ce: self.marks.ce - before.marks.ce,
            },
            ..*self
        }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connection")
            .field("server", &self.server)
            .field("is_established", &self.is_established)
            .finish_non_exhaustive()
    }
}

impl Connection {
    pub(super) fn begin(
        context: &Context,
        mut endpoint: quinn_proto::Endpoint,
        config: quinn_proto::ClientConfig,
        now: Duration,
        server: SocketAddr,
        name: &str,
    ) -> Result<Self, Failure> {
        let epoch = context.epoch;
        let begun = endpoint.connect(epoch + now, config, server, name);
        let (handle, quic) = begun.map_err(|error| Failure {
            kind: FailureKind::Own,
            reason: "a name that no certificate bears".into(),
            details: vec![error.to_string()],
        })?;
        let early = if quic.has_0rtt() { EarlyData::Offered } else { EarlyData::None };
        Ok(Self {
            endpoint,
            handle,
            quic,
            desk: Arc::clone(&context.desk),
            epoch,
            server,
            is_due: true,
            marks: Marks::default(),
            is_marking: true,
            is_established: false,
            early,
            is_retried: false,
            agreed: None,
            handshake_figures: Figures::default(),
            is_news: false,
            has_opened: false,
            answer: Vec::new(),
        })
    }

    /// Returns whether the handshake is complete.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.is_established
    }

    /// Returns the fate of early data.
    #[must_use]
    pub fn early_data(&self) -> EarlyData {
        self.early
    }

    /// Returns whether streams can be opened and written to.
    #[must_use]
    pub fn is_open(&self) -> bool {
        (self.is_established || self.early == EarlyData::Offered) && !self.quic.is_closed()
    }

    /// Returns whether datagrams may be due to go out.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.is_due
    }

    /// Uses datagrams that arrived in one buffer, each of `segment` bytes but the last. Returns the sessions that they
    /// brought, for others to resume.
    pub fn handle_datagrams(
        &mut self,
        now: Duration,
        mut bytes: BytesMut,
        segment: usize,
        ecn: Option<Ecn>,
    ) -> Vec<Ticket> {
        if let Some(mark) = ecn {
            self.marks.add(mark, bytes.len().div_ceil(segment.max(1)) as u64);
        }
        let ecn = ecn.map(|ecn| match ecn {
            Ecn::Ect0 => EcnCodepoint::Ect0,
            Ecn::Ect1 => EcnCodepoint::Ect1,
            Ecn::Ce => EcnCodepoint::Ce,
        });
        while !bytes.is_empty() {
            let datagram = bytes.split_to(segment.clamp(1, bytes.len()));
            self.is_retried |= !self.is_established && is_retry(&datagram);
            let at = self.epoch + now;
            self.answer.clear();
            let event = self.endpoint.handle(at, self.server, None, ecn, datagram, &mut self.answer);
            // What belongs to no connection is not answered: our socket has only this one.
            if let Some(DatagramEvent::ConnectionEvent(_, event)) = event {
                self.quic.handle_event(event);
            }
        }
        self.settle();
        self.desk.take_given()
    }

    /// Returns the instant at which its timer expires. The answer replaces the last one.
    pub fn poll_timeout(&mut self) -> Option<Duration> {
        self.quic.poll_timeout().map(|at| at.saturating_duration_since(self.epoch))
    }

    /// The timer has expired.
    pub fn handle_timeout(&mut self, now: Duration) {
        self.quic.handle_timeout(self.epoch + now);
        self.settle();
    }

    /// Lets both halves of the library exchange what they have for each other.
    fn settle(&mut self) {
        self.is_due = true;
        while let Some(event) = self.quic.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.quic.handle_event(event);
            }
        }
    }

    /// Appends the next datagrams, `count` at most, to an empty buffer.
    pub fn poll_transmit(&mut self, now: Duration, count: usize, out: &mut Vec<u8>) -> Option<Datagrams> {
        let Some(transmit) = self.quic.poll_transmit(self.epoch + now, count, out) else {
            self.settle();
            self.is_due = false;
            return None;
        };
        let ecn = transmit.ecn.map(|ecn| match ecn {
            EcnCodepoint::Ect0 => Ecn::Ect0,
            EcnCodepoint::Ect1 => Ecn::Ect1,
            EcnCodepoint::Ce => Ecn::Ce,
        });
        self.is_marking = ecn.is_some();
        Some(Datagrams { segment: transmit.segment_size.unwrap_or(transmit.size), ecn })
    }

    /// Returns the next event.
    pub fn poll(&mut self) -> Option<Event> {
        if mem::take(&mut self.is_news) {
            return Some(Event::Established);
        }
        loop {
            if self.has_opened {
                if let Some(id) = self.quic.streams().accept(Dir::Uni) {
                    return Some(Event::Opened(StreamId(id)));
                }
                self.has_opened = false;
            }
            return Some(match self.quic.poll()? {
                quinn_proto::Event::Connected => {
                    self.is_established = true;
                    self.agreed = self.read_agreed();
                    self.handshake_figures = self.figures();
                    if self.early == EarlyData::Offered {
                        self.early = match self.quic.accepted_0rtt() {
                            true => EarlyData::Accepted,
                            false => EarlyData::Rejected,
                        };
                    }
                    if self.early == EarlyData::Rejected {
                        self.is_news = true;
                        Event::EarlyDataRejected
                    } else {
                        Event::Established
                    }
                }
                quinn_proto::Event::ConnectionLost { reason } => Event::Lost(self.loss(&reason)),
                // One event stands for all that were opened.
                quinn_proto::Event::Stream(StreamEvent::Opened { .. }) => {
                    self.has_opened = true;
                    continue;
                }
                quinn_proto::Event::Stream(StreamEvent::Readable { id }) => Event::Readable(StreamId(id)),
                quinn_proto::Event::Stream(StreamEvent::Writable { id }) => Event::Writable(StreamId(id)),
                quinn_proto::Event::Stream(StreamEvent::Stopped { id, error_code }) => {
                    Event::Stopped(StreamId(id), error_code.into_inner())
                }
                quinn_proto::Event::Stream(StreamEvent::Available { .. }) => Event::MoreStreams,
                quinn_proto::Event::HandshakeDataReady
                | quinn_proto::Event::Stream(StreamEvent::Finished { .. })
                | quinn_proto::Event::DatagramReceived
                | quinn_proto::Event::DatagramsUnblocked => continue,
            });
        }
    }

    fn read_agreed(&self) -> Option<Agreed> {
        let agreed = self.quic.crypto_session().handshake_data()?;
        agreed.downcast().ok().map(|agreed| *agreed)
    }

    /// Opens a stream on which both ends send; `None` while the peer allows no more.
    pub fn open_request(&mut self) -> Option<StreamId> {
        self.quic.streams().open(Dir::Bi).map(StreamId)
    }

    /// Opens a stream on which we alone send; `None` while the peer allows no more.
    pub fn open_own(&mut self) -> Option<StreamId> {
        self.quic.streams().open(Dir::Uni).map(StreamId)
    }

    /// Writes to a stream as much as it takes.
    pub fn write(&mut self, id: StreamId, bytes: &[u8]) -> Written {
        self.is_due = true;
        match self.quic.send_stream(id.0).write(bytes) {
            Ok(count) => Written::Bytes(count),
            Err(WriteError::Blocked) => Written::Bytes(0),
            Err(WriteError::Stopped(_) | WriteError::ClosedStream) => Written::Stopped,
        }
    }

    /// Writes to a stream as much as it takes, without a copy.
    pub fn write_shared(&mut self, id: StreamId, bytes: &Bytes) -> Written {
        self.is_due = true;
        match self.quic.send_stream(id.0).write_chunks(&mut [bytes.clone()]) {
            Ok(written) => Written::Bytes(written.bytes),
            Err(WriteError::Blocked) => Written::Bytes(0),
            Err(WriteError::Stopped(_) | WriteError::ClosedStream) => Written::Stopped,
        }
    }

    /// Says that nothing more follows on a stream.
    pub fn finish(&mut self, id: StreamId) {
        self.is_due = true;
        // A stream that the peer has stopped needs no end.
        self.quic.send_stream(id.0).finish().ok();
    }

    /// Gives up what we send on a stream.
    pub fn reset(&mut self, id: StreamId, code: u64) {
        self.is_due = true;
        self.quic.send_stream(id.0).reset(code_of(code)).ok();
    }

    /// Asks the peer to send nothing more on a stream.
    pub fn stop(&mut self, id: StreamId, code: u64) {
        self.is_due = true;
        self.quic.recv_stream(id.0).stop(code_of(code)).ok();
    }

    /// Reads the next bytes of a stream.
    pub fn read(&mut self, id: StreamId) -> Chunk {
        self.read_behind(id, 0).1
    }

    /// Reads the next bytes of a stream behind those that nobody wants, `unwanted` at most. Returns how many of them there
    /// were.
    pub fn read_behind(&mut self, id: StreamId, unwanted: u64) -> (u64, Chunk) {
        let mut stream = self.quic.recv_stream(id.0);
        let Ok(mut chunks) = stream.read(true) else { return (0, Chunk::End) };
        let mut left = unwanted;
        let chunk = loop {
            let size = if left == 0 { usize::MAX } else { usize::try_from(left).unwrap_or(usize::MAX) };
            match chunks.next(size) {
                Ok(Some(chunk)) if left > 0 => left -= chunk.bytes.len() as u64,
                Ok(Some(chunk)) => break Chunk::Bytes(chunk.bytes),
                Ok(None) => break Chunk::End,
                Err(ReadError::Blocked) => break Chunk::Pending,
                Err(ReadError::Reset(code)) => break Chunk::Reset(code.into_inner()),
            }
        };
        self.is_due |= chunks.finalize().should_transmit();
        (unwanted - left, chunk)
    }

    /// Returns the code with which the peer gave up a stream, if it has: what arrived before need not be read first. The
    /// stream is then gone.
    pub fn take_reset(&mut self, id: StreamId) -> Option<u64> {
        self.quic.recv_stream(id.0).received_reset().ok()?.map(VarInt::into_inner)
    }

    /// Acknowledges at once what has arrived, by a packet that the peer has to acknowledge in turn.
    pub fn ping(&mut self) {
        self.quic.ping();
        self.is_due = true;
    }

    /// Closes the connection, with a code of the application. What is then to be sent tells the peer.
    pub fn close(&mut self, now: Duration, code: u64) {
        self.quic.close(self.epoch + now, code_of(code), Bytes::new());
        self.is_due = true;
    }

    /// Returns figures of the connection so far.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let stats = self.quic.stats();
        Figures {
            datagrams_sent: stats.udp_tx.datagrams,
            bytes_sent: stats.udp_tx.bytes,
            datagrams_received: stats.udp_rx.datagrams,
            bytes_received: stats.udp_rx.bytes,
            packets_sent: stats.path.sent_packets,
            packets_lost: stats.path.lost_packets,
            bytes_lost: stats.path.lost_bytes,
            congestion_events: stats.path.congestion_events,
            mtu_probes_sent: stats.path.sent_plpmtud_probes,
            mtu_probes_lost: stats.path.lost_plpmtud_probes,
            black_holes: stats.path.black_holes_detected,
            marks: self.marks,
            confirms_marks: self.is_marking,
            rtt: stats.path.rtt,
            rtt_min: self.is_established.then_some(stats.path.min_rtt),
            congestion_window: stats.path.cwnd,
            mtu: stats.path.current_mtu,
        }
    }

    /// Returns how many packets have been declared lost so far, probes of the path's MTU aside.
    #[must_use]
    pub fn packets_lost(&self) -> u64 {
        self.quic.stats().path.lost_packets
    }

    /// Returns the smoothed round-trip time so far.
    #[must_use]
    pub fn rtt(&self) -> Duration {
        self.quic.rtt()
    }

    /// Returns whether the server asked for a proof of our address before it went on (RFC 9000, section 8.1.2).
    #[must_use]
    pub fn is_retried(&self) -> bool {
        self.is_retried
    }

    /// Returns its figures at the end of the handshake.
    #[must_use]
    pub fn handshake_figures(&self) -> Figures {
        self.handshake_figures
    }

    /// Returns the outcome of the completed handshake, and the bytes of its messages.
    ///
    /// # Panics
    ///
    /// If it is not complete.
    #[must_use]
    pub fn handshake(&self) -> Handshake<'_> {
        let agreed = self.agreed.as_ref().expect("the handshake is complete");
        let is_resumed = agreed.kind == Some(HandshakeKind::Resumed);
        let kind = match (is_resumed, self.early) {
            (true, EarlyData::Accepted) => Kind::EarlyData,
            (true, _) => Kind::Resumed,
            (false, _) => Kind::Full,
        };
        let id = agreed.group.map(u16::from);
        Handshake {
            kind,
            hello_retry: agreed.hello_retry,
            version: "TLSv1.3",
            cipher: agreed.cipher.and_then(|suite| suite_name(suite.into())).unwrap_or("unknown"),
            group: id.and_then(Group::numbered).map(|group| group.name),
            signature: agreed.signature.filter(|_| kind == Kind::Full).and_then(signature_name),
            protocol: agreed.protocol.as_deref(),
            compressed_certificate: false,
            sent: agreed.sent,
            received: agreed.received,
        }
    }

    /// Returns the server's certificate, if it showed one. `now` is in seconds since 1970.
    #[must_use]
    pub fn certificate(&self, now: i64) -> Option<Certificate> {
        let shown: Box<Vec<Vec<u8>>> = self.quic.crypto_session().peer_identity()?.downcast().ok()?;
        Certificate::of_chain(&shown, now)
    }

    fn loss(&self, reason: &ConnectionError) -> Loss {
        match reason {
            ConnectionError::TimedOut => Loss::TimedOut,
            ConnectionError::Reset => Loss::Reset,
            ConnectionError::LocallyClosed => Loss::ByUs,
            ConnectionError::VersionMismatch => Loss::NoVersion,
            ConnectionError::CidsExhausted => Loss::Failed(Failure::plain("no connection ID is free")),
            ConnectionError::ApplicationClosed(close) => {
                Loss::Closed(close.error_code.into_inner(), String::from_utf8_lossy(&close.reason).into())
            }
            ConnectionError::ConnectionClosed(close) => {
                let words = String::from_utf8_lossy(&close.reason);
                Loss::Failed(told(close.error_code, details(&words)))
            }
            ConnectionError::TransportError(error) => {
                let details = details(&error.reason);
                Loss::Failed(match self.desk.take_untrusted() {
                    Some(why) => Failure::untrusted(Some(&why), details),
                    None => {
                        Failure { kind: FailureKind::Own, reason: ours(error.code, &error.reason), details }
                    }
                })
            }
        }
    }
}

fn details(words: &str) -> Vec<String> {
    if words.is_empty() { Vec::new() } else { vec![words.to_owned()] }
}

/// TLS alerts are errors of the transport from here on (RFC 9001, section 4.8).
const CRYPTO_ERROR: u64 = 0x100;

/// Returns the alert of TLS that an error stands for.
fn alert(code: TransportErrorCode) -> Option<i32> {
    let code = u64::from(code);
    (CRYPTO_ERROR..CRYPTO_ERROR + 0x100).contains(&code).then(|| (code - CRYPTO_ERROR) as i32)
}

/// Returns the failure that a peer told which refused to go on.
fn told(code: TransportErrorCode, details: Vec<String>) -> Failure {
    match alert(code) {
        Some(alert) => Failure::alert(crate::tls::alert_name(alert), details),
        None => {
            let name = error_name(code);
            let reason = format!("QUIC: {name} from the server").into();
            Failure { kind: FailureKind::Closed(name), reason, details }
        }
    }
}

/// Returns the reason why we refused to go on.
fn ours(code: TransportErrorCode, reason: &str) -> Cow<'static, str> {
    match alert(code) {
        Some(_) => reason.to_owned().into(),
        None => format!("QUIC: {}", error_name(code)).into(),
    }
}

/// Returns the name of an error of the transport.
///
/// <https://www.rfc-editor.org/rfc/rfc9000#section-20.1>
fn error_name(code: TransportErrorCode) -> Cow<'static, str> {
    Cow::Borrowed(match u64::from(code) {
        0x0 => "NO_ERROR",
        0x1 => "INTERNAL_ERROR",
        0x2 => "CONNECTION_REFUSED",
        0x3 => "FLOW_CONTROL_ERROR",
        0x4 => "STREAM_LIMIT_ERROR",
        0x5 => "STREAM_STATE_ERROR",
        0x6 => "FINAL_SIZE_ERROR",
        0x7 => "FRAME_ENCODING_ERROR",
        0x8 => "TRANSPORT_PARAMETER_ERROR",
        0x9 => "CONNECTION_ID_LIMIT_ERROR",
        0xa => "PROTOCOL_VIOLATION",
        0xb => "INVALID_TOKEN",
        0xc => "APPLICATION_ERROR",
        0xd => "CRYPTO_BUFFER_EXCEEDED",
        0xe => "KEY_UPDATE_ERROR",
        0xf => "AEAD_LIMIT_REACHED",
        0x10 => "NO_VIABLE_PATH",
        other => return format!("error {other:#x}").into(),
    })
}

/// Returns the name of a cipher suite of TLS 1.3.
fn suite_name(suite: u16) -> Option<&'static str> {
    Some(match suite {
        0x1301 => "TLS_AES_128_GCM_SHA256",
        0x1302 => "TLS_AES_256_GCM_SHA384",
        0x1303 => "TLS_CHACHA20_POLY1305_SHA256",
        _ => return None,
    })
}

fn code_of(code: u64) -> VarInt {
    VarInt::from_u64(code).unwrap_or(VarInt::MAX)
}

/// Returns whether a datagram is a Retry packet of version 1 (RFC 9000, section 17.2.5).
fn is_retry(datagram: &[u8]) -> bool {
    matches!(datagram, [first, 0, 0, 0, 1, ..] if first & 0xb0 == 0xb0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_refused_to_go_on_is_quoted() {
        let told = |code| told(code, Vec::new());
        let violation = told(TransportErrorCode::PROTOCOL_VIOLATION);
        assert_eq!(violation.reason, "QUIC: PROTOCOL_VIOLATION from the server");
        assert_eq!(violation.kind, FailureKind::Closed("PROTOCOL_VIOLATION".into()));
        let alert = told(TransportErrorCode::crypto(120));
        assert_eq!(alert.reason, "alert no_application_protocol from the server");
        assert_eq!(alert.kind, FailureKind::Alert("no_application_protocol".into()));
        assert_eq!(ours(TransportErrorCode::NO_ERROR, ""), "QUIC: NO_ERROR");
    }
}
