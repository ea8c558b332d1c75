//! An API in the form that OpenAI gave it, whose model says only `t0 t1 t2 …`: what a client of language models can be
//! tried against.
//!
//! Requests are read as OpenAI's server and vLLM's read them (`request.rs`); a completion is written as they write it
//! (`completion.rs`), as a stream (`stream`) or as one document; so is an error (`refusal.rs`).
//!
//! <https://platform.openai.com/docs/api-reference/chat>

pub(crate) mod completion;
mod refusal;
mod request;

use std::rc::Rc;
use std::time::Duration;

use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};

use self::completion::Completion;
use self::refusal::Refusal;
use self::request::{Kind, Request};
use crate::config::Config;
use crate::content::Content;
use crate::stamps;
use crate::stream::script::{Format, Script, Wishes};

/// A request to the API.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) endpoint: Endpoint,
    /// The wishes of its path for the stream.
    pub(crate) wishes: Wishes,
    /// The seed of its random draws, which also tells its completion apart.
    pub(crate) seed: u64,
}

/// A place below `/v1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Completion(Kind),
    Models,
    Unknown,
}

/// The reply to a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reply {
    /// `None` for that of a success.
    pub(crate) error: Option<StatusCode>,
    pub(crate) content: Content,
    /// The time that the model takes, unless it does so in a stream.
    pub(crate) delay: Duration,
    /// Tokens of a completion that is no stream.
    pub(crate) tokens: u32,
    pub(crate) fields: Vec<(HeaderName, HeaderValue)>,
}

impl Endpoint {
    /// Reads the path below `/v1/`.
    pub(crate) fn read(path: &str) -> Self {
        match path {
            "chat/completions" => Self::Completion(Kind::Chat),
            "completions" => Self::Completion(Kind::Text),
            "models" => Self::Models,
            _ => Self::Unknown,
        }
    }

    fn method(self) -> Option<Method> {
        match self {
            Self::Completion(_) => Some(Method::POST),
            Self::Models => Some(Method::GET),
            Self::Unknown => None,
        }
    }
}

impl Call {
    /// Answers, given the method, the path and the body. The body is `None` if it is larger than the limit.
    pub(crate) fn answer(&self, method: &Method, path: &str, body: Option<&[u8]>, config: &Config) -> Reply {
        match self.try_answer(method, path, body, config) {
            Ok(reply) => reply,
            Err(refusal) => Reply::refused(&refusal, self.endpoint.method()),
        }
    }

    fn try_answer(
        &self,
        method: &Method,
        path: &str,
        body: Option<&[u8]>,
        config: &Config,
    ) -> Result<Reply, Refusal> {
        let Some(expected) = self.endpoint.method() else {
            return Err(Refusal::unknown_path(method, path));
        };
        if *method != expected {
            return Err(Refusal::wrong_method(method, path));
        }
        let Endpoint::Completion(kind) = self.endpoint else {
            return Ok(Reply::of(Content::Text(MODELS.into(), JSON)));
        };
        let body = body.ok_or_else(|| Refusal::too_large(config.limits.request_kept))?;
        let request = Request::read(kind, body, config.limits.events)?;
        Ok(self.complete(kind, &request, config))
    }

    fn complete(&self, kind: Kind, request: &Request, config: &Config) -> Reply {
        let natural = config.streams.events.max(1);
        let (tokens, finish_reason) = request.length(natural);
        let completion = Rc::new(Completion::new(kind, self.seed, stamps::unix_ns(), request, finish_reason));
        let format = Format::Completion(Rc::clone(&completion));
        let longest = config.limits.delay;
        let script = Script::new(format, tokens, &self.wishes, &config.streams, longest, self.seed);
        if request.is_streamed {
            return Reply::of(Content::Stream(Box::new(script)));
        }
        let document = Content::Text(completion.document(tokens).into(), JSON);
        Reply { delay: script.due_of_last(tokens), tokens, ..Reply::of(document) }
    }
}

impl Reply {
    fn of(content: Content) -> Self {
        Self { error: None, content, delay: Duration::ZERO, tokens: 0, fields: Vec::new() }
    }

    /// Makes the reply of a server that answers with this status instead.
    pub(crate) fn instead(status: StatusCode) -> Self {
        Self::refused(&Refusal::status(status), None)
    }

    /// Makes the reply of a server on which too many requests wait.
    pub(crate) fn overloaded() -> Self {
        Self::refused(&Refusal::overloaded(), None)
    }

    fn refused(refusal: &Refusal, allowed: Option<Method>) -> Self {
        let fields = match allowed.filter(|_| refusal.status == StatusCode::METHOD_NOT_ALLOWED) {
            Some(method) => {
                vec![(
                    header::ALLOW,
                    HeaderValue::try_from(method.as_str()).expect("a method is a field value"),
                )]
            }
            None => Vec::new(),
        };
        let document = Content::Text(refusal.document().into(), JSON);
        Self { error: Some(refusal.status), fields, ..Self::of(document) }
    }
}

const JSON: &str = "application/json";

const MODELS: &str =
    r#"{"object":"list","data":[{"id":"httperf","object":"model","created":0,"owned_by":"httperf"}]}"#;
