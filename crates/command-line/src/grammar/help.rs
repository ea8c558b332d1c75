//! The texts that `-h` and `--help` print.

use std::fmt::Write as _;

use super::{Description, OptDescription};
use crate::examples::Example;
use crate::terminal;

/// The amount of help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelpForm {
    /// The most important options of a command, one line each.
    Short,
    /// Every option, one line each.
    All,
    /// Every option with all there is to say.
    Long,
}

/// The help of a command, started as `program`, in lines of at most `width` characters where words allow it.
#[must_use]
pub fn text(command: &Description, program: &str, form: HelpForm, width: usize) -> String {
    let layout = Layout { width };
    let mut out = String::new();
    layout.usage(&mut out, &format!("{program} {}", synopsis(command)));
    layout.paragraph(&mut out, command.summary);
    let common: Vec<_> =
        command.groups.iter().flat_map(|group| &group.options).filter(|option| option.is_common).collect();
    let form = if form == HelpForm::Short && common.is_empty() { HelpForm::All } else { form };
    match form {
        HelpForm::Short => {
            layout.common(&mut out, &common);
            let lines = command.examples.iter().map(|example| format!("  {}\n", example.line));
            let lines: String = lines.filter(|line| line.len() <= width).collect();
            if !lines.is_empty() {
                out = out + "\n" + &lines;
            }
        }
        HelpForm::All => layout.groups(&mut out, command, Layout::short_entry),
        HelpForm::Long => {
            examples(&mut out, command);
            layout.groups(&mut out, command, Layout::long_entry);
        }
    }
    if form != HelpForm::Short && !command.subcommands.is_empty() {
        out.push_str("\nCommands:\n");
        for &(name, summary) in &command.subcommands {
            layout.entry(&mut out, &format!("      {name}"), summary);
        }
    }
    let more = match form {
        HelpForm::Short if command.also.is_empty() => {
            format!("All options: `{program} -h all`, with explanations: `{program} --help`.")
        }
        HelpForm::Short => {
            format!(
                "All options: `{program} -h all`, explained: `--help`. It also takes those of a run: `httperf -h`."
            )
        }
        HelpForm::All => format!("`{program} --help` says more about each option."),
        HelpForm::Long => return out,
    };
    out.push('\n');
    layout.paragraph(&mut out, &more);
    out
}

