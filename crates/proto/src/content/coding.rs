//! Content codings: bodies decompressed as they arrive (RFC 9110, section 8.4).

use std::fmt;
use std::io::{self, Write};

use brotli::DecompressorWriter;
use flate2::write::MultiGzDecoder;

use crate::http1::values;

/// The compression of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// None.
    Identity,
    /// gzip (RFC 1952).
    Gzip,
    /// Brotli (RFC 7932).
    Brotli,
    /// Zstandard (RFC 8878), with a window of at most 8 MiB (RFC 9659).
    Zstd,
}

/// The base-2 logarithm of the largest window that a Zstandard body may use.
///
/// <https://www.rfc-editor.org/rfc/rfc9659#section-3>
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// The number of decompressed bytes that Brotli passes on at once.
const BROTLI_BUFFER: usize = 16 * 1024;

impl Coding {
    /// Returns the coding of the body after this header block; `None` if it is unknown, or if there are
    /// several.
    #[must_use]
    pub fn of(head: &[u8]) -> Option<Self> {
        values(head, b"content-encoding").try_fold(Self::Identity, Self::with)
    }

    /// Returns the coding with those of a further field value applied; `None` as for [`Coding::of`].
    pub(super) fn with(self, value: &[u8]) -> Option<Self> {
        let mut coding = self;
        for name in value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii) {
            let next = match name.to_ascii_lowercase().as_slice() {
                b"" | b"identity" => continue,
                b"gzip" | b"x-gzip" => Self::Gzip,
                b"br" => Self::Brotli,
                b"zstd" => Self::Zstd,
                _ => return None,
            };
            if coding != Self::Identity {
                return None;
            }
            coding = next;
        }
        Some(coding)
    }
}

/// Decompresses a body into a writer. Memory is bounded by the largest window of the coding.
pub struct Decoder<W: Write>(Inner<W>);

enum Inner<W: Write> {
    Identity(W),
    Gzip(Box<MultiGzDecoder<W>>),
    Brotli(Box<DecompressorWriter<W>>),
    Zstd(Box<zstd::stream::write::Decoder<'static, W>>),
}

impl<W: Write> Decoder<W> {
    /// Makes a decoder that writes to `writer`.
    ///
    /// # Errors
    /// When memory is short.
    pub fn new(coding: Coding, writer: W) -> io::Result<Self> {
        Ok(Self(match coding {
            Coding::Identity => Inner::Identity(writer),
            Coding::Gzip => Inner::Gzip(Box::new(MultiGzDecoder::new(writer))),
            Coding::Brotli => Inner::Brotli(Box::new(DecompressorWriter::new(writer, BROTLI_BUFFER))),
            Coding::Zstd => {
                let mut decoder = zstd::stream::raw::Decoder::new()?;
                decoder.set_parameter(zstd::stream::raw::DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))?;
                Inner::Zstd(Box::new(zstd::stream::write::Decoder::with_decoder(writer, decoder)))
            }
        }))
    }

    /// Decompresses the next bytes of the body.
    ///
    /// # Errors
    /// When they are malformed, or the writer fails. The decoder is then of no further use.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.0 {
            Inner::Identity(writer) => writer.write_all(bytes),
            Inner::Gzip(decoder) => decoder.write_all(bytes),
            Inner::Brotli(decoder) => decoder.write_all(bytes),
            Inner::Zstd(decoder) => decoder.write_all(bytes),
        }
    }

    /// Passes on all that the bytes so far decompress to.
    ///
    /// # Errors
    /// As for [`Decoder::push`].
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Inner::Identity(writer) => writer.flush(),
            Inner::Gzip(decoder) => decoder.flush(),
            Inner::Brotli(decoder) => decoder.flush(),
            Inner::Zstd(decoder) => decoder.flush(),
        }
    }

    /// Returns the writer.
    pub fn writer(&mut self) -> &mut W {
        match &mut self.0 {
            Inner::Identity(writer) => writer,
            Inner::Gzip(decoder) => decoder.get_mut(),
            Inner::Brotli(decoder) => decoder.get_mut(),
            Inner::Zstd(decoder) => decoder.get_mut(),
        }
    }

    /// Ends the body and gives the writer back.
    ///
    /// # Errors
    /// When the body is truncated.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Inner::Identity(writer) => Ok(writer),
            Inner::Gzip(decoder) => decoder.finish(),
            Inner::Brotli(decoder) => decoder.into_inner().map_err(|_| io::ErrorKind::UnexpectedEof.into()),
            Inner::Zstd(decoder) => decoder.finish(),
        }
    }
}

