//! The texts that `-h` and `--help` print.

use std::fmt::Write as _;

use super::{Description, OptDescription};

/// The amount of help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelpForm {
    /// One line per option.
    Short,
    /// Every option with all there is to say.
    Long,
}

/// The help of a command, started as `program`.
#[must_use]
pub fn text(command: &Description, program: &str, form: HelpForm) -> String {
    let summary = wrap(command.summary, WIDTH).join("\n");
    let mut out = format!("Usage: {program} {}\n{summary}\n", synopsis(command));
    for group in &command.groups {
        write!(out, "\n{}:\n", group.title).expect(WRITES);
        for option in &group.options {
            match form {
                HelpForm::Short => short_entry(&mut out, option),
                HelpForm::Long => long_entry(&mut out, option),
            }
        }
    }
    if let Some(titles) = command.also_titles() {
        let also = format!("Also takes the options that `httperf --help` explains under {titles}.");
        write!(out, "\n{}\n", wrap(&also, WIDTH).join("\n")).expect(WRITES);
    }
    if !command.subcommands.is_empty() {
        out.push_str("\nCommands:\n");
        for &(name, summary) in &command.subcommands {
            subcommand_entry(&mut out, name, summary);
        }
    }
    if form == HelpForm::Short {
        write!(out, "\n`{program} --help` says more about each option.\n").expect(WRITES);
    }
    out
}

/// The words that may follow the program's name.
#[must_use]
pub fn synopsis(command: &Description) -> String {
    let mut letters: Vec<char> = command.options().filter_map(|option| option.short).collect();
    letters.sort_by_key(|letter| (letter.to_ascii_lowercase(), letter.is_ascii_uppercase()));
    let letters: String = letters.into_iter().collect();
    let letters = if letters.is_empty() { letters } else { format!("[-{letters}] ") };
    format!("{letters}[--OPTION[=VALUE]]... {}", command.words).trim_end().to_owned()
}

/// Paragraphs broken into lines of at most `width` characters.
#[must_use]
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Text as a sentence begins.
#[must_use]
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

const WRITES: &str = "writing to a string succeeds";

/// The column of descriptions in the short form.
const COLUMN: usize = 34;

/// The indent of descriptions in the long form.
const INDENT: &str = "          ";

/// The longest line of help.
const WIDTH: usize = 100;

fn short_entry(out: &mut String, option: &OptDescription) {
    let synopsis = aligned_synopsis(option);
    let mut lines = wrap(option.help, WIDTH - COLUMN).into_iter();
    if synopsis.len() < COLUMN {
        let first = lines.next().unwrap_or_default();
        writeln!(out, "{synopsis:COLUMN$}{first}").expect(WRITES);
    } else {
        writeln!(out, "{synopsis}").expect(WRITES);
    }
    for line in lines {
        writeln!(out, "{:COLUMN$}{line}", "").expect(WRITES);
    }
}

fn long_entry(out: &mut String, option: &OptDescription) {
    writeln!(out, "\n{}", aligned_synopsis(option)).expect(WRITES);
    let help = format!("{}.", capitalised(option.help));
    let paragraphs: Vec<String> = std::iter::once(&help[..])
        .chain(option.details.iter().copied())
        .map(|paragraph| wrap(paragraph, WIDTH - INDENT.len()))
        .map(|lines| lines.iter().map(|line| format!("{INDENT}{line}\n")).collect())
        .collect();
    out.push_str(&paragraphs.join("\n"));
}

fn subcommand_entry(out: &mut String, name: &str, summary: &str) {
    for (index, line) in wrap(summary, WIDTH - COLUMN).iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        writeln!(out, "      {name:width$}{line}", width = COLUMN - 6).expect(WRITES);
    }
}

/// The option with its long name in the same column whether or not it has a letter.
fn aligned_synopsis(option: &OptDescription) -> String {
    let indent = if option.short.is_some() { "  " } else { "      " };
    format!("{indent}{}", option.synopsis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrap("one two  three\nfour", 9), ["one two", "three", "four"]);
        assert_eq!(wrap("incomprehensibilities", 5), ["incomprehensibilities"]);
        assert!(wrap("", 5).is_empty());
    }
}
