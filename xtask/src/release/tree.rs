//! What is installed besides the program, and folders laid out as it is installed.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use super::build::Binary;
use super::process::{output, run, say};
use super::source::Source;

/// The shells with completions.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Documents that come along, as folders or files of the source: README and book, and whatever they link to, so that their links
/// hold where they are installed.
const DOCUMENTS: &[&str] = &[
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "Containerfile",
    "deny.toml",
    "bench/README.md",
    "bench/results",
    "docs/SUMMARY.md",
    "docs/index.md",
    "docs/concepts",
    "docs/grafana",
    "docs/guide",
    "docs/internals",
    "docs/measure",
    "docs/recipes",
    "docs/reference",
    "docs/start",
    "packaging/README.md",
    "python/examples/figure2.ipynb",
];

/// What is the same for all platforms.
#[derive(Clone, Debug)]
pub(super) struct Material {
    /// Completions for each of [`SHELLS`].
    completions: Vec<String>,
    /// Licences of what is linked in.
    pub(super) third_party: String,
}

/// Where things go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Folder of binaries and shared files, such as `usr`.
    pub(super) prefix: &'static str,
    /// Folder of zsh's completions below `share`.
    pub(super) zsh: &'static str,
    /// Whether manual pages are compressed.
    pub(super) compressed: bool,
}

impl Material {
    /// Makes completions by a program that runs on this machine.
    pub(super) fn gather(
        source: &Source,
        binaries: &[Binary],
        third_party: &str,
        work: &Path,
    ) -> anyhow::Result<Self> {
        say("making completions");
        let runs = binaries.iter().find(|binary| binary.target.runs_here());
        let runs = runs.expect("the options demand one");
        let version = output(Command::new(&runs.path).arg("--version"))?;
        ensure!(version.contains(&source.version), "the program says `{}`", version.trim());
        let mut completions = Vec::new();
        for shell in SHELLS {
            completions
                .push(output(Command::new(&runs.path).args(["completions", shell]).current_dir(work))?);
        }
        Ok(Self { completions, third_party: third_party.to_owned() })
    }
}

/// Lays out everything that is installed below a folder: program, manual pages, completions, documents.
pub(super) fn lay(
    source: &Source,
    binary: &Binary,
    material: &Material,
    layout: Layout,
    folder: &Path,
) -> anyhow::Result<()> {
    let prefix = folder.join(layout.prefix);
    let share = prefix.join("share");
    place(&binary.path, &prefix.join("bin/httperf"), 0o755)?;
    link("httperf", &prefix.join("bin/idleconn"))?;
    for name in ["httperf.1", "idleconn.1"] {
        let page = share.join("man/man1").join(name);
        place(&source.root.join("docs/man").join(name), &page, 0o644)?;
        if layout.compressed {
            compress(&page)?;
        }
    }
    let [bash, zsh, fish] = &material.completions[..] else { unreachable!("each shell has completions") };
    put(bash, &share.join("bash-completion/completions/httperf"))?;
    put(zsh, &share.join(layout.zsh).join("_httperf"))?;
    put(fish, &share.join("fish/vendor_completions.d/httperf.fish"))?;
    let documents = share.join("doc/httperf");
    place_documents(&source.root, &documents)?;
    put(&material.third_party, &documents.join("THIRD-PARTY.txt"))
}

/// Copies a file to a place whose folder need not be there.
pub(super) fn place(from: &Path, to: &Path, mode: u32) -> anyhow::Result<()> {
    let bytes = fs::read(from).with_context(|| format!("reading {}", from.display()))?;
    create(to, &bytes, mode)
}

/// Copies the documents of a clone into a folder, laid out as they are there.
fn place_documents(root: &Path, folder: &Path) -> anyhow::Result<()> {
    for name in DOCUMENTS {
        place_all(&root.join(name), &folder.join(name))?;
    }
    Ok(())
}

/// Copies the licences of the program into a folder.
pub(super) fn place_licences(source: &Source, folder: &Path) -> anyhow::Result<()> {
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        place(&source.root.join(name), &folder.join(name), 0o644)?;
    }
    Ok(())
}

