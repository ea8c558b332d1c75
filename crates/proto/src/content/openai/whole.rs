//! A streamed answer put together: the reply that the server would have sent without streaming.

use serde_json::{Map, Value};

use crate::content::sse::{Item, Parser};

/// Members whose text arrives in parts: of a message, of its reasoning, of a call of a tool, and of a completion.
const TEXTS: [&str; 6] = ["content", "reasoning_content", "reasoning", "refusal", "arguments", "text"];

/// Items of a list that are told apart by their index. A server that sends more of them would have each compared with all.
const ITEMS_MAX: usize = 128;

/// Puts the events of a streamed answer together to the JSON of a whole one. `stream`: the body of the reply, an event stream.
/// Each `delta` becomes a `message`; text is joined; choices and calls of tools are told apart by their `index`; of all else,
/// the last value that is not null counts. Of a list, the first 128 items are told apart.
///
/// `None` if no event has a JSON object.
#[must_use]
pub fn whole_answer(stream: &[u8]) -> Option<Vec<u8>> {
    let mut whole: Option<Map<String, Value>> = None;
    // No event is larger than the stream.
    Parser::new(stream.len()).push(stream, &mut |item| {
        if let Item::Event(event) = item
            && let Ok(chunk) = serde_json::from_slice(event.data)
        {
            merge(whole.get_or_insert_default(), chunk);
        }
    });
    let mut whole = whole?;
    if let Some(Value::String(object)) = whole.get_mut("object")
        && let Some(without) = object.strip_suffix(".chunk")
    {
        *object = without.to_owned();
    }
    for choice in whole.get_mut("choices").and_then(Value::as_array_mut).into_iter().flatten() {
        if let Some(choice) = choice.as_object_mut()
            && let Some(delta) = choice.remove("delta")
        {
            choice.insert("message".to_owned(), delta);
        }
    }
    serde_json::to_vec(&whole).ok()
}

fn merge(whole: &mut Map<String, Value>, part: Map<String, Value>) {
    for (name, value) in part {
        match (whole.get_mut(&name), value) {
            (Some(known), value) => add(&name, known, value),
            (None, Value::Array(items)) => {
                // Several parts of one item may have come in one event.
                let mut list = Vec::new();
                add_items(&mut list, items);
                whole.insert(name, Value::Array(list));
            }
            (None, value) => {
                whole.insert(name, value);
            }
        }
    }
}

/// Adds a value to what is known of a member with this name.
fn add(name: &str, known: &mut Value, value: Value) {
    match (known, value) {
        (_, Value::Null) => {}
        (Value::String(known), Value::String(text)) if TEXTS.contains(&name) => known.push_str(&text),
        (Value::Object(known), Value::Object(part)) => merge(known, part),
        (Value::Array(known), Value::Array(items)) => add_items(known, items),
        (known, value) => *known = value,
    }
}

/// Adds items to a list: to the one with the same `index`, otherwise at the end.
fn add_items(list: &mut Vec<Value>, items: Vec<Value>) {
    for item in items {
        let index = item.get("index");
        let mut told_apart = list.iter_mut().take(ITEMS_MAX);
        let known = index.and_then(|index| told_apart.find(|known| known.get("index") == Some(index)));
        match (known, item) {
            (Some(Value::Object(known)), Value::Object(part)) => merge(known, part),
            (_, item) => list.push(item),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn stream(chunks: &[Value]) -> String {
        let events: String = chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        format!(": comment\n\n{events}data: [DONE]\n\n")
    }

    #[track_caller]
    fn check(chunks: &[Value], expected: &Value) {
        let whole = whole_answer(stream(chunks).as_bytes()).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&whole).unwrap(), *expected);
    }

    #[test]
    fn deltas_become_a_message() {
        let chunk = |delta: Value, reason: Option<&str>| {
            json!({"id": "c1", "object": "chat.completion.chunk",
                   "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})
        };
        check(
            &[
                chunk(json!({"role": "assistant", "content": ""}), None),
                chunk(json!({"content": "a \"b\"\n"}), None),
                chunk(json!({"content": "é"}), None),
                chunk(json!({}), Some("stop")),
                json!({"choices": [], "usage": {"completion_tokens": 2}}),
            ],
            &json!({"id": "c1", "object": "chat.completion",
                    "choices": [{"index": 0, "message": {"role": "assistant", "content": "a \"b\"\né"},
                                 "finish_reason": "stop"}],
                    "usage": {"completion_tokens": 2}}),
        );
    }

    #[test]
    fn choices_and_calls_of_tools_are_told_apart() {
        let call = |index: u64, part: Value| json!({"index": index, "function": part});
        let chunk = |choice: u64, delta: Value| json!({"choices": [{"index": choice, "delta": delta}]});
        check(
            &[
                chunk(1, json!({"content": "x"})),
                chunk(0, json!({"tool_calls": [call(0, json!({"name": "f", "arguments": ""}))]})),
                chunk(
                    0,
                    json!({"tool_calls": [call(0, json!({"arguments": "{\"a\":"})),
                                               call(1, json!({"name": "g"}))]}),
                ),
                chunk(0, json!({"tool_calls": [call(0, json!({"arguments": "1}"}))]})),
                chunk(1, json!({"content": "y", "role": "assistant"})),
            ],
            &json!({"choices": [
                {"index": 1, "message": {"content": "xy", "role": "assistant"}},
                {"index": 0, "message": {"tool_calls": [call(0, json!({"name": "f", "arguments": "{\"a\":1}"})),
                                                        call(1, json!({"name": "g"}))]}},
            ]}),
        );
    }

    #[test]
    fn a_server_that_sends_ever_more_choices_takes_no_time() {
        let events: String =
            (0..200_000).map(|index| format!("data: {{\"choices\":[{{\"index\":{index}}}]}}\n\n")).collect();
        let whole: Value = serde_json::from_slice(&whole_answer(events.as_bytes()).unwrap()).unwrap();
        assert_eq!(whole["choices"].as_array().unwrap().len(), 200_000);
    }

    #[test]
    fn completions_have_text() {
        let chunk = |text: &str| json!({"choices": [{"index": 0, "text": text}]});
        check(&[chunk("a"), chunk("b")], &json!({"choices": [{"index": 0, "text": "ab"}]}));
    }

    #[test]
    fn an_error_is_kept_and_nothing_is_no_answer() {
        check(&[json!({"error": {"message": "busy"}})], &json!({"error": {"message": "busy"}}));
        for none in ["", "data: [DONE]\n\n", "data: 7\n\n", "data: {\n\n", "data: {\"choices\":[]}"] {
            assert_eq!(whole_answer(none.as_bytes()), None, "{none}");
        }
    }

    proptest! {
        #[test]
        fn text_is_joined_however_it_was_divided(parts in prop::collection::vec(any::<String>(), 1..20)) {
            let chunks: Vec<Value> =
                parts.iter().map(|part| json!({"choices": [{"index": 0, "delta": {"content": part}}]})).collect();
            let whole = whole_answer(stream(&chunks).as_bytes()).unwrap();
            let whole: Value = serde_json::from_slice(&whole).unwrap();
            prop_assert_eq!(&whole["choices"][0]["message"]["content"], &Value::String(parts.concat()));
        }

        #[test]
        fn whatever_comes_it_is_put_together_or_not(text in "(data: [{}\\[\\]:,\"a0-9 index]{0,40}\n\n){0,8}") {
            let _ = whole_answer(text.as_bytes());
        }
    }
}
