//! Replies of language models in the form of OpenAI's API: chat completions and completions, streamed or whole.
//!
//! <https://platform.openai.com/docs/api-reference/chat-streaming>

mod whole;

use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

pub use self::whole::whole_answer;

/// The data of the event that ends a stream.
pub const DONE: &[u8] = b"[DONE]";

/// The number of characters kept of an error's message.
pub const MESSAGE_SIZE: usize = 200;

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: u64,
    /// Tokens of the answer, those of reasoning included; `None` if they are not told (yet).
    pub completion_tokens: Option<u64>,
}

/// Data that is no event of this API.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is not JSON of the expected shape.
    Malformed,
    /// It is an event of another API.
    Foreign(Api),
}

/// Another API of language models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// <https://docs.anthropic.com/en/docs/build-with-claude/streaming>
    AnthropicMessages,
    /// <https://platform.openai.com/docs/api-reference/responses-streaming>
    OpenAiResponses,
    /// <https://github.com/ollama/ollama/blob/main/docs/api.md>
    Ollama,
}

/// The name in reports.
impl fmt::Display for Api {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AnthropicMessages => "Anthropic's Messages",
            Self::OpenAiResponses => "OpenAI's Responses",
            Self::Ollama => "Ollama's own",
        })
    }
}

impl Piece {
    /// Reads the JSON of an event, or of a whole reply. Members that do not matter may be anything, and a member may come twice:
    /// the last one counts. Text that is no Unicode is replaced.
    ///
    /// # Errors
    /// Anything else.
    pub fn parse(json: &[u8]) -> Result<Self, Unread> {
        match serde_json::from_slice(json) {
            Ok(Read(chunk)) => Chunk::piece(chunk),
            // Text of arbitrary bytes, or with half a character, can still be read.
            Err(_) => match serde_json::from_str(&as_unicode(json)) {
                Ok(Read(chunk)) => Chunk::piece(chunk),
                Err(_) => Err(Unread::Malformed),
            },
        }
    }
}

/// The text with everything that is no Unicode replaced: bytes, and halves of surrogate pairs in escapes.
#[cold]
fn as_unicode(json: &[u8]) -> String {
    let text = String::from_utf8_lossy(json);
    let mut whole = String::with_capacity(text.len());
    let mut rest = &text[..];
    while let Some((before, behind)) = rest.split_once('\\') {
        whole.push_str(before);
        let (escape, is_pair) = match unit(behind) {
            Some(0xD800..0xDC00) if behind[5..].strip_prefix('\\').and_then(unit).is_some_and(is_low) => {
                (&behind[..11], true)
            }
            Some(0xD800..0xE000) => (&behind[..5], false),
            _ => {
                // A backslash behind a backslash begins no escape.
                let length = behind.chars().next().map_or(0, char::len_utf8);
                (&behind[..length], true)
            }
        };
        match is_pair {
            true => whole.extend(["\\", escape]),
            false => whole.push(char::REPLACEMENT_CHARACTER),
        }
        rest = &behind[escape.len()..];
    }
    whole + rest
}

/// The number of an escape such as `uD83D`, if it is one.
fn unit(escape: &str) -> Option<u32> {
    let digits = escape.strip_prefix('u')?.get(..4)?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
}

fn is_low(unit: u32) -> bool {
    (0xDC00..0xE000).contains(&unit)
}

/// A value that is read as far as it can be: one of another type than expected is the default.
trait Lenient: Default {
    fn of_text(_text: &str) -> Self {
        Self::default()
    }

    fn of_number(_number: f64) -> Self {
        Self::default()
    }

    fn of_truth(_is_true: bool) -> Self {
        Self::default()
    }

    fn of_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }

    fn of_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

/// A value that was read leniently.
struct Read<T>(T);

impl<'de, T: Lenient> Deserialize<'de> for Read<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any<T>(PhantomData<T>);

        impl<'de, T: Lenient> Visitor<'de> for Any<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<T, E> {
                Ok(T::default())
            }

            fn visit_bool<E>(self, is_true: bool) -> Result<T, E> {
                Ok(T::of_truth(is_true))
            }

            fn visit_u64<E>(self, number: u64) -> Result<T, E> {
                Ok(T::of_number(number as f64))
            }

            fn visit_i64<E>(self, number: i64) -> Result<T, E> {
                Ok(T::of_number(number as f64))
            }

            fn visit_f64<E>(self, number: f64) -> Result<T, E> {
                Ok(T::of_number(number))
            }

            fn visit_str<E>(self, text: &str) -> Result<T, E> {
                Ok(T::of_text(text))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<T, A::Error> {
                T::of_list(list)
            }

            fn visit_map<A: MapAccess<'de>>(self, object: A) -> Result<T, A::Error> {
                T::of_object(object)
            }
        }

        deserializer.deserialize_any(Any(PhantomData)).map(Self)
    }
}

