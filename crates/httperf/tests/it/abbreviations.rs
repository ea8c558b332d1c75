//! Every abbreviation of every option of the classic tool means what it always did.

use std::collections::BTreeSet;
use std::path::Path;

use httperf_command_line::grammar::{Tier, ValueForm, parse};
use httperf_command_line::table;

use crate::support::reference;

/// The options of release 0.9.0, in alphabetical order.
const CLASSIC: [&str; 39] = [
    "add-header",
    "burst-length",
    "client",
    "close-with-reset",
    "debug",
    "failure-status",
    "help",
    "hog",
    "http-version",
    "max-connections",
    "max-piped-calls",
    "method",
    "no-host-hdr",
    "num-calls",
    "num-conns",
    "period",
    "port",
    "print-reply",
    "print-request",
    "rate",
    "recv-buffer",
    "retry-on-failure",
    "send-buffer",
    "server",
    "server-name",
    "session-cookies",
    "ssl",
    "ssl-ciphers",
    "ssl-no-reuse",
    "think-timeout",
    "timeout",
    "uri",
    "verbose",
    "version",
    "wlog",
    "wsess",
    "wsesslog",
    "wsesspage",
    "wset",
];

fn prefixes() -> BTreeSet<&'static str> {
    CLASSIC.iter().flat_map(|name| (1..=name.len()).map(|length| &name[..length])).collect()
}

#[test]
fn the_table_has_the_classic_options() {
    let mut names: Vec<&str> = table::COMMAND
        .options()
        .filter(|option| option.tier == Tier::Classic090)
        .map(|option| option.long)
        .collect();
    names.sort_unstable();
    assert_eq!(names, CLASSIC);
}

#[test]
fn every_prefix_means_what_it_meant_among_the_classic_options_alone() {
    // Newer options with short names would be found first if typed in full.
    let newer: Vec<&str> = table::COMMAND
        .options()
        .filter(|option| option.tier != Tier::Classic090)
        .map(|option| option.long)
        .collect();
    for prefix in prefixes() {
        assert!(!newer.contains(&prefix), "--{prefix} was an abbreviation and is now an option");
        let candidates: Vec<&str> = CLASSIC.into_iter().filter(|name| name.starts_with(prefix)).collect();
        let expected = match candidates[..] {
            _ if CLASSIC.contains(&prefix) => Ok(prefix),
            [only] => Ok(only),
            _ => Err(candidates),
        };
        let found = parse::find(&table::COMMAND, prefix.as_bytes());
        assert_eq!(found.map(|option| option.long), expected, "--{prefix}");
    }
}

#[test]
fn every_prefix_gives_the_message_and_exit_status_of_the_classic_program() {
    if !reference::is_installed() {
        return;
    }
    for prefix in prefixes() {
        // The unknown option keeps both programs from running a test.
        check(&[&format!("--{prefix}=x"), "--bogus"]);
        let needs_value = parse::find(&table::COMMAND, prefix.as_bytes())
            .is_ok_and(|option| matches!(option.value, ValueForm::Required(_)));
        if needs_value {
            check(&[&format!("--{prefix}")]);
        } else {
            check(&["--bogus", &format!("--{prefix}")]);
        }
    }
}

/// The classic message about `--debug`.
const NO_DEBUGGING: &str = "httperf: sorry, need to recompile with -DDEBUG on...";

#[track_caller]
fn check(argv: &[&str]) {
    let folder = Path::new("/");
    let mut ours = reference::ours(argv, folder).without_hints();
    // The message about `--debug` differs.
    let is_of_debug = |line: &&str| line.starts_with("httperf: warning: --debug: ");
    let lines = ours.stderr.lines().map(|line| if is_of_debug(&line) { NO_DEBUGGING } else { line });
    ours.stderr = lines.fold(String::new(), |text, line| text + line + "\n");
    assert_eq!(ours, reference::theirs(argv, folder), "{argv:?}");
}
