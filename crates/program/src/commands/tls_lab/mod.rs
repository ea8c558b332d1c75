//! `httperf tls-lab`: what key exchange, ciphers and resumption cost with a server.
//!
//! Here are its options and its words. `experiment` makes the trials; the `report` crate computes what they mean.

mod experiment;

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use httperf_command_line::args::{self, TypedUrl, Version};
use httperf_command_line::grammar::{self, Command, Group, Opt, Order, ParseStop, Value, any_of, rules};
use httperf_command_line::outputs::{Outputs, TakesOutputs};
use httperf_command_line::planning;
use httperf_command_line::table;
use httperf_command_line::terminal::messages::Program;
use httperf_engine::Part;
use httperf_plan::{Plan, Tls, TlsVersion};
use httperf_proto::quic::ABSENT_GROUPS;
use httperf_proto::tls::{GROUPS, Group as KeyExchange};
use httperf_report::tls_lab::{Results, TlsLabOutcome, TlsLabSettings};
use httperf_stats::TlsSummary;

use self::experiment::{Candidate, Event, Experiment};
use crate::progress::Progress;
use crate::runner::results::documents::DocumentFiles;
use crate::runner::{Runner, probe};

/// Runs `httperf tls-lab` with these words behind it. `program` is the program itself.
#[must_use]
pub fn main(program: &Program, words: &[OsString]) -> ExitCode {
    let program = program.subcommand(COMMAND.name);
    match parsed(words) {
        Ok(args) => compare(&program, &args).unwrap_or_else(|status| status),
        Err(stop) => program.stop(&COMMAND.describe(), &stop),
    }
}

/// Compares and reports. An early end has been explained when its exit status comes back.
fn compare(program: &Program, args: &TlsLabArgs) -> Result<ExitCode, ExitCode> {
    let base = base_plan(program, args).map_err(|error| error.explain(program))?;
    let candidates = args.candidates(base.tls.as_ref().expect("the plan of a https:// URL has TLS"));
    let experiment = Experiment { base, candidates, resumes: args.resume, settings: args.settings };
    let mut files = DocumentFiles::prepare(&args.outputs, &args.base.read_files())
        .map_err(|error| program.fail(&error))?;
    let runner = Runner::unrehearsed().map_err(|error| program.fail(&error))?;
    let mut progress = Progress::new(program, &args.outputs);
    progress.show("asking the server");
    if let Err(error) = check(&runner, &experiment.base) {
        drop(progress);
        return Err(program.fail(&error));
    }
    let carried_out = experiment.run(
        &args.server(),
        &mut |plan| Ok(runner.measure(Part::whole(plan, None))?),
        &|| runner.is_interrupted(),
        &mut |event| match event {
            Event::Next { what, round } => {
                let all = usize::try_from(args.settings.rounds).unwrap_or(usize::MAX);
                progress.show_part(what, usize::try_from(round).unwrap_or(usize::MAX), all);
            }
            Event::Round(results) => {
                progress.rows(results);
                files.write(program, results);
            }
        },
    );
    let results = carried_out.and_then(|results| match nothing_measured(&results, runner.is_interrupted()) {
        Some(reason) => bail!(reason),
        None => Ok(results),
    });
    let results = match results {
        Ok(results) => results,
        Err(error) => {
            drop(progress);
            return Err(program.fail(&error));
        }
    };
    if results.is_interrupted() && runner.is_interrupted() {
        program.say(format_args!("interrupted after {} of {} rounds", results.rounds, args.settings.rounds));
    }
    files.write_last(program, &results);
    progress.finish(&results)?;
    if files.lack_something() {
        return Err(ExitCode::FAILURE);
    }
    Ok(runner.exit_code())
}

