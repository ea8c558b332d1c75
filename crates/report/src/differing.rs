//! Differences between two saved plans, field by field.

use serde_json::Value;

/// A field that only one of two plans has, or that differs between them.
pub(crate) struct Field<'a> {
    /// Path of the field, with dots between the names.
    pub(crate) path: String,
    pub(crate) values: [&'a Value; 2],
    /// Both plans call methods of gRPC.
    is_of_rpc: bool,
}

/// Options that set fields of plans, for people who know the fields by them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlanOptions {
    /// Path of a field, with dots between the names, and option. Of several paths that a field lies within, the longest counts.
    options: Vec<(&'static str, String)>,
}

/// The beginning of paths in plans that call methods of gRPC; they go before the same paths of any plan.
const OF_RPC: &str = "rpc.";

impl PlanOptions {
    /// Takes paths of fields, with dots between the names, each with its option, such as `--rate`.
    #[must_use]
    pub fn new(options: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        Self { options: options.into_iter().collect() }
    }

    /// The option that sets the field at `path`.
    fn option(&self, path: &str) -> Option<&str> {
        let fits = self.options.iter().filter(|(start, _)| is_within(path, start));
        fits.max_by_key(|(start, _)| start.len()).map(|(_, option)| &option[..])
    }
}

impl Field<'_> {
    /// Name for people: the option that sets the field, or its path if there is none.
    pub(crate) fn name<'a>(&'a self, options: &'a PlanOptions) -> &'a str {
        let of_rpc = || options.option(&format!("{OF_RPC}{}", self.path));
        let option = if self.is_of_rpc { of_rpc() } else { None };
        option.or_else(|| options.option(&self.path)).unwrap_or(&self.path)
    }

    /// Returns true if this is the field at `path` or lies within it.
    pub(crate) fn is_in(&self, path: &str) -> bool {
        is_within(&self.path, path)
    }
}

fn is_within(path: &str, start: &str) -> bool {
    path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Lists the innermost fields that differ.
pub(crate) fn differing<'a>(one: &'a Value, other: &'a Value) -> Vec<Field<'a>> {
    let is_of_rpc = [one, other].iter().all(|plan| plan["replies"]["streams"]["grpc"].is_object());
    let mut found = Vec::new();
    collect(String::new(), [one, other], is_of_rpc, &mut found);
    found
}

fn collect<'a>(path: String, values: [&'a Value; 2], is_of_rpc: bool, found: &mut Vec<Field<'a>>) {
    let [one, other] = values;
    if one == other {
        return;
    }
    if let (Value::Object(own), Value::Object(their)) = (one, other)
        && own.keys().eq(their.keys())
    {
        for (key, value) in own {
            let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            collect(inner, [value, &their[key]], is_of_rpc, found);
        }
        return;
    }
    found.push(Field { path, values, is_of_rpc });
}

/// Truncates long values: it only matters that they differ.
pub(crate) fn shortened(text: &str) -> String {
    const LENGTH: usize = 60;
    match text.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_has_the_name_of_the_option_that_sets_it() {
        let options = [
            ("request", "--request"),
            ("request.body", "--body"),
            ("request.bo", "--bo"),
            ("rpc.request.body", "--grpc-data"),
        ];
        let options = PlanOptions::new(options.map(|(path, option)| (path, option.to_owned())));
        let plan = |text: &str, rpc: bool| {
            let streams =
                if rpc { json!({ "grpc": { "server_streams": false } }) } else { json!({ "grpc": null }) };
            json!({ "request": { "body": text, "uri": text }, "replies": { "streams": streams }, "spin": text })
        };
        let names = |rpc| {
            let plans = [plan("a", rpc), plan("b", rpc)];
            let fields = differing(&plans[0], &plans[1]);
            let mut names: Vec<String> = fields.iter().map(|field| field.name(&options).to_owned()).collect();
            names.sort();
            names
        };
        assert_eq!(names(false), ["--body", "--request", "spin"]);
        assert_eq!(names(true), ["--grpc-data", "--request", "spin"]);
    }
}
