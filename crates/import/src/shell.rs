//! Command lines as a POSIX shell and bash read them: split into commands and words.
//!
//! Text that only a running shell knows (variables, output of other commands) is a flaw of the command that it stands in.

use crate::error::Flaw;
use crate::report::shortened;

/// A command with the line on which it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: u64,
    /// The words, which may be any bytes.
    pub(crate) words: Vec<Vec<u8>>,
    /// Its standard input, if something other than a pipe tells.
    pub(crate) stdin: Option<Stdin>,
    /// True if it reads from the pipe of the command before.
    pub(crate) is_piped: bool,
    /// True if some of its input or output is redirected.
    pub(crate) is_redirected: bool,
    /// Text that only a running shell knows.
    pub(crate) flaw: Option<Flaw>,
}

/// The standard input of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stdin {
    Text(Vec<u8>),
    File(String),
}

/// Splits a text into commands.
///
/// # Errors
/// The place of an open quote.
pub(crate) fn split(text: &str) -> Result<Vec<Line>, Flaw> {
    let mut splitter = Splitter {
        letters: text.chars().peekable(),
        number: 1,
        word: None,
        is_quoted: false,
        redirect: None,
        heredocs: Vec::new(),
        line: Line::default(),
        lines: Vec::new(),
    };
    splitter.run()?;
    Ok(splitter.lines)
}

struct Splitter<'a> {
    letters: std::iter::Peekable<std::str::Chars<'a>>,
    /// The number of the line that is read.
    number: u64,
    word: Option<Vec<u8>>,
    /// True if a part of the word is in quotes.
    is_quoted: bool,
    /// The redirection whose target the next word is.
    redirect: Option<Redirect>,
    /// Documents that begin on the next line.
    heredocs: Vec<Heredoc>,
    /// The command that is read.
    line: Line,
    lines: Vec<Line>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Redirect {
    /// Of output, or of something that is not looked at.
    Other,
    /// `<`.
    Input,
    /// `<<<`.
    Text,
    /// `<<`, or `<<-`, which leaves out tabs.
    Document { without_tabs: bool },
}

struct Heredoc {
    end: Vec<u8>,
    is_quoted: bool,
    without_tabs: bool,
    /// The number of the command that reads it, counted in all.
    command: usize,
}

