//! Bodies of requests, and those expected of replies.

use httperf_hurl as hurl;

use super::lower::{Lowering, encoded, text_operand};
use super::servers::append;
use crate::BodyFile;
use crate::scenario::{
    Check, Coding, Operand, Predicate, Query, StepBodyPart, StepText, Test, TextPart, Value,
};

/// A body with the type that goes with it.
pub(super) struct TypedBody {
    pub(super) parts: Vec<StepBodyPart>,
    pub(super) content_type: Option<String>,
}

impl TypedBody {
    fn text(text: StepText, content_type: Option<&str>) -> Self {
        Self { parts: vec![StepBodyPart::Text(text)], content_type: content_type.map(str::to_owned) }
    }
}

impl Lowering<'_, '_> {
    /// Returns the body of a request: its body, form or form with files.
    pub(super) fn request_body(&mut self, request: &hurl::Request) -> Option<TypedBody> {
        let kinds = [!request.form.is_empty(), !request.multipart.is_empty(), request.body.is_some()];
        if kinds.iter().filter(|&&is_there| is_there).count() > 1 {
            let message = "expected one body, got several of [Form], [Multipart] and a body of its own";
            self.problem(&request.span, message, None);
            return None;
        }
        if !request.form.is_empty() {
            return Some(self.form(&request.form));
        }
        if !request.multipart.is_empty() {
            return self.multipart(&request.multipart);
        }
        let body = request.body.as_ref()?;
        Some(match &body.kind {
            hurl::BodyKind::Json(pieces) => TypedBody::text(self.json(pieces), Some("application/json")),
            hurl::BodyKind::Xml(text) => {
                TypedBody::text(StepText::literal(text.as_bytes()), Some("application/xml"))
            }
            hurl::BodyKind::Text { text, language } => {
                let content_type = match language {
                    Some(hurl::Language::Json) => Some("application/json"),
                    Some(hurl::Language::Xml) => Some("application/xml"),
                    Some(hurl::Language::Raw) | None => None,
                };
                TypedBody::text(self.text(text), content_type)
            }
            hurl::BodyKind::Bytes(bytes) => TypedBody::text(StepText::literal(bytes), None),
            hurl::BodyKind::File(path) => {
                TypedBody { parts: vec![StepBodyPart::File(self.file(path)?)], content_type: None }
            }
        })
    }

    /// Returns the check that a reply has this body.
    pub(super) fn body_check(&mut self, body: &hurl::Body) -> Option<Check> {
        let (query, operand) = match &body.kind {
            hurl::BodyKind::Json(pieces) => (Query::Body, text_operand(self.json(pieces))),
            hurl::BodyKind::Xml(text) => (Query::Body, text_operand(StepText::literal(text.as_bytes()))),
            hurl::BodyKind::Text { text, .. } => (Query::Body, text_operand(self.text(text))),
            hurl::BodyKind::Bytes(bytes) => (Query::Bytes, Operand::Value(Value::Bytes(bytes.clone()))),
            // The digest says the same, and the plan need not hold the file.
            hurl::BodyKind::File(path) => {
                let digest = self.file(path)?.sha256;
                (Query::Sha256, Operand::Value(Value::Bytes(digest.0.to_vec())))
            }
        };
        let predicate = Predicate { not: false, test: Test::Equals(operand) };
        Some(Check {
            query,
            filters: Vec::new(),
            predicate,
            label: format!("body {}", self.written(&body.span)),
        })
    }

    fn json(&mut self, pieces: &[hurl::JsonPiece]) -> StepText {
        let mut text = StepText::default();
        for piece in pieces {
            match piece {
                hurl::JsonPiece::Source(source) => text.push_literal(source.as_bytes()),
                hurl::JsonPiece::Value(expression) => {
                    if let Some(part) = self.expression(expression) {
                        text.push(part);
                    }
                }
                hurl::JsonPiece::InString(expression) => {
                    if let Some(part) = self.expression(expression) {
                        append(&mut text, encoded(Coding::Json, StepText { parts: vec![part] }));
                    }
                }
            }
        }
        text
    }

    fn form(&mut self, fields: &[hurl::KeyValue]) -> TypedBody {
        let mut text = StepText::default();
        for (index, field) in fields.iter().enumerate() {
            text.push_literal(if index == 0 { b"" } else { b"&" });
            append(&mut text, self.encoded(Coding::Form, &field.key));
            text.push_literal(b"=");
            append(&mut text, self.encoded(Coding::Form, &field.value));
        }
        TypedBody::text(text, Some("application/x-www-form-urlencoded"))
    }