/// Members of events and replies, in any object.
#[derive(Clone, Copy, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Key {
    Choices,
    Usage,
    Error,
    Object,
    Message,
    Detail,
    Type,
    Done,
    Delta,
    Text,
    FinishReason,
    Content,
    ReasoningContent,
    Reasoning,
    Refusal,
    ToolCalls,
    FunctionCall,
    PromptTokens,
    CompletionTokens,
    #[serde(other)]
    Other,
}

fn value<'de, T: Lenient, A: MapAccess<'de>>(object: &mut A) -> Result<T, A::Error> {
    object.next_value().map(|Read(value)| value)
}

/// An event, or a whole reply.
#[derive(Default)]
struct Chunk {
    is_object: bool,
    choices: Choices,
    usage: Option<Usage>,
    error: Message,
    /// `error` where the error is the object itself, as older versions of vLLM have it.
    object: Text,
    message: Message,
    /// The error of frameworks in front of a model, such as FastAPI.
    detail: Message,
    /// The kind of an event in other APIs.
    kind: Text,
    /// An event of Ollama says whether it is the last.
    has_done: bool,
}

impl Lenient for Chunk {
    fn of_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let mut chunk = Self { is_object: true, ..Self::default() };
        while let Some(key) = object.next_key()? {
            match key {
                Key::Choices => chunk.choices = value(&mut object)?,
                Key::Usage => chunk.usage = value(&mut object)?,
                Key::Error => chunk.error = value(&mut object)?,
                Key::Object => chunk.object = value(&mut object)?,
                Key::Message => chunk.message = value(&mut object)?,
                Key::Detail => chunk.detail = value(&mut object)?,
                Key::Type => chunk.kind = value(&mut object)?,
                Key::Done => {
                    object.next_value::<IgnoredAny>()?;
                    chunk.has_done = true;
                }
                _ => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        Ok(chunk)
    }
}

impl Chunk {
    fn piece(self) -> Result<Piece, Unread> {
        let Self { is_object, choices, usage, error, object, message, detail, kind, has_done } = self;
        if !is_object || choices.is_odd {
            return Err(Unread::Malformed);
        }
        let has_none = choices.count == 0;
        let is_error = object.0.as_deref() == Some("error") || kind.0.as_deref() == Some("error") && has_none;
        let error = error.0.or(message.0.filter(|_| is_error)).or(detail.0.filter(|_| has_none));
        if let (None, true, Some(api)) =
            (&error, has_none, foreign(kind.0.as_deref(), object.0.as_deref(), has_done))
        {
            return Err(Unread::Foreign(api));
        }
        Ok(Piece { has_content: choices.has_content, finish_reason: choices.finish_reason, usage, error })
    }
}

/// The other API to which an event without choices belongs.
fn foreign(kind: Option<&str>, object: Option<&str>, has_done: bool) -> Option<Api> {
    const OF_ANTHROPIC: [&str; 4] = ["message", "message_", "content_block_", "ping"];
    match kind {
        Some(kind) if kind.starts_with("response.") => Some(Api::OpenAiResponses),
        Some(kind)
            if OF_ANTHROPIC.iter().any(|&its| kind == its || its.ends_with('_') && kind.starts_with(its)) =>
        {
            Some(Api::AnthropicMessages)
        }
        _ if object == Some("response") => Some(Api::OpenAiResponses),
        _ if has_done => Some(Api::Ollama),
        _ => None,
    }
}

/// All choices together, read without keeping them.
#[derive(Default)]
struct Choices {
    count: usize,
    has_content: bool,
    finish_reason: Option<String>,
    /// They are no list of objects.
    is_odd: bool,
}

impl Lenient for Choices {
    fn of_text(_text: &str) -> Self {
        Self { is_odd: true, ..Self::default() }
    }

    fn of_number(_number: f64) -> Self {
        Self { is_odd: true, ..Self::default() }
    }

    fn of_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut all = Self::default();
        while let Some(Read(choice)) = list.next_element::<Read<Choice>>()? {
            all.count += 1;
            all.has_content |= choice.has_content;
            all.is_odd |= choice.is_odd;
            all.finish_reason = choice.finish_reason.or(all.finish_reason);
        }
        Ok(all)
    }

