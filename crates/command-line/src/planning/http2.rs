//! From what was typed about HTTP/2 to how it is spoken, and what of requests has no place in it.

use std::time::Duration;

use httperf_plan::{Header, HeaderError, Http2, Plan, Quic, Script, Sessions, UriSource, Workload};
use httperf_proto::request::is_connection_specific;
use thiserror::Error;

use super::{FOREVER, text};
use crate::args::{Args, Version};

/// Errors in the options of HTTP/2.
#[derive(Debug, Error)]
pub enum Http2Error {
    /// A choice, and nobody to make it.
    #[error(
        "--http-version=auto: expected TLS, whose handshake chooses the version; in the clear --http-version=2 speaks \
         HTTP/2"
    )]
    AutoInTheClear,
    /// HTTP/3 without the TLS that is inside.
    #[error("--http-version=3: expected a server with TLS (https://, or --ssl), which HTTP/3 has inside")]
    Http3InTheClear,
    /// Requests to the proxy itself.
    #[error("--proxy: needs --proxy-tunnel with {version}, as proxies are spoken to in HTTP/1.1")]
    Proxy {
        /// The option that asks for HTTP/2.
        version: String,
    },
    /// A method that asks for a tunnel.
    #[error(
        "{option}: expected another method than CONNECT with {version}, which asks for tunnels in another way"
    )]
    Connect {
        /// The option that names the method.
        option: &'static str,
        /// The option that asks for HTTP/2.
        version: String,
    },
    /// A URI that is no path.
    #[error("{option}: expected a path that begins with a slash with {version}, got `{uri}`")]
    Path {
        /// The option that names it.
        option: &'static str,
        /// The option that asks for HTTP/2.
        version: String,
        /// The URI.
        uri: String,
    },
    /// A line that is no header field.
    #[error(
        "{option}: expected lines such as `Accept: text/html`, each with its end, with {version}, got `{line}`"
    )]
    Line {
        /// The option that has it.
        option: &'static str,
        /// The option that asks for HTTP/2.
        version: String,
        /// The line.
        line: String,
    },
    /// A body that follows the header fields.
    #[error("{option}: expected no empty line with {version}; --body and --body-file send a body")]
    EmptyLine {
        /// The option that has it.
        option: &'static str,
        /// The option that asks for HTTP/2.
        version: String,
    },
}

/// The parameters of QUIC, if it is spoken.
pub(super) fn quic(args: &Args) -> Quic {
    let (given, usual) = (&args.quic, Quic::default());
    let idle_timeout = given.idle_timeout.map(|seconds| match seconds {
        0.0 => FOREVER,
        seconds => Duration::from_secs_f64(seconds),
    });
    Quic {
        idle_timeout: idle_timeout.unwrap_or(usual.idle_timeout),
        window: given.window.unwrap_or(usual.window),
        stream_window: given.stream_window.unwrap_or(usual.stream_window),
        max_datagram: given.max_datagram.unwrap_or(usual.max_datagram),
        max_udp_payload: given.max_datagram.unwrap_or(usual.max_udp_payload),
        congestion: given.congestion.unwrap_or(usual.congestion),
        follows_alt_svc: !given.ignores_alt_svc,
        qlog: given.qlog.clone().map(Into::into),
    }
}

/// The parameters of HTTP/2, if it is spoken.
pub(super) fn plan(args: &Args) -> Result<Http2, Http2Error> {
    let given = &args.http2;
    if args.version() == Version::HTTP_3 && !args.uses_tls() {
        return Err(Http2Error::Http3InTheClear);
    }
    if !args.version().may_be_http2() {
        return Ok(Http2::default());
    }
    if args.version() == Version::Auto && !args.uses_tls() {
        return Err(Http2Error::AutoInTheClear);
    }
    if args.sources.proxy.is_some() && !args.sources.proxy_tunnel && !args.uses_tls() {
        return Err(Http2Error::Proxy { version: args.version_option() });
    }
    let usual = Http2::default();
    Ok(Http2 {
        window: given.window.unwrap_or(usual.window),
        connection_window: given.connection_window.unwrap_or(usual.connection_window),
        header_table: given.header_table.unwrap_or(usual.header_table),
        max_frame: given.max_frame.unwrap_or(usual.max_frame),
    })
}

