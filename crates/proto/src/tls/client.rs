//! The TLS of one connection.

use std::fmt;
use std::mem;
use std::net::IpAddr;

use boring::ssl::{ErrorCode, SslCipherRef, SslRef, SslStream};
use httperf_sys::tls::{Session, early_data_accepted, in_early_data, reset_early_data_reject};

use super::compression::Used;
use super::context::sessions_index;
use super::{Certificate, Context, Failure, Lane};

/// The TLS of one connection, the client's side.
///
/// ```text
///   handshake ──► (early data) ──► established ──► closed by either side
/// ```
///
/// Call [`Client::advance`] at the start and after each arrival, until it returns [`Progress::Done`]; from
/// then on call [`Client::read`] after each arrival, until it returns [`Read::Pending`]. After every call,
/// send what the lane holds.
pub struct Client {
    /// Its own lane is empty except during a call.
    stream: SslStream<Lane>,
    compression_used: Used,
    is_done: bool,
    /// The session offered, if any, allowed early data.
    early: EarlyData,
    used_compression: bool,
    /// Bytes of the handshake.
    sent: u64,
    received: u64,
}

/// The progress of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Waits for the server.
    Pending,
    /// Waits for the server; early data may be written meanwhile.
    EarlyData,
    /// The server refused early data: write it again after the handshake, which continues.
    EarlyDataRejected,
    /// Complete.
    Done,
}

/// The fate of early data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EarlyData {
    /// There was no occasion for it.
    #[default]
    None,
    /// It could be sent, and the server has not answered yet.
    Offered,
    /// The server accepted it.
    Accepted,
    /// The server refused it.
    Rejected,
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// This many bytes of plaintext at the beginning of the buffer; there may be more.
    Plaintext(usize),
    /// Nothing until more arrives.
    Pending,
    /// The server has announced that it sends nothing more (close_notify).
    Closed,
}

/// The kind of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A full one.
    Full,
    /// One that resumed a session.
    Resumed,
    /// One that resumed a session and carried early data that the server accepted.
    EarlyData,
}

/// The outcome of a completed handshake, and its cost.
#[derive(Clone, Copy, Debug)]
pub struct Handshake<'a> {
    /// Full, resumed, or with early data.
    pub kind: Kind,
    /// True if the server asked for another key share.
    pub hello_retry: bool,
    /// Such as `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite, by the name that a cipher list has for it.
    pub cipher: &'static str,
    /// The key-exchange group, if there is one.
    pub group: Option<&'static str>,
    /// The algorithm of the server's signature, if it signed.
    pub signature: Option<&'static str>,
    /// The protocol that ALPN chose.
    pub protocol: Option<&'a [u8]>,
    /// True if the certificate came compressed.
    pub compressed_certificate: bool,
    /// Bytes sent, early data aside.
    pub sent: u64,
    /// Bytes received, up to the last that the handshake needed.
    pub received: u64,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("state", &self.stream.ssl().state_string_long())
            .finish_non_exhaustive()
    }
}

impl Client {
    /// Makes a connection whose handshake has not begun. `name` is the server's name, sent as SNI; without
    /// one, a checked certificate must bear `address`. `session` is an earlier one to resume.
    #[must_use]
    pub fn new(
        context: &Context,
        name: Option<&str>,
        address: Option<IpAddr>,
        session: Option<&Session>,
    ) -> Self {
        let mut ssl = context.connection();
        if let Some(name) = name {
            // A name that cannot be sent is one that no certificate bears.
            ssl.set_hostname(name).unwrap_or_default();
        }
        if context.verifies {
            let expected = ssl.param_mut();
            if let Some(name) = name {
                expected.set_host(name).expect("a target's name is not empty and has no NUL");
            } else if let Some(address) = address {
                expected.set_ip(address).expect("an address needs nothing but memory");
            }
        }
        if let Some(session) = session {
            session.offer(&mut ssl);
        }
        let stream = SslStream::new(ssl, Lane::default()).expect("a stream needs nothing but memory");
        Self {
            stream,
            compression_used: context.compression_used.clone(),
            is_done: false,
            early: EarlyData::None,
            used_compression: false,
            sent: 0,
            received: 0,
        }
    }

    /// Continues the handshake.
    ///
    /// # Errors
    /// When it failed. What the lane then holds (an alert) should still be sent.
    pub fn advance(&mut self, lane: &mut Lane) -> Result<Progress, Failure> {
        if self.is_done {
            return Ok(Progress::Done);
        }
        let result =
            self.with(lane, |stream| stream.connect().map_err(|error| (error, stream.ssl().verify_result())));
        self.used_compression |= self.compression_used.take();
        match result {
            Ok(()) if in_early_data(self.ssl()) => {
                self.early = EarlyData::Offered;
                Ok(Progress::EarlyData)
            }
            Ok(()) => {
                self.is_done = true;
                if self.early == EarlyData::Offered {
                    self.early = match early_data_accepted(self.ssl()) {
                        true => EarlyData::Accepted,
                        false => EarlyData::Rejected,
                    };
                }
                Ok(Progress::Done)
            }
            Err((error, _)) if is_waiting(error.code()) => Ok(Progress::Pending),
            Err((error, _)) if reset_early_data_reject(self.stream.ssl_mut(), error.code().as_raw()) => {
                self.early = EarlyData::Rejected;
                Ok(Progress::EarlyDataRejected)
            }
            Err((error, verified)) => {
                let untrusted = verified.err().map(|why| why.error_string());
                Err(Failure::new(&error, untrusted))
            }
        }
    }

