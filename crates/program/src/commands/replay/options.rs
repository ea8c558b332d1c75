//! The command line of `httperf replay`: its own options, and those of a run.

use std::ffi::OsString;
use std::num::NonZeroU32;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use httperf_command_line::args::{Args, STDOUT};
use httperf_command_line::grammar::{
    self, Borrowed, Command, Group, Opt, Order, ParseStop, Value, any_of, rules,
};
use httperf_command_line::values::{positive, seconds};
use httperf_command_line::{hints, table};
use httperf_import::clients::By;
use httperf_plan::prompts::Endpoint;

use crate::commands::recordings;

/// The command line of `httperf replay`.
pub const COMMAND: Command<ReplayArgs, Args> = Command {
    name: "replay",
    summary: "Makes the requests of an access log or a trace again, each at its time.",
    words: "LOG|TRACE URL",
    groups: &[
        Group { title: "Load", options: LOAD },
        Group { title: "Requests", options: REQUESTS },
        Group { title: "Recording", options: RECORDING },
        Group { title: "General", options: GENERAL },
    ],
    also: Some(Borrowed { groups: table::COMMAND.groups, part: |args| &mut args.run }),
    word: |args, word| {
        if args.file.as_os_str().is_empty() {
            args.file = PathBuf::from(OsString::from_vec(word.to_vec()));
            return Ok(());
        }
        (table::COMMAND.word)(&mut args.run, word)
    },
};

const LOAD: &[Opt<ReplayArgs>] = &[
    Opt::with_value("speed", "X", "makes time run X times as fast")
        .common()
        .details(&[
            "A request that was recorded T seconds after the first is due T/X seconds after the start. Default: 1.",
        ])
        .apply(|args, value| {
            let speed = value.real().filter(|speed| (1e-3..=1e6).contains(speed));
            args.speed = Some(
                speed.ok_or_else(|| value.expected("a number from 0.001 to 1000000"))?,
            );
            Ok(())
        }),
    Opt::with_value("copies", "N", "makes N clients of each recorded one")
        .common()
        .details(&[
            "The others follow the first by fixed times within --spread. Twice the clients are another load than twice \
             the speed: each keeps its own pace. Default: 1.",
        ])
        .apply(|args, value| {
            args.copies = Some(positive(value)?);
            Ok(())
        }),
    Opt::with_value("spread", "X", "lets copies follow their client within X seconds of the recording's time")
        .details(&["Default: the mean pause between requests of a client."])
        .needs(&[any_of(&["copies"])])
        .apply(|args, value| {
            args.spread = Some(Duration::from_secs_f64(seconds(value)?));
            Ok(())
        }),
    Opt::flag("independent", "treats requests as independent of each other")
        .common()
        .details(&[
            "Any connection then takes any of them. Otherwise the requests of a client are made in their order, over \
             connections of its own, with the cookies that it is given.",
        ])
        .apply(|args, _| {
            args.is_independent = true;
            Ok(())
        }),
    Opt::with_value("connections", "N", "opens at most N connections for a client")
        .common()
        .details(&[
            "A request that finds all of them busy waits, and its latency counts that. Default: 6, over HTTP/2 1; \
             as many as are needed with --independent. Those that are idle for 60 s are closed.",
        ])
        .apply(|args, value| {
            args.connections = Some(positive(value)?);
            Ok(())
        }),
];

