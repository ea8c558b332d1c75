//! gRPC over HTTP/2, as far as a server for measurements needs it: which requests are calls, and what each is answered
//! with. How that goes over a stream is the business of `http2/rpc.rs`.
//!
//! The path of a call names its method, so that the steps of other paths do not apply; faults, statuses and delays that
//! the server is started with do. A request is read whole before it is answered, but for those of reflection, a talk.
//!
//! <https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md>

pub(crate) mod conclusion;
mod descriptors;
mod health;
pub(crate) mod messages;
mod reflection;
pub(crate) mod test;
mod timeout;

use std::time::{Duration, Instant};

use bytes::Bytes;
use httperf_proto::grpc::MEDIA_TYPE;
use hyper::header::{self, HeaderName};
use hyper::http::request::Parts;
use hyper::{Method as HttpMethod, Version};

use self::conclusion::{Conclusion, INTERNAL, UNIMPLEMENTED};
use self::health::{HealthCheckRequest, HealthListRequest};
use self::messages::{decoded, framed, only_message};
use self::reflection::ServerReflectionRequest;
use self::test::{Request, Series};
use self::timeout::parse_timeout;
use crate::limits::Limits;

/// The answer to a call whose request has arrived.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Work {
    /// One message is sent, framed already, and the call is over.
    Say(Bytes),
    /// The same, and then nothing until the client leaves.
    Watch(Bytes),
    /// Messages are sent on a schedule, the header after a delay.
    Series(Duration, Box<Series>),
}

/// A method whose request is one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Echo,
    Stream,
    Check,
    List,
    Watch,
}

