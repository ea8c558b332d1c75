//! One option: its text, which documents show, and its effect on the arguments.

use std::borrow::Cow;

use super::rules::{self, Rule};
use super::{ParseStop, Value, help};

/// One option.
///
/// A declaration states what is special about the option, in this order:
///
/// ```
/// use httperf_command_line::grammar::Opt;
///
/// const RATE: Opt<f64> = Opt::with_value("rate", "X", "starts X connections per second")
///     .classic()
///     .details(&["Default: 0."])
///     .apply(|rate, value| {
///         *rate = value.real().unwrap_or_default();
///         Ok(())
///     });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Opt<A> {
    /// Everything but its effect.
    pub text: OptDescription,
    /// Applies a value to the arguments.
    pub apply: fn(&mut A, Value<'_>) -> Result<(), ParseStop>,
}

/// The constructors, which do not know the type of the arguments yet: [`OptDescription::apply`] brings it.
impl Opt<()> {
    /// Describes an option with a required value, which help calls `value`.
    #[must_use]
    pub const fn with_value(long: &'static str, value: &'static str, help: &'static str) -> OptDescription {
        OptDescription::new(long, ValueForm::Required(value), help)
    }

    /// Describes an option whose value may be left out.
    #[must_use]
    pub const fn with_optional_value(
        long: &'static str,
        value: &'static str,
        help: &'static str,
    ) -> OptDescription {
        OptDescription::new(long, ValueForm::Optional(value), help)
    }

    /// Describes an option without a value.
    #[must_use]
    pub const fn flag(long: &'static str, help: &'static str) -> OptDescription {
        OptDescription::new(long, ValueForm::None, help)
    }
}

impl<A> Opt<A> {
    /// `-h`, `--help`, which every command has.
    #[must_use]
    pub const fn help() -> Self {
        Opt::flag("help", "explains the options and exits")
            .short('h')
            .classic()
            .details(&[
                "`-h` prints a line for each of the most important options, `-h all` a line for every option, \
                 `--help` all there is to say.",
            ])
            .apply(|_, value| {
                Err(ParseStop::Help(if value.by_letter() {
                    help::HelpForm::Short
                } else {
                    help::HelpForm::Long
                }))
            })
    }
}

/// The text of an option: an [`Opt`] without its effect.
#[derive(Clone, Copy, Debug)]
pub struct OptDescription {
    /// The long name, without dashes.
    pub long: &'static str,
    /// The short letter.
    pub short: Option<char>,
    /// The form of its value.
    pub value: ValueForm,
    /// Its age, which decides what abbreviations mean.
    pub tier: Tier,
    /// Its effect: one line, no full stop.
    pub help: &'static str,
    /// Further paragraphs: unit, default, range, what to know.
    pub details: &'static [&'static str],
    /// Terms that it cannot be used with.
    pub conflicts: &'static [Rule],
    /// Terms that it needs: one of each rule.
    pub needs: &'static [Rule],
    /// Paths of the plan's fields that it sets, for who names differences between plans; `rpc.` begins those of plans that
    /// call methods of gRPC.
    pub sets: &'static [&'static str],
    /// True for an option that short help shows.
    pub is_common: bool,
    /// True if every occurrence counts, and not only the last.
    pub is_repeatable: bool,
}

impl OptDescription {
    /// Describes a new option, without a letter and without details.
    const fn new(long: &'static str, value: ValueForm, help: &'static str) -> Self {
        Self {
            long,
            short: None,
            value,
            tier: Tier::New,
            help,
            details: &[],
            conflicts: &[],
            needs: &[],
            sets: &[],
            is_common: false,
            is_repeatable: false,
        }
    }

    /// Gives it a letter.
    #[must_use]
    pub const fn short(self, letter: char) -> Self {
        Self { short: Some(letter), ..self }
    }

    /// Places it among the options of the classic tool's release 0.9.0.
    #[must_use]
    pub const fn classic(self) -> Self {
        Self { tier: Tier::Classic090, ..self }
    }

