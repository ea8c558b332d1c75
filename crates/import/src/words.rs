//! The command lines of other tools: a table of options, and a parser for the three ways in which tools read theirs.

use std::fmt::Write as _;

/// The rules by which a tool reads its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Syntax {
    /// `-kc 5`, `-c5`, `--name=value`, `--name value`, with other words anywhere.
    Getopt,
    /// The same, but no options follow the first other word.
    GetoptFirst,
    /// As [`Syntax::Getopt`]; a flag may be denied by `--no-name`, and the start of a long name will do if no other has it.
    Curl,
    /// `-name value`, `-name=value`, also with two dashes; a flag may have a value behind `=`. No options follow the
    /// first other word.
    Go,
}

/// An option of another tool. `S` is what the tool's options change.
#[derive(Debug)]
pub struct ToolOption<S: 'static> {
    /// Its names with their dashes, the usual one first.
    pub names: &'static [&'static str],
    /// True if a value follows.
    pub has_value: bool,
    /// Its meaning here.
    pub meaning: Meaning<S>,
}

/// The meaning of another tool's option.
#[derive(Debug)]
pub enum Meaning<S: 'static> {
    /// Changes the load. A flag gets an empty value, or that behind its `=`, or [`DENIED`].
    Sets(fn(&mut S, &str) -> Result<(), Expected>),
    /// Changes the load by a value of any bytes.
    SetsBytes(fn(&mut S, &[u8]) -> Result<(), Expected>),
    /// Concerns the tool's output, or itself, and leaves the load as it is.
    Nothing,
    /// The same. The text follows the option's name, and says what does something like it here.
    Instead(&'static str),
    /// Has no counterpart. The text follows the option's name: the reason, or what to use instead.
    Cannot(&'static str),
}

/// The value of a flag that is denied by `--no-name`.
pub const DENIED: &str = "no";

/// The kind of value that an option expects, for the sentence that refuses another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expected(pub &'static str);

impl Expected {
    /// The sentence that refuses this value of an option.
    fn refusal(self, option: &str, value: &[u8]) -> String {
        format!("{option}: expected {}, got `{}`", self.0, String::from_utf8_lossy(value))
    }
}

/// A flag that changes the load.
pub const fn flag<S>(
    names: &'static [&'static str],
    apply: fn(&mut S, &str) -> Result<(), Expected>,
) -> ToolOption<S> {
    ToolOption { names, has_value: false, meaning: Meaning::Sets(apply) }
}

/// An option with a value that changes the load.
pub const fn value<S>(
    names: &'static [&'static str],
    apply: fn(&mut S, &str) -> Result<(), Expected>,
) -> ToolOption<S> {
    ToolOption { names, has_value: true, meaning: Meaning::Sets(apply) }
}

/// An option with a value of any bytes that changes the load.
pub const fn bytes<S>(
    names: &'static [&'static str],
    apply: fn(&mut S, &[u8]) -> Result<(), Expected>,
) -> ToolOption<S> {
    ToolOption { names, has_value: true, meaning: Meaning::SetsBytes(apply) }
}

impl<S> ToolOption<S> {
    /// A flag without effect on the load.
    pub const fn idle_flag(names: &'static [&'static str]) -> Self {
        Self { names, has_value: false, meaning: Meaning::Nothing }
    }

    /// An option with a value, without effect on the load.
    pub const fn idle_value(names: &'static [&'static str]) -> Self {
        Self { names, has_value: true, meaning: Meaning::Nothing }
    }

    /// A flag about the tool's output, with what to use instead.
    pub const fn instead_flag(names: &'static [&'static str], instead: &'static str) -> Self {
        Self { names, has_value: false, meaning: Meaning::Instead(instead) }
    }

    /// An option about the tool's output that has a value, with what to use instead.
    pub const fn instead_value(names: &'static [&'static str], instead: &'static str) -> Self {
        Self { names, has_value: true, meaning: Meaning::Instead(instead) }
    }

    /// A flag without a counterpart.
    pub const fn lost_flag(names: &'static [&'static str], reason: &'static str) -> Self {
        Self { names, has_value: false, meaning: Meaning::Cannot(reason) }
    }

    /// An option with a value, without a counterpart.
    pub const fn lost_value(names: &'static [&'static str], reason: &'static str) -> Self {
        Self { names, has_value: true, meaning: Meaning::Cannot(reason) }
    }
}

