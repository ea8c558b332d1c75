//! One connection's TLS: BoringSSL over a socket that never blocks.
//!
//! Three things keep `tokio-boring` from doing this: a connection whose client sent early data must finish its handshake
//! before it is closed, a failure must give its reason, and each handshake is counted.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

use boring::error::ErrorStack;
use boring::ssl::{self, ErrorCode, Ssl, SslCipherRef, SslStream};
use httperf_sys::tls::early_data_accepted;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::coop;

use super::context::{HTTP2, was_offered_early_data};
use super::counts::Handshake;
use crate::link::Link;
use crate::transport::Transport;

/// TLS on a socket.
pub(crate) struct Stream {
    tls: SslStream<Metered>,
    stage: Stage,
    /// True if the socket refused the last bytes offered.
    is_write_blocked: bool,
    link: Rc<Link>,
}

/// The progress of a stream.
///
/// ```text
/// Handshake ──► Established ──► Over
///      └─► EarlyData ─┘ └────────┘
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nothing can be read or written yet.
    Handshake,
    /// The client's early data can be read and answered. Reading completes the handshake.
    EarlyData,
    /// The handshake is complete.
    Established,
    /// TLS has ended or was abandoned.
    Over,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("stage", &self.stage).finish_non_exhaustive()
    }
}

impl Stream {
    /// Wraps a socket. The handshake has not begun.
    pub(crate) fn new(ssl: Ssl, transport: Transport, link: Rc<Link>) -> Result<Self, ErrorStack> {
        let socket = Metered { transport, received: 0, sent: 0, link: Rc::clone(&link) };
        Ok(Self { tls: SslStream::new(ssl, socket)?, stage: Stage::Handshake, is_write_blocked: false, link })
    }

    /// Does the handshake, or as much of it as reading early data takes.
    pub(crate) async fn handshake(&mut self) -> io::Result<()> {
        if poll_fn(|context| self.poll_tls(context, SslStream::accept)).await?.is_none() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if self.tls.ssl().is_init_finished() {
            self.establish();
            // Sends the tickets, even to a client that sends no request.
            httperf_sys::tls::flush(self.tls.ssl_mut());
        } else {
            self.stage = Stage::EarlyData;
        }
        Ok(())
    }

    /// Returns true if ALPN chose HTTP/2, which is decided by the time [`Stream::handshake`] returns.
    pub(crate) fn has_chosen_http2(&self) -> bool {
        self.tls.ssl().selected_alpn_protocol() == Some(HTTP2)
    }

    /// Returns the bare socket and abandons TLS.
    pub(crate) fn silenced(&mut self) -> &mut Transport {
        self.stage = Stage::Over;
        &mut self.tls.get_mut().transport
    }

    /// Counts the completed handshake.
    fn establish(&mut self) {
        self.stage = Stage::Established;
        let handshake = self.summary();
        self.link.shared.counts.borrow_mut().tls.add(&handshake);
    }

    fn summary(&self) -> Handshake {
        let ssl = self.tls.ssl();
        let is_resumed = ssl.session_reused();
        Handshake {
            is_resumed,
            early_data: was_offered_early_data(ssl).then(|| early_data_accepted(ssl)),
            is_retried: ssl.used_hello_retry_request(),
            has_client_certificate: !is_resumed && ssl.peer_certificate().is_some(),
            has_protocol: ssl.selected_alpn_protocol().is_some(),
            version: ssl.version_str(),
            cipher: ssl.current_cipher().map_or("none", SslCipherRef::name),
            group: ssl.curve_name(),
            bytes_received: self.tls.get_ref().received,
            bytes_sent: self.tls.get_ref().sent,
        }
    }

    /// Calls BoringSSL until it succeeds or has to wait for the socket. `None` if the client will send nothing more.
    fn poll_tls<T>(
        &mut self,
        context: &mut Context<'_>,
        mut call: impl FnMut(&mut SslStream<Metered>) -> Result<T, ssl::Error>,
    ) -> Poll<io::Result<Option<T>>> {
        // A client that never pauses must not block the others.
        let budget = ready!(coop::poll_proceed(context));
        loop {
            let result = call(&mut self.tls);
            if self.stage == Stage::EarlyData && self.tls.ssl().is_init_finished() {
                self.establish();
            }
            let error = match result {
                Ok(value) => {
                    budget.made_progress();
                    return Poll::Ready(Ok(Some(value)));
                }
                Err(error) => error,
            };
            let transport = &self.tls.get_ref().transport;
            match error.code() {
                ErrorCode::WANT_READ => ready!(transport.poll_readable(context))?,
                ErrorCode::WANT_WRITE => ready!(transport.poll_writable(context))?,
                _ => {
                    budget.made_progress();
                    return Poll::Ready(self.end(error).map(|()| None));
                }
            }
        }
    }

