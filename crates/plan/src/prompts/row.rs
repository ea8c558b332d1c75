//! A row of a file of prompts, and the body that is made of it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Asking, Endpoint, PromptRequest};
use crate::Template;

/// The keys of a row that bound the answer, in the order in which they are looked for.
const BOUNDS: [&str; 3] = ["max_tokens", "max_completion_tokens", "output_tokens"];

/// Keys of conversations.
const CONVERSATIONS: [&str; 2] = ["conversations", "conversation"];

/// Those who ask, in recorded conversations.
const ASKING: [&str; 2] = ["human", "user"];

/// What a row may have.
const ROWS: &str = "a `prompt`, `messages`, `conversations`, or `body` with one of them";

/// The maximum number of characters of a row in a message.
const SHOWN: usize = 60;

/// What a prompt is.
enum Question {
    /// The text of a prompt, or tokens.
    Prompt(Value),
    /// The turns of a chat.
    Messages(Value),
}

/// Reads an object from a line.
pub(super) fn object(line: &[u8]) -> Result<Map<String, Value>, String> {
    if !line.starts_with(b"{") {
        return Err(format!("expected an object of JSON, got {}", shown(line)));
    }
    serde_json::from_slice(line).map_err(|error| malformed(line, &error))
}

/// Says why this is no JSON. The line, if it is not the first, is the caller's to name.
pub(super) fn malformed(bytes: &[u8], error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let reason = message.strip_suffix(&place).unwrap_or(&message);
    let mut lines = bytes.split(|&byte| byte == b'\n');
    let line = lines.nth(error.line().saturating_sub(1)).unwrap_or_default();
    format!("expected an object of JSON, got {} ({reason} at column {})", shown(line), error.column())
}

