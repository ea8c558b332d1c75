//! The file that `--prompts` names: what a language model is asked, as bodies of requests in OpenAI's API.
//!
//! ```text
//! {"prompt": "Why is the sky blue?", "max_tokens": 128, "temperature": 0}
//! {"messages": [{"role": "user", "content": "Hello"}]}
//! {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"messages": […]}}
//! {"conversations": [{"from": "human", "value": "Hello"}, {"from": "gpt", "value": "…"}]}
//! ```
//!
//! The content tells the form. If the first byte that is no white space is a brace, each line is an object; if it is a
//! bracket with an object behind it, the file is an array of such objects; anything else is text with a prompt on each
//! line. Bodies are made once, before the run.

mod objects;
mod row;

use std::fmt::{self, Display};
use std::num::NonZeroU64;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use self::objects::objects;
use crate::{BodyFile, Template};

/// The request target if none is named.
pub const CHAT_COMPLETIONS: &str = "/v1/chat/completions";

/// The maximum size of a file of prompts in bytes.
pub const PROMPTS_SIZE_MAX: u64 = 1 << 30;

/// The maximum number of prompts in a file.
pub const PROMPTS_MAX: usize = 1_000_000;

/// The maximum number of mistakes of a file that are named; the others are counted.
pub const PROBLEMS_MAX: usize = 20;

/// The prompts of a file, used in order and again from the first after the last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prompts {
    /// The file. `rerun` reads it again.
    pub file: BodyFile,
    /// What the file leaves open.
    pub asking: Asking,
    /// The number of prompts.
    pub count: u64,
    /// The requests. Not saved in results, and empty until the file has been read again.
    #[serde(skip)]
    pub requests: Arc<[PromptRequest]>,
}

/// What requests with prompts have where the file says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asking {
    /// The request target. Its path ends in `/chat/completions` or `/completions`.
    pub uri: Template,
    /// True if `uri` was given, and counts for all prompts; otherwise it gives way to those of the file.
    pub names_path: bool,
    /// The model; `None` leaves the choice to the server.
    pub model: Option<String>,
    /// The maximum number of tokens of an answer; `None` leaves it to the server.
    pub max_tokens: Option<NonZeroU64>,
    /// Asks for whole answers instead of streams.
    pub whole_answers: bool,
}

/// A request with a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptRequest {
    /// The request target.
    pub uri: Template,
    /// The body: an object of JSON.
    pub body: Arc<[u8]>,
}

/// The part of the API that a path belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// `…/chat/completions`, which takes messages.
    Chat,
    /// `…/completions`, which takes a prompt.
    Completions,
}

/// The mistakes of a file of prompts; never none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Error)]
pub struct Problems {
    /// The first of them, at most [`PROBLEMS_MAX`].
    pub named: Vec<Problem>,
    /// The number of the others.
    pub more: u64,
}

/// A mistake in a file of prompts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1; `None` for one of the whole file.
    pub line: Option<usize>,
    /// A sentence with what was expected and what was found.
    pub reason: String,
}

impl Endpoint {
    /// Returns the part of the API that a request target belongs to.
    #[must_use]
    pub fn of(uri: &[u8]) -> Option<Self> {
        let end = uri.iter().position(|&byte| matches!(byte, b'?' | b'#')).unwrap_or(uri.len());
        let path = &uri[..end];
        match () {
            () if path.ends_with(b"/chat/completions") => Some(Self::Chat),
            () if path.ends_with(b"/completions") => Some(Self::Completions),
            () => None,
        }
    }
}

impl Prompts {
    /// Makes the requests of a file, whose contents are then no longer kept. Returns also the number of conversations in
    /// which nobody asks anything, which are left out.
    ///
    /// # Errors
    /// All mistakes of the file.
    pub fn new(file: BodyFile, asking: Asking) -> Result<(Self, u64), Problems> {
        let mut reading = Reading::default();
        let size = file.contents.len() as u64;
        if size > PROMPTS_SIZE_MAX {
            let expected = format!("expected at most {PROMPTS_SIZE_MAX} bytes, got {size}");
            reading.problems.add(None, expected);
        } else {
            reading.read(&file.contents, &asking);
        }
        let Reading { requests, left_out, problems } = reading;
        if !problems.named.is_empty() {
            return Err(problems);
        }
        let file = BodyFile { contents: Arc::default(), ..file };
        Ok((Self { file, asking, count: requests.len() as u64, requests: requests.into() }, left_out))
    }
}

/// A file as far as it has been read.
#[derive(Debug, Default)]
struct Reading {
    requests: Vec<PromptRequest>,
    left_out: u64,
    problems: Problems,
}

impl Reading {
    fn read(&mut self, contents: &[u8], asking: &Asking) {
        // A mark of the byte order says no more than that it is UTF-8.
        let contents = contents.strip_prefix(b"\xef\xbb\xbf").unwrap_or(contents);
        match contents.trim_ascii_start() {
            [b'{', ..] => self.lines(contents, |line| {
                let value = row::object(line)?;
                row::request(value, asking)
            }),
            [b'[', rest @ ..] if matches!(rest.trim_ascii_start(), [b'{' | b']', ..]) => {
                for (line, value) in objects(contents) {
                    let request = value.and_then(|value| row::request(value, asking));
                    if !self.add(line, request) {
                        return;
                    }
                }
            }
            _ => self.lines(contents, |line| match std::str::from_utf8(line) {
                Ok(prompt) => row::plain(prompt, asking).map(Some),
                Err(error) => {
                    let column = error.valid_up_to() + 1;
                    Err(format!("expected text in UTF-8, got another byte at column {column}"))
                }
            }),
        }
        if self.requests.is_empty() && self.problems.named.is_empty() {
            let found = match self.left_out {
                0 => "none".to_owned(),
                left_out => format!("only conversations in which nobody asks anything ({left_out})"),
            };
            self.problems.add(None, format!("expected a prompt, got {found}"));
        }
    }

    /// Reads each line that is not blank.
    fn lines(&mut self, contents: &[u8], request: impl Fn(&[u8]) -> Result<Option<PromptRequest>, String>) {
        for (index, line) in contents.split(|&byte| byte == b'\n').enumerate() {
            let line = line.trim_ascii();
            if !line.is_empty() && !self.add(index + 1, request(line)) {
                return;
            }
        }
    }

    /// Keeps what a row says. Returns whether there may be more.
    fn add(&mut self, line: usize, request: Result<Option<PromptRequest>, String>) -> bool {
        match request {
            Ok(Some(_)) if self.requests.len() == PROMPTS_MAX => {
                self.problems.add(Some(line), format!("expected at most {PROMPTS_MAX} prompts, got more"));
                return false;
            }
            // Of a file with a mistake nothing is sent.
            Ok(Some(_)) if !self.problems.named.is_empty() => {}
            Ok(Some(request)) => self.requests.push(request),
            Ok(None) => self.left_out += 1,
            Err(reason) => self.problems.add(Some(line), reason),
        }
        true
    }
}

impl Problems {
    fn add(&mut self, line: Option<usize>, reason: String) {
        if self.named.len() < PROBLEMS_MAX {
            self.named.push(Problem { line, reason });
        } else {
            self.more += 1;
        }
    }
}

/// Writes a mistake on each line, without the name of the file.
impl Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.named.iter().enumerate() {
            let end = if index > 0 { "\n" } else { "" };
            write!(f, "{end}{problem}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{line}: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

#[cfg(test)]
mod tests;
