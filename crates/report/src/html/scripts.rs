//! Scripts of the page, with the hashes that its security policy allows.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use plotly::Plot;
use sha2::{Digest, Sha256};

/// A script embedded in the page.
pub(super) struct Script {
    pub(super) source: String,
    /// Source allowed by the security policy: `sha256-` and the hash of the script in base64.
    ///
    /// <https://www.w3.org/TR/CSP3/#grammardef-hash-source>
    pub(super) hash: String,
}

/// Draws the charts.
pub(super) static PLOTLY: LazyLock<Script> = LazyLock::new(|| {
    // The first of the elements that the crate provides for a page is plotly.js. The other typesets formulas,
    // which these charts do not have.
    let elements = Plot::offline_js_sources();
    let (_, first) = elements.split_once('>').expect("the crate gives script elements");
    let (source, _) = first.split_once("</script>").expect("what begins ends");
    Script::new(source.to_owned())
});

/// Configures the charts.
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
    fn the_hash_of_a_script_is_sha256_in_base64() {
        // The output of `printf abc | openssl dgst -sha256 -binary | base64`.
        let hash = Script::new("abc".to_owned()).hash;
        assert_eq!(hash, "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }
}
