//! `vegeta attack`.

use std::fs;
use std::path::Path;

use httperf_import::words::{Expected, Syntax, ToolOption, duration, flag, positive, read, truth, value};

use super::Tool;
use super::translation::{Load, Pace, Target, Version};

pub(super) const VEGETA: Tool = Tool {
    name: "vegeta",
    translate: |words| {
        let words = match words.split_first() {
            Some((command, words)) if command == b"attack" => words,
            Some((command, _)) => {
                let command = String::from_utf8_lossy(command);
                return Err(format!("expected `vegeta attack`, got `vegeta {command}`"));
            }
            None => return Err("expected `vegeta attack`, got `vegeta`".to_owned()),
        };
        let mut state = State::new();
        let read = read(OPTIONS, Syntax::Go, words, &mut state)?;
        if let Some(word) = read.words.first() {
            return Err(format!("expected targets in the file of -targets, got `{word}`"));
        }
        state.load.notes.splice(..0, read.lost);
        state.finish()
    },
};

struct State {
    load: Load,
    /// The file of targets; `None` for standard input.
    targets: Option<String>,
    /// Requests per second; infinite for as many as the server answers.
    rate: f64,
    workers_max: Option<u64>,
    connections_max: Option<u64>,
    over_tls: Version,
    in_clear: Version,
}

impl State {
    fn new() -> Self {
        let mut load = Load::new("vegeta");
        (load.timeout, load.accept_encoding) = (Some(30.0), Some("gzip"));
        (load.verifies, load.follows_redirects) = (true, true);
        Self {
            load,
            targets: None,
            rate: 50.0,
            workers_max: None,
            connections_max: None,
            over_tls: Version::Negotiated,
            in_clear: Version::Http11,
        }
    }

    fn finish(self) -> Result<Load, String> {
        let Self { mut load, targets, rate, workers_max, connections_max, over_tls, in_clear } = self;
        let https = targets.as_deref().is_some_and(lists_https);
        load.version = if https { over_tls } else { in_clear };
        match &targets {
            None => load.notes.push(
                "targets come from standard input, as vegeta takes them; if they begin with https://, add \
                 --http-version auto --ssl-verify, as vegeta offers HTTP/2 and checks certificates there"
                    .to_owned(),
            ),
            Some(file) if Path::new(file).parent().is_some_and(|folder| folder != Path::new("")) => {
                load.notes.push(format!(
                    "files of bodies that {file} names are looked for in its folder, not in this one"
                ));
            }
            Some(_) => {}
        }
        load.target = Some(Target::List { file: targets.unwrap_or_else(|| "/dev/stdin".to_owned()), https });
        let most = [workers_max, connections_max].into_iter().flatten().min();
        if rate.is_finite() {
            load.pace = Pace::Requests { rate, per_connection: false };
            match most {
                Some(most) => load.connections = most,
                None => load.opens_as_needed = true,
            }
        } else {
            load.connections =
                most.ok_or("-rate: expected -max-workers as well, which bounds an infinite rate")?;
        }
        load.drain = load.timeout;
        if load.duration.is_none_or(|duration| duration == 0.0) {
            load.duration = Some(DAY);
            load.notes.push(
                "without -duration vegeta goes on until interrupted; --duration 86400 ends after a day"
                    .to_owned(),
            );
        }
        Ok(load)
    }
}

/// The seconds of a day.
const DAY: f64 = 86_400.0;

