//! `httperf compare`: results that were saved, against a base. What is shared with `httperf ab`, which makes its runs
//! itself, is here too: how a comparison is asked for, printed, and what it does to the exit status.

use std::ffi::OsString;
use std::process::ExitCode;

use httperf_command_line::args::os_string;
use httperf_command_line::grammar::{self, Command, Group, Opt, Order, ParseStop, Value};
use httperf_command_line::outputs::{Outputs, ReadFile, TakesOutputs};
use httperf_command_line::table;
use httperf_command_line::terminal::messages::Program;
use httperf_plan::objective::Tolerance;
use httperf_report::Form;
use httperf_report::compare::{
    Comparison, ComparisonOutcome, ComparisonSettings, Named, Overall, is_comparable, results,
};
use httperf_report::result::Document;

use crate::commands::saved::read;
use crate::progress::Progress;
use crate::runner::results::documents::DocumentFiles;

/// The command line of `httperf compare`.
pub const COMMAND: Command<CompareArgs> = Command {
    name: "compare",
    summary: "Compares results with a base: what is better, what is worse, and what cannot be told.",
    words: "BASE.json NEW.json...",
    groups: &[
        Group { title: "Comparison", options: COMPARISON },
        Group { title: "Results", options: RESULTS },
        Group { title: "General", options: &[Opt::help()] },
    ],
    also: None,
    word: |args, word| {
        args.files.push(os_string(word));
        Ok(())
    },
};

const COMPARISON: &[Opt<CompareArgs>] = &[
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

const RESULTS: &[Opt<CompareArgs>] = &[
    CompareArgs::OUTPUT,
    CompareArgs::JSON,
    CompareArgs::CSV,
    CompareArgs::HTML,
    CompareArgs::SVG,
    CompareArgs::PNG,
    CompareArgs::TITLE,
    CompareArgs::JUNIT,
    CompareArgs::FORMAT,
];

/// The arguments.
#[derive(Debug, Default)]
pub struct CompareArgs {
    files: Vec<OsString>,
    outputs: Outputs,
    settings: ComparisonSettings,
}

impl TakesOutputs for CompareArgs {
    const FORMATS: &'static str = "text|markdown|csv|json|html|junit";

    const OUTPUT_DETAILS: &'static [&'static str] =
        &["`httperf schema` describes it. `-` is standard output, as with --json."];

    const FORMAT_DETAILS: &'static [&'static str] = &["Default: text."];

    fn outputs(&mut self) -> &mut Outputs {
        &mut self.outputs
    }
}

/// Runs `httperf compare` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    let mut args = CompareArgs::default();
    if let Err(stop) = grammar::parse(&COMMAND, words, Order::from_environment(), &mut args) {
        return program.stop(&COMMAND.describe(), &stop);
    }
    compare(&program, &args).unwrap_or_else(|error| program.fail(&error))
}

fn compare(program: &Program, args: &CompareArgs) -> anyhow::Result<ExitCode> {
    let documents = documents(&args.files)?;
    let read: Vec<ReadFile> = args.files.iter().map(ReadFile::plain).collect();
    let mut files = DocumentFiles::prepare(&args.outputs, &read)?;
    let names: Vec<String> = args.files.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let named: Vec<Named<'_>> =
        names.iter().zip(&documents).map(|(name, document)| Named { name, document }).collect();
    let settings = ComparisonSettings { options: table::plan_options(), ..args.settings.clone() };
    let comparison = results(named[0], &named[1..], &settings);
    files.write_last(program, &comparison);
    let status = conclude(program, &comparison, Progress::new(program, &args.outputs));
    Ok(if files.lack_something() { ExitCode::FAILURE } else { status })
}

/// The results, the base first; at least two.
fn documents(files: &[OsString]) -> anyhow::Result<Vec<Document>> {
    let count = files.len();
    anyhow::ensure!(
        count >= 2,
        "expected the names of a base and of a result to compare with it, got {count}"
    );
    files.iter().map(|name| read(name)).collect()
}

/// The exit statuses of a comparison.
const WORSE_STATUS: u8 = 1;
pub(crate) const CANNOT_TELL_STATUS: u8 = 2;

/// Prints a comparison, and returns what it comes to. Why it is void is said on stderr where nobody might read it in
/// the form that is printed.
pub(crate) fn conclude(program: &Program, comparison: &Comparison, progress: Progress<'_>) -> ExitCode {
    let void = comparison.against.iter().filter(|against| against.verdict == Overall::Void);
    for against in void.filter(|_| progress.form() != Form::Text) {
        for obstacle in &against.obstacles {
            let (new, base) = (&against.new.name, &comparison.base.name);
            program.say(format_args!("`{new}` is not comparable with `{base}`: {}", obstacle.text));
        }
    }
    if let Err(status) = progress.finish(comparison) {
        return status;
    }
    match comparison.outcome {
        ComparisonOutcome::Passed => ExitCode::SUCCESS,
        ComparisonOutcome::Failed => ExitCode::from(WORSE_STATUS),
        ComparisonOutcome::CannotTell => ExitCode::from(CANNOT_TELL_STATUS),
    }
}

pub(crate) const FAIL_IF_HELP: &str =
    "exits with status 1 if a figure changed by more than this, such as p99>+5%";
pub(crate) const FAIL_IF_DETAILS: &[&str] = &[
    "A figure, < or >, and a change with its sign: in % of the base's figure, in a unit of time, in percentage points (pp) of \
     a share, or per second. Figures are replies, errors, failed, unexpected, mean and any percentile of the latency. Several \
     are separated by commas, or the option is given several times.",
    "The change is too large if the whole interval of 95 % confidence is beyond the bound; if only a part of it is, the exit \
     status is 2. Without this option it is 1 if any figure is worse.",
];

/// The value of `--fail-if`.
pub(crate) fn tolerances(value: Value<'_>) -> Result<Vec<Tolerance>, ParseStop> {
    let text = String::from_utf8_lossy(value.bytes());
    let tolerances = Tolerance::parse_list(&text).map_err(|error| value.rejected(error))?;
    match tolerances.iter().find(|tolerance| !is_comparable(tolerance.metric())) {
        Some(_) => {
            Err(value.expected("replies, errors, failed, unexpected, mean or a percentile of the latency"))
        }
        None => Ok(tolerances),
    }
}