/// Connects once, so that nobody waits for handshakes with a server that is not there or speaks no TLS. A server that
/// refuses what it is offered may accept a variant.
fn check(runner: &Runner, base: &Plan) -> anyhow::Result<()> {
    let plan = probe::probe(base, 1, DEFAULT_TIMEOUT);
    let summary = runner.measure(Part::whole(&plan, None))?;
    let tls = summary.tls.as_deref().filter(|tls| !tls.transport.is_empty());
    let refuses = tls.and_then(TlsSummary::hopeless).is_some_and(|failure| !failure.is_not_tls());
    match probe::slowest(&plan, &summary) {
        Err(fault) if !refuses && !runner.is_interrupted() => bail!(fault),
        _ => Ok(()),
    }
}

/// The plan common to all trials: a connection to the server, and a handshake.
fn base_plan(program: &Program, args: &TlsLabArgs) -> Result<Plan, planning::Error> {
    planning::plan(program, &args.base, &mut |warning| program.say(warning))
}

/// The reason why there is nothing to report, in one sentence.
fn nothing_measured(results: &Results, is_interrupted: bool) -> Option<String> {
    let mut reasons: Vec<&str> = Vec::new();
    for variant in &results.variants {
        match &variant.outcome {
            TlsLabOutcome::Measured { trials, .. } if !trials.is_empty() => return None,
            TlsLabOutcome::Measured { .. } => {}
            TlsLabOutcome::Refused { reason } | TlsLabOutcome::Lost { reason, .. } => {
                if !reasons.contains(&&reason[..]) {
                    reasons.push(reason);
                }
            }
        }
    }
    if is_interrupted {
        return Some("interrupted before the first round was complete".to_owned());
    }
    let names: Vec<&str> = results.variants.iter().map(|variant| &variant.name[..]).collect();
    Some(format!("{} accepts none of {}: {}", results.server, names.join(", "), reasons.join("; ")))
}

fn parsed(words: &[OsString]) -> Result<TlsLabArgs, ParseStop> {
    let mut args = TlsLabArgs::default();
    let order = Order::from_environment();
    grammar::parse(&COMMAND, words, order, &mut args)?;
    let conditions = [("ciphers", !args.ciphers.is_empty()), ("http-version=3", args.is_over_quic())];
    rules::check_own(&COMMAND, words, order, &conditions)?;
    args.check()?;
    Ok(args)
}

/// The arguments.
#[derive(Debug)]
pub struct TlsLabArgs {
    /// The arguments of a run of handshakes alone: server, names, trust, time limit.
    base: args::Args,
    /// `--groups`.
    groups: Vec<&'static str>,
    /// `--ciphers`.
    ciphers: Vec<String>,
    /// `--resume`.
    resume: bool,
    /// Numbers of rounds and handshakes, and the like.
    settings: TlsLabSettings,
    /// Destinations of the results.
    outputs: Outputs,
}

impl TakesOutputs for TlsLabArgs {
    const FORMATS: &'static str = "text|csv|json|html";

    fn outputs(&mut self) -> &mut Outputs {
        &mut self.outputs
    }
}

/// `--groups`, unless it is given.
const DEFAULT_GROUPS: &str = "X25519,X25519MLKEM768,MLKEM1024,P-256";

/// A connect has this long, and then a handshake, unless `--timeout` says otherwise.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(5);

/// The expected form of a server.
const SERVER: &str = "a server such as https://www.example.com or localhost:8443";

/// The most of each that can be asked for. Beyond them an experiment takes days, or a machine's ports.
const ROUNDS_MAX: u64 = 1000;
const HANDSHAKES_MAX: u64 = 1_000_000;
const CONCURRENCY_MAX: u64 = 10_000;

impl Default for TlsLabArgs {
    fn default() -> Self {
        let mut base = args::Args::default();
        base.tls.handshake_only = true;
        base.timeout = DEFAULT_TIMEOUT.as_secs_f64();
        Self {
            base,
            groups: named_groups(DEFAULT_GROUPS).expect("the library has the groups that are the default"),
            ciphers: Vec::new(),
            resume: false,
            settings: TlsLabSettings {
                rounds: 10,
                handshakes: 100,
                rate_handshakes: 200,
                concurrency: 8,
                timeout: DEFAULT_TIMEOUT,
                seed: 1,
                is_verified: false,
            },
            outputs: Outputs::default(),
        }
    }
}

