//! The forms in parts of `-F`: their fields, and their bytes.

use crate::words::Expected;

/// A field of a form in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The content.
    pub value: Value,
    /// The content type, if one is given.
    pub kind: Option<String>,
    /// The name that is sent as that of the file.
    pub file_name: Option<String>,
}

/// The content of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Bytes.
    Bytes(Vec<u8>),
    /// Those of a file, which is sent as one.
    File(String),
    /// Those of a file, which is sent as if they had been typed.
    Contents(String),
}

/// A field with what cannot be carried over.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) fields: Vec<Field>,
    /// Details such as `headers="X: y"`.
    pub(super) lost: Vec<String>,
}

/// Reads the value of `-F`: `NAME=VALUE`, `NAME=@FILE`, `NAME=<FILE`, with `;type=` and `;filename=` behind it. What is
/// in double quotes may have semicolons in it.
pub(super) fn parse(text: &[u8]) -> Result<Parsed, Expected> {
    const EXPECTED: Expected = Expected("NAME=VALUE, NAME=@FILE or NAME=<FILE");
    let at = memchr::memchr(b'=', text).filter(|at| *at > 0).ok_or(EXPECTED)?;
    let (name, value) = (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default());
    let name = std::str::from_utf8(name).map_err(|_| EXPECTED)?.to_owned();
    let mut parsed = Parsed { fields: Vec::new(), lost: Vec::new() };
    let (mark, mut rest) = match value.split_first() {
        Some((mark @ (b'@' | b'<'), rest)) => (Some(*mark), rest),
        _ => (None, value),
    };
    loop {
        let is_file = mark == Some(b'@');
        let (content, behind) = word(rest, if is_file { b",;" } else { b";" });
        let mut field =
            Field { name: name.clone(), value: Value::Bytes(content.clone()), kind: None, file_name: None };
        if mark.is_some() {
            let path = String::from_utf8(content).map_err(|_| EXPECTED)?;
            if matches!(&path[..], "" | "-") {
                return Err(Expected("NAME=VALUE or the name of a file, as standard input is not read"));
            }
            field.value = if is_file { Value::File(path) } else { Value::Contents(path) };
        }
        rest = details(behind, &mut field, &mut parsed.lost);
        parsed.fields.push(field);
        match rest.split_first() {
            Some((b',', next)) if is_file => rest = next,
            _ => return Ok(parsed),
        }
    }
}

/// Reads the details behind a value, up to a comma.
fn details<'a>(mut rest: &'a [u8], field: &mut Field, lost: &mut Vec<String>) -> &'a [u8] {
    while let Some((b';', behind)) = rest.split_first() {
        let behind = behind.trim_ascii_start();
        let value = |length: usize| behind.get(length..).unwrap_or_default();
        if behind.starts_with(b"type=") {
            let (kind, next) = kind(value(5));
            field.kind = Some(kind).filter(|kind| !kind.is_empty());
            rest = next;
        } else if behind.starts_with(b"filename=") {
            let (name, next) = word(value(9), b",;");
            field.file_name = Some(String::from_utf8_lossy(&name).into_owned());
            rest = next;
        } else {
            let name = behind.iter().take_while(|byte| byte.is_ascii_lowercase()).count();
            let start = if behind.get(name) == Some(&b'=') { name + 1 } else { 0 };
            let (text, next) = word(value(start), b",;");
            let detail = [behind.get(..start).unwrap_or_default(), &text].concat();
            if !detail.is_empty() {
                lost.push(String::from_utf8_lossy(&detail).into_owned());
            }
            rest = next;
        }
    }
    rest
}

/// A type with its parameters: those that are no details of curl belong to it.
fn kind(text: &[u8]) -> (String, &[u8]) {
    const DETAILS: [&[u8]; 4] = [b"type=", b"filename=", b"headers=", b"encoder="];
    let mut end = 0;
    loop {
        let rest = text.get(end..).unwrap_or_default();
        let length = rest.iter().position(|byte| matches!(byte, b';' | b',')).unwrap_or(rest.len());
        end += length;
        let behind = text.get(end..).unwrap_or_default();
        let next = behind.get(1..).unwrap_or_default().trim_ascii_start();
        let is_parameter = behind.starts_with(b";")
            && memchr::memchr(b'=', next).is_some()
            && !DETAILS.iter().any(|detail| next.starts_with(detail));
        if !is_parameter {
            let kind = text.get(..end).unwrap_or_default();
            return (String::from_utf8_lossy(kind).trim().to_owned(), behind);
        }
        end += 1;
    }
}

/// A word up to one of these bytes, or in double quotes, and what stands behind it.
fn word<'a>(text: &'a [u8], ends: &[u8]) -> (Vec<u8>, &'a [u8]) {
    let start = text.trim_ascii_start();
    if let Some((b'"', inside)) = start.split_first() {
        let mut content = Vec::new();
        let mut bytes = inside.iter().copied().enumerate();
        while let Some((at, byte)) = bytes.next() {
            match byte {
                b'"' => {
                    // What stands between the quote and the end is no part of the word.
                    let behind = inside.get(at + 1..).unwrap_or_default();
                    let end = behind.iter().position(|byte| ends.contains(byte)).unwrap_or(behind.len());
                    return (content, behind.get(end..).unwrap_or_default());
                }
                b'\\' if matches!(inside.get(at + 1), Some(b'"' | b'\\')) => {
                    content.extend(bytes.next().map(|(_, byte)| byte));
                }
                byte => content.push(byte),
            }
        }
        // Without a second quote, the first is a part of the word.
    }
    let end = text.iter().position(|byte| ends.contains(byte)).unwrap_or(text.len());
    (text.get(..end).unwrap_or_default().to_vec(), text.get(end..).unwrap_or_default())
}

