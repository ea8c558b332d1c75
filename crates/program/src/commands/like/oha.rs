//! oha.

use httperf_import::words::{Expected, Syntax, ToolOption, duration, flag, rate, read, scaled, value};

use super::Tool;
use super::translation::{Body, Load, Pace, Version};

pub(super) const OHA: Tool = Tool {
    name: "oha",
    translate: |words| {
        let mut state = State { load: Load::new("oha"), corrects_latency: false };
        let load = &mut state.load;
        (load.connections, load.count) = (50, Some(200));
        (load.accept_encoding, load.verifies) = (Some("gzip, compress, deflate, br"), true);
        let read = read(OPTIONS, Syntax::Getopt, words, &mut state)?;
        let State { mut load, corrects_latency } = state;
        load.take_url(&read.words, None)?;
        load.notes.splice(..0, read.lost);
        if load.duration.is_some() {
            load.count = None;
        }
        if load.version == Version::Http10 {
            load.keep_alive = false;
        }
        if matches!(load.pace, Pace::Requests { .. }) && !corrects_latency {
            load.notes.push(
                "-q: oha counts latency from sending unless --latency-correction is given; here it counts from when \
                 a request is due"
                    .to_owned(),
            );
        }
        if !matches!(load.version, Version::Http2 | Version::Http3) && load.outstanding > 1 {
            load.outstanding = 1;
            load.notes.push("-p: oha sends requests in parallel over HTTP/2 and HTTP/3 alone".to_owned());
        }
        if matches!(&load.body, Some(Body::Form(_))) && load.method.is_none() {
            load.method = Some("POST".to_owned());
        }
        Ok(load)
    },
};

struct State {
    load: Load,
    corrects_latency: bool,
}

