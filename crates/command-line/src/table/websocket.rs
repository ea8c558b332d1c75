//! WebSockets: what is said on each, and when.

use std::time::Duration;

use httperf_plan::{Answer, Every, Limits, Process, Template, token};

use super::rules::FOR_WEBSOCKETS;
use crate::args::Args;
use crate::grammar::{Opt, ParseStop, Value, any_of};
use crate::values::{positive_of, seconds};

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::flag("websocket", "opens WebSockets, as a URL that begins with ws:// or wss:// does")
        .details(&[
            "Each call opens one (RFC 6455), and has ended well when both sides have closed it. Over HTTP/1.1 it has a \
             connection to itself; with --http-version 2 it is a stream of HTTP/2 (RFC 8441). What is said there is up to \
             the options that follow; without them, one message is sent, and its echo ends the WebSocket.",
            "The report has the time to open; round trips, from the instants at which messages were due and from those \
             at which they were sent; the messages that the server pushed, and the gaps between them; pings; and who \
             closed, with the code. The latency of such a call is that of its opening.",
        ])
        .conflicts(&[
            any_of(&[
                "body",
                "body-file",
                "form",
                "method",
                "prompts",
                "llm",
                "targets",
                "wsess",
                "wsesslog",
                "wsesspage",
                "call-pause",
                "tls-handshake-only",
                "record=classic",
            ])
            .because("calls open WebSockets"),
        ])
        .needs(&[any_of(&["http-version=1.1", "http-version=2"])])
        .apply(|args, _| {
            args.websockets.wanted = true;
            Ok(())
        }),
    Opt::with_value("ws-send", "TEXT", "sends this text on WebSockets")
        .details(&[
            "Default: the number of the message, from 0, and letters up to --ws-size. {seq} is the number of the message \
             on its WebSocket, {rand:LOW-HIGH} and {uuid} are those of --body.",
        ])
        .needs(&[FOR_WEBSOCKETS])
        .apply(|args, value| {
            let text = Template::parse(value.bytes());
            let text = text.map_err(|expected| {
                value.expected(&expected.to_string())
            })?;
            args.websockets.text = Some(text);
            Ok(())
        }),
    Opt::with_value("ws-size", "N", "sends messages of N bytes on WebSockets")
        .details(&["Default: 32; at most 16,777,216. The number of a message is not cut, if it is longer."])
        .conflicts(&[any_of(&["ws-send"]).because("the text has a size")])
        .needs(&[FOR_WEBSOCKETS])
        .apply(|args, value| {
            let size = positive_of("a number of bytes", value)?;
            let most = Limits::default().message_size;
            if size.get() as usize > most {
                let expected = format!("at most {most} bytes, the largest message that is sent and read");
                return Err(value.expected(&expected));
            }
            args.websockets.size = Some(size);
            Ok(())
        }),
    Opt::flag("ws-binary", "sends binary messages on WebSockets instead of text")
        .needs(&[FOR_WEBSOCKETS])
        .apply(|args, _| {
            args.websockets.binary = true;
            Ok(())
        }),
    Opt::with_value("ws-expect", "echo|any|none", "says what answers a message on a WebSocket")
        .details(&[
            "With `echo`, the default, the same message; with `any` the next one that comes; with `none` nothing. Each \
             message that answers none was pushed by the server.",
        ])
        .needs(&[FOR_WEBSOCKETS])
        .apply(|args, value| {
            args.websockets.expect = Some(match value.bytes() {
                b"echo" => Answer::Echo,
                b"any" => Answer::Any,
                b"none" => Answer::Nothing,
                _ => return Err(value.expected("echo, any or none")),
            });
            Ok(())
        }),
    Opt::with_value("ws-every", "[D]X", "sends a message every X seconds, whatever came back")
        .details(&[
            "The schedule of a WebSocket begins when it is open. D is a letter: d (or none) for constant intervals, u for \
             intervals uniform between 0 and twice X, e for exponential ones. Default: none, which sends the next \
             message when the last is answered.",
        ])
        .needs(&[
            FOR_WEBSOCKETS,
            any_of(&["ws-messages", "ws-for", "duration", "runtime"])
                .because("one of them says when a WebSocket ends"),
        ])
        .apply(|args, value| {
            args.websockets.every = Some(every(value)?);
            Ok(())
        }),
    Opt::with_value("ws-messages", "N", "sends N messages on a WebSocket, and closes it when they are answered")
        .details(&[
            "Default: 1, or any number with --ws-every or --ws-for. 0 sends none, and listens to what the server pushes.",
        ])
        .conflicts(&[
            any_of(&["ws-send", "ws-size", "ws-binary", "ws-expect", "ws-every"])
                .when("ws-messages=0")
                .because("no message is sent"),
        ])
        .needs(&[
            FOR_WEBSOCKETS,
            any_of(&["ws-for", "duration", "runtime"])
                .when("ws-messages=0")
                .because("one of them says when a WebSocket ends"),
        ])
        .apply(|args, value| {
            let count = value.unsigned();
            args.websockets.messages =
                Some(count.ok_or_else(|| value.expected("a number"))?);
            Ok(())
        }),
    Opt::with_value("ws-for", "X", "closes a WebSocket X seconds after it was opened")
        .details(&[
            "Messages that were sent by then are still waited for, within --timeout. Default: none; the run's end closes \
             those that are open.",
        ])
        .needs(&[FOR_WEBSOCKETS])
        .apply(|args, value| {
            args.websockets.lasts = Some(duration(value)?);
            Ok(())
        }),
    Opt::with_value("ws-ping", "X", "sends a ping every X seconds on a WebSocket")
        .needs(&[FOR_WEBSOCKETS])
        .apply(|args, value| {
            args.websockets.ping_every = Some(duration(value)?);
            Ok(())
        }),
    Opt::flag("ws-deflate", "offers to compress messages on WebSockets")
        .details(&["permessage-deflate (RFC 7692). The report says how many servers agreed, and bytes before and after."])
        .needs(&[FOR_WEBSOCKETS])
        .apply(|args, _| {
            args.websockets.deflate = true;
            Ok(())
        }),
    Opt::with_value("ws-fragment", "N", "sends messages on WebSockets in fragments of N bytes")
        .needs(&[FOR_WEBSOCKETS])
        .apply(|args, value| {
            args.websockets.fragment = Some(positive_of("a number of bytes", value)?);
            Ok(())
        }),
    Opt::with_value("ws-protocol", "NAME[,NAME]", "offers these subprotocols for WebSockets")
        .needs(&[FOR_WEBSOCKETS])
        .apply(|args, value| {
            let text = std::str::from_utf8(value.bytes()).ok();
            let names: Option<Vec<String>> = text.and_then(|text| {
                let names = text.split(',').map(str::trim);
                names.map(|name| token(name.as_bytes()).map(str::to_owned)).collect()
            });
            args.websockets.protocols =
                names.ok_or_else(|| value.expected("names such as chat, with commas between"))?;
            Ok(())
        }),
];

