//! Replies of language models in the form of OpenAI's API: chat completions and completions, streamed or whole.
//!
//! <https://platform.openai.com/docs/api-reference/chat-streaming>

mod whole;

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

pub use self::whole::whole_answer;

/// The data of the event that ends a stream.
pub const DONE: &[u8] = b"[DONE]";

/// The number of characters kept of an error's message.
const MESSAGE_SIZE: usize = 200;

/// The meaning of one event of a stream, or of a whole reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Text for the user, of any choice: an answer, reasoning or a call of a tool. A delta with a role alone has none.
    pub has_content: bool,
    /// The reason why the model stopped, if it did: `stop`, `length` and the like. Of several choices, that of the last.
    pub finish_reason: Option<String>,
    /// The tokens used, if they are told.
    pub usage: Option<Usage>,
    /// The message of an error.
    pub error: Option<String>,
}

/// Numbers of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Usage {
    /// Tokens of the prompt.
    #[serde(default)]
    pub prompt_tokens: u64,
    /// Tokens of the answer, those of reasoning included.
    #[serde(default)]
    pub completion_tokens: u64,
}

impl Piece {
    /// Reads the JSON of an event, or of a whole reply; `None` if it is no JSON object of the expected shape. Unknown fields are
    /// skipped.
    #[must_use]
    pub fn parse(json: &[u8]) -> Option<Self> {
        let Chunk { choices, usage, error, object, message, detail } = serde_json::from_slice(json).ok()?;
        let is_error = object.as_deref() == Some("error");
        let error = error.or(message.filter(|_| is_error)).or(detail.filter(|_| choices.count == 0));
        Some(Self {
            has_content: choices.has_content,
            finish_reason: choices.finish_reason,
            usage,
            error: error.map(|Message(text)| text),
        })
    }
}

#[derive(Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Choices,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Message>,
    /// `error` where the error is the object itself, as older versions of vLLM have it.
    #[serde(default)]
    object: Option<String>,
    #[serde(default)]
    message: Option<Message>,
    /// The error of frameworks in front of a model, such as FastAPI.
    #[serde(default)]
    detail: Option<Message>,
}

/// All choices together, read without keeping them.
#[derive(Default)]
struct Choices {
    count: usize,
    has_content: bool,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Option<Text>,
    #[serde(default)]
    message: Option<Text>,
    #[serde(default)]
    text: Option<Filled>,
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Text {
    #[serde(default)]
    content: Option<Filled>,
    #[serde(default)]
    reasoning_content: Option<Filled>,
    #[serde(default)]
    reasoning: Option<Filled>,
    #[serde(default)]
    refusal: Option<Filled>,
    #[serde(default)]
    tool_calls: Option<Filled>,
}

impl Text {
    fn has_content(&self) -> bool {
        let parts =
            [&self.content, &self.reasoning_content, &self.reasoning, &self.refusal, &self.tool_calls];
        parts.into_iter().flatten().any(|Filled(is_filled)| *is_filled)
    }
}

impl<'de> Deserialize<'de> for Choices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;

        impl<'de> Visitor<'de> for All {
            type Value = Choices;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of choices")
            }

            fn visit_unit<E>(self) -> Result<Choices, E> {
                Ok(Choices::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Choices, A::Error> {
                let mut all = Choices::default();
                while let Some(choice) = list.next_element::<Choice>()? {
                    let Choice { delta, message, text, finish_reason } = choice;
                    all.count += 1;
                    all.has_content |= [delta, message].iter().flatten().any(Text::has_content)
                        || text.is_some_and(|Filled(is_filled)| is_filled);
                    all.finish_reason = finish_reason.or(all.finish_reason);
                }
                Ok(all)
            }
        }

        deserializer.deserialize_any(All)
    }
}

/// True for a string or a list with anything in it.
struct Filled(bool);

impl<'de> Deserialize<'de> for Filled {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any;

        impl<'de> Visitor<'de> for Any {
            type Value = Filled;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string or a list")
            }

