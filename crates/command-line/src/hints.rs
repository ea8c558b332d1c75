//! Hints: the option that was probably meant where one was typed that does not exist.
//!
//! People type by habit what other tools call it, or misspell a name. The message stays that of the classic tool; a hint
//! follows on a line of its own.

use std::ffi::OsStr;
use std::path::Path;

use httperf_plan::{number, units};
use strsim::damerau_levenshtein;

use crate::examples;
use crate::grammar::Command;

/// An option of another tool, and its equivalent here.
#[derive(Clone, Copy, Debug)]
struct Habit {
    /// The name without dashes, or the letter.
    typed: &'static str,
    /// The hint. Options of ours begin with two dashes.
    hint: &'static str,
}

const fn habit(typed: &'static str, hint: &'static str) -> Habit {
    Habit { typed, hint }
}

/// An option of another tool in a command line, or a misspelt one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Foreign {
    /// Its name as it was typed, with its dashes.
    pub(crate) typed: String,
    /// The hint about it.
    pub(crate) hint: String,
}

/// The end of the hints about letters and about several options: the command line of another tool.
const LIKE: &str = "`httperf like TOOL ...` translates whole commands";

/// The lines of hints below the message about the option `mistaken`, which may be one of these.
pub(crate) fn lines<A, B>(command: &Command<A, B>, mistaken: &str, foreign: &[Foreign]) -> Vec<String> {
    let like = is_run(command.name).then_some(LIKE);
    match foreign {
        [] => Vec::new(),
        [Foreign { typed, hint }] if typed == mistaken => match like.filter(|_| !typed.starts_with("--")) {
            Some(like) => vec![format!("{hint}; {like}")],
            None => vec![hint.clone()],
        },
        several => {
            let each = several.iter().map(|Foreign { typed, hint }| format!("{typed}: {hint}"));
            each.chain(like.map(str::to_owned)).collect()
        }
    }
}

/// The hint about a letter that is no option.
pub fn letter<A, B>(command: &Command<A, B>, letter: u8) -> Option<String> {
    find(command, std::str::from_utf8(&[letter]).ok()?).map(str::to_owned)
}

/// The hint about a number of requests behind `-n`, which is an option without a value.
pub fn count<A, B>(command: &Command<A, B>) -> Option<String> {
    let of_runs = || Some(CALLS).filter(|_| is_run(command.name));
    find(command, "n").or_else(of_runs).map(str::to_owned)
}

/// The hint about a name that fits no option, or these candidates: the equivalent of another tool's option, or else the
/// nearest name there is.
pub fn long<A, B>(command: &Command<A, B>, name: &[u8], candidates: &[&str]) -> Option<String> {
    let name = std::str::from_utf8(name).ok()?;
    // A letter is another option than a name of one letter.
    if let Some(hint) = find(command, name).filter(|_| name.len() > 1) {
        return Some(hint.to_owned());
    }
    // The message lists the names that an abbreviation fits.
    let names = command.options().map(|option| option.long).filter(|_| candidates.is_empty());
    nearest(name, names).map(|near| format!("did you mean --{near}?"))
}

/// The options of ours that hints name, each with its command; those of runs are of the program itself, which has no name.
pub fn named_options() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_commands =
        OF_COMMANDS.iter().flat_map(|(name, habits)| habits.iter().map(move |habit| (*name, habit)));
    let of_runs = OF_RUNS.iter().chain(WORDS).map(|habit| ("", habit));
    of_commands.chain(of_runs).flat_map(|(name, habit)| options(habit.hint).map(move |option| (name, option)))
}

/// Returns whether a word is the name of a command.
pub fn is_command(word: &str) -> bool {
    examples::commands().any(|command| command == word)
}

/// The command line for a file with this name, as far as its ending tells.
pub fn for_file(name: &str) -> Option<String> {
    let ending = Path::new(name).extension()?.to_str()?.to_ascii_lowercase();
    Some(match &ending[..] {
        "toml" | "hurl" => format!("httperf run {name}"),
        "har" => format!("httperf import har {name}"),
        "sh" => format!("httperf import curl {name}"),
        "log" | "trace" | "gor" | "gz" => format!("httperf replay {name} http://127.0.0.1:8080/"),
        _ => return None,
    })
}

