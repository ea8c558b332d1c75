//! The documents that are generated from the table of options, and whether they are up to date.

mod manual;
mod reference;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

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
    let commands = httperf::commands::descriptions();
    vec![
        Generated { path: "docs/man/httperf.1", contents: manual::page(&commands) },
        Generated { path: "docs/reference/options.md", contents: reference::page(&commands) },
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