impl<W: Write> fmt::Debug for Decoder<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Inner::Identity(_) => "Decoder(Identity)",
            Inner::Gzip(_) => "Decoder(Gzip)",
            Inner::Brotli(_) => "Decoder(Brotli)",
            Inner::Zstd(_) => "Decoder(Zstd)",
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use proptest::prelude::*;

    use super::*;

    const CODINGS: [Coding; 4] = [Coding::Identity, Coding::Gzip, Coding::Brotli, Coding::Zstd];

    fn encoded(coding: Coding, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        match coding {
            Coding::Identity => bytes.extend_from_slice(body),
            Coding::Gzip => {
                flate2::read::GzEncoder::new(body, flate2::Compression::fast())
                    .read_to_end(&mut bytes)
                    .unwrap();
            }
            Coding::Brotli => {
                brotli::CompressorReader::new(body, 4096, 3, 18).read_to_end(&mut bytes).unwrap();
            }
            Coding::Zstd => bytes = zstd::stream::encode_all(body, 1).unwrap(),
        }
        bytes
    }

    fn decoded(coding: Coding, pieces: &[&[u8]]) -> io::Result<Vec<u8>> {
        let mut decoder = Decoder::new(coding, Vec::new())?;
        pieces.iter().try_for_each(|piece| decoder.push(piece))?;
        decoder.finish()
    }

    #[track_caller]
    fn check(header: &str, expected: Option<Coding>) {
        let head = format!("HTTP/1.1 200 OK\r\nX: gzip\r\n{header}\r\n");
        assert_eq!(Coding::of(head.as_bytes()), expected, "{header}");
    }

    #[test]
    fn the_coding_is_named_in_the_header() {
        check("", Some(Coding::Identity));
        check("content-encoding: GZip\r\n", Some(Coding::Gzip));
        check("Content-Encoding: x-gzip\r\n", Some(Coding::Gzip));
        check("Content-Encoding: identity , br\r\n", Some(Coding::Brotli));
        check("Content-Encoding: zstd\r\nContent-Encoding:\r\n", Some(Coding::Zstd));
        check("Content-Encoding: deflate\r\n", None);
        check("Content-Encoding: gzip, br\r\n", None);
        check("Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n", None);
    }

    #[test]
    fn what_is_cut_short_or_broken_is_told() {
        let body: Vec<u8> = (0..10_000_u32).flat_map(|number| (number * number).to_le_bytes()).collect();
        for coding in [Coding::Gzip, Coding::Brotli, Coding::Zstd] {
            let encoded = encoded(coding, &body);
            for size in [1, 5, encoded.len() / 2, encoded.len() - 1] {
                assert!(decoded(coding, &[&encoded[..size]]).is_err(), "{coding:?} cut to {size} bytes");
            }
            let mut broken = encoded.clone();
            broken[0] ^= 0x7F;
            assert!(decoded(coding, &[&broken]).is_err(), "{coding:?}");
            assert!(decoded(coding, &[b"this is plain text"]).is_err(), "{coding:?}");
        }
    }

    #[test]
    fn members_and_frames_may_follow_each_other() {
        for coding in [Coding::Gzip, Coding::Zstd] {
            let (first, second) = (encoded(coding, b"one "), encoded(coding, b"two"));
            assert_eq!(decoded(coding, &[&first, &second]).unwrap(), b"one two", "{coding:?}");
            assert_eq!(decoded(coding, &[&[first, second].concat()]).unwrap(), b"one two", "{coding:?}");
        }
    }

    #[test]
    fn each_flushed_part_of_a_stream_is_there_at_once() {
        fn check<W: Write>(coding: Coding, encoder: &mut W, encoded: impl Fn(&mut W) -> Vec<u8>) {
            let mut decoder = Decoder::new(coding, Vec::new()).unwrap();
            for part in [&b"data: a\n\n"[..], b"data: b\n\n", b"data: c\n\n"] {
                encoder.write_all(part).unwrap();
                encoder.flush().unwrap();
                decoder.writer().clear();
                decoder.push(&encoded(encoder)).unwrap();
                decoder.flush().unwrap();
                assert_eq!(decoder.writer(), part, "{coding:?}");
            }
        }

        check(Coding::Identity, &mut Vec::new(), std::mem::take);
        let gzip = &mut flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        check(Coding::Gzip, gzip, |encoder| std::mem::take(encoder.get_mut()));
        let brotli = &mut brotli::CompressorWriter::new(Vec::new(), 4096, 3, 18);
        check(Coding::Brotli, brotli, |encoder| std::mem::take(encoder.get_mut()));
        let zstd = &mut zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        check(Coding::Zstd, zstd, |encoder| std::mem::take(encoder.get_mut()));
    }

    #[test]
    fn a_window_beyond_what_the_rfc_allows_is_refused() {
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        encoder.set_parameter(zstd::stream::raw::CParameter::WindowLog(24)).unwrap();
        encoder.write_all(&vec![7; 20 << 20]).unwrap();
        let encoded = encoder.finish().unwrap();
        assert!(decoded(Coding::Zstd, &[&encoded]).is_err());
    }

    #[test]
    fn a_writer_that_takes_no_more_ends_it() {
        struct Full(usize);

        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
                Ok(bytes.len())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        for coding in CODINGS {
            let mut decoder = Decoder::new(coding, Full(1 << 20)).unwrap();
            let bomb = encoded(coding, &vec![0; 16 << 20]);
            let outcome = decoder.push(&bomb).and_then(|()| decoder.finish().map(|_| ()));
            assert!(outcome.is_err(), "{coding:?}");
        }
    }

    proptest! {
        #[test]
        fn bodies_come_back_wherever_they_are_cut(
            body in prop::collection::vec(any::<u8>(), 0..3000),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        ) {
            for coding in CODINGS {
                let encoded = encoded(coding, &body);
                let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(encoded.len() + 1)).collect();
                ends.push(encoded.len());
                ends.sort_unstable();
                let mut start = 0;
                let pieces: Vec<&[u8]> =
                    ends.into_iter().map(|end| &encoded[std::mem::replace(&mut start, end)..end]).collect();
                prop_assert_eq!(&decoded(coding, &pieces).unwrap(), &body, "{:?}", coding);
            }
        }

        #[test]
        fn whatever_comes_it_is_decompressed_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            for coding in CODINGS {
                let _ = decoded(coding, &[&bytes]);
            }
        }
    }
}