/// The hint about a file of `--output` whose name is a form, or an output of k6 such as `json=results.json`.
pub fn output(name: &str) -> Option<String> {
    let Some((kind, to)) = name.split_once('=') else {
        return match name {
            "json" => Some(
                "--json prints the result as JSON, --output ./json writes it to a file of that name"
                    .to_owned(),
            ),
            "csv" => Some("--csv FILE appends the figures to a CSV file".to_owned()),
            "html" | "web-dashboard" => {
                Some("--html FILE writes the result as a page with charts".to_owned())
            }
            _ => None,
        };
    };
    Some(match kind {
        "json" => format!("--output {to} writes the result as JSON, --calls FILE.csv a row for each call"),
        "csv" => {
            format!("--csv {to} appends the figures to a CSV file, --calls {to} writes a row for each call")
        }
        "influxdb" | "xk6-influxdb" => format!("--influx {to} sends the figures of each second to InfluxDB"),
        "web-dashboard" => "--html FILE writes the result as a page with charts".to_owned(),
        "cloud" | "kafka" | "statsd" | "datadog" | "opentelemetry" | "experimental-prometheus-rw" => {
            "--otlp URL and --metrics ADDRESS hand on the figures of each second".to_owned()
        }
        _ => return None,
    })
}

/// The command that was probably meant by the first word of a command line.
#[must_use]
pub fn misspelt_command(first: &OsStr) -> Option<&'static str> {
    let typed = first.to_str().filter(|typed| !typed.starts_with('-') && word(typed).is_none())?;
    nearest(typed, examples::commands())
}

/// The name that differs from `typed` by the fewest letters: by one in short names, by two at most.
pub fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let distances = names.map(|name| {
        let allowed = if name.len().min(typed.len()) < 4 { 1 } else { 2 };
        (damerau_levenshtein(typed, name), allowed, name)
    });
    let near = distances.filter(|&(distance, allowed, _)| distance <= allowed);
    near.min_by_key(|&(distance, ..)| distance).map(|(.., name)| name)
}

/// The hint about an option of another tool. Each command has its own table, or takes from that of a run what names
/// options that it has.
fn find<A, B>(command: &Command<A, B>, typed: &str) -> Option<&'static str> {
    let own = OF_COMMANDS.iter().filter(|(name, _)| *name == command.name).flat_map(|(_, habits)| *habits);
    let of_runs = OF_RUNS.iter().filter(|_| is_run(command.name));
    let habits = own.chain(of_runs).filter(|habit| habit.typed == typed);
    let has = |name: &str| command.options().any(|option| option.long == name);
    habits.map(|habit| habit.hint).find(|hint| options(hint).all(has))
}

/// Returns true if a value of `-d` is one that other tools take there, a time or a body, or the rest of an option's name behind a
/// single dash, such as `isable-keepalive`.
pub(crate) fn is_foreign_debug_value(value: &[u8]) -> bool {
    let is_number = number::real(value).is_some();
    let is_name =
        value.contains(&b'-') && value.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'-');
    !is_number
        && (is_name || units::seconds(value).is_some() || value.iter().any(|byte| b"{[=@\"".contains(byte)))
}

/// The hint about such a value.
pub(crate) fn debug_value<A, B>(command: &Command<A, B>, value: &[u8]) -> Option<String> {
    if !is_foreign_debug_value(value) {
        return None;
    }
    let is_body = value.iter().any(|byte| b"{[=@\"".contains(byte));
    let meant = match units::seconds(value) {
        Some(_) => "z",
        None if is_body => "data",
        None => return Some(LIKE.to_owned()),
    };
    Some(match find(command, meant)? {
        DURATION => format!("--duration {} offers load for that long", String::from_utf8_lossy(value)),
        hint => hint.to_owned(),
    })
}

/// The hint about a word that is no target.
pub fn word(word: &str) -> Option<&'static str> {
    if word.starts_with(['{', '[']) {
        return Some("--body TEXT with --header 'Content-Type: application/json' sends JSON");
    }
    WORDS.iter().find(|habit| habit.typed.eq_ignore_ascii_case(word)).map(|habit| habit.hint)
}

/// Returns whether a command makes runs whose options are those of the program itself.
fn is_run(command: &str) -> bool {
    matches!(command, "" | "sweep" | "capacity" | "ab")
}

/// The names of the options in a hint.
fn options(hint: &str) -> impl Iterator<Item = &str> {
    hint.split("--").skip(1).map(|rest| {
        let end = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '-'));
        &rest[..end.unwrap_or(rest.len())]
    })
}

const PROTO_PATH: &str = "--proto-path DIR looks there for what .proto files import";
const CONCURRENCY: &str = "--concurrency N keeps N connections busy";
pub(crate) const CALLS: &str =
    "--num-calls N makes N calls on each connection, --num-conns N makes N connections";