impl TlsLabArgs {
    /// Checks words that depend on each other.
    fn check(&self) -> Result<(), ParseStop> {
        if self.base.url().is_none() {
            return Err(ParseStop::rejected(format!("expected {SERVER}")));
        }
        if self.groups.is_empty() && self.ciphers.is_empty() {
            return Err(ParseStop::rejected("--groups: expected --ciphers beside an empty list"));
        }
        if self.is_over_quic()
            && let Some(group) = self.groups.iter().find(|group| ABSENT_GROUPS.contains(group))
        {
            return Err(ParseStop::rejected(format!(
                "--groups: expected groups that QUIC's library has, got {group}, which is there over TCP alone"
            )));
        }
        Ok(())
    }

    fn is_over_quic(&self) -> bool {
        self.base.version() == Version::HTTP_3
    }

    /// The server as reports show it.
    fn server(&self) -> String {
        let host = String::from_utf8_lossy(self.base.server());
        let port = self.base.port();
        let host = if host.contains(':') { format!("[{host}]") } else { host.into_owned() };
        let over = if self.is_over_quic() { " over QUIC" } else { "" };
        format!("https://{host}:{port}{over}")
    }

    /// The candidates, in the order of the lists.
    fn candidates(&self, tls: &Tls) -> Vec<Candidate> {
        let groups = self.groups.iter().map(|&name| Candidate {
            name: name.to_owned(),
            tls: Tls { groups: Some(name.to_owned()), ..tls.clone() },
        });
        let ciphers = self.ciphers.iter().map(|name| Candidate {
            name: name.clone(),
            tls: Tls { ciphers: Some(name.clone()), max: TlsVersion::Tls12, ..tls.clone() },
        });
        groups.chain(ciphers).collect()
    }
}

/// The command line of `httperf tls-lab`.
pub const COMMAND: Command<TlsLabArgs> = Command {
    name: "tls-lab",
    summary: "Compares what TLS handshakes cost with different key-exchange groups, ciphers and resumption.",
    words: "URL",
    groups: &[
        Group { title: "Variants", options: VARIANTS },
        Group { title: "Trials", options: TRIALS },
        Group { title: "Server", options: SERVER_OPTIONS },
        Group { title: "Results", options: RESULTS },
        Group { title: "General", options: &[Opt::help()] },
    ],
    also: None,
    word: server,
};

const VARIANTS: &[Opt<TlsLabArgs>] = &[
    Opt::with_value("groups", "LIST", "measures each of these key-exchange groups")
        .common()
        .details(&[
            "Default: X25519,X25519MLKEM768,MLKEM1024,P-256. Separated by commas or colons; `httperf \
             --tls-groups help` lists them. The first that the server accepts is what the others are \
             compared with. One that is named twice shows how far figures can be trusted. An empty list \
             leaves --ciphers alone.",
            "What the server refuses is a row of the table that says why.",
        ])
        .apply(|args, value| {
            let text = String::from_utf8_lossy(value.bytes());
            args.groups = named_groups(&text).ok_or_else(|| {
                let known: Vec<&str> = GROUPS.iter().map(|group| group.name).collect();
                value.expected(&format!("groups among {}", known.join(", ")))
            })?;
            Ok(())
        }),
    Opt::with_value("ciphers", "LIST", "measures each of these cipher suites as well")
        .common()
        .details(&["Default: none. Separated by commas or colons, as in \
             ECDHE-ECDSA-AES128-GCM-SHA256,ECDHE-ECDSA-CHACHA20-POLY1305. The suites of TLS 1.3 cannot be \
             chosen."])
        .conflicts(&[any_of(&["http-version=3"]).because("HTTP/3 always has TLS 1.3")])
        .apply(|args, value| {
            let text = String::from_utf8_lossy(value.bytes());
            if !names(&text).all(is_cipher) {
                let what = "cipher suites of TLS 1.2 such as ECDHE-RSA-AES128-GCM-SHA256";
                return Err(value.expected(what));
            }
            args.ciphers = names(&text).map(str::to_owned).collect();
            Ok(())
        }),
    Opt::flag("resume", "measures resumed sessions as well")
        .common()
        .details(&["Of the handshakes of such a trial all but the first resume, if the server lets them."])
        .apply(|args, _| {
            args.resume = true;
            Ok(())
        }),
];

