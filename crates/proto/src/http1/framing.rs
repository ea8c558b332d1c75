//! The framing of a reply's body (RFC 9112, sections 6 and 7).

use crate::ReplyLimits;
use crate::{ProtocolError, ReplySize};

/// The rest of a body.
#[derive(Debug)]
pub(super) enum Body {
    /// This many bytes; 0 at the end.
    Length(u64),
    /// Everything until the end of the connection.
    UntilClose,
    /// Chunks.
    Chunked(Chunked),
}

/// A step through a body.
#[derive(Debug)]
pub(super) enum Progress<'a> {
    /// The input is used up.
    NeedMore,
    /// Part of the body.
    Data(&'a [u8]),
    /// The body and any trailers are complete.
    Done,
}

impl Body {
    /// Reads on, shortening `input` and adding to `size`.
    pub(super) fn advance<'a>(
        &mut self,
        input: &mut &'a [u8],
        size: &mut ReplySize,
        limits: &ReplyLimits,
    ) -> Result<Progress<'a>, ProtocolError> {
        match self {
            Self::Length(0) => Ok(Progress::Done),
            Self::Length(left) => Ok(take(input, left, size)),
            Self::UntilClose => Ok(take(input, &mut u64::MAX.clone(), size)),
            Self::Chunked(chunked) => chunked.advance(input, size, limits),
        }
    }
}

impl Body {
    /// Returns how many bytes of content come next without framing in between; [`u64::MAX`] if they last
    /// until the end of the connection.
    pub(super) fn content_ahead(&self) -> u64 {
        match self {
            Self::Length(left) | Self::Chunked(Chunked::Data(left)) => *left,
            Self::UntilClose => u64::MAX,
            Self::Chunked(_) => 0,
        }
    }

    /// Skips `count` bytes of content that arrived and were not read.
    pub(super) fn skip(&mut self, count: u64, size: &mut ReplySize) {
        assert!(count <= self.content_ahead(), "only content can be skipped");
        size.content += count;
        match self {
            Self::Length(left) | Self::Chunked(Chunked::Data(left)) => *left -= count,
            Self::UntilClose | Self::Chunked(_) => {}
        }
    }
}

/// Takes up to `left` bytes of content off `input`.
fn take<'a>(input: &mut &'a [u8], left: &mut u64, size: &mut ReplySize) -> Progress<'a> {
    if input.is_empty() {
        return Progress::NeedMore;
    }
    let count = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
    let (data, rest) = input.split_at(count);
    *input = rest;
    *left -= count as u64;
    size.content += count as u64;
    Progress::Data(data)
}

/// A chunked body.
///
/// ```text
///        ┌──────────────────────┐
///        ▼                      │
///   Line(size > 0) ──► Data ──► End
///   Line(size = 0) ──► Trailers ──► done
/// ```
#[derive(Debug)]
pub(super) enum Chunked {
    /// In a chunk-size line.
    Line(SizeLine),
    /// This many bytes of the chunk are left.
    Data(u64),
    /// At the line end behind its data; `returned`: its carriage return was read.
    End { returned: bool },
    /// In the trailer section; `line_size` bytes of the current line have been read, its end not counted.
    Trailers { line_size: usize },
    /// The empty line after the trailers was read.
    Done,
}

/// A chunk-size line, read byte by byte so that it may be cut anywhere.
#[derive(Debug, Default)]
pub(super) struct SizeLine {
    size: u64,
    digits: u32,
    /// After the number: a chunk extension, which is ignored.
    extension: bool,
    /// The number of bytes so far.
    length: usize,
}

impl Chunked {
    pub(super) fn new() -> Self {
        Self::Line(SizeLine::default())
    }

    fn advance<'a>(
        &mut self,
        input: &mut &'a [u8],
        size: &mut ReplySize,
        limits: &ReplyLimits,
    ) -> Result<Progress<'a>, ProtocolError> {
        loop {
            match self {
                Self::Data(0) => *self = Self::End { returned: false },
                Self::Data(left) => return Ok(take(input, left, size)),
                Self::Done => return Ok(Progress::Done),
                Self::End { returned } => {
                    let Some(byte) = next_byte(input) else { return Ok(Progress::NeedMore) };
                    match byte {
                        b'\r' if !*returned => *returned = true,
                        b'\n' => *self = Self::new(),
                        _ => return Err(ProtocolError::BadChunkEnd),
                    }
                }
                Self::Line(line) => {
                    let Some(byte) = next_byte(input) else { return Ok(Progress::NeedMore) };
                    match line.push(byte, limits.chunk_line_size)? {
                        None => {}
                        Some(0) => *self = Self::Trailers { line_size: 0 },
                        Some(length) => *self = Self::Data(length),
                    }
                }
                Self::Trailers { line_size } => {
                    let Some(byte) = next_byte(input) else { return Ok(Progress::NeedMore) };
                    size.footer += 1;
                    if size.footer > limits.head_size as u64 {
                        return Err(ProtocolError::HeadTooLarge { limit: limits.head_size });
                    }
                    match byte {
                        b'\n' if *line_size == 0 => *self = Self::Done,
                        b'\n' => *line_size = 0,
                        b'\r' => {}
                        _ => *line_size += 1,
                    }
                }
            }
        }
    }
}

impl SizeLine {
    /// Reads one byte; returns the chunk's size at the end of the line.
    fn push(&mut self, byte: u8, limit: usize) -> Result<Option<u64>, ProtocolError> {
        self.length += 1;
        if self.length > limit {
            return Err(ProtocolError::BadChunk);
        }
        match byte {
            b'\n' if self.digits > 0 => return Ok(Some(self.size)),
            b'\n' => return Err(ProtocolError::BadChunk),
            b' ' | b'\t' if self.digits == 0 => {}
            b'\r' | b' ' | b'\t' | b';' if self.digits > 0 => self.extension = true,
            _ if self.extension => {}
            _ => {
                let digit = char::from(byte).to_digit(16).ok_or(ProtocolError::BadChunk)?;
                let size = self.size.checked_mul(16).ok_or(ProtocolError::BadChunk)?;
                self.size = size + u64::from(digit);
                self.digits += 1;
            }
        }
        Ok(None)
    }
}

fn next_byte(input: &mut &[u8]) -> Option<u8> {
    let (first, rest) = input.split_first()?;
    *input = rest;
    Some(*first)
}
