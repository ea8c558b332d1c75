//! h2load, of nghttp2.

use httperf_import::words::{Expected, Syntax, ToolOption, duration, flag, positive, read, value};

use super::Tool;
use super::translation::{Body, Load, Pace, Target, Version};

pub(super) const H2LOAD: Tool = Tool {
    name: "h2load",
    translate: |words| {
        let mut load = Load::new("h2load");
        load.count = Some(1);
        let mut state = State {
            load,
            in_clear: Version::Http2,
            over_tls: Version::Negotiated,
            connection_rate: None,
            rate_period: 1.0,
        };
        let mut read = read(OPTIONS, Syntax::Getopt, words, &mut state)?;
        let State { mut load, in_clear, over_tls, connection_rate, rate_period } = state;
        if read.words.len() > 1 {
            read.words.truncate(1);
            read.lost
                .push("of several URIs the first is taken; --wlog y,FILE takes a list of paths".to_owned());
        }
        load.take_url(&read.words, None)?;
        load.notes.splice(..0, read.lost);
        let is_https = matches!(&load.target, Some(Target::Url { parts, .. }) if parts.https);
        load.version = if is_https { over_tls } else { in_clear };
        if load.duration.is_some() {
            load.count = None;
        }
        if let Some(rate) = connection_rate {
            load.pace = Pace::Connections(rate / rate_period);
        }
        if let Pace::Requests { rate, .. } = &mut load.pace {
            *rate *= load.connections as f64;
        }
        Ok(load)
    },
};

struct State {
    load: Load,
    /// The version that is spoken without TLS.
    in_clear: Version,
    /// The version that is spoken over TLS.
    over_tls: Version,
    /// The connections that are opened in each period.
    connection_rate: Option<f64>,
    /// The length of that period in seconds.
    rate_period: f64,
}

