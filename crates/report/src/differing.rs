//! Differences between two saved plans, field by field.

use serde_json::Value;

/// A field that only one of two plans has, or that differs between them.
pub(crate) struct Field<'a> {
    /// Path of the field, with dots between the names.
    pub(crate) path: String,
    pub(crate) values: [&'a Value; 2],
}

impl Field<'_> {
    /// Returns true if this is the field at `path` or lies within it.
    pub(crate) fn is_in(&self, path: &str) -> bool {
        self.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// Lists the innermost fields that differ.
pub(crate) fn differing<'a>(one: &'a Value, other: &'a Value) -> Vec<Field<'a>> {
    let mut found = Vec::new();
    collect(String::new(), [one, other], &mut found);
    found
}

fn collect<'a>(path: String, values: [&'a Value; 2], found: &mut Vec<Field<'a>>) {
    let [one, other] = values;
    if one == other {
        return;
    }
    if let (Value::Object(own), Value::Object(their)) = (one, other)
        && own.keys().eq(their.keys())
    {
        for (key, value) in own {
            let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            collect(inner, [value, &their[key]], found);
        }
        return;
    }
    found.push(Field { path, values });
}

/// Truncates long values: it only matters that they differ.
pub(crate) fn shortened(text: &str) -> String {
    const LENGTH: usize = 60;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
