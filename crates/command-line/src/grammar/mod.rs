//! Options as data: name, argument, meaning, and effect on the arguments.
//!
//! One definition ([`Opt`]) serves the parser, `--help`, the manual page, the completions and the reference page. A command
//! (the program itself, or a subcommand such as `serve`) is a [`Command`] over its own type of arguments. Tables live next to
//! their commands; the program's own is [`COMMAND`](crate::table::COMMAND).

pub mod help;
mod option;
pub mod parse;
pub mod rules;

pub use option::{Opt, OptDescription, Tier, ValueForm};
pub use parse::{Flag, Given, Order, Word, parse};
pub use rules::{Rule, any_of};

use std::ffi::OsStr;
use std::fmt::Display;
use std::os::unix::ffi::OsStrExt;

use httperf_plan::{number, secrets, units};

use crate::examples::{self, Example};

/// A command line: a table of options, and what to do with the other words.
///
/// `B` is the part of the arguments that options of another command set, if it takes some of those.
#[derive(Clone, Copy, Debug)]
pub struct Command<A: 'static, B: 'static = A> {
    /// The word that selects it; empty for the program itself.
    pub name: &'static str,
    /// Its purpose, in one line.
    pub summary: &'static str,
    /// The words it takes in addition to options, as a synopsis shows them; may be empty.
    pub words: &'static str,
    /// The options, in the order in which help shows them.
    pub groups: &'static [Group<A>],
    /// Further options, which are explained where another command has them. An option above takes the place of one of
    /// the same name here.
    pub also: Option<Borrowed<A, B>>,
    /// Takes a word that is not an option.
    pub word: fn(&mut A, &[u8]) -> Result<(), ParseStop>,
}

/// Options of another command, which set a part of the arguments.
#[derive(Clone, Copy, Debug)]
pub struct Borrowed<A: 'static, B: 'static> {
    /// The options, in the order in which help shows them.
    pub groups: &'static [Group<B>],
    /// The part that they set.
    pub part: fn(&mut A) -> &mut B,
}

/// Options that belong together, under a title.
#[derive(Clone, Copy, Debug)]
pub struct Group<A: 'static> {
    /// Such as `Timeouts and sockets`.
    pub title: &'static str,
    /// The options, in the order in which help shows them.
    pub options: &'static [Opt<A>],
}

/// The value an option was given, and how it was named.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    /// The long name of the option, without dashes.
    option: &'static str,
    given: Option<&'a [u8]>,
    by_letter: bool,
}

impl<'a> Value<'a> {
    /// The long name of the option, without dashes.
    #[must_use]
    pub fn option(self) -> &'static str {
        self.option
    }

    /// The value, or `None` if there was none (a flag, or an optional value left out).
    #[must_use]
    pub fn given(self) -> Option<&'a [u8]> {
        self.given
    }

    /// Returns whether the option was named by its short letter.
    #[must_use]
    pub fn by_letter(self) -> bool {
        self.by_letter
    }

    /// The value's bytes; empty if there was none.
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        self.given.unwrap_or_default()
    }

    /// The value as the system takes it, for paths and host names.
    #[must_use]
    pub fn os_str(self) -> &'a OsStr {
        OsStr::from_bytes(self.bytes())
    }

    /// Stops with the wording of newer options: ``--NAME: expected WHAT, got `VALUE` ``.
    #[must_use]
    pub fn expected(self, what: &str) -> ParseStop {
        let bytes = self.bytes();
        let shown = std::str::from_utf8(bytes).map(|text| secrets::value(self.option, text));
        let shown = shown.map_or_else(|_| bytes.to_vec(), String::into_bytes);
        ParseStop::rejected(
            [format!("--{}: expected {what}, got `", self.option).as_bytes(), &shown, b"`"].concat(),
        )
    }

    /// Stops with what is wrong with the value: `--NAME: WRONG`.
    #[must_use]
    pub fn rejected(self, wrong: impl Display) -> ParseStop {
        ParseStop::rejected(format!("--{}: {wrong}", self.option))
    }

    /// The value as a decimal number of the classic tool's syntax, not negative.
    #[must_use]
    pub fn unsigned(self) -> Option<u64> {
        number::unsigned(self.bytes())
    }

    /// The value as a real number of the classic tool's syntax, possibly negative, infinite or not a number.
    #[must_use]
    pub fn real(self) -> Option<f64> {
        number::real(self.bytes())
    }

    /// The value as a time in seconds: a real number, with a unit such as `ms` unless it counts seconds.
    #[must_use]
    pub fn seconds(self) -> Option<f64> {
        units::seconds(self.bytes())
    }

    /// The value as a rate per second: a real number, perhaps with `k`, `M`, `/s` or `/m` behind it.
    #[must_use]
    pub fn per_second(self) -> Option<f64> {
        units::per_second(self.bytes())
    }
}

/// The reason why parsing stops before the end of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseStop {
    /// The option itself is wrong. Follows `ARGV0: `, exit status 1.
    Usage(Vec<u8>),
    /// A value or a word is wrong. Follows `PROG: `.
    Rejected {
        /// The message.
        message: Vec<u8>,
        /// The message for people, if scripts know another one from the classic tool.
        plain: Option<Vec<u8>>,
        /// The exit status.
        status: u8,
    },
    /// Something is printed instead of a run.
    Print(String),
    /// Help was asked for.
    Help(help::HelpForm),
    /// The version was asked for.
    Version,
}

