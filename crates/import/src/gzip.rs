//! Recordings as gzip compresses them, told by their first bytes. What other programs compress is refused by name.

use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};

use flate2::bufread::MultiGzDecoder;

/// The bytes that a gzip stream begins with.
///
/// <https://www.rfc-editor.org/rfc/rfc1952#page-6>
const MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The bytes that other compressed files begin with, their name, and the command that decompresses them.
const OTHERS: &[(&[u8], &str, &str)] = &[
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd -dc FILE"),
    (b"\xfd7zXZ\0", "xz", "xz -dc FILE"),
    (b"BZh", "bzip2", "bzip2 -dc FILE"),
    (b"\x04\x22\x4d\x18", "lz4", "lz4 -dc FILE"),
    (b"PK\x03\x04", "zip", "unzip -p FILE"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "7z x -so FILE"),
];

/// The length of the longest of these.
const START_MAX: u64 = 6;

/// The size of the reads of decompressed bytes.
const BUFFER: usize = 128 * 1024;

/// Returns the content of a stream: decompressed if it is a gzip stream, of one member or several, and as it is
/// otherwise. Reading a gzip stream that is cut off or damaged fails with a sentence about it.
///
/// # Errors
/// If the first bytes cannot be read, or are those of another kind of compression.
pub fn plain<R: BufRead>(mut reader: R) -> io::Result<Plain<R>> {
    let mut start = Vec::new();
    reader.by_ref().take(START_MAX).read_to_end(&mut start)?;
    if let Some((_, name, command)) = OTHERS.iter().find(|(magic, ..)| start.starts_with(magic)) {
        return Err(io::Error::new(
            io::ErrorKind::Unsupported,
            format!(
                "expected plain text or gzip, got a file compressed with {name}: `{command}` decompresses it"
            ),
        ));
    }
    let is_gzip = start.starts_with(&MAGIC);
    let whole = Cursor::new(start).chain(reader);
    if is_gzip {
        let members = Members(MultiGzDecoder::new(whole));
        return Ok(Plain(Content::Gzip(Box::new(BufReader::with_capacity(BUFFER, members)))));
    }
    Ok(Plain(Content::AsItIs(whole)))
}

/// The content of a stream that may be compressed.
#[derive(Debug)]
pub struct Plain<R>(Content<R>);

#[derive(Debug)]
enum Content<R> {
    AsItIs(Whole<R>),
    Gzip(Box<BufReader<Members<R>>>),
}

/// The stream with its first bytes.
type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

impl<R: BufRead> Read for Plain<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.0 {
            Content::AsItIs(reader) => reader.read(buffer),
            Content::Gzip(reader) => reader.read(buffer),
        }
    }
}

impl<R: BufRead> BufRead for Plain<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match &mut self.0 {
            Content::AsItIs(reader) => reader.fill_buf(),
            Content::Gzip(reader) => reader.fill_buf(),
        }
    }

    fn consume(&mut self, count: usize) {
        match &mut self.0 {
            Content::AsItIs(reader) => reader.consume(count),
            Content::Gzip(reader) => reader.consume(count),
        }
    }
}

/// The content of the members of a gzip stream.
#[derive(Debug)]
struct Members<R>(MultiGzDecoder<Whole<R>>);

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                io::Error::new(error.kind(), "expected a whole gzip stream, got one that is cut off")
            }
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => io::Error::new(
                io::ErrorKind::InvalidData,
                format!("expected a whole gzip stream, got a damaged one: {error}"),
            ),
            _ => error,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzipped(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> Result<Vec<u8>, String> {
        let mut content = Vec::new();
        // A byte at a time, so that nothing depends on where a read ends.
        let reader = BufReader::with_capacity(1, bytes);
        let read = plain(reader).and_then(|mut plain| plain.read_to_end(&mut content));
        read.map(|_| content).map_err(|error| error.to_string())
    }

    /// Bytes that do not compress to almost nothing.
    fn content() -> Vec<u8> {
        (0..40_000u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_be_bytes()).collect()
    }

    #[test]
    fn a_stream_is_decompressed_if_it_begins_as_gzip_does() {
        let content = content();
        assert!(content.len() > BUFFER);
        for plain in [&b""[..], b"\x1f", b"\x1f\x8a", b"GET /", b"PK", b"BZ 2", &content] {
            assert_eq!(read(plain).unwrap(), plain);
            assert_eq!(read(&gzipped(plain)).unwrap(), plain);
        }
        let members = [gzipped(b"a\nb"), gzipped(b""), gzipped(&content)].concat();
        assert_eq!(read(&members).unwrap(), [b"a\nb", &content[..]].concat());
    }

    #[test]
    fn a_stream_that_is_cut_off_is_refused_wherever_it_is_cut() {
        let whole = gzipped(b"GET / HTTP/1.1\n");
        for length in MAGIC.len()..whole.len() {
            let cut = read(&whole[..length]);
            let message = "expected a whole gzip stream, got one that is cut off";
            assert_eq!(cut, Err(message.to_owned()), "{length}");
        }
    }

    #[test]
    fn what_others_compress_is_refused_by_name() {
        for (magic, name, _) in OTHERS {
            let message = read(&[magic, &b"rest"[..]].concat()).unwrap_err();
            let expected = format!("expected plain text or gzip, got a file compressed with {name}: `");
            assert!(message.starts_with(&expected), "{message}");
            assert!(magic.len() as u64 <= START_MAX);
        }
    }

    #[test]
    fn a_damaged_stream_is_refused() {
        let whole = gzipped(b"GET / HTTP/1.1\n");
        let mut checksum = whole.clone();
        checksum[whole.len() - 8] ^= 1;
        for damaged in [&[&MAGIC[..], b"log"].concat(), &checksum, &[&whole[..], b"GET"].concat()] {
            let message = read(damaged).unwrap_err();
            assert!(message.starts_with("expected a whole gzip stream, got "), "{message}");
        }
    }
}
