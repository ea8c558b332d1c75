//! The documents that are generated from the table of options and the types of results, and whether they are up to
//! date.

mod completions;
mod manual;
mod reference;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use httperf::options::{self, ValueForm};

/// A document that is generated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// Its path from the root of the workspace.
    pub path: &'static str,
    /// What it should contain.
    pub contents: String,
}

/// All generated documents.
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
/// One that cannot be written.
pub fn write_generated() -> anyhow::Result<()> {
    for Generated { path, contents } in generated() {
        let path = root().join(path);
        let folder = path.parent().expect("every document lies in a folder");
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        fs::write(&path, contents).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

/// The generated documents that are missing or differ from what they should be.
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

/// The words a value can be, if its name in help is a list of them such as `header|body`.
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
