//! A completion as it is written: as a stream of chunks, or as one document.

use std::fmt::Write as _;
use std::io::Write as _;

use serde_json::{Value, json};

use super::request::{FinishReason, Kind, Request};
use crate::stamps::Departure;

/// A completion, whose tokens are `t0`, `t1` and so on, each with a space behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Completion {
    kind: Kind,
    /// The beginning of chunks, up to their choices.
    prefix: String,
    /// The end of a chunk without a usage.
    suffix: &'static str,
    id: String,
    created: u64,
    model: String,
    finish_reason: FinishReason,
    prompt_tokens: u64,
    has_usage: bool,
}

impl Completion {
    pub(super) fn new(
        kind: Kind,
        seed: u64,
        now_ns: u64,
        request: &Request,
        finish_reason: FinishReason,
    ) -> Self {
        let (id, object) = match kind {
            Kind::Chat => (format!("chatcmpl-{seed:016x}"), "chat.completion.chunk"),
            Kind::Text => (format!("cmpl-{seed:016x}"), "text_completion"),
        };
        let created = now_ns / 1_000_000_000;
        let model = Value::from(request.model.as_str());
        let prefix = format!(
            r#"data: {{"id":"{id}","object":"{object}","created":{created},"model":{model},"choices":["#
        );
        Self {
            kind,
            prefix,
            // A client that waits for the usage is told with each chunk that this is not it.
            suffix: if request.has_usage { r#","usage":null"# } else { "" },
            id,
            created,
            model: request.model.clone(),
            finish_reason,
            prompt_tokens: request.prompt_tokens,
            has_usage: request.has_usage,
        }
    }

    /// Returns true if a chunk goes right behind the header: that of the role.
    pub(crate) fn has_opening(&self) -> bool {
        self.kind == Kind::Chat
    }

    /// Writes the chunk of the role. Returns the number of chunks.
    pub(crate) fn write_opening(&self, out: &mut Vec<u8>) -> u32 {
        let choice =
            r#"{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}"#;
        self.write_chunk(format_args!("{choice}]{}", self.suffix), out);
        1
    }

    /// Writes the chunk of a token, counted from 0.
    pub(crate) fn write_token(&self, index: u32, departure: Departure, out: &mut Vec<u8>) {
        let Departure { sent_ns, due_ns } = departure;
        let suffix = self.suffix;
        let (begin, end) = match self.kind {
            Kind::Chat => (r#""delta":{"content":""#, r#""}"#),
            Kind::Text => (r#""text":""#, r#"""#),
        };
        self.write_chunk(
            format_args!(
                r#"{{"index":0,{begin}t{index} {end},"logprobs":null,"finish_reason":null}}]{suffix},"httperf":{{"sent_ns":{sent_ns},"due_ns":{due_ns}}}"#
            ),
            out,
        );
    }

    /// Writes what follows so many tokens: the reason of the end, the usage if it was asked for, and the mark of the end. Returns
    /// the number of events.
    pub(crate) fn write_closing(&self, tokens: u32, out: &mut Vec<u8>) -> u32 {
        let nothing = match self.kind {
            Kind::Chat => r#""delta":{}"#,
            Kind::Text => r#""text":"""#,
        };
        let (reason, suffix) = (self.finish_reason.name(), self.suffix);
        self.write_chunk(
            format_args!(r#"{{"index":0,{nothing},"logprobs":null,"finish_reason":"{reason}"}}]{suffix}"#),
            out,
        );
        if self.has_usage {
            self.write_chunk(format_args!(r#"],"usage":{}"#, self.usage(tokens)), out);
        }
        out.extend_from_slice(b"data: [DONE]\n\n");
        if self.has_usage { 3 } else { 2 }
    }

    fn write_chunk(&self, rest: std::fmt::Arguments<'_>, out: &mut Vec<u8>) {
        write!(out, "{}{rest}}}\n\n", self.prefix).expect("a Vec takes any bytes");
    }

    fn usage(&self, tokens: u32) -> Value {
        json!({
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": self.prompt_tokens + u64::from(tokens),
        })
    }

    /// Returns the whole completion as one JSON document.
    pub(super) fn document(&self, tokens: u32) -> String {
        let mut text = String::new();
        for index in 0..tokens {
            write!(text, "t{index} ").expect("a String takes any text");
        }
        let reason = self.finish_reason.name();
        let (object, choice) = match self.kind {
            Kind::Chat => (
                "chat.completion",
                json!({
                    "index": 0,
                    "message": { "role": "assistant", "content": text },
                    "logprobs": null,
                    "finish_reason": reason,
                }),
            ),
            Kind::Text => (
                "text_completion",
                json!({ "index": 0, "text": text, "logprobs": null, "finish_reason": reason }),
            ),
        };
        json!({
            "id": self.id,
            "object": object,
            "created": self.created,
            "model": self.model,
            "choices": [choice],
            "usage": self.usage(tokens),
        })
        .to_string()
    }
}
