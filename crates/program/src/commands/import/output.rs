//! Files of an import: none is left half-written, and none that exists is replaced unless that was asked for.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};

use anyhow::anyhow;
use httperf_command_line::args::STDOUT;
use httperf_command_line::outputs::ReadFile;
use httperf_command_line::terminal::messages::Program;
use httperf_import::workload::{FileName, Workload};
use httperf_import::{Error, Report};
use httperf_plan::secrets;

use crate::runner::results::{cannot_write, ensure_apart};

/// The reason for which nothing was imported.
#[derive(Debug)]
pub(super) enum Failure {
    /// The recording cannot be read.
    Recording(Error),
    /// Standard output has failed, as was said.
    Stdout(ExitCode),
    /// Anything else.
    Other(anyhow::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Recording(error)
    }
}

/// What was made.
#[derive(Debug)]
pub(super) struct Imported {
    pub(super) report: Report,
    /// The command line to type next, if files were written.
    pub(super) next: Option<String>,
}

/// The place of what is made.
#[derive(Debug)]
pub(super) struct Output<'a> {
    pub(super) program: &'a Program,
    /// `--output`.
    pub(super) name: Option<&'a OsStr>,
    /// `--force`.
    pub(super) force: bool,
    /// The recording, which is read while the output is written.
    pub(super) recording: &'a OsStr,
    /// The name of the recording.
    pub(super) stem: String,
}

impl Output<'_> {
    /// Has a trace written.
    pub(super) fn trace(
        &self,
        write: impl FnOnce(&mut dyn Write) -> Result<Report, Error>,
    ) -> Result<Imported, Failure> {
        if self.name.is_some_and(|name| name == STDOUT) {
            return self.trace_to_stdout(write).map(|report| Imported { report, next: None });
        }
        let path = self.name.map_or_else(|| PathBuf::from(format!("{}.trace", self.stem)), PathBuf::from);
        self.refuse_existing(&path)?;
        let failed = |error: io::Error| failed(&path, error);
        if fs::metadata(&path).is_ok_and(|metadata| !metadata.is_file()) {
            // Nothing can take the place of a pipe or a device.
            let file = OpenOptions::new().write(true).open(&path).map_err(failed)?;
            let report = write(&mut BufWriter::new(file)).map_err(|error| of_output(&path, error))?;
            return Ok(Imported { report, next: None });
        }
        let temporary = Temporary::beside(&path, false).map_err(failed)?;
        let mut out = BufWriter::new(&temporary.file);
        let report = write(&mut out).map_err(|error| of_output(&path, error))?;
        drop(out);
        temporary.replace(&path).map_err(failed)?;
        self.program.say_bare(format_args!("wrote {}", path.display()));
        let next = Some(format!("httperf replay {} {EXAMPLE_SERVER}/ --dry-run", argument(&path)));
        Ok(Imported { report, next })
    }

    fn trace_to_stdout(
        &self,
        write: impl FnOnce(&mut dyn Write) -> Result<Report, Error>,
    ) -> Result<Report, Failure> {
        let mut result = Ok(Report::default());
        let printed = self.program.print_with(|out| match write(out) {
            Err(Error::Write(error)) => Err(error),
            other => {
                result = other;
                Ok(())
            }
        });
        printed.map_err(Failure::Stdout)?;
        Ok(result?)
    }

    /// Writes the files of a workload, all of them or none. Returns the command line to type next.
    pub(super) fn workload(&self, workload: &Workload) -> Result<Option<String>, Failure> {
        if self.name.is_some_and(|name| name == STDOUT) {
            let [file] = &workload.files[..] else {
                let count = workload.files.len();
                return Err(Failure::Other(anyhow!(
                    "--output: expected a folder for a workload with {count} files of steps, got `-`"
                )));
            };
            let attached = workload.attachments.iter().map(|attachment| &attachment.name);
            for name in attached.chain(&workload.missing) {
                self.program
                    .say_bare(format_args!("note: {} must be beside the file of steps", name.as_str()));
            }
            return self.program.print(file.written().as_bytes()).map(|()| None).map_err(Failure::Stdout);
        }
        let folder = self.name.map_or_else(|| PathBuf::from(&self.stem), PathBuf::from);
        let files = workload.written(&self.stem);
        for file in &files {
            self.refuse_existing(&folder.join(&file.name))?;
        }
        fs::create_dir_all(&folder).map_err(|error| failed(&folder, error))?;
        let mut written = Vec::with_capacity(files.len());
        for file in &files {
            let path = folder.join(&file.name);
            let is_private = secrets::mentions_secret(&String::from_utf8_lossy(&file.content));
            let temporary = Temporary::beside(&path, is_private).and_then(|temporary| {
                (&temporary.file).write_all(&file.content)?;
                Ok(temporary)
            });
            written.push((temporary.map_err(|error| failed(&path, error))?, path));
        }
        for (temporary, path) in written {
            temporary.replace(&path).map_err(|error| failed(&path, error))?;
        }
        let toml = folder.join(format!("{}.toml", self.stem));
        let count = workload.files.len();
        let files = if count == 1 { "file" } else { "files" };
        self.program.say_bare(format_args!("wrote {} and {count} {files} of steps", toml.display()));
        // Without them the run is refused.
        if !workload.missing.is_empty() {
            let names: Vec<&str> = workload.missing.iter().map(FileName::as_str).collect();
            self.program.say_bare(format_args!(
                "note: before a run, put into {}: {}",
                folder.display(),
                names.join(", ")
            ));
            return Ok(None);
        }
        let base = match workload.base {
            Some(_) => String::new(),
            None => format!(" --base {EXAMPLE_SERVER}"),
        };
        Ok(Some(format!("httperf run {}{base} --visits 1 --trace", argument(&toml))))
    }

    /// Refuses a file that exists, unless such ones are to be replaced; the recording never is.
    fn refuse_existing(&self, path: &Path) -> Result<(), Failure> {
        if self.recording != STDOUT {
            let written = [("--output", path.as_os_str().to_owned())];
            ensure_apart(&written, &[ReadFile::plain(self.recording)]).map_err(Failure::Other)?;
        }
        let exists = fs::symlink_metadata(path).is_ok_and(|metadata| !metadata.is_dir());
        // A device takes what is written in any case.
        let is_device = fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir());
        if !exists || is_device || self.force {
            return Ok(());
        }
        let shown = path.display();
        Err(Failure::Other(anyhow!(
            "--output: expected a file that does not exist yet, got `{shown}`\nhint: --force replaces files"
        )))
    }
}