/// Refuses header lines of the option that HTTP/2 has no form for: there they are fields, and not what is between two
/// other lines.
pub(super) fn check_lines(args: &Args, option: &'static str, lines: &[u8]) -> Result<(), Http2Error> {
    if !args.version().may_have_streams() {
        return Ok(());
    }
    for line in lines.split_inclusive(|&byte| byte == b'\n') {
        let content = line.strip_suffix(b"\n").map(|line| line.strip_suffix(b"\r").unwrap_or(line));
        match content {
            Some(b"") => return Err(Http2Error::EmptyLine { option, version: args.version_option() }),
            Some(field) if is_field(field) => {}
            Some(_) | None => {
                let line = text(content.unwrap_or(line)).escape_debug().to_string();
                return Err(Http2Error::Line { option, version: args.version_option(), line });
            }
        }
    }
    Ok(())
}

/// Returns whether it is `Name: value`, whatever it says.
fn is_field(line: &[u8]) -> bool {
    !matches!(Header::parse(line), Err(HeaderError::NotAField | HeaderError::ControlCharacter))
}

/// Refuses requests that HTTP/2 has no form for, and warns of header fields that are left out.
pub(super) fn check_requests(
    args: &Args,
    plan: &Plan,
    warn: &mut dyn FnMut(String),
) -> Result<(), Http2Error> {
    if !plan.request.version.may_have_streams() {
        return Ok(());
    }
    check_each(plan, &|option, part| {
        let version = args.version_option();
        match part {
            Part::Method(b"CONNECT") => Err(Http2Error::Connect { option, version }),
            // An asterisk stands for the server itself (RFC 9113, section 8.3.1).
            Part::Uri(uri) if !uri.starts_with(b"/") && uri != b"*" => {
                Err(Http2Error::Path { option, version, uri: text(uri).escape_debug().to_string() })
            }
            Part::Method(_) | Part::Uri(_) => Ok(()),
        }
    })?;
    let forbidden = forbidden_names(plan);
    if !forbidden.is_empty() {
        warn(format!(
            "warning: HTTP/2 forbids header fields called `{}`; they are left out where it is spoken",
            forbidden.join("`, `")
        ));
    }
    Ok(())
}

