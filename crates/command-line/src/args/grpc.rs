//! Arguments about gRPC.

use std::ffi::OsString;
use std::time::Duration;

use super::Args;
use crate::grammar::ParseStop;

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
    pub fn parse(text: &[u8]) -> Option<Self> {
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

    /// Refuses a URL with a path.
    pub(super) fn check(&self, args: &Args) -> Result<(), ParseStop> {
        if self.method.is_none() || matches!(args.typed_uri(), b"" | b"/") {
            return Ok(());
        }
        let shown = String::from_utf8_lossy(args.typed_uri()).into_owned();
        Err(ParseStop::rejected(format!(
            "--grpc: expected a URL without a path, as the method is the path, got `{shown}`"
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::super::Version;
    use super::*;
    use crate::grammar::parse::words;

    fn parsed(argv: &[&str]) -> Result<Args, ParseStop> {
        let mut args = Args::default();
        args.parse(&words(argv)).map(|()| args)
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
    fn the_method_is_the_path() {
        let message = "--grpc: expected a URL without a path, as the method is the path, got `/x`";
        assert_eq!(parsed(&["--grpc=C/D", "http://h/x"]).unwrap_err(), ParseStop::rejected(message));
    }
}
