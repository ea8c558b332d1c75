//! Style of the pages: `style.css`, with the colours of the charts.

use std::sync::LazyLock;

use httperf_pictures::Theme;

use super::scripts::dense;

/// Style of all pages.
pub(super) static STYLE: LazyLock<String> = LazyLock::new(|| {
    let [light, dark] = [Theme::Light, Theme::Dark].map(Theme::properties);
    format!(
        ":root{{{light}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{dark}}}}}\n{}",
        dense(include_str!("style.css"), "/*")
    )
});

/// The same, with the additions of a comparison.
pub(super) static STYLE_OF_COMPARISON: LazyLock<String> =
    LazyLock::new(|| format!("{}{}", *STYLE, include_str!("comparison.css")));
