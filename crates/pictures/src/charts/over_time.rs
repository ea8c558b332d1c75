//! Charts over the time of the run, from its series of intervals.

use httperf_report::number::count;
use httperf_stats::{Classes, Interval};

use crate::axis::Axis;
use crate::figure::{Block, Blocks, Layer, Panel};
use crate::over_time::OverTime;
use crate::theme::{HEAT, Ink};

use super::Chart;

/// Number of rows of the heat map.
const ROWS: usize = 32;

/// Least ratio of the ends of a row: latencies of an interval are recorded to two digits.
const ROW_RATIO: f64 = 1.03;

/// Least ratio of the ends of the heat map, so that small differences do not look large.
const HEAT_RATIO: f64 = 2.0;

/// Share of the time of the run by which a cell overlaps the next, so that no gap is seen between them.
const OVERLAP: f64 = 0.001;

pub(super) fn throughput(run: &OverTime) -> Option<Chart> {
    chart(
        run,
        "throughput",
        "Throughput",
        "Calls that were due, requests sent, replies that came, and calls that ended in an error.",
        &run.throughput(),
    )
}

/// Latencies as a heat map, with percentiles as lines.
pub(super) fn latency(run: &OverTime) -> Option<Chart> {
    let mut panel = run.latency();
    // Lines are on colours here, from which only text can be told.
    panel.lines.iter_mut().for_each(|line| line.ink = Ink::Text);
    let all = run.intervals.iter().flat_map(|interval| interval.latency.iter());
    panel.y = Axis::logarithmic_times("latency", all.map(|(us, _)| in_ms(us)), HEAT_RATIO);
    let heat = heat(run, &panel.y);
    let about = "The stronger the colour, the more calls answered in an interval took that long, from the instants at which they were \
                 due. A percentile has a gap where there were too few calls for it.";
    (!panel.is_empty())
        .then(|| Chart::with_blocks("latency", "Latency over time", about, &run.axis(), &panel, &heat))
}

pub(super) fn errors(run: &OverTime) -> Option<Chart> {
    chart(
        run,
        "errors",
        "Errors over time",
        "Failed connections by reason, replies with status 400 and above, and unexpected replies.",
        &run.errors(),
    )
}

pub(super) fn lag(run: &OverTime) -> Option<Chart> {
    chart(run, "lag", "Lag", "Largest lag of an arrival in each interval.", &run.lag())
}

pub(super) fn open(run: &OverTime) -> Option<Chart> {
    chart(run, "open", "Connections open", "At the end of each interval.", &run.open())
}

/// A chart over the time of the run; `None` if no line has a point.
fn chart(
    run: &OverTime,
    id: &'static str,
    title: &'static str,
    about: &'static str,
    panel: &Panel,
) -> Option<Chart> {
    (!panel.is_empty()).then(|| Chart::new(id, title, about, &run.axis(), panel))
}

/// Cells of the heat map. Each colour stands for a range of call counts.
fn heat(run: &OverTime, y: &Axis) -> Blocks {
    let rows = Rows::of(y);
    let columns: Vec<(&Interval, Vec<u64>)> =
        run.intervals.iter().map(|interval| (interval, rows.counts(&interval.latency))).collect();
    let most = columns.iter().flat_map(|(_, counts)| counts).copied().max().unwrap_or(0);
    if most == 0 {
        return Blocks::default();
    }
    let levels = levels(most);
    let level = |calls: u64| levels.iter().position(|&(_, to)| calls <= to).unwrap_or(levels.len() - 1);
    let mut layers: Vec<Layer> = levels
        .iter()
        .zip(inks(levels.len()))
        .map(|(&(from, to), ink)| {
            let name = if from == to { count(from) } else { format!("{} to {}", count(from), count(to)) };
            Layer { ink, name, blocks: Vec::new() }
        })
        .collect();
    let ends = run.intervals.first().zip(run.intervals.last());
    let length = ends.map_or(0.0, |(first, last)| (last.end() - first.from).as_secs_f64());
    for (interval, counts) in columns {
        let x = (interval.from.as_secs_f64(), interval.end().as_secs_f64() + OVERLAP * length);
        // Neighbours of one colour are one rectangle.
        let mut row = 0;
        for cells in counts.chunk_by(|&a, &b| (a > 0) == (b > 0) && level(a) == level(b)) {
            if cells[0] > 0 {
                let y = (rows.from(row), rows.from(row + cells.len()));
                layers[level(cells[0])].blocks.push(Block { x, y });
            }
            row += cells.len();
        }
    }
    if let Some(last) = layers.last_mut() {
        last.name.push_str(if most == 1 { " call" } else { " calls" });
    }
    layers.retain(|layer| !layer.blocks.is_empty());
    Blocks { layers }
}