/// The server of a command line to type next, where the recording tells none.
const EXAMPLE_SERVER: &str = "http://127.0.0.1:8080";

/// A path as a shell takes it, and as no option.
fn argument(path: &Path) -> String {
    let shown = path.display().to_string();
    let shown = if shown.starts_with('-') { format!("./{shown}") } else { shown };
    shlex::try_quote(&shown).map_or_else(|_| shown.clone(), std::borrow::Cow::into_owned)
}

fn failed(path: &Path, error: io::Error) -> Failure {
    Failure::Other(anyhow::Error::new(error).context(cannot_write("--output", path.as_os_str())))
}

/// Tells a trace that cannot be written from a recording that cannot be read.
fn of_output(path: &Path, error: Error) -> Failure {
    match error {
        Error::Write(error) => failed(path, error),
        other => Failure::Recording(other),
    }
}

/// A file next to the one that it is to replace. It is removed unless it does.
#[derive(Debug)]
struct Temporary {
    path: PathBuf,
    file: File,
    is_kept: bool,
}

impl Temporary {
    /// `is_private`: nobody else may read it.
    fn beside(path: &Path, is_private: bool) -> io::Result<Self> {
        let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
        let mut temporary = OsStr::new(".").to_owned();
        temporary.push(name);
        temporary.push(format!(".{}.tmp", process::id()));
        let path = path.with_file_name(temporary);
        let mode = if is_private { 0o600 } else { 0o666 };
        let file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&path)?;
        Ok(Self { path, file, is_kept: false })
    }

    fn replace(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        self.is_kept = true;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_kept {
            let _removed: io::Result<()> = fs::remove_file(&self.path);
        }
    }
}
