//! Our program beside the classic one: the table of differential tests.
//!
//! Every row runs both programs on the same command line, each against a scripted server of its own, and
//! compares what the row names: the echo line, the bytes on the wire, the counts, the layout line by line,
//! stderr, the exit status. Facts that a row states are checked for both. Where the classic program hangs,
//! crashes or measures wrongly, a row checks our answer instead, with its values written out and the number of
//! the judgement (section 11 of the specification of the classic program) that it follows.
//!
//! - The reference is the `httperf` of the search path whose version is 0.9.0. Without it our half of every
//!   row still runs, and the other half is recorded as skipped.
//! - `HTTPERF_UNDER_TEST=FILE` tests that binary in place of the one just built. If it is itself a reference, the
//!   table is checked: what is said of both must hold, what is said of ours alone is left out.
//! - Rows that measure times run alone, and a second time when they fail: a busy machine can delay a
//!   process for longer than any useful bound, but rarely twice.

#[path = "../support/mod.rs"]
mod support;

mod connections;
mod failures;
mod fixes;
mod observed;
mod options;
mod replies;
mod row;
mod sessions;

use std::process::ExitCode;
use std::sync::{Arc, PoisonError, RwLock};

use httperf_testkit::skip;
use libtest_mimic::{Arguments, Failed, Trial};

use observed::Observed;
use row::{Case, Row, Same, Who, expect};
use support::program;
use support::report::{COUNTS, Report};

/// Rows that may run at once: most of them sleep.
const ROWS_AT_ONCE: usize = 8;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(ROWS_AT_ONCE);
    let alone = Arc::new(RwLock::new(()));
    let rows = [
        connections::rows(),
        sessions::rows(),
        failures::rows(),
        replies::rows(),
        options::rows(),
        fixes::rows(),
    ];
    let trials = rows
        .into_iter()
        .flatten()
        .map(|row| {
            let alone = Arc::clone(&alone);
            Trial::test(format!("row {}: {}", row.number, row.about), move || run(&row, &alone))
        })
        .collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if program::reference().is_none() && !arguments.list {
        skip::lacking("the classic httperf");
    }
    conclusion.exit_code()
}

fn run(row: &Row, alone: &RwLock<()>) -> Result<(), Failed> {
    if row.timing {
        let _alone = alone.write().unwrap_or_else(PoisonError::into_inner);
        return check_all(row).or_else(|_| check_all(row)).map_err(Failed::from);
    }
    let _with_others = alone.read().unwrap_or_else(PoisonError::into_inner);
    check_all(row).map_err(Failed::from)
}

/// Runs all cases of a row, also those after one that fails.
fn check_all(row: &Row) -> Result<(), String> {
    let failures: Vec<String> = row.cases.iter().filter_map(|case| check(case).err()).collect();
    if failures.is_empty() { Ok(()) } else { Err(format!("row {}\n{}", row.number, failures.join("\n"))) }
}

fn check(case: &Case) -> Result<(), String> {
    let mut wrong = Vec::new();
    let is_reference = program::under_test_is_reference();
    let reference = match program::reference() {
        Some(path) if case.with_reference => Some(observe(path, case)?),
        _ => None,
    };
    if is_reference && !case.with_reference {
        return Ok(());
    }
    let ours = observe(&program::under_test(), case)?;
    for (who, fact) in &case.facts {
        if *who == Who::Both || (*who == Who::Ours) != is_reference {
            wrong.extend(fact(&ours).err().map(|error| format!("ours: {error}")));
        }
        if let Some(reference) = &reference
            && *who != Who::Ours
        {
            wrong.extend(fact(reference).err().map(|error| format!("reference: {error}")));
        }
    }
    if let Some(reference) = &reference {
        let differing = case.same.iter().filter_map(|&same| compare(same, &ours, reference).err());
        wrong.extend(differing.map(|error| format!("ours (found) and reference (expected) differ: {error}")));
    }
    if wrong.is_empty() {
        return Ok(());
    }
    let (stdout, stderr) = (ours.stdout(), ours.stderr());
    Err(format!(
        "httperf {}\n  {}\n--- stdout of ours\n{stdout}--- stderr of ours\n{stderr}---",
        case.arguments,
        wrong.join("\n  ")
    ))
}

fn observe(path: &std::path::Path, case: &Case) -> Result<Observed, String> {
    Observed::run(path, case).map_err(|error| format!("running {} failed: {error}", path.display()))
}

fn compare(same: Same, ours: &Observed, reference: &Observed) -> Result<(), String> {
    match same {
        Same::Echo => expect("echo", ours.echo(), reference.echo()),
        Same::Bytes => expect("bytes", ours.bytes(), reference.bytes()),
        Same::Counts => compare_counts(COUNTS, &ours.report()?, &reference.report()?),
        Same::CountsButSizes => {
            let sizes = ["request_size", "header", "content", "footer", "total"];
            let counts: Vec<&str> = COUNTS.iter().copied().filter(|name| !sizes.contains(name)).collect();
            compare_counts(&counts, &ours.report()?, &reference.report()?)
        }
        Same::Layout => expect("layout", layout(&ours.stdout()), layout(&reference.stdout())),
        Same::Printed => expect("printed", shown(&ours.before()?), shown(&reference.before()?)),
        Same::Stdout => expect("stdout", ours.stdout(), reference.stdout()),
        Same::Stderr => expect("stderr", ours.stderr(), reference.stderr()),
        Same::Exit => expect("exit", ours.outcome.exit, reference.outcome.exit),
    }
}

fn compare_counts(names: &[&str], ours: &Report, reference: &Report) -> Result<(), String> {
    let select = |report: &Report| -> Vec<String> {
        names.iter().map(|&name| format!("{name}={}", report.text(name))).collect()
    };
    let (ours, reference) = (select(ours), select(reference));
    let (ours, reference): (Vec<String>, Vec<String>) =
        ours.into_iter().zip(reference).filter(|(a, b)| a != b).unzip();
    expect("counts", ours, reference)
}

/// The lines from the burst length on, each number replaced by marks that keep its decimals. The lifetime
/// histogram is left out: which of its lines there are is a matter of time.
fn layout(stdout: &str) -> Vec<String> {
    let from_burst = stdout.lines().skip_while(|line| !line.starts_with("Maximum connect burst length"));
    let histogram = |line: &&str| {
        !(line.starts_with("    ")
            && line.trim_start().starts_with([':', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9']))
    };
    from_burst.filter(histogram).map(mask_numbers).collect()
}

fn mask_numbers(line: &str) -> String {
    let mut masked = String::new();
    let mut decimals = false;
    let mut last = ' ';
    for character in line.chars() {
        match character {
            '0'..='9' if decimals => masked.push('d'),
            '0'..='9' if last.is_ascii_digit() => {}
            '0'..='9' => masked.push('N'),
            '.' if last.is_ascii_digit() => masked.push('.'),
            _ => masked.push(character),
        }
        decimals = (decimals && character.is_ascii_digit()) || (character == '.' && last.is_ascii_digit());
        last = character;
    }
    masked
}

/// The lines of `--print-request` and `--print-reply`.
fn shown(lines: &[String]) -> Vec<String> {
    let is_shown = |line: &&String| {
        let mut letters = line.chars();
        matches!(letters.next(), Some('S' | 'R'))
            && matches!(letters.next(), Some('H' | 'B' | 'S'))
            && letters.next().is_some_and(|c| c.is_ascii_digit())
    };
    lines.iter().filter(is_shown).cloned().collect()
}
