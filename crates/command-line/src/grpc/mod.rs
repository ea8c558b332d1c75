//! Calls of gRPC: the description of a method, from files or from the server itself, and the messages of requests, made
//! from JSON.

mod descriptors;
mod files;
#[cfg(any(test, fuzzing))]
mod fuzzing;
mod messages;
mod reflection;

use std::io;
use std::path::PathBuf;

use httperf_plan::Plan;
use prost_reflect::MethodDescriptor;
use thiserror::Error;

#[cfg(any(test, fuzzing))]
pub use self::fuzzing::check_descriptors;
use self::reflection::ReflectionError;
use crate::args::{Args, GrpcArgs, GrpcMethod};

/// Messages for a method, and the form of its replies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// Encoded messages, at least one, without their prefixes. Calls take turns.
    pub messages: Vec<Vec<u8>>,
    /// The server answers with a stream.
    pub server_streams: bool,
}

/// The reasons for which a method cannot be called.
#[derive(Debug, Error)]
pub enum GrpcError {
    /// A file that cannot be read.
    #[error("{option}: cannot read `{path}`: {error}", path = .path.display())]
    Unreadable {
        /// The option that names it.
        option: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// .proto files that are not what they should be.
    #[error("--proto: {0}")]
    Proto(String),
    /// A file that is no set of descriptors.
    #[error("--protoset: {path}: expected descriptors as protoc writes them with --include_imports: {reason}", path = .path.display())]
    Protoset {
        /// The file.
        path: PathBuf,
        /// The mistake.
        reason: String,
    },
    /// A service without a description.
    #[error("--grpc: expected a service of {of}, got `{service}`; known: {}", listed(.known))]
    Service {
        /// The source of descriptions.
        of: String,
        /// The service.
        service: String,
        /// Those that are described.
        known: Vec<String>,
    },
    /// A method that a service does not have.
    #[error("--grpc: expected a method of {service}, got `{method}`; it has {}", listed(.known))]
    Method {
        /// The service.
        service: String,
        /// The method.
        method: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// A method to which the client streams.
    #[error("--grpc: expected a method that takes one message, got `{0}`, which takes a stream")]
    ClientStreams(String),
    /// Messages that do not fit.
    #[error("--grpc-data: {place}expected JSON of {message}: {reason}")]
    Json {
        /// The file and the line, with a colon and a space, or nothing.
        place: String,
        /// The full name of the message.
        message: String,
        /// The mistake.
        reason: String,
    },
    /// A file with nothing to send.
    #[error("--grpc-data: {0}: expected at least one value of JSON, got none")]
    NoData(PathBuf),
    /// A message above what gRPC can send.
    #[error("{0}: expected a message below 4 GiB")]
    TooLarge(&'static str),
    /// Several messages for several servers.
    #[error("--grpc-data: expected one message beside --servers, got {0}")]
    Servers(usize),
    /// A server that does not describe its services.
    #[error(transparent)]
    Reflection(#[from] ReflectionError),
}

/// Maximum number of names in a list.
const NAMES_MAX: usize = 12;

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    let mut list = names.iter().take(NAMES_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > NAMES_MAX {
        list += &format!(" and {} more", names.len() - NAMES_MAX);
    }
    list
}

/// Prepares the messages of a run. `plan`: that of the run, whose server is asked for a description if no file has one,
/// unless nobody is to be asked.
pub fn calls(args: &Args, method: &GrpcMethod, plan: &Plan) -> Result<Calls, GrpcError> {
    let asks_nobody = args.asks_nobody;
    let args = &args.grpc;
    if let Some(path) = &args.raw {
        return Ok(Calls { messages: vec![read("--grpc-raw", path)?], server_streams: args.server_streams });
    }
    if args.asks_server() && asks_nobody {
        return Ok(Calls { messages: vec![Vec::new()], server_streams: false });
    }
    let descriptor = describe(args, method, plan)?;
    if descriptor.is_client_streaming() {
        return Err(GrpcError::ClientStreams(descriptor.full_name().to_owned()));
    }
    Ok(Calls {
        messages: messages::encoded(args.data.as_ref(), &descriptor.input())?,
        server_streams: descriptor.is_server_streaming(),
    })
}

/// The description of the method.
fn describe(args: &GrpcArgs, method: &GrpcMethod, plan: &Plan) -> Result<MethodDescriptor, GrpcError> {
    let (pool, of) = if args.asks_server() {
        (reflection::ask(plan, &method.service)?, "the server")
    } else if args.protos.is_empty() {
        (descriptors::of_sets(&args.protosets)?, "--protoset")
    } else {
        (descriptors::of_files(&args.protos, &args.proto_paths)?, "--proto")
    };
    descriptors::method(&pool, method, of)
}

fn read(option: &'static str, path: &std::ffi::OsStr) -> Result<Vec<u8>, GrpcError> {
    std::fs::read(path).map_err(|error| GrpcError::Unreadable { option, path: path.into(), error })
}
