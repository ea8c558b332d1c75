//! Building the program, such that the same commit gives the same bytes in any folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};

use super::process::{output, run, say, tool};
use super::source::Source;
use super::target::{Libc, Target};

/// The built program.
#[derive(Clone, Debug)]
pub(super) struct Binary {
    pub(super) target: Target,
    pub(super) path: PathBuf,
}

/// Larger binaries are refused: something was linked that nobody meant to. No single thing makes them large: of 32 MB, 24 are
/// code, in 44,000 functions. To compile for size what is not on the path of a call would save a twentieth.
const MAX_BYTES: u64 = 40_000_000;

/// Libraries that every Linux with glibc has.
const GLIBC_LIBRARIES: &[&str] =
    &["libc.so", "libm.so", "libpthread.so", "libdl.so", "librt.so", "libutil.so", "ld-linux"];

pub(super) fn all(source: &Source, targets: &[Target], work: &Path) -> anyhow::Result<Vec<Binary>> {
    targets.iter().map(|target| one(source, *target, work)).collect()
}

fn one(source: &Source, target: Target, work: &Path) -> anyhow::Result<Binary> {
    say(&format!("building the program for {}", target.triple));
    run(compiler(source, target)?.args([
        "zigbuild",
        "--release",
        "--locked",
        "--package=httperf",
        "--target",
        &target.for_linker(),
    ]))?;
    let built = source.target_folder.join(target.triple).join("release/httperf");
    let path = work.join(format!("httperf-{}", target.triple));
    fs::copy(&built, &path).with_context(|| format!("copying {}", built.display()))?;
    let binary = Binary { target, path };
    check_size(&binary)?;
    check_libraries(&binary)?;
    check_paths(source, &binary)?;
    Ok(binary)
}

/// `cargo-zigbuild` with all that its compilers are told.
pub(super) fn compiler(source: &Source, target: Target) -> anyhow::Result<Command> {
    let folders = folders(source)?;
    let for_rust =
        folders.iter().map(|(folder, name)| format!("--remap-path-prefix={}={name}", folder.display()));
    let for_rust =
        for_rust.chain((target.libc == Libc::Musl).then(|| "-Ctarget-feature=+crt-static".to_owned()));
    // Tabs and blanks in folders would end an argument; in this form only the separator would.
    let for_rust = for_rust.collect::<Vec<_>>().join("\u{1f}");
    let for_c = folders.iter().map(|(folder, name)| format!("-ffile-prefix-map={}={name}", folder.display()));
    let for_c = for_c.collect::<Vec<_>>().join(" ");
    let cache = source.target_folder.join("zig-cache");
    let mut command = tool("cargo-zigbuild", source);
    command
        // Not the root, which the tools lie in: zig would name its headers relative to it, and bindgen, which runs in the
        // folder of another crate, would not find them.
        .current_dir(source.root.join("crates/httperf"))
        .env("CARGO_TARGET_DIR", &source.target_folder)
        .env("CARGO_INCREMENTAL", "0")
        .env("CARGO_ENCODED_RUSTFLAGS", for_rust)
        .env("CFLAGS", &for_c)
        .env("CXXFLAGS", &for_c)
        .env("XDG_CACHE_HOME", &cache)
        .env("ZIG_GLOBAL_CACHE_DIR", cache.join("global"))
        .env("ZIG_LOCAL_CACHE_DIR", cache.join("local"));
    // What somebody prefers on this machine is not part of a release.
    for name in
        ["RUSTFLAGS", "CC", "CXX", "AR", "LDFLAGS", "CARGO", "CARGO_BUILD_TARGET", "CARGO_BUILD_RUSTFLAGS"]
    {
        command.env_remove(name);
    }
    Ok(command)
}

/// Folders whose names would be in the program, with the names that it gets instead. Where one lies in another, the outer one
/// is first: the last that fits is taken.
fn folders(source: &Source) -> anyhow::Result<Vec<(PathBuf, &'static str)>> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cargo_home = std::env::var_os("CARGO_HOME").map_or_else(|| home.join(".cargo"), PathBuf::from);
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let mut folders = vec![
        (source.root.clone(), "/httperf"),
        (cargo_home, "/cargo"),
        (source.target_folder.clone(), "/target"),
        (PathBuf::from(sysroot.trim()), "/rust"),
        (super::process::our_tools(), "/tools"),
    ];
    folders.sort_by_key(|(folder, _)| folder.components().count());
    if let Some((folder, _)) = folders.iter().find(|(folder, _)| folder.to_string_lossy().contains(' ')) {
        bail!("the name of a folder has a blank, which compilers cannot be told: {}", folder.display());
    }
    Ok(folders)
}

fn check_size(binary: &Binary) -> anyhow::Result<()> {
    let size = fs::metadata(&binary.path).context("reading the built program")?.len();
    ensure!(
        size <= MAX_BYTES,
        "the program for {} has {size} bytes, more than {MAX_BYTES}",
        binary.target.triple
    );
    Ok(())
}

/// A program for glibc needs nothing else; a static one needs nothing.
fn check_libraries(binary: &Binary) -> anyhow::Result<()> {
    let headers =
        output(Command::new("readelf").args(["--wide", "--dynamic", "--program-headers"]).arg(&binary.path))?;
    let needed = headers.lines().filter(|line| line.contains("(NEEDED)"));
    let needed: Vec<_> = needed.filter_map(|line| line.split(['[', ']']).nth(1)).collect();
    let allowed = match binary.target.libc {
        Libc::Gnu => GLIBC_LIBRARIES,
        Libc::Musl => &[],
    };
    let foreign = needed.iter().find(|library| !allowed.iter().any(|allowed| library.starts_with(allowed)));
    if let Some(library) = foreign {
        bail!("the program for {} needs {library}", binary.target.triple);
    }
    ensure!(
        binary.target.libc == Libc::Gnu || !headers.contains("INTERP"),
        "the program for {} needs a loader",
        binary.target.triple
    );
    Ok(())
}

/// No folder of this machine shows in the program.
fn check_paths(source: &Source, binary: &Binary) -> anyhow::Result<()> {
    let bytes = fs::read(&binary.path).with_context(|| format!("reading {}", binary.path.display()))?;
    for (folder, _) in folders(source)? {
        let name = folder.to_string_lossy().into_owned();
        ensure!(!contains(&bytes, name.as_bytes()), "the program for {} names {name}", binary.target.triple);
    }
    Ok(())
}

fn contains(bytes: &[u8], wanted: &[u8]) -> bool {
    bytes.windows(wanted.len()).any(|window| window == wanted)
}
