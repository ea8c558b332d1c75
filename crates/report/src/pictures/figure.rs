//! What a picture shows, before it is drawn.

use super::axis::Axis;
use super::theme::Ink;

/// Graphs one above the other, over the same axis.
#[derive(Clone, Debug)]
pub(super) struct Figure {
    pub(super) title: String,
    /// Lines below the title.
    pub(super) facts: Vec<String>,
    /// What the picture shows, for those who cannot see it.
    pub(super) about: String,
    pub(super) x: Axis,
    pub(super) panels: Vec<Panel>,
    /// In pixels, unless another is asked for.
    pub(super) usual_height: u32,
}

/// One of the graphs.
#[derive(Clone, Debug)]
pub(super) struct Panel {
    pub(super) name: &'static str,
    pub(super) y: Axis,
    /// Stretches of the x axis that are shaded.
    pub(super) shades: Vec<Shade>,
    pub(super) lines: Vec<Line>,
    /// A place of the x axis with what it is.
    pub(super) mark: Option<(f64, String)>,
    /// What is said instead if there is nothing to draw.
    pub(super) nothing: &'static str,
}

/// A stretch of the x axis that is shaded.
#[derive(Clone, Debug)]
pub(super) struct Shade {
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) name: &'static str,
    pub(super) ink: Ink,
}

/// A line, or points that are not joined.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) name: String,
    pub(super) ink: Ink,
    pub(super) dash: Dash,
    pub(super) width: f64,
    pub(super) mark: Mark,
    /// In the order in which they are joined. Where a value is missing, or is no number, there is a gap.
    pub(super) points: Vec<(f64, Option<f64>)>,
    /// How far values spread: x, the least, the greatest.
    pub(super) whiskers: Vec<(f64, f64, f64)>,
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

/// How points are marked.
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
    /// Those with no neighbour that they could be joined with.
    Lone,
    /// Those at these places of the x axis, so that lines that cross can be told apart.
    At(Vec<f64>),
}

pub(super) const SHAPES: [Shape; 4] = [Shape::Disc, Shape::Square, Shape::Triangle, Shape::Diamond];

pub(super) const DASHES: [Dash; 4] = [Dash::Solid, Dash::Long, Dash::Short, Dash::Dotted];

impl Panel {
    /// Whether there is nothing to draw.
    pub(super) fn is_empty(&self) -> bool {
        self.lines.iter().all(Line::is_empty)
    }
}

impl Line {
    /// The points as far as they are joined: without gaps, and none empty.
    pub(super) fn pieces(&self) -> Vec<Vec<(f64, f64)>> {
        let is_drawable = |&(x, y): &(f64, Option<f64>)| x.is_finite() && y.is_some_and(f64::is_finite);
        let pieces = self.points.split(|point| !is_drawable(point)).filter(|piece| !piece.is_empty());
        pieces.map(|piece| piece.iter().filter_map(|&(x, y)| Some((x, y?))).collect()).collect()
    }

    /// The points of a piece that are marked.
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
}
