//! The command line's grammar: that of GNU `getopt_long`, with its messages.

use std::ffi::{OsStr, OsString};
use std::mem;
use std::os::unix::ffi::OsStrExt;
use std::slice;

use super::help::HelpForm;
use super::{Command, Known, OptDescription, ParseStop, Tier, Value, ValueForm};
use crate::hints::{self, Foreign};

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
        match item {
            Ok(Item::Option(option, value)) => option.apply(args, value).map_err(|stop| match stop {
                // `-h all`: a flag takes no value, so the word behind it is looked at here.
                ParseStop::Help(HelpForm::Short) if reader.next_word() == Some(b"all") => {
                    ParseStop::Help(HelpForm::All)
                }
                stop => match foreign_value(command, option.text(), value) {
                    Some(own) => with_hints(stop, command, argv, order, &own.typed),
                    None => stop,
                },
            })?,
            Ok(Item::Word(word)) => (command.word)(args, word.bytes)?,
            Err(Mistake::Form(stop)) => return Err(stop),
            Err(mistake) => {
                let typed = mistake.typed();
                return Err(with_hints(mistake.stop(), command, argv, order, &typed));
            }
        }
    }
    Ok(())
}

/// The number of options of other tools that are explained at a time.
const FOREIGN_MAX: usize = 3;

/// Adds hints at the options of other tools in `argv`. `mistaken` is the first that cannot be used.
fn with_hints<A, B>(
    stop: ParseStop,
    command: &Command<A, B>,
    argv: &[OsString],
    order: Order,
    mistaken: &str,
) -> ParseStop {
    let foreign = foreign_options(command, argv, order);
    let lines = hints::lines(command, mistaken, &foreign);
    lines.into_iter().fold(stop, |stop, line| stop.with_hint(Some(line)))
}

/// The first options of other tools in `argv`, and misspelt ones.
fn foreign_options<A, B>(command: &Command<A, B>, argv: &[OsString], order: Order) -> Vec<Foreign> {
    let mut reader = Reader::new(command, argv, order);
    let mut found: Vec<Foreign> = Vec::new();
    while found.len() < FOREIGN_MAX
        && let Some(item) = reader.next()
    {
        let one = match item {
            Ok(Item::Option(option, value)) => foreign_value(command, option.text(), value),
            Ok(Item::Word(word)) if word.is_count() => {
                hints::count(command).map(|hint| Foreign { typed: "-n".to_owned(), hint })
            }
            Ok(Item::Word(_)) => None,
            Err(mistake) => {
                // What is behind it may be its value.
                (reader.letters, reader.behind) = (&[], None);
                mistake.hint(command).map(|hint| Foreign { typed: mistake.typed(), hint })
            }
        };
        found.extend(one.filter(|one| found.iter().all(|other| other.hint != one.hint)));
    }
    found
}

/// The option of another tool that has the name of one of ours, but another kind of value.
fn foreign_value<A, B>(
    command: &Command<A, B>,
    option: &OptDescription,
    value: Value<'_>,
) -> Option<Foreign> {
    if option.long != "debug" {
        return None;
    }
    let hint = hints::debug_value(command, value.given()?)?;
    Some(Foreign { typed: if value.by_letter { "-d" } else { "--debug" }.to_owned(), hint })
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

impl Word<'_> {
    /// Returns whether it is a number.
    pub(crate) fn is_number(self) -> bool {
        !self.bytes.is_empty() && self.bytes.iter().all(u8::is_ascii_digit)
    }

    /// Returns whether it is a number of requests as other tools take it: `-n 1000`.
    pub(crate) fn is_count(self) -> bool {
        let is_n = |flag: Flag| flag.by_letter && flag.option.short == Some('n');
        self.behind.is_some_and(is_n) && self.is_number()
    }
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

/// A part of a command line that is no option with its value.
enum Mistake<'a> {
    /// A letter that is no option.
    Letter(u8),
    /// A name that is no option's, or that of several.
    Name {
        /// The word behind its dashes.
        word: &'a [u8],
        /// The name in it.
        name: &'a [u8],
        /// The names that it abbreviates.
        candidates: Vec<&'static str>,
    },
    /// An option with a value where it takes none, or without one.
    Form(ParseStop),
}

