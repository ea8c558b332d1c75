//! Compression of the server's certificate for clients that support it (RFC 8879).

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use boring::ssl::{CertificateCompressionAlgorithm, CertificateCompressor};

/// Compression with zlib (RFC 1950).
pub(super) struct Zlib(pub(super) Compressed);

impl CertificateCompressor for Zlib {
    const ALGORITHM: CertificateCompressionAlgorithm = CertificateCompressionAlgorithm::ZLIB;
    const CAN_COMPRESS: bool = true;
    const CAN_DECOMPRESS: bool = false;

    fn compress<W: Write>(&self, input: &[u8], output: &mut W) -> io::Result<()> {
        self.0.write(input, output, |input| {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
            encoder.write_all(input)?;
            encoder.finish()
        })
    }
}

/// Compression with Brotli (RFC 7932).
pub(super) struct Brotli(pub(super) Compressed);

impl CertificateCompressor for Brotli {
    const ALGORITHM: CertificateCompressionAlgorithm = CertificateCompressionAlgorithm::BROTLI;
    const CAN_COMPRESS: bool = true;
    const CAN_DECOMPRESS: bool = false;

    fn compress<W: Write>(&self, mut input: &[u8], output: &mut W) -> io::Result<()> {
        self.0.write(input, output, |_| {
            let mut compressed = Vec::new();
            brotli::BrotliCompress(
                &mut input,
                &mut compressed,
                &brotli::enc::BrotliEncoderParams::default(),
            )?;
            Ok(compressed)
        })
    }
}

/// A cache of the last message in both forms, since the next handshake mostly has the same, with a count of messages
/// sent.
#[derive(Clone, Default)]
pub(super) struct Compressed {
    last: Arc<Mutex<(Vec<u8>, Vec<u8>)>>,
    count: Arc<AtomicU64>,
}

impl Compressed {
    /// Returns the number of messages sent.
    pub(super) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    fn write(
        &self,
        input: &[u8],
        output: &mut impl Write,
        compress: impl FnOnce(&[u8]) -> io::Result<Vec<u8>>,
    ) -> io::Result<()> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.0 != input {
            *last = (input.to_vec(), compress(input)?);
        }
        output.write_all(&last.1)?;
        self.count.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }
}
