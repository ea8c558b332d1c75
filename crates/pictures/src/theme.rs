//! Colours: light and dark.
//!
//! Colours of lines are based on M. Okabe and K. Ito, "Color Universal Design" (2008), which can be told
//! apart with any kind of colour vision; each is darkened or lightened to a contrast of at least 3:1 with its
//! background. Lines also differ in dashes and marks.

use plotters::style::RGBColor;

/// Light or dark theme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark on white.
    #[default]
    Light,
    /// Light on nearly black.
    Dark,
}

/// Colour of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ink {
    /// The background.
    Paper,
    /// Text.
    Text,
    /// Secondary text and elements.
    Soft,
    /// A wide line below others.
    Pale,
    /// Grid lines.
    Grid,
    /// Warm-up and drain.
    Phase,
    /// Stalls of the server.
    Stall,
    /// Colours of lines.
    Blue,
    Orange,
    Green,
    Purple,
    Vermilion,
    Sky,
    Olive,
    Brown,
    /// Colours of a heat map, from few to many: see [`HEAT`].
    Heat1,
    Heat2,
    Heat3,
    Heat4,
    Heat5,
}

/// Colours of a heat map, from few to many. Text can be told from all of them.
pub(super) const HEAT: [Ink; 5] = [Ink::Heat1, Ink::Heat2, Ink::Heat3, Ink::Heat4, Ink::Heat5];

/// Colours of lines without a meaning of their own, in order.
pub(super) const SERIES: [Ink; 8] =
    [Ink::Blue, Ink::Vermilion, Ink::Green, Ink::Purple, Ink::Orange, Ink::Sky, Ink::Olive, Ink::Brown];

impl Ink {
    const ALL: [Self; 20] = [
        Self::Paper,
        Self::Text,
        Self::Soft,
        Self::Pale,
        Self::Grid,
        Self::Phase,
        Self::Stall,
        Self::Blue,
        Self::Orange,
        Self::Green,
        Self::Purple,
        Self::Vermilion,
        Self::Sky,
        Self::Olive,
        Self::Brown,
        Self::Heat1,
        Self::Heat2,
        Self::Heat3,
        Self::Heat4,
        Self::Heat5,
    ];

    /// Name in style sheets.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Text => "text",
            Self::Soft => "soft",
            Self::Pale => "pale",
            Self::Grid => "grid",
            Self::Phase => "phase",
            Self::Stall => "stall",
            Self::Blue => "blue",
            Self::Orange => "orange",
            Self::Green => "green",
            Self::Purple => "purple",
            Self::Vermilion => "vermilion",
            Self::Sky => "sky",
            Self::Olive => "olive",
            Self::Brown => "brown",
            Self::Heat1 => "heat-1",
            Self::Heat2 => "heat-2",
            Self::Heat3 => "heat-3",
            Self::Heat4 => "heat-4",
            Self::Heat5 => "heat-5",
        }
    }
}

impl Theme {
    /// Declares the colours as custom properties of a style sheet, such as `--chart-blue`.
    #[must_use]
    pub fn properties(self) -> String {
        let property = |ink: Ink| {
            let RGBColor(red, green, blue) = self.color(ink);
            format!("--chart-{}:#{red:02x}{green:02x}{blue:02x};", ink.name())
        };
        Ink::ALL.into_iter().map(property).collect()
    }

    pub(super) fn color(self, ink: Ink) -> RGBColor {
        let (light, dark) = match ink {
            Ink::Paper => (0xff_ff_ff, 0x17_1c_22),
            Ink::Text => (0x1a_1f_26, 0xe6_ea_ef),
            Ink::Soft => (0x57_60_6a, 0xa0_a9_b4),
            Ink::Pale => (0xb3_bc_c7, 0x5c_68_75),
            Ink::Grid => (0xdd_e1_e6, 0x2f_38_42),
            Ink::Phase => (0xee_f0_f2, 0x24_2b_33),
            Ink::Stall => (0xfb_ea_cf, 0x45_38_1e),
            Ink::Blue => (0x00_72_b2, 0x4a_a3_e0),
            Ink::Orange => (0xb3_7b_00, 0xe6_9f_00),
            Ink::Green => (0x00_8a_65, 0x1f_b8_8c),
            Ink::Purple => (0xb2_5a_8c, 0xd9_8f_b8),
            Ink::Vermilion => (0xd5_5e_00, 0xf0_78_2e),
            Ink::Sky => (0x2d_88_bd, 0x7c_c8_f2),
            Ink::Olive => (0x84_7d_00, 0xe8_dc_4a),
            Ink::Brown => (0x7a_4a_2b, 0xc4_9a_7c),
            Ink::Heat1 => (0xa9_cc_e8, 0x1f_44_60),
            Ink::Heat2 => (0x86_b6_dc, 0x24_53_77),
            Ink::Heat3 => (0x64_9f_cf, 0x2a_62_8e),
            Ink::Heat4 => (0x46_8b_c2, 0x2f_71_a6),
            Ink::Heat5 => (0x2a_76_b4, 0x34_80_bd),
        };
        let color: u32 = if self == Self::Light { light } else { dark };
        let [_, red, green, blue] = color.to_be_bytes();
        RGBColor(red, green, blue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// <https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio>
    fn contrast(a: RGBColor, b: RGBColor) -> f64 {
        let luminance = |RGBColor(red, green, blue)| {
            let linear = |channel: u8| match f64::from(channel) / 255.0 {
                low if low <= 0.04045 => low / 12.92,
                high => ((high + 0.055) / 1.055).powf(2.4),
            };
            0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue)
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    #[test]
    fn lines_and_text_have_enough_contrast() {
        for theme in [Theme::Light, Theme::Dark] {
            let with_paper = |ink| contrast(theme.color(ink), theme.color(Ink::Paper));
            for ink in SERIES {
                assert!(with_paper(ink) >= 3.0, "{theme:?} {ink:?}: {}", with_paper(ink));
            }
            for ink in [Ink::Text, Ink::Soft] {
                assert!(with_paper(ink) >= 4.5, "{theme:?} {ink:?}: {}", with_paper(ink));
            }
            let heat = HEAT.map(|ink| (with_paper(ink), contrast(theme.color(Ink::Text), theme.color(ink))));
            assert!(heat.is_sorted_by_key(|&(paper, _)| paper), "{theme:?}: {heat:?}");
            assert!(heat.iter().all(|&(paper, text)| paper >= 1.6 && text >= 3.0), "{theme:?}: {heat:?}");
            let on_shades =
                [Ink::Phase, Ink::Stall].map(|shade| contrast(theme.color(Ink::Blue), theme.color(shade)));
            assert!(on_shades.into_iter().all(|contrast| contrast >= 3.0), "{theme:?}: {on_shades:?}");
        }
    }
}
