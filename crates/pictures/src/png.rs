//! PNG: the same drawing in pixels, by tiny-skia, with the letters of the one font that the program contains.

use std::convert::Infallible;

use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontTransform,
};
use tiny_skia::{FillRule, Paint, Path, PathBuilder, Pixmap, Rect, Stroke, Transform};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

const OUR_OWN: &str = "the font can be read";

/// Pixels of the drawing for each pixel of the picture.
pub(super) const FINENESS: f64 = 10.0;

/// Factor by which plotters reduces font sizes.
pub(super) const FONT_FACTOR: f64 = 1.24;

/// Pixels as plotters draws on them, in the units of the drawing.
pub(super) struct Canvas<'p> {
    pixels: &'p mut Pixmap,
    /// Pixels for each of the picture, in either direction.
    scale: u32,
    font: Face<'static>,
}

type Drawn = Result<(), DrawingErrorKind<Infallible>>;

impl<'p> Canvas<'p> {
    pub(super) fn new(pixels: &'p mut Pixmap, scale: u32) -> Self {
        Self { pixels, scale, font: Face::parse(ttf_noto_sans::REGULAR, 0).expect(OUR_OWN) }
    }

    /// Draws a path, if it is one: lines without length are none.
    fn draw(&mut self, path: Option<Path>, style: &impl BackendStyle, is_filled: bool) -> Drawn {
        let Some(path) = path else { return Ok(()) };
        let paint = paint(style.color());
        let to_pixels = self.to_pixels();
        if is_filled {
            self.pixels.fill_path(&path, &paint, FillRule::Winding, to_pixels, None);
        } else {
            let stroke = Stroke { width: style.stroke_width() as f32, ..Stroke::default() };
            self.pixels.stroke_path(&path, &paint, &stroke, to_pixels, None);
        }
        Ok(())
    }

    /// From units of the drawing to pixels.
    fn to_pixels(&self) -> Transform {
        let factor = self.scale as f32 / FINENESS as f32;
        Transform::from_scale(factor, factor)
    }
}

impl DrawingBackend for Canvas<'_> {
    type ErrorType = Infallible;

    fn get_size(&self) -> (u32, u32) {
        let units = |pixels: u32| pixels / self.scale * FINENESS as u32;
        (units(self.pixels.width()), units(self.pixels.height()))
    }

    fn ensure_prepared(&mut self) -> Drawn {
        Ok(())
    }

    fn present(&mut self) -> Drawn {
        Ok(())
    }

    fn draw_pixel(&mut self, (x, y): BackendCoord, color: BackendColor) -> Drawn {
        self.draw_rect((x, y), (x + 1, y + 1), &color, true)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Drawn {
        self.draw_path([from, to], style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        (left, top): BackendCoord,
        (right, bottom): BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn {
        let rect = Rect::from_ltrb(left as f32, top as f32, right as f32, bottom as f32);
        self.draw(rect.map(PathBuilder::from_rect), style, fill)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn {
        self.draw(through(path).finish(), style, false)
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        (x, y): BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn {
        self.draw(PathBuilder::from_circle(x as f32, y as f32, radius as f32), style, fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        corners: I,
        style: &S,
    ) -> Drawn {
        let mut path = through(corners);
        path.close();
        self.draw(path.finish(), style, true)
    }

    /// Sets text where SVG has it, which shifts it by parts of the size of the font and of the height of an `x`.
    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, (x, y): BackendCoord) -> Drawn {
        let size = (style.size() / FONT_FACTOR) as f32;
        let scale = size / f32::from(self.font.units_per_em());
        let mut letters = Letters { path: PathBuilder::new(), scale, x: 0.0 };
        for letter in text.chars() {
            let glyph = self.font.glyph_index(letter).unwrap_or(GlyphId(0));
            self.font.outline_glyph(glyph, &mut letters);
            letters.x += f32::from(self.font.glyph_hor_advance(glyph).unwrap_or_default()) * scale;
        }
        let x_height = f32::from(self.font.x_height().unwrap_or_default()) * scale;
        let anchor = style.anchor();
        let right = match anchor.h_pos {
            HPos::Left => 0.0,
            HPos::Center => -letters.x / 2.0,
            HPos::Right => -letters.x,
        };
        let down = match anchor.v_pos {
            VPos::Top => 0.76 * size,
            VPos::Center => x_height / 2.0,
            VPos::Bottom => -x_height / 2.0,
        };
        let degrees = match style.transform() {
            FontTransform::Rotate90 => 90.0,
            FontTransform::Rotate180 => 180.0,
            FontTransform::Rotate270 => 270.0,
            FontTransform::None => 0.0,
        };
        let place =
            Transform::from_translate(right, down).post_rotate(degrees).post_translate(x as f32, y as f32);
        let path = letters.path.finish().and_then(|path| path.transform(place));
        self.draw(path, &style.color(), true)
    }
}

fn paint(color: BackendColor) -> Paint<'static> {
    let mut paint = Paint::default();
    let (red, green, blue) = color.rgb;
    paint.set_color_rgba8(red, green, blue, (color.alpha * 255.0).round() as u8);
    paint
}

fn through(points: impl IntoIterator<Item = BackendCoord>) -> PathBuilder {
    let mut path = PathBuilder::new();
    for (x, y) in points {
        let (x, y) = (x as f32, y as f32);
        if path.is_empty() { path.move_to(x, y) } else { path.line_to(x, y) }
    }
    path
}

/// The outlines of letters beside one another. Fonts count upwards, pictures downwards.
struct Letters {
    path: PathBuilder,
    scale: f32,
    /// Where the next letter begins.
    x: f32,
}

impl Letters {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, -y * self.scale)
    }
}

impl OutlineBuilder for Letters {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