const TRIALS: &[Opt<TlsLabArgs>] = &[
    Opt::with_value("rounds", "N", "makes N rounds, each with a trial of each variant")
        .common()
        .details(&[
            "Default: 10. Range: 1 to 1000. Figures are means over rounds; their intervals of 95 % \
             confidence (Student's t) become narrower with more of them. A single round gives no \
             intervals.",
            "Trials that warm up precede the first round and are left out.",
        ])
        .apply(|args, value| {
            args.settings.rounds = number(1..=ROUNDS_MAX, value)?;
            Ok(())
        }),
    Opt::with_value("handshakes", "N", "makes N handshakes in each trial")
        .common()
        .details(&["Default: 100. Range: 1 to 1000000. Below 100 there is no p99; of 100 it is the second \
             slowest. A trial is ended after a minute."])
        .apply(|args, value| {
            args.settings.handshakes = number(1..=HANDSHAKES_MAX, value)?;
            Ok(())
        }),
    Opt::with_value(
        "rate-handshakes",
        "N",
        "makes N more handshakes in each trial, several at once, for the sustained rate",
    )
    .details(&["Default: 200. Range: 0 to 1000000; 0 leaves that out. Each handshake takes a local port, \
         which the system gives back after a minute: keep the sum over all trials of a minute below some \
         28000."])
    .apply(|args, value| {
        args.settings.rate_handshakes = number(0..=HANDSHAKES_MAX, value)?;
        Ok(())
    }),
    Opt::with_value("concurrency", "N", "keeps N of the --rate-handshakes going at once")
        .common()
        .details(&["Default: 8. Range: 1 to 10000."])
        .apply(|args, value| {
            let concurrency = number(1..=CONCURRENCY_MAX, value)?;
            args.settings.concurrency = u32::try_from(concurrency).expect("the range ends before");
            Ok(())
        }),
    Opt::with_value("seed", "N", "seeds the random order of the trials with N")
        .details(&["Default: 1."])
        .apply(|args, value| {
            let seed = value.unsigned();
            args.settings.seed = seed.ok_or_else(|| value.expected("a whole number"))?;
            Ok(())
        }),
];

const SERVER_OPTIONS: &[Opt<TlsLabArgs>] = &[
    Opt::with_value("http-version", "1.1|3", "measures the TLS of HTTP/1.1, over TCP, or that of HTTP/3, over QUIC")
        .common()
        .details(&[
            "Default: 1.1. Over QUIC, TLS is always version 1.3, and the time of a handshake is that of the connection. \
             Bytes are those of the messages of TLS.",
        ])
        .apply(|args, value| {
            args.base.http_version = Some(match value.bytes() {
                b"1.1" => Version::HTTP_11,
                b"3" => Version::HTTP_3,
                _ => return Err(value.expected("1.1 or 3")),
            });
            Ok(())
        }),
    Opt::with_value(
        "timeout",
        "T",
        "gives a connect, and then its handshake, this long: a duration such as 500ms",
    )
    .details(&["Default: 5s. Seconds if there is no unit."])
    .apply(|args, value| {
        let seconds = value.seconds().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let timeout = seconds.filter(|timeout| !timeout.is_zero());
        let timeout = timeout
            .ok_or_else(|| value.expected("a duration above 0 such as 500ms"))?;
        args.settings.timeout = timeout;
        args.base.timeout = timeout.as_secs_f64();
        Ok(())
    }),
    Opt::with_value("tls-server-name", "NAME", "calls the server by this name in TLS")
        .details(&["Default: the host of the URL. Of an address nothing is sent."])
        .apply(|args, value| {
            args.base.tls.server_name = Some(table::parse_server_name(value)?);
            Ok(())
        }),
    Opt::flag("ssl-verify", "checks the server's certificate")
        .common()
        .details(&["It must lead to a root of the system or of --ssl-ca-file and bear the server's name."])
        .apply(|args, _| {
            args.verify();
            Ok(())
        }),
    Opt::with_value(
        "ssl-ca-file",
        "FILE",
        "trusts the certificates in this file, in PEM, beside the system's",
    )
    .details(&["Implies --ssl-verify."])
    .apply(|args, value| {
        args.base.tls.ca_file = Some(value.os_str().to_owned());
        args.verify();
        Ok(())
    }),
];

