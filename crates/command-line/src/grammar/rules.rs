//! Rules between options, as their declarations state them: which cannot be used together, and which need another.

use std::ffi::OsString;

use super::parse::given;
use super::{Command, OptDescription, Order, ParseStop};

/// Terms that an option cannot be used with, or one of which it needs.
///
/// A term is the name of an option, which holds if the option was given, or one that says more, such as `http-version=3` or
/// `pipeline above 1`. Who checks a command line decides which terms hold.
///
/// ```
/// use httperf_command_line::grammar::{Opt, any_of};
///
/// const RATE: Opt<f64> = Opt::with_value("rate", "X", "starts X connections per second")
///     .conflicts(&[any_of(&["num-conns"]).because("--duration says how many there are")])
///     .needs(&[any_of(&["duration", "runtime"])])
///     .apply(|rate, value| {
///         *rate = value.real().unwrap_or_default();
///         Ok(())
///     });
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The form of the option that the rule is about, itself a term; `None` if it is about the option in any form.
    pub form: Option<&'static str>,
    /// The other terms.
    pub others: &'static [&'static str],
    /// The reason, or what would do instead, as it stands behind a colon.
    pub reason: Option<&'static str>,
}

/// A rule about any of these terms, without a reason.
#[must_use]
pub const fn any_of(others: &'static [&'static str]) -> Rule {
    Rule { form: None, others, reason: None }
}

impl Rule {
    /// Adds the reason, or what would do instead.
    #[must_use]
    pub const fn because(self, reason: &'static str) -> Self {
        Self { reason: Some(reason), ..self }
    }

    /// Restricts the rule to a form of the option, such as `ws-messages=0`.
    #[must_use]
    pub const fn when(self, form: &'static str) -> Self {
        Self { form: Some(form), ..self }
    }

    /// The term that the rule is about.
    #[must_use]
    pub fn subject(&self, option: &OptDescription) -> &'static str {
        self.form.unwrap_or(option.long)
    }

    /// The message about two terms that hold, as they are shown.
    #[must_use]
    pub fn conflict(&self, subject: &str, other: &str) -> String {
        self.reasoned(format!("{subject} cannot be used with {other}"))
    }

    /// The message about a term that holds, as it is shown, where none of the others does.
    #[must_use]
    pub fn need(&self, subject: &str) -> String {
        self.reasoned(format!("{subject} needs {}", listed(self.others)))
    }

    fn reasoned(&self, sentence: String) -> String {
        match self.reason {
            Some(reason) => format!("{sentence}: {reason}"),
            None => sentence,
        }
    }
}

/// Checks what was given against the rules of `options`: first what cannot be used together, then what is missing.
///
/// `said` returns how a term was given, as messages show it, or `None` if it does not hold. What is `brought` from elsewhere,
/// by a workload file for example, need not be given.
///
/// # Errors
/// The first rule that is broken.
pub fn check(
    options: impl Iterator<Item = &'static OptDescription>,
    said: impl Fn(&str) -> Option<String>,
    brought: &[&str],
) -> Result<(), ParseStop> {
    let options: Vec<&OptDescription> = options.collect();
    for option in &options {
        for rule in option.conflicts {
            if let Some(subject) = said(rule.subject(option))
                && let Some(other) = rule.others.iter().find_map(|term| said(term))
            {
                return Err(ParseStop::rejected(rule.conflict(&subject, &other)));
            }
        }
    }
    for option in &options {
        for rule in option.needs {
            let is_met = |term: &&str| said(term).is_some() || brought.contains(term);
            if let Some(subject) = said(rule.subject(option))
                && !rule.others.iter().any(is_met)
            {
                return Err(ParseStop::rejected(rule.need(&subject)));
            }
        }
    }
    Ok(())
}

/// Checks the rules of a command's own options. `conditions` has the terms that say more than the name of an option, and whether
/// they hold.
///
/// # Errors
/// The first rule that is broken.
pub fn check_own<A, B>(
    command: &Command<A, B>,
    words: &[OsString],
    order: Order,
    conditions: &[(&str, bool)],
) -> Result<(), ParseStop> {
    let typed = given(command, words, order);
    let holds = |term: &str| match conditions.iter().find(|(name, _)| *name == term) {
        Some((_, holds)) => *holds,
        None => typed.iter().any(|given| given.option.long == term),
    };
    let options = command.groups.iter().flat_map(|group| group.options).map(|option| &option.text);
    check(options, |term| holds(term).then(|| shown(term)), &[])
}

