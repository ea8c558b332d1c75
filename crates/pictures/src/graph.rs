//! Graphs as markup for pages.
//!
//! A graph is as wide as its column, whatever the window: positions are percentages, and lines are in a
//! coordinate system that the browser stretches, with strokes of constant width. Colours are custom properties
//! of the page's style, so that the same markup serves light and dark. Without script a graph is complete; with
//! its values, the page's script reads off points and zooms.

use std::fmt::Write;

use serde::Serialize;

use super::axis::{Axis, Orientation, Quantity, Scale, Tick};
use super::draw::escaped;
use super::figure::{Blocks, Dash, Line, Panel, Shape};
use super::text::{self, LABEL_SIZE};
use super::theme::Ink;

/// Size of the coordinate system of lines.
const WIDTH: f64 = 10_000.0;
const HEIGHT: f64 = 2_000.0;

/// Height of a graph in pixels, as in `style.css`.
const PIXELS_HIGH: f64 = 260.0;

/// Sets of ticks by name, with the width in pixels for which each is chosen. The style sheet shows one of them.
const TICKS: [(&str, f64); 3] = [("wide", 880.0), ("medium", 440.0), ("narrow", 240.0)];

/// Maximum number of rows of names of periods.
const NAME_ROWS: usize = 3;

/// Height of such a row in pixels.
const NAME_ROW: u32 = 16;

/// Shapes of marks, to which graphs refer.
pub const MARKS: &str = concat!(
    "<symbol id=\"mark-disc\" overflow=\"visible\"><circle r=\"3.2\"/></symbol>",
    "<symbol id=\"mark-square\" overflow=\"visible\"><path d=\"M-2.9-2.9h5.8v5.8h-5.8z\"/></symbol>",
    "<symbol id=\"mark-triangle\" overflow=\"visible\"><path d=\"M0-4L3.7 2.9h-7.4z\"/></symbol>",
    "<symbol id=\"mark-arrow\" overflow=\"visible\"><path d=\"M0-11L4.5-4.5H1.2V3h-2.4V-4.5h-3.3z\"/></symbol>",
    "<symbol id=\"mark-diamond\" overflow=\"visible\"><path d=\"M0-4.2L4.2 0 0 4.2-4.2 0z\"/></symbol>",
);

/// A graph of a page. Its serialized form is that of its values, for the script.
#[derive(Clone, Debug, Serialize)]
pub struct Graph {
    /// SVG, safe to embed in a page.
    #[serde(skip)]
    pub svg: String,
    /// Pixels left of the plot, for the labels of its axis.
    #[serde(skip)]
    pub left: u32,
    /// Pixels above the plot, for the names of periods.
    #[serde(skip)]
    pub top: u32,
    /// Title of the x axis.
    #[serde(skip)]
    pub x_title: String,
    /// Title of the y axis.
    #[serde(skip)]
    pub y_title: String,
    /// Entries of the legend.
    #[serde(skip)]
    pub legend: Vec<Entry>,
    /// Meanings of the colours behind the lines.
    #[serde(skip)]
    pub key: Vec<Entry>,
    #[serde(flatten)]
    values: Values,
}

/// An entry of the legend. Its place in the legend is the number of its series.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name of the series.
    pub name: String,
    /// Sample of the line, as SVG.
    pub sample: String,
}

/// Values of a graph.
#[derive(Clone, Debug, Serialize)]
struct Values {
    scale: Scale,
    quantity: Quantity,
    /// Ends of the x axis: values, or their logarithms on a logarithmic scale.
    from: f64,
    to: f64,
    /// Positions on the x axis with their names; lines refer to them.
    places: Vec<Places>,
    lines: Vec<Readings>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Places {
    x: Vec<i32>,
    names: Vec<String>,
}

/// Points of a line as printed; `None` in gaps.
#[derive(Clone, Debug, Serialize)]
struct Readings {
    series: usize,
    /// Index of the positions.
    places: usize,
    y: Vec<Option<i32>>,
    texts: Vec<Option<String>>,
}

impl Graph {
    /// Renders one graph; `about` describes it for people who cannot see it.
    pub(super) fn of(x: &Axis, panel: &Panel, blocks: &Blocks, about: &str) -> Self {
        let (from, to) = x.ends();
        let mut graph = Self {
            svg: format!("<svg class=\"frame\" role=\"img\" aria-label=\"{}\">\n", quoted(about)),
            left: 0,
            top: 0,
            x_title: x.title.clone(),
            y_title: panel.y.title.clone(),
            legend: Vec::new(),
            key: Vec::new(),
            values: Values {
                scale: x.scale(),
                quantity: x.quantity(),
                from,
                to,
                places: Vec::new(),
                lines: Vec::new(),
            },
        };
        graph.shades(x, panel);
        graph.ticks(x, &panel.y);
        if let Some((place, _)) = &panel.mark {
            let (place, at) = (across(x, *place), percent(x.share(*place)));
            graph.push(&format!(
                "<line class=\"knee\" data-x=\"{place}\" x1=\"{at}\" x2=\"{at}\" y2=\"100%\"/>\n"
            ));
        }
        graph.push(&format!(
            "<svg class=\"lines\" width=\"100%\" height=\"100%\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\">\n"
        ));
        graph.blocks(x, &panel.y, blocks);
        graph.lines(x, panel);
        graph.beginnings(x, panel);
        graph.names(x, panel);
        graph.push("</svg>");
        graph
    }

