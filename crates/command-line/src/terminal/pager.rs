//! Long texts for a person: through a pager, as git and man show theirs.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use rustix::fs::{MemfdFlags, memfd_create};

use super::{rows, shows_stdout};

/// Replaces this process by a pager with this text, if standard output is a terminal with fewer rows. Returns if no pager is
/// found or wanted: `PAGER` names it (default `less`); empty or `cat` means none.
pub(crate) fn show(text: &str) {
    let is_long = rows().is_some_and(|rows| text.lines().count() >= rows);
    let pager = env::var_os("PAGER");
    let is_wanted = pager.as_ref().is_none_or(|pager| !pager.is_empty() && pager != "cat");
    let is_dumb = env::var_os("TERM").is_none_or(|terminal| terminal == "dumb");
    if !shows_stdout() || !is_long || !is_wanted || is_dumb {
        return;
    }
    // The text can be printed as well.
    let Ok(text) = in_memory(text) else { return };
    let _error = command(pager).stdin(text).exec();
}

/// The text as a file that ends with the process: a pager may take as long as it likes to read it.
fn in_memory(text: &str) -> io::Result<Stdio> {
    let mut file = File::from(memfd_create(c"text", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    file.rewind()?;
    Ok(Stdio::from(file))
}

fn command(pager: Option<OsString>) -> Command {
    let Some(pager) = pager else {
        let mut less = Command::new("less");
        if env::var_os("LESS").is_none() {
            less.env("LESS", "FRX");
        }
        return less;
    };
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(pager);
    shell
}
