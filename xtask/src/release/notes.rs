//! Release notes: a version's section of the changelog.

use std::fs;

use anyhow::{Context as _, ensure};

use super::source::Source;

/// The section of this version. A release says when it was made: `## 1.0.0 (2027-01-31)`.
pub(super) fn of(source: &Source) -> anyhow::Result<String> {
    let changelog = fs::read_to_string(source.root.join("CHANGELOG.md")).context("reading CHANGELOG.md")?;
    let section = section(&changelog, &source.version)
        .with_context(|| format!("CHANGELOG.md has no section `## {}`", source.version))?;
    let heading = section.lines().next().unwrap_or_default();
    ensure!(
        source.revision != "1" || !heading.contains("not released"),
        "CHANGELOG.md says `{heading}`: expected the date of the release"
    );
    Ok(section)
}

fn section(changelog: &str, version: &str) -> Option<String> {
    let is_heading = |line: &str| line.starts_with("## ");
    let is_wanted =
        |line: &str| line.strip_prefix("## ").and_then(|rest| rest.split(' ').next()) == Some(version);
    let mut lines = changelog.lines().skip_while(|line| !is_wanted(line));
    let heading = lines.next()?;
    let body = lines.take_while(|line| !is_heading(line));
    let text = [heading].into_iter().chain(body).collect::<Vec<_>>().join("\n");
    Some(format!("{}\n", text.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGELOG: &str = "# Changelog\n\n## 1.1.0 (soon)\n\nb\n\n### New\n\n- c\n\n## 1.0.0\n\na\n";

    #[test]
    fn the_section_of_a_version_ends_before_the_next_one() {
        assert_eq!(section(CHANGELOG, "1.1.0").as_deref(), Some("## 1.1.0 (soon)\n\nb\n\n### New\n\n- c\n"));
        assert_eq!(section(CHANGELOG, "1.0.0").as_deref(), Some("## 1.0.0\n\na\n"));
    }

    #[test]
    fn a_version_without_a_section_has_no_notes() {
        assert_eq!(section(CHANGELOG, "1.0"), None);
    }
}
