//! Where two plans differ, field by field as they are saved.

use serde_json::Value;

/// A field that two plans do not have in common, or that differs.
pub(crate) struct Field<'a> {
    /// Its names from the outermost inwards, with dots between them.
    pub(crate) path: String,
    pub(crate) values: [&'a Value; 2],
}

impl Field<'_> {
    /// Whether it is this field, or within it.
    pub(crate) fn is_in(&self, path: &str) -> bool {
        self.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }
}

/// The innermost fields that differ.
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

/// Long values are cut: what matters is that they differ.
pub(crate) fn shortened(text: &str) -> String {
    const LENGTH: usize = 60;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
