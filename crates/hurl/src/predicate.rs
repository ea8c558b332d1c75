//! Asserts, and the predicates in them.

use crate::cursor::{Parsed, Parser};
use crate::{Assert, Pattern, Predicate, Problem, Test, Value};

/// The predicates, as a hint.
const KNOWN: &str = "predicates are ==, !=, >, >=, <, <=, startsWith, endsWith, contains, includes, matches, exists, \
                     isEmpty, isInteger, isFloat, isNumber, isBoolean, isString, isCollection, isList, isObject, \
                     isDate, isIsoDate, isUuid, isIpv4, isIpv6, each also after `not`";

/// An operator: its sign, its values, and the test.
type Operator = (&'static str, Allowed, fn(Value) -> Test);

/// The operators, longer ones before those that begin them.
const OPERATORS: [Operator; 6] = [
    ("==", Allowed::Any, Test::Equals),
    ("!=", Allowed::Any, Test::Differs),
    (">=", Allowed::Ordered, Test::AtLeast),
    ("<=", Allowed::Ordered, Test::AtMost),
    (">", Allowed::Ordered, Test::Above),
    ("<", Allowed::Ordered, Test::Below),
];

/// The predicates that were operators in older versions of Hurl.
const OLD_NAMES: [(&str, &str); 6] = [
    ("equals", "=="),
    ("notEquals", "!="),
    ("greaterThan", ">"),
    ("greaterThanOrEquals", ">="),
    ("lessThan", "<"),
    ("lessThanOrEquals", "<="),
];

/// The values that a predicate takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Allowed {
    Any,
    /// Numbers, texts and expressions.
    Ordered,
    /// Texts and bytes.
    Affix,
    /// Texts and regular expressions.
    Pattern,
}

impl Allowed {
    fn accepts(self, value: &Value) -> bool {
        match value {
            Value::Text(_) => true,
            Value::Integer(_) | Value::BigInteger(_) | Value::Float(_) | Value::Expression(_) => {
                matches!(self, Self::Any | Self::Ordered)
            }
            Value::Bytes(_) => matches!(self, Self::Any | Self::Affix),
            Value::Regex(_) => matches!(self, Self::Any | Self::Pattern),
            Value::Null | Value::Boolean(_) | Value::File(_) => self == Self::Any,
        }
    }

    fn describe(self) -> &'static str {
        match self {
            Self::Any => "a value",
            Self::Ordered => "a number, a text in double quotes or `{{…}}`",
            Self::Affix => "a text in double quotes, `hex,…;` or `base64,…;`",
            Self::Pattern => "a regular expression, as \"…\" or /…/",
        }
    }
}

impl Parser<'_> {
    pub(crate) fn assert(&mut self) -> Parsed<Assert> {
        let start = self.at;
        let query = self.query()?;
        let (filters, spaced) = self.filters()?;
        if !spaced || self.at_line_end() {
            return Err(self.expected("a filter or a predicate").with_hint(KNOWN));
        }
        let predicate = self.predicate()?;
        Ok(Assert { query, filters, predicate, span: self.since(start) })
    }

    fn predicate(&mut self) -> Parsed<Predicate> {
        let start = self.at;
        let not = self.word() == "not";
        if not {
            self.eat("not");
            self.expect_space("a predicate")?;
        }
        let test = self.test()?;
        Ok(Predicate { not, test, span: self.since(start) })
    }

    fn test(&mut self) -> Parsed<Test> {
        for (operator, allowed, test) in OPERATORS {
            if self.eat(operator) {
                self.skip_spaces();
                return Ok(test(self.allowed_value(allowed)?));
            }
        }
        let unknown = self.unknown_predicate();
        let word = self.word();
        let is = is_test(word);
        if is.is_none() && !matches!(word, "startsWith" | "endsWith" | "contains" | "includes" | "matches") {
            return Err(unknown);
        }
        self.at += word.len();
        if let Some(test) = is {
            return Ok(test);
        }
        self.expect_space("the value")?;
        Ok(match word {
            "startsWith" => Test::StartsWith(self.allowed_value(Allowed::Affix)?),
            "endsWith" => Test::EndsWith(self.allowed_value(Allowed::Affix)?),
            "contains" => Test::Contains(self.allowed_value(Allowed::Any)?),
            "includes" => Test::Includes(self.allowed_value(Allowed::Any)?),
            _ => match self.allowed_value(Allowed::Pattern)? {
                Value::Text(text) => Test::Matches(Pattern::Text(text)),
                Value::Regex(pattern) => Test::Matches(Pattern::Fixed(pattern)),
                _ => return Err(unknown),
            },
        })
    }

    fn unknown_predicate(&self) -> Problem {
        let problem = self.expected("a filter or a predicate");
        match OLD_NAMES.iter().find(|(name, _)| *name == self.word()) {
            Some((_, operator)) => problem.with_hint(format!("write `{operator}`")),
            None => problem.with_hint(KNOWN),
        }
    }

    fn allowed_value(&mut self, allowed: Allowed) -> Parsed<Value> {
        let unexpected = self.expected(allowed.describe());
        if allowed != Allowed::Any && self.rest().starts_with("```") {
            return Err(unexpected);
        }
        match self.value()? {
            Some(value) if allowed.accepts(&value) => Ok(value),
            _ => Err(unexpected),
        }
    }
}

/// Returns the test without a value that a word names.
fn is_test(word: &str) -> Option<Test> {
    Some(match word {
        "exists" => Test::Exists,
        "isEmpty" => Test::IsEmpty,
        "isInteger" => Test::IsInteger,
        "isFloat" => Test::IsFloat,
        "isNumber" => Test::IsNumber,
        "isBoolean" => Test::IsBoolean,
        "isString" => Test::IsText,
        "isCollection" => Test::IsCollection,
        "isList" => Test::IsList,
        "isObject" => Test::IsObject,
        "isDate" => Test::IsDate,
        "isIsoDate" => Test::IsIsoDate,
        "isUuid" => Test::IsUuid,
        "isIpv4" => Test::IsIpv4,
        "isIpv6" => Test::IsIpv6,
        _ => return None,
    })
}
