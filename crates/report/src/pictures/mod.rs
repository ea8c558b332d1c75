//! Pictures of results: SVG for documents and pages, PNG for everything else, from the same drawing.
//!
//! Each kind of picture is a function from what was measured to a `Figure`: graphs one above the other, with their
//! axes, lines and legends as values. `draw` draws any figure with [plotters](https://docs.rs/plotters) as SVG; a PNG
//! is that SVG, rasterised by [resvg](https://docs.rs/resvg) with the one font that the program carries (Noto Sans). So
//! nothing depends on what fonts a machine has, and the same input gives the same bytes.
//!
//! Text comes in part from outside (names of files and servers): it is cut to what there is room for, control
//! characters are replaced, and it is escaped where it becomes markup.

mod axis;
mod draw;
mod figure;
mod legend;
mod percentiles;
mod png;
mod sweep;
pub(crate) mod sweep_curve;
mod text;
mod theme;
mod timeline;

use std::ops::RangeInclusive;

pub use self::percentiles::{compare, percentiles};
pub use self::sweep::sweep;
pub use self::sweep_curve::{Point, Spread, SweepCurve};
pub use self::theme::Theme;
pub use self::timeline::timeline;

/// Widths and heights of pictures, in pixels: less cannot be read, and more is no picture.
pub const SIZES: RangeInclusive<u32> = 300..=4_000;

/// How many results can be told apart in one picture.
pub const COMPARED_MAX: usize = 16;

/// How a picture looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Its colours.
    pub theme: Theme,
    /// In pixels. What is not in [`SIZES`] becomes the nearest that is.
    pub width: u32,
    /// In pixels; `None` for what suits the kind of picture.
    pub height: Option<u32>,
}

impl Default for Style {
    /// Light, and as wide as a column of text.
    fn default() -> Self {
        Self { theme: Theme::Light, width: 800, height: None }
    }
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    svg: String,
}

impl Picture {
    /// It as SVG, with a line end.
    #[must_use]
    pub fn svg(&self) -> &str {
        &self.svg
    }

    /// It as PNG.
    #[must_use]
    pub fn png(&self) -> Vec<u8> {
        png::rasterised(&self.svg)
    }
}
