//! `httperf compare`: results that were saved, against a base. What is shared with `httperf ab`, which makes its runs
//! itself, is here too: how a comparison is asked for, printed, and what it does to the exit status.

use std::ffi::OsString;
use std::fs;
use std::process::ExitCode;

use anyhow::Context;
use httperf_plan::objective::Tolerance;
use httperf_report::compare::{
    Comparison, ComparisonOutcome, ComparisonSettings, Named, Overall, is_comparable, results,
};
use httperf_report::html::{Pictures, comparison_page};
use httperf_report::result::Document;

use crate::command_line::args::os_string;
use crate::command_line::grammar::{self, Command, Group, Opt, Order, ParseStop, Value};
use crate::terminal::messages::Program;

/// The command line of `httperf compare`.
pub const COMMAND: Command<CompareArgs> = Command {
    name: "compare",
    summary: "Compares results with a base: what is better, what is worse, and what cannot be told.",
    words: "BASE.json NEW.json...",
    groups: &[
        Group { title: "Comparison", options: COMPARISON },
        Group { title: "General", options: &[Opt::help()] },
    ],
    also: None,
    word: |args, word| {
        args.files.push(os_string(word));
        Ok(())
    },
};

const COMPARISON: &[Opt<CompareArgs>] = &[
    Opt::with_value("format", FORMATS, FORMAT_HELP).details(FORMAT_DETAILS).apply(|args, value| {
        args.form = CompareForm::parse(value)?;
        Ok(())
    }),
    Opt::with_value("fail-if", "CHANGE", FAIL_IF_HELP).details(FAIL_IF_DETAILS).apply(|args, value| {
        args.settings.tolerances.extend(tolerances(value)?);
        Ok(())
    }),
    Opt::flag("force", "compares results even if they are not comparable")
        .details(&[
            "Without it, runs are not compared if their workloads, requests, protocols, rates or phases \
             differ, or if one of them is INVALID. With it, the reports say what differs.",
        ])
        .apply(|args, _| {
            args.settings.force = true;
            Ok(())
        }),
];

/// The arguments.
#[derive(Debug, Default)]
pub struct CompareArgs {
    files: Vec<OsString>,
    form: CompareForm,
    settings: ComparisonSettings,
}

