//! The command line of `httperf run`: its own options, those of a run, and those that the file gives.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use httperf_command_line::args::Args;
use httperf_command_line::grammar::parse::given;
use httperf_command_line::grammar::{self, Borrowed, Command, Group, Opt, Order, ParseStop, ValueForm};
use httperf_command_line::hints::{self, nearest};
use httperf_command_line::planning::http_version;
use httperf_command_line::table;
use httperf_command_line::values::{StdoutMeans, file};
use httperf_plan::url::HttpUrl;
use httperf_plan::workload_file::{FileOption, FileProblem, Given, OptionsFile, WorkloadFile};

/// The command line of `httperf run`.
pub const COMMAND: Command<RunArgs, Args> = Command {
    name: "run",
    summary: "Runs a workload described by a file: visits with steps, captures and checks.",
    words: "FILE.toml | FILE.hurl",
    groups: &[
        Group { title: "Workload", options: WORKLOAD },
        Group { title: "Trying a file", options: TRYING },
        Group { title: "Results of visits", options: RESULTS },
        Group { title: "General", options: &[Opt::help()] },
    ],
    also: Some(Borrowed { groups: table::COMMAND.groups, part: |args| &mut args.run }),
    word: |args, word| {
        if !args.file.as_os_str().is_empty() {
            return Err(ParseStop::rejected(
                [b"expected one workload file, got also `", word, b"`"].concat(),
            ));
        }
        args.file = PathBuf::from(OsString::from_vec(word.to_vec()));
        Ok(())
    },
};

const WORKLOAD: &[Opt<RunArgs>] = &[
    Opt::with_value("base", "URL", "sets {{base}}, the server that URLs begin with")
        .common()
        .details(&["Takes the place of `base` in the file."])
        .apply(|args, value| {
            args.base = Some(text(value)?);
            Ok(())
        }),
    Opt::with_value("variable", "NAME=VALUE", "sets a variable; may be given more than once")
        .common()
        .repeatable()
        .apply(|args, value| {
            let text = text(value)?;
            let (name, given) = text
                .split_once('=')
                .filter(|(name, _)| !name.is_empty())
                .ok_or_else(|| value.expected("NAME=VALUE"))?;
            args.variables.push((name.to_owned(), given.to_owned()));
            Ok(())
        }),
    Opt::with_value("seed", "N", "draws other random choices")
        .common()
        .details(&["Think times, rows and UUIDs are such choices. Runs with the same seed make the same visits, on any \
                    number of threads. Default: 0."])
        .apply(|args, value| {
            args.seed = Some(value.unsigned().ok_or_else(|| value.expected("a whole number"))?);
            Ok(())
        }),
    Opt::with_value("visits", "N", "makes at most this many visits")
        .common()
        .details(&["Without it, and without anything else that says when to end, one visit is made."])
        .apply(|args, value| {
            let count = value.unsigned().filter(|&count| count > 0);
            args.visits = Some(count.ok_or_else(|| value.expected("a whole number of at least 1"))?);
            Ok(())
        }),
];

const TRYING: &[Opt<RunArgs>] = &[
    Opt::flag("check", "checks all files and ends").common().details(&["Everything that is wrong in them is listed; nothing is sent."]).apply(|args, _| {
        args.checks_only = true;
        Ok(())
    }),
    Opt::flag("dry-run", "prints the first requests and sends nothing")
        .common()
        .details(&[
            "The first three visits, or as many as --visits says. Values that replies would give are shown as \
             the names of their variables.",
        ])
        .apply(|args, _| {
            args.shows_only = true;
            Ok(())
        }),
    Opt::flag("trace", "shows each step as it is judged")
        .common()
        .details(&[
            "Request, status, captures and checks. On standard error. With --visits 1, the way to see what a file does. \
             Printing takes time: do not measure with it.",
        ])
        .apply(|args, _| {
            args.traces = true;
            Ok(())
        }),
];

const RESULTS: &[Opt<RunArgs>] = &[Opt::with_value(
    "steps",
    "FILE",
    "writes the figures of each step as CSV",
)
.common()
.details(&[
    "A row for each step in each load phase, then a row for each step in the whole run, which have an empty \
         phase. `-` writes them to standard output, which then carries nothing else.",
])
.apply(|args, value| file(&mut args.run.results.steps, value, StdoutMeans::Itself))];

/// The visits that `--dry-run` shows.
const SHOWN: u64 = 3;

/// The arguments of `httperf run`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunArgs {
    /// The workload file.
    pub(super) file: PathBuf,
    /// `--base`.
    base: Option<String>,
    /// `--variable`, each time it was given.
    variables: Vec<(String, String)>,
    /// `--seed`.
    seed: Option<u64>,
    /// `--visits`.
    pub(super) visits: Option<u64>,
    /// `--check`.
    pub(super) checks_only: bool,
    /// `--dry-run`.
    pub(super) shows_only: bool,
    /// `--trace`.
    pub(super) traces: bool,
    /// The options of a run.
    pub(super) run: Args,
}

