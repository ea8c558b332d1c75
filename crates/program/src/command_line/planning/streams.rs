//! Checks that the answers of a language model can be read, and that something is asked.

use httperf_plan::StreamedReplies;
use thiserror::Error;

use crate::command_line::args::{Args, SessionKind};

/// Errors in options about streams and models.
#[derive(Debug, Error)]
pub enum StreamError {
    /// Requests that ask a model nothing.
    #[error(
        "--llm: expected requests with a body, got none\nhint: --prompts FILE asks what is in a file, --body-file FILE \
         sends the same request each time"
    )]
    NoPrompt,
    /// Bounds of answers that nobody reads.
    #[error("--goodput: expected --llm beside it, which reads answers, got none\nhint: --llm openai")]
    NoModel,
    /// An option about prompts without prompts.
    #[error("{0}: expected --prompts beside it, got none\nhint: --prompts FILE asks what is in a file")]
    NoFile(&'static str),
    /// Answers that are to be read and not to be read.
    #[error("--stream: expected auto or sse beside {0}, which reads answers, got `off`")]
    Unread(&'static str),
    /// Answers that are read and not recorded.
    #[error("--record: expected full beside {0}, which needs more than the classic figures, got `classic`")]
    Unrecorded(&'static str),
}

/// Refuses what cannot be measured. `by_options`: the requests are those of the options, not of a file with scenarios nor
/// of a recording.
pub(super) fn check(args: &Args, by_options: bool) -> Result<(), StreamError> {
    let given = &args.material;
    let streams = &given.replies.streams;
    if let (true, Some(option), None) = (by_options, given.prompts.choice(), &given.prompts.file) {
        return Err(StreamError::NoFile(option));
    }
    if streams.model.is_none() {
        return if streams.goodput.is_empty() { Ok(()) } else { Err(StreamError::NoModel) };
    }
    let reader = if given.prompts.file.is_some() { "--prompts" } else { "--llm" };
    if streams.read == StreamedReplies::None {
        return Err(StreamError::Unread(reader));
    }
    if args.results.classic_record {
        return Err(StreamError::Unrecorded(reader));
    }
    let has_script =
        args.session.as_ref().is_some_and(|session| matches!(session.kind, SessionKind::File(_)));
    let has_body = given.prompts.file.is_some()
        || given.body_option().is_some()
        || given.targets.is_some()
        || has_script
        || !by_options;
    if has_body { Ok(()) } else { Err(StreamError::NoPrompt) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::grammar::parse::words;

    #[track_caller]
    fn check(argv: &[&str], expected: Option<&str>) {
        let mut args = Args::default();
        args.parse(&words(argv)).unwrap();
        let found = super::check(&args, true).err().map(|error| error.to_string());
        assert_eq!(found.as_deref(), expected, "{argv:?}");
    }

    #[test]
    fn answers_are_read_and_recorded_if_something_is_asked() {
        check(&[], None);
        check(&["--stream=off", "--record=classic"], None);
        for asks in
            ["--prompts=p", "--body=x", "--body-file=f", "--form=a=b", "--targets=f", "--wsesslog=1,0,f"]
        {
            check(&["--llm=openai", "--goodput=ttft<1s", asks], None);
        }
        check(&["--prompts=p", "--goodput=ttft<1s", "--model=m"], None);
        check(
            &["--llm=openai"],
            Some(
                "--llm: expected requests with a body, got none\nhint: --prompts FILE asks what is in a file, \
                 --body-file FILE sends the same request each time",
            ),
        );
    }

    #[test]
    fn a_workload_file_and_a_recording_bring_their_requests() {
        let mut args = Args::default();
        args.parse(&words(&["--llm=openai", "--model=m"])).unwrap();
        assert!(super::check(&args, false).is_ok());
    }

    #[test]
    fn what_has_no_effect_is_refused() {
        check(
            &["--goodput=ttft<1s", "--body=x"],
            Some("--goodput: expected --llm beside it, which reads answers, got none\nhint: --llm openai"),
        );
        for (argument, option) in [
            ("--model=m", "--model"),
            ("--max-tokens=1", "--max-tokens"),
            ("--whole-answers", "--whole-answers"),
        ] {
            let expected = format!(
                "{option}: expected --prompts beside it, got none\nhint: --prompts FILE asks what is in a file"
            );
            check(&[argument, "--llm=openai", "--body=x"], Some(&expected));
        }
    }

    #[test]
    fn what_leaves_answers_unread_is_refused() {
        for (asks, reader) in [(&["--llm=openai", "--body=x"][..], "--llm"), (&["--prompts=p"], "--prompts")]
        {
            let expected =
                format!("--stream: expected auto or sse beside {reader}, which reads answers, got `off`");
            check(&[asks, &["--stream=off"]].concat(), Some(&expected));
            let expected = format!(
                "--record: expected full beside {reader}, which needs more than the classic figures, got `classic`"
            );
            check(&[asks, &["--record=classic"]].concat(), Some(&expected));
        }
    }
}