    /// Places it among those that the classic tool's last development version added.
    #[must_use]
    pub const fn classic_091(self) -> Self {
        Self { tier: Tier::Classic091, ..self }
    }

    /// Adds further paragraphs.
    #[must_use]
    pub const fn details(self, details: &'static [&'static str]) -> Self {
        Self { details, ..self }
    }

    /// States what it cannot be used with.
    #[must_use]
    pub const fn conflicts(self, conflicts: &'static [Rule]) -> Self {
        Self { conflicts, ..self }
    }

    /// States what it needs.
    #[must_use]
    pub const fn needs(self, needs: &'static [Rule]) -> Self {
        Self { needs, ..self }
    }

    /// Names the fields of a plan that it sets.
    #[must_use]
    pub const fn sets(self, sets: &'static [&'static str]) -> Self {
        Self { sets, ..self }
    }

    /// Shows it in short help.
    #[must_use]
    pub const fn common(self) -> Self {
        Self { is_common: true, ..self }
    }

    /// Lets every occurrence count.
    #[must_use]
    pub const fn repeatable(self) -> Self {
        Self { is_repeatable: true, ..self }
    }

    /// Completes the option with its effect on the arguments.
    pub const fn apply<A>(self, apply: fn(&mut A, Value<'_>) -> Result<(), ParseStop>) -> Opt<A> {
        Opt { text: self, apply }
    }

    /// What documents say of it in addition to its help: its details, and a paragraph with its rules.
    pub fn paragraphs(&self) -> impl Iterator<Item = Cow<'static, str>> {
        let details = self.details.iter().map(|&paragraph| Cow::Borrowed(paragraph));
        let rules = Some(rules::sentences(self)).filter(|sentences| !sentences.is_empty());
        details.chain(rules.map(|sentences| Cow::Owned(sentences.join(" "))))
    }

    /// The option as a document shows it, such as `-d, --debug N` or `--print-reply[=PARTS]`.
    #[must_use]
    pub fn synopsis(&self) -> String {
        let short = self.short.map_or_else(String::new, |letter| format!("-{letter}, "));
        format!("{short}{}", self.long_synopsis())
    }

    /// The long form alone, such as `--debug N`.
    #[must_use]
    pub fn long_synopsis(&self) -> String {
        let long = self.long;
        match self.value {
            ValueForm::None => format!("--{long}"),
            ValueForm::Required(name) => format!("--{long} {name}"),
            ValueForm::Optional(name) => format!("--{long}[={name}]"),
        }
    }
}

/// The form of an option's value, with the name that help gives the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueForm {
    /// A flag.
    None,
    /// `--name VALUE` or `--name=VALUE`.
    Required(&'static str),
    /// `--name` or `--name=VALUE`; never the next word.
    Optional(&'static str),
}

impl ValueForm {
    /// The words that the value may be, if its name in help is a list of them such as `header|body`.
    #[must_use]
    pub fn alternatives(self) -> Vec<&'static str> {
        let (Self::Required(name) | Self::Optional(name)) = self else { return Vec::new() };
        let is_word = |part: &str| part.len() > 1 && part.bytes().all(|byte| byte.is_ascii_lowercase());
        let parts: Vec<&str> = name.split('|').collect();
        if parts.len() > 1 && parts.iter().all(|part| is_word(part)) { parts } else { Vec::new() }
    }
}

/// The age of an option.
///
/// An abbreviation is looked up among the oldest options first, so that a newer option never changes the
/// meaning of an old script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// In the classic tool, release 0.9.0.
    Classic090,
    /// Added by its last development version, 0.9.1.
    Classic091,
    /// Ours.
    New,
}

impl Tier {
    /// All of them, oldest first.
    pub const ALL: [Self; 3] = [Self::Classic090, Self::Classic091, Self::New];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_of_words_is_a_choice() {
        assert_eq!(ValueForm::Optional("header|body").alternatives(), ["header", "body"]);
        assert!(ValueForm::Required("y|n,FILE").alternatives().is_empty());
        assert!(ValueForm::Required("FILE").alternatives().is_empty());
        assert!(ValueForm::None.alternatives().is_empty());
    }
}
