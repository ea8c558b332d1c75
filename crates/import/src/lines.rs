//! The lines of a stream, with their numbers and a bound on their length.

use std::io::{self, BufRead};

/// The lines of a stream.
#[derive(Debug)]
pub(crate) struct Lines<R> {
    reader: R,
    number: u64,
    length_max: usize,
}

/// The end of a read line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// The buffer holds the whole line.
    Whole,
    /// The line is longer than the bound; the buffer holds its start.
    Cut,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R, length_max: usize) -> Self {
        Self { reader, number: 0, length_max }
    }

    /// The number of the line that was read last, counted from 1.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Reads the next line into `line`, with its line feed if it has one. Returns `None` at the end of the stream.
    ///
    /// # Errors
    /// If the stream cannot be read.
    pub(crate) fn read(&mut self, line: &mut Vec<u8>) -> io::Result<Option<Ended>> {
        line.clear();
        let mut ended = Ended::Whole;
        let mut any = false;
        loop {
            let bytes = match self.reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if bytes.is_empty() {
                break;
            }
            any = true;
            let feed = memchr::memchr(b'\n', bytes);
            let used = feed.map_or(bytes.len(), |at| at + 1);
            let room = self.length_max.saturating_sub(line.len());
            if used > room {
                ended = Ended::Cut;
            }
            line.extend(bytes.iter().take(used.min(room)));
            self.reader.consume(used);
            if feed.is_some() {
                break;
            }
        }
        self.number += u64::from(any);
        Ok(any.then_some(ended))
    }
}

/// The line without the characters that end it.
pub(crate) fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_numbered_and_long_ones_cut() {
        let mut lines = Lines::new(&b"ab\r\n\nabcdefgh\nz"[..], 5);
        let mut line = Vec::new();
        let mut seen = Vec::new();
        while let Some(ended) = lines.read(&mut line).unwrap() {
            seen.push((lines.number(), String::from_utf8(trimmed(&line).to_vec()).unwrap(), ended));
        }
        let expected = [
            (1, "ab", Ended::Whole),
            (2, "", Ended::Whole),
            (3, "abcde", Ended::Cut),
            (4, "z", Ended::Whole),
        ];
        assert_eq!(seen, expected.map(|(number, text, ended)| (number, text.to_owned(), ended)));
    }
}