impl Splitter<'_> {
    fn run(&mut self) -> Result<(), Flaw> {
        while let Some(letter) = self.next() {
            match letter {
                '\n' => {
                    self.end_command();
                    self.read_documents();
                }
                ';' | '(' | ')' => self.end_command(),
                '&' if self.letters.next_if_eq(&'>').is_some() => {
                    self.end_word();
                    self.letters.next_if_eq(&'>');
                    self.begin_redirect(Redirect::Other);
                }
                '&' => self.end_command(),
                '|' => {
                    let is_or = self.letters.next_if_eq(&'|').is_some();
                    self.letters.next_if_eq(&'&');
                    self.end_command();
                    self.line.is_piped = !is_or;
                }
                '>' | '<' => self.redirection(letter),
                ' ' | '\t' | '\r' => self.end_word(),
                '#' if self.word.is_none() => {
                    while self.letters.next_if(|&letter| letter != '\n').is_some() {}
                }
                '\\' => match self.next() {
                    Some('\n') => {}
                    Some('\r') if self.letters.peek() == Some(&'\n') => {
                        self.next();
                    }
                    Some(letter) => {
                        self.push(letter);
                        self.is_quoted = true;
                    }
                    None => {}
                },
                '\'' => self.single()?,
                '"' => self.double()?,
                '$' if self.letters.peek() == Some(&'\'') => {
                    self.next();
                    self.dollar()?;
                }
                '$' => self.variable(),
                '`' => self.output_of_command(),
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

    /// Begins a word, which may stay empty, and returns the number of its line.
    fn open(&mut self) -> u64 {
        if self.word.is_none() && self.line.words.is_empty() {
            self.line.number = self.number;
        }
        self.word.get_or_insert_default();
        self.number
    }

    fn push(&mut self, letter: char) {
        self.open();
        let mut bytes = [0; 4];
        self.push_bytes(letter.encode_utf8(&mut bytes).as_bytes());
    }

    fn push_bytes(&mut self, bytes: &[u8]) {
        self.word.get_or_insert_default().extend_from_slice(bytes);
    }

    fn end_word(&mut self) {
        let is_quoted = std::mem::take(&mut self.is_quoted);
        let Some(word) = self.word.take() else { return };
        match self.redirect.take() {
            None => self.line.words.push(word),
            Some(Redirect::Other) => {}
            Some(Redirect::Input) => {
                self.line.stdin = Some(Stdin::File(String::from_utf8_lossy(&word).into_owned()));
            }
            Some(Redirect::Text) => self.line.stdin = Some(Stdin::Text([&word[..], b"\n"].concat())),
            Some(Redirect::Document { without_tabs }) => {
                let command = self.lines.len();
                self.heredocs.push(Heredoc { end: word, is_quoted, without_tabs, command });
            }
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.redirect = None;
        let line = std::mem::take(&mut self.line);
        if !line.words.is_empty() {
            self.lines.push(line);
        }
    }

    /// Reads a redirection behind its first letter. A number before it is that of a descriptor.
    fn redirection(&mut self, letter: char) {
        let is_number = self.word.as_ref().is_some_and(|word| word.iter().all(u8::is_ascii_digit));
        if is_number && !self.is_quoted {
            self.word = None;
        }
        self.end_word();
        let redirect = if letter == '>' {
            self.letters.next_if(|&letter| matches!(letter, '>' | '|'));
            self.letters.next_if_eq(&'&');
            Redirect::Other
        } else if self.letters.next_if_eq(&'<').is_some() {
            if self.letters.next_if_eq(&'<').is_some() {
                Redirect::Text
            } else {
                Redirect::Document { without_tabs: self.letters.next_if_eq(&'-').is_some() }
            }
        } else if self.letters.next_if_eq(&'&').is_some() || self.letters.next_if_eq(&'>').is_some() {
            Redirect::Other
        } else {
            Redirect::Input
        };
        if self.letters.peek() == Some(&'(') {
            self.refuse(&format!("{letter}("));
        }
        self.begin_redirect(redirect);
    }

    fn begin_redirect(&mut self, redirect: Redirect) {
        self.line.is_redirected = true;
        self.redirect = Some(redirect);
    }

    /// Reads the documents that the line before has announced.
    fn read_documents(&mut self) {
        for heredoc in std::mem::take(&mut self.heredocs) {
            let mut text = Vec::new();
            let mut flaw = None;
            loop {
                let number = self.number;
                let mut line = String::new();
                let mut is_ended = false;
                while let Some(letter) = self.next() {
                    if letter == '\n' {
                        is_ended = true;
                        break;
                    }
                    line.push(letter);
                }
                let line = line.strip_suffix('\r').unwrap_or(&line);
                let line = if heredoc.without_tabs { line.trim_start_matches('\t') } else { line };
                if line.as_bytes() == heredoc.end || (line.is_empty() && !is_ended) {
                    break;
                }
                let line =
                    if heredoc.is_quoted { line.to_owned() } else { expanded(line, number, &mut flaw) };
                text.extend_from_slice(line.as_bytes());
                if is_ended {
                    text.push(b'\n');
                } else {
                    break;
                }
            }
            if let Some(command) = self.lines.get_mut(heredoc.command) {
                command.stdin = Some(Stdin::Text(text));
                command.flaw = command.flaw.take().or(flaw);
            }
        }
    }

    fn single(&mut self) -> Result<(), Flaw> {
        let line = self.open();
        self.is_quoted = true;
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
        self.is_quoted = true;
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
                Some('$') => self.variable(),
                Some('`') => self.output_of_command(),
                Some(letter) => self.push(letter),
                None => return Err(open_quote(line, "\"")),
            }
        }
    }

    /// Takes a `$` that begins nothing, and refuses what it begins otherwise.
    fn variable(&mut self) {
        match self.letters.peek() {
            Some(&letter) if begins_variable(letter) => {
                let rest: String =
                    self.letters.clone().take_while(|letter| !letter.is_whitespace()).collect();
                self.refuse(&format!("${}", shortened(&rest, 20)));
                let end = match letter {
                    '{' => '}',
                    '(' => ')',
                    _ => return self.push('$'),
                };
                self.skip_to(letter, end);
            }
            _ => self.push('$'),
        }
    }

    fn output_of_command(&mut self) {
        self.refuse("`");
        while self.next().is_some_and(|letter| letter != '`') {}
    }

    /// Passes over what brackets enclose, the first of which is next.
    fn skip_to(&mut self, begin: char, end: char) {
        self.open();
        let mut depth = 0usize;
        while let Some(letter) = self.next() {
            if letter == begin {
                depth += 1;
            } else if letter == end {
                depth -= 1;
                if depth == 0 {
                    return;
                }
            }
        }
    }

    fn refuse(&mut self, what: &str) {
        self.open();
        self.line.flaw.get_or_insert_with(|| unknown(self.number, what));
    }

    /// Takes a string in `$'…'`, in which backslashes have the meaning that they have in C. Numbers are those of bytes,
    /// behind `u` those of characters. A zero byte ends the string.
    fn dollar(&mut self) -> Result<(), Flaw> {
        let line = self.open();
        self.is_quoted = true;
        let start = self.word.as_ref().map_or(0, Vec::len);
        let mut end = None;
        loop {
            match self.next() {
                Some('\'') => {
                    if let (Some(word), Some(end)) = (&mut self.word, end) {
                        word.truncate(end);
                    }
                    return Ok(());
                }
                Some('\\') => {
                    let Some(letter) = self.next() else { return Err(open_quote(line, "$'")) };
                    self.escape(letter);
                }
                Some(letter) => self.push(letter),
                None => return Err(open_quote(line, "$'")),
            }
            let written = self.word.as_deref().and_then(|word| word.get(start..)).unwrap_or_default();
            end = end.or_else(|| memchr::memchr(0, written).map(|at| start + at));
        }
    }

    /// Takes what a backslash and this letter stand for.
    fn escape(&mut self, letter: char) {
        let byte = match letter {
            'n' => b'\n',
            'r' => b'\r',
            't' => b'\t',
            'a' => 7,
            'b' => 8,
            'e' | 'E' => 0x1b,
            'f' => 12,
            'v' => 11,
            'x' => match self.code(0, 16, 2) {
                Some(code) => (code & 0xff) as u8,
                None => return self.push_bytes(b"\\x"),
            },
            '0'..='7' => {
                let first = letter.to_digit(8).unwrap_or(0);
                (self.code(first, 8, 2).unwrap_or(first) & 0xff) as u8
            }
            'c' => match self.next() {
                Some(letter) => (u32::from(letter.to_ascii_uppercase()) & 0x1f) as u8,
                None => return,
            },
            'u' | 'U' => {
                let code = self.code(0, 16, if letter == 'u' { 4 } else { 8 });
                let Some(code) = code else {
                    self.push('\\');
                    return self.push(letter);
                };
                return self.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            '\\' | '\'' | '"' | '?' => return self.push(letter),
            other => {
                self.push('\\');
                return self.push(other);
            }
        };
        self.push_bytes(&[byte]);
    }

    /// The number in at most so many digits, behind this first one; `None` without a digit.
    fn code(&mut self, first: u32, radix: u32, digits_max: usize) -> Option<u32> {
        let mut code = None;
        for _ in 0..digits_max {
            let Some(digit) = self.letters.peek().and_then(|letter| letter.to_digit(radix)) else { break };
            self.letters.next();
            code = Some(code.unwrap_or(first).saturating_mul(radix).saturating_add(digit));
        }
        code
    }
}

fn begins_variable(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '{' | '(' | '_' | '?' | '@' | '*')
}

/// A line of a document whose end is not in quotes.
fn expanded(line: &str, number: u64, flaw: &mut Option<Flaw>) -> String {
    let mut text = String::with_capacity(line.len());
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some(&escaped @ ('\\' | '$' | '`'))) => {
                text.push(escaped);
                letters.next();
            }
            ('$', Some(&next)) if begins_variable(next) => {
                let rest: String = letters.clone().take_while(|letter| !letter.is_whitespace()).collect();
                flaw.get_or_insert_with(|| unknown(number, &format!("${}", shortened(&rest, 20))));
            }
            ('`', _) => {
                flaw.get_or_insert_with(|| unknown(number, "`"));
            }
            _ => text.push(letter),
        }
    }
    text
}

