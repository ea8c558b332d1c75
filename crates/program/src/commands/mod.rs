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

use crate::command_line::grammar::Description;
use crate::command_line::table;
use crate::terminal::messages::Program;

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

/// All commands that have a name, in the order in which documents show them.
pub const SUBCOMMANDS: &[Subcommand] = &[
    Subcommand { name: run::COMMAND.name, describe: || run::COMMAND.describe(), main: run::main },
    Subcommand { name: new::COMMAND.name, describe: || new::COMMAND.describe(), main: new::main },
    Subcommand { name: sweep::COMMAND.name, describe: || sweep::COMMAND.describe(), main: sweep::main },
    Subcommand {
        name: capacity::COMMAND.name,
        describe: || capacity::COMMAND.describe(),
        main: capacity::main,
    },
    Subcommand { name: compare::COMMAND.name, describe: || compare::COMMAND.describe(), main: compare::main },
    Subcommand { name: ab::COMMAND.name, describe: || ab::COMMAND.describe(), main: ab::main },
    Subcommand { name: serve::COMMAND.name, describe: || serve::COMMAND.describe(), main: serve::main },
    Subcommand { name: tls_lab::COMMAND.name, describe: || tls_lab::COMMAND.describe(), main: tls_lab::main },
    Subcommand {
        name: idleconn::COMMAND.name,
        describe: || idleconn::COMMAND.describe(),
        main: idleconn::main,
    },
    Subcommand { name: doctor::COMMAND.name, describe: || doctor::COMMAND.describe(), main: doctor::main },
    Subcommand {
        name: self_check::COMMAND.name,
        describe: || self_check::COMMAND.describe(),
        main: self_check::main,
    },
    Subcommand { name: like::COMMAND.name, describe: || like::COMMAND.describe(), main: like::main },
    Subcommand { name: replay::COMMAND.name, describe: || replay::COMMAND.describe(), main: replay::main },
    Subcommand { name: import::COMMAND.name, describe: || import::COMMAND.describe(), main: import::main },
    Subcommand { name: fleet::COMMAND.name, describe: || fleet::COMMAND.describe(), main: fleet::main },
    Subcommand { name: report::COMMAND.name, describe: || report::COMMAND.describe(), main: report::main },
    Subcommand { name: plot::COMMAND.name, describe: || plot::COMMAND.describe(), main: plot::main },
    Subcommand { name: merge::COMMAND.name, describe: || merge::COMMAND.describe(), main: merge::main },
    Subcommand { name: rerun::COMMAND.name, describe: || rerun::COMMAND.describe(), main: rerun::main },
    Subcommand {
        name: completions::COMMAND.name,
        describe: || completions::COMMAND.describe(),
        main: completions::main,
    },
    Subcommand { name: schema::COMMAND.name, describe: || schema::COMMAND.describe(), main: schema::main },
    Subcommand { name: help::COMMAND.name, describe: || help::COMMAND.describe(), main: help::main },
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
