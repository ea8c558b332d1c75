//! Secrets: the values of captures with `redact`, which no output shows.

use std::borrow::Cow;
use std::cmp::Reverse;

use httperf_plan::scenario::{Scenarios, Value};

use super::text::{in_url, write_value};
use super::value::View;

/// Mark in place of a secret, as in Hurl.
const REDACTED: &str = "***";

/// The secrets of a visit, in the forms in which texts have them.
#[derive(Clone, Debug, Default)]
pub struct Secrets {
    /// Longer ones first: a secret that contains another is replaced as a whole.
    forms: Vec<String>,
}

impl Secrets {
    /// Returns the secrets among the values of a visit, by slot.
    #[must_use]
    pub fn of(scenarios: &Scenarios, values: &[Option<Value>]) -> Self {
        let mut forms = Vec::new();
        for slot in redacted_slots(scenarios) {
            if let Some(value) = values.get(slot as usize).and_then(Option::as_ref) {
                add_forms(value, &mut forms);
            }
        }
        forms.retain(|form| !form.is_empty());
        forms.sort_by_key(|form| Reverse(form.len()));
        forms.dedup();
        Self { forms }
    }

    /// Returns the text with each secret replaced.
    #[must_use]
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.forms.iter().fold(Cow::Borrowed(text), |text, form| {
            if text.contains(form) { text.replace(form, REDACTED).into() } else { text }
        })
    }
}

/// Returns the variables that hold secrets.
pub(super) fn redacted_slots(scenarios: &Scenarios) -> impl Iterator<Item = u32> {
    let captures = scenarios.requests.iter().flat_map(|request| &request.captures);
    captures.filter(|capture| capture.redacted).map(|capture| capture.slot)
}

/// Adds a value as it is, in quotes, and in URLs; of a list or an object, each value in it.
fn add_forms(value: &Value, forms: &mut Vec<String>) {
    let mut text = Vec::new();
    match value {
        Value::List(list) => return list.iter().for_each(|value| add_forms(value, forms)),
        Value::Object(members) => return members.iter().for_each(|(_, value)| add_forms(value, forms)),
        Value::Null | Value::Boolean(_) => return,
        Value::Bytes(bytes) => text.clone_from(bytes),
        scalar => drop(write_value(View::from(scalar), &mut text)),
    }
    let encoded = in_url(&text);
    let text = String::from_utf8_lossy(&text).into_owned();
    let quoted = format!("{text:?}");
    forms.push(quoted[1..quoted.len() - 1].to_owned());
    forms.extend(encoded.iter().map(|form| String::from_utf8_lossy(form).into_owned()));
    forms.push(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_of_a_secret_is_replaced() {
        let mut secrets = Secrets::default();
        let object = Value::Object(vec![("k".into(), Value::Integer(4711))]);
        for value in [
            Value::Text("a b/\"\u{e9}".into()),
            Value::List(vec![object, Value::Null]),
            Value::Text("".into()),
        ] {
            add_forms(&value, &mut secrets.forms);
        }
        secrets.forms.retain(|form| !form.is_empty());
        for (text, expected) in [
            ("got text \"a b/\\\"\u{e9}\"", "got text \"***\""),
            ("x=a b/\"\u{e9};", "x=***;"),
            ("GET /a%20b/%22%C3%A9?y", "GET /***?y"),
            ("GET /?q=a%20b%2F%22%C3%A9&r=a+b%2F%22%C3%A9", "GET /?q=***&r=***"),
            ("id 4711 and 4711", "id *** and ***"),
            ("null", "null"),
        ] {
            assert_eq!(secrets.redact(text), expected);
        }
    }
}
