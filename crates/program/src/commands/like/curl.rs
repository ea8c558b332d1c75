//! curl, as people type it and as browsers copy it. `httperf_import::curl` reads its command lines, as for `httperf import`.

use std::fs::{self, File};
use std::io::Read as _;

use httperf_import::curl::{
    CONTENT_MAX, Command, Content, Credentials, Field, Request, Source, Value, Version as Asked, command,
    encode, usual_kind,
};

use super::Tool;
use super::translation::{Body, Load, Pace, Version};

pub(super) const CURL: Tool = Tool {
    name: "curl",
    translate: |words| {
        let read = command(words, 1, &mut read)?;
        let Command { requests, beyond, notes, instead } = read;
        let [request] = <[Request; 1]>::try_from(requests)
            .map_err(|requests| format!("expected one URL, got {}", requests.len()))?;
        if beyond > 0 {
            return Err(format!(
                "expected one URL, got a command that makes {} requests; httperf import curl makes a workload of them, and \
                 -g takes brackets and braces as they are",
                beyond.saturating_add(1)
            ));
        }
        let mut load = translated(request)?;
        load.notes.splice(..0, notes.into_iter().chain(instead));
        Ok(load)
    },
};

/// Reads a file that a command names.
fn read(source: Source<'_>) -> Option<Vec<u8>> {
    let Source::File(path) = source else { return None };
    let is_small = fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= CONTENT_MAX);
    let mut bytes = Vec::new();
    let file = is_small.then(|| File::open(path).ok()).flatten()?;
    file.take(CONTENT_MAX).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The note about `--http2` without TLS.
const UPGRADE: &str = "--http2: in the clear curl asks for an upgrade, which RFC 9113 has removed; --http-version 2 begins at once, \
                       so the server must speak HTTP/2";

fn translated(request: Request) -> Result<Load, String> {
    let settings = request.settings;
    let mut load = Load::new("curl");
    (load.pace, load.verifies) = (Pace::Once, !settings.insecure);
    (load.timeout, load.follows_redirects) = (settings.timeout, settings.follows_redirects);
    let is_plain = request.origin.starts_with("http://");
    load.version = match settings.version {
        None => Version::Negotiated,
        Some(Asked::Http10) => Version::Http10,
        Some(Asked::Http11) => Version::Http11,
        Some(Asked::Http2) if is_plain => {
            load.notes.push(UPGRADE.to_owned());
            Version::Http2
        }
        Some(Asked::Http2) => Version::Negotiated,
        Some(Asked::Http2PriorKnowledge) => Version::Http2,
        Some(Asked::Http3) => Version::Http3,
    };
    load.keep_alive = load.version != Version::Http10;
    load.method = Some(request.method);
    // The field says which codings; nothing looks into the bodies.
    let is_coding = |name: &str| name.eq_ignore_ascii_case("accept-encoding");
    let own_coding = "deflate, gzip, br, zstd";
    for (name, value) in request.headers {
        if settings.compressed && is_coding(&name) && value == own_coding {
            load.further.push("--compressed".to_owned());
            continue;
        }
        let blank = if value.is_empty() { "" } else { " " };
        load.headers.push(format!("{name}:{blank}{value}"));
    }
    for name in request.removed {
        match &name.to_ascii_lowercase()[..] {
            "host" => load.further.push("--no-host-hdr".to_owned()),
            "user-agent" => load.notes.push("-H 'User-Agent:': it cannot be left out".to_owned()),
            _ => {}
        }
    }
    match request.credentials {
        Some(Credentials::Basic(user, password)) => load.credentials = Some(format!("{user}:{password}")),
        Some(Credentials::Bearer(token)) => load.add("--bearer", token),
        None => {}
    }
    load.body = request.content.map(|content| body(content, &mut load)).transpose()?;
    for (_, ours, value) in settings.run {
        // What is about TLS does nothing in the clear, and is refused there.
        if is_plain && ["--ssl-", "--tls-"].iter().any(|start| ours.starts_with(start)) {
            continue;
        }
        match value {
            Some(value) => load.add(ours, value),
            None => load.further.push(ours.to_owned()),
        }
    }
    load.take_url(&[format!("{}{}", request.origin, request.target)], None)?;
    Ok(load)
}

