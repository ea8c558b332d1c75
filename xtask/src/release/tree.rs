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

/// Documents that come along, as folders or files of the source.
const DOCUMENTS: &[&str] = &["README.md", "docs/guide", "docs/reference", "docs/grafana"];

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

/// Lays out everything that is installed below a folder: program, manual page, completions, documents.
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
    let page = share.join("man/man1/httperf.1");
    place(&source.root.join("docs/man/httperf.1"), &page, 0o644)?;
    if layout.compressed {
        compress(&page)?;
        link("httperf.1.gz", &share.join("man/man1/idleconn.1.gz"))?;
    } else {
        link("httperf.1", &share.join("man/man1/idleconn.1"))?;
    }
    let [bash, zsh, fish] = &material.completions[..] else { unreachable!("each shell has completions") };
    put(bash, &share.join("bash-completion/completions/httperf"))?;
    put(zsh, &share.join(layout.zsh).join("_httperf"))?;
    put(fish, &share.join("fish/vendor_completions.d/httperf.fish"))?;
    let documents = share.join("doc/httperf");
    for name in DOCUMENTS {
        let name = Path::new(name);
        place_all(&source.root.join(name), &documents.join(name.file_name().expect("documents have names")))?;
    }
    put(&material.third_party, &documents.join("THIRD-PARTY.txt"))
}

/// Copies a file to a place whose folder need not be there.
pub(super) fn place(from: &Path, to: &Path, mode: u32) -> anyhow::Result<()> {
    let bytes = fs::read(from).with_context(|| format!("reading {}", from.display()))?;
    create(to, &bytes, mode)
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
