//! Releases: `cargo xtask release [--out DIR] [--target TARGET]… [--source DIR] [--snapshot]` builds every package from a tagged
//! commit, with checksums, a list of components and the licences of what is linked in. The same commit gives the same bytes,
//! wherever it is built.
//!
//! Compilers and packagers run as processes; `scripts/release-tools.sh` gets them.

mod archive;
mod build;
mod deb;
mod image;
mod licences;
mod notes;
mod options;
mod packages;
mod process;
mod recipes;
mod rpm;
mod sbom;
mod source;
mod target;
mod tree;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use build::Binary;
use options::Options;
use packages::Graph;
use source::Source;
use target::Libc;
use tree::Material;

/// Builds what a release consists of into a folder.
///
/// # Errors
///
/// The command line is wrong, the source is not that of a release, a tool is missing, or a step fails.
pub fn run(words: &[&str]) -> anyhow::Result<()> {
    let options = Options::parse(words)?;
    let source = Source::read(&options)?;
    process::check_tools(&options.targets)?;
    let work = emptied(&source.target_folder.join("release-work"))?;
    let out = emptied(&options.out.clone().unwrap_or_else(|| source.target_folder.join("dist")))?;

    let binaries = build::all(&source, &options.targets, &work)?;
    let graph = Graph::read(&source)?;
    let material = Material::gather(&source, &binaries, &licences::text(&graph)?, &work)?;
    for binary in &binaries {
        package(&source, binary, &material, &work, &out)?;
    }
    let archive = archive::of_source(&source, &out)?;
    recipes::write(&source, &archive, &out)?;
    write(&out.join("THIRD-PARTY.txt"), &material.third_party)?;
    write(&out.join(format!("httperf-{}.cdx.json", source.version)), &sbom::document(&source, &graph)?)?;
    write(&out.join("RELEASE-NOTES.md"), &notes::of(&source)?)?;
    process::write_checksums(&out)?;
    fs::remove_dir_all(&work).with_context(|| format!("removing {}", work.display()))?;
    process::list(&out)
}

/// Packages for distributions have the binary that is linked with their C library; what must run anywhere has the static one.
fn package(
    source: &Source,
    binary: &Binary,
    material: &Material,
    work: &Path,
    out: &Path,
) -> anyhow::Result<()> {
    match binary.target.libc {
        Libc::Gnu => {
            deb::build(source, binary, material, work, out)?;
            rpm::build(source, binary, material, work, out)?;
            wheel::build(source, binary, work, out)
        }
        Libc::Musl => {
            archive::of_program(source, binary, material, work, out)?;
            image::build(source, binary, material, work, out)
        }
    }
}

/// Makes an empty folder; what was there is removed.
fn emptied(folder: &Path) -> anyhow::Result<PathBuf> {
    if folder.exists() {
        fs::remove_dir_all(folder).with_context(|| format!("removing {}", folder.display()))?;
    }
    fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
    folder.canonicalize().with_context(|| format!("finding {}", folder.display()))
}

fn write(path: &Path, contents: &str) -> anyhow::Result<()> {
    fs::write(path, contents).with_context(|| format!("writing {}", path.display()))
}
