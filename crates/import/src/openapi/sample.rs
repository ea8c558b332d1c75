//! Values that a schema allows.

use serde_json::{Map, Number, Value};

use super::refs::{Broken, resolved};

/// The depth of a made value. Deeper properties are left out.
const DEPTH_MAX: usize = 8;

/// The maximum number of values that a made value has.
const VALUES_MAX: usize = 2_000;

/// The maximum number of items of a made list, whatever `minItems` says.
const ITEMS_MAX: u64 = 10;

/// The longest text that is made, whatever `minLength` says.
const LENGTH_MAX: usize = 1_000;

/// A maker of values.
pub(super) struct Sampler<'d> {
    document: &'d Value,
    left: usize,
    /// True if a value was made up, as neither an example nor a default was there.
    pub(super) made_up: bool,
}

impl<'d> Sampler<'d> {
    pub(super) fn new(document: &'d Value) -> Self {
        Self { document, left: VALUES_MAX, made_up: false }
    }

    /// The example of a parameter or of a media type, or a value by its schema. `None` if it has neither.
    pub(super) fn of_holder(&mut self, holder: &'d Value) -> Result<Option<Value>, Broken> {
        if let Some(example) = self.example(holder)? {
            return Ok(Some(example));
        }
        holder.get("schema").map(|schema| self.of_schema(schema, 0)).transpose().map(Option::flatten)
    }

    /// The example that a parameter or a media type has of its own.
    pub(super) fn example(&self, holder: &'d Value) -> Result<Option<Value>, Broken> {
        if let Some(example) = holder.get("example") {
            return Ok(Some(example.clone()));
        }
        let Some(first) =
            holder.get("examples").and_then(Value::as_object).and_then(|examples| examples.values().next())
        else {
            return Ok(None);
        };
        Ok(resolved(self.document, first)?.get("value").cloned())
    }

    /// A value that a schema allows; `None` beyond the depth.
    fn of_schema(&mut self, schema: &'d Value, depth: usize) -> Result<Option<Value>, Broken> {
        if depth > DEPTH_MAX || self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        let schema = resolved(self.document, schema)?;
        let given = ["example", "default", "const"].iter().find_map(|name| schema.get(name));
        let listed = ["examples", "enum"].iter().find_map(|name| schema.get(name)?.as_array()?.first());
        if let Some(value) = given.or(listed) {
            return Ok(Some(value.clone()));
        }
        if let Some(parts) = schema.get("allOf").and_then(Value::as_array) {
            return self.of_all(schema, parts, depth);
        }
        for name in ["oneOf", "anyOf"] {
            let choices = schema.get(name).and_then(Value::as_array);
            // `null` is for what may be absent.
            let is_null = |choice: &&Value| choice.get("type").and_then(Value::as_str) == Some("null");
            if let Some(choice) = choices.and_then(|choices| choices.iter().find(|choice| !is_null(choice))) {
                return self.of_schema(choice, depth + 1);
            }
        }
        self.of_type(schema, depth)
    }

    /// A value that all of several schemas allow: an object with the properties of all, or else the first value.
    fn of_all(
        &mut self,
        schema: &'d Value,
        parts: &'d [Value],
        depth: usize,
    ) -> Result<Option<Value>, Broken> {
        let mut merged = Map::new();
        let mut other = None;
        let own =
            schema.get("properties").is_some().then(|| self.of_type(schema, depth)).transpose()?.flatten();
        for part in parts {
            match self.of_schema(part, depth + 1)? {
                Some(Value::Object(object)) => merged.extend(object),
                Some(value) if !value.is_null() => other = other.or(Some(value)),
                _ => {}
            }
        }
        if let Some(Value::Object(object)) = own {
            merged.extend(object);
        }
        Ok(if merged.is_empty() {
            other.or(Some(Value::Object(merged)))
        } else {
            Some(Value::Object(merged))
        })
    }

    fn of_type(&mut self, schema: &'d Value, depth: usize) -> Result<Option<Value>, Broken> {
        let kind = match schema.get("type") {
            Some(Value::String(kind)) => Some(&kind[..]),
            Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
            _ => None,
        };
        let has = |name| schema.get(name).is_some();
        let kind = kind.unwrap_or(match () {
            () if has("properties") || has("additionalProperties") => "object",
            () if has("items") => "array",
            () if has("minimum") || has("maximum") => "number",
            () => "string",
        });
        Ok(Some(match kind {
            "object" => Value::Object(self.object(schema, depth)?),
            "array" => Value::Array(self.list(schema, depth)?),
            "boolean" => Value::Bool(true),
            "null" => Value::Null,
            "integer" | "number" => {
                self.made_up = true;
                number(schema, kind == "integer")
            }
            _ => {
                self.made_up = true;
                Value::String(text(schema))
            }
        }))
    }

    fn object(&mut self, schema: &'d Value, depth: usize) -> Result<Map<String, Value>, Broken> {
        let mut object = Map::new();
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let is_read_only = resolved(self.document, property)?.get("readOnly") == Some(&Value::Bool(true));
            if is_read_only {
                continue;
            }
            if let Some(value) = self.of_schema(property, depth + 1)? {
                object.insert(name.clone(), value);
            }
        }
        Ok(object)
    }

    fn list(&mut self, schema: &'d Value, depth: usize) -> Result<Vec<Value>, Broken> {
        let Some(items) = schema.get("items") else { return Ok(Vec::new()) };
        let count = schema.get("minItems").and_then(Value::as_u64).unwrap_or(1).clamp(1, ITEMS_MAX);
        let mut list = Vec::new();
        for _ in 0..count {
            list.extend(self.of_schema(items, depth + 1)?);
        }
        Ok(list)
    }
}

/// The smallest number that a schema allows, but 1 if it may be.
fn number(schema: &Value, is_integer: bool) -> Value {
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    let mut value: f64 = 1.0;
    if let Some(minimum) = bound("minimum") {
        value = value.max(minimum);
    }
    if let Some(minimum) = bound("exclusiveMinimum")
        && value <= minimum
    {
        value = minimum + 1.0;
    }
    if let Some(maximum) = bound("maximum").or_else(|| bound("exclusiveMaximum").map(|maximum| maximum - 1.0))
    {
        value = value.min(maximum);
    }
    if is_integer || value.fract() == 0.0 {
        #[expect(clippy::cast_possible_truncation, reason = "a number beyond the bounds becomes the bound")]
        let whole = value.ceil() as i64;
        return Value::Number(whole.into());
    }
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}

/// A text of the format and the length that a schema asks for.
fn text(schema: &Value) -> String {
    let text = match schema.get("format").and_then(Value::as_str).unwrap_or_default() {
        "date" => "2026-01-02",
        "date-time" => "2026-01-02T03:04:05Z",
        "time" => "03:04:05Z",
        "duration" => "PT1M",
        "uuid" => "123e4567-e89b-42d3-a456-426614174000",
        "email" | "idn-email" => "user@example.com",
        "uri" | "url" | "iri" | "uri-reference" => "https://example.com/",
        "hostname" => "example.com",
        "ipv4" => "192.0.2.1",
        "ipv6" => "2001:db8::1",
        "byte" => "dGV4dA==",
        _ => "text",
    };
    let length =
        |name: &str| schema.get(name).and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok());
    let shortest = length("minLength").unwrap_or(0).min(LENGTH_MAX);
    let longest = length("maxLength").unwrap_or(LENGTH_MAX);
    let padded = text.chars().chain(std::iter::repeat_n('x', shortest.saturating_sub(text.len())));
    padded.take(longest).collect()
}
