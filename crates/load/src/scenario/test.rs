//! Tests of values: the predicates of checks.

use std::cmp::Ordering;
use std::net::{Ipv4Addr, Ipv6Addr};

use chrono::NaiveDate;
use httperf_plan::scenario::{Operand, Predicate, Test, Value};
use memchr::memmem::{self, Finder};

use super::filter::Source;
use super::look::Malformed;
use super::pattern::Pattern;
use super::reason::in_words;
use super::scratch::Scratch;
use super::secrets::Secrets;
use super::text::{Filling, Text};
use super::value::{Found, Mismatch, View};

/// A compiled [`Predicate`].
#[derive(Debug)]
pub(super) struct CompiledPredicate<'p> {
    not: bool,
    test: CompiledTest<'p>,
}

#[derive(Debug)]
enum CompiledTest<'p> {
    /// A test of the value alone.
    Kind(&'p Test),
    /// A comparison with another value.
    Compare(Comparison, Comparand<'p>),
    /// `contains` with a text that is always the same.
    ContainsLiteral {
        finder: Box<Finder<'p>>,
        /// The text may be searched for in the bytes of another, as it has no U+FFFD.
        in_bytes: bool,
    },
    Matches(Source<'p, Pattern>),
}

#[derive(Clone, Copy, Debug)]
enum Comparison {
    Equals,
    Differs,
    Above,
    AtLeast,
    Below,
    AtMost,
    StartsWith,
    EndsWith,
    Contains,
}

/// A compiled [`Operand`].
#[derive(Debug)]
pub(super) enum Comparand<'p> {
    Value(&'p Value),
    Text(Text<'p>),
    Variable(u32),
}

impl<'p> CompiledPredicate<'p> {
    pub(super) fn new(predicate: &'p Predicate, depth: usize) -> Result<Self, Malformed> {
        Ok(Self { not: predicate.not, test: CompiledTest::new(&predicate.test, depth)? })
    }

    /// Returns true if the value meets the condition.
    ///
    /// A missing value fails every condition but `not exists`. A test that does not apply to the type of the value fails
    /// with `not` as well.
    pub(super) fn holds(
        &self,
        found: Option<&Found<'_>>,
        filling: &mut Filling<'_>,
        scratch: &mut Scratch,
    ) -> bool {
        match found {
            Some(found) => {
                let passes = self.test.passes(found.view(), filling, scratch);
                passes.is_ok_and(|passes| passes != self.not)
            }
            None => self.not && self.asks_existence(),
        }
    }
}

impl CompiledPredicate<'_> {
    /// Returns whether it asks if there is a value at all.
    pub(super) fn asks_existence(&self) -> bool {
        matches!(self.test, CompiledTest::Kind(Test::Exists))
    }

    /// Returns whether it says which values are expected, not which are none.
    pub(super) fn names_values(&self) -> bool {
        let is_other =
            matches!(self.test, CompiledTest::Kind(_) | CompiledTest::Compare(Comparison::Differs, _));
        !self.not && !is_other
    }

    /// Returns in words the value with which it compares, if that is not written in the file.
    pub(super) fn operand_in_words(
        &self,
        filling: &mut Filling<'_>,
        scratch: &mut Scratch,
        secrets: &Secrets,
    ) -> Option<String> {
        let unset = || "a variable that has no value".to_owned();
        match &self.test {
            CompiledTest::Compare(_, Comparand::Text(text)) => {
                let filled = scratch.fill(text, filling, |filled, _| in_words(View::Text(filled), secrets));
                Some(filled.unwrap_or_else(|_| unset()))
            }
            CompiledTest::Compare(_, Comparand::Variable(slot)) => {
                let value = filling.values.get(*slot as usize).and_then(Option::as_ref);
                Some(value.map_or_else(unset, |value| in_words(View::from(value), secrets)))
            }
            _ => None,
        }
    }

    /// Returns whether the text of these bytes meets the condition; `None` if the text itself is needed. The text has U+FFFD
    /// in place of what is not UTF-8: any other text is in it where its bytes are in these.
    pub(super) fn holds_for_bytes_of_text(&self, bytes: &[u8]) -> Option<bool> {
        match &self.test {
            CompiledTest::ContainsLiteral { finder, in_bytes: true } => {
                Some(finder.find(bytes).is_some() != self.not)
            }
            _ => None,
        }
    }
}

impl<'p> CompiledTest<'p> {
    fn new(test: &'p Test, depth: usize) -> Result<Self, Malformed> {
        let (comparison, operand) = match test {
            Test::Equals(operand) => (Comparison::Equals, operand),
            Test::Differs(operand) => (Comparison::Differs, operand),
            Test::Above(operand) => (Comparison::Above, operand),
            Test::AtLeast(operand) => (Comparison::AtLeast, operand),
            Test::Below(operand) => (Comparison::Below, operand),
            Test::AtMost(operand) => (Comparison::AtMost, operand),
            Test::StartsWith(operand) => (Comparison::StartsWith, operand),
            Test::EndsWith(operand) => (Comparison::EndsWith, operand),
            Test::Contains(operand) => (Comparison::Contains, operand),
            Test::Matches(pattern) => return Ok(Self::Matches(Source::new(pattern, depth)?)),
            kind => return Ok(Self::Kind(kind)),
        };
        let comparand = Comparand::new(operand, depth)?;
        Ok(match (comparison, comparand.literal()) {
            (Comparison::Contains, Some(literal)) => Self::ContainsLiteral {
                finder: Box::new(Finder::new(literal)),
                in_bytes: !literal.contains(char::REPLACEMENT_CHARACTER),
            },
            _ => Self::Compare(comparison, comparand),
        })
    }

    fn passes(
        &self,
        value: View<'_>,
        filling: &mut Filling<'_>,
        scratch: &mut Scratch,
    ) -> Result<bool, Mismatch> {
        match self {
            Self::Kind(test) => is_of_kind(test, value),
            Self::Compare(comparison, Comparand::Value(other)) => {
                comparison.passes(value, View::from(*other))
            }
            Self::Compare(comparison, Comparand::Text(text)) => {
                scratch.fill(text, filling, |filled, _| comparison.passes(value, View::Text(filled)))?
            }
            Self::Compare(comparison, Comparand::Variable(slot)) => {
                let other = filling.values.get(*slot as usize).and_then(Option::as_ref).ok_or(Mismatch)?;
                comparison.passes(value, View::from(other))
            }
            Self::ContainsLiteral { finder, .. } => match value {
                View::Text(text) => Ok(finder.find(text.as_bytes()).is_some()),
                View::List(list) => {
                    let is_it = |value: &Value| matches!(value, Value::Text(text) if text.as_bytes() == finder.needle());
                    Ok(list.iter().any(is_it))
                }
                _ => Err(Mismatch),
            },
            Self::Matches(source) => {
                let View::Text(text) = value else { return Err(Mismatch) };
                Ok(source.get(filling, scratch)?.regex().is_match(text))
            }
        }
    }
}

impl<'p> Comparand<'p> {
    pub(super) fn new(operand: &'p Operand, depth: usize) -> Result<Self, Malformed> {
        Ok(match operand {
            Operand::Value(value) => Self::Value(value),
            Operand::Text(text) => Self::Text(Text::nested(text, depth)?),
            Operand::Variable(slot) => Self::Variable(*slot),
        })
    }

    fn literal(&self) -> Option<&'p str> {
        match self {
            Self::Value(Value::Text(text)) => Some(text),
            Self::Text(text) => text.as_literal_text(),
            _ => None,
        }
    }
}

impl Comparison {
    fn passes(self, value: View<'_>, other: View<'_>) -> Result<bool, Mismatch> {
        let order = || value.order(other).ok_or(Mismatch);
        Ok(match self {
            Self::Equals => value.equals(other),
            Self::Differs => !value.equals(other),
            Self::Above => order()? == Ordering::Greater,
            Self::AtLeast => order()? != Ordering::Less,
            Self::Below => order()? == Ordering::Less,
            Self::AtMost => order()? != Ordering::Greater,
            Self::StartsWith => pair(value, other).map(|(all, part)| all.starts_with(part))?,
            Self::EndsWith => pair(value, other).map(|(all, part)| all.ends_with(part))?,
            Self::Contains => match value {
                View::List(list) => list.iter().any(|value| View::from(value).equals(other)),
                _ => pair(value, other).map(|(all, part)| memmem::find(all, part).is_some())?,
            },
        })
    }
}

/// Returns both values as bytes if they are two texts or two byte strings.
fn pair<'v>(value: View<'v>, other: View<'v>) -> Result<(&'v [u8], &'v [u8]), Mismatch> {
    match (value, other) {
        (View::Text(all), View::Text(part)) => Ok((all.as_bytes(), part.as_bytes())),
        (View::Bytes(all), View::Bytes(part)) => Ok((all, part)),
        _ => Err(Mismatch),
    }
}

