//! Drawing of figures, with plotters.
//!
//! Plotters only knows integer pixels, so the drawing has ten of them for each of the picture, and the viewer
//! scales it down.

use std::ops::Range;

use plotters::chart::{ChartBuilder, ChartContext};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::element::{
    Circle, DashedPathElement, Drawable, PathElement, PointCollection, Polygon, Rectangle,
};
use plotters::prelude::{Cartesian2d, DrawingArea, DrawingBackend, IntoDrawingArea, SVGBackend};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, FontDesc, FontFamily, FontStyle, ShapeStyle, TextStyle};
use tiny_skia::Pixmap;

use super::axis::{Axis, Orientation, Tick};
use super::figure::{Dash, Figure, Line, Marked, Panel, Shape};
use super::legend::{Legend, ROW, SAMPLE};
use super::png::{Canvas, FINENESS, FONT_FACTOR};
use super::text::{self, LABEL_SIZE, NAME_SIZE, TITLE_SIZE, cleaned, fitted, lines};
use super::theme::{Ink, Theme};
use super::{SIZES, Style};

/// Margin around the picture, in pixels.
const MARGIN: f64 = 14.0;

/// Line heights of the title and of the text below it.
const TITLE_LINE: f64 = 22.0;
const FACT_LINE: f64 = 17.0;

/// Space between the header and the first graph, and between graphs.
const GAP: f64 = 6.0;
const PANEL_GAP: f64 = 12.0;

/// Space between a legend and its graph.
const LEGEND_GAP: f64 = 4.0;

/// Space for the names of periods.
const SHADE_NAMES: f64 = 17.0;

/// Space below the last graph: ticks, labels and the title of the axis.
const X_LABELS: f64 = 42.0;

/// Space left of a graph in addition to the labels: the title of the axis and ticks.
const Y_TITLE: f64 = 30.0;

const TICK: f64 = 4.0;

/// Minimum height of a graph.
const PANEL_MIN: f64 = 24.0;

const TO_MEMORY: &str = "drawing to memory does not fail";

type Chart<'a, B> = ChartContext<'a, B, Cartesian2d<MarkedAxis, MarkedAxis>>;

/// Draws a figure as SVG.
pub(super) fn svg(figure: &Figure, style: &Style) -> String {
    let (width, height) = size_of(figure, style);
    let on_sheet = |size: u32| size * FINENESS as u32;
    let mut svg = String::new();
    draw(figure, style, SVGBackend::with_string(&mut svg, (on_sheet(width), on_sheet(height))));
    let (_, content) = svg.split_once('\n').expect("the first line is the element of plotters");
    let head = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {} {}\" role=\"img\">\n\
         <title>{}</title>\n<desc>{}</desc>\n",
        on_sheet(width),
        on_sheet(height),
        escaped(&figure.title),
        escaped(&figure.about),
    );
    head + content
}

/// Draws a figure as PNG, with this many pixels for each of the picture.
pub(super) fn png(figure: &Figure, style: &Style, scale: u32) -> Vec<u8> {
    let (width, height) = size_of(figure, style);
    let mut pixels = Pixmap::new(width * scale, height * scale).expect("the size is bounded");
    draw(figure, style, Canvas::new(&mut pixels, scale));
    pixels.encode_png().expect("writing to memory does not fail")
}

/// Width and height in pixels.
fn size_of(figure: &Figure, style: &Style) -> (u32, u32) {
    let size = |asked: u32| asked.clamp(*SIZES.start(), *SIZES.end());
    (size(style.width), size(style.height.unwrap_or(figure.usual_height)))
}

fn draw(figure: &Figure, style: &Style, backend: impl DrawingBackend) {
    let (width, height) = size_of(figure, style);
    let sheet = backend.into_drawing_area();
    Painter { sheet: &sheet, theme: style.theme }.figure(figure, f64::from(width), f64::from(height));
    sheet.present().expect(TO_MEMORY);
}

