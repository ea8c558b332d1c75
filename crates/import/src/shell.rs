//! Command lines as a POSIX shell and bash read them: split into commands and words.
//!
//! What only a running shell knows (variables, output of other commands) is refused.

use crate::error::Flaw;
use crate::report::shortened;

/// A command with the line on which it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: u64,
    pub(crate) words: Vec<String>,
}

/// Splits a text into commands.
///
/// # Errors
/// The place of an open quote, or of what only a shell knows.
pub(crate) fn split(text: &str) -> Result<Vec<Line>, Flaw> {
    let mut splitter = Splitter {
        letters: text.chars().peekable(),
        number: 1,
        began: 1,
        word: None,
        words: Vec::new(),
        lines: Vec::new(),
    };
    splitter.run()?;
    Ok(splitter.lines)
}

struct Splitter<'a> {
    letters: std::iter::Peekable<std::str::Chars<'a>>,
    /// The number of the line that is read.
    number: u64,
    /// The number of the line on which the command begins.
    began: u64,
    word: Option<String>,
    words: Vec<String>,
    lines: Vec<Line>,
}

impl Splitter<'_> {
    fn run(&mut self) -> Result<(), Flaw> {
        while let Some(letter) = self.next() {
            match letter {
                '\n' | ';' | '&' | '|' => self.end_command(),
                ' ' | '\t' | '\r' => self.end_word(),
                '#' if self.word.is_none() => {
                    while self.letters.next_if(|&letter| letter != '\n').is_some() {}
                }
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some('\r') if self.letters.peek() == Some(&'\n') => {
                        self.next();
                    }
                    Some(letter) => self.push(letter),
                    None => {}
                },
                '\'' => self.single()?,
                '"' => self.double()?,
                '$' if self.letters.peek() == Some(&'\'') => {
                    self.next();
                    self.dollar()?;
                }
                '$' => self.variable()?,
                '`' => return Err(self.refused("`")),
                '^' if self.word.is_none() && matches!(self.letters.peek(), Some('"' | '\r' | '\n')) => {
                    return Err(Flaw::at(
                        self.number,
                        "expected a command for bash, got one for cmd, with `^`",
                    )
                    .hint("copy it as cURL (bash)"));
                }
                letter => self.push(letter),
            }
        }
        self.end_command();
        Ok(())
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.letters.next()?;
        self.number += u64::from(letter == '\n');
        Some(letter)
    }

    fn push(&mut self, letter: char) {
        if self.word.is_none() && self.words.is_empty() {
            self.began = self.number;
        }
        self.word.get_or_insert_default().push(letter);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        if !self.words.is_empty() {
            self.lines.push(Line { number: self.began, words: std::mem::take(&mut self.words) });
        }
    }

    /// Begins a word that may stay empty.
    fn open(&mut self) -> u64 {
        if self.word.is_none() && self.words.is_empty() {
            self.began = self.number;
        }
        self.word.get_or_insert_default();
        self.number
    }

    fn single(&mut self) -> Result<(), Flaw> {
        let line = self.open();
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some(letter) => self.push(letter),
                None => return Err(open_quote(line, "'")),
            }
        }
    }

    fn double(&mut self) -> Result<(), Flaw> {
        let line = self.open();
        loop {
            match self.next() {
                Some('"') => return Ok(()),
                Some('\\') => match self.next() {
                    Some('\n') => {}
                    Some(letter @ ('"' | '\\' | '$' | '`')) => self.push(letter),
                    Some(letter) => {
                        self.push('\\');
                        self.push(letter);
                    }
                    None => return Err(open_quote(line, "\"")),
                },
                Some('$') => self.variable()?,
                Some('`') => return Err(self.refused("`")),
                Some(letter) => self.push(letter),
                None => return Err(open_quote(line, "\"")),
            }
        }
    }

    /// Takes a `$` that begins nothing, and refuses what it begins otherwise.
    fn variable(&mut self) -> Result<(), Flaw> {
        match self.letters.peek() {
            Some(letter)
                if letter.is_ascii_alphanumeric() || matches!(letter, '{' | '(' | '_' | '?' | '@' | '*') =>
            {
                let rest: String =
                    self.letters.clone().take_while(|letter| !letter.is_whitespace()).collect();
                Err(self.refused(&format!("${}", shortened(&rest, 20))))
            }
            _ => {
                self.push('$');
                Ok(())
            }
        }
    }

    fn refused(&self, what: &str) -> Flaw {
        Flaw::at(self.number, format!("expected text, got `{what}`, which only a running shell knows"))
            .hint("quote it with '…' if it is meant as it stands")
    }

    /// Takes a string in `$'…'`, in which backslashes have the meaning that they have in C.
    fn dollar(&mut self) -> Result<(), Flaw> {
        let line = self.open();
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some('\\') => {
                    let Some(letter) = self.next() else { return Err(open_quote(line, "$'")) };
                    let letter = match letter {
                        'n' => '\n',
                        'r' => '\r',
                        't' => '\t',
                        'a' => '\u{7}',
                        'b' => '\u{8}',
                        'e' | 'E' => '\u{1b}',
                        'f' => '\u{c}',
                        'v' => '\u{b}',
                        '\\' | '\'' | '"' | '?' => letter,
                        'x' => self.code(16, 2),
                        'u' => self.code(16, 4),
                        'U' => self.code(16, 8),
                        '0'..='7' => {
                            let first = letter.to_digit(8).unwrap_or(0);
                            self.code_after(first, 8, 2)
                        }
                        other => {
                            self.push('\\');
                            other
                        }
                    };
                    self.push(letter);
                }
                Some(letter) => self.push(letter),
                None => return Err(open_quote(line, "$'")),
            }
        }
    }

    fn code(&mut self, radix: u32, digits_max: usize) -> char {
        self.code_after(0, radix, digits_max)
    }

    /// The character of a number in digits; that of a broken one is U+FFFD.
    fn code_after(&mut self, first: u32, radix: u32, digits_max: usize) -> char {
        let mut code = first;
        for _ in 0..digits_max {
            let Some(digit) = self.letters.peek().and_then(|letter| letter.to_digit(radix)) else { break };
            self.letters.next();
            code = code.saturating_mul(radix).saturating_add(digit);
        }
        char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

fn open_quote(line: u64, quote: &str) -> Flaw {
    Flaw::at(line, format!("expected the end of the string that `{quote}` begins, got the end of the file"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(u64, &[&str])]) {
        let lines = split(text).unwrap();
        let lines: Vec<(u64, Vec<&str>)> =
            lines.iter().map(|line| (line.number, line.words.iter().map(String::as_str).collect())).collect();
        let expected: Vec<(u64, Vec<&str>)> =
            expected.iter().map(|(number, words)| (*number, words.to_vec())).collect();
        assert_eq!(lines, expected, "{text}");
    }

    #[test]
    fn commands_are_split_as_by_a_shell() {
        check(
            "# no\n\ncurl 'a b' \\\n  -H \"c\\\"d\" '' ;\ncurl x&y | z",
            &[(3, &["curl", "a b", "-H", "c\"d", ""]), (5, &["curl", "x"]), (5, &["y"]), (5, &["z"])],
        );
        check(
            "a\\ b'c'\"d\"#e $ $'\\u0021\\x41\\101\\n\\'\\q' \"\\z\\$\"",
            &[(1, &["a bcd#e", "$", "!AA\n'\\q", "\\z$"])],
        );
        check("curl \\\r\n a\r\ncurl b", &[(1, &["curl", "a"]), (3, &["curl", "b"])]);
        check("", &[]);
    }

    #[test]
    fn what_only_a_shell_knows_is_refused() {
        for (text, message) in [
            ("curl $HOST", "1: expected text, got `$HOST`, which only a running shell knows"),
            ("\ncurl \"a${b}\"", "2: expected text, got `${b}\"`, which only a running shell knows"),
            ("curl `x`", "1: expected text, got ```, which only a running shell knows"),
            ("curl \\\n 'a\n", "2: expected the end of the string that `'` begins, got the end of the file"),
            ("\"a\\", "1: expected the end of the string that `\"` begins, got the end of the file"),
            ("$'a\\", "1: expected the end of the string that `$'` begins, got the end of the file"),
            ("curl ^\"https://a/^\" ^\n", "1: expected a command for bash, got one for cmd, with `^`"),
            ("curl \"https://a/\" ^\n -H x", "1: expected a command for bash, got one for cmd, with `^`"),
        ] {
            assert_eq!(split(text).unwrap_err().to_string(), message, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_quoted_words_stay(text in ".*", word in "[^']*") {
            let _ = split(&text);
            prop_assert_eq!(&split(&format!("a '{word}'")).unwrap()[0].words[1], &word);
        }
    }
}
