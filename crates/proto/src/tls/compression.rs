//! Compressed certificates (RFC 8879).

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use boring::ssl::{CertificateCompressionAlgorithm, CertificateCompressor};

/// Set whenever a certificate was decompressed. The library does not say for which connection, but a context
/// belongs to one worker, which looks at this after each step of a handshake.
#[derive(Clone, Debug, Default)]
pub(super) struct Used(Arc<AtomicBool>);

impl Used {
    /// Returns whether a certificate was decompressed since the last call.
    pub(super) fn take(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }

    fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Decompresses with zlib (RFC 1950).
pub(super) struct Zlib(pub(super) Used);

impl CertificateCompressor for Zlib {
    const ALGORITHM: CertificateCompressionAlgorithm = CertificateCompressionAlgorithm::ZLIB;
    const CAN_COMPRESS: bool = false;
    const CAN_DECOMPRESS: bool = true;

    fn decompress<W: Write>(&self, input: &[u8], output: &mut W) -> io::Result<()> {
        self.0.set();
        io::copy(&mut flate2::read::ZlibDecoder::new(input), output).map(drop)
    }
}

/// Decompresses with Brotli (RFC 7932).
pub(super) struct Brotli(pub(super) Used);

/// The size of the decoder's buffer.
const BROTLI_BUFFER_SIZE: usize = 4096;

impl CertificateCompressor for Brotli {
    const ALGORITHM: CertificateCompressionAlgorithm = CertificateCompressionAlgorithm::BROTLI;
    const CAN_COMPRESS: bool = false;
    const CAN_DECOMPRESS: bool = true;

    fn decompress<W: Write>(&self, input: &[u8], output: &mut W) -> io::Result<()> {
        self.0.set();
        io::copy(&mut brotli::Decompressor::new(input, BROTLI_BUFFER_SIZE), output).map(drop)
    }
}