const RESULTS: &[Opt<TlsLabArgs>] = &[
    TlsLabArgs::OUTPUT,
    TlsLabArgs::JSON,
    TlsLabArgs::CSV,
    TlsLabArgs::HTML,
    TlsLabArgs::TITLE,
    TlsLabArgs::LABEL,
    TlsLabArgs::FORMAT,
];

impl TlsLabArgs {
    fn verify(&mut self) {
        self.base.tls.verify = true;
        self.settings.is_verified = true;
    }
}

/// Takes the word that names the server: a https:// URL, or what follows `https://` in one.
fn server(args: &mut TlsLabArgs, word: &[u8]) -> Result<(), ParseStop> {
    let unusable = || ParseStop::rejected([b"expected ", SERVER.as_bytes(), b", got `", word, b"`"].concat());
    if !args.base.typed_urls.is_empty() {
        return Err(ParseStop::rejected([b"expected a single server, got also `", word, b"`"].concat()));
    }
    let url =
        if word.windows(3).any(|part| part == b"://") { word.to_vec() } else { [b"https://", word].concat() };
    args.base.typed_urls.extend(TypedUrl::from_word(&url));
    if args.base.url().is_some_and(|url| url.https) { Ok(()) } else { Err(unusable()) }
}

/// The names in a list; none if it is empty.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ':']).map(str::trim).filter(|name| !name.is_empty())
}

/// The groups in a list, as the library calls them; `None` if it has not all of them.
fn named_groups(text: &str) -> Option<Vec<&'static str>> {
    names(text).map(|name| KeyExchange::named(name).map(|group| group.name)).collect()
}

fn is_cipher(name: &str) -> bool {
    let tls = Tls { ciphers: Some(name.to_owned()), max: TlsVersion::Tls12, ..Tls::default() };
    httperf_engine::tls_context(&tls).is_ok()
}

fn number(range: std::ops::RangeInclusive<u64>, value: Value<'_>) -> Result<u64, ParseStop> {
    value.unsigned().filter(|number| range.contains(number)).ok_or_else(|| {
        let what = format!("a number from {} to {}", range.start(), range.end());
        value.expected(&what)
    })
}

#[cfg(test)]
mod tests {
    use httperf_command_line::grammar::parse::words;
    use httperf_report::Form;

    use super::*;

    fn args(argv: &[&str]) -> TlsLabArgs {
        parsed(&words(argv)).unwrap()
    }

    fn plan(argv: &[&str]) -> Plan {
        base_plan(&Program::started_as(&"httperf".into()), &args(argv)).unwrap()
    }

    #[test]
    fn a_server_is_a_url_or_a_host_with_or_without_a_port() {
        for (word, expected) in [
            ("https://127.0.0.1", "https://127.0.0.1:443"),
            ("https://127.0.0.1:8443/ignored?path", "https://127.0.0.1:8443"),
            ("HTTPS://LocalHost:443", "https://localhost:443"),
            ("localhost:8443", "https://localhost:8443"),
            ("localhost", "https://localhost:443"),
            ("[::1]:8443", "https://[::1]:8443"),
        ] {
            assert_eq!(args(&[word]).server(), expected, "{word}");
        }
        let over_quic = args(&["[::1]:8443", "--http-version=3"]);
        assert_eq!(over_quic.server(), "https://[::1]:8443 over QUIC");
    }

