//! The commands of the program, one table of them.

pub mod ab;
pub mod capacity;
pub mod compare;
pub mod completions;
pub mod doctor;
pub mod fleet;
pub mod help;
pub mod idleconn;
pub mod import;
pub mod like;
pub mod new;
pub mod plot;
mod recordings;
pub mod replay;
pub mod run;
pub mod saved;
pub mod schema;
pub mod self_check;
pub mod serve;
pub mod sweep;
pub mod tls_lab;

use std::ffi::OsString;
use std::process::ExitCode;

use httperf_command_line::grammar::Description;
use httperf_command_line::table;
use httperf_command_line::terminal::messages::Program;

use self::saved::{merge, report, rerun};

/// A command that has a name.
#[derive(Clone, Copy, Debug)]
pub struct Subcommand {
    /// The word that selects it.
    pub name: &'static str,
    /// Its command line.
    pub describe: fn() -> Description,
    /// Runs it with the words behind its name.
    pub main: fn(&Program, &[OsString]) -> ExitCode,
}

macro_rules! subcommands {
    ($($module:ident),*) => {
        &[$(Subcommand {
            name: $module::COMMAND.name,
            describe: || $module::COMMAND.describe(),
            main: $module::main,
        }),*]
    };
}

/// All commands that have a name, in the order in which documents show them.
#[rustfmt::skip]
pub const SUBCOMMANDS: &[Subcommand] = subcommands![
    run, new, sweep, capacity, compare, ab, serve, tls_lab, idleconn, doctor, self_check, like, replay, import, fleet,
    report, plot, merge, rerun, completions, schema, help
];

/// The command line of the program itself, with the names of its commands.
#[must_use]
pub fn program_description() -> Description {
    let described = SUBCOMMANDS.iter().map(|subcommand| (subcommand.describe)());
    let subcommands = described.map(|command| (command.name, command.summary)).collect();
    Description { subcommands, ..table::COMMAND.describe() }
}

/// Every command line, for the documents: that of the program itself, then those of its subcommands.
#[must_use]
pub fn descriptions() -> Vec<Description> {
    let subcommands = SUBCOMMANDS.iter().map(|subcommand| (subcommand.describe)());
    std::iter::once(program_description()).chain(subcommands).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use httperf_command_line::{examples, hints};

    use super::*;

    fn described(name: &str) -> Description {
        let mut all = descriptions().into_iter();
        all.find(|command| command.name == name).unwrap_or_else(|| panic!("a command is named {name}"))
    }

    fn has(command: &Description, name: &str) -> bool {
        command.options().any(|option| option.long == name)
    }

    #[test]
    fn examples_are_there_for_every_command_and_no_other() {
        let names: BTreeSet<&str> = SUBCOMMANDS.iter().map(|subcommand| subcommand.name).collect();
        assert_eq!(examples::commands().collect::<BTreeSet<_>>(), names);
    }

    #[test]
    fn every_option_in_a_hint_is_one_of_the_command() {
        for (name, option) in hints::named_options() {
            assert!(has(&described(name), option), "{name}: --{option}");
        }
    }

    #[test]
    fn every_command_has_examples_with_options_that_it_knows() {
        for command in descriptions() {
            let examples = examples::of(command.name);
            assert_eq!(examples.len(), 2, "{}", command.name);
            for example in examples {
                assert!(!example.purpose.ends_with('.'), "{}", example.purpose);
                let begin = format!("httperf {}", command.name);
                assert!(example.line.contains(begin.trim_end()), "{}", example.line);
                // Behind `--` is the command line of a run.
                let (own, of_run) = example.line.split_once(" -- ").unwrap_or((example.line, ""));
                for (line, described) in [(own, &command), (of_run, &described(""))] {
                    let named = line.split([' ', '\'']).filter_map(|word| word.strip_prefix("--"));
                    for option in named {
                        assert!(has(described, option), "{}", example.line);
                    }
                }
            }
        }
    }
}
