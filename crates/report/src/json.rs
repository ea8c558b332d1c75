//! Reading of documents, with errors that name the field and not only the line.

use std::fmt::{self, Display};

use serde::de::DeserializeOwned;

/// A field with an unexpected shape.
#[derive(Debug)]
pub struct Misshapen {
    /// Path of the field; empty for the whole document.
    field: String,
    error: serde_json::Error,
}

impl Display for Misshapen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.field {
            "" => write!(f, "{}", self.error),
            field => write!(f, "{field}: {}", self.error),
        }
    }
}

/// A value found while walking a text, or a name.
struct Value<'a> {
    /// Keys and indices on the way to it.
    path: &'a [Step],
    /// Start of its text; `to` is the end.
    from: usize,
    to: usize,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The name of a member of an object.
    Name,
    /// A number, a string, or a literal.
    Scalar,
    /// The opening bracket of an array or an object.
    Opening,
    /// The closing bracket of an array or an object.
    Closing,
}

enum Step {
    Key(String),
    Index(usize),
}

/// Reads a well-formed text.
///
/// # Errors
/// The field with an unexpected shape.
pub(crate) fn read<T: DeserializeOwned>(json: &[u8]) -> Result<T, Misshapen> {
    serde_json::from_slice(json).map_err(|error| {
        // The end of a value and of the one around it are then at different places.
        let spaced = spaced(json);
        let field = serde_json::from_slice::<T>(&spaced).err().map(|error| field_of(&error, &spaced));
        Misshapen { field: field.unwrap_or_default(), error }
    })
}

/// The same text with a blank before each comma and each closing bracket.
fn spaced(json: &[u8]) -> Vec<u8> {
    let mut spaced = Vec::with_capacity(json.len() * 2);
    let (mut is_in_string, mut is_escaped) = (false, false);
    for &byte in json {
        if !is_in_string && matches!(byte, b',' | b']' | b'}') {
            spaced.push(b' ');
        }
        spaced.push(byte);
        is_in_string ^= byte == b'"' && !is_escaped;
        is_escaped = is_in_string && byte == b'\\' && !is_escaped;
    }
    spaced
}

/// Path of the field that an error is about. It was read last before the place that the error tells.
fn field_of(error: &serde_json::Error, json: &[u8]) -> String {
    // Lines and the bytes of a line count from 1.
    let lines_before = json.split_inclusive(|&byte| byte == b'\n').take(error.line().saturating_sub(1));
    let place = lines_before.map(<[u8]>::len).sum::<usize>() + error.column();
    let message = error.to_string();
    // An object or an array where none may be is told before its bracket, anything else behind its end.
    let is_of_type = message.starts_with("invalid type");
    // What else is wrong with a value as a whole is told when the one around it ends, if that is next.
    let is_of_end = message.starts_with("missing field") || message.starts_with("invalid length");
    let (mut field, mut field_before, mut is_closed) = (String::new(), String::new(), false);
    walk(json, &mut |value| {
        let is_before =
            value.from < place || is_of_type && value.from == place && value.kind == Kind::Opening;
        if is_before {
            field_before = std::mem::replace(&mut field, shown(value.path));
            is_closed = value.to == place && value.kind == Kind::Closing;
        }
        is_before
    });
    if is_closed && !is_of_end { field_before } else { field }
}

/// First integer in the `summary` that is larger than any count can be, with its path. Times are not counts.
pub(crate) fn count_beyond(json: &[u8], most: u64) -> Option<(String, String)> {
    let mut found = None;
    walk(json, &mut |value| {
        if value.kind != Kind::Scalar || !json[value.from].is_ascii_digit() || value.to - value.from < 16 {
            return true;
        }
        let is_inside = value.path.iter().any(|step| matches!(step, Step::Key(key) if key == "summary"));
        let is_time = matches!(value.path.last(), Some(Step::Key(key)) if key.ends_with("_ns"));
        let text = String::from_utf8_lossy(&json[value.from..value.to]);
        if is_inside && !is_time && text.parse::<u128>().is_ok_and(|number| number > most.into()) {
            found = Some((shown(value.path), text.into_owned()));
        }
        found.is_none()
    });
    found
}

fn shown(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => text.extend([".", key]),
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}

