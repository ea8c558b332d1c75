//! Decoders that make one step of bounded work at a time.

use std::io::{self, Write};

use brotli::enc::StandardAlloc;
use brotli::{BrotliDecompressStream, BrotliResult, BrotliState};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Operation};

/// The number of decompressed bytes that a decoder passes on at once; that of gzip has the same.
pub(super) const PIECE: usize = 32 * 1024;

/// The number of pieces that a decoder passes on in one step: some hundred microseconds of work.
pub(super) const PIECES_PER_STEP: usize = 8;

/// Decompresses Brotli, with a window of at most 16 MiB (RFC 7932).
pub(super) struct Brotli<W> {
    state: BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>,
    piece: Box<[u8]>,
    writer: W,
    is_complete: bool,
}

impl<W: Write> Brotli<W> {
    pub(super) fn new(writer: W) -> Self {
        let alloc = StandardAlloc::default;
        let state = BrotliState::new_strict(alloc(), alloc(), alloc());
        Self { state, piece: vec![0; PIECE].into(), writer, is_complete: false }
    }

    pub(super) fn writer(&mut self) -> &mut W {
        &mut self.writer
    }

    /// Makes a step, and takes what it used from the front of the input. Returns true if there is more to do.
    pub(super) fn step(&mut self, input: &mut &[u8]) -> io::Result<bool> {
        for _ in 0..PIECES_PER_STEP {
            if self.is_complete {
                return if input.is_empty() { Ok(false) } else { Err(io::ErrorKind::InvalidData.into()) };
            }
            let (mut left, mut used) = (input.len(), 0);
            let (mut room, mut written, mut total) = (self.piece.len(), 0, 0);
            let result = BrotliDecompressStream(
                &mut left,
                &mut used,
                input,
                &mut room,
                &mut written,
                &mut self.piece,
                &mut total,
                &mut self.state,
            );
            *input = &input[used..];
            self.writer.write_all(&self.piece[..written])?;
            match result {
                BrotliResult::NeedsMoreOutput => {}
                BrotliResult::NeedsMoreInput => return Ok(false),
                BrotliResult::ResultSuccess => self.is_complete = true,
                BrotliResult::ResultFailure => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
        Ok(!self.is_complete || !input.is_empty())
    }

    pub(super) fn finish(self) -> io::Result<W> {
        if self.is_complete { Ok(self.writer) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// Decompresses deflate, with or without the frame of zlib.
pub(super) struct Deflate<W> {
    /// `None` before the first byte, which tells whether there is a frame.
    decompress: Option<Decompress>,
    piece: Vec<u8>,
    writer: W,
    is_complete: bool,
}

impl<W: Write> Deflate<W> {
    pub(super) fn new(writer: W) -> Self {
        Self { decompress: None, piece: Vec::with_capacity(PIECE), writer, is_complete: false }
    }

    pub(super) fn writer(&mut self) -> &mut W {
        &mut self.writer
    }

    /// Makes a step, and takes what it used from the front of the input. Returns true if there is more to do.
    pub(super) fn step(&mut self, input: &mut &[u8]) -> io::Result<bool> {
        if let (None, Some(&first)) = (&self.decompress, input.first()) {
            self.decompress = Some(Decompress::new(begins_zlib(first)));
        }
        let Some(decompress) = &mut self.decompress else { return Ok(false) };
        for _ in 0..PIECES_PER_STEP {
            if self.is_complete {
                return if input.is_empty() { Ok(false) } else { Err(io::ErrorKind::InvalidData.into()) };
            }
            let before = decompress.total_in();
            self.piece.clear();
            let status = decompress.decompress_vec(input, &mut self.piece, FlushDecompress::None)?;
            let used = usize::try_from(decompress.total_in() - before).unwrap_or(usize::MAX);
            *input = input.get(used..).unwrap_or_default();
            self.writer.write_all(&self.piece)?;
            let is_full = self.piece.len() == self.piece.capacity();
            match status {
                Status::StreamEnd => self.is_complete = true,
                Status::Ok | Status::BufError if is_full => {}
                Status::Ok if !input.is_empty() => {}
                Status::Ok | Status::BufError => return Ok(false),
            }
        }
        Ok(!self.is_complete || !input.is_empty())
    }

    pub(super) fn finish(self) -> io::Result<W> {
        if self.is_complete { Ok(self.writer) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// The base-2 logarithm of the largest window that a Zstandard body may use.
///
/// <https://www.rfc-editor.org/rfc/rfc9659#section-3>
const ZSTD_WINDOW_LOG_MAX: u32 = 23;

/// Decompresses Zstandard.
pub(super) struct Zstd<W> {
    decoder: zstd::stream::raw::Decoder<'static>,
    piece: Box<[u8]>,
    writer: W,
    /// The last frame is complete. Others may follow it.
    is_complete: bool,
}

impl<W: Write> Zstd<W> {
    pub(super) fn new(writer: W) -> io::Result<Self> {
        let mut decoder = zstd::stream::raw::Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))?;
        Ok(Self { decoder, piece: vec![0; PIECE].into(), writer, is_complete: false })
    }

    pub(super) fn writer(&mut self) -> &mut W {
        &mut self.writer
    }

    /// Makes a step, and takes what it used from the front of the input. Returns true if there is more to do.
    pub(super) fn step(&mut self, input: &mut &[u8]) -> io::Result<bool> {
        for _ in 0..PIECES_PER_STEP {
            if self.is_complete && input.is_empty() {
                return Ok(false);
            }
            let status = self.decoder.run_on_buffers(input, &mut self.piece)?;
            *input = &input[status.bytes_read..];
            self.writer.write_all(&self.piece[..status.bytes_written])?;
            self.is_complete = status.remaining == 0;
            if input.is_empty() && status.bytes_written < self.piece.len() {
                return Ok(false);
            }
        }
        Ok(!self.is_complete || !input.is_empty())
    }

    pub(super) fn finish(self) -> io::Result<W> {
        if self.is_complete { Ok(self.writer) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }
}

/// Returns true for the first byte of a zlib stream, which names deflate in its lower half (RFC 1950, section 2.2). Deflate
/// alone begins with it only if its first block is stored, and the bits that nobody reads are set.
fn begins_zlib(first: u8) -> bool {
    first & 0x0F == 8
}