    #[test]
    fn every_trial_is_a_handshake_with_the_server_under_the_time_limit() {
        let plan = plan(&["localhost:8443", "--timeout=250ms", "--tls-server-name=www.example.com"]);
        assert_eq!(plan.targets[0].endpoint.to_string(), "127.0.0.1:8443");
        assert_eq!(plan.targets[0].tls_name.as_deref(), Some("www.example.com"));
        assert_eq!(plan.timeouts.timeout, Some(Duration::from_millis(250)));
        let httperf_plan::Workload::Connections(connections) = &plan.workload else {
            panic!("connections were asked for")
        };
        assert_eq!(connections.calls, 0);
        assert_eq!(plan.tls.as_ref().unwrap().verify, None);
    }

    #[test]
    fn groups_and_ciphers_are_variants_in_the_order_of_their_lists() {
        let args = args(&[
            "localhost",
            "--groups=p-256:x25519mlkem768",
            "--ciphers=ECDHE-RSA-AES128-GCM-SHA256,ECDHE-RSA-CHACHA20-POLY1305",
        ]);
        let candidates = args.candidates(&Tls::default());
        let names: Vec<&str> = candidates.iter().map(|candidate| &candidate.name[..]).collect();
        let expected =
            ["P-256", "X25519MLKEM768", "ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-CHACHA20-POLY1305"];
        assert_eq!(names, expected);
        let tls = &candidates[1].tls;
        assert_eq!((tls.groups.as_deref(), tls.max), (Some("X25519MLKEM768"), TlsVersion::Tls13));
        let tls = &candidates[2].tls;
        assert_eq!(
            (tls.ciphers.as_deref(), tls.max),
            (Some("ECDHE-RSA-AES128-GCM-SHA256"), TlsVersion::Tls12)
        );
        assert_eq!(tls.groups, None);
    }

    #[test]
    fn every_option_finds_its_place() {
        let args = args(&[
            "localhost",
            "--rounds=3",
            "--handshakes=7",
            "--rate-handshakes=0",
            "--concurrency=2",
            "--seed=42",
            "--resume",
            "--ssl-verify",
            "--csv=a",
            "--json",
        ]);
        let expected = TlsLabSettings {
            rounds: 3,
            handshakes: 7,
            rate_handshakes: 0,
            concurrency: 2,
            timeout: DEFAULT_TIMEOUT,
            seed: 42,
            is_verified: true,
        };
        assert_eq!((args.settings, args.outputs.form, args.resume), (expected, Form::Json, true));
        assert_eq!(args.outputs.files()[0].name, "a");
    }

    #[test]
    fn every_option_is_described_in_one_line_without_full_stop() {
        for option in COMMAND.options() {
            assert!(!option.help.is_empty() && option.help.len() <= 90, "--{}", option.long);
            assert!(!option.help.ends_with('.'), "--{}", option.long);
            assert!(option.details.iter().all(|paragraph| paragraph.ends_with('.')), "--{}", option.long);
        }
    }

    fn results(outcomes: Vec<TlsLabOutcome>) -> Results {
        let variants = outcomes.into_iter().map(|outcome| httperf_report::tls_lab::Variant {
            name: "X25519".to_owned(),
            kind: httperf_stats::HandshakeKind::Full,
            outcome,
        });
        Results {
            server: "https://localhost:443".to_owned(),
            settings: TlsLabArgs::default().settings,
            rounds: 0,
            variants: variants.collect(),
        }
    }

    #[test]
    fn when_nothing_was_measured_one_sentence_says_why() {
        let refused = |reason: &str| TlsLabOutcome::Refused { reason: reason.to_owned() };
        let none = results(vec![refused("timed out"), refused("no"), refused("timed out")]);
        let expected = "https://localhost:443 accepts none of X25519, X25519, X25519: timed out; no";
        assert_eq!(nothing_measured(&none, false).unwrap(), expected);
        let interrupted = Some("interrupted before the first round was complete".to_owned());
        assert_eq!(nothing_measured(&none, true), interrupted);
        assert_eq!(nothing_measured(&results(Vec::new()), true), interrupted);
    }
}
