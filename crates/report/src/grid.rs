//! Tables of text that fit a terminal: columns of figures, and a last one of words, which wraps.

use std::fmt::Write as _;

/// Space between columns.
const GAP: usize = 2;

/// Minimum width of the last column, for which other columns are left out. If that is not enough, its words stand below their
/// row, indented.
const WORDS_MIN: usize = 18;
const WORDS_INDENT: usize = 4;

/// A column of figures.
pub(crate) struct Column {
    title: String,
    unit: &'static str,
    width: usize,
    /// Above 0 if it makes way for the words: columns with a higher rank are left out first.
    rank: u8,
    /// Above 0 if it makes way for other figures, in the same order.
    spare: u8,
    is_text: bool,
}

impl Column {
    /// Column that is always shown, with cells of up to this width.
    pub(crate) fn new(title: impl Into<String>, unit: &'static str, width: usize) -> Self {
        let title = title.into();
        let width = width.max(length(&title)).max(length(unit));
        Self { title, unit, width, rank: 0, spare: 0, is_text: false }
    }

    /// Left out if there is no room: those with the highest rank first, and all of a rank together.
    pub(crate) fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// Left out if the figures alone do not fit, in the same order.
    pub(crate) fn spare(self, spare: u8) -> Self {
        Self { spare, ..self }
    }

    /// Aligned on the left.
    pub(crate) fn text(self) -> Self {
        Self { is_text: true, ..self }
    }
}

/// A table: its columns, and the title of the last one.
pub(crate) struct Grid {
    columns: Vec<Column>,
    /// True for each column that is shown.
    shown: Vec<bool>,
    words: &'static str,
    /// Columns of the terminal.
    room: Option<usize>,
}

impl Grid {
    /// Lays out a table for a terminal with this many columns; `None` for lines of any length.
    pub(crate) fn new(columns: Vec<Column>, words: &'static str, room: Option<usize>) -> Self {
        let shown = vec![true; columns.len()];
        let mut grid = Self { columns, shown, words, room };
        grid.leave_out(WORDS_MIN, |column| column.rank);
        grid.leave_out(0, |column| column.spare);
        grid
    }

    /// Leaves out columns by this order until so many characters fit behind the others.
    fn leave_out(&mut self, words: usize, order: fn(&Column) -> u8) {
        while self.room.is_some_and(|room| self.indent() + words > room + if words == 0 { GAP } else { 0 }) {
            let shown = self.columns.iter().zip(&self.shown).filter(|(_, shown)| **shown);
            let Some(highest) = shown.map(|(column, _)| order(column)).max().filter(|&highest| highest > 0)
            else {
                break;
            };
            let columns = self.columns.iter().zip(&mut self.shown);
            columns.filter(|(column, _)| order(column) == highest).for_each(|(_, shown)| *shown = false);
        }
    }

    /// Number of characters for words beside the figures; `None` if they stand below.
    fn room_beside(&self) -> Option<usize> {
        match self.room {
            Some(room) => Some(room.saturating_sub(self.indent())).filter(|&beside| beside >= WORDS_MIN),
            None => Some(usize::MAX),
        }
    }

    /// Lines with the titles and the units.
    pub(crate) fn head(&self) -> String {
        let titles: Vec<&str> = self.columns.iter().map(|column| &column.title[..]).collect();
        let mut out = self.row(&titles, if self.room_beside().is_some() { self.words } else { "" });
        if self.columns.iter().any(|column| !column.unit.is_empty()) {
            let units: Vec<&str> = self.columns.iter().map(|column| column.unit).collect();
            out += &self.row(&units, "");
        }
        out
    }

    /// One row, with a line end. A cell wider than its column moves the rest of its line.
    pub(crate) fn row(&self, cells: &[impl AsRef<str>], words: &str) -> String {
        let mut line = String::new();
        for ((column, cell), _) in
            self.columns.iter().zip(cells).zip(&self.shown).filter(|(_, shown)| **shown)
        {
            let (cell, width) = (cell.as_ref(), column.width);
            let gap = if line.is_empty() { 0 } else { GAP };
            match column.is_text {
                true => write!(line, "{:gap$}{cell:<width$}", ""),
                false => write!(line, "{:gap$}{cell:>width$}", ""),
            }
            .expect("a String takes everything");
        }
        let below = self.room.unwrap_or_default().saturating_sub(WORDS_INDENT);
        let (width, indent) = match self.room_beside() {
            Some(width) => (width, self.indent()),
            None => (below, WORDS_INDENT),
        };
        let mut out = line;
        for (index, words) in wrapped(words, width).iter().enumerate() {
            match index {
                0 if self.room_beside().is_some() => write!(out, "{:GAP$}{words}", ""),
                _ => write!(out, "\n{:indent$}{words}", ""),
            }
            .expect("a String takes everything");
        }
        let lines = out.lines().map(|line| format!("{}\n", line.trim_end()));
        lines.collect()
    }

