//! Completion scripts for shells.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, ValueHint};
use clap_complete::{Generator, shells};
use httperf::options::{Description, OptDescription, ValueForm};

/// Generates the scripts for bash, zsh and fish.
pub(crate) fn scripts(commands: &[Description]) -> [String; 3] {
    [script(shells::Bash, commands), script(shells::Zsh, commands), script(shells::Fish, commands)]
}

fn script(shell: impl Generator, commands: &[Description]) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program(commands), "httperf", &mut script);
    String::from_utf8(script).expect("completion scripts are made of UTF-8 parts")
}

/// Describes the command line for `clap`, which only generates scripts from it: the parser follows getopt's grammar.
fn program(commands: &[Description]) -> Command {
    commands.iter().fold(bare("httperf"), |program, command| {
        if command.name.is_empty() {
            with_options(program, command)
        } else {
            program.subcommand(with_options(bare(command.name), command))
        }
    })
}

fn bare(name: &'static str) -> Command {
    Command::new(name).disable_help_flag(true).disable_help_subcommand(true).disable_version_flag(true)
}

fn with_options(command: Command, description: &Description) -> Command {
    let command = command.about(description.summary).args(description.options().map(argument));
    if description.words.is_empty() { command } else { command.arg(url()) }
}

/// The argument that is not an option; all commands with one take a URL.
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
    match &crate::alternatives(option.value)[..] {
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
        let commands = httperf::options::commands();
        for script in scripts(&commands) {
            for option in commands.iter().flat_map(Description::options) {
                // fish names options without their dashes.
                assert!(script.contains(option.long), "{}", option.long);
            }
        }
    }

    #[test]
    fn the_description_is_one_that_clap_accepts() {
        program(&httperf::options::commands()).debug_assert();
    }
}
