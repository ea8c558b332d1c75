//! Words that are neither options nor targets.

use std::path::Path;

use super::Args;
use super::url::{TypedUrl, is_host_name};
use crate::grammar::{ParseStop, Tier, ValueForm, Word};
use crate::hints;

impl Args {
    /// A warning that names the words that are neither options nor targets, if there are any.
    #[must_use]
    pub fn stray_words_warning(&self) -> Option<String> {
        let words: Vec<_> = self.stray_words.iter().map(|word| String::from_utf8_lossy(word)).collect();
        let named = format!("`{}`", words.join("`, `"));
        (!words.is_empty()).then(|| format!("warning: ignoring what is neither an option nor a URL: {named}"))
    }

    /// Refuses stray words unless an option names the server: they may have been meant to. The classic tool ignores them,
    /// and old scripts may have values behind flags.
    pub(crate) fn check_words<'a>(&self, mut words: impl Iterator<Item = Word<'a>>) -> Result<(), ParseStop> {
        let is_stray =
            |word: &Word<'_>| TypedUrl::from_word(word.bytes).is_none() && !is_value_of_flag(*word);
        match words.find(is_stray).filter(|_| !self.names_server_by_option()) {
            Some(word) if word.is_count() => {
                Err(self.refuse(word.bytes).with_hint(Some(hints::CALLS.to_owned())))
            }
            Some(word) => Err(self.stray_word(word.bytes)),
            None => Ok(()),
        }
    }

    /// Refuses stray words unless an option names the server, wherever they stand.
    pub fn check_stray_words(&self) -> Result<(), ParseStop> {
        match self.stray_words.first() {
            Some(word) if !self.names_server_by_option() => Err(self.stray_word(word)),
            _ => Ok(()),
        }
    }

    /// Refuses a word that is no target, with a hint at what may have been meant: not a second server.
    pub fn stray_word(&self, word: &[u8]) -> ParseStop {
        if self.typed_urls.is_empty() { unknown_word(word) } else { self.refuse(word).with_hint(meant(word)) }
    }

    /// Refuses a word that is no target.
    fn refuse(&self, word: &[u8]) -> ParseStop {
        let expected: &[u8] = match self.typed_urls.is_empty() {
            true => b"expected a URL such as http://host:8080/path, got `",
            false => b"expected one URL and options, got also `",
        };
        ParseStop::rejected([expected, word, b"`"].concat())
    }

    fn names_server_by_option(&self) -> bool {
        self.server.is_some()
            || self.servers.is_some()
            || self.unix_socket.is_some()
            || self.material.targets.is_some()
    }
}

/// Returns whether a word looks like the value of the classic flag in front of it, which takes none: `--hog true`,
/// `--print-reply header`.
fn is_value_of_flag(word: Word<'_>) -> bool {
    const BOOLEANS: [&str; 8] = ["true", "false", "yes", "no", "on", "off", "y", "n"];
    let Some(flag) = word.behind.filter(|flag| flag.option.tier != Tier::New) else { return false };
    let Ok(text) = std::str::from_utf8(word.bytes) else { return false };
    let text = text.to_ascii_lowercase();
    let is_part = match flag.option.value {
        ValueForm::None | ValueForm::Required(_) => false,
        value @ ValueForm::Optional(_) => {
            value.alternatives().iter().any(|part| !text.is_empty() && part.starts_with(&text))
        }
    };
    is_part || BOOLEANS.contains(&&text[..]) || word.is_number() && !word.is_count()
}

/// Refuses a word that is no target, with a hint at what may have been meant.
pub fn unknown_word(word: &[u8]) -> ParseStop {
    let message = [b"expected a URL such as http://host:8080/path, got `", word, b"`"].concat();
    let server = || {
        let text = std::str::from_utf8(word).ok().filter(|text| is_host_name(text))?;
        Some(format!("did you mean http://{text}/?"))
    };
    let file =
        || std::str::from_utf8(word).ok().filter(|name| Path::new(name).is_file()).and_then(hints::for_file);
    ParseStop::rejected(message).with_hint(meant(word).or_else(file).or_else(server))
}

/// The hint about a word that is a command, of this program or of another tool.
fn meant(word: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(word).ok()?;
    match hints::word(text) {
        Some(hint) => Some(hint.to_owned()),
        None => hints::is_command(text).then(|| format!("a command comes first: httperf {text} ...")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::parsed;
    use super::*;

    #[track_caller]
    fn check(argv: &[&str], hint: &str) {
        let word = argv.iter().find(|word| !word.starts_with('-')).unwrap();
        let hint = if hint.is_empty() { String::new() } else { format!("\nhint: {hint}") };
        let message = format!("expected a URL such as http://host:8080/path, got `{word}`{hint}");
        assert_eq!(parsed(argv).map(drop), Err(ParseStop::rejected(message)), "{argv:?}");
    }

    #[test]
    fn a_stray_word_is_refused_unless_an_option_names_the_server() {
        check(&["example.com"], "did you mean http://example.com/?");
        check(&["Cargo.toml"], "httperf run Cargo.toml");
        check(&["--rate=5", "12"], "");
        check(&["attack"], "a run needs no command: httperf http://HOST:8080/path --rate 100 --duration 10s");
        check(&["--rate=5", "sweep"], "a command comes first: httperf sweep ...");
        check(&["--port=8080", "word"], "did you mean http://word/?");
        for option in ["--server=a", "--servers=f", "--unix-socket=s", "--targets=f"] {
            assert_eq!(parsed(&["word", option]).unwrap().stray_words, [b"word"], "{option}");
        }
    }

    #[test]
    fn a_stray_word_beside_a_url_is_no_server() {
        for (argv, word, hint) in [
            (&["http://a/", "foo"][..], "foo", ""),
            (&["foo", "http://a/"], "foo", ""),
            (
                &["attack", "http://a/"],
                "attack",
                "a run needs no command: httperf http://HOST:8080/path --rate 100 --duration 10s",
            ),
            (&["http://a/", "sweep"], "sweep", "a command comes first: httperf sweep ..."),
            (&["-n", "1000", "http://a/"], "1000", hints::CALLS),
        ] {
            let hint = if hint.is_empty() { String::new() } else { format!("\nhint: {hint}") };
            let message = format!("expected one URL and options, got also `{word}`{hint}");
            assert_eq!(parsed(argv).map(drop), Err(ParseStop::rejected(message)), "{argv:?}");
        }
    }

    #[test]
    fn a_value_behind_a_classic_flag_is_ignored() {
        for argv in [
            &["--hog", "true"][..],
            &["--print-reply", "header", "--print-request", "b"],
            &["--ssl", "1", "-v", "2"],
            &["--ssl-verify", "YES"],
            &["--periodic-stats", "1"],
        ] {
            assert!(parsed(argv).is_ok(), "{argv:?}");
        }
        check(&["--hog", "word"], "did you mean http://word/?");
        check(&["--live", "true"], "did you mean http://true/?");
        check(&["-n", "1000"], hints::CALLS);
    }
}