const REQUESTS: &[Opt<ReplayArgs>] = &[
    Opt::flag("allow-unsafe", "makes requests of all methods")
        .common()
        .details(&["Without it, requests of GET and HEAD alone are made. Others may change what the server holds. What is \
                    left out is counted."])
        .apply(|args, _| {
            args.allows_unsafe = true;
            Ok(())
        }),
    Opt::with_value(
        "body-for",
        "'METHOD PATH=FILE'",
        "sends this file with requests without a body",
    )
    .common()
    .repeatable()
    .details(&[
        "PATH is that of the requests, without a query; with `*` at its end, all that begin so. Content-Type follows \
         from the file's ending (json, xml, txt, html, csv, form), unless it was recorded or is given by --header.",
    ])
    .needs(&[any_of(&["allow-unsafe"])])
    .apply(|args, value| {
        args.bodies.push(body_for(value)?);
        Ok(())
    }),
    Opt::flag("no-cookies", "sends the recorded cookies, if any were recorded, and keeps none").apply(
        |args, _| {
            args.keeps_no_cookies = true;
            Ok(())
        },
    ),
];

const RECORDING: &[Opt<ReplayArgs>] = &[
    Opt::with_value("format", "FORMAT", "reads a log in this format")
        .common()
        .details(recordings::FORMAT)
        .apply(|args, value| {
            args.format = Some(recordings::format(value)?.1);
            Ok(())
        }),
    Opt::with_value("client-by", "PARTS", "tells clients apart by address, agent and user, joined by `+`")
        .details(recordings::CLIENT_BY)
        .apply(|args, value| {
            args.by = Some(recordings::client_by(value)?);
            Ok(())
        }),
    Opt::with_value("idle", "X", "ends a client's session, and its cookies, after a pause of X seconds")
        .details(&["By the recording's clock. Default: 1800."])
        .apply(|args, value| {
            args.idle = Some(recordings::idle(value)?);
            Ok(())
        }),
];

const GENERAL: &[Opt<ReplayArgs>] = &[
    Opt::flag("dry-run", "prints the first requests and sends nothing").common().apply(|args, _| {
        args.shows_only = true;
        Ok(())
    }),
    Opt::help(),
];

/// The arguments of `httperf replay`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplayArgs {
    /// The recording.
    pub(super) file: PathBuf,
    /// `--speed`.
    pub(super) speed: Option<f64>,
    /// `--copies`.
    pub(super) copies: Option<NonZeroU32>,
    /// `--spread`.
    pub(super) spread: Option<Duration>,
    /// `--independent`.
    pub(super) is_independent: bool,
    /// `--connections`.
    pub(super) connections: Option<NonZeroU32>,
    /// `--allow-unsafe`.
    pub(super) allows_unsafe: bool,
    /// `--body-for`, each time it was given: method, path and file.
    pub(super) bodies: Vec<(String, String, PathBuf)>,
    /// `--no-cookies`.
    pub(super) keeps_no_cookies: bool,
    /// `--format`.
    pub(super) format: Option<String>,
    /// `--client-by`, and as it was typed.
    pub(super) by: Option<(By, String)>,
    /// `--idle`.
    pub(super) idle: Option<Duration>,
    /// `--dry-run`.
    pub(super) shows_only: bool,
    /// The options of a run.
    pub(super) run: Args,
}

/// Options of a run that say what a recording says, or that only other workloads have.
const UNFIT: &[&str] = &[
    "uri",
    "num-conns",
    "num-calls",
    "burst-length",
    "wlog",
    "wset",
    "wsess",
    "wsesslog",
    "wsesspage",
    "session-cookies",
    "failure-status",
    "retry-on-failure",
    "max-connections",
    "max-piped-calls",
    "method",
    "body",
    "body-file",
    "form",
    "targets",
    "prompts",
    "max-tokens",
    "whole-answers",
    "grpc",
    "pipeline",
    "call-pause",
    "rate",
    "period",
    "request-rate",
    "request-period",
    "per-connection",
    "concurrency",
    "print-workload",
    "max-open",
];

