//! Legend of a graph, placed above it so that it covers nothing.

use super::figure::{Line, Panel};
use super::text::{LABEL_SIZE, NAME_SIZE, fitted, width};

/// Height of a row in pixels.
pub(super) const ROW: f64 = 19.0;

/// Width of a line's sample, and space between it and its name.
pub(super) const SAMPLE: f64 = 30.0;
const SAMPLE_GAP: f64 = 6.0;

/// Space between entries.
const GAP: f64 = 18.0;

/// Names of a graph and of its lines, in rows.
pub(super) struct Legend<'a> {
    pub(super) entries: Vec<Entry<'a>>,
    pub(super) rows: usize,
}

/// An entry with its position, in pixels from the upper left corner.
pub(super) struct Entry<'a> {
    /// Line of the entry; `None` for the name of the graph.
    pub(super) line: Option<&'a Line>,
    pub(super) text: String,
    pub(super) x: f64,
    pub(super) row: usize,
}

impl<'a> Legend<'a> {
    /// Lays out the legend of a graph within this many pixels.
    pub(super) fn of(panel: &'a Panel, room: f64) -> Self {
        let name = fitted(panel.name, NAME_SIZE, room);
        let mut legend = Self { entries: Vec::new(), rows: 1 };
        let mut x = width(&name, NAME_SIZE) + GAP;
        legend.entries.push(Entry { line: None, text: name, x: 0.0, row: 0 });
        for line in panel.lines.iter().filter(|line| !line.name.is_empty() && !line.is_empty()) {
            let text = fitted(&line.name, LABEL_SIZE, room - SAMPLE - SAMPLE_GAP);
            let needed = SAMPLE + SAMPLE_GAP + width(&text, LABEL_SIZE);
            if x + needed > room && x > 0.0 {
                x = 0.0;
                legend.rows += 1;
            }
            legend.entries.push(Entry { line: Some(line), text, x, row: legend.rows - 1 });
            x += needed + GAP;
        }
        legend
    }
}

impl Entry<'_> {
    /// Beginning of its text.
    pub(super) fn text_x(&self) -> f64 {
        if self.line.is_some() { self.x + SAMPLE + SAMPLE_GAP } else { self.x }
    }
}
