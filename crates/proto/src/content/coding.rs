//! Content codings: bodies decompressed as they arrive (RFC 9110, section 8.4).

use std::fmt;
use std::io::{self, Write};

use flate2::write::MultiGzDecoder;

use super::expand::{Brotli, Deflate, PIECES_PER_STEP, Zstd};
use crate::http1::values;
use crate::list::elements;

/// The compression of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// None.
    Identity,
    /// gzip (RFC 1952).
    Gzip,
    /// Deflate (RFC 1951), in a zlib stream (RFC 1950) as the RFC has it, or alone, as many servers send it.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1.2>
    Deflate,
    /// Brotli (RFC 7932).
    Brotli,
    /// Zstandard (RFC 8878), with a window of at most 8 MiB (RFC 9659).
    Zstd,
}

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
        for name in elements(value) {
            let next = match name.to_ascii_lowercase().as_slice() {
                b"identity" => continue,
                b"gzip" | b"x-gzip" => Self::Gzip,
                b"deflate" => Self::Deflate,
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
///
/// A few bytes may decompress to gigabytes. Each call therefore makes one step of bounded work, and keeps the rest of the
/// bytes: while the decoder [is behind](Self::is_behind), others have their turn before it [goes on](Self::go_on).
pub struct Decoder<W: Write> {
    inner: Inner<W>,
    /// The bytes that are left to decompress.
    backlog: Vec<u8>,
    is_behind: bool,
}

enum Inner<W: Write> {
    Identity(W),
    Gzip(Box<MultiGzDecoder<W>>),
    Deflate(Box<Deflate<W>>),
    Brotli(Box<Brotli<W>>),
    Zstd(Box<Zstd<W>>),
}

impl<W: Write> Decoder<W> {
    /// Makes a decoder that writes to `writer`.
    ///
    /// # Errors
    /// When memory is short.
    pub fn new(coding: Coding, writer: W) -> io::Result<Self> {
        let inner = match coding {
            Coding::Identity => Inner::Identity(writer),
            Coding::Gzip => Inner::Gzip(Box::new(MultiGzDecoder::new(writer))),
            Coding::Deflate => Inner::Deflate(Box::new(Deflate::new(writer))),
            Coding::Brotli => Inner::Brotli(Box::new(Brotli::new(writer))),
            Coding::Zstd => Inner::Zstd(Box::new(Zstd::new(writer)?)),
        };
        Ok(Self { inner, backlog: Vec::new(), is_behind: false })
    }

    /// Takes the next bytes of the body, and makes a step.
    ///
    /// # Errors
    /// When they are malformed, or the writer fails. The decoder is then of no further use.
    pub fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.is_behind {
            self.backlog.extend_from_slice(bytes);
            return self.go_on();
        }
        let mut rest = bytes;
        self.is_behind = self.inner.step(&mut rest)?;
        self.backlog.clear();
        self.backlog.extend_from_slice(rest);
        Ok(())
    }

    /// Returns true if some of the bytes are not decompressed yet.
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Makes another step.
    ///
    /// # Errors
    /// As for [`Decoder::push`].
    pub fn go_on(&mut self) -> io::Result<()> {
        let mut rest = &self.backlog[..];
        self.is_behind = self.inner.step(&mut rest)?;
        let used = self.backlog.len() - rest.len();
        self.backlog.drain(..used);
        Ok(())
    }

    /// Passes on all that the bytes decompressed so far stand for.
    ///
    /// # Errors
    /// As for [`Decoder::push`].
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.inner {
            Inner::Identity(writer) => writer.flush(),
            Inner::Gzip(decoder) => decoder.flush(),
            Inner::Deflate(decoder) => decoder.writer().flush(),
            Inner::Brotli(decoder) => decoder.writer().flush(),
            Inner::Zstd(decoder) => decoder.writer().flush(),
        }
    }

    /// Returns the writer.
    pub fn writer(&mut self) -> &mut W {
        match &mut self.inner {
            Inner::Identity(writer) => writer,
            Inner::Gzip(decoder) => decoder.get_mut(),
            Inner::Deflate(decoder) => decoder.writer(),
            Inner::Brotli(decoder) => decoder.writer(),
            Inner::Zstd(decoder) => decoder.writer(),
        }
    }

    /// Ends the body and gives the writer back. A decoder that is behind makes all the steps that are left.
    ///
    /// # Errors
    /// When the body is truncated.
    pub fn finish(mut self) -> io::Result<W> {
        while self.is_behind {
            self.go_on()?;
        }
        match self.inner {
            Inner::Identity(writer) => Ok(writer),
            Inner::Gzip(decoder) => decoder.finish(),
            Inner::Deflate(decoder) => decoder.finish(),
            Inner::Brotli(decoder) => decoder.finish(),
            Inner::Zstd(decoder) => decoder.finish(),
        }
    }
}