    fn of_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self { is_odd: true, ..Self::default() })
    }
}

#[derive(Default)]
struct Choice {
    has_content: bool,
    finish_reason: Option<String>,
    /// It is a number or text.
    is_odd: bool,
}

impl Lenient for Choice {
    fn of_text(_text: &str) -> Self {
        Self { is_odd: true, ..Self::default() }
    }

    fn of_number(_number: f64) -> Self {
        Self { is_odd: true, ..Self::default() }
    }

    fn of_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let (mut delta, mut message, mut text) = (Delta::default(), Delta::default(), Filled::default());
        let mut reason = Text::default();
        while let Some(key) = object.next_key()? {
            match key {
                Key::Delta => delta = value(&mut object)?,
                Key::Message => message = value(&mut object)?,
                Key::Text => text = value(&mut object)?,
                Key::FinishReason => reason = value(&mut object)?,
                _ => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        let has_content = delta.0 || message.0 || text.0;
        Ok(Self { has_content, finish_reason: reason.0.filter(|reason| !reason.is_empty()), is_odd: false })
    }
}

/// The content of a message, or of a part of one: true if there is text for the user.
#[derive(Default)]
struct Delta(bool);

impl Lenient for Delta {
    fn of_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let mut has_content = false;
        while let Some(key) = object.next_key()? {
            match key {
                Key::Content
                | Key::ReasoningContent
                | Key::Reasoning
                | Key::Refusal
                | Key::ToolCalls
                | Key::FunctionCall => has_content |= value::<Filled, _>(&mut object)?.0,
                _ => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        Ok(Self(has_content))
    }
}

/// True for a string, a list or an object with anything in it.
#[derive(Default)]
struct Filled(bool);

impl Lenient for Filled {
    fn of_text(text: &str) -> Self {
        Self(!text.is_empty())
    }

    fn of_list<'de, A: SeqAccess<'de>>(mut list: A) -> Result<Self, A::Error> {
        let mut is_filled = false;
        while list.next_element::<IgnoredAny>()?.is_some() {
            is_filled = true;
        }
        Ok(Self(is_filled))
    }

    fn of_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let mut is_filled = false;
        while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            is_filled = true;
        }
        Ok(Self(is_filled))
    }
}

/// Text, if it is text.
#[derive(Default)]
struct Text(Option<String>);

impl Lenient for Text {
    fn of_text(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
}

/// A number of things, if it is one.
#[derive(Default)]
struct Count(Option<u64>);

impl Lenient for Count {
    fn of_number(number: f64) -> Self {
        Self((number >= 0.0).then_some(number as u64))
    }
}

impl Lenient for Option<Usage> {
    fn of_object<'de, A: MapAccess<'de>>(mut object: A) -> Result<Self, A::Error> {
        let (mut prompt, mut completion) = (Count::default(), Count::default());
        while let Some(key) = object.next_key()? {
            match key {
                Key::PromptTokens => prompt = value(&mut object)?,
                Key::CompletionTokens => completion = value(&mut object)?,
                _ => drop(object.next_value::<IgnoredAny>()?),
            }
        }
        let is_told = prompt.0.is_some() || completion.0.is_some();
        Ok(is_told.then(|| Usage { prompt_tokens: prompt.0.unwrap_or(0), completion_tokens: completion.0 }))
    }
}

/// The message of an error: a string, an object with a `message`, or anything else as JSON. None is nothing, or false.
#[derive(Default)]
struct Message(Option<String>);

impl Message {
    fn of(text: &str) -> Self {
        Self(Some(text.chars().take(MESSAGE_SIZE).collect()))
    }
}

impl Lenient for Message {
    fn of_text(text: &str) -> Self {
        Self::of(text)
    }

    fn of_number(number: f64) -> Self {
        Self::of(&number.to_string())
    }

    fn of_truth(is_true: bool) -> Self {
        if is_true { Self::of("true") } else { Self(None) }
    }

    fn of_list<'de, A: SeqAccess<'de>>(list: A) -> Result<Self, A::Error> {
        let value = serde_json::Value::deserialize(SeqAccessDeserializer::new(list))?;
        Ok(Self::of(&value.to_string()))
    }

