//! `httperf completions`: prints a completion script for a shell.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ValueHint};
use clap_complete::Shell;
use httperf_command_line::grammar::{
    self, Command, Description, Group, Opt, OptDescription, Order, ParseStop, ValueForm,
};
use httperf_command_line::terminal::messages::Program;

/// The command line of `httperf completions`.
pub const COMMAND: Command<CompletionsArgs> = Command {
    name: "completions",
    summary: "Prints a completion script for bash, zsh or fish.",
    words: "SHELL",
    groups: &[Group { title: "General", options: &[Opt::help()] }],
    also: None,
    word: |args, word| {
        args.words.push(String::from_utf8_lossy(word).into_owned());
        Ok(())
    },
};

/// The words behind the command's name.
#[derive(Debug, Default)]
pub struct CompletionsArgs {
    words: Vec<String>,
}

/// Runs `httperf completions` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    let mut args = CompletionsArgs::default();
    let parsed = grammar::parse(&COMMAND, words, Order::from_environment(), &mut args);
    let shell = match parsed.and_then(|()| shell(&args)) {
        Ok(shell) => shell,
        Err(stop) => return program.stop(&COMMAND.describe(), &stop),
    };
    let script = script(shell, &super::descriptions());
    program.print(script.as_bytes()).map_or_else(|status| status, |()| ExitCode::SUCCESS)
}

fn shell(args: &CompletionsArgs) -> Result<Shell, ParseStop> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    match words[..] {
        ["bash"] => Ok(Shell::Bash),
        ["zsh"] => Ok(Shell::Zsh),
        ["fish"] => Ok(Shell::Fish),
        [] => Err(ParseStop::rejected("expected the name of a shell, bash, zsh or fish; got none")),
        _ => Err(ParseStop::rejected(format!("expected bash, zsh or fish, got `{}`", words.join(" ")))),
    }
}

/// Makes the script for a shell, which completes all commands with their options.
fn script(shell: Shell, commands: &[Description]) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program(commands), NAME, &mut script);
    String::from_utf8(script).expect("completion scripts are made of UTF-8 parts")
}

/// The name under which the program is installed.
const NAME: &str = "httperf";

/// The command line as `clap` describes it. It is never parsed with: the grammar here is that of getopt.
fn program(commands: &[Description]) -> clap::Command {
    commands.iter().fold(bare(NAME), |program, command| {
        if command.name.is_empty() {
            with_options(program, command)
        } else {
            program.subcommand(with_options(bare(command.name), command))
        }
    })
}

fn bare(name: &'static str) -> clap::Command {
    clap::Command::new(name).disable_help_flag(true).disable_help_subcommand(true).disable_version_flag(true)
}

fn with_options(command: clap::Command, description: &Description) -> clap::Command {
    let command = command.about(description.summary).args(description.options().map(argument));
    if description.words.is_empty() { command } else { command.arg(url()) }
}

/// The only kind of word that any command takes.
fn url() -> Arg {
    Arg::new("URL").value_hint(ValueHint::Url).num_args(0..).help("the target, such as http://host:8080/path")
}

fn argument(option: &OptDescription) -> Arg {
    let mut argument = Arg::new(option.long).long(option.long).help(option.help);
    if let Some(letter) = option.short {
        argument = argument.short(letter);
    }
    let name = match option.value {
        ValueForm::None => return argument.action(ArgAction::SetTrue),
        ValueForm::Required(name) => name,
        ValueForm::Optional(name) => {
            argument = argument.num_args(0..=1).require_equals(true);
            name
        }
    };
    argument = argument.action(ArgAction::Set).value_name(name).value_hint(hint(name));
    match &option.value.alternatives()[..] {
        [] => argument,
        words => argument.value_parser(PossibleValuesParser::new(words.iter().copied())),
    }
}

fn hint(value_name: &str) -> ValueHint {
    match value_name {
        "FILE" | "PATH" => ValueHint::FilePath,
        "HOST" | "NAME" => ValueHint::Hostname,
        _ => ValueHint::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_in_every_script() {
        let commands = super::super::descriptions();
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = script(shell, &commands);
            for option in commands.iter().flat_map(Description::options) {
                // fish names options without their dashes.
                assert!(script.contains(option.long), "{}", option.long);
            }
        }
    }

    #[test]
    fn the_description_is_one_that_clap_accepts() {
        program(&super::super::descriptions()).debug_assert();
    }
}