impl ReplayArgs {
    /// Reads the words behind `httperf replay`.
    ///
    /// # Errors
    /// The mistake in them, or what they ask for instead of a run.
    pub(super) fn parse(words: &[OsString]) -> Result<Self, ParseStop> {
        let mut args = Self::default();
        let order = Order::from_environment();
        grammar::parse(&COMMAND, words, order, &mut args)?;
        args.check_file()?;
        args.run.note_given(&COMMAND, words, order);
        // Which of the two it has is known when it has been read.
        args.run.brought = vec!["prompts", "llm"];
        if let Some(unfit) = args.run.given.iter().find(|given| UNFIT.contains(&given.option.long)) {
            let message =
                format!("--{} cannot be used with a recording: it says that itself", unfit.option.long);
            let hint =
                (unfit.option.long == "rate").then(|| "--speed and --copies change the load".to_owned());
            return Err(ParseStop::rejected(message).with_hint(hint));
        }
        args.check_server()?;
        let has_copies = args.copies.is_some_and(|copies| copies.get() > 1);
        rules::check_own(&COMMAND, words, order, &[("copies", has_copies)])?;
        args.run.check()?;
        Ok(args)
    }

    fn check_file(&self) -> Result<(), ParseStop> {
        let name = self.file.display().to_string();
        let (message, hint) = match () {
            () if name.is_empty() => ("expected a log or a trace, got none".to_owned(), USAGE.to_owned()),
            () if name.contains("://") => {
                (format!("expected a log or a trace first, got `{name}`"), USAGE.to_owned())
            }
            () if self.file == Path::new(STDOUT) => (
                "expected a file, as it is read twice, got `-`".to_owned(),
                "`httperf import log -` makes a trace of standard input".to_owned(),
            ),
            () => {
                let Some(other) = hints::for_file(&name).filter(|line| !line.starts_with("httperf replay"))
                else {
                    return Ok(());
                };
                (format!("expected a log or a trace, got `{name}`"), other)
            }
        };
        Err(ParseStop::rejected(message).with_hint(Some(hint)))
    }

    /// Requests of a log go to the server that is meant, never to one that nobody named.
    fn check_server(&self) -> Result<(), ParseStop> {
        let run = &self.run;
        // A trace of a language model has no paths.
        let is_own = |uri: &[u8]| uri != b"/" && Endpoint::of(uri).is_none();
        if let Some(url) = run.url().filter(|url| is_own(&url.uri)) {
            return Err(ParseStop::rejected(own_paths(&String::from_utf8_lossy(&url.uri))));
        }
        let has_server = run.url().is_some() || run.server.is_some() || run.servers.is_some();
        if let (Some(word), true) = (run.stray_words.first(), has_server || self.shows_only) {
            let message = format!("expected one recording, got also `{}`", String::from_utf8_lossy(word));
            return Err(ParseStop::rejected(message));
        }
        if has_server || self.shows_only {
            return Ok(());
        }
        let message = match run.stray_words.first() {
            Some(word) => format!("expected the URL of the server, got `{}`", String::from_utf8_lossy(word)),
            None => "expected the URL of the server behind the recording, got none".to_owned(),
        };
        Err(ParseStop::rejected(message).with_hint(Some(USAGE.to_owned())))
    }
}

/// The reason for which a URL with this path is refused.
pub(super) fn own_paths(path: &str) -> String {
    format!("expected a URL without a path, as the recording has the paths, got `{path}`")
}

/// An example of a whole command.
const USAGE: &str = "httperf replay access.log http://127.0.0.1:8080";

/// Reads `METHOD PATH=FILE`.
fn body_for(value: Value<'_>) -> Result<(String, String, PathBuf), ParseStop> {
    let wrong = || value.expected("METHOD PATH=FILE, such as 'POST /cart=cart.json'");
    let text = std::str::from_utf8(value.bytes()).map_err(|_| wrong())?;
    let (method, rest) = text.split_once(' ').ok_or_else(wrong)?;
    let (path, file) = rest.split_once('=').ok_or_else(wrong)?;
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_path = path.starts_with('/') && !path.contains(['?', ' ']) || path == "*";
    if !is_method || !is_path || file.is_empty() {
        return Err(wrong());
    }
    Ok((method.to_owned(), path.to_owned(), PathBuf::from(file)))
}