/// Walks a text until `visit` returns false or the text is malformed.
fn walk(json: &[u8], visit: &mut dyn FnMut(&Value<'_>) -> bool) {
    let mut path: Vec<Step> = Vec::new();
    // True for each enclosing object, false for each enclosing array.
    let mut around: Vec<bool> = Vec::new();
    let mut key_follows = false;
    let mut at = 0;
    while let Some(&byte) = json.get(at) {
        let from = at;
        at += 1;
        let kind = match byte {
            b'{' | b'[' => {
                if !visit(&Value { path: &path, from, to: at, kind: Kind::Opening }) {
                    return;
                }
                around.push(byte == b'{');
                key_follows = byte == b'{';
                path.push(if byte == b'{' { Step::Key(String::new()) } else { Step::Index(0) });
                continue;
            }
            b'}' | b']' => {
                if around.pop().is_none() {
                    return;
                }
                path.pop();
                key_follows = false;
                Kind::Closing
            }
            b',' => {
                match path.last_mut() {
                    Some(Step::Index(index)) => *index += 1,
                    Some(Step::Key(_)) => key_follows = true,
                    None => return,
                }
                continue;
            }
            b':' | b' ' | b'\n' | b'\r' | b'\t' => continue,
            b'"' => {
                while let Some(&next) = json.get(at) {
                    at += if next == b'\\' { 2 } else { 1 };
                    if next == b'"' {
                        break;
                    }
                }
                if key_follows {
                    key_follows = false;
                    let key = json.get(from + 1..at - 1).unwrap_or_default();
                    if let Some(Step::Key(last)) = path.last_mut() {
                        *last = String::from_utf8_lossy(key).into_owned();
                    }
                    Kind::Name
                } else {
                    Kind::Scalar
                }
            }
            _ => {
                let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
                at += json[at..].iter().take_while(|byte| is_word(byte)).count();
                Kind::Scalar
            }
        };
        if !visit(&Value { path: &path, from, to: at, kind }) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is only read")]
    struct Outer {
        name: String,
        list: Vec<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "it is only read")]
    struct Inner {
        pair: (u32, u32),
        number: u8,
        #[serde(default)]
        odd: Vec<Odd>,
        #[serde(default)]
        last: Option<Odd>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(try_from = "Vec<u8>")]
    struct Odd;

    impl TryFrom<Vec<u8>> for Odd {
        type Error = &'static str;

        fn try_from(numbers: Vec<u8>) -> Result<Self, Self::Error> {
            if numbers.len() % 2 == 1 { Ok(Self) } else { Err("expected an odd number of elements") }
        }
    }

    #[track_caller]
    fn check(json: &str, expected: &str) {
        let error = read::<Outer>(json.as_bytes()).unwrap_err();
        assert_eq!(error.field, expected, "{error}");
    }

    #[test]
    fn the_field_is_named_that_is_wrong() {
        check(r#"{"name": 1, "list": []}"#, "name");
        check("{\n  \"name\": \"a \\\" , [\",\n  \"list\": 7\n}", "list");
        check(
            r#"{"name": "", "list": [{"pair": [1, 2], "number": 1}, {"pair": [1, -2], "number": 1}]}"#,
            "list[1].pair[1]",
        );
        check(r#"{"name": "", "list": [{"pair": [1, 2], "number": 256}]}"#, "list[0].number");
        check(r#"{"name": "", "list": [{"pair": [], "number": 2}]}"#, "list[0].pair");
        check(r#"{"name": "", "list": [{"pair": {}, "number": 2}]}"#, "list[0].pair");
        check(r#"{"name": "", "list": [{"pair": [1, 2]}]}"#, "list[0]");
        check(r#"{"name": ""}"#, "");
        check(r#"{"name": null, "list": []}"#, "name");
        check(r#"{"name": "", "name": ""}"#, "name");
        check(r#"[{}]"#, "[0]");
        check(r#"{"name": "", "list": [{"pair": [1,{}], "number": 2}]}"#, "list[0].pair[1]");
        check(r#"{"name": "", "list": [{"pair": [1, 2, [3]], "number": 2}]}"#, "list[0].pair[2]");
        check("7", "");
    }

    #[test]
    fn the_field_is_named_whose_value_is_wrong_as_a_whole() {
        for (inner, expected) in [
            (r#""odd": [[]], "pair": [1, 2], "number": 1"#, "list[0].odd[0]"),
            (r#""pair": [1, 2], "number": 1, "odd": [[1], []]"#, "list[0].odd[1]"),
            (r#""pair": [1, 2], "number": 1, "odd": [[1], [], [1]]"#, "list[0].odd[1]"),
            (r#""pair": [1, 2], "last": [1, 2], "number": 1"#, "list[0].last"),
            (r#""pair": [1, 2], "number": 1, "last": [1, 2]"#, "list[0].last"),
            ("\"pair\": [1, 2], \"number\": 1, \"last\": [\n1,\n2\n]\n", "list[0].last"),
        ] {
            check(&format!(r#"{{"name": "", "list": [{{{inner}}}]}}"#), expected);
            check(&format!(r#"{{"list": [{{{inner}}}], "name": ""}}"#), expected);
        }
    }

    #[test]
    fn a_count_that_none_can_be_is_found() {
        let found = |json: &str| count_beyond(json.as_bytes(), 1 << 53);
        assert_eq!(
            found(r#"{"plan": {"count": 18446744073709551615}, "summary": {"a": 9007199254740992}}"#),
            None
        );
        assert_eq!(found(r#"{"summary": {"a_ns": 18446744073709551615, "b": "99999999999999999"}}"#), None);
        let (field, number) = found(r#"{"summary": {"a": [[1, 2], [3, 9007199254740993]]}}"#).unwrap();
        assert_eq!((&*field, &*number), ("summary.a[1][1]", "9007199254740993"));
    }
}
