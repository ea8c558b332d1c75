//! hey.

use httperf_import::words::{
    Syntax, ToolOption, duration, flag, positive, rate, read, seconds, truth, value,
};

use super::Tool;
use super::translation::{Body, Load, Pace, Version};

pub(super) const HEY: Tool = Tool {
    name: "hey",
    translate: |words| {
        let mut load = Load::new("hey");
        (load.connections, load.count, load.timeout) = (50, Some(200), Some(20.0));
        (load.accept_encoding, load.follows_redirects) = (Some(CODINGS), true);
        load.body_type = Some("text/html".to_owned());
        let read = read(OPTIONS, Syntax::Go, words, &mut load)?;
        load.take_url(&read.words, None)?;
        load.notes.splice(..0, read.lost);
        finish(&mut load)?;
        Ok(load)
    },
};

/// The codings that hey asks for.
const CODINGS: &str = "gzip";

const OPTIONS: &[ToolOption<Load>] = &[
    value(&["-n"], |load, text| {
        load.count = Some(positive(text)?);
        Ok(())
    }),
    value(&["-c"], |load, text| {
        load.connections = positive(text)?;
        Ok(())
    }),
    value(&["-q"], |load, text| {
        load.pace = Pace::Requests { rate: rate(text)?, per_connection: true };
        Ok(())
    }),
    value(&["-z"], |load, text| {
        load.duration = Some(duration(text)?);
        Ok(())
    }),
    value(&["-m"], |load, text| {
        load.method = Some(text.to_ascii_uppercase());
        Ok(())
    }),
    value(&["-H"], Load::header),
    value(&["-t"], |load, text| {
        load.timeout = Some(seconds(text)?);
        Ok(())
    }),
    value(&["-A"], |load, text| load.header(&format!("Accept: {text}"))),
    value(&["-d"], |load, text| {
        load.body = Some(Body::Text(text.to_owned()));
        Ok(())
    }),
    value(&["-D"], |load, text| {
        load.body = Some(Body::File(text.to_owned()));
        Ok(())
    }),
    value(&["-T"], |load, text| load.header(&format!("Content-Type: {text}"))),
    value(&["-U"], |load, text| load.header(&format!("User-Agent: {text}"))),
    value(&["-a"], |load, text| {
        load.credentials = Some(text.to_owned());
        Ok(())
    }),
    value(&["-x"], |load, text| {
        load.add("--proxy", format!("http://{text}"));
        Ok(())
    }),
    flag(&["-h2"], |load, text| {
        load.version = if truth(text)? { Version::Negotiated } else { Version::Http11 };
        Ok(())
    }),
    value(&["-host"], |load, text| load.header(&format!("Host: {text}"))),
    flag(&["-disable-compression"], |load, text| {
        load.accept_encoding = if truth(text)? { None } else { Some(CODINGS) };
        Ok(())
    }),
    flag(&["-disable-keepalive"], |load, text| {
        load.keep_alive = !truth(text)?;
        Ok(())
    }),
    flag(&["-disable-redirects"], |load, text| {
        load.follows_redirects = !truth(text)?;
        Ok(())
    }),
    ToolOption::lost_value(&["-o"], "--calls FILE.csv writes a row for each request"),
    ToolOption::lost_value(&["-cpus"], "--threads N shares the work among N threads, one unless it is given"),
];

fn finish(load: &mut Load) -> Result<(), String> {
    if load.duration.is_some() {
        load.count = None;
    }
    let connections = load.connections;
    if let Some(count) = &mut load.count {
        if *count < connections {
            return Err(format!("-c: expected at most the number of requests, {count}, got `{connections}`"));
        }
        // Each worker makes as many.
        *count -= *count % connections;
    }
    if let Pace::Requests { rate, .. } = &mut load.pace {
        *rate *= connections as f64;
        load.notes.push(
            "-q: hey sends less while the server is slow; here each request is due on schedule, and its wait counts"
                .to_owned(),
        );
    }
    Ok(())
}