/// Everything that a command line says besides its options' effects.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// The words that are not options.
    pub words: Vec<String>,
    /// A sentence for each option without a counterpart.
    pub lost: Vec<String>,
    /// A sentence for each option about the tool's output.
    pub instead: Vec<String>,
}

/// Applies the options in `argv` to `state`, from left to right.
///
/// # Errors
/// A sentence: an option that the table does not have, one without its value, or a value of another kind.
pub fn read<S, W: AsRef<[u8]>>(
    table: &[ToolOption<S>],
    syntax: Syntax,
    argv: &[W],
    state: &mut S,
) -> Result<Read, String> {
    let mut read = Read::default();
    let mut rest = argv.iter().map(AsRef::as_ref);
    while let Some(word) = rest.next() {
        if word == b"--" {
            for word in rest {
                read.words.push(text(word)?);
            }
            break;
        }
        if !word.starts_with(b"-") || word == b"-" {
            let word = text(word)?;
            if !matches!(syntax, Syntax::Getopt | Syntax::Curl) {
                // Further words are the tool's own business, except those that were meant as options.
                let others = rest.map(text).collect::<Result<Vec<_>, _>>()?;
                if let Some(option) = others.iter().find(|other| other.starts_with('-') && other.len() > 1) {
                    return Err(format!("expected options before `{word}`, got `{option}` behind it"));
                }
                read.words.push(word);
                read.words.extend(others);
                break;
            }
            read.words.push(word);
            continue;
        }
        if syntax == Syntax::Go || word.starts_with(b"--") {
            let (name, attached) = match memchr::memchr(b'=', word) {
                Some(at) => (word.get(..at).unwrap_or_default(), word.get(at + 1..)),
                None => (word, None),
            };
            let name = text(name)?;
            let name = if syntax == Syntax::Go { name.replacen("--", "-", 1) } else { name };
            let (option, is_denied) = found(table, syntax, &name)?;
            let value = match attached {
                Some(_) if !option.has_value && syntax != Syntax::Go => {
                    let word = String::from_utf8_lossy(word);
                    return Err(format!("{name}: expected no value, got `{word}`"));
                }
                Some(value) => value,
                None if option.has_value => next(&mut rest, &name)?,
                None if is_denied => DENIED.as_bytes(),
                None => b"",
            };
            // Flags that change the load read their truth value themselves.
            let is_plain_flag = !option.has_value && !matches!(option.meaning, Meaning::Sets(_));
            let is_set =
                |value: &[u8]| truth(&text(value)?).map_err(|expected| expected.refusal(&name, value));
            if is_plain_flag && (is_denied || !is_set(value)?) {
                continue;
            }
            apply(option, &name, value, state, &mut read)?;
        } else {
            cluster(table, word.get(1..).unwrap_or_default(), &mut rest, state, &mut read)?;
        }
    }
    Ok(read)
}

/// A word as text.
fn text(word: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(word).map(str::to_owned);
    text.map_err(|_| format!("expected words in UTF-8, got `{}`", String::from_utf8_lossy(word)))
}

/// Reads a group of short options: the first that takes a value takes the rest of the word, or else the next word.
fn cluster<'a, S>(
    table: &[ToolOption<S>],
    letters: &'a [u8],
    rest: &mut impl Iterator<Item = &'a [u8]>,
    state: &mut S,
    read: &mut Read,
) -> Result<(), String> {
    let mut letters = letters;
    while let Some(letter) = letters.utf8_chunks().next() {
        // What is no text is no option either.
        let letter = letter.valid().chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
        let name = format!("-{letter}");
        let option = find(table, &name)?;
        let behind = letters.get(letter.len_utf8()..).unwrap_or_default();
        if option.has_value {
            let value = if behind.is_empty() { next(rest, &name)? } else { behind };
            return apply(option, &name, value, state, read);
        }
        apply(option, &name, b"", state, read)?;
        letters = behind;
    }
    Ok(())
}

