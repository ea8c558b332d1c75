//! Running tools, with an environment in which nothing depends on where and when they run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};

use super::source::Source;
use super::target::{Libc, Target};

/// A tool, and what brings it.
struct Tool {
    name: &'static str,
    from: &'static str,
}

const OURS: &str = "scripts/release-tools.sh";

const TOOLS_OF_BUILD: &[Tool] = &[
    Tool { name: "cargo-zigbuild", from: OURS },
    Tool { name: "git", from: "apt install git" },
    Tool { name: "cmake", from: "apt install cmake" },
    Tool { name: "readelf", from: "apt install binutils" },
    Tool { name: "tar", from: "apt install tar" },
    Tool { name: "gzip", from: "apt install gzip" },
];
const TOOLS_OF_PACKAGES: &[Tool] = &[
    Tool { name: "dpkg-deb", from: "apt install dpkg" },
    Tool { name: "rpmbuild", from: "apt install rpm" },
    Tool { name: "maturin", from: OURS },
];
const TOOLS_OF_STATIC: &[Tool] = &[Tool { name: "buildah", from: "apt install buildah" }];

/// Fails with a list of all tools that are missing.
pub(super) fn check_tools(targets: &[Target]) -> anyhow::Result<()> {
    let has = |libc| targets.iter().any(|target| target.libc == libc);
    let mut needed: Vec<&Tool> = TOOLS_OF_BUILD.iter().collect();
    if has(Libc::Gnu) {
        needed.extend(TOOLS_OF_PACKAGES);
    }
    if has(Libc::Musl) {
        needed.extend(TOOLS_OF_STATIC);
    }
    let missing = needed.into_iter().filter(|tool| find(tool.name).is_none());
    let missing: Vec<_> = missing.map(|tool| format!("{} ({})", tool.name, tool.from)).collect();
    ensure!(missing.is_empty(), "tools are missing: {}", missing.join(", "));
    for target in targets {
        ensure!(
            has_standard_library(*target)?,
            "Rust's standard library for {} is missing\nhint: run `{OURS}`, or `rustup target add {}`",
            target.triple,
            target.triple
        );
    }
    Ok(())
}

fn has_standard_library(target: Target) -> anyhow::Result<bool> {
    let folder = output(Command::new("rustc").args(["--print", "target-libdir", "--target", target.triple]))?;
    Ok(Path::new(folder.trim()).is_dir())
}

/// The path of a tool: those of `scripts/release-tools.sh` first, then what is installed.
fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).collect::<Vec<_>>();
    let folders = [our_tools()].into_iter().chain(installed);
    folders.map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Where `scripts/release-tools.sh` puts what it gets.
pub(super) fn our_tools() -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| crate::root().join("target"), PathBuf::from);
    let target = target.canonicalize().unwrap_or(target);
    target.join("tools/release/bin")
}

/// A tool in an environment without what would show in its output.
pub(super) fn tool(name: &str, source: &Source) -> Command {
    let mut command = Command::new(find(name).unwrap_or_else(|| PathBuf::from(name)));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [our_tools()].into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(folders).expect("folders of a search path have no colon");
    command
        .env("PATH", path)
        .env("SOURCE_DATE_EPOCH", source.seconds.to_string())
        .env("LC_ALL", "C.UTF-8")
        .env("TZ", "UTC")
        .stdin(Stdio::null());
    command
}

/// Runs a command to its end; what it says is seen.
pub(super) fn run(command: &mut Command) -> anyhow::Result<()> {
    // Standard output is for the list of what was made.
    command.stdout(std::io::stderr());
    let status = command.status().with_context(|| format!("running {}", name(command)))?;
    ensure!(status.success(), "{} failed ({status}); its arguments: {}", name(command), arguments(command));
    Ok(())
}

/// Runs a command to its end and returns its standard output.
pub(super) fn output(command: &mut Command) -> anyhow::Result<String> {
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("running {}", name(command)))?;
    let status = output.status;
    if !status.success() {
        bail!("{} failed ({status}); its arguments: {}", name(command), arguments(command));
    }
    String::from_utf8(output.stdout).with_context(|| format!("reading the output of {}", name(command)))
}

fn name(command: &Command) -> String {
    Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn arguments(command: &Command) -> String {
    command.get_args().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Says on standard error what is being done.
pub(super) fn say(what: &str) {
    eprintln!("release: {what}");
}

/// Writes `SHA256SUMS` of all files of a folder.
pub(super) fn write_checksums(folder: &Path) -> anyhow::Result<()> {
    let sums = output(Command::new("sha256sum").args(names(folder)?).current_dir(folder))?;
    super::write(&folder.join("SHA256SUMS"), &sums)
}

/// Prints sizes and names of the files of a folder.
pub(super) fn list(folder: &Path) -> anyhow::Result<()> {
    for name in names(folder)? {
        let path = folder.join(&name);
        let size = fs::metadata(&path).with_context(|| format!("reading {}", path.display()))?.len();
        println!("{size:>10} {}", path.display());
    }
    Ok(())
}

/// The names of what is in a folder, sorted.
pub(super) fn names(folder: &Path) -> anyhow::Result<Vec<String>> {
    let context = || format!("reading {}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(context)? {
        names.push(entry.with_context(context)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
