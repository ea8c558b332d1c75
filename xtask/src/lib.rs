//! Generated documents: the table of options, and the schemas of results.

mod completions;
mod manual;
mod reference;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use httperf::options::{self, ValueForm};

/// A generated document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Path relative to the root of the workspace.
    pub path: &'static str,
    /// Up-to-date contents.
    pub contents: String,
}

/// Generates all documents, without writing them.
#[must_use]
pub fn generated() -> Vec<Generated> {
    let commands = options::commands();
    let [bash, zsh, fish] = completions::scripts(&commands);
    vec![
        Generated { path: "docs/man/httperf.1", contents: manual::page(&commands) },
        Generated { path: "docs/completions/httperf.bash", contents: bash },
        Generated { path: "docs/completions/httperf.zsh", contents: zsh },
        Generated { path: "docs/completions/httperf.fish", contents: fish },
        Generated { path: "docs/reference/options.md", contents: reference::page(&commands) },
        Generated { path: "docs/reference/result.schema.json", contents: httperf_report::result::schema() },
        Generated { path: "docs/reference/sweep.schema.json", contents: httperf_report::sweep::schema() },
        Generated {
            path: "docs/reference/capacity.schema.json",
            contents: httperf_report::capacity::schema(),
        },
        Generated {
            path: "docs/reference/comparison.schema.json",
            contents: httperf_report::compare::schema(),
        },
    ]
}

/// Writes all generated documents.
///
/// # Errors
///
/// A document cannot be written.
pub fn write_generated() -> anyhow::Result<()> {
    for Generated { path, contents } in generated() {
        let path = root().join(path);
        let folder = path.parent().expect("every document lies in a folder");
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        fs::write(&path, contents).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// Returns the paths of generated documents that are missing or out of date.
#[must_use]
pub fn stale_files() -> Vec<&'static str> {
    let is_stale = |document: &Generated| {
        fs::read_to_string(root().join(document.path)).ok().as_deref() != Some(&document.contents)
    };
    generated().iter().filter(|document| is_stale(document)).map(|document| document.path).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the possible words of a value, if its name in help lists them, such as `header|body`.
fn alternatives(value: ValueForm) -> Vec<&'static str> {
    let name = match value {
        ValueForm::None => return Vec::new(),
        ValueForm::Required(name) | ValueForm::Optional(name) => name,
    };
    let is_word = |part: &str| part.len() > 1 && part.bytes().all(|byte| byte.is_ascii_lowercase());
    let parts: Vec<&str> = name.split('|').collect();
    if parts.len() > 1 && parts.iter().all(|part| is_word(part)) { parts } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_of_words_is_a_choice() {
        assert_eq!(alternatives(ValueForm::Optional("header|body")), ["header", "body"]);
        assert!(alternatives(ValueForm::Required("y|n,FILE")).is_empty());
        assert!(alternatives(ValueForm::Required("FILE")).is_empty());
        assert!(alternatives(ValueForm::None).is_empty());
    }
}
