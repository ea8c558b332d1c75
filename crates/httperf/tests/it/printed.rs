//! Completion scripts and schemas, as the program prints them.

use std::process::{Command, Stdio};

use httperf_testkit::skip;
use serde_json::Value;

use crate::support::bench::run;
use crate::support::program::{Exit, stderr, stdout};

#[test]
fn each_shell_accepts_its_completion_script() {
    for shell in ["bash", "zsh", "fish"] {
        let printed = run(&format!("completions {shell}"));
        assert_eq!((printed.exit, stderr(&printed).as_str()), (Exit::Code(0), ""), "{shell}");
        let script = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(script.path(), &printed.stdout).expect("it can be written");
        // Reads the script and runs nothing of it.
        let checked = Command::new(shell).arg("-n").arg(script.path()).stdin(Stdio::null()).output();
        match checked {
            Ok(output) => {
                assert!(output.status.success(), "{shell}: {}", String::from_utf8_lossy(&output.stderr));
            }
            Err(_) if shell == "bash" => skip::lacking(shell),
            // Few machines have all three.
            Err(_) => assert!(stdout(&printed).contains("httperf"), "{shell}"),
        }
    }
}

#[test]
fn bash_completes_options_and_commands() {
    let printed = run("completions bash");
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), &printed.stdout).expect("it can be written");
    // What bash does when the tab key is pressed behind these words.
    const COMPLETE: &str = r#"
        source "$1"; shift
        COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
        _httperf "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    for (words, expected) in [
        ("httperf --num-c", &["--num-conns", "--num-calls"][..]),
        ("httperf cap", &["capacity"]),
        ("httperf serve --del", &["--delay"]),
    ] {
        let mut bash = Command::new("bash");
        bash.args(["--norc", "-c", COMPLETE, "bash"]).arg(file.path()).args(words.split(' '));
        let Ok(output) = bash.output() else { return skip::lacking("bash") };
        let found = String::from_utf8_lossy(&output.stdout);
        let is_there = expected.iter().all(|word| found.lines().any(|line| line == *word));
        assert!(is_there, "{words}: {found}{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn every_schema_is_a_schema() {
    for name in ["result", "sweep", "capacity", "comparison"] {
        let printed = run(&format!("schema {name}"));
        assert_eq!((printed.exit, stderr(&printed).as_str()), (Exit::Code(0), ""), "{name}");
        let schema: Value = serde_json::from_slice(&printed.stdout).expect("it is JSON");
        jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(schema["title"].is_string(), "{name}");
    }
}

#[test]
fn other_words_are_refused_in_one_sentence() {
    for (arguments, message) in [
        ("completions", "expected the name of a shell, bash, zsh or fish; got none"),
        ("completions tcsh", "expected bash, zsh or fish, got `tcsh`"),
        ("completions bash zsh", "expected bash, zsh or fish, got `bash zsh`"),
        (
            "schema",
            "expected the name of a document, result, sweep, capacity, comparison, tls-lab or workload; got none",
        ),
        (
            "schema results",
            "expected result, sweep, capacity, comparison, tls-lab or workload, got `results`",
        ),
    ] {
        let outcome = run(arguments);
        let command = arguments.split(' ').next().expect("a command");
        let expected = format!("httperf {command}: {message}\n");
        assert_eq!(
            (outcome.exit, stderr(&outcome), stdout(&outcome)),
            (Exit::Code(1), expected, String::new())
        );
    }
}
