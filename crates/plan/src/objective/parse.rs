//! The parser of objectives and tolerances. Errors name the character at which they occur.

use std::borrow::Cow;
use std::fmt::{self, Display};

use super::{Change, Clock, Figure, Metric, Objective, Relation, Share, Tolerance, share_of_percent};

/// A syntax error in an objective or tolerance, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// The text that was parsed.
    text: String,
    /// The offset of the error in bytes.
    at: usize,
    expected: Cow<'static, str>,
}

impl std::error::Error for ParseError {}

impl ParseError {
    /// The figure that other tools call by the word in error.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        let rest = &self.text[self.at..];
        let end = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && !"_-(".contains(letter));
        let word = rest[..end.unwrap_or(rest.len())].to_ascii_lowercase();
        FOREIGN.iter().find(|(words, _)| words.contains(&&word[..])).map(|(_, hint)| *hint)
    }
}

/// Words of other tools for figures, with what to write here.
const FOREIGN: &[(&[&str], &str)] = &[
    (
        &[
            "error",
            "error_rate",
            "error-rate",
            "errorrate",
            "http_req_failed",
            "fail_rate",
            "failure_rate",
            "failures",
        ],
        "errors<1% bounds calls without a reply or with a wrong one, failed<1% those without a reply",
    ),
    (
        &["success", "success_rate", "success-rate", "ok"],
        "errors<1% bounds what success>99% bounds elsewhere",
    ),
    (
        &[
            "http_req_duration",
            "duration",
            "response_time",
            "p(50",
            "p(90",
            "p(95",
            "p(99",
            "avg",
            "average",
            "med",
            "median",
        ],
        "p95<500ms bounds a percentile of the latency, mean<200ms its mean",
    ),
    (
        &["rps", "qps", "throughput", "rate", "http_reqs", "requests", "req"],
        "replies>100 bounds the replies per second",
    ),
];

/// Writes a sentence, then the text with a mark under the character in error, and a hint if there is one.
impl Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, at, expected } = self;
        let before = text[..*at].chars().count();
        write!(f, "expected {expected} at character {}, got `{text}`\n  {text}\n  ", before + 1)?;
        write!(f, "{:before$}^", "")?;
        self.hint().map_or(Ok(()), |hint| write!(f, "\nhint: {hint}"))
    }
}

/// Descriptions of the expected text.
mod expected {
    pub(super) const METRIC: &str = "a figure such as p99, mean, service.p99, errors, 5xx or replies";
    pub(super) const FIGURE: &str = "p and a percentage such as p99, or mean, min or max";
    pub(super) const PERCENTAGE: &str = "a percentage above 0 and below 100";
    pub(super) const RELATION: &str = "<, <=, > or >=";
    pub(super) const NUMBER: &str = "a number";
    pub(super) const SIGN: &str = "+ or - before the difference";
    pub(super) const TIME_UNIT: &str = "a unit of time (us, ms, s, m or h)";
    pub(super) const TIME_CHANGE_UNIT: &str = "a unit (%, us, ms, s, m or h)";
    pub(super) const SHARE_UNIT: &str = "%";
    pub(super) const SHARE_CHANGE_UNIT: &str = "a unit (% of the other's share, or pp for percentage points)";
    pub(super) const RATE_CHANGE_UNIT: &str = "a unit (% or /s)";
    pub(super) const END: &str = "a comma or the end";
    pub(super) const ROOM_BELOW: &str = "a bound above 0, as nothing is less";
    pub(super) const SHARE: &str = "a share of at most 100 %";
    pub(super) const ROOM_ABOVE: &str = "a bound below 100 %, as no share is greater";
}

pub(super) fn objectives(text: &str) -> Result<Vec<Objective>, ParseError> {
    list(text, one_objective)
}

pub(super) fn tolerances(text: &str) -> Result<Vec<Tolerance>, ParseError> {
    list(text, one_tolerance)
}

pub(super) fn objective(text: &str) -> Result<Objective, ParseError> {
    single(text, one_objective)
}