const OPTIONS: &[ToolOption<State>] = &[
    value(&["-targets"], |state, text| {
        state.targets = (text != "stdin").then(|| text.to_owned());
        Ok(())
    }),
    // Both are recognised.
    ToolOption::idle_value(&["-format"]),
    value(&["-rate"], |state, text| {
        state.rate = rate(text)?;
        Ok(())
    }),
    value(&["-duration"], |state, text| {
        state.load.duration = Some(duration(text)?);
        Ok(())
    }),
    value(&["-timeout"], |state, text| {
        state.load.timeout = Some(duration(text)?);
        Ok(())
    }),
    // The workers that it begins with; it adds others as it needs them.
    ToolOption::idle_value(&["-workers"]),
    value(&["-max-workers"], |state, text| {
        state.workers_max = Some(positive(text)?);
        Ok(())
    }),
    value(&["-max-connections"], |state, text| {
        state.connections_max = text.parse::<u64>().map_err(|_| Expected("a number"))?.into();
        state.connections_max = state.connections_max.filter(|&most| most > 0);
        Ok(())
    }),
    ToolOption::idle_value(&["-connections"]),
    value(&["-header"], |state, text| state.load.header(text)),
    ToolOption::lost_value(&["-body"], "in the list, a line `@FILE` behind each request names its body"),
    flag(&["-keepalive"], |state, text| {
        state.load.keep_alive = truth(text)?;
        Ok(())
    }),
    flag(&["-http2"], |state, text| {
        state.over_tls = if truth(text)? { Version::Negotiated } else { Version::Http11 };
        Ok(())
    }),
    flag(&["-h2c"], |state, text| {
        state.in_clear = if truth(text)? { Version::Http2 } else { Version::Http11 };
        Ok(())
    }),
    flag(&["-insecure"], |state, text| {
        state.load.verifies = !truth(text)?;
        Ok(())
    }),
    value(&["-redirects"], |state, text| {
        state.load.follows_redirects = text.parse::<i64>().map_err(|_| Expected("a number"))? > 0;
        Ok(())
    }),
    value(&["-root-certs"], |state, text| {
        if text.contains(',') {
            return Err(Expected("one file, as --ssl-ca-file takes one"));
        }
        state.load.add("--ssl-ca-file", text);
        Ok(())
    }),
    value(&["-cert"], |state, text| {
        state.load.add("--ssl-certificate", text);
        Ok(())
    }),
    value(&["-key"], |state, text| {
        state.load.add("--ssl-key", text);
        Ok(())
    }),
    value(&["-laddr"], |state, text| {
        if text != "0.0.0.0" {
            state.load.add("--myaddr", text);
        }
        Ok(())
    }),
    value(&["-unix-socket"], |state, text| {
        state.load.add("--unix-socket", text);
        Ok(())
    }),
    value(&["-connect-to"], |state, text| {
        state.load.add("--connect-to", text);
        Ok(())
    }),
    flag(&["-session-tickets"], |state, text| {
        if truth(text)? {
            state.load.add("--tls-resume", "100");
        }
        Ok(())
    }),
    ToolOption::lost_flag(&["-chunked"], "bodies are sent with their length, and not in chunks"),
    ToolOption::lost_flag(&["-lazy"], "the list is read as a whole, before the run"),
    ToolOption::lost_value(&["-max-body"], "replies are received as a whole"),
    ToolOption::lost_value(&["-name"], "--header 'X-Vegeta-Attack: NAME' sends it with each request"),
    ToolOption::lost_value(
        &["-output"],
        "--calls FILE.csv writes a row for each request, --output FILE the result",
    ),
    ToolOption::lost_value(&["-prometheus-addr"], "--interval-log FILE writes a line for each second"),
    ToolOption::lost_value(&["-proxy-header"], "requests to a proxy carry the fields of --header alone"),
    ToolOption::lost_value(
        &["-resolvers"],
        "names are resolved as the system does; --connect-to names an address",
    ),
    ToolOption::lost_value(&["-dns-ttl"], "names are resolved once, before the run"),
];

/// Reads a rate such as `50`, `100/1m` or `infinity`; 0 is infinite too.
fn rate(text: &str) -> Result<f64, Expected> {
    const EXPECTED: Expected = Expected("a rate such as 50, 100/1m or infinity");
    if text == "infinity" {
        return Ok(f64::INFINITY);
    }
    let (count, period) = text.split_once('/').unwrap_or((text, "1s"));
    let count: u64 = count.parse().map_err(|_| EXPECTED)?;
    // A unit alone is one of it.
    let period = if period.starts_with(|letter: char| letter.is_ascii_digit()) {
        duration(period)
    } else {
        duration(&format!("1{period}"))
    };
    let period = period.ok().filter(|&period| period > 0.0).ok_or(EXPECTED)?;
    Ok(if count == 0 { f64::INFINITY } else { count as f64 / period })
}

/// Returns whether the requests of a file go to `https://` URLs. A file that cannot be read has none: the run says so.
fn lists_https(file: &str) -> bool {
    fs::read_to_string(file).is_ok_and(|text| {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.next().is_some_and(|line| line.contains("https://"))
    })
}