fn is_of_kind(test: &Test, value: View<'_>) -> Result<bool, Mismatch> {
    let is_text = |is_it: fn(&str) -> bool| matches!(value, View::Text(text) if is_it(text));
    Ok(match test {
        Test::Exists => true,
        Test::IsEmpty => match value {
            View::Text(text) => text.is_empty(),
            View::Bytes(bytes) => bytes.is_empty(),
            View::List(list) => list.is_empty(),
            View::Object(members) => members.is_empty(),
            _ => return Err(Mismatch),
        },
        Test::IsInteger => matches!(value, View::Integer(_) | View::BigInteger(_)),
        Test::IsFloat => matches!(value, View::Float(_)),
        Test::IsNumber => matches!(value, View::Integer(_) | View::BigInteger(_) | View::Float(_)),
        Test::IsBoolean => matches!(value, View::Boolean(_)),
        Test::IsText => matches!(value, View::Text(_)),
        Test::IsCollection => matches!(value, View::List(_) | View::Object(_)),
        Test::IsList => matches!(value, View::List(_)),
        Test::IsObject => matches!(value, View::Object(_)),
        Test::IsDate => is_text(is_date),
        Test::IsUuid => is_text(is_uuid),
        Test::IsIpv4 => is_text(|text| text.parse::<Ipv4Addr>().is_ok()),
        Test::IsIpv6 => is_text(|text| text.parse::<Ipv6Addr>().is_ok()),
        _ => return Err(Mismatch),
    })
}

