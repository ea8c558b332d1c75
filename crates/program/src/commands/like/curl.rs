//! curl, as people type it and as browsers copy it.

use std::fs;
use std::net::IpAddr;

use httperf_import::curl::encoded;
use httperf_import::words::{Expected, Syntax, ToolOption, flag, read, seconds, value};

use super::Tool;
use super::translation::{Body, Load, Pace, Version};

pub(super) const CURL: Tool = Tool {
    name: "curl",
    translate: |words| {
        let mut load = Load::new("curl");
        (load.pace, load.version, load.verifies) = (Pace::Once, Version::Negotiated, true);
        let mut state = State {
            load,
            urls: Vec::new(),
            data: Vec::new(),
            form: Vec::new(),
            query: Vec::new(),
            upload: None,
            place: Place::Body,
            is_json: false,
            cookies: Vec::new(),
            removed: Vec::new(),
        };
        let read = read(OPTIONS, Syntax::Getopt, words, &mut state)?;
        state.urls.extend(read.words);
        state.load.notes.splice(..0, read.lost);
        state.finish()
    },
};

struct State {
    load: Load,
    urls: Vec<String>,
    /// The values of `-d` and its kin.
    data: Vec<Data>,
    /// The values of `-F`.
    form: Vec<String>,
    /// Text added to the URL.
    query: Vec<String>,
    /// The file of `-T`.
    upload: Option<String>,
    place: Place,
    /// True if `--json` was given.
    is_json: bool,
    cookies: Vec<String>,
    /// The names of header fields that are left out.
    removed: Vec<String>,
}

/// A piece of a body.
enum Data {
    Text(String),
    File {
        name: String,
        /// True if curl leaves out the file's line ends.
        joins_lines: bool,
    },
}

/// The place of data.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Body,
    /// `-G`.
    Query,
    /// `-I`.
    Nowhere,
}

impl State {
    fn finish(mut self) -> Result<Load, String> {
        let mut load = self.load;
        if load.version == Version::Http10 {
            load.keep_alive = false;
        }
        let separator = if self.is_json { "" } else { "&" };
        let mut usual_method = None;
        match self.place {
            Place::Query => self.query.push(text_of(&self.data, separator)?),
            Place::Nowhere if self.data.is_empty() => usual_method = Some("HEAD"),
            Place::Nowhere => return Err("-I: expected no -d as well, which sends a body".to_owned()),
            Place::Body if !self.form.is_empty() => {
                if !self.data.is_empty() {
                    return Err("-F: expected no -d as well, which sends another body".to_owned());
                }
                usual_method = Some("POST");
                load.body = Some(Body::Form(self.form));
            }
            Place::Body => {
                if let Some(file) = self.upload {
                    usual_method = Some("PUT");
                    load.body = Some(Body::File(file));
                } else if let [Data::File { name, joins_lines }] = &self.data[..] {
                    usual_method = Some("POST");
                    load.body = Some(Body::File(name.clone()));
                    if *joins_lines {
                        load.notes.push(format!(
                            "-d @{name}: curl leaves out line ends; here the file is sent as it is"
                        ));
                    }
                } else if !self.data.is_empty() {
                    usual_method = Some("POST");
                    load.body = Some(Body::Text(text_of(&self.data, separator)?));
                }
                if !self.data.is_empty() {
                    let kind =
                        if self.is_json { "application/json" } else { "application/x-www-form-urlencoded" };
                    load.body_type = Some(kind.to_owned());
                }
            }
        }
        if load.method.is_none() {
            load.method = usual_method.map(str::to_owned);
        }
        if self.is_json && !load.has_header("Accept") {
            load.headers.push("Accept: application/json".to_owned());
        }
        if !self.cookies.is_empty() && !load.has_header("Cookie") {
            load.headers.push(format!("Cookie: {}", self.cookies.join(";")));
        }
        for name in &self.removed {
            match name.to_ascii_lowercase().as_str() {
                "content-type" => load.body_type = None,
                "host" => load.further.push("--no-host-hdr".to_owned()),
                "user-agent" => load.notes.push("-H 'User-Agent:': it cannot be left out".to_owned()),
                _ => {}
            }
        }
        load.take_url(&with_query(self.urls, &self.query), Some("http"))?;
        let encodes = load.further.iter().any(|option| option == "--compressed");
        if encodes && load.has_header("Accept-Encoding") {
            // The field says which codings; nothing looks into the bodies.
            load.further.retain(|option| option != "--compressed");
        }
        Ok(load)
    }
}

/// Joins data that is text.
fn text_of(data: &[Data], separator: &str) -> Result<String, String> {
    let texts: Option<Vec<&str>> = data
        .iter()
        .map(|piece| match piece {
            Data::Text(text) => Some(&text[..]),
            Data::File { .. } => None,
        })
        .collect();
    Ok(texts.ok_or("-d: expected text, or a single @FILE, got both or a file in a query")?.join(separator))
}