fn unknown(line: u64, what: &str) -> Flaw {
    Flaw::at(line, format!("expected text, got `{what}`, which only a running shell knows"))
        .hint("quote it with '…' if it is meant as it stands")
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
        let words = |line: &Line| -> Vec<String> {
            line.words.iter().map(|word| String::from_utf8(word.clone()).unwrap()).collect()
        };
        let lines: Vec<(u64, Vec<String>)> = lines.iter().map(|line| (line.number, words(line))).collect();
        let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let expected: Vec<(u64, Vec<String>)> =
            expected.iter().map(|(number, words)| (*number, owned(words))).collect();
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
    fn numbers_in_strings_of_bash_are_those_of_bytes() {
        for (text, expected) in [
            (r"$'caf\xc3\xa9 \303\251 \u00e9'", "café é é".as_bytes()),
            (r"$'\xff\377\x7'", b"\xff\xff\x07"),
            (r"$'a\xg\cA\c[\e'", b"a\\xg\x01\x1b\x1b"),
            // bash ends the string at a zero byte, and goes on behind it.
            (r"$'a\0b'c", b"ac"),
            (r"$'a\x00b'$'c'", b"ac"),
            (r"$'\U1f600\u'", "😀\\u".as_bytes()),
        ] {
            assert_eq!(split(text).unwrap()[0].words, [expected.to_vec()], "{text}");
        }
    }

    #[test]
    fn redirections_are_no_words() {
        for text in [
            "curl a >/dev/null 2>&1",
            "curl a > out 2> err < in",
            "curl >out a >>out 2>>err",
            "curl a &>x",
            "curl a &>> x",
            "curl a >| x <&3 3>&-",
            "curl a <<<text",
        ] {
            let lines = split(text).unwrap();
            let words: Vec<&[u8]> = lines[0].words.iter().map(|word| &word[..]).collect();
            assert_eq!((lines.len(), &words[..]), (1, &[&b"curl"[..], b"a"][..]), "{text}");
            assert!(lines[0].is_redirected, "{text}");
        }
        check("curl 'a>b' c2>d a\\>b '2'>x", &[(1, &["curl", "a>b", "c2", "a>b", "2"])]);
    }

    #[test]
    fn standard_input_comes_from_where_the_shell_says() {
        let text = |text: &str| Some(Stdin::Text(text.into()));
        for (script, expected) in [
            ("curl a <<< 'x y'", text("x y\n")),
            ("curl a < f.json", Some(Stdin::File("f.json".to_owned()))),
            ("curl a <<'E' -s\n$x `y`\n\nE\ncurl b", text("$x `y`\n\n")),
            ("curl a <<-E\n\t\tx \\$y\n\tE\n", text("x $y\n")),
            ("curl a <<E; curl b\nx\nE\n", text("x\n")),
            ("curl a <<E\r\nx\r\nE\r\n", text("x\n")),
            ("curl a <<E\nx", text("x")),
            ("curl a", None),
        ] {
            assert_eq!(split(script).unwrap()[0].stdin, expected, "{script}");
        }
        assert!(split("curl a <<E\n$x\nE\n").unwrap()[0].flaw.is_some());
        let piped: Vec<bool> = split("a | b || c |& d").unwrap().iter().map(|line| line.is_piped).collect();
        assert_eq!(piped, [false, true, false, true]);
    }

    #[test]
    fn what_only_a_shell_knows_is_a_flaw_of_its_command() {
        for (text, message) in [
            ("curl $HOST", "1: expected text, got `$HOST`, which only a running shell knows"),
            ("\ncurl \"a${b}\"", "2: expected text, got `${b}\"`, which only a running shell knows"),
            ("curl `x`", "1: expected text, got ```, which only a running shell knows"),
            ("curl -d @<(x | y) z", "1: expected text, got `<(`, which only a running shell knows"),
        ] {
            let lines = split(text).unwrap();
            assert_eq!(lines[0].flaw.as_ref().map(ToString::to_string).as_deref(), Some(message), "{text}");
        }
        let lines = split("curl a | jq \"$x $(y | z)\"; curl b").unwrap();
        let flaws: Vec<bool> = lines.iter().map(|line| line.flaw.is_some()).collect();
        assert_eq!(flaws, [false, true, false]);
    }

    #[test]
    fn open_strings_are_refused() {
        for (text, message) in [
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
            prop_assert_eq!(&split(&format!("a '{word}'")).unwrap()[0].words[1], word.as_bytes());
        }
    }
}
