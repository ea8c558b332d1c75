//! Arguments about requests and replies that the classic tool does not have: bodies, header fields, lists of whole
//! requests, checks.

use std::ffi::OsString;
use std::num::NonZeroU64;

use httperf_plan::{Header, Replies, Template};

use crate::grammar::ParseStop;

/// Arguments about requests and replies.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MaterialArgs {
    /// `--body`.
    pub body: Option<Template>,
    /// `--body-file`.
    pub body_file: Option<OsString>,
    /// `--form`, each time it was given.
    pub form: Vec<FormField>,
    /// `--header`, each time it was given.
    pub headers: Vec<Header>,
    /// The value of `Authorization`, from `--basic-auth` or `--bearer`.
    pub authorization: Option<Vec<u8>>,
    /// `--targets`.
    pub targets: Option<OsString>,
    /// About requests to language models.
    pub prompts: PromptArgs,
    /// `--compressed` and all `--expect-…`.
    pub replies: Replies,
}

/// Arguments about requests to language models.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PromptArgs {
    /// `--prompts`.
    pub file: Option<OsString>,
    /// `--model`.
    pub model: Option<String>,
    /// `--max-tokens`.
    pub max_tokens: Option<NonZeroU64>,
    /// `--whole-answers`.
    pub whole_answers: bool,
}

/// A field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormField {
    /// Its name.
    pub name: Template,
    /// Its value.
    pub value: FormValue,
}

/// The value of a field of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FormValue {
    /// `NAME=VALUE`.
    Text(Template),
    /// `NAME=@FILE`.
    File(OsString),
}

impl MaterialArgs {
    /// Returns whether an option gives every request a body.
    #[must_use]
    pub fn has_body(&self) -> bool {
        self.body.is_some() || self.body_file.is_some() || !self.form.is_empty()
    }

    /// Refuses fields that are there once at most and were given more often.
    pub(super) fn check(&self) -> Result<(), ParseStop> {
        for name in ["Host", "User-Agent", "Content-Type"] {
            if self.headers.iter().filter(|header| header.is(name)).count() > 1 {
                return Err(ParseStop::rejected(format!(
                    "--header: expected {name} once, got it more than once"
                )));
            }
        }
        Ok(())
    }

    /// Returns whether `--header` gives this field.
    pub(super) fn has_header(&self, name: &str) -> bool {
        self.headers.iter().any(|header| header.is(name))
    }
}
