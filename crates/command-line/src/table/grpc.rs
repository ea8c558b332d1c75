//! gRPC: what is called, with which messages.

use std::time::Duration;

use super::material::file;
use super::rules::{FOR_GRPC, REQUESTS};
use crate::args::{Args, GrpcData, GrpcMethod, os_string};
use crate::grammar::{Opt, any_of};
use crate::values::seconds;

pub(super) const OPTIONS: &[Opt<Args>] = &[
    Opt::with_value("grpc", "SERVICE/METHOD", "calls a method of gRPC over HTTP/2")
        .details(&[
            "SERVICE is the full name with its package, as in `grpc.health.v1.Health/Check`. The URL has no path. What the \
             method's messages are is asked of the server (reflection) before the run, unless --proto, --protoset or \
             --grpc-raw is given. Each call sends one message and has one reply, or, where the server streams, a reply \
             whose messages have times of their own, as events have (--stream). Methods to which the client streams \
             cannot be called.",
            "A call has ended well with status OK; any other status counts as an unexpected reply, and the report names \
             it with the server's words. A reply without a status has the one that its status of HTTP stands for. \
             Metadata are header fields (--header). Implies --http-version=2.",
            "docs/guide/grpc.md leads from a first call to the rate that a service bears.",
        ])
        .conflicts(&[
            any_of(REQUESTS).because("--grpc-data says what is sent"),
            any_of(&["prompts", "llm", "targets", "websocket", "compressed"]),
            any_of(&["tls-handshake-only", "record=classic"]),
            any_of(&["header of Content-Type", "header of TE", "header of grpc-timeout"])
                .because("gRPC has them"),
        ])
        .needs(&[any_of(&["http-version=2"]).because("gRPC is spoken over HTTP/2")])
        .sets(&["rpc.uris"])
        .apply(|args, value| {
            let method = GrpcMethod::parse(value.bytes());
            args.grpc.method = Some(method.ok_or_else(|| {
                value.expected("a method such as grpc.health.v1.Health/Check")
            })?);
            Ok(())
        }),
    Opt::with_value("grpc-data", "JSON|@FILE", "sends this message in calls of gRPC")
        .details(&[
            "Default: {}, a message without content. As protobuf maps JSON to messages; a field that the message does not \
             have is an error. Several values one after the other, as lines of a file often are, are sent in turn, one \
             with each call. They are encoded before the run, without placeholders.",
        ])
        .needs(&[FOR_GRPC])
        .sets(&["rpc.request.body"])
        .apply(|args, value| {
            args.grpc.data = Some(match value.bytes().strip_prefix(b"@") {
                Some(b"") => return Err(value.expected("JSON or @FILE")),
                Some(name) => GrpcData::File(os_string(name)),
                None => GrpcData::Text(value.bytes().to_vec()),
            });
            Ok(())
        }),
    Opt::with_value("grpc-raw", "FILE", "sends the bytes of a file as the message of calls of gRPC")
        .details(&["An encoded message, without the prefix of five bytes. Nobody is asked what it means."])
        .conflicts(&[
            any_of(&["proto", "protoset"]).because("bytes need no description"),
            any_of(&["grpc-data"]),
        ])
        .needs(&[FOR_GRPC])
        .apply(|args, value| {
            args.grpc.raw = Some(file(value)?);
            Ok(())
        }),
    Opt::flag("grpc-stream", "takes the messages of a reply for a stream")
        .needs(&[
            FOR_GRPC,
            any_of(&["grpc-raw"]).because("a description says whether the server streams"),
        ])
        .apply(|args, _| {
            args.grpc.server_streams = true;
            Ok(())
        }),
    Opt::with_value("proto", "FILE", "takes a service and its messages from a .proto file")
        .details(&["May be given more than once. Imports are looked for in --proto-path. No compiler is needed."])
        .needs(&[FOR_GRPC])
        .apply(|args, value| {
            args.grpc.protos.push(file(value)?);
            Ok(())
        }),
    Opt::with_value("proto-path", "DIR", "looks in this folder for what .proto files import")
        .details(&[
            "May be given more than once. Default: the working directory, then the folders of the --proto files.",
        ])
        .needs(&[FOR_GRPC, any_of(&["proto"])])
        .apply(|args, value| {
            args.grpc.proto_paths.push(file(value)?);
            Ok(())
        }),
    Opt::with_value("protoset", "FILE", "takes a service and its messages from a set of descriptors")
        .details(&["As `protoc --descriptor_set_out=FILE --include_imports` writes it. May be given more than once."])
        .conflicts(&[any_of(&["proto"])])
        .needs(&[FOR_GRPC])
        .apply(|args, value| {
            args.grpc.protosets.push(file(value)?);
            Ok(())
        }),
    Opt::with_value("grpc-deadline", "X", "tells the server that a call has X seconds")
        .details(&[
            "Sent as grpc-timeout; a server answers DEADLINE_EXCEEDED when the time is over. --timeout says how long calls \
             are waited for here.",
        ])
        .needs(&[FOR_GRPC])
        .apply(|args, value| {
            let deadline = Duration::from_secs_f64(seconds(value)?);
            if deadline.is_zero() {
                return Err(value.expected("a time above 0"));
            }
            args.grpc.deadline = Some(deadline);
            Ok(())
        }),
];
