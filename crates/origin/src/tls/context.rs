//! The BoringSSL context that all connections share.

use std::fmt;
use std::sync::OnceLock;

use boring::error::ErrorStack;
use boring::ex_data::Index;
use boring::ssl::{
    AlpnError, ExtensionType, Ssl, SslContext, SslContextBuilder, SslMethod, SslMode, SslOptions, SslRef,
    SslSessionCacheMode, SslVerifyMode, SslVersion, select_next_proto,
};
use httperf_plan::{CertificateCompression, TlsVersion};

use super::compression::{Brotli, Compressed, Zlib};
use super::settings::{ClientCertificate, Tickets, Tls};

/// A source of TLS states for accepted connections.
pub(crate) struct Acceptor {
    context: SslContext,
    compressed: [Compressed; 2],
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Acceptor").finish_non_exhaustive()
    }
}

impl Acceptor {
    /// Makes a context with these settings that offers HTTP/1.1 by ALPN, and HTTP/2 if wanted.
    pub(crate) fn new(config: &Tls, offers_http2: bool) -> Result<Self, ErrorStack> {
        let mut builder = SslContextBuilder::new(SslMethod::tls())?;
        builder.set_min_proto_version(Some(library_version(config.versions.min)))?;
        builder.set_max_proto_version(Some(library_version(config.versions.max)))?;
        // A write returns after each record, and may be retried from another buffer.
        builder.set_mode(SslMode::ENABLE_PARTIAL_WRITE | SslMode::ACCEPT_MOVING_WRITE_BUFFER);
        builder.set_curves_list(&config.groups.to_list())?;
        if let Some(ciphers) = &config.ciphers {
            builder.set_cipher_list(&ciphers.0)?;
        }
        let credentials = &config.credentials;
        builder.set_certificate(&credentials.certificate)?;
        for certificate in &credentials.chain {
            builder.add_extra_chain_cert(certificate.clone())?;
        }
        builder.set_private_key(&credentials.key)?;
        builder.set_alpn_select_callback(move |ssl, offered| {
            // HTTP/2 is for TLS 1.2 and newer (RFC 9113, section 9.2).
            let is_new = matches!(ssl.version2(), Some(SslVersion::TLS1_2 | SslVersion::TLS1_3));
            let spoken = if offers_http2 && is_new { PROTOCOLS } else { HTTP1_ALONE };
            select_next_proto(spoken, offered).ok_or(AlpnError::NOACK)
        });
        set_tickets(&mut builder, config.tickets)?;
        set_client_certificate(&mut builder, config.client_certificate);
        let compressed = <[Compressed; 2]>::default();
        for way in &config.certificate_compression {
            match way {
                CertificateCompression::Zlib => {
                    builder.add_certificate_compression_algorithm(Zlib(compressed[0].clone()))?;
                }
                CertificateCompression::Brotli => {
                    builder.add_certificate_compression_algorithm(Brotli(compressed[1].clone()))?;
                }
            }
        }
        Ok(Self { context: builder.build(), compressed })
    }

    /// Makes the TLS state of one connection.
    pub(crate) fn ssl(&self) -> Result<Ssl, ErrorStack> {
        Ssl::new(&self.context)
    }

    /// Returns the number of certificates sent compressed.
    pub(crate) fn compressed_certificates(&self) -> u64 {
        self.compressed.iter().map(Compressed::count).sum()
    }
}

/// The name of HTTP/2 in ALPN.
pub(super) const HTTP2: &[u8] = b"h2";

/// Lists of protocols for ALPN, most preferred first, each behind a byte with the length of its name (RFC 7301).
const PROTOCOLS: &[u8] = b"\x02h2\x08http/1.1";
const HTTP1_ALONE: &[u8] = b"\x08http/1.1";

/// A name to which tickets are bound. It distinguishes servers that share keys, which ours never do.
const SESSION_CONTEXT: &[u8] = b"httperf";

fn library_version(version: TlsVersion) -> SslVersion {
    match version {
        TlsVersion::Tls10 => SslVersion::TLS1,
        TlsVersion::Tls11 => SslVersion::TLS1_1,
        TlsVersion::Tls12 => SslVersion::TLS1_2,
        TlsVersion::Tls13 => SslVersion::TLS1_3,
    }
}

fn set_tickets(builder: &mut SslContextBuilder, tickets: Tickets) -> Result<(), ErrorStack> {
    // The server keeps no sessions itself.
    builder.set_session_cache_mode(SslSessionCacheMode::OFF);
    builder.set_session_id_context(SESSION_CONTEXT)?;
    match tickets {
        Tickets::Off => drop(builder.set_options(SslOptions::NO_TICKET)),
        Tickets::On => {}
        Tickets::EarlyData => {
            httperf_sys::tls::enable_early_data(builder);
            // Afterwards BoringSSL does not tell whether early data was offered.
            builder.set_select_certificate_callback(|mut hello| {
                if hello.get_extension(ExtensionType::EARLY_DATA).is_some() {
                    hello.ssl_mut().set_ex_data(early_data_index(), ());
                }
                Ok(())
            });
        }
    }
    Ok(())
}

/// Returns true if the client offered early data; only a server that accepts some looks for it.
pub(super) fn was_offered_early_data(ssl: &SslRef) -> bool {
    ssl.ex_data(early_data_index()).is_some()
}

/// The index of a connection's note that its client offered early data.
fn early_data_index() -> Index<Ssl, ()> {
    static INDEX: OnceLock<Index<Ssl, ()>> = OnceLock::new();
    *INDEX.get_or_init(|| Ssl::new_ex_index().expect("an index needs nothing but memory"))
}

fn set_client_certificate(builder: &mut SslContextBuilder, wanted: ClientCertificate) {
    let mode = match wanted {
        ClientCertificate::None => return,
        ClientCertificate::Requested => SslVerifyMode::PEER,
        ClientCertificate::Required => SslVerifyMode::PEER | SslVerifyMode::FAIL_IF_NO_PEER_CERT,
    };
    // Any issuer will do, as the client has proved that it has the key.
    builder.set_custom_verify_callback(mode, |_| Ok(()));
}