/// Options of a run that say what a workload file says.
const UNFIT: &[&str] = &[
    "server",
    "server-name",
    "servers",
    "port",
    "uri",
    "unix-socket",
    "num-conns",
    "num-calls",
    "burst-length",
    "wlog",
    "wset",
    "wsess",
    "wsesslog",
    "wsesspage",
    "session-cookies",
    "failure-status",
    "retry-on-failure",
    "max-connections",
    "max-piped-calls",
    "method",
    "body",
    "body-file",
    "form",
    "targets",
    "prompts",
    "model",
    "max-tokens",
    "whole-answers",
    "grpc",
    "pipeline",
    "call-pause",
    "request-rate",
    "request-period",
    "per-connection",
];

impl RunArgs {
    /// Reads the words behind `httperf run`.
    ///
    /// # Errors
    /// The mistake in them, or what they ask for instead of a run.
    pub(super) fn parse(words: &[OsString]) -> Result<Self, ParseStop> {
        let mut args = Self::default();
        let order = Order::from_environment();
        grammar::parse(&COMMAND, words, order, &mut args)?;
        if args.file.as_os_str().is_empty() {
            let hint = "`httperf new shop` writes one to begin with".to_owned();
            return Err(
                ParseStop::rejected("expected the name of a workload file, got none").with_hint(Some(hint))
            );
        }
        check_kind(&args.file)?;
        Ok(args)
    }

    /// Returns the values of the command line that take the place of those of the file.
    pub(super) fn given(&self) -> Given {
        Given {
            base: self.base.clone(),
            variables: self.variables.clone(),
            seed: self.seed,
            visits: self.visits,
            // One that is not known is refused when the run is planned.
            version: self.run.http_version.and_then(|version| http_version(version).ok()),
            ..Given::default()
        }
    }

    pub(super) fn file_name(&self) -> String {
        self.file.display().to_string()
    }

    pub(super) fn visits_shown(&self) -> u64 {
        self.visits.unwrap_or(SHOWN)
    }
}

/// Ends of the names of other tools' files.
const FOREIGN: [&str; 8] = ["js", "ts", "py", "scala", "java", "jmx", "yml", "yaml"];

/// Refuses files of other tools by their names.
fn check_kind(file: &Path) -> Result<(), ParseStop> {
    let name = file.display().to_string();
    let message = format!("expected a file in TOML or Hurl, got `{name}`");
    if name.contains("://") {
        let hint = format!("a run of one URL needs no command: httperf {name} --rate 100 --duration 10s");
        return Err(ParseStop::rejected(message).with_hint(Some(hint)));
    }
    let other = hints::for_file(&name).filter(|line| !line.starts_with("httperf run"));
    if other.is_some() {
        return Err(ParseStop::rejected(message).with_hint(other));
    }
    let extension = file.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    if !FOREIGN.contains(&extension) {
        return Ok(());
    }
    let hint = "docs/guide/coming-from.md shows what scripts of other tools become; `httperf new shop` writes a workload \
                to begin with";
    Err(ParseStop::rejected(message).with_hint(Some(hint.to_owned())))
}

/// Refuses options that say what scenarios say.
pub(super) fn check_fit(words: &[OsString]) -> Result<(), ParseStop> {
    let typed = given(&COMMAND, words, Order::from_environment());
    match typed.iter().find(|given| UNFIT.contains(&given.option.long)) {
        Some(unfit) => Err(ParseStop::rejected(format!(
            "--{} cannot be used with a workload file: it says that itself",
            unfit.option.long
        ))),
        None => Ok(()),
    }
}

/// Refuses a value of `--base` that steps cannot begin their URLs with.
pub(super) fn check_base(args: &RunArgs) -> Result<(), ParseStop> {
    let Some(base) = args.base.as_ref().filter(|base| HttpUrl::parse(base.as_bytes()).is_err()) else {
        return Ok(());
    };
    let guess = format!("http://{base}");
    let is_guess = !base.is_empty() && !base.contains("://") && HttpUrl::parse(guess.as_bytes()).is_ok();
    let hint = is_guess.then(|| format!("did you mean {guess}?"));
    Err(ParseStop::rejected(format!("--base: expected a URL such as http://host:8080, got `{base}`"))
        .with_hint(hint))
}

/// Refuses a variable that the workload does not have: it was probably misspelt.
pub(super) fn check_variables(args: &RunArgs, file: &WorkloadFile) -> Result<(), ParseStop> {
    /// The most names that are listed.
    const LISTED: usize = 20;
    let Some((name, _)) = args.variables.iter().find(|(name, _)| !file.variables.contains(name)) else {
        return Ok(());
    };
    let names: Vec<String> = file.variables.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
    let more = if file.variables.len() > LISTED { ", …" } else { "" };
    Err(ParseStop::rejected(match names.is_empty() {
        true => format!("--variable: expected none, as the workload has no variables, got `{name}`"),
        false => {
            format!(
                "--variable: expected a variable of the workload ({}{more}), got `{name}`",
                names.join(", ")
            )
        }
    }))
}