/// The beginning of terms that name no option, such as `a URL`.
const NO_OPTION: &str = "a ";

/// A term as messages and documents show it.
#[must_use]
pub fn shown(term: &str) -> String {
    if term.starts_with(NO_OPTION) { term.to_owned() } else { format!("--{term}") }
}

/// The option that a term is about, if it is about one.
#[must_use]
pub fn option_of(term: &str) -> Option<&str> {
    let name = term.split(['=', ' ']).next().unwrap_or(term);
    (!term.starts_with(NO_OPTION)).then_some(name)
}

/// Terms as a list with `or`. Of values of the same option in a row, the first alone names it: `--http-version=2, 3 or auto`.
fn listed(terms: &[&str]) -> String {
    let mut option = None;
    let names = terms.iter().map(|term| {
        let valued = term.split_once('=');
        let earlier = std::mem::replace(&mut option, valued.map(|(name, _)| name));
        match valued {
            Some((name, value)) if earlier == Some(name) => value.to_owned(),
            _ => shown(term),
        }
    });
    let names: Vec<String> = names.collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        Some((only, _)) => only.clone(),
        None => String::new(),
    }
}

/// The rules of an option as sentences of documents.
pub(super) fn sentences(option: &OptDescription) -> Vec<String> {
    let subject = |rule: &Rule| rule.form.map(|form| format!("`{}`", shown(form)));
    let conflicts = option.conflicts.iter().map(|rule| match subject(rule) {
        Some(form) => rule.conflict(&form, &listed(rule.others)),
        None => rule.reasoned(format!("Cannot be used with {}", listed(rule.others))),
    });
    let needs = option.needs.iter().map(|rule| match subject(rule) {
        Some(form) => rule.need(&form),
        None => rule.reasoned(format!("Needs {}", listed(rule.others))),
    });
    conflicts.chain(needs).map(|sentence| sentence + ".").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::Opt;

    static OPTIONS: [OptDescription; 2] = [
        Opt::flag("mill", "grinds")
            .conflicts(&[any_of(&["wind=north", "wind=south"]).when("mill=old").because("it stands still")])
            .needs(&[any_of(&["grain", "wind=north", "wind=south", "a river"])]),
        Opt::flag("sail", "turns").conflicts(&[any_of(&["mill"])]),
    ];

    #[track_caller]
    fn check(given: &[&str], brought: &[&str], expected: Result<(), &str>) {
        let said = |term: &str| given.contains(&term).then(|| shown(term));
        let found = super::check(OPTIONS.iter(), said, brought);
        assert_eq!(found, expected.map_err(ParseStop::rejected), "{given:?}");
    }

    #[test]
    fn a_conflict_comes_before_what_is_missing() {
        check(&[], &[], Ok(()));
        check(&["mill"], &[], Err("--mill needs --grain, --wind=north, south or a river"));
        check(&["mill", "a river"], &[], Ok(()));
        check(&["mill"], &["grain"], Ok(()));
        check(&["mill", "sail"], &[], Err("--sail cannot be used with --mill"));
        check(
            &["mill=old", "wind=south"],
            &[],
            Err("--mill=old cannot be used with --wind=south: it stands still"),
        );
    }

    #[test]
    fn documents_have_a_sentence_for_each_rule() {
        assert_eq!(
            sentences(&OPTIONS[0]),
            [
                "`--mill=old` cannot be used with --wind=north or south: it stands still.",
                "Needs --grain, --wind=north, south or a river.",
            ]
        );
        assert_eq!(sentences(&OPTIONS[1]), ["Cannot be used with --mill."]);
    }

    #[test]
    fn a_term_may_say_more_than_the_name_of_an_option() {
        assert_eq!(option_of("pipeline above 1"), Some("pipeline"));
        assert_eq!(option_of("http-version=3"), Some("http-version"));
        assert_eq!(option_of("a URL"), None);
    }
}
