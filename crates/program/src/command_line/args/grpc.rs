//! Arguments about gRPC.

use std::ffi::OsString;
use std::time::Duration;

use super::{Args, SessionKind, UriChoice, Version};
use crate::command_line::grammar::ParseStop;

/// Arguments about gRPC.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GrpcArgs {
    /// `--grpc`.
    pub method: Option<GrpcMethod>,
    /// `--grpc-data`.
    pub data: Option<GrpcData>,
    /// `--grpc-raw`.
    pub raw: Option<OsString>,
    /// `--grpc-stream`.
    pub server_streams: bool,
    /// `--proto`, each time it was given.
    pub protos: Vec<OsString>,
    /// `--proto-path`, each time it was given.
    pub proto_paths: Vec<OsString>,
    /// `--protoset`, each time it was given.
    pub protosets: Vec<OsString>,
    /// `--grpc-deadline`.
    pub deadline: Option<Duration>,
}

/// A method, as `--grpc` names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcMethod {
    /// The full name of its service: `package.Service`.
    pub service: String,
    /// Its name there.
    pub name: String,
    /// Its path, which requests go to: `/package.Service/Method`.
    pub path: String,
}

/// The messages of requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GrpcData {
    /// JSON.
    Text(Vec<u8>),
    /// A file of it.
    File(OsString),
}

impl GrpcMethod {
    /// Reads `package.Service/Method`, also with a slash before it, or with a point in place of the slash.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?;
        let text = text.strip_prefix('/').unwrap_or(text);
        let (service, name) = text.rsplit_once('/').or_else(|| text.rsplit_once('.'))?;
        let is_name = |text: &str| {
            text.split('.').all(|part| {
                !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            })
        };
        (is_name(service) && is_name(name)).then(|| Self {
            service: service.to_owned(),
            name: name.to_owned(),
            path: format!("/{service}/{name}"),
        })
    }
}

impl GrpcArgs {
    /// Returns whether the server is asked to describe its services.
    #[must_use]
    pub fn asks_server(&self) -> bool {
        self.raw.is_none() && self.protos.is_empty() && self.protosets.is_empty()
    }

