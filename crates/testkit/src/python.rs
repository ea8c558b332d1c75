//! Packages of PyPI, in Python environments below the folder of what was built.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The Python of an environment that has a package of this name, which is fetched if it is within reach; `None`
/// if it is not. `folder` is `CARGO_TARGET_TMPDIR` of the test program.
#[must_use]
pub fn with_package(folder: &Path, package: &str) -> Option<PathBuf> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let environment = folder.join(package);
    let python = environment.join("bin/python3");
    let has_it = has(&python, package) || install(&environment, package) && has(&python, package);
    has_it.then_some(python)
}

fn has(python: &Path, package: &str) -> bool {
    succeeds(Command::new(python).args(["-c", &format!("import {package}")]))
}

/// Other test programs may install it at the same time: each makes an environment of its own, and the first that is done
/// gives it the name by which all find it. Python finds an environment by the place of its program.
fn install(environment: &Path, package: &str) -> bool {
    let own = environment.with_extension(process::id().to_string());
    let installs = ["-m", "pip", "install", "--quiet", "--retries=0", "--timeout=10", package];
    let is_made = succeeds(Command::new("python3").args(["-m", "venv"]).arg(&own))
        && succeeds(Command::new(own.join("bin/python3")).args(installs));
    // What cannot do is in the way. Another program's that can do is found by the caller.
    if is_made && !has(&environment.join("bin/python3"), package) {
        let _ = fs::remove_dir_all(environment);
        let _ = fs::rename(&own, environment);
    }
    let _ = fs::remove_dir_all(&own);
    is_made
}

fn succeeds(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).output().is_ok_and(|output| output.status.success())
}