    /// Column at which the words begin.
    fn indent(&self) -> usize {
        let shown = self.columns.iter().zip(&self.shown).filter(|(_, shown)| **shown);
        shown.map(|(column, _)| column.width + GAP).sum()
    }
}

/// Widths of columns with these rows of cells.
pub(crate) fn widths<const N: usize>(rows: &[[String; N]]) -> [usize; N] {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = length(cell).max(*width);
        }
    }
    widths
}

/// Breaks text into lines of at most `width` characters, between words.
pub(crate) fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if length(line) + 1 + length(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Breaks lines that are longer than `width`. What follows in a broken line begins where its last column does: behind the
/// last gap of several spaces in its first half.
pub(crate) fn fitted(text: &str, width: usize) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if length(line) <= width {
            out += line;
            out.push('\n');
            continue;
        }
        let half = line.char_indices().nth(width / 2).map_or(line.len(), |(end, _)| end);
        let indent = line[..half].rfind("  ").map_or(0, |gap| length(&line[..gap + 2]));
        let start: String = line.chars().take(indent).collect();
        let words: String = line.chars().skip(indent).collect();
        for (index, part) in wrapped(&words, width.saturating_sub(indent)).iter().enumerate() {
            match index {
                0 => out += &start,
                _ => write!(out, "{:indent$}", "").expect("a String takes everything"),
            }
            out += part;
            out.push('\n');
        }
    }
    out
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(room: Option<usize>) -> Grid {
        let columns = vec![
            Column::new("rate", "[/s]", 6),
            Column::new("stddev", "[/s]", 6).rank(2),
            Column::new("p99", "", 8).rank(1),
            Column::new("verdict", "", 7).text(),
        ];
        Grid::new(columns, "notes", room)
    }

    fn shown(room: Option<usize>) -> String {
        let grid = grid(room);
        grid.head() + &grid.row(&["100", "1.5", "20.3 ms", "VALID"], "saturated: 83 % answered; ports")
    }

    #[test]
    fn a_table_with_room_has_all_columns_and_long_lines() {
        insta::assert_snapshot!(shown(None), @r"
          rate  stddev       p99  verdict  notes
          [/s]    [/s]
           100     1.5   20.3 ms  VALID    saturated: 83 % answered; ports
        ");
    }

    #[test]
    fn columns_are_left_out_by_rank_and_words_wrap() {
        insta::assert_snapshot!(shown(Some(45)), @r"
          rate       p99  verdict  notes
          [/s]
           100   20.3 ms  VALID    saturated: 83 %
                                   answered; ports
        ");
        insta::assert_snapshot!(shown(Some(10)), @r"
        rate  verdict
        [/s]
         100  VALID
          saturated:
          83 %
          answered;
          ports
        ");
    }

    #[test]
    fn long_lines_go_on_below_their_last_column() {
        let text = "Verdict: SUSPECT\n  suspect  paused           something else had the processor for 12.3 ms of 10 s\n";
        insta::assert_snapshot!(fitted(text, 60), @r"
        Verdict: SUSPECT
          suspect  paused           something else had the processor
                                    for 12.3 ms of 10 s
        ");
        assert_eq!(fitted(text, 80), text);
        assert_eq!(fitted("one two three four\n", 9), "one two\nthree\nfour\n");
        assert_eq!(fitted("", 9), "");
    }

    #[test]
    fn a_wide_cell_moves_the_rest_of_its_line() {
        let grid = grid(Some(80));
        assert_eq!(
            grid.row(&["1", "2", "123,456,789.0 ms", "VALID"], ""),
            "     1       2  123,456,789.0 ms  VALID\n"
        );
    }
}
