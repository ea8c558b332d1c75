//! The subcommands that take documents up again: `report` renders them, `merge` adds them up, `rerun` runs their plan.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::ExitCode;
use std::{fmt, fs, io};

use anyhow::Context;
use httperf_command_line::args::{Args, ReportForm, os_string};
use httperf_command_line::grammar::{self, Command, Group, Opt, Order};
use httperf_command_line::names;
use httperf_command_line::outputs::ReadFile;
use httperf_command_line::planning::make_runnable;
use httperf_command_line::table::{reports, results};
use httperf_command_line::terminal;
use httperf_command_line::terminal::colour::ColourChoice;
use httperf_command_line::terminal::messages::Program;
use httperf_pages::Saved;
use httperf_plan::Plan;
use httperf_report::headings::Names;
use httperf_report::result::{self, Document, MergeError};
use httperf_report::{Form, Screen, Written as _, csv_header, csv_row};

use crate::runner;
use crate::runner::monitor::read_of_rank;
use crate::runner::results::{cannot_write, ensure_apart, file};

/// `httperf report`.
pub mod report {
    use super::*;

    /// The command line of `httperf report`.
    pub const COMMAND: Command<ReportArgs> = Command {
        name: "report",
        summary: "Renders any document again that --output has written.",
        words: "FILE...",
        groups: &[
            Group { title: "Form", options: FORM },
            Group { title: "General", options: &[Opt::help()] },
        ],
        also: None,
        word: |args, word| {
            args.files.push(os_string(word));
            Ok(())
        },
    };

    const FORM: &[Opt<ReportArgs>] = &[
        Opt::with_value("format", "text|html|csv|json|tsv|markdown|junit|hgrm", "renders the document in this form")
            .details(&[
                "Default: text, as on a terminal. html is the page with charts, csv a table, json the document in \
                 the newest version of its format; all documents have these. A sweep also has tsv, a comparison \
                 markdown; they and results have junit. hgrm is the distribution of a result's latency for \
                 HdrHistogram's plotters. Several results make one table, and their texts follow each other; \
                 other forms take one file.",
            ])
            .apply(|args, value| {
                let form = Form::named(&String::from_utf8_lossy(value.bytes()));
                let expected = || {
                    let names = Form::ALL.map(Form::name);
                    value.expected(&format!("one of {}", names.join(", ")))
                };
                args.form = form.ok_or_else(expected)?;
                Ok(())
            }),
        Opt::with_value("title", "TEXT", names::TITLE_HELP)
            .details(names::TITLE_DETAILS)
            .apply(|args, value| names::title(&mut args.names, value)),
        Opt::with_value("label", "TEXT", names::LABEL_HELP)
            .details(names::LABEL_DETAILS)
            .apply(|args, value| names::label(&mut args.names, value)),
        Opt::with_value("color", "auto|always|never", "colours the answer at the end of the text")
            .details(&["Default: auto, which colours it on a terminal unless NO_COLOR is set."])
            .apply(|args, value| {
                args.colour = ColourChoice::parse(value)?;
                Ok(())
            }),
    ];

    /// The arguments.
    #[derive(Debug, Default)]
    pub struct ReportArgs {
        files: Vec<OsString>,
        form: Form,
        names: Names,
        colour: ColourChoice,
    }

