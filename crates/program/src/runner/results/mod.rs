//! Results on their way out: the document of a run, the files that options name, and the subcommands that take
//! documents up again.

mod call_log;
pub(crate) mod documents;
pub(crate) mod file;
mod step_names;

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use anyhow::Context;
use httperf_command_line::args::{Args, ResultArgs, STDOUT};
use httperf_command_line::outputs::{FileForm, NamedFile, ReadFile};
use httperf_command_line::planning::files_of;
use httperf_plan::Plan;
use httperf_report::headings::Names;
use httperf_report::result::Document;
use httperf_report::{Form, Written as _, csv_header, csv_row, steps_csv};

use self::file::{Clash, Damage, DamageKind, Writable};

pub use self::call_log::{CallLog, CallSender};

/// The file in which a rank of a fleet keeps what it measured itself: `--output` with a folder.
#[derive(Debug)]
pub(crate) struct OwnResult {
    name: OsString,
    file: Writable,
}

impl OwnResult {
    /// Looks whether the file of a rank can be written, if there is to be one. Makes the folder.
    ///
    /// # Errors
    /// A folder or a file that cannot be made.
    pub(crate) fn prepare(args: &ResultArgs, rank: u32) -> anyhow::Result<Option<Self>> {
        let Some(folder) = args.output_folder() else { return Ok(None) };
        std::fs::create_dir_all(folder).with_context(|| cannot_write("--output", folder.as_os_str()))?;
        let name = folder.join(format!("rank-{rank}.json")).into_os_string();
        let file = Writable::new(&name).with_context(|| cannot_write("--output", &name))?;
        Ok(Some(Self { name, file }))
    }

    /// Writes the file.
    ///
    /// # Errors
    /// If that cannot be done.
    pub(crate) fn write(&self, document: &Document) -> anyhow::Result<()> {
        self.file
            .put_or_rescue(&self.name, &document.lasting().into())
            .with_context(|| cannot_write("--output", &self.name))
    }
}

/// Files of a run's result.
#[derive(Debug)]
pub struct ResultFiles {
    /// Files of a disk come first: what may wait for a reader is not to keep them waiting.
    files: Vec<ResultFile>,
    names: Names,
}

#[derive(Debug)]
struct ResultFile {
    option: &'static str,
    name: OsString,
    content: Content,
    file: Writable,
}

/// Content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    /// The document in some form.
    Document(FileForm),
    /// The figures of steps.
    Steps,
}

impl ResultFiles {
    /// Looks whether the files can be written, so that nobody measures for an hour in vain.
    ///
    /// # Errors
    /// A file that cannot be written, by its option.
    pub fn prepare(args: &ResultArgs) -> anyhow::Result<Self> {
        let document = args.output.as_ref().filter(|name| *name != STDOUT && args.output_folder().is_none());
        let all = [
            ("--output", document, FileForm::Text(Form::Json)),
            ("--html", args.html.as_ref(), FileForm::Text(Form::Html)),
            ("--csv", args.csv.as_ref(), FileForm::Text(Form::Csv)),
            ("--hgrm", args.hgrm.as_ref(), FileForm::Text(Form::Hgrm)),
            ("--svg", args.svg.as_ref(), FileForm::Svg),
            ("--png", args.png.as_ref(), FileForm::Png),
            ("--junit", args.junit.as_ref(), FileForm::Text(Form::Junit)),
        ];
        let forms = all.into_iter().map(|(option, name, form)| (option, name, Content::Document(form)));
        let steps = args.steps.as_ref().filter(|_| !args.steps_on_stdout());
        let forms = forms.chain([("--steps", steps, Content::Steps)]);
        let named: Vec<_> =
            forms.filter_map(|(option, name, content)| Some((option, name?, content))).collect();
        let mut files = Vec::new();
        for (option, name, content) in named {
            let file = Writable::new(name).with_context(|| cannot_write(option, name))?;
            if content == Content::Document(FileForm::Text(Form::Csv)) && !file.is_special() {
                ensure_takes_rows(option, name)?;
            }
            files.push(ResultFile { option, name: name.clone(), content, file });
        }
        files.sort_by_key(|output| output.file.is_special());
        Ok(Self { files, names: args.names.clone() })
    }