/// Adds to the query of the URL, if there is a single one.
fn with_query(urls: Vec<String>, additions: &[String]) -> Vec<String> {
    let [url] = &urls[..] else { return urls };
    let mut url = url.split_once('#').map_or(&url[..], |(start, _)| start).to_owned();
    for addition in additions.iter().filter(|addition| !addition.is_empty()) {
        let separator = if url.contains('?') { '&' } else { '?' };
        url = format!("{url}{separator}{addition}");
    }
    vec![url]
}

const OPTIONS: &[ToolOption<State>] = &[
    value(&["--url"], |state, text| {
        state.urls.push(text.to_owned());
        Ok(())
    }),
    value(&["-X", "--request"], |state, text| {
        state.load.method = Some(text.to_owned());
        Ok(())
    }),
    value(&["-H", "--header"], header),
    value(&["-A", "--user-agent"], |state, text| state.load.header(&format!("User-Agent: {text}"))),
    value(&["-e", "--referer"], |state, text| state.load.header(&format!("Referer: {text}"))),
    value(&["-b", "--cookie"], |state, text| {
        match text.contains('=') {
            true => state.cookies.push(text.to_owned()),
            false => state
                .load
                .notes
                .push(format!("-b {text}: files of cookies are not read; -b NAME=VALUE sends one")),
        }
        Ok(())
    }),
    value(&["-u", "--user"], |state, text| {
        if !text.contains(':') {
            return Err(Expected("USER:PASSWORD"));
        }
        state.load.credentials = Some(text.to_owned());
        Ok(())
    }),
    value(&["--oauth2-bearer"], |state, text| {
        state.load.add("--bearer", text);
        Ok(())
    }),
    value(&["-r", "--range"], |state, text| state.load.header(&format!("Range: bytes={text}"))),
    value(&["-d", "--data", "--data-ascii"], |state, text| data(state, text, true)),
    value(&["--data-binary"], |state, text| data(state, text, false)),
    value(&["--data-raw"], |state, text| {
        state.data.push(Data::Text(text.to_owned()));
        Ok(())
    }),
    value(&["--data-urlencode"], |state, text| {
        state.data.push(Data::Text(encoded(text)?));
        Ok(())
    }),
    value(&["--json"], |state, text| {
        state.is_json = true;
        data(state, text, false)
    }),
    value(&["--url-query"], |state, text| {
        state.query.push(encoded(text)?);
        Ok(())
    }),
    flag(&["-G", "--get"], |state, _| {
        state.place = Place::Query;
        Ok(())
    }),
    flag(&["-I", "--head"], |state, _| {
        state.place = Place::Nowhere;
        Ok(())
    }),
    value(&["-F", "--form"], |state, text| {
        let (field, details) =
            text.split_once(';').map_or((text, None), |(field, details)| (field, Some(details)));
        let field = match field.split_once("=<") {
            Some((name, file)) if !name.contains('=') => format!("{name}={}", contents(file)?),
            _ => field.to_owned(),
        };
        if let Some(details) = details {
            state.load.notes.push(format!(
                "-F {text}: `{details}` is left out; a file has its own name and no type of its own"
            ));
        }
        state.form.push(field);
        Ok(())
    }),
    value(&["--form-string"], |state, text| {
        if text.contains("=@") {
            return Err(Expected("a value that does not begin with @"));
        }
        state.form.push(text.to_owned());
        Ok(())
    }),
    value(&["-T", "--upload-file"], |state, text| {
        state.upload = Some(text.to_owned());
        Ok(())
    }),
    flag(&["--compressed"], |state, _| {
        state.load.further.push("--compressed".to_owned());
        Ok(())
    }),
    flag(&["-0", "--http1.0"], |state, _| {
        state.load.version = Version::Http10;
        Ok(())
    }),
    flag(&["--http1.1"], |state, _| {
        state.load.version = Version::Http11;
        Ok(())
    }),
    flag(&["--http2"], |state, _| {
        state.load.version = Version::Upgraded;
        Ok(())
    }),
    flag(&["--http2-prior-knowledge"], |state, _| {
        state.load.version = Version::Http2;
        Ok(())
    }),
    flag(&["--http3", "--http3-only"], |state, _| {
        state.load.version = Version::Http3;
        Ok(())
    }),
    value(&["-m", "--max-time"], |state, text| {
        state.load.timeout = Some(seconds(text)?);
        Ok(())
    }),
    ToolOption::lost_value(
        &["--alt-svc"],
        "--http-version auto learns from replies (Alt-Svc) within a run, and nothing is kept in a file",
    ),
    ToolOption::lost_value(&["--connect-timeout"], "--timeout X limits connecting and the request alike"),
    flag(&["-k", "--insecure"], |state, _| {
        state.load.verifies = false;
        Ok(())
    }),
    flag(&["-L", "--location"], |state, _| {
        state.load.follows_redirects = true;
        Ok(())
    }),
    value(&["--cacert"], |state, text| {
        state.load.add("--ssl-ca-file", text);
        Ok(())
    }),
    value(&["--capath"], |state, text| {
        state.load.add("--ssl-ca-path", text);
        Ok(())
    }),
    value(&["-E", "--cert"], |state, text| {
        if text.starts_with("pkcs11:") {
            return Err(Expected("a file"));
        }
        let (file, password) = certificate(text);
        if password {
            state.load.notes.push(format!("-E: {NO_PASSWORD}"));
        }
        state.load.add("--ssl-certificate", file);
        Ok(())
    }),
    ToolOption::lost_value(&["--pass"], NO_PASSWORD),
    value(&["--key"], |state, text| {
        state.load.add("--ssl-key", text);
        Ok(())
    }),
    value(&["--ciphers"], |state, text| {
        state.load.add("--ssl-ciphers", text);
        Ok(())
    }),
    value(&["--curves"], |state, text| {
        state.load.add("--tls-groups", text);
        Ok(())
    }),
    flag(&["--tlsv1.2"], |state, _| {
        state.load.add("--tls-min", "1.2");
        Ok(())
    }),
    flag(&["--tlsv1.3"], |state, _| {
        state.load.add("--tls-min", "1.3");
        Ok(())
    }),
    value(&["--tls-max"], |state, text| {
        state.load.add("--tls-max", text);
        Ok(())
    }),
    value(&["--resolve"], |state, text| {
        let [host, port, addresses] = text.splitn(3, ':').collect::<Vec<_>>()[..] else {
            return Err(Expected("HOST:PORT:ADDRESS"));
        };
        let address = addresses.split(',').next().unwrap_or_default();
        let is_bare_ipv6 = address.contains(':') && !address.starts_with('[');
        let address = if is_bare_ipv6 { format!("[{address}]") } else { address.to_owned() };
        let host = host.trim_start_matches('+');
        state.load.add("--connect-to", format!("{}:{port}:{address}:", if host == "*" { "" } else { host }));
        Ok(())
    }),
    value(&["--connect-to"], |state, text| {
        state.load.add("--connect-to", text);
        Ok(())
    }),
    value(&["-x", "--proxy"], |state, text| {
        let scheme = if text.contains("://") { "" } else { "http://" };
        state.load.add("--proxy", format!("{scheme}{text}"));
        Ok(())
    }),
    flag(&["-p", "--proxytunnel"], |state, _| {
        state.load.further.push("--proxy-tunnel".to_owned());
        Ok(())
    }),
    ToolOption::lost_value(
        &["-U", "--proxy-user"],
        "name the proxy's user with --proxy http://USER:PASSWORD@HOST:PORT",
    ),
    value(&["--unix-socket"], |state, text| {
        state.load.add("--unix-socket", text);
        Ok(())
    }),
    value(&["--interface"], |state, text| {
        let host = text.strip_prefix("host!").or_else(|| Some(text).filter(|text| is_host(text)));
        match host {
            Some(host) => state.load.add("--myaddr", host),
            None => state.load.notes.push(format!(
                "--interface {text}: devices are not looked up; --myaddr ADDRESS binds connections to an address of one"
            )),
        }
        Ok(())
    }),
    ToolOption::lost_flag(&["-6", "--ipv6"], "write an IPv6 address in the URL, or use --connect-to"),
    ToolOption::lost_flag(
        &["--digest"],
        "of authentication only Basic and Bearer are known; --header sends what is computed elsewhere",
    ),
    ToolOption::lost_flag(&["--ntlm"], "of authentication only Basic and Bearer are known"),
    ToolOption::lost_flag(&["--negotiate"], "of authentication only Basic and Bearer are known"),
    ToolOption::lost_flag(&["--anyauth"], "of authentication only Basic and Bearer are known"),
    ToolOption::lost_flag(
        &["-n", "--netrc"],
        "passwords are not looked up; --basic-auth USER:PASSWORD sends one",
    ),
    ToolOption::lost_value(
        &["-c", "--cookie-jar"],
        "cookies are kept within a session alone, with --session-cookies",
    ),
    ToolOption::lost_value(&["--limit-rate"], "replies are received as fast as they come"),
    ToolOption::lost_value(&["--retry"], "a request is made once; --retry-on-failure belongs to sessions"),
    ToolOption::lost_flag(&["-Z", "--parallel"], "--concurrency N makes requests over N connections"),
    ToolOption::lost_flag(
        &["-v", "--verbose"],
        "--print-request and --print-reply show what is sent and received",
    ),
    ToolOption::lost_flag(&["-i", "--include"], "--print-reply shows replies"),
    ToolOption::lost_value(&["-o", "--output"], "--print-reply=body shows the bodies of replies"),
    ToolOption::lost_flag(&["-O", "--remote-name"], "--print-reply=body shows the bodies of replies"),
    ToolOption::lost_value(&["-w", "--write-out"], "--calls FILE.csv writes a row for each request"),
    ToolOption::lost_flag(&["-f", "--fail"], "--expect-status 200-399 counts other replies as unexpected"),
    ToolOption::idle_flag(&["--basic"]),
    ToolOption::idle_flag(&["-4", "--ipv4"]),
    ToolOption::idle_flag(&["-s", "--silent"]),
    ToolOption::idle_flag(&["-S", "--show-error"]),
    ToolOption::idle_flag(&["-g", "--globoff"]),
    ToolOption::idle_flag(&["-N", "--no-buffer"]),
    ToolOption::idle_flag(&["-#", "--progress-bar"]),
    ToolOption::idle_flag(&["--path-as-is"]),
    ToolOption::idle_flag(&["--tcp-nodelay"]),
];