    /// Runs `httperf report` with these words behind it. `program` is the program itself.
    #[must_use]
    pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
        let program = program.subcommand(COMMAND.name);
        let mut args = ReportArgs::default();
        if let Err(stop) = grammar::parse(&COMMAND, words, Order::from_environment(), &mut args) {
            return program.stop(&COMMAND.describe(), &stop);
        }
        finish(&program, render(&args))
    }

    fn render(args: &ReportArgs) -> anyhow::Result<String> {
        let screen = Screen { columns: terminal::columns(), colours: args.colour.of(&io::stdout()) };
        let rendered = |name: &OsStr| -> anyhow::Result<String> {
            let saved = read_any(name)?;
            let report = saved.report();
            report.render_named(args.form, screen, &args.names).with_context(|| {
                let (form, kind) = (args.form.name(), report.kind());
                let has = |form: &Form| report.render(*form, screen).is_some();
                let forms: Vec<&str> = Form::ALL.into_iter().filter(has).map(Form::name).collect();
                format!(
                    "--format: expected a form that a {kind} has ({}) for `{}`, got `{form}`",
                    forms.join(", "),
                    name.to_string_lossy()
                )
            })
        };
        match (&args.files[..], args.form) {
            ([], _) => anyhow::bail!("expected the name of a document, got none"),
            ([name], _) => rendered(name),
            (names, Form::Text) => names
                .iter()
                .map(|name| Ok(format!("==> {} <==\n{}\n", name.to_string_lossy(), rendered(name)?)))
                .collect(),
            (names, Form::Csv) => {
                let rows = names.iter().map(|name| Ok(csv_row(&read(name)?)));
                Ok(csv_header() + &rows.collect::<anyhow::Result<String>>()?)
            }
            (names, form) => {
                anyhow::bail!("--format: {} takes one file, got {}", form.name(), names.len())
            }
        }
    }
}

/// `httperf merge`.
pub mod merge {
    use super::*;

    /// The command line of `httperf merge`.
    pub const COMMAND: Command<MergeArgs> = Command {
        name: "merge",
        summary: "Adds up results of generators that worked together, exactly.",
        words: "FILE...",
        groups: &[
            Group { title: "Result", options: RESULT },
            Group { title: "General", options: &[Opt::help()] },
        ],
        also: None,
        word: |args, word| {
            args.files.push(os_string(word));
            Ok(())
        },
    };

    const RESULT: &[Opt<MergeArgs>] =
        &[Opt::with_value("output", "FILE", "writes the sum to a file instead of standard output").apply(
            |args, value| {
                if value.bytes().is_empty() {
                    return Err(value.expected("the name of a file"));
                }
                args.output =
                    Some(value.os_str().to_owned()).filter(|name| name != httperf_command_line::args::STDOUT);
                Ok(())
            },
        )];

    /// The arguments.
    #[derive(Debug, Default)]
    pub struct MergeArgs {
        files: Vec<OsString>,
        output: Option<OsString>,
    }

    /// Runs `httperf merge` with these words behind it. `program` is the program itself.
    #[must_use]
    pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
        let program = program.subcommand(COMMAND.name);
        let mut args = MergeArgs::default();
        if let Err(stop) = grammar::parse(&COMMAND, words, Order::from_environment(), &mut args) {
            return program.stop(&COMMAND.describe(), &stop);
        }
        finish(&program, add_up(&args))
    }

    /// The sum, unless it went to a file.
    fn add_up(args: &MergeArgs) -> anyhow::Result<String> {
        anyhow::ensure!(!args.files.is_empty(), "expected the names of results, got none");
        let written: Vec<_> = args.output.iter().map(|name| ("--output", name.clone())).collect();
        ensure_apart(&written, &args.files.iter().map(ReadFile::plain).collect::<Vec<_>>())?;
        let (mut documents, mut names, mut logs) = (Vec::new(), Vec::new(), Vec::new());
        for name in &args.files {
            let bytes = bytes(name)?;
            match read_of_rank(&bytes) {
                Some((rank, told)) => logs.push((name, rank, told)),
                None => {
                    names.push(name);
                    let document = Document::read(&bytes);
                    documents.push(document.with_context(|| format!("`{}`", name.to_string_lossy()))?);
                }
            }
        }
        anyhow::ensure!(!documents.is_empty(), "expected the name of a result among them, got logs alone");
        let of = |first: usize, other: usize, what: &dyn fmt::Display| {
            let [first, other] = [first, other].map(|index| names[index].to_string_lossy());
            anyhow::anyhow!("`{first}` and `{other}` {what}")
        };
        let mut merged = result::merge(documents).map_err(|error| match error {
            MergeError::Twice { first, other, common } => of(first, other, &common),
            MergeError::Apart { first, other, apart } => of(first, other, &apart),
            error @ MergeError::Nothing => error.into(),
        })?;
        for (name, rank, told) in logs {
            let added = match &mut merged.fleet {
                Some(fleet) => fleet.add_log(rank, told),
                None => Err(format!("expected results of a fleet with the log of rank {rank}, got others")),
            };
            added.map_err(|wrong| anyhow::anyhow!("`{}`: {wrong}", name.to_string_lossy()))?;
        }
        match &args.output {
            None => Ok(merged.without_secrets().json()),
            Some(name) => {
                file::replace(name, merged.lasting()).with_context(|| cannot_write("--output", name))?;
                Ok(String::new())
            }
        }
    }
}

