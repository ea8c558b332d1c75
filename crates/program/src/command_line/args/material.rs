//! Arguments about requests and replies that the classic tool does not have: bodies, header fields, lists of whole
//! requests, checks.

use std::ffi::OsString;
use std::num::NonZeroU64;

use httperf_plan::{Header, Replies, Template};

use super::{Args, SessionKind, UriChoice};
use crate::command_line::grammar::ParseStop;

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
    /// The header fields of `--basic-auth` and `--bearer`.
    pub authorization: Option<Authorization>,
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

impl PromptArgs {
    /// The option that says something about prompts and was given, if one was.
    #[must_use]
    pub fn choice(&self) -> Option<&'static str> {
        let options = [
            ("--model", self.model.is_some()),
            ("--max-tokens", self.max_tokens.is_some()),
            ("--whole-answers", self.whole_answers),
        ];
        options.into_iter().find(|&(_, is_given)| is_given).map(|(option, _)| option)
    }
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

/// The credentials that the server is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Authorization {
    /// The option that says so, for messages.
    pub option: &'static str,
    /// The value of `Authorization`.
    pub value: Vec<u8>,
}

impl MaterialArgs {
    /// The option that gives every request a body, if one does.
    #[must_use]
    pub fn body_option(&self) -> Option<&'static str> {
        self.body_options().next()
    }

    fn body_options(&self) -> impl Iterator<Item = &'static str> {
        let options = [
            ("--body", self.body.is_some()),
            ("--body-file", self.body_file.is_some()),
            ("--form", !self.form.is_empty()),
        ];
        options.into_iter().filter(|&(_, is_given)| is_given).map(|(option, _)| option)
    }

    /// Options that contradict themselves or others.
    pub(super) fn check(&self, args: &Args) -> Result<(), ParseStop> {
        let mut bodies = self.body_options();
        if let (Some(option), Some(other)) = (bodies.next(), bodies.next()) {
            return Err(contradiction(option, other));
        }
        let session = args.session.as_ref().map(|session| &session.kind);
        if let (Some(option), Some(SessionKind::File(_))) = (self.body_option(), session) {
            return Err(ParseStop::rejected(format!(
                "{option}: expected no --wsesslog beside it, which brings its own bodies"
            )));
        }
        if let Some(authorization) = &self.authorization
            && self.headers.iter().any(|header| header.is("Authorization"))
        {
            return Err(contradiction(authorization.option, "--header of Authorization"));
        }
        for name in ["Host", "User-Agent", "Content-Type"] {
            if self.headers.iter().filter(|header| header.is(name)).count() > 1 {
                return Err(ParseStop::rejected(format!(
                    "--header: expected {name} once, got it more than once"
                )));
            }
        }
        if self.targets.is_some() {
            self.check_targets(args)?;
        }
        if self.prompts.file.is_some() {
            self.check_prompts(args)?;
        }
        Ok(())
    }

    /// Options that contradict a file of prompts.
    fn check_prompts(&self, args: &Args) -> Result<(), ParseStop> {
        let session = args.session.as_ref().map(|session| &session.kind);
        let others = [
            (self.body_option().unwrap_or_default(), self.body_option().is_some()),
            ("--method", args.method.is_some()),
            ("--targets", self.targets.is_some()),
            ("--wlog", args.uri_choice == UriChoice::Log),
            ("--wset", args.uri_choice == UriChoice::Set),
            ("--wsesslog", matches!(session, Some(SessionKind::File(_)))),
            ("--wsesspage", matches!(session, Some(SessionKind::Pages(_)))),
        ];
        match others.into_iter().find(|&(_, is_given)| is_given) {
            Some((other, _)) => Err(ParseStop::rejected(format!(
                "--prompts: expected no {other} beside it, as the file says what is sent"
            ))),
            None => Ok(()),
        }
    }

    /// Options that contradict a list of whole requests.
    fn check_targets(&self, args: &Args) -> Result<(), ParseStop> {
        let session = args.session.as_ref().map(|session| &session.kind);
        let others = [
            (self.body_option().unwrap_or_default(), self.body_option().is_some()),
            ("--method", args.method.is_some()),
            ("URL", !args.typed_urls.is_empty()),
            ("--server", args.server.is_some()),
            ("--servers", args.servers.is_some()),
            ("--server-name", args.server_name.is_some()),
            ("--port", args.port.is_some()),
            ("--uri", args.uri.is_some()),
            ("--wlog", args.uri_choice == UriChoice::Log),
            ("--wset", args.uri_choice == UriChoice::Set),
            ("--wsesslog", matches!(session, Some(SessionKind::File(_)))),
            ("--wsesspage", matches!(session, Some(SessionKind::Pages(_)))),
        ];
        match others.into_iter().find(|&(_, is_given)| is_given) {
            Some((other, _)) => Err(ParseStop::rejected(format!(
                "--targets: expected no {other} beside it, as the file says all of that"
            ))),
            None => Ok(()),
        }
    }
}

fn contradiction(option: &str, other: &str) -> ParseStop {
    ParseStop::rejected(format!("{option}: expected no {other} beside it"))
}
