//! The command line's grammar: that of GNU `getopt_long`, with its messages.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use super::{Command, Known, OptDescription, ParseStop, Tier, Value, ValueForm};

/// The order of options and other words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Options and other words may be mixed.
    Mixed,
    /// The first other word ends the options.
    OptionsFirst,
}

impl Order {
    /// The order that the environment asks for (`POSIXLY_CORRECT`).
    #[must_use]
    pub fn from_environment() -> Self {
        if std::env::var_os("POSIXLY_CORRECT").is_some() { Self::OptionsFirst } else { Self::Mixed }
    }
}

/// Applies `argv` (without the program's name) to `args`, from left to right.
///
/// Options before a stop stay applied.
///
/// # Errors
///
/// The first thing that is wrong, or that ends the program early as `--help` does.
pub fn parse<A, B>(
    command: &Command<A, B>,
    argv: &[OsString],
    order: Order,
    args: &mut A,
) -> Result<(), ParseStop> {
    let mut rest = argv.iter().map(|word| word.as_bytes());
    while let Some(word) = rest.next() {
        if word == b"--" {
            break;
        } else if let Some(long) = word.strip_prefix(b"--") {
            parse_long(command, long, &mut rest, args)?;
        } else if word.len() > 1 && word[0] == b'-' {
            parse_shorts(command, &word[1..], &mut rest, args)?;
        } else {
            (command.word)(args, word)?;
            if order == Order::OptionsFirst {
                break;
            }
        }
    }
    rest.try_for_each(|word| (command.word)(args, word))
}

/// Finds the option that `name` means.
///
/// An exact name wins. A prefix is looked up tier by tier, and the first tier with a candidate decides.
///
/// # Errors
///
/// The candidates, in alphabetical order, when there is not exactly one; none if nothing fits.
pub fn find<A, B>(
    command: &Command<A, B>,
    name: &[u8],
) -> Result<&'static OptDescription, Vec<&'static str>> {
    look_up(command, name).map(|option| option.text())
}

fn look_up<A, B>(command: &Command<A, B>, name: &[u8]) -> Result<Known<A, B>, Vec<&'static str>> {
    if let Some(exact) = command.all().find(|option| option.text().long.as_bytes() == name) {
        return Ok(exact);
    }
    for tier in Tier::ALL {
        let fits = |text: &OptDescription| text.tier == tier && text.long.as_bytes().starts_with(name);
        let mut candidates: Vec<_> = command.all().filter(|option| fits(option.text())).collect();
        if candidates.len() > 1 {
            let mut names: Vec<_> = candidates.iter().map(|option| option.text().long).collect();
            names.sort_unstable();
            return Err(names);
        }
        if let Some(only) = candidates.pop() {
            return Ok(only);
        }
    }
    Err(Vec::new())
}

fn parse_long<'a, A, B>(
    command: &Command<A, B>,
    word: &'a [u8],
    rest: &mut impl Iterator<Item = &'a [u8]>,
    args: &mut A,
) -> Result<(), ParseStop> {
    let (name, attached) = match word.iter().position(|&byte| byte == b'=') {
        Some(at) => (&word[..at], Some(&word[at + 1..])),
        None => (word, None),
    };
    let option = look_up(command, name).map_err(|candidates| unknown_long(word, &candidates))?;
    let value = match (option.text().value, attached) {
        (ValueForm::None, Some(_)) => {
            return Err(usage(&[
                b"option '--",
                option.text().long.as_bytes(),
                b"' doesn't allow an argument",
            ]));
        }
        (ValueForm::Required(_), None) => Some(rest.next().ok_or_else(|| {
            usage(&[b"option '--", option.text().long.as_bytes(), b"' requires an argument"])
        })?),
        (ValueForm::None | ValueForm::Optional(_), None)
        | (ValueForm::Required(_) | ValueForm::Optional(_), Some(_)) => attached,
    };
    option.apply(args, Value { given: value, by_letter: false })
}

fn unknown_long(word: &[u8], candidates: &[&str]) -> ParseStop {
    if candidates.is_empty() {
        return usage(&[b"unrecognized option '--", word, b"'"]);
    }
    let mut message = [b"option '--", word, b"' is ambiguous; possibilities:"].concat();
    for name in candidates {
        message.extend_from_slice(format!(" '--{name}'").as_bytes());
    }
    ParseStop::Usage(message)
}

/// A group of short options such as `-vvd1`: the first that takes a value takes what is left of the word,
/// or else the next word.
fn parse_shorts<'a, A, B>(
    command: &Command<A, B>,
    mut letters: &'a [u8],
    rest: &mut impl Iterator<Item = &'a [u8]>,
    args: &mut A,
) -> Result<(), ParseStop> {
    while let Some((&letter, others)) = letters.split_first() {
        letters = others;
        let Some(option) = command.all().find(|option| option.text().short == Some(char::from(letter)))
        else {
            return Err(usage(&[b"invalid option -- '", &[letter], b"'"]));
        };
        let value = match option.text().value {
            ValueForm::None => None,
            ValueForm::Optional(_) => (!others.is_empty()).then_some(std::mem::take(&mut letters)),
            ValueForm::Required(_) if !others.is_empty() => Some(std::mem::take(&mut letters)),
            ValueForm::Required(_) => Some(
                rest.next().ok_or_else(|| usage(&[b"option requires an argument -- '", &[letter], b"'"]))?,
            ),
        };
        option.apply(args, Value { given: value, by_letter: true })?;
    }
    Ok(())
}