    /// Names the positions of the first line, where the value in the middle says too little.
    pub(super) fn name_places(&mut self, names: Vec<String>) {
        if let Some(places) = self.values.places.first_mut() {
            places.names = names;
        }
    }

    fn push(&mut self, markup: &str) {
        self.svg.push_str(markup);
    }

    fn shades(&mut self, x: &Axis, panel: &Panel) {
        for shade in &panel.shades {
            let Some(ink) = shade.ink else { continue };
            let (from, to) = (x.share(shade.from), x.share(shade.to));
            let (first, last) = (across(x, shade.from), across(x, shade.to));
            self.push(&format!(
                "<rect data-from=\"{first}\" data-to=\"{last}\" x=\"{}\" width=\"{}\" height=\"100%\" fill=\"{}\"/>\n",
                percent(from),
                percent(to - from),
                color(ink),
            ));
        }
    }

    /// Marks the beginnings of periods that are not shaded.
    fn beginnings(&mut self, x: &Axis, panel: &Panel) {
        for period in panel.shades.iter().filter(|shade| shade.ink.is_none()) {
            let (place, at) = (across(x, period.from), percent(x.share(period.from)));
            self.push(&format!(
                "<line class=\"begin\" data-x=\"{place}\" x1=\"{at}\" x2=\"{at}\" y2=\"100%\"/>\n"
            ));
        }
    }

    fn ticks(&mut self, x: &Axis, y: &Axis) {
        let place = |axis: &Axis, tick: &Tick| {
            let (from, to) = axis.ends();
            (tick.place - from) / (to - from)
        };
        let marks = y.ticks(PIXELS_HIGH, Orientation::Upright);
        let label = marks.iter().map(|tick| text::width(&tick.label, LABEL_SIZE)).fold(0.0, f64::max);
        self.left = label.ceil() as u32 + 14;
        self.push("<g class=\"ticks y\">");
        for tick in &marks {
            let (at, label) = (percent(1.0 - place(y, tick)), escaped(&tick.label));
            self.push(&format!(
                "<line x2=\"100%\" y1=\"{at}\" y2=\"{at}\"/><text x=\"-8\" y=\"{at}\" dy=\".32em\">{label}</text>"
            ));
        }
        self.push("</g>\n");
        for (name, pixels) in TICKS {
            self.push(&format!("<g class=\"ticks x {name}\">"));
            for tick in x.ticks(pixels, Orientation::Level) {
                let (at, label) = (percent(place(x, &tick)), escaped(&tick.label));
                self.push(&format!(
                    "<line x1=\"{at}\" x2=\"{at}\" y2=\"100%\"/><text x=\"{at}\" y=\"100%\" dy=\"1.5em\">{label}</text>"
                ));
            }
            self.push("</g>\n");
        }
        self.push("<line class=\"base\" x2=\"100%\" y1=\"100%\" y2=\"100%\"/>\n");
    }

    /// Draws blocks as upright strokes, which take fewer digits than rectangles.
    fn blocks(&mut self, x: &Axis, y: &Axis, blocks: &Blocks) {
        for layer in &blocks.layers {
            let color = color(layer.ink);
            // Without a name, they are the first line's.
            let of_line = if layer.name.is_empty() { " data-series=\"0\"" } else { "" };
            let mut widths: Vec<(i32, String)> = Vec::new();
            for block in &layer.blocks {
                let (left, right) = (across(x, block.x.0), across(x, block.x.1));
                let (bottom, top) = (down(y, block.y.0), down(y, block.y.1));
                // Rounding makes some a little wider than others.
                let wide = widths.iter().position(|&(width, _)| (width - (right - left)).abs() <= 1);
                let index = wide.unwrap_or_else(|| {
                    widths.push((right - left, String::new()));
                    widths.len() - 1
                });
                write!(widths[index].1, "M{} {bottom}V{top}", i32::midpoint(left, right))
                    .expect("writing to memory does not fail");
            }
            for (width, path) in widths {
                self.push(&format!(
                    "<path class=\"block\"{of_line} stroke=\"{color}\" stroke-width=\"{width}\" d=\"{path}\"/>\n"
                ));
            }
            if !layer.name.is_empty() {
                let sample = format!(
                    "<svg class=\"sample\" width=\"14\" height=\"12\" aria-hidden=\"true\"><rect width=\"14\" height=\"12\" fill=\"{color}\"/></svg>"
                );
                self.key.push(Entry { name: layer.name.clone(), sample });
            }
        }
    }

