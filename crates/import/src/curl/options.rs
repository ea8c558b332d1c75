//! The options of curl, up to its version 8.17: those that change a request, and all others, so that none of them has a
//! command refused.

use std::net::IpAddr;

use super::command::{Data, Encoded, Header, Piece, State, Version};
use super::form;
use crate::headers::{is_method, is_value};
use crate::words::{DENIED, Expected, ToolOption, bytes, flag, seconds, value};

const ONLY_BASIC: &str = "of authentication only Basic and Bearer are known";
const NO_PASSWORD: &str =
    "passwords of keys are not taken; `openssl pkey -in KEY -out FILE` writes a key that has none";
const NO_PROXY_OPTIONS: &str = "of proxies only --proxy http://USER:PASSWORD@HOST:PORT is known";
const NO_LIST_OF_CAS: &str = "of certificates only those of the server are checked, by --ssl-verify";
const ONCE: &str = "a request is made once";

/// The usual name of each option.
pub fn option_names() -> impl Iterator<Item = &'static str> {
    OPTIONS.iter().filter_map(|option| option.names.first().copied())
}

/// All options.
pub(super) const OPTIONS: &[ToolOption<State>] = &[
    value(&["--url"], |state, text| {
        state.urls.push(text.to_owned());
        Ok(())
    }),
    value(&["-X", "--request"], |state, text| {
        if !is_method(text) {
            return Err(Expected("a method"));
        }
        state.method = Some(text.to_owned());
        Ok(())
    }),
    value(&["-H", "--header"], header),
    value(&["-A", "--user-agent"], |state, text| {
        state.agent = Some(field_value(text)?);
        Ok(())
    }),
    value(&["-e", "--referer"], |state, text| {
        state.referer = Some(field_value(text.strip_suffix(";auto").unwrap_or(text))?);
        Ok(())
    }),
    value(&["-r", "--range"], |state, text| {
        // Of a number alone, curl asks for all from there.
        let dash = if text.contains('-') { "" } else { "-" };
        state.range = Some(field_value(&format!("{text}{dash}"))?);
        Ok(())
    }),
    value(&["-C", "--continue-at"], |state, text| {
        match text.parse::<u64>() {
            Ok(offset) => state.range = Some(format!("{offset}-")),
            Err(_) => {
                state.notes.push(format!("-C {text}: expected an offset, as nothing is kept to go on from"));
            }
        }
        Ok(())
    }),
    value(&["-z", "--time-cond"], |state, text| {
        let (name, date) = match text.strip_prefix('-') {
            Some(date) => ("If-Unmodified-Since", date),
            None => ("If-Modified-Since", text.strip_prefix('+').unwrap_or(text)),
        };
        match date.ends_with("GMT") && is_value(date) {
            true => state.condition = Some((name, date.to_owned())),
            false => state.notes.push(format!(
                "-z {text}: expected a date such as `Tue, 01 Jan 2030 00:00:00 GMT`; it is left out"
            )),
        }
        Ok(())
    }),
    value(&["-b", "--cookie"], |state, text| {
        match text.contains('=') {
            true if !is_value(text) => return Err(Expected("cookies without control characters")),
            true => state.cookies.push(text.to_owned()),
            false if text.is_empty() => {}
            false => {
                state
                    .notes
                    .push(format!("-b {text}: files of cookies are not read; -b NAME=VALUE sends one"));
            }
        }
        Ok(())
    }),
    value(&["-u", "--user"], |state, text| {
        let (user, password) = text.split_once(':').ok_or(Expected("USER:PASSWORD"))?;
        state.user = Some((user.to_owned(), password.to_owned()));
        Ok(())
    }),
    value(&["--oauth2-bearer"], |state, text| {
        state.bearer = Some(field_value(text)?);
        Ok(())
    }),
    bytes(&["-d", "--data", "--data-ascii"], |state, text| data(state, text, true)),
    bytes(&["--data-binary"], |state, text| data(state, text, false)),
    bytes(&["--data-raw"], |state, text| {
        add_data(state, Piece::Bytes(text.to_vec()), true);
        Ok(())
    }),
    bytes(&["--data-urlencode"], |state, text| {
        add_data(state, Piece::Encoded(Encoded::parse(text)), true);
        Ok(())
    }),
    bytes(&["--json"], |state, text| {
        state.json = true;
        data(state, text, false)?;
        if let Some(last) = state.data.last_mut() {
            last.is_separate = false;
        }
        Ok(())
    }),
    bytes(&["--url-query"], |state, text| {
        state.query.push(match text.strip_prefix(b"+") {
            Some(raw) => Encoded::Text(String::from_utf8_lossy(raw).into_owned()),
            None => Encoded::parse(text),
        });
        Ok(())
    }),
    flag(&["-G", "--get"], |state, text| {
        state.in_query = text != DENIED;
        Ok(())
    }),
    flag(&["-I", "--head"], |state, text| {
        state.head = text != DENIED;
        Ok(())
    }),
    bytes(&["-F", "--form"], |state, text| {
        let parsed = form::parse(text)?;
        for lost in parsed.lost {
            let name = parsed.fields.first().map(|field| field.name.clone()).unwrap_or_default();
            state.notes.push(format!("-F {name}: `{lost}` is left out"));
        }
        if parsed.fields.len() > 1 {
            state.notes.push("-F: of several files of a field, each is a field of its own".to_owned());
        }
        state.form.extend(parsed.fields);
        Ok(())
    }),
    bytes(&["--form-string"], |state, text| {
        const EXPECTED: Expected = Expected("NAME=VALUE");
        let at = memchr::memchr(b'=', text).filter(|at| *at > 0).ok_or(EXPECTED)?;
        let name = std::str::from_utf8(text.get(..at).unwrap_or_default()).map_err(|_| EXPECTED)?.to_owned();
        let value = form::Value::Bytes(text.get(at + 1..).unwrap_or_default().to_vec());
        state.form.push(form::Field { name, value, kind: None, file_name: None });
        Ok(())
    }),
    value(&["-T", "--upload-file"], |state, text| {
        if text.is_empty() || text.contains(['{', '[']) {
            return Err(Expected("the name of one file, and no pattern"));
        }
        state.uploads.push(text.to_owned());
        Ok(())
    }),
    value(&["--request-target"], |state, text| {
        if !text.starts_with('/') {
            return Err(Expected("a target that begins with `/`"));
        }
        state.target = Some(text.to_owned());
        Ok(())
    }),
    flag(&["--path-as-is"], |state, text| {
        state.path_as_is = text != DENIED;
        Ok(())
    }),
    flag(&["-g", "--globoff"], |state, text| {
        state.is_literal = text != DENIED;
        Ok(())
    }),
    value(&["--proto-default"], |state, text| {
        state.default_scheme = Some(text.to_owned());
        Ok(())
    }),
    flag(&["--compressed"], |state, text| {
        state.settings.compressed = text != DENIED;
        Ok(())
    }),
    flag(&["-L", "--location", "--follow"], |state, text| {
        state.settings.follows_redirects = text != DENIED;
        Ok(())
    }),
    flag(&["--location-trusted"], |state, text| {
        state.settings.follows_redirects = text != DENIED;
        state.notes.push("--location-trusted: credentials are not sent to other servers".to_owned());
        Ok(())
    }),
    flag(&["-k", "--insecure"], |state, text| {
        state.settings.insecure = text != DENIED;
        Ok(())
    }),
    value(&["-m", "--max-time"], |state, text| {
        state.settings.timeout =
            Some(seconds(text)?).filter(|seconds| (f64::MIN_POSITIVE..1e9).contains(seconds));
        Ok(())
    }),
    flag(&["-0", "--http1.0"], |state, _| version(state, Version::Http10)),
    flag(&["--http1.1"], |state, _| version(state, Version::Http11)),
    flag(&["--http2"], |state, _| version(state, Version::Http2)),
    flag(&["--http2-prior-knowledge"], |state, _| version(state, Version::Http2PriorKnowledge)),
    flag(&["--http3", "--http3-only"], |state, _| version(state, Version::Http3)),
    value(&["--cacert"], |state, text| run(state, "--cacert", "--ssl-ca-file", text)),
    value(&["--capath"], |state, text| run(state, "--capath", "--ssl-ca-path", text)),
    value(&["-E", "--cert"], |state, text| {
        if text.starts_with("pkcs11:") {
            return Err(Expected("a file"));
        }
        let (file, password) = certificate(text);
        if password {
            state.notes.push(format!("-E: {NO_PASSWORD}"));
        }
        run(state, "-E", "--ssl-certificate", &file)
    }),
    value(&["--key"], |state, text| run(state, "--key", "--ssl-key", text)),
    value(&["--ciphers"], |state, text| run(state, "--ciphers", "--ssl-ciphers", text)),
    value(&["--curves"], |state, text| run(state, "--curves", "--tls-groups", text)),
    flag(&["--tlsv1.2"], |state, _| run(state, "--tlsv1.2", "--tls-min", "1.2")),
    flag(&["--tlsv1.3"], |state, _| run(state, "--tlsv1.3", "--tls-min", "1.3")),
    value(&["--tls-max"], |state, text| match text {
        "default" => Ok(()),
        text => run(state, "--tls-max", "--tls-max", text),
    }),
    value(&["--resolve"], |state, text| {
        let [host, port, addresses] = text.splitn(3, ':').collect::<Vec<_>>()[..] else {
            return Err(Expected("HOST:PORT:ADDRESS"));
        };
        let address = addresses.split(',').next().unwrap_or_default();
        let is_bare_ipv6 = address.contains(':') && !address.starts_with('[');
        let address = if is_bare_ipv6 { format!("[{address}]") } else { address.to_owned() };
        let host = host.trim_start_matches('+');
        let host = if host == "*" { "" } else { host };
        run(state, "--resolve", "--connect-to", &format!("{host}:{port}:{address}:"))
    }),
    value(&["--connect-to"], |state, text| run(state, "--connect-to", "--connect-to", text)),
    value(&["-x", "--proxy"], |state, text| {
        let scheme = if text.contains("://") { "" } else { "http://" };
        match text {
            "" => Ok(()),
            text => run(state, "-x", "--proxy", &format!("{scheme}{text}")),
        }
    }),
    flag(&["-p", "--proxytunnel"], |state, text| {
        if text != DENIED {
            state.settings.run.push(("-p", "--proxy-tunnel", None));
        }
        Ok(())
    }),
    value(&["--unix-socket"], |state, text| run(state, "--unix-socket", "--unix-socket", text)),
    value(&["--interface"], |state, text| {
        let host = text.strip_prefix("host!").or_else(|| Some(text).filter(|text| is_host(text)));
        match host {
            Some(host) => run(state, "--interface", "--myaddr", host),
            None => {
                state.notes.push(format!(
                    "--interface {text}: devices are not looked up; --myaddr ADDRESS binds connections to an address of one"
                ));
                Ok(())
            }
        }
    }),
    // What has no counterpart, and changes requests or connections.
    ToolOption::lost_value(&["--aws-sigv4"], "requests are not signed"),
    ToolOption::lost_value(&["-K", "--config"], "files of options are not read"),
    ToolOption::lost_value(&["--variable"], "variables are not set"),
    ToolOption::lost_flag(&["--digest"], ONLY_BASIC),
    ToolOption::lost_flag(&["--ntlm"], ONLY_BASIC),
    ToolOption::lost_flag(&["--ntlm-wb"], ONLY_BASIC),
    ToolOption::lost_flag(&["--negotiate"], ONLY_BASIC),
    ToolOption::lost_flag(&["--anyauth"], ONLY_BASIC),
    ToolOption::lost_flag(&["-n", "--netrc"], "passwords are not looked up; -u USER:PASSWORD sends one"),
    ToolOption::lost_value(&["--netrc-file"], "passwords are not looked up; -u USER:PASSWORD sends one"),
    ToolOption::lost_flag(&["--netrc-optional"], "passwords are not looked up; -u USER:PASSWORD sends one"),
    ToolOption::lost_value(&["--pass"], NO_PASSWORD),
    ToolOption::lost_value(
        &["-U", "--proxy-user"],
        "name the proxy's user with --proxy http://USER:PASSWORD@HOST:PORT",
    ),
    ToolOption::lost_value(&["--proxy-header"], NO_PROXY_OPTIONS),
    ToolOption::lost_value(&["--preproxy"], NO_PROXY_OPTIONS),
    ToolOption::lost_value(&["--proxy1.0"], NO_PROXY_OPTIONS),
    ToolOption::lost_value(&["--socks4"], NO_PROXY_OPTIONS),
    ToolOption::lost_value(&["--socks4a"], NO_PROXY_OPTIONS),
    ToolOption::lost_value(&["--socks5"], NO_PROXY_OPTIONS),
    ToolOption::lost_value(&["--socks5-hostname"], NO_PROXY_OPTIONS),
    ToolOption::lost_flag(&["--socks5-basic"], NO_PROXY_OPTIONS),
    ToolOption::lost_flag(&["--socks5-gssapi"], NO_PROXY_OPTIONS),
    ToolOption::lost_flag(&["--socks5-gssapi-nec"], NO_PROXY_OPTIONS),
    ToolOption::lost_value(&["--socks5-gssapi-service"], NO_PROXY_OPTIONS),
    ToolOption::lost_flag(&["--proxy-anyauth"], NO_PROXY_OPTIONS),
    ToolOption::lost_flag(&["--proxy-digest"], NO_PROXY_OPTIONS),
    ToolOption::lost_flag(&["--proxy-negotiate"], NO_PROXY_OPTIONS),
    ToolOption::lost_flag(&["--proxy-ntlm"], NO_PROXY_OPTIONS),
    ToolOption::lost_flag(&["--proxy-http2"], NO_PROXY_OPTIONS),
    ToolOption::lost_flag(&["--haproxy-protocol"], "the PROXY protocol is not spoken"),
    ToolOption::lost_value(&["--haproxy-clientip"], "the PROXY protocol is not spoken"),
    ToolOption::lost_value(&["--local-port"], "the system chooses the port"),
    ToolOption::lost_value(&["--abstract-unix-socket"], "of such sockets only --unix-socket PATH is known"),
    ToolOption::lost_value(
        &["--alt-svc"],
        "--http-version auto learns from replies (Alt-Svc) within a run, and nothing is kept in a file",
    ),
    ToolOption::lost_value(&["--hsts"], "no file of servers that want https is read"),
    ToolOption::lost_value(&["--etag-compare"], "no file of tags is read; -H 'If-None-Match: …' sends one"),
    ToolOption::lost_flag(&["--tr-encoding"], "codings of the transfer are not asked for"),
    ToolOption::lost_flag(&["--crlf"], "line ends are sent as they are"),
    ToolOption::lost_value(&["-c", "--cookie-jar"], "cookies are kept within a session alone"),
    ToolOption::lost_value(&["--limit-rate"], "replies are received as fast as they come"),
    ToolOption::lost_value(&["--rate"], "the schedule is that of the run, such as --rate"),
    ToolOption::lost_value(&["--retry"], ONCE),
    ToolOption::lost_flag(&["-6", "--ipv6"], "write an IPv6 address in the URL, or use --connect-to"),
    ToolOption::lost_value(
        &["--tls13-ciphers"],
        "of ciphers, --ssl-ciphers chooses those before TLS 1.3 alone",
    ),
    ToolOption::lost_value(&["--cert-type"], "certificates are in PEM"),
    ToolOption::lost_value(&["--key-type"], "keys are in PEM"),
    ToolOption::lost_value(&["--engine"], "keys are in files"),
    ToolOption::lost_value(&["--pinnedpubkey"], NO_LIST_OF_CAS),
    ToolOption::lost_value(&["--crlfile"], NO_LIST_OF_CAS),
    ToolOption::lost_flag(&["--cert-status"], NO_LIST_OF_CAS),
    ToolOption::lost_value(&["--ech"], "the name of the server is sent in the clear"),
    ToolOption::lost_value(&["--tlsauthtype"], "TLS-SRP is not spoken"),
    ToolOption::lost_value(&["--tlsuser"], "TLS-SRP is not spoken"),
    ToolOption::lost_value(&["--tlspassword"], "TLS-SRP is not spoken"),
    ToolOption::lost_flag(&["-2", "--sslv2"], "the oldest version is TLS 1.2"),
    ToolOption::lost_flag(&["-3", "--sslv3"], "the oldest version is TLS 1.2"),
    // What is about curl's output, where something here shows the like.
    ToolOption::instead_value(&["--connect-timeout"], "--timeout X limits connecting and the request alike"),
    ToolOption::instead_flag(&["-Z", "--parallel"], "--concurrency N makes requests over N connections"),
    ToolOption::instead_flag(
        &["-v", "--verbose"],
        "--print-request and --print-reply show what is sent and received",
    ),
    ToolOption::instead_value(
        &["--trace"],
        "--print-request and --print-reply show what is sent and received",
    ),
    ToolOption::instead_value(
        &["--trace-ascii"],
        "--print-request and --print-reply show what is sent and received",
    ),
    ToolOption::instead_flag(&["-i", "--include", "--show-headers"], "--print-reply shows replies"),
    ToolOption::instead_value(&["-D", "--dump-header"], "--print-reply=header shows the headers of replies"),
    ToolOption::instead_value(&["-o", "--output"], "--print-reply=body shows the bodies of replies"),
    ToolOption::instead_flag(&["-O", "--remote-name"], "--print-reply=body shows the bodies of replies"),
    ToolOption::instead_value(&["-w", "--write-out"], "--calls FILE.csv writes a row for each request"),
    ToolOption::instead_flag(&["-f", "--fail"], "--expect-status 200-399 counts other replies as unexpected"),
    ToolOption::instead_flag(
        &["--fail-with-body"],
        "--expect-status 200-399 counts other replies as unexpected",
    ),
    // What is about curl's output or curl itself, other protocols, or what is so in any case.
    ToolOption::idle_flag(&["-4", "--ipv4"]),
    ToolOption::idle_flag(&["-1", "--tlsv1", "--tlsv1.0", "--tlsv1.1"]),
    ToolOption::idle_flag(&["--alpn"]),
    ToolOption::idle_flag(&["-a", "--append"]),
    ToolOption::idle_flag(&["--basic"]),
    ToolOption::idle_flag(&["--buffer"]),
    ToolOption::idle_flag(&["--ca-native"]),
    ToolOption::idle_flag(&["--clobber"]),
    ToolOption::idle_flag(&["--compressed-ssh"]),
    ToolOption::idle_flag(&["--create-dirs"]),
    ToolOption::idle_value(&["--create-file-mode"]),
    ToolOption::idle_value(&["--delegation"]),
    ToolOption::idle_flag(&["-q", "--disable"]),
    ToolOption::idle_flag(&["--disable-eprt"]),
    ToolOption::idle_flag(&["--disable-epsv"]),
    ToolOption::idle_flag(&["--disallow-username-in-url"]),
    ToolOption::idle_value(&["--dns-interface"]),
    ToolOption::idle_value(&["--dns-ipv4-addr"]),
    ToolOption::idle_value(&["--dns-ipv6-addr"]),
    ToolOption::idle_value(&["--dns-servers"]),
    ToolOption::idle_flag(&["--doh-cert-status"]),
    ToolOption::idle_flag(&["--doh-insecure"]),
    ToolOption::idle_value(&["--doh-url"]),
    ToolOption::idle_flag(&["--dump-ca-embed"]),
    ToolOption::idle_value(&["--egd-file"]),
    ToolOption::idle_flag(&["--eprt"]),
    ToolOption::idle_flag(&["--epsv"]),
    ToolOption::idle_value(&["--etag-save"]),
    ToolOption::idle_value(&["--expect100-timeout"]),
    ToolOption::idle_flag(&["--fail-early"]),
    ToolOption::idle_flag(&["--false-start"]),
    ToolOption::idle_flag(&["--form-escape"]),
    ToolOption::idle_value(&["--ftp-account"]),
    ToolOption::idle_value(&["--ftp-alternative-to-user"]),
    ToolOption::idle_flag(&["--ftp-create-dirs"]),
    ToolOption::idle_value(&["--ftp-method"]),
    ToolOption::idle_flag(&["--ftp-pasv"]),
    ToolOption::idle_value(&["-P", "--ftp-port"]),
    ToolOption::idle_flag(&["--ftp-pret"]),
    ToolOption::idle_flag(&["--ftp-skip-pasv-ip"]),
    ToolOption::idle_flag(&["--ftp-ssl-ccc"]),
    ToolOption::idle_value(&["--ftp-ssl-ccc-mode"]),
    ToolOption::idle_flag(&["--ftp-ssl-control"]),
    ToolOption::idle_value(&["--happy-eyeballs-timeout-ms"]),
    ToolOption::idle_flag(&["-h", "--help"]),
    ToolOption::idle_value(&["--hostpubmd5"]),
    ToolOption::idle_value(&["--hostpubsha256"]),
    ToolOption::idle_flag(&["--http0.9"]),
    ToolOption::idle_flag(&["--ignore-content-length"]),
    ToolOption::idle_value(&["--ip-tos"]),
    ToolOption::idle_value(&["--ipfs-gateway"]),
    ToolOption::idle_flag(&["-j", "--junk-session-cookies"]),
    ToolOption::idle_flag(&["--keepalive"]),
    ToolOption::idle_value(&["--keepalive-cnt"]),
    ToolOption::idle_value(&["--keepalive-time"]),
    ToolOption::idle_value(&["--knownhosts"]),
    ToolOption::idle_value(&["--krb"]),
    ToolOption::idle_value(&["--libcurl"]),
    ToolOption::idle_flag(&["-l", "--list-only"]),
    ToolOption::idle_value(&["--login-options"]),
    ToolOption::idle_value(&["--mail-auth"]),
    ToolOption::idle_value(&["--mail-from"]),
    ToolOption::idle_value(&["--mail-rcpt"]),
    ToolOption::idle_flag(&["--mail-rcpt-allowfails"]),
    ToolOption::idle_flag(&["-M", "--manual"]),
    ToolOption::idle_value(&["--max-filesize"]),
    ToolOption::idle_value(&["--max-redirs"]),
    ToolOption::idle_flag(&["--metalink"]),
    ToolOption::idle_flag(&["--mptcp"]),
    ToolOption::idle_flag(&["-N", "--no-buffer"]),
    ToolOption::idle_flag(&["--no-progress-meter"]),
    ToolOption::idle_value(&["--noproxy"]),
    ToolOption::idle_flag(&["--npn"]),
    ToolOption::idle_flag(&["--out-null"]),
    ToolOption::idle_value(&["--output-dir"]),
    ToolOption::idle_flag(&["--parallel-immediate"]),
    ToolOption::idle_value(&["--parallel-max"]),
    ToolOption::idle_value(&["--parallel-max-host"]),
    ToolOption::idle_flag(&["--post301"]),
    ToolOption::idle_flag(&["--post302"]),
    ToolOption::idle_flag(&["--post303"]),
    ToolOption::idle_flag(&["-#", "--progress-bar"]),
    ToolOption::idle_flag(&["--progress-meter"]),
    ToolOption::idle_value(&["--proto"]),
    ToolOption::idle_value(&["--proto-redir"]),
    ToolOption::idle_flag(&["--proxy-basic"]),
    ToolOption::idle_flag(&["--proxy-ca-native"]),
    ToolOption::idle_value(&["--proxy-cacert"]),
    ToolOption::idle_value(&["--proxy-capath"]),
    ToolOption::idle_value(&["--proxy-cert"]),
    ToolOption::idle_value(&["--proxy-cert-type"]),
    ToolOption::idle_value(&["--proxy-ciphers"]),
    ToolOption::idle_value(&["--proxy-crlfile"]),
    ToolOption::idle_flag(&["--proxy-insecure"]),
    ToolOption::idle_value(&["--proxy-key"]),
    ToolOption::idle_value(&["--proxy-key-type"]),
    ToolOption::idle_value(&["--proxy-pass"]),
    ToolOption::idle_value(&["--proxy-pinnedpubkey"]),
    ToolOption::idle_value(&["--proxy-service-name"]),
    ToolOption::idle_flag(&["--proxy-ssl-allow-beast"]),
    ToolOption::idle_flag(&["--proxy-ssl-auto-client-cert"]),
    ToolOption::idle_value(&["--proxy-tls13-ciphers"]),
    ToolOption::idle_value(&["--proxy-tlsauthtype"]),
    ToolOption::idle_value(&["--proxy-tlspassword"]),
    ToolOption::idle_value(&["--proxy-tlsuser"]),
    ToolOption::idle_flag(&["--proxy-tlsv1"]),
    ToolOption::idle_value(&["--pubkey"]),
    ToolOption::idle_value(&["-Q", "--quote"]),
    ToolOption::idle_value(&["--random-file"]),
    ToolOption::idle_flag(&["--raw"]),
    ToolOption::idle_flag(&["-J", "--remote-header-name"]),
    ToolOption::idle_flag(&["--remote-name-all"]),
    ToolOption::idle_flag(&["-R", "--remote-time"]),
    ToolOption::idle_flag(&["--remove-on-error"]),
    ToolOption::idle_flag(&["--retry-all-errors"]),
    ToolOption::idle_flag(&["--retry-connrefused"]),
    ToolOption::idle_value(&["--retry-delay"]),
    ToolOption::idle_value(&["--retry-max-time"]),
    ToolOption::idle_value(&["--sasl-authzid"]),
    ToolOption::idle_flag(&["--sasl-ir"]),
    ToolOption::idle_value(&["--service-name"]),
    ToolOption::idle_flag(&["--sessionid"]),
    ToolOption::idle_flag(&["-S", "--show-error"]),
    ToolOption::idle_value(&["--sigalgs"]),
    ToolOption::idle_flag(&["-s", "--silent"]),
    ToolOption::idle_flag(&["--skip-existing"]),
    ToolOption::idle_value(&["-Y", "--speed-limit"]),
    ToolOption::idle_value(&["-y", "--speed-time"]),
    ToolOption::idle_flag(&["--ssl"]),
    ToolOption::idle_flag(&["--ssl-allow-beast"]),
    ToolOption::idle_flag(&["--ssl-auto-client-cert"]),
    ToolOption::idle_flag(&["--ssl-no-revoke"]),
    ToolOption::idle_flag(&["--ssl-reqd"]),
    ToolOption::idle_flag(&["--ssl-revoke-best-effort"]),
    ToolOption::idle_flag(&["--ssl-sessions"]),
    ToolOption::idle_value(&["--stderr"]),
    ToolOption::idle_flag(&["--styled-output"]),
    ToolOption::idle_flag(&["--suppress-connect-headers"]),
    ToolOption::idle_flag(&["--tcp-fastopen"]),
    ToolOption::idle_flag(&["--tcp-nodelay"]),
    ToolOption::idle_value(&["-t", "--telnet-option"]),
    ToolOption::idle_value(&["--tftp-blksize"]),
    ToolOption::idle_flag(&["--tftp-no-options"]),
    ToolOption::idle_flag(&["--tls-earlydata"]),
    ToolOption::idle_value(&["--trace-config"]),
    ToolOption::idle_flag(&["--trace-ids"]),
    ToolOption::idle_flag(&["--trace-time"]),
    ToolOption::idle_value(&["--upload-flags"]),
    ToolOption::idle_flag(&["-B", "--use-ascii"]),
    ToolOption::idle_flag(&["-V", "--version"]),
    ToolOption::idle_value(&["--vlan-priority"]),
    ToolOption::idle_flag(&["--xattr"]),
];

