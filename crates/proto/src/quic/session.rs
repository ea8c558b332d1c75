//! TLS 1.3 in QUIC (RFC 9001): rustls, as `quinn-proto` wants it.

use std::any::Any;
use std::sync::Arc;

use boring::symm::{Cipher, decrypt_aead};
use bytes::Buf as _;
use quinn_proto::crypto::{self, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, Connection, DirectionalKeys, KeyChange, Secrets, Suite, Version};
use rustls::{CipherSuite, ClientConfig, HandshakeKind, NamedGroup, SignatureScheme};

use super::padding::Unpadded;
use super::tickets::Desk;

/// The version of QUIC that is spoken (RFC 9000, section 15).
pub(super) const VERSION: u32 = 1;

/// The key and the nonce that protect Retry packets, which are no secret.
///
/// <https://www.rfc-editor.org/rfc/rfc9001#section-5.8>
const RETRY_KEY: [u8; 16] =
    [0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e];
const RETRY_NONCE: [u8; 12] = [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];

/// The size of the tag at the end of a Retry packet.
const RETRY_TAG_SIZE: usize = 16;

/// The type of a hello of a client, which a flight of messages begins with.
///
/// <https://www.rfc-editor.org/rfc/rfc8446#section-4>
const CLIENT_HELLO: u8 = 1;

/// Makes the TLS of connections.
pub(super) struct Sessions {
    pub(super) config: Arc<ClientConfig>,
    /// The suite that protects first packets.
    pub(super) initial: Suite,
    pub(super) desk: Arc<Desk>,
}

impl crypto::ClientConfig for Sessions {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        let invalid = || ConnectError::InvalidServerName(server_name.to_owned());
        if version != VERSION {
            return Err(ConnectError::UnsupportedVersion);
        }
        let name = ServerName::try_from(server_name).map_err(|_| invalid())?.to_owned();
        let mut encoded = Vec::new();
        parameters.write(&mut encoded);
        let client = ClientConnection::new(Arc::clone(&self.config), Version::V1, name, encoded);
        Ok(Box::new(Session {
            tls: Connection::Client(client.map_err(|_| invalid())?),
            initial: self.initial,
            desk: Arc::clone(&self.desk),
            next: None,
            is_told: false,
            sent: 0,
            received: 0,
            hellos: 0,
            signature: None,
        }))
    }
}

/// The TLS of one connection.
struct Session {
    tls: Connection,
    initial: Suite,
    desk: Arc<Desk>,
    /// The secrets of the next keys.
    next: Option<Secrets>,
    /// The owner knows that something was agreed on.
    is_told: bool,
    /// Bytes of handshake messages.
    sent: u64,
    received: u64,
    /// Hellos sent: a second one answers a HelloRetryRequest.
    hellos: u32,
    signature: Option<SignatureScheme>,
}

/// What both ends have agreed on, and the bytes of the handshake's messages so far.
#[derive(Clone, Debug)]
pub(super) struct Agreed {
    pub(super) protocol: Option<Vec<u8>>,
    pub(super) kind: Option<HandshakeKind>,
    /// The server asked for another key share, which rustls tells of full handshakes only.
    pub(super) hello_retry: bool,
    pub(super) cipher: Option<CipherSuite>,
    pub(super) group: Option<NamedGroup>,
    pub(super) signature: Option<SignatureScheme>,
    pub(super) sent: u64,
    pub(super) received: u64,
}

impl Session {
    fn agreed(&self) -> Agreed {
        Agreed {
            protocol: self.tls.alpn_protocol().map(<[u8]>::to_vec),
            kind: self.tls.handshake_kind(),
            hello_retry: self.hellos > 1,
            cipher: self.tls.negotiated_cipher_suite().map(|suite| suite.suite()),
            group: self.tls.negotiated_key_exchange_group().map(rustls::crypto::SupportedKxGroup::name),
            signature: self.signature,
            sent: self.sent,
            received: self.received,
        }
    }
}

impl crypto::Session for Session {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        let side = match side {
            Side::Client => rustls::Side::Client,
            Side::Server => rustls::Side::Server,
        };
        keys(self.initial.keys(dst_cid, side, Version::V1))
    }

    /// An [`Agreed`].
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        Some(Box::new(self.agreed()))
    }

    /// The certificates that the server showed, its own first, each in DER.
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        let shown: Vec<Vec<u8>> = self.tls.peer_certificates()?.iter().map(|der| der.to_vec()).collect();
        Some(Box::new(shown))
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let DirectionalKeys { header, packet } = self.tls.zero_rtt_keys()?;
        Some((Box::new(header), Box::new(packet)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        match &self.tls {
            Connection::Client(client) => Some(client.is_early_data_accepted()),
            Connection::Server(_) => None,
        }
    }

    fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.received += if self.tls.is_handshaking() { bytes.len() as u64 } else { 0 };
        let read = self.tls.read_hs(bytes);
        self.signature = self.desk.take_signature().or(self.signature);
        if let Err(error) = read {
            let reason = error.to_string();
            return Err(match self.tls.alert() {
                Some(alert) => {
                    TransportError { code: TransportErrorCode::crypto(alert.into()), frame: None, reason }
                }
                None => TransportError { code: TransportErrorCode::PROTOCOL_VIOLATION, frame: None, reason },
            });
        }
        let is_news = !self.is_told && (self.tls.alpn_protocol().is_some() || !self.tls.is_handshaking());
        self.is_told |= is_news;
        Ok(is_news)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(mut encoded) = self.tls.quic_transport_parameters() else { return Ok(None) };
        let parameters = TransportParameters::read(Side::Client, &mut encoded)?;
        debug_assert!(!encoded.has_remaining(), "parameters are read to the end");
        Ok(Some(parameters))
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let (before, is_handshaking) = (out.len(), self.tls.is_handshaking());
        let change = self.tls.write_hs(out);
        self.hellos += u32::from(out.get(before) == Some(&CLIENT_HELLO));
        self.sent += if is_handshaking || !self.is_told { (out.len() - before) as u64 } else { 0 };
        match change? {
            KeyChange::Handshake { keys: new } => Some(keys(new)),
            KeyChange::OneRtt { keys: new, next } => {
                self.next = Some(next);
                Some(keys(new))
            }
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let pair = self.next.as_mut()?.next_packet_keys();
        Some(KeyPair { local: Box::new(pair.local), remote: Box::new(Unpadded(Box::new(pair.remote))) })
    }

    /// Checks the tag of a Retry packet, which covers the connection ID that it answers (RFC 9001, section 5.8).
    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        let Some(tag_start) = payload.len().checked_sub(RETRY_TAG_SIZE) else { return false };
        let (token, tag) = payload.split_at(tag_start);
        let id_size = [orig_dst_cid.len() as u8];
        let covered = [&id_size[..], orig_dst_cid, header, token].concat();
        decrypt_aead(Cipher::aes_128_gcm(), &RETRY_KEY, Some(&RETRY_NONCE), &covered, &[], tag).is_ok()
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        let exported = self.tls.export_keying_material(output, label, Some(context));
        exported.map(|_| ()).map_err(|_| ExportKeyingMaterialError)
    }
}

fn keys(keys: rustls::quic::Keys) -> Keys {
    let (local, remote) = (keys.local, keys.remote);
    Keys {
        header: KeyPair { local: Box::new(local.header), remote: Box::new(remote.header) },
        packet: KeyPair {
            local: Box::new(local.packet),
            remote: Box::new(Unpadded(Box::new(remote.packet))),
        },
    }
}
