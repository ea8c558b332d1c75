//! Script of the page, with the hash that its security policy allows.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// A script embedded in the page.
pub(super) struct Script {
    pub(super) source: String,
    /// Source allowed by the security policy: `sha256-` and the hash of the script in base64.
    ///
    /// <https://www.w3.org/TR/CSP3/#grammardef-hash-source>
    pub(super) hash: String,
}

/// Makes the charts of a page interactive.
pub(super) static PAGE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("page.js")));

impl Script {
    fn new(source: &str) -> Self {
        let source = dense(source, "//");
        let hash = format!("sha256-{}", STANDARD.encode(Sha256::digest(&source)));
        Self { source, hash }
    }
}

/// A script or a style without indentation and without comment lines, which begin with `comment`.
pub(super) fn dense(source: &str, comment: &str) -> String {
    let lines = source.lines().map(str::trim_start);
    lines.filter(|line| !line.is_empty() && !line.starts_with(comment)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dense_script_has_its_statements_alone() {
        assert_eq!(dense("// What it is.\na {\n  b; // why\n\n  // c\n}\n", "//"), "a {\nb; // why\n}");
    }

    #[test]
    fn the_hash_of_a_script_is_sha256_in_base64() {
        // The output of `printf abc | openssl dgst -sha256 -binary | base64`.
        let hash = Script::new("abc").hash;
        assert_eq!(hash, "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }
}