const DURATION: &str = "--duration 30s offers load for that long";
const RATE: &str = "--request-rate X offers X calls per second, --rate X starts X connections per second";
const HEADER: &str = "--header 'NAME: VALUE' adds a header field";
const COOKIE: &str = "--header 'Cookie: NAME=VALUE' sends a cookie";
const AGENT: &str = "--header 'User-Agent: NAME' names the client";
const METHOD: &str = "--method POST sets the method";
const HEAD: &str = "--method HEAD requests headers only";
const BODY: &str = "--body TEXT sends a body, --body-file FILE the contents of a file";
const BODY_FILE: &str = "--body-file FILE sends the contents of a file";
const JSON_OUT: &str = "--output - prints the result as JSON";
const FORM: &str = "--form NAME=VALUE or --form NAME=@FILE sends a form";
const BASIC_AUTH: &str = "--basic-auth USER:PASSWORD names the user";
const CONTENT_TYPE: &str = "--header 'Content-Type: TYPE' names the type of a body";
const ACCEPT: &str = "--header 'Accept: TYPE' asks for a type";
const INSECURE: &str = "leave it out: certificates are not checked unless --ssl-verify is given";
const KEEP_ALIVE: &str = "leave it out: connections are kept for as many calls as --num-calls says; certificates are not checked \
                          unless --ssl-verify is given";
const CLOSE: &str = "leave it out: --rate makes one call on each connection unless --num-calls says more";
const TIMEOUT: &str = "--timeout X gives the server X seconds for each step";
const HTTP2: &str = "--http-version 2 speaks HTTP/2";
const STREAMS: &str = "--streams N keeps N calls outstanding on each connection of HTTP/2";
const THREADS: &str = "--threads N shares the work among N threads";
const REDIRECTS: &str = "leave it out: redirects are not followed, but counted as 3xx";
const LATENCY: &str =
    "leave it out: the answer has the percentiles of the latency; off a terminal --report=answer prints it";
const QUIET: &str = "--quiet prints no progress";
const CSV: &str = "--csv FILE appends the figures to a CSV file, --calls FILE writes a row for each call";
const RESULT: &str = "--output FILE writes the result as JSON, --html FILE as a page with charts";
const RESOLVE: &str = "--connect-to HOST:PORT:ADDR:PORT connects to another address";
const PAUSE: &str = "--call-pause X pauses for X seconds between calls of a connection";
const TARGETS: &str = "--targets FILE takes whole requests from a file, --wlog y,FILE takes URIs";
const SCRIPTS: &str =
    "there are no scripts; --targets FILE takes whole requests from a file, --wsesslog N,X,FILE whole visits";
const RAMP: &str = "`httperf sweep` makes a run at each of several rates; a workload file has phases whose rate rises (docs/guide/load.md)";
const ADDRESS: &str =
    "leave it out: an IPv6 address stands in brackets in the URL, and IPv4 is preferred for names";
const HOST: &str =
    "a URL names the server: httperf http://HOST/; --header 'Host: NAME' changes the Host line";
const PROXY: &str = "--proxy URL sends requests through a proxy";
const PROTOCOL: &str = "--ssl-protocol TLSv1.3 sets the version of TLS, --ssl-ciphers LIST the ciphers";
const CERTIFICATE: &str = "--ssl-certificate FILE and --ssl-key FILE show a certificate of ours";
const AUTHORITY: &str = "--ssl-ca-file FILE trusts the certificates in a file";
const OBJECTIVES: &str = "--slo 'p99<50ms, errors<0.1%' sets objectives for the server";
const RANDOM: &str = "--client I/N chooses the stream of random numbers";
const VERBOSE: &str = "--verbose says more, --print-reply prints replies";