fn next<'a>(rest: &mut impl Iterator<Item = &'a [u8]>, name: &str) -> Result<&'a [u8], String> {
    rest.next().ok_or_else(|| format!("{name}: expected a value, got none"))
}

/// The option of this name, and whether it is denied.
fn found<'a, S>(
    table: &'a [ToolOption<S>],
    syntax: Syntax,
    name: &str,
) -> Result<(&'a ToolOption<S>, bool), String> {
    let refusal = match find(table, name) {
        Ok(option) => return Ok((option, false)),
        Err(refusal) if syntax != Syntax::Curl => return Err(refusal),
        Err(refusal) => refusal,
    };
    let denied = name.strip_prefix("--no-").map(|name| format!("--{name}"));
    let denied = denied.and_then(|name| find(table, &name).ok()).filter(|option| !option.has_value);
    if let Some(option) = denied {
        return Ok((option, true));
    }
    let mut begun = table.iter().filter(|option| option.names.iter().any(|known| known.starts_with(name)));
    match (begun.next(), begun.next()) {
        (Some(option), None) if name.len() > 2 => Ok((option, false)),
        _ => Err(refusal),
    }
}

/// The number of options up to which a refusal lists them.
const LISTED_MAX: usize = 100;

fn find<'a, S>(table: &'a [ToolOption<S>], name: &str) -> Result<&'a ToolOption<S>, String> {
    table.iter().find(|option| option.names.contains(&name)).ok_or_else(|| {
        if table.len() > LISTED_MAX {
            return format!("expected an option that can be translated, got `{name}`");
        }
        let mut known = String::new();
        for option in table {
            let separator = if known.is_empty() { "" } else { " " };
            write!(known, "{separator}{}", option.names[0]).expect("writing to a string succeeds");
        }
        format!("expected an option that can be translated ({known}), got `{name}`")
    })
}

fn apply<S>(
    option: &ToolOption<S>,
    name: &str,
    value: &[u8],
    state: &mut S,
    read: &mut Read,
) -> Result<(), String> {
    let note = |notes: &mut Vec<String>, text: &str| {
        let sentence = format!("{name}: {text}");
        if !notes.contains(&sentence) {
            notes.push(sentence);
        }
    };
    match &option.meaning {
        Meaning::Sets(set) => {
            let text =
                std::str::from_utf8(value).map_err(|_| Expected("text in UTF-8").refusal(name, value))?;
            set(state, text).map_err(|expected| expected.refusal(name, value))?;
        }
        Meaning::SetsBytes(set) => set(state, value).map_err(|expected| expected.refusal(name, value))?,
        Meaning::Nothing => {}
        Meaning::Instead(instead) => note(&mut read.instead, instead),
        Meaning::Cannot(reason) => note(&mut read.lost, reason),
    }
    Ok(())
}

/// Reads a number above 0.
pub fn positive(text: &str) -> Result<u64, Expected> {
    text.parse().ok().filter(|&number| number > 0).ok_or(Expected("a number above 0"))
}

/// Reads a number above 0, with `k`, `m` or `g` behind it for thousands, millions and so on.
pub fn scaled(text: &str) -> Result<u64, Expected> {
    let digits = text.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
    let scale = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        _ => return Err(Expected("a number such as 200 or 10k")),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(scale));
    number.filter(|&number| number > 0).ok_or(Expected("a number such as 200 or 10k"))
}

/// Reads a rate per second.
pub fn rate(text: &str) -> Result<f64, Expected> {
    let rate = text.parse::<f64>().ok().filter(|rate| *rate > 0.0 && rate.is_finite());
    rate.ok_or(Expected("a rate above 0"))
}

/// Reads a number of seconds.
pub fn seconds(text: &str) -> Result<f64, Expected> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| *seconds >= 0.0 && seconds.is_finite());
    seconds.ok_or(Expected("a number of seconds"))
}