/// Returns the command line of a file without scenarios: its options, then those that were typed.
pub(super) fn command_line(
    file: &OptionsFile,
    words: &[OsString],
) -> Result<Vec<OsString>, Vec<FileProblem>> {
    let mut line = Vec::new();
    let mut problems = Vec::new();
    let mut scratch = Args::default();
    for option in &file.options {
        match checked_words(option, &mut scratch, |_| true) {
            Ok(words) => line.extend(words),
            Err(problem) => problems.push(problem),
        }
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let typed = given(&COMMAND, words, Order::from_environment());
    let base = typed.iter().rfind(|given| given.option.long == "base").and_then(|given| given.value.clone());
    let shared =
        typed.iter().filter(|given| table::COMMAND.options().any(|known| known.long == given.option.long));
    line.extend(shared.map(|given| {
        let value = given.value.iter().flat_map(|value| [b"=", &value[..]]).collect::<Vec<_>>().concat();
        OsString::from_vec([b"--", given.option.long.as_bytes(), &value].concat())
    }));
    // The URL comes last: with POSIXLY_CORRECT, it ends the options.
    line.extend(base.or_else(|| file.base.clone().map(String::into_bytes)).map(OsString::from_vec));
    Ok(line)
}

/// Refuses options that only scenarios have a use for.
pub(super) fn check_without_scenarios(args: &RunArgs) -> Result<(), ParseStop> {
    let typed = [
        ("--variable", !args.variables.is_empty()),
        ("--seed", args.seed.is_some()),
        ("--visits", args.visits.is_some()),
        ("--dry-run", args.shows_only),
        ("--steps", args.run.results.steps.is_some()),
    ];
    match typed.into_iter().find(|&(_, is_typed)| is_typed) {
        Some((option, _)) => Err(ParseStop::rejected(format!(
            "{option}: expected a workload file with scenarios, got `{}`",
            args.file_name()
        ))),
        None => Ok(()),
    }
}

/// Joins the options of the file with those of the command line, which override them.
pub(super) fn join(file: &WorkloadFile, words: &[OsString]) -> Result<Args, Vec<FileProblem>> {
    let mut args = Args::default();
    let problems: Vec<FileProblem> =
        file.options.iter().filter_map(|option| apply(option, &mut args).err()).collect();
    if !problems.is_empty() {
        return Err(problems);
    }
    if let Some(url) = file.origins.first().filter(|url| url.https) {
        debug_assert!(url.https, "all servers have the scheme of the first");
        let tls = grammar::parse(&table::COMMAND, &["--ssl".into()], Order::from_environment(), &mut args);
        tls.expect("the option takes no value");
    }
    let (mut joined, order) = (RunArgs { run: args, ..RunArgs::default() }, Order::from_environment());
    grammar::parse(&COMMAND, words, order, &mut joined).expect("the words were read once before");
    joined.run.note_given(&COMMAND, words, order);
    // Its scenarios have a schedule of their own, which may end by itself.
    joined.run.brought = vec!["rate", "concurrency", "duration"];
    if !file.objectives.all.is_empty() || !file.objectives.scoped.is_empty() {
        joined.run.brought.push("slo");
    }
    Ok(joined.run)
}

/// Applies an option that the file sets.
fn apply(option: &FileOption, args: &mut Args) -> Result<(), FileProblem> {
    checked_words(option, args, |name| !UNFIT.contains(&name)).map(drop)
}

/// Options that end the program before a run.
const NO_RUN: [&str; 3] = ["help", "version", "print-workload"];

/// Applies an option of a file, and returns it as words of a command line.
fn checked_words(
    option: &FileOption,
    args: &mut Args,
    is_fit: impl Fn(&str) -> bool,
) -> Result<Vec<OsString>, FileProblem> {
    let is_fit = |name: &str| is_fit(name) && !NO_RUN.contains(&name);
    let known = table::COMMAND.options().find(|known| known.long == option.name);
    let Some(known) = known.filter(|known| is_fit(known.long)) else {
        let names = table::COMMAND.options().map(|known| known.long);
        let near = nearest(&option.name, names.filter(|name| is_fit(name)));
        let hint = near.map(|near| format!("did you mean `{near}`?"));
        let message = format!("expected an option of the command line, got `{}`", option.name);
        return Err(option.problem(&message, hint.as_deref()));
    };
    let mut words = Vec::new();
    for value in &option.values {
        let word = match (known.value, &value[..]) {
            (ValueForm::None | ValueForm::Optional(_), "true") => format!("--{}", known.long),
            (ValueForm::None | ValueForm::Optional(_), "false") => continue,
            (ValueForm::None, _) => {
                let message = format!("expected true or false, got `{value}`");
                return Err(option.problem(&message, None));
            }
            _ => format!("--{}={value}", known.long),
        };
        words.push(OsString::from(word));
    }
    let order = Order::from_environment();
    let parsed = grammar::parse(&table::COMMAND, &words, order, args);
    parsed.map_err(|stop| option.problem(&stop.text(), None))?;
    args.note_given(&table::COMMAND, &words, order);
    Ok(words)
}

fn text(value: grammar::Value<'_>) -> Result<String, ParseStop> {
    let text = String::from_utf8(value.bytes().to_vec());
    text.map_err(|_| value.expected("text in UTF-8"))
}
