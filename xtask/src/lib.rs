//! Chores around the documents: generates the manual pages and the pages of the reference, finds out whether they are up to
//! date, draws the pictures, makes the site, and reads the commands in what people wrote. And the release, which packs them with
//! the program.

pub mod book;
pub mod markdown;
pub mod pictures;
pub mod release;

mod columns;
mod environment;
mod exit_statuses;
mod manual;
mod reference;
mod schemas;
mod workload_file;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// The reason why writing to a string cannot fail.
const WRITES: &str = "writing to a string succeeds";

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
    let commands = httperf_program::commands::descriptions();
    let mut generated = vec![
        Generated { path: "docs/man/httperf.1", contents: manual::page(&commands) },
        Generated { path: "docs/man/idleconn.1", contents: manual::idleconn::page(&commands) },
        Generated { path: "docs/reference/options.md", contents: reference::page(&commands) },
        Generated { path: "docs/reference/workload-file.md", contents: workload_file::page() },
        Generated { path: "docs/reference/exit-statuses.md", contents: exit_statuses::page() },
        Generated { path: "docs/reference/environment.md", contents: environment::page() },
    ];
    generated.push(columns::page());
    generated.extend(schemas::pages());
    generated
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

/// The root of the workspace.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