/// The width for lines of help: that of the terminal on standard output, up to what is pleasant to read.
#[must_use]
pub fn width() -> usize {
    terminal::columns().map_or(WIDTH, |columns| columns.clamp(WIDTH_MIN, WIDTH))
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

/// The indent of descriptions in the long form, and of those in the short form where lines are short.
const INDENT: usize = 10;

/// The longest line of help, and the longest where the terminal is narrower than can be respected.
const WIDTH: usize = 100;
const WIDTH_MIN: usize = 40;

/// The fewest columns that descriptions have to the right of the options; with fewer, they stand below them.
const DESCRIPTION_MIN: usize = 30;

fn examples(out: &mut String, command: &Description) {
    if command.examples.is_empty() {
        return;
    }
    out.push_str("\nExamples:\n");
    for Example { purpose, line } in command.examples {
        write!(out, "  # {purpose}\n  {line}\n").expect(WRITES);
    }
}

/// The form of lines.
#[derive(Clone, Copy)]
struct Layout {
    width: usize,
}

impl Layout {
    fn paragraph(self, out: &mut String, text: &str) {
        for line in wrap(text, self.width) {
            writeln!(out, "{line}").expect(WRITES);
        }
    }

    fn usage(self, out: &mut String, words: &str) {
        const START: &str = "Usage: ";
        let indent = START.len();
        for (number, line) in wrap(words, self.width - indent).iter().enumerate() {
            writeln!(out, "{:indent$}{line}", if number == 0 { START } else { "" }).expect(WRITES);
        }
    }

    fn groups(self, out: &mut String, command: &Description, entry: fn(Self, &mut String, &OptDescription)) {
        for group in &command.groups {
            write!(out, "\n{}:\n", group.title).expect(WRITES);
            group.options.iter().for_each(|option| entry(self, out, option));
        }
        if let Some(titles) = command.also_titles() {
            out.push('\n');
            let also = format!("Also takes the options that `httperf --help` explains under {titles}.");
            self.paragraph(out, &also);
        }
    }

    /// The most important options, in columns as narrow as they can be.
    fn common(self, out: &mut String, options: &[&OptDescription]) {
        let term = |option: &OptDescription| format!("  {}", option.long_synopsis());
        let widest = options.iter().map(|&option| term(option).len() + 2).max().unwrap_or(0);
        out.push('\n');
        for option in options {
            self.columns(out, &term(option), option.help, widest.min(COLUMN));
        }
    }

    fn short_entry(self, out: &mut String, option: &OptDescription) {
        self.entry(out, &aligned_synopsis(option), option.help);
    }

    /// A term with its description, in two columns where there is room for them.
    fn entry(self, out: &mut String, term: &str, description: &str) {
        self.columns(out, term, description, COLUMN);
    }

    /// The same with this column for descriptions.
    fn columns(self, out: &mut String, term: &str, description: &str, column: usize) {
        let column = if self.width < column + DESCRIPTION_MIN { INDENT } else { column };
        let mut lines = wrap(description, self.width - column).into_iter();
        if term.len() < column {
            let first = lines.next().unwrap_or_default();
            writeln!(out, "{term:column$}{first}").expect(WRITES);
        } else {
            writeln!(out, "{term}").expect(WRITES);
        }
        for line in lines {
            writeln!(out, "{:column$}{line}", "").expect(WRITES);
        }
    }

    fn long_entry(self, out: &mut String, option: &OptDescription) {
        writeln!(out, "\n{}", aligned_synopsis(option)).expect(WRITES);
        let help = format!("{}.", capitalised(option.help));
        let paragraphs: Vec<String> = std::iter::once(help.into())
            .chain(option.paragraphs())
            .map(|paragraph| wrap(&paragraph, self.width - INDENT))
            .map(|lines| lines.iter().map(|line| format!("{:INDENT$}{line}\n", "")).collect())
            .collect();
        out.push_str(&paragraphs.join("\n"));
    }
}

/// The option with its long name in the same column whether or not it has a letter.
fn aligned_synopsis(option: &OptDescription) -> String {
    let indent = if option.short.is_some() { "  " } else { "      " };
    format!("{indent}{}", option.synopsis())
}

#[cfg(test)]
mod tests {
    use super::super::{GroupDescription, Tier, ValueForm};
    use super::*;

    /// A command that has one of everything.
    fn toy() -> Description {
        let option = |long, short, value, help, is_common| OptDescription {
            long,
            short,
            value,
            tier: Tier::New,
            help,
            details: &[],
            conflicts: &[],
            needs: &[],
            sets: &[],
            is_common,
            is_repeatable: false,
        };
        let mut wind =
            option("wind", Some('w'), ValueForm::Required("SPEED"), "let the wind blow at this speed", true);
        wind.details = &[
            "In metres per second; 0 by default, so that what moves the mill is water. With a speed beyond 20 the sails are \
             reefed.",
            "May be a range.",
        ];
        let mill = vec![
            wind,
            option(
                "grain",
                None,
                ValueForm::Optional("KIND"),
                "grind this grain, rye if no other is named",
                false,
            ),
        ];
        let other = vec![option(
            "an-option-whose-name-fills-its-column",
            None,
            ValueForm::None,
            "stand in a line of its own, with a description that is too long for one line and goes on in the next",
            false,
        )];
        Description {
            name: "mill",
            summary: "Grinds grain until none is left.",
            words: "[BAG]...",
            examples: &[Example { purpose: "grind one bag", line: "windmill mill --wind 7 rye.bag" }],
            groups: vec![
                GroupDescription { title: "The mill", options: mill },
                GroupDescription { title: "Other", options: other },
            ],
            also: vec![
                GroupDescription { title: "The bags", options: Vec::new() },
                GroupDescription { title: "The cart", options: Vec::new() },
            ],
            subcommands: vec![("clean", "Cleans the mill"), ("sell", "Sells the flour")],
        }
    }

    #[test]
    fn help_has_three_forms_and_fits_its_width() {
        let mut all = String::new();
        for (form, width) in [
            (HelpForm::Short, 80),
            (HelpForm::All, 80),
            (HelpForm::Long, 80),
            (HelpForm::All, 50),
            (HelpForm::Long, 50),
        ] {
            let text = text(&toy(), "windmill mill", form, width);
            write!(all, "==== {form:?}, {width} columns\n{text}").expect(WRITES);
        }
        insta::assert_snapshot!(all);
    }

    #[test]
    fn text_is_broken_between_words() {
        assert_eq!(wrap("one two  three\nfour", 9), ["one two", "three", "four"]);
        assert_eq!(wrap("incomprehensibilities", 5), ["incomprehensibilities"]);
        assert!(wrap("", 5).is_empty());
    }
}
