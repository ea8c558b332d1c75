//! The options of `httperf serve` that are about streams of events.

use httperf_command_line::grammar::{Opt, ParseStop, Value};

use super::{ServeArgs, number, read};

pub(super) const OPTIONS: &[Opt<ServeArgs>] = &[
    Opt::with_value("stream-first", "T", "sends the first event T after the header: a duration or a distribution")
        .details(&[
            "Default: at once. In any form of --delay, which is the time before the header. A client can ask for a \
             stream by its path: /sse/N has N events; /first/T, /gap/T, /together/N and /cut/N (it breaks off after N \
             events) overrule these options for it, and /size/N pads the data of each event.",
            "They apply as well to completions in the form of OpenAI's API: POST /v1/chat/completions and \
             /v1/completions. There an event is a token. /first/20ms/v1/chat/completions is a path of that API, too.",
        ])
        .apply(|args, value| {
            args.config.streams.first = read(value, str::parse)?;
            Ok(())
        }),
    Opt::with_value("stream-gap", "T", "sends further events at gaps of T: a duration or a distribution")
        .details(&[
            "Default: at once. In any form of --delay. Each gap is drawn anew, and counts from when the event before \
             was due.",
        ])
        .apply(|args, value| {
            args.config.streams.gap = read(value, str::parse)?;
            Ok(())
        }),
    Opt::with_value("stream-together", "N", "sends N events in each write")
        .details(&["Default: 1. At most 1000. The gap is that between two writes."])
        .apply(|args, value| {
            let together = count(args.config.limits.events_together, value)?;
            args.config.streams.together = together;
            Ok(())
        }),
    Opt::with_value("stream-events", "N", "sends N events where a request does not say how many")
        .details(&[
            "Default: 16. At most 1000000. A completion has N tokens, or fewer if `max_tokens` is smaller; with \
             `ignore_eos` it has `max_tokens`.",
        ])
        .apply(|args, value| {
            args.config.streams.events = count(args.config.limits.events, value)?;
            Ok(())
        }),
    Opt::with_value("stream-cut", "PROBABILITY", "breaks streams off halfway at random, as in 0.01 or 1%")
        .details(&[
            "Default: never. The connection is closed without the last chunk; over HTTP/2 the stream is reset \
             (INTERNAL_ERROR), and over HTTP/3 too (H3_INTERNAL_ERROR). A stream that meets a --fault is not cut.",
        ])
        .apply(|args, value| {
            args.config.streams.cut = read(value, str::parse)?;
            Ok(())
        }),
];

fn count(most: u32, value: Value<'_>) -> Result<u32, ParseStop> {
    let expected = format!("a number of events from 1 to {most}");
    let count: u32 = number(&expected, value)?;
    if !(1..=most).contains(&count) {
        return Err(value.expected(&expected));
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use httperf_command_line::grammar::parse::words;
    use httperf_origin::Streams;

    use super::super::settings;
    use super::*;

    fn streams(argv: &[&str]) -> Streams {
        settings(&words(argv)).unwrap().config.streams
    }

    #[test]
    fn every_option_finds_its_place() {
        let typed = streams(&[
            "--stream-first=300ms",
            "--stream-gap=jitter:20ms,5ms",
            "--stream-together=2",
            "--stream-events=100",
            "--stream-cut=1%",
        ]);
        let expected = Streams {
            first: "300ms".parse().unwrap(),
            gap: "uniform:15ms,25ms".parse().unwrap(),
            together: 2,
            events: 100,
            cut: "0.01".parse().unwrap(),
        };
        assert_eq!(typed, expected);
        assert_eq!(streams(&[]), Streams::default());
    }

    #[test]
    fn a_bad_value_is_answered_with_what_would_do() {
        for (argument, expected) in [
            ("--stream-first=x", "--stream-first: expected a duration such as 50ms, got `x`"),
            ("--stream-gap=exp:", "--stream-gap: expected a mean, such as exp:20ms, got `exp:`"),
            ("--stream-together=0", "--stream-together: expected a number of events from 1 to 1000, got `0`"),
            ("--stream-events=x", "--stream-events: expected a number of events from 1 to 1000000, got `x`"),
            ("--stream-cut=2", "--stream-cut: expected a probability such as 0.01 or 1%, got `2`"),
        ] {
            let stop = settings(&words(&[argument])).unwrap_err();
            assert_eq!(stop, ParseStop::rejected(expected), "{argument}");
        }
    }
}
