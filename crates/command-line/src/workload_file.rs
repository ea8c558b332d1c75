//! `--print-workload`: a command line as a workload file; `httperf run` of that file makes the same run.

use std::fmt::Write as _;

use super::args::Args;
use super::grammar::{Given, ParseStop};

/// The name of the option itself, which is not part of the run.
const OWN: &str = "print-workload";

/// Returns the workload file of a command line: `base` for a URL, and every option that was typed.
///
/// # Errors
/// The option whose value is not UTF-8.
pub fn text(args: &Args) -> Result<String, ParseStop> {
    let mut out =
        String::from("# httperf run FILE makes this run; docs/reference/options.md describes the options.\n");
    let url = args.typed_urls.first().filter(|_| args.target_option().is_none());
    if let Some(url) = url {
        let typed = utf8("the URL", &url.text)?;
        let scheme = if typed.contains("://") { "" } else { "http://" };
        writeln!(out, "base = {}", quoted(&format!("{scheme}{typed}"))).expect("a String takes everything");
    }
    out += "\n[options]\n";
    let typed: Vec<&Given> = args.given.iter().filter(|given| given.option.long != OWN).collect();
    for (index, given) in typed.iter().enumerate() {
        let name = given.option.long;
        if typed[..index].iter().any(|earlier| earlier.option.long == name) {
            continue;
        }
        let same = typed.iter().filter(|given| given.option.long == name);
        let values = same.map(|given| value(given)).collect::<Result<Vec<String>, ParseStop>>()?;
        match &values[..] {
            [only] => writeln!(out, "{name} = {only}"),
            several => writeln!(out, "{name} = [{}]", several.join(", ")),
        }
        .expect("a String takes everything");
    }
    Ok(out)
}

/// A value as TOML: as it was typed, and `true` for an option without one.
fn value(given: &Given) -> Result<String, ParseStop> {
    let Some(bytes) = &given.value else { return Ok("true".to_owned()) };
    let text = utf8(&format!("--{}", given.option.long), bytes)?;
    Ok(if is_plain_number(text) { text.to_owned() } else { quoted(text) })
}

fn utf8<'a>(name: &str, bytes: &'a [u8]) -> Result<&'a str, ParseStop> {
    std::str::from_utf8(bytes).map_err(|_| {
        let got = String::from_utf8_lossy(bytes);
        ParseStop::rejected(format!("--{OWN}: expected a value in UTF-8 for {name}, got `{got}`"))
    })
}

/// The number of digits that every number of TOML may have.
const DIGITS_MAX: usize = 18;

/// Returns whether a value is a number that TOML reads as the same text.
fn is_plain_number(text: &str) -> bool {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_digits && text.len() <= DIGITS_MAX && (text == "0" || !text.starts_with('0'))
}

/// A basic string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            letter if letter.is_control() => {
                write!(out, "\\u{:04X}", u32::from(letter)).expect("a String takes everything");
            }
            letter => out.push(letter),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests {
    use super::super::args::tests::parsed;
    use super::*;

    #[track_caller]
    fn check(argv: &[&str], expected: &str) {
        let file = text(&parsed(argv).expect("it is a command line")).expect("it is a file");
        let (_, file) = file.split_once('\n').expect("it begins with a comment");
        assert_eq!(file, expected, "{argv:?}");
    }

    #[test]
    fn options_are_written_as_they_were_typed() {
        check(
            &["--print-workload", "--server", "a", "--rate=010", "--num-conns", "5", "--hog"],
            "\n[options]\nserver = \"a\"\nrate = \"010\"\nnum-conns = 5\nhog = true\n",
        );
    }

    #[test]
    fn abbreviations_and_letters_become_names_and_repeated_options_lists() {
        check(
            &["localhost:80/a", "-v", "--add-h=A: \"b\"\\n", "-v", "--header=X: 1", "--header=Y:\t2"],
            "base = \"http://localhost:80/a\"\n\n[options]\nverbose = [true, true]\n\
             add-header = \"A: \\\"b\\\"\\\\n\"\nheader = [\"X: 1\", \"Y:\\t2\"]\n",
        );
    }

    #[test]
    fn a_url_that_options_override_is_left_out() {
        check(&["http://a/", "--server=b"], "\n[options]\nserver = \"b\"\n");
    }
}