    fn lines(&mut self, x: &Axis, panel: &Panel) {
        let mut marks = String::new();
        // A line without a name belongs to the one before.
        let mut name = None;
        for line in &panel.lines {
            if !line.name.is_empty() {
                name = Some(&line.name);
            }
            if line.is_empty() {
                continue;
            }
            if let Some(name) = name.take() {
                self.legend.push(Entry { name: name.clone(), sample: sample(line) });
            }
            let series = self.legend.len().saturating_sub(1);
            let group = format!("<g data-series=\"{series}\" {}>", look(line));
            self.push(&group);
            for (at, least, greatest) in
                line.whiskers.iter().filter(|(x, a, b)| [x, a, b].iter().all(|value| value.is_finite()))
            {
                let (at, least, greatest) =
                    (across(x, *at), down(&panel.y, *least), down(&panel.y, *greatest));
                self.push(&format!("<path class=\"whisker\" d=\"M{at} {least}V{greatest}\"/>"));
            }
            let mut marked = String::new();
            let mut path = String::new();
            for piece in line.pieces() {
                let points: Vec<(i32, i32)> =
                    piece.iter().map(|&(at, value)| (across(x, at), down(&panel.y, value))).collect();
                path.push_str(&path_of(&points));
                for (at, value) in line.marked(&piece) {
                    let (left, top) = (percent(x.share(at)), percent(1.0 - panel.y.share(value)));
                    let place = across(x, at);
                    let shape = if line.arrows.contains(&at) { "mark-arrow" } else { shape(line.mark.shape) };
                    write!(marked, "<use href=\"#{shape}\" data-x=\"{place}\" x=\"{left}\" y=\"{top}\"/>")
                        .expect("writing to memory does not fail");
                }
            }
            if line.dash != Dash::None {
                self.push(&format!("<path d=\"{path}\"/>"));
            }
            self.push("</g>\n");
            if !marked.is_empty() {
                marks.push_str(&format!("{group}{marked}</g>\n"));
            }
            self.read(series, x, &panel.y, line);
        }
        self.push("</svg>\n");
        self.push(&marks);
    }

    /// Adds the values of a line.
    fn read(&mut self, series: usize, x: &Axis, y: &Axis, line: &Line) {
        let points: Vec<(f64, Option<f64>)> =
            line.points.iter().filter(|(at, _)| at.is_finite()).copied().collect();
        let mut names: Vec<String> = points.iter().map(|&(at, _)| x.reading(at)).collect();
        if x.quantity() == Quantity::Percentile
            && let Some(last) = names.last_mut()
        {
            // A percentile curve ends at the last sample.
            *last = "max".to_owned();
        }
        let places = Places { x: points.iter().map(|&(at, _)| across(x, at)).collect(), names };
        let index = self.values.places.iter().position(|known| *known == places).unwrap_or_else(|| {
            self.values.places.push(places);
            self.values.places.len() - 1
        });
        let value = |&(_, value): &(f64, Option<f64>)| value.filter(|value| value.is_finite());
        self.values.lines.push(Readings {
            series,
            places: index,
            y: points.iter().map(|point| value(point).map(|value| down(y, value))).collect(),
            texts: points.iter().map(|point| Some(reading(line, y, point.0, value(point)?))).collect(),
        });
    }