/// The length of a body that fits into a command line.
const ARGUMENT_MAX: usize = 128 * 1024 - 1;

fn body(content: Content, load: &mut Load) -> Result<Body, String> {
    match content {
        Content::File(path) => Ok(Body::File(path)),
        Content::Bytes(bytes) => argument(bytes, "-d"),
        Content::Form(fields) => {
            if let Some((boundary, bytes)) = encode(&fields) {
                load.remove_header("Content-Type");
                load.headers.push(format!("Content-Type: multipart/form-data; boundary={boundary}"));
                return argument(bytes, "-F");
            }
            // The form has a type of its own, which names its boundary.
            load.remove_header("Content-Type");
            let fields: Result<Vec<String>, String> =
                fields.into_iter().map(|field| form_field(field, load)).collect();
            Ok(Body::Form(fields?))
        }
    }
}

/// A body that is typed.
fn argument(bytes: Vec<u8>, option: &str) -> Result<Body, String> {
    if bytes.len() > ARGUMENT_MAX || bytes.contains(&0) {
        return Err(format!(
            "{option}: expected at most {ARGUMENT_MAX} bytes, without zeros, for a command line, got {}; --body-file FILE sends \
             more",
            bytes.len()
        ));
    }
    Ok(Body::Bytes(bytes))
}

/// A field of a form with files, as `--form` takes it.
fn form_field(field: Field, load: &mut Load) -> Result<String, String> {
    /// The type that `--form` gives a file.
    const OURS: &str = "application/octet-stream";
    let Field { name, value, kind, file_name } = field;
    let is_file = matches!(value, Value::File(_));
    if let Some(file_name) = file_name {
        load.notes.push(format!(
            "-F {name}: the name {file_name} is left out: a file has its own, and a text none"
        ));
    }
    let kind = match &value {
        Value::File(path) => Some(kind.unwrap_or_else(|| usual_kind(path).to_owned())),
        Value::Contents(_) | Value::Bytes(_) => kind,
    };
    if let Some(kind) = kind.filter(|kind| !is_file || kind != OURS) {
        let ours = if is_file { OURS } else { "text without a type" };
        load.notes.push(format!("-F {name}: it is sent as {ours}, and by curl as {kind}"));
    }
    match value {
        Value::File(path) | Value::Contents(path) => Ok(format!("{name}=@{path}")),
        Value::Bytes(bytes) => {
            let text = String::from_utf8(bytes).ok().filter(|text| !text.starts_with('@'));
            text.map(|text| format!("{name}={text}")).ok_or_else(|| {
                format!("-F: expected text that does not begin with @ beside a file, got that of `{name}`")
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use httperf_import::curl::option_names;

    /// The page that explains the translations.
    const PAGE: &str = include_str!("../../../../../docs/guide/coming-from.md");

    #[test]
    fn a_form_with_a_file_has_a_type_of_its_own() {
        let words =
            ["-F", "a=@missing", "-H", "Content-Type: multipart/form-data", "-H", "A: b", "http://h/"];
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        let (words, _) = (super::CURL.translate)(&words).unwrap().into_words();
        let headers: Vec<_> = words.iter().filter(|word| word.to_string_lossy().contains(": ")).collect();
        assert_eq!(headers, ["A: b"]);
    }

    #[test]
    fn the_guide_has_each_option_of_curl() {
        let section = PAGE.split("\n## ").find(|section| section.starts_with("curl\n")).unwrap();
        let rows = section.lines().filter(|line| line.starts_with("| `"));
        let cells = rows.filter_map(|line| line.split('|').nth(1));
        let codes = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
        let documented: BTreeSet<&str> = codes.filter_map(|code| code.split([' ', '=']).next()).collect();
        let known: BTreeSet<&str> = option_names().collect();
        let missing: Vec<_> = known.difference(&documented).collect();
        assert!(missing.is_empty(), "not in the guide: {missing:?}");
        let unknown: Vec<_> = documented.difference(&known).collect();
        assert!(unknown.is_empty(), "in the guide alone: {unknown:?}");
    }
}
