//! The commit that is released.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, ensure};

use super::options::Options;
use super::process::output;

/// A clone, and what identifies the commit in it.
#[derive(Clone, Debug)]
pub(super) struct Source {
    /// The root of the clone.
    pub(super) root: PathBuf,
    /// Where cargo builds.
    pub(super) target_folder: PathBuf,
    /// The version of the program, such as `1.0.0`.
    pub(super) version: String,
    /// What packages add to the version: `1`, or `0.gCOMMIT` of a snapshot, which sorts before it.
    pub(super) revision: String,
    /// The time of the commit, in seconds since 1970: the time that every file of a package has.
    pub(super) seconds: i64,
    /// A page about the project.
    pub(super) homepage: String,
}

/// For as long as no manifest names another.
const HOMEPAGE: &str = "https://example.org/httperf";

impl Source {
    /// Finds out what is built.
    ///
    /// Unless it is a snapshot, the commit has a tag with the version of the program and there are no changes.
    pub(super) fn read(options: &Options) -> anyhow::Result<Self> {
        let root = options.source.clone().unwrap_or_else(crate::root);
        let root = root.canonicalize().with_context(|| format!("--source: finding {}", root.display()))?;
        let git = |words: &[&str]| output(Command::new("git").arg("-C").arg(&root).args(words));
        let commit = git(&["rev-parse", "--short=10", "HEAD"])?.trim().to_owned();
        let time = git(&["log", "-1", "--format=%ct"])?;
        let package = package(&root)?;
        let version = text(&package, "version").context("the package has no version")?;
        if !options.snapshot {
            let changes = git(&["status", "--porcelain"])?;
            ensure!(
                changes.is_empty(),
                "{} has changes that are not committed:\n{changes}hint: --snapshot builds it nevertheless",
                root.display()
            );
            let tags = git(&["tag", "--points-at", "HEAD"])?;
            let tag = format!("v{version}");
            ensure!(
                tags.lines().any(|line| line == tag),
                "commit {commit} has no tag `{tag}`\nhint: --snapshot builds it nevertheless"
            );
        }
        let revision = if options.snapshot { format!("0.g{commit}") } else { "1".to_owned() };
        let homepage = text(&package, "homepage").or_else(|| text(&package, "repository"));
        Ok(Self {
            target_folder: target_folder(&root),
            version,
            revision,
            seconds: time.trim().parse().context("reading the time of the commit")?,
            homepage: homepage.unwrap_or_else(|| HOMEPAGE.to_owned()),
            root,
        })
    }

    /// The time of the commit, as `date` formats it.
    pub(super) fn date(&self, format: &str) -> anyhow::Result<String> {
        let instant = format!("--date=@{}", self.seconds);
        let text = output(Command::new("date").env("LC_ALL", "C").args(["-u", &instant, format]))?;
        Ok(text.trim().to_owned())
    }

    /// Who answers for the packages.
    pub(super) fn maintainer(&self) -> String {
        let host = self.homepage.split("://").nth(1).and_then(|rest| rest.split('/').next());
        format!("The httperf authors <httperf@{}>", host.unwrap_or("example.org"))
    }
}

/// A clone that is not the one of this program has a target folder of its own.
fn target_folder(root: &Path) -> PathBuf {
    let is_ours = crate::root().canonicalize().is_ok_and(|ours| ours == root);
    let given = std::env::var_os("CARGO_TARGET_DIR").filter(|_| is_ours);
    let folder = given.map_or_else(|| root.join("target"), PathBuf::from);
    std::path::absolute(&folder).unwrap_or(folder)
}

/// The package of the program in the output of `cargo metadata`.
fn package(root: &Path) -> anyhow::Result<serde_json::Value> {
    let mut cargo = Command::new("cargo");
    cargo.args(["metadata", "--format-version=1", "--no-deps", "--locked"]).current_dir(root);
    let document: serde_json::Value =
        serde_json::from_str(&output(&mut cargo)?).context("reading cargo metadata")?;
    let packages = document["packages"].as_array().context("cargo metadata has no packages")?;
    let package = packages.iter().find(|package| package["name"] == "httperf");
    package.cloned().context("the workspace has no package `httperf`")
}

fn text(package: &serde_json::Value, field: &str) -> Option<String> {
    package[field].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// A clone with a package of this name, and nothing else.
    fn clone() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder can be made");
        fs::create_dir(folder.path().join("src")).expect("a folder can be made");
        for (name, contents) in [
            (
                "Cargo.toml",
                "[package]\nname = \"httperf\"\nversion = \"1.0.0\"\nedition = \"2024\"\n[workspace]\n",
            ),
            ("Cargo.lock", "version = 4\n\n[[package]]\nname = \"httperf\"\nversion = \"1.0.0\"\n"),
            ("src/main.rs", "fn main() {}\n"),
        ] {
            fs::write(folder.path().join(name), contents).expect("a file can be written");
        }
        git(&folder, &["init", "--quiet"]);
        git(&folder, &["add", "."]);
        git(&folder, &["commit", "--quiet", "--no-gpg-sign", "--message=first"]);
        folder
    }

    fn git(folder: &tempfile::TempDir, words: &[&str]) {
        let mut git = Command::new("git");
        git.args(["-c", "user.name=nobody", "-c", "user.email=nobody@example.org"]).args(words);
        git.env("GIT_COMMITTER_DATE", "1700000000 +0100");
        output(git.current_dir(folder.path())).expect("git works");
    }

    fn read(folder: &tempfile::TempDir, snapshot: bool) -> Result<Source, String> {
        let source = Some(folder.path().to_owned());
        let options = Options { out: None, targets: Vec::new(), source, snapshot };
        Source::read(&options).map_err(|problem| problem.to_string())
    }

    #[test]
    fn a_release_is_made_of_a_tagged_commit_without_changes() {
        let folder = clone();
        let problem = read(&folder, false).expect_err("it has no tag");
        assert!(problem.contains("has no tag `v1.0.0`"), "{problem}");
        git(&folder, &["tag", "v0.9.9"]);
        read(&folder, false).expect_err("the tag is that of another version");
        git(&folder, &["tag", "v1.0.0"]);
        let source = read(&folder, false).expect("this is a release");
        assert_eq!(
            (&source.version[..], &source.revision[..], source.seconds),
            ("1.0.0", "1", 1_700_000_000)
        );
        fs::write(folder.path().join("new"), "").expect("a file can be written");
        let problem = read(&folder, false).expect_err("it has changes");
        assert!(problem.contains("changes that are not committed:\n?? new"), "{problem}");
    }

    #[test]
    fn a_snapshot_is_older_than_the_release() {
        let source = read(&clone(), true).expect("anything will do");
        assert!(source.revision.starts_with("0.g"), "{}", source.revision);
        assert_eq!(source.date("+%Y-%m-%dT%H:%M:%SZ").expect("date works"), "2023-11-14T22:13:20Z");
        assert_eq!(source.maintainer(), "The httperf authors <httperf@example.org>");
    }
}