impl<W: Write> Inner<W> {
    /// Makes a step, and takes what it used from the front of the input. Returns true if there is more to do.
    fn step(&mut self, input: &mut &[u8]) -> io::Result<bool> {
        let decoder = match self {
            Self::Identity(writer) => {
                writer.write_all(std::mem::take(input))?;
                return Ok(false);
            }
            Self::Deflate(decoder) => return decoder.step(input),
            Self::Brotli(decoder) => return decoder.step(input),
            Self::Zstd(decoder) => return decoder.step(input),
            Self::Gzip(decoder) => decoder,
        };
        // It passes on at most a piece before it takes the next bytes.
        for _ in 0..PIECES_PER_STEP {
            if input.is_empty() {
                return Ok(false);
            }
            match decoder.write(input) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(used) => *input = &input[used..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(!input.is_empty())
    }
}

impl<W: Write> fmt::Debug for Decoder<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.inner {
            Inner::Identity(_) => "Decoder(Identity)",
            Inner::Gzip(_) => "Decoder(Gzip)",
            Inner::Deflate(_) => "Decoder(Deflate)",
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
    use crate::content::expand::PIECE;

    const CODINGS: [Coding; 5] =
        [Coding::Identity, Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd];

    fn encoded(coding: Coding, body: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        match coding {
            Coding::Identity => bytes.extend_from_slice(body),
            Coding::Gzip => {
                flate2::read::GzEncoder::new(body, flate2::Compression::fast())
                    .read_to_end(&mut bytes)
                    .unwrap();
            }
            Coding::Deflate => {
                flate2::read::ZlibEncoder::new(body, flate2::Compression::fast())
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
        check("Content-Encoding: Deflate\r\n", Some(Coding::Deflate));
        check("Content-Encoding: compress\r\n", None);
        check("Content-Encoding: gzip, br\r\n", None);
        check("Content-Encoding: gzip\r\nContent-Encoding: gzip\r\n", None);
    }

    #[test]
    fn what_is_cut_short_or_broken_is_told() {
        let body: Vec<u8> = (0..10_000_u32).flat_map(|number| (number * number).to_le_bytes()).collect();
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
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
        let deflate = &mut flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        check(Coding::Deflate, deflate, |encoder| std::mem::take(encoder.get_mut()));
        let deflate = &mut flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
        check(Coding::Deflate, deflate, |encoder| std::mem::take(encoder.get_mut()));
        let brotli = &mut brotli::CompressorWriter::new(Vec::new(), 4096, 3, 18);
        check(Coding::Brotli, brotli, |encoder| std::mem::take(encoder.get_mut()));
        let zstd = &mut zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        check(Coding::Zstd, zstd, |encoder| std::mem::take(encoder.get_mut()));
    }

    #[test]
    fn deflate_comes_with_and_without_the_frame_of_zlib() {
        for body in [&b""[..], b"a", b"there was an error", &[b'x'; 100_000]] {
            for level in 0..=9 {
                let level = flate2::Compression::new(level);
                let mut framed = Vec::new();
                flate2::read::ZlibEncoder::new(body, level).read_to_end(&mut framed).unwrap();
                let mut plain = Vec::new();
                flate2::read::DeflateEncoder::new(body, level).read_to_end(&mut plain).unwrap();
                for encoded in [framed, plain] {
                    let bytes: Vec<&[u8]> = encoded.chunks(1).collect();
                    assert_eq!(decoded(Coding::Deflate, &bytes).unwrap(), body, "{level:?}");
                    assert!(decoded(Coding::Deflate, &[&encoded[..encoded.len() - 1]]).is_err(), "{level:?}");
                }
            }
        }
    }

    #[test]
    fn a_step_is_bounded_however_far_the_bytes_expand() {
        struct Counted(usize);

        impl Write for Counted {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 += bytes.len();
                Ok(bytes.len())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }

        const SIZE: usize = 64 << 20;
        // A decoder passes on what it has when the step begins, too.
        const MOST: usize = (PIECES_PER_STEP + 8) * PIECE;
        for coding in [Coding::Gzip, Coding::Deflate, Coding::Brotli, Coding::Zstd] {
            let bomb = encoded(coding, &vec![0; SIZE]);
            let mut decoder = Decoder::new(coding, Counted(0)).unwrap();
            let (mut steps, mut before) = (1, 0);
            decoder.push(&bomb).unwrap();
            loop {
                let written = decoder.writer().0;
                assert!(written - before <= MOST, "{coding:?} wrote {} bytes in a step", written - before);
                before = written;
                if !decoder.is_behind() {
                    break;
                }
                decoder.go_on().unwrap();
                steps += 1;
            }
            assert!(steps > SIZE / MOST, "{coding:?}: {steps} steps");
            assert_eq!(decoder.finish().unwrap().0, SIZE, "{coding:?}");
        }
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
