//! Descriptors of the services, compiled from the texts of their .proto files when they are first asked for.

use std::sync::LazyLock;

use protox::file::{File, FileResolver};
use protox::prost_reflect::{DescriptorPool, FileDescriptor};
use protox::{Compiler, Error};

/// The names of the files, as other files would import them, and their texts.
const FILES: [(&str, &str); 4] = [
    ("httperf/test.proto", include_str!("test.proto")),
    ("grpc/health/v1/health.proto", include_str!("health.proto")),
    ("grpc/reflection/v1/reflection.proto", REFLECTION),
    (REFLECTION_V1ALPHA, REFLECTION),
];

const REFLECTION: &str = include_str!("reflection.proto");

/// The older version, which differs in the name of its package alone.
const REFLECTION_V1ALPHA: &str = "grpc/reflection/v1alpha/reflection.proto";

static POOL: LazyLock<DescriptorPool> =
    LazyLock::new(|| compile().expect("the files compile, as a test makes sure"));

/// The files, for the compiler.
struct Texts;

impl FileResolver for Texts {
    fn open_file(&self, name: &str) -> Result<File, Error> {
        let found = FILES.into_iter().find(|&(known, _)| known == name);
        let (_, text) = found.ok_or_else(|| Error::file_not_found(name))?;
        match name {
            REFLECTION_V1ALPHA => {
                File::from_source(name, &text.replace("grpc.reflection.v1;", "grpc.reflection.v1alpha;"))
            }
            _ => File::from_source(name, text),
        }
    }
}

fn compile() -> Result<DescriptorPool, Error> {
    let mut compiler = Compiler::with_file_resolver(Texts);
    for (name, _) in FILES {
        compiler.open_file(name)?;
    }
    Ok(compiler.descriptor_pool())
}

/// Returns the names of all services, in order.
pub(super) fn services() -> Vec<String> {
    let mut names: Vec<_> = POOL.services().map(|service| service.full_name().to_owned()).collect();
    names.sort_unstable();
    names
}

/// Returns the encoded descriptor of a file.
pub(super) fn file(name: &str) -> Option<Vec<u8>> {
    POOL.get_file_by_name(name).map(|file| file.encode_to_vec())
}

/// Returns the encoded descriptor of the file that defines a service, a method, a message, a field or an enumeration.
pub(super) fn file_of_symbol(symbol: &str) -> Option<Vec<u8>> {
    file_of_type(symbol).or_else(|| file_of_member(symbol)).map(|file| file.encode_to_vec())
}

fn file_of_type(name: &str) -> Option<FileDescriptor> {
    let service = || Some(POOL.get_service_by_name(name)?.parent_file());
    let message = || Some(POOL.get_message_by_name(name)?.parent_file());
    let enumeration = || Some(POOL.get_enum_by_name(name)?.parent_file());
    service().or_else(message).or_else(enumeration)
}

fn file_of_member(name: &str) -> Option<FileDescriptor> {
    let (parent, name) = name.rsplit_once('.')?;
    let method = || {
        let service = POOL.get_service_by_name(parent)?;
        let is_known = service.methods().any(|method| method.name() == name);
        is_known.then(|| service.parent_file())
    };
    let field = || {
        let message = POOL.get_message_by_name(parent)?;
        let is_known =
            message.get_field_by_name(name).is_some() || message.oneofs().any(|oneof| oneof.name() == name);
        is_known.then(|| message.parent_file())
    };
    method().or_else(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_compile() {
        assert_eq!(
            services(),
            [
                "grpc.health.v1.Health",
                "grpc.reflection.v1.ServerReflection",
                "grpc.reflection.v1alpha.ServerReflection",
                "httperf.Test",
            ]
        );
    }

    #[test]
    fn files_are_found_by_name_and_by_what_they_define() {
        let test = file("httperf/test.proto").unwrap();
        for symbol in ["httperf.Test", "httperf.Test.Stream", "httperf.Reply", "httperf.Request.size"] {
            assert_eq!(file_of_symbol(symbol).as_ref(), Some(&test), "{symbol}");
        }
        let alpha = file(REFLECTION_V1ALPHA).unwrap();
        for symbol in ["ExtensionRequest", "ServerReflectionRequest.message_request"] {
            let symbol = format!("grpc.reflection.v1alpha.{symbol}");
            assert_eq!(file_of_symbol(&symbol).as_ref(), Some(&alpha), "{symbol}");
        }
        assert!(file_of_symbol("grpc.health.v1.HealthCheckResponse.ServingStatus").is_some());
        for symbol in ["", ".", "httperf", "httperf.Test.Oops", "httperf.Oops", "Test", "httperf.Test."] {
            assert_eq!(file_of_symbol(symbol), None, "{symbol}");
        }
        assert_eq!(file("httperf/oops.proto"), None);
    }
}