fn header(state: &mut State, text: &str) -> Result<(), Expected> {
    const EXPECTED: Expected = Expected("a header field such as `Accept: text/html`, or @FILE");
    if let Some(path) = text.strip_prefix('@') {
        state.headers.push(Header::File(path.to_owned()));
        return Ok(());
    }
    // A field of HTTP/2's own, `:method: GET`, is not sent.
    if text.starts_with(':') && !text.starts_with(": ") {
        return Ok(());
    }
    state.headers.push(Header::parse(text).ok_or(EXPECTED)?);
    Ok(())
}

fn field_value(text: &str) -> Result<String, Expected> {
    if is_value(text) { Ok(text.to_owned()) } else { Err(Expected("text without control characters")) }
}

fn data(state: &mut State, text: &[u8], strips: bool) -> Result<(), Expected> {
    let piece = match text.strip_prefix(b"@") {
        Some(path) => {
            let path = std::str::from_utf8(path).ok().filter(|path| !path.is_empty());
            Piece::File { path: path.ok_or(Expected("text or @FILE"))?.to_owned(), strips }
        }
        None => Piece::Bytes(text.to_vec()),
    };
    add_data(state, piece, true);
    Ok(())
}

fn add_data(state: &mut State, piece: Piece, is_separate: bool) {
    state.data.push(Data { piece, is_separate });
}

fn version(state: &mut State, version: Version) -> Result<(), Expected> {
    state.settings.version = Some(version);
    Ok(())
}

/// Adds an option of ours that is for a whole run.
fn run(state: &mut State, theirs: &'static str, ours: &'static str, value: &str) -> Result<(), Expected> {
    state.settings.run.push((theirs, ours, Some(value.to_owned())));
    Ok(())
}

/// Returns whether the value of `--interface` is an address or the name of a host, as in `www.example`. Others, such as
/// `eth0.100`, are devices.
fn is_host(text: &str) -> bool {
    let starts_as_name = |label: &str| label.starts_with(|letter: char| letter.is_ascii_alphabetic());
    text.parse::<IpAddr>().is_ok()
        || !text.contains('!') && text.rsplit_once('.').is_some_and(|(_, last)| starts_as_name(last))
}

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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn each_name_is_there_once() {
        let mut names = HashSet::new();
        for name in OPTIONS.iter().flat_map(|option| option.names) {
            assert!(names.insert(name), "{name}");
        }
        assert!(names.len() > 250, "{}", names.len());
    }

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