/// Returns whether the value of `--interface` is an address or the name of a host, as in `www.example`. Others, such as
/// `eth0.100`, are devices.
fn is_host(text: &str) -> bool {
    let starts_as_name = |label: &str| label.starts_with(|letter: char| letter.is_ascii_alphabetic());
    text.parse::<IpAddr>().is_ok()
        || !text.contains('!') && text.rsplit_once('.').is_some_and(|(_, last)| starts_as_name(last))
}

/// The note about the password of a key.
const NO_PASSWORD: &str =
    "passwords of keys are not taken; `openssl pkey -in KEY -out FILE` writes a key that has none";

/// The file in the value of `-E`, and whether a password follows it.
fn certificate(text: &str) -> (String, bool) {
    let mut file = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some(&escaped @ (':' | '\\'))) => {
                file.push(escaped);
                letters.next();
            }
            (':', _) => return (file, true),
            _ => file.push(letter),
        }
    }
    (file, false)
}

/// The size of a file that fits into a command line.
const CONTENTS_MAX: u64 = 65_536;

/// The contents of a file for a field of a form.
fn contents(file: &str) -> Result<String, Expected> {
    const EXPECTED: Expected =
        Expected("NAME=VALUE, NAME=@FILE or NAME=<FILE with a file of at most 64 KiB of text");
    let is_small = fs::metadata(file).is_ok_and(|file| file.is_file() && file.len() <= CONTENTS_MAX);
    let text = is_small.then(|| fs::read_to_string(file).ok()).flatten().ok_or(EXPECTED)?;
    // A value that begins so names a file, and no word has a NUL byte.
    if text.starts_with('@') || text.contains('\0') { Err(EXPECTED) } else { Ok(text) }
}