pub(super) fn tolerance(text: &str) -> Result<Tolerance, ParseError> {
    single(text, one_tolerance)
}

fn list<'a, T>(
    text: &'a str,
    one: impl Fn(&mut Reader<'a>) -> Result<T, ParseError>,
) -> Result<Vec<T>, ParseError> {
    let mut reader = Reader { text, at: 0 };
    let mut all = vec![one(&mut reader)?];
    while reader.takes(",") {
        all.push(one(&mut reader)?);
    }
    reader.end().map(|()| all)
}

fn single<'a, T>(
    text: &'a str,
    one: impl Fn(&mut Reader<'a>) -> Result<T, ParseError>,
) -> Result<T, ParseError> {
    let mut reader = Reader { text, at: 0 };
    let single = one(&mut reader)?;
    reader.end().map(|()| single)
}

fn one_objective(reader: &mut Reader<'_>) -> Result<Objective, ParseError> {
    let metric = reader.metric()?;
    let relation = reader.relation()?;
    reader.skip_space();
    let start = reader.at;
    let number = reader.number()?;
    let bound = match metric {
        // 0 is the same in any unit.
        Metric::Time { .. } => match reader.seconds(number) {
            Some(seconds) => seconds,
            None if number != 0.0 => return Err(reader.expected(expected::TIME_UNIT)),
            None => number,
        },
        Metric::Share(_) => match reader.unit(&["%"]) {
            None if number != 0.0 => return Err(reader.expected(expected::SHARE_UNIT)),
            // 999 of 1000 meet a bound of 99.9 %.
            _ => share_of_percent(number),
        },
        Metric::Replies => {
            reader.unit(&["/s"]);
            number
        }
    };
    let wrong = match relation {
        Relation::Below if bound == 0.0 => Some(expected::ROOM_BELOW),
        _ if matches!(metric, Metric::Share(_)) && bound > 1.0 => Some(expected::SHARE),
        Relation::Above if matches!(metric, Metric::Share(_)) && bound == 1.0 => Some(expected::ROOM_ABOVE),
        _ => None,
    };
    match wrong {
        Some(expected) => Err(Reader { at: start, ..*reader }.expected(expected)),
        None => Ok(Objective { metric, relation, bound }),
    }
}

fn one_tolerance(reader: &mut Reader<'_>) -> Result<Tolerance, ParseError> {
    let metric = reader.metric()?;
    let relation = reader.relation()?;
    let sign = match (reader.takes("+"), reader.takes("-")) {
        (true, false) => 1.0,
        (false, true) => -1.0,
        _ => return Err(reader.expected(expected::SIGN)),
    };
    let number = sign * reader.number()?;
    let change = match metric {
        Metric::Time { .. } => match reader.unit(&["%"]) {
            Some(_) => Change::Share(number / 100.0),
            None => match reader.seconds(number) {
                Some(seconds) => Change::Difference(seconds),
                None => return Err(reader.expected(expected::TIME_CHANGE_UNIT)),
            },
        },
        Metric::Share(_) => match reader.unit(&["%", "pp"]) {
            Some("%") => Change::Share(number / 100.0),
            Some(_) => Change::Difference(number / 100.0),
            None => return Err(reader.expected(expected::SHARE_CHANGE_UNIT)),
        },
        Metric::Replies => match reader.unit(&["%", "/s"]) {
            Some("%") => Change::Share(number / 100.0),
            Some(_) => Change::Difference(number),
            None => return Err(reader.expected(expected::RATE_CHANGE_UNIT)),
        },
    };
    Ok(Tolerance { metric, relation, change })
}

