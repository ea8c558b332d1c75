//! Pictures in the documents, drawn anew from real runs of the commands beside them in the README.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail, ensure};

use crate::markdown;

/// A picture that documents show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Path relative to the root of the workspace.
    pub path: &'static str,
    /// Name of the file that the README's command writes.
    file: &'static str,
    /// Beginning of that command.
    command: &'static str,
}

/// All pictures.
pub const PICTURES: &[Picture] =
    &[Picture { path: "docs/guide/sweep.svg", file: "sweep.svg", command: "httperf sweep " }];

/// Beginning of the command that starts the server of the README's tour.
const SERVER: &str = "httperf serve ";

/// Exit statuses of `--strict`. An overloaded server leaves calls unfinished, which alone makes a run SUSPECT.
const SUSPECT: i32 = 2;
const INVALID: i32 = 3;

/// Builds the release program, starts the README's server on this machine, runs the commands, and puts what they draw in its
/// place. It takes some minutes.
///
/// # Errors
///
/// The README lacks a command, a command fails, or a picture cannot be written.
pub fn write_pictures() -> anyhow::Result<()> {
    let readme = fs::read_to_string(super::root().join("README.md")).context("reading README.md")?;
    let commands: Vec<String> =
        markdown::blocks(&readme).iter().flat_map(markdown::Block::commands).collect();
    let command = |beginning: &str| {
        let found = commands.iter().find(|command| command.starts_with(beginning));
        found.with_context(|| format!("README.md has no command that begins with `{beginning}`"))
    };
    let workshop = Workshop::build()?;
    let _server = workshop.serve(command(SERVER)?)?;
    for picture in PICTURES {
        workshop.run(command(picture.command)?)?;
        let (from, to) = (workshop.folder.join(picture.file), super::root().join(picture.path));
        fs::copy(&from, &to).with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
    }
    Ok(())
}

/// The release program, and a folder for what it writes.
struct Workshop {
    folder: PathBuf,
    search_path: OsString,
}

impl Workshop {
    fn build() -> anyhow::Result<Self> {
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build.args(["build", "--release", "--locked", "--package", "httperf"]).current_dir(super::root());
        ensure!(build.status().context("starting cargo")?.success(), "the program cannot be built");
        // This program is `TARGET/PROFILE/xtask`.
        let own = env::current_exe().context("looking for this program")?;
        let target = own.parent().and_then(Path::parent).context("this program lies in no target folder")?;
        let folder = target.join("pictures");
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let others = env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(target.join("release")).chain(env::split_paths(&others));
        Ok(Self { search_path: env::join_paths(folders)?, folder })
    }

    /// A command as a shell understands it.
    fn shell(&self, command: &str) -> Command {
        println!("$ {command}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("exec {command}")]);
        shell.current_dir(&self.folder).env("PATH", &self.search_path);
        shell
    }

    /// Runs a command, whose figures have to describe the server.
    fn run(&self, command: &str) -> anyhow::Result<()> {
        let command = format!("{command} --strict");
        let status = self.shell(&command).status().context("starting sh")?;
        ensure!(status.code() != Some(INVALID), "a run was INVALID: try again when the machine is idle");
        ensure!(status.success() || status.code() == Some(SUSPECT), "`{command}` failed: {status}");
        Ok(())
    }

    /// Starts a server, and waits until it listens.
    fn serve(&self, command: &str) -> anyhow::Result<Server> {
        let mut server = Server(self.shell(command).stdout(Stdio::piped()).spawn().context("starting sh")?);
        let stdout = server.0.stdout.take().expect("its output is piped");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).context("reading what the server prints")?;
        if !line.starts_with("listening on ") {
            bail!("`{command}` does not listen");
        }
        Ok(server)
    }
}

/// A server, killed when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail if it has ended already, which is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
