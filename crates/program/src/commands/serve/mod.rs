//! `httperf serve`: the embedded test server behind the command line.
//!
//! The server itself is the `origin` crate; here are its options, its signals and its messages.

mod http2;
mod http3;
mod stream;
mod tls;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use httperf_command_line::grammar::{self, Command, Group, Opt, Order, ParseStop, Value, any_of, rules};
use httperf_command_line::terminal::messages::Program;
use httperf_origin::{
    CloseAfter, Config, FaultMix, FaultShare, Framing, ListenAddress, Location, Malformed, Server,
    ServerCapacity,
};
use httperf_origin::{parse_duration, parse_rate, parse_size};
use httperf_plan::Endpoint;

use self::http2::Http2Args;
use self::http3::Http3Args;
use self::tls::TlsArgs;

/// Runs `httperf serve` with these words behind it, until a signal ends it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    match settings(words) {
        Ok(settings) => {
            settings.notices.iter().for_each(|notice| program.warn(notice));
            serve(&program, settings).unwrap_or_else(|status| status)
        }
        Err(stop) => program.stop(&COMMAND.describe(), &stop),
    }
}

/// Serves until a signal comes. An early end has been explained when its exit status comes back.
fn serve(program: &Program, settings: ServeSettings) -> Result<ExitCode, ExitCode> {
    let ServeSettings { config, certificate_file, .. } = settings;
    let failed = |doing: &str, error: &std::io::Error| {
        program.say(format_args!("cannot {doing}: {error}"));
        ExitCode::FAILURE
    };
    if let Err(error) = httperf_origin::raise_descriptor_limit() {
        // Fewer connections will do for most.
        failed("raise the limit on open files", &error);
    }
    // Whoever waits for the line below finds the file written.
    if let (Some(file), Some(tls)) = (certificate_file, &config.tls) {
        std::fs::write(&file, tls.credentials.certificates_pem())
            .map_err(|error| failed(&format!("write the certificate to {}", file.display()), &error))?;
    }
    let is_tls = config.tls.is_some();
    let wanted = Location { endpoint: &config.listen, is_tls }.to_string();
    let server = Server::bind(config).map_err(|error| failed(&format!("listen on {wanted}"), &error))?;
    server.stop_on_signals().map_err(|error| failed("wait for signals", &error))?;
    let location = Location { endpoint: server.address(), is_tls };
    program.print(format!("listening on {location}\n").as_bytes())?;
    let counts = server.run().map_err(|error| failed("go on serving", &error))?;
    program.print(counts.to_string().as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// The server's configuration, and further settings.
#[derive(Debug)]
struct ServeSettings {
    config: Config,
    /// The file for the server's certificate.
    certificate_file: Option<PathBuf>,
    /// Notes on values that may not be what was meant.
    notices: Vec<String>,
}

fn settings(words: &[OsString]) -> Result<ServeSettings, ParseStop> {
    let mut args = ServeArgs::default();
    let order = Order::from_environment();
    grammar::parse(&COMMAND, words, order, &mut args)?;
    rules::check_own(&COMMAND, words, order, &[("tls-tickets=off", args.tls.has_no_tickets)])?;
    args.settings()
}

/// The arguments.
#[derive(Debug)]
pub struct ServeArgs {
    /// All that an option says on its own; the fields below complete it.
    config: Config,
    /// `--capacity`.
    rate: Option<f64>,
    /// `--queue`.
    queue: Option<u32>,
    /// `--fault`, in the order given.
    faults: Vec<FaultShare>,
    tls: TlsArgs,
    http2: Http2Args,
    http3: Http3Args,
    /// Notes on values that may not be what was meant.
    notices: Vec<String>,
}

impl Default for ServeArgs {
    fn default() -> Self {
        let listen = Endpoint::Tcp(([127, 0, 0, 1], 8080).into());
        let config = Config { listen, ..Config::default() };
        Self {
            config,
            rate: None,
            queue: None,
            faults: Vec::new(),
            tls: TlsArgs::default(),
            http2: Http2Args::default(),
            http3: Http3Args::default(),
            notices: Vec::new(),
        }
    }
}

impl ServeArgs {
    /// Its meaning.
    fn settings(mut self) -> Result<ServeSettings, ParseStop> {
        let faults = FaultMix::new(self.faults)
            .map_err(|too_many| ParseStop::rejected(format!("--fault: {too_many}")))?;
        let capacity = self.rate.map(|rate| ServerCapacity { rate, queue: self.queue });
        let certificate_file = self.tls.certificate_file.take();
        let tls = self.tls.config(&self.config.listen)?;
        let http2 = self.http2.config();
        let http3 = self.http3.config(&self.config.listen, tls.as_ref())?;
        let config = Config { faults, capacity, tls, http2, http3, ..self.config };
        Ok(ServeSettings { config, certificate_file, notices: self.notices })
    }
}

/// The command line of `httperf serve`.
pub const COMMAND: Command<ServeArgs> = Command {
    name: "serve",
    summary: "Serves HTTP for tests, as quick, slow or faulty as asked, and prints what it did when stopped.",
    words: "",
    groups: &[
        Group { title: "Replies", options: REPLIES },
        Group { title: "Time", options: TIME },
        Group { title: "Streams", options: stream::OPTIONS },
        Group { title: "Connections", options: CONNECTIONS },
        Group { title: "TLS", options: tls::OPTIONS },
        Group { title: "HTTP/2", options: http2::OPTIONS },
        Group { title: "HTTP/3", options: http3::OPTIONS },
        Group { title: "Faults", options: FAULTS },
        Group { title: "General", options: GENERAL },
    ],
    also: None,
    word: |_, word| {
        let message = [b"expected nothing but options, got `", word, b"`"].concat();
        let hint = "--listen 127.0.0.1:8080 names address and port";
        Err(ParseStop::rejected(message).with_hint(Some(hint.to_owned())))
    },
};

const REPLIES: &[Opt<ServeArgs>] = &[
    Opt::with_value("size", "N", "answers with a body of N bytes")
        .common()
        .details(&[
            "Default: 1024. A `k`, `m` or `g` behind the number counts in 1024s.",
            "A client can ask for more by its path: /size/N, /delay/T, /status/N, /chunked/N, \
             /trailers/N, /fault/KIND, /page/N (HTML with N images), /cookie, /redirect, \
             /alt-svc/VALUE (percent-encoded), /h2-window/N (see --h2-window) and /sse/N (see \
             --stream-first). Such steps add up, as in /status/503/size/100. Below /v1/ there is an API in \
             the form of OpenAI's (see --stream-first). Any other path gets what the options say.",
        ])
        .apply(|args, value| {
            args.config.size = read(value, parse_size)?;
            Ok(())
        }),
    Opt::with_value("status", "LIST", "answers with this status, or a mix: 200:95,503:5")
        .common()
        .details(&["Default: 200. The number behind a status is its weight."])
        .apply(|args, value| {
            args.config.status = read(value, str::parse)?;
            Ok(())
        }),
    Opt::flag("chunked", "sends bodies in chunks instead of stating their size")
        .details(&["Over HTTP/2 and HTTP/3, which have no chunks, bodies come without a content-length."])
        .apply(|args, _| {
            args.config.framing = Framing::Chunked;
            Ok(())
        }),
    Opt::flag("trailers", "sends bodies in chunks, followed by a Server-Checksum trailer")
        .details(&[
            "The trailer holds the FNV-1a hash (64 bits, hexadecimal) of the body. It is sent whether or \
             not the client said that it takes trailers. Over HTTP/2 and HTTP/3 it follows a body without \
             a content-length.",
        ])
        .apply(|args, _| {
            args.config.framing = Framing::Trailers;
            Ok(())
        }),
];

const TIME: &[Opt<ServeArgs>] = &[
    Opt::with_value("delay", "T", "waits for T, or a random time, before each reply")
        .common()
        .details(&[
            "Default: none. A duration such as 50ms, 0.2s or 100us (seconds if there is no unit), or one of uniform:MIN,MAX, \
             jitter:MIDDLE,DEVIATION (uniform, too), exp:MEAN, normal:MEAN,DEVIATION, lognormal:MEDIAN,SIGMA and \
             pareto:MIN,SHAPE, as in lognormal:20ms,0.5.",
            "Any number of replies wait at the same time; --capacity is what limits the server.",
        ])
        .apply(|args, value| {
            args.config.delay = read(value, str::parse)?;
            if let Some(seconds) = value.real().filter(|&seconds| seconds >= 1.0) {
                args.notices.push(format!(
                    "--delay {seconds} waits {seconds} seconds before each reply; --delay {seconds}ms waits milliseconds"
                ));
            }
            Ok(())
        }),
    Opt::with_value(
        "capacity",
        "X",
        "sends at most X replies per second",
    )
    .common()
    .details(&["Further requests wait in order of arrival. Default: as many as the machine manages."])
    .apply(|args, value| {
        args.rate = Some(read(value, parse_rate)?);
        Ok(())
    }),
    Opt::with_value("queue", "N", "lets N requests wait, and answers others with 503")
        .common()
        .details(&["They wait for --capacity; others get 503 at once. Default: any number may wait."])
        .needs(&[any_of(&["capacity"])])
        .apply(|args, value| {
            args.queue = Some(number("a number of requests", value)?);
            Ok(())
        }),
];

const CONNECTIONS: &[Opt<ServeArgs>] = &[
    Opt::with_value("listen", "ADDR:PORT", "listens on this address, or on unix:PATH")
        .common()
        .details(&[
            "Default: 127.0.0.1:8080. For port 0 the system picks one; the first line on stdout says which.",
        ])
        .apply(|args, value| {
            args.config.listen = listen_address(value)?;
            Ok(())
        }),
    Opt::with_value("close-after", "N", "closes a connection with its Nth reply, and announces it")
        .details(&["Default: the client closes. The last reply carries `Connection: close`. Over HTTP/2, \
             a GOAWAY goes before it, and requests that were on their way are answered before the \
             connection is closed. Over HTTP/3, the GOAWAY goes before it too, and requests behind the one \
             that it names are rejected (H3_REQUEST_REJECTED)."])
        .apply(|args, value| close_after(args, true, value)),
    Opt::with_value("close-silently", "N", "closes a connection after its Nth reply without announcing it")
        .details(&[
            "A client that has sent its next request already gets no answer to it. Over HTTP/2 and HTTP/3 \
             the Nth reply is the Nth that is made; others that are under way are cut off.",
        ])
        .apply(|args, value| close_after(args, false, value)),
    Opt::with_value("max-connections", "N", "holds at most N connections and resets further ones")
        .details(&[
            "Default: as many as the system's limit on open files allows. Over HTTP/3 further ones are \
             refused (CONNECTION_REFUSED).",
        ])
        .apply(|args, value| {
            let most = number("a number of connections", value)?;
            args.config.limits.connections = Some(most);
            Ok(())
        }),
    Opt::with_value("idle-timeout", "T", "closes a connection that is idle for T")
        .details(&["Default: 5min. A connection that waits for its reply is not idle."])
        .apply(|args, value| {
            let idle = read(value, parse_duration)?;
            if idle.is_zero() {
                return Err(value.expected("a duration above 0"));
            }
            args.config.limits.idle = idle;
            Ok(())
        }),
];

const FAULTS: &[Opt<ServeArgs>] = &[
    Opt::with_value(
        "fault",
        "KIND:PROBABILITY",
        "makes replies fail at random, as in reset:0.01",
    )
    .common()
    .details(&[
        "Instead of a reply: reset (the connection is reset), close (it is closed), stall (nothing ever \
         comes), garbage (bytes that are not HTTP).",
        "A broken reply: truncate (half of the body, then a close), reset-body (half of the body, then a \
         reset), bad-length (an invalid Content-Length), bad-chunk (an invalid chunk size), bad-header (a \
         header line that is none).",
        "A correct but awkward one: trickle (byte by byte), no-length (the body ends with the \
         connection), huge-header (a megabyte of it), surplus (bytes follow that belong to no reply), \
         interim (100 and 103 come first), stop-sending (it does not wait for the request's body, and \
         the connection is closed).",
        "Over HTTP/2, reset, reset-body, close and garbage end the connection for all its streams; the \
         others leave it usable. Truncate ends the stream before its content-length is met (where there \
         is no body, with INTERNAL_ERROR behind the header); bad-chunk ends it halfway with \
         INTERNAL_ERROR; no-length leaves out the content-length; surplus sends a DATA frame on the \
         stream that has ended; bad-header sends a header block that cannot be decompressed; stop-sending \
         resets the stream behind the reply (NO_ERROR).",
        "For HTTP/2: reset-stream (RST_STREAM with INTERNAL_ERROR instead of a reply), refuse-stream \
         (with REFUSED_STREAM), goaway (a GOAWAY goes before the reply, and the connection is closed when \
         all is answered), goaway-error (a GOAWAY with ENHANCE_YOUR_CALM instead of a reply, and a close \
         at once). Over HTTP/1, reset-stream is as reset, refuse-stream and goaway-error are as close, \
         and goaway is a reply that says `Connection: close`.",
        "For both HTTP/2 and HTTP/3: bad-frame (a frame that has no place there; over HTTP/1, as garbage), \
         silence (nothing is sent on the connection any more; over HTTP/1, as stall).",
        "Over HTTP/3, a fault is as over HTTP/2, with RESET_STREAM and the codes of HTTP/3, but for these: \
         reset and reset-body close the connection with H3_INTERNAL_ERROR, close with H3_NO_ERROR, \
         goaway-error with H3_EXCESSIVE_LOAD; garbage ends the stream alone; surplus sends the bytes on a \
         stream of an unknown type; stop-sending sends STOP_SENDING (H3_NO_ERROR) and then the reply.",
    ])
    .apply(|args, value| {
        args.faults.push(read(value, str::parse)?);
        Ok(())
    }),
    Opt::with_value("trickle-interval", "T", "waits for T between two bytes of a reply that trickles")
        .details(&["Default: 10ms."])
        .apply(|args, value| {
            args.config.trickle = read(value, parse_duration)?;
            Ok(())
        }),
    Opt::with_value("seed", "N", "seeds the random numbers of delays, statuses and faults with N")
        .details(&["Default: 1. The same requests in the same order meet the same chances."])
        .apply(|args, value| {
            let seed = value.unsigned();
            args.config.seed = seed.ok_or_else(|| value.expected("a whole number"))?;
            Ok(())
        }),
];

const GENERAL: &[Opt<ServeArgs>] = &[Opt::help()];

/// Reads a value that only text can be right for.
fn read<T>(value: Value<'_>, parse: impl FnOnce(&str) -> Result<T, Malformed>) -> Result<T, ParseStop> {
    let text = String::from_utf8_lossy(value.bytes());
    parse(&text).map_err(|malformed| value.expected(malformed.expected))
}

fn number(what: &str, value: Value<'_>) -> Result<u32, ParseStop> {
    let number = value.unsigned().and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| value.expected(what))
}

fn listen_address(value: Value<'_>) -> Result<Endpoint, ParseStop> {
    use std::os::unix::ffi::OsStrExt as _;

    // A path need not be text.
    match value.bytes().strip_prefix(b"unix:") {
        Some(path) if !path.is_empty() => {
            Ok(Endpoint::Unix(PathBuf::from(std::ffi::OsStr::from_bytes(path))))
        }
        _ => read(value, str::parse).map(|ListenAddress(endpoint)| endpoint),
    }
}

fn close_after(args: &mut ServeArgs, announced: bool, value: Value<'_>) -> Result<(), ParseStop> {
    let replies = value.unsigned().filter(|&replies| replies > 0);
    let replies = replies.ok_or_else(|| value.expected("a number of replies above 0"))?;
    args.config.close_after = Some(CloseAfter { replies, announced });
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use httperf_command_line::grammar::parse::words;
    use httperf_origin::{Delay, Fault, StatusMix};

    use super::*;

    fn configured(argv: &[&str]) -> Config {
        settings(&words(argv)).unwrap().config
    }

    #[track_caller]
    fn check_rejected(argv: &[&str], expected: &str) {
        assert_eq!(settings(&words(argv)).unwrap_err(), ParseStop::rejected(expected));
    }

    #[test]
    fn without_options_it_listens_on_port_8080_of_this_machine() {
        let config = configured(&[]);
        assert_eq!(config.listen, Endpoint::Tcp(([127, 0, 0, 1], 8080).into()));
        assert!(config.tls.is_none());
        assert_eq!(config.http2, Some(httperf_origin::Http2::default()));
        assert_eq!((config.size, config.delay, config.capacity), (1024, Delay::default(), None));
        assert_eq!((config.status, config.faults), (StatusMix::default(), FaultMix::default()));
        assert_eq!((config.framing, config.close_after), (Framing::Length, None));
    }

    #[test]
    fn every_option_finds_its_place() {
        let config = configured(&[
            "--listen=unix:/run/x",
            "--size=2k",
            "--status=200:1,503:1",
            "--chunked",
            "--delay=exp:20ms",
            "--capacity=100.5",
            "--queue=7",
            "--max-connections=9",
            "--idle-timeout=1min",
            "--fault=reset:1%",
            "--fault",
            "stall:0.5",
            "--trickle-interval=1ms",
            "--seed=42",
        ]);
        assert_eq!(config.listen, Endpoint::Unix("/run/x".into()));
        assert_eq!(config.size, 2048);
        assert_eq!(config.status, "200:1,503:1".parse().unwrap());
        assert_eq!(config.framing, Framing::Chunked);
        assert_eq!(config.delay, Delay::Exponential { mean: Duration::from_millis(20) });
        assert_eq!(config.capacity, Some(ServerCapacity { rate: 100.5, queue: Some(7) }));
        assert_eq!(config.limits.connections, Some(9));
        assert_eq!(config.limits.idle, Duration::from_secs(60));
        let faults = ["reset:0.01", "stall:0.5"].map(|share| share.parse().unwrap());
        assert_eq!(config.faults, FaultMix::new(faults.to_vec()).unwrap());
        assert_eq!(config.trickle, Duration::from_millis(1));
        assert_eq!(config.seed, 42);
        assert_eq!(configured(&["--trailers"]).framing, Framing::Trailers);
    }

    #[test]
    fn the_last_word_on_closing_counts() {
        let closing = |argv: &[&str]| configured(argv).close_after.unwrap();
        let silent = closing(&["--close-after=3", "--close-silently=2"]);
        assert_eq!(silent, CloseAfter { replies: 2, announced: false });
        let announced = closing(&["--close-silently=2", "--close-after=3"]);
        assert_eq!(announced, CloseAfter { replies: 3, announced: true });
    }

    #[test]
    fn a_socket_path_need_not_be_text() {
        use std::os::unix::ffi::OsStringExt as _;

        let path = OsString::from_vec(b"unix:/run/\xff".to_vec());
        let ServeSettings { config, .. } = settings(&["--listen".into(), path]).unwrap();
        assert_eq!(config.listen, Endpoint::Unix(OsString::from_vec(b"/run/\xff".to_vec()).into()));
    }

    #[test]
    fn a_bad_value_is_answered_with_what_would_do() {
        for (argument, expected) in [
            ("--delay=x", "--delay: expected a duration such as 50ms, got `x`"),
            ("--delay=exp:", "--delay: expected a mean, such as exp:20ms, got `exp:`"),
            ("--size=1.5k", "--size: expected a size such as 1024, 16k or 2m, got `1.5k`"),
            (
                "--status=99",
                "--status: expected statuses from 200 to 599 with weights, such as 200:95,503:5, got `99`",
            ),
            ("--capacity=0", "--capacity: expected a rate above 0 such as 500 or 2k, got `0`"),
            ("--queue=-1", "--queue: expected a number of requests, got `-1`"),
            (
                "--listen=unix:",
                "--listen: expected an address such as 127.0.0.1:8080 or unix:/run/test.sock, got `unix:`",
            ),
            ("--close-after=0", "--close-after: expected a number of replies above 0, got `0`"),
            ("--close-silently=x", "--close-silently: expected a number of replies above 0, got `x`"),
            ("--max-connections=many", "--max-connections: expected a number of connections, got `many`"),
            ("--idle-timeout=0", "--idle-timeout: expected a duration above 0, got `0`"),
            (
                "--fault=reset",
                "--fault: expected a fault and its probability, such as reset:0.01, got `reset`",
            ),
            ("--trickle-interval=-1s", "--trickle-interval: expected a duration such as 50ms, got `-1s`"),
            ("--seed=dice", "--seed: expected a whole number, got `dice`"),
            (
                "here",
                "expected nothing but options, got `here`\nhint: --listen 127.0.0.1:8080 names address and port",
            ),
        ] {
            check_rejected(&[argument], expected);
        }
    }

    #[test]
    fn options_that_do_not_fit_together_are_refused() {
        check_rejected(&["--queue=5"], "--queue needs --capacity");
        check_rejected(
            &["--fault=reset:0.75", "--fault=stall:0.5"],
            "--fault: expected probabilities that sum to 1 at most, got 1.25",
        );
    }

    #[test]
    fn help_names_every_fault() {
        let fault = COMMAND.options().find(|option| option.long == "fault").unwrap();
        let details = fault.details.concat();
        for kind in Fault::ALL {
            assert!(details.contains(&format!("{kind} (")), "{kind}");
        }
    }

    #[test]
    fn every_option_is_described_in_one_line_without_full_stop() {
        for option in COMMAND.options() {
            assert!(!option.help.is_empty() && option.help.len() <= 90, "--{}", option.long);
            assert!(!option.help.ends_with('.'), "--{}", option.long);
            assert!(option.details.iter().all(|paragraph| paragraph.ends_with('.')), "--{}", option.long);
        }
    }
}