    fn multipart(&mut self, parts: &[hurl::Part]) -> Option<TypedBody> {
        let parts: Vec<(StepText, StepBodyPart)> = parts.iter().filter_map(|part| self.part(part)).collect();
        let boundary = boundary(&parts);
        let mut body = Vec::new();
        for (index, (head, content)) in parts.into_iter().enumerate() {
            let mut start = StepText::literal(if index == 0 { b"--" } else { b"\r\n--" });
            start.push_literal(boundary.as_bytes());
            start.push_literal(b"\r\n");
            append(&mut start, head);
            body.extend([StepBodyPart::Text(start), content]);
        }
        body.push(StepBodyPart::Text(StepText::literal(format!("\r\n--{boundary}--\r\n").as_bytes())));
        let content_type = format!("multipart/form-data; boundary={boundary}");
        Some(TypedBody { parts: body, content_type: Some(content_type) })
    }

    /// Returns the head and the content of a part; `None` after a problem with it.
    fn part(&mut self, part: &hurl::Part) -> Option<(StepText, StepBodyPart)> {
        let mut head = StepText::literal(b"Content-Disposition: form-data; name=\"");
        append(&mut head, quoted(self.text(&part.name)));
        match &part.value {
            hurl::PartValue::Text(text) => {
                head.push_literal(b"\"\r\n\r\n");
                Some((head, StepBodyPart::Text(self.text(text))))
            }
            hurl::PartValue::File { path, content_type } => {
                let file = self.file(path)?;
                head.push_literal(b"\"; filename=\"");
                append(&mut head, quoted(StepText::literal(file_name(&file).as_bytes())));
                head.push_literal(b"\"\r\nContent-Type: ");
                match content_type {
                    Some(content_type) => append(&mut head, self.text(content_type)),
                    None => head.push_literal(type_of(&file).as_bytes()),
                }
                head.push_literal(b"\r\n\r\n");
                Some((head, StepBodyPart::File(file)))
            }
        }
    }
}

/// Returns a text for between quotes in the head of a part: literal quotes and line ends are percent-encoded.
fn quoted(text: StepText) -> StepText {
    let mut whole = StepText::default();
    for part in text.parts {
        let TextPart::Literal(bytes) = part else {
            whole.push(part);
            continue;
        };
        for byte in bytes {
            match byte {
                b'"' => whole.push_literal(b"%22"),
                b'\r' => whole.push_literal(b"%0D"),
                b'\n' => whole.push_literal(b"%0A"),
                other => whole.push_literal(&[other]),
            }
        }
    }
    whole
}

/// Returns the boundary between the parts: the first of its kind that none of them contains. It is no random one, so
/// that the same file sends the same bytes.
fn boundary(parts: &[(StepText, StepBodyPart)]) -> String {
    let occurs = |boundary: &str| {
        let is_in = |bytes: &[u8]| bytes.windows(boundary.len()).any(|window| window == boundary.as_bytes());
        let is_in_text = |text: &StepText| {
            text.parts.iter().any(|part| matches!(part, TextPart::Literal(bytes) if is_in(bytes)))
        };
        parts.iter().any(|(head, content)| {
            is_in_text(head)
                || match content {
                    StepBodyPart::Text(text) => is_in_text(text),
                    StepBodyPart::File(file) => is_in(&file.contents),
                }
        })
    };
    let mut candidates = (0..).map(|number: u64| format!("httperf-form-{number:016x}"));
    candidates.find(|candidate| !occurs(candidate)).expect("a form has fewer bytes than there are candidates")
}

fn file_name(file: &BodyFile) -> String {
    file.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the type of a file, which follows from its name.
fn type_of(file: &BodyFile) -> &'static str {
    let extension = file.path.extension().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    match &extension[..] {
        "gif" => "image/gif",
        "jpg" | "jpeg" => "image/jpeg",
        "png" => "image/png",
        "svg" => "image/svg+xml",
        "txt" => "text/plain",
        "htm" | "html" => "text/html",
        "json" => "application/json",
        "pdf" => "application/pdf",
        "xml" => "application/xml",
        _ => "application/octet-stream",
    }
}