fn usage(parts: &[&[u8]]) -> ParseStop {
    ParseStop::Usage(parts.concat())
}

/// The bytes of words, for those who have them as text.
#[must_use]
pub fn words(text: &[&str]) -> Vec<OsString> {
    text.iter().map(|word| OsStr::new(word).to_os_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::grammar::{Group, Opt};

    /// Everything that happened, in order.
    type Log = Vec<String>;

    fn note(log: &mut Log, name: &str, value: Value<'_>) {
        let value = value.given().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        log.push(value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}")));
    }

    macro_rules! option {
        ($form:ident $long:literal $(= $value:literal)? $(, $short:literal)? $(; $tier:ident)?) => {
            Opt::$form($long $(, $value)?, "")$(.short($short))?$(.$tier())?.apply(|log, value| {
                note(log, $long, value);
                Ok(())
            })
        };
    }

    const COMMAND: Command<Log> = Command {
        name: "",
        summary: "",
        words: "",
        groups: &[Group {
            title: "",
            options: &[
                option!(with_value "number" = "N", 'n'; classic),
                option!(flag "nought"; classic),
                option!(flag "numb"; classic_091),
                option!(flag "novel"),
                option!(flag "verbose", 'v'; classic),
                option!(with_optional_value "parts" = "PARTS", 'p'; classic),
            ],
        }],
        also: None,
        word: |log, word| {
            log.push(format!("<{}>", String::from_utf8_lossy(word)));
            Ok(())
        },
    };

    #[track_caller]
    fn check(argv: &[&str], expected: &[&str]) {
        check_in(Order::Mixed, argv, expected);
    }

    #[track_caller]
    fn check_in(order: Order, argv: &[&str], expected: &[&str]) {
        let mut log = Log::new();
        parse(&COMMAND, &words(argv), order, &mut log).unwrap();
        assert_eq!(log, expected);
    }

    #[track_caller]
    fn check_error(argv: &[&str], expected: &str) {
        let stop = parse(&COMMAND, &words(argv), Order::Mixed, &mut Log::new()).unwrap_err();
        assert_eq!(stop, ParseStop::Usage(expected.as_bytes().to_vec()));
    }

    #[test]
    fn a_required_value_may_be_attached_or_follow() {
        check(
            &["--number=3", "--number", "4", "-n5", "-n", "--"],
            &["number=3", "number=4", "number=5", "number=--"],
        );
    }

    #[test]
    fn an_attached_value_may_be_empty() {
        check(&["--number=", "--number", "", "--parts="], &["number=", "number=", "parts="]);
    }

    #[test]
    fn an_optional_value_is_only_taken_when_attached() {
        check(
            &["--parts", "x", "--parts=x", "-px", "-p", "x"],
            &["parts", "<x>", "parts=x", "parts=x", "parts", "<x>"],
        );
    }

    #[test]
    fn short_options_may_be_grouped_up_to_one_with_a_value() {
        check(&["-vvn1v", "-vn", "2"], &["verbose", "verbose", "number=1v", "verbose", "number=2"]);
    }

    #[test]
    fn words_mix_with_options_until_a_double_dash() {
        check(&["a", "-v", "-", "--", "-v", "--"], &["<a>", "verbose", "<->", "<-v>", "<-->"]);
    }

    #[test]
    fn posixly_correct_ends_options_at_the_first_word() {
        check_in(Order::OptionsFirst, &["-v", "a", "-v", "--"], &["verbose", "<a>", "<-v>", "<-->"]);
    }

    #[test]
    fn an_exact_name_of_any_tier_beats_a_prefix_of_an_older_one() {
        check(&["--numb"], &["numb"]);
    }

    #[test]
    fn an_abbreviation_means_the_oldest_option_it_fits() {
        check(&["--num=1", "--nou", "--nov"], &["number=1", "nought", "novel"]);
    }

    #[test]
    fn an_ambiguous_prefix_lists_the_candidates_of_its_tier_in_order() {
        check_error(&["--n=3"], "option '--n=3' is ambiguous; possibilities: '--nought' '--number'");
    }

    #[test]
    fn what_is_wrong_is_said_in_the_words_of_getopt() {
        check_error(&["--bogus=1"], "unrecognized option '--bogus=1'");
        check_error(&["---"], "unrecognized option '---'");
        check_error(&["-vx"], "invalid option -- 'x'");
        check_error(&["--num"], "option '--number' requires an argument");
        check_error(&["-vn"], "option requires an argument -- 'n'");
        check_error(&["--verb=1"], "option '--verbose' doesn't allow an argument");
    }

    #[test]
    fn options_before_an_error_were_applied() {
        let mut log = Log::new();
        assert!(parse(&COMMAND, &words(&["-v", "--bogus"]), Order::Mixed, &mut log).is_err());
        assert_eq!(log, ["verbose"]);
    }
}