fn header(state: &mut State, text: &str) -> Result<(), Expected> {
    if text.starts_with('@') {
        return Err(Expected("a header field such as `Accept: text/html`, and no file"));
    }
    if let Some(name) = text.strip_suffix(';').filter(|name| !name.contains(':')) {
        return state.load.header(&format!("{name}:"));
    }
    match text.split_once(':') {
        Some((name, value)) if value.trim().is_empty() => {
            state.removed.push(name.trim().to_owned());
            Ok(())
        }
        _ => state.load.header(text),
    }
}

fn data(state: &mut State, text: &str, joins_lines: bool) -> Result<(), Expected> {
    state.data.push(match text.strip_prefix('@') {
        Some("-") => return Err(Expected("text or @FILE, as standard input is not read")),
        Some(name) => Data::File { name: name.to_owned(), joins_lines },
        None => Data::Text(text.to_owned()),
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_behind_a_certificate_is_told_from_its_name() {
        for (text, file, password) in [
            ("client.pem", "client.pem", false),
            ("client.pem:secret", "client.pem", true),
            ("a/b.pem:", "a/b.pem", true),
            (r"odd\:name.pem:a:b", "odd:name.pem", true),
            (r"back\\slash.pem", r"back\slash.pem", false),
            (r"other\escape.pem", r"other\escape.pem", false),
        ] {
            assert_eq!(certificate(text), (file.to_owned(), password), "{text}");
        }
    }

    #[test]
    fn a_device_is_told_from_an_address_and_a_host() {
        for (text, expected) in [
            ("127.0.0.2", true),
            ("::1", true),
            ("www.example", true),
            ("eth0", false),
            ("eth0.100", false),
            ("if!eth0", false),
            ("ifhost!eth0!www.example", false),
        ] {
            assert_eq!(is_host(text), expected, "{text}");
        }
    }
}
