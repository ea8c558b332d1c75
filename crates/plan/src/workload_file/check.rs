//! The check of a document against the definition of its keys.

use std::ops::Range;
use std::sync::Arc;

use strsim::damerau_levenshtein;
use toml::Spanned;
use toml::de::DeValue;

use super::document::{self, View, form_text, in_order, scalar_text};
use super::keys::{Key, Kind, TABLES_DEEP, Table, alternatives};
use super::problem::{FileProblem, Problems, Source};

/// Checks a table and all tables below it: unknown and missing keys, keys that do not go together, and the form of every
/// value.
pub(super) fn check(view: &View<'_>, problems: &mut Problems) {
    Checker { source: view.source, problems }.table(view, 0);
}

/// Returns the name that differs from `typed` by the fewest letters: by one in short names, by two at most.
pub(super) fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distances = names.map(|name| {
        let allowed = if name.len().min(typed.len()) < 4 { 1 } else { 2 };
        (damerau_levenshtein(typed, name), allowed, name)
    });
    let near = distances.filter(|&(distance, allowed, _)| distance <= allowed);
    near.min_by_key(|&(distance, ..)| distance).map(|(.., name)| name)
}

/// Returns names with commas between them.
pub(super) fn listed<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

struct Checker<'a> {
    source: &'a Arc<Source>,
    problems: &'a mut Problems,
}

impl Checker<'_> {
    fn report(&mut self, at: Range<usize>, message: String, hint: Option<String>) {
        let problem = FileProblem::new(self.source, at, message);
        self.problems.push(match hint {
            Some(hint) => problem.with_hint(hint),
            None => problem,
        });
    }

    fn table(&mut self, view: &View<'_>, depth: usize) {
        let table = view.table;
        for (key, value) in in_order(view.entries) {
            match table.key(key.value) {
                Some(known) => self.value(&known.kind, value, depth),
                None => self.unknown(table, key.value, key.at),
            }
        }
        for key in table.all_keys().filter(|key| key.is_required && !view.has(key.name)) {
            let message = format!("expected the key `{}` in {}", key.name, table.title);
            self.report(view.at(), message, None);
        }
        self.forms(view);
    }

    fn unknown(&mut self, table: &Table, name: &str, at: Range<usize>) {
        let habit = table.all_keys().find(|key| key.habits.contains(&name)).map(|key| key.name);
        let near = habit.or_else(|| nearest(name, table.all_keys().map(|key| key.name)));
        let known = listed(table.all_keys().map(|key| key.name));
        self.report(
            at,
            format!("expected a key of {} ({known}), got `{name}`", table.title),
            near.map(|near| format!("did you mean `{near}`?")),
        );
    }

    /// Checks that keys go together.
    fn forms(&mut self, view: &View<'_>) {
        let table = view.table;
        let forms: Vec<&str> = table.forms.iter().copied().filter(|form| view.has(form)).collect();
        if let [first, second, ..] = forms[..] {
            let message =
                format!("expected one of {}, got `{first}` and `{second}`", alternatives(table.forms));
            self.report(view.key_at(second), message, None);
            return;
        }
        let is_group = table.key("steps").is_some() && view.has("steps");
        if table.needs_form && forms.is_empty() && !is_group {
            let message = format!("expected the key {}", alternatives(table.forms));
            self.report(view.at(), message, None);
            return;
        }
        for key in table.all_keys().filter(|key| view.has(key.name)) {
            self.company(view, key, !forms.is_empty());
        }
    }

    /// Checks that the keys are there without which this one has no meaning.
    fn company(&mut self, view: &View<'_>, key: &Key, has_form: bool) {
        for needed in key.needs.iter().filter(|needed| !view.has(needed)) {
            let message = format!("expected the key `{needed}` with `{}`", key.name);
            self.report(view.key_at(key.name), message, None);
        }
        let has_place = key.belongs_to.is_empty() || key.belongs_to.iter().any(|other| view.has(other));
        if !has_place && (has_form || key.name != "steps") {
            let message = format!("expected `{}` only with {}", key.name, alternatives(key.belongs_to));
            self.report(view.key_at(key.name), message, None);
        }
    }

    fn value(&mut self, kind: &'static Kind, value: &Spanned<DeValue<'_>>, depth: usize) {
        if depth > TABLES_DEEP {
            self.report(value.span(), "expected fewer tables within one another".to_owned(), None);
            return;
        }
        match (kind, value.get_ref()) {
            (Kind::Table(table), DeValue::Table(entries)) => {
                let view = View::new(self.source, table, entries, value.span());
                self.table(&view, depth + 1);
            }
            (Kind::List(table), DeValue::Array(list)) => {
                for element in list {
                    match element.get_ref() {
                        DeValue::Table(entries) => {
                            let view = View::new(self.source, table, entries, element.span());
                            self.table(&view, depth + 1);
                        }
                        _ => self.wrong("a table", element),
                    }
                }
            }
            (Kind::Map(kind), DeValue::Table(entries)) => {
                for (name, value) in in_order(entries) {
                    if name.value.is_empty() {
                        self.report(name.at, "expected a name that is not empty".to_owned(), None);
                    }
                    self.value(kind, value, depth + 1);
                }
            }
            (Kind::Names | Kind::Scalars, DeValue::Array(list)) => {
                let element = if matches!(kind, Kind::Names) { &Kind::Text } else { &Kind::Scalar };
                for value in list.iter().filter(|value| !fits(element, value.get_ref())) {
                    self.wrong(&element.expected(), value);
                }
            }
            (kind, scalar) if !fits(kind, scalar) => self.wrong(&kind.expected(), value),
            _ => {}
        }
    }

    fn wrong(&mut self, expected: &str, value: &Spanned<DeValue<'_>>) {
        let got = match value.get_ref() {
            DeValue::Array(_) => "a list".to_owned(),
            DeValue::Table(_) => "a table".to_owned(),
            scalar => match scalar_text(scalar) {
                Some(text) if text.is_empty() => "an empty one".to_owned(),
                Some(text) => format!("`{}`", shortened(&text)),
                None => format!("`{}`", shortened(self.source.text.get(value.span()).unwrap_or_default())),
            },
        };
        self.report(value.span(), format!("expected {expected}, got {got}"), None);
    }
}

/// Returns true if a value other than a table or a list of tables is of this kind.
fn fits(kind: &Kind, value: &DeValue<'_>) -> bool {
    match kind {
        Kind::Text | Kind::Names => value.as_str().is_some_and(|text| !text.is_empty()),
        Kind::OneOf(words) => value.as_str().is_some_and(|text| words.contains(&text)),
        Kind::Form(form) => form_text(form, value).is_some_and(|text| (form.matches)(&text)),
        Kind::Whole(min, max) => document::whole(value, *min, *max).is_some(),
        Kind::Scalar | Kind::Scalars => scalar_text(value).is_some(),
        Kind::Table(_) | Kind::List(_) | Kind::Map(_) => false,
    }
}

/// The greatest number of characters of a value in a message.
const SHOWN: usize = 60;

/// Returns the first line of a text, shortened to what a message has room for.
pub(super) fn shortened(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None if line.len() < text.trim_end().len() => format!("{line}…"),
        None => line.to_owned(),
    }
}
