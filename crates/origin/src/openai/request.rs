//! A request for a completion: the fields that matter here, of the types that OpenAI's server takes.

use serde_json::{Map, Value};

use super::refusal::Refusal;

/// A request for a completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) model: String,
    pub(super) is_streamed: bool,
    /// True if a stream ends with its usage.
    pub(super) has_usage: bool,
    /// Words of the prompt; for a prompt of tokens, their number.
    pub(super) prompt_tokens: u64,
    tokens_max: Option<u32>,
    ignores_eos: bool,
}

impl Request {
    /// Reads a body. No completion has more than `tokens_max` tokens.
    pub(super) fn read(kind: Kind, body: &[u8], tokens_max: u32) -> Result<Self, Refusal> {
        let fields = match serde_json::from_slice(body).map_err(|error| Refusal::not_json(&error))? {
            Value::Object(fields) => Fields(fields),
            _ => return Err(Refusal::not_an_object()),
        };
        if fields.number("n")?.is_some_and(|choices| choices != 1) {
            return Err(Refusal::param("n", "Only 1 choice is supported by this server."));
        }
        Ok(Self {
            model: fields.string("model")?.unwrap_or(MODEL).to_owned(),
            is_streamed: fields.flag("stream")?,
            has_usage: fields.asks_for_usage()?,
            prompt_tokens: match kind {
                Kind::Chat => fields.message_words()?,
                Kind::Text => fields.prompt_words()?,
            },
            tokens_max: fields.length(kind, tokens_max)?,
            ignores_eos: fields.flag("ignore_eos")?,
        })
    }

    /// Returns the number of tokens and the reason of the end, for a model that stops by itself after `natural` tokens.
    pub(super) fn length(&self, natural: u32) -> (u32, FinishReason) {
        match self.tokens_max {
            Some(most) if most <= natural || self.ignores_eos => (most, FinishReason::Length),
            _ => (natural, FinishReason::Stop),
        }
    }
}

/// The form of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Text,
}

/// The reason of a completion's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FinishReason {
    /// The model had nothing more to say.
    Stop,
    /// The request allowed no more.
    Length,
}

impl FinishReason {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::Length => "length",
        }
    }
}

/// The name of the model, for requests that name none.
const MODEL: &str = "httperf";

/// The fields of a body. Those that are null count as missing.
struct Fields(Map<String, Value>);

impl Fields {
    fn field(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// Reads a field with `read`, which returns `None` for a value of another type.
    fn typed<'a, T>(
        &'a self,
        name: &'static str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, Refusal> {
        let Some(value) = self.field(name) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| wrong_type(name, expected))
    }

    fn flag(&self, name: &'static str) -> Result<bool, Refusal> {
        self.typed(name, "a boolean", Value::as_bool).map(Option::unwrap_or_default)
    }

    fn string(&self, name: &'static str) -> Result<Option<&str>, Refusal> {
        self.typed(name, "a string", Value::as_str)
    }

    fn number(&self, name: &'static str) -> Result<Option<u64>, Refusal> {
        self.typed(name, "an integer of 0 or more", Value::as_u64)
    }

    fn asks_for_usage(&self) -> Result<bool, Refusal> {
        let Some(options) = self.typed("stream_options", "an object", Value::as_object)? else {
            return Ok(false);
        };
        match options.get("include_usage") {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(wanted)) => Ok(*wanted),
            Some(_) => Err(wrong_type("stream_options.include_usage", "a boolean")),
        }
    }

    /// Reads the largest number of tokens; the newer name of chats counts more.
    fn length(&self, kind: Kind, tokens_max: u32) -> Result<Option<u32>, Refusal> {
        let names: &[&'static str] = match kind {
            Kind::Chat => &["max_completion_tokens", "max_tokens"],
            Kind::Text => &["max_tokens"],
        };
        for &name in names {
            let Some(given) = self.number(name)? else { continue };
            let length = u32::try_from(given).ok().filter(|length| (1..=tokens_max).contains(length));
            return length.map(Some).ok_or_else(|| {
                Refusal::param(name, format!("Expected 1 to {tokens_max} tokens, got {given}."))
            });
        }
        Ok(None)
    }

    fn message_words(&self) -> Result<u64, Refusal> {
        const NAME: &str = "messages";
        let messages = self.typed(NAME, "an array of messages", Value::as_array)?;
        let Some(messages) = messages else { return Err(missing(NAME)) };
        if messages.is_empty() {
            return Err(Refusal::param(NAME, "Expected at least one message."));
        }
        let mut words = 0;
        for message in messages {
            let role = message.get("role").and_then(Value::as_str);
            if role.is_none() {
                return Err(wrong_type(NAME, "messages with a `role`"));
            }
            words += content_words(message.get("content").unwrap_or(&Value::Null))
                .ok_or_else(|| wrong_type(NAME, "`content` that is a string or an array of parts"))?;
        }
        Ok(words)
    }

    fn prompt_words(&self) -> Result<u64, Refusal> {
        const NAME: &str = "prompt";
        self.typed(NAME, "a string, or an array of strings or tokens", prompt_words)?
            .ok_or_else(|| missing(NAME))
    }
}