/// A time above 0.
fn duration(value: Value<'_>) -> Result<Duration, ParseStop> {
    let time = Duration::from_secs_f64(seconds(value)?);
    if time.is_zero() { Err(value.expected("a time above 0")) } else { Ok(time) }
}

fn every(value: Value<'_>) -> Result<Every, ParseStop> {
    let expected = || value.expected("a time above 0 such as 1s, or e1s for exponential intervals");
    let (process, text) = match value.bytes() {
        [b'e', rest @ ..] => (Process::Poisson, rest),
        [b'u', rest @ ..] => (Process::Uniform, rest),
        [b'd', rest @ ..] => (Process::Even, rest),
        text => (Process::Even, text),
    };
    let seconds = httperf_plan::units::seconds(text).ok_or_else(expected)?;
    let period = Duration::try_from_secs_f64(seconds).ok().filter(|period| !period.is_zero());
    Ok(Every { period: period.ok_or_else(expected)?, process })
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use httperf_plan::{Payload, WebSocket};

    use super::*;
    use crate::grammar::parse::words;

    #[track_caller]
    fn websocket(argv: &[&str]) -> WebSocket {
        let mut args = Args::default();
        args.parse(&words(argv)).unwrap();
        args.websocket().expect("a WebSocket is asked for")
    }

    #[track_caller]
    fn check_error(argv: &[&str], expected: &str) {
        let stop = Args::default().parse(&words(argv)).unwrap_err();
        assert_eq!(stop, ParseStop::rejected(expected), "{argv:?}");
    }

    #[test]
    fn a_url_or_an_option_asks_for_websockets() {
        let mut args = Args::default();
        args.parse(&words(&["wss://h/chat?x"])).unwrap();
        assert_eq!((args.websocket(), args.port(), args.uses_tls()), (Some(WebSocket::default()), 443, true));
        assert_eq!(
            (&args.uri()[..], websocket(&["--websocket", "--server=h"])),
            (&b"/chat?x"[..], WebSocket::default())
        );
        args = Args::default();
        args.parse(&words(&["http://h/"])).unwrap();
        assert_eq!(args.websocket(), None);
    }

    #[test]
    fn options_say_what_is_said() {
        let paced =
            websocket(&["ws://h/", "--ws-every=e100ms", "--ws-for=60", "--ws-ping=5s", "--ws-deflate"]);
        let every = Every { period: Duration::from_millis(100), process: Process::Poisson };
        assert_eq!((paced.every, paced.messages, paced.deflate), (Some(every), None, true));
        assert_eq!(
            (paced.lasts, paced.ping_every),
            (Some(Duration::from_secs(60)), Some(Duration::from_secs(5)))
        );
        let text =
            websocket(&["ws://h/", "--ws-send=<{seq}>", "--ws-messages=7", "--ws-expect=any", "--ws-binary"]);
        let message = text.message.unwrap();
        assert_eq!((text.messages, text.expect, message.binary), (NonZeroU64::new(7), Answer::Any, true));
        assert_eq!(message.payload, Payload::Text(Template::parse(b"<{seq}>").unwrap()));
        let silent = websocket(&["ws://h/", "--ws-messages=0", "--ws-for=1s", "--ws-protocol=a, b"]);
        assert_eq!(
            (silent.message, silent.messages, silent.protocols),
            (None, None, vec!["a".into(), "b".into()])
        );
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        check_error(
            &["ws://h/", "--ws-size=16777217"],
            "--ws-size: expected at most 16777216 bytes, the largest message that is sent and read, got `16777217`",
        );
        check_error(
            &["ws://h/", "--num-calls=2"],
            "--num-calls: expected 1 beside ws://, as a WebSocket has its connection to itself over HTTP/1.1; \
             --ws-messages says how many messages it sends",
        );
        check_error(&["ws://h/", "--ws-expect=pong"], "--ws-expect: expected echo, any or none, got `pong`");
        check_error(&["ws://h/", "--ws-for=0"], "--ws-for: expected a time above 0, got `0`");
        check_error(
            &["ws://h/", "--ws-every=soon"],
            "--ws-every: expected a time above 0 such as 1s, or e1s for exponential intervals, got `soon`",
        );
        check_error(
            &["ws://h/", "--ws-protocol=a b"],
            "--ws-protocol: expected names such as chat, with commas between, got `a b`",
        );
        check_error(
            &["ws://h/", "--ws-send={rand:5-1}"],
            "--ws-send: expected {rand:LOW-HIGH} with whole numbers, LOW not above HIGH, got `{rand:5-1}`",
        );
    }
}
