//! `httperf help`: lists tasks with a command line for each, or explains a command.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::process::ExitCode;

use httperf_command_line::examples::{self, Example};
use httperf_command_line::grammar::help::{self, HelpForm};
use httperf_command_line::grammar::{self, Command, Description, Group, Opt, Order, ParseStop};
use httperf_command_line::hints;
use httperf_command_line::terminal::USUAL_COLUMNS;
use httperf_command_line::terminal::messages::Program;

use crate::commands::import;

/// The command line of `httperf help`.
pub const COMMAND: Command<HelpArgs> = Command {
    name: "help",
    summary: "Lists what can be done, with a command line for each, or explains a command.",
    words: "[COMMAND]",
    groups: &[Group { title: "General", options: &[Opt::help()] }],
    also: None,
    word: |args, word| {
        args.words.push(String::from_utf8_lossy(word).into_owned());
        Ok(())
    },
};

/// The words behind the command's name.
#[derive(Debug, Default)]
pub struct HelpArgs {
    words: Vec<String>,
}

/// Runs `httperf help` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let named = program.subcommand(COMMAND.name);
    let mut args = HelpArgs::default();
    let parsed = grammar::parse(&COMMAND, words, Order::from_environment(), &mut args);
    match parsed.and_then(|()| topic(&args)) {
        Ok(Topic::Tasks) => program.read_out(&tasks()),
        Ok(Topic::Command(command)) if command.name.is_empty() => {
            program.stop(&command, &ParseStop::Help(HelpForm::Long))
        }
        Ok(Topic::Command(command)) => {
            program.subcommand(command.name).stop(&command, &ParseStop::Help(HelpForm::Long))
        }
        Err(stop) => named.stop(&COMMAND.describe(), &stop),
    }
}

/// The first screen of who types the name of the program alone: what to type next.
pub(crate) fn overview() -> String {
    let purpose =
        "httperf offers HTTP load on a schedule, whatever the server does, and measures what comes back.";
    let mut text = help::wrap(purpose, help::width().min(USUAL_COLUMNS)).join("\n") + "\n\n";
    for Example { purpose, line } in FIRST_LINES {
        writeln!(text, "  {line}\n      {purpose}").expect("writing to a string succeeds");
    }
    text.push('\n');
    for (title, commands) in OVERVIEW {
        writeln!(text, "  {title:<10}{}", commands.join("  ")).expect("writing to a string succeeds");
    }
    text + "\nhttperf help          tasks, with a command line for each\n\
            httperf -h            the most important options\n\
            httperf help COMMAND  all about a command\n"
}

/// First command lines, with their purposes.
const FIRST_LINES: [Example; 3] = [
    Example {
        purpose: "load of 200 connections per second, for ten seconds",
        line: "httperf http://127.0.0.1:8080/ --rate 200 --duration 10s",
    },
    Example {
        purpose: "the highest rate at which 99 % of the calls take less than 50 ms",
        line: "httperf capacity http://127.0.0.1:8080/ --slo 'p99<50ms'",
    },
    Example {
        purpose: "a server to try it on",
        line: "httperf serve --listen 127.0.0.1:8080 --delay 20ms --capacity 500",
    },
];

/// Commands by what they are for.
const OVERVIEW: &[(&str, &[&str])] = &[
    ("measure", &["run", "sweep", "capacity", "ab", "replay", "tls-lab", "idleconn", "rerun"]),
    ("prepare", &["new", "import", "like", "serve", "doctor", "self-check", "fleet"]),
    ("results", &["report", "plot", "compare", "merge", "schema"]),
    ("other", &["help", "completions"]),
];

/// The subject of an explanation.
enum Topic {
    Tasks,
    Command(Description),
}

fn topic(args: &HelpArgs) -> Result<Topic, ParseStop> {
    let name = match &args.words[..] {
        [] => return Ok(Topic::Tasks),
        [name] if name == "httperf" => "",
        [name] => name,
        [name, kind] if name == import::COMMAND.name && import::is_kind(kind) => name,
        words => {
            let message = format!("expected the name of one command, got `{}`", words.join("`, `"));
            return Err(ParseStop::rejected(message));
        }
    };
    let mut commands = super::descriptions();
    match commands.iter().position(|command| command.name == name) {
        Some(index) => Ok(Topic::Command(commands.swap_remove(index))),
        None => {
            let near = hints::nearest(name, commands.iter().map(|command| command.name));
            let hint = match near {
                Some(near) => format!("did you mean {near}?"),
                None => {
                    "`httperf help` lists what can be done, `httperf --help` explains the options".to_owned()
                }
            };
            let message = format!("expected the name of a command, got `{name}`");
            Err(ParseStop::rejected(message).with_hint(Some(hint)))
        }
    }
}