    /// Names periods and the marked position above the plot, in rows where they would overlap.
    fn names(&mut self, x: &Axis, panel: &Panel) {
        let (_, narrowest) = TICKS[TICKS.len() - 1];
        let mut rows: [Vec<(f64, f64)>; NAME_ROWS] = Default::default();
        let shades =
            panel.shades.iter().map(|shade| (shade.from, shade.to, &shade.name[..], shade.ink.is_none()));
        let mark = panel.mark.iter().map(|(place, name)| (*place, *place, name.as_str(), false));
        for (from, to, name, is_at_line) in shades.chain(mark) {
            let width = text::width(name, LABEL_SIZE) + 8.0;
            let is_at_end = match is_at_line {
                // The name belongs to the line, unless it does not fit there.
                true => x.share(from) * narrowest + width > narrowest,
                false => f64::midpoint(x.share(from), x.share(to)) > 0.5,
            };
            let left = if is_at_end { x.share(to) * narrowest - width } else { x.share(from) * narrowest };
            let is_free = |row: &Vec<(f64, f64)>| row.iter().all(|&(a, b)| b <= left || left + width <= a);
            let Some(row) = rows.iter().position(is_free) else { continue };
            rows[row].push((left, left + width));
            self.top = self.top.max(NAME_ROW * (row as u32 + 1));
            let above = NAME_ROW * row as u32 + 5;
            let (at, side, dx) = if is_at_end { (to, "end", -5) } else { (from, "start", 5) };
            self.push(&format!(
                "<text class=\"name {side}\" data-from=\"{}\" data-to=\"{}\" x=\"{}\" dx=\"{dx}\" y=\"-{above}\">{}</text>\n",
                across(x, from),
                across(x, to),
                percent(x.share(at)),
                escaped(name),
            ));
        }
    }
}

/// Prints a point of a line: its value, which may be a lower bound, with its range if it has one.
fn reading(line: &Line, y: &Axis, at: f64, value: f64) -> String {
    let sign = if line.arrows.contains(&at) { "> " } else { "" };
    let range = line.whiskers.iter().find(|&&(x, ..)| x == at);
    let range = range.map(|&(_, low, high)| format!(" ({} to {})", y.reading(low), y.reading(high)));
    format!("{sign}{}{}", y.reading(value), range.unwrap_or_default())
}

fn sample(line: &Line) -> String {
    let mut sample =
        format!("<svg class=\"sample\" width=\"30\" height=\"12\" aria-hidden=\"true\"><g {}>", look(line));
    if line.dash != Dash::None {
        sample.push_str("<path d=\"M0 6h30\"/>");
    }
    if line.dash == Dash::None || line.pieces().iter().any(|piece| !line.marked(piece).is_empty()) {
        write!(sample, "<use href=\"#{}\" x=\"15\" y=\"6\"/>", shape(line.mark.shape))
            .expect("writing to memory does not fail");
    }
    sample + "</g></svg>"
}

/// Attributes of a line: its colour, width and dashes.
fn look(line: &Line) -> String {
    let dash = match line.dash {
        Dash::Solid | Dash::None => "",
        Dash::Long => "long",
        Dash::Short => "short",
        Dash::Dotted => "dotted",
    };
    let hollow = if line.mark.is_hollow { " hollow" } else { "" };
    format!(
        "class=\"series {dash}{hollow}\" style=\"color:{}\" stroke-width=\"{}\"",
        color(line.ink),
        line.width
    )
}

fn color(ink: Ink) -> String {
    format!("var(--chart-{})", ink.name())
}

fn shape(shape: Shape) -> &'static str {
    match shape {
        Shape::Disc => "mark-disc",
        Shape::Square => "mark-square",
        Shape::Triangle => "mark-triangle",
        Shape::Diamond => "mark-diamond",
    }
}

/// Connects points in steps from each to the next, which takes fewer digits than positions.
fn path_of(points: &[(i32, i32)]) -> String {
    let mut path = String::new();
    let mut last = None;
    for &(x, y) in points {
        match last.replace((x, y)) {
            None => write!(path, "M{x} {y}l"),
            Some((last_x, last_y)) => {
                let (dx, dy) = (x - last_x, y - last_y);
                let gap = if path.ends_with('l') || dx < 0 { "" } else { " " };
                write!(path, "{gap}{dx}{}{dy}", if dy < 0 { "" } else { " " })
            }
        }
        .expect("writing to memory does not fail");
    }
    // A path of one point has no step.
    path.strip_suffix('l').unwrap_or(&path).to_owned()
}

/// Position of a value in the coordinate system of lines.
fn across(axis: &Axis, value: f64) -> i32 {
    (axis.share(value) * WIDTH).round() as i32
}

fn down(axis: &Axis, value: f64) -> i32 {
    ((1.0 - axis.share(value)) * HEIGHT).round() as i32
}

fn percent(share: f64) -> String {
    let percent = (share * 1e4).round() / 1e2;
    format!("{percent}%")
}

/// Escapes text for an attribute.
fn quoted(text: &str) -> String {
    escaped(text).replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_made_of_steps() {
        assert_eq!(path_of(&[(0, 2_000), (17, 1_990), (33, 1_995), (30, 1_995)]), "M0 2000l17-10 16 5-3 0");
        assert_eq!(path_of(&[(5, 6)]), "M5 6");
        assert_eq!(path_of(&[]), "");
    }
}