/// Returns true for a date and time of RFC 3339, such as `2018-12-31T23:59:60.5+01:00`.
fn is_date(text: &str) -> bool {
    date_parts(text.as_bytes()).is_some()
}

fn date_parts(text: &[u8]) -> Option<()> {
    let (fixed, rest) = text.split_at_checked(19)?;
    let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
    let has_separators = separators.iter().all(|&(place, byte)| fixed[place].to_ascii_uppercase() == byte);
    let year = number(&fixed[..4])?;
    let [month, day, hour, minute, second] = [
        number(&fixed[5..7])?,
        number(&fixed[8..10])?,
        number(&fixed[11..13])?,
        number(&fixed[14..16])?,
        number(&fixed[17..])?,
    ];
    NaiveDate::from_ymd_opt(year.into(), month.into(), day.into())?;
    // A leap second is written as the 61st of its minute.
    let is_time = hour < 24 && minute < 60 && second <= 60;
    let digits = rest
        .strip_prefix(b".")
        .map_or(0, |tail| 1 + tail.iter().take_while(|byte| byte.is_ascii_digit()).count());
    let is_zone = match &rest[digits..] {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', zone @ ..] if zone.len() == 5 => {
            zone[2] == b':' && number(&zone[..2])? < 24 && number(&zone[3..])? < 60
        }
        _ => false,
    };
    (has_separators && is_time && digits != 1 && is_zone).then_some(())
}

fn number(digits: &[u8]) -> Option<u16> {
    let add = |number: u16, byte: &u8| byte.is_ascii_digit().then(|| number * 10 + u16::from(byte - b'0'));
    digits.iter().try_fold(0, add)
}

/// Returns true for the form with hyphens, such as `f81d4fae-7dec-11d0-a765-00a0c91e6bf6`.
fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}
