//! The scripts of the page, with the hashes by which its security policy knows them.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plotly::Plot;
use sha2::{Digest, Sha256};

/// A script that the page carries.
pub(super) struct Script {
    pub(super) source: String,
    /// What the page's security policy allows: `sha256-` and the hash of the source in base64.
    ///
    /// <https://www.w3.org/TR/CSP3/#grammardef-hash-source>
    pub(super) hash: String,
}

/// Draws the charts.
pub(super) static PLOTLY: LazyLock<Script> = LazyLock::new(|| {
    // Of the elements that the crate has for a page of its own, the first is plotly.js. The other typesets formulas, of
    // which there are none here.
    let elements = Plot::offline_js_sources();
    let (_, first) = elements.split_once('>').expect("the crate gives script elements");
    let (source, _) = first.split_once("</script>").expect("what begins ends");
    Script::new(source.to_owned())
});

/// Tells it what to draw.
pub(super) static PAGE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("page.js").to_owned()));

impl Script {
    fn new(source: String) -> Self {
        let hash = format!("sha256-{}", STANDARD.encode(Sha256::digest(&source)));
        Self { source, hash }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_charts_are_drawn_by_plotly_and_formulas_are_left_out() {
        assert!(PLOTLY.source.contains("plotly.js v3."), "{}", &PLOTLY.source[..200]);
        assert!(PLOTLY.source.contains("Licensed under the MIT license"));
        assert!(PLOTLY.source.len() < 5_000_000, "{}", PLOTLY.source.len());
    }

    #[test]
    fn a_script_is_known_by_its_hash() {
        // As `printf abc | openssl dgst -sha256 -binary | base64` has it.
        let hash = Script::new("abc".to_owned()).hash;
        assert_eq!(hash, "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }
}
