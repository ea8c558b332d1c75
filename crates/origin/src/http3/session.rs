//! TLS of QUIC connections, observed: rustls does it, quinn carries it, and neither tells what was negotiated. Both hellos
//! pass here in the clear.

use std::any::Any;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use httperf_proto::tls::GROUPS;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::crypto::{
    ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use quinn::{ConnectionId, Side};
use quinn_proto::TransportError;
use quinn_proto::transport_parameters::TransportParameters;

/// A source of observed sessions.
pub(super) struct Observed(pub(super) Arc<QuicServerConfig>);

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Observed").finish_non_exhaustive()
    }
}

impl ServerConfig for Observed {
    fn initial_keys(&self, version: u32, dst_cid: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        self.0.initial_keys(version, dst_cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.0.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(self: Arc<Self>, version: u32, params: &TransportParameters) -> Box<dyn Session> {
        let inner = Arc::clone(&self.0).start_session(version, params);
        Box::new(ObservedSession {
            inner,
            client_hello: Vec::new(),
            server_hello: None,
            was_retried: false,
            offered_early_data: None,
            took_early_data: AtomicBool::new(false),
        })
    }
}

/// What was negotiated, as far as it is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Negotiated {
    pub(super) is_resumed: bool,
    /// True if early data was accepted; `None` if none was offered.
    pub(super) early_data: Option<bool>,
    /// True if the client was asked for another hello.
    pub(super) is_retried: bool,
    pub(super) cipher: &'static str,
    pub(super) group: Option<&'static str>,
}

/// A session whose hellos are read as they pass.
struct ObservedSession {
    inner: Box<dyn Session>,
    /// The first hello of the client, until it is complete.
    client_hello: Vec<u8>,
    server_hello: Option<ServerHello>,
    was_retried: bool,
    /// `None` until the client's hello is complete.
    offered_early_data: Option<bool>,
    took_early_data: AtomicBool,
}

impl ObservedSession {
    fn note_received(&mut self, bytes: &[u8]) {
        if self.offered_early_data.is_some() {
            return;
        }
        self.client_hello.extend_from_slice(bytes);
        if let Some(hello) = first_message(&self.client_hello) {
            let mut extensions = client_extensions(hello).into_iter().flatten();
            self.offered_early_data = Some(extensions.any(|(kind, _)| kind == EARLY_DATA));
            self.client_hello = Vec::new();
        } else if self.client_hello.len() > CLIENT_HELLO_SIZE_MAX {
            self.offered_early_data = Some(false);
            self.client_hello = Vec::new();
        }
    }

    fn note_sent(&mut self, bytes: &[u8]) {
        if self.server_hello.is_some() {
            return;
        }
        match first_message(bytes).and_then(ServerHello::read) {
            Some(hello) if hello.is_retry => self.was_retried = true,
            Some(hello) => self.server_hello = Some(hello),
            None => {}
        }
    }
}

impl Session for ObservedSession {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        self.inner.initial_keys(dst_cid, side)
    }

    /// Returns [`Negotiated`], with little in it while the client was asked for another hello.
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        if self.server_hello.is_none() && self.was_retried {
            return Some(Box::new(Negotiated { is_retried: true, ..Negotiated::default() }));
        }
        let hello = self.server_hello?;
        let offered = self.offered_early_data.unwrap_or(false);
        Some(Box::new(Negotiated {
            is_resumed: hello.is_resumed,
            early_data: offered.then(|| self.took_early_data.load(Ordering::Relaxed)),
            is_retried: self.was_retried,
            cipher: hello.cipher,
            group: hello.group,
        }))
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let keys = self.inner.early_crypto();
        // A server has such keys only if it accepts early data.
        self.took_early_data.fetch_or(keys.is_some(), Ordering::Relaxed);
        keys
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.note_received(bytes);
        self.inner.read_handshake(bytes)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, bytes: &mut Vec<u8>) -> Option<Keys> {
        let before = bytes.len();
        let keys = self.inner.write_handshake(bytes);
        self.note_sent(&bytes[before..]);
        keys
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.inner.next_1rtt_keys()
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

/// The largest hello of a client that is looked into; rustls takes no message larger than this.
const CLIENT_HELLO_SIZE_MAX: usize = 0xffff;

/// Extensions: <https://www.iana.org/assignments/tls-extensiontype-values>
const PRE_SHARED_KEY: u16 = 41;
const EARLY_DATA: u16 = 42;
const KEY_SHARE: u16 = 51;

/// The random value of a ServerHello that is a HelloRetryRequest.
///
/// <https://www.rfc-editor.org/rfc/rfc8446#section-4.1.3>
const RETRY_RANDOM: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2,
    0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// The parts of a ServerHello that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ServerHello {
    is_retry: bool,
    is_resumed: bool,
    cipher: &'static str,
    group: Option<&'static str>,
}