/// Returns whether a request is a call of gRPC.
pub(crate) fn is_called(request: &Parts) -> bool {
    let media_type = request.headers.get(header::CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    // gRPC-Web is something else.
    let is_grpc = media_type
        .strip_prefix(MEDIA_TYPE.as_bytes())
        .is_some_and(|rest| matches!(rest.first(), None | Some(b'+' | b';')));
    is_grpc && request.method == HttpMethod::POST && request.version == Version::HTTP_2
}

/// Returns whether the request of a call is read whole before it is answered.
pub(crate) fn is_read_whole(request: &Parts) -> bool {
    !matches!(Target::of(request.uri.path()), Ok(Target::Reflection))
}

/// A method, by the path of its calls.
enum Target {
    Method(Method),
    Reflection,
}

impl Target {
    fn of(path: &str) -> Result<Self, Conclusion> {
        let named = path.strip_prefix('/').and_then(|path| path.split_once('/'));
        let methods: &[(&str, Self)] = match named {
            Some(("httperf.Test", _)) => {
                &[("Echo", Self::Method(Method::Echo)), ("Stream", Self::Method(Method::Stream))]
            }
            Some(("grpc.health.v1.Health", _)) => &[
                ("Check", Self::Method(Method::Check)),
                ("List", Self::Method(Method::List)),
                ("Watch", Self::Method(Method::Watch)),
            ],
            Some(("grpc.reflection.v1.ServerReflection" | "grpc.reflection.v1alpha.ServerReflection", _)) => {
                &[("ServerReflectionInfo", Self::Reflection)]
            }
            _ => return Err(Conclusion::new(UNIMPLEMENTED, format!("unknown service: {path}"))),
        };
        let method = methods.iter().find(|&&(name, _)| named.is_some_and(|(_, given)| given == name));
        match method {
            Some(&(_, Self::Method(method))) => Ok(Self::Method(method)),
            Some((_, Self::Reflection)) => Ok(Self::Reflection),
            None => Err(Conclusion::new(UNIMPLEMENTED, format!("unknown method: {path}"))),
        }
    }
}

/// Decides the answer to a call. `body`: that of its request, `None` if it was too large to be kept.
pub(crate) fn work(request: &Parts, body: Option<&[u8]>, limits: &Limits) -> Result<Work, Conclusion> {
    let Target::Method(method) = Target::of(request.uri.path())? else {
        return Err(Conclusion::new(INTERNAL, "reflection is a talk"));
    };
    let message = only_message(body, limits.grpc_message_size)?;
    Ok(match method {
        Method::Echo | Method::Stream => {
            let request: Request = decoded(message)?;
            let delay = request.delay(limits);
            let series = if method == Method::Echo { request.echo(limits) } else { request.stream(limits) };
            Work::Series(delay, Box::new(series?))
        }
        Method::Check => Work::Say(framed(&decoded::<HealthCheckRequest>(message)?.check()?)),
        Method::List => Work::Say(framed(&decoded::<HealthListRequest>(message)?.list())),
        Method::Watch => Work::Watch(framed(&decoded::<HealthCheckRequest>(message)?.watch())),
    })
}

/// Answers a message of reflection, framed.
pub(crate) fn reflect(message: Bytes) -> Result<Bytes, Conclusion> {
    Ok(framed(&decoded::<ServerReflectionRequest>(message)?.answer()))
}

/// Returns the instant at which the time is over that the client gives a call; `None` if it gives all the time there is.
/// A malformed time is an error.
pub(crate) fn deadline(request: &Parts, received: Instant) -> Result<Option<Instant>, Conclusion> {
    let Some(given) = request.headers.get(GRPC_TIMEOUT) else { return Ok(None) };
    let timeout = given.to_str().ok().and_then(parse_timeout);
    let malformed = || Conclusion::new(INTERNAL, "the grpc-timeout is malformed");
    Ok(received.checked_add(timeout.ok_or_else(malformed)?))
}

const GRPC_TIMEOUT: HeaderName = HeaderName::from_static("grpc-timeout");

#[cfg(test)]
mod tests {
    use hyper::Request as HttpRequest;

    use super::*;

    fn parts(path: &str, fields: &[(&str, &str)]) -> Parts {
        let mut builder = HttpRequest::post(path).version(Version::HTTP_2);
        for (name, value) in fields {
            builder = builder.header(*name, *value);
        }
        builder.body(()).unwrap().into_parts().0
    }

    #[test]
    fn calls_are_known_by_method_type_and_version() {
        for (media_type, expected) in [
            ("application/grpc", true),
            ("application/grpc+proto", true),
            ("application/grpc;x", true),
            ("application/grpc-web", false),
            ("text/plain", false),
        ] {
            assert_eq!(is_called(&parts("/a/b", &[("content-type", media_type)])), expected, "{media_type}");
        }
        let mut request = parts("/a/b", &[("content-type", "application/grpc")]);
        request.version = Version::HTTP_11;
        assert!(!is_called(&request) && !is_called(&parts("/a/b", &[])));
    }

    #[test]
    fn a_path_names_a_method() {
        let status = |path: &str| {
            work(&parts(path, &[]), Some(&[0; 5]), &Limits::default()).map_err(|conclusion| conclusion.status)
        };
        assert!(matches!(status("/httperf.Test/Echo"), Ok(Work::Series(Duration::ZERO, _))));
        assert!(matches!(status("/grpc.health.v1.Health/Check"), Ok(Work::Say(_))));
        assert!(matches!(status("/grpc.health.v1.Health/List"), Ok(Work::Say(_))));
        assert!(matches!(status("/grpc.health.v1.Health/Watch"), Ok(Work::Watch(_))));
        for path in ["/httperf.Test/Oops", "/oops.Test/Echo", "/", "/httperf.Test", "/httperf.Test/Echo/more"]
        {
            assert_eq!(status(path), Err(UNIMPLEMENTED), "{path}");
        }
        let reflection = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";
        assert!(!is_read_whole(&parts(reflection, &[])) && is_read_whole(&parts("/httperf.Test/Echo", &[])));
        assert!(is_read_whole(&parts("/oops", &[])));
    }

    #[test]
    fn a_deadline_counts_from_the_arrival() {
        let now = Instant::now();
        let ends =
            |value: &str| deadline(&parts("/", &[("grpc-timeout", value)]), now).map_err(|end| end.status);
        assert_eq!(ends("20m"), Ok(Some(now + Duration::from_millis(20))));
        assert_eq!(ends("20"), Err(INTERNAL));
        assert_eq!(deadline(&parts("/", &[]), now), Ok(None));
    }
}