/// Copies a file, or a folder with all that is in it.
fn place_all(from: &Path, to: &Path) -> anyhow::Result<()> {
    if !from.is_dir() {
        return place(from, to, 0o644);
    }
    for name in super::process::names(from)? {
        place_all(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

/// Writes a file that everybody can read.
pub(super) fn put(contents: &str, to: &Path) -> anyhow::Result<()> {
    create(to, contents.as_bytes(), 0o644)
}

fn create(path: &Path, bytes: &[u8], mode: u32) -> anyhow::Result<()> {
    create_folder(path.parent().expect("a file lies in a folder"))?;
    fs::write(path, bytes).with_context(|| format!("writing {}", path.display()))?;
    set_mode(path, mode)
}

/// Creates a folder and those around it, with the same permissions whatever the mask of this process is.
pub(super) fn create_folder(path: &Path) -> anyhow::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    create_folder(path.parent().expect("there is a root"))?;
    fs::create_dir(path).with_context(|| format!("creating {}", path.display()))?;
    set_mode(path, 0o755)
}

fn set_mode(path: &Path, mode: u32) -> anyhow::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
        .with_context(|| format!("setting permissions of {}", path.display()))
}

fn link(target: &str, path: &Path) -> anyhow::Result<()> {
    symlink(target, path).with_context(|| format!("linking {}", path.display()))
}

/// Compresses a file in place, to a name with `.gz`.
pub(super) fn compress(path: &Path) -> anyhow::Result<()> {
    run(Command::new("gzip").args(["-9", "--no-name"]).arg(path))
}

/// An archive of a folder, compressed: sorted, of root, and every file as old as the commit.
pub(super) fn archive(source: &Source, parent: &Path, name: &str, to: &Path) -> anyhow::Result<()> {
    let time = format!("--mtime=@{}", source.seconds);
    let mut tar = super::process::tool("tar", source);
    tar.args([
        "--create",
        "--format=ustar",
        "--sort=name",
        "--owner=0",
        "--group=0",
        "--numeric-owner",
        &time,
    ]);
    let tar =
        tar.arg("--directory").arg(parent).arg(name).stdout(Stdio::piped()).spawn().context("running tar")?;
    let packed = tar.wait_with_output().context("running tar")?;
    ensure!(packed.status.success(), "tar failed ({}) with {name}", packed.status);
    write_compressed(source, &packed.stdout, to)
}

/// Writes bytes through gzip.
pub(super) fn write_compressed(source: &Source, bytes: &[u8], to: &Path) -> anyhow::Result<()> {
    let file = fs::File::create(to).with_context(|| format!("creating {}", to.display()))?;
    let mut gzip = super::process::tool("gzip", source);
    let mut gzip =
        gzip.args(["-9", "--no-name"]).stdin(Stdio::piped()).stdout(file).spawn().context("running gzip")?;
    gzip.stdin.take().expect("it has a pipe").write_all(bytes).context("writing to gzip")?;
    let status = gzip.wait().context("running gzip")?;
    ensure!(status.success(), "gzip failed ({status}) with {}", to.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::process::names;
    use super::*;
    use crate::book::links::links;

    /// The pages in a folder and in those below it.
    fn pages(folder: &Path) -> Vec<PathBuf> {
        let (mut pages, mut folders) = (Vec::new(), vec![folder.to_owned()]);
        while let Some(folder) = folders.pop() {
            for name in names(&folder).expect("a folder can be read") {
                let path = folder.join(name);
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "md") {
                    pages.push(path);
                }
            }
        }
        pages
    }

    #[test]
    fn every_link_of_a_document_leads_to_one_that_comes_along() {
        let folder = tempfile::tempdir().expect("a folder can be made");
        place_documents(&crate::root(), folder.path()).expect("the documents are there");
        let pages = pages(folder.path());
        assert!(pages.len() > 60, "{} pages", pages.len());
        let mut dead = Vec::new();
        for page in pages {
            let text = fs::read_to_string(&page).expect("a page can be read");
            let parent = page.parent().expect("a file lies in a folder");
            let inner =
                links(&text).into_iter().filter(|link| !link.is_external() && !link.target.is_empty());
            let is_there = |target: &str| parent.join(target).is_file();
            dead.extend(inner.filter(|link| !is_there(&link.target)).map(|link| (page.clone(), link.target)));
        }
        assert!(dead.is_empty(), "add what they lead to to DOCUMENTS: {dead:#?}");
    }
}