/// A task, and the command whose first example carries it out, unless it has a line of its own.
struct Task {
    /// The purpose, as an answer to "I want to".
    purpose: &'static str,
    command: &'static str,
    line: Option<&'static str>,
}

const fn task(purpose: &'static str, command: &'static str) -> Task {
    Task { purpose, command, line: None }
}

/// A task of the program itself that its first example does not carry out.
const fn task_of(purpose: &'static str, line: &'static str) -> Task {
    Task { purpose, command: "", line: Some(line) }
}

const TASKS: &[Task] = &[
    task("Offer load to a server and see how it answers", ""),
    task("Run visits of several steps, with logins and checks, from Hurl files", "run"),
    task("Write such a workload to begin with", "new"),
    task("See how a server behaves as the load grows", "sweep"),
    task("Find the highest rate at which a server meets objectives", "capacity"),
    task("Find out whether a new version is slower: compare two servers in turns", "ab"),
    task("Compare two results that were saved", "compare"),
    task("Do what a command line of another load tool does", "like"),
    task("Make the requests of an access log again, and compare with it", "replay"),
    task("Make a load of a recording: a log, a HAR, curl commands, an OpenAPI description", "import"),
    task("Have a scheduler start several machines that offer one load: Slurm, Kubernetes", "fleet"),
    task_of(
        "Measure a language model: time to first token, time per token",
        "httperf http://127.0.0.1:8000/v1/chat/completions --llm openai --prompts prompts.jsonl --request-rate 4 --duration 60",
    ),
    task_of(
        "Hold WebSockets open, talk on each, and time what comes back",
        "httperf ws://127.0.0.1:8080/ws --rate 20 --duration 10 --drain 5 --ws-every 100ms --ws-for 4",
    ),
    task_of(
        "Call methods of gRPC, and count calls by status",
        "httperf http://127.0.0.1:8080 --grpc httperf.Test/Echo --grpc-data '{\"text\":\"hello\"}' --request-rate 500 \
         --duration 5",
    ),
    task("Have a server to test against", "serve"),
    task("Find out what TLS handshakes cost", "tls-lab"),
    task("Hold idle connections to a server, as the classic idleconn does", "idleconn"),
    task("Check that this machine is fit for a test", "doctor"),
    task("Measure how exact this machine's figures are", "self-check"),
    task("Show a saved result in another form", "report"),
    task("Draw a saved result", "plot"),
    task("Add up results of several generators", "merge"),
    task("Make a saved run again", "rerun"),
    task("Complete words in a shell", "completions"),
    task("Read saved documents by program", "schema"),
];

fn tasks() -> String {
    let mut text = String::new();
    for Task { purpose, command, line } in TASKS {
        let example = examples::of(command).first().map(|Example { line, .. }| *line);
        if let Some(line) = line.or(example) {
            write!(text, "{purpose}:\n    {line}\n\n").expect("writing to a string succeeds");
        }
    }
    let end = "`httperf help COMMAND` explains a command. `httperf -h` lists the most important options of a run, `httperf \
               --help` explains them all.";
    text + &help::wrap(end, help::width()).join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_overview_fits_a_small_screen_and_names_every_command() {
        let text = overview();
        assert!(text.lines().count() <= 22 && text.lines().all(|line| line.len() <= 80), "{text}");
        let mut named: Vec<&str> = OVERVIEW.iter().flat_map(|(_, commands)| *commands).copied().collect();
        let all = super::super::SUBCOMMANDS.iter().map(|command| command.name);
        let mut all: Vec<&str> = all.collect();
        named.sort_unstable();
        all.sort_unstable();
        assert_eq!(named, all);
    }

    #[test]
    fn every_command_but_this_carries_out_a_task() {
        let mut commands: Vec<&str> =
            super::super::descriptions().iter().map(|command| command.name).collect();
        let of_commands = TASKS.iter().filter(|task| task.line.is_none());
        let mut tasks: Vec<&str> = of_commands.map(|task| task.command).chain([COMMAND.name]).collect();
        commands.sort_unstable();
        tasks.sort_unstable();
        assert_eq!(tasks, commands);
    }
}
