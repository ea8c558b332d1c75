//! The JSON schema and the reference of workload files, from the definition of the keys.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Map, Value, json};

use super::keys::{FILE, Form, Key, Kind, Table};

/// Returns the JSON schema of workload files (draft 2020-12), for editors.
#[must_use]
pub fn schema() -> Value {
    let mut definitions = BTreeMap::new();
    let mut schema = object(&FILE, &mut definitions);
    schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    schema.insert("title".to_owned(), json!("Workload file of httperf"));
    let definitions: Map<String, Value> = definitions
        .into_iter()
        .filter_map(|(name, definition)| Some((name.to_owned(), definition?)))
        .collect();
    schema.insert("$defs".to_owned(), Value::Object(definitions));
    let mut schema = Value::Object(schema);
    schema.sort_all_objects();
    schema
}

/// The definitions of tables, by their titles. One that is being made is `None`.
type Definitions = BTreeMap<&'static str, Option<Value>>;

fn object(table: &Table, definitions: &mut Definitions) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut dependent = Map::new();
    let mut required = Vec::new();
    for key in table.all_keys() {
        let mut property = of_kind(&key.kind, definitions);
        if let Some(property) = property.as_object_mut() {
            property.insert("description".to_owned(), json!(key.doc));
        }
        properties.insert(key.name.to_owned(), property);
        if key.is_required {
            required.push(key.name);
        }
        let needs: Vec<&str> = match key.belongs_to {
            [only] => key.needs.iter().chain([only]).copied().collect(),
            _ => key.needs.to_vec(),
        };
        if !needs.is_empty() {
            dependent.insert(key.name.to_owned(), json!(needs));
        }
    }
    let mut schema = Map::new();
    schema.insert("description".to_owned(), json!(table.doc));
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("additionalProperties".to_owned(), json!(false));
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    if !dependent.is_empty() {
        schema.insert("dependentRequired".to_owned(), Value::Object(dependent));
    }
    if table.needs_form {
        schema.insert("oneOf".to_owned(), Value::Array(forms(table)));
    }
    schema
}

/// Returns a schema for each form of a table.
fn forms(table: &Table) -> Vec<Value> {
    let mut forms: Vec<Value> = table.forms.iter().map(|form| json!({ "required": [form] })).collect();
    if table.key("steps").is_some() {
        let others = forms.clone();
        forms.push(json!({ "required": ["steps"], "not": { "anyOf": others } }));
    }
    forms
}

fn of_kind(kind: &Kind, definitions: &mut Definitions) -> Value {
    match kind {
        Kind::Text => json!({ "type": "string", "minLength": 1 }),
        Kind::OneOf(words) => json!({ "enum": words }),
        Kind::Form(Form { takes_numbers: true, .. }) => json!({ "type": ["string", "number"] }),
        Kind::Form(_) => json!({ "type": "string" }),
        Kind::Whole(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Kind::Scalar => json!({ "type": ["string", "number", "boolean"] }),
        Kind::Scalars => json!({
            "type": ["string", "number", "boolean", "array"],
            "items": { "type": ["string", "number", "boolean"] }
        }),
        Kind::Names => json!({ "type": ["string", "array"], "items": { "type": "string" } }),
        Kind::Table(table) => reference_to(table, definitions),
        Kind::List(table) => json!({ "type": "array", "items": reference_to(table, definitions) }),
        Kind::Map(kind) => json!({ "type": "object", "additionalProperties": of_kind(kind, definitions) }),
    }
}

/// Returns a reference to the definition of a table, which is made if there is none yet.
fn reference_to(table: &'static Table, definitions: &mut Definitions) -> Value {
    let name = table.name();
    if !definitions.contains_key(name) {
        definitions.insert(name, None);
        let definition = object(table, definitions);
        definitions.insert(name, Some(Value::Object(definition)));
    }
    json!({ "$ref": format!("#/$defs/{name}") })
}

/// Returns the reference of all keys of workload files, in Markdown.
#[must_use]
pub fn reference() -> String {
    let mut tables: Vec<&Table> = Vec::new();
    collect(&FILE, &mut tables);
    let mut text = String::new();
    for table in tables {
        let title = capitalized(table.title);
        let _ = write!(text, "## {title}\n\n{}\n\n| key | value | meaning |\n|---|---|---|\n", table.doc);
        for key in table.keys {
            let _ = writeln!(text, "| `{}` | {} | {}{} |", key.name, value(&key.kind), key.doc, company(key));
        }
        if let Some(more) = table.extends {
            let _ = write!(text, "\nIt has the keys of {} too.\n", more.title);
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn capitalized(title: &str) -> String {
    let mut letters = title.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// Adds a table and the tables below it, each once.
fn collect(table: &'static Table, tables: &mut Vec<&'static Table>) {
    if tables.iter().any(|known| known.title == table.title) {
        return;
    }
    tables.push(table);
    for key in table.all_keys() {
        let mut kind = &key.kind;
        while let Kind::Map(of) = kind {
            kind = of;
        }
        if let Kind::Table(below) | Kind::List(below) = kind {
            collect(below, tables);
        }
    }
}

/// Returns the description of the values of a key.
fn value(kind: &Kind) -> String {
    match kind {
        Kind::OneOf(words) => words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", "),
        Kind::Table(table) => format!("table: {}", table.title),
        Kind::List(table) => format!("list of tables: {}", table.title),
        Kind::Map(kind) => format!("table of names, each with {}", value(kind)),
        other => other.expected(),
    }
}

/// Returns the remarks about the keys that go with a key.
fn company(key: &Key) -> String {
    let mut text = String::new();
    if key.is_required {
        text.push_str(" Required.");
    }
    let named = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    if !key.needs.is_empty() {
        let _ = write!(text, " Needs {}.", named(key.needs));
    }
    let others: Vec<&str> = key.belongs_to.iter().copied().filter(|other| *other != key.name).collect();
    if !others.is_empty() {
        let alone = if others.len() < key.belongs_to.len() { ", or alone" } else { "" };
        let _ = write!(text, " Only with {}{alone}.", named(&others));
    }
    text
}