/// Options of other tools, for commands that make runs.
const OF_RUNS: &[Habit] = &[
    // Letters of ab, wrk, wrk2, hey, oha, h2load, vegeta, bombardier, siege, k6 and curl.
    habit("c", CONCURRENCY),
    habit("z", DURATION),
    habit("t", "--threads N shares the work among N threads, --duration 30s offers load for that long"),
    habit("H", HEADER),
    habit("X", METHOD),
    habit("k", KEEP_ALIVE),
    habit("o", RESULT),
    habit(
        "m",
        "--method POST sets the method, --timeout X gives the server X seconds, --streams N is for HTTP/2",
    ),
    habit("q", RATE),
    habit("R", "--request-rate X offers X calls per second"),
    habit("r", "--rate X starts X connections per second"),
    habit("2", HTTP2),
    habit("D", BODY_FILE),
    habit("p", BODY_FILE),
    habit("T", CONTENT_TYPE),
    habit("A", "--header 'Accept: TYPE' or --header 'User-Agent: NAME' adds that header field"),
    habit(
        "L",
        "leave it out: redirects are not followed, and --report=full prints the percentiles of the latency",
    ),
    habit("C", COOKIE),
    habit("b", COOKIE),
    habit("u", BASIC_AUTH),
    habit("a", BASIC_AUTH),
    habit("x", PROXY),
    habit("F", FORM),
    habit("f", TARGETS),
    habit(
        "i",
        "--method HEAD requests headers only; certificates are not checked unless --ssl-verify is given",
    ),
    habit("I", HEAD),
    habit(
        "s",
        "--timeout X gives the server X seconds; there are no scripts, but --targets FILE takes whole requests",
    ),
    habit("w", "--concurrency N keeps N connections busy, --output FILE writes the result as JSON"),
    habit("l", LATENCY),
    habit("e", CSV),
    habit("g", CSV),
    habit("E", CERTIFICATE),
    habit("Z", PROTOCOL),
    habit("4", ADDRESS),
    habit("6", ADDRESS),
    habit("j", JSON_OUT),
    habit("B", "--myaddr ADDRESS binds connections to a local address"),
    habit("S", QUIET),
    // The same by name.
    habit("call", "--grpc SERVICE/METHOD calls a method of gRPC"),
    habit("import-path", PROTO_PATH),
    habit("import-paths", PROTO_PATH),
    habit("plaintext", "a URL that begins with http:// is spoken to without TLS"),
    habit("concurrent", CONCURRENCY),
    habit("conns", "--concurrency N keeps N connections busy, --num-conns N makes N connections"),
    habit("clients", CONCURRENCY),
    habit("parallel", CONCURRENCY),
    habit("users", CONCURRENCY),
    habit("vus", CONCURRENCY),
    habit("workers", CONCURRENCY),
    habit("max-workers", CONCURRENCY),
    habit("requests", CALLS),
    habit("num-requests", CALLS),
    habit("number", CALLS),
    habit("count", CALLS),
    habit("iterations", CALLS),
    habit("reps", CALLS),
    habit("timelimit", DURATION),
    habit("run-time", DURATION),
    habit("rps", RATE),
    habit("qps", RATE),
    habit("query-per-second", RATE),
    habit("requests-per-second", RATE),
    habit("arrival-rate", RATE),
    habit("stage", RAMP),
    habit("stages", RAMP),
    habit("ramp-up", RAMP),
    habit("ramp", RAMP),
    habit("summary-export", RESULT),
    habit("cpus", THREADS),
    habit("delay", PAUSE),
    habit("burst-delay", PAUSE),
    habit("host", HOST),
    habit("url", "the URL stands by itself: httperf http://HOST:8080/path"),
    habit("file", TARGETS),
    habit("input-file", TARGETS),
    habit("script", SCRIPTS),
    habit("request", METHOD),
    habit("data", BODY),
    habit("data-raw", BODY),
    habit("data-binary", BODY),
    habit("data-ascii", BODY),
    habit("data-urlencode", FORM),
    habit("postfile", BODY_FILE),
    habit("putfile", BODY_FILE),
    habit("headers", HEADER),
    habit("content-type", CONTENT_TYPE),
    habit("accept", ACCEPT),
    habit("cookie", COOKIE),
    habit("user", BASIC_AUTH),
    habit("auth", BASIC_AUTH),
    habit("user-agent", AGENT),
    habit("referer", "--header 'Referer: URL' says where a link was found"),
    habit("insecure", INSECURE),
    habit("cacert", AUTHORITY),
    habit("capath", "--ssl-ca-path FOLDER trusts the certificates in a folder"),
    habit("cert", CERTIFICATE),
    habit("key", CERTIFICATE),
    habit("ciphers", PROTOCOL),
    habit("https", "--ssl speaks TLS, as does a URL that begins with https://"),
    habit("tlsv1.2", "--tls-min 1.2 asks for that version of TLS at least"),
    habit("tlsv1.3", "--tls-min 1.3 asks for that version of TLS at least"),
    habit("keepalive", KEEP_ALIVE),
    habit("keep-alive", KEEP_ALIVE),
    habit("disable-keepalive", CLOSE),
    habit("no-keepalive", CLOSE),
    habit("location", REDIRECTS),
    habit("redirects", REDIRECTS),
    habit("disable-redirects", REDIRECTS),
    habit("follow", REDIRECTS),
    habit("max-time", TIMEOUT),
    habit("connect-timeout", TIMEOUT),
    habit("http2", HTTP2),
    habit("http2-prior-knowledge", HTTP2),
    habit("h2c", HTTP2),
    habit("h2c-upgrade", "RFC 9113 has removed the upgrade from HTTP/1.1; --http-version 2 begins at once"),
    habit("http1.0", "--http-version 1.0 speaks HTTP/1.0"),
    habit("http1.1", "leave it out: HTTP/1.1 is spoken unless --http-version says another"),
    habit("h1", "leave it out: HTTP/1.1 is spoken unless --http-version says another"),
    habit("http1", "leave it out: HTTP/1.1 is spoken unless --http-version says another"),
    habit("max-concurrent-streams", STREAMS),
    habit("latency", LATENCY),
    habit("latencies", LATENCY),
    habit("percentiles", LATENCY),
    habit("histogram", LATENCY),
    habit("resolve", RESOLVE),
    habit("ipv4", ADDRESS),
    habit("ipv6", ADDRESS),
    habit("interface", "--myaddr ADDRESS binds connections to a local address"),
    habit("silent", QUIET),
    habit("no-tui", QUIET),
    habit("output-format", RESULT),
    habit("log-file", CSV),
    habit("seed", RANDOM),
    habit("threshold", OBJECTIVES),
    habit("thresholds", OBJECTIVES),
    habit(
        "format",
        "--json prints the result as JSON, --csv FILE appends a row of figures, --html FILE writes a page",
    ),
    habit("dump", VERBOSE),
];