    /// The option that says something about gRPC and was given, if one was.
    fn choice(&self) -> Option<&'static str> {
        let options = [
            ("--grpc-data", self.data.is_some()),
            ("--grpc-raw", self.raw.is_some()),
            ("--grpc-stream", self.server_streams),
            ("--proto", !self.protos.is_empty()),
            ("--proto-path", !self.proto_paths.is_empty()),
            ("--protoset", !self.protosets.is_empty()),
            ("--grpc-deadline", self.deadline.is_some()),
        ];
        options.into_iter().find(|&(_, is_given)| is_given).map(|(option, _)| option)
    }

    /// Refuses options that contradict each other or others.
    pub(super) fn check(&self, args: &Args) -> Result<(), ParseStop> {
        let refused = |message: String| Err(ParseStop::rejected(message));
        if self.method.is_none() {
            return match self.choice() {
                Some(option) => {
                    refused(format!("{option}: expected --grpc SERVICE/METHOD beside it, got none"))
                }
                None => Ok(()),
            };
        }
        let descriptors = [("--proto", !self.protos.is_empty()), ("--protoset", !self.protosets.is_empty())];
        let described = descriptors.into_iter().find(|&(_, is_given)| is_given).map(|(option, _)| option);
        match (&self.raw, described) {
            (Some(_), Some(option)) => {
                return refused(format!(
                    "--grpc-raw: expected no {option} beside it, as bytes need no description"
                ));
            }
            (Some(_), None) if self.data.is_some() => {
                return refused(
                    "--grpc-raw: expected no --grpc-data beside it, which says what is sent".to_owned(),
                );
            }
            (None, _) if self.server_streams => {
                return refused(
                    "--grpc-stream: expected --grpc-raw beside it, as a description says whether the server streams"
                        .to_owned(),
                );
            }
            (_, _) if self.protos.is_empty() && !self.proto_paths.is_empty() => {
                return refused("--proto-path: expected --proto beside it, got none".to_owned());
            }
            (None, Some("--proto")) if !self.protosets.is_empty() => {
                return refused("--protoset: expected no --proto beside it".to_owned());
            }
            _ => {}
        }
        if !matches!(args.typed_uri(), b"" | b"/") {
            let shown = String::from_utf8_lossy(args.typed_uri()).into_owned();
            return refused(format!(
                "--grpc: expected a URL without a path, as the method is the path, got `{shown}`"
            ));
        }
        self.check_others(args)
    }

    fn check_others(&self, args: &Args) -> Result<(), ParseStop> {
        let session = args.session.as_ref().map(|session| &session.kind);
        let has = |name: &str| args.material.headers.iter().any(|header| header.is(name));
        let others = [
            (args.material.body_option().unwrap_or_default(), args.material.body_option().is_some()),
            ("--prompts", args.material.prompts.file.is_some()),
            ("--llm", args.material.replies.streams.model.is_some()),
            ("--method", args.method.is_some()),
            ("--targets", args.material.targets.is_some()),
            ("--wlog", args.uri_choice == UriChoice::Log),
            ("--wset", args.uri_choice == UriChoice::Set),
            ("--wsesslog", matches!(session, Some(SessionKind::File(_)))),
            ("--wsesspage", matches!(session, Some(SessionKind::Pages(_)))),
            ("--websocket", args.websocket().is_some()),
            ("--record=classic", args.results.classic_record),
            ("--h2c-upgrade", args.http2.upgrade),
            ("--tls-handshake-only", args.tls.handshake_only),
            ("--compressed", args.material.replies.compressed),
            ("--header of Content-Type", has("Content-Type")),
            ("--header of TE", has("TE")),
            ("--header of grpc-timeout", has("grpc-timeout")),
        ];
        if let Some((other, _)) = others.into_iter().find(|&(_, is_given)| is_given) {
            return Err(ParseStop::rejected(format!("--grpc: expected no {other} beside it")));
        }
        let version = args.version();
        if version != Version::HTTP_2 {
            return Err(ParseStop::rejected(format!(
                "--grpc: expected --http-version 2 beside it, which gRPC is spoken over, got `{version}`"
            )));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::grammar::parse::words;

    fn parsed(argv: &[&str]) -> Result<Args, ParseStop> {
        let mut args = Args::default();
        args.parse(&words(argv)).map(|()| args)
    }

    #[track_caller]
    fn check_refused(argv: &[&str], expected: &str) {
        assert_eq!(parsed(argv).unwrap_err(), ParseStop::rejected(expected), "{argv:?}");
    }

    #[test]
    fn a_method_is_a_path() {
        for typed in ["a.b.C/Do", "/a.b.C/Do", "a.b.C.Do"] {
            let method = GrpcMethod::parse(typed.as_bytes()).unwrap();
            assert_eq!((&method.service[..], &method.name[..]), ("a.b.C", "Do"), "{typed}");
            assert_eq!(method.path, "/a.b.C/Do");
        }
        for typed in ["", "/", "C", "a./b", "a b/c", "a/b/c", "http://a/b", "C/", "/C"] {
            assert_eq!(GrpcMethod::parse(typed.as_bytes()), None, "{typed}");
        }
    }

    #[test]
    fn a_call_is_a_request_of_http2() {
        let args = parsed(&["--grpc=a.C/Do", "http://h:9/", "--grpc-deadline=0.5"]).unwrap();
        assert_eq!((&args.uri()[..], args.version()), (&b"/a.C/Do"[..], Version::HTTP_2));
        assert_eq!(args.grpc.deadline, Some(Duration::from_millis(500)));
        assert!(args.grpc.asks_server());
        assert!(!parsed(&["--grpc=a.C/Do", "--proto=f"]).unwrap().grpc.asks_server());
    }

    #[test]
    fn what_contradicts_is_refused() {
        check_refused(&["--grpc-data={}"], "--grpc-data: expected --grpc SERVICE/METHOD beside it, got none");
        check_refused(
            &["--grpc=C/D", "--grpc-raw=f", "--proto=g"],
            "--grpc-raw: expected no --proto beside it, as bytes need no description",
        );
        check_refused(
            &["--grpc=C/D", "--grpc-raw=f", "--grpc-data={}"],
            "--grpc-raw: expected no --grpc-data beside it, which says what is sent",
        );
        check_refused(
            &["--grpc=C/D", "--grpc-stream"],
            "--grpc-stream: expected --grpc-raw beside it, as a description says whether the server streams",
        );
        check_refused(
            &["--grpc=C/D", "--proto-path=d"],
            "--proto-path: expected --proto beside it, got none",
        );
        check_refused(
            &["--grpc=C/D", "--proto=f", "--protoset=g"],
            "--protoset: expected no --proto beside it",
        );
        check_refused(
            &["--grpc=C/D", "http://h/x"],
            "--grpc: expected a URL without a path, as the method is the path, got `/x`",
        );
        for (other, named) in [
            ("--body=x", "--body"),
            ("--method=PUT", "--method"),
            ("--wsesslog=1,0,f", "--wsesslog"),
            ("--llm=openai", "--llm"),
            ("--websocket", "--websocket"),
            ("--record=classic", "--record=classic"),
            ("--header=te: x", "--header of TE"),
        ] {
            check_refused(&["--grpc=C/D", other], &format!("--grpc: expected no {named} beside it"));
        }
        check_refused(
            &["--grpc=C/D", "--http-version=1.1"],
            "--grpc: expected --http-version 2 beside it, which gRPC is spoken over, got `1.1`",
        );
    }
}
