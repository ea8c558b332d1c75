//! Streams, and the answers of language models.

use std::num::NonZeroU64;

use httperf_plan::{MalformedGoodput, ModelApi, StreamedReplies};

use super::material::file;
use super::rules::{FOR_PROMPTS, NOT_FROM_CLASSIC_RECORD, REQUESTS};
use crate::args::Args;
use crate::grammar::{Opt, any_of};

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::with_value("stream", "auto|sse|off", "reads replies event by event as they stream in")
        .details(&[
            "With `auto`, the default, replies of type text/event-stream (server-sent events) are read event \
             by event, with `sse` all replies of status 2xx, with `off` none. The report then has the time to \
             the first event, from the instant at which the call was due and from sending; the gaps between \
             events; and the streams that were cut. An event counts from the arrival of its last byte, by the \
             kernel's clock where it stamps arrivals. Events that arrive together have no gap between them and \
             are counted as coalesced.",
            "--timeout then bounds the time to the status line and between events, not the whole stream.",
        ])
        .apply(|args, value| {
            args.material.replies.streams.read = match value.bytes() {
                b"auto" => StreamedReplies::EventStreams,
                b"sse" => StreamedReplies::All,
                b"off" => StreamedReplies::None,
                _ => return Err(value.expected("auto, sse or off")),
            };
            Ok(())
        }),
    Opt::with_value("llm", "openai", "measures the answers of a language model by their tokens")
        .details(&[
            "Reads replies as chat completions or completions of OpenAI's API, streamed or whole: time to first \
             token (TTFT), inter-token latency (ITL), time per output token (TPOT), output tokens per second, \
             reasons for the end, and errors in the server's words. The first token is the first event with \
             content; a role alone is none. Tokens are those of `usage`, which a request asks for by \
             \"stream_options\": {\"include_usage\": true}, else events with content. A stream without [DONE] and \
             without a reason for its end, and an error in a reply of status 200, count as unexpected replies.",
            "docs/guide/llm.md leads from a first request to the number of users that a deployment bears.",
        ])
        .conflicts(&[
            any_of(&["stream=off"]).because("answers are read as they stream in"),
            NOT_FROM_CLASSIC_RECORD,
        ])
        .apply(|args, value| match value.bytes() {
            b"openai" => {
                args.material.replies.streams.model = Some(ModelApi::OpenAi);
                Ok(())
            }
            _ => Err(value.expected("openai")),
        }),
    Opt::with_value("prompts", "FILE", "asks a language model the prompts of a file, one after the other")
        .details(&[
            "Each prompt becomes a POST with a body of JSON, as chat completions or completions of OpenAI's API take it, \
             whichever the path of the URL ends in; without a path, or with the path /v1, it is /v1/chat/completions. The \
             content tells the form of the file: an object of JSON on each line, with `prompt` or `messages`, or with the \
             `body` of OpenAI's batches; conversations of ShareGPT, whose first question is asked; or text with a \
             prompt on each line. `max_tokens` or `output_tokens` bounds the answer, and further keys, such as \
             `temperature`, are passed on as they are.",
            "Bodies are made before the run, without placeholders, and ask for streams with `usage`. After the last \
             prompt the first follows again. Implies --llm openai, and --system-buffers unless --send-buffer or \
             --recv-buffer is given.",
        ])
        .conflicts(&[
            any_of(REQUESTS).because("the file says what is sent"),
            any_of(&["targets"]),
            any_of(&["stream=off"]).because("answers are read as they stream in"),
            NOT_FROM_CLASSIC_RECORD,
        ])
        .sets(&["uris.prompts"])
        .apply(|args, value| {
            args.material.prompts.file = Some(file(value)?);
            args.material.replies.streams.model.get_or_insert(ModelApi::OpenAi);
            Ok(())
        }),
    Opt::with_value("model", "NAME", "names the model for prompts that name none")
        .details(&[
            "Also for a trace that `httperf replay` makes requests of. Without it, such a request has no `model`, and \
             the server chooses.",
        ])
        .needs(&[FOR_PROMPTS])
        .sets(&["uris.prompts.asking.model"])
        .apply(|args, value| {
            let name = std::str::from_utf8(value.bytes()).ok().filter(|name| !name.is_empty());
            let name = name.ok_or_else(|| value.expected("the name of a model"))?;
            args.material.prompts.model = Some(name.to_owned());
            Ok(())
        }),
    Opt::with_value("max-tokens", "N", "bounds answers to prompts that set no bound, in tokens")
        .details(&["Without it, the server bounds them."])
        .needs(&[FOR_PROMPTS])
        .sets(&["uris.prompts.asking.max_tokens"])
        .apply(|args, value| {
            let bound = value.unsigned().and_then(NonZeroU64::new);
            let bound = bound.ok_or_else(|| value.expected("a number above 0"))?;
            args.material.prompts.max_tokens = Some(bound);
            Ok(())
        }),
    Opt::flag("whole-answers", "asks for answers as a whole instead of streams")
        .details(&["The first token of such an answer is there when all of it is."])
        .needs(&[FOR_PROMPTS])
        .apply(|args, _| {
            args.material.prompts.whole_answers = true;
            Ok(())
        }),
    Opt::with_value("goodput", "BOUNDS", "counts answers within bounds, such as 'ttft<500ms,tpot<50ms'")
        .details(&[
            "A good answer meets all bounds: of ttft and e2e, which count from the instant at which \
             the call was due, and of tpot. The report has good answers per second, and as a share of the calls \
             that were due; --slo 'goodput>95%' makes an objective of the share. As other tools write bounds, \
             'ttft:500 tpot:50', numbers are milliseconds.",
        ])
        .needs(&[any_of(&["llm", "prompts"]).because("--llm openai reads answers")])
        .apply(|args, value| {
            let text = std::str::from_utf8(value.bytes()).ok();
            let parsed = text.ok_or(MalformedGoodput).and_then(str::parse);
            args.material.replies.streams.goodput =
                parsed.map_err(|expected| value.expected(&expected.to_string()))?;
            Ok(())
        }),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::ParseStop;
    use crate::grammar::parse::words;

    #[track_caller]
    fn check_error(argument: &str, expected: &str) {
        let stop = Args::default().parse(&words(&[argument])).unwrap_err();
        assert_eq!(stop, ParseStop::rejected(expected), "{argument}");
    }

    #[test]
    fn streams_and_models_are_chosen_by_name() {
        let mut args = Args::default();
        args.parse(&words(&["--stream=sse", "--llm=openai", "--goodput=ttft<1s"])).unwrap();
        let streams = args.material.replies.streams;
        assert_eq!((streams.read, streams.model), (StreamedReplies::All, Some(ModelApi::OpenAi)));
        assert_eq!(streams.goodput.to_string(), "ttft<1000ms");
    }

    #[test]
    fn prompts_imply_a_model_and_say_what_is_sent() {
        let mut args = Args::default();
        let line = ["--prompts=p", "--model=m", "--max-tokens=9", "--whole-answers", "http://h/"];
        args.parse(&words(&line)).unwrap();
        assert_eq!(args.material.replies.streams.model, Some(ModelApi::OpenAi));
        assert_eq!((&args.uri()[..], args.typed_uri()), (&b"/v1/chat/completions"[..], &b"/"[..]));
        let prompts = args.material.prompts;
        assert_eq!((prompts.model.as_deref(), prompts.max_tokens), (Some("m"), NonZeroU64::new(9)));
        assert!(prompts.whole_answers);
    }

    #[test]
    fn anything_else_is_refused() {
        check_error("--model=", "--model: expected the name of a model, got ``");
        check_error("--max-tokens=0", "--max-tokens: expected a number above 0, got `0`");
        check_error("--prompts=", "--prompts: expected the name of a file, got ``");
        check_error("--stream=ws", "--stream: expected auto, sse or off, got `ws`");
        check_error("--llm=gpt", "--llm: expected openai, got `gpt`");
        check_error(
            "--goodput=p99<1s",
            "--goodput: expected bounds of ttft, tpot and e2e, each once, above 0 and with a unit, such as \
             ttft<500ms,tpot<50ms, got `p99<1s`",
        );
    }
}
