//! Finds the values at several paths of names and indexes in one pass over a document's bytes.

use std::ops::Range;

use compact_str::CompactString;

use super::scan::Scanner;

/// A part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Name(CompactString),
    Index(usize),
}

/// The place of a value in a document.
pub(crate) type Span = Range<usize>;

/// Paths, joined where they begin alike.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    root: Node,
    count: usize,
}

#[derive(Debug, Default)]
struct Node {
    /// The paths that end here.
    ending: Vec<usize>,
    names: Vec<(CompactString, Node)>,
    indexes: Vec<(usize, Node)>,
}

impl Tree {
    /// Adds a path and returns its place.
    pub(crate) fn add(&mut self, steps: &[Step]) -> usize {
        let mut node = &mut self.root;
        for step in steps {
            node = match step {
                Step::Name(name) => child(&mut node.names, name),
                Step::Index(index) => child(&mut node.indexes, index),
            };
        }
        node.ending.push(self.count);
        self.count += 1;
        self.count - 1
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Finds the values at all paths. `None` if the document is malformed.
    ///
    /// Checked are the syntax of all objects and arrays on the way to a value; elsewhere, that strings end and that as
    /// many brackets close as open; that nothing follows the document. Of members with the same name the last one counts.
    /// The values found are not checked.
    pub(crate) fn find(&self, document: &[u8], spans: &mut Vec<Option<Span>>) -> Option<()> {
        spans.clear();
        spans.resize(self.count, None);
        let mut scanner = Scanner::new(document);
        self.root.walk(&mut scanner, spans)?;
        scanner.finish()
    }
}

/// Returns the child at this step, which is new if there was none.
fn child<'n, K: Clone + PartialEq>(children: &'n mut Vec<(K, Node)>, key: &K) -> &'n mut Node {
    let place = children.iter().position(|(other, _)| other == key).unwrap_or_else(|| {
        children.push((key.clone(), Node::default()));
        children.len() - 1
    });
    &mut children[place].1
}

impl Node {
    /// Passes over a value. The depth of the recursion is that of the tree.
    fn walk(&self, scanner: &mut Scanner<'_>, spans: &mut [Option<Span>]) -> Option<()> {
        let first = scanner.peek()?;
        let start = scanner.position();
        match first {
            b'{' if !self.names.is_empty() => self.walk_members(scanner, spans)?,
            b'[' if !self.indexes.is_empty() => self.walk_elements(scanner, spans)?,
            _ => scanner.skip_value()?,
        }
        for &path in &self.ending {
            spans[path] = Some(start..scanner.position());
        }
        Some(())
    }

    fn walk_members(&self, scanner: &mut Scanner<'_>, spans: &mut [Option<Span>]) -> Option<()> {
        let mut goes_on = scanner.open(b'}')?;
        while goes_on {
            let name = scanner.name()?;
            match self.names.iter().find(|(other, _)| name.is(other)) {
                Some((_, node)) => {
                    node.forget(spans);
                    node.walk(scanner, spans)?;
                }
                None if name.is_malformed() => return None,
                None => scanner.skip_value()?,
            }
            goes_on = scanner.goes_on(b'}')?;
        }
        Some(())
    }

    fn walk_elements(&self, scanner: &mut Scanner<'_>, spans: &mut [Option<Span>]) -> Option<()> {
        let mut goes_on = scanner.open(b']')?;
        let mut index = 0;
        while goes_on {
            match self.indexes.iter().find(|(other, _)| *other == index) {
                Some((_, node)) => node.walk(scanner, spans)?,
                None => scanner.skip_value()?,
            }
            index += 1;
            goes_on = scanner.goes_on(b']')?;
        }
        Some(())
    }

    /// Drops what an earlier member of the same name gave.
    fn forget(&self, spans: &mut [Option<Span>]) {
        for &path in &self.ending {
            spans[path] = None;
        }
        let children =
            self.names.iter().map(|(_, node)| node).chain(self.indexes.iter().map(|(_, node)| node));
        children.for_each(|node| node.forget(spans));
    }
}