            fn visit_str<E>(self, text: &str) -> Result<Filled, E> {
                Ok(Filled(!text.is_empty()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Filled, A::Error> {
                let mut is_filled = false;
                while list.next_element::<IgnoredAny>()?.is_some() {
                    is_filled = true;
                }
                Ok(Filled(is_filled))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Filled, A::Error> {
                let mut is_filled = false;
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    is_filled = true;
                }
                Ok(Filled(is_filled))
            }
        }

        deserializer.deserialize_any(Any)
    }
}

/// The message of an error: a string, an object with a `message`, or anything else as JSON.
struct Message(String);

impl<'de> Deserialize<'de> for Message {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        let text = match &value {
            serde_json::Value::String(text) => text.clone(),
            value => match value.get("message").and_then(serde_json::Value::as_str) {
                Some(text) => text.to_owned(),
                None => value.to_string(),
            },
        };
        Ok(Self(text.chars().take(MESSAGE_SIZE).collect()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Piece) {
        assert_eq!(Piece::parse(json.as_bytes()), Some(expected), "{json}");
    }

    fn content() -> Piece {
        Piece { has_content: true, ..Piece::default() }
    }

    #[test]
    fn a_delta_has_content_if_there_is_text_for_the_user() {
        check(
            r#"{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}"#,
            content(),
        );
        check(r#"{"choices":[{"delta":{"reasoning_content":"hm"}}]}"#, content());
        check(r#"{"choices":[{"delta":{"reasoning":"hm","content":null}}]}"#, content());
        check(r#"{"choices":[{"delta":{"tool_calls":[{"index":0}]}}]}"#, content());
        check(r#"{"choices":[{"text":"Hi","index":0}],"usage":null}"#, content());
        check(r#"{"choices":[{"delta":{"content":""}},{"delta":{"content":"x"}}]}"#, content());
        for none in [
            r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#,
            r#"{"choices":[{"delta":{"role":"assistant","content":null,"tool_calls":[]}}]}"#,
            r#"{"choices":[{"delta":{}}]}"#,
            r#"{"choices":[{"text":""}]}"#,
            r#"{"choices":[]}"#,
            r#"{"choices":null}"#,
            "{}",
        ] {
            check(none, Piece::default());
        }
    }

    #[test]
    fn the_end_of_an_answer_has_a_reason_and_may_have_the_usage() {
        let reason = |reason: &str| Piece { finish_reason: Some(reason.into()), ..Piece::default() };
        check(r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#, reason("length"));
        check(r#"{"choices":[{"finish_reason":"stop"},{"finish_reason":null}]}"#, reason("stop"));
        let usage = Some(Usage { prompt_tokens: 9, completion_tokens: 12 });
        check(
            r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":12,"total_tokens":21}}"#,
            Piece { usage, ..Piece::default() },
        );
        check(
            r#"{"choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":12}}"#,
            Piece { has_content: true, usage, ..reason("stop") },
        );
    }

    #[test]
    fn errors_are_told_in_their_words() {
        let error = |text: &str| Piece { error: Some(text.into()), ..Piece::default() };
        check(
            r#"{"error":{"message":"no such model","type":"invalid_request_error"}}"#,
            error("no such model"),
        );
        check(r#"{"error":"out of memory"}"#, error("out of memory"));
        check(r#"{"error":{"code":7}}"#, error(r#"{"code":7}"#));
        check(r#"{"object":"error","message":"too long"}"#, error("too long"));
        check(r#"{"detail":"Not Found"}"#, error("Not Found"));
        check(r#"{"error":null,"message":"not one"}"#, Piece::default());
        let long = Piece::parse(format!(r#"{{"error":"{}"}}"#, "é".repeat(1000)).as_bytes()).unwrap();
        assert_eq!(long.error.unwrap().chars().count(), MESSAGE_SIZE);
    }

    #[test]
    fn what_is_no_such_object_is_refused() {
        for other in ["", "[DONE]", "[1]", "7", "{", r#"{"choices":7}"#, r#"{"choices":[7]}"#, "null"] {
            assert_eq!(Piece::parse(other.as_bytes()), None, "{other}");
        }
        assert_eq!(Piece::parse(&[b'['; 100_000]), None);
    }

    proptest! {
        #[test]
        fn whatever_comes_it_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Piece::parse(&bytes);
        }
    }
}
