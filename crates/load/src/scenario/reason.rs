//! The reasons why looks failed: what was there instead, for people.

use std::time::SystemTime;

use httperf_plan::scenario::{Filter, Value};

use super::json::json_of;
use super::look::{Failed, Look, Reply};
use super::query::Seen;
use super::scratch::Scratch;
use super::secrets::Secrets;
use super::text::Filling;
use super::value::View;
use crate::draws::Draws;

/// The greatest number of characters of a value that are shown.
const SHOWN_MAX: usize = 60;

impl Look<'_> {
    /// Returns what a reply has in place of what a failed look expected, such as ``got integer 7``. The values of the
    /// variables are those by which it was judged.
    #[must_use]
    pub fn explain(
        &self,
        failed: Failed,
        reply: &Reply<'_>,
        values: &[Option<Value>],
        draws: &Draws,
        now: &mut dyn FnMut() -> SystemTime,
        secrets: &Secrets,
    ) -> String {
        let mut draws = draws.clone();
        let mut scratch = Scratch::default();
        let mut spans = Vec::new();
        let found = reply.body.ok().and_then(|body| self.tree().find(body, &mut spans));
        let seen = Seen::new(Some(reply), found.map(|()| &spans[..]));
        let mut filling = Filling { values, draws: &mut draws, now };
        let (place, predicate) = match failed {
            Failed::Capture(index) => (self.capture_place(index), None),
            Failed::Check(index) => self.check_parts(index).unzip(),
        };
        let Some(place) = place else { return String::new() };
        let got = place.in_words(&seen, &mut filling, &mut scratch, secrets);
        match predicate.and_then(|predicate| predicate.operand_in_words(&mut filling, &mut scratch, secrets))
        {
            Some(expected) => format!("{got}, expected {expected}"),
            None => got,
        }
    }
}

/// Returns a value in words, without secrets, cut if it is long.
pub(super) fn in_words(value: View<'_>, secrets: &Secrets) -> String {
    match value {
        View::Null => "null".to_owned(),
        View::Boolean(truth) => truth.to_string(),
        View::Integer(number) => format!("integer {}", shown(&number.to_string(), secrets)),
        View::BigInteger(digits) => format!("integer {}", shown(digits, secrets)),
        View::Float(number) => format!("number {}", shown(&format!("{number:?}"), secrets)),
        View::Text(text) => format!("text {:?}", shown(text, secrets)),
        View::Bytes(bytes) => {
            let digits = bytes.iter().map(|byte| format!("{byte:02x}")).take(SHOWN_MAX / 2);
            format!("{} bytes, hex {}", bytes.len(), digits.collect::<String>())
        }
        View::List(list) => {
            let json = list.iter().map(json_of).collect::<Option<Vec<_>>>();
            let text = json.map_or_else(String::new, |json| serde_json::Value::from(json).to_string());
            format!("list of {} {}", list.len(), shown(&text, secrets))
        }
        View::Object(members) => {
            let json = json_of(&Value::Object(members.to_vec()));
            let text = json.map_or_else(String::new, |json| json.to_string());
            format!("object {}", shown(&text, secrets))
        }
    }
}

fn shown(text: &str, secrets: &Secrets) -> String {
    let text = secrets.redact(text);
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.into_owned(),
    }
}

/// Returns a filter as files write it, without its arguments.
pub(super) fn name(filter: &Filter) -> &'static str {
    match filter {
        Filter::Count => "count",
        Filter::First => "first",
        Filter::Last => "last",
        Filter::Nth(_) => "nth",
        Filter::Regex(_) => "regex",
        Filter::Replace { .. } => "replace",
        Filter::ReplaceRegex { .. } => "replaceRegex",
        Filter::Split(_) => "split",
        Filter::ToInt => "toInt",
        Filter::ToFloat => "toFloat",
        Filter::ToText => "toString",
        Filter::UrlEncode => "urlEncode",
        Filter::UrlDecode => "urlDecode",
        Filter::HtmlEscape => "htmlEscape",
        Filter::HtmlUnescape => "htmlUnescape",
        Filter::Base64Encode => "base64Encode",
        Filter::Base64Decode => "base64Decode",
        Filter::Base64UrlSafeEncode => "base64UrlSafeEncode",
        Filter::Base64UrlSafeDecode => "base64UrlSafeDecode",
        Filter::Location => "location",
        Filter::JsonPath(_) => "jsonpath",
        Filter::XPath(_) => "xpath",
    }
}
