//! `httperf schema`: prints the JSON Schema of a document that the program writes, or of the workload files that it reads.

use std::ffi::OsString;
use std::process::ExitCode;

use httperf_command_line::grammar::{self, Command, Group, Opt, Order, ParseStop};
use httperf_command_line::terminal::messages::Program;

/// The command line of `httperf schema`.
pub const COMMAND: Command<SchemaArgs> = Command {
    name: "schema",
    summary: "Prints the JSON Schema of a document that a command writes, or of workload files.",
    words: "NAME",
    groups: &[Group { title: "General", options: &[Opt::help()] }],
    also: None,
    word: |args, word| {
        args.words.push(String::from_utf8_lossy(word).into_owned());
        Ok(())
    },
};

/// The words behind the command's name.
#[derive(Debug, Default)]
pub struct SchemaArgs {
    words: Vec<String>,
}

/// Runs `httperf schema` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    let mut args = SchemaArgs::default();
    let parsed = grammar::parse(&COMMAND, words, Order::from_environment(), &mut args);
    match parsed.and_then(|()| schema(&args)) {
        Ok(text) => program.print(text.as_bytes()).map_or_else(|status| status, |()| ExitCode::SUCCESS),
        Err(stop) => program.stop(&COMMAND.describe(), &stop),
    }
}

fn schema(args: &SchemaArgs) -> Result<String, ParseStop> {
    const NAMES: &str = "result, sweep, capacity, comparison, tls-lab or workload";
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    match words[..] {
        ["result"] => Ok(httperf_report::result::schema()),
        ["sweep"] => Ok(httperf_report::sweep::schema()),
        ["capacity"] => Ok(httperf_report::capacity::schema()),
        ["comparison"] => Ok(httperf_report::compare::schema()),
        ["tls-lab"] => Ok(httperf_report::tls_lab::schema()),
        ["workload"] => Ok(format!("{:#}\n", httperf_plan::workload_file::schema())),
        [] => Err(ParseStop::rejected(format!("expected the name of a document, {NAMES}; got none"))),
        _ => Err(ParseStop::rejected(format!("expected {NAMES}, got `{}`", words.join(" ")))),
    }
}
