//! `httperf new`: writes a workload to begin with, a file of load and one of steps.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use httperf_command_line::args::os_string;
use httperf_command_line::grammar::{self, Command, Group, Opt, Order, ParseStop};
use httperf_command_line::terminal::messages::Program;
use httperf_plan::url::HttpUrl;

use crate::runner::results::file::Writable;

/// The command line of `httperf new`.
pub const COMMAND: Command<NewArgs> = Command {
    name: "new",
    summary: "Writes a workload to begin with, NAME.toml and NAME.hurl, for `httperf run`.",
    words: "NAME",
    groups: &[
        Group { title: "Workload", options: WORKLOAD },
        Group { title: "General", options: &[Opt::help()] },
    ],
    also: None,
    word: |args, word| {
        if args.name.is_some() {
            let message = [b"expected one name, got also `", word, b"`"].concat();
            return Err(ParseStop::rejected(message));
        }
        args.name = Some(os_string(word));
        Ok(())
    },
};

const WORKLOAD: &[Opt<NewArgs>] = &[
    Opt::with_value("base", "URL", "names the server that is asked for pages")
        .details(&["Default: http://127.0.0.1:8080, where `httperf serve` listens if nothing else is said."])
        .apply(|args, value| {
            let expected = || value.expected("a URL such as https://shop.example");
            let url = std::str::from_utf8(value.bytes()).map_err(|_| expected())?;
            let is_plain = !url.chars().any(|letter| letter.is_control() || "\"\\{}".contains(letter));
            HttpUrl::parse(value.bytes()).ok().filter(|_| is_plain).ok_or_else(expected)?;
            args.base = Some(url.trim_end_matches('/').to_owned());
            Ok(())
        }),
    Opt::flag("force", "replaces files that are there").apply(|args, _| {
        args.forced = true;
        Ok(())
    }),
];

/// The arguments of `httperf new`.
#[derive(Debug, Default)]
pub struct NewArgs {
    name: Option<OsString>,
    base: Option<String>,
    forced: bool,
}

/// The server that the files name if nothing else is said.
const BASE: &str = "http://127.0.0.1:8080";

/// Runs `httperf new` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    let mut args = NewArgs::default();
    let parsed = grammar::parse(&COMMAND, words, Order::from_environment(), &mut args);
    let name = match parsed.and_then(|()| Name::of(args.name.as_deref())) {
        Ok(name) => name,
        Err(stop) => return program.stop(&COMMAND.describe(), &stop),
    };
    match write(&name, args.base.as_deref().unwrap_or(BASE), args.forced) {
        Ok(()) => program
            .print(next_steps(&name, args.base.is_none()).as_bytes())
            .map_or_else(|status| status, |()| ExitCode::SUCCESS),
        Err(error) => program.fail(&error),
    }
}

/// The name of a workload: a folder, and what the names of its files begin with.
struct Name {
    folder: PathBuf,
    stem: String,
}

impl Name {
    fn of(typed: Option<&OsStr>) -> Result<Self, ParseStop> {
        let Some(typed) = typed else {
            return Err(ParseStop::rejected("expected a name for the workload, got none"));
        };
        let path = Path::new(typed);
        let stem = path.file_name().and_then(OsStr::to_str).map(|name| name.trim_end_matches(".toml"));
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let stem = stem
            .filter(|stem| stem.chars().all(is_plain) && !stem.starts_with(['-', '.']) && !stem.is_empty());
        let stem = stem.ok_or_else(|| {
            let typed = typed.to_string_lossy();
            ParseStop::rejected(format!(
                "expected a name of letters, digits, `-`, `_` and `.`, got `{typed}`"
            ))
        })?;
        Ok(Self { folder: path.parent().map(Path::to_path_buf).unwrap_or_default(), stem: stem.to_owned() })
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.stem))
    }
}