fn missing(name: &'static str) -> Refusal {
    Refusal::param(name, format!("Missing required parameter: '{name}'."))
}

fn wrong_type(name: &'static str, expected: &str) -> Refusal {
    Refusal::param(name, format!("Invalid type for '{name}': expected {expected}."))
}

/// Counts the words of a message's content. Parts that are not text have none.
fn content_words(content: &Value) -> Option<u64> {
    match content {
        Value::Null => Some(0),
        Value::String(text) => Some(words(text)),
        Value::Array(parts) => parts
            .iter()
            .map(|part| Some(part.as_object()?.get("text").and_then(Value::as_str).map_or(0, words)))
            .sum(),
        _ => None,
    }
}

/// Counts the words of a prompt: a text, several texts, or tokens, each of which counts as a word.
fn prompt_words(prompt: &Value) -> Option<u64> {
    match prompt {
        Value::String(text) => Some(words(text)),
        Value::Array(parts) if !parts.is_empty() => parts
            .iter()
            .map(|part| match part {
                Value::Number(_) => Some(1),
                Value::String(text) => Some(words(text)),
                Value::Array(tokens) => tokens.iter().all(Value::is_number).then_some(tokens.len() as u64),
                _ => None,
            })
            .sum(),
        _ => None,
    }
}

fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: Kind, body: &str) -> Result<Request, String> {
        Request::read(kind, body.as_bytes(), 1000).map_err(|refusal| refusal.document())
    }

    fn chat(more: &str) -> Request {
        let body = format!(r#"{{"messages":[{{"role":"user","content":"one  two\nthree"}}]{more}}}"#);
        read(Kind::Chat, &body).unwrap()
    }

    #[test]
    fn a_request_that_says_little_gets_the_defaults() {
        let request = chat("");
        assert_eq!(request.model, "httperf");
        assert_eq!(request.prompt_tokens, 3);
        assert!(!request.is_streamed && !request.has_usage);
        assert_eq!(request, chat(r#","model":null,"stream":null,"stream_options":null,"max_tokens":null"#));
        assert_eq!(request, chat(r#","temperature":0.5,"unheard_of":[{}]"#));
    }

    #[test]
    fn fields_find_their_place() {
        let request =
            chat(r#","model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":5"#);
        assert_eq!((request.model.as_str(), request.is_streamed, request.has_usage), ("m", true, true));
        assert_eq!(request.tokens_max, Some(5));
        assert_eq!(chat(r#","max_tokens":5,"max_completion_tokens":6"#).tokens_max, Some(6));
    }

    #[test]
    fn the_model_stops_by_itself_unless_told_not_to() {
        for (more, expected) in [
            ("", (16, FinishReason::Stop)),
            (r#","max_tokens":15"#, (15, FinishReason::Length)),
            (r#","max_tokens":16"#, (16, FinishReason::Length)),
            (r#","max_tokens":17"#, (16, FinishReason::Stop)),
            (r#","max_tokens":17,"ignore_eos":true"#, (17, FinishReason::Length)),
            (r#","ignore_eos":true"#, (16, FinishReason::Stop)),
        ] {
            assert_eq!(chat(more).length(16), expected, "{more}");
        }
    }

    #[test]
    fn prompts_are_counted_by_words_or_tokens() {
        for (prompt, count) in
            [(r#""""#, 0), (r#"" a b ""#, 2), (r#"["a b","c"]"#, 3), ("[1,2,3,4]", 4), ("[[1,2],[3]]", 3)]
        {
            let request = read(Kind::Text, &format!(r#"{{"prompt":{prompt}}}"#)).unwrap();
            assert_eq!(request.prompt_tokens, count, "{prompt}");
        }
        let parts = r#"{"messages":[{"role":"system","content":[{"type":"text","text":"a b"},{"type":"image_url"}]},
            {"role":"assistant","content":null},{"role":"user","content":"c"}]}"#;
        assert_eq!(read(Kind::Chat, parts).unwrap().prompt_tokens, 3);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_field() {
        let message = r#""messages":[{"role":"user","content":"x"}]"#;
        for (kind, body, param) in [
            (Kind::Chat, "{}".to_owned(), r#""messages""#),
            (Kind::Text, "{}".to_owned(), r#""prompt""#),
            (Kind::Chat, r#"{"prompt":"x"}"#.to_owned(), r#""messages""#),
            (Kind::Chat, r#"{"messages":"x"}"#.to_owned(), r#""messages""#),
            (Kind::Chat, r#"{"messages":[]}"#.to_owned(), r#""messages""#),
            (Kind::Chat, r#"{"messages":["x"]}"#.to_owned(), r#""messages""#),
            (Kind::Chat, r#"{"messages":[{"content":"x"}]}"#.to_owned(), r#""messages""#),
            (Kind::Chat, r#"{"messages":[{"role":"user","content":1}]}"#.to_owned(), r#""messages""#),
            (Kind::Text, r#"{"prompt":[]}"#.to_owned(), r#""prompt""#),
            (Kind::Text, r#"{"prompt":{"a":1}}"#.to_owned(), r#""prompt""#),
            (Kind::Chat, format!(r#"{{{message},"model":1}}"#), r#""model""#),
            (Kind::Chat, format!(r#"{{{message},"stream":"yes"}}"#), r#""stream""#),
            (Kind::Chat, format!(r#"{{{message},"max_tokens":0}}"#), r#""max_tokens""#),
            (Kind::Chat, format!(r#"{{{message},"max_tokens":1001}}"#), r#""max_tokens""#),
            (Kind::Chat, format!(r#"{{{message},"max_tokens":1.5}}"#), r#""max_tokens""#),
            (Kind::Chat, format!(r#"{{{message},"max_tokens":-1}}"#), r#""max_tokens""#),
            (Kind::Chat, format!(r#"{{{message},"n":2}}"#), r#""n""#),
            (Kind::Chat, format!(r#"{{{message},"ignore_eos":1}}"#), r#""ignore_eos""#),
            (Kind::Chat, format!(r#"{{{message},"stream_options":1}}"#), r#""stream_options""#),
            (
                Kind::Chat,
                format!(r#"{{{message},"stream_options":{{"include_usage":1}}}}"#),
                r#""stream_options.include_usage""#,
            ),
            (Kind::Chat, "[]".to_owned(), "null"),
            (Kind::Chat, String::new(), "null"),
            (Kind::Chat, "{".to_owned(), "null"),
        ] {
            let document = read(kind, &body).unwrap_err();
            assert!(document.contains(&format!(r#""param":{param}"#)), "{body}: {document}");
            assert!(document.contains(r#""type":"invalid_request_error""#), "{body}: {document}");
        }
    }
}