const OPTIONS: &[ToolOption<State>] = &[
    value(&["-n", "--requests"], |state, text| {
        state.load.count = Some(positive(text)?);
        Ok(())
    }),
    value(&["-c", "--clients"], |state, text| {
        state.load.connections = positive(text)?;
        Ok(())
    }),
    value(&["-t", "--threads"], |state, text| {
        state.load.threads = Some(positive(text)?);
        Ok(())
    }),
    value(&["-m", "--max-concurrent-streams"], |state, text| {
        state.load.outstanding = positive(text)?;
        Ok(())
    }),
    value(&["-D", "--duration"], |state, text| {
        state.load.duration = Some(duration(text)?);
        Ok(())
    }),
    value(&["--warm-up-time"], |state, text| {
        state.load.warmup = Some(duration(text)?);
        Ok(())
    }),
    value(&["-r", "--rate"], |state, text| {
        state.connection_rate = Some(positive(text)? as f64);
        Ok(())
    }),
    value(&["--rate-period"], |state, text| {
        state.rate_period =
            Some(duration(text)?).filter(|&period| period > 0.0).ok_or(Expected("a time above 0"))?;
        Ok(())
    }),
    value(&["--rps"], |state, text| {
        let rate = httperf_import::words::rate(text)?;
        state.load.pace = Pace::Requests { rate, per_connection: true };
        Ok(())
    }),
    value(&["-H", "--header"], |state, text| {
        let pseudo = text.strip_prefix(':').and_then(|text| text.split_once(':'));
        match pseudo.map(|(name, value)| (name, value.trim())) {
            Some(("method", method)) => state.load.method = Some(method.to_owned()),
            Some(("authority", host)) => state.load.header(&format!("Host: {host}"))?,
            Some(_) => return Err(Expected("a header field, :method or :authority")),
            None => state.load.header(text)?,
        }
        Ok(())
    }),
    value(&["-d", "--data"], |state, text| {
        state.load.method.get_or_insert_with(|| "POST".to_owned());
        state.load.body = Some(Body::File(text.to_owned()));
        Ok(())
    }),
    flag(&["--h1"], |state, _| {
        (state.in_clear, state.over_tls) = (Version::Http11, Version::Http11);
        Ok(())
    }),
    flag(&["--h3"], |state, _| {
        state.over_tls = Version::Http3;
        Ok(())
    }),
    value(&["-p", "--no-tls-proto"], |state, text| {
        state.in_clear = match text {
            "h2c" => Version::Http2,
            "http/1.1" => Version::Http11,
            _ => return Err(Expected("h2c or http/1.1")),
        };
        Ok(())
    }),
    value(&["--npn-list", "--alpn-list"], |state, text| {
        let (has_h2, has_h1) =
            (text.split(',').any(|name| name == "h2"), text.split(',').any(|name| name == "http/1.1"));
        state.over_tls = match (has_h2, has_h1) {
            (true, true) => Version::Negotiated,
            (true, false) => Version::Http2,
            (false, true) => Version::Http11,
            (false, false) if text == "h3" => Version::Http3,
            (false, false) => {
                return Err(Expected("a list with h2 or http/1.1, or h3 alone, which can be spoken here"));
            }
        };
        Ok(())
    }),
    value(&["-w", "--window-bits"], |state, text| {
        state.load.add("--h2-window", window(text)?);
        Ok(())
    }),
    value(&["-W", "--connection-window-bits"], |state, text| {
        state.load.add("--h2-connection-window", window(text)?);
        Ok(())
    }),
    value(&["-f", "--max-frame-size"], |state, text| {
        state.load.add("--h2-max-frame", text.to_ascii_lowercase());
        Ok(())
    }),
    value(&["--header-table-size"], |state, text| {
        state.load.add("--h2-header-table", text.to_ascii_lowercase());
        Ok(())
    }),
    ToolOption::lost_value(&["--encoder-header-table-size"], "requests use a table of up to 4096 bytes"),
    ToolOption::lost_value(
        &["-T", "--connection-active-timeout"],
        "a connection has no time limit; --timeout X limits each request",
    ),
    value(&["-N", "--connection-inactivity-timeout"], |state, text| {
        state.load.timeout = Some(duration(text)?);
        state
            .load
            .notes
            .push("-N: --timeout limits each request, and not the silence of a connection".to_owned());
        Ok(())
    }),
    ToolOption::lost_value(
        &["-i", "--input-file"],
        "--wlog y,FILE takes a list of paths, --targets FILE one of requests",
    ),
    ToolOption::lost_value(
        &["--timing-script-file"],
        "--period v… changes the rate in steps; --wsesslog has pauses",
    ),
    value(&["-B", "--base-uri"], |state, text| {
        match text.strip_prefix("unix:") {
            Some(path) => state.load.add("--unix-socket", path),
            None => return Err(Expected("unix:PATH; another server goes into the URL")),
        }
        Ok(())
    }),
    value(&["--connect-to"], |state, text| {
        let has_port =
            text.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let colon = if has_port { "" } else { ":" };
        state.load.add("--connect-to", format!("::{text}{colon}"));
        Ok(())
    }),
    value(&["--ciphers"], |state, text| {
        state.load.add("--ssl-ciphers", text);
        Ok(())
    }),
    ToolOption::lost_value(&["--tls13-ciphers"], "all suites of TLS 1.3 are offered"),
    value(&["--groups"], |state, text| {
        state.load.add("--tls-groups", text);
        Ok(())
    }),
    ToolOption::lost_flag(&["--ktls"], "TLS is not handed to the kernel"),
    ToolOption::lost_flag(&["--no-udp-gso"], "datagrams always leave together if they are due together"),
    value(&["--max-udp-payload-size"], |state, text| {
        state.load.add("--quic-max-datagram", text);
        Ok(())
    }),
    ToolOption::lost_value(&["--qlog-file-base"], "no qlog is written"),
    ToolOption::lost_value(&["--log-file"], "--calls FILE.csv writes a row for each request"),
    ToolOption::lost_flag(
        &["-v", "--verbose"],
        "--print-request and --print-reply show what is sent and received",
    ),
];

/// Size in bytes of a window given by its number of bits.
fn window(bits: &str) -> Result<String, Expected> {
    let bits = bits.parse::<u32>().ok().filter(|bits| (16..=30).contains(bits));
    bits.map(|bits| ((1u32 << bits) - 1).to_string()).ok_or(Expected("a number of bits from 16 to 30"))
}
