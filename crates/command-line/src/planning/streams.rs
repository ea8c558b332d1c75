//! Checks that a language model whose answers are measured is asked something.

use thiserror::Error;

use crate::args::{Args, SessionKind};

/// Errors in options about streams and models.
#[derive(Debug, Error)]
pub enum StreamError {
    /// Requests that ask a model nothing.
    #[error(
        "--llm: expected requests with a body, got none\nhint: --prompts FILE asks what is in a file, --body-file FILE \
         sends the same request each time"
    )]
    NoPrompt,
}

/// Refuses requests that ask nothing. They are those of the options, not of a file with scenarios nor of a recording.
pub(super) fn check(args: &Args) -> Result<(), StreamError> {
    let given = &args.material;
    let has_script =
        args.session.as_ref().is_some_and(|session| matches!(session.kind, SessionKind::File(_)));
    let has_body = given.prompts.file.is_some() || given.has_body() || given.targets.is_some() || has_script;
    if given.replies.streams.model.is_some() && !has_body { Err(StreamError::NoPrompt) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::parse::words;

    #[test]
    fn a_model_is_asked_something() {
        let refused = |argv: &[&str]| {
            let mut args = Args::default();
            args.parse(&words(argv)).unwrap();
            check(&args).err().map(|error| error.to_string())
        };
        assert_eq!(refused(&["--stream=off", "--record=classic"]), None);
        for asks in
            ["--prompts=p", "--body=x", "--body-file=f", "--form=a=b", "--targets=f", "--wsesslog=1,0,f"]
        {
            assert_eq!(refused(&["--llm=openai", "--goodput=ttft<1s", asks]), None, "{asks}");
        }
        assert_eq!(
            refused(&["--llm=openai"]).as_deref(),
            Some(
                "--llm: expected requests with a body, got none\nhint: --prompts FILE asks what is in a file, \
                 --body-file FILE sends the same request each time"
            )
        );
    }
}