impl ServerHello {
    /// Reads the body of a message.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc8446#section-4.1.3>
    fn read(body: &[u8]) -> Option<Self> {
        let mut rest = Reader(body);
        rest.take(VERSION_SIZE)?;
        let is_retry = rest.take(RETRY_RANDOM.len())? == RETRY_RANDOM;
        rest.take_counted::<1>()?;
        let cipher = match rest.take_u16()? {
            0x1301 => "TLS_AES_128_GCM_SHA256",
            0x1302 => "TLS_AES_256_GCM_SHA384",
            0x1303 => "TLS_CHACHA20_POLY1305_SHA256",
            _ => "unknown",
        };
        rest.take(COMPRESSION_SIZE)?;
        let mut hello = Self { is_retry, is_resumed: false, cipher, group: None };
        for (kind, content) in rest.extensions()? {
            match kind {
                PRE_SHARED_KEY => hello.is_resumed = true,
                KEY_SHARE => {
                    let id = Reader(content).take_u16()?;
                    hello.group = GROUPS.iter().find(|group| group.id == id).map(|group| group.name);
                }
                _ => {}
            }
        }
        Some(hello)
    }
}

/// Sizes of fields in hellos.
const VERSION_SIZE: usize = 2;
const COMPRESSION_SIZE: usize = 1;

/// Returns the extensions in the body of a ClientHello.
///
/// <https://www.rfc-editor.org/rfc/rfc8446#section-4.1.2>
fn client_extensions(body: &[u8]) -> Option<Vec<(u16, &[u8])>> {
    let mut rest = Reader(body);
    rest.take(VERSION_SIZE + RETRY_RANDOM.len())?;
    rest.take_counted::<1>()?;
    rest.take_counted::<2>()?;
    rest.take_counted::<1>()?;
    rest.extensions()
}

/// Returns the body of the message that these bytes begin with; `None` until it is complete.
fn first_message(bytes: &[u8]) -> Option<&[u8]> {
    let mut rest = Reader(bytes);
    rest.take(1)?;
    rest.take_counted::<3>()
}

/// A reader of TLS structures.
#[derive(Debug)]
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(size)?;
        self.0 = rest;
        Some(taken)
    }

    fn take_u16(&mut self) -> Option<u16> {
        self.take(2).map(|bytes| u16::from_be_bytes([bytes[0], bytes[1]]))
    }

    /// Takes what follows a size of `N` bytes.
    fn take_counted<const N: usize>(&mut self) -> Option<&'a [u8]> {
        let size = self.take(N)?.iter().fold(0, |size, &byte| size << 8 | usize::from(byte));
        self.take(size)
    }

    /// Takes extensions with their types.
    fn extensions(&mut self) -> Option<Vec<(u16, &'a [u8])>> {
        let mut rest = Reader(self.take_counted::<2>()?);
        let mut extensions = Vec::new();
        while !rest.0.is_empty() {
            extensions.push((rest.take_u16()?, rest.take_counted::<2>()?));
        }
        Some(extensions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server_hello(random: &[u8], extensions: &[u8]) -> Vec<u8> {
        let size = [0, u8::try_from(extensions.len()).unwrap()];
        [&[3, 3], random, &[2, 7, 7, 0x13, 0x03, 0], &size, extensions].concat()
    }

    #[test]
    fn a_server_hello_tells_what_was_negotiated() {
        let share = [0, 51, 0, 5, 0, 0x1d, 0, 1, 9];
        let full = server_hello(&[5; 32], &share);
        let expected = ServerHello {
            is_retry: false,
            is_resumed: false,
            cipher: "TLS_CHACHA20_POLY1305_SHA256",
            group: Some("X25519"),
        };
        assert_eq!(ServerHello::read(&full), Some(expected));
        let resumed = server_hello(&[5; 32], &[&share[..], &[0, 41, 0, 2, 0, 0]].concat());
        assert_eq!(ServerHello::read(&resumed), Some(ServerHello { is_resumed: true, ..expected }));
        let retry = server_hello(&RETRY_RANDOM, &[0, 51, 0, 2, 0, 0x17]);
        let retried = ServerHello { is_retry: true, group: Some("P-256"), ..expected };
        assert_eq!(ServerHello::read(&retry), Some(retried));
        for size in 0..full.len() {
            assert_eq!(ServerHello::read(&full[..size]), None, "{size}");
        }
    }

    #[test]
    fn a_client_hello_tells_whether_early_data_follow() {
        let hello = |extensions: &[u8]| {
            let size = [0, u8::try_from(extensions.len()).unwrap()];
            [&[3, 3][..], &[5; 32], &[0, 0, 2, 0x13, 1, 1, 0], &size, extensions].concat()
        };
        let with = hello(&[0, 42, 0, 0]);
        assert_eq!(client_extensions(&with), Some(vec![(EARLY_DATA, &[][..])]));
        assert_eq!(client_extensions(&hello(&[])), Some(vec![]));
        for size in 0..with.len() {
            assert_eq!(client_extensions(&with[..size]), None, "{size}");
        }
    }

    #[test]
    fn a_message_is_found_once_it_is_complete() {
        let bytes = [1, 0, 0, 3, 7, 8, 9, 2];
        assert_eq!(first_message(&bytes), Some(&[7, 8, 9][..]));
        for size in 0..7 {
            assert_eq!(first_message(&bytes[..size]), None, "{size}");
        }
    }
}
