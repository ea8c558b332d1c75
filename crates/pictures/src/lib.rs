//! Pictures of results: SVG for documents and pages, PNG for everything else, from the same drawing.
//!
//! Each kind of picture is a function from measurements to a `Figure`: graphs above one another, with their
//! axes, lines and legends as values. `draw` draws any figure with [plotters](https://docs.rs/plotters), as SVG,
//! or as PNG with [tiny-skia](https://docs.rs/tiny-skia) and the one font that the program contains (Noto Sans). The output
//! therefore does not depend on installed fonts, and the same input gives the same bytes.
//!
//! Pages have charts of the same parts: `charts` computes them, and `graph` draws each as markup that adapts to
//! its column and to the page's colours.
//!
//! Some text comes from outside (names of files and servers): it is truncated to the available room, control
//! characters are replaced, and it is escaped where it becomes markup.

mod axis;
mod capacity;
mod charts;
mod draw;
mod figure;
mod graph;
mod legend;
mod over_time;
mod percentiles;
mod periods;
mod png;
mod sweep;
pub(crate) mod sweep_curve;
mod text;
mod theme;
mod timeline;

use std::ops::RangeInclusive;

use httperf_report::headings::Names;

pub use self::capacity::capacity;
pub use self::charts::{Chart, RunCharts, compared, of_capacity, of_sweep, of_tls_lab, role};
use self::figure::Figure;
pub use self::graph::MARKS;
pub use self::percentiles::{compare, comparison, percentiles};
pub use self::periods::has_load_phases;
pub use self::sweep::sweep;
pub use self::sweep_curve::{Point, Spread, SweepCurve, Waits};
pub use self::theme::Theme;
pub use self::timeline::timeline;

/// Allowed widths and heights of pictures, in pixels.
pub const SIZES: RangeInclusive<u32> = 300..=4_000;

/// Maximum number of pixels of a PNG for each of the picture, in either direction.
pub const SCALE_MAX: u32 = 4;

/// Maximum number of results in one picture that can be told apart.
pub const COMPARED_MAX: usize = 16;

/// Style of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Colours.
    pub theme: Theme,
    /// Width in pixels, clamped to [`SIZES`].
    pub width: u32,
    /// Height in pixels; `None` for the default of the kind of picture.
    pub height: Option<u32>,
}

impl Default for Style {
    /// Light, as wide as a column of text.
    fn default() -> Self {
        Self { theme: Theme::Light, width: 800, height: None }
    }
}

/// A picture.
#[derive(Clone, Debug)]
pub struct Picture {
    figure: Figure,
    style: Style,
}

impl Picture {
    /// The same picture with these names.
    #[must_use]
    pub fn named(mut self, names: &Names) -> Self {
        let facts = names.facts(&self.figure.title);
        if !facts.is_empty() {
            self.figure.facts.insert(0, facts.join(" · "));
        }
        self.figure.title = names.title(self.figure.title);
        self
    }

    /// SVG, with a line end.
    #[must_use]
    pub fn svg(&self) -> String {
        draw::svg(&self.figure, &self.style)
    }

    /// PNG, with this many pixels for each of the picture.
    #[must_use]
    pub fn png(&self, scale: u32) -> Vec<u8> {
        draw::png(&self.figure, &self.style, scale.clamp(1, SCALE_MAX))
    }
}
