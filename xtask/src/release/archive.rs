//! Archives: of the program, to be unpacked below any prefix, and of the source.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;

use super::build::Binary;
use super::process::say;
use super::source::Source;
use super::tree::{self, Layout, Material};

const LAYOUT: Layout = Layout { prefix: "", zsh: "zsh/site-functions", compressed: false };

/// The static program with manual pages, completions and documents.
pub(super) fn of_program(
    source: &Source,
    binary: &Binary,
    material: &Material,
    work: &Path,
    out: &Path,
) -> anyhow::Result<()> {
    let name = format!("httperf-{}-{}-linux", source.version, binary.target.arch.name());
    say(&format!("packing {name}.tar.gz"));
    let folder = work.join(&name);
    tree::lay(source, binary, material, LAYOUT, &folder)?;
    tree::archive(source, work, &name, &out.join(format!("{name}.tar.gz")))
}

/// The source as it was committed. Returns the path of the archive.
pub(super) fn of_source(source: &Source, out: &Path) -> anyhow::Result<PathBuf> {
    let name = format!("httperf-{}", source.version);
    say(&format!("packing {name}.tar.gz"));
    let prefix = format!("--prefix={name}/");
    let mut git = Command::new("git");
    let packed = git.arg("-C").arg(&source.root).args(["archive", "--format=tar", &prefix, "HEAD"]).output();
    let packed = packed.context("running git")?;
    anyhow::ensure!(packed.status.success(), "git archive failed ({})", packed.status);
    let path = out.join(format!("{name}.tar.gz"));
    tree::write_compressed(source, &packed.stdout, &path)?;
    Ok(path)
}