impl ParseStop {
    /// The message of a mistake; empty for what is no mistake.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Usage(message)
            | Self::Rejected { plain: Some(message), .. }
            | Self::Rejected { message, .. } => String::from_utf8_lossy(message).trim_end().to_owned(),
            Self::Print(_) | Self::Help(_) | Self::Version => String::new(),
        }
    }

    /// The classic wording `TEXT VALUE`, with the value as it was typed; people are told what was expected.
    #[must_use]
    pub fn illegal(text: &str, expected: &str, value: Value<'_>) -> Self {
        let message = [text.as_bytes(), b" ", value.bytes()].concat();
        match value.expected(expected) {
            Self::Rejected { message: plain, status, .. } => {
                Self::Rejected { message, plain: Some(plain), status }
            }
            stop => stop,
        }
    }

    /// A message of its own, with exit status 1.
    #[must_use]
    pub fn rejected(message: impl Into<Vec<u8>>) -> Self {
        Self::Rejected { message: message.into(), plain: None, status: 1 }
    }

    /// The same with a remedy on a line of its own, if there is one. What is printed instead of a run has none.
    #[must_use]
    pub fn with_hint(mut self, hint: Option<String>) -> Self {
        let hint = hint.map_or_else(String::new, |hint| format!("\nhint: {hint}"));
        match &mut self {
            Self::Usage(message) => message.extend_from_slice(hint.as_bytes()),
            Self::Rejected { message, plain, .. } => {
                [Some(message), plain.as_mut()]
                    .into_iter()
                    .flatten()
                    .for_each(|text| text.extend_from_slice(hint.as_bytes()));
            }
            Self::Print(_) | Self::Help(_) | Self::Version => {}
        }
        self
    }
}

impl<A, B> Command<A, B> {
    /// The texts of all options, in table order; of two with the same name, the first is meant.
    pub fn options(&self) -> impl Iterator<Item = &'static OptDescription> {
        self.all().map(|option| option.text())
    }

    fn all(&self) -> impl Iterator<Item = Known<A, B>> {
        let own = self.groups.iter().flat_map(|group| group.options).map(Known::Own);
        let also = self.also.iter().flat_map(|also| {
            let options = also.groups.iter().flat_map(|group| group.options);
            options.map(|option| Known::Borrowed(option, also.part))
        });
        own.chain(also)
    }

    /// Returns whether it has an option of its own of this name.
    pub fn has(&self, name: &str) -> bool {
        self.groups.iter().flat_map(|group| group.options).any(|option| option.text.long == name)
    }

    /// The description of this command for documents, without its type of arguments.
    #[must_use]
    pub fn describe(&self) -> Description {
        Description {
            name: self.name,
            summary: self.summary,
            words: self.words,
            examples: examples::of(self.name),
            groups: self.groups.iter().map(|group| group.describe(|_| true)).collect(),
            also: self
                .also
                .iter()
                .flat_map(|also| also.groups)
                .map(|group| group.describe(|option| !self.has(option.long)))
                .collect(),
            subcommands: Vec::new(),
        }
    }
}

/// An option that a command takes.
enum Known<A: 'static, B: 'static> {
    /// One of its own.
    Own(&'static Opt<A>),
    /// One of another command, with the part of the arguments that it sets.
    Borrowed(&'static Opt<B>, fn(&mut A) -> &mut B),
}

impl<A, B> Known<A, B> {
    fn text(&self) -> &'static OptDescription {
        match self {
            Self::Own(option) => &option.text,
            Self::Borrowed(option, _) => &option.text,
        }
    }

    fn apply(&self, args: &mut A, value: Value<'_>) -> Result<(), ParseStop> {
        match self {
            Self::Own(option) => (option.apply)(args, value),
            Self::Borrowed(option, part) => (option.apply)(part(args), value),
        }
    }
}

impl<A> Group<A> {
    fn describe(&self, is_shown: impl Fn(&OptDescription) -> bool) -> GroupDescription {
        let options = self.options.iter().map(|option| option.text).filter(|text| is_shown(text));
        GroupDescription { title: self.title, options: options.collect() }
    }
}

/// A [`Command`] without its functions.
#[derive(Clone, Debug)]
pub struct Description {
    /// See [`Command::name`].
    pub name: &'static str,
    /// See [`Command::summary`].
    pub summary: &'static str,
    /// See [`Command::words`].
    pub words: &'static str,
    /// Examples of its use.
    pub examples: &'static [Example],
    /// See [`Command::groups`].
    pub groups: Vec<GroupDescription>,
    /// See [`Command::also`].
    pub also: Vec<GroupDescription>,
    /// Name and summary of each command that the program has; empty for the commands themselves.
    pub subcommands: Vec<(&'static str, &'static str)>,
}

impl Description {
    /// All options, in table order. None is there twice.
    pub fn options(&self) -> impl Iterator<Item = &OptDescription> {
        self.groups.iter().chain(&self.also).flat_map(|group| &group.options)
    }

    /// The titles of groups that are explained elsewhere, as documents list them; `None` if there are none.
    #[must_use]
    pub fn also_titles(&self) -> Option<String> {
        let titles: Vec<String> = self.also.iter().map(|group| format!("\"{}\"", group.title)).collect();
        let (last, others) = titles.split_last()?;
        Some(match others {
            [] => last.clone(),
            others => format!("{} and {last}", others.join(", ")),
        })
    }
}

/// A [`Group`] without its functions.
#[derive(Clone, Debug)]
pub struct GroupDescription {
    /// See [`Group::title`].
    pub title: &'static str,
    /// See [`Group::options`].
    pub options: Vec<OptDescription>,
}
