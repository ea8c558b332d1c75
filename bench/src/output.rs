//! Output of a bench: blocks of text and tables, kept so that they can be saved.

use std::fmt;
use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context;
use chrono::Utc;

/// Everything printed so far.
#[derive(Debug, Default)]
pub(crate) struct Output(String);

impl Output {
    /// Prints a paragraph or a table.
    pub(crate) fn block(&mut self, text: &str) {
        println!("{text}");
        self.0.push_str(text);
        self.0.push('\n');
    }

    /// Saves it to a file named after the day, without overwriting another.
    pub(crate) fn save(&self) -> anyhow::Result<PathBuf> {
        let folder = results_folder();
        std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let day = Utc::now().date_naive();
        let path = std::iter::once(format!("{day}.txt"))
            .chain((2..).map(|nth| format!("{day}-{nth}.txt")))
            .map(|name| folder.join(name))
            .find(|path| !path.exists())
            .expect("the names do not run out");
        std::fs::write(&path, &self.0).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }
}

/// Folder of results: `bench/results`.
pub(crate) fn results_folder() -> PathBuf {
    // Set by `cargo run`; otherwise assume the root of the checkout.
    let home = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from("bench"), PathBuf::from);
    home.join("results")
}

/// A title, columns, and notes.
#[derive(Debug)]
pub(crate) struct Table {
    title: String,
    rows: Vec<Vec<String>>,
    notes: Vec<String>,
}

impl Table {
    pub(crate) fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        Table {
            title: title.into(),
            rows: vec![columns.iter().map(ToString::to_string).collect()],
            notes: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: Vec<String>) {
        assert_eq!(cells.len(), self.rows[0].len(), "a row has a cell for each column");
        self.rows.push(cells);
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

impl fmt::Display for Table {
    /// The first column is left-aligned, the others, numbers, right-aligned.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.title)?;
        let widths: Vec<usize> = (0..self.rows[0].len())
            .map(|column| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
            .collect();
        for (index, row) in self.rows.iter().enumerate() {
            let mut line = format!("{:<width$}", row[0], width = widths[0]);
            for (cell, &width) in row.iter().zip(&widths).skip(1) {
                line.push_str(&format!("  {cell:>width$}"));
            }
            writeln!(f, "{}", line.trim_end())?;
            if index == 0 {
                writeln!(f, "{}", "-".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1)))?;
            }
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }
}

/// Records a check as skipped: a line on standard output, and one in the file that `CHECKS_SKIPPED` names, which `make test`
/// counts.
pub(crate) fn skipped(what: &str) -> anyhow::Result<()> {
    println!("skipped: {what}");
    let Some(path) = std::env::var_os("CHECKS_SKIPPED") else { return Ok(()) };
    let file = std::fs::File::options().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| writeln!(file, "{what}"));
    written.with_context(|| format!("CHECKS_SKIPPED: cannot write {}", path.display()))
}

/// Reports progress on standard error, since measurements take a while.
pub(crate) fn progress(what: &str) {
    eprintln!("measuring: {what}");
}

/// Quantile: the smallest value with at least this share of all values at or below it.
pub(crate) fn quantile(sorted: &[f64], quantile: f64) -> f64 {
    assert!(!sorted.is_empty(), "a quantile needs at least one value");
    let rank = (quantile * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// Middle value, or mean of the two in the middle.
pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

/// Formats a number with commas between thousands.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new("Title", &["who", "count"]);
        table.row(vec!["a".into(), "1".into()]);
        table.row(vec!["longer".into(), "1,000".into()]);
        table.note("why");
        let expected = "Title\n\nwho     count\n-------------\na           1\nlonger  1,000\nnote: why\n";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn the_median_of_an_even_count_lies_between_the_middle_two() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn a_quantile_is_a_value_that_occurred() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(quantile(&values, 0.5), 50.0);
        assert_eq!(quantile(&values, 0.99), 99.0);
        assert_eq!(quantile(&values, 0.0), 1.0);
        assert_eq!(quantile(&[7.0], 0.99), 7.0);
    }

    #[test]
    fn thousands_are_grouped_from_the_right() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_000), "1,000");
        assert_eq!(thousands(1_234_567), "1,234,567");
    }
}