/// Writes both files, or neither if one of them is there already or cannot be written.
fn write(name: &Name, base: &str, forced: bool) -> anyhow::Result<()> {
    let fill = |text: &str| text.replace("@NAME@", &name.stem).replace("@BASE@", base);
    let files = [(name.path("hurl"), fill(STEPS)), (name.path("toml"), fill(LOAD))];
    let mut opened = Vec::new();
    for (path, text) in &files {
        anyhow::ensure!(
            forced || path.symlink_metadata().is_err(),
            "expected a name that is free, got `{}`, which is there\nhint: --force replaces it",
            path.display()
        );
        let cannot_write = || format!("cannot write `{}`", path.display());
        let file = Writable::new(path.as_os_str()).with_context(cannot_write)?;
        opened.push((file, text, cannot_write()));
    }
    for (file, text, cannot_write) in opened {
        file.replace(text.as_bytes()).with_context(|| cannot_write)?;
    }
    Ok(())
}

/// Says what was written, and what to type next.
fn next_steps(name: &Name, is_local: bool) -> String {
    let (load, steps) = (name.path("toml"), name.path("hurl"));
    let (load, steps) = (load.display(), steps.display());
    let mut commands = vec![
        (format!("httperf run {load} --check"), "says what is wrong in the files"),
        (format!("httperf run {load} --dry-run"), "shows what would be sent"),
        (format!("httperf run {steps} --base URL --variable term=shoes"), "makes one visit"),
        (format!("httperf run {load}"), "offers the load"),
    ];
    if is_local {
        commands.insert(0, ("httperf serve".to_owned(), "serves what the steps ask for"));
    } else {
        commands.remove(2);
    }
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    let lines = commands.iter().map(|(command, purpose)| format!("  {command:<width$}   {purpose}\n"));
    format!("{load} and {steps} are written. Next:\n{}", lines.collect::<String>())
}

/// The file of load.
const LOAD: &str = r#"# A workload: visits to a site, offered on a schedule. `httperf run @NAME@.toml` runs it;
# docs/reference/workload-file.md describes all keys.

base = "@BASE@"   # {{base}} in the steps; `--base URL` overrides it
seed = 1                         # the same seed makes the same visits

[variables]
term = "red shoes"               # {{term}} in the steps

[arrivals]                       # visits begin on this schedule, however slow the server is
process = "poisson"              # even | uniform | poisson
phases = [
  { name = "ramp", for = "5s", rate = "1..20/s" },
  { name = "hold", for = "15s", rate = "20/s" },
]

[[scenario]]                     # what a visit does; several scenarios share the visits by weight
name = "reader"
weight = 4
steps = [
  { run = "@NAME@.hurl" },       # all requests of the file, in order
]

[[scenario]]
name = "passer-by"
weight = 1
steps = [
  { repeat = "1..3", steps = [
    { run = "@NAME@.hurl" },
    { think = "exp(500ms)" },    # "1s" | "uniform(1s, 3s)" | "exp(3s)" | "lognormal(3s, 0.5)"
  ] },
]

[objectives]                     # the exit status is 4 if one is missed
all = "p99<500ms, errors<1%, checks>=99%"

[objectives.phase]
hold = "p95<250ms"

[options]                        # options of the command line by their long names
timeout = 5
"#;

/// The file of steps.
const STEPS: &str = r#"# The steps of a visit, in Hurl's format (https://hurl.dev): requests, and what is expected of
# their replies. `httperf run @NAME@.hurl --base URL --variable term=shoes` makes one visit.

# @name page
GET {{base}}/page/2
HTTP 200
[Captures]
image: regex /src="\/([^"]+)"/
[Asserts]
body contains "<html"
duration < 2000

# A pause before the next request, and a value of the last reply in it.
# @name image
# @think uniform(200ms, 600ms)
GET {{base}}/{{image}}
HTTP 200
[Asserts]
bytes count > 0

# @name search
# @think exp(300ms)
GET {{base}}/size/300
[Query]
q: {{term}}
HTTP 200
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn stem(typed: &str) -> Option<String> {
        Name::of(Some(typed.as_ref())).ok().map(|name| name.stem)
    }

    #[test]
    fn names_are_those_that_a_step_can_name() {
        for (typed, expected) in [
            ("shop", Some("shop")),
            ("load/shop-2", Some("shop-2")),
            ("shop.toml", Some("shop")),
            ("shop.v2", Some("shop.v2")),
            ("", None),
            ("..", None),
            (".toml", None),
            ("a b", None),
            ("a\"", None),
            ("-x", None),
        ] {
            assert_eq!(stem(typed).as_deref(), expected, "{typed}");
        }
    }
}
