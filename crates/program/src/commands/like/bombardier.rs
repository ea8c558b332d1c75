//! bombardier.

use httperf_import::words::{Expected, Syntax, ToolOption, duration, flag, positive, read, value};

use super::Tool;
use super::translation::{Body, Load, Pace, Version};

pub(super) const BOMBARDIER: Tool = Tool {
    name: "bombardier",
    translate: |words| {
        let mut load = Load::new("bombardier");
        (load.connections, load.timeout, load.verifies) = (125, Some(2.0), true);
        let read = read(OPTIONS, Syntax::Getopt, words, &mut load)?;
        load.take_url(&read.words, Some("http"))?;
        load.notes.splice(..0, read.lost);
        match (load.count, load.duration) {
            (Some(_), Some(_)) => {
                return Err("-d: expected no -n as well, which says when the run ends".to_owned());
            }
            (None, None) => load.duration = Some(10.0),
            _ => {}
        }
        if matches!(load.pace, Pace::Requests { .. }) {
            load.notes.push(
                "-r: bombardier sends less while the server is slow; here each request is due on schedule, and its wait \
                 counts"
                    .to_owned(),
            );
        }
        Ok(load)
    },
};

const OPTIONS: &[ToolOption<Load>] = &[
    value(&["-c", "--connections"], |load, text| {
        load.connections = positive(text)?;
        Ok(())
    }),
    value(&["-n", "--requests"], |load, text| {
        load.count = Some(positive(text)?);
        Ok(())
    }),
    value(&["-d", "--duration"], |load, text| {
        load.duration = Some(duration(text)?);
        Ok(())
    }),
    value(&["-r", "--rate"], |load, text| {
        load.pace = Pace::Requests { rate: positive(text)? as f64, per_connection: false };
        Ok(())
    }),
    value(&["-t", "--timeout"], |load, text| {
        load.timeout = Some(duration(text)?);
        Ok(())
    }),
    value(&["-m", "--method"], |load, text| {
        load.method = Some(text.to_owned());
        Ok(())
    }),
    value(&["-H", "--header"], Load::header),
    value(&["-b", "--body"], |load, text| {
        load.body = Some(Body::Text(text.to_owned()));
        Ok(())
    }),
    value(&["-f", "--body-file"], |load, text| {
        load.body = Some(Body::File(text.to_owned()));
        Ok(())
    }),
    ToolOption::lost_flag(&["-s", "--stream"], "bodies are sent with their length, and not in chunks"),
    value(&["--cert"], |load, text| {
        load.add("--ssl-certificate", text);
        Ok(())
    }),
    value(&["--key"], |load, text| {
        load.add("--ssl-key", text);
        Ok(())
    }),
    flag(&["-k", "--insecure"], |load, _| {
        load.verifies = false;
        Ok(())
    }),
    flag(&["-a", "--disableKeepAlives"], |load, _| {
        load.keep_alive = false;
        Ok(())
    }),
    flag(&["--fasthttp"], |load, _| {
        load.version = Version::Http11;
        Ok(())
    }),
    flag(&["--http1"], |load, _| {
        (load.version, load.accept_encoding) = (Version::Http11, Some("gzip"));
        Ok(())
    }),
    flag(&["--http2"], |load, _| {
        (load.version, load.accept_encoding) = (Version::Negotiated, Some("gzip"));
        Ok(())
    }),
    flag(&["-l", "--latencies"], |load, _| {
        load.add("--report", "answer");
        Ok(())
    }),
    value(&["-o", "--format"], |load, text| match text {
        "plain-text" | "pt" => Ok(()),
        "json" | "j" => {
            load.notes
                .push(format!("-o {text}: --output FILE writes the result as JSON, in a form of its own"));
            Ok(())
        }
        _ => Err(Expected("plain-text or json")),
    }),
    ToolOption::idle_value(&["-p", "--print"]),
    ToolOption::idle_flag(&["-q", "--no-print"]),
];