const VISITORS: &str = "--concurrency N keeps N visits going, each followed by the next";
const VISIT_RATE: &str = "--rate X starts X visits per second";
const VISITS: &str = "--visits N makes N visits";
const VARIABLE: &str = "--variable NAME=VALUE sets a variable";

const RUN: &str = "a run needs no command: httperf http://HOST:8080/path --rate 100 --duration 10s";
const REQUEST: &str = "the method is an option, GET by default: httperf http://HOST:8080/path --method POST";

/// Commands of other tools, and words that stand for options.
const WORDS: &[Habit] = &[
    habit("attack", RUN),
    habit("load", RUN),
    habit("bench", RUN),
    habit("test", RUN),
    habit("get", REQUEST),
    habit("head", REQUEST),
    habit("post", REQUEST),
    habit("put", REQUEST),
    habit("delete", REQUEST),
    habit("version", "--version prints the version"),
    habit("k6", LIKE),
    habit("wrk", LIKE),
    habit("wrk2", LIKE),
    habit("hey", LIKE),
    habit("oha", LIKE),
    habit("h2load", LIKE),
    habit("vegeta", LIKE),
    habit("bombardier", LIKE),
    habit("curl", LIKE),
    habit("autobench", LIKE),
];

/// Options of other tools that have another equivalent in a command.
const OF_COMMANDS: &[(&str, &[Habit])] = &[
    (
        "run",
        &[
            // Those of k6, Locust, Artillery and others that run workloads from files.
            habit("u", VISITORS),
            habit("c", VISITORS),
            habit("vus", VISITORS),
            habit("users", VISITORS),
            habit("z", DURATION),
            habit("t", DURATION),
            habit("run-time", DURATION),
            habit("r", VISIT_RATE),
            habit("rps", VISIT_RATE),
            habit("arrival-rate", VISIT_RATE),
            habit("i", VISITS),
            habit("n", VISITS),
            habit("iterations", VISITS),
            habit("H", "--base URL names the server that steps begin their URLs with"),
            habit("host", "--base URL names the server that steps begin their URLs with"),
            habit("e", VARIABLE),
            habit("env", VARIABLE),
            habit("o", RESULT),
            habit("out", RESULT),
            habit("summary-export", "--output FILE writes the result as JSON"),
        ],
    ),
    (
        "capacity",
        &[
            habit("z", "--trial-max X bounds the length of a trial"),
            habit("d", "--trial-max X bounds the length of a trial"),
            habit(
                "t",
                "--trial-max X bounds the length of a trial, --threads N shares the work among N threads",
            ),
            habit("q", "--max-rate X bounds the rate"),
            habit("R", "--search request-rate searches for a rate of calls, --max-rate X bounds it"),
            habit("r", "--max-rate X bounds the rate"),
            habit("rps", "--search request-rate searches for a rate of calls, --max-rate X bounds it"),
            habit("qps", "--search request-rate searches for a rate of calls, --max-rate X bounds it"),
            habit("o", "--output FILE writes the result as JSON"),
            habit("n", "--trials N bounds the number of trials, --trial-max X their length"),
            habit("requests", "--trials N bounds the number of trials, --trial-max X their length"),
        ],
    ),
    (
        "sweep",
        &[
            habit("q", "--request-rates 100..1000/100 makes a run at each of these rates"),
            habit("R", "--request-rates 100..1000/100 makes a run at each of these rates"),
            habit("r", "--rates 100..1000/100 makes a run at each of these rates"),
            habit("rps", "--request-rates 100..1000/100 makes a run at each of these rates"),
            habit("qps", "--request-rates 100..1000/100 makes a run at each of these rates"),
            habit("n", "--num-conns N makes N connections in each run"),
            habit("d", DURATION),
        ],
    ),
    (
        "ab",
        &[
            habit("c", "`httperf ab` compares two targets; --concurrency N keeps N connections busy"),
            habit("n", "`httperf ab` compares two targets; --num-conns N makes N connections in each trial"),
            habit("t", "--trial X measures X seconds in each trial"),
            habit("z", "--trial X measures X seconds in each trial"),
            habit("d", "--trial X measures X seconds in each trial"),
        ],
    ),
    (
        "serve",
        &[
            habit("p", "--listen 127.0.0.1:8080 names address and port"),
            habit("l", "--listen 127.0.0.1:8080 names address and port"),
            habit("b", "--listen 127.0.0.1:8080 names address and port"),
            habit("port", "--listen 127.0.0.1:8080 names address and port"),
            habit("host", "--listen 127.0.0.1:8080 names address and port"),
            habit("bind", "--listen 127.0.0.1:8080 names address and port"),
            habit("address", "--listen 127.0.0.1:8080 names address and port"),
            habit("latency", "--delay 20ms waits before each reply"),
            habit("rate", "--capacity X sends at most X replies per second"),
            habit("ssl", "--tls serves over TLS"),
            habit("https", "--tls serves over TLS"),
        ],
    ),
    (
        "tls-lab",
        &[
            habit("c", "--concurrency N keeps N handshakes going at once"),
            habit("n", "--handshakes N makes N handshakes in each trial"),
            habit("k", "leave it out: certificates are not checked unless --ssl-verify is given"),
            habit("insecure", "leave it out: certificates are not checked unless --ssl-verify is given"),
            habit("curves", "--groups LIST measures each of these key-exchange groups"),
        ],
    ),
    (
        "report",
        &[
            habit("json", "--format json prints the document"),
            habit("html", "--format html prints the page with charts"),
            habit("csv", "--format csv prints a row for each file"),
            habit(
                "output",
                "the report goes to standard output: httperf report FILE > REPORT; --format chooses its form",
            ),
            habit(
                "o",
                "the report goes to standard output: httperf report FILE > REPORT; --format chooses its form",
            ),
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::parse::find as find_option;
    use crate::table::COMMAND;

    #[test]
    fn what_is_an_option_needs_no_hint() {
        for habit in OF_RUNS {
            let is_letter = habit.typed.len() == 1;
            let has_letter = COMMAND
                .options()
                .any(|option| option.short.is_some_and(|letter| habit.typed.starts_with(letter)));
            let is_known =
                if is_letter { has_letter } else { find_option(&COMMAND, habit.typed.as_bytes()).is_ok() };
            assert!(!is_known, "{}", habit.typed);
        }
    }

    #[test]
    fn the_names_of_options_are_found_in_a_hint() {
        let found: Vec<&str> = options("--a-b X, --c=d; `e --f` --g.").collect();
        assert_eq!(found, ["a-b", "c", "f", "g"]);
    }

    #[test]
    fn a_name_is_near_if_few_letters_differ() {
        let names = ["capacity", "compare", "ab", "doctor", "self-check", "serve"];
        let near = |typed| nearest(typed, names.into_iter());
        for (typed, expected) in [
            ("capcity", Some("capacity")),
            ("comapre", Some("compare")),
            ("doctro", Some("doctor")),
            ("selfcheck", Some("self-check")),
            ("abb", Some("ab")),
            ("x", None),
            ("foo", None),
            ("server", Some("serve")),
            ("cpct", None),
        ] {
            assert_eq!(near(typed), expected, "{typed}");
        }
    }
}
