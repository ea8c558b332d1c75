//! The command line's grammar: that of GNU `getopt_long`, with its messages.

use std::ffi::{OsStr, OsString};
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::slice;

use super::help::HelpForm;
use super::{Command, Known, OptDescription, ParseStop, Tier, Value, ValueForm};
use crate::command_line::hints;

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
    let mut reader = Reader::new(command, argv, order);
    while let Some(item) = reader.next() {
        match item? {
            Item::Option(option, value) => option.apply(args, value).map_err(|stop| match stop {
                // `-h all`: a flag takes no value, so the word behind it is looked at here.
                ParseStop::Help(HelpForm::Short) if reader.next_word() == Some(b"all") => {
                    ParseStop::Help(HelpForm::All)
                }
                stop => stop,
            })?,
            Item::Word(word) => (command.word)(args, word.bytes)?,
        }
    }
    Ok(())
}

/// The options of `argv` with their values, in the order in which they were typed, up to the first mistake.
#[must_use]
pub fn given<A, B>(command: &Command<A, B>, argv: &[OsString], order: Order) -> Vec<Given> {
    let options = Reader::new(command, argv, order).map_while(Result::ok).filter_map(|item| match item {
        Item::Option(option, value) => {
            Some(Given { option: option.text(), value: value.given().map(<[u8]>::to_vec) })
        }
        Item::Word(_) => None,
    });
    options.collect()
}

/// The words of `argv` that are not options, up to the first mistake.
pub fn other_words<'a, A, B>(
    command: &'a Command<A, B>,
    argv: &'a [OsString],
    order: Order,
) -> impl Iterator<Item = Word<'a>> {
    Reader::new(command, argv, order).map_while(Result::ok).filter_map(|item| match item {
        Item::Option(..) => None,
        Item::Word(word) => Some(word),
    })
}

/// An option as it was typed.
#[derive(Clone, Debug)]
pub struct Given {
    /// The option.
    pub option: &'static OptDescription,
    /// Its value, if it has one.
    pub value: Option<Vec<u8>>,
}

/// Options mean the same if they have the same name.
impl PartialEq for Given {
    fn eq(&self, other: &Self) -> bool {
        (self.option.long, &self.value) == (other.option.long, &other.value)
    }
}

/// A word that is not an option.
#[derive(Clone, Copy, Debug)]
pub struct Word<'a> {
    /// The word.
    pub bytes: &'a [u8],
    /// The option right in front of it, which takes no value from the next word, with the form in which it was named.
    pub behind: Option<Flag>,
}

/// An option that takes no value from the next word.
#[derive(Clone, Copy, Debug)]
pub struct Flag {
    /// The option.
    pub option: &'static OptDescription,
    /// True if it was named by its letter.
    pub by_letter: bool,
}

/// The parts of a command line.
enum Item<'a, A: 'static, B: 'static> {
    Option(Known<A, B>, Value<'a>),
    Word(Word<'a>),
}

/// Reads a command line part by part, without applying anything. There is nothing to read behind an error.
struct Reader<'a, A: 'static, B: 'static> {
    command: &'a Command<A, B>,
    rest: slice::Iter<'a, OsString>,
    order: Order,
    /// The rest of a group of letters.
    letters: &'a [u8],
    /// True once nothing can be an option any more.
    has_only_words: bool,
    /// The option in front of the next part, if it takes no value from the next word.
    behind: Option<Flag>,
}

impl<'a, A, B> Reader<'a, A, B> {
    fn new(command: &'a Command<A, B>, argv: &'a [OsString], order: Order) -> Self {
        Self { command, rest: argv.iter(), order, letters: &[], has_only_words: false, behind: None }
    }

