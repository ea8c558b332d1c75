//! Packages of PyPI, in Python environments below the folder of what was built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The Python of an environment that has a package of this name, which is fetched if it is within reach; `None`
/// if it is not. `folder` is `CARGO_TARGET_TMPDIR` of the test program.
#[must_use]
pub fn with_package(folder: &Path, package: &str) -> Option<PathBuf> {
    with_module(folder, package, &[package])
}

/// The Python of an environment that has a module of this name, which packages of other names bring.
#[must_use]
pub fn with_module(folder: &Path, module: &str, packages: &[&str]) -> Option<PathBuf> {
    with_installs(folder, module, &[packages])
}

/// The same, of a package that is installed without those it asks for, but beside these others.
#[must_use]
pub fn with_bare_package(folder: &Path, module: &str, bare: &str, packages: &[&str]) -> Option<PathBuf> {
    with_installs(folder, module, &[packages, &["--no-deps", bare]])
}

/// `installs`: the arguments of each installation.
fn with_installs(folder: &Path, module: &str, installs: &[&[&str]]) -> Option<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let environment = folder.join(module);
    let python = environment.join("bin/python3");
    let has_it = has(&python, module) || install(&environment, module, installs) && has(&python, module);
    has_it.then_some(python)
}

fn has(python: &Path, module: &str) -> bool {
    succeeds(Command::new(python).args(["-c", &format!("import {module}")]))
}

/// Other test programs may install it at the same time: each makes an environment of its own, and the first that is done
/// gives it the name by which all find it. Python finds an environment by the place of its program.
fn install(environment: &Path, module: &str, installs: &[&[&str]]) -> bool {
    let own = environment.with_extension(process::id().to_string());
    let pip = ["-m", "pip", "install", "--quiet", "--retries=0", "--timeout=10"];
    let is_made = succeeds(Command::new("python3").args(["-m", "venv"]).arg(&own))
        && installs
            .iter()
            .all(|install| succeeds(Command::new(own.join("bin/python3")).args(pip).args(*install)));
    // What cannot do is in the way. Another program's that can do is found by the caller.
    if is_made && !has(&environment.join("bin/python3"), module) {
        let _ = fs::remove_dir_all(environment);
        let _ = fs::rename(&own, environment);
    }
    let _ = fs::remove_dir_all(&own);
    is_made
}

fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
}
