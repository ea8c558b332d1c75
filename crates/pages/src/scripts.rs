//! Script of the page, with the hash that its security policy allows.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

/// A script embedded in the page.
pub(super) struct Script {
    pub(super) source: &'static str,
    /// Source allowed by the security policy: `sha256-` and the hash of the script in base64.
    ///
    /// <https://www.w3.org/TR/CSP3/#grammardef-hash-source>
    pub(super) hash: String,
}

/// Makes the charts of a page interactive.
pub(super) static PAGE: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("page.js")));

impl Script {
    fn new(source: &'static str) -> Self {
        let hash = format!("sha256-{}", STANDARD.encode(Sha256::digest(source)));
        Self { source, hash }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_of_a_script_is_sha256_in_base64() {
        // The output of `printf abc | openssl dgst -sha256 -binary | base64`.
        let hash = Script::new("abc").hash;
        assert_eq!(hash, "sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    }
}
