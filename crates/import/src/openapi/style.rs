//! Values of parameters as their style writes them: in the path, the query, header fields and cookies.
//!
//! <https://spec.openapis.org/oas/v3.1.1.html#style-values>

use serde_json::Value;

/// The way in which a parameter writes lists and objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Style {
    kind: Kind,
    explode: bool,
    /// True if reserved characters are not percent-encoded.
    reserved: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Simple,
    Label,
    Matrix,
    Form,
    SpaceDelimited,
    PipeDelimited,
    DeepObject,
}

/// A part of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A name and a value, which are encoded when they are sent.
    Field(String, String),
    /// A text that is encoded as it is to be.
    Encoded(String),
}

impl Style {
    /// The style of a parameter, or of a field of a form, in this place.
    pub(super) fn of(holder: &Value, place: &str) -> Self {
        let kind = match holder.get("style").and_then(Value::as_str).unwrap_or_default() {
            "simple" => Kind::Simple,
            "label" => Kind::Label,
            "matrix" => Kind::Matrix,
            "form" => Kind::Form,
            "spaceDelimited" => Kind::SpaceDelimited,
            "pipeDelimited" => Kind::PipeDelimited,
            "deepObject" => Kind::DeepObject,
            _ if matches!(place, "path" | "header") => Kind::Simple,
            _ => Kind::Form,
        };
        let truth = |name: &str| holder.get(name).and_then(Value::as_bool);
        Self {
            kind,
            explode: truth("explode").unwrap_or(kind == Kind::Form),
            reserved: truth("allowReserved").unwrap_or(false),
        }
    }

    /// The text in the place of `{name}` in a path.
    pub(super) fn path(self, name: &str, value: &Value) -> String {
        let encode = |text: &str| encoded(text, self.reserved);
        let name = encode(name);
        let (start, separator) = match self.kind {
            Kind::Label => (".".to_owned(), if self.explode { "." } else { "," }),
            Kind::Matrix if self.explode => (";".to_owned(), ";"),
            Kind::Matrix => (format!(";{name}="), ","),
            _ => (String::new(), ","),
        };
        let is_matrix = self.kind == Kind::Matrix;
        let text = match value {
            Value::Array(items) => {
                let items = items.iter().map(|item| match is_matrix && self.explode {
                    true => format!("{name}={}", encode(&plain(item))),
                    false => encode(&plain(item)),
                });
                items.collect::<Vec<_>>().join(separator)
            }
            Value::Object(_) => self.pairs(value, encode, separator),
            value => {
                let text = encode(&plain(value));
                return match self.kind {
                    Kind::Matrix if text.is_empty() => format!(";{name}"),
                    Kind::Matrix => format!(";{name}={text}"),
                    Kind::Label => format!(".{text}"),
                    _ => text,
                };
            }
        };
        start + &text
    }

    /// The parts of a query, or the fields of a form.
    pub(super) fn query(self, name: &str, value: &Value) -> Vec<Part> {
        let parts = self.plain_query(name, value);
        if !self.reserved {
            return parts;
        }
        let raw = |part| match part {
            Part::Field(name, value) => {
                Part::Encoded(format!("{}={}", encoded(&name, false), encoded(&value, true)))
            }
            encoded @ Part::Encoded(_) => encoded,
        };
        parts.into_iter().map(raw).collect()
    }

    fn plain_query(self, name: &str, value: &Value) -> Vec<Part> {
        let field = |name: &str, value: &Value| Part::Field(name.to_owned(), plain(value));
        let joined = |separator: &str| {
            let encode = |text: &str| encoded(text, self.reserved);
            let text = match value {
                Value::Array(items) => {
                    items.iter().map(|item| encode(&plain(item))).collect::<Vec<_>>().join(separator)
                }
                value => self.pairs(value, encode, separator),
            };
            vec![Part::Encoded(format!("{}={text}", encoded(name, false)))]
        };
        match (value, self.kind) {
            (Value::Array(items), _) if items.is_empty() => Vec::new(),
            (Value::Object(object), _) if object.is_empty() => Vec::new(),
            (Value::Object(_), Kind::DeepObject) => {
                let mut parts = Vec::new();
                deep(name, value, &mut parts);
                parts
            }
            (Value::Array(items), _) if self.explode || self.kind == Kind::DeepObject || items.len() == 1 => {
                items.iter().map(|item| field(name, item)).collect()
            }
            (Value::Object(object), _) if self.explode => {
                object.iter().map(|(name, value)| field(name, value)).collect()
            }
            (Value::Array(_) | Value::Object(_), Kind::SpaceDelimited) => joined("%20"),
            (Value::Array(_) | Value::Object(_), Kind::PipeDelimited) => joined("%7C"),
            (Value::Array(_) | Value::Object(_), _) => joined(","),
            (value, _) => vec![field(name, value)],
        }
    }

    /// The value of a header field.
    pub(super) fn header(self, value: &Value) -> String {
        match value {
            Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
            Value::Object(_) => self.pairs(value, str::to_owned, ","),
            value => plain(value),
        }
    }