/// Reads numbers with units, such as `1m30s`, as seconds. A number without a unit is one of seconds.
pub fn duration(text: &str) -> Result<f64, Expected> {
    const EXPECTED: Expected = Expected("a time such as 30s or 1m30s");
    if let Ok(seconds) = seconds(text) {
        return Ok(seconds);
    }
    let mut total = 0.0;
    let mut rest = text.trim();
    while !rest.is_empty() {
        let number_end =
            rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').ok_or(EXPECTED)?;
        let number: f64 = rest[..number_end].parse().map_err(|_| EXPECTED)?;
        rest = &rest[number_end..];
        let unit_end = rest.find(|letter: char| !letter.is_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..unit_end] {
            "ns" => 1e-9,
            "us" | "µs" => 1e-6,
            "ms" => 1e-3,
            "s" | "sec" => 1.0,
            "m" | "min" => 60.0,
            "h" => 3600.0,
            _ => return Err(EXPECTED),
        };
        total += number * unit;
        rest = rest[unit_end..].trim_start();
    }
    if text.is_empty() { Err(EXPECTED) } else { Ok(total) }
}

/// Reads a flag's value of the Go way: none, or a truth value.
pub fn truth(text: &str) -> Result<bool, Expected> {
    match text {
        "" | "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(Expected("true or false")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Log = Vec<String>;

    #[test]
    fn curl_denies_flags_and_takes_the_start_of_a_name() {
        const TABLE: &[ToolOption<Log>] = &[
            flag(&["-L", "--location"], |log, value| {
                log.push(format!("L{value}"));
                Ok(())
            }),
            bytes(&["-d", "--data"], |log, value| {
                log.push(format!("d{value:x?}"));
                Ok(())
            }),
            bytes(&["--data-raw"], |log, _| {
                log.push("raw".to_owned());
                Ok(())
            }),
            ToolOption::lost_flag(&["--keepalive"], "is lost"),
            ToolOption::instead_value(&["-o"], "--print-reply shows it"),
        ];
        let run = |argv: &[&[u8]]| {
            let mut log = Log::new();
            read(TABLE, Syntax::Curl, argv, &mut log).map(|read| (log, read))
        };
        let (log, read) =
            run(&[b"--loc", b"--no-location", b"-d\xff", b"--data", b"a", b"--data-r", b"b"]).unwrap();
        assert_eq!(log, ["L", "Lno", "d[ff]", "d[61]", "raw"]);
        assert_eq!(read, Read::default());
        let (_, read) = run(&[b"--no-keepalive", b"-o", b"x", b"-ox", b"u"]).unwrap();
        assert_eq!((read.lost.len(), read.instead), (0, vec!["-o: --print-reply shows it".to_owned()]));
        for (word, refusal) in
            [(&b"--da"[..], "--da"), (b"--no-data", "--no-data"), (b"--", ""), (b"-\xff", "-\u{fffd}")]
        {
            let refused = run(&[word]).err().unwrap_or_default();
            assert!(refused.ends_with(&format!(", got `{refusal}`")) || refusal.is_empty(), "{refused}");
        }
        assert_eq!(run(&[b"\xff"]).unwrap_err(), "expected words in UTF-8, got `\u{fffd}`");
        assert_eq!(run(&[b"-d"]).unwrap_err(), "-d: expected a value, got none");
    }

    const TABLE: &[ToolOption<Log>] = &[
        flag(&["-k"], |log, value| {
            log.push(format!("k{value}"));
            Ok(())
        }),
        value(&["-c", "--count"], |log, value| {
            positive(value)?;
            log.push(format!("c={value}"));
            Ok(())
        }),
        flag(&["-keep"], |log, value| {
            log.push(format!("keep={}", truth(value)?));
            Ok(())
        }),
        ToolOption::idle_flag(&["-q", "--quiet"]),
        ToolOption::idle_value(&["-o"]),
        ToolOption::lost_value(&["-s", "--script"], "scripts cannot be translated"),
        ToolOption::lost_flag(&["-l"], "has no counterpart"),
    ];

    fn run(syntax: Syntax, line: &str) -> Result<(Log, Read), String> {
        let argv: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let mut log = Log::new();
        read(TABLE, syntax, &argv, &mut log).map(|read| (log, read))
    }

    #[track_caller]
    fn check(syntax: Syntax, line: &str, options: &[&str], words: &[&str]) {
        let (log, read) = run(syntax, line).unwrap();
        assert_eq!((log, read.words), (owned(options), owned(words)), "{line}");
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&text| text.to_owned()).collect()
    }

    #[test]
    fn short_options_cluster_and_values_are_attached_or_apart() {
        check(Syntax::Getopt, "-kqc5 u -c 6 --count=7 --count 8", &["k", "c=5", "c=6", "c=7", "c=8"], &["u"]);
        check(Syntax::Getopt, "-k -- -k u", &["k"], &["-k", "u"]);
        check(Syntax::Getopt, "-o - - -k", &["k"], &["-"]);
    }

    #[test]
    fn go_flags_have_one_dash_or_two_and_perhaps_a_truth_value() {
        check(
            Syntax::Go,
            "-c 5 --c=6 -keep -keep=false --keep=1 u",
            &["c=5", "c=6", "keep=true", "keep=false", "keep=true"],
            &["u"],
        );
        for option in ["-keep", "-q", "-l"] {
            let refusal = format!("{option}: expected true or false, got `maybe`");
            assert_eq!(run(Syntax::Go, &format!("{option}=maybe")), Err(refusal));
        }
    }

    #[test]
    fn a_go_flag_that_is_false_is_not_missed() {
        let lost = |line| run(Syntax::Go, line).unwrap().1.lost;
        assert_eq!(lost("-l=false -q=false"), [""; 0]);
        assert_eq!(lost("-l=true"), ["-l: has no counterpart"]);
    }

    #[test]
    fn options_behind_a_word_are_refused_where_the_tool_reads_none_there() {
        let refusal = "expected options before `u`, got `-k` behind it".to_owned();
        assert_eq!(run(Syntax::GetoptFirst, "-c5 u -k"), Err(refusal.clone()));
        assert_eq!(run(Syntax::Go, "-c 5 u v -k"), Err(refusal));
        check(Syntax::GetoptFirst, "-c5 u v", &["c=5"], &["u", "v"]);
    }

    #[test]
    fn each_option_without_a_counterpart_is_named_once() {
        let (_, read) = run(Syntax::Getopt, "-s a.lua --script=b.lua -l -s c.lua").unwrap();
        assert_eq!(
            read.lost,
            [
                "-s: scripts cannot be translated",
                "--script: scripts cannot be translated",
                "-l: has no counterpart"
            ]
        );
    }

    #[test]
    fn bad_words_are_refused_by_name() {
        for (line, refusal) in [
            ("-x", "expected an option that can be translated (-k -c -keep -q -o -s -l), got `-x`"),
            ("-kx", "expected an option that can be translated (-k -c -keep -q -o -s -l), got `-x`"),
            (
                "--nothing=1",
                "expected an option that can be translated (-k -c -keep -q -o -s -l), got `--nothing`",
            ),
            ("-c", "-c: expected a value, got none"),
            ("--count 0", "--count: expected a number above 0, got `0`"),
            ("--quiet=1", "--quiet: expected no value, got `--quiet=1`"),
        ] {
            assert_eq!(run(Syntax::Getopt, line), Err(refusal.to_owned()), "{line}");
        }
    }

    #[test]
    fn times_and_numbers_have_units() {
        for (text, seconds) in [
            ("30", Some(30.0)),
            ("30s", Some(30.0)),
            ("1m30s", Some(90.0)),
            ("1m 30s", Some(90.0)),
            ("1.5h", Some(5400.0)),
            ("250ms", Some(0.25)),
            ("0", Some(0.0)),
            ("", None),
            ("s", None),
            ("5 parsecs", None),
            ("-1s", None),
            ("1s5", None),
        ] {
            assert_eq!(duration(text).ok(), seconds, "{text}");
        }
        let scaled = |text| scaled(text).ok();
        assert_eq!([scaled("7"), scaled("2k"), scaled("1M")], [Some(7), Some(2_000), Some(1_000_000)]);
        assert_eq!([scaled("0"), scaled("k"), scaled("1kk"), scaled("99999999999999999999")], [None; 4]);
    }
}