/// A text with the offset up to which it has been read.
#[derive(Clone, Copy)]
struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn expected(&self, expected: impl Into<Cow<'static, str>>) -> ParseError {
        ParseError { text: self.text.to_owned(), at: self.at, expected: expected.into() }
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Skips `token` if it is next; returns true if it was.
    fn takes(&mut self, token: &str) -> bool {
        self.skip_space();
        let is_next = self.rest().starts_with(token);
        self.at += if is_next { token.len() } else { 0 };
        is_next
    }

    /// Reads a word of letters, digits and points.
    fn word(&mut self) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '.').unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn metric(&mut self) -> Result<Metric, ParseError> {
        self.skip_space();
        let start = *self;
        let word = self.word();
        let named = |name: &str| match name {
            "e2e" => Some(Clock::Latency),
            name => Clock::ALL.into_iter().find(|clock| clock.name() == name),
        };
        let clock =
            word.split_once('.').and_then(|(name, figure)| Some((named(name)?, name.len() + 1, figure)));
        if let Some((clock, before, figure)) = clock {
            return Ok(Metric::Time {
                clock,
                figure: Self { at: start.at + before, ..start }.figure(figure)?,
            });
        }
        let share = match word.as_bytes() {
            b"errors" => Share::Errors,
            b"failed" => Share::Failed,
            b"unexpected" => Share::Unexpected,
            b"checks" => Share::Checks,
            b"abandoned" => Share::Abandoned,
            b"goodput" => Share::Good,
            b"replies" => return Ok(Metric::Replies),
            [class @ b'1'..=b'5', b'x', b'x'] => Share::Status(class - b'0'),
            [b'p', b'0'..=b'9' | b'.', ..] | b"mean" | b"min" | b"max" => {
                return Ok(Metric::Time { clock: Clock::Latency, figure: start.figure(word)? });
            }
            _ if named(word).is_some() => {
                return Err(start
                    .expected(format!("a figure of {word} such as {word}.p99, {word}.mean or {word}.max")));
            }
            _ => return Err(start.expected(expected::METRIC)),
        };
        Ok(Metric::Share(share))
    }

    /// Parses `word`, which starts here, as a figure.
    fn figure(self, word: &str) -> Result<Figure, ParseError> {
        let percentage = match word {
            "mean" => return Ok(Figure::Mean),
            "min" => return Ok(Figure::Min),
            "max" => return Ok(Figure::Max),
            _ => word.strip_prefix('p').ok_or_else(|| self.expected(expected::FIGURE))?,
        };
        let percentage: Option<f64> =
            percentage.parse().ok().filter(|&number| number > 0.0 && number < 100.0);
        match percentage {
            Some(percentage) => Ok(Figure::Quantile(share_of_percent(percentage))),
            None => Err(Self { at: self.at + 1, ..self }.expected(expected::PERCENTAGE)),
        }
    }

    fn relation(&mut self) -> Result<Relation, ParseError> {
        // The longer relations first, as `<` is a prefix of `<=`.
        let all = [Relation::AtMost, Relation::AtLeast, Relation::Below, Relation::Above];
        let found = all.into_iter().find(|relation| self.takes(&relation.to_string()));
        found.ok_or_else(|| self.expected(expected::RELATION))
    }

    /// Reads a decimal number without a sign.
    fn number(&mut self) -> Result<f64, ParseError> {
        self.skip_space();
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let number = rest[..length].parse().map_err(|_| self.expected(expected::NUMBER))?;
        self.at += length;
        Ok(number)
    }

    /// Reads one of these units if it is next and ends before a blank, a comma or the end.
    fn unit(&mut self, units: &[&'static str]) -> Option<&'static str> {
        self.skip_space();
        let rest = self.rest();
        let next = rest.find(|c: char| c == ',' || c.is_whitespace()).unwrap_or(rest.len());
        let unit = units.iter().find(|&&unit| unit == &rest[..next])?;
        self.at += unit.len();
        Some(unit)
    }

    /// Reads the unit of a time, one of those of all options, and returns the time in seconds.
    fn seconds(&mut self, number: f64) -> Option<f64> {
        Some(match self.unit(&["us", "µs", "ms", "s", "m", "min", "h"])? {
            "us" | "µs" => number / 1e6,
            "ms" => number / 1e3,
            "s" => number,
            "m" | "min" => number * 60.0,
            _ => number * 3600.0,
        })
    }

    fn end(&mut self) -> Result<(), ParseError> {
        self.skip_space();
        if self.rest().is_empty() { Ok(()) } else { Err(self.expected(expected::END)) }
    }
}