/// Rows of a heat map, of equal ratio.
struct Rows {
    from_ms: f64,
    to_ms: f64,
    number: usize,
}

impl Rows {
    fn of(axis: &Axis) -> Self {
        let (from, to) = axis.ends();
        let (from_ms, to_ms) = (10_f64.powf(from), 10_f64.powf(to));
        let most = (to_ms / from_ms).ln() / ROW_RATIO.ln();
        Self { from_ms, to_ms, number: (most as usize).clamp(1, ROWS) }
    }

    /// Lower end of a row.
    fn from(&self, row: usize) -> f64 {
        self.from_ms * (self.to_ms / self.from_ms).powf(row as f64 / self.number as f64)
    }

    fn counts(&self, latency: &Classes) -> Vec<u64> {
        let mut counts = vec![0; self.number];
        let scale = self.number as f64 / (self.to_ms / self.from_ms).ln();
        for (us, calls) in latency.iter() {
            let row = ((in_ms(us) / self.from_ms).ln() * scale).max(0.0) as usize;
            counts[row.min(self.number - 1)] += u64::from(calls);
        }
        counts
    }
}

/// Ranges of numbers up to this one, whose logarithms are equally long; fewer than there are colours if there are few numbers.
fn levels(most: u64) -> Vec<(u64, u64)> {
    let mut levels: Vec<(u64, u64)> = Vec::new();
    for number in 1..=HEAT.len() {
        let share = number as f64 / HEAT.len() as f64;
        let to = ((most as f64 + 1.0).powf(share) - 1.0).round() as u64;
        let from = levels.last().map_or(1, |&(_, before)| before + 1);
        if to >= from {
            levels.push((from, to));
        }
    }
    levels
}

/// Colours for this many levels, the darkest last.
fn inks(levels: usize) -> impl Iterator<Item = Ink> {
    HEAT.into_iter().skip(HEAT.len() - levels)
}

fn in_ms(us: u32) -> f64 {
    f64::from(us) / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_a_heat_map_cover_all_numbers_once() {
        assert_eq!(levels(0), []);
        assert_eq!(levels(1), [(1, 1)]);
        assert_eq!(levels(4), [(1, 1), (2, 2), (3, 3), (4, 4)]);
        assert_eq!(levels(1_000), [(1, 3), (4, 15), (16, 62), (63, 250), (251, 1_000)]);
        for most in 1..500 {
            let levels = levels(most);
            assert!(levels.windows(2).all(|pair| pair[0].1 + 1 == pair[1].0), "{levels:?}");
            assert_eq!((levels[0].0, levels[levels.len() - 1].1), (1, most));
        }
    }

    #[test]
    fn every_call_is_in_a_row() {
        let latency = Classes::from_ascending([(1_000, 3), (1_010, 2), (50_000, 4), (1_000_000, 1)]);
        let y = Axis::logarithmic_times("latency", [1.0, 1_000.0], HEAT_RATIO);
        let rows = Rows::of(&y);
        assert_eq!(rows.number, ROWS);
        let counts = rows.counts(&latency);
        assert_eq!(counts.iter().sum::<u64>(), 10);
        let row = counts.iter().position(|&calls| calls == 4).expect("they are together");
        assert!(rows.from(row) < 50.0 && rows.from(row + 1) > 50.0);
    }
}
