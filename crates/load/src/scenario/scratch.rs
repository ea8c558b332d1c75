//! Memory that judgements reuse.

use std::rc::Rc;

use compact_str::CompactString;
use httperf_plan::scenario::Value;

use super::json::{Path, Span};
use super::markup::XPath;
use super::pattern::Pattern;
use super::text::{Filling, Text};
use super::value::Mismatch;

/// The maximum number of filled-in patterns, and of filled-in paths, that are kept compiled.
const COMPILED_MAX: usize = 64;

/// The size above which the memory of a replaced value is freed: most values are far smaller.
const TEXT_MAX: usize = 256;

/// Memory that judgements reuse.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) spans: Vec<Option<Span>>,
    pub(super) patterns: Compiled<Pattern>,
    pub(super) paths: Compiled<Path>,
    pub(super) xpaths: Compiled<XPath>,
    buffer: Vec<u8>,
    /// The memory of a value that another has replaced: captures that are too long to be kept in place use it in turn.
    pub(super) text: CompactString,
}

/// The compiled forms of filled-in texts. Most visits fill in the same few.
#[derive(Debug)]
pub(super) struct Compiled<T> {
    known: Vec<(String, Option<Rc<T>>)>,
}

impl Scratch {
    /// Keeps the memory of a value that was replaced.
    pub(super) fn keep(&mut self, replaced: Option<Value>) {
        if let Some(Value::Text(text)) = replaced
            && text.is_heap_allocated()
            && text.capacity() <= TEXT_MAX
        {
            self.text = text;
        }
    }

    /// Fills in a text and hands it out.
    pub(super) fn fill<T>(
        &mut self,
        text: &Text<'_>,
        filling: &mut Filling<'_>,
        then: impl FnOnce(&str, &mut Self) -> T,
    ) -> Result<T, Mismatch> {
        if let Some(literal) = text.as_literal_text() {
            return Ok(then(literal, self));
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let is_filled = text.write(filling, &mut buffer);
        let filled = is_filled.ok().and_then(|()| std::str::from_utf8(&buffer).ok());
        let result = filled.map(|filled| then(filled, self)).ok_or(Mismatch);
        self.buffer = buffer;
        result
    }
}

impl<T> Default for Compiled<T> {
    fn default() -> Self {
        Self { known: Vec::new() }
    }
}

impl<T> Compiled<T> {
    /// Returns what the text compiles to, from memory if possible; fails if it is malformed.
    pub(super) fn compile(
        &mut self,
        text: &str,
        new: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Rc<T>, Mismatch> {
        if let Some((_, compiled)) = self.known.iter().find(|(known, _)| known == text) {
            return compiled.clone().ok_or(Mismatch);
        }
        if self.known.len() == COMPILED_MAX {
            self.known.clear();
        }
        let compiled = new(text).ok().map(Rc::new);
        self.known.push((text.to_owned(), compiled.clone()));
        compiled.ok_or(Mismatch)
    }
}