    /// The next word, which is left where it is.
    fn next_word(&self) -> Option<&'a [u8]> {
        self.rest.as_slice().first().map(|word| word.as_bytes())
    }

    fn take_word(&mut self) -> Option<&'a [u8]> {
        self.rest.next().map(|word| word.as_bytes())
    }

    fn word(&mut self, bytes: &'a [u8]) -> Item<'a, A, B> {
        if self.order == Order::OptionsFirst {
            self.has_only_words = true;
        }
        Item::Word(Word { bytes, behind: self.behind.take() })
    }

    fn long(&mut self, word: &'a [u8]) -> Result<Item<'a, A, B>, ParseStop> {
        let (name, attached) = match word.iter().position(|&byte| byte == b'=') {
            Some(at) => (&word[..at], Some(&word[at + 1..])),
            None => (word, None),
        };
        let option = look_up(self.command, name)
            .map_err(|candidates| unknown_long(self.command, word, name, &candidates))?;
        let text = option.text();
        let value = match (text.value, attached) {
            (ValueForm::None, Some(_)) => {
                return Err(usage(&[b"option '--", text.long.as_bytes(), b"' doesn't allow an argument"]));
            }
            (ValueForm::Required(_), None) => {
                Some(self.take_word().ok_or_else(|| {
                    usage(&[b"option '--", text.long.as_bytes(), b"' requires an argument"])
                })?)
            }
            (ValueForm::None | ValueForm::Optional(_), None)
            | (ValueForm::Required(_) | ValueForm::Optional(_), Some(_)) => attached,
        };
        self.behind = value.is_none().then_some(Flag { option: text, by_letter: false });
        Ok(Item::Option(option, Value { given: value, by_letter: false }))
    }

    /// Reads the next of a group of letters such as `-vvd1`: the first that takes a value takes what is left of the
    /// word, or else the next word.
    fn letter(&mut self, letter: u8) -> Result<Item<'a, A, B>, ParseStop> {
        let Some(option) = self.command.all().find(|option| option.text().short == Some(char::from(letter)))
        else {
            let message = usage(&[b"invalid option -- '", &[letter], b"'"]);
            return Err(message.with_hint(hints::letter(self.command, letter)));
        };
        let text = option.text();
        let value = match text.value {
            ValueForm::None => None,
            ValueForm::Optional(_) | ValueForm::Required(_) if !self.letters.is_empty() => {
                Some(mem::take(&mut self.letters))
            }
            ValueForm::Optional(_) => None,
            ValueForm::Required(_) => Some(
                self.take_word()
                    .ok_or_else(|| usage(&[b"option requires an argument -- '", &[letter], b"'"]))?,
            ),
        };
        self.behind = value.is_none().then_some(Flag { option: text, by_letter: true });
        Ok(Item::Option(option, Value { given: value, by_letter: true }))
    }
}

impl<'a, A, B> Iterator for Reader<'a, A, B> {
    type Item = Result<Item<'a, A, B>, ParseStop>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some((&letter, others)) = self.letters.split_first() {
            self.letters = others;
            return Some(self.letter(letter));
        }
        let word = self.take_word()?;
        if self.has_only_words {
            return Some(Ok(self.word(word)));
        }
        if word == b"--" {
            self.has_only_words = true;
            self.behind = None;
            return self.next();
        }
        if let Some(long) = word.strip_prefix(b"--") {
            return Some(self.long(long));
        }
        match word {
            [b'-', letters @ ..] if !letters.is_empty() => {
                self.letters = letters;
                self.next()
            }
            _ => Some(Ok(self.word(word))),
        }
    }
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

/// Words a name that is no option's, or that of several, as the classic tool does, with a hint below where there is one.
fn unknown_long<A, B>(command: &Command<A, B>, word: &[u8], name: &[u8], candidates: &[&str]) -> ParseStop {
    let mut message = match candidates {
        [] => [b"unrecognized option '--", word, b"'"].concat(),
        _ => [b"option '--", word, b"' is ambiguous; possibilities:"].concat(),
    };
    for candidate in candidates {
        message.extend_from_slice(format!(" '--{candidate}'").as_bytes());
    }
    ParseStop::Usage(message).with_hint(hints::long(command, name, candidates))
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
    fn a_word_knows_the_flag_that_it_stands_behind() {
        let argv = words(&[
            "a",
            "-vp",
            "b",
            "c",
            "--nought",
            "d",
            "-n",
            "1",
            "e",
            "--number=1",
            "f",
            "-v",
            "--",
            "g",
        ]);
        let behind: Vec<(&[u8], Option<&str>)> = other_words(&COMMAND, &argv, Order::Mixed)
            .map(|word| (word.bytes, word.behind.map(|flag| flag.option.long)))
            .collect();
        let expected: [(&[u8], Option<&str>); 7] = [
            (b"a", None),
            (b"b", Some("parts")),
            (b"c", None),
            (b"d", Some("nought")),
            (b"e", None),
            (b"f", None),
            (b"g", None),
        ];
        assert_eq!(behind, expected);
    }

    #[test]
    fn what_was_given_is_listed_in_the_order_in_which_it_was_typed() {
        let argv = words(&["--num=2", "a", "-vn1", "--parts", "--bogus", "-v"]);
        let given: Vec<String> = given(&COMMAND, &argv, Order::Mixed)
            .iter()
            .map(|given| {
                format!("{}={:?}", given.option.long, given.value.as_deref().map(String::from_utf8_lossy))
            })
            .collect();
        assert_eq!(given, ["number=Some(\"2\")", "verbose=None", "number=Some(\"1\")", "parts=None"]);
    }

    #[test]
    fn options_before_an_error_were_applied() {
        let mut log = Log::new();
        assert!(parse(&COMMAND, &words(&["-v", "--bogus"]), Order::Mixed, &mut log).is_err());
        assert_eq!(log, ["verbose"]);
    }
}