/// Escapes text for the content of an element.
pub(super) fn escaped(text: &str) -> String {
    cleaned(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Position of a graph in pixels.
struct Place {
    top: f64,
    height: f64,
    left: f64,
    right: f64,
}

/// Adapter of an axis for plotters.
struct MarkedAxis {
    ends: (f64, f64),
    marks: Vec<f64>,
}

impl MarkedAxis {
    fn new(axis: &Axis, marks: &[Tick]) -> Self {
        Self { ends: axis.ends(), marks: marks.iter().map(|tick| tick.place).collect() }
    }
}

impl Ranged for MarkedAxis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, place: &f64, (first, last): (i32, i32)) -> i32 {
        let (from, to) = self.ends;
        first + (f64::from(last - first) * (place - from) / (to - from)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.marks.clone() }
    }

    fn range(&self) -> Range<f64> {
        self.ends.0..self.ends.1
    }
}

struct Painter<'a, B: DrawingBackend> {
    sheet: &'a DrawingArea<B, Shift>,
    theme: Theme,
}

impl<B: DrawingBackend> Painter<'_, B> {
    fn figure(&self, figure: &Figure, width: f64, height: f64) {
        self.sheet.fill(&self.theme.color(Ink::Paper)).expect(TO_MEMORY);
        let room = width - 2.0 * MARGIN;
        let mut top = MARGIN;
        for line in lines(&cleaned(&figure.title), TITLE_SIZE, room, 2) {
            self.text(&line, (MARGIN, top), TITLE_SIZE, Ink::Text, (HPos::Left, VPos::Top));
            top += TITLE_LINE;
        }
        for line in figure.facts.iter().flat_map(|fact| lines(&cleaned(fact), LABEL_SIZE, room, 2)) {
            self.text(&line, (MARGIN, top), LABEL_SIZE, Ink::Soft, (HPos::Left, VPos::Top));
            top += FACT_LINE;
        }
        top += GAP;

        let legends: Vec<Legend<'_>> = figure.panels.iter().map(|panel| Legend::of(panel, room)).collect();
        let above = |panel: &Panel, legend: &Legend<'_>| {
            legend.rows as f64 * ROW + LEGEND_GAP + if panel.shades.is_empty() { 0.0 } else { SHADE_NAMES }
        };
        let gaps = PANEL_GAP * (figure.panels.len().saturating_sub(1)) as f64;
        let taken: f64 = figure.panels.iter().zip(&legends).map(|(panel, legend)| above(panel, legend)).sum();
        let left_over = height - top - taken - gaps - X_LABELS - MARGIN / 2.0;
        let panel_height = (left_over / figure.panels.len() as f64).max(PANEL_MIN);

        let of_panel = |panel: &Panel| match panel.is_empty() {
            true => Vec::new(),
            false => panel.y.ticks(panel_height, Orientation::Upright),
        };
        let marks: Vec<Vec<Tick>> = figure.panels.iter().map(of_panel).collect();
        let label =
            marks.iter().flatten().map(|tick| text::width(&tick.label, LABEL_SIZE)).fold(0.0, f64::max);
        let left = MARGIN + Y_TITLE + label.min(room / 3.0);
        let x_marks = figure.x.ticks(width - MARGIN - left, Orientation::Level);
        // The last label may extend beyond its tick.
        let beyond = x_marks.last().map_or(0.0, |last| text::width(&last.label, LABEL_SIZE) / 2.0);
        let right = width - MARGIN.max(beyond + 4.0);

        for (index, ((panel, legend), y_marks)) in figure.panels.iter().zip(&legends).zip(&marks).enumerate()
        {
            self.legend(legend, top);
            top += above(panel, legend);
            let place = Place { top, height: panel_height, left, right };
            let is_last = index + 1 == figure.panels.len();
            self.panel(figure, panel, &place, (&x_marks, y_marks), is_last);
            top += panel_height + PANEL_GAP;
        }
    }

    fn legend(&self, legend: &Legend<'_>, top: f64) {
        for entry in &legend.entries {
            let y = top + (entry.row as f64 + 0.5) * ROW - 2.0;
            let from = MARGIN + entry.x;
            let (size, ink) = match entry.line {
                None => (NAME_SIZE, Ink::Text),
                Some(line) => {
                    self.stroke(&[at(from, y), at(from + SAMPLE, y)], line);
                    if line.dash == Dash::None || line.mark.which != Marked::Lone {
                        self.mark(at(from + SAMPLE / 2.0, y), line);
                    }
                    (LABEL_SIZE, Ink::Soft)
                }
            };
            self.text(&entry.text, (MARGIN + entry.text_x(), y), size, ink, (HPos::Left, VPos::Center));
        }
    }

    fn panel(
        &self,
        figure: &Figure,
        panel: &Panel,
        place: &Place,
        (x_marks, y_marks): (&[Tick], &[Tick]),
        is_last: bool,
    ) {
        let Place { top, height, left, right } = *place;
        let below = if is_last { X_LABELS } else { 0.0 };
        let area = self.sheet.clone().shrink(at(MARGIN, top), size(right - MARGIN, height + below));
        let mut chart = ChartBuilder::on(&area)
            .x_label_area_size(tenths(below))
            .y_label_area_size(tenths(left - MARGIN))
            .build_cartesian_2d(MarkedAxis::new(&figure.x, x_marks), MarkedAxis::new(&panel.y, y_marks))
            .expect(TO_MEMORY);
        self.shades(figure, panel, &chart, place);
        let y_title = fitted(&panel.y.title, LABEL_SIZE, height + PANEL_GAP);
        self.mesh(&y_title, &mut chart, (x_marks, y_marks));
        if is_last {
            self.x_title(&figure.x.title, place);
        } else {
            let corners = [at(left, top + height), at(right, top + height)];
            self.draw(&PathElement::new(corners.to_vec(), self.pen(Ink::Soft, 1.0)));
        }

        let to_sheet =
            |x: f64, y: f64| chart.plotting_area().map_coordinate(&(figure.x.place(x), panel.y.place(y)));
        // Below the lines, with its name above them.
        let mark = panel.mark.as_ref().map(|(x, name)| (f64::from(to_sheet(*x, 0.0).0) / FINENESS, name));
        if let Some((x, _)) = mark {
            let line = vec![at(x, top), at(x, top + height)];
            self.draw(&PathElement::new(line, self.pen(Ink::Text, 1.2)));
        }
        for line in &panel.lines {
            for &(x, least, greatest) in
                line.whiskers.iter().filter(|(x, a, b)| [x, a, b].iter().all(|v| v.is_finite()))
            {
                self.whisker(to_sheet(x, least), to_sheet(x, greatest), line.ink);
            }
        }
        for line in &panel.lines {
            for piece in line.pieces() {
                let points: Vec<(i32, i32)> = piece.iter().map(|&(x, y)| to_sheet(x, y)).collect();
                self.stroke(&points, line);
                for (x, y) in line.marked(&piece) {
                    let place = to_sheet(x, y);
                    if line.arrows.contains(&x) { self.arrow(place, line) } else { self.mark(place, line) }
                }
            }
        }
        match mark {
            _ if panel.is_empty() => {
                let centre = (f64::midpoint(left, right), top + height / 2.0);
                self.text(panel.nothing, centre, LABEL_SIZE, Ink::Soft, (HPos::Center, VPos::Center));
            }
            Some((x, name)) => self.mark_name(x, name, place),
            None => {}
        }
    }

    fn mesh(&self, y_title: &str, chart: &mut Chart<'_, B>, (x_marks, y_marks): (&[Tick], &[Tick])) {
        let label = |marks: &[Tick], place: f64| {
            let mark = marks.iter().find(|tick| tick.place == place);
            mark.map_or_else(String::new, |tick| tick.label.clone())
        };
        let (x_label, y_label) = (|place: &f64| label(x_marks, *place), |place: &f64| label(y_marks, *place));
        let colors = [Ink::Soft, Ink::Text].map(|ink| self.theme.color(ink));
        let style = |color| text_style(LABEL_SIZE, color);
        let mut mesh = chart.configure_mesh();
        mesh.x_label_formatter(&x_label)
            .y_label_formatter(&y_label)
            .light_line_style(self.pen(Ink::Grid, 0.0))
            .max_light_lines(0)
            .bold_line_style(self.pen(Ink::Grid, 1.0))
            .axis_style(self.pen(Ink::Soft, 1.0))
            .label_style(style(&colors[0]))
            .axis_desc_style(style(&colors[1]))
            .set_all_tick_mark_size(tenths(TICK))
            .y_desc(y_title);
        mesh.draw().expect(TO_MEMORY);
    }

    /// Writes the title below a graph, centred if there is room.
    fn x_title(&self, title: &str, place: &Place) {
        let Place { top, height, left, right } = *place;
        let edge = self.sheet.dim_in_pixel().0 as f64 / FINENESS - MARGIN;
        let title = fitted(title, LABEL_SIZE, edge - MARGIN);
        let half = text::width(&title, LABEL_SIZE) / 2.0;
        let middle = f64::midpoint(left, right).min(edge - half).max(MARGIN + half);
        let y = top + height + X_LABELS - 2.0;
        self.text(&title, (middle, y), LABEL_SIZE, Ink::Text, (HPos::Center, VPos::Bottom));
    }

    /// Shades periods of the x axis, or marks their beginnings, and names them above the graph, as long as the names do not
    /// overlap.
    fn shades(&self, figure: &Figure, panel: &Panel, chart: &Chart<'_, B>, place: &Place) {
        let mut free_from = place.left;
        for shade in &panel.shades {
            let (from, to) = (figure.x.place(shade.from), figure.x.place(shade.to));
            let (y_from, y_to) = panel.y.ends();
            let corners =
                [(from, y_to), (to, y_from)].map(|corner| chart.plotting_area().map_coordinate(&corner));
            let needed = text::width(&shade.name, LABEL_SIZE);
            let wanted = match shade.ink {
                Some(ink) => {
                    self.draw(&Rectangle::new(corners, self.theme.color(ink).filled()));
                    f64::from(corners[0].0 + corners[1].0) / 2.0 / FINENESS - needed / 2.0
                }
                None => {
                    let (x, pen) = (corners[0].0, self.pen(Ink::Soft, 1.0));
                    let line = vec![(x, corners[0].1), (x, corners[1].1)];
                    self.draw(&DashedPathElement::new(line, tenths(4.0), tenths(3.0), pen));
                    f64::from(x) / FINENESS + 3.0
                }
            };
            let x = wanted.min(place.right - needed).max(free_from);
            if x + needed <= place.right {
                self.text(
                    &shade.name,
                    (x, place.top - 4.0),
                    LABEL_SIZE,
                    Ink::Soft,
                    (HPos::Left, VPos::Bottom),
                );
                free_from = x + needed + 8.0;
            }
        }
    }

    /// Names a vertical line, on the side that has room; on the left if both have.
    fn mark_name(&self, x: f64, name: &str, place: &Place) {
        let Place { top, left, right, .. } = *place;
        let needed = text::width(name, LABEL_SIZE) + 6.0;
        let (anchor, text_x, from) = match () {
            () if x - needed >= left => (HPos::Right, x - 5.0, x - needed),
            () if x + needed <= right => (HPos::Left, x + 5.0, x + 2.0),
            () => return,
        };
        let back = [at(from, top + 2.0), at(from + needed - 2.0, top + 18.0)];
        self.draw(&Rectangle::new(back, self.theme.color(Ink::Paper).mix(0.8).filled()));
        self.text(name, (text_x, top + 4.0), LABEL_SIZE, Ink::Text, (anchor, VPos::Top));
    }

    fn stroke(&self, points: &[(i32, i32)], line: &Line) {
        let mut points = points.to_vec();
        points.dedup();
        if points.len() < 2 {
            return;
        }
        let pen = self.pen(line.ink, line.width);
        let (dash, gap) = match line.dash {
            Dash::None => return,
            Dash::Solid => return self.draw(&PathElement::new(points, pen)),
            Dash::Long => (11.0, 5.0),
            Dash::Short => (5.0, 4.0),
            Dash::Dotted => (2.0, 3.0),
        };
        self.draw(&DashedPathElement::new(points, tenths(dash), tenths(gap), pen));
    }

    fn mark(&self, (x, y): (i32, i32), line: &Line) {
        let by = |(dx, dy): (f64, f64)| (x + tenths(dx), y + tenths(dy));
        let corners: &[(f64, f64)] = match line.mark.shape {
            Shape::Disc => &[],
            Shape::Square => &[(-2.9, -2.9), (2.9, -2.9), (2.9, 2.9), (-2.9, 2.9)],
            Shape::Triangle => &[(0.0, -4.0), (3.7, 2.9), (-3.7, 2.9)],
            Shape::Diamond => &[(0.0, -4.2), (4.2, 0.0), (0.0, 4.2), (-4.2, 0.0)],
        };
        let mut outline: Vec<(i32, i32)> = corners.iter().copied().map(by).collect();
        let ink = if line.mark.is_hollow { Ink::Paper } else { line.ink };
        let (fill, pen) = (self.theme.color(ink).filled(), self.pen(line.ink, 1.5));
        if line.mark.shape == Shape::Disc {
            self.draw(&Circle::new((x, y), tenths(3.2), fill));
        } else {
            self.draw(&Polygon::new(outline.clone(), fill));
        }
        if line.mark.is_hollow && line.mark.shape == Shape::Disc {
            self.draw(&Circle::new((x, y), tenths(3.2), pen));
        } else if line.mark.is_hollow {
            // Once around and a bit further, so that the last corner is as sharp as the others.
            outline.extend_from_within(..2);
            self.draw(&PathElement::new(outline, pen));
        }
    }

    /// Marks a value that is longer than the point, by an arrow from it.
    fn arrow(&self, (x, y): (i32, i32), line: &Line) {
        let outline =
            [(0.0, -11.0), (4.5, -4.5), (1.2, -4.5), (1.2, 3.0), (-1.2, 3.0), (-1.2, -4.5), (-4.5, -4.5)];
        let outline: Vec<(i32, i32)> = outline.map(|(dx, dy)| (x + tenths(dx), y + tenths(dy))).into();
        self.draw(&Polygon::new(outline, self.theme.color(line.ink).filled()));
    }

    fn whisker(&self, (x, from): (i32, i32), (_, to): (i32, i32), ink: Ink) {
        let cap = tenths(3.5);
        for path in [[(x, from), (x, to)], [(x - cap, from), (x + cap, from)], [(x - cap, to), (x + cap, to)]]
        {
            self.draw(&PathElement::new(path.to_vec(), self.pen(ink, 1.2)));
        }
    }

    fn text(&self, text: &str, (x, y): (f64, f64), size: f64, ink: Ink, (level, upright): (HPos, VPos)) {
        let color = self.theme.color(ink);
        let style = text_style(size, &color).pos(Pos::new(level, upright));
        self.sheet.draw_text(text, &style, at(x, y)).expect(TO_MEMORY);
    }

    fn pen(&self, ink: Ink, width: f64) -> ShapeStyle {
        self.theme.color(ink).stroke_width(tenths(width) as u32)
    }

    fn draw<E>(&self, element: &E)
    where
        E: Drawable<B>,
        for<'e> &'e E: PointCollection<'e, (i32, i32)>,
    {
        self.sheet.draw(element).expect(TO_MEMORY);
    }
}

fn text_style(size: f64, color: &impl Color) -> TextStyle<'static> {
    FontDesc::new(FontFamily::SansSerif, size * FONT_FACTOR * FINENESS, FontStyle::Normal).color(color)
}

/// Converts a position in the picture to the drawing.
fn at(x: f64, y: f64) -> (i32, i32) {
    (tenths(x), tenths(y))
}

fn size(width: f64, height: f64) -> (i32, i32) {
    at(width, height)
}

fn tenths(pixels: f64) -> i32 {
    (pixels * FINENESS).round() as i32
}