    /// Writes the files. What went wrong with some of them comes back; the others are there. `before_special` is called
    /// before the first that somebody must read.
    #[must_use]
    pub fn write(&self, document: &Document, before_special: impl FnOnce()) -> Vec<anyhow::Error> {
        let count = self.files.iter().filter(|output| !output.file.is_special()).count();
        let (regular, special) = self.files.split_at(count);
        let mut errors: Vec<anyhow::Error> =
            regular.iter().filter_map(|output| output.write(document, &self.names).err()).collect();
        before_special();
        errors.extend(special.iter().filter_map(|output| output.write(document, &self.names).err()));
        errors
    }
}

impl ResultFile {
    fn write(&self, document: &Document, names: &Names) -> anyhow::Result<()> {
        let outcome = match self.content {
            // Results gather in a table.
            Content::Document(FileForm::Text(Form::Csv)) => {
                let (header, row) = (csv_header(), csv_row(document));
                let appended = self.file.append(&header, &row);
                appended.map_err(|error| self.file.rescued(&self.name, (header + &row).as_bytes(), error))
            }
            Content::Document(form) => {
                self.file.put_or_rescue(&self.name, &documents::contents(form, document, names))
            }
            Content::Steps => self.file.put_or_rescue(&self.name, &steps_of(document).into_bytes().into()),
        };
        outcome.with_context(|| cannot_write(self.option, &self.name))
    }
}

/// Returns the figures of a run's steps as CSV.
pub(crate) fn steps_of(document: &Document) -> String {
    document.figures.visits.as_ref().map(steps_csv).unwrap_or_default()
}

/// Refuses a file that is to be written and that another option is to write too, or that is read: what one writes, the
/// other would replace or lose. Files are the same whatever links lead to them.
///
/// # Errors
/// The first such file, by its option.
pub(crate) fn ensure_apart(written: &[NamedFile], read: &[ReadFile]) -> anyhow::Result<()> {
    let Some(Clash { written: (option, name), other }) = file::clash(written, read) else { return Ok(()) };
    let name = name.to_string_lossy();
    match other {
        Some(other) => {
            anyhow::bail!("{option}: expected a file of its own, got `{name}`, which {other} names too")
        }
        None => anyhow::bail!("{option}: expected a file of its own, got `{name}`, which is read"),
    }
}

/// Refuses a run that would write to a file that it reads, or several things to one file. `further`: the files that are
/// read besides those of the plan and those that options name.
///
/// # Errors
/// As [`ensure_apart`].
pub(crate) fn ensure_run_apart(args: &Args, plan: &Plan, further: &[PathBuf]) -> anyhow::Result<()> {
    ensure_apart(&args.written_files(), &read_files(args, plan, further))
}

/// All files that a run reads.
pub(crate) fn read_files(args: &Args, plan: &Plan, further: &[PathBuf]) -> Vec<ReadFile> {
    let mut read = args.read_files();
    read.extend(further.iter().map(ReadFile::plain));
    read.extend(files_of(plan).into_iter().map(ReadFile::plain));
    read
}

/// Refuses a table below which a row of ours would not be one.
fn ensure_takes_rows(option: &str, name: &OsStr) -> anyhow::Result<()> {
    let damage = file::damage(name, &csv_header())
        .with_context(|| format!("{option}: cannot read `{}`", name.to_string_lossy()))?;
    let Some(Damage { line, fault, found }) = damage else { return Ok(()) };
    let place = format!("{option}: {}:{line}", name.to_string_lossy());
    let found = shortened(&found);
    match fault {
        DamageKind::Header => anyhow::bail!(
            "{place}: expected the names of httperf's columns ({}), got `{found}`\nhint: name a file that is not there \
             yet, or one that --csv of this version has written",
            shortened(csv_header().trim_end())
        ),
        DamageKind::Unfinished => anyhow::bail!(
            "{place}: expected a line that ends, got `{found}`, which a new row would continue\nhint: end that line, or \
             remove it"
        ),
    }
}

/// The beginning of a text that is long.
fn shortened(text: &str) -> String {
    const LENGTH: usize = 60;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

pub(crate) fn cannot_write(option: &str, name: &OsStr) -> String {
    format!("{option}: cannot write `{}`", name.to_string_lossy())
}
