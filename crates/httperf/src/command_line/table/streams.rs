//! Streams, and the answers of language models.

use httperf_plan::{MalformedGoodput, ModelApi, StreamedReplies};

use crate::command_line::args::Args;
use crate::command_line::grammar::{Opt, ParseStop};

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
                _ => return Err(ParseStop::expected("--stream", "auto, sse or off", value)),
            };
            Ok(())
        }),
    Opt::with_value("llm", "openai", "measures the answers of a language model by their tokens")
        .common()
        .details(&[
            "Reads replies as chat completions or completions of OpenAI's API, streamed or whole: time to first \
             token (TTFT), inter-token latency (ITL), time per output token (TPOT), output tokens per second, \
             reasons for the end, and errors in the server's words. The first token is the first event with \
             content; a role alone is none. Tokens are those of `usage`, which a request asks for by \
             \"stream_options\": {\"include_usage\": true}, else events with content. A stream without [DONE] and \
             without a reason for its end, and an error in a reply of status 200, count as unexpected replies.",
            "docs/guide/llm.md leads from a first request to the number of users that a deployment bears.",
        ])
        .apply(|args, value| match value.bytes() {
            b"openai" => {
                args.material.replies.streams.model = Some(ModelApi::OpenAi);
                Ok(())
            }
            _ => Err(ParseStop::expected("--llm", "openai", value)),
        }),
    Opt::with_value("goodput", "BOUNDS", "counts answers within bounds, such as 'ttft<500ms,tpot<50ms'")
        .details(&[
            "With --llm. A good answer meets all bounds: of ttft and e2e, which count from the instant at which \
             the call was due, and of tpot. The report has good answers as a share of the calls that ended, and \
             per second; --slo 'goodput>95%' makes an objective of the share.",
        ])
        .apply(|args, value| {
            let text = std::str::from_utf8(value.bytes()).ok();
            let parsed = text.ok_or(MalformedGoodput).and_then(str::parse);
            args.material.replies.streams.goodput =
                parsed.map_err(|expected| ParseStop::expected("--goodput", &expected.to_string(), value))?;
            Ok(())
        }),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::grammar::parse::words;

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
    fn anything_else_is_refused() {
        check_error("--stream=ws", "--stream: expected auto, sse or off, got `ws`");
        check_error("--llm=gpt", "--llm: expected openai, got `gpt`");
        check_error(
            "--goodput=p99<1s",
            "--goodput: expected bounds of ttft, tpot and e2e, each once and above 0, such as ttft<500ms,tpot<50ms, got \
             `p99<1s`",
        );
    }
}