const OPTIONS: &[ToolOption<State>] = &[
    value(&["-n"], |state, text| {
        state.load.count = Some(scaled(text)?);
        Ok(())
    }),
    value(&["-c"], |state, text| {
        state.load.connections = scaled(text)?;
        Ok(())
    }),
    value(&["-p"], |state, text| {
        state.load.outstanding = scaled(text)?;
        Ok(())
    }),
    value(&["-z"], |state, text| {
        state.load.duration = Some(duration(text)?);
        Ok(())
    }),
    // A run waits for them anyway.
    flag(&["-w", "--wait-ongoing-requests-after-deadline"], |_, _| Ok(())),
    value(&["-q"], |state, text| {
        state.load.pace = Pace::Requests { rate: rate(text)?, per_connection: false };
        Ok(())
    }),
    flag(&["--latency-correction"], |state, _| {
        state.corrects_latency = true;
        Ok(())
    }),
    ToolOption::lost_value(&["--burst-delay"], "--burst-length N with --call-pause X pauses between bursts"),
    ToolOption::lost_value(&["--burst-rate"], "--burst-length N with --call-pause X pauses between bursts"),
    ToolOption::lost_flag(
        &["--rand-regex-url"],
        "URLs have no regular expressions here; {rand:1-1000}, {seq} and {uuid} vary them, or --wlog",
    ),
    ToolOption::lost_flag(
        &["--urls-from-file"],
        "--targets FILE takes a list with a line `GET URL` for each",
    ),
    ToolOption::lost_value(&["--max-repeat"], "belongs to --rand-regex-url"),
    ToolOption::lost_value(&["--dump-urls"], "--print-request=header shows what is sent"),
    value(&["-m", "--method"], |state, text| {
        state.load.method = Some(text.to_owned());
        Ok(())
    }),
    value(&["-H"], |state, text| state.load.header(text)),
    value(&["-t"], |state, text| {
        state.load.timeout = Some(duration(text)?);
        Ok(())
    }),
    ToolOption::lost_value(&["--connect-timeout"], "--timeout X limits connecting and the request alike"),
    value(&["-A"], |state, text| state.load.header(&format!("Accept: {text}"))),
    value(&["-d"], |state, text| {
        state.load.body = Some(Body::Text(text.to_owned()));
        Ok(())
    }),
    value(&["-D"], |state, text| {
        state.load.body = Some(Body::File(text.to_owned()));
        Ok(())
    }),
    ToolOption::lost_value(&["-Z"], "--targets FILE takes a list of requests with a body each"),
    value(&["-F", "--form"], |state, text| {
        match &mut state.load.body {
            Some(Body::Form(fields)) => fields.push(text.to_owned()),
            body => *body = Some(Body::Form(vec![text.to_owned()])),
        }
        Ok(())
    }),
    value(&["-T"], |state, text| state.load.header(&format!("Content-Type: {text}"))),
    value(&["-a"], |state, text| {
        state.load.credentials = Some(text.to_owned());
        Ok(())
    }),
    ToolOption::lost_value(&["--aws-session"], "requests are not signed"),
    ToolOption::lost_value(&["--aws-sigv4"], "requests are not signed"),
    value(&["-x"], |state, text| {
        state.load.add("--proxy", text);
        Ok(())
    }),
    ToolOption::lost_value(&["--proxy-header"], "requests to a proxy carry the fields of --header alone"),
    ToolOption::lost_value(&["--proxy-http-version"], "proxies are spoken to in HTTP/1.1"),
    ToolOption::lost_flag(&["--proxy-http2"], "proxies are spoken to in HTTP/1.1"),
    value(&["--http-version"], |state, text| {
        state.load.version = match text {
            "1.0" => Version::Http10,
            "1.1" => Version::Http11,
            "2" => Version::Http2,
            "3" => Version::Http3,
            _ => return Err(Expected("1.0, 1.1, 2 or 3, which can be spoken here")),
        };
        Ok(())
    }),
    flag(&["--http2"], |state, _| {
        state.load.version = Version::Http2;
        Ok(())
    }),
    value(&["--host"], |state, text| state.load.header(&format!("Host: {text}"))),
    flag(&["--disable-compression"], |state, _| {
        state.load.accept_encoding = None;
        Ok(())
    }),
    value(&["-r", "--redirect"], |state, text| {
        state.load.follows_redirects = text != "0";
        Ok(())
    }),
    flag(&["--disable-keepalive"], |state, _| {
        state.load.keep_alive = false;
        Ok(())
    }),
    ToolOption::lost_flag(&["--no-pre-lookup"], "names are resolved once, before the run"),
    ToolOption::lost_flag(&["--ipv6"], "write an IPv6 address in the URL, or use --connect-to"),
    ToolOption::idle_flag(&["--ipv4"]),
    value(&["--cacert"], |state, text| {
        state.load.add("--ssl-ca-file", text);
        Ok(())
    }),
    value(&["--cert"], |state, text| {
        state.load.add("--ssl-certificate", text);
        Ok(())
    }),
    value(&["--key"], |state, text| {
        state.load.add("--ssl-key", text);
        Ok(())
    }),
    flag(&["--insecure"], |state, _| {
        state.load.verifies = false;
        Ok(())
    }),
    value(&["--connect-to"], |state, text| {
        state.load.add("--connect-to", text);
        Ok(())
    }),
    value(&["--unix-socket"], |state, text| {
        state.load.add("--unix-socket", text);
        Ok(())
    }),
    value(&["--worker-threads"], |state, text| {
        state.load.threads = Some(scaled(text)?);
        Ok(())
    }),
    ToolOption::lost_value(&["--db-url"], "--calls FILE.csv writes a row for each request"),
    ToolOption::lost_flag(&["--debug"], "--print-request and --print-reply show what is sent and received"),
    ToolOption::lost_value(
        &["-o", "--output"],
        "--output FILE writes the result as JSON, in a form of its own",
    ),
    ToolOption::lost_value(&["--output-format"], "--output, --csv and --html write other forms"),
    ToolOption::idle_flag(&["--no-tui"]),
    ToolOption::idle_value(&["--fps"]),
    ToolOption::idle_flag(&["--no-color"]),
    ToolOption::idle_flag(&["--stats-success-breakdown"]),
    ToolOption::idle_value(&["-u", "--time-unit"]),
];
