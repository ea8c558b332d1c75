//! The elements of an array of JSON, one after the other: a file of conversations is large, and no more than one of them is
//! held as a tree.

use serde_json::{Deserializer, Map, Value};

use super::row::{malformed, shown};

/// The elements of an array, each with its line, from 1. What is no object ends them, as nobody can tell where the next
/// begins.
pub(super) fn objects(bytes: &[u8]) -> Objects<'_> {
    Objects { bytes, at: 0, line: 1, state: State::Start }
}

/// An element with its line, or a mistake.
type Element = (usize, Result<Map<String, Value>, String>);

#[derive(Debug)]
pub(super) struct Objects<'a> {
    bytes: &'a [u8],
    at: usize,
    line: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the bracket.
    Start,
    /// Behind an element.
    Behind,
    /// Behind the array, or a mistake.
    Over,
}

impl Objects<'_> {
    fn skip(&mut self, count: usize) {
        let end = (self.at + count).min(self.bytes.len());
        self.line += self.bytes[self.at..end].iter().filter(|&&byte| byte == b'\n').count();
        self.at = end;
    }

    /// The next byte that is no white space, which stays there.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.bytes[self.at..];
        self.skip(rest.len() - rest.trim_ascii_start().len());
        self.bytes.get(self.at).copied()
    }

    fn wrong(&mut self, expected: &str) -> Option<Element> {
        self.state = State::Over;
        let line = self.bytes[self.at..].split(|&byte| byte == b'\n').next().unwrap_or_default();
        let found = if line.is_empty() { "the end of the file".to_owned() } else { shown(line) };
        Some((self.line, Err(format!("expected {expected}, got {found}"))))
    }
}

impl Iterator for Objects<'_> {
    type Item = Element;

    fn next(&mut self) -> Option<Self::Item> {
        match (self.state, self.peek()) {
            (State::Over, _) => return None,
            (State::Start, _) => {
                self.skip(1);
                if self.peek() == Some(b']') {
                    self.state = State::Over;
                    return None;
                }
            }
            (State::Behind, Some(b']')) => {
                self.skip(1);
                return match self.peek() {
                    None => None,
                    Some(_) => self.wrong("nothing behind the array"),
                };
            }
            (State::Behind, Some(b',')) => self.skip(1),
            (State::Behind, _) => return self.wrong("a comma or the end of the array"),
        }
        if self.peek() != Some(b'{') {
            return self.wrong("an object of JSON");
        }
        let rest = &self.bytes[self.at..];
        let mut values = Deserializer::from_slice(rest).into_iter::<Map<String, Value>>();
        let value = values.next()?;
        let (line, size) = (self.line, values.byte_offset());
        match value {
            Ok(value) => {
                self.state = State::Behind;
                self.skip(size);
                Some((line, Ok(value)))
            }
            Err(error) => {
                self.state = State::Over;
                let reason = malformed(rest, &error);
                Some((line + error.line().saturating_sub(1), Err(reason)))
            }
        }
    }
}