    /// The cookies of a parameter.
    pub(super) fn cookies(self, name: &str, value: &Value) -> Vec<String> {
        match value {
            Value::Array(items) if self.explode => {
                items.iter().map(|item| format!("{name}={}", plain(item))).collect()
            }
            Value::Object(object) if self.explode => {
                object.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect()
            }
            value => vec![format!("{name}={}", self.header(value))],
        }
    }

    /// The fields of an object, joined.
    fn pairs(self, value: &Value, encode: impl Fn(&str) -> String, separator: &str) -> String {
        let object = value.as_object().into_iter().flatten();
        // Fields are told apart by `=`, or else stand between names as if they were items of a list.
        let between = if self.explode { "=" } else { separator };
        let fields =
            object.map(|(name, value)| format!("{}{between}{}", encode(name), encode(&plain(value))));
        fields.collect::<Vec<_>>().join(separator)
    }
}

/// The fields of an object as `name[field]=value`, those within one another as `name[field][field]=value`.
fn deep(name: &str, value: &Value, parts: &mut Vec<Part>) {
    match value {
        Value::Object(object) => {
            for (field, value) in object {
                deep(&format!("{name}[{field}]"), value, parts);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| deep(name, item, parts)),
        value => parts.push(Part::Field(name.to_owned(), plain(value))),
    }
}

/// A value as a text. Lists and objects, where a style knows none, are JSON.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A text with all but unreserved characters percent-encoded, or all but what a URL may have.
fn encoded(text: &str, keeps_reserved: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let is_unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        // What would end the path, the query or a part of it is encoded in any case.
        if is_unreserved || keeps_reserved && b":/?@!$'()*,;".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_the_tables_of_the_specification_have_them() {
        let (list, object) = (json!(["blue", "a b"]), json!({"R": 100, "G": "x/y"}));
        let empty = json!("");
        for (place, style, explode, value, expected) in [
            ("path", "", None, &json!("a b/c"), "a%20b%2Fc"),
            ("path", "", None, &list, "blue,a%20b"),
            ("path", "", None, &object, "R,100,G,x%2Fy"),
            ("path", "simple", Some(true), &object, "R=100,G=x%2Fy"),
            ("path", "label", None, &json!(5), ".5"),
            ("path", "label", None, &list, ".blue,a%20b"),
            ("path", "label", Some(true), &list, ".blue.a%20b"),
            ("path", "label", Some(true), &object, ".R=100.G=x%2Fy"),
            ("path", "matrix", None, &json!(5), ";c=5"),
            ("path", "matrix", None, &empty, ";c"),
            ("path", "matrix", None, &list, ";c=blue,a%20b"),
            ("path", "matrix", Some(true), &list, ";c=blue;c=a%20b"),
            ("path", "matrix", None, &object, ";c=R,100,G,x%2Fy"),
            ("path", "matrix", Some(true), &object, ";R=100;G=x%2Fy"),
            ("query", "", None, &list, "c: blue & c: a b"),
            ("query", "form", Some(false), &list, "c=blue,a%20b"),
            ("query", "form", Some(false), &json!(["r"]), "c: r"),
            ("query", "form", Some(false), &object, "c=R,100,G,x%2Fy"),
            ("query", "form", None, &object, "R: 100 & G: x/y"),
            ("query", "spaceDelimited", None, &list, "c=blue%20a%20b"),
            ("query", "pipeDelimited", None, &list, "c=blue%7Ca%20b"),
            ("query", "pipeDelimited", Some(true), &list, "c: blue & c: a b"),
            ("query", "deepObject", None, &object, "c[R]: 100 & c[G]: x/y"),
            ("query", "deepObject", None, &json!({"a": {"b": [1, 2]}}), "c[a][b]: 1 & c[a][b]: 2"),
            ("query", "", None, &json!([]), ""),
            ("query", "", None, &json!(true), "c: true"),
            ("header", "", None, &list, "blue,a b"),
            ("header", "", None, &object, "R,100,G,x/y"),
            ("header", "", Some(true), &object, "R=100,G=x/y"),
            ("cookie", "", None, &list, "c=blue & c=a b"),
            ("cookie", "", Some(false), &list, "c=blue,a b"),
            ("cookie", "", None, &object, "R=100 & G=x/y"),
            ("cookie", "", None, &json!(7), "c=7"),
        ] {
            let mut parameter = json!({});
            if !style.is_empty() {
                parameter["style"] = style.into();
            }
            if let Some(explode) = explode {
                parameter["explode"] = explode.into();
            }
            let style = Style::of(&parameter, place);
            let shown = |part: &Part| match part {
                Part::Field(name, value) => format!("{name}: {value}"),
                Part::Encoded(text) => text.clone(),
            };
            let written = match place {
                "path" => style.path("c", value),
                "query" => style.query("c", value).iter().map(shown).collect::<Vec<_>>().join(" & "),
                "header" => style.header(value),
                _ => style.cookies("c", value).join(" & "),
            };
            assert_eq!(written, expected, "{place} {parameter} {value}");
        }
    }

    #[test]
    fn reserved_characters_stay_if_they_may() {
        let style = Style::of(&json!({"allowReserved": true}), "query");
        let part = |text: &str| vec![Part::Encoded(text.to_owned())];
        assert_eq!(style.query("c", &json!("a/b?c:d&e#f+g h")), part("c=a/b?c:d%26e%23f%2Bg%20h"));
    }
}