/// A part of a request.
#[derive(Clone, Copy)]
enum Part<'a> {
    Method(&'a [u8]),
    Uri(&'a [u8]),
}

/// Has all methods and URIs of a plan checked, each with the option that says so.
fn check_each(
    plan: &Plan,
    check: &dyn Fn(&'static str, Part<'_>) -> Result<(), Http2Error>,
) -> Result<(), Http2Error> {
    if let Workload::Sessions(Sessions { script: Script::File(scripts), .. }) = &plan.workload {
        let mut bursts = scripts.iter().flat_map(|script| &script.bursts);
        return bursts.try_for_each(|burst| {
            burst.requests.iter().try_for_each(|request| check("--wsesslog", Part::Uri(&request.uri)))
        });
    }
    if let UriSource::Requests(requests) = &plan.uris
        && plan.replies.streams.grpc.is_none()
    {
        return requests.iter().try_for_each(|request| {
            check("--targets", Part::Method(&request.method))?;
            check("--targets", Part::Uri(&request.uri.typed()))
        });
    }
    check("--method", Part::Method(&plan.request.method))?;
    match &plan.uris {
        UriSource::List { uris, .. } => uris.iter().try_for_each(|uri| check("--wlog", Part::Uri(uri))),
        UriSource::Fixed(uri) => check("--uri", Part::Uri(uri)),
        // A slash follows.
        UriSource::WorkingSet(set) if set.prefix.is_empty() => Ok(()),
        UriSource::WorkingSet(set) => check("--uri", Part::Uri(&set.prefix)),
        UriSource::Template(template) => check("--uri", Part::Uri(&template.typed())),
        UriSource::Prompts(prompts) => prompts
            .requests
            .iter()
            .try_for_each(|request| check("--prompts", Part::Uri(&request.uri.typed()))),
        UriSource::Requests(_) => Ok(()),
    }
}

/// Those of a plan's header fields that speak of the connection, which in HTTP/2 frames do; each name once.
///
/// <https://www.rfc-editor.org/rfc/rfc9113#section-8.2.2>
fn forbidden_names(plan: &Plan) -> Vec<String> {
    let lines = plan.request.extra_headers.split(|&byte| byte == b'\n');
    let mut fields: Vec<(String, Vec<u8>)> = lines
        .filter_map(|line| {
            let colon = line.iter().position(|&byte| byte == b':')?;
            Some((text(&line[..colon]), line[colon + 1..].trim_ascii().to_vec()))
        })
        .collect();
    let listed = match &plan.uris {
        UriSource::Requests(requests) => &requests[..],
        _ => &[],
    };
    let typed = plan.request.headers.iter().chain(listed.iter().flat_map(|request| &request.headers));
    fields.extend(typed.map(|header| (header.name.clone(), header.value.typed())));

    let mut names: Vec<String> = Vec::new();
    for (name, value) in fields {
        let is_known = names.iter().any(|known| known.eq_ignore_ascii_case(&name));
        if is_connection_specific(name.as_bytes(), &value) && !is_known {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::num::NonZeroU32;

    use httperf_plan::{Calls, Connections, HttpVersion};

    use super::super::tests::{check_error, planned};
    use super::*;

    #[track_caller]
    fn plan_of(argv: &[&str]) -> Plan {
        let (plan, warnings) = planned(argv);
        assert_eq!(warnings, [""; 0], "{argv:?}");
        plan.unwrap()
    }

    fn file(contents: &str) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(contents.as_bytes()).unwrap();
        file
    }

    fn named(option: &str, file: &tempfile::NamedTempFile) -> String {
        format!("{option}{}", file.path().to_str().unwrap())
    }

    #[test]
    fn the_version_is_what_was_typed_or_what_an_option_implies() {
        for (argv, version) in [
            (&[][..], HttpVersion::Http11),
            (&["--http-version=1.0"], HttpVersion::Http10),
            (&["--http-version=2"], HttpVersion::Http2),
            (&["--http-version=2.0", "--ssl"], HttpVersion::Http2),
            (&["--http-version=auto", "https://127.0.0.1/"], HttpVersion::Auto),
        ] {
            assert_eq!(plan_of(argv).request.version, version, "{argv:?}");
        }
    }

    #[test]
    fn what_we_let_the_server_do_is_usual_unless_told_otherwise() {
        assert_eq!(plan_of(&["--http-version=2"]).http2, Http2::default());
        let given = plan_of(&[
            "--http-version=2",
            "--h2-window=1k",
            "--h2-connection-window=65535",
            "--h2-header-table=0",
            "--h2-max-frame=1m",
        ]);
        let expected = Http2 {
            window: 1024.try_into().unwrap(),
            connection_window: 65_535.try_into().unwrap(),
            header_table: 0.try_into().unwrap(),
            max_frame: (1 << 20).try_into().unwrap(),
        };
        assert_eq!(given.http2, expected);
    }

    #[test]
    fn streams_are_the_calls_outstanding_on_a_connection() {
        let argv = ["--http-version=2", "--streams=32", "--concurrency=4", "--duration=1"];
        let Workload::Connections(Connections { pipeline, .. }) = plan_of(&argv).into_fields().workload
        else {
            panic!()
        };
        assert_eq!(pipeline.get(), 32);
        let argv = ["--http-version=2", "--streams=7", "--request-rate=100", "--num-calls=10"];
        let Workload::Calls(Calls { pipeline, .. }) = plan_of(&argv).into_fields().workload else { panic!() };
        assert_eq!(pipeline.map(NonZeroU32::get), Some(7));
        let argv = ["--ssl", "--http-version=auto", "--request-rate=100", "--num-calls=10"];
        let Workload::Calls(Calls { pipeline, .. }) = plan_of(&argv).into_fields().workload else { panic!() };
        assert_eq!(pipeline, None, "as many as the server allows");
        let argv = ["--http-version=2", "--num-calls=20", "--burst-length=10"];
        let Workload::Connections(connections) = plan_of(&argv).into_fields().workload else { panic!() };
        assert_eq!((connections.burst.get(), connections.pipeline.get()), (10, 1));
        for (argv, expected) in [
            (&["--http-version=2", "--wsess=1,1,0"][..], 32),
            (&["--http-version=2", "--wsess=1,1,0", "--max-piped-calls=100"], 100),
        ] {
            let Workload::Sessions(Sessions { max_piped_calls, .. }) = plan_of(argv).into_fields().workload
            else {
                panic!()
            };
            assert_eq!(max_piped_calls.get(), expected, "{argv:?}");
        }
    }

    #[test]
    fn the_way_to_http2_has_to_be_there() {
        check_error(
            &["--http-version=auto"],
            ": --http-version=auto: expected TLS, whose handshake chooses the version; in the clear --http-version=2 \
             speaks HTTP/2",
        );
        let proxy = "--proxy=http://127.0.0.1:1";
        check_error(
            &["--http-version=2", proxy],
            ": --proxy: needs --proxy-tunnel with --http-version=2, as proxies are spoken to in HTTP/1.1",
        );
        plan_of(&["--http-version=2", proxy, "--proxy-tunnel"]);
        plan_of(&["--http-version=2", proxy, "https://127.0.0.1/"]);
    }

    #[test]
    fn a_list_of_requests_may_bring_the_tls_that_a_choice_needs() {
        let list = file("GET https://127.0.0.1/\n");
        assert_eq!(
            plan_of(&["--http-version=auto", &named("--targets=", &list)]).tls.as_ref().unwrap().alpn,
            [&b"h2"[..], b"http/1.1"]
        );
        let list = file("CONNECT http://127.0.0.1/\n");
        check_error(
            &["--http-version=2", &named("--targets=", &list)],
            ": --targets: expected another method than CONNECT with --http-version=2, which asks for tunnels in \
             another way",
        );
    }

    #[test]
    fn header_lines_have_to_be_fields() {
        let line = |line: &str| {
            format!(
                ": --add-header: expected lines such as `Accept: text/html`, each with its end, with --http-version=2, \
                 got `{line}`"
            )
        };
        for (value, shown) in [
            ("A: b", "A: b"),
            ("A: b\\n c\\n", " c"),
            ("A : b\\n", "A : b"),
            (":path: /\\n", ":path: /"),
            ("A: b\\0\\n", "A: b\\0"),
            ("A: b\\n\\000: c\\n", "\\0: c"),
        ] {
            check_error(&["--http-version=2", "--add-header", value], &line(shown));
        }
        for value in ["A: b\\n\\nbody", "\\n", "A: b\\n\\a"] {
            check_error(
                &["--http-version=2", "--add-header", value],
                ": --add-header: expected no empty line with --http-version=2; --body and --body-file send a body",
            );
        }
        let file = file("A: b\nC d\n");
        check_error(
            &["--http-version=2", &named("--add-header-file=", &file)],
            ": --add-header-file: expected lines such as `Accept: text/html`, each with its end, with --http-version=2, \
             got `C d`",
        );
        for value in ["", "A: b\\n", "A: {rand:}\\aContent-Length: 0\\n", "a:\\n"] {
            plan_of(&["--http-version=2", "--add-header", value]);
        }
    }

    #[test]
    fn a_path_begins_with_a_slash() {
        let refused = |option: &str, uri: &str| {
            format!(": {option}: expected a path that begins with a slash with --http-version=2, got `{uri}`")
        };
        for uri in ["", "x", "{seq}", "http://h/"] {
            check_error(&["--http-version=2", "--uri", uri], &refused("--uri", uri));
        }
        check_error(&["--http-version=2", "--uri=x", "--wset=2,1"], &refused("--uri", "x"));
        let uris = file("/a\nb\n");
        check_error(&["--http-version=2", &named("--wlog=y,", &uris)], &refused("--wlog", "b"));
        let script = file("/a\n  http://h/\n");
        check_error(
            &["--http-version=2", &named("--wsesslog=1,0,", &script)],
            &refused("--wsesslog", "http://h/"),
        );
        for argv in [
            &["--uri=*"][..],
            &["--uri=/{seq}"],
            &["--uri=", "--wset=2,1"],
            &[&named("--wlog=y,", &file("/a\n/b\n"))],
        ] {
            plan_of(&[&["--http-version=2"], argv].concat());
        }
        plan_of(&["--uri=x"]);
    }

    #[test]
    fn header_fields_of_the_connection_are_named_once() {
        let list = file("GET http://127.0.0.1/\nproxy-connection: close\nConnection: x\n");
        let argv = [
            "--http-version=2",
            "--header=TE: gzip",
            "--header=Accept: */*",
            "--header=connection: close",
            "--add-header=Connection: keep-alive\\nKeep-Alive: 5\\nTE: Trailers\\n",
            &named("--targets=", &list),
        ];
        let (plan, warnings) = planned(&argv);
        assert!(plan.is_ok());
        assert_eq!(
            warnings,
            [
                "warning: HTTP/2 forbids header fields called `Connection`, `Keep-Alive`, `TE`, `proxy-connection`; they \
              are left out where it is spoken"
            ]
        );
        let (_, warnings) = planned(&["--header=Connection: close"]);
        assert_eq!(warnings, [""; 0], "over HTTP/1.1 it is sent");
        plan_of(&["--http-version=2", "--header=TE: trailers"]);
    }
}