    /// Counts the end of TLS by its reason. `Ok` if the client closed the connection.
    fn end(&mut self, error: ssl::Error) -> io::Result<()> {
        let mut counts = self.link.shared.counts.borrow_mut();
        let counts = &mut counts.tls;
        let is_closed = error.code() == ErrorCode::ZERO_RETURN;
        let is_cut = error.code() == ErrorCode::SYSCALL && error.io_error().is_none();
        match self.stage {
            Stage::Handshake | Stage::EarlyData => {
                let reason = match error.io_error() {
                    _ if is_closed || is_cut && self.tls.get_ref().received > 0 => {
                        "closed by the client".to_owned()
                    }
                    _ if is_cut => "closed by the client before it said anything".to_owned(),
                    Some(error) => error.kind().to_string(),
                    None => reason(&error),
                };
                *counts.failed.entry(reason).or_default() += 1;
                self.stage = Stage::Over;
            }
            Stage::Established if is_cut => counts.unannounced_closes += 1,
            Stage::Established if !is_closed => {
                // A lost connection is no failure of TLS.
                if error.io_error().is_none() {
                    *counts.broken.entry(reason(&error)).or_default() += 1;
                }
                self.stage = Stage::Over;
            }
            Stage::Established | Stage::Over => {}
        }
        if is_closed || is_cut {
            return Ok(());
        }
        Err(error.into_io_error().unwrap_or_else(io::Error::other))
    }

    /// Finishes the handshake of a client that sent early data. Early data not read yet is lost.
    fn poll_finish_handshake(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut nowhere = [0; 1024];
        while self.stage == Stage::EarlyData {
            let poll = self.poll_tls(context, |tls| tls.ssl_read(&mut nowhere));
            // The client may have finished and said nothing after that.
            if self.stage == Stage::EarlyData {
                ready!(poll)?;
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let room = buffer.initialize_unfilled();
        let count = ready!(self.get_mut().poll_tls(context, |tls| tls.ssl_read(room)))?;
        buffer.advance(count.unwrap_or(0));
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let poll = this.poll_tls(context, |tls| tls.ssl_write(bytes));
        this.is_write_blocked = poll.is_pending();
        poll.map(|result| result?.ok_or_else(|| io::ErrorKind::BrokenPipe.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        // Each write sends its record before it returns.
        Poll::Ready(Ok(()))
    }

    /// Sends a close_notify and closes the socket's sending half.
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        ready!(this.poll_finish_handshake(context))?;
        if this.stage == Stage::Established {
            ready!(this.poll_tls(context, SslStream::shutdown))?;
            this.stage = Stage::Over;
        }
        Pin::new(&mut this.tls.get_mut().transport).poll_shutdown(context)
    }
}

/// Sends a close_notify on a connection that is dropped because it was idle or the server stops, unless a record is half
/// sent or TLS was abandoned.
impl Drop for Stream {
    fn drop(&mut self) {
        if self.stage == Stage::Established && !self.is_write_blocked {
            // This fails if the client is gone.
            let _: Result<_, ssl::Error> = self.tls.shutdown();
        }
    }
}

/// Describes a failure, in the same words for the same cause. An alert is always the client's.
fn reason(error: &ssl::Error) -> String {
    let errors = error.ssl_error().map(ErrorStack::errors).unwrap_or_default();
    let Some((code, reason)) = errors.first().and_then(|first| Some((first.reason_code(), first.reason()?)))
    else {
        return format!("TLS error {}", error.code().as_raw());
    };
    if code < ALERT_REASON_OFFSET {
        return reason.to_ascii_lowercase().replace('_', " ");
    }
    let alert = ["SSLV3_", "TLSV1_", "ALERT_"]
        .into_iter()
        .fold(reason, |rest, prefix| rest.strip_prefix(prefix).unwrap_or(rest));
    format!("alert {} from the client", alert.to_ascii_lowercase())
}

/// The first code that stands for an alert of the peer (BoringSSL's ssl.h, `SSL_AD_REASON_OFFSET`).
const ALERT_REASON_OFFSET: i32 = 1000;

/// A socket as BoringSSL uses it: it never blocks, and it counts bytes.
struct Metered {
    transport: Transport,
    received: u64,
    sent: u64,
    link: Rc<Link>,
}

impl Read for Metered {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.transport.read(buffer)?;
        self.received += count as u64;
        self.link.note_traffic(count);
        Ok(count)
    }
}

impl Write for Metered {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.transport.write(bytes)?;
        self.sent += count as u64;
        self.link.note_traffic(count);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.transport.flush()
    }
}