    fn of_object<'de, A: MapAccess<'de>>(object: A) -> Result<Self, A::Error> {
        let value = serde_json::Value::deserialize(MapAccessDeserializer::new(object))?;
        Ok(match value.get("message").and_then(serde_json::Value::as_str) {
            Some(text) => Self::of(text),
            None => Self::of(&value.to_string()),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(json: &str, expected: Piece) {
        assert_eq!(Piece::parse(json.as_bytes()), Ok(expected), "{json}");
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
        let usage = Some(Usage { prompt_tokens: 9, completion_tokens: Some(12) });
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
    fn what_does_not_matter_may_be_anything() {
        for odd in [
            r#""id":7"#,
            r#""object":null"#,
            r#""object":[1]"#,
            r#""usage":null"#,
            r#""usage":[]"#,
            r#""usage":{"prompt_tokens":null,"completion_tokens":null}"#,
            r#""usage":{"completion_tokens":"many"}"#,
            r#""error":null"#,
            r#""error":false"#,
            r#""detail":null"#,
            r#""type":3"#,
            r#""choices":null"#,
            r#""model":"\ud83d""#,
        ] {
            let json = format!(r#"{{{odd},"choices":[{{"delta":{{"content":"Hi"}}}}]}}"#);
            check(&json, content());
        }
        for choice in [
            r#"{"delta":{"content":"Hi","role":null,"tool_calls":null},"finish_reason":null,"index":null}"#,
            r#"{"delta":{"content":"Hi"},"finish_reason":""}"#,
            r#"{"delta":{"content":"Hi"},"finish_reason":0}"#,
            r#"{"delta":{"content":"\ud83d"}}"#,
            r#"{"delta":{"content":"\ud83d\\u0041 \ude00"}}"#,
            r#"{"delta":{"content":"","content":"Hi"}}"#,
            r#"{"delta":null,"text":"Hi"}"#,
            r#"{"delta":null,"message":null,"delta":{"reasoning":"hm"}}"#,
        ] {
            check(&format!(r#"{{"choices":[null,{choice}]}}"#), content());
        }
        let bytes = b"{\"choices\":[{\"delta\":{\"content\":\"\xf0\x9f\x99\"}}]}";
        assert_eq!(Piece::parse(bytes), Ok(content()));
        let usage = |prompt_tokens, completion_tokens| Piece {
            usage: Some(Usage { prompt_tokens, completion_tokens }),
            ..Piece::default()
        };
        check(r#"{"usage":{"prompt_tokens":7,"completion_tokens":null}}"#, usage(7, None));
        check(r#"{"usage":{"prompt_tokens":7.0,"completion_tokens":5.0}}"#, usage(7, Some(5)));
        check(
            r#"{"usage":{"completion_tokens":5},"usage":{"prompt_tokens":1,"completion_tokens":6}}"#,
            usage(1, Some(6)),
        );
    }

    #[test]
    fn events_of_other_apis_are_known() {
        for (json, api) in [
            (r#"{"type":"message_start","message":{"id":"m"}}"#, Api::AnthropicMessages),
            (
                r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}"#,
                Api::AnthropicMessages,
            ),
            (r#"{"type":"message","content":[{"type":"text","text":"x"}]}"#, Api::AnthropicMessages),
            (r#"{"type":"response.output_text.delta","delta":"x"}"#, Api::OpenAiResponses),
            (r#"{"object":"response","output":[]}"#, Api::OpenAiResponses),
            (r#"{"model":"m","message":{"role":"assistant","content":"x"},"done":false}"#, Api::Ollama),
            (r#"{"model":"m","response":"x","done":true}"#, Api::Ollama),
        ] {
            assert_eq!(Piece::parse(json.as_bytes()), Err(Unread::Foreign(api)), "{json}");
        }
        // Their errors are told in their words.
        let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
        check(overloaded, Piece { error: Some("Overloaded".into()), ..Piece::default() });
        let full = r#"{"type":"error","message":"full"}"#;
        check(full, Piece { error: Some("full".into()), ..Piece::default() });
    }

    #[test]
    fn what_is_no_such_object_is_refused() {
        for other in ["", "[DONE]", "[1]", "7", "{", r#"{"choices":7}"#, r#"{"choices":[7]}"#, "null"] {
            assert_eq!(Piece::parse(other.as_bytes()), Err(Unread::Malformed), "{other}");
        }
        assert_eq!(Piece::parse(&[b'['; 100_000]), Err(Unread::Malformed));
    }

    proptest! {
        #[test]
        fn whatever_comes_it_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Piece::parse(&bytes);
        }
    }
}
