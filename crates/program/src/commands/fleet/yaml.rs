//! YAML for readers of any version: `yes` and `1_000` are texts in YAML 1.2, but not in YAML 1.1, and kubectl still goes by
//! parts of that. A text that is not plainly a word is in quotes.

use serde_json::Value;

/// Words that are no texts to some reader, in any case.
const NO_TEXTS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];

/// A document, with `apiVersion` and `kind` first.
pub(super) fn document(object: &Value) -> String {
    let mut text = String::new();
    let Value::Object(fields) = object else { unreachable!("an object of Kubernetes has fields") };
    let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
    fields.sort_by_key(|(key, _)| (*key != "apiVersion", *key != "kind"));
    write_fields(&mut text, fields, 0);
    text
}

fn write_fields<'a>(
    text: &mut String,
    fields: impl IntoIterator<Item = (&'a String, &'a Value)>,
    depth: usize,
) {
    for (index, (key, value)) in fields.into_iter().enumerate() {
        // The first stands behind what is there already: nothing, or the dash of an item.
        if index > 0 {
            indent(text, depth);
        }
        text.push_str(&scalar(key));
        text.push(':');
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                text.push('\n');
                indent(text, depth + 1);
                write_fields(text, fields, depth + 1);
            }
            Value::Array(items) if !items.is_empty() => {
                text.push('\n');
                write_items(text, items, depth);
            }
            other => {
                text.push(' ');
                write_leaf(text, other);
            }
        }
    }
}

fn write_items(text: &mut String, items: &[Value], depth: usize) {
    for item in items {
        indent(text, depth);
        text.push_str("- ");
        match item {
            Value::Object(fields) if !fields.is_empty() => write_fields(text, fields, depth + 1),
            other => write_leaf(text, other),
        }
    }
}

/// A value of one line. Collections within collections without a name do not occur, and would be in the form of JSON.
fn write_leaf(text: &mut String, value: &Value) {
    match value {
        Value::String(word) => text.push_str(&scalar(word)),
        other => text.push_str(&other.to_string()),
    }
    text.push('\n');
}

fn indent(text: &mut String, depth: usize) {
    text.extend(std::iter::repeat_n("  ", depth));
}

/// A text, in quotes unless every reader takes it for one.
fn scalar(text: &str) -> String {
    let is_fit = |letter: char| letter.is_ascii_alphanumeric() || "./-_".contains(letter);
    // Options are words too; a number begins with a digit, a sign and a digit, or a point.
    let is_word =
        text.trim_start_matches('-').starts_with(|first: char| first.is_ascii_alphabetic() || first == '/')
            && text.chars().all(is_fit)
            && !NO_TEXTS.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_word {
        return text.to_owned();
    }
    let mut quoted = "\"".to_owned();
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            // Line ends of Unicode, and what YAML does not print.
            '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            control if control.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_could_be_no_text_is_in_quotes() {
        for text in
            ["Job", "batch/v1", "registry.example/httperf", "--rate", "-n", "HTTPERF_FLEET_SIZE", "yesterday"]
        {
            assert_eq!(scalar(text), text);
        }
        for text in [
            "", "yes", "Off", "N", "null", "~", "1Gi", "0x1F", "1_000", ".inf", "a: b", "-", "-1", "---",
            "=", "<<", "é", "a b",
        ] {
            assert!(scalar(text).starts_with('"'), "{text}");
        }
        assert_eq!(scalar("a\"b\\c\nd\te\u{7f}\u{2028}"), r#""a\"b\\c\nd\te\u007f\u2028""#);
    }

    #[test]
    fn documents_are_read_back() {
        let object = json!({
            "kind": "Job",
            "apiVersion": "batch/v1",
            "a": {"b": [{"c": 1, "d": [true, "on"], "e": {"f": "g"}}, {"h": {}}], "i": []},
            "yes": "two\nlines\n",
            "z": -1,
        });
        let text = document(&object);
        let expected = "apiVersion: batch/v1\nkind: Job\na:\n  b:\n  - c: 1\n    d:\n    - true\n    - \"on\"\n    e:\n      \
                        f: g\n  - h: {}\n  i: []\n\"yes\": \"two\\nlines\\n\"\nz: -1\n";
        assert_eq!(text, expected);
        assert_eq!(yaml_serde::from_str::<Value>(&text).expect("it is YAML"), object);
    }
}