impl Mistake<'_> {
    /// The option as it was typed.
    fn typed(&self) -> String {
        match self {
            Self::Letter(letter) => format!("-{}", char::from(*letter)),
            Self::Name { name, .. } => format!("--{}", String::from_utf8_lossy(name)),
            Self::Form(_) => String::new(),
        }
    }

    fn hint<A, B>(&self, command: &Command<A, B>) -> Option<String> {
        match self {
            Self::Letter(letter) => hints::letter(command, *letter),
            Self::Name { name, candidates, .. } => hints::long(command, name, candidates),
            Self::Form(_) => None,
        }
    }

    /// The classic tool's message.
    fn stop(self) -> ParseStop {
        match self {
            Self::Letter(letter) => usage(&[b"invalid option -- '", &[letter], b"'"]),
            Self::Name { word, candidates, .. } if candidates.is_empty() => {
                usage(&[b"unrecognized option '--", word, b"'"])
            }
            Self::Name { word, candidates, .. } => {
                let names: String = candidates.iter().map(|name| format!(" '--{name}'")).collect();
                usage(&[b"option '--", word, b"' is ambiguous; possibilities:", names.as_bytes()])
            }
            Self::Form(stop) => stop,
        }
    }
}

/// Reads a command line part by part, without applying anything.
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

    fn long(&mut self, word: &'a [u8]) -> Result<Item<'a, A, B>, Mistake<'a>> {
        let (name, attached) = match word.iter().position(|&byte| byte == b'=') {
            Some(at) => (&word[..at], Some(&word[at + 1..])),
            None => (word, None),
        };
        let option =
            look_up(self.command, name).map_err(|candidates| Mistake::Name { word, name, candidates })?;
        let text = option.text();
        let value = match (text.value, attached) {
            (ValueForm::None, Some(_)) => {
                let long = text.long.as_bytes();
                return Err(Mistake::Form(usage(&[b"option '--", long, b"' doesn't allow an argument"])));
            }
            (ValueForm::Required(_), None) => Some(self.take_word().ok_or_else(|| {
                Mistake::Form(usage(&[b"option '--", text.long.as_bytes(), b"' requires an argument"]))
            })?),
            (ValueForm::None | ValueForm::Optional(_), None)
            | (ValueForm::Required(_) | ValueForm::Optional(_), Some(_)) => attached,
        };
        self.behind = value.is_none().then_some(Flag { option: text, by_letter: false });
        Ok(Item::Option(option, Value { option: text.long, given: value, by_letter: false }))
    }

    /// Reads the next of a group of letters such as `-vvd1`: the first that takes a value takes what is left of the
    /// word, or else the next word.
    fn letter(&mut self, letter: u8) -> Result<Item<'a, A, B>, Mistake<'a>> {
        let is_it = |option: &Known<A, B>| option.text().short == Some(char::from(letter));
        let option = self.command.all().find(is_it).ok_or(Mistake::Letter(letter))?;
        let text = option.text();
        let value = match text.value {
            ValueForm::None => None,
            ValueForm::Optional(_) | ValueForm::Required(_) if !self.letters.is_empty() => {
                Some(mem::take(&mut self.letters))
            }
            ValueForm::Optional(_) => None,
            ValueForm::Required(_) => Some(self.take_word().ok_or_else(|| {
                Mistake::Form(usage(&[b"option requires an argument -- '", &[letter], b"'"]))
            })?),
        };
        self.behind = value.is_none().then_some(Flag { option: text, by_letter: true });
        Ok(Item::Option(option, Value { option: text.long, given: value, by_letter: true }))
    }
}

impl<'a, A, B> Iterator for Reader<'a, A, B> {
    type Item = Result<Item<'a, A, B>, Mistake<'a>>;

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
    let exact = |name: &[u8]| command.all().find(|option| option.text().long.as_bytes() == name);
    // Where there is no such option, this is what other load generators mean by it.
    let same = || if name == b"connections" { exact(b"concurrency") } else { None };
    if let Some(found) = exact(name).or_else(same) {
        return Ok(found);
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
    use crate::grammar::{Group, Opt};

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
