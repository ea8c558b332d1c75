//! The command line of `cargo xtask release`.

use std::path::PathBuf;

use anyhow::{Context as _, bail, ensure};

use super::target::{TARGETS, Target};

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// Folder for what is made; `dist` in the target folder if `None`. It is emptied first.
    pub(super) out: Option<PathBuf>,
    /// Platforms to build for, each once, in the order of [`TARGETS`].
    pub(super) targets: Vec<Target>,
    /// The clone to build; the one of this program if `None`.
    pub(super) source: Option<PathBuf>,
    /// Builds what is not a release: an untagged commit, or one with changes.
    pub(super) snapshot: bool,
}

impl Options {
    pub(super) fn parse(words: &[&str]) -> anyhow::Result<Self> {
        let mut options = Self { out: None, targets: Vec::new(), source: None, snapshot: false };
        let mut wanted = Vec::new();
        let mut words = words.iter();
        while let Some(&word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word}: expected a value"));
            match word {
                "--out" => options.out = Some(PathBuf::from(value()?)),
                "--source" => options.source = Some(PathBuf::from(value()?)),
                "--target" => wanted.push(Target::named(value()?)?),
                "--snapshot" => options.snapshot = true,
                _ => bail!("expected --out DIR, --target TARGET, --source DIR or --snapshot, got `{word}`"),
            }
        }
        let is_wanted = |target: &Target| wanted.is_empty() || wanted.contains(target);
        options.targets = TARGETS.into_iter().filter(is_wanted).collect();
        ensure!(
            options.targets.iter().any(|target| target.runs_here()),
            "--target: completions come from the program, so at least one of the platforms must be that of this machine"
        );
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triples(words: &[&str]) -> Vec<&'static str> {
        let options = Options::parse(words).expect("these options are right");
        options.targets.iter().map(|target| target.triple).collect()
    }

    #[test]
    fn all_platforms_are_built_unless_some_are_named() {
        assert_eq!(triples(&[]).len(), TARGETS.len());
        let (arm, amd) = ("aarch64-unknown-linux-musl", "x86_64-unknown-linux-gnu");
        assert_eq!(triples(&["--target", arm, "--target", amd, "--target", arm]), [amd, arm]);
    }

    #[test]
    fn a_wrong_option_is_named_with_what_was_expected() {
        let problem =
            |words: &[&str]| Options::parse(words).expect_err("these options are wrong").to_string();
        assert!(problem(&["--outt"]).ends_with("got `--outt`"));
        assert_eq!(problem(&["--out"]), "--out: expected a value");
        let foreign =
            TARGETS.iter().find(|target| !target.runs_here()).expect("programs run on one kind of machine");
        assert!(
            problem(&["--target", foreign.triple]).starts_with("--target: completions come from the program")
        );
        assert!(problem(&["--target", "sparc"]).contains("x86_64-unknown-linux-musl"));
    }
}
