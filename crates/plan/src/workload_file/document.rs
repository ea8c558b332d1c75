//! A parsed TOML document, seen through the definition of its keys.

use std::ops::Range;
use std::sync::Arc;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{Form, Kind, Table};
use super::problem::{FileProblem, Problems, Source};

/// A value with its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct At<T> {
    pub(super) value: T,
    pub(super) at: Range<usize>,
}

/// A table of a document.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) source: &'a Arc<Source>,
    pub(super) table: &'static Table,
    pub(super) entries: &'a DeTable<'a>,
    /// The place of the table, or of its first line.
    start: usize,
    end: usize,
}

/// Number of syntax errors beyond which a file is not in TOML, and only the first are shown.
const ERRORS_MAX: usize = 5;

/// Parses a document. Syntax errors become problems.
pub(super) fn parse<'a>(source: &'a Arc<Source>, problems: &mut Problems) -> Option<Spanned<DeTable<'a>>> {
    let (document, errors) = DeTable::parse_recoverable(&source.text);
    let shown = if errors.len() > ERRORS_MAX { ERRORS_MAX - 2 } else { errors.len() };
    for (index, error) in errors.iter().take(shown).enumerate() {
        let end = source.text.len();
        let at = error.span().unwrap_or(end..end);
        let problem = FileProblem::new(source, at, error.message().trim_end());
        let hidden = errors.len() - shown;
        problems.push(match index + 1 == shown && hidden > 0 {
            true => problem.with_hint(format!("{hidden} more of these; a workload file is in TOML")),
            false => problem,
        });
    }
    errors.is_empty().then_some(document)
}

/// Returns the text of a value that may stand where a form of text is expected.
pub(super) fn form_text(form: &Form, value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(_) | DeValue::Float(_) if form.takes_numbers => scalar_text(value),
        _ => None,
    }
}

/// Returns a text, number or truth value as text.
pub(super) fn scalar_text(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Integer(number) => {
            Some(i64::from_str_radix(number.as_str(), number.radix()).ok()?.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// Returns a number of an allowed size.
pub(super) fn whole(value: &DeValue<'_>, min: u64, max: u64) -> Option<u64> {
    let number = value.as_integer()?;
    let number = u64::from_str_radix(number.as_str(), number.radix()).ok()?;
    (min..=max).contains(&number).then_some(number)
}

impl<'a> View<'a> {
    pub(super) fn new(
        source: &'a Arc<Source>,
        table: &'static Table,
        entries: &'a DeTable<'a>,
        at: Range<usize>,
    ) -> Self {
        Self { source, table, entries, start: at.start, end: at.end }
    }

    /// Returns the place of the table.
    pub(super) fn at(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Returns a problem of this place of the file.
    pub(super) fn problem(&self, at: Range<usize>, message: impl Into<String>) -> FileProblem {
        FileProblem::new(self.source, at, message)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.contains_key(key)
    }

    /// Returns the place of a key.
    pub(super) fn key_at(&self, key: &str) -> Range<usize> {
        self.entries.get_key_value(key).map_or(self.at(), |(key, _)| key.span())
    }

    fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.entries.get(key)
    }

    /// Returns a text that is not empty.
    pub(super) fn text(&self, key: &str) -> Option<At<&'a str>> {
        let value = self.get(key)?;
        let text = value.get_ref().as_str().filter(|text| !text.is_empty())?;
        Some(At { value: text, at: value.span() })
    }

    /// Returns a number of the size that the key allows.
    pub(super) fn whole(&self, key: &str) -> Option<At<u64>> {
        let Kind::Whole(min, max) = self.table.key(key)?.kind else { return None };
        let value = self.get(key)?;
        Some(At { value: whole(value.get_ref(), min, max)?, at: value.span() })
    }

    /// Returns the number of a key whose numbers fit 32 bits.
    pub(super) fn small(&self, key: &str) -> Option<std::num::NonZeroU32> {
        std::num::NonZeroU32::new(u32::try_from(self.whole(key)?.value).ok()?)
    }

    /// Returns what `parse` makes of a text or number.
    pub(super) fn form<T>(&self, key: &str, parse: fn(&str) -> Option<T>) -> Option<At<T>> {
        let Kind::Form(form) = self.table.key(key)?.kind else { return None };
        let value = self.get(key)?;
        Some(At { value: parse(&form_text(form, value.get_ref())?)?, at: value.span() })
    }

    /// Returns a text or the texts of a list.
    pub(super) fn names(&self, key: &str) -> Vec<At<&'a str>> {
        let one =
            |value: &'a Spanned<DeValue<'a>>| Some(At { value: value.get_ref().as_str()?, at: value.span() });
        match self.get(key).map(|value| (value, value.get_ref())) {
            Some((_, DeValue::Array(list))) => list.iter().filter_map(one).collect(),
            Some((value, _)) => one(value).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// Returns a table below this one.
    pub(super) fn table(&self, key: &str) -> Option<Self> {
        let Kind::Table(table) = self.table.key(key)?.kind else { return None };
        let value = self.get(key)?;
        Some(Self::new(self.source, table, value.get_ref().as_table()?, value.span()))
    }

    /// Returns the tables of a list.
    pub(super) fn list(&self, key: &str) -> Vec<Self> {
        let Some(Kind::List(table)) = self.table.key(key).map(|key| &key.kind) else { return Vec::new() };
        let list = self.get(key).and_then(|value| value.get_ref().as_array());
        let tables = list.into_iter().flatten().filter_map(|value| {
            Some(Self::new(self.source, table, value.get_ref().as_table()?, value.span()))
        });
        tables.collect()
    }

    /// Returns the names and values of a table with names of the user's own, in the order of the file.
    pub(super) fn map(&self, key: &str) -> Vec<(At<&'a str>, &'a Spanned<DeValue<'a>>)> {
        self.get(key).and_then(|value| value.get_ref().as_table()).map(in_order).unwrap_or_default()
    }
}

/// Returns the keys and values of a table in the order of the file.
pub(super) fn in_order<'a>(entries: &'a DeTable<'a>) -> Vec<(At<&'a str>, &'a Spanned<DeValue<'a>>)> {
    let all = entries.iter().map(|(key, value)| (At { value: &**key.get_ref(), at: key.span() }, value));
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(key, _)| key.at.start);
    all
}
