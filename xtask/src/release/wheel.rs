//! The wheel for Python: the program, as `pip install httperf-load` and `pipx run --spec httperf-load httperf` want it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::{env, fs};

use anyhow::Context as _;

use super::build::{Binary, compiler};
use super::process::{run, say, tool};
use super::source::Source;
use super::target::GLIBC;

/// Builds the wheel of `python/pyproject.toml`, with the program that was built before.
pub(super) fn build(source: &Source, binary: &Binary, work: &Path, out: &Path) -> anyhow::Result<()> {
    say(&format!("packing the wheel for {}", binary.target.triple));
    let cargo = work.join("cargo");
    fs::write(&cargo, cargo_script(binary)).with_context(|| format!("writing {}", cargo.display()))?;
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).context("making a script executable")?;
    let compiler = compiler(source, binary.target)?;
    let mut maturin = tool("maturin", source);
    for (name, value) in compiler.get_envs() {
        match value {
            Some(value) => maturin.env(name, value),
            None => maturin.env_remove(name),
        };
    }
    let compatibility = format!("manylinux_{}", GLIBC.replace('.', "_"));
    maturin.env("CARGO", &cargo).env("REAL_CARGO", env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    maturin.current_dir(source.root.join("python")).args(["build", "--release", "--locked"]);
    maturin.args(["--target", binary.target.triple, "--compatibility", &compatibility]);
    run(maturin.arg("--out").arg(out))
}

/// Maturin's cargo: it compiles as for the other packages, so that what is built already is taken.
fn cargo_script(binary: &Binary) -> String {
    format!(
        "#!/bin/bash\n\
         # Made by `cargo xtask release`.\n\
         export CARGO=$REAL_CARGO\n\
         [ \"$1\" = rustc ] || exec \"$CARGO\" \"$@\"\n\
         words=()\n\
         for word; do words+=(\"${{word/#{triple}/{linker}}}\"); done\n\
         exec cargo-zigbuild \"${{words[@]}}\"\n",
        triple = binary.target.triple,
        linker = binary.target.for_linker(),
    )
}
