//! ab, the ApacheBench of Apache httpd.

use httperf_import::words::{Expected, Syntax, ToolOption, flag, positive, read, seconds, value};

use super::Tool;
use super::translation::{Body, Load, Version};

pub(super) const AB: Tool = Tool {
    name: "ab",
    translate: |words| {
        let mut load = Load::new("ab");
        (load.count, load.keep_alive, load.version) = (Some(1), false, Version::Http10);
        (load.timeout, load.body_type) = (Some(30.0), Some("text/plain".to_owned()));
        let read = read(OPTIONS, Syntax::GetoptFirst, words, &mut load)?;
        load.take_url(&read.words, Some("http"))?;
        load.notes.splice(..0, read.lost);
        let count = load.count.unwrap_or(1);
        if load.connections > count {
            return Err(format!(
                "-c: expected at most the number of requests, {count}, got `{}`",
                load.connections
            ));
        }
        Ok(load)
    },
};

const OPTIONS: &[ToolOption<Load>] = &[
    value(&["-n"], |load, text| {
        load.count = Some(positive(text)?);
        Ok(())
    }),
    value(&["-c"], |load, text| {
        load.connections = positive(text)?;
        Ok(())
    }),
    value(&["-t"], |load, text| {
        load.duration = Some(positive(text)? as f64);
        // Unless -n follows.
        load.count = Some(50_000);
        Ok(())
    }),
    value(&["-s"], |load, text| {
        load.timeout = Some(seconds(text)?);
        Ok(())
    }),
    flag(&["-k"], |load, _| {
        load.keep_alive = true;
        Ok(())
    }),
    value(&["-H"], Load::header),
    value(&["-C"], |load, text| {
        // The last one counts.
        load.remove_header("Cookie");
        load.header(&format!("Cookie: {text}"))
    }),
    value(&["-A"], |load, text| {
        load.credentials = Some(text.to_owned());
        Ok(())
    }),
    value(&["-p"], |load, text| {
        (load.method, load.body) = (Some("POST".to_owned()), Some(Body::File(text.to_owned())));
        Ok(())
    }),
    value(&["-u"], |load, text| {
        (load.method, load.body) = (Some("PUT".to_owned()), Some(Body::File(text.to_owned())));
        Ok(())
    }),
    value(&["-T"], |load, text| {
        load.body_type = Some(text.to_owned());
        Ok(())
    }),
    value(&["-m"], |load, text| {
        load.method = Some(text.to_owned());
        Ok(())
    }),
    flag(&["-i"], |load, _| {
        load.method = Some("HEAD".to_owned());
        Ok(())
    }),
    value(&["-b"], |load, text| {
        let size = positive(text)?.to_string();
        load.add("--send-buffer", &size);
        load.add("--recv-buffer", &size);
        Ok(())
    }),
    value(&["-B"], |load, text| {
        load.add("--myaddr", text);
        Ok(())
    }),
    value(&["-X"], |load, text| {
        load.add("--proxy", format!("http://{text}"));
        Ok(())
    }),
    ToolOption::lost_value(&["-P"], "name the proxy's user with --proxy http://USER:PASSWORD@HOST:PORT"),
    value(&["-Z"], |load, text| {
        load.add("--ssl-ciphers", text);
        Ok(())
    }),
    value(&["-f"], |load, text| {
        match text.to_ascii_uppercase().as_str() {
            "ALL" => {}
            "TLS1" => load.add("--ssl-protocol", "TLSv1.0"),
            "TLS1.1" => load.add("--ssl-protocol", "TLSv1.1"),
            "TLS1.2" => load.add("--ssl-protocol", "TLSv1.2"),
            "TLS1.3" => load.add("--ssl-protocol", "TLSv1.3"),
            _ => return Err(Expected("TLS1, TLS1.1, TLS1.2, TLS1.3 or ALL")),
        }
        Ok(())
    }),
    value(&["-E"], |load, text| {
        load.add("--ssl-certificate", text);
        Ok(())
    }),
    ToolOption::lost_flag(
        &["-I"],
        "the name of the server is always sent (SNI); --tls-server-name chooses it",
    ),
    ToolOption::lost_value(&["-e"], "--hgrm FILE writes percentiles, --csv FILE a row of figures"),
    ToolOption::lost_value(&["-g"], "--calls FILE.csv writes a row for each request"),
    ToolOption::lost_flag(&["-w"], "--html FILE writes a page"),
    ToolOption::lost_value(&["-x"], "--html FILE writes a page, which has no attributes to set"),
    ToolOption::lost_value(&["-y"], "--html FILE writes a page, which has no attributes to set"),
    ToolOption::lost_value(&["-z"], "--html FILE writes a page, which has no attributes to set"),
    ToolOption::lost_value(&["-v"], "--print-request and --print-reply show what is sent and received"),
    ToolOption::idle_flag(&["-l"]),
    ToolOption::idle_flag(&["-r"]),
    ToolOption::idle_flag(&["-q"]),
    ToolOption::idle_flag(&["-d"]),
    ToolOption::idle_flag(&["-S"]),
];