/// The bytes of a form whose fields are all [`Value::Bytes`], and the boundary between them. `None` if one is not.
pub fn encode(fields: &[Field]) -> Option<(String, Vec<u8>)> {
    let contents: Option<Vec<&Vec<u8>>> = fields
        .iter()
        .map(|field| match &field.value {
            Value::Bytes(bytes) => Some(bytes),
            Value::File(_) | Value::Contents(_) => None,
        })
        .collect();
    let contents = contents?;
    let occurs = |boundary: &str| {
        contents.iter().any(|content| memchr::memmem::find(content, boundary.as_bytes()).is_some())
    };
    let boundary =
        (0u64..).map(|number| format!("httperf-form-{number:016x}")).find(|tried| !occurs(tried))?;
    let quoted = |text: &str| text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A");
    let mut body = Vec::new();
    for (field, content) in fields.iter().zip(contents) {
        let file_name = field
            .file_name
            .as_ref()
            .map_or_else(String::new, |name| format!("; filename=\"{}\"", quoted(name)));
        let kind = field.kind.as_ref().map_or_else(String::new, |kind| format!("Content-Type: {kind}\r\n"));
        let name = quoted(&field.name);
        body.extend_from_slice(
            format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"{file_name}\r\n{kind}\r\n"
            )
            .as_bytes(),
        );
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n");
    }
    body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    Some((boundary, body))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Fields in a few words: content, type and name of the file.
    fn fields(text: &str) -> Vec<String> {
        let parsed = parse(text.as_bytes()).unwrap();
        let shown = |field: &Field| {
            let value = match &field.value {
                Value::Bytes(bytes) => String::from_utf8(bytes.clone()).unwrap(),
                Value::File(path) => format!("@{path}"),
                Value::Contents(path) => format!("<{path}"),
            };
            let kind = field.kind.as_ref().map(|kind| format!(" type {kind}"));
            let name = field.file_name.as_ref().map(|name| format!(" name {name}"));
            [value, kind.unwrap_or_default(), name.unwrap_or_default()].concat()
        };
        parsed.fields.iter().map(shown).chain(parsed.lost.iter().map(|lost| format!("lost {lost}"))).collect()
    }

    #[test]
    fn fields_are_read_as_curl_reads_them() {
        for (text, expected) in [
            ("a=b", &["b"][..]),
            ("a=", &[""]),
            ("a=b=c", &["b=c"]),
            (r#"a="Ann; Doe""#, &["Ann; Doe"]),
            (r#"a="b;c";type=text/x"#, &["b;c type text/x"]),
            (r#"a="x\"y\\z""#, &[r#"x"y\z"#]),
            (r#"a="x"y"#, &["x"]),
            (r#"a= "x""#, &["x"]),
            (r#"a="x"#, &["\"x"]),
            ("a=x;y", &["x", "lost y"]),
            ("a=x;filename=q", &["x name q"]),
            ("a=x;type=a/b;charset=c", &["x type a/b;charset=c"]),
            ("a=x;type=a/b; charset=c;filename=f", &["x type a/b; charset=c name f"]),
            ("a=@f.txt;", &["@f.txt"]),
            ("a=@f.txt;type=x/y;filename=z", &["@f.txt type x/y name z"]),
            (r#"a=@"my;file,1""#, &["@my;file,1"]),
            ("a=@f,g;type=x/y", &["@f", "@g type x/y"]),
            ("a=<f.txt;type=x/y", &["<f.txt type x/y"]),
            (r#"a=b;headers="X: 1, 2""#, &["b", "lost headers=X: 1, 2"]),
            ("a=@f;encoder=base64", &["@f", "lost encoder=base64"]),
        ] {
            assert_eq!(fields(text), expected, "{text}");
        }
        for text in ["=x", "x", "a=@", "a=@-", "a=<-", ""] {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_form_is_written_as_curl_writes_it() {
        let mut fields = parse(b"n\"m=\"b;c\";type=text/x").unwrap().fields;
        fields.extend(parse(b"a=httperf-form-0000000000000000;filename=z").unwrap().fields);
        let (boundary, body) = encode(&fields).unwrap();
        assert_eq!(boundary, "httperf-form-0000000000000001");
        let expected = "--B\r\nContent-Disposition: form-data; name=\"n%22m\"\r\nContent-Type: text/x\r\n\r\nb;c\r\n--B\r\n\
                        Content-Disposition: form-data; name=\"a\"; \
                        filename=\"z\"\r\n\r\nhttperf-form-0000000000000000\r\n--B--\r\n";
        assert_eq!(String::from_utf8(body).unwrap(), expected.replace("--B", &format!("--{boundary}")));
        assert_eq!(encode(&parse(b"a=@f").unwrap().fields), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(text in "[a=@<;,\"\\\\ type=filename]{0,30}") {
            let _ = parse(text.as_bytes());
        }
    }
}
