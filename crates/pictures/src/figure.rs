//! Content of a picture, before it is drawn.

use std::borrow::Cow;

use super::axis::Axis;
use super::theme::Ink;

/// Graphs above one another, with a common x axis.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) title: String,
    /// Lines of text below the title.
    pub(super) facts: Vec<String>,
    /// Description for people who cannot see the picture.
    pub(super) about: String,
    pub(super) x: Axis,
    pub(super) panels: Vec<Panel>,
    /// Height in pixels, unless another is requested.
    pub(super) usual_height: u32,
}

/// One graph.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub(super) name: &'static str,
    pub(super) y: Axis,
    /// Named periods of the x axis.
    pub(super) shades: Vec<Shade>,
    pub(super) lines: Vec<Line>,
    /// A marked position on the x axis, with its name.
    pub(super) mark: Option<(f64, String)>,
    /// Text shown instead if there is nothing to draw.
    pub(super) nothing: &'static str,
}

/// A named period of the x axis.
#[derive(Clone, Debug)]
pub(super) struct Shade {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) name: Cow<'static, str>,
    /// Colour behind it. Without one, a line marks its beginning.
    pub(super) ink: Option<Ink>,
}

/// A line, or unconnected points.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) ink: Ink,
    pub(super) dash: Dash,
    pub(super) width: f64,
    pub(super) mark: Mark,
    /// Points in the order in which they are connected. Missing or non-finite values leave a gap.
    pub(super) points: Vec<(f64, Option<f64>)>,
    /// Ranges of values: x, minimum, maximum.
    pub(super) whiskers: Vec<(f64, f64, f64)>,
    /// Positions on the x axis at which the value is at least that of the point, marked by an arrow.
    pub(super) arrows: Vec<f64>,
}

/// Rectangles behind the lines of a chart, by colour. They have no place in pictures.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    pub(super) layers: Vec<Layer>,
}

/// Rectangles of one colour, with an entry of the key.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) ink: Ink,
    /// Meaning of the colour; empty if the chart needs no key.
    pub(super) name: String,
    pub(super) blocks: Vec<Block>,
}

/// A rectangle: from and to on the x axis, from and to on the y axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Block {
    pub(super) x: (f64, f64),
    pub(super) y: (f64, f64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dash {
    Solid,
    Long,
    Short,
    Dotted,
    /// Points only.
    None,
}

/// Marking of points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) shape: Shape,
    pub(super) is_hollow: bool,
    pub(super) which: Marked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Disc,
    Square,
    Triangle,
    Diamond,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Marked {
    /// All points.
    All,
    /// Points without a neighbour to connect to.
    Lone,
    /// Points at these x positions, to tell crossing lines apart.
    At(Vec<f64>),
}

pub(super) const SHAPES: [Shape; 4] = [Shape::Disc, Shape::Square, Shape::Triangle, Shape::Diamond];

pub(super) const DASHES: [Dash; 4] = [Dash::Solid, Dash::Long, Dash::Short, Dash::Dotted];

/// Factor by which an axis extends beyond a point with an arrow.
const ARROW_ROOM: f64 = 1.2;

impl Panel {
    /// Returns true if there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(Line::is_empty)
    }
}

impl Line {
    /// The connected pieces: without gaps, and none empty.
    pub(super) fn pieces(&self) -> Vec<Vec<(f64, f64)>> {
        let is_drawable = |&(x, y): &(f64, Option<f64>)| x.is_finite() && y.is_some_and(f64::is_finite);
        let pieces = self.points.split(|point| !is_drawable(point)).filter(|piece| !piece.is_empty());
        pieces.map(|piece| piece.iter().filter_map(|&(x, y)| Some((x, y?))).collect()).collect()
    }

    /// The marked points of a piece.
    pub(super) fn marked(&self, piece: &[(f64, f64)]) -> Vec<(f64, f64)> {
        match &self.mark.which {
            Marked::All => piece.to_vec(),
            _ if piece.len() == 1 => piece.to_vec(),
            Marked::Lone => Vec::new(),
            Marked::At(places) => piece.iter().filter(|(x, _)| places.contains(x)).copied().collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces().is_empty()
    }

    /// All values shown, with the ends of ranges and room for arrows.
    pub(super) fn values(&self) -> impl Iterator<Item = f64> {
        let room = |at: f64| if self.arrows.contains(&at) { ARROW_ROOM } else { 1.0 };
        let points = self.points.iter().filter_map(move |&(at, value)| Some(value? * room(at)));
        points.chain(self.whiskers.iter().flat_map(|&(_, low, high)| [low, high]))
    }
}