/// Runs `httperf compare` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    let mut args = CompareArgs::default();
    if let Err(stop) = grammar::parse(&COMMAND, words, Order::from_environment(), &mut args) {
        return program.stop(&COMMAND.describe(), &stop);
    }
    match documents(&args.files) {
        Ok(documents) => compare(&program, &args, &documents),
        Err(error) => {
            program.say(format_args!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The results, the base first; at least two.
fn documents(files: &[OsString]) -> anyhow::Result<Vec<Document>> {
    let count = files.len();
    anyhow::ensure!(
        count >= 2,
        "expected the names of a base and of a result to compare with it, got {count}"
    );
    files.iter().map(read).collect()
}

fn compare(program: &Program, args: &CompareArgs, documents: &[Document]) -> ExitCode {
    let names: Vec<String> = args.files.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let named: Vec<Named<'_>> =
        names.iter().zip(documents).map(|(name, document)| Named { name, document }).collect();
    let comparison = results(named[0], &named[1..], &args.settings);
    let documents: Vec<&Document> = documents.iter().collect();
    conclude(program, &comparison, args.form, Pictures::Runs(&documents))
}

fn read(name: &OsString) -> anyhow::Result<Document> {
    let shown = name.to_string_lossy();
    let bytes = fs::read(name).with_context(|| format!("cannot read `{shown}`"))?;
    Document::read(&bytes).with_context(|| format!("`{shown}`"))
}

/// The exit statuses of a comparison.
const WORSE_STATUS: u8 = 1;
pub(crate) const CANNOT_TELL_STATUS: u8 = 2;

/// Prints a comparison, and returns what it comes to. Why it is void is said on stderr where nobody might read it in
/// the form that is printed.
pub(crate) fn conclude(
    program: &Program,
    comparison: &Comparison,
    form: CompareForm,
    pictures: Pictures<'_>,
) -> ExitCode {
    let void = comparison.against.iter().filter(|against| against.verdict == Overall::Void);
    for against in void.filter(|_| form != CompareForm::Text) {
        for obstacle in &against.obstacles {
            let (new, base) = (&against.new.name, &comparison.base.name);
            program.say(format_args!("`{new}` is not comparable with `{base}`: {}", obstacle.text));
        }
    }
    if let Err(status) = program.print(form.render(comparison, pictures).as_bytes()) {
        return status;
    }
    match comparison.outcome {
        ComparisonOutcome::Passed => ExitCode::SUCCESS,
        ComparisonOutcome::Failed => ExitCode::from(WORSE_STATUS),
        ComparisonOutcome::CannotTell => ExitCode::from(CANNOT_TELL_STATUS),
    }
}

/// `--format`: what is printed on stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompareForm {
    /// Tables.
    #[default]
    Text,
    /// Tables for a pull request.
    Markdown,
    /// A document for programs.
    Json,
    /// A page with charts.
    Html,
    /// Test cases for CI systems.
    Junit,
}

pub(crate) const FORMATS: &str = "text|markdown|json|html|junit";
pub(crate) const FORMAT_HELP: &str = "prints the comparison in this form";
pub(crate) const FORMAT_DETAILS: &[&str] = &[
    "Default: text. markdown is for a comment on a pull request, json for programs, html is a page with the distributions \
     of both in one chart, junit has a test case for each tolerance, or for each figure if there are none.",
];

pub(crate) const FAIL_IF_HELP: &str =
    "exits with status 1 if a figure changed by more than this, such as p99>+5%";
pub(crate) const FAIL_IF_DETAILS: &[&str] = &[
    "A figure, < or >, and a change with its sign: in % of the base's figure, in a unit of time, in percentage points (pp) of \
     a share, or per second. Figures are replies, errors, failed, unexpected, mean and any percentile of the latency. Several \
     are separated by commas, or the option is given several times.",
    "The change is too large if the whole interval of 95 % confidence is beyond the bound; if only a part of it is, the exit \
     status is 2. Without this option it is 1 if any figure is worse.",
];

impl CompareForm {
    /// The value of `--format`.
    pub(crate) fn parse(value: Value<'_>) -> Result<Self, ParseStop> {
        match value.bytes() {
            b"text" => Ok(Self::Text),
            b"markdown" => Ok(Self::Markdown),
            b"json" => Ok(Self::Json),
            b"html" => Ok(Self::Html),
            b"junit" => Ok(Self::Junit),
            _ => Err(ParseStop::expected("--format", "text, markdown, json, html or junit", value)),
        }
    }

    /// The comparison in this form.
    fn render(self, comparison: &Comparison, pictures: Pictures<'_>) -> String {
        match self {
            Self::Text => comparison.text(),
            Self::Markdown => comparison.markdown(),
            Self::Json => comparison.json(),
            Self::Html => comparison_page(comparison, pictures),
            Self::Junit => comparison.junit(),
        }
    }
}

/// The value of `--fail-if`.
pub(crate) fn tolerances(value: Value<'_>) -> Result<Vec<Tolerance>, ParseStop> {
    let text = String::from_utf8_lossy(value.bytes());
    let tolerances =
        Tolerance::parse_list(&text).map_err(|error| ParseStop::rejected(format!("--fail-if: {error}")))?;
    match tolerances.iter().find(|tolerance| !is_comparable(tolerance.metric())) {
        Some(_) => Err(ParseStop::expected(
            "--fail-if",
            "replies, errors, failed, unexpected, mean or a percentile of the latency",
            value,
        )),
        None => Ok(tolerances),
    }
}
