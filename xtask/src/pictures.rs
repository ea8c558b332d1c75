//! Pictures in the documents. Each is drawn by the program from saved documents of real runs: those of the commands on the
//! page that shows it.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail, ensure};

use crate::markdown::{Block, blocks};

/// The folder with the documents that pictures are drawn from.
const DOCUMENTS: &str = "docs/pictures";

/// A picture that documents show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Path relative to the root of the workspace.
    pub path: &'static str,
    /// Names of the saved documents that it shows, in order.
    pub documents: &'static [&'static str],
    /// Page with the commands that make them.
    pub page: &'static str,
    /// The way to make them from that page.
    source: Source,
}

/// The commands that make the documents of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The command that begins with this, against the first server of the page.
    Command(&'static str),
    /// A block, as a script of the shell: the first one that begins with this.
    Script(&'static str),
}

/// Beginning of commands that start a server.
const SERVER: &str = "httperf serve ";

/// All pictures.
pub const PICTURES: &[Picture] = &[
    Picture {
        path: "docs/guide/sweep.svg",
        documents: &["sweep.json"],
        page: "README.md",
        source: Source::Command("httperf sweep "),
    },
    Picture {
        path: "docs/measure/coordinated-omission.svg",
        documents: &["closed-loop.json", "open-loop.json"],
        page: "docs/measure/coordinated-omission.md",
        source: Source::Script(SERVER),
    },
];

/// Exit statuses of `--strict`. An overloaded server leaves calls unfinished, which alone makes a run SUSPECT.
const SUSPECT: i32 = 2;
const INVALID: i32 = 3;

impl Picture {
    /// Draws the picture from its saved documents.
    ///
    /// # Errors
    ///
    /// The program fails.
    pub fn draw(&self, program: &Path, to: &Path) -> anyhow::Result<()> {
        let mut plot = Command::new(program);
        plot.arg("plot").args(self.documents).arg("--output").arg(to);
        // Curves have the names of files, so there are to be no folders in them.
        plot.current_dir(super::root().join(DOCUMENTS));
        let output = plot.output().with_context(|| format!("starting {}", program.display()))?;
        ensure!(
            output.status.success(),
            "{} cannot be drawn: {}",
            self.path,
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }

    /// The script of the shell that makes the documents, if it is one.
    ///
    /// # Errors
    ///
    /// The page lacks it.
    pub fn script(&self) -> anyhow::Result<Option<String>> {
        let Source::Script(beginning) = self.source else { return Ok(None) };
        let found = self.blocks()?.into_iter().find(|block| block.first_line().starts_with(beginning));
        let block = found.with_context(|| format!("{} has no such block", self.page))?;
        Ok(Some(block.lines.join("\n")))
    }

    /// A command of the page.
    fn command(&self, beginning: &str) -> anyhow::Result<String> {
        let mut commands = self.blocks()?.into_iter().flat_map(|block| block.commands());
        let found = commands.find(|command| command.starts_with(beginning));
        found.with_context(|| format!("{} has no command that begins with `{beginning}`", self.page))
    }

    fn blocks(&self) -> anyhow::Result<Vec<Block>> {
        let page = super::root().join(self.page);
        let text = fs::read_to_string(&page).with_context(|| format!("reading {}", page.display()))?;
        Ok(blocks(&text))
    }
}

/// Builds the release program, makes the runs of all pictures anew, saves their documents, and draws them. It takes some
/// minutes.
///
/// # Errors
///
/// A page lacks a command, a command fails, or a file cannot be written.
pub fn write_pictures() -> anyhow::Result<()> {
    let workshop = Workshop::build()?;
    let documents = super::root().join(DOCUMENTS);
    fs::create_dir_all(&documents).with_context(|| format!("creating {}", documents.display()))?;
    for picture in PICTURES {
        match picture.source {
            Source::Command(beginning) => {
                let _server = workshop.serve(&picture.command(SERVER)?)?;
                workshop.run(&picture.command(beginning)?)?;
            }
            Source::Script(_) => {
                let script = picture.script()?.expect("its source is one");
                let status = workshop.shell(&script).status().context("starting sh")?;
                ensure!(status.success(), "the commands of {} failed: {status}", picture.page);
            }
        }
        for name in picture.documents {
            let document = usable(&workshop.folder.join(name))?;
            let to = documents.join(name);
            fs::write(&to, document).with_context(|| format!("writing {}", to.display()))?;
        }
        picture.draw(&workshop.program, &super::root().join(picture.path))?;
    }
    Ok(())
}

/// A result on a single line, which takes a quarter of the space; refuses one whose figures do not describe the server.
fn usable(document: &Path) -> anyhow::Result<String> {
    let text = fs::read_to_string(document).with_context(|| format!("reading {}", document.display()))?;
    let value: serde_json::Value =
        serde_json::from_str(&text).with_context(|| format!("reading {}", document.display()))?;
    let is_invalid = value["verdict"]["level"] == "INVALID";
    ensure!(!is_invalid, "{} is INVALID: try again when the machine is idle", document.display());
    Ok(format!("{value}\n"))
}

/// The target folder that this program was built in, `TARGET/PROFILE/xtask`.
pub(crate) fn target_folder() -> anyhow::Result<PathBuf> {
    let own = own_folder()?;
    Ok(own.parent().context("this program lies in no target folder")?.to_owned())
}

fn own_folder() -> anyhow::Result<PathBuf> {
    let own = env::current_exe().context("looking for this program")?;
    Ok(own.parent().context("this program lies in no folder")?.to_owned())
}

/// Builds the program in the profile of this one, and returns its path.
pub(crate) fn program() -> anyhow::Result<PathBuf> {
    let folder = own_folder()?;
    build(if folder.ends_with("release") { &["--release"] } else { &[] })?;
    Ok(folder.join("httperf"))
}

fn build(options: &[&str]) -> anyhow::Result<()> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.args(["build", "--locked", "--package", "httperf"]).args(options).current_dir(super::root());
    ensure!(build.status().context("starting cargo")?.success(), "the program cannot be built");
    Ok(())
}

/// The release program, and a folder for what it writes.
struct Workshop {
    program: PathBuf,
    folder: PathBuf,
    search_path: OsString,
}

impl Workshop {
    fn build() -> anyhow::Result<Self> {
        build(&["--release"])?;
        let target = target_folder()?;
        let folder = target.join("pictures");
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let others = env::var_os("PATH").unwrap_or_default();
        let release = target.join("release");
        let program = release.join("httperf");
        let folders = std::iter::once(release).chain(env::split_paths(&others));
        Ok(Self { program, search_path: env::join_paths(folders)?, folder })
    }

    /// Commands as a shell understands them.
    fn shell(&self, commands: &str) -> Command {
        println!("$ {commands}");
        let mut shell = Command::new("sh");
        shell.args(["-c", commands]).current_dir(&self.folder).env("PATH", &self.search_path);
        shell
    }

    /// Runs a command, whose figures have to describe the server.
    fn run(&self, command: &str) -> anyhow::Result<()> {
        let command = format!("exec {command} --strict");
        let status = self.shell(&command).status().context("starting sh")?;
        ensure!(status.code() != Some(INVALID), "a run was INVALID: try again when the machine is idle");
        ensure!(status.success() || status.code() == Some(SUSPECT), "`{command}` failed: {status}");
        Ok(())
    }

    /// Starts a server, and waits until it listens.
    fn serve(&self, command: &str) -> anyhow::Result<Server> {
        let mut shell = self.shell(&format!("exec {command}"));
        let mut server = Server(shell.stdout(Stdio::piped()).spawn().context("starting sh")?);
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
