//! `[Options]` of a request.

use std::time::Duration;

use crate::cursor::{Parsed, Parser, is_word};
use crate::text::Form;
use crate::{Fixed, Problem, RequestOption, Setting, Value};

/// The options that are supported.
const KNOWN: &str = "options are delay, skip, repeat, location, variable";

/// The reason to refuse options that concern the whole run.
const OF_THE_RUN: &str = "it concerns the whole run: see `httperf --help`";

/// The names that variables cannot have: those of functions.
const FUNCTIONS: [&str; 3] = ["newUuid", "newDate", "getEnv"];

impl Parser<'_> {
    pub(crate) fn options(&mut self, out: &mut Vec<RequestOption>) -> Parsed<()> {
        while self.at_next_key() {
            self.drop_marks();
            let start = self.at;
            if let Some(setting) = self.setting()? {
                out.push(RequestOption { setting, span: self.since(start) });
            }
            self.line_end()?;
        }
        Ok(())
    }

    /// Parses an option. Returns nothing if it is refused.
    fn setting(&mut self) -> Parsed<Option<Setting>> {
        let start = self.at;
        let key = self.key()?;
        let at = key.span.clone();
        let name = self.text.get(at.clone()).unwrap_or("").to_owned();
        let setting = match name.as_str() {
            "delay" => Setting::Delay(self.fixed_or(Self::delay)?),
            "skip" => Setting::Skip(self.fixed_or(Self::boolean)?),
            "repeat" => Setting::Repeat(self.fixed_or(Self::count)?),
            "location" => Setting::Location(self.fixed_or(Self::boolean)?),
            "variable" => self.definition()?,
            _ => {
                let Some(hint) = refusal(&name) else {
                    let message = format!("expected an option, got `{name}`");
                    return Err(Problem::new(start..at.end, message).with_hint(KNOWN));
                };
                self.bare(Form::Value)?;
                self.refuse(at, &format!("the option `{name}`"), Some(hint));
                return Ok(None);
            }
        };
        Ok(Some(setting))
    }

    fn fixed_or<T>(&mut self, parse: fn(&mut Self) -> Parsed<T>) -> Parsed<Fixed<T>> {
        if self.rest().starts_with("{{") {
            return Ok(Fixed::Expression(self.lone_expression()?));
        }
        Ok(Fixed::Value(parse(self)?))
    }

    fn boolean(&mut self) -> Parsed<bool> {
        if self.eat("true") {
            Ok(true)
        } else if self.eat("false") {
            Ok(false)
        } else {
            Err(self.expected("true or false"))
        }
    }

    /// Parses a length of time: a number with `ms`, `s`, `m` or `h`; in milliseconds without a unit.
    fn delay(&mut self) -> Parsed<Duration> {
        let unexpected = self.expected("a length of time such as 500ms or 2s");
        let start = self.at;
        let number = self.natural().ok_or_else(|| unexpected.clone())?;
        let scale = match self.take_while(char::is_alphanumeric) {
            "" | "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(unexpected),
        };
        let Some(ms) = number.checked_mul(scale) else {
            self.refuse(self.since(start), "this long `delay`", None);
            return Ok(Duration::ZERO);
        };
        Ok(Duration::from_millis(ms))
    }

    fn count(&mut self) -> Parsed<u64> {
        let unexpected = self.expected("a whole number, 0 or more");
        let start = self.at;
        if self.eat("-1") {
            let hint = "write a number, or repeat the step in the workload file";
            self.refuse(self.since(start), "`repeat: -1`, without an end,", Some(hint));
            return Ok(0);
        }
        self.natural().ok_or(unexpected)
    }

    fn natural(&mut self) -> Option<u64> {
        let is_negative = self.peek() == Some('-');
        self.integer_text().filter(|_| !is_negative)?.parse().ok()
    }

    /// Parses `name=value`.
    fn definition(&mut self) -> Parsed<Setting> {
        let start = self.at;
        let name = self.take_while(is_word).to_owned();
        if name.is_empty() {
            return Err(self.expected("the name of a variable, as in `variable: count=3`"));
        }
        if FUNCTIONS.contains(&name.as_str()) {
            let message = format!("expected the name of a variable, got the function `{name}`");
            return Err(Problem::new(self.since(start), message));
        }
        self.skip_spaces();
        if !self.eat("=") {
            return Err(self.expected("`=` after the name of a variable"));
        }
        self.skip_spaces();
        Ok(Setting::Variable { name, value: self.variable_value()? })
    }

    fn variable_value(&mut self) -> Parsed<Value> {
        if self.peek() == Some('"') {
            return Ok(Value::Text(self.quoted("a text")?));
        }
        let rest = self.rest();
        let length = rest.find(|char: char| char.is_ascii_whitespace() || char == '#').unwrap_or(rest.len());
        let is_typed =
            |value: &Value| !matches!(value, Value::Text(_) | Value::Expression(_) | Value::Regex(_));
        let mut ahead = Parser::new(self.text);
        ahead.at = self.at;
        let typed = ahead.constant()?.filter(is_typed);
        match typed {
            Some(value) if ahead.at == self.at + length => {
                self.at = ahead.at;
                for problem in ahead.problems {
                    self.report(problem);
                }
                Ok(value)
            }
            _ => Ok(Value::Text(self.bare(Form::Value)?)),
        }
    }

    /// Parses `null`, `true`, `false` or a number, if one comes next.
    fn constant(&mut self) -> Parsed<Option<Value>> {
        let words = [("null", Value::Null), ("true", Value::Boolean(true)), ("false", Value::Boolean(false))];
        for (word, value) in words {
            if self.eat(word) {
                return Ok(Some(value));
            }
        }
        self.number()
    }
}

/// Returns the reason to refuse an option, and what to do instead.
fn refusal(name: &str) -> Option<&'static str> {
    Some(match name {
        "retry" | "retry-interval" => {
            "a load test must not hide failures; to make a request again, use `repeat`"
        }
        "location-trusted" => "passwords are not sent to other servers; use `location`",
        "max-redirs" => "the number of redirects that are followed is fixed",
        "output" => "bodies are not saved",
        "verbose" | "very-verbose" | "verbosity" => "a load test does not print requests",
        "header" => "write the header field below the URL",
        "no-header" => "leave the header field out of the request",
        "user" => "use `[BasicAuth]`",
        "compressed" => "write the header field `Accept-Encoding: gzip`",
        "aws-sigv4" | "digest" | "negotiate" | "ntlm" | "netrc" | "netrc-file" | "netrc-optional" => {
            "use `[BasicAuth]` or an `Authorization` header field"
        }
        "path-as-is" => "leave it out: paths are sent as they are written",
        "fail-with-body" | "no-jsonpath-coercion" => "leave it out",
        "cacert"
        | "cert"
        | "connect-timeout"
        | "connect-to"
        | "http1.0"
        | "http1.1"
        | "http2"
        | "http2-prior-knowledge"
        | "http3"
        | "insecure"
        | "ipv4"
        | "ipv6"
        | "key"
        | "limit-rate"
        | "max-time"
        | "pinnedpubkey"
        | "proxy"
        | "resolve"
        | "tls-max"
        | "tls-min"
        | "unix-socket" => OF_THE_RUN,
        _ => return None,
    })
}