    /// Seals plaintext into the lane; returns how many bytes it took. Fewer than all only of early data,
    /// which has a limit.
    ///
    /// # Errors
    /// When the connection has failed.
    pub fn write(&mut self, lane: &mut Lane, plaintext: &[u8]) -> Result<usize, Failure> {
        self.with_outgoing(lane, |stream| {
            let mut taken = 0;
            while taken < plaintext.len() {
                match stream.ssl_write(&plaintext[taken..]) {
                    Ok(count) => taken += count,
                    Err(error) if is_waiting(error.code()) => break,
                    Err(error) => return Err(Failure::new(&error, None)),
                }
            }
            Ok(taken)
        })
    }

    /// Opens what arrived into `out`.
    ///
    /// # Errors
    /// When the server broke the protocol, sent an alert, or asked for a renegotiation.
    pub fn read(&mut self, lane: &mut Lane, out: &mut [u8]) -> Result<Read, Failure> {
        let result = self.with(lane, |stream| stream.ssl_read(out));
        match result {
            Ok(count) => Ok(Read::Plaintext(count)),
            Err(error) if is_waiting(error.code()) => Ok(Read::Pending),
            Err(error) if error.code() == ErrorCode::ZERO_RETURN => Ok(Read::Closed),
            Err(error) => Err(Failure::new(&error, None)),
        }
    }

    /// Announces that nothing more will be sent (close_notify), if the handshake was completed.
    pub fn close(&mut self, lane: &mut Lane) {
        if self.is_done {
            // A connection that has failed meanwhile has nothing more to say.
            let _: Result<_, _> = self.with_outgoing(lane, SslStream::shutdown);
        }
    }

    /// Returns whether the handshake is complete.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.is_done
    }

    /// Returns the fate of early data.
    #[must_use]
    pub fn early_data(&self) -> EarlyData {
        self.early
    }

    /// Takes the sessions that the server has given since they were last taken, oldest first. With TLS 1.3
    /// they arrive after the handshake.
    pub fn take_sessions(&mut self) -> Vec<Session> {
        self.stream.ssl_mut().ex_data_mut(sessions_index()).map(mem::take).unwrap_or_default()
    }

    /// Returns the outcome of the completed handshake, and its cost.
    #[must_use]
    pub fn handshake(&self) -> Handshake<'_> {
        let ssl = self.ssl();
        let kind = match (ssl.session_reused(), self.early) {
            (true, EarlyData::Accepted) => Kind::EarlyData,
            (true, _) => Kind::Resumed,
            (false, _) => Kind::Full,
        };
        let signature = match kind {
            Kind::Full => ssl.peer_signature_algorithm().and_then(|algorithm| algorithm.name()),
            Kind::Resumed | Kind::EarlyData => None,
        };
        Handshake {
            kind,
            hello_retry: ssl.used_hello_retry_request(),
            version: ssl.version_str(),
            cipher: ssl.current_cipher().map_or("none", SslCipherRef::name),
            group: ssl.curve_name(),
            signature,
            protocol: ssl.selected_alpn_protocol(),
            compressed_certificate: self.used_compression,
            sent: self.sent,
            received: self.received,
        }
    }

    /// Returns the server's certificate, if it showed one. `now` is in seconds since 1970.
    #[must_use]
    pub fn certificate(&self, now: i64) -> Option<Certificate> {
        Certificate::of(self.ssl(), now)
    }

    fn ssl(&self) -> &SslRef {
        self.stream.ssl()
    }

    /// Lends the lane to the stream, and counts what a handshake moves over it.
    fn with<T>(&mut self, lane: &mut Lane, act: impl FnOnce(&mut SslStream<Lane>) -> T) -> T {
        let (used, held) = (lane.used(), lane.outgoing.len());
        mem::swap(self.stream.get_mut(), lane);
        let result = act(&mut self.stream);
        mem::swap(self.stream.get_mut(), lane);
        if !self.is_done {
            self.received += (lane.used() - used) as u64;
            self.sent += (lane.outgoing.len() - held) as u64;
        }
        result
    }

    /// Lends only the outgoing side of the lane: what arrived in it may be another connection's.
    fn with_outgoing<T>(&mut self, lane: &mut Lane, act: impl FnOnce(&mut SslStream<Lane>) -> T) -> T {
        mem::swap(&mut self.stream.get_mut().outgoing, &mut lane.outgoing);
        let result = act(&mut self.stream);
        mem::swap(&mut self.stream.get_mut().outgoing, &mut lane.outgoing);
        result
    }
}

fn is_waiting(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::WANT_READ | ErrorCode::WANT_WRITE)
}
