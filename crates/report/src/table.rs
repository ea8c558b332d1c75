//! Lines with a name and a value, and tables of times: one row of percentiles per clock.

use std::fmt::{self, Display};

use httperf_stats::Tally;

use crate::figures::Times;
use crate::number::time;
use crate::visible::is_deceptive;

/// Width of the first column, here and in adjacent sections.
pub(crate) const NAME_WIDTH: usize = 15;

/// Writes `name` and `what` in two columns.
pub(crate) fn line(f: &mut fmt::Formatter<'_>, name: &str, what: impl Display) -> fmt::Result {
    writeln!(f, "{name:<NAME_WIDTH$} {what}")
}

/// Writes one line per reason, since reasons are long.
pub(crate) fn write_reasons(f: &mut fmt::Formatter<'_>, mut name: &str, reasons: &Tally) -> fmt::Result {
    for (reason, count) in reasons.by_frequency() {
        line(f, name, format_args!("{} {count}", escaped(reason)))?;
        name = "";
    }
    Ok(())
}

/// Writes all counts in one line, most frequent first.
pub(crate) fn write_tally(f: &mut fmt::Formatter<'_>, name: &str, tally: &Tally) -> fmt::Result {
    let counts: Vec<String> =
        tally.by_frequency().into_iter().map(|(name, count)| format!("{} {count}", escaped(name))).collect();
    if counts.is_empty() { Ok(()) } else { line(f, name, counts.join(", ")) }
}

/// Makes text from a peer safe for a terminal: escapes control characters.
pub(crate) fn escaped(text: &str) -> String {
    let mut shown = String::new();
    for letter in text.chars() {
        match is_deceptive(letter) {
            true => shown.extend(letter.escape_default()),
            false => shown.push(letter),
        }
    }
    shown
}

/// Percentiles shown, and the maximum.
const PERCENTILES: [&str; 6] = ["p50", "p90", "p95", "p99", "p99.9", "max"];

/// Width of a column of times, and of the number of samples.
const TIME_WIDTH: usize = 8;

/// Width of the names of times: with all columns, a line has 80 characters.
const TIME_NAME_WIDTH: usize = 16;

/// Writes the header.
pub(crate) fn write_times_head(f: &mut fmt::Formatter<'_>, title: &str) -> fmt::Result {
    write!(f, "{title:<TIME_NAME_WIDTH$}{:>TIME_WIDTH$}", "mean")?;
    for name in PERCENTILES {
        write!(f, "{name:>TIME_WIDTH$}")?;
    }
    writeln!(f, "{:>TIME_WIDTH$}", "samples")
}

/// Leaves out columns of the tables of times in a text until they fit this screen. Each goes on to an empty line.
pub(crate) fn narrowed(text: &str, columns: usize) -> String {
    let width = TIME_NAME_WIDTH + TIME_WIDTH * SPARE.len();
    let missing = width.saturating_sub(columns).div_ceil(TIME_WIDTH);
    let is_left_out = |place: usize| SPARE[place] > 0 && usize::from(SPARE[place]) <= missing;
    let head: String =
        ["mean"].iter().chain(&PERCENTILES).map(|name| format!("{name:>TIME_WIDTH$}")).collect();
    let mut is_table = false;
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        is_table = (is_table && !line.is_empty()) || line.contains(&head);
        let letters: Vec<char> = line.chars().collect();
        let is_row = is_table && missing > 0 && letters.len() == width;
        for (at, letter) in letters.iter().enumerate() {
            let place = at.checked_sub(TIME_NAME_WIDTH).map(|at| at / TIME_WIDTH);
            if !is_row || !place.is_some_and(is_left_out) {
                out.push(*letter);
            }
        }
        out.push('\n');
    }
    out
}

/// Order in which columns are left out where there is no room: mean, then p50 to max, then the number of samples. 0: never.
const SPARE: [u8; 8] = [2, 0, 4, 1, 0, 3, 0, 5];

/// Writes a row, to three significant digits in a unit that fits, but no finer than 1 µs.
///
/// A percentile without enough samples (p99.9 of fewer than 1000) shows as `n/a`.
pub(crate) fn write_times(f: &mut fmt::Formatter<'_>, name: &str, times: &Times) -> fmt::Result {
    let Times { samples, mean, p50, p90, p95, p99, p999, max, .. } = *times;
    write!(f, "{name:<TIME_NAME_WIDTH$}")?;
    for value in [mean, p50, p90, p95, p99, p999, max] {
        write!(f, "{:>TIME_WIDTH$}", value.map_or_else(|| "n/a".to_owned(), time))?;
    }
    writeln!(f, "{samples:>TIME_WIDTH$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Told(Tally);

    impl Display for Told {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write_tally(f, "counts", &self.0)?;
            write_reasons(f, "reasons", &self.0)
        }
    }

    #[test]
    fn what_a_peer_says_stays_in_its_line() {
        let mut tally = Tally::default();
        tally.add("no\n\u{1b}[2J");
        let expected = "counts          no\\n\\u{1b}[2J 1\nreasons         no\\n\\u{1b}[2J 1\n";
        assert_eq!(Told(tally).to_string(), expected);
    }
}