/// The beginning of some text, in quotes.
pub(super) fn shown(bytes: &[u8]) -> String {
    // Of a long line no more is looked at than a message can have.
    let head = &bytes[..bytes.len().min(SHOWN * 4 + 4)];
    let text: String = String::from_utf8_lossy(head.trim_ascii())
        .chars()
        .map(|letter| if letter.is_control() { '\u{fffd}' } else { letter })
        .collect();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

/// The request of a line of text.
pub(super) fn plain(prompt: &str, asking: &Asking) -> Result<PromptRequest, String> {
    asked(Question::Prompt(prompt.into()), Map::new(), asking.uri.clone(), asking)
}

/// The request of an object; `None` for a conversation in which nobody asks anything.
pub(super) fn request(mut row: Map<String, Value>, asking: &Asking) -> Result<Option<PromptRequest>, String> {
    if let Some(body) = row.shift_remove("body") {
        return batched(&row, body, asking).map(Some);
    }
    if let Some(turns) = CONVERSATIONS.iter().find_map(|key| row.shift_remove(*key)) {
        let Some(prompt) = first_question(&turns)? else { return Ok(None) };
        let bounds = row.into_iter().filter(|(key, _)| BOUNDS.contains(&&key[..])).collect();
        return asked(Question::Prompt(prompt.into()), bounds, asking.uri.clone(), asking).map(Some);
    }
    body_of(row, asking.uri.clone(), asking).map(Some)
}

/// A row of OpenAI's batches: the body of a request with its method and its path.
fn batched(row: &Map<String, Value>, body: Value, asking: &Asking) -> Result<PromptRequest, String> {
    let Value::Object(body) = body else {
        return Err(format!("expected an object as `body`, got {}", shown_value(&body)));
    };
    if let Some(method) = row.get("method")
        && method != "POST"
    {
        return Err(format!("expected the method POST, got {}", shown_value(method)));
    }
    let uri = match row.get("url") {
        Some(url) => {
            let is_path =
                |url: &&str| url.starts_with('/') && url.bytes().all(|byte| byte.is_ascii_graphic());
            let path = url.as_str().filter(is_path).filter(|url| Endpoint::of(url.as_bytes()).is_some());
            let path = path.ok_or_else(|| {
                let found = shown_value(url);
                format!("expected a `url` that ends in /chat/completions or /completions, got {found}")
            })?;
            if asking.names_path { asking.uri.clone() } else { Template::literal(path.as_bytes()) }
        }
        None => asking.uri.clone(),
    };
    body_of(body, uri, asking)
}

/// The request of an object with a prompt, or with messages.
fn body_of(mut row: Map<String, Value>, uri: Template, asking: &Asking) -> Result<PromptRequest, String> {
    let question = match (row.shift_remove("prompt"), row.shift_remove("messages")) {
        (Some(prompt), None) => Question::Prompt(prompt),
        (None, Some(messages)) => Question::Messages(messages),
        (Some(_), Some(_)) => return Err("expected either `prompt` or `messages`, got both".to_owned()),
        (None, None) => {
            let keys: Vec<String> = row.keys().take(8).map(|key| shown(key.as_bytes())).collect();
            let found = if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") };
            return Err(format!("expected {ROWS}, got {found}"));
        }
    };
    asked(question, row, uri, asking)
}

/// The first turn of a conversation that is somebody's who asks; `None` if there is none.
fn first_question(turns: &Value) -> Result<Option<&str>, String> {
    let expected = "expected `conversations` as a list of turns with `from` and `value`, got";
    let Value::Array(turns) = turns else { return Err(format!("{expected} {}", shown_value(turns))) };
    for turn in turns {
        let who = ["from", "role"].iter().find_map(|key| turn.get(*key)?.as_str());
        let text = ["value", "content"].iter().find_map(|key| turn.get(*key)?.as_str());
        let (Some(who), Some(text)) = (who, text) else {
            return Err(format!("{expected} {}", shown_value(turn)));
        };
        if ASKING.contains(&who) && !text.trim().is_empty() {
            return Ok(Some(text));
        }
    }
    Ok(None)
}

/// The request that asks this. `more`: what else the row has.
fn asked(
    question: Question,
    mut more: Map<String, Value>,
    uri: Template,
    asking: &Asking,
) -> Result<PromptRequest, String> {
    let endpoint = Endpoint::of(&uri.typed()).ok_or_else(|| {
        let found = shown(&uri.typed());
        format!("expected a path that ends in /chat/completions or /completions, got {found}")
    })?;
    let (key, asked) = match (endpoint, question) {
        (Endpoint::Chat, Question::Prompt(prompt)) => {
            let text = text_of(&prompt).ok_or_else(|| {
                format!("expected a text that is not empty as `prompt`, got {}", shown_value(&prompt))
            })?;
            ("messages", json!([{"role": "user", "content": text}]))
        }
        (Endpoint::Completions, Question::Prompt(prompt)) => {
            // A list has tokens, or several prompts.
            if text_of(&prompt).is_none() && prompt.as_array().is_none_or(Vec::is_empty) {
                let found = shown_value(&prompt);
                return Err(format!("expected a text or a list that is not empty as `prompt`, got {found}"));
            }
            ("prompt", prompt)
        }
        (Endpoint::Chat, Question::Messages(messages)) => {
            let is_message = |message: &Value| message.get("role").is_some_and(Value::is_string);
            if !messages.as_array().is_some_and(|list| !list.is_empty() && list.iter().all(is_message)) {
                let found = shown_value(&messages);
                return Err(format!("expected `messages` as a list of objects with a `role`, got {found}"));
            }
            ("messages", messages)
        }
        (Endpoint::Completions, Question::Messages(_)) => {
            let path = shown(&uri.typed());
            return Err(format!("expected a `prompt`, as {path} takes no messages, got `messages`"));
        }
    };
    let mut body = Map::new();
    if let Some(model) = model(&mut more, asking)? {
        body.insert("model".to_owned(), model.into());
    }
    body.insert(key.to_owned(), asked);
    if let Some((key, bound)) = bound(&mut more, asking)? {
        body.insert(key.to_owned(), bound.into());
    }
    let streams = streams(&mut more, asking)?;
    body.append(&mut more);
    body.insert("stream".to_owned(), streams.into());
    if streams && !body.contains_key("stream_options") {
        // The stream then ends with the number of tokens.
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    let bytes = serde_json::to_vec(&body).expect("a tree of JSON can be written");
    Ok(PromptRequest { uri, body: Arc::from(bytes) })
}

fn text_of(prompt: &Value) -> Option<&str> {
    prompt.as_str().filter(|text| !text.is_empty())
}

fn model(row: &mut Map<String, Value>, asking: &Asking) -> Result<Option<String>, String> {
    match row.shift_remove("model") {
        Some(Value::String(model)) => Ok(Some(model)),
        Some(found) => Err(format!("expected a name as `model`, got {}", shown_value(&found))),
        None => Ok(asking.model.clone()),
    }
}

/// The bound of the answer, under the name that the API knows.
fn bound(row: &mut Map<String, Value>, asking: &Asking) -> Result<Option<(&'static str, u64)>, String> {
    let mut given = None;
    for key in BOUNDS {
        let Some(value) = row.shift_remove(key).filter(|value| !value.is_null()) else { continue };
        let Some(bound) = value.as_u64().filter(|&bound| bound > 0) else {
            return Err(format!("expected a number above 0 as `{key}`, got {}", shown_value(&value)));
        };
        if let Some((other, _)) = given.replace((key, bound)) {
            return Err(format!("expected either `{other}` or `{key}`, got both"));
        }
    }
    let named = given.map(|(key, bound)| (if key == "output_tokens" { "max_tokens" } else { key }, bound));
    Ok(named.or(asking.max_tokens.map(|bound| ("max_tokens", bound.get()))))
}

/// Returns whether a stream is asked for.
fn streams(row: &mut Map<String, Value>, asking: &Asking) -> Result<bool, String> {
    match row.shift_remove("stream") {
        None => Ok(!asking.whole_answers),
        Some(Value::Bool(streams)) => Ok(streams),
        Some(other) => Err(format!("expected true or false as `stream`, got {}", shown_value(&other))),
    }
}

fn shown_value(value: &Value) -> String {
    shown(value.to_string().as_bytes())
}
