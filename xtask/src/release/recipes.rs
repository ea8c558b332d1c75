//! Recipes for package managers that build from source: those of `packaging`, with version and checksum filled in.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::process::{output, say};
use super::source::Source;

/// Files below `packaging`, and their names in a release.
const RECIPES: &[(&str, &str)] =
    &[("homebrew/httperf.rb", "httperf.rb"), ("aur/PKGBUILD", "PKGBUILD"), ("nix/flake.nix", "flake.nix")];

pub(super) fn write(source: &Source, archive: &Path, out: &Path) -> anyhow::Result<()> {
    say("filling in recipes");
    let sum = output(Command::new("sha256sum").arg(archive))?;
    let sum = sum.split(' ').next().unwrap_or_default();
    let name = archive.file_name().unwrap_or_default().to_string_lossy();
    let url = format!("{}/releases/download/v{}/{name}", source.homepage, source.version);
    for (path, name) in RECIPES {
        let path = source.root.join("packaging").join(path);
        let recipe = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let recipe = recipe
            .replace("@VERSION@", &source.version)
            .replace("@HOMEPAGE@", &source.homepage)
            .replace("@URL@", &url)
            .replace("@SHA256@", sum);
        ensure!(!has_field(&recipe), "{} has a field that nothing fills in", path.display());
        super::write(&out.join(name), &recipe)?;
    }
    Ok(())
}

/// Whether there is a field such as `@VERSION@` left.
fn has_field(recipe: &str) -> bool {
    let mut pieces = recipe.split('@').skip(1);
    pieces.any(|piece| {
        !piece.is_empty() && piece.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::has_field;

    #[test]
    fn fields_are_told_from_other_ats() {
        assert!(has_field("version @VERSION@"));
        assert!(!has_field("mail a@b.example and std@2.0"));
    }
}