/// `httperf rerun`.
pub mod rerun {
    use super::*;

    /// The command line of `httperf rerun`.
    pub const COMMAND: Command<Args> = Command {
        name: "rerun",
        summary: "Runs the plan of a result again: the same requests at the same times.",
        words: "FILE",
        groups: &[
            Group { title: "Results", options: results::FILES },
            Group { title: "Reports", options: reports::FORMS },
            Group { title: "General", options: &[Opt::help()] },
        ],
        also: None,
        word: |args, word| {
            args.stray_words.push(word.to_vec());
            Ok(())
        },
    };

    /// Runs `httperf rerun` with these words behind it. `program` is the program itself.
    #[must_use]
    pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
        let program = program.subcommand(COMMAND.name);
        let (mut args, order) = (Args::default(), Order::from_environment());
        let parsed = grammar::parse(&COMMAND, words, order, &mut args);
        args.note_given(&COMMAND, words, order);
        if let Err(stop) = parsed.and_then(|()| args.check_rules()) {
            return program.stop(&COMMAND.describe(), &stop);
        }
        let program = program.quieted(args.quiet);
        args.report = args.report.or(ReportForm::Answer, ReportForm::Auto);
        match load(&args) {
            Ok((plan, file)) => runner::run(&program, &args, plan, &[file]).unwrap_or_else(|status| status),
            Err(error) => program.fail(&error),
        }
    }

    /// The plan, and the file that it is in.
    fn load(args: &Args) -> anyhow::Result<(Plan, PathBuf)> {
        let [name] = &args.stray_words[..] else {
            anyhow::bail!("expected the name of one result, got {}", args.stray_words.len());
        };
        let name = os_string(name);
        let plan =
            make_runnable(read(&name)?.plan).with_context(|| format!("`{}`", name.to_string_lossy()))?;
        let (calls, clocks) = (args.results.calls.is_some(), args.metrics.are_taken());
        let plan = plan.edit(|plan| (plan.watch.calls, plan.watch.clocks) = (calls, clocks))?;
        Ok((plan, name.into()))
    }
}

/// The result of a run in a file.
pub(crate) fn read(name: &OsStr) -> anyhow::Result<Document> {
    Document::read(&bytes(name)?).with_context(|| format!("`{}`", name.to_string_lossy()))
}

/// The document of any kind in a file.
pub(crate) fn read_any(name: &OsStr) -> anyhow::Result<Saved> {
    Saved::read(&bytes(name)?).with_context(|| format!("`{}`", name.to_string_lossy()))
}

fn bytes(name: &OsStr) -> anyhow::Result<Vec<u8>> {
    fs::read(name).with_context(|| format!("cannot read `{}`", name.to_string_lossy()))
}

/// Prints what was asked for, or why there is nothing to print.
fn finish(program: &Program, text: anyhow::Result<String>) -> ExitCode {
    match text {
        Ok(text) => program.print(text.as_bytes()).map_or_else(|status| status, |()| ExitCode::SUCCESS),
        Err(error) => program.fail(&error),
    }
}
